// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Send WQEs of both generations. WQEs are a process's memory, which may change at any
 * time: each is copied, and parsed anew for each frame.
 */
#include <string.h>

#include "cx_hx.h"

enum { VENDOR_SEND = 0x51, VENDOR_RECV = 0x52, VENDOR_FLUSH = 0xf5 };

int hx_wqe_copy(struct cx_dev *d, const struct cx_qp *qp, uint16_t index,
		uint32_t off, void *to, uint32_t len)
{
	uint32_t at = index & ((1u << qp->log_sq) - 1);

	return cx_buf_read(d, &qp->buf,
			   qp->sq_off + ((uint64_t)at << qp->log_sq_stride) + off,
			   to, len);
}

static uint32_t parse_ud(struct cx_swqe *w)
{
	const uint8_t *ud = w->raw + HX_SEG;
	struct cx_av *av = &w->av;

	if (w->len < HX_SEG + HX_UD_BYTES)
		return w->len + 1;
	av->grh = hx_get(ud, HX_UD_GRH);
	av->slid_bits = hx_get(ud, HX_UD_BITS);
	av->dlid = hx_get(ud, HX_UD_LID);
	av->sl = hx_get(ud, HX_UD_SL);
	w->qkey = hx_get(ud, HX_UD_QKEY);
	w->dqpn = hx_get(ud, HX_UD_QPN);
	if (av->grh) {
		av->sgid_index = hx_get(ud, HX_UD_SGID);
		av->hop = hx_get(ud, HX_UD_HOP);
		av->tclass = hx_get(ud, HX_UD_TCLASS);
		av->flow = hx_get(ud, HX_UD_FLOW);
		memcpy(av->dgid, ud + HX_UD_DGID, sizeof(av->dgid));
	}
	return HX_SEG + HX_UD_BYTES;
}

static bool needs_raddr(uint8_t opcode)
{
	return opcode == CX_OP_RDMA_WRITE || opcode == CX_OP_RDMA_WRITE_IMM ||
	       opcode == CX_OP_RDMA_READ || cx_is_atomic(opcode);
}

/* Segments between the control and the data segments. */
static uint32_t parse_head(const struct cx_qp *qp, struct cx_swqe *w)
{
	uint32_t off = HX_SEG;

	if (qp->st == CX_ST_UD)
		return parse_ud(w);
	if (!needs_raddr(w->opcode))
		return off;
	w->raddr = cx_be64_get(w->raw + off);
	w->rkey = cx_be32_get(w->raw + off + 8);
	off += HX_SEG;
	if (!cx_is_atomic(w->opcode))
		return off;
	w->swap_add = cx_be64_get(w->raw + off);
	w->compare = cx_be64_get(w->raw + off + 8);
	return off + HX_SEG;
}

static bool opcode_ok(const struct cx_dev *d, const struct cx_qp *qp,
		      uint8_t opcode)
{
	bool reliable = cx_is_reliable(qp);

	switch (opcode) {
	case CX_OP_NOP:
	case CX_OP_SEND:
	case CX_OP_SEND_IMM:
		return true;
	case CX_OP_RDMA_WRITE:
	case CX_OP_RDMA_WRITE_IMM:
		return reliable || qp->st == CX_ST_UC;
	case CX_OP_SEND_INVAL:
		return reliable && d->family->hx->send_inval;
	case CX_OP_RDMA_READ:
	case CX_OP_ATOMIC_CS:
	case CX_OP_ATOMIC_FA:
		return reliable;
	default:
		return false;
	}
}

int hx_wqe_read(struct cx_dev *d, const struct cx_qp *qp, uint16_t index,
		struct cx_swqe *w)
{
	uint32_t off;

	if (cx_wqe_peek(d, qp, index, w))
		return -EFAULT;
	if (w->len < HX_SEG || w->len > 1u << qp->log_sq_stride ||
	    !opcode_ok(d, qp, w->opcode))
		return -EINVAL;
	if (hx_wqe_copy(d, qp, index, HX_SEG, w->raw + HX_SEG, w->len - HX_SEG))
		return -EFAULT;
	if (w->local)
		return 0;
	off = parse_head(qp, w);
	if (off > w->len || cx_wqe_pieces(w, off))
		return -EINVAL;
	return qp->st == CX_ST_QP0 || qp->st == CX_ST_QP1 ?
	       hx_mlx_headers(d, qp, w) : 0;
}

/* Nothing but a NOP yet. */
uint8_t hx_local(struct cx_dev *d, struct cx_qp *qp, const struct cx_swqe *w)
{
	return 0;
}

/* ---- completion entries ---- */
uint32_t hx_pkey_index(const struct cx_dev *d, const struct cx_qp *qp,
		       const struct cx_frame *f)
{
	unsigned int i;

	if (qp->st == CX_ST_QP1)
		for (i = 0; i < CX_PKEYS; i++)
			if (!((d->port.pkey[i] ^ f->pkey) & 0x7fff))
				return i;
	return qp->pkey_index;
}

uint8_t hx_vendor(const struct cx_comp *comp)
{
	return comp->syndrome == CX_SYND_WR_FLUSH_ERR ? VENDOR_FLUSH :
	       comp->send ? VENDOR_SEND : VENDOR_RECV;
}
