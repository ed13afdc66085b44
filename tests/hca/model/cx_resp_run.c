// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What the responder sends: data of READs in slices, results of atomics, one
 * ACK or NAK for all that came. READs and atomics are kept in a ring as long
 * as the requester may repeat them: an atomic is never carried out twice. A
 * repetition is untrusted like a request: it must ask for the rest of one.
 */
#include "cx_eng.h"

void cx_resp_reset(struct cx_qp *qp)
{
	struct cx_resp *rs = qp->resp;

	free(rs->rd);
	memset(rs, 0, sizeof(*rs));
	rs->w_srqn = CX_NONE;
}

/* ---- kept requests ---- */

static struct cx_rd *rd_at(const struct cx_resp *rs, uint32_t n)
{
	return &rs->rd[(rs->rd_first + n) & (rs->rd_room - 1)];
}

int cx_resp_room(struct cx_qp *qp)
{
	struct cx_resp *rs = qp->resp;
	uint32_t room = 1u << qp->log_rra_max;

	if (!rs->rd) {
		rs->rd = calloc(room, sizeof(*rs->rd));
		if (!rs->rd)
			return -ENOMEM;
		rs->rd_room = room;
	}
	return rs->rd_nr == rs->rd_room && rd_at(rs, 0)->pending ? -EBUSY : 0;
}

static void rd_pend(struct cx_resp *rs, struct cx_rd *rd)
{
	if (!rd->pending)
		rs->rd_pending++;
	rd->pending = true;
}

struct cx_rd *cx_resp_keep(struct cx_qp *qp, const struct cx_frame *f)
{
	struct cx_resp *rs = qp->resp;
	struct cx_rd *rd;

	if (rs->rd_nr == rs->rd_room) {
		rs->rd_first++;
		rs->rd_nr--;
	}
	rd = rd_at(rs, rs->rd_nr++);
	memset(rd, 0, sizeof(*rd));
	rd->kind = f->kind;
	rd->psn = f->psn;
	rd->npsn = f->npsn;
	rd->srqn = f->xrc_srqn;
	rd->rkey = f->rkey;
	rd->va = f->va;
	rd->len = f->dma_len;
	rd_pend(rs, rd);
	return rd;
}

/* The kept request of that kind that a PSN belongs to. */
static struct cx_rd *rd_find(const struct cx_resp *rs, uint8_t kind,
			     uint32_t psn)
{
	struct cx_rd *rd;
	uint32_t n;
	int32_t diff;

	/* The newest first: PSNs come again after a while. */
	for (n = rs->rd_nr; n--;) {
		rd = rd_at(rs, n);
		diff = cx_psn_diff(psn, rd->psn);
		if (rd->kind == kind && diff >= 0 &&
		    (uint32_t)diff < rd->npsn)
			return rd;
	}
	return NULL;
}

static bool read_again(const struct cx_qp *qp, struct cx_rd *rd,
		       const struct cx_frame *f)
{
	uint64_t from = (uint64_t)(uint32_t)cx_psn_diff(f->psn, rd->psn) <<
			qp->mtu;

	if (f->rkey != rd->rkey || f->va != rd->va + from ||
	    from > rd->len || f->dma_len != rd->len - from)
		return false;
	if (!rd->pending || from < rd->off)
		rd->off = from;
	return true;
}

void cx_resp_repeat(struct cx_dev *d, struct cx_qp *qp,
		    const struct cx_frame *f)
{
	struct cx_resp *rs = qp->resp;
	struct cx_rd *rd;

	cx_counter(d, qp)->duplicate_request++;
	if (f->kind == CX_F_SEND || f->kind == CX_F_WRITE) {
		rs->ack_due = true;
		cx_qp_schedule(d, qp);
		return;
	}
	rd = rd_find(rs, f->kind, f->psn);
	if (!rd || (f->kind == CX_F_READ && !read_again(qp, rd, f))) {
		d->stats.frames_dropped++;
		return;
	}
	rd_pend(rs, rd);
	cx_qp_schedule(d, qp);
}

/* ---- answers ---- */

static struct cx_frame *resp_frame(struct cx_dev *d, const struct cx_qp *qp,
				   uint8_t kind, uint32_t psn, uint32_t len)
{
	struct cx_frame *f = cx_frame_new(len);

	if (!f)
		return NULL;
	f->kind = kind;
	cx_frame_route(d, qp, &qp->av, f);
	f->psn = psn & (CX_PSNS - 1);
	f->npsn = cx_psns(qp, len);
	f->len = len;
	f->first = true;
	f->last = true;
	return f;
}

