// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The worker of frontend/front.c over the store of xenbus: it tries again, and a
 * backend that takes its time does not hold the end of a device.
 */
#include "front_life.h"

static void tries_again(void **state)
{
	(void)state;
	ring_fails = 2;
	backend(XenbusStateInitWait);
	assert_int_equal(xbdev.state, XenbusStateClosed);
	kernel_advance(2 * HZ);
	assert_int_equal(xbdev.state, XenbusStateInitialised);
	xenbus_front.remove(&xbdev);
}

static void tries_less_and_less_often(void **state)
{
	(void)state;
	ring_fails = 1000000;
	backend(XenbusStateInitWait);
	kernel_advance(600 * HZ);
	assert_in_range(ring_tried, 15, 40);
	xenbus_front.remove(&xbdev);	/* no work is armed after that */
}

static void tries_nothing_while_the_backend_closes(void **state)
{
	(void)state;
	ring_fails = 1000000;
	backend(XenbusStateInitWait);
	backend(XenbusStateClosing);
	kernel_advance(600 * HZ);
	assert_int_equal(ring_tried, 1);
	xenbus_front.remove(&xbdev);
}

static void an_end_is_bounded(void **state)
{
	(void)state;
	connect(100, 59 * HZ);
	xenbus_front.remove(&xbdev);
	assert_in_range(took, 30 * HZ, 31 * HZ);

	setup(NULL);
	connect(100, 5 * HZ);
	xenbus_front.remove(&xbdev);
	assert_in_range(took, 30 * HZ, 32 * HZ);

	setup(NULL);
	connect(100, 5 * HZ);
	backend(XenbusStateClosing);	/* a detach */
	assert_in_range(took, 30 * HZ, 32 * HZ);
	backend(XenbusStateClosed);
	assert_int_equal(xbdev.state, XenbusStateClosed);
	xenbus_front.remove(&xbdev);
}

static struct vhca_dev *connection(void)
{
	struct vhca_xenbus *x = dev_get_drvdata(&xbdev.dev);

	return x->front->dev;
}

/* As core_removes() in device.c. */
static void core_takes(struct vhca_dev *dev)
{
	vhca_limit_begin(&dev->core, dev, VHCA_END_WAIT, VHCA_END_EACH);
}

/* The driver whose id the device shows is unloaded in this guest. */
static void taken(struct vhca_dev *dev)
{
	core_takes(dev);
	destroy_objects(dev);
	dev->registered = false;
	vhca_break(dev, "taken");
	kernel_advance(1);
	assert_int_equal(xbdev.state, XenbusStateClosed);
}

static void an_end_by_the_core_is_bounded(void **state)
{
	(void)state;
	connect(100, 59 * HZ);
	taken(connection());
	assert_in_range(took, 30 * HZ, 31 * HZ);
	xenbus_front.remove(&xbdev);

	setup(NULL);
	connect(5000, HZ / 10);		/* an honest one has its time */
	taken(connection());
	assert_int_equal(took, 5000 * (HZ / 10));
	kernel_advance(600 * HZ);	/* nothing is armed after that */
	xenbus_front.remove(&xbdev);
}

/* Another net namespace, or the worker ends the device meanwhile. */
static void the_core_may_give_it_back(void **state)
{
	(void)state;
	connect(100, HZ);
	core_takes(connection());
	kernel_advance(20 * HZ);
	vhca_limit_end(&connection()->core);
	kernel_advance(600 * HZ);
	assert_int_equal(xbdev.state, XenbusStateConnected);

	objects = 5000;
	each = HZ / 10;
	core_takes(connection());
	xenbus_front.remove(&xbdev);
	assert_int_equal(took, 5000 * (HZ / 10));
}

/* A table of 1,024 GIDs, one in each answer, would take 17 hours. */
static void a_beginning_is_bounded(void **state)
{
	(void)state;
	answers = 1024;
	each = 59 * HZ;
	backend(XenbusStateInitWait);
	backend(XenbusStateConnected);
	assert_in_range(registering, 90 * HZ, 91 * HZ);
	assert_int_equal(xbdev.state, XenbusStateClosed);
	xenbus_front.remove(&xbdev);
}

