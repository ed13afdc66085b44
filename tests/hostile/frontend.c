// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * hostile-frontend MODE...: acts as the frontend of device/vhca/0 of this
 * guest, whose module must be unloaded, and misbehaves towards a real backend.
 * Each mode says what it expects of the backend: "closed" (with a reason in
 * its node broken) or "serves". Ends with status 1 if that does not happen.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/mlx4-abi.h>
#include <rdma/mlx5-abi.h>

#include "peer.h"
#include "vhca-keys.h"
#include "vhca-provider.h"

#define FRONT "device/vhca/0"
#define LONG_MS 15000u
#define FLOOD_SECONDS 400	/* at most */
#define VA 0x7f0000000000ull	/* of a process that there is not */
#define CONTEXTS 40u		/* that the mode udata opens */
#define OBJECTS 24u		/* for which it asks in each */
#define ENOUGH "/tmp/enough"	/* made by who has seen enough of a flood */

struct front {
	char back[PATH];
	uint32_t domid;
	xengntshr_handle *shr;
	xenevtchn_handle *ev;
	uint8_t *mem;			/* ring, event page, kick page, data */
	uint32_t ref[RING_PAGES + 3];
	evtchn_port_t port[PORTS];
	xenvhca_front_ring_t ring;
	struct xenvhca_kick_page *kick;
	uint16_t id;
	uint32_t driver, abi;		/* of the HCA, once context() knows it */
};

static struct front f;

static void init(void)
{
	store_open();
	snprintf(f.back, sizeof(f.back), "%s", store_get(FRONT, "backend"));
	if (!f.back[0])
		die("this guest has no " FRONT);
	f.domid = (uint32_t)strtoul(store_get(FRONT, "backend-id"), NULL, 10);
	f.shr = xengntshr_open(NULL, 0);
	f.ev = xenevtchn_open(NULL, 0);
	if (!f.shr || !f.ev)
		die("cannot open gntalloc or evtchn: %s", strerror(errno));
	f.mem = xengntshr_share_pages(f.shr, f.domid, (int)(RING_PAGES + 3),
				      f.ref, 1);
	if (!f.mem)
		die("cannot share pages: %s", strerror(errno));
}

static void rings_reset(void)
{
	struct xenvhca_sring *sring = (struct xenvhca_sring *)f.mem;
	xenevtchn_port_or_error_t p;
	int i;

	memset(f.mem, 0, (RING_PAGES + 3) * PAGE);
	SHARED_RING_INIT(sring);
	FRONT_RING_INIT(&f.ring, sring, RING_PAGES * PAGE);
	f.kick = (struct xenvhca_kick_page *)(f.mem + (RING_PAGES + 1) * PAGE);
	for (i = 0; i < PORTS; i++) {
		if (f.port[i])
			xenevtchn_unbind(f.ev, f.port[i]);
		p = xenevtchn_bind_unbound_port(f.ev, f.domid);
		if (p < 0)
			die("event channel: %s", strerror(errno));
		f.port[i] = (evtchn_port_t)p;
	}
}

/* What the frontend offers, in the order of its node. */
enum word { W_VERSION, W_OFFER, W_CMD, W_EVT, W_KICK, W_EVT_REF, W_KICK_REF,
	    W_REF, W_MOST = W_REF + RING_PAGES };

/* The node setup, with another word in one place, or as it should be (W_MOST). */
static void put_setup(enum word wrong, const char *value)
{
	const uint32_t v[W_REF] = {
		[W_VERSION] = XENVHCA_PROTOCOL_VERSION_INT,
		[W_CMD] = f.port[CMD], [W_EVT] = f.port[EVT],
		[W_KICK] = f.port[KICK], [W_EVT_REF] = f.ref[RING_PAGES],
		[W_KICK_REF] = f.ref[RING_PAGES + 1],
	};
	const char *offer = strchr(store_get(f.back, XENVHCA_NODE_SETUP), ' ');
	char text[XENVHCA_STORE_SETUP] = "", word[PATH];
	size_t len = 0;
	unsigned int i;

	for (i = 0; i < W_MOST; i++) {
		snprintf(word, sizeof(word), "%u", i < W_REF ? v[i] :
			 f.ref[i - W_REF]);
		if (i == W_OFFER)
			snprintf(word, sizeof(word), "%s", offer ? offer + 1 : "0");
		if (i == (unsigned int)wrong)
			snprintf(word, sizeof(word), "%s", value);
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
					i && word[0] ? " " : "", word);
	}
	store_put(FRONT, XENVHCA_NODE_SETUP, "%s", text);
}

