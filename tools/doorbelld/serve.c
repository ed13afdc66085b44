// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Which requests a device may have in a pass (turn.h), so that each guest has its
 * rate, and none waits long for another one.
 */
#include <stdlib.h>
#include <string.h>
#include "turn.h"

#define TURN	16		/* requests of a device at most, then others */
#define PASS	64u		/* requests of a pass, shared by those who have lists */

/* Visits the slots of d that have a mapping. */
static void mark_mapped(struct dba_agent *a, struct dba_dev *d)
{
	const struct dba_map *m;

	for (m = a->table.maps; m; m = m->next)
		if (!m->held && m->guest == d->guest && m->devid == d->devid &&
		    m->backend == d->backend && m->slot < XENVHCA_DOORBELL_SLOTS)
			dba_mark(d, m->slot);
}

/*
 * Visits all that is there. A mapping without a list of requests is one of a slot
 * that has nodes, or had. False: to be tried again later.
 */
static bool list_nodes(struct dba_agent *a, struct dba_dev *d)
{
	char **names = NULL;
	unsigned int slot;
	int i, n, err = 0;

	n = xn_list(a->xs, XBT_NULL, d->path, &names);
	d->list = false;
	for (i = 0; i < n; i++) {
		if (!strcmp(names[i], XENVHCA_NODE_DOORBELL_REQUESTS))
			d->asked = true;
		else if (!dba_parse_slot(names[i], &slot))
			dba_mark(d, slot);
	}
	free(names);
	if (!n)
		err = dba_unmap_all(a, d, "its requests were removed");
	else if (n > 0 && !d->asked)
		mark_mapped(a, d);
	if (n >= 0 && !err)
		return true;
	d->list = true;
	dba_timer(a, vl_now_ns() + DBA_RETRY_NS);
	return false;
}

/* One bucket for all devices of a guest: that of the first of them. */
static struct vl_bucket *bucket_of(struct dba_agent *a,
				   const struct dba_dev *of)
{
	struct dba_dev *d = a->devs;

	while (d->guest != of->guest)
		d = d->next;
	return &d->requests;
}

static bool take(struct dba_agent *a, const struct dba_dev *of)
{
	uint64_t now = vl_now_ns();
	uint64_t wait = vl_bucket_take(bucket_of(a, of), now);

	if (wait)
		dba_timer(a, now + wait);
	return !wait;
}

/*
 * How many devices of other guests have a request that may be answered now, perhaps
 * since this one had its turn? What else the events say is work for the next pass.
 */
static unsigned int others_wait(struct dba_agent *a, const struct dba_dev *d)
{
	bool known = a->rescan || a->recheck || a->n_stale;
	uint64_t now = vl_now_ns();
	const struct dba_dev *o;
	unsigned int n = 0;

	dba_agent_events(a);	/* a lost connection is noticed by the next wait */
	if (!known && (a->rescan || a->recheck || a->n_stale))
		dba_timer(a, now);
	for (o = a->devs; o; o = o->next)
		n += o->guest != d->guest &&
		     (o->n_dirty || o->list || o->asked) &&
		     !vl_bucket_wait(bucket_of(a, o), now);
	return n;
}

/* May d have one more request of this pass, after n of at most so many? */
static bool one_more(struct dba_agent *a, const struct dba_dev *d,
		     unsigned int *n, unsigned int most)
{
	if (*n >= most) {
		dba_timer(a, vl_now_ns());
		return false;
	}
	++*n;
	return take(a, d);
}

/* The same, but not while others wait, unless it is the first. */
static bool goes_on(struct dba_agent *a, const struct dba_dev *d,
		    unsigned int *n)
{
	return one_more(a, d, n, *n && others_wait(a, d) ? 0 : TURN);
}

/* How many requests of its list d may have, while others wait with theirs. */
static unsigned int share(struct dba_agent *a, const struct dba_dev *d)
{
	unsigned int n = PASS / (others_wait(a, d) + 1);

	return n < 1 ? 1 : n < TURN ? n : TURN;
}

/* False: the turn is over. */
static bool serve_slots(struct dba_agent *a, struct dba_dev *d, unsigned int *n)
{
	unsigned int slot;

	for (slot = 0; d->n_dirty && slot < XENVHCA_DOORBELL_SLOTS; slot++) {
		if (!d->dirty[slot])
			continue;
		if (!goes_on(a, d, n) || dba_turn_begin(a, d, slot))
			return false;
		d->dirty[slot] = false;
		d->n_dirty--;
	}
	return true;
}

/*
 * Reading a list without a new request counts as one, too. What is in one costs less
 * than that, so others wait for several: else each of many devices that ask at the same
 * time would have its list read again for each request. But answers come when a pass
 * ends, and an agent that says nothing for long is taken for a dead one.
 */
static bool serve_batch(struct dba_agent *a, struct dba_dev *d, unsigned int *n)
{
	unsigned int i, most, begun = 0;
	struct dba_batch *b;

	if (!d->asked)
		return true;
	if (!goes_on(a, d, n))
		return false;
	d->asked = false;
	b = dba_batch_begin(a, d);
	most = share(a, d);
	for (i = 0; b && i < b->n; i++) {
		if (b->e[i].answer)
			continue;
		if ((begun++ && !one_more(a, d, n, most)) ||
		    dba_turn_entry(a, d, b, &b->e[i])) {
			d->asked = true;
			return false;
		}
	}
	return b || !d->asked;
}

void dba_serve(struct dba_agent *a, struct dba_dev *d)
{
	unsigned int n = 0;

	if (d->list && (!take(a, d) || !list_nodes(a, d)))
		return;
	if (!serve_slots(a, d, &n) || !serve_batch(a, d, &n))
		return;
	/* Events that came meanwhile named what was passed already. */
	if (d->n_dirty || d->list || d->asked)
		dba_timer(a, vl_now_ns());
}
