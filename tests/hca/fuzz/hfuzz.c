// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Machines and objects of the fuzz targets, see hfuzz.h.
 */
#include "hfuzz.h"

#define PAGE	4096u
#define ROOM	64u		/* of keys that are registered */
#define LIST	(ROOM + 16)	/* pages and pieces that there are */

struct rig *hfuzz_rig(unsigned int n)
{
	static struct rig *rig[2];

	if (!rig[n]) {
		rig[n] = rig_new();
		PROMISE(rig[n]);
		rig[n]->umr_lists = true;
	}
	rig_clear(rig[n]);
	return rig[n];
}

static void open_qps(struct end *e)
{
	struct drv_qp_init init = { .scq = &e->scq, .rcq = &e->rcq };

	PROMISE(!drv_qp(&e->drv, &e->rc, &init));
	init.cs_req = init.cs_res = 0x11;
	init.type = DRV_UC;
	PROMISE(!drv_qp(&e->drv, &e->uc, &init));
	init.cs_req = init.cs_res = 0;
	init.type = DRV_UD;
	PROMISE(!drv_qp(&e->drv, &e->ud, &init));
	init.type = DRV_RC;
	init.srq = &e->srq;
	PROMISE(!drv_qp(&e->drv, &e->shared, &init));
	init.srq = &e->tag_srq;
	PROMISE(!drv_qp(&e->drv, &e->tags, &init));
	init.no_sq = true;
	PROMISE(!drv_qp(&e->drv, &e->rndv, &init));
	init.no_sq = false;
	init.srq = NULL;
	init.kernel = true;
	PROMISE(!drv_qp(&e->drv, &e->kernel, &init));
	init.kernel = false;
	init.type = DRV_XRC;
	PROMISE(!drv_qp(&e->drv, &e->xrc, &init));
	init.scq = init.rcq = NULL;
	init.xrc_target = true;
	PROMISE(!drv_qp(&e->drv, &e->target, &init));
}

/* Pieces are of all memory and of the region in turn. */
static void open_fast(struct end *e, struct rig *r)
{
	uint8_t *piece;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		PROMISE(!drv_alloc_mr(&e->drv, &e->fast[i], ROOM, i, e->drv.pd));
		e->list[i] = rig_alloc(r, PAGE);
		PROMISE(e->list[i]);
	}
	for (i = 0; i < LIST; i++) {
		piece = e->list[1] + 16 * i;
		cx_be64_set(e->list[0] + 8 * i,
			    rig_bus(r, e->mem + i * PAGE % HFUZZ_MEM));
		cx_be32_set(piece, 700);
		cx_be32_set(piece + 4, i & 1 ? e->mr.key : e->dma);
		cx_be64_set(piece + 8, i & 1 ? e->mr.va + i * 1000 :
			    rig_bus(r, e->mem + i * 1024));
	}
}

void hfuzz_open(struct end *e, struct rig *r, uint16_t lid, bool cable)
{
	struct rig_dev *d = rig_plug(r, 0x2c90300000000ULL + lid, lid, cable);

	PROMISE(d);
	memset(e, 0, sizeof(*e));
	PROMISE(!drv_open(&e->drv, d));
	PROMISE(!drv_cq(&e->drv, &e->scq, 5));
	PROMISE(!drv_cq(&e->drv, &e->rcq, 8));
	PROMISE(!drv_srq(&e->drv, &e->srq, 4, NULL));
	PROMISE(!drv_srq(&e->drv, &e->xrc_srq, 4, &e->rcq));
	PROMISE(!drv_srq_as(&e->drv, &e->tag_srq, 4, DRV_SRQ_TM, &e->rcq));
	e->mem = rig_alloc(r, HFUZZ_MEM);
	PROMISE(e->mem);
	/* The same address in every run: inputs can name it. */
	PROMISE(!drv_mr_at(&e->drv, &e->mr, e->mem, HFUZZ_MEM, 0x10000,
			   e->drv.pd, DRV_ALL, 12));
	PROMISE(!drv_mw(&e->drv, &e->mw, true));
	PROMISE(!drv_dma_mr(&e->drv, &e->dma, DRV_ALL));
	open_fast(e, r);
	open_qps(e);
}

static const struct drv_path path = {
	.dlid = 0, .qkey = 0x1111, .psn = 0xfffff0, .mtu = 1, .timeout = 10,
	.retry = 2, .rnr_retry = 2, .min_rnr = 1, .access = DRV_ALL,
	.log_rd = 2,
};

/* Of an Ethernet port, as its GUID makes it, and a link-local address. */
static const uint8_t macs[3][6] = { [1] = { 0, 2, 0xc9, 0, 0, 1 },
				    [2] = { 0, 2, 0xc9, 0, 0, 2 } };
static const uint8_t gids[3][16] = { [1] = { 0xfe, 0x80, [15] = 1 },
				     [2] = { 0xfe, 0x80, [15] = 2 } };

