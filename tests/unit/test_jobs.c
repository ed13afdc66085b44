// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The job thread: a large registration or its end holds up no fast command, neither of
 * other processes nor of its own; what it uses stays until it is done; a process, a
 * guest or a device may end meanwhile; and it leaves nothing behind when it fails.
 */
#include <errno.h>
#include <rdma/ib_user_verbs.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/event.h"
#include "core/ib_core.h"
#include "test_jobs.h"

#define LARGE		(BE_JOB_PAGES + 1)
#define LIST		60u		/* from here on pages of references */
#define SPIN_LIMIT	10000000u
#define SMALL		3u		/* pages that each context has registered */
#define REG		IB_USER_VERBS_CMD_REG_MR
#define DEREG		IB_USER_VERBS_CMD_DEREG_MR
#define RING_SLOTS	64u

static bool spinning;
static unsigned int turns;		/* of a spin */

/* It polls as it is told, once, and what is blocked goes on meanwhile. */
bool __wrap_be_spin_begin(struct be_spin *s);
bool __wrap_be_spin_begin(struct be_spin *s)
{
	(void)s;
	if (spinning)
		turns = 0;
	return spinning;
}

bool __wrap_be_spin_turn(struct be_spin *s);
bool __wrap_be_spin_turn(struct be_spin *s)
{
	(void)s;
	if (++turns == 100)
		fake_block(0);
	sched_yield();
	return turns < SPIN_LIMIT;
}

void __wrap_be_spin_end(struct be_spin *s, bool found);
void __wrap_be_spin_end(struct be_spin *s, bool found)
{
	(void)s;
	(void)found;
	spinning = false;
}

/* Of page 0, again and again. What is written for it may be read at any time. */
static struct xenvhca_request region(const struct ctx *of, uint32_t n)
{
	struct xenvhca_request req;
	uint32_t at = LIST + n - BE_JOB_PAGES, i;
	uint32_t *list = loop_page(w->loop, at);

	assert_true(wire_good(of, XENVHCA_OP_REG_MR, &req));
	for (i = 0; i < n && !list[n - 1]; i++)
		list[i] = LOOP_REF(0);
	req.u.reg_mr.pages = (struct xenvhca_pages){
		.nr_pages = n, .level = 1, .gref = { LOOP_REF(at) },
	};
	req.u.reg_mr.iova = 0x7f0000000000ull;
	req.u.reg_mr.page_offset = 0;
	req.u.reg_mr.length = (uint64_t)n * XENVHCA_PAGE_SIZE;
	return req;
}

static int setup(void **state)
{
	spinning = false;
	jobs_setup(state);
	assert_int_equal(be_event_start(&w->dev), 0);
	return 0;
}

static int teardown(void **state)
{
	fake_block(0);			/* a test that failed */
	be_jobs_stop(&w->dev);
	be_event_stop(&w->dev);
	return world_teardown(state);
}

/* The job thread has a command in the kernel, and this thread had none of those. */
static void await_blocked(void)
{
	unsigned int by_us, n;

	do {
		n = fake_blocked(&by_us);
		assert_int_equal(by_us, 0);
		sched_yield();
	} while (!n);
}

/* Commands of all kinds that are fast: who asks for no address is one. */
static void fast_ones(const struct ctx *of)
{
	static const uint16_t ops[] = {
		XENVHCA_OP_ALLOC_PD, XENVHCA_OP_CREATE_CQ,
		XENVHCA_OP_CREATE_QP, XENVHCA_OP_MODIFY_QP,
		XENVHCA_OP_ALLOC_UCONTEXT, XENVHCA_OP_QUERY_PORT,
	};
	struct xenvhca_request req;
	unsigned int i;

	for (i = 0; i < COUNT(ops); i++) {
		assert_true(wire_good(of, ops[i], &req));
		if (ops[i] == XENVHCA_OP_MODIFY_QP)
			req.u.modify_qp.attr.mask &= ~(uint32_t)IB_QP_AV;
		put(req, (uint16_t)(100 + i));
		assert_int_equal(told((uint16_t)(100 + i)), 0);
	}
	/* The QP, CQ and PD that the context had stay. */
	put_handle(of, XENVHCA_OP_DESTROY_AH, of->ah, 99);
	assert_int_equal(told(99), 0);
}

static void put_region(const struct ctx *of, uint16_t id)
{
	put(region(of, LARGE), id);
}

static uint32_t make_region(const struct ctx *of)
{
	put_region(of, 200);
	assert_int_equal(answer(200), 0);
	return w->rsp.u.mr.handle;
}

