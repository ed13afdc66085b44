// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * System calls as they are (sys.h). Nothing else is in this file: a test that has
 * its own leaves it out of the library.
 */
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "sys.h"

int be_sys_open(const char *path, int flags)
{
	return open(path, flags);
}

ssize_t be_sys_write(int fd, const void *buf, size_t len)
{
	return write(fd, buf, len);
}

ssize_t be_sys_read(int fd, void *buf, size_t len)
{
	return read(fd, buf, len);
}

int be_sys_ioctl(int fd, unsigned long req, void *arg)
{
	return ioctl(fd, req, arg);
}

void *be_sys_mmap(void *a, size_t len, int prot, int fl, int fd, off_t off)
{
	return mmap(a, len, prot, fl, fd, off);
}

int be_sys_munmap(void *a, size_t len)
{
	return munmap(a, len);
}

int be_sys_close(int fd)
{
	return close(fd);
}
