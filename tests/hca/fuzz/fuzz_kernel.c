// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/kernel/ and a hostile backend: the input is what a consumer posts and polls,
 * and what the backend writes to the queues and the pool meanwhile, completions above all;
 * and when the connection of the ring ends and another one begins. Each request that was
 * posted completes once at most, nothing else does, and only memory that is posted for
 * receives and reads, or that a window shows, changes. Without a connection all that is
 * posted is flushed, nothing is stored to a register, and what is given back to the pool has
 * no other use.
 */
#pragma clang diagnostic ignored "-Weverything"
#include "tests/fuzz/promise.h"
#undef print_message
#define print_message(...)	((void)0)
#include "tests/unit/kernel/front_kern_rest.h"

#define PAGES		4		/* for receives; as many that are only read */
#define SMALL		8		/* mappings for receives that share a page */
#define SMALL_SIZE	100
#define SMALL_GAP	300
#define OTHERS		6		/* mappings that come and go */
#define LISTED		6		/* entries of what a window shows */
#define IDS		4096
#define STEPS		512

/* There is no model: end_begin() and what follows take memory alone, and one pool. */
static u8 pool[HCA_POOL_MB << 20] __attribute__((aligned(PAGE_SIZE)));
static struct hca_side no_hca[2] = { { .pool = pool } };

struct hca_side *hca_side(unsigned int i) { return &no_hca[i]; }
void hca_store(unsigned int i, uint64_t reg, const void *value) { }
uint32_t hca_window(unsigned int i) { return 0; }
void hca_stop(unsigned int i) { }

static struct end *e = &ends[0];
static struct input in;
static u8 *mem, *readable, *small;
static dma_addr_t big_addr, readable_addr, small_addr[SMALL];
static struct posted { bool posted, receive, signaled; u32 room; } posted[IDS];
static u32 ids;
static bool wrote[PAGES * PAGE_SIZE / 64];	/* by 64 octets: posted to be written once */
static struct ib_mr *window;			/* or NULL */
static u8 *other;				/* a page for each of OTHERS */
static struct { dma_addr_t at; u32 size; } others[OTHERS];
static bool late[(HCA_POOL_MB << 20) / VHCA_POOL_SLOT];	/* given back without a connection */

static void begin_small(void)
{
	unsigned int i;

	memset(small, 0x44, PAGE_SIZE);
	for (i = 0; i < SMALL; i++) {
		small_addr[i] = map_page(&e->dev.ibdev.dev, (struct page *)small,
					 i * SMALL_GAP, SMALL_SIZE, DMA_FROM_DEVICE, 0);
		PROMISE(small_addr[i] != DMA_MAPPING_ERROR);
	}
}

static void end_small(void)
{
	unsigned int i;

	for (i = 0; i < SMALL; i++)
		unmap(&e->dev.ibdev.dev, small_addr[i], SMALL_SIZE, DMA_FROM_DEVICE, 0);
	for (i = 0; i < PAGE_SIZE; i++)
		PROMISE((i < SMALL * SMALL_GAP && i % SMALL_GAP < SMALL_SIZE) ||
			small[i] == 0x44);
}

/* ---- the connection ---- */

static bool connected(void)
{
	return !e->dev.away && e->dev.ring.state == VHCA_RING_UP;
}

/* Has the HCA an object of the connection @gen? */
static bool lives(u32 gen)
{
	return connected() && gen == e->dev.gen;
}

static void window_begins(void)
{
	unsigned int before = commands;

	window = vhca_kern_alloc_mr(&e->pd, IB_MR_TYPE_MEM_REG, PAGES);
	PROMISE(!e->dev.away || (IS_ERR(window) && commands == before));
	if (IS_ERR(window)) {
		window = NULL;
		return;
	}
	window->device = &e->dev.ibdev;
	window->page_size = PAGE_SIZE;
}

static void window_ends(void)
{
	if (window)
		vhca_kern_dereg_mr(window, NULL);
	window = NULL;
}

/* ---- mappings that come and go ---- */

static bool *late_at(dma_addr_t addr, u32 i)
{
	return &late[(addr - VHCA_POOL_IOVA) / VHCA_POOL_SLOT + i];
}

static u32 slots_of(dma_addr_t addr, u32 size)
{
	return (addr % VHCA_POOL_SLOT + size + VHCA_POOL_SLOT - 1) / VHCA_POOL_SLOT;
}

