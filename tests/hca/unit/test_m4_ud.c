// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Datagrams of the ConnectX-3, groups, shared receive queues; a ConnectX-3 and a
 * ConnectX-4 on one wire.
 */
#include "m4_pair.h"

#include "drv.h"

static const uint8_t group[16] = { 0xff, 0x12, 0x40, 0x1b, [15] = 0x42 };

static void post(struct m4_pair *p, uint16_t dlid, uint32_t qpn, uint32_t qkey,
		 const uint8_t *dgid, uint32_t len)
{
	struct m4_sge sge = { p->a.mr.va, len, p->a.mr.key };
	struct m4_wr wr = { .opcode = MLX4_OPCODE_SEND, .sge = &sge,
			    .nr_sge = 1, .flags = M4_SIGNALED,
			    .ud = { dlid, qpn, qkey, dgid } };

	m4_fill(p->a.mem, len, len);
	m4_post(&p->a.qp, &wr);
}

static void by_lid(void **state)
{
	static const uint32_t len[] = { 0, 1, 256, 2048, 4096 };
	struct m4_pair *p = *state;
	struct m4_wc wc;
	size_t i;

	for (i = 0; i < 5; i++) {
		m4_recv(&p->b.qp, &p->b.mr, 0, 4096 + 40);
		post(p, 2, p->b.qp.qpn, M4_QKEY, NULL, len[i]);
		wc = m4_good(&p->b, &p->b.rcq, MLX4_RECV_OPCODE_SEND);
		assert_int_equal(wc.len, len[i] + 40);
		assert_int_equal(wc.src_qpn, p->a.qp.qpn);
		assert_int_equal(wc.slid, 1);
		assert_int_equal(wc.pkey_index, 0);
		assert_false(wc.grh);
		assert_true(m4_filled(p->b.mem + 40, len[i], len[i]));
		m4_good(&p->a, &p->a.scq, MLX4_OPCODE_SEND);
	}
}

static void with_a_grh(void **state)
{
	static const uint8_t a[16] = { 0xfe, 0x80, [9] = 0x02, 0xc9, 0x03, 0,
				       0, 0x0a, 0x01 };
	static const uint8_t b[16] = { 0xfe, 0x80, [9] = 0x02, 0xc9, 0x03, 0,
				       0, 0x0b, 0x02 };
	struct m4_pair *p = *state;

	m4_recv(&p->b.qp, &p->b.mr, 0, 200);
	post(p, 2, p->b.qp.qpn, M4_QKEY, b, 100);
	assert_true(m4_good(&p->b, &p->b.rcq, MLX4_RECV_OPCODE_SEND).grh);
	assert_memory_equal(p->b.mem + 8, a, 16);
	assert_memory_equal(p->b.mem + 24, b, 16);
	assert_true(m4_filled(p->b.mem + 40, 100, 100));
	m4_good(&p->a, &p->a.scq, MLX4_OPCODE_SEND);
}

static void wrong_key(void **state)
{
	struct m4_pair *p = *state;

	m4_recv(&p->b.qp, &p->b.mr, 0, 200);
	post(p, 2, p->b.qp.qpn, M4_QKEY + 1, NULL, 10);
	post(p, 2, p->b.qp.qpn ^ 0x400000, M4_QKEY, NULL, 10);
	m4_good(&p->a, &p->a.scq, MLX4_OPCODE_SEND);
	m4_good(&p->a, &p->a.scq, MLX4_OPCODE_SEND);
	m4_none(&p->b, &p->b.rcq);
}

/* By the multicast table; a member that left gets nothing. */
static void multicast(void **state)
{
	struct m4_pair *p = *state;
	struct m4_wc wc;

	ok(m4_mcg(&p->b.v, &p->b.qp, group, true));
	m4_recv(&p->b.qp, &p->b.mr, 0, 200);
	post(p, 0xc001, 0xffffff, M4_QKEY, group, 77);
	m4_good(&p->a, &p->a.scq, MLX4_OPCODE_SEND);
	wc = m4_good(&p->b, &p->b.rcq, MLX4_RECV_OPCODE_SEND);
	assert_int_equal(wc.len, 117);
	assert_true(wc.grh);
	ok(m4_mcg(&p->b.v, &p->b.qp, group, false));
	m4_recv(&p->b.qp, &p->b.mr, 0, 200);
	post(p, 0xc001, 0xffffff, M4_QKEY, group, 77);
	m4_good(&p->a, &p->a.scq, MLX4_OPCODE_SEND);
	m4_none(&p->b, &p->b.rcq);
}

