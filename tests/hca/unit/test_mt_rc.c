// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Connections of the InfiniHost: WQEs described by those before them, queues in regions,
 * records by index, and what becomes of a key, a domain or an index that is another's.
 */
#include "mt_pair.h"

#define HALF (M4_MR_BYTES / 2)

enum { BAD_PARAM = 3, BAD_RES = 5, BAD_RES_STATE = 9, BAD_QP_STATE = 0x10,
       BAD_SIZE = 0x40 };
enum { MAP_ICM = 0xffa, UNMAP_ICM = 0xff9 };
enum { ERR = 6, RTS = 3 };
#define UARC		(0x40000000ull + (2ull << 18))	/* of the driver's UAR page */

static void send_of(struct mt_pair *p, uint32_t len, uint32_t at)
{
	struct m4_wc wc;
	uint16_t index;

	m4_fill(p->a.mem + at, len, len);
	memset(p->b.mem, 0xee, len + 1);
	mt_recv(&p->b.qp, &p->b.mr, 0, HALF);
	index = mt_send(&p->a.qp, &p->a.mr, at, len);
	wc = mt_good(&p->b, &p->b.rcq, RECV_SEND);
	assert_false(wc.send);
	assert_int_equal(wc.len, len);
	assert_int_equal(wc.qpn, p->b.qp.qpn);
	assert_int_equal(wc.index, (p->b.qp.rq_head - 1) &
			 ((1u << p->b.qp.log_rq) - 1));
	assert_true(m4_filled(p->b.mem, len, len));
	assert_int_equal(p->b.mem[len], 0xee);
	wc = mt_good(&p->a, &p->a.scq, OP_SEND);
	assert_true(wc.send);
	/* Octets from the beginning of the queue's memory on. */
	assert_int_equal(wc.index, (p->a.qp.sq_off +
			 ((uint32_t)index << p->a.qp.log_sq_stride)) >> 6);
	assert_int_equal(wc.qpn, p->a.qp.qpn);
}

static void sends(void **state)
{
	static const uint32_t len[] = { 0, 1, 63, 64, 2047, 2048, 2049, 65535, 65536,
					65537, 200000, HALF };
	struct mt_pair *p = *state;
	size_t i;

	for (i = 0; i < sizeof(len) / sizeof(len[0]); i++) {
		send_of(p, len[i], 0);
		send_of(p, len[i], 4093);
	}
	mt_none(&p->a, &p->a.scq);
	mt_none(&p->b, &p->b.rcq);
	assert_int_equal(cx_stats(p->a.m.v.dev->cx)->retries, 0);
}

static void immediate_and_inline(void **state)
{
	struct mt_pair *p = *state;
	uint8_t data[60];
	struct m4_wr wr = { .opcode = OP_SEND_IMM, .inl = data, .imm = 0xcafe1234,
			    .flags = M4_SIGNALED | M4_SOLICITED | M4_INLINE };
	struct m4_wc wc;

	for (wr.inl_len = 0; wr.inl_len <= sizeof(data); wr.inl_len += 5) {
		m4_fill(data, wr.inl_len, wr.inl_len);
		mt_recv(&p->b.qp, &p->b.mr, 0, 64);
		mt_post(&p->a.qp, &wr);
		wc = mt_good(&p->b, &p->b.rcq, RECV_SEND_IMM);
		assert_int_equal(wc.imm, 0xcafe1234);
		assert_int_equal(wc.len, wr.inl_len);
		assert_true(m4_filled(p->b.mem, wr.inl_len, wr.inl_len));
		mt_good(&p->a, &p->a.scq, OP_SEND_IMM);
	}
}

static void rdma(void **state)
{
	struct mt_pair *p = *state;
	struct m4_wr imm = { .opcode = OP_WRITE_IMM, .flags = M4_SIGNALED, .imm = 0x99,
			     .raddr = p->b.mr.va, .rkey = p->b.mr.key };

	m4_fill(p->a.mem, 100000, 1);
	mt_rdma(&p->a.qp, OP_WRITE, &p->a.mr, 0, 100000, p->b.mr.va + 5, p->b.mr.key);
	mt_good(&p->a, &p->a.scq, OP_WRITE);
	assert_true(m4_filled(p->b.mem + 5, 100000, 1));
	mt_rdma(&p->a.qp, OP_READ, &p->a.mr, HALF, 100000, p->b.mr.va + 5, p->b.mr.key);
	assert_int_equal(mt_good(&p->a, &p->a.scq, OP_READ).len, 100000);
	assert_true(m4_filled(p->a.mem + HALF, 100000, 1));
	mt_recv(&p->b.qp, &p->b.mr, 0, 0);
	mt_post(&p->a.qp, &imm);
	assert_int_equal(mt_good(&p->b, &p->b.rcq, RECV_WRITE_IMM).imm, 0x99);
	mt_good(&p->a, &p->a.scq, OP_WRITE_IMM);
}

