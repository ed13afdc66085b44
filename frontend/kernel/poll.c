// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Completion queues of an mlx5, polled and armed by the kernel; any context. A completion
 * that names no queue pair of this CQ, no request that is posted, or a request that
 * completes without one, is the backend's invention and is skipped.
 */
#include <rdma/mlx5-abi.h>

#include "kern.h"
#include "verbs/credit.h"
#include "ring/grant.h"
#include "verbs/verbs.h"

enum { DB_CONSUMED, DB_ARM };	/* words of the doorbell record */

static struct mlx5_cqe64 *cqe_at(const struct vhca_kcq *cq, u32 n)
{
	return (struct mlx5_cqe64 *)(cq->buf + (n & (cq->nent - 1)) * sizeof(struct mlx5_cqe64));
}

/* Has the HCA written the @n-th completion? */
static bool cqe_ready(const struct vhca_kcq *cq, u32 n)
{
	u8 own = READ_ONCE(cqe_at(cq, n)->op_own);

	return own >> 4 != MLX5_CQE_INVALID &&
	       (own & MLX5_CQE_OWNER_MASK) == !!(n & cq->nent);
}

/* Of cq->attr, at the backend of now. */
static int cq_make(struct vhca_kcq *cq)
{
	struct mlx5_ib_create_cq cmd = {
		.buf_addr = PAGE_SIZE, .db_addr = vhca_kern_record(cq->kern), .cqe_size = 64,
	};
	struct mlx5_ib_create_cq_resp rsp = {};
	struct ib_udata udata = vhca_own_udata(&cmd, sizeof(cmd), &rsp, sizeof(rsp));
	int rc = vhca_cq_make(&cq->cq, &cq->kern->uc, &cq->attr, &udata);
	unsigned long irq;
	u32 i;

	if (rc)
		return rc;
	spin_lock_irqsave(&cq->lock, irq);
	/* As many as the memory was made for, whatever the answer says. */
	cq->nent = roundup_pow_of_two(cq->attr.cqe + 1);
	cq->cq.ibcq.cqe = cq->nent - 1;
	cq->buf = cq->cq.buf->va;
	cq->db = cq->cq.db->va;
	cq->gen = cq->cq.gen;
	cq->cqn = rsp.cqn;
	cq->cons = 0;
	WRITE_ONCE(cq->cq.events, 0);
	for (i = 0; i < cq->nent; i++)
		cqe_at(cq, i)->op_own = MLX5_CQE_INVALID << 4;
	spin_unlock_irqrestore(&cq->lock, irq);
	return 0;
}

int vhca_kern_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
			struct vhca_cq_attrs *attrs)
{
	struct vhca_kcq *cq = to_kcq(ibcq);

	cq->kern = to_kern(ibcq->device);
	cq->attr = *attr;
	mutex_init(&cq->renew);
	spin_lock_init(&cq->lock);
	xa_init(&cq->qps);
	return cq_make(cq);
}

/* Its consumer has armed it, and does not know that it is another one. */
static int cq_renew(struct vhca_kcq *cq)
{
	struct vhca_dev *dev = cq->kern->dev;
	struct vhca_cq old = {
		.buf = cq->cq.buf, .db = cq->cq.db, .record = cq->cq.record,
		.handle = cq->cq.handle, .gen = cq->cq.gen,
	};
	struct vhca_bufs bufs = { .buf = old.buf, .db = old.db };
	int rc;

	WRITE_ONCE(cq->renewed, true);
	rc = cq_make(cq);
	if (rc) {
		cq->cq.buf = old.buf;
		cq->cq.db = old.db;
		cq->cq.record = old.record;
		cq->cq.handle = old.handle;
		cq->cq.gen = old.gen;
		return rc;
	}
	vhca_unpublish(dev, &dev->cqs, vhca_key(old.gen, old.handle));
	vhca_bufs_put(cq->cq.uc, &bufs, false);
	if (atomic_read(&cq->cq.comp_credit))
		vhca_kern_arm_cq(&cq->cq.ibcq, IB_CQ_NEXT_COMP);
	return 0;
}

