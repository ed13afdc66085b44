// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * udata of mlx5 (ConnectX-4 and newer), ABI 1, for providers that use the
 * static doorbell registers of a context. Objects of private kinds (DEVX) are
 * refused; rdma-core then opens the device without them. Flags that allow doorbell
 * pages by private commands are cleared, so every doorbell page is one of the mmap
 * offsets below. Layouts are those of
 * <rdma/mlx5-abi.h>; a unit test compares them. The lengths repeat
 * create_cq_user(), resize_user(), set_user_buf_size() and mlx5_ib_create_srq()
 * of the driver.
 */
#include "vhca-provider.h"

#ifdef __KERNEL__
#include <linux/errno.h>
#else
#include <errno.h>
#endif

#include <xen/io/vhcaif.h>

#define MLX5_DRIVER_ID		1	/* RDMA_DRIVER_MLX5 */
#define MLX5_ABI		1

#define MLX5_LIB_CAPS		0x1ull	/* 4K_UAR, but not DYN_UAR */
/*
 * DUMP_FILL_MKEY, ECE. Not SQD2RTS and MKEY_UPDATE_TAG, which rdma-core uses by DEVX:
 * a queue pair for them could be made, and then not used. Not the clock, and not
 * REAL_TIME_TS: rdma-core reads the page of the clock at each poll of such a CQ,
 * and without one fails there, older versions with the lock of the CQ held.
 */
#define MLX5_RESP_MASK		0x6ull
#define MLX5_SUPP_UHW		0x2ull	/* CREATE_AH, but not QUERY_DEVICE */
#define MLX5_CQ_FLAGS		0x1ull	/* CQE_128B_PAD */
#define MLX5_SRQ_FLAGS		0x1ull	/* SIGNATURE */
/* SIGNATURE, SCATTER_CQE, BFREG_INDEX, ALLOW_SCATTER_CQE, PACKET_BASED_... */
#define MLX5_QP_FLAGS		0x30bull
#define MLX5_UAR_BFREGS	2	/* MLX5_NON_FP_BFREGS_PER_UAR */
#define MLX5_SEND_WQE_SHIFT	6	/* MLX5_SEND_WQE_BB is 64 octets */
#define MLX5_SEGMENT		16	/* octets: struct mlx5_wqe_data_seg */
#define MLX5_MIN_SRQ_ELEMENT	32	/* octets */
#define MLX5_MAX_CQE		128	/* octets */
#define MLX5_MAX_RECV		512	/* octets: max_rq_desc_sz */
#define MLX5_DB_RECORD		8	/* octets of a doorbell record */

/* vm_pgoff: command << 8 | index, more bits of the index from bit 16 on */
#define MLX5_INDEX		0xffu
#define MLX5_EXT_INDEX		0xff00ffu

static int mlx5_cq(uint32_t cqe, uint32_t cqe_size, uint64_t *len)
{
	if (cqe_size != 64 && cqe_size != 128)
		return -EINVAL;
	return vhca_len_mul(vhca_len_pow2(1 + (uint64_t)cqe), cqe_size, len);
}

static int mlx5_create_cq_len(const struct xenvhca_request *req, uint64_t *len)
{
	return mlx5_cq(req->u.create_cq.cqe, vhca_len_num(req, 16, 4), len);
}

static int mlx5_resize_cq_len(const struct xenvhca_request *req, uint64_t *len)
{
	return mlx5_cq(req->u.resize_cq.cqe, vhca_len_num(req, 8, 2), len);
}

/* Receive queue, then send queue; the driver refuses an unwanted one. */
static int mlx5_create_qp_len(const struct xenvhca_request *req, uint64_t *len)
{
	uint64_t sq;

	if (vhca_len_shl(vhca_len_num(req, 20, 4), vhca_len_num(req, 24, 4),
			 len) ||
	    vhca_len_shl(vhca_len_num(req, 16, 4), MLX5_SEND_WQE_SHIFT, &sq))
		return -EINVAL;
	return vhca_len_add(sq, len);
}

