// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Datagrams of Soft-RoCE: a work request names an address handle of the queue
 * pair's domain, and what the driver prints of a handle that goes is charged.
 */
#include <rdma/ib_user_verbs.h>

#include "clock.h"
#include "tests/fake/shadow.h"

/* Sets *num to what a work request names it by. Return: handle. */
static uint32_t create_ah(struct guest *g, uint32_t pd, uint32_t *num)
{
	g->req.u.create_ah.pd = pd;
	g->req.u.create_ah.attr.port_num = 1;
	g->req.u.create_ah.attr.is_global = 1;
	g->req.out_len = 8;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_AH), 0);
	memcpy(num, g->rsp.udata, sizeof(*num));
	return g->rsp.u.handle.handle;
}

static void names_ah(struct queue sq, uint32_t num)
{
	next(sq, IB_UVERBS_WR_SEND)->wr.wr.ud.ah_num = num;
}

static void datagrams_name_an_address_handle(void **state)
{
	struct guest *g = *state;
	struct pair p = open_qp(g, 4);
	struct rxe_send_wqe *w = next(p.sq, IB_UVERBS_WR_SEND);
	const struct rxe_send_wqe *r;
	static const struct rxe_av none;
	uint32_t num;

	create_ah(g, g->pd, &num);
	w->wr.wr.ud.remote_qpn = 17;
	w->wr.wr.ud.remote_qkey = 18;
	w->wr.wr.ud.ah_num = num;
	memset(&w->wr.wr.ud.av, 0xff, sizeof(w->wr.wr.ud.av));
	r = post(g, p.sq);
	assert_int_equal(r->wr.wr.ud.remote_qpn, 17);
	assert_int_equal(r->wr.wr.ud.remote_qkey, 18);
	assert_int_equal(r->wr.wr.ud.ah_num, num);
	assert_memory_equal(&r->wr.wr.ud.av, &none, sizeof(none));
	next(p.sq, IB_UVERBS_WR_SEND);		/* an address of its own */
	refused(g, p.sq);
	w = next(p.sq, IB_UVERBS_WR_SEND);
	w->wr.wr.ud.ah_num = num;
	w->wr.wr.ud.remote_qkey = 0x80010000;	/* of management */
	refused(g, p.sq);
	guest_close(g);
}

/* The driver would print two lines of each. */
static void datagrams_name_no_other(void **state)
{
	struct guest *g = *state;
	struct pair p = open_qp(g, 4);
	uint32_t ah, num, other;

	ah = create_ah(g, g->pd, &num);
	create_ah(g, guest_alloc_pd(g), &other);
	names_ah(p.sq, num + 1000);
	refused(g, p.sq);
	names_ah(p.sq, num + BE_AH_HEADS);
	refused(g, p.sq);
	names_ah(p.sq, other);			/* of another domain */
	refused(g, p.sq);
	names_ah(p.sq, num);
	assert_int_equal(post(g, p.sq)->wr.wr.ud.ah_num, num);
	p.sq.real->consumer_index = p.sq.real->producer_index;
	assert_int_equal(guest_handle(g, XENVHCA_OP_DESTROY_AH, ah), 0);
	names_ah(p.sq, num);
	refused(g, p.sq);
	guest_close(g);
	assert_null(g->dev.ahs[num % BE_AH_HEADS]);
	assert_null(g->dev.ahs[other % BE_AH_HEADS]);
}

/* How many commands that the driver refuses would have cost the same? */
static int64_t destroy_costs(struct guest *g, uint32_t ah)
{
	struct vl_bucket *fail = &g->dev.quota.fail;

	fail->last_ns = vl_coarse_ns();
	fail->tokens_ns = 0;
	assert_int_equal(guest_handle(g, XENVHCA_OP_DESTROY_AH, ah), 0);
	return (VL_SEC_NS / 20 - fail->tokens_ns) / (int64_t)(VL_SEC_NS / 10);
}

static void a_handle_that_is_named_is_dear(void **state)
{
	struct guest *g = *state;
	struct pair p = open_qp(g, 4);
	uint32_t named, idle, done, num, qp;
	struct queue sq;

	idle = create_ah(g, g->pd, &num);
	done = create_ah(g, g->pd, &num);
	names_ah(p.sq, num);
	post(g, p.sq);
	p.sq.real->consumer_index = p.sq.real->producer_index;
	named = create_ah(g, g->pd, &num);
	names_ah(p.sq, num);
	post(g, p.sq);
	qp = g->qp;
	g->qp = guest_create_qp(g, 4);
	sq = map(g, guest_key(g, 16));
	names_ah(sq, num);
	post(g, sq);
	g->qp = qp;
	assert_int_equal(destroy_costs(g, idle), 0);
	assert_int_equal(destroy_costs(g, done), 0);
	assert_int_equal(destroy_costs(g, named), 2);
	guest_close(g);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, guest_setup, guest_teardown)
		T(datagrams_name_an_address_handle),
		T(datagrams_name_no_other),
		T(a_handle_that_is_named_is_dear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
