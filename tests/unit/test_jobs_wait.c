// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What may wait for the network is executed where nobody waits for it: a process that
 * asks for an address that nobody has, however often, holds up neither its own other
 * commands nor those of other processes. What such a command uses stays until it is done;
 * objects, processes and the device may end meanwhile; contexts take turns.
 */
#include <errno.h>
#include <rdma/ib_user_verbs.h>
#include <semaphore.h>

#include "core/ib_core.h"
#include "test_jobs.h"

#define AH	IB_USER_VERBS_CMD_CREATE_AH
#define MODIFY	IB_USER_VERBS_CMD_MODIFY_QP
#define DESTROY	IB_USER_VERBS_CMD_DESTROY_QP
#define MANY	55u			/* of one process: what the ring has room for */
#define WAITS	5u			/* job threads for what may wait */
#define RESET	0

static int teardown(void **state)
{
	fake_block(0);			/* a test that failed */
	be_jobs_stop(&w->dev);
	return world_teardown(state);
}

/* So many are in the kernel, and none by the command thread. */
static void await_blocked(unsigned int n)
{
	unsigned int by_us;

	while (fake_blocked(&by_us) < n) {
		assert_int_equal(by_us, 0);
		sched_yield();
	}
	assert_int_equal(by_us, 0);
}

static void put_good(const struct ctx *of, uint16_t op, uint16_t id)
{
	struct xenvhca_request req;

	assert_true(wire_good(of, op, &req));
	put(req, id);
}

static void put_modify(const struct ctx *of, uint32_t mask, uint8_t to,
		       uint16_t id)
{
	struct xenvhca_request req;

	assert_true(wire_good(of, XENVHCA_OP_MODIFY_QP, &req));
	req.u.modify_qp.attr.mask = mask;
	req.u.modify_qp.attr.qp_state = to;
	put(req, id);
}

/* Commands that ask nobody are answered at once. */
static void others_pass(const struct ctx *of)
{
	put_good(of, XENVHCA_OP_ALLOC_PD, 100);
	assert_int_equal(told(100), 0);
	put_good(of, XENVHCA_OP_QUERY_QP, 101);
	assert_int_equal(told(101), 0);
	put_good(of, XENVHCA_OP_REG_MR, 102);
	assert_int_equal(told(102), 0);
	put_good(of, XENVHCA_OP_ALLOC_UCONTEXT, 103);
	assert_int_equal(told(103), 0);
}

static void commands_pass_an_address_that_nobody_has(void **state)
{
	(void)state;
	fake_block(AH);
	put_good(c, XENVHCA_OP_CREATE_AH, 1);
	await_blocked(1);
	others_pass(other);
	others_pass(c);
	/* Another one's address is found meanwhile. */
	put_good(other, XENVHCA_OP_MODIFY_QP, 2);
	assert_int_equal(answer(2), 0);
	assert_false(answered());
	fake_block(0);
	assert_int_equal(answer(1), 0);
	assert_int_not_equal(w->rsp.u.handle.handle, 0);
}

static void commands_pass_a_connection_to_nobody(void **state)
{
	(void)state;
	fake_block(MODIFY);
	put_good(c, XENVHCA_OP_MODIFY_QP, 1);
	await_blocked(1);
	others_pass(other);
	others_pass(c);
	put_good(other, XENVHCA_OP_CREATE_AH, 2);
	assert_int_equal(answer(2), 0);
	assert_false(answered());
	fake_block(0);
	assert_int_equal(answer(1), 0);
}

static void one_process_does_not_have_all_lanes(void **state)
{
	unsigned int i;

	(void)state;
	fake_block(AH);
	for (i = 0; i < MANY; i++)
		put_good(c, XENVHCA_OP_CREATE_AH, (uint16_t)i);
	put_good(other, XENVHCA_OP_CREATE_AH, 120);
	await_blocked(2);
	put_good(other, XENVHCA_OP_ALLOC_PD, 121);
	assert_int_equal(told(121), 0);
	fake_block(0);
	for (i = 0; i < MANY + 1; i++) {
		await_answer();
		assert_int_equal(w->rsp.status, 0);
	}
}

static void others_connect_beside_many_of_one_process(void **state)
{
	unsigned int i, by_us;

	(void)state;
	fake_block(AH);
	for (i = 0; i < MANY; i++)
		put_good(c, XENVHCA_OP_CREATE_AH, (uint16_t)i);
	await_blocked(1);
	put_good(other, XENVHCA_OP_MODIFY_QP, 120);
	assert_int_equal(answer(120), 0);
	assert_int_equal(fake_blocked(&by_us), 1);
	fake_block(0);
	for (i = 0; i < MANY; i++)
		assert_int_equal(answer((uint16_t)i), 0);	/* in order */
}

