// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Send WQEs of the mlx5 driver and its provider: how far they are posted, their
 * control segments, what comes before their data, and what is done in the device
 * itself. A process wrote them: nothing is trusted but their bounds.
 */
#include "cx_mlx5.h"

#define SEG 16u

/* The doorbell record's second half. */
int cx_mlx5_sq_posted(struct cx_dev *d, const struct cx_qp *qp, uint16_t *pi)
{
	uint32_t dbr;

	if (cx_dma_read(d, qp->dbr + 4, &dbr, 4))
		return -EFAULT;
	*pi = be32toh(dbr) & 0xffff;
	return 0;
}

int cx_mlx5_wqe_peek(struct cx_dev *d, const struct cx_qp *qp, uint16_t index,
		     struct cx_swqe *w)
{
	uint32_t ds;
	uint8_t fm;

	/* What a WQE lacks goes to the peer as zeroes, not as the stack was. */
	memset(w, 0, offsetof(struct cx_swqe, sge));
	w->index = index;
	w->bbs = 1;
	if (cx_wqe_copy(d, qp, w, 0, CX_BB))
		return -EFAULT;
	fm = w->raw[11];
	ds = cx_be32_get(w->raw + 4) & 0x3f;
	w->opcode = w->raw[3];
	w->fence = fm >> 5;	/* CX_FENCE_* */
	w->signaled = fm & MLX5_WQE_CTRL_CQ_UPDATE;
	w->solicited = fm & MLX5_WQE_CTRL_SOLICITED;
	w->imm = cx_be32_get(w->raw + 12);
	w->local = w->opcode == MLX5_OPCODE_NOP || w->opcode == MLX5_OPCODE_UMR ||
		   w->opcode == MLX5_OPCODE_TAG_MATCHING;
	w->alone = w->opcode == MLX5_OPCODE_UMR;
	w->len = ds * SEG;
	w->bbs = ds ? (ds + 3) / 4 : 1;
	return 0;
}

/* An extended address vector: mlx5_wqe_av. */
static uint32_t parse_av(struct cx_swqe *w, uint32_t off)
{
	const uint8_t *av = w->raw + off;
	struct cx_av *a = &w->av;
	uint32_t fl, dqpn = cx_be32_get(av + 8);

	memset(a, 0, sizeof(*a));
	a->sport = cx_be16_get(av + 14);
	a->eth_prio = av[12] >> 1 & 7;
	w->qkey = cx_be32_get(av);
	w->dqpn = dqpn & 0xffffff;
	a->sl = av[12] & 0xf;
	a->slid_bits = av[13] & 0x7f;
	a->dlid = cx_be16_get(av + 14);
	if (!(dqpn & MLX5_EXTENDED_UD_AV))
		return SEG;
	if (off + 3 * SEG > w->len)
		return w->len;
	fl = cx_be32_get(av + 28);
	a->tclass = av[26];
	a->hop = av[27];
	a->grh = fl >> 30 & 1;
	a->sgid_index = fl >> 20 & 0xff;
	a->flow = fl & 0xfffff;
	memcpy(a->dmac, av + 20, 6);
	memcpy(a->dgid, av + 32, 16);
	return 3 * SEG;
}

/*
 * An Ethernet segment: mlx5_wqe_eth_seg. The headers that it holds begin in its
 * last two octets.
 */
static uint32_t parse_eth(struct cx_swqe *w)
{
	const uint8_t *seg = w->raw + SEG;
	uint32_t inl;

	if (w->len < 2 * SEG)
		return w->len + 1;
	w->checksums = seg[4];
	w->mss = cx_be16_get(seg + 6) & 0x3fff;
	inl = cx_be16_get(seg + 12);
	if (!inl)
		return 2 * SEG;
	if (2 * SEG - 2 + inl > w->len)
		return w->len + 1;
	w->header = inl;
	w->sge[0].addr = 2 * SEG - 2;
	w->sge[0].inl = true;
	w->sge[0].len = inl;
	w->bytes = inl;
	w->nr = 1;
	return inl > 2 ? 2 * SEG + ((inl - 2 + SEG - 1) & ~(SEG - 1)) : 2 * SEG;
}

