// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A mapping for each queue would be a system call, a file and a range of addresses
 * for each. So the queues of a guest are cut off the newest chunk, which is one
 * mapping. No page is used twice: the memory of a queue that ends leaves the chunk at
 * once, and if the guest still maps it, the helper has it. The addresses return when
 * the chunk has no queue any more.
 *
 * One queue keeps a chunk, so a guest that ends the others could have many chunks for
 * few queues. What exceeds BE_CHUNK_SPARE times the queues gets mappings of its own,
 * as a large queue does. The command thread runs this.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/be.h"
#include "chunk.h"

#define BE_CHUNK	256u		/* pages: 1 MiB */
#define BE_CHUNK_LARGE	64u		/* from here on: not from a chunk */
#define BE_CHUNK_SPARE	4u

struct be_chunk {
	char *addr;
	uint32_t used;			/* pages from its beginning */
	uint32_t live;			/* of them, not yet put */
};

static size_t octets(uint32_t pages)
{
	return (size_t)pages * XENVHCA_PAGE_SIZE;
}

static void *shared(size_t length)
{
	void *addr = mmap(NULL, length, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return addr == MAP_FAILED ? NULL : addr;
}

static void chunk_free(struct be_dev *dev, struct be_chunk *c)
{
	munmap(c->addr, octets(BE_CHUNK));
	dev->chunk_pages -= BE_CHUNK;
	free(c);
}

void be_chunk_end(struct be_dev *dev)
{
	struct be_chunk *c = dev->chunk;

	dev->chunk = NULL;
	if (c && !c->live)
		chunk_free(dev, c);
}

/* The newest chunk has no room for n pages: another one, or NULL. */
static struct be_chunk *chunk_new(struct be_dev *dev)
{
	struct be_chunk *c;

	if (dev->chunk_pages > BE_CHUNK_SPARE * dev->chunk_live + BE_CHUNK)
		return NULL;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->addr = shared(octets(BE_CHUNK));
	if (!c->addr) {
		free(c);
		return NULL;
	}
	be_chunk_end(dev);
	dev->chunk = c;
	dev->chunk_pages += BE_CHUNK;
	return c;
}

void *be_chunk_get(struct be_dev *dev, size_t length, struct be_chunk **chunk)
{
	size_t n = length / XENVHCA_PAGE_SIZE;
	struct be_chunk *c = dev->chunk;

	*chunk = NULL;
	if (n >= BE_CHUNK_LARGE)
		return shared(length);
	if (!c || n > BE_CHUNK - c->used)
		c = chunk_new(dev);
	if (!c)
		return shared(length);
	*chunk = c;
	c->used += (uint32_t)n;
	c->live += (uint32_t)n;
	dev->chunk_live += (uint32_t)n;
	return c->addr + octets(c->used - (uint32_t)n);
}

void be_chunk_put(struct be_dev *dev, void *addr, size_t length,
		  struct be_chunk *c)
{
	uint32_t n = (uint32_t)(length / XENVHCA_PAGE_SIZE);

	if (!c) {
		munmap(addr, length);
		return;
	}
	c->live -= n;
	dev->chunk_live -= n;
	if (!c->live && c != dev->chunk)
		chunk_free(dev, c);
	else if (madvise(addr, length, MADV_REMOVE) < 0)
		be_log(dev, BE_ERR, "cannot give back %u pages of queues: %s",
		       n, strerror(errno));
}
