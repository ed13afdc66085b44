// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/files/cm_*.c: what a process writes and what a backend may answer. Lengths and
 * errors are those of the kernel's own ucma.c; what comes back to the process as uid is
 * one of its own, whatever the backend sends; statements about events are taken in
 * their order.
 */
#include "front_cm.h"

static void no_address_goes_to_the_backend(void **state)
{
	struct rdma_ucm_create_id sent;
	u64 uid = 0x7f0012345678ull;
	u32 id = create(uid);

	(void)state;
	memcpy(&sent, be[0].got.in, sizeof(sent));
	assert_true(sent.uid == id);
	assert_true(sent.response == 0);
	assert_int_equal(be[0].file, 1);
}

static void an_event_has_a_uid_of_the_process(void **state)
{
	struct rdma_ucm_event_resp ev;
	u32 id = create(0x7f0012345678ull), other = create(0x66);

	(void)state;
	assert_true(event(&filp, id, 1, &ev) > 0);
	assert_true(ev.uid == 0x7f0012345678ull);
	assert_int_equal(ev.id, id);
	/* One that the backend made up, or that is of another file, is none. */
	assert_int_equal(event(&filp, 6, 1, &ev), NONE);
	assert_int_equal(event(&filp, 0x7f0012345678ull, 1, &ev), NONE);
	assert_int_equal(event(&filp, ~0ull, 1, &ev), NONE);
	assert_int_equal(event(&other_filp, id, 1, &ev), NONE);
	assert_true(ev.uid == 0);
	assert_true(event(&filp, other, 1, &ev) > 0);
	assert_true(ev.uid == 0x66);
	/* Too short to be an event. */
	be[0].out_len = 100;
	assert_int_equal(event(&filp, id, 1, &ev), NONE);
}

static void a_uid_ends_with_its_id(void **state)
{
	struct rdma_ucm_create_id_resp resp;
	struct rdma_ucm_event_resp ev;
	u32 id = create(0x7f0012345678ull), events;
	struct rdma_ucm_join_mcast join = {
		.id = id, .uid = 0x1234, .response = (uintptr_t)&resp,
	};

	(void)state;
	assert_int_equal(command(&filp, JOIN_MCAST, &join, 4), GOOD(&join));
	assert_true(event(&filp, resp.id, 9, &ev) > 0);
	assert_true(ev.uid == 0x1234);
	assert_int_equal(ev.id, id);
	assert_int_equal(destroy(&filp, resp.id, &events), -ENOENT);
	be[0].status = -EINTR;
	assert_int_equal(destroy(&filp, id, &events), -EINTR);
	be[0].status = 0;
	assert_true(event(&filp, id, 3, &ev) > 0);
	assert_true(destroy(&filp, id, &events) > 0);
	assert_int_equal(events, 2);
	assert_int_equal(event(&filp, id, 3, &ev), NONE);
	assert_int_equal(event(&filp, resp.id, 3, &ev), NONE);
}

/* Or rdma_destroy_id() would wait for those that the process never got. */
static void the_process_has_as_many_events_as_it_got(void **state)
{
	struct rdma_ucm_event_resp ev;
	u32 id = create(0x77), events;

	(void)state;
	assert_true(event(&filp, id, 1, &ev) > 0);
	be[0].status = -EINTR;		/* it was fetched, and who did was killed */
	assert_int_equal(event(&filp, id, 1, &ev), -EINTR);
	be[0].status = 0;
	assert_true(destroy(&filp, id, &events) > 0);
	assert_int_equal(events, 1);
}

