// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The pool: pages that the HCA may read and write, granted and registered once. What a
 * consumer maps has copies here, at the same offset in a page. Any context may map,
 * unmap and copy. What the backend writes to the pool reaches the kernel's memory only
 * where a consumer mapped it for that.
 */
#include <linux/bitmap.h>
#include <linux/highmem.h>
#include <linux/slab.h>

#include "kern.h"
#include "ring/grant.h"

/* In an origin, which is the physical address of a page. */
#define ORIGIN_HERE	1ull	/* there is one: of the first page of memory, too */
#define ORIGIN_LATE	2ull	/* filled when a request names it */

static u32 slot_of(u64 addr)
{
	return (addr - VHCA_POOL_IOVA) >> PAGE_SHIFT;
}

int vhca_pool_init(struct vhca_pool *p, struct vhca_dev *dev, u32 mb)
{
	int rc;

	spin_lock_init(&p->lock);
	p->dev = dev;
	p->nr = mb << (20 - PAGE_SHIFT);
	p->used = bitmap_zalloc(p->nr, GFP_KERNEL);
	p->origin = kvcalloc(p->nr, sizeof(*p->origin), GFP_KERNEL);
	if (!p->used || !p->origin)
		return -ENOMEM;
	p->mem = vhca_mem_new(dev, p->nr);
	if (!IS_ERR(p->mem))
		return 0;
	rc = PTR_ERR(p->mem);
	p->mem = NULL;
	p->nr = 0;
	return rc;
}

/* The memory itself ends after the region. */
void vhca_pool_exit(struct vhca_pool *p, struct vhca_dev *dev)
{
	if (p->used && !bitmap_empty(p->used, p->nr))
		dev_warn(dev->store->dev, "consumers in the kernel left %u pages mapped\n",
			 bitmap_weight(p->used, p->nr));
	kvfree(p->origin);
	bitmap_free(p->used);
}

dma_addr_t vhca_pool_take(struct vhca_pool *p, u32 nr)
{
	unsigned long flags, at;

	if (READ_ONCE(p->dev->away) || !vhca_ring_up(&p->dev->ring))
		return DMA_MAPPING_ERROR;
	spin_lock_irqsave(&p->lock, flags);
	at = bitmap_find_next_zero_area(p->used, p->nr, 0, nr, 0);
	if (at < p->nr)
		bitmap_set(p->used, at, nr);
	spin_unlock_irqrestore(&p->lock, flags);
	return at < p->nr ? VHCA_POOL_IOVA + ((u64)at << PAGE_SHIFT) :
			    DMA_MAPPING_ERROR;
}

void vhca_pool_give(struct vhca_pool *p, dma_addr_t addr, u32 nr)
{
	u32 at = slot_of(addr);
	unsigned long flags;

	memset(p->origin + at, 0, nr * sizeof(*p->origin));
	spin_lock_irqsave(&p->lock, flags);
	bitmap_clear(p->used, at, nr);
	spin_unlock_irqrestore(&p->lock, flags);
}

void vhca_pool_assign(struct vhca_pool *p, dma_addr_t addr, phys_addr_t phys,
		      size_t size, bool late)
{
	u32 i, at = slot_of(addr);

	for (i = 0; i < vhca_pages_of(phys, size); i++)
		p->origin[at + i] = (phys & PAGE_MASK) + ((u64)i << PAGE_SHIFT) +
				    ORIGIN_HERE + (late ? ORIGIN_LATE : 0);
}

void *vhca_pool_at(struct vhca_pool *p, dma_addr_t addr)
{
	return (u8 *)p->mem->va + (addr - VHCA_POOL_IOVA);
}

/* Copies within a page, if it is a copy; never to what is mapped to be read. */
static void copy_page_part(struct vhca_pool *p, u64 addr, size_t len, bool in)
{
	u64 origin = p->origin[slot_of(addr)];
	u8 *copy = vhca_pool_at(p, addr), *orig;

	if (!origin || (!in && origin & ORIGIN_LATE))
		return;
	orig = kmap_local_page(pfn_to_page(origin >> PAGE_SHIFT));
	if (in)
		memcpy(copy, orig + offset_in_page(addr), len);
	else
		memcpy(orig + offset_in_page(addr), copy, len);
	kunmap_local(orig);
}

/* Addresses of a consumer: one outside of the pool is its mistake, and copies nothing. */
static void pool_copy(struct vhca_pool *p, u64 addr, size_t size, bool in, bool late)
{
	u64 all = (u64)p->nr << PAGE_SHIFT;
	size_t len;

	if (addr < VHCA_POOL_IOVA || size > all || addr - VHCA_POOL_IOVA > all - size)
		return;
	for (; size; size -= len, addr += len) {
		len = min_t(size_t, size, PAGE_SIZE - offset_in_page(addr));
		if (!late || p->origin[slot_of(addr)] & ORIGIN_LATE)
			copy_page_part(p, addr, len, in);
	}
}

void vhca_pool_fill(struct vhca_pool *p, u64 addr, size_t size)
{
	pool_copy(p, addr, size, true, false);
}

void vhca_pool_catch_up(struct vhca_pool *p, u64 addr, size_t size)
{
	pool_copy(p, addr, size, true, true);
}

void vhca_pool_return(struct vhca_pool *p, u64 addr, size_t size)
{
	pool_copy(p, addr, size, false, false);
}
