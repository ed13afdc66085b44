// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Answers of a backend that has an mlx5, as far as its guest can tell: udata as
 * rdma-core expects it, doorbell pages that are none.
 */
#include <rdma/mlx5-abi.h>
#include <string.h>

#include "mlx5.h"

#define MLX5_DRIVER_ID	1	/* RDMA_DRIVER_MLX5 */
#define MLX5_ABI	1
#define MLX5_BFREGS	16

void mlx5_info(struct xenvhca_get_info_rsp *r)
{
	r->driver_id = MLX5_DRIVER_ID;
	r->uverbs_abi_ver = MLX5_ABI;
	r->kicks = 0;
	strcpy(r->hca, "mlx5_0");
	strcpy(r->fw, "16.35.2000");
}

/* Never more than was asked for. */
static void put(struct xenvhca_response *rsp, const void *udata, size_t len)
{
	if (len > rsp->out_len)
		len = rsp->out_len;
	memcpy(rsp->udata, udata, len);
	rsp->out_len = (uint16_t)len;
}

static void context(struct xenvhca_response *rsp)
{
	const struct mlx5_ib_alloc_ucontext_resp r = {
		.qp_tab_size = 1u << 18,
		.bf_reg_size = 512,
		.tot_bfregs = MLX5_BFREGS,
		.cache_line_size = 64,
		.max_sq_desc_sz = 1008,
		.max_rq_desc_sz = 512,
		.max_send_wqebb = 1u << 15,
		.max_recv_wr = 1u << 15,
		.max_srq_recv_wr = 1u << 15,
		.num_ports = 1,
		.response_length = sizeof(r),
		.cqe_version = 1,
		.log_uar_size = 12,
		.num_uars_per_page = 1,
	};

	put(rsp, &r, sizeof(r));
}

/* The number of an object, and zeros behind it. */
static void number(struct xenvhca_response *rsp, uint32_t n, size_t len)
{
	uint32_t r[16] = { n };

	put(rsp, r, len);
}

void mlx5_udata(uint32_t handle, const struct xenvhca_request *req,
		struct xenvhca_response *rsp)
{
	switch (req->op) {
	case XENVHCA_OP_ALLOC_UCONTEXT:
		context(rsp);
		break;
	case XENVHCA_OP_ALLOC_PD:
		number(rsp, handle, sizeof(struct mlx5_ib_alloc_pd_resp));
		break;
	case XENVHCA_OP_CREATE_CQ:
		number(rsp, handle, sizeof(struct mlx5_ib_create_cq_resp));
		break;
	case XENVHCA_OP_CREATE_SRQ:
		number(rsp, handle, sizeof(struct mlx5_ib_create_srq_resp));
		break;
	case XENVHCA_OP_CREATE_QP:	/* a doorbell register */
		number(rsp, handle % MLX5_BFREGS,
		       sizeof(struct mlx5_ib_create_qp_resp));
		break;
	}
}

void mlx5_doorbell(unsigned int how, struct xenvhca_response *rsp)
{
	static const uint64_t frame[] = {
		[MLX5_FRAME_RAM] = 0x1000, [MLX5_FRAME_APIC] = 0xfee00,
		[MLX5_FRAME_ROM] = 0xf0, [MLX5_FRAME_0] = 0,
		[MLX5_FRAME_LAST] = (1ull << 40) - 1,
		[MLX5_FRAME_HUGE] = 1ull << 40,
	};
	struct xenvhca_mmap_rsp *m = &rsp->u.mmap;

	how %= MLX5_DOORBELLS;
	rsp->status = 0;
	memset(m, 0, sizeof(*m));
	m->kind = XENVHCA_MMAP_MMIO;
	m->prot = XENVHCA_PROT_NC;
	m->nr_pages = 1;
	if (how <= MLX5_FRAME_HUGE)
		m->frame = frame[how];
	else if (how == MLX5_GRANTS)
		m->kind = XENVHCA_MMAP_GRANT;
	else if (how == MLX5_NO_KIND)
		m->kind = 0xff;
	else if (how == MLX5_CACHED)
		m->prot = 0;
	else if (how == MLX5_TWO_PAGES)
		m->nr_pages = 2;
	else
		m->count = 1;
}
