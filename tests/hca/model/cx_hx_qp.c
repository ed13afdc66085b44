// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Commands on queue pairs. There is none that makes one: RST2INIT does, with the
 * number and the buffer that the driver chose, and 2RST ends it. A move takes the
 * fields of the driver's context that are mandatory for it and those that its
 * optional parameter mask names, checks the whole, and translates it for the
 * engines.
 */
#include <stdlib.h>
#include <string.h>

#include "cx_hx.h"

#define LOG_READS	4u
#define MTU_MIN		1u	/* IB_MTU_256 */

static const struct hx_qpc *qpc_of(const struct cx_dev *d)
{
	return d->family->hx->qpc;
}

#define EACH_FIELD(d, f) \
	for ((f) = qpc_of(d)->fields; \
	     (f) < qpc_of(d)->fields + qpc_of(d)->nr; (f)++)

/* ---- the context ---- */
static void qpc_clear(const struct cx_dev *d, uint8_t *qpc)
{
	const struct hx_field *f;

	EACH_FIELD(d, f)
		hx_set(qpc, f->at, f->hi, f->lo, 0);
	memset(qpc + qpc_of(d)->alt, 0, qpc_of(d)->alt_bytes);
}

static void qpc_take(const struct cx_dev *d, uint8_t *qpc, const uint8_t *from,
		     uint8_t must, uint32_t opt)
{
	const struct hx_qpc *q = qpc_of(d);
	const struct hx_field *f;

	EACH_FIELD(d, f)
		if ((f->must & must) || (f->opt & opt))
			hx_set(qpc, f->at, f->hi, f->lo,
			       hx_get(from, f->at, f->hi, f->lo));
	if (opt & q->opt_alt)
		memcpy(qpc + q->alt, from + q->alt, q->alt_bytes);
}

static bool qpc_ok(const struct cx_dev *d, const uint8_t *qpc, uint8_t must)
{
	uint32_t mtu = hx_get(qpc, HX_QPC_MTU);
	const struct hx_qpc *q = qpc_of(d);

	if (hx_at(qpc, q->pkey) >= CX_PKEYS || hx_at(qpc, q->port) != q->port1)
		return false;
	if (hx_at(qpc, q->grh) && hx_at(qpc, q->sgid) >= CX_GIDS)
		return false;
	if (hx_get(qpc, HX_QPC_RRA_MAX) > LOG_READS ||
	    hx_get(qpc, HX_QPC_SRA_MAX) > LOG_READS)
		return false;
	return !(must & HX_TO_RTR) ||
	       (mtu >= MTU_MIN && mtu <= d->family->mtu &&
		hx_get(qpc, HX_QPC_LOG_MSG) <= q->log_msg);
}

static void load_path(const struct cx_dev *d, struct cx_qp *qp)
{
	const struct hx_qpc *q = qpc_of(d);
	const uint8_t *qpc = qp->hx_qpc;
	struct cx_av *av = &qp->av;

	av->dlid = hx_at(qpc, q->rlid);
	av->slid_bits = hx_at(qpc, q->bits);
	av->sl = hx_at(qpc, q->sl);
	av->tclass = hx_at(qpc, q->tclass);
	av->hop = hx_at(qpc, q->hop);
	av->grh = hx_at(qpc, q->grh);
	av->sgid_index = hx_at(qpc, q->sgid);
	av->flow = hx_at(qpc, q->flow);
	memcpy(av->dgid, qpc + q->rgid, sizeof(av->dgid));
	qp->pkey_index = hx_at(qpc, q->pkey);
	qp->ack_timeout = hx_at(qpc, q->ack);
	qp->rnr_retry = hx_at(qpc, q->rnr_retry);
}

