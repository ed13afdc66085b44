// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The requester's other half: acknowledgements, NAKs, data of READs and
 * results of atomics, and what happens when none come. Frames may be forged
 * or come twice: a PSN outside of what is sent and not acknowledged is
 * ignored, and what a response says of itself must be what was asked for.
 */
#include "cx_eng.h"

#define ACK_SHIFT	12u	/* a timeout of 4.096 us << 12 at least */

uint64_t cx_req_timeout(const struct cx_qp *qp)
{
	uint8_t shift = qp->ack_timeout;

	if (!shift)
		return 0;
	return 4096ULL << (shift > ACK_SHIFT ? shift : ACK_SHIFT);
}

/* Nanoseconds of a timer code of an RNR NAK. */
static uint64_t rnr_time(uint8_t code)
{
	static const uint32_t us10[32] = {
		65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
		256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192,
		12288, 16384, 24576, 32768, 49152,
	};

	return us10[code & 31] * 10000ULL;
}

static void req_again(struct cx_dev *d, struct cx_qp *qp)
{
	const struct cx_req *r = qp->req;

	if (!r->rnr && (r->cur != r->end || qp->sq_head != qp->sq_pi))
		cx_qp_schedule(d, qp);
}

static void req_progress(struct cx_req *r, uint32_t una)
{
	r->una = una;
	r->progress = true;
	r->late = false;
	r->implied = false;
	r->retries = 0;
	r->rnr_tries = 0;
}

/* Frames of the current message that came through while it was repeated. */
static void skip_acked(struct cx_qp *qp)
{
	struct cx_req *r = qp->req;
	const struct cx_flight *fl = cx_flight(r, r->cur);
	int32_t psns;
	uint64_t off;

	if (r->cur != r->first || r->cur == r->end)
		return;
	psns = cx_psn_diff(r->una, fl->psn);
	off = psns > 0 ? (uint64_t)psns << qp->mtu : 0;
	if (fl->opcode == CX_OP_RDMA_READ)
		off = fl->got;
	off -= off % CX_FRAME_DATA;
	if (off > r->off && off < fl->bytes)
		r->off = off;
}

/*
 * All before the PSN upto has been carried out, but a READ or atomic counts
 * only with its response.
 */
static void req_ack(struct cx_dev *d, struct cx_qp *qp, uint32_t upto)
{
	struct cx_req *r = qp->req;
	struct cx_flight *fl;
	uint32_t n, behind;

	for (n = r->first; n != r->end; n++) {
		fl = cx_flight(r, n);
		behind = cx_psn_add(fl->psn, fl->npsn);
		if (fl->synd || fl->opcode == CX_OP_RDMA_READ ||
		    cx_is_atomic(fl->opcode) ||
		    cx_psn_diff(upto, behind) < 0)
			break;
		fl->done = true;
		req_progress(r, behind);
	}
	if (n != r->end) {
		fl = cx_flight(r, n);
		if (fl->opcode != CX_OP_RDMA_READ &&
		    !cx_is_atomic(fl->opcode) &&
		    cx_psn_diff(upto, r->una) > 0 &&
		    cx_psn_diff(upto, fl->psn) > 0)
			req_progress(r, upto);
	}
	cx_req_complete(d, qp);
	skip_acked(qp);
}

void cx_req_rewind(struct cx_dev *d, struct cx_qp *qp)
{
	struct cx_req *r = qp->req;

	r->cur = r->first;
	r->off = 0;
	r->unasked = 0;
	skip_acked(qp);
	req_again(d, qp);
}

static void req_fail(struct cx_dev *d, struct cx_qp *qp, uint8_t syndrome)
{
	cx_flight(qp->req, qp->req->first)->synd = syndrome;
	cx_req_complete(d, qp);
}

