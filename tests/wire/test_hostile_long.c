// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * udata and lengths: too short, too long, more than there is room for; octets
 * behind the announced length; octets of the body that the op does not use.
 */
#include "wire.h"

/* Octets of the body that an op has, from the protocol header. */
static size_t body_of(uint16_t op)
{
	switch (op) {
	case XENVHCA_OP_GET_INFO:
	case XENVHCA_OP_QUERY_DEVICE:
	case XENVHCA_OP_QUERY_PORT:
	case XENVHCA_OP_ALLOC_UCONTEXT:
	case XENVHCA_OP_DEALLOC_UCONTEXT:
	case XENVHCA_OP_ALLOC_PD:
		return 0;
	case XENVHCA_OP_MMAP:
		return sizeof(struct xenvhca_mmap_req);
	case XENVHCA_OP_MUNMAP:			/* a list: one, and its end */
		return 2 * sizeof(uint64_t);
	case XENVHCA_OP_REG_MR:
		return sizeof(struct xenvhca_reg_mr_req);
	case XENVHCA_OP_REREG_MR:
		return sizeof(struct xenvhca_rereg_mr_req);
	case XENVHCA_OP_CREATE_CQ:
		return sizeof(struct xenvhca_create_cq_req);
	case XENVHCA_OP_RESIZE_CQ:
		return sizeof(struct xenvhca_resize_cq_req);
	case XENVHCA_OP_CREATE_QP:
		return sizeof(struct xenvhca_create_qp_req);
	case XENVHCA_OP_MODIFY_QP:
		return sizeof(struct xenvhca_modify_qp_req);
	case XENVHCA_OP_CREATE_SRQ:
		return sizeof(struct xenvhca_create_srq_req);
	case XENVHCA_OP_MODIFY_SRQ:
		return sizeof(struct xenvhca_modify_srq_req);
	case XENVHCA_OP_CREATE_AH:
		return sizeof(struct xenvhca_create_ah_req);
	case XENVHCA_OP_ATTACH_MCAST:
	case XENVHCA_OP_DETACH_MCAST:
		return sizeof(struct xenvhca_mcast_req);
	case XENVHCA_OP_REGISTER_UMAD:
		return sizeof(struct xenvhca_register_umad_req);
	case XENVHCA_OP_UNREGISTER_UMAD:
		return sizeof(struct xenvhca_unregister_umad_req);
	case XENVHCA_OP_SEND_UMAD:		/* all of it */
		return sizeof(struct xenvhca_send_umad_req);
	case XENVHCA_OP_RECV_UMAD:
		return sizeof(struct xenvhca_recv_umad_req);
	default:
		return sizeof(struct xenvhca_handle_req);
	}
}

static void refused(struct world *w, struct xenvhca_request *req,
		    const char *what)
{
	int status = wire_call(&w->a, req);

	if (status != -22)
		fail_msg("%s, %s: %d instead of EINVAL",
			 wire_op_name[req->op], what, status);
}

/* Calls fn with the good request of every op. */
static void each_op(struct world *w, void (*fn)(struct world *w,
						const struct xenvhca_request *r))
{
	struct xenvhca_request req;
	struct snap s;
	uint16_t op;

	world_snap(w, &s);
	for (op = 0; op < XENVHCA_OP_MAX; op++)
		if (wire_good(&w->c, op, &req))
			fn(w, &req);
	world_same(w, &s, "all ops");
}

/* The only length of Soft-RoCE that is not fixed is CREATE_AH's answer. */
static void lengths(struct world *w, const struct xenvhca_request *good)
{
	static const uint16_t more[] = { 1, 4, 8, 257, 4096, 0xffff };
	struct xenvhca_request r;
	size_t i;

	for (i = 0; i < COUNT(more); i++) {
		r = *good;
		r.in_len = (uint16_t)(good->in_len + more[i]);
		if (r.in_len > good->in_len)
			refused(w, &r, "in_len too long");
		r = *good;
		r.out_len = (uint16_t)(good->out_len + more[i]);
		if (r.out_len > good->out_len)
			refused(w, &r, "out_len too long");
	}
	if (good->in_len) {
		r = *good;
		memset(r.udata, 0, sizeof(r.udata));
		r.in_len--;
		refused(w, &r, "in_len too short");
	}
	if (good->out_len && good->op != XENVHCA_OP_CREATE_AH &&
	    good->op != XENVHCA_OP_MODIFY_SRQ) {
		r = *good;
		r.out_len--;
		refused(w, &r, "out_len too short");
	}
}

static void udata_behind(struct world *w, const struct xenvhca_request *good)
{
	struct xenvhca_request r = *good;

	r.udata[good->in_len] = 1;
	refused(w, &r, "octet behind in_len");
	r = *good;
	r.udata[XENVHCA_UDATA_SIZE - 1] = 0x80;
	refused(w, &r, "last octet of udata");
}

static void body_behind(struct world *w, const struct xenvhca_request *good)
{
	struct xenvhca_request r = *good;

	if (body_of(good->op) == XENVHCA_BODY_SIZE)
		return;
	r.u.raw[body_of(good->op)] = 1;
	refused(w, &r, "octet behind the body");
	r = *good;
	r.u.raw[XENVHCA_BODY_SIZE - 1] = 0x80;
	refused(w, &r, "last octet of the body");
}

static void short_and_long(void **state)
{
	each_op(*state, lengths);
}

static void behind_udata(void **state)
{
	each_op(*state, udata_behind);
}

static void behind_body(void **state)
{
	each_op(*state, body_behind);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(short_and_long, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(behind_udata, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(behind_body, world_setup,
						world_teardown),
	};

	return cmocka_run_group_tests(tests, wire_group_setup,
				      wire_group_teardown);
}
