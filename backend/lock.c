// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Lock files in the run directory (lock.h), which only root can write. A lock
 * file may be unlinked by the supervisor while a new worker opens it, so a
 * lock counts only if the path still names the locked file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "be.h"
#include "lock.h"

#define BE_LOCK_TRIES	5

void be_run_path(char *path, const struct be_options *opt, unsigned int domid,
		 unsigned int devid, const char *ext)
{
	snprintf(path, PATH_MAX, "%s/%u-%u.%s", opt->run_dir, domid, devid,
		 ext);
}

static bool be_lock_current(int fd, const char *path)
{
	struct stat a, b;

	return !fstat(fd, &a) && !stat(path, &b) && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/* Open and lock; -ESTALE if the file was replaced in between. */
static int be_lock_open(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	int rc;

	if (fd < 0)
		return -errno;
	rc = flock(fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
	if (!rc && !be_lock_current(fd, path))
		rc = -ESTALE;
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

int be_lock_take(const char *path)
{
	int i, n, fd = -ESTALE;
	char pid[16];

	for (i = 0; i < BE_LOCK_TRIES && fd == -ESTALE; i++)
		fd = be_lock_open(path);
	if (fd < 0)
		return fd;
	n = snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
	if (ftruncate(fd, 0) < 0 || pwrite(fd, pid, (size_t)n, 0) != n) {
		n = errno ? -errno : -EIO;
		close(fd);
		return n;
	}
	return fd;
}

static pid_t be_lock_read(int fd)
{
	char buf[16] = "";
	long pid;

	if (pread(fd, buf, sizeof(buf) - 1, 0) <= 0)
		return 0;
	pid = strtol(buf, NULL, 10);
	return pid > 0 && pid <= INT_MAX ? (pid_t)pid : 0;
}

pid_t be_lock_holder(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	pid_t pid = 0;

	if (fd < 0)
		return 0;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		pid = be_lock_read(fd);
	close(fd);
	return pid;
}

void be_lock_leave(int fd, unsigned int uars)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%d\n%u\n", (int)getpid(), uars);

	if (pwrite(fd, text, (size_t)n, 0) != n)
		be_log(NULL, BE_WARN, "lock file: %s", strerror(errno));
}

unsigned int be_lock_left(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	unsigned int uars = 0;
	char text[32] = "";

	if (fd < 0)
		return 0;
	if (pread(fd, text, sizeof(text) - 1, 0) > 0 &&
	    sscanf(text, "%*d %u", &uars) != 1)
		uars = 0;
	close(fd);
	return uars;
}

void be_lock_remove(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return;
	if (!flock(fd, LOCK_EX | LOCK_NB) && be_lock_current(fd, path))
		unlink(path);
	close(fd);
}