void hfuzz_addresses(struct end *e, uint16_t lid)
{
	PROMISE(!drv_roce(&e->drv, true));
	PROMISE(!drv_roce_addr(&e->drv, 0, 2, gids[lid], macs[lid], 0));
	PROMISE(!drv_roce_addr(&e->drv, 1, 1, gids[lid], macs[lid], 0));
}

static void to(struct drv_qp *qp, uint16_t lid, const struct drv_qp *peer)
{
	struct drv_path p = path;

	p.dlid = lid;
	if (qp->drv->rig->eth) {
		p.dmac = macs[lid];
		p.dgid = gids[lid];
	}
	p.qpn = peer->qpn;
	PROMISE(!drv_qp_up(qp, &p));
}

void hfuzz_connect(struct end *a, struct end *b)
{
	to(&a->rc, 2, &b->rc);
	to(&b->rc, 1, &a->rc);
	to(&a->uc, 2, &b->uc);
	to(&b->uc, 1, &a->uc);
	to(&a->ud, 2, &b->ud);
	to(&b->ud, 1, &a->ud);
	to(&a->shared, 2, &b->shared);
	to(&b->shared, 1, &a->shared);
	to(&a->tags, 2, &b->rndv);
	to(&b->rndv, 1, &a->tags);
	to(&b->tags, 1, &a->rndv);
	to(&a->rndv, 2, &b->tags);
	to(&a->kernel, 2, &b->kernel);
	to(&b->kernel, 1, &a->kernel);
	to(&a->xrc, 2, &b->target);
	to(&b->target, 1, &a->xrc);
	to(&b->xrc, 1, &a->target);
	to(&a->target, 2, &b->xrc);
}

struct drv_qp *hfuzz_qp(struct end *e, uint8_t n)
{
	struct drv_qp *qp[HFUZZ_QPS] = { &e->rc, &e->uc, &e->ud, &e->shared,
					 &e->xrc, &e->tags, &e->kernel };

	return qp[n % HFUZZ_QPS];
}

static void post_recv(struct end *e, struct drv_qp *qp, struct input *in)
{
	uint32_t off = in_u16(in), len = in_u16(in) * 2;

	if (qp == &e->shared)
		drv_srq_post(&e->srq, &e->mr, off, len);
	else if (qp == &e->xrc)
		drv_srq_post(&e->xrc_srq, &e->mr, off, len);
	else if (qp == &e->tags)
		drv_srq_post(&e->tag_srq, &e->mr, off, len);
	else
		drv_recv(qp, &e->mr, off, len);
}

/* A key of the peer's. */
static uint32_t any_key(struct end *peer, uint8_t which)
{
	if (which & 1)
		return peer->mw;
	return which & 2 ? peer->fast[which >> 2 & 1] : peer->mr.key;
}

static void remote(struct drv_wr *wr, struct end *e, struct end *peer,
		   struct input *in)
{
	uint8_t inval;

	wr->raddr = peer->mr.va + in_u16(in) * 8U;
	wr->rkey = any_key(peer, in_u8(in));
	wr->swap_add = in_u16(in);
	wr->compare = in_u8(in);
	wr->xrc_srqn = peer->xrc_srq.srqn;
	wr->ud.dlid = peer == e ? 1 : 2;
	if (e->drv.rig->eth) {
		wr->roce.dmac = macs[wr->ud.dlid];
		wr->ud.dgid = gids[wr->ud.dlid];
		wr->roce.sgid_index = wr->compare & 3;
	}
	wr->ud.qpn = peer->ud.qpn;
	wr->ud.qkey = path.qkey;
	inval = in_u8(in);
	wr->imm = inval & 3 ? any_key(peer, inval) : in_u8(in);
	wr->bind.type2 = true;
	wr->bind.mw = e->mw;
	wr->bind.new_key = e->mw = (e->mw & ~0xffU) | ((e->mw + 1) & 0xff);
	wr->bind.addr = e->mr.va + in_u16(in);
	wr->bind.len = in_u16(in);
	wr->bind.lkey = e->mr.key;
	wr->bind.access = in_u8(in) & 0x2f;
}

/* Operations of hfuzz_post() that are UMRs, too, and a SEND. */
enum { OP_REG = 11, OP_INVAL, OP_RNDV };

/* Few tags and indices, so that messages meet them. */
static void tag_op(struct drv_wr *wr, struct input *in)
{
	uint8_t how = in_u8(in);

	wr->tm.op = how & 3;
	wr->tm.flags = how & 0xc0;
	wr->tm.index = in_u8(in) % (DRV_LOG_TAGS * 4);
	wr->tm.count = in_u8(in);
	wr->tm.tag = how >> 2 & 3;
	wr->tm.mask = how & 0x10 ? 0 : ~0ULL;
	if (wr->tm.op != DRV_TM_APPEND || how & 0x20)
		wr->nr_sge = 0;
	wr->flags &= ~DRV_INLINE;
}

