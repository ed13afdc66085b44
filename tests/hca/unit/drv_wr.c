// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Posting and polling of the small driver: WQEs, doorbell records, doorbells
 * and completion entries as the provider has them. See drv.h.
 */
#include <stdlib.h>
#include <string.h>

#include "drv.h"

#define MAX_WQE 1024u

struct wqe {
	uint8_t b[MAX_WQE];
	size_t len;
};

static void *add(struct wqe *w, size_t len)
{
	void *p = w->b + w->len;

	w->len += len;
	return memset(p, 0, len);
}

static void add_av(struct wqe *w, const struct drv_wr *wr)
{
	struct mlx5_wqe_av *av = add(w, sizeof(*av));

	av->key.qkey.qkey = htobe32(wr->ud.qkey);
	av->dqp_dct = htobe32(MLX5_EXTENDED_UD_AV | wr->ud.qpn);
	av->rlid = htobe16(wr->ud.dlid);
	if (wr->roce.dmac)
		memcpy(av->rmac, wr->roce.dmac, 6);
	if (wr->ud.dgid) {
		av->grh_gid_fl = htobe32(1U << 30 |
					 (uint32_t)wr->roce.sgid_index << 20);
		memcpy(av->rgid, wr->ud.dgid, 16);
		av->tclass = wr->roce.tclass;
	}
}

static void add_remote(struct wqe *w, const struct drv_wr *wr)
{
	struct mlx5_wqe_raddr_seg *r = add(w, sizeof(*r));
	struct mlx5_wqe_atomic_seg *a;

	r->raddr = htobe64(wr->raddr);
	r->rkey = htobe32(wr->rkey);
	if (wr->opcode != MLX5_OPCODE_ATOMIC_CS &&
	    wr->opcode != MLX5_OPCODE_ATOMIC_FA)
		return;
	a = add(w, sizeof(*a));
	a->swap_add = htobe64(wr->swap_add);
	a->compare = htobe64(wr->compare);
}

/* set_umr_control_seg() and set_umr_mkey_seg() of the provider. */
static void add_umr_key(struct wqe *w, const struct drv_qp *qp,
			const struct drv_wr *wr)
{
	struct mlx5_wqe_umr_ctrl_seg *c = add(w, sizeof(*c));
	struct mlx5_wqe_mkey_context_seg *m = add(w, sizeof(*m));
	bool bind = wr->bind.len, type2 = wr->bind.type2;
	uint64_t mask = MLX5_WQE_UMR_CTRL_MKEY_MASK_FREE |
			MLX5_WQE_UMR_CTRL_MKEY_MASK_MKEY;
	int a = wr->bind.access;

	if (type2)
		mask |= MLX5_WQE_UMR_CTRL_MKEY_MASK_QPN;
	c->flags = MLX5_WQE_UMR_CTRL_FLAG_TRNSLATION_OFFSET |
		   MLX5_WQE_UMR_CTRL_FLAG_INLINE;
	if (type2)
		c->flags |= bind ? MLX5_WQE_UMR_CTRL_FLAG_CHECK_FREE :
			MLX5_WQE_UMR_CTRL_FLAG_CHECK_QPN;
	c->klm_octowords = htobe16(bind ? 4 : 0);
	m->qpn_mkey = htobe32((wr->bind.new_key & 0xff) |
			      (type2 && bind ? qp->qpn << 8 : 0xffffff00));
	if (bind) {
		mask |= MLX5_WQE_UMR_CTRL_MKEY_MASK_LEN |
			MLX5_WQE_UMR_CTRL_MKEY_MASK_START_ADDR |
			MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_LOCAL_WRITE |
			MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_REMOTE_READ |
			MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_REMOTE_WRITE |
			MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_ATOMIC;
		m->access_flags = (a & DRV_LW ? 1 << 3 : 0) |
			(a & DRV_RR ? 1 << 4 : 0) | (a & DRV_RW ? 1 << 5 : 0) |
			(a & DRV_RA ? 1 << 6 : 0);
		m->start_addr = a & DRV_ZERO_BASED ? 0 :
			htobe64(wr->bind.addr);
		m->len = htobe64(wr->bind.len);
	} else {
		m->free = MLX5_WQE_MKEY_CONTEXT_FREE;
	}
	c->mkey_mask = htobe64(mask);
}

