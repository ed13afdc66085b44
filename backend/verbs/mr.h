/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Memory regions and windows.
 */
#ifndef BE_MR_H
#define BE_MR_H

#include "core/be.h"
#include "gmap.h"

struct be_pd;

struct be_mr {
	struct be_obj o;
	struct be_pd *pd;
	uint32_t access;		/* as registered, or asked for since */
	struct be_gmap mem;
	bool busy;			/* a job thread deregisters it */
	bool stays;			/* it could not, when the context ended */
};
struct be_mw { struct be_obj o; };

/* The context ends: has it regions that a job thread should end? */
bool be_mrs_slow(const struct be_uc *uc);
/* Leaves them to it, as many as it takes. */
void be_mrs_leave(struct be_dev *dev, struct be_uc *uc);
/*
 * Regions of at least this size do not use a dma-buf. Asks the HCA's driver, when the
 * device is opened; @odp: the general ODP capabilities of the HCA.
 */
uint64_t be_dmabuf_end(struct be_dev *dev, uint64_t odp);
/* May this guest have memory windows of this HCA? */
bool be_windows(const struct be_dev *dev);

#endif
