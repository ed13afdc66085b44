// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The requester: takes send WQEs in order, cuts their messages into frames,
 * and remembers each as a flight until it is acknowledged and completed. What
 * is sent and not acknowledged is bounded by a window, also the data that
 * READs ask for, which is why a long READ is asked for in chunks. An error
 * waits until its WQE is the oldest, so that completions come in order.
 * WQEs are a process's; that they change meanwhile must only hurt their QP.
 */
#include "cx_eng.h"

/* ---- flights ---- */

void cx_req_reset(struct cx_qp *qp)
{
	struct cx_req *r = qp->req;

	r->first = r->end;
	r->cur = r->end;
	r->off = 0;
	r->una = r->psn;
	r->high = r->psn;
	r->unasked = 0;
	r->retries = 0;
	r->rnr_tries = 0;
	r->rnr = false;
	r->implied = false;
	r->deadline = 0;
	r->poll = 0;
}

/* Room for one more flight. */
static bool flights_room(struct cx_req *r)
{
	uint32_t n, nr = r->end - r->first;
	struct cx_flight *fl;

	if (nr < r->room)
		return true;
	if (r->room == CX_FLIGHTS)
		return false;
	fl = calloc(r->room ? r->room * 2 : 16, sizeof(*fl));
	if (!fl)
		return false;
	for (n = 0; n < nr; n++)
		fl[n] = *cx_flight(r, r->first + n);
	free(r->fl);
	r->fl = fl;
	r->room = r->room ? r->room * 2 : 16;
	r->cur -= r->first;
	r->first = 0;
	r->end = nr;
	return true;
}

/* The WQE is done with; a later one is now the oldest. */
static void flight_pop(struct cx_qp *qp)
{
	const struct cx_flight *fl = cx_flight(qp->req, qp->req->first);
	struct cx_req *r = qp->req;

	qp->sq_tail = fl->wqe + fl->bbs;
	r->first++;
	if ((int32_t)(r->cur - r->first) < 0) {
		r->cur = r->first;
		r->off = 0;
	}
}

static void sq_drained(struct cx_dev *d, struct cx_qp *qp)
{
	struct cx_req *r = qp->req;

	if (qp->state != CX_SQD || r->first != r->end || r->drained)
		return;
	r->drained = true;
	cx_event_qp(d, CX_EV_SQ_DRAINED, qp->qpn);
}

void cx_req_complete(struct cx_dev *d, struct cx_qp *qp)
{
	struct cx_req *r = qp->req;
	struct cx_flight fl;

	while (r->first != r->end) {
		fl = *cx_flight(r, r->first);
		if (!fl.done && !fl.synd)
			return;
		flight_pop(qp);
		if (fl.synd || fl.signaled)
			cx_send_done(d, qp, fl.wqe, fl.opcode, fl.got,
				     fl.synd);
		if (fl.synd) {
			cx_sq_fail(d, qp);
			return;
		}
	}
	sq_drained(d, qp);
}

/* Chunks of READs, and atomics, that are asked for and not answered. */
static uint32_t reads_out(const struct cx_req *r, uint32_t enough)
{
	const struct cx_flight *fl;
	uint32_t n, asked, nr = 0;

	for (n = r->first; nr < enough && n != r->end; n++) {
		fl = cx_flight(r, n);
		asked = n == r->cur ? r->off : fl->bytes;
		if (fl->done || fl->synd)
			continue;
		if (cx_is_atomic(fl->opcode) ||
		    (fl->opcode == CX_OP_RDMA_READ && !fl->bytes))
			nr += n != r->cur;
		else if (fl->opcode == CX_OP_RDMA_READ &&
			 asked > fl->got)
			nr += (asked + CX_CHUNK - 1) / CX_CHUNK -
			      fl->got / CX_CHUNK;
		if (n == r->cur)
			break;
	}
	return nr;
}

/* ---- a new WQE ---- */

