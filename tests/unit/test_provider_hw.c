// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The tables of hardware HCAs against the kernel's own headers. No such HCA is
 * needed, or driven.
 */
#include <errno.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/mlx4-abi.h>
#include <rdma/mlx5-abi.h>

#include "tests/fake/guest.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))
#define AT(type, member) \
	offsetof(struct type, member), sizeof(((struct type *)0)->member)
/* bf_reg_size and bf_regs_per_page */
#define BLUEFLAME(type) \
	offsetof(struct type, bf_reg_size), 2 * sizeof(((struct type *)0)->bf_reg_size)

static const struct vhca_provider *const mlx5 = &vhca_provider_mlx5;
static const struct vhca_provider *const mlx4 = &vhca_provider_mlx4;
static const struct vhca_provider *const mlx4_v3 = &vhca_provider_mlx4_v3;

static const struct vhca_udata_op *row(const struct vhca_provider *p,
				       uint8_t op)
{
	const struct vhca_udata_op *r = vhca_provider_op(p, op);

	assert_non_null(r);
	return r;
}

/* ---- layouts ---- */

struct sizes {
	const struct vhca_provider *const *p;
	uint8_t op;
	size_t in, out;			/* of the whole structure */
};

static const struct sizes sizes[] = {
	{ &mlx5, XENVHCA_OP_ALLOC_UCONTEXT,
	  sizeof(struct mlx5_ib_alloc_ucontext_req_v2),
	  sizeof(struct mlx5_ib_alloc_ucontext_resp) },
	{ &mlx5, XENVHCA_OP_ALLOC_PD, 0, sizeof(struct mlx5_ib_alloc_pd_resp) },
	{ &mlx5, XENVHCA_OP_CREATE_CQ, sizeof(struct mlx5_ib_create_cq),
	  sizeof(struct mlx5_ib_create_cq_resp) },
	{ &mlx5, XENVHCA_OP_RESIZE_CQ, sizeof(struct mlx5_ib_resize_cq), 0 },
	{ &mlx5, XENVHCA_OP_CREATE_QP, sizeof(struct mlx5_ib_create_qp),
	  sizeof(struct mlx5_ib_create_qp_resp) },
	{ &mlx5, XENVHCA_OP_MODIFY_QP, sizeof(struct mlx5_ib_modify_qp),
	  sizeof(struct mlx5_ib_modify_qp_resp) },
	{ &mlx5, XENVHCA_OP_CREATE_SRQ, sizeof(struct mlx5_ib_create_srq),
	  sizeof(struct mlx5_ib_create_srq_resp) },
	{ &mlx5, XENVHCA_OP_CREATE_AH, 0, sizeof(struct mlx5_ib_create_ah_resp) },
};

#define MLX4_SIZES(p, context)						\
	{ &p, XENVHCA_OP_ALLOC_UCONTEXT, 0, sizeof(struct context) },	\
	{ &p, XENVHCA_OP_ALLOC_PD, 0, sizeof(struct mlx4_ib_alloc_pd_resp) }, \
	{ &p, XENVHCA_OP_QUERY_DEVICE, 0,				\
	  sizeof(struct mlx4_uverbs_ex_query_device_resp) },		\
	{ &p, XENVHCA_OP_CREATE_CQ, sizeof(struct mlx4_ib_create_cq),	\
	  sizeof(struct mlx4_ib_create_cq_resp) },			\
	{ &p, XENVHCA_OP_RESIZE_CQ, sizeof(struct mlx4_ib_resize_cq), 0 }, \
	{ &p, XENVHCA_OP_CREATE_QP, sizeof(struct mlx4_ib_create_qp), 0 }, \
	{ &p, XENVHCA_OP_CREATE_SRQ, sizeof(struct mlx4_ib_create_srq),	\
	  sizeof(struct mlx4_ib_create_srq_resp) }

static const struct sizes mlx4_sizes[] = {
	MLX4_SIZES(mlx4, mlx4_ib_alloc_ucontext_resp),
	MLX4_SIZES(mlx4_v3, mlx4_ib_alloc_ucontext_resp_v3),
};

