// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Posting and polling of the small mthca driver, as the provider does it for a
 * memory-free HCA. See mt.h.
 */
#include <stdlib.h>

#include "mt.h"

enum { SEND = 0x0a, SEND_IMM = 0x0b, WRITE = 0x08, WRITE_IMM = 0x09, READ = 0x10,
       CS = 0x11, FA = 0x12 };

struct wqe {
	uint8_t *p;
	size_t len, room;
};

static uint8_t *add(struct wqe *w, size_t len)
{
	uint8_t *p = w->p + w->len;

	w->len += len;
	if (w->len > w->room)
		abort();
	return memset(p, 0, len);
}

static uint8_t *slot(struct mt_qp *qp, uint32_t n)
{
	return qp->buf.p + qp->sq_off +
	       ((size_t)(n & ((1u << qp->log_sq) - 1)) << qp->log_sq_stride);
}

static void add_ud(struct wqe *w, const struct m4_wr *wr)
{
	uint8_t *s = add(w, 48);

	m4_put32(s, 0, 1 << 24);		/* port; the domain is not looked at */
	m4_put16(s, 6, wr->ud.dlid);
	s[0xa] = 3 << 4;
	if (wr->ud.dgid) {
		s[5] = 0x80;
		s[0xb] = 1;
		memcpy(s + 0x10, wr->ud.dgid, 16);
	} else {
		s[0x1f] = 2;
	}
	m4_put32(s, 0x20, wr->ud.qpn);
	m4_put32(s, 0x24, wr->ud.qkey);
}

static void add_remote(struct wqe *w, const struct m4_wr *wr)
{
	uint8_t *s;

	if (wr->opcode != WRITE && wr->opcode != WRITE_IMM && wr->opcode < READ)
		return;
	s = add(w, 16);
	m4_put64(s, 0, wr->raddr);
	m4_put32(s, 8, wr->rkey);
	if (wr->opcode < CS)
		return;
	s = add(w, 16);
	m4_put64(s, 0, wr->swap_add);
	m4_put64(s, 8, wr->compare);
}

static void add_data(struct wqe *w, const struct m4_sge *sge)
{
	uint8_t *s = add(w, 16);

	m4_put32(s, 0, sge->len);
	m4_put32(s, 4, sge->key);
	m4_put64(s, 8, sge->addr);
}

/* One segment, padded to a multiple of 16 octets. */
static void add_inline(struct wqe *w, const void *data, uint32_t len)
{
	uint8_t *s = add(w, (4 + len + 15) & ~15u);

	m4_put32(s, 0, 1u << 31 | len);
	memcpy(s + 4, data, len);
}

static struct wqe begin(struct mt_qp *qp)
{
	uint8_t *p = slot(qp, qp->sq_head);

	/* The first words are of the next, and stay. */
	memset(p + 8, 0, 8);
	m4_put32(p, 8, 1);
	return (struct wqe){ p, 16, 1ul << qp->log_sq_stride };
}

void mt_ring(struct mt_qp *qp)
{
	uint32_t word[2] = { htobe32(1u << 24 | (qp->sq_head & 0xffff) << 8),
			     htobe32(qp->qpn << 8) };

	rig_store64(qp->m->v.dev, CX_BAR2 + qp->uar * M4_PAGE + 0x10, word);
}

/* The WQE before it says what it is. */
static uint16_t end(struct mt_qp *qp, const struct wqe *w, uint8_t opcode,
		    bool fence)
{
	uint32_t size = 1u << qp->log_sq, index = qp->sq_head & (size - 1);
	uint8_t *before = slot(qp, qp->sq_head - 1);

	m4_put32(before, 0, ((index << qp->log_sq_stride) + qp->sq_off) | opcode);
	m4_put32(before, 4, 1 << 7 | (fence ? 1 << 6 : 0) | w->len / 16);
	qp->sq_head++;
	*qp->sq_record = htobe32(qp->sq_head & 0xffff);
	mt_ring(qp);
	return index;
}

uint16_t mt_post(struct mt_qp *qp, const struct m4_wr *wr)
{
	struct wqe w = begin(qp);
	unsigned int i;

	m4_put32(w.p, 8, 1 | (wr->flags & M4_SIGNALED ? 1 << 3 : 0) |
		 (wr->flags & M4_SOLICITED ? 1 << 1 : 0));
	m4_put32(w.p, 12, wr->imm);
	if (qp->st == M4_UD)
		add_ud(&w, wr);
	else
		add_remote(&w, wr);
	if (wr->flags & M4_INLINE && wr->inl_len)
		add_inline(&w, wr->inl, wr->inl_len);
	for (i = 0; i < wr->nr_sge; i++)
		add_data(&w, &wr->sge[i]);
	return end(qp, &w, wr->opcode, wr->flags & M4_FENCE);
}