/* Results are in the host's order of octets, as INIT_HCA says; fenced. */
static void atomics(void **state)
{
	struct mt_pair *p = *state;
	struct m4_sge sge = { p->a.mr.va, 8, p->a.mr.key };
	struct m4_wr wr = { .opcode = OP_FA, .sge = &sge, .nr_sge = 1,
			    .flags = M4_SIGNALED | M4_FENCE, .raddr = p->b.mr.va + 64,
			    .rkey = p->b.mr.key, .swap_add = 7 };
	uint64_t was = 0x1122334455667788ull, value;

	memcpy(p->b.mem + 64, &was, 8);
	mt_post(&p->a.qp, &wr);
	mt_good(&p->a, &p->a.scq, OP_FA);
	memcpy(&value, p->a.mem, 8);
	assert_true(value == was);
	wr.opcode = OP_CS;
	wr.compare = was + 7;
	wr.swap_add = 42;
	mt_post(&p->a.qp, &wr);
	mt_good(&p->a, &p->a.scq, OP_CS);
	memcpy(&value, p->b.mem + 64, 8);
	assert_true(value == 42);
}

/* Sixteen entries of each queue, a hundred laps: who describes whom, and records. */
static void queues_wrap(void **state)
{
	struct mt_qp_init init = { .st = M4_RC, .log_sq = 4, .log_rq = 4 };
	struct m4_path path = m4_path();
	struct mt_pair *p = *state;
	unsigned int i, j;

	mt_make(p, &init);
	mt_connect(p, &path);
	for (i = 0; i < 100; i++) {
		for (j = 0; j < 16; j++)
			mt_recv(&p->b.qp, &p->b.mr, j * 64, 64);
		for (j = 0; j < 16; j++) {
			m4_fill(p->a.mem + j * 64, 64, i + j);
			mt_rdma(&p->a.qp, j & 1 ? OP_WRITE_IMM : OP_SEND, &p->a.mr, j * 64,
				64, p->b.mr.va + j * 64, p->b.mr.key);
		}
		for (j = 0; j < 16; j++) {
			mt_good(&p->b, &p->b.rcq, j & 1 ? RECV_WRITE_IMM : RECV_SEND);
			mt_good(&p->a, &p->a.scq, j & 1 ? OP_WRITE_IMM : OP_SEND);
			assert_true(m4_filled(p->b.mem + j * 64, 64, i + j));
		}
	}
}

/* More than 2^16 of a queue: counters are of 16 bits. */
static void counters_wrap(void **state)
{
	struct mt_pair *p = *state;
	unsigned int i;

	for (i = 0; i < 0x10010; i++) {
		mt_rdma(&p->a.qp, OP_WRITE, &p->a.mr, 0, 1, p->b.mr.va, p->b.mr.key);
		mt_good(&p->a, &p->a.scq, OP_WRITE);
	}
	send_of(p, 100, 0);
}

/* Without the WQEs' own bit, if the context says so. */
static void all_signaled(void **state)
{
	struct mt_qp_init init = { .st = M4_RC };
	struct m4_path path = m4_path();
	struct m4_wr wr = { .opcode = OP_SEND };
	struct mt_pair *p = *state;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		init.all_signaled = i;
		mt_make(p, &init);
		mt_connect(p, &path);
		mt_recv(&p->b.qp, &p->b.mr, 0, 64);
		mt_post(&p->a.qp, &wr);
		mt_good(&p->b, &p->b.rcq, RECV_SEND);
		if (i)
			mt_good(&p->a, &p->a.scq, OP_SEND);
		else
			mt_none(&p->a, &p->a.scq);
		mt_unmake(p);
	}
}

