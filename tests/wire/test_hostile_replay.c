// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Ids are the frontend's own business: repeated, out of range, or in disorder
 * they come back as they were, and the backend keeps nothing by id.
 */
#include "wire.h"

static void put(struct world *w, uint16_t id)
{
	struct xenvhca_request req = wire_req(XENVHCA_OP_QUERY_PORT, 0);

	req.id = id;
	assert_int_equal(loop_put_request(w->a.loop, &req), 0);
}

static void expect(struct world *w, uint16_t id)
{
	struct xenvhca_response rsp;

	assert_int_equal(loop_get_response(w->a.loop, &rsp), 1);
	assert_int_equal(rsp.id, id);
	assert_int_equal(rsp.op, XENVHCA_OP_QUERY_PORT);
	assert_int_equal(rsp.status, 0);
}

static void replayed(void **state)
{
	struct world *w = *state;
	unsigned int i, round;

	for (round = 0; round < 40; round++) {
		for (i = 0; i < 64; i++)
			put(w, 7);
		wire_run(&w->a);
		for (i = 0; i < 64; i++)
			expect(w, 7);
	}
	assert_false(w->a.dev.fault);
}

static void out_of_range(void **state)
{
	static const uint16_t ids[] = { 256, 257, 0x7fff, 0x8000, 0xffff };
	struct world *w = *state;
	size_t i;

	for (i = 0; i < COUNT(ids); i++)
		put(w, ids[i]);
	wire_run(&w->a);
	for (i = 0; i < COUNT(ids); i++)
		expect(w, ids[i]);
	assert_false(w->a.dev.fault);
}

/* A replayed destroy command finds nothing; a create makes a second object. */
static void replayed_commands(void **state)
{
	struct xenvhca_request req;
	struct world *w = *state;
	struct xenvhca_response rsp;
	int i, good = 0;

	wire_good(&w->c, XENVHCA_OP_DEREG_MR, &req);
	for (i = 0; i < 8; i++)
		assert_int_equal(loop_put_request(w->a.loop, &req), 0);
	wire_run(&w->a);
	while (loop_get_response(w->a.loop, &rsp))
		good += !rsp.status;
	assert_int_equal(good, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(replayed, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(out_of_range, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(replayed_commands, world_setup,
						world_teardown),
	};

	return cmocka_run_group_tests(tests, wire_group_setup,
				      wire_group_teardown);
}
