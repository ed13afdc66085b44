// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Queue pairs as a whole: what commands, doorbells, deadlines and frames do
 * to one, and the device's round robin of those that have something to do.
 * Doorbell records come from the driver or a process and are bounded here:
 * behind cx_sq_update() a send queue never holds more than its size. Frames
 * may be forged: they find a QP only if number, transport and state fit.
 */
#include "cx_eng.h"

/* ---- the run queue ---- */

void cx_qp_schedule(struct cx_dev *d, struct cx_qp *qp)
{
	if (qp->scheduled || !qp->req)
		return;
	qp->scheduled = true;
	qp->run_next = NULL;
	if (d->run_last)
		d->run_last->run_next = qp;
	else
		d->run_first = qp;
	d->run_last = qp;
}

static struct cx_qp *run_pop(struct cx_dev *d)
{
	struct cx_qp *qp = d->run_first;

	d->run_first = qp->run_next;
	if (!d->run_first)
		d->run_last = NULL;
	qp->run_next = NULL;
	qp->scheduled = false;
	return qp;
}

static void run_unlink(struct cx_dev *d, struct cx_qp *qp)
{
	struct cx_qp *p, *prev = NULL;

	if (!qp->scheduled)
		return;
	for (p = d->run_first; p && p != qp; p = p->run_next)
		prev = p;
	if (prev)
		prev->run_next = qp->run_next;
	else
		d->run_first = qp->run_next;
	if (d->run_last == qp)
		d->run_last = prev;
	qp->run_next = NULL;
	qp->scheduled = false;
}

/* The requester and the responder share a slice, lest one starve. */
static enum cx_turn qp_both(struct cx_dev *d, struct cx_qp *qp, size_t *slice)
{
	size_t half = (*slice + 1) / 2;
	enum cx_turn resp, req = CX_IDLE;

	*slice -= half;
	resp = cx_resp_run(d, qp, &half);
	*slice += half;
	if (qp->state == CX_RTS || qp->state == CX_SQD)
		req = cx_req_run(d, qp, slice);
	if (resp == CX_MORE || req == CX_MORE)
		return CX_MORE;
	return resp == CX_BLOCKED ? resp : req;
}

static enum cx_turn qp_turn(struct cx_dev *d, struct cx_qp *qp, size_t *slice)
{
	enum cx_turn turn;

	if (qp->state != CX_RST && cx_cq_failed(d, qp))
		cx_qp_fail(d, qp, CX_EV_WQ_CATAS);
	switch (qp->state) {
	case CX_RTR:
	case CX_RTS:
	case CX_SQD:
		return qp_both(d, qp, slice);
	case CX_SQER:
		turn = cx_flush_sq(d, qp, slice);
		return turn == CX_MORE ? turn : cx_resp_run(d, qp, slice);
	case CX_QPERR:
		turn = cx_flush_sq(d, qp, slice);
		return turn == CX_MORE ? turn : cx_flush_rq(d, qp, slice);
	default:
		return CX_IDLE;
	}
}

bool cx_qp_run(struct cx_dev *d, size_t *budget)
{
	struct cx_qp *qp, *stuck = NULL;
	size_t slice, left;
	enum cx_turn turn;

	while (*budget && d->run_first && d->run_first != stuck) {
		qp = run_pop(d);
		slice = *budget < CX_SLICE ? *budget : CX_SLICE;
		left = slice;
		turn = qp_turn(d, qp, &left);
		cx_spend(budget, slice - left);
		if (turn == CX_IDLE)
			continue;
		cx_qp_schedule(d, qp);
		if (turn == CX_MORE)
			stuck = NULL;
		else if (!stuck)
			stuck = qp;
	}
	return d->run_first;
}

/* ---- deadlines ---- */

static void timed_link(struct cx_dev *d, struct cx_qp *qp)
{
	if (qp->req->timed)
		return;
	qp->req->timed = true;
	qp->req->timed_next = d->timed;
	d->timed = qp;
}

static void timed_unlink(struct cx_dev *d, struct cx_qp *qp)
{
	struct cx_qp **p = &d->timed;

	if (!qp->req->timed)
		return;
	while (*p && *p != qp)
		p = &(*p)->req->timed_next;
	if (*p)
		*p = qp->req->timed_next;
	qp->req->timed = false;
}

void cx_deadline(struct cx_dev *d, struct cx_qp *qp, uint64_t when)
{
	qp->req->deadline = when;
	if (!when)
		return;
	timed_link(d, qp);
	cx_timer_set(d, when);
}

