/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What carries requests, events, kicks and guest memory between one frontend
 * and its worker: carrier/ring_xen.c (grants and event channels), or for tests
 * tests/fake/ring_loop.c (plain memory). The other side is hostile: what it
 * shares is copied once and checked, rings in carrier/ring_shm.c, pages of
 * grant references in verbs/gmap.c, work queues in verbs/shadow.c.
 *
 * Threads: connect, get_request, any_request, arm_requests, put_response, cmd_ack, agent_ack,
 * grant, ungrant, doorbell_frame, doorbell_map, doorbell_unmap and cap_dma belong to the
 * command thread, map, unmap, copy and dmabuf to that and the job threads (jobs.h); get_kicks,
 * any_kick, kicks_done, arm_kicks and kick_ack belong to the kick thread; put_event and
 * overflow are serialised by be_dev.evt_lock.
 */
#ifndef BE_TRANSPORT_H
#define BE_TRANSPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <xen/io/vhcaif.h>

/* Barriers for ring.h, with Xen's meaning also between two domains. */
#undef xen_mb
#undef xen_rmb
#undef xen_wmb
#define xen_mb()	__atomic_thread_fence(__ATOMIC_SEQ_CST)
#define xen_rmb()	__atomic_thread_fence(__ATOMIC_ACQUIRE)
#define xen_wmb()	__atomic_thread_fence(__ATOMIC_RELEASE)

#define BE_NO_SLOT	(~0u)

/* A doorbell page that a guest can reach. */
struct be_bell {
	uint32_t slot;			/* of the doorbell agent, or window */
	uint64_t frame;			/* as this domain numbers it; in a window:
					 * as the guest does */
	uint8_t prot;			/* XENVHCA_PROT_* */
};

#define BE_RING_PAGES	(1u << XENVHCA_MAX_RING_ORDER)

/* What the frontend published; ranges were checked by the reader. */
struct be_ring_params {
	uint32_t ring_order;			/* 0..XENVHCA_MAX_RING_ORDER */
	uint32_t ring_ref[BE_RING_PAGES];
	uint32_t evt_ref, kick_ref;
	uint32_t cmd_port, evt_port, kick_port;	/* remote event channels */
};

/* Which addresses suit: those that agree with @like in the lower @bits. */
struct be_place {
	uint64_t like;
	uint8_t bits;
};

struct be_dev;
struct be_transport;
struct be_transport_ops {
	/* Maps the rings and binds the event channels, once, with be_dev.evt_lock
	 * held. 0 or -errno; close() undoes it. */
	int (*connect)(struct be_transport *t, const struct be_ring_params *p);
	/* Copies the next request. 1: got one, 0: none, -EPROTO: ring
	 * violated, device must be closed. */
	int (*get_request)(struct be_transport *t, struct xenvhca_request *req);
	/* Is there a request? To poll for one. */
	bool (*any_request)(struct be_transport *t);
	/* The frontend is to notify of the next request, which it need not
	 * before; true if there is one already. */
	bool (*arm_requests)(struct be_transport *t);
	/* Copies out; notifies if the frontend asked for it. 1: it did, 0 or
	 * -EPROTO. */
	int (*put_response)(struct be_transport *t,
			    const struct xenvhca_response *rsp);
	/* 0; -ENOSPC: full, overflow flag was set; -ENOTCONN: no ring yet. */
	int (*put_event)(struct be_transport *t, const struct xenvhca_event *ev);
	/* Sets the overflow flag; notifies if it was clear. */
	void (*overflow)(struct be_transport *t);
	/* Up to max entries; advances cons. -EPROTO as above. */
	int (*get_kicks)(struct be_transport *t, struct xenvhca_kick *kick,
			 unsigned int max);
	/* Are there entries? To poll for them. */
	bool (*any_kick)(struct be_transport *t);
	/* n more entries executed. */
	void (*kicks_done)(struct be_transport *t, unsigned int n);
	/* Arm the kick notification; true if entries are there already. */
	bool (*arm_kicks)(struct be_transport *t);
	/* fds to poll: command ring, kick ring. ack takes what they tell. */
	int (*cmd_fd)(struct be_transport *t);
	int (*kick_fd)(struct be_transport *t);
	/* Readable when there may be an answer to doorbell_map(); -1: there is
	 * nobody who answers. */
	int (*agent_fd)(struct be_transport *t);
	/* Takes what it tells; 0 or -errno. */
	int (*agent_ack)(struct be_transport *t);
	void (*cmd_ack)(struct be_transport *t, bool had_work);
	void (*kick_ack)(struct be_transport *t, bool had_work);

