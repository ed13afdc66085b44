// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The transport of tests and fuzzers, see ring_loop.h. Not part of the
 * daemon. Any number of threads on the backend's side, as transport.h says;
 * one thread on the frontend's.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ring_loop.h"

#define PAGE		((size_t)XENVHCA_PAGE_SIZE)
#define GRANT_BASE	0x10000u	/* references of the backend's grants */

struct loop_range {			/* map() or grant() of the backend */
	struct loop_range *next;
	uint8_t *addr;
	uint32_t n, first_ref, id;
	uint32_t *users;		/* grant: by the guest, per page */
};

struct loop_bell {			/* what the doorbell agent knows */
	void *addr;			/* NULL: free slot */
	uint64_t gfn;
};

struct loop {
	struct be_shm shm;		/* first: a transport is one of these */
	pthread_mutex_t lock;		/* ranges and counters */
	int mem_fd;
	uint8_t *mem;
	uint32_t nr_pages;
	bool *revoked, *readonly;
	struct loop_range *maps, *grants;
	uint32_t next_ref, next_id;
	uint64_t mapped, granted, handed_over, errors;
	unsigned int fail_map;
	int fail_map_err, fail_grant_err;
	struct loop_bell bell[XENVHCA_DOORBELL_SLOTS];
	uint64_t bell_maps, bell_unmaps, caps;
	uint8_t bell_prot;
	int fail_bell_err, fail_unbell_err, fail_cap_err;
	bool fail_bell_mapped;
	unsigned int fail_bell, fail_unbell;
	xenvhca_front_ring_t front;
	struct xenvhca_evt_page *evt;
	struct xenvhca_kick_page *kick;
	void *ring;
	uint32_t ring_pages;
	uint32_t evt_cons, kick_prod;
	int to_be[BE_PORTS], to_fe[BE_PORTS];
};

static struct loop *to_loop(struct be_transport *t)
{
	return (struct loop *)t;
}

static void signal_fd(int fd)
{
	uint64_t one = 1;

	if (write(fd, &one, sizeof(one)) < 0)
		return;			/* full: signalled already */
}

static void drain_fd(int fd)
{
	uint64_t v;

	if (read(fd, &v, sizeof(v)) < 0)
		return;			/* empty */
}

static void loop_to_fe(struct be_shm *s, enum be_port_id which)
{
	signal_fd(((struct loop *)s)->to_fe[which]);
}

static int loop_cmd_fd(struct be_transport *t)
{
	return to_loop(t)->to_be[BE_PORT_CMD];
}

static int loop_kick_fd(struct be_transport *t)
{
	return to_loop(t)->to_be[BE_PORT_KICK];
}

static void loop_cmd_ack(struct be_transport *t, bool had_work)
{
	(void)had_work;
	drain_fd(loop_cmd_fd(t));
}

static void loop_kick_ack(struct be_transport *t, bool had_work)
{
	(void)had_work;
	drain_fd(loop_kick_fd(t));
}

/* ---- guest memory, as grants ---- */
static int ref_check(const struct loop *l, uint32_t ref)
{
	uint32_t i = ref - LOOP_REF_BASE;

	if (ref < LOOP_REF_BASE || i >= l->nr_pages || l->revoked[i])
		return -EINVAL;
	return 0;
}

static int map_pages(const struct loop *l, uint8_t *addr, const uint32_t *ref,
		     uint32_t n, bool readonly)
{
	int prot = readonly ? PROT_READ : PROT_READ | PROT_WRITE;
	uint32_t i;
	off_t off;

	for (i = 0; i < n; i++) {
		if (ref_check(l, ref[i]))
			return -EINVAL;
		off = (off_t)(ref[i] - LOOP_REF_BASE) * (off_t)PAGE;
		if (l->readonly[ref[i] - LOOP_REF_BASE] && !readonly)
			return -EINVAL;
		if (mmap(addr + i * PAGE, PAGE, prot, MAP_SHARED | MAP_FIXED,
			 l->mem_fd, off) == MAP_FAILED)
			return -errno;
	}
	return 0;
}

static struct loop_range *range_add(struct loop_range **list, void *addr,
				    uint32_t n)
{
	struct loop_range *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->users = calloc(n, sizeof(*r->users));
	if (!r->users) {
		free(r);
		return NULL;
	}
	r->addr = addr;
	r->n = n;
	r->next = *list;
	*list = r;
	return r;
}

static void range_del(struct loop_range **p)
{
	struct loop_range *r = *p;

	*p = r->next;
	free(r->users);
	free(r);
}

static int map_injected(struct loop *l)
{
	if (!l->fail_map || --l->fail_map)
		return 0;
	return l->fail_map_err;
}

