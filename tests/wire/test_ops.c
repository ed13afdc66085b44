// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The requests that the other tests spoil are good ones: each op succeeds as
 * it is, an op that does not exist is refused and is no reason to disconnect.
 */
#include "wire.h"

/* What has to be there first, or gone, for the op to succeed. */
static void prepare(struct world *w, uint16_t op)
{
	struct xenvhca_request req;
	uint16_t first[8];
	unsigned int i, n = 0;

	switch (op) {
	case XENVHCA_OP_DETACH_MCAST:
		first[n++] = XENVHCA_OP_ATTACH_MCAST;
		break;
	case XENVHCA_OP_MUNMAP:
		first[n++] = XENVHCA_OP_MMAP;
		break;
	case XENVHCA_OP_REREG_MR:
		first[n++] = XENVHCA_OP_DEALLOC_MW;
		break;
	case XENVHCA_OP_DESTROY_CQ:
	case XENVHCA_OP_DESTROY_SRQ:
	case XENVHCA_OP_DEALLOC_PD:
		first[n++] = XENVHCA_OP_DESTROY_QP;
		break;
	}
	if (op == XENVHCA_OP_DEALLOC_PD) {
		first[n++] = XENVHCA_OP_DESTROY_SRQ;
		first[n++] = XENVHCA_OP_DEREG_MR;
		first[n++] = XENVHCA_OP_DEALLOC_MW;
		first[n++] = XENVHCA_OP_DESTROY_AH;
	}
	for (i = 0; i < n; i++) {
		wire_good(&w->c, first[i], &req);
		assert_int_equal(wire_call(&w->a, &req), 0);
	}
	if (op != XENVHCA_OP_DEALLOC_PD && op != XENVHCA_OP_DESTROY_CQ)
		return;
	req = wire_req(XENVHCA_OP_DESTROY_QP, w->c.uc);
	req.u.handle.handle = w->c.ud;
	assert_int_equal(wire_call(&w->a, &req), 0);
}

static void all_ops(void **state)
{
	struct xenvhca_request req;
	struct world *w = *state;
	uint16_t op;

	for (op = 0; op < XENVHCA_OP_MAX; op++) {
		if (!wire_good(&w->c, op, &req))
			continue;
		prepare(w, op);
		/* a ConnectX has no ranges */
		if (wire_call(&w->a, &req) !=
		    (w->c.mlx5 && op == XENVHCA_OP_MUNMAP ? -2 : 0))
			fail_msg("%s: %d", wire_op_name[op], w->a.rsp.status);
		/* a new context for the next op, the old one with all in it */
		if (op == XENVHCA_OP_DEALLOC_UCONTEXT)
			req.op = 0;
		else
			req = wire_req(XENVHCA_OP_DEALLOC_UCONTEXT, w->c.uc);
		if (req.op)
			assert_int_equal(wire_call(&w->a, &req), 0);
		ctx_make(&w->a, &w->c);
	}
}

static void ask(struct world *w, const struct ctx *c, uint16_t op)
{
	struct xenvhca_request req;

	if (!wire_good(c, op, &req))
		return;
	if (wire_call(&w->a, &req))
		fail_msg("%s: %d", wire_op_name[op], w->a.rsp.status);
}

/* A process that exits: no object of its context is destroyed before. */
static void a_context_ends_with_all_that_is_in_it(void **state)
{
	struct world *w = *state;
	struct snap s;
	struct ctx c;
	int i;

	world_snap(w, &s);
	ctx_make(&w->a, &c);
	ask(w, &c, XENVHCA_OP_ATTACH_MCAST);
	for (i = 0; i < 100; i++) {
		ask(w, &c, XENVHCA_OP_CREATE_QP);
		ask(w, &c, XENVHCA_OP_REG_MR);
	}
	ask(w, &c, XENVHCA_OP_DEALLOC_UCONTEXT);
	ask(w, &c, XENVHCA_OP_DEALLOC_XRCD);
	ask(w, &c, XENVHCA_OP_DEALLOC_CM);
	ask(w, &c, XENVHCA_OP_DEALLOC_UMAD);
	world_same(w, &s, "a context with all that is in it");
}

static void unknown_ops(void **state)
{
	struct xenvhca_request req;
	struct world *w = *state;
	struct snap s;
	uint32_t op;

	world_snap(w, &s);
	for (op = 0; op < 0x10000; op += op < 0x180 ? 1 : 251) {
		if (op < XENVHCA_OP_MAX && wire_op_name[op])
			continue;
		req = wire_req((uint16_t)op, w->c.uc);
		assert_int_equal(wire_call(&w->a, &req), -95);
	}
	world_same(w, &s, "unknown ops");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_ops, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(all_ops, world_setup_mlx5,
						world_teardown),
		cmocka_unit_test_setup_teardown(
			a_context_ends_with_all_that_is_in_it, world_setup,
			world_teardown),
		cmocka_unit_test_setup_teardown(
			a_context_ends_with_all_that_is_in_it, world_setup_mlx5,
			world_teardown),
		cmocka_unit_test_setup_teardown(unknown_ops, world_setup,
						world_teardown),
	};

	return cmocka_run_group_tests(tests, wire_group_setup,
				      wire_group_teardown);
}
