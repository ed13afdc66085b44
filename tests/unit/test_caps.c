// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What a ConnectX can and a guest cannot use is answered as by an HCA or a
 * driver without it. The clock: a guest cannot read it, so its processes are
 * told of none; that completions carry its ticks is the HCA's doing and stays.
 */
#include <errno.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>

#include "tests/fake/guest.h"

#define REGULAR(i)	((uint64_t)(i) << 12)
#define ALLOCATED(i)	(0x600000ull + REGULAR(i))
#define GFN		0x100000ull

static int create_cq(struct guest *g, uint32_t flags, uint16_t private)
{
	struct mlx5_ib_create_cq in = { .cqe_size = 64, .flags = private };
	struct xenvhca_create_cq_req *r = &g->req.u.create_cq;

	in.buf_addr = guest_queue(g, &r->buf, 16 * in.cqe_size);
	in.db_addr = guest_queue(g, &r->db, 8);
	r->cqe = 15;
	r->flags = flags;
	g->req.in_len = sizeof(in);
	g->req.out_len = sizeof(struct mlx5_ib_create_cq_resp);
	memcpy(g->req.udata, &in, sizeof(in));
	return guest_cmd(g, XENVHCA_OP_CREATE_CQ);
}

/* The fake HCA has a clock of each kind, and what rdma-core uses by DEVX. */
static void a_context_is_told_of_no_clock(void **state)
{
	struct mlx5_ib_alloc_ucontext_resp out = {};
	struct guest *g = *state;

	g->uc = guest_alloc_uc(g);
	memcpy(&out, g->rsp.udata, FAKE_MLX5_OUT);
	assert_int_equal(g->rsp.out_len, FAKE_MLX5_OUT);
	assert_int_equal(out.comp_mask,
			 MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_DUMP_FILL_MKEY |
			 MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_ECE);
	assert_int_equal(out.hca_core_clock_offset, 0);
	assert_int_equal(out.clock_info_versions, 0);
}

static void a_cq_of_real_time_is_unknown(void **state)
{
	struct guest *g = *state;
	unsigned int bit;

	g->uc = guest_alloc_uc(g);
	assert_int_equal(create_cq(g, 0, MLX5_IB_CREATE_CQ_FLAGS_CQE_128B_PAD),
			 0);
	assert_int_equal(create_cq(g, 0, MLX5_IB_CREATE_CQ_FLAGS_REAL_TIME_TS),
			 -EINVAL);
	for (bit = 3; bit < 16; bit++)
		assert_int_equal(create_cq(g, 0, (uint16_t)(1u << bit)),
				 -EINVAL);
	assert_int_equal(fake_live(FAKE_CQ), 1);
}

static void completions_carry_ticks(void **state)
{
	struct guest *g = *state;
	uint32_t uc = guest_alloc_uc(g);

	assert_int_equal(guest_cmd(g, XENVHCA_OP_QUERY_DEVICE), 0);
	assert_true(g->rsp.u.query_device.timestamp_mask == FAKE_MLX5_TICKS);
	assert_true(g->rsp.u.query_device.hca_core_clock == FAKE_MLX5_KHZ);
	g->uc = uc;
	assert_int_equal(create_cq(g, IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION,
				   0), 0);
	assert_int_equal(fake_nth(FAKE_CQ, 0)->cq_flags,
			 IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION);
	assert_int_equal(create_cq(g, 1u << 31, 0), -EOPNOTSUPP);
}

/* The driver's EPERM is the machine's fault: other pages would be the same. */
static void no_page_combines_writes_here(void **state)
{
	struct guest *g = *state;

	g->uc = guest_alloc_uc(g);
	fake_fail_mmap(EPERM);		/* the first one: there is time for */
	assert_int_equal(guest_doorbell(g, ALLOCATED(0), GFN), -EOPNOTSUPP);
	assert_int_equal(fake_contexts(), 2);		/* another context */
	assert_int_equal(guest_doorbell(g, REGULAR(0), GFN), 0);
	fake_fail_mmap(EPERM);
	assert_int_equal(guest_doorbell(g, ALLOCATED(0), GFN + 1),
			 -EOPNOTSUPP);
	assert_int_equal(g->dev.quota.uars, fake_uars());
	guest_close(g);
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_SPOILT], 0);
	assert_int_equal(fake_contexts(), 2);
}

