// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/ring/ring_cmd.c with a backend that answers: who polls for the answer, and
 * who is told of it (frontend/ring/spin.c).
 */
#include "front_ring.h"

static unsigned int turns, asked;	/* asked: for upcalls that the backend owes */
static unsigned int answer_at;		/* in that turn; 0: never */
static bool stop_then;

/* The oldest command is answered, as the backend does it. */
static void respond(struct work_struct *work)
{
	struct xenvhca_sring *sring = dev->ring.cmd.sring;
	unsigned int i = sring->rsp_prod % RING_SIZE(&dev->ring.cmd);
	struct xenvhca_request req = sring->ring[i].req;

	(void)work;
	sring->ring[i].rsp = (struct xenvhca_response){
		.id = req.id, .op = req.op,
	};
	asked += ++sring->rsp_prod == sring->rsp_event;
	if (work)
		vhca_ring_cmd_irq(1, dev);
}

static bool turn(void)
{
	if (++turns != answer_at)
		return false;
	respond(NULL);
	return stop_then;
}

/* A command that is answered in that turn of its process. */
static int polled(unsigned int at, unsigned int flags)
{
	answer_at = at;
	turns = asked = 0;
	return submit(XENVHCA_OP_QUERY_PORT, flags);
}

/* One whose process sleeps before it is answered. */
static int slept(unsigned int flags)
{
	static struct delayed_work backend = { { respond } };

	schedule_delayed_work(&backend, 1);
	return polled(0, flags);
}

static int setup_polling(void **state)
{
	if (setup(state))
		return -1;
	kernel_cpus = 2;
	kernel_resched = turn;
	stop_then = false;
	/* the backend is asked for an upcall until somebody polls */
	return polled(1, 0) || asked != 1;
}

static u64 count(atomic64_t *counter)
{
	return atomic64_read(counter);
}

static void who_polls_needs_no_upcall(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 1; i <= 100; i++) {
		assert_int_equal(polled(3, 0), 0);
		assert_int_equal(turns, 3);
		assert_int_equal(asked, 0);
	}
	assert_int_equal(count(&dev->stats.cmd_spins), 101);
	assert_int_equal(count(&dev->stats.cmd_sleeps), 0);
	assert_int_equal(count(&dev->stats.irqs), 0);
}

static void nobody_polls_with_one_processor(void **state)
{
	(void)state;
	kernel_cpus = 1;
	assert_int_equal(slept(0), 0);
	assert_int_equal(turns, 0);
	assert_int_equal(asked, 1);
	assert_int_equal(count(&dev->stats.cmd_sleeps), 1);
	kernel_cpus = 2;
	spin_us = 0;
	assert_int_equal(slept(0), 0);
	assert_int_equal(turns, 0);
	spin_us = 50;
}

/* With the last look behind it, and no upcall asked for. */
static void an_answer_as_the_poller_stops_is_taken(void **state)
{
	(void)state;
	stop_then = true;
	assert_int_equal(polled(2, 0), 0);
	assert_int_equal(asked, 0);
	assert_int_equal(count(&dev->stats.cmd_sleeps), 0);
}

static void who_sleeps_is_woken(void **state)
{
	(void)state;
	assert_int_equal(slept(0), 0);
	assert_int_equal(asked, 1);
	assert_true(turns > 0);
	assert_true(turns <= 50 * 1000 / 100 + 1);
	assert_int_equal(count(&dev->stats.cmd_sleeps), 1);
	assert_int_equal(count(&dev->stats.spurious), 0);
}

/* Linux delays a channel whose upcalls find nothing to do. */
static void an_upcall_whose_answer_was_polled_had_work(void **state)
{
	(void)state;
	vhca_ring_cmd_irq(1, dev);	/* that of setup_polling() */
	assert_int_equal(count(&dev->stats.spurious), 0);
	vhca_ring_cmd_irq(1, dev);
	assert_int_equal(count(&dev->stats.spurious), 1);
	assert_int_equal(polled(1, 0), 0);
	vhca_ring_cmd_irq(1, dev);
	assert_int_equal(count(&dev->stats.spurious), 1);
}

