// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * udata of mlx4 (ConnectX-3), ABI 4. ABI 3, of HCAs without 64-octet
 * completions, has a shorter answer to ALLOC_UCONTEXT and is not known here.
 * Layouts are those of <rdma/mlx4-abi.h>; a unit test compares them. The
 * lengths repeat mlx4_ib_get_cq_umem(), set_rq_size() and set_user_sq_size()
 * of the driver.
 */
#include "vhca-provider.h"

#ifdef __KERNEL__
#include <linux/errno.h>
#else
#include <errno.h>
#endif

#include <xen/io/vhcaif.h>

#define MLX4_DRIVER_ID	2	/* RDMA_DRIVER_MLX4 */
#define MLX4_ABI	4
#define MLX4_CQE_MAX	64	/* octets */
#define MLX4_SEGMENT	16	/* sizeof(struct mlx4_wqe_data_seg) */
#define MLX4_MIN_STRIDE	6	/* log2; MLX4_IB_MIN_SQ_STRIDE */

/* The size of a completion is in the answer to ALLOC_UCONTEXT. */
static int mlx4_cq(uint32_t cqe, uint32_t unit, uint64_t *len)
{
	if (!unit)
		return -EINVAL;
	return vhca_len_mul(vhca_len_pow2(1 + (uint64_t)cqe), unit, len);
}

static int mlx4_create_cq_len(const struct xenvhca_request *req, uint32_t unit,
			      uint64_t *len)
{
	return mlx4_cq(req->u.create_cq.cqe, unit, len);
}

static int mlx4_resize_cq_len(const struct xenvhca_request *req, uint32_t unit,
			      uint64_t *len)
{
	return mlx4_cq(req->u.resize_cq.cqe, unit, len);
}

/* Receive queue: a power of two of elements whose size is one, too. */
static int mlx4_rq(const struct xenvhca_qp_cap *cap, uint32_t inl,
		   uint64_t *len)
{
	uint64_t size;

	if (vhca_len_mul(vhca_len_pow2(cap->max_recv_sge), MLX4_SEGMENT, &size))
		return -EINVAL;
	while (size * 2 <= inl)		/* rounded down, as the driver does */
		size *= 2;
	return vhca_len_mul(vhca_len_pow2(cap->max_recv_wr), size, len);
}

static int mlx4_create_qp_len(const struct xenvhca_request *req, uint32_t unit,
			      uint64_t *len)
{
	uint32_t log_count = vhca_len_num(req, 16, 1);
	uint32_t log_stride = vhca_len_num(req, 17, 1);
	uint64_t sq;

	(void)unit;
	*len = 0;
	if (!req->u.create_qp.srq &&
	    mlx4_rq(&req->u.create_qp.cap, vhca_len_num(req, 20, 4), len))
		return -EINVAL;
	if (log_stride < MLX4_MIN_STRIDE || log_count > 31 ||
	    vhca_len_shl(1ull << log_count, log_stride, &sq))
		return -EINVAL;
	return vhca_len_add(sq, len);
}

static const struct vhca_udata_op mlx4_ops[] = {
	{
		.op = XENVHCA_OP_ALLOC_UCONTEXT,
		.out_min = 16, .out_max = 16,
		.rsp = {
			{ .kind = VHCA_UNIT, .len = 4, .off = 12,
			  .arg = MLX4_CQE_MAX },
		},
	}, {
		.op = XENVHCA_OP_ALLOC_PD,
		.out_min = 8, .out_max = 8,
		.rsp = { { .kind = VHCA_DEV, .len = 4, .off = 0 } },
	}, {
		.op = XENVHCA_OP_CREATE_CQ,
		.in_min = 16, .in_max = 16, .out_min = 8, .out_max = 8,
		.req = {
			{ .kind = VHCA_BUF, .len = 8, .off = 0,
			  .length = mlx4_create_cq_len },
			{ .kind = VHCA_DBPAGE, .len = 8, .off = 8,
			  .arg = VHCA_DB_8 },
		},
		.rsp = { { .kind = VHCA_DEV, .len = 4, .off = 0 } },
	}, {
		.op = XENVHCA_OP_RESIZE_CQ,
		.in_min = 8, .in_max = 8,
		.req = {
			{ .kind = VHCA_BUF, .len = 8, .off = 0,
			  .length = mlx4_resize_cq_len },
		},
	}, {
		/* no doorbell record without a receive queue */
		.op = XENVHCA_OP_CREATE_QP,
		.in_min = 24, .in_max = 24,
		.req = {
			{ .kind = VHCA_BUF, .len = 8, .off = 0,
			  .length = mlx4_create_qp_len },
			{ .kind = VHCA_DBPAGE, .len = 8, .off = 8,
			  .arg = VHCA_MAY_BE_0 | VHCA_DB_4 },
		},
	}, {
		.op = XENVHCA_OP_CREATE_SRQ,
		.in_min = 16, .in_max = 16, .out_min = 8, .out_max = 8,
		.req = {
			{ .kind = VHCA_BUF, .len = 8, .off = 0,
			  .length = vhca_len_mlx_srq },
			{ .kind = VHCA_DBPAGE, .len = 8, .off = 8,
			  .arg = VHCA_DB_4 },
		},
		.rsp = { { .kind = VHCA_DEV, .len = 4, .off = 0 } },
	},
	{ .op = 0 },
};

static const struct vhca_mmap mlx4_mmaps[] = {
	{ VHCA_MMAP_MMIO, XENVHCA_PROT_NC, 0, 0, 0 },	/* UAR */
	{ VHCA_MMAP_MMIO, XENVHCA_PROT_WC, 1, 0, 0 },	/* BlueFlame */
	{ VHCA_MMAP_REGS, XENVHCA_PROT_NC, 3, 0, 0 },	/* clock */
	{ .kind = VHCA_MMAP_END },
};

const struct vhca_provider vhca_provider_mlx4 = {
	.name = "mlx4",
	.driver_id = MLX4_DRIVER_ID,
	.abi_min = MLX4_ABI,
	.abi_max = MLX4_ABI,
	.arm_at = 4,
	.ask_out_len = 16,
	.ops = mlx4_ops,
	.mmaps = mlx4_mmaps,
};
