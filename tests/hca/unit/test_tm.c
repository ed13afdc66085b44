// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Tag matching: device B has a queue with a list of tagged buffers, a queue
 * pair by which the list is changed, and two that receive; A sends. What is
 * compared is what the provider reads: op, index and counter of completions.
 */
#include <stdlib.h>

#include "pair.h"

enum {				/* cqe.app_op */
	CONSUMED = 1, EXPECTED = 2, UNEXPECTED = 3, NO_TAG = 4, APPEND = 5,
	REMOVE = 6, NOP = 7, CONSUMED_MSG = 0xa, SW_RNDV = 0xb, CANCELED = 0xc,
};

#define ALL	(~0ULL)		/* mask */
#define BOTH	(DRV_TM_COUNT | DRV_TM_CQE)
#define TAGS	(1u << DRV_LOG_TAGS)
#define HOLE	0x4000u		/* from one buffer to the next */
#define LONG	0x40000u	/* their length: long messages come alone */
#define PLAIN	0x80000u	/* where buffers of the queue begin */

struct tags {
	struct pair *p;
	struct drv_srq srq;
	struct drv_qp cmd, tx[2], rx[2];
	uint16_t next;		/* index of the tag that is added next */
	uint16_t count;		/* unexpected messages, as far as told */
};

static void connect(struct tags *t, int i, uint8_t mtu)
{
	struct drv_qp_init init = { .type = DRV_RC, .scq = &t->p->a.scq,
				    .rcq = &t->p->a.rcq };
	struct drv_path path = pair_path();

	path.mtu = mtu;
	ok(drv_qp(&t->p->a.drv, &t->tx[i], &init));
	init.scq = &t->p->b.scq;
	init.rcq = &t->p->b.scq;	/* the queue's own is used */
	init.srq = &t->srq;
	init.no_sq = true;
	ok(drv_qp(&t->p->b.drv, &t->rx[i], &init));
	ok(drv_connect(&t->tx[i], 1, &t->rx[i], 2, &path));
}

static struct tags *begin(void **state)
{
	struct tags *t = calloc(1, sizeof(*t));
	struct drv_path path = pair_path();
	struct drv_qp_init init = { .type = DRV_RC };
	uint32_t i;

	assert_non_null(t);
	t->p = *state;
	ok(drv_srq_as(&t->p->b.drv, &t->srq, 5, DRV_SRQ_TM, &t->p->b.rcq));
	init.scq = init.rcq = &t->p->b.rcq;
	init.srq = &t->srq;
	ok(drv_qp(&t->p->b.drv, &t->cmd, &init));
	path.dlid = 2;
	path.qpn = t->cmd.qpn;
	ok(drv_qp_up(&t->cmd, &path));
	connect(t, 0, 3);
	connect(t, 1, 3);
	for (i = 0; i < 16; i++)
		drv_srq_post(&t->srq, &t->p->b.mr, PLAIN + i * HOLE, LONG);
	return t;
}

static void end(struct tags *t)
{
	int i;

	no_wc(&t->p->b, &t->p->b.rcq);
	no_wc(&t->p->b, &t->p->b.scq);
	for (i = 0; i < 2; i++) {
		ok(drv_qp_destroy(&t->tx[i]));
		ok(drv_qp_destroy(&t->rx[i]));
	}
	ok(drv_qp_destroy(&t->cmd));
	ok(drv_srq_destroy(&t->p->b.drv, &t->srq));
	free(t);
}

static void op(struct tags *t, struct drv_wr *wr)
{
	wr->opcode = MLX5_OPCODE_TAG_MATCHING;
	wr->tm.count = t->count;
	drv_post(&t->cmd, wr);
}

/* The next completion of the queue; index: of the tag, if it tells one. */
static struct drv_wc told(struct tags *t, uint8_t opcode, uint8_t app_op)
{
	struct drv_wc wc = get_wc(&t->p->b, &t->p->b.rcq, opcode);

	assert_int_equal(wc.user_index, DRV_SRQ_INDEX);
	assert_int_equal(wc.cqe.app, 1);
	assert_int_equal(wc.cqe.app_op, app_op);
	return wc;
}

