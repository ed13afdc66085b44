/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Files of a folder to which hostile processes can write, such as a worker of xen-vhcad
 * that a guest took over. It may replace each file by a FIFO, a link or a directory.
 */
#ifndef VL_FILE_H
#define VL_FILE_H

#include <sys/types.h>

/**
 * vl_file_open() - open a regular file, without waiting and without following a link
 * @flags: of open(); with O_CREAT a new file is readable by its owner only
 *
 * Return: the fd; -EMEDIUMTYPE: no regular file has that name; -errno.
 */
int vl_file_open(const char *path, int flags);

/* Create a file and open it for writing; replaces an existing one. */
int vl_file_new(const char *path, mode_t mode);

/*
 * Remove the object of that name; a directory that is not empty is renamed. 0, also if
 * there was none; -errno.
 */
int vl_file_clear(const char *path);

/* Text for an errno of these functions: its meaning and the remedy. */
const char *vl_file_why(int err);

/*
 * First line of a file that only root can write, as those of sysfs; fmt: its path. 0 or
 * -errno; buf is a string in either case.
 */
int vl_file_line(char *buf, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