/* A queue of 2 KiB MTU is the greatest. */
static void path_mtu(void **state)
{
	struct mt_pair *p = *state;
	struct m4_path path = m4_path();
	uint8_t box[0x108] = { 0 };

	mt_unmake(p);
	ok(mt_qp(&p->a.m, &p->a.qp, &(struct mt_qp_init){ .st = M4_RC, .scq = &p->a.scq,
							   .rcq = &p->a.rcq }));
	ok(mt_qp_to_init(&p->a.qp, &path));
	box[0x10] = 5 << 5 | 31;
	assert_int_equal(m4_box(&p->a.m.v, 0x1a, 0, p->a.qp.qpn, box, sizeof(box), NULL,
				0), BAD_PARAM);
	ok(mt_qp_to_rtr(&p->a.qp, &path));
	ok(mt_qp_to_rst(&p->a.qp));
}

static void numbers_above_the_table(void **state)
{
	struct mt_pair *p = *state;
	struct mt_qp_init init = { .st = M4_RC, .qpn = 0x7f0000 | 0x123 };
	struct m4_path path = m4_path();

	p->a.m.v.next_mpt = 0x3f0001f5;
	ok(mt_mr_free(&p->a.m, &p->a.mr));
	ok(mt_mr(&p->a.m, &p->a.mr, p->a.mem, M4_MR_BYTES, M4_ALL));
	assert_int_equal(p->a.mr.key & 0xff, 0x3f);
	mt_make(p, &init);
	mt_connect(p, &path);
	send_of(p, 4000, 0);
	p->a.qp.qpn = 0x123;			/* another with its slot */
	mt_ring(&p->a.qp);
	assert_int_equal(cx_stats(p->a.m.v.dev->cx)->doorbells_refused, 1);
	assert_int_equal(mt_qp_to_init(&p->a.qp, &path), BAD_RES_STATE);
	p->a.qp.qpn = 0x7f0123;
	send_of(p, 4001, 0);
}

static void errors_of_keys(void **state)
{
	static const struct {
		uint32_t key;			/* added to the peer's */
		uint64_t addr;
	} bad[] = {
		{ 1, 0 }, { 0x100, 0 }, { 0, M4_MR_BYTES - 99 }, { 0, -1ull },
	};
	struct mt_qp_init init = { .st = M4_RC };
	struct m4_path path = m4_path();
	struct mt_pair *p = *state;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		mt_make(p, &init);
		mt_connect(p, &path);
		mt_rdma(&p->a.qp, OP_WRITE, &p->a.mr, 0, 100,
			p->b.mr.va + bad[i].addr, p->b.mr.key + bad[i].key);
		mt_bad(&p->a, &p->a.scq, REM_ACCESS);
		assert_int_equal(mt_qp_state(&p->a.qp), ERR);
		assert_non_null(m4_async(&p->b.m.v, 0x11));
		mt_unmake(p);
	}
}

/* The kernel's key of all memory, and a region that does not begin with a page. */
static void any_region(void **state)
{
	struct mt_pair *p = *state;
	struct m4_mr part, all;

	ok(mt_mr_at(&p->a.m, &part, p->a.mem + 4096 + 100, 9000, 0x5555000 + 100, 1,
		    M4_ALL));
	m4_fill(part.p, 9000, 3);
	mt_recv(&p->b.qp, &p->b.mr, 0, HALF);
	mt_send(&p->a.qp, &part, 0, 9000);
	mt_good(&p->b, &p->b.rcq, RECV_SEND);
	mt_good(&p->a, &p->a.scq, OP_SEND);
	assert_true(m4_filled(p->b.mem, 9000, 3));
	ok(mt_mr_free(&p->a.m, &part));
	ok(mt_dma_mr(&p->a.m, &all));
	all.va = rig_bus(p->rig, p->a.mem);
	m4_fill(p->a.mem, 4096, 4);
	mt_recv(&p->b.qp, &p->b.mr, 0, HALF);
	mt_send(&p->a.qp, &all, 0, 4096);
	mt_good(&p->b, &p->b.rcq, RECV_SEND);
	mt_good(&p->a, &p->a.scq, OP_SEND);
	assert_true(m4_filled(p->b.mem, 4096, 4));
	ok(mt_mr_free(&p->a.m, &all));
}

/*
 * What the driver passes on without a look: a completion queue by another's key and
 * domain writes over that one's region. The HCA cannot know better.
 */
