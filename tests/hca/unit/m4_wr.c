// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Posting and polling of the small mlx4 driver, as the provider does it. See m4.h.
 */
#include <stdlib.h>

#include "m4.h"

#define MAX_WQE	1024u

struct wqe {
	uint8_t b[MAX_WQE];
	size_t len;
};

static void *add(struct wqe *w, size_t len)
{
	void *p = w->b + w->len;

	w->len += len;
	return memset(p, 0, len);
}

static void add_ud(struct wqe *w, const struct m4_wr *wr)
{
	struct mlx4_wqe_datagram_seg *s = add(w, sizeof(*s));

	s->av.port_pd = htobe32(1 << 24);
	s->av.dlid = htobe16(wr->ud.dlid);
	s->dqpn = htobe32(wr->ud.qpn);
	s->qkey = htobe32(wr->ud.qkey);
	if (wr->ud.dgid) {
		s->av.g_slid = 0x80;
		s->av.hop_limit = 1;
		memcpy(s->av.dgid, wr->ud.dgid, 16);
	}
}

static void add_remote(struct wqe *w, const struct m4_wr *wr)
{
	struct mlx4_wqe_raddr_seg *r;
	struct mlx4_wqe_atomic_seg *a;

	if (wr->opcode != MLX4_OPCODE_RDMA_WRITE &&
	    wr->opcode != MLX4_OPCODE_RDMA_WRITE_IMM &&
	    wr->opcode < MLX4_OPCODE_RDMA_READ)
		return;
	r = add(w, sizeof(*r));
	r->raddr = htobe64(wr->raddr);
	r->rkey = htobe32(wr->rkey);
	if (wr->opcode < MLX4_OPCODE_ATOMIC_CS)
		return;
	a = add(w, sizeof(*a));
	a->swap_add = htobe64(wr->swap_add);
	a->compare = htobe64(wr->compare);
}

static void add_data(struct wqe *w, const struct m4_sge *sge)
{
	struct mlx4_wqe_data_seg *d = add(w, sizeof(*d));

	/* The provider's set_data_seg(): 0 would be 2 GiB. */
	d->byte_count = htobe32(sge->len ? sge->len : 0x80000000);
	d->lkey = htobe32(sge->key);
	d->addr = htobe64(sge->addr);
}

/* In pieces that do not cross a multiple of 64 octets. */
static void add_inline(struct wqe *w, const uint8_t *from, size_t len)
{
	size_t room, part;
	uint32_t *head;

	while (len) {
		head = add(w, 4);
		room = 64 - w->len % 64;
		part = len < room ? len : room;
		memcpy(add(w, part), from, part);
		*head = htobe32(1U << 31 | part);
		from += part;
		len -= part;
	}
	w->len = (w->len + 15) & ~15UL;
}

void m4_ring(struct m4 *v, uint32_t uar, uint32_t qpn)
{
	rig_write32(v->dev, CX_BAR2 + uar * M4_PAGE + 0x14, qpn << 8);
}

void m4_ring_bf(struct m4 *v, uint32_t uar, uint32_t qpn, const void *wqe,
		unsigned int buffer)
{
	uint64_t at = CX_BAR2 + (uint64_t)(1024 + uar) * M4_PAGE + buffer * 256;
	uint32_t word[16];
	unsigned int i;

	memcpy(word, wqe, sizeof(word));
	word[1] |= htobe32(qpn << 8);
	for (i = 0; i < 16; i += 2)
		rig_store64(v->dev, at + i * 4, &word[i]);
}

