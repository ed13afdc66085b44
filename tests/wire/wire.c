// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The worlds of the hostile tests, see wire.h. One thread, unless a test makes
 * another.
 */
#include <stdio.h>
#include <stdlib.h>

#include <rdma/rdma_user_cm.h>

#include "wire.h"

void wire_open(struct wire *w, int devid, uint32_t pages, unsigned int order)
{
	memset(w, 0, sizeof(*w));
	w->loop = loop_new(pages, order);
	assert_non_null(w->loop);
	assert_int_equal(be_dev_init(&w->dev, 1, devid), 0);
	strcpy(w->dev.hca, "rxe0");
	w->dev.trusted = true;		/* memory windows are to be had */
	w->dev.counters_shown = true;
	w->dev.umad = BE_UMAD_QUERY;
	w->dev.t = loop_transport(w->loop);
	assert_int_equal(be_dev_open(&w->dev), 0);
}

void wire_close(struct wire *w)
{
	fake_settle(&w->dev);
	be_dev_close(&w->dev);
	w->dev.t->ops->close(w->dev.t);
	assert_int_equal(loop_mapped(w->loop), 0);
	assert_int_equal(loop_granted(w->loop), 0);
	assert_int_equal(loop_doorbells(w->loop), 0);
	assert_int_equal(loop_errors(w->loop), 0);
	assert_int_equal(w->dev.quota.used_pages, 0);
	assert_int_equal(w->dev.quota.queue_pages, 0);
	be_dev_fini(&w->dev);
	loop_free(w->loop);
}

void wire_run(struct wire *w)
{
	int i;

	for (i = 0; i < 10000; i++)
		if (w->dev.fault || be_cmdq_run(&w->dev, &w->q, true))
			return;
	fail_msg("the command thread does not come to an end");
}

static void check_echo(const struct wire *w, const struct xenvhca_request *req)
{
	static const uint8_t zero[XENVHCA_BODY_SIZE + XENVHCA_UDATA_SIZE];
	const struct xenvhca_response *rsp = &w->rsp;

	assert_int_equal(rsp->id, req->id);
	assert_int_equal(rsp->op, req->op);
	assert_int_equal(rsp->reserved, 0);
	assert_int_equal(rsp->reserved1, 0);
	assert_true(rsp->out_len <= XENVHCA_UDATA_SIZE);
	if (!rsp->status) {
		assert_true(rsp->out_len <= req->out_len);
		return;
	}
	assert_in_range(-rsp->status, 1, 133);
	assert_int_equal(rsp->out_len, 0);
	assert_memory_equal(rsp->u.raw, zero, sizeof(rsp->u.raw));
	assert_memory_equal(rsp->udata, zero, sizeof(rsp->udata));
}

int wire_call(struct wire *w, struct xenvhca_request *req)
{
	struct xenvhca_response more;

	req->id = w->next_id++ % XENVHCA_MAX_ID;
	assert_int_equal(loop_put_request(w->loop, req), 0);
	wire_run(w);
	assert_int_equal(loop_get_response(w->loop, &w->rsp), 1);
	assert_int_equal(loop_get_response(w->loop, &more), 0);
	check_echo(w, req);
	return w->rsp.status;
}

struct xenvhca_request wire_req(uint16_t op, uint32_t uc)
{
	struct xenvhca_request req;

	memset(&req, 0, sizeof(req));
	req.op = op;
	req.ucontext = uc;
	return req;
}

/* Sends the good request of op and returns the handle it made. */
static uint32_t make(struct wire *w, const struct ctx *c, uint16_t op)
{
	struct xenvhca_request req;
	uint32_t handle;

	assert_true(wire_good(c, op, &req));
	assert_int_equal(wire_call(w, &req), 0);
	memcpy(&handle, w->rsp.u.raw, sizeof(handle));
	assert_int_not_equal(handle, 0);
	return handle;
}

static uint32_t make_ud(struct wire *w, const struct ctx *c)
{
	struct xenvhca_request req;

	assert_true(wire_good(c, XENVHCA_OP_CREATE_QP, &req));
	req.u.create_qp.qp_type = 4;
	req.u.create_qp.srq = 0;
	assert_int_equal(wire_call(w, &req), 0);
	return w->rsp.u.create_qp.handle;
}

static uint32_t make_id(struct wire *w, const struct ctx *c)
{
	struct xenvhca_request req;
	uint32_t id;

	wire_good_cm(c, RDMA_USER_CM_CMD_CREATE_ID, &req);
	assert_int_equal(wire_call(w, &req), 0);
	memcpy(&id, w->rsp.u.cm_command.out, sizeof(id));
	return id;
}

static uint32_t make_agent(struct wire *w, const struct ctx *c)
{
	struct xenvhca_request req;

	assert_true(wire_good(c, XENVHCA_OP_REGISTER_UMAD, &req));
	assert_int_equal(wire_call(w, &req), 0);
	return w->rsp.u.register_umad.id;
}

