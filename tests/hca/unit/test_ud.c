// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Datagrams: addressing by LID and GID, the Q_Key, the room for a GRH,
 * multicast within a device and between devices.
 */
#include <stdlib.h>

#include "pair.h"

static const uint8_t group[16] = { 0xff, 0x12, 0x40, 0x1b, [15] = 0x42 };

static void post(struct pair *p, uint16_t dlid, uint32_t qpn, uint32_t qkey,
		 const uint8_t *dgid, uint32_t len)
{
	struct drv_sge sge = { p->a.mr.va, len, p->a.mr.key };
	struct drv_wr wr = { .opcode = MLX5_OPCODE_SEND, .sge = &sge,
			     .nr_sge = 1, .flags = DRV_SIGNALED,
			     .ud = { dlid, qpn, qkey, dgid } };

	fill(p->a.mem, len, len);
	drv_post(&p->a.qp, &wr);
}

static void by_lid(void **state)
{
	static const uint32_t len[] = { 0, 1, 256, 2048, 4096 };
	struct pair *p = *state;
	struct drv_wc wc;
	size_t i;

	for (i = 0; i < 5; i++) {
		memset(p->b.mem, 0xee, 40);
		drv_recv(&p->b.qp, &p->b.mr, 0, 4096 + 40);
		post(p, 2, p->b.qp.qpn, QKEY, NULL, len[i]);
		wc = get_wc(&p->b, &p->b.rcq, MLX5_CQE_RESP_SEND);
		assert_int_equal(wc.len, len[i] + 40);
		assert_int_equal(wc.src_qpn, p->a.qp.qpn);
		assert_int_equal(wc.slid, 1);
		assert_false(wc.grh);
		assert_true(filled(p->b.mem + 40, len[i], len[i]));
		get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	}
}

static void with_a_grh(void **state)
{
	static const uint8_t a[16] = { 0xfe, 0x80, [9] = 0x02, 0xc9, 0x03, 0,
				       0, 0x0a, 0x01 };
	static const uint8_t b[16] = { 0xfe, 0x80, [9] = 0x02, 0xc9, 0x03, 0,
				       0, 0x0b, 0x02 };
	struct pair *p = *state;
	struct drv_wc wc;

	drv_recv(&p->b.qp, &p->b.mr, 0, 200);
	post(p, 2, p->b.qp.qpn, QKEY, b, 100);
	wc = get_wc(&p->b, &p->b.rcq, MLX5_CQE_RESP_SEND);
	assert_true(wc.grh);
	assert_int_equal(wc.len, 140);
	assert_int_equal(p->b.mem[0] >> 4, 6);
	assert_memory_equal(p->b.mem + 8, a, 16);
	assert_memory_equal(p->b.mem + 24, b, 16);
	assert_true(filled(p->b.mem + 40, 100, 100));
}

static void who_is_not_meant_gets_nothing(void **state)
{
	struct pair *p = *state;
	uint64_t dropped = cx_stats(p->b.drv.dev->cx)->frames_dropped;

	drv_recv(&p->b.qp, &p->b.mr, 0, 200);
	post(p, 2, p->b.qp.qpn, QKEY + 1, NULL, 10);	/* wrong Q_Key */
	post(p, 2, p->b.qp.qpn + 1, QKEY, NULL, 10);	/* no such QP */
	post(p, 9, p->b.qp.qpn, QKEY, NULL, 10);	/* no such LID */
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	no_wc(&p->b, &p->b.rcq);
	assert_true(cx_stats(p->b.drv.dev->cx)->frames_dropped >= dropped + 2);
	post(p, 2, p->b.qp.qpn, QKEY, NULL, 10);
	get_wc(&p->b, &p->b.rcq, MLX5_CQE_RESP_SEND);
}

/* A Q_Key with the top bit set stands for the sender's own. */
static void controlled_qkey(void **state)
{
	struct pair *p = *state;

	drv_recv(&p->b.qp, &p->b.mr, 0, 200);
	post(p, 2, p->b.qp.qpn, 0x80000000, NULL, 10);
	get_wc(&p->b, &p->b.rcq, MLX5_CQE_RESP_SEND);
}

