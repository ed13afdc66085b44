/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The doorbell pages (UARs) of the kinds of HCA that are known, and of one as sysfs
 * shows it.
 */
#ifndef HOST_BAR_H
#define HOST_BAR_H

#include <stdint.h>

/* Where a kind of HCA has doorbell pages. */
struct host_hca {
	uint16_t vendor, first, last;	/* device ids */
	const char *name;
	uint8_t bar, half;	/* the BAR; half: of it, its first half has them */
	uint16_t skip;		/* pages at its start that are no guest's */
	uint16_t own;		/* these, and those of the backend domain */
	uint16_t context;	/* pages for each of max-ucontext */
};

/* NULL: not known. */
const struct host_hca *host_hca(uint16_t vendor, uint16_t device);

/* Doorbell pages of one HCA. */
struct host_uars {
	const struct host_hca *hca;
	uint64_t frame;		/* of the first page */
	uint64_t pages;
	uint64_t guests;	/* of them for guests; own is at most a quarter of all */
};

/*
 * @dir: the HCA's folder in sysfs. 0; -ENOENT: none, or of no kind that is known, and
 * *u is zero.
 */
int host_uars(const char *dir, struct host_uars *u);

#endif
