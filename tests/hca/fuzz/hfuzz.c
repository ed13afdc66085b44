// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Machines and objects of the fuzz targets, see hfuzz.h.
 */
#include "hfuzz.h"

struct rig *hfuzz_rig(unsigned int n)
{
	static struct rig *rig[2];

	if (!rig[n]) {
		rig[n] = rig_new();
		PROMISE(rig[n]);
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
	init.srq = NULL;
	init.type = DRV_XRC;
	PROMISE(!drv_qp(&e->drv, &e->xrc, &init));
	init.scq = init.rcq = NULL;
	init.xrc_target = true;
	PROMISE(!drv_qp(&e->drv, &e->target, &init));
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
	to(&a->tags, 2, &b->tags);
	to(&b->tags, 1, &a->tags);
	to(&a->xrc, 2, &b->target);
	to(&b->target, 1, &a->xrc);
	to(&b->xrc, 1, &a->target);
	to(&a->target, 2, &b->xrc);
}

struct drv_qp *hfuzz_qp(struct end *e, uint8_t n)
{
	struct drv_qp *qp[HFUZZ_QPS] = { &e->rc, &e->uc, &e->ud, &e->shared,
					 &e->xrc, &e->tags };

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

static void remote(struct drv_wr *wr, struct end *e, struct end *peer,
		   struct input *in)
{
	wr->raddr = peer->mr.va + in_u16(in) * 8U;
	wr->rkey = in_u8(in) & 1 ? peer->mw : peer->mr.key;
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
	wr->imm = in_u8(in) & 1 ? peer->mw : in_u8(in);
	wr->bind.type2 = true;
	wr->bind.mw = e->mw;
	wr->bind.new_key = e->mw = (e->mw & ~0xffU) | ((e->mw + 1) & 0xff);
	wr->bind.addr = e->mr.va + in_u16(in);
	wr->bind.len = in_u16(in);
	wr->bind.lkey = e->mr.key;
	wr->bind.access = in_u8(in) & 0x2f;
}

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

void hfuzz_post(struct end *e, struct end *peer, struct input *in, int flags)
{
	static const uint8_t op[] = {
		MLX5_OPCODE_SEND, MLX5_OPCODE_SEND_IMM, MLX5_OPCODE_SEND_INVAL,
		MLX5_OPCODE_RDMA_WRITE, MLX5_OPCODE_RDMA_WRITE_IMM,
		MLX5_OPCODE_RDMA_READ, MLX5_OPCODE_ATOMIC_CS,
		MLX5_OPCODE_ATOMIC_FA, MLX5_OPCODE_NOP, MLX5_OPCODE_UMR,
		MLX5_OPCODE_TAG_MATCHING,
	};
	uint8_t sel = in_u8(in), how = in_u8(in);
	struct drv_qp *qp = hfuzz_qp(e, how);
	struct drv_sge sge = { e->mr.va + in_u16(in), in_u16(in) * 3U,
			       e->mr.key };
	struct drv_wr wr = { .sge = &sge, .nr_sge = 1, .inl = e->mem,
			     .inl_len = how };

	if (sel & 0x80) {
		post_recv(e, qp, in);
		return;
	}
	wr.opcode = op[sel % sizeof(op)];
	wr.flags = flags | (sel & 0x40 ? DRV_SIGNALED : 0) |
		(sel & 0x20 ? DRV_INLINE : 0) | (sel & 0x10 ? DRV_FENCE : 0);
	remote(&wr, e, peer, in);
	if (wr.opcode == MLX5_OPCODE_TAG_MATCHING)
		tag_op(&wr, in);
	if (wr.opcode == MLX5_OPCODE_UMR) {
		wr.nr_sge = 0;
		wr.flags &= ~DRV_INLINE;
	}
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
