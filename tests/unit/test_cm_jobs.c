// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Commands of the connection manager: one that waits in the kernel holds up no verb and
 * no other file, the answers of a file come in order, a file is closed behind its
 * commands, and what waits is bounded. The guest hears once of a file with events.
 */
#include <rdma/rdma_user_cm.h>
#include <stdlib.h>

#include "core/event.h"
#include "tests/wire/wire.h"
#include "verbs/jobs.h"

#define LIMIT_MS 20000

static struct wire *w;
static struct ctx *c;

static int setup(void **state)
{
	struct xenvhca_request req;
	struct world *world;

	world_setup(state);
	world = *state;
	w = &world->a;
	c = &world->c;
	fake_cm_foreign(false, false);
	assert_int_equal(be_event_start(&w->dev), 0);
	/* Another one, that the event thread knows. */
	wire_good(c, XENVHCA_OP_ALLOC_CM, &req);
	assert_int_equal(wire_call(w, &req), 0);
	c->cm = w->rsp.u.handle.handle;
	wire_good_cm(c, RDMA_USER_CM_CMD_CREATE_ID, &req);
	assert_int_equal(wire_call(w, &req), 0);
	memcpy(&c->cm_id, w->rsp.u.cm_command.out, sizeof(c->cm_id));
	assert_int_equal(be_jobs_start(&w->dev), 0);
	return 0;
}

static int teardown(void **state)
{
	fake_cm_block(false);		/* a test that failed */
	be_jobs_stop(&w->dev);
	be_event_stop(&w->dev);
	return world_teardown(state);
}

static void put(struct xenvhca_request *req, uint16_t id)
{
	req->id = id;
	assert_int_equal(loop_put_request(w->loop, req), 0);
	wire_run(w);
}

static void put_command(uint32_t cmd, uint16_t id)
{
	struct xenvhca_request req;

	wire_good_cm(c, cmd, &req);
	put(&req, id);
}

/* The next answer, for which another thread may need a while. */
static int32_t any_answer(void)
{
	struct timespec ms = { .tv_nsec = 1000000 };
	int i;

	for (i = 0; i < LIMIT_MS; i++) {
		wire_run(w);
		if (loop_get_response(w->loop, &w->rsp))
			break;
		nanosleep(&ms, NULL);
	}
	assert_int_not_equal(i, LIMIT_MS);
	return w->rsp.status;
}

static int32_t answer(uint16_t id)
{
	int32_t rc = any_answer();

	assert_int_equal(w->rsp.id, id);
	return rc;
}

static bool answered(void)
{
	wire_run(w);
	return loop_get_response(w->loop, &w->rsp);
}

static void verbs_do_not_wait(void **state)
{
	struct xenvhca_request req;
	uint16_t i;

	(void)state;
	fake_cm_block(true);
	put_command(RDMA_USER_CM_CMD_BIND, 1);
	for (i = 2; i < 50; i++) {
		wire_good(c, i % 2 ? XENVHCA_OP_ALLOC_PD : XENVHCA_OP_ALLOC_CM,
			  &req);
		put(&req, i);
		assert_int_equal(answer(i), 0);
	}
	assert_false(answered());
	fake_cm_block(false);
	assert_int_equal(answer(1), 0);
}

static void a_file_closes_behind_its_commands(void **state)
{
	struct xenvhca_request req;

	(void)state;
	fake_cm_block(true);
	put_command(RDMA_USER_CM_CMD_CREATE_ID, 1);
	put_command(RDMA_USER_CM_CMD_BIND, 2);
	wire_good(c, XENVHCA_OP_DEALLOC_CM, &req);
	put(&req, 3);
	/* From now on nobody finds it, and nothing of it has gone. */
	put_command(RDMA_USER_CM_CMD_BIND, 4);
	assert_int_equal(answer(4), -2);
	put(&req, 5);
	assert_int_equal(answer(5), -2);
	assert_int_equal(w->dev.quota.used[BE_CM], 3);
	fake_cm_block(false);
	assert_int_equal(answer(1), 0);
	assert_int_equal(answer(2), 0);
	assert_int_equal(answer(3), 0);
	assert_int_equal(w->dev.quota.used[BE_CM], 2);
	assert_int_equal(fake_cm_files(), 3);
	assert_int_equal(fake_cm_ids(), 3);
}

static void what_waits_is_bounded(void **state)
{
	uint16_t i;

	(void)state;
	fake_cm_block(true);
	for (i = 0; i < XENVHCA_CM_SLOTS; i++)
		put_command(RDMA_USER_CM_CMD_NOTIFY, i);
	put_command(RDMA_USER_CM_CMD_NOTIFY, 100);
	assert_int_equal(answer(100), -16);
	fake_cm_block(false);
	for (i = 0; i < XENVHCA_CM_SLOTS; i++)
		assert_int_equal(answer(i), 0);
	put_command(RDMA_USER_CM_CMD_NOTIFY, 1);
	assert_int_equal(answer(1), 0);
}

static uint32_t open_file(void)
{
	struct xenvhca_request req;

	wire_good(c, XENVHCA_OP_ALLOC_CM, &req);
	put(&req, 90);
	assert_int_equal(answer(90), 0);
	return w->rsp.u.handle.handle;
}

