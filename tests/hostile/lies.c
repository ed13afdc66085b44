// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The lies of hostile-backend, one row each: where it dies, or how an answer
 * is malformed (for one op, or for all), or what it does when nobody asks.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "kern.h"
#include "mlx5.h"

#define ANY	0xffff
#define NEVER	(-1)

struct lie {
	const char *name;
	int dies_at;			/* enum stage, or NEVER */
	uint16_t op;			/* whose answer is malformed; 0: none */
	/* Spoils the answer; false: it is not sent at all. */
	bool (*spoil)(struct peer *b, const struct xenvhca_request *req,
		      struct xenvhca_response *rsp);
	void (*idle)(struct peer *b);
	const char *versions, *order;
	bool refused, late, mlx5, files, kernel;
};

typedef const struct xenvhca_request request;
typedef struct xenvhca_response response;

/* ---- the header of an answer, and the ring ---- */
static bool wild_prod(struct peer *b, request *req, response *rsp)
{
	(void)req;
	(void)rsp;
	b->sring->rsp_prod += 1000;
	peer_notify(b, CMD);
	return false;
}

static bool prod_back(struct peer *b, request *req, response *rsp)
{
	(void)req;
	(void)rsp;
	b->sring->rsp_prod = ~0u;
	peer_notify(b, CMD);
	return false;
}

static bool id_range(struct peer *b, request *req, response *rsp)
{
	(void)b;
	rsp->id = (uint16_t)(req->id + 256);
	return true;
}

static bool id_idle(struct peer *b, request *req, response *rsp)
{
	(void)b;
	rsp->id = (uint16_t)((req->id + 100) % 256);
	return true;
}

static bool twice(struct peer *b, request *req, response *rsp)
{
	(void)req;
	peer_put(b, rsp);
	return true;
}

static bool other_op(struct peer *b, request *req, response *rsp)
{
	(void)b;
	rsp->op = (uint16_t)(req->op + 1);
	return true;
}

static bool long_out(struct peer *b, request *req, response *rsp)
{
	(void)b;
	rsp->out_len = (uint16_t)(req->out_len + 1);
	return true;
}

static bool huge_out(struct peer *b, request *req, response *rsp)
{
	(void)b;
	(void)req;
	rsp->out_len = 0xffff;
	return true;
}

static bool strange_status(struct peer *b, request *req, response *rsp)
{
	static const int32_t status[] = { 1, 0x7fffffff, -512, -4096, -517 };

	(void)req;
	rsp->status = status[b->told % 5];
	return true;
}

static bool silence(struct peer *b, request *req, response *rsp)
{
	(void)b;
	(void)req;
	(void)rsp;
	return false;
}

static void map_for_ever(struct peer *b, const uint32_t *ref, uint32_t n)
{
	if (!xengnttab_map_domain_grant_refs(b->gnt, n, b->domid,
					     (uint32_t *)ref, PROT_READ))
		die("cannot map a region: %s", strerror(errno));
}

/* Maps what is granted, as any backend, and never lets go. */
static void keep(struct peer *b, const struct xenvhca_pages *p)
{
	uint32_t left = p->nr_pages, i, n, *dir;

	if (left && !p->level)
		map_for_ever(b, p->gref, left);
	if (p->level != 1)
		return;
	for (i = 0; left; i++, left -= n) {
		n = left < XENVHCA_GREFS_PER_PAGE ? left :
						    XENVHCA_GREFS_PER_PAGE;
		dir = xengnttab_map_grant_ref(b->gnt, b->domid, p->gref[i],
					      PROT_READ);
		if (!dir)
			die("cannot map a directory: %s", strerror(errno));
		map_for_ever(b, dir, n);
		xengnttab_unmap(b->gnt, dir, 1);
	}
}

static bool keeps(struct peer *b, request *req, response *rsp)
{
	(void)rsp;
	keep(b, &req->u.reg_mr.pages);
	return true;
}

static bool keeps_cq(struct peer *b, request *req, response *rsp)
{
	(void)rsp;
	keep(b, &req->u.create_cq.buf);
	keep(b, &req->u.create_cq.db);
	return true;
}

/* Each answer just in time, and so for ever. */
static bool late_end(struct peer *b, request *req, response *rsp)
{
	(void)b;
	(void)req;
	(void)rsp;
	pause_ms(1800);
	return true;
}

