// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Queue pairs, shared receive queues, address handles.
 */
#include <errno.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/mlx5-abi.h>

#include "tests/fake/guest.h"

#define QP_STATE	(1u << 0)
#define QP_CUR_STATE	(1u << 1)
#define QP_PORT		(1u << 5)
#define QP_QKEY		(1u << 6)
#define QP_AV		(1u << 7)
#define QP_PATH_MTU	(1u << 8)
#define QP_MAX_DEST_RD	(1u << 17)

enum { RESET, INIT, RTR, RTS, SQD };

static int create(struct guest *g, uint8_t type, uint32_t srq)
{
	g->req.u.create_qp = (struct xenvhca_create_qp_req){
		.pd = g->pd, .send_cq = g->cq, .recv_cq = g->cq, .srq = srq,
		.qp_type = type, .cap = { .max_send_wr = 10 },
	};
	g->req.out_len = 32;
	return guest_cmd(g, XENVHCA_OP_CREATE_QP);
}

static void creates_the_types_it_knows(void **state)
{
	struct guest *g = *state;

	guest_open(g);
	assert_int_equal(create(g, 2, 0), 0);
	assert_int_equal(g->rsp.u.create_qp.qpn, fake_nth(FAKE_QP, 1)->num);
	assert_int_equal(g->rsp.u.create_qp.cap.max_send_wr, 15);
	assert_int_equal(create(g, 3, 0), 0);
	assert_int_equal(create(g, 4, 0), 0);
	assert_int_equal(create(g, 0, 0), -EINVAL);	/* SMI */
	assert_int_equal(create(g, 1, 0), -EINVAL);	/* GSI */
	assert_int_equal(create(g, 8, 0), -EOPNOTSUPP);
	assert_int_equal(create(g, 9, 0), -EOPNOTSUPP);
	assert_int_equal(create(g, 255, 0), -EOPNOTSUPP);
	assert_int_equal(create(g, 2, g->cq), -ENOENT);	/* no SRQ */
	g->req.u.create_qp.create_flags = 1;
	g->req.u.create_qp.qp_type = 2;
	g->req.out_len = 32;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_QP), -EOPNOTSUPP);
	g->req.u.create_qp.cap.reserved = 1;
	g->req.out_len = 32;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_QP), -EINVAL);
	assert_int_equal(fake_live(FAKE_QP), 4);
}

static int create_with(struct guest *g, uint32_t flags)
{
	struct xenvhca_create_qp_req *r = &g->req.u.create_qp;
	struct mlx5_ib_create_qp u = { .sq_wqe_count = 64 };

	*r = (struct xenvhca_create_qp_req){
		.pd = g->pd, .send_cq = g->cq, .recv_cq = g->cq, .qp_type = 4,
		.cap = { .max_send_wr = 10, .max_send_sge = 1 },
		.create_flags = flags,
	};
	u.buf_addr = guest_queue(g, &r->buf, 4096);
	u.db_addr = guest_queue(g, &r->db, 8);
	memcpy(g->req.udata, &u, sizeof(u));
	g->req.in_len = sizeof(u);
	g->req.out_len = 8;
	return guest_cmd(g, XENVHCA_OP_CREATE_QP);
}

/* No multicast of its own: the one flag that needs nothing else. */
static void flags_are_the_drivers(void **state)
{
	const uint32_t loopback = IB_UVERBS_QP_CREATE_BLOCK_MULTICAST_LOOPBACK;
	struct guest *g = *state;
	uint32_t bit;

	g->uc = guest_alloc_uc(g);
	g->pd = guest_alloc_pd(g);
	g->cq = guest_create_cq(g, 15);
	assert_int_equal(create_with(g, loopback), 0);
	assert_int_equal(fake_nth(FAKE_QP, 0)->qp_flags, loopback);
	assert_int_equal(fake_nth(FAKE_QP, 0)->qp_type, 4);
	assert_int_equal(g->rsp.u.create_qp.qpn, fake_nth(FAKE_QP, 0)->num);
	assert_int_equal(create_with(g, 0), 0);
	assert_int_equal(fake_nth(FAKE_QP, 1)->qp_flags, 0);
	for (bit = 1; bit; bit <<= 1)
		if (bit != loopback)
			assert_int_equal(create_with(g, bit | loopback),
					 -EOPNOTSUPP);
	assert_int_equal(fake_live(FAKE_QP), 2);
}

