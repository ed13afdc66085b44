// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What commands cost a whole worker: sleeps and notifications of its command thread while
 * it spins, and the hypercalls for grants; and what ends its sleep beside commands.
 * Everything of the worker runs but libxenevtchn, the store to xenstore and the dialogue
 * with the agent; below is the fake kernel. docs/results/performance.md has the numbers.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <stdio.h>
#include <unistd.h>
#include "carrier/open_xen.h"
#include "tests/fake/fake_store.h"
#include "tests/fake/fake_xen.h"
#include "core/ib_core.h"
#include "tests/wire/wire.h"
#include "promised.h"
#include "uverbs/uverbs.h"
#include "worker/confine.h"
#include "worker/worker.h"

#define RINGS	20000u			/* pages of the guest */
#define LISTS	20100u			/* of references */
#define BIG	16384u			/* pages of 64 MiB, from here on: */
#define BIG_AT	64u
#define RUNS	9
#define HANGS_S	120			/* the program ends */

static struct xenvhca_front_ring front;
static uint16_t next_id;
static struct xenvhca_response rsp;
static struct fake_calls cost;		/* of the last command */
static pthread_t thread;
static bool running;
static bool spinning;			/* until it is false again */
static bool polls;			/* the command ring, now */
static struct be_options opt = { .domid = FAKE_XEN_DOMID, .helper_fd = -1 };

/* ---- the worker ---- */
/* Not in this process, which has other threads and makes sockets. */
int __wrap_be_confine(void);
int __wrap_be_confine(void)
{
	return 0;
}

int __wrap_be_confine_paths(const char *run_dir);
int __wrap_be_confine_paths(const char *run_dir)
{
	(void)run_dir;
	return 0;
}

int __wrap_vl_caps_retain(uint32_t retain);
int __wrap_vl_caps_retain(uint32_t retain)
{
	(void)retain;
	return 0;
}

/* When it polls depends on time (test_spin.c); here it does as it is told. */
bool __wrap_be_spin_begin(struct be_spin *s);
bool __wrap_be_spin_begin(struct be_spin *s)
{
	(void)s;
	return __atomic_load_n(&spinning, __ATOMIC_SEQ_CST) &&
	       pthread_equal(pthread_self(), thread);
}

bool __wrap_be_spin_turn(struct be_spin *s);
bool __wrap_be_spin_turn(struct be_spin *s)
{
	(void)s;
	__atomic_store_n(&polls, true, __ATOMIC_SEQ_CST);
	sched_yield();
	return __atomic_load_n(&spinning, __ATOMIC_SEQ_CST);
}

void __wrap_be_spin_end(struct be_spin *s, bool found);
void __wrap_be_spin_end(struct be_spin *s, bool found)
{
	(void)s;
	(void)found;
	__atomic_store_n(&polls, false, __ATOMIC_SEQ_CST);
}

static void *worker(void *arg)
{
	(void)arg;
	fake_calls_here();
	return (void *)(intptr_t)be_worker_main(&opt, fake_store_open,
						be_xen_open);
}

/* ---- the frontend ---- */
static struct fake_calls minus(struct fake_calls a, const struct fake_calls *b)
{
	a.grant_hypercalls -= b->grant_hypercalls;
	a.sleeps -= b->sleeps;
	a.notifies -= b->notifies;
	return a;
}

/* The worker has done all that it had to, and waits. */
static struct fake_calls idle(void)
{
	if (!__atomic_load_n(&spinning, __ATOMIC_SEQ_CST))
		return fake_calls_asleep();
	while (!__atomic_load_n(&polls, __ATOMIC_SEQ_CST))
		sched_yield();
	return fake_calls_now();
}

static bool is_polling(void)
{
	return __atomic_load_n(&polls, __ATOMIC_SEQ_CST);
}

/*
 * Sends one command; the worker sleeps or polls before and after. Who polls is not
 * notified, nor does it notify a process that polls.
 */
