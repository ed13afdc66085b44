/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Guest pages mapped into the worker.
 */
#ifndef BE_GMAP_H
#define BE_GMAP_H

#include <stdbool.h>
#include <stdint.h>
#include <xen/io/vhcaif.h>
#include "core/transport.h"

struct be_dev;

struct be_gmap {
	void *addr;			/* NULL: nothing, or no more, or by a dma-buf */
	uint32_t nr_pages;		/* charged; 0: nothing */
	bool readonly;
	struct be_place place;		/* for be_gmap_fill(); bits 0: anywhere */
};
/**
 * be_gmap_map() - check a page list, charge the quota, map all pages
 * @page_offset: where in the first page the @length octets begin that the list is for
 * @g: out, must be empty, and is on error
 *
 * Return: 0; -EINVAL malformed list, or not as long as that; -EDQUOT over max-pinned-mb;
 * -ENOMEM; the error of the transport.
 */
int be_gmap_map(struct be_dev *dev, const struct xenvhca_pages *pages,
		uint32_t page_offset, uint64_t length, struct be_gmap *g);
/* Unmap and give the quota back; empty is fine. The HCA must be done. */
void be_gmap_unmap(struct be_dev *dev, struct be_gmap *g);
/*
 * The parts of both. be_gmap_charge() checks and charges, and belongs to the command thread;
 * @readonly: the list may be a read-only one, of a region nobody writes to. be_gmap_fill()
 * may be any thread's, because it takes long. It makes a dma-buf if it can, unless fd is
 * NULL: *fd is its descriptor, which the caller closes, and g->addr NULL; else *fd < 0.
 * be_gmap_empty() leaves the number of pages, for be_gmap_unmap() to give back, as it does
 * of pages that were charged only.
 */
int be_gmap_charge(struct be_dev *dev, const struct xenvhca_pages *pages,
		   bool readonly, struct be_gmap *g);
int be_gmap_fill(struct be_dev *dev, const struct xenvhca_pages *pages, int *fd,
		 struct be_gmap *g);
void be_gmap_empty(struct be_dev *dev, struct be_gmap *g);
/* 0, or -EINVAL if [offset, offset + length) does not need exactly nr_pages */
int be_gmap_check_range(uint32_t nr_pages, uint32_t page_offset,
			uint64_t length);
/* True if there is no list and its fields are 0. */
bool be_pages_absent(const struct xenvhca_pages *pages);

#endif