static void key_and_domain_of_another(void **state)
{
	struct mt_pair *p = *state;
	struct mt_qp_init init = { .st = M4_RC };
	struct m4_path path = m4_path();
	struct mt_buf victim;
	struct mt_cq stolen, keep = p->a.scq;

	ok(mt_buf(&p->a.m, &victim, 4096, 7, MT_LOCAL_WRITE));
	memset(victim.p, 0xaa, 4096);
	memset(&stolen, 0, sizeof(stolen));
	ok(mt_cq_in(&p->a.m, &stolen, 4, victim.mr.key, 7));
	p->a.scq = stolen;
	mt_make(p, &init);
	mt_connect(p, &path);
	mt_rdma(&p->a.qp, OP_WRITE, &p->a.mr, 0, 1, p->b.mr.va, p->b.mr.key);
	rig_run(p->rig);
	assert_int_equal(m4_get32(victim.p, 0), p->a.qp.qpn);
	mt_unmake(p);
	p->a.scq = keep;
}

/* A key alone, a domain alone, or a region that may not be written, and the queue fails. */
static void key_or_domain_of_another(void **state)
{
	static const struct { uint32_t pd, named; int access; } try[] = {
		{ 7, 1, MT_LOCAL_WRITE }, { 1, 7, MT_LOCAL_WRITE }, { 1, 1, MT_READ_ONLY },
	};
	struct mt_pair *p = *state;
	struct mt_qp_init init = { .st = M4_RC };
	struct m4_path path = m4_path();
	struct mt_cq bad, keep = p->a.scq;
	const struct m4_eqe *e;
	struct mt_buf b;
	size_t i;

	for (i = 0; i < 3; i++) {
		ok(mt_buf(&p->a.m, &b, 4096, try[i].pd, try[i].access));
		memset(b.p, 0xaa, 4096);
		memset(&bad, 0, sizeof(bad));
		ok(mt_cq_in(&p->a.m, &bad, 4, b.mr.key, try[i].named));
		p->a.scq = bad;
		mt_make(p, &init);
		mt_connect(p, &path);
		m4_async(&p->a.m.v, 0x04);
		mt_rdma(&p->a.qp, OP_WRITE, &p->a.mr, 0, 1, p->b.mr.va, p->b.mr.key);
		rig_run(p->rig);
		e = m4_async(&p->a.m.v, 0x04);
		assert_non_null(e);
		assert_int_equal(m4_get32(e->data, 0), bad.cqn);
		assert_int_equal(e->data[11], 2);
		assert_int_equal(b.p[0], 0xaa);
		assert_int_equal(mt_qp_state(&p->a.qp), ERR);
		mt_unmake(p);
	}
	p->a.scq = keep;
}

/* The region goes, the queue pair stays: it fails, and touches nothing. */
static void region_goes_first(void **state)
{
	struct mt_pair *p = *state;

	send_of(p, 10, 0);
	ok(mt_mr_free(&p->a.m, &p->a.qp.buf.mr));
	mt_send(&p->a.qp, &p->a.mr, 0, 10);
	rig_run(p->rig);
	assert_int_equal(mt_qp_state(&p->a.qp), ERR);
	mt_bad(&p->a, &p->a.scq, FLUSH);
}

/* A page of records may be mapped over another, as the driver does it. */
static void records_move(void **state)
{
	struct mt_pair *p = *state;
	struct m4 *v = &p->a.m.v;
	uint64_t held = cx_pages_held(v->dev->cx);
	uint8_t *other = rig_alloc(p->rig, M4_PAGE);
	uint8_t *old = p->a.m.records;

	send_of(p, 10, 0);
	assert_true(cx_may_touch(v->dev->cx, rig_bus(p->rig, old)));
	assert_true(cx_may_touch(v->dev->cx, rig_bus(p->rig, old) + 100));
	/* A record's place in context memory is no address on the bus. */
	assert_false(cx_may_touch(v->dev->cx, UARC + p->a.qp.rq_index * 8));
	assert_false(cx_may_touch(v->dev->cx, rig_bus(p->rig, other)));
	memcpy(other, old, M4_PAGE);
	ok(m4_map(v, MAP_ICM, other, M4_PAGE, UARC));
	assert_int_equal(cx_pages_held(v->dev->cx), held);
	assert_true(cx_may_touch(v->dev->cx, rig_bus(p->rig, other)));
	assert_false(cx_may_touch(v->dev->cx, rig_bus(p->rig, old)));
	p->a.qp.sq_record = (uint32_t *)(other + p->a.qp.sq_index * 8);
	send_of(p, 11, 0);
	ok(m4_cmd(v, UNMAP_ICM, 0, 1, UARC, NULL));
	mt_send(&p->a.qp, &p->a.mr, 0, 10);
	rig_run(p->rig);
	assert_int_equal(mt_qp_state(&p->a.qp), ERR);
	assert_true(rig_run(p->rig));
	ok(m4_map(v, MAP_ICM, old, M4_PAGE, UARC));
}