static void soft_roce_takes_no_flags(void **state)
{
	struct guest *g = *state;

	guest_open(g);
	g->req.u.create_qp.create_flags =
		IB_UVERBS_QP_CREATE_BLOCK_MULTICAST_LOOPBACK;
	g->req.u.create_qp.pd = g->pd;
	g->req.u.create_qp.send_cq = g->req.u.create_qp.recv_cq = g->cq;
	g->req.u.create_qp.qp_type = 4;
	g->req.out_len = 32;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_QP), -EOPNOTSUPP);
	assert_int_equal(fake_live(FAKE_QP), 1);
}

static void undoes_a_failing_creation(void **state)
{
	struct guest *g = *state;

	guest_open(g);
	g->req.u.create_qp = (struct xenvhca_create_qp_req){
		.pd = g->pd, .send_cq = g->cq, .recv_cq = g->cq, .qp_type = 2,
		.cap = { .max_send_wr = 20000 },
	};
	g->req.out_len = 32;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_QP), -EINVAL);
	assert_int_equal(g->dev.quota.used[BE_QP], 1);
}

static int modify(struct guest *g, uint32_t mask)
{
	g->req.u.modify_qp.handle = g->qp;
	g->req.u.modify_qp.attr.mask = mask;
	return guest_cmd(g, XENVHCA_OP_MODIFY_QP);
}

static void the_guest_knows_port_1_only(void **state)
{
	struct guest *g = *state;
	struct xenvhca_qp_attr *a = &g->req.u.modify_qp.attr;

	fake_hca.ports = 3;
	g->dev.port = 3;
	guest_open(g);
	a->port_num = 1;
	a->qp_state = 1;
	assert_int_equal(modify(g, QP_STATE | QP_PORT), 0);
	assert_int_equal(fake_nth(FAKE_QP, 0)->port, 3);
	a->port_num = 3;
	assert_int_equal(modify(g, QP_PORT), -EINVAL);
	a->qp_state = 2;
	a->ah.is_global = 1;
	a->ah.port_num = 1;
	assert_int_equal(modify(g, QP_STATE | QP_AV), 0);
	a->ah.port_num = 3;
	assert_int_equal(modify(g, QP_AV), -EINVAL);
	g->req.u.query_qp.handle = g->qp;
	g->req.u.query_qp.mask = QP_STATE;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_QUERY_QP), 0);
	assert_int_equal(g->rsp.u.query_qp.attr.port_num, 1);
	assert_int_equal(g->rsp.u.query_qp.attr.qp_state, 2);
}

static void refuses_bad_attributes(void **state)
{
	struct guest *g = *state;
	struct xenvhca_qp_attr *a = &g->req.u.modify_qp.attr;

	guest_open(g);
	assert_int_equal(modify(g, 1u << 30), -EOPNOTSUPP);
	a->reserved = 1;
	assert_int_equal(modify(g, QP_STATE), -EINVAL);
	a->ah.port_num = 1;
	a->ah.is_global = 1;
	a->ah.sgid_index = 24;			/* table has 24 entries */
	assert_int_equal(modify(g, QP_AV), -EINVAL);
	a->ah.port_num = 1;
	a->ah.reserved[3] = 1;
	assert_int_equal(modify(g, QP_AV), -EINVAL);
	a->qkey = 0x80010000;			/* of management QPs */
	assert_int_equal(modify(g, QP_QKEY), -EPERM);
	a->qkey = 0x11111111;
	assert_int_equal(modify(g, QP_QKEY), 0);
}