/* Command 1 is in the kernel, and is answered behind others. */
static void passed_by_fast_ones(void)
{
	await_blocked();
	fast_ones(other);
	fast_ones(c);
	assert_false(answered());
	fake_block(0);
	assert_int_equal(answer(1), 0);
}

static void fast_commands_pass_a_registration(void **state)
{
	(void)state;
	fake_block(REG);
	put_region(c, 1);
	passed_by_fast_ones();
	put_handle(c, XENVHCA_OP_DEREG_MR, w->rsp.u.mr.handle, 2);
	assert_int_equal(answer(2), 0);
	assert_int_equal(w->dev.stats.cmd_lanes, 2);
}

static void fast_commands_pass_its_end(void **state)
{
	uint32_t mr = make_region(c);

	(void)state;
	fake_block(DEREG);
	put_handle(c, XENVHCA_OP_DEREG_MR, mr, 1);
	passed_by_fast_ones();
	assert_int_equal(w->dev.quota.used[BE_MR], 2);
}

static void small_regions_stay_in_line(void **state)
{
	(void)state;
	put(region(c, BE_JOB_PAGES), 1);
	assert_int_equal(told(1), 0);
	put_handle(c, XENVHCA_OP_DEREG_MR, w->rsp.u.mr.handle, 2);
	assert_int_equal(told(2), 0);
	assert_int_equal(w->dev.stats.cmd_lanes, 0);
}

static void what_it_uses_is_busy(void **state)
{
	struct xenvhca_request req;
	struct ctx of = *c;
	uint32_t mr;

	(void)state;
	put(wire_req(XENVHCA_OP_ALLOC_PD, c->uc), 1);
	assert_int_equal(told(1), 0);
	of.pd = w->rsp.u.handle.handle;
	fake_block(REG);
	put_region(&of, 1);
	await_blocked();
	put_handle(c, XENVHCA_OP_DEALLOC_PD, of.pd, 2);
	assert_int_equal(told(2), -EBUSY);
	fake_block(0);
	assert_int_equal(answer(1), 0);
	mr = w->rsp.u.mr.handle;
	fake_block(DEREG);
	put_handle(c, XENVHCA_OP_DEREG_MR, mr, 1);
	await_blocked();
	put_handle(c, XENVHCA_OP_DEREG_MR, mr, 2);
	assert_int_equal(told(2), -EBUSY);
	assert_true(wire_good(c, XENVHCA_OP_REREG_MR, &req));
	req.u.rereg_mr.handle = mr;
	put(req, 3);
	assert_int_equal(told(3), -EBUSY);
	put_handle(c, XENVHCA_OP_DEALLOC_PD, of.pd, 2);
	assert_int_equal(told(2), -EBUSY);
	fake_block(0);
	assert_int_equal(answer(1), 0);
	put_handle(c, XENVHCA_OP_DEREG_MR, mr, 2);
	assert_int_equal(told(2), -ENOENT);
	put_handle(c, XENVHCA_OP_DEALLOC_PD, of.pd, 2);
	assert_int_equal(told(2), 0);
}

/* What was not begun has no use any more. */
static void a_context_ends_behind_its_registrations(void **state)
{
	unsigned int live = fake_live_all(), i, ids = 0;

	(void)state;
	fake_block(REG);
	put_region(c, 1);
	await_blocked();
	put_region(c, 2);
	put_region(other, 3);
	put_end(c, 4);
	assert_int_equal(told(2), -ENOENT);
	put(wire_req(XENVHCA_OP_ALLOC_PD, c->uc), 5);
	assert_int_equal(told(5), -ENOENT);
	put_end(c, 6);
	assert_int_equal(told(6), -ENOENT);
	be_dev_tick(&w->dev);
	assert_int_equal(fake_live_all(), live);
	fast_ones(other);
	assert_false(answered());
	fake_block(0);
	assert_int_equal(answer(1), 0);
	for (i = 0; i < 2; i++) {
		await_answer();
		assert_int_equal(w->rsp.status, 0);
		ids |= 1u << w->rsp.id;
	}
	assert_int_equal(ids, 1u << 3 | 1u << 4);
	assert_int_equal(w->dev.quota.used[BE_UCONTEXT], 2);
	assert_int_equal(w->dev.quota.used_pages, SMALL + LARGE);
	put_end(c, 7);
	assert_int_equal(told(7), -ENOENT);
}

