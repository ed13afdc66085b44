// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/kernel/ and a hostile backend: the input is what a consumer posts and polls,
 * and what the backend writes to the queues and the pool meanwhile, completions above all.
 * Each request that was posted completes once at most, nothing else does, and only memory
 * that is posted for receives and reads changes.
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

static void begin(bool shared)
{
	memset(mem, 0x11, PAGES * PAGE_SIZE);
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
}

static void end(void)
{
	unsigned int i;

	/* Of what no window showed there is no copy at the end, only of receives. */
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

static void sends(void)
{
	static const enum ib_wr_opcode op[] = { IB_WR_SEND, IB_WR_RDMA_WRITE,
						IB_WR_RDMA_READ, IB_WR_LOCAL_INV };
	u8 how = in_u8(&in);
	u32 at = in_u8(&in) * 32, len = in_u8(&in);
	bool read = op[how % 4] == IB_WR_RDMA_READ;
	struct ib_sge sge = { (read ? big_addr : readable_addr) + at, len };
	struct ib_rdma_wr wr = {
		.wr = { .opcode = op[how % 4], .sg_list = &sge, .num_sge = 1,
			.send_flags = how & 4 ? IB_SEND_SIGNALED : 0 },
	};
	struct posted *p = new_id(&wr.wr.wr_id);
	const struct ib_send_wr *bad;

	if (!p || vhca_kern_post_send(&e->qp.qp.ibqp, &wr.wr, &bad))
		return;
	*p = (struct posted){ .posted = true, .signaled = how & 4 };
	if (read)
		may_write(at, len);
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
	rc = e->srq.rq.cnt ? vhca_kern_post_srq_recv(&e->srq.srq.ibsrq, &wr, &bad) :
			     vhca_kern_post_recv(&e->qp.qp.ibqp, &wr, &bad);
	if (rc)
		return;
	*p = (struct posted){ .posted = true, .receive = true, .room = len };
	if (!to_small)
		may_write(at, len);
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
}

static void polls(bool recv)
{
	struct vhca_kcq *cq = recv ? &e->rcq : &e->scq;
	int i, n, nr = 1 + in_u8(&in) % 8;
	struct ib_wc wc[8];

	n = vhca_kern_poll_cq(&cq->cq.ibcq, nr, wc);
	PROMISE(n <= nr);
	for (i = 0; i < n; i++)
		completed(&wc[i], recv);
	vhca_kern_arm_cq(&cq->cq.ibcq, in_u8(&in) % 8);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned int i;

	in = (struct input){ data, size };
	if (!mem) {
		mem = aligned_alloc(PAGE_SIZE, PAGES * PAGE_SIZE);
		readable = aligned_alloc(PAGE_SIZE, PAGES * PAGE_SIZE);
		small = aligned_alloc(PAGE_SIZE, PAGE_SIZE);
	}
	begin(in_u8(&in) % 2);
	for (i = 0; i < STEPS && in.left; i++) {
		switch (in_step(&in) % 16) {
		case 0: case 1: case 2: sends(); break;
		case 3: case 4: receives(false); break;
		case 5: receives(true); break;
		case 6: case 7: case 8: case 9: forges(); break;
		case 10: case 11: polls(true); break;
		case 12: case 13: polls(false); break;
		case 14: writes(); break;
		default:
			if (!(in_u8(&in) % 16))
				e->dev.ring.state = VHCA_RING_BROKEN;
			else if (!(in_u8(&in) % 8))
				resets();
		}
	}
	end();
	return 0;
}
