/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The registers of an HCA, as sysfs tells.
 */
#ifndef HOST_BAR_H
#define HOST_BAR_H

#include <stdint.h>

/*
 * Doorbell pages that guests may have of an HCA: the pages of its first BAR, less
 * what the backend domain's kernel and programs take (64, or a quarter of a small
 * BAR). @dir: the HCA's folder in sysfs. 0: there is none.
 */
uint64_t host_bar_uars(const char *dir);

#endif
