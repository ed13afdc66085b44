// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Bringing a memory-free HCA up and down in the order of mthca's probe and remove, and
 * making its objects with the fields that the driver fills in. See mt.h.
 */
#include <stdlib.h>

#include "mt.h"

enum { RESET = 0xf0010 };
enum { QUERY_DEV_LIM = 0x3, QUERY_FW = 0x4, QUERY_ADAPTER = 0x6, INIT_HCA = 0x7,
       CLOSE_HCA = 0x8, INIT_IB = 0x9, CLOSE_IB = 0xa, SW2HW_MPT = 0xd,
       HW2SW_MPT = 0xf, MAP_EQ = 0x12, SW2HW_EQ = 0x13, HW2SW_EQ = 0x14,
       SW2HW_CQ = 0x16, HW2SW_CQ = 0x17, RST2INIT = 0x19, INIT2RTR = 0x1a,
       RTR2RTS = 0x1b, TO_ERR = 0x1e, TO_RST = 0x21, QUERY_QP = 0x22,
       CONF_SPECIAL_QP = 0x23, READ_MGM = 0x25, WRITE_MGM = 0x26,
       MGID_HASH = 0x27, RESIZE_CQ = 0x2c, NOP = 0x31, SW2HW_SRQ = 0x35,
       HW2SW_SRQ = 0x36, RUN_FW = 0xff6, ENABLE_LAM = 0xff8, UNMAP_ICM = 0xff9,
       MAP_ICM = 0xffa, UNMAP_ICM_AUX = 0xffb, MAP_ICM_AUX = 0xffc,
       SET_ICM_SIZE = 0xffd, UNMAP_FA = 0xffe, MAP_FA = 0xfff };

enum { LAM_NOT_PRE = 0x22 };
enum { RECORD_SET_CI = 1, RECORD_ARM = 2, RECORD_SQ = 3, RECORD_RQ = 4, RECORD_SRQ = 5 };
#define PD		1u
#define DRIVER_PD	2u
#define UAR		2u
#define ASYNC_EVENTS	0x1f43feull	/* those that the driver has */
#define EV_CMD		0x0a
#define QPC		8u
#define QPC_LEN		(QPC + 0x100)

/* Where the tables are in context memory. */
#define ICM_MTT		0x10000000ull
#define ICM_MPT		0x20000000ull
#define ICM_QPC		0x30000000ull
#define ICM_UARC	0x40000000ull
#define ICM_SIZE	0x80000000ull
#define MTT_BYTES	(8u << M4_LOG_MTT)
#define MPT_BYTES	(64u << MT_LOG_MPT)
#define QPC_BYTES	(256u << MT_LOG_QP)
#define UARC		(ICM_UARC + ((uint64_t)UAR << MT_LOG_UARC))

/* ---- life ---- */
int mt_start(struct mt *m, struct rig_dev *dev)
{
	uint8_t fw[0x100];
	uint64_t out;
	int ret;

	memset(m, 0, sizeof(*m));
	ret = m4_begin(&m->v, dev);
	m->v.mt = true;
	m->v.commands = &m->command;
	rig_write32(dev, RESET, 1);
	if (!ret)
		ret = m4_box(&m->v, QUERY_FW, 0, 0, NULL, 0, fw, sizeof(fw));
	out = rig_bus(m->v.rig, m->v.out);
	if (!ret && m4_cmd(&m->v, ENABLE_LAM, 0, 0, 0, &out) != LAM_NOT_PRE)
		ret = M4_LOST;
	if (!ret)
		ret = m4_give(&m->v, MAP_FA, fw[0] << 8 | fw[1]);
	return ret ? ret : m4_cmd(&m->v, RUN_FW, 0, 0, 0, NULL);
}

