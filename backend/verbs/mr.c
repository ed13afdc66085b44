// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Memory regions: the guest's pages are mapped, registered under the guest's
 * own address (iova), and unmapped after the physical MR is gone. Keys are the
 * physical ones. The command thread runs this, but of large regions a job thread
 * registers and deregisters (jobs.h).
 *
 * If the HCA's driver takes a dma-buf, the pages are mapped for the HCA alone: the
 * physical MR holds the dma-buf, and its end unmaps them. What the helper makes no
 * dma-buf of is mapped into the worker as for other HCAs.
 */
#include <errno.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <stdlib.h>

#include "jobs.h"
#include "object.h"
#include "core/sys.h"
#include "ucontext.h"
#include "udata.h"

#define MR_ACCESS							\
	(IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE |	\
	 IB_UVERBS_ACCESS_REMOTE_READ | IB_UVERBS_ACCESS_REMOTE_ATOMIC |\
	 IB_UVERBS_ACCESS_MW_BIND | IB_UVERBS_ACCESS_ZERO_BASED |	\
	 IB_UVERBS_ACCESS_OPTIONAL_RANGE)

/*
 * Of a region by a dma-buf. The kernel would take relaxed ordering as well, but then
 * mlx5 has the HCA translate the addresses by ATS if it can, which Xen controls.
 */
#define MR_DMABUF							\
	(IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE |	\
	 IB_UVERBS_ACCESS_REMOTE_READ | IB_UVERBS_ACCESS_REMOTE_ATOMIC)

#define MR_UMR_REACH	(256ull << 20)	/* without extended offsets: mlx5's umr.h */
#define MR_NO_FILE	INT32_MAX	/* a descriptor that is not open */

#define ODP_SUPPORT	1u		/* ibverbs: IBV_ODP_SUPPORT */

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

static bool may_be_dmabuf(const struct be_dev *dev,
			  const struct xenvhca_reg_mr_req *r)
{
	return r->length < dev->dmabuf_end &&
	       !(r->pages.flags & XENVHCA_PAGES_READONLY) &&
	       !(r->access & ~(uint32_t)MR_DMABUF);
}

static bool is_dmabuf(const struct be_mr *mr)
{
	return mr->mem.nr_pages && !mr->mem.addr;
}

/*
 * mlx5 looks at the descriptor last, but of one thing: that of Linux 6.12 makes an event
 * queue for page faults behind it, also for a dma-buf that never moves, and answers
 * EOPNOTSUPP if the HCA has no ODP (mlx5r_odp_create_eq()).
 */
static bool takes_dmabuf(const struct be_dev *dev, uint32_t pd, uint64_t length)
{
	const struct ib_uverbs_reg_mr cmd = { .length = length, .pd_handle = pd };
	struct ib_uverbs_reg_mr_resp resp;

	return uv_reg_dmabuf_mr(dev->ctl_fd, dev->prov->driver_id, MR_NO_FILE,
				&cmd, &resp) == -EBADF;
}

uint64_t be_dmabuf_end(struct be_dev *dev, uint64_t odp)
{
	uint64_t answer[2], end = 0;	/* of the driver, which nobody reads */
	const struct uv_udata ud = { .out = answer, .out_len = sizeof(answer) };
	uint32_t pd;

	if (!dev->prov->dmabuf || !(odp & ODP_SUPPORT) ||
	    uv_alloc_pd(dev->ctl_fd, &ud, &pd))
		return 0;
	if (takes_dmabuf(dev, pd, MR_UMR_REACH))
		end = UINT64_MAX;
	else if (takes_dmabuf(dev, pd, XENVHCA_PAGE_SIZE))
		end = MR_UMR_REACH;
	uv_dealloc_pd(dev->ctl_fd, pd);
	return end;
}

/* A region on its way, mr->mem included. */
struct mr_job {
	struct be_job job;
	struct be_mr *mr;
	struct be_pd *pd;
	struct xenvhca_reg_mr_req req;
	struct be_udata u;
	struct ib_uverbs_reg_mr_resp resp;
};

/* Consumes dmabuf, which is < 0 if the pages are mapped here. */
static int mr_host(struct be_dev *dev, struct mr_job *j, int dmabuf,
		   const struct ib_uverbs_reg_mr *cmd)
{
	int fd = j->job.uc->file->fd, err;

	if (dmabuf < 0)
		return uv_reg_mr(fd, cmd, &j->u.uv, &j->resp);
	err = uv_reg_dmabuf_mr(fd, dev->prov->driver_id, dmabuf, cmd, &j->resp);
	be_sys_close(dmabuf);
	if (!err)
		BE_STAT_ADD(dev, dmabuf_pages, j->req.pages.nr_pages);
	return err;
}

