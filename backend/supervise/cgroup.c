// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Cgroups of workers (cgroup.h), "vhcad-PID" each. All have the weight that a cgroup has
 * by default, so none is written. A cgroup with controllers for those below it can have
 * no process of its own, hence the one of the supervisor.
 *
 * A worker cannot write to any of this (worker/confine_path.c), so what is found here is
 * this process's or its predecessor's. The supervisor's thread calls this.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "cgroup.h"
#include "core/log.h"

#define HIERARCHY	"/sys/fs/cgroup"
#define OF_SUPERVISOR	"/supervisor"
#define OF_WORKER	"vhcad-"
/*
 * A worker's own tables, with as many objects as there can be, are a quarter of a GiB;
 * page tables of pinned memory are 1/512 of it, and its queues are no more than that.
 */
#define BOUND_MB	512u

static int put(const char *dir, const char *name, const char *text)
{
	char path[PATH_MAX];
	ssize_t n;
	int fd, rc;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= PATH_MAX)
		return -ENAMETOOLONG;
	/* There it makes none, but among a test's plain files. */
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	rc = n < 0 ? -errno : 0;
	close(fd);
	return rc;
}

/* Our own cgroup as the kernel names it, "/" for the root; false: there is no such. */
static bool own(const char *root, char name[PATH_MAX])
{
	char path[PATH_MAX], line[PATH_MAX];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "%.100s/proc/self/cgroup", root);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f))
		found = !strncmp(line, "0::/", 4);
	if (f)
		fclose(f);
	if (!found)
		return false;
	line[strcspn(line, "\n")] = '\0';
	strcpy(name, line + 3);
	return true;
}

/* The service manager says so of what is ours to divide. */
static bool delegated(const char *dir)
{
	char value;

	return getxattr(dir, "user.delegate", &value, 1) == 1 && value == '1';
}

/* A supervisor that was started by hand in the place of another one is in its cgroup. */
static void without_leaf(char *dir)
{
	size_t len = strlen(dir), leaf = strlen(OF_SUPERVISOR);

	if (len > leaf && !strcmp(dir + len - leaf, OF_SUPERVISOR))
		dir[len - leaf] = '\0';
}

/* All processes that are there, workers of an earlier version among them. */
static int move_all(const char *dir)
{
	char from[PATH_MAX], to[PATH_MAX], pid[16];
	FILE *f;
	int rc = 0;

	if (snprintf(to, sizeof(to), "%s" OF_SUPERVISOR, dir) >= PATH_MAX ||
	    snprintf(from, sizeof(from), "%s/cgroup.procs", dir) >= PATH_MAX)
		return -ENAMETOOLONG;
	if (mkdir(to, 0755) && errno != EEXIST)
		return -errno;
	f = fopen(from, "re");
	if (!f)
		return -errno;
	while (!rc && fgets(pid, sizeof(pid), f)) {
		rc = put(to, "cgroup.procs", pid);
		if (rc == -ESRCH)
			rc = 0;
	}
	fclose(f);
	return rc;
}

/* Of workers that ended while nobody watched; a cgroup with a process stays. */
static void remove_left(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (!strncmp(e->d_name, OF_WORKER, strlen(OF_WORKER)))
			unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
	if (d)
		closedir(d);
}

/* NULL, or what is wrong. */
static const char *find(struct be_cgroups *g, const char *root)
{
	static char why[160];
	char name[PATH_MAX], path[PATH_MAX];
	int rc;

	snprintf(path, sizeof(path), "%.100s" HIERARCHY "/cgroup.controllers", root);
	if (!own(root, name) || access(path, F_OK))
		return "no cgroup2 at " HIERARCHY;
	if (strlen(name) > PATH_MAX / 2)
		return "a long path";
	without_leaf(name);
	snprintf(g->dir, sizeof(g->dir), "%.100s" HIERARCHY "%s", root,
		 strcmp(name, "/") ? name : "");
	if (strcmp(name, "/")) {
		if (!delegated(g->dir))
			return "that of this process is not delegated to it";
		rc = move_all(g->dir);
		if (rc) {
			snprintf(why, sizeof(why), "cannot move processes: %s",
				 strerror(-rc));
			return why;
		}
	}
	rc = put(g->dir, "cgroup.subtree_control", "+cpu");
	if (!rc)
		rc = put(g->dir, "cgroup.subtree_control", "+memory");
	if (!rc)
		return NULL;
	snprintf(why, sizeof(why), "controllers cpu and memory: %s", strerror(-rc));
	return why;
}

void be_cgroups_open(struct be_cgroups *g, const char *root)
{
	const char *why = find(g, root);

	if (why) {
		g->dir[0] = '\0';
		be_log(NULL, BE_WARN, "workers have no cgroups (%s): a guest that keeps its worker busy can slow down those of others",
		       why);
		return;
	}
	remove_left(g->dir);
}

/* False: there is none. */
static bool of_worker(const struct be_cgroups *g, pid_t pid, char dir[PATH_MAX])
{
	if (!g->dir[0])
		return false;
	return snprintf(dir, PATH_MAX, "%s/" OF_WORKER "%d", g->dir, (int)pid) <
	       PATH_MAX;
}

static void bound(const char *dir, pid_t pid, uint32_t pinned_mb)
{
	char text[32];
	int rc;

	snprintf(text, sizeof(text), "%" PRIu64,
		 (BOUND_MB + 2 * (uint64_t)pinned_mb) << 20);
	rc = put(dir, "memory.max", text);
	if (rc)
		be_log(NULL, BE_WARN, "worker %d has no bound of memory: %s",
		       (int)pid, strerror(-rc));
}

void be_cgroup_join(const struct be_cgroups *g, pid_t pid, uint32_t pinned_mb)
{
	char dir[PATH_MAX], text[16];
	int rc;

	if (!of_worker(g, pid, dir))
		return;
	rc = mkdir(dir, 0755) && errno != EEXIST ? -errno : 0;
	if (!rc) {
		bound(dir, pid, pinned_mb);
		snprintf(text, sizeof(text), "%d", (int)pid);
		rc = put(dir, "cgroup.procs", text);
	}
	if (rc)
		be_log(NULL, BE_WARN, "worker %d has no cgroup: %s", (int)pid,
		       strerror(-rc));
}

void be_cgroup_remove(const struct be_cgroups *g, pid_t pid)
{
	char dir[PATH_MAX];

	if (of_worker(g, pid, dir))
		rmdir(dir);
}
