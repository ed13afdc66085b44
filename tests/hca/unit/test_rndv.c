// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Rendezvous of tag matching: device B reads what A's request names, and tells A
 * so (FIN). B's driver appends tags and looks at completions, no more.
 */
#include <stdlib.h>

#include "tags.h"

#define HEAD	64u		/* octets of a request: headers, and some for software */
#define DATA	0x10000u	/* what requests name, in A's memory */
#define FINS	0xf0000u	/* A's receives, of HEAD octets each */
#define ROOM	128u		/* rendezvous of a queue pair that are under way */
#define ROUND	64u		/* of them, before the first comes again */

struct request {
	struct ibv_tmh tmh;
	struct ibv_rvh rvh;
	uint8_t more[HEAD - sizeof(struct ibv_tmh) - sizeof(struct ibv_rvh)];
};

static uint8_t *fin_at(struct tags *t, int i, uint16_t n)
{
	return t->p->a.mem + FINS + ((uint32_t)i * ROUND + n % ROUND) * HEAD;
}

/* Queue pair i of A has n receives for FINs. */
static void receives(struct tags *t, int i, unsigned int n)
{
	while (n--)
		drv_recv(&t->tx[i], &t->p->a.mr,
			 fin_at(t, i, t->tx[i].rq_pi) - t->p->a.mem, HEAD);
}

static struct request request(struct tags *t, uint64_t tag, uint32_t off,
			      uint32_t len)
{
	struct request r = {
		.tmh = { .opcode = IBV_TMH_RNDV, .app_ctx = htobe32(PRIVATE),
			 .tag = htobe64(tag) },
		.rvh = { .va = htobe64(t->p->a.mr.va + off),
			 .rkey = htobe32(t->p->a.mr.key),
			 .len = htobe32(len) },
	};

	memset(r.more, 0x77, sizeof(r.more));
	return r;
}

/* The first len octets of it, as one message. */
static void send_as(struct tags *t, int i, const struct request *r, uint32_t len)
{
	struct drv_wr wr = { .opcode = MLX5_OPCODE_SEND, .inl = r, .inl_len = len,
			     .flags = DRV_SIGNALED | DRV_INLINE };

	drv_post(&t->tx[i], &wr);
}

/* A request for data that are a pattern, and a receive for its FIN. */
static void ask(struct tags *t, int i, uint64_t tag, uint32_t off, uint32_t len)
{
	struct request r = request(t, tag, off, len);

	fill(t->p->a.mem + off, len, tag);
	receives(t, i, 1);
	send_as(t, i, &r, sizeof(r));
}

static void sent(struct tags *t)
{
	get_wc(&t->p->a, &t->p->a.scq, MLX5_CQE_REQ);
}

/* A FIN came to queue pair i: a copy of the headers. */
static void fin(struct tags *t, int i, uint64_t tag, uint32_t off, uint32_t len)
{
	struct drv_wc wc = get_wc(&t->p->a, &t->p->a.rcq, MLX5_CQE_RESP_SEND);
	struct request r = request(t, tag, off, len);

	assert_int_equal(wc.qpn, t->tx[i].qpn);
	assert_int_equal(wc.len, sizeof(r.tmh) + sizeof(r.rvh));
	r.tmh.opcode = IBV_TMH_FIN;
	assert_memory_equal(fin_at(t, i, wc.index), &r, wc.len);
}

static void no_fin(struct tags *t)
{
	no_wc(&t->p->a, &t->p->a.rcq);
}

static void consumed(struct tags *t, uint16_t index, uint64_t tag)
{
	struct drv_wc wc = tags_told(t, MLX5_CQE_NO_PACKET, CONSUMED);

	assert_int_equal(be16toh(wc.cqe.app_info), index);
	assert_int_equal(be64toh(wc.cqe.tmh.tag), tag);
	assert_int_equal(be32toh(wc.cqe.tmh.app_ctx), PRIVATE);
}

/* The data are there; or they will never be. */
static void arrived(struct tags *t, uint16_t index, uint64_t tag, uint32_t len)
{
	struct drv_wc wc = tags_told(t, MLX5_CQE_RESP_SEND, EXPECTED);

	const struct drv_qp *rx = &t->rx[wc.qpn == t->rx[1].qpn];

	assert_int_equal(wc.qpn, rx->qpn);
	assert_int_equal(wc.src_qpn, t->tx[rx - t->rx].qpn);
	assert_int_equal(wc.slid, 1);
	assert_int_equal(be16toh(wc.cqe.app_info), index);
	assert_int_equal(wc.cqe.tmh.tag, 0);
	assert_int_equal(wc.len, len);
	assert_true(filled(tags_buf(t, index), len, tag));
}

