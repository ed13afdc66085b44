// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Addresses of the connection manager: which a guest may name, what they mean, and
 * that what the kernel finds for them is the guest's or refused.
 */
#include <arpa/inet.h>
#include <sys/socket.h>

#include "tests/unit/test_cm.h"

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
	/* rdma_destroy_id() waits for as many events as it is told of. */
	assert_int_equal(destroy(id), 0);
	assert_int_equal(((struct rdma_ucm_destroy_id_resp *)out)->events_reported,
			 1);
}

/* Each command that needs a device, of one that is resolved to what is not ours. */
static void assert_refused(uint32_t id, int err)
{
	struct rdma_ucm_resolve_route route = { .id = id, .timeout_ms = 1000 };
	struct rdma_ucm_connect connect = { .id = id, .conn_param.valid = 1 };
	struct rdma_ucm_accept accept = { .id = id };
	struct rdma_ucm_reject reject = { .id = id };
	struct rdma_ucm_disconnect disconnect = { .id = id };
	struct rdma_ucm_init_qp_attr init = { .id = id };
	struct rdma_ucm_join_mcast join = { .id = id };
	struct rdma_ucm_join_ip_mcast join_ip = { .id = id };
	struct rdma_ucm_set_option path = {
		.id = id, .level = RDMA_OPTION_IB,
		.optname = RDMA_OPTION_IB_PATH,
	};
	struct rdma_ucm_query query = { .id = id };
#define REFUSED(CMD, in) \
	assert_int_equal(command(RDMA_USER_CM_CMD_##CMD, &(in), sizeof(in), 0), \
			 err)

	REFUSED(RESOLVE_ROUTE, route);
	REFUSED(CONNECT, connect);
	REFUSED(ACCEPT, accept);
	REFUSED(REJECT, reject);
	REFUSED(DISCONNECT, disconnect);
	REFUSED(INIT_QP_ATTR, init);
	REFUSED(JOIN_MCAST, join);
	REFUSED(JOIN_IP_MCAST, join_ip);
	REFUSED(SET_OPTION, path);
	if (err == -EINVAL)
		return;			/* of no device there is nothing to hide */
	REFUSED(QUERY, query);
	query.option = RDMA_USER_CM_QUERY_GID;
	REFUSED(QUERY, query);
	query.option = RDMA_USER_CM_QUERY_PATH;
	REFUSED(QUERY, query);
	REFUSED(QUERY_ROUTE, query);
	assert_int_equal(listen_on(id, 1), err);
#undef REFUSED
}

/* The kernel has found a way through another HCA, and the guest knows before the worker
 * has told it. */
static void a_way_by_another_hca_leads_nowhere(void **state)
{
	struct rdma_ucm_query query;
	struct rdma_ucm_event_resp ev;
	uint32_t id = create(RDMA_PS_TCP, 7), other;
	int i;

	(void)state;
	assert_refused(id, -EINVAL);
	/* Whichever command is the first. */
	for (i = 0; i < 2; i++) {
		fake_cm_foreign(!i, i);
		other = create(RDMA_PS_TCP, 8);
		fake_cm_bind(other);
		query = (struct rdma_ucm_query){ .id = other };
		assert_int_equal(command(RDMA_USER_CM_CMD_QUERY, &query,
					 sizeof(query), 0), -ENODEV);
		other = create(RDMA_PS_TCP, 8);
		fake_cm_bind(other);
		fake_cm_event(other, ADDR_RESOLVED);
		assert_refused(other, -ENODEV);
		fake_cm_event(other, ROUTE_RESOLVED);
		fake_cm_event(other, ADDR_CHANGE);
		assert_true(event(&ev));
		assert_int_equal(ev.event, ADDR_ERROR);
		assert_int_equal((int)ev.status, -ENODEV);
		assert_false(event(&ev));
		assert_int_equal(destroy(other), 0);
		assert_int_equal(((struct rdma_ucm_destroy_id_resp *)out)->
				 events_reported, 1);
	}
}

static void pkeys(const char *text)
{
	struct be_addr *a = &g->dev.addr;

	g->dev.ethernet = false;
	a->n_pkeys = (unsigned int)host_pkeys_parse(text, a->pkey);
	a->default_pkey = false;
}

/* On InfiniBand an address is in a partition. */
static void a_partition_of_others_is_not_reached(void **state)
{
	struct rdma_ucm_set_option path = {
		.level = RDMA_OPTION_IB, .optname = RDMA_OPTION_IB_PATH,
	};
	struct rdma_ucm_event_resp ev;
	struct rdma_ucm_bind ib = {
		.addr.ss_family = AF_IB,
		.addr_size = 48,
	};
	uint32_t id;

	(void)state;
	fake_pkey(1, 0x8002);
	pkeys("0x8002");
	id = create(RDMA_PS_TCP, 7);
	assert_int_equal(bind_none(id), -ENODEV);
	assert_int_equal(listen_on(id, 1), -ENODEV);
	id = create(RDMA_PS_TCP, 7);
	fake_cm_bind(id);
	assert_refused(id, -ENODEV);
	/* Nor does a request come from there. */
	id = create(RDMA_PS_TCP, 7);
	assert_int_equal(listen_on(id, 4), 0);
	fake_cm_request(id);
	assert_false(event(&ev));
	fake_cm_partition(0x8002);
	fake_cm_request(id);
	assert_true(event(&ev));
	assert_int_equal(ev.event, CONNECT_REQUEST);
	/* A path, or an address of AF_IB, names a P_Key. */
	path.id = ib.id = create(RDMA_PS_TCP, 8);
	assert_int_equal(command(RDMA_USER_CM_CMD_SET_OPTION, &path,
				 sizeof(path), 0), -ENOSYS);
	assert_int_equal(command(RDMA_USER_CM_CMD_BIND, &ib, sizeof(ib), 0),
			 -EADDRNOTAVAIL);
	assert_int_equal(bind_none(path.id), 0);
	/* A limited member, of a port that is a full one. */
	pkeys("0x0002");
	g->dev.pkey_tbl_len = 2;
	assert_int_equal(bind_none(create(RDMA_PS_TCP, 9)), -ENODEV);
	fake_pkey(1, 0x0002);
	assert_int_equal(bind_none(create(RDMA_PS_TCP, 9)), 0);
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

static int resolve_to(uint32_t id, const char *src, const char *dst)
{
	struct rdma_ucm_resolve_addr r = { .id = id, .timeout_ms = 1000 };
	struct rdma_ucm_resolve_ip ip = { .timeout_ms = 1000 };
	int err;

	if (src)
		r.src_size = (uint16_t)name(&r.src_addr, src, 0);
	r.dst_size = (uint16_t)name(&r.dst_addr, dst, 7);
	err = command(RDMA_USER_CM_CMD_RESOLVE_ADDR, &r, sizeof(r), 0);
	memcpy(&ip.src_addr, &r.src_addr, sizeof(ip.src_addr));
	memcpy(&ip.dst_addr, &r.dst_addr, sizeof(ip.dst_addr));
	ip.id = create(RDMA_PS_TCP, 2);
	assert_int_equal(command(RDMA_USER_CM_CMD_RESOLVE_IP, &ip, sizeof(ip),
				 0), err);
	return err;
}

/* Both commands; NULL: no source. */
static void assert_resolves(const char *src, const char *dst,
			    const char *from, const char *to)
{
	struct rdma_ucm_resolve_addr r;
	struct rdma_ucm_resolve_ip ip;

	assert_int_equal(resolve_to(create(RDMA_PS_TCP, 1), src, dst), 0);
	assert_true(fake_cm_last(RDMA_USER_CM_CMD_RESOLVE_ADDR, &r, sizeof(r)));
	assert_true(fake_cm_last(RDMA_USER_CM_CMD_RESOLVE_IP, &ip, sizeof(ip)));
	assert_name(&r.dst_addr, to, 7);
	assert_name(&ip.dst_addr, to, 7);
	assert_int_equal(r.dst_size, r.dst_addr.ss_family == AF_INET ?
			 sizeof(struct sockaddr_in) :
			 sizeof(struct sockaddr_in6));
	if (!from)
		return;
	assert_name(&r.src_addr, from, 0);
	assert_name(&ip.src_addr, from, 0);
}

/* Nobody else's, and not this domain's: the wildcard, loopback and the own address
 * are one listener. */
static void loopback_is_its_own_address(void **state)
{
	static const char *const self[] = { "127.0.0.1", "127.3.2.1", "0.0.0.0" };
	struct rdma_ucm_bind b;
	unsigned int i;

	(void)state;
	own_addresses();
	for (i = 0; i < sizeof(self) / sizeof(self[0]); i++) {
		assert_int_equal(bind_to(self[i], 7471), 0);
		assert_true(fake_cm_last(RDMA_USER_CM_CMD_BIND, &b, sizeof(b)));
		assert_name(&b.addr, OWN4, 7471);
		assert_resolves(NULL, self[i], OWN4, OWN4);
		assert_resolves(self[i], "10.9.0.1", OWN4, "10.9.0.1");
		assert_resolves(self[i], self[i], OWN4, OWN4);
	}
	assert_int_equal(bind_to("::1", 7471), 0);
	assert_true(fake_cm_last(RDMA_USER_CM_CMD_BIND, &b, sizeof(b)));
	assert_name(&b.addr, OWN6, 7471);
	assert_resolves("::1", "::1", OWN6, OWN6);
	assert_resolves(NULL, "::", OWN6, OWN6);
	/* Without an address of that family, as the wildcard. */
	g->dev.addr.n_ips = 1;
	assert_resolves("::1", "::1", OWN4, OWN4);
	assert_int_equal(bind_to("127.0.0.1", 0), 0);
	assert_int_equal(bind_to("128.0.0.1", 0), -EADDRNOTAVAIL);
}

/* The kernel would take the first HCA that it has. */
static void loopback_without_own_addresses_is_the_ports(void **state)
{
	struct sockaddr_in6 in6;
	struct rdma_ucm_bind b;
	uint8_t gid[16] = { [10] = 0xff, 0xff, 10, 9, 0, 5 };

	(void)state;
	g->dev.ethernet = true;
	fake_gid(2, gid);
	name(&in6, "2001:db8::5", 0);
	fake_gid(3, (const uint8_t *)&in6.sin6_addr);
	assert_resolves(NULL, "127.0.0.1", NULL, "10.9.0.5");
	assert_resolves("127.0.0.1", "0.0.0.0", "0.0.0.0", "10.9.0.5");
	assert_resolves("::1", "::1", "::", "2001:db8::5");
	assert_resolves("127.0.0.1", "10.9.0.9", "0.0.0.0", "10.9.0.9");
	assert_int_equal(bind_to("127.0.0.1", 7), 0);
	assert_true(fake_cm_last(RDMA_USER_CM_CMD_BIND, &b, sizeof(b)));
	assert_name(&b.addr, "0.0.0.0", 7);
	/* A port without one: this domain's kernel decides. */
	g->dev.ethernet = false;
	assert_resolves(NULL, "127.0.0.1", NULL, "127.0.0.1");
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
		T(an_address_of_another_hca_is_refused),
		T(a_request_from_another_hca_is_turned_away),
		T(a_way_by_another_hca_leads_nowhere),
		T(a_partition_of_others_is_not_reached),
		T(a_guest_binds_to_its_own_addresses),
		T(its_wildcard_is_its_own_address),
		T(it_connects_from_its_own_address),
		T(loopback_is_its_own_address),
		T(loopback_without_own_addresses_is_the_ports),
		T(a_listener_without_an_address_has_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
