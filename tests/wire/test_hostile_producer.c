// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Wild producer and consumer indices in the three rings: the device closes
 * alone, with a reason, or the frontend only harms itself.
 */
#include "core/event.h"
#include "core/wake.h"
#include "wire.h"

#define SLOTS 64	/* of a ring of 16 pages */

static void closed(struct world *w, const char *why)
{
	assert_true(w->a.dev.fault);
	if (!strstr(w->a.dev.fault_reason, why))
		fail_msg("closed because \"%s\"", w->a.dev.fault_reason);
	/* nothing is served any more, and the other device is not touched */
	world_bystander(w);
}

static void wild_request(struct world *w, uint32_t prod)
{
	loop_sring(w->a.loop)->req_prod = prod;
	wire_run(&w->a);
	closed(w, "command ring");
}

static void request_prod_ahead(void **state)
{
	struct world *w = *state;

	wild_request(w, loop_sring(w->a.loop)->req_prod + SLOTS + 1);
}

static void request_prod_behind(void **state)
{
	struct world *w = *state;

	wild_request(w, loop_sring(w->a.loop)->req_prod - 1);
}

/*
 * Requests wait for their rate: the index goes back to one of these, which is within the
 * ring. No slot is read again.
 */
static void request_prod_back_to_what_waits(void **state)
{
	struct xenvhca_request req = wire_req(XENVHCA_OP_QUERY_PORT, 0);
	struct world *w = *state;
	unsigned int i, waiting;
	uint64_t cmds;

	w->a.dev.quota.cmd = (struct vl_bucket){ .rate = 1 };
	for (i = 0; i < 20; i++)
		assert_int_equal(loop_put_request(w->a.loop, &req), 0);
	wire_run(&w->a);
	waiting = w->a.q.n;
	cmds = w->a.dev.stats.cmds;
	assert_true(waiting > 10);
	wild_request(w, loop_sring(w->a.loop)->req_prod - 5);
	assert_int_equal(w->a.q.n, waiting);
	assert_int_equal(w->a.dev.stats.cmds, cmds);
}

static void request_prod_half(void **state)
{
	struct world *w = *state;

	wild_request(w, loop_sring(w->a.loop)->req_prod + 0x80000000u);
}

/* A full ring of zeroed slots is legal: every one is an unknown op. */
static void request_prod_full(void **state)
{
	struct world *w = *state;
	struct snap s;

	world_snap(w, &s);
	memset(loop_sring(w->a.loop)->ring, 0, SLOTS * XENVHCA_SLOT_SIZE);
	loop_sring(w->a.loop)->req_prod += SLOTS;
	wire_run(&w->a);
	world_same(w, &s, "full ring");
	assert_int_equal(loop_sring(w->a.loop)->rsp_prod,
			 loop_sring(w->a.loop)->req_prod);
}

/* More requests than slots, without taking an answer: the frontend overwrites
 * answers it did not read, the backend goes on or closes, but never leaks. */
static void never_takes_answers(void **state)
{
	struct world *w = *state;
	int i;

	for (i = 0; i < 1000 && !w->a.dev.fault; i++) {
		loop_sring(w->a.loop)->req_prod += 64;
		wire_run(&w->a);
	}
	world_bystander(w);
}

/* What the backend publishes is not read back by it. */
static void response_prod_overwritten(void **state)
{
	struct xenvhca_request req = wire_req(XENVHCA_OP_QUERY_PORT, 0);
	struct world *w = *state;
	uint32_t before = loop_sring(w->a.loop)->rsp_prod;

	loop_sring(w->a.loop)->rsp_prod = 0x12345678;
	assert_int_equal(loop_put_request(w->a.loop, &req), 0);
	wire_run(&w->a);
	assert_false(w->a.dev.fault);
	assert_int_equal(loop_sring(w->a.loop)->rsp_prod, before + 1);
}

static void kicks_fault(struct world *w, uint32_t prod)
{
	struct be_dev *dev = &w->a.dev;
	int i;

	assert_int_equal(be_kick_start(dev), 0);
	loop_kick(w->a.loop)->prod = prod;
	loop_signal(w->a.loop, BE_PORT_KICK);
	for (i = 0; i < 5000 && !__atomic_load_n(&dev->fault, __ATOMIC_ACQUIRE);
	     i++)
		usleep(1000);
	be_kick_stop(dev);
	closed(w, "kick ring");
}

static void kick_prod_ahead(void **state)
{
	kicks_fault(*state, 257);
}

static void kick_prod_behind(void **state)
{
	kicks_fault(*state, ~0u);
}

/* cons of the event ring belongs to the frontend: whatever it says, at most
 * its own events are lost, and a flag tells so. */
static void event_cons_lies(void **state)
{
	static const uint32_t lies[] = { 1, 255, 0x80000000u, ~0u, 12345 };
	struct world *w = *state;
	struct be_dev *dev = &w->a.dev;
	uint64_t dropped = dev->stats.events_dropped;
	size_t i;

	for (i = 0; i < COUNT(lies); i++) {
		loop_evt(w->a.loop)->cons = lies[i];
		be_event_push(dev, XENVHCA_EVT_PORT, 9, 0);
	}
	assert_true(dev->stats.events_dropped > dropped);
	assert_true(loop_take_overflow(w->a.loop));
	assert_false(dev->fault);
	world_bystander(w);
}

static void event_prod_overwritten(void **state)
{
	struct world *w = *state;
	struct be_dev *dev = &w->a.dev;
	struct xenvhca_event ev;

	loop_evt(w->a.loop)->prod = 0xabcdef;
	be_event_push(dev, XENVHCA_EVT_PORT, 9, 0);
	assert_int_equal(loop_evt(w->a.loop)->prod, 1);
	assert_int_equal(loop_get_event(w->a.loop, &ev), 1);
	assert_int_equal(ev.type, XENVHCA_EVT_PORT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(request_prod_ahead, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(request_prod_behind, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(request_prod_back_to_what_waits,
						world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(request_prod_half, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(request_prod_full, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(never_takes_answers, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(response_prod_overwritten, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(kick_prod_ahead, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(kick_prod_behind, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(event_cons_lies, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(event_prod_overwritten, world_setup,
						world_teardown),
	};

	return cmocka_run_group_tests(tests, wire_group_setup,
				      wire_group_teardown);
}
