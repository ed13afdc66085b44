// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A worker that a guest took over is root with the right to open all that root may. So
 * it gives up, by Landlock (Linux's Documentation/userspace-api/landlock.rst), to write
 * to files and to make them, except where it has to: its devices, and the folders where
 * states are. That alone also keeps it from the memory of root's processes outside of
 * its unit, however few capabilities these have (/proc/PID/mem), and from what /proc
 * lets root write of any process.
 *
 * It reads what it likes: libraries and the HCA's provider read sysfs and /etc.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "confine.h"
#include "host/paths.h"

#define DEVICES	LANDLOCK_ACCESS_FS_WRITE_FILE
#define FILES	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG | \
		 LANDLOCK_ACCESS_FS_REMOVE_FILE)
#define NOWHERE	(LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_MAKE_CHAR | \
		 LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_SOCK | \
		 LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK | \
		 LANDLOCK_ACCESS_FS_MAKE_SYM)

/* What is not there is not opened either: a worker begins anew when an HCA comes. */
static int allow(int rules, const char *path, uint64_t access)
{
	struct landlock_path_beneath_attr beneath = { .allowed_access = access };
	int rc;

	beneath.parent_fd = open(path, O_PATH | O_CLOEXEC);
	if (beneath.parent_fd < 0)
		return errno == ENOENT ? 0 : -errno;
	rc = syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH,
		     &beneath, 0) ? -errno : 0;
	close(beneath.parent_fd);
	return rc;
}

static int allow_all(int rules, const char *run_dir)
{
	const struct {
		const char *path;
		uint64_t access;
	} places[] = {
		{ "/dev/infiniband", DEVICES },
		{ "/dev/xen", DEVICES },
		{ "/proc/xen/xenbus", DEVICES },
		{ "/dev/null", DEVICES },
		{ HOST_RUN_DEVICES, FILES },
		{ run_dir, FILES },
	};
	size_t i;
	int rc;

	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		rc = allow(rules, places[i].path, places[i].access);
		if (rc)
			return rc;
	}
	return 0;
}

int be_confine_paths(const char *run_dir)
{
	const struct landlock_ruleset_attr all = {
		.handled_access_fs = FILES | NOWHERE,
	};
	int rc, rules = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof(all), 0);

	if (rules < 0)
		return -errno;
	rc = allow_all(rules, run_dir);
	if (!rc && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		    syscall(SYS_landlock_restrict_self, rules, 0)))
		rc = -errno;
	close(rules);
	return rc;
}
