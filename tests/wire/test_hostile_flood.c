// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Floods: commands over max-cmd-rate wait while destroy commands pass that end
 * something, so do commands after too many that the HCA's driver refused, events over
 * max-evt-rate become one flag, kicks over their rate come later, those that
 * name nothing cost nothing but a counter, a full event ring loses events and
 * says so.
 */
#include <errno.h>

#include "clock.h"
#include "core/event.h"
#include "core/wake.h"
#include "wire.h"

#define RATE 20u
#define SLOW 20u	/* less than a batch */
#define SLOTS 64u	/* of a ring of 16 pages */

/* RATE tokens, and so few more a second that a slow machine does not see them. */
static const struct vl_bucket full = {
	.rate = 1, .depth_ns = RATE * VL_SEC_NS,
};

/* Empty, and RATE a second from now on. */
static struct vl_bucket fills(void)
{
	return (struct vl_bucket){ .rate = RATE, .last_ns = vl_coarse_ns() };
}

static unsigned int answers(struct world *w, uint16_t op)
{
	struct xenvhca_response rsp;
	unsigned int n = 0;

	while (loop_get_response(w->a.loop, &rsp)) {
		assert_int_equal(rsp.op, op);
		n++;
	}
	return n;
}

/* Waits as the worker would and runs again; false: nothing waits any more. */
static bool wait_and_run(struct wire *w)
{
	int ms = be_cmdq_run(&w->dev, &w->q, false);

	if (ms > 0)
		usleep((unsigned int)ms * 1000u);
	return ms >= 0;
}

static void command_rate(void **state)
{
	struct world *w = *state;
	struct xenvhca_request req = wire_req(XENVHCA_OP_QUERY_PORT, 0);
	uint64_t start;
	unsigned int i, n;

	w->a.dev.quota.cmd = full;
	for (i = 0; i < 60; i++)
		assert_int_equal(loop_put_request(w->a.loop, &req), 0);
	wire_run(&w->a);
	n = answers(w, XENVHCA_OP_QUERY_PORT);
	assert_in_range(n, RATE, RATE + 2);
	/* a destroy command does not wait behind them */
	wire_good(&w->c, XENVHCA_OP_DEREG_MR, &req);
	assert_int_equal(loop_put_request(w->a.loop, &req), 0);
	wire_run(&w->a);
	assert_int_equal(answers(w, XENVHCA_OP_DEREG_MR), 1);
	w->a.dev.quota.cmd = fills();
	start = vl_now_ns();
	n = 0;
	while (n < 10 && wait_and_run(&w->a))
		n += answers(w, XENVHCA_OP_QUERY_PORT);
	/* ten more at RATE per second */
	assert_true(vl_now_ns() - start >= 9 * VL_SEC_NS / RATE);
	assert_false(w->a.dev.fault);
	world_bystander(w);
}

/* Each kind of destroy command, for what is not there. */
static void ends_nothing(struct world *w, struct xenvhca_request *req, unsigned int i)
{
	static const uint16_t op[] = {
		XENVHCA_OP_DEREG_MR, XENVHCA_OP_MUNMAP, XENVHCA_OP_DEALLOC_PD,
		XENVHCA_OP_DESTROY_QP, XENVHCA_OP_DESTROY_CQ,
		XENVHCA_OP_DESTROY_SRQ, XENVHCA_OP_DESTROY_AH,
		XENVHCA_OP_DEALLOC_MW, XENVHCA_OP_DETACH_MCAST,
		XENVHCA_OP_DEALLOC_UCONTEXT, XENVHCA_OP_DEALLOC_CM,
		XENVHCA_OP_DEALLOC_UMAD, XENVHCA_OP_UNREGISTER_UMAD,
		XENVHCA_OP_DEALLOC_XRCD,
	};
	bool uc;

	*req = wire_req(op[i % COUNT(op)], 0);
	uc = req->op != XENVHCA_OP_DEALLOC_CM && req->op != XENVHCA_OP_DEALLOC_XRCD &&
	     req->op != XENVHCA_OP_DEALLOC_UMAD && req->op != XENVHCA_OP_UNREGISTER_UMAD;
	if (uc)
		req->ucontext = req->op == XENVHCA_OP_DEALLOC_UCONTEXT ? NO_HANDLE : w->c.uc;
	if (req->op == XENVHCA_OP_MUNMAP)
		req->u.munmap.offset[0] = 77 * XENVHCA_PAGE_SIZE;
	else if (req->op != XENVHCA_OP_DEALLOC_UCONTEXT)
		req->u.handle.handle = NO_HANDLE;
}