static void req_retry(struct cx_dev *d, struct cx_qp *qp)
{
	struct cx_req *r = qp->req;

	if (r->retries >= qp->retry_count) {
		req_fail(d, qp, CX_SYND_TRANSPORT_RETRY_EXC_ERR);
		return;
	}
	r->retries++;
	d->stats.retries++;
	cx_req_rewind(d, qp);
}

static void req_rnr(struct cx_dev *d, struct cx_qp *qp, uint8_t timer)
{
	struct cx_req *r = qp->req;
	uint64_t now = d->host->now(d->opaque);

	if (r->rnr)
		return;
	if (qp->rnr_retry != 7 && r->rnr_tries >= qp->rnr_retry) {
		cx_counter(d, qp)->rnr_nak_retry_err++;
		req_fail(d, qp, CX_SYND_RNR_RETRY_EXC_ERR);
		return;
	}
	if (qp->rnr_retry != 7)
		r->rnr_tries++;
	d->stats.retries++;
	r->retries = 0;		/* the peer is there */
	r->rnr = true;
	cx_req_rewind(d, qp);
	cx_deadline(d, qp, now + rnr_time(timer));
}

static void rx_nak(struct cx_dev *d, struct cx_qp *qp,
		   const struct cx_frame *f)
{
	struct cx_counter *count = cx_counter(d, qp);
	struct cx_req *r = qp->req;

	req_ack(d, qp, f->psn);
	if (r->first == r->end || r->una != f->psn)
		return;
	switch (f->nak) {
	case CX_NAK_PSN:
		count->packet_seq_err++;
		req_retry(d, qp);
		break;
	case CX_NAK_RNR:
		req_rnr(d, qp, f->timer);
		break;
	case CX_NAK_INVALID:
		count->req_remote_invalid_request++;
		req_fail(d, qp, CX_SYND_REMOTE_INVAL_REQ_ERR);
		break;
	case CX_NAK_ACCESS:
		count->req_remote_access_errors++;
		req_fail(d, qp, CX_SYND_REMOTE_ACCESS_ERR);
		break;
	case CX_NAK_OPERATION:
		req_fail(d, qp, CX_SYND_REMOTE_OP_ERR);
		break;
	default:
		break;
	}
}

/* The oldest flight, if the response is the one that it waits for. */
static struct cx_flight *rx_match(struct cx_dev *d, struct cx_qp *qp,
				  const struct cx_frame *f)
{
	struct cx_req *r = qp->req;
	struct cx_flight *fl;
	bool read;

	req_ack(d, qp, f->psn);
	if (r->first == r->end)
		return NULL;
	fl = cx_flight(r, r->first);
	read = fl->opcode == CX_OP_RDMA_READ;
	if (fl->synd || (f->kind == CX_F_READ_DATA ? !read :
			 !cx_is_atomic(fl->opcode)))
		return NULL;
	return f->psn == cx_psn_add(fl->psn, fl->got >> qp->mtu) ? fl : NULL;
}

static uint8_t read_data(struct cx_dev *d, struct cx_qp *qp,
			 struct cx_flight *fl, const struct cx_frame *f)
{
	uint32_t want = cx_chunk_end(fl, fl->got) - fl->got;
	struct cx_swqe w;

	if (want > CX_FRAME_DATA)
		want = CX_FRAME_DATA;
	if (f->len != want)
		return CX_SYND_BAD_RESP_ERR;
	if (!cx_req_reread(d, qp, fl, &w))
		return fl->synd;
	if (cx_wqe_scatter(d, qp, &w, fl->got, f->data, want))
		return CX_SYND_LOCAL_PROT_ERR;
	return 0;
}

static void rx_read_data(struct cx_dev *d, struct cx_qp *qp,
			 const struct cx_frame *f)
{
	struct cx_flight *fl = rx_match(d, qp, f);
	struct cx_req *r = qp->req;

	if (!fl)
		return;
	fl->synd = read_data(d, qp, fl, f);
	if (!fl->synd) {
		fl->got += f->len;
		fl->done = fl->got == fl->bytes;
		req_progress(r, cx_psn_add(f->psn, cx_psns(qp, f->len)));
	}
	cx_req_complete(d, qp);
	skip_acked(qp);
}

