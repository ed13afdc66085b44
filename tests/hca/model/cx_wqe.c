// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Send WQEs: copies one from the ring of basic blocks (it may wrap around), and
 * moves its data. The process that posted it may change it at any time, so it is
 * copied first, and parsed anew for each frame. Nobody is trusted: sizes and
 * offsets are checked against the copy. What lies before the data segments, the
 * family knows.
 */
#include "cx_eng.h"

#define SEG		16u
#define INLINE_SEG	BIT(31)	/* of a data segment's first word */
#define INLINE_LEN	0x3ffu

int cx_wqe_copy(struct cx_dev *d, const struct cx_qp *qp, struct cx_swqe *w,
		uint32_t off, uint32_t len)
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

int cx_wqe_read(struct cx_dev *d, const struct cx_qp *qp, uint16_t index,
		struct cx_swqe *w)
{
	return qp->rndv ? cx_rndv_wqe(qp, index, w) :
			  d->family->wqe_read(d, qp, index, w);
}

int cx_wqe_pieces(struct cx_swqe *w, uint32_t off)
{
	uint32_t len;

	while (off + SEG <= w->len) {
		len = cx_be32_get(w->raw + off);
		if (!(len & INLINE_SEG)) {
			w->sge[w->nr].key = cx_be32_get(w->raw + off + 4);
			w->sge[w->nr].addr = cx_be64_get(w->raw + off + 8);
			w->sge[w->nr].inl = false;
			off += SEG;
		} else {
			len &= INLINE_LEN;
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

/* The PD of its memory; tagged buffers are of the queue that has their list. */
static uint32_t wqe_pd(struct cx_dev *d, const struct cx_qp *qp)
{
	const struct cx_srq *srq = qp->rndv ? cx_tm_srq(d, qp) : NULL;

	return srq ? srq->pd : qp->pd;
}

int cx_wqe_check(struct cx_dev *d, const struct cx_qp *qp,
		 const struct cx_swqe *w, uint8_t access)
{
	unsigned int i;
	int why;

	for (i = 0; i < w->nr; i++) {
		why = -EPERM;
		if (w->sge[i].inl ? access != CX_LR :
		    !cx_mkey_check(d, w->sge[i].key, wqe_pd(d, qp), qp->qpn,
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
	k = cx_mkey_check(d, w->sge[i].key, wqe_pd(d, qp), qp->qpn, addr, len,
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
