// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The udata tables of hardware HCAs: against the kernel's own headers, and
 * what the backend makes of them. No such HCA is needed, or driven.
 */
#include <errno.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/mlx4-abi.h>
#include <rdma/mlx5-abi.h>
#include <rdma/mthca-abi.h>

#include "tests/fake/guest.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))
#define AT(type, member) \
	offsetof(struct type, member), sizeof(((struct type *)0)->member)

static const struct vhca_provider *const mlx4 = &vhca_provider_mlx4;
static const struct vhca_provider *const mlx5 = &vhca_provider_mlx5;
static const struct vhca_provider *const mthca = &vhca_provider_mthca;

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
	{ &mlx4, XENVHCA_OP_ALLOC_UCONTEXT, 0,
	  sizeof(struct mlx4_ib_alloc_ucontext_resp) },
	{ &mlx4, XENVHCA_OP_ALLOC_PD, 0, sizeof(struct mlx4_ib_alloc_pd_resp) },
	{ &mlx4, XENVHCA_OP_CREATE_CQ, sizeof(struct mlx4_ib_create_cq),
	  sizeof(struct mlx4_ib_create_cq_resp) },
	{ &mlx4, XENVHCA_OP_RESIZE_CQ, sizeof(struct mlx4_ib_resize_cq), 0 },
	{ &mlx4, XENVHCA_OP_CREATE_QP, sizeof(struct mlx4_ib_create_qp), 0 },
	{ &mlx4, XENVHCA_OP_CREATE_SRQ, sizeof(struct mlx4_ib_create_srq),
	  sizeof(struct mlx4_ib_create_srq_resp) },
	{ &mthca, XENVHCA_OP_ALLOC_UCONTEXT, 0,
	  sizeof(struct mthca_alloc_ucontext_resp) },
	{ &mthca, XENVHCA_OP_ALLOC_PD, 0, sizeof(struct mthca_alloc_pd_resp) },
	{ &mthca, XENVHCA_OP_REG_MR, sizeof(struct mthca_reg_mr), 0 },
	{ &mthca, XENVHCA_OP_CREATE_CQ, sizeof(struct mthca_create_cq),
	  sizeof(struct mthca_create_cq_resp) },
	{ &mthca, XENVHCA_OP_RESIZE_CQ, sizeof(struct mthca_resize_cq), 0 },
	{ &mthca, XENVHCA_OP_CREATE_QP, sizeof(struct mthca_create_qp), 0 },
	{ &mthca, XENVHCA_OP_CREATE_SRQ, sizeof(struct mthca_create_srq),
	  sizeof(struct mthca_create_srq_resp) },
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
	assert_int_equal(mlx4->driver_id, RDMA_DRIVER_MLX4);
	assert_int_equal(mlx5->driver_id, RDMA_DRIVER_MLX5);
	assert_int_equal(mthca->driver_id, RDMA_DRIVER_MTHCA);
	assert_int_equal(mlx4->abi_max, MLX4_IB_UVERBS_ABI_VERSION);
	assert_int_equal(mlx5->abi_max, MLX5_IB_UVERBS_ABI_VERSION);
	assert_int_equal(mthca->abi_max, MTHCA_UVERBS_ABI_VERSION);
	for (s = sizes; s < sizes + COUNT(sizes); s++) {
		assert_int_equal(row(*s->p, s->op)->in_max, s->in);
		assert_int_equal(row(*s->p, s->op)->out_max, s->out);
	}
	assert_int_equal(rows(mlx4) + rows(mlx5) + rows(mthca), COUNT(sizes));
	assert_int_equal(row(mlx5, XENVHCA_OP_CREATE_QP)->in_min,
			 offsetof(struct mlx5_ib_create_qp, ece_options));
	assert_int_equal(row(mlx5, XENVHCA_OP_ALLOC_UCONTEXT)->out_min,
			 offsetof(struct mlx5_ib_alloc_ucontext_resp,
				  num_dyn_bfregs));
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
#define SRQ	XENVHCA_OP_CREATE_SRQ

