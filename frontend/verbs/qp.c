// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Queue pairs. The QP number is the physical one. The process writes work requests into
 * the queue; for an HCA without doorbell registers it then calls post_send without a
 * list, which is a kick. All verbs run in the process that called them. The physical
 * HCA's driver decides which attribute is legal in which state; answers are checked
 * before ib_core sees them.
 *
 * An XRC target has no PD, no udata and no context: ib_core shares it among processes
 * and holds it until the last of them has closed it.
 */
#include "ring/check.h"
#include "cmd.h"
#include "credit.h"
#include "ring/grant.h"
#include "verbs.h"

/* Attributes that are plain numbers on both sides of the wire. */
struct vhca_qp_field {
	u32 mask;
	u16 at, at_wire;
	u8 size, size_wire;
};

#define VHCA_QP_FIELD(bit, name) {					\
	.mask = (bit),							\
	.at = offsetof(struct ib_qp_attr, name),			\
	.at_wire = offsetof(struct xenvhca_qp_attr, name),		\
	.size = sizeof_field(struct ib_qp_attr, name),			\
	.size_wire = sizeof_field(struct xenvhca_qp_attr, name),	\
}

static const struct vhca_qp_field qp_fields[] = {
	VHCA_QP_FIELD(IB_QP_QKEY, qkey),
	VHCA_QP_FIELD(IB_QP_RQ_PSN, rq_psn),
	VHCA_QP_FIELD(IB_QP_SQ_PSN, sq_psn),
	VHCA_QP_FIELD(IB_QP_DEST_QPN, dest_qp_num),
	VHCA_QP_FIELD(IB_QP_ACCESS_FLAGS, qp_access_flags),
	VHCA_QP_FIELD(IB_QP_PKEY_INDEX, pkey_index),
	VHCA_QP_FIELD(IB_QP_ALT_PATH, alt_pkey_index),
	VHCA_QP_FIELD(IB_QP_STATE, qp_state),
	VHCA_QP_FIELD(IB_QP_CUR_STATE, cur_qp_state),
	VHCA_QP_FIELD(IB_QP_PATH_MTU, path_mtu),
	VHCA_QP_FIELD(IB_QP_PATH_MIG_STATE, path_mig_state),
	VHCA_QP_FIELD(IB_QP_EN_SQD_ASYNC_NOTIFY, en_sqd_async_notify),
	VHCA_QP_FIELD(0, sq_draining),		/* answers only */
	VHCA_QP_FIELD(IB_QP_MAX_QP_RD_ATOMIC, max_rd_atomic),
	VHCA_QP_FIELD(IB_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic),
	VHCA_QP_FIELD(IB_QP_MIN_RNR_TIMER, min_rnr_timer),
	VHCA_QP_FIELD(IB_QP_PORT, port_num),
	VHCA_QP_FIELD(IB_QP_TIMEOUT, timeout),
	VHCA_QP_FIELD(IB_QP_RETRY_CNT, retry_cnt),
	VHCA_QP_FIELD(IB_QP_RNR_RETRY, rnr_retry),
	VHCA_QP_FIELD(IB_QP_ALT_PATH, alt_port_num),
	VHCA_QP_FIELD(IB_QP_ALT_PATH, alt_timeout),
	VHCA_QP_FIELD(IB_QP_RATE_LIMIT, rate_limit),
};

/* Copy a number of 1, 2 or 4 octets; both sides are little-endian. */
static void copy_num(void *dst, size_t dst_size, const void *src,
		     size_t src_size)
{
	memset(dst, 0, dst_size);
	memcpy(dst, src, min(dst_size, src_size));
}

static void qp_attr_to_wire(struct xenvhca_qp_attr *w,
			    const struct ib_qp_attr *a, u32 mask)
{
	const struct vhca_qp_field *f = qp_fields;

	w->mask = mask;
	for (; f < qp_fields + ARRAY_SIZE(qp_fields); f++)
		if (mask & f->mask)
			copy_num((u8 *)w + f->at_wire, f->size_wire,
				 (const u8 *)a + f->at, f->size);
	if (mask & IB_QP_AV)
		vhca_ah_to_wire(&w->ah, &a->ah_attr);
	if (mask & IB_QP_ALT_PATH)
		vhca_ah_to_wire(&w->alt_ah, &a->alt_ah_attr);
}

