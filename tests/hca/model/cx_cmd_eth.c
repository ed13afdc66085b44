// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Commands on what a network driver sends and receives by: SQ and RQ, that
 * the engines know as queue pairs with one half (they share their numbers with
 * queue pairs, but no command of those takes one), TIS, TIR and RQT. Contexts
 * are those of mlx5e; what the capabilities do not announce is refused.
 */
#include <stdlib.h>
#include <string.h>

#include "cx_cmd.h"

#define LOG_STRIDE_MIN	4u
#define LOG_STRIDE_SQ	6u

/* Of SQs and RQs, MLX5_SQC_STATE_*, MLX5_RQC_STATE_*. */
enum wq_state { WQ_RST = 0, WQ_RDY = 1, WQ_ERR = 3 };

/* ---- SQ, RQ ---- */
static struct cx_qp *get_wq(struct cx_dev *d, uint32_t n, enum cx_st st)
{
	struct cx_qp *qp = cx_ids_get(&d->qps, n);

	return qp && qp->st == st ? qp : NULL;
}

static enum wq_state wq_state(const struct cx_qp *qp)
{
	return qp->state == CX_RST ? WQ_RST :
	       qp->state == CX_QPERR ? WQ_ERR : WQ_RDY;
}

/* Both contexts end alike, with a work queue. */
static enum cx_status wq_parse(struct cx_dev *d, struct cx_qp *qp,
			       const struct cx_cmd *c, const uint8_t *wq)
{
	uint32_t stride = CX_GET(wq, wq, log_wq_stride);
	uint32_t log = CX_GET(wq, wq, log_wq_sz);

	qp->pd = CX_GET(wq, wq, pd);
	qp->dbr = CX_GET64(wq, wq, dbr_addr);
	if (CX_GET(wq, wq, wq_type) != MLX5_WQ_WQ_TYPE_WQ_CYCLIC ||
	    CX_GET(wq, wq, wq_signature) || CX_GET(wq, wq, wq_umem_valid) ||
	    CX_GET(wq, wq, dbr_umem_valid) || qp->dbr % 8 ||
	    log > CX_LOG_QP_SZ || stride < LOG_STRIDE_MIN ||
	    stride > CX_LOG_RQ_STRIDE)
		return CX_BAD_PARAM;
	return cx_queue_buf(d, &qp->buf, c,
			    (size_t)(wq - c->in) + CX_OFF(wq, pas) / 8,
			    CX_GET(wq, wq, log_wq_pg_sz),
			    CX_GET(wq, wq, page_offset), 1ULL << (log + stride));
}

static enum cx_status sq_parse(struct cx_dev *d, struct cx_qp *qp,
			       const struct cx_cmd *c)
{
	const uint8_t *sqc = CX_ADDR(create_sq_in, c->in, ctx);
	const uint8_t *wq = CX_ADDR(sqc, sqc, wq);
	uint32_t lists = CX_GET(sqc, sqc, tis_lst_sz);

	qp->st = CX_ST_SQ;
	qp->has_sq = true;
	qp->log_sq = CX_GET(wq, wq, log_wq_sz);
	qp->uar = CX_GET(wq, wq, uar_page);
	qp->user_index = CX_GET(sqc, sqc, user_index);
	qp->cqn_snd = CX_GET(sqc, sqc, cqn);
	qp->cqn_rcv = CX_NONE;
	qp->tis = lists ? CX_GET(sqc, sqc, tis_num_0) : CX_NONE;
	if (CX_GET(sqc, sqc, state) != WQ_RST || lists > 1 ||
	    CX_GET(sqc, sqc, hairpin) || CX_GET(sqc, sqc, reg_umr) ||
	    CX_GET(sqc, sqc, allow_multi_pkt_send_wqe) ||
	    CX_GET(wq, wq, log_wq_stride) != LOG_STRIDE_SQ)
		return CX_BAD_PARAM;
	if (!cx_uar(d, qp->uar) || !cx_ids_get(&d->cqs, qp->cqn_snd) ||
	    (lists && !cx_ids_get(&d->tises, qp->tis)) ||
	    !cx_pd(d, CX_GET(wq, wq, pd)))
		return CX_BAD_RES;
	return wq_parse(d, qp, c, wq);
}

