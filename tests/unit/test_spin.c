// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * When a worker polls its ring (backend/core/spin.c), with a clock that moves
 * only in its turns; and that no request is lost between the end of a spin and the
 * sleep (backend/worker/cmdq.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "clock.h"
#include "ticks.h"
#include "tests/fake/guest.h"
#include "worker/cmdq.h"

#define TICKS_NS	3u		/* of a nanosecond */
#define TURN_NS		40u
#define LIMIT_US	50u
#define US		UINT64_C(1000)

static uint64_t clock_ns;
static bool stuck;			/* the counter does not move */
static uint64_t gone_back;		/* ticks that the counter lost */
static void (*in_turn)(void);

static uint64_t fake_coarse(void)
{
	return clock_ns - clock_ns % (4 * VL_MSEC_NS);
}

static uint64_t fake_ticks(void)
{
	return stuck ? 77 : clock_ns * TICKS_NS - gone_back;
}

static void fake_relax(void)
{
	clock_ns += TURN_NS;
	if (in_turn)
		in_turn();
}

#define vl_now_ns()	clock_ns
#define vl_coarse_ns	fake_coarse
#define vl_ticks	fake_ticks
#define vl_relax	fake_relax
#include "core/spin.c"
#undef vl_now_ns

static unsigned int now;		/* threads that poll */

static struct be_spin spinner(unsigned int most, uint32_t limit_us)
{
	struct be_spin s;

	be_spin_init(&s, most, &now, limit_us);
	clock_ns += 30 * VL_MSEC_NS;
	return s;
}

/* One pause of the guest; 0: it does not end while we poll. Was it polled for? */
static bool pause_of(struct be_spin *s, uint64_t ns)
{
	uint64_t end = clock_ns + ns;
	bool found;

	if (!be_spin_begin(s)) {
		clock_ns += ns ? ns : LIMIT_US * US;
		return false;
	}
	do {
		found = ns && clock_ns >= end;
	} while (!found && be_spin_turn(s));
	be_spin_end(s, found);
	return true;
}

static int setup(void **state)
{
	(void)state;
	now = 0;
	clock_ns = 1000 * VL_SEC_NS;
	stuck = false;
	gone_back = 0;
	in_turn = NULL;
	return 0;
}

static void nobody_spins_who_must_not(void **state)
{
	struct be_spin s, none = {};

	(void)state;
	assert_false(be_spin_begin(&none));
	s = spinner(0, LIMIT_US);
	assert_false(be_spin_begin(&s));
	s = spinner(1, 0);
	assert_false(be_spin_begin(&s));
	/* nor before it is known how long a tick is */
	be_spin_init(&s, 1, &now, LIMIT_US);
	assert_false(be_spin_begin(&s));
	clock_ns += 30 * VL_MSEC_NS;
	assert_true(be_spin_begin(&s));
	be_spin_end(&s, true);
}

/* The coarse clock shows an earlier time than that at which we began. */
static void the_coarse_clock_is_behind(void **state)
{
	struct be_spin s;

	(void)state;
	clock_ns += 3 * VL_MSEC_NS;
	be_spin_init(&s, 1, &now, LIMIT_US);
	assert_false(be_spin_begin(&s));
	clock_ns += 10 * VL_MSEC_NS;
	assert_false(be_spin_begin(&s));
	clock_ns += 20 * VL_MSEC_NS;
	assert_true(be_spin_begin(&s));
	be_spin_end(&s, true);
	assert_int_equal(s.ticks_us, TICKS_NS * 1000);
}

/* As where the domain was resumed elsewhere. */
static void the_counter_goes_back(void **state)
{
	struct be_spin s;

	(void)state;
	be_spin_init(&s, 1, &now, LIMIT_US);
	clock_ns += 30 * VL_MSEC_NS;
	gone_back = clock_ns * TICKS_NS / 2;
	assert_false(be_spin_begin(&s));
	clock_ns += 30 * VL_MSEC_NS;
	assert_true(be_spin_begin(&s));
	be_spin_end(&s, true);
	assert_int_equal(s.ticks_us, TICKS_NS * 1000);
}

static void a_spin_ends(void **state)
{
	struct be_spin s = spinner(1, LIMIT_US);
	uint64_t begin = clock_ns;

	(void)state;
	assert_true(pause_of(&s, 0));
	assert_in_range(clock_ns - begin, LIMIT_US * US,
			LIMIT_US * US + BE_SPIN_READ * TURN_NS);
	stuck = true;
	begin = clock_ns;
	assert_true(pause_of(&s, 0));
	assert_in_range(clock_ns - begin, LIMIT_US * US, 60 * LIMIT_US * US);
}

static unsigned int polled(struct be_spin *s, uint64_t ns, unsigned int times)
{
	unsigned int n = 0;

	while (times--)
		n += pause_of(s, ns);
	return n;
}

/* As where the guest has no processor to send from while we poll. */
static void who_finds_nothing_seldom_looks(void **state)
{
	struct be_spin s = spinner(1, LIMIT_US);

	(void)state;
	assert_in_range(polled(&s, 0, 20), 1, 6);
	assert_int_equal(polled(&s, 0, 160), 10);
	/* one that pays is enough */
	assert_int_equal(polled(&s, 5 * US, BE_SPIN_PROBE), 1);
	assert_int_equal(polled(&s, 5 * US, 100), 100);
	/* a pause now and then does no harm */
	assert_true(pause_of(&s, 0));
	assert_int_equal(polled(&s, 5 * US, 10), 10);
}

/* It sends so late that each spin pays, and is as long as it may be. */
static void a_guest_cannot_have_more_than_the_budget(void **state)
{
	struct be_spin s = spinner(1, LIMIT_US);
	uint64_t before, begin = clock_ns, spun = 0;

	(void)state;
	while (clock_ns - begin < 20 * VL_SEC_NS) {
		before = clock_ns;
		if (pause_of(&s, (LIMIT_US - 2) * US))
			spun += clock_ns - before;
		else
			clock_ns += 10 * US;
	}
	assert_in_range(spun, 4 * VL_SEC_NS, 20 * VL_SEC_NS / BE_SPIN_DUTY +
			BE_SPIN_DEPTH_US * US + LIMIT_US * US);
	/* which it has again after a while */
	clock_ns += VL_SEC_NS;
	assert_int_equal(polled(&s, 5 * US, 1000), 1000);
}

static void a_counter_that_goes_back_is_no_gain(void **state)
{
	struct be_spin s = spinner(1, LIMIT_US);

	(void)state;
	assert_true(be_spin_begin(&s));
	clock_ns -= VL_SEC_NS;
	be_spin_end(&s, true);
	assert_in_range(s.left + (int64_t)s.ticks_us, 0, s.ticks_us);
}

static void no_more_threads_poll_than_may(void **state)
{
	struct be_spin a = spinner(2, LIMIT_US), b = spinner(2, LIMIT_US),
		       c = spinner(2, LIMIT_US);

	(void)state;
	assert_true(be_spin_begin(&a));
	assert_true(be_spin_begin(&b));
	assert_false(be_spin_begin(&c));
	be_spin_end(&a, true);
	assert_true(be_spin_begin(&c));
	be_spin_end(&b, true);
	be_spin_end(&c, true);
	assert_int_equal(now, 0);
}

/* ---- the command ring ---- */
static struct guest *guest;
static struct be_cmdq q;
static struct be_transport_ops ops;
static unsigned int turns, armed;

static int setup_guest(void **state)
{
	setup(NULL);
	if (guest_setup(state))
		return -1;
	guest = *state;
	ops = *guest->dev.t->ops;
	guest->dev.t->ops = &ops;
	memset(&q, 0, sizeof(q));
	q.spin = spinner(1, LIMIT_US);
	turns = armed = 0;
	return 0;
}

static void request(void)
{
	struct xenvhca_request req = { .op = XENVHCA_OP_QUERY_PORT };

	assert_int_equal(loop_put_request(guest->loop, &req), 0);
}

static unsigned int answers(void)
{
	struct xenvhca_response rsp;
	unsigned int n = 0;

	while (loop_get_response(guest->loop, &rsp))
		n++;
	return n;
}

/* Since it was asked last. */
static bool notified(void)
{
	uint64_t n;

	return read(guest->dev.t->ops->cmd_fd(guest->dev.t), &n, sizeof(n)) ==
	       sizeof(n);
}

static int run(void)
{
	return be_cmdq_run(&guest->dev, &q, notified());
}

static void send_in_third_turn(void)
{
	if (++turns == 3)
		request();
}

static void a_request_while_it_polls_notifies_nobody(void **state)
{
	(void)state;
	request();
	in_turn = send_in_third_turn;
	assert_int_equal(run(), -1);
	assert_false(notified());
	assert_int_equal(answers(), 2);
	assert_int_equal(guest->dev.stats.cmd_spins, 1);
	assert_int_equal(guest->dev.stats.cmd_sleeps, 1);
	/* asleep: the next one notifies, as ever */
	request();
	assert_true(notified());
	assert_int_equal(be_cmdq_run(&guest->dev, &q, true), -1);
	assert_int_equal(answers(), 1);
	assert_int_equal(guest->dev.stats.cmd_sleeps, 2);
	/* woken for another reason, it does not poll */
	turns = 0;
	assert_int_equal(be_cmdq_run(&guest->dev, &q, false), -1);
	assert_int_equal(turns, 0);
	assert_int_equal(guest->dev.stats.cmd_sleeps, 2);
}

/* The frontend did not notify: it could not see that somebody would sleep. */
static bool send_and_arm(struct be_transport *t)
{
	if (!armed++)
		request();
	return be_shm_arm_requests(t);
}

static void a_request_before_it_sleeps_is_taken(void **state)
{
	(void)state;
	request();
	ops.arm_requests = send_and_arm;
	assert_int_equal(run(), 0);
	assert_int_equal(run(), -1);
	assert_false(notified());
	assert_int_equal(answers(), 2);
	assert_int_equal(guest->dev.stats.cmd_sleeps, 1);
}

static bool arm_and_send(struct be_transport *t)
{
	bool more = be_shm_arm_requests(t);

	if (!armed++)
		request();
	return more;
}

static void a_request_as_it_sleeps_notifies(void **state)
{
	(void)state;
	request();
	ops.arm_requests = arm_and_send;
	assert_int_equal(run(), -1);
	assert_true(notified());
	assert_int_equal(be_cmdq_run(&guest->dev, &q, true), -1);
	assert_int_equal(answers(), 2);
}

static void nobody_polls_without_a_budget(void **state)
{
	(void)state;
	assert_true(pause_of(&q.spin, 5 * US));
	q.spin.left = INT32_MIN;
	request();
	in_turn = send_in_third_turn;
	assert_int_equal(run(), -1);
	assert_int_equal(turns, 0);
	assert_int_equal(guest->dev.stats.cmd_sleeps, 1);
}

/* The index moves on while we look, and is back when we take. */
static bool lie(struct be_transport *t)
{
	(void)t;
	return true;
}

static void an_index_that_dances_keeps_nobody_awake(void **state)
{
	(void)state;
	ops.any_request = ops.arm_requests = lie;
	request();
	assert_int_equal(be_cmdq_run(&guest->dev, &q, false), -1);
	assert_int_equal(answers(), 1);
	assert_int_equal(guest->dev.stats.cmd_spins, 1);
	assert_int_equal(be_cmdq_run(&guest->dev, &q, false), -1);
	assert_int_equal(guest->dev.stats.cmd_spins, 1);
}

/* What was taken by polling was the work of a notification that comes after it. */
static bool had_work;

static void note_ack(struct be_transport *t, bool work)
{
	(void)t;
	had_work = work;
}

static void a_notification_of_what_was_polled_is_not_spurious(void **state)
{
	(void)state;
	ops.cmd_ack = note_ack;
	request();
	assert_int_equal(be_cmdq_run(&guest->dev, &q, false), -1);
	assert_int_equal(be_cmdq_run(&guest->dev, &q, true), -1);
	assert_true(had_work);
	assert_int_equal(be_cmdq_run(&guest->dev, &q, true), -1);
	assert_false(had_work);
}

#define T(f) cmocka_unit_test_setup(f, setup)
#define G(f) cmocka_unit_test_setup_teardown(f, setup_guest, guest_teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(nobody_spins_who_must_not), T(the_coarse_clock_is_behind),
		T(the_counter_goes_back),
		T(a_spin_ends),
		T(who_finds_nothing_seldom_looks),
		T(a_guest_cannot_have_more_than_the_budget),
		T(a_counter_that_goes_back_is_no_gain),
		T(no_more_threads_poll_than_may),
		G(a_request_while_it_polls_notifies_nobody),
		G(a_request_before_it_sleeps_is_taken),
		G(a_request_as_it_sleeps_notifies),
		G(nobody_polls_without_a_budget),
		G(an_index_that_dances_keeps_nobody_awake),
		G(a_notification_of_what_was_polled_is_not_spurious),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
