// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Memory regions: the guest's pages are mapped, registered under the guest's
 * own address (iova), and unmapped after the physical MR is gone. Keys are the
 * physical ones. The command thread runs this.
 */
#include <errno.h>
#include <rdma/ib_user_ioctl_verbs.h>

#include "mr.h"
#include "object.h"
#include "pd.h"
#include "ucontext.h"
#include "udata.h"

#define MR_ACCESS							\
	(IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE |	\
	 IB_UVERBS_ACCESS_REMOTE_READ | IB_UVERBS_ACCESS_REMOTE_ATOMIC |\
	 IB_UVERBS_ACCESS_MW_BIND | IB_UVERBS_ACCESS_ZERO_BASED |	\
	 IB_UVERBS_ACCESS_OPTIONAL_RANGE)

#define REREG_TRANS	1u
#define REREG_PD	2u
#define REREG_ACCESS	4u

/* With any of these the kernel registers only what it may write to. */
#define MR_WRITES							\
	(IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE |	\
	 IB_UVERBS_ACCESS_REMOTE_ATOMIC | IB_UVERBS_ACCESS_MW_BIND)

/* On-demand paging and huge pages make no sense over grants. */
static int access_check(uint32_t access)
{
	if (access & (IB_UVERBS_ACCESS_ON_DEMAND | IB_UVERBS_ACCESS_HUGETLB))
		return -EOPNOTSUPP;
	return access & ~(uint32_t)MR_ACCESS ? -EINVAL : 0;
}

static int range_check(const struct xenvhca_reg_mr_req *r)
{
	if (r->iova + r->length < r->iova)
		return -EINVAL;
	if ((r->iova ^ r->page_offset) & (XENVHCA_PAGE_SIZE - 1))
		return -EINVAL;
	return be_gmap_check_range(r->pages.nr_pages, r->page_offset,
				   r->length);
}

/* May the pages of a region be granted read-only? */
static bool may_be_readonly(const struct be_dev *dev, uint32_t access)
{
	return dev->info.flags & XENVHCA_INFO_READONLY &&
	       !(access & (uint32_t)MR_WRITES);
}

static int mr_register(const struct be_cmd *c, struct be_mr *mr,
		       const struct be_pd *pd)
{
	const struct xenvhca_reg_mr_req *r = &c->req->u.reg_mr;
	struct ib_uverbs_reg_mr cmd = {
		.start = (uintptr_t)mr->mem.addr + r->page_offset,
		.length = r->length,
		.hca_va = r->iova,
		.pd_handle = pd->o.host,
		.access_flags = r->access,
	};
	struct ib_uverbs_reg_mr_resp resp = {};
	struct be_udata u;
	int err = be_udata_begin(&u, c, NULL, NULL);

	if (!err)
		err = uv_reg_mr(c->uc->fd, &cmd, &u.uv, &resp);
	if (err) {
		be_gmap_unmap(c->dev, &mr->mem);
		be_obj_free(c->dev, &mr->o, BE_MR);
		return err;
	}
	be_obj_publish(c->dev, &mr->o, BE_MR, c->uc, resp.mr_handle);
	c->rsp->u.mr = (struct xenvhca_mr_rsp){
		.handle = mr->o.handle, .lkey = resp.lkey, .rkey = resp.rkey,
	};
	err = be_udata_end(&u, c, mr->o.handle);
	if (err)
		be_obj_destroy(c->dev, &mr->o);
	return err;
}

int be_reg_mr(const struct be_cmd *c)
{
	const struct xenvhca_reg_mr_req *r = &c->req->u.reg_mr;
	struct be_pd *pd;
	struct be_mr *mr;
	int err = r->reserved ? -EINVAL : access_check(r->access);

	if (!err)
		err = range_check(r);
	if (err)
		return err;
	pd = be_obj_get(c, r->pd, BE_PD, &err);
	if (!pd)
		return err;
	mr = be_obj_new(c->dev, BE_MR, sizeof(*mr), &err);
	if (!mr)
		return err;
	mr->access = r->access;
	err = be_gmap_map(c->dev, &r->pages, may_be_readonly(c->dev, r->access),
			  &mr->mem);
	if (err) {
		be_obj_free(c->dev, &mr->o, BE_MR);
		return err;
	}
	return mr_register(c, mr, pd);
}

static int mr_end(struct be_dev *dev, struct be_obj *mr)
{
	(void)dev;
	return uv_dereg_mr(mr->uc->fd, mr->host);
}

