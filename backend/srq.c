// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Basic shared receive queues. Command thread.
 */
#include <errno.h>

#include "obj.h"

#define SRQ_MAX_WR	1u		/* IB_SRQ_MAX_WR: new queue */
#define SRQ_KNOWN	3u		/* and IB_SRQ_LIMIT */

int be_create_srq(const struct be_cmd *c)
{
	const struct xenvhca_create_srq_req *r = &c->req->u.create_srq;
	struct be_lists lists = { .buf = { &r->buf }, .db = &r->db };
	struct ib_uverbs_create_srq_resp resp = {};
	struct ib_uverbs_create_srq cmd = {
		.max_wr = r->max_wr, .max_sge = r->max_sge,
		.srq_limit = r->srq_limit,
	};
	struct be_udata u;
	struct be_srq *srq;
	struct be_obj *pd;
	int err;

	pd = be_obj_get(c, r->pd, BE_PD, &err);
	if (!pd)
		return err;
	srq = be_obj_new(c->dev, BE_SRQ, sizeof(*srq), &err);
	if (!srq)
		return err;
	cmd.pd_handle = pd->host;
	cmd.user_handle = srq->o.handle;
	err = be_udata_begin(&u, c, &lists, &srq->bufs);
	if (!err)
		err = uv_create_srq(c->uc->fd, &cmd, &u.uv, &resp);
	if (err) {
		be_bufs_release(c->dev, c->uc, &srq->bufs);
		be_obj_free(c->dev, &srq->o, BE_SRQ);
		return err;
	}
	be_obj_publish(c->dev, &srq->o, BE_SRQ, c->uc, resp.srq_handle);
	c->rsp->u.create_srq = (struct xenvhca_create_srq_rsp){
		srq->o.handle, resp.max_wr, resp.max_sge, resp.srqn,
	};
	err = be_udata_end(&u, c, srq->o.handle);
	if (err)
		be_obj_destroy(c->dev, &srq->o);
	return err;
}

int be_modify_srq(const struct be_cmd *c)
{
	const struct xenvhca_modify_srq_req *r = &c->req->u.modify_srq;
	struct be_lists lists = { .buf = { &r->buf } };
	struct ib_uverbs_modify_srq cmd = {
		.attr_mask = r->mask, .max_wr = r->max_wr,
		.srq_limit = r->srq_limit,
	};
	struct be_gmap old;
	struct be_bufs bufs = {};
	struct be_udata u;
	struct be_srq *srq;
	int err;

	if (r->mask & ~SRQ_KNOWN)
		return -EINVAL;
	srq = be_obj_get(c, r->handle, BE_SRQ, &err);
	if (!srq)
		return err;
	cmd.srq_handle = srq->o.host;
	err = be_udata_begin(&u, c, &lists, &bufs);
	/* A new queue must be seen here, so that it is charged. */
	if (!err && r->mask & SRQ_MAX_WR &&
	    u.extra != vhca_provider_outptr(u.row))
		err = -EINVAL;
	if (!err)
		err = uv_modify_srq(c->uc->fd, &cmd, &u.uv);
	if (err) {
		be_bufs_release(c->dev, c->uc, &bufs);
		return err;
	}
	if (bufs.buf[0].addr) {
		old = srq->bufs.buf[0];
		srq->bufs.buf[0] = bufs.buf[0];
		be_gmap_unmap(c->dev, &old);
	}
	if (r->mask & SRQ_MAX_WR)	/* offset of the old queue */
		be_keys_drop(c->dev, c->uc, srq->o.handle);
	return be_udata_end(&u, c, srq->o.handle);
}

int be_query_srq(const struct be_cmd *c)
{
	struct ib_uverbs_query_srq_resp resp = {};
	struct be_obj *srq;
	int err;

	srq = be_obj_get(c, c->req->u.handle.handle, BE_SRQ, &err);
	if (!srq)
		return err;
	err = uv_query_srq(c->uc->fd, srq->host, &resp);
	if (err)
		return err;
	c->rsp->u.query_srq = (struct xenvhca_query_srq_rsp){
		.max_wr = resp.max_wr, .max_sge = resp.max_sge,
		.srq_limit = resp.srq_limit,
	};
	return 0;
}

int be_destroy_srq(const struct be_cmd *c)
{
	return be_destroy(c, BE_SRQ);
}
