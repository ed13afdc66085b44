// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A stream of commands of the connection manager on a few files: good ones, spoilt ones,
 * and octets; meanwhile peers ask for connections, events come, ids turn out to be bound
 * to other devices, and the kernel refuses commands.
 */
#include <rdma/rdma_user_cm.h>

#include "fuzz.h"
#include "vhca-cm.h"

#define MAX_COMMANDS	32
#define FILES		4
#define IDS		16u
#define CMDS		(RDMA_USER_CM_CMD_JOIN_MCAST + 1u)

static uint32_t file[FILES], id[IDS];
static unsigned int nr_ids;

static void open_file(struct fuzz *f, unsigned int i)
{
	struct xenvhca_request req = wire_req(XENVHCA_OP_ALLOC_CM, 0);

	if (!fuzz_call(f, &req))
		file[i] = f->rsp.u.handle.handle;
}

static void close_file(struct fuzz *f, unsigned int i)
{
	struct xenvhca_request req = wire_req(XENVHCA_OP_DEALLOC_CM, 0);

	req.u.handle.handle = file[i];
	fuzz_call(f, &req);
}

static void spoil(struct input *in, struct xenvhca_request *req)
{
	uint16_t off = in_u16(in) % (sizeof(*req) - 4);
	uint32_t value = in_u32(in);

	if (value % 4 == 0)
		value = id[value / 4 % IDS];
	else if (value % 4 == 1)
		value = file[value / 4 % FILES];
	memcpy((uint8_t *)req + off, &value, 1 + in_u8(in) % 4);
}

static void note_id(const struct fuzz *f, uint32_t cmd)
{
	const struct xenvhca_cm_command_rsp *r = &f->rsp.u.cm_command;
	uint32_t new;

	PROMISE(r->out_len <= VHCA_CM_MAX_OUT && r->events <= 1);
	if (cmd == RDMA_USER_CM_CMD_GET_EVENT && r->out_len)
		memcpy(&new, r->out + 8, sizeof(new));
	else if (cmd == RDMA_USER_CM_CMD_CREATE_ID ||
		 cmd == RDMA_USER_CM_CMD_JOIN_MCAST)
		memcpy(&new, r->out, sizeof(new));
	else
		return;
	id[nr_ids++ % IDS] = new;
}

static void command(struct fuzz *f, struct input *in)
{
	uint32_t cmd = in_u8(in) % CMDS;
	struct xenvhca_request req;
	uint8_t n = in_u8(in);
	int err;

	if (!vhca_cm_op(cmd, &err)) {
		req = wire_req(XENVHCA_OP_CM_COMMAND, 0);
		in_bytes(in, &req.u, sizeof(req.u));
	} else {
		f->c.cm = file[n % FILES];
		f->c.cm_id = id[n / FILES % IDS];
		wire_good_cm(&f->c, cmd, &req);
		if (cmd == RDMA_USER_CM_CMD_MIGRATE_ID)
			req.u.cm_command.from = file[in_u8(in) % FILES];
	}
	for (n = in_u8(in) % 4; n; n--)
		spoil(in, &req);
	if (!fuzz_call(f, &req) && req.op == XENVHCA_OP_CM_COMMAND)
		note_id(f, req.u.cm_command.cmd);
}

static void mood(struct fuzz *f, struct input *in)
{
	uint8_t n = in_u8(in);
	uint32_t some = id[in_u8(in) % IDS];

	switch (n % 8) {
	case 0:
		open_file(f, n / 8 % FILES);
		break;
	case 1:
		close_file(f, n / 8 % FILES);
		break;
	case 2:
		fake_cm_foreign(n & 8, n & 16);
		break;
	case 3:
		fake_cm_fail(n / 8, -5);
		break;
	case 4:
		if (fake_cm_alive(some))
			fake_cm_request(some);
		break;
	default:
		if (fake_cm_alive(some))
			fake_cm_event_port(some, n / 8, n & 1 ? 2 : 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct fuzz f;
	int i;

	fuzz_open(&f, false);
	f.dev.quota.max[BE_CM] = FILES + 2;
	f.dev.quota.max_cm_ids = 24;
	f.dev.port = in_u8(&in) % 2 + 1;
	fake_cm_foreign(false, false);
	fake_cm_fail(0, 0);
	memset(id, 0, sizeof(id));
	nr_ids = 0;
	for (i = 0; i < FILES; i++)
		open_file(&f, i);
	for (i = 0; i < MAX_COMMANDS && in.left; i++) {
		if (in_u8(&in) % 4)
			command(&f, &in);
		else
			mood(&f, &in);
		/* Requests that nobody has fetched are the kernel's. */
		PROMISE(fake_cm_files() <= FILES + 2);
	}
	fuzz_close(&f);
	PROMISE(!fake_cm_files() && !fake_cm_ids());
	return 0;
}