static void add_umr(struct wqe *w, const struct drv_qp *qp,
		    const struct drv_wr *wr)
{
	struct mlx5_wqe_umr_klm_seg *k;

	add_umr_key(w, qp, wr);
	if (!wr->bind.len)
		return;
	k = add(w, 64);
	k->byte_count = htobe32(wr->bind.len);
	k->mkey = htobe32(wr->bind.lkey);
	k->address = htobe64(wr->bind.addr);
}

/* set_linv_umr_seg() and set_linv_mkey_seg() of the driver. */
static void add_inval(struct wqe *w)
{
	struct mlx5_wqe_umr_ctrl_seg *c = add(w, sizeof(*c));
	struct mlx5_wqe_mkey_context_seg *m = add(w, sizeof(*m));

	c->flags = MLX5_WQE_UMR_CTRL_FLAG_INLINE;
	c->mkey_mask = htobe64(MLX5_WQE_UMR_CTRL_MKEY_MASK_FREE);
	m->free = MLX5_WQE_MKEY_CONTEXT_FREE;
}

/* MLX5_MKEY_MASK_*: those of binding, and PAGE_SIZE, EN_RINVAL, LR, SMALL_FENCE. */
static uint64_t reg_mask(int access)
{
	return MLX5_WQE_UMR_CTRL_MKEY_MASK_LEN | BIT_ULL(1) |
		MLX5_WQE_UMR_CTRL_MKEY_MASK_START_ADDR | BIT_ULL(8) |
		MLX5_WQE_UMR_CTRL_MKEY_MASK_MKEY | BIT_ULL(17) |
		MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_LOCAL_WRITE |
		MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_REMOTE_READ |
		MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_REMOTE_WRITE | BIT_ULL(23) |
		MLX5_WQE_UMR_CTRL_MKEY_MASK_FREE |
		(access & DRV_RA ? MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_ATOMIC :
		 0);
}

/* set_reg_umr_seg() and set_reg_mkey_seg() of the driver. */
static void add_reg_key(struct wqe *w, const struct drv_wr *wr, size_t bytes)
{
	struct mlx5_wqe_umr_ctrl_seg *c = add(w, sizeof(*c));
	struct mlx5_wqe_mkey_context_seg *m = add(w, sizeof(*m));
	bool pieces = wr->reg.how == DRV_REG_PIECES;
	int a = wr->reg.access;

	c->flags = MLX5_WQE_UMR_CTRL_FLAG_CHECK_FREE |
		(bytes <= DRV_REG_INLINE ? MLX5_WQE_UMR_CTRL_FLAG_INLINE : 0);
	c->klm_octowords = htobe16((bytes + 63) / 64 * 4);
	c->mkey_mask = htobe64(reg_mask(a));
	m->access_flags = 1 << 7 | 1 << 2 | (a & DRV_LW ? 1 << 3 : 0) |
		(a & DRV_RR ? 1 << 4 : 0) | (a & DRV_RW ? 1 << 5 : 0) |
		(a & DRV_RA ? 1 << 6 : 0) | (pieces ? 2 : 1);
	m->qpn_mkey = htobe32(0xffffff00 | (wr->reg.key & 0xff));
	m->flags_pd = htobe32(1 << 24);		/* MLX5_MKEY_REMOTE_INVAL */
	m->start_addr = htobe64(wr->reg.iova);
	m->len = htobe64(wr->reg.len);
	m->translations_octword_size =
		htobe32((wr->reg.nr + 7) / 8 * (pieces ? 8 : 4));
	m->log_page_size = pieces ? 0 : wr->reg.log_page;
}

/*
 * set_reg_wr() of the driver. A list in the WQE is filled up with what the queue holds
 * from before; here with what is certainly wrong.
 */