static void mr_release(struct be_dev *dev, struct be_obj *mr)
{
	be_gmap_unmap(dev, &((struct be_mr *)mr)->mem);
}

const struct be_kind be_kind_mr = { .end = mr_end, .release = mr_release };

int be_dereg_mr(const struct be_cmd *c)
{
	return be_destroy(c, BE_MR);
}

static int rereg_check(const struct xenvhca_rereg_mr_req *r)
{
	int err = 0;

	if (!r->flags || r->mr.reserved)
		return -EINVAL;
	if (r->flags & ~(REREG_TRANS | REREG_PD | REREG_ACCESS))
		return -EOPNOTSUPP;
	if (r->flags & REREG_ACCESS)
		err = access_check(r->mr.access);
	if (err)
		return err;
	if (r->flags & REREG_TRANS)
		return range_check(&r->mr);
	return be_pages_absent(&r->mr.pages) ? 0 : -EINVAL;
}

/* The old pages stay mapped unless the kernel really changed over. */
static int mr_reregister(const struct be_cmd *c, struct be_mr *mr,
			 uint32_t pd_host, struct be_gmap *mem)
{
	const struct xenvhca_rereg_mr_req *r = &c->req->u.rereg_mr;
	struct ib_uverbs_rereg_mr cmd = {
		.mr_handle = mr->o.host,
		.flags = r->flags,
		.start = (uintptr_t)mem->addr + r->mr.page_offset,
		.length = r->mr.length,
		.hca_va = r->mr.iova,
		.pd_handle = pd_host,
		.access_flags = r->mr.access,
	};
	struct ib_uverbs_rereg_mr_resp resp = {};
	struct be_gmap old = mr->mem;
	struct be_udata u;
	int err = be_udata_begin(&u, c, NULL, NULL);

	if (!err)
		err = uv_rereg_mr(c->uc->fd, &cmd, &u.uv, &resp);
	if (err)
		return err;
	if (r->flags & REREG_TRANS) {
		mr->mem = *mem;
		*mem = old;
	}
	if (r->flags & REREG_ACCESS)
		mr->access = r->mr.access;
	c->rsp->u.mr = (struct xenvhca_mr_rsp){
		.handle = mr->o.handle, .lkey = resp.lkey, .rkey = resp.rkey,
	};
	return be_udata_end(&u, c, mr->o.handle);
}

/*
 * For other memory the HCA's driver may make a new region, and the kernel takes
 * no notice when the old one cannot be destroyed because a window is bound to
 * it: the HCA would go on writing to pages that are unmapped here. Nobody tells
 * which windows are bound, but they are all of this context.
 */
static bool may_translate(const struct be_cmd *c)
{
	return !c->uc->objs[BE_MW];
}

/*
 * New pages, if the command has any. The kernel does not look again at those
 * that a region has, and a driver that writes to a read-only mapping is the end
 * of this domain.
 */
static int rereg_map(const struct be_cmd *c, const struct be_mr *mr,
		     struct be_gmap *mem)
{
	const struct xenvhca_rereg_mr_req *r = &c->req->u.rereg_mr;
	uint32_t access = r->flags & REREG_ACCESS ? r->mr.access : mr->access;

	if (!(r->flags & REREG_TRANS))
		return mr->mem.readonly && access & (uint32_t)MR_WRITES ?
			-EACCES : 0;
	return be_gmap_map(c->dev, &r->mr.pages,
			   may_be_readonly(c->dev, access), mem);
}

int be_rereg_mr(const struct be_cmd *c)
{
	const struct xenvhca_rereg_mr_req *r = &c->req->u.rereg_mr;
	struct be_gmap mem = {};
	struct be_pd *pd = NULL;
	struct be_mr *mr;
	int err = rereg_check(r);

	if (err)
		return err;
	mr = be_obj_get(c, r->handle, BE_MR, &err);
	if (!mr)
		return err;
	if (r->flags & REREG_PD) {
		pd = be_obj_get(c, r->mr.pd, BE_PD, &err);
		if (!pd)
			return err;
	}
	err = rereg_map(c, mr, &mem);
	if (!err && mem.addr && !may_translate(c))
		err = -EBUSY;
	if (!err)
		err = mr_reregister(c, mr, pd ? pd->o.host : 0, &mem);
	be_gmap_unmap(c->dev, &mem);
	return err;
}
