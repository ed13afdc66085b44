// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Registers, the command queue, bring-up and teardown, and what the commands
 * refuse: the things that mlx5_core notices first.
 */
#include <stdlib.h>

#include "pair.h"

#define OWNER_HW 1

static void initialization_segment(void **state)
{
	struct pair *p = *state;
	struct rig_dev *d = p->a.drv.dev;
	uint32_t health, low;

	assert_int_not_equal(rig_read32(d, 0x0), 0);		/* fw_rev */
	assert_int_equal(rig_read32(d, 0x4) >> 16, 5);	/* cmdif_rev */
	assert_int_equal(rig_read32(d, 0x1fc) >> 31, 0);	/* initializing */
	assert_int_equal(rig_read32(d, 0x14) >> 8 & 3, 0);	/* full driver */
	health = rig_read32(d, 0x1010);
	low = rig_read32(d, 0x1004);
	rig_sleep(p->rig, 2000 * MS);
	assert_int_not_equal(rig_read32(d, 0x1010), health);
	assert_int_not_equal(rig_read32(d, 0x1004), low);
	/* Nothing lies there: zeroes, and no harm. */
	cx_mmio_write(d->cx, CX_BAR_SIZE - 8, ~0ULL, 8);
	assert_int_equal(cx_mmio_read(d->cx, CX_BAR_SIZE - 4, 4), 0);
}

/* The driver's health poll reads one octet, of which an Arm CPU makes a load. */
static void registers_are_read_by_octets(void **state)
{
	struct pair *p = *state;
	struct cx_dev *cx = p->a.drv.dev->cx;
	uint32_t rev = (uint32_t)cx_mmio_read(cx, 0x0, 4);
	uint32_t i;

	assert_int_not_equal(rev, 0);
	for (i = 0; i < 4; i++) {
		assert_true(cx_mmio_accepts(1, false));
		assert_int_equal(cx_mmio_read(cx, i, 1), rev >> i * 8 & 0xff);
	}
	for (i = 0; i < 4; i += 2)
		assert_int_equal(cx_mmio_read(cx, i, 2), rev >> i * 8 & 0xffff);
	for (i = 1; i <= 8; i *= 2)
		assert_true(cx_mmio_accepts(i, true) == (i >= 4));
}

/* The driver of an unchanged kernel must not see a single command fail. */
static void comes_up_without_a_failed_command(void **state)
{
	struct pair *p = *state;
	const struct cx_stats *s = cx_stats(p->a.drv.dev->cx);

	assert_int_equal(s->cmd_failed, 0);
	assert_int_equal(s->cmd_unknown, 0);
	assert_true(s->commands > 20);
	assert_int_equal(s->doorbells_refused, 0);
	assert_int_equal(s->dma_errors, 0);
	assert_int_equal(p->rig->faults, 0);
}

static void comes_and_goes(void **state)
{
	struct rig *r = rig_new();
	struct side s;
	int i;

	(void)state;
	assert_non_null(r);
	memset(&s, 0, sizeof(s));
	assert_non_null(rig_plug(r, GUID_A, 1, false));
	for (i = 0; i < 20; i++) {
		ok(drv_open(&s.drv, &r->dev[0]));
		ok(drv_cq(&s.drv, &s.scq, 4));
		ok(drv_cq_destroy(&s.drv, &s.scq));
		ok(drv_close(&s.drv));
		assert_int_equal(cx_pages_held(r->dev[0].cx), 0);
		assert_int_equal(s.drv.fw_pages, 0);
	}
	assert_int_equal(cx_stats(r->dev[0].cx)->cmd_failed, 0);
	rig_free(r);
}

