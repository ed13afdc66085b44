// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The backend destroys what is left in a context that is closed, in the order that
 * the HCA needs. So a process that exits waits once, for that, and not for each of
 * its objects.
 *
 * In a task that exits, objects are destroyed only because the last reference of
 * their uverbs file goes, and then ib_uverbs ends the context next. Who destroys an
 * object, or closes the device, and lives on sends a command for each: a key must
 * be dead when the verb returns.
 *
 * One command must not take so long that others wait for it, or that it counts as
 * one without an answer. So the first objects of a large context have a command each
 * until few are left; nobody waits for these commands, either. The backend begins
 * them in order, and ends them before the last one; a PD whose region still ends stays
 * until then.
 */
#include <linux/sched.h>

#include "leave.h"
#include "vhca.h"

#define VHCA_LEAVE_OBJECTS	512
#define VHCA_LEAVE_PAGES	16384	/* 64 MiB */
#define VHCA_LEAVE_WAITS	10	/* of the longest wait for one command */

void vhca_leave_count(struct vhca_ucontext *uc, int nr)
{
	atomic64_add(nr, &uc->nr_objects);
	if (nr > 0)
		atomic64_set(&uc->end_waited, 0);
}

void vhca_leave_waited(struct vhca_ucontext *uc, unsigned long begin)
{
	struct vhca_dev *dev = to_vdev(uc->ibuc.device);
	u64 most = (u64)VHCA_LEAVE_WAITS * vhca_ring_timeout();

	if ((u64)atomic64_add_return(jiffies - begin, &uc->end_waited) > most)
		vhca_break(dev, "backend takes too long to end the objects of a context");
}

void vhca_leave_pages(struct vhca_ucontext *uc, s64 nr)
{
	atomic64_add(nr, &uc->nr_pages);
}

void vhca_leave_never(struct vhca_ucontext *uc)
{
	WRITE_ONCE(uc->leaves_nothing, true);
}

bool vhca_leaving(const struct vhca_ucontext *uc)
{
	return current->flags & PF_EXITING && !READ_ONCE(uc->leaves_nothing);
}

bool vhca_leave(const struct vhca_ucontext *uc)
{
	return vhca_leaving(uc) &&
	       atomic64_read(&uc->nr_objects) <= VHCA_LEAVE_OBJECTS &&
	       atomic64_read(&uc->nr_pages) <= VHCA_LEAVE_PAGES;
}
