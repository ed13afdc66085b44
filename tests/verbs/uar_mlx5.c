// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * Requests and doorbells of an mlx5 (<infiniband/mlx5dv.h>). Used by one thread.
 */
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <string.h>

#include "uar.h"

#define CQ_ARM	0x20u		/* of a page: requests for notification */
#define UNITS	3u		/* of 16 octets: what a request consists of */

static int init(struct uar_obj *u)
{
	struct mlx5dv_qp q = { .comp_mask = MLX5DV_QP_MASK_UAR_MMAP_OFFSET };
	struct mlx5dv_cq c = { .comp_mask = 0 };
	struct mlx5dv_obj o = {
		.qp = { .in = u->qp[0], .out = &q }, .cq = { .in = u->cq, .out = &c },
	};
	int err;

	if (!mlx5dv_is_supported(u->dev.ctx->device))
		return EOPNOTSUPP;
	err = mlx5dv_init_obj(&o, MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ);
	if (err)
		return err;
	u->sq = q.sq.buf;
	u->slots = q.sq.wqe_cnt;
	u->stride = q.sq.stride;
	u->record = (uint32_t *)&q.dbrec[MLX5_SND_DBR];
	u->reg = q.bf.reg;
	u->mmap_offset = (uint64_t)q.uar_mmap_offset;
	u->arm = (uint8_t *)c.cq_uar + CQ_ARM;
	u->cqn = c.cqn;
	return 0;
}

static void post(struct uar_obj *u)
{
	uint8_t *wqe = u->sq + (size_t)(u->posted & (u->slots - 1)) * u->stride;
	struct mlx5_wqe_ctrl_seg *ctrl = (void *)wqe;
	struct mlx5_wqe_raddr_seg *remote = (void *)(ctrl + 1);
	struct mlx5_wqe_data_seg *data = (void *)(remote + 1);

	memset(wqe, 0, u->stride);
	mlx5dv_set_ctrl_seg(ctrl, u->posted, MLX5_OPCODE_RDMA_WRITE, 0,
			    u->qp[0]->qp_num, MLX5_WQE_CTRL_CQ_UPDATE, UNITS, 0, 0);
	remote->raddr = htobe64((uintptr_t)&u->mem[UAR_TARGET]);
	remote->rkey = htobe32(u->mr->rkey);
	mlx5dv_set_data_seg(data, sizeof(u->mem[0]), u->mr->lkey, (uintptr_t)u->mem);
	u->posted++;
	uar_fence();
	*u->record = htobe32(u->posted);
}

static void send(void *reg, uint32_t qpn, uint16_t index)
{
	uar_ring(reg, (uint32_t)index << 8 | MLX5_OPCODE_RDMA_WRITE, qpn << 8 | UNITS);
}

static void notify(void *arm, uint32_t cqn, unsigned int sn)
{
	uar_ring(arm, (uint32_t)sn << 28, cqn);
}

const struct uar_kind uar_mlx5 = {
	.init = init, .post = post, .send = send, .notify = notify,
};
