// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Completion queues: the owner bit over many rounds, events when and only
 * when they were asked for, resizing, 128-byte entries, overrun.
 */
#include <stdlib.h>

#include "pair.h"

static void message(struct pair *p)
{
	drv_recv(&p->b.qp, &p->b.mr, 0, 64);
	drv_send(&p->a.qp, &p->a.mr, 0, 8);
	rig_run(p->rig);
}

/* Completion events of that CQ since the last call. */
static unsigned int events(struct side *s, struct drv_cq *cq)
{
	const struct drv_eqe *e;
	unsigned int n = 0;
	uint32_t cqn;

	while ((e = drv_eq_next(cq->eq))) {
		memcpy(&cqn, e->data + 24, 4);
		assert_int_equal(e->type, CX_EV_COMP);
		assert_int_equal(be32toh(cqn), cq->cqn);
		cq->arm_sn++;
		n++;
	}
	drv_eq_update(&s->drv, cq->eq, true);
	return n;
}

static void silent_until_armed(void **state)
{
	struct pair *p = *state;
	unsigned int irqs = p->b.drv.dev->irqs[p->b.rcq.eq->vector];

	message(p);
	assert_int_equal(events(&p->b, &p->b.rcq), 0);
	assert_int_equal(p->b.drv.dev->irqs[p->b.rcq.eq->vector], irqs);
	get_wc(&p->b, &p->b.rcq, MLX5_CQE_RESP_SEND);
	drv_arm(&p->b.drv, &p->b.rcq, false);
	assert_int_equal(events(&p->b, &p->b.rcq), 0);
	message(p);
	assert_int_equal(events(&p->b, &p->b.rcq), 1);
	assert_true(p->b.drv.dev->irqs[p->b.rcq.eq->vector] > irqs);
	message(p);
	assert_int_equal(events(&p->b, &p->b.rcq), 0);	/* once */
}

/* What came between the last poll and the arming must not be lost. */
static void armed_too_late(void **state)
{
	struct pair *p = *state;

	message(p);
	drv_arm(&p->b.drv, &p->b.rcq, false);
	rig_run(p->rig);
	assert_int_equal(events(&p->b, &p->b.rcq), 1);
}

static void armed_again_and_again(void **state)
{
	struct pair *p = *state;
	int i;

	for (i = 0; i < 1000; i++) {
		drv_arm(&p->b.drv, &p->b.rcq, false);
		message(p);
		assert_int_equal(events(&p->b, &p->b.rcq), 1);
		get_wc(&p->b, &p->b.rcq, MLX5_CQE_RESP_SEND);
		get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	}
}

static void solicited_only(void **state)
{
	struct pair *p = *state;
	struct drv_wr wr = { .opcode = MLX5_OPCODE_SEND,
			     .flags = DRV_SIGNALED | DRV_SOLICITED };

	drv_arm(&p->b.drv, &p->b.rcq, true);
	message(p);
	assert_int_equal(events(&p->b, &p->b.rcq), 0);
	drv_recv(&p->b.qp, &p->b.mr, 0, 64);
	drv_post(&p->a.qp, &wr);
	rig_run(p->rig);
	assert_int_equal(events(&p->b, &p->b.rcq), 1);
}

/* A failed one counts as solicited. */
static void errors_are_solicited(void **state)
{
	struct pair *p = *state;

	drv_arm(&p->a.drv, &p->a.scq, true);
	drv_rdma(&p->a.qp, MLX5_OPCODE_RDMA_WRITE, &p->a.mr, 0, 8, 0, 0);
	rig_run(p->rig);
	assert_int_equal(events(&p->a, &p->a.scq), 1);
}

static void small_ring(void **state)
{
	struct pair *p = *state;
	struct drv_cq cq;
	struct drv_path path = pair_path();
	struct drv_qp_init init = { .type = DRV_RC, .rcq = &p->a.rcq };
	int i;

	ok(drv_cq(&p->a.drv, &cq, 1));
	init.scq = &cq;
	ok(drv_qp(&p->a.drv, &p->a.qp, &init));
	init.scq = &p->b.scq;
	init.rcq = &p->b.rcq;
	ok(drv_qp(&p->b.drv, &p->b.qp, &init));
	pair_connect(p, &path);
	for (i = 0; i < 100; i++) {
		message(p);
		message(p);
		get_wc(&p->a, &cq, MLX5_CQE_REQ);
		get_wc(&p->a, &cq, MLX5_CQE_REQ);
		no_wc(&p->a, &cq);
		get_wc(&p->b, &p->b.rcq, MLX5_CQE_RESP_SEND);
		get_wc(&p->b, &p->b.rcq, MLX5_CQE_RESP_SEND);
	}
	ok(drv_qp_destroy(&p->a.qp));
	ok(drv_qp_destroy(&p->b.qp));
	ok(drv_cq_destroy(&p->a.drv, &cq));
}

