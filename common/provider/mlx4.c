// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * udata of mlx4 (ConnectX-3). The ABI says how long a completion entry is: 64 octets
 * (ABI 4), or 32 (ABI 3), where the answer to ALLOC_UCONTEXT lacks two fields. Other
 * lengths, which the driver chooses for the cache lines of other CPUs, are refused. The
 * clock's page is not mapped and not announced. Layouts are those of <rdma/mlx4-abi.h>; a
 * unit test compares them. The lengths repeat mlx4_ib_create_cq(), mlx4_ib_resize_cq(),
 * set_rq_size(), set_user_sq_size() and mlx4_ib_create_srq() of the driver.
 */
#include "vhca-provider.h"

#ifdef __KERNEL__
#include <linux/errno.h>
#else
#include <errno.h>
#endif

#include <rdma/ib_user_ioctl_verbs.h>
#include <xen/io/vhcaif.h>

#define MLX4_DRIVER_ID		2	/* RDMA_DRIVER_MLX4 */
#define MLX4_ABI_SMALL_CQE	3
#define MLX4_ABI		4

#define MLX4_CQE		64	/* octets, with ABI 4 */
#define MLX4_SMALL_CQE		32
#define MLX4_SEGMENT		16	/* octets: struct mlx4_wqe_data_seg */
#define MLX4_MIN_SRQ_ELEMENT	32	/* octets */
#define MLX4_MAX_SEND		1024	/* octets: max_sq_desc_sz, and a power of two */
#define MLX4_MAX_RECV		512	/* octets: max_rq_desc_sz */
#define MLX4_CQ_RECORD		8	/* octets: consumer index, and arm */
#define MLX4_RECORD		4	/* octets of other doorbell records */
#define MLX4_MTT_SHIFT		31	/* MLX4_MAX_MTT_SHIFT */
/*
 * roundup_pow_of_two(MLX4_NUM_ASYNC_EQE + MLX4_NUM_SPARE_EQE), of which the driver gives
 * back 128 at a time and 16 are for commands.
 */
#define MLX4_EVENTS		(512 - 128 - 16)
/*
 * Contexts of queue pairs are in pieces of 256 KiB, of which the smallest group has one of
 * its own: 16 entries of 32 octets each for reads. All of a number are less than 1 KiB.
 */
#define MLX4_QP_GROUP		9	/* bits of a number */
#define MLX4_QP_GROUP_PAGES	128

static int mlx4_cq(uint32_t cqe, uint32_t size, uint64_t *len)
{
	return vhca_len_mul(vhca_len_pow2(1 + (uint64_t)cqe), size, len);
}

static int mlx4_create_cq_len(const struct xenvhca_request *req, uint64_t *len)
{
	return mlx4_cq(req->u.create_cq.cqe, MLX4_CQE, len);
}

static int mlx4_resize_cq_len(const struct xenvhca_request *req, uint64_t *len)
{
	return mlx4_cq(req->u.resize_cq.cqe, MLX4_CQE, len);
}

static int mlx4_v3_create_cq_len(const struct xenvhca_request *req, uint64_t *len)
{
	return mlx4_cq(req->u.create_cq.cqe, MLX4_SMALL_CQE, len);
}

static int mlx4_v3_resize_cq_len(const struct xenvhca_request *req, uint64_t *len)
{
	return mlx4_cq(req->u.resize_cq.cqe, MLX4_SMALL_CQE, len);
}

/* An SRQ, or the target at the other end, receives instead. */
static bool mlx4_receives(const struct xenvhca_create_qp_req *r)
{
	return r->qp_type != IB_UVERBS_QPT_XRC_INI && !r->srq;
}

/*
 * Elements that are as long as the segments of @sge, or as inline receives, which the
 * driver rounds down to a power of two.
 */
static int mlx4_rq_len(const struct xenvhca_qp_cap *cap, uint32_t inline_len,
		       uint64_t *len)
{
	uint64_t size, half;

	if (vhca_len_mul(vhca_len_pow2(cap->max_recv_sge), MLX4_SEGMENT, &size))
		return -EINVAL;
	half = vhca_len_pow2(inline_len);
	if (half > inline_len)
		half /= 2;
	if (size < half)
		size = half;
	return vhca_len_mul(vhca_len_pow2(cap->max_recv_wr), size, len);
}

