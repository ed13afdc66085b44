// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What makes the supervisor look at all devices of all guests, which costs requests
 * to xenstored for each, and what does not; and that one more guest costs the same
 * beside many as beside few.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "tests/fake/fake_xs.h"
#include "carrier/open_xenstore.h"
#include "clock.h"
#include "core/devices.h"
#include "supervise/supervisor.h"
#include "test_sup_host.h"

#define CHANGES	20u
#define NEW	100u		/* the first guest that is attached meanwhile */
#define REFUSED	30u

struct cost {
	unsigned int scans, requests, waits;
	uint64_t ns;
};

static struct {
	struct be_devices_ops real, ops;
	int fd[2];
	unsigned int heard, scans;
	struct cost before, after;
} look;
static unsigned int waits;

/* Instead of libc's: counted. */
pid_t waitpid(pid_t pid, int *status, int options)
{
	waits++;
	return (pid_t)syscall(SYS_wait4, pid, status, options, NULL);
}

static struct cost cost_now(void)
{
	return (struct cost){ look.scans, fake_xs_requests(), waits,
			      vl_now_ns() };
}

static int look_fd(struct be_devices *s)
{
	(void)s;
	return look.fd[0];
}

static int look_scan(struct be_devices *s, be_device_fn *seen, void *arg)
{
	look.scans++;
	return look.real.scan(s, seen, arg);
}

/* A letter for each change; the last one is followed by another. */
static int look_changed(struct be_devices *s, be_device_fn *below, be_guest_fn *vifs,
			void *arg)
{
	char what = 0;

	(void)s;
	assert_int_equal(read(look.fd[0], &what, 1), 1);
	look.after = cost_now();
	if (!look.heard++)
		look.before = look.after;
	switch (what) {
	case 'n':		/* there is one more */
		sup_attach(NEW + look.heard, "1");
		return look.real.changed(s, below, vifs, arg);
	case 'c':		/* one that was refused wants less */
		sup_set(40, "max-pinned-mb", "1");
		return look.real.changed(s, below, vifs, arg);
	case 'w':		/* of a device with a worker */
		return below(5, 0, arg);
	case 'i':		/* that worker is in InitWait */
		sup_set(5, "state", "2");
		return below(5, 0, arg);
	case 'd':		/* of one that is not served */
		return below(6, 0, arg);
	default:
		return 1;
	}
}

static struct be_devices *look_open(void)
{
	struct be_devices *s = be_devices_xenstore();

	look.real = look.ops = *s->ops;
	look.ops.fd = look_fd;
	look.ops.scan = look_scan;
	look.ops.changed = look_changed;
	s->ops = &look.ops;
	return s;
}

/* In a child, as soon as there are so many workers. */
static void change(char what, unsigned int workers)
{
	unsigned int i;

	sup_until(workers, 0);
	for (i = 0; i < CHANGES; i++) {
		usleep(5000);
		if (write(look.fd[1], &what, 1) != 1)
			break;
	}
	sup_until(workers + (what == 'n' ? CHANGES : what == 'c'), 0);
	kill(getppid(), SIGTERM);
	_exit(0);
}

/* What the first of CHANGES changes cost, and all until the last. */
static struct cost costs_of(char what, unsigned int workers)
{
	unsigned int i;
	pid_t pid;

	memset(&look, 0, sizeof(look));
	for (i = 0; i < 2 * NEW; i++)	/* those of an earlier supervisor */
		sup_served(i);
	assert_int_equal(pipe(look.fd), 0);
	pid = fork();
	if (!pid)
		change(what, workers);
	assert_int_equal(be_supervisor_main(&sup_opt, look_open), BE_EXIT_OK);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(look.fd[0]);
	close(look.fd[1]);
	assert_true(sup_served(5));
	assert_true(look.heard > 1);
	return (struct cost){ look.after.scans - look.before.scans,
			      look.after.requests - look.before.requests,
			      look.after.waits - look.before.waits,
			      look.after.ns - look.before.ns };
}