/* As destroy commands do in the ring. */
static void ends_pass_registrations_that_wait(void **state)
{
	uint32_t mr = make_region(c);

	(void)state;
	fake_block(REG);
	put_region(other, 1);
	await_blocked();
	put_region(other, 2);
	put_handle(c, XENVHCA_OP_DEREG_MR, mr, 3);
	fake_block(0);
	assert_int_equal(answer(1), 0);
	assert_int_equal(answer(3), 0);
	assert_int_equal(answer(2), 0);
}

static void a_context_leaves_its_regions_to_the_lane(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 3; i++)
		make_region(c);
	fake_block(DEREG);
	put_end(c, 1);
	await_blocked();
	fast_ones(other);
	assert_false(answered());
	/* Nothing that used them is left. */
	put(wire_req(XENVHCA_OP_ALLOC_PD, c->uc), 2);
	assert_int_equal(told(2), -ENOENT);
	assert_int_equal(w->dev.quota.used[BE_QP], 3);
	assert_int_equal(w->dev.quota.used[BE_MR], 5);
	fake_block(0);
	assert_int_equal(answer(1), 0);
	assert_int_equal(w->dev.quota.used[BE_MR], 1);
}

/* It is tried again, and the end of the file destroys what the kernel kept. */
static void a_region_that_stays_does_not_stop_the_end(void **state)
{
	(void)state;
	make_region(c);
	make_region(c);
	fake_fail(DEREG, FAKE_EACH, EINVAL);
	put_end(c, 1);
	assert_int_equal(answer(1), 0);
	fake_fail(DEREG, 0, 0);
	assert_int_equal(w->dev.quota.used[BE_MR], 1);
	assert_int_equal(w->dev.quota.used_pages, SMALL);
}

static void a_failure_leaves_nothing(void **state)
{
	static const int errors[] = { ENOMEM, EINVAL, EIO };
	struct snap before;
	unsigned int i;

	world_snap(*state, &before);
	for (i = 0; i < COUNT(errors); i++) {
		fake_fail(REG, 1, errors[i]);
		put_region(c, 1);
		assert_int_equal(answer(1), -errors[i]);
		world_same(*state, &before, "the kernel refuses");
	}
	assert_true(w->dev.quota.fail.tokens_ns <
		    (int64_t)w->dev.quota.fail.depth_ns);
	loop_fail_map(w->loop, 1, -ENOMEM);
	put_region(c, 1);
	assert_int_equal(answer(1), -ENOMEM);
	world_same(*state, &before, "no list is copied");
	loop_fail_map(w->loop, 2, -EINVAL);
	put_region(c, 1);
	assert_int_equal(answer(1), -EINVAL);
	world_same(*state, &before, "nothing is mapped");
}

static void a_region_that_stays_can_be_used(void **state)
{
	uint32_t mr = make_region(c);
	struct snap before;

	world_snap(*state, &before);
	fake_fail(DEREG, 1, EINVAL);
	put_handle(c, XENVHCA_OP_DEREG_MR, mr, 1);
	assert_int_equal(answer(1), -EINVAL);
	world_same(*state, &before, "the kernel refuses");
	put_handle(c, XENVHCA_OP_DEREG_MR, mr, 1);
	assert_int_equal(answer(1), 0);
}

/* The end of the device, with a job in the kernel, and all kinds behind it. */
static void end_while(uint32_t cmd)
{
	unsigned int i;

	await_blocked();
	for (i = 0; i < 3; i++)
		put_region(other, (uint16_t)(10 + i));
	put_end(c, 20);
	assert_false(answered() && w->rsp.id != 2);
	stop_jobs_at_gate();
	assert_false(loop_get_response(w->loop, &w->rsp));
	assert_int_equal(w->dev.quota.used[BE_MR], cmd == REG ? 3 : 2);
}

static void the_end_waits_for_one_registration(void **state)
{
	(void)state;
	fake_block(REG);
	put_region(c, 1);
	await_blocked();
	put_region(c, 2);
	end_while(REG);
}

static void the_end_waits_for_the_end_of_a_region(void **state)
{
	uint32_t mr = make_region(c);

	(void)state;
	fake_block(DEREG);
	put_handle(c, XENVHCA_OP_DEREG_MR, mr, 1);
	end_while(DEREG);
}

static void the_end_ends_regions_that_wait_for_theirs(void **state)
{
	uint32_t mr[3];
	unsigned int i;

	(void)state;
	for (i = 0; i < 3; i++)
		mr[i] = make_region(c);
	fake_block(DEREG);
	for (i = 0; i < 3; i++)
		put_handle(c, XENVHCA_OP_DEREG_MR, mr[i], (uint16_t)i);
	await_blocked();
	stop_jobs_at_gate();
	assert_int_equal(w->dev.quota.used[BE_MR], 4);
	assert_int_equal(w->dev.quota.used_pages, 2 * SMALL + 2 * LARGE);
}