static const struct at fields[] = {
	{ &mlx5, CTX, 0, VHCA_UARS,
	  AT(mlx5_ib_alloc_ucontext_req_v2, total_num_bfregs) },
	{ &mlx5, CTX, 0, VHCA_ZERO, AT(mlx5_ib_alloc_ucontext_req_v2, flags) },
	{ &mlx5, CTX, 0, VHCA_MASK,
	  AT(mlx5_ib_alloc_ucontext_req_v2, lib_caps) },
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
	{ &mlx5, QP, 1, VHCA_DEV, AT(mlx5_ib_create_qp_resp, bfreg_index) },
	{ &mlx5, SRQ, 0, VHCA_BUF, AT(mlx5_ib_create_srq, buf_addr) },
	{ &mlx5, SRQ, 0, VHCA_DBPAGE, AT(mlx5_ib_create_srq, db_addr) },
	{ &mlx5, SRQ, 0, VHCA_COOKIE, AT(mlx5_ib_create_srq, uidx) },
	{ &mlx4, CTX, 1, VHCA_UNIT,
	  AT(mlx4_ib_alloc_ucontext_resp, cqe_size) },
	{ &mlx4, CQ, 0, VHCA_BUF, AT(mlx4_ib_create_cq, buf_addr) },
	{ &mlx4, CQ, 0, VHCA_DBPAGE, AT(mlx4_ib_create_cq, db_addr) },
	{ &mlx4, CQ2, 0, VHCA_BUF, AT(mlx4_ib_resize_cq, buf_addr) },
	{ &mlx4, QP, 0, VHCA_BUF, AT(mlx4_ib_create_qp, buf_addr) },
	{ &mlx4, QP, 0, VHCA_DBPAGE, AT(mlx4_ib_create_qp, db_addr) },
	{ &mlx4, SRQ, 0, VHCA_BUF, AT(mlx4_ib_create_srq, buf_addr) },
	{ &mlx4, SRQ, 0, VHCA_DBPAGE, AT(mlx4_ib_create_srq, db_addr) },
	{ &mthca, CQ, 0, VHCA_REF, AT(mthca_create_cq, lkey) },
	{ &mthca, CQ, 0, VHCA_DEV, AT(mthca_create_cq, pdn) },
	{ &mthca, CQ, 0, VHCA_DBPAGE, AT(mthca_create_cq, arm_db_page) },
	{ &mthca, CQ, 0, VHCA_DBPAGE, AT(mthca_create_cq, set_db_page) },
	{ &mthca, CQ2, 0, VHCA_REF, AT(mthca_resize_cq, lkey) },
	{ &mthca, QP, 0, VHCA_REF, AT(mthca_create_qp, lkey) },
	{ &mthca, QP, 0, VHCA_DBPAGE, AT(mthca_create_qp, sq_db_page) },
	{ &mthca, QP, 0, VHCA_DBPAGE, AT(mthca_create_qp, rq_db_page) },
	{ &mthca, SRQ, 0, VHCA_REF, AT(mthca_create_srq, lkey) },
	{ &mthca, SRQ, 0, VHCA_DBPAGE, AT(mthca_create_srq, db_page) },
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
static uint32_t unit;

static uint64_t length(const struct vhca_provider *p, uint8_t op)
{
	uint64_t len;

	req.in_len = row(p, op)->in_max;
	if (vhca_provider_buf_len(&row(p, op)->req[0], &req, unit, &len))
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

	unit = 0;			/* no ALLOC_UCONTEXT told it */
	req.u.create_cq.cqe = 100;
	assert_true(length(mlx4, CQ) == TOO_LONG);
	unit = 32;
	assert_int_equal(length(mlx4, CQ), 128 * 32);
	req.u.create_cq.cqe = UINT32_MAX;
	assert_true(length(mlx4, CQ) == TOO_LONG);
	memset(&req, 0, sizeof(req));
	req.u.resize_cq.cqe = 128;
	unit = 64;
	assert_int_equal(length(mlx4, CQ2), 256 * 64);
	memset(&req, 0, sizeof(req));
}

static uint64_t mlx5_qp(uint32_t rq, uint32_t shift, uint32_t sq)
{
	struct mlx5_ib_create_qp in = {
		.rq_wqe_count = rq, .rq_wqe_shift = shift, .sq_wqe_count = sq,
	};

	memcpy(req.udata, &in, sizeof(in));
	return length(mlx5, QP);
}

static void length_of_an_mlx5_qp(void **state)
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

static uint64_t mlx4_qp(uint32_t wr, uint32_t sge, uint32_t inl, uint8_t count,
			uint8_t stride)
{
	struct mlx4_ib_create_qp in = {
		.log_sq_bb_count = count, .log_sq_stride = stride,
		.inl_recv_sz = inl,
	};

	req.u.create_qp.cap.max_recv_wr = wr;
	req.u.create_qp.cap.max_recv_sge = sge;
	memcpy(req.udata, &in, sizeof(in));
	return length(mlx4, QP);
}

static void length_of_an_mlx4_qp(void **state)
{
	(void)state;
	assert_int_equal(mlx4_qp(1, 1, 0, 0, 6), 16 + 64);
	assert_int_equal(mlx4_qp(100, 3, 0, 7, 6), 128 * 64 + 128 * 64);
	assert_int_equal(mlx4_qp(100, 1, 100, 7, 6), 128 * 64 + 128 * 64);
	assert_int_equal(mlx4_qp(100, 1, 128, 7, 6), 128 * 128 + 128 * 64);
	assert_true(mlx4_qp(1, 1, 0, 0, 5) == TOO_LONG);
	assert_true(mlx4_qp(1, 1, 0, 25, 6) == TOO_LONG);
	assert_true(mlx4_qp(1, 1, 0, 31, 31) == TOO_LONG);
	assert_true(mlx4_qp(1, 1, 0, 255, 6) == TOO_LONG);
	assert_true(mlx4_qp(1, 1, 0, 0, 255) == TOO_LONG);
	assert_true(mlx4_qp(UINT32_MAX, 1, 0, 0, 6) == TOO_LONG);
	assert_true(mlx4_qp(1, UINT32_MAX, 0, 0, 6) == TOO_LONG);
	assert_true(mlx4_qp(1, 1, UINT32_MAX, 0, 6) == TOO_LONG);
	req.u.create_qp.srq = 7;	/* no receive queue of its own */
	assert_int_equal(mlx4_qp(100, 3, 0, 7, 6), 128 * 64);
	memset(&req, 0, sizeof(req));
}

static uint64_t srq(const struct vhca_provider *p, uint32_t wr, uint32_t sge)
{
	req.u.create_srq.max_wr = wr;
	req.u.create_srq.max_sge = sge;
	return length(p, SRQ);
}

static void length_of_an_srq(void **state)
{
	const struct vhca_provider *p = mlx4;

	(void)state;
	for (; p; p = p == mlx4 ? mlx5 : NULL) {
		assert_int_equal(srq(p, 0, 0), 32);
		assert_int_equal(srq(p, 1, 1), 2 * 32);
		assert_int_equal(srq(p, 127, 1), 128 * 32);
		assert_int_equal(srq(p, 128, 2), 256 * 64);
		assert_int_equal(srq(p, 255, 4), 256 * 128);
		assert_true(srq(p, UINT32_MAX, 1) == TOO_LONG);
		assert_true(srq(p, 1, UINT32_MAX) == TOO_LONG);
		assert_true(srq(p, 1u << 26, 1) == TOO_LONG);
		assert_true(srq(p, 1u << 16, 1u << 16) == TOO_LONG);
	}
	memset(&req, 0, sizeof(req));
}

static void length_in_the_udata(void **state)
{
	const struct vhca_field f = { .kind = VHCA_BUF, .len = 8, .arg = 16 };
	const struct vhca_field untold = { .kind = VHCA_BUF, .len = 8 };
	uint32_t v = 12345;
	uint64_t len;

	(void)state;
	req.in_len = 20;
	memcpy(req.udata + 16, &v, sizeof(v));
	assert_int_equal(vhca_provider_buf_len(&f, &req, 0, &len), 0);
	assert_int_equal(len, v);
	v = UINT32_MAX;
	memcpy(req.udata + 16, &v, sizeof(v));
	assert_int_equal(vhca_provider_buf_len(&f, &req, 0, &len), -EINVAL);
	req.in_len = 19;
	assert_int_equal(vhca_provider_buf_len(&f, &req, 0, &len), -EINVAL);
	assert_int_equal(vhca_provider_buf_len(&untold, &req, 0, &len), 0);
	assert_true(len == VHCA_BUF_UNTOLD);
	memset(&req, 0, sizeof(req));
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
	assert_int_equal(mmap_at(mlx4, 0, nc), 0);
	assert_int_equal(mmap_at(mlx4, 1, wc), 0);
	assert_int_equal(mmap_at(mthca, 0, nc), 0);
	/* a processor that cannot combine writes */
	assert_int_equal(mmap_at(mlx5, 0, nc), 0);
	assert_int_equal(mmap_at(mlx4, 1, nc), 0);
	/* another attribute than the driver's own mapping */
	assert_int_equal(mmap_at(mlx5, 0, XENVHCA_PROT_DEV), -EINVAL);
	assert_int_equal(mmap_at(mlx5, mlx5_off(MLX5_IB_MMAP_NC_PAGE, 0), wc),
			 -EINVAL);
	assert_int_equal(mmap_at(mlx4, 0, wc), -EINVAL);
	assert_int_equal(mmap_at(mlx4, 1, 0), -EINVAL);
	assert_int_equal(mmap_at(mthca, 0, wc), -EINVAL);
}

static void maps_nothing_else(void **state)
{
	static const uint64_t off[] = { 1, 2, 4, 5, 0x100, UINT64_MAX >> 12 };
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
		assert_int_equal(mmap_at(mlx4, 3, prot), -EOPNOTSUPP);
		for (i = 0; i < COUNT(cmd); i++)
			assert_int_equal(mmap_at(mlx5, mlx5_off(cmd[i], 0),
						 prot), -EINVAL);
		/* more index than a static page has */
		assert_int_equal(mmap_at(mlx5, mlx5_off(0, 256), prot),
				 -EINVAL);
		for (i = 0; i < COUNT(off); i++) {
			assert_int_equal(mmap_at(mthca, off[i], prot), -EINVAL);
			assert_int_equal(mmap_at(&vhca_provider_rxe, off[i],
						 prot), -EINVAL);
			if (off[i] != 1)
				assert_int_equal(mmap_at(mlx4, off[i], prot),
						 -EINVAL);
		}
	}
}

