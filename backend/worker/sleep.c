// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The command thread sleeps in the read() of its event channel, which saves a poll()
 * for each command. A read() hears of nothing else, so whoever wakes the thread makes
 * the file non-blocking and sends a signal, whose handler does nothing. A read()
 * that has not begun finds the file non-blocking. One that waits is interrupted, and
 * begun again by the kernel (SA_RESTART). So is whatever else the thread may be in when
 * the signal comes late, such as a command of verbs; a poll() or a pause ends early, which
 * their callers expect.
 *
 * The state says who has to do what:
 *
 *	AWAKE	it looks at what there is to do before it sleeps
 *	READS	it sleeps, or is about to: who wakes it interrupts the read()
 *	WOKEN	it looks before it sleeps, and need not be woken again
 *	LENT	it sleeps, and what is its own is somebody else's meanwhile. It does
 *		not leave this state itself: if its read() ends it waits for that
 *	RECALLED  the same, and it was woken: WOKEN when that is over
 *
 * Only who finds READS touches the file, and the thread learns of that by WOKEN. If it
 * makes the file blocking before the other one has made it non-blocking, its next
 * read() ends for nothing, and the one after that is as it should be.
 *
 * A poll() is woken by an eventfd, in the states AWAKE and WOKEN.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "sleep.h"
#include "wake.h"

#define BE_SLEEP_SIGNAL	SIGUSR2

enum { AWAKE, READS, WOKEN, LENT, RECALLED };

int be_sleep_init(struct be_sleep *s)
{
	pthread_mutex_init(&s->lent, NULL);
	s->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->due = true;
	return s->fd < 0 ? -errno : 0;
}

void be_sleep_fini(struct be_sleep *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	pthread_mutex_destroy(&s->lent);
}

/* False: the state is another one, and *from that. */
static bool change(struct be_sleep *s, int *from, int to)
{
	return __atomic_compare_exchange_n(&s->state, from, to, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* Fails only if the file is no more, and then nobody reads it. */
static void interrupt(struct be_sleep *s)
{
	fcntl(s->chn, F_SETFL, s->flags | O_NONBLOCK);
	pthread_kill(s->thread, BE_SLEEP_SIGNAL);
}

void be_sleep_wake(struct be_sleep *s)
{
	int was = __atomic_load_n(&s->state, __ATOMIC_RELAXED), to;

	do {
		to = was == LENT || was == RECALLED ? RECALLED : WOKEN;
	} while (!change(s, &was, to));
	switch (was) {
	case READS:
	case LENT:
		interrupt(s);
		break;
	case AWAKE:
		be_wake(s->fd);
		break;
	}
}

void be_sleep_second(struct be_sleep *s, bool any)
{
	if (!any && !__atomic_load_n(&s->again, __ATOMIC_RELAXED))
		return;
	__atomic_store_n(&s->due, true, __ATOMIC_RELEASE);
	be_sleep_wake(s);
}

void be_sleep_again(struct be_sleep *s, bool again)
{
	__atomic_store_n(&s->again, again, __ATOMIC_RELAXED);
}

bool be_sleep_due(struct be_sleep *s)
{
	return __atomic_load_n(&s->due, __ATOMIC_RELAXED) &&
	       __atomic_exchange_n(&s->due, false, __ATOMIC_ACQUIRE);
}

static void nothing(int sig)
{
	(void)sig;
}

int be_sleep_start(struct be_sleep *s, int chn)
{
	const struct sigaction sa = {
		.sa_handler = nothing, .sa_flags = SA_RESTART,
	};
	int fl = fcntl(chn, F_GETFL);
	sigset_t set;
	int rc;

	sigemptyset(&set);
	sigaddset(&set, BE_SLEEP_SIGNAL);
	s->chn = chn;
	s->flags = fl & ~O_NONBLOCK;
	s->thread = pthread_self();
	if (fl < 0 || fcntl(chn, F_SETFL, s->flags) < 0 ||
	    sigaction(BE_SLEEP_SIGNAL, &sa, NULL) < 0)
		return -errno;
	rc = pthread_kill(s->thread, 0);	/* may others send it? */
	return rc ? -rc : -pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

bool be_sleep_begin(struct be_sleep *s)
{
	int awake = AWAKE;

	return change(s, &awake, READS);
}

bool be_sleep_borrow(struct be_sleep *s)
{
	int reads = READS;

	pthread_mutex_lock(&s->lent);
	if (change(s, &reads, LENT))
		return true;
	pthread_mutex_unlock(&s->lent);
	return false;
}

void be_sleep_give_back(struct be_sleep *s)
{
	int lent = LENT;

	if (!change(s, &lent, READS))	/* it was recalled */
		__atomic_store_n(&s->state, WOKEN, __ATOMIC_SEQ_CST);
	pthread_mutex_unlock(&s->lent);
}

/* From READS or WOKEN, once nobody has anything of ours. True: woken. */
static bool was_woken(struct be_sleep *s)
{
	int state = READS;

	while (!change(s, &state, AWAKE)) {
		if (state == WOKEN)
			return true;
		pthread_mutex_lock(&s->lent);
		pthread_mutex_unlock(&s->lent);
		state = READS;
	}
	return false;
}

void be_sleep_end(struct be_sleep *s, bool any)
{
	if (was_woken(s) || !any)
		fcntl(s->chn, F_SETFL, s->flags);
}

bool be_sleep_woken(struct be_sleep *s)
{
	return __atomic_exchange_n(&s->state, AWAKE, __ATOMIC_SEQ_CST) == WOKEN;
}
