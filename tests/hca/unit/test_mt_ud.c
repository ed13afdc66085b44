// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Datagrams of the InfiniHost, groups, shared receive queues, the port and its agents;
 * an InfiniHost and a ConnectX-3 on one wire.
 */
#include "mt_pair.h"

static const uint8_t group[16] = { 0xff, 0x12, 0x40, 0x1b, [15] = 0x42 };

enum { SET_IB = 0xc, READ_MGM = 0x25, WRITE_MGM = 0x26, ARM_SRQ = 0x40 };
enum { GSI_QKEY = 0x80010000u };

static void post(struct mt_pair *p, uint16_t dlid, uint32_t qpn, uint32_t qkey,
		 const uint8_t *dgid, uint32_t len)
{
	struct m4_sge sge = { p->a.mr.va, len, p->a.mr.key };
	struct m4_wr wr = { .opcode = OP_SEND, .sge = &sge, .nr_sge = 1,
			    .flags = M4_SIGNALED,
			    .ud = { dlid, qpn, qkey, dgid } };

	m4_fill(p->a.mem, len, len);
	mt_post(&p->a.qp, &wr);
}

static void by_lid(void **state)
{
	static const uint32_t len[] = { 0, 1, 256, 2048 };
	struct mt_pair *p = *state;
	struct m4_wc wc;
	size_t i;

	for (i = 0; i < 4; i++) {
		mt_recv(&p->b.qp, &p->b.mr, 0, 2048 + 40);
		post(p, 2, p->b.qp.qpn, M4_QKEY, NULL, len[i]);
		wc = mt_good(&p->b, &p->b.rcq, RECV_SEND);
		assert_int_equal(wc.len, len[i] + 40);
		assert_int_equal(wc.src_qpn, p->a.qp.qpn);
		assert_int_equal(wc.slid, 1);
		assert_int_equal(wc.pkey_index, 0);
		assert_false(wc.grh);
		assert_true(m4_filled(p->b.mem + 40, len[i], len[i]));
		mt_good(&p->a, &p->a.scq, OP_SEND);
	}
	/* A datagram is a packet, and no greater. */
	post(p, 2, p->b.qp.qpn, M4_QKEY, NULL, 2049);
	mt_bad(&p->a, &p->a.scq, LOC_LEN);
}

static void with_a_grh(void **state)
{
	static const uint8_t a[16] = { 0xfe, 0x80, [9] = 0x02, 0xc9, 0x03, 0,
				       0, 0x0a, 0x01 };
	static const uint8_t b[16] = { 0xfe, 0x80, [9] = 0x02, 0xc9, 0x03, 0,
				       0, 0x0b, 0x02 };
	struct mt_pair *p = *state;

	mt_recv(&p->b.qp, &p->b.mr, 0, 200);
	post(p, 2, p->b.qp.qpn, M4_QKEY, b, 100);
	assert_true(mt_good(&p->b, &p->b.rcq, RECV_SEND).grh);
	assert_memory_equal(p->b.mem + 8, a, 16);
	assert_memory_equal(p->b.mem + 24, b, 16);
	assert_true(m4_filled(p->b.mem + 40, 100, 100));
	mt_good(&p->a, &p->a.scq, OP_SEND);
}

static void wrong_key(void **state)
{
	struct mt_pair *p = *state;

	mt_recv(&p->b.qp, &p->b.mr, 0, 200);
	post(p, 2, p->b.qp.qpn, M4_QKEY + 1, NULL, 10);
	post(p, 2, p->b.qp.qpn ^ 0x400000, M4_QKEY, NULL, 10);
	mt_good(&p->a, &p->a.scq, OP_SEND);
	mt_good(&p->a, &p->a.scq, OP_SEND);
	mt_none(&p->b, &p->b.rcq);
}

