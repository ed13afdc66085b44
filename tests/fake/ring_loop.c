// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The transport of tests and fuzzers, see ring_loop.h. Not part of the
 * daemon. Any number of threads on the backend's side, as transport.h says;
 * one thread on the frontend's.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "loop_priv.h"

static struct loop *to_loop(struct be_transport *t)
{
	return (struct loop *)t;
}

void loop_to_fe(struct be_shm *s, enum be_port_id which)
{
	loop_fd_signal(((struct loop *)s)->to_fe[which]);
}

/* What comes while the port is masked is held back until it is acked, not lost. */
void loop_to_be(struct loop *l, enum be_port_id which)
{
	pthread_mutex_lock(&l->lock);
	if (l->masked[which])
		l->pending[which] = true;
	else
		loop_fd_signal(l->to_be[which]);
	l->masked[which] = true;
	pthread_mutex_unlock(&l->lock);
}

static void loop_ack(struct loop *l, enum be_port_id which)
{
	pthread_mutex_lock(&l->lock);
	loop_fd_drain(l->to_be[which]);
	if (l->pending[which])
		loop_fd_signal(l->to_be[which]);
	l->masked[which] = l->pending[which];
	l->pending[which] = false;
	pthread_mutex_unlock(&l->lock);
}

static int loop_cmd_fd(struct be_transport *t)
{
	return to_loop(t)->to_be[BE_PORT_CMD];
}

static int loop_kick_fd(struct be_transport *t)
{
	return to_loop(t)->to_be[BE_PORT_KICK];
}

static int loop_agent_fd(struct be_transport *t)
{
	(void)t;
	return -1;
}

static void loop_cmd_ack(struct be_transport *t, bool had_work)
{
	(void)had_work;
	loop_ack(to_loop(t), BE_PORT_CMD);
}