static int modify_to(struct guest *g, uint8_t state, uint32_t mask)
{
	g->req.u.modify_qp.attr.qp_state = state;
	return modify(g, QP_STATE | mask);
}

/* Tells the driver that the queue pair is in state @cur. */
static int modify_from(struct guest *g, uint8_t cur, uint8_t state, uint32_t mask)
{
	g->req.u.modify_qp.attr.cur_qp_state = cur;
	g->req.u.modify_qp.attr.qp_state = state;
	return modify(g, mask | QP_CUR_STATE);
}

static int modify_mtu(struct guest *g, uint8_t mtu, uint8_t state)
{
	g->req.u.modify_qp.attr.path_mtu = mtu;
	return modify_to(g, state, QP_PATH_MTU);
}

/* Of 0 the driver would make packets as long as the message. */
static void soft_roce_gets_an_mtu_that_exists(void **state)
{
	struct guest *g = *state;
	uint8_t mtu;

	guest_open(g);
	assert_int_equal(modify_to(g, INIT, 0), 0);
	for (mtu = 1; mtu <= 5; mtu++)
		assert_int_equal(modify_mtu(g, mtu, RTR), 0);
	assert_int_equal(modify_mtu(g, 0, RTR), -EINVAL);
	for (mtu = 6; mtu; mtu++)
		assert_int_equal(modify_mtu(g, mtu, RTR), -EINVAL);
}

/* What the peer reads is kept in an array of that length, which is used from RTR on. */
static void soft_roce_keeps_the_depth_of_reads(void **state)
{
	struct guest *g = *state;
	struct fake_obj *qp;

	guest_open(g);
	qp = fake_nth(FAKE_QP, 0);
	assert_int_equal(modify_to(g, RTR, QP_MAX_DEST_RD), -EINVAL);
	assert_int_equal(modify_to(g, INIT, QP_MAX_DEST_RD), -EINVAL);
	assert_int_equal(modify_to(g, INIT, 0), 0);
	assert_int_equal(modify(g, QP_MAX_DEST_RD), -EINVAL);
	assert_int_equal(modify_to(g, RTR, QP_MAX_DEST_RD), 0);
	assert_int_equal(modify_to(g, RTR, QP_MAX_DEST_RD), -EINVAL);
	assert_int_equal(modify_to(g, RTS, 0), 0);
	assert_int_equal(modify_to(g, SQD, 0), 0);
	assert_int_equal(modify(g, QP_MAX_DEST_RD), -EINVAL);
	assert_int_equal(modify_to(g, SQD, QP_MAX_DEST_RD), -EINVAL);
	g->req.u.modify_qp.attr.cur_qp_state = INIT;
	assert_int_equal(modify_to(g, RTR, QP_MAX_DEST_RD | QP_CUR_STATE),
			 -EINVAL);
	assert_int_equal(qp->qp_state, SQD);
	assert_int_equal(modify_to(g, RESET, 0), 0);
	assert_int_equal(modify_to(g, INIT, 0), 0);
	assert_int_equal(modify_to(g, RTR, QP_MAX_DEST_RD), 0);
}

/* It goes by the state that it is told, so it is told none. */
static void soft_roce_knows_the_state_best(void **state)
{
	struct guest *g = *state;
	struct fake_obj *qp;

	guest_open(g);
	qp = fake_nth(FAKE_QP, 0);
	assert_int_equal(modify_to(g, INIT, 0), 0);
	assert_int_equal(modify_to(g, RTR, 0), 0);
	assert_int_equal(modify_to(g, RTS, 0), 0);
	assert_int_equal(modify_from(g, RTR, RTS, QP_STATE), -EINVAL);
	assert_int_equal(modify_from(g, RTR, 0, 0), -EINVAL);
	assert_int_equal(modify_from(g, RTS, RTS, QP_STATE), 0);
	assert_int_equal(qp->qp_mask, QP_STATE);
	assert_int_equal(modify_from(g, RTS, 0, 0), 0);
	assert_int_equal(qp->qp_mask, 0);
	/* As natively: of no other way it is an attribute. */
	assert_int_equal(modify_from(g, RTS, SQD, QP_STATE), -EINVAL);
	assert_int_equal(modify_from(g, RESET, INIT, QP_STATE), -EINVAL);
	assert_int_equal(qp->qp_state, RTS);
	qp->qp_state = 6;			/* an error, of which no command tells */
	assert_int_equal(modify_from(g, RTS, RTS, QP_STATE), -EINVAL);
	assert_int_equal(qp->qp_state, 6);
}