/* A link to the next element and max_sge segments. */
static int mlx5_create_srq_len(const struct xenvhca_request *req, uint64_t *len)
{
	uint64_t size;

	if (vhca_len_mul(MLX5_SEGMENT, 1 + (uint64_t)req->u.create_srq.max_sge,
			 &size))
		return -EINVAL;
	size = vhca_len_pow2(size);
	if (size < MLX5_MIN_SRQ_ELEMENT)
		size = MLX5_MIN_SRQ_ELEMENT;
	return vhca_len_mul(vhca_len_pow2(1 + (uint64_t)
					  req->u.create_srq.max_wr),
			    size, len);
}

static const struct vhca_udata_op mlx5_ops[] = {
	{
		.op = XENVHCA_OP_ALLOC_UCONTEXT,
		.in_min = 32, .in_max = 32, .out_min = 64, .out_max = 72,
		.req = {
			{ .kind = VHCA_UARS, .len = 4, .off = 0, /* bfregs */
			  .arg = MLX5_UAR_BFREGS },
			/* flags: DEVX, as an HCA that has none */
			{ .kind = VHCA_ZERO, .len = 4, .off = 8,
			  .arg = ~0ull },
			{ .kind = VHCA_MASK, .len = 8, .off = 24,
			  .arg = ~MLX5_LIB_CAPS },
		},
		.rsp = {
			/* flow_action_flags: of flow steering, which is not served */
			{ .kind = VHCA_MASK, .len = 2, .off = 34,
			  .arg = ~0ull },
			{ .kind = VHCA_MASK, .len = 4, .off = 36,
			  .arg = ~MLX5_RESP_MASK },
			{ .kind = VHCA_MASK, .len = 1, .off = 45,
			  .arg = ~MLX5_SUPP_UHW },
			/* clock_info_versions: a page of the kernel's memory */
			{ .kind = VHCA_MASK, .len = 1, .off = 47,
			  .arg = ~0ull },
			/* hca_core_clock_offset */
			{ .kind = VHCA_MASK, .len = 8, .off = 48,
			  .arg = ~0ull },
		},
	}, {
		.op = XENVHCA_OP_ALLOC_PD,
		.out_min = 4, .out_max = 4,
		.rsp = { { .kind = VHCA_DEV, .len = 4, .off = 0 } },
	}, {
		.op = XENVHCA_OP_CREATE_CQ,
		.in_min = 32, .in_max = 32, .out_min = 8, .out_max = 8,
		.req = {
			{ .kind = VHCA_BUF, .len = 8, .off = 0,
			  .length = mlx5_create_cq_len },
			{ .kind = VHCA_DBPAGE, .len = 8, .off = 8,
			  .arg = MLX5_DB_RECORD },
			/* cqe_comp_en: QUERY_DEVICE, which announces it, is removed */
			{ .kind = VHCA_ZERO, .len = 1, .off = 20,
			  .arg = ~0ull },
			{ .kind = VHCA_ZERO, .len = 2, .off = 22,
			  .arg = ~MLX5_CQ_FLAGS },
		},
		.rsp = { { .kind = VHCA_DEV, .len = 4, .off = 0 } },
	}, {
		.op = XENVHCA_OP_RESIZE_CQ,
		.in_min = 16, .in_max = 16,
		.req = {
			{ .kind = VHCA_BUF, .len = 8, .off = 0,
			  .length = mlx5_resize_cq_len },
		},
	}, {
		/* 48, 8: providers from before ece_options */
		.op = XENVHCA_OP_CREATE_QP,
		.in_min = 48, .in_max = 56, .out_min = 8, .out_max = 40,
		.req = {
			{ .kind = VHCA_BUF, .len = 8, .off = 0,
			  .length = mlx5_create_qp_len },
			{ .kind = VHCA_DBPAGE, .len = 8, .off = 8,
			  .arg = MLX5_DB_RECORD },
			{ .kind = VHCA_ZERO, .len = 4, .off = 28,
			  .arg = ~MLX5_QP_FLAGS },
			{ .kind = VHCA_COOKIE, .len = 4, .off = 32 }, /* uidx */
			{ .kind = VHCA_DEV, .len = 4, .off = 36 }, /* bfreg */
			/* sq_buf_addr, access_key: of raw packet and DC QPs */
			{ .kind = VHCA_MASK, .len = 8, .off = 40,
			  .arg = ~0ull },
			{ .kind = VHCA_COOKIE, .len = 4, .off = 48 }, /* ece_options */
		},
		.rsp = { { .kind = VHCA_DEV, .len = 4, .off = 0 } }, /* bfreg */
	}, {
		/* rate limit and ECE; the driver checks the inner length */
		.op = XENVHCA_OP_MODIFY_QP,
		.in_min = 0, .in_max = 16, .out_min = 0, .out_max = 16,
		.req = {
			{ .kind = VHCA_COOKIE, .len = 4, .off = 12 }, /* ece_options */
		},
	}, {
		.op = XENVHCA_OP_CREATE_SRQ,
		.in_min = 32, .in_max = 32, .out_min = 8, .out_max = 8,
		.req = {
			{ .kind = VHCA_BUF, .len = 8, .off = 0,
			  .length = mlx5_create_srq_len },
			{ .kind = VHCA_DBPAGE, .len = 8, .off = 8,
			  .arg = MLX5_DB_RECORD },
			{ .kind = VHCA_ZERO, .len = 4, .off = 16,
			  .arg = ~MLX5_SRQ_FLAGS },
			{ .kind = VHCA_COOKIE, .len = 4, .off = 24 }, /* uidx */
		},
		.rsp = { { .kind = VHCA_DEV, .len = 4, .off = 0 } },
	}, {
		/* dmac that the driver domain resolved */
		.op = XENVHCA_OP_CREATE_AH,
		.out_min = 16, .out_max = 16,
		.rsp = { { .kind = VHCA_COOKIE, .len = 10, .off = 0 } },
	},
	{ .op = 0 },
};