static void overrun(void **state)
{
	struct pair *p = *state;
	struct drv_cq cq;
	struct drv_path path = pair_path();
	struct drv_qp_init init = { .type = DRV_RC, .rcq = &p->a.rcq };
	const struct drv_eqe *e;
	unsigned int n;
	uint32_t cqn;

	ok(drv_cq(&p->a.drv, &cq, 1));
	init.scq = &cq;
	ok(drv_qp(&p->a.drv, &p->a.qp, &init));
	init.scq = &p->b.scq;
	init.rcq = &p->b.rcq;
	ok(drv_qp(&p->b.drv, &p->b.qp, &init));
	pair_connect(p, &path);
	message(p);
	message(p);
	message(p);
	e = drv_event(&p->a.drv, &p->a.drv.async_eq, CX_EV_CQ_ERROR, &n);
	assert_int_equal(n, 1);
	memcpy(&cqn, e->data, 4);
	assert_int_equal(be32toh(cqn) & 0xffffff, cq.cqn);
	assert_int_equal(e->data[11], 1);	/* syndrome: overrun */
	assert_int_equal(drv_qp_state(&p->a.qp), DRV_ERR);
	ok(drv_qp_destroy(&p->a.qp));
	ok(drv_qp_destroy(&p->b.qp));
	ok(drv_cq_destroy(&p->a.drv, &cq));
}

static void resize(void **state)
{
	struct pair *p = *state;
	struct drv_cq *cq = &p->a.scq;
	uint16_t first = p->a.qp.sq_pi;
	int i;

	for (i = 0; i < 5; i++)
		message(p);
	ok(drv_cq_resize(&p->a.drv, cq, 10));
	for (; i < 10; i++)
		message(p);
	for (i = 0; i < 10; i++)
		assert_int_equal(get_wc(&p->a, cq, MLX5_CQE_REQ).index,
				 first + i);
	no_wc(&p->a, cq);
	ok(drv_cq_resize(&p->a.drv, cq, 4));
	for (i = 0; i < 100; i++) {
		message(p);
		get_wc(&p->a, cq, MLX5_CQE_REQ);
		get_wc(&p->b, &p->b.rcq, MLX5_CQE_RESP_SEND);
	}
	/* It still tells. */
	drv_arm(&p->a.drv, cq, false);
	message(p);
	assert_int_equal(events(&p->a, cq), 1);
}

static void moderation_is_accepted(void **state)
{
	struct pair *p = *state;
	uint8_t in[CX_BYTES(modify_cq_in)] = { 0 };
	uint8_t out[CX_BYTES(modify_cq_out)], *c;

	CX_SET(modify_cq_in, in, opcode, MLX5_CMD_OP_MODIFY_CQ);
	CX_SET(modify_cq_in, in, cqn, p->a.scq.cqn);
	in[15] = 3;		/* period and count */
	c = CX_ADDR(modify_cq_in, in, cq_context);
	CX_SET(cqc, c, cq_period, 16);
	CX_SET(cqc, c, cq_max_count, 16);
	ok(drv_exec(&p->a.drv, in, sizeof(in), out, sizeof(out)));
	drv_arm(&p->a.drv, &p->a.scq, false);
	message(p);
	rig_sleep(p->rig, 1 * MS);
	assert_int_equal(events(&p->a, &p->a.scq), 1);
}

/* More events than the EQ holds, none read: no memory is overwritten. */
static void event_queue_overrun(void **state)
{
	struct pair *p = *state;
	struct drv_eq eq;
	struct drv_cq cq;
	uint32_t i;

	ok(drv_eq_create(&p->a.drv, &eq, 1, 3, 0));
	ok(drv_cq_on(&p->a.drv, &cq, 4, &eq, p->a.drv.uar, false));
	for (i = 0; i < 10; i++)
		drv_arm(&p->a.drv, &cq, false);
	rig_run(p->rig);
	assert_int_equal(p->rig->faults, 0);
	ok(drv_cq_destroy(&p->a.drv, &cq));
	ok(drv_eq_destroy(&p->a.drv, &eq));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, pair_setup, pair_teardown)
#define RC(f) cmocka_unit_test_setup_teardown(f, pair_setup_rc, pair_teardown)
	const struct CMUnitTest tests[] = {
		RC(silent_until_armed),
		RC(armed_too_late),
		RC(armed_again_and_again),
		RC(solicited_only),
		RC(errors_are_solicited),
		T(small_ring),
		T(overrun),
		RC(resize),
		RC(moderation_is_accepted),
		T(event_queue_overrun),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
