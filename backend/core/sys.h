/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The system calls that reach the verbs kernel and gntdev: as those of libc. Tests
 * link fakes in their place (tests/fake/fake_uverbs.c, tests/unit/test_gntdev.c).
 */
#ifndef BE_SYS_H
#define BE_SYS_H

#include <stddef.h>
#include <sys/types.h>

int be_sys_open(const char *path, int flags);
ssize_t be_sys_write(int fd, const void *buf, size_t len);
ssize_t be_sys_read(int fd, void *buf, size_t len);
int be_sys_ioctl(int fd, unsigned long req, void *arg);
void *be_sys_mmap(void *a, size_t len, int prot, int fl, int fd, off_t off);
int be_sys_munmap(void *a, size_t len);
int be_sys_close(int fd);

#endif