static void canceled(struct tags *t, uint16_t index)
{
	struct drv_wc wc = tags_told(t, MLX5_CQE_RESP_SEND, CANCELED);

	assert_int_equal(be16toh(wc.cqe.app_info), index);
	assert_int_equal(wc.len, 0);
}

/* What is awaited of a message. */
struct match {
	uint16_t index;
	uint64_t tag;
	uint32_t len;
	bool eager;
};

static void match_is(struct tags *t, const struct match *m, bool data)
{
	struct drv_wc wc;

	assert_true(drv_poll(&t->p->b.rcq, &wc));
	assert_int_equal(wc.cqe.app_op, data ? EXPECTED :
			 m->eager ? CONSUMED_MSG : CONSUMED);
	assert_int_equal(be16toh(wc.cqe.app_info), m->index);
	if (!data && !m->eager)
		return;
	assert_int_equal(wc.len, m->len);
	assert_true(filled(tags_buf(t, m->index), m->len, m->tag));
}

/* Whether the next completion is of data that were read. */
static bool data_next(struct tags *t)
{
	const struct drv_cq *cq = &t->p->b.rcq;
	uint32_t at = cq->ci & ((1u << cq->log_size) - 1);

	return ((const struct mlx5_cqe64 *)(cq->buf + at * 64))->app_op == EXPECTED;
}

/*
 * Matches are told in the order of messages, and data of rendezvous in the same order,
 * which come in their own time.
 */
static void in_order(struct tags *t, const struct match *m, unsigned int nr)
{
	unsigned int matched = 0, data = 0;

	rig_run(t->p->rig);
	while (matched < nr || data < nr) {
		if (data < nr && m[data].eager) {
			data++;
		} else if (data_next(t)) {
			assert_true(data < matched);
			match_is(t, &m[data++], true);
		} else {
			assert_true(matched < nr);
			match_is(t, &m[matched++], false);
		}
	}
}

/* ---- what matches ---- */

/* All of it happens while B's driver looks at nothing. */
static void expected(void **state)
{
	static const uint32_t bytes[] = { 1000, 0, 1, 1024, 65536, 65537, 200000 };
	struct tags *t = tags_begin(state);
	unsigned int i;
	uint16_t index;

	for (i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		index = tags_add(t, 7 + i, ALL);
		ask(t, i & 1, 7 + i, DATA, bytes[i]);
		sent(t);
		fin(t, i & 1, 7 + i, DATA, bytes[i]);
		assert_true(filled(tags_buf(t, index), bytes[i], 7 + i));
		consumed(t, index, 7 + i);
		arrived(t, index, 7 + i, bytes[i]);
	}
	assert_int_equal(LIST(t, hw_phase_cnt), 0);
	tags_end(t);
}

/* All of the request is in a buffer of the queue; nobody reads. */
static void unexpected(void **state)
{
	struct tags *t = tags_begin(state);
	uint16_t other = tags_add(t, 1, ALL), late;
	struct request r = request(t, 7, DATA, 1000);
	struct drv_wc wc;

	ask(t, 0, 7, DATA, 1000);
	sent(t);
	late = tags_append(t, 7, ALL, LONG);
	wc = tags_told(t, MLX5_CQE_RESP_SEND, UNEXPECTED);
	assert_int_equal(wc.len, HEAD);
	assert_memory_equal(t->p->b.mem + PLAIN + wc.index * HOLE, &r, HEAD);
	tags_told_op(t, APPEND, true, 1);
	no_fin(t);
	/* A tag that was appended meanwhile is not for the next request. */
	ask(t, 0, 7, DATA, 1000);
	sent(t);
	wc = tags_told(t, MLX5_CQE_RESP_SEND, UNEXPECTED);
	no_fin(t);
	ask(t, 1, 1, DATA, 500);
	sent(t);
	fin(t, 1, 1, DATA, 500);
	consumed(t, other, 1);
	arrived(t, other, 1, 500);
	tags_sync(t, 2, 2);
	ask(t, 0, 7, DATA, 900);
	sent(t);
	fin(t, 0, 7, DATA, 900);
	consumed(t, late, 7);
	arrived(t, late, 7, 900);
	tags_end(t);
}

