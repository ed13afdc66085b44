/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The registers of an HCA, as sysfs tells.
 */
#ifndef HOST_BAR_H
#define HOST_BAR_H

#include <stdint.h>

/* Pages of the first BAR of a PCI device, where the doorbells are; @dir: its
 * folder in sysfs. 0: there is none. */
uint64_t host_bar_pages(const char *dir);

#endif