/* build_mlx_header(), with the header in memory of the queue's own. */
void mt_post_mad(struct mt_qp *qp, uint32_t src, uint16_t dlid, uint32_t qkey,
		 const struct m4_sge *mad)
{
	uint8_t *h = rig_alloc(qp->m->v.rig, M4_PAGE);
	struct m4_sge head = { rig_bus(qp->m->v.rig, h), 28, mad->key };
	struct wqe w = begin(qp);

	h[1] = 2;				/* next: a BTH */
	m4_put16(h, 2, dlid);
	h[8] = 0x64;				/* UD, send only */
	m4_put16(h, 10, 0xffff);
	m4_put32(h, 12, src);			/* to its like */
	m4_put32(h, 20, qkey);
	m4_put32(h, 24, src);
	add_data(&w, &head);
	add_data(&w, mad);
	add_inline(&w, "\0\0\0", 4);
	end(qp, &w, SEND, false);
}

uint16_t mt_send(struct mt_qp *qp, const struct m4_mr *mr, uint32_t off,
		 uint32_t len)
{
	struct m4_sge sge = { mr->va + off, len, mr->key };
	struct m4_wr wr = { .opcode = SEND, .sge = &sge, .nr_sge = 1,
			    .flags = M4_SIGNALED };

	return mt_post(qp, &wr);
}

void mt_rdma(struct mt_qp *qp, uint8_t opcode, const struct m4_mr *mr,
	     uint32_t off, uint32_t len, uint64_t raddr, uint32_t rkey)
{
	struct m4_sge sge = { mr->va + off, len, mr->key };
	struct m4_wr wr = { opcode, M4_SIGNALED, 0, raddr, rkey,
			    .sge = &sge, .nr_sge = 1 };

	mt_post(qp, &wr);
}

/* Behind the next segment; a key that is none ends the list. */
static void put_recv(uint8_t *wqe, size_t room, const struct m4_mr *mr,
		     uint32_t off, uint32_t len)
{
	struct wqe w = { wqe, 16, room };
	struct m4_sge sge = { mr->va + off, len, mr->key };
	struct m4_sge none = { 0, 0, 0x100 };

	add_data(&w, &sge);
	add_data(&w, &none);
}

void mt_recv(struct mt_qp *qp, const struct m4_mr *mr, uint32_t off,
	     uint32_t len)
{
	uint32_t at = qp->rq_head++ & ((1u << qp->log_rq) - 1);

	put_recv(qp->buf.p + ((size_t)at << qp->log_rq_stride),
		 1ul << qp->log_rq_stride, mr, off, len);
	*qp->rq_record = htobe32(qp->rq_head & 0xffff);
}

int mt_srq_post(struct mt_srq *srq, const struct m4_mr *mr, uint32_t off,
		uint32_t len)
{
	uint32_t index = srq->first, at = index << srq->log_stride;

	if (index == srq->last)
		return -1;
	srq->first = (m4_get32(srq->buf.p, at) & ~63u) >> srq->log_stride;
	put_recv(srq->buf.p + at, 1ul << srq->log_stride, mr, off, len);
	*srq->record = htobe32(++srq->counter);
	return index;
}

void mt_srq_give(struct mt_srq *srq, uint32_t index)
{
	m4_put32(srq->buf.p, srq->last << srq->log_stride,
		 index << srq->log_stride | 1);
	srq->last = index;
}

bool mt_poll(struct mt_cq *cq, struct m4_wc *wc)
{
	uint8_t *e = cq->buf.p + 32ul * (cq->ci & ((1u << cq->log_size) - 1));

	if (e[31] & 0x80)
		return false;
	memset(wc, 0, sizeof(*wc));
	wc->opcode = e[28];
	wc->error = (e[28] & 0xfe) == 0xfe;
	wc->send = wc->error ? e[28] & 1 : e[29] & 0x80;
	wc->syndrome = wc->error ? e[0x10] : 0;
	wc->qpn = m4_get32(e, 0);
	wc->src_qpn = m4_get32(e, 8) & 0xffffff;
	wc->grh = e[0xd] & 0x80;
	wc->slid = e[0xe] << 8 | e[0xf];
	wc->imm = m4_get32(e, 0x10);
	wc->pkey_index = wc->imm >> 16;
	wc->len = m4_get32(e, 0x14);
	wc->index = m4_get32(e, 0x18) >> 6;	/* the caller knows of what */
	e[31] = 0x80;
	cq->ci++;
	*cq->set_ci = htobe32(cq->ci);
	return true;
}

bool mt_wait(struct mt *m, struct mt_cq *cq, struct m4_wc *wc)
{
	if (mt_poll(cq, wc))
		return true;
	rig_run(m->v.rig);
	return mt_poll(cq, wc);
}

void mt_arm(struct mt *m, struct mt_cq *cq, bool solicited)
{
	uint32_t sn = cq->arm_sn & 3, cmd = solicited ? 1 : 2, word[2];

	cq->arm[0] = htobe32(cq->ci);
	cq->arm[1] = htobe32(cq->cqn << 8 | 2 << 5 | sn << 3 | cmd);
	word[0] = htobe32(sn << 28 | cmd << 24 | cq->cqn);
	word[1] = htobe32(cq->ci);
	rig_store64(m->v.dev, CX_BAR2 + cq->uar * M4_PAGE + 0x20, word);
}
