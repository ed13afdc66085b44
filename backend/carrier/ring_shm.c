// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The three rings, whatever carries them. Only this file touches rings shared
 * with a guest: producer indices are read once and bounded, entries are copied
 * once, our own indices are private and only published.
 */
#include <errno.h>
#include <string.h>
#include "ring_shm.h"

static struct be_shm *to_shm(struct be_transport *t)
{
	return (struct be_shm *)t;	/* first member */
}

void be_shm_init(struct be_shm *s, void *ring, uint32_t ring_pages, void *evt,
		 void *kick, be_shm_notify_fn *notify)
{
	struct xenvhca_sring *sring = ring;

	BACK_RING_INIT(&s->ring, sring,
		       (size_t)ring_pages * XENVHCA_PAGE_SIZE);
	s->evt = evt;
	s->kick = kick;
	s->notify = notify;
}

/* ---- command ring ---- */
int be_shm_get_request(struct be_transport *t, struct xenvhca_request *req)
{
	xenvhca_back_ring_t *r = &to_shm(t)->ring;
	RING_IDX prod;

	/* Pairs with the wmb of the frontend's push. */
	prod = __atomic_load_n(&r->sring->req_prod, __ATOMIC_ACQUIRE);
	if (prod == r->req_cons)
		return 0;
	/* The second: it went back, to slots that were read before. */
	if (RING_REQUEST_PROD_OVERFLOW(r, prod) || prod - r->req_cons > RING_SIZE(r))
		return -EPROTO;
	RING_COPY_REQUEST(r, r->req_cons, req);
	r->req_cons++;
	return 1;
}

bool be_shm_any_request(struct be_transport *t)
{
	xenvhca_back_ring_t *r = &to_shm(t)->ring;

	return __atomic_load_n(&r->sring->req_prod, __ATOMIC_RELAXED) !=
	       r->req_cons;
}

bool be_shm_arm_requests(struct be_transport *t)
{
	xenvhca_back_ring_t *r = &to_shm(t)->ring;
	int more;

	RING_FINAL_CHECK_FOR_REQUESTS(r, more);
	return more;
}

int be_shm_put_response(struct be_transport *t,
			const struct xenvhca_response *rsp)
{
	struct be_shm *s = to_shm(t);
	xenvhca_back_ring_t *r = &s->ring;
	int notify;

	/* More answers than requests would be our own bug: refuse. */
	if (r->rsp_prod_pvt == r->req_cons)
		return -EPROTO;
	memcpy(RING_GET_RESPONSE(r, r->rsp_prod_pvt), rsp, sizeof(*rsp));
	r->rsp_prod_pvt++;
	RING_PUSH_RESPONSES_AND_CHECK_NOTIFY(r, notify);
	if (notify)
		s->notify(s, BE_PORT_CMD);
	return notify;
}

/* ---- event ring ---- */
void be_shm_overflow(struct be_transport *t)
{
	struct be_shm *s = to_shm(t);

	if (!s->evt)
		return;
	/* Pairs with the frontend's exchange: one of both sees the other. */
	if (!__atomic_exchange_n(&s->evt->overflow, 1, __ATOMIC_SEQ_CST))
		s->notify(s, BE_PORT_EVT);
}

int be_shm_put_event(struct be_transport *t, const struct xenvhca_event *ev)
{
	struct be_shm *s = to_shm(t);
	volatile struct xenvhca_event *slot;
	uint32_t cons;

	if (!s->evt)
		return -ENOTCONN;
	cons = __atomic_load_n(&s->evt->cons, __ATOMIC_ACQUIRE);
	/* A cons that lies, also one ahead of prod, loses its own events. */
	if (s->evt_prod - cons >= XENVHCA_EVT_ENTRIES) {
		be_shm_overflow(t);
		return -ENOSPC;
	}
	slot = &s->evt->event[s->evt_prod % XENVHCA_EVT_ENTRIES];
	slot->type = ev->type;
	slot->event = ev->event;
	slot->seq = ev->seq;
	slot->handle = ev->handle;
	s->evt_prod++;
	__atomic_store_n(&s->evt->prod, s->evt_prod, __ATOMIC_RELEASE);
	s->notify(s, BE_PORT_EVT);
	return 0;
}

/* ---- kick ring ---- */
int be_shm_get_kicks(struct be_transport *t, struct xenvhca_kick *kick,
		     unsigned int max)
{
	struct be_shm *s = to_shm(t);
	uint32_t prod = __atomic_load_n(&s->kick->prod, __ATOMIC_ACQUIRE);
	uint32_t n = prod - s->kick_cons;
	volatile const struct xenvhca_kick *slot;
	unsigned int i;

	if (!n)
		return 0;
	if (n > XENVHCA_KICK_ENTRIES)
		return -EPROTO;
	if (n > max)
		n = max;
	for (i = 0; i < n; i++) {
		slot = &s->kick->kick[(s->kick_cons + i) %
				      XENVHCA_KICK_ENTRIES];
		kick[i].type = slot->type;
		kick[i].flags = slot->flags;
		kick[i].reserved = slot->reserved;
		kick[i].handle = slot->handle;
	}
	__atomic_store_n(&s->kick_cons, s->kick_cons + n, __ATOMIC_RELAXED);
	__atomic_store_n(&s->kick->cons, s->kick_cons, __ATOMIC_RELEASE);
	/*
	 * Pairs with the barrier of the frontend's kick, between making work
	 * visible and reading cons: we look at the work only after this.
	 */
	xen_mb();
	return (int)n;
}

bool be_shm_any_kick(struct be_transport *t)
{
	struct be_shm *s = to_shm(t);

	return __atomic_load_n(&s->kick->prod, __ATOMIC_RELAXED) !=
	       __atomic_load_n(&s->kick_cons, __ATOMIC_RELAXED);
}

void be_shm_kicks_done(struct be_transport *t, unsigned int n)
{
	struct be_shm *s = to_shm(t);
	uint32_t old = s->kick_done, event;

	s->kick_done += n;
	__atomic_store_n(&s->kick->done, s->kick_done, __ATOMIC_RELEASE);
	/* Pairs with the frontend's barrier between done_event and done. */
	xen_mb();
	event = __atomic_load_n(&s->kick->done_event, __ATOMIC_RELAXED);
	if (s->kick_done - event < s->kick_done - old)
		s->notify(s, BE_PORT_KICK);
}

bool be_shm_arm_kicks(struct be_transport *t)
{
	struct be_shm *s = to_shm(t);

	__atomic_store_n(&s->kick->prod_event, s->kick_cons + 1,
			 __ATOMIC_RELEASE);
	/* Pairs with the frontend's barrier between prod and prod_event. */
	xen_mb();
	return __atomic_load_n(&s->kick->prod, __ATOMIC_ACQUIRE) !=
	       s->kick_cons;
}
