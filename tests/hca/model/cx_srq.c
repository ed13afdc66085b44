// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Shared receive queues (SRQ, XRC SRQ, RMP, XRQ): a list of WQEs, each of which
 * begins with what names the next, as mlx5_post_srq_recv() of the provider and
 * mlx5_ib_post_srq_recv() build it, and a doorbell record that counts what was
 * posted. Both are a process's memory and may change at any time: a WQE is
 * read once, and what cannot be right ends the queue.
 */
#include <errno.h>

#include "cx_priv.h"

#define SEG		16u	/* bytes of the next and of a data segment */
#define MAX_SGE		(sizeof(((struct cx_rwqe *)0)->sge) / \
			 sizeof(((struct cx_rwqe *)0)->sge[0]))
#define BYTES_MASK	0x7fffffffu

/* How many WQEs are posted and not taken. */
static int srq_posted(struct cx_dev *d, struct cx_srq *srq, uint32_t *posted)
{
	uint32_t count;

	if (cx_record_read(d, srq->dbr, &count))
		return -EFAULT;
	*posted = (count - srq->taken) & 0xffff;
	return *posted > 1u << srq->log_size ? -EINVAL : 0;
}

static void srq_fail(struct cx_dev *d, struct cx_srq *srq)
{
	srq->failed = true;
	cx_log(d, CX_WARN, "SRQ 0x%x fails", srq->srqn);
	cx_event_srq(d, CX_EV_SRQ_CATAS, srq->srqn);
}

void cx_rwqe_parse(struct cx_rwqe *w, const void *segs, unsigned int nr)
{
	const struct mlx5_wqe_data_seg *seg = segs;
	uint64_t bytes = 0;
	uint32_t len, key;
	unsigned int i;

	w->nr = 0;
	for (i = 0; i < nr && w->nr < MAX_SGE; i++) {
		len = be32toh(seg[i].byte_count) & BYTES_MASK;
		key = be32toh(seg[i].lkey);
		if (!len && key == MLX5_INVALID_LKEY)
			break;
		if (!len)
			continue;
		w->sge[w->nr].addr = be64toh(seg[i].addr);
		w->sge[w->nr].key = key;
		w->sge[w->nr].len = len;
		w->nr++;
		bytes += len;
	}
	w->bytes = bytes < CX_NONE ? bytes : CX_NONE;
}

uint16_t cx_srq_next_index(const struct cx_srq *srq, const void *head)
{
	const struct mlx5_wqe_srq_next_seg *next = head;

	return be16toh(next->next_wqe_index);
}

/* The WQE at the head; the head moves on. */
static int srq_next(struct cx_dev *d, struct cx_srq *srq, struct cx_rwqe *w)
{
	struct {
		uint8_t next[SEG];
		struct mlx5_wqe_data_seg seg[MAX_SGE];
	} wqe;
	size_t len = (size_t)1 << srq->log_stride;
	int err;

	if (len < sizeof(wqe.next) || srq->head >> srq->log_size)
		return -EINVAL;
	if (len > sizeof(wqe))
		len = sizeof(wqe);
	err = cx_buf_read(d, &srq->buf,
			  (uint64_t)srq->head << srq->log_stride, &wqe, len);
	if (err)
		return err;
	w->index = srq->head;
	cx_rwqe_parse(w, wqe.seg, (len - sizeof(wqe.next)) / SEG);
	srq->head = d->family->srq_next(srq, wqe.next);
	srq->taken++;
	return 0;
}

static void srq_limit(struct cx_dev *d, struct cx_srq *srq, uint32_t posted)
{
	if (!srq->lwm || posted >= srq->lwm)
		return;
	srq->lwm = 0;
	cx_event_srq(d, CX_EV_SRQ_LIMIT, srq->srqn);
}

bool cx_srq_deaf(const struct cx_dev *d, const struct cx_srq *srq)
{
	const struct cx_cq *cq = cx_ids_get(&d->cqs, srq->cqn);

	return cx_srq_has_cq(srq) && (!cq || cq->failed);
}

int cx_srq_take(struct cx_dev *d, struct cx_srq *srq, struct cx_rwqe *w)
{
	uint32_t posted;
	int err;

	if (srq->failed)
		return -EINVAL;
	err = cx_srq_deaf(d, srq) ? -EINVAL : srq_posted(d, srq, &posted);
	if (!err && !posted)
		return -ENOENT;
	if (!err)
		err = srq_next(d, srq, w);
	if (err) {
		srq_fail(d, srq);
		return err;
	}
	srq_limit(d, srq, posted - 1);
	return 0;
}

void cx_srq_arm(struct cx_dev *d, struct cx_srq *srq, uint32_t lwm)
{
	uint32_t posted;

	srq->lwm = lwm;
	if (!srq->failed && !srq_posted(d, srq, &posted))
		srq_limit(d, srq, posted);
}
