/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Offsets that answers handed out, and the ranges that were mapped by them, of
 * all contexts of a device: found by offset and by the object that they belong
 * to, whatever their number. The command thread calls this.
 */
#ifndef BE_OFFSETS_H
#define BE_OFFSETS_H

#include <stdbool.h>
#include <stdint.h>
#include "vhca-provider.h"

struct be_cmd;
struct be_dev;
struct be_mmap;
struct be_uc;

/*
 * mmap offset that a response handed out. Lives as long as its queue; the
 * queue's memory is charged here, or to the range while that is mapped, as
 * either may end first.
 */
struct be_offset {
	struct be_offset *of_offset, *of_owner;	/* next with the same hash */
	struct be_uc *uc;
	uint64_t offset;
	uint32_t size;			/* octets */
	uint32_t owner;			/* handle of CQ, QP or SRQ */
	uint32_t charged;		/* pages of queue memory */
	enum vhca_queue queue;
	bool mapped;			/* once, and never again */
};

/* off: allocated, and the quota charged; both end with be_offsets_drop(). */
void be_offset_add(struct be_dev *dev, struct be_offset *off);
/* One that is not mapped yet and has room for length; NULL. */
struct be_offset *be_offset_take(struct be_dev *dev, const struct be_uc *uc,
			   uint64_t offset, uint64_t length);
/* That of a range, NULL: it ended before. */
struct be_offset *be_offset_of(struct be_dev *dev, const struct be_mmap *m);
/* Offsets of a destroyed object must not be mapped any more. */
void be_offsets_drop(struct be_dev *dev, uint32_t owner);
void be_offsets_drop_all(struct be_dev *dev, struct be_uc *uc);

/* A range from its publication until it is freed. */
void be_mmap_add(struct be_dev *dev, struct be_mmap *m);
void be_mmap_del(struct be_dev *dev, struct be_mmap *m);
struct be_mmap *be_mmap_find(struct be_dev *dev, const struct be_uc *uc,
			     uint64_t offset);

/* ---- range.c ---- */
/* MMAP of a range; the length is a whole number of pages. */
int be_range_mmap(const struct be_cmd *c);
void be_mmap_release(struct be_dev *dev, struct be_mmap *m);
/**
 * be_ranges_tell() - map what a good answer announces, and say so in it
 *
 * What cannot be mapped, or has no room, is left to MMAP.
 */
void be_ranges_tell(const struct be_cmd *c);

#endif
