// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Work requests of a guest, as wild as they come, into the queues of Soft-RoCE:
 * what reaches the driver's queue is what its code survives. Input: a flag
 * octet, then per request an opcode, flags and the rest as it lies.
 */
#include <rdma/rdma_user_rxe.h>

#include "fuzz.h"
#include "verbs/object.h"
#include "verbs/shadow.h"

#define ELEMENT	256u
#define SLOTS	16u

/* A queue with its slots behind it. */
static _Alignas(struct rxe_queue_buf) uint8_t
	real_room[sizeof(struct rxe_queue_buf) + SLOTS * ELEMENT],
	guest_room[sizeof(struct rxe_queue_buf) + SLOTS * ELEMENT];

static struct be_dev dev;
/* Handles of the queue pair's domain and of another. */
static struct be_ah ahs[] = {
	{ .num = 1, .pd = 1 }, { .num = 2, .pd = 2 },
	{ .num = 3 + BE_AH_HEADS, .pd = 1 },
};

static void send_promises(const struct be_shadow *s,
			  const struct rxe_send_wqe *w)
{
	const uint32_t in = 1u << 3;	/* inline */
	uint64_t sum = 0;
	uint32_t i;

	PROMISE(w->wr.opcode <= 10);
	PROMISE(s->trusted || (w->wr.opcode != 7 && w->wr.opcode != 8 &&
			       w->wr.opcode != 9));
	PROMISE(!(w->wr.send_flags & ~0xfu));
	PROMISE(!w->status && !w->state && !w->mask && !w->first_psn &&
		!w->last_psn && !w->ack_length && !w->has_rd_atomic);
	PROMISE(!w->dma.cur_sge && !w->dma.sge_offset && !w->dma.reserved);
	PROMISE(w->dma.resid == w->dma.length);
	PROMISE(w->dma.num_sge <= s->max_sge);
	if (w->wr.send_flags & in) {
		PROMISE(w->dma.length <= s->max_inline && !w->dma.num_sge);
	} else {
		for (i = 0; i < w->dma.num_sge; i++)
			sum += w->dma.sge[i].length;
		PROMISE(sum == w->dma.length && sum <= 1u << 31);
	}
	if (s->qp_type == 4 && w->wr.opcode != 10)
		PROMISE((w->wr.wr.ud.ah_num == ahs[0].num ||
			 w->wr.wr.ud.ah_num == ahs[2].num) &&
			!(w->wr.wr.ud.remote_qkey >> 31));
}

static void recv_promises(const struct be_shadow *s,
			  const struct rxe_recv_wqe *w)
{
	uint64_t sum = 0;
	uint32_t i;

	PROMISE(!w->dma.cur_sge && !w->dma.sge_offset && !w->dma.reserved);
	PROMISE(w->dma.num_sge <= s->max_sge);
	for (i = 0; i < w->dma.num_sge; i++)
		sum += w->dma.sge[i].length;
	PROMISE(sum == w->dma.length && w->dma.resid == w->dma.length);
}

static void promises(const struct be_shadow *s)
{
	static const uint8_t none[ELEMENT];
	uint32_t i;

	PROMISE(s->prod < SLOTS && s->taken < SLOTS);
	PROMISE(s->real->producer_index == s->prod);
	PROMISE(s->real->index_mask == SLOTS - 1);
	for (i = 0; i < SLOTS; i++) {
		const void *at = s->real->data + i * ELEMENT;

		if (!memcmp(at, none, ELEMENT))	/* not used yet */
			continue;
		if (s->kind == VHCA_QUEUE_SEND)
			send_promises(s, at);
		else
			recv_promises(s, at);
	}
}

/* Requests from slot first on, and the producer index behind them. */
static void fill(struct be_shadow *s, struct input *in, uint32_t first,
		 bool tame)
{
	uint32_t n = in_u8(in) % SLOTS, i;

	s->guest->producer_index = in_u8(in) % 8 ? first + n : in_u32(in);
	for (i = 0; i < n; i++) {
		struct rxe_send_wqe *w = (void *)(s->guest->data +
			(first + i) % SLOTS * ELEMENT);

		w->wr.opcode = in_u8(in);
		w->wr.send_flags = in_u8(in);
		w->dma.num_sge = in_u8(in);
		if (tame) {
			w->wr.opcode %= 12;
			w->dma.num_sge %= 4;
			in_bytes(in, w->dma.sge, 2 * sizeof(struct rxe_sge));
			w->wr.wr.ud.ah_num = in_u8(in) % 4 +
					     in_u8(in) % 2 * BE_AH_HEADS;
		} else {
			in_bytes(in, w, ELEMENT);
		}
	}
	be_shadow_take(&dev, s);
	promises(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	uint8_t flags = in_u8(&in);
	struct be_shadow s = {
		.kind = flags & 1 ? VHCA_QUEUE_RECV : VHCA_QUEUE_SEND,
		.dev = &dev, .pd = 1,
		.real = (void *)real_room, .guest = (void *)guest_room,
		.length = sizeof(real_room), .shift = 8, .mask = SLOTS - 1,
		.qp_type = 2 + (flags >> 1 & 3) % 3, .trusted = flags & 8,
	};
	uint32_t room = be_rxe_room(s.kind, ELEMENT), i;

	memset(real_room, 0, sizeof(real_room));
	memset(guest_room, 0, sizeof(guest_room));
	s.real->index_mask = SLOTS - 1;
	s.max_sge = room / sizeof(struct rxe_sge);
	s.max_inline = room;
	dev.log_bucket.rate = 1;
	for (i = 0; i < sizeof(ahs) / sizeof(ahs[0]); i++)
		dev.ahs[ahs[i].num % BE_AH_HEADS] = &ahs[i];
	fill(&s, &in, 0, flags & 16);
	s.real->consumer_index = in_u32(&in);
	fill(&s, &in, s.taken, flags & 32);
	return 0;
}
