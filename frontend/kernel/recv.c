// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Receive queues of an mlx5: the ring of a queue pair, and shared receive queues, whose
 * free slots are a list. Where a receive is copied to is known from the consumer's list,
 * of which there is a copy here: the backend, which writes to the queue, would otherwise
 * choose among everything that is mapped.
 */
#include <linux/slab.h>

#include "kern.h"

#define NO_KEY	0x100	/* ends a list of segments */

int vhca_krq_init(struct vhca_krq *rq, struct vhca_kern *kern)
{
	rq->kern = kern;
	spin_lock_init(&rq->lock);
	rq->recv = kvcalloc(rq->cnt, sizeof(*rq->recv), GFP_KERNEL);
	rq->sge = kvcalloc(rq->cnt, array_size(rq->max_gs, sizeof(*rq->sge)), GFP_KERNEL);
	return rq->recv && rq->sge ? 0 : -ENOMEM;
}

void vhca_krq_exit(struct vhca_krq *rq)
{
	kvfree(rq->recv);
	kvfree(rq->sge);
}

/* An element of a shared queue begins with the number of the next one. */
static void set_next(struct vhca_krq *rq, u16 slot, u16 next)
{
	struct mlx5_wqe_srq_next_seg *seg = (void *)(rq->buf + slot * rq->stride);

	rq->recv[slot].next = next;
	seg->next_wqe_index = cpu_to_be16(next);
}

void vhca_krq_reset(struct vhca_krq *rq)
{
	u32 i;

	rq->head = 0;
	rq->tail = 0;
	for (i = 0; rq->shared && i < rq->cnt; i++)
		set_next(rq, i, (i + 1) & (rq->cnt - 1));
	rq->first = 0;
	rq->last = rq->cnt - 1;
}

/* ---- posting; the lock is held ---- */

/* The slot of the next receive, or -ENOMEM. One of a shared queue is always free. */
static int next_slot(const struct vhca_krq *rq)
{
	if (rq->shared)
		return rq->first == rq->last ? -ENOMEM : rq->first;
	/* Pairs with vhca_krq_complete(): the slot has been read. */
	return rq->head - smp_load_acquire(&rq->tail) < rq->cnt ? rq->head & (rq->cnt - 1) :
								  -ENOMEM;
}

/* Every address is one of the pool, which has one key, whatever the consumer says. */
static void fill_slot(struct vhca_krq *rq, u32 slot, const struct ib_recv_wr *wr)
{
	struct mlx5_wqe_data_seg *seg = (void *)(rq->buf + slot * rq->stride +
						 (rq->shared ? VHCA_SEGMENT : 0));
	struct ib_sge *sge = rq->sge + slot * rq->max_gs;
	struct vhca_krecv *recv = rq->recv + slot;
	u32 i;

	recv->wr_id = wr->wr_id;
	recv->room = 0;
	memset(sge, 0, rq->max_gs * sizeof(*sge));
	for (i = 0; i < wr->num_sge; i++, seg++) {
		sge[i] = wr->sg_list[i];
		recv->room += sge[i].length;
		seg->byte_count = cpu_to_be32(sge[i].length);
		seg->lkey = cpu_to_be32(rq->kern->pool.key);
		seg->addr = cpu_to_be64(sge[i].addr);
	}
	if (i < rq->max_gs) {
		seg->byte_count = 0;
		seg->lkey = cpu_to_be32(NO_KEY);
		seg->addr = 0;
	}
}

static int recv_one(struct vhca_krq *rq, const struct ib_recv_wr *wr)
{
	int slot = next_slot(rq);

	if (slot < 0)
		return slot;
	if (wr->num_sge < 0 || wr->num_sge > rq->max_gs)
		return -EINVAL;
	fill_slot(rq, slot, wr);
	if (rq->shared) {
		rq->recv[slot].posted = true;
		rq->first = rq->recv[slot].next;
		rq->posts++;
	} else {
		/* Pairs with vhca_krq_complete(), which reads the slot. */
		smp_store_release(&rq->head, rq->head + 1);
	}
	return 0;
}

static int recv_list(struct vhca_krq *rq, u32 gen, const struct ib_recv_wr *wr,
		     const struct ib_recv_wr **bad_wr)
{
	unsigned long flags;
	int rc = 0;

	spin_lock_irqsave(&rq->lock, flags);
	for (; wr && !rc; wr = rc ? wr : wr->next)
		rc = recv_one(rq, wr);
	if (rc)
		*bad_wr = wr;
	wmb();	/* receives before the record */
	*rq->db = cpu_to_be32((rq->shared ? rq->posts : rq->head) & 0xffff);
	spin_unlock_irqrestore(&rq->lock, flags);
	vhca_kern_posted(rq->kern, gen);
	return rc;
}

int vhca_kern_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad_wr)
{
	return recv_list(&to_kqp(ibqp)->rq, to_vqp(ibqp)->gen, wr, bad_wr);
}

int vhca_kern_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
			    const struct ib_recv_wr **bad_wr)
{
	return recv_list(&to_ksrq(ibsrq)->rq, to_vsrq(ibsrq)->gen, wr, bad_wr);
}

/* ---- completions; the lock of the CQ is held ---- */

/*
 * nvmet maps the pages of inline data once and never syncs them: what was received is
 * copied here, for all consumers. The backend may tell of more than there is room for.
 */
static void receive(struct vhca_krq *rq, u32 slot, u32 len, struct ib_wc *wc)
{
	const struct ib_sge *sge = rq->sge + slot * rq->max_gs;
	u32 some;

	if (len > rq->recv[slot].room) {
		wc->status = IB_WC_LOC_LEN_ERR;
		wc->byte_len = 0;
		return;
	}
	for (; len; sge++, len -= some) {
		some = min(len, sge->length);
		vhca_pool_receive(&rq->kern->pool, sge->addr, some);
	}
}

static void complete_slot(struct vhca_krq *rq, u32 slot, u32 len, bool written,
			  struct ib_wc *wc)
{
	wc->wr_id = rq->recv[slot].wr_id;
	if (!written)
		receive(rq, slot, len, wc);
}

/* Other CQs, and whoever posts, may be at a shared queue. */
static bool complete_shared(struct vhca_krq *rq, u32 slot, u32 len, bool written,
			    struct ib_wc *wc)
{
	bool posted;

	spin_lock(&rq->lock);
	posted = rq->recv[slot].posted;
	if (posted) {
		complete_slot(rq, slot, len, written, wc);
		rq->recv[slot].posted = false;
		set_next(rq, rq->last, slot);
		rq->last = slot;
	}
	spin_unlock(&rq->lock);
	return posted;
}

bool vhca_krq_complete(struct vhca_krq *rq, u16 counter, u32 len, bool written,
		       struct ib_wc *wc)
{
	if (rq->shared)
		return complete_shared(rq, counter & (rq->cnt - 1), len, written, wc);
	if (!vhca_krq_posted(rq))
		return false;	/* the backend made it up */
	complete_slot(rq, rq->tail & (rq->cnt - 1), len, written, wc);
	smp_store_release(&rq->tail, rq->tail + 1);	/* pairs with next_slot() */
	return true;
}

int vhca_krq_flush(struct vhca_krq *rq, int nr, struct ib_wc *wc)
{
	int n = 0;

	for (; !rq->shared && n < nr; n++, wc++) {
		wc->status = IB_WC_WR_FLUSH_ERR;
		if (!vhca_krq_complete(rq, 0, 0, true, wc))
			break;
	}
	return n;
}
