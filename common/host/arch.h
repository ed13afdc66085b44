/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Properties of Xen on this machine on which daemon and doorbell agent must agree.
 */
#ifndef HOST_ARCH_H
#define HOST_ARCH_H

#include <stdbool.h>

/*
 * On Arm every guest is translated, and a guest that may use a register page can
 * map it anywhere (XENMAPSPACE_dev_mmio) and keep the mapping after the permission
 * was withdrawn. So the agent reserves such a page until the guest ends, and the
 * worker keeps the page's verbs file open.
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