static unsigned int rows(const struct vhca_provider *p)
{
	unsigned int n = 0;

	while (p->ops[n].op)
		n++;
	return n;
}

static void rows_have_the_size_of_their_structure(void **state)
{
	const struct sizes *s;

	(void)state;
	assert_int_equal(mlx5->driver_id, RDMA_DRIVER_MLX5);
	assert_int_equal(mlx5->abi_max, MLX5_IB_UVERBS_ABI_VERSION);
	for (s = sizes; s < sizes + COUNT(sizes); s++) {
		assert_int_equal(row(*s->p, s->op)->in_max, s->in);
		assert_int_equal(row(*s->p, s->op)->out_max, s->out);
	}
	assert_int_equal(rows(mlx5), COUNT(sizes));
	assert_int_equal(row(mlx5, XENVHCA_OP_CREATE_QP)->in_min,
			 offsetof(struct mlx5_ib_create_qp, ece_options));
	assert_int_equal(row(mlx5, XENVHCA_OP_ALLOC_UCONTEXT)->out_min,
			 offsetof(struct mlx5_ib_alloc_ucontext_resp,
				  num_dyn_bfregs));
}

/* Its driver copies whole structures, however long the process says that they are. */
static void mlx4_takes_whole_structures(void **state)
{
	const struct vhca_udata_op *r;
	const struct sizes *s;

	(void)state;
	assert_int_equal(mlx4->driver_id, RDMA_DRIVER_MLX4);
	assert_int_equal(mlx4_v3->driver_id, RDMA_DRIVER_MLX4);
	assert_int_equal(mlx4->abi_min, MLX4_IB_UVERBS_ABI_VERSION);
	assert_int_equal(mlx4->abi_max, MLX4_IB_UVERBS_ABI_VERSION);
	assert_int_equal(mlx4_v3->abi_min, MLX4_IB_UVERBS_NO_DEV_CAPS_ABI_VERSION);
	assert_int_equal(mlx4_v3->abi_max, MLX4_IB_UVERBS_NO_DEV_CAPS_ABI_VERSION);
	for (s = mlx4_sizes; s < mlx4_sizes + COUNT(mlx4_sizes); s++) {
		r = row(*s->p, s->op);
		assert_int_equal(r->in_min, s->in);
		assert_int_equal(r->in_max, s->in);
		assert_int_equal(r->out_min, s->out);
		assert_int_equal(r->out_max, s->out);
		/* The frontend asks for itself, too, and then for nothing of these. */
		assert_int_equal(vhca_provider_check(*s->p, s->op, 0, 0),
				 s->op == XENVHCA_OP_QUERY_DEVICE ? 0 : -EINVAL);
	}
	assert_int_equal(rows(mlx4) + rows(mlx4_v3), COUNT(mlx4_sizes));
	assert_int_equal(mlx4->ask_out_len, row(mlx4, XENVHCA_OP_ALLOC_UCONTEXT)->out_max);
	assert_int_equal(mlx4_v3->ask_out_len,
			 row(mlx4_v3, XENVHCA_OP_ALLOC_UCONTEXT)->out_max);
}

struct at {
	const struct vhca_provider *const *p;
	uint8_t op;
	bool rsp;
	uint8_t kind;
	size_t off, len;
};

#define CTX	XENVHCA_OP_ALLOC_UCONTEXT
#define CQ	XENVHCA_OP_CREATE_CQ
#define CQ2	XENVHCA_OP_RESIZE_CQ
#define QP	XENVHCA_OP_CREATE_QP
#define QP2	XENVHCA_OP_MODIFY_QP
#define SRQ	XENVHCA_OP_CREATE_SRQ

