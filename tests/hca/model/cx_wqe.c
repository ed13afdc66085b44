// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Send WQEs: reads one from the ring of basic blocks (it may wrap around),
 * parses its segments, and moves its data. The process that posted it may
 * change it at any time, so it is copied first, and parsed anew for each
 * frame. Nobody is trusted: sizes and offsets are checked against the copy.
 */
#include "cx_eng.h"

#define SEG 16u

/* Bytes of a WQE from its byte off on, into w->raw. */
static int wqe_copy(struct cx_dev *d, const struct cx_qp *qp,
		    struct cx_swqe *w, uint32_t off, uint32_t len)
{
	uint32_t size = CX_BB << qp->log_sq;
	uint32_t at = ((uint32_t)w->index * CX_BB + off) & (size - 1);
	uint32_t part = size - at < len ? size - at : len;
	int rc;

	rc = cx_buf_read(d, &qp->buf, qp->sq_off + at, w->raw + off, part);
	if (!rc && part < len)
		rc = cx_buf_read(d, &qp->buf, qp->sq_off, w->raw + off + part,
				 len - part);
	return rc;
}

int cx_wqe_peek(struct cx_dev *d, const struct cx_qp *qp, uint16_t index,
		struct cx_swqe *w)
{
	uint32_t ds;
	uint8_t fm;

	/* What a WQE lacks goes to the peer as zeroes, not as the stack was. */
	memset(w, 0, offsetof(struct cx_swqe, sge));
	w->index = index;
	w->bbs = 1;
	if (wqe_copy(d, qp, w, 0, CX_BB))
		return -EFAULT;
	fm = w->raw[11];
	ds = cx_be32_get(w->raw + 4) & 0x3f;
	w->opcode = w->raw[3];
	w->fence = fm >> 5;
	w->signaled = fm & MLX5_WQE_CTRL_CQ_UPDATE;
	w->solicited = fm & MLX5_WQE_CTRL_SOLICITED;
	w->imm = cx_be32_get(w->raw + 12);
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

static int parse_data(struct cx_swqe *w, uint32_t off)
{
	uint32_t len;

	while (off + SEG <= w->len) {
		len = cx_be32_get(w->raw + off);
		if (!(len & MLX5_INLINE_SEG)) {
			w->sge[w->nr].key = cx_be32_get(w->raw + off + 4);
			w->sge[w->nr].addr = cx_be64_get(w->raw + off + 8);
			w->sge[w->nr].inl = false;
			off += SEG;
		} else {
			len &= 0x3ff;
			if (off + 4 + len > w->len)
				return -EINVAL;
			w->sge[w->nr].addr = off + 4;
			w->sge[w->nr].inl = true;
			off += (4 + len + SEG - 1) & ~(SEG - 1);
		}
		w->sge[w->nr].len = len;
		w->bytes += len;
		w->nr += len != 0;
	}
	return 0;
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

int cx_wqe_read(struct cx_dev *d, const struct cx_qp *qp, uint16_t index,
		struct cx_swqe *w)
{
	uint16_t posted = qp->sq_pi - index;
	uint32_t off;

	if (cx_wqe_peek(d, qp, index, w))
		return -EFAULT;
	if (w->len < SEG || w->bbs > posted || !opcode_ok(qp, w->opcode))
		return -EINVAL;
	if (w->len > CX_BB &&
	    wqe_copy(d, qp, w, CX_BB, w->len - CX_BB))
		return -EFAULT;
	if (cx_is_local(w->opcode))
		return 0;
	off = parse_head(qp, w);
	if (off > w->len)
		return -EINVAL;
	return parse_data(w, off);
}

int cx_wqe_check(struct cx_dev *d, const struct cx_qp *qp,
		 const struct cx_swqe *w, uint8_t access)
{
	unsigned int i;
	int why;

	for (i = 0; i < w->nr; i++) {
		why = -EPERM;
		if (w->sge[i].inl ? access != CX_LR :
		    !cx_mkey_check(d, w->sge[i].key, qp->pd, qp->qpn,
				   w->sge[i].addr, w->sge[i].len, access,
				   &why))
			return why;
	}
	return 0;
}

/* One piece of one entry, from or to memory. */
static int wqe_move(struct cx_dev *d, const struct cx_qp *qp,
		    const struct cx_swqe *w, unsigned int i, uint64_t off,
		    void *to, const void *from, size_t len)
{
	uint64_t addr = w->sge[i].addr + off;
	struct cx_mkey *k;
	int why;

	if (w->sge[i].inl) {
		if (!to)
			return -EPERM;
		memcpy(to, w->raw + addr, len);
		return 0;
	}
	k = cx_mkey_check(d, w->sge[i].key, qp->pd, qp->qpn, addr, len,
			  to ? CX_LR : CX_LW, &why);
	if (!k)
		return why;
	return to ? cx_mkey_read(d, k, addr, to, len) :
		    cx_mkey_write(d, k, addr, from, len);
}

static int wqe_data(struct cx_dev *d, const struct cx_qp *qp,
		    const struct cx_swqe *w, uint64_t off, uint8_t *to,
		    const uint8_t *from, size_t len)
{
	unsigned int i;
	size_t part;
	int rc;

	for (i = 0; len && i < w->nr; i++) {
		if (off >= w->sge[i].len) {
			off -= w->sge[i].len;
			continue;
		}
		part = w->sge[i].len - off < len ? w->sge[i].len - off : len;
		rc = wqe_move(d, qp, w, i, off, to, from, part);
		if (rc)
			return rc;
		to = to ? to + part : NULL;
		from = from ? from + part : NULL;
		len -= part;
		off = 0;
	}
	return len ? -ERANGE : 0;
}

int cx_wqe_gather(struct cx_dev *d, const struct cx_qp *qp,
		  const struct cx_swqe *w, uint64_t off, void *to, size_t len)
{
	return wqe_data(d, qp, w, off, to, NULL, len);
}

int cx_wqe_scatter(struct cx_dev *d, const struct cx_qp *qp,
		   const struct cx_swqe *w, uint64_t off, const void *from,
		   size_t len)
{
	return wqe_data(d, qp, w, off, NULL, from, len);
}
