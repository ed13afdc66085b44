// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Verbs contexts: each open file of the guest's uverbs device has one, with a
 * verbs context of the physical HCA behind it. This file also has the memory
 * that cannot be given back before the context ends ("orphans"), and mmap of
 * queue memory, which runs in the process that asks. The backend's lists are
 * checked here, page by page, before map.c maps them.
 */
#include <linux/mm.h>
#include <rdma/uverbs_ioctl.h>

#include "check.h"
#include "cmd.h"
#include "doorbell.h"
#include "grant.h"
#include "map.h"
#include "verbs.h"
#include "vhca-provider.h"

/* A queue is megabytes; more than this (4 GiB) is a mistake of a peer. */
#define VHCA_MAP_MAX_PAGES	(1u << 20)

struct vhca_ucontext *vhca_udata_uc(struct ib_udata *udata)
{
	return rdma_udata_to_drv_context(udata, struct vhca_ucontext, ibuc);
}

struct vhca_ucontext *vhca_pd_uc(struct ib_pd *ibpd)
{
	/* ib_core holds a PD, and so its uobject, as long as its users. */
	return to_vucontext(ibpd->uobject->context);
}

int vhca_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata)
{
	struct vhca_ucontext *uc = to_vucontext(ibuc);
	struct vhca_dev *dev = to_vdev(ibuc->device);
	int rc;

	mutex_init(&uc->lock);
	spin_lock_init(&uc->orphan_lock);
	INIT_LIST_HEAD(&uc->maps);
	INIT_LIST_HEAD(&uc->doorbells);
	INIT_LIST_HEAD(&uc->orphans);
	rc = vhca_cmd_alloc_ucontext(dev, udata, &uc->handle);
	if (rc)
		return rc;
	ibdev_dbg(&dev->ibdev, "created ucontext %u\n", uc->handle);
	return 0;
}

/*
 * Last of all: the backend destroys what is left in the context, unmaps our
 * memory, and only then answers. What it does not let go of becomes a zombie
 * of grant.c.
 */
void vhca_dealloc_ucontext(struct ib_ucontext *ibuc)
{
	struct vhca_ucontext *uc = to_vucontext(ibuc);
	struct vhca_dev *dev = to_vdev(ibuc->device);
	struct vhca_mem *mem, *next;
	int rc;

	vhca_map_flush(uc);
	rc = vhca_cmd_dealloc_ucontext(dev, uc->handle);
	vhca_gone(dev, "ucontext", uc->handle, rc);
	vhca_doorbell_drop(uc, rc);
	list_for_each_entry_safe(mem, next, &uc->orphans, list) {
		list_del_init(&mem->list);
		vhca_mem_put(mem);
	}
	mutex_destroy(&uc->lock);
}

/* ib_core takes the device away while processes have it open. */
void vhca_disassociate_ucontext(struct ib_ucontext *ibuc)
{
	vhca_map_zap(to_vucontext(ibuc));
	vhca_doorbell_zap(to_vucontext(ibuc));
}

void vhca_uc_adopt(struct vhca_ucontext *uc, struct vhca_mem *mem)
{
	if (!mem)
		return;
	spin_lock(&uc->orphan_lock);
	list_add(&mem->list, &uc->orphans);
	spin_unlock(&uc->orphan_lock);
}

/*
 * Fetch the references of a whole range. *granted tells whether the backend
 * has granted it, so that it must hear of a failure.
 */
static int vhca_mmap_fetch(struct vhca_ucontext *uc, u64 offset, u32 nr_pages,
			   grant_ref_t *ref, bool *granted)
{
	struct vhca_dev *dev = to_vdev(uc->ibuc.device);
	struct xenvhca_mmap_rsp rsp;
	struct xenvhca_mmap_req req = {
		.offset = offset,
		.length = (u64)nr_pages << XEN_PAGE_SHIFT,
	};
	u32 i;
	int rc;

	while (req.first < nr_pages) {
		rc = vhca_cmd_mmap(uc, &req, &rsp);
		if (rc)
			return rc;
		*granted = true;
		if (!vhca_check_mmap(&rsp, req.first, nr_pages)) {
			ibdev_warn_ratelimited(&dev->ibdev,
					       "mmap %#llx: backend answered with a bad list (%u of %u pages, want %u)\n",
					       offset, rsp.count, rsp.nr_pages,
					       nr_pages);
			return -EIO;
		}
		for (i = 0; i < rsp.count; i++)
			ref[req.first + i] = rsp.gref[i];
		req.first += rsp.count;
	}
	return 0;
}

/* Queue memory of the HCA's driver. */
static int vhca_queue_mmap(struct vhca_ucontext *uc,
			   struct vm_area_struct *vma)
{
	u64 offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	unsigned long nr_pages = vma_pages(vma);
	bool granted = false;
	grant_ref_t *ref;
	int rc;

	if (!(vma->vm_flags & VM_SHARED) || nr_pages > VHCA_MAP_MAX_PAGES)
		return -EINVAL;
	ref = kvcalloc(nr_pages, sizeof(*ref), GFP_KERNEL);
	if (!ref)
		return -ENOMEM;
	rc = vhca_mmap_fetch(uc, offset, nr_pages, ref, &granted);
	if (!rc) {
		rc = vhca_map_grants(uc, vma, ref, nr_pages, offset);
		/* Mapped already: the other mapping has to stay. */
		if (rc == -EINVAL)
			granted = false;
	}
	if (rc && granted)
		vhca_cmd_munmap(to_vdev(uc->ibuc.device), uc->handle, offset);
	kvfree(ref);
	return rc;
}

int vhca_mmap(struct ib_ucontext *ibuc, struct vm_area_struct *vma)
{
	struct vhca_ucontext *uc = to_vucontext(ibuc);
	const struct vhca_mmap *row;

	row = vhca_provider_mmap(to_vdev(ibuc->device)->provider,
				 (u64)vma->vm_pgoff << PAGE_SHIFT);
	return row ? vhca_doorbell_mmap(uc, vma, row) :
		     vhca_queue_mmap(uc, vma);
}