/* The value that was at the other side, in the order of bytes agreed on. */
static void rx_atomic(struct cx_dev *d, struct cx_qp *qp,
		      const struct cx_frame *f)
{
	struct cx_flight *fl = rx_match(d, qp, f);
	struct cx_swqe w;
	uint64_t value;

	if (!fl)
		return;
	value = d->atomic_host ? htole64(f->swap_add) : htobe64(f->swap_add);
	if (cx_req_reread(d, qp, fl, &w) &&
	    cx_wqe_scatter(d, qp, &w, 0, &value, 8))
		fl->synd = CX_SYND_LOCAL_PROT_ERR;
	if (!fl->synd) {
		fl->got = 8;
		fl->done = true;
		req_progress(qp->req, cx_psn_add(f->psn, 1));
	}
	cx_req_complete(d, qp);
	skip_acked(qp);
}

/*
 * Whatever is behind the response that the oldest READ or atomic waits for: that
 * one was lost. It is asked for anew, once until there is progress or a timeout.
 */
static void rx_implied_nak(struct cx_dev *d, struct cx_qp *qp,
			   const struct cx_frame *f)
{
	uint32_t behind = cx_psn_add(f->psn, f->kind == CX_F_ACK);
	const struct cx_flight *fl;
	struct cx_req *r = qp->req;

	if (r->first == r->end || r->implied || r->rnr)
		return;
	fl = cx_flight(r, r->first);
	if ((fl->opcode != CX_OP_RDMA_READ && !cx_is_atomic(fl->opcode)) ||
	    cx_psn_diff(behind, cx_psn_add(fl->psn, fl->got >> qp->mtu)) <= 0)
		return;
	r->implied = true;
	cx_counter(d, qp)->implied_nak_seq_err++;
	req_retry(d, qp);
}

void cx_req_rx(struct cx_dev *d, struct cx_qp *qp, struct cx_frame *f)
{
	struct cx_req *r = qp->req;

	if ((qp->state != CX_RTS && qp->state != CX_SQD) ||
	    !cx_is_reliable(qp) ||
	    cx_psn_diff(f->psn, r->una) < 0 ||
	    cx_psn_diff(f->psn, r->high) >= 0) {
		d->stats.frames_dropped++;
		return;
	}
	switch (f->kind) {
	case CX_F_ACK:
		req_ack(d, qp, cx_psn_add(f->psn, 1));
		break;
	case CX_F_NAK:
		rx_nak(d, qp, f);
		break;
	case CX_F_READ_DATA:
		rx_read_data(d, qp, f);
		break;
	default:
		rx_atomic(d, qp, f);
		break;
	}
	if (qp->state == CX_RTS || qp->state == CX_SQD)
		rx_implied_nak(d, qp, f);
	if (qp->state == CX_RTS || qp->state == CX_SQD)
		req_again(d, qp);
}

void cx_req_timer(struct cx_dev *d, struct cx_qp *qp, uint64_t now)
{
	struct cx_req *r = qp->req;
	uint64_t t = cx_req_timeout(qp);

	if (qp->state != CX_RTS && qp->state != CX_SQD)
		return;
	if (r->rnr) {
		r->rnr = false;
		req_again(d, qp);
		return;
	}
	if (!t || r->first == r->end || cx_psn_diff(r->high, r->una) <= 0)
		return;
	if (r->progress || !r->late) {
		/*
		 * The first time, what is queued is given one more chance to
		 * be delivered: the host may have been late, not the peer.
		 */
		r->late = !r->progress;
		r->progress = false;
		cx_deadline(d, qp, now + (r->late ? t / 2 : t));
		return;
	}
	r->late = false;
	r->implied = false;
	cx_counter(d, qp)->local_ack_timeout_err++;
	cx_deadline(d, qp, now + t);
	req_retry(d, qp);
}
