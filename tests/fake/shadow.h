/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Work queues of Soft-RoCE for unit tests: both sides of each, and the requests
 * of a guest's provider.
 */
#ifndef FAKE_SHADOW_H
#define FAKE_SHADOW_H

#include "guest.h"
#include "verbs/shadow.h"

#define LSO	10			/* what a refused request becomes */

/* Both sides of one queue. */
struct queue {
	struct rxe_queue_buf *guest, *real;
};

static inline struct queue map(struct guest *g, struct guest_key key)
{
	struct queue q;

	assert_int_equal(guest_mmap(g, key), 0);
	q.guest = loop_gmap(g->loop, g->rsp.u.mmap.gref[0]);
	loop_gunmap(g->loop, g->rsp.u.mmap.gref[0]);
	q.real = fake_ring(key.offset);
	assert_non_null(q.guest);
	return q;
}

static inline struct rxe_send_wqe *send_at(struct rxe_queue_buf *q, uint32_t i)
{
	return (void *)(q->data + (i << q->log2_elem_size));
}

static inline struct rxe_recv_wqe *recv_at(struct rxe_queue_buf *q, uint32_t i)
{
	return (void *)(q->data + (i << q->log2_elem_size));
}

static inline void kick(struct guest *g, uint32_t qp)
{
	const struct xenvhca_kick k = {
		.type = XENVHCA_KICK_SEND, .handle = qp,
	};

	be_kick(&g->dev, &k);
}

struct pair { struct queue rq, sq; };

static inline struct pair open_qp(struct guest *g, uint8_t type)
{
	struct guest_key rq, sq;
	struct pair p;

	g->uc = guest_alloc_uc(g);
	g->pd = guest_alloc_pd(g);
	g->cq = guest_create_cq(g, 15);
	g->qp = guest_create_qp(g, type);
	rq = guest_key(g, 0);
	sq = guest_key(g, 16);
	p.rq = map(g, rq);
	p.sq = map(g, sq);
	return p;
}

/* The next request as the guest's provider writes it. */
static inline struct rxe_send_wqe *next(struct queue q, uint32_t opcode)
{
	struct rxe_send_wqe *w = send_at(q.guest, q.guest->producer_index);

	memset(w, 0, sizeof(*w) + sizeof(struct rxe_sge));
	w->wr.wr_id = 0x1234;
	w->wr.opcode = opcode;
	w->wr.send_flags = 2;
	w->dma.num_sge = 1;
	w->dma.length = w->dma.resid = 100;
	w->dma.sge[0] = (struct rxe_sge){ 0x7f0000001000ull, 100, 7 };
	return w;
}

/* Posts it; what the driver has got. */
static inline const struct rxe_send_wqe *post(struct guest *g, struct queue q)
{
	uint32_t at = q.guest->producer_index;

	__atomic_store_n(&q.guest->producer_index,
			 (at + 1) & q.guest->index_mask, __ATOMIC_RELEASE);
	kick(g, g->qp);
	assert_int_equal(q.real->producer_index, q.guest->producer_index);
	assert_int_equal(q.guest->consumer_index, q.guest->producer_index);
	return send_at(q.real, at);
}

static inline void refused(struct guest *g, struct queue q)
{
	uint64_t before = g->dev.stats.wqes_refused;
	const struct rxe_send_wqe *r = post(g, q);

	assert_int_equal(g->dev.stats.wqes_refused, before + 1);
	assert_int_equal(r->wr.opcode, LSO);
	assert_int_equal(r->wr.wr_id, 0x1234);
	assert_int_equal(r->dma.num_sge, 0);
	assert_int_equal(r->dma.length, 0);
	assert_int_equal(r->dma.resid, 0);
	q.real->consumer_index = q.real->producer_index;
}

#endif
