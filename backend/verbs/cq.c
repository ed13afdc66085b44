// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Completion queues. Every CQ is bound to the completion channel of its
 * context, and its user handle in the kernel is the wire handle, so that an
 * event names the CQ without a look-up. The command thread runs this.
 */
#include <errno.h>

#include "object.h"
#include "ucontext.h"

int be_create_cq(const struct be_cmd *c)
{
	const struct xenvhca_create_cq_req *r = &c->req->u.create_cq;
	struct be_lists lists = { .buf = { &r->buf }, .db = &r->db };
	struct ib_uverbs_create_cq_resp resp = {};
	struct ib_uverbs_ex_create_cq cmd = {
		.cqe = r->cqe, .comp_vector = r->comp_vector,
		.comp_channel = c->uc->file->comp_fd, .flags = r->flags,
	};
	struct be_udata u;
	struct be_cq *cq;
	int err;

	if (r->reserved)
		return -EINVAL;
	cq = be_obj_new(c, BE_CQ, sizeof(*cq), &err);
	if (!cq)
		return err;
	cmd.user_handle = cq->o.handle;
	err = be_udata_begin(&u, c, &lists, &cq->bufs);
	if (!err)
		err = uv_create_cq(c->uc->file->fd, &cmd, &u.uv, &resp);
	cq->cqe = resp.cqe;
	c->rsp->u.cq = (struct xenvhca_cq_rsp){ cq->o.handle, resp.cqe };
	return be_obj_made(c, &u, &cq->o, BE_CQ, resp.cq_handle, err);
}

int be_resize_cq(const struct be_cmd *c)
{
	const struct xenvhca_resize_cq_req *r = &c->req->u.resize_cq;
	struct be_lists lists = { .buf = { &r->buf } };
	struct be_bufs bufs = {}, old;
	struct be_udata u;
	struct be_cq *cq;
	uint32_t cqe;
	int err;

	cq = be_handle_get(c->dev->handles, r->handle, BE_CQ, c->uc);
	if (!cq)
		return -ENOENT;
	err = be_udata_begin(&u, c, &lists, &bufs);
	if (!err)
		err = uv_resize_cq(c->uc->file->fd, cq->o.host, r->cqe, &u.uv, &cqe);
	/*
	 * rdma_rxe trusts what is in the new queue until this is done. No guest has it
	 * mapped by then, because this thread executes its MMAP, too.
	 */
	/* Drivers leave a CQ alone that has the size already. */
	if (err || cqe == cq->cqe)
		be_bufs_release(c->dev, c->uc, &bufs);
	if (err)
		return err;
	cq->cqe = cqe;
	if (bufs.buf[0].addr) {		/* the doorbell page stays */
		old = (struct be_bufs){ .buf = { cq->bufs.buf[0] } };
		cq->bufs.buf[0] = bufs.buf[0];
		be_bufs_release(c->dev, c->uc, &old);
	}
	be_offsets_drop(c->dev, cq->o.handle);
	c->rsp->u.cq = (struct xenvhca_cq_rsp){ cq->o.handle, cqe };
	return be_udata_end(&u, c, cq->o.handle);
}

int be_modify_cq(const struct be_cmd *c)
{
	const struct xenvhca_modify_cq_req *r = &c->req->u.modify_cq;
	const struct be_obj *cq = be_handle_get(c->dev->handles, r->handle, BE_CQ,
						c->uc);

	if (!cq)
		return -ENOENT;
	return uv_modify_cq(c->uc->file->fd, cq->host, r->count, r->period);
}

static void cq_release(struct be_dev *dev, struct be_obj *cq)
{
	be_bufs_release(dev, cq->uc, &((struct be_cq *)cq)->bufs);
}

const struct be_kind be_kind_cq = { .host_end = uv_destroy_cq, .release = cq_release };
