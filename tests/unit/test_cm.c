// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Commands of the connection manager: each reaches the kernel as it is, answers are
 * in the guest's terms, and everything that the kernel makes for a guest is charged.
 */
#include <netinet/in.h>

#include "clock.h"
#include "tests/unit/test_cm.h"

static void a_file_is_one_of_the_kernel(void **state)
{
	uint32_t second = file();

	(void)state;
	assert_int_equal(fake_cm_files(), 2);
	assert_int_equal(g->dev.quota.used[BE_CM], 2);
	create(RDMA_PS_TCP, 1);
	assert_int_equal(guest_handle(g, XENVHCA_OP_DEALLOC_CM, cm), 0);
	assert_int_equal(fake_cm_files(), 1);
	assert_int_equal(fake_cm_ids(), 0);
	assert_int_equal(guest_handle(g, XENVHCA_OP_DEALLOC_CM, cm), -ENOENT);
	assert_int_equal(guest_handle(g, XENVHCA_OP_DEALLOC_CM, second), 0);
	g->dev.quota.max[BE_CM] = 1;
	file();
	assert_int_equal(guest_cmd(g, XENVHCA_OP_ALLOC_CM), -ENOMEM);
}

static void without_a_connection_manager(void **state)
{
	fake_hca.no_cm = true;
	be_dev_close(&g->dev);
	assert_int_equal(be_dev_open(&g->dev), 0);
	assert_int_equal(g->dev.info.flags & XENVHCA_INFO_CM, 0);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_ALLOC_CM), -EOPNOTSUPP);
	(void)state;
}

static void an_answer_is_in_the_guests_terms(void **state)
{
	uint32_t id = create(RDMA_PS_TCP, 7);
	struct rdma_ucm_init_qp_attr init = { .id = id, .qp_state = 1 };
	struct rdma_ucm_query query = { .id = id };
	struct rdma_ucm_query_addr_resp addr;
	struct ib_uverbs_qp_attr attr;

	(void)state;
	assert_int_equal(bind_none(id), 0);
	assert_int_equal(command(RDMA_USER_CM_CMD_QUERY, &query, sizeof(query),
				 0), 0);
	memcpy(&addr, out, sizeof(addr));
	assert_true(addr.node_guid == g->dev.info.node_guid);
	assert_int_equal(addr.port_num, 1);
	assert_int_equal(g->rsp.u.cm_command.out_len, sizeof(addr));
	query.option = RDMA_USER_CM_QUERY_PATH;
	assert_int_equal(command(RDMA_USER_CM_CMD_QUERY, &query, sizeof(query),
				 0), 0);
	assert_int_equal(g->rsp.u.cm_command.out_len,
			 sizeof(struct rdma_ucm_query_path_resp));
	assert_int_equal(command(RDMA_USER_CM_CMD_INIT_QP_ATTR, &init,
				 sizeof(init), 0), 0);
	memcpy(&attr, out, sizeof(attr));
	assert_int_equal(attr.port_num, 1);
}

/* The guest has port 2 of the HCA, which it knows as port 1. */
static void port_numbers_are_translated(void **state)
{
	struct rdma_ucm_event_resp ev;
	struct rdma_ucm_query query;
	uint32_t id;

	(void)state;
	fake_cm_foreign(false, true);
	g->dev.port = 2;
	id = create(RDMA_PS_UDP, 7);
	assert_int_equal(bind_none(id), 0);
	query = (struct rdma_ucm_query){ .id = id };
	assert_int_equal(command(RDMA_USER_CM_CMD_QUERY_ROUTE, &query,
				 sizeof(query), 0), 0);
	assert_int_equal(((struct rdma_ucm_query_route_resp *)out)->port_num, 1);
	fake_cm_event_port(id, ESTABLISHED, 2);
	assert_true(event(&ev));
	assert_int_equal(ev.param.ud.ah_attr.port_num, 1);
	/* Of a connection it is an octet of private data. */
	id = create(RDMA_PS_TCP, 8);
	fake_cm_event_port(id, ESTABLISHED, 2);
	assert_true(event(&ev));
	assert_int_equal(ev.param.ud.ah_attr.port_num, 2);
}

