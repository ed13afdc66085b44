// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Memory windows: bound by a work request, used by the peer, taken back by
 * either end.
 */
#include <stdlib.h>

#include "pair.h"

#define AT	8192u		/* of the window in b's region */
#define LEN	4096u

/* Binds, or unbinds with len 0; the new key is the window's from then on. */
static void bind_window(struct pair *p, uint32_t *mw, bool type2,
			uint32_t len, int access)
{
	struct drv_wr wr = { .opcode = MLX5_OPCODE_UMR,
			     .flags = DRV_SIGNALED };
	uint32_t new_key = *mw;

	if (len || !type2)
		new_key = (*mw & ~0xffU) | ((*mw + 1) & 0xff);
	wr.bind.type2 = type2;
	wr.bind.mw = *mw;
	wr.bind.new_key = new_key;
	wr.bind.addr = p->b.mr.va + AT;
	wr.bind.len = len;
	wr.bind.lkey = p->b.mr.key;
	wr.bind.access = access;
	drv_post(&p->b.qp, &wr);
	*mw = new_key;
}

static void bound(struct pair *p, uint32_t *mw, bool type2, int access)
{
	struct drv_wc wc;

	ok(drv_mw(&p->b.drv, mw, type2));
	bind_window(p, mw, type2, LEN, access);
	wc = get_wc(&p->b, &p->b.scq, MLX5_CQE_REQ);
	assert_int_equal(be32toh(wc.cqe.sop_drop_qpn) >> 24, MLX5_OPCODE_UMR);
}

static void write_at(struct pair *p, uint32_t key, uint32_t off, uint32_t len)
{
	drv_rdma(&p->a.qp, MLX5_OPCODE_RDMA_WRITE, &p->a.mr, 0, len,
		 p->b.mr.va + AT + off, key);
}

static void refused(struct pair *p, uint32_t key, uint32_t off, uint32_t len)
{
	write_at(p, key, off, len);
	get_err(&p->a, &p->a.scq, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR);
}

static void used_within_bounds(void **state, bool type2)
{
	struct pair *p = *state;
	uint32_t mw;

	bound(p, &mw, type2, DRV_RW | DRV_RR);
	fill(p->a.mem, LEN, 5);
	write_at(p, mw, 0, LEN);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	assert_true(filled(p->b.mem + AT, LEN, 5));
	drv_rdma(&p->a.qp, MLX5_OPCODE_RDMA_READ, &p->a.mr, LEN, LEN,
		 p->b.mr.va + AT, mw);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	assert_true(filled(p->a.mem + LEN, LEN, 5));
	refused(p, mw, 1, LEN);
	ok(drv_mkey_destroy(&p->b.drv, mw));
}

static void type_1(void **state)
{
	used_within_bounds(state, false);
}

static void type_2(void **state)
{
	used_within_bounds(state, true);
}

static void zero_based(void **state)
{
	struct pair *p = *state;
	uint32_t mw;

	bound(p, &mw, true, DRV_RW | DRV_ZERO_BASED);
	fill(p->a.mem, 100, 5);
	drv_rdma(&p->a.qp, MLX5_OPCODE_RDMA_WRITE, &p->a.mr, 0, 100, 7, mw);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	assert_true(filled(p->b.mem + AT + 7, 100, 5));
	ok(drv_mkey_destroy(&p->b.drv, mw));
}

static void not_bound_yet(void **state)
{
	struct pair *p = *state;
	uint32_t mw;

	ok(drv_mw(&p->b.drv, &mw, true));
	refused(p, mw, 0, 1);
	ok(drv_mkey_destroy(&p->b.drv, mw));
}

static void for_reading_only(void **state)
{
	struct pair *p = *state;
	uint32_t mw;

	bound(p, &mw, true, DRV_RR);
	refused(p, mw, 0, 1);
	ok(drv_mkey_destroy(&p->b.drv, mw));
}

static void the_old_key(void **state)
{
	struct pair *p = *state;
	uint32_t mw, old;

	bound(p, &mw, false, DRV_RW);
	old = mw;
	bind_window(p, &mw, false, LEN, DRV_RW);
	get_wc(&p->b, &p->b.scq, MLX5_CQE_REQ);
	write_at(p, mw, 0, LEN);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	refused(p, old, 0, 1);
	ok(drv_mkey_destroy(&p->b.drv, mw));
}

/* A bind of length 0 ends a window of type 1. */
static void unbound(void **state)
{
	struct pair *p = *state;
	uint32_t mw;

	bound(p, &mw, false, DRV_RW);
	bind_window(p, &mw, false, 0, 0);
	get_wc(&p->b, &p->b.scq, MLX5_CQE_REQ);
	refused(p, mw, 0, 1);
	ok(drv_mkey_destroy(&p->b.drv, mw));
}

/* IBV_WR_LOCAL_INV: for the provider a UMR too. */
static void invalidated_by_its_owner(void **state)
{
	struct pair *p = *state;
	uint32_t mw;

	bound(p, &mw, true, DRV_RW);
	bind_window(p, &mw, true, 0, 0);
	get_wc(&p->b, &p->b.scq, MLX5_CQE_REQ);
	refused(p, mw, 0, 1);
	ok(drv_mkey_destroy(&p->b.drv, mw));
}