/* The first that was appended is for the first that came, of either kind. */
static void order(void **state)
{
	struct tags *t = tags_begin(state);
	uint16_t one = tags_add(t, 5, ALL), two = tags_add(t, 5, 0xf);
	uint16_t three = tags_add(t, 5, ALL), four = tags_add(t, 0, 0);
	const struct match m[] = { { one, 5, 700, false }, { two, 5, 800, false },
				   { three, 5, 40, true }, { four, 0x25, 300, false } };

	ask(t, 0, 5, DATA, 700);
	ask(t, 0, 5, DATA + 0x10000, 800);
	tags_post(t, 0, IBV_TMH_EAGER, 5, 40);
	ask(t, 0, 0x25, DATA + 0x20000, 300);
	in_order(t, m, 4);
	tags_end(t);
}

/* The next completion of the queue, in as few steps as it takes. */
static uint8_t step(struct tags *t)
{
	struct drv_wc wc;
	unsigned int n;

	for (n = 0; n < 1000 && !drv_poll(&t->p->b.rcq, &wc); n++)
		cx_hub_run(t->p->rig->hub, 1);
	assert_true(n < 1000);
	return wc.cqe.app_op;
}

/* Long rendezvous hold up no message that has its data with it. */
static void eager_beside(void **state)
{
	struct tags *t = tags_begin(state);
	unsigned int i, data = 0;

	for (i = 0; i < 4; i++)
		tags_add(t, 5, ALL);
	tags_add(t, 6, ALL);
	tags_add(t, 6, ALL);
	for (i = 0; i < 4; i++)
		ask(t, 0, 5, DATA, 250000);
	assert_int_equal(step(t), CONSUMED);
	tags_post(t, 0, IBV_TMH_EAGER, 6, 100);
	tags_post(t, 1, IBV_TMH_EAGER, 6, 100);
	for (i = 0; i < 5; i++)
		data += step(t) == EXPECTED;
	assert_true(data < 4);
	for (i = 0; i < 4; i++)
		data += step(t) == EXPECTED;
	assert_int_equal(data, 4);
	for (i = 0; i < 4; i++)
		fin(t, 0, 5, DATA, 250000);
	tags_end(t);
}

/* As many as there are tags, from one sender, then again. */
static void many(void **state)
{
	struct tags *t = tags_begin(state);
	struct match m[TAGS];
	unsigned int i, round;

	for (round = 0; round < 50; round++) {
		for (i = 0; i < TAGS; i++)
			tags_add(t, i, ALL);
		/* The last one first. */
		for (i = 0; i < TAGS; i++) {
			m[i] = (struct match){ TAGS - 1 - i, TAGS - 1 - i, 1000 + i, false };
			ask(t, 0, m[i].tag, DATA + i * HOLE, m[i].len);
		}
		for (i = 0; i < TAGS; i++) {
			sent(t);
			fin(t, 0, m[i].tag, DATA + i * HOLE, m[i].len);
		}
		in_order(t, m, TAGS);
	}
	tags_end(t);
}

static void cancel(void **state)
{
	struct tags *t = tags_begin(state);
	uint16_t one = tags_add(t, 1, ALL), two = tags_add(t, 2, ALL);
	struct drv_wr wr = { .tm = { .op = DRV_TM_REMOVE, .flags = DRV_TM_CQE,
				     .index = two } };

	tags_del(t, one, true);
	ask(t, 0, 1, DATA, 100);
	sent(t);
	tags_told(t, MLX5_CQE_RESP_SEND, UNEXPECTED);
	no_fin(t);
	/* The request has the tag, the data are under way: too late. */
	ask(t, 1, 2, DATA, 250000);
	assert_int_equal(step(t), CONSUMED);
	tags_op(t, &wr);
	assert_int_equal(step(t), REMOVE);
	arrived(t, two, 2, 250000);
	fin(t, 1, 2, DATA, 250000);
	t->count = 1;
	tags_del(t, two, false);
	tags_end(t);
}

/* ---- what is left to software ---- */

