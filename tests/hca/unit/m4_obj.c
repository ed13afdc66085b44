// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Keys, queues and queue pairs of the small mlx4 driver, with the fields that
 * mlx4_core and mlx4_ib fill in. See m4.h.
 */
#include <stdlib.h>

#include "m4.h"

enum { SW2HW_MPT = 0xd, HW2SW_MPT = 0xf, SW2HW_EQ = 0x13, SW2HW_CQ = 0x16,
       HW2SW_CQ = 0x17, RST2INIT = 0x19, INIT2RTR = 0x1a, RTR2RTS = 0x1b,
       TO_ERR = 0x1e, TO_RST = 0x21, QUERY_QP = 0x22, READ_MCG = 0x25,
       WRITE_MCG = 0x26, MGID_HASH = 0x27, MODIFY_CQ = 0x2c,
       SYNC_TPT = 0x2f, SW2HW_SRQ = 0x35, HW2SW_SRQ = 0x36 };

#define QPC		8u		/* in a mailbox, behind the mask */
#define QPC_LEN		(QPC + 0xf8)
#define PD		1u

/* ---- memory ---- */
uint64_t m4_mtt(struct m4 *v, const void *buf, size_t len)
{
	uint32_t nr = (len + M4_PAGE - 1) / M4_PAGE, first, i;

	if (v->mtt_used + nr > 1u << M4_LOG_MTT)
		v->mtt_used = 16;		/* over what is long gone */
	first = v->mtt_used;
	for (i = 0; i < nr; i++)
		m4_put64(v->mtt, (first + i) * 8UL,
			 rig_bus(v->rig, (const uint8_t *)buf + i * M4_PAGE) |
			 1);
	v->mtt_used += nr;
	return first * 8;
}

uint32_t *m4_db(struct m4 *v)
{
	if (!v->db_page || v->db_used == M4_PAGE / 64) {
		v->db_page = rig_alloc(v->rig, M4_PAGE);
		v->db_used = 0;
	}
	return (uint32_t *)(v->db_page + 64 * v->db_used++);
}

/* Of all contexts but a QP's: the page's size, less 12, and two words. */
static void put_mtt(uint8_t *context, size_t at, uint64_t mtt)
{
	context[at] = 0;
	context[at + 3] = mtt >> 32;
	m4_put32(context, at + 4, mtt);
}

int m4_mr_at(struct m4 *v, struct m4_mr *mr, void *p, size_t len, uint64_t va,
	     uint32_t pd, int access)
{
	uint8_t mpt[64] = { 0 };

	mr->p = p;
	mr->len = len;
	mr->va = va;
	mr->index = v->next_mpt++;
	mr->key = mr->index << 8 | mr->index >> 24;
	m4_put32(mpt, 0, 0xf0000000 | 1 << 17 | 1 << 10 | 1 << 8 | access);
	m4_put32(mpt, 0x8, mr->index);
	m4_put32(mpt, 0xc, pd | 3 << 24);
	m4_put64(mpt, 0x10, va);
	m4_put64(mpt, 0x18, len);
	m4_put64(mpt, 0x2c, m4_mtt(v, (uint8_t *)p - va % M4_PAGE,
				   len + va % M4_PAGE));
	m4_put32(mpt, 0x38, 12);
	return m4_box(v, SW2HW_MPT, 0, mr->index & ((1u << M4_LOG_MPT) - 1),
		      mpt, sizeof(mpt), NULL, 0);
}

int m4_mr(struct m4 *v, struct m4_mr *mr, void *p, size_t len, int access)
{
	return m4_mr_at(v, mr, p, len, 0x7f0000000000 | rig_bus(v->rig, p), PD,
			access);
}

int m4_dma_mr(struct m4 *v, struct m4_mr *mr)
{
	uint8_t mpt[64] = { 0 };

	memset(mr, 0, sizeof(*mr));
	mr->index = v->next_mpt++;
	mr->key = mr->index << 8 | mr->index >> 24;
	m4_put32(mpt, 0, 0xf0000000 | 1 << 17 | 1 << 10 | 1 << 9 | 1 << 8 |
		 M4_LW);
	m4_put32(mpt, 0x8, mr->index);
	m4_put32(mpt, 0xc, PD | 3 << 24);
	m4_put64(mpt, 0x18, ~0ull);
	return m4_box(v, SW2HW_MPT, 0, mr->index & ((1u << M4_LOG_MPT) - 1),
		      mpt, sizeof(mpt), NULL, 0);
}

int m4_mr_free(struct m4 *v, struct m4_mr *mr)
{
	return m4_cmd(v, HW2SW_MPT, 1, mr->index & ((1u << M4_LOG_MPT) - 1), 0,
		      NULL);
}

