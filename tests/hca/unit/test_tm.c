// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Tag matching: the list of tagged buffers, and eager messages. Rendezvous are in
 * test_rndv.c.
 */
#include "tags.h"

static void expected(void **state)
{
	struct tags *t = tags_begin(state);
	uint16_t one = tags_add(t, 1, ALL), two = tags_add(t, 2, ALL);
	uint16_t none;

	tags_eager(t, 0, 2, 100);
	tags_matched(t, two, 2, 100);
	tags_eager(t, 1, 1, 300);
	tags_matched(t, one, 1, 300);
	none = tags_append(t, 3, ALL, 0);
	tags_told_op(t, APPEND, true, 0);
	tags_eager(t, 0, 3, 0);
	tags_matched(t, none, 3, 0);
	tags_end(t);
}

/* Each index is used again and again, in the order in which they come back. */
static void many(void **state)
{
	struct tags *t = tags_begin(state);
	int i;

	for (i = 0; i < 1000; i++) {
		uint16_t index = tags_add(t, i, ALL);

		tags_eager(t, i & 1, i, 200);
		tags_matched(t, index, i, 200);
	}
	tags_end(t);
}

static void unexpected(void **state)
{
	struct tags *t = tags_begin(state);
	uint16_t one = tags_add(t, 1, ALL);

	tags_eager(t, 0, 7, 100);
	tags_unmatched(t, UNEXPECTED, 7, 100);
	/* What was there before is still looked at. */
	tags_eager(t, 0, 1, 100);
	tags_matched(t, one, 1, 100);
	tags_sync(t, 1, 1);
	tags_end(t);
}

/* Without a header, or with one that has no tag, nothing is counted. */
static void no_tag(void **state)
{
	struct tags *t = tags_begin(state);
	uint16_t any = tags_add(t, 0, 0);

	tags_post(t, 0, IBV_TMH_NO_TAG, 5, 64);
	tags_unmatched(t, NO_TAG, 5, 64);
	tags_post(t, 0, IBV_TMH_FIN, 5, 64);
	tags_unmatched(t, NO_TAG, 5, 64);
	drv_send(&t->tx[0], &t->p->a.mr, 0, 15);
	tags_told(t, MLX5_CQE_RESP_SEND, NO_TAG);
	tags_sync(t, 0, 0);
	tags_eager(t, 0, 6, 10);
	tags_matched(t, any, 6, 10);
	tags_end(t);
}

static void cancel(void **state)
{
	struct tags *t = tags_begin(state);
	uint16_t one = tags_add(t, 1, ALL), two = tags_add(t, 2, ALL);

	tags_del(t, one, true);
	tags_del(t, one, false);
	tags_eager(t, 0, 1, 10);
	tags_unmatched(t, UNEXPECTED, 1, 10);
	tags_eager(t, 0, 2, 10);
	tags_matched(t, two, 2, 10);
	t->count = 1;		/* what the device has; tags_del() tells none */
	tags_del(t, two, false);
	tags_end(t);
}

static void wildcard(void **state)
{
	struct tags *t = tags_begin(state);
	uint16_t low = tags_add(t, 0x1200, 0xff00), any = tags_add(t, 0, 0);
	uint16_t never = tags_add(t, 0x12ff, 0xff00);

	tags_eager(t, 0, 0xff1234, 10);
	tags_matched(t, low, 0xff1234, 10);
	tags_eager(t, 0, 0x1234, 10);
	tags_matched(t, any, 0x1234, 10);
	tags_eager(t, 0, 0x12ff, 10);
	tags_unmatched(t, UNEXPECTED, 0x12ff, 10);
	t->count = 1;
	tags_del(t, never, true);
	tags_end(t);
}

/* The first that was appended, whatever its index; the first that came. */
static void order(void **state)
{
	struct tags *t = tags_begin(state);
	uint16_t first, second, third;
	int i;

	for (i = 0; i < 6; i++)
		tags_del(t, tags_add(t, 1, ALL), true);
	first = tags_add(t, 5, ALL);		/* 6, 7, 0 */
	second = tags_add(t, 5, 0xf);
	third = tags_add(t, 5, ALL);
	assert_true(third < first);
	tags_eager(t, 0, 5, 11);
	tags_eager(t, 1, 5, 12);
	tags_eager(t, 0, 5, 13);
	tags_matched(t, first, 5, 11);
	tags_matched(t, second, 5, 12);
	tags_matched(t, third, 5, 13);
	tags_end(t);
}