/* From the moment on at which it is told to go. */
static bool late_detach(struct peer *b, request *req, response *rsp)
{
	return b->detached ? late_end(b, req, rsp) : true;
}

static bool dies(struct peer *b, request *req, response *rsp)
{
	(void)req;
	(void)rsp;
	b->gone = true;
	return false;
}

/* ---- bodies ---- */
static bool all_ones(struct peer *b, request *req, response *rsp)
{
	(void)b;
	(void)req;
	memset(rsp->u.raw, 0xff, sizeof(rsp->u.raw));
	return true;
}

static bool all_zero(struct peer *b, request *req, response *rsp)
{
	(void)b;
	(void)req;
	memset(rsp->u.raw, 0, sizeof(rsp->u.raw));
	return true;
}

static bool no_end(struct peer *b, request *req, response *rsp)
{
	(void)b;
	(void)req;
	memset(rsp->u.get_info.hca, 'x', XENVHCA_NAME_LEN);
	return true;
}

static bool escapes(struct peer *b, request *req, response *rsp)
{
	(void)b;
	(void)req;
	strcpy(rsp->u.get_info.hca, "a\n<0>BUG: forged\033[2J");
	return true;
}

static bool other_driver(struct peer *b, request *req, response *rsp)
{
	(void)b;
	(void)req;
	rsp->u.get_info.driver_id = 1;
	return true;
}

static bool big_limits(struct peer *b, request *req, response *rsp)
{
	(void)b;
	(void)req;
	memset(&rsp->u.query_device, 0xff, sizeof(rsp->u.query_device));
	return true;
}

static bool gid_loop(struct peer *b, request *req, response *rsp)
{
	(void)b;
	rsp->u.query_gid_table.next = req->u.query_gid_table.first;
	if (!rsp->u.query_gid_table.next)
		rsp->u.query_gid_table.next = 1;
	return true;
}

/* A file of sysfs twice. */
static bool same_name(struct peer *b, request *req, response *rsp)
{
	(void)b;
	(void)req;
	strcpy(rsp->u.query_counter_names.name[1], "link_downed");
	return true;
}

static bool same_handle(struct peer *b, request *req, response *rsp)
{
	(void)b;
	(void)req;
	rsp->u.handle.handle = 4711;
	return true;
}

static bool small_cq(struct peer *b, request *req, response *rsp)
{
	(void)b;
	rsp->u.cq.cqe = req->u.create_cq.cqe - 1;
	return true;
}

/* ---- doorbell pages of an mlx5 ---- */
static bool doorbell_error(struct peer *b, request *req, response *rsp)
{
	static const int32_t status[] = { -22, -12, -1, 1, -512 };

	(void)req;
	rsp->status = status[b->told % 5];
	return true;
}

static bool doorbell_lies(struct peer *b, request *req, response *rsp)
{
	(void)req;
	mlx5_doorbell(b->told, rsp);
	return true;
}

static bool random_answer(struct peer *b, request *req, response *rsp)
{
	uint32_t i, n = rnd() % 8;

	(void)b;
	if (req->op < XENVHCA_OP_ALLOC_UCONTEXT && rnd() % 4)
		return true;		/* so that a device appears at all */
	for (i = 0; i < n; i++)
		((uint32_t *)rsp->u.raw)[rnd() % 60] =
			rnd() % 2 ? rnd() % 300 : rnd();
	if (rnd() % 4 == 0)
		rsp->status = -(int32_t)(rnd() % 140);
	if (req->out_len && rnd() % 4 == 0)
		rsp->out_len = (uint16_t)(rnd() % (req->out_len + 1u));
	for (i = 0; i < rsp->out_len; i++)
		if (rnd() % 2)
			rsp->udata[i] = (uint8_t)rnd();
	return true;
}

/* ---- unasked ---- */
static void event_storm(struct peer *b)
{
	struct xenvhca_event ev;
	int i;

	b->busy = true;
	for (i = 0; i < 128; i++) {
		ev = (struct xenvhca_event){
			(uint8_t)(rnd() % 8), (uint8_t)(rnd() % 24), 0,
			rnd() % 2 ? rnd() % (b->handle + 2) : rnd(),
		};
		if (ev.event == 8)
			ev.event = 9;
		if (b->evt_prod - b->evt->cons < XENVHCA_EVT_ENTRIES)
			peer_event(b, &ev);
	}
	b->evt->overflow = 1;
	peer_notify(b, EVT);
}