/* To InitWait, whatever was before. */
static void begin(void)
{
	store_put(FRONT, "state", "%d", XenbusStateInitialising);
	if (!store_wait(f.back, XenbusStateInitWait, LONG_MS))
		die("the backend does not come to InitWait, it is in %d: %s",
		    store_state(f.back), store_get(f.back, XENVHCA_NODE_BROKEN));
	rings_reset();
	put_setup(W_MOST, "");
}

static void connect(void)
{
	begin();
	store_put(FRONT, "state", "%d", XenbusStateInitialised);
	if (!store_wait(f.back, XenbusStateConnected, LONG_MS))
		die("the backend does not connect, it is in %d: %s",
		    store_state(f.back), store_get(f.back, XENVHCA_NODE_BROKEN));
	store_put(FRONT, "state", "%d", XenbusStateConnected);
}

static void notify(enum port p)
{
	xenevtchn_notify(f.ev, f.port[p]);
}

/* The backend must have given up and said why. */
static void expect_closed(const char *what)
{
	if (!store_wait(f.back, XenbusStateClosed, LONG_MS))
		bad("%s: the backend stays in state %d", what,
		    store_state(f.back));
	else if (!store_get(f.back, XENVHCA_NODE_BROKEN)[0])
		bad("%s: the backend does not say why it closed", what);
	else
		say("ok   %s: %s", what,
		    store_get(f.back, XENVHCA_NODE_BROKEN));
}

static struct xenvhca_request *slot(void)
{
	struct xenvhca_request *r;

	r = RING_GET_REQUEST(&f.ring, f.ring.req_prod_pvt);
	memset(r, 0, sizeof(*r));
	r->id = f.id++ % XENVHCA_MAX_ID;
	return r;
}

static void push(void)
{
	int notify_it;

	f.ring.req_prod_pvt++;
	RING_PUSH_REQUESTS_AND_CHECK_NOTIFY(&f.ring, notify_it);
	if (notify_it)
		notify(CMD);
}

/* Waits for one answer; its status, or 1 if there is none. */
static int answer(struct xenvhca_response *rsp)
{
	unsigned int t;

	for (t = 0; t < 10000; t++) {
		port_clear(f.ev);
		if (f.ring.rsp_cons != f.ring.sring->rsp_prod) {
			xen_rmb();
			*rsp = *RING_GET_RESPONSE(&f.ring, f.ring.rsp_cons);
			f.ring.rsp_cons++;
			return rsp->status;
		}
		if (store_state(f.back) != XenbusStateConnected)
			return 1;
		pause_ms(1);
	}
	return 1;
}

static void add_mlx4(struct xenvhca_request *r)
{
	if (r->op == XENVHCA_OP_ALLOC_UCONTEXT)
		r->out_len = f.abi == MLX4_IB_UVERBS_NO_DEV_CAPS_ABI_VERSION ?
			     sizeof(struct mlx4_ib_alloc_ucontext_resp_v3) :
			     sizeof(struct mlx4_ib_alloc_ucontext_resp);
	else if (r->op == XENVHCA_OP_ALLOC_PD)
		r->out_len = sizeof(struct mlx4_ib_alloc_pd_resp);
}

/* What a driver asks for beside the request: mlx5 has words here, mlx4 takes, rxe has none. */
static void add_udata(struct xenvhca_request *r)
{
	static const struct mlx5_ib_alloc_ucontext_req_v2 open = {
		.total_num_bfregs = 16, .num_low_latency_bfregs = 4,
		.max_cqe_version = 1, .lib_caps = MLX5_LIB_CAP_4K_UAR,
	};

	if (f.driver == RDMA_DRIVER_MLX4)
		add_mlx4(r);
	if (f.driver != RDMA_DRIVER_MLX5)
		return;
	if (r->op == XENVHCA_OP_ALLOC_UCONTEXT) {
		memcpy(r->udata, &open, sizeof(open));
		r->in_len = sizeof(open);
		r->out_len = sizeof(struct mlx5_ib_alloc_ucontext_resp);
	} else if (r->op == XENVHCA_OP_ALLOC_PD) {
		r->out_len = sizeof(struct mlx5_ib_alloc_pd_resp);
	}
}

