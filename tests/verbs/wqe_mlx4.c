// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * The queues of an mlx4 HCA, which are the process's own memory, and its doorbell
 * register: their form is that of <infiniband/mlx4dv.h>. A send request is posted by its
 * owner bit, of which the register only tells.
 */
#include <endian.h>
#include <errno.h>
#include <infiniband/mlx4dv.h>
#include <string.h>

#include "wqe.h"

#define UNIT		16u	/* in which the length of a request counts */
#define OWNER		(1u << 31)
#define SRQ_SLOTS	8u	/* of WQE_SRQ_WR */
#define MAX_WQE		512u
#define MIN_SHIFT	7	/* of WQE_SGE and WQE_INLINE */

static int mlx4_srq(struct wqe_fuzz *f)
{
	struct mlx4dv_srq d = { .comp_mask = 0 };
	struct mlx4dv_obj o = { .srq = { .in = f->srq, .out = &d } };
	struct wqe_ring *r = &f->srq_ring;

	if (mlx4dv_init_obj(&o, MLX4DV_OBJ_SRQ))
		return -1;
	r->map = r->elem = d.buf.buf;
	r->shift = d.wqe_shift;
	r->slots = SRQ_SLOTS;
	r->len = (size_t)r->slots << r->shift;
	r->index = d.db;
	return 0;
}

static int mlx4_qp(struct wqe_fuzz *f, struct wqe_side *s)
{
	struct mlx4dv_qp d = { .comp_mask = 0 };
	struct mlx4dv_obj o = { .qp = { .in = s->qp, .out = &d } };
	uint8_t *buf;

	if (mlx4dv_init_obj(&o, MLX4DV_OBJ_QP))
		return -1;
	buf = d.buf.buf;
	s->reg = d.sdb;
	s->sq = (struct wqe_ring){
		.map = buf + d.sq.offset, .elem = buf + d.sq.offset, .slots = d.sq.wqe_cnt,
		.shift = d.sq.wqe_shift, .len = (size_t)d.sq.wqe_cnt << d.sq.wqe_shift,
	};
	s->rq = f->srq_ring;
	if (!s->srq)
		s->rq = (struct wqe_ring){
			.map = buf + d.rq.offset, .elem = buf + d.rq.offset,
			.slots = d.rq.wqe_cnt, .shift = d.rq.wqe_shift,
			.len = (size_t)d.rq.wqe_cnt << d.rq.wqe_shift, .index = d.rdb,
		};
	return s->sq.slots && s->rq.slots && s->reg && s->sq.shift >= MIN_SHIFT &&
	       1u << s->sq.shift <= MAX_WQE && 1u << s->rq.shift <= MAX_WQE ? 0 : -1;
}

/* A reset queue pair begins anew, a shared queue does not. */
static void mlx4_begin(struct wqe_side *s)
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
		mlx4dv_set_data_seg((void *)at, len, f->mr->lkey, (uintptr_t)f->data +
				    wqe_below(f, WQE_DATA - len));
	}
	return at;
}

static uint8_t *inline_seg(struct wqe_fuzz *f, uint8_t *at)
{
	uint32_t len = wqe_below(f, WQE_INLINE - 4);

	((struct mlx4_wqe_inline_seg *)at)->byte_count = htobe32(len | MLX4_INLINE_SEG);
	return at + (4 + len + UNIT - 1) / UNIT * UNIT;
}

/* An address handle of libmlx4 is the address vector behind the handle of libibverbs. */
static uint8_t *address(struct wqe_fuzz *f, uint8_t *at)
{
	struct mlx4_wqe_datagram_seg *seg = (void *)at;

	memcpy(&seg->av, f->ah + 1, sizeof(seg->av));
	seg->dqpn = htobe32(f->side[1].qp->qp_num);
	seg->qkey = htobe32(VT_QKEY);
	return at + sizeof(*seg);
}

static uint8_t *remote(struct wqe_fuzz *f, uint8_t *at, bool atomic)
{
	struct mlx4_wqe_raddr_seg *seg = (void *)at;

	seg->raddr = htobe64((uintptr_t)f->data + (wqe_below(f, WQE_DATA / 2) & ~7u));
	seg->rkey = htobe32(f->mr->rkey);
	return at + sizeof(*seg) + (atomic ? sizeof(struct mlx4_wqe_atomic_seg) : 0);
}

