/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Doorbell pages that this guest has for life, as its own device tree tells.
 */
#ifndef VHCA_DEVICETREE_H
#define VHCA_DEVICETREE_H

#include <linux/types.h>

/* Reads the tree and claims what it has. What is wrong in it is logged and left out. */
void vhca_devicetree_init(void);
void vhca_devicetree_exit(void);
/* Does the tree name any? */
bool vhca_devicetree_any(void);
/* Is the page at this guest frame one of them? */
bool vhca_devicetree_has(u64 frame);

#endif