/* An index behind the UAR page's own records is of the next page's, and not there. */
static void record_of_another(void **state)
{
	struct mt_pair *p = *state;
	struct mt_qp_init init = { .st = M4_RC, .scq = &p->a.scq, .rcq = &p->a.rcq };
	struct m4_path path = m4_path();
	struct mt_qp qp;

	ok(mt_qp(&p->a.m, &qp, &init));
	qp.sq_index = 1 << 15;
	ok(mt_qp_up(&qp, &path));
	mt_ring(&qp);
	rig_run(p->rig);
	assert_int_equal(mt_qp_state(&qp), ERR);
	ok(mt_qp_to_rst(&qp));
	ok(mt_mr_free(&p->a.m, &qp.buf.mr));
}

/* A WQE behind a fence sends what a READ before it has brought. */
static void fence(void **state)
{
	struct mt_pair *p = *state;
	struct m4_sge sge = { p->a.mr.va, 4096, p->a.mr.key };
	struct m4_wr wr = { .opcode = OP_WRITE, .sge = &sge, .nr_sge = 1,
			    .flags = M4_SIGNALED | M4_FENCE,
			    .raddr = p->b.mr.va + HALF, .rkey = p->b.mr.key };

	m4_fill(p->b.mem, 4096, 1);
	p->a.qp.uar = 3;			/* nobody hears of this one yet */
	mt_rdma(&p->a.qp, OP_READ, &p->a.mr, 0, 4096, p->b.mr.va, p->b.mr.key);
	p->a.qp.uar = p->a.m.v.uar;
	mt_post(&p->a.qp, &wr);
	mt_good(&p->a, &p->a.scq, OP_READ);
	mt_good(&p->a, &p->a.scq, OP_WRITE);
	assert_true(m4_filled(p->b.mem + HALF, 4096, 1));
}

/* QUERY_QP answers with what the moves have set, where the driver looks for it. */
static void asked_for(void **state)
{
	struct mt_pair *p = *state;
	struct m4_path path = m4_path();
	uint8_t box[0x108], *c = box + 8;

	ok(m4_box(&p->a.m.v, 0x22, 0, p->a.qp.qpn, NULL, 0, box, sizeof(box)));
	assert_int_equal(c[0] >> 4, RTS);
	assert_int_equal(c[8] >> 5, 4);				/* MTU */
	assert_int_equal(m4_get32(c, 0x14), p->b.qp.qpn);
	assert_int_equal(m4_get32(c, 0x20), 1 << 24);		/* port, P_Key */
	assert_int_equal(c[0x24] >> 5, path.rnr_retry);
	assert_int_equal(m4_get32(c, 0x24) & 0xffff, 2);	/* LID */
	assert_int_equal(c[0x28] >> 3, path.timeout);
	assert_int_equal(m4_get32(c, 0x70) >> 21 & 7, 2);	/* READs, as initiator */
	assert_int_equal(m4_get32(c, 0x70) >> 16 & 7, path.retry);
	assert_int_equal(m4_get32(c, 0x78) & 0xffffff, path.psn);
	assert_int_equal(m4_get32(c, 0x90) >> 21 & 7, 2);	/* ... as responder */
	assert_int_equal(m4_get32(c, 0x90) >> 13 & 7, 7);	/* rights */
	assert_int_equal(m4_get32(c, 0x94), (uint32_t)path.min_rnr << 24 | path.psn);
	assert_int_equal(m4_get32(c, 0xa8), path.qkey);
}

/* A connection may have GRHs: that is nothing a completion tells of. */
static void with_grhs(void **state)
{
	static const uint8_t b[16] = { 0xfe, 0x80, [9] = 0x02, 0xc9, 0x03, 0,
				       0, 0x0b, 0x02 };
	struct mt_pair *p = *state;
	struct mt_qp_init init = { .st = M4_RC };
	struct m4_path path = m4_path();

	mt_make(p, &init);
	path.dgid = b;
	mt_connect(p, &path);
	mt_recv(&p->b.qp, &p->b.mr, 0, 64);
	mt_send(&p->a.qp, &p->a.mr, 0, 64);
	assert_false(mt_good(&p->b, &p->b.rcq, RECV_SEND).grh);
	mt_good(&p->a, &p->a.scq, OP_SEND);
}