/*
 * A tag that is appended while the message that it was for is on its way to
 * software is not given to the next one.
 */
static void phase(void **state)
{
	struct tags *t = tags_begin(state);
	uint16_t late;

	tags_eager(t, 0, 1, 10);
	late = tags_append(t, 1, ALL, HOLE);
	tags_unmatched(t, UNEXPECTED, 1, 10);
	tags_told_op(t, APPEND, true, 1);
	tags_eager(t, 0, 1, 20);
	tags_unmatched(t, UNEXPECTED, 1, 20);
	/* One was handled, another has come: still not. */
	tags_sync(t, 1, 2);
	tags_eager(t, 0, 1, 30);
	tags_unmatched(t, UNEXPECTED, 1, 30);
	tags_sync(t, 3, 3);
	tags_eager(t, 0, 1, 40);
	tags_matched(t, late, 1, 40);
	tags_end(t);
}

/* An append may tell the number, too. */
static void phase_by_append(void **state)
{
	struct tags *t = tags_begin(state);
	uint16_t one, two;

	tags_eager(t, 0, 9, 10);
	tags_unmatched(t, UNEXPECTED, 9, 10);
	one = tags_append(t, 1, ALL, HOLE);
	tags_told_op(t, APPEND, true, 1);
	t->count = 1;
	two = tags_add(t, 2, ALL);
	tags_eager(t, 0, 1, 10);
	tags_matched(t, one, 1, 10);
	tags_eager(t, 0, 2, 10);
	tags_matched(t, two, 2, 10);
	tags_end(t);
}

static void long_message(void **state)
{
	struct tags *t = tags_begin(state);
	uint16_t index = tags_add(t, 4, ALL);
	struct drv_wc wc;

	tags_eager(t, 0, 4, 5000);
	wc = tags_told(t, MLX5_CQE_NO_PACKET, CONSUMED);
	assert_int_equal(be16toh(wc.cqe.app_info), index);
	assert_int_equal(be64toh(wc.cqe.tmh.tag), 4);
	wc = tags_told(t, MLX5_CQE_RESP_SEND, EXPECTED);
	assert_int_equal(be16toh(wc.cqe.app_info), index);
	assert_int_equal(wc.len, 5000);
	assert_true(filled(tags_buf(t, index), 5000, 4));
	tags_eager(t, 0, 4, 5000);
	tags_unmatched(t, UNEXPECTED, 4, 5000);
	tags_end(t);
}

/* The tag comes back, the queue pair fails, the others go on. */
static void too_long(void **state)
{
	struct tags *t = tags_begin(state);
	uint16_t index = tags_append(t, 1, ALL, 64), other;
	struct drv_wc wc;

	tags_told_op(t, APPEND, true, 0);
	other = tags_add(t, 1, ALL);
	tags_post(t, 0, IBV_TMH_EAGER, 1, 65);
	get_err(&t->p->a, &t->p->a.scq, MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR);
	wc = tags_told(t, MLX5_CQE_RESP_SEND, CANCELED);
	assert_int_equal(be16toh(wc.cqe.app_info), index);
	assert_int_equal(drv_qp_state(&t->rx[0]), DRV_ERR);
	tags_eager(t, 1, 1, 64);
	tags_matched(t, other, 1, 64);
	tags_end(t);
}

static void wrong_key(void **state)
{
	struct tags *t = tags_begin(state);

	t->p->b.mr.key ^= 0x55;
	tags_add(t, 1, ALL);
	t->p->b.mr.key ^= 0x55;
	tags_post(t, 0, IBV_TMH_EAGER, 1, 65);
	get_err(&t->p->a, &t->p->a.scq, MLX5_CQE_SYNDROME_REMOTE_OP_ERR);
	tags_told(t, MLX5_CQE_RESP_SEND, CANCELED);
	tags_end(t);
}

