/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Between the two halves of the fake kernel.
 */
#ifndef FAKE_PRIV_H
#define FAKE_PRIV_H

#include <sys/types.h>

#include "fake_uverbs.h"

#define FAKE_FILES	64
#define FAKE_OBJS	4096
#define FAKE_KEYS	1024
#define FAKE_GIDS	24

struct fake_file {
	bool used, context;
	int fd, async_w, comp_w, comp_fd;
	unsigned int vmas;
};
struct fake_key { int fd; uint64_t offset; uint32_t size; };
struct fake_vma { void *addr; int fd; };

extern struct fake {
	struct fake_file file[FAKE_FILES];
	struct fake_obj obj[FAKE_OBJS];
	struct fake_key key[FAKE_KEYS];
	struct fake_vma vma[FAKE_KEYS];
	unsigned int nr_vmas, violations;
	uint8_t *rings;
	int ring_fd;
	uint64_t next_ring;
	uint32_t next_num;
	uint32_t fail_cmd;
	unsigned int fail_n;
	int fail_err, fail_open, fail_mmap;
	uint8_t last_in[256];
	size_t last_in_len;
} fake;

struct fake_file *fake_file_find(int fd);
int fake_async_open(struct fake_file *f, int *fd);
int fake_comp_open(struct fake_file *f, int *fd);
/* Offset for mmap, 0 if there is no room; *size is rounded up to pages. */
uint64_t fake_key_new(int fd, uint32_t *size);
void fake_key_drop(uint64_t offset);
void fake_obj_del(struct fake_obj *o);
ssize_t fake_write(int fd, const void *buf, size_t len);

#endif
