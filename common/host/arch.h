/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What the daemon and the doorbell agent must see alike of Xen on this machine.
 */
#ifndef HOST_ARCH_H
#define HOST_ARCH_H

#include <stdbool.h>

/*
 * On Arm every guest is translated, and one that may use a register page can
 * map it anywhere (XENMAPSPACE_dev_mmio) and keep it after the permission has
 * gone. So the agent holds such a page until the guest ends, and a worker the
 * verbs file that it is of.
 */
static inline bool host_is_arm(void)
{
#if defined(__aarch64__) || defined(__arm__)
	return true;
#else
	return false;
#endif
}

#endif