static void capabilities(void **state)
{
	struct pair *p = *state;
	uint8_t c[4096];

	ok(drv_caps(&p->a.drv, 1, c));
	assert_int_equal(CX_GET(cmd_hca_cap, c, port_type), 0);
	assert_int_equal(CX_GET(cmd_hca_cap, c, num_ports), 1);
	assert_int_equal(CX_GET(cmd_hca_cap, c, cqe_version), 1);
	assert_int_equal(CX_GET(cmd_hca_cap, c, ib_virt), 0);
	assert_int_equal(CX_GET(cmd_hca_cap, c, vport_group_manager), 0);
	assert_int_equal(CX_GET(cmd_hca_cap, c, eswitch_manager), 0);
	assert_int_equal(CX_GET(cmd_hca_cap, c, roce), 0);
	assert_int_equal(CX_GET(cmd_hca_cap, c, xrc), 1);
	assert_int_equal(CX_GET(cmd_hca_cap, c, bf), 1);
	assert_int_equal(CX_GET(cmd_hca_cap, c, cq_resize), 1);
	assert_int_equal(CX_GET(cmd_hca_cap, c, atomic), 1);
	assert_int_equal(CX_GET(cmd_hca_cap, c,
				umr_modify_entity_size_disabled), 1);
	assert_true(CX_GET(cmd_hca_cap, c, log_max_qp) >= 10);
	assert_true(CX_GET(cmd_hca_cap, c, log_max_msg) >= 30);
	assert_true(CX_GET(cmd_hca_cap, c, log_bf_reg_size) >= 9);
}

static void unknown_commands(void **state)
{
	struct pair *p = *state;
	const struct cx_stats *s = cx_stats(p->a.drv.dev->cx);
	uint64_t unknown = s->cmd_unknown;

	assert_int_equal(drv_simple(&p->a.drv, 0x7f7, 0, NULL), CX_BAD_OP);
	assert_int_equal(s->cmd_unknown, unknown + 1);
	assert_true(rig_logged(p->rig, "7f7"));
	assert_int_equal(drv_simple(&p->a.drv, MLX5_CMD_OP_CREATE_FLOW_TABLE,
				    0, NULL), CX_BAD_OP);
	assert_true(rig_logged(p->rig, "CREATE_FLOW_TABLE"));
}

static void wrong_lengths(void **state)
{
	struct pair *p = *state;
	uint8_t in[CX_BYTES(create_qp_in)] = { 5, 0 }, out[16];

	/* CREATE_QP, CREATE_CQ, QUERY_HCA_CAP without most of it. */
	assert_int_not_equal(drv_exec(&p->a.drv, in, 16, out, 16), 0);
	in[0] = 4;
	assert_int_not_equal(drv_exec(&p->a.drv, in, 40, out, 16), 0);
	in[0] = 1;
	assert_int_not_equal(drv_exec(&p->a.drv, in, 16, out, 16), 0);
	assert_int_not_equal(drv_exec(&p->a.drv, in, 8, out, 16), 0);
	assert_int_not_equal(drv_exec(&p->a.drv, in, 16, out, 8), 0);
	assert_int_not_equal(drv_simple(&p->a.drv, MLX5_CMD_OP_MAD_IFC, 0,
					NULL), 0);
}

/* An entry made by hand: the delivery status, or -1 if it was not taken. */
static int deliver(struct drv *v, void (*spoil)(struct drv *, uint8_t *))
{
	uint8_t *e;
	uint32_t word;

	v->slot = (v->slot + 1) % ((1U << v->log_sz) - 1);
	e = v->cmdq + ((size_t)v->slot << v->log_stride);
	memset(e, 0, 64);
	memset(v->box_in, 0, 4096);
	memset(v->box_out, 0, 4096);
	e[0] = 7;
	word = htobe32(16 + 600);
	memcpy(e + 4, &word, 4);
	memcpy(e + 56, &word, 4);
	e[16] = 1;		/* QUERY_HCA_CAP */
	cx_be64_set(e + 8, rig_bus(v->rig, v->box_in));
	cx_be64_set(v->box_in + 560, rig_bus(v->rig, v->box_in + 1024));
	v->box_in[1024 + 571] = 1;
	cx_be64_set(e + 48, rig_bus(v->rig, v->box_out));
	cx_be64_set(v->box_out + 560, rig_bus(v->rig, v->box_out + 1024));
	v->box_out[1024 + 571] = 1;
	e[60] = v->box_in[573] = v->box_in[1024 + 573] = 9;
	v->box_out[573] = v->box_out[1024 + 573] = 9;
	e[63] = OWNER_HW;
	spoil(v, e);
	rig_write32(v->dev, 0x18, 1U << v->slot);
	rig_run(v->rig);
	while (drv_eq_next(&v->cmd_eq))
		drv_eq_update(v, &v->cmd_eq, true);
	return e[63] & OWNER_HW ? -1 : e[63] >> 1;
}