static const struct vhca_mmap mlx5_mmaps[] = {
	{ VHCA_MMAP_MMIO, XENVHCA_PROT_WC, 0x000, MLX5_INDEX, 0 }, /* REGULAR */
	{ VHCA_MMAP_MMIO, XENVHCA_PROT_WC, 0x200, MLX5_INDEX, 0 }, /* WC */
	{ VHCA_MMAP_MMIO, XENVHCA_PROT_NC, 0x300, MLX5_INDEX, 0 }, /* NC */
	/*
	 * CORE_CLOCK: a page of the initialization segment, to which a guest
	 * could also write, because Xen maps no register page read-only.
	 */
	{ VHCA_MMAP_REGS, XENVHCA_PROT_NC, 0x500, 0, 0 },
	/* ALLOC_WC */
	{ VHCA_MMAP_MMIO, XENVHCA_PROT_WC, 0x600, MLX5_EXT_INDEX, 1 },
	{ VHCA_MMAP_RAM, 0, 0x700, MLX5_INDEX, 0 },	/* CLOCK_INFO */
	/* DEVICE_MEM */
	{ VHCA_MMAP_REGS, XENVHCA_PROT_WC, 0x800, MLX5_EXT_INDEX, 0 },
	{ .kind = VHCA_MMAP_END },
};

/* lib_caps: DYN_UAR, so without static doorbell pages. */
static const uint8_t mlx5_ask[32] = { [24] = 2 };

const struct vhca_provider vhca_provider_mlx5 = {
	.name = "mlx5",
	.driver_id = MLX5_DRIVER_ID,
	.pci_vendor = VHCA_PCI_MELLANOX,
	.abi_min = MLX5_ABI,
	.abi_max = MLX5_ABI,
	.arm_at = 4,
	.context_uars = XENVHCA_UCONTEXT_UARS,
	.xrc = 1,
	.tm = 1,
	.dmabuf = 1,
	.cqe_len = MLX5_MAX_CQE,
	.qp_wr_len = (1 << MLX5_SEND_WQE_SHIFT) + MLX5_MAX_RECV,
	.srq_wr_len = MLX5_MAX_RECV,
	.ask_in = mlx5_ask,
	.ask_in_len = sizeof(mlx5_ask),
	.ops = mlx5_ops,
	.mmaps = mlx5_mmaps,
};