static enum cx_turn resp_send(struct cx_dev *d, struct cx_frame *f)
{
	if (!f)
		return CX_BLOCKED;
	if (cx_wire_send(d, f) != -EAGAIN)
		return CX_MORE;
	cx_frame_free(f);
	return CX_BLOCKED;
}

/* The memory of a READ cannot be read any more. */
static enum cx_turn read_failed(struct cx_dev *d, struct cx_qp *qp,
				const struct cx_rd *rd)
{
	struct cx_resp *rs = qp->resp;

	cx_counter(d, qp)->resp_remote_access_errors++;
	rs->nak = CX_NAK_ACCESS;
	rs->nak_psn = cx_psn_add(rd->psn, rd->off >> qp->mtu);
	rs->event = CX_EV_WQ_ACCESS;
	rs->nak_due = true;
	rs->fatal = true;
	rs->rd_pending = 0;
	return CX_MORE;
}

static enum cx_turn send_read(struct cx_dev *d, struct cx_qp *qp,
			      struct cx_rd *rd, uint32_t len)
{
	uint32_t psn = rd->psn + (rd->off >> qp->mtu);
	struct cx_frame *f = resp_frame(d, qp, CX_F_READ_DATA, psn, len);
	struct cx_mkey *k = NULL;
	enum cx_turn turn;
	int why = 0;

	if (f && len)
		k = cx_mkey_check(d, rd->rkey, cx_resp_pd(d, qp, rd->srqn),
				  qp->qpn, rd->va + rd->off, len, CX_RR, &why);
	if (k)
		why = cx_mkey_read(d, k, rd->va + rd->off, f->data, len);
	if (why) {
		cx_frame_free(f);
		return read_failed(d, qp, rd);
	}
	if (f) {
		f->first = !rd->off;
		f->last = rd->off + len == rd->len;
	}
	turn = resp_send(d, f);
	if (turn == CX_MORE)
		rd->off += len;
	if (turn == CX_MORE && rd->off == rd->len) {
		rd->pending = false;
		qp->resp->rd_pending--;
	}
	return turn;
}

static enum cx_turn send_result(struct cx_dev *d, struct cx_qp *qp,
				struct cx_rd *rd)
{
	struct cx_frame *f = resp_frame(d, qp, CX_F_ATOMIC_DATA, rd->psn, 0);
	enum cx_turn turn;

	if (f)
		f->swap_add = rd->result;
	turn = resp_send(d, f);
	if (turn == CX_MORE) {
		rd->pending = false;
		qp->resp->rd_pending--;
	}
	return turn;
}

static enum cx_turn send_rd(struct cx_dev *d, struct cx_qp *qp, size_t *budget)
{
	struct cx_resp *rs = qp->resp;
	enum cx_turn turn;
	struct cx_rd *rd;
	uint32_t n, len;

	for (n = 0; n < rs->rd_nr && !rd_at(rs, n)->pending; n++)
		;
	if (n == rs->rd_nr) {
		rs->rd_pending = 0;
		return CX_MORE;
	}
	rd = rd_at(rs, n);
	if (rd->kind != CX_F_READ) {
		cx_spend(budget, 0);
		return send_result(d, qp, rd);
	}
	len = rd->len - rd->off;
	if (len > CX_FRAME_DATA)
		len = CX_FRAME_DATA;
	turn = send_read(d, qp, rd, len);
	cx_spend(budget, turn == CX_MORE ? len : 0);
	return turn;
}

static enum cx_turn send_ack(struct cx_dev *d, struct cx_qp *qp)
{
	struct cx_resp *rs = qp->resp;
	enum cx_turn turn;
	struct cx_frame *f;

	f = resp_frame(d, qp, rs->nak_due ? CX_F_NAK : CX_F_ACK,
		       rs->nak_due ? rs->nak_psn : rs->epsn - 1, 0);
	if (f && rs->nak_due) {
		f->nak = rs->nak;
		f->timer = qp->min_rnr_nak;
	}
	turn = resp_send(d, f);
	if (turn == CX_BLOCKED)
		return turn;
	rs->ack_due = false;
	rs->nak_due = false;
	if (rs->fatal)
		cx_qp_fail(d, qp, rs->event);
	return CX_IDLE;
}

enum cx_turn cx_resp_run(struct cx_dev *d, struct cx_qp *qp, size_t *budget)
{
	struct cx_resp *rs = qp->resp;
	enum cx_turn turn;

	while (rs->rd_pending) {
		if (!*budget)
			return CX_MORE;
		turn = send_rd(d, qp, budget);
		if (turn == CX_BLOCKED)
			return turn;
	}
	if (!rs->ack_due && !rs->nak_due)
		return CX_IDLE;
	cx_spend(budget, 0);
	return send_ack(d, qp);
}