uint64_t cx_qp_timers(struct cx_dev *d, uint64_t now)
{
	struct cx_qp *qp, *next = d->timed;
	uint64_t first = 0;

	d->timed = NULL;
	while ((qp = next)) {
		next = qp->req->timed_next;
		qp->req->timed = false;
		if (qp->req->deadline && qp->req->deadline <= now) {
			qp->req->deadline = 0;
			if (qp->state == CX_QPERR)
				cx_qp_schedule(d, qp);
			else
				cx_req_timer(d, qp, now);
		}
		if (qp->req->deadline)
			timed_link(d, qp);
	}
	for (qp = d->timed; qp; qp = qp->req->timed_next)
		if (!first || qp->req->deadline < first)
			first = qp->req->deadline;
	return first;
}

/* ---- states ---- */

int cx_qp_start(struct cx_dev *d, struct cx_qp *qp)
{
	qp->req = calloc(1, sizeof(*qp->req));
	qp->resp = calloc(1, sizeof(*qp->resp));
	if (!qp->req || !qp->resp) {
		cx_qp_stop(d, qp);
		return -ENOMEM;
	}
	qp->resp->w_srqn = CX_NONE;
	return 0;
}

void cx_qp_stop(struct cx_dev *d, struct cx_qp *qp)
{
	run_unlink(d, qp);
	if (qp->req) {
		timed_unlink(d, qp);
		free(qp->req->fl);
		free(qp->req->rndv);
	}
	if (qp->resp) {
		cx_tm_forget(d, qp);
		free(qp->resp->rd);
	}
	free(qp->req);
	free(qp->resp);
	qp->req = NULL;
	qp->resp = NULL;
}

static void qp_reset(struct cx_dev *d, struct cx_qp *qp)
{
	run_unlink(d, qp);
	timed_unlink(d, qp);
	cx_rndv_cancel(d, qp);
	qp->sq_pi = 0;
	qp->sq_head = 0;
	qp->sq_tail = 0;
	qp->rq_head = 0;
	if (cx_tm_matched(qp->resp))
		cx_recv_done(d, qp, NULL, 0, 0,
			     CX_SYND_WR_FLUSH_ERR);
	cx_tm_forget(d, qp);
	cx_req_reset(qp);
	cx_resp_reset(qp);
}

/* Nothing is sent any more, nothing is expected: what is posted is flushed. */
static void qp_halt(struct cx_dev *d, struct cx_qp *qp)
{
	cx_req_reset(qp);
	qp->sq_head = qp->sq_tail;
	if (qp->state == CX_QPERR) {
		cx_rndv_cancel(d, qp);
		qp->resp->ack_due = false;
		qp->resp->nak_due = false;
		qp->resp->rd_pending = 0;
		qp->resp->rd_nr = 0;
		qp->resp->msg = CX_MSG_NONE;
	}
	cx_qp_schedule(d, qp);
}

void cx_qp_fail(struct cx_dev *d, struct cx_qp *qp, enum cx_event event)
{
	if (qp->state == CX_QPERR || qp->state == CX_RST)
		return;
	cx_log(d, CX_DEBUG, "QP 0x%x: error, event 0x%x", qp->qpn, event);
	qp->state = CX_QPERR;
	if (event)
		cx_event_qp(d, event, qp->qpn);
	qp_halt(d, qp);
}

void cx_sq_fail(struct cx_dev *d, struct cx_qp *qp)
{
	if (cx_is_reliable(qp) || qp->st == CX_ST_UMR || qp->st == CX_ST_SQ) {
		cx_qp_fail(d, qp, 0);
		return;
	}
	if (qp->state != CX_RTS && qp->state != CX_SQD)
		return;
	cx_log(d, CX_DEBUG, "QP 0x%x: send queue error", qp->qpn);
	qp->state = CX_SQER;
	qp_halt(d, qp);
}

/* RTS, first (PSNs are new) or again. */
static void qp_send(struct cx_dev *d, struct cx_qp *qp, enum cx_qp_state old)
{
	struct cx_req *r = qp->req;

	if (old == CX_RTR) {
		r->psn = qp->next_send_psn & (CX_PSNS - 1);
		r->una = r->psn;
		r->high = r->psn;
	}
	r->drained = false;
	/* The record of an SQ is not read before a doorbell: it may be old. */
	if (qp->has_sq && qp->st != CX_ST_SQ && !cx_sq_update(d, qp))
		return;
	if (qp->sq_pi != qp->sq_head)
		cx_qp_schedule(d, qp);
}

