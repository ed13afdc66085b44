// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The InfiniHost: commands with spoilt mailboxes and of any kind, context memory and
 * doorbell records that are written over or taken away, regions that go before their
 * queues, work requests with malformed words, registers and doorbells of any value,
 * between two devices that are up.
 */
#include "tests/fuzz/input.h"
#include "tests/hca/unit/mt.h"

#define MEM	(128u << 10)
#define QPS	3u
#define UARC	(0x40000000ull + (2ull << 18))

struct end {
	struct mt m;
	struct mt_cq scq, rcq;
	struct mt_srq srq;
	struct m4_mr mr;
	struct mt_qp qp[QPS];		/* RC, UD, RC on the SRQ */
	uint8_t *mem;
};

static struct end a, b;

static const struct m4_path path = { .dlid = 2, .qkey = 0x1111, .psn = 1,
				     .timeout = 10, .retry = 3, .rnr_retry = 3,
				     .rd = true };

static void open_end(struct end *e, struct rig *r, uint16_t lid)
{
	struct mt_qp_init init = { .st = M4_RC, .scq = &e->scq, .rcq = &e->rcq };
	struct rig_dev *d;

	memset(e, 0, sizeof(*e));
	d = rig_plug(r, 0x0002c90300000000ULL + lid, lid, false);
	PROMISE(d && !mt_open(&e->m, d));
	PROMISE(!mt_cq(&e->m, &e->scq, 6));
	PROMISE(!mt_cq(&e->m, &e->rcq, 6));
	PROMISE(!mt_srq(&e->m, &e->srq, 4));
	e->mem = rig_alloc(r, MEM);
	PROMISE(!mt_mr(&e->m, &e->mr, e->mem, MEM, M4_ALL));
	PROMISE(!mt_qp(&e->m, &e->qp[0], &init));
	init.st = M4_UD;
	PROMISE(!mt_qp(&e->m, &e->qp[1], &init));
	init.st = M4_RC;
	init.srq = &e->srq;
	PROMISE(!mt_qp(&e->m, &e->qp[2], &init));
}

static void connect_ends(void)
{
	struct m4_path p = path;
	unsigned int i;

	for (i = 0; i < QPS; i++) {
		p.rd = i != 1;
		p.dlid = 2;
		p.qpn = b.qp[i].qpn;
		PROMISE(!mt_qp_up(&a.qp[i], &p));
		p.dlid = 1;
		p.qpn = a.qp[i].qpn;
		PROMISE(!mt_qp_up(&b.qp[i], &p));
	}
}

static void good_post(struct input *in)
{
	uint8_t how = in_u8(in), i = in_u8(in) % QPS;
	uint16_t off = in_u16(in), len = in_u16(in);
	struct m4_sge sge = { a.mr.va + off, len, a.mr.key };
	struct m4_wr wr = { .opcode = how & 0x1f, .sge = &sge, .nr_sge = 1,
			    .flags = M4_SIGNALED | (how >> 5 & 6),
			    .raddr = b.mr.va + len, .rkey = b.mr.key,
			    .ud = { 2, b.qp[i].qpn, 0x1111, NULL } };

	mt_post(&a.qp[i], &wr);
}

static void receive(struct input *in)
{
	uint8_t how = in_u8(in);
	uint16_t len = in_u16(in);

	/* The driver believes its own list. */
	if (how & 1 && b.srq.first >> b.srq.log_size)
		return;
	if (how & 1)
		mt_srq_post(&b.srq, &b.mr, how, len);
	else
		mt_recv(&b.qp[how >> 1 & 1], &b.mr, how, len);
}

/* Words of the queues, records, and the doorbell. */
static void spoil_queue(struct input *in)
{
	struct mt_qp *qp = &a.qp[in_u8(in) % QPS];
	uint8_t n = in_u8(in), words = n & 7;
	uint32_t value;
	uint16_t off;

	while (words--) {
		off = in_u16(in) & ~3;
		value = in_u32(in);
		memcpy(qp->buf.p + off % qp->buf.len, &value, 4);
	}
	if (n & 8)
		*qp->sq_record = in_u32(in);
	if (n & 16)
		*qp->rq_record = in_u32(in);
	if (n & 32) {
		off = in_u16(in) & ~63;
		m4_put32(b.srq.buf.p, off % b.srq.buf.len, in_u32(in));
		*b.srq.record = in_u32(in);
	}
	mt_ring(qp);
}

/* Any page of doorbells, any register but the reset and the commands'. */
static void doorbell(struct input *in)
{
	uint32_t at = in_u32(in) % (8u << 20) & ~3u, value = in_u32(in);

	if (value & 1)
		rig_write32(a.m.v.dev, CX_BAR2 + at, value);
	else
		cx_mmio_write(a.m.v.dev->cx, CX_BAR2 + (at & ~7u), value, 8);
	rig_write32(a.m.v.dev, 0xf0200 + at % 0x208, value);
	cx_mmio_read(a.m.v.dev->cx, at % (1u << 20), 4);
}