int m4_mr_rereg(struct m4 *v, struct m4_mr *mr, int access)
{
	uint8_t *mpt = v->dmpt + 64 * (mr->index & ((1u << M4_LOG_MPT) - 1));
	int ret = m4_mr_free(v, mr);

	if (ret || mpt[0] >> 4 != 0xf)
		return ret ? ret : M4_LOST;
	m4_put32(mpt, 0, (m4_get32(mpt, 0) & ~0xfc00u) | 1 << 10 | access);
	mpt[0] = 0;
	return m4_cmd(v, SYNC_TPT, 0, 0, 0, NULL);
}

/* ---- event and completion queues ---- */
int m4_eq_create(struct m4 *v, struct m4_eq *eq, uint32_t eqn,
		 uint8_t log_size, uint8_t vector)
{
	uint8_t eqc[64] = { 0 };

	eq->eqn = eqn;
	eq->ci = 0;
	eq->log_size = log_size;
	eq->vector = vector;
	eq->e = rig_alloc(v->rig, 32UL << log_size);
	if (!eq->e)
		return M4_LOST;
	m4_put32(eqc, 0, 9 << 8);			/* armed */
	eqc[0xc] = log_size;
	eqc[0x17] = vector;
	put_mtt(eqc, 0x18, m4_mtt(v, eq->e, 32UL << log_size));
	return m4_box(v, SW2HW_EQ, 0, eqn, eqc, sizeof(eqc), NULL, 0);
}

int m4_cq(struct m4 *v, struct m4_cq *cq, uint8_t log_size, struct m4_eq *eq)
{
	uint8_t cqc[64] = { 0 };

	memset(cq, 0, sizeof(*cq));
	cq->cqn = v->next_cqn++;
	cq->arm_sn = 1;
	cq->uar = v->uar;
	cq->log_size = log_size;
	cq->eq = eq;
	cq->log_cqe = v->log_cqe;
	cq->e = rig_alloc(v->rig, 1UL << (log_size + cq->log_cqe));
	cq->db = m4_db(v);
	if (!cq->e || !cq->db)
		return M4_LOST;
	m4_put32(cqc, 0xc, (uint32_t)log_size << 24 | cq->uar);
	cqc[0x17] = eq->eqn;
	put_mtt(cqc, 0x18, m4_mtt(v, cq->e, 1UL << (log_size + cq->log_cqe)));
	m4_put64(cqc, 0x38, rig_bus(v->rig, cq->db));
	return m4_box(v, SW2HW_CQ, 0, cq->cqn, cqc, sizeof(cqc), NULL, 0);
}

/* mlx4_ib_cq_resize_copy_cqes(). */
static void copy_entries(struct m4_cq *cq, uint8_t *to, uint8_t log_to)
{
	struct mlx4_cqe *e = m4_cqe(cq->e, cq->ci, cq->log_size, cq->log_cqe), *n;
	uint32_t i = cq->ci;

	while ((e->owner_sr_opcode & MLX4_CQE_OPCODE_MASK) !=
	       MLX4_CQE_OPCODE_RESIZE) {
		n = m4_cqe(to, i + 1, log_to, cq->log_cqe);
		*n = *e;
		n->owner_sr_opcode &= ~MLX4_CQE_OWNER_MASK;
		if ((i + 1) >> log_to & 1)
			n->owner_sr_opcode |= MLX4_CQE_OWNER_MASK;
		e = m4_cqe(cq->e, ++i, cq->log_size, cq->log_cqe);
	}
	cq->ci++;
}

int m4_cq_resize(struct m4 *v, struct m4_cq *cq, uint8_t log_size)
{
	uint8_t *to = rig_alloc(v->rig, 1UL << (log_size + cq->log_cqe));
	uint8_t cqc[64] = { 0 };
	int ret;

	if (!to)
		return M4_LOST;
	m4_put32(cqc, 0xc, (uint32_t)log_size << 24);
	put_mtt(cqc, 0x18, m4_mtt(v, to, 1UL << (log_size + cq->log_cqe)));
	ret = m4_box(v, MODIFY_CQ, 0, cq->cqn, cqc, sizeof(cqc), NULL, 0);
	if (ret)
		return ret;
	copy_entries(cq, to, log_size);
	cq->e = to;
	cq->log_size = log_size;
	*cq->db = htobe32(cq->ci & 0xffffff);
	return 0;
}

int m4_cq_free(struct m4 *v, struct m4_cq *cq)
{
	return m4_cmd(v, HW2SW_CQ, 1, cq->cqn, 0, NULL);
}

