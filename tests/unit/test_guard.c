// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Guards of dead workers: how long each is held, and that a worker finds its
 * own where it looks. A pipe takes the place of the helper device: its other
 * end tells when the last copy was closed.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "core/be.h"
#include "clock.h"
#include "core/run.h"
#include "carrier/open_xenstore.h"
#include "supervise/guard.h"
#include "tests/fake/fake_xs.h"

#define DIR5	"/local/domain/1/backend/vhca/5/0"
#define DIR6	"/local/domain/1/backend/vhca/6/0"

static struct be_guard *list;
static struct be_devices *all;
static int other_end[2] = { -1, -1 };

static int new_fd(unsigned int i)
{
	int fd[2];

	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	other_end[i] = fd[0];
	return fd[1];
}

static struct be_guard *guard_new(unsigned int i, unsigned int domid)
{
	return be_guard_new(new_fd(i), domid, 0);
}

static bool held(unsigned int i)
{
	struct pollfd p = { .fd = other_end[i], .events = POLLIN };

	return poll(&p, 1, 0) == 0;
}

static void keep(unsigned int i, unsigned int domid,
		 enum be_until until)
{
	struct be_guard *g = guard_new(i, domid);

	be_guard_hold(&list, &g, until, 0);
	assert_null(g);
	assert_true(held(i));
}

static void state_is(const char *state)
{
	fake_xs_set(DIR5 "/state", state);
	be_guard_check(&list, all);
}

static int setup(void **state)
{
	(void)state;
	fake_xs_reset();
	fake_xs_set("domid", "1");
	all = be_devices_xenstore();
	assert_non_null(all);
	fake_xs_set("/local/domain/5/name", "web");
	fake_xs_set("/local/domain/6/name", "db");
	fake_xs_set(DIR5 "/state", "6");	/* Closed: the worker died */
	fake_xs_set(DIR6 "/state", "6");
	return 0;
}

static int teardown(void **state)
{
	unsigned int i;

	(void)state;
	be_guard_free(&list);
	all->ops->free(all);
	for (i = 0; i < 2; i++) {
		if (other_end[i] >= 0) {
			assert_false(held(i));
			close(other_end[i]);
		}
		other_end[i] = -1;
	}
	assert_null(list);
	return 0;
}

static void until_the_next_worker(void **state)
{
	(void)state;
	keep(0, 5, BE_UNTIL_NEXT_WORKER);
	state_is("6");
	state_is("1");			/* Initialising: asks for the slots */
	assert_true(held(0));
	state_is("5");			/* Closing */
	assert_true(held(0));
	state_is("2");			/* InitWait: all pages are back */
	assert_false(held(0));
	assert_null(list);
	keep(1, 5, BE_UNTIL_NEXT_WORKER);
	state_is("4");			/* we were late */
	assert_false(held(1));
	close(other_end[1]);
	keep(1, 5, BE_UNTIL_NEXT_WORKER);
	fake_xs_rm(DIR5);		/* detached */
	be_guard_check(&list, all);
	assert_false(held(1));
}

static void for_the_life_of_the_guest(void **state)
{
	(void)state;
	keep(0, 5, BE_UNTIL_GUEST_ENDS);
	state_is("2");
	state_is("4");
	assert_true(held(0));
	fake_xs_rm(DIR5);
	be_guard_check(&list, all);
	assert_true(held(0));
	fake_xs_rm("/local/domain/6");
	be_guard_check(&list, all);
	assert_true(held(0));
	fake_xs_rm("/local/domain/5");
	be_guard_check(&list, all);
	assert_false(held(0));
	assert_null(list);
}

/* Nor does what cannot be read say that a device, or its guest, is gone. */
static void an_error_ends_nothing(void **state)
{
	(void)state;
	keep(0, 5, BE_UNTIL_NEXT_WORKER);
	keep(1, 6, BE_UNTIL_GUEST_ENDS);
	fake_xs_break(EIO);
	be_guard_check(&list, all);
	assert_int_equal(be_devices_state(all, 5, 0), -EIO);
	assert_int_equal(be_devices_close(all, 5, 0), -EIO);
	fake_xs_break(0);
	assert_true(held(0) && held(1));
	state_is("nonsense");
	assert_true(held(0));
	assert_int_equal(be_devices_state(all, 5, 1), XenbusStateUnknown);
	assert_int_equal(be_devices_close(all, 5, 1), 0);
	state_is("2");
	assert_false(held(0));
}

