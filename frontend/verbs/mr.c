// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Memory regions: the frontend pins and grants (grant.c), then the backend
 * registers the same pages under the same iova; lkey and rkey are the physical
 * ones. Memory is given back after the backend has confirmed the end of the
 * region, or with the ucontext if it does not confirm.
 */
#include <linux/slab.h>

#include "cmd.h"
#include "ring/grant.h"
#include "verbs.h"

/*
 * HUGETLB says something about the process' mapping, not about the region,
 * and would not hold for the backend's mapping. On-demand paging is refused.
 */
#define VHCA_MR_ACCESS							\
	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |		\
	 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC |		\
	 IB_ACCESS_MW_BIND | IB_ZERO_BASED | IB_ACCESS_HUGETLB |	\
	 IB_ACCESS_OPTIONAL)

/* ib_umem_get() refuses these ranges, too, but with -ENOMEM. */
static bool mr_range_ok(u64 start, u64 length)
{
	u64 end = start + length;

	return length && end >= start && PAGE_ALIGN(end) >= end &&
	       (PAGE_ALIGN(end) - (start & PAGE_MASK)) >> PAGE_SHIFT <=
		       UINT_MAX;
}

static struct vhca_mem *mr_mem(struct vhca_dev *dev, u64 start,
			       u64 length, u64 iova, int access,
			       struct xenvhca_reg_mr_req *req)
{
	struct vhca_mem *mem;

	if (!mr_range_ok(start, length))
		return ERR_PTR(-EINVAL);
	if (length > dev->attr.max_mr_size) {
		ibdev_err_ratelimited(&dev->ibdev,
				      "MR of %llu bytes exceeds max_mr_size %llu: raise max_grant_frames of this domain or max-pinned-mb of the vhca (over Soft-RoCE 1 GiB may be the most)\n",
				      length, dev->attr.max_mr_size);
		return ERR_PTR(-ENOMEM);
	}
	mem = vhca_mem_get(dev, start, length, access);
	if (IS_ERR(mem))
		return mem;
	req->iova = iova;
	req->length = length;
	req->page_offset = mem->page_offset;
	req->pages = mem->pages;
	return mem;
}

struct ib_mr *vhca_reg_mr(struct ib_pd *ibpd, u64 start, u64 length, u64 iova,
			  int access, VHCA_DMAH struct ib_udata *udata)
{
	struct vhca_ucontext *uc = vhca_udata_uc(udata);
	struct xenvhca_reg_mr_req req = {
		.pd = to_vpd(ibpd)->handle,
		.access = access & ~IB_ACCESS_HUGETLB,
	};
	struct xenvhca_mr_rsp rsp;
	struct vhca_mr *mr;
	int rc;

	if (access & ~VHCA_MR_ACCESS)
		return ERR_PTR(-EOPNOTSUPP);
	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->mem = mr_mem(to_vdev(ibpd->device), start, length, iova,
			 access, &req);
	if (IS_ERR(mr->mem)) {
		rc = PTR_ERR(mr->mem);
		goto err_free;
	}
	rc = vhca_cmd_reg_mr(uc, &req, udata, &rsp);
	if (rc)
		goto err_mem;
	vhca_mem_drop_dirs(mr->mem);
	atomic64_add(mr->mem->pages.nr_pages, &uc->nr_pages);
	mr->handle = rsp.handle;
	mr->access = access;
	mr->ibmr.lkey = rsp.lkey;
	mr->ibmr.rkey = rsp.rkey;
	ibdev_dbg(ibpd->device, "created mr %u\n", mr->handle);
	return &mr->ibmr;

err_mem:
	if (vhca_cmd_unknown(rc))
		vhca_uc_adopt(uc, mr->mem);
	else
		vhca_mem_put(mr->mem);
err_free:
	kfree(mr);
	return ERR_PTR(rc);
}

/* The region stays the same object. */
vhca_rereg_t vhca_rereg_mr(struct ib_mr *ibmr, int flags, u64 start,
			   u64 length, u64 iova, int access,
			   struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct vhca_ucontext *uc = vhca_udata_uc(udata);
	struct vhca_mr *mr = to_vmr(ibmr);
	struct xenvhca_rereg_mr_req req = {
		.handle = mr->handle,
		.flags = flags,
		.mr.pd = flags & IB_MR_REREG_PD ? to_vpd(ibpd)->handle : 0,
	};
	struct vhca_mem *mem = NULL;
	struct xenvhca_mr_rsp rsp;
	int rc;

	if (flags & IB_MR_REREG_ACCESS) {
		if (access & ~VHCA_MR_ACCESS)
			return vhca_reregged(-EOPNOTSUPP);
		req.mr.access = access & ~IB_ACCESS_HUGETLB;
	} else {
		access = mr->access;
	}
	/* Memory that was pinned read-only stays so: it can be a page of a file. */
	if (!(flags & IB_MR_REREG_TRANS) && ib_access_writable(access) &&
	    vhca_mem_readonly(mr->mem))
		return vhca_reregged(-EACCES);
	if (flags & IB_MR_REREG_TRANS) {
		mem = mr_mem(to_vdev(ibmr->device), start, length, iova,
			     access, &req.mr);
		if (IS_ERR(mem))
			return vhca_reregged(PTR_ERR(mem));
	}
	rc = vhca_cmd_rereg_mr(uc, &req, udata, &rsp);
	if (rc) {
		/* If unknown, either list may be the mapped one: hold both. */
		if (vhca_cmd_unknown(rc))
			vhca_uc_adopt(uc, mem);
		else
			vhca_mem_put(mem);
		return vhca_reregged(rc);
	}
	if (mem) {
		vhca_mem_drop_dirs(mem);
		atomic64_add((s64)mem->pages.nr_pages -
			     mr->mem->pages.nr_pages, &uc->nr_pages);
		vhca_mem_put(mr->mem);
		mr->mem = mem;
	}
	mr->access = access;
	ibmr->lkey = rsp.lkey;
	ibmr->rkey = rsp.rkey;
	return vhca_reregged(0);
}

/*
 * A bound memory window holds its region. Without a window in the PD the process need
 * not see a refusal. While ib_uverbs destroys a region that the process has never got,
 * the verb may not fail, and no window can be bound to the region.
 */
static bool mr_may_be_held(const struct ib_mr *ibmr)
{
	/* On the list from its commit until after it is destroyed. */
	return atomic_read(&to_vpd(ibmr->pd)->mws) &&
	       !list_empty(&ibmr->uobject->list) &&
	       vhca_ring_up(&to_vdev(ibmr->device)->ring);
}

/* Only this destroy verb may fail. */
int vhca_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct vhca_ucontext *uc = vhca_pd_uc(ibmr->pd);
	struct vhca_mr *mr = to_vmr(ibmr);
	int rc;

	rc = vhca_cmd_destroy(uc, XENVHCA_OP_DEREG_MR, mr->handle);
	if ((rc == -EINVAL || rc == -EBUSY) && mr_may_be_held(ibmr)) {
		vhca_leave_count(uc, 1);	/* the region still exists */
		return rc;
	}
	atomic64_sub(mr->mem->pages.nr_pages, &uc->nr_pages);
	vhca_release(uc, "mr", mr->handle, rc, mr->mem);
	kfree(mr);
	return 0;
}