int vhca_kcq_renew(struct vhca_kcq *cq)
{
	int rc = 0;

	mutex_lock(&cq->renew);
	if (cq->cq.gen != READ_ONCE(cq->kern->dev->gen))
		rc = cq_renew(cq);
	mutex_unlock(&cq->renew);
	return rc;
}

/* ib_core waited for its work, which an event may have begun again. So no event comes first. */
int vhca_kern_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct vhca_cq *cq = to_vcq(ibcq);

	vhca_unpublish(to_vdev(ibcq->device), &to_vdev(ibcq->device)->cqs,
		       vhca_key(cq->gen, cq->handle));
	if (vhca_cq_works(cq))
		cancel_work_sync(&ibcq->work);
	return vhca_destroy_cq(ibcq, NULL);
}

/* May it have queue pairs whose HCA is gone? */
static bool may_flush(const struct vhca_kcq *cq)
{
	return READ_ONCE(cq->renewed) || !vhca_kern_alive(cq->kern, cq->gen);
}

/*
 * Is there something to flush? ib_core hears of no event while it polls, but asks for those
 * that it missed.
 */
static bool flush_owed(struct vhca_kcq *cq)
{
	struct vhca_kqp *qp;
	unsigned long qpn;

	if (!may_flush(cq))
		return false;
	xa_for_each(&cq->qps, qpn, qp) {
		if (vhca_kern_alive(cq->kern, qp->qp.gen))
			continue;
		if ((qp->qp.ibqp.send_cq == &cq->cq.ibcq && vhca_ksq_posted(&qp->sq)) ||
		    (qp->qp.ibqp.recv_cq == &cq->cq.ibcq && vhca_krq_posted(&qp->rq)))
			return true;
	}
	return false;
}

/*
 * An arm uses its number up; the event, which counts them, gives the next one. Without an
 * arm there is no event: a CQ may have no handler yet, or one that warns of events.
 */
int vhca_kern_arm_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	struct vhca_kcq *cq = to_kcq(ibcq);
	__be32 bell[2];
	unsigned long irq;
	int rc = 0;
	u32 word;

	vhca_credit_arm(&cq->cq.comp_credit);
	spin_lock_irqsave(&cq->lock, irq);
	word = (READ_ONCE(cq->cq.events) & 3) << 28 | (cq->cons & 0xffffff) |
	       ((flags & IB_CQ_SOLICITED_MASK) == IB_CQ_SOLICITED ?
		MLX5_CQ_DB_REQ_NOT_SOL : MLX5_CQ_DB_REQ_NOT);
	cq->db[DB_ARM] = cpu_to_be32(word);
	wmb();	/* the record before the register */
	bell[0] = cpu_to_be32(word);
	bell[1] = cpu_to_be32(cq->cqn);
	vhca_kern_ring(cq->kern, cq->gen, bell, MLX5_CQ_DOORBELL);
	if (flags & IB_CQ_REPORT_MISSED_EVENTS)
		rc = cqe_ready(cq, cq->cons) || flush_owed(cq);
	spin_unlock_irqrestore(&cq->lock, irq);
	return rc;
}

static enum ib_wc_status status_of(u8 syndrome)
{
	static const u8 status[] = {
		[MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR] = IB_WC_LOC_LEN_ERR,
		[MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR] = IB_WC_LOC_QP_OP_ERR,
		[MLX5_CQE_SYNDROME_LOCAL_PROT_ERR] = IB_WC_LOC_PROT_ERR,
		[MLX5_CQE_SYNDROME_WR_FLUSH_ERR] = IB_WC_WR_FLUSH_ERR,
		[MLX5_CQE_SYNDROME_MW_BIND_ERR] = IB_WC_MW_BIND_ERR,
		[MLX5_CQE_SYNDROME_BAD_RESP_ERR] = IB_WC_BAD_RESP_ERR,
		[MLX5_CQE_SYNDROME_LOCAL_ACCESS_ERR] = IB_WC_LOC_ACCESS_ERR,
		[MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR] = IB_WC_REM_INV_REQ_ERR,
		[MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR] = IB_WC_REM_ACCESS_ERR,
		[MLX5_CQE_SYNDROME_REMOTE_OP_ERR] = IB_WC_REM_OP_ERR,
		[MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR] = IB_WC_RETRY_EXC_ERR,
		[MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR] = IB_WC_RNR_RETRY_EXC_ERR,
		[MLX5_CQE_SYNDROME_REMOTE_ABORTED_ERR] = IB_WC_REM_ABORT_ERR,
	};

