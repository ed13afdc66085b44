/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Non-blocking eventfds by which one thread wakes another.
 */
#ifndef BE_WAKE_H
#define BE_WAKE_H

#include <stdint.h>
#include <unistd.h>

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
