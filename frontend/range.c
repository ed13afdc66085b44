// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Queue memory of the backend's HCA between the command that makes it and the
 * mmap() of the process. The answer to a create command announces a range
 * (VHCA_KEY). Its grant references are fetched at once, because mmap() has the
 * process's mmap_lock, which the backend must not hold up. The process maps a
 * range once; what it has not mapped ends with the object.
 */
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "check.h"
#include "cmd.h"
#include "map.h"
#include "range.h"
#include "verbs.h"
#include "vhca-provider.h"

/* A queue is megabytes; more than this (1 GiB) is a mistake of a peer. */
#define VHCA_MAP_MAX_PAGES	(1u << 18)
#define VHCA_FETCH_MAX		(60 * HZ)	/* all answers together */

struct vhca_range {
	struct list_head list;		/* uc->ranges */
	u64 offset;			/* as the provider passes it to mmap() */
	u32 owner;			/* handle of the object */
	u32 nr;
	int err;			/* why it could not be fetched, or 0 */
	grant_ref_t *ref;
};

static void range_free(struct vhca_range *r)
{
	kvfree(r->ref);
	kfree(r);
}

static void range_add(struct vhca_ucontext *uc, struct vhca_range *r)
{
	spin_lock(&uc->range_lock);
	list_add(&r->list, &uc->ranges);
	spin_unlock(&uc->range_lock);
}

/* *granted: the backend has granted it, so that it must hear of a failure. */
static int range_read(struct vhca_ucontext *uc, struct vhca_range *r,
		      bool *granted)
{
	unsigned long end = jiffies + VHCA_FETCH_MAX;
	struct vhca_dev *dev = to_vdev(uc->ibuc.device);
	struct xenvhca_mmap_req req = {
		.offset = r->offset,
		.length = (u64)r->nr << XEN_PAGE_SHIFT,
	};
	struct xenvhca_mmap_rsp rsp;
	u32 i;
	int rc;

	while (req.first < r->nr) {
		rc = vhca_cmd_mmap(uc, &req, &rsp);
		if (rc)
			return rc;
		*granted = true;
		if (!vhca_check_mmap(&rsp, req.first, r->nr)) {
			ibdev_warn_ratelimited(&dev->ibdev,
					       "mmap %#llx: backend answered with a bad list (%u of %u pages, want %u)\n",
					       r->offset, rsp.count,
					       rsp.nr_pages, r->nr);
			return -EIO;
		}
		for (i = 0; i < rsp.count; i++)
			r->ref[req.first + i] = rsp.gref[i];
		req.first += rsp.count;
		if (time_after(jiffies, end))
			return -ETIMEDOUT;
	}
	return 0;
}

/* The object is made; a range that cannot be had is an error of mmap(). */
static void range_fetch(struct vhca_ucontext *uc, u32 owner, u64 offset,
			u32 size)
{
	struct vhca_range *r;
	bool granted = false;

	r = kzalloc(sizeof(*r), GFP_KERNEL_ACCOUNT);
	if (!r)
		return;
	r->owner = owner;
	r->offset = offset;
	r->nr = ((u64)size + XEN_PAGE_SIZE - 1) >> XEN_PAGE_SHIFT;
	if (r->nr <= VHCA_MAP_MAX_PAGES)
		r->ref = kvcalloc(r->nr, sizeof(*r->ref), GFP_KERNEL_ACCOUNT);
	r->err = r->ref ? range_read(uc, r, &granted) : -ENOMEM;
	if (r->err && granted)
		vhca_cmd_munmap(to_vdev(uc->ibuc.device), uc->handle, offset);
	if (r->err) {
		kvfree(r->ref);
		r->ref = NULL;
	}
	range_add(uc, r);
}

void vhca_ranges_fetch(struct vhca_ucontext *uc, u32 owner,
		       const struct vhca_cmd *cmd)
{
	const struct vhca_udata_op *row;
	const struct vhca_field *f;
	u64 offset;
	u32 size;

	row = vhca_provider_op(to_vdev(uc->ibuc.device)->provider, cmd->req.op);
	if (!row)
		return;
	for (f = row->rsp;
	     f < row->rsp + VHCA_MAX_FIELDS && f->kind != VHCA_END; f++) {
		if (f->kind != VHCA_KEY ||
		    f->off + sizeof(offset) + sizeof(size) > cmd->rsp.out_len)
			continue;
		memcpy(&offset, cmd->rsp.udata + f->off, sizeof(offset));
		memcpy(&size, cmd->rsp.udata + f->off + sizeof(offset),
		       sizeof(size));
		if (size)
			range_fetch(uc, owner, offset, size);
	}
}

/* Takes a range off the list: by offset, or else any of @owner, 0: any. */
static struct vhca_range *range_take(struct vhca_ucontext *uc,
				     const u64 *offset, u32 owner)
{
	struct vhca_range *r, *found = NULL;

	spin_lock(&uc->range_lock);
	list_for_each_entry(r, &uc->ranges, list) {
		if (offset ? r->offset == *offset :
			     !owner || r->owner == owner) {
			list_del(&r->list);
			found = r;
			break;
		}
	}
	spin_unlock(&uc->range_lock);
	return found;
}

void vhca_ranges_drop(struct vhca_ucontext *uc, u32 owner)
{
	struct vhca_range *r;

	while ((r = range_take(uc, NULL, owner))) {
		if (!r->err)
			vhca_cmd_munmap(to_vdev(uc->ibuc.device), uc->handle,
					r->offset);
		range_free(r);
	}
}

void vhca_ranges_free(struct vhca_ucontext *uc)
{
	struct vhca_range *r;

	while ((r = range_take(uc, NULL, 0)))
		range_free(r);
}

int vhca_range_mmap(struct vhca_ucontext *uc, struct vm_area_struct *vma)
{
	u64 offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	unsigned long nr = vma_pages(vma);
	struct vhca_range *r;
	bool tried = false;
	int rc;

	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	r = range_take(uc, &offset, 0);
	if (!r)
		return -EINVAL;
	rc = nr <= r->nr ? r->err : -EINVAL;
	if (!rc)
		rc = vhca_map_grants(uc, vma, r->ref, nr, offset, &tried);
	if (rc && !tried)
		range_add(uc, r);	/* as it was before the call */
	else
		range_free(r);
	return rc;
}
