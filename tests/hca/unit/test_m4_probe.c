// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The ConnectX-3's command register, context memory, events and life, as
 * mlx4_core's probe and remove see them.
 */
#include "m4_pair.h"

enum { QUERY_DEV_CAP = 0x3, QUERY_FW = 0x4, INIT_HCA = 0x7, CLOSE_HCA = 0x8,
       QUERY_HCA = 0xb, HW2SW_MPT = 0xf, HW2SW_EQ = 0x14, HW2SW_CQ = 0x17,
       TO_RST = 0x21, SYNC_TPT = 0x2f, DIAG_RPRT = 0x30, NOP = 0x31,
       HW2SW_SRQ = 0x36, QUERY_PORT = 0x43, RUN_FW = 0xff6,
       UNMAP_ICM = 0xff9, MAP_ICM = 0xffa, UNMAP_ICM_AUX = 0xffb,
       MAP_FA = 0xfff, UNMAP_FA = 0xffe };
enum { BAD_OP = 2, BAD_PARAM = 3, BAD_SYS_STATE = 4, BAD_IX = 0xa, NO_RES = 0xf };
#define HCR		0x80680u
#define STATUS		0x80698u

struct one {
	struct rig *rig;
	struct rig_dev *dev;
	struct m4 v;
};

static int setup(void **state)
{
	struct one *o = calloc(1, sizeof(*o));

	assert_non_null(o);
	o->rig = rig_new();
	assert_non_null(o->rig);
	o->rig->verbose = getenv("CX_VERBOSE");
	o->rig->cx3 = true;
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

static void registers_at_rest(void **state)
{
	struct one *o = *state;

	assert_int_equal(rig_read32(o->dev, 0x8069c), 0);	/* owner */
	assert_int_equal(rig_read32(o->dev, 0xf03fc), 0);	/* semaphore */
	assert_int_equal(rig_read32(o->dev, STATUS), 0);
	rig_write32(o->dev, HCR, 0x12345678);
	assert_int_equal(rig_read32(o->dev, HCR), 0x12345678);
	assert_int_equal(cx_stats(o->dev->cx)->commands, 0);
}

/* What the driver reads of QUERY_FW, and that the error buffer is quiet. */
static void firmware(void **state)
{
	struct one *o = *state;
	uint8_t fw[0x100];
	uint64_t catas, i;

	ok(m4_start(&o->v, o->dev));
	ok(m4_box(&o->v, QUERY_FW, 0, 0, NULL, 0, fw, sizeof(fw)));
	assert_int_equal(m4_get32(fw, 0) & 0xffff, 2);		/* major */
	assert_int_equal(m4_get32(fw, 4), 5000 << 16 | 42);
	assert_int_equal(m4_get32(fw, 0x8) & 0xffff, 3);	/* interface */
	catas = m4_get64(fw, 0x30);
	assert_int_equal(fw[0x3c] >> 6, 0);			/* BAR 0 */
	assert_true(m4_get32(fw, 0x38) > 0);
	for (i = 0; i < m4_get32(fw, 0x38); i++)
		assert_int_equal(rig_read32(o->dev, catas + 4 * i), 0);
	assert_true(m4_get64(fw, 0x20) < 1 << 20);		/* clr_int */
	assert_int_equal(fw[0x28] >> 6, 0);
}

/* The sizes that mlx4_QUERY_DEV_CAP() reads, by its offsets. */
static void capabilities(void **state)
{
	struct one *o = *state;
	uint8_t c[0x100], port[0x100];

	ok(m4_start(&o->v, o->dev));
	ok(m4_box(&o->v, QUERY_DEV_CAP, 0, 0, NULL, 0, c, sizeof(c)));
	assert_int_equal(c[0x37] & 0xf, 1);			/* ports */
	assert_int_equal(c[0x4b], 12);				/* pages */
	assert_int_equal(c[0x4c] & 0x80, 0);			/* BlueFlame */
	assert_true(1u << (c[0x49] & 0x3f) <= 1u << CX_BAR2_LOG_MB);
	assert_int_equal(m4_get32(c, 0x94), 0);			/* extensions */
	assert_int_equal(c[0x26] << 8 | c[0x27], 0);		/* system EQs */
	assert_int_equal(c[0x90] << 8 | c[0x91], 8);		/* an MTT */
	assert_int_equal(c[0x92] << 8 | c[0x93], 64);		/* an MPT */
	assert_true(m4_get64(c, 0xa0) >= 1ull << 33);
	assert_int_equal(m4_get32(c, 0x44) & 7, 7);		/* RC, UC, UD */
	ok(m4_box(&o->v, QUERY_PORT, 0, 1, NULL, 0, port, sizeof(port)));
	assert_int_equal(port[0] & 3, 1);			/* InfiniBand */
	assert_int_equal(port[1] & 0xf, 5);			/* 4096 */
	assert_int_equal(port[7], 4 << 4 | 7);	/* GIDs, P_Keys */
	assert_int_equal(m4_box(&o->v, QUERY_PORT, 0, 2, NULL, 0, port, 4),
			 BAD_IX);
}

static void order_of_commands(void **state)
{
	struct one *o = *state;
	uint8_t any[0x200] = { 0 };

	ok(m4_start(&o->v, o->dev));
	assert_int_equal(m4_cmd(&o->v, RUN_FW, 0, 0, 0, NULL), BAD_SYS_STATE);
	assert_int_equal(m4_box(&o->v, QUERY_HCA, 0, 0, NULL, 0, any, 4),
			 BAD_SYS_STATE);
	ok(m4_init(&o->v));
	assert_int_equal(m4_box(&o->v, INIT_HCA, 0, 0, any, sizeof(any), NULL,
				0), BAD_SYS_STATE);
	ok(m4_box(&o->v, QUERY_HCA, 0, 0, NULL, 0, any, sizeof(any)));
	assert_int_equal(any[0x37], M4_LOG_QP);
	ok(m4_cmd(&o->v, UNMAP_FA, 0, 0, 0, NULL));
	assert_int_equal(m4_cmd(&o->v, RUN_FW, 0, 0, 0, NULL), NO_RES);
	assert_int_equal(m4_box(&o->v, QUERY_DEV_CAP, 0, 0, NULL, 0, any, 4),
			 BAD_SYS_STATE);
	assert_int_equal(cx_pages_held(o->dev->cx), 0);
}

static void unknown_commands(void **state)
{
	struct one *o = *state;

	ok(m4_open(&o->v, o->dev));
	assert_int_equal(m4_cmd(&o->v, 0x7f7, 3, 0, 0, NULL), BAD_OP);
	assert_int_equal(cx_stats(o->dev->cx)->cmd_unknown, 1);
	assert_true(rig_logged(o->rig, "0x7f7"));
	ok(m4_close(&o->v));
}

/* A mailbox that cannot be reached fails its command, and nothing else. */
static void bad_mailboxes(void **state)
{
	struct one *o = *state;
	uint64_t out = 0x123000;

	ok(m4_start(&o->v, o->dev));
	assert_int_equal(m4_cmd(&o->v, QUERY_FW, 0, 0, 0, &out), 1);
	assert_int_equal(m4_cmd(&o->v, MAP_ICM, 0, 1, 0x123000, NULL), 1);
	ok(m4_init(&o->v));
}

/* Only whole pages, of a size that makes sense, in an address space of 2^36. */
static void bad_maps(void **state)
{
	static const uint64_t bad[][2] = {
		{ 1ull << 36, RIG_BUS }, { 0x1000, RIG_BUS | 13 },
		{ 0x1010, RIG_BUS }, { (1ull << 36) - 4096, RIG_BUS | 1 },
	};
	struct one *o = *state;
	uint64_t held;
	uint8_t list[16];
	size_t i;

	ok(m4_start(&o->v, o->dev));
	held = cx_pages_held(o->dev->cx);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		m4_put64(list, 0, bad[i][0]);
		m4_put64(list, 8, bad[i][1]);
		assert_int_equal(m4_box(&o->v, MAP_ICM, 0, 1, list, 16, NULL,
					0), BAD_PARAM);
	}
	assert_int_equal(m4_box(&o->v, MAP_ICM, 0, 0, list, 16, NULL, 0),
			 BAD_PARAM);
	assert_int_equal(m4_box(&o->v, MAP_ICM, 0, 257, list, 16, NULL, 0),
			 BAD_PARAM);
	/* The last page of all was there before its neighbour was refused. */
	assert_in_range(cx_pages_held(o->dev->cx), held, held + 1);
}

