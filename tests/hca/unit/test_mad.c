// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The agents of the port, by way of MAD_IFC: what ib_core, opensm and
 * perfquery ask.
 */
#include <stdlib.h>

#include "pair.h"

enum { GET = 1, SET = 2, RESP = 0x81 };
enum { SM_LID = 0x01, SM_DIRECT = 0x81, PERF = 0x04, CM = 0x07 };
enum { NODE_DESCRIPTION = 0x10, NODE_INFO = 0x11, GUID_INFO = 0x14,
       PORT_INFO = 0x15, PKEY_TABLE = 0x16, PORT_COUNTERS = 0x12 };

struct mad {
	uint8_t b[256];
};

static uint16_t be16(const uint8_t *p)
{
	return p[0] << 8 | p[1];
}

static struct mad request(uint8_t class, uint8_t method, uint16_t attr,
			  uint32_t mod)
{
	struct mad m = { { 1, class, 1, method } };

	m.b[15] = 0x77;			/* transaction */
	m.b[16] = attr >> 8;
	m.b[17] = attr;
	m.b[20] = mod >> 24;
	m.b[21] = mod >> 16;
	m.b[22] = mod >> 8;
	m.b[23] = mod;
	if (class == SM_DIRECT)
		memset(m.b + 32, 0xff, 4);	/* permissive LIDs */
	return m;
}

static struct mad ask(struct pair *p, struct mad m)
{
	struct mad reply;

	ok(drv_mad_ifc(&p->a.drv, m.b, reply.b));
	return reply;
}

static struct mad get(struct pair *p, uint8_t class, uint16_t attr,
		      uint32_t mod)
{
	struct mad r = ask(p, request(class, GET, attr, mod));

	assert_int_equal(r.b[3], RESP);
	assert_int_equal(be16(r.b + 4) & 0x7fff, 0);	/* status */
	assert_int_equal(r.b[15], 0x77);
	return r;
}

static void node_info(void **state)
{
	struct pair *p = *state;
	struct mad r = get(p, SM_LID, NODE_INFO, 0);
	const uint8_t *n = r.b + 64;

	assert_int_equal(n[0], 1);		/* base version */
	assert_int_equal(n[2], 1);		/* channel adapter */
	assert_int_equal(n[3], 1);		/* ports */
	assert_true(cx_be64_get(n + 12) == GUID_A);
	assert_true(cx_be64_get(n + 20) == GUID_A);
	assert_int_equal(n[36], 1);		/* this one */
	assert_int_equal(n[37] << 16 | n[38] << 8 | n[39], 0x2c9);
}

static void port_info(void **state)
{
	struct pair *p = *state;
	struct mad r = get(p, SM_LID, PORT_INFO, 1);
	const uint8_t *i = r.b + 64;

	assert_int_equal(cx_be64_get(i + 8) >> 48, 0xfe80);
	assert_int_equal(be16(i + 16), 1);		/* LID */
	assert_int_equal(i[28], 1);			/* local port */
	assert_int_equal(i[32] & 0xf, 4);		/* active */
	assert_int_equal(i[33] >> 4, 5);		/* link up */
	assert_int_equal(i[36] >> 4, 5);		/* neighbour MTU */
}

static void description_guids_and_pkeys(void **state)
{
	struct pair *p = *state;
	struct mad r = get(p, SM_LID, NODE_DESCRIPTION, 0);

	assert_int_not_equal(r.b[64], 0);
	r = get(p, SM_LID, GUID_INFO, 0);
	assert_true(cx_be64_get(r.b + 64) == GUID_A);
	r = get(p, SM_LID, PKEY_TABLE, 0);
	assert_int_equal(be16(r.b + 64), 0xffff);
}

