// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Send WQEs of a ConnectX-3 and completion entries. A WQE is posted when its owner bit
 * is that of its lap: there is no doorbell record. A scan never goes further than the
 * queue is long.
 */
#include <string.h>

#include "cx_hx.h"

int hx_m4_sq_posted(struct cx_dev *d, const struct cx_qp *qp, uint16_t *pi)
{
	uint32_t size = 1u << qp->log_sq;
	uint16_t n = qp->sq_pi;
	uint8_t word[4];

	while ((uint16_t)(n - qp->sq_tail) < size) {
		if (hx_wqe_copy(d, qp, n, 0, word, sizeof(word)))
			return -EFAULT;
		if (hx_get(word, HX_WQE_OWNER) != (n >> qp->log_sq & 1))
			break;
		n++;
	}
	*pi = n;
	return 0;
}

int hx_m4_wqe_peek(struct cx_dev *d, const struct cx_qp *qp, uint16_t index,
		   struct cx_swqe *w)
{
	/* What a WQE lacks goes to the peer as zeroes, not as the stack was. */
	memset(w, 0, offsetof(struct cx_swqe, sge));
	w->index = index;
	w->bbs = 1;
	if (hx_wqe_copy(d, qp, index, 0, w->raw, HX_SEG))
		return -EFAULT;
	w->opcode = hx_get(w->raw, HX_WQE_OPCODE);
	w->signaled = hx_get(w->raw, HX_WQE_SIGNALED);
	w->solicited = hx_get(w->raw, HX_WQE_SOLICITED);
	w->fence = hx_get(w->raw, HX_WQE_FENCE) ? CX_FENCE_READS :
						  CX_FENCE_NONE;
	w->imm = hx_get(w->raw, HX_WQE_IMM);
	w->len = hx_get(w->raw, HX_WQE_SIZE) * HX_SEG;
	w->local = w->opcode == CX_OP_NOP;
	return 0;
}

/* ---- completion entries ---- */
/* What a receive completion tells of the sender. */
static void sender(const struct cx_dev *d, const struct cx_qp *qp,
		   const struct cx_frame *f, uint8_t *cqe)
{
	bool datagram = f->kind == CX_F_DATAGRAM;

	hx_set(cqe, HX_CQE_RQPN, f->sqpn & HX_NUMBER);
	hx_set(cqe, HX_CQE_GRH, f->grh && datagram);
	hx_set(cqe, HX_CQE_PATH, hx_path_bits(d, f));
	hx_set(cqe, HX_CQE_SL, f->sl & 0xf);
	hx_set(cqe, HX_CQE_RLID, f->slid);
	if (f->imm || f->inv)
		hx_set(cqe, HX_CQE_IMM, f->imm_data);
	else if (datagram)
		hx_set(cqe, HX_CQE_IMM, hx_pkey_index(d, qp, f));
}

void hx_m4_complete(struct cx_dev *d, struct cx_qp *qp, struct cx_cq *cq,
		    const struct cx_comp *comp)
{
	uint8_t cqe[CX_CQE_MAX] = { 0 };

	if (comp->f)
		sender(d, qp, comp->f, cqe);
	hx_set(cqe, HX_CQE_QPN, qp->qpn);
	hx_set(cqe, HX_CQE_LEN, comp->bytes);
	hx_set(cqe, HX_CQE_WQE, comp->wqe);
	hx_set(cqe, HX_CQE_SEND, comp->send);
	hx_set(cqe, HX_CQE_OPCODE, comp->syndrome ? HX_OP_ERROR : comp->opcode);
	if (comp->syndrome) {
		hx_set(cqe, HX_CQE_SYND, comp->syndrome);
		hx_set(cqe, HX_CQE_VENDOR, hx_vendor(comp));
	}
	cx_cq_post(d, cq, cqe,
		   comp->syndrome || (comp->f && comp->f->solicited));
}
