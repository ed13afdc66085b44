/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Protection domains and address handles.
 */
#ifndef BE_PD_H
#define BE_PD_H

#include "core/be.h"

struct be_pd {
	struct be_obj o;
	unsigned int jobs;		/* of the job threads, of what is in it */
};
/* What a WQE names by a number is in a hash table of the device. */
struct be_ah {
	struct be_obj o;
	struct be_ah *next, **prev;	/* dev->ahs; prev NULL: not in it */
	uint32_t num;			/* the driver's */
	uint32_t pd;			/* handle */
};

/* ---- ah_number.c ---- */
void be_ah_number_add(struct be_dev *dev, struct be_ah *ah);
/* Also of one that was not added. */
void be_ah_number_del(struct be_dev *dev, struct be_ah *ah);
/* May a WQE of a queue pair of PD @pd name it? With dev->lock held. */
bool be_ah_known(const struct be_dev *dev, uint32_t num, uint32_t pd);

/* ---- ah.c ---- */
/* Address of a path, checked. 0 or -EINVAL. */
int be_ah_check(const struct be_dev *dev, const struct xenvhca_ah_attr *ah);
/* Does the kernel ask the network for the Ethernet address? Then it may wait. */
bool be_ah_waits(const struct be_dev *dev, const struct xenvhca_ah_attr *ah);

#endif
