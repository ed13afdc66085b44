// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Send WQEs of an InfiniHost and completion entries. How far a queue is posted, a
 * record says. The opcode, the size and the fence of a WQE stand in the WQE before it.
 */
#include <string.h>

#include "cx_hx.h"

int hx_mt_sq_posted(struct cx_dev *d, const struct cx_qp *qp, uint16_t *pi)
{
	uint32_t count;

	if (cx_record_read(d, qp->sq_dbr, &count))
		return -EFAULT;
	*pi = count & 0xffff;
	return 0;
}

int hx_mt_wqe_peek(struct cx_dev *d, const struct cx_qp *qp, uint16_t index,
		   struct cx_swqe *w)
{
	uint8_t before[MT_NEXT_BYTES];

	/* What a WQE lacks goes to the peer as zeroes, not as the stack was. */
	memset(w, 0, offsetof(struct cx_swqe, sge));
	w->index = index;
	w->bbs = 1;
	if (hx_wqe_copy(d, qp, index - 1, 0, before, sizeof(before)) ||
	    hx_wqe_copy(d, qp, index, 0, w->raw, HX_SEG))
		return -EFAULT;
	w->opcode = hx_get(before, MT_NEXT_OPCODE);
	w->fence = hx_get(before, MT_NEXT_FENCE) ? CX_FENCE_READS :
						   CX_FENCE_NONE;
	w->len = hx_get(before, MT_NEXT_SIZE) * HX_SEG;
	w->signaled = hx_get(w->raw, MT_WQE_SIGNALED) ||
		      hx_get(qp->hx_qpc, MT_QPC_SSC);
	w->solicited = hx_get(w->raw, MT_WQE_SOLICITED);
	w->imm = hx_get(w->raw, MT_WQE_IMM);
	w->local = w->opcode == CX_OP_NOP;
	return 0;
}

/* ---- completion entries ---- */
/* What a receive completion tells of the sender. */
static void sender(const struct cx_dev *d, const struct cx_qp *qp,
		   const struct cx_frame *f, uint8_t *cqe)
{
	bool datagram = f->kind == CX_F_DATAGRAM;

	hx_set(cqe, MT_CQE_RQPN, f->sqpn & HX_NUMBER);
	hx_set(cqe, MT_CQE_SL, f->sl & 0xf);
	hx_set(cqe, MT_CQE_GRH, f->grh && datagram);
	hx_set(cqe, MT_CQE_PATH, hx_path_bits(d, f));
	hx_set(cqe, MT_CQE_RLID, f->slid);
	if (f->imm)
		hx_set(cqe, MT_CQE_IMM, f->imm_data);
	else if (datagram)
		hx_set(cqe, MT_CQE_PKEY, hx_pkey_index(d, qp, f));
}

/* Offset of a WQE in the memory of its queue. */
static uint32_t offset(const struct cx_dev *d, const struct cx_qp *qp,
		       const struct cx_comp *comp)
{
	const struct cx_srq *srq = cx_ids_get(&d->srqs, qp->srqn);
	uint32_t at = comp->wqe;

	if (comp->send)
		return qp->sq_off + ((at & ((1u << qp->log_sq) - 1))
				     << qp->log_sq_stride);
	if (qp->srqn != CX_NONE)
		return srq ? at << srq->log_stride : 0;
	return (at & ((1u << qp->log_rq) - 1)) << qp->log_rq_stride;
}

static uint8_t opcode(const struct cx_comp *comp)
{
	if (comp->syndrome)
		return comp->send ? MT_OP_ERROR_SEND : MT_OP_ERROR_RECV;
	if (comp->send)
		return comp->opcode;
	return comp->opcode == CX_RECV_SEND_IMM ? MT_RECV_SEND_IMM :
	       comp->opcode == CX_RECV_WRITE_IMM ? MT_RECV_WRITE_IMM :
						   MT_RECV_SEND;
}

void hx_mt_complete(struct cx_dev *d, struct cx_qp *qp, struct cx_cq *cq,
		    const struct cx_comp *comp)
{
	uint8_t cqe[CX_CQE_MAX] = { 0 };

	if (comp->syndrome) {
		hx_set(cqe, MT_CQE_SYND, comp->syndrome);
		hx_set(cqe, MT_CQE_VENDOR, hx_vendor(comp));
	} else {
		if (comp->f)
			sender(d, qp, comp->f, cqe);
		hx_set(cqe, HX_CQE_LEN, comp->bytes);
		hx_set(cqe, MT_CQE_SEND, comp->send);
	}
	hx_set(cqe, HX_CQE_QPN, qp->qpn);
	hx_set(cqe, MT_CQE_WQE, offset(d, qp, comp));
	hx_set(cqe, MT_CQE_OPCODE, opcode(comp));
	cx_cq_post(d, cq, cqe,
		   comp->syndrome || (comp->f && comp->f->solicited));
}