static void flushes(void **state)
{
	struct mt_pair *p = *state;
	struct m4_wc wc;
	unsigned int i;

	for (i = 0; i < 3; i++)
		mt_recv(&p->a.qp, &p->a.mr, 0, 64);
	ok(mt_qp_to_err(&p->a.qp));
	mt_send(&p->a.qp, &p->a.mr, 0, 64);
	mt_send(&p->a.qp, &p->a.mr, 0, 64);
	for (i = 0; i < 2; i++) {
		wc = mt_bad(&p->a, &p->a.scq, FLUSH);
		assert_true(wc.send);
		assert_int_equal(wc.index, (p->a.qp.sq_off >> 6) + 2 * i);
	}
	for (i = 0; i < 3; i++) {
		wc = mt_bad(&p->a, &p->a.rcq, FLUSH);
		assert_false(wc.send);
		assert_int_equal(wc.index, i);
	}
	mt_none(&p->a, &p->a.scq);
	mt_none(&p->a, &p->a.rcq);
}

static void nobody_receives(void **state)
{
	struct m4_path path = m4_path();
	struct mt_qp_init init = { .st = M4_RC };
	struct mt_pair *p = *state;

	path.rnr_retry = 2;
	mt_make(p, &init);
	mt_connect(p, &path);
	mt_send(&p->a.qp, &p->a.mr, 0, 64);
	rig_sleep(p->rig, 1000000000);
	mt_bad(&p->a, &p->a.scq, RNR);
}

/* Opcodes that are none of this HCA's, and a size that the stride has not. */
static void malformed(void **state)
{
	static const uint8_t opcode[] = { 0x01, 0x07, 0x0e, 0x14, 0x18, 0x19, 0x1b,
					  0x1f };
	struct mt_qp_init init = { .st = M4_RC };
	struct m4_path path = m4_path();
	struct mt_pair *p = *state;
	struct m4_wr wr = { .flags = M4_SIGNALED };
	uint8_t *last;
	size_t i;

	for (i = 0; i <= sizeof(opcode); i++) {
		mt_make(p, &init);
		mt_connect(p, &path);
		wr.opcode = i < sizeof(opcode) ? opcode[i] : OP_SEND;
		if (i == sizeof(opcode)) {
			last = p->a.qp.buf.p + p->a.qp.sq_off + (63 << 7);
			m4_put32(last, 0, p->a.qp.sq_off | OP_SEND);
			m4_put32(last, 4, 1 << 7 | 9);
			*p->a.qp.sq_record = htobe32(1);
			mt_ring(&p->a.qp);
		} else {
			mt_post(&p->a.qp, &wr);
		}
		mt_bad(&p->a, &p->a.scq, LOC_QP_OP);
		mt_unmake(p);
	}
}

/* A record that claims more than the queue has. */
static void forged_record(void **state)
{
	struct mt_pair *p = *state;

	*p->a.qp.sq_record = htobe32(0x8000);
	mt_ring(&p->a.qp);
	assert_true(rig_run(p->rig));
	assert_true(cx_stats(p->a.m.v.dev->cx)->wqes <= 128);
	*p->b.qp.rq_record = htobe32(0x8000);
	ok(mt_qp_to_err(&p->b.qp));
	assert_true(rig_run(p->rig));
}

/* Two stores of a 32-bit CPU are a doorbell if the second belongs to the first. */
static void halves_of_doorbells(void **state)
{
	struct mt_pair *p = *state;
	struct rig_dev *d = p->a.m.v.dev;
	uint64_t rung = cx_stats(d->cx)->doorbells_sq;
	uint64_t page = CX_BAR2 + p->a.m.v.uar * M4_PAGE;

	rig_write32(d, page + 0x10, 1 << 24);
	rig_write32(d, page + M4_PAGE + 0x14, p->a.qp.qpn << 8);
	rig_write32(d, page + 0x24, p->a.qp.qpn << 8);
	assert_int_equal(cx_stats(d->cx)->doorbells_sq, rung);
	rig_write32(d, page + 0x14, p->a.qp.qpn << 8);
	assert_int_equal(cx_stats(d->cx)->doorbells_sq, rung + 1);
	rig_write32(d, page + 0x14, p->a.qp.qpn << 8);
	assert_int_equal(cx_stats(d->cx)->doorbells_sq, rung + 1);
	assert_int_equal(cx_stats(d->cx)->doorbells_cq, 0);
}

