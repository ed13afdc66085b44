// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Completion queues. The ring is memory of the HCA's driver (mmap) or of the
 * process (udata); the process polls completions there without the frontend.
 * Arming is a kick if the HCA has no doorbell for it; events come over the
 * event ring.
 */
#include <rdma/uverbs_ioctl.h>

#include "ring/check.h"
#include "cmd.h"
#include "credit.h"
#include "ring/grant.h"
#include "verbs.h"

/* Sizes are checked before memory is granted for them. */
static bool cq_wanted(const struct vhca_dev *dev, int cqe)
{
	return cqe > 0 && cqe <= dev->attr.max_cqe;
}

static int cq_size(struct vhca_dev *dev, const struct xenvhca_cq_rsp *rsp,
		   u32 asked)
{
	if (vhca_check_cqe(rsp->cqe, asked))
		return rsp->cqe;
	vhca_break(dev, "backend made a CQ smaller than asked for");
	return -EIO;
}

static int cq_make_held(struct vhca_cq *cq, struct vhca_ucontext *uc,
			const struct ib_cq_init_attr *attr, struct ib_udata *udata)
{
	struct vhca_dev *dev = to_vdev(cq->ibcq.device);
	struct xenvhca_create_cq_req req = {
		.cqe = attr->cqe,
		.comp_vector = attr->comp_vector,
		.flags = attr->flags,
	};
	struct xenvhca_cq_rsp rsp;
	struct vhca_bufs bufs;
	int rc;

	if (!cq_wanted(dev, attr->cqe))
		return -EINVAL;
	rc = vhca_cmd_create_cq(uc, &req, udata, &bufs, &rsp);
	if (rc)
		return rc;
	cq->uc = uc;
	cq->handle = rsp.handle;
	cq->gen = dev->gen;
	mutex_init(&cq->resize_lock);
	vhca_credit_recharge(&cq->async_credit);
	cq->buf = bufs.buf;
	cq->db = bufs.db;
	cq->record = bufs.record;
	rc = cq_size(dev, &rsp, attr->cqe);
	if (rc >= 0) {
		cq->ibcq.cqe = rc;
		rc = vhca_publish(dev, &dev->cqs, vhca_key(cq->gen, cq->handle), cq);
	}
	if (rc) {
		vhca_bufs_put(uc, &bufs,
			      vhca_cmd_destroy(uc, XENVHCA_OP_DESTROY_CQ, cq->handle));
		return rc;
	}
	ibdev_dbg(&dev->ibdev, "created cq %u\n", cq->handle);
	return 0;
}

int vhca_cq_make(struct vhca_cq *cq, struct vhca_ucontext *uc,
		 const struct ib_cq_init_attr *attr, struct ib_udata *udata)
{
	struct vhca_dev *dev = to_vdev(cq->ibcq.device);
	int rc = vhca_hold(dev, READ_ONCE(dev->gen));

	if (rc)
		return rc;
	rc = vhca_made(dev, cq_make_held(cq, uc, attr, udata));
	vhca_let_go(dev);
	return rc;
}

int vhca_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   struct vhca_cq_attrs *attrs)
{
	struct ib_udata *udata;

	if (!attrs)
		return -EOPNOTSUPP;	/* a device for processes */
	udata = vhca_cq_udata(attrs);
	return vhca_cq_make(to_vcq(ibcq), vhca_udata_uc(udata), attr, udata);
}

int vhca_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct vhca_dev *dev = to_vdev(ibcq->device);
	struct vhca_cq *cq = to_vcq(ibcq);
	struct vhca_bufs bufs = { .buf = cq->buf, .db = cq->db };
	bool dead = vhca_hold(dev, cq->gen);
	struct vhca_ucontext *uc = cq->uc;
	int rc;

	rc = dead ? 0 : vhca_cmd_destroy(uc, XENVHCA_OP_DESTROY_CQ, cq->handle);
	vhca_unpublish(dev, &dev->cqs, vhca_key(cq->gen, cq->handle));
	vhca_bufs_put(uc, &bufs, !vhca_gone(dev, "cq", cq->handle, rc));
	if (!dead)
		vhca_let_go(dev);
	return 0;
}

/* resize_lock is held: the memory that the HCA uses changes here. */
static int resize_cq_locked(struct ib_cq *ibcq, int cqe,
			    struct ib_udata *udata)
{
	struct vhca_ucontext *uc = vhca_udata_uc(udata);
	struct vhca_dev *dev = to_vdev(ibcq->device);
	struct vhca_cq *cq = to_vcq(ibcq);
	struct xenvhca_resize_cq_req req = {
		.handle = cq->handle,
		.cqe = cqe,
	};
	struct xenvhca_cq_rsp rsp;
	struct vhca_bufs bufs;
	int rc;

	if (!cq_wanted(dev, cqe))
		return -EINVAL;
	rc = vhca_cmd_resize_cq(uc, &req, udata, &bufs, &rsp);
	if (rc)
		return rc;
	/* A driver does not change a CQ that already has the size. */
	if (rsp.cqe == ibcq->cqe)
		swap(bufs.buf, cq->buf);
	if (bufs.buf) {
		vhca_mem_put(cq->buf);
		cq->buf = bufs.buf;
	}
	rc = cq_size(dev, &rsp, cqe);
	if (rc < 0)
		return rc;
	ibcq->cqe = rc;
	return 0;
}

/* ib_uverbs holds a read reference only: two may resize one CQ at once. */
int vhca_resize_cq(struct ib_cq *ibcq, vhca_cqe cqe, struct ib_udata *udata)
{
	struct vhca_cq *cq = to_vcq(ibcq);
	int rc;

	if (!udata)
		return -EOPNOTSUPP;	/* a CQ of the kernel */
	if (mutex_lock_killable(&cq->resize_lock))
		return -EINTR;
	rc = resize_cq_locked(ibcq, cqe, udata);
	mutex_unlock(&cq->resize_lock);
	return rc;
}

/* No lock: two processes may modify one CQ at once. */
int vhca_modify_cq(struct ib_cq *ibcq, u16 count, u16 period)
{
	struct vhca_dev *dev = to_vdev(ibcq->device);
	struct vhca_cq *cq = to_vcq(ibcq);
	struct xenvhca_modify_cq_req req = { .count = count, .period = period };
	int rc = vhca_hold(dev, cq->gen);

	if (rc)
		return rc;
	req.handle = cq->handle;	/* vhca_kcq_renew() changes it */
	rc = vhca_cmd_modify_cq(cq->uc, &req);
	vhca_let_go(dev);
	return rc;
}

/*
 * The arm is in force when this returns, as natively: the process polls once more and
 * then sleeps. Programs that poll one completion for each event depend on that.
 */
int vhca_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	bool solicited = (flags & IB_CQ_SOLICITED_MASK) == IB_CQ_SOLICITED;
	struct vhca_cq *cq = to_vcq(ibcq);
	/* Without an index, so that it is never merged: each arm permits one event. */
	struct vhca_kick kick = {
		.type = XENVHCA_KICK_ARM,
		.flags = solicited ? XENVHCA_KICK_SOLICITED : 0,
		.handle = cq->handle,
	};

	vhca_credit_arm(&cq->comp_credit);
	return vhca_ring_kick_wait(to_vdev(ibcq->device), &kick);
}