/* A slow host: each answer of a full table takes half a second. */
static void an_honest_beginning_has_its_time(void **state)
{
	(void)state;
	answers = 150;
	each = HZ / 2;
	backend(XenbusStateInitWait);
	backend(XenbusStateConnected);
	assert_int_equal(xbdev.state, XenbusStateConnected);
	kernel_advance(600 * HZ);	/* nothing is overdue after that */
	assert_int_equal(xbdev.state, XenbusStateConnected);
	xenbus_front.remove(&xbdev);
}

static void an_honest_end_has_its_time(void **state)
{
	(void)state;
	connect(5000, HZ / 10);
	xenbus_front.remove(&xbdev);
	assert_int_equal(took, 5000 * (HZ / 10));
}

static void a_suspend_waits_less(void **state)
{
	(void)state;
	connect(100, HZ);
	kernel_frozen = front_work;
	xenbus_front.suspend(&xbdev);
	kernel_frozen = NULL;
	assert_in_range(took, 10 * HZ, 11 * HZ);
	objects = 0;
	backend_state = XenbusStateInitWait;
	kernel_advance(40 * HZ);
	assert_int_equal(xbdev.state, XenbusStateInitialised);
	xenbus_front.remove(&xbdev);
}

/* What a destroyed domain leaves is no state at all, even after an orderly begin. */
static void only_a_living_backend_closes(void **state)
{
	(void)state;
	connect(0, 0);
	backend(XenbusStateClosing);
	backend(XenbusStateClosed);
	assert_true(freed_closed);

	connect(0, 0);
	backend(XenbusStateClosing);
	backend(XenbusStateUnknown);
	assert_false(freed_closed);

	connect(0, 0);
	backend(XenbusStateClosed);
	assert_false(freed_closed);
	xenbus_front.remove(&xbdev);
}

/* The backend connects and is gone again, in order or not, as often as it can. */
static void flap(unsigned long time, bool orderly)
{
	unsigned long end = jiffies + time;

	while (time_before(jiffies, end)) {
		backend(XenbusStateInitWait);
		if (xbdev.state != XenbusStateInitialised)
			continue;
		backend(XenbusStateConnected);
		assert_int_equal(xbdev.state, XenbusStateConnected);
		if (orderly)
			backend(XenbusStateClosing);
		backend(XenbusStateClosed);
		assert_int_equal(xbdev.state, XenbusStateClosed);
	}
}

static void a_flapping_backend_is_met_less_often(void **state)
{
	int orderly;

	(void)state;
	for (orderly = 0; orderly < 2; orderly++) {
		ring_tried = 0;
		flap(600 * HZ, orderly);
		assert_in_range(ring_tried, 100, 160);
		xenbus_front.remove(&xbdev);
		setup(NULL);
	}
	xenbus_front.remove(&xbdev);
}

/* Workers that are killed, a domain that is suspended, some times in a row. */
static void an_honest_one_is_met_at_once(void **state)
{
	(void)state;
	flap(5 * HZ, true);
	assert_in_range(ring_tried, 30, 1000);
	kernel_advance(180 * HZ);
	ring_tried = 0;
	flap(5 * HZ, false);		/* waits for 200 ms each time */
	assert_in_range(ring_tried, 20, 1000);
	xenbus_front.remove(&xbdev);
}

static void nobody_is_met_who_keeps_too_much(void **state)
{
	(void)state;
	overdrawn = true;
	backend(XenbusStateInitWait);
	kernel_advance(600 * HZ);
	assert_int_equal(ring_tried, 0);
	assert_int_equal(xbdev.state, XenbusStateInitialising);
	overdrawn = false;
	kernel_advance(HZ / 2);
	assert_int_equal(xbdev.state, XenbusStateInitialised);
	xenbus_front.remove(&xbdev);
}

/* From the driver's probe to Connected. */
static unsigned int attach_requests(void **state)
{
	unsigned int n;

	setup(state);
	backend(XenbusStateInitWait);
	backend(XenbusStateConnected);
	assert_int_equal(xbdev.state, XenbusStateConnected);
	n = kernel_requests;
	xenbus_front.remove(&xbdev);
	return n;
}