static int call(struct xenvhca_request *req)
{
	bool polling = is_polling();
	struct fake_calls before = polling ? fake_calls_now() :
				   fake_calls_asleep();
	int notify;

	req->id = next_id++ % XENVHCA_MAX_ID;
	*RING_GET_REQUEST(&front, front.req_prod_pvt) = *req;
	front.req_prod_pvt++;
	RING_PUSH_REQUESTS_AND_CHECK_NOTIFY(&front, notify);
	assert_int_equal(notify, !polling);
	if (notify)
		fake_xen_notify(1);
	while (__atomic_load_n(&front.sring->rsp_prod, __ATOMIC_ACQUIRE) ==
	       front.rsp_cons)
		sched_yield();
	rsp = *RING_GET_RESPONSE(&front, front.rsp_cons);
	front.rsp_cons++;
	if (!spinning)
		front.sring->rsp_event = front.rsp_cons + 1;
	assert_int_equal(rsp.id, req->id);
	cost = minus(idle(), &before);
	return rsp.status;
}

static uint32_t make(struct xenvhca_request *req)
{
	uint32_t handle;

	assert_int_equal(call(req), 0);
	memcpy(&handle, rsp.u.raw, sizeof(handle));
	return handle;
}

static void begin(struct ctx *c)
{
	struct xenvhca_request req;

	memset(fake_xen_page(RINGS), 0, 18 * XENVHCA_PAGE_SIZE);
	SHARED_RING_INIT((struct xenvhca_sring *)fake_xen_page(RINGS));
	FRONT_RING_INIT(&front, (struct xenvhca_sring *)fake_xen_page(RINGS),
			(size_t)XENVHCA_PAGE_SIZE << FAKE_LINK_ORDER);
	fake_store_begin(RINGS);
	polls = false;
	opt.helper_fd = fake_xen_helper();
	assert_int_equal(pthread_create(&thread, NULL, worker, NULL), 0);
	running = true;
	while (!fake_store_connected())
		sched_yield();
	memset(c, 0, sizeof(*c));
	c->mlx5 = fake_hca.driver_id != 14;
	assert_true(wire_good(c, XENVHCA_OP_ALLOC_UCONTEXT, &req));
	c->uc = make(&req);
	assert_true(wire_good(c, XENVHCA_OP_ALLOC_PD, &req));
	c->pd = make(&req);
	assert_true(wire_good(c, XENVHCA_OP_CREATE_CQ, &req));
	c->cq = make(&req);
}

/* After each test, also one that failed. */
static int worker_end(void **state)
{
	void *rc = NULL;

	(void)state;
	__atomic_store_n(&spinning, false, __ATOMIC_SEQ_CST);
	fake_xen_time_stands(false);
	if (!running)
		return 0;
	fake_store_end();
	pthread_join(thread, &rc);
	running = false;
	fake_be_rxe();
	return (intptr_t)rc == BE_EXIT_OK ? 0 : -1;
}

static void end(const struct ctx *c)
{
	struct xenvhca_request req;

	assert_true(wire_good(c, XENVHCA_OP_DEALLOC_UCONTEXT, &req));
	call(&req);
	assert_int_equal(worker_end(NULL), 0);
	assert_int_equal(fake_live_all(), 0);
	assert_int_equal(fake_violations(), 0);
}

/* Makes and ends it RUNS times. Returns the most hypercalls for grants to make it. */
static unsigned int made_and_ended(const struct ctx *c,
				   const struct xenvhca_request *r, uint16_t op)
{
	struct xenvhca_request req = *r, destroy;
	unsigned int i, most = 0;

	assert_true(wire_good(c, op, &destroy));
	for (i = 0; i < RUNS; i++) {
		destroy.u.handle.handle = make(&req);
		if (cost.grant_hypercalls > most)
			most = cost.grant_hypercalls;
		assert_int_equal(call(&destroy), 0);
	}
	return most;
}

static void of(const struct ctx *c, uint16_t op, uint16_t end_op, uint32_t flags)
{
	struct xenvhca_request req;

	assert_true(wire_good(c, op, &req));
	req.flags = flags;
	made_and_ended(c, &req, end_op);
}

