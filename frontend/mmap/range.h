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
struct vhca_dev;
struct vhca_ucontext;
struct vhca_udata_op;
struct vm_area_struct;

/* Pages of queue memory that a device may have: for max_cqe and its like. */
u32 vhca_range_max(void);
/**
 * vhca_ranges_fetch() - fetch the references of what a good answer announces
 * @uc: context of the object
 * @owner: handle of the object that has the queues
 * @cmd: the command that was answered
 *
 * Asks the backend for those that the answer has not, so that vhca_range_mmap()
 * need not. An error is stored for mmap() to return.
 */
void vhca_ranges_fetch(struct vhca_ucontext *uc, u32 owner,
		       const struct vhca_cmd *cmd);
/**
 * vhca_range_mmap() - map one of them, from its begin, into a process
 * @uc: context of the process
 * @vma: as in mmap()
 *
 * Waits for nobody. The pages that are mapped, or may be, are charged to the device
 * until vhca_range_uncharge(). Return: 0; -EINVAL if there is none at the offset of @vma,
 * if it is shorter, mapped already, or @vma is private; why it could not be
 * fetched; errors of vhca_map_grants().
 */
int vhca_range_mmap(struct vhca_ucontext *uc, struct vm_area_struct *vma);
/* Flags by which a command with such udata asks for the references in its answer. */
u32 vhca_ranges_flags(const struct vhca_udata_op *row);
/**
 * vhca_range_end() - the process does not map a range any more
 * @uc: its context
 * @offset: the one that it was mapped by
 * @nr: its pages
 *
 * The backend hears of it together with others, a second later at the latest.
 * May send a command.
 */
void vhca_range_end(struct vhca_ucontext *uc, u64 offset, u32 nr);
/* @dev is to have so many pages more. 0 or -ENOMEM. */
int vhca_range_charge(struct vhca_dev *dev, u32 nr);
/* So many pages of maps are given back: others may be granted. */
void vhca_range_uncharge(struct vhca_dev *dev, u32 nr);
/* Tell the backend now. Return: there was something to tell. */
bool vhca_ranges_flush(struct vhca_ucontext *uc);
void vhca_ranges_init(struct vhca_ucontext *uc);
/* The object is destroyed: give back what was never mapped of it. */
void vhca_ranges_drop(struct vhca_ucontext *uc, u32 owner);
/* The same for a ucontext that the backend has closed. */
void vhca_ranges_free(struct vhca_ucontext *uc);

#endif