static unsigned int refusals(struct world *w)
{
	struct xenvhca_response rsp;
	unsigned int n = 0;

	while (loop_get_response(w->a.loop, &rsp)) {
		assert_int_not_equal(rsp.status, 0);
		n++;
	}
	return n;
}

/* A destroy command that ends nothing has a rate, those that end something do not wait. */
static void destroys_of_nothing(void **state)
{
	struct world *w = *state;
	struct xenvhca_request req;
	unsigned int i, n;

	w->a.dev.quota.cmd = full;
	for (i = 0; i < 60; i++) {
		ends_nothing(w, &req, i);
		assert_int_equal(loop_put_request(w->a.loop, &req), 0);
	}
	wire_run(&w->a);
	n = refusals(w);
	assert_in_range(n, RATE, RATE + 2);
	wire_good(&w->c, XENVHCA_OP_DEREG_MR, &req);
	assert_int_equal(loop_put_request(w->a.loop, &req), 0);
	wire_run(&w->a);
	assert_int_equal(answers(w, XENVHCA_OP_DEREG_MR), 1);
	assert_true(w->a.dev.stats.rate_waits > 0);
	w->a.dev.quota.cmd = (struct vl_bucket){};
	wire_run(&w->a);
	assert_int_equal(n + refusals(w), 60);
	assert_false(w->a.dev.fault);
	world_bystander(w);
}

/*
 * A guest that writes no request any more: it keeps what it once wrote in all slots, and
 * gives the ring to the backend again and again. What is executed is paid for, but what
 * one ring holds: destroy commands, whose answers wait.
 */
static void old_slots_are_paid_for_again(void **state)
{
	struct world *w = *state;
	struct xenvhca_sring *ring = loop_sring(w->a.loop);
	uint8_t old[SLOTS * XENVHCA_SLOT_SIZE];
	struct xenvhca_request req;
	uint32_t answers;
	uint64_t cmds;
	unsigned int i;

	w->a.dev.quota.cmd = full;
	for (i = 0; i < SLOTS; i++) {
		ends_nothing(w, &req, i);
		assert_int_equal(loop_put_request(w->a.loop, &req), 0);
	}
	memcpy(old, ring->ring, sizeof(old));
	answers = ring->rsp_prod;
	cmds = w->a.dev.stats.cmds;
	for (i = 0; i < 100; i++) {
		wire_run(&w->a);
		memcpy(ring->ring, old, sizeof(old));
		ring->req_prod = ring->rsp_prod + SLOTS;
	}
	answers = ring->rsp_prod - answers;
	cmds = w->a.dev.stats.cmds - cmds;
	assert_in_range(answers, RATE, RATE + 2);
	assert_in_range(cmds, SLOTS, answers + SLOTS);
	assert_true(w->a.dev.stats.rate_waits > 0);
	assert_false(w->a.dev.fault);
	world_bystander(w);
}

/* 60 of them, which the driver refuses; returns how many were executed. */
static unsigned int refused(struct world *w, const struct xenvhca_request *req)
{
	unsigned int i, n;

	w->a.dev.quota.fail = full;
	w->a.dev.stats.rate_waits = 0;
	fake_refuse(true);
	for (i = 0; i < 60; i++)
		assert_int_equal(loop_put_request(w->a.loop, req), 0);
	wire_run(&w->a);
	n = answers(w, req->op);
	assert_in_range(n, RATE, RATE + 2);
	assert_true(w->a.dev.stats.rate_waits > 0);
	return n;
}

