// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What makes the supervisor look at all devices of all guests, which costs requests
 * to xenstored for each, and what does not.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "tests/fake/fake_xs.h"
#include "carrier/open_xenstore.h"
#include "devices.h"
#include "supervise/supervisor.h"
#include "test_sup_host.h"

#define CHANGES	20u

static struct {
	struct be_devices_ops real, ops;
	int fd[2];
	unsigned int scans, heard, before, after;
} look;

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
static int look_changed(struct be_devices *s, be_device_fn *below, void *arg)
{
	char what = 0;

	(void)s;
	assert_int_equal(read(look.fd[0], &what, 1), 1);
	if (!look.heard++)
		look.before = look.scans;
	look.after = look.scans;
	switch (what) {
	case 'w':		/* of a device with a worker */
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

/* In a child, as soon as there is a worker. */
static void change(char what)
{
	unsigned int i;

	while (!sup_workers())
		usleep(1000);
	usleep(100000);
	for (i = 0; i < CHANGES; i++) {
		usleep(5000);
		if (write(look.fd[1], &what, 1) != 1)
			break;
	}
	usleep(50000);
	kill(getppid(), SIGTERM);
	_exit(0);
}

/* Scans between the first and the last of CHANGES changes. */
static unsigned int scans_for(char what)
{
	pid_t pid;

	memset(&look, 0, sizeof(look));
	assert_int_equal(pipe(look.fd), 0);
	pid = fork();
	if (!pid)
		change(what);
	assert_int_equal(be_supervisor_main(&sup_opt, look_open), BE_EXIT_OK);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(look.fd[0]);
	close(look.fd[1]);
	assert_true(sup_served(5));
	assert_true(look.heard > 1);
	return look.after - look.before;
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
	assert_int_equal(scans_for('w'), 0);
	assert_true(scans_for('d') > 0);
	assert_true(scans_for('o') > 0);
}

static int take_device(unsigned int domid, unsigned int devid, void *arg)
{
	*(unsigned int *)arg = domid << 16 | devid;
	return 0;
}

/* A change below a device's directory names the device. */
static void changes_name_their_device(void **state)
{
	static const struct { const char *path; int other; } t[] = {
		{ BACK "/5/0/state", 0 }, { BACK "/5/0/doorbell/3/slot", 0 },
		{ BACK "/5/0", 1 }, { BACK "/5", 1 }, { BACK, 1 },
		{ BACK "/5/x/state", 1 }, { BACK "/5/0x/state", 1 },
	};
	struct be_devices *s = be_devices_xenstore();
	unsigned int i, got;

	(void)state;
	assert_non_null(s);
	assert_int_equal(s->ops->watch(s), 0);
	s->ops->changed(s, take_device, &got);
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		got = 0;
		fake_xs_set(t[i].path, "1");
		assert_int_equal(s->ops->changed(s, take_device, &got),
				 t[i].other);
		assert_int_equal(got, t[i].other ? 0 : 5 << 16);
	}
	s->ops->free(s);
}

int main(int argc, char **argv)
{
#define T(f) cmocka_unit_test_setup_teardown(f, sup_setup, sup_teardown)
	static const struct CMUnitTest tests[] = {
		T(what_workers_write_costs_no_scan),
		T(changes_name_their_device),
	};
#undef T

	if (argc > 1)
		return sup_worker(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
