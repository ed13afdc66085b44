// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A confined process writes to no file but where a worker has to, and reaches no
 * memory of others by /proc. Skipped where the kernel has no Landlock.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "worker/confine.h"

#define SKIPPED	77	/* automake's */

static char ours[] = "/tmp/vhca-confine-XXXXXX", other[] = "/tmp/vhca-other-XXXXXX";
static pid_t child;		/* of the process, made before */

static const char *in(const char *dir, const char *name)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static bool opens(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);

	return fd >= 0 && !close(fd);
}

static bool writes_a_new_file_elsewhere(void)
{
	return opens(in(other, "new"), O_WRONLY | O_CREAT) &&
	       !unlink(in(other, "new"));
}

static bool removes_elsewhere(void)
{
	return !rmdir(in(other, "folder")) && !mkdir(in(other, "folder"), 0700);
}

static bool makes_a_fifo(void)
{
	return !mkfifo(in(ours, "fifo"), 0600) && !unlink(in(ours, "fifo"));
}

static bool makes_a_link(void)
{
	return !symlink("/etc/passwd", in(ours, "link")) &&
	       !unlink(in(ours, "link"));
}

static bool makes_a_folder(void)
{
	return !mkdir(in(ours, "folder"), 0700) && !rmdir(in(ours, "folder"));
}

static bool writes_to_proc(void)
{
	return opens("/proc/self/oom_score_adj", O_WRONLY);
}

static bool writes_to_a_device(void)
{
	return opens("/dev/zero", O_RDWR);
}

static bool reads_memory(void)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)child);
	return opens(path, O_RDONLY);
}

/* Each works before, and not after. */
static bool (*const harm[])(void) = {
	writes_a_new_file_elsewhere, removes_elsewhere, makes_a_fifo, makes_a_link,
	makes_a_folder, writes_to_proc, writes_to_a_device, reads_memory,
};

/* As a worker's files: statistics, and the devices. */
static bool writes_where_it_has_to(void)
{
	char new[64];

	snprintf(new, sizeof(new), "%s/new", ours);
	return opens(new, O_WRONLY | O_CREAT | O_TRUNC) &&
	       !rename(new, in(ours, "old")) && !unlink(in(ours, "old")) &&
	       opens("/dev/null", O_WRONLY) && opens("/etc/passwd", O_RDONLY);
}

/* In a process of its own; its exit code says what was not as it should be. */
static int confined(void)
{
	size_t i, n = sizeof(harm) / sizeof(harm[0]);

	for (i = 0; i < n; i++)
		if (!harm[i]())
			return 10 + (int)i;
	if (be_confine_paths(ours))
		return 1;
	if (!writes_where_it_has_to())
		return 2;
	for (i = 0; i < n; i++) {
		errno = 0;
		if (harm[i]() || errno != EACCES)
			return 20 + (int)i;
	}
	return 0;
}

static int beside_a_child(void)
{
	int rc;

	child = fork();
	if (!child) {
		pause();
		_exit(0);
	}
	rc = confined();
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return rc;
}

static void takes_files(void **state)
{
	int status = -1;
	pid_t pid;

	(void)state;
	assert_non_null(mkdtemp(ours));
	assert_non_null(mkdtemp(other));
	assert_int_equal(mkdir(in(other, "folder"), 0700), 0);
	pid = fork();
	if (!pid)
		_exit(beside_a_child());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(rmdir(in(other, "folder")), 0);
	assert_int_equal(rmdir(other), 0);
	assert_int_equal(rmdir(ours), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_files),
	};

	if (syscall(SYS_landlock_create_ruleset, NULL, 0, 1) < 0) {
		puts("skip this kernel has no Landlock");
		return SKIPPED;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