/* ---- shared receive queues ---- */
int m4_srq(struct m4 *v, struct m4_srq *srq, uint8_t log_size)
{
	uint8_t c[64] = { 0 };
	uint32_t i, max = 1u << log_size;
	struct mlx4_wqe_srq_next_seg *next;
	size_t len;

	memset(srq, 0, sizeof(*srq));
	srq->srqn = v->next_srqn++;
	srq->log_size = log_size;
	srq->log_stride = 5;
	srq->tail = max - 1;
	len = (size_t)max << srq->log_stride;
	srq->buf = rig_alloc(v->rig, len);
	srq->db = m4_db(v);
	if (!srq->buf || !srq->db)
		return M4_LOST;
	for (i = 0; i < max; i++) {
		next = (void *)(srq->buf + (i << srq->log_stride));
		next->next_wqe_index = htobe16((i + 1) & (max - 1));
	}
	m4_put32(c, 0, (uint32_t)log_size << 24 | srq->srqn);
	c[4] = srq->log_stride - 4;
	put_mtt(c, 0x10, m4_mtt(v, srq->buf, len));
	m4_put32(c, 0x18, PD);
	m4_put64(c, 0x28, rig_bus(v->rig, srq->db));
	return m4_box(v, SW2HW_SRQ, 0, srq->srqn, c, sizeof(c), NULL, 0);
}

int m4_srq_free(struct m4 *v, struct m4_srq *srq)
{
	return m4_cmd(v, HW2SW_SRQ, 1, srq->srqn, 0, NULL);
}

/* ---- queue pairs ---- */
/* mlx4_qp_init_sq_ownership(). */
static void own(struct m4_qp *qp)
{
	struct mlx4_wqe_ctrl_seg *c;
	uint32_t i;

	for (i = 0; i < 1u << qp->log_sq; i++) {
		c = (void *)(qp->sq + ((size_t)i << qp->log_sq_stride));
		c->owner_opcode = htobe32(1U << 31);
		c->fence_size = 1 << (qp->log_sq_stride - 4);
	}
}

static void sizes(struct m4 *v, struct m4_qp *qp, const struct m4_qp_init *i)
{
	memset(qp, 0, sizeof(*qp));
	qp->v = v;
	qp->st = i->st;
	qp->scq = i->scq;
	qp->rcq = i->rcq;
	qp->srq = i->srq;
	qp->uar = v->uar;
	qp->qpn = i->qpn ? i->qpn : v->next_qpn++;
	qp->pd = i->pd ? i->pd : PD;
	qp->log_sq = i->log_sq ? i->log_sq : 6;
	qp->log_sq_stride = i->log_sq_stride ? i->log_sq_stride :
			    i->st == M4_UD ? 7 : 6;
	if (i->srq)
		return;
	qp->log_rq = i->log_rq ? i->log_rq : 6;
	qp->log_rq_stride = i->log_rq_stride ? i->log_rq_stride : 6;
}

int m4_qp(struct m4 *v, struct m4_qp *qp, const struct m4_qp_init *init)
{
	size_t sq, rq = 0;
	uint8_t *buf;

	sizes(v, qp, init);
	sq = 1ul << (qp->log_sq + qp->log_sq_stride);
	if (!qp->srq)
		rq = 1ul << (qp->log_rq + qp->log_rq_stride);
	buf = rig_alloc(v->rig, sq + rq);
	qp->db = m4_db(v);
	if (!buf || !qp->db)
		return M4_LOST;
	/* set_kernel_sq_size(): the greater stride first. */
	if (qp->log_rq_stride > qp->log_sq_stride) {
		qp->rq = buf;
		qp->sq = buf + rq;
	} else {
		qp->sq = buf;
		qp->rq = buf + sq;
	}
	own(qp);
	qp->mtt = m4_mtt(v, buf, sq + rq);
	return 0;
}

/* What __mlx4_ib_modify_qp() always writes. */
static void context(const struct m4_qp *qp, uint8_t *c, unsigned int state)
{
	m4_put32(c, 0, state << 28 | (uint32_t)qp->st << 16 | 3 << 11);
	m4_put32(c, 0x4, qp->pd);
	c[0x8] = 5 << 5 | (qp->st == M4_UD || qp->st == M4_MLX ? 11 : 30);
	c[0x9] = qp->srq ? 0xfc : qp->log_rq << 3 | (qp->log_rq_stride - 4);
	c[0xa] = qp->log_sq << 3 | (qp->log_sq_stride - 4);
	m4_put32(c, 0xc, qp->uar);
	m4_put32(c, 0x70, 8u << 28);
	m4_put32(c, 0x7c, qp->scq->cqn);
	m4_put32(c, 0x9c, qp->rcq->cqn);
	if (qp->srq)
		m4_put32(c, 0xac, 1 << 24 | qp->srq->srqn);
}

