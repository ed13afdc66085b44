/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What the supervisor and the workers of xen-vhcad have in common: options
 * and exit codes.
 */
#ifndef BE_OPTIONS_H
#define BE_OPTIONS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define BE_RUN_MAX	200		/* longest directory of an option */

struct be_options {
	char run_dir[BE_RUN_MAX];	/* locks, statistics */
	char devices[BE_RUN_MAX];	/* directories of files; "": xenstore */
	bool worker;			/* started by the supervisor */
	uint32_t maptrack_frames;	/* of this domain, maptrack.h */
	const char *root;		/* of sysfs: "", but for tests */
	const char *script;		/* for addresses: supervise/net.c */
	unsigned int domid, devid;	/* of a worker */
	unsigned int left_uars;		/* of a worker's guest: see quota.h */
	unsigned int spinners;		/* of a worker's threads: see share.c */
	int helper_fd;			/* of a worker, or -1: see guard.h */
};

/* Exit codes of a worker. */
enum {
	BE_EXIT_OK,		/* connection ended in order */
	BE_EXIT_USAGE,
	BE_EXIT_CONFIG,		/* nodes, HCA or devices not usable */
	BE_EXIT_FAULT,		/* be_fault() */
	BE_EXIT_BUSY,		/* another process serves this device */
	BE_EXIT_SYSTEM,		/* no memory, no xenstore */
	BE_EXIT_PARKED,		/* as OK, but contexts have to stay open */
};

#endif