/* Software finds the headers in the buffer, as many as fit, and reads itself. */
static void by_software(struct tags *t, uint16_t index, const struct request *r,
			uint32_t len)
{
	struct drv_wc wc = tags_told(t, MLX5_CQE_RESP_SEND, SW_RNDV);

	assert_int_equal(be16toh(wc.cqe.app_info), index);
	assert_int_equal(be64toh(wc.cqe.tmh.tag), be64toh(r->tmh.tag));
	assert_int_equal(wc.len, len);
	assert_memory_equal(tags_buf(t, index), r, len);
	assert_int_equal(tags_buf(t, index)[len], 0);
	sent(t);
	no_fin(t);
}

static void too_long(void **state)
{
	struct tags *t = tags_begin(state);
	struct request r = request(t, 4, DATA, 301);
	uint16_t index = tags_append(t, 4, ALL, 300);

	tags_told_op(t, APPEND, true, 0);
	send_as(t, 0, &r, sizeof(r));
	by_software(t, index, &r, HEAD);
	index = tags_append(t, 4, ALL, 20);
	tags_told_op(t, APPEND, true, 0);
	send_as(t, 0, &r, sizeof(r));
	by_software(t, index, &r, 20);
	/* More than a message may have. */
	r.rvh.len = htobe32((1u << 30) + 1);
	index = tags_append(t, 4, ALL, 0x7fffffff);
	tags_told_op(t, APPEND, true, 0);
	send_as(t, 0, &r, sizeof(r));
	by_software(t, index, &r, HEAD);
	index = tags_append(t, 4, ALL, 300);
	tags_told_op(t, APPEND, true, 0);
	ask(t, 0, 4, DATA, 300);
	sent(t);
	fin(t, 0, 4, DATA, 300);
	consumed(t, index, 4);
	arrived(t, index, 4, 300);
	tags_end(t);
}

/* Headers that are not whole name no data. */
static void half_a_header(void **state)
{
	struct tags *t = tags_begin(state);
	struct request r = request(t, 4, DATA, 10);
	uint16_t one = tags_add(t, 4, ALL), two = tags_add(t, 4, ALL);

	send_as(t, 0, &r, 31);
	by_software(t, one, &r, 31);
	receives(t, 0, 1);
	send_as(t, 0, &r, 32);
	sent(t);
	fin(t, 0, 4, DATA, 10);
	consumed(t, two, 4);
	fill(t->p->a.mem + DATA, 10, 4);
	tags_told(t, MLX5_CQE_RESP_SEND, EXPECTED);
	tags_end(t);
}

/* Queue pair 0 of B anew. */
static void again(struct tags *t, struct drv_qp_init *init)
{
	struct drv_path path = pair_path();

	init->type = DRV_RC;
	init->scq = init->rcq = &t->p->b.scq;
	init->srq = &t->srq;
	ok(drv_qp_destroy(&t->rx[0]));
	ok(drv_qp(&t->p->b.drv, &t->rx[0], init));
	ok(drv_qp_to(&t->tx[0], MLX5_CMD_OP_2RST_QP));
	t->tx[0].sq_pi = t->tx[0].rq_pi = 0;
	t->tx[0].db[0] = t->tx[0].db[1] = 0;
	path.mtu = 3;
	ok(drv_connect(&t->tx[0], 1, &t->rx[0], 2, &path));
}

/* A queue pair with a send queue of its own: the device has none to read with. */
static void no_queue_for_it(void **state)
{
	struct tags *t = tags_begin(state);
	uint16_t index = tags_add(t, 4, ALL);
	struct request r = request(t, 4, DATA, 10);
	struct drv_qp_init init = { 0 };

	again(t, &init);
	send_as(t, 0, &r, sizeof(r));
	by_software(t, index, &r, HEAD);
	tags_end(t);
}

static void refused(void **state)
{
	struct tags *t = tags_begin(state);
	struct drv_qp_init init = { .type = DRV_RC, .scq = &t->p->b.scq,
				    .rcq = &t->p->b.scq, .rndv = true };
	struct drv_qp qp;

	assert_int_equal(drv_qp(&t->p->b.drv, &qp, &init), CX_BAD_PARAM);
	init.no_sq = true;
	assert_int_equal(drv_qp(&t->p->b.drv, &qp, &init), CX_BAD_PARAM);
	init.srq = &t->srq;
	init.no_sq = false;
	assert_int_equal(drv_qp(&t->p->b.drv, &qp, &init), CX_BAD_PARAM);
	tags_end(t);
}

/* ---- protection ---- */

/*
 * Three were sent without a receive for a FIN: the first is read, and its FIN has to
 * wait; the others wait behind it.
 */
