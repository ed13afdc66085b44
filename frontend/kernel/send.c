// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Send queues of an mlx5: work requests in the formats of <linux/mlx5/qp.h>, as its own
 * driver writes them, except that REG_MR and LOCAL_INV bind and end a window. A request
 * has segments of 16 octets in blocks of 64. Any context may post.
 */
#include <linux/slab.h>

#include "kern.h"

/* The driver of mlx5 calls bit 5 NOT_FREE; the HCA checks the opposite. */
#define UMR_ONLY_IF_FREE	MLX5_UMR_CHECK_NOT_FREE
#define UMR_ONLY_OF_THIS_QP	BIT(3)

int vhca_ksq_init(struct vhca_ksq *sq)
{
	spin_lock_init(&sq->lock);
	sq->seq = kvcalloc(sq->cnt, sizeof(*sq->seq), GFP_KERNEL);
	sq->send = kvcalloc(sq->cnt, sizeof(*sq->send), GFP_KERNEL);
	return sq->seq && sq->send ? 0 : -ENOMEM;
}

void vhca_ksq_exit(struct vhca_ksq *sq)
{
	kvfree(sq->seq);
	kvfree(sq->send);
}

void vhca_ksq_reset(struct vhca_ksq *sq)
{
	sq->cur = 0;
	sq->next = 0;
	sq->head = 0;
	sq->tail = 0;
	sq->next_fence = MLX5_FENCE_MODE_NONE;
	memset(sq->seq, 0xff, sq->cnt * sizeof(*sq->seq));	/* no request */
}

/* ---- segments ---- */

static void *seg_at(const struct vhca_ksq *sq, u32 n)
{
	u32 at = sq->cur * MLX5_SEND_WQE_BB + n * VHCA_SEGMENT;

	return sq->buf + (at & (sq->cnt * MLX5_SEND_WQE_BB - 1));
}

static u32 put_av(struct vhca_ksq *sq, const struct ib_ud_wr *wr, u32 n)
{
	struct mlx5_av *av = seg_at(sq, n);

	memcpy(av, &to_kah(wr->ah)->av, sizeof(*av));
	av->dqp_dct = cpu_to_be32(wr->remote_qpn | MLX5_EXTENDED_UD_AV);
	av->key.qkey.qkey = cpu_to_be32(wr->remote_qkey);
	return n + sizeof(*av) / VHCA_SEGMENT;
}

static u32 put_raddr(struct vhca_ksq *sq, const struct ib_rdma_wr *wr, u32 n)
{
	struct mlx5_wqe_raddr_seg *seg = seg_at(sq, n);

	seg->raddr = cpu_to_be64(wr->remote_addr);
	seg->rkey = cpu_to_be32(wr->rkey);
	seg->reserved = 0;
	return n + 1;
}

/* Every address is one of the pool, which has one key, whatever the consumer says. */
static u32 put_data(struct vhca_ksq *sq, const struct ib_send_wr *wr, u32 n, u32 key)
{
	struct mlx5_wqe_data_seg *seg;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		if (!wr->sg_list[i].length)
			continue;
		seg = seg_at(sq, n++);
		seg->byte_count = cpu_to_be32(wr->sg_list[i].length);
		seg->lkey = cpu_to_be32(key);
		seg->addr = cpu_to_be64(wr->sg_list[i].addr);
	}
	return n;
}

/* Of inline data the addresses are the kernel's own. */
static u32 put_inline(struct vhca_ksq *sq, const struct ib_send_wr *wr, u32 n, u32 len)
{
	u32 at = sizeof(__be32), left, some;
	const u8 *from;
	int i;

	*(__be32 *)seg_at(sq, n) = cpu_to_be32(len | MLX5_INLINE_SEG);
	for (i = 0; i < wr->num_sge; i++) {
		from = (const u8 *)(uintptr_t)wr->sg_list[i].addr;
		for (left = wr->sg_list[i].length; left;
		     left -= some, at += some, from += some) {
			some = min(left, VHCA_SEGMENT - at % VHCA_SEGMENT);
			memcpy((u8 *)seg_at(sq, n + at / VHCA_SEGMENT) +
			       at % VHCA_SEGMENT, from, some);
		}
	}
	return n + DIV_ROUND_UP(at, VHCA_SEGMENT);
}