/* A request for the sender's memory, or what the input makes of it. */
static void request(struct drv_wr *wr, struct end *e, struct input *in)
{
	static struct {
		struct ibv_tmh tmh;
		struct ibv_rvh rvh;
	} head;
	uint8_t how = in_u8(in);

	head.tmh.opcode = how & 0x80 ? in_u8(in) : IBV_TMH_RNDV;
	head.tmh.tag = htobe64(how & 3);
	head.rvh.va = htobe64(e->mr.va + in_u16(in));
	head.rvh.rkey = htobe32(any_key(e, in_u8(in)));
	head.rvh.len = htobe32(in_u16(in) * (how & 4 ? 5 : 1));
	wr->inl = &head;
	wr->inl_len = how & 8 ? in_u8(in) % sizeof(head) : sizeof(head);
	wr->flags |= DRV_INLINE;
}

/* As mlx5_ib posts it, but for what the input changes. */
static void reg(struct drv_wr *wr, struct end *e, struct input *in)
{
	uint8_t how = in_u8(in);
	bool pieces = how & 1;
	uint32_t *key = &e->fast[pieces];

	if (!(how & 2))
		*key = (*key & ~0xffU) | ((*key + 1) & 0xff);
	wr->reg.how = pieces ? DRV_REG_PIECES : DRV_REG_PAGES;
	wr->reg.key = *key;
	wr->reg.list = e->list[pieces];
	wr->reg.nr = in_u8(in) % (LIST + 1);
	wr->reg.lkey = how & 4 ? e->mr.key : e->dma;
	wr->reg.at = how & 8 ? e->mr.va + in_u32(in) : 0;
	wr->reg.iova = e->mr.va + in_u16(in);
	wr->reg.len = in_u16(in) * 5U;
	wr->reg.log_page = how & 16 ? in_u8(in) : 12;
	wr->reg.access = in_u8(in) & DRV_ALL;
}

static void inval(struct drv_wr *wr, struct end *e, struct input *in)
{
	uint8_t how = in_u8(in);

	wr->reg.how = DRV_REG_INVAL;
	wr->reg.key = e->fast[how & 1] ^ how >> 1;
}

static void umr_op(struct drv_wr *wr, unsigned int op, struct end *e,
		   struct input *in)
{
	if (op == OP_REG)
		reg(wr, e, in);
	if (op == OP_INVAL)
		inval(wr, e, in);
	wr->nr_sge = 0;
	wr->flags &= ~DRV_INLINE;
}

void hfuzz_post(struct end *e, struct end *peer, struct input *in, int flags)
{
	static const uint8_t op[] = {
		MLX5_OPCODE_SEND, MLX5_OPCODE_SEND_IMM, MLX5_OPCODE_SEND_INVAL,
		MLX5_OPCODE_RDMA_WRITE, MLX5_OPCODE_RDMA_WRITE_IMM,
		MLX5_OPCODE_RDMA_READ, MLX5_OPCODE_ATOMIC_CS,
		MLX5_OPCODE_ATOMIC_FA, MLX5_OPCODE_NOP, MLX5_OPCODE_UMR,
		MLX5_OPCODE_TAG_MATCHING,
		[OP_REG] = MLX5_OPCODE_UMR, [OP_INVAL] = MLX5_OPCODE_UMR,
		[OP_RNDV] = MLX5_OPCODE_SEND,
	};
	uint8_t sel = in_u8(in), how = in_u8(in);
	unsigned int n = (sel & 15) % sizeof(op);
	struct drv_qp *qp = hfuzz_qp(e, how);
	struct drv_sge sge = { e->mr.va + in_u16(in), in_u16(in) * 3U,
			       e->mr.key };
	struct drv_wr wr = { .sge = &sge, .nr_sge = 1, .inl = e->mem,
			     .inl_len = how };

	if (sel & 0x80) {
		post_recv(e, qp, in);
		return;
	}
	wr.opcode = op[n];
	wr.flags = flags | (sel & 0x40 ? DRV_SIGNALED : 0) |
		(sel & 0x20 ? DRV_INLINE : 0) | (sel & 0x10 ? DRV_FENCE : 0);
	remote(&wr, e, peer, in);
	if (wr.opcode == MLX5_OPCODE_TAG_MATCHING)
		tag_op(&wr, in);
	if (n == OP_RNDV)
		request(&wr, e, in);
	if (wr.opcode == MLX5_OPCODE_UMR)
		umr_op(&wr, n, e, in);
	if (wr.opcode == MLX5_OPCODE_ATOMIC_CS ||
	    wr.opcode == MLX5_OPCODE_ATOMIC_FA) {
		wr.flags &= ~DRV_INLINE;
		sge.len = 8;
	}
	drv_post(qp, &wr);
}

void hfuzz_check(struct rig *r)
{
	PROMISE(rig_run(r));
	PROMISE(!r->broken);
}