static void invalidated_by_the_peer(void **state)
{
	struct pair *p = *state;
	struct drv_wr wr = { .opcode = MLX5_OPCODE_SEND_INVAL,
			     .flags = DRV_SIGNALED };
	uint32_t mw;

	bound(p, &mw, true, DRV_RW);
	drv_recv(&p->b.qp, &p->b.mr, 0, 64);
	wr.imm = mw;
	drv_post(&p->a.qp, &wr);
	assert_int_equal(get_wc(&p->b, &p->b.rcq,
				MLX5_CQE_RESP_SEND_INV).imm, mw);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	refused(p, mw, 0, 1);
	ok(drv_mkey_destroy(&p->b.drv, mw));
}

/* Only windows of type 2 can be invalidated so: not the region. */
static void a_region_is_not_invalidated(void **state)
{
	struct pair *p = *state;
	struct drv_wr wr = { .opcode = MLX5_OPCODE_SEND_INVAL,
			     .flags = DRV_SIGNALED };

	drv_recv(&p->b.qp, &p->b.mr, 0, 64);
	wr.imm = p->b.mr.key;
	drv_post(&p->a.qp, &wr);
	rig_run(p->rig);
	assert_int_equal(drv_qp_state(&p->b.qp), DRV_ERR);
}

static void bound_twice(void **state)
{
	struct pair *p = *state;
	uint32_t mw, first;

	bound(p, &mw, true, DRV_RW);
	first = mw;
	bind_window(p, &mw, true, LEN, DRV_RW);
	get_err(&p->b, &p->b.scq, MLX5_CQE_SYNDROME_MW_BIND_ERR);
	assert_int_equal(drv_qp_state(&p->b.qp), DRV_ERR);
	ok(drv_mkey_destroy(&p->b.drv, first));
}

/* A window of type 2 serves the QP that bound it. */
static void of_another_queue_pair(void **state)
{
	struct pair *p = *state;
	struct drv_path path = pair_path();
	struct drv_qp a, b;
	struct drv_qp_init init = { .type = DRV_RC, .scq = &p->a.scq,
				    .rcq = &p->a.rcq };
	uint32_t mw;

	bound(p, &mw, true, DRV_RW);
	ok(drv_qp(&p->a.drv, &a, &init));
	init.scq = &p->b.scq;
	init.rcq = &p->b.rcq;
	ok(drv_qp(&p->b.drv, &b, &init));
	ok(drv_connect(&a, 1, &b, 2, &path));
	drv_rdma(&a, MLX5_OPCODE_RDMA_WRITE, &p->a.mr, 0, 1, p->b.mr.va + AT,
		 mw);
	get_err(&p->a, &p->a.scq, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR);
	write_at(p, mw, 0, 1);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	ok(drv_qp_destroy(&a));
	ok(drv_qp_destroy(&b));
	ok(drv_mkey_destroy(&p->b.drv, mw));
}

/* A window wider than its region: nothing beyond the region is reached. */
static void wider_than_the_region(void **state)
{
	struct pair *p = *state;
	struct drv_wc wc;
	uint32_t mw;

	ok(drv_mw(&p->b.drv, &mw, true));
	bind_window(p, &mw, true, PAIR_MR, DRV_RW);
	assert_true(drv_wait(&p->b.scq, &wc, &p->b.drv));
	if (wc.opcode == MLX5_CQE_REQ)
		refused(p, mw, PAIR_MR - AT - 1, 2);
	ok(drv_mkey_destroy(&p->b.drv, mw));
}

/* The region goes first: the window reaches nothing, and is no danger. */
static void region_is_gone(void **state)
{
	struct pair *p = *state;
	struct drv_mr whole = p->b.mr, mr;
	uint32_t mw;

	ok(drv_mr(&p->b.drv, &mr, p->b.mem, PAIR_MR, DRV_ALL));
	p->b.mr = mr;
	bound(p, &mw, true, DRV_RW);
	p->b.mr = whole;
	if (!drv_mkey_destroy(&p->b.drv, mr.key)) {
		refused(p, mw, 0, 1);
		ok(drv_mkey_destroy(&p->b.drv, mw));
	} else {
		ok(drv_mkey_destroy(&p->b.drv, mw));
		ok(drv_mkey_destroy(&p->b.drv, mr.key));
	}
}

/* Windows that are no windows, or someone else's. */
static void bad_binds(void **state)
{
	struct pair *p = *state;
	uint32_t key = p->b.mr.key;

	bind_window(p, &key, true, LEN, DRV_RW);
	get_err(&p->b, &p->b.scq, MLX5_CQE_SYNDROME_MW_BIND_ERR);
	assert_int_equal(drv_qp_state(&p->b.qp), DRV_ERR);
}

int main(void)
{
#define RC(f) cmocka_unit_test_setup_teardown(f, pair_setup_rc, pair_teardown)
	const struct CMUnitTest tests[] = {
		RC(type_1),
		RC(type_2),
		RC(zero_based),
		RC(not_bound_yet),
		RC(for_reading_only),
		RC(the_old_key),
		RC(unbound),
		RC(invalidated_by_its_owner),
		RC(invalidated_by_the_peer),
		RC(a_region_is_not_invalidated),
		RC(bound_twice),
		RC(of_another_queue_pair),
		RC(wider_than_the_region),
		RC(region_is_gone),
		RC(bad_binds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
