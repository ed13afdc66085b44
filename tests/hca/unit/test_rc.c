// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Reliable and unreliable connections: sends, RDMA, atomics, immediate data,
 * inline data, BlueFlame, queues that wrap, many queue pairs.
 */
#include <stdlib.h>

#include "pair.h"

#define HALF (PAIR_MR / 2)

static void send_of(struct pair *p, uint32_t len, uint32_t at)
{
	struct drv_wc wc;
	uint16_t index;

	fill(p->a.mem + at, len, len);
	memset(p->b.mem, 0xee, len + 1);
	drv_recv(&p->b.qp, &p->b.mr, 0, HALF);
	index = drv_send(&p->a.qp, &p->a.mr, at, len);
	wc = get_wc(&p->b, &p->b.rcq, MLX5_CQE_RESP_SEND);
	assert_int_equal(wc.len, len);
	assert_int_equal(wc.qpn, p->b.qp.qpn);
	assert_int_equal(wc.user_index, p->b.qp.user_index);
	assert_true(filled(p->b.mem, len, len));
	assert_int_equal(p->b.mem[len], 0xee);
	wc = get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	assert_int_equal(wc.index, index);
	assert_int_equal(wc.qpn, p->a.qp.qpn);
	assert_int_equal(wc.user_index, p->a.qp.user_index);
	assert_int_equal(be32toh(wc.cqe.sop_drop_qpn) >> 24, MLX5_OPCODE_SEND);
}

static void sends(void **state)
{
	static const uint32_t len[] = { 0, 1, 63, 64, 4095, 4096, 4097, 65535,
					65536, 65537, 200000, HALF };
	struct pair *p = *state;
	size_t i;

	for (i = 0; i < sizeof(len) / sizeof(len[0]); i++) {
		send_of(p, len[i], 0);
		send_of(p, len[i], 4093);
	}
	no_wc(&p->a, &p->a.scq);
	no_wc(&p->b, &p->b.rcq);
	assert_int_equal(cx_stats(p->a.drv.dev->cx)->retries, 0);
	assert_int_equal(cx_stats(p->b.drv.dev->cx)->frames_dropped, 0);
}

static void send_with_immediate(void **state)
{
	struct pair *p = *state;
	struct drv_wr wr = { .opcode = MLX5_OPCODE_SEND_IMM,
			     .flags = DRV_SIGNALED | DRV_SOLICITED,
			     .imm = 0xcafe1234 };
	struct drv_wc wc;

	drv_recv(&p->b.qp, &p->b.mr, 0, 64);
	drv_post(&p->a.qp, &wr);
	wc = get_wc(&p->b, &p->b.rcq, MLX5_CQE_RESP_SEND_IMM);
	assert_int_equal(wc.imm, 0xcafe1234);
	assert_int_equal(wc.len, 0);
	assert_true(wc.solicited);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
}

static void several_pieces(void **state)
{
	struct pair *p = *state;
	struct drv_sge from[] = { { p->a.mr.va + 10, 100, p->a.mr.key },
				  { p->a.mr.va + 8000, 1, p->a.mr.key },
				  { p->a.mr.va + 4000, 5000, p->a.mr.key } };
	struct drv_sge to[] = { { p->b.mr.va, 50, p->b.mr.key },
				{ p->b.mr.va + 50, 4200, p->b.mr.key },
				{ p->b.mr.va + 4250, 3000, p->b.mr.key } };
	struct drv_wr wr = { .opcode = MLX5_OPCODE_SEND, .sge = from,
			     .nr_sge = 3, .flags = DRV_SIGNALED };
	uint8_t *want = malloc(5101);

	assert_non_null(want);
	fill(p->a.mem, 16384, 3);
	memcpy(want, p->a.mem + 10, 100);
	want[100] = p->a.mem[8000];
	memcpy(want + 101, p->a.mem + 4000, 5000);
	drv_recv_sge(&p->b.qp, to, 3);
	drv_post(&p->a.qp, &wr);
	assert_int_equal(get_wc(&p->b, &p->b.rcq, MLX5_CQE_RESP_SEND).len,
			 5101);
	assert_memory_equal(p->b.mem, want, 5101);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	free(want);
}