static void any_command(struct input *in)
{
	uint16_t opcode = in_u16(in) & 0xfff;
	uint8_t mod = in_u8(in) & 0xf;
	uint32_t in_mod = in_u32(in);
	uint64_t param = in_u32(in) | (uint64_t)in_u32(in) << 32;
	uint64_t out = rig_bus(a.m.v.rig, a.m.v.out);

	if (param & 1)
		param = rig_bus(a.m.v.rig, a.m.v.in);
	m4_cmd(&a.m.v, opcode, mod, in_mod, param, &out);
}

static void spoil_box(struct m4 *v, uint8_t *box)
{
	struct input *in = v->spoil_arg;
	uint8_t n = in_u8(in) & 3;
	uint16_t off;

	while (n--) {
		off = in_u16(in) % 0x200 & ~3u;
		m4_put32(box, off, in_u32(in));
	}
}

static void objects(struct input *in)
{
	uint8_t how = in_u8(in);
	struct mt_srq srq;
	struct mt_cq cq;
	struct m4_eq eq;
	struct m4_mr mr;

	a.m.v.spoil = spoil_box;
	a.m.v.spoil_arg = in;
	if (how & 1)
		mt_cq(&a.m, &cq, how >> 4);
	if (how & 2)
		mt_srq(&a.m, &srq, 1 + (how >> 5));
	if (how & 4)
		mt_mr(&a.m, &mr, a.mem, how * 16, how << 8);
	if (how & 8)
		mt_eq(&a.m, &eq, 8 + (how & 15), how >> 5, how);
	if (how & 16)
		mt_cq_resize(&a.m, &a.scq, how >> 5);
	a.m.v.spoil = NULL;
}

static void moves(struct input *in)
{
	uint8_t how = in_u8(in);
	struct mt_qp *qp = &a.qp[how % QPS];

	a.m.v.spoil = how & 0x80 ? spoil_box : NULL;
	a.m.v.spoil_arg = in;
	if (how & 4)
		mt_qp_to_err(qp);
	if (how & 8)
		mt_qp_to_rst(qp);
	if (how & 16)
		mt_qp_up(qp, &path);
	if (how & 32)
		mt_mcg(&a.m, &a.qp[1], (const uint8_t *)"\xff\x12\x40\x1b" "abcdefghijkl",
		       how & 4);
	a.m.v.spoil = NULL;
}

/* What the driver writes with the CPU, and which pages are there. */
static void context_memory(struct input *in)
{
	uint16_t off = in_u16(in) & ~3, how = in_u16(in);
	uint32_t value = in_u32(in);

	memcpy(how & 1 ? a.m.v.mtt + off : a.m.v.dmpt + off, &value, 4);
	if (how & 2)
		m4_cmd(&a.m.v, 0x2f, 0, 0, 0, NULL);	/* SYNC_TPT */
	if (how & 4)
		m4_cmd(&a.m.v, 0xff9, 0, 1, UARC, NULL);	/* UNMAP_ICM */
	if (how & 8)
		m4_map(&a.m.v, 0xffa, how & 16 ? a.mem : a.m.records, M4_PAGE, UARC);
}

/* Memory of a queue that somebody still uses. */
static void regions(struct input *in)
{
	struct m4_mr *mr[] = { &a.scq.buf.mr, &a.rcq.buf.mr, &b.srq.buf.mr,
			       &a.qp[0].buf.mr, &a.qp[1].buf.mr, &b.mr };
	uint8_t how = in_u8(in) % 6;

	mt_mr_free(how == 2 || how == 5 ? &b.m : &a.m, mr[how]);
}

static void completions(struct input *in)
{
	uint8_t how = in_u8(in);
	struct m4_wc wc;

	if (how & 1)
		*a.scq.set_ci = in_u32(in);
	if (how & 2)
		mt_arm(&a.m, how & 4 ? &a.scq : &a.rcq, how & 8);
	if (how & 16)
		while (mt_poll(&a.scq, &wc) || mt_poll(&a.rcq, &wc) ||
		       mt_poll(&b.scq, &wc) || mt_poll(&b.rcq, &wc))
			;
}

static void pass_time(struct input *in)
{
	rig_sleep(a.m.v.rig, in_u16(in) * 100000ULL);
}

static void life(struct input *in)
{
	uint8_t how = in_u8(in);

	if (how == 0xff)
		cx_reset(b.m.v.dev->cx);
	if (how == 0xfe)
		rig_write32(b.m.v.dev, 0xf0010, 1);
	if (how == 0xfd)
		rig_revoke(a.m.v.rig, a.mem, 8192);
	if (how == 0xfc)
		rig_revoke(a.m.v.rig, a.m.records, M4_PAGE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const step[])(struct input *) = {
		good_post, receive, spoil_queue, doorbell, completions,
		any_command, objects, moves, context_memory, pass_time, life,
		regions,
	};
	static struct rig *r;
	struct input in = { data, size };
	int i;

	if (!r)
		r = rig_new();
	PROMISE(r);
	rig_clear(r);
	r->infinihost = true;
	open_end(&a, r, 1);
	open_end(&b, r, 2);
	connect_ends();
	for (i = 0; i < 128 && in.left; i++)
		step[in_step(&in) % (sizeof(step) / sizeof(step[0]))](&in);
	rig_sleep(r, 3000000000ULL);
	PROMISE(rig_run(r));
	PROMISE(!r->broken);
	cx_may_touch(a.m.v.dev->cx, rig_bus(r, a.mem));
	rig_clear(r);
	return 0;
}