static int call(uint16_t op, uint32_t uc, const void *body, size_t len,
		struct xenvhca_response *rsp)
{
	struct xenvhca_request *r = slot();

	r->op = op;
	r->ucontext = uc;
	if (len)
		memcpy(r->u.raw, body, len);
	add_udata(r);
	push();
	return answer(rsp);
}

static void expect_serves(const char *what)
{
	struct xenvhca_response rsp;
	int status = call(XENVHCA_OP_GET_INFO, 0, NULL, 0, &rsp);

	if (status)
		bad("%s: the backend does not serve (%d, state %d, %s)", what,
		    status, store_state(f.back), store_get(f.back, XENVHCA_NODE_BROKEN));
	else
		say("ok   %s: the backend serves", what);
}

/* ---- modes ---- */
static void mode_nodes(void)
{
	static const struct { enum word word; const char *value; } wrong[] = {
		{ W_VERSION, "2" }, { W_OFFER, "0" }, { W_OFFER, "4294967296" },
		{ W_REF, "0" }, { W_REF + 15, "nonsense\n" }, { W_REF + 3, "4000000" },
		{ W_REF + 7, "" }, { W_EVT_REF, "99999999" }, { W_KICK_REF, "0x10" },
		{ W_CMD, "100000" }, { W_KICK, " 7" }, { W_REF + 15, "9 9" },
	};
	char what[PATH];
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		begin();
		put_setup(wrong[i].word, wrong[i].value);
		store_put(FRONT, "state", "%d", XenbusStateInitialised);
		snprintf(what, sizeof(what), "word %d of setup = \"%s\"",
			 wrong[i].word, wrong[i].value);
		expect_closed(what);
	}
	begin();
	store_rm(FRONT, XENVHCA_NODE_SETUP);
	store_put(FRONT, "state", "%d", XenbusStateInitialised);
	expect_closed("there is no setup");
}

static void wild(const char *what, uint32_t *index, uint32_t value,
		 enum port p)
{
	connect();
	*(volatile uint32_t *)index = value;
	xen_mb();
	notify(p);
	expect_closed(what);
}

static void mode_producer(void)
{
	struct xenvhca_sring *sring = (struct xenvhca_sring *)f.mem;
	struct xenvhca_kick_page *kick =
		(struct xenvhca_kick_page *)(f.mem + (RING_PAGES + 1) * PAGE);

	wild("req_prod + 1000", &sring->req_prod, 1000, CMD);
	wild("req_prod - 1", &sring->req_prod, ~0u, CMD);
	wild("req_prod + 2^31", &sring->req_prod, 0x80000000u, CMD);
	wild("kick prod + 257", &kick->prod, 257, KICK);
	wild("kick prod - 1", &kick->prod, ~0u, KICK);
}

/* Random requests; about half of them are nearly right. */
static void mode_garbage(void)
{
	struct xenvhca_response rsp;
	struct xenvhca_request *r;
	unsigned int i, j, done = 0;

	connect();
	for (i = 0; i < 5000; i++) {
		r = slot();
		r->op = (uint16_t)(0x10 + rnd() % 0x30);
		r->ucontext = rnd() % 2 ? 0x100000 : rnd();
		for (j = rnd() % 60; j; j--)
			((uint32_t *)r->u.raw)[rnd() % 60] =
				rnd() % 3 ? rnd() % 64 : rnd();
		if (rnd() % 8 == 0)
			memset(r, (int)rnd(), sizeof(*r));
		push();
		if (answer(&rsp) == 1)
			break;
		done++;
	}
	say("     %u random requests answered", done);
	expect_serves("garbage");
}

static uint32_t context(void)
{
	struct xenvhca_response rsp;

	if (call(XENVHCA_OP_GET_INFO, 0, NULL, 0, &rsp))
		die("the backend does not say what HCA it is: %d", rsp.status);
	f.driver = rsp.u.get_info.driver_id;
	f.abi = rsp.u.get_info.uverbs_abi_ver;
	if (call(XENVHCA_OP_ALLOC_UCONTEXT, 0, NULL, 0, &rsp))
		die("no verbs context: %d", rsp.status);
	return rsp.u.alloc_ucontext.ucontext;
}

