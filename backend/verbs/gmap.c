// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Guest pages mapped into the worker. This file copies struct xenvhca_pages and
 * its directories, which the guest owns and may change at any time, into
 * private memory once, checks them, then maps every page at one contiguous
 * address. The command thread runs this, or of large regions a job thread what takes
 * long. Whoever unmaps must know that the HCA is done with the pages.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/be.h"
#include "clock.h"
#include "gmap.h"

#define PER_PAGE XENVHCA_GREFS_PER_PAGE

static uint32_t div_up(uint32_t n, uint32_t d)
{
	return n / d + !!(n % d);
}

static bool refs_zero(const uint32_t *ref, uint32_t n)
{
	while (n)
		if (ref[--n])
			return false;
	return true;
}

static bool refs_used(const uint32_t *ref, uint32_t n)
{
	while (n)
		if (!ref[--n])
			return false;
	return true;
}

bool be_pages_absent(const struct xenvhca_pages *p)
{
	static const struct xenvhca_pages none;

	return !memcmp(p, &none, sizeof(none));
}

/* Number of references in the request that level and nr_pages call for, or 0. */
static uint32_t pages_check(const struct xenvhca_pages *p)
{
	static const uint32_t max[] = {
		XENVHCA_MAX_PAGES_LEVEL0, XENVHCA_MAX_PAGES_LEVEL1,
		XENVHCA_MAX_PAGES_LEVEL2,
	};
	uint32_t n = p->nr_pages;
	unsigned int level;

	if (p->flags & ~XENVHCA_PAGES_READONLY || p->reserved[0] ||
	    p->reserved[1])
		return 0;
	if (p->level > 2 || !n || n > max[p->level])
		return 0;
	for (level = p->level; level; level--)
		n = div_up(n, PER_PAGE);
	if (!refs_used(p->gref, n) ||
	    !refs_zero(p->gref + n, XENVHCA_MAX_GREFS_INLINE - n))
		return 0;
	return n;
}

/* Room for n references in whole pages, as copies need it. */
static uint32_t *refs_room(uint32_t n)
{
	return aligned_alloc(XENVHCA_PAGE_SIZE, (size_t)div_up(n, PER_PAGE) *
			     XENVHCA_PAGE_SIZE);
}

/* Reads one level of the tree: from directories to the n references in them. */
static int dirs_read(struct be_dev *dev, const uint32_t *dir, uint32_t *out,
		     uint32_t n)
{
	uint32_t nr_dir = div_up(n, PER_PAGE);
	int err = dev->t->ops->copy(dev->t, dir, nr_dir, out);

	if (err)
		return err;
	BE_STAT_ADD(dev, list_pages, nr_dir);
	return refs_used(out, n) &&
	       refs_zero(out + n, nr_dir * PER_PAGE - n) ? 0 : -EINVAL;
}

static int refs_read(struct be_dev *dev, const struct xenvhca_pages *p,
		     uint32_t *ref)
{
	uint32_t nr_dir = div_up(p->nr_pages, PER_PAGE);
	uint32_t *dir;
	int err;

	if (p->level == 0) {
		memcpy(ref, p->gref, p->nr_pages * sizeof(*ref));
		return 0;
	}
	if (p->level == 1)
		return dirs_read(dev, p->gref, ref, p->nr_pages);
	dir = refs_room(nr_dir);
	if (!dir)
		return -ENOMEM;
	err = dirs_read(dev, p->gref, dir, nr_dir);
	if (!err)
		err = dirs_read(dev, dir, ref, p->nr_pages);
	free(dir);
	return err;
}

/*
 * Mapping is most of what a registration costs, so its time is counted. The coarse
 * clock tells a tick or nothing of a few pages, and is right on the average; the
 * exact one would be two more system calls.
 */
static void *timed_map(struct be_dev *dev, const uint32_t *ref, uint32_t n,
		       bool readonly, const struct be_place *place)
{
	uint64_t begin = vl_coarse_ns();
	void *addr = dev->t->ops->map(dev->t, ref, n, readonly, place);
	int err = errno;

	if (addr) {
		BE_STAT_ADD(dev, map_pages, n);
		BE_STAT_ADD(dev, map_ns, vl_coarse_ns() - begin);
	}
	errno = err;
	return addr;
}

