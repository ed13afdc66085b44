// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Files of a folder to which hostile processes can write (file.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "file.h"

/* O_NONBLOCK: for FIFOs, and for a file on which another process has a lease. */
int vl_file_open(const char *path, int flags)
{
	int fd = open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	struct stat st;

	if (fd < 0)
		return errno == ELOOP || errno == ENXIO || errno == EISDIR ?
			-EMEDIUMTYPE : -errno;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return -EMEDIUMTYPE;
}

int vl_file_new(const char *path, mode_t mode)
{
	int fd;

	if (unlink(path) && errno != ENOENT)
		return errno == EISDIR ? -EMEDIUMTYPE : -errno;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	return fd < 0 ? -errno : fd;
}

int vl_file_clear(const char *path)
{
	char aside[PATH_MAX];
	int n;

	if (!unlink(path) || errno == ENOENT)
		return 0;
	if (errno != EISDIR)
		return -errno;
	if (!rmdir(path))
		return 0;
	n = snprintf(aside, sizeof(aside), "%s.XXXXXX", path);
	if (n < 0 || n >= PATH_MAX)
		return -ENAMETOOLONG;
	return mkdtemp(aside) && !rename(path, aside) ? 0 : -errno;
}

const char *vl_file_why(int err)
{
	return err == EMEDIUMTYPE ? "no regular file: remove it" : strerror(err);
}

int vl_file_line(char *buf, size_t size, const char *fmt, ...)
{
	char path[PATH_MAX];
	ssize_t n;
	va_list ap;
	int fd, rc;

	buf[0] = '\0';
	va_start(ap, fmt);
	n = vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	if (n < 0 || n >= PATH_MAX)
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, buf, size - 1);
	rc = n < 0 ? -errno : 0;
	close(fd);
	buf[n < 0 ? 0 : n] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return rc;
}
