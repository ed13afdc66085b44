// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Handles that exist, but not for this request: of another verbs context, of
 * another type, of another device, of an object that is gone, and handles of
 * an object that still has users.
 */
#include "wire.h"

/* Ops that name one object, and where its handle is in struct ctx. */
static const struct { uint16_t op; uint16_t at, in; } named[] = {
#define N(OP, member, field) { XENVHCA_OP_##OP,				\
	offsetof(struct xenvhca_request, member), offsetof(struct ctx, field) }
	N(DEALLOC_PD, u.handle.handle, pd), N(DEREG_MR, u.handle.handle, mr),
	N(DEALLOC_MW, u.handle.handle, mw), N(DESTROY_CQ, u.handle.handle, cq),
	N(DESTROY_QP, u.handle.handle, qp), N(QUERY_SRQ, u.handle.handle, srq),
	N(DESTROY_SRQ, u.handle.handle, srq),
	N(DESTROY_AH, u.handle.handle, ah), N(REG_MR, u.reg_mr.pd, pd),
	N(REREG_MR, u.rereg_mr.handle, mr), N(REREG_MR, u.rereg_mr.mr.pd, pd),
	N(ALLOC_MW, u.alloc_mw.pd, pd), N(RESIZE_CQ, u.resize_cq.handle, cq),
	N(CREATE_QP, u.create_qp.pd, pd), N(CREATE_QP, u.create_qp.send_cq, cq),
	N(CREATE_QP, u.create_qp.recv_cq, cq),
	N(CREATE_QP, u.create_qp.srq, srq),
	N(MODIFY_QP, u.modify_qp.handle, qp), N(QUERY_QP, u.query_qp.handle, qp),
	N(CREATE_SRQ, u.create_srq.pd, pd),
	N(MODIFY_SRQ, u.modify_srq.handle, srq),
	N(CREATE_AH, u.create_ah.pd, pd), N(ATTACH_MCAST, u.mcast.qp, ud),
	N(DETACH_MCAST, u.mcast.qp, ud),
};

static uint32_t field(const struct ctx *c, uint16_t at)
{
	uint32_t v;

	memcpy(&v, (const uint8_t *)c + at, sizeof(v));
	return v;
}

static void refuse(struct world *w, size_t i, uint32_t handle, const char *what)
{
	struct xenvhca_request req;
	int status;

	wire_good(&w->c, named[i].op, &req);
	memcpy((uint8_t *)&req + named[i].at, &handle, sizeof(handle));
	status = wire_call(&w->a, &req);
	if (status != -2)
		fail_msg("%s with a handle %s: %d", wire_op_name[named[i].op],
			 what, status);
}

static void other_context(void **state)
{
	struct world *w = *state;
	struct snap s;
	size_t i;

	world_snap(w, &s);
	for (i = 0; i < COUNT(named); i++)
		refuse(w, i, field(&w->other, named[i].in),
		       "of another context");
	world_same(w, &s, "other context");
}

/* The devices have tables of their own, so equal numbers mean nothing. */
static void other_type(void **state)
{
	static const uint16_t types[] = {
		offsetof(struct ctx, uc), offsetof(struct ctx, pd),
		offsetof(struct ctx, cq), offsetof(struct ctx, srq),
		offsetof(struct ctx, qp), offsetof(struct ctx, mr),
		offsetof(struct ctx, mw), offsetof(struct ctx, ah),
	};
	struct world *w = *state;
	struct snap s;
	size_t i, j;

	world_snap(w, &s);
	for (i = 0; i < COUNT(named); i++)
		for (j = 0; j < COUNT(types); j++)
			if (field(&w->c, types[j]) !=
			    field(&w->c, named[i].in) &&
			    !(named[i].in == offsetof(struct ctx, ud) &&
			      types[j] == offsetof(struct ctx, qp)))
				refuse(w, i, field(&w->c, types[j]),
				       "of another type");
	world_same(w, &s, "other type");
}

