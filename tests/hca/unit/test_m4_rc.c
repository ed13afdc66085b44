// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Connections of the ConnectX-3: sends, RDMA, atomics, queues that wrap, keys,
 * completion queues, and what becomes of errors. The engines have tests of their
 * own (test_rc.c, test_errors.c); here is what only this family does.
 */
#include "m4_pair.h"

#define HALF (M4_MR_BYTES / 2)

enum { LOC_LEN = 0x01, LOC_QP_OP = 0x02, LOC_PROT = 0x04, FLUSH = 0x05,
       REM_INV = 0x12, REM_ACCESS = 0x13, RETRY = 0x15, RNR = 0x16 };
enum { INIT2RTR = 0x1a, MODIFY_CQ = 0x2c, SYNC_TPT = 0x2f, BAD_SIZE = 0x40, BAD_RES = 5,
       BAD_RES_STATE = 9, BAD_QP_STATE = 0x10 };
enum { ERR = 6, RTS = 3 };

static void send_of(struct m4_pair *p, uint32_t len, uint32_t at)
{
	struct m4_wc wc;
	uint16_t index;

	m4_fill(p->a.mem + at, len, len);
	memset(p->b.mem, 0xee, len + 1);
	m4_recv(&p->b.qp, &p->b.mr, 0, HALF);
	index = m4_send(&p->a.qp, &p->a.mr, at, len);
	wc = m4_good(&p->b, &p->b.rcq, MLX4_RECV_OPCODE_SEND);
	assert_false(wc.send);
	assert_int_equal(wc.len, len);
	assert_int_equal(wc.qpn, p->b.qp.qpn);
	assert_true(m4_filled(p->b.mem, len, len));
	assert_int_equal(p->b.mem[len], 0xee);
	wc = m4_good(&p->a, &p->a.scq, MLX4_OPCODE_SEND);
	assert_true(wc.send);
	assert_int_equal(wc.index, index);
	assert_int_equal(wc.qpn, p->a.qp.qpn);
}

static void sends(void **state)
{
	static const uint32_t len[] = { 0, 1, 63, 64, 4095, 4096, 4097, 65535,
					65536, 65537, 200000, HALF };
	struct m4_pair *p = *state;
	size_t i;

	for (i = 0; i < sizeof(len) / sizeof(len[0]); i++) {
		send_of(p, len[i], 0);
		send_of(p, len[i], 4093);
	}
	m4_none(&p->a, &p->a.scq);
	m4_none(&p->b, &p->b.rcq);
	assert_int_equal(cx_stats(p->a.v.dev->cx)->retries, 0);
}

static void send_with_immediate(void **state)
{
	struct m4_pair *p = *state;
	struct m4_wr wr = { .opcode = MLX4_OPCODE_SEND_IMM,
			    .flags = M4_SIGNALED | M4_SOLICITED,
			    .imm = 0xcafe1234 };

	m4_recv(&p->b.qp, &p->b.mr, 0, 64);
	m4_post(&p->a.qp, &wr);
	assert_int_equal(m4_good(&p->b, &p->b.rcq, MLX4_RECV_OPCODE_SEND_IMM).imm,
			 0xcafe1234);
	m4_good(&p->a, &p->a.scq, MLX4_OPCODE_SEND_IMM);
}

/* In one piece, up to the next 64 octets, and in several. */
static void inline_data(void **state)
{
	struct m4_pair *p = *state;
	uint8_t data[900];
	struct m4_wr wr = { .opcode = MLX4_OPCODE_SEND, .inl = data,
			    .flags = M4_SIGNALED | M4_INLINE };
	struct m4_qp_init init = { .st = M4_RC, .log_sq_stride = 10 };
	struct m4_path path = m4_path();
	uint32_t len;

	m4_make(p, &init);
	m4_connect(p, &path);
	for (len = 0; len < sizeof(data); len += 11) {
		wr.inl_len = len;
		m4_fill(data, len, len);
		m4_recv(&p->b.qp, &p->b.mr, 0, 4096);
		m4_post(&p->a.qp, &wr);
		assert_int_equal(m4_good(&p->b, &p->b.rcq,
					 MLX4_RECV_OPCODE_SEND).len, len);
		assert_true(m4_filled(p->b.mem, len, len));
		m4_good(&p->a, &p->a.scq, MLX4_OPCODE_SEND);
	}
}