#define DEVICE	mlx4_uverbs_ex_query_device_resp
#define MLX4_FIELDS(p)							\
	{ &p, XENVHCA_OP_ALLOC_PD, 1, VHCA_DEV, AT(mlx4_ib_alloc_pd_resp, pdn) }, \
	{ &p, XENVHCA_OP_QUERY_DEVICE, 1, VHCA_MASK, AT(DEVICE, comp_mask) }, \
	{ &p, XENVHCA_OP_QUERY_DEVICE, 1, VHCA_MASK,			\
	  AT(DEVICE, hca_core_clock_offset) },				\
	{ &p, XENVHCA_OP_QUERY_DEVICE, 1, VHCA_MASK,			\
	  AT(DEVICE, rss_caps.rx_hash_fields_mask) },			\
	{ &p, XENVHCA_OP_QUERY_DEVICE, 1, VHCA_MASK,			\
	  AT(DEVICE, rss_caps.rx_hash_function) },			\
	{ &p, XENVHCA_OP_QUERY_DEVICE, 1, VHCA_MASK, AT(DEVICE, tso_caps) }, \
	{ &p, CQ, 0, VHCA_BUF, AT(mlx4_ib_create_cq, buf_addr) },	\
	{ &p, CQ, 0, VHCA_DBPAGE, AT(mlx4_ib_create_cq, db_addr) },	\
	{ &p, CQ, 1, VHCA_DEV, AT(mlx4_ib_create_cq_resp, cqn) },	\
	{ &p, CQ2, 0, VHCA_BUF, AT(mlx4_ib_resize_cq, buf_addr) },	\
	{ &p, QP, 0, VHCA_BUF, AT(mlx4_ib_create_qp, buf_addr) },	\
	{ &p, QP, 0, VHCA_DBPAGE, AT(mlx4_ib_create_qp, db_addr) },	\
	{ &p, QP, 0, VHCA_COOKIE, AT(mlx4_ib_create_qp, sq_no_prefetch) }, \
	{ &p, QP, 0, VHCA_COOKIE, AT(mlx4_ib_create_qp, inl_recv_sz) },	\
	{ &p, SRQ, 0, VHCA_BUF, AT(mlx4_ib_create_srq, buf_addr) },	\
	{ &p, SRQ, 0, VHCA_DBPAGE, AT(mlx4_ib_create_srq, db_addr) },	\
	{ &p, SRQ, 1, VHCA_DEV, AT(mlx4_ib_create_srq_resp, srqn) }