/*
 * A file descriptor, or < 0: then the pages are mapped as those of other HCAs, unless
 * it is the hypervisor that refuses one of them, which it would do again.
 */
static int dmabuf_make(struct be_dev *dev, const uint32_t *ref, uint32_t n)
{
	int fd = dev->t->ops->dmabuf(dev->t, ref, n);

	if (fd == -EINVAL)
		be_log_peer(dev, "cannot map %u guest pages for the HCA: a bad grant reference",
			    n);
	else if (fd < 0)
		BE_STAT_ADD(dev, dmabuf_refused, 1);
	return fd;
}

int be_gmap_fill(struct be_dev *dev, const struct xenvhca_pages *p, int *fd,
		 struct be_gmap *g)
{
	uint32_t *ref = refs_room(p->nr_pages);
	bool readonly = p->flags & XENVHCA_PAGES_READONLY;
	void *addr = NULL;
	int err;

	if (!ref)
		return -ENOMEM;
	err = refs_read(dev, p, ref);
	if (!err && fd) {
		*fd = dmabuf_make(dev, ref, p->nr_pages);
		if (*fd == -EINVAL)
			err = *fd;
	}
	if (!err && (!fd || *fd < 0)) {
		addr = timed_map(dev, ref, p->nr_pages, readonly,
				 g->place.bits ? &g->place : NULL);
		if (!addr)
			err = errno ? -errno : -ENOMEM;
	}
	if (!err) {
		g->addr = addr;
		g->readonly = readonly;
	}
	free(ref);
	return err;
}

int be_gmap_charge(struct be_dev *dev, const struct xenvhca_pages *pages,
		   bool readonly, struct be_gmap *g)
{
	int err;

	if (pages->flags & XENVHCA_PAGES_READONLY && !readonly) {
		be_log_peer(dev, "a read-only page list for what is written to, or that was not offered");
		return -EINVAL;
	}
	if (!pages_check(pages)) {
		be_log_peer(dev, "malformed page list (%u pages, level %u)",
			    pages->nr_pages, pages->level);
		return -EINVAL;
	}
	err = be_quota_take_pages(&dev->quota, pages->nr_pages);
	if (err) {
		be_log_peer(dev, "%u pages exceed max-pinned-mb",
			    pages->nr_pages);
		return err;
	}
	/* Less than the quota where a driver takes less: be_region_pages(). */
	if (pages->nr_pages > dev->info.max_pages) {
		be_quota_give_pages(&dev->quota, pages->nr_pages);
		be_log_peer(dev, "%u pages are more than one list may have (%u)",
			    pages->nr_pages, dev->info.max_pages);
		return -ENOMEM;
	}
	g->nr_pages = pages->nr_pages;
	return 0;
}

int be_gmap_map(struct be_dev *dev, const struct xenvhca_pages *pages,
		uint32_t page_offset, uint64_t length, struct be_gmap *g)
{
	int err = be_gmap_check_range(pages->nr_pages, page_offset, length);

	if (!err)
		err = be_gmap_charge(dev, pages, false, g);
	if (!err)
		err = be_gmap_fill(dev, pages, NULL, g);
	if (err)
		be_gmap_unmap(dev, g);
	return err;
}

void be_gmap_empty(struct be_dev *dev, struct be_gmap *g)
{
	uint64_t begin = vl_coarse_ns();

	if (!g->addr)
		return;
	dev->t->ops->unmap(dev->t, g->addr, g->nr_pages);
	BE_STAT_ADD(dev, unmap_ns, vl_coarse_ns() - begin);
	g->addr = NULL;
}

void be_gmap_unmap(struct be_dev *dev, struct be_gmap *g)
{
	be_gmap_empty(dev, g);
	be_quota_give_pages(&dev->quota, g->nr_pages);
	*g = (struct be_gmap){};
}

int be_gmap_check_range(uint32_t nr_pages, uint32_t page_offset,
			uint64_t length)
{
	const uint64_t size = XENVHCA_PAGE_SIZE;

	if (page_offset >= size || !length)
		return -EINVAL;
	if (length > (uint64_t)XENVHCA_MAX_PAGES_LEVEL2 * size)
		return -EINVAL;
	if ((page_offset + length + size - 1) / size != nr_pages)
		return -EINVAL;
	return 0;
}