static void rdma(void **state)
{
	struct m4_pair *p = *state;
	struct m4_wr imm = { .opcode = MLX4_OPCODE_RDMA_WRITE_IMM,
			     .flags = M4_SIGNALED, .imm = 0x99,
			     .raddr = p->b.mr.va, .rkey = p->b.mr.key };
	struct m4_wc wc;

	m4_fill(p->a.mem, 100000, 1);
	m4_rdma(&p->a.qp, MLX4_OPCODE_RDMA_WRITE, &p->a.mr, 0, 100000,
		p->b.mr.va + 5, p->b.mr.key);
	m4_good(&p->a, &p->a.scq, MLX4_OPCODE_RDMA_WRITE);
	assert_true(m4_filled(p->b.mem + 5, 100000, 1));
	m4_rdma(&p->a.qp, MLX4_OPCODE_RDMA_READ, &p->a.mr, HALF, 100000,
		p->b.mr.va + 5, p->b.mr.key);
	wc = m4_good(&p->a, &p->a.scq, MLX4_OPCODE_RDMA_READ);
	assert_int_equal(wc.len, 100000);
	assert_true(m4_filled(p->a.mem + HALF, 100000, 1));
	m4_recv(&p->b.qp, &p->b.mr, 0, 0);
	m4_post(&p->a.qp, &imm);
	wc = m4_good(&p->b, &p->b.rcq, MLX4_RECV_OPCODE_RDMA_WRITE_IMM);
	assert_int_equal(wc.imm, 0x99);
	m4_good(&p->a, &p->a.scq, MLX4_OPCODE_RDMA_WRITE_IMM);
}

/* Results are in the host's order of octets, as INIT_HCA says. */
static void atomics(void **state)
{
	struct m4_pair *p = *state;
	struct m4_sge sge = { p->a.mr.va, 8, p->a.mr.key };
	struct m4_wr wr = { .opcode = MLX4_OPCODE_ATOMIC_FA, .sge = &sge,
			    .nr_sge = 1, .flags = M4_SIGNALED,
			    .raddr = p->b.mr.va + 64, .rkey = p->b.mr.key,
			    .swap_add = 7 };
	uint64_t was = 0x1122334455667788ull, value;

	memcpy(p->b.mem + 64, &was, 8);
	m4_post(&p->a.qp, &wr);
	m4_good(&p->a, &p->a.scq, MLX4_OPCODE_ATOMIC_FA);
	memcpy(&value, p->a.mem, 8);
	assert_true(value == was);
	memcpy(&value, p->b.mem + 64, 8);
	assert_true(value == was + 7);
	wr.opcode = MLX4_OPCODE_ATOMIC_CS;
	wr.compare = was + 7;
	wr.swap_add = 42;
	m4_post(&p->a.qp, &wr);
	m4_good(&p->a, &p->a.scq, MLX4_OPCODE_ATOMIC_CS);
	memcpy(&value, p->b.mem + 64, 8);
	assert_true(value == 42);
}

/* Sixteen entries of each queue, a hundred laps: owner bits and records. */
static void queues_wrap(void **state)
{
	struct m4_pair *p = *state;
	struct m4_qp_init init = { .st = M4_RC, .log_sq = 4, .log_rq = 4 };
	struct m4_path path = m4_path();
	unsigned int i, j;

	m4_make(p, &init);
	m4_connect(p, &path);
	for (i = 0; i < 100; i++) {
		for (j = 0; j < 16; j++)
			m4_recv(&p->b.qp, &p->b.mr, j * 64, 64);
		for (j = 0; j < 16; j++) {
			m4_fill(p->a.mem + j * 64, 64, i + j);
			m4_send(&p->a.qp, &p->a.mr, j * 64, 64);
		}
		for (j = 0; j < 16; j++) {
			m4_good(&p->b, &p->b.rcq, MLX4_RECV_OPCODE_SEND);
			m4_good(&p->a, &p->a.scq, MLX4_OPCODE_SEND);
			assert_true(m4_filled(p->b.mem + j * 64, 64, i + j));
		}
	}
}