static int map_tables(struct mt *m)
{
	struct m4 *v = &m->v;
	uint8_t *qpc = rig_alloc(v->rig, QPC_BYTES);
	int ret;

	v->mtt = rig_alloc(v->rig, MTT_BYTES);
	v->dmpt = rig_alloc(v->rig, MPT_BYTES);
	m->records = rig_alloc(v->rig, M4_PAGE);
	if (!v->mtt || !v->dmpt || !qpc || !m->records)
		return M4_LOST;
	ret = m4_map(v, MAP_ICM, v->mtt, MTT_BYTES, ICM_MTT);
	if (!ret)
		ret = m4_map(v, MAP_ICM, v->dmpt, MPT_BYTES, ICM_MPT);
	if (!ret)
		ret = m4_map(v, MAP_ICM, qpc, QPC_BYTES, ICM_QPC);
	return ret ? ret : m4_map(v, MAP_ICM, m->records, M4_PAGE, UARC);
}

int mt_init(struct mt *m)
{
	uint8_t lim[0x100], hca[0x200] = { 0 };
	uint64_t aux = 0;
	int ret;

	ret = m4_box(&m->v, QUERY_DEV_LIM, 0, 0, NULL, 0, lim, sizeof(lim));
	if (!ret)
		ret = m4_cmd(&m->v, SET_ICM_SIZE, 0, 0, ICM_SIZE, &aux);
	if (!ret)
		ret = m4_give(&m->v, MAP_ICM_AUX, aux);
	if (!ret)
		ret = map_tables(m);
	if (ret)
		return ret;
	m4_put32(hca, 0xc, 1 << 24);		/* as the driver puts an int there */
	m4_put32(hca, 0x14, 1);			/* a little endian host */
	m4_put64(hca, 0x30, ICM_QPC);
	hca[0x37] = MT_LOG_QP;
	hca[0x4f] = MT_LOG_SRQ;
	hca[0x57] = MT_LOG_CQ;
	hca[0x87] = 5;				/* EQs */
	hca[0xd3] = 8;				/* octets of a group's entry */
	m4_put16(hca, 0xd6, 1 << (MT_LOG_MCG - 1));
	hca[0xdb] = MT_LOG_MCG;
	m4_put64(hca, 0xf0, ICM_MPT);
	hca[0xfb] = MT_LOG_MPT;
	m4_put64(hca, 0x100, ICM_MTT);
	hca[0x129] = MT_LOG_UARC - 12;
	hca[0x12a] = 11;			/* UAR pages */
	m4_put64(hca, 0x138, ICM_UARC);
	ret = m4_box(&m->v, INIT_HCA, 0, 0, hca, sizeof(hca), NULL, 0);
	m->v.uar = UAR;
	m->v.mtt_used = 16;
	m->v.next_qpn = 0x100;
	m->v.next_cqn = 0x80;
	m->v.next_srqn = 0x20;
	m->v.next_mpt = 0x100;
	m->next_buf_mpt = 0x20;
	m->v.sqp = 0x40;
	return ret;
}

int mt_eq(struct mt *m, struct m4_eq *eq, uint32_t eqn, uint8_t log_size,
	  uint8_t vector)
{
	uint8_t eqc[64] = { 0 };
	struct mt_buf b;
	uint32_t i;
	int ret;

	ret = mt_buf(m, &b, 32UL << log_size, DRIVER_PD, MT_LOCAL_WRITE);
	if (ret)
		return ret;
	eq->eqn = eqn;
	eq->ci = 0;
	eq->log_size = log_size;
	eq->vector = vector;
	eq->e = (void *)b.p;
	for (i = 0; i < 1u << log_size; i++)
		eq->e[i].owner = 0x80;
	m4_put32(eqc, 0, 1 << 24 | 1 << 18 | 9 << 8);
	eqc[0xc] = log_size;
	eqc[0x17] = 128 + vector;
	m4_put32(eqc, 0x18, DRIVER_PD);
	m4_put32(eqc, 0x1c, b.mr.key);
	return m4_box(&m->v, SW2HW_EQ, 0, eqn, eqc, sizeof(eqc), NULL, 0);
}