/* The entry names a queue pair that is made anew. */
static void member_again(void **state)
{
	struct m4_path path = m4_path();
	struct m4_pair *p = *state;

	path.rd = false;
	ok(m4_mcg(&p->b.v, &p->b.qp, group, true));
	ok(m4_qp_to_rst(&p->b.qp));
	memset(p->b.qp.sq, 0x80, 4);
	p->b.qp.rq_head = 0;
	*p->b.qp.db = 0;
	ok(m4_qp_up(&p->b.qp, &path));
	m4_recv(&p->b.qp, &p->b.mr, 0, 200);
	post(p, 0xc001, 0xffffff, M4_QKEY, group, 5);
	m4_good(&p->a, &p->a.scq, MLX4_OPCODE_SEND);
	m4_good(&p->b, &p->b.rcq, MLX4_RECV_OPCODE_SEND);
	ok(m4_mcg(&p->b.v, &p->b.qp, group, false));
}

/* An entry of the table, as mlx4_qp_attach_common() writes it; a link is an index. */
static int write_entry(struct m4_pair *p, uint32_t at, uint16_t last, uint32_t link)
{
	uint8_t e[1024] = { 0 };

	m4_put32(e, 0, link << 6);
	m4_put32(e, 4, 1);
	memcpy(e + 16, group, 16);
	e[30] = last >> 8;
	e[31] = last;
	m4_put32(e, 32, p->b.qp.qpn);
	return m4_box(&p->b.v, 0x26, 0, at, e, sizeof(e), NULL, 0);
}

static void put_entry(struct m4_pair *p, uint32_t at, uint16_t last, uint32_t link)
{
	ok(write_entry(p, at, last, link));
}

static bool reaches(struct m4_pair *p, uint16_t last)
{
	uint8_t gid[16];
	struct m4_wc wc;

	memcpy(gid, group, 16);
	gid[14] = last >> 8;
	gid[15] = last;
	m4_recv(&p->b.qp, &p->b.mr, 0, 200);
	post(p, 0xc001, 0xffffff, M4_QKEY, gid, 5);
	m4_good(&p->a, &p->a.scq, MLX4_OPCODE_SEND);
	return m4_wait(&p->b.v, &p->b.rcq, &wc);
}

enum { CHAINS = 1 << (M4_LOG_MCG - 1) };	/* the second half is for links */

/* What no chain leads to is left from a group that is gone. */
static void chains(void **state)
{
	enum { HEAD = 3, REST = CHAINS + 8 };
	struct m4_pair *p = *state;

	put_entry(p, HEAD, 1, 0);
	put_entry(p, REST, 2, 0);
	assert_true(reaches(p, 1));
	assert_false(reaches(p, 2));
	put_entry(p, HEAD, 1, REST);
	assert_true(reaches(p, 2));
	put_entry(p, REST, 2, REST);		/* a circle */
	assert_true(reaches(p, 2));
	put_entry(p, HEAD, 1, 0);
	assert_true(reaches(p, 1));
	assert_false(reaches(p, 2));
}

/* One more than the HCA has room for: it is refused, and the others are as before. */
static void groups_have_a_bound(void **state)
{
	enum { HEAD = 3, MOST = 1024, LIM = 8 };
	struct m4_pair *p = *state;
	uint32_t i;

	put_entry(p, HEAD, 0x100, 0);
	for (i = 1; i <= MOST; i++)
		put_entry(p, CHAINS + i, 0x100 + i, i == MOST ? 0 : CHAINS + i + 1);
	assert_int_equal(write_entry(p, HEAD, 0x100, CHAINS + 1), LIM);
	assert_true(reaches(p, 0x100));
	assert_false(reaches(p, 0x101));
	put_entry(p, HEAD, 0x100, CHAINS + 2);
	assert_true(reaches(p, 0x102));
	assert_true(reaches(p, 0x100 + MOST));
}

/* Connects a to b, which receives by an SRQ. */
static void shared_begin(struct m4_pair *p, struct m4_srq *srq)
{
	struct m4_qp_init init = { .st = M4_RC, .scq = &p->a.scq,
				   .rcq = &p->a.rcq };
	struct m4_path path = m4_path();

	ok(m4_srq(&p->b.v, srq, 5));
	ok(m4_qp(&p->a.v, &p->a.qp, &init));
	init.srq = srq;
	init.scq = &p->b.scq;
	init.rcq = &p->b.rcq;
	ok(m4_qp(&p->b.v, &p->b.qp, &init));
	m4_connect(p, &path);
}

static void shared_end(struct m4_pair *p, struct m4_srq *srq)
{
	ok(m4_qp_to_rst(&p->a.qp));
	ok(m4_qp_to_rst(&p->b.qp));
	ok(m4_srq_free(&p->b.v, srq));
}