static const struct at fields[] = {
	{ &mlx5, CTX, 0, VHCA_UARS,
	  AT(mlx5_ib_alloc_ucontext_req_v2, total_num_bfregs) },
	{ &mlx5, CTX, 0, VHCA_ZERO, AT(mlx5_ib_alloc_ucontext_req_v2, flags) },
	{ &mlx5, CTX, 0, VHCA_MASK,
	  AT(mlx5_ib_alloc_ucontext_req_v2, lib_caps) },
	{ &mlx5, CTX, 1, VHCA_MASK,
	  AT(mlx5_ib_alloc_ucontext_resp, flow_action_flags) },
	{ &mlx5, CTX, 1, VHCA_MASK,
	  AT(mlx5_ib_alloc_ucontext_resp, comp_mask) },
	{ &mlx5, CTX, 1, VHCA_MASK,
	  AT(mlx5_ib_alloc_ucontext_resp, cmds_supp_uhw) },
	{ &mlx5, CTX, 1, VHCA_MASK,
	  AT(mlx5_ib_alloc_ucontext_resp, clock_info_versions) },
	{ &mlx5, CTX, 1, VHCA_MASK,
	  AT(mlx5_ib_alloc_ucontext_resp, hca_core_clock_offset) },
	{ &mlx5, CQ, 0, VHCA_BUF, AT(mlx5_ib_create_cq, buf_addr) },
	{ &mlx5, CQ, 0, VHCA_DBPAGE, AT(mlx5_ib_create_cq, db_addr) },
	{ &mlx5, CQ, 0, VHCA_ZERO, AT(mlx5_ib_create_cq, cqe_comp_en) },
	{ &mlx5, CQ, 0, VHCA_ZERO, AT(mlx5_ib_create_cq, flags) },
	{ &mlx5, CQ, 1, VHCA_DEV, AT(mlx5_ib_create_cq_resp, cqn) },
	{ &mlx5, CQ2, 0, VHCA_BUF, AT(mlx5_ib_resize_cq, buf_addr) },
	{ &mlx5, QP, 0, VHCA_BUF, AT(mlx5_ib_create_qp, buf_addr) },
	{ &mlx5, QP, 0, VHCA_DBPAGE, AT(mlx5_ib_create_qp, db_addr) },
	{ &mlx5, QP, 0, VHCA_ZERO, AT(mlx5_ib_create_qp, flags) },
	{ &mlx5, QP, 0, VHCA_COOKIE, AT(mlx5_ib_create_qp, uidx) },
	{ &mlx5, QP, 0, VHCA_DEV, AT(mlx5_ib_create_qp, bfreg_index) },
	{ &mlx5, QP, 0, VHCA_MASK, AT(mlx5_ib_create_qp, sq_buf_addr) },
	{ &mlx5, QP, 0, VHCA_MASK, AT(mlx5_ib_create_qp, access_key) },
	{ &mlx5, QP, 0, VHCA_COOKIE, AT(mlx5_ib_create_qp, ece_options) },
	{ &mlx5, QP, 1, VHCA_DEV, AT(mlx5_ib_create_qp_resp, bfreg_index) },
	{ &mlx5, QP2, 0, VHCA_COOKIE, AT(mlx5_ib_modify_qp, ece_options) },
	{ &mlx5, SRQ, 0, VHCA_BUF, AT(mlx5_ib_create_srq, buf_addr) },
	{ &mlx5, SRQ, 0, VHCA_DBPAGE, AT(mlx5_ib_create_srq, db_addr) },
	{ &mlx5, SRQ, 0, VHCA_ZERO, AT(mlx5_ib_create_srq, flags) },
	{ &mlx5, SRQ, 0, VHCA_COOKIE, AT(mlx5_ib_create_srq, uidx) },
	{ &mlx4, CTX, 1, VHCA_DEV, AT(mlx4_ib_alloc_ucontext_resp, qp_tab_size) },
	{ &mlx4, CTX, 1, VHCA_IS, AT(mlx4_ib_alloc_ucontext_resp, cqe_size) },
	{ &mlx4, CTX, 1, VHCA_MASK, BLUEFLAME(mlx4_ib_alloc_ucontext_resp) },
	{ &mlx4_v3, CTX, 1, VHCA_DEV, AT(mlx4_ib_alloc_ucontext_resp_v3, qp_tab_size) },
	{ &mlx4_v3, CTX, 1, VHCA_MASK, BLUEFLAME(mlx4_ib_alloc_ucontext_resp_v3) },
	MLX4_FIELDS(mlx4),
	MLX4_FIELDS(mlx4_v3),
};

static void fields_lie_where_the_header_says(void **state)
{
	const struct vhca_field *f;
	const struct at *a;
	unsigned int i;

	(void)state;
	for (a = fields; a < fields + COUNT(fields); a++) {
		f = a->rsp ? row(*a->p, a->op)->rsp : row(*a->p, a->op)->req;
		for (i = 0; i < VHCA_MAX_FIELDS; i++)
			if (f[i].kind == a->kind && f[i].off == a->off &&
			    f[i].len == a->len)
				break;
		if (i == VHCA_MAX_FIELDS)
			fail_msg("no such field: row %zu", a - fields);
	}
}

/* ---- lengths ---- */

static struct xenvhca_request req;

static uint64_t length(const struct vhca_provider *p, uint8_t op)
{
	uint64_t len;

	req.in_len = row(p, op)->in_max;
	if (row(p, op)->req[0].length(&req, &len))
		return UINT64_MAX;
	return len;
}

#define TOO_LONG UINT64_MAX

static uint64_t mlx5_cq(uint32_t cqe, uint32_t size)
{
	struct mlx5_ib_create_cq in = { .cqe_size = size };
	struct mlx5_ib_resize_cq in2 = { .cqe_size = (uint16_t)size };
	uint64_t len;

	req.u.create_cq.cqe = cqe;
	memcpy(req.udata, &in, sizeof(in));
	len = length(mlx5, CQ);
	memset(&req, 0, sizeof(req));
	req.u.resize_cq.cqe = cqe;
	memcpy(req.udata, &in2, sizeof(in2));
	assert_true(length(mlx5, CQ2) == len);
	memset(&req, 0, sizeof(req));
	return len;
}

