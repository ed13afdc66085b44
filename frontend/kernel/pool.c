// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The pool: pages that the HCA may read and write, granted and registered once. What a
 * consumer maps has copies here: in pages of their own at the same offset, or if it is
 * small in a slot, of which several share a page. Any context may map, unmap and copy.
 * What the backend writes to the pool reaches the kernel's memory only where a consumer
 * mapped it for that.
 *
 * The HCA of a connection that is over may still write to what a consumer gives back. So
 * that waits for the next connection before it has another use.
 */
#include <linux/bitmap.h>
#include <linux/highmem.h>
#include <linux/slab.h>

#include "kern.h"
#include "ring/grant.h"

/*
 * An origin is the physical address of what is in a slot, or of the page that is in a page;
 * a page that has no slots has the origin of its first one.
 */
#define ORIGIN_HERE	BIT_ULL(63)	/* there is one: of the first page of memory, too */
#define ORIGIN_LATE	BIT_ULL(62)	/* the HCA only reads it: filled when it is named */
#define ORIGIN_OPEN	BIT_ULL(61)	/* a window shows it */
#define ORIGIN_PHYS	(ORIGIN_OPEN - 1)

#define ALL_SLOTS	GENMASK(VHCA_POOL_SLOTS - 1, 0)

static u32 page_of(u64 addr)
{
	return (addr - VHCA_POOL_IOVA) >> PAGE_SHIFT;
}

static u32 slot_of(u64 addr)
{
	return offset_in_page(addr) / VHCA_POOL_SLOT;
}

int vhca_pool_init(struct vhca_pool *p, struct vhca_dev *dev, u32 mb)
{
	int rc;

	spin_lock_init(&p->lock);
	p->dev = dev;
	p->stats = &dev->stats;
	p->nr = mb << (20 - PAGE_SHIFT);
	p->used = bitmap_zalloc(p->nr, GFP_KERNEL);
	p->partial = bitmap_zalloc(p->nr, GFP_KERNEL);
	p->slots = kvcalloc(p->nr, sizeof(*p->slots), GFP_KERNEL);
	p->late = kvcalloc(p->nr, sizeof(*p->late), GFP_KERNEL);
	p->origin = kvcalloc(p->nr, VHCA_POOL_SLOTS * sizeof(*p->origin), GFP_KERNEL);
	if (!p->used || !p->partial || !p->slots || !p->late ||
	    !p->origin)
		return -ENOMEM;
	p->mem = vhca_mem_new(dev, p->nr);
	if (IS_ERR(p->mem)) {
		rc = PTR_ERR(p->mem);
		p->mem = NULL;
		p->nr = 0;
		return rc;
	}
	atomic64_set(&p->stats->pool_pages, p->nr);
	atomic64_set(&p->stats->pool_used, 0);
	return 0;
}

/* The memory itself ends after the region. */
void vhca_pool_exit(struct vhca_pool *p, struct vhca_dev *dev)
{
	if (p->late)
		vhca_pool_back(p);
	if (p->used && !bitmap_empty(p->used, p->nr))
		dev_warn(dev->store->dev, "consumers in the kernel left %u pages mapped\n",
			 bitmap_weight(p->used, p->nr));
	kvfree(p->origin);
	kvfree(p->late);
	kvfree(p->slots);
	bitmap_free(p->partial);
	bitmap_free(p->used);
}

/* ---- pages and slots; the lock is held ---- */

/* The lock is all that these counters need: others only read them. */
static void count(atomic64_t *counter, int n)
{
	atomic64_set(counter, atomic64_read(counter) + n);
}

/* Return: the first of @nr pages in a row, or @p->nr. */
static u32 take_pages(struct vhca_pool *p, u32 nr)
{
	u32 at = bitmap_find_next_zero_area(p->used, p->nr, 0, nr, 0);
	struct vhca_stats *st = p->stats;

	if (at >= p->nr) {
		count(&st->pool_refused, 1);
		return p->nr;
	}
	bitmap_set(p->used, at, nr);
	count(&st->pool_used, nr);
	if (atomic64_read(&st->pool_used) > atomic64_read(&st->pool_most))
		atomic64_set(&st->pool_most, atomic64_read(&st->pool_used));
	return at;
}

static void give_pages(struct vhca_pool *p, u32 at, u32 nr)
{
	bitmap_clear(p->used, at, nr);
	count(&p->stats->pool_used, -(int)nr);
}