	/* 0 would be success. */
	return syndrome < ARRAY_SIZE(status) && status[syndrome] ? status[syndrome] :
								   IB_WC_GENERAL_ERR;
}

/* What a good receive tells of the message; any value of the backend's will do. */
static void wc_response(const struct mlx5_cqe64 *cqe, u8 opcode, struct ib_wc *wc)
{
	u32 flags = be32_to_cpu(cqe->flags_rqpn);

	wc->byte_len = be32_to_cpu(cqe->byte_cnt);
	wc->opcode = opcode == MLX5_CQE_RESP_WR_IMM ? IB_WC_RECV_RDMA_WITH_IMM :
						      IB_WC_RECV;
	if (opcode == MLX5_CQE_RESP_WR_IMM || opcode == MLX5_CQE_RESP_SEND_IMM) {
		wc->wc_flags = IB_WC_WITH_IMM;
		wc->ex.imm_data = cqe->immediate;
	} else if (opcode == MLX5_CQE_RESP_SEND_INV) {
		wc->wc_flags = IB_WC_WITH_INVALIDATE;
		wc->ex.invalidate_rkey = be32_to_cpu(cqe->inval_rkey);
	}
	wc->wc_flags |= flags >> 28 & 3 ? IB_WC_GRH : 0;
	wc->src_qp = flags & 0xffffff;
	wc->sl = flags >> 24 & 0xf;
	wc->slid = be16_to_cpu(cqe->slid);
	wc->dlid_path_bits = cqe->ml_path;
	wc->port_num = VHCA_PORT;
}

static struct vhca_krq *rq_of(struct vhca_kqp *qp)
{
	return qp->qp.ibqp.srq ? &to_ksrq(qp->qp.ibqp.srq)->rq : &qp->rq;
}

static bool poll_send(struct vhca_kcq *cq, struct vhca_kqp *qp,
		      const struct mlx5_cqe64 *cqe, bool error, struct ib_wc *wc)
{
	return qp->qp.ibqp.send_cq == &cq->cq.ibcq &&
	       vhca_ksq_complete(&qp->sq, be16_to_cpu(cqe->wqe_counter), error, wc);
}

/*
 * A consumer takes a datagram for as long as it is said to be, and the GRH for there: one that
 * is shorter counts as too long. And no datagram is of a peer's RDMA write.
 */
static bool poll_recv(struct vhca_kcq *cq, struct vhca_kqp *qp,
		      const struct mlx5_cqe64 *cqe, bool written, struct ib_wc *wc)
{
	u32 len = wc->byte_len;

	if (qp->qp.ibqp.qp_type == IB_QPT_UD && wc->status == IB_WC_SUCCESS) {
		written = false;
		len = len < sizeof(struct ib_grh) ? U32_MAX : len;
	}
	return qp->qp.ibqp.recv_cq == &cq->cq.ibcq &&
	       vhca_krq_complete(rq_of(qp), be16_to_cpu(cqe->wqe_counter), len, written, wc);
}

static bool wc_from_cqe(struct vhca_kcq *cq, struct vhca_kqp *qp,
			const struct mlx5_cqe64 *cqe, struct ib_wc *wc)
{
	const struct mlx5_err_cqe *bad = (const void *)cqe;
	u8 opcode = cqe->op_own >> 4;

	switch (opcode) {
	case MLX5_CQE_REQ:
		return poll_send(cq, qp, cqe, false, wc);
	case MLX5_CQE_RESP_WR_IMM:
	case MLX5_CQE_RESP_SEND:
	case MLX5_CQE_RESP_SEND_IMM:
	case MLX5_CQE_RESP_SEND_INV:
		wc_response(cqe, opcode, wc);
		return poll_recv(cq, qp, cqe, opcode == MLX5_CQE_RESP_WR_IMM, wc);
	case MLX5_CQE_REQ_ERR:
	case MLX5_CQE_RESP_ERR:
		wc->status = status_of(bad->syndrome);
		wc->vendor_err = bad->vendor_err_synd;
		return opcode == MLX5_CQE_REQ_ERR ? poll_send(cq, qp, cqe, true, wc) :
						    poll_recv(cq, qp, cqe, true, wc);
	default:
		return false;
	}
}