/* The HCA judges for itself. */
static void an_hca_is_asked_everything(void **state)
{
	const uint32_t mask = QP_STATE | QP_CUR_STATE | QP_MAX_DEST_RD |
			      QP_PATH_MTU;
	struct guest *g = *state;

	g->uc = guest_alloc_uc(g);
	g->pd = guest_alloc_pd(g);
	g->cq = guest_create_cq(g, 15);
	assert_int_equal(create_with(g, 0), 0);
	g->qp = g->rsp.u.create_qp.handle;
	g->req.u.modify_qp.attr.cur_qp_state = RTR;
	assert_int_equal(modify_to(g, RTS, mask), 0);
	assert_int_equal(fake_nth(FAKE_QP, 0)->qp_mask, mask);
}

static uint32_t create_srq(struct guest *g)
{
	g->req.u.create_srq.pd = g->pd;
	g->req.u.create_srq.max_wr = 20;
	g->req.u.create_srq.max_sge = 1;
	g->req.out_len = 24;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_SRQ), 0);
	return g->rsp.u.create_srq.handle;
}

static void shares_receive_queues(void **state)
{
	struct guest *g = *state;
	struct guest_key key;
	uint32_t srq;

	guest_open(g);
	srq = create_srq(g);
	assert_int_equal(g->rsp.u.create_srq.max_wr, 31);
	assert_int_equal(guest_mmap(g, guest_key(g, 0)), 0);
	assert_int_equal(create(g, 2, srq), 0);
	assert_int_equal(guest_key(g, 0).size, 0);	/* no receive queue */
	key = guest_key(g, 16);
	assert_int_equal(guest_mmap(g, key), 0);
	assert_int_equal(guest_handle(g, XENVHCA_OP_DESTROY_SRQ, srq), -EBUSY);
	assert_int_equal(guest_handle(g, XENVHCA_OP_QUERY_SRQ, srq), 0);
	assert_int_equal(g->rsp.u.query_srq.max_wr, 7);
}

/* rxe writes the new ring's offset to a user address: never the guest's. */
static void redirects_the_address_of_modify_srq(void **state)
{
	struct guest *g = *state;
	uint32_t srq;

	guest_open(g);
	srq = create_srq(g);
	g->req.u.modify_srq = (struct xenvhca_modify_srq_req){
		.handle = srq, .mask = 1, .max_wr = 100,
	};
	g->req.in_len = 8;
	g->req.out_len = 16;
	memset(g->req.udata, 0x41, 8);		/* would fault */
	assert_int_equal(guest_cmd(g, XENVHCA_OP_MODIFY_SRQ), 0);
	assert_int_equal(g->rsp.out_len, 16);
	assert_int_equal(guest_mmap(g, guest_key(g, 0)), 0);
	g->req.u.modify_srq = (struct xenvhca_modify_srq_req){
		.handle = srq, .mask = 2, .srq_limit = 3,
	};
	g->req.in_len = 8;
	g->req.out_len = 16;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_MODIFY_SRQ), 0);
	assert_int_equal(guest_key(g, 0).size, 0);
	g->req.u.modify_srq = (struct xenvhca_modify_srq_req){
		.handle = srq, .mask = 2, .srq_limit = 4,
	};
	g->req.in_len = 8;			/* no room asked for */
	assert_int_equal(guest_cmd(g, XENVHCA_OP_MODIFY_SRQ), 0);
	assert_int_equal(g->rsp.out_len, 0);
	g->req.u.modify_srq.handle = srq;
	g->req.u.modify_srq.mask = 4;
	g->req.in_len = 8;
	g->req.out_len = 16;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_MODIFY_SRQ), -EINVAL);
}

