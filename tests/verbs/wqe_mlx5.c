// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * The queues of a mlx5 HCA, which are the process's own memory, and its doorbell
 * register: their form is that of <infiniband/mlx5dv.h>.
 */
#include <endian.h>
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <string.h>

#include "wqe.h"

#define BB		64u	/* a send request takes some of these */
#define BBS		4
#define EXT_AV		0x80000000u	/* of dqp_dct: the long address */
#define INLINE_SEG	0x80000000u	/* of a segment's byte count */
#define UNIT		16u	/* in which the length of a request counts */
#define OWN_SLOTS(wr)	((wr) < 8 ? 8u : 16u)

static int mlx5_srq(struct wqe_fuzz *f)
{
	struct mlx5dv_srq d = { .comp_mask = 0 };
	struct mlx5dv_obj o = { .srq = { .in = f->srq, .out = &d } };
	struct wqe_ring *r = &f->srq_ring;

	if (mlx5dv_init_obj(&o, MLX5DV_OBJ_SRQ))
		return -1;
	r->map = r->elem = d.buf;
	r->shift = __builtin_ctz(d.stride);
	r->slots = OWN_SLOTS(WQE_SRQ_WR);
	r->len = (size_t)r->slots << r->shift;
	r->index = d.dbrec;
	return 0;
}

static int mlx5_qp(struct wqe_fuzz *f, struct wqe_side *s)
{
	struct mlx5dv_qp d = { .comp_mask = 0 };
	struct mlx5dv_obj o = { .qp = { .in = s->qp, .out = &d } };

	if (mlx5dv_init_obj(&o, MLX5DV_OBJ_QP))
		return -1;
	s->reg = d.bf.reg;
	s->sq = (struct wqe_ring){
		.map = d.sq.buf, .elem = d.sq.buf, .slots = d.sq.wqe_cnt,
		.shift = __builtin_ctz(BB), .len = (size_t)d.sq.wqe_cnt * BB,
		.index = &d.dbrec[MLX5_SND_DBR],
	};
	s->rq = f->srq_ring;
	if (!s->srq)
		s->rq = (struct wqe_ring){
			.map = d.rq.buf, .elem = d.rq.buf,
			.slots = d.rq.wqe_cnt,
			.shift = __builtin_ctz(d.rq.stride),
			.len = (size_t)d.rq.wqe_cnt * d.rq.stride,
			.index = &d.dbrec[MLX5_RCV_DBR],
		};
	return s->sq.slots && s->rq.slots && s->reg ? 0 : -1;
}

/* A reset queue pair begins anew, a shared queue does not. */
static void mlx5_begin(struct wqe_side *s)
{
	s->sq.prod = 0;
	if (!s->srq)
		s->rq.prod = 0;
}

static uint8_t *data_segs(struct wqe_fuzz *f, uint8_t *at, uint32_t n)
{
	uint32_t len;

	for (; n; n--, at += UNIT) {
		len = wqe_below(f, 3000);
		mlx5dv_set_data_seg((void *)at, len, f->mr->lkey,
				    (uintptr_t)f->data +
				    wqe_below(f, WQE_DATA - len));
	}
	return at;
}

static uint8_t *inline_seg(struct wqe_fuzz *f, uint8_t *at)
{
	uint32_t len = wqe_below(f, WQE_INLINE);

	((struct mlx5_wqe_inl_data_seg *)at)->byte_count =
		htobe32(len | INLINE_SEG);
	return at + (4 + len + UNIT - 1) / UNIT * UNIT;
}

static uint8_t *address(struct wqe_fuzz *f, uint8_t *at)
{
	struct mlx5_wqe_datagram_seg *seg = (void *)at;
	struct mlx5dv_ah d = { .comp_mask = 0 };
	struct mlx5dv_obj o = { .ah = { .in = f->ah, .out = &d } };

	if (!mlx5dv_init_obj(&o, MLX5DV_OBJ_AH))
		memcpy(&seg->av, d.av, sizeof(seg->av));
	seg->av.key.qkey.qkey = htobe32(VT_QKEY);
	seg->av.dqp_dct = htobe32(f->side[1].qp->qp_num | EXT_AV);
	return at + sizeof(*seg);
}

static uint8_t *remote(struct wqe_fuzz *f, uint8_t *at, bool atomic)
{
	struct mlx5_wqe_raddr_seg *seg = (void *)at;

	seg->raddr = htobe64((uintptr_t)f->data +
			     (wqe_below(f, WQE_DATA / 2) & ~7u));
	seg->rkey = htobe32(f->mr->rkey);
	return at + sizeof(*seg) +
	       (atomic ? sizeof(struct mlx5_wqe_atomic_seg) : 0);
}