/* A list operation's completion: did it succeed, and the device's counter. */
static void told_op(struct tags *t, uint8_t app_op, bool good, uint16_t count)
{
	struct drv_wc wc = told(t, MLX5_CQE_NO_PACKET, app_op);

	assert_int_equal(be32toh(wc.cqe.tm_cqe.success),
			 good ? MLX5_TMC_SUCCESS : 0);
	assert_int_equal(be16toh(wc.cqe.tm_cqe.hw_phase_cnt), count);
}

/* Appends tag number t->next, with a buffer of that many octets. */
static uint16_t append(struct tags *t, uint64_t tag, uint64_t mask, uint32_t len)
{
	struct drv_sge sge = { t->p->b.mr.va + t->next * HOLE, len,
			       t->p->b.mr.key };
	struct drv_wr wr = { .sge = &sge, .nr_sge = len ? 1 : 0 };
	uint16_t index = t->next;

	t->next = (t->next + 1) % TAGS;
	wr.tm.op = DRV_TM_APPEND;
	wr.tm.flags = BOTH;
	wr.tm.index = t->next;
	wr.tm.tag = tag;
	wr.tm.mask = mask;
	op(t, &wr);
	return index;
}

static uint16_t add(struct tags *t, uint64_t tag, uint64_t mask)
{
	uint16_t index = append(t, tag, mask, LONG);

	told_op(t, APPEND, true, t->count);
	return index;
}

static void del(struct tags *t, uint16_t index, bool good)
{
	struct drv_wr wr = { .tm = { .op = DRV_TM_REMOVE, .flags = DRV_TM_CQE,
				     .index = index } };

	op(t, &wr);
	told_op(t, REMOVE, good, t->count);
}

static void sync_to(struct tags *t, uint16_t count, uint16_t device)
{
	struct drv_wr wr = { .tm = { .op = DRV_TM_NOP, .flags = BOTH } };

	t->count = count;
	op(t, &wr);
	told_op(t, NOP, true, device);
}

/* A message of so many octets behind its header; its data are a pattern. */
static void post(struct tags *t, int i, uint8_t tmh_op, uint64_t tag,
		 uint32_t len)
{
	struct ibv_tmh *tmh = (void *)t->p->a.mem;

	memset(tmh, 0, sizeof(*tmh));
	tmh->opcode = tmh_op;
	tmh->app_ctx = htobe32(0xabcdef);
	tmh->tag = htobe64(tag);
	fill(t->p->a.mem + sizeof(*tmh), len, tag);
	drv_send(&t->tx[i], &t->p->a.mr, 0, sizeof(*tmh) + len);
}

static void msg(struct tags *t, int i, uint64_t tag, uint32_t len)
{
	post(t, i, IBV_TMH_EAGER, tag, len);
	get_wc(&t->p->a, &t->p->a.scq, MLX5_CQE_REQ);
}

static const uint8_t *buf(const struct tags *t, uint16_t index)
{
	return t->p->b.mem + index * HOLE;
}

static void matched(struct tags *t, uint16_t index, uint64_t tag, uint32_t len)
{
	struct drv_wc wc = told(t, MLX5_CQE_RESP_SEND, CONSUMED_MSG);

	assert_int_equal(be16toh(wc.cqe.app_info), index);
	assert_int_equal(be64toh(wc.cqe.tmh.tag), tag);
	assert_int_equal(be32toh(wc.cqe.tmh.app_ctx), 0xabcdef);
	assert_int_equal(wc.len, len);
	assert_true(filled(buf(t, index), len, tag));
}

/* The whole message is in a buffer of the queue. */
static void unmatched(struct tags *t, uint8_t app_op, uint64_t tag, uint32_t len)
{
	struct drv_wc wc = told(t, MLX5_CQE_RESP_SEND, app_op);
	const uint8_t *at = t->p->b.mem + PLAIN + wc.index * HOLE;
	const struct ibv_tmh *tmh = (const void *)at;

	assert_int_equal(wc.len, sizeof(*tmh) + len);
	assert_int_equal(be64toh(tmh->tag), tag);
	assert_true(filled(at + sizeof(*tmh), len, tag));
	assert_int_equal(wc.cqe.tmh.tag, 0);
}

/* A field of the list's context. */
static uint32_t list(struct tags *t, size_t off, size_t width)
{
	uint8_t c[CX_BYTES(xrqc)];

	ok(drv_xrq_query(&t->p->b.drv, &t->srq, c));
	assert_int_equal(CX_GET(xrqc, c, state), MLX5_XRQC_STATE_GOOD);
	assert_int_equal(CX_GET(xrqc, c, cqn), t->p->b.rcq.cqn);
	return cx_bits_get(CX_ADDR(xrqc, c, tag_matching_topology_context),
			   off, width);
}

