/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Files of a folder to which others can write, perhaps a worker of xen-vhcad that a
 * guest took over. It may have put a FIFO, a link or a directory in the place of
 * each.
 */
#ifndef VL_FILE_H
#define VL_FILE_H

#include <sys/types.h>

/**
 * vl_file_open() - open a regular file, without waiting and without following a link
 * @flags: of open(); with O_CREAT nobody but the owner may read a new one
 *
 * Return: the fd; -EMEDIUMTYPE: no regular file has that name; -errno.
 */
int vl_file_open(const char *path, int flags);

/* Make a file and open it for writing, in the place of one that there may be. */
int vl_file_new(const char *path, mode_t mode);

/*
 * Remove what has that name, or put a directory that is not empty aside. 0, also if
 * there was nothing; -errno.
 */
int vl_file_clear(const char *path);

/* What errno of these functions means, and what mends it. */
const char *vl_file_why(int err);

#endif