/*
 * Workers write states and requests for doorbell pages below their devices. A scan
 * for each would cost requests to xenstored for all devices of all guests.
 */
static void what_workers_write_costs_no_scan(void **state)
{
	(void)state;
	sup_attach(5, "64");
	sup_set(6, "online", "0");
	assert_int_equal(costs_of('w', 1).scans, 0);
	assert_true(costs_of('d', 1).scans > 0);
	assert_true(costs_of('o', 1).scans > 0);
}

/* In a child, whose fd 3 the service manager stored: a worker of d5/0 was killed. */
static int guarded(char what)
{
	char pid[16];

	dup2(STDERR_FILENO, 3);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv("LISTEN_PID", pid, 1);
	setenv("LISTEN_FDS", "1", 1);
	setenv("LISTEN_FDNAMES", "guard.5.0.d.10.0", 1);
	return (int)costs_of(what, 1).scans;
}

/* A scan ends its guard when the next worker is ready; then there is no reason for one. */
static void the_next_worker_ends_a_guard(void **state)
{
	static const struct { char what; int scans; } c[] = {
		{ 'w', CHANGES - 1 }, { 'i', 1 },
	};
	unsigned int i;
	int status;
	pid_t pid;

	(void)state;
	sup_attach(5, "64");
	for (i = 0; i < 2; i++) {
		pid = fork();
		if (!pid)
			_exit(guarded(c[i].what));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(WEXITSTATUS(status), c[i].scans);
	}
}

/* What a guest costs that is attached beside n others, in requests. */
static unsigned int requests_beside(unsigned int n)
{
	struct cost c;
	unsigned int i;

	assert_int_equal(sup_teardown(NULL), 0);
	assert_int_equal(sup_setup(NULL), 0);
	sup_attach(5, "1");
	for (i = 1; i < n; i++)
		sup_attach(5 + i, "1");
	c = costs_of('n', n);
	assert_int_equal(c.scans, CHANGES - 1);
	/* No worker ended, so none is asked for its end. */
	assert_int_equal(c.waits, 0);
	assert_int_equal(c.requests % c.scans, 0);
	return c.requests / c.scans;
}

static void one_more_costs_the_same_beside_many(void **state)
{
	unsigned int few = requests_beside(2);

	(void)state;
	assert_in_range(few, 1, 8);
	assert_int_equal(requests_beside(40), few);
}

/*
 * Others that have no room are looked at once a second, not for each that comes. One
 * that is changed is looked at at once, and is served when it fits.
 */
static void refused_ones_cost_little(void **state)
{
	unsigned int alone = requests_beside(2), i, passes;
	struct cost c;

	(void)state;
	assert_int_equal(sup_teardown(NULL), 0);
	assert_int_equal(sup_setup(NULL), 0);
	sup_attach(5, "1");
	for (i = 0; i < REFUSED; i++)
		sup_attach(40 + i, "1000000");
	c = costs_of('n', 1);
	passes = 2 + (unsigned int)(c.ns / VL_SEC_NS);
	assert_in_range(c.requests, 1, c.scans * alone + passes * REFUSED * 8);
	assert_int_equal(c.scans, CHANGES - 1);
	assert_false(sup_served(40));
	costs_of('c', 1 + CHANGES);
	assert_true(sup_served(40));
}

static int take_device(unsigned int domid, unsigned int devid, void *arg)
{
	*(unsigned int *)arg = domid << 16 | devid;
	return 0;
}

static void take_guest(unsigned int domid, void *arg)
{
	*(unsigned int *)arg = domid;
}