static void loop_kick_ack(struct be_transport *t, bool had_work)
{
	(void)had_work;
	loop_ack(to_loop(t), BE_PORT_KICK);
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

void loop_range_del(struct loop_range **p)
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

/* Addresses without anything, and among them one that suits. */
static void *addresses(uint32_t n, const struct be_place *place)
{
	const uint64_t size = place ? 1ull << place->bits : 0;
	char *from = mmap(NULL, n * PAGE + size, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint64_t skip;

	if (from == MAP_FAILED || !place)
		return from;
	skip = (place->like - (uintptr_t)from) & (size - 1);
	if (skip)
		munmap(from, skip);
	munmap(from + skip + n * PAGE, size - skip);
	return from + skip;
}

static void *loop_map(struct be_transport *t, const uint32_t *ref, uint32_t n,
		      bool readonly, const struct be_place *place)
{
	struct loop *l = to_loop(t);
	void *addr;
	int err;

	pthread_mutex_lock(&l->lock);
	err = map_injected(l);
	addr = addresses(n, place);
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
		loop_range_del(p);
		munmap(addr, n * PAGE);
		l->mapped -= n;
	} else {
		l->errors++;
	}
	pthread_mutex_unlock(&l->lock);
}

/*
 * A dma-buf is the end of a pipe: when the last copy of the descriptor has been closed,
 * as a region that ends does, the other end tells it.
 */
uint64_t loop_dmabuf_reap(struct loop *l)
{
	struct pollfd p = { 0 };
	uint64_t n = 0;
	int i;

	for (i = 0; i < LOOP_BUFS; i++) {
		p.fd = l->buf[i].fd;
		if (l->buf[i].n && poll(&p, 1, 0) > 0 && p.revents & POLLHUP) {
			close(l->buf[i].fd);
			l->buf[i].n = 0;
		}
		n += l->buf[i].n;
	}
	return n;
}

static int dmabuf_new(struct loop *l, uint32_t n)
{
	int fd[2], i;

	loop_dmabuf_reap(l);
	for (i = 0; i < LOOP_BUFS && l->buf[i].n; )
		i++;
	if (i == LOOP_BUFS)
		return -EBUSY;
	if (pipe2(fd, O_CLOEXEC))
		return -errno;
	l->buf[i].fd = fd[0];
	l->buf[i].n = n;
	return fd[1];
}

static int loop_dmabuf_fd(struct be_transport *t, const uint32_t *ref,
			  uint32_t n)
{
	struct loop *l = to_loop(t);
	int rc = l->fail_dmabuf_err;
	uint32_t i;

	pthread_mutex_lock(&l->lock);
	for (i = 0; i < n && !rc; i++) {
		rc = ref_check(l, ref[i]);
		if (!rc && l->readonly[ref[i] - LOOP_REF_BASE])
			rc = -EINVAL;
	}
	if (!rc)
		rc = dmabuf_new(l, n);
	pthread_mutex_unlock(&l->lock);
	return rc;
}

/* ---- memory of the backend, granted to the guest ---- */
static int loop_copy(struct be_transport *t, const uint32_t *ref, uint32_t n,
		     void *dst)
{
	struct loop *l = to_loop(t);
	uint32_t i;
	int err;

	pthread_mutex_lock(&l->lock);
	err = map_injected(l);
	for (i = 0; i < n && !err; i++) {
		err = ref_check(l, ref[i]);
		if (!err)
			memcpy((uint8_t *)dst + i * PAGE,
			       loop_page(l, ref[i] - LOOP_REF_BASE), PAGE);
	}
	l->copied += n;
	l->copies++;
	pthread_mutex_unlock(&l->lock);
	return err;
}

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
		l->unasked += t->closing ? (*p)->n : 0;
		l->handed_over += (uint64_t)left;
		loop_range_del(p);
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

static int loop_doorbell_frame(struct be_transport *t, void *addr,
			       struct be_bell *bell)
{
	struct loop *l = to_loop(t);

	if (!l->frame_of)
		return -EIO;
	bell->frame = l->frame_of(addr);
	bell->prot = l->bell_prot;
	return bell->frame ? 0 : -EPERM;
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
	if (bell->slot != BE_NO_SLOT) {		/* it was asked before */
		l->bell_looks++;
		return l->bell_later && l->bell_later-- ? -EINPROGRESS : 0;
	}
	l->bell_maps++;
	err = bell_slot(l, addr, gfn, &slot);
	if (err || (fail && !l->fail_bell_mapped))
		return err ? err : fail;
	l->bell[slot] = (struct loop_bell){ addr, gfn };
	*bell = (struct be_bell){ slot, LOOP_FRAME(slot), l->bell_prot };
	return l->bell_later && l->bell_later-- ? -EINPROGRESS : fail;
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

const struct be_transport_ops loop_ops = {
	.get_request = be_shm_get_request,
	.any_request = be_shm_any_request,
	.arm_requests = be_shm_arm_requests,
	.put_response = be_shm_put_response,
	.put_event = be_shm_put_event,
	.overflow = be_shm_overflow,
	.get_kicks = be_shm_get_kicks,
	.any_kick = be_shm_any_kick,
	.kicks_done = be_shm_kicks_done,
	.arm_kicks = be_shm_arm_kicks,
	.cmd_fd = loop_cmd_fd,
	.kick_fd = loop_kick_fd,
	.agent_fd = loop_agent_fd,
	.cmd_ack = loop_cmd_ack,
	.kick_ack = loop_kick_ack,
	.map = loop_map,
	.unmap = loop_unmap,
	.copy = loop_copy,
	.dmabuf = loop_dmabuf_fd,
	.grant = loop_grant,
	.ungrant = loop_ungrant,
	.doorbell_frame = loop_doorbell_frame,
	.doorbell_map = loop_doorbell_map,
	.doorbell_unmap = loop_doorbell_unmap,
	.cap_dma = loop_cap_dma,
	.close = loop_close,
};