static void nothing(struct drv *v, uint8_t *e)
{
	(void)v;
	(void)e;
}

static void crooked_pointer(struct drv *v, uint8_t *e)
{
	cx_be64_set(e + 8, rig_bus(v->rig, v->box_in) + 64);
}

static void block_number(struct drv *v, uint8_t *e)
{
	(void)e;
	v->box_in[1024 + 571] = 7;
}

static void token(struct drv *v, uint8_t *e)
{
	(void)e;
	v->box_in[573] = 5;
}

static void nowhere(struct drv *v, uint8_t *e)
{
	(void)v;
	cx_be64_set(e + 8, 0x5000);
	cx_be64_set(e + 48, 0x5000);
}

static void chain_is_a_ring(struct drv *v, uint8_t *e)
{
	cx_be64_set(v->box_in + 560, rig_bus(v->rig, v->box_in));
	memset(e + 4, 0xff, 4);
	memset(e + 56, 0xff, 4);
}

static void chain_is_too_short(struct drv *v, uint8_t *e)
{
	(void)e;
	cx_be64_set(v->box_in + 560, 0);
}

static void delivery_errors(void **state)
{
	struct pair *p = *state;
	struct drv *v = &p->a.drv;

	assert_int_equal(deliver(v, nothing), 0);
	assert_int_equal(deliver(v, crooked_pointer), 5);
	assert_int_equal(deliver(v, block_number), 3);
	assert_int_equal(deliver(v, token), 2);
	assert_true(deliver(v, nowhere) != 0);
	assert_true(deliver(v, chain_is_a_ring) != 0);
	assert_true(deliver(v, chain_is_too_short) != 0);
	assert_int_equal(deliver(v, nothing), 0);
}

/* An entry that is the driver's own, and vectors with too many bits. */
static void doorbells_without_commands(void **state)
{
	struct pair *p = *state;
	const struct cx_stats *s = cx_stats(p->a.drv.dev->cx);
	uint64_t before = s->commands;

	memset(p->a.drv.cmdq, 0, 4096);
	rig_write32(p->a.drv.dev, 0x18, ~0U);
	rig_write32(p->a.drv.dev, 0x18, 0);
	rig_run(p->rig);
	assert_int_equal(s->commands, before);
	ok(drv_uar(&p->a.drv, &p->a.qp.uar));
	ok(drv_simple(&p->a.drv, MLX5_CMD_OP_DEALLOC_UAR, p->a.qp.uar, NULL));
}

static void order_of_bring_up(void **state)
{
	struct rig *r = rig_new();
	struct drv v;
	uint32_t n;

	(void)state;
	assert_non_null(r);
	assert_non_null(rig_plug(r, GUID_A, 1, false));
	ok(drv_enable(&v, &r->dev[0]));
	ok(drv_simple(&v, MLX5_CMD_OP_TEARDOWN_HCA, 0, NULL));
	/* The HCA is enabled, not initialized. */
	assert_int_not_equal(drv_simple(&v, MLX5_CMD_OP_ALLOC_PD, 0, &n), 0);
	assert_int_not_equal(drv_uar(&v, &n), 0);
	rig_free(r);
}

static void busy_objects_stay(void **state)
{
	struct pair *p = *state;
	struct drv *v = &p->a.drv;
	struct drv_srq srq;
	struct drv_qp_init init = { .type = DRV_RC, .scq = &p->a.scq,
				    .rcq = &p->a.rcq, .srq = &srq };

	ok(drv_srq(v, &srq, 4, NULL));
	ok(drv_qp(v, &p->a.qp, &init));
	assert_int_not_equal(drv_cq_destroy(v, &p->a.scq), 0);
	assert_int_not_equal(drv_cq_destroy(v, &p->a.rcq), 0);
	assert_int_not_equal(drv_srq_destroy(v, &srq), 0);
	assert_int_not_equal(drv_eq_destroy(v, &v->comp_eq[0]), 0);
	assert_int_not_equal(drv_simple(v, MLX5_CMD_OP_DEALLOC_PD, v->pd,
					NULL), 0);
	ok(drv_qp_destroy(&p->a.qp));
	ok(drv_srq_destroy(v, &srq));
}