static int qp_attr_from_wire(struct ib_device *ibdev,
			     struct ib_qp_attr *a,
			     const struct xenvhca_qp_attr *w)
{
	const struct vhca_qp_field *f = qp_fields;

	if (!vhca_check_qp(w))
		return -EIO;
	for (; f < qp_fields + ARRAY_SIZE(qp_fields); f++)
		copy_num((u8 *)a + f->at, f->size,
			 (const u8 *)w + f->at_wire, f->size_wire);
	/* ib_core uses a port number as an index. */
	if (a->port_num)
		a->port_num = VHCA_PORT;
	if (a->alt_port_num)
		a->alt_port_num = VHCA_PORT;
	vhca_ah_from_wire(ibdev, &a->ah_attr, &w->ah);
	vhca_ah_from_wire(ibdev, &a->alt_ah_attr, &w->alt_ah);
	return 0;
}

static void qp_cap_to_wire(struct xenvhca_qp_cap *w,
			   const struct ib_qp_cap *cap)
{
	w->max_send_wr = cap->max_send_wr;
	w->max_recv_wr = cap->max_recv_wr;
	w->max_send_sge = cap->max_send_sge;
	w->max_recv_sge = cap->max_recv_sge;
	w->max_inline_data = cap->max_inline_data;
}

static void qp_cap_from_wire(struct ib_qp_cap *cap,
			     const struct xenvhca_qp_cap *w)
{
	cap->max_send_wr = w->max_send_wr;
	cap->max_recv_wr = w->max_recv_wr;
	cap->max_send_sge = w->max_send_sge;
	cap->max_recv_sge = w->max_recv_sge;
	cap->max_inline_data = w->max_inline_data;
}

/* Sizes are checked before memory is granted for them. */
static bool qp_wanted(const struct vhca_dev *dev,
		      const struct ib_qp_init_attr *attr)
{
	return attr->cap.max_send_wr <= dev->attr.max_qp_wr &&
	       (attr->srq || attr->cap.max_recv_wr <= dev->attr.max_qp_wr);
}

static int qp_check_init(const struct vhca_dev *dev,
			 const struct ib_qp_init_attr *attr,
			 const struct ib_udata *udata)
{
	bool xrc = dev->attr.device_cap_flags & IB_UVERBS_DEVICE_XRC;

	switch (attr->qp_type) {
	case IB_QPT_RC:
	case IB_QPT_UC:
	case IB_QPT_UD:
		if (!attr->recv_cq)
			return -EINVAL;
		break;
	case IB_QPT_XRC_INI:
		if (!xrc)
			return -EOPNOTSUPP;
		break;
	case IB_QPT_XRC_TGT:
		if (!xrc)
			return -EOPNOTSUPP;
		return attr->xrcd ? 0 : -EINVAL;
	default:
		return -EOPNOTSUPP;
	}
	if (!udata)
		return -EOPNOTSUPP;	/* a device for processes */
	return attr->send_cq && qp_wanted(dev, attr) ? 0 : -EINVAL;
}

/* An XRC target has none. */
static struct vhca_ucontext *qp_uc(const struct ib_qp *ibqp)
{
	return ibqp->pd ? vhca_pd_uc(ibqp->pd) : NULL;
}

static void qp_init_req(struct xenvhca_create_qp_req *req,
			const struct ib_qp *ibqp,
			const struct ib_qp_init_attr *attr)
{
	if (attr->qp_type == IB_QPT_XRC_TGT) {
		req->xrcd = to_vxrcd(attr->xrcd)->handle;
	} else {
		req->pd = vhca_pd_handle(ibqp->pd);
		req->send_cq = to_vcq(attr->send_cq)->handle;
		if (attr->qp_type != IB_QPT_XRC_INI)
			req->recv_cq = to_vcq(attr->recv_cq)->handle;
		req->srq = attr->srq ? to_vsrq(attr->srq)->handle : 0;
	}
	req->qp_type = attr->qp_type;
	req->sq_sig_all = attr->sq_sig_type == IB_SIGNAL_ALL_WR;
	req->create_flags = attr->create_flags;
	qp_cap_to_wire(&req->cap, &attr->cap);
}