static bool may_begin(const struct cx_req *r, const struct cx_swqe *w)
{
	if (w->alone || w->fence == CX_FENCE_ALL)
		return r->first == r->end;
	if (w->fence == CX_FENCE_READS || w->fence == CX_FENCE_SMALL_READS)
		return !reads_out(r, 1);
	return true;
}

static uint32_t bytes_max(const struct cx_qp *qp)
{
	if (qp->st == CX_ST_SQ)
		return CX_LSO_MAX;
	return cx_is_ud(qp) ? 1u << qp->mtu : CX_MAX_MSG;
}

/* What is wrong with a WQE that could be parsed; 0: nothing yet. */
static uint8_t wqe_syndrome(struct cx_dev *d, const struct cx_qp *qp,
			    const struct cx_swqe *w)
{
	bool atomic = cx_is_atomic(w->opcode);
	bool read = w->opcode == CX_OP_RDMA_READ;
	uint8_t access = atomic || read ? CX_LW : CX_LR;

	if (w->bytes > bytes_max(qp) || (atomic && w->bytes < 8))
		return CX_SYND_LOCAL_LENGTH_ERR;
	/* Before the first frame of many; one frame is checked as it is cut. */
	if ((access == CX_LW || w->bytes > CX_FRAME_DATA) &&
	    cx_wqe_check(d, qp, w, access))
		return CX_SYND_LOCAL_PROT_ERR;
	return 0;
}

static void flight_new(struct cx_dev *d, struct cx_qp *qp,
		       const struct cx_swqe *w, bool malformed)
{
	struct cx_req *r = qp->req;
	struct cx_flight *fl = cx_flight(r, r->end++);

	memset(fl, 0, sizeof(*fl));
	fl->wqe = w->index;
	fl->bbs = w->bbs;
	fl->opcode = w->opcode;
	fl->signaled = w->signaled;
	fl->synd = malformed ? CX_SYND_LOCAL_QP_OP_ERR :
			       wqe_syndrome(d, qp, w);
	fl->psn = r->psn;
	qp->sq_head += w->bbs;
	d->stats.wqes++;
	if (fl->synd || w->local)
		return;
	fl->bytes = cx_is_atomic(w->opcode) ? 8 : w->bytes;
	fl->npsn = cx_is_unanswered(qp) ? 1 : cx_psns(qp, fl->bytes);
	r->psn = cx_psn_add(r->psn, fl->npsn);
}

static enum cx_turn req_begin(struct cx_dev *d, struct cx_qp *qp,
			      struct cx_swqe *w)
{
	struct cx_req *r = qp->req;
	int rc;

	sq_drained(d, qp);
	if (qp->state != CX_RTS || qp->sq_head == qp->sq_pi)
		return CX_IDLE;
	if (!flights_room(r))
		return r->first == r->end ? CX_BLOCKED : CX_IDLE;
	rc = cx_wqe_read(d, qp, qp->sq_head, w);
	if (rc == -EFAULT) {
		cx_qp_fail(d, qp, CX_EV_WQ_CATAS);
		return CX_IDLE;
	}
	if (!rc && !may_begin(r, w))
		return CX_IDLE;
	if (rc && w->bbs > (uint16_t)(qp->sq_pi - qp->sq_head))
		w->bbs = qp->sq_pi - qp->sq_head;
	r->off = 0;
	flight_new(d, qp, w, rc);
	return CX_MORE;
}

bool cx_req_reread(struct cx_dev *d, struct cx_qp *qp, struct cx_flight *fl,
		   struct cx_swqe *w)
{
	int rc = cx_wqe_read(d, qp, fl->wqe, w);

	if (!rc && w->opcode == fl->opcode && w->bbs == fl->bbs &&
	    (w->bytes == fl->bytes ||
	     (cx_is_atomic(w->opcode) && w->bytes >= 8)))
		return true;
	fl->synd = CX_SYND_LOCAL_QP_OP_ERR;
	return false;
}

/* ---- sending ---- */