/* The owner bit is that of the lap, and is written last. */
static uint16_t put(struct m4_qp *qp, struct wqe *w, uint32_t opcode)
{
	uint32_t size = 1u << qp->log_sq, at = qp->sq_head & (size - 1);
	uint8_t *to = qp->sq + ((size_t)at << qp->log_sq_stride);
	struct mlx4_wqe_ctrl_seg *c = (void *)to;
	uint16_t index = qp->sq_head;

	if (w->len > 1ul << qp->log_sq_stride)
		abort();
	((struct mlx4_wqe_ctrl_seg *)w->b)->fence_size |= w->len / 16;
	memcpy(to + 4, w->b + 4, w->len - 4);
	c->owner_opcode = htobe32(opcode |
				  (qp->sq_head & size ? 1U << 31 : 0));
	qp->sq_head++;
	m4_ring(qp->v, qp->uar, qp->qpn);
	return index;
}

uint16_t m4_post(struct m4_qp *qp, const struct m4_wr *wr)
{
	struct wqe w = { .len = 0 };
	struct mlx4_wqe_ctrl_seg *c = add(&w, sizeof(*c));
	unsigned int i;

	if (wr->flags & M4_SIGNALED)
		c->srcrb_flags |= htobe32(MLX4_WQE_CTRL_CQ_UPDATE);
	if (wr->flags & M4_SOLICITED)
		c->srcrb_flags |= htobe32(MLX4_WQE_CTRL_SOLICIT);
	if (wr->flags & M4_FENCE)
		c->fence_size = MLX4_WQE_CTRL_FENCE;
	c->imm = htobe32(wr->imm);
	if (qp->st == M4_UD)
		add_ud(&w, wr);
	else
		add_remote(&w, wr);
	if (wr->flags & M4_INLINE)
		add_inline(&w, wr->inl, wr->inl_len);
	for (i = 0; i < wr->nr_sge; i++)
		add_data(&w, &wr->sge[i]);
	return put(qp, &w, wr->opcode);
}

/* build_mlx_header(), set_mlx_icrc_seg(). */
void m4_post_mad(struct m4_qp *qp, uint32_t src, uint16_t dlid, uint32_t qkey,
		 const struct m4_sge *mad)
{
	struct wqe w = { .len = 0 };
	struct mlx4_wqe_ctrl_seg *c = add(&w, sizeof(*c));
	uint8_t h[28] = { 0 };
	uint32_t *icrc;

	c->srcrb_flags = htobe32(MLX4_WQE_CTRL_CQ_UPDATE);
	h[1] = 2;				/* next: a BTH */
	m4_put16(h, 2, dlid);
	h[8] = 0x64;				/* UD, send only */
	m4_put16(h, 10, 0xffff);
	m4_put32(h, 12, src);			/* to its like */
	m4_put32(h, 20, qkey);
	m4_put32(h, 24, src);
	add_inline(&w, h, sizeof(h));
	add_data(&w, mad);
	icrc = add(&w, 16);
	*icrc = htobe32(1U << 31 | 4);
	put(qp, &w, MLX4_OPCODE_SEND);
}

uint16_t m4_send(struct m4_qp *qp, const struct m4_mr *mr, uint32_t off,
		 uint32_t len)
{
	struct m4_sge sge = { mr->va + off, len, mr->key };
	struct m4_wr wr = { .opcode = MLX4_OPCODE_SEND, .sge = &sge,
			    .nr_sge = 1, .flags = M4_SIGNALED };

	return m4_post(qp, &wr);
}

void m4_rdma(struct m4_qp *qp, uint8_t opcode, const struct m4_mr *mr,
	     uint32_t off, uint32_t len, uint64_t raddr, uint32_t rkey)
{
	struct m4_sge sge = { mr->va + off, len, mr->key };
	struct m4_wr wr = { .opcode = opcode, .sge = &sge, .nr_sge = 1,
			    .flags = M4_SIGNALED, .raddr = raddr,
			    .rkey = rkey };

	m4_post(qp, &wr);
}

static void put_recv(struct mlx4_wqe_data_seg *d, size_t room,
		     const struct m4_mr *mr, uint32_t off, uint32_t len)
{
	d->byte_count = htobe32(len);
	d->lkey = htobe32(mr->key);
	d->addr = htobe64(mr->va + off);
	if (room > 1) {
		d[1].byte_count = 0;
		d[1].lkey = htobe32(MLX4_INVALID_LKEY);
		d[1].addr = 0;
	}
}

