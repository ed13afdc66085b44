// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Datagrams: sends of UD QPs and of the management QPs 0 and 1, and their
 * reception with the 40 bytes that a GRH would take before the data. Also
 * what every frame has: addresses and P_Key. The sender's queue and the
 * frame are untrusted: keys are checked before a receive WQE is touched.
 */
#include "cx_eng.h"

#define QKEY_PRIVILEGED	0x80000000u	/* of a WQE: use the QP's */
#define QKEY_QP1	0x80010000u

void cx_frame_route(struct cx_dev *d, const struct cx_qp *qp,
		    const struct cx_av *av, struct cx_frame *f)
{
	f->st = qp->st;
	/* A management QP's number among the driver's is nobody else's matter. */
	f->sqpn = qp->st == CX_ST_QP0 ? 0 : qp->st == CX_ST_QP1 ? 1 : qp->qpn;
	f->dqpn = qp->remote_qpn;
	f->slid = av->slid_bits;
	f->dlid = av->dlid;
	f->sl = av->sl;
	f->pkey = d->port.pkey[qp->pkey_index % CX_PKEYS];
	f->grh = av->grh;
	if (!av->grh && !d->config.eth)
		return;
	f->tclass = av->tclass;
	f->hop = av->hop;
	f->flow = av->flow;
	memcpy(f->dgid, av->dgid, sizeof(f->dgid));
	if (d->config.eth)
		cx_roce_route(d, av, f);
	else
		cx_gid(d, av->sgid_index, f->sgid);
}

/* Two P_Keys match if one of them at least is a full member's. */
static bool pkey_match(uint16_t a, uint16_t b)
{
	return a & 0x7fff && !((a ^ b) & 0x7fff) && ((a | b) & 0x8000);
}

bool cx_pkey_ok(struct cx_dev *d, const struct cx_qp *qp, uint16_t pkey)
{
	unsigned int i;

	if (qp->st == CX_ST_QP0)
		return true;
	if (qp->st != CX_ST_QP1 &&
	    pkey_match(d->port.pkey[qp->pkey_index % CX_PKEYS], pkey))
		return true;
	for (i = 0; qp->st == CX_ST_QP1 && i < CX_PKEYS; i++)
		if (pkey_match(d->port.pkey[i], pkey))
			return true;
	d->port.pkey_viol += d->port.pkey_viol != 0xffff;
	return false;
}

/* ---- sending ---- */

int cx_ud_send(struct cx_dev *d, struct cx_qp *qp, const struct cx_swqe *w)
{
	struct cx_frame *f = cx_frame_new(w->bytes);
	int rc;

	if (!f)
		return -ENOMEM;
	if (d->config.eth && !cx_roce_addr(d, w->av.sgid_index)) {
		cx_frame_free(f);
		return -EINVAL;
	}
	rc = cx_wqe_gather(d, qp, w, 0, f->data, w->bytes);
	if (rc) {
		cx_frame_free(f);
		return rc;
	}
	f->kind = CX_F_DATAGRAM;
	cx_frame_route(d, qp, &w->av, f);
	f->st = CX_ST_UD;
	f->dqpn = w->dqpn;
	f->qkey = w->qkey & QKEY_PRIVILEGED ? qp->qkey : w->qkey;
	if (w->pkey)
		f->pkey = w->pkey;
	f->first = true;
	f->last = true;
	f->imm = w->opcode == CX_OP_SEND_IMM;
	f->imm_data = w->imm;
	f->solicited = w->solicited;
	f->npsn = 1;
	f->len = w->bytes;
	rc = cx_wire_send(d, f);
	if (rc == -EAGAIN)
		cx_frame_free(f);
	return rc == -EAGAIN ? rc : 0;
}

/* ---- receiving ---- */

static bool ud_qkey_ok(struct cx_dev *d, const struct cx_qp *qp,
		       const struct cx_frame *f)
{
	uint32_t qkey = qp->st == CX_ST_QP1 ? QKEY_QP1 : qp->qkey;

	if (qp->st == CX_ST_QP0)	/* they talk to each other only */
		return !f->sqpn;
	if (f->qkey == qkey)
		return true;
	d->port.qkey_viol += d->port.qkey_viol != 0xffff;
	return false;
}

/* Data into the taken receive WQE; a syndrome. */
static uint8_t ud_data(struct cx_dev *d, struct cx_qp *qp,
		       const struct cx_frame *f)
{
	uint8_t grh[CX_GRH];

	if (qp->resp->w.bytes < CX_GRH + f->len)
		return CX_SYND_LOCAL_LENGTH_ERR;
	cx_network_header(f, grh);
	if ((f->grh && cx_resp_scatter(d, qp, 0, grh, CX_GRH)) ||
	    cx_resp_scatter(d, qp, CX_GRH, f->data, f->len))
		return CX_SYND_LOCAL_PROT_ERR;
	return 0;
}

static void ud_receive(struct cx_dev *d, struct cx_qp *qp,
		       const struct cx_frame *f)
{
	uint8_t syndrome, op;
	int rc = cx_resp_take(d, qp, 0);

	if (rc == -ENOENT) {
		cx_counter(d, qp)->out_of_buffer++;
		d->stats.frames_dropped++;
		return;
	}
	if (rc) {
		cx_qp_fail(d, qp, CX_EV_WQ_CATAS);
		return;
	}
	syndrome = ud_data(d, qp, f);
	op = f->imm ? CX_RECV_SEND_IMM : CX_RECV_SEND;
	cx_recv_done(d, qp, f, op, CX_GRH + f->len, syndrome);
	if (syndrome == CX_SYND_LOCAL_LENGTH_ERR)
		cx_counter(d, qp)->resp_local_length_error++;
	if (syndrome)
		cx_qp_fail(d, qp, 0);
}

void cx_ud_rx(struct cx_dev *d, struct cx_qp *qp, struct cx_frame *f)
{
	bool ready = qp->state >= CX_RTR && qp->state != CX_QPERR;

	if (!cx_is_ud(qp) || !ready || !cx_pkey_ok(d, qp, f->pkey) ||
	    !ud_qkey_ok(d, qp, f)) {
		d->stats.frames_dropped++;
		return;
	}
	ud_receive(d, qp, f);
}