static int open_eqs(struct mt *m)
{
	struct m4 *v = &m->v;
	int ret;

	ret = mt_eq(m, &m->comp, 4, 9, 0);
	if (!ret)
		ret = mt_eq(m, &v->async, 5, 7, 1);
	if (!ret)
		ret = mt_eq(m, &m->command, 6, 7, 2);
	if (!ret)
		ret = m4_cmd(v, MAP_EQ, 0, v->async.eqn, ASYNC_EVENTS, NULL);
	if (!ret)
		ret = m4_cmd(v, MAP_EQ, 0, m->command.eqn, 1 << EV_CMD, NULL);
	if (ret)
		return ret;
	rig_write32(v->dev, 0xf0404, 7 << 4);
	v->events = true;
	return m4_cmd(v, NOP, 0, 0x1f, 0, NULL);
}

int mt_open(struct mt *m, struct rig_dev *dev)
{
	uint8_t any[64] = { 0 };
	int ret = mt_start(m, dev);

	if (!ret)
		ret = mt_init(m);
	if (!ret)
		ret = m4_box(&m->v, QUERY_ADAPTER, 0, 0, NULL, 0, any, 64);
	if (!ret)
		ret = open_eqs(m);
	if (!ret)
		ret = m4_cmd(&m->v, CONF_SPECIAL_QP, 0, m->v.sqp, 0, NULL);
	if (!ret)
		ret = m4_cmd(&m->v, CONF_SPECIAL_QP, 1, m->v.sqp + 2, 0, NULL);
	return ret ? ret : m4_box(&m->v, INIT_IB, 0, 1, any, 56, NULL, 0);
}

int mt_close(struct mt *m)
{
	static const struct { uint64_t virt; uint32_t bytes; } table[] = {
		{ ICM_MTT, MTT_BYTES }, { ICM_MPT, MPT_BYTES },
		{ ICM_QPC, QPC_BYTES }, { UARC, M4_PAGE },
	};
	struct m4 *v = &m->v;
	uint32_t eqn;
	size_t i;
	int ret;

	ret = m4_cmd(v, CLOSE_IB, 0, 1, 0, NULL);
	for (i = 0; i < 2 && !ret; i++)
		ret = m4_cmd(v, CONF_SPECIAL_QP, i, 0, 0, NULL);
	v->events = false;
	if (!ret)
		ret = m4_cmd(v, MAP_EQ, 0, 1u << 31 | v->async.eqn, ASYNC_EVENTS,
			     NULL);
	for (eqn = 4; eqn <= 6 && !ret; eqn++)
		ret = m4_box(v, HW2SW_EQ, 0, eqn, NULL, 0, v->out, 0);
	if (!ret)
		ret = m4_cmd(v, CLOSE_HCA, 0, 0, 0, NULL);
	for (i = 0; i < 4 && !ret; i++)
		ret = m4_cmd(v, UNMAP_ICM, 0, table[i].bytes / M4_PAGE,
			     table[i].virt, NULL);
	if (!ret)
		ret = m4_cmd(v, UNMAP_ICM_AUX, 0, 0, 0, NULL);
	return ret ? ret : m4_cmd(v, UNMAP_FA, 0, 0, 0, NULL);
}

/* ---- memory ---- */
static int put_mpt(struct mt *m, struct m4_mr *mr, uint32_t pd, uint64_t mtt,
		   uint32_t flags)
{
	uint8_t mpt[64] = { 0 };

	mr->key = mr->index << 8 | mr->index >> 24;
	m4_put32(mpt, 0, 0xf0000000 | 1 << 17 | 1 << 10 | 1 << 8 | flags);
	m4_put32(mpt, 0x8, mr->index);
	m4_put32(mpt, 0xc, pd);
	m4_put64(mpt, 0x10, mr->va);
	m4_put64(mpt, 0x18, mr->len);
	m4_put64(mpt, 0x2c, mtt);
	return m4_box(&m->v, SW2HW_MPT, 0, mr->index & ((1u << MT_LOG_MPT) - 1),
		      mpt, sizeof(mpt), NULL, 0);
}

