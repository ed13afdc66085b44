// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Lock files (lock.h). A lock file may be unlinked by one process while another
 * opens it, so a lock counts only if the path still names the locked file.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>
#include "file.h"
#include "line.h"
#include "lock.h"

#define TRIES	5

static bool current_file(int fd, const char *path)
{
	struct stat a, b;

	return !fstat(fd, &a) && !stat(path, &b) && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/* Open and lock; -ESTALE if the file was replaced in between. */
static int open_locked(const char *path)
{
	int fd = vl_file_open(path, O_RDWR | O_CREAT);
	int rc;

	if (fd < 0)
		return fd;
	rc = flock(fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
	if (!rc && !current_file(fd, path))
		rc = -ESTALE;
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

static void warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vl_line(LOG_WARNING, "", fmt, ap);
	va_end(ap);
}

/* A lock file has no contents worth keeping, so any other object of its name is removed. */
static int open_or_make(const char *path)
{
	int fd = open_locked(path);

	if (fd != -EMEDIUMTYPE)
		return fd;
	warn("%s: no regular file, so it is removed: did a guest take a worker over?",
	     path);
	return vl_file_clear(path) ? fd : -ESTALE;
}

int vl_lock_take(const char *path)
{
	int i, n, fd = -ESTALE;
	char pid[16];

	for (i = 0; i < TRIES && fd == -ESTALE; i++)
		fd = open_or_make(path);
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

static pid_t read_pid(int fd)
{
	char buf[16] = "";
	long pid;

	if (pread(fd, buf, sizeof(buf) - 1, 0) <= 0)
		return 0;
	pid = strtol(buf, NULL, 10);
	return pid > 0 && pid <= INT_MAX ? (pid_t)pid : 0;
}

/*
 * The pid in the file may be forged, so that another process would get the holder's
 * signals. The kernel lists the holder of the lock by inode (proc(5), /proc/locks); the
 * device's number there is not always that of stat().
 */
static bool took_it(pid_t pid, int fd)
{
	unsigned long long ino;
	char line[160];
	struct stat st;
	bool found = false;
	int holder;
	FILE *f;

	if (fstat(fd, &st))
		return false;
	f = fopen("/proc/locks", "re");
	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%*s FLOCK %*s %*s %d %*x:%*x:%llu",
			       &holder, &ino) == 2 &&
			holder == (int)pid && ino == st.st_ino;
	if (f)
		fclose(f);
	return found;
}

pid_t vl_lock_holder(const char *path)
{
	int fd = vl_file_open(path, O_RDWR);
	pid_t pid = 0;

	if (fd < 0)
		return 0;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		pid = read_pid(fd);
	if (pid && !took_it(pid, fd))
		pid = 0;
	close(fd);
	return pid;
}

void vl_lock_remove(const char *path)
{
	int fd = vl_file_open(path, O_RDWR);

	if (fd == -EMEDIUMTYPE)
		vl_file_clear(path);
	if (fd < 0)
		return;
	if (!flock(fd, LOCK_EX | LOCK_NB) && current_file(fd, path))
		unlink(path);
	close(fd);
}
