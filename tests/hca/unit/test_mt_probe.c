// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The InfiniHost's commands, context memory, event queues and life, as mthca's probe
 * and remove see them. What it shares with the ConnectX-3, test_m4_probe.c has.
 */
#include "mt_pair.h"

enum { QUERY_DEV_LIM = 0x3, QUERY_FW = 0x4, QUERY_ADAPTER = 0x6, CLOSE_HCA = 0x8,
       HW2SW_MPT = 0xf, HW2SW_EQ = 0x14, HW2SW_CQ = 0x17, TO_RST = 0x21,
       CONF_SPECIAL_QP = 0x23, SYNC_TPT = 0x2f, DIAG_RPRT = 0x30, NOP = 0x31,
       MOD_STAT_CFG = 0x34, HW2SW_SRQ = 0x36, QUERY_PORT = 0x43, ENABLE_LAM = 0xff8,
       MAP_ICM = 0xffa, UNMAP_FA = 0xffe };
enum { BAD_OP = 2, BAD_PARAM = 3, BAD_SYS_STATE = 4, LAM_NOT_PRE = 0x22 };
enum { EQ_ARM = 0xf0400, EQ_SET_CI = 0xf0200, STATUS = 0x80698, HCR = 0x80680 };

struct one {
	struct rig *rig;
	struct rig_dev *dev;
	struct mt m;
};

static int setup(void **state)
{
	struct one *o = calloc(1, sizeof(*o));

	assert_non_null(o);
	o->rig = rig_new();
	assert_non_null(o->rig);
	o->rig->verbose = getenv("CX_VERBOSE");
	o->rig->infinihost = true;
	o->dev = rig_plug(o->rig, M4_GUID_A, 1, false);
	assert_non_null(o->dev);
	*state = o;
	return 0;
}

static int teardown(void **state)
{
	struct one *o = *state;

	assert_int_equal(o->rig->broken, 0);
	rig_free(o->rig);
	free(o);
	return 0;
}

/* What mthca_QUERY_FW() reads; registers lie in the BAR, and the errors' are quiet. */
static void firmware(void **state)
{
	struct one *o = *state;
	uint8_t fw[0x100];
	uint64_t catas, i;

	ok(mt_start(&o->m, o->dev));
	ok(m4_box(&o->m.v, QUERY_FW, 0, 0, NULL, 0, fw, sizeof(fw)));
	assert_int_equal(m4_get32(fw, 0) & 0xffff, 1);		/* 1.2.0 is current */
	assert_int_equal(m4_get32(fw, 4), 2);
	assert_int_equal(m4_get32(fw, 0x10) & 1, 0);	/* no commands by doorbells */
	catas = m4_get64(fw, 0x30);
	assert_true(m4_get32(fw, 0x38) > 0);
	for (i = 0; i < m4_get32(fw, 0x38); i++)
		assert_int_equal(rig_read32(o->dev, catas + 4 * i), 0);
	for (i = 0x20; i <= 0x48; i += 8)
		if (i != 0x28 && i != 0x38)
			assert_true(m4_get64(fw, i) < 1 << 20);
	assert_int_equal(m4_get64(fw, 0x40), EQ_ARM);
	assert_int_equal(m4_get64(fw, 0x48), EQ_SET_CI);
}

