/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Queue memory of the backend mapped into a process.
 */
#ifndef VHCA_MAP_H
#define VHCA_MAP_H

#include <xen/grant_table.h>
#include <xen/io/vhcaif.h>

struct vhca_dev;
struct vhca_ptes;
struct vhca_ucontext;
struct vm_area_struct;

/*
 * Maps @nr_pages granted pages of the backend over all of @vma. The caller has the
 * references from checked answers, and maps a range once. A worker sends MUNMAP for
 * @offset when the last VMA is closed, or if the last step fails: then *tried is set.
 * After another error nothing has happened. Return: 0; -EINVAL: @vma is private or of
 * another size; -ENOMEM; -EIO: Xen refused a reference; -ENODEV: the module is being
 * removed; -ERESTARTNOINTR: mmap() is to begin anew.
 */
int vhca_map_grants(struct vhca_ucontext *uc, struct vm_area_struct *vma,
		    const grant_ref_t *ref, u32 nr_pages, u64 offset,
		    bool *tried);
/*
 * Takes every mapping away from the processes (the device goes): later accesses see
 * zero pages. Grants are unmapped when this returns, except of pages that are in use
 * for more than five seconds, which is the limit for all contexts of a device together.
 */
void vhca_map_zap(struct vhca_ucontext *uc);
/* Before DEALLOC_UCONTEXT: waits, bounded, for the MUNMAPs of all closed VMAs. */
void vhca_map_flush(struct vhca_ucontext *uc);
int vhca_map_init(void);
void vhca_map_exit(void);

/* ---- map_pte.c: the page table entries of a PV process that one map has ---- */
/* Of @nr pages. NULL: out of memory. */
struct vhca_ptes *vhca_ptes_alloc(u32 nr);
/* Nothing is mapped, or it was ended. NULL is fine. */
void vhca_ptes_free(struct vhca_ptes *p);
/*
 * Watches the page table of @vma for its end. The mmap lock is held for writing. Return:
 * 0; -ENOMEM; -ERESTARTNOINTR: nothing has happened, and nothing else may have in this
 * mmap(). vhca_ptes_end() undoes it.
 */
int vhca_ptes_watch(struct vhca_ptes *p, struct vm_area_struct *vma);
/*
 * Maps one grant of the backend into each entry, after vhca_ptes_watch(). Return: 0;
 * -ENOMEM; -EIO: Xen refused a reference. vhca_ptes_end() undoes it, after an error too.
 */
int vhca_ptes_map(struct vhca_ptes *p, struct vm_area_struct *vma,
		  const grant_ref_t *ref, domid_t backend);
/* Take all pages away from the process; the VMA may be there still. */
void vhca_ptes_clear(struct vhca_ptes *p);
/* Clear, and watch the page table no more. NULL is fine. */
void vhca_ptes_end(struct vhca_ptes *p);

/* ---- cmd_mmap.c: the commands; they return the values of verbs/cmd.h ---- */
/* @flags: of vhca_ring_submit() */
int vhca_cmd_mmap(struct vhca_ucontext *uc, const struct xenvhca_mmap_req *req,
		  unsigned int flags, struct xenvhca_mmap_rsp *rsp);
/* @nr: XENVHCA_MUNMAP_RANGES at most; 1 unless GET_INFO allows more. */
int vhca_cmd_munmap(struct vhca_dev *dev, u32 ucontext, const u64 *offset,
		    unsigned int nr);

#endif