int mt_mr_at(struct mt *m, struct m4_mr *mr, void *p, size_t len, uint64_t va,
	     uint32_t pd, int access)
{
	uint64_t mtt = m4_mtt(&m->v, (uint8_t *)p - va % M4_PAGE,
			      len + va % M4_PAGE);

	mr->p = p;
	mr->len = len;
	mr->va = va;
	mr->index = m->v.next_mpt++;
	return put_mpt(m, mr, pd, ICM_MTT + mtt, access);
}

int mt_mr(struct mt *m, struct m4_mr *mr, void *p, size_t len, int access)
{
	return mt_mr_at(m, mr, p, len, 0x7f0000000000 | rig_bus(m->v.rig, p), PD,
			access);
}

int mt_dma_mr(struct mt *m, struct m4_mr *mr)
{
	memset(mr, 0, sizeof(*mr));
	mr->len = ~0UL;
	mr->index = m->v.next_mpt++;
	return put_mpt(m, mr, PD, 0, 1 << 9 | MT_LOCAL_WRITE);
}

int mt_mr_free(struct mt *m, struct m4_mr *mr)
{
	return m4_cmd(&m->v, HW2SW_MPT, 1, mr->index & ((1u << MT_LOG_MPT) - 1),
		      0, NULL);
}

int mt_buf(struct mt *m, struct mt_buf *b, size_t len, uint32_t pd, int access)
{
	memset(b, 0, sizeof(*b));
	b->len = len;
	b->p = rig_alloc(m->v.rig, len);
	if (!b->p)
		return M4_LOST;
	return mt_mr_at(m, &b->mr, b->p, len, 0, pd, access);
}

uint32_t mt_record(struct mt *m, uint32_t qn, uint32_t type, uint32_t **at)
{
	uint32_t index = m->next_record++ % MT_RECORDS;

	*at = (uint32_t *)(m->records + index * 8);
	(*at)[0] = 0;
	(*at)[1] = htobe32(qn << 8 | type << 5);
	return index;
}

/* ---- completion queues ---- */
static void cqes_fresh(struct mt_buf *b)
{
	size_t at;

	for (at = 31; at < b->len; at += 32)
		b->p[at] = 0x80;
}

int mt_cq_in(struct mt *m, struct mt_cq *cq, uint8_t log_size, uint32_t key,
	     uint32_t pd)
{
	uint8_t cqc[64] = { 0 };

	cq->cqn = m->v.next_cqn++;
	cq->ci = 0;
	cq->arm_sn = 1;
	cq->uar = m->v.uar;
	cq->log_size = log_size;
	cq->eq = &m->comp;
	m4_put32(cqc, 0, 1 << 18);
	m4_put32(cqc, 0xc, (uint32_t)log_size << 24 | cq->uar);
	m4_put32(cqc, 0x10, m->v.async.eqn);
	m4_put32(cqc, 0x14, m->comp.eqn);
	m4_put32(cqc, 0x18, pd);
	m4_put32(cqc, 0x1c, key);
	m4_put32(cqc, 0x30, cq->cqn);
	m4_put32(cqc, 0x34, mt_record(m, cq->cqn, RECORD_SET_CI, &cq->set_ci));
	m4_put32(cqc, 0x38, mt_record(m, cq->cqn, RECORD_ARM, &cq->arm));
	return m4_box(&m->v, SW2HW_CQ, 0, cq->cqn, cqc, sizeof(cqc), NULL, 0);
}

int mt_cq(struct mt *m, struct mt_cq *cq, uint8_t log_size)
{
	int ret = mt_buf(m, &cq->buf, 32UL << log_size, PD, MT_LOCAL_WRITE);

	if (ret)
		return ret;
	cqes_fresh(&cq->buf);
	return mt_cq_in(m, cq, log_size, cq->buf.mr.key, PD);
}

