/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Queue memory of the backend mapped into a process.
 */
#ifndef VHCA_MAP_H
#define VHCA_MAP_H

#include <xen/grant_table.h>

struct vhca_ucontext;
struct vm_area_struct;

/**
 * vhca_map_grants() - map granted backend pages over a whole VMA
 * @uc: context of the process
 * @vma: as in mmap()
 * @ref: nr_pages references, copied from checked responses
 * @nr_pages: of @vma
 * @offset: mmap offset, for the MUNMAP command when the VMA is gone
 * @tried: set if a worker ends the range, although this fails
 *
 * On success the VMA is tracked in uc->maps; a worker sends MUNMAP when the
 * last VMA is closed. It does so too if the last step fails: then *tried is set.
 * Otherwise nothing has happened.
 *
 * The caller maps a range once. Return: 0; -EINVAL if the VMA is private or of
 * another size; -ENOMEM; -EIO if Xen refused a reference; -ENODEV: the module is
 * being removed; -ERESTARTNOINTR: mmap() is to begin anew.
 */
int vhca_map_grants(struct vhca_ucontext *uc, struct vm_area_struct *vma,
		    const grant_ref_t *ref, u32 nr_pages, u64 offset,
		    bool *tried);
/*
 * Take every mapping away from the processes (device is going): later
 * accesses see zero pages. Grants are unmapped when this returns, except of
 * pages that somebody holds for more than five seconds; all contexts of a device
 * wait for that together.
 */
void vhca_map_zap(struct vhca_ucontext *uc);
/*
 * Wait until the MUNMAP of every closed VMA was answered; bounded. To be
 * called before DEALLOC_UCONTEXT.
 */
void vhca_map_flush(struct vhca_ucontext *uc);
int vhca_map_init(void);
void vhca_map_exit(void);

#endif
