// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What a guest that keeps its worker busy takes from nobody else: each worker has a
 * cgroup and so many threads that may poll, and those that end soon and in order do not
 * begin anew all day.
 */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <cmocka.h>
#include "clock.h"
#include "supervise/sup.h"
#include "test_sup_host.h"

/* The cgroups of this domain are plain files; @name: the one of this process. */
static void cgroups(const char *name)
{
	char cmd[900];

	snprintf(cmd, sizeof(cmd), "cd %s && mkdir -p proc/self sys/fs/cgroup%s && echo 0::%s >proc/self/cgroup && touch sys/fs/cgroup/cgroup.controllers && echo 77 >sys/fs/cgroup%s/cgroup.procs",
		 sup_opt.run_dir, name, name, name);
	assert_int_equal(system(cmd), 0);
}

/* What was written to one file, found by a pattern. */
static void cgroup_has(const char *pattern, const char *want)
{
	char path[400], text[64] = "";
	glob_t g;
	FILE *f;

	snprintf(path, sizeof(path), "%s/sys/fs/cgroup%s", sup_opt.run_dir, pattern);
	assert_int_equal(glob(path, 0, NULL, &g), 0);
	assert_int_equal(g.gl_pathc, 1);
	f = fopen(g.gl_pathv[0], "r");
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	fclose(f);
	if (want)
		assert_string_equal(text, want);
	else	/* the process that it is named after */
		assert_non_null(strstr(g.gl_pathv[0], text));
	globfree(&g);
}

static void a_worker_has_a_cgroup(void **state)
{
	(void)state;
	cgroups("/");
	sup_attach(5, "100");
	sup_supervise(1, 0);
	cgroup_has("/cgroup.subtree_control", "+memory");
	cgroup_has("/vhcad-*/cgroup.procs", NULL);
	cgroup_has("/vhcad-*/memory.max", "746586112");
	assert_false(sup_there("sys/fs/cgroup/supervisor"));
}

/* Of a service of systemd, and only where that says so. */
static void it_is_below_what_is_delegated(void **state)
{
	char path[300];

	(void)state;
	cgroups("/system.slice/x.service");
	sup_attach(5, "100");
	sup_supervise(1, 0);
	assert_true(sup_served(5));
	assert_false(sup_there("sys/fs/cgroup/system.slice/x.service/supervisor"));
	snprintf(path, sizeof(path), "%s/sys/fs/cgroup/system.slice/x.service",
		 sup_opt.run_dir);
	if (setxattr(path, "user.delegate", "1", 1, 0))
		skip();
	sup_supervise(1, 0);
	cgroup_has("/system.slice/x.service/supervisor/cgroup.procs", "77\n");
	cgroup_has("/system.slice/x.service/vhcad-*/cgroup.procs", NULL);
	assert_false(sup_there("sys/fs/cgroup/cgroup.subtree_control"));
}

/* How long the next worker waits, in milliseconds. */
static uint64_t waits(struct sup *s, struct sup_dev *d)
{
	uint64_t now = vl_now_ns();

	d->worker.start_ns = now;
	be_sup_backoff(s, d, true);
	return (d->next_ns - now) / VL_MSEC_NS;
}

/* A guest cannot have its workers end in order all day. */
static void short_lives_back_off(void **state)
{
	struct sup s = {};
	struct sup_dev *d = be_sup_get(&s, 5, 0);
	unsigned int i;

	(void)state;
	assert_non_null(d);
	for (i = 0; i < 32; i++)
		assert_in_range(waits(&s, d), 200, 399);
	for (i = 0; i < 8; i++)
		waits(&s, d);
	assert_true(waits(&s, d) >= 5000);
	free(d);
}

/* Workers come and go in any order: who polls leaves a processor to others. */
static void all_workers_leave_a_processor(void **state)
{
	unsigned int has[8] = {}, sum, i, j, turn, seed = 1;
	long cpus;

	(void)state;
	for (cpus = 1; cpus <= 12; cpus++) {
		sum = 0;
		memset(has, 0, sizeof(has));
		assert_int_equal(be_share_spinners(cpus, 0), cpus > 2 ? 2 : cpus - 1);
		for (turn = 0; turn < 1000; turn++) {
			i = (unsigned int)rand_r(&seed) % 8;
			sum -= has[i];
			has[i] = rand_r(&seed) % 2 ? be_share_spinners(cpus, sum) : 0;
			for (sum = 0, j = 0; j < 8; j++)
				sum += has[j];
			assert_true(sum < (unsigned int)cpus);
		}
	}
	assert_int_equal(be_share_spinners(2, 100), 0);
}

static long processors;			/* of this domain; 0: as it is */

long __real_sysconf(int name);
long __wrap_sysconf(int name);
long __wrap_sysconf(int name)
{
	return processors && name == _SC_NPROCESSORS_ONLN ? processors : __real_sysconf(name);
}

static void a_worker_that_ended_gives_its_share_back(void **state)
{
	static const unsigned int share[] = { 2, 1, 0 };
	struct sup_dev *d[3];
	struct sup s = {};
	unsigned int i;

	(void)state;
	processors = 4;
	for (i = 0; i < 3; i++) {
		d[i] = be_sup_get(&s, 5 + i, 0);
		assert_non_null(d[i]);
		d[i]->spinners = be_sup_spinners(&s);
		assert_int_equal(d[i]->spinners, share[i]);
		d[i]->worker.pid = 1;
	}
	d[1]->worker.pid = 0;
	assert_int_equal(be_sup_spinners(&s), 1);
	d[0]->worker.pid = 0;
	assert_int_equal(be_sup_spinners(&s), 2);
	for (i = 0; i < 3; i++)
		free(d[i]);
	processors = 0;
}

/* An earlier supervisor started it, and told it nobody knows what. */
static void a_worker_of_another_has_a_share(void **state)
{
	char path[300];
	pid_t pid;

	(void)state;
	snprintf(path, sizeof(path), "%s/5-0.lock", sup_opt.run_dir);
	sup_attach(5, NULL);
	sup_attach(6, NULL);
	pid = fork();
	if (!pid)
		_exit(vl_lock_take(path) < 0 || pause());
	while (vl_lock_holder(path) != pid)
		usleep(1000);
	processors = 4;
	sup_supervise(1, 0);
	processors = 0;
	assert_false(sup_served(5));
	assert_int_equal(sup_told("6-0.ran").spinners, 1);
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
#define T(f) cmocka_unit_test_setup_teardown(f, sup_setup, sup_teardown)
	static const struct CMUnitTest tests[] = {
		T(a_worker_has_a_cgroup),
		T(it_is_below_what_is_delegated),
		T(short_lives_back_off),
		T(all_workers_leave_a_processor),
		T(a_worker_that_ended_gives_its_share_back),
		T(a_worker_of_another_has_a_share),
	};
#undef T

	if (argc > 1)
		return sup_worker(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