static void add_reg(struct wqe *w, const struct drv_qp *qp,
		    const struct drv_wr *wr)
{
	size_t bytes = wr->reg.nr * (wr->reg.how == DRV_REG_PIECES ? 16UL : 8UL);
	uint64_t at = wr->reg.at;
	uint8_t *list;

	add_reg_key(w, wr, bytes);
	if (bytes <= DRV_REG_INLINE) {
		list = add(w, DRV_REG_INLINE);
		memset(list, 0xee, DRV_REG_INLINE);
		memcpy(list, wr->reg.list, bytes);
		return;
	}
	if (!at)
		at = rig_bus(qp->drv->rig, wr->reg.list);
	mlx5dv_set_data_seg(add(w, sizeof(struct mlx5_wqe_data_seg)),
			    (bytes + 63) / 64 * 64, wr->reg.lkey, at);
}

static uint32_t umr_key(const struct drv_wr *wr)
{
	return wr->reg.how ? wr->reg.key : wr->bind.mw;
}

static void add_any_umr(struct wqe *w, const struct drv_qp *qp,
			const struct drv_wr *wr)
{
	if (!wr->reg.how)
		add_umr(w, qp, wr);
	else if (wr->reg.how == DRV_REG_INVAL)
		add_inval(w);
	else
		add_reg(w, qp, wr);
}

static void add_inline(struct wqe *w, const struct drv_wr *wr)
{
	struct mlx5_wqe_inl_data_seg *s;

	s = add(w, (sizeof(*s) + wr->inl_len + 15) / 16 * 16);
	s->byte_count = htobe32(wr->inl_len | MLX5_INLINE_SEG);
	memcpy(s + 1, wr->inl, wr->inl_len);
}

static void add_sges(struct wqe *w, const struct drv_sge *sge, unsigned int nr)
{
	struct mlx5_wqe_data_seg *s;

	for (; nr--; sge++) {
		if (!sge->len)
			continue;
		s = add(w, sizeof(*s));
		mlx5dv_set_data_seg(s, sge->len, sge->key, sge->addr);
	}
}

/* An append without a buffer has a data segment that says so. */
static void add_tm(struct wqe *w, const struct drv_wr *wr)
{
	struct mlx5_wqe_tm_seg *s = add(w, sizeof(*s));

	s->opcode = wr->tm.op << 4;
	s->flags = wr->tm.flags;
	s->index = htobe16(wr->tm.index);
	s->sw_cnt = htobe16(wr->tm.count);
	s->append_tag = htobe64(wr->tm.tag);
	s->append_mask = htobe64(wr->tm.mask);
	if (wr->tm.op == DRV_TM_APPEND && !wr->nr_sge)
		mlx5dv_set_data_seg(add(w, sizeof(struct mlx5_wqe_data_seg)),
				    0, MLX5_INVALID_LKEY, 0);
}

static bool has_remote(uint8_t opcode)
{
	return opcode == MLX5_OPCODE_RDMA_WRITE ||
		opcode == MLX5_OPCODE_RDMA_WRITE_IMM ||
		opcode == MLX5_OPCODE_RDMA_READ ||
		opcode == MLX5_OPCODE_ATOMIC_CS ||
		opcode == MLX5_OPCODE_ATOMIC_FA;
}

static void build(struct wqe *w, struct drv_qp *qp, const struct drv_wr *wr)
{
	struct mlx5_wqe_ctrl_seg *c;
	struct mlx5_wqe_xrc_seg {
		uint32_t srqn;
		uint8_t rsvd[12];
	} *x;
	uint8_t fce = (wr->flags & DRV_SIGNALED ? MLX5_WQE_CTRL_CQ_UPDATE : 0) |
		(wr->flags & DRV_SOLICITED ? MLX5_WQE_CTRL_SOLICITED : 0) |
		(wr->flags & DRV_FENCE ? MLX5_WQE_CTRL_FENCE : 0);
	uint32_t imm = wr->opcode == MLX5_OPCODE_UMR ? umr_key(wr) : wr->imm;

	w->len = 0;
	c = add(w, sizeof(*c));
	if (qp->type == DRV_XRC && wr->opcode != MLX5_OPCODE_UMR) {
		x = add(w, 16);
		x->srqn = htobe32(wr->xrc_srqn);
	}
	if (qp->type == DRV_UD || qp->type == DRV_QP1)
		add_av(w, wr);
	if (has_remote(wr->opcode))
		add_remote(w, wr);
	if (wr->opcode == MLX5_OPCODE_UMR)
		add_any_umr(w, qp, wr);
	if (wr->opcode == MLX5_OPCODE_TAG_MATCHING)
		add_tm(w, wr);
	if (wr->flags & DRV_INLINE)
		add_inline(w, wr);
	else
		add_sges(w, wr->sge, wr->nr_sge);
	mlx5dv_set_ctrl_seg(c, qp->sq_pi, wr->opcode, 0, qp->qpn, fce,
			    w->len / 16, 0, htobe32(imm));
}

