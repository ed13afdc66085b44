// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Spinning (spin.h) makes no system call, so its clock is the processor's
 * counter. Kernels differ in what they make of it, hence nothing here depends on
 * it but how long a spin lasts, and a counter that stands still ends a spin too.
 *
 * A slot is not owned but leased: it holds the time from which on it is free, so
 * a worker that was killed while it spun gives its slot back by that. What another
 * worker, perhaps one that a guest took over, writes there is one number, and one
 * that is too far in the future counts as free.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "clock.h"
#include "file.h"
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
#define BE_SPIN_LEASE_NS (50 * VL_MSEC_NS)	/* longer than any spin */
#define BE_SPINNERS_SIZE 4096

uint64_t *be_spinners_open(const char *path)
{
	int fd = vl_file_open(path, O_RDWR | O_CREAT);
	void *slots = MAP_FAILED;
	int err;

	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	if (!ftruncate(fd, BE_SPINNERS_SIZE))
		slots = mmap(NULL, BE_SPINNERS_SIZE, PROT_READ | PROT_WRITE,
			     MAP_SHARED, fd, 0);
	err = errno;
	close(fd);
	errno = err;
	return slots == MAP_FAILED ? NULL : slots;
}

void be_spin_init(struct be_spin *s, uint64_t *slots, long cpus,
		  uint32_t limit_us)
{
	*s = (struct be_spin){ .slots = slots, .hits = BE_SPIN_START };
	if (!slots || cpus < 2)
		return;
	s->limit_us = limit_us;
	s->n_slots = cpus > BE_SPINNERS_MAX ? BE_SPINNERS_MAX :
		     (unsigned int)cpus - 1;
	s->slot = (unsigned int)getpid() % s->n_slots;
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

static bool slot_take(struct be_spin *s, unsigned int i, uint64_t now)
{
	uint64_t old = __atomic_load_n(&s->slots[i], __ATOMIC_RELAXED);

	if (old > now && old - now <= BE_SPIN_LEASE_NS)
		return false;
	return __atomic_compare_exchange_n(&s->slots[i], &old, s->held, false,
					   __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static bool spin_slot(struct be_spin *s)
{
	uint64_t now = vl_coarse_ns();
	unsigned int i;

	s->held = now + BE_SPIN_LEASE_NS;
	for (i = 0; i < s->n_slots; i++) {
		if (slot_take(s, s->slot, now))
			return true;
		s->slot = (s->slot + 1) % s->n_slots;
	}
	return false;
}

bool be_spin_begin(struct be_spin *s)
{
	if (!s->limit_us || !spin_ticks_known(s) || !spin_pays(s))
		return false;
	s->begin = vl_ticks();
	s->turns = 0;
	return spin_fill(s) && spin_slot(s);
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
	uint64_t used = vl_ticks() - s->begin, held = s->held;

	/* Also where the counter went back. */
	s->left -= (int64_t)(used < depth ? used : depth);
	s->hits -= s->hits / BE_SPIN_WEIGHT;
	if (found && s->hits < BE_SPIN_PAYS)
		s->hits = BE_SPIN_START;	/* what came before is over */
	else if (found)
		s->hits += BE_SPIN_ONE / BE_SPIN_WEIGHT;
	/* Unless the lease has ended, and another one has it. */
	__atomic_compare_exchange_n(&s->slots[s->slot], &held, 0, false,
				    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