static void what_it_uses_stays(void **state)
{
	struct ctx of = *c;

	(void)state;
	put_good(c, XENVHCA_OP_ALLOC_PD, 1);
	assert_int_equal(told(1), 0);
	of.pd = w->rsp.u.handle.handle;
	fake_block(AH);
	put_good(&of, XENVHCA_OP_CREATE_AH, 1);
	await_blocked(1);
	put_handle(c, XENVHCA_OP_DEALLOC_PD, of.pd, 2);
	assert_int_equal(told(2), -EBUSY);
	fake_block(0);
	assert_int_equal(answer(1), 0);
	put_handle(c, XENVHCA_OP_DESTROY_AH, w->rsp.u.handle.handle, 3);
	assert_int_equal(told(3), 0);
	put_handle(c, XENVHCA_OP_DEALLOC_PD, of.pd, 4);
	assert_int_equal(told(4), 0);
}

/* A process that was killed destroys what another thread of it had asked for. */
static void a_queue_pair_ends_behind_its_change(void **state)
{
	uint32_t n = w->dev.quota.used[BE_QP];

	(void)state;
	fake_block(MODIFY);
	put_good(c, XENVHCA_OP_MODIFY_QP, 1);
	await_blocked(1);
	put_handle(c, XENVHCA_OP_DESTROY_QP, c->qp, 2);
	assert_false(answered());
	others_pass(other);
	assert_false(answered());
	assert_int_equal(w->dev.quota.used[BE_QP], n);
	fake_block(0);
	assert_int_equal(answer(1), 0);
	assert_int_equal(answer(2), 0);
	assert_int_equal(w->dev.quota.used[BE_QP], n - 1);
}

/* Even what could be executed at once: to RESET behind to INIT. */
static void changes_come_in_order(void **state)
{
	const struct fake_obj *qp = fake_nth(FAKE_QP, 0);

	(void)state;
	fake_block(MODIFY);
	put_good(c, XENVHCA_OP_MODIFY_QP, 1);
	await_blocked(1);
	put_modify(c, IB_QP_STATE, RESET, 2);
	assert_false(answered());
	fake_block(0);
	assert_int_equal(answer(1), 0);
	assert_int_equal(answer(2), 0);
	assert_int_equal(qp->qp_state, RESET);
	/* Nobody waits any more. */
	put_modify(c, IB_QP_STATE, RESET, 3);
	assert_int_equal(told(3), 0);
}

static void a_context_ends_behind_what_waits(void **state)
{
	uint32_t ucs = w->dev.quota.used[BE_UCONTEXT];
	unsigned int i;

	(void)state;
	fake_block(AH);
	for (i = 0; i < 4; i++)
		put_good(c, XENVHCA_OP_CREATE_AH, (uint16_t)i);
	await_blocked(1);
	put_good(c, XENVHCA_OP_MODIFY_QP, 4);
	put_end(c, 5);
	/* What was not begun has no use any more. */
	for (i = 1; i < 5; i++)
		assert_int_equal(told((uint16_t)i), -ENOENT);
	assert_false(answered());
	put_good(c, XENVHCA_OP_CREATE_AH, 6);
	assert_int_equal(told(6), -ENOENT);
	others_pass(other);
	fake_block(0);
	assert_int_equal(answer(0), 0);
	assert_int_equal(answer(5), 0);
	/* One more: others_pass() has opened it. */
	assert_int_equal(w->dev.quota.used[BE_UCONTEXT], ucs);
}

static void the_device_ends_while_all_wait(void **state)
{
	unsigned int i;

	(void)state;
	fake_block(AH);
	for (i = 0; i < 10; i++) {
		put_good(i % 2 ? c : other, XENVHCA_OP_CREATE_AH, (uint16_t)i);
		put_good(i % 2 ? c : other, XENVHCA_OP_MODIFY_QP,
			 (uint16_t)(20 + i));
	}
	await_blocked(2);
	put_end(other, 40);
	stop_jobs_at_gate();
	assert_int_equal(w->dev.ctl->jobs, 0);
}