static void other_ends(unsigned int i)
{
	dma_addr_t at = others[i].at;
	u32 n = slots_of(at, others[i].size);

	/* A window, or the HCA of an earlier connection, may have written; nobody reads it. */
	unmap(&e->dev.ibdev.dev, at, others[i].size, DMA_TO_DEVICE, 0);
	others[i].size = 0;
	while (n-- && !connected())
		*late_at(at, n) = true;
}

static void other_comes_or_goes(void)
{
	u8 i = in_u8(&in) % OTHERS, how = in_u8(&in);
	u32 n, size = 1 + how * 16;
	dma_addr_t at;

	if (others[i].size) {
		other_ends(i);
		return;
	}
	at = map_page(&e->dev.ibdev.dev, (struct page *)(other + i * PAGE_SIZE), 0, size,
		      DMA_FROM_DEVICE, 0);
	PROMISE(at != DMA_MAPPING_ERROR);
	others[i].at = at;
	others[i].size = size;
	for (n = slots_of(at, size); n--;)
		PROMISE(!*late_at(at, n));
}

/* ---- begin and end ---- */

static void begin(bool shared)
{
	memset(mem, 0x11, PAGES * PAGE_SIZE);
	memset(other, 0x55, OTHERS * PAGE_SIZE);
	memset(late, 0, sizeof(late));
	memset(readable, 0x33, PAGES * PAGE_SIZE);
	memset(posted, 0, sizeof(posted));
	memset(wrote, 0, sizeof(wrote));
	ids = 0;
	end_begin(e, 1);
	end_objects(e, IB_QPT_RC, shared);
	big_addr = map_page(&e->dev.ibdev.dev, (struct page *)mem, 0, PAGES * PAGE_SIZE,
			DMA_FROM_DEVICE, 0);
	readable_addr = map_page(&e->dev.ibdev.dev, (struct page *)readable, 0,
				 PAGES * PAGE_SIZE, DMA_TO_DEVICE, 0);
	PROMISE(big_addr != DMA_MAPPING_ERROR && readable_addr != DMA_MAPPING_ERROR);
	begin_small();
	window_begins();
}

static void end(void)
{
	unsigned int i;

	window_ends();
	for (i = 0; i < OTHERS; i++)
		if (others[i].size)
			other_ends(i);
	for (i = 0; i < OTHERS * PAGE_SIZE; i++)
		PROMISE(other[i] == 0x55);
	/* Of what no window showed there is no copy at the end. */
	unmap(&e->dev.ibdev.dev, big_addr, PAGES * PAGE_SIZE, DMA_FROM_DEVICE, 0);
	unmap(&e->dev.ibdev.dev, readable_addr, PAGES * PAGE_SIZE, DMA_FROM_DEVICE, 0);
	end_small();
	for (i = 0; i < PAGES * PAGE_SIZE; i++) {
		PROMISE(readable[i] == 0x33);
		PROMISE(wrote[i / 64] || mem[i] == 0x11);
	}
	/* What is given back without a connection waits for the next one. */
	vhca_pool_back(pool_of(e));
	PROMISE(bitmap_empty(pool_of(e)->used, pool_of(e)->nr));
	kernel_cancel(&e->dev.owed_work);
	end_end(e);
}

/* ---- the consumer ---- */

static struct posted *new_id(u64 *id)
{
	*id = ids;
	return ids < IDS ? &posted[ids++] : NULL;
}

static void may_write(u32 at, u32 len)
{
	u32 i;

	for (i = at / 64; len && i <= (at + len - 1) / 64; i++)
		wrote[i] = true;
}

/* What is posted and cannot complete by an HCA: the CQ's consumer is to hear of it. */
static void check_told(u32 gen)
{
	PROMISE(lives(gen) || e->dev.overflow);
}

static int posts(const struct ib_send_wr *wr)
{
	unsigned int before = stores;
	const struct ib_send_wr *bad;
	int rc;

	e->dev.overflow = false;
	rc = vhca_kern_post_send(&e->qp.qp.ibqp, wr, &bad);
	PROMISE(stores - before <= lives(e->qp.qp.gen));
	if (!rc)
		check_told(e->qp.qp.gen);
	return rc;
}

static bool reads(enum ib_wr_opcode op)
{
	return op == IB_WR_RDMA_READ || op == IB_WR_RDMA_READ_WITH_INV;
}

