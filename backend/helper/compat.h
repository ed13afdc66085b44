/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * All tests of the kernel version that xen-vhca-helper.ko needs.
 */
#ifndef VHCA_HELPER_COMPAT_H
#define VHCA_HELPER_COMPAT_H

#include <linux/mm.h>
#include <linux/version.h>

/* An ordinary reference to each of nr pages; mmap lock held. */
static inline long vh_get_user_pages(unsigned long addr, unsigned long nr,
				     struct page **pages)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
	return get_user_pages(addr, nr, FOLL_WRITE, pages, NULL);
#else
	return get_user_pages(addr, nr, FOLL_WRITE, pages);
#endif
}

#endif