static void held(struct tags *t, uint16_t one, uint16_t two, uint16_t three)
{
	uint16_t index[3], *next = index;
	struct drv_wc wc;
	unsigned int i;

	for (i = 0; i < 3; i++)
		sent(t);
	for (i = 0; i < 4; i++) {
		assert_true(drv_poll(&t->p->b.rcq, &wc));
		if (wc.cqe.app_op == EXPECTED)
			assert_int_equal(be16toh(wc.cqe.app_info), one);
		else
			*next++ = be16toh(wc.cqe.app_info);
	}
	assert_true(next == index + 3);
	assert_int_equal(index[0], one);
	assert_int_equal(index[1], two);
	assert_int_equal(index[2], three);
}

/* The sender's memory is not what its header says: the connection ends. */
static void wrong_remote_key(void **state)
{
	struct tags *t = tags_begin(state);
	uint16_t one = tags_add(t, 1, ALL), two = tags_add(t, 1, ALL);
	uint16_t three = tags_add(t, 1, ALL), four = tags_add(t, 4, ALL);
	struct request r = request(t, 1, DATA, 1000);
	const struct drv_eqe *e;
	unsigned int n;

	send_as(t, 0, &r, sizeof(r));
	r.rvh.rkey ^= htobe32(0x55);
	send_as(t, 0, &r, sizeof(r));
	r.rvh.rkey ^= htobe32(0x55);
	send_as(t, 0, &r, sizeof(r));
	held(t, one, two, three);
	receives(t, 0, 1);
	rig_sleep(t->p->rig, 100 * MS);
	fin(t, 0, 1, DATA, 1000);
	canceled(t, two);
	canceled(t, three);
	assert_int_equal(drv_qp_state(&t->rx[0]), DRV_ERR);
	assert_int_equal(drv_qp_state(&t->tx[0]), DRV_ERR);
	e = drv_event(&t->p->a.drv, &t->p->a.drv.async_eq, CX_EV_WQ_ACCESS, &n);
	assert_int_equal(n, 1);
	assert_int_equal(drv_event_qpn(e), t->tx[0].qpn);
	ask(t, 1, 4, DATA, 1000);
	sent(t);
	fin(t, 1, 4, DATA, 1000);
	consumed(t, four, 4);
	arrived(t, four, 4, 1000);
	tags_end(t);
}

static void wrong_local_key(void **state)
{
	struct tags *t = tags_begin(state);
	uint16_t index;

	t->p->b.mr.key ^= 0x55;
	index = tags_add(t, 1, ALL);
	t->p->b.mr.key ^= 0x55;
	ask(t, 0, 1, DATA, 65);
	sent(t);
	consumed(t, index, 1);
	canceled(t, index);
	no_fin(t);
	assert_int_equal(tags_buf(t, index)[0], 0);
	tags_end(t);
}

/* Tagged buffers are of the queue's protection domain, whoever receives. */
static void other_domain(void **state)
{
	struct drv_qp_init init = { .no_sq = true };
	struct tags *t = tags_begin(state);
	uint16_t one = tags_add(t, 1, ALL), two = tags_add(t, 2, ALL);

	ok(drv_simple(&t->p->b.drv, MLX5_CMD_OP_ALLOC_PD, 0, &init.pd));
	again(t, &init);
	tags_eager(t, 0, 1, 100);
	tags_matched(t, one, 1, 100);
	ask(t, 0, 2, DATA, 100);
	sent(t);
	fin(t, 0, 2, DATA, 100);
	consumed(t, two, 2);
	arrived(t, two, 2, 100);
	again(t, &(struct drv_qp_init){ .no_sq = true });
	ok(drv_simple(&t->p->b.drv, MLX5_CMD_OP_DEALLOC_PD, init.pd, NULL));
	tags_end(t);
}

/* ---- time ---- */

/* The data are software's before the sender has heard of it. */
static void fin_waits_for_a_receive(void **state)
{
	struct tags *t = tags_begin(state);
	uint16_t index = tags_add(t, 1, ALL);
	struct request r = request(t, 1, DATA, 3000);

	fill(t->p->a.mem + DATA, 3000, 1);
	send_as(t, 0, &r, sizeof(r));
	sent(t);
	consumed(t, index, 1);
	arrived(t, index, 1, 3000);
	rig_sleep(t->p->rig, 100 * MS);
	no_fin(t);
	receives(t, 0, 2);
	rig_sleep(t->p->rig, 100 * MS);
	fin(t, 0, 1, DATA, 3000);
	no_fin(t);
	tags_end(t);
}