static void a_failure_leaves_nothing(void **state)
{
	static const int errors[] = { ETIMEDOUT, EHOSTUNREACH, ENOMEM };
	struct snap before;
	unsigned int i;

	world_snap(*state, &before);
	for (i = 0; i < COUNT(errors); i++) {
		fake_fail(AH, 1, errors[i]);
		put_good(c, XENVHCA_OP_CREATE_AH, 1);
		assert_int_not_equal(answer(1), 0);
		world_same(*state, &before, "nobody has the address");
		fake_fail(MODIFY, 1, errors[i]);
		put_good(c, XENVHCA_OP_MODIFY_QP, 1);
		assert_int_not_equal(answer(1), 0);
		world_same(*state, &before, "nobody is there");
	}
}

/* A job thread costs two turns of the scheduler: only what may wait has one. */
static void what_cannot_wait_stays_in_line(void **state)
{
	static const uint8_t groups[2][16] = {
		{ 0xff, 0x0e, [15] = 1 },
		{ [10] = 0xff, [11] = 0xff, [12] = 224, [15] = 1 },
	};
	struct xenvhca_request req;
	unsigned int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		assert_true(wire_good(c, XENVHCA_OP_CREATE_AH, &req));
		memcpy(req.u.create_ah.attr.dgid, groups[i], 16);
		put(req, 1);
		assert_int_equal(told(1), 0);
	}
	put_modify(c, IB_QP_STATE, 0, 2);
	assert_int_equal(told(2), 0);
	assert_true(wire_good(c, XENVHCA_OP_MODIFY_QP, &req));
	req.u.modify_qp.handle = c->ud;
	put(req, 3);
	assert_int_equal(told(3), 0);
	w->dev.ethernet = false;
	put_good(c, XENVHCA_OP_CREATE_AH, 4);
	assert_int_equal(told(4), 0);
	put_good(c, XENVHCA_OP_MODIFY_QP, 5);
	assert_int_equal(told(5), 0);
	w->dev.ethernet = true;
	assert_int_equal(w->dev.stats.cmd_lanes, 0);
}

/* A guest that has more requests than its ring is refused, not executed in line. */
static void what_waits_is_bounded(void **state)
{
	struct xenvhca_response rsp;
	struct xenvhca_request req;
	unsigned int i;

	(void)state;
	assert_true(wire_good(c, XENVHCA_OP_CREATE_AH, &req));
	fake_block(AH);
	for (i = 0; i < XENVHCA_MAX_ID; i++)
		assert_int_equal(be_dispatch(&w->dev, &req, &rsp),
				 BE_ELSEWHERE);
	await_blocked(1);
	assert_int_equal(be_dispatch(&w->dev, &req, &rsp), BE_ANSWERED);
	assert_int_equal(rsp.status, -EBUSY);
	fake_block(0);
	while (i)
		i -= be_dispatched(&w->dev, &rsp);
}

/* ---- sends of Soft-RoCE meanwhile ---- */

static struct xenvhca_request command;

static void *execute(void *arg)
{
	struct xenvhca_response rsp;

	(void)arg;
	assert_int_equal(be_dispatch(&w->dev, &command, &rsp), BE_ANSWERED);
	assert_int_equal(rsp.status, 0);
	return NULL;
}

static bool executed(uint32_t n)
{
	return __atomic_load_n(&loop_kick(w->loop)->done, __ATOMIC_ACQUIRE) == n;
}

static void put_send(uint32_t qp)
{
	const struct xenvhca_kick k = {
		.type = XENVHCA_KICK_SEND, .handle = qp,
	};

	loop_put_kick(w->loop, &k);
}

/* The command is in the kernel when the kick comes. */
static void nothing_is_sent_beside(uint32_t cmd)
{
	const struct timespec some = { .tv_nsec = 100000000 };
	pthread_t thread;
	unsigned int by_us;

	assert_int_equal(be_kick_start(&w->dev), 0);
	fake_block(cmd);
	assert_int_equal(pthread_create(&thread, NULL, execute, NULL), 0);
	while (!fake_blocked(&by_us))
		sched_yield();
	put_send(other->qp);
	nanosleep(&some, NULL);
	assert_true(executed(0));
	fake_block(0);
	pthread_join(thread, NULL);
	while (!executed(1))
		sched_yield();
	be_jobs_stop(&w->dev);
	be_kick_stop(&w->dev);
}

/* Soft-RoCE would execute the send beside the reset, on one queue pair. */
static void nothing_is_sent_while_it_is_reset(void **state)
{
	(void)state;
	assert_true(wire_good(c, XENVHCA_OP_MODIFY_QP, &command));
	command.u.modify_qp.attr.mask = IB_QP_STATE;
	nothing_is_sent_beside(MODIFY);
}