/* Whichever queue has the greater stride comes first in the buffer. */
static void order_of_queues(void **state)
{
	struct m4_pair *p = *state;
	struct m4_qp_init init = { .st = M4_RC, .log_sq_stride = 6 };
	struct m4_path path = m4_path();
	uint8_t log;

	for (log = 4; log <= 9; log++) {
		init.log_rq_stride = log;
		m4_make(p, &init);
		m4_connect(p, &path);
		send_of(p, 1000 + log, 0);
		ok(m4_qp_to_rst(&p->a.qp));
		ok(m4_qp_to_rst(&p->b.qp));
	}
}

/* The lower bits of a number are its slot; it answers to all of it. */
static void numbers_above_the_table(void **state)
{
	struct m4_pair *p = *state;
	struct m4_qp_init init = { .st = M4_RC, .qpn = 0x7f0000 | 0x123 };
	struct m4_path path = m4_path();

	p->a.v.next_mpt = 0x3f0001f5;
	ok(m4_mr_free(&p->a.v, &p->a.mr));
	ok(m4_mr(&p->a.v, &p->a.mr, p->a.mem, M4_MR_BYTES, M4_ALL));
	assert_int_equal(p->a.mr.key & 0xff, 0x3f);
	m4_make(p, &init);
	m4_connect(p, &path);
	send_of(p, 4000, 0);
	m4_ring(&p->a.v, p->a.v.uar, 0x123);		/* another with its slot */
	assert_int_equal(cx_stats(p->a.v.dev->cx)->doorbells_refused, 1);
	init.qpn = 0x123;
	init.scq = &p->a.scq;
	init.rcq = &p->a.rcq;
	p->a.qp.qpn = 0x123;
	assert_int_equal(m4_qp_to_init(&p->a.qp, &path), BAD_RES_STATE);
	p->a.qp.qpn = 0x7f0123;
	send_of(p, 4001, 0);
}

static void errors_of_keys(void **state)
{
	static const struct {
		uint32_t key;			/* added to the peer's */
		uint64_t addr;
		uint8_t syndrome;
	} bad[] = {
		{ 1, 0, REM_ACCESS }, { 0x100, 0, REM_ACCESS },
		{ 0, M4_MR_BYTES - 99, REM_ACCESS },
		{ 0, -1ull, REM_ACCESS },
	};
	struct m4_path path = m4_path();
	struct m4_pair *p = *state;
	struct m4_qp_init init = { .st = M4_RC };
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		m4_make(p, &init);
		m4_connect(p, &path);
		m4_rdma(&p->a.qp, MLX4_OPCODE_RDMA_WRITE, &p->a.mr, 0, 100,
			p->b.mr.va + bad[i].addr, p->b.mr.key + bad[i].key);
		m4_bad(&p->a, &p->a.scq, bad[i].syndrome);
		assert_int_equal(m4_qp_state(&p->a.qp), ERR);
		assert_non_null(m4_async(&p->b.v, 0x11));
		ok(m4_qp_to_rst(&p->a.qp));
		ok(m4_qp_to_rst(&p->b.qp));
	}
	p->qps = false;
}

