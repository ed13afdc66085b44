// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The command thread sleeps in a read(): nobody's wake-up is lost, whenever it
 * comes, nor is an event, and no other system call of the thread ends early.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "sleep.h"

#define WAKERS	2
#define ROUNDS	5000u
#define HANGS_S	300		/* the program ends if a wake-up is lost */

static struct be_sleep s;
static int chn;

static void wait_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

static bool blocking(void)
{
	return !(fcntl(chn, F_GETFL) & O_NONBLOCK);
}

static void event(void)
{
	const uint64_t one = 1;

	assert_int_equal(write(chn, &one, sizeof(one)), sizeof(one));
}

static bool take(void)
{
	uint64_t n;

	return read(chn, &n, sizeof(n)) == sizeof(n);
}

/* As the command thread: tells whether there was an event. */
static bool sleep_once(void)
{
	bool any;

	if (!be_sleep_begin(&s)) {
		be_sleep_woken(&s);
		return false;
	}
	any = take();
	be_sleep_end(&s, any);
	return any;
}

static int setup(void **state)
{
	(void)state;
	memset(&s, 0, sizeof(s));
	chn = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (chn < 0 || be_sleep_init(&s) || be_sleep_start(&s, chn))
		return -1;
	alarm(HANGS_S);
	return blocking() ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	alarm(0);
	be_sleep_fini(&s);
	return close(chn);
}

static void who_was_woken_looks_before_it_sleeps(void **state)
{
	struct pollfd p = { .fd = s.fd, .events = POLLIN };

	(void)state;
	assert_false(be_sleep_woken(&s));
	be_sleep_wake(&s);
	assert_int_equal(poll(&p, 1, 0), 1);
	assert_false(be_sleep_begin(&s));
	assert_true(be_sleep_woken(&s));
	assert_false(be_sleep_woken(&s));
	event();
	assert_true(sleep_once());
}

static void a_read_that_has_not_begun_ends(void **state)
{
	(void)state;
	assert_true(be_sleep_begin(&s));
	be_sleep_wake(&s);
	assert_false(take());
	assert_int_equal(errno, EAGAIN);
	be_sleep_end(&s, false);
	assert_true(blocking());
	assert_false(be_sleep_begin(&s));
	assert_true(be_sleep_woken(&s));
}

static void *wake_later(void *arg)
{
	(void)arg;
	wait_ms(50);
	be_sleep_wake(&s);
	return NULL;
}

static void a_read_that_waits_ends(void **state)
{
	pthread_t t;

	(void)state;
	assert_int_equal(pthread_create(&t, NULL, wake_later, NULL), 0);
	assert_false(sleep_once());
	assert_true(be_sleep_woken(&s));
	pthread_join(t, NULL);
	assert_true(blocking());
}

static void both_an_event_and_a_wake_up_are_seen(void **state)
{
	(void)state;
	assert_true(be_sleep_begin(&s));
	event();
	be_sleep_wake(&s);
	assert_true(take());
	be_sleep_end(&s, true);
	assert_true(blocking());
	assert_false(be_sleep_begin(&s));
	assert_true(be_sleep_woken(&s));
}

/* Who woke the thread was slow: it has made the file non-blocking only now. */
static void a_late_wake_up_costs_one_read(void **state)
{
	(void)state;
	assert_int_equal(fcntl(chn, F_SETFL, s.flags | O_NONBLOCK), 0);
	assert_false(sleep_once());
	assert_true(blocking());
	event();
	assert_true(sleep_once());
}

static int other[2];

static void *signal_then_write(void *arg)
{
	wait_ms(50);
	pthread_kill(*(pthread_t *)arg, SIGUSR2);
	wait_ms(50);
	assert_int_equal(write(other[1], "x", 1), 1);
	return NULL;
}

static void a_late_signal_ends_no_other_call(void **state)
{
	pthread_t self = pthread_self(), t;
	char c;

	(void)state;
	assert_int_equal(pipe(other), 0);
	assert_int_equal(pthread_create(&t, NULL, signal_then_write, &self), 0);
	assert_int_equal(read(other[0], &c, 1), 1);
	pthread_join(t, NULL);
	close(other[0]);
	close(other[1]);
}

/* ---- who sleeps lends what is its own ---- */
static void who_sleeps_lends(void **state)
{
	(void)state;
	assert_false(be_sleep_borrow(&s));
	assert_true(be_sleep_begin(&s));
	assert_true(be_sleep_borrow(&s));
	be_sleep_give_back(&s);
	assert_true(be_sleep_borrow(&s));
	be_sleep_give_back(&s);
	event();
	assert_true(take());
	be_sleep_end(&s, true);
	assert_false(be_sleep_woken(&s));
	assert_false(be_sleep_borrow(&s));
}