/* What a move may have changed, for the engines. */
static void qpc_load(const struct cx_dev *d, struct cx_qp *qp)
{
	const uint8_t *qpc = qp->hx_qpc;

	qp->mtu = 7 + hx_get(qpc, HX_QPC_MTU);
	qp->rre = hx_get(qpc, HX_QPC_RRE);
	qp->rwe = hx_get(qpc, HX_QPC_RWE);
	qp->rae = hx_get(qpc, HX_QPC_RAE);
	qp->log_sra_max = hx_get(qpc, HX_QPC_SRA_MAX);
	qp->log_rra_max = hx_get(qpc, HX_QPC_RRA_MAX);
	qp->retry_count = hx_get(qpc, HX_QPC_RETRY);
	qp->min_rnr_nak = hx_get(qpc, HX_QPC_MIN_RNR);
	qp->qkey = hx_get(qpc, HX_QPC_QKEY);
	qp->remote_qpn = hx_get(qpc, HX_QPC_REMOTE);
	qp->next_send_psn = hx_get(qpc, HX_QPC_SQ_PSN);
	qp->next_rcv_psn = hx_get(qpc, HX_QPC_RQ_PSN);
	load_path(d, qp);
}

/* ---- new, and gone ---- */
static bool is_special(const struct cx_dev *d, uint32_t qpn, uint32_t which)
{
	return d->hx->sqp_base && qpn == d->hx->sqp_base + which;
}

static enum cx_status kind(const struct cx_dev *d, struct cx_qp *qp)
{
	switch (hx_get(qp->hx_qpc, HX_QPC_ST)) {
	case HX_ST_RC:
		qp->st = CX_ST_RC;
		return CX_OK;
	case HX_ST_UC:
		qp->st = CX_ST_UC;
		return CX_OK;
	case HX_ST_UD:
		qp->st = CX_ST_UD;
		return CX_OK;
	case HX_ST_MLX:
		if (!is_special(d, qp->qpn, 0) &&
		    !is_special(d, qp->qpn, HX_SQP_QP1))
			return CX_BAD_PARAM;
		qp->st = is_special(d, qp->qpn, 0) ? CX_ST_QP0 : CX_ST_QP1;
		return CX_OK;
	default:
		return CX_BAD_PARAM;
	}
}

static void sizes(struct cx_qp *qp)
{
	const uint8_t *qpc = qp->hx_qpc;

	qp->log_sq = hx_get(qpc, HX_QPC_LOG_SQ);
	qp->log_sq_stride = hx_get(qpc, HX_QPC_SQ_STRIDE) + 4;
	qp->log_rq = hx_get(qpc, HX_QPC_LOG_RQ);
	qp->log_rq_stride = hx_get(qpc, HX_QPC_RQ_STRIDE) + 4;
	qp->has_sq = true;
	qp->has_rq = qp->dbr && qp->srqn == CX_NONE;
}

static enum cx_status qpc_parse(struct cx_dev *d, struct cx_qp *qp)
{
	const struct hx_kind *k = d->family->hx;
	const uint8_t *qpc = qp->hx_qpc;
	enum cx_status status = kind(d, qp);

	qp->pd = hx_at(qpc, k->qpc->pd);
	qp->cqn_snd = hx_get(qpc, HX_QPC_SCQ);
	qp->cqn_rcv = hx_get(qpc, HX_QPC_RCQ);
	qp->uar = hx_get(qpc, HX_QPC_UAR);
	qp->dbr = k->record(d, HX_QPC, qpc);
	qp->srqn = hx_get(qpc, HX_QPC_HAS_SRQ) ? hx_get(qpc, HX_QPC_SRQN) :
						 CX_NONE;
	qp->xrcd = CX_NONE;
	qp->tis = CX_NONE;
	if (status || qp->dbr % 4)
		return CX_BAD_PARAM;
	if (!cx_ids_get(&d->cqs, qp->cqn_snd) ||
	    !cx_ids_get(&d->cqs, qp->cqn_rcv) || qp->uar < k->first_uar ||
	    (qp->srqn != CX_NONE && !cx_ids_get(&d->srqs, qp->srqn)))
		return CX_BAD_RES;
	sizes(qp);
	return k->buf(d, &qp->buf, HX_QPC, qpc, k->layout(d, qp));
}

