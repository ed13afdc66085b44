// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Shared receive queues: basic, XRC, and with tag matching. The process itself
 * posts receives into the queue's memory, and tags as work requests of a queue
 * pair that its provider keeps for that. All calls run in the process that made
 * them; the physical HCA's driver decides what is possible.
 */
#include "cmd.h"
#include "credit.h"
#include "ring/grant.h"
#include "verbs.h"
#include "vhca-provider.h"

/* No more tags than an index of a work request can name, and no unknown flags. */
void vhca_srq_caps(struct ib_tm_caps *tm,
		   const struct xenvhca_query_device_rsp *rsp)
{
	if (!rsp->tm_max_tags)
		return;
	tm->max_num_tags = min(rsp->tm_max_tags, XENVHCA_MAX_TAGS);
	tm->max_ops = min_t(u32, rsp->tm_max_ops, INT_MAX);
	tm->max_sge = rsp->tm_max_sge;
	tm->max_rndv_hdr_size = rsp->tm_max_rndv_hdr;
	tm->flags = rsp->tm_flags & XENVHCA_TM_RNDV_RC;
}

/* An HCA without tag matching has no entries for such a queue. */
static int srq_init_tags(const struct vhca_dev *dev,
			 struct xenvhca_create_srq_req *req,
			 const struct ib_srq_init_attr *init)
{
	u32 tags = init->ext.tag_matching.max_num_tags;

	if (!dev->provider->tm)
		return -EOPNOTSUPP;
	if (!dev->attr.tm_caps.max_num_tags ||
	    tags > dev->attr.tm_caps.max_num_tags)
		return -EINVAL;
	req->max_tags = tags;
	req->cq = to_vcq(init->ext.cq)->handle;
	return 0;
}

/* Allows basic SRQs; XRC and tag matching if the device has them. */
static int srq_init_req(const struct vhca_dev *dev,
			struct xenvhca_create_srq_req *req,
			const struct ib_srq_init_attr *init)
{
	req->srq_type = init->srq_type;
	if (init->srq_type == IB_SRQT_BASIC)
		return 0;
	if (init->srq_type == IB_SRQT_TM)
		return srq_init_tags(dev, req, init);
	if (init->srq_type != IB_SRQT_XRC ||
	    !(dev->attr.device_cap_flags & IB_UVERBS_DEVICE_XRC))
		return -EOPNOTSUPP;
	req->xrcd = to_vxrcd(init->ext.xrc.xrcd)->handle;
	req->cq = to_vcq(init->ext.cq)->handle;
	return 0;
}

/* Sizes are checked before memory is granted for them. */
static bool srq_wanted(const struct vhca_dev *dev, u32 max_wr)
{
	return max_wr <= dev->attr.max_srq_wr;
}

static int create_srq_held(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
			   struct ib_udata *udata)
{
	struct vhca_dev *dev = to_vdev(ibsrq->device);
	struct vhca_srq *srq = to_vsrq(ibsrq);
	struct xenvhca_create_srq_req req = {
		.pd = vhca_pd_handle(ibsrq->pd),
		.max_wr = init->attr.max_wr,
		.max_sge = init->attr.max_sge,
		.srq_limit = init->attr.srq_limit,
	};
	struct xenvhca_create_srq_rsp rsp;
	struct vhca_ucontext *uc;
	struct vhca_bufs bufs;
	int rc;