/* An RQ that drops what it gets has no protection domain, and no entries. */
static enum cx_status rq_parse(struct cx_dev *d, struct cx_qp *qp,
			       const struct cx_cmd *c)
{
	const uint8_t *rqc = CX_ADDR(create_rq_in, c->in, ctx);
	const uint8_t *wq = CX_ADDR(rqc, rqc, wq);

	qp->st = CX_ST_RQ;
	qp->has_rq = true;
	qp->log_rq = CX_GET(wq, wq, log_wq_sz);
	qp->log_rq_stride = CX_GET(wq, wq, log_wq_stride);
	qp->uar = CX_NONE;
	qp->user_index = CX_GET(rqc, rqc, user_index);
	qp->cqn_snd = CX_NONE;
	qp->cqn_rcv = CX_GET(rqc, rqc, cqn);
	qp->tis = CX_NONE;
	qp->counter_set = CX_GET(rqc, rqc, counter_set_id);
	qp->keep_vlan = CX_GET(rqc, rqc, vsd);
	if (CX_GET(rqc, rqc, state) != WQ_RST ||
	    CX_GET(rqc, rqc, mem_rq_type) || CX_GET(rqc, rqc, hairpin) ||
	    CX_GET(rqc, rqc, scatter_fcs))
		return CX_BAD_PARAM;
	if (!cx_ids_get(&d->cqs, qp->cqn_rcv) ||
	    (CX_GET(wq, wq, pd) && !cx_pd(d, CX_GET(wq, wq, pd))))
		return CX_BAD_RES;
	return wq_parse(d, qp, c, wq);
}

static enum cx_status create_wq(struct cx_dev *d, struct cx_cmd *c,
				enum cx_status (*parse)(struct cx_dev *,
							struct cx_qp *,
							const struct cx_cmd *))
{
	struct cx_qp *qp = calloc(1, sizeof(*qp));
	enum cx_status status = qp ? CX_OK : CX_LIM;

	if (!status) {
		qp->srqn = qp->xrcd = CX_NONE;
		status = parse(d, qp, c);
	}
	if (!status)
		status = cx_qp_add(d, qp);
	if (status) {
		free(qp);
		return status;
	}
	CX_SET(create_sq_out, c->out, sqn, qp->qpn);
	return CX_OK;
}

static enum cx_status create_sq(struct cx_dev *d, struct cx_cmd *c)
{
	return create_wq(d, c, sq_parse);
}

static enum cx_status create_rq(struct cx_dev *d, struct cx_cmd *c)
{
	return create_wq(d, c, rq_parse);
}

/* All of these commands have the number at one place. */
_Static_assert(CX_OFF(modify_sq_in, sqn) == CX_OFF(modify_rq_in, rqn) &&
	       CX_OFF(modify_sq_in, sq_state) == CX_OFF(modify_rq_in, rq_state) &&
	       CX_OFF(modify_sq_in, ctx) == CX_OFF(modify_rq_in, ctx) &&
	       CX_OFF(sqc, state) == CX_OFF(rqc, state) &&
	       CX_OFF(destroy_sq_in, sqn) == CX_OFF(modify_sq_in, sqn) &&
	       CX_OFF(destroy_rq_in, rqn) == CX_OFF(modify_sq_in, sqn) &&
	       CX_OFF(query_sq_in, sqn) == CX_OFF(modify_sq_in, sqn) &&
	       CX_OFF(query_rq_in, rqn) == CX_OFF(modify_sq_in, sqn) &&
	       CX_OFF(create_sq_out, sqn) == CX_OFF(create_rq_out, rqn),
	       "one layout");
#define IN_WQN(c)	CX_GET(modify_sq_in, (c)->in, sqn)

static bool may_move(enum wq_state from, uint32_t to)
{
	switch (to) {
	case WQ_RST:
		return true;
	case WQ_RDY:
		return from != WQ_ERR;
	case WQ_ERR:
		return from == WQ_RDY;
	default:
		return false;
	}
}

static enum cx_status move_wq(struct cx_dev *d, struct cx_cmd *c,
			      struct cx_qp *qp, enum cx_qp_state ready)
{
	uint32_t to = CX_GET(sqc, CX_ADDR(modify_sq_in, c->in, ctx), state);
	enum cx_qp_state old = qp->state;

	if (CX_GET(modify_sq_in, c->in, sq_state) != wq_state(qp) ||
	    !may_move(wq_state(qp), to))
		return CX_BAD_RES_STATE;
	if (to == wq_state(qp))
		return CX_OK;
	qp->state = to == WQ_RST ? CX_RST : to == WQ_RDY ? ready : CX_QPERR;
	cx_qp_changed(d, qp, old);
	return CX_OK;
}