/* Members have a bit; the last that leaves takes the group with it. */
static void multicast(void **state)
{
	struct mt_pair *p = *state;
	struct mt_qp_init init = { .st = M4_UD, .scq = &p->b.scq, .rcq = &p->b.rcq };
	struct m4_path path = m4_path();
	struct mt_qp second;
	unsigned int left;

	path.rd = false;
	ok(mt_qp(&p->b.m, &second, &init));
	ok(mt_qp_up(&second, &path));
	ok(mt_mcg(&p->b.m, &p->b.qp, group, true));
	ok(mt_mcg(&p->b.m, &second, group, true));
	for (left = 2; left <= 2; left--) {
		mt_recv(&p->b.qp, &p->b.mr, 0, 200);
		mt_recv(&second, &p->b.mr, 200, 200);
		post(p, 0xc001, 0xffffff, M4_QKEY, group, 77);
		mt_good(&p->a, &p->a.scq, OP_SEND);
		if (left == 2)
			assert_true(mt_good(&p->b, &p->b.rcq, RECV_SEND).grh);
		if (left)
			assert_int_equal(mt_good(&p->b, &p->b.rcq, RECV_SEND).len, 117);
		mt_none(&p->b, &p->b.rcq);
		if (left)
			ok(mt_mcg(&p->b.m, left == 2 ? &p->b.qp : &second, group, false));
	}
	ok(mt_qp_to_rst(&second));
	ok(mt_mr_free(&p->b.m, &second.buf.mr));
}

/* Who has no bit is no member. */
static void no_member(void **state)
{
	struct mt_pair *p = *state;
	uint8_t e[256] = { 0 };

	memcpy(e + 16, group, 16);
	m4_put32(e, 32, p->b.qp.qpn);
	ok(m4_box(&p->b.m.v, WRITE_MGM, 0, 3, e, 256, NULL, 0));
	mt_recv(&p->b.qp, &p->b.mr, 0, 200);
	post(p, 0xc001, 0xffffff, M4_QKEY, group, 5);
	mt_good(&p->a, &p->a.scq, OP_SEND);
	mt_none(&p->b, &p->b.rcq);
}

/* An entry of the second half counts if a chain leads to it. */
static void chains(void **state)
{
	enum { HEAD = 3, REST = (1 << (MT_LOG_MCG - 1)) + 8 };
	struct mt_pair *p = *state;
	uint8_t head[256] = { 0 }, rest[256] = { 0 };
	unsigned int linked;

	memcpy(head + 16, group, 15);
	memcpy(rest + 16, group, 16);
	m4_put32(rest, 32, 1u << 31 | p->b.qp.qpn);
	ok(m4_box(&p->b.m.v, WRITE_MGM, 0, REST, rest, 256, NULL, 0));
	for (linked = 0; linked < 2; linked++) {
		m4_put32(head, 0, linked ? REST << 6 : 0);
		ok(m4_box(&p->b.m.v, WRITE_MGM, 0, HEAD, head, 256, NULL, 0));
		mt_recv(&p->b.qp, &p->b.mr, 0, 200);
		post(p, 0xc001, 0xffffff, M4_QKEY, group, 5);
		mt_good(&p->a, &p->a.scq, OP_SEND);
		if (linked)
			mt_good(&p->b, &p->b.rcq, RECV_SEND);
		mt_none(&p->b, &p->b.rcq);
	}
	ok(m4_box(&p->b.m.v, READ_MGM, 0, REST, NULL, 0, head, 256));
	assert_memory_equal(head, rest, 256);
}

/* Connects a to b, which receives by an SRQ. */
static void shared_begin(struct mt_pair *p, struct mt_srq *srq)
{
	struct mt_qp_init init = { .st = M4_RC, .scq = &p->a.scq, .rcq = &p->a.rcq };
	struct m4_path path = m4_path();

	ok(mt_srq(&p->b.m, srq, 4));
	ok(mt_qp(&p->a.m, &p->a.qp, &init));
	init.scq = &p->b.scq;
	init.rcq = &p->b.rcq;
	init.srq = srq;
	ok(mt_qp(&p->b.m, &p->b.qp, &init));
	mt_connect(p, &path);
}

static void shared_end(struct mt_pair *p, struct mt_srq *srq)
{
	mt_unmake(p);
	ok(mt_srq_free(&p->b.m, srq));
}

/* Taken in the order of the list, whose order changes as entries come back. */
static void shared_queue(void **state)
{
	struct mt_pair *p = *state;
	int index[3] = { -1, -1, -1 };
	struct mt_srq srq;
	struct m4_wc wc;
	unsigned int i;

	shared_begin(p, &srq);
	for (i = 0; i < 15; i++)
		assert_true(mt_srq_post(&srq, &p->b.mr, i * 64, 64) >= 0);
	assert_int_equal(mt_srq_post(&srq, &p->b.mr, 0, 64), -1);
	for (i = 0; i < 300; i++) {
		m4_fill(p->a.mem, 64, i);
		mt_send(&p->a.qp, &p->a.mr, 0, 64);
		wc = mt_good(&p->b, &p->b.rcq, RECV_SEND);
		index[i % 3] = wc.index >> (srq.log_stride - 6);
		mt_good(&p->a, &p->a.scq, OP_SEND);
		if (i % 3 != 2)
			continue;
		mt_srq_give(&srq, index[1]);
		mt_srq_give(&srq, index[2]);
		mt_srq_give(&srq, index[0]);
		assert_true(m4_filled(p->b.mem + index[2] * 64, 64, i) || i >= 15);
		assert_true(mt_srq_post(&srq, &p->b.mr, 0, 64) >= 0);
		assert_true(mt_srq_post(&srq, &p->b.mr, 0, 64) >= 0);
		assert_true(mt_srq_post(&srq, &p->b.mr, 0, 64) >= 0);
	}
	shared_end(p, &srq);
}

