// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The frontend's side of the loopback transport (ring_loop.h): its memory, its
 * rings, and what a test makes go wrong. One thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "loop_priv.h"

static bool loop_memory(struct loop *l, uint32_t nr_pages)
{
	l->nr_pages = nr_pages;
	l->revoked = calloc(nr_pages, sizeof(*l->revoked));
	l->readonly = calloc(nr_pages, sizeof(*l->readonly));
	l->mem_fd = memfd_create("guest", MFD_CLOEXEC);
	if (!l->revoked || !l->readonly || l->mem_fd < 0 ||
	    ftruncate(l->mem_fd, (off_t)(nr_pages * PAGE)))
		return false;
	l->mem = mmap(NULL, nr_pages * PAGE, PROT_READ | PROT_WRITE,
		      MAP_SHARED, l->mem_fd, 0);
	if (l->mem == MAP_FAILED)
		l->mem = NULL;
	return l->mem;
}

static bool loop_rings(struct loop *l, unsigned int order)
{
	struct xenvhca_sring *sring;
	unsigned int i;

	l->ring_pages = 1u << order;
	l->ring = aligned_alloc(PAGE, l->ring_pages * PAGE);
	l->evt = aligned_alloc(PAGE, PAGE);
	l->kick = aligned_alloc(PAGE, PAGE);
	if (!l->ring || !l->evt || !l->kick)
		return false;
	memset(l->ring, 0, l->ring_pages * PAGE);
	memset(l->evt, 0, PAGE);
	memset(l->kick, 0, PAGE);
	sring = l->ring;
	SHARED_RING_INIT(sring);
	FRONT_RING_INIT(&l->front, sring, l->ring_pages * PAGE);
	be_shm_init(&l->shm, l->ring, l->ring_pages, l->evt, l->kick,
		    loop_to_fe);
	for (i = 0; i < BE_PORTS; i++) {
		l->to_be[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		l->to_fe[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (l->to_be[i] < 0 || l->to_fe[i] < 0)
			return false;
	}
	return true;
}

struct loop *loop_new(uint32_t nr_pages, unsigned int ring_order)
{
	struct loop *l = calloc(1, sizeof(*l));
	unsigned int i;

	if (!l)
		return NULL;
	l->mem_fd = -1;
	for (i = 0; i < BE_PORTS; i++)
		l->to_be[i] = l->to_fe[i] = -1;
	l->shm.t.ops = &loop_ops;
	l->next_ref = GRANT_BASE;
	l->next_id = 1;
	l->bell_prot = XENVHCA_PROT_NC;
	pthread_mutex_init(&l->lock, NULL);
	if (!loop_memory(l, nr_pages) || !loop_rings(l, ring_order)) {
		loop_free(l);
		return NULL;
	}
	return l;
}

struct be_transport *loop_transport(struct loop *l)
{
	return &l->shm.t;
}

void loop_free(struct loop *l)
{
	unsigned int i;

	if (!l)
		return;
	while (l->maps)
		loop_ops.unmap(&l->shm.t, l->maps->addr, l->maps->n);
	while (l->grants)
		loop_range_del(&l->grants);
	for (i = 0; i < LOOP_BUFS; i++)
		if (l->buf[i].n)
			close(l->buf[i].fd);
	for (i = 0; i < BE_PORTS; i++) {
		if (l->to_be[i] >= 0)
			close(l->to_be[i]);
		if (l->to_fe[i] >= 0)
			close(l->to_fe[i]);
	}
	if (l->mem)
		munmap(l->mem, l->nr_pages * PAGE);
	if (l->mem_fd >= 0)
		close(l->mem_fd);
	pthread_mutex_destroy(&l->lock);
	free(l->revoked);
	free(l->readonly);
	free(l->ring);
	free(l->evt);
	free(l->kick);
	free(l);
}

void loop_frames(struct loop *l, uint64_t (*frame_of)(const void *addr))
{
	l->frame_of = frame_of;
}

void *loop_page(struct loop *l, uint32_t i)
{
	return i < l->nr_pages ? l->mem + i * PAGE : NULL;
}

void loop_revoke(struct loop *l, uint32_t i)
{
	if (i < l->nr_pages)
		l->revoked[i] = true;
}

void loop_readonly(struct loop *l, uint32_t i)
{
	if (i < l->nr_pages)
		l->readonly[i] = true;
}

void loop_fail_map(struct loop *l, unsigned int n, int err)
{
	l->fail_map = n;
	l->fail_map_err = err;
}

void loop_fail_dmabuf(struct loop *l, int err)
{
	l->fail_dmabuf_err = err;
}

void loop_fail_grant(struct loop *l, int err)
{
	l->fail_grant_err = err;
}

void loop_fail_doorbell(struct loop *l, unsigned int n, int err,
			bool may_be_mapped)
{
	l->fail_bell = n;
	l->fail_bell_err = err;
	l->fail_bell_mapped = may_be_mapped;
}

void loop_fail_undoorbell(struct loop *l, unsigned int n, int err)
{
	l->fail_unbell = n;
	l->fail_unbell_err = err;
}

void loop_doorbell_prot(struct loop *l, uint8_t prot)
{
	l->bell_prot = prot;
}

unsigned int loop_doorbells(struct loop *l)
{
	unsigned int i, n = 0;

	for (i = 0; i < XENVHCA_DOORBELL_SLOTS; i++)
		n += l->bell[i].addr != NULL;
	return n;
}

void loop_later_doorbell(struct loop *l, unsigned int n)
{
	l->bell_later = n;
}

uint64_t loop_doorbell_looks(struct loop *l)
{
	return l->bell_looks;
}

uint64_t loop_copies(struct loop *l, uint64_t *pages)
{
	*pages = l->copied;
	return l->copies;
}

uint64_t loop_doorbell_maps(struct loop *l)
{
	return l->bell_maps;
}

uint64_t loop_doorbell_unmaps(struct loop *l)
{
	return l->bell_unmaps;
}

void loop_fail_cap_dma(struct loop *l, int err)
{
	l->fail_cap_err = err;
}

uint64_t loop_caps(struct loop *l)
{
	return l->caps;
}

uint64_t loop_dmabuf(struct loop *l)
{
	uint64_t n;

	pthread_mutex_lock(&l->lock);
	n = loop_dmabuf_reap(l);
	pthread_mutex_unlock(&l->lock);
	return n;
}

uint64_t loop_mapped(struct loop *l)
{
	return l->mapped + loop_dmabuf(l);
}

uint64_t loop_errors(struct loop *l)
{
	return l->errors;
}

uint64_t loop_granted(struct loop *l)
{
	return l->granted;
}

uint64_t loop_handed_over(struct loop *l)
{
	return l->handed_over;
}

uint64_t loop_unasked(struct loop *l)
{
	return l->unasked;
}

static struct loop_range *grant_find(struct loop *l, uint32_t ref)
{
	struct loop_range *r;

	for (r = l->grants; r; r = r->next)
		if (ref - r->first_ref < r->n)
			return r;
	return NULL;
}

void *loop_gmap(struct loop *l, uint32_t ref)
{
	struct loop_range *r = grant_find(l, ref);

	if (!r)
		return NULL;
	r->users[ref - r->first_ref]++;
	return r->addr + (ref - r->first_ref) * PAGE;
}

void loop_gunmap(struct loop *l, uint32_t ref)
{
	struct loop_range *r = grant_find(l, ref);

	if (r && r->users[ref - r->first_ref])
		r->users[ref - r->first_ref]--;
}

int loop_put_request(struct loop *l, const struct xenvhca_request *req)
{
	int notify;

	if (RING_FULL(&l->front))
		return -ENOSPC;
	*RING_GET_REQUEST(&l->front, l->front.req_prod_pvt) = *req;
	l->front.req_prod_pvt++;
	RING_PUSH_REQUESTS_AND_CHECK_NOTIFY(&l->front, notify);
	if (notify)
		loop_signal(l, BE_PORT_CMD);
	return 0;
}

int loop_get_response(struct loop *l, struct xenvhca_response *rsp)
{
	if (l->front.rsp_cons == l->front.sring->rsp_prod)
		return 0;
	xen_rmb();
	*rsp = *RING_GET_RESPONSE(&l->front, l->front.rsp_cons);
	l->front.rsp_cons++;
	return 1;
}

int loop_get_event(struct loop *l, struct xenvhca_event *ev)
{
	uint32_t prod = __atomic_load_n(&l->evt->prod, __ATOMIC_ACQUIRE);

	if (l->evt_cons == prod)
		return 0;
	*ev = l->evt->event[l->evt_cons % XENVHCA_EVT_ENTRIES];
	l->evt_cons++;
	__atomic_store_n(&l->evt->cons, l->evt_cons, __ATOMIC_RELEASE);
	return 1;
}

bool loop_take_overflow(struct loop *l)
{
	return __atomic_exchange_n(&l->evt->overflow, 0, __ATOMIC_SEQ_CST);
}

void loop_put_kick(struct loop *l, const struct xenvhca_kick *k)
{
	l->kick->kick[l->kick_prod % XENVHCA_KICK_ENTRIES] = *k;
	l->kick_prod++;
	__atomic_store_n(&l->kick->prod, l->kick_prod, __ATOMIC_SEQ_CST);
	loop_signal(l, BE_PORT_KICK);
}

struct xenvhca_sring *loop_sring(struct loop *l)
{
	return l->ring;
}

struct xenvhca_evt_page *loop_evt(struct loop *l)
{
	return l->evt;
}

struct xenvhca_kick_page *loop_kick(struct loop *l)
{
	return l->kick;
}

int loop_notify_fd(struct loop *l, enum be_port_id which)
{
	return l->to_fe[which];
}

void loop_signal(struct loop *l, enum be_port_id which)
{
	loop_to_be(l, which);
}