static void requests_of_an_attach(void **state)
{
	promised("requests of xenstore by a PV guest for an attach",
		 attach_requests(state));
	window = (void *)&window;
	promised("requests of xenstore by a PVH guest for an attach",
		 attach_requests(state));
	window = NULL;
}

/* One node where the backend has offered it, and what it offered. */
static void one_node_says_all(void **state)
{
	(void)state;
	kernel_writes = 0;
	backend(XenbusStateInitWait);
	assert_string_equal(kernel_written, "1 4294967295 15 16 17 402 403 "
			    "386 387 388 389 390 391 392 393 "
			    "394 395 396 397 398 399 400 401");
	assert_int_equal(kernel_writes, 1);
	xenbus_front.remove(&xbdev);
}

static const char *setup_node;		/* NULL: there is none */
static const char *node_of_other(const char *node)
{
	return strcmp(node, "setup") ? kernel_node_default(node) : setup_node;
}

static void a_backend_without_terms_is_refused(void **state)
{
	static const char *const bad[] = {
		NULL, "", "4", "4 ", " 4", "-1 7", "4 -7", "4 7 7", "4294967296 7",
		"4 4294967296", "4294967296 x",
	};
	unsigned int i;

	kernel_node = node_of_other;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		setup(state);
		setup_node = bad[i];
		kernel_writes = 0;
		backend(XenbusStateInitWait);
		assert_int_not_equal(xbdev.state, XenbusStateInitialised);
		assert_int_equal(ring_tried, 0);
		xenbus_front.remove(&xbdev);
	}
	kernel_node = kernel_node_default;
}

/* Where xenbus looks at both states, only its own thread ends the first one. */
static void initialised_in_the_thread_of_xenbus(void **state)
{
	(void)state;
	kernel_resets = true;
	assert_int_equal(vhca_xenbus_init(), 0);
	kernel_notified->notifier_call(kernel_notified, 0, NULL);
	kernel_watched = "state";
	kernel_writes = 0;
	backend(XenbusStateInitWait);
	assert_int_equal(ring_tried, 1);
	assert_int_equal(kernel_writes, 2);	/* setup, and what makes the event */
	assert_int_equal(xbdev.state, XenbusStateInitialising);
	backend(XenbusStateInitWait);
	assert_int_equal(ring_tried, 1);
	kernel_watch->callback(kernel_watch, "device/vhca", NULL);
	assert_int_equal(xbdev.state, XenbusStateInitialised);
	backend(XenbusStateConnected);
	assert_int_equal(xbdev.state, XenbusStateConnected);
	kernel_watch->callback(kernel_watch, "device/vhca", NULL);
	assert_int_equal(xbdev.state, XenbusStateConnected);
	xenbus_front.remove(&xbdev);

	/* The backend is gone before the event comes. */
	setup(NULL);
	backend(XenbusStateInitWait);
	backend(XenbusStateClosed);
	assert_int_equal(xbdev.state, XenbusStateClosed);
	kernel_watch->callback(kernel_watch, "device/vhca", NULL);
	assert_int_equal(xbdev.state, XenbusStateClosed);
	xenbus_front.remove(&xbdev);
	vhca_xenbus_exit();
	kernel_watched = "setup";
	kernel_resets = false;
}

/* Each of these has not, or is not, what it takes but for the last. */
static void a_device_without_driver_has_one_more_chance(void **state)
{
	struct device *dev = &xbdev.dev;

	(void)state;
	kernel_watch = NULL;
	assert_int_equal(vhca_xenbus_init(), 0);
	assert_null(kernel_watch);		/* no xenstore yet */
	kernel_notified->notifier_call(kernel_notified, 0, NULL);
	assert_string_equal(kernel_watch->node, "device/vhca");

	xbdev = (struct xenbus_device){ .devicetype = "vhca", .nodename = "n" };
	kernel_bus[1] = dev;
	kernel_attached = 0;
	backend_state = XenbusStateClosed;	/* of any node: the device's here */
	kernel_watch->callback(kernel_watch, "device/vhca", NULL);
	backend_state = XenbusStateInitialising;
	xbdev.devicetype = "vif";
	kernel_watch->callback(kernel_watch, "device/vhca", NULL);
	xbdev.devicetype = "vhca";
	dev->driver = dev;
	kernel_watch->callback(kernel_watch, "device/vhca", NULL);
	assert_int_equal(kernel_attached, 0);
	dev->driver = NULL;
	kernel_watch->callback(kernel_watch, "device/vhca", NULL);
	assert_int_equal(kernel_attached, 1);
	dev->driver = NULL;
	backend_state = XenbusStateClosing;	/* xenbus's, for the old device */
	kernel_watch->callback(kernel_watch, "device/vhca", NULL);
	assert_int_equal(kernel_attached, 2);
	kernel_watch->callback(kernel_watch, "device/vhca", NULL);
	assert_int_equal(kernel_attached, 2);
	kernel_bus[1] = NULL;
	vhca_xenbus_exit();
	assert_null(kernel_notified);
}

