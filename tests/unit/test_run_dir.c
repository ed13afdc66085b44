// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Folders that each worker can write to: one that a guest took over may put anything
 * in the place of a file there. Nobody waits for it, nobody follows it to a file
 * elsewhere, and what has to be there is made anew.
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
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "core/be.h"
#include "host/tree.h"
#include "core/run.h"
#include "worker/stats.h"

#define LONGEST	30	/* seconds: then something waits */

enum odd { FIFO, LINK, DEAD_LINK, FOLDER, FULL_FOLDER, ODDS };

static struct be_options opt;
static char target[PATH_MAX];

static int setup(void **state)
{
	(void)state;
	opt = (struct be_options){ .run_dir = "/tmp/vhca-run-XXXXXX", .domid = 5 };
	if (!mkdtemp(opt.run_dir))
		return -1;
	snprintf(target, sizeof(target), "%s/target", opt.run_dir);
	return host_tree_write(opt.run_dir, "target", "7");
}

static int teardown(void **state)
{
	char cmd[300];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", opt.run_dir);
	return system(cmd);
}

static void make(enum odd odd, const char *path)
{
	char below[PATH_MAX];

	switch (odd) {
	case FIFO:
		assert_int_equal(mkfifo(path, 0600), 0);
		break;
	case LINK:
		assert_int_equal(symlink(target, path), 0);
		break;
	case DEAD_LINK:
		assert_int_equal(symlink("/nonexistent/file", path), 0);
		break;
	default:
		assert_int_equal(mkdir(path, 0700), 0);
		snprintf(below, sizeof(below), "%.4000s/below", path);
		if (odd == FULL_FOLDER)
			assert_int_equal(mkdir(below, 0700), 0);
	}
}

static bool is_file(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISREG(st.st_mode);
}

/* What a link leads to has what it had. */
static void target_is_left(void)
{
	char value[8] = "";

	assert_int_equal(host_tree_read(opt.run_dir, "target", value,
					sizeof(value)), 0);
	assert_string_equal(value, "7");
}

static void a_lock_is_made_anew(void **state)
{
	char path[PATH_MAX];
	enum odd odd;
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "%s/x.lock", opt.run_dir);
	for (odd = FIFO; odd < ODDS; odd++) {
		make(odd, path);
		assert_int_equal(vl_lock_holder(path), 0);
		vl_lock_remove(path);
		assert_int_equal(unlink(path), -1);
		make(odd, path);
		fd = vl_lock_take(path);
		assert_true(fd >= 0);
		assert_true(is_file(path));
		assert_int_equal(vl_lock_holder(path), getpid());
		assert_int_equal(vl_lock_take(path), -EWOULDBLOCK);
		close(fd);
		vl_lock_remove(path);
		assert_int_equal(access(path, F_OK), -1);
	}
	target_is_left();
}

static void nothing_is_left_there(void **state)
{
	char path[PATH_MAX];
	enum odd odd;

	(void)state;
	for (odd = FIFO; odd < ODDS; odd++) {
		snprintf(path, sizeof(path), "%s/%d.lock", opt.run_dir, odd);
		make(odd, path);
		assert_int_equal(be_run_left(path), 0);
	}
}

static void statistics_are_files_of_ours(void **state)
{
	static struct be_stats_file f;
	static struct be_dev dev;
	enum odd odd;

	(void)state;
	for (odd = FIFO; odd < ODDS; odd++) {
		opt.devid = odd;
		be_stats_init(&f, &opt);
		make(odd, f.tmp);
		be_stats_write(&f, &dev, "Connected", true);
		assert_int_equal(is_file(f.path), odd < FOLDER);
		be_stats_remove(&f);
		target_is_left();
	}
}

static void a_node_is_a_file(void **state)
{
	char path[PATH_MAX], name[16], value[8];
	enum odd odd;

	(void)state;
	for (odd = FIFO; odd < ODDS; odd++) {
		snprintf(name, sizeof(name), "n%d", odd);
		snprintf(path, sizeof(path), "%s/%s", opt.run_dir, name);
		make(odd, path);
		assert_true(host_tree_read(opt.run_dir, name, value,
					   sizeof(value)) < 0);
		snprintf(path, sizeof(path), "%s/.%s.%d", opt.run_dir, name,
			 (int)getpid());
		make(odd, path);
		assert_int_equal(!host_tree_write(opt.run_dir, name, "4"),
				 odd < FOLDER);
		target_is_left();
	}
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	static const struct CMUnitTest tests[] = {
		T(a_lock_is_made_anew),
		T(nothing_is_left_there),
		T(statistics_are_files_of_ours),
		T(a_node_is_a_file),
	};

	alarm(LONGEST);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
