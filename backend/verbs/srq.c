// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Shared receive queues: basic, XRC, and with tag matching. The command thread
 * runs this.
 */
#include <errno.h>
#include <rdma/ib_user_ioctl_verbs.h>

#include "object.h"
#include "shadow.h"
#include "ucontext.h"

#define SRQ_MAX_WR	1u		/* IB_SRQ_MAX_WR: new queue */
#define SRQ_KNOWN	3u		/* and IB_SRQ_LIMIT */

static int create_check(const struct be_dev *dev,
			const struct xenvhca_create_srq_req *r)
{
	switch (r->srq_type) {
	case IB_UVERBS_SRQT_BASIC:
		return r->xrcd || r->cq || r->max_tags ? -EINVAL : 0;
	case IB_UVERBS_SRQT_XRC:
		if (r->max_tags)
			return -EINVAL;
		return dev->prov->xrc ? 0 : -EOPNOTSUPP;
	case IB_UVERBS_SRQT_TM:
		if (r->xrcd || r->max_tags > XENVHCA_MAX_TAGS)
			return -EINVAL;
		return dev->prov->tm ? 0 : -EOPNOTSUPP;
	default:
		return -EINVAL;
	}
}

/* Looks up what the request names; the XRC domain is NULL of other types. */
static int create_cmd(const struct be_cmd *c, struct ib_uverbs_create_xsrq *cmd,
		      struct be_xrcd **xrcd)
{
	const struct xenvhca_create_srq_req *r = &c->req->u.create_srq;
	bool basic = r->srq_type == IB_UVERBS_SRQT_BASIC;
	const struct be_obj *pd, *cq;
	int err = 0;

	pd = be_handle_get(c->dev->handles, r->pd, BE_PD, c->uc);
	cq = basic ? NULL : be_handle_get(c->dev->handles, r->cq, BE_CQ, c->uc);
	if (!pd || (!basic && !cq))
		return -ENOENT;
	*xrcd = r->srq_type == IB_UVERBS_SRQT_XRC ?
		be_xrcd_get(c, r->xrcd, &err) : NULL;
	if (err)
		return err;
	*cmd = (struct ib_uverbs_create_xsrq){
		.srq_type = r->srq_type, .pd_handle = pd->host,
		.max_wr = r->max_wr, .max_sge = r->max_sge,
		.srq_limit = r->srq_limit, .max_num_tags = r->max_tags,
		.cq_handle = cq ? cq->host : 0,
	};
	return 0;
}

/* The original command knows no types; drivers see the same either way. */
static int create_host(int fd, const struct ib_uverbs_create_xsrq *x,
		       const struct uv_udata *ud,
		       struct ib_uverbs_create_srq_resp *resp)
{
	struct ib_uverbs_create_srq cmd = {
		.user_handle = x->user_handle, .pd_handle = x->pd_handle,
		.max_wr = x->max_wr, .max_sge = x->max_sge,
		.srq_limit = x->srq_limit,
	};

	if (x->srq_type != IB_UVERBS_SRQT_BASIC)
		return uv_create_xsrq(fd, x, ud, resp);
	return uv_create_srq(fd, &cmd, ud, resp);
}

static int srq_join(const struct be_cmd *c, struct be_srq *srq,
		    struct be_xrcd *xrcd)
{
	int err;

	if (!xrcd)
		return 0;
	err = uv_alloc_xrcd(c->uc->file->fd, xrcd->inode_fd, false,
			    &srq->xrcd_host);
	if (err)
		return err;
	xrcd->users++;
	srq->xrcd = xrcd;
	return 0;
}