/* A change below a device's directory names the device, one of a vif its guest. */
static void changes_name_their_device(void **state)
{
	static const struct { const char *path; int other; unsigned int got; } t[] = {
		{ BACK "/5/0/state", 0, 5 << 16 }, { BACK "/5/0/doorbell/3/slot", 0, 5 << 16 },
		{ BACK "/5/0", 1, 0 }, { BACK "/5", 1, 0 }, { BACK, 1, 0 },
		{ BACK "/5/x/state", 1, 0 }, { BACK "/5/0x/state", 1, 0 },
		{ VIFS "/5/0/hotplug-status", 0, 5 }, { VIFS "/5/0", 0, 5 }, { VIFS "/5", 0, 5 },
		{ VIFS "/5/0/state", 0, 0 }, { VIFS "/5/0/hotplug-status/x", 0, 0 },
		{ VIFS "/5/0x", 0, 0 }, { VIFS "/x/0", 0, 0 }, { VIFS, 0, 0 },
	};
	struct be_devices *s = be_devices_xenstore();
	unsigned int i, got;

	(void)state;
	assert_non_null(s);
	assert_int_equal(s->ops->watch(s), 0);
	s->ops->changed(s, take_device, take_guest, &got);
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		got = 0;
		fake_xs_set(t[i].path, "1");
		assert_int_equal(s->ops->changed(s, take_device, take_guest, &got),
				 t[i].other);
		assert_int_equal(got, t[i].got);
	}
	s->ops->free(s);
}

static int add_guest(unsigned int domid, unsigned int devid, void *arg)
{
	*(unsigned int *)arg += domid + devid;
	return 0;
}

/* The sum of all guests that a scan finds, and what it asked for them. */
static void scan_is(struct be_devices *s, unsigned int sum, unsigned int asked)
{
	unsigned int got = 0, before, changed = 0;

	assert_true(s->ops->changed(s, add_guest, take_guest, &changed) >= 0);
	before = fake_xs_requests();
	assert_int_equal(s->ops->scan(s, add_guest, &got), 0);
	assert_int_equal(got, sum);
	assert_int_equal(fake_xs_requests() - before, asked);
}

static void only_what_changed_is_listed(void **state)
{
	struct be_devices *s;
	unsigned int i;

	(void)state;
	for (i = 10; i < 15; i++)
		sup_attach(i, NULL);
	s = be_devices_xenstore();
	assert_non_null(s);
	assert_int_equal(s->ops->watch(s), 0);
	scan_is(s, 10 + 11 + 12 + 13 + 14, 1 + 5);
	scan_is(s, 10 + 11 + 12 + 13 + 14, 0);
	sup_set(11, "state", "4");
	scan_is(s, 10 + 11 + 12 + 13 + 14, 0);
	sup_attach(20, NULL);
	scan_is(s, 10 + 11 + 12 + 13 + 14 + 20, 2);
	fake_xs_set(BACK "/20/7/state", "1");
	scan_is(s, 10 + 11 + 12 + 13 + 14 + 20 + 27, 2);
	fake_xs_rm(BACK "/20/7");
	scan_is(s, 10 + 11 + 12 + 13 + 14 + 20, 2);
	fake_xs_rm(BACK "/20");
	scan_is(s, 10 + 11 + 12 + 13 + 14, 1);
	/* By this domain itself: at once, before its own watch tells. */
	assert_int_equal(s->ops->remove(s, 10, 0), 0);
	i = 0;
	assert_int_equal(s->ops->scan(s, add_guest, &i), 0);
	assert_int_equal(i, 11 + 12 + 13 + 14);
	fake_xs_rm(BACK);
	scan_is(s, 0, 1);
	s->ops->free(s);
}

int main(int argc, char **argv)
{
#define T(f) cmocka_unit_test_setup_teardown(f, sup_setup, sup_teardown)
	static const struct CMUnitTest tests[] = {
		T(what_workers_write_costs_no_scan),
		T(the_next_worker_ends_a_guard),
		T(one_more_costs_the_same_beside_many),
		T(refused_ones_cost_little),
		T(only_what_changed_is_listed),
		T(changes_name_their_device),
	};
#undef T

	if (argc > 1)
		return sup_worker(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