void cx_qp_changed(struct cx_dev *d, struct cx_qp *qp, enum cx_qp_state old)
{
	switch (qp->state) {
	case CX_RST:
		qp_reset(d, qp);
		break;
	case CX_INIT:
		if (old != CX_INIT)
			qp_reset(d, qp);
		break;
	case CX_RTR:
		if (old == CX_INIT)
			qp->resp->epsn = qp->next_rcv_psn & (CX_PSNS - 1);
		break;
	case CX_RTS:
		qp_send(d, qp, old);
		break;
	case CX_QPERR:
		qp_halt(d, qp);
		if (qp->has_sq)
			cx_sq_update(d, qp);
		break;
	default:
		cx_qp_schedule(d, qp);
		break;
	}
}

/* ---- doorbells ---- */

bool cx_sq_update(struct cx_dev *d, struct cx_qp *qp)
{
	uint16_t pi;

	if (d->family->sq_posted(d, qp, &pi)) {
		cx_qp_fail(d, qp, CX_EV_WQ_CATAS);
		return false;
	}
	if ((uint16_t)(pi - qp->sq_tail) > 1u << qp->log_sq ||
	    (uint16_t)(pi - qp->sq_tail) < (uint16_t)(qp->sq_head -
						       qp->sq_tail)) {
		cx_qp_fail(d, qp, CX_EV_WQ_CATAS);
		return false;
	}
	qp->sq_pi = pi;
	return true;
}

void cx_sq_doorbell(struct cx_dev *d, uint32_t uar, uint32_t qpn)
{
	struct cx_qp *qp = cx_ids_get(&d->qps, qpn);

	if (!qp || !qp->has_sq || !cx_uar_rings(d, uar, qp->uar)) {
		cx_refuse(d, "QP", qpn, uar);
		return;
	}
	d->stats.doorbells_sq++;
	if (qp->state < CX_RTS)
		return;
	if (cx_sq_update(d, qp))
		cx_qp_schedule(d, qp);
}

/* ---- frames that came ---- */

/* A copy for each QP of the group, but none for one that shuns its own. */
static void rx_multicast(struct cx_dev *d, struct cx_qp *qp,
			 struct cx_frame *f)
{
	bool own = cx_frame_is_own(d, f) && f->sqpn == qp->qpn;

	if (!own || !qp->block_lb_mc)
		cx_ud_rx(d, qp, f);
}

static void rx_datagram(struct cx_dev *d, struct cx_frame *f)
{
	bool multicast = cx_frame_is_multicast(f);
	struct cx_qp *qp;

	if (f->dqpn < 2)
		qp = f->dqpn ? d->qp1 : d->qp0;
	else
		qp = cx_ids_get(&d->qps, f->dqpn);
	if (multicast && f->dqpn == 0xffffff)
		cx_mcg_each(d, f->dgid, rx_multicast, f);
	else if (!multicast && qp && (f->dqpn < 2 || qp->st == CX_ST_UD))
		cx_ud_rx(d, qp, f);
	else
		d->stats.frames_dropped++;
}

/* Whether a frame of a connection is of this QP's peer. */
static bool rx_ours(struct cx_dev *d, const struct cx_qp *qp,
		    const struct cx_frame *f)
{
	uint16_t peer = qp->av.dlid, mask = 0xffff << d->port.lmc;

	if (f->st != qp->st || qp->state < CX_RTR || qp->state == CX_QPERR ||
	    (f->sqpn & 0xffffff) != qp->remote_qpn)
		return false;
	if (d->config.eth && memcmp(f->sgid, qp->av.dgid, 16))
		return false;
	if (!cx_is_reliable(qp) && qp->st != CX_ST_UC)
		return false;
	if (peer && peer != 0xffff && !qp->av.grh && f->slid &&
	    (peer ^ f->slid) & mask)
		return false;
	return cx_pkey_ok(d, qp, f->pkey);
}

void cx_rx(struct cx_dev *d, struct cx_frame *f)
{
	struct cx_qp *qp;

	if (f->kind == CX_F_ETHER) {
		cx_eth_rx(d, f);
		return;
	}
	if (d->config.eth && !cx_roce_accepts(d, f)) {
		d->stats.frames_dropped++;
		return;
	}
	if (f->kind == CX_F_DATAGRAM) {
		rx_datagram(d, f);
		return;
	}
	qp = cx_ids_get(&d->qps, f->dqpn);
	if (!qp || !rx_ours(d, qp, f)) {
		d->stats.frames_dropped++;
		return;
	}
	switch (f->kind) {
	case CX_F_ACK:
	case CX_F_NAK:
	case CX_F_READ_DATA:
	case CX_F_ATOMIC_DATA:
		cx_req_rx(d, qp, f);
		break;
	default:
		cx_resp_rx(d, qp, f);
		break;
	}
}