/* A guest connects as often as it likes. */
static void not_without_end(void **state)
{
	struct be_guard *g;
	unsigned int i;

	(void)state;
	keep(0, 6, BE_UNTIL_GUEST_ENDS);
	for (i = 0; i < BE_GUARDS_MAX - 1; i++) {
		g = be_guard_new(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0), 5, 0);
		be_guard_hold(&list, &g, BE_UNTIL_GUEST_ENDS, 0);
	}
	keep(1, 5, BE_UNTIL_NEXT_WORKER);
	assert_false(be_guard_full(list, 5));
	g = be_guard_new(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0), 5, 0);
	be_guard_hold(&list, &g, BE_UNTIL_GUEST_ENDS, 0);
	assert_true(be_guard_full(list, 5));
	assert_false(be_guard_full(list, 6));
	fake_xs_rm("/local/domain/5");
	be_guard_check(&list, all);
	assert_false(be_guard_full(list, 5));
	assert_true(held(0));
}

/* One connection can leave as much as many. */
static void not_with_all_doorbell_pages(void **state)
{
	struct be_guard *g;

	(void)state;
	g = be_guard_new(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0), 5, 0);
	be_guard_hold(&list, &g, BE_UNTIL_NEXT_WORKER, 4096);	/* till InitWait */
	g = be_guard_new(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0), 5, 0);
	be_guard_hold(&list, &g, BE_UNTIL_GUEST_ENDS, 2000);
	assert_false(be_guard_full(list, 5));
	assert_int_equal(be_guard_uars(list, 5), 2000);
	g = be_guard_new(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0), 5, 1);
	be_guard_hold(&list, &g, BE_UNTIL_GUEST_ENDS, 48);
	assert_true(be_guard_full(list, 5));
	assert_int_equal(be_guard_uars(list, 5), 2048);
	assert_int_equal(be_guard_uars(list, 6), 0);
	assert_false(be_guard_full(list, 6));
	fake_xs_rm("/local/domain/5");
	be_guard_check(&list, all);
	assert_false(be_guard_full(list, 5));
	assert_int_equal(be_guard_uars(list, 5), 0);
}

static void a_worker_tells_what_it_leaves(void **state)
{
	char path[] = "guard-lock-XXXXXX";
	struct vl_bucket fail = {}, log = {};
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(be_run_left(path), 0);
	fd = be_run_take(path, &fail, &log);
	assert_true(fd >= 0);
	assert_int_equal(be_run_left(path), 0);
	be_run_leave(fd, 1234, &fail, &log);
	assert_int_equal(vl_lock_holder(path), getpid());
	close(fd);
	assert_int_equal(be_run_left(path), 1234);
	fd = be_run_take(path, &fail, &log);		/* of the next: nothing yet */
	assert_int_equal(be_run_left(path), 0);
	close(fd);
	unlink(path);
	assert_int_equal(be_run_left(path), 0);
}

/*
 * Connects n times and has as many commands refused as it may, and lines in the log, in
 * one second.
 */
static unsigned int refused(const char *path, unsigned int n, uint64_t now)
{
	unsigned int sum = 0, lines = 0;
	struct be_quota q;
	int fd;

	while (n--) {
		struct vl_bucket log = { .rate = 10 };

		be_quota_defaults(&q);
		fd = be_run_take(path, &q.fail, &log);
		assert_true(fd >= 0);
		while (!vl_bucket_take(&q.fail, now))
			sum++;
		while (!vl_bucket_take(&log, now))
			lines++;
		be_run_leave(fd, 0, &q.fail, &log);
		close(fd);
	}
	assert_int_equal(lines, 10);
	return sum;
}

static void connections_of_a_device_share_refused_commands(void **state)
{
	char path[] = "guard-lock-XXXXXX";
	uint64_t now = 1000 * VL_SEC_NS;
	struct vl_bucket none = {}, silent = {};
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(refused(path, 5, now), 1000);
	assert_int_equal(refused(path, 5, now + 2 * VL_SEC_NS), 20);
	assert_int_equal(refused(path, 5, now + 1000 * VL_SEC_NS), 1000);
	assert_int_equal(refused(path, 5, VL_SEC_NS), 1000);	/* started anew */
	fd = be_run_take(path, &none, &silent);	/* and one that is killed */
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(refused(path, 1, VL_SEC_NS), 1000);
	unlink(path);
}