/* ---- what the backend makes of it ---- */

#define VA_BUF	0x7f0012345678ull
#define VA_DB	0x7f00deadb040ull
#define VA_PAGE	0x7f00deadb000ull

struct bench {
	struct guest *g;
	struct be_udata u;
	struct be_bufs bufs;
	struct be_cmd c;
	struct xenvhca_pages buf, db;
};

static struct bench bench(struct guest *g, const struct vhca_provider *p,
			  uint16_t op, const void *in, size_t len)
{
	struct bench b = { .g = g };

	g->dev.prov = p;
	memset(&g->req, 0, sizeof(g->req));
	g->req.op = op;
	if (len)
		memcpy(g->req.udata, in, len);
	g->req.in_len = (uint16_t)len;
	g->req.out_len = row(p, (uint8_t)op)->out_max;
	b.c = (struct be_cmd){
		.dev = &g->dev, .req = &g->req, .rsp = &g->rsp,
		.uc = (struct be_uc *)be_handle_get(g->dev.handles, g->uc,
						    BE_UCONTEXT, NULL),
	};
	return b;
}

static int begin(struct bench *b)
{
	struct be_lists lists = { { &b->buf, NULL }, &b->db };

	return be_udata_begin(&b->u, &b->c, &lists, &b->bufs);
}