static void strangers_doorbell(void **state)
{
	struct mt_pair *p = *state;
	uint64_t refused = cx_stats(p->a.m.v.dev->cx)->doorbells_refused;

	p->a.qp.uar = 3;
	mt_recv(&p->b.qp, &p->b.mr, 0, 64);
	mt_send(&p->a.qp, &p->a.mr, 0, 64);
	p->a.qp.uar = p->a.m.v.uar;
	assert_int_equal(cx_stats(p->a.m.v.dev->cx)->doorbells_refused, refused + 1);
	mt_none(&p->b, &p->b.rcq);
	mt_ring(&p->a.qp);
	mt_good(&p->b, &p->b.rcq, RECV_SEND);
	mt_good(&p->a, &p->a.scq, OP_SEND);
	p->a.scq.uar = 3;
	mt_arm(&p->a.m, &p->a.scq, false);
	p->a.scq.uar = p->a.m.v.uar;
	assert_int_equal(cx_stats(p->a.m.v.dev->cx)->doorbells_refused, refused + 2);
}

/* One event for one request, for any entry or for a solicited one. */
static void completion_events(void **state)
{
	struct m4_wr wr = { .opcode = OP_SEND, .flags = M4_SOLICITED };
	struct mt_pair *p = *state;
	struct m4 *v = &p->b.m.v;
	const struct m4_eqe *e;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		mt_arm(&p->b.m, &p->b.rcq, i & 1);
		mt_recv(&p->b.qp, &p->b.mr, 0, 64);
		mt_send(&p->a.qp, &p->a.mr, 0, 8);
		rig_run(p->rig);
		if (i & 1) {
			assert_null(m4_event(v, &p->b.m.comp));
			mt_recv(&p->b.qp, &p->b.mr, 0, 64);
			mt_post(&p->a.qp, &wr);
			rig_run(p->rig);
			mt_good(&p->b, &p->b.rcq, RECV_SEND);
		}
		e = m4_event(v, &p->b.m.comp);
		assert_non_null(e);
		assert_int_equal(e->type, 0);
		assert_int_equal(m4_get32(e->data, 0), p->b.rcq.cqn);
		assert_null(m4_event(v, &p->b.m.comp));
		p->b.rcq.arm_sn++;
		mt_good(&p->b, &p->b.rcq, RECV_SEND);
		mt_good(&p->a, &p->a.scq, OP_SEND);
	}
}

/* Entries stay where they are counted; software brings what it finds along. */
static void resized_queue(void **state)
{
	struct mt_pair *p = *state;
	unsigned int i;

	for (i = 0; i < 30; i++)
		send_of(p, i, 0);
	for (i = 0; i < 20; i++) {
		mt_recv(&p->b.qp, &p->b.mr, 0, 64);
		mt_send(&p->a.qp, &p->a.mr, 0, i);
	}
	rig_run(p->rig);
	assert_int_equal(mt_cq_resize(&p->b.m, &p->b.rcq, 4), BAD_SIZE);
	ok(mt_cq_resize(&p->b.m, &p->b.rcq, 6));
	for (i = 0; i < 20; i++)
		assert_int_equal(mt_good(&p->b, &p->b.rcq, RECV_SEND).len, i);
	for (i = 0; i < 20; i++)
		mt_good(&p->a, &p->a.scq, OP_SEND);
	/* No entry tells of it: a full queue can be resized, and one filled to the brim. */
	for (i = 0; i < 64; i++) {
		mt_recv(&p->b.qp, &p->b.mr, 0, 64);
		mt_send(&p->a.qp, &p->a.mr, 0, i);
		mt_good(&p->a, &p->a.scq, OP_SEND);
	}
	assert_int_equal(mt_cq_resize(&p->b.m, &p->b.rcq, 5), BAD_SIZE);
	ok(mt_cq_resize(&p->b.m, &p->b.rcq, 9));
	ok(mt_cq_resize(&p->b.m, &p->b.rcq, 6));
	for (i = 0; i < 64; i++)
		assert_int_equal(mt_good(&p->b, &p->b.rcq, RECV_SEND).len, i);
	for (i = 0; i < 200; i++)
		send_of(p, i, 0);
	ok(mt_cq_resize(&p->b.m, &p->b.rcq, 7));
	mt_none(&p->b, &p->b.rcq);
	for (i = 0; i < 300; i++)
		send_of(p, i, 0);
}

