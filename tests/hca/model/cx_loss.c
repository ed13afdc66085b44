// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A wire that is not perfect: of the frames on their way to a device some are
 * lost, some are overtaken by others, and some come twice. A seed decides
 * which, so that a run can be repeated. What the device sends to itself does
 * not see the wire. The transports make up for it, or do not.
 */
#include <stdlib.h>

#include "cx_priv.h"

#define THOUSAND	1000u
#define LATE_MAX	64u		/* frames kept; others come in order */
#define LATE_FROM	10000u		/* ns: less than any timeout */
#define LATE_RANGE	1000000u

/* The high half of a linear congruential generator (Knuth's MMIX). */
static uint32_t draw(struct cx_loss *l)
{
	l->random = l->random * 6364136223846793005ULL + 1442695040888963407ULL;
	return l->random >> 32;
}

void cx_wire_loss(struct cx_dev *d, uint32_t loss)
{
	d->config.wire_loss = loss;
	d->loss.random = d->config.wire_seed ^ d->config.guid;
}

/* Takes f; false without room. */
static bool keep(struct cx_dev *d, struct cx_frame *f)
{
	struct cx_loss *l = &d->loss;

	if (l->nr == LATE_MAX)
		return false;
	f->due = d->host->now(d->opaque) + LATE_FROM + draw(l) % LATE_RANGE;
	f->next = l->late;
	l->late = f;
	l->nr++;
	cx_timer_set(d, f->due);
	return true;
}

bool cx_loss_take(struct cx_dev *d, struct cx_frame *f)
{
	uint32_t loss = d->config.wire_loss, fate;
	struct cx_frame *copy;

	if (!loss || cx_frame_is_own(d, f))
		return false;
	fate = draw(&d->loss) % THOUSAND;
	if (fate < loss) {
		d->stats.frames_lost++;
		cx_frame_free(f);
		return true;
	}
	if (fate < 2 * loss)
		return keep(d, f);
	copy = fate < 3 * loss ? cx_frame_copy(f) : NULL;
	if (copy && !keep(d, copy))
		cx_frame_free(copy);
	return false;
}

uint64_t cx_loss_timer(struct cx_dev *d, uint64_t now)
{
	struct cx_frame *f, **p = &d->loss.late;
	uint64_t next = 0;

	while ((f = *p)) {
		if (f->due > now) {
			if (!next || f->due < next)
				next = f->due;
			p = &f->next;
			continue;
		}
		*p = f->next;
		d->loss.nr--;
		cx_wire_arrive(d, f);
	}
	return next;
}

void cx_loss_flush(struct cx_dev *d)
{
	struct cx_frame *f;

	while ((f = d->loss.late)) {
		d->loss.late = f->next;
		d->stats.frames_dropped++;
		cx_frame_free(f);
	}
	d->loss.nr = 0;
}
