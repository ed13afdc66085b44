// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A hostile frontend and the connection manager: every command with lengths, files, ids
 * and fields out of range, with what belongs to another file or another guest, replayed,
 * and after the end of what it names. A refused command does not reach the kernel, and
 * changes nothing.
 */
#include <errno.h>
#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>

#include "clock.h"
#include "vhca-cm.h"
#include "wire.h"

#define CMDS	(RDMA_USER_CM_CMD_JOIN_MCAST + 1u)

static const struct vhca_cm_op *op_of(uint32_t cmd)
{
	int err;

	return vhca_cm_op(cmd, &err);
}

static bool has_id(const struct vhca_cm_op *op)
{
	return op && op->at_id != VHCA_CM_NONE;
}

static uint8_t *at(struct xenvhca_request *req, uint16_t octet)
{
	return octet < XENVHCA_CM_IN ? req->u.cm_command.in + octet :
	       req->udata + (octet - XENVHCA_CM_IN);
}

static void set_id(struct xenvhca_request *req, uint32_t cmd, uint32_t id)
{
	memcpy(at(req, op_of(cmd)->at_id), &id, sizeof(id));
}

/* Refused with this error, or any if 0; the kernel has not seen it. */
static void refused(struct world *w, struct xenvhca_request *req, int want,
		    const char *what)
{
	unsigned int before = fake_cm_commands();
	int status = wire_call(&w->a, req);

	if (!status || (want && status != want))
		fail_msg("command %u with %s: %d", req->u.cm_command.cmd, what,
			 status);
	assert_int_equal(fake_cm_commands(), before);
}

static void lengths(void **state)
{
	struct xenvhca_request req;
	struct world *w = *state;
	struct snap s;
	uint32_t cmd;
	uint16_t len;

	w->a.dev.quota.cmd.rate = 0;
	world_snap(w, &s);
	for (cmd = 0; cmd < CMDS; cmd++) {
		for (len = 0; op_of(cmd) && len < 600; len++) {
			wire_good_cm(&w->c, cmd, &req);
			req.u.cm_command.in_len = len;
			req.in_len = vhca_slot_more(len, XENVHCA_CM_IN);
			if (req.in_len > XENVHCA_UDATA_SIZE)
				req.in_len = 0;
			if (len < op_of(cmd)->in ||
			    (len > op_of(cmd)->in))
				refused(w, &req, -22, "a wrong in_len");
			wire_good_cm(&w->c, cmd, &req);
			req.u.cm_command.out_len = len;
			req.out_len = vhca_slot_more(len, XENVHCA_CM_OUT);
			if (len < op_of(cmd)->out_min || len > op_of(cmd)->out)
				refused(w, &req, -22, "a wrong out_len");
		}
	}
	world_same(w, &s, "lengths");
}

/* What the header says of udata, and what must be zero. */
static void headers(void **state)
{
	struct xenvhca_request req;
	struct world *w = *state;
	struct snap s;
	uint32_t cmd;

	world_snap(w, &s);
	for (cmd = 0; cmd < CMDS; cmd++) {
		if (!op_of(cmd))
			continue;
		wire_good_cm(&w->c, cmd, &req);
		req.in_len ^= 8;
		refused(w, &req, -22, "other udata");
		wire_good_cm(&w->c, cmd, &req);
		req.out_len ^= 8;
		refused(w, &req, -22, "room for other udata");
		wire_good_cm(&w->c, cmd, &req);
		req.ucontext = w->c.uc;
		refused(w, &req, -22, "a context");
		if (op_of(cmd)->in < XENVHCA_CM_IN) {
			wire_good_cm(&w->c, cmd, &req);
			req.u.cm_command.in[XENVHCA_CM_IN - 1] = 1;
			refused(w, &req, -22, "a surplus of octets");
		}
		if (op_of(cmd)->at_response != VHCA_CM_NONE) {
			wire_good_cm(&w->c, cmd, &req);
			at(&req, op_of(cmd)->at_response)[5] = 0x7f;
			refused(w, &req, -22, "an address of this process");
		}
		if (cmd == RDMA_USER_CM_CMD_MIGRATE_ID)
			continue;
		wire_good_cm(&w->c, cmd, &req);
		req.u.cm_command.from = w->c.cm;
		refused(w, &req, -22, "from");
	}
	world_same(w, &s, "headers");
}

