/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What a process that exits leaves to the end of its context.
 */
#ifndef VHCA_LEAVE_H
#define VHCA_LEAVE_H

#include <linux/types.h>

struct vhca_ucontext;

/*
 * Result of a destroy command that nobody has waited for, or that was not sent; the
 * others are 0 or -errno.
 */
#define VHCA_LEFT	1

/* An object was made in @uc, or is going to be ended. */
void vhca_leave_count(struct vhca_ucontext *uc, int nr);
/*
 * A destroy command of @uc has been waited for since @begin (jiffies). The waits since
 * the last object was made have a bound in all, beyond which the device breaks.
 */
void vhca_leave_waited(struct vhca_ucontext *uc, unsigned long begin);
/* Regions have so many pages more, or fewer. */
void vhca_leave_pages(struct vhca_ucontext *uc, s64 nr);
/* Somebody else may need to know of the end of one of its objects. */
void vhca_leave_never(struct vhca_ucontext *uc);
/**
 * vhca_leave() - is the end of an object of @uc left to DEALLOC_UCONTEXT?
 * @uc: context of the object
 *
 * Where it is true it stays so until the context ends, so whoever uses an object
 * is not left when the object is not.
 *
 * Return: true: send no command; the memory of the object is vhca_uc_adopt()ed.
 */
bool vhca_leave(const struct vhca_ucontext *uc);
/* Is the end of the context all that is waited for? No answer is needed before. */
bool vhca_leaving(const struct vhca_ucontext *uc);

#endif