void drv_ring(struct drv_qp *qp, const void *ctrl, uint32_t uar)
{
	qp->db[1] = htobe32(qp->sq_pi);
	rig_store64(qp->drv->dev, uar * 4096ULL + 0x800 + 0x100 * qp->bf,
		    ctrl);
	qp->bf ^= 1;
}

/* mlx5_bf_copy(): whole basic blocks, eight bytes at a time. */
static void bf_copy(struct drv_qp *qp, const uint8_t *wqe, size_t len)
{
	uint64_t at = qp->uar * 4096ULL + 0x800 + 0x100 * qp->bf;
	size_t i;

	qp->db[1] = htobe32(qp->sq_pi);
	for (i = 0; i < (len + 63) / 64 * 64; i += 8)
		rig_store64(qp->drv->dev, at + i, wqe + i);
	qp->bf ^= 1;
}

uint16_t drv_post(struct drv_qp *qp, const struct drv_wr *wr)
{
	struct wqe w = { .len = 0 };
	uint16_t index = qp->sq_pi;
	size_t i;

	build(&w, qp, wr);
	for (i = 0; i < w.len; i += 16)
		memcpy(qp->sq + (index * 64UL + i) % (64UL << qp->log_sq),
		       w.b + i, 16);
	qp->sq_pi += (w.len + 63) / 64;
	if (wr->flags & DRV_QUIET)
		return index;
	if (wr->flags & DRV_BF && w.len <= 256)
		bf_copy(qp, w.b, w.len);
	else
		drv_ring(qp, w.b, qp->uar);
	return index;
}

uint16_t drv_send(struct drv_qp *qp, const struct drv_mr *mr, uint32_t off,
		  uint32_t len)
{
	struct drv_sge sge = { mr->va + off, len, mr->key };
	struct drv_wr wr = { .opcode = MLX5_OPCODE_SEND, .sge = &sge,
			     .flags = DRV_SIGNALED, .nr_sge = 1 };

	return drv_post(qp, &wr);
}

uint16_t drv_rdma(struct drv_qp *qp, uint8_t opcode, const struct drv_mr *mr,
		  uint32_t off, uint32_t len, uint64_t raddr, uint32_t rkey)
{
	struct drv_sge sge = { mr->va + off, len, mr->key };
	struct drv_wr wr = { .opcode = opcode, .flags = DRV_SIGNALED,
			     .raddr = raddr, .rkey = rkey, .sge = &sge,
			     .nr_sge = 1 };

	return drv_post(qp, &wr);
}

static void scatter(uint8_t *at, size_t room, const struct drv_sge *sge,
		    unsigned int nr)
{
	struct mlx5_wqe_data_seg *s = (void *)at;
	const struct drv_sge *end = sge + nr;
	size_t n = 0;

	for (; sge < end; sge++)
		if (sge->len)
			mlx5dv_set_data_seg(&s[n++], sge->len, sge->key,
					    sge->addr);
	if (n < room)
		mlx5dv_set_data_seg(&s[n], 0, MLX5_INVALID_LKEY, 0);
}

void drv_recv_sge(struct drv_qp *qp, const struct drv_sge *sge,
		  unsigned int nr)
{
	uint32_t i = qp->rq_pi & ((1U << qp->log_rq) - 1);

	scatter(qp->rq + ((size_t)i << qp->log_rq_stride),
		1U << (qp->log_rq_stride - 4), sge, nr);
	qp->rq_pi++;
	qp->db[0] = htobe32(qp->rq_pi);
}