/*
 * The first command still finds it asleep. Then the coarse clock stands: a worker whose
 * time for a pass is over leaves the ring for a moment, and call() would find it neither
 * asleep nor polling.
 */
static void spin(const struct ctx *c)
{
	struct xenvhca_request req;

	fake_xen_time_stands(true);
	__atomic_store_n(&spinning, true, __ATOMIC_SEQ_CST);
	assert_true(wire_good(c, XENVHCA_OP_QUERY_PORT, &req));
	assert_int_equal(call(&req), 0);
}

static void sleep_again(void)
{
	__atomic_store_n(&spinning, false, __ATOMIC_SEQ_CST);
	fake_calls_asleep();
	__atomic_store_n(&polls, false, __ATOMIC_SEQ_CST);
	fake_xen_time_stands(false);
}

/* No notification in either direction: call() looks at that of the guest. */
static void of_a_worker_that_spins(void **state)
{
	struct fake_calls before, all;
	struct ctx c;

	(void)state;
	begin(&c);
	spin(&c);
	before = fake_calls_now();
	of(&c, XENVHCA_OP_ALLOC_PD, XENVHCA_OP_DEALLOC_PD, 0);
	of(&c, XENVHCA_OP_CREATE_CQ, XENVHCA_OP_DESTROY_CQ, XENVHCA_REQ_RANGES);
	of(&c, XENVHCA_OP_CREATE_QP, XENVHCA_OP_DESTROY_QP, XENVHCA_REQ_RANGES);
	all = minus(fake_calls_now(), &before);
	promised("sleeps of a worker that spins, in 54 commands", all.sleeps);
	promised("notifications by a worker that spins, in 54 commands",
		 all.notifies);
	sleep_again();
	end(&c);
}

/* 64 MiB: 16 pages of references, each of which stands in all of a list. */
static void big(const struct ctx *c, struct xenvhca_request *req)
{
	struct xenvhca_pages *p = &req->u.reg_mr.pages;
	uint32_t i, *list = fake_xen_page(LISTS);

	*p = (struct xenvhca_pages){ .nr_pages = BIG, .level = 2,
				     .gref = { LOOP_REF(LISTS + 16) } };
	for (i = 0; i < BIG; i++)
		list[i] = LOOP_REF(BIG_AT + i);
	memset(list + BIG, 0, XENVHCA_PAGE_SIZE);
	for (i = 0; i < BIG / XENVHCA_GREFS_PER_PAGE; i++)
		list[BIG + i] = LOOP_REF(LISTS + i);
	req->u.reg_mr.pd = c->pd;
	req->u.reg_mr.iova = 0x7f0000000000ull;
	req->u.reg_mr.page_offset = 0;
	req->u.reg_mr.length = (uint64_t)BIG * XENVHCA_PAGE_SIZE;
}

static void regions(const struct ctx *c, const char *hca)
{
	struct xenvhca_request req;
	char row[64];

	assert_true(wire_good(c, XENVHCA_OP_REG_MR, &req));
	big(c, &req);
	snprintf(row, sizeof(row), "hypercalls for grants: reg_mr 64 MiB (%s, PV)",
		 hca);
	promised(row, made_and_ended(c, &req, XENVHCA_OP_DEREG_MR));
}

static void of_regions(void **state)
{
	struct ctx c;

	(void)state;
	begin(&c);
	regions(&c, "Soft-RoCE");
	end(&c);
	fake_be_mlx5();
	begin(&c);
	regions(&c, "mlx5");
	end(&c);
}

/* The file of statistics says so within some seconds. */
static bool published(const char *what)
{
	char cmd[BE_RUN_MAX + 128];

	snprintf(cmd, sizeof(cmd), "for i in $(seq 50); do "
		 "grep -qs '%s' %s/5-0.stats && exit; sleep 0.1; done; exit 1",
		 what, opt.run_dir);
	return !system(cmd);
}

