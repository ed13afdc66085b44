// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Commands of the connection manager: each reaches the kernel as it is, answers are
 * in the guest's terms, and everything that the kernel makes for a guest is charged.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <rdma/rdma_user_cm.h>
#include <string.h>

#include "tests/fake/fake_cm.h"
#include "tests/fake/guest.h"
#include "verbs/cm.h"

#define ADDR_RESOLVED	0
#define ADDR_ERROR	1
#define CONNECT_REQUEST	4
#define ESTABLISHED	9

static struct guest *g;
static uint8_t out[VHCA_CM_MAX_OUT];	/* of the last command */
static uint32_t cm;

static uint32_t file(void)
{
	assert_int_equal(guest_cmd(g, XENVHCA_OP_ALLOC_CM), 0);
	return g->rsp.u.handle.handle;
}

static int setup(void **state)
{
	guest_setup(state);
	g = *state;
	fake_cm_foreign(false, false);
	cm = file();
	return 0;
}

static int teardown(void **state)
{
	int rc = guest_teardown(state);

	assert_int_equal(fake_cm_files(), 0);
	assert_int_equal(fake_cm_ids(), 0);
	return rc;
}

/* A command as a frontend sends it; the answer is in out. */
static int command(uint32_t cmd, const void *in, size_t len, uint32_t from)
{
	struct xenvhca_cm_command_req *r = &g->req.u.cm_command;
	const struct vhca_cm_op *op;
	const uint8_t *p = in;
	int err;

	op = vhca_cm_op(cmd, &err);
	assert_non_null(op);
	r->cm = cm;
	r->cmd = cmd;
	r->in_len = (uint16_t)len;
	r->out_len = op->out;
	r->from = from;
	g->req.in_len = vhca_cm_more(r->in_len, sizeof(r->in));
	g->req.out_len = vhca_cm_more(op->out, XENVHCA_CM_OUT);
	memcpy(r->in, p, len - g->req.in_len);
	memcpy(g->req.udata, p + sizeof(r->in), g->req.in_len);
	err = guest_cmd(g, XENVHCA_OP_CM_COMMAND);
	memcpy(out, g->rsp.u.cm_command.out, XENVHCA_CM_OUT);
	memcpy(out + XENVHCA_CM_OUT, g->rsp.udata, XENVHCA_UDATA_SIZE);
	return err;
}

static uint32_t create(uint16_t ps, uint64_t uid)
{
	struct rdma_ucm_create_id in = { .ps = ps, .uid = uid };
	uint32_t id;

	assert_int_equal(command(RDMA_USER_CM_CMD_CREATE_ID, &in, sizeof(in),
				 0), 0);
	memcpy(&id, out, sizeof(id));
	return id;
}

static int destroy(uint32_t id)
{
	struct rdma_ucm_destroy_id in = { .id = id };

	return command(RDMA_USER_CM_CMD_DESTROY_ID, &in, sizeof(in), 0);
}

static int bind_none(uint32_t id)
{
	struct rdma_ucm_bind in = { .id = id, .addr_size = 16 };

	return command(RDMA_USER_CM_CMD_BIND, &in, sizeof(in), 0);
}

static int listen_on(uint32_t id, uint32_t backlog)
{
	struct rdma_ucm_listen in = { .id = id, .backlog = backlog };

	return command(RDMA_USER_CM_CMD_LISTEN, &in, sizeof(in), 0);
}

/* False: there is none. */
static bool event(struct rdma_ucm_event_resp *ev)
{
	struct rdma_ucm_get_event in = {};

	assert_int_equal(command(RDMA_USER_CM_CMD_GET_EVENT, &in, sizeof(in),
				 0), 0);
	memcpy(ev, out, sizeof(*ev));
	return g->rsp.u.cm_command.out_len;
}

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

static void an_address_of_another_hca_is_refused(void **state)
{
	struct rdma_ucm_event_resp ev;
	uint32_t id = create(RDMA_PS_TCP, 7), other;

	(void)state;
	fake_cm_foreign(true, false);
	assert_int_equal(bind_none(id), -ENODEV);
	assert_int_equal(listen_on(id, 1), -ENODEV);
	assert_int_equal(fake_cm_listening(), 0);
	assert_int_equal(destroy(id), 0);
	other = create(RDMA_PS_TCP, 8);
	fake_cm_bind(other);
	fake_cm_event(other, ADDR_RESOLVED);
	assert_true(event(&ev));
	assert_int_equal(ev.event, ADDR_ERROR);
	assert_int_equal((int)ev.status, -ENODEV);
	assert_int_equal(bind_none(other), -ENODEV);
	fake_cm_foreign(false, true);
	other = create(RDMA_PS_TCP, 9);
	assert_int_equal(bind_none(other), -ENODEV);
}