static void set_slots(struct vhca_pool *p, u32 page, u16 slots)
{
	WRITE_ONCE(p->slots[page], slots);	/* piece_at() reads it without the lock */
	if (slots && slots != ALL_SLOTS)
		__set_bit(page, p->partial);
	else
		__clear_bit(page, p->partial);
}

static void give_slots(struct vhca_pool *p, u32 page, u16 slots)
{
	set_slots(p, page, p->slots[page] & ~slots);
	if (!p->slots[page])
		give_pages(p, page, 1);
}

/* Has the HCA done with what a consumer gives back? The ring first: it is up before that. */
static bool in_time(const struct vhca_pool *p)
{
	bool up = vhca_ring_up(&p->dev->ring);

	smp_rmb();	/* the ring, then away */
	return up && !READ_ONCE(p->dev->away);
}

/* ---- what dma.c takes and gives ---- */

dma_addr_t vhca_pool_take(struct vhca_pool *p, u32 nr)
{
	dma_addr_t addr = DMA_MAPPING_ERROR;
	unsigned long flags;
	u32 at;

	spin_lock_irqsave(&p->lock, flags);
	at = take_pages(p, nr);
	if (at < p->nr) {
		count(&p->stats->pool_mappings, 1);
		addr = VHCA_POOL_IOVA + ((u64)at << PAGE_SHIFT);
	}
	spin_unlock_irqrestore(&p->lock, flags);
	return addr;
}

dma_addr_t vhca_pool_take_slot(struct vhca_pool *p)
{
	dma_addr_t addr = DMA_MAPPING_ERROR;
	unsigned long flags;
	u32 at, slot;

	spin_lock_irqsave(&p->lock, flags);
	at = find_first_bit(p->partial, p->nr);
	if (at >= p->nr)
		at = take_pages(p, 1);
	if (at < p->nr) {
		slot = ffz(p->slots[at]);
		set_slots(p, at, p->slots[at] | BIT(slot));
		count(&p->stats->pool_mappings, 1);
		addr = VHCA_POOL_IOVA + ((u64)at << PAGE_SHIFT) + slot * VHCA_POOL_SLOT;
	}
	spin_unlock_irqrestore(&p->lock, flags);
	return addr;
}

static void give_slot(struct vhca_pool *p, dma_addr_t addr)
{
	u32 page = page_of(addr), slot = slot_of(addr);
	unsigned long flags;

	p->origin[page * VHCA_POOL_SLOTS + slot] = 0;
	spin_lock_irqsave(&p->lock, flags);
	if (in_time(p))
		give_slots(p, page, BIT(slot));
	else
		p->late[page] |= BIT(slot);
	spin_unlock_irqrestore(&p->lock, flags);
}

void vhca_pool_give(struct vhca_pool *p, dma_addr_t addr, size_t size)
{
	u32 i, page = page_of(addr), nr = vhca_pages_of(addr, size);
	unsigned long flags;

	if (READ_ONCE(p->slots[page])) {
		give_slot(p, addr);
		return;
	}
	for (i = page; i < page + nr; i++)
		p->origin[i * VHCA_POOL_SLOTS] = 0;
	spin_lock_irqsave(&p->lock, flags);
	if (in_time(p))
		give_pages(p, page, nr);
	else
		for (i = page; i < page + nr; i++)
			p->late[i] = ALL_SLOTS;
	spin_unlock_irqrestore(&p->lock, flags);
}

void vhca_pool_back(struct vhca_pool *p)
{
	unsigned long flags;
	u32 i;

	spin_lock_irqsave(&p->lock, flags);
	for (i = 0; i < p->nr; i++) {
		if (p->late[i] && p->slots[i])
			give_slots(p, i, p->late[i]);
		else if (p->late[i])
			give_pages(p, i, 1);
		p->late[i] = 0;
	}
	spin_unlock_irqrestore(&p->lock, flags);
}

void *vhca_pool_at(struct vhca_pool *p, dma_addr_t addr)
{
	return (u8 *)p->mem->va + (addr - VHCA_POOL_IOVA);
}

/* ---- copies ---- */

/* A part of the pool with one origin: of a page, or a slot. */
struct piece {
	u64 *origin;
	u32 at, room;		/* octets of it before an address, and from there on */
};