/* Segments between the control and the data segments, by opcode. */
static uint32_t parse_head(const struct cx_qp *qp, struct cx_swqe *w)
{
	uint32_t off = SEG;

	if (qp->st == CX_ST_SQ)
		return parse_eth(w);
	if (cx_is_ud(qp))
		return off + SEG > w->len ? w->len + 1 :
					    off + parse_av(w, off);
	if (qp->st == CX_ST_XRC) {
		w->srqn = cx_be32_get(w->raw + off) & 0xffffff;
		off += SEG;
	}
	switch (w->opcode) {
	case MLX5_OPCODE_RDMA_WRITE:
	case MLX5_OPCODE_RDMA_WRITE_IMM:
	case MLX5_OPCODE_RDMA_READ:
	case MLX5_OPCODE_ATOMIC_CS:
	case MLX5_OPCODE_ATOMIC_FA:
		w->raddr = cx_be64_get(w->raw + off);
		w->rkey = cx_be32_get(w->raw + off + 8);
		off += SEG;
		break;
	default:
		break;
	}
	if (!cx_is_atomic(w->opcode))
		return off;
	w->swap_add = cx_be64_get(w->raw + off);
	w->compare = cx_be64_get(w->raw + off + 8);
	return off + SEG;
}

static bool opcode_ok(const struct cx_qp *qp, uint8_t opcode)
{
	bool reliable = cx_is_reliable(qp);
	bool connected = reliable || qp->st == CX_ST_UC;

	if (qp->st == CX_ST_SQ)
		return opcode == MLX5_OPCODE_NOP ||
		       opcode == MLX5_OPCODE_SEND ||
		       opcode == MLX5_OPCODE_TSO;
	switch (opcode) {
	case MLX5_OPCODE_NOP:
		return true;
	case MLX5_OPCODE_SEND:
	case MLX5_OPCODE_SEND_IMM:
		return qp->st != CX_ST_UMR;
	case MLX5_OPCODE_RDMA_WRITE:
	case MLX5_OPCODE_RDMA_WRITE_IMM:
		return connected;
	case MLX5_OPCODE_SEND_INVAL:
	case MLX5_OPCODE_RDMA_READ:
	case MLX5_OPCODE_ATOMIC_CS:
	case MLX5_OPCODE_ATOMIC_FA:
		return reliable;
	case MLX5_OPCODE_UMR:
		return connected || qp->st == CX_ST_UMR;
	case MLX5_OPCODE_TAG_MATCHING:
		return qp->st == CX_ST_RC && qp->srqn != CX_NONE;
	default:
		return false;
	}
}

int cx_mlx5_wqe_read(struct cx_dev *d, const struct cx_qp *qp, uint16_t index,
		     struct cx_swqe *w)
{
	uint16_t posted = qp->sq_pi - index;
	uint32_t off;

	if (cx_mlx5_wqe_peek(d, qp, index, w))
		return -EFAULT;
	if (w->len < SEG || w->bbs > posted || !opcode_ok(qp, w->opcode))
		return -EINVAL;
	if (w->len > CX_BB &&
	    cx_wqe_copy(d, qp, w, CX_BB, w->len - CX_BB))
		return -EFAULT;
	if (w->local)
		return 0;
	off = parse_head(qp, w);
	if (off > w->len)
		return -EINVAL;
	return cx_wqe_pieces(w, off);
}

static uint8_t umr_syndrome(int rc)
{
	switch (rc) {
	case 0:
		return 0;
	case -ENOMEM:
		return CX_SYND_LOCAL_QP_OP_ERR;
	case -EFAULT:
		return CX_SYND_LOCAL_PROT_ERR;
	default:
		return CX_SYND_MW_BIND_ERR;
	}
}

uint8_t cx_mlx5_local(struct cx_dev *d, struct cx_qp *qp,
		      const struct cx_swqe *w)
{
	if (w->opcode == MLX5_OPCODE_UMR)
		return umr_syndrome(cx_umr(d, qp, w->raw, w->len));
	if (w->opcode == MLX5_OPCODE_TAG_MATCHING && cx_tm_op(d, qp, w))
		return CX_SYND_LOCAL_QP_OP_ERR;
	return 0;
}