void m4_recv(struct m4_qp *qp, const struct m4_mr *mr, uint32_t off,
	     uint32_t len)
{
	uint32_t at = qp->rq_head++ & ((1u << qp->log_rq) - 1);

	put_recv((void *)(qp->rq + ((size_t)at << qp->log_rq_stride)),
		 1u << (qp->log_rq_stride - 4), mr, off, len);
	*qp->db = htobe32(qp->rq_head & 0xffff);
}

static struct mlx4_wqe_srq_next_seg *srq_wqe(struct m4_srq *srq, uint16_t i)
{
	return (void *)(srq->buf + ((size_t)i << srq->log_stride));
}

int m4_srq_post(struct m4_srq *srq, const struct m4_mr *mr, uint32_t off,
		uint32_t len)
{
	struct mlx4_wqe_srq_next_seg *next = srq_wqe(srq, srq->head);
	uint16_t index = srq->head;

	if (srq->head == srq->tail)
		return -1;
	srq->head = be16toh(next->next_wqe_index);
	put_recv((void *)(next + 1), 1, mr, off, len);
	*srq->db = htobe32(++srq->counter);
	return index;
}

void m4_srq_give(struct m4_srq *srq, uint16_t index)
{
	srq_wqe(srq, srq->tail)->next_wqe_index = htobe16(index);
	srq->tail = index;
}

bool m4_poll(struct m4_cq *cq, struct m4_wc *wc)
{
	const struct mlx4_cqe *e = m4_cqe(cq->e, cq->ci, cq->log_size, cq->log_cqe);
	const struct mlx4_err_cqe *bad = (const void *)e;
	uint32_t from = be32toh(e->g_mlpath_rqpn);

	if (e->owner_sr_opcode >> 7 != (cq->ci >> cq->log_size & 1))
		return false;
	memset(wc, 0, sizeof(*wc));
	wc->send = e->owner_sr_opcode & MLX4_CQE_IS_SEND_MASK;
	wc->opcode = e->owner_sr_opcode & MLX4_CQE_OPCODE_MASK;
	wc->error = wc->opcode == MLX4_CQE_OPCODE_ERROR;
	wc->syndrome = wc->error ? bad->syndrome : 0;
	wc->qpn = be32toh(e->vlan_my_qpn) & MLX4_CQE_QPN_MASK;
	wc->index = be16toh(e->wqe_index);
	wc->len = be32toh(e->byte_cnt);
	wc->imm = be32toh(e->immed_rss_invalid);
	wc->pkey_index = wc->imm & 0x7f;
	wc->src_qpn = from & 0xffffff;
	wc->grh = from >> 31;
	wc->slid = be16toh(e->rlid);
	cq->ci++;
	*cq->db = htobe32(cq->ci & 0xffffff);
	return true;
}

bool m4_wait(struct m4 *v, struct m4_cq *cq, struct m4_wc *wc)
{
	if (m4_poll(cq, wc))
		return true;
	rig_run(v->rig);
	return m4_poll(cq, wc);
}

void m4_arm(struct m4 *v, struct m4_cq *cq, bool solicited)
{
	uint32_t cmd = solicited ? MLX4_CQ_DB_REQ_NOT_SOL : MLX4_CQ_DB_REQ_NOT;
	uint32_t sn = (cq->arm_sn & 3) << 28, word[2];

	cq->db[1] = htobe32(sn | cmd | (cq->ci & 0xffffff));
	word[0] = htobe32(sn | cmd | cq->cqn);
	word[1] = htobe32(cq->ci & 0xffffff);
	rig_store64(v->dev, CX_BAR2 + cq->uar * M4_PAGE + 0x20, word);
}