static void length_of_a_cq(void **state)
{
	(void)state;
	assert_int_equal(mlx5_cq(0, 64), 64);
	assert_int_equal(mlx5_cq(1, 64), 128);
	assert_int_equal(mlx5_cq(255, 64), 256 * 64);
	assert_int_equal(mlx5_cq(256, 128), 512 * 128);
	assert_true(mlx5_cq(255, 0) == TOO_LONG);
	assert_true(mlx5_cq(255, 32) == TOO_LONG);
	assert_true(mlx5_cq(255, 0x1040) == TOO_LONG);
	assert_int_equal(mlx5_cq((1u << 24) - 1, 64), 1u << 30);
	assert_true(mlx5_cq(1u << 24, 64) == TOO_LONG);
	assert_true(mlx5_cq(UINT32_MAX, 128) == TOO_LONG);
}

static uint64_t mlx5_qp(uint32_t rq, uint32_t shift, uint32_t sq)
{
	struct mlx5_ib_create_qp in = {
		.rq_wqe_count = rq, .rq_wqe_shift = shift, .sq_wqe_count = sq,
	};

	memcpy(req.udata, &in, sizeof(in));
	return length(mlx5, QP);
}

static void length_of_a_qp(void **state)
{
	(void)state;
	assert_int_equal(mlx5_qp(0, 0, 0), 0);
	assert_int_equal(mlx5_qp(128, 4, 256), 128 * 16 + 256 * 64);
	assert_int_equal(mlx5_qp(0, 0, 16), 1024);
	assert_int_equal(mlx5_qp(16, 6, 0), 1024);
	assert_int_equal(mlx5_qp(1, 30, 1), (1u << 30) + 64);
	assert_int_equal(mlx5_qp(1, 30, (1u << 24) - 1),
			 (1ull << 31) - 64);
	assert_true(mlx5_qp(1, 30, 1u << 24) == TOO_LONG);	/* the sum */
	assert_true(mlx5_qp(1, 31, 0) == TOO_LONG);
	assert_true(mlx5_qp(2, 30, 0) == TOO_LONG);
	assert_true(mlx5_qp(1, 32, 0) == TOO_LONG);
	assert_true(mlx5_qp(1, 64, 0) == TOO_LONG);
	assert_true(mlx5_qp(0, UINT32_MAX, 0) == TOO_LONG);
	assert_true(mlx5_qp(UINT32_MAX, 0, 0) == TOO_LONG);
	assert_true(mlx5_qp(0, 0, UINT32_MAX) == TOO_LONG);
	assert_true(mlx5_qp(0, 0, 1u << 25) == TOO_LONG);
	memset(&req, 0, sizeof(req));
}

static uint64_t srq(uint32_t wr, uint32_t sge)
{
	req.u.create_srq.max_wr = wr;
	req.u.create_srq.max_sge = sge;
	return length(mlx5, SRQ);
}

static void length_of_an_srq(void **state)
{
	(void)state;
	assert_int_equal(srq(0, 0), 32);
	assert_int_equal(srq(1, 1), 2 * 32);
	assert_int_equal(srq(127, 1), 128 * 32);
	assert_int_equal(srq(128, 2), 256 * 64);
	assert_int_equal(srq(255, 4), 256 * 128);
	assert_true(srq(UINT32_MAX, 1) == TOO_LONG);
	assert_true(srq(1, UINT32_MAX) == TOO_LONG);
	assert_true(srq(1u << 26, 1) == TOO_LONG);
	assert_true(srq(1u << 16, 1u << 16) == TOO_LONG);
	memset(&req, 0, sizeof(req));
}

static uint64_t mlx4_cq(const struct vhca_provider *p, uint32_t cqe)
{
	uint64_t len;

	req.u.create_cq.cqe = cqe;
	len = length(p, CQ);
	memset(&req, 0, sizeof(req));
	req.u.resize_cq.cqe = cqe;
	assert_true(length(p, CQ2) == len);
	memset(&req, 0, sizeof(req));
	return len;
}