static void who_was_woken_lends_nothing(void **state)
{
	(void)state;
	assert_true(be_sleep_begin(&s));
	be_sleep_wake(&s);
	assert_false(be_sleep_borrow(&s));
	assert_false(take());
	be_sleep_end(&s, false);
	assert_true(be_sleep_woken(&s));
}

static void a_wake_up_meanwhile_is_not_lost(void **state)
{
	(void)state;
	assert_true(be_sleep_begin(&s));
	assert_true(be_sleep_borrow(&s));
	be_sleep_wake(&s);
	be_sleep_wake(&s);
	assert_false(take());
	be_sleep_give_back(&s);
	assert_false(be_sleep_borrow(&s));
	be_sleep_end(&s, false);
	assert_true(blocking());
	assert_true(be_sleep_woken(&s));
}

static bool given_back;

static void *give_back_later(void *arg)
{
	assert_true(be_sleep_borrow(&s));
	__atomic_store_n((bool *)arg, true, __ATOMIC_SEQ_CST);
	wait_ms(50);
	given_back = true;
	be_sleep_give_back(&s);
	return NULL;
}

static void who_needs_it_waits_until_it_is_back(void **state)
{
	bool borrowed = false;
	pthread_t t;

	(void)state;
	given_back = false;
	assert_true(be_sleep_begin(&s));
	assert_int_equal(pthread_create(&t, NULL, give_back_later, &borrowed), 0);
	while (!__atomic_load_n(&borrowed, __ATOMIC_SEQ_CST))
		sched_yield();
	event();
	assert_true(take());
	be_sleep_end(&s, true);
	assert_true(given_back);
	pthread_join(t, NULL);
}

/* ---- all at once ---- */
static unsigned int asked[WAKERS + 1], seen[WAKERS + 1];
static bool borrows;
static unsigned int own, loans;	/* of the sleeper's: nobody else's meanwhile */

static void *borrower(void *arg)
{
	unsigned int was;

	(void)arg;
	while (__atomic_load_n(&borrows, __ATOMIC_ACQUIRE)) {
		if (!be_sleep_borrow(&s)) {
			sched_yield();
			continue;
		}
		was = own++;
		loans++;
		sched_yield();
		assert_int_equal(own, was + 1);
		be_sleep_give_back(&s);
	}
	return NULL;
}

/* Each waits until the sleeper has seen it, so each wake-up counts. */
static void *waker(void *arg)
{
	unsigned int i, *n = arg, *saw = seen + (n - asked);

	for (i = 1; i <= ROUNDS; i++) {
		__atomic_store_n(n, i, __ATOMIC_RELEASE);
		if (n == asked)
			event();
		else
			be_sleep_wake(&s);
		while (__atomic_load_n(saw, __ATOMIC_ACQUIRE) != i)
			sched_yield();
	}
	return NULL;
}

/* The first one is seen by its event alone. Tells whether all have ended. */
static bool look(bool any)
{
	unsigned int i, n;
	bool all = true;

	for (i = 0; i <= WAKERS; i++) {
		n = __atomic_load_n(&asked[i], __ATOMIC_ACQUIRE);
		if (i || any)
			__atomic_store_n(&seen[i], n, __ATOMIC_RELEASE);
		all &= seen[i] == ROUNDS;
	}
	return all;
}

/* Those from the first one on. */
static void wakers(unsigned int first)
{
	pthread_t t[WAKERS + 1];
	unsigned int i;

	memset(asked, 0, sizeof(asked));
	memset(seen, 0, sizeof(seen));
	for (i = 0; i < first; i++)
		asked[i] = seen[i] = ROUNDS;
	for (i = first; i <= WAKERS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, waker, &asked[i]),
				 0);
	while (!look(sleep_once()))
		own++;
	for (i = first; i <= WAKERS; i++)
		pthread_join(t[i], NULL);
}

/* Also without events, which would end a read that a wake-up did not. */
static void nothing_is_lost(void **state)
{
	(void)state;
	wakers(0);
	wakers(1);
}

static void nor_while_it_is_lent(void **state)
{
	pthread_t t;

	loans = 0;
	__atomic_store_n(&borrows, true, __ATOMIC_RELEASE);
	assert_int_equal(pthread_create(&t, NULL, borrower, NULL), 0);
	nothing_is_lost(state);
	__atomic_store_n(&borrows, false, __ATOMIC_RELEASE);
	pthread_join(t, NULL);
	assert_true(loans > 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(who_was_woken_looks_before_it_sleeps),
		T(a_read_that_has_not_begun_ends),
		T(a_read_that_waits_ends),
		T(both_an_event_and_a_wake_up_are_seen),
		T(a_late_wake_up_costs_one_read),
		T(a_late_signal_ends_no_other_call),
		T(who_sleeps_lends), T(who_was_woken_lends_nothing),
		T(a_wake_up_meanwhile_is_not_lost),
		T(who_needs_it_waits_until_it_is_back),
		T(nothing_is_lost), T(nor_while_it_is_lent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