/* Nobody waits forever for a message whose sender went away. */
static void cut_short(void **state)
{
	struct tags *t = tags_begin(state);
	uint16_t late;

	tags_add(t, 1, ALL);
	t->p->rig->budget = 1;
	tags_post(t, 0, IBV_TMH_EAGER, 1, 200000);
	tags_post(t, 1, IBV_TMH_EAGER, 2, 200000);
	cx_hub_run(t->p->rig->hub, 100000);
	tags_told(t, MLX5_CQE_NO_PACKET, CONSUMED);
	assert_int_equal(LIST(t, hw_phase_cnt), 1);
	ok(drv_qp_to(&t->tx[0], MLX5_CMD_OP_2RST_QP));
	ok(drv_qp_to(&t->tx[1], MLX5_CMD_OP_2RST_QP));
	ok(drv_qp_to(&t->rx[0], MLX5_CMD_OP_2ERR_QP));
	tags_told(t, MLX5_CQE_RESP_SEND, CANCELED);
	ok(drv_qp_to(&t->rx[1], MLX5_CMD_OP_2RST_QP));
	/* What did not arrive whole is not counted. */
	late = tags_append(t, 3, ALL, HOLE);
	tags_told_op(t, APPEND, true, 0);
	tags_del(t, late, true);
	tags_end(t);
}

/* Lists that a process has got wrong end its queue pair alone. */
static void wrong_ops(void **state)
{
	static const struct { uint8_t op; uint16_t index; } bad[] = {
		{ DRV_TM_APPEND, TAGS }, { DRV_TM_APPEND, 0xffff },
		{ 3, 0 }, { 15, 0 },
	};
	struct drv_path path = pair_path();
	struct tags *t = tags_begin(state);
	struct drv_wr wr = { .flags = DRV_SIGNALED };
	unsigned int i;

	path.dlid = 2;
	path.qpn = t->cmd.qpn;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		wr.tm.op = bad[i].op;
		wr.tm.index = bad[i].index;
		tags_op(t, &wr);
		get_err(&t->p->b, &t->p->b.rcq,
			MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
		ok(drv_qp_to(&t->cmd, MLX5_CMD_OP_2RST_QP));
		t->cmd.sq_pi = 0;
		t->cmd.db[1] = 0;
		ok(drv_qp_up(&t->cmd, &path));
	}
	tags_end(t);
}

/* The place that is next is taken; and a queue without a list. */
static void wrong_places(void **state)
{
	struct tags *t = tags_begin(state);
	struct drv_wr wr = { .opcode = MLX5_OPCODE_TAG_MATCHING,
			     .flags = DRV_SIGNALED };

	wr.tm.op = DRV_TM_APPEND;
	tags_op(t, &wr);
	get_wc(&t->p->b, &t->p->b.rcq, MLX5_CQE_REQ);
	tags_op(t, &wr);
	get_err(&t->p->b, &t->p->b.rcq, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
	drv_post(&t->tx[0], &wr);
	get_err(&t->p->a, &t->p->a.scq, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
	tags_end(t);
}

static void full(void **state)
{
	struct tags *t = tags_begin(state);
	unsigned int i;

	for (i = 0; i < TAGS; i++)
		tags_add(t, i, ALL);
	for (i = 0; i < TAGS; i++)
		tags_eager(t, 0, TAGS - 1 - i, 8);
	for (i = 0; i < TAGS; i++)
		tags_matched(t, TAGS - 1 - i, TAGS - 1 - i, 8);
	tags_end(t);
}

static void queried(void **state)
{
	struct tags *t = tags_begin(state);
	const struct drv_eqe *e;
	unsigned int n;

	tags_add(t, 1, ALL);
	tags_eager(t, 0, 2, 8);
	tags_unmatched(t, UNEXPECTED, 2, 8);
	tags_eager(t, 0, 2, 8);
	tags_unmatched(t, UNEXPECTED, 2, 8);
	tags_sync(t, 1, 2);
	assert_int_equal(LIST(t, log_matching_list_sz), DRV_LOG_TAGS);
	assert_int_equal(LIST(t, append_next_index), 1);
	assert_int_equal(LIST(t, hw_phase_cnt), 2);
	assert_int_equal(LIST(t, sw_phase_cnt), 1);
	ok(drv_srq_arm(&t->p->b.drv, &t->srq, 15));
	e = drv_event(&t->p->b.drv, &t->p->b.drv.async_eq, CX_EV_SRQ_LIMIT, &n);
	assert_int_equal(n, 1);
	assert_int_equal(drv_event_qpn(e), t->srq.srqn);
	tags_end(t);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, pair_setup, pair_teardown)
	const struct CMUnitTest tests[] = {
		T(expected),
		T(many),
		T(unexpected),
		T(no_tag),
		T(cancel),
		T(wildcard),
		T(order),
		T(phase),
		T(phase_by_append),
		T(long_message),
		T(too_long),
		T(wrong_key),
		T(cut_short),
		T(wrong_ops),
		T(wrong_places),
		T(full),
		T(queried),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