/* mthca_cq_resize_copy_cqes(). */
int mt_cq_resize(struct mt *m, struct mt_cq *cq, uint8_t log_size)
{
	uint32_t from = (1u << cq->log_size) - 1, to = (1u << log_size) - 1, i;
	uint8_t box[0x40] = { 0 };
	struct mt_buf b;
	int ret;

	ret = mt_buf(m, &b, 32UL << log_size, PD, MT_LOCAL_WRITE);
	if (ret)
		return ret;
	cqes_fresh(&b);
	box[0xc] = log_size;
	m4_put32(box, 0x1c, b.mr.key);
	ret = m4_box(&m->v, RESIZE_CQ, 1, cq->cqn, box, sizeof(box), NULL, 0);
	if (ret)
		return ret;
	for (i = cq->ci; !(cq->buf.p[(i & from) * 32 + 31] & 0x80) &&
	     i != cq->ci + from + 1; i++)
		memcpy(b.p + (i & to) * 32, cq->buf.p + (i & from) * 32, 32);
	ret = mt_mr_free(m, &cq->buf.mr);
	cq->buf = b;
	cq->log_size = log_size;
	return ret;
}

int mt_cq_free(struct mt *m, struct mt_cq *cq)
{
	int ret = m4_box(&m->v, HW2SW_CQ, 0, cq->cqn, NULL, 0, m->v.out, 0);

	return ret ? ret : mt_mr_free(m, &cq->buf.mr);
}

/* ---- shared receive queues ---- */
int mt_srq(struct mt *m, struct mt_srq *srq, uint8_t log_size)
{
	uint32_t i, max = 1u << log_size;
	uint8_t c[64] = { 0 };
	int ret;

	memset(srq, 0, sizeof(*srq));
	srq->srqn = m->v.next_srqn++;
	srq->log_size = log_size;
	srq->log_stride = 7;
	srq->last = max - 1;
	ret = mt_buf(m, &srq->buf, (size_t)max << srq->log_stride, PD,
		     MT_READ_ONLY);
	if (ret)
		return ret;
	for (i = 0; i < max; i++)
		m4_put32(srq->buf.p, i << srq->log_stride, i + 1 == max ? 0 :
			 (i + 1) << srq->log_stride | 1);
	m4_put32(c, 0, (uint32_t)log_size << 24 | srq->srqn);
	m4_put32(c, 0x4, srq->buf.mr.key);
	m4_put32(c, 0x8, mt_record(m, srq->srqn, RECORD_SRQ, &srq->record));
	m4_put32(c, 0xc, (uint32_t)(srq->log_stride - 4) << 29 | m->v.uar);
	m4_put32(c, 0x18, 1 << 24 | PD);
	return m4_box(&m->v, SW2HW_SRQ, 0, srq->srqn, c, sizeof(c), NULL, 0);
}

int mt_srq_free(struct mt *m, struct mt_srq *srq)
{
	int ret = m4_box(&m->v, HW2SW_SRQ, 0, srq->srqn, NULL, 0, m->v.out, 0);

	return ret ? ret : mt_mr_free(m, &srq->buf.mr);
}

