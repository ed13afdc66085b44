/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What the stresses have in common.
 */
#ifndef RACE_H
#define RACE_H

#include "kernel.h"

static __thread unsigned int race_seed;
static inline unsigned int any(unsigned int n)
{
	return rand_r(&race_seed) / 7 % n;
}

/* Most of the time that a stress takes; sanitizers make it longer. */
static inline unsigned long race_end(void)
{
	const char *seconds = getenv("RACE_SECONDS");

	return jiffies + (seconds ? atoi(seconds) : 3) * (1000000000ul / JIFFY_NS);
}

static inline pthread_t race_thread(void *(*fn)(void *arg), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, fn, arg))
		wrong("no thread");
	return thread;
}

#endif