static enum cx_status modify_sq(struct cx_dev *d, struct cx_cmd *c)
{
	struct cx_qp *qp = get_wq(d, IN_WQN(c), CX_ST_SQ);

	if (!qp)
		return CX_BAD_RES;
	if (CX_GET64(modify_sq_in, c->in, modify_bitmask))
		return CX_BAD_PARAM;	/* rates, groups */
	return move_wq(d, c, qp, CX_RTS);
}

static enum cx_status modify_rq(struct cx_dev *d, struct cx_cmd *c)
{
	const uint8_t *rqc = CX_ADDR(modify_rq_in, c->in, ctx);
	uint64_t fields = CX_GET64(modify_rq_in, c->in, modify_bitmask);
	struct cx_qp *qp = get_wq(d, IN_WQN(c), CX_ST_RQ);
	enum cx_status status;

	if (!qp)
		return CX_BAD_RES;
	if (fields & ~(MLX5_MODIFY_RQ_IN_MODIFY_BITMASK_VSD |
		       MLX5_MODIFY_RQ_IN_MODIFY_BITMASK_RQ_COUNTER_SET_ID))
		return CX_BAD_PARAM;
	status = move_wq(d, c, qp, CX_RTR);
	if (status)
		return status;
	if (fields & MLX5_MODIFY_RQ_IN_MODIFY_BITMASK_VSD)
		qp->keep_vlan = CX_GET(rqc, rqc, vsd);
	if (fields & MLX5_MODIFY_RQ_IN_MODIFY_BITMASK_RQ_COUNTER_SET_ID)
		qp->counter_set = CX_GET(rqc, rqc, counter_set_id);
	return CX_OK;
}

static void query_wq(const struct cx_qp *qp, uint8_t *wq)
{
	CX_SET(wq, wq, wq_type, MLX5_WQ_WQ_TYPE_WQ_CYCLIC);
	CX_SET(wq, wq, pd, qp->pd);
	CX_SET64(wq, wq, dbr_addr, qp->dbr);
	CX_SET(wq, wq, page_offset, cx_queue_page_offset(&qp->buf));
	CX_SET(wq, wq, log_wq_pg_sz, cx_queue_log_page(&qp->buf));
}

static enum cx_status query_sq(struct cx_dev *d, struct cx_cmd *c)
{
	const struct cx_qp *qp = get_wq(d, IN_WQN(c), CX_ST_SQ);
	uint8_t *sqc = CX_ADDR(query_sq_out, c->out, sq_context);
	uint8_t *wq = CX_ADDR(sqc, sqc, wq);

	if (!qp)
		return CX_BAD_RES;
	CX_SET(sqc, sqc, state, wq_state(qp));
	CX_SET(sqc, sqc, user_index, qp->user_index);
	CX_SET(sqc, sqc, cqn, qp->cqn_snd);
	CX_SET(sqc, sqc, tis_lst_sz, qp->tis != CX_NONE);
	CX_SET(sqc, sqc, tis_num_0, qp->tis == CX_NONE ? 0 : qp->tis);
	query_wq(qp, wq);
	CX_SET(wq, wq, uar_page, qp->uar);
	CX_SET(wq, wq, log_wq_stride, LOG_STRIDE_SQ);
	CX_SET(wq, wq, log_wq_sz, qp->log_sq);
	CX_SET(wq, wq, hw_counter, qp->sq_head);
	CX_SET(wq, wq, sw_counter, qp->sq_pi);
	return CX_OK;
}

static enum cx_status query_rq(struct cx_dev *d, struct cx_cmd *c)
{
	const struct cx_qp *qp = get_wq(d, IN_WQN(c), CX_ST_RQ);
	uint8_t *rqc = CX_ADDR(query_rq_out, c->out, rq_context);
	uint8_t *wq = CX_ADDR(rqc, rqc, wq);

	if (!qp)
		return CX_BAD_RES;
	CX_SET(rqc, rqc, state, wq_state(qp));
	CX_SET(rqc, rqc, vsd, qp->keep_vlan);
	CX_SET(rqc, rqc, user_index, qp->user_index);
	CX_SET(rqc, rqc, cqn, qp->cqn_rcv);
	CX_SET(rqc, rqc, counter_set_id, qp->counter_set);
	query_wq(qp, wq);
	CX_SET(wq, wq, log_wq_stride, qp->log_rq_stride);
	CX_SET(wq, wq, log_wq_sz, qp->log_rq);
	CX_SET(wq, wq, hw_counter, qp->rq_head);
	return CX_OK;
}

