// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * SRQs with tag matching: what the HCA tells reaches the guest, the queue is
 * made, charged and ended as any other and has its CQ, the queue pairs that
 * its provider makes for it exist, and what does not belong to it is refused.
 */
#include <errno.h>
#include <rdma/mlx5-abi.h>

#include "tests/fake/guest.h"

#define RC	2

enum { BASIC, XRC, TAGS };		/* srq_type */

static void fill_srq(struct guest *g, uint32_t type, uint32_t max_tags)
{
	struct xenvhca_create_srq_req *r = &g->req.u.create_srq;
	struct mlx5_ib_create_srq u = { .uidx = 0x5a };

	*r = (struct xenvhca_create_srq_req){
		.pd = g->pd, .max_wr = 15, .max_sge = 1, .srq_type = type,
		.cq = type == TAGS ? g->cq : 0, .max_tags = max_tags,
	};
	u.buf_addr = guest_queue(g, &r->buf, 16 * 32);
	u.db_addr = guest_queue(g, &r->db, 8);
	memcpy(g->req.udata, &u, sizeof(u));
	g->req.in_len = sizeof(u);
	g->req.out_len = sizeof(struct mlx5_ib_create_srq_resp);
}

static int create(struct guest *g)
{
	return guest_cmd(g, XENVHCA_OP_CREATE_SRQ);
}

static uint32_t tag_srq(struct guest *g)
{
	fill_srq(g, TAGS, FAKE_MLX5_TAGS);
	assert_int_equal(create(g), 0);
	return g->rsp.u.create_srq.handle;
}

static void process(struct guest *g)
{
	g->uc = guest_alloc_uc(g);
	g->pd = guest_alloc_pd(g);
	g->cq = guest_create_cq(g, 15);
}

/* Without sends, as rdma-core's manual wants it, or with, as its own. */
static int create_qp(struct guest *g, uint32_t srq, uint32_t sends)
{
	struct xenvhca_create_qp_req *r = &g->req.u.create_qp;
	struct mlx5_ib_create_qp u = { .sq_wqe_count = sends };

	*r = (struct xenvhca_create_qp_req){
		.pd = g->pd, .send_cq = g->cq, .recv_cq = g->cq, .srq = srq,
		.qp_type = RC,
		.cap = { .max_send_wr = sends, .max_send_sge = !!sends },
	};
	if (sends)
		u.buf_addr = guest_queue(g, &r->buf, sends * 64);
	u.db_addr = guest_queue(g, &r->db, 8);
	memcpy(g->req.udata, &u, sizeof(u));
	g->req.in_len = sizeof(u);
	g->req.out_len = 8;
	return guest_cmd(g, XENVHCA_OP_CREATE_QP);
}

static void limits_are_told(void **state)
{
	const struct xenvhca_query_device_rsp *q;
	struct guest *g = *state;

	assert_int_equal(guest_cmd(g, XENVHCA_OP_QUERY_DEVICE), 0);
	q = &g->rsp.u.query_device;
	assert_int_equal(q->tm_max_tags, FAKE_MLX5_TAGS);
	assert_int_equal(q->tm_max_ops, 32768);
	assert_int_equal(q->tm_max_sge, 1);
	assert_int_equal(q->tm_max_rndv_hdr, 64);
	assert_int_equal(q->tm_flags, XENVHCA_TM_RNDV_RC);	/* of all */
}

static void a_queue_is_made_and_ends(void **state)
{
	struct guest *g = *state;
	const struct fake_obj *o;
	uint32_t srq;

	process(g);
	srq = tag_srq(g);
	o = fake_nth(FAKE_SRQ, 0);
	assert_non_null(o);
	assert_int_equal(o->max_tags, FAKE_MLX5_TAGS);
	assert_int_equal(g->dev.quota.used[BE_SRQ], 1);
	assert_int_equal(g->rsp.u.create_srq.srqn, 0);	/* only XRC has one */
	/* The completions go there: it cannot end before the queue. */
	assert_int_equal(guest_handle(g, XENVHCA_OP_DESTROY_CQ, g->cq),
			 -EBUSY);
	assert_int_equal(guest_handle(g, XENVHCA_OP_DESTROY_SRQ, srq), 0);
	assert_int_equal(fake_live(FAKE_SRQ), 0);
	assert_int_equal(g->dev.quota.used[BE_SRQ], 0);
}

