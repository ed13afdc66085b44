// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Orders the threads that execute kicks, and those that must not have one executed
 * (kick_lock.h).
 */
#include <sched.h>
#include "be.h"

void be_kick_hold(struct be_dev *dev)
{
	struct be_kick_lock *l = &dev->kick_lock;

	__atomic_fetch_add(&l->others, 1, __ATOMIC_RELAXED);
	pthread_mutex_lock(&l->mutex);
	__atomic_fetch_sub(&l->others, 1, __ATOMIC_RELAXED);
}

/*
 * The kick thread locks again as soon as it has unlocked, before another thread
 * that waits is awake. So it lets that one go first.
 */
void be_kick_hold_last(struct be_dev *dev)
{
	while (__atomic_load_n(&dev->kick_lock.others, __ATOMIC_RELAXED))
		sched_yield();
	pthread_mutex_lock(&dev->kick_lock.mutex);
}

void be_kick_release(struct be_dev *dev)
{
	pthread_mutex_unlock(&dev->kick_lock.mutex);
}
