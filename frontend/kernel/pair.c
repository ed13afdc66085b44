// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Queue pairs and shared receive queues of consumers in the kernel: sizes as the driver
 * of mlx5 computes them, private data of the commands, and the end.
 */
#include <rdma/mlx5-abi.h>

#include "kern.h"
#include "ring/grant.h"
#include "verbs/verbs.h"

#define MIN_SRQ_STRIDE	32

/* What the consumer asked for, as it will be. */
static int qp_caps(struct ib_qp_cap *cap, bool srq)
{
	if (cap->max_send_sge > VHCA_KERN_SGE || cap->max_recv_sge > VHCA_KERN_SGE ||
	    cap->max_inline_data > VHCA_KSQ_INLINE)
		return -EINVAL;
	cap->max_recv_wr = cap->max_recv_wr && !srq ?
			   roundup_pow_of_two(cap->max_recv_wr) : 0;
	cap->max_recv_sge = roundup_pow_of_two(max(cap->max_recv_sge, 1u));
	cap->max_send_sge = max(cap->max_send_sge, 1u);
	/* The send queue, behind the receive queue, begins at a block. */
	if (cap->max_recv_wr)
		cap->max_recv_wr = max_t(u32, cap->max_recv_wr, MLX5_SEND_WQE_BB /
					 (VHCA_SEGMENT * cap->max_recv_sge));
	return 0;
}

static int queues_init(struct vhca_kqp *qp, const struct ib_qp_init_attr *attr)
{
	const struct ib_qp_cap *cap = &attr->cap;
	struct vhca_krq *rq = &qp->rq;
	struct vhca_ksq *sq = &qp->sq;
	int rc;

	sq->cnt = cap->max_send_wr ?
		  roundup_pow_of_two(cap->max_send_wr * VHCA_KSQ_BLOCKS) : 0;
	sq->max_post = sq->cnt / VHCA_KSQ_BLOCKS;
	sq->max_gs = cap->max_send_sge;
	sq->sig_all = attr->sq_sig_type == IB_SIGNAL_ALL_WR;
	rq->cnt = cap->max_recv_wr;
	rq->max_gs = cap->max_recv_sge;
	rq->stride = VHCA_SEGMENT * rq->max_gs;
	rc = vhca_krq_init(rq, to_kern(qp->qp.ibqp.device));
	return rc ? rc : vhca_ksq_init(sq);
}

static void queues_exit(struct vhca_kqp *qp)
{
	vhca_krq_exit(&qp->rq);
	vhca_ksq_exit(&qp->sq);
}

/* Other verbs may be at the queues: those that post, and those that poll the CQs. */
static void queues_reset(struct vhca_kqp *qp)
{
	struct vhca_kcq *scq = to_kcq(qp->qp.ibqp.send_cq), *rcq = to_kcq(qp->qp.ibqp.recv_cq);
	unsigned long irq;

	spin_lock_irqsave(&scq->lock, irq);
	spin_lock(&qp->sq.lock);
	vhca_ksq_reset(&qp->sq);
	*qp->sq.db = 0;
	spin_unlock(&qp->sq.lock);
	spin_unlock_irqrestore(&scq->lock, irq);
	spin_lock_irqsave(&rcq->lock, irq);
	spin_lock(&qp->rq.lock);
	vhca_krq_reset(&qp->rq);
	*qp->rq.db = 0;
	spin_unlock(&qp->rq.lock);
	spin_unlock_irqrestore(&rcq->lock, irq);
}

/* The receive queue lies before the send queue. */
static void queues_place(struct vhca_kqp *qp, u32 bfreg)
{
	__be32 *db = qp->qp.db->va;

	qp->rq.buf = qp->qp.buf->va;
	qp->sq.buf = qp->rq.buf + qp->rq.cnt * qp->rq.stride;
	qp->rq.db = db + MLX5_RCV_DBR;
	qp->sq.db = db + MLX5_SND_DBR;
	/* Both registers of the context are in its one page. */
	qp->sq.bf = MLX5_BF_OFFSET + (bfreg & 1) * 2 * VHCA_BF_SIZE;
	queues_reset(qp);
}

/* No completion names the queue pair, and no poll that found it goes on. */
static void cq_forget(struct ib_cq *ibcq, struct ib_qp *ibqp)
{
	struct ib_srq *srq = ibqp->srq;

	vhca_kcq_clean(to_kcq(ibcq), to_vqp(ibqp)->gen, ibqp->qp_num,
		       srq ? &to_ksrq(srq)->rq : NULL);
}