/* Receive queue, and send queue. */
static int mlx4_create_qp_len(const struct xenvhca_request *req, uint64_t *len)
{
	const struct xenvhca_create_qp_req *r = &req->u.create_qp;
	uint32_t count = vhca_len_num(req, 16, 1), stride = vhca_len_num(req, 17, 1);
	uint64_t sq;

	*len = 0;
	if (mlx4_receives(r) && mlx4_rq_len(&r->cap, vhca_len_num(req, 20, 4), len))
		return -EINVAL;
	if (vhca_len_shl(1, count, &sq) || vhca_len_shl(sq, stride, &sq))
		return -EINVAL;
	return vhca_len_add(sq, len);
}

/* The record of the receive queue: a send queue has none. */
static int mlx4_qp_record_len(const struct xenvhca_request *req, uint64_t *len)
{
	*len = mlx4_receives(&req->u.create_qp) ? MLX4_RECORD : 0;
	return 0;
}

/* A link to the next element and max_sge segments. */
static int mlx4_create_srq_len(const struct xenvhca_request *req, uint64_t *len)
{
	uint64_t size;

	if (vhca_len_mul(MLX4_SEGMENT, 1 + (uint64_t)req->u.create_srq.max_sge,
			 &size))
		return -EINVAL;
	size = vhca_len_pow2(size);
	if (size < MLX4_MIN_SRQ_ELEMENT)
		size = MLX4_MIN_SRQ_ELEMENT;
	return vhca_len_mul(vhca_len_pow2(1 + (uint64_t)
					  req->u.create_srq.max_wr),
			    size, len);
}

#define MLX4_CREATE_CQ(fn)						\
	{								\
		.op = XENVHCA_OP_CREATE_CQ,				\
		.in_min = 16, .in_max = 16, .out_min = 8, .out_max = 8,	\
		.req = {						\
			{ .kind = VHCA_BUF, .len = 8, .off = 0,		\
			  .length = fn },				\
			{ .kind = VHCA_DBPAGE, .len = 8, .off = 8,	\
			  .arg = MLX4_CQ_RECORD },			\
		},							\
		.rsp = { { .kind = VHCA_DEV, .len = 4, .off = 0 } },	\
	}

#define MLX4_RESIZE_CQ(fn)						\
	{								\
		.op = XENVHCA_OP_RESIZE_CQ,				\
		.in_min = 8, .in_max = 8,				\
		.req = {						\
			{ .kind = VHCA_BUF, .len = 8, .off = 0,		\
			  .length = fn },				\
		},							\
	}

/* What both have: beside completion queues, and the answer to ALLOC_UCONTEXT. */
#define MLX4_COMMON							\
	{								\
		.op = XENVHCA_OP_ALLOC_PD,				\
		.out_min = 8, .out_max = 8,				\
		.rsp = { { .kind = VHCA_DEV, .len = 4, .off = 0 } },	\
	}, {								\
		.op = XENVHCA_OP_QUERY_DEVICE,				\
		.or_none = 1, .out_min = 48, .out_max = 48,		\
		.rsp = {						\
			/* comp_mask, hca_core_clock_offset: the clock */ \
			{ .kind = VHCA_MASK, .len = 4, .off = 0,	\
			  .arg = ~0ull },				\
			{ .kind = VHCA_MASK, .len = 8, .off = 8,	\
			  .arg = ~0ull },				\
			/* rss_caps, tso_caps: of raw packets */	\
			{ .kind = VHCA_MASK, .len = 8, .off = 24,	\
			  .arg = ~0ull },				\
			{ .kind = VHCA_MASK, .len = 1, .off = 32,	\
			  .arg = ~0ull },				\
			{ .kind = VHCA_MASK, .len = 8, .off = 40,	\
			  .arg = ~0ull },				\
		},							\
	}, {								\
		.op = XENVHCA_OP_CREATE_QP,				\
		.in_min = 24, .in_max = 24,				\
		.req = {						\
			{ .kind = VHCA_BUF, .len = 8, .off = 0,		\
			  .length = mlx4_create_qp_len },		\
			{ .kind = VHCA_DBPAGE, .len = 8, .off = 8,	\
			  .arg = MLX4_RECORD,				\
			  .length = mlx4_qp_record_len },		\
			/* sq_no_prefetch, inl_recv_sz */		\
			{ .kind = VHCA_COOKIE, .len = 1, .off = 18 },	\
			{ .kind = VHCA_COOKIE, .len = 4, .off = 20 },	\
		},							\
	}, {								\
		.op = XENVHCA_OP_CREATE_SRQ,				\
		.in_min = 16, .in_max = 16, .out_min = 8, .out_max = 8,	\
		.req = {						\
			{ .kind = VHCA_BUF, .len = 8, .off = 0,		\
			  .length = mlx4_create_srq_len },		\
			{ .kind = VHCA_DBPAGE, .len = 8, .off = 8,	\
			  .arg = MLX4_RECORD },				\
		},							\
		.rsp = { { .kind = VHCA_DEV, .len = 4, .off = 0 } },	\
	}