static struct cx_frame *req_frame(struct cx_dev *d, const struct cx_qp *qp,
				  const struct cx_swqe *w, uint8_t kind,
				  uint32_t len)
{
	const struct cx_req *r = qp->req;
	struct cx_frame *f = cx_frame_new(kind == CX_F_READ ? 0 : len);

	if (!f)
		return NULL;
	f->kind = kind;
	cx_frame_route(d, qp, &qp->av, f);
	f->xrc_srqn = w->srqn;
	f->psn = cx_psn_add(cx_flight(r, r->cur)->psn, r->off >> qp->mtu);
	f->npsn = cx_psns(qp, len);
	f->va = w->raddr;
	f->rkey = w->rkey;
	f->ack_req = true;
	return f;
}

/* Sent, or refused: f is gone anyhow. len of the message went with it. */
static enum cx_turn req_sent(struct cx_dev *d, struct cx_qp *qp,
			     struct cx_frame *f, uint32_t len)
{
	uint32_t behind = cx_psn_add(f->psn, f->npsn);
	struct cx_flight *fl = cx_flight(qp->req, qp->req->cur);
	struct cx_req *r = qp->req;
	uint64_t t;

	if (cx_wire_send(d, f) == -EAGAIN) {
		cx_frame_free(f);
		return CX_BLOCKED;
	}
	if (cx_psn_diff(behind, r->high) > 0)
		r->high = behind;
	r->off += len;
	if (r->off >= fl->bytes) {
		fl->done = qp->st == CX_ST_UC;
		r->cur++;
		r->off = 0;
	}
	if (qp->st == CX_ST_UC) {
		r->una = behind;
		cx_req_complete(d, qp);
		return CX_MORE;
	}
	t = r->deadline ? 0 : cx_req_timeout(qp);
	if (t) {
		r->progress = false;
		r->late = false;
		cx_deadline(d, qp, d->host->now(d->opaque) + t);
	}
	return CX_MORE;
}

/* An ACK is asked for at the end of a message and as the window fills up. */
static void ask_ack(struct cx_req *r, struct cx_frame *f)
{
	r->unasked += f->len + CX_COST;
	f->ack_req = f->last || r->unasked >= CX_WINDOW / 4;
	if (f->ack_req)
		r->unasked = 0;
}

static enum cx_turn req_data(struct cx_dev *d, struct cx_qp *qp,
			     const struct cx_swqe *w, struct cx_flight *fl)
{
	bool write = w->opcode == CX_OP_RDMA_WRITE ||
		     w->opcode == CX_OP_RDMA_WRITE_IMM;
	uint32_t off = qp->req->off, len = fl->bytes - off;
	struct cx_frame *f;

	if (len > CX_FRAME_DATA)
		len = CX_FRAME_DATA;
	f = req_frame(d, qp, w, write ? CX_F_WRITE : CX_F_SEND, len);
	if (!f)
		return CX_BLOCKED;
	if (cx_wqe_gather(d, qp, w, off, f->data, len)) {
		cx_frame_free(f);
		fl->synd = CX_SYND_LOCAL_PROT_ERR;
		return CX_IDLE;
	}
	f->len = len;
	f->dma_len = fl->bytes;
	f->first = !off;
	f->last = off + len == fl->bytes;
	if (f->last) {
		f->imm = w->opcode == CX_OP_SEND_IMM ||
			 w->opcode == CX_OP_RDMA_WRITE_IMM;
		f->inv = w->opcode == CX_OP_SEND_INVAL;
		f->imm_data = w->imm;
		f->solicited = w->solicited;
	}
	ask_ack(qp->req, f);
	return req_sent(d, qp, f, len);
}