static int mr_register(struct be_dev *dev, struct be_job *job)
{
	struct mr_job *j = (struct mr_job *)job;
	struct be_gmap *mem = &j->mr->mem;
	struct ib_uverbs_reg_mr cmd = {
		.length = j->req.length,
		.hca_va = j->req.iova,
		.pd_handle = j->pd->o.host,
		.access_flags = j->req.access,
	};
	int dmabuf = -1;
	int err;

	mem->place = (struct be_place){ j->req.iova - j->req.page_offset,
					dev->prov->mr_bits };
	err = be_gmap_fill(dev, &j->req.pages,
			   may_be_dmabuf(dev, &j->req) ? &dmabuf : NULL, mem);
	if (err)
		return err;
	cmd.start = (uintptr_t)mem->addr + j->req.page_offset;
	err = mr_host(dev, j, dmabuf, &cmd);
	if (err)
		be_gmap_empty(dev, mem);
	return err;
}

static int mr_registered(const struct be_cmd *c, struct be_job *job)
{
	struct mr_job *j = (struct mr_job *)job;
	struct be_mr *mr = j->mr;
	int err;

	j->pd->jobs--;
	mr->pd = j->pd;
	c->rsp->u.mr = (struct xenvhca_mr_rsp){
		.handle = mr->o.handle, .lkey = j->resp.lkey,
		.rkey = j->resp.rkey,
	};
	err = be_obj_made(c, &j->u, &mr->o, BE_MR, j->resp.mr_handle, job->err);
	free(j);
	return err;
}

/* What the command thread has to say about it, and to reserve. */
static int mr_prepare(const struct be_cmd *c, struct mr_job *j)
{
	const struct xenvhca_reg_mr_req *r = &c->req->u.reg_mr;
	int err;

	j->mr = be_obj_new(c, BE_MR, sizeof(*j->mr), &err);
	if (!j->mr)
		return err;
	j->mr->access = r->access;
	err = be_gmap_charge(c->dev, &r->pages,
			     may_be_readonly(c->dev, r->access), &j->mr->mem);
	if (!err)
		err = be_udata_begin(&j->u, c, NULL, NULL);
	return err ? be_obj_made(c, NULL, &j->mr->o, BE_MR, 0, err) : 0;
}

int be_reg_mr(const struct be_cmd *c)
{
	const struct xenvhca_reg_mr_req *r = &c->req->u.reg_mr;
	struct mr_job *j;
	struct be_pd *pd;
	int err = r->reserved ? -EINVAL : access_check(r->access);

	if (!err)
		err = range_check(r);
	if (err)
		return err;
	pd = be_handle_get(c->dev->handles, r->pd, BE_PD, c->uc);
	if (!pd)
		return -ENOENT;
	j = calloc(1, sizeof(*j));
	if (!j)
		return -ENOMEM;
	err = mr_prepare(c, j);
	if (err) {
		free(j);
		return err;
	}
	j->job.drops = true;
	j->job.run = mr_register;
	j->job.end = mr_registered;
	j->req = *r;
	j->pd = pd;
	pd->jobs++;
	return be_job_do(c, &j->job, r->pages.nr_pages > BE_JOB_PAGES);
}

static void mr_release(struct be_dev *dev, struct be_obj *mr)
{
	be_gmap_unmap(dev, &((struct be_mr *)mr)->mem);
}

static bool mr_busy(const struct be_obj *mr)
{
	return ((const struct be_mr *)mr)->busy;
}

const struct be_kind be_kind_mr = {
	.busy = mr_busy, .host_end = uv_dereg_mr, .release = mr_release,
};

/* A region on its way out. */
struct mr_end_job {
	struct be_job job;
	struct be_mr *mr;
};

static int mr_deregister(struct be_dev *dev, struct be_job *job)
{
	struct be_mr *mr = ((struct mr_end_job *)job)->mr;
	int err = uv_dereg_mr(mr->o.uc->file->fd, mr->o.host);

	if (!err)
		be_gmap_empty(dev, &mr->mem);
	return err;
}

/* While it does, its PD stays: the kernel would refuse to end that. */
static void mr_ends(struct be_mr *mr, bool yes)
{
	mr->busy = yes;
	if (yes)
		mr->pd->jobs++;
	else
		mr->pd->jobs--;
}

/* The kernel's no leaves it as it was. */
static int mr_deregistered(const struct be_cmd *c, struct be_job *job)
{
	struct be_mr *mr = ((struct mr_end_job *)job)->mr;
	int err = job->err;

	mr_ends(mr, false);
	mr->stays = err && !job->op;
	free(job);
	if (err)
		return err;
	be_obj_release(c->dev, &mr->o);
	return 0;
}

static bool mr_slow(const struct be_mr *mr)
{
	return mr->mem.nr_pages > BE_JOB_PAGES && !mr->busy && !mr->stays;
}

static struct be_job *mr_end_job(struct be_mr *mr)
{
	struct mr_end_job *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->job.ends = true;
	j->job.run = mr_deregister;
	j->job.end = mr_deregistered;
	j->mr = mr;
	mr_ends(mr, true);
	return &j->job;
}

