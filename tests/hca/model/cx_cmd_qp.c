// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Commands on queue pairs: create with the driver's context (qpc), move
 * through the states, query, destroy. The stored context is the master copy
 * of what the driver chose; a move takes the fields that are mandatory for it
 * and those that its opt_param_mask names (opt_mask[] and optab[] of
 * mlx5_ib's qp.c), checks the whole, and translates it for the engines.
 */
#include <stdlib.h>
#include <string.h>

#include "cx_cmd.h"
#include "cx_eng.h"

#define PORT		1u
#define SQ_LOG_BB	6u
#define MTU_MIN		1u	/* IB_MTU_256 */
#define MTU_MAX		5u

/* Of qpc.rq_type (linux/mlx5/qp.h). */
enum { RQ_NON_ZERO = 0, RQ_SRQ = 1, RQ_ZERO_LEN = 3 };

/* MLX5_QP_OPTPAR_* */
enum {
	OPT_ALT_PATH = BIT(0), OPT_RRE = BIT(1), OPT_RAE = BIT(2),
	OPT_RWE = BIT(3), OPT_PKEY_INDEX = BIT(4), OPT_Q_KEY = BIT(5),
	OPT_RNR_TIMEOUT = BIT(6), OPT_PATH = BIT(7), OPT_SRA_MAX = BIT(8),
	OPT_RRA_MAX = BIT(9), OPT_PM_STATE = BIT(10),
	OPT_RETRY_COUNT = BIT(12), OPT_RNR_RETRY = BIT(13),
	OPT_ACK_TIMEOUT = BIT(14), OPT_PORT = BIT(16),
	OPT_COUNTER_SET = BIT(25),
};

/* Moves for which a field is mandatory. */
enum { TO_INIT = BIT(0), TO_RTR = BIT(1), TO_RTS = BIT(2) };

struct field {
	uint16_t off, width;
	uint8_t must;
	uint32_t opt;
};

#define F(field, must, opt) \
	{ CX_OFF(qpc, field), CX_WIDTH(qpc, field), must, opt }
#define PATH_OFF	CX_OFF(qpc, primary_address_path)
#define A(field, must, opt) \
	{ PATH_OFF + CX_OFF(ads, field), CX_WIDTH(ads, field), must, opt }
#define GID(word) \
	{ PATH_OFF + CX_OFF(ads, rgid_rip) + 32 * (word), 32, TO_RTR, OPT_PATH }

static const struct field fields[] = {
	F(pm_state, TO_INIT, OPT_PM_STATE),
	F(counter_set_id, TO_INIT, OPT_COUNTER_SET),
	F(rlky, TO_INIT, 0),
	F(q_key, TO_INIT, OPT_Q_KEY),
	F(rre, TO_INIT, OPT_RRE),
	F(rwe, TO_INIT, OPT_RWE),
	F(rae, TO_INIT, OPT_RAE),
	F(atomic_mode, TO_INIT, OPT_RAE),
	A(pkey_index, TO_INIT, OPT_PKEY_INDEX),
	A(vhca_port_num, TO_INIT, OPT_PORT),
	/* RoCE */
	A(rmac_47_32, TO_RTR, OPT_PATH),
	A(rmac_31_0, TO_RTR, OPT_PATH),
	A(udp_sport, TO_RTR, OPT_PATH),
	A(dscp, TO_RTR, OPT_PATH),
	A(ecn, TO_RTR, OPT_PATH),
	A(eth_prio, TO_RTR, OPT_PATH),
	F(mtu, TO_RTR, 0),
	F(log_msg_max, TO_RTR, 0),
	F(remote_qpn, TO_RTR, 0),
	F(next_rcv_psn, TO_RTR, 0),
	F(log_rra_max, TO_RTR, OPT_RRA_MAX),
	F(min_rnr_nak, TO_RTR, OPT_RNR_TIMEOUT),
	A(grh, TO_RTR, OPT_PATH),
	A(mlid, TO_RTR, OPT_PATH),
	A(rlid, TO_RTR, OPT_PATH),
	A(src_addr_index, TO_RTR, OPT_PATH),
	A(stat_rate, TO_RTR, OPT_PATH),
	A(hop_limit, TO_RTR, OPT_PATH),
	A(tclass, TO_RTR, OPT_PATH),
	A(flow_label, TO_RTR, OPT_PATH),
	A(sl, TO_RTR, OPT_PATH),
	GID(0), GID(1), GID(2), GID(3),
	F(next_send_psn, TO_RTS, 0),
	F(log_ack_req_freq, TO_RTS, 0),
	F(log_sra_max, TO_RTS, OPT_SRA_MAX),
	F(retry_count, TO_RTS, OPT_RETRY_COUNT),
	F(rnr_retry, TO_RTS, OPT_RNR_RETRY),
	A(ack_timeout, TO_RTS, OPT_ACK_TIMEOUT),
};

#define EACH_FIELD(f) \
	for (f = fields; f < fields + sizeof(fields) / sizeof(fields[0]); f++)

/* ---- the context ---- */
static void qpc_clear(uint8_t *qpc)
{
	const struct field *f;

	EACH_FIELD(f)
		cx_bits_set(qpc, f->off, f->width, 0);
	memset(CX_ADDR(qpc, qpc, secondary_address_path), 0, CX_BYTES(ads));
}

static void qpc_take(uint8_t *qpc, const uint8_t *from, uint8_t must,
		     uint32_t opt)
{
	const struct field *f;

	EACH_FIELD(f)
		if ((f->must & must) || (f->opt & opt))
			cx_bits_set(qpc, f->off, f->width,
				    cx_bits_get(from, f->off, f->width));
	if (opt & OPT_ALT_PATH)
		memcpy(CX_ADDR(qpc, qpc, secondary_address_path),
		       CX_ADDR(qpc, from, secondary_address_path),
		       CX_BYTES(ads));
}

static bool qpc_ok(const uint8_t *qpc, uint8_t must, bool eth)
{
	const uint8_t *path = CX_ADDR(qpc, qpc, primary_address_path);
	uint32_t mtu = CX_GET(qpc, qpc, mtu);

	if (CX_GET(ads, path, pkey_index) >= CX_PKEYS ||
	    CX_GET(ads, path, vhca_port_num) > PORT)
		return false;
	if (CX_GET(ads, path, grh) && !eth &&
	    CX_GET(ads, path, src_addr_index) >= CX_GIDS)
		return false;
	if (CX_GET(qpc, qpc, log_rra_max) > CX_LOG_READS ||
	    CX_GET(qpc, qpc, log_sra_max) > CX_LOG_READS)
		return false;
	return !(must & TO_RTR) ||
	       (mtu >= MTU_MIN && mtu <= MTU_MAX &&
		1ULL << CX_GET(qpc, qpc, log_msg_max) <= CX_MAX_MSG);
}

static void load_path(struct cx_qp *qp)
{
	const uint8_t *path = CX_ADDR(qpc, qp->qpc, primary_address_path);
	struct cx_av *av = &qp->av;

	av->dlid = CX_GET(ads, path, rlid);
	av->slid_bits = CX_GET(ads, path, mlid);
	av->sl = CX_GET(ads, path, sl);
	av->tclass = CX_GET(ads, path, tclass);
	av->hop = CX_GET(ads, path, hop_limit);
	av->grh = CX_GET(ads, path, grh);
	av->sgid_index = CX_GET(ads, path, src_addr_index);
	av->flow = CX_GET(ads, path, flow_label);
	memcpy(av->dgid, CX_ADDR(ads, path, rgid_rip), sizeof(av->dgid));
	memcpy(av->dmac, CX_ADDR(ads, path, rmac_47_32), sizeof(av->dmac));
	av->eth_prio = CX_GET(ads, path, eth_prio);
	av->sport = CX_GET(ads, path, udp_sport);
	qp->pkey_index = CX_GET(ads, path, pkey_index);
	qp->ack_timeout = CX_GET(ads, path, ack_timeout);
}

/* What a move may have changed, for the engines. */
static void qpc_load(struct cx_qp *qp)
{
	const uint8_t *qpc = qp->qpc;

	qp->mtu = 7 + CX_GET(qpc, qpc, mtu);
	qp->rre = CX_GET(qpc, qpc, rre);
	qp->rwe = CX_GET(qpc, qpc, rwe);
	qp->rae = CX_GET(qpc, qpc, rae);
	qp->log_sra_max = CX_GET(qpc, qpc, log_sra_max);
	qp->log_rra_max = CX_GET(qpc, qpc, log_rra_max);
	qp->retry_count = CX_GET(qpc, qpc, retry_count);
	qp->rnr_retry = CX_GET(qpc, qpc, rnr_retry);
	qp->min_rnr_nak = CX_GET(qpc, qpc, min_rnr_nak);
	qp->qkey = CX_GET(qpc, qpc, q_key);
	qp->remote_qpn = CX_GET(qpc, qpc, remote_qpn);
	qp->next_send_psn = CX_GET(qpc, qpc, next_send_psn);
	qp->next_rcv_psn = CX_GET(qpc, qpc, next_rcv_psn);
	qp->counter_set = CX_GET(qpc, qpc, counter_set_id);
	load_path(qp);
}

/* ---- create, destroy ---- */
/* Queues of a network driver have numbers among those of QPs. */
static struct cx_qp *get_qp(struct cx_dev *d, uint32_t n)
{
	struct cx_qp *qp = cx_ids_get(&d->qps, n);

	return qp && qp->st < CX_ST_SQ ? qp : NULL;
}

static bool st_ok(enum cx_st st)
{
	switch (st) {
	case CX_ST_RC:
	case CX_ST_UC:
	case CX_ST_UD:
	case CX_ST_XRC:
	case CX_ST_QP0:
	case CX_ST_QP1:
	case CX_ST_UMR:
		return true;
	default:
		return false;
	}
}

/* What stays the same until the QP is destroyed. */
static enum cx_status qpc_parse(struct cx_qp *qp, const uint8_t *qpc)
{
	uint32_t rq = CX_GET(qpc, qpc, rq_type);

	qp->st = CX_GET(qpc, qpc, st);
	qp->pd = CX_GET(qpc, qpc, pd);
	qp->xrcd = CX_GET(qpc, qpc, xrcd);
	qp->cqn_snd = CX_GET(qpc, qpc, cqn_snd);
	qp->cqn_rcv = CX_GET(qpc, qpc, cqn_rcv);
	qp->uar = CX_GET(qpc, qpc, uar_page);
	qp->user_index = CX_GET(qpc, qpc, user_index);
	qp->dbr = CX_GET64(qpc, qpc, dbr_addr);
	qp->has_sq = !CX_GET(qpc, qpc, no_sq);
	qp->rndv = CX_GET(qpc, qpc, offload_type) == MLX5_QPC_OFFLOAD_TYPE_RNDV;
	qp->has_rq = rq == RQ_NON_ZERO;
	qp->log_rq = CX_GET(qpc, qpc, log_rq_size);
	qp->log_rq_stride = CX_GET(qpc, qpc, log_rq_stride) + 4;
	qp->rq_skip = CX_GET(qpc, qpc, wq_signature);
	qp->log_sq = CX_GET(qpc, qpc, log_sq_size);
	qp->block_lb_mc = CX_GET(qpc, qpc, block_lb_mc);
	/* XRC takes its SRQ from the packet; the one here is of no use. */
	qp->srqn = rq == RQ_SRQ && qp->st != CX_ST_XRC ?
		   CX_GET(qpc, qpc, srqn_rmpn_xrqn) : CX_NONE;
	if (!st_ok(qp->st) || qp->dbr % 8 || qp->log_sq > CX_LOG_QP_SZ ||
	    (rq != RQ_NON_ZERO && rq != RQ_SRQ && rq != RQ_ZERO_LEN) ||
	    (qp->has_rq && (qp->log_rq > CX_LOG_QP_SZ ||
			    qp->log_rq_stride > CX_LOG_RQ_STRIDE)))
		return CX_BAD_PARAM;
	return CX_OK;
}

/*
 * Fields that refer to nothing, where nothing is needed, become CX_NONE. A UMR
 * QP has no protection domain, an XRC target no UAR page.
 */
static enum cx_status qp_refs_ok(struct cx_dev *d, struct cx_qp *qp)
{
	const struct cx_srq *srq = cx_ids_get(&d->srqs, qp->srqn);
	bool receives = qp->has_rq || qp->srqn != CX_NONE;

	if (qp->st == CX_ST_UMR)
		qp->pd = CX_NONE;
	else if (!cx_pd(d, qp->pd))
		return CX_BAD_RES;
	if (qp->st != CX_ST_XRC)
		qp->xrcd = CX_NONE;
	else if (!cx_xrcd(d, qp->xrcd))
		return CX_BAD_RES;
	if (qp->srqn != CX_NONE && (!srq || srq->kind == CX_SRQ_XRC))
		return CX_BAD_RES;
	if (srq && srq->kind == CX_SRQ_TM && qp->st != CX_ST_RC)
		return CX_BAD_PARAM;
	if (qp->rndv && (qp->has_sq || !srq || srq->kind != CX_SRQ_TM))
		return CX_BAD_PARAM;
	if (!cx_uar(d, qp->uar)) {
		if (qp->has_sq)
			return CX_BAD_RES;
		qp->uar = CX_NONE;
	}
	if (!cx_ids_get(&d->cqs, qp->cqn_snd)) {
		if (qp->has_sq)
			return CX_BAD_RES;
		qp->cqn_snd = CX_NONE;
	}
	if (!cx_ids_get(&d->cqs, qp->cqn_rcv)) {
		if (receives)
			return CX_BAD_RES;
		qp->cqn_rcv = CX_NONE;
	}
	return CX_OK;
}

/* Takes (1) or drops (-1) the references. */
static void qp_refs(struct cx_dev *d, const struct cx_qp *qp, int by)
{
	struct cx_tis *tis = cx_ids_get(&d->tises, qp->tis);
	struct cx_ref *refs[] = { cx_pd(d, qp->pd), cx_xrcd(d, qp->xrcd),
				  cx_uar(d, qp->uar) };
	struct cx_cq *cqs[] = { cx_ids_get(&d->cqs, qp->cqn_snd),
				cx_ids_get(&d->cqs, qp->cqn_rcv) };
	struct cx_srq *srq = cx_ids_get(&d->srqs, qp->srqn);
	unsigned int i;

	for (i = 0; i < 3; i++)
		if (refs[i])
			refs[i]->users += by;
	for (i = 0; i < 2; i++)
		if (cqs[i])
			cqs[i]->users += by;
	if (srq)
		srq->users += by;
	if (tis)
		tis->users += by;
}

/* QP0 and QP1 there are once, and under these numbers. */
static enum cx_status qp_number(struct cx_dev *d, struct cx_qp *qp)
{
	if (qp->st == CX_ST_QP0 || qp->st == CX_ST_QP1) {
		qp->qpn = qp->st == CX_ST_QP1;
		if (cx_ids_get(&d->qps, qp->qpn))
			return CX_RES_BUSY;
		if (!cx_ids_put(&d->qps, qp->qpn, qp))
			return CX_LIM;
		if (qp->st == CX_ST_QP0)
			d->qp0 = qp;
		else
			d->qp1 = qp;
		return CX_OK;
	}
	if (d->qps.used >= 1u << d->log_max_qp)
		return CX_LIM;
	qp->qpn = cx_ids_add(&d->qps, qp);
	return qp->qpn == CX_NONE ? CX_LIM : CX_OK;
}

static enum cx_status qp_buf(struct cx_dev *d, struct cx_qp *qp,
			     const struct cx_cmd *c, const uint8_t *qpc)
{
	uint64_t size;

	if (CX_GET(create_qp_in, c->in, wq_umem_valid))
		return CX_BAD_PARAM;
	qp->sq_off = qp->has_rq ? 1ULL << (qp->log_rq + qp->log_rq_stride) : 0;
	size = qp->sq_off;
	if (qp->has_sq)
		size += 1ULL << (qp->log_sq + SQ_LOG_BB);
	return cx_queue_buf(d, &qp->buf, c, CX_BYTES(create_qp_in),
			    CX_GET(qpc, qpc, log_page_size),
			    CX_GET(qpc, qpc, page_offset), size);
}

enum cx_status cx_qp_add(struct cx_dev *d, struct cx_qp *qp)
{
	enum cx_status status;

	status = cx_qp_start(d, qp) ? CX_LIM : qp_number(d, qp);
	if (status) {
		cx_qp_stop(d, qp);
		cx_queue_buf_free(d, &qp->buf);
		return status;
	}
	qp_refs(d, qp, 1);
	return CX_OK;
}

static enum cx_status qp_init(struct cx_dev *d, struct cx_qp *qp,
			      const struct cx_cmd *c)
{
	const uint8_t *qpc = CX_ADDR(create_qp_in, c->in, qpc);
	enum cx_status status = qpc_parse(qp, qpc);

	if (!status)
		status = qp_refs_ok(d, qp);
	if (!status)
		status = qp_buf(d, qp, c, qpc);
	if (status)
		return status;
	memcpy(qp->qpc, qpc, sizeof(qp->qpc));
	qpc_clear(qp->qpc);
	qpc_load(qp);
	qp->tis = CX_NONE;
	return cx_qp_add(d, qp);
}

static enum cx_status create_qp(struct cx_dev *d, struct cx_cmd *c)
{
	struct cx_qp *qp = calloc(1, sizeof(*qp));
	enum cx_status status = qp ? qp_init(d, qp, c) : CX_LIM;

	if (status) {
		free(qp);
		return status;
	}
	CX_SET(create_qp_out, c->out, qpn, qp->qpn);
	return CX_OK;
}

void cx_qp_free(struct cx_dev *d, struct cx_qp *qp)
{
	cx_mcg_forget(d, qp);
	cx_qp_stop(d, qp);
	qp_refs(d, qp, -1);
	cx_ids_del(&d->qps, qp->qpn);
	if (d->qp0 == qp)
		d->qp0 = NULL;
	if (d->qp1 == qp)
		d->qp1 = NULL;
	cx_queue_buf_free(d, &qp->buf);
	free(qp);
}

static enum cx_status destroy_qp(struct cx_dev *d, struct cx_cmd *c)
{
	struct cx_qp *qp = get_qp(d, CX_GET(destroy_qp_in, c->in, qpn));

	if (!qp)
		return CX_BAD_RES;
	cx_qp_free(d, qp);
	return CX_OK;
}

/* What the engines know better: PSNs, counters. */
static void tell_engines(const struct cx_qp *qp, void *qpc)
{
	const struct cx_req *r = qp->req;
	bool draining = qp->state == CX_SQD && r->first != r->end;

	/* MLX5_QP_STATE_SQ_DRAINING */
	CX_SET(qpc, qpc, state, draining ? 7 : qp->state);
	CX_SET(qpc, qpc, next_rcv_psn, qp->state < CX_RTR ?
	       qp->next_rcv_psn : qp->resp->epsn);
	CX_SET(qpc, qpc, next_send_psn, qp->state < CX_RTS ?
	       qp->next_send_psn : r->psn);
	CX_SET(qpc, qpc, last_acked_psn, cx_psn_add(r->una, CX_PSNS - 1));
	CX_SET(qpc, qpc, rmsn, qp->resp->msn);
	CX_SET(qpc, qpc, cur_retry_count, qp->retry_count -
	       (r->retries < qp->retry_count ? r->retries : qp->retry_count));
	CX_SET(qpc, qpc, hw_sq_wqebb_counter, qp->sq_head);
	CX_SET(qpc, qpc, sw_sq_wqebb_counter, qp->sq_pi);
	CX_SET(qpc, qpc, hw_rq_counter, qp->rq_head);
	CX_SET(qpc, qpc, sw_rq_counter, qp->resp->rq_pi);
}

static enum cx_status query_qp(struct cx_dev *d, struct cx_cmd *c)
{
	const struct cx_qp *qp = get_qp(d, CX_GET(query_qp_in, c->in, qpn));
	uint8_t *qpc = CX_ADDR(query_qp_out, c->out, qpc);

	if (!qp)
		return CX_BAD_RES;
	memcpy(qpc, qp->qpc, sizeof(qp->qpc));
	CX_SET(qpc, qpc, state, qp->state);
	tell_engines(qp, qpc);
	return CX_OK;
}

/* ---- moves ---- */
/* All these commands are laid out alike. */
_Static_assert(CX_OFF(init2rtr_qp_in, qpc) == CX_OFF(rst2init_qp_in, qpc) &&
	       CX_OFF(init2rtr_qp_in, qpc) == CX_OFF(rtr2rts_qp_in, qpc) &&
	       CX_OFF(init2rtr_qp_in, qpc) == CX_OFF(sqd2rts_qp_in, qpc) &&
	       CX_OFF(init2rtr_qp_in, qpc) == CX_OFF(sqerr2rts_qp_in, qpc) &&
	       CX_OFF(init2rtr_qp_in, qpn) == CX_OFF(qp_2rst_in, qpn),
	       "one layout");
#define IN_QPN(c)	CX_GET(init2rtr_qp_in, (c)->in, qpn)

static void enter(struct cx_dev *d, struct cx_qp *qp, enum cx_qp_state to)
{
	enum cx_qp_state old = qp->state;

	qp->state = to;
	cx_qp_changed(d, qp, old);
}

static enum cx_status move(struct cx_dev *d, struct cx_cmd *c,
			   enum cx_qp_state from, enum cx_qp_state to,
			   uint8_t must)
{
	const uint8_t *qpc = CX_ADDR(init2rtr_qp_in, c->in, qpc);
	struct cx_qp *qp = get_qp(d, IN_QPN(c));
	uint8_t next[CX_BYTES(qpc)];

	if (!qp)
		return CX_BAD_RES;
	if (qp->state != from)
		return CX_BAD_QP_STATE;
	if (CX_GET(qpc, qpc, st) != qp->st)
		return CX_BAD_PARAM;
	memcpy(next, qp->qpc, sizeof(next));
	qpc_take(next, qpc, must,
		 CX_GET(init2rtr_qp_in, c->in, opt_param_mask));
	if (!qpc_ok(next, must, d->config.eth))
		return CX_BAD_PARAM;
	memcpy(qp->qpc, next, sizeof(next));
	qpc_load(qp);
	enter(d, qp, to);
	return CX_OK;
}

static enum cx_status rst2init(struct cx_dev *d, struct cx_cmd *c)
{
	return move(d, c, CX_RST, CX_INIT, TO_INIT);
}

static enum cx_status init2init(struct cx_dev *d, struct cx_cmd *c)
{
	return move(d, c, CX_INIT, CX_INIT, 0);
}

static enum cx_status init2rtr(struct cx_dev *d, struct cx_cmd *c)
{
	return move(d, c, CX_INIT, CX_RTR, TO_RTR);
}

static enum cx_status rtr2rts(struct cx_dev *d, struct cx_cmd *c)
{
	return move(d, c, CX_RTR, CX_RTS, TO_RTS);
}

static enum cx_status rts2rts(struct cx_dev *d, struct cx_cmd *c)
{
	return move(d, c, CX_RTS, CX_RTS, 0);
}

static enum cx_status sqerr2rts(struct cx_dev *d, struct cx_cmd *c)
{
	return move(d, c, CX_SQER, CX_RTS, 0);
}

static enum cx_status sqd2rts(struct cx_dev *d, struct cx_cmd *c)
{
	return move(d, c, CX_SQD, CX_RTS, 0);
}

static enum cx_status qp_2rst(struct cx_dev *d, struct cx_cmd *c)
{
	struct cx_qp *qp = get_qp(d, IN_QPN(c));

	if (!qp)
		return CX_BAD_RES;
	qpc_clear(qp->qpc);
	qpc_load(qp);
	enter(d, qp, CX_RST);
	return CX_OK;
}

static enum cx_status qp_2err(struct cx_dev *d, struct cx_cmd *c)
{
	struct cx_qp *qp = get_qp(d, IN_QPN(c));

	if (!qp)
		return CX_BAD_RES;
	if (qp->state != CX_QPERR)
		enter(d, qp, CX_QPERR);
	return CX_OK;
}

const struct cx_cmd_desc cx_cmds_qp[] = {
	CX_CMD(CREATE_QP, create_qp, create_qp),
	CX_CMD(DESTROY_QP, destroy_qp, destroy_qp),
	CX_CMD(QUERY_QP, query_qp, query_qp),
	CX_CMD(RST2INIT_QP, rst2init, rst2init_qp),
	CX_CMD(INIT2INIT_QP, init2init, init2init_qp),
	CX_CMD(INIT2RTR_QP, init2rtr, init2rtr_qp),
	CX_CMD(RTR2RTS_QP, rtr2rts, rtr2rts_qp),
	CX_CMD(RTS2RTS_QP, rts2rts, rts2rts_qp),
	CX_CMD(SQERR2RTS_QP, sqerr2rts, sqerr2rts_qp),
	CX_CMD(SQD_RTS_QP, sqd2rts, sqd2rts_qp),
	CX_CMD(2ERR_QP, qp_2err, qp_2err),
	CX_CMD(2RST_QP, qp_2rst, qp_2rst),
	{ 0 }
};