#define LIST(t, field) \
	list(t, CX_OFF(tag_matching_topology_context, field), \
	     CX_WIDTH(tag_matching_topology_context, field))

/* ---- tests ---- */

static void expected(void **state)
{
	struct tags *t = begin(state);
	uint16_t one = add(t, 1, ALL), two = add(t, 2, ALL);
	uint16_t none;

	msg(t, 0, 2, 100);
	matched(t, two, 2, 100);
	msg(t, 1, 1, 300);
	matched(t, one, 1, 300);
	none = append(t, 3, ALL, 0);
	told_op(t, APPEND, true, 0);
	msg(t, 0, 3, 0);
	matched(t, none, 3, 0);
	end(t);
}

/* Each index is used again and again, in the order in which they come back. */
static void many(void **state)
{
	struct tags *t = begin(state);
	int i;

	for (i = 0; i < 1000; i++) {
		uint16_t index = add(t, i, ALL);

		msg(t, i & 1, i, 200);
		matched(t, index, i, 200);
	}
	end(t);
}

static void unexpected(void **state)
{
	struct tags *t = begin(state);
	uint16_t one = add(t, 1, ALL);

	msg(t, 0, 7, 100);
	unmatched(t, UNEXPECTED, 7, 100);
	/* What was there before is still looked at. */
	msg(t, 0, 1, 100);
	matched(t, one, 1, 100);
	sync_to(t, 1, 1);
	end(t);
}

/* Without a header, or with one that has no tag, nothing is counted. */
static void no_tag(void **state)
{
	struct tags *t = begin(state);
	uint16_t any = add(t, 0, 0);

	post(t, 0, IBV_TMH_NO_TAG, 5, 64);
	unmatched(t, NO_TAG, 5, 64);
	post(t, 0, IBV_TMH_FIN, 5, 64);
	unmatched(t, NO_TAG, 5, 64);
	drv_send(&t->tx[0], &t->p->a.mr, 0, 15);
	told(t, MLX5_CQE_RESP_SEND, NO_TAG);
	sync_to(t, 0, 0);
	msg(t, 0, 6, 10);
	matched(t, any, 6, 10);
	end(t);
}

static void cancel(void **state)
{
	struct tags *t = begin(state);
	uint16_t one = add(t, 1, ALL), two = add(t, 2, ALL);

	del(t, one, true);
	del(t, one, false);
	msg(t, 0, 1, 10);
	unmatched(t, UNEXPECTED, 1, 10);
	msg(t, 0, 2, 10);
	matched(t, two, 2, 10);
	t->count = 1;		/* what the device has; del() tells none */
	del(t, two, false);
	end(t);
}

static void wildcard(void **state)
{
	struct tags *t = begin(state);
	uint16_t low = add(t, 0x1200, 0xff00), any = add(t, 0, 0);
	uint16_t never = add(t, 0x12ff, 0xff00);

	msg(t, 0, 0xff1234, 10);
	matched(t, low, 0xff1234, 10);
	msg(t, 0, 0x1234, 10);
	matched(t, any, 0x1234, 10);
	msg(t, 0, 0x12ff, 10);
	unmatched(t, UNEXPECTED, 0x12ff, 10);
	t->count = 1;
	del(t, never, true);
	end(t);
}

/* The first that was appended, whatever its index; the first that came. */
static void order(void **state)
{
	struct tags *t = begin(state);
	uint16_t first, second, third;
	int i;

	for (i = 0; i < 6; i++)
		del(t, add(t, 1, ALL), true);
	first = add(t, 5, ALL);		/* 6, 7, 0 */
	second = add(t, 5, 0xf);
	third = add(t, 5, ALL);
	assert_true(third < first);
	msg(t, 0, 5, 11);
	msg(t, 1, 5, 12);
	msg(t, 0, 5, 13);
	matched(t, first, 5, 11);
	matched(t, second, 5, 12);
	matched(t, third, 5, 13);
	end(t);
}

/*
 * A tag that is appended while the message that it was for is on its way to
 * software is not given to the next one.
 */
