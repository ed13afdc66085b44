/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A PV process's page table entries of one map.
 */
#ifndef VHCA_MAP_PTE_H
#define VHCA_MAP_PTE_H

#include <xen/grant_table.h>

struct vhca_ptes;
struct vm_area_struct;

/* Of @nr pages. NULL: out of memory. */
struct vhca_ptes *vhca_ptes_alloc(u32 nr);
/* Nothing is mapped, or it was ended. NULL is fine. */
void vhca_ptes_free(struct vhca_ptes *p);
/**
 * vhca_ptes_watch() - be told before the page table of a VMA goes
 * @p: of @vma
 * @vma: as in mmap()
 *
 * The mmap lock is held for writing. Return: 0; -ENOMEM; -ERESTARTNOINTR: nothing has
 * happened, and nothing else may have in this mmap(). vhca_ptes_end() undoes it.
 */
int vhca_ptes_watch(struct vhca_ptes *p, struct vm_area_struct *vma);
/**
 * vhca_ptes_map() - map one grant of the backend into each entry of a VMA
 * @p: of @vma
 * @vma: as in mmap()
 * @ref: of its pages
 * @backend: domain that granted them
 *
 * After vhca_ptes_watch(). Return: 0; -ENOMEM; -EIO if Xen refused a
 * reference. vhca_ptes_end() undoes it, after an error too.
 */
int vhca_ptes_map(struct vhca_ptes *p, struct vm_area_struct *vma,
		  const grant_ref_t *ref, domid_t backend);
/* Take all pages away from the process; the VMA may be there still. */
void vhca_ptes_clear(struct vhca_ptes *p);
/* Clear, and watch the page table no more. NULL is fine. */
void vhca_ptes_end(struct vhca_ptes *p);

#endif