/* The sizes that mthca_QUERY_DEV_LIM() reads, by its offsets. */
static void limits(void **state)
{
	static const uint8_t power_of_two[] = { 0x82, 0x86, 0x88, 0x8a, 0x8c, 0x8e,
						0x92 };
	struct one *o = *state;
	uint8_t c[0x100];
	uint32_t size;
	size_t i;

	ok(mt_start(&o->m, o->dev));
	ok(m4_box(&o->m.v, QUERY_DEV_LIM, 0, 0, NULL, 0, c, sizeof(c)));
	assert_int_equal(c[0x37] & 0xf, 1);			/* ports */
	assert_int_equal(c[0x36] >> 4, 4);			/* 2048 */
	assert_int_equal(c[0x4b], 12);				/* pages */
	assert_int_equal(1u << (c[0x49] & 0x3f), 1u << CX_BAR2_LOG_MB);
	assert_int_equal(m4_get32(c, 0x44) & 0x47, 0x47);	/* transports, SRQs */
	assert_int_equal(m4_get32(c, 0x44) & 0x80, 0);		/* checksums */
	assert_int_equal(c[0x97], 0);				/* extensions */
	assert_int_equal(1 << (c[0x3b] & 0xf), 16);		/* GIDs */
	assert_int_equal(1 << (c[0x3f] & 0xf), 128);		/* P_Keys */
	assert_true(c[0x52] << 8 | c[0x53]);
	assert_true(m4_get64(c, 0xa0) >= 1ull << 30);
	/* The driver packs tables by their sizes without gaps. */
	for (i = 0; i < sizeof(power_of_two); i++) {
		size = c[power_of_two[i]] << 8 | c[power_of_two[i] + 1];
		assert_true(size && !(size & (size - 1)));
	}
	/* One page holds all contexts of event queues. */
	assert_true((c[0x88] << 8 | c[0x89]) * 32 <= 4096);
}

