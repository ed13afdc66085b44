// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Processes of vhcactl that write to xenstore at once take turns, and write all the
 * same where there can be no lock.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "tests/fake/fake_xs.h"
#include "test_ctl_host.h"

#define PROCESSES	16

#define MEET_TRIES	2000	/* of 5 ms */

struct seen {
	bool meet;	/* each stays until two were inside, so that they must be */
	atomic_int inside, most, done;
};

static int look(struct xs_handle *xs, xs_transaction_t t, void *arg)
{
	struct seen *s = arg;
	int n = atomic_fetch_add(&s->inside, 1) + 1, i = 0;

	(void)xs;
	(void)t;
	if (n > atomic_load(&s->most))
		atomic_store(&s->most, n);
	do {
		usleep(5000);
	} while (s->meet && atomic_load(&s->most) < 2 && ++i < MEET_TRIES);
	atomic_fetch_sub(&s->inside, 1);
	atomic_fetch_add(&s->done, 1);
	return 0;
}

/* All at once, with that lock file; how many were inside at a time at most. */
static int most_at_once(const char *path, bool meet)
{
	struct ctl c = { .xs = xs_open(0), .lock = path };
	struct seen *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int i, most, status;

	assert_true(s != MAP_FAILED);
	s->meet = meet;
	for (i = 0; i < PROCESSES; i++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (!pid)
			_exit(ctl_transact(&c, look, s) != 0);
	}
	for (i = 0; i < PROCESSES; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	assert_int_equal(atomic_load(&s->done), PROCESSES);
	most = atomic_load(&s->most);
	munmap(s, sizeof(*s));
	xs_close(c.xs);
	return most;
}

static void one_at_a_time(void **state)
{
	char path[128];
	struct stat st;

	(void)state;
	snprintf(path, sizeof(path), "%s/lock", host_root);
	assert_int_equal(most_at_once(path, false), 1);
	/* Nobody else may have a guest's devices wait. */
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 077, 0);
}

static void without_a_lock_all_the_same(void **state)
{
	char path[128];

	(void)state;
	assert_true(most_at_once(NULL, true) > 1);
	snprintf(path, sizeof(path), "%s/none/lock", host_root);
	assert_true(most_at_once(path, true) > 1);
	/* No regular file. */
	snprintf(path, sizeof(path), "%s/link", host_root);
	host_link("/link", "/dev/null");
	assert_true(most_at_once(path, true) > 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_at_a_time, host_new,
						host_end),
		cmocka_unit_test_setup_teardown(without_a_lock_all_the_same,
						host_new, host_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
