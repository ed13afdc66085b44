// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Guards in the service manager's store: what it is told, and that the next
 * supervisor gets each back. The test is the manager; a pipe is the helper.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "core/be.h"
#include "supervise/fdstore.h"
#include "carrier/open_xenstore.h"
#include "supervise/guard.h"
#include "tests/fake/fake_manager.h"
#include "tests/fake/fake_xs.h"

#define DIR5	"/local/domain/1/backend/vhca/5/0"

static int manager = -1;
static char text[512];

/* The next word to the manager, in text; the file beside it or -1. */
static int told(void)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} files = {};
	struct iovec iov = { .iov_base = text, .iov_len = sizeof(text) - 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1,
			    .msg_control = &files,
			    .msg_controllen = sizeof(files.room) };
	ssize_t n = recvmsg(manager, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	int fd = -1;

	text[n < 0 ? 0 : n] = '\0';
	if (n > 0 && CMSG_FIRSTHDR(&m))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	return fd;
}

/* A copy under such a name was stored: its fd, and the whole name. */
static int stored(const char *begin, char *name)
{
	static const char how[] = "FDSTORE=1\nFDNAME=";
	int fd = told();

	assert_true(fd >= 0);
	assert_memory_equal(text, how, strlen(how));
	assert_memory_equal(text + strlen(how), begin, strlen(begin));
	snprintf(name, BE_FDSTORE_NAME, "%.*s",
		 (int)strcspn(text + strlen(how), "\n"), text + strlen(how));
	return fd;
}

static void dropped(const char *name)
{
	char want[128];

	snprintf(want, sizeof(want), "FDSTOREREMOVE=1\nFDNAME=%s\n", name);
	assert_int_equal(told(), -1);
	assert_string_equal(text, want);
}

static void silence(void)
{
	assert_int_equal(told(), -1);
	assert_string_equal(text, "");
}

static struct be_devices *all;

static int setup(void **state)
{
	(void)state;
	fake_xs_reset();
	fake_xs_set("domid", "1");
	all = be_devices_xenstore();
	assert_non_null(all);
	fake_xs_set("/local/domain/5/name", "web");
	fake_xs_set(DIR5 "/state", "6");
	manager = fake_manager();
	return manager < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	(void)state;
	all->ops->free(all);
	close(manager);
	unsetenv("NOTIFY_SOCKET");
	return 0;
}

static struct be_guard *guard(unsigned int devid)
{
	return be_guard_new(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10), 5, devid);
}

static void the_manager_has_a_copy_as_long_as_we(void **state)
{
	char name[BE_FDSTORE_NAME], later[BE_FDSTORE_NAME];
	struct be_guard *g, *list = NULL;

	(void)state;
	g = guard(0);
	close(stored("guard.5.0.w.", name));
	be_guard_drop(&g);
	dropped(name);
	silence();

	g = guard(0);
	close(stored("guard.5.0.w.", name));
	be_guard_hold(&list, &g, BE_UNTIL_NEXT_WORKER, 0);
	dropped(name);	/* first: no file is stored twice */
	close(stored("guard.5.0.d.", later));
	be_guard_check(&list, all);
	silence();
	fake_xs_set(DIR5 "/state", "2");
	be_guard_check(&list, all);
	dropped(later);
	assert_null(list);

	g = guard(0);
	close(stored("guard.5.0.w.", name));
	be_guard_hold(&list, &g, BE_UNTIL_GUEST_ENDS, 0);
	dropped(name);
	close(stored("guard.5.0.l.", later));
	be_guard_free(&list);	/* for the next supervisor */
	silence();
}

static void nobody_stores(void **state)
{
	struct be_guard *g;

	(void)state;
	unsetenv("NOTIFY_SOCKET");
	g = guard(0);
	assert_non_null(g);
	be_guard_drop(&g);
	setenv("NOTIFY_SOCKET", "relative", 1);
	g = guard(0);
	assert_non_null(g);
	be_guard_drop(&g);
	silence();
}

/* In a child: n files from 3 on, as the manager passes them, with names. */
static void restart(struct be_guard **list, int n, const char *names)
{
	char number[32];
	int i;

	for (i = 0; i < n; i++)
		dup2(STDERR_FILENO, 3 + i);
	snprintf(number, sizeof(number), "%d", (int)getpid());
	setenv("LISTEN_PID", number, 1);
	snprintf(number, sizeof(number), "%d", n);
	setenv("LISTEN_FDS", number, 1);
	setenv("LISTEN_FDNAMES", names, 1);
	be_guard_restore(list);
}