/* What the driver refuses may cost it a line in the kernel log. */
static void failure_rate(void **state)
{
	struct world *w = *state;
	struct xenvhca_request req = wire_req(XENVHCA_OP_ALLOC_PD, w->c.uc);
	unsigned int n = refused(w, &req);

	fake_refuse(false);
	wire_good(&w->c, XENVHCA_OP_DEREG_MR, &req);
	assert_int_equal(loop_put_request(w->a.loop, &req), 0);
	wire_run(&w->a);
	assert_int_equal(answers(w, XENVHCA_OP_DEREG_MR), 1);
	fake_refuse(true);
	w->a.dev.quota.fail = fills();
	while (wait_and_run(&w->a))
		n += answers(w, XENVHCA_OP_ALLOC_PD);
	assert_int_equal(n + answers(w, XENVHCA_OP_ALLOC_PD), 60);
	fake_refuse(false);
	assert_false(w->a.dev.fault);
	world_bystander(w);
}

/* It may print as much for what is no command: a mapping, a file, an ioctl. */
static void failures_of_every_kind(void **state)
{
	static const uint64_t page[] = { 0xff, 0x2ff, 0x3ff, 0x600 };
	static const uint16_t op[] = {
		XENVHCA_OP_ALLOC_UCONTEXT, XENVHCA_OP_QUERY_GID_TABLE,
	};
	struct world *w = *state;
	struct xenvhca_request req[COUNT(page) + COUNT(op)];
	size_t i;

	for (i = 0; i < COUNT(page); i++) {
		wire_good(&w->c, XENVHCA_OP_MMAP, &req[i]);
		req[i].u.mmap.offset = page[i] * XENVHCA_PAGE_SIZE;
	}
	for (; i < COUNT(req); i++)
		wire_good(&w->c, op[i - COUNT(page)], &req[i]);
	for (i = 0; i < COUNT(req); i++) {
		refused(w, &req[i]);
		w->a.dev.quota.fail.rate = 0;
		wire_run(&w->a);
		answers(w, req[i].op);
	}
	fake_refuse(false);
	assert_false(w->a.dev.fault);
	world_bystander(w);
}

/* What never came to the driver cost nobody a line. */
static void refusals_are_free(void **state)
{
	struct world *w = *state;
	struct xenvhca_request req = wire_req(XENVHCA_OP_ALLOC_PD, NO_HANDLE);
	unsigned int i;

	w->a.dev.quota.fail = (struct vl_bucket){ .rate = 1 };
	for (i = 0; i < 60; i++)
		assert_int_equal(loop_put_request(w->a.loop, &req), 0);
	wire_run(&w->a);
	assert_int_equal(answers(w, XENVHCA_OP_ALLOC_PD), 60);
	assert_int_equal(w->a.dev.stats.rate_waits, 0);
}

/* Registrations may take long; an exit does not wait for those of others. */
static void destroy_overtakes(void **state)
{
	struct world *w = *state;
	struct xenvhca_response rsp;
	struct xenvhca_request req;
	unsigned int i;

	wire_good(&w->c, XENVHCA_OP_REG_MR, &req);
	for (i = 0; i < 5; i++)
		assert_int_equal(loop_put_request(w->a.loop, &req), 0);
	wire_good(&w->c, XENVHCA_OP_DEREG_MR, &req);
	assert_int_equal(loop_put_request(w->a.loop, &req), 0);
	wire_run(&w->a);
	assert_int_equal(loop_get_response(w->a.loop, &rsp), 1);
	assert_int_equal(rsp.op, XENVHCA_OP_DEREG_MR);
	assert_int_equal(rsp.status, 0);
	assert_int_equal(answers(w, XENVHCA_OP_REG_MR), 5);
	assert_int_equal(w->a.dev.stats.rate_waits, 0);
}