static void commands(void **state)
{
	static const uint16_t none[] = { MOD_STAT_CFG, QUERY_PORT, DIAG_RPRT, 0x5a };
	struct one *o = *state;
	uint8_t any[0x100];
	size_t i;

	ok(mt_start(&o->m, o->dev));
	assert_int_equal(m4_cmd(&o->m.v, NOP, 0, 0, 0, NULL), 0);
	assert_int_equal(m4_cmd(&o->m.v, ENABLE_LAM, 0, 0, 0, NULL), LAM_NOT_PRE);
	assert_int_equal(m4_cmd(&o->m.v, CONF_SPECIAL_QP, 0, 0x40, 0, NULL),
			 BAD_SYS_STATE);
	ok(mt_init(&o->m));
	ok(m4_box(&o->m.v, QUERY_ADAPTER, 0, 0, NULL, 0, any, sizeof(any)));
	for (i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_int_equal(m4_cmd(&o->m.v, none[i], 0, 1, 0, NULL), BAD_OP);
	assert_int_equal(cx_stats(o->dev->cx)->cmd_unknown, i);
	ok(m4_cmd(&o->m.v, UNMAP_FA, 0, 0, 0, NULL));
	assert_int_equal(cx_pages_held(o->dev->cx), 0);
}

/* QP 1's number follows QP 0's; an odd one, or of a raw packet, is none. */
static void special_numbers(void **state)
{
	struct one *o = *state;

	ok(mt_open(&o->m, o->dev));
	assert_int_equal(m4_cmd(&o->m.v, CONF_SPECIAL_QP, 1, 0x44, 0, NULL), BAD_PARAM);
	assert_int_equal(m4_cmd(&o->m.v, CONF_SPECIAL_QP, 0, 0x41, 0, NULL), BAD_PARAM);
	assert_int_equal(m4_cmd(&o->m.v, CONF_SPECIAL_QP, 2, 0x40, 0, NULL), BAD_PARAM);
	ok(mt_close(&o->m));
}

static void opens_and_closes(void **state)
{
	struct one *o = *state;
	unsigned int i;

	for (i = 0; i < 50; i++) {
		ok(mt_open(&o->m, o->dev));
		assert_int_equal(cx_port_state(o->dev->cx), 4);
		assert_true(cx_pages_held(o->dev->cx) > 96);
		ok(mt_close(&o->m));
		assert_int_equal(cx_pages_held(o->dev->cx), 0);
	}
	assert_int_equal(cx_stats(o->dev->cx)->cmd_failed, 50);	/* ENABLE_LAM */
	assert_int_equal(cx_stats(o->dev->cx)->doorbells_refused, 0);
}

/* Commands by events, more than the queue has entries: software gives each back. */
static void events_go_round(void **state)
{
	struct one *o = *state;
	unsigned int i;

	ok(mt_open(&o->m, o->dev));
	for (i = 0; i < 500; i++)
		ok(m4_cmd(&o->m.v, NOP, 0, 0x1f, 0, NULL));
	assert_true(o->m.command.ci >= 500);
	assert_int_equal(o->m.v.async.ci, 0);
	ok(mt_close(&o->m));
}

static void nop_by_event(struct one *o)
{
	rig_write32(o->dev, STATUS, 1 << 23 | 1 << 22 | NOP);
}

/* One for each bit of the mask that was written since the last. */
static void interrupts_are_asked_for(void **state)
{
	struct one *o = *state;

	ok(mt_open(&o->m, o->dev));
	rig_write32(o->dev, HCR + 20, 0x77 << 16);
	o->dev->irqs[2] = 0;
	nop_by_event(o);
	nop_by_event(o);
	assert_int_equal(o->dev->irqs[2], 1);
	rig_write32(o->dev, EQ_ARM, 1 << 6);		/* EQs 32 and on: none */
	rig_write32(o->dev, EQ_ARM + 4, 1 << 5);
	assert_int_equal(o->dev->irqs[2], 1);
	rig_write32(o->dev, EQ_SET_CI + 6 * 8, o->m.command.ci + 1);
	assert_int_equal(o->dev->irqs[2], 1);
	rig_write32(o->dev, EQ_ARM + 4, ~0u);		/* one is left */
	assert_int_equal(o->dev->irqs[2], 2);
	assert_int_equal(o->dev->irqs[1], 0);
}

/* More than was written, and a queue that is not there. */
static void forged_consumer(void **state)
{
	struct one *o = *state;
	uint64_t refused;

	ok(mt_open(&o->m, o->dev));
	refused = cx_stats(o->dev->cx)->doorbells_refused;
	rig_write32(o->dev, EQ_SET_CI + 6 * 8, o->m.command.ci + 5);
	assert_int_equal(cx_stats(o->dev->cx)->doorbells_refused, refused + 1);
	rig_write32(o->dev, EQ_SET_CI + 20 * 8, 0);
	assert_int_equal(cx_stats(o->dev->cx)->doorbells_refused, refused + 2);
	ok(m4_cmd(&o->m.v, NOP, 0, 0x1f, 0, NULL));
	ok(mt_close(&o->m));
}

/* Vectors begin with 128; below are pins, which the model has not. */
static void pins(void **state)
{
	struct one *o = *state;
	struct m4_eq eq;

	ok(mt_open(&o->m, o->dev));
	assert_int_equal(mt_eq(&o->m, &eq, 9, 4, -1), BAD_PARAM);
	assert_int_equal(mt_eq(&o->m, &eq, 9, 4, 64), BAD_PARAM);
	ok(mt_eq(&o->m, &eq, 9, 4, 63));
}

static void closing_what_is_not_there(void **state)
{
	struct one *o = *state;

	ok(mt_open(&o->m, o->dev));
	ok(m4_cmd(&o->m.v, HW2SW_MPT, 1, 77, 0, NULL));
	ok(m4_cmd(&o->m.v, HW2SW_EQ, 1, 30, 0, NULL));
	ok(m4_cmd(&o->m.v, HW2SW_CQ, 1, 77, 0, NULL));
	ok(m4_cmd(&o->m.v, HW2SW_SRQ, 1, 7, 0, NULL));
	ok(m4_cmd(&o->m.v, TO_RST, 3, 77, 0, NULL));
	ok(m4_cmd(&o->m.v, SYNC_TPT, 0, 0, 0, NULL));
	ok(mt_close(&o->m));
	ok(m4_cmd(&o->m.v, CLOSE_HCA, 0, 0, 0, NULL));
}

static void resets(void **state)
{
	struct one *o = *state;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		ok(mt_open(&o->m, o->dev));
		if (i & 1)
			cx_reset(o->dev->cx);
		else
			rig_write32(o->dev, 0xf0010, 1);
		assert_int_equal(cx_pages_held(o->dev->cx), 0);
		assert_int_equal(rig_read32(o->dev, STATUS), 0);
	}
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(firmware),
		TEST(limits),
		TEST(commands),
		TEST(special_numbers),
		TEST(opens_and_closes),
		TEST(events_go_round),
		TEST(interrupts_are_asked_for),
		TEST(forged_consumer),
		TEST(pins),
		TEST(closing_what_is_not_there),
		TEST(resets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