/* ---- queue pairs ---- */
int mt_qp(struct mt *m, struct mt_qp *qp, const struct mt_qp_init *i)
{
	size_t rq = 0, n;
	int ret;

	memset(qp, 0, sizeof(*qp));
	qp->m = m;
	qp->st = i->st;
	qp->scq = i->scq;
	qp->rcq = i->rcq;
	qp->srq = i->srq;
	qp->uar = m->v.uar;
	qp->all_signaled = i->all_signaled;
	qp->qpn = i->qpn ? i->qpn : m->v.next_qpn++;
	qp->pd = i->pd ? i->pd : PD;
	qp->log_sq = i->log_sq ? i->log_sq : 6;
	qp->log_sq_stride = i->log_sq_stride ? i->log_sq_stride : 7;
	qp->log_rq = i->log_rq ? i->log_rq : 6;
	qp->log_rq_stride = 6;
	if (!qp->srq)
		rq = 1ul << (qp->log_rq + qp->log_rq_stride);
	qp->sq_off = (rq + (1u << qp->log_sq_stride) - 1) &
		     ~((1u << qp->log_sq_stride) - 1);
	qp->sq_index = mt_record(m, qp->qpn, RECORD_SQ, &qp->sq_record);
	qp->rq_index = mt_record(m, qp->qpn, RECORD_RQ, &qp->rq_record);
	ret = mt_buf(m, &qp->buf,
		     qp->sq_off + (1ul << (qp->log_sq + qp->log_sq_stride)),
		     qp->pd, MT_READ_ONLY);
	/* mthca_alloc_qp_common(): receives are linked, and say how long they are. */
	for (n = 0; !ret && n < rq; n += 1u << qp->log_rq_stride) {
		m4_put32(qp->buf.p, n, (n + (1u << qp->log_rq_stride)) & (rq - 1));
		m4_put32(qp->buf.p, n + 4, 1u << (qp->log_rq_stride - 4));
	}
	return ret;
}

/* What __mthca_modify_qp() always writes. */
static void context(const struct mt_qp *qp, uint8_t *c, unsigned int state)
{
	bool datagram = qp->st == M4_UD || qp->st == M4_MLX;

	m4_put32(c, 0, state << 28 | (uint32_t)qp->st << 16 | 3 << 11 | 1 << 8);
	c[0x8] = datagram ? 4 << 5 | 11 : 0;
	c[0x9] = (qp->srq ? 0 : qp->log_rq << 3) | (qp->log_rq_stride - 4);
	c[0xa] = qp->log_sq << 3 | (qp->log_sq_stride - 4);
	m4_put32(c, 0xc, qp->uar);
	m4_put32(c, 0x10, qp->qpn);
	if (qp->st == M4_MLX)
		m4_put32(c, 0x20, 1 << 24);
	m4_put32(c, 0x64, qp->pd);
	m4_put32(c, 0x6c, qp->buf.mr.key);
	m4_put32(c, 0x70, 10u << 28 | 9 << 24 | 1 << 14 |
		 (qp->all_signaled ? 1 << 3 : 0));
	m4_put32(c, 0x7c, qp->scq->cqn);
	m4_put32(c, 0x80, qp->sq_off);
	m4_put32(c, 0x84, qp->sq_index);
	m4_put32(c, 0x90, 1 << 3 | (qp->srq ? 1 << 4 : 0));
	m4_put32(c, 0x9c, qp->rcq->cqn);
	m4_put32(c, 0xa4, qp->rq_index);
	if (qp->srq)
		m4_put32(c, 0xac, 1 << 24 | qp->srq->srqn);
}

static int modify(struct mt_qp *qp, uint16_t opcode, uint32_t optpar,
		  uint8_t box[QPC_LEN])
{
	m4_put32(box, 0, optpar);
	return m4_box(&qp->m->v, opcode, 0, qp->qpn, box, QPC_LEN, NULL, 0);
}

static void or32(uint8_t *c, size_t at, uint32_t value)
{
	m4_put32(c, at, m4_get32(c, at) | value);
}

int mt_qp_to_init(struct mt_qp *qp, const struct m4_path *p)
{
	uint8_t box[QPC_LEN] = { 0 }, *c = box + QPC;

	context(qp, c, 1);
	m4_put32(c, 0x20, 1 << 24);
	m4_put32(c, 0xa8, p->qkey);
	if (p->rd)
		or32(c, 0x90, 1 << 14);		/* the others when there are buffers */
	return modify(qp, RST2INIT, 1 << 11 | 1 << 4 | 1 << 5 | 7 << 1, box);
}