static void length_of_a_cq_of_mlx4(void **state)
{
	(void)state;
	assert_int_equal(mlx4_cq(mlx4, 1), 2 * 64);
	assert_int_equal(mlx4_cq(mlx4_v3, 1), 2 * 32);
	assert_int_equal(mlx4_cq(mlx4, 255), 256 * 64);
	assert_int_equal(mlx4_cq(mlx4_v3, 256), 512 * 32);
	assert_true(mlx4_cq(mlx4, UINT32_MAX) == TOO_LONG);
	assert_true(mlx4_cq(mlx4_v3, 1u << 26) == TOO_LONG);
}

/* Of a receive queue: entries, elements of each; of inline receives. 0: an SRQ. */
static uint64_t mlx4_qp(uint32_t wr, uint32_t sge, uint32_t inl, uint8_t count,
			uint8_t stride)
{
	struct mlx4_ib_create_qp in = {
		.log_sq_bb_count = count, .log_sq_stride = stride,
		.inl_recv_sz = inl,
	};

	req.u.create_qp.qp_type = IB_UVERBS_QPT_RC;
	req.u.create_qp.srq = !wr;
	req.u.create_qp.cap.max_recv_wr = wr;
	req.u.create_qp.cap.max_recv_sge = sge;
	memcpy(req.udata, &in, sizeof(in));
	return length(mlx4, QP);
}

static void length_of_a_qp_of_mlx4(void **state)
{
	(void)state;
	assert_int_equal(mlx4_qp(0, 1, 0, 6, 6), 4096);
	assert_int_equal(mlx4_qp(1, 1, 0, 6, 6), 4096 + 16);
	assert_int_equal(mlx4_qp(100, 3, 0, 7, 7), 128 * 64 + 128 * 128);
	/* What is inline has elements of a power of two, rounded down. */
	assert_int_equal(mlx4_qp(8, 1, 64, 6, 6), 4096 + 8 * 64);
	assert_int_equal(mlx4_qp(8, 1, 127, 6, 6), 4096 + 8 * 64);
	assert_int_equal(mlx4_qp(8, 4, 63, 6, 6), 4096 + 8 * 64);
	assert_int_equal(mlx4_qp(8, 1, 1, 6, 6), 4096 + 8 * 16);
	assert_int_equal(mlx4_qp(0, 1, 512, 6, 6), 4096);
	req.u.create_qp.qp_type = IB_UVERBS_QPT_XRC_INI;
	req.u.create_qp.srq = 0;
	req.u.create_qp.cap.max_recv_wr = 64;
	assert_int_equal(length(mlx4, QP), 4096);
	assert_true(mlx4_qp(0, 1, 0, 31, 6) == TOO_LONG);
	assert_true(mlx4_qp(0, 1, 0, 6, 255) == TOO_LONG);
	assert_true(mlx4_qp(0, 1, 0, 255, 6) == TOO_LONG);
	assert_true(mlx4_qp(0, 1, 0, 25, 6) == TOO_LONG);
	assert_int_equal(mlx4_qp(0, 1, 0, 24, 6), 1u << 30);
	assert_true(mlx4_qp(1u << 26, 1, 0, 24, 6) == TOO_LONG);	/* the sum */
	assert_true(mlx4_qp(UINT32_MAX, 1, 0, 6, 6) == TOO_LONG);
	assert_true(mlx4_qp(1, UINT32_MAX, 0, 6, 6) == TOO_LONG);
	assert_true(mlx4_qp(1, 1, UINT32_MAX, 6, 6) == TOO_LONG);
	assert_true(mlx4_qp(1u << 20, 1u << 20, 0, 6, 6) == TOO_LONG);
	memset(&req, 0, sizeof(req));
}

/* A send queue has no record, and the record of a receive queue has four octets. */
static void record_of_a_qp_of_mlx4(void **state)
{
	const struct vhca_field *f = &row(mlx4, QP)->req[1];
	uint64_t len = 0;

	(void)state;
	mlx4_qp(1, 1, 0, 6, 6);
	assert_int_equal(f->length(&req, &len), 0);
	assert_int_equal(len, 4);
	mlx4_qp(0, 1, 0, 6, 6);
	assert_int_equal(f->length(&req, &len), 0);
	assert_int_equal(len, 0);
	memset(&req, 0, sizeof(req));
}

