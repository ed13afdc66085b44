/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The lock under which kicks are executed (worker/kick.c).
 */
#ifndef BE_KICK_LOCK_H
#define BE_KICK_LOCK_H

#include <pthread.h>

struct be_dev;

struct be_kick_lock {
	pthread_mutex_t mutex;
	unsigned int others;	/* threads that wait, but the kick thread */
};

/*
 * No kick is executed from be_kick_hold() to be_kick_release(). Soft-RoCE executes a send
 * in the thread that posts it, even while another one resets the queue pair: some
 * kernels stop only what runs in the background. No kernel destroys a queue pair during a
 * send. Any thread, for what does not wait for other hosts.
 */
void be_kick_hold(struct be_dev *dev);
/* The kick thread's be_kick_hold(): all others go first. */
void be_kick_hold_last(struct be_dev *dev);
void be_kick_release(struct be_dev *dev);

#endif