static enum cx_turn req_read(struct cx_dev *d, struct cx_qp *qp,
			     const struct cx_swqe *w, struct cx_flight *fl)
{
	uint32_t off = qp->req->off, max = 1u << qp->log_sra_max;
	bool atomic = cx_is_atomic(fl->opcode);
	uint8_t kind = fl->opcode == CX_OP_RDMA_READ ? CX_F_READ :
		       fl->opcode == CX_OP_ATOMIC_CS ? CX_F_CMP_SWAP :
		       CX_F_FETCH_ADD;
	uint32_t len = cx_chunk_end(fl, off) - off;
	struct cx_frame *f;

	if (reads_out(qp->req, max) >= max)
		return CX_IDLE;
	f = req_frame(d, qp, w, kind, len);
	if (!f)
		return CX_BLOCKED;
	f->va += off;
	f->dma_len = len;
	f->first = true;
	f->last = true;
	if (atomic) {
		f->swap_add = w->swap_add;
		f->compare = w->compare;
	}
	return req_sent(d, qp, f, len);
}

/* What is done in the device itself. */
static enum cx_turn req_local(struct cx_dev *d, struct cx_qp *qp,
			      const struct cx_swqe *w, struct cx_flight *fl)
{
	fl->synd = d->family->local(d, qp, w);
	fl->done = true;
	qp->req->cur++;
	return CX_MORE;
}

static enum cx_turn req_datagram(struct cx_dev *d, struct cx_qp *qp,
				 const struct cx_swqe *w, struct cx_flight *fl)
{
	int rc = qp->st == CX_ST_SQ ? cx_eth_send(d, qp, w) :
				      cx_ud_send(d, qp, w);

	if (rc == -EAGAIN || rc == -ENOMEM)
		return CX_BLOCKED;
	if (rc)
		fl->synd = CX_SYND_LOCAL_PROT_ERR;
	fl->done = true;
	qp->req->una = cx_psn_add(fl->psn, 1);
	qp->req->high = qp->req->una;
	qp->req->cur++;
	return CX_MORE;
}

/* Bytes sent and not acknowledged fill the window. */
static bool window_full(const struct cx_qp *qp)
{
	const struct cx_req *r = qp->req;
	uint32_t psn = cx_psn_add(cx_flight(r, r->cur)->psn,
				  r->off >> qp->mtu);
	int32_t out = cx_psn_diff(psn, r->una);

	return out > 0 && (uint64_t)out << qp->mtu >= CX_WINDOW;
}

static enum cx_turn req_step(struct cx_dev *d, struct cx_qp *qp,
			     const struct cx_swqe *w, struct cx_flight *fl)
{
	if (w->local)
		return req_local(d, qp, w, fl);
	if (cx_is_unanswered(qp))
		return req_datagram(d, qp, w, fl);
	if (window_full(qp))
		return CX_IDLE;
	if (w->opcode == CX_OP_RDMA_READ || cx_is_atomic(w->opcode))
		return req_read(d, qp, w, fl);
	return req_data(d, qp, w, fl);
}

enum cx_turn cx_req_run(struct cx_dev *d, struct cx_qp *qp, size_t *budget)
{
	struct cx_req *r = qp->req;
	enum cx_turn turn = CX_MORE;
	struct cx_flight *fl;
	struct cx_swqe w;
	uint32_t bytes;

	while (turn == CX_MORE && *budget) {
		if ((qp->state != CX_RTS && qp->state != CX_SQD) || r->rnr)
			return CX_IDLE;
		if (r->cur == r->end) {
			turn = req_begin(d, qp, &w);
			if (turn != CX_MORE)
				return turn;
			fl = cx_flight(r, r->cur);
		} else {
			fl = cx_flight(r, r->cur);
			if (fl->synd)
				return CX_IDLE;
			cx_req_reread(d, qp, fl, &w);
		}
		bytes = fl->bytes - r->off < CX_FRAME_DATA ?
			fl->bytes - r->off : CX_FRAME_DATA;
		turn = fl->synd ? CX_IDLE : req_step(d, qp, &w, fl);
		cx_req_complete(d, qp);
		cx_spend(budget, turn == CX_MORE ? bytes : 0);
	}
	if (qp->state == CX_RTS && r->cur == r->end &&
	    qp->sq_head == qp->sq_pi)
		return CX_IDLE;
	return turn;
}
