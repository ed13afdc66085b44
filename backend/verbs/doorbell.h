/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Doorbell pages.
 */
#ifndef BE_DOORBELL_H
#define BE_DOORBELL_H

#include "cmd.h"
#include "transport.h"
#include "vhca-provider.h"

/* A doorbell page of a context, from its mmap to the context's end. */
struct be_doorbell {
	struct be_doorbell *next;
	uint64_t offset, gfn;
	void *addr;			/* mapped here: holds the verbs file */
	struct be_bell bell;
	bool broken;			/* the guest was not told of it */
};

/* MMAP of a row of the provider's table. */
int be_doorbell_mmap(const struct be_cmd *c, const struct vhca_mmap *row);
/* Take the pages from the guest; 0, or -errno if one may still be its. */
int be_doorbells_end(struct be_dev *dev, struct be_doorbell **list);

#endif
