/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Shared memory for many queues in one mapping.
 */
#ifndef BE_CHUNK_H
#define BE_CHUNK_H

#include <stddef.h>

struct be_chunk;
struct be_dev;

/**
 * be_chunk_get() - zeroed memory that stays what it is while it is granted
 * @length: in octets, pages that nobody else has or will have
 * @chunk: out, where it is: NULL, a mapping of its own
 *
 * Return: NULL with errno.
 */
void *be_chunk_get(struct be_dev *dev, size_t length, struct be_chunk **chunk);
/* Gives the memory back; whoever is granted a page still has that page. */
void be_chunk_put(struct be_dev *dev, void *addr, size_t length,
		  struct be_chunk *chunk);
/* Nobody asks for more. What has not been put stays. */
void be_chunk_end(struct be_dev *dev);

#endif