static enum cx_status destroy_wq(struct cx_dev *d, struct cx_qp *qp)
{
	if (!qp)
		return CX_BAD_RES;
	if (qp->users)
		return CX_BAD_RES_STATE;
	cx_qp_free(d, qp);
	return CX_OK;
}

static enum cx_status destroy_sq(struct cx_dev *d, struct cx_cmd *c)
{
	return destroy_wq(d, get_wq(d, IN_WQN(c), CX_ST_SQ));
}

static enum cx_status destroy_rq(struct cx_dev *d, struct cx_cmd *c)
{
	return destroy_wq(d, get_wq(d, IN_WQN(c), CX_ST_RQ));
}

/* ---- numbers for objects ---- */
static struct cx_ref *td(struct cx_dev *d, uint32_t n)
{
	return cx_ids_get(&d->tds, n);
}

/* Gives an object its number, or frees it. */
static enum cx_status add(struct cx_ids *ids, void *obj, uint32_t *n)
{
	*n = cx_ids_add(ids, obj);
	if (*n != CX_NONE)
		return CX_OK;
	free(obj);
	return CX_LIM;
}

/* ---- TIS ---- */
static enum cx_status create_tis(struct cx_dev *d, struct cx_cmd *c)
{
	const uint8_t *tisc = CX_ADDR(create_tis_in, c->in, ctx);
	uint32_t domain = CX_GET(tisc, tisc, transport_domain), n;
	struct cx_tis *tis;

	if (CX_GET(tisc, tisc, tls_en) || CX_GET(tisc, tisc, underlay_qpn))
		return CX_BAD_PARAM;
	if (!td(d, domain))
		return CX_BAD_RES;
	tis = calloc(1, sizeof(*tis));
	if (!tis)
		return CX_LIM;
	tis->td = domain;
	tis->prio = CX_GET(tisc, tisc, prio);
	if (add(&d->tises, tis, &n))
		return CX_LIM;
	td(d, domain)->users++;
	CX_SET(create_tis_out, c->out, tisn, n);
	return CX_OK;
}

static enum cx_status modify_tis(struct cx_dev *d, struct cx_cmd *c)
{
	struct cx_tis *tis = cx_ids_get(&d->tises, CX_GET(modify_tis_in, c->in,
							  tisn));

	if (!tis)
		return CX_BAD_RES;
	if (CX_GET(modify_tis_in, c->in, bitmask.prio))
		tis->prio = CX_GET(modify_tis_in, c->in, ctx.prio);
	return CX_OK;
}

static void tis_free(struct cx_dev *d, uint32_t n, struct cx_tis *tis)
{
	td(d, tis->td)->users--;
	cx_ids_del(&d->tises, n);
	free(tis);
}

static enum cx_status destroy_tis(struct cx_dev *d, struct cx_cmd *c)
{
	uint32_t n = CX_GET(destroy_tis_in, c->in, tisn);
	struct cx_tis *tis = cx_ids_get(&d->tises, n);

	if (!tis)
		return CX_BAD_RES;
	if (tis->users)
		return CX_BAD_RES_STATE;
	tis_free(d, n, tis);
	return CX_OK;
}

/* ---- RQT ---- */
static void rqt_refs(struct cx_dev *d, const struct cx_rqt *t, int by)
{
	uint32_t i;

	for (i = 0; i < t->nr; i++)
		get_wq(d, t->rqn[i], CX_ST_RQ)->users += by;
}

/* The list of a context, that is the end of a command, at octet at. */
static enum cx_status rqt_fill(struct cx_dev *d, struct cx_rqt *t,
			       const struct cx_cmd *c, size_t at)
{
	const uint8_t *rqtc = c->in + at;
	const size_t head = CX_OFF(rqtc, rq_num) / 8;
	uint32_t nr = CX_GET(rqtc, rqtc, rqt_actual_size), i;

	if (!nr || nr > t->max)
		return CX_BAD_PARAM;
	if (c->in_len < at + head + 4 * (size_t)nr)
		return CX_BAD_INP_LEN;
	for (i = 0; i < nr; i++) {
		t->rqn[i] = cx_be32_get(rqtc + head + 4 * i) & 0xffffff;
		if (!get_wq(d, t->rqn[i], CX_ST_RQ))
			return CX_BAD_RES;
	}
	t->nr = nr;
	return CX_OK;
}

