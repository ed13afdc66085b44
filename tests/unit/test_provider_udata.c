// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What the backend makes of the tables of hardware HCAs: the udata of a guest on
 * its way to a driver. No such HCA is needed, or driven.
 */
#include <errno.h>
#include <rdma/mlx5-abi.h>

#include "tests/fake/guest.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))
#define CTX	XENVHCA_OP_ALLOC_UCONTEXT
#define CQ	XENVHCA_OP_CREATE_CQ
#define QP	XENVHCA_OP_CREATE_QP
#define QP2	XENVHCA_OP_MODIFY_QP
#define SRQ	XENVHCA_OP_CREATE_SRQ

static const struct vhca_provider *const mlx5 = &vhca_provider_mlx5;
static const struct vhca_provider *const rxe = &vhca_provider_rxe;

static const struct vhca_udata_op *row(const struct vhca_provider *p,
				       uint8_t op)
{
	const struct vhca_udata_op *r = vhca_provider_op(p, op);

	assert_non_null(r);
	return r;
}

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

	be_dev_provider(&g->dev, p);
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
	assert_int_equal(out.comp_mask, 0x6);
	assert_int_equal(out.cmds_supp_uhw,
			 MLX5_USER_CMDS_SUPP_UHW_CREATE_AH);
	assert_int_equal(out.response_length, UINT32_MAX);
	assert_int_equal(out.flow_action_flags, 0);
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

static int checked(struct guest *g, uint16_t op, const void *in, size_t len)
{
	struct bench b = bench(g, mlx5, op, in, len);

	return vhca_provider_check_zero(row(mlx5, (uint8_t)op), &b.g->req);
}

/* Capabilities that no guest sees: a process that asks for them all the same gets EINVAL. */
static void refuses_what_is_not_shown(void **state)
{
	struct mlx5_ib_create_cq cq = { .cqe_size = 64 };
	struct mlx5_ib_create_srq srq = { .flags = MLX5_SRQ_FLAG_SIGNATURE };
	struct mlx5_ib_modify_qp qp = {
		.burst_info = { .max_burst_sz = 1500 }, .ece_options = 1,
	};

	assert_int_equal(checked(*state, CQ, &cq, sizeof(cq)), 0);
	cq.cqe_comp_en = 1;
	assert_int_equal(checked(*state, CQ, &cq, sizeof(cq)), -EINVAL);
	assert_int_equal(checked(*state, SRQ, &srq, sizeof(srq)), 0);
	srq.flags = MLX5_SRQ_FLAG_SIGNATURE << 1;
	assert_int_equal(checked(*state, SRQ, &srq, sizeof(srq)), -EINVAL);
	/* The driver and the HCA judge it. */
	assert_int_equal(checked(*state, QP2, &qp, sizeof(qp)), 0);
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

/* 4096 octets of queue are a page, one element more is twice as much */
static void a_list_grows_with_the_attributes(void **state)
{
	struct mlx5_ib_create_cq cq = {
		.buf_addr = VA_PAGE, .db_addr = VA_DB, .cqe_size = 64,
	};
	struct mlx5_ib_create_srq srq = {
		.buf_addr = VA_PAGE, .db_addr = VA_DB,
	};
	struct guest *g = *state;
	struct bench b;
	uint32_t n;

	for (n = 0; n < 2; n++) {
		b = bench(g, mlx5, CQ, &cq, sizeof(cq));
		g->req.u.create_cq.cqe = 63 + n;
		guest_pages(g, &b.buf, 10, 1, 0, 0);
		guest_pages(g, &b.db, 20, 1, 0, 0);
		assert_int_equal(begin(&b), n ? -EINVAL : 0);
		end(&b);
		b = bench(g, mlx5, SRQ, &srq, sizeof(srq));
		g->req.u.create_srq.max_sge = 1;
		g->req.u.create_srq.max_wr = 127 + n;
		guest_pages(g, &b.buf, 10, 1, 0, 0);
		guest_pages(g, &b.db, 20, 1, 0, 0);
		assert_int_equal(begin(&b), n ? -EINVAL : 0);
		end(&b);
	}
}

/* Drivers add its place in the page unchecked. */
static void a_doorbell_record_lies_in_one_page(void **state)
{
	static const struct { uint32_t offset; int err; } at[] = {
		{ 0x000, 0 }, { 0xff8, 0 }, { 0xffc, -EINVAL },
		{ 0x004, -EINVAL }, { 0xfff, -EINVAL }, { 0xffd, -EINVAL },
		{ 0x002, -EINVAL },
	};
	struct mlx5_ib_create_qp in = {};
	struct bench b;
	size_t i;

	for (i = 0; i < COUNT(at); i++) {
		in.db_addr = VA_PAGE + at[i].offset;
		b = bench(*state, mlx5, QP, &in, sizeof(in));
		guest_pages(*state, &b.db, 20, 1, 0, 0);
		assert_int_equal(begin(&b), at[i].err);
		end(&b);
	}
}

static void a_record_and_a_list_belong_together(void **state)
{
	struct mlx5_ib_create_qp in = { .db_addr = VA_DB };
	struct guest *g = *state;
	struct bench b = bench(g, mlx5, QP, &in, sizeof(in));

	assert_int_equal(begin(&b), -EINVAL);	/* a record without a list */
	end(&b);
	in.db_addr = 0;			/* an address as any other */
	b = bench(g, mlx5, QP, &in, sizeof(in));
	assert_int_equal(begin(&b), -EINVAL);
	end(&b);
	b = bench(g, rxe, CQ, NULL, 0);
	assert_int_equal(begin(&b), 0);
	end(&b);
	b = bench(g, rxe, CQ, NULL, 0);
	guest_pages(g, &b.db, 20, 1, 0, 0);	/* lists for nothing */
	assert_int_equal(begin(&b), -EINVAL);
	end(&b);
	b = bench(g, rxe, CQ, NULL, 0);
	guest_pages(g, &b.buf, 10, 1, 0, 0);
	assert_int_equal(begin(&b), -EINVAL);
	end(&b);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, guest_teardown)
	const struct CMUnitTest tests[] = {
		T(masks_both_ways),
		T(refuses_devx),
		T(refuses_bits_of_other_objects),
		T(refuses_what_is_not_shown),
		T(a_list_is_as_long_as_the_queue),
		T(a_qp_without_queues_has_no_list),
		T(a_list_grows_with_the_attributes),
		T(a_doorbell_record_lies_in_one_page),
		T(a_record_and_a_list_belong_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