static void end(struct bench *b)
{
	be_bufs_release(&b->g->dev, b->c.uc, &b->bufs);
	assert_int_equal(loop_mapped(b->g->loop), 0);
}

static int setup(void **state)
{
	struct guest *g;
	int r = guest_setup(state);

	g = *state;
	g->uc = guest_alloc_uc(g);
	return r;
}

static void masks_both_ways(void **state)
{
	struct mlx5_ib_alloc_ucontext_req_v2 in;
	struct mlx5_ib_alloc_ucontext_resp out;
	struct bench b;

	memset(&in, 0xff, sizeof(in));
	in.flags = 0;
	b = bench(*state, mlx5, CTX, &in, sizeof(in));
	assert_int_equal(be_udata_begin(&b.u, &b.c, NULL, NULL), 0);
	memcpy(&in, b.u.in, sizeof(in));
	assert_int_equal(in.total_num_bfregs, UINT32_MAX);
	assert_int_equal(in.flags, 0);
	assert_int_equal(in.comp_mask, UINT32_MAX);	/* the driver refuses */
	assert_int_equal(in.max_cqe_version, 0xff);
	assert_true(in.lib_caps == MLX5_LIB_CAP_4K_UAR);
	memset(b.u.out, 0xff, sizeof(b.u.out));
	assert_int_equal(be_udata_end(&b.u, &b.c, 1), 0);
	memcpy(&out, b.g->rsp.udata, sizeof(out));
	assert_int_equal(b.g->rsp.out_len, sizeof(out));
	assert_int_equal(out.comp_mask, 0x2e);
	assert_int_equal(out.cmds_supp_uhw,
			 MLX5_USER_CMDS_SUPP_UHW_CREATE_AH);
	assert_int_equal(out.response_length, UINT32_MAX);
	assert_int_equal(out.eth_min_inline, 0xff);
	assert_int_equal(out.dump_fill_mkey, UINT32_MAX);
}

