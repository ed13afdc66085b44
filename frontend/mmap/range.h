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
/*
 * Fetches the references of the ranges that a good answer announces, those that the answer
 * does not have by commands, so that vhca_range_mmap() sends none. @owner: handle of the
 * object that has the queues. An error is stored for mmap() to return.
 */
void vhca_ranges_fetch(struct vhca_ucontext *uc, u32 owner,
		       const struct vhca_cmd *cmd);
/*
 * Maps one range, from its begin, into a process, without a wait for the backend. Its pages
 * are charged to the device until vhca_range_uncharge(). Return: 0; -EINVAL if there is no
 * range at the offset of @vma, if it is shorter or mapped already, or @vma is private; the
 * error of the fetch; errors of vhca_map_grants().
 */
int vhca_range_mmap(struct vhca_ucontext *uc, struct vm_area_struct *vma);
/* Flags by which a command with such udata asks for the references in its answer. */
u32 vhca_ranges_flags(const struct vhca_udata_op *row);
/*
 * The process does not map the range of @nr pages at @offset any more. One MUNMAP tells the
 * backend of several ranges, a second later at the latest. May send a command.
 */
void vhca_range_end(struct vhca_ucontext *uc, u64 offset, u32 nr);
/* Charges pages of queue memory to the device, or gives them back. 0 or -ENOMEM. */
int vhca_range_charge(struct vhca_dev *dev, u32 nr);
void vhca_range_uncharge(struct vhca_dev *dev, u32 nr);
/* Tells the backend now of the ranges that have ended. False: none has. */
bool vhca_ranges_flush(struct vhca_ucontext *uc);
void vhca_ranges_init(struct vhca_ucontext *uc);
/* The object is destroyed: gives back its ranges that were never mapped. */
void vhca_ranges_drop(struct vhca_ucontext *uc, u32 owner);
/* The backend has closed the ucontext: frees all ranges. */
void vhca_ranges_free(struct vhca_ucontext *uc);

#endif