static void put_to(uint32_t file, uint32_t cmd, uint16_t id)
{
	struct xenvhca_request req;

	wire_good_cm(c, cmd, &req);
	req.u.cm_command.cm = file;
	put(&req, id);
}

static void other_files_do_not_wait(void **state)
{
	uint32_t file = open_file();
	uint16_t i;

	(void)state;
	fake_cm_block_only(RDMA_USER_CM_CMD_BIND);
	for (i = 0; i < XENVHCA_CM_SLOTS - 1; i++)
		put_command(RDMA_USER_CM_CMD_BIND, i);
	for (i = 40; i < 50; i++) {
		put_to(file, RDMA_USER_CM_CMD_CREATE_ID, i);
		assert_int_equal(answer(i), 0);
	}
	fake_cm_block(false);
	for (i = 0; i < XENVHCA_CM_SLOTS - 1; i++)
		assert_int_equal(answer(i), 0);
}

static void put_migrate(uint32_t to, uint16_t id)
{
	struct xenvhca_request req;

	wire_good_cm(c, RDMA_USER_CM_CMD_MIGRATE_ID, &req);
	req.u.cm_command.from = c->cm;
	req.u.cm_command.cm = to;
	put(&req, id);
}

/* Nobody uses the file that an id leaves, until it has left. */
static void an_id_moves_behind_its_commands(void **state)
{
	uint32_t to = open_file();

	(void)state;
	fake_cm_block_only(RDMA_USER_CM_CMD_BIND);
	put_command(RDMA_USER_CM_CMD_BIND, 1);
	put_migrate(to, 2);
	put_to(to, RDMA_USER_CM_CMD_CREATE_ID, 3);
	assert_int_equal(answer(3), 0);
	assert_false(answered());
	fake_cm_block(false);
	assert_int_equal(answer(1), 0);
	assert_int_equal(answer(2), 0);
}

static void a_file_that_an_id_leaves_closes_behind_it(void **state)
{
	struct xenvhca_request req;
	uint32_t to = open_file();
	unsigned int i;

	(void)state;
	fake_cm_block_only(RDMA_USER_CM_CMD_MIGRATE_ID);
	put_migrate(to, 1);
	put_command(RDMA_USER_CM_CMD_BIND, 2);
	wire_good(c, XENVHCA_OP_DEALLOC_CM, &req);
	put(&req, 3);
	assert_false(answered());
	fake_cm_block(false);
	assert_int_equal(answer(1), 0);
	/* In whatever order: the id has gone, or the file, too. */
	put_to(to, RDMA_USER_CM_CMD_NOTIFY, 4);
	for (i = 0; i < 3; i++) {
		int32_t rc = any_answer();

		if (w->rsp.id == 2)
			assert_int_not_equal(rc, 0);
		else
			assert_int_equal(rc, 0);
	}
}

/* The worker ends while a command waits: that is not answered any more. */
static void the_end_waits_for_one_command(void **state)
{
	unsigned int before = fake_cm_commands(), i;

	(void)state;
	for (i = 0; i < XENVHCA_CM_SLOTS; i++)
		put_command(RDMA_USER_CM_CMD_NOTIFY, (uint16_t)i);
	be_jobs_stop(&w->dev);
	assert_in_range(fake_cm_commands(), before, before + XENVHCA_CM_SLOTS);
}

static bool told(struct xenvhca_event *ev, int limit_ms)
{
	struct timespec ms = { .tv_nsec = 1000000 };

	for (; limit_ms; limit_ms--) {
		if (loop_get_event(w->loop, ev))
			return true;
		nanosleep(&ms, NULL);
	}
	return false;
}

static uint16_t fetch(uint16_t id)
{
	put_command(RDMA_USER_CM_CMD_GET_EVENT, id);
	assert_int_equal(answer(id), 0);
	return w->rsp.u.cm_command.out_len;
}

static void a_guest_hears_of_events_once(void **state)
{
	struct xenvhca_event ev;
	uint16_t seq;

	(void)state;
	fake_cm_event(c->cm_id, 9);
	assert_true(told(&ev, LIMIT_MS));
	assert_int_equal(ev.type, XENVHCA_EVT_CM);
	assert_int_equal(ev.handle, c->cm);
	seq = ev.seq;
	fake_cm_event(c->cm_id, 9);
	assert_false(told(&ev, 50));
	assert_int_not_equal(fetch(1), 0);
	assert_int_equal(w->rsp.u.cm_command.events, 1);
	assert_int_equal(w->rsp.u.cm_command.seq, (uint16_t)(seq + 1));
	assert_int_not_equal(fetch(2), 0);
	assert_int_equal(w->rsp.u.cm_command.events, 0);
	assert_int_equal(fetch(3), 0);
	seq = w->rsp.u.cm_command.seq;
	assert_false(told(&ev, 50));
	fake_cm_event(c->cm_id, 9);
	assert_true(told(&ev, LIMIT_MS));
	assert_int_equal(ev.seq, (uint16_t)(seq + 1));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(verbs_do_not_wait), T(a_file_closes_behind_its_commands),
		T(what_waits_is_bounded), T(the_end_waits_for_one_command),
		T(a_guest_hears_of_events_once), T(other_files_do_not_wait),
		T(an_id_moves_behind_its_commands),
		T(a_file_that_an_id_leaves_closes_behind_it),
	};

	return cmocka_run_group_tests(tests, wire_group_setup,
				      wire_group_teardown);
}