/* Takes a completion. Return: whether it is one of ours. */
static bool poll_one(struct vhca_kcq *cq, struct ib_wc *wc)
{
	struct mlx5_cqe64 cqe;
	struct vhca_kqp *qp;

	rmb();	/* the owner before the rest */
	memcpy(&cqe, cqe_at(cq, cq->cons++), sizeof(cqe));
	barrier();	/* it is not read again */
	/* Whoever takes the queue pair off @qps then waits for the lock. */
	qp = xa_load(&cq->qps, be32_to_cpu(cqe.sop_drop_qpn) & 0xffffff);
	if (!qp)
		return false;
	memset(wc, 0, sizeof(*wc));
	wc->qp = &qp->qp.ibqp;
	return wc_from_cqe(cq, qp, &cqe, wc);
}

/* The HCA of a queue pair is gone: what was posted and has no completion gets one here. */
static int flush(struct vhca_kcq *cq, int nr, struct ib_wc *wc)
{
	bool dead = false;
	struct vhca_kqp *qp;
	unsigned long qpn;
	int n = 0, i;

	memset(wc, 0, nr * sizeof(*wc));
	xa_for_each(&cq->qps, qpn, qp) {
		if (vhca_kern_alive(cq->kern, qp->qp.gen))
			continue;
		dead = true;
		i = n;
		if (qp->qp.ibqp.send_cq == &cq->cq.ibcq)
			n += vhca_ksq_flush(&qp->sq, nr - n, wc + n);
		if (qp->qp.ibqp.recv_cq == &cq->cq.ibcq)
			n += vhca_krq_flush(&qp->rq, nr - n, wc + n);
		for (; i < n; i++)
			wc[i].qp = &qp->qp.ibqp;
	}
	/* No dead one comes to a CQ that lives. */
	if (!dead)
		cq->renewed = false;
	return n;
}

int vhca_kern_poll_cq(struct ib_cq *ibcq, int nr, struct ib_wc *wc)
{
	struct vhca_kcq *cq = to_kcq(ibcq);
	unsigned long irq;
	u32 cons;
	int n = 0;

	spin_lock_irqsave(&cq->lock, irq);
	cons = cq->cons;
	while (n < nr && cq->cons - cons < cq->nent && cqe_ready(cq, cq->cons)) {
		n += poll_one(cq, wc + n);
		cq->db[DB_CONSUMED] = cpu_to_be32(cq->cons & 0xffffff);
		/* It may have copied a MiB. Interrupts do not wait for all of them. */
		spin_unlock_irqrestore(&cq->lock, irq);
		spin_lock_irqsave(&cq->lock, irq);
	}
	/* Also behind real ones: who polls arms the CQ next if there are fewer than @nr. */
	if (n < nr && may_flush(cq))
		n += flush(cq, nr - n, wc + n);
	spin_unlock_irqrestore(&cq->lock, irq);
	return n;
}

void vhca_kcq_clean(struct vhca_kcq *cq, u32 gen, u32 qpn, struct vhca_krq *srq)
{
	struct mlx5_cqe64 *cqe;
	unsigned long irq;
	struct ib_wc wc;
	u32 n;
	u8 op;

	spin_lock_irqsave(&cq->lock, irq);
	for (n = cq->cons; cq->gen == gen && n - cq->cons < cq->nent && cqe_ready(cq, n); n++) {
		rmb();	/* as in poll_one() */
		cqe = cqe_at(cq, n);
		if ((be32_to_cpu(READ_ONCE(cqe->sop_drop_qpn)) & 0xffffff) != qpn)
			continue;
		cqe->sop_drop_qpn = cpu_to_be32(VHCA_NO_QPN);
		op = READ_ONCE(cqe->op_own) >> 4;
		if (srq && op != MLX5_CQE_REQ && op != MLX5_CQE_REQ_ERR)
			vhca_krq_complete(srq, be16_to_cpu(READ_ONCE(cqe->wqe_counter)),
					  0, true, &wc);
	}
	spin_unlock_irqrestore(&cq->lock, irq);
}
