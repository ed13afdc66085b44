/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Queue memory of the backend that a process may map (range.c).
 */
#ifndef VHCA_RANGE_H
#define VHCA_RANGE_H

#include <linux/types.h>

struct vhca_cmd;
struct vhca_ucontext;
struct vm_area_struct;

/**
 * vhca_ranges_fetch() - fetch the references of what a good answer announces
 * @owner: handle of the object that has the queues
 *
 * Asks the backend, so that vhca_range_mmap() need not. An error is kept, and
 * is what mmap() returns.
 */
void vhca_ranges_fetch(struct vhca_ucontext *uc, u32 owner,
		       const struct vhca_cmd *cmd);
/**
 * vhca_range_mmap() - map one of them, from its begin, into a process
 *
 * Waits for nobody. Return: 0; -EINVAL if there is none at the offset of @vma,
 * if it is shorter, mapped already, or @vma is private; why it could not be
 * fetched; errors of vhca_map_grants().
 */
int vhca_range_mmap(struct vhca_ucontext *uc, struct vm_area_struct *vma);
/* The object is destroyed: give back what was never mapped of it. */
void vhca_ranges_drop(struct vhca_ucontext *uc, u32 owner);
/* The same for a ucontext that the backend has closed. */
void vhca_ranges_free(struct vhca_ucontext *uc);

#endif