/* ---- a device for the guest's kernel ---- */

static struct vhca_dev *kept(void)
{
	struct vhca_xenbus *x = dev_get_drvdata(&xbdev.dev);

	return x->front->kept;
}

/* It has the device @dev again; NULL: a new one. */
static void connects_again(struct vhca_dev *dev)
{
	kernel_advance(VHCA_MEET_GAP);
	backend(XenbusStateInitWait);
	backend(XenbusStateConnected);
	assert_int_equal(xbdev.state, XenbusStateConnected);
	assert_null(kept());
	if (dev)
		assert_ptr_equal(connection(), dev);
}

/* Which the backend is told of. */
static void takes_a_ring_that_there_is_memory_for(void **state)
{
	(void)state;
	ring_most = 0;
	backend(XenbusStateInitWait);
	ring_most = 8;
	assert_int_equal(xbdev.state, XenbusStateInitialised);
	assert_int_equal(connection()->ring.order, 0);
	xenbus_front.remove(&xbdev);
}

static struct vhca_dev *kernel_connects(void)
{
	nr_devices = 0;
	for_kernel = true;
	connect(0, 0);
	return connection();
}

/* The worker dies; the backend closes in order; the domain is suspended. */
static void a_kernels_device_outlives_its_connection(void **state)
{
	struct vhca_dev *dev = kernel_connects();

	(void)state;
	backend(XenbusStateClosed);
	assert_ptr_equal(kept(), dev);
	connects_again(dev);

	backend(XenbusStateClosing);
	backend(XenbusStateClosed);
	assert_ptr_equal(kept(), dev);
	assert_true(freed_closed);
	connects_again(dev);

	kernel_frozen = front_work;
	xenbus_front.suspend(&xbdev);
	kernel_frozen = NULL;
	assert_ptr_equal(kept(), dev);
	connects_again(dev);
	assert_int_equal(registrations, 1);
	assert_int_equal(aways, 3);
	assert_int_equal(backs, 3);
	assert_int_equal(nr_devices, 1);
	xenbus_front.remove(&xbdev);
	assert_int_equal(nr_devices, 0);
}

/* Of the domain that has the HCA now. */
static const char *moved_node(const char *node)
{
	if (!strcmp(node, "backend"))
		return "/local/domain/9/backend/vhca/5/0";
	return strcmp(node, "backend-id") ? kernel_node_default(node) : "9";
}

static const char *same_backend(const char *node)
{
	return strcmp(node, "backend") ? moved_node(node) : "o";
}

static const char *nobodys_backend(const char *node)
{
	return strcmp(node, "backend-id") ? moved_node(node) : "32752";
}