static enum cx_status qp_init(struct cx_dev *d, struct cx_qp *qp,
			      const struct hx_cmd *c)
{
	const uint8_t *qpc = c->in + HX_QPC_AT;
	enum cx_status status;

	qp->qpn = c->in_mod & HX_NUMBER;
	memcpy(qp->hx_qpc, qpc, sizeof(qp->hx_qpc));
	qpc_clear(d, qp->hx_qpc);
	qpc_take(d, qp->hx_qpc, qpc, HX_TO_INIT, hx_get(c->in, HX_OPTPAR));
	if (!qpc_ok(d, qp->hx_qpc, HX_TO_INIT))
		return CX_BAD_PARAM;
	status = qpc_parse(d, qp);
	if (status)
		return status;
	qpc_load(d, qp);
	if (!cx_qp_start(d, qp) && cx_ids_put(&d->qps, qp->qpn, qp))
		return CX_OK;
	cx_qp_stop(d, qp);
	hx_buf_free(d, &qp->buf);
	return CX_BAD_RES_STATE;
}

static enum cx_status rst2init(struct cx_dev *d, struct hx_cmd *c)
{
	struct cx_qp *qp = calloc(1, sizeof(*qp));
	enum cx_status status = qp ? qp_init(d, qp, c) : CX_LIM;

	if (status) {
		free(qp);
		return status;
	}
	if (qp->st == CX_ST_QP0)
		d->qp0 = qp;
	if (qp->st == CX_ST_QP1)
		d->qp1 = qp;
	qp->state = CX_INIT;
	cx_qp_changed(d, qp, CX_RST);
	if (qp->st == CX_ST_UD)
		hx_mgms_changed(d);
	return CX_OK;
}

void hx_qp_free(struct cx_dev *d, struct cx_qp *qp)
{
	cx_mcg_forget(d, qp);
	cx_qp_stop(d, qp);
	cx_ids_del(&d->qps, qp->qpn);
	if (d->qp0 == qp)
		d->qp0 = NULL;
	if (d->qp1 == qp)
		d->qp1 = NULL;
	hx_buf_free(d, &qp->buf);
	free(qp);
}

/* From any state, also of one that is not there any more. */
static enum cx_status to_rst(struct cx_dev *d, struct hx_cmd *c)
{
	struct cx_qp *qp = cx_ids_get(&d->qps, c->in_mod & HX_NUMBER);

	if (qp)
		hx_qp_free(d, qp);
	return CX_OK;
}

/* ---- moves ---- */
static void enter(struct cx_dev *d, struct cx_qp *qp, enum cx_qp_state to)
{
	enum cx_qp_state old = qp->state;

	qp->state = to;
	cx_qp_changed(d, qp, old);
}

static enum cx_status move(struct cx_dev *d, struct hx_cmd *c,
			   enum cx_qp_state from, enum cx_qp_state to,
			   uint8_t must)
{
	struct cx_qp *qp = cx_ids_get(&d->qps, c->in_mod & HX_NUMBER);
	uint8_t next[HX_QPC_BYTES];

	if (!qp)
		return CX_BAD_RES;
	if (qp->state != from)
		return CX_BAD_QP_STATE;
	memcpy(next, qp->hx_qpc, sizeof(next));
	qpc_take(d, next, c->in + HX_QPC_AT, must, hx_get(c->in, HX_OPTPAR));
	if (!qpc_ok(d, next, must))
		return CX_BAD_PARAM;
	memcpy(qp->hx_qpc, next, sizeof(next));
	qpc_load(d, qp);
	enter(d, qp, to);
	return CX_OK;
}

static enum cx_status init2init(struct cx_dev *d, struct hx_cmd *c)
{
	return move(d, c, CX_INIT, CX_INIT, 0);
}

static enum cx_status init2rtr(struct cx_dev *d, struct hx_cmd *c)
{
	return move(d, c, CX_INIT, CX_RTR, HX_TO_RTR);
}