/* What opensm does to a port: LID, its own LID, and the state step by step. */
static void configured_by_a_subnet_manager(void **state)
{
	struct pair *p = *state;
	struct mad m = get(p, SM_LID, PORT_INFO, 1), r;
	const struct drv_eqe *e;

	drv_event(&p->a.drv, &p->a.drv.async_eq, CX_EV_PORT_CHANGE, NULL);
	m.b[3] = SET;
	m.b[64 + 16] = 0;
	m.b[64 + 17] = 55;
	m.b[64 + 19] = 56;
	m.b[64 + 32] &= 0xf0;			/* no change of state */
	m.b[64 + 33] &= 0x0f;
	r = ask(p, m);
	assert_int_equal(be16(r.b + 4) & 0x7fff, 0);
	r = get(p, SM_LID, PORT_INFO, 1);
	assert_int_equal(be16(r.b + 64 + 16), 55);
	assert_int_equal(be16(r.b + 64 + 18), 56);
	e = drv_event(&p->a.drv, &p->a.drv.async_eq, CX_EV_PORT_CHANGE, NULL);
	assert_non_null(e);
	assert_int_equal(e->sub_type, CX_PORT_LID);
}

static void traffic_to_the_new_lid(void **state)
{
	struct pair *p = *state;
	struct drv_path path = pair_path();
	struct mad m = get(p, SM_LID, PORT_INFO, 1);

	m.b[3] = SET;
	m.b[64 + 17] = 55;
	m.b[64 + 32] &= 0xf0;
	m.b[64 + 33] &= 0x0f;
	ask(p, m);
	pair_make(p, DRV_RC);
	ok(drv_connect(&p->a.qp, 55, &p->b.qp, 2, &path));
	drv_recv(&p->a.qp, &p->a.mr, 0, 64);
	drv_send(&p->b.qp, &p->b.mr, 0, 8);
	get_wc(&p->b, &p->b.scq, MLX5_CQE_REQ);
	get_wc(&p->a, &p->a.rcq, MLX5_CQE_RESP_SEND);
}

static void pkeys_are_set(void **state)
{
	struct pair *p = *state;
	struct mad m = get(p, SM_LID, PKEY_TABLE, 0), r;

	m.b[3] = SET;
	m.b[64 + 2] = 0x80;
	m.b[64 + 3] = 0x01;
	ask(p, m);
	r = get(p, SM_LID, PKEY_TABLE, 0);
	assert_int_equal(be16(r.b + 66), 0x8001);
}

static void counters(void **state)
{
	struct pair *p = *state;
	struct drv_path path = pair_path();
	struct mad m = request(PERF, GET, PORT_COUNTERS, 0), r;
	uint32_t sent;

	pair_make(p, DRV_RC);
	pair_connect(p, &path);
	drv_recv(&p->b.qp, &p->b.mr, 0, 65536);
	drv_send(&p->a.qp, &p->a.mr, 0, 65536);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	m.b[64 + 1] = 1;		/* PortSelect */
	r = ask(p, m);
	assert_int_equal(r.b[3], RESP);
	memcpy(&sent, r.b + 64 + 24, 4);	/* PortXmitData, words */
	assert_true(be32toh(sent) >= 65536 / 4);
}

static void unknown_attributes(void **state)
{
	struct pair *p = *state;
	struct mad r = ask(p, request(SM_LID, GET, 0x3333, 0));

	assert_int_not_equal(be16(r.b + 4) & 0x7fff, 0);
	r = ask(p, request(SM_LID, GET, PKEY_TABLE, 0x7fff));
	assert_int_not_equal(be16(r.b + 4) & 0x7fff, 0);
	r = ask(p, request(SM_LID, GET, GUID_INFO, 0x7fff));
	assert_int_not_equal(be16(r.b + 4) & 0x7fff, 0);
	/* No agent: the command fails, and there is no reply. */
	assert_int_equal(drv_mad_ifc(&p->a.drv, request(CM, GET, 1, 0).b,
				     r.b), CX_BAD_PKT);
	assert_int_equal(r.b[3], 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, pair_setup, pair_teardown)
	const struct CMUnitTest tests[] = {
		T(node_info),
		T(port_info),
		T(description_guids_and_pkeys),
		T(configured_by_a_subnet_manager),
		T(traffic_to_the_new_lid),
		T(pkeys_are_set),
		T(counters),
		T(unknown_attributes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
