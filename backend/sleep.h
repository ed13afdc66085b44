/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * How the command thread sleeps until a request comes, and how other threads wake it
 * (worker/sleep.c).
 */
#ifndef BE_SLEEP_H
#define BE_SLEEP_H

#include <pthread.h>
#include <stdbool.h>

struct be_sleep {
	int fd;			/* eventfd, readable when it has been woken */
	int state;		/* any thread: worker/sleep.c */
	pthread_mutex_t lent;	/* who borrows has it */
	bool again, due;	/* any thread: be_sleep_second(), be_sleep_due() */
	/* Set once, before it reads: */
	int chn, flags;		/* the file, and its flags but for O_NONBLOCK */
	pthread_t thread;
};

/* All zero before; 0 or -errno. be_sleep_fini() tolerates a failed init. */
int be_sleep_init(struct be_sleep *s);
void be_sleep_fini(struct be_sleep *s);

/* Any thread: what there is to do was made visible before. */
void be_sleep_wake(struct be_sleep *s);
/**
 * be_sleep_borrow() - act in the place of the command thread, while it sleeps
 *
 * Any other thread. True: what is the command thread's own is the caller's until
 * be_sleep_give_back(), as nobody runs who looks at it. A request that comes meanwhile
 * waits for that. False: it is awake, and does itself what there is to do.
 */
bool be_sleep_borrow(struct be_sleep *s);
void be_sleep_give_back(struct be_sleep *s);
/*
 * The command thread has work that is done once a second, and sleeps without a time.
 * The event thread calls this each second and says whether there may be such work.
 */
void be_sleep_second(struct be_sleep *s, bool any);
/* The command thread wants to be woken in the next second in any case, or no more. */
void be_sleep_again(struct be_sleep *s, bool again);
/* Is that work to be done now? Forgets it. True at first. */
bool be_sleep_due(struct be_sleep *s);

/**
 * be_sleep_start() - from now on the caller may sleep in a read() of a file
 * @chn: file whose read() waits; it becomes blocking
 *
 * 0 or -errno.
 */
int be_sleep_start(struct be_sleep *s, int chn);
/*
 * Before the read(). False: somebody woke the caller, who does not read, but looks what
 * there is to do. A read() ends without data, by EAGAIN or EINTR, when somebody wakes the
 * caller, and sometimes for nothing.
 */
bool be_sleep_begin(struct be_sleep *s);
/* After the read(); any: it had data. */
void be_sleep_end(struct be_sleep *s, bool any);
/* Was it woken? Forgets it, so the caller looks after this what there is to do. */
bool be_sleep_woken(struct be_sleep *s);

#endif
