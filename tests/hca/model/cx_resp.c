// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The responder of RC, UC and XRC: carries out SEND, WRITE, READ and atomic
 * requests as they come, in the order of their PSNs. What it answers is sent
 * later, by cx_resp_run(), so that one ACK covers all that came meanwhile and
 * nothing overtakes the data of a READ. Frames are untrusted: each is checked
 * against the message that it continues, and each access against its key.
 */
#include "cx_eng.h"

/* What becomes of a request. */
enum verdict {
	OK,
	DROP,		/* as if it had not come */
	RNR,		/* nothing is posted to receive it */
	REFUSE,		/* the peer's fault; rs->nak, rs->event */
	BROKEN,		/* the receive queue's fault; it was completed */
};

static enum verdict refuse(struct cx_qp *qp, enum verdict verdict,
			   enum cx_nak nak, enum cx_event event)
{
	qp->resp->nak = nak;
	qp->resp->event = event;
	return verdict;
}

static enum verdict invalid(struct cx_qp *qp)
{
	return refuse(qp, REFUSE, CX_NAK_INVALID, CX_EV_WQ_INVAL_REQ);
}

static enum verdict no_access(struct cx_dev *d, struct cx_qp *qp)
{
	cx_counter(d, qp)->resp_remote_access_errors++;
	return refuse(qp, REFUSE, CX_NAK_ACCESS, CX_EV_WQ_ACCESS);
}

/* ---- receive WQEs ---- */

static struct cx_srq *xrc_srq(struct cx_dev *d, const struct cx_qp *qp,
			      uint32_t srqn)
{
	struct cx_srq *srq = cx_ids_get(&d->srqs, srqn);

	return srq && srq->kind == CX_SRQ_XRC && srq->xrcd == qp->xrcd ? srq :
									 NULL;
}

uint32_t cx_resp_pd(struct cx_dev *d, const struct cx_qp *qp,
		    uint32_t xrc_srqn)
{
	const struct cx_srq *srq;

	if (qp->st != CX_ST_XRC)
		return qp->pd;
	srq = xrc_srq(d, qp, xrc_srqn);
	return srq ? srq->pd : CX_NONE;
}

int cx_resp_take(struct cx_dev *d, struct cx_qp *qp, uint32_t xrc_srqn)
{
	struct cx_resp *rs = qp->resp;
	struct cx_srq *srq;
	int rc;

	if (rs->have_w)
		return 0;
	if (qp->st == CX_ST_XRC)
		srq = xrc_srq(d, qp, xrc_srqn);
	else
		srq = cx_ids_get(&d->srqs, qp->srqn);
	rs->w_srqn = srq && cx_srq_has_cq(srq) ? srq->srqn : CX_NONE;
	if (srq)
		rc = cx_srq_take(d, srq, &rs->w);
	else
		rc = cx_rq_take(d, qp, &rs->w);
	rs->have_w = !rc;
	return rc;
}

/* The PD of the memory that the taken WQE points to. */
static uint32_t recv_pd(struct cx_dev *d, const struct cx_qp *qp)
{
	const struct cx_srq *srq;

	if (qp->st == CX_ST_XRC)
		return cx_resp_pd(d, qp, qp->resp->w_srqn);
	srq = cx_ids_get(&d->srqs, qp->srqn);
	return srq ? srq->pd : qp->pd;
}

int cx_resp_scatter(struct cx_dev *d, struct cx_qp *qp, uint64_t off,
		    const void *from, size_t len)
{
	const struct cx_rwqe *w = &qp->resp->w;
	uint32_t pd = recv_pd(d, qp);
	const uint8_t *at = from;
	struct cx_mkey *k;
	unsigned int i;
	uint64_t addr;
	size_t part;
	int rc;

	for (i = 0; len && i < w->nr; i++) {
		if (off >= w->sge[i].len) {
			off -= w->sge[i].len;
			continue;
		}
		addr = w->sge[i].addr + off;
		part = w->sge[i].len - off < len ? w->sge[i].len - off : len;
		k = cx_mkey_check(d, w->sge[i].key, pd, qp->qpn, addr, part,
				  CX_LW, &rc);
		if (k)
			rc = cx_mkey_write(d, k, addr, at, part);
		if (rc)
			return rc;
		at += part;
		len -= part;
		off = 0;
	}
	return len ? -ERANGE : 0;
}

