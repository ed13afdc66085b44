/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Registers that hostile-backend lets a guest map, apart from peer.h, as <xenctrl.h> has
 * barriers of the same names.
 */
#ifndef REG_H
#define REG_H

#include <stdbool.h>
#include <stdint.h>

/* Behind RAM and before the firmware: no device answers there. */
#define REG_FRAME	0xfef00ul

/* Whether the guest may map it from now on. False: Xen refuses; errno says why. */
bool reg_permit(uint32_t domid, bool may);

#endif
