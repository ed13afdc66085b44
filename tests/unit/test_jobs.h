/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What the tests of the job threads send, and how they wait for the answer: as a command thread
 * that sleeps until it is woken.
 */
#ifndef TEST_JOBS_H
#define TEST_JOBS_H

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>
#include "verbs/jobs.h"
#include "tests/wire/wire.h"
#include "core/wake.h"

#define LIMIT_MS	20000

static struct wire *w;
static struct ctx *c, *other;

static int jobs_setup(void **state)
{
	struct world *world;

	world_setup(state);
	world = *state;
	w = &world->a;
	c = &world->c;
	other = &world->other;
	assert_int_equal(be_jobs_start(&w->dev), 0);
	return 0;
}

/* Opens it when the other thread sleeps. */
static void *open_gate(void *tid)
{
	char path[64], what = 'R';
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", *(pid_t *)tid);
	while (what != 'S') {
		sched_yield();
		f = fopen(path, "r");
		assert_non_null(f);
		assert_int_equal(fscanf(f, "%*d (%*[^)]) %c", &what), 1);
		fclose(f);
	}
	fake_block(0);
	return NULL;
}

/* The end of the job threads: what is in the kernel goes on when the end waits for it. */
static void stop_jobs_at_gate(void)
{
	pid_t tid = gettid();
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, open_gate, &tid), 0);
	be_jobs_stop(&w->dev);
	pthread_join(thread, NULL);
}

static void put(struct xenvhca_request req, uint16_t id)
{
	req.id = id;
	assert_int_equal(loop_put_request(w->loop, &req), 0);
	wire_run(w);
}

static void put_handle(const struct ctx *of, uint16_t op, uint32_t handle,
		       uint16_t id)
{
	struct xenvhca_request req = wire_req(op, of->uc);

	req.u.handle.handle = handle;
	put(req, id);
}

static void put_end(const struct ctx *of, uint16_t id)
{
	put(wire_req(XENVHCA_OP_DEALLOC_UCONTEXT, of->uc), id);
}

static bool answered(void)
{
	wire_run(w);
	return loop_get_response(w->loop, &w->rsp);
}

/* The next answer, as by a command thread that sleeps until it is woken. */
static void await_answer(void)
{
	struct pollfd p = { .fd = w->dev.wake_fd, .events = POLLIN };

	while (!answered()) {
		assert_int_equal(poll(&p, 1, LIMIT_MS), 1);
		be_wake_clear(p.fd);
	}
}

static int32_t answer(uint16_t id)
{
	await_answer();
	assert_int_equal(w->rsp.id, id);
	return w->rsp.status;
}

/* One that is there at once. */
static int32_t told(uint16_t id)
{
	assert_true(answered());
	assert_int_equal(w->rsp.id, id);
	return w->rsp.status;
}

#endif