/* Its backend domain is destroyed: another one has the HCA, and the device its number. */
static void a_kernels_device_follows_its_backend(void **state)
{
	const char *const odd[] = { "device/vhca/0/state", "device/vhca/01/backend",
				    "device/vhca/backend", "backend" };
	struct vhca_dev *dev = kernel_connects();
	struct vhca_xenbus *x = dev_get_drvdata(&xbdev.dev);
	unsigned int i;

	(void)state;
	xbdev.nodename = "device/vhca/0";
	xbdev.otherend = strdup("o");
	kernel_node = same_backend;
	ours_changed(&ours, "device/vhca/0/backend", NULL);
	kernel_node = nobodys_backend;
	ours_changed(&ours, "device/vhca/0/backend", NULL);
	kernel_node = moved_node;
	for (i = 0; i < 4; i++)
		ours_changed(&ours, odd[i], NULL);
	assert_string_equal(xbdev.otherend, "o");
	assert_ptr_equal(connection(), dev);

	for (i = 1; i <= 2; i++) {
		backend_state = XenbusStateInitialising;
		ours_changed(&ours, "device/vhca/0/backend", NULL);
		assert_string_equal(xbdev.otherend, moved_node("backend"));
		assert_int_equal(xbdev.otherend_id, 9);
		kernel_advance(1);
		assert_ptr_equal(kept(), dev);
		assert_int_equal(xbdev.state, XenbusStateClosed);
		assert_int_equal(kernel_watches, 1);
		kernel_advance(VHCA_MEET_GAP);
		backend_state = XenbusStateInitWait;
		x->moved.callback(&x->moved, NULL, NULL);
		kernel_advance(1);
		assert_int_equal(dev->backend, 9);
		backend_state = XenbusStateConnected;
		x->moved.callback(&x->moved, NULL, NULL);
		kernel_advance(1);
		assert_ptr_equal(connection(), dev);
		assert_int_equal(backs, i);
		kfree(xbdev.otherend);		/* once more */
		xbdev.otherend = strdup("o");
	}
	assert_int_equal(registrations, 1);
	kernel_node = kernel_node_default;
	xenbus_front.remove(&xbdev);
	assert_int_equal(kernel_watches, 0);
	assert_int_equal(nr_devices, 0);
	kfree(xbdev.otherend);
}

static void two_suspends_in_a_row(void **state)
{
	struct vhca_dev *dev = kernel_connects();
	int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		kernel_frozen = front_work;
		xenbus_front.suspend(&xbdev);
		kernel_frozen = NULL;
		backend(XenbusStateInitWait);
		assert_int_equal(xbdev.state, XenbusStateInitialised);
	}
	assert_int_equal(aways, 1);
	backend(XenbusStateConnected);
	assert_ptr_equal(connection(), dev);
	assert_int_equal(backs, 1);
	xenbus_front.remove(&xbdev);
	assert_int_equal(nr_devices, 0);
}

static void another_hca_makes_another_device(void **state)
{
	kernel_connects();
	(void)state;
	backend(XenbusStateClosed);
	back_rc = -ESTALE;
	kernel_advance(VHCA_MEET_GAP);
	backend(XenbusStateInitWait);
	backend(XenbusStateConnected);
	assert_int_equal(xbdev.state, XenbusStateClosed);
	assert_int_equal(nr_devices, 0);
	connects_again(NULL);
	assert_int_equal(registrations, 2);
	assert_int_equal(nr_devices, 1);
	xenbus_front.remove(&xbdev);
}

/* An error that is not of the device: it waits for the next connection. */
static void a_failed_return_is_tried_again(void **state)
{
	struct vhca_dev *dev = kernel_connects();

	(void)state;
	backend(XenbusStateClosed);
	back_rc = -ENOMEM;
	kernel_advance(VHCA_MEET_GAP);
	backend(XenbusStateInitWait);
	backend(XenbusStateConnected);
	assert_int_equal(xbdev.state, XenbusStateClosed);
	assert_ptr_equal(kept(), dev);
	back_rc = 0;
	connects_again(dev);
	xenbus_front.remove(&xbdev);
}

static const char *other_ip(const char *node)
{
	return strcmp(node, "ip") ? kernel_node_default(node) : "10.8.0.9/24";
}

static void another_address_makes_another_device(void **state)
{
	kernel_connects();
	(void)state;
	backend(XenbusStateClosed);
	kernel_node = other_ip;
	connects_again(NULL);
	kernel_node = kernel_node_default;
	assert_int_equal(backs, 0);
	assert_int_equal(registrations, 2);
	assert_int_equal(nr_devices, 1);
	xenbus_front.remove(&xbdev);
}