#define MKEY_BINDING	(MLX5_MKEY_MASK_FREE | MLX5_MKEY_MASK_KEY | MLX5_MKEY_MASK_QPN)
#define MKEY_RANGE	(MLX5_MKEY_MASK_LEN | MLX5_MKEY_MASK_START_ADDR |	\
			 MLX5_MKEY_MASK_LW | MLX5_MKEY_MASK_RR |		\
			 MLX5_MKEY_MASK_RW | MLX5_MKEY_MASK_A)

/* Sets the control segment of a UMR and clears the key's. */
static struct mlx5_mkey_seg *put_umr(struct vhca_ksq *sq, u8 check, u64 mask, u32 extents)
{
	struct mlx5_wqe_umr_ctrl_seg *umr = seg_at(sq, 1);
	struct mlx5_mkey_seg *mkey = seg_at(sq, 4);

	memset(umr, 0, sizeof(*umr));
	umr->flags = MLX5_UMR_TRANSLATION_OFFSET_EN | MLX5_UMR_INLINE | check;
	umr->xlt_octowords = cpu_to_be16(extents);
	umr->mkey_mask = cpu_to_be64(mask);
	return memset(mkey, 0, sizeof(*mkey));
}

static u32 put_unbind(struct vhca_ksq *sq)
{
	struct mlx5_mkey_seg *mkey = put_umr(sq, UMR_ONLY_OF_THIS_QP, MKEY_BINDING, 0);

	mkey->status = MLX5_MKEY_STATUS_FREE;
	mkey->qpn_mkey7_0 = cpu_to_be32(0xffffff00);
	return 8;
}

static u8 mkey_rights(int access)
{
	return (access & IB_ACCESS_LOCAL_WRITE ? MLX5_PERM_LOCAL_WRITE : 0) |
	       (access & IB_ACCESS_REMOTE_READ ? MLX5_PERM_REMOTE_READ : 0) |
	       (access & IB_ACCESS_REMOTE_WRITE ? MLX5_PERM_REMOTE_WRITE : 0);
}

/* Binds a window over extents of the pool to this queue pair. */
static u32 put_bind(struct vhca_kqp *qp, const struct ib_reg_wr *wr, u32 pool_key)
{
	const struct vhca_kmr *mr = to_kmr(wr->mr);
	struct vhca_ksq *sq = &qp->sq;
	struct mlx5_mkey_seg *mkey = put_umr(sq, UMR_ONLY_IF_FREE,
					     MKEY_BINDING | MKEY_RANGE,
					     VHCA_KERN_EXTENTS);
	struct mlx5_klm *klm = seg_at(sq, 8);
	u32 i;

	mkey->qpn_mkey7_0 = cpu_to_be32(qp->qp.ibqp.qp_num << 8 | (wr->key & 0xff));
	mkey->flags = mkey_rights(wr->access);
	mkey->start_addr = cpu_to_be64(mr->ibmr.iova);
	mkey->len = cpu_to_be64(mr->ibmr.length);
	memset(klm, 0, VHCA_KERN_EXTENTS * sizeof(*klm));
	for (i = 0; i < mr->nr; i++, klm++) {
		klm->bcount = cpu_to_be32(mr->ext[i].len);
		klm->key = cpu_to_be32(pool_key);
		klm->va = cpu_to_be64(mr->ext[i].addr);
	}
	return 8 + VHCA_KERN_EXTENTS;
}

/* ---- requests ---- */

struct op {
	u8 wqe, wc;
	bool rdma;
};

