/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The run directory: lock files say who serves a device and who is the
 * supervisor (common/lib/lock.h); other files are what a worker left behind.
 */
#ifndef BE_RUN_H
#define BE_RUN_H

#include "bucket.h"
#include "lock.h"
#include "options.h"

/* <run_dir>/<domid>-<devid>.<ext>; path: PATH_MAX bytes. */
void be_run_path(char *path, const struct be_options *opt, unsigned int domid,
		 unsigned int devid, const char *ext);

/*
 * Takes the lock of a device as vl_lock_take() does. Gives the buckets of refused
 * commands and of lines in the log what the device's last worker had left in them: a
 * guest that connects anew has no more of them than one that stays.
 */
int be_run_take(const char *path, struct vl_bucket *fail, struct vl_bucket *log);
/*
 * Says in our lock file that we end, with so many doorbell pages of the HCA left
 * behind and so much left in the buckets. Best effort.
 */
void be_run_leave(int lock_fd, unsigned int uars, const struct vl_bucket *fail,
		  const struct vl_bucket *log);
/*
 * Doorbell pages that the process left that had the lock last, as it says: a worker that
 * a guest took over may have written any number. 0: it said nothing.
 */
unsigned int be_run_left(const char *path);

#endif
