/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The other end of the command and kick rings, a thread: it answers out of order,
 * sometimes late, and may lie.
 */
#ifndef RACE_BACKEND_H
#define RACE_BACKEND_H

#include "race.h"
#include "ring_rest.h"

/* Commands have a number in their body, which the answer repeats. */
static atomic64_t race_token;
static bool backend_stop, backend_lies;
static pthread_t backend_thread;
static bool backend_runs;		/* for whoever starts and stops it */

struct backend {
	struct xenvhca_sring *sring;	/* mapped */
	struct xenvhca_kick_page *kick;	/* likewise */
	unsigned int slots, irq, kick_irq; /* irq: stands for the event channel */
	RING_IDX cons, prod;
	u32 kick_cons, kick_done;
	struct xenvhca_request has[XENVHCA_MAX_ID];
	unsigned int nr;
	bool used[XENVHCA_MAX_ID];
};

/* Takes all requests. An id, and so a slot, is one command's until it is answered. */
static void backend_requests(struct backend *b)
{
	RING_IDX prod = READ_ONCE(b->sring->req_prod);
	struct xenvhca_request *req;

	virt_rmb();
	if (prod - b->prod > b->slots)
		wrong("more requests than slots");
	for (; b->cons != prod; b->cons++) {
		req = &b->has[b->nr++];
		*req = b->sring->ring[b->cons % b->slots].req;
		if (req->id >= XENVHCA_MAX_ID || b->used[req->id])
			wrong("an id is used twice");
		b->used[req->id] = true;
	}
}

static void backend_answer(struct backend *b, const struct xenvhca_request *req)
{
	struct xenvhca_response rsp = { .id = req->id, .op = req->op };

	memcpy(rsp.u.raw, req->u.raw, sizeof(u64));
	b->sring->ring[b->prod % b->slots].rsp = rsp;
	b->used[req->id] = false;
	virt_wmb();
	WRITE_ONCE(b->sring->rsp_prod, ++b->prod);
	virt_mb();
	if (READ_ONCE(b->sring->rsp_event) == b->prod)
		kernel_raise(b->irq);
}

static struct xenvhca_request backend_take(struct backend *b)
{
	unsigned int i = any(b->nr);
	struct xenvhca_request req = b->has[i];

	b->has[i] = b->has[--b->nr];
	return req;
}

/* Answers one of those it has. A lie is that in place of the answer to another one. */
static void backend_any(struct backend *b)
{
	struct xenvhca_request req = backend_take(b);

	backend_answer(b, &req);
	if (!b->nr || !READ_ONCE(backend_lies))
		return;
	backend_take(b);
	backend_answer(b, &req);
}

static void backend_kicks(struct backend *b)
{
	u32 prod = READ_ONCE(b->kick->prod), from = b->kick_cons;

	virt_rmb();
	if (prod - from > XENVHCA_KICK_ENTRIES)
		wrong("more kicks than entries");
	for (; b->kick_cons != prod; b->kick_cons++)
		if (b->kick->kick[b->kick_cons % XENVHCA_KICK_ENTRIES].type !=
		    XENVHCA_KICK_ARM)
			wrong("a kick is read before it is written");
	if (from == prod)
		return;
	WRITE_ONCE(b->kick->cons, prod);
	virt_mb();
}

/* Executes one of those it has copied out. */
static void backend_execute(struct backend *b)
{
	if (b->kick_done == b->kick_cons || any(4))
		return;
	WRITE_ONCE(b->kick->done, ++b->kick_done);
	virt_mb();
	if (READ_ONCE(b->kick->done_event) == b->kick_done)
		kernel_raise(b->kick_irq);
}

/* Asks to be notified, and sleeps unless there is something to do. */
static void backend_sleep(struct backend *b)
{
	WRITE_ONCE(b->sring->req_event, b->cons + 1);
	WRITE_ONCE(b->kick->prod_event, b->kick_cons + 1);
	virt_mb();
	if (READ_ONCE(b->sring->req_prod) == b->cons &&
	    READ_ONCE(b->kick->prod) == b->kick_cons)
		sem_wait(&kernel_remote);
}

static void *backend_main(void *arg)
{
	struct backend *b = arg;

	while (!READ_ONCE(backend_stop)) {
		backend_requests(b);
		backend_kicks(b);
		if (!b->nr && b->kick_done == b->kick_cons)
			backend_sleep(b);
		if (!any(4))
			usleep(any(200));
		if (b->nr)
			backend_any(b);
		backend_execute(b);
	}
	return NULL;
}

static void backend_start(struct vhca_dev *dev)
{
	static struct backend b;

	b = (struct backend){
		.sring = dev->ring.cmd.sring, .slots = RING_SIZE(&dev->ring.cmd),
		.irq = dev->ring.cmd_irq,
		.kick = dev->ring.kick, .kick_irq = dev->ring.kick_irq,
	};
	WRITE_ONCE(backend_stop, false);
	WRITE_ONCE(backend_lies, false);
	backend_runs = true;
	backend_thread = race_thread(backend_main, &b);
}

/* No thread but that which frees the rings. */
static void backend_end(struct vhca_dev *dev)
{
	if (!backend_runs)
		return;
	WRITE_ONCE(backend_stop, true);
	sem_post(&kernel_remote);
	pthread_join(backend_thread, NULL);
	backend_runs = false;
}

#endif
