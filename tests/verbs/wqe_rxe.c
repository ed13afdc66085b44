// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * The queues of Soft-RoCE, which its provider maps: their form is that of
 * <rdma/rdma_user_rxe.h>, their places are found in /proc/self/maps.
 */
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_rxe.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "wqe.h"

/* Mappings of verbs files that were not there before. */
static int new_rings(struct wqe_fuzz *f, struct wqe_ring *r)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long from, to;
	char line[512];
	int n = 0, i;

	if (!maps)
		return 0;
	while (f->nr_known < WQE_RINGS && fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "infiniband/uverbs") ||
		    sscanf(line, "%lx-%lx", &from, &to) != 2)
			continue;
		for (i = 0; i < f->nr_known; i++)
			if (f->known[i].map == (uint8_t *)from)
				break;
		if (i < f->nr_known)
			continue;
		r[n] = (struct wqe_ring){ .map = (void *)from,
					  .len = to - from };
		f->known[f->nr_known++] = r[n++];
	}
	fclose(maps);
	return n;
}

/* The one of them that was made for so many requests. */
static struct wqe_ring ring_of(const struct wqe_ring *r, int n, uint32_t wr)
{
	struct wqe_ring none = {};
	struct rxe_queue_buf *q;
	uint32_t slots = 1;

	while (slots < wr + 1)
		slots *= 2;
	for (; n--; r++) {
		q = (void *)r->map;
		if (q->index_mask == slots - 1)
			return (struct wqe_ring){ r->map, r->len, q->data,
				slots, q->log2_elem_size, 0,
				&q->producer_index };
	}
	return none;
}

static int find_cq(struct wqe_fuzz *f)
{
	struct wqe_ring r[WQE_RINGS];

	f->cq_ring = ring_of(r, new_rings(f, r), (uint32_t)f->cq->cqe);
	return f->cq_ring.map ? 0 : -1;
}

/* Its provider believes what is there. */
static void mend_cq(struct wqe_ring *cq)
{
	struct rxe_queue_buf *q = (void *)cq->map;

	q->log2_elem_size = cq->shift;
	q->index_mask = cq->slots - 1;
	q->producer_index &= cq->slots - 1;
	q->consumer_index = q->producer_index;
}

/* The driver copies what is between its own index and this one, which is any. */
static int resize_cq(struct wqe_fuzz *f)
{
	struct rxe_queue_buf *q = (void *)f->cq_ring.map;
	int i;

	if (wqe_below(f, 4))
		q->consumer_index = wqe_wild(f);
	/* The new one may be at the same place. */
	for (i = 0; i < f->nr_known; i++)
		if (f->known[i].map == f->cq_ring.map)
			break;
	f->known[i] = f->known[--f->nr_known];
	if (!ibv_resize_cq(f->cq, 1 + (int)wqe_below(f, 1000)))
		f->sum->resizes++;
	return find_cq(f);
}

static int rxe_cq(struct wqe_fuzz *f)
{
	if (!f->cq_ring.map)
		return find_cq(f);
	mend_cq(&f->cq_ring);
	if (wqe_below(f, 4))
		return 0;
	if (resize_cq(f))
		return -1;
	mend_cq(&f->cq_ring);
	return 0;
}

static int rxe_srq(struct wqe_fuzz *f)
{
	struct wqe_ring r[WQE_RINGS];

	f->srq_ring = ring_of(r, new_rings(f, r), WQE_SRQ_WR);
	return f->srq_ring.map ? 0 : -1;
}

static int rxe_qp(struct wqe_fuzz *f, struct wqe_side *s)
{
	struct wqe_ring r[WQE_RINGS];
	int n = new_rings(f, r);

	s->sq = ring_of(r, n, WQE_SEND_WR);
	s->rq = s->srq ? f->srq_ring : ring_of(r, n, WQE_RECV_WR);
	return s->sq.map && s->rq.map ? 0 : -1;
}

static void rxe_begin(struct wqe_side *s)
{
	s->sq.prod = *(uint32_t *)s->sq.index;
	s->rq.prod = *(uint32_t *)s->rq.index;
}

static uint32_t elements(struct wqe_fuzz *f, struct rxe_dma_info *d)
{
	uint32_t n = wqe_below(f, WQE_SGE + 1), i;

	d->num_sge = n;
	for (i = 0; i < n; i++) {
		d->sge[i].length = wqe_below(f, 3000);
		d->sge[i].addr = (uintptr_t)f->data +
				 wqe_below(f, WQE_DATA - d->sge[i].length);
		d->sge[i].lkey = f->mr->lkey;
		d->length += d->sge[i].length;
	}
	d->resid = d->length;
	return n;
}