/* How many of these, which take 20 ms each, one pass executes; the rest follows. */
static unsigned int passed(struct world *w, const struct xenvhca_request *req)
{
	unsigned int i, n;

	for (i = 0; i < SLOW; i++)
		assert_int_equal(loop_put_request(w->a.loop, &req[i]), 0);
	fake_slow(20000);
	assert_int_equal(be_cmdq_run(&w->a.dev, &w->a.q, true), 0);
	fake_slow(0);
	n = answers(w, req->op);
	wire_run(&w->a);
	assert_int_equal(n + answers(w, req->op), SLOW);
	return n;
}

/* What else the thread has to do (xenstore, the agent) does not wait for a batch. */
static void a_pass_is_short(void **state)
{
	struct world *w = *state;
	struct xenvhca_request req[SLOW], pd;
	unsigned int i;

	pd = wire_req(XENVHCA_OP_ALLOC_PD, w->c.uc);
	for (i = 0; i < SLOW; i++) {
		assert_int_equal(wire_call(&w->a, &pd), 0);
		req[i] = wire_req(XENVHCA_OP_DEALLOC_PD, w->c.uc);
		req[i].u.handle.handle = w->a.rsp.u.handle.handle;
	}
	/* Those are executed as they are read, the others later. */
	assert_in_range(passed(w, req), 1, 7);
	for (i = 0; i < SLOW; i++)
		req[i] = pd;
	assert_in_range(passed(w, req), 1, 7);
	assert_false(w->a.dev.fault);
	world_bystander(w);
}

/* Waiting requests are dropped with the device, and nothing leaks. */
static void closed_while_waiting(void **state)
{
	struct world *w = *state;
	struct xenvhca_request req;
	unsigned int i;

	w->a.dev.quota.cmd = (struct vl_bucket){ .rate = 1 };
	wire_good(&w->c, XENVHCA_OP_REG_MR, &req);
	for (i = 0; i < 60; i++)
		assert_int_equal(loop_put_request(w->a.loop, &req), 0);
	wire_run(&w->a);
	assert_true(w->a.q.n > 50);
}

static void event_rate(void **state)
{
	struct world *w = *state;
	struct xenvhca_event ev;
	unsigned int i, n = 0;

	w->a.dev.quota.evt = full;
	for (i = 0; i < 1000; i++)
		be_event_push(&w->a.dev, XENVHCA_EVT_PORT, 9, 0);
	while (loop_get_event(w->a.loop, &ev))
		n++;
	assert_in_range(n, RATE, RATE + 2);
	assert_true(loop_take_overflow(w->a.loop));
	assert_int_equal(w->a.dev.stats.events + w->a.dev.stats.events_dropped,
			 1000);
}

static void event_ring_full(void **state)
{
	struct world *w = *state;
	struct xenvhca_event ev;
	unsigned int i, n = 0;

	for (i = 0; i < 1000; i++)
		be_event_push(&w->a.dev, XENVHCA_EVT_COMP, 0, i);
	while (loop_get_event(w->a.loop, &ev))
		assert_int_equal(ev.handle, n++);	/* none overwritten */
	assert_int_equal(n, XENVHCA_EVT_ENTRIES);
	assert_true(loop_take_overflow(w->a.loop));
	assert_false(loop_take_overflow(w->a.loop));
	be_event_push(&w->a.dev, XENVHCA_EVT_COMP, 0, 5);
	assert_int_equal(loop_get_event(w->a.loop, &ev), 1);
}

