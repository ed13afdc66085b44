// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Queue memory of the backend's HCA between the command that makes it and the mmap() of
 * the process. The answer to a create command announces a range (VHCA_KEY) and has its
 * grant references, as far as there is room. The rest is fetched at once, because
 * mmap() holds the process's mmap_lock, and must not wait for the backend. The process
 * maps a range once; a range that it has not mapped ends with the object (range_end.c).
 */
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "ring/check.h"
#include "map.h"
#include "range.h"
#include "vhca.h"
#include "vhca-provider.h"

#define VHCA_FETCH_MAX		(60 * HZ)	/* all answers together */

struct vhca_range {
	struct list_head list;		/* uc->ranges */
	u64 offset;			/* as the provider passes it to mmap() */
	u32 owner;			/* handle of the object */
	u32 nr;
	u32 charged;			/* pages, in dev->queue_pages */
	int err;			/* why it could not be fetched, or 0 */
	grant_ref_t *ref;
};

static void range_drop_refs(struct vhca_ucontext *uc, struct vhca_range *r)
{
	kvfree(r->ref);
	r->ref = NULL;
	vhca_range_uncharge(to_vdev(uc->ibuc.device), r->charged);
	r->charged = 0;
}

static void range_free(struct vhca_ucontext *uc, struct vhca_range *r)
{
	range_drop_refs(uc, r);
	kfree(r);
}

static void range_add(struct vhca_ucontext *uc, struct vhca_range *r)
{
	spin_lock(&uc->range_lock);
	list_add(&r->list, &uc->ranges);
	spin_unlock(&uc->range_lock);
}

/* ---- references ---- */

u32 vhca_ranges_flags(const struct vhca_udata_op *row)
{
	unsigned int i;

	if (!row)
		return 0;
	for (i = 0; i < VHCA_MAX_FIELDS && row->rsp[i].kind != VHCA_END; i++)
		if (row->rsp[i].kind == VHCA_KEY)
			return XENVHCA_REQ_RANGES;
	return 0;
}

/* References of the n-th range in an answer. NULL: there are none. */
struct answer {
	const struct xenvhca_made_rsp *made;
	unsigned int n;
};

static u32 answer_nr(const struct answer *answer)
{
	return answer->made ? answer->made->count[answer->n] : 0;
}

static int answer_take(const struct vhca_ucontext *uc,
		       const struct answer *answer, struct vhca_range *r)
{
	u32 first;

	if (!answer->made)
		return 0;
	if (!vhca_check_made(answer->made, answer->n, r->nr, &first)) {
		ibdev_warn_ratelimited(uc->ibuc.device,
				       "backend answered with a bad list (%u of %u pages)\n",
				       answer_nr(answer), r->nr);
		return -EIO;
	}
	memcpy(r->ref, answer->made->gref + first,
	       answer_nr(answer) * sizeof(*r->ref));
	return 0;
}

/* *granted: out, the backend has granted pages, so a failure ends the range there. */
static int range_read(struct vhca_ucontext *uc, struct vhca_range *r,
		      u32 first, bool *granted)
{
	unsigned long end = jiffies + VHCA_FETCH_MAX;
	struct vhca_dev *dev = to_vdev(uc->ibuc.device);
	struct xenvhca_mmap_req req = {
		.offset = r->offset,
		.length = (u64)r->nr << XEN_PAGE_SHIFT,
		.first = first,
	};
	struct xenvhca_mmap_rsp rsp;
	u32 i;
	int rc;

	while (req.first < r->nr) {
		rc = vhca_cmd_mmap(uc, &req, 0, &rsp);
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

static int range_fill(struct vhca_ucontext *uc, struct vhca_range *r,
		      const struct answer *answer)
{
	int err = vhca_range_charge(to_vdev(uc->ibuc.device), r->nr);
	bool granted = answer_nr(answer);

	if (!err) {
		r->charged = r->nr;
		r->ref = kvcalloc(r->nr, sizeof(*r->ref), GFP_KERNEL_ACCOUNT);
		err = r->ref ? answer_take(uc, answer, r) : -ENOMEM;
	}
	if (!err)
		err = range_read(uc, r, answer_nr(answer), &granted);
	if (!err)
		return 0;
	range_drop_refs(uc, r);
	if (granted)
		vhca_range_end(uc, r->offset, r->nr);
	return err;
}

/* The object exists already: the error of a fetch is an error of mmap(). */
static void range_fetch(struct vhca_ucontext *uc, u32 owner, u64 offset,
			u32 size, const struct answer *answer)
{
	u32 nr = ((u64)size + XEN_PAGE_SIZE - 1) >> XEN_PAGE_SHIFT;
	struct vhca_range *r;

	r = kzalloc(sizeof(*r), GFP_KERNEL_ACCOUNT);
	if (!r) {
		if (answer_nr(answer))
			vhca_range_end(uc, offset, nr);
		return;
	}
	r->owner = owner;
	r->offset = offset;
	r->nr = nr;
	r->err = range_fill(uc, r, answer);
	range_add(uc, r);
}

static struct answer answer_find(const struct vhca_cmd *cmd, unsigned int n)
{
	bool any = cmd->req.flags & XENVHCA_REQ_RANGES &&
		   n < XENVHCA_MADE_RANGES;

	return (struct answer){ any ? &cmd->rsp.u.made : NULL, n };
}

void vhca_ranges_fetch(struct vhca_ucontext *uc, u32 owner,
		       const struct vhca_cmd *cmd)
{
	const struct vhca_udata_op *row = cmd->row;
	const struct vhca_field *f;
	unsigned int n = 0;
	struct answer answer;
	u64 offset;
	u32 size;

	for (f = row->rsp;
	     f < row->rsp + VHCA_MAX_FIELDS && f->kind != VHCA_END; f++) {
		if (f->kind != VHCA_KEY)
			continue;
		answer = answer_find(cmd, n++);
		if (f->off + sizeof(offset) + sizeof(size) > cmd->rsp.out_len)
			continue;
		memcpy(&offset, cmd->rsp.udata + f->off, sizeof(offset));
		memcpy(&size, cmd->rsp.udata + f->off + sizeof(offset),
		       sizeof(size));
		if (size)
			range_fetch(uc, owner, offset, size, &answer);
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
		bool granted = !r->err;
		u64 offset = r->offset;
		u32 nr = r->nr;

		/*
		 * First uncharge: after MUNMAP the backend may grant as many pages
		 * anew.
		 */
		range_free(uc, r);
		if (granted)
			vhca_range_end(uc, offset, nr);
	}
}

void vhca_ranges_free(struct vhca_ucontext *uc)
{
	struct vhca_range *r;

	while ((r = range_take(uc, NULL, 0)))
		range_free(uc, r);
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
	if (rc && !tried) {
		range_add(uc, r);	/* as it was before the call */
		return rc;
	}
	r->charged -= nr;		/* the map's */
	range_free(uc, r);
	return rc;
}