/* A key of another domain, and a region that lacks a right. */
static void domains_and_rights(void **state)
{
	struct m4_path path = m4_path();
	struct m4_pair *p = *state;
	struct m4_qp_init init = { .st = M4_RC, .pd = 2 };
	struct m4_mr ro;

	m4_make(p, &init);
	m4_connect(p, &path);
	m4_send(&p->a.qp, &p->a.mr, 0, 10);
	m4_bad(&p->a, &p->a.scq, LOC_PROT);
	ok(m4_qp_to_rst(&p->a.qp));
	ok(m4_qp_to_rst(&p->b.qp));
	init.pd = 1;
	m4_make(p, &init);
	m4_connect(p, &path);
	ok(m4_mr(&p->b.v, &ro, p->b.mem, 4096, M4_RR));
	m4_rdma(&p->a.qp, MLX4_OPCODE_RDMA_READ, &p->a.mr, 0, 10, ro.va,
		ro.key);
	m4_good(&p->a, &p->a.scq, MLX4_OPCODE_RDMA_READ);
	m4_rdma(&p->a.qp, MLX4_OPCODE_RDMA_WRITE, &p->a.mr, 0, 10, ro.va,
		ro.key);
	m4_bad(&p->a, &p->a.scq, REM_ACCESS);
	ok(m4_mr_free(&p->b.v, &ro));
}

/* By way of context memory: rights come and go, the key stays. */
static void registered_again(void **state)
{
	struct m4_pair *p = *state;

	m4_rdma(&p->a.qp, MLX4_OPCODE_RDMA_WRITE, &p->a.mr, 0, 10, p->b.mr.va,
		p->b.mr.key);
	m4_good(&p->a, &p->a.scq, MLX4_OPCODE_RDMA_WRITE);
	ok(m4_mr_rereg(&p->b.v, &p->b.mr, M4_RR));
	m4_rdma(&p->a.qp, MLX4_OPCODE_RDMA_READ, &p->a.mr, 0, 10, p->b.mr.va,
		p->b.mr.key);
	m4_good(&p->a, &p->a.scq, MLX4_OPCODE_RDMA_READ);
	m4_rdma(&p->a.qp, MLX4_OPCODE_RDMA_WRITE, &p->a.mr, 0, 10, p->b.mr.va,
		p->b.mr.key);
	m4_bad(&p->a, &p->a.scq, REM_ACCESS);
}

/* An entry in a page that was unmapped makes no key, whatever is there now. */
static void unmapped_keys(void **state)
{
	struct m4_pair *p = *state;
	struct m4_mr mr;

	ok(m4_mr(&p->b.v, &mr, p->b.mem, M4_MR_BYTES, M4_ALL));
	ok(m4_mr_free(&p->b.v, &mr));
	ok(m4_map_keys_again(&p->b.v));
	p->b.v.dmpt[64 * mr.index] = 0;		/* the HCA's, it says */
	ok(m4_cmd(&p->b.v, SYNC_TPT, 0, 0, 0, NULL));
	m4_rdma(&p->a.qp, MLX4_OPCODE_RDMA_WRITE, &p->a.mr, 0, 10, mr.va, mr.key);
	m4_bad(&p->a, &p->a.scq, REM_ACCESS);
}

/* A region that does not begin with a page, and the kernel's of all memory. */
static void any_region(void **state)
{
	struct m4_pair *p = *state;
	struct m4_mr part, all;

	ok(m4_mr_at(&p->a.v, &part, p->a.mem + 4096 + 100, 9000,
		    0x5555000 + 100, 1, M4_ALL));
	m4_fill(part.p, 9000, 3);
	m4_recv(&p->b.qp, &p->b.mr, 0, HALF);
	m4_send(&p->a.qp, &part, 0, 9000);
	m4_good(&p->b, &p->b.rcq, MLX4_RECV_OPCODE_SEND);
	m4_good(&p->a, &p->a.scq, MLX4_OPCODE_SEND);
	assert_true(m4_filled(p->b.mem, 9000, 3));
	ok(m4_mr_free(&p->a.v, &part));
	ok(m4_dma_mr(&p->a.v, &all));
	m4_fill(p->a.mem, 4096, 4);
	m4_recv(&p->b.qp, &p->b.mr, 0, HALF);
	all.va = rig_bus(p->rig, p->a.mem);
	m4_send(&p->a.qp, &all, 0, 4096);
	m4_good(&p->b, &p->b.rcq, MLX4_RECV_OPCODE_SEND);
	m4_good(&p->a, &p->a.scq, MLX4_OPCODE_SEND);
	assert_true(m4_filled(p->b.mem, 4096, 4));
	ok(m4_mr_free(&p->a.v, &all));
}