void ctx_make(struct wire *w, struct ctx *c)
{
	memset(c, 0, sizeof(*c));
	c->mlx5 = w->dev.prov == &vhca_provider_mlx5;
	c->uc = make(w, c, XENVHCA_OP_ALLOC_UCONTEXT);
	c->pd = make(w, c, XENVHCA_OP_ALLOC_PD);
	c->cq = make(w, c, XENVHCA_OP_CREATE_CQ);
	memcpy(&c->cq_offset, w->rsp.udata, sizeof(c->cq_offset));
	memcpy(&c->cq_size, w->rsp.udata + 8, sizeof(c->cq_size));
	c->srq = make(w, c, XENVHCA_OP_CREATE_SRQ);
	c->qp = make(w, c, XENVHCA_OP_CREATE_QP);
	c->ud = make_ud(w, c);
	c->mr = make(w, c, XENVHCA_OP_REG_MR);
	c->mw = make(w, c, XENVHCA_OP_ALLOC_MW);
	c->ah = make(w, c, XENVHCA_OP_CREATE_AH);
	if (c->mlx5)
		c->xrcd = make(w, c, XENVHCA_OP_ALLOC_XRCD);
	c->cm = make(w, c, XENVHCA_OP_ALLOC_CM);
	c->cm_id = make_id(w, c);
	c->umad = make(w, c, XENVHCA_OP_ALLOC_UMAD);
	c->agent = make_agent(w, c);
}

int wire_group_setup(void **state)
{
	(void)state;
	be_log_level = getenv("WIRE_LOG") ? BE_DEBUG : BE_ERR;
	return fake_install();
}

int wire_group_teardown(void **state)
{
	(void)state;
	fake_remove();
	return 0;
}

int world_setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	wire_open(&w->a, 0, WIRE_PAGES, 4);
	wire_open(&w->b, 1, WIRE_PAGES, 0);
	ctx_make(&w->a, &w->c);
	ctx_make(&w->a, &w->other);
	ctx_make(&w->b, &w->mine);
	*state = w;
	return 0;
}

int world_setup_mlx5(void **state)
{
	fake_be_mlx5();
	return world_setup(state);
}

int world_teardown(void **state)
{
	struct world *w = *state;

	world_bystander(w);
	wire_close(&w->a);
	wire_close(&w->b);
	assert_int_equal(fake_live_all(), 0);
	assert_int_equal(fake_files(), 0);
	assert_int_equal(fake_cm_files(), 0);
	assert_int_equal(fake_umad_files(), 0);
	assert_int_equal(fake_vmas(), 0);
	assert_int_equal(fake_violations(), 0);
	fake_be_rxe();
	free(w);
	return 0;
}

void world_snap(const struct world *w, struct snap *s)
{
	memset(s, 0, sizeof(*s));
	s->live = fake_live_all();
	s->files = fake_files();
	s->vmas = fake_vmas();
	s->doorbells = loop_doorbells(w->a.loop);
	s->mapped = loop_mapped(w->a.loop);
	s->granted = loop_granted(w->a.loop);
	s->pages = w->a.dev.quota.used_pages;
	s->queue_pages = w->a.dev.quota.queue_pages;
	memcpy(s->used, w->a.dev.quota.used, sizeof(s->used));
	s->uars = fake_uars();
	s->cm_files = fake_cm_files();
	s->cm_ids = fake_cm_ids();
	s->umad_files = fake_umad_files();
	s->umad_agents = fake_umad_agents();
}

void world_bystander(struct world *w)
{
	struct xenvhca_request req = wire_req(XENVHCA_OP_QUERY_QP, w->mine.uc);

	assert_false(w->b.dev.fault);
	req.u.query_qp.handle = w->mine.qp;
	assert_int_equal(wire_call(&w->b, &req), 0);
	assert_int_equal(w->b.dev.quota.used[BE_QP], 2);
}

void world_same(struct world *w, const struct snap *s, const char *what)
{
	struct snap now;

	if (w->a.dev.fault)
		fail_msg("%s: the device was closed: %s", what,
			 w->a.dev.fault_reason);
	world_snap(w, &now);
	if (memcmp(&now, s, sizeof(now)))
		fail_msg("%s: objects %u -> %u, files %u -> %u, mapped %u -> %u, granted %u -> %u, pages %u -> %u, doorbells %u -> %u",
			 what, s->live, now.live, s->files, now.files,
			 (unsigned int)s->mapped, (unsigned int)now.mapped,
			 (unsigned int)s->granted, (unsigned int)now.granted,
			 (unsigned int)s->pages, (unsigned int)now.pages,
			 s->doorbells, now.doorbells);
	world_bystander(w);
}