static int init_qp(uint32_t id, struct ib_uverbs_qp_attr *attr)
{
	struct rdma_ucm_init_qp_attr init = { .id = id, .qp_state = 1 };
	int err = command(RDMA_USER_CM_CMD_INIT_QP_ATTR, &init, sizeof(init),
			  0);

	memcpy(attr, out, sizeof(*attr));
	return err;
}

/* The indices that the guest passes on to MODIFY_QP are those of its own table. */
static void p_keys_are_where_the_guest_has_them(void **state)
{
	struct be_addr *a = &g->dev.addr;
	uint32_t id = create(RDMA_PS_TCP, 7);
	struct ib_uverbs_qp_attr attr;

	(void)state;
	fake_cm_bind(id);
	fake_pkey(2, 0x8002);
	fake_pkey(3, 0x8001);
	fake_cm_pkeys(3, 2);
	assert_int_equal(init_qp(id, &attr), 0);
	assert_int_equal(attr.pkey_index, 3);
	a->n_pkeys = (unsigned int)host_pkeys_parse("0x8001 0x8002", a->pkey);
	assert_int_equal(init_qp(id, &attr), 0);
	assert_int_equal(attr.pkey_index, 0);
	assert_int_equal(attr.alt_pkey_index, 1);
	a->n_pkeys = 1;
	assert_int_equal(init_qp(id, &attr), -ENOENT);
	fake_cm_pkeys(2, 3);
	assert_int_equal(init_qp(id, &attr), -ENOENT);
	a->n_pkeys = 0;
	fake_cm_pkeys(0, 0);
}

static void groups_are_bounded_as_attachments(void **state)
{
	struct rdma_ucm_join_mcast join = { .id = create(RDMA_PS_UDP, 1) };
	struct rdma_ucm_destroy_id leave;
	uint32_t i;

	(void)state;
	g->dev.ethernet = true;
	g->dev.quota.max[BE_MCAST] = 3;
	fake_cm_bind(join.id);
	for (i = 0; i < 3; i++)
		assert_int_equal(command(RDMA_USER_CM_CMD_JOIN_MCAST, &join,
					 sizeof(join), 0), 0);
	memcpy(&leave.id, out, sizeof(leave.id));
	leave.reserved = 0;
	leave.response = 0;
	assert_int_equal(command(RDMA_USER_CM_CMD_JOIN_MCAST, &join,
				 sizeof(join), 0), -ENOMEM);
	create(RDMA_PS_UDP, 2);
	assert_int_equal(command(RDMA_USER_CM_CMD_LEAVE_MCAST, &leave,
				 sizeof(leave), 0), 0);
	assert_int_equal(command(RDMA_USER_CM_CMD_JOIN_MCAST, &join,
				 sizeof(join), 0), 0);
	assert_int_equal(destroy(join.id), 0);
	join.id = create(RDMA_PS_UDP, 1);
	fake_cm_bind(join.id);
	assert_int_equal(command(RDMA_USER_CM_CMD_JOIN_MCAST, &join,
				 sizeof(join), 0), 0);
}

static int join_at(uint32_t id, const void *addr, size_t len)
{
	struct rdma_ucm_join_mcast join = { .id = id, .addr_size = (uint16_t)len };

	memcpy(&join.addr, addr, sizeof(join.addr));
	return command(RDMA_USER_CM_CMD_JOIN_MCAST, &join, sizeof(join), 0);
}