/* What is posted comes back, sends and receives, also what is posted later. */
static void flushes(void **state)
{
	struct m4_pair *p = *state;
	struct m4_wc wc;
	unsigned int i;

	for (i = 0; i < 3; i++)
		m4_recv(&p->a.qp, &p->a.mr, 0, 64);
	ok(m4_qp_to_err(&p->a.qp));
	m4_send(&p->a.qp, &p->a.mr, 0, 64);
	m4_send(&p->a.qp, &p->a.mr, 0, 64);
	for (i = 0; i < 2; i++) {
		wc = m4_bad(&p->a, &p->a.scq, FLUSH);
		assert_true(wc.send);
		assert_int_equal(wc.index, i);
	}
	for (i = 0; i < 3; i++)
		assert_false(m4_bad(&p->a, &p->a.rcq, FLUSH).send);
	m4_none(&p->a, &p->a.scq);
	m4_none(&p->a, &p->a.rcq);
}

static void nobody_receives(void **state)
{
	struct m4_path path = m4_path();
	struct m4_qp_init init = { .st = M4_RC };
	struct m4_pair *p = *state;

	path.rnr_retry = 2;
	m4_make(p, &init);
	m4_connect(p, &path);
	m4_send(&p->a.qp, &p->a.mr, 0, 64);
	rig_sleep(p->rig, 1000000000);
	m4_bad(&p->a, &p->a.scq, RNR);
}

/* Opcodes that are none of this queue's, and a size that its stride has not. */
static void malformed(void **state)
{
	static const uint8_t opcode[] = { 0x07, 0x0e, 0x14, 0x18, 0x19, 0x1b,
					  0x1f };
	struct m4_path path = m4_path();
	struct m4_pair *p = *state;
	struct m4_qp_init init = { .st = M4_RC };
	struct m4_wr wr = { .flags = M4_SIGNALED };
	struct mlx4_wqe_ctrl_seg *c;
	size_t i;

	for (i = 0; i <= sizeof(opcode); i++) {
		m4_make(p, &init);
		m4_connect(p, &path);
		wr.opcode = i < sizeof(opcode) ? opcode[i] : MLX4_OPCODE_SEND;
		/* The device looks at a WQE once it is rung for. */
		if (i == sizeof(opcode)) {
			c = (void *)p->a.qp.sq;
			c->fence_size = 5;
			c->owner_opcode = htobe32(wr.opcode);
			m4_ring(&p->a.v, p->a.v.uar, p->a.qp.qpn);
		} else {
			m4_post(&p->a.qp, &wr);
		}
		m4_bad(&p->a, &p->a.scq, LOC_QP_OP);
		ok(m4_qp_to_rst(&p->a.qp));
		ok(m4_qp_to_rst(&p->b.qp));
	}
	p->qps = false;
}

/* All owner bits turned at once: the scan ends where the queue does. */
static void forged_owners(void **state)
{
	struct m4_pair *p = *state;
	unsigned int i;

	for (i = 0; i < 64; i++)
		p->a.qp.sq[i << 6] = 0;		/* NOPs of the first lap */
	m4_ring(&p->a.v, p->a.v.uar, p->a.qp.qpn);
	rig_run(p->rig);
	assert_true(cx_stats(p->a.v.dev->cx)->wqes <= 128);
	ok(m4_qp_to_err(&p->a.qp));
	assert_true(rig_run(p->rig));
}

static void strangers_doorbell(void **state)
{
	struct m4_pair *p = *state;
	uint64_t refused = cx_stats(p->a.v.dev->cx)->doorbells_refused;

	p->a.qp.uar = 131;
	m4_recv(&p->b.qp, &p->b.mr, 0, 64);
	m4_send(&p->a.qp, &p->a.mr, 0, 64);
	p->a.qp.uar = p->a.v.uar;
	assert_int_equal(cx_stats(p->a.v.dev->cx)->doorbells_refused,
			 refused + 1);
	m4_none(&p->b, &p->b.rcq);
	m4_ring(&p->a.v, p->a.v.uar, p->a.qp.qpn);
	m4_good(&p->b, &p->b.rcq, MLX4_RECV_OPCODE_SEND);
	m4_good(&p->a, &p->a.scq, MLX4_OPCODE_SEND);
	p->a.scq.uar = 131;
	m4_arm(&p->a.v, &p->a.scq, false);
	p->a.scq.uar = p->a.v.uar;
	assert_int_equal(cx_stats(p->a.v.dev->cx)->doorbells_refused,
			 refused + 2);
}

