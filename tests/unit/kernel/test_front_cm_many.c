// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/files/cm*.c with two devices: addresses decide which an id is at, the wildcard is at
 * both, and devices come and go.
 */
#include "front_cm.h"

#include "copy/nodes.c"

u64 vhca_window_gfn(const struct vhca_window *w)
{
	return 0;
}

static void an_address_decides(void **state)
{
	u32 a = create(1), b = create(2), reuse = 1, events;
	struct rdma_ucm_set_option set = {
		.optval = (uintptr_t)&reuse, .optlen = sizeof(reuse), .id = b,
		.level = RDMA_OPTION_ID, .optname = RDMA_OPTION_ID_REUSEADDR,
	};
	struct rdma_ucm_event_resp ev;

	(void)state;
	assert_int_equal(be[0].ids, 2);	/* the first is asked what it thinks */
	assert_int_equal(bind_to(a, 0x0a090047, 7471), GOOD_BIND);
	assert_int_equal(command(&filp, SET_OPTION, &set, 0), GOOD(&set));
	assert_int_equal(bind_to(b, 0x0a090147, 7471), GOOD_BIND);
	assert_int_equal(be[0].ids, 1);
	assert_int_equal(be[1].ids, 1);
	assert_int_equal(listens(b), GOOD_LISTEN);
	assert_int_equal(be[1].listens, 1);
	assert_int_equal(be[0].listens, 0);
	/* Only the backend where it is speaks of it. */
	assert_int_equal(event_at(&filp, 0, b, 1, 9, &ev), NONE);
	assert_true(event_at(&filp, 1, b, 1, 9, &ev) > 0);
	assert_true(ev.uid == 2);
	assert_int_equal(bind_to(create(3), 0x0a090248, 1), -EADDRNOTAVAIL);
	assert_true(destroy(&filp, b, &events) > 0);
	assert_int_equal(be[1].ids, 0);
}

static void what_was_set_before_is_set_there(void **state)
{
	u32 id = create(1), reuse = 0x1234;
	struct rdma_ucm_set_option set = {
		.optval = (uintptr_t)&reuse, .optlen = sizeof(reuse), .id = id,
		.level = RDMA_OPTION_ID, .optname = RDMA_OPTION_ID_REUSEADDR,
	};

	(void)state;
	assert_int_equal(command(&filp, SET_OPTION, &set, 0), GOOD(&set));
	be[1].bind_status = -EACCES;
	assert_int_equal(bind_to(id, 0x0a090147, 80), -EACCES);
	assert_int_equal(be[1].n, 3);	/* CREATE_ID, SET_OPTION, BIND */
	be[1].bind_status = 0;
	assert_int_equal(bind_to(id, 0x0a090147, 7471), GOOD_BIND);
}

static void a_network_decides(void **state)
{
	(void)state;
	assert_int_equal(resolve(create(1), 0, 0x0a090105), GOOD_RESOLVE);
	assert_int_equal(be[1].got.cmd, RDMA_USER_CM_CMD_RESOLVE_IP);
	assert_int_equal(be[0].ids, 0);
	assert_int_equal(resolve(create(2), 0, 0x0a090005), GOOD_RESOLVE);
	assert_int_equal(be[0].ids, 1);
	/* Somewhere else: the first, as if the default route were there. */
	assert_int_equal(resolve(create(3), 0, 0x08080808), GOOD_RESOLVE);
	assert_int_equal(be[0].ids, 2);
	/* The source comes before the destination. */
	assert_int_equal(resolve(create(4), 0x0a090147, 0x0a090005),
			 GOOD_RESOLVE);
	assert_int_equal(be[0].ids, 2);
	assert_int_equal(be[1].ids, 2);
}

static void the_wildcard_is_at_each(void **state)
{
	u32 id = create(1), one, two;
	struct rdma_ucm_query_addr_resp addr = {};
	struct rdma_ucm_query query = { .response = (uintptr_t)&addr, .id = id };
	struct sockaddr_in *src = (void *)&addr.src_addr;
	struct rdma_ucm_event_resp ev;

	(void)state;
	assert_int_equal(bind_to(id, 0, 0), GOOD_BIND);
	/* One port for both. */
	assert_int_equal(((struct sockaddr_in *)(be[1].got.in + 8))->sin_port,
			 htons(4711));
	assert_int_equal(listens(id), GOOD_LISTEN);
	assert_int_equal(be[0].listens + be[1].listens, 2);
	/* To the process it is at no device. */
	assert_int_equal(command(&filp, QUERY, &query, sizeof(addr)), GOOD(&query));
	assert_true(!addr.node_guid && !addr.port_num && !addr.ibdev_index);
	assert_int_equal(src->sin_addr.s_addr, 0);
	assert_int_equal(src->sin_port, htons(4711));
	/* Both backends use one number for two requests. */
	assert_true(event_at(&filp, 0, id, 9, 4, &ev) > 0);
	one = ev.id;
	assert_true(event_at(&filp, 1, id, 9, 4, &ev) > 0);
	two = ev.id;
	assert_true(one != two);
	query.id = two;
	assert_int_equal(command(&filp, QUERY, &query, sizeof(addr)), GOOD(&query));
	assert_int_equal(addr.ibdev_index, 78);
}

