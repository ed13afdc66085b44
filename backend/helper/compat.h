/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * All tests of the kernel version that xen-vhca-helper.ko needs.
 */
#ifndef VHCA_HELPER_COMPAT_H
#define VHCA_HELPER_COMPAT_H

#include <linux/mm.h>
#include <linux/module.h>
#include <linux/version.h>

/* The names of dma-buf.c have a namespace, which has become a string. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define VH_IMPORT_DMA_BUF	MODULE_IMPORT_NS(DMA_BUF)
#else
#define VH_IMPORT_DMA_BUF	MODULE_IMPORT_NS("DMA_BUF")
#endif

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

/*
 * Frame and attributes of one page of a mapping without struct pages; mmap
 * lock held. EINVAL: nothing is mapped.
 */
static inline int vh_follow(struct vm_area_struct *vma, unsigned long addr,
			    unsigned long *pfn, pgprot_t *prot)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
	spinlock_t *lock;
	pte_t *pte;
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
	int err = follow_pte(vma->vm_mm, addr, &pte, &lock);
#else
	int err = follow_pte(vma, addr, &pte, &lock);
#endif

	if (err)
		return err;
	*pfn = pte_pfn(ptep_get(pte));
	*prot = pte_pgprot(ptep_get(pte));
	__acquire(lock);	/* follow_pte() lacks the annotation */
	pte_unmap_unlock(pte, lock);
#else
	struct follow_pfnmap_args args = { .vma = vma, .address = addr };
	int err = follow_pfnmap_start(&args);

	if (err)
		return err;
	*pfn = args.pfn;
	*prot = args.pgprot;
	follow_pfnmap_end(&args);
#endif
	return 0;
}

#endif