/* One over the other counts once; what is unmapped twice is gone once. */
static void pages_are_counted(void **state)
{
	struct one *o = *state;
	uint64_t held;
	uint8_t list[16];

	ok(m4_start(&o->v, o->dev));
	held = cx_pages_held(o->dev->cx);
	m4_put64(list, 0, 0x40000);
	m4_put64(list, 8, RIG_BUS | 2);
	ok(m4_box(&o->v, MAP_ICM, 0, 1, list, 16, NULL, 0));
	ok(m4_box(&o->v, MAP_ICM, 0, 1, list, 16, NULL, 0));
	assert_int_equal(cx_pages_held(o->dev->cx), held + 4);
	ok(m4_cmd(&o->v, UNMAP_ICM, 0, 64, 0x40000, NULL));
	ok(m4_cmd(&o->v, UNMAP_ICM, 0, 64, 0x40000, NULL));
	assert_int_equal(cx_pages_held(o->dev->cx), held);
	ok(m4_cmd(&o->v, UNMAP_ICM, 0, ~0u, 0x40000, NULL));
}

static void opens_and_closes(void **state)
{
	struct one *o = *state;
	unsigned int i;

	for (i = 0; i < 50; i++) {
		ok(m4_open(&o->v, o->dev));
		assert_int_equal(cx_port_state(o->dev->cx), 4);
		assert_true(cx_pages_held(o->dev->cx) > 96);
		ok(m4_close(&o->v));
		assert_int_equal(cx_pages_held(o->dev->cx), 0);
	}
	assert_int_equal(cx_stats(o->dev->cx)->cmd_failed, 0);
	assert_int_equal(cx_stats(o->dev->cx)->doorbells_refused, 0);
}

