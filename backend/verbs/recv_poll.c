// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The receive thread moves receives that a guest has posted into the driver's
 * queues (shadow.h). No system call reports them. A program posts some, tells
 * its peer by TCP and expects a message: if the receives are not there by then,
 * an RC sender tries again, UC and UD lose the message. So
 *
 * - a kick or a command of the same vhca looks first (be_recv_poll_now): a receive
 *   precedes everything that the process asks for after it;
 * - otherwise this thread looks, often after something happened and less and
 *   less often when nothing does (docs/design/data-path.md);
 * - it precedes what else the processors have to do, above all what brings the
 *   peer's message, and therefore works a small part of its time only, however
 *   much a guest posts and however many queues it has.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "clock.h"
#include "shadow.h"
#include "core/wake.h"

/* The interval between two looks is a tenth of the longest one after something
 * happened, and grows by a sixteenth with each look that finds nothing. */
#define FIRST	10
#define GROWS	16
/* The pauses for each receive that was moved and for each queue that was read are a
 * few times as long as the work: of a receive on any host, as far as is known. */
#define PAUSE_NS	4000
#define PAUSE_QUEUE_NS	500
#define PAUSE_TIMES	4
/* A turn of the thread moves so many receives, so that neither it nor the pause is long.
 * One turn in TURNS is measured, if it has moved enough to tell. */
#define MOST		1024u
#define TELLS		32u
/* An interval is at least so many times what a turn of the thread that finds nothing takes
 * of a processor, with its system calls, on average of the last ones. Where that is
 * microseconds the rest is longer; on a slow host the thread would leave others no time. */
#define TURNS		32
#define TIMES_RC	16
#define TIMES_LOSSY	2

struct be_recv_poll {
	pthread_t thread;
	pthread_mutex_t lock;	/* one moves receives at a time */
	int wake_fd;
	bool stop;
	uint64_t next_ns;	/* until the next look, 0: nothing can receive */
	uint64_t asleep_ns;	/* for how long the thread sleeps, 0: for ever */
	uint64_t turn_ns;	/* what a turn that finds nothing takes of a processor */
	uint64_t since_ns;	/* of that clock: where the last of them began */
	uint64_t move_ns;	/* what it takes to move a receive */
	unsigned int looks;	/* of the thread */
	unsigned int turns;	/* one after the other, and one more; 0: none */
};

