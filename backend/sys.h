/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The system calls that reach the verbs kernel and gntdev, behind a table.
 */
#ifndef BE_SYS_H
#define BE_SYS_H

#include <stddef.h>
#include <sys/types.h>

/*
 * be_uverbs_sys: system calls used by uverbs/ and gntdev.c. The daemon uses
 * the real ones; unit tests put fake drivers here (tests/fake/fake_uverbs.c,
 * test_gntdev.c).
 */
struct be_uverbs_sys {
	int (*open)(const char *path, int flags);
	ssize_t (*write)(int fd, const void *buf, size_t len);
	ssize_t (*read)(int fd, void *buf, size_t len);
	int (*ioctl)(int fd, unsigned long req, void *arg);
	void *(*mmap)(void *a, size_t len, int prot, int fl, int fd, off_t off);
	int (*munmap)(void *a, size_t len);
	int (*close)(int fd);
};
extern struct be_uverbs_sys be_sys;

#endif