/* Are its CQs, and its SRQ, of this connection? */
static bool qp_parts_live(const struct vhca_dev *dev,
			  const struct ib_qp_init_attr *attr)
{
	return (!attr->send_cq || to_vcq(attr->send_cq)->gen == dev->gen) &&
	       (!attr->recv_cq || to_vcq(attr->recv_cq)->gen == dev->gen) &&
	       (!attr->srq || to_vsrq(attr->srq)->gen == dev->gen);
}

static int create_qp_held(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
			  struct ib_udata *udata)
{
	struct vhca_dev *dev = to_vdev(ibqp->device);
	struct vhca_ucontext *uc = qp_uc(ibqp);
	struct xenvhca_create_qp_req req = {};
	struct vhca_qp *qp = to_vqp(ibqp);
	struct xenvhca_create_qp_rsp rsp;
	struct vhca_bufs bufs = {};
	int rc;

	if (!qp_parts_live(dev, attr))
		return -ENETDOWN;
	qp_init_req(&req, ibqp, attr);
	rc = vhca_cmd_create_qp(dev, uc, &req, uc ? udata : NULL,
				uc ? &bufs : NULL, &rsp);
	if (rc)
		return rc;
	qp->handle = rsp.handle;
	qp->gen = dev->gen;
	qp->kick.type = XENVHCA_KICK_SEND;
	qp->kick.handle = rsp.handle;
	qp->buf = bufs.buf;
	qp->sq_buf = bufs.sq_buf;
	qp->db = bufs.db;
	qp->state = IB_QPS_RESET;
	/* A target gets credit by modify: before, ib_core cannot take its events. */
	if (uc)
		vhca_credit_recharge(&qp->async_credit);
	ibqp->qp_num = rsp.qpn & 0xffffff;
	qp_cap_from_wire(&attr->cap, &rsp.cap);
	rc = vhca_publish(dev, &dev->qps, vhca_key(qp->gen, qp->handle), qp);
	if (rc) {
		vhca_bufs_put(uc, &bufs,
			      vhca_cmd_destroy_qp(dev, uc, rsp.handle));
		return rc;
	}
	ibdev_dbg(&dev->ibdev, "created qp %u\n", qp->handle);
	return 0;
}

int vhca_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
		   struct ib_udata *udata)
{
	struct vhca_dev *dev = to_vdev(ibqp->device);
	int rc = qp_check_init(dev, attr, udata);

	if (!rc)
		rc = vhca_hold(dev, READ_ONCE(dev->gen));
	if (rc)
		return rc;
	rc = vhca_made(dev, create_qp_held(ibqp, attr, udata));
	vhca_let_go(dev);
	return rc;
}

/* The backend checks the indices, too; here a wrong one costs no command. */
static int qp_check_attr(struct vhca_dev *dev, const struct ib_qp_attr *attr,
			 int mask)
{
	int rc = 0;

	if (mask & IB_QP_AV)
		rc = vhca_ah_check(dev, &attr->ah_attr);
	if (!rc && mask & IB_QP_PKEY_INDEX)
		rc = vhca_pkey_usable(dev, attr->pkey_index);
	if (rc || !(mask & IB_QP_ALT_PATH))
		return rc;
	rc = vhca_ah_check(dev, &attr->alt_ah_attr);
	return rc ? rc : vhca_pkey_usable(dev, attr->alt_pkey_index);
}

int vhca_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_udata *udata)
{
	struct vhca_dev *dev = to_vdev(ibqp->device);
	struct vhca_qp *qp = to_vqp(ibqp);
	struct xenvhca_modify_qp_req req = { .handle = qp->handle };
	int rc = qp_check_attr(dev, attr, mask);

	if (!rc)
		rc = vhca_hold(dev, qp->gen);
	if (rc)
		return rc;
	vhca_credit_recharge(&qp->async_credit);
	qp_attr_to_wire(&req.attr, attr, mask);
	rc = vhca_cmd_modify_qp(dev, qp_uc(ibqp), &req, udata);
	vhca_let_go(dev);
	if (!rc && mask & IB_QP_STATE)
		WRITE_ONCE(qp->state, attr->qp_state);
	return rc;
}