static void makes_address_handles(void **state)
{
	struct guest *g = *state;
	struct xenvhca_create_ah_req *r = &g->req.u.create_ah;
	uint32_t num;

	guest_open(g);
	r->pd = g->pd;
	r->attr.port_num = 1;
	r->attr.is_global = 1;
	g->req.out_len = 8;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_AH), 0);
	memcpy(&num, g->rsp.udata, sizeof(num));
	assert_int_equal(num, fake_nth(FAKE_AH, 0)->num);
	assert_int_equal(guest_handle(g, XENVHCA_OP_DESTROY_AH,
				      g->rsp.u.handle.handle), 0);
	r->pd = g->pd;
	r->attr.port_num = 1;			/* an old provider */
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_AH), 0);
	r->pd = g->pd;
	r->attr.port_num = 2;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_AH), -EINVAL);
	r->pd = g->pd;
	r->attr.port_num = 1;
	r->attr.is_global = 2;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_AH), -EINVAL);
}

/* The process writes it into its datagrams; no room for it is no provider of mlx5. */
static void a_handle_of_mlx5_tells_the_peers_mac(void **state)
{
	static const uint8_t peer[16] = { [10] = 0xff, 0xff, 192, 0, 2, 9 };
	struct xenvhca_create_ah_req req = {
		.attr = { .port_num = 1, .is_global = 1 },
	};
	struct mlx5_ib_create_ah_resp out;
	struct guest *g = *state;
	unsigned int i;

	memcpy(req.attr.dgid, peer, sizeof(peer));
	g->uc = guest_alloc_uc(g);
	req.pd = guest_alloc_pd(g);
	for (i = 0; i < 2; i++) {	/* on a job thread, and in line */
		g->dev.ethernet = !i;
		g->req.u.create_ah = req;
		g->req.out_len = sizeof(out);
		assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_AH), 0);
		assert_int_equal(g->rsp.out_len, sizeof(out));
		memcpy(&out, g->rsp.udata, sizeof(out));
		assert_memory_equal(out.dmac, peer + 10, sizeof(out.dmac));
		assert_memory_equal(out.reserved, (uint8_t[6]){ 0 }, sizeof(out.reserved));
		assert_int_equal(guest_handle(g, XENVHCA_OP_DESTROY_AH,
					      g->rsp.u.handle.handle), 0);
	}
	g->req.u.create_ah = req;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_AH), -EINVAL);
	assert_int_equal(fake_live(FAKE_AH), 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, guest_setup, guest_teardown)
	const struct CMUnitTest tests[] = {
		T(creates_the_types_it_knows),
		cmocka_unit_test_setup_teardown(flags_are_the_drivers,
						guest_setup_mlx5,
						guest_teardown),
		T(soft_roce_takes_no_flags),
		T(undoes_a_failing_creation),
		T(the_guest_knows_port_1_only),
		T(refuses_bad_attributes),
		T(soft_roce_gets_an_mtu_that_exists),
		T(soft_roce_keeps_the_depth_of_reads),
		T(soft_roce_knows_the_state_best),
		cmocka_unit_test_setup_teardown(an_hca_is_asked_everything,
						guest_setup_mlx5,
						guest_teardown),
		T(shares_receive_queues),
		T(redirects_the_address_of_modify_srq),
		T(makes_address_handles),
		cmocka_unit_test_setup_teardown(a_handle_of_mlx5_tells_the_peers_mac,
						guest_setup_mlx5,
						guest_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