static void a_request_from_another_hca_is_turned_away(void **state)
{
	struct rdma_ucm_event_resp ev;
	uint32_t id = create(RDMA_PS_TCP, 7), before;

	(void)state;
	assert_int_equal(listen_on(id, 4), 0);
	before = fake_cm_ids();
	fake_cm_foreign(true, false);
	fake_cm_request(id);
	assert_false(event(&ev));
	assert_int_equal(fake_cm_ids(), before);
	fake_cm_foreign(false, false);
	fake_cm_request(id);
	assert_true(event(&ev));
	assert_int_equal(ev.event, CONNECT_REQUEST);
	assert_true(ev.uid == 7);
	assert_int_equal(destroy(ev.id), 0);
	assert_int_equal(fake_cm_ids(), before);
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
	} in = { .set = { .id = id, .optlen = sizeof(in.path) } };
	uint32_t before = fake_cm_commands();

	(void)state;
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
	assert_int_equal(fake_cm_commands(), before + 1);
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

/* ---- a vhca with addresses of its own ---- */

#define OWN4	"10.9.0.71"
#define OWN6	"2001:db8::71"

static void own_addresses(void)
{
	struct be_addr *a = &g->dev.addr;

	a->n_ips = host_addrs_parse(OWN4 "/24 " OWN6 "/64", a->ip);
	assert_int_equal(a->n_ips, 2);
}

static socklen_t name(void *at, const char *text, uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };

	if (inet_pton(AF_INET, text, &in.sin_addr) == 1) {
		in.sin_port = htons(port);
		memcpy(at, &in, sizeof(in));
		return sizeof(in);
	}
	assert_int_equal(inet_pton(AF_INET6, text, &in6.sin6_addr), 1);
	in6.sin6_port = htons(port);
	memcpy(at, &in6, sizeof(in6));
	return sizeof(in6);
}

/* Is that what the kernel is asked for? */
static void assert_name(const void *at, const char *text, uint16_t port)
{
	struct sockaddr_storage want = {};
	socklen_t len = name(&want, text, port);

	assert_memory_equal(at, &want, len);
}

static int bind_to(const char *text, uint16_t port)
{
	struct rdma_ucm_bind b = { .id = create(RDMA_PS_TCP, 1) };
	struct rdma_ucm_bind_ip ip = { .id = b.id };
	int err;

	b.addr_size = (uint16_t)name(&b.addr, text, port);
	err = command(RDMA_USER_CM_CMD_BIND, &b, sizeof(b), 0);
	memcpy(&ip.addr, &b.addr, sizeof(ip.addr));
	ip.id = create(RDMA_PS_TCP, 2);
	assert_int_equal(command(RDMA_USER_CM_CMD_BIND_IP, &ip, sizeof(ip), 0),
			 err);
	return err;
}

static void a_guest_binds_to_its_own_addresses(void **state)
{
	struct rdma_ucm_bind b;

	(void)state;
	assert_int_equal(bind_to("10.9.0.1", 7), 0);	/* shared */
	own_addresses();
	fake_cm_last(RDMA_USER_CM_CMD_BIND, &b, sizeof(b));
	assert_int_equal(bind_to("10.9.0.1", 7), -EADDRNOTAVAIL);
	assert_int_equal(bind_to("10.9.0.72", 7), -EADDRNOTAVAIL);
	assert_int_equal(bind_to("127.0.0.1", 7), -EADDRNOTAVAIL);
	assert_int_equal(bind_to("2001:db8::72", 7), -EADDRNOTAVAIL);
	assert_false(fake_cm_last(RDMA_USER_CM_CMD_BIND, &b, sizeof(b)));
	assert_int_equal(bind_to(OWN4, 7), 0);
	assert_int_equal(bind_to(OWN6, 7), 0);
	assert_int_equal(bind_to("::ffff:" OWN4, 7), 0);
}