static void queue_pairs_use_it(void **state)
{
	struct guest *g = *state;
	uint32_t srq;

	process(g);
	srq = tag_srq(g);
	assert_int_equal(create_qp(g, srq, 16), 0);
	assert_int_equal(create_qp(g, srq, 0), 0);
	assert_int_equal(fake_live(FAKE_QP), 2);
	guest_close(g);		/* in the order in which they may end */
	assert_int_equal(fake_live_all(), 0);
}

static void it_is_charged(void **state)
{
	struct guest *g = *state;

	process(g);
	g->dev.quota.max[BE_SRQ] = 1;
	tag_srq(g);
	fill_srq(g, TAGS, 1);
	assert_int_equal(create(g), -ENOMEM);
	assert_int_equal(fake_live(FAKE_SRQ), 1);
}

static void the_driver_may_refuse(void **state)
{
	struct guest *g = *state;

	process(g);
	fake_fail(IB_USER_VERBS_CMD_CREATE_XSRQ, 1, EINVAL);
	fill_srq(g, TAGS, XENVHCA_MAX_TAGS);
	assert_int_equal(create(g), -EINVAL);
	assert_int_equal(g->dev.quota.used[BE_SRQ], 0);
	assert_int_equal(loop_mapped(g->loop), 2);	/* the CQ */
	fill_srq(g, TAGS, 0);
	assert_int_equal(create(g), 0);
	assert_int_equal(fake_nth(FAKE_SRQ, 0)->max_tags, 0);
}

static void wrong_ones_are_refused(void **state)
{
	struct guest *g = *state;
	struct xenvhca_create_srq_req *r = &g->req.u.create_srq;

	process(g);
	fill_srq(g, TAGS, XENVHCA_MAX_TAGS + 1);
	assert_int_equal(create(g), -EINVAL);
	fill_srq(g, TAGS, ~0u);
	assert_int_equal(create(g), -EINVAL);
	fill_srq(g, TAGS, 1);
	r->xrcd = g->cq;
	assert_int_equal(create(g), -EINVAL);
	fill_srq(g, TAGS, 1);
	r->cq = 0;
	assert_int_equal(create(g), -ENOENT);
	fill_srq(g, TAGS, 1);
	r->cq = g->pd;
	assert_int_equal(create(g), -ENOENT);
	fill_srq(g, BASIC, 1);
	assert_int_equal(create(g), -EINVAL);
	fill_srq(g, XRC, 1);
	assert_int_equal(create(g), -EINVAL);
	fill_srq(g, TAGS, 1);
	r->buf.nr_pages++;	/* more than the driver pins */
	assert_int_equal(create(g), -EINVAL);
	assert_int_equal(fake_live(FAKE_SRQ), 0);
	assert_int_equal(g->dev.quota.used[BE_SRQ], 0);
}

/* A CQ of another process is none of this one's. */
static void of_one_process(void **state)
{
	struct guest *g = *state;
	uint32_t cq;

	process(g);
	cq = g->cq;
	process(g);
	fill_srq(g, TAGS, 1);
	g->req.u.create_srq.cq = cq;
	assert_int_equal(create(g), -ENOENT);
}

static void soft_roce_has_none(void **state)
{
	struct guest *g = *state;

	assert_int_equal(guest_cmd(g, XENVHCA_OP_QUERY_DEVICE), 0);
	assert_int_equal(g->rsp.u.query_device.tm_max_tags, 0);
	assert_int_equal(g->rsp.u.query_device.tm_flags, 0);
	guest_open(g);
	g->req.out_len = 24;
	g->req.u.create_srq.pd = g->pd;
	g->req.u.create_srq.srq_type = TAGS;
	g->req.u.create_srq.cq = g->cq;
	assert_int_equal(create(g), -EOPNOTSUPP);
}

#define MLX5(f)	cmocka_unit_test_setup_teardown(f, guest_setup_mlx5,	\
						guest_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		MLX5(limits_are_told),
		MLX5(a_queue_is_made_and_ends),
		MLX5(queue_pairs_use_it),
		MLX5(it_is_charged),
		MLX5(the_driver_may_refuse),
		MLX5(wrong_ones_are_refused),
		MLX5(of_one_process),
		cmocka_unit_test_setup_teardown(soft_roce_has_none,
						guest_setup, guest_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
