/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A guest and an rdma_cm file of it: what the tests of the connection manager share.
 */
#ifndef TEST_CM_H
#define TEST_CM_H

#include <errno.h>
#include <rdma/rdma_user_cm.h>
#include <string.h>

#include "tests/fake/fake_cm.h"
#include "tests/fake/guest.h"
#include "verbs/cm.h"

#define ADDR_RESOLVED	0
#define ADDR_ERROR	1
#define ROUTE_RESOLVED	2
#define CONNECT_REQUEST	4
#define ESTABLISHED	9
#define ADDR_CHANGE	14

static struct guest *g;
static uint8_t out[VHCA_CM_MAX_OUT];	/* of the last command */
static uint32_t cm;

static inline uint32_t file(void)
{
	assert_int_equal(guest_cmd(g, XENVHCA_OP_ALLOC_CM), 0);
	return g->rsp.u.handle.handle;
}

static inline int setup(void **state)
{
	guest_setup(state);
	g = *state;
	fake_cm_foreign(false, false);
	fake_cm_partition(0xffff);
	fake_cm_broadcast(0xb1b);
	cm = file();
	return 0;
}

static inline int teardown(void **state)
{
	int rc = guest_teardown(state);

	assert_int_equal(fake_cm_files(), 0);
	assert_int_equal(fake_cm_ids(), 0);
	return rc;
}

/* A command as a frontend sends it; the answer is in out. */
static __attribute__((noinline))
int command(uint32_t cmd, const void *in, size_t len, uint32_t from)
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
	g->req.in_len = vhca_slot_more(r->in_len, sizeof(r->in));
	g->req.out_len = vhca_slot_more(op->out, XENVHCA_CM_OUT);
	memcpy(r->in, p, len - g->req.in_len);
	memcpy(g->req.udata, p + sizeof(r->in), g->req.in_len);
	err = guest_cmd(g, XENVHCA_OP_CM_COMMAND);
	memcpy(out, g->rsp.u.cm_command.out, XENVHCA_CM_OUT);
	memcpy(out + XENVHCA_CM_OUT, g->rsp.udata, XENVHCA_UDATA_SIZE);
	return err;
}

static inline uint32_t create(uint16_t ps, uint64_t uid)
{
	struct rdma_ucm_create_id in = { .ps = ps, .uid = uid };
	uint32_t id;

	assert_int_equal(command(RDMA_USER_CM_CMD_CREATE_ID, &in, sizeof(in),
				 0), 0);
	memcpy(&id, out, sizeof(id));
	return id;
}

static inline int destroy(uint32_t id)
{
	struct rdma_ucm_destroy_id in = { .id = id };

	return command(RDMA_USER_CM_CMD_DESTROY_ID, &in, sizeof(in), 0);
}

static inline int bind_none(uint32_t id)
{
	struct rdma_ucm_bind in = { .id = id, .addr_size = 16 };

	return command(RDMA_USER_CM_CMD_BIND, &in, sizeof(in), 0);
}

static inline int listen_on(uint32_t id, uint32_t backlog)
{
	struct rdma_ucm_listen in = { .id = id, .backlog = backlog };

	return command(RDMA_USER_CM_CMD_LISTEN, &in, sizeof(in), 0);
}

/* False: there is none. */
static inline bool event(struct rdma_ucm_event_resp *ev)
{
	struct rdma_ucm_get_event in = {};

	assert_int_equal(command(RDMA_USER_CM_CMD_GET_EVENT, &in, sizeof(in),
				 0), 0);
	memcpy(ev, out, sizeof(*ev));
	return g->rsp.u.cm_command.out_len;
}

#endif
