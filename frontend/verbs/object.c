// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The common parts of objects of all kinds. Events find an object from publish to
 * unpublish. Its memory is given back, or stays allocated until its context ends
 * ("orphans"), depending on the backend's answer to the destroy command.
 */
#include <linux/sched.h>

#include "ring/grant.h"
#include "verbs.h"

#define VHCA_LEAVE_OBJECTS	512
#define VHCA_LEAVE_PAGES	16384	/* 64 MiB */
#define VHCA_LEAVE_WAITS	10	/* of the longest wait for one command */

bool vhca_gone(struct vhca_dev *dev, const char *what, u32 handle, int rc)
{
	if (!rc) {
		ibdev_dbg(&dev->ibdev, "destroyed %s %u\n", what, handle);
		return true;
	}
	if (!vhca_ring_up(&dev->ring)) {
		ibdev_dbg(&dev->ibdev, "destroyed %s %u, device is broken\n",
			  what, handle);
		return true;
	}
	if (rc == VHCA_LEFT)
		return false;
	ibdev_warn_ratelimited(&dev->ibdev,
			       "%s %u: the backend keeps it (%d) until its context is closed\n",
			       what, handle, rc);
	return false;
}

void vhca_uc_adopt(struct vhca_ucontext *uc, struct vhca_mem *mem)
{
	if (!mem)
		return;
	spin_lock(&uc->orphan_lock);
	list_add(&mem->list, &uc->orphans);
	spin_unlock(&uc->orphan_lock);
}

void vhca_release(struct vhca_ucontext *uc, const char *what, u32 handle,
		  int rc, struct vhca_mem *mem)
{
	if (vhca_gone(to_vdev(uc->ibuc.device), what, handle, rc))
		vhca_mem_put(mem);
	else
		vhca_uc_adopt(uc, mem);
}

int vhca_publish(struct vhca_dev *dev, struct xarray *table, unsigned long key,
		 void *obj)
{
	int rc = xa_insert(table, key, obj, GFP_NOIO);	/* under the gate */

	if (rc != -EBUSY)
		return rc;
	vhca_break(dev, "backend used a handle twice");
	return -EIO;
}

void vhca_unpublish(struct vhca_dev *dev, struct xarray *table, unsigned long key)
{
	/* Not under evt_lock: the upcall must not wait for the table's lock. */
	xa_erase(table, key);
	/* An upcall that found the object before uses it under evt_lock. */
	spin_lock_irq(&dev->evt_lock);
	spin_unlock_irq(&dev->evt_lock);
}

/*
 * ---- objects of a process that exits ----
 *
 * The backend destroys all objects that are left in a context that is closed, in the
 * order that the HCA needs. So a process that exits waits once, for that, and not for
 * each of its objects.
 *
 * In a task that exits, objects are destroyed only because the last reference of their
 * uverbs file goes, and then ib_uverbs ends the context next. A process that destroys
 * an object, or closes the device, and lives on sends a command for each: a key must be
 * dead when the verb returns.
 *
 * DEALLOC_UCONTEXT must not delay other commands, or exceed the time limit of an
 * answer. So the first objects of a large context have a command each until few objects
 * are left; the process does not wait for these commands, either. The backend begins
 * them in order, and ends them before DEALLOC_UCONTEXT; a PD whose region still ends
 * stays until then.
 */

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