static void length_of_an_srq_of_mlx4(void **state)
{
	static const uint32_t wr[] = { 0, 1, 127, 128, 65535, UINT32_MAX };
	static const uint32_t sge[] = { 0, 1, 2, 31, UINT32_MAX };
	uint64_t len;
	size_t i, j;

	(void)state;
	for (i = 0; i < COUNT(wr); i++)
		for (j = 0; j < COUNT(sge); j++) {	/* as that of mlx5 */
			len = srq(wr[i], sge[j]);
			req.u.create_srq.max_wr = wr[i];
			req.u.create_srq.max_sge = sge[j];
			assert_true(length(mlx4, SRQ) == len);
		}
	memset(&req, 0, sizeof(req));
}

/*
 * With the longest elements, and what the HCA reads ahead (2 KiB and one more), a queue of
 * max_qp_wr fits in the pages that it may have.
 */
static void the_largest_qp_of_mlx4_fits(void **state)
{
	uint64_t pages = 1024;
	uint32_t wr = vhca_provider_entries(1u << 20, mlx4->qp_wr_len, pages);
	uint64_t sq = vhca_len_pow2(wr + (2048 >> 10) + 1), log = 0;

	(void)state;
	while (1ull << log < sq)
		log++;
	assert_in_range(wr, 1023, UINT32_MAX);
	assert_in_range(mlx4_qp(wr, 32, 512, (uint8_t)log, 10), 0, pages * 4096);
	memset(&req, 0, sizeof(req));
}

/* The driver of another CPU may have entries that are as long as its cache lines. */
static void other_entries_are_refused(void **state)
{
	struct mlx4_ib_alloc_ucontext_resp answer = { .cqe_size = 64 };
	const struct vhca_udata_op *r = row(mlx4, CTX);
	const uint8_t *at = (const uint8_t *)&answer;

	(void)state;
	assert_null(vhca_provider_differs(r, at, sizeof(answer)));
	assert_non_null(vhca_provider_differs(r, at, sizeof(answer) - 1));
	assert_non_null(vhca_provider_differs(r, NULL, 0));
	answer.cqe_size = 128;
	assert_non_null(vhca_provider_differs(r, at, sizeof(answer)));
	assert_null(vhca_provider_differs(row(mlx4_v3, CTX), NULL, 0));
	assert_null(vhca_provider_differs(NULL, NULL, 0));
}

/* ---- mmap offsets ---- */

/* What the backend would answer if the page had attribute prot here. */
static int mmap_at(const struct vhca_provider *p, uint64_t pgoff, uint8_t prot)
{
	const uint64_t size = XENVHCA_PAGE_SIZE, off = pgoff * size;
	const struct vhca_mmap *m = vhca_provider_mmap(p, off);
	int err;

	assert_null(vhca_provider_mmap(p, off + 8));	/* between pages */
	if (!m)
		return -EINVAL;
	err = vhca_provider_mmap_check(m, size);
	/* never another length */
	assert_int_equal(vhca_provider_mmap_check(m, 0), err ? err : -EINVAL);
	assert_int_equal(vhca_provider_mmap_check(m, 2 * size),
			 err ? err : -EINVAL);
	assert_int_equal(vhca_provider_mmap_check(m, size + 1),
			 err ? err : -EINVAL);
	if (!err && !vhca_provider_mmap_prot(m, prot))
		err = -EINVAL;
	return err;
}

static uint64_t mlx5_off(uint64_t cmd, uint64_t index)
{
	return cmd << 8 | (index & 0xff) | (index >> 8) << 16;
}