int mt_qp_to_rtr(struct mt_qp *qp, const struct m4_path *p)
{
	uint8_t box[QPC_LEN] = { 0 }, *c = box + QPC;

	context(qp, c, 2);
	if (qp->st == M4_RC || qp->st == M4_UC) {
		c[0x8] = 4 << 5 | 31;
		m4_put16(c, 0x26, p->dlid);
	}
	if (p->dgid) {
		c[0x25] = 0x80;
		c[0x2b] = 1;
		memcpy(c + 0x30, p->dgid, 16);
	}
	m4_put32(c, 0x14, p->qpn);
	if (p->rd)
		or32(c, 0x90, 2u << 21 | 7 << 13);
	m4_put32(c, 0x94, (uint32_t)p->min_rnr << 24 | p->psn);
	return modify(qp, INIT2RTR, 1 << 7 | 1 << 16 |
		      (p->rd ? 1 << 9 | 7 << 1 | 1 << 6 : 0), box);
}

int mt_qp_to_rts(struct mt_qp *qp, const struct m4_path *p)
{
	uint8_t box[QPC_LEN] = { 0 }, *c = box + QPC;

	context(qp, c, 3);
	c[0x24] = p->rnr_retry << 5;
	c[0x28] = p->timeout << 3;
	or32(c, 0x70, (uint32_t)p->retry << 16 |
	     (p->rd ? 2u << 21 | 1 << 15 | 1 << 13 : 0));
	m4_put32(c, 0x78, p->psn);
	return modify(qp, RTR2RTS, 1 << 15 | 1 << 13 | 1 << 12 | 1 << 14 | 1 << 8,
		      box);
}

int mt_qp_up(struct mt_qp *qp, const struct m4_path *p)
{
	int ret = mt_qp_to_init(qp, p);

	if (!ret)
		ret = mt_qp_to_rtr(qp, p);
	return ret ? ret : mt_qp_to_rts(qp, p);
}

int mt_qp_to_rst(struct mt_qp *qp)
{
	return m4_box(&qp->m->v, TO_RST, 2, qp->qpn, NULL, 0, qp->m->v.out, 0);
}

int mt_qp_to_err(struct mt_qp *qp)
{
	uint8_t box[QPC_LEN] = { 0 };

	context(qp, box + QPC, 6);
	return modify(qp, TO_ERR, 0, box);
}

int mt_qp_state(struct mt_qp *qp)
{
	uint8_t box[QPC_LEN];

	if (m4_box(&qp->m->v, QUERY_QP, 0, qp->qpn, NULL, 0, box, sizeof(box)))
		return -1;
	return box[QPC] >> 4;
}

/* mthca_multicast_attach() and _detach(), without chains. */
int mt_mcg(struct mt *m, struct mt_qp *qp, const uint8_t gid[16], bool attach)
{
	uint8_t e[256];
	uint64_t hash = 0;
	uint32_t i, nr = 0, at = 56;
	int ret;

	memcpy(m->v.in, gid, 16);
	ret = m4_cmd(&m->v, MGID_HASH, 0, 0, rig_bus(m->v.rig, m->v.in), &hash);
	if (ret || hash >= 1u << (MT_LOG_MCG - 1))
		return ret ? ret : M4_LOST;
	ret = m4_box(&m->v, READ_MGM, 0, hash, NULL, 0, e, sizeof(e));
	if (ret)
		return ret;
	memcpy(e + 16, gid, 16);
	for (i = 0; i < 56 && m4_get32(e, 32 + 4 * i) >> 31; i++, nr++)
		if ((m4_get32(e, 32 + 4 * i) & 0xffffff) == qp->qpn)
			at = i;
	if (attach) {
		m4_put32(e, 32 + 4 * nr, 1u << 31 | qp->qpn);
	} else {
		if (at == 56)
			return M4_LOST;
		m4_put32(e, 32 + 4 * at, m4_get32(e, 32 + 4 * (nr - 1)));
		m4_put32(e, 32 + 4 * (nr - 1), 0);
	}
	return m4_box(&m->v, WRITE_MGM, 0, hash, e, sizeof(e), NULL, 0);
}