static void nothing_posted(void **state)
{
	struct pair *p = *state;

	post(p, 2, p->b.qp.qpn, QKEY, NULL, 10);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	rig_sleep(p->rig, 100 * MS);
	drv_recv(&p->b.qp, &p->b.mr, 0, 200);
	no_wc(&p->b, &p->b.rcq);
	assert_int_equal(drv_qp_state(&p->b.qp), DRV_RTS);
}

static void too_long_for_a_datagram(void **state)
{
	struct pair *p = *state;

	drv_recv(&p->b.qp, &p->b.mr, 0, 9000);
	post(p, 2, p->b.qp.qpn, QKEY, NULL, 4097);
	get_err(&p->a, &p->a.scq, MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR);
	no_wc(&p->b, &p->b.rcq);
}

/* Another QP of a in that group, and b's own. */
static void multicast(void **state)
{
	struct pair *p = *state;
	struct drv_path path = pair_path();
	struct drv_qp other;
	struct drv_qp_init init = { .type = DRV_UD, .scq = &p->a.scq,
				    .rcq = &p->a.rcq };

	ok(drv_qp(&p->a.drv, &other, &init));
	ok(drv_qp_up(&other, &path));
	ok(drv_mcg(&other, group, true));
	ok(drv_mcg(&p->a.qp, group, true));
	ok(drv_mcg(&p->b.qp, group, true));
	drv_recv(&other, &p->a.mr, 8192, 200);
	drv_recv(&p->a.qp, &p->a.mr, 16384, 200);
	drv_recv(&p->b.qp, &p->b.mr, 0, 200);
	drv_recv(&p->b.qp, &p->b.mr, 0, 200);
	post(p, 0xc001, 0xffffff, QKEY, group, 100);
	assert_true(get_wc(&p->b, &p->b.rcq, MLX5_CQE_RESP_SEND).grh);
	assert_true(filled(p->b.mem + 40, 100, 100));
	assert_int_equal(get_wc(&p->a, &p->a.rcq, MLX5_CQE_RESP_SEND).qpn,
			 other.qpn);
	no_wc(&p->a, &p->a.rcq);	/* block_lb_mc: not its own */
	no_wc(&p->b, &p->b.rcq);
	ok(drv_mcg(&p->b.qp, group, false));
	assert_int_not_equal(drv_mcg(&p->b.qp, group, false), 0);
	post(p, 0xc001, 0xffffff, QKEY, group, 100);
	no_wc(&p->b, &p->b.rcq);
	ok(drv_mcg(&other, group, false));
	ok(drv_qp_destroy(&other));
	ok(drv_mcg(&p->a.qp, group, false));
}

static void groups_are_checked(void **state)
{
	struct pair *p = *state;
	static const uint8_t unicast[16] = { 0xfe, 0x80 };
	struct drv_qp nobody = p->a.qp;

	assert_int_not_equal(drv_mcg(&p->a.qp, unicast, true), 0);
	nobody.qpn = 0xfffff0;
	assert_int_not_equal(drv_mcg(&nobody, group, true), 0);
	assert_int_not_equal(drv_mcg(&p->a.qp, group, false), 0);
}

static void datagram_on_a_connection(void **state)
{
	struct pair *p = *state;
	struct drv_path path = pair_path();
	struct drv_qp rc;
	struct drv_qp_init init = { .type = DRV_RC, .scq = &p->b.scq,
				    .rcq = &p->b.rcq };

	ok(drv_qp(&p->b.drv, &rc, &init));
	path.qpn = p->a.qp.qpn;
	path.dlid = 1;
	ok(drv_qp_up(&rc, &path));
	drv_recv(&rc, &p->b.mr, 0, 200);
	post(p, 2, rc.qpn, QKEY, NULL, 10);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	no_wc(&p->b, &p->b.rcq);
	ok(drv_qp_destroy(&rc));
}

int main(void)
{
#define UD(f) cmocka_unit_test_setup_teardown(f, pair_setup_ud, pair_teardown)
	const struct CMUnitTest tests[] = {
		UD(by_lid),
		UD(with_a_grh),
		UD(who_is_not_meant_gets_nothing),
		UD(controlled_qkey),
		UD(nothing_posted),
		UD(too_long_for_a_datagram),
		UD(multicast),
		UD(groups_are_checked),
		UD(datagram_on_a_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