static void inline_of(struct pair *p, uint32_t len, int flags)
{
	uint8_t data[512];
	struct drv_wr wr = { .opcode = MLX5_OPCODE_SEND, .inl = data,
			     .inl_len = len,
			     .flags = DRV_SIGNALED | DRV_INLINE | flags };

	fill(data, len, len);
	memset(p->b.mem, 0, len);
	drv_recv(&p->b.qp, &p->b.mr, 0, 4096);
	drv_post(&p->a.qp, &wr);
	assert_int_equal(get_wc(&p->b, &p->b.rcq, MLX5_CQE_RESP_SEND).len,
			 len);
	assert_true(filled(p->b.mem, len, len));
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
}

/* 1 to 8 basic blocks, over the end of the queue too. */
static void inline_data(void **state)
{
	struct pair *p = *state;
	uint32_t len;

	for (len = 0; len < 450; len += 13)
		inline_of(p, len, 0);
	for (len = 1; len < 220; len += 7)
		inline_of(p, len, DRV_BF);
}

static void rdma_write(void **state)
{
	struct pair *p = *state;
	const struct drv_mr *m = &p->b.mr;

	fill(p->a.mem, HALF, 9);
	drv_rdma(&p->a.qp, MLX5_OPCODE_RDMA_WRITE, &p->a.mr, 0, HALF,
		 m->va + 4099, m->key);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	assert_true(filled(p->b.mem + 4099, HALF, 9));
	no_wc(&p->b, &p->b.rcq);
}

static void rdma_write_with_immediate(void **state)
{
	struct pair *p = *state;
	struct drv_sge sge = { p->a.mr.va, 100000, p->a.mr.key };
	struct drv_wr wr = { .opcode = MLX5_OPCODE_RDMA_WRITE_IMM,
			     .flags = DRV_SIGNALED, .imm = 77, .sge = &sge,
			     .nr_sge = 1, .raddr = p->b.mr.va + 1,
			     .rkey = p->b.mr.key };
	struct drv_wc wc;

	fill(p->a.mem, 100000, 1);
	drv_recv(&p->b.qp, &p->b.mr, 0, 0);
	drv_post(&p->a.qp, &wr);
	wc = get_wc(&p->b, &p->b.rcq, MLX5_CQE_RESP_WR_IMM);
	assert_int_equal(wc.imm, 77);
	assert_int_equal(wc.len, 100000);
	assert_true(filled(p->b.mem + 1, 100000, 1));
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
}

static void rdma_read(void **state)
{
	static const uint32_t len[] = { 0, 1, 5000, 65536, HALF };
	struct pair *p = *state;
	struct drv_wc wc;
	size_t i;

	for (i = 0; i < sizeof(len) / sizeof(len[0]); i++) {
		fill(p->b.mem + 3, len[i], i);
		drv_rdma(&p->a.qp, MLX5_OPCODE_RDMA_READ, &p->a.mr, 0, len[i],
			 p->b.mr.va + 3, p->b.mr.key);
		wc = get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
		assert_int_equal(wc.len, len[i]);
		assert_true(filled(p->a.mem, len[i], i));
	}
	no_wc(&p->b, &p->b.rcq);
}

static void many_reads_in_flight(void **state)
{
	struct pair *p = *state;
	uint32_t i;

	fill(p->b.mem, HALF, 4);
	for (i = 0; i < 60; i++)
		drv_rdma(&p->a.qp, MLX5_OPCODE_RDMA_READ, &p->a.mr, i * 8192,
			 8192, p->b.mr.va + i * 8192, p->b.mr.key);
	for (i = 0; i < 60; i++)
		get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	assert_true(filled(p->a.mem, 60 * 8192, 4));
}

static uint64_t atomic(struct pair *p, uint8_t opcode, uint64_t swap_add,
		       uint64_t compare)
{
	struct drv_sge sge = { p->a.mr.va + 512, 8, p->a.mr.key };
	struct drv_wr wr = { .opcode = opcode, .flags = DRV_SIGNALED,
			     .raddr = p->b.mr.va + 4096, .sge = &sge,
			     .rkey = p->b.mr.key, .nr_sge = 1,
			     .swap_add = swap_add, .compare = compare };
	uint64_t old;

	drv_post(&p->a.qp, &wr);
	assert_int_equal(get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ).len, 8);
	memcpy(&old, p->a.mem + 512, 8);
	return old;
}

