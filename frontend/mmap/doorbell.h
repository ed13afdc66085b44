/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Doorbell pages of the HCA mapped into a process, or into the kernel.
 */
#ifndef VHCA_DOORBELL_H
#define VHCA_DOORBELL_H

#include <linux/types.h>

struct vhca_mmap;
struct vhca_ucontext;
struct vhca_window;
struct vm_area_struct;

/*
 * Guest frames for doorbell pages, for as long as the xenbus device exists;
 * NULL in a PV guest. ERR_PTR(-ENOMEM or -EBUSY).
 */
struct vhca_window *vhca_window_new(void);
u64 vhca_window_gfn(const struct vhca_window *w);	/* the first */
/* The backend has entered InitWait: no frame has a page. NULL is fine. */
void vhca_window_clear(struct vhca_window *w);
/*
 * Frees the window, unless frames may still have a page: then it stays reserved for
 * ever.
 */
void vhca_window_free(struct vhca_window *w);
/*
 * Maps the doorbell page of the provider's row @row into a process. Return: 0; -EINVAL,
 * -EOPNOTSUPP: it cannot be mapped this way; -ENOSPC: all XENVHCA_DOORBELL_SLOTS are in
 * use; -ENXIO: the device tree has no doorbell pages; -EIO: the answer is not one;
 * -ENODEV: the module is being removed; the errors of vhca_cmd_mmap().
 */
int vhca_doorbell_mmap(struct vhca_ucontext *uc, struct vm_area_struct *vma,
		       const struct vhca_mmap *row);
/* One page for the kernel itself, of @offset. ERR_PTR() of the same errors, -ENOMEM. */
void __iomem *vhca_doorbell_kernel(struct vhca_ucontext *uc, u64 offset);
/* Before the ucontext ends. NULL is fine. */
void vhca_doorbell_kernel_end(void __iomem *va);
/* Takes every page away from the processes, which see zero pages then. */
void vhca_doorbell_zap(struct vhca_ucontext *uc);
/* After DEALLOC_UCONTEXT. @unknown: not confirmed, the guest frames stay in use. */
void vhca_doorbell_drop(struct vhca_ucontext *uc, bool unknown);

/* ---- devicetree.c ---- */
/* Reads and reserves the pages that Xen has mapped into this guest at its start. */
void vhca_devicetree_init(void);
void vhca_devicetree_exit(void);
/* Is there a page at all? Is @frame one of them? */
bool vhca_devicetree_any(void);
bool vhca_devicetree_has(u64 frame);

#endif