/* bf_reg_size, bf_regs_per_page: 0, so that rdma-core does not map the page */
#define MLX4_NO_BLUEFLAME(at)						\
	{ .kind = VHCA_MASK, .len = 4, .off = at, .arg = ~0ull }

static const struct vhca_udata_op mlx4_ops[] = {
	{
		.op = XENVHCA_OP_ALLOC_UCONTEXT,
		.out_min = 16, .out_max = 16,
		.rsp = {
			{ .kind = VHCA_DEV, .len = 4, .off = 4 }, /* qp_tab_size */
			MLX4_NO_BLUEFLAME(8),
			{ .kind = VHCA_IS, .len = 4, .off = 12,	/* cqe_size */
			  .arg = MLX4_CQE },
		},
	},
	MLX4_CREATE_CQ(mlx4_create_cq_len),
	MLX4_RESIZE_CQ(mlx4_resize_cq_len),
	MLX4_COMMON,
	{ .op = 0 },
};

static const struct vhca_udata_op mlx4_v3_ops[] = {
	{
		.op = XENVHCA_OP_ALLOC_UCONTEXT,
		.out_min = 8, .out_max = 8,
		.rsp = {
			{ .kind = VHCA_DEV, .len = 4, .off = 0 }, /* qp_tab_size */
			MLX4_NO_BLUEFLAME(4),
		},
	},
	MLX4_CREATE_CQ(mlx4_v3_create_cq_len),
	MLX4_RESIZE_CQ(mlx4_v3_resize_cq_len),
	MLX4_COMMON,
	{ .op = 0 },
};

/*
 * No BlueFlame page (1): what is written there is itself a work request, so that on an HCA
 * that compares no pages of doorbells one process could write those of another.
 */
static const struct vhca_mmap mlx4_mmaps[] = {
	{ VHCA_MMAP_MMIO, XENVHCA_PROT_NC, 0, 0, 0 },	/* UAR */
	{ VHCA_MMAP_REGS, XENVHCA_PROT_NC, 3, 0, 0 },	/* clock */
	{ .kind = VHCA_MMAP_END },
};

/* A power of two of 2 * MLX4_MAX_SEND is as long as a send queue's elements and headroom. */
#define MLX4_PROVIDER(abi, answer, cqe, rows)				\
	.name = "mlx4",							\
	.driver_id = MLX4_DRIVER_ID,					\
	.pci_vendor = VHCA_PCI_MELLANOX,				\
	.abi_min = abi,							\
	.abi_max = abi,							\
	.xrc = 1,							\
	.no_retranslate = 1,						\
	.ib_only = 1,							\
	.av_port = 1,							\
	.mr_bits = MLX4_MTT_SHIFT,					\
	.arm_at = 4,							\
	.pages_assumed = 1,						\
	.events = MLX4_EVENTS,						\
	.context_uars = 1,						\
	.qp_group = MLX4_QP_GROUP,					\
	.qp_group_pages = MLX4_QP_GROUP_PAGES,				\
	.cqe_len = cqe,							\
	.qp_wr_len = 2 * MLX4_MAX_SEND + MLX4_MAX_RECV,			\
	.srq_wr_len = MLX4_MAX_RECV,					\
	.ask_out_len = answer,						\
	.ops = rows,							\
	.mmaps = mlx4_mmaps

const struct vhca_provider vhca_provider_mlx4 = {
	MLX4_PROVIDER(MLX4_ABI, 16, MLX4_CQE, mlx4_ops),
};

const struct vhca_provider vhca_provider_mlx4_v3 = {
	MLX4_PROVIDER(MLX4_ABI_SMALL_CQE, 8, MLX4_SMALL_CQE, mlx4_v3_ops),
};