static int reg(uint32_t uc, uint32_t pd, uint32_t nr, uint8_t level,
	       uint32_t gref)
{
	struct xenvhca_reg_mr_req r = {
		.pd = pd, .access = 7, .length = (uint64_t)nr * PAGE,
		.pages = { .nr_pages = nr, .level = level },
	};
	struct xenvhca_response rsp;
	uint32_t i;

	for (i = 0; i < XENVHCA_MAX_GREFS_INLINE; i++)
		if (i < (level ? (nr + 1023) / 1024 : nr))
			r.pages.gref[i] = gref;
	return call(XENVHCA_OP_REG_MR, uc, &r, sizeof(r), &rsp);
}

/* One page of the guest's, for a queue or for doorbell records. */
static struct xenvhca_pages one_page(void)
{
	return (struct xenvhca_pages){ .nr_pages = 1, .gref = { f.ref[RING_PAGES + 2] } };
}

/* Queues of an mlx4 or an mlx5 that fit into a page; their udata has both addresses first. */
static void honest(struct xenvhca_request *r, uint16_t op, uint32_t pd, uint32_t cq)
{
	bool mlx4 = f.driver == RDMA_DRIVER_MLX4;
	const uint64_t at[2] = { VA, VA + PAGE + 8 * (rnd() % 64) };
	const struct mlx4_ib_create_qp qp4 = { .log_sq_bb_count = 4, .log_sq_stride = 6 };
	const struct mlx5_ib_create_qp qp5 = {
		.sq_wqe_count = 16, .rq_wqe_count = 16, .rq_wqe_shift = 6,
	};

	r->op = op;
	switch (op) {
	case XENVHCA_OP_CREATE_CQ:
		r->u.create_cq = (struct xenvhca_create_cq_req){
			.cqe = 63, .buf = one_page(), .db = one_page(),
		};
		((struct mlx5_ib_create_cq *)r->udata)->cqe_size = mlx4 ? 0 : 64;
		break;
	case XENVHCA_OP_CREATE_QP:
		r->u.create_qp = (struct xenvhca_create_qp_req){
			.pd = pd, .send_cq = cq, .recv_cq = cq, .qp_type = (uint8_t)(2 + rnd() % 3),
			.cap = { .max_send_wr = 4, .max_recv_wr = 16, .max_send_sge = 1,
				 .max_recv_sge = 4 },
			.buf = one_page(), .db = one_page(),
		};
		memcpy(r->udata, mlx4 ? (const void *)&qp4 : &qp5,
		       mlx4 ? sizeof(qp4) : sizeof(qp5));
		break;
	default:
		r->u.create_srq = (struct xenvhca_create_srq_req){
			.pd = pd, .max_wr = 31, .max_sge = 3, .buf = one_page(), .db = one_page(),
		};
	}
	memcpy(r->udata, at, sizeof(at));
}

/* One such request, some octets of which are others; its status. */
static int spoilt(uint32_t uc, uint16_t op, uint32_t pd, uint32_t cq, unsigned int octets,
		  struct xenvhca_response *rsp)
{
	const struct vhca_provider *p = vhca_provider_find(f.driver, f.abi);
	const struct vhca_udata_op *row = p ? vhca_provider_op(p, (uint8_t)op) : NULL;
	struct xenvhca_request *r = slot();

	if (!row)
		die("the HCA has no udata");
	honest(r, op, pd, cq);
	r->ucontext = uc;
	r->in_len = row->in_max;
	r->out_len = row->out_min;
	while (octets--)
		r->udata[rnd() % r->in_len] = (uint8_t)(rnd() % 3 ? rnd() % 16 : rnd());
	push();
	return answer(rsp);
}