static void sends(void)
{
	static const enum ib_wr_opcode ops_sent[] = {
		IB_WR_SEND, IB_WR_RDMA_WRITE, IB_WR_RDMA_READ, IB_WR_LOCAL_INV,
		IB_WR_SEND_WITH_INV, IB_WR_RDMA_READ_WITH_INV, IB_WR_RDMA_WRITE_WITH_IMM,
		IB_WR_ATOMIC_CMP_AND_SWP,
	};
	u8 how = in_u8(&in);
	u32 at = in_u8(&in) * 32, len = in_u8(&in);
	enum ib_wr_opcode op = ops_sent[how % 8];
	bool in_line = how & 0x20, signaled = how & 8;
	struct ib_sge sge = { (reads(op) ? big_addr : readable_addr) + at, len };
	struct ib_rdma_wr wr = {
		.wr = { .opcode = op, .sg_list = &sge, .num_sge = 1,
			.send_flags = (signaled ? IB_SEND_SIGNALED : 0) |
				      (how & 0x10 ? IB_SEND_FENCE : 0) |
				      (in_line ? IB_SEND_INLINE : 0),
			.ex.invalidate_rkey = window ? window->rkey : 0 },
	};
	struct posted *p = new_id(&wr.wr.wr_id);

	if (in_line)
		sge.addr = (u64)(uintptr_t)readable + at;
	if (!p || posts(&wr.wr))
		return;
	PROMISE(op != IB_WR_ATOMIC_CMP_AND_SWP);
	*p = (struct posted){ .posted = true, .signaled = signaled };
	if (reads(op))
		may_write(at, len);
}

/* Entries within pages of one of the mappings. Return: of how many octets. */
static u32 listed(struct scatterlist *sg, int n, bool read)
{
	u32 all = 0, page, from, len;
	int i;

	for (i = 0; i < n; i++) {
		page = in_u8(&in);
		from = i ? 0 : page / PAGES * 64;
		len = i < n - 1 ? PAGE_SIZE - from : PAGE_SIZE - from - page / PAGES;
		page %= PAGES;
		sg[i].dma = (read ? readable_addr : big_addr) + page * PAGE_SIZE + from;
		sg[i].dma_len = len;
		all += len;
		if (!read)
			may_write(page * PAGE_SIZE, PAGE_SIZE);
	}
	return all;
}

/* A window shows what is listed, in this order, and no octet else. */
static void check_window(const struct vhca_kmr *mr, const struct scatterlist *sg, int n)
{
	u64 at = 0, done, some;
	u32 x = 0;
	int i;

	for (i = 0; i < n; i++)
		for (done = 0; done < sg[i].dma_len; done += some, at += some) {
			if (x < mr->nr && at == mr->ext[x].len) {
				x++;
				at = 0;
			}
			PROMISE(x < mr->nr && mr->ext[x].addr + at == sg[i].dma + done);
			some = min(sg[i].dma_len - done, mr->ext[x].len - at);
			PROMISE(some);
		}
	PROMISE(x + 1 == mr->nr && at == mr->ext[x].len);
}

static void binds(void)
{
	u8 how = in_u8(&in);
	struct scatterlist sg[LISTED];
	int rc, n = 1 + how / 2 % LISTED;
	u32 all = listed(sg, n, how & 1);
	struct ib_reg_wr wr = {
		.wr = { .opcode = IB_WR_REG_MR, .send_flags = how & 0x80 ? IB_SEND_SIGNALED : 0 },
		.mr = window, .access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE,
	};
	struct posted *p;

	if (!window || vhca_kern_map_mr_sg(window, sg, n, NULL) != n)
		return;
	PROMISE(window->length == all);
	check_window(to_kmr(window), sg, n);
	wr.key = ++window->rkey;
	p = new_id(&wr.wr.wr_id);
	rc = p ? posts(&wr.wr) : -ENOMEM;
	PROMISE(rc || to_kmr(window)->gen == e->qp.qp.gen);
	if (!rc)
		*p = (struct posted){ .posted = true, .signaled = how & 0x80 };
}

/* The consumer looks at what windows have brought. */
static void syncs(void)
{
	u32 at = in_u8(&in) * 64, len = in_u8(&in) * 16;

	if (at + len <= PAGES * PAGE_SIZE)
		sync_for_cpu(&e->dev.ibdev.dev, big_addr + at, len, DMA_FROM_DEVICE);
}