static void notify_storm(struct peer *b)
{
	b->busy = true;
	peer_notify(b, CMD);
	peer_notify(b, EVT);
	peer_notify(b, KICK);
}

/* Only once a device is there. */
static void wild_events(struct peer *b)
{
	if (b->served < 8)
		return;
	b->evt->prod += 1000;
	peer_notify(b, EVT);
}

static void fatal_event(struct peer *b)
{
	struct xenvhca_event ev = { XENVHCA_EVT_PORT, 8, 0, 0 };

	if (b->served >= 8 && !b->told++)
		peer_event(b, &ev);
}

/* For a CQ that nobody arms, and whose events nobody reads. */
static void comp_flood(struct peer *b)
{
	const struct xenvhca_event ev = { XENVHCA_EVT_COMP, 0, 0, b->cq };

	if (b->cq && !peer_rests(b))
		peer_pour(b, &ev);
}

static void overflow_flood(struct peer *b)
{
	if (!b->cq || peer_rests(b))
		return;
	b->flood++;
	b->evt->overflow = 1;
	peer_notify(b, EVT);
}

static void port_flood(struct peer *b)
{
	static const uint8_t kind[] = { 9, 10, 11, 12, 13, 17, 18 };
	const struct xenvhca_event ev = {
		XENVHCA_EVT_PORT, kind[b->told++ % sizeof(kind)], 0, 0,
	};

	if (b->cq && !peer_rests(b))
		peer_pour(b, &ev);
}

/* Each event is newer than the one before, of files whose process reads none. */
static void file_flood(struct peer *b)
{
	struct xenvhca_event ev = { XENVHCA_EVT_CM, 0, 0, 0 };

	if (!b->file[0] || !b->file[1] || peer_rests(b))
		return;
	do {
		b->told++;
		ev.type = b->told % 2 ? XENVHCA_EVT_UMAD : XENVHCA_EVT_CM;
		ev.handle = b->file[b->told % 2];
		ev.seq = (uint16_t)b->told;
	} while (peer_pour_one(b, &ev));
	peer_poured(b);
}

/* As vhcactl detach: it asks the frontend to go, and serves it on the way. */
static void detach(struct peer *b)
{
	if (!b->cq || b->detached || time(NULL) < b->cq_since + 6)
		return;
	b->detached = time(NULL);
	store_put(b->back, "online", "0");
	store_put(b->back, "state", "%d", XenbusStateClosing);
}

/* Done and consumed run ahead of what was produced. */
static void wild_kicks(struct peer *b)
{
	b->kick->cons += rnd() % 3 ? 1 : 1000;
	b->kick->done = rnd();
	peer_notify(b, KICK);
}

/* All that a kernel's device may hear, until it is told to go, and on the way. */
static void kern_detach(struct peer *b)
{
	kern_completions(b);
	kern_orders(b);
	detach(b);
}

/* In the middle of a connection. */
static bool dies_later(struct peer *b, request *req, response *rsp)
{
	return b->told < 40 || dies(b, req, rsp);
}

static bool err_fails(struct peer *b, request *req, response *rsp)
{
	(void)b;
	if (req->u.modify_qp.attr.qp_state == 6)
		rsp->status = -22;
	return true;
}