/* The kernel would not destroy it beside the send, and the guest would keep its memory. */
static void nothing_is_sent_while_it_is_destroyed(void **state)
{
	(void)state;
	command = wire_req(XENVHCA_OP_DESTROY_QP, c->uc);
	command.u.handle.handle = c->qp;
	nothing_is_sent_beside(DESTROY);
}

/* A change that waits for the network is no reset. */
static void what_waits_holds_up_no_send(void **state)
{
	(void)state;
	assert_int_equal(be_kick_start(&w->dev), 0);
	fake_block(MODIFY);
	put_good(c, XENVHCA_OP_MODIFY_QP, 1);
	await_blocked(1);
	put_send(other->qp);
	while (!executed(1))
		sched_yield();
	assert_false(answered());
	fake_block(0);
	assert_int_equal(answer(1), 0);
	be_jobs_stop(&w->dev);
	be_kick_stop(&w->dev);
}

/* ---- turns, of jobs that are our own ---- */

struct turn {
	struct be_job job;
	sem_t *gate;			/* NULL: it does not wait */
	unsigned int number;
};

static unsigned int begun[32], n_begun, n_ended;

static int turn_run(struct be_dev *dev, struct be_job *job)
{
	struct turn *t = (struct turn *)job;
	unsigned int at = __atomic_fetch_add(&n_begun, 1, __ATOMIC_SEQ_CST);

	(void)dev;
	__atomic_store_n(&begun[at], t->number, __ATOMIC_SEQ_CST);
	while (t->gate && sem_wait(t->gate))
		;
	return 0;
}

static int turn_end(const struct be_cmd *cmd, struct be_job *job)
{
	(void)cmd;
	(void)job;
	n_ended++;
	return 0;
}

static void turn_put(struct turn *t, unsigned int number, struct be_line *line,
		     sem_t *gate)
{
	struct be_uc *uc = (struct be_uc *)
		be_handle_get(w->dev.handles, c->uc, BE_UCONTEXT, NULL);

	*t = (struct turn){
		.job = { .uc = uc, .line = line, .run = turn_run,
			 .end = turn_end },
		.number = number, .gate = gate,
	};
	assert_true(be_jobs_put(&w->dev, &t->job));
}

static void await_begun(unsigned int n)
{
	while (__atomic_load_n(&n_begun, __ATOMIC_SEQ_CST) < n)
		sched_yield();
}

/*
 * Five contexts wait with three jobs each, when a sixth one and a region come: the region
 * passes, and the sixth has the first job thread that is free.
 */
static void contexts_take_turns(void **state)
{
	struct be_line line[WAITS + 1] = { 0 };
	struct turn job[3 * WAITS + 2];
	unsigned int at[COUNT(job)], i;
	sem_t gate;

	(void)state;
	n_begun = n_ended = 0;
	sem_init(&gate, 0, 0);
	for (i = 0; i < 3 * WAITS; i++)
		turn_put(&job[i], i, &line[i / 3], &gate);
	await_begun(WAITS);
	turn_put(&job[i], i, &line[WAITS], &gate);
	turn_put(&job[i + 1], i + 1, NULL, NULL);
	await_begun(WAITS + 1);
	assert_int_equal(begun[WAITS], i + 1);
	sem_post(&gate);
	await_begun(WAITS + 2);
	assert_int_equal(begun[WAITS + 1], i);
	for (i = 0; i < 3 * WAITS; i++)
		sem_post(&gate);
	while (n_ended < COUNT(job))
		wire_run(w);
	sem_destroy(&gate);
	/* Of each context in order. */
	for (i = 0; i < COUNT(job); i++)
		at[begun[i]] = i;
	for (i = 1; i < 3 * WAITS; i++)
		assert_true(i % 3 == 0 || at[i] > at[i - 1]);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, jobs_setup, teardown)
	const struct CMUnitTest tests[] = {
		T(commands_pass_an_address_that_nobody_has),
		T(commands_pass_a_connection_to_nobody),
		T(one_process_does_not_have_all_lanes),
		T(others_connect_beside_many_of_one_process),
		T(what_it_uses_stays), T(a_queue_pair_ends_behind_its_change),
		T(changes_come_in_order), T(a_context_ends_behind_what_waits),
		T(the_device_ends_while_all_wait), T(a_failure_leaves_nothing),
		T(what_cannot_wait_stays_in_line), T(what_waits_is_bounded),
		T(contexts_take_turns), T(nothing_is_sent_while_it_is_reset),
		T(nothing_is_sent_while_it_is_destroyed),
		T(what_waits_holds_up_no_send),
	};

	return cmocka_run_group_tests(tests, wire_group_setup,
				      wire_group_teardown);
}