static void each_has_its_own_time(void **state)
{
	(void)state;
	keep(0, 5, BE_UNTIL_GUEST_ENDS);
	keep(1, 6, BE_UNTIL_NEXT_WORKER);
	be_guard_check(&list, all);
	assert_true(held(0) && held(1));
	fake_xs_set(DIR6 "/state", "2");
	be_guard_check(&list, all);
	assert_true(held(0) && !held(1));
	close(other_end[1]);
	fake_xs_set(DIR6 "/state", "6");
	keep(1, 6, BE_UNTIL_NEXT_WORKER);
	fake_xs_rm("/local/domain/5");	/* in the middle of the list */
	be_guard_check(&list, all);
	assert_true(!held(0) && held(1));
}

static void a_death_ends_all(void **state)
{
	(void)state;
	keep(0, 5, BE_UNTIL_NEXT_WORKER);
	fake_xs_rm("/local/domain/5");
	be_guard_check(&list, all);
	assert_false(held(0));
}

static void nothing_to_keep(void **state)
{
	struct be_guard *none = NULL, *g = guard_new(0, 5);

	(void)state;
	be_guard_hold(&list, &none, BE_UNTIL_GUEST_ENDS, 0);
	assert_null(list);
	be_guard_drop(&none);
	be_guard_drop(&g);
	assert_null(g);
	assert_false(held(0));
}

/* Exit status of a child that passes guard on and looks what it has at 3. */
static int passed(int fd, bool is_there)
{
	struct be_guard *guard;
	pid_t pid = fork();
	int status;

	if (pid)
		return waitpid(pid, &status, 0) == pid ? status : -1;
	if (fd < 0)
		_exit(be_guard_pass(NULL) != BE_GUARD_FD);
	if (is_there && dup3(fd, BE_GUARD_FD, O_CLOEXEC) == BE_GUARD_FD)
		fd = BE_GUARD_FD;
	guard = be_guard_new(fd, 5, 0);
	if (be_guard_pass(guard) != BE_GUARD_FD + 1)
		_exit(2);
	if (fcntl(BE_GUARD_FD, F_GETFD) != 0)	/* also after execve() */
		_exit(3);
	_exit(write(BE_GUARD_FD, "x", 1) != 1);
}

static void a_worker_finds_it_at_3(void **state)
{
	int fd = new_fd(0);
	char c;

	(void)state;
	assert_int_equal(passed(-1, false), 0);
	assert_int_equal(passed(fd, false), 0);
	assert_int_equal(read(other_end[0], &c, 1), 1);
	assert_int_equal(passed(fd, true), 0);
	assert_int_equal(read(other_end[0], &c, 1), 1);
	close(fd);
}

/* A worker that an earlier supervisor started; it lives until told. */
static void of_a_worker_of_another(void **state)
{
	int fd = new_fd(0), stop[2], pidfd;
	struct be_guard *copy;
	pid_t pid;
	char c;

	(void)state;
	assert_int_equal(pipe2(stop, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		close(stop[1]);
		be_guard_pass(be_guard_new(fd, 5, 0));
		if (write(BE_GUARD_FD, "x", 1) != 1)
			_exit(1);
		_exit(read(stop[0], &c, 1) != 0);
	}
	close(fd);
	assert_int_equal(read(other_end[0], &c, 1), 1);
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	assert_true(pidfd >= 0);
	copy = be_guard_adopt(&list, pidfd, 5, 0);
	if (!copy && (errno == EPERM || errno == ENOSYS))
		print_message("may not copy descriptors of a child here\n");
	close(stop[0]);
	close(stop[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(held(0), copy != NULL);	/* the worker is gone */
	be_guard_hold(&list, &copy, BE_UNTIL_GUEST_ENDS, 0);
	be_guard_check(&list, all);
	assert_int_equal(held(0), list != NULL);
	assert_null(be_guard_adopt(&list, pidfd, 5, 0));
	close(pidfd);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(until_the_next_worker),
		T(for_the_life_of_the_guest),
		T(an_error_ends_nothing),
		T(not_without_end),
		T(not_with_all_doorbell_pages),
		T(a_worker_tells_what_it_leaves),
		T(connections_of_a_device_share_refused_commands),
		T(each_has_its_own_time),
		T(a_death_ends_all),
		T(nothing_to_keep),
		T(a_worker_finds_it_at_3),
		T(of_a_worker_of_another),
	};

	/* no pipe of ours may be there */
	if (dup2(STDERR_FILENO, BE_GUARD_FD) != BE_GUARD_FD)
		return 99;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
