// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Queue pairs. The guest sees the physical QP number, and its port as port 1;
 * the HCA's driver judges everything else that the verbs define. XRC targets
 * are in the device's own context (xrcd.c). The command thread runs this, but what may
 * wait for the network a job thread (jobs.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/ib_core.h"
#include "jobs.h"
#include "object.h"
#include "shadow.h"
#include "tables.h"
#include "ucontext.h"

/* Others need verbs that are not served, or offloads. */
#define FLAGS_KNOWN	((uint32_t)IB_UVERBS_QP_CREATE_BLOCK_MULTICAST_LOOPBACK)
#define QP_KNOWN	(IB_QP_ATTR_STANDARD_BITS | IB_QP_RATE_LIMIT)

/* The error that a driver without the type gives natively. */
static int type_check(const struct be_dev *dev, uint8_t type)
{
	switch (type) {
	case IB_UVERBS_QPT_RC:
	case IB_UVERBS_QPT_UC:
	case IB_UVERBS_QPT_UD:
		return 0;
	case IB_UVERBS_QPT_XRC_INI:
	case IB_UVERBS_QPT_XRC_TGT:
		return dev->prov->xrc ? 0 : -EOPNOTSUPP;
	case IB_UVERBS_QPT_RAW_PACKET:
	case IB_UVERBS_QPT_DRIVER:
		return -EOPNOTSUPP;
	default:
		return -EINVAL;
	}
}

/* Looks up the PD, CQs and SRQ that the type has. */
static int create_find(const struct be_cmd *c,
		       struct ib_uverbs_ex_create_qp *cmd)
{
	const struct xenvhca_create_qp_req *r = &c->req->u.create_qp;
	bool receives = r->qp_type != IB_UVERBS_QPT_XRC_INI;
	struct be_handles *h = c->dev->handles;
	const struct be_obj *pd, *scq, *rcq, *srq;

	pd = be_handle_get(h, r->pd, BE_PD, c->uc);
	scq = be_handle_get(h, r->send_cq, BE_CQ, c->uc);
	rcq = receives ? be_handle_get(h, r->recv_cq, BE_CQ, c->uc) : NULL;
	srq = r->srq ? be_handle_get(h, r->srq, BE_SRQ, c->uc) : NULL;
	if (!pd || !scq || (receives && !rcq) || (r->srq && !srq))
		return -ENOENT;
	cmd->pd_handle = pd->host;
	cmd->send_cq_handle = scq->host;
	cmd->recv_cq_handle = rcq ? rcq->host : 0;
	cmd->srq_handle = srq ? srq->host : 0;
	cmd->is_srq = !!srq;
	return 0;
}

/* Sets *xrcd for an XRC target, which has nothing else, or to NULL. */
static int create_cmd(const struct be_cmd *c,
		      struct ib_uverbs_ex_create_qp *cmd, struct be_xrcd **xrcd)
{
	const struct xenvhca_create_qp_req *r = &c->req->u.create_qp;
	int err;

	*cmd = (struct ib_uverbs_ex_create_qp){
		.max_send_wr = r->cap.max_send_wr,
		.max_recv_wr = r->cap.max_recv_wr,
		.max_send_sge = r->cap.max_send_sge,
		.max_recv_sge = r->cap.max_recv_sge,
		.max_inline_data = r->cap.max_inline_data,
		.sq_sig_all = r->sq_sig_all,
		.qp_type = r->qp_type,
		.create_flags = r->create_flags,
	};
	*xrcd = NULL;
	if (r->qp_type != IB_UVERBS_QPT_XRC_TGT)
		return create_find(c, cmd);
	/* Its queues would be the kernel's memory; mlx4 makes some. */
	cmd->max_send_wr = cmd->max_recv_wr = 0;
	cmd->max_send_sge = cmd->max_recv_sge = cmd->max_inline_data = 0;
	*xrcd = be_xrcd_get(c, r->xrcd, &err);
	if (*xrcd)		/* the kernel's name for the field is old */
		cmd->pd_handle = (*xrcd)->o.host;
	return err;
}

static void create_answer(struct xenvhca_create_qp_rsp *rsp, uint32_t handle,
			  const struct ib_uverbs_create_qp_resp *resp)
{
	rsp->handle = handle;
	rsp->qpn = resp->qpn;
	rsp->cap = (struct xenvhca_qp_cap){
		.max_send_wr = resp->max_send_wr,
		.max_recv_wr = resp->max_recv_wr,
		.max_send_sge = resp->max_send_sge,
		.max_recv_sge = resp->max_recv_sge,
		.max_inline_data = resp->max_inline_data,
	};
}

/* Checks which fields an XRC queue pair goes without, and where a target lives. */
static bool xrc_fields_ok(const struct be_cmd *c,
			  const struct xenvhca_create_qp_req *r)
{
	if (r->qp_type == IB_UVERBS_QPT_XRC_TGT)
		return c->uc == c->dev->ctl && !r->pd && !r->send_cq &&
		       !r->recv_cq && !r->srq;
	if (r->qp_type == IB_UVERBS_QPT_XRC_INI && (r->recv_cq || r->srq))
		return false;
	return !r->xrcd;
}

static int create_check(const struct be_cmd *c,
			const struct xenvhca_create_qp_req *r)
{
	int err;

	if (r->reserved || r->reserved1 || r->cap.reserved ||
	    r->sq_sig_all > 1)
		return -EINVAL;
	if (r->create_flags & ~FLAGS_KNOWN)
		return -EOPNOTSUPP;
	err = type_check(c->dev, r->qp_type);
	if (!err && !xrc_fields_ok(c, r))
		err = -EINVAL;
	return err;
}

/* Its number, which the HCA's driver chose, may be the first of a group. */
static int create_charge(struct be_dev *dev, struct be_qp *qp)
{
	int err = be_quota_take_qpn(&dev->quota, qp->qpn);

	qp->charged = !err;
	if (err) {
		be_log_peer(dev, "contexts of queue pairs exceed max-pinned-mb");
		be_obj_destroy(dev, &qp->o);
	}
	return err;
}

int be_create_qp(const struct be_cmd *c)
{
	const struct xenvhca_create_qp_req *r = &c->req->u.create_qp;
	struct be_lists lists = { { &r->buf, &r->sq_buf }, &r->db };
	struct ib_uverbs_create_qp_resp resp = {};
	struct ib_uverbs_ex_create_qp cmd;
	struct be_udata u;
	struct be_xrcd *xrcd;
	struct be_qp *qp;
	int err = create_check(c, r);

	if (!err)
		err = create_cmd(c, &cmd, &xrcd);
	if (err)
		return err;
	qp = be_obj_new(c, BE_QP, sizeof(*qp), &err);
	if (!qp)
		return err;
	cmd.user_handle = qp->o.handle;
	qp->qp_type = r->qp_type;
	qp->pd = r->pd;
	err = be_udata_begin(&u, c, &lists, &qp->bufs);
	if (!err)
		err = uv_create_qp(c->uc->file->fd, &cmd, &u.uv, &resp);
	if (!err && xrcd) {
		xrcd->users++;
		qp->xrcd = xrcd;
	}
	create_answer(&c->rsp->u.create_qp, qp->o.handle, &resp);
	qp->cap = c->rsp->u.create_qp.cap;
	qp->qpn = resp.qpn;
	err = be_obj_made(c, &u, &qp->o, BE_QP, resp.qp_handle, err);
	return err ? err : create_charge(c->dev, qp);
}

static struct ib_uverbs_qp_dest dest_to_host(const struct be_dev *dev,
					     const struct xenvhca_ah_attr *ah)
{
	struct ib_uverbs_qp_dest d = {
		.flow_label = ah->flow_label, .dlid = ah->dlid,
		.sgid_index = ah->sgid_index, .hop_limit = ah->hop_limit,
		.traffic_class = ah->traffic_class, .sl = ah->sl,
		.src_path_bits = ah->src_path_bits,
		.static_rate = ah->static_rate, .is_global = ah->is_global,
		.port_num = dev->port,
	};

	memcpy(d.dgid, ah->dgid, sizeof(d.dgid));
	return d;
}

static struct xenvhca_ah_attr dest_to_wire(const struct ib_uverbs_qp_dest *d)
{
	struct xenvhca_ah_attr ah = {
		.flow_label = d->flow_label, .dlid = d->dlid,
		.sgid_index = d->sgid_index, .hop_limit = d->hop_limit,
		.traffic_class = d->traffic_class, .sl = d->sl,
		.src_path_bits = d->src_path_bits,
		.static_rate = d->static_rate, .is_global = d->is_global,
		.port_num = d->port_num ? 1 : 0,
	};

	memcpy(ah.dgid, d->dgid, sizeof(ah.dgid));
	return ah;
}

/* The address vectors: looked at before the HCA has them, */
static int modify_avs(const struct be_dev *dev, struct xenvhca_qp_attr *a)
{
	int err = 0;

	if (a->mask & IB_QP_AV)
		err = be_ah_to_host(dev, &a->ah);
	if (!err && a->mask & IB_QP_ALT_PATH)
		err = a->alt_port_num == 1 ? be_ah_to_host(dev, &a->alt_ah) :
					     -EINVAL;
	return err;
}

/* and once more after, with the indices that it has. */
static int modify_check_avs(const struct be_dev *dev,
			    const struct xenvhca_qp_attr *a)
{
	int err = 0;

	if (a->mask & IB_QP_AV)
		err = be_ah_check(dev, &a->ah);
	if (!err && a->mask & IB_QP_ALT_PATH)
		err = be_ah_check(dev, &a->alt_ah);
	return err;
}

static int modify_check(const struct xenvhca_modify_qp_req *r)
{
	const struct xenvhca_qp_attr *a = &r->attr;

	if (r->reserved || a->reserved)
		return -EINVAL;
	if (a->mask & ~QP_KNOWN)
		return -EOPNOTSUPP;
	if (a->mask & IB_QP_PORT && a->port_num != 1)
		return -EINVAL;
	/* As for a process without CAP_NET_RAW: QKeys of management. */
	if (a->mask & IB_QP_QKEY && a->qkey & IB_QKEY_CONTROLLED)
		return -EPERM;
	return 0;
}

/* P_Key indices of the guest's are not those of the HCA. */
static int modify_pkeys(struct be_dev *dev, const struct xenvhca_qp_attr *a,
			struct ib_uverbs_ex_modify_qp *cmd)
{
	int err = 0;

	if (a->mask & IB_QP_PKEY_INDEX)
		err = be_pkey_to_host(dev, a->pkey_index,
				      &cmd->base.pkey_index);
	if (!err && a->mask & IB_QP_ALT_PATH)
		err = be_pkey_to_host(dev, a->alt_pkey_index,
				      &cmd->base.alt_pkey_index);
	return err;
}

static void modify_cmd(const struct be_dev *dev, const struct be_qp *qp,
		       const struct xenvhca_qp_attr *a,
		       struct ib_uverbs_ex_modify_qp *cmd)
{
	*cmd = (struct ib_uverbs_ex_modify_qp){
		.base.qp_handle = qp->o.host,
		.base.attr_mask = a->mask,
		.base.qkey = a->qkey,
		.base.rq_psn = a->rq_psn,
		.base.sq_psn = a->sq_psn,
		.base.dest_qp_num = a->dest_qp_num,
		.base.qp_access_flags = a->qp_access_flags,
		.base.qp_state = a->qp_state,
		.base.cur_qp_state = a->cur_qp_state,
		.base.path_mtu = a->path_mtu,
		.base.path_mig_state = a->path_mig_state,
		.base.en_sqd_async_notify = a->en_sqd_async_notify,
		.base.max_rd_atomic = a->max_rd_atomic,
		.base.max_dest_rd_atomic = a->max_dest_rd_atomic,
		.base.min_rnr_timer = a->min_rnr_timer,
		.base.timeout = a->timeout,
		.base.retry_cnt = a->retry_cnt,
		.base.rnr_retry = a->rnr_retry,
		.base.alt_timeout = a->alt_timeout,
	};
	if (a->mask & IB_QP_PORT)
		cmd->base.port_num = dev->port;
	if (a->mask & IB_QP_AV)
		cmd->base.dest = dest_to_host(dev, &a->ah);
	if (a->mask & IB_QP_ALT_PATH) {
		cmd->base.alt_dest = dest_to_host(dev, &a->alt_ah);
		cmd->base.alt_port_num = dev->port;
	}
	if (a->mask & IB_QP_RATE_LIMIT)
		cmd->rate_limit = a->rate_limit;
}

/* A change on its way. */
struct modify_job {
	struct be_job job;
	struct be_qp *qp;
	struct xenvhca_qp_attr attr;
	struct ib_uverbs_ex_modify_qp cmd;
	struct be_udata u;
};

/*
 * An entry of the GID table that was the guest's may have become another's before
 * the kernel looked at it. What the queue pair uses then stays in its place as
 * long as the queue pair uses it, so that it is seen here. Nothing goes out in
 * Error.
 */
static int modify_again(struct be_dev *dev, struct modify_job *j)
{
	const struct ib_uverbs_ex_modify_qp error = {
		.base.qp_handle = j->qp->o.host, .base.attr_mask = IB_QP_STATE,
		.base.qp_state = IB_QPS_ERR,
	};
	int err = modify_check_avs(dev, &j->attr);

	if (!err)
		return 0;
	j->qp->state = IB_QPS_ERR;
	if (uv_modify_qp(j->job.uc->file->fd, &error, NULL))
		be_fault(dev, "a queue pair got a GID that is not the guest's and does not let go of it");
	return err;
}

/*
 * Nothing may be sent while Soft-RoCE resets the queue pair. The kernel lets no change
 * with an address, for which it may wait, do that.
 */
static int modify_alone(struct be_dev *dev, struct modify_job *j)
{
	bool alone = dev->prov->trusts && !(j->attr.mask & IB_QP_AV);
	int err;

	if (alone)
		be_kick_hold(dev);
	err = uv_modify_qp(j->job.uc->file->fd, &j->cmd, &j->u.uv);
	if (alone)
		be_kick_release(dev);
	return err;
}

static int qp_modify(struct be_dev *dev, struct be_job *job)
{
	struct modify_job *j = (struct modify_job *)job;
	int err = 0;

	if (dev->prov->trusts)
		err = be_rxe_modify_qp(job->uc->file->fd, j->qp, &j->cmd.base);
	if (!err)
		err = modify_alone(dev, j);
	if (err)
		return err;
	if (j->attr.mask & IB_QP_STATE)
		j->qp->state = j->attr.qp_state;
	return modify_again(dev, j);
}

static int qp_modified(const struct be_cmd *c, struct be_job *job)
{
	struct modify_job *j = (struct modify_job *)job;
	int err = job->err;

	j->qp->jobs--;
	if (!err)
		err = be_udata_end(&j->u, c, j->qp->o.handle);
	if (!err && j->attr.mask & IB_QP_STATE)
		be_recv_poll_now(c->dev);	/* it may receive from now on */
	free(j);
	return err;
}

/* The kernel looks for the address at first, whatever comes of the command then. */
static bool modify_waits(const struct be_dev *dev, const struct be_qp *qp,
			 const struct xenvhca_qp_attr *a)
{
	return a->mask & IB_QP_AV && qp->qp_type != IB_UVERBS_QPT_UD &&
	       be_ah_waits(dev, &a->ah);
}

static int modify_prepare(const struct be_cmd *c, struct modify_job *j)
{
	int err;

	modify_cmd(c->dev, j->qp, &j->attr, &j->cmd);
	err = modify_pkeys(c->dev, &j->attr, &j->cmd);
	return err ? err : be_udata_begin(&j->u, c, NULL, NULL);
}

int be_modify_qp(const struct be_cmd *c)
{
	const struct xenvhca_modify_qp_req *r = &c->req->u.modify_qp;
	struct xenvhca_qp_attr attr = r->attr;
	struct modify_job *j;
	struct be_qp *qp;
	int err = modify_check(r);

	if (!err)
		err = modify_avs(c->dev, &attr);
	if (err)
		return err;
	qp = be_handle_get(c->dev->handles, r->handle, BE_QP, c->uc);
	if (!qp)
		return -ENOENT;
	j = calloc(1, sizeof(*j));
	if (!j)
		return -ENOMEM;
	j->job.line = qp->xrcd ? &qp->xrcd->line : &c->uc->line;
	j->job.drops = true;
	j->job.run = qp_modify;
	j->job.end = qp_modified;
	j->qp = qp;
	j->attr = attr;
	err = modify_prepare(c, j);
	if (err) {
		free(j);
		return err;
	}
	/* Behind one that waits, too, in order. */
	return be_job_do(c, &j->job, qp->jobs++ ||
			 modify_waits(c->dev, qp, &r->attr));
}

static void query_answer(const struct be_dev *dev,
			 struct xenvhca_query_qp_rsp *rsp, uint32_t mask,
			 const struct ib_uverbs_query_qp_resp *q)
{
	rsp->attr = (struct xenvhca_qp_attr){
		.mask = mask,
		.qkey = q->qkey, .rq_psn = q->rq_psn, .sq_psn = q->sq_psn,
		.dest_qp_num = q->dest_qp_num,
		.qp_access_flags = q->qp_access_flags,
		.pkey_index = be_pkey_from_host(dev, q->pkey_index),
		.alt_pkey_index = be_pkey_from_host(dev, q->alt_pkey_index),
		.qp_state = q->qp_state, .cur_qp_state = q->cur_qp_state,
		.path_mtu = q->path_mtu, .path_mig_state = q->path_mig_state,
		.sq_draining = q->sq_draining,
		.max_rd_atomic = q->max_rd_atomic,
		.max_dest_rd_atomic = q->max_dest_rd_atomic,
		.min_rnr_timer = q->min_rnr_timer,
		.port_num = q->port_num ? 1 : 0,
		.timeout = q->timeout, .retry_cnt = q->retry_cnt,
		.rnr_retry = q->rnr_retry,
		.alt_port_num = q->alt_port_num ? 1 : 0,
		.alt_timeout = q->alt_timeout,
		.ah = dest_to_wire(&q->dest),
		.alt_ah = dest_to_wire(&q->alt_dest),
	};
	rsp->cap = (struct xenvhca_qp_cap){
		.max_send_wr = q->max_send_wr, .max_recv_wr = q->max_recv_wr,
		.max_send_sge = q->max_send_sge,
		.max_recv_sge = q->max_recv_sge,
		.max_inline_data = q->max_inline_data,
	};
	rsp->sq_sig_all = q->sq_sig_all;
}

int be_query_qp(const struct be_cmd *c)
{
	const struct xenvhca_query_qp_req *r = &c->req->u.query_qp;
	struct ib_uverbs_query_qp_resp resp = {};
	struct be_qp *qp;
	int err;

	qp = be_handle_get(c->dev->handles, r->handle, BE_QP, c->uc);
	if (!qp)
		return -ENOENT;
	err = uv_query_qp(c->uc->file->fd, qp->o.host, r->mask, &resp);
	if (!err)
		query_answer(c->dev, &c->rsp->u.query_qp, r->mask, &resp);
	return err;
}

static void qp_release(struct be_dev *dev, struct be_obj *o)
{
	struct be_qp *qp = (struct be_qp *)o;

	be_bufs_release(dev, o->uc, &qp->bufs);
	be_xrcd_put(dev, qp->xrcd);
	if (qp->charged)
		be_quota_give_qpn(&dev->quota, qp->qpn);
}

/* Attachments point to their QP, so they must go first, as natively. */
static bool qp_busy(const struct be_obj *qp)
{
	const struct be_obj *o = qp->uc->objs[BE_MCAST];

	for (; o; o = o->next)
		if (&((const struct be_mcast *)o)->qp->o == qp)
			return true;
	return false;
}

/*
 * The kernel destroys no queue pair that a send of the kick thread uses, and answers EBUSY.
 * That thread also posts what had no room before (be_shadow_sends()), for which the guest
 * makes no kick.
 */
static int qp_end(struct be_dev *dev, struct be_obj *o)
{
	bool alone = dev->prov->trusts;
	int err;

	if (alone)
		be_kick_hold(dev);
	err = uv_destroy_qp(o->uc->file->fd, o->host);
	if (alone)
		be_kick_release(dev);
	return err;
}

const struct be_kind be_kind_qp = {
	.busy = qp_busy, .end = qp_end, .release = qp_release,
};

/* Whoever destroys it while it is modified waits for nothing else any more. */
int be_destroy_qp(const struct be_cmd *c)
{
	const struct be_qp *qp = be_handle_get(c->dev->handles,
					       c->req->u.handle.handle, BE_QP,
					       c->uc);

	return qp && qp->jobs ? BE_LATER : be_destroy(c, BE_QP);
}