static void the_wildcard_is_in_use_at_one(void **state)
{
	u32 id = create(1);

	(void)state;
	be[1].bind_status = -EADDRINUSE;
	assert_int_equal(bind_to(id, 0, 7471), -EADDRINUSE);
	assert_int_equal(be[0].ids + be[1].ids, 0);
	/* Where addresses are shared it may be our own. */
	be[1].dev.nets.nr = 0;
	part_of(&filp, 1)->nets.nr = 0;
	assert_int_equal(bind_to(id, 0, 7471), GOOD_BIND);
	assert_int_equal(be[0].ids, 1);
	assert_int_equal(be[1].ids, 0);
}

static void who_listens_at_the_wildcard_does_so_at_new_ones(void **state)
{
	u32 id = create(1);
	struct rdma_ucm_event_resp ev;

	(void)state;
	assert_int_equal(listens(id), GOOD_LISTEN);
	comes(1);
	work_runs();
	assert_int_equal(be[1].listens, 1);
	goes(&filp, 0);
	work_runs();
	assert_int_equal(vhca_cm_fops.poll(&filp, NULL), 0);
	assert_true(event_at(&filp, 1, id, 9, 4, &ev) > 0);
	goes(&other_filp, 0);
	work_runs();
}

static void who_was_at_a_device_that_goes_hears_of_it(void **state)
{
	struct rdma_ucm_event_resp ev;
	struct rdma_ucm_get_event in = { .response = (uintptr_t)&ev };
	u32 a = create(1), b = create(2), events;

	(void)state;
	assert_int_equal(bind_to(a, 0x0a090047, 7471), GOOD_BIND);
	assert_int_equal(bind_to(b, 0x0a090147, 7471), GOOD_BIND);
	goes(&filp, 0);
	work_runs();
	assert_true(vhca_cm_fops.poll(&filp, NULL) & EPOLLIN);
	assert_int_equal(command(&filp, GET_EVENT, &in, sizeof(ev)), GOOD(&in));
	assert_int_equal(ev.event, 11);
	assert_true(ev.uid == 1);
	assert_int_equal(ev.id, a);
	assert_int_equal(vhca_cm_fops.poll(&filp, NULL), 0);
	assert_int_equal(listens(a), -EINVAL);
	assert_true(destroy(&filp, a, &events) > 0);
	assert_int_equal(events, 1);
	assert_int_equal(listens(b), GOOD_LISTEN);
	goes(&other_filp, 0);
	work_runs();
}

static void both_have_their_turn(void **state)
{
	struct rdma_ucm_event_resp ev;
	struct rdma_ucm_get_event in = { .response = (uintptr_t)&ev };
	u32 id = create(1), n;

	(void)state;
	assert_int_equal(bind_to(id, 0, 7471), GOOD_BIND);
	be[0].events = be[1].events = true;	/* without an end */
	part_of(&filp, 0)->f.events = part_of(&filp, 1)->f.events = true;
	be[0].event.uid = be[1].event.uid = id;
	n = be[1].n;
	command(&filp, GET_EVENT, &in, sizeof(ev));
	command(&filp, GET_EVENT, &in, sizeof(ev));
	assert_int_equal(be[1].n, n + 1);
}

static void another_namespace_has_what_is_its_own(void **state)
{
	struct file f;
	struct rdma_ucm_create_id in = { .uid = 1, .ps = RDMA_PS_TCP };
	u32 resp;

	(void)state;
	in.response = (uintptr_t)&resp;
	dev_net = &here;
	proxy.net_ns = &elsewhere;
	assert_int_equal(vhca_cm_fops.open(NULL, &f), -ENODEV);
	dev_net = NULL;			/* shared, as by default */
	opened(&f);
	assert_int_equal(command(&f, CREATE_ID, &in, 4), GOOD(&in));
	vhca_cm_fops.release(NULL, &f);
}

static char *node_ip(struct vhca_store *l, const char *node)
{
	return strdup("10.9.0.71/24 nonsense 2001:db8::71/64 1.2.3.4/33 10.1.1.1");
}

static void nets_are_read(void **state)
{
	const struct vhca_store_ops ops = { .read = node_ip };
	struct vhca_store l = { .ops = &ops };
	struct vhca_nets nets;

	(void)state;
	vhca_read_nets(&l, &nets);
	assert_int_equal(nets.nr, 3);
	assert_memory_equal(nets.net[0].addr + 10, "\xff\xff\x0a\x09\x00\x47", 6);
	assert_int_equal(nets.net[0].prefix, 96 + 24);
	assert_memory_equal(nets.net[1].addr, "\x20\x01\x0d\xb8", 4);
	assert_int_equal(nets.net[1].prefix, 64);
	assert_int_equal(nets.net[2].prefix, 128);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define T2(f) cmocka_unit_test_setup_teardown(f, setup_two, teardown)
	const struct CMUnitTest tests[] = {
		T2(an_address_decides),
		T2(what_was_set_before_is_set_there),
		T2(a_network_decides),
		T2(the_wildcard_is_at_each),
		T2(the_wildcard_is_in_use_at_one),
		T(who_listens_at_the_wildcard_does_so_at_new_ones),
		T2(who_was_at_a_device_that_goes_hears_of_it),
		T2(both_have_their_turn),
		T(another_namespace_has_what_is_its_own),
		cmocka_unit_test(nets_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