static void numbers_of_nobody(void **state)
{
	static const uint16_t op[] = {
		MLX5_CMD_OP_DESTROY_QP, MLX5_CMD_OP_DESTROY_CQ,
		MLX5_CMD_OP_DESTROY_SRQ, MLX5_CMD_OP_DESTROY_XRC_SRQ,
		MLX5_CMD_OP_DESTROY_RMP, MLX5_CMD_OP_DESTROY_EQ,
		MLX5_CMD_OP_DESTROY_MKEY, MLX5_CMD_OP_DEALLOC_PD,
		MLX5_CMD_OP_DEALLOC_UAR, MLX5_CMD_OP_DEALLOC_XRCD,
		MLX5_CMD_OP_DEALLOC_TRANSPORT_DOMAIN,
		MLX5_CMD_OP_DEALLOC_Q_COUNTER, MLX5_CMD_OP_2ERR_QP,
		MLX5_CMD_OP_2RST_QP,
	};
	static const uint32_t nobody[] = { 0xffffff, 0xfffffe, 0x8000f0 };
	struct pair *p = *state;
	size_t i, n;

	for (i = 0; i < sizeof(op) / sizeof(op[0]); i++)
		for (n = 0; n < 3; n++)
			if (!drv_simple(&p->a.drv, op[i], nobody[n], NULL))
				fail_msg("%#x of %#x", op[i], nobody[n]);
	/* A number of another kind of object. */
	assert_int_not_equal(drv_simple(&p->a.drv, MLX5_CMD_OP_DESTROY_SRQ,
					p->a.drv.s0.srqn, NULL), 0);
	assert_int_not_equal(drv_simple(&p->a.drv, MLX5_CMD_OP_DESTROY_RMP,
					p->a.drv.s0.srqn, NULL), 0);
}

static void pds_run_out_and_come_back(void **state)
{
	struct pair *p = *state;
	static uint32_t pd[1 << 16];
	uint32_t n, i;
	int ret = 0;

	for (n = 0; n < 1 << 16; n++) {
		ret = drv_simple(&p->a.drv, MLX5_CMD_OP_ALLOC_PD, 0, &pd[n]);
		if (ret)
			break;
	}
	assert_int_not_equal(ret, 0);
	assert_true(n > 1000);
	for (i = 0; i < n; i++)
		ok(drv_simple(&p->a.drv, MLX5_CMD_OP_DEALLOC_PD, pd[i], NULL));
}

static void creation_is_checked(void **state)
{
	struct pair *p = *state;
	struct drv *v = &p->a.drv;
	struct drv_cq cq = p->a.scq, made;
	struct drv_eq eq = v->comp_eq[0];
	struct drv_qp qp;
	struct drv_qp_init init = { .type = DRV_RC, .scq = &cq, .rcq = &cq };

	cq.cqn = 0xfffff0;
	assert_int_not_equal(drv_qp(v, &qp, &init), 0);
	cq = p->a.scq;
	init.pd = 0xfffff0;
	assert_int_not_equal(drv_qp(v, &qp, &init), 0);
	init.pd = 0;
	init.uar = 0xfffff0;
	assert_int_not_equal(drv_qp(v, &qp, &init), 0);
	assert_int_not_equal(drv_cq_on(v, &made, 4, &eq, 0xfffff0, false), 0);
	eq.eqn = 0xf0;
	assert_int_not_equal(drv_cq_on(v, &made, 4, &eq, v->uar, false), 0);
}