void drv_recv(struct drv_qp *qp, const struct drv_mr *mr, uint32_t off,
	      uint32_t len)
{
	struct drv_sge sge = { mr->va + off, len, mr->key };

	drv_recv_sge(qp, &sge, 1);
}

int drv_srq_post(struct drv_srq *srq, const struct drv_mr *mr, uint32_t off,
		 uint32_t len)
{
	struct drv_sge sge = { mr->va + off, len, mr->key };
	uint16_t index = srq->head;
	struct mlx5_wqe_srq_next_seg *s;

	if (srq->head == srq->tail)
		return -1;
	s = (void *)(srq->buf + ((size_t)index << srq->log_stride));
	srq->head = be16toh(s->next_wqe_index);
	scatter((uint8_t *)(s + 1), (1U << (srq->log_stride - 4)) - 1, &sge,
		1);
	srq->db[0] = htobe32(++srq->counter);
	return index;
}

void drv_srq_free(struct drv_srq *srq, uint16_t index)
{
	struct mlx5_wqe_srq_next_seg *s;

	s = (void *)(srq->buf + ((size_t)srq->tail << srq->log_stride));
	s->next_wqe_index = htobe16(index);
	srq->tail = index;
}

static void decode(struct drv_wc *wc)
{
	const struct mlx5_err_cqe *err = (void *)&wc->cqe;
	const struct mlx5_cqe64 *c = &wc->cqe;
	uint32_t flags = be32toh(c->flags_rqpn);

	wc->opcode = c->op_own >> 4;
	wc->format = mlx5dv_get_cqe_format(&wc->cqe);
	wc->solicited = c->op_own >> 1 & 1;
	wc->index = be16toh(c->wqe_counter);
	wc->qpn = be32toh(c->sop_drop_qpn) & 0xffffff;
	wc->user_index = be32toh(c->srqn_uidx) & 0xffffff;
	if (wc->opcode == MLX5_CQE_REQ_ERR || wc->opcode == MLX5_CQE_RESP_ERR) {
		wc->syndrome = err->syndrome;
		wc->vendor = err->vendor_err_synd;
		return;
	}
	wc->len = be32toh(c->byte_cnt);
	wc->imm = be32toh(c->imm_inval_pkey);
	wc->slid = be16toh(c->slid);
	wc->src_qpn = flags & 0xffffff;
	wc->sl = flags >> 24 & 0xf;
	wc->grh = flags >> 28 & 3;
}

bool drv_poll(struct drv_cq *cq, struct drv_wc *wc)
{
	size_t size = cq->cqe128 ? 128 : 64;
	uint32_t nr = 1U << cq->log_size;
	const struct mlx5_cqe64 *c;

	memset(wc, 0, sizeof(*wc));
	c = (void *)(cq->buf + (cq->ci & (nr - 1)) * size + size - 64);
	if (c->op_own >> 4 == MLX5_CQE_INVALID ||
	    (c->op_own & 1) != !!(cq->ci & nr))
		return false;
	wc->cqe = *c;
	decode(wc);
	cq->ci++;
	cq->db[0] = htobe32(cq->ci & 0xffffff);
	return true;
}

bool drv_wait(struct drv_cq *cq, struct drv_wc *wc, struct drv *v)
{
	if (drv_poll(cq, wc))
		return true;
	rig_run(v->rig);
	return drv_poll(cq, wc);
}

void drv_arm(struct drv *v, struct drv_cq *cq, bool solicited)
{
	uint32_t cmd = solicited ? MLX5_CQ_DB_REQ_NOT_SOL : MLX5_CQ_DB_REQ_NOT;
	uint32_t db[2];

	db[0] = htobe32((cq->arm_sn & 3) << 28 | cmd | (cq->ci & 0xffffff));
	db[1] = htobe32(cq->cqn);
	cq->db[1] = db[0];
	rig_store64(v->dev, cq->uar * 4096ULL + MLX5_CQ_DOORBELL, db);
}