/* A queue pair that receives by it has no queue of its own, whatever its record says. */
static void no_other_queue(void **state)
{
	struct mt_pair *p = *state;
	const struct m4_eqe *e;
	struct mt_srq srq;

	shared_begin(p, &srq);
	*p->b.qp.rq_record = htobe32(3);
	mt_srq_post(&srq, &p->b.mr, 0, 64);
	ok(mt_qp_to_err(&p->b.qp));
	mt_none(&p->b, &p->b.rcq);
	e = m4_async(&p->b.m.v, 0x13);		/* the last WQE */
	assert_non_null(e);
	assert_int_equal(m4_get32(e->data, 0), p->b.qp.qpn);
	shared_end(p, &srq);
}

/* A link that leads out of the queue, or would if cut to 16 bits, ends it. */
static void link_to_nowhere(void **state)
{
	static const uint32_t link[] = { 16 << 7, 0x4000 << 7, 0x10001 << 7, ~0u };
	struct mt_pair *p = *state;
	const struct m4_eqe *e;
	struct mt_srq srq;
	size_t i;

	for (i = 0; i < 4; i++) {
		shared_begin(p, &srq);
		mt_srq_post(&srq, &p->b.mr, 0, 64);
		mt_srq_post(&srq, &p->b.mr, 64, 64);
		m4_put32(srq.buf.p, 0, link[i]);
		mt_send(&p->a.qp, &p->a.mr, 0, 64);
		mt_good(&p->b, &p->b.rcq, RECV_SEND);
		mt_good(&p->a, &p->a.scq, OP_SEND);
		m4_async(&p->b.m.v, 0x12);
		mt_send(&p->a.qp, &p->a.mr, 0, 64);
		rig_run(p->rig);
		e = m4_async(&p->b.m.v, 0x12);
		assert_non_null(e);
		assert_int_equal(m4_get32(e->data, 0), srq.srqn);
		mt_bad(&p->a, &p->a.scq, 0x14);		/* remote operation */
		shared_end(p, &srq);
	}
}

static void limit_event(void **state)
{
	struct mt_pair *p = *state;
	const struct m4_eqe *e;
	uint8_t context[32];
	struct mt_srq srq;
	unsigned int i;

	shared_begin(p, &srq);
	for (i = 0; i < 5; i++)
		mt_srq_post(&srq, &p->b.mr, 0, 64);
	ok(m4_cmd(&p->b.m.v, ARM_SRQ, 0, srq.srqn, 4, NULL));
	ok(m4_box(&p->b.m.v, 0x37, 0, srq.srqn, NULL, 0, context, 32));
	assert_int_equal(context[0x1d], 4);
	for (i = 0; i < 2; i++) {
		assert_null(m4_async(&p->b.m.v, 0x14));
		mt_send(&p->a.qp, &p->a.mr, 0, 64);
		mt_good(&p->a, &p->a.scq, OP_SEND);
		mt_good(&p->b, &p->b.rcq, RECV_SEND);
	}
	e = m4_async(&p->b.m.v, 0x14);
	assert_non_null(e);
	assert_int_equal(m4_get32(e->data, 0), srq.srqn);
	shared_end(p, &srq);
}