/* All of a ring. Who has no quota is told at once. */
static void a_flood_holds_up_nobody(void **state)
{
	const unsigned int n = RING_SLOTS - 8, fit = 20;
	unsigned int i;

	(void)state;
	w->dev.quota.max_pages = w->dev.quota.used_pages + fit * LARGE;
	fake_block(REG);
	for (i = 0; i < n; i++) {
		put_region(c, (uint16_t)i);
		if (i >= fit)
			assert_int_equal(told((uint16_t)i), -ENOMEM);
	}
	await_blocked();
	fast_ones(other);
	fake_block(0);
	for (i = 0; i < fit; i++)
		assert_int_equal(answer((uint16_t)i), 0);
	assert_false(answered());
}

/*
 * Without the ring's bound: what has no room is executed as a fast one is. An end has:
 * there are no more ends than regions.
 */
static void what_waits_is_bounded(void **state)
{
	struct xenvhca_request req = region(c, LARGE);
	struct xenvhca_response rsp;
	unsigned int i, n = XENVHCA_MAX_ID, by_us;
	uint32_t mr = make_region(other);

	(void)state;
	fake_block(REG);
	for (i = 0; i < n; i++)
		assert_int_equal(be_dispatch(&w->dev, &req, &rsp),
				 BE_ELSEWHERE);
	await_blocked();
	assert_int_equal(be_dispatch(&w->dev, &req, &rsp), BE_ANSWERED);
	assert_int_equal(rsp.status, 0);
	req = wire_req(XENVHCA_OP_DEREG_MR, other->uc);
	req.u.handle.handle = mr;
	assert_int_equal(be_dispatch(&w->dev, &req, &rsp), BE_ELSEWHERE);
	fake_blocked(&by_us);
	assert_int_equal(by_us, 1);
	fake_block(0);
	for (n++; n;)
		if (be_dispatched(&w->dev, &rsp))
			n--;
	assert_int_equal(w->dev.quota.used[BE_MR], 2 + XENVHCA_MAX_ID + 1);
}

/* It does not go to sleep over it. */
static void who_polls_sees_the_answer(void **state)
{
	(void)state;
	fake_block(REG);
	spinning = true;
	put_region(c, 1);
	assert_in_range(turns, 100, SPIN_LIMIT - 1);
	assert_true(loop_get_response(w->loop, &w->rsp));
	assert_int_equal(w->rsp.status, 0);
}

/* Registrations, ends and fast commands of several contexts, as they come. */
static void all_at_once(void **state)
{
	const struct ctx *of[2] = { c, other };
	uint32_t mr[2][8] = { { 0 } };
	unsigned int turn, i, j;

	(void)state;
	for (turn = 0; turn < 50; turn++) {
		for (i = 0; i < 8; i++)
			for (j = 0; j < 2; j++)
				put(region(of[j], BE_JOB_PAGES + i % 3),
				    (uint16_t)(2 * i + j));
		for (i = 0; i < 16; i++) {
			await_answer();
			assert_int_equal(w->rsp.status, 0);
			mr[w->rsp.id % 2][w->rsp.id / 2] = w->rsp.u.mr.handle;
		}
		for (i = 0; i < 8; i++)
			for (j = 0; j < 2; j++)
				put_handle(of[j], XENVHCA_OP_DEREG_MR,
					   mr[j][i], (uint16_t)(2 * i + j));
		for (i = 0; i < 16; i++) {
			await_answer();
			assert_int_equal(w->rsp.status, 0);
		}
	}
	assert_int_equal(w->dev.quota.used[BE_MR], 2);
	assert_int_equal(loop_mapped(w->loop), 2 * SMALL);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(fast_commands_pass_a_registration),
		T(fast_commands_pass_its_end), T(small_regions_stay_in_line),
		T(what_it_uses_is_busy),
		T(a_context_ends_behind_its_registrations),
		T(ends_pass_registrations_that_wait),
		T(a_context_leaves_its_regions_to_the_lane),
		T(a_region_that_stays_does_not_stop_the_end),
		T(a_failure_leaves_nothing), T(a_region_that_stays_can_be_used),
		T(the_end_waits_for_one_registration),
		T(the_end_waits_for_the_end_of_a_region),
		T(the_end_ends_regions_that_wait_for_theirs),
		T(a_flood_holds_up_nobody), T(what_waits_is_bounded),
		T(who_polls_sees_the_answer), T(all_at_once),
	};

	return cmocka_run_group_tests(tests, wire_group_setup,
				      wire_group_teardown);
}