/* What rdma-core asks for first, and then without: EINVAL, as without DEVX. */
static void refuses_devx(void **state)
{
	struct mlx5_ib_alloc_ucontext_req_v2 in = {
		.total_num_bfregs = 16, .flags = MLX5_IB_ALLOC_UCTX_DEVX,
	};
	struct bench b = bench(*state, mlx5, CTX, &in, sizeof(in));

	assert_int_equal(vhca_provider_check_zero(row(mlx5, CTX),
						  &b.g->req), -EINVAL);
	assert_int_equal(be_udata_begin(&b.u, &b.c, NULL, NULL), -EINVAL);
	in.flags = 0;
	b = bench(*state, mlx5, CTX, &in, sizeof(in));
	assert_int_equal(vhca_provider_check_zero(row(mlx5, CTX),
						  &b.g->req), 0);
	assert_int_equal(be_udata_begin(&b.u, &b.c, NULL, NULL), 0);
}

static void refuses_bits_of_other_objects(void **state)
{
	struct mlx5_ib_create_cq cq = { .cqe_size = 64, .flags =
		MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX };
	struct mlx5_ib_create_qp qp = {};
	static const uint32_t flags[] = {
		MLX5_QP_FLAG_TYPE_DCT, MLX5_QP_FLAG_TYPE_DCI,
		MLX5_QP_FLAG_UAR_PAGE_INDEX, MLX5_QP_FLAG_TUNNEL_OFFLOADS,
		1u << 31,
	};
	struct bench b;
	size_t i;

	b = bench(*state, mlx5, CQ, &cq, sizeof(cq));
	guest_pages(*state, &b.buf, 10, 1, 0, 0);
	guest_pages(*state, &b.db, 20, 1, 0, 0);
	assert_int_equal(begin(&b), -EINVAL);
	end(&b);
	for (i = 0; i < COUNT(flags); i++) {
		qp.flags = flags[i];
		b = bench(*state, mlx5, QP, &qp, sizeof(qp));
		guest_pages(*state, &b.db, 20, 1, 0, 0);
		assert_int_equal(begin(&b), -EINVAL);
		end(&b);
	}
}

