/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Files that outlive the supervisor: the service manager holds copies of them
 * and hands them to the next one (systemd.service(5), FileDescriptorStoreMax=;
 * sd_notify(3), FDSTORE=1; sd_listen_fds(3)). Without such a manager nothing
 * is stored and nothing is found.
 */
#ifndef BE_FDSTORE_H
#define BE_FDSTORE_H

#define BE_FDSTORE_NAME	64	/* octets of a name with its NUL */

/* A copy of fd under a name of letters, digits and '.'. 0 or -errno. */
int be_fdstore_put(const char *name, int fd);
/* Give up all copies of that name. */
void be_fdstore_drop(const char *name);
/**
 * be_fdstore_take() - the files that were stored, once, at the start
 * @each: called for each; the fd, close-on-exec now, is the callee's
 *
 * Takes the variables out of the environment, so that workers do not see them.
 */
void be_fdstore_take(void (*each)(const char *name, int fd, void *arg),
		     void *arg);

#endif
