/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A hub: the devices of one wire, and whose turn it is. Frames are delivered
 * and QPs are run in turns, never one from within the other, until nothing is
 * left or the caller's budget is used up; then the host is asked to come back.
 * Nothing here polls: who has no frames, no scheduled QP and no deadline costs
 * nothing. The budget bounds what a guest's doorbell can make the caller do.
 */
#include <stdlib.h>

#include "cx_priv.h"

#define RUN_BUDGET	(128u << 10)	/* bytes, when nobody else gave one */
#define TURN		(64u << 10)	/* of one device: what caches hold */
#define STEP		64u		/* what even an empty frame costs */
#define TIMER_MIN	1000u		/* ns: a deadline that has passed */

struct cx_hub {
	struct cx_dev *first, *turn;
	bool running;
};

struct cx_hub *cx_hub_new(void)
{
	return calloc(1, sizeof(struct cx_hub));
}

void cx_hub_free(struct cx_hub *hub)
{
	free(hub);
}

bool cx_hub_running(const struct cx_hub *hub)
{
	return hub->running;
}

struct cx_dev *cx_hub_first(const struct cx_hub *hub)
{
	return hub->first;
}

/* ---- devices ---- */
static void meet_neighbours(struct cx_hub *hub)
{
	struct cx_dev *d;

	for (d = hub->first; d; d = d->hub_next)
		d->port.neighbour = hub->first->hub_next;
	if (hub->first)
		cx_port_link(hub->first);
}

/* Two with one address: the first one gets the frames. */
static void check_addresses(struct cx_dev *d, const struct cx_dev *o)
{
	if (d->config.lid && o->config.lid == d->config.lid)
		cx_log(d, CX_ERR, "another device has LID %u", d->config.lid);
	if (o->config.guid == d->config.guid)
		cx_log(d, CX_ERR, "another device has this GUID");
}

void cx_hub_join(struct cx_hub *hub, struct cx_dev *d)
{
	struct cx_dev **p;

	for (p = &hub->first; *p; p = &(*p)->hub_next)
		check_addresses(d, *p);
	*p = d;
	d->hub_next = NULL;
	d->hub = hub;
	d->port.plugged = true;
	cx_port_init(d);
	meet_neighbours(hub);
}

void cx_hub_leave(struct cx_dev *d)
{
	struct cx_hub *hub = d->hub;
	struct cx_dev **p;

	if (!hub)
		return;
	for (p = &hub->first; *p && *p != d; p = &(*p)->hub_next)
		;
	if (*p)
		*p = d->hub_next;
	if (hub->turn == d)
		hub->turn = d->hub_next;
	d->hub = NULL;
	cx_wire_flush(d);
	cx_link_free(d);
	d->host->timer(d->opaque, 0);
	meet_neighbours(hub);
}

void cx_wire_reset(struct cx_dev *d)
{
	cx_wire_flush(d);
	cx_mcg_clear(d);
	cx_port_init(d);
	cx_port_link(d);
}

/* ---- turns ---- */
static void charge(size_t *budget, size_t bytes)
{
	*budget -= bytes < *budget ? bytes : *budget;
}

static void deliver(struct cx_dev *d, size_t *budget)
{
	size_t turn = *budget < TURN ? *budget : TURN;
	struct cx_frame *f;
	size_t bytes;

	while (turn && (f = cx_wire_pop(d))) {
		bytes = STEP + f->len;
		d->stats.frames_rx++;
		if (!cx_frame_is_own(d, f) && f->kind != CX_F_ETHER)
			cx_port_count(d, f, false);
		cx_rx(d, f);
		cx_frame_free(f);
		charge(&turn, bytes);
		charge(budget, bytes);
	}
}

/* Work that can be done now: a full cable says when it has room again. */
static bool has_work(const struct cx_dev *d)
{
	return cx_wire_pending(d) || (d->run_first && !cx_link_blocked(d));
}

static void run_qps(struct cx_dev *d, size_t *budget)
{
	size_t turn = *budget < TURN ? *budget : TURN, left = turn;

	if (!turn || !d->run_first || cx_link_blocked(d))
		return;
	cx_qp_run(d, &left);
	charge(budget, STEP + (left < turn ? turn - left : 0));
}

/* The next in turn that has work, or NULL. */
static struct cx_dev *next_turn(struct cx_hub *hub)
{
	struct cx_dev *d;

	for (d = hub->turn; d; d = d->hub_next)
		if (has_work(d))
			return d;
	for (d = hub->first; d != hub->turn; d = d->hub_next)
		if (has_work(d))
			return d;
	return NULL;
}

bool cx_hub_run(struct cx_hub *hub, size_t budget)
{
	struct cx_dev *d;

	if (hub->running)
		return false;
	hub->running = true;
	while ((d = next_turn(hub)) && budget) {
		hub->turn = d->hub_next;
		deliver(d, &budget);
		run_qps(d, &budget);
	}
	hub->running = false;
	if (d)
		d->host->kick(d->opaque);
	return d;
}

void cx_kick(struct cx_dev *d)
{
	if (d->hub && !d->hub->running)
		d->host->kick(d->opaque);
}

/* ---- deadlines ---- */
void cx_timer_set(struct cx_dev *d, uint64_t deadline)
{
	if (!deadline || !d->hub || (d->deadline && d->deadline <= deadline))
		return;
	d->deadline = deadline;
	d->host->timer(d->opaque, deadline);
}

static void timer_again(struct cx_dev *d, uint64_t now, uint64_t next)
{
	if (next)
		cx_timer_set(d, next < now + TIMER_MIN ? now + TIMER_MIN :
							 next);
}

void cx_timer(struct cx_dev *d)
{
	uint64_t now = d->host->now(d->opaque);

	if (!d->hub)
		return;
	d->deadline = 0;
	timer_again(d, now, cx_link_timer(d, now));
	timer_again(d, now, cx_loss_timer(d, now));
	timer_again(d, now, cx_qp_timers(d, now));
	cx_hub_run(d->hub, RUN_BUDGET);
}