static void transitions(void **state)
{
	struct pair *p = *state;
	struct drv_path path = pair_path();
	struct drv_qp *qp = &p->a.qp;

	pair_make(p, DRV_RC);
	path.dlid = 2;
	path.qpn = p->b.qp.qpn;
	assert_int_equal(drv_qp_state(qp), DRV_RST);
	assert_int_not_equal(drv_qp_rtr(qp, &path), 0);
	assert_int_not_equal(drv_qp_rts(qp, &path), 0);
	ok(drv_qp_init(qp, &path));
	assert_int_equal(drv_qp_state(qp), DRV_INIT);
	assert_int_not_equal(drv_qp_rts(qp, &path), 0);
	ok(drv_qp_rtr(qp, &path));
	assert_int_equal(drv_qp_state(qp), DRV_RTR);
	ok(drv_qp_rts(qp, &path));
	assert_int_equal(drv_qp_state(qp), DRV_RTS);
	ok(drv_qp_modify(qp, MLX5_CMD_OP_RTS2RTS_QP, 0, &path));
	ok(drv_qp_to(qp, MLX5_CMD_OP_2ERR_QP));
	assert_int_equal(drv_qp_state(qp), DRV_ERR);
	assert_int_not_equal(drv_qp_init(qp, &path), 0);
	ok(drv_qp_to(qp, MLX5_CMD_OP_2RST_QP));
	assert_int_equal(drv_qp_state(qp), DRV_RST);
	ok(drv_qp_up(qp, &path));
}

static void query_tells_what_was_set(void **state)
{
	struct pair *p = *state;
	struct drv_path path = pair_path();
	uint8_t q[CX_BYTES(qpc)], *ads = CX_ADDR(qpc, q, primary_address_path);

	pair_make(p, DRV_RC);
	path.mtu = 3;
	pair_connect(p, &path);
	ok(drv_qp_query(&p->a.qp, q));
	assert_int_equal(CX_GET(qpc, q, st), 0);
	assert_int_equal(CX_GET(qpc, q, mtu), 3);
	assert_int_equal(CX_GET(qpc, q, remote_qpn), p->b.qp.qpn);
	assert_int_equal(CX_GET(qpc, q, next_send_psn), path.psn);
	assert_int_equal(CX_GET(qpc, q, next_rcv_psn), path.psn);
	assert_int_equal(CX_GET(qpc, q, rnr_retry), 7);
	assert_int_equal(CX_GET(qpc, q, retry_count), 3);
	assert_int_equal(CX_GET(qpc, q, min_rnr_nak), 12);
	assert_int_equal(CX_GET(qpc, q, log_sra_max), 3);
	assert_int_equal(CX_GET(qpc, q, pd), p->a.drv.pd);
	assert_int_equal(CX_GET(ads, ads, rlid), 2);
	assert_int_equal(CX_GET(ads, ads, ack_timeout), 10);
	assert_int_equal(CX_GET(ads, ads, vhca_port_num), 1);
}

/* The machine is pulled from under the driver; everything is forgotten. */
static void reset_in_the_middle(void **state)
{
	struct rig *r = rig_new();
	struct side s;

	(void)state;
	assert_non_null(r);
	memset(&s, 0, sizeof(s));
	side_open(&s, r, GUID_A, 1, false);
	assert_true(cx_may_touch(s.drv.dev->cx, rig_bus(r, s.mem)));
	assert_true(cx_pages_held(s.drv.dev->cx) > 0);
	cx_reset(s.drv.dev->cx);
	assert_int_equal(cx_pages_held(s.drv.dev->cx), 0);
	assert_false(cx_may_touch(s.drv.dev->cx, rig_bus(r, s.mem)));
	rig_write32(s.drv.dev, 0x18, 1);	/* no queue is known any more */
	assert_int_equal(r->faults, 0);
	ok(drv_open(&s.drv, &r->dev[0]));
	rig_free(r);		/* with everything still there */
}

static uint32_t tags_announced(bool tags, int *created)
{
	struct rig *r = rig_new();
	uint8_t caps[4096];
	struct drv_srq srq;
	struct drv drv = { 0 };
	struct drv_cq cq;
	uint32_t log;

	assert_non_null(r);
	r->no_tags = !tags;
	ok(drv_open(&drv, rig_plug(r, GUID_A, 1, false)));
	ok(drv_caps(&drv, 1, caps));
	assert_int_equal(CX_GET(cmd_hca_cap, caps, tag_matching), tags);
	assert_int_equal(CX_GET(cmd_hca_cap, caps, rndv_offload_rc), tags);
	log = CX_GET(cmd_hca_cap, caps, log_tag_matching_list_sz);
	ok(drv_cq(&drv, &cq, 3));
	*created = drv_srq_as(&drv, &srq, 3, DRV_SRQ_TM, &cq);
	rig_free(r);
	return log;
}

