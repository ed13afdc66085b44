/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * When a thread of a worker polls its ring before it sleeps, and for how long.
 * A guest decides when it sends, so it could have its worker poll all the time.
 * Each thread therefore has a budget; no more threads of a worker poll at once than
 * the supervisor said at its start, so that all workers together poll with fewer than
 * there are processors (supervise/share.c); and who found nothing lately polls only
 * now and then, to see whether that has changed.
 */
#ifndef BE_SPIN_H
#define BE_SPIN_H

#include <stdbool.h>
#include <stdint.h>

/* Of one thread; all zero never spins. */
struct be_spin {
	unsigned int most, *now;	/* threads of this worker that may, and do */
	uint32_t limit_us;	/* 0: never */
	uint64_t born_ns, born;	/* to learn how long a tick is */
	uint64_t ticks_us;	/* ticks in a microsecond; 0: not known yet */
	int64_t left;		/* of the budget, in ticks */
	uint64_t filled;	/* when that was computed */
	unsigned int hits;	/* how often polling paid lately, of BE_SPIN_ONE */
	unsigned int skipped;	/* times that it was not tried since */
	/* Of the spin that goes on: */
	uint64_t begin;
	uint32_t turns;
};

/**
 * be_spin_init() - for one thread
 * @most: threads of this worker that may poll at once
 * @now: those that do
 * @limit_us: longest spin
 */
void be_spin_init(struct be_spin *s, unsigned int most, unsigned int *now,
		  uint32_t limit_us);
/* There is nothing to do. True: poll, and after each look be_spin_turn(). */
bool be_spin_begin(struct be_spin *s);
/* False: long enough. */
bool be_spin_turn(struct be_spin *s);
/* After a begin that was true. */
void be_spin_end(struct be_spin *s, bool found);

#endif