/* What a receive WQE that cannot be taken means. */
static enum verdict take(struct cx_dev *d, struct cx_qp *qp,
			 const struct cx_frame *f)
{
	int rc = cx_resp_take(d, qp, f->xrc_srqn);

	if (!rc)
		return OK;
	if (rc != -ENOENT)
		return refuse(qp, BROKEN, CX_NAK_OPERATION, CX_EV_WQ_CATAS);
	cx_counter(d, qp)->out_of_buffer++;
	return RNR;
}

static enum verdict recv_broken(struct cx_dev *d, struct cx_qp *qp,
				const struct cx_frame *f, uint8_t syndrome)
{
	bool length = syndrome == CX_SYND_LOCAL_LENGTH_ERR;

	if (length)
		cx_counter(d, qp)->resp_local_length_error++;
	cx_recv_done(d, qp, f, 0, 0, syndrome);
	return refuse(qp, BROKEN, length ? CX_NAK_INVALID : CX_NAK_OPERATION,
		      0);
}

/* ---- requests ---- */

/* Finds what receives a message: a tagged buffer, or a receive WQE. */
static enum verdict send_begin(struct cx_dev *d, struct cx_qp *qp,
			       const struct cx_frame *f)
{
	int rc = cx_tm_begin(d, qp, f);
	enum verdict v;

	qp->resp->off = 0;
	if (rc != -ENOENT)
		return rc ? RNR : OK;
	v = take(d, qp, f);
	if (v == OK)
		cx_tm_unmatched(d, qp, f);
	return v;
}

static enum verdict rx_send(struct cx_dev *d, struct cx_qp *qp,
			    const struct cx_frame *f)
{
	const uint8_t *data = f->data;
	struct cx_resp *rs = qp->resp;
	uint32_t len = f->len;
	enum verdict v;

	if (f->first) {
		v = send_begin(d, qp, f);
		if (v != OK)
			return v;
		cx_tm_cut(rs, &data, &len);
	}
	if (rs->off + len > CX_MAX_MSG || rs->off + len > rs->w.bytes)
		return recv_broken(d, qp, f,
				   CX_SYND_LOCAL_LENGTH_ERR);
	if (cx_resp_scatter(d, qp, rs->off, data, len))
		return recv_broken(d, qp, f,
				   CX_SYND_LOCAL_PROT_ERR);
	rs->off += len;
	if (!f->last) {
		rs->msg = CX_MSG_SEND;
		return OK;
	}
	if (f->inv && cx_invalidate(d, qp, f->imm_data))
		return no_access(d, qp);
	rs->msg = CX_MSG_NONE;
	if (rs->tm == CX_TM_RNDV)
		cx_rndv_begin(d, qp, f);
	else
		cx_recv_done(d, qp, f, f->inv ? CX_RECV_SEND_INV :
			     f->imm ? CX_RECV_SEND_IMM : CX_RECV_SEND,
			     rs->off, 0);
	return OK;
}

static bool write_ok(struct cx_dev *d, const struct cx_qp *qp,
		     const struct cx_frame *f, uint64_t off, uint64_t len,
		     struct cx_mkey **k)
{
	const struct cx_resp *rs = qp->resp;
	int why;

	*k = NULL;
	if (!len)
		return true;
	*k = cx_mkey_check(d, rs->rkey, cx_resp_pd(d, qp, f->xrc_srqn),
			   qp->qpn, rs->va + off, len, CX_RW, &why);
	return *k;
}

static enum verdict write_begin(struct cx_dev *d, struct cx_qp *qp,
				const struct cx_frame *f)
{
	struct cx_resp *rs = qp->resp;
	struct cx_mkey *k;

	if (!qp->rwe || f->dma_len > CX_MAX_MSG)
		return invalid(qp);
	rs->off = 0;
	rs->va = f->va;
	rs->rkey = f->rkey;
	rs->dma_len = f->dma_len;
	if (!write_ok(d, qp, f, 0, f->dma_len, &k))
		return no_access(d, qp);
	cx_counter(d, qp)->rx_write_requests++;
	return OK;
}