static void an_accept_gives_the_uid(void **state)
{
	struct rdma_ucm_event_resp ev;
	u32 id = create(0x11), new;
	struct rdma_ucm_accept in = { .uid = 0x55 };

	(void)state;
	assert_true(event_at(&filp, 0, id, 9, 4, &ev) > 0);
	assert_true(ev.uid == 0x11);
	assert_true(ev.id != id && ev.id != 9);
	in.id = new = ev.id;
	assert_int_equal(command(&filp, ACCEPT, &in, 0), GOOD(&in));
	assert_int_equal(vhca_cm_u32(be[0].got.in, be[0].got.op->at_id), 9);
	assert_true(event(&filp, new, 9, &ev) > 0);
	assert_true(ev.uid == 0);	/* not valid: as it was */
	in.conn_param.valid = 1;
	be[0].status = -EINVAL;
	assert_int_equal(command(&filp, ACCEPT, &in, 0), -EINVAL);
	be[0].status = 0;
	assert_int_equal(command(&filp, ACCEPT, &in, 0), GOOD(&in));
	assert_true(event(&filp, new, 9, &ev) > 0);
	assert_true(ev.uid == 0x55);
	/* Without ECE, as old programs send it. */
	assert_int_equal(command_len(&filp, RDMA_USER_CM_CMD_ACCEPT, &in, 288,
				     0), 8 + 288);
	assert_int_equal(command_len(&filp, RDMA_USER_CM_CMD_ACCEPT, &in, 280,
				     0), -EINVAL);
}

static void an_id_moves_with_its_uid(void **state)
{
	struct rdma_ucm_migrate_resp resp;
	struct rdma_ucm_event_resp ev;
	u32 id = create(0x77), events;
	struct rdma_ucm_migrate_id in = {
		.id = id, .fd = 6, .response = (uintptr_t)&resp,
	};

	(void)state;
	be[0].status = -EINVAL;
	assert_int_equal(command(&other_filp, MIGRATE_ID, &in, 4), -EINVAL);
	be[0].status = 0;
	assert_true(event(&filp, id, 3, &ev) > 0);
	assert_int_equal(command(&other_filp, MIGRATE_ID, &in, 4), GOOD(&in));
	assert_int_equal(resp.events_reported, 1);
	assert_int_equal(be[0].got.from, 1);
	assert_int_equal(be[0].file, 2);
	assert_int_equal(be[0].got.in[offsetof(struct rdma_ucm_migrate_id, fd)], 0);
	assert_int_equal(event(&filp, id, 3, &ev), NONE);
	assert_true(event(&other_filp, id, 3, &ev) > 0);
	assert_true(ev.uid == 0x77);
	assert_int_equal(destroy(&filp, id, &events), -EINVAL);
	in.fd = 9;
	assert_int_equal(command(&other_filp, MIGRATE_ID, &in, 4), -ENOENT);
}

/* To the file where it is: natively nothing moves. */
static void an_id_moves_to_where_it_is(void **state)
{
	struct rdma_ucm_migrate_resp resp;
	struct rdma_ucm_event_resp ev;
	u32 id = create(0x77), n;
	struct rdma_ucm_migrate_id in = {
		.id = id, .fd = 6, .response = (uintptr_t)&resp,
	};

	(void)state;
	n = be[0].n;
	assert_int_equal(command(&filp, MIGRATE_ID, &in, 4), GOOD(&in));
	assert_int_equal(be[0].n, n);
	assert_true(event(&filp, id, 3, &ev) > 0);
}

/* The other file waits for its backend's answer, and this process is killed. */
static void waiting_for_the_other_file_is_killable(void **state)
{
	struct rdma_ucm_migrate_id in = { .id = 3, .fd = 6 };
	struct vhca_cm *a = filp.private_data, *b = other_filp.private_data;
	struct vhca_cm *second = a > b ? a : b;

	(void)state;
	second->lock.held = true;
	assert_int_equal(command(&other_filp, MIGRATE_ID, &in, 4), -EINTR);
	assert_int_equal(be[0].n, 0);
	second->lock.held = false;
	assert_false(a->lock.held || b->lock.held);
}