static uint64_t lower(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t higher(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The shortest interval for queues whose longest one is max. lock is held. */
static uint64_t shortest(const struct be_dev *dev, uint64_t max)
{
	uint64_t pause = (uint64_t)PAUSE_QUEUE_NS *
			 __atomic_load_n(&dev->n_shadows, __ATOMIC_RELAXED);
	unsigned int times = max < BE_RECV_RC_NS ? TIMES_LOSSY : TIMES_RC;

	return higher(pause, dev->recv_poll->turn_ns * times);
}

/* Returns the number moved. Whoever was active lately will post soon. lock is held. */
static unsigned int look(struct be_dev *dev, unsigned int most, bool active)
{
	struct be_recv_poll *l = dev->recv_poll;
	uint64_t next, max = 0;
	unsigned int n = be_shadow_receives(dev, most, &max);

	next = max / FIRST;
	if (!n && !active && l->next_ns)
		next = l->next_ns + l->next_ns / GROWS;
	next = lower(next, max);
	l->next_ns = next ? higher(next, shortest(dev, max)) : 0;
	return n;
}

/* Would the thread come too late? lock is held. */
static bool oversleeps(const struct be_recv_poll *l)
{
	return l->next_ns &&
	       (!l->asleep_ns || l->asleep_ns > 2 * l->next_ns);
}

void be_recv_poll_now(struct be_dev *dev)
{
	struct be_recv_poll *l = dev->recv_poll;
	bool late;

	if (!l || !__atomic_load_n(&dev->shadows, __ATOMIC_RELAXED))
		return;
	pthread_mutex_lock(&l->lock);
	look(dev, UINT_MAX, true);
	late = oversleeps(l);
	if (late)
		l->asleep_ns = l->next_ns;
	pthread_mutex_unlock(&l->lock);
	if (late)
		be_wake(l->wake_fd);
}

/* Of the thread, after a look that moved so many. lock is held. */
static void weigh(struct be_recv_poll *l, unsigned int moved)
{
	uint64_t now;

	if (moved) {
		l->turns = 0;	/* PAUSE_NS is for these */
		return;
	}
	if (l->turns++ % TURNS)
		return;
	now = vl_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	if (l->turns > TURNS)
		l->turn_ns = (now - l->since_ns) / TURNS;
	l->since_ns = now;
	l->turns = 1;
}

/* Of the thread. lock is held. */
static unsigned int measured_look(struct be_dev *dev)
{
	struct be_recv_poll *l = dev->recv_poll;
	bool measured = !(l->looks++ % TURNS);
	uint64_t begin = measured ? vl_clock_ns(CLOCK_THREAD_CPUTIME_ID) : 0;
	unsigned int moved = look(dev, MOST, false);

	if (measured && moved >= TELLS)
		l->move_ns = (vl_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin) /
			     moved;
	return moved;
}

/* One turn of the thread; returns how long to sleep, 0: until it is woken. */
static uint64_t turn(struct be_dev *dev, bool due)
{
	struct be_recv_poll *l = dev->recv_poll;
	uint64_t pause = 0, ns;
	unsigned int moved;

	pthread_mutex_lock(&l->lock);
	if (due) {
		moved = measured_look(dev);
		pause = moved * higher(PAUSE_NS, PAUSE_TIMES * l->move_ns);
		weigh(l, moved);
	}
	if (l->next_ns)
		l->next_ns = higher(l->next_ns, pause);
	ns = l->asleep_ns = l->next_ns;
	pthread_mutex_unlock(&l->lock);
	return ns;
}

static void *look_thread(void *arg)
{
	struct be_dev *dev = arg;
	struct be_recv_poll *l = dev->recv_poll;
	struct pollfd pfd = { .fd = l->wake_fd, .events = POLLIN };
	uint64_t ns;
	int n = 1;

	/* Of this thread, as Linux has it; without the right it is one of many. */
	setpriority(PRIO_PROCESS, 0, BE_RECV_POLL_NICE);
	while (!__atomic_load_n(&l->stop, __ATOMIC_RELAXED)) {
		ns = turn(dev, n == 0);
		n = ppoll(&pfd, 1, ns ? &(struct timespec){
			.tv_sec = (time_t)(ns / VL_SEC_NS),
			.tv_nsec = (long)(ns % VL_SEC_NS) } : NULL, NULL);
		if (n > 0)
			be_wake_clear(l->wake_fd);
		else if (n == 0)
			BE_STAT_ADD(dev, recv_polls, 1);
	}
	return NULL;
}

static int lock_init(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;
	int rc;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	rc = pthread_mutex_init(lock, &attr);
	pthread_mutexattr_destroy(&attr);
	return -rc;
}

int be_recv_poll_start(struct be_dev *dev)
{
	struct be_recv_poll *l = calloc(1, sizeof(*l));
	int rc;

	if (!l)
		return -ENOMEM;
	rc = lock_init(&l->lock);
	if (rc)
		goto err_free;
	l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->wake_fd < 0) {
		rc = -errno;
		goto err_free;
	}
	dev->recv_poll = l;
	rc = -pthread_create(&l->thread, NULL, look_thread, dev);
	if (!rc)
		return 0;
	dev->recv_poll = NULL;
	close(l->wake_fd);
err_free:
	free(l);
	return rc;
}

void be_recv_poll_stop(struct be_dev *dev)
{
	struct be_recv_poll *l = dev->recv_poll;

	if (!l)
		return;
	__atomic_store_n(&l->stop, true, __ATOMIC_RELAXED);
	be_wake(l->wake_fd);
	pthread_join(l->thread, NULL);
	dev->recv_poll = NULL;
	close(l->wake_fd);
	pthread_mutex_destroy(&l->lock);
	free(l);
}