/* Udata that a driver would take, and nearly that. */
static void mode_udata(void)
{
	static const uint16_t ops[] = {
		XENVHCA_OP_CREATE_CQ, XENVHCA_OP_CREATE_QP, XENVHCA_OP_CREATE_SRQ,
	};
	unsigned int i, j, honest_ones = 0, made = 0, asked = 0;
	struct xenvhca_response rsp;
	uint32_t uc, pd, cq;

	connect();
	for (i = 0; i < CONTEXTS; i++) {
		uc = context();
		if (f.driver == RDMA_DRIVER_RXE) {
			say("     its driver takes none");
			return;
		}
		if (call(XENVHCA_OP_ALLOC_PD, uc, NULL, 0, &rsp))
			die("no protection domain: %d", rsp.status);
		pd = rsp.u.handle.handle;
		if (spoilt(uc, XENVHCA_OP_CREATE_CQ, pd, 0, 0, &rsp))
			die("no CQ: %d", rsp.status);
		cq = rsp.u.cq.handle;
		for (j = 0; j < sizeof(ops) / sizeof(ops[0]); j++)
			honest_ones += !spoilt(uc, ops[j], pd, cq, 0, &rsp);
		for (j = 0; j < OBJECTS; j++, asked++)
			made += !spoilt(uc, ops[rnd() % 3], pd, cq, 1 + rnd() % 4, &rsp);
		if (call(XENVHCA_OP_DEALLOC_UCONTEXT, uc, NULL, 0, &rsp))
			bad("a context does not end: %d", rsp.status);
	}
	say("     %u objects, and %u of %u with other udata", honest_ones, made, asked);
	if (honest_ones != CONTEXTS * sizeof(ops) / sizeof(ops[0]))
		bad("udata of the driver was refused");
	if (made == asked)
		bad("all other udata was taken");
	expect_serves("udata");
}

/* Lists with references that Xen refuses; and one page as its own list. */
static void mode_pages(void)
{
	uint32_t uc, pd, data = f.ref[RING_PAGES + 2], i;
	uint32_t *dir = (uint32_t *)(f.mem + (RING_PAGES + 2) * PAGE);
	struct xenvhca_response rsp;

	connect();
	uc = context();
	if (call(XENVHCA_OP_ALLOC_PD, uc, NULL, 0, &rsp))
		die("no protection domain: %d", rsp.status);
	pd = rsp.u.handle.handle;
	if (!reg(uc, pd, 4, 0, 3999999) || !reg(uc, pd, 8, 0, ~0u))
		bad("references that do not exist were taken");
	if (!reg(uc, pd, 1024, 1, 3999999))
		bad("a directory that does not exist was taken");
	for (i = 0; i < 1024; i++)
		dir[i] = i == 700 ? 3999999 : data;
	if (!reg(uc, pd, 1024, 1, data))
		bad("one bad reference of 1024 was taken");
	dir[700] = data;
	/* Xen counts the mappings of one grant in 8 bits; a page here is 2. */
	if (!reg(uc, pd, 1024, 1, data))
		bad("1024 times the same page was taken");
	if (!reg(uc, pd, 64, 1, data))
		bad("references past the end of the list were taken");
	memset(dir + 64, 0, (1024 - 64) * sizeof(*dir));
	if (reg(uc, pd, 64, 1, data))
		bad("64 times the same page was refused");
	dir[0] = 0;
	if (!reg(uc, pd, 64, 1, data))
		bad("a hole was taken");
	expect_serves("lists of pages that lie");
}

/* Takes the answers there are; their number. */
static unsigned int flood_answers(void)
{
	uint32_t before = f.ring.rsp_cons;

	f.ring.rsp_cons = __atomic_load_n(&f.ring.sring->rsp_prod,
					  __ATOMIC_ACQUIRE);
	return f.ring.rsp_cons - before;
}

/* As many kicks as the ring takes; the producer never runs backwards. */
static unsigned int flood_kicks(uint32_t *prod)
{
	uint32_t room = XENVHCA_KICK_ENTRIES -
			(*prod - __atomic_load_n(&f.kick->cons,
						 __ATOMIC_ACQUIRE));
	uint32_t i;

	for (i = 0; i < room; i++)
		f.kick->kick[(*prod + i) % XENVHCA_KICK_ENTRIES].type = 1;
	*prod += room;
	__atomic_store_n(&f.kick->prod, *prod, __ATOMIC_RELEASE);
	return room;
}

static time_t flood_begin(void)
{
	connect();
	say("     begun");
	fflush(stdout);
	return time(NULL);
}

static bool flooding(time_t begin)
{
	return access(ENOUGH, F_OK) && time(NULL) < begin + FLOOD_SECONDS;
}

/* A ring of them may take long on a slow host, but each ends. */
static unsigned long flood_end(const char *what)
{
	unsigned long commands = 0;
	unsigned int t, n;

	for (t = 0; t < LONG_MS && f.ring.rsp_cons != f.ring.req_prod_pvt; t++) {
		pause_ms(1);
		n = flood_answers();
		commands += n;
		if (n)
			t = 0;
	}
	if (f.ring.rsp_cons != f.ring.req_prod_pvt)
		bad("%s: %u commands are not answered", what,
		    f.ring.req_prod_pvt - f.ring.rsp_cons);
	return commands;
}