static enum cx_status create_rqt(struct cx_dev *d, struct cx_cmd *c)
{
	const uint8_t *rqtc = CX_ADDR(create_rqt_in, c->in, rqt_context);
	struct cx_rqt *t = calloc(1, sizeof(*t));
	enum cx_status status;
	uint32_t n;

	if (!t)
		return CX_LIM;
	t->max = CX_GET(rqtc, rqtc, rqt_max_size);
	status = t->max > 1u << CX_LOG_RQT || CX_GET(rqtc, rqtc, list_q_type) ?
		 CX_BAD_PARAM : rqt_fill(d, t, c, (size_t)(rqtc - c->in));
	if (status) {
		free(t);
		return status;
	}
	if (add(&d->rqts, t, &n))
		return CX_LIM;
	rqt_refs(d, t, 1);
	CX_SET(create_rqt_out, c->out, rqtn, n);
	return CX_OK;
}

static enum cx_status modify_rqt(struct cx_dev *d, struct cx_cmd *c)
{
	struct cx_rqt *t = cx_ids_get(&d->rqts, CX_GET(modify_rqt_in, c->in,
						       rqtn));
	enum cx_status status;
	struct cx_rqt next;

	if (!t)
		return CX_BAD_RES;
	if (!CX_GET(modify_rqt_in, c->in, bitmask.rqn_list))
		return CX_OK;
	next = *t;
	status = rqt_fill(d, &next, c, CX_OFF(modify_rqt_in, ctx) / 8);
	if (status)
		return status;
	rqt_refs(d, t, -1);
	*t = next;
	rqt_refs(d, t, 1);
	return CX_OK;
}

static void rqt_free(struct cx_dev *d, uint32_t n, struct cx_rqt *t)
{
	rqt_refs(d, t, -1);
	cx_ids_del(&d->rqts, n);
	free(t);
}

static enum cx_status destroy_rqt(struct cx_dev *d, struct cx_cmd *c)
{
	uint32_t n = CX_GET(destroy_rqt_in, c->in, rqtn);
	struct cx_rqt *t = cx_ids_get(&d->rqts, n);

	if (!t)
		return CX_BAD_RES;
	if (t->users)
		return CX_BAD_RES_STATE;
	rqt_free(d, n, t);
	return CX_OK;
}

/* ---- TIR ---- */
static void tir_hash(struct cx_tir *t, const uint8_t *tirc)
{
	const uint8_t *fields = CX_ADDR(tirc, tirc,
					rx_hash_field_selector_outer);

	t->hash_fn = CX_GET(tirc, tirc, rx_hash_fn);
	t->fields = CX_GET(rx_hash_field_select, fields, selected_fields);
	memcpy(t->key, CX_ADDR(tirc, tirc, rx_hash_toeplitz_key),
	       sizeof(t->key));
}

/* The number of users of what the TIR sends frames to. */
static uint32_t *tir_target(struct cx_dev *d, const struct cx_tir *t)
{
	struct cx_rqt *rqt = cx_ids_get(&d->rqts, t->rqtn);
	struct cx_qp *rq = get_wq(d, t->rqn, CX_ST_RQ);

	return rqt ? &rqt->users : rq ? &rq->users : NULL;
}

static enum cx_status tir_parse(struct cx_dev *d, struct cx_tir *t,
				const uint8_t *tirc)
{
	bool direct = CX_GET(tirc, tirc, disp_type) ==
		      MLX5_TIRC_DISP_TYPE_DIRECT;

	t->td = CX_GET(tirc, tirc, transport_domain);
	t->rqn = direct ? CX_GET(tirc, tirc, inline_rqn) : CX_NONE;
	t->rqtn = direct ? CX_NONE : CX_GET(tirc, tirc, indirect_table);
	tir_hash(t, tirc);
	if (CX_GET(tirc, tirc, disp_type) > MLX5_TIRC_DISP_TYPE_INDIRECT ||
	    t->hash_fn > MLX5_RX_HASH_FN_TOEPLITZ ||
	    CX_GET(tirc, tirc, tls_en) ||
	    CX_GET(tirc, tirc, packet_merge_mask) ||
	    CX_GET(tirc, tirc, tunneled_offload_en))
		return CX_BAD_PARAM;
	return td(d, t->td) && tir_target(d, t) ? CX_OK : CX_BAD_RES;
}

