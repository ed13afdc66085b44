/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What a worker gives up before it serves its guest.
 */
#ifndef BE_CONFINE_H
#define BE_CONFINE_H

/**
 * be_limit() - set limits of memory and files, and give up capabilities
 *
 * Once, before there are threads. What fails is logged, or shows later as an error.
 */
void be_limit(void);
/**
 * be_confine_paths() - write to no file but devices' and below some folders
 * @run_dir: where the daemon's files are
 *
 * Once, before there are threads: the caller and those that it makes are confined, for
 * good. The others' memory in /proc is out of reach, too. Sets no_new_privs. 0 or
 * -errno: nothing was changed. -ENOSYS, -EOPNOTSUPP: this kernel has no Landlock.
 */
int be_confine_paths(const char *run_dir);
/**
 * be_confine() - refuse system calls that a worker has no more use for
 *
 * For all threads of this process, those that are made later included, and for
 * good: no new socket, program or process, nothing that reaches another process. Sets
 * no_new_privs. What is open stays so. 0 or -errno: nothing was changed.
 */
int be_confine(void);

#endif
