// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The ConnectX-3: commands with spoilt mailboxes and of any kind, context memory
 * that is written over, work requests with malformed words, doorbells of any value,
 * between two devices that are up.
 */
#include "tests/fuzz/input.h"
#include "tests/hca/unit/m4.h"

#define MEM	(128u << 10)
#define QPS	3u

struct end {
	struct m4 v;
	struct m4_cq scq, rcq;
	struct m4_srq srq;
	struct m4_mr mr;
	struct m4_qp qp[QPS];		/* RC, UD, RC on the SRQ */
	uint8_t *mem;
};

static struct end a, b;

static const struct m4_path path = { .dlid = 2, .qkey = 0x1111, .psn = 1,
				     .timeout = 10, .retry = 3, .rnr_retry = 3,
				     .rd = true };

static void open_end(struct end *e, struct rig *r, uint16_t lid)
{
	struct m4_qp_init init = { .st = M4_RC, .scq = &e->scq,
				   .rcq = &e->rcq };
	struct rig_dev *d;

	memset(e, 0, sizeof(*e));
	d = rig_plug(r, 0x0002c90300000000ULL + lid, lid, false);
	PROMISE(d && !m4_open(&e->v, d));
	PROMISE(!m4_cq(&e->v, &e->scq, 6, &e->v.comp[0]));
	PROMISE(!m4_cq(&e->v, &e->rcq, 6, &e->v.comp[1]));
	PROMISE(!m4_srq(&e->v, &e->srq, 4));
	e->mem = rig_alloc(r, MEM);
	PROMISE(!m4_mr(&e->v, &e->mr, e->mem, MEM, M4_ALL));
	PROMISE(!m4_qp(&e->v, &e->qp[0], &init));
	init.st = M4_UD;
	PROMISE(!m4_qp(&e->v, &e->qp[1], &init));
	init.st = M4_RC;
	init.srq = &e->srq;
	PROMISE(!m4_qp(&e->v, &e->qp[2], &init));
}

static void connect_ends(void)
{
	struct m4_path p = path;
	unsigned int i;

	for (i = 0; i < QPS; i++) {
		p.rd = i != 1;
		p.dlid = 2;
		p.qpn = b.qp[i].qpn;
		PROMISE(!m4_qp_up(&a.qp[i], &p));
		p.dlid = 1;
		p.qpn = a.qp[i].qpn;
		PROMISE(!m4_qp_up(&b.qp[i], &p));
	}
}

static struct m4_qp *any_qp(struct input *in)
{
	return &a.qp[in_u8(in) % QPS];
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

	m4_post(&a.qp[i], &wr);
}

static void receive(struct input *in)
{
	uint8_t how = in_u8(in);
	uint16_t len = in_u16(in);

	if (how & 1)
		m4_srq_post(&b.srq, &b.mr, how, len);
	else
		m4_recv(&b.qp[how >> 1 & 1], &b.mr, how, len);
}

/* Words of the queues, and the doorbell. */
static void spoil_queue(struct input *in)
{
	struct m4_qp *qp = any_qp(in);
	uint8_t n = in_u8(in) & 7;
	uint32_t value;
	uint16_t off;

	while (n--) {
		off = in_u16(in) & ~3;
		value = in_u32(in);
		memcpy(qp->sq + off % (64u << qp->log_sq), &value, 4);
	}
	if (in_u8(in) & 1)
		*qp->db = in_u32(in);
	m4_ring(&a.v, a.v.uar, qp->qpn);
}

static void doorbell(struct input *in)
{
	uint32_t at = in_u32(in) % (8u << 20) & ~3u, value = in_u32(in);

	if (value & 1)
		rig_write32(a.v.dev, CX_BAR2 + at, value);
	else
		cx_mmio_write(a.v.dev->cx, CX_BAR2 + (at & ~7u), value, 8);
	cx_mmio_read(a.v.dev->cx, at % (1u << 20), 4);
}

