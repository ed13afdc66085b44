// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Completion entries of sends and receives, as the mlx5 driver's and the
 * provider's poll_cq() read them (CQE version 1).
 */
#include "cx_mlx5.h"

/* Vendor syndromes: any but 0, so that a dump tells where it was made. */
enum { VENDOR_SEND = 0x51, VENDOR_RECV = 0x52, VENDOR_FLUSH = 0xf5 };

void cx_cqe_begin(struct cx_dev *d, struct mlx5_cqe64 *cqe, uint8_t op,
		  uint8_t syndrome, uint8_t vendor)
{
	struct mlx5_err_cqe *err = (struct mlx5_err_cqe *)cqe;

	cqe->op_own = op << 4;
	cqe->timestamp = htobe64(cx_cycles(d));
	if (!syndrome)
		return;
	err->syndrome = syndrome;
	err->vendor_err_synd = syndrome == MLX5_CQE_SYNDROME_WR_FLUSH_ERR ?
			       VENDOR_FLUSH : vendor;
}

/* What a receive completion tells of the sender. */
static void cqe_sender(struct cx_dev *d, const struct cx_qp *qp,
		       const struct cx_frame *f, struct mlx5_cqe64 *cqe)
{
	bool datagram = f->kind == CX_F_DATAGRAM;
	uint32_t path = f->dlid & ((1u << d->port.lmc) - 1);

	/* The place of the SL is the kind of header's with RoCE. */
	cqe->slid = htobe16(f->slid);
	cqe->flags_rqpn = htobe32((uint32_t)(f->grh && datagram) << 28 |
				  (uint32_t)(d->config.eth ?
					     cx_roce_header_type(f) :
					     f->sl & 0xf) << 24 |
				  (f->sqpn & 0xffffff));
	if (f->vlan) {
		cqe->l4_hdr_type_etc = 1;
		cqe->vlan_info = htobe16(f->vlan);
	}
	cqe->ml_path = cx_frame_is_multicast(f) ? 0 : path & 0x7f;
	if (f->imm || f->inv)
		cqe->imm_inval_pkey = htobe32(f->imm_data);
	else if (datagram)	/* the kernel looks QP 1's P_Key up */
		cqe->imm_inval_pkey = htobe32(qp->st == CX_ST_UD ?
					      qp->pkey_index : f->pkey);
	if (f->solicited)
		cqe->op_own |= 2;
}

static void send_cqe(struct cx_dev *d, const struct cx_qp *qp,
		     const struct cx_comp *comp, struct mlx5_cqe64 *cqe)
{
	cx_cqe_begin(d, cqe, comp->syndrome ? MLX5_CQE_REQ_ERR : MLX5_CQE_REQ,
		     comp->syndrome, VENDOR_SEND);
	cqe->srqn_uidx = htobe32(qp->user_index);
	cqe->sop_drop_qpn = htobe32((uint32_t)comp->opcode << 24 | qp->qpn);
}

/* The opcodes follow enum cx_recv. */
static void recv_cqe(struct cx_dev *d, struct cx_qp *qp,
		     const struct cx_comp *comp, struct mlx5_cqe64 *cqe)
{
	const struct cx_srq *srq = comp->srq;
	uint32_t uidx = qp->user_index;

	if (srq)
		uidx = srq->user_index_valid ? srq->user_index : srq->srqn;
	if (comp->syndrome && cx_tm_matched(qp->resp))
		cx_cqe_begin(d, cqe, MLX5_CQE_RESP_SEND, 0, 0);
	else
		cx_cqe_begin(d, cqe, comp->syndrome ? MLX5_CQE_RESP_ERR :
			     MLX5_CQE_RESP_WR_IMM + comp->opcode,
			     comp->syndrome, VENDOR_RECV);
	if (comp->f)
		cqe_sender(d, qp, comp->f, cqe);
	cx_tm_stamp(d, qp, cqe, comp->syndrome);
	cqe->srqn_uidx = htobe32(uidx);
	cqe->sop_drop_qpn = htobe32(qp->qpn);
}

void cx_mlx5_complete(struct cx_dev *d, struct cx_qp *qp, struct cx_cq *cq,
		      const struct cx_comp *comp)
{
	struct mlx5_cqe64 cqe = { 0 };

	if (comp->send)
		send_cqe(d, qp, comp, &cqe);
	else
		recv_cqe(d, qp, comp, &cqe);
	cqe.byte_cnt = htobe32(comp->bytes);
	cqe.wqe_counter = htobe16(comp->wqe);
	cx_cq_post(d, cq, &cqe,
		   comp->syndrome || (comp->f && comp->f->solicited));
}