static void phase(void **state)
{
	struct tags *t = begin(state);
	uint16_t late;

	msg(t, 0, 1, 10);
	late = append(t, 1, ALL, HOLE);
	unmatched(t, UNEXPECTED, 1, 10);
	told_op(t, APPEND, true, 1);
	msg(t, 0, 1, 20);
	unmatched(t, UNEXPECTED, 1, 20);
	/* One was handled, another has come: still not. */
	sync_to(t, 1, 2);
	msg(t, 0, 1, 30);
	unmatched(t, UNEXPECTED, 1, 30);
	sync_to(t, 3, 3);
	msg(t, 0, 1, 40);
	matched(t, late, 1, 40);
	end(t);
}

/* An append may tell the number, too. */
static void phase_by_append(void **state)
{
	struct tags *t = begin(state);
	uint16_t one, two;

	msg(t, 0, 9, 10);
	unmatched(t, UNEXPECTED, 9, 10);
	one = append(t, 1, ALL, HOLE);
	told_op(t, APPEND, true, 1);
	t->count = 1;
	two = add(t, 2, ALL);
	msg(t, 0, 1, 10);
	matched(t, one, 1, 10);
	msg(t, 0, 2, 10);
	matched(t, two, 2, 10);
	end(t);
}

static void long_message(void **state)
{
	struct tags *t = begin(state);
	uint16_t index = add(t, 4, ALL);
	struct drv_wc wc;

	msg(t, 0, 4, 5000);
	wc = told(t, MLX5_CQE_NO_PACKET, CONSUMED);
	assert_int_equal(be16toh(wc.cqe.app_info), index);
	assert_int_equal(be64toh(wc.cqe.tmh.tag), 4);
	wc = told(t, MLX5_CQE_RESP_SEND, EXPECTED);
	assert_int_equal(be16toh(wc.cqe.app_info), index);
	assert_int_equal(wc.len, 5000);
	assert_true(filled(buf(t, index), 5000, 4));
	msg(t, 0, 4, 5000);
	unmatched(t, UNEXPECTED, 4, 5000);
	end(t);
}

/* Software is told to read: headers in the buffer, as many as fit. */
static void rendezvous(void **state)
{
	struct tags *t = begin(state);
	uint16_t one = add(t, 4, ALL), two = append(t, 4, ALL, 20);
	struct drv_wc wc;

	told_op(t, APPEND, true, 0);
	post(t, 0, IBV_TMH_RNDV, 4, 16);
	wc = told(t, MLX5_CQE_RESP_SEND, SW_RNDV);
	assert_int_equal(be16toh(wc.cqe.app_info), one);
	assert_int_equal(wc.len, 32);
	assert_memory_equal(buf(t, one), t->p->a.mem, 32);
	post(t, 0, IBV_TMH_RNDV, 4, 16);
	wc = told(t, MLX5_CQE_RESP_SEND, SW_RNDV);
	assert_int_equal(wc.len, 20);
	assert_memory_equal(buf(t, two), t->p->a.mem, 20);
	assert_int_equal(buf(t, two)[20], 0);
	post(t, 0, IBV_TMH_RNDV, 4, 16);
	unmatched(t, UNEXPECTED, 4, 16);
	end(t);
}

/* The tag comes back, the queue pair fails, the others go on. */
static void too_long(void **state)
{
	struct tags *t = begin(state);
	uint16_t index = append(t, 1, ALL, 64), other;
	struct drv_wc wc;

	told_op(t, APPEND, true, 0);
	other = add(t, 1, ALL);
	post(t, 0, IBV_TMH_EAGER, 1, 65);
	get_err(&t->p->a, &t->p->a.scq, MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR);
	wc = told(t, MLX5_CQE_RESP_SEND, CANCELED);
	assert_int_equal(be16toh(wc.cqe.app_info), index);
	assert_int_equal(drv_qp_state(&t->rx[0]), DRV_ERR);
	msg(t, 1, 1, 64);
	matched(t, other, 1, 64);
	end(t);
}

static void wrong_key(void **state)
{
	struct tags *t = begin(state);

	t->p->b.mr.key ^= 0x55;
	add(t, 1, ALL);
	t->p->b.mr.key ^= 0x55;
	post(t, 0, IBV_TMH_EAGER, 1, 65);
	get_err(&t->p->a, &t->p->a.scq, MLX5_CQE_SYNDROME_REMOTE_OP_ERR);
	told(t, MLX5_CQE_RESP_SEND, CANCELED);
	end(t);
}