static int modify(struct m4_qp *qp, uint16_t opcode, uint32_t optpar,
		  uint8_t box[QPC_LEN])
{
	m4_put32(box, 0, optpar);
	m4_put32(box, QPC + 0x10, qp->qpn);
	return m4_box(qp->v, opcode, 0, qp->qpn, box, QPC_LEN, NULL, 0);
}

int m4_qp_to_init(struct m4_qp *qp, const struct m4_path *p)
{
	uint8_t box[QPC_LEN] = { 0 }, *c = box + QPC;

	context(qp, c, 1);
	put_mtt(c, 0xc8, qp->mtt);
	if (!qp->srq)
		m4_put64(c, 0xa0, rig_bus(qp->v->rig, qp->db));
	m4_put32(c, 0xa8, p->qkey);
	if (p->rd)
		m4_put32(c, 0x90, 7 << 13);
	return modify(qp, RST2INIT, 1 << 5, box);
}

int m4_qp_to_rtr(struct m4_qp *qp, const struct m4_path *p)
{
	uint8_t box[QPC_LEN] = { 0 }, *c = box + QPC;

	context(qp, c, 2);
	if (p->mtu)
		c[0x8] = p->mtu << 5 | 30;
	m4_put32(c, 0x14, p->qpn);
	m4_put16(c, 0x18 + 6, p->dlid);
	c[0x18 + 0x20] = 0x83;			/* MLX4_IB_DEFAULT_SCHED_QUEUE */
	m4_put32(c, 0x90, (p->rd ? 3u << 21 | 7 << 13 : 0));
	m4_put32(c, 0x94, (uint32_t)p->min_rnr << 24 | p->psn);
	return modify(qp, INIT2RTR, p->rd ? 1 << 1 | 1 << 2 | 1 << 3 : 0, box);
}

int m4_qp_to_rts(struct m4_qp *qp, const struct m4_path *p)
{
	uint8_t box[QPC_LEN] = { 0 }, *c = box + QPC;

	context(qp, c, 3);
	c[0x18 + 8] = p->timeout << 3;
	m4_put32(c, 0x70, 8u << 28 | (p->rd ? 3u << 21 : 0) |
		 (uint32_t)p->retry << 16 | (uint32_t)p->rnr_retry << 13);
	m4_put32(c, 0x78, p->psn);
	return modify(qp, RTR2RTS, 1 << 13 | 1 << 12 | 1 << 14 | 1 << 8, box);
}

int m4_qp_up(struct m4_qp *qp, const struct m4_path *p)
{
	int ret = m4_qp_to_init(qp, p);

	if (!ret)
		ret = m4_qp_to_rtr(qp, p);
	return ret ? ret : m4_qp_to_rts(qp, p);
}

int m4_qp_to_rst(struct m4_qp *qp)
{
	return m4_cmd(qp->v, TO_RST, 2, qp->qpn, 0, NULL);
}

int m4_qp_to_err(struct m4_qp *qp)
{
	uint8_t box[QPC_LEN] = { 0 };

	context(qp, box + QPC, 6);
	return modify(qp, TO_ERR, 0, box);
}

int m4_qp_state(struct m4_qp *qp)
{
	uint8_t box[QPC_LEN];

	if (m4_box(qp->v, QUERY_QP, 0, qp->qpn, NULL, 0, box, sizeof(box)))
		return -1;
	return box[QPC] >> 4;
}

/* mlx4_qp_attach_common(), without chains: the hash must be free or the group's. */
int m4_mcg(struct m4 *v, struct m4_qp *qp, const uint8_t gid[16], bool attach)
{
	uint64_t hash = 0;
	uint8_t e[1024];
	uint32_t nr, i;
	int ret;

	memcpy(v->in, gid, 16);
	ret = m4_cmd(v, MGID_HASH, 0, 0, rig_bus(v->rig, v->in), &hash);
	if (ret || hash >= 1u << (M4_LOG_MCG - 1))
		return ret ? ret : M4_LOST;
	ret = m4_box(v, READ_MCG, 0, hash, NULL, 0, e, sizeof(e));
	if (ret)
		return ret;
	nr = m4_get32(e, 4) & 0xffffff;
	if (nr >= (sizeof(e) - 32) / 4)
		return M4_LOST;
	memcpy(e + 16, gid, 16);
	if (attach) {
		m4_put32(e, 32 + 4 * nr++, qp->qpn);
	} else {
		for (i = 0; i < nr && m4_get32(e, 32 + 4 * i) != qp->qpn; i++)
			;
		if (i == nr)
			return M4_LOST;
		m4_put32(e, 32 + 4 * i, m4_get32(e, 32 + 4 * --nr));
	}
	m4_put32(e, 4, nr);
	return m4_box(v, WRITE_MCG, 0, hash, e, sizeof(e), NULL, 0);
}