#define OP(name) XENVHCA_OP_##name
static const struct lie lies[] = {
	{ .name = "honest", NEVER },
	{ .name = "die-begin", STAGE_BEGIN },
	{ .name = "die-initwait", STAGE_INITWAIT },
	{ .name = "die-initialised", STAGE_INITIALISED },
	{ .name = "die-connected", STAGE_CONNECTED },
	{ .name = "die-get-info", NEVER, OP(GET_INFO), dies },
	{ .name = "die-query-port", NEVER, OP(QUERY_PORT), dies },
	{ .name = "die-alloc-pd", NEVER, OP(ALLOC_PD), dies },
	{ .name = "version", NEVER, .versions = "2,3,x", .refused = true },
	{ .name = "late-version", NEVER, .late = true },
	{ .name = "order", NEVER, .order = "4294967295" },
	{ .name = "order-minus", NEVER, .order = "-7", .refused = true },
	{ .name = "wild-prod", NEVER, OP(GET_INFO), wild_prod },
	{ .name = "prod-back", NEVER, OP(GET_INFO), prod_back },
	{ .name = "id-range", NEVER, OP(GET_INFO), id_range },
	{ .name = "id-idle", NEVER, OP(QUERY_DEVICE), id_idle },
	{ .name = "twice", NEVER, OP(QUERY_PORT), twice },
	{ .name = "other-op", NEVER, OP(QUERY_DEVICE), other_op },
	{ .name = "long-out", NEVER, OP(GET_INFO), long_out },
	{ .name = "huge-out", NEVER, OP(QUERY_PORT), huge_out },
	{ .name = "status", NEVER, ANY, strange_status },
	{ .name = "silent-get-info", NEVER, OP(GET_INFO), silence },
	{ .name = "silent-alloc", NEVER, OP(ALLOC_UCONTEXT), silence },
	{ .name = "silent-dealloc", NEVER, OP(DEALLOC_UCONTEXT), silence },
	{ .name = "slow-dealloc", NEVER, OP(DEALLOC_UCONTEXT), late_end },
	{ .name = "silent-reg-mr", NEVER, OP(REG_MR), silence },
	{ .name = "keeps-mr", NEVER, OP(REG_MR), keeps },
	{ .name = "info-ones", NEVER, OP(GET_INFO), all_ones },
	{ .name = "info-zero", NEVER, OP(GET_INFO), all_zero },
	{ .name = "info-no-end", NEVER, OP(GET_INFO), no_end },
	{ .name = "info-escapes", NEVER, OP(GET_INFO), escapes },
	{ .name = "info-driver", NEVER, OP(GET_INFO), other_driver },
	{ .name = "device-ones", NEVER, OP(QUERY_DEVICE), big_limits },
	{ .name = "device-zero", NEVER, OP(QUERY_DEVICE), all_zero },
	{ .name = "port-ones", NEVER, OP(QUERY_PORT), all_ones },
	{ .name = "port-zero", NEVER, OP(QUERY_PORT), all_zero },
	{ .name = "gid-ones", NEVER, OP(QUERY_GID_TABLE), all_ones },
	{ .name = "gid-loop", NEVER, OP(QUERY_GID_TABLE), gid_loop },
	{ .name = "pkey-zero", NEVER, OP(QUERY_PKEY_TABLE), all_zero },
	{ .name = "pkey-ones", NEVER, OP(QUERY_PKEY_TABLE), all_ones },
	{ .name = "names-ones", NEVER, OP(QUERY_COUNTER_NAMES), all_ones },
	{ .name = "names-twice", NEVER, OP(QUERY_COUNTER_NAMES), same_name },
	{ .name = "counters-ones", NEVER, OP(QUERY_COUNTERS), all_ones },
	{ .name = "counters-zero", NEVER, OP(QUERY_COUNTERS), all_zero },
	{ .name = "uc-zero", NEVER, OP(ALLOC_UCONTEXT), all_zero },
	{ .name = "pd-zero", NEVER, OP(ALLOC_PD), all_zero },
	{ .name = "mr-ones", NEVER, OP(REG_MR), all_ones },
	{ .name = "cq-small", NEVER, OP(CREATE_CQ), small_cq },
	{ .name = "cq-ones", NEVER, OP(CREATE_CQ), all_ones },
	{ .name = "same-handle", NEVER, OP(CREATE_CQ), same_handle },
	{ .name = "mmap-lies", NEVER, OP(MMAP), ranges_grefs },
	{ .name = "made-lies", NEVER, OP(CREATE_CQ), ranges_made },
	{ .name = "huge-queue", NEVER, ANY, ranges_huge },
	{ .name = "random", NEVER, ANY, random_answer },
	{ .name = "event-storm", NEVER, .idle = event_storm },
	{ .name = "notify-storm", NEVER, .idle = notify_storm },
	{ .name = "wild-events", NEVER, .idle = wild_events },
	{ .name = "fatal-event", NEVER, .idle = fatal_event },
	{ .name = "wild-kicks", NEVER, .idle = wild_kicks },
	{ .name = "mlx5-honest", NEVER, .mlx5 = true },
	{ .name = "mlx5-doorbell-silent", NEVER, OP(MMAP), silence,
	  .mlx5 = true },
	{ .name = "mlx5-doorbell-error", NEVER, OP(MMAP), doorbell_error,
	  .mlx5 = true },
	{ .name = "mlx5-doorbell-lies", NEVER, OP(MMAP), doorbell_lies,
	  .mlx5 = true },
	{ .name = "mlx5-comp-flood", NEVER, .idle = comp_flood, .mlx5 = true },
	{ .name = "mlx5-arm-flood", NEVER, ANY, arm_hold, arm_flood,
	  .mlx5 = true },
	{ .name = "mlx5-overflow", NEVER, .idle = overflow_flood,
	  .mlx5 = true },
	{ .name = "mlx5-port-flood", NEVER, .idle = port_flood, .mlx5 = true },
	{ .name = "mlx5-file-flood", NEVER, .idle = file_flood, .mlx5 = true,
	  .files = true },
	{ .name = "mlx5-keeps-cq", NEVER, OP(CREATE_CQ), keeps_cq,
	  .mlx5 = true },
	{ .name = "mlx5-late-detach", NEVER, ANY, late_detach, detach,
	  .mlx5 = true },
	{ .name = "kernel-honest", NEVER, .kernel = true },
	{ .name = "kernel-completions", NEVER, .idle = kern_completions, .kernel = true },
	{ .name = "kernel-orders", NEVER, .idle = kern_orders, .kernel = true },
	{ .name = "kernel-requests", NEVER, .idle = kern_requests, .kernel = true },
	{ .name = "kernel-flood", NEVER, .idle = kern_flood, .kernel = true },
	{ .name = "kernel-data", NEVER, OP(CM_COMMAND), kern_cm_data, .kernel = true },
	{ .name = "kernel-quiet", NEVER, OP(CM_COMMAND), kern_cm_quiet, .kernel = true },
	{ .name = "kernel-late", NEVER, OP(CM_COMMAND), late_end, .kernel = true },
	{ .name = "kernel-dies", NEVER, OP(CM_COMMAND), dies_later, .kernel = true },
	{ .name = "kernel-err", NEVER, OP(MODIFY_QP), err_fails, .kernel = true },
	{ .name = "kernel-random", NEVER, ANY, random_answer, kern_completions,
	  .kernel = true },
	{ .name = "kernel-detach", NEVER, .idle = kern_detach, .kernel = true },
};
#define LIES (sizeof(lies) / sizeof(lies[0]))

