/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Command, event and kick ring in shared memory: the part of a transport that
 * ring_xen.c and ring_loop.c have in common. transport.h says what the
 * functions do and which thread calls them.
 */
#ifndef RING_SHM_H
#define RING_SHM_H

#include "core/be.h"

enum be_port_id { BE_PORT_CMD, BE_PORT_EVT, BE_PORT_KICK, BE_PORTS };

struct be_shm;
typedef void be_shm_notify_fn(struct be_shm *s, enum be_port_id which);

struct be_shm {
	struct be_transport t;		/* first */
	xenvhca_back_ring_t ring;
	volatile struct xenvhca_evt_page *evt;
	uint32_t evt_prod;
	volatile struct xenvhca_kick_page *kick;
	uint32_t kick_cons, kick_done;
	be_shm_notify_fn *notify;
};

/* All indices start at 0, as in the pages that the frontend zeroed. */
void be_shm_init(struct be_shm *s, void *ring, uint32_t ring_pages, void *evt,
		 void *kick, be_shm_notify_fn *notify);
int be_shm_get_request(struct be_transport *t, struct xenvhca_request *req);
bool be_shm_any_request(struct be_transport *t);
bool be_shm_arm_requests(struct be_transport *t);
int be_shm_put_response(struct be_transport *t,
			const struct xenvhca_response *rsp);
int be_shm_put_event(struct be_transport *t, const struct xenvhca_event *ev);
void be_shm_overflow(struct be_transport *t);
int be_shm_get_kicks(struct be_transport *t, struct xenvhca_kick *kick,
		     unsigned int max);
bool be_shm_any_kick(struct be_transport *t);
void be_shm_kicks_done(struct be_transport *t, unsigned int n);
bool be_shm_arm_kicks(struct be_transport *t);

#endif
