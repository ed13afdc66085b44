/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Lock files: who serves a device, who is the supervisor. The lock belongs to
 * the open file, so it is free the moment its process is dead.
 */
#ifndef BE_LOCK_H
#define BE_LOCK_H

#include <sys/types.h>
#include "main.h"

/* <run_dir>/<domid>-<devid>.<ext>; path: PATH_MAX bytes. */
void be_run_path(char *path, const struct be_options *opt, unsigned int domid,
		 unsigned int devid, const char *ext);

/**
 * be_lock_take() - lock path and write our pid into it
 *
 * Returns the fd, which must stay open; -EWOULDBLOCK: another process has it;
 * -errno.
 */
int be_lock_take(const char *path);

/* Pid of the living process that holds the lock; 0: nobody. */
pid_t be_lock_holder(const char *path);

/* Say in the file that we end, and leave so many doorbell pages of the HCA
 * behind. Best effort. */
void be_lock_leave(int fd, unsigned int uars);
/* What the process said that had the lock last; 0: nothing. */
unsigned int be_lock_left(const char *path);

/* Remove the file if nobody holds the lock. */
void be_lock_remove(const char *path);

#endif