/* The kernel leaves by the address, and would free the other one of two. */
static void an_id_joins_a_group_once(void **state)
{
	union {
		struct sockaddr_storage any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		uint8_t octets[sizeof(struct sockaddr_storage)];
	} a = { .in6 = { .sin6_family = AF_INET6, .sin6_addr.s6_addr = { 0xff, 2, [15] = 9 } } };
	uint32_t id = create(RDMA_PS_UDP, 1), other = create(RDMA_PS_UDP, 2);
	struct rdma_ucm_join_ip_mcast ip = { .id = id, .addr = a.in6 };
	struct rdma_ucm_destroy_id leave = { .reserved = 0 };

	(void)state;
	g->dev.ethernet = true;
	g->dev.quota.max[BE_MCAST] = 10;
	fake_cm_bind(id);
	fake_cm_bind(other);
	assert_int_equal(join_at(id, &a, sizeof(a.in6)), 0);
	memcpy(&leave.id, out, sizeof(leave.id));
	assert_int_equal(join_at(id, &a, sizeof(a.in6)), -EINVAL);
	assert_int_equal(command(RDMA_USER_CM_CMD_JOIN_IP_MCAST, &ip, sizeof(ip), 0), -EINVAL);
	assert_int_equal(join_at(other, &a, sizeof(a.in6)), 0);
	a.octets[sizeof(a.in6)] = 1;		/* no part of it */
	assert_int_equal(join_at(id, &a, sizeof(a.in6)), -EINVAL);
	a.in6.sin6_addr.s6_addr[15]++;
	assert_int_equal(join_at(id, &a, sizeof(a.in6)), 0);
	assert_int_equal(command(RDMA_USER_CM_CMD_LEAVE_MCAST, &leave, sizeof(leave), 0), 0);
	assert_int_equal(command(RDMA_USER_CM_CMD_JOIN_IP_MCAST, &ip, sizeof(ip), 0), 0);
	memset(&a, 0, sizeof(a));
	a.in.sin_family = AF_INET;
	assert_int_equal(join_at(id, &a, sizeof(a.in)), 0);
	a.octets[sizeof(a.in)] = 1;
	assert_int_equal(join_at(id, &a, sizeof(a.in)), -EINVAL);
	memset(&a, 0, sizeof(a));
	a.any.ss_family = AF_IB;
	assert_int_equal(join_at(id, &a, 48), 0);
	assert_int_equal(join_at(id, &a, 48), -EINVAL);
	a.octets[47] = 1;
	assert_int_equal(join_at(id, &a, 48), 0);
}

/* The kernel takes their Q_Key from a table that an Ethernet port does not have. */
static void ids_of_ipoib_are_of_infiniband(void **state)
{
	struct rdma_ucm_create_id in = { .ps = RDMA_PS_IPOIB };

	(void)state;
	assert_true(g->dev.ethernet);
	assert_int_equal(command(RDMA_USER_CM_CMD_CREATE_ID, &in, sizeof(in), 0), -EINVAL);
	fake_hca.infiniband = true;
	g->dev.ethernet = false;
	assert_int_equal(command(RDMA_USER_CM_CMD_CREATE_ID, &in, sizeof(in), 0), 0);
}

/* Each time: the kernel takes the rest of the group from the interface's, too. */
static void nobody_joins_while_the_interface_does(void **state)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct sockaddr_storage a = { .ss_family = AF_INET };
	uint32_t id;

	(void)state;
	fake_hca.infiniband = true;
	g->dev.ethernet = false;
	id = create(RDMA_PS_IPOIB, 1);
	fake_cm_bind(id);
	fake_cm_broadcast(0);
	assert_int_equal(join_at(id, &a, sizeof(in)), -EADDRNOTAVAIL);
	fake_cm_broadcast(0xb1b);
	assert_int_equal(join_at(id, &a, sizeof(in)), 0);
	fake_cm_broadcast(0);
	in.sin_addr.s_addr = 1;
	memcpy(&a, &in, sizeof(in));
	assert_int_equal(join_at(id, &a, sizeof(in)), -EADDRNOTAVAIL);
	/* Others have a Q_Key of their own. */
	id = create(RDMA_PS_UDP, 2);
	fake_cm_bind(id);
	assert_int_equal(join_at(id, &a, sizeof(in)), 0);
}

/* How long a command that asks the subnet manager takes, when its bucket is empty. */
static uint64_t ask_ns(uint32_t cmd, const void *in, size_t len)
{
	struct vl_bucket *b = &g->dev.quota.cm;
	uint64_t begin = vl_now_ns();

	b->rate = 50;
	vl_bucket_charge(b, begin, 50);	/* what it holds */
	b->tokens_ns = 0;
	assert_int_equal(command(cmd, in, len, 0), 0);
	return vl_now_ns() - begin;
}