int be_create_srq(const struct be_cmd *c)
{
	const struct xenvhca_create_srq_req *r = &c->req->u.create_srq;
	struct be_lists lists = { .buf = { &r->buf }, .db = &r->db };
	struct ib_uverbs_create_srq_resp resp = {};
	struct ib_uverbs_create_xsrq cmd;
	struct be_udata u;
	struct be_xrcd *xrcd;
	struct be_srq *srq;
	int err = create_check(c->dev, r);

	if (!err)
		err = create_cmd(c, &cmd, &xrcd);
	if (err)
		return err;
	srq = be_obj_new(c, BE_SRQ, sizeof(*srq), &err);
	if (!srq)
		return err;
	cmd.user_handle = srq->o.handle;
	err = srq_join(c, srq, xrcd);
	if (!err) {
		cmd.xrcd_handle = srq->xrcd_host;
		err = be_udata_begin(&u, c, &lists, &srq->bufs);
	}
	if (!err)
		err = create_host(c->uc->file->fd, &cmd, &u.uv, &resp);
	srq->max_sge = resp.max_sge;
	c->rsp->u.create_srq = (struct xenvhca_create_srq_rsp){
		srq->o.handle, resp.max_wr, resp.max_sge, resp.srqn,
	};
	return be_obj_made(c, &u, &srq->o, BE_SRQ, resp.srq_handle, err);
}

int be_modify_srq(const struct be_cmd *c)
{
	const struct xenvhca_modify_srq_req *r = &c->req->u.modify_srq;
	struct be_lists lists = { .buf = { &r->buf } };
	struct ib_uverbs_modify_srq cmd = {
		.attr_mask = r->mask, .max_wr = r->max_wr,
		.srq_limit = r->srq_limit,
	};
	struct be_shadow *rq = NULL;
	struct be_gmap old;
	struct be_bufs bufs = {};
	struct be_udata u;
	struct be_srq *srq;
	int err;

	if (r->mask & ~SRQ_KNOWN)
		return -EINVAL;
	srq = be_handle_get(c->dev->handles, r->handle, BE_SRQ, c->uc);
	if (!srq)
		return -ENOENT;
	cmd.srq_handle = srq->o.host;
	err = be_udata_begin(&u, c, &lists, &bufs);
	/* A new queue must be seen here, so that it is charged. */
	if (!err && r->mask & SRQ_MAX_WR &&
	    u.extra != vhca_provider_outptr(u.row))
		err = -EINVAL;
	if (!err && r->mask & SRQ_MAX_WR)
		rq = be_rxe_resize_srq(c->dev, srq, r->max_wr, &err);
	if (!err)
		err = uv_modify_srq(c->uc->file->fd, &cmd, &u.uv);
	if (err) {
		if (rq)		/* it goes on as it was */
			be_shadow_attach(c->dev, rq, &srq->o);
		be_bufs_release(c->dev, c->uc, &bufs);
		return err;
	}
	if (bufs.buf[0].addr) {
		old = srq->bufs.buf[0];
		srq->bufs.buf[0] = bufs.buf[0];
		be_gmap_unmap(c->dev, &old);
	}
	if (r->mask & SRQ_MAX_WR)	/* offset of the old queue */
		be_offsets_drop(c->dev, srq->o.handle);
	return be_udata_end(&u, c, srq->o.handle);
}

int be_query_srq(const struct be_cmd *c)
{
	struct ib_uverbs_query_srq_resp resp = {};
	const struct be_obj *srq = be_handle_get(c->dev->handles,
						 c->req->u.handle.handle, BE_SRQ,
						 c->uc);
	int err;

	if (!srq)
		return -ENOENT;
	err = uv_query_srq(c->uc->file->fd, srq->host, &resp);
	if (err)
		return err;
	c->rsp->u.query_srq = (struct xenvhca_query_srq_rsp){
		.max_wr = resp.max_wr, .max_sge = resp.max_sge,
		.srq_limit = resp.srq_limit,
	};
	return 0;
}

static void srq_release(struct be_dev *dev, struct be_obj *o)
{
	struct be_srq *srq = (struct be_srq *)o;

	be_bufs_release(dev, o->uc, &srq->bufs);
	/* The XRC domain comes after the queue; it may be closed with the file already. */
	if (srq->xrcd && o->uc->file->fd >= 0)
		uv_dealloc_xrcd(o->uc->file->fd, srq->xrcd_host);
	be_xrcd_put(dev, srq->xrcd);
}

const struct be_kind be_kind_srq = { .host_end = uv_destroy_srq, .release = srq_release };
