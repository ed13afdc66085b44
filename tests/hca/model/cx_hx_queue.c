// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Commands on event, completion and shared receive queues. Their memory is what the
 * generation says: pages by translation entries in context memory, or a region.
 * Handing one back never fails: the driver would reset the HCA.
 */
#include <stdlib.h>
#include <string.h>

#include "cx_cmd.h"
#include "cx_hx.h"

#define LOG_EQ_MOST	22u
#define LOG_CQ_MOST	22u
#define LOG_SRQ_MOST	15u

/* ---- event queues ---- */
void hx_eq_free(struct cx_dev *d, struct cx_eq *eq)
{
	cx_ids_del(&d->eqs, eq->eqn);
	hx_buf_free(d, &eq->buf);
	free(eq);
}

static enum cx_status eq_parse(struct cx_dev *d, struct cx_eq *eq,
			       const uint8_t *eqc)
{
	const struct hx_kind *k = d->family->hx;
	uint32_t vector = hx_get(eqc, HX_EQC_VECTOR) - k->first_vector;

	eq->log_size = hx_get(eqc, HX_EQC_LOG);
	eq->vector = vector;
	eq->armed = hx_get(eqc, HX_EQC_STATE) == HX_EQ_ARMED;
	eq->uar = eq->eqn / HX_EQS_PER_UAR;
	if (eq->log_size > LOG_EQ_MOST || vector >= CX_VECTORS)
		return CX_BAD_PARAM;
	return k->buf(d, &eq->buf, HX_EQC, eqc,
		      (uint64_t)HX_EQE_BYTES << eq->log_size);
}

/* Marks all entries as the device's, where that is not software's to do. */
static int eqes_fresh(struct cx_dev *d, const struct cx_buf *b)
{
	return d->family->laps ? hx_buf_fill(d, b, 0, b->size, HX_FRESH) : 0;
}

static enum cx_status sw2hw_eq(struct cx_dev *d, struct hx_cmd *c)
{
	struct cx_eq *eq = calloc(1, sizeof(*eq));
	enum cx_status status;

	if (!eq)
		return CX_LIM;
	eq->eqn = c->in_mod;
	status = eq_parse(d, eq, c->in);
	if (!status && (eqes_fresh(d, &eq->buf) ||
			!cx_ids_put(&d->eqs, eq->eqn, eq))) {
		hx_buf_free(d, &eq->buf);
		status = CX_BAD_RES_STATE;
	}
	if (status)
		free(eq);
	return status;
}

static enum cx_status hw2sw_eq(struct cx_dev *d, struct hx_cmd *c)
{
	struct cx_eq *eq = cx_ids_get(&d->eqs, c->in_mod);

	if (eq)
		hx_eq_free(d, eq);
	return CX_OK;
}

/* An event goes to one queue: the last that asked for its type. */
static enum cx_status map_eq(struct cx_dev *d, struct hx_cmd *c)
{
	bool unmap = c->in_mod & HX_MAP_EQ_UNMAP;
	struct cx_eq *eq = cx_ids_get(&d->eqs, c->in_mod & ~HX_MAP_EQ_UNMAP);
	struct cx_eq *other;
	uint32_t n;

	if (!eq)
		return CX_BAD_RES;
	CX_EACH(&d->eqs, n, other)
		other->mask &= ~c->in_param;
	if (!unmap)
		eq->mask |= c->in_param;
	return CX_OK;
}

/* ---- completion queues ---- */
void hx_cq_free(struct cx_dev *d, struct cx_cq *cq)
{
	cx_ids_del(&d->cqs, cq->cqn);
	hx_buf_free(d, &cq->buf);
	free(cq);
}

/*
 * Makes all entries the HCA's: an owner bit is not that of the lap in which the HCA comes
 * to the entry. @next is the index to which it comes next.
 */
static int cqes_fresh(struct cx_dev *d, const struct cx_buf *b, uint32_t next)
{
	uint32_t size = b->size >> d->hx->log_cqe;
	uint64_t at = (uint64_t)(next & (size - 1)) << d->hx->log_cqe;
	uint8_t mark = next & size ? HX_FRESH ^ HX_FRESH_OWNER : HX_FRESH;

	return hx_buf_fill(d, b, at, b->size, mark) ? -EFAULT :
	       hx_buf_fill(d, b, 0, at, mark ^ HX_FRESH_OWNER);
}

/* What a new CQ and a resized one have in common; @next: as above. */
static enum cx_status cq_buf(struct cx_dev *d, const uint8_t *cqc, uint32_t next,
			     struct cx_buf *b, uint8_t *log_size)
{
	enum cx_status status;

