// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What objects of all kinds have in common. Events find an object from publish
 * to unpublish. Its memory is given back, or stays allocated until its context ends
 * ("orphans"), depending on what the backend answered to its end.
 */
#include "ring/grant.h"
#include "leave.h"
#include "verbs.h"

bool vhca_gone(struct vhca_dev *dev, const char *what, u32 handle, int rc)
{
	if (!rc) {
		ibdev_dbg(&dev->ibdev, "destroyed %s %u\n", what, handle);
		return true;
	}
	if (READ_ONCE(dev->ring.state) != VHCA_RING_UP) {
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

int vhca_publish(struct vhca_dev *dev, struct xarray *table, u32 handle,
		 void *obj)
{
	int rc = xa_insert(table, handle, obj, GFP_KERNEL);

	if (rc != -EBUSY)
		return rc;
	vhca_break(dev, "backend used a handle twice");
	return -EIO;
}

void vhca_unpublish(struct vhca_dev *dev, struct xarray *table, u32 handle)
{
	/* Not under evt_lock: the upcall must not wait for the table's lock. */
	xa_erase(table, handle);
	/* Who found the object before that holds evt_lock while it uses it. */
	spin_lock_irq(&dev->evt_lock);
	spin_unlock_irq(&dev->evt_lock);
}