static const struct op ops[] = {
	[IB_WR_RDMA_WRITE] = { MLX5_OPCODE_RDMA_WRITE, IB_WC_RDMA_WRITE, true },
	[IB_WR_RDMA_WRITE_WITH_IMM] = { MLX5_OPCODE_RDMA_WRITE_IMM,
					IB_WC_RDMA_WRITE, true },
	[IB_WR_SEND] = { MLX5_OPCODE_SEND, IB_WC_SEND },
	[IB_WR_SEND_WITH_IMM] = { MLX5_OPCODE_SEND_IMM, IB_WC_SEND },
	[IB_WR_RDMA_READ] = { MLX5_OPCODE_RDMA_READ, IB_WC_RDMA_READ, true },
	[IB_WR_RDMA_READ_WITH_INV] = { MLX5_OPCODE_RDMA_READ, IB_WC_RDMA_READ, true },
	[IB_WR_SEND_WITH_INV] = { MLX5_OPCODE_SEND_INVAL, IB_WC_SEND },
	[IB_WR_LOCAL_INV] = { MLX5_OPCODE_UMR, IB_WC_LOCAL_INV },
	[IB_WR_REG_MR] = { MLX5_OPCODE_UMR, IB_WC_REG_MR },
};

static bool is_umr(const struct ib_send_wr *wr)
{
	return wr->opcode == IB_WR_REG_MR || wr->opcode == IB_WR_LOCAL_INV;
}

static bool is_read(const struct ib_send_wr *wr)
{
	return wr->opcode == IB_WR_RDMA_READ || wr->opcode == IB_WR_RDMA_READ_WITH_INV;
}

static u32 wr_len(const struct ib_send_wr *wr)
{
	u32 len = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++)
		len += wr->sg_list[i].length;
	return len;
}

/* The segments behind that of control. Return: how many there are with it. */
static u32 put_wr(struct vhca_kqp *qp, const struct ib_send_wr *wr, u32 len)
{
	u32 n = 1, key = to_kern(qp->qp.ibqp.device)->pool.key;
	struct vhca_ksq *sq = &qp->sq;

	if (wr->opcode == IB_WR_REG_MR)
		return put_bind(qp, reg_wr(wr), key);
	if (wr->opcode == IB_WR_LOCAL_INV)
		return put_unbind(sq);
	if (qp->qp.ibqp.qp_type == IB_QPT_UD)
		n = put_av(sq, ud_wr(wr), n);
	else if (ops[wr->opcode].rdma)
		n = put_raddr(sq, rdma_wr(wr), n);
	return wr->send_flags & IB_SEND_INLINE ? put_inline(sq, wr, n, len) :
						 put_data(sq, wr, n, key);
}

static __be32 wr_imm(const struct ib_send_wr *wr)
{
	switch (wr->opcode) {
	case IB_WR_REG_MR:
		return cpu_to_be32(reg_wr(wr)->mr->rkey);
	case IB_WR_LOCAL_INV:
	case IB_WR_SEND_WITH_INV:
		return cpu_to_be32(wr->ex.invalidate_rkey);
	case IB_WR_SEND_WITH_IMM:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		return wr->ex.imm_data;
	default:
		return 0;
	}
}

/* As the driver of mlx5: a request behind a UMR waits for it. */
static u8 wr_fence(struct vhca_ksq *sq, const struct ib_send_wr *wr)
{
	u8 fence = sq->next_fence;

	if (wr->send_flags & IB_SEND_FENCE)
		fence = fence ? MLX5_FENCE_MODE_SMALL_AND_FENCE : MLX5_FENCE_MODE_FENCE;
	sq->next_fence = is_umr(wr) ? MLX5_FENCE_MODE_INITIATOR_SMALL :
				      MLX5_FENCE_MODE_NONE;
	return fence;
}