/* A request that the provider could have written; its length. */
static size_t good_send(struct wqe_fuzz *f, const struct wqe_side *s,
			uint8_t *wqe)
{
	static const uint8_t ops[] = {
		MLX5_OPCODE_NOP, MLX5_OPCODE_SEND, MLX5_OPCODE_SEND_IMM,
		MLX5_OPCODE_SEND_INVAL, MLX5_OPCODE_RDMA_WRITE,
		MLX5_OPCODE_RDMA_WRITE_IMM, MLX5_OPCODE_RDMA_READ,
		MLX5_OPCODE_ATOMIC_CS, MLX5_OPCODE_ATOMIC_FA,
		MLX5_OPCODE_UMR,
	};
	uint8_t op = ops[wqe_below(f, VT_ARRAY_SIZE(ops))];
	uint8_t *at = wqe + sizeof(struct mlx5_wqe_ctrl_seg);
	bool atomic = op == MLX5_OPCODE_ATOMIC_CS ||
		      op == MLX5_OPCODE_ATOMIC_FA;

	if (f->type == IBV_QPT_UD)
		at = address(f, at);
	if (atomic || op == MLX5_OPCODE_RDMA_WRITE ||
	    op == MLX5_OPCODE_RDMA_WRITE_IMM || op == MLX5_OPCODE_RDMA_READ)
		at = remote(f, at, atomic);
	if (wqe_below(f, 4))
		at = data_segs(f, at, wqe_below(f, WQE_SGE + 1));
	else
		at = inline_seg(f, at);
	mlx5dv_set_ctrl_seg((void *)wqe, s->sq.prod, op, 0, s->qp->qp_num,
			    MLX5_WQE_CTRL_CQ_UPDATE, (at - wqe) / UNIT, 0,
			    htobe32(f->mr->rkey));
	return at - wqe;
}

static void mlx5_send(struct wqe_fuzz *f, struct wqe_side *s)
{
	_Alignas(8) uint8_t wqe[BB * BBS] = {};
	size_t len = good_send(f, s, wqe), i;
	struct wqe_ring *r = &s->sq;

	/* Seldom: an error ends the life of a queue pair. */
	if (!wqe_below(f, 8))
		wqe_spoil(f, wqe, len);
	for (i = 0; i < len; i += BB)
		memcpy(r->elem + (size_t)(r->prod++ % r->slots) * BB, wqe + i,
		       BB);
}

static void mlx5_recv(struct wqe_fuzz *f, struct wqe_side *s)
{
	_Alignas(8) uint8_t wqe[BB * BBS] = {};
	struct wqe_ring *r = &s->rq;
	size_t element = (size_t)1 << r->shift;
	struct mlx5_wqe_srq_next_seg *next = (void *)wqe;
	uint8_t *at = wqe;

	if (element > sizeof(wqe) || element < UNIT * (WQE_SGE + s->srq))
		return;
	if (s->srq) {
		next->next_wqe_index = htobe16((r->prod + 1) % r->slots);
		at += UNIT;
	}
	data_segs(f, at, wqe_below(f, WQE_SGE + 1));
	if (!wqe_below(f, 8))
		wqe_spoil(f, wqe, element);
	memcpy(r->elem + ((size_t)(r->prod++ % r->slots) << r->shift), wqe,
	       element);
	__atomic_store_n((uint32_t *)r->index,
			 wqe_below(f, 64) ? htobe32(r->prod & 0xffff) :
			 wqe_wild(f), __ATOMIC_RELEASE);
}

/* The doorbell record, then the first words of a request, or others. */
static void mlx5_kick(struct wqe_fuzz *f, struct wqe_side *s)
{
	const struct wqe_ring *r = &s->sq;
	uint32_t word[2] = {
		htobe32((uint32_t)(uint16_t)(r->prod - 1) << 8 |
			MLX5_OPCODE_SEND),
		htobe32(s->qp->qp_num << 8 | 2),
	};
	uint64_t both;

	if (!wqe_below(f, 64))
		word[wqe_below(f, 2)] = wqe_wild(f);
	memcpy(&both, word, sizeof(both));
	__atomic_store_n((uint32_t *)r->index,
			 wqe_below(f, 64) ? htobe32(r->prod & 0xffff) :
			 wqe_wild(f), __ATOMIC_SEQ_CST);
	*(volatile uint64_t *)s->reg = both;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

const struct wqe_hca wqe_mlx5 = {
	.srq = mlx5_srq,
	.qp = mlx5_qp,
	.begin = mlx5_begin,
	.send = mlx5_send,
	.recv = mlx5_recv,
	.kick = mlx5_kick,
};