/* 4096 + 2048 octets of queues, from 0x678 on: two pages, no more, no less */
static void a_list_is_as_long_as_the_queue(void **state)
{
	struct mlx5_ib_create_qp in = {
		.buf_addr = VA_BUF, .db_addr = VA_DB, .sq_wqe_count = 64,
		.rq_wqe_count = 128, .rq_wqe_shift = 4,
		.flags = MLX5_QP_FLAG_SCATTER_CQE | MLX5_QP_FLAG_BFREG_INDEX,
		.sq_buf_addr = VA_BUF,
	};
	struct guest *g = *state;
	struct bench b;
	uint32_t n;

	for (n = 0; n < 5; n++) {
		b = bench(g, mlx5, QP, &in, sizeof(in));
		if (n)
			guest_pages(g, &b.buf, 10, n, 0, 0);
		guest_pages(g, &b.db, 20, 1, 0, 0);
		assert_int_equal(begin(&b), n == 2 ? 0 : -EINVAL);
		if (n == 2) {
			memcpy(&in, b.u.in, sizeof(in));
			assert_int_equal(in.buf_addr,
					 (uintptr_t)b.bufs.buf[0].addr + 0x678);
			assert_int_equal(in.db_addr & 4095, VA_DB & 4095);
			assert_int_equal(in.sq_buf_addr, 0);
			in.buf_addr = VA_BUF;
		}
		end(&b);
	}
}

static void a_qp_without_queues_has_no_list(void **state)
{
	struct mlx5_ib_create_qp in = { .buf_addr = VA_BUF, .db_addr = VA_DB };
	struct guest *g = *state;
	struct bench b = bench(g, mlx5, QP, &in, sizeof(in));

	guest_pages(g, &b.db, 20, 1, 0, 0);
	assert_int_equal(begin(&b), 0);
	memcpy(&in, b.u.in, sizeof(in));
	assert_int_equal(in.buf_addr, 0);	/* not an address of the guest */
	end(&b);
	b = bench(g, mlx5, QP, &in, sizeof(in));
	guest_pages(g, &b.buf, 10, 1, 0, 0);
	guest_pages(g, &b.db, 20, 1, 0, 0);
	assert_int_equal(begin(&b), -EINVAL);
	end(&b);
}

static int record_at(struct guest *g, const struct vhca_provider *p,
		     uint32_t offset)
{
	struct mlx5_ib_create_qp five = { .db_addr = VA_PAGE + offset };
	struct mlx4_ib_create_qp four = { .db_addr = VA_PAGE + offset,
					  .log_sq_stride = 6 };
	struct bench b = p == mlx5 ? bench(g, p, QP, &five, sizeof(five)) :
				     bench(g, p, QP, &four, sizeof(four));
	int err;

	guest_pages(g, &b.db, 20, 1, 0, 0);
	if (p != mlx5)		/* 1 octet of queue at least */
		guest_pages(g, &b.buf, 10, 1, 0, 0);
	err = begin(&b);
	end(&b);
	return err;
}

/* Drivers add its place in the page unchecked. */
static void a_doorbell_record_lies_in_one_page(void **state)
{
	static const struct { uint32_t offset; int five, four; } at[] = {
		{ 0x000, 0, 0 }, { 0xff8, 0, 0 }, { 0xffc, -EINVAL, 0 },
		{ 0x004, -EINVAL, 0 }, { 0xfff, -EINVAL, -EINVAL },
		{ 0xffd, -EINVAL, -EINVAL }, { 0x002, -EINVAL, -EINVAL },
	};
	size_t i;

	for (i = 0; i < COUNT(at); i++) {
		assert_int_equal(record_at(*state, mlx5, at[i].offset),
				 at[i].five);
		assert_int_equal(record_at(*state, mlx4, at[i].offset),
				 at[i].four);
	}
}

