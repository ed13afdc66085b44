// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A worker that is started before its device is known: it serves what it is told and
 * has the files that another one has; it is not used once it has ended; and it lives no
 * longer than its supervisor. Its program is this one, which leaves a file.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "supervise/ahead.h"

#define LIMIT_MS	60000

static struct be_options opt;
static struct be_ahead ahead;

/* ---- the worker ---- */
static unsigned int files(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned int n = 0;

	while (d && readdir(d))
		n++;
	closedir(d);
	return n - 3;		/* two dots and d */
}

static int worker(int argc, char **argv)
{
	struct be_options told = {};
	struct stat st = {};
	char path[300], new[310];
	FILE *f;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (be_ahead_wait(atoi(argv[argc - 1]), &told))
		return 3;
	snprintf(path, sizeof(path), "%s/told", argv[2]);
	snprintf(new, sizeof(new), "%s.new", path);
	if (told.helper_fd >= 0)
		fstat(told.helper_fd, &st);
	f = fopen(new, "w");
	if (!f)
		return 4;
	fprintf(f, "%u %u %u %d %lu %u", told.domid, told.devid, told.left_uars,
		told.helper_fd, (unsigned long)st.st_ino, files() - 1);
	fclose(f);
	rename(new, path);
	pause();
	return 0;
}

/* ---- the supervisor ---- */
static int setup(void **state)
{
	(void)state;
	opt = (struct be_options){ .run_dir = "/tmp/vhca-ahead-XXXXXX" };
	memset(&ahead, 0, sizeof(ahead));
	return mkdtemp(opt.run_dir) ? 0 : -1;
}

static int teardown(void **state)
{
	char cmd[300];

	(void)state;
	be_ahead_stop(&ahead);
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", opt.run_dir);
	return system(cmd);
}

static void path_of_told(char path[300])
{
	snprintf(path, 300, "%s/told", opt.run_dir);
}

/* What the worker was told, as it writes it. */
static void told_is(const char *want)
{
	char path[300], text[80] = "";
	unsigned int ms = 0;
	FILE *f;

	path_of_told(path);
	while (!(f = fopen(path, "r")) && ms++ < LIMIT_MS)
		usleep(1000);
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	fclose(f);
	unlink(path);
	assert_string_equal(text, want);
}

static void end(struct be_process *p)
{
	be_process_signal(p, SIGKILL);
	assert_int_equal(waitpid(p->pid, NULL, 0), p->pid);
	be_process_forget(p);
}

static void it_serves_what_it_is_told(void **state)
{
	struct be_process p;
	struct be_guard *guard;
	struct stat st;
	char want[80];
	int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_true(fd >= 0 && !fstat(fd, &st));
	guard = be_guard_new(fd, 5, 1);
	assert_int_equal(be_ahead_start(&ahead, &opt), 0);
	assert_int_equal(be_ahead_start(&ahead, &opt), 0);	/* is there */
	assert_int_equal(be_ahead_use(&ahead, &p, 5, 1, 7, guard), 0);
	snprintf(want, sizeof(want), "5 1 7 %d %lu 4", BE_GUARD_FD,
		 (unsigned long)st.st_ino);
	told_is(want);
	assert_true(p.child && p.start_ns);
	end(&p);
	be_guard_drop(&guard);
	/* The next one. */
	assert_int_equal(be_ahead_use(&ahead, &p, 6, 0, 0, NULL), -ESRCH);
	assert_int_equal(be_ahead_start(&ahead, &opt), 0);
	assert_int_equal(be_ahead_use(&ahead, &p, 6, 0, 0, NULL), 0);
	told_is("6 0 0 -1 0 3");
	end(&p);
}

/* The same as one that knows its device from the beginning. */
static void who_has_ended_serves_nothing(void **state)
{
	struct be_process p = BE_PROCESS_NONE;
	siginfo_t si;

	(void)state;
	assert_int_equal(be_ahead_start(&ahead, &opt), 0);
	assert_int_equal(kill(ahead.p.pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)ahead.p.pid, &si, WEXITED | WNOWAIT),
			 0);
	assert_int_equal(be_ahead_use(&ahead, &p, 5, 0, 0, NULL), -EPIPE);
	assert_int_equal(p.pid, 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	assert_int_equal(be_ahead_start(&ahead, &opt), 0);
	be_ahead_stop(&ahead);
	be_ahead_stop(&ahead);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* Of a process that is perhaps nobody's child any more: gone, or a zombie. */
static bool ended(pid_t pid)
{
	char path[40], state = 'Z';
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	if (!f)
		return true;
	if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 'Z';
	fclose(f);
	return state == 'Z' || state == 'X';
}

static void it_ends_with_its_supervisor(void **state)
{
	unsigned int ms = 0;
	pid_t pid, its = 0;
	int fd[2];

	(void)state;
	assert_int_equal(pipe(fd), 0);
	pid = fork();
	if (!pid) {
		be_ahead_start(&ahead, &opt);
		if (write(fd[1], &ahead.p.pid, sizeof(its)) != sizeof(its))
			_exit(1);
		pause();
	}
	assert_int_equal(read(fd[0], &its, sizeof(its)), sizeof(its));
	assert_true(its > 0);
	assert_false(ended(its));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	while (!ended(its) && ms++ < LIMIT_MS)
		usleep(1000);
	assert_true(ended(its));
	close(fd[0]);
	close(fd[1]);
}

int main(int argc, char **argv)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	static const struct CMUnitTest tests[] = {
		T(it_serves_what_it_is_told),
		T(who_has_ended_serves_nothing),
		T(it_ends_with_its_supervisor),
	};
#undef T

	if (argc > 1)
		return worker(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