static void any_command(struct input *in)
{
	uint16_t opcode = in_u16(in) & 0xfff;
	uint8_t mod = in_u8(in) & 0xf;
	uint32_t in_mod = in_u32(in);
	uint64_t param = in_u32(in) | (uint64_t)in_u32(in) << 32;
	uint64_t out = rig_bus(a.v.rig, a.v.out);

	if (param & 1)
		param = rig_bus(a.v.rig, a.v.in);
	m4_cmd(&a.v, opcode, mod, in_mod, param, &out);
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
	struct m4_eq eq;
	struct m4_cq cq;
	struct m4_srq srq;
	struct m4_mr mr;

	a.v.spoil = spoil_box;
	a.v.spoil_arg = in;
	if (how & 1)
		m4_cq(&a.v, &cq, how >> 4, &a.v.comp[0]);
	if (how & 2)
		m4_srq(&a.v, &srq, how >> 5);
	if (how & 4)
		m4_mr(&a.v, &mr, a.mem, how * 16, how << 8);
	if (how & 8)
		m4_eq_create(&a.v, &eq, 40 + how, how >> 5, how);
	if (how & 16)
		m4_cq_resize(&a.v, &a.scq, how >> 5);
	a.v.spoil = NULL;
}

static void moves(struct input *in)
{
	uint8_t how = in_u8(in);
	struct m4_qp *qp = &a.qp[how % QPS];

	a.v.spoil = how & 0x80 ? spoil_box : NULL;
	a.v.spoil_arg = in;
	if (how & 4)
		m4_qp_to_err(qp);
	if (how & 8)
		m4_qp_to_rst(qp);
	if (how & 16)
		m4_qp_up(qp, &path);
	if (how & 32)
		m4_mcg(&a.v, &a.qp[1], (const uint8_t *)"\xff\x12\x40\x1b" "abcdefghijkl",
		       how & 4);
	a.v.spoil = NULL;
}

/* What the driver writes with the CPU. */
static void context_memory(struct input *in)
{
	uint16_t off = in_u16(in) & ~3, how = in_u16(in);
	uint32_t value = in_u32(in);

	memcpy(how & 1 ? a.v.mtt + off : a.v.dmpt + off, &value, 4);
	if (how & 2)
		m4_cmd(&a.v, 0x2f, 0, 0, 0, NULL);	/* SYNC_TPT */
	if (how & 4)
		m4_mr_rereg(&a.v, &a.mr, how << 8);
}

static void completions(struct input *in)
{
	uint8_t how = in_u8(in);
	struct m4_wc wc;

	if (how & 1)
		a.scq.db[0] = in_u32(in);
	if (how & 2)
		m4_arm(&a.v, how & 4 ? &a.scq : &a.rcq, how & 8);
	if (how & 16)
		while (m4_poll(&a.scq, &wc) || m4_poll(&a.rcq, &wc) ||
		       m4_poll(&b.scq, &wc) || m4_poll(&b.rcq, &wc))
			;
}

static void pass_time(struct input *in)
{
	rig_sleep(a.v.rig, in_u16(in) * 100000ULL);
}

static void life(struct input *in)
{
	uint8_t how = in_u8(in);

	if (how == 0xff)
		cx_reset(b.v.dev->cx);
	if (how == 0xfe)
		rig_write32(b.v.dev, 0xf0010, 1);
	if (how == 0xfd)
		rig_revoke(a.v.rig, a.mem, 8192);
	if (how == 0xfc)
		m4_mr_free(&b.v, &b.mr);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const step[])(struct input *) = {
		good_post, receive, spoil_queue, doorbell, completions,
		any_command, objects, moves, context_memory, pass_time, life,
		good_post,
	};
	static struct rig *r;
	struct input in = { data, size };
	int i;

	if (!r)
		r = rig_new();
	PROMISE(r);
	rig_clear(r);
	r->cx3 = true;
	open_end(&a, r, 1);
	open_end(&b, r, 2);
	connect_ends();
	for (i = 0; i < 128 && in.left; i++)
		step[in_step(&in) % (sizeof(step) / sizeof(step[0]))](&in);
	rig_sleep(r, 3000000000ULL);
	PROMISE(rig_run(r));
	PROMISE(!r->broken);
	rig_clear(r);
	return 0;
}