	*log_size = hx_get(cqc, HX_CQC_LOG);
	if (*log_size > LOG_CQ_MOST)
		return CX_BAD_PARAM;
	status = d->family->hx->buf(d, b, HX_CQC, cqc,
				    1ULL << (d->hx->log_cqe + *log_size));
	if (!status && d->family->laps && cqes_fresh(d, b, next)) {
		hx_buf_free(d, b);
		status = CX_BAD_PARAM;
	}
	return status;
}

static enum cx_status cq_parse(struct cx_dev *d, struct cx_cq *cq,
			       const uint8_t *cqc)
{
	cq->log_cqe = d->hx->log_cqe;
	cq->uar = hx_get(cqc, HX_CQC_UAR);
	cq->eqn = hx_get(cqc, HX_CQC_EQ);
	cq->oi = hx_get(cqc, HX_CQC_OI);
	cq->period = hx_get(cqc, HX_CQC_PERIOD);
	cq->max_count = hx_get(cqc, HX_CQC_COUNT);
	cq->dbr = d->family->hx->record(d, HX_CQC, cqc);
	if (cq->dbr % 8)
		return CX_BAD_PARAM;
	if (!cx_ids_get(&d->eqs, cq->eqn) || cq->uar < d->family->hx->first_uar)
		return CX_BAD_RES;
	return cq_buf(d, cqc, 0, &cq->buf, &cq->log_size);
}

static enum cx_status sw2hw_cq(struct cx_dev *d, struct hx_cmd *c)
{
	struct cx_cq *cq = calloc(1, sizeof(*cq));
	enum cx_status status;

	if (!cq)
		return CX_LIM;
	cq->cqn = c->in_mod & HX_NUMBER;
	status = cq_parse(d, cq, c->in);
	if (!status && !cx_ids_put(&d->cqs, cq->cqn, cq)) {
		hx_buf_free(d, &cq->buf);
		status = CX_BAD_RES_STATE;
	}
	if (status)
		free(cq);
	return status;
}

static enum cx_status hw2sw_cq(struct cx_dev *d, struct hx_cmd *c)
{
	struct cx_cq *cq = cx_ids_get(&d->cqs, c->in_mod & HX_NUMBER);

	if (cq)
		hx_cq_free(d, cq);
	return CX_OK;
}

static enum cx_status query_cq(struct cx_dev *d, struct hx_cmd *c)
{
	const struct cx_cq *cq = cx_ids_get(&d->cqs, c->in_mod & HX_NUMBER);

	if (!cq)
		return CX_BAD_RES;
	hx_set(c->out, HX_CQC_STATUS, cq->failed ? 10 : 0);	/* write failure */
	hx_set(c->out, HX_CQC_STATE, cq->arm == 2 ? 9 : cq->arm ? 6 : 10);
	hx_set(c->out, HX_CQC_LOG, cq->log_size);
	hx_set(c->out, HX_CQC_UAR, cq->uar);
	hx_set(c->out, HX_CQC_EQ, cq->eqn);
	hx_set(c->out, HX_CQC_CI, cq->ci);
	hx_set(c->out, HX_CQC_PI, cq->pi);
	return CX_OK;
}

static enum cx_status resize_cq(struct cx_dev *d, struct cx_cq *cq,
				const uint8_t *cqc)
{
	uint32_t old = cq->buf.nr;
	enum cx_status status;
	struct cx_buf b;
	uint8_t log_size;
	int err;

	/* The entry that tells of it takes an index. */
	status = cq_buf(d, cqc, cq->pi + 1, &b, &log_size);
	if (status)
		return status;
	b.pd = cq->buf.pd;
	err = cx_cq_resize(d, cq, &b, log_size, cq->log_cqe);
	if (!err) {
		cx_entries_give(d, old);
		return CX_OK;
	}
	hx_buf_free(d, &b);
	return CX_BAD_SIZE;
}

static enum cx_status modify_cq(struct cx_dev *d, struct hx_cmd *c)
{
	struct cx_cq *cq = cx_ids_get(&d->cqs, c->in_mod & HX_NUMBER);

	if (!cq)
		return CX_BAD_RES;
	if (c->op_mod == d->family->hx->resize)
		return resize_cq(d, cq, c->in);
	if (c->op_mod != d->family->hx->moderate)
		return CX_BAD_PARAM;
	cq->period = hx_get(c->in, HX_CQC_PERIOD);
	cq->max_count = hx_get(c->in, HX_CQC_COUNT);
	return CX_OK;
}