static void unknown_commands(void **state)
{
	static const uint32_t cmds[] = {
		RDMA_USER_CM_CMD_GET_OPTION, CMDS, CMDS + 1, 0x8000, 0xffff,
		0x10000, 0x7fffffff, 0x80000000, 0xffffffff,
	};
	struct xenvhca_request req;
	struct world *w = *state;
	size_t i;

	for (i = 0; i < COUNT(cmds); i++) {
		wire_good_cm(&w->c, RDMA_USER_CM_CMD_NOTIFY, &req);
		req.u.cm_command.cmd = cmds[i];
		refused(w, &req, i ? -22 : -38, "no meaning");
	}
}

static void files(void **state)
{
	struct xenvhca_request req;
	struct world *w = *state;
	const uint32_t wrong[] = {
		0, NO_HANDLE, 0xffffffff, 1, w->c.uc, w->c.pd, w->c.qp,
	};
	struct snap s;
	uint32_t cmd;
	size_t i;

	world_snap(w, &s);
	for (cmd = 0; cmd < CMDS; cmd++) {
		for (i = 0; op_of(cmd) && i < COUNT(wrong); i++) {
			wire_good_cm(&w->c, cmd, &req);
			req.u.cm_command.cm = wrong[i];
			refused(w, &req, -2, "no file");
		}
	}
	for (i = 0; i < COUNT(wrong); i++) {
		wire_good_cm(&w->c, RDMA_USER_CM_CMD_MIGRATE_ID, &req);
		req.u.cm_command.from = wrong[i];
		refused(w, &req, -2, "from no file");
		req = wire_req(XENVHCA_OP_DEALLOC_CM, 0);
		req.u.handle.handle = wrong[i];
		assert_int_equal(wire_call(&w->a, &req), -2);
	}
	world_same(w, &s, "files");
}

/* Ids are numbers of the kernel's, so they can be guessed. */
static void ids_of_others(void **state)
{
	struct xenvhca_request req;
	struct world *w = *state;
	struct snap s;
	uint32_t cmd;

	assert_int_not_equal(w->mine.cm_id, w->c.cm_id);
	world_snap(w, &s);
	for (cmd = 0; cmd < CMDS; cmd++) {
		if (!has_id(op_of(cmd)))
			continue;
		wire_good_cm(&w->c, cmd, &req);
		set_id(&req, cmd, w->mine.cm_id);
		refused(w, &req, -2, "an id of another guest");
		set_id(&req, cmd, w->other.cm_id);
		refused(w, &req, cmd == RDMA_USER_CM_CMD_LEAVE_MCAST ? -2 : -22,
			"an id of another file");
		set_id(&req, cmd, 0xffffffff);
		refused(w, &req, -2, "no id");
	}
	/* An id is no group. */
	wire_good_cm(&w->c, RDMA_USER_CM_CMD_LEAVE_MCAST, &req);
	refused(w, &req, -2, "an id for a group");
	world_same(w, &s, "ids");
}

static void options(void **state)
{
	static const uint32_t lens[] = { 1, 256, 457, 4096, 0x7fffffff, ~0u };
	struct xenvhca_request req;
	struct world *w = *state;
	size_t i;

	for (i = 0; i < COUNT(lens); i++) {
		wire_good_cm(&w->c, RDMA_USER_CM_CMD_SET_OPTION, &req);
		memcpy(req.u.cm_command.in +
		       offsetof(struct rdma_ucm_set_option, optlen), &lens[i],
		       sizeof(lens[i]));
		refused(w, &req, -22, "a length of an option");
	}
}

static void replayed(void **state)
{
	struct xenvhca_request req;
	struct world *w = *state;
	unsigned int i, ids = fake_cm_ids();

	wire_good_cm(&w->c, RDMA_USER_CM_CMD_DESTROY_ID, &req);
	assert_int_equal(wire_call(&w->a, &req), 0);
	for (i = 0; i < 8; i++)
		refused(w, &req, -2, "an id that is gone");
	wire_good(&w->c, XENVHCA_OP_DEALLOC_CM, &req);
	assert_int_equal(wire_call(&w->a, &req), 0);
	for (i = 0; i < 8; i++)
		assert_int_equal(wire_call(&w->a, &req), -2);
	assert_int_equal(fake_cm_ids(), ids - 1);
	w->c.cm = w->c.cm_id = 0;
}

