/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Monotonic time in nanoseconds.
 */
#ifndef VL_CLOCK_H
#define VL_CLOCK_H

#include <stdint.h>
#include <time.h>

#define VL_SEC_NS	1000000000ull
#define VL_MSEC_NS	1000000ull

static inline uint64_t vl_clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * VL_SEC_NS + (uint64_t)ts.tv_nsec;
}

static inline uint64_t vl_now_ns(void)
{
	return vl_clock_ns(CLOCK_MONOTONIC);
}

/*
 * The same, exact to a timer tick. Never a system call, unlike the exact clock in a PV
 * domain: for code that runs with every command.
 */
static inline uint64_t vl_coarse_ns(void)
{
	return vl_clock_ns(CLOCK_MONOTONIC_COARSE);
}

#endif
