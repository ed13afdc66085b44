/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Queue memory of the HCA's driver that a process of the guest maps (range.c).
 */
#ifndef BE_RANGE_H
#define BE_RANGE_H

struct be_cmd;
struct be_dev;
struct be_mmap;

/* MMAP of such a range; the length is a whole number of pages. */
int be_range_mmap(const struct be_cmd *c);
void be_mmap_release(struct be_dev *dev, struct be_mmap *m);
/**
 * be_ranges_tell() - map what a good answer announces, and say so in it
 *
 * What cannot be mapped, or has no room, is left to MMAP.
 */
void be_ranges_tell(const struct be_cmd *c);

#endif