/* A device has room for so many; the sender has to wait, and loses nothing. */
static void too_many(void **state)
{
	struct tags *t = tags_begin(state);
	struct request r = request(t, 1, DATA, 100);
	unsigned int i, nr, data = 0;
	struct drv_wc wc;

	for (i = 0; i <= ROOM; i++) {
		tags_append(t, 1, ALL, LONG);
		send_as(t, 0, &r, sizeof(r));
		if (i < ROOM)
			sent(t);
		rig_run(t->p->rig);
		while (drv_poll(&t->p->b.rcq, &wc))
			data += wc.cqe.app_op == EXPECTED;
	}
	assert_int_equal(data, 1);
	no_wc(&t->p->a, &t->p->a.scq);
	for (i = 0; i < 3; i++) {
		receives(t, 0, ROUND);
		rig_sleep(t->p->rig, 10 * MS);
		for (nr = 0; drv_poll(&t->p->a.rcq, &wc); nr++)
			assert_int_equal(wc.len, 32);
		assert_int_equal(nr, i < 2 ? ROUND : 1);
		while (drv_poll(&t->p->b.rcq, &wc))
			data += wc.cqe.app_op == EXPECTED;
	}
	sent(t);
	assert_int_equal(data, ROOM + 1);
	tags_end(t);
}

static void lossy(struct tags *t, uint32_t loss)
{
	cx_wire_loss(t->p->a.drv.dev->cx, loss);
	cx_wire_loss(t->p->b.drv.dev->cx, loss);
}

/* One of several sizes, the last of many frames. */
static uint32_t some_bytes(unsigned int round, unsigned int i)
{
	return i < 3 ? round * 300 + i : 90000 + round * 3000;
}

/* Each FIN comes once, behind the data, whatever the wire loses. */
static void lossy_wire(void **state)
{
	struct tags *t = tags_begin(state);
	unsigned int round, i;
	struct match m[4];

	lossy(t, 100);
	for (round = 0; round < 40; round++) {
		for (i = 0; i < 4; i++)
			m[i] = (struct match){ tags_add(t, i, ALL), i,
					       some_bytes(round, i), false };
		for (i = 0; i < 4; i++)
			ask(t, 0, i, DATA + i * 0x20000, m[i].len);
		rig_sleep(t->p->rig, 1000 * MS);
		for (i = 0; i < 4; i++) {
			sent(t);
			fin(t, 0, i, DATA + i * 0x20000, m[i].len);
		}
		no_fin(t);
		in_order(t, m, 4);
	}
	assert_true(cx_stats(t->p->b.drv.dev->cx)->retries > 20);
	lossy(t, 0);
	tags_end(t);
}

/* Who sleeps is woken by data that were solicited, or will never be there. */
static void solicited(void **state)
{
	struct tags *t = tags_begin(state);
	uint16_t one = tags_add(t, 1, ALL), two = tags_add(t, 1, ALL);
	uint16_t three = tags_add(t, 1, ALL);
	struct request r = request(t, 1, DATA, 10);
	struct drv_wr wr = { .opcode = MLX5_OPCODE_SEND, .inl = &r,
			     .inl_len = sizeof(r), .flags = DRV_INLINE | DRV_SOLICITED };
	const struct match m[] = { { one, 1, 10, false }, { two, 1, 10, false } };
	struct drv_cq *cq = &t->p->b.rcq;

	drv_arm(&t->p->b.drv, cq, true);
	ask(t, 0, 1, DATA, 10);
	rig_run(t->p->rig);
	assert_null(drv_eq_next(cq->eq));
	receives(t, 0, 1);
	drv_post(&t->tx[0], &wr);
	rig_run(t->p->rig);
	assert_non_null(drv_eq_next(cq->eq));
	in_order(t, m, 2);
	cq->arm_sn++;
	drv_eq_update(&t->p->b.drv, cq->eq, true);
	drv_arm(&t->p->b.drv, cq, true);
	r.rvh.rkey ^= htobe32(0x55);
	send_as(t, 0, &r, sizeof(r));
	rig_run(t->p->rig);
	assert_non_null(drv_eq_next(cq->eq));
	drv_eq_update(&t->p->b.drv, cq->eq, true);
	consumed(t, three, 1);
	canceled(t, three);
	tags_end(t);
}

/* ---- states ---- */

