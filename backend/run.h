/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The run directory: lock files say who serves a device and who is the
 * supervisor (common/lib/lock.h); other files are what a worker left behind.
 */
#ifndef BE_RUN_H
#define BE_RUN_H

#include "lock.h"
#include "main.h"

/* <run_dir>/<domid>-<devid>.<ext>; path: PATH_MAX bytes. */
void be_run_path(char *path, const struct be_options *opt, unsigned int domid,
		 unsigned int devid, const char *ext);

/*
 * Say in our lock file that we end, and leave so many doorbell pages of the HCA
 * behind. Best effort.
 */
void be_run_leave(int lock_fd, unsigned int uars);
/* What the process said that had the lock last; 0: nothing. */
unsigned int be_run_left(const char *path);

#endif
