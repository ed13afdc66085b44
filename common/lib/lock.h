/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Lock files in a directory that only root can write. The lock belongs to the
 * open file, so it is free as soon as its process is dead.
 */
#ifndef VL_LOCK_H
#define VL_LOCK_H

#include <sys/types.h>

/**
 * vl_lock_take() - lock path and write our pid into it
 *
 * Removes an object that is no regular file, with a message. Returns the fd, which must
 * stay open; -EWOULDBLOCK: another process has the lock; -errno, see vl_file_why().
 */
int vl_lock_take(const char *path);

/* Pid of the living process that holds the lock; 0: nobody. */
pid_t vl_lock_holder(const char *path);

/* Remove the file if nobody holds the lock. */
void vl_lock_remove(const char *path);

#endif