/* A request that the provider could have written; its length. */
static size_t good_send(struct wqe_fuzz *f, uint8_t *wqe)
{
	static const uint8_t ops[] = {
		MLX4_OPCODE_NOP, MLX4_OPCODE_SEND, MLX4_OPCODE_SEND_IMM,
		MLX4_OPCODE_SEND_INVAL, MLX4_OPCODE_RDMA_WRITE,
		MLX4_OPCODE_RDMA_WRITE_IMM, MLX4_OPCODE_RDMA_READ,
		MLX4_OPCODE_ATOMIC_CS, MLX4_OPCODE_ATOMIC_FA,
		MLX4_OPCODE_BIND_MW, MLX4_OPCODE_FMR, MLX4_OPCODE_LOCAL_INVAL,
	};
	uint8_t op = ops[wqe_below(f, VT_ARRAY_SIZE(ops))];
	uint8_t *at = wqe + sizeof(struct mlx4_wqe_ctrl_seg);
	bool atomic = op == MLX4_OPCODE_ATOMIC_CS || op == MLX4_OPCODE_ATOMIC_FA;

	if (f->type == IBV_QPT_UD)
		at = address(f, at);
	if (atomic || op == MLX4_OPCODE_RDMA_WRITE ||
	    op == MLX4_OPCODE_RDMA_WRITE_IMM || op == MLX4_OPCODE_RDMA_READ)
		at = remote(f, at, atomic);
	if (wqe_below(f, 4))
		at = data_segs(f, at, wqe_below(f, WQE_SGE + 1));
	else
		at = inline_seg(f, at);
	mlx4dv_set_ctrl_seg((void *)wqe, op, (at - wqe) / UNIT, MLX4_WQE_CTRL_CQ_UPDATE,
			    htobe32(f->mr->rkey));
	return at - wqe;
}

static void mlx4_send(struct wqe_fuzz *f, struct wqe_side *s)
{
	_Alignas(8) uint8_t wqe[MAX_WQE] = {};
	struct wqe_ring *r = &s->sq;
	uint8_t *slot = r->elem + ((size_t)(r->prod % r->slots) << r->shift);
	size_t len = good_send(f, wqe);
	uint32_t first;

	/* Seldom: an error ends the life of a queue pair. */
	if (!wqe_below(f, 8))
		wqe_spoil(f, wqe, len);
	if (len > (size_t)1 << r->shift)
		len = (size_t)1 << r->shift;
	memcpy(&first, wqe, sizeof(first));
	first &= ~htobe32(OWNER);
	if (!(r->prod & r->slots) == !wqe_below(f, 64))
		first |= htobe32(OWNER);
	memcpy(slot + sizeof(first), wqe + sizeof(first), len - sizeof(first));
	__atomic_store_n((uint32_t *)slot, first, __ATOMIC_RELEASE);
	r->prod++;
}

static void mlx4_recv(struct wqe_fuzz *f, struct wqe_side *s)
{
	_Alignas(8) uint8_t wqe[MAX_WQE] = {};
	struct wqe_ring *r = &s->rq;
	size_t element = (size_t)1 << r->shift;
	struct mlx4_wqe_srq_next_seg *next = (void *)wqe;
	uint8_t *at = wqe;

	if (element < UNIT * (WQE_SGE + s->srq))
		return;
	if (s->srq) {
		next->next_wqe_index = htobe16((r->prod + 1) % r->slots);
		at += UNIT;
	}
	data_segs(f, at, wqe_below(f, WQE_SGE + 1));
	if (!wqe_below(f, 8))
		wqe_spoil(f, wqe, element);
	memcpy(r->elem + ((size_t)(r->prod++ % r->slots) << r->shift), wqe, element);
	__atomic_store_n((uint32_t *)r->index, wqe_below(f, 64) ?
			 htobe32(r->prod & 0xffff) : wqe_wild(f), __ATOMIC_RELEASE);
}

static void mlx4_kick(struct wqe_fuzz *f, struct wqe_side *s)
{
	uint32_t word = htobe32(s->qp->qp_num << 8);

	if (!wqe_below(f, 64))
		word = wqe_wild(f);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	*(volatile uint32_t *)s->reg = word;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

const struct wqe_hca wqe_mlx4 = {
	.srq = mlx4_srq,
	.qp = mlx4_qp,
	.begin = mlx4_begin,
	.send = mlx4_send,
	.recv = mlx4_recv,
	.kick = mlx4_kick,
};