/* Every kind of kick that names nothing, or not what it should. */
static void bad_kicks(void **state)
{
	struct world *w = *state;
	const uint32_t handle[] = {
		0, 1, ~0u, NO_HANDLE, w->c.uc, w->c.pd, w->c.mr, w->c.srq,
	};
	struct xenvhca_kick k;
	unsigned int type, flags;
	struct snap s;
	size_t i;

	world_snap(w, &s);
	for (type = 0; type < 256; type++)
		for (flags = 0; flags < 256; flags += 5)
			for (i = 0; i < COUNT(handle); i++) {
				k = (struct xenvhca_kick){
					(uint8_t)type, (uint8_t)flags, 0,
					handle[i],
				};
				be_kick(&w->a.dev, &k);
			}
	assert_int_equal(fake_nth(FAKE_QP, 0)->posts, 0);
	assert_int_equal(fake_nth(FAKE_CQ, 0)->arms, 0);
	assert_int_equal(w->a.dev.stats.events, 0);
	world_same(w, &s, "bad kicks");
}

static void swapped_kicks(void **state)
{
	struct world *w = *state;
	struct xenvhca_kick k = { XENVHCA_KICK_ARM, 0, 0, w->c.qp };

	be_kick(&w->a.dev, &k);
	k = (struct xenvhca_kick){ XENVHCA_KICK_SEND, 0, 0, w->c.cq };
	be_kick(&w->a.dev, &k);
	k = (struct xenvhca_kick){ XENVHCA_KICK_SEND, 1, 0, w->c.qp };
	be_kick(&w->a.dev, &k);
	assert_int_equal(fake_nth(FAKE_QP, 0)->posts, 0);
	k.flags = 0;
	be_kick(&w->a.dev, &k);
	assert_int_equal(fake_nth(FAKE_QP, 0)->posts, 1);
}

static void kick_rate(void **state)
{
	struct world *w = *state;
	const struct xenvhca_kick k = {
		.type = XENVHCA_KICK_SEND, .handle = w->c.qp,
	};
	uint64_t start = vl_now_ns();
	unsigned int i;

	w->a.dev.quota.kick = (struct vl_bucket){ .rate = 100 };
	assert_int_equal(be_kick_start(&w->a.dev), 0);
	for (i = 0; i < 120; i++)
		loop_put_kick(w->a.loop, &k);
	be_kick_flush(&w->a.dev);
	be_kick_stop(&w->a.dev);
	assert_int_equal(fake_nth(FAKE_QP, 0)->posts, 120);	/* none lost */
	assert_true(vl_now_ns() - start >= 15 * VL_SEC_NS / 100);
	assert_true(w->a.dev.stats.rate_waits > 0);
}

/* Kicks for queues that are destroyed meanwhile by the command thread. */
static void kicks_while_destroyed(void **state)
{
	struct world *w = *state;
	struct xenvhca_kick k = { .type = XENVHCA_KICK_SEND };
	struct xenvhca_request req;
	unsigned int i, j;

	assert_int_equal(be_kick_start(&w->a.dev), 0);
	for (i = 0; i < 100; i++) {
		wire_good(&w->c, XENVHCA_OP_CREATE_QP, &req);
		assert_int_equal(wire_call(&w->a, &req), 0);
		k.handle = w->a.rsp.u.create_qp.handle;
		for (j = 0; j < 2; j++)
			loop_put_kick(w->a.loop, &k);
		req = wire_req(XENVHCA_OP_DESTROY_QP, w->c.uc);
		req.u.handle.handle = k.handle;
		assert_int_equal(wire_call(&w->a, &req), 0);
	}
	be_kick_stop(&w->a.dev);
	assert_false(w->a.dev.fault);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(command_rate, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(destroys_of_nothing, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(old_slots_are_paid_for_again,
						world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(failure_rate, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(failures_of_every_kind,
						world_setup_mlx5,
						world_teardown),
		cmocka_unit_test_setup_teardown(refusals_are_free, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(destroy_overtakes, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(a_pass_is_short, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(closed_while_waiting,
						world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(event_rate, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(event_ring_full, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(bad_kicks, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(swapped_kicks, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(kick_rate, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(kicks_while_destroyed,
						world_setup, world_teardown),
	};

	return cmocka_run_group_tests(tests, wire_group_setup,
				      wire_group_teardown);
}
