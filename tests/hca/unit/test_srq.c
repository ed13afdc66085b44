// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Shared receive queues, of all three kinds the driver makes, and the XRC
 * queue pairs that name one in every message.
 */
#include <stdlib.h>

#include "pair.h"

static void make(struct pair *p, struct drv_srq *srq, enum drv_type type)
{
	struct drv_path path = pair_path();
	struct drv_qp_init init = { .type = type, .scq = &p->a.scq,
				    .rcq = &p->a.rcq };

	ok(drv_qp(&p->a.drv, &p->a.qp, &init));
	init.scq = &p->b.scq;
	init.rcq = &p->b.rcq;
	init.srq = srq;
	init.xrc_target = type == DRV_XRC;
	if (init.xrc_target)
		init.scq = init.rcq = NULL;
	ok(drv_qp(&p->b.drv, &p->b.qp, &init));
	pair_connect(p, &path);
}

static void gone(struct pair *p, struct drv_srq *srq)
{
	ok(drv_qp_destroy(&p->a.qp));
	ok(drv_qp_destroy(&p->b.qp));
	ok(drv_srq_destroy(&p->b.drv, srq));
}

static void traffic(struct pair *p, struct drv_srq *srq)
{
	struct drv_wc wc;
	uint32_t i;
	int index;

	for (i = 0; i < 300; i++) {
		index = drv_srq_post(srq, &p->b.mr, i * 64, 64);
		assert_true(index >= 0);
		fill(p->a.mem, 64, i);
		drv_send(&p->a.qp, &p->a.mr, 0, 64);
		wc = get_wc(&p->b, &p->b.rcq, MLX5_CQE_RESP_SEND);
		assert_int_equal(wc.index, index);
		assert_true(filled(p->b.mem + i * 64, 64, i));
		drv_srq_free(srq, wc.index);
		get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	}
}

static void receives(void **state)
{
	struct pair *p = *state;
	struct drv_srq srq;

	ok(drv_srq(&p->b.drv, &srq, 5, NULL));
	make(p, &srq, DRV_RC);
	traffic(p, &srq);
	gone(p, &srq);
}

static void receives_without_issi(void **state)
{
	struct pair *p = *state;
	struct drv_srq srq;

	ok(drv_srq_as(&p->b.drv, &srq, 5, DRV_SRQ_PLAIN, &p->b.drv.c0));
	make(p, &srq, DRV_RC);
	traffic(p, &srq);
	gone(p, &srq);
}

/* Entries come back in another order than they were posted in. */
static void out_of_order(void **state)
{
	struct pair *p = *state;
	struct drv_srq srq;
	uint16_t held[16];
	int i, round;

	ok(drv_srq(&p->b.drv, &srq, 5, NULL));
	make(p, &srq, DRV_RC);
	for (round = 0; round < 50; round++) {
		for (i = 0; i < 16; i++) {
			assert_true(drv_srq_post(&srq, &p->b.mr, 0, 64) >= 0);
			drv_send(&p->a.qp, &p->a.mr, 0, 8);
			held[i] = get_wc(&p->b, &p->b.rcq, 2).index;
			get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
		}
		for (i = 0; i < 16; i++)
			drv_srq_free(&srq, held[(i * 7 + round) % 16]);
	}
	gone(p, &srq);
}

static void limit_event(void **state, enum drv_srq_kind kind)
{
	struct pair *p = *state;
	const struct drv_eqe *e;
	struct drv_srq srq;
	unsigned int n;
	int i;

	ok(drv_srq_as(&p->b.drv, &srq, 5, kind, &p->b.drv.c0));
	make(p, &srq, DRV_RC);
	for (i = 0; i < 10; i++)
		drv_srq_post(&srq, &p->b.mr, 0, 64);
	ok(drv_srq_arm(&p->b.drv, &srq, 5));
	for (i = 0; i < 10; i++) {
		drv_send(&p->a.qp, &p->a.mr, 0, 8);
		get_wc(&p->b, &p->b.rcq, MLX5_CQE_RESP_SEND);
		e = drv_event(&p->b.drv, &p->b.drv.async_eq, CX_EV_SRQ_LIMIT,
			      &n);
		assert_int_equal(n, i == 5);	/* 4 are left: below 5 */
		if (e)
			assert_int_equal(drv_event_qpn(e), srq.srqn);
	}
	gone(p, &srq);
}

static void limit(void **state)
{
	limit_event(state, DRV_SRQ_RMP);
}

static void limit_without_issi(void **state)
{
	limit_event(state, DRV_SRQ_PLAIN);
}

static void empty_means_rnr(void **state)
{
	struct pair *p = *state;
	struct drv_srq srq;

	ok(drv_srq(&p->b.drv, &srq, 5, NULL));
	make(p, &srq, DRV_RC);
	drv_send(&p->a.qp, &p->a.mr, 0, 8);
	no_wc(&p->a, &p->a.scq);
	drv_srq_post(&srq, &p->b.mr, 0, 64);
	rig_sleep(p->rig, 1000 * MS);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	get_wc(&p->b, &p->b.rcq, MLX5_CQE_RESP_SEND);
	gone(p, &srq);
}

