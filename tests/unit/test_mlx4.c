// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What a worker does for an mlx4 and for no other HCA: which ports it serves, where it
 * maps regions, and what of a queue pair has a record.
 */
#include <errno.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/mlx4-abi.h>

#include "tests/fake/guest.h"

#define VA		0x7f0012345000ull
#define PAST_2G		0x7fffffffull
#define TRANS		1u		/* of REREG_MR */
#define PD		2u
#define ACCESS		4u
#define XRC_TGT		10u
#define GROUP		512u	/* numbers of queue pairs */
#define CONTEXTS	128u	/* pages of the driver's for them */

/* A guest on an mlx4 with a port of InfiniBand. */
static int setup(void **state)
{
	struct guest *g;
	int r = guest_setup(state);

	g = *state;
	be_dev_close(&g->dev);
	fake_hca.driver_id = RDMA_DRIVER_MLX4;
	fake_hca.abi = 3;
	fake_hca.infiniband = 1;
	return r ? r : be_dev_open(&g->dev);
}

static int teardown(void **state)
{
	fake_hca.cqe_size = 0;
	fake_hca.av_port = false;
	fake_be_rxe();
	return guest_teardown(state);
}

/* It is opened once more; @why: of the refusal. */
static void opens(struct guest *g, int err, const char *why)
{
	be_dev_close(&g->dev);
	g->dev.fault = false;
	assert_int_equal(be_dev_open(&g->dev), err);
	assert_int_equal(g->dev.fault, !!err);
	if (err)
		assert_non_null(strstr(g->dev.fault_reason, why));
}

static void entries_have_one_length(void **state)
{
	struct guest *g = *state;

	assert_ptr_equal(g->dev.prov, &vhca_provider_mlx4_v3);
	fake_hca.abi = 4;
	fake_hca.cqe_size = 64;
	opens(g, 0, NULL);
	assert_ptr_equal(g->dev.prov, &vhca_provider_mlx4);
	fake_hca.cqe_size = 128;
	opens(g, -EOPNOTSUPP, "has another length of queue entries than the 64 octets");
}

static void ethernet_is_refused(void **state)
{
	fake_hca.infiniband = 0;
	opens(*state, -EOPNOTSUPP, "port 1: Ethernet ports of an mlx4 are not supported");
}

/* A datagram's work request says 1, whatever port the guest has. */
static void only_the_first_port_is_served(void **state)
{
	struct guest *g = *state;

	fake_hca.ports = 2;
	opens(g, -EOPNOTSUPP, "does not bind a datagram to that of its queue pair");
	fake_hca.av_port = true;
	opens(g, 0, NULL);
	g->dev.port = 2;
	opens(g, -EOPNOTSUPP, "port 2: guests can have port 1 of an mlx4 alone");
	g->dev.port = 3;
	opens(g, -EINVAL, "has no port 3");
	g->dev.port = 1;
	fake_hca.ports = 1;
	fake_hca.av_port = false;
	opens(g, 0, NULL);
}

static uint32_t context(struct guest *g)
{
	struct mlx4_ib_alloc_ucontext_resp_v3 answer;

	g->req.out_len = sizeof(struct mlx4_ib_alloc_ucontext_resp_v3);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_ALLOC_UCONTEXT), 0);
	assert_int_equal(g->dev.quota.uars, 1);
	g->uc = g->rsp.u.alloc_ucontext.ucontext;
	memcpy(&answer, g->rsp.udata, sizeof(answer));
	assert_int_equal(answer.qp_tab_size, fake_hca.max_qp);
	/* a guest is told of no BlueFlame, which rdma-core would map */
	assert_int_equal(answer.bf_reg_size, 0);
	assert_int_equal(answer.bf_regs_per_page, 0);
	g->req.out_len = sizeof(struct mlx4_ib_alloc_pd_resp);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_ALLOC_PD), 0);
	g->pd = g->rsp.u.handle.handle;
	return g->uc;
}