/* uar-check=off: any page rings for all of the device. */
static void without_the_check(void **state)
{
	struct m4_pair *p = *state;
	struct m4_qp_init init = { .st = M4_RC };
	struct m4_path path = m4_path();
	struct m4_side c = { 0 };

	p->rig->uar_any = true;
	m4_side_open(&c, p->rig, M4_GUID_B + 1, 3);
	init.scq = &c.scq;
	init.rcq = &c.rcq;
	ok(m4_qp(&c.v, &c.qp, &init));
	path.dlid = 3;
	path.qpn = c.qp.qpn;
	ok(m4_qp_up(&c.qp, &path));
	c.qp.uar = c.scq.uar = 131;
	m4_arm(&c.v, &c.scq, false);
	m4_recv(&c.qp, &c.mr, 64, 64);
	m4_send(&c.qp, &c.mr, 0, 64);
	m4_good(&c, &c.rcq, MLX4_RECV_OPCODE_SEND);
	m4_good(&c, &c.scq, MLX4_OPCODE_SEND);
	assert_non_null(m4_event(&c.v, c.scq.eq));
	assert_int_equal(cx_stats(c.v.dev->cx)->doorbells_refused, 0);
	ok(m4_qp_to_rst(&c.qp));
	m4_side_close(&c);
}

/* A device with entries of 64 octets and BlueFlame, and a queue pair to itself. */
static void modern(struct m4_pair *p, struct m4_side *c)
{
	struct m4_qp_init init = { .st = M4_RC };
	struct m4_path path = m4_path();

	memset(c, 0, sizeof(*c));
	p->rig->cqe64 = p->rig->blueflame = true;
	m4_side_open(c, p->rig, M4_GUID_B + 1, 3);
	assert_int_equal(c->v.log_cqe, 6);
	init.scq = &c->scq;
	init.rcq = &c->rcq;
	ok(m4_qp(&c->v, &c->qp, &init));
	path.dlid = 3;
	path.qpn = c->qp.qpn;
	ok(m4_qp_up(&c->qp, &path));
}

/* More than a queue has, and into a larger one. */
static void long_entries(void **state)
{
	struct m4_pair *p = *state;
	struct m4_side c;
	unsigned int i;

	modern(p, &c);
	for (i = 0; i < 700; i++) {
		if (i == 300)
			ok(m4_cq_resize(&c.v, &c.rcq, 9));
		m4_recv(&c.qp, &c.mr, HALF, 64);
		m4_send(&c.qp, &c.mr, 0, i % 64);
		assert_int_equal(m4_good(&c, &c.rcq, MLX4_RECV_OPCODE_SEND).len,
				 i % 64);
		m4_good(&c, &c.scq, MLX4_OPCODE_SEND);
	}
	m4_none(&c, &c.rcq);
	ok(m4_qp_to_rst(&c.qp));
	m4_side_close(&c);
}