static void the_subnet_manager_is_asked_slowly(void **state)
{
	struct rdma_ucm_resolve_route route = { .timeout_ms = 1000 };
	struct rdma_ucm_join_mcast join = {};

	(void)state;
	route.id = join.id = create(RDMA_PS_UDP, 1);
	fake_cm_bind(route.id);
	g->dev.ethernet = true;			/* nobody is asked */
	assert_true(ask_ns(RDMA_USER_CM_CMD_RESOLVE_ROUTE, &route,
			   sizeof(route)) < 19 * VL_MSEC_NS);
	g->dev.ethernet = false;
	assert_true(ask_ns(RDMA_USER_CM_CMD_RESOLVE_ROUTE, &route,
			   sizeof(route)) >= 20 * VL_MSEC_NS);
	assert_true(ask_ns(RDMA_USER_CM_CMD_JOIN_MCAST, &join,
			   sizeof(join)) >= 20 * VL_MSEC_NS);
	/* It is told of the end, too. */
	assert_true(g->dev.quota.cm.tokens_ns < 0);
}

static void ids_are_charged(void **state)
{
	struct rdma_ucm_create_id in = { .ps = RDMA_PS_TCP };
	struct rdma_ucm_join_mcast join = {};
	struct rdma_ucm_event_resp ev;
	uint32_t id, i;

	(void)state;
	g->dev.quota.max_cm_ids = 3;
	id = create(RDMA_PS_TCP, 1);
	assert_int_equal(listen_on(id, 4), 0);
	join.id = id;
	fake_cm_bind(id);
	assert_int_equal(command(RDMA_USER_CM_CMD_JOIN_MCAST, &join,
				 sizeof(join), 0), 0);
	create(RDMA_PS_TCP, 2);
	assert_int_equal(command(RDMA_USER_CM_CMD_CREATE_ID, &in, sizeof(in),
				 0), -ENOMEM);
	assert_int_equal(command(RDMA_USER_CM_CMD_JOIN_MCAST, &join,
				 sizeof(join), 0), -ENOMEM);
	/* What a peer asks for counts as well: turned away, unseen. */
	i = fake_cm_ids();
	fake_cm_request(id);
	assert_false(event(&ev));
	assert_int_equal(fake_cm_ids(), i);
	/* The group goes with the id that joined it. */
	assert_int_equal(destroy(id), 0);
	create(RDMA_PS_TCP, 3);
	create(RDMA_PS_TCP, 4);
	assert_int_equal(command(RDMA_USER_CM_CMD_CREATE_ID, &in, sizeof(in),
				 0), -ENOMEM);
}

static void waiting_requests_are_bounded(void **state)
{
	uint32_t i, sum = 0, id[64];

	(void)state;
	g->dev.quota.max_cm_ids = 400;
	id[0] = create(RDMA_PS_TCP, 1);
	assert_int_equal(listen_on(id[0], 5), 0);
	assert_int_equal(fake_cm_backlog(), 5);
	for (i = 0; i < 64; i++) {
		id[i] = i ? create(RDMA_PS_TCP, 1) : id[0];
		assert_int_equal(listen_on(id[i], i % 2 ? 0 : 100000), 0);
		assert_in_range(fake_cm_backlog(), 1, 1024);
		sum += fake_cm_backlog();
	}
	assert_true(sum <= 400 + 64);
	for (i = 1; i < 64; i++)
		assert_int_equal(destroy(id[i]), 0);
	assert_int_equal(listen_on(id[0], 0), 0);
	assert_int_equal(fake_cm_backlog(), 101);
}

static void an_id_belongs_to_its_file(void **state)
{
	uint32_t id = create(RDMA_PS_TCP, 1), first = cm;
	struct rdma_ucm_migrate_id in = { .id = id };

	(void)state;
	assert_int_equal(destroy(12345), -ENOENT);
	cm = file();
	assert_int_equal(destroy(id), -EINVAL);
	assert_int_equal(command(RDMA_USER_CM_CMD_MIGRATE_ID, &in, sizeof(in),
				 first), 0);
	assert_int_equal(destroy(id), 0);
	id = in.id = create(RDMA_PS_TCP, 1);
	/* from has to be a file, and the one that has it. */
	assert_int_equal(command(RDMA_USER_CM_CMD_MIGRATE_ID, &in, sizeof(in),
				 0), -ENOENT);
	assert_int_equal(command(RDMA_USER_CM_CMD_MIGRATE_ID, &in, sizeof(in),
				 first), -EINVAL);
	assert_int_equal(destroy(id), 0);
}