/* Its driver takes the lower 31 bits of the worker's address for those of the guest's. */
static void a_region_lies_as_in_the_guest(void **state)
{
	static const struct { uint64_t iova; uint32_t n; } at[] = {
		{ VA, 1 }, { VA, 1 }, { VA + 4096, 3 }, { 0, 2 }, { 0x7ffff000, 2 },
		{ 0x123456789000, 2500 }, { VA, 2500 },
	};
	struct guest *g = *state;
	const struct fake_obj *mr;
	unsigned int i;

	context(g);
	for (i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		guest_mr(g, 0, at[i].n);
		g->req.u.reg_mr.iova = at[i].iova;
		assert_int_equal(guest_cmd(g, XENVHCA_OP_REG_MR), 0);
		mr = fake_nth(FAKE_MR, i);
		assert_int_equal((mr->start ^ mr->iova) & PAST_2G, 0);
		assert_int_equal(mr->iova, at[i].iova);
	}
	guest_mr(g, 0, 1);
	g->req.u.reg_mr.iova = VA + 0x123;
	g->req.u.reg_mr.page_offset = 0x123;
	g->req.u.reg_mr.length = 100;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_REG_MR), 0);
	mr = fake_nth(FAKE_MR, i);
	assert_int_equal((mr->start ^ mr->iova) & PAST_2G, 0);
	guest_close(g);
}

static int rereg(struct guest *g, uint32_t mr, uint32_t flags)
{
	guest_mr(g, 10, 2);
	memmove(&g->req.u.rereg_mr.mr, &g->req.u.reg_mr, sizeof(g->req.u.reg_mr));
	if (!(flags & TRANS))
		memset(&g->req.u.rereg_mr.mr.pages, 0,
		       sizeof(g->req.u.rereg_mr.mr.pages));
	g->req.u.rereg_mr.handle = mr;
	g->req.u.rereg_mr.flags = flags;
	return guest_cmd(g, XENVHCA_OP_REREG_MR);
}

/* Its driver frees translation entries twice when it finds no others. */
static void a_region_keeps_its_memory(void **state)
{
	struct guest *g = *state;
	uint32_t mr;

	context(g);
	guest_mr(g, 0, 2);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_REG_MR), 0);
	mr = g->rsp.u.mr.handle;
	assert_int_equal(rereg(g, mr, TRANS), -EOPNOTSUPP);
	assert_int_equal(rereg(g, mr, TRANS | PD | ACCESS), -EOPNOTSUPP);
	assert_int_equal(loop_mapped(g->loop), 2);
	assert_int_equal(rereg(g, mr, PD | ACCESS), 0);
	guest_close(g);
}

/* What the worker makes of a queue pair's udata; lists of pages 10 and 20. */
static int begin(struct guest *g, bool list, bool record, struct be_udata *u,
		 struct be_bufs *bufs)
{
	struct xenvhca_pages buf = {}, db = {};
	struct be_lists lists = { { &buf, NULL }, &db };
	struct be_cmd c = {
		.dev = &g->dev, .req = &g->req, .rsp = &g->rsp,
		.uc = (struct be_uc *)be_handle_get(g->dev.handles, g->uc,
						    BE_UCONTEXT, NULL),
	};
	int err;

	if (list)
		guest_pages(g, &buf, 10, 1, 0, 0);
	if (record)
		guest_pages(g, &db, 20, 1, 0, 0);
	err = be_udata_begin(u, &c, &lists, bufs);
	be_bufs_release(&g->dev, c.uc, bufs);
	return err;
}

static void a_send_queue_has_no_record(void **state)
{
	struct mlx4_ib_create_qp in = {
		.buf_addr = VA, .db_addr = VA + 0x44, .log_sq_bb_count = 5,
		.log_sq_stride = 6,
	};
	struct guest *g = *state;
	struct be_bufs bufs = {};
	struct be_udata u;

	context(g);
	g->req.op = XENVHCA_OP_CREATE_QP;
	g->req.in_len = sizeof(in);
	memcpy(g->req.udata, &in, sizeof(in));
	g->req.u.create_qp.cap.max_recv_wr = 1;
	g->req.u.create_qp.cap.max_recv_sge = 1;
	assert_int_equal(begin(g, true, true, &u, &bufs), 0);
	memcpy(&in, u.in, sizeof(in));
	assert_int_equal(in.db_addr & 4095, 0x44);
	assert_int_equal(begin(g, true, false, &u, &bufs), -EINVAL);
	g->req.u.create_qp.srq = 1;
	assert_int_equal(begin(g, true, true, &u, &bufs), -EINVAL);
	assert_int_equal(begin(g, true, false, &u, &bufs), 0);
	memcpy(&in, u.in, sizeof(in));
	assert_int_equal(in.db_addr, 0);	/* not an address of the guest */
	assert_true(in.buf_addr);
	memset(&g->req, 0, sizeof(g->req));
	guest_close(g);
}

