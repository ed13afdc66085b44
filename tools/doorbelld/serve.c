// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Chooses the requests of a device in a pass (request.h), so that each guest has its rate,
 * and none waits long for another one.
 */
#include "request.h"

#define TURN	16		/* requests of a device at most, then others */
#define PASS	64u		/* requests of a pass, shared by those who have lists */

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
 * The number of devices of other guests with a request that may be answered now, perhaps
 * since this device's turn. Other events are work for the next pass.
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
		n += o->guest != d->guest && o->asked &&
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

/* How many requests of its list d may have, while others wait with theirs. */
static unsigned int share(struct dba_agent *a, const struct dba_dev *d)
{
	unsigned int n = PASS / (others_wait(a, d) + 1);

	return n < 1 ? 1 : n < TURN ? n : TURN;
}

/*
 * Reading a list without a new request counts as a request, too. A request costs less
 * than reading its list, so a device may have several in a pass: otherwise the list of
 * each of many devices would be read for each request. The number is bounded because
 * answers are written when a pass ends, and a silent agent counts as dead.
 */
void dba_serve(struct dba_agent *a, struct dba_dev *d)
{
	unsigned int i, n = 1, most, begun = 0;
	struct dba_batch *b;

	if (!d->asked || !take(a, d))
		return;
	d->asked = false;
	b = dba_batch_begin(a, d);
	if (!b)
		return;
	most = share(a, d);
	for (i = 0; i < b->n; i++) {
		if (b->e[i].answer)
			continue;
		if (begun++ && !one_more(a, d, &n, most)) {
			d->asked = true;
			return;
		}
		dba_request_entry(a, b, &b->e[i]);
	}
}