/* Two buffers in turn; a page of another UAR, or of event queues, rings for nothing. */
static void blueflame(void **state)
{
	static const uint32_t other[] = { 131, 129, 128, 0, 127, 1023 };
	struct m4_pair *p = *state;
	struct m4_side c;
	const uint8_t *wqe;
	uint64_t refused;
	unsigned int i;

	modern(p, &c);
	refused = cx_stats(c.v.dev->cx)->doorbells_refused;
	for (i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
		c.qp.uar = 200;			/* nobody hears it */
		m4_recv(&c.qp, &c.mr, HALF, 64);
		wqe = c.qp.sq + ((c.qp.sq_head & 63) << c.qp.log_sq_stride);
		m4_send(&c.qp, &c.mr, 0, 64);
		c.qp.uar = c.v.uar;
		assert_int_equal(cx_stats(c.v.dev->cx)->doorbells_refused, ++refused);
		m4_ring_bf(&c.v, other[i], c.qp.qpn, wqe, i & 1);
		assert_int_equal(cx_stats(c.v.dev->cx)->doorbells_refused, ++refused);
		m4_none(&c, &c.rcq);
		m4_ring_bf(&c.v, c.v.uar, c.qp.qpn, wqe, i & 1);
		m4_good(&c, &c.rcq, MLX4_RECV_OPCODE_SEND);
		m4_good(&c, &c.scq, MLX4_OPCODE_SEND);
	}
	assert_int_equal(cx_stats(c.v.dev->cx)->doorbells_refused, refused);
	ok(m4_qp_to_rst(&c.qp));
	m4_side_close(&c);
}

/* Without it, the upper half of the BAR is of no meaning. */
static void no_blueflame(void **state)
{
	struct m4_pair *p = *state;
	uint64_t rung = cx_stats(p->a.v.dev->cx)->doorbells_sq;

	m4_ring_bf(&p->a.v, p->a.v.uar, p->a.qp.qpn, p->a.qp.sq, 0);
	assert_int_equal(cx_stats(p->a.v.dev->cx)->doorbells_sq, rung);
}

/* One event for one request, for any entry or for a solicited one. */
static void completion_events(void **state)
{
	struct m4_pair *p = *state;
	struct m4_eq *eq = p->b.rcq.eq;
	const struct m4_eqe *e;
	struct m4_wr wr = { .opcode = MLX4_OPCODE_SEND,
			    .flags = M4_SOLICITED };
	unsigned int i;

	for (i = 0; i < 4; i++) {
		m4_arm(&p->b.v, &p->b.rcq, i & 1);
		m4_recv(&p->b.qp, &p->b.mr, 0, 64);
		m4_send(&p->a.qp, &p->a.mr, 0, 8);
		rig_run(p->rig);
		if (i & 1) {
			assert_null(m4_event(&p->b.v, eq));
			m4_recv(&p->b.qp, &p->b.mr, 0, 64);
			m4_post(&p->a.qp, &wr);
			rig_run(p->rig);
			m4_good(&p->b, &p->b.rcq, MLX4_RECV_OPCODE_SEND);
		}
		e = m4_event(&p->b.v, eq);
		assert_non_null(e);
		assert_int_equal(e->type, 0);
		assert_int_equal(m4_get32(e->data, 0), p->b.rcq.cqn);
		assert_null(m4_event(&p->b.v, eq));
		p->b.rcq.arm_sn++;
		m4_good(&p->b, &p->b.rcq, MLX4_RECV_OPCODE_SEND);
		m4_good(&p->a, &p->a.scq, MLX4_OPCODE_SEND);
	}
}

static void resized_queue(void **state)
{
	struct m4_pair *p = *state;
	unsigned int i;

	for (i = 0; i < 30; i++)
		send_of(p, i, 0);
	for (i = 0; i < 20; i++) {
		m4_recv(&p->b.qp, &p->b.mr, 0, 64);
		m4_send(&p->a.qp, &p->a.mr, 0, i);
	}
	rig_run(p->rig);
	assert_int_equal(m4_cq_resize(&p->b.v, &p->b.rcq, 4), BAD_SIZE);
	ok(m4_cq_resize(&p->b.v, &p->b.rcq, 6));
	for (i = 0; i < 20; i++)
		assert_int_equal(m4_good(&p->b, &p->b.rcq,
					 MLX4_RECV_OPCODE_SEND).len, i);
	for (i = 0; i < 20; i++)
		m4_good(&p->a, &p->a.scq, MLX4_OPCODE_SEND);
	for (i = 0; i < 200; i++)
		send_of(p, i, 0);
	/* At index 251: the HCA is in the second lap of this one. */
	ok(m4_cq_resize(&p->b.v, &p->b.rcq, 7));
	m4_none(&p->b, &p->b.rcq);
	for (i = 0; i < 300; i++)
		send_of(p, i, 0);
}

