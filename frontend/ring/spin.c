// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * When a process polls for an answer, and for how long; ring_cmd.c polls. The backend
 * decides when it answers, so a spin is short, and if answers did not come in time only
 * one command of many polls again. A spin ends when another task wants the processor.
 * With one processor there is no spin: the backend may need that processor to answer.
 */
#include <linux/cpumask.h>
#include <linux/ktime.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>

#include "ring.h"

#define SPIN_MOST_US	1000u
#define SPIN_MISSES	4	/* more than hits: spinning does not pay */
#define SPIN_PROBE	16	/* then one command of so many polls */

static unsigned int spin_us = 50;
module_param(spin_us, uint, 0644);
MODULE_PARM_DESC(spin_us,
		 "microseconds to poll for an answer before sleeping (0..1000, default 50; 0: never)");

static u64 spin_limit_ns(void)
{
	return min(READ_ONCE(spin_us), SPIN_MOST_US) * 1000ull;
}

bool vhca_spin_try(struct vhca_spin *s)
{
	u16 skipped = READ_ONCE(s->skipped) + 1;

	if (!spin_limit_ns() || num_online_cpus() == 1)
		return false;
	if (READ_ONCE(s->misses) < SPIN_MISSES || skipped >= SPIN_PROBE)
		skipped = 0;
	WRITE_ONCE(s->skipped, skipped);
	return !skipped;
}

bool vhca_spin_continue(u64 begin)
{
	cpu_relax();
	return !need_resched() && ktime_get_ns() - begin < spin_limit_ns();
}

/* A hit cancels one miss; a successful probe clears the count. */
void vhca_spin_record(struct vhca_spin *s, bool found)
{
	s16 misses = READ_ONCE(s->misses);

	if (!found)
		misses = min(misses + 1, SPIN_MISSES);
	else if (misses >= SPIN_MISSES)
		misses = 0;
	else
		misses = max(misses - 1, -SPIN_MISSES);
	WRITE_ONCE(s->misses, misses);
}
