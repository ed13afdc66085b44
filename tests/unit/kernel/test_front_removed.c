// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/front.c, where a process stands in a verb of a device that is removed: the
 * thread of xenbus does not wait for it, and nothing is freed before it has left.
 */
#include "front_life.h"

#define LONG	(3600 * HZ)

static unsigned int writes;

/* The page that the process waits for is there. */
static void go_on(struct work_struct *work)
{
	/* The front is, and so is what the RDMA device is below. */
	assert_int_equal(parents, 1);
	writes = kernel_writes;
	stuck = false;
}

/* Returns how long the thread waits that removes the device. */
static unsigned long removed(void)
{
	static struct delayed_work fault = { { go_on } };
	unsigned long begin = jiffies, waited;

	stuck = true;
	schedule_delayed_work(&fault, LONG);
	xenbus_front.remove(&xbdev);
	waited = jiffies - begin;
	xbdev.otherend = NULL;		/* by xenbus, as it returns */
	xbdev.state = XenbusStateClosed;
	kernel_advance(begin + LONG + 30 * HZ - jiffies);
	assert_false(stuck);
	/* The nodes may be another device's by now. */
	assert_int_equal(kernel_writes, writes);
	assert_int_equal(xbdev.state, XenbusStateClosed);
	assert_int_equal(parents, 0);
	return waited;
}

/* The operator removes the nodes of both ends. */
static void the_thread_of_xenbus_does_not_wait(void **state)
{
	(void)state;
	connect(10, 0);
	backend_state = XenbusStateUnknown;
	kernel_nodes_gone = true;
	assert_int_equal(removed(), 0);
}

/* So does one that says it lives. */
static void whatever_the_backend_says(void **state)
{
	(void)state;
	connect(10, 0);
	kernel_nodes_gone = true;
	assert_int_equal(removed(), 0);
}

/* Unbound, or the module is unloaded. */
static void who_unbinds_waits_for_the_backend(void **state)
{
	(void)state;
	connect(100, HZ / 10);
	xenbus_front.remove(&xbdev);
	assert_int_equal(took, 100 * (HZ / 10));
	assert_int_equal(parents, 0);
}

/* What has no device, or no process in it, leaves nothing behind at once. */
static void else_it_is_gone_soon(void **state)
{
	(void)state;
	kernel_nodes_gone = true;
	xenbus_front.remove(&xbdev);
	kernel_advance(1);
	assert_int_equal(parents, 0);

	setup(NULL);
	connect(10, 0);
	backend_state = XenbusStateUnknown;
	kernel_nodes_gone = true;
	xenbus_front.remove(&xbdev);
	kernel_advance(1);
	assert_int_equal(parents, 0);
}

#define T(f) cmocka_unit_test_setup(f, setup)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_thread_of_xenbus_does_not_wait),
		T(whatever_the_backend_says),
		T(who_unbinds_waits_for_the_backend),
		T(else_it_is_gone_soon),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