/* The HCA of the last connection could still write to it. */
static void nobody_shares_memory_that_is_held(void **state)
{
	struct vhca_dev *dev = kernel_connects();

	(void)state;
	held = 3;
	backend(XenbusStateClosed);
	kernel_advance(5 * HZ);
	backend(XenbusStateInitWait);
	kernel_advance(10 * HZ);
	assert_int_equal(ring_tried, 1);
	held = 0;
	kernel_advance(HZ);
	assert_int_equal(xbdev.state, XenbusStateInitialised);
	backend(XenbusStateConnected);
	assert_ptr_equal(connection(), dev);

	held = 3;
	backend(XenbusStateClosed);
	backend(XenbusStateInitWait);
	kernel_advance(VHCA_END_WAIT + 2 * HZ);
	backend(XenbusStateConnected);
	assert_int_equal(xbdev.state, XenbusStateConnected);
	assert_int_equal(registrations, 2);
	assert_int_equal(nr_devices, 1);
	xenbus_front.remove(&xbdev);
}

static const char *detached(const char *node)
{
	return strcmp(node, "online") ? kernel_node_default(node) : "0";
}

/* With its connection, so that a new one has its name; or without one. */
static void a_detach_ends_it(void **state)
{
	kernel_connects();
	(void)state;
	kernel_node = detached;
	backend(XenbusStateClosing);
	backend(XenbusStateClosed);
	kernel_node = kernel_node_default;
	assert_int_equal(aways, 0);
	assert_int_equal(nr_devices, 0);

	connects_again(NULL);
	backend(XenbusStateClosed);
	assert_int_equal(aways, 1);
	kernel_node = detached;
	backend(XenbusStateClosing);
	kernel_node = kernel_node_default;
	assert_int_equal(nr_devices, 0);
	xenbus_front.remove(&xbdev);
}

static void it_ends_with_its_xenbus_device(void **state)
{
	kernel_connects();
	(void)state;
	backend(XenbusStateClosed);
	assert_non_null(kept());
	xenbus_front.remove(&xbdev);
	assert_int_equal(nr_devices, 0);
}

static void ib_core_may_end_it_meanwhile(void **state)
{
	struct vhca_dev *dev = kernel_connects();

	(void)state;
	backend(XenbusStateClosed);
	dev->stays = false;
	vhca_break(dev, "taken");
	kernel_advance(1);
	assert_int_equal(nr_devices, 0);
	connects_again(NULL);
	xenbus_front.remove(&xbdev);
	assert_int_equal(nr_devices, 0);
}

static void a_flapping_backend_has_one_device(void **state)
{
	struct vhca_dev *dev = kernel_connects();

	(void)state;
	flap(600 * HZ, false);
	assert_ptr_equal(kept(), dev);
	assert_int_equal(nr_devices, 1);
	assert_int_equal(registrations, 1);
	assert_in_range(aways, 100, 160);
	xenbus_front.remove(&xbdev);
	assert_int_equal(nr_devices, 0);
}

#define T(f) cmocka_unit_test_setup(f, setup)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(tries_again),
		T(takes_a_ring_that_there_is_memory_for),
		T(tries_less_and_less_often),
		T(tries_nothing_while_the_backend_closes),
		T(an_end_is_bounded),
		T(an_end_by_the_core_is_bounded),
		T(the_core_may_give_it_back),
		T(a_beginning_is_bounded),
		T(an_honest_beginning_has_its_time),
		T(an_honest_end_has_its_time),
		T(a_suspend_waits_less),
		T(only_a_living_backend_closes),
		T(a_flapping_backend_is_met_less_often),
		T(an_honest_one_is_met_at_once),
		T(nobody_is_met_who_keeps_too_much),
		T(a_kernels_device_outlives_its_connection),
		T(a_kernels_device_follows_its_backend),
		T(two_suspends_in_a_row),
		T(another_hca_makes_another_device),
		T(a_failed_return_is_tried_again),
		T(another_address_makes_another_device),
		T(nobody_shares_memory_that_is_held),
		T(a_detach_ends_it),
		T(it_ends_with_its_xenbus_device),
		T(ib_core_may_end_it_meanwhile),
		T(a_flapping_backend_has_one_device),
		T(one_node_says_all),
		cmocka_unit_test(a_backend_without_terms_is_refused),
		cmocka_unit_test(requests_of_an_attach),
		T(initialised_in_the_thread_of_xenbus),
		cmocka_unit_test(a_device_without_driver_has_one_more_chance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
