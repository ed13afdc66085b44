/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Between the two sides of the loopback transport (ring_loop.h).
 */
#ifndef LOOP_PRIV_H
#define LOOP_PRIV_H

#include <pthread.h>
#include <unistd.h>

#include "ring_loop.h"

#define PAGE		((size_t)XENVHCA_PAGE_SIZE)
#define GRANT_BASE	0x10000u	/* references of the backend's grants */

#define LOOP_BUFS	64		/* dma-bufs at a time */

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
	pthread_mutex_t lock;		/* ranges, counters and ports */
	int mem_fd;
	uint8_t *mem;
	uint32_t nr_pages;
	bool *revoked, *readonly;
	struct { int fd; uint32_t n; } buf[LOOP_BUFS];	/* n 0: free; under lock */
	int fail_dmabuf_err;
	struct loop_range *maps, *grants;
	uint32_t next_ref, next_id;
	uint64_t mapped, granted, handed_over, unasked, errors;
	unsigned int fail_map;
	int fail_map_err, fail_grant_err;
	struct loop_bell bell[XENVHCA_DOORBELL_SLOTS];
	uint64_t copied, copies;	/* pages, and calls */
	uint64_t bell_maps, bell_looks, bell_unmaps, caps;
	unsigned int bell_later;
	uint8_t bell_prot;
	uint64_t (*frame_of)(const void *addr);
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
	/* As an event channel: masked from its notification to the ack. */
	bool masked[BE_PORTS], pending[BE_PORTS];	/* under lock */
};

extern const struct be_transport_ops loop_ops;
/* Takes a range off its list. */
void loop_range_del(struct loop_range **p);
/* Pages of dma-bufs that somebody still holds; lock held. */
uint64_t loop_dmabuf_reap(struct loop *l);
void loop_to_fe(struct be_shm *s, enum be_port_id which);
void loop_to_be(struct loop *l, enum be_port_id which);

static inline void loop_fd_signal(int fd)
{
	uint64_t one = 1;

	if (write(fd, &one, sizeof(one)) < 0)
		return;			/* full: signalled already */
}

static inline void loop_fd_drain(int fd)
{
	uint64_t v;

	if (read(fd, &v, sizeof(v)) < 0)
		return;			/* empty */
}

#endif