static void receives(bool to_small)
{
	u8 which = in_u8(&in), len = in_u8(&in) % (to_small ? SMALL_SIZE : 256);
	u32 at = to_small ? 0 : which * 64;
	u64 addr = to_small ? small_addr[which % SMALL] : big_addr;
	struct ib_sge sge[2] = { { addr + at, len / 2 }, { addr + at + len / 2, len - len / 2 } };
	struct ib_recv_wr wr = { .sg_list = sge, .num_sge = 2 };
	struct posted *p = new_id(&wr.wr_id);
	const struct ib_recv_wr *bad;
	int rc;

	if (!p || at + len > PAGES * PAGE_SIZE)
		return;
	e->dev.overflow = false;
	rc = e->srq.rq.cnt ? vhca_kern_post_srq_recv(&e->srq.srq.ibsrq, &wr, &bad) :
			     vhca_kern_post_recv(&e->qp.qp.ibqp, &wr, &bad);
	if (rc)
		return;
	check_told(e->srq.rq.cnt ? e->srq.srq.gen : e->qp.qp.gen);
	*p = (struct posted){ .posted = true, .receive = true, .room = len };
	if (!to_small)
		may_write(at, len);
}

/* In order: what was sent before and has no completion of its own is over, too. */
static void sent_before(u64 id)
{
	while (id--)
		if (!posted[id].receive)
			posted[id].posted = false;
}

static void completed(const struct ib_wc *wc, bool recv)
{
	struct posted *p = &posted[wc->wr_id];

	PROMISE(wc->wr_id < ids && p->posted && p->receive == recv);
	PROMISE(wc->qp == &e->qp.qp.ibqp && wc->status <= IB_WC_GENERAL_ERR);
	PROMISE(p->receive || p->signaled || wc->status != IB_WC_SUCCESS);
	PROMISE(wc->status != IB_WC_SUCCESS || wc->opcode != IB_WC_RECV ||
		wc->byte_len <= p->room);
	p->posted = false;
	if (!recv)
		sent_before(wc->wr_id);
}

static int polled(bool recv, int nr)
{
	struct vhca_kcq *cq = recv ? &e->rcq : &e->scq;
	struct ib_wc wc[8];
	int i, n = vhca_kern_poll_cq(&cq->cq.ibcq, nr, wc);

	PROMISE(n <= nr);
	for (i = 0; i < n; i++)
		completed(&wc[i], recv);
	return n;
}

/* Is there one that a CQ tells of? Receives of an SRQ have no queue pair yet. */
static bool waits(bool recv)
{
	u32 i;

	for (i = 0; i < ids && !(recv && e->srq.rq.cnt); i++)
		if (posted[i].posted && posted[i].receive == recv)
			return true;
	return false;
}

static void polls(bool recv)
{
	struct vhca_kcq *cq = recv ? &e->rcq : &e->scq;
	unsigned int before = stores;
	u8 flags;

	polled(recv, 1 + in_u8(&in) % 8);
	flags = in_u8(&in) % 8;
	if (!vhca_kern_arm_cq(&cq->cq.ibcq, flags) && flags & IB_CQ_REPORT_MISSED_EVENTS)
		PROMISE(lives(e->qp.qp.gen) || !waits(recv));
	PROMISE(stores - before <= lives(cq->gen));
}

/* As ib_drain_qp(), without an HCA: all that was posted completes. */
static void drains(void)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	PROMISE(!vhca_kern_modify_qp(&e->qp.qp.ibqp, &attr, IB_QP_STATE, NULL));
	if (lives(e->qp.qp.gen))
		return;
	while (polled(false, 8) || polled(true, 8))
		;
	PROMISE(!waits(false) && !waits(true));
}

static void resets(void)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };
	u32 i;

	if (vhca_kern_modify_qp(&e->qp.qp.ibqp, &attr, IB_QP_STATE, NULL))
		return;
	for (i = 0; i < ids; i++)
		posted[i].posted &= e->srq.rq.cnt && posted[i].receive;
}

/* Another queue pair on the CQs that there are, which live again if they are dead. */
static void renews(void)
{
	bool shared = e->srq.rq.cnt, dead = e->scq.gen != e->dev.gen;

	if (!connected())
		return;
	drains();
	end_pair_end(e);
	memset(&e->qp.sq, 0, sizeof(e->qp.sq));
	memset(&e->qp.rq, 0, sizeof(e->qp.rq));
	memset(&e->srq.rq, 0, sizeof(e->srq.rq));
	memset(posted, 0, sizeof(posted));
	end_pair(e, IB_QPT_RC, shared);
	PROMISE(e->qp.qp.gen == e->dev.gen && e->scq.gen == e->dev.gen &&
		e->rcq.gen == e->dev.gen);
	PROMISE(!dead || (!e->scq.cons && !e->rcq.cons));
}