/* A request that the provider could have written. */
static void good_send(struct wqe_fuzz *f, struct rxe_send_wqe *w)
{
	w->wr.wr_id = wqe_rnd(f);
	w->wr.opcode = wqe_below(f, 16);
	w->wr.send_flags = wqe_below(f, 16);
	w->wr.ex.imm_data = f->mr->rkey;
	w->iova = (uintptr_t)f->data + (wqe_below(f, WQE_DATA / 2) & ~7u);
	if (w->wr.opcode == IB_UVERBS_WR_ATOMIC_CMP_AND_SWP ||
	    w->wr.opcode == IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD) {
		w->wr.wr.atomic.remote_addr = w->iova;
		w->wr.wr.atomic.rkey = f->mr->rkey;
	} else {
		w->wr.wr.rdma.remote_addr = w->iova;
		w->wr.wr.rdma.rkey = f->mr->rkey;
	}
	if (f->type == IBV_QPT_UD) {
		w->wr.wr.ud.remote_qpn = f->side[1].qp->qp_num;
		w->wr.wr.ud.remote_qkey = VT_QKEY;
		w->wr.wr.ud.ah_num = 1 + wqe_below(f, 4);
	}
	if (w->wr.send_flags & IBV_SEND_INLINE)
		w->dma.length = w->dma.resid = wqe_below(f, WQE_INLINE);
	else
		elements(f, &w->dma);
}

static void good_recv(struct wqe_fuzz *f, struct rxe_recv_wqe *w)
{
	w->wr_id = wqe_rnd(f);
	elements(f, &w->dma);
}

/* Some words of it, those that steer a transfer more often than others. */
static void spoil(struct wqe_fuzz *f, uint8_t *wqe, size_t len, bool send)
{
	static const size_t sends[] = {
		offsetof(struct rxe_send_wqe, wr.opcode),
		offsetof(struct rxe_send_wqe, wr.send_flags),
		offsetof(struct rxe_send_wqe, wr.wr.ud.ah_num),
		offsetof(struct rxe_send_wqe, state),
		offsetof(struct rxe_send_wqe, mask),
		offsetof(struct rxe_send_wqe, first_psn),
		offsetof(struct rxe_send_wqe, has_rd_atomic),
		offsetof(struct rxe_send_wqe, dma.length),
		offsetof(struct rxe_send_wqe, dma.resid),
		offsetof(struct rxe_send_wqe, dma.cur_sge),
		offsetof(struct rxe_send_wqe, dma.num_sge),
		offsetof(struct rxe_send_wqe, dma.sge_offset),
	};
	static const size_t recvs[] = {
		offsetof(struct rxe_recv_wqe, dma.length),
		offsetof(struct rxe_recv_wqe, dma.resid),
		offsetof(struct rxe_recv_wqe, dma.cur_sge),
		offsetof(struct rxe_recv_wqe, dma.num_sge),
		offsetof(struct rxe_recv_wqe, dma.sge_offset),
	};
	uint32_t n = wqe_below(f, 5), v;
	size_t at;

	while (n--) {
		if (wqe_below(f, 4))
			at = send ? sends[wqe_below(f, VT_ARRAY_SIZE(sends))] :
				    recvs[wqe_below(f, VT_ARRAY_SIZE(recvs))];
		else
			at = wqe_below(f, len / 4) * 4;
		v = wqe_wild(f);
		if (send && at == sends[0] && wqe_below(f, 4))
			v = wqe_below(f, 2) ? 0x20 : wqe_below(f, 256); /* REG_MR */
		memcpy(wqe + at, &v, sizeof(v));
	}
}

/* One request at the ring's producer, which then is past it, or anywhere. */
static void write_one(struct wqe_fuzz *f, struct wqe_ring *r, bool send)
{
	_Alignas(8) uint8_t wqe[1024] = {};
	size_t element = (size_t)1 << r->shift;

	if (element > sizeof(wqe))
		return;
	if (send)
		good_send(f, (void *)wqe);
	else
		good_recv(f, (void *)wqe);
	if (wqe_below(f, 4))
		spoil(f, wqe, element, send);
	memcpy(r->elem + ((size_t)(r->prod % r->slots) << r->shift), wqe,
	       element);
	r->prod = (r->prod + 1) % r->slots;
	__atomic_store_n((uint32_t *)r->index,
			 wqe_below(f, 64) ? r->prod : wqe_wild(f),
			 __ATOMIC_RELEASE);
}

static void rxe_send(struct wqe_fuzz *f, struct wqe_side *s)
{
	write_one(f, &s->sq, true);
}

static void rxe_recv(struct wqe_fuzz *f, struct wqe_side *s)
{
	write_one(f, &s->rq, false);
}

static void rxe_kick(struct wqe_fuzz *f, struct wqe_side *s)
{
	struct ib_uverbs_post_send_resp resp;
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_post_send cmd;
	} c = {
		.hdr = { IB_USER_VERBS_CMD_POST_SEND, sizeof(c) / 4,
			 sizeof(resp) / 4 },
		.cmd = { .response = (uintptr_t)&resp,
			 .qp_handle = s->qp->handle,
			 .wqe_size = sizeof(struct ib_uverbs_send_wr) },
	};

	if (write(f->dev.ctx->cmd_fd, &c, sizeof(c)) < 0)
		f->sum->errors++;
}

const struct wqe_hca wqe_rxe = {
	.cq = rxe_cq,
	.srq = rxe_srq,
	.qp = rxe_qp,
	.begin = rxe_begin,
	.send = rxe_send,
	.recv = rxe_recv,
	.kick = rxe_kick,
};