static int send_off(void)
{
	struct vhca_cmd *cmd = vhca_cmd_alloc(XENVHCA_OP_DESTROY_QP, 0);

	return vhca_ring_submit(dev, &cmd, VHCA_CMD_DESTROY | VHCA_CMD_NOWAIT);
}

/* The backend notifies as long as there is one answer that nobody polls for. */
static void who_polls_takes_the_answers_of_others(void **state)
{
	unsigned int slots = free_slots();

	(void)state;
	turns = asked = 0;
	answer_at = 0;
	assert_int_equal(send_off(), -EINPROGRESS);
	assert_int_equal(dev->ring.asleep, 1);
	respond(NULL);
	assert_int_equal(asked, 1);
	assert_int_equal(polled(1, 0), 0);
	assert_int_equal(free_slots(), slots);
	assert_int_equal(dev->ring.asleep, 0);
	/* the other way round: it does not stop while one is on its way */
	assert_int_equal(send_off(), -EINPROGRESS);
	answer_at = turns + 2;
	assert_int_equal(submit(XENVHCA_OP_QUERY_PORT, 0), -ETIMEDOUT);
	asked = 0;
	respond(NULL);
	assert_int_equal(asked, 1);
	vhca_ring_cmd_irq(1, dev);
	assert_int_equal(dev->ring.asleep, 0);
	assert_int_equal(free_slots(), slots);
}

static bool kill_in_turn(void)
{
	kernel_killed = true;
	return turn();
}

static void who_is_killed_stops(void **state)
{
	(void)state;
	kernel_resched = kill_in_turn;
	assert_int_equal(polled(5, 0), -ETIMEDOUT);
	assert_int_equal(turns, 1);
	/* its answer comes late, and is told */
	respond(NULL);
	assert_int_equal(asked, 1);
	vhca_ring_cmd_irq(1, dev);
	assert_int_equal(dev->ring.asleep, 0);
	/* but not whose answer has to be known */
	assert_int_equal(polled(5, VHCA_CMD_CERTAIN), 0);
	assert_int_equal(turns, 5);
	assert_null(broken);
}

/* Its answers take long, or it has no processor while we have ours. */
static void a_slow_backend_is_seldom_polled_for(void **state)
{
	unsigned int i, n = 0;

	(void)state;
	for (i = 0; i < 10; i++)
		assert_int_equal(slept(0), 0);
	for (i = 0; i < 10 * SPIN_PROBE; i++) {
		assert_int_equal(slept(0), 0);
		n += turns > 0;
	}
	assert_int_equal(n, 10);
	/* once it is fast, all do */
	for (i = 0; !turns; i++)
		assert_true(i < SPIN_PROBE && !slept(0));
	dev->ring.spin[XENVHCA_OP_QUERY_PORT].skipped = SPIN_PROBE - 1;
	for (i = 0; i < 10; i++)
		assert_int_equal(polled(2, 0), 0);
	assert_int_equal(turns, 2);
}

static bool lie(void)
{
	dev->ring.cmd.sring->rsp_prod = 1u << 20;
	return false;
}

static void who_polls_believes_nothing(void **state)
{
	(void)state;
	kernel_resched = lie;
	assert_int_equal(submit(XENVHCA_OP_QUERY_PORT, 0), -EIO);
	assert_non_null(strstr(broken, "more commands"));
}

#define P(f) cmocka_unit_test_setup_teardown(f, setup_polling, teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {
		P(who_polls_needs_no_upcall),
		P(nobody_polls_with_one_processor),
		P(an_answer_as_the_poller_stops_is_taken),
		P(who_sleeps_is_woken),
		P(an_upcall_whose_answer_was_polled_had_work),
		P(who_polls_takes_the_answers_of_others),
		P(who_is_killed_stops),
		P(a_slow_backend_is_seldom_polled_for),
		P(who_polls_believes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
