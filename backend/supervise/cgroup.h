/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A cgroup (version 2) for each worker: they share the processors among each other,
 * however many threads of each are busy, and each has a bound of memory.
 */
#ifndef BE_CGROUP_H
#define BE_CGROUP_H

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

struct be_cgroups {
	char dir[PATH_MAX];	/* where workers have theirs; "": nowhere */
};

/**
 * be_cgroups_open() - find the place, and have the controllers there
 * @root: "", but for tests
 *
 * It is below the service's own cgroup, if the service manager delegates that, or below
 * the root. What else runs there is moved to a cgroup "supervisor", this process too.
 * Without a place the log says why, once; all other functions then do nothing.
 */
void be_cgroups_open(struct be_cgroups *g, const char *root);

/* A worker has one from now on, and the memory of a device that may pin so much. */
void be_cgroup_join(const struct be_cgroups *g, pid_t pid, uint32_t pinned_mb);

/* It has ended. */
void be_cgroup_remove(const struct be_cgroups *g, pid_t pid);

#endif