/* Numbers are the host's, at both ends: IBV_ATOMIC_HCA. */
static void atomics(void **state)
{
	struct pair *p = *state;
	uint64_t *n = (uint64_t *)(p->b.mem + 4096);

	*n = 0x100000002ULL;
	assert_true(atomic(p, MLX5_OPCODE_ATOMIC_FA, 0xffffffff, 0) ==
		    0x100000002ULL);
	assert_true(*n == 0x200000001ULL);
	assert_true(atomic(p, MLX5_OPCODE_ATOMIC_CS, 42, 5) ==
		    0x200000001ULL);
	assert_true(*n == 0x200000001ULL);
	assert_true(atomic(p, MLX5_OPCODE_ATOMIC_CS, 42, 0x200000001ULL) ==
		    0x200000001ULL);
	assert_true(*n == 42);
	assert_true(atomic(p, MLX5_OPCODE_ATOMIC_FA, -1ULL, 0) == 42);
	assert_true(*n == 41);
}

static void only_the_last_is_signaled(void **state)
{
	struct pair *p = *state;
	struct drv_sge sge = { p->a.mr.va, 100, p->a.mr.key };
	struct drv_wr wr = { .opcode = MLX5_OPCODE_SEND, .sge = &sge,
			     .nr_sge = 1, .flags = DRV_QUIET };
	uint16_t last;
	int i;

	for (i = 0; i < 21; i++) {
		drv_recv(&p->b.qp, &p->b.mr, i * 128, 128);
		if (i < 20)
			drv_post(&p->a.qp, &wr);
	}
	wr.flags = DRV_SIGNALED;
	last = drv_post(&p->a.qp, &wr);		/* one doorbell for all */
	assert_int_equal(get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ).index, last);
	no_wc(&p->a, &p->a.scq);
	for (i = 0; i < 21; i++)
		assert_int_equal(get_wc(&p->b, &p->b.rcq,
					MLX5_CQE_RESP_SEND).index, i);
}

/* Both directions at once, all kinds, until every counter has wrapped. */
static void queues_wrap(void **state)
{
	struct pair *p = *state;
	uint32_t i;

	for (i = 0; i < 66000; i++) {
		drv_recv(&p->b.qp, &p->b.mr, 0, 64);
		drv_recv(&p->a.qp, &p->a.mr, 64, 64);
		drv_send(&p->a.qp, &p->a.mr, 0, 8);
		drv_send(&p->b.qp, &p->b.mr, 64, 8);
		assert_int_equal(get_wc(&p->a, &p->a.scq, 0).index,
				 i & 0xffff);
		get_wc(&p->b, &p->b.scq, 0);
		assert_int_equal(get_wc(&p->b, &p->b.rcq, 2).index,
				 i & 0xffff);
		get_wc(&p->a, &p->a.rcq, 2);
	}
}

static void packet_numbers_wrap(void **state)
{
	struct pair *p = *state;
	struct drv_path path = pair_path();
	int i;

	pair_make(p, DRV_RC);
	path.psn = 0xfffffd;
	path.mtu = 1;		/* 256 bytes */
	pair_connect(p, &path);
	for (i = 0; i < 10; i++) {
		send_of(p, 700, 0);
		drv_rdma(&p->a.qp, MLX5_OPCODE_RDMA_READ, &p->a.mr, 0, 70000,
			 p->b.mr.va, p->b.mr.key);
		get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	}
}

static void read_comes_before_what_is_fenced(void **state)
{
	struct pair *p = *state;
	struct drv_sge sge = { p->a.mr.va, 65536, p->a.mr.key };
	struct drv_wr wr = { .opcode = MLX5_OPCODE_RDMA_WRITE, .sge = &sge,
			     .flags = DRV_SIGNALED | DRV_FENCE, .nr_sge = 1,
			     .raddr = p->b.mr.va + HALF,
			     .rkey = p->b.mr.key };

	fill(p->b.mem, 65536, 8);
	drv_rdma(&p->a.qp, MLX5_OPCODE_RDMA_READ, &p->a.mr, 0, 65536,
		 p->b.mr.va, p->b.mr.key);
	drv_post(&p->a.qp, &wr);	/* writes what was read */
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	assert_true(filled(p->b.mem + HALF, 65536, 8));
}

static void with_itself(void **state)
{
	struct pair *p = *state;
	struct drv_path path = pair_path();
	struct drv_qp other;
	struct drv_qp_init init = { .type = DRV_RC, .scq = &p->a.scq,
				    .rcq = &p->a.rcq };

	ok(drv_qp(&p->a.drv, &other, &init));
	ok(drv_qp(&p->a.drv, &p->a.qp, &init));
	ok(drv_connect(&p->a.qp, 1, &other, 1, &path));
	fill(p->a.mem, 5000, 2);
	drv_recv(&other, &p->a.mr, 8192, 8192);
	drv_send(&p->a.qp, &p->a.mr, 0, 5000);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	get_wc(&p->a, &p->a.rcq, MLX5_CQE_RESP_SEND);
	assert_true(filled(p->a.mem + 8192, 5000, 2));
	ok(drv_qp_destroy(&other));
	ok(drv_qp_destroy(&p->a.qp));
}

