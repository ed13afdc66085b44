// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A hostile frontend and the connection manager: every command with lengths, files, ids
 * and fields out of range, with what belongs to another file or another guest, replayed,
 * and after the end of what it names. A refused command does not reach the kernel, and
 * changes nothing.
 */
#include <rdma/rdma_user_cm.h>

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
			req.in_len = vhca_cm_more(len, XENVHCA_CM_IN);
			if (req.in_len > XENVHCA_UDATA_SIZE)
				req.in_len = 0;
			if (len < op_of(cmd)->in ||
			    (len > op_of(cmd)->in))
				refused(w, &req, -22, "a wrong in_len");
			wire_good_cm(&w->c, cmd, &req);
			req.u.cm_command.out_len = len;
			req.out_len = vhca_cm_more(len, XENVHCA_CM_OUT);
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

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		T(lengths), T(headers), T(unknown_commands), T(files),
		T(ids_of_others), T(options), T(replayed), T(floods), T(noise),
	};

	return cmocka_run_group_tests(tests, wire_group_setup,
				      wire_group_teardown);
}