static void maps_doorbell_pages_only(void **state)
{
	const uint8_t nc = XENVHCA_PROT_NC, wc = XENVHCA_PROT_WC;

	(void)state;
	assert_int_equal(mmap_at(mlx5, mlx5_off(MLX5_IB_MMAP_REGULAR_PAGE, 0),
				 wc), 0);
	assert_int_equal(mmap_at(mlx5, mlx5_off(MLX5_IB_MMAP_WC_PAGE, 255),
				 wc), 0);
	assert_int_equal(mmap_at(mlx5, mlx5_off(MLX5_IB_MMAP_NC_PAGE, 3), nc),
			 0);
	assert_int_equal(mmap_at(mlx5, mlx5_off(MLX5_IB_MMAP_ALLOC_WC, 0xffff),
				 wc), 0);
	/* a processor that cannot combine writes */
	assert_int_equal(mmap_at(mlx5, 0, nc), 0);
	/* another attribute than the driver's own mapping */
	assert_int_equal(mmap_at(mlx5, 0, XENVHCA_PROT_DEV), -EINVAL);
	assert_int_equal(mmap_at(mlx5, mlx5_off(MLX5_IB_MMAP_NC_PAGE, 0), wc),
			 -EINVAL);
	assert_int_equal(mmap_at(mlx5, 0, 0), -EINVAL);
}

static void maps_one_page_of_mlx4(void **state)
{
	const uint8_t nc = XENVHCA_PROT_NC, wc = XENVHCA_PROT_WC;
	static const uint64_t none[] = { 1, 2, 4, 5, 0x100, 1u << 20, UINT64_MAX >> 12 };
	size_t i;

	(void)state;
	assert_int_equal(mmap_at(mlx4, 0, nc), 0);
	assert_int_equal(mmap_at(mlx4, 0, wc), -EINVAL);
	assert_int_equal(mmap_at(mlx4, 3, nc), -EOPNOTSUPP);	/* the clock */
	for (i = 0; i < COUNT(none); i++) {		/* 1: BlueFlame */
		assert_int_equal(mmap_at(mlx4, none[i], nc), -EINVAL);
		assert_int_equal(mmap_at(mlx4, none[i], wc), -EINVAL);
	}
	assert_ptr_equal(mlx4->mmaps, mlx4_v3->mmaps);
}

static void maps_nothing_else(void **state)
{
	static const uint64_t off[] = { 0, 1, 3, 0x100, UINT64_MAX >> 12 };
	static const uint64_t cmd[] = { 1, 4, 9, 10, 0xff, 0x10000, 1u << 30 };
	uint8_t prot;
	size_t i;

	(void)state;
	for (prot = 0; prot < 4; prot++) {
		assert_int_equal(mmap_at(mlx5, mlx5_off(MLX5_IB_MMAP_CLOCK_INFO,
							0), prot), -EOPNOTSUPP);
		assert_int_equal(mmap_at(mlx5, mlx5_off(MLX5_IB_MMAP_CORE_CLOCK,
							0), prot), -EOPNOTSUPP);
		assert_int_equal(mmap_at(mlx5, mlx5_off(MLX5_IB_MMAP_DEVICE_MEM,
							4), prot), -EOPNOTSUPP);
		for (i = 0; i < COUNT(cmd); i++)
			assert_int_equal(mmap_at(mlx5, mlx5_off(cmd[i], 0),
						 prot), -EINVAL);
		/* more index than a static page has */
		assert_int_equal(mmap_at(mlx5, mlx5_off(0, 256), prot),
				 -EINVAL);
		/* queues of Soft-RoCE are found by KEY alone */
		for (i = 0; i < COUNT(off); i++)
			assert_int_equal(mmap_at(&vhca_provider_rxe, off[i],
						 prot), -EINVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_have_the_size_of_their_structure),
		cmocka_unit_test(fields_lie_where_the_header_says),
		cmocka_unit_test(length_of_a_cq),
		cmocka_unit_test(length_of_a_qp),
		cmocka_unit_test(length_of_an_srq),
		cmocka_unit_test(mlx4_takes_whole_structures),
		cmocka_unit_test(length_of_a_cq_of_mlx4),
		cmocka_unit_test(length_of_a_qp_of_mlx4),
		cmocka_unit_test(record_of_a_qp_of_mlx4),
		cmocka_unit_test(length_of_an_srq_of_mlx4),
		cmocka_unit_test(the_largest_qp_of_mlx4_fits),
		cmocka_unit_test(other_entries_are_refused),
		cmocka_unit_test(maps_doorbell_pages_only),
		cmocka_unit_test(maps_one_page_of_mlx4),
		cmocka_unit_test(maps_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