static void overrun(void **state)
{
	struct mt_pair *p = *state;
	struct mt_cq small, keep = p->a.scq;
	struct mt_qp_init init = { .st = M4_RC };
	struct m4_path path = m4_path();
	const struct m4_eqe *e;
	unsigned int i;

	memset(&small, 0, sizeof(small));
	ok(mt_cq(&p->a.m, &small, 1));
	p->a.scq = small;
	mt_make(p, &init);
	mt_connect(p, &path);
	for (i = 0; i < 3; i++)
		mt_rdma(&p->a.qp, OP_WRITE, &p->a.mr, 0, 1, p->b.mr.va, p->b.mr.key);
	rig_run(p->rig);
	e = m4_async(&p->a.m.v, 0x04);
	assert_non_null(e);
	assert_int_equal(e->data[11], 1);
	assert_int_equal(mt_qp_state(&p->a.qp), ERR);
	mt_unmake(p);
	ok(mt_cq_free(&p->a.m, &small));
	p->a.scq = keep;
}

/* A mailbox's port is the second. */
static void second_port(struct m4 *v, uint8_t *box)
{
	box[8 + 0x20] = v->mt ? 2 : 0;
}

static void bad_moves(void **state)
{
	struct mt_pair *p = *state;
	struct m4_path path = m4_path();
	struct mt_cq none = p->a.scq;
	struct mt_qp_init init = { .st = M4_RC, .scq = &none, .rcq = &p->a.rcq };
	struct mt_qp qp;

	assert_int_equal(mt_qp_to_rtr(&p->a.qp, &path), BAD_QP_STATE);
	assert_int_equal(mt_qp_to_init(&p->a.qp, &path), BAD_RES_STATE);
	none.cqn = 0x3f;
	ok(mt_qp(&p->a.m, &qp, &init));
	assert_int_equal(mt_qp_to_init(&qp, &path), BAD_RES);
	none.cqn = p->a.scq.cqn;
	qp.uar = 0;				/* the firmware's page */
	assert_int_equal(mt_qp_to_init(&qp, &path), BAD_RES);
	qp.uar = p->a.m.v.uar;
	p->a.m.v.spoil = second_port;
	assert_int_equal(mt_qp_to_init(&qp, &path), BAD_PARAM);
	p->a.m.v.spoil = NULL;
	p->a.m.v.uar = 0;
	assert_int_equal(mt_cq_in(&p->a.m, &none, 4, qp.buf.mr.key, 1), BAD_RES);
	p->a.m.v.uar = qp.uar;
	qp.st = M4_MLX;
	assert_int_equal(mt_qp_to_init(&qp, &path), BAD_PARAM);
	assert_int_equal(mt_qp_state(&p->a.qp), RTS);
	ok(mt_mr_free(&p->a.m, &qp.buf.mr));
}

static void unreliable(void **state)
{
	struct mt_pair *p = *state;

	send_of(p, 5000, 0);
	mt_rdma(&p->a.qp, OP_WRITE, &p->a.mr, 0, 100, p->b.mr.va, p->b.mr.key);
	mt_good(&p->a, &p->a.scq, OP_WRITE);
	mt_rdma(&p->a.qp, OP_READ, &p->a.mr, 0, 100, p->b.mr.va, p->b.mr.key);
	mt_bad(&p->a, &p->a.scq, LOC_QP_OP);
}

#define T(f)	cmocka_unit_test_setup_teardown(f, mt_setup, mt_teardown)
#define RC(f)	cmocka_unit_test_setup_teardown(f, mt_setup_rc, mt_teardown)
#define UC(f)	cmocka_unit_test_setup_teardown(f, mt_setup_uc, mt_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RC(sends),
		RC(immediate_and_inline),
		RC(rdma),
		RC(atomics),
		T(queues_wrap),
		RC(counters_wrap),
		T(all_signaled),
		RC(path_mtu),
		T(numbers_above_the_table),
		T(errors_of_keys),
		RC(any_region),
		T(key_and_domain_of_another),
		T(key_or_domain_of_another),
		RC(region_goes_first),
		RC(records_move),
		RC(record_of_another),
		RC(fence),
		RC(asked_for),
		T(with_grhs),
		RC(flushes),
		T(nobody_receives),
		T(malformed),
		RC(forged_record),
		RC(halves_of_doorbells),
		RC(strangers_doorbell),
		RC(completion_events),
		RC(resized_queue),
		T(overrun),
		RC(bad_moves),
		UC(unreliable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