static void connected_by_gid(void **state)
{
	static const uint8_t gid[16] = { 0xfe, 0x80, [8] = 0x00, 0x02, 0xc9,
					 0x03, 0, 0, 0x0b, 0x02 };
	struct pair *p = *state;
	struct drv_path path = pair_path();

	pair_make(p, DRV_RC);
	path.qpn = p->a.qp.qpn;
	path.dlid = 1;
	ok(drv_qp_up(&p->b.qp, &path));
	path.qpn = p->b.qp.qpn;
	path.dlid = 2;
	path.dgid = gid;
	ok(drv_qp_up(&p->a.qp, &path));
	send_of(p, 1000, 0);
}

static void many_queue_pairs(void **state)
{
	enum { N = 64 };
	static struct drv_qp a[N], b[N];
	struct pair *p = *state;
	struct drv_path path = pair_path();
	struct drv_qp_init init = { .type = DRV_RC };
	int i;

	for (i = 0; i < N; i++) {
		init.scq = &p->a.scq;
		init.rcq = &p->a.rcq;
		ok(drv_qp(&p->a.drv, &a[i], &init));
		init.scq = &p->b.scq;
		init.rcq = &p->b.rcq;
		ok(drv_qp(&p->b.drv, &b[i], &init));
		ok(drv_connect(&a[i], 1, &b[i], 2, &path));
	}
	fill(p->a.mem, N * 4096, 6);
	for (i = 0; i < N; i++)
		drv_rdma(&a[i], MLX5_OPCODE_RDMA_WRITE, &p->a.mr, i * 4096,
			 4096, p->b.mr.va + i * 4096, p->b.mr.key);
	for (i = 0; i < N; i++)
		get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	assert_true(filled(p->b.mem, N * 4096, 6));
	for (i = 0; i < N; i++) {
		ok(drv_qp_destroy(&a[i]));
		ok(drv_qp_destroy(&b[i]));
	}
}

/* A QP goes through RESET and is used again, as perftest does. */
static void again_after_reset(void **state)
{
	struct pair *p = *state;
	struct drv_path path = pair_path();
	int i;

	for (i = 0; i < 3; i++) {
		send_of(p, 3000, 0);
		ok(drv_qp_to(&p->a.qp, MLX5_CMD_OP_2RST_QP));
		ok(drv_qp_to(&p->b.qp, MLX5_CMD_OP_2RST_QP));
		memset(p->a.qp.db, 0, 8);
		memset(p->b.qp.db, 0, 8);
		p->a.qp.sq_pi = p->a.qp.rq_pi = 0;
		p->b.qp.sq_pi = p->b.qp.rq_pi = 0;
		pair_connect(p, &path);
	}
}

static void unreliable(void **state)
{
	struct pair *p = *state;

	send_of(p, 0, 0);
	send_of(p, 5000, 0);
	send_of(p, 200000, 7);
	/* Nothing was posted: it is lost, and the sender does not mind. */
	drv_send(&p->a.qp, &p->a.mr, 0, 100);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	send_of(p, 70000, 0);
	fill(p->a.mem, 70000, 5);
	drv_rdma(&p->a.qp, MLX5_OPCODE_RDMA_WRITE, &p->a.mr, 0, 70000,
		 p->b.mr.va + 99, p->b.mr.key);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	assert_true(filled(p->b.mem + 99, 70000, 5));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, pair_setup, pair_teardown)
#define RC(f) cmocka_unit_test_setup_teardown(f, pair_setup_rc, pair_teardown)
#define UC(f) cmocka_unit_test_setup_teardown(f, pair_setup_uc, pair_teardown)
	const struct CMUnitTest tests[] = {
		RC(sends),
		RC(send_with_immediate),
		RC(several_pieces),
		RC(inline_data),
		RC(rdma_write),
		RC(rdma_write_with_immediate),
		RC(rdma_read),
		RC(many_reads_in_flight),
		RC(atomics),
		RC(only_the_last_is_signaled),
		RC(queues_wrap),
		T(packet_numbers_wrap),
		RC(read_comes_before_what_is_fenced),
		T(with_itself),
		T(connected_by_gid),
		T(many_queue_pairs),
		RC(again_after_reset),
		UC(unreliable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
