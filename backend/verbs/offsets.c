// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Keys and ranges by hash (offsets.h). A process may have thousands of queues, and
 * each create and destroy command asks for some of both. Offsets are the
 * kernel's, which may be the same in two contexts; handles are of the device.
 */
#include <stdlib.h>

#include "offsets.h"
#include "ucontext.h"

/* One element of a list was looked at: tests count them. */
#ifndef BE_OFFSETS_STEP
#define BE_OFFSETS_STEP()	do { } while (0)
#endif

static unsigned int head_of(uint64_t n)
{
	return (unsigned int)(n * 0x9e3779b97f4a7c15ull >> 32) %
	       BE_OFFSET_HEADS;
}

static unsigned int offset_head(const struct be_uc *uc, uint64_t offset)
{
	return head_of(offset ^ uc->o.handle);
}

void be_offset_add(struct be_dev *dev, struct be_offset *off)
{
	struct be_offset **by_offset, **by_owner;

	by_offset = &dev->offsets[offset_head(off->uc, off->offset)];
	by_owner = &dev->owners[head_of(off->owner)];
	off->of_offset = *by_offset;
	*by_offset = off;
	off->of_owner = *by_owner;
	*by_owner = off;
	off->uc->n_offsets++;
}

/* An offset can be mapped once, as natively. */
struct be_offset *be_offset_take(struct be_dev *dev, const struct be_uc *uc,
			   uint64_t offset, uint64_t length)
{
	struct be_offset *off = dev->offsets[offset_head(uc, offset)];

	for (; off; off = off->of_offset) {
		BE_OFFSETS_STEP();
		if (off->uc == uc && !off->mapped && off->offset == offset &&
		    length <= off->size)
			return off;
	}
	return NULL;
}

struct be_offset *be_offset_of(struct be_dev *dev, const struct be_mmap *m)
{
	struct be_offset *off = dev->owners[head_of(m->owner)];

	while (off && (off->owner != m->owner || off->offset != m->offset)) {
		BE_OFFSETS_STEP();
		off = off->of_owner;
	}
	return off;
}

/* It is out of the list of its owner already. */
static void key_free(struct be_dev *dev, struct be_offset *off)
{
	struct be_offset **p = &dev->offsets[offset_head(off->uc, off->offset)];

	while (*p != off) {
		BE_OFFSETS_STEP();
		p = &(*p)->of_offset;
	}
	*p = off->of_offset;
	off->uc->n_offsets--;
	be_quota_give_queue(&dev->quota, off->charged);
	free(off);
}

void be_offsets_drop(struct be_dev *dev, uint32_t owner)
{
	struct be_offset **p = &dev->owners[head_of(owner)], *off;

	while ((off = *p)) {
		BE_OFFSETS_STEP();
		if (off->owner != owner) {
			p = &off->of_owner;
			continue;
		}
		*p = off->of_owner;
		key_free(dev, off);
	}
}

/* Mostly there is none: they ended with their objects. */
void be_offsets_drop_all(struct be_dev *dev, struct be_uc *uc)
{
	struct be_offset **p, *off;
	unsigned int i;

	for (i = 0; i < BE_OFFSET_HEADS && uc->n_offsets; i++) {
		for (p = &dev->owners[i]; (off = *p);) {
			if (off->uc != uc) {
				p = &off->of_owner;
				continue;
			}
			*p = off->of_owner;
			key_free(dev, off);
		}
	}
}

void be_mmap_add(struct be_dev *dev, struct be_mmap *m)
{
	struct be_mmap **head = &dev->mmaps[offset_head(m->o.uc, m->offset)];

	m->of_offset = *head;
	*head = m;
}

void be_mmap_del(struct be_dev *dev, struct be_mmap *m)
{
	struct be_mmap **p = &dev->mmaps[offset_head(m->o.uc, m->offset)];

	while (*p && *p != m) {
		BE_OFFSETS_STEP();
		p = &(*p)->of_offset;
	}
	if (*p)
		*p = m->of_offset;
}

struct be_mmap *be_mmap_find(struct be_dev *dev, const struct be_uc *uc,
			     uint64_t offset)
{
	struct be_mmap *m = dev->mmaps[offset_head(uc, offset)];

	while (m && (m->o.uc != uc || m->offset != offset)) {
		BE_OFFSETS_STEP();
		m = m->of_offset;
	}
	return m;
}