	if (!srq_wanted(dev, init->attr.max_wr))
		return -EINVAL;
	rc = srq_init_req(dev, &req, init);
	if (rc)
		return rc;
	uc = vhca_pd_uc(ibsrq->pd);
	rc = vhca_cmd_create_srq(uc, &req, udata, &bufs, &rsp);
	if (rc)
		return rc;
	mutex_init(&srq->resize_lock);
	vhca_credit_recharge(&srq->async_credit);
	/* Its XRC domain is in no context, and busy until the SRQ is destroyed. */
	if (init->srq_type == IB_SRQT_XRC)
		WRITE_ONCE(uc->leaves_nothing, true);
	srq->gen = dev->gen;
	rc = vhca_publish(dev, &dev->srqs, vhca_key(srq->gen, rsp.handle), srq);
	if (rc) {
		vhca_bufs_put(uc, &bufs,
			      vhca_cmd_destroy(uc, XENVHCA_OP_DESTROY_SRQ, rsp.handle));
		return rc;
	}
	srq->handle = rsp.handle;
	srq->buf = bufs.buf;
	srq->db = bufs.db;
	if (init->srq_type == IB_SRQT_XRC)
		ibsrq->ext.xrc.srq_num = rsp.srqn & 0xffffff;
	init->attr.max_wr = rsp.max_wr;
	init->attr.max_sge = rsp.max_sge;
	ibdev_dbg(&dev->ibdev, "created srq %u\n", srq->handle);
	return 0;
}

int vhca_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		    struct ib_udata *udata)
{
	struct vhca_dev *dev = to_vdev(ibsrq->device);
	int rc;

	if (!udata)
		return -EOPNOTSUPP;	/* a device for processes */
	rc = vhca_hold(dev, READ_ONCE(dev->gen));
	if (rc)
		return rc;
	rc = vhca_made(dev, create_srq_held(ibsrq, init, udata));
	vhca_let_go(dev);
	return rc;
}

int vhca_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		    enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct vhca_dev *dev = to_vdev(ibsrq->device);
	struct vhca_srq *srq = to_vsrq(ibsrq);
	struct xenvhca_modify_srq_req req = {
		.handle = srq->handle,
		.mask = mask,
		.max_wr = mask & IB_SRQ_MAX_WR ? attr->max_wr : 0,
		.srq_limit = mask & IB_SRQ_LIMIT ? attr->srq_limit : 0,
	};
	struct vhca_bufs bufs;
	int rc;

	if (!srq_wanted(dev, req.max_wr))
		return -EINVAL;
	vhca_credit_recharge(&srq->async_credit);
	/* ib_uverbs holds a read reference only: two may resize one at once. */
	if (mutex_lock_killable(&srq->resize_lock))
		return -EINTR;
	rc = vhca_hold(dev, srq->gen);
	if (rc)
		goto unlock;
	rc = vhca_cmd_modify_srq(vhca_pd_uc(ibsrq->pd), &req, udata, &bufs);
	if (!rc && bufs.buf) {
		vhca_mem_put(srq->buf);
		srq->buf = bufs.buf;
	}
	vhca_let_go(dev);
unlock:
	mutex_unlock(&srq->resize_lock);
	return rc;
}

int vhca_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	struct vhca_dev *dev = to_vdev(ibsrq->device);
	struct vhca_srq *srq = to_vsrq(ibsrq);
	struct xenvhca_query_srq_rsp rsp;
	int rc = vhca_hold(dev, srq->gen);

	if (rc)
		return rc;
	rc = vhca_cmd_query_srq(vhca_pd_uc(ibsrq->pd), srq->handle, &rsp);
	vhca_let_go(dev);
	if (rc)
		return rc;
	attr->max_wr = rsp.max_wr;
	attr->max_sge = rsp.max_sge;
	attr->srq_limit = rsp.srq_limit;
	return 0;
}

int vhca_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct vhca_ucontext *uc = vhca_pd_uc(ibsrq->pd);
	struct vhca_dev *dev = to_vdev(ibsrq->device);
	struct vhca_srq *srq = to_vsrq(ibsrq);
	struct vhca_bufs bufs = { .buf = srq->buf, .db = srq->db };
	bool dead = vhca_hold(dev, srq->gen);
	int rc;

	rc = dead ? 0 : vhca_cmd_destroy(uc, XENVHCA_OP_DESTROY_SRQ, srq->handle);
	vhca_unpublish(dev, &dev->srqs, vhca_key(srq->gen, srq->handle));
	vhca_bufs_put(uc, &bufs, !vhca_gone(dev, "srq", srq->handle, rc));
	if (!dead)
		vhca_let_go(dev);
	return 0;
}