static enum verdict rx_write(struct cx_dev *d, struct cx_qp *qp,
			     const struct cx_frame *f)
{
	struct cx_resp *rs = qp->resp;
	enum verdict v = OK;
	struct cx_mkey *k;

	if (f->first)
		v = write_begin(d, qp, f);
	if (v == OK && (f->len > rs->dma_len - rs->off ||
			f->last != (rs->off + f->len == rs->dma_len)))
		v = invalid(qp);
	if (v == OK && f->last && f->imm)
		v = take(d, qp, f);
	if (v != OK)
		return v;
	if (!write_ok(d, qp, f, rs->off, f->len, &k))
		return no_access(d, qp);
	if (k && cx_mkey_write(d, k, rs->va + rs->off, f->data, f->len))
		return no_access(d, qp);
	rs->off += f->len;
	rs->msg = f->last ? CX_MSG_NONE : CX_MSG_WRITE;
	if (f->last && f->imm)
		cx_recv_done(d, qp, f, CX_RECV_WRITE_IMM, rs->dma_len, 0);
	return OK;
}

/* Room among the kept requests. */
static enum verdict rd_room(struct cx_qp *qp)
{
	int rc = cx_resp_room(qp);

	return rc == -ENOMEM ? DROP : rc ? invalid(qp) : OK;
}

static enum verdict rx_read(struct cx_dev *d, struct cx_qp *qp,
			    const struct cx_frame *f)
{
	enum verdict v;
	int why;

	if (!qp->rre || f->dma_len > CX_MAX_MSG)
		return invalid(qp);
	v = rd_room(qp);
	if (v != OK)
		return v;
	if (f->dma_len &&
	    !cx_mkey_check(d, f->rkey, cx_resp_pd(d, qp, f->xrc_srqn),
			   qp->qpn, f->va, f->dma_len, CX_RR, &why))
		return no_access(d, qp);
	cx_counter(d, qp)->rx_read_requests++;
	cx_resp_keep(qp, f);
	return OK;
}

/*
 * Numbers travel as such; in memory they have the order of bytes of the host,
 * which is little endian for this device.
 */
static enum verdict rx_atomic(struct cx_dev *d, struct cx_qp *qp,
			      const struct cx_frame *f)
{
	uint64_t old, new;
	struct cx_mkey *k;
	enum verdict v;
	int why;

	if (!qp->rae || f->va & 7)
		return invalid(qp);
	v = rd_room(qp);
	if (v != OK)
		return v;
	k = cx_mkey_check(d, f->rkey, cx_resp_pd(d, qp, f->xrc_srqn), qp->qpn,
			  f->va, 8, CX_ATOMIC, &why);
	if (!k)
		return no_access(d, qp);
	if (cx_mkey_read(d, k, f->va, &old, 8))
		return no_access(d, qp);
	old = le64toh(old);
	if (f->kind == CX_F_FETCH_ADD)
		new = old + f->swap_add;
	else
		new = old == f->compare ? f->swap_add : old;
	new = htole64(new);
	if (cx_mkey_write(d, k, f->va, &new, 8))
		return no_access(d, qp);
	cx_counter(d, qp)->rx_atomic_requests++;
	cx_resp_keep(qp, f)->result = old;
	return OK;
}

/* Does the frame continue what has come, and is it what it says it is? */
static bool fits(struct cx_dev *d, const struct cx_qp *qp,
		 const struct cx_frame *f)
{
	enum cx_msg msg = qp->resp->msg;

	if (qp->st == CX_ST_XRC && !xrc_srq(d, qp, f->xrc_srqn))
		return false;
	switch (f->kind) {
	case CX_F_SEND:
		return f->first ? msg == CX_MSG_NONE : msg == CX_MSG_SEND;
	case CX_F_WRITE:
		return f->first ? msg == CX_MSG_NONE : msg == CX_MSG_WRITE;
	default:
		return msg == CX_MSG_NONE && qp->st != CX_ST_UC;
	}
}

