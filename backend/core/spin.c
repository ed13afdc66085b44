// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Spinning (spin.h) makes no system call, so its clock is the processor's
 * counter. Kernels differ in what they make of it, hence nothing here depends on
 * it but how long a spin lasts, and a counter that stands still ends a spin too.
 */
#include "clock.h"
#include "spin.h"
#include "ticks.h"

#define BE_SPIN_ONE	256u
#define BE_SPIN_START	192u	/* before anything is known */
#define BE_SPIN_PAYS	128u	/* at least every second one */
#define BE_SPIN_WEIGHT	8u	/* the newest counts 1/8 */
#define BE_SPIN_PROBE	16u	/* else one of so many is tried */
#define BE_SPIN_DUTY	4	/* a quarter of the time, */
#define BE_SPIN_DEPTH_US 250000	/* but so much at once after a pause */
#define BE_SPIN_READ	16u	/* turns from one look at the counter to the next */
#define BE_SPIN_TURNS_US 1024u	/* more than any processor makes */
#define BE_SPIN_TICKS_MAX 1000000u	/* in a microsecond: no processor has so many */
#define BE_SPIN_BORN_NS	(20 * VL_MSEC_NS)	/* after which a tick is known */

void be_spin_init(struct be_spin *s, unsigned int most, unsigned int *now,
		  uint32_t limit_us)
{
	*s = (struct be_spin){ .most = most, .now = now, .hits = BE_SPIN_START };
	if (!most)
		return;
	s->limit_us = limit_us;
	s->born_ns = vl_now_ns();
	s->born = vl_ticks();
}

/* The exact clock is a system call in some domains: it is asked once. */
static bool spin_ticks_known(struct be_spin *s)
{
	uint64_t ns;

	if (s->ticks_us)
		return true;
	if (vl_coarse_ns() < s->born_ns + BE_SPIN_BORN_NS)
		return false;
	ns = vl_now_ns() - s->born_ns;
	s->filled = vl_ticks();
	s->ticks_us = (s->filled - s->born) / (ns / 1000);
	if (s->ticks_us > BE_SPIN_TICKS_MAX) {	/* it went back: begin anew */
		s->ticks_us = 0;
		s->born = s->filled;
		s->born_ns += ns;
	}
	s->left = (int64_t)s->ticks_us * BE_SPIN_DEPTH_US;
	return s->ticks_us;
}

static bool spin_pays(struct be_spin *s)
{
	if (s->hits >= BE_SPIN_PAYS || ++s->skipped >= BE_SPIN_PROBE) {
		s->skipped = 0;
		return true;
	}
	return false;
}

/* Is there any left of the budget? */
static bool spin_fill(struct be_spin *s)
{
	int64_t depth = (int64_t)s->ticks_us * BE_SPIN_DEPTH_US;
	uint64_t passed = s->begin - s->filled;

	s->filled = s->begin;
	if (passed / BE_SPIN_DUTY >= (uint64_t)(depth - s->left))
		s->left = depth;
	else
		s->left += (int64_t)(passed / BE_SPIN_DUTY);
	return s->left > 0;
}

/* Counts this thread among those that poll, if there may be one more. */
static bool spin_enter(struct be_spin *s)
{
	if (__atomic_fetch_add(s->now, 1, __ATOMIC_RELAXED) < s->most)
		return true;
	__atomic_fetch_sub(s->now, 1, __ATOMIC_RELAXED);
	return false;
}

bool be_spin_begin(struct be_spin *s)
{
	if (!s->limit_us || !spin_ticks_known(s) || !spin_pays(s))
		return false;
	s->begin = vl_ticks();
	s->turns = 0;
	return spin_fill(s) && spin_enter(s);
}

bool be_spin_turn(struct be_spin *s)
{
	vl_relax();
	if (++s->turns % BE_SPIN_READ)
		return true;
	return vl_ticks() - s->begin < s->ticks_us * s->limit_us &&
	       s->turns < s->limit_us * BE_SPIN_TURNS_US;
}

void be_spin_end(struct be_spin *s, bool found)
{
	uint64_t depth = s->ticks_us * BE_SPIN_DEPTH_US;
	uint64_t used = vl_ticks() - s->begin;

	/* Also where the counter went back. */
	s->left -= (int64_t)(used < depth ? used : depth);
	s->hits -= s->hits / BE_SPIN_WEIGHT;
	if (found && s->hits < BE_SPIN_PAYS)
		s->hits = BE_SPIN_START;	/* what came before is over */
	else if (found)
		s->hits += BE_SPIN_ONE / BE_SPIN_WEIGHT;
	__atomic_fetch_sub(s->now, 1, __ATOMIC_RELAXED);
}