/* A MAD between the QPs 1, with its headers in memory by the kernel's key. */
static void management_queues(void **state)
{
	struct mt_pair *p = *state;
	struct mt_qp_init init = { .st = M4_MLX, .qpn = 0x42, .all_signaled = true };
	struct m4_path path = { .qkey = GSI_QKEY };
	struct m4_sge mad;
	struct m4_mr all;
	struct m4_wc wc;

	mt_make(p, &init);
	mt_connect(p, &path);
	ok(mt_dma_mr(&p->a.m, &all));
	m4_fill(p->a.mem, 256, 1);
	mad = (struct m4_sge){ rig_bus(p->rig, p->a.mem), 256, all.key };
	mt_recv(&p->b.qp, &p->b.mr, 0, 300);
	mt_post_mad(&p->a.qp, 1, 2, GSI_QKEY, &mad);
	wc = mt_good(&p->b, &p->b.rcq, RECV_SEND);
	assert_int_equal(wc.len, 256 + 40);
	assert_int_equal(wc.src_qpn, 1);
	assert_int_equal(wc.qpn, 0x42);
	assert_true(m4_filled(p->b.mem + 40, 256, 1));
	mt_good(&p->a, &p->a.scq, OP_SEND);
	ok(mt_mr_free(&p->a.m, &all));
}

/* NodeInfo names the part; PortInfo a port of 2048 octets, and not more. */
static void agents(void **state)
{
	struct mt_pair *p = *state;
	struct m4 *v = &p->a.m.v;
	uint8_t mad[256] = { 1, 1, 1, 1, [17] = 0x11 }, set[0x40] = { 0 };

	ok(m4_mad_ifc(v, mad, mad));
	assert_int_equal(m4_get32(mad, 64 + 28) & 0xffff, 0x6274);
	assert_true(m4_get64(mad, 64 + 12) == M4_GUID_A);
	m4_put32(set, 4, 0x02514868);
	ok(m4_box(v, SET_IB, 0, 1, set, sizeof(set), NULL, 0));
	memcpy(mad, (uint8_t[256]){ 1, 1, 1, 1, [17] = 0x15, [23] = 1 }, 256);
	ok(m4_mad_ifc(v, mad, mad));
	assert_int_equal(m4_get32(mad, 64 + 20), 0x02514868);
	assert_int_equal(mad[64 + 41] & 0xf, 4);
	assert_int_equal(mad[64 + 36] >> 4, 4);
	mad[3] = 2;				/* Set, of what is there ... */
	mad[64 + 33] &= 0xf;
	mad[64 + 32] = 0;
	mad[64 + 36] = 5 << 4;			/* ... but of a greater MTU */
	ok(m4_mad_ifc(v, mad, mad));
	assert_int_not_equal(mad[5], 0);
}

/* A ConnectX-3 with its own driver, LID 3. */
static void both_generations(void **state)
{
	struct mt_pair *p = *state;
	struct mt_qp_init mine = { .st = M4_RC, .scq = &p->a.scq, .rcq = &p->a.rcq };
	struct m4_path to = m4_path(), from = m4_path();
	struct m4_side c = { 0 };
	struct m4_qp_init its = { .st = M4_RC, .scq = &c.scq, .rcq = &c.rcq };

	m4_side_open(&c, p->rig, M4_GUID_B + 1, 3);
	ok(m4_qp(&c.v, &c.qp, &its));
	ok(mt_qp(&p->a.m, &p->a.qp, &mine));
	to.dlid = 3;
	to.qpn = c.qp.qpn;
	from.dlid = 1;
	from.mtu = 4;
	from.qpn = p->a.qp.qpn;
	ok(mt_qp_up(&p->a.qp, &to));
	ok(m4_qp_to_init(&c.qp, &from));
	ok(m4_qp_to_rtr(&c.qp, &from));
	ok(m4_qp_to_rts(&c.qp, &from));
	m4_fill(p->a.mem, 50000, 9);
	m4_recv(&c.qp, &c.mr, 0, 65536);
	mt_send(&p->a.qp, &p->a.mr, 0, 50000);
	m4_good(&c, &c.rcq, MLX4_RECV_OPCODE_SEND);
	assert_true(m4_filled(c.mem, 50000, 9));
	mt_good(&p->a, &p->a.scq, OP_SEND);
	ok(mt_qp_to_rst(&p->a.qp));
	ok(mt_mr_free(&p->a.m, &p->a.qp.buf.mr));
	ok(m4_qp_to_rst(&c.qp));
	m4_side_close(&c);
}

#define T(f)	cmocka_unit_test_setup_teardown(f, mt_setup, mt_teardown)
#define UD(f)	cmocka_unit_test_setup_teardown(f, mt_setup_ud, mt_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		UD(by_lid),
		UD(with_a_grh),
		UD(wrong_key),
		UD(multicast),
		UD(no_member),
		UD(chains),
		T(shared_queue),
		T(no_other_queue),
		T(link_to_nowhere),
		T(limit_event),
		T(management_queues),
		T(agents),
		T(both_generations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