/* pg, and what QUERY_HCA_CAP says of the paging itself. */
static void odp_announced(bool odp)
{
	struct rig *r = rig_new();
	uint8_t caps[4096], none[4096] = { 0 };
	struct drv drv = { 0 };

	assert_non_null(r);
	r->odp = odp;
	ok(drv_open(&drv, rig_plug(r, GUID_A, 1, false)));
	ok(drv_caps(&drv, 1, caps));
	assert_int_equal(CX_GET(cmd_hca_cap, caps, pg), odp);
	assert_int_equal(drv_caps(&drv, 2 << 1, caps),
			 odp ? 0 : CX_BAD_PARAM);
	if (odp)
		assert_memory_equal(caps, none, sizeof(none));
	rig_free(r);
}

static void odp_by_property(void **state)
{
	(void)state;
	odp_announced(true);
	odp_announced(false);
}

static void tags_by_property(void **state)
{
	int created;

	(void)state;
	assert_int_equal(tags_announced(true, &created), 7);
	assert_int_equal(created, 0);
	assert_int_equal(tags_announced(false, &created), 0);
	assert_int_equal(created, CX_BAD_OP);
}

/* 16 MiB by default, or what was asked for: so much is announced, and can be had. */
static void uar_pages_of(uint32_t mb, uint32_t log)
{
	uint8_t caps[4096];
	struct rig *r = rig_new();
	uint32_t uar = 0, next, n = 0;
	struct rig_dev *d;
	uint64_t refused;
	struct drv drv;

	assert_non_null(r);
	r->bar_mb = mb;
	d = rig_plug(r, GUID_A, 1, false);
	ok(drv_open(&drv, d));
	ok(drv_caps(&drv, 1, caps));
	assert_int_equal(CX_GET(cmd_hca_cap, caps, uar_sz), log);
	while (!drv_uar(&drv, &next)) {
		uar = next;
		n++;
	}
	assert_int_equal(uar, (1u << (log + 8)) - 1);
	assert_in_range(n, uar - CX_UAR_FIRST - 8, uar - CX_UAR_FIRST + 1);
	refused = cx_stats(d->cx)->doorbells_refused;
	cx_mmio_write(d->cx, (uint64_t)uar * 4096 + 0x800, 0, 4);
	assert_int_equal(cx_stats(d->cx)->doorbells_refused, refused);
	ok(drv_simple(&drv, MLX5_CMD_OP_DEALLOC_UAR, uar, NULL));
	cx_mmio_write(d->cx, (uint64_t)uar * 4096 + 0x800, 0, 4);
	assert_int_equal(cx_stats(d->cx)->doorbells_refused, refused + 1);
	rig_free(r);
}

static void size_of_the_bar(void **state)
{
	(void)state;
	uar_pages_of(0, 4);
	uar_pages_of(64, 6);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, pair_setup, pair_teardown)
	const struct CMUnitTest tests[] = {
		T(initialization_segment),
		T(registers_are_read_by_octets),
		T(comes_up_without_a_failed_command),
		cmocka_unit_test(comes_and_goes),
		T(capabilities),
		cmocka_unit_test(tags_by_property),
		cmocka_unit_test(odp_by_property),
		cmocka_unit_test(size_of_the_bar),
		T(unknown_commands),
		T(wrong_lengths),
		T(delivery_errors),
		T(doorbells_without_commands),
		cmocka_unit_test(order_of_bring_up),
		T(busy_objects_stay),
		T(numbers_of_nobody),
		T(pds_run_out_and_come_back),
		T(creation_is_checked),
		T(transitions),
		T(query_tells_what_was_set),
		cmocka_unit_test(reset_in_the_middle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
