/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The registers of an HCA, as sysfs shows them.
 */
#ifndef HOST_BAR_H
#define HOST_BAR_H

#include <stdint.h>

/*
 * Number of doorbell pages of an HCA for guests: the pages of its first BAR without
 * those for the backend domain's kernel and programs (64, or a quarter of a small
 * BAR). @dir: the HCA's folder in sysfs. 0: there is none.
 */
uint64_t host_bar_uars(const char *dir);

#endif
