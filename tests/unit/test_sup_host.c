// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What tests of the supervisor share (test_sup_host.h).
 */
#include <dirent.h>
#include <glob.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "tests/fake/fake_xs.h"
#include "carrier/open_xenstore.h"
#include "host/maptrack.h"
#include "supervise/supervisor.h"
#include "test_sup_host.h"

#define SUP_STILL	15	/* looks, 10 ms each: longer than the supervisor naps */

struct be_options sup_opt;

/* Files that this process has open. */
static unsigned int files(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned int n = 0;

	while (d && readdir(d))
		n++;
	closedir(d);
	return n - 3;		/* two dots and d */
}

/* What the supervisor executes; its arguments are those of main(), without a file. */
int sup_worker(int argc, char **argv)
{
	char **device = &argv[argc - 4], path[300];
	unsigned int has = files();
	FILE *f;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(path, sizeof(path), "%s/%s-%s.ran", argv[2], device[0], device[1]);
	f = fopen(path, "w");
	if (f) {
		fprintf(f, "%s %s %u %d", device[2], device[3], has, getpid());
		fclose(f);
	}
	if (!strcmp(argv[5], "--devices")) {
		snprintf(path, sizeof(path), "%s/told", argv[2]);
		symlink(argv[6], path);
	}
	/* To the script's: which was first? */
	snprintf(path, sizeof(path), "%s/log", argv[2]);
	f = fopen(path, "a");
	if (f) {
		fprintf(f, "worker %s\n", device[0]);
		fclose(f);
	}
	pause();
	return 0;
}

struct sup_told sup_told(const char *ran)
{
	static const struct sup_told none = { UINT_MAX, UINT_MAX, UINT_MAX, 0 };
	struct sup_told t = none;
	char path[300];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", sup_opt.run_dir, ran);
	f = fopen(path, "r");
	if (f && fscanf(f, "%u %u %u %d", &t.left, &t.spinners, &t.files, &t.pid) != 4)
		t = none;
	if (f)
		fclose(f);
	return t;
}

bool sup_served(unsigned int domid)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/%u-0.ran", sup_opt.run_dir, domid);
	return !unlink(path);
}

void sup_set(unsigned int domid, const char *node, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), BACK "/%u/0/%s", domid, node);
	fake_xs_set(path, value);
}

const char *sup_get(unsigned int domid, const char *node)
{
	char path[128];

	snprintf(path, sizeof(path), BACK "/%u/0/%s", domid, node);
	return fake_xs_get(path);
}

/* mb NULL: the default. */
void sup_attach(unsigned int domid, const char *mb)
{
	char path[64];

	snprintf(path, sizeof(path), "/local/domain/%u/name", domid);
	fake_xs_set(path, "guest");
	sup_set(domid, "online", "1");
	sup_set(domid, "state", "1");
	if (mb)
		sup_set(domid, "max-pinned-mb", mb);
}

/* Lines of the log: scripts and workers that were started. */
static unsigned int sup_lines(void)
{
	unsigned int n = 0;
	char path[300];
	FILE *f;
	int c;

	snprintf(path, sizeof(path), "%s/log", sup_opt.run_dir);
	f = fopen(path, "r");
	while (f && (c = fgetc(f)) != EOF)
		n += c == '\n';
	if (f)
		fclose(f);
	return n;
}

unsigned int sup_workers(void)
{
	char pattern[300];
	unsigned int n;
	glob_t g;

	snprintf(pattern, sizeof(pattern), "%s/*.ran", sup_opt.run_dir);
	n = glob(pattern, 0, NULL, &g) ? 0 : (unsigned int)g.gl_pathc;
	globfree(&g);
	return n;
}

/* Does a process of this group run, or wait for a processor? */
static bool busy(pid_t group)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;
	bool found = false;
	char path[300], what;
	int of;
	FILE *f;

	while (proc && !found && (e = readdir(proc))) {
		snprintf(path, sizeof(path), "/proc/%s/stat", e->d_name);
		f = e->d_name[0] > '0' && e->d_name[0] <= '9' ? fopen(path, "r") : NULL;
		if (!f)
			continue;
		/* The names of these programs have no ')'. */
		found = fscanf(f, "%*d (%*[^)]) %c %*d %d", &what, &of) == 2 &&
			of == group && !strchr("SZX", what);
		fclose(f);
	}
	if (proc)
		closedir(proc);
	return found;
}

void sup_until(unsigned int workers, unsigned int lines)
{
	pid_t group = getpgid(getppid());
	unsigned int i, still = 0;

	setpgid(0, 0);	/* the watcher is none of those that it watches */
	for (i = 0; i < 12000 && (sup_workers() < workers || sup_lines() < lines); i++)
		usleep(10000);
	if (i == 12000) {
		fprintf(stderr, "%u workers of %u, %u lines of %u in two minutes\n",
			sup_workers(), workers, sup_lines(), lines);
		kill(getppid(), SIGABRT);
		_exit(1);
	}
	for (i = 0; i < 6000 && still < SUP_STILL; i++) {
		usleep(10000);
		still = busy(group) ? 0 : still + 1;
	}
}

void sup_supervise(unsigned int workers, unsigned int lines)
{
	pid_t pid = fork();

	if (!pid) {
		sup_until(workers, lines);
		kill(getppid(), SIGTERM);
		_exit(0);
	}
	assert_int_equal(be_supervisor_main(&sup_opt, be_devices_xenstore), BE_EXIT_OK);
	waitpid(pid, NULL, 0);
}

bool sup_there(const char *name)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/%s", sup_opt.run_dir, name);
	return !access(path, F_OK);
}

int sup_setup(void **state)
{
	(void)state;
	/* A group without the tests that run beside this one, for sup_until(). */
	if (getpgrp() != getpid())
		setpgid(0, 0);
	fake_xs_reset();
	fake_xs_set("domid", "1");
	sup_opt = (struct be_options){
		.run_dir = "/tmp/vhca-unit-XXXXXX", .helper_fd = -1,
		.maptrack_frames = HOST_MAPTRACK_FRAMES,
	};
	sup_opt.root = sup_opt.run_dir;
	return mkdtemp(sup_opt.run_dir) ? 0 : -1;
}

int sup_teardown(void **state)
{
	char cmd[300];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", sup_opt.run_dir);
	return system(cmd);
}