/* A target's udata is none; its number is @qpn. */
static int target(struct guest *g, uint32_t xrcd, uint32_t qpn)
{
	g->uc = 0;
	g->req.u.create_qp = (struct xenvhca_create_qp_req){ .qp_type = XRC_TGT, .xrcd = xrcd };
	fake_number(qpn);
	return guest_cmd(g, XENVHCA_OP_CREATE_QP);
}

/* As long as one number of a group is used, its driver keeps memory for all of them. */
static void contexts_are_charged(void **state)
{
	const uint64_t room = 3 * CONTEXTS + CONTEXTS / 2;
	struct guest *g = *state;
	uint32_t xrcd, qp[4];

	g->uc = 0;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_ALLOC_XRCD), 0);
	xrcd = g->rsp.u.handle.handle;
	g->dev.quota.max_pages = room;
	assert_int_equal(target(g, xrcd, 3 * GROUP - 1), 0);
	qp[0] = g->rsp.u.create_qp.handle;
	assert_int_equal(g->dev.quota.used_pages, CONTEXTS);
	assert_int_equal(target(g, xrcd, 2 * GROUP), 0);
	qp[1] = g->rsp.u.create_qp.handle;
	assert_int_equal(g->dev.quota.used_pages, CONTEXTS);
	assert_int_equal(target(g, xrcd, 3 * GROUP), 0);
	qp[2] = g->rsp.u.create_qp.handle;
	assert_int_equal(target(g, xrcd, 0xffffff), 0);
	qp[3] = g->rsp.u.create_qp.handle;
	assert_int_equal(g->dev.quota.used_pages, 3 * CONTEXTS);
	/* one group more is too many, and the HCA has no queue pair of it */
	assert_int_equal(target(g, xrcd, 7 * GROUP), -ENOMEM);
	assert_int_equal(fake_live(FAKE_QP), 4);
	assert_int_equal(g->dev.quota.used[BE_QP], 4);
	assert_int_equal(target(g, xrcd, 2 * GROUP + 1), 0);
	assert_int_equal(guest_handle(g, XENVHCA_OP_DESTROY_QP, g->rsp.u.create_qp.handle), 0);
	assert_int_equal(guest_handle(g, XENVHCA_OP_DESTROY_QP, qp[0]), 0);
	assert_int_equal(g->dev.quota.used_pages, 3 * CONTEXTS);
	assert_int_equal(guest_handle(g, XENVHCA_OP_DESTROY_QP, qp[1]), 0);
	assert_int_equal(g->dev.quota.used_pages, 2 * CONTEXTS);
	assert_int_equal(target(g, xrcd, 7 * GROUP), 0);
	assert_int_equal(guest_handle(g, XENVHCA_OP_DESTROY_QP, g->rsp.u.create_qp.handle), 0);
	assert_int_equal(guest_handle(g, XENVHCA_OP_DESTROY_QP, qp[2]), 0);
	assert_int_equal(guest_handle(g, XENVHCA_OP_DESTROY_QP, qp[3]), 0);
	assert_int_equal(g->dev.quota.used_pages, 0);
	assert_int_equal(guest_handle(g, XENVHCA_OP_DEALLOC_XRCD, xrcd), 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(entries_have_one_length),
		T(ethernet_is_refused),
		T(only_the_first_port_is_served),
		T(a_region_lies_as_in_the_guest),
		T(a_region_keeps_its_memory),
		T(a_send_queue_has_no_record),
		T(contexts_are_charged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