static struct piece piece_at(struct vhca_pool *p, u64 addr)
{
	u64 *origin = p->origin + page_of(addr) * VHCA_POOL_SLOTS;
	u32 at = offset_in_page(addr), size = PAGE_SIZE;

	if (READ_ONCE(p->slots[page_of(addr)])) {
		origin += slot_of(addr);
		size = VHCA_POOL_SLOT;
		at %= size;
	}
	return (struct piece){ origin, at, size - at };
}

void vhca_pool_assign(struct vhca_pool *p, dma_addr_t addr, phys_addr_t phys, size_t size,
		      bool late)
{
	u64 flags = ORIGIN_HERE | (late ? ORIGIN_LATE : 0), left;
	struct piece piece;

	for (left = size; left; left -= min_t(u64, left, piece.room)) {
		piece = piece_at(p, addr + size - left);
		*piece.origin = (phys + size - left - piece.at) | flags;
	}
}

enum copy { COPY_FILL, COPY_OPEN, COPY_RENEW, COPY_RECEIVE, COPY_SINK, COPY_RETURN };

/* Never out to what is mapped to be read. */
static bool wanted(enum copy copy, u64 origin)
{
	bool late = origin & ORIGIN_LATE, open = origin & ORIGIN_OPEN;

	switch (copy) {
	case COPY_FILL:
		return origin;
	case COPY_OPEN:
		return late;
	case COPY_RENEW:
		return origin && (open || !late);
	case COPY_RECEIVE:
	case COPY_SINK:
		return origin && !late;
	default:
		return open && !late;
	}
}

/* The origin of a slot may end with a page, behind what is mapped. */
static void copy_piece(struct vhca_pool *p, u64 addr, phys_addr_t phys, size_t len, bool in)
{
	u8 *copy = vhca_pool_at(p, addr);
	u8 *orig = kmap_local_page(pfn_to_page(phys >> PAGE_SHIFT));
	u32 at = offset_in_page(phys);

	len = min_t(size_t, len, PAGE_SIZE - at);
	if (in)
		memcpy(copy, orig + at, len);
	else
		memcpy(orig + at, copy, len);
	kunmap_local(orig);
}

/* Addresses of a consumer: one outside of the pool is its mistake, and copies nothing. */
static void pool_copy(struct vhca_pool *p, u64 addr, size_t size, enum copy copy)
{
	u64 origin, copied = 0, all = (u64)p->nr << PAGE_SHIFT;
	bool in = copy == COPY_FILL || copy == COPY_OPEN || copy == COPY_RENEW;
	struct piece piece;
	size_t len;

	if (addr < VHCA_POOL_IOVA || size > all || addr - VHCA_POOL_IOVA > all - size)
		return;
	for (; size; size -= len, addr += len) {
		piece = piece_at(p, addr);
		len = min_t(size_t, size, piece.room);
		origin = READ_ONCE(*piece.origin);
		if (wanted(copy, origin)) {
			copy_piece(p, addr, (origin & ORIGIN_PHYS) + piece.at, len, in);
			copied += len;
		}
		if (copy == COPY_OPEN && origin)
			WRITE_ONCE(*piece.origin, origin | ORIGIN_OPEN);
		if (copy == COPY_SINK && origin & ORIGIN_OPEN)
			cmpxchg64(piece.origin, origin, origin & ~ORIGIN_OPEN);
	}
	if (copied)
		atomic64_add(copied, in ? &p->stats->pool_in : &p->stats->pool_out);
}

void vhca_pool_fill(struct vhca_pool *p, u64 addr, size_t size)
{
	pool_copy(p, addr, size, COPY_FILL);
}

void vhca_pool_open(struct vhca_pool *p, u64 addr, size_t size)
{
	pool_copy(p, addr, size, COPY_OPEN);
}

void vhca_pool_renew(struct vhca_pool *p, u64 addr, size_t size)
{
	pool_copy(p, addr, size, COPY_RENEW);
}

void vhca_pool_receive(struct vhca_pool *p, u64 addr, size_t size)
{
	pool_copy(p, addr, size, COPY_RECEIVE);
}

void vhca_pool_sink(struct vhca_pool *p, u64 addr, size_t size)
{
	pool_copy(p, addr, size, COPY_SINK);
}

void vhca_pool_return(struct vhca_pool *p, u64 addr, size_t size)
{
	pool_copy(p, addr, size, COPY_RETURN);
}