/* ---- the backend ---- */

static void forges(void)
{
	struct vhca_kcq *cq = in_u8(&in) % 2 ? &e->rcq : &e->scq;
	u8 opcode = in_u8(&in), ahead = in_u8(&in) % 4;
	struct mlx5_cqe64 *cqe = cqe_at(cq, cq->cons + ahead);

	in_bytes(&in, cqe, 16);
	cqe->sop_drop_qpn = cpu_to_be32(opcode & 0x80 ? in_u32(&in) : e->qp.qp.ibqp.qp_num);
	cqe->wqe_counter = cpu_to_be16(in_u8(&in) | (opcode & 0x40 ? in_u8(&in) << 8 : 0));
	cqe->byte_cnt = cpu_to_be32(opcode & 0x20 ? in_u32(&in) : in_u8(&in));
	((struct mlx5_err_cqe *)cqe)->syndrome = in_u8(&in);
	cqe->op_own = (opcode & 15) << 4 | !!((cq->cons + ahead) & cq->nent);
}

static void writes(void)
{
	struct { u8 *p; size_t len; } to[] = {
		{ e->scq.buf, e->scq.nent * 64 }, { e->rcq.buf, e->rcq.nent * 64 },
		{ e->qp.rq.buf, e->qp.rq.cnt * e->qp.rq.stride + e->qp.sq.cnt * 64 },
		{ e->srq.rq.buf, e->srq.rq.cnt * e->srq.rq.stride },
		{ pool_of(e)->mem->va, 1 << 20 },
		{ e->qp.qp.db->va, 8 }, { e->scq.cq.db->va, 8 },
	};
	u8 which = in_u8(&in) % ARRAY_SIZE(to), value[16];
	u32 at = in_u16(&in) * 16;

	in_bytes(&in, value, sizeof(value));
	if (to[which].p && to[which].len)
		memcpy(to[which].p + at % to[which].len, value,
		       min(sizeof(value), to[which].len - at % to[which].len));
}

/* Of the ring, by its backend or in order. */
static void goes(bool dies)
{
	unsigned int before = commands;

	if (dies)
		e->dev.ring.state = VHCA_RING_BROKEN;
	if (e->dev.away)
		return;
	vhca_kern_away(&e->dev);
	PROMISE(e->dev.overflow && commands == before);
	e->dev.ring.state = VHCA_RING_BROKEN;
}

static void comes_back(bool refuses)
{
	if (!e->dev.away)
		return;
	e->dev.ring.state = VHCA_RING_UP;
	command_rc = refuses ? -EIO : 0;
	PROMISE(!vhca_kern_back(&e->dev) == !refuses);
	command_rc = 0;
	PROMISE(e->dev.away == refuses);
	if (refuses)
		e->dev.ring.state = VHCA_RING_BROKEN;
	else
		memset(late, 0, sizeof(late));
}

static void connection(u8 how)
{
	switch (how % 8) {
	case 0: e->dev.ring.state = VHCA_RING_BROKEN; break;
	case 1: goes(true); break;
	case 2: goes(false); break;
	case 3: comes_back(true); break;
	case 4: comes_back(false); break;
	case 5: resets(); break;
	case 6: drains(); break;
	default: renews();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned int i;

	in = (struct input){ data, size };
	if (!mem) {
		mem = aligned_alloc(PAGE_SIZE, PAGES * PAGE_SIZE);
		readable = aligned_alloc(PAGE_SIZE, PAGES * PAGE_SIZE);
		small = aligned_alloc(PAGE_SIZE, PAGE_SIZE);
		other = aligned_alloc(PAGE_SIZE, OTHERS * PAGE_SIZE);
	}
	begin(in_u8(&in) % 2);
	for (i = 0; i < STEPS && in.left; i++) {
		switch (in_step(&in) % 24) {
		case 0: case 1: case 2: sends(); break;
		case 3: case 4: receives(false); break;
		case 5: receives(true); break;
		case 6: case 7: case 8: case 9: forges(); break;
		case 10: case 11: polls(true); break;
		case 12: case 13: polls(false); break;
		case 14: case 15: writes(); break;
		case 16: case 17: case 18: binds(); break;
		case 19: syncs(); break;
		case 20: other_comes_or_goes(); break;
		case 21:
			window_ends();
			window_begins();
			break;
		default: connection(in_u8(&in));
		}
	}
	end();
	return 0;
}