static void *loop_map(struct be_transport *t, const uint32_t *ref, uint32_t n,
		      bool readonly)
{
	struct loop *l = to_loop(t);
	void *addr;
	int err;

	pthread_mutex_lock(&l->lock);
	err = map_injected(l);
	addr = mmap(NULL, n * PAGE, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (addr == MAP_FAILED) {
		addr = NULL;
		err = -errno;
	}
	if (!err)
		err = map_pages(l, addr, ref, n, readonly);
	if (!err && !range_add(&l->maps, addr, n))
		err = -ENOMEM;
	if (err && addr)
		munmap(addr, n * PAGE);
	if (!err)
		l->mapped += n;
	pthread_mutex_unlock(&l->lock);
	errno = -err;
	return err ? NULL : addr;
}

static void loop_unmap(struct be_transport *t, void *addr, uint32_t n)
{
	struct loop *l = to_loop(t);
	struct loop_range **p;

	pthread_mutex_lock(&l->lock);
	for (p = &l->maps; *p; p = &(*p)->next)
		if ((*p)->addr == addr && (*p)->n == n)
			break;
	if (*p) {
		range_del(p);
		munmap(addr, n * PAGE);
		l->mapped -= n;
	} else {
		l->errors++;
	}
	pthread_mutex_unlock(&l->lock);
}

/* ---- memory of the backend, granted to the guest ---- */
static int loop_grant(struct be_transport *t, void *addr, uint32_t n,
		      uint32_t *ref, uint32_t *id)
{
	struct loop *l = to_loop(t);
	struct loop_range *r;
	int err = l->fail_grant_err;
	uint32_t i;

	l->fail_grant_err = 0;
	if (err)
		return err;
	pthread_mutex_lock(&l->lock);
	r = range_add(&l->grants, addr, n);
	if (r) {
		r->first_ref = l->next_ref;
		r->id = l->next_id++;
		l->next_ref += n;
		l->granted += n;
		for (i = 0; i < n; i++)
			ref[i] = r->first_ref + i;
		*id = r->id;
	}
	pthread_mutex_unlock(&l->lock);
	return r ? 0 : -ENOMEM;
}

static int loop_ungrant(struct be_transport *t, uint32_t id)
{
	struct loop *l = to_loop(t);
	struct loop_range **p;
	int left = 0;
	uint32_t i;

	pthread_mutex_lock(&l->lock);
	for (p = &l->grants; *p && (*p)->id != id; )
		p = &(*p)->next;
	if (*p) {
		for (i = 0; i < (*p)->n; i++)
			left += (*p)->users[i] ? 1 : 0;
		l->granted -= (*p)->n;
		l->handed_over += (uint64_t)left;
		range_del(p);
	} else {
		l->errors++;
		left = -ENOENT;
	}
	pthread_mutex_unlock(&l->lock);
	return left;
}

/* ---- doorbell pages, and the agent that maps them ---- */
/* As the agent refuses: -EPERM a page, -EACCES a place that is in use. */
static int bell_slot(const struct loop *l, const void *addr, uint64_t gfn,
		     uint32_t *slot)
{
	uint32_t i;

	*slot = BE_NO_SLOT;
	for (i = XENVHCA_DOORBELL_SLOTS; i--; ) {
		if (!l->bell[i].addr)
			*slot = i;
		else if (l->bell[i].addr == addr)
			return -EPERM;
		else if (gfn && l->bell[i].gfn == gfn)
			return -EACCES;
	}
	return *slot == BE_NO_SLOT ? -ENOSPC : 0;
}

static int loop_doorbell_map(struct be_transport *t, void *addr, uint64_t gfn,
			     struct be_bell *bell)
{
	struct loop *l = to_loop(t);
	int fail = 0, err;
	uint32_t slot;

	if (l->fail_bell) {
		l->fail_bell--;
		fail = l->fail_bell_err;
	}
	l->bell_maps++;
	bell->slot = BE_NO_SLOT;
	err = bell_slot(l, addr, gfn, &slot);
	if (err || (fail && !l->fail_bell_mapped))
		return err ? err : fail;
	l->bell[slot] = (struct loop_bell){ addr, gfn };
	*bell = (struct be_bell){ slot, LOOP_FRAME(slot), l->bell_prot };
	return fail;
}

/* The page must still be mapped here, or it may be somebody else's. */
static int loop_doorbell_unmap(struct be_transport *t, uint32_t slot)
{
	struct loop *l = to_loop(t);

	l->bell_unmaps++;
	if (slot >= XENVHCA_DOORBELL_SLOTS || !l->bell[slot].addr ||
	    msync(l->bell[slot].addr, PAGE, MS_ASYNC)) {
		l->errors++;
		return -ENOENT;
	}
	if (l->fail_unbell) {
		l->fail_unbell--;
		return l->fail_unbell_err;
	}
	l->bell[slot].addr = NULL;
	return 0;
}

static int loop_cap_dma(struct be_transport *t, const char *hca, int fd)
{
	struct loop *l = to_loop(t);

	l->caps++;
	if (!hca[0] || fd < 0)
		l->errors++;
	return l->fail_cap_err;
}

static void loop_close(struct be_transport *t)
{
	struct loop *l = to_loop(t);

	if (l->maps || l->grants)
		l->errors++;
}

static const struct be_transport_ops loop_ops = {
	.get_request = be_shm_get_request,
	.put_response = be_shm_put_response,
	.put_event = be_shm_put_event,
	.overflow = be_shm_overflow,
	.get_kicks = be_shm_get_kicks,
	.kicks_done = be_shm_kicks_done,
	.arm_kicks = be_shm_arm_kicks,
	.cmd_fd = loop_cmd_fd,
	.kick_fd = loop_kick_fd,
	.cmd_ack = loop_cmd_ack,
	.kick_ack = loop_kick_ack,
	.map = loop_map,
	.unmap = loop_unmap,
	.grant = loop_grant,
	.ungrant = loop_ungrant,
	.doorbell_map = loop_doorbell_map,
	.doorbell_unmap = loop_doorbell_unmap,
	.cap_dma = loop_cap_dma,
	.close = loop_close,
};

/* ---- the frontend's side ---- */
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
		loop_unmap(&l->shm.t, l->maps->addr, l->maps->n);
	while (l->grants)
		range_del(&l->grants);
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

uint64_t loop_mapped(struct loop *l)
{
	return l->mapped;
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
	signal_fd(l->to_be[which]);
}
