// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Verbs contexts: each open file of the guest's uverbs device has one, which belongs to
 * a verbs context of the physical HCA. An mmap() maps a doorbell page (doorbell.c) or
 * queue memory (range.c).
 */
#include <linux/mm.h>
#include <linux/sched/task.h>
#include <rdma/uverbs_ioctl.h>

#include "cmd.h"
#include "mmap/doorbell.h"
#include "ring/grant.h"
#include "mmap/map.h"
#include "mmap/range.h"
#include "udata.h"
#include "verbs.h"
#include "vhca-provider.h"

struct vhca_ucontext *vhca_udata_uc(struct ib_udata *udata)
{
	return rdma_udata_to_drv_context(udata, struct vhca_ucontext, ibuc);
}

struct vhca_ucontext *vhca_pd_uc(struct ib_pd *ibpd)
{
	if (!ibpd->uobject)
		return to_vdev(ibpd->device)->own_uc;
	/* ib_core holds a PD, and so its uobject, as long as its users. */
	return to_vucontext(ibpd->uobject->context);
}

/*
 * The ioctl GET_CONTEXT frees a context that could not be made together with its
 * reference to the process (Linux 6.1, uverbs_std_types_device.c, which lacks an
 * rdma_restrack_put()): the task would stay allocated. rdma-core's mlx5 first tries
 * to open with DEVX, so each program would lose one.
 */
static void forget_task(struct ib_ucontext *ibuc)
{
	if (!ibuc->res.task)
		return;
	put_task_struct(ibuc->res.task);
	ibuc->res.task = NULL;
}

int vhca_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata)
{
	struct vhca_ucontext *uc = to_vucontext(ibuc);
	struct vhca_dev *dev = to_vdev(ibuc->device);
	int rc;

	mutex_init(&uc->lock);
	spin_lock_init(&uc->orphan_lock);
	vhca_ranges_init(uc);
	INIT_LIST_HEAD(&uc->maps);
	INIT_LIST_HEAD(&uc->doorbells);
	INIT_LIST_HEAD(&uc->orphans);
	INIT_LIST_HEAD(&uc->dbpages);
	rc = vhca_cmd_alloc_ucontext(dev, udata, &uc->handle);
	if (rc) {
		forget_task(ibuc);
		return rc;
	}
	ibdev_dbg(&dev->ibdev, "created ucontext %u\n", uc->handle);
	return 0;
}

/*
 * The backend destroys all objects that are left in the context, unmaps their memory,
 * and only then answers. Pages that it still maps become zombies (grant.c).
 */
void vhca_dealloc_ucontext(struct ib_ucontext *ibuc)
{
	struct vhca_ucontext *uc = to_vucontext(ibuc);
	struct vhca_dev *dev = to_vdev(ibuc->device);
	struct vhca_mem *mem, *next;
	int rc;

	vhca_map_flush(uc);
	cancel_delayed_work_sync(&uc->ended_work);
	rc = vhca_cmd_dealloc_ucontext(dev, uc->handle);
	vhca_gone(dev, "ucontext", uc->handle, rc);
	vhca_doorbell_drop(uc, rc);
	vhca_ranges_free(uc);
	list_for_each_entry_safe(mem, next, &uc->orphans, list) {
		list_del_init(&mem->list);
		vhca_mem_put(mem);
	}
	vhca_dbpages_free(uc);
	mutex_destroy(&uc->lock);
}

/* ib_core takes the device away while processes have it open. */
void vhca_disassociate_ucontext(struct ib_ucontext *ibuc)
{
	vhca_map_zap(to_vucontext(ibuc));
	vhca_doorbell_zap(to_vucontext(ibuc));
}

int vhca_mmap(struct ib_ucontext *ibuc, struct vm_area_struct *vma)
{
	struct vhca_ucontext *uc = to_vucontext(ibuc);
	const struct vhca_mmap *row;

	row = vhca_provider_mmap(to_vdev(ibuc->device)->provider,
				 (u64)vma->vm_pgoff << PAGE_SHIFT);
	return row ? vhca_doorbell_mmap(uc, vma, row) :
		     vhca_range_mmap(uc, vma);
}