static void answers_tell_of_events(void **state)
{
	struct rdma_ucm_event_resp ev;
	uint32_t id = create(RDMA_PS_TCP, 7);
	uint16_t seq = g->rsp.u.cm_command.seq;

	(void)state;
	assert_int_equal(g->rsp.u.cm_command.events, 0);
	fake_cm_event(id, ESTABLISHED);
	fake_cm_event(id, ESTABLISHED);
	assert_true(event(&ev));
	assert_true(ev.uid == 7);
	assert_int_equal(g->rsp.u.cm_command.events, 1);
	assert_int_equal((uint16_t)(g->rsp.u.cm_command.seq - seq), 1);
	assert_true(event(&ev));
	assert_int_equal(g->rsp.u.cm_command.events, 0);
	assert_false(event(&ev));
	/* The end of an id takes its events along. */
	fake_cm_event(id, ESTABLISHED);
	assert_int_equal(destroy(id), 0);
	assert_int_equal(g->rsp.u.cm_command.events, 0);
}

static void an_option_is_passed_whole(void **state)
{
	uint32_t id = create(RDMA_PS_IB, 1);
	struct {
		struct rdma_ucm_set_option set;
		uint8_t path[6 * sizeof(struct ib_path_rec_data)];
	} in = { .set = { .id = id, .level = RDMA_OPTION_IB,
			  .optlen = sizeof(in.path) } };
	uint32_t before;

	(void)state;
	assert_int_equal(command(RDMA_USER_CM_CMD_SET_OPTION, &in, sizeof(in),
				 0), -EINVAL);	/* of no device, as natively */
	fake_cm_bind(id);
	before = fake_cm_commands();
	memset(in.path, 0xa7, sizeof(in.path));
	assert_int_equal(command(RDMA_USER_CM_CMD_SET_OPTION, &in, sizeof(in),
				 0), 0);
	assert_int_equal(fake_cm_option(), 0xa7);
	in.set.optlen--;
	assert_int_equal(command(RDMA_USER_CM_CMD_SET_OPTION, &in, sizeof(in),
				 0), -EINVAL);
	in.set.optlen = UINT32_MAX;
	assert_int_equal(command(RDMA_USER_CM_CMD_SET_OPTION, &in,
				 sizeof(in.set), 0), -EINVAL);
	assert_int_equal(fake_cm_commands(), before + 2);
}

/* A failure of the kernel leaves nothing behind, and is the guest's answer. */
static void errors_of_the_kernel_are_passed_on(void **state)
{
	struct rdma_ucm_create_id in = { .ps = RDMA_PS_TCP };
	uint32_t id, n;

	(void)state;
	in.ps = 1;
	assert_int_equal(command(RDMA_USER_CM_CMD_CREATE_ID, &in, sizeof(in),
				 0), -EINVAL);
	id = create(RDMA_PS_TCP, 1);
	fake_cm_fail(1, -EADDRINUSE);
	assert_int_equal(bind_none(id), -EADDRINUSE);
	n = fake_cm_ids();
	fake_cm_fail(1, -ENOMEM);
	assert_int_equal(destroy(id), -ENOMEM);
	assert_int_equal(fake_cm_ids(), n);
	assert_int_equal(destroy(id), 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_file_is_one_of_the_kernel),
		T(without_a_connection_manager),
		T(an_answer_is_in_the_guests_terms),
		T(port_numbers_are_translated),
		T(p_keys_are_where_the_guest_has_them),
		T(groups_are_bounded_as_attachments),
		T(an_id_joins_a_group_once),
		T(ids_of_ipoib_are_of_infiniband),
		T(nobody_joins_while_the_interface_does),
		T(the_subnet_manager_is_asked_slowly),
		T(ids_are_charged),
		T(waiting_requests_are_bounded),
		T(an_id_belongs_to_its_file),
		T(answers_tell_of_events),
		T(an_option_is_passed_whole),
		T(errors_of_the_kernel_are_passed_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