static void overrun(void **state)
{
	struct m4_pair *p = *state;
	struct m4_cq small, keep = p->a.scq;
	struct m4_path path = m4_path();
	struct m4_qp_init init = { .st = M4_RC };
	const struct m4_eqe *e;
	unsigned int i;

	ok(m4_cq(&p->a.v, &small, 1, &p->a.v.comp[0]));
	p->a.scq = small;
	m4_make(p, &init);
	m4_connect(p, &path);
	for (i = 0; i < 3; i++)
		m4_rdma(&p->a.qp, MLX4_OPCODE_RDMA_WRITE, &p->a.mr, 0, 1,
			p->b.mr.va, p->b.mr.key);
	rig_run(p->rig);
	e = m4_async(&p->a.v, 0x04);
	assert_non_null(e);
	assert_int_equal(m4_get32(e->data, 0), small.cqn);
	assert_int_equal(e->data[11], 1);
	assert_int_equal(m4_qp_state(&p->a.qp), ERR);
	ok(m4_qp_to_rst(&p->a.qp));
	ok(m4_cq_free(&p->a.v, &small));
	p->a.scq = keep;
}

/* Moves that are none, and numbers that name nothing. */
static void bad_moves(void **state)
{
	struct m4_pair *p = *state;
	struct m4_path path = m4_path();
	struct m4_cq none = p->a.scq;
	struct m4_qp_init init = { .st = M4_RC, .scq = &none,
				   .rcq = &p->a.rcq };
	struct m4_qp qp;

	assert_int_equal(m4_qp_to_rtr(&p->a.qp, &path), BAD_QP_STATE);
	assert_int_equal(m4_qp_to_init(&p->a.qp, &path), BAD_RES_STATE);
	none.cqn = 0x3f;
	ok(m4_qp(&p->a.v, &qp, &init));
	assert_int_equal(m4_qp_to_init(&qp, &path), BAD_RES);
	assert_int_equal(m4_qp_to_rtr(&qp, &path), BAD_RES);
	none.cqn = p->a.scq.cqn;
	qp.mtt = 1ull << 38;
	assert_int_equal(m4_qp_to_init(&qp, &path), 3);
	qp.st = M4_MLX;
	assert_int_equal(m4_qp_to_init(&qp, &path), 3);
	assert_int_equal(m4_qp_state(&p->a.qp), RTS);
}

static void unreliable(void **state)
{
	struct m4_pair *p = *state;

	send_of(p, 5000, 0);
	m4_rdma(&p->a.qp, MLX4_OPCODE_RDMA_WRITE, &p->a.mr, 0, 100,
		p->b.mr.va, p->b.mr.key);
	m4_good(&p->a, &p->a.scq, MLX4_OPCODE_RDMA_WRITE);
	m4_rdma(&p->a.qp, MLX4_OPCODE_RDMA_READ, &p->a.mr, 0, 100,
		p->b.mr.va, p->b.mr.key);
	m4_bad(&p->a, &p->a.scq, LOC_QP_OP);
}

#define T(f)	cmocka_unit_test_setup_teardown(f, m4_setup, m4_teardown)
#define RC(f)	cmocka_unit_test_setup_teardown(f, m4_setup_rc, m4_teardown)
#define UC(f)	cmocka_unit_test_setup_teardown(f, m4_setup_uc, m4_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RC(sends),
		RC(send_with_immediate),
		T(inline_data),
		RC(rdma),
		RC(atomics),
		T(queues_wrap),
		T(order_of_queues),
		T(numbers_above_the_table),
		T(errors_of_keys),
		T(domains_and_rights),
		RC(registered_again),
		RC(unmapped_keys),
		RC(any_region),
		RC(flushes),
		T(nobody_receives),
		T(malformed),
		RC(forged_owners),
		RC(strangers_doorbell),
		RC(without_the_check),
		T(long_entries),
		T(blueflame),
		RC(no_blueflame),
		RC(completion_events),
		RC(resized_queue),
		T(overrun),
		RC(bad_moves),
		UC(unreliable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
