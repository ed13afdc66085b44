/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A transport without Xen, for tests and fuzzers: rings in plain memory,
 * guest memory in a memfd, one eventfd per direction and port. The test is
 * the frontend and may be as hostile as it likes; misuse of the backend's
 * side (unmap of what is not mapped, and the like) is counted in
 * loop_errors().
 *
 * Guest page i has grant reference LOOP_REF(i) while it is granted.
 */
#ifndef RING_LOOP_H
#define RING_LOOP_H

#include "carrier/ring_shm.h"

#define LOOP_REF_BASE	8u		/* as Xen reserves the first ones */
#define LOOP_REF(i)	(LOOP_REF_BASE + (uint32_t)(i))

struct loop;

/**
 * loop_new() - guest with nr_pages pages, all granted, and three rings
 * @ring_order: log2 of the pages of the command ring
 *
 * Return: NULL if memory is short.
 */
struct loop *loop_new(uint32_t nr_pages, unsigned int ring_order);
struct be_transport *loop_transport(struct loop *l);
/* After the backend is closed. Does not call the transport's close. */
void loop_free(struct loop *l);

/* ---- guest memory ---- */
void *loop_page(struct loop *l, uint32_t i);	/* the guest's own mapping */
void loop_revoke(struct loop *l, uint32_t i);	/* later maps fail */
/* Granted read-only: later maps to write fail. */
void loop_readonly(struct loop *l, uint32_t i);
/* The n-th map() from now on fails with err; 0: none. */
void loop_fail_map(struct loop *l, unsigned int n, int err);
/* Each dma-buf from now on fails with err; 0: none. */
void loop_fail_dmabuf(struct loop *l, int err);
/* Pages that are mapped now, in dma-bufs too; in those alone. */
uint64_t loop_mapped(struct loop *l);
uint64_t loop_dmabuf(struct loop *l);
uint64_t loop_errors(struct loop *l);

/* ---- memory that the backend granted ---- */
/* Address of a granted page or NULL; counts as mapped by the guest. */
void *loop_gmap(struct loop *l, uint32_t ref);
void loop_gunmap(struct loop *l, uint32_t ref);
uint64_t loop_granted(struct loop *l);		/* pages granted now */
uint64_t loop_handed_over(struct loop *l);	/* ungranted while mapped */
/* Ungranted of a guest that did not ask for it. */
uint64_t loop_unasked(struct loop *l);
void loop_fail_grant(struct loop *l, int err);	/* the next grant() */

/* ---- doorbell pages ---- */
#define LOOP_FRAME(slot) (0xe0100u + (uint64_t)(slot))	/* as told */

unsigned int loop_doorbells(struct loop *l);	/* the guest's now */
/* How often the backend asked for one, or for the end of one. */
/* Calls that copied lists of references, and the pages that they copied. */
uint64_t loop_copies(struct loop *l, uint64_t *pages);
uint64_t loop_doorbell_maps(struct loop *l);
uint64_t loop_doorbell_unmaps(struct loop *l);
/* What tells the frame of a doorbell page: without an agent. */
void loop_frames(struct loop *l, uint64_t (*frame_of)(const void *addr));
/* Cache attribute of the pages from now on; PROT_NC to begin with. */
void loop_doorbell_prot(struct loop *l, uint8_t prot);
/* The next n doorbell_map() have no answer yet; how often one was looked for. */
void loop_later_doorbell(struct loop *l, unsigned int n);
uint64_t loop_doorbell_looks(struct loop *l);
/* The next n doorbell_map() fail; the page may be the guest's all the same. */
void loop_fail_doorbell(struct loop *l, unsigned int n, int err,
			bool may_be_mapped);
/* The next n doorbell_unmap() fail. */
void loop_fail_undoorbell(struct loop *l, unsigned int n, int err);
void loop_fail_cap_dma(struct loop *l, int err);	/* each; 0: none */
uint64_t loop_caps(struct loop *l);		/* calls of cap_dma() */

/* ---- rings, as the frontend uses them ---- */
/* Put a request; -ENOSPC if the ring is full. */
int loop_put_request(struct loop *l, const struct xenvhca_request *req);
/* 1: got one, 0: none */
int loop_get_response(struct loop *l, struct xenvhca_response *rsp);
int loop_get_event(struct loop *l, struct xenvhca_event *ev);
bool loop_take_overflow(struct loop *l);
void loop_put_kick(struct loop *l, const struct xenvhca_kick *k);
/* For the hostile: the shared pages themselves. */
struct xenvhca_sring *loop_sring(struct loop *l);
struct xenvhca_evt_page *loop_evt(struct loop *l);
struct xenvhca_kick_page *loop_kick(struct loop *l);
/* eventfds that the backend signals */
int loop_notify_fd(struct loop *l, enum be_port_id which);
/* Signal the backend. */
void loop_signal(struct loop *l, enum be_port_id which);

#endif