static void floods(void **state)
{
	struct xenvhca_request req;
	struct world *w = *state;
	unsigned int i, made = 0;

	w->a.dev.quota.cmd.rate = 0;
	w->a.dev.quota.max_cm_ids = 100;
	wire_good_cm(&w->c, RDMA_USER_CM_CMD_CREATE_ID, &req);
	for (i = 0; i < 300; i++)
		made += !wire_call(&w->a, &req);
	assert_int_equal(made, 100 - 2);
	w->a.dev.quota.max[BE_CM] = 20;
	wire_good(&w->c, XENVHCA_OP_ALLOC_CM, &req);
	for (made = i = 0; i < 60; i++)
		made += !wire_call(&w->a, &req);
	assert_int_equal(made, 20 - 2);
}

/* Requests whose body is the input; whatever it is, the ledger balances. */
static void noise(void **state)
{
	struct xenvhca_request req;
	struct world *w = *state;
	uint64_t seed = 7;
	uint32_t cmd, i;
	size_t n;

	w->a.dev.quota.cmd.rate = w->a.dev.quota.fail.rate = 0;
	for (i = 0; i < 40000; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		cmd = (uint32_t)(seed >> 40) % CMDS;
		if (!op_of(cmd))
			continue;
		wire_good_cm(&w->c, cmd, &req);
		for (n = seed >> 33 & 3; n; n--) {
			seed = seed * 6364136223846793005ull + 1;
			((uint8_t *)&req)[4 + (seed >> 33) % 508] =
				(uint8_t)(seed >> 50);
		}
		req.op = XENVHCA_OP_CM_COMMAND;
		wire_call(&w->a, &req);
		if (!w->a.rsp.status && cmd == RDMA_USER_CM_CMD_CREATE_ID)
			memcpy(&w->c.cm_id, w->a.rsp.u.cm_command.out, 4);
	}
	assert_false(w->a.dev.fault);
	world_bystander(w);
}

/* ---- addresses: whatever a request names, the kernel hears of the guest's own ---- */

#define OWN	"192.0.2.7/24 2001:db8::7/64"

/* Where a command names its source, and how much room it has there. */
static const struct source {
	uint32_t cmd;
	size_t at, room;
} sources[] = {
	{ RDMA_USER_CM_CMD_BIND_IP, offsetof(struct rdma_ucm_bind_ip, addr),
	  sizeof(struct sockaddr_in6) },
	{ RDMA_USER_CM_CMD_BIND, offsetof(struct rdma_ucm_bind, addr),
	  sizeof(struct sockaddr_storage) },
	{ RDMA_USER_CM_CMD_RESOLVE_IP,
	  offsetof(struct rdma_ucm_resolve_ip, src_addr),
	  sizeof(struct sockaddr_in6) },
	{ RDMA_USER_CM_CMD_RESOLVE_ADDR,
	  offsetof(struct rdma_ucm_resolve_addr, src_addr),
	  sizeof(struct sockaddr_storage) },
};

static uint32_t dice(uint32_t n)
{
	static uint64_t seed = 11;

	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % n;
}

/* Addresses of the guest, of another one, of nobody, wildcards, mapped ones. */
static void any_name(uint8_t *sa)
{
	static const uint16_t family[] = { 0, AF_INET, AF_INET6, 1, 27, 255 };
	static const uint8_t v4[][4] = {
		{ 192, 0, 2, 7 }, { 192, 0, 2, 8 }, {}, { 127, 0, 0, 1 },
	};
	static const uint8_t v6[][16] = {
		{ 0x20, 1, 0x0d, 0xb8, [15] = 7 }, {}, { [15] = 1 },
		{ 0x20, 1, 0x0d, 0xb8, [15] = 8 },
		{ [10] = 0xff, 0xff, 192, 0, 2, 7 },
		{ [10] = 0xff, 0xff, 192, 0, 2, 8 }, { [10] = 0xff, 0xff },
	};
	uint16_t f = family[dice(6)];

	memcpy(sa, &f, sizeof(f));
	memcpy(sa + 2, "\1\2\3\4\5", 6);
	if (f == AF_INET)
		memcpy(sa + 4, v4[dice(4)], 4);
	else
		memcpy(sa + 8, v6[dice(7)], 16);
	if (!dice(4))
		sa[dice(28)] = (uint8_t)dice(256);
}