/* It sleeps until a command comes; what else it has to hear of is said to it. */
static void who_sleeps_hears_of_others(void **state)
{
	struct xenvhca_kick_page *kick = fake_xen_page(RINGS + 17);
	void *rc = NULL;
	struct ctx c;

	(void)state;
	begin(&c);
	assert_true(published("\"state\":\"Connected\""));
	assert_true(published("\"cmds\":3,"));
	fake_calls_asleep();
	__atomic_store_n(&kick->prod, XENVHCA_KICK_ENTRIES + 1,
			 __ATOMIC_SEQ_CST);
	fake_xen_notify(3);
	pthread_join(thread, &rc);
	running = false;
	assert_int_equal((intptr_t)rc, BE_EXIT_FAULT);
	assert_int_equal(fake_live_all(), 0);
}

/* What it polls is not left readable: only the next second wakes it. */
static void who_sleeps_wakes_once_a_second(void **state)
{
	struct fake_calls before, all;
	struct ctx c;

	(void)state;
	begin(&c);
	assert_true(published("\"cmds\":3,"));
	before = fake_calls_asleep();
	usleep(2500000);
	all = fake_calls_asleep();
	assert_in_range(minus(all, &before).sleeps, 1, 4);
	end(&c);
}

/* Signals, too: one asks for statistics, which no counter would, one to stop. */
static void who_sleeps_hears_of_signals(void **state)
{
	char path[BE_RUN_MAX + 16];
	void *rc = NULL;
	struct ctx c;

	(void)state;
	snprintf(path, sizeof(path), "%s/5-0.stats", opt.run_dir);
	begin(&c);
	assert_true(published("\"cmds\":3,"));
	fake_calls_asleep();
	assert_int_equal(unlink(path), 0);
	assert_int_equal(kill(getpid(), SIGUSR1), 0);
	assert_true(published("\"cmds\":3,"));
	fake_calls_asleep();
	assert_int_equal(kill(getpid(), SIGTERM), 0);
	pthread_join(thread, &rc);	/* the frontend does not close */
	running = false;
	assert_int_equal((intptr_t)rc, BE_EXIT_OK);
	assert_int_equal(fake_live_all(), 0);
}

/* In a driver domain only nodes that are gone tell of the end of a guest. */
static void who_waits_hears_of_its_guests_end(void **state)
{
	void *rc = NULL;

	(void)state;
	fake_store_begin(RINGS);
	fake_store_waits();
	opt.helper_fd = fake_xen_helper();
	assert_int_equal(pthread_create(&thread, NULL, worker, NULL), 0);
	running = true;
	while (!fake_store_offered())
		sched_yield();
	fake_store_gone();
	alarm(HANGS_S);
	pthread_join(thread, &rc);
	alarm(0);
	running = false;
	assert_int_equal((intptr_t)rc, BE_EXIT_OK);
	assert_int_equal(fake_live_all(), 0);
}

static int setup(void **state)
{
	sigset_t set;

	(void)state;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);	/* as in each thread of a worker */
	be_log_level = BE_ERR;
	snprintf(opt.run_dir, sizeof(opt.run_dir), "/tmp/vhca-counts-XXXXXX");
	if (!mkdtemp(opt.run_dir) || fake_store_install() || fake_xen_install())
		return -1;
	return fake_install();
}

static int teardown(void **state)
{
	char cmd[BE_RUN_MAX + 16];

	(void)state;
	fake_remove();
	fake_xen_remove();
	fake_store_remove();
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", opt.run_dir);
	return system(cmd);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(of_a_worker_that_spins, worker_end),
		cmocka_unit_test_teardown(of_regions, worker_end),
		cmocka_unit_test_teardown(who_waits_hears_of_its_guests_end,
					  worker_end),
		cmocka_unit_test_teardown(who_sleeps_wakes_once_a_second,
					  worker_end),
		cmocka_unit_test_teardown(who_sleeps_hears_of_others, worker_end),
		cmocka_unit_test_teardown(who_sleeps_hears_of_signals, worker_end),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