int be_dereg_mr(const struct be_cmd *c)
{
	struct be_mr *mr = be_handle_get(c->dev->handles,
					 c->req->u.handle.handle, BE_MR, c->uc);
	struct be_job *job = mr && mr_slow(mr) ? mr_end_job(mr) : NULL;

	return job ? be_job_do(c, job, true) : be_destroy(c, BE_MR);
}

bool be_mrs_slow(const struct be_uc *uc)
{
	const struct be_obj *o = uc->objs[BE_MR];

	while (o && !mr_slow((const struct be_mr *)o))
		o = o->next;
	return o;
}

void be_mrs_leave(struct be_dev *dev, struct be_uc *uc)
{
	struct be_obj *o;
	struct be_job *job;

	for (o = uc->objs[BE_MR]; o; o = o->next) {
		job = mr_slow((struct be_mr *)o) ?
		      mr_end_job((struct be_mr *)o) : NULL;
		if (!job)
			continue;
		job->uc = uc;
		if (be_jobs_put(dev, job))
			continue;
		mr_ends((struct be_mr *)o, false);
		free(job);
		break;
	}
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
			 struct be_pd *pd, struct be_gmap *mem)
{
	const struct xenvhca_rereg_mr_req *r = &c->req->u.rereg_mr;
	bool trans = r->flags & REREG_TRANS;
	/* A driver may use the first three whatever the flags say. */
	struct ib_uverbs_rereg_mr cmd = {
		.mr_handle = mr->o.host,
		.flags = r->flags,
		.start = trans ? (uintptr_t)mem->addr + r->mr.page_offset : 0,
		.length = trans ? r->mr.length : 0,
		.hca_va = trans ? r->mr.iova : 0,
		.pd_handle = pd ? pd->o.host : 0,
		.access_flags = r->mr.access,
	};
	struct ib_uverbs_rereg_mr_resp resp = {};
	struct be_gmap old = mr->mem;
	struct be_udata u;
	int err = be_udata_begin(&u, c, NULL, NULL);

	if (!err)
		err = uv_rereg_mr(c->uc->file->fd, &cmd, &u.uv, &resp);
	if (err)
		return err;
	if (trans) {
		mr->mem = *mem;
		*mem = old;
	}
	if (r->flags & REREG_ACCESS)
		mr->access = r->mr.access;
	if (pd)
		mr->pd = pd;
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
 * Rights that mlx5 does not change by UMR it gives to a new region, and of a dma-buf
 * it does not know how: some kernels would make one of the address in the command.
 */
static bool may_change(const struct be_mr *mr,
		       const struct xenvhca_rereg_mr_req *r)
{
	return !is_dmabuf(mr) || r->flags & REREG_TRANS ||
	       !(r->flags & REREG_ACCESS) ||
	       !(r->mr.access & ~(uint32_t)(MR_DMABUF |
					    IB_UVERBS_ACCESS_RELAXED_ORDERING));
}

/*
 * New pages, if the command has any. Not every kernel looks again at those
 * that a region has, and a driver that writes to a read-only mapping is the end
 * of this domain.
 */
static int rereg_map(const struct be_cmd *c, const struct be_mr *mr,
		     struct be_gmap *mem)
{
	const struct xenvhca_rereg_mr_req *r = &c->req->u.rereg_mr;
	uint32_t access = r->flags & REREG_ACCESS ? r->mr.access : mr->access;
	int err;

	if (!(r->flags & REREG_TRANS))
		return mr->mem.readonly && access & (uint32_t)MR_WRITES ?
			-EACCES : 0;
	err = be_gmap_charge(c->dev, &r->mr.pages,
			     may_be_readonly(c->dev, access), mem);
	if (err)
		return err;
	return may_translate(c) ? be_gmap_fill(c->dev, &r->mr.pages, NULL, mem) :
				  -EBUSY;
}

int be_rereg_mr(const struct be_cmd *c)
{
	const struct xenvhca_rereg_mr_req *r = &c->req->u.rereg_mr;
	struct be_gmap mem = {};
	struct be_pd *pd = NULL;
	struct be_mr *mr;
	int err = rereg_check(r);

	if (!err && r->flags & REREG_TRANS && c->dev->prov->no_retranslate)
		err = -EOPNOTSUPP;
	if (err)
		return err;
	mr = be_handle_get(c->dev->handles, r->handle, BE_MR, c->uc);
	if (!mr)
		return -ENOENT;
	if (mr->busy)
		return -EBUSY;
	if (!may_change(mr, r))
		return -EOPNOTSUPP;
	if (r->flags & REREG_PD) {
		pd = be_handle_get(c->dev->handles, r->mr.pd, BE_PD, c->uc);
		if (!pd)
			return -ENOENT;
	}
	err = rereg_map(c, mr, &mem);
	if (!err)
		err = mr_reregister(c, mr, pd, &mem);
	be_gmap_unmap(c->dev, &mem);
	return err;
}
