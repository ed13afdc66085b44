// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * Requests and doorbells of an mlx4 (<infiniband/mlx4dv.h>): a request is posted by its
 * owner bit, which changes with each lap of the queue. Used by one thread.
 */
#include <errno.h>
#include <infiniband/mlx4dv.h>

#include "uar.h"

#define CQ_ARM		0x20u		/* of a page: requests for notification */
#define ANY		(2u << 24)	/* MLX4_CQ_DB_REQ_NOT: for any completion */
#define UNITS		3u		/* of 16 octets: what a request consists of */
#define OWNER		(1u << 31)

static int init(struct uar_obj *u)
{
	struct mlx4dv_qp q = { .comp_mask = MLX4DV_QP_MASK_UAR_MMAP_OFFSET };
	struct mlx4dv_cq c = { .comp_mask = MLX4DV_CQ_MASK_UAR };
	struct mlx4dv_obj o = {
		.qp = { .in = u->qp[0], .out = &q }, .cq = { .in = u->cq, .out = &c },
	};
	int err;

	if (!vt_mlx4(&u->dev.attr))
		return EOPNOTSUPP;
	err = mlx4dv_init_obj(&o, MLX4DV_OBJ_QP | MLX4DV_OBJ_CQ);
	if (err)
		return err;
	u->sq = (uint8_t *)q.buf.buf + q.sq.offset;
	u->slots = q.sq.wqe_cnt;
	u->stride = 1u << q.sq.wqe_shift;
	u->reg = q.sdb;
	u->mmap_offset = (uint64_t)q.uar_mmap_offset;
	u->arm = (uint8_t *)uar_page(q.sdb) + CQ_ARM;
	u->cqn = c.cqn;
	return 0;
}

static void post(struct uar_obj *u)
{
	uint8_t *wqe = u->sq + (size_t)(u->posted & (u->slots - 1)) * u->stride;
	struct mlx4_wqe_ctrl_seg *ctrl = (void *)wqe;
	struct mlx4_wqe_raddr_seg *remote = (void *)(ctrl + 1);
	struct mlx4_wqe_data_seg *data = (void *)(remote + 1);
	uint32_t owner = u->posted & u->slots ? OWNER : 0;

	ctrl->fence_size = UNITS;
	ctrl->srcrb_flags = htobe32(MLX4_WQE_CTRL_CQ_UPDATE);
	ctrl->imm = 0;
	remote->raddr = htobe64((uintptr_t)&u->mem[UAR_TARGET]);
	remote->rkey = htobe32(u->mr->rkey);
	remote->reserved = 0;
	data->byte_count = htobe32(sizeof(u->mem[0]));
	data->lkey = htobe32(u->mr->lkey);
	data->addr = htobe64((uintptr_t)u->mem);
	uar_fence();
	ctrl->owner_opcode = htobe32(MLX4_OPCODE_RDMA_WRITE | owner);
	u->posted++;
}

static void send(void *reg, uint32_t qpn, uint16_t index)
{
	volatile uint32_t *p = reg;

	(void)index;
	uar_fence();
	*p = htobe32(qpn << 8);
	uar_fence();
}

static void notify(void *arm, uint32_t cqn, unsigned int sn)
{
	uar_ring(arm, (uint32_t)sn << 28 | ANY | cqn, 0);
}

const struct uar_kind uar_mlx4 = {
	.init = init, .post = post, .send = send, .notify = notify,
};