bool lie_choose(struct peer *b, const char *name)
{
	size_t i;

	for (i = 0; i < LIES; i++) {
		if (strcmp(name, lies[i].name))
			continue;
		b->lie = &lies[i];
		b->refused = lies[i].refused;
		b->late = lies[i].late;
		b->kernel = lies[i].kernel;
		b->mlx5 = lies[i].mlx5 || b->kernel;
		b->files = lies[i].files;
		if (lies[i].versions)
			b->versions = lies[i].versions;
		if (lies[i].order)
			b->order = lies[i].order;
		return true;
	}
	return false;
}

void lie_list(void)
{
	size_t i;

	for (i = 0; i < LIES; i++)
		printf(" %s", lies[i].name);
	printf("\n");
}

bool lie_stage(struct peer *b, enum stage stage)
{
	return b->lie->dies_at == (int)stage;
}

void lie_request(struct peer *b, const struct xenvhca_request *req)
{
	const struct lie *l = b->lie;
	struct xenvhca_response rsp;

	model_answer(b, req, &rsp);
	if (b->kernel)
		kern_answer(b, req, &rsp);
	if (req->op == XENVHCA_OP_CREATE_CQ) {
		b->cq = b->handle;
		b->cq_since = time(NULL);
	}
	if (req->op == XENVHCA_OP_ALLOC_CM || req->op == XENVHCA_OP_ALLOC_UMAD)
		b->file[req->op == XENVHCA_OP_ALLOC_UMAD] = b->handle;
	if (l->spoil && (l->op == ANY || l->op == req->op)) {
		b->told++;
		if (!l->spoil(b, req, &rsp))
			return;
	}
	peer_put(b, &rsp);
}

bool lie_has_idle(const struct peer *b)
{
	return b->lie->idle;
}

void lie_idle(struct peer *b)
{
	if (b->lie->idle)
		b->lie->idle(b);
}