/* The generation of a handle counts: old ones stay dead for a long time. */
static void stale(void **state)
{
	struct xenvhca_request req;
	struct world *w = *state;
	uint32_t old[300], i, j;

	for (i = 0; i < COUNT(old); i++) {
		req = wire_req(XENVHCA_OP_ALLOC_PD, w->c.uc);
		assert_int_equal(wire_call(&w->a, &req), 0);
		old[i] = w->a.rsp.u.handle.handle;
		for (j = 0; j < i; j++)
			assert_int_not_equal(old[j], old[i]);
		req = wire_req(XENVHCA_OP_DEALLOC_PD, w->c.uc);
		req.u.handle.handle = old[i];
		assert_int_equal(wire_call(&w->a, &req), 0);
		assert_int_equal(wire_call(&w->a, &req), -2);
	}
	for (i = 0; i < COUNT(old); i++) {
		req = wire_req(XENVHCA_OP_ALLOC_MW, w->c.uc);
		req.u.alloc_mw.pd = old[i];
		req.u.alloc_mw.type = 1;
		assert_int_equal(wire_call(&w->a, &req), -2);
	}
}

static void stale_context(void **state)
{
	struct xenvhca_request req;
	struct world *w = *state;
	struct ctx gone;
	uint16_t op;

	ctx_make(&w->a, &gone);
	req = wire_req(XENVHCA_OP_DEALLOC_UCONTEXT, gone.uc);
	assert_int_equal(wire_call(&w->a, &req), 0);
	/* Those of the device, from ALLOC_CM on, name none. */
	for (op = XENVHCA_OP_DEALLOC_UCONTEXT; op < XENVHCA_OP_ALLOC_CM; op++)
		if (wire_good(&gone, op, &req))
			assert_int_equal(wire_call(&w->a, &req), -2);
}

/* What is used cannot be destroyed, as natively, and stays usable. */
static void in_use(void **state)
{
	static const uint16_t busy[] = {
		XENVHCA_OP_DEALLOC_PD, XENVHCA_OP_DESTROY_CQ,
		XENVHCA_OP_DESTROY_SRQ,
	};
	struct xenvhca_request req;
	struct world *w = *state;
	struct snap s;
	size_t i;

	wire_good(&w->c, XENVHCA_OP_ATTACH_MCAST, &req);
	assert_int_equal(wire_call(&w->a, &req), 0);
	world_snap(w, &s);
	for (i = 0; i < COUNT(busy); i++) {
		wire_good(&w->c, busy[i], &req);
		assert_int_equal(wire_call(&w->a, &req), -16);
	}
	req = wire_req(XENVHCA_OP_DESTROY_QP, w->c.uc);
	req.u.handle.handle = w->c.ud;		/* has an attachment */
	assert_int_equal(wire_call(&w->a, &req), -16);
	world_same(w, &s, "in use");
	wire_good(&w->c, XENVHCA_OP_DETACH_MCAST, &req);
	assert_int_equal(wire_call(&w->a, &req), 0);
	assert_int_equal(wire_call(&w->a, &req), -22);
}

/* An offset of a queue is good once, in its context, while the queue lives. */
static void offsets(void **state)
{
	struct xenvhca_request req;
	struct world *w = *state;
	struct snap s;

	world_snap(w, &s);
	wire_good(&w->c, XENVHCA_OP_MMAP, &req);
	req.ucontext = w->other.uc;
	assert_int_equal(wire_call(&w->a, &req), -22);
	req.ucontext = w->c.uc;
	req.u.mmap.length = (uint64_t)w->c.cq_size + XENVHCA_PAGE_SIZE;
	assert_int_equal(wire_call(&w->a, &req), -22);
	world_same(w, &s, "offsets");
	wire_good(&w->c, XENVHCA_OP_MMAP, &req);
	assert_int_equal(wire_call(&w->a, &req), 0);
	assert_int_equal(wire_call(&w->a, &req), -22);	/* twice */
	req.u.mmap.first = w->a.rsp.u.mmap.nr_pages;
	assert_int_equal(wire_call(&w->a, &req), -22);
	wire_good(&w->c, XENVHCA_OP_MUNMAP, &req);
	req.ucontext = w->other.uc;
	assert_int_equal(wire_call(&w->a, &req), -2);
	req.ucontext = w->c.uc;
	assert_int_equal(wire_call(&w->a, &req), 0);
	assert_int_equal(wire_call(&w->a, &req), -2);
	wire_good(&w->c, XENVHCA_OP_MMAP, &req);
	assert_int_equal(wire_call(&w->a, &req), -22);	/* used up */
	world_same(w, &s, "offset used up");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(other_context, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(other_type, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(stale, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(stale_context, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(in_use, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(offsets, world_setup,
						world_teardown),
	};

	return cmocka_run_group_tests(tests, wire_group_setup,
				      wire_group_teardown);
}