/* The QP gives back nothing, so it says that no more will come. */
static void last_wqe(void **state)
{
	struct pair *p = *state;
	const struct drv_eqe *e;
	struct drv_srq srq;
	unsigned int n;

	ok(drv_srq(&p->b.drv, &srq, 5, NULL));
	make(p, &srq, DRV_RC);
	drv_srq_post(&srq, &p->b.mr, 0, 64);
	ok(drv_qp_to(&p->b.qp, MLX5_CMD_OP_2ERR_QP));
	rig_run(p->rig);
	e = drv_event(&p->b.drv, &p->b.drv.async_eq, CX_EV_SRQ_LAST_WQE, &n);
	assert_int_equal(n, 1);
	assert_int_equal(drv_event_qpn(e), p->b.qp.qpn);
	no_wc(&p->b, &p->b.rcq);
	gone(p, &srq);
}

/* A list that a process has corrupted: rings and numbers beyond the queue. */
static void spoilt_list(void **state)
{
	struct pair *p = *state;
	struct drv_srq srq;
	int i;

	ok(drv_srq(&p->b.drv, &srq, 2, NULL));
	make(p, &srq, DRV_RC);
	memset(srq.buf, 0xff, 4 << srq.log_stride);
	srq.db[0] = htobe32(0xffff);
	for (i = 0; i < 20; i++)
		drv_send(&p->a.qp, &p->a.mr, 0, 8);
	rig_sleep(p->rig, 100 * MS);
	assert_int_equal(p->rig->faults, 0);
	gone(p, &srq);
}

static void xrc_send(struct pair *p, const struct drv_srq *srq, uint32_t len)
{
	struct drv_sge sge = { p->a.mr.va, len, p->a.mr.key };
	struct drv_wr wr = { .opcode = MLX5_OPCODE_SEND, .sge = &sge,
			     .nr_sge = 1, .flags = DRV_SIGNALED,
			     .xrc_srqn = srq->srqn };

	drv_post(&p->a.qp, &wr);
}

static void xrc(void **state)
{
	struct pair *p = *state;
	struct drv_srq one, two, plain;
	struct drv_wc wc;

	ok(drv_srq(&p->b.drv, &one, 5, &p->b.rcq));
	ok(drv_srq(&p->b.drv, &two, 5, &p->b.scq));
	make(p, NULL, DRV_XRC);
	fill(p->a.mem, 5000, 3);
	drv_srq_post(&one, &p->b.mr, 0, 8192);
	drv_srq_post(&two, &p->b.mr, 8192, 8192);
	xrc_send(p, &two, 5000);
	wc = get_wc(&p->b, &p->b.scq, MLX5_CQE_RESP_SEND);
	assert_int_equal(wc.user_index, DRV_SRQ_INDEX);
	assert_true(filled(p->b.mem + 8192, 5000, 3));
	xrc_send(p, &one, 5000);
	wc = get_wc(&p->b, &p->b.rcq, MLX5_CQE_RESP_SEND);
	assert_int_equal(wc.user_index, DRV_SRQ_INDEX);
	assert_true(filled(p->b.mem, 5000, 3));
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	/* A plain SRQ is no XRC SRQ. */
	plain = p->b.drv.s1;
	xrc_send(p, &plain, 10);
	get_err(&p->a, &p->a.scq, MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR);
	ok(drv_qp_destroy(&p->a.qp));
	ok(drv_qp_destroy(&p->b.qp));
	ok(drv_srq_destroy(&p->b.drv, &one));
	ok(drv_srq_destroy(&p->b.drv, &two));
}

/* A queue with tags is for RC alone, and is not what other commands are for. */
static void tags(void **state)
{
	struct pair *p = *state;
	struct drv_qp_init init = { .type = DRV_UC, .scq = &p->b.scq,
				    .rcq = &p->b.scq };
	uint8_t c[CX_BYTES(xrqc)];
	struct drv_srq srq, rmp;
	struct drv_qp qp;

	ok(drv_srq_as(&p->b.drv, &srq, 5, DRV_SRQ_TM, &p->b.rcq));
	assert_int_equal(drv_cq_destroy(&p->b.drv, &p->b.rcq),
			 CX_BAD_RES_STATE);
	init.srq = &srq;
	assert_int_equal(drv_qp(&p->b.drv, &qp, &init), CX_BAD_PARAM);
	init.type = DRV_RC;
	ok(drv_qp(&p->b.drv, &qp, &init));
	assert_int_equal(drv_srq_destroy(&p->b.drv, &srq), CX_BAD_RES_STATE);
	ok(drv_qp_destroy(&qp));
	assert_int_equal(drv_simple(&p->b.drv, MLX5_CMD_OP_DESTROY_RMP,
				    srq.srqn, NULL), CX_BAD_RES);
	ok(drv_srq(&p->b.drv, &rmp, 3, NULL));
	assert_int_equal(drv_xrq_query(&p->b.drv, &rmp, c), CX_BAD_RES);
	ok(drv_srq_destroy(&p->b.drv, &rmp));
	ok(drv_srq_destroy(&p->b.drv, &srq));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, pair_setup, pair_teardown)
	const struct CMUnitTest tests[] = {
		T(receives),
		T(receives_without_issi),
		T(out_of_order),
		T(limit),
		T(limit_without_issi),
		T(empty_means_rnr),
		T(last_wqe),
		T(spoilt_list),
		T(xrc),
		T(tags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