/* Commands by events, more than the queue has entries. */
static void events_go_round(void **state)
{
	struct one *o = *state;
	unsigned int i;

	ok(m4_open(&o->v, o->dev));
	for (i = 0; i < 500; i++)
		ok(m4_cmd(&o->v, NOP, 0, 0x1f, 0, NULL));
	assert_true(o->v.async.ci >= 500);
	ok(m4_close(&o->v));
}

/* An event is no interrupt unless the driver asked for one. */
static void interrupts_are_asked_for(void **state)
{
	struct one *o = *state;

	ok(m4_open(&o->v, o->dev));
	m4_eq_update(&o->v, &o->v.async, false);
	o->dev->irqs[0] = 0;
	rig_write32(o->dev, HCR + 20, 0x77 << 16);
	rig_write32(o->dev, STATUS, 1 << 23 | 1 << 22 | NOP);
	assert_int_equal(o->dev->irqs[0], 1);	/* armed since the last */
	rig_write32(o->dev, STATUS, 1 << 23 | 1 << 22 | NOP);
	assert_int_equal(o->dev->irqs[0], 1);
	m4_eq_update(&o->v, &o->v.async, true);
	assert_int_equal(o->dev->irqs[0], 2);
}

/* A doorbell that claims more than was written changes nothing. */
static void forged_consumer(void **state)
{
	struct one *o = *state;
	uint64_t refused;

	ok(m4_open(&o->v, o->dev));
	refused = cx_stats(o->dev->cx)->doorbells_refused;
	o->v.async.ci += 5;
	m4_eq_update(&o->v, &o->v.async, true);
	o->v.async.ci -= 5;
	assert_int_equal(cx_stats(o->dev->cx)->doorbells_refused, refused + 1);
	rig_write32(o->dev, CX_BAR2 + 20 * M4_PAGE + 0x800, 0);	/* no such EQ */
	assert_int_equal(cx_stats(o->dev->cx)->doorbells_refused, refused + 2);
	ok(m4_cmd(&o->v, NOP, 0, 0x1f, 0, NULL));
	ok(m4_close(&o->v));
}

/* The driver resets the HCA if one of these fails. */
static void closing_what_is_not_there(void **state)
{
	struct one *o = *state;

	ok(m4_open(&o->v, o->dev));
	ok(m4_cmd(&o->v, HW2SW_MPT, 1, 77, 0, NULL));
	ok(m4_cmd(&o->v, HW2SW_EQ, 1, 77, 0, NULL));
	ok(m4_cmd(&o->v, HW2SW_CQ, 1, 77, 0, NULL));
	ok(m4_cmd(&o->v, HW2SW_SRQ, 1, 77, 0, NULL));
	ok(m4_cmd(&o->v, TO_RST, 2, 77, 0, NULL));
	ok(m4_cmd(&o->v, SYNC_TPT, 0, 0, 0, NULL));
	ok(m4_close(&o->v));
	ok(m4_cmd(&o->v, CLOSE_HCA, 0, 0, 0, NULL));
	ok(m4_cmd(&o->v, UNMAP_ICM_AUX, 0, 0, 0, NULL));
	ok(m4_cmd(&o->v, UNMAP_FA, 0, 0, 0, NULL));
}

/* The reset register, and a function level reset: as after power-on. */
static void resets(void **state)
{
	struct one *o = *state;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		ok(m4_open(&o->v, o->dev));
		if (i & 1)
			cx_reset(o->dev->cx);
		else
			rig_write32(o->dev, 0xf0010, 1);
		assert_int_equal(cx_pages_held(o->dev->cx), 0);
		assert_int_equal(rig_read32(o->dev, STATUS), 0);
	}
}

/* ib_core reads them when it makes the device known. */
static void diagnostics(void **state)
{
	struct one *o = *state;
	uint8_t any[16];

	ok(m4_open(&o->v, o->dev));
	ok(m4_box(&o->v, DIAG_RPRT, 2, 0, NULL, 0, any, sizeof(any)));
	ok(m4_box(&o->v, DIAG_RPRT, 2, 1, NULL, 0, any, sizeof(any)));
	ok(m4_close(&o->v));
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(registers_at_rest),
		TEST(firmware),
		TEST(capabilities),
		TEST(order_of_commands),
		TEST(unknown_commands),
		TEST(bad_mailboxes),
		TEST(bad_maps),
		TEST(pages_are_counted),
		TEST(opens_and_closes),
		TEST(events_go_round),
		TEST(interrupts_are_asked_for),
		TEST(forged_consumer),
		TEST(closing_what_is_not_there),
		TEST(resets),
		TEST(diagnostics),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