static enum verdict rx_one(struct cx_dev *d, struct cx_qp *qp,
			   const struct cx_frame *f)
{
	bool read = f->kind == CX_F_READ;

	if (!fits(d, qp, f) || f->len > CX_FRAME_DATA ||
	    (!read && f->npsn != cx_psns(qp, f->len)) ||
	    (read && f->npsn != cx_psns(qp, f->dma_len)))
		return invalid(qp);
	switch (f->kind) {
	case CX_F_SEND:
		return rx_send(d, qp, f);
	case CX_F_WRITE:
		return rx_write(d, qp, f);
	case CX_F_READ:
		return rx_read(d, qp, f);
	case CX_F_CMP_SWAP:
	case CX_F_FETCH_ADD:
		return rx_atomic(d, qp, f);
	default:
		return DROP;
	}
}

static void accepted(struct cx_dev *d, struct cx_qp *qp,
		     const struct cx_frame *f)
{
	struct cx_resp *rs = qp->resp;

	rs->epsn = cx_psn_add(f->psn, f->npsn);
	rs->msn = (rs->msn + f->last) & (CX_PSNS - 1);
	rs->gap = false;
	if (qp->state == CX_RTR && !rs->established) {
		rs->established = true;
		cx_event_qp(d, CX_EV_COMM_EST, qp->qpn);
	}
}

/* ---- reliable and unreliable connections ---- */

static void nak(struct cx_dev *d, struct cx_qp *qp, uint8_t code, bool fatal)
{
	struct cx_resp *rs = qp->resp;

	rs->nak = code;
	rs->nak_psn = rs->epsn;
	rs->nak_due = true;
	rs->fatal = fatal;
	rs->gap = true;
	cx_qp_schedule(d, qp);
}

static void rc_rx(struct cx_dev *d, struct cx_qp *qp, const struct cx_frame *f)
{
	struct cx_resp *rs = qp->resp;
	int32_t ahead = cx_psn_diff(f->psn, rs->epsn);

	if (ahead < 0) {
		cx_resp_repeat(d, qp, f);
		return;
	}
	if (ahead > 0) {
		cx_counter(d, qp)->out_of_sequence++;
		d->stats.frames_dropped++;
		if (!rs->gap)
			nak(d, qp, CX_NAK_PSN, false);
		return;
	}
	switch (rx_one(d, qp, f)) {
	case OK:
		accepted(d, qp, f);
		rs->ack_due |= f->ack_req;
		if (rs->ack_due || rs->rd_pending)
			cx_qp_schedule(d, qp);
		break;
	case RNR:
		nak(d, qp, CX_NAK_RNR, false);
		break;
	case REFUSE:
	case BROKEN:
		nak(d, qp, rs->nak, true);
		break;
	default:
		d->stats.frames_dropped++;
		break;
	}
}

/*
 * Nothing is repeated: a message of which a frame is missing, or that cannot
 * be received, is lost. Its receive WQE waits for the next one.
 */
static void uc_rx(struct cx_dev *d, struct cx_qp *qp, const struct cx_frame *f)
{
	struct cx_resp *rs = qp->resp;

	if (f->psn != rs->epsn || f->first)
		rs->msg = CX_MSG_NONE;
	rs->epsn = cx_psn_add(f->psn, f->npsn);
	if (!fits(d, qp, f)) {
		d->stats.frames_dropped++;
		return;
	}
	switch (rx_one(d, qp, f)) {
	case OK:
		accepted(d, qp, f);
		break;
	case BROKEN:
		cx_qp_fail(d, qp, rs->event);
		break;
	default:
		rs->msg = CX_MSG_NONE;
		d->stats.frames_dropped++;
		break;
	}
}

void cx_resp_rx(struct cx_dev *d, struct cx_qp *qp, struct cx_frame *f)
{
	if (qp->resp->fatal) {
		d->stats.frames_dropped++;
		return;
	}
	if (qp->st == CX_ST_UC)
		uc_rx(d, qp, f);
	else
		rc_rx(d, qp, f);
}