/* Data of which a part has come. */
static void cut_short(void **state)
{
	struct tags *t = tags_begin(state);
	uint16_t index = tags_add(t, 1, ALL);

	ask(t, 0, 1, DATA, 250000);
	assert_int_equal(step(t), CONSUMED);
	ok(drv_qp_to(&t->rx[0], MLX5_CMD_OP_2ERR_QP));
	canceled(t, index);
	sent(t);
	tags_end(t);
}

/* What came in RTR is read in RTS. */
static void before_rts(void **state)
{
	struct drv_path path = pair_path();
	struct tags *t = tags_begin(state);
	uint16_t index = tags_add(t, 1, ALL);

	path.mtu = 3;
	path.dlid = 1;
	path.qpn = t->tx[0].qpn;
	ok(drv_qp_to(&t->rx[0], MLX5_CMD_OP_2RST_QP));
	ok(drv_qp_init(&t->rx[0], &path));
	ok(drv_qp_rtr(&t->rx[0], &path));
	ask(t, 0, 1, DATA, 1000);
	sent(t);
	consumed(t, index, 1);
	no_wc(&t->p->b, &t->p->b.rcq);
	ok(drv_qp_rts(&t->rx[0], &path));
	fin(t, 0, 1, DATA, 1000);
	arrived(t, index, 1, 1000);
	tags_end(t);
}

/* The sender is gone, and nobody answers the device. */
static void sender_gone(void **state)
{
	struct tags *t = tags_begin(state);
	uint16_t one = tags_add(t, 1, ALL), two = tags_add(t, 1, ALL);
	uint16_t three = tags_add(t, 1, ALL);
	struct request r = request(t, 1, DATA, 1000);
	unsigned int i;

	for (i = 0; i < 3; i++)
		send_as(t, 0, &r, sizeof(r));
	held(t, one, two, three);
	ok(drv_qp_to(&t->tx[0], MLX5_CMD_OP_2RST_QP));
	no_wc(&t->p->b, &t->p->b.rcq);
	rig_sleep(t->p->rig, 1000 * MS);
	canceled(t, two);
	canceled(t, three);
	assert_int_equal(drv_qp_state(&t->rx[0]), DRV_ERR);
	tags_end(t);
}

/* Software gets back what the device will not fill any more. */
static void halted(void **state)
{
	static const uint16_t how[] = { MLX5_CMD_OP_2ERR_QP, MLX5_CMD_OP_2RST_QP };
	struct tags *t = tags_begin(state);
	struct drv_path path = pair_path();
	uint16_t one, two, three;
	struct request r;
	unsigned int i, n;

	for (i = 0; i < 2; i++) {
		one = tags_add(t, 1, ALL);
		two = tags_add(t, 1, ALL);
		three = tags_add(t, 1, ALL);
		r = request(t, 1, DATA, 1000);
		for (n = 0; n < 3; n++)
			send_as(t, i, &r, sizeof(r));
		held(t, one, two, three);
		ok(drv_qp_to(&t->rx[i], how[i]));
		canceled(t, two);
		canceled(t, three);
		no_wc(&t->p->b, &t->p->b.rcq);
	}
	/* A queue pair that begins anew has forgotten them. */
	path.mtu = 3;
	ok(drv_qp_to(&t->tx[1], MLX5_CMD_OP_2RST_QP));
	t->tx[1].sq_pi = t->tx[1].rq_pi = 0;
	t->tx[1].db[0] = t->tx[1].db[1] = 0;
	ok(drv_connect(&t->tx[1], 1, &t->rx[1], 2, &path));
	one = tags_add(t, 1, ALL);
	ask(t, 1, 1, DATA, 100);
	sent(t);
	fin(t, 1, 1, DATA, 100);
	consumed(t, one, 1);
	arrived(t, one, 1, 100);
	tags_end(t);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, pair_setup, pair_teardown)
	const struct CMUnitTest tests[] = {
		T(expected),
		T(unexpected),
		T(order),
		T(eager_beside),
		T(many),
		T(cancel),
		T(too_long),
		T(half_a_header),
		T(no_queue_for_it),
		T(refused),
		T(wrong_remote_key),
		T(wrong_local_key),
		T(other_domain),
		T(fin_waits_for_a_receive),
		T(too_many),
		T(lossy_wire),
		T(solicited),
		T(before_rts),
		T(cut_short),
		T(sender_gone),
		T(halted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