static bool is_open(int fd) { return fcntl(fd, F_GETFD) == FD_CLOEXEC; }

static int found_again(void)
{
	struct be_guard *list = NULL, *g;

	restart(&list, 4, "guard.5.0.w.10:guard.5.0.w.11:guard.5.1.d.12:"
		"guard.5.0.l.13");
	if (getenv("LISTEN_PID") || getenv("LISTEN_FDS") ||
	    getenv("LISTEN_FDNAMES"))
		return 1;
	g = be_guard_adopt(&list, -1, 5, 0);	/* the newest: 11 */
	if (!g)
		return 2;
	be_guard_drop(&g);
	if (!is_open(3) || is_open(4) || !is_open(5) || !is_open(6))
		return 3;
	/* Device 1 is gone, the worker of 10 too, but the guest lives. */
	be_guard_check(&list, all);
	if (!is_open(3) || is_open(5) || !is_open(6))
		return 4;
	fake_xs_rm("/local/domain/5");
	be_guard_check(&list, all);
	return is_open(3) || is_open(6) || list ? 5 : 0;
}

static int charged(void)
{
	struct be_guard *list = NULL;

	restart(&list, 3, "guard.5.0.l.10:guard.5.0.l.11.2047:guard.5.1.w.12");
	if (be_guard_full(list, 5))
		return 1;
	be_guard_settle(list, 5, 1, BE_UNTIL_GUEST_ENDS, 1);
	return be_guard_full(list, 5) ? 0 : 2;
}

/* Of workers that died while there was no supervisor. */
static int settled(void)
{
	struct be_guard *list = NULL;

	restart(&list, 3, "guard.5.0.w.10:guard.5.1.w.11:guard.5.0.l.12");
	if (be_guard_settle(list, 5, 2, BE_UNTIL_NEXT_WORKER, 0) ||
	    be_guard_settle(list, 6, 0, BE_UNTIL_NEXT_WORKER, 0))
		return 1;
	if (!be_guard_settle(list, 5, 0, BE_UNTIL_NEXT_WORKER, 0) ||
	    !be_guard_settle(list, 5, 1, BE_UNTIL_GUEST_ENDS, 0))
		return 2;
	if (be_guard_settle(list, 5, 0, BE_UNTIL_GUEST_ENDS, 0))	/* only once */
		return 3;
	be_guard_check(&list, all);		/* Closed: not yet */
	if (!is_open(3) || !is_open(4) || !is_open(5))
		return 4;
	fake_xs_set(DIR5 "/state", "2");	/* the next worker */
	be_guard_check(&list, all);
	if (is_open(3) || !is_open(4) || !is_open(5))
		return 5;
	be_guard_free(&list);
	return 0;
}

static int not_believed(void)
{
	static const char *const bad[] = {
		"stored", "guard.5.0", "guard.5.0.w.", "guard.x.0.w.1",
		"guard.5.0.w.1111111111111111111111111111111111111111111111111111111",
	};
	struct be_guard *list = NULL;
	unsigned int i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		restart(&list, 1, bad[i]);
		if (list || fcntl(3, F_GETFD) >= 0)
			return 1;
	}
	/* Fewer files than told, fewer names than files. */
	restart(&list, 1, "guard.5.0.w.1");
	close(3);
	be_guard_free(&list);
	restart(&list, 2, "guard.5.0.w.1");
	if (!list)
		return 2;
	be_guard_free(&list);
	/* Those are another process's. */
	setenv("LISTEN_PID", "1", 1);
	setenv("LISTEN_FDS", "1", 1);
	setenv("LISTEN_FDNAMES", "guard.5.0.w.1", 1);
	be_guard_restore(&list);
	return list ? 3 : 0;
}

static void in_a_child(int (*f)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(f());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void the_next_supervisor_finds_them(void **state)
{
	(void)state;
	in_a_child(found_again);
}

static void dead_workers_are_settled(void **state)
{
	(void)state;
	in_a_child(settled);
	in_a_child(charged);
}

static void what_was_not_stored_by_us(void **state)
{
	(void)state;
	in_a_child(not_believed);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(the_manager_has_a_copy_as_long_as_we),
		T(nobody_stores),
		T(the_next_supervisor_finds_them),
		T(dead_workers_are_settled),
		T(what_was_not_stored_by_us),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