/* ---- shared receive queues ---- */
void hx_srq_free(struct cx_dev *d, struct cx_srq *srq)
{
	cx_ids_del(&d->srqs, srq->srqn);
	hx_buf_free(d, &srq->buf);
	free(srq);
}

static enum cx_status srq_parse(struct cx_dev *d, struct cx_srq *srq,
				const uint8_t *s)
{
	const struct hx_kind *k = d->family->hx;

	srq->kind = CX_SRQ_PLAIN;
	srq->log_size = hx_get(s, HX_SRQC_LOG);
	srq->log_stride = hx_at(s, k->srq_stride) + 4;
	srq->pd = hx_get(s, HX_SRQC_PD);
	srq->dbr = k->record(d, HX_SRQC, s);
	if (srq->log_size > LOG_SRQ_MOST || srq->dbr % 4)
		return CX_BAD_PARAM;
	return k->buf(d, &srq->buf, HX_SRQC, s,
		      1ULL << (srq->log_size + srq->log_stride));
}

static enum cx_status sw2hw_srq(struct cx_dev *d, struct hx_cmd *c)
{
	struct cx_srq *srq = calloc(1, sizeof(*srq));
	enum cx_status status;

	if (!srq)
		return CX_LIM;
	srq->srqn = c->in_mod & HX_NUMBER;
	status = srq_parse(d, srq, c->in);
	if (!status && !cx_ids_put(&d->srqs, srq->srqn, srq)) {
		hx_buf_free(d, &srq->buf);
		status = CX_BAD_RES_STATE;
	}
	if (status)
		free(srq);
	return status;
}

static enum cx_status hw2sw_srq(struct cx_dev *d, struct hx_cmd *c)
{
	struct cx_srq *srq = cx_ids_get(&d->srqs, c->in_mod & HX_NUMBER);

	if (srq)
		hx_srq_free(d, srq);
	return CX_OK;
}

static enum cx_status query_srq(struct cx_dev *d, struct hx_cmd *c)
{
	const struct cx_srq *srq = cx_ids_get(&d->srqs, c->in_mod & HX_NUMBER);

	if (!srq)
		return CX_BAD_RES;
	hx_set(c->out, HX_SRQC_STATE, srq->failed);
	hx_set(c->out, HX_SRQC_LOG, srq->log_size);
	hx_set(c->out, HX_SRQC_PD, srq->pd);
	hx_set(c->out, HX_SRQC_LIMIT, srq->lwm);
	return CX_OK;
}

static enum cx_status arm_srq(struct cx_dev *d, struct hx_cmd *c)
{
	struct cx_srq *srq = cx_ids_get(&d->srqs, c->in_mod & HX_NUMBER);

	if (!srq)
		return CX_BAD_RES;
	cx_srq_arm(d, srq, c->in_param & 0xffff);
	return CX_OK;
}

const struct hx_cmd_desc hx_cmds_queue[] = {
	{ HX_SW2HW_EQ, "SW2HW_EQ", sw2hw_eq, HX_UP, HX_EQC_BYTES, 0 },
	{ HX_HW2SW_EQ, "HW2SW_EQ", hw2sw_eq, HX_UP, 0, 0 },
	{ HX_MAP_EQ, "MAP_EQ", map_eq, HX_UP, 0, 0 },
	{ HX_SW2HW_CQ, "SW2HW_CQ", sw2hw_cq, HX_UP, HX_CQC_BYTES, 0 },
	{ HX_HW2SW_CQ, "HW2SW_CQ", hw2sw_cq, HX_UP, 0, 0 },
	{ HX_QUERY_CQ, "QUERY_CQ", query_cq, HX_UP, 0, HX_CQC_BYTES },
	{ HX_MODIFY_CQ, "MODIFY_CQ", modify_cq, HX_UP, HX_CQC_BYTES, 0 },
	{ HX_SW2HW_SRQ, "SW2HW_SRQ", sw2hw_srq, HX_UP, HX_SRQC_BYTES, 0 },
	{ HX_HW2SW_SRQ, "HW2SW_SRQ", hw2sw_srq, HX_UP, 0, 0 },
	{ HX_QUERY_SRQ, "QUERY_SRQ", query_srq, HX_UP, 0, HX_SRQC_BYTES },
	{ HX_ARM_SRQ, "ARM_SRQ", arm_srq, HX_UP, 0, 0 },
	{ 0 }
};
