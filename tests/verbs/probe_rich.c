// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * vhca-probe, what only a rich HCA has beside the standard verbs: a process asks for it,
 * whether it is announced or not. A guest gets an error of each, or what the HCA itself
 * judges. Prints nothing for other HCAs than mlx5.
 */
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"

#define QUERY_HCA_CAP	0x100
#define CAP_BYTES	4096

static void probe_compressed(struct probe *p)
{
	struct ibv_cq_init_attr_ex a = { .cqe = 16 };
	struct mlx5dv_cq_init_attr m = {
		.comp_mask = MLX5DV_CQ_INIT_ATTR_MASK_COMPRESSED_CQE,
		.cqe_comp_res_format = MLX5DV_CQE_RES_FORMAT_HASH,
	};
	struct ibv_cq_ex *cq = mlx5dv_create_cq(p->ctx, &a, &m);

	pr("rich.create_cq.compressed", ep(cq));
	if (cq)
		ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
}

static void create_qp(struct probe *p, struct ibv_cq *cq, const char *name,
		      struct ibv_qp_init_attr_ex *a, struct mlx5dv_qp_init_attr *m)
{
	struct ibv_qp *qp;

	a->comp_mask |= IBV_QP_INIT_ATTR_PD;
	a->pd = p->pd;
	a->send_cq = a->recv_cq = cq;
	a->cap.max_send_wr = a->cap.max_send_sge = 1;
	qp = mlx5dv_create_qp(p->ctx, a, m);
	pr(nm("rich.create_qp.%s", name), ep(qp));
	if (!qp)
		return;
	if (a->qp_type == IBV_QPT_RC)
		pr(nm("rich.modify_qp.%s", name),
		   lo_modify(qp, p, IBV_QPT_RC, IBV_QPS_INIT));
	ibv_destroy_qp(qp);
}

static void probe_dc(struct probe *p, struct ibv_cq *cq)
{
	struct ibv_srq_init_attr sa = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_qp_init_attr_ex dci = { .qp_type = IBV_QPT_DRIVER };
	struct ibv_qp_init_attr_ex dct = { .qp_type = IBV_QPT_DRIVER };
	struct mlx5dv_qp_init_attr m = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC,
		.dc_init_attr.dc_type = MLX5DV_DCTYPE_DCI,
	};

	create_qp(p, cq, "dci", &dci, &m);
	m.dc_init_attr.dc_type = MLX5DV_DCTYPE_DCT;
	m.dc_init_attr.dct_access_key = 1;
	dct.srq = ibv_create_srq(p->pd, &sa);
	if (dct.srq) {
		create_qp(p, cq, "dct", &dct, &m);
		ibv_destroy_srq(dct.srq);
	}
}

static void probe_flags(struct probe *p, struct ibv_cq *cq)
{
	static const struct {
		const char *name;
		uint32_t flag;
	} rc[] = {
		{ "scatter_to_cqe", MLX5DV_QP_CREATE_ALLOW_SCATTER_TO_CQE },
		{ "packet_credits", MLX5DV_QP_CREATE_PACKET_BASED_CREDIT_MODE },
		{ "pipelining", MLX5DV_QP_CREATE_SIG_PIPELINING },
	};
	struct mlx5dv_qp_init_attr m = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS,
	};
	size_t i;

	for (i = 0; i < VT_ARRAY_SIZE(rc); i++) {
		struct ibv_qp_init_attr_ex a = { .qp_type = IBV_QPT_RC };

		m.create_flags = rc[i].flag;
		create_qp(p, cq, rc[i].name, &a, &m);
	}
}

static void probe_striding(struct probe *p, struct ibv_cq *cq)
{
	struct ibv_wq_init_attr a = {
		.wq_type = IBV_WQT_RQ, .max_wr = 4, .max_sge = 1,
		.pd = p->pd, .cq = cq,
	};
	struct mlx5dv_wq_init_attr m = {
		.comp_mask = MLX5DV_WQ_INIT_ATTR_MASK_STRIDING_RQ,
		.striding_rq_attrs = {
			.single_stride_log_num_of_bytes = 6,
			.single_wqe_log_num_of_strides = 9,
		},
	};
	struct ibv_wq *wq = mlx5dv_create_wq(p->ctx, &a, &m);

	pr("rich.create_wq.striding", ep(wq));
	if (wq)
		ibv_destroy_wq(wq);
}

static void probe_rate(struct probe *p)
{
	struct ibv_qp_rate_limit_attr a = { .rate_limit = 1000 };
	struct lo l = {};
	int err = lo_open(&l, p, IBV_QPT_RC);

	pr("rich.rate.setup", err);
	if (!err) {
		pr("rich.modify_qp.rate", ibv_modify_qp_rate_limit(l.qp, &a));
		a.max_burst_sz = a.typical_pkt_sz = 1500;
		pr("rich.modify_qp.burst", ibv_modify_qp_rate_limit(l.qp, &a));
	}
	lo_close(&l);
}

/* General capabilities, which rdma-core itself asks for in each context. */
static void probe_devx(struct probe *p)
{
	uint8_t in[16] = { QUERY_HCA_CAP >> 8, QUERY_HCA_CAP & 0xff };
	uint8_t out[16 + CAP_BYTES] = {};
	struct mlx5dv_devx_umem *umem;
	struct mlx5dv_pp *pp;
	void *page = aligned_alloc(4096, 4096);

	in[7] = 1;			/* the current ones */
	pr("rich.devx.general_cmd", er(mlx5dv_devx_general_cmd(p->ctx, in,
		sizeof(in), out, sizeof(out)) ? -1 : 0));
	umem = mlx5dv_devx_umem_reg(p->ctx, page, 4096, IBV_ACCESS_LOCAL_WRITE);
	pr("rich.devx.umem_reg", ep(umem));
	if (umem)
		mlx5dv_devx_umem_dereg(umem);
	pp = mlx5dv_pp_alloc(p->ctx, sizeof(in), in, 0);
	pr("rich.pp_alloc", ep(pp));
	if (pp)
		mlx5dv_pp_free(pp);
	free(page);
}

static void probe_null(struct probe *p)
{
	struct ibv_mr *mr = ibv_alloc_null_mr(p->pd);

	pr("rich.alloc_null_mr", ep(mr));
	if (mr)
		ibv_dereg_mr(mr);
}

void probe_rich(struct probe *p)
{
	struct ibv_cq *cq;

	if (!mlx5dv_is_supported(p->ctx->device))
		return;
	cq = ibv_create_cq(p->ctx, 16, NULL, NULL, 0);
	pr("rich.setup", ep(cq));
	if (!cq)
		return;
	probe_compressed(p);
	probe_dc(p, cq);
	probe_flags(p, cq);
	probe_striding(p, cq);
	probe_rate(p);
	probe_devx(p);
	probe_null(p);
	ibv_destroy_cq(cq);
}