/* No poll uses the queue pair, and nobody finds it, when this returns. */
static void qp_unpublish(struct vhca_kqp *qp)
{
	struct ib_qp *ibqp = &qp->qp.ibqp;

	atomic_dec(&to_vcq(ibqp->send_cq)->qps);
	atomic_dec(&to_vcq(ibqp->recv_cq)->qps);
	xa_erase(&to_kcq(ibqp->send_cq)->qps, ibqp->qp_num);
	xa_erase(&to_kcq(ibqp->recv_cq)->qps, ibqp->qp_num);
	xa_erase(&to_kern(ibqp->device)->qps, ibqp->qp_num);	/* the number is free */
	cq_forget(ibqp->send_cq, ibqp);
	cq_forget(ibqp->recv_cq, ibqp);
}

/* A dead queue pair keeps its number, by which rdma_cm names it, while its owner has it. */
static bool number_kept(struct vhca_kern *kern, u32 qpn)
{
	struct vhca_kqp *other;
	bool kept;

	xa_lock(&kern->qps);
	other = xa_load(&kern->qps, qpn);
	kept = other && other->qp.gen != READ_ONCE(kern->dev->gen);
	xa_unlock(&kern->qps);
	return kept;
}

static int qp_publish_held(struct vhca_kqp *qp)
{
	struct ib_qp *ibqp = &qp->qp.ibqp;
	struct vhca_kcq *scq = to_kcq(ibqp->send_cq), *rcq = to_kcq(ibqp->recv_cq);
	struct vhca_kern *kern = to_kern(ibqp->device);
	struct vhca_dev *dev = kern->dev;
	int rc = number_kept(kern, ibqp->qp_num) ? -EAGAIN :
		 vhca_publish(dev, &kern->qps, ibqp->qp_num, qp);

	if (rc)
		return rc;
	atomic_inc(&scq->cq.qps);
	atomic_inc(&rcq->cq.qps);
	rc = vhca_publish(dev, &scq->qps, ibqp->qp_num, qp);
	if (!rc && rcq != scq)
		rc = vhca_publish(dev, &rcq->qps, ibqp->qp_num, qp);
	if (rc)
		qp_unpublish(qp);
	else	/* events that waited for a queue pair */
		schedule_delayed_work(&dev->owed_work, VHCA_COMP_LATER);
	return rc;
}

/* Lets connections and both CQs find it. Its number is its own in the whole device. */
static int qp_publish(struct vhca_kqp *qp)
{
	struct vhca_kern *kern = to_kern(qp->qp.ibqp.device);
	int rc;

	down_write(&kern->numbers);
	rc = vhca_hold(kern->dev, qp->qp.gen);
	if (!rc) {
		rc = qp_publish_held(qp);
		vhca_let_go(kern->dev);
	}
	up_write(&kern->numbers);
	return rc;
}

static int qp_make(struct vhca_kqp *qp, struct ib_qp_init_attr *attr)
{
	struct vhca_kern *kern = to_kern(qp->qp.ibqp.device);
	struct mlx5_ib_create_qp cmd = {
		.buf_addr = PAGE_SIZE, .db_addr = vhca_kern_record(kern),
		.sq_wqe_count = qp->sq.cnt, .rq_wqe_count = qp->rq.cnt,
		.rq_wqe_shift = qp->rq.cnt ? ilog2(qp->rq.stride) : 0, .uidx = VHCA_NO_QPN,
	};
	struct mlx5_ib_create_qp_resp rsp = {};
	struct ib_udata udata = vhca_own_udata(&cmd, sizeof(cmd), &rsp, sizeof(rsp));
	struct ib_qp_cap cap = attr->cap;
	int rc = vhca_create_qp(&qp->qp.ibqp, attr, &udata);

	if (rc)
		return rc;
	/* Whatever the answer says. */
	attr->cap = cap;
	attr->cap.max_send_wr = qp->sq.max_post;
	queues_place(qp, rsp.bfreg_index);
	rc = qp_publish(qp);
	if (rc)
		vhca_destroy_qp(&qp->qp.ibqp, NULL);
	return rc;
}

int vhca_kern_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
			struct ib_udata *udata)
{
	struct vhca_kqp *qp = to_kqp(ibqp);
	int rc;

	if (attr->qp_type != IB_QPT_RC && attr->qp_type != IB_QPT_UC &&
	    attr->qp_type != IB_QPT_UD)
		return -EOPNOTSUPP;
	rc = qp_caps(&attr->cap, attr->srq);
	if (rc)
		return rc;
	if (!attr->send_cq || !attr->recv_cq ||
	    (!attr->cap.max_send_wr && (attr->srq || !attr->cap.max_recv_wr)))
		return -EINVAL;
	vhca_iw_qp_init(&qp->iw);
	rc = queues_init(qp, attr);
	if (!rc)
		rc = vhca_kcq_renew(to_kcq(attr->send_cq)) ?:
		     vhca_kcq_renew(to_kcq(attr->recv_cq));
	if (!rc)
		rc = qp_make(qp, attr);
	if (rc)
		queues_exit(qp);
	return rc;
}

