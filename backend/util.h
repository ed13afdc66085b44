/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Small helpers of the daemon: time and eventfds.
 */
#ifndef BE_UTIL_H
#define BE_UTIL_H

#include <stdint.h>
#include <time.h>
#include <unistd.h>

#define BE_NSEC		1000000000ull
#define BE_MSEC_NS	1000000ull

/* Monotonic time in nanoseconds. */
static inline uint64_t be_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * BE_NSEC + (uint64_t)ts.tv_nsec;
}

/*
 * The same, exact to a timer tick. Never a system call, which the exact one is
 * in a PV domain: for what is done at every command.
 */
static inline uint64_t be_coarse_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (uint64_t)ts.tv_sec * BE_NSEC + (uint64_t)ts.tv_nsec;
}

/* Wake whoever polls a non-blocking eventfd. It is full only if it is awake. */
static inline void be_wake(int fd)
{
	uint64_t one = 1;

	if (write(fd, &one, sizeof(one)) < 0)
		return;
}

/* Forget wake-ups; none pending is fine. */
static inline void be_wake_clear(int fd)
{
	uint64_t n;

	if (read(fd, &n, sizeof(n)) < 0)
		return;
}

#endif