/* Nobody waits forever for a message whose sender went away. */
static void cut_short(void **state)
{
	struct tags *t = begin(state);
	uint16_t late;

	add(t, 1, ALL);
	t->p->rig->budget = 1;
	post(t, 0, IBV_TMH_EAGER, 1, 200000);
	post(t, 1, IBV_TMH_EAGER, 2, 200000);
	cx_hub_run(t->p->rig->hub, 100000);
	told(t, MLX5_CQE_NO_PACKET, CONSUMED);
	assert_int_equal(LIST(t, hw_phase_cnt), 1);
	ok(drv_qp_to(&t->tx[0], MLX5_CMD_OP_2RST_QP));
	ok(drv_qp_to(&t->tx[1], MLX5_CMD_OP_2RST_QP));
	ok(drv_qp_to(&t->rx[0], MLX5_CMD_OP_2ERR_QP));
	told(t, MLX5_CQE_RESP_SEND, CANCELED);
	ok(drv_qp_to(&t->rx[1], MLX5_CMD_OP_2RST_QP));
	/* What did not arrive whole is not counted. */
	late = append(t, 3, ALL, HOLE);
	told_op(t, APPEND, true, 0);
	del(t, late, true);
	end(t);
}

/* Lists that a process has got wrong end its queue pair alone. */
static void wrong_ops(void **state)
{
	static const struct { uint8_t op; uint16_t index; } bad[] = {
		{ DRV_TM_APPEND, TAGS }, { DRV_TM_APPEND, 0xffff },
		{ 3, 0 }, { 15, 0 },
	};
	struct drv_path path = pair_path();
	struct tags *t = begin(state);
	struct drv_wr wr = { .flags = DRV_SIGNALED };
	unsigned int i;

	path.dlid = 2;
	path.qpn = t->cmd.qpn;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		wr.tm.op = bad[i].op;
		wr.tm.index = bad[i].index;
		op(t, &wr);
		get_err(&t->p->b, &t->p->b.rcq,
			MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
		ok(drv_qp_to(&t->cmd, MLX5_CMD_OP_2RST_QP));
		t->cmd.sq_pi = 0;
		t->cmd.db[1] = 0;
		ok(drv_qp_up(&t->cmd, &path));
	}
	end(t);
}

/* The place that is next is taken; and a queue without a list. */
static void wrong_places(void **state)
{
	struct tags *t = begin(state);
	struct drv_wr wr = { .opcode = MLX5_OPCODE_TAG_MATCHING,
			     .flags = DRV_SIGNALED };

	wr.tm.op = DRV_TM_APPEND;
	op(t, &wr);
	get_wc(&t->p->b, &t->p->b.rcq, MLX5_CQE_REQ);
	op(t, &wr);
	get_err(&t->p->b, &t->p->b.rcq, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
	drv_post(&t->tx[0], &wr);
	get_err(&t->p->a, &t->p->a.scq, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
	end(t);
}

static void full(void **state)
{
	struct tags *t = begin(state);
	unsigned int i;

	for (i = 0; i < TAGS; i++)
		add(t, i, ALL);
	for (i = 0; i < TAGS; i++)
		msg(t, 0, TAGS - 1 - i, 8);
	for (i = 0; i < TAGS; i++)
		matched(t, TAGS - 1 - i, TAGS - 1 - i, 8);
	end(t);
}

static void queried(void **state)
{
	struct tags *t = begin(state);
	const struct drv_eqe *e;
	unsigned int n;

	add(t, 1, ALL);
	msg(t, 0, 2, 8);
	unmatched(t, UNEXPECTED, 2, 8);
	msg(t, 0, 2, 8);
	unmatched(t, UNEXPECTED, 2, 8);
	sync_to(t, 1, 2);
	assert_int_equal(LIST(t, log_matching_list_sz), DRV_LOG_TAGS);
	assert_int_equal(LIST(t, append_next_index), 1);
	assert_int_equal(LIST(t, hw_phase_cnt), 2);
	assert_int_equal(LIST(t, sw_phase_cnt), 1);
	ok(drv_srq_arm(&t->p->b.drv, &t->srq, 15));
	e = drv_event(&t->p->b.drv, &t->p->b.drv.async_eq, CX_EV_SRQ_LIMIT, &n);
	assert_int_equal(n, 1);
	assert_int_equal(drv_event_qpn(e), t->srq.srqn);
	end(t);
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
		T(rendezvous),
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