/* The queue's memory is the backend's, too: what is rung is not read from there. */
static void put_ctrl(struct vhca_kqp *qp, const struct ib_send_wr *wr, u32 segs,
		     bool signaled)
{
	struct vhca_ksq *sq = &qp->sq;
	struct mlx5_wqe_ctrl_seg *ctrl = seg_at(sq, 0);

	sq->bell[0] = cpu_to_be32((sq->cur & 0xffff) << 8 | ops[wr->opcode].wqe);
	sq->bell[1] = cpu_to_be32(qp->qp.ibqp.qp_num << 8 | segs);
	memset(ctrl, 0, sizeof(*ctrl));
	ctrl->opmod_idx_opcode = sq->bell[0];
	ctrl->qpn_ds = sq->bell[1];
	ctrl->fm_ce_se = wr_fence(sq, wr) |
			 (signaled ? MLX5_WQE_CTRL_CQ_UPDATE : 0) |
			 (wr->send_flags & IB_SEND_SOLICITED ? MLX5_WQE_CTRL_SOLICITED : 0);
	ctrl->imm = wr_imm(wr);
}

/* The key of a window of an earlier connection may be another one's now. */
static bool is_dead_reg(const struct vhca_kqp *qp, const struct ib_send_wr *wr)
{
	return wr->opcode == IB_WR_REG_MR && to_kmr(reg_wr(wr)->mr)->gen != qp->qp.gen;
}

static int check_wr(const struct vhca_kqp *qp, const struct ib_send_wr *wr, u32 len)
{
	const struct vhca_ksq *sq = &qp->sq;

	/* Pairs with vhca_ksq_complete(): what is overwritten has been read. */
	if (sq->next - smp_load_acquire(&sq->tail) >= sq->max_post)
		return -ENOMEM;
	if (wr->opcode >= ARRAY_SIZE(ops) || !ops[wr->opcode].wqe ||
	    wr->num_sge < 0 || wr->num_sge > sq->max_gs ||
	    (wr->send_flags & IB_SEND_INLINE && (is_read(wr) || len > VHCA_KSQ_INLINE)) ||
	    (is_read(wr) && wr->num_sge > 1) ||
	    (wr->opcode == IB_WR_RDMA_READ_WITH_INV && !wr->num_sge) ||
	    is_dead_reg(qp, wr))
		return -EINVAL;
	return 0;
}

/* A request of the HCA; those of one request of the consumer complete once. */
static void put_request(struct vhca_kqp *qp, const struct ib_send_wr *wr, u32 len,
			bool signaled)
{
	struct vhca_ksq *sq = &qp->sq;
	u32 segs = put_wr(qp, wr, len);

	put_ctrl(qp, wr, segs, signaled);
	sq->seq[sq->cur & (sq->cnt - 1)] = sq->next;
	sq->cur += DIV_ROUND_UP(segs * VHCA_SEGMENT, MLX5_SEND_WQE_BB);
}

/*
 * The key of a read's sink ends before the read, which writes by the pool's key. It is that
 * of the list: ib_core updates it there, not in invalidate_rkey.
 */
static void put_sink_inv(struct vhca_kqp *qp, const struct ib_send_wr *read)
{
	struct ib_send_wr inv = {
		.opcode = IB_WR_LOCAL_INV, .ex.invalidate_rkey = read->sg_list[0].lkey,
	};

	put_request(qp, &inv, 0, false);
}

static int send_one(struct vhca_kqp *qp, const struct ib_send_wr *wr)
{
	struct vhca_ksq *sq = &qp->sq;
	u32 len = wr_len(wr);
	int rc = check_wr(qp, wr, len);
	bool signaled = sq->sig_all || wr->send_flags & IB_SEND_SIGNALED;

	if (rc)
		return rc;
	if (wr->opcode == IB_WR_RDMA_READ_WITH_INV)
		put_sink_inv(qp, wr);
	put_request(qp, wr, len, signaled);
	sq->send[sq->next & (sq->cnt - 1)] = (struct vhca_ksend) {
		.wr_id = wr->wr_id, .len = len, .op = ops[wr->opcode].wc,
		.signaled = signaled, .sink = is_read(wr) && len ? wr->sg_list->addr : 0,
	};
	sq->next++;
	return 0;
}