static enum cx_status create_tir(struct cx_dev *d, struct cx_cmd *c)
{
	struct cx_tir *t = calloc(1, sizeof(*t));
	enum cx_status status;
	uint32_t n;

	if (!t)
		return CX_LIM;
	status = tir_parse(d, t, CX_ADDR(create_tir_in, c->in, ctx));
	if (status) {
		free(t);
		return status;
	}
	if (add(&d->tirs, t, &n))
		return CX_LIM;
	td(d, t->td)->users++;
	++*tir_target(d, t);
	CX_SET(create_tir_out, c->out, tirn, n);
	return CX_OK;
}

/* Frames of its own transport domain do not come to a TIR, whatever is asked for. */
static enum cx_status modify_tir(struct cx_dev *d, struct cx_cmd *c)
{
	const uint8_t *tirc = CX_ADDR(modify_tir_in, c->in, ctx);
	struct cx_tir *t = cx_ids_get(&d->tirs, CX_GET(modify_tir_in, c->in,
						       tirn));

	if (!t)
		return CX_BAD_RES;
	if (CX_GET(modify_tir_in, c->in, bitmask.packet_merge) &&
	    CX_GET(tirc, tirc, packet_merge_mask))
		return CX_BAD_PARAM;
	if (!CX_GET(modify_tir_in, c->in, bitmask.hash))
		return CX_OK;
	if (CX_GET(tirc, tirc, rx_hash_fn) > MLX5_RX_HASH_FN_TOEPLITZ)
		return CX_BAD_PARAM;
	tir_hash(t, tirc);
	return CX_OK;
}

static void tir_free(struct cx_dev *d, uint32_t n, struct cx_tir *t)
{
	td(d, t->td)->users--;
	--*tir_target(d, t);
	cx_ids_del(&d->tirs, n);
	free(t);
}

static enum cx_status destroy_tir(struct cx_dev *d, struct cx_cmd *c)
{
	uint32_t n = CX_GET(destroy_tir_in, c->in, tirn);
	struct cx_tir *t = cx_ids_get(&d->tirs, n);

	if (!t)
		return CX_BAD_RES;
	if (t->users)
		return CX_BAD_RES_STATE;
	tir_free(d, n, t);
	return CX_OK;
}

/* ---- all ---- */
void cx_nic_objects_free(struct cx_dev *d)
{
	struct cx_tir *tir;
	struct cx_rqt *rqt;
	uint32_t n;

	CX_EACH(&d->tirs, n, tir)
		tir_free(d, n, tir);
	CX_EACH(&d->rqts, n, rqt)
		rqt_free(d, n, rqt);
	cx_ids_free(&d->tirs);
	cx_ids_free(&d->rqts);
}

void cx_tises_free(struct cx_dev *d)
{
	struct cx_tis *tis;
	uint32_t n;

	CX_EACH(&d->tises, n, tis)
		tis_free(d, n, tis);
	cx_ids_free(&d->tises);
}

const struct cx_cmd_desc cx_cmds_eth[] = {
	CX_CMD(CREATE_SQ, create_sq, create_sq),
	CX_CMD(MODIFY_SQ, modify_sq, modify_sq),
	CX_CMD(QUERY_SQ, query_sq, query_sq),
	CX_CMD(DESTROY_SQ, destroy_sq, destroy_sq),
	CX_CMD(CREATE_RQ, create_rq, create_rq),
	CX_CMD(MODIFY_RQ, modify_rq, modify_rq),
	CX_CMD(QUERY_RQ, query_rq, query_rq),
	CX_CMD(DESTROY_RQ, destroy_rq, destroy_rq),
	CX_CMD(CREATE_TIS, create_tis, create_tis),
	CX_CMD(MODIFY_TIS, modify_tis, modify_tis),
	CX_CMD(DESTROY_TIS, destroy_tis, destroy_tis),
	CX_CMD(CREATE_RQT, create_rqt, create_rqt),
	CX_CMD(MODIFY_RQT, modify_rqt, modify_rqt),
	CX_CMD(DESTROY_RQT, destroy_rqt, destroy_rqt),
	CX_CMD(CREATE_TIR, create_tir, create_tir),
	CX_CMD(MODIFY_TIR, modify_tir, modify_tir),
	CX_CMD(DESTROY_TIR, destroy_tir, destroy_tir),
	{ 0 }
};