	/* Guest memory: map n grants, read-write or read-only, at one
	 * contiguous address, all or nothing; place NULL: at any. Returns the
	 * address or NULL with errno. */
	void *(*map)(struct be_transport *t, const uint32_t *ref, uint32_t n,
		     bool readonly, const struct be_place *place);
	void (*unmap)(struct be_transport *t, void *addr, uint32_t n);
	/* Copies n granted pages to dst, aligned to a page. 0 or -errno, and
	 * then dst is undefined. */
	int (*copy)(struct be_transport *t, const uint32_t *ref, uint32_t n,
		    void *dst);
	/* The n grants for the HCA alone, all or nothing, and none that is
	 * read-only: file descriptor of a dma-buf, or -errno; -EINVAL: a bad
	 * reference, for which map() is not tried. Its last user unmaps them. */
	int (*dmabuf)(struct be_transport *t, const uint32_t *ref, uint32_t n);
	/* HCA memory mapped at addr: grant n pages; id for ungrant. */
	int (*grant)(struct be_transport *t, void *addr, uint32_t n,
		     uint32_t *ref, uint32_t *id);
	/* 0, or number of pages the guest still maps (handed over). */
	int (*ungrant)(struct be_transport *t, uint32_t id);
	/* Doorbell page mapped at addr: its frame and cache attribute, as this
	 * domain has them. 0 or -errno; bell->slot is not touched. */
	int (*doorbell_frame)(struct be_transport *t, void *addr,
			      struct be_bell *bell);
	/* Doorbell page mapped at addr: let the guest reach it, a translated
	 * one at gfn, else 0. -EPERM: somebody else has this page, -EACCES: the
	 * agent refused for another reason, -ETIMEDOUT: no answer,
	 * -EINPROGRESS: none yet, ask again with what is in bell.
	 * bell->slot is set, unless it is BE_NO_SLOT, also on errors: then
	 * the guest may have the page. */
	int (*doorbell_map)(struct be_transport *t, void *addr, uint64_t gfn,
			    struct be_bell *bell);
	/* 0: the guest has no right to the page any more (PV: and nobody
	 * else will get it while the guest lives). */
	int (*doorbell_unmap)(struct be_transport *t, uint32_t slot);
	/* Before the first MR: DMA of the HCA of uverbs file fd within a
	 * page. */
	int (*cap_dma)(struct be_transport *t, const char *hca, int fd);
	/* Everything of this domain must be unmapped and ungranted before. */
	void (*close)(struct be_transport *t);
};
struct be_transport {
	const struct be_transport_ops *ops;
	bool hold_translated;	/* doorbell_unmap: as for PV, of any guest */
	bool closing;		/* ungrant: not for the guest, which may be dying */
};

/**
 * be_transport_open_fn - open what reaches the guest of a device, without rings
 * @dev: names the domain of the frontend; for logs
 * @helper_fd: the helper device, opened by the supervisor, or -1
 * @agent: there is a doorbell agent, reached by xenstore. A device with a window of
 *         doorbell pages needs none; with neither no doorbell page is mapped
 * @err: 0 or -errno on failure (be_fault() said why)
 *
 * Has the helper keep this process's memory until its verbs files
 * are closed, so it must run before the first MR is registered. Returns NULL on failure.
 */
typedef struct be_transport *be_transport_open_fn(struct be_dev *dev, int helper_fd,
						  bool agent, int *err);

#endif