static void ring(struct vhca_kern *kern, u32 gen, struct vhca_ksq *sq)
{
	/* Pairs with vhca_ksq_complete(), which reads the requests. */
	smp_store_release(&sq->head, sq->next);
	wmb();	/* requests before the record */
	*sq->db = cpu_to_be32(sq->cur & 0xffff);
	wmb();	/* the record before the register */
	vhca_kern_ring(kern, gen, sq->bell, sq->bf);
	/* Stores to the register may be combined: this one leaves before the next one. */
	wmb();
	sq->bf ^= VHCA_BF_SIZE;
}

/* What the HCA reads is copied before the queue is locked. */
static void fill_pool(struct vhca_pool *p, const struct ib_send_wr *wr)
{
	const struct ib_sge *sge;

	for (; wr; wr = wr->next) {
		if (is_umr(wr) || is_read(wr) || wr->send_flags & IB_SEND_INLINE)
			continue;
		for (sge = wr->sg_list; sge < wr->sg_list + wr->num_sge; sge++)
			vhca_pool_fill(p, sge->addr, sge->length);
	}
}

int vhca_kern_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
			const struct ib_send_wr **bad_wr)
{
	struct vhca_kern *kern = to_kern(ibqp->device);
	struct vhca_kqp *qp = to_kqp(ibqp);
	struct vhca_ksq *sq = &qp->sq;
	unsigned long flags;
	int rc = 0;

	fill_pool(&kern->pool, wr);
	spin_lock_irqsave(&sq->lock, flags);
	for (; wr; wr = wr->next) {
		rc = send_one(qp, wr);
		if (rc) {
			*bad_wr = wr;
			break;
		}
	}
	if (sq->next != sq->head)
		ring(kern, qp->qp.gen, sq);
	spin_unlock_irqrestore(&sq->lock, flags);
	vhca_kern_posted(kern, qp->qp.gen);
	return rc;
}

/* ---- completions; the lock of the CQ is held ---- */

/*
 * The NFS server of Linux 6.9 and later unmaps what it read when it has done with that, and
 * may have given the pages away: what a read brings is copied when it completes, and never
 * later.
 */
static void copy_sink(struct vhca_ksq *sq, u32 seq)
{
	struct vhca_kqp *qp = container_of(sq, struct vhca_kqp, sq);
	const struct vhca_ksend *send = &sq->send[seq & (sq->cnt - 1)];

	if (send->op == IB_WC_RDMA_READ)
		vhca_pool_sink(&to_kern(qp->qp.ibqp.device)->pool, send->sink, send->len);
}

bool vhca_ksq_complete(struct vhca_ksq *sq, u16 counter, bool error, struct ib_wc *wc)
{
	u32 seq, q, head = smp_load_acquire(&sq->head);	/* then the requests themselves */
	const struct vhca_ksend *send;

	if (!sq->cnt)
		return false;
	seq = sq->seq[counter & (sq->cnt - 1)];
	send = &sq->send[seq & (sq->cnt - 1)];
	if (seq - sq->tail >= head - sq->tail || !(error || send->signaled))
		return false;	/* the backend made it up */
	/* An HCA completes in order, so nothing that is waited for is passed over. */
	for (q = sq->tail; q != seq; q++)
		if (sq->send[q & (sq->cnt - 1)].signaled)
			return false;
	for (q = sq->tail; q != seq + !error; q++)
		copy_sink(sq, q);
	wc->wr_id = send->wr_id;
	wc->opcode = send->op;
	wc->byte_len = send->len;
	smp_store_release(&sq->tail, seq + 1);	/* pairs with check_wr() */
	return true;
}

int vhca_ksq_flush(struct vhca_ksq *sq, int nr, struct ib_wc *wc)
{
	int n = 0;

	for (; n < nr && vhca_ksq_posted(sq); n++, wc++) {
		wc->status = IB_WC_WR_FLUSH_ERR;
		wc->wr_id = sq->send[sq->tail & (sq->cnt - 1)].wr_id;
		smp_store_release(&sq->tail, sq->tail + 1);	/* pairs with check_wr() */
	}
	return n;
}