/*
 * ib_drain_qp() goes on only if the step to ERR succeeds. Without an HCA it is one: then
 * poll_cq flushes the queues. From Linux 6.11 on it also waits for an event, if there is an
 * SRQ, which an HCA would send.
 */
static int to_error(struct ib_qp *ibqp, int rc)
{
	struct vhca_kern *kern = to_kern(ibqp->device);

	if (rc && vhca_kern_alive(kern, to_vqp(ibqp)->gen))
		vhca_break(kern->dev, "backend does not stop a queue pair of the kernel");
	else if (rc && ibqp->srq)
		vhca_event_last(kern->dev, to_vqp(ibqp));
	return 0;
}

/*
 * Whoever resets a queue pair takes back what was posted there, also if the step fails
 * (ipoib_ib_dev_stop_default()). So no completion of it comes later, whatever the backend says.
 */
static int to_reset(struct ib_qp *ibqp, int rc)
{
	struct vhca_kern *kern = to_kern(ibqp->device);

	if (rc && vhca_kern_alive(kern, to_vqp(ibqp)->gen))
		vhca_break(kern->dev, "backend does not reset a queue pair of the kernel");
	cq_forget(ibqp->send_cq, ibqp);
	cq_forget(ibqp->recv_cq, ibqp);
	queues_reset(to_kqp(ibqp));
	return 0;
}

int vhca_kern_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
			struct ib_udata *udata)
{
	int rc;

	if (vhca_iw_modify(to_kqp(ibqp), attr, &mask))
		return 0;
	rc = vhca_modify_qp(ibqp, attr, mask, NULL);
	if (!(mask & IB_QP_STATE))
		return rc;
	if (attr->qp_state == IB_QPS_ERR)
		return to_error(ibqp, rc);
	return attr->qp_state == IB_QPS_RESET ? to_reset(ibqp, rc) : rc;
}

int vhca_kern_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct vhca_kern *kern = to_kern(ibqp->device);
	struct vhca_kqp *qp = to_kqp(ibqp);
	int rc;

	qp_unpublish(qp);
	vhca_iw_qp_end(qp);
	/* The HCA may use the number again, but nobody has it before that is clean. */
	down_read(&kern->numbers);
	rc = vhca_destroy_qp(ibqp, NULL);
	cq_forget(ibqp->send_cq, ibqp);
	cq_forget(ibqp->recv_cq, ibqp);
	up_read(&kern->numbers);
	queues_exit(qp);
	return rc;
}

/* ---- shared receive queues ---- */

static int srq_make(struct vhca_ksrq *srq, struct ib_srq_init_attr *init)
{
	struct ib_srq *ibsrq = &srq->srq.ibsrq;
	struct mlx5_ib_create_srq cmd = {
		.buf_addr = PAGE_SIZE,
		.db_addr = vhca_kern_record(to_kern(ibsrq->device)),
		.uidx = VHCA_NO_QPN,
	};
	struct mlx5_ib_create_srq_resp rsp = {};
	struct ib_udata udata = vhca_own_udata(&cmd, sizeof(cmd), &rsp, sizeof(rsp));
	int rc = vhca_create_srq(ibsrq, init, &udata);

	if (rc)
		return rc;
	init->attr.max_wr = srq->rq.cnt - 1;
	init->attr.max_sge = srq->rq.max_gs;
	srq->rq.buf = srq->srq.buf->va;
	srq->rq.db = srq->srq.db->va;
	vhca_krq_reset(&srq->rq);
	return 0;
}

int vhca_kern_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
			 struct ib_udata *udata)
{
	struct vhca_krq *rq = &to_ksrq(ibsrq)->rq;
	int rc;

	if (init->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	if (init->attr.max_sge > VHCA_KERN_SGE || init->attr.max_wr > U16_MAX - 1)
		return -EINVAL;
	rq->shared = true;
	rq->cnt = roundup_pow_of_two(init->attr.max_wr + 1);
	rq->stride = max_t(u32, MIN_SRQ_STRIDE,
			   roundup_pow_of_two(VHCA_SEGMENT * (1 + init->attr.max_sge)));
	rq->max_gs = rq->stride / VHCA_SEGMENT - 1;
	rc = vhca_krq_init(rq, to_kern(ibsrq->device));
	if (!rc)
		rc = srq_make(to_ksrq(ibsrq), init);
	if (rc)
		vhca_krq_exit(rq);
	return rc;
}

/* Sets the limit for an event; the size stays. */
int vhca_kern_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
			 enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	return mask & IB_SRQ_MAX_WR ? -EOPNOTSUPP :
				      vhca_modify_srq(ibsrq, attr, mask, NULL);
}

int vhca_kern_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	int rc = vhca_destroy_srq(ibsrq, NULL);

	vhca_krq_exit(&to_ksrq(ibsrq)->rq);
	return rc;
}