/* What ends nothing is a command as any other: max-cmd-rate, and one second's more. */
static void mode_destroys(void)
{
	unsigned long rate = strtoul(store_get(f.back, XENVHCA_NODE_MAX_CMD_RATE),
				     NULL, 10);
	time_t begin = flood_begin();
	unsigned long commands = 0, seconds;
	struct xenvhca_request *r;

	while (flooding(begin)) {
		commands += flood_answers();
		while (!RING_FULL(&f.ring)) {
			r = slot();
			r->op = commands % 2 ? XENVHCA_OP_DEREG_MR :
				XENVHCA_OP_DEALLOC_UCONTEXT;
			r->ucontext = 0x100077;
			push();
		}
		notify(CMD);
		port_clear(f.ev);
	}
	commands += flood_end("destroys");
	seconds = (unsigned long)(time(NULL) - begin);
	say("     %lu destroys of nothing answered in %lu s", commands, seconds);
	if (!rate || commands > rate * (seconds + 2))
		bad("destroys: %lu, with %lu a second", commands, rate);
	expect_serves("destroys");
}

/* All that the rules allow, as fast as it goes: nothing to close it for. */
static void mode_flood(void)
{
	unsigned long commands = 0, kicks = 0;
	time_t begin = flood_begin();
	uint32_t prod = f.kick->prod;

	while (flooding(begin)) {
		commands += flood_answers();
		while (!RING_FULL(&f.ring)) {
			slot()->op = (uint16_t)(0x10 + rnd() % 5);
			push();
		}
		kicks += flood_kicks(&prod);
		notify(CMD);
		notify(KICK);
		notify(EVT);
		port_clear(f.ev);
	}
	commands += flood_end("flood");
	say("     %lu commands answered, %lu kicks in %lu s", commands, kicks,
	    (unsigned long)(time(NULL) - begin));
	expect_serves("flood");
}

static void mode_states(void)
{
	static const char *const values[] = {
		"4", "5", "6", "3", "2", "7", "8", "99", "-1", "x", "", "1",
	};
	unsigned int i;

	for (i = 0; i < 200; i++) {
		store_put(FRONT, "state", "%s",
			  values[rnd() % (sizeof(values) / sizeof(values[0]))]);
		pause_ms(rnd() % 30);
	}
	store_rm(FRONT, "state");
	pause_ms(300);
	connect();
	expect_serves("states in disorder");
	store_put(FRONT, "state", "%d", XenbusStateInitialising);
	connect();
	expect_serves("started anew in the middle");
	store_put(FRONT, "state", "%d", XenbusStateClosing);
	store_put(FRONT, "state", "%d", XenbusStateConnected);
	pause_ms(500);
	connect();
	expect_serves("back from Closing");
}

/* Objects, mapped memory, then nothing: the program just ends. */
static void mode_vanish(void)
{
	struct xenvhca_response rsp;
	uint32_t uc;

	connect();
	uc = context();
	if (call(XENVHCA_OP_ALLOC_PD, uc, NULL, 0, &rsp) ||
	    reg(uc, rsp.u.handle.handle, 4, 0, f.ref[RING_PAGES + 2]))
		bad("no memory region before vanishing");
	say("ok   vanishing with a memory region, connected");
	fflush(stdout);
	_exit(nr_bad ? 1 : 0);
}

static const struct { const char *name; void (*run)(void); } modes[] = {
	{ "nodes", mode_nodes }, { "producer", mode_producer },
	{ "garbage", mode_garbage }, { "pages", mode_pages }, { "udata", mode_udata },
	{ "flood", mode_flood }, { "destroys", mode_destroys },
	{ "states", mode_states }, { "vanish", mode_vanish },
};

int main(int argc, char **argv)
{
	size_t m;
	int i;

	if (argc < 2)
		die("usage: hostile-frontend nodes|producer|garbage|pages|udata|flood|destroys|states|vanish ...");
	init();
	for (i = 1; i < argc; i++) {
		for (m = 0; m < sizeof(modes) / sizeof(modes[0]); m++)
			if (!strcmp(argv[i], modes[m].name))
				break;
		if (m == sizeof(modes) / sizeof(modes[0]))
			die("unknown mode %s", argv[i]);
		say("== %s", modes[m].name);
		modes[m].run();
	}
	return nr_bad ? 1 : 0;
}