int vhca_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init)
{
	struct vhca_dev *dev = to_vdev(ibqp->device);
	struct vhca_qp *qp = to_vqp(ibqp);
	struct xenvhca_query_qp_rsp rsp;
	int rc = vhca_hold(dev, qp->gen);

	if (rc)
		return rc;
	rc = vhca_cmd_query_qp(dev, qp_uc(ibqp), qp->handle, mask, &rsp);
	vhca_let_go(dev);
	if (rc)
		return rc;
	rc = qp_attr_from_wire(ibqp->device, attr, &rsp.attr);
	if (rc)
		return rc;
	qp_cap_from_wire(&attr->cap, &rsp.cap);
	init->cap = attr->cap;
	init->send_cq = ibqp->send_cq;
	init->recv_cq = ibqp->recv_cq;
	init->srq = ibqp->srq;
	init->qp_type = ibqp->qp_type;
	init->qp_context = ibqp->qp_context;
	init->event_handler = ibqp->event_handler;
	init->sq_sig_type = rsp.sq_sig_all ? IB_SIGNAL_ALL_WR :
					     IB_SIGNAL_REQ_WR;
	return 0;
}

int vhca_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct vhca_ucontext *uc = qp_uc(ibqp);
	struct vhca_dev *dev = to_vdev(ibqp->device);
	struct vhca_qp *qp = to_vqp(ibqp);
	struct vhca_bufs bufs = {
		.buf = qp->buf, .sq_buf = qp->sq_buf, .db = qp->db,
	};
	bool dead = vhca_hold(dev, qp->gen);
	int rc;

	rc = dead ? 0 : vhca_cmd_destroy_qp(dev, uc, qp->handle);
	vhca_unpublish(dev, &dev->qps, vhca_key(qp->gen, qp->handle));
	vhca_bufs_put(uc, &bufs, !vhca_gone(dev, "qp", qp->handle, rc));
	if (!dead)
		vhca_let_go(dev);
	return 0;
}

/*
 * The work is in the queue's memory already. A list would come from a kernel
 * consumer or a process that posts by system call; no provider does.
 */
int vhca_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad_wr)
{
	struct vhca_qp *qp = to_vqp(ibqp);

	*bad_wr = wr;
	if (wr)
		return -EOPNOTSUPP;
	if (READ_ONCE(qp->state) < IB_QPS_RTS)
		return -EINVAL;
	return vhca_ring_kick(to_vdev(ibqp->device), &qp->kick);
}

static void mcast_req(struct xenvhca_mcast_req *req,
		      const struct ib_qp *ibqp, const union ib_gid *gid,
		      u16 lid)
{
	req->qp = container_of(ibqp, struct vhca_qp, ibqp)->handle;
	req->mlid = lid;
	memcpy(req->gid, gid->raw, sizeof(req->gid));
}

int vhca_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct vhca_dev *dev = to_vdev(ibqp->device);
	int rc = vhca_hold(dev, to_vqp(ibqp)->gen);
	struct xenvhca_mcast_req req = {};

	if (rc)
		return rc;
	mcast_req(&req, ibqp, gid, lid);
	rc = vhca_cmd_attach_mcast(vhca_pd_uc(ibqp->pd), &req);
	vhca_let_go(dev);
	return rc;
}

/*
 * A destroy verb, see vhca_gone(): ib_core counts an attachment as a user of the QP
 * until this succeeds, and would refuse to destroy the QP, its CQs and its PD for ever.
 * ib_uverbs detaches only its own attachments; one that the backend retains ends with
 * the context.
 */
int vhca_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct vhca_dev *dev = to_vdev(ibqp->device);
	struct xenvhca_mcast_req req = {};
	int rc;

	if (vhca_hold(dev, to_vqp(ibqp)->gen))
		return 0;
	mcast_req(&req, ibqp, gid, lid);
	rc = vhca_cmd_detach_mcast(vhca_pd_uc(ibqp->pd), &req);
	vhca_gone(dev, "multicast attachment of qp", req.qp, rc);
	vhca_let_go(dev);
	return 0;
}