static void lengths_are_those_of_the_kernel(void **state)
{
	struct rdma_ucm_query_addr_resp addr = {};
	u32 id = create(0x77), n;
	struct rdma_ucm_query query = { .response = (uintptr_t)&addr, .id = id };
	struct rdma_ucm_set_option set = {
		.optval = (uintptr_t)&addr, .optlen = sizeof(addr), .id = id,
	};

	(void)state;
	n = be[0].n;
	assert_int_equal(vhca_cm_write(&filp, (char *)&query, 7, NULL), -EINVAL);
	assert_int_equal(command_len(&filp, 100, &query, 16, 0), -EINVAL);
	assert_int_equal(command_len(&filp, RDMA_USER_CM_CMD_GET_OPTION, &query,
				     16, 0), -ENOSYS);
	assert_int_equal(command(&filp, QUERY, &query, 271), -ENOSPC);
	assert_int_equal(be[0].n, n);
	assert_int_equal(command(&filp, QUERY, &query, 65535), GOOD(&query));
	assert_int_equal(be[0].got.out_len, sizeof(addr));
	assert_int_equal(addr.ibdev_index, 77);
	assert_int_equal(command(&filp, QUERY, &query, 272), GOOD(&query));
	assert_int_equal(command(&filp, SET_OPTION, &set, 0), GOOD(&set));
	assert_int_equal(be[0].got.in_len, sizeof(set) + sizeof(addr));
	n = be[0].n;
	set.optlen = 457;
	assert_int_equal(command(&filp, SET_OPTION, &set, 0), -EINVAL);
	set.optlen = ~0u;
	assert_int_equal(command(&filp, SET_OPTION, &set, 0), -EINVAL);
	assert_int_equal(be[0].n, n);
}

/* ---- what the backend says of events ---- */

static struct vhca_file file;

/* A backend that says without end that it has events wakes a process once. */
static void a_flood_is_no_news(void **state)
{
	unsigned int news = 0;
	u16 seq;

	(void)state;
	memset(&file, 0, sizeof(file));
	for (seq = 1; seq < 1000; seq++)
		news += vhca_file_notify(&file, seq, true);
	assert_int_equal(news, 1);
	/* The process asks, hears that there is none, and is woken by the next one. */
	assert_false(vhca_file_notify(&file, seq++, false));
	assert_true(vhca_file_notify(&file, seq, true));
}

/* It says that there are events, and gives none, or those of others. */
static void who_does_not_wait_asks_once(void **state)
{
	struct rdma_ucm_event_resp ev;
	u32 id = create(0x77);

	(void)state;
	signals = false;
	be[0].n = 0;
	be[0].status = -EAGAIN;
	assert_int_equal(event(&filp, id, 3, &ev), NONE);
	assert_int_equal(be[0].n, 1);
	be[0].status = 0;
	be[0].events = true;
	be[0].n = 0;
	assert_int_equal(event(&filp, 6, 3, &ev), NONE);
	assert_in_range(be[0].n, 1, 100);
}

static void the_latest_statement_holds(void **state)
{
	(void)state;
	memset(&file, 0, sizeof(file));
	assert_true(vhca_file_notify(&file, 2, true));
	assert_false(vhca_file_notify(&file, 4, false));
	assert_false(file.events);
	assert_false(vhca_file_notify(&file, 3, true));	/* it was late */
	assert_false(file.events);
	assert_false(vhca_file_notify(&file, 4, true));	/* twice */
	assert_true(vhca_file_notify(&file, 5, true));
	assert_true(file.events);
	/* The numbers wrap. */
	file.seq = 0xffff;
	assert_false(vhca_file_notify(&file, 0, false));
	assert_false(file.events);
}

static void a_lost_statement_is_asked_for(void **state)
{
	(void)state;
	memset(&file, 0, sizeof(file));
	vhca_file_overflow(&file);
	assert_true(file.events);
	file_ask(&file);
	vhca_file_notify(&file, 1, false);
	assert_false(file.events);
	/* It was lost while a command was under way: that may know nothing. */
	file_ask(&file);
	vhca_file_overflow(&file);
	vhca_file_notify(&file, 2, false);
	assert_true(file.events);
	file_ask(&file);
	vhca_file_notify(&file, 3, false);
	assert_false(file.events);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(no_address_goes_to_the_backend),
		T(an_event_has_a_uid_of_the_process),
		T(a_uid_ends_with_its_id), T(an_accept_gives_the_uid),
		T(an_id_moves_with_its_uid),
		T(waiting_for_the_other_file_is_killable),
		T(an_id_moves_to_where_it_is),
		T(the_process_has_as_many_events_as_it_got),
		T(lengths_are_those_of_the_kernel),
		T(a_flood_is_no_news), T(who_does_not_wait_asks_once),
		T(the_latest_statement_holds),
		T(a_lost_statement_is_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