static void its_wildcard_is_its_own_address(void **state)
{
	struct rdma_ucm_bind_ip ip;
	struct rdma_ucm_bind b;

	(void)state;
	own_addresses();
	assert_int_equal(bind_to("0.0.0.0", 7471), 0);
	assert_true(fake_cm_last(RDMA_USER_CM_CMD_BIND, &b, sizeof(b)));
	assert_name(&b.addr, OWN4, 7471);
	assert_int_equal(b.addr_size, sizeof(struct sockaddr_in));
	assert_int_equal(bind_to("::", 7471), 0);
	assert_true(fake_cm_last(RDMA_USER_CM_CMD_BIND_IP, &ip, sizeof(ip)));
	assert_name(&ip.addr, OWN6, 7471);
	g->dev.addr.n_ips = 1;			/* IPv4 only: as natively */
	assert_int_equal(bind_to("::", 7471), 0);
	assert_true(fake_cm_last(RDMA_USER_CM_CMD_BIND, &b, sizeof(b)));
	assert_name(&b.addr, OWN4, 7471);
	g->dev.addr.ip[0] = g->dev.addr.ip[1];	/* IPv6 only */
	assert_int_equal(bind_to("0.0.0.0", 7471), -EADDRNOTAVAIL);
	assert_int_equal(bind_none(create(RDMA_PS_TCP, 3)), -EADDRNOTAVAIL);
}

static int resolve(const char *src, const char *dst)
{
	struct rdma_ucm_resolve_addr r = { .id = create(RDMA_PS_TCP, 1) };
	struct rdma_ucm_resolve_ip ip = { .id = create(RDMA_PS_TCP, 2) };
	int err;

	if (src)
		r.src_size = (uint16_t)name(&r.src_addr, src, 0);
	r.dst_size = (uint16_t)name(&r.dst_addr, dst, 7);
	memcpy(&ip.src_addr, &r.src_addr, sizeof(ip.src_addr));
	memcpy(&ip.dst_addr, &r.dst_addr, sizeof(ip.dst_addr));
	err = command(RDMA_USER_CM_CMD_RESOLVE_ADDR, &r, sizeof(r), 0);
	assert_int_equal(command(RDMA_USER_CM_CMD_RESOLVE_IP, &ip, sizeof(ip),
				 0), err);
	return err;
}

static void it_connects_from_its_own_address(void **state)
{
	struct rdma_ucm_resolve_addr r;
	struct rdma_ucm_resolve_ip ip;

	(void)state;
	own_addresses();
	assert_int_equal(resolve("10.9.0.1", "10.9.0.72"), -EADDRNOTAVAIL);
	assert_int_equal(resolve(OWN4, "10.9.0.72"), 0);
	assert_int_equal(resolve(NULL, "10.9.0.72"), 0);
	assert_true(fake_cm_last(RDMA_USER_CM_CMD_RESOLVE_ADDR, &r, sizeof(r)));
	assert_name(&r.src_addr, OWN4, 0);
	assert_name(&r.dst_addr, "10.9.0.72", 7);
	assert_int_equal(r.src_size, sizeof(struct sockaddr_in));
	assert_int_equal(resolve(NULL, "2001:db8::72"), 0);
	assert_true(fake_cm_last(RDMA_USER_CM_CMD_RESOLVE_IP, &ip, sizeof(ip)));
	assert_name(&ip.src_addr, OWN6, 0);
}

static void a_listener_without_an_address_has_its_own(void **state)
{
	uint32_t id = create(RDMA_PS_TCP, 1);
	struct rdma_ucm_set_option path = {
		.id = id, .level = RDMA_OPTION_IB,
		.optname = RDMA_OPTION_IB_PATH,
	};
	struct rdma_ucm_bind b;

	(void)state;
	own_addresses();
	assert_int_equal(command(RDMA_USER_CM_CMD_SET_OPTION, &path,
				 sizeof(path), 0), -ENOSYS);
	assert_int_equal(listen_on(id, 1), 0);
	assert_true(fake_cm_last(RDMA_USER_CM_CMD_BIND, &b, sizeof(b)));
	assert_int_equal(b.id, id);
	assert_name(&b.addr, OWN4, 0);
	id = create(RDMA_PS_TCP, 2);
	fake_cm_fail(1, -EADDRINUSE);
	assert_int_equal(listen_on(id, 1), -EADDRINUSE);
	assert_int_equal(fake_cm_listening(), 1);
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
		T(an_address_of_another_hca_is_refused),
		T(a_request_from_another_hca_is_turned_away),
		T(ids_are_charged), T(waiting_requests_are_bounded),
		T(an_id_belongs_to_its_file), T(answers_tell_of_events),
		T(an_option_is_passed_whole),
		T(errors_of_the_kernel_are_passed_on),
		T(a_guest_binds_to_its_own_addresses),
		T(its_wildcard_is_its_own_address),
		T(it_connects_from_its_own_address),
		T(a_listener_without_an_address_has_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