static void shared_queue(void **state)
{
	struct m4_pair *p = *state;
	struct m4_srq srq;
	struct m4_wc wc;
	uint32_t i;
	int index;

	shared_begin(p, &srq);
	for (i = 0; i < 300; i++) {
		index = m4_srq_post(&srq, &p->b.mr, i * 64, 64);
		assert_true(index >= 0);
		m4_fill(p->a.mem, 64, i);
		m4_send(&p->a.qp, &p->a.mr, 0, 64);
		wc = m4_good(&p->b, &p->b.rcq, MLX4_RECV_OPCODE_SEND);
		assert_int_equal(wc.index, index);
		assert_true(m4_filled(p->b.mem + i * 64, 64, i));
		m4_srq_give(&srq, wc.index);
		m4_good(&p->a, &p->a.scq, MLX4_OPCODE_SEND);
	}
	shared_end(p, &srq);
}

static void limit_event(void **state)
{
	struct m4_pair *p = *state;
	const struct m4_eqe *e;
	struct m4_srq srq;
	unsigned int i;

	shared_begin(p, &srq);
	for (i = 0; i < 5; i++)
		m4_srq_post(&srq, &p->b.mr, 0, 64);
	ok(m4_cmd(&p->b.v, 0x40, 0, srq.srqn, 4, NULL));	/* ARM_SRQ */
	for (i = 0; i < 2; i++) {
		assert_null(m4_async(&p->b.v, 0x14));
		m4_send(&p->a.qp, &p->a.mr, 0, 64);
		m4_good(&p->a, &p->a.scq, MLX4_OPCODE_SEND);
		m4_good(&p->b, &p->b.rcq, MLX4_RECV_OPCODE_SEND);
	}
	e = m4_async(&p->b.v, 0x14);
	assert_non_null(e);
	assert_int_equal(m4_get32(e->data, 0), srq.srqn);
	shared_end(p, &srq);
}

/* A ConnectX-4 with its own driver, LID 3. */
static void both_families(void **state)
{
	struct m4_pair *p = *state;
	struct m4_qp_init mine = { .st = M4_RC, .scq = &p->a.scq,
				   .rcq = &p->a.rcq };
	struct m4_path to = m4_path();
	struct drv_path from = { .dlid = 1, .psn = 0x1234, .timeout = 10,
				 .retry = 3, .rnr_retry = 7, .access = DRV_ALL,
				 .log_rd = 3 };
	struct drv_qp_init init = { .type = DRV_RC };
	struct rig_dev *d = rig_plug(p->rig, 0x0002c90300000c03ULL, 3, false);
	uint8_t *mem = rig_alloc(p->rig, 65536);
	struct drv_cq cq;
	struct drv_mr mr;
	struct drv_qp qp;
	struct drv_wc wc;
	struct drv v = { 0 };

	ok(drv_open(&v, d));
	ok(drv_cq(&v, &cq, 6));
	ok(drv_mr(&v, &mr, mem, 65536, DRV_ALL));
	init.scq = init.rcq = &cq;
	ok(drv_qp(&v, &qp, &init));
	ok(m4_qp(&p->a.v, &p->a.qp, &mine));
	to.dlid = 3;
	to.qpn = qp.qpn;
	from.qpn = p->a.qp.qpn;
	ok(m4_qp_up(&p->a.qp, &to));
	ok(drv_qp_up(&qp, &from));
	m4_fill(p->a.mem, 50000, 9);
	drv_recv(&qp, &mr, 0, 65536);
	m4_send(&p->a.qp, &p->a.mr, 0, 50000);
	assert_true(drv_wait(&cq, &wc, &v));
	assert_int_equal(wc.opcode, MLX5_CQE_RESP_SEND);
	assert_true(m4_filled(mem, 50000, 9));
	m4_good(&p->a, &p->a.scq, MLX4_OPCODE_SEND);
	m4_recv(&p->a.qp, &p->a.mr, M4_MR_BYTES / 2, 65536);
	drv_send(&qp, &mr, 0, 50000);
	m4_good(&p->a, &p->a.rcq, MLX4_RECV_OPCODE_SEND);
	assert_true(m4_filled(p->a.mem + M4_MR_BYTES / 2, 50000, 9));
	assert_true(drv_wait(&cq, &wc, &v));
	ok(m4_qp_to_rst(&p->a.qp));
	ok(drv_qp_destroy(&qp));
	ok(drv_mkey_destroy(&v, mr.key));
	ok(drv_cq_destroy(&v, &cq));
	ok(drv_close(&v));
}

#define T(f)	cmocka_unit_test_setup_teardown(f, m4_setup, m4_teardown)
#define UD(f)	cmocka_unit_test_setup_teardown(f, m4_setup_ud, m4_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		UD(by_lid),
		UD(with_a_grh),
		UD(wrong_key),
		UD(multicast),
		UD(member_again),
		UD(chains),
		UD(groups_have_a_bound),
		T(shared_queue),
		T(limit_event),
		T(both_families),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