static enum cx_status rtr2rts(struct cx_dev *d, struct hx_cmd *c)
{
	return move(d, c, CX_RTR, CX_RTS, HX_TO_RTS);
}

static enum cx_status rts2rts(struct cx_dev *d, struct hx_cmd *c)
{
	return move(d, c, CX_RTS, CX_RTS, 0);
}

static enum cx_status sqerr2rts(struct cx_dev *d, struct hx_cmd *c)
{
	return move(d, c, CX_SQER, CX_RTS, 0);
}

/* The driver says whether it wants to hear when the queue has drained. */
static enum cx_status rts2sqd(struct cx_dev *d, struct hx_cmd *c)
{
	struct cx_qp *qp = cx_ids_get(&d->qps, c->in_mod & HX_NUMBER);
	enum cx_status status = move(d, c, CX_RTS, CX_SQD, 0);

	if (!status)
		qp->req->drained = !(c->in_mod & HX_SQD_EVENT);
	return status;
}

static enum cx_status sqd2sqd(struct cx_dev *d, struct hx_cmd *c)
{
	return move(d, c, CX_SQD, CX_SQD, 0);
}

static enum cx_status sqd2rts(struct cx_dev *d, struct hx_cmd *c)
{
	return move(d, c, CX_SQD, CX_RTS, 0);
}

static enum cx_status to_err(struct cx_dev *d, struct hx_cmd *c)
{
	struct cx_qp *qp = cx_ids_get(&d->qps, c->in_mod & HX_NUMBER);

	if (!qp)
		return CX_BAD_RES;
	if (qp->state != CX_QPERR)
		enter(d, qp, CX_QPERR);
	return CX_OK;
}

/* The engines know these better than the context. */
static enum cx_status query(struct cx_dev *d, struct hx_cmd *c)
{
	const struct cx_qp *qp = cx_ids_get(&d->qps, c->in_mod & HX_NUMBER);
	uint8_t *qpc = c->out + HX_QPC_AT;
	const struct cx_req *r;

	if (!qp)
		return CX_BAD_RES;
	r = qp->req;
	memcpy(qpc, qp->hx_qpc, sizeof(qp->hx_qpc));
	hx_set(qpc, HX_QPC_STATE, qp->state == CX_SQD && r->first != r->end ?
	       HX_DRAINING : qp->state);
	if (qp->state >= CX_RTR)
		hx_set(qpc, HX_QPC_RQ_PSN, qp->resp->epsn);
	if (qp->state >= CX_RTS)
		hx_set(qpc, HX_QPC_SQ_PSN, r->psn);
	hx_set(qpc, HX_QPC_ACKED, cx_psn_add(r->una, CX_PSNS - 1));
	hx_set(qpc, HX_QPC_MSN, qp->resp->msn);
	hx_set(qpc, HX_QPC_RQ_COUNT, qp->rq_head);
	hx_set(qpc, HX_QPC_SQ_COUNT, qp->sq_head);
	return CX_OK;
}

#define MOVE(op, fn) \
	{ HX_##op, #op, fn, HX_UP, HX_QPC_AT + HX_QPC_BYTES, 0 }

const struct hx_cmd_desc hx_cmds_qp[] = {
	MOVE(RST2INIT, rst2init),
	MOVE(INIT2INIT, init2init),
	MOVE(INIT2RTR, init2rtr),
	MOVE(RTR2RTS, rtr2rts),
	MOVE(RTS2RTS, rts2rts),
	MOVE(SQERR2RTS, sqerr2rts),
	MOVE(RTS2SQD, rts2sqd),
	MOVE(SQD2SQD, sqd2sqd),
	MOVE(SQD2RTS, sqd2rts),
	{ HX_2ERR, "2ERR", to_err, HX_UP, 0, 0 },
	{ HX_2RST, "2RST", to_rst, HX_UP, 0, 0 },
	{ HX_QUERY_QP, "QUERY_QP", query, HX_UP, 0, HX_QPC_AT + HX_QPC_BYTES },
	{ 0 }
};