static bool named_own(struct world *w, const struct source *s)
{
	uint8_t in[160] = {};
	struct sockaddr_storage sa = {};

	assert_true(fake_cm_last(s->cmd, in, sizeof(in)));
	memcpy(&sa, in + s->at, s->room);
	return be_addr_own(&w->a.dev, (struct sockaddr *)&sa,
			   (socklen_t)s->room);
}

static void a_source_is_the_guests_own(void **state)
{
	struct xenvhca_request req;
	struct world *w = *state;
	unsigned int i, n, passed = 0;
	const struct source *s;
	uint8_t name[28];
	int err;

	w->a.dev.quota.cmd.rate = w->a.dev.quota.fail.rate = 0;
	w->a.dev.addr.n_ips = (unsigned int)
		host_addrs_parse(OWN, w->a.dev.addr.ip);
	for (i = 0; i < 20000; i++) {
		s = &sources[dice(COUNT(sources))];
		wire_good_cm(&w->c, s->cmd, &req);
		memset(name, 0, sizeof(name));
		any_name(name);
		for (n = 0; n < sizeof(name); n++)
			*at(&req, (uint16_t)(s->at + n)) = name[n];
		n = fake_cm_commands();
		err = wire_call(&w->a, &req);
		if (n == fake_cm_commands()) {
			assert_int_equal(err, -EADDRNOTAVAIL);
			continue;
		}
		assert_true(named_own(w, s));
		passed++;
	}
	assert_in_range(passed, 2000, 18000);
	world_bystander(w);
}

/* A path has a source GID, which could be another guest's. */
static void a_path_is_refused(void **state)
{
	struct xenvhca_request req;
	struct world *w = *state;
	uint32_t level = RDMA_OPTION_IB;

	w->a.dev.addr.n_ips = (unsigned int)
		host_addrs_parse(OWN, w->a.dev.addr.ip);
	wire_good_cm(&w->c, RDMA_USER_CM_CMD_SET_OPTION, &req);
	memcpy(at(&req, offsetof(struct rdma_ucm_set_option, level)), &level,
	       sizeof(level));
	refused(w, &req, -ENOSYS, "a path");
}

/* What does not fit the rate waits; it is neither executed nor lost. */
static void commands_have_a_rate(void **state)
{
	struct xenvhca_request req;
	struct world *w = *state;
	unsigned int i, before = fake_cm_commands();

	w->a.dev.quota.cmd = (struct vl_bucket){
		.rate = 1, .depth_ns = 10 * VL_SEC_NS,
		.tokens_ns = 10 * (int64_t)VL_SEC_NS,
		.last_ns = vl_coarse_ns(),
	};
	wire_good_cm(&w->c, RDMA_USER_CM_CMD_NOTIFY, &req);
	for (i = 0; i < 60; i++)
		assert_int_equal(loop_put_request(w->a.loop, &req), 0);
	wire_run(&w->a);
	assert_in_range(fake_cm_commands() - before, 10, 12);
	assert_true(w->a.dev.stats.rate_waits > 0);
	assert_false(w->a.dev.fault);
	w->a.dev.quota.cmd = (struct vl_bucket){};
	wire_run(&w->a);
	assert_int_equal(fake_cm_commands() - before, 60);
	world_bystander(w);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		T(lengths), T(headers), T(unknown_commands), T(files),
		T(ids_of_others), T(options), T(replayed), T(floods), T(noise),
		T(a_source_is_the_guests_own), T(a_path_is_refused),
		T(commands_have_a_rate),
	};

	return cmocka_run_group_tests(tests, wire_group_setup,
				      wire_group_teardown);
}
