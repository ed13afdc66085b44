// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Completions of sends and receives, receive queues, and the flushing of queues
 * in the states ERR and SQER. Doorbell records and WQEs are the driver's or a
 * process's: counters are clamped to the queue.
 */
#include "cx_eng.h"

#define WATCH_MIN	50000u		/* nanoseconds */
#define WATCH_MAX	10000000000u

void cx_send_done(struct cx_dev *d, struct cx_qp *qp, uint16_t wqe,
		  uint8_t opcode, uint32_t bytes, uint8_t syndrome)
{
	struct cx_comp comp = { .send = true, .opcode = opcode, .wqe = wqe,
				.bytes = bytes, .syndrome = syndrome };
	struct cx_cq *cq = cx_ids_get(&d->cqs, qp->cqn_snd);

	if (qp->rndv) {
		cx_rndv_done(d, qp, wqe, syndrome);
		return;
	}
	if (!cq)
		return;
	if (syndrome == CX_SYND_WR_FLUSH_ERR)
		cx_counter(d, qp)->req_cqe_flush_error++;
	else if (syndrome)
		cx_counter(d, qp)->req_cqe_error++;
	d->family->complete(d, qp, cq, &comp);
}

void cx_recv_done(struct cx_dev *d, struct cx_qp *qp,
		  const struct cx_frame *f, enum cx_recv how, uint32_t bytes,
		  uint8_t syndrome)
{
	struct cx_comp comp = { .opcode = how, .bytes = bytes, .f = f,
				.syndrome = syndrome };
	struct cx_resp *rs = qp->resp;
	struct cx_srq *srq = cx_ids_get(&d->srqs, rs->w_srqn);
	bool own = rs->w_srqn != CX_NONE;	/* the queue has a CQ */
	struct cx_cq *cq;

	rs->have_w = false;
	if (own && !srq)
		return;
	cq = cx_ids_get(&d->cqs, own ? srq->cqn : qp->cqn_rcv);
	if (!cq)
		return;
	if (syndrome == CX_SYND_WR_FLUSH_ERR)
		cx_counter(d, qp)->resp_cqe_flush_error++;
	else if (syndrome)
		cx_counter(d, qp)->resp_cqe_error++;
	comp.wqe = rs->w.index;
	comp.srq = own ? srq : NULL;
	d->family->complete(d, qp, cq, &comp);
}

/* ---- receive queues ---- */

/* The doorbell record's receive counter; 0 or -EFAULT. */
static int rq_update(struct cx_dev *d, struct cx_qp *qp)
{
	uint32_t count, size = 1u << qp->log_rq;

	if (cx_record_read(d, qp->dbr, &count))
		return -EFAULT;
	qp->resp->rq_pi = count & 0xffff;
	if ((uint16_t)(qp->resp->rq_pi - qp->rq_head) > size)
		qp->resp->rq_pi = qp->rq_head + size;
	return 0;
}

int cx_rq_take(struct cx_dev *d, struct cx_qp *qp, struct cx_rwqe *w)
{
	struct mlx5_wqe_data_seg seg[32];
	uint32_t at, skip = qp->rq_skip, stride = 1u << qp->log_rq_stride;

	if (!qp->has_rq || stride < sizeof(seg[0]) || stride > sizeof(seg))
		return -EINVAL;
	if (qp->resp->rq_pi == qp->rq_head && rq_update(d, qp))
		return -EFAULT;
	if (qp->resp->rq_pi == qp->rq_head)
		return -ENOENT;
	at = (qp->rq_head & ((1u << qp->log_rq) - 1)) << qp->log_rq_stride;
	if (cx_buf_read(d, &qp->buf, qp->rq_off + at, seg, stride))
		return -EFAULT;
	cx_rwqe_parse(w, seg + skip, stride / sizeof(seg[0]) - skip);
	w->index = qp->rq_head++;
	return 0;
}

/* ---- flushing ---- */

/* The opcode and the size of the next WQE of a queue that is flushed. */
static uint8_t flush_next(struct cx_dev *d, struct cx_qp *qp, uint16_t *bbs)
{
	uint16_t left = qp->sq_pi - qp->sq_tail;
	struct cx_swqe w;

	*bbs = left;		/* unreadable: nothing behind it is either */
	if (cx_wqe_peek(d, qp, qp->sq_tail, &w))
		return CX_OP_NOP;
	if (w.bbs < left)
		*bbs = w.bbs;
	return w.opcode;
}

enum cx_turn cx_flush_sq(struct cx_dev *d, struct cx_qp *qp, size_t *budget)
{
	uint8_t opcode;
	uint16_t bbs;

	while (qp->has_sq && qp->sq_tail != qp->sq_pi) {
		if (!*budget)
			return CX_MORE;
		opcode = flush_next(d, qp, &bbs);
		cx_send_done(d, qp, qp->sq_tail, opcode, 0,
			     CX_SYND_WR_FLUSH_ERR);
		qp->sq_tail += bbs;
		qp->sq_head = qp->sq_tail;
		cx_spend(budget, 0);
	}
	return CX_IDLE;
}

/*
 * There is no doorbell register for receive queues: what is posted in ERR is
 * found by looking, ever more seldom (19 times in 26 s), then no more. Whoever
 * drains a queue moves the QP to ERR first, which begins this anew.
 */
static void flush_watch(struct cx_dev *d, struct cx_qp *qp)
{
	struct cx_req *r = qp->req;

	if (!qp->has_rq || r->poll > WATCH_MAX)
		return;
	r->poll = r->poll ? r->poll * 2 : WATCH_MIN;
	cx_deadline(d, qp, d->host->now(d->opaque) + r->poll);
}

enum cx_turn cx_flush_rq(struct cx_dev *d, struct cx_qp *qp, size_t *budget)
{
	struct cx_resp *rs = qp->resp;
	struct cx_rwqe w;

	if (rs->have_w || cx_tm_matched(rs))
		cx_recv_done(d, qp, NULL, 0, 0,
			     CX_SYND_WR_FLUSH_ERR);
	while (qp->has_rq && !cx_rq_take(d, qp, &w)) {
		rs->w_srqn = CX_NONE;
		rs->w.index = w.index;
		cx_recv_done(d, qp, NULL, 0, 0,
			     CX_SYND_WR_FLUSH_ERR);
		qp->req->poll = 0;
		cx_spend(budget, 0);
		if (!*budget)
			return CX_MORE;
	}
	if (!rs->last_wqe && qp->srqn != CX_NONE && qp->st != CX_ST_XRC)
		cx_event_qp(d, CX_EV_SRQ_LAST_WQE, qp->qpn);
	rs->last_wqe = true;
	flush_watch(d, qp);
	return CX_IDLE;
}