static void keeps_the_size_of_a_completion(void **state)
{
	static const uint32_t bad[] = { 0, 48, 128, UINT32_MAX };
	struct mlx4_ib_alloc_ucontext_resp out = { .cqe_size = 32 };
	struct mlx4_ib_create_cq in = { .buf_addr = VA_BUF & ~4095ull,
					.db_addr = VA_DB };
	struct guest *g = *state;
	struct bench b = bench(g, mlx4, CTX, NULL, 0);
	size_t i;

	assert_int_equal(be_udata_begin(&b.u, &b.c, NULL, NULL), 0);
	memcpy(b.u.out, &out, sizeof(out));
	assert_int_equal(be_udata_end(&b.u, &b.c, 1), 0);
	assert_int_equal(b.c.uc->unit, 32);
	for (i = 0; i < COUNT(bad); i++) {
		out.cqe_size = bad[i];
		memcpy(b.u.out, &out, sizeof(out));
		assert_int_equal(be_udata_end(&b.u, &b.c, 1), -EINVAL);
		assert_int_equal(b.c.uc->unit, 32);
	}
	b = bench(g, mlx4, CQ, &in, sizeof(in));
	g->req.u.create_cq.cqe = 255;	/* 256 of 32 octets: 2 pages */
	guest_pages(g, &b.buf, 10, 2, 0, 0);
	guest_pages(g, &b.db, 20, 1, 0, 0);
	assert_int_equal(begin(&b), 0);
	end(&b);
	b = bench(g, mlx4, CQ, &in, sizeof(in));
	g->req.u.create_cq.cqe = 256;
	guest_pages(g, &b.buf, 10, 2, 0, 0);
	guest_pages(g, &b.db, 20, 1, 0, 0);
	assert_int_equal(begin(&b), -EINVAL);
	end(&b);
}

static void doorbell_records_may_be_absent(void **state)
{
	struct mthca_create_cq cq = { .lkey = 5 };
	struct mthca_create_srq s = { .db_page = VA_DB & ~4095ull };
	struct guest *g = *state;
	struct bench b = bench(g, mthca, CQ, &cq, sizeof(cq));

	assert_int_equal(begin(&b), 0);
	end(&b);
	b = bench(g, mthca, CQ, &cq, sizeof(cq));
	guest_pages(g, &b.db, 20, 1, 0, 0);	/* a list for nothing */
	assert_int_equal(begin(&b), -EINVAL);
	end(&b);
	cq.set_db_page = VA_DB & ~4095ull;
	b = bench(g, mthca, CQ, &cq, sizeof(cq));
	assert_int_equal(begin(&b), -EINVAL);	/* a page without a list */
	end(&b);
	b = bench(g, mthca, CQ, &cq, sizeof(cq));
	guest_pages(g, &b.db, 20, 1, 0, 0);
	assert_int_equal(begin(&b), 0);
	end(&b);
	cq.arm_db_page = cq.set_db_page + 4096;	/* requests carry one */
	b = bench(g, mthca, CQ, &cq, sizeof(cq));
	guest_pages(g, &b.db, 20, 1, 0, 0);
	assert_int_equal(begin(&b), -EINVAL);
	end(&b);
	b = bench(g, mthca, SRQ, &s, sizeof(s));
	guest_pages(g, &b.db, 20, 1, 0, 0);
	assert_int_equal(begin(&b), 0);
	end(&b);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, guest_teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_have_the_size_of_their_structure),
		cmocka_unit_test(fields_lie_where_the_header_says),
		cmocka_unit_test(length_of_a_cq),
		cmocka_unit_test(length_of_an_mlx5_qp),
		cmocka_unit_test(length_of_an_mlx4_qp),
		cmocka_unit_test(length_of_an_srq),
		cmocka_unit_test(length_in_the_udata),
		cmocka_unit_test(maps_doorbell_pages_only),
		cmocka_unit_test(maps_nothing_else),
		T(masks_both_ways),
		T(refuses_devx),
		T(refuses_bits_of_other_objects),
		T(a_list_is_as_long_as_the_queue),
		T(a_qp_without_queues_has_no_list),
		T(a_doorbell_record_lies_in_one_page),
		T(keeps_the_size_of_a_completion),
		T(doorbell_records_may_be_absent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