static int create_cq_of(struct guest *g, uint32_t cqe)
{
	struct mlx5_ib_create_cq u = { .buf_addr = 1ull << 32, .cqe_size = 128 };
	struct xenvhca_create_cq_req *r = &g->req.u.create_cq;

	r->cqe = cqe;
	guest_pages(g, &r->buf, 1000, (cqe + 1) * 128 / 4096, 1, 3000);
	u.db_addr = guest_queue(g, &r->db, 8);
	memcpy(g->req.udata, &u, sizeof(u));
	g->req.in_len = sizeof(u);
	g->req.out_len = 8;
	return guest_cmd(g, XENVHCA_OP_CREATE_CQ);
}

static void limits_of_an_hca_are_what_may_be_pinned(void **state)
{
	const struct xenvhca_query_device_rsp *r;
	struct guest *g = *state;

	r = &g->rsp.u.query_device;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_QUERY_DEVICE), 0);
	assert_int_equal(r->max_cqe, 524287);		/* of 128 MiB */
	assert_int_equal(r->max_qp_wr, 65536);
	g->dev.info.max_pages = 1000;
	g->dev.quota.max_pages = 1000;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_QUERY_DEVICE), 0);
	assert_int_equal(r->max_cqe, 16383);
	assert_int_equal(r->max_qp_wr, 4095);
	g->uc = guest_alloc_uc(g);
	assert_int_equal(create_cq_of(g, 32767), -ENOMEM);
	assert_int_equal(create_cq_of(g, 16383), 0);
	assert_int_equal(fake_live(FAKE_CQ), 1);
}

static int create_qp_of(struct guest *g, uint32_t wr)
{
	g->req.u.create_qp = (struct xenvhca_create_qp_req){
		.pd = g->pd, .send_cq = g->cq, .recv_cq = g->cq, .qp_type = 2,
		.cap = { .max_send_wr = wr, .max_recv_wr = wr,
			 .max_send_sge = 32, .max_recv_sge = 32,
			 .max_inline_data = 512 },
	};
	g->req.out_len = 32;
	return guest_cmd(g, XENVHCA_OP_CREATE_QP);
}

/* The driver would allocate them first: gigabytes, by its own limits. */
static void limits_of_soft_roce_are_what_its_queues_may_take(void **state)
{
	const struct xenvhca_query_device_rsp *r;
	struct guest *g = *state;

	r = &g->rsp.u.query_device;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_QUERY_DEVICE), 0);
	assert_int_equal(r->max_cqe, 32767);
	assert_int_equal(r->max_qp_wr, 16383);	/* of the helper's 64 MiB */
	assert_int_equal(r->max_mcast_grp, 0);
	g->dev.quota.max_pages = 1000;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_QUERY_DEVICE), 0);
	assert_int_equal(r->max_cqe, 8191);
	assert_int_equal(r->max_qp_wr, 511);
	guest_open(g);
	assert_int_equal(create_qp_of(g, 1023), -ENOMEM);
	assert_int_equal(create_qp_of(g, UINT32_MAX), -EINVAL);
	assert_int_equal(fake_live(FAKE_QP), 1);
	assert_int_equal(create_qp_of(g, 511), 0);
	g->req.out_len = 16;
	g->req.u.create_cq.cqe = 32767;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_CQ), -ENOMEM);
	assert_int_equal(fake_live(FAKE_CQ), 1);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, guest_setup_mlx5, guest_teardown)
	const struct CMUnitTest tests[] = {
		T(a_context_is_told_of_no_clock),
		T(a_cq_of_real_time_is_unknown),
		T(completions_carry_ticks),
		T(no_page_combines_writes_here),
		T(limits_of_an_hca_are_what_may_be_pinned),
		cmocka_unit_test_setup_teardown(limits_of_soft_roce_are_what_its_queues_may_take,
						guest_setup, guest_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
