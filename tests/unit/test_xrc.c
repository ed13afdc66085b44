// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * XRC: a domain and its target queue pairs are the device's, so that they
 * outlive the context of the process that made them; an SRQ is in its
 * process's verbs file and sees the very same domain there. What a request
 * must not mix, and what is left when something fails: teardown wants nothing.
 */
#include <errno.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>
#include <unistd.h>

#include "core/event.h"
#include "tests/fake/guest.h"

#define RC	2
#define XRC_INI	9
#define XRC_TGT	10
#define CAP_XRC	(1u << 20)

/* A command that names no context. */
static int dev_cmd(struct guest *g, uint16_t op)
{
	uint32_t uc = g->uc;
	int status;

	g->uc = 0;
	status = guest_cmd(g, op);
	g->uc = uc;
	return status;
}

static int dev_handle(struct guest *g, uint16_t op, uint32_t handle)
{
	g->req.u.handle.handle = handle;
	return dev_cmd(g, op);
}

static uint32_t alloc_xrcd(struct guest *g)
{
	assert_int_equal(dev_cmd(g, XENVHCA_OP_ALLOC_XRCD), 0);
	return g->rsp.u.handle.handle;
}

static int dealloc_xrcd(struct guest *g, uint32_t xrcd)
{
	return dev_handle(g, XENVHCA_OP_DEALLOC_XRCD, xrcd);
}

/* A process: context, PD, CQ; the current one. */
static void process(struct guest *g)
{
	g->uc = guest_alloc_uc(g);
	g->pd = guest_alloc_pd(g);
	g->cq = guest_create_cq(g, 15);
}

static void fill_srq(struct guest *g, uint32_t xrcd)
{
	struct xenvhca_create_srq_req *r = &g->req.u.create_srq;
	struct mlx5_ib_create_srq u = { 0 };

	*r = (struct xenvhca_create_srq_req){
		.pd = g->pd, .max_wr = 15, .max_sge = 1,
		.srq_type = !!xrcd, .xrcd = xrcd, .cq = xrcd ? g->cq : 0,
	};
	u.buf_addr = guest_queue(g, &r->buf, 16 * 32);
	u.db_addr = guest_queue(g, &r->db, 8);
	memcpy(g->req.udata, &u, sizeof(u));
	g->req.in_len = sizeof(u);
	g->req.out_len = sizeof(struct mlx5_ib_create_srq_resp);
}

static int create_srq(struct guest *g, uint32_t xrcd)
{
	fill_srq(g, xrcd);
	return guest_cmd(g, XENVHCA_OP_CREATE_SRQ);
}

static int create_tgt(struct guest *g, uint32_t xrcd)
{
	g->req.u.create_qp.qp_type = XRC_TGT;
	g->req.u.create_qp.xrcd = xrcd;
	g->req.u.create_qp.cap = (struct xenvhca_qp_cap){	/* not the kernel's */
		.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1,
		.max_recv_sge = 1, .max_inline_data = 64,
	};
	return dev_cmd(g, XENVHCA_OP_CREATE_QP);
}

static void fill_qp(struct guest *g, uint8_t type)
{
	struct xenvhca_create_qp_req *r = &g->req.u.create_qp;
	struct mlx5_ib_create_qp u = { .sq_wqe_count = 64 };

	*r = (struct xenvhca_create_qp_req){
		.pd = g->pd, .send_cq = g->cq, .qp_type = type,
		.recv_cq = type == RC ? g->cq : 0,
		.cap = { .max_send_wr = 10, .max_send_sge = 1 },
	};
	u.buf_addr = guest_queue(g, &r->buf, 4096);
	u.db_addr = guest_queue(g, &r->db, 8);
	memcpy(g->req.udata, &u, sizeof(u));
	g->req.in_len = sizeof(u);
	g->req.out_len = 8;
}

static int modify(struct guest *g, uint32_t qp)
{
	g->req.u.modify_qp.handle = qp;
	g->req.u.modify_qp.attr.mask = 1 << 0 | 1 << 5;
	g->req.u.modify_qp.attr.qp_state = 1;
	g->req.u.modify_qp.attr.port_num = 1;
	return dev_cmd(g, XENVHCA_OP_MODIFY_QP);
}

static uint64_t inode_of(const struct fake_obj *o)
{
	assert_non_null(o);
	assert_non_null(fake_xrcd_of(o));
	return fake_xrcd_of(o)->inode;
}

static void processes_share_a_domain(void **state)
{
	struct guest *g = *state;
	uint32_t xrcd = alloc_xrcd(g), other = alloc_xrcd(g), one, qp;

	process(g);
	one = g->uc;
	assert_int_equal(create_srq(g, xrcd), 0);
	assert_int_equal(g->rsp.u.create_srq.srqn,
			 fake_nth(FAKE_SRQ, 0)->num);
	process(g);
	assert_int_equal(create_srq(g, xrcd), 0);
	assert_int_equal(create_srq(g, other), 0);
	assert_int_equal(create_tgt(g, xrcd), 0);
	qp = g->rsp.u.create_qp.handle;
	assert_int_equal(g->rsp.u.create_qp.qpn, fake_nth(FAKE_QP, 0)->num);
	/* three files, one domain */
	assert_true(inode_of(fake_nth(FAKE_SRQ, 0)) ==
		    inode_of(fake_nth(FAKE_SRQ, 1)));
	assert_true(inode_of(fake_nth(FAKE_SRQ, 0)) ==
		    inode_of(fake_nth(FAKE_QP, 0)));
	assert_true(inode_of(fake_nth(FAKE_SRQ, 0)) !=
		    inode_of(fake_nth(FAKE_SRQ, 2)));
	assert_int_not_equal(fake_nth(FAKE_SRQ, 0)->fd,
			     fake_nth(FAKE_SRQ, 1)->fd);
	/* the maker of the queue pair ends, then the other one */
	guest_close(g);
	assert_int_equal(modify(g, qp), 0);
	assert_int_equal(fake_nth(FAKE_QP, 0)->qp_state, 1);
	g->req.ucontext = one;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_DEALLOC_UCONTEXT), 0);
	assert_int_equal(fake_live(FAKE_SRQ), 0);
	assert_int_equal(fake_live(FAKE_QP), 1);
	assert_int_equal(dev_handle(g, XENVHCA_OP_DESTROY_QP, qp), 0);
	assert_int_equal(dealloc_xrcd(g, xrcd), 0);
	assert_int_equal(dealloc_xrcd(g, other), 0);
	assert_int_equal(fake_live_all(), 0);
}

/* The control context's domain, and one more for each SRQ in its file. */
static void an_srq_closes_what_it_opened(void **state)
{
	struct guest *g = *state;
	uint32_t xrcd = alloc_xrcd(g), srq;

	process(g);
	assert_int_equal(fake_live(FAKE_XRCD), 1);
	assert_int_equal(create_srq(g, xrcd), 0);
	srq = g->rsp.u.create_srq.handle;
	assert_int_equal(fake_live(FAKE_XRCD), 2);
	assert_int_equal(guest_handle(g, XENVHCA_OP_DESTROY_SRQ, srq), 0);
	assert_int_equal(fake_live(FAKE_XRCD), 1);
	/* refused by the driver */
	fake_fail(IB_USER_VERBS_CMD_CREATE_XSRQ, 1, ENOMEM);
	assert_int_equal(create_srq(g, xrcd), -ENOMEM);
	assert_int_equal(fake_live(FAKE_XRCD), 1);
	/* not to be opened in this file */
	fake_fail(IB_USER_VERBS_CMD_OPEN_XRCD, 1, EMFILE);
	assert_int_equal(create_srq(g, xrcd), -EMFILE);
	assert_int_equal(fake_live(FAKE_XRCD), 1);
	assert_int_equal(g->dev.quota.used[BE_SRQ], 0);
	assert_int_equal(dealloc_xrcd(g, xrcd), 0);
	assert_int_equal(fake_live(FAKE_XRCD), 0);
}

static void a_busy_domain_ends_with_its_last_user(void **state)
{
	struct guest *g = *state;
	uint32_t xrcd = alloc_xrcd(g), srq, qp;

	process(g);
	assert_int_equal(create_srq(g, xrcd), 0);
	srq = g->rsp.u.create_srq.handle;
	assert_int_equal(create_tgt(g, xrcd), 0);
	qp = g->rsp.u.create_qp.handle;
	assert_int_equal(dealloc_xrcd(g, xrcd), -EBUSY);
	assert_int_equal(dealloc_xrcd(g, xrcd), -ENOENT);
	assert_int_equal(create_srq(g, xrcd), -ENOENT);
	assert_int_equal(create_tgt(g, xrcd), -ENOENT);
	assert_int_equal(guest_handle(g, XENVHCA_OP_DESTROY_SRQ, srq), 0);
	assert_int_equal(fake_live(FAKE_XRCD), 1);
	assert_int_equal(g->dev.quota.used[BE_XRCD], 1);
	assert_int_equal(dev_handle(g, XENVHCA_OP_DESTROY_QP, qp), 0);
	assert_int_equal(fake_live(FAKE_XRCD), 0);
	assert_int_equal(g->dev.quota.used[BE_XRCD], 0);
}

/* An SRQ that refuses to go lets go of the domain with its file. */
static void a_file_takes_its_srq_along(void **state)
{
	struct guest *g = *state;
	uint32_t xrcd = alloc_xrcd(g);

	process(g);
	assert_int_equal(create_srq(g, xrcd), 0);
	assert_int_equal(dealloc_xrcd(g, xrcd), -EBUSY);
	fake_fail(IB_USER_VERBS_CMD_DESTROY_SRQ, 1, EIO);
	guest_close(g);
	assert_int_equal(g->dev.quota.used[BE_XRCD], 0);
	assert_int_equal(fake_live(FAKE_XRCD), 0);
	assert_int_equal(fake_live_all(), 0);
}

/* Teardown wants everything gone that is left here. */
static void the_device_ends_with_all_in_use(void **state)
{
	struct guest *g = *state;
	uint32_t xrcd = alloc_xrcd(g);

	process(g);
	assert_int_equal(create_srq(g, xrcd), 0);
	assert_int_equal(create_tgt(g, xrcd), 0);
	fill_qp(g, XRC_INI);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_QP), 0);
	assert_int_equal(dealloc_xrcd(g, xrcd), -EBUSY);
	alloc_xrcd(g);
}

/*
 * Nothing can be destroyed, so all ends with the file: a target, then the
 * domain that its release lets go of. The address sanitizer sees the order.
 */
static void targets_that_stay_end_before_their_domain(void **state)
{
	struct guest *g = *state;
	uint32_t xrcd = alloc_xrcd(g);

	assert_int_equal(create_tgt(g, xrcd), 0);
	assert_int_equal(create_tgt(g, xrcd), 0);
	assert_int_equal(dealloc_xrcd(g, xrcd), -EBUSY);
	fake_refuse(true);
	be_dev_close(&g->dev);
	fake_refuse(false);
	assert_int_equal(g->dev.quota.used[BE_QP], 0);
	assert_int_equal(g->dev.quota.used[BE_XRCD], 0);
}

static void an_initiator_is_a_queue_pair_of_its_process(void **state)
{
	struct guest *g = *state;
	uint32_t qp;

	process(g);
	fill_qp(g, XRC_INI);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_QP), 0);
	qp = g->rsp.u.create_qp.handle;
	assert_int_equal(fake_nth(FAKE_QP, 0)->qp_type, XRC_INI);
	assert_int_equal(fake_nth(FAKE_QP, 0)->fd, fake_nth(FAKE_CQ, 0)->fd);
	/* as an object of the device it does not exist */
	assert_int_equal(modify(g, qp), -ENOENT);
	assert_int_equal(dev_handle(g, XENVHCA_OP_DESTROY_QP, qp), -ENOENT);
	assert_int_equal(guest_handle(g, XENVHCA_OP_DESTROY_QP, qp), 0);
}

/* What does not belong to a type is refused, whatever it names. */
static void types_do_not_mix(void **state)
{
	struct guest *g = *state;
	uint32_t xrcd = alloc_xrcd(g), *field[4];
	struct xenvhca_create_qp_req *q = &g->req.u.create_qp;
	struct xenvhca_create_srq_req *s = &g->req.u.create_srq;
	unsigned int i;

	process(g);
	field[0] = &q->pd;
	field[1] = &q->send_cq;
	field[2] = &q->recv_cq;
	field[3] = &q->srq;
	for (i = 0; i < 4; i++) {
		*field[i] = i ? g->cq : g->pd;
		assert_int_equal(create_tgt(g, xrcd), -EINVAL);
	}
	q->qp_type = XRC_TGT;
	q->xrcd = xrcd;			/* in a process */
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_QP), -EINVAL);
	fill_qp(g, XRC_INI);
	q->recv_cq = g->cq;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_QP), -EINVAL);
	fill_qp(g, XRC_INI);
	q->xrcd = xrcd;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_QP), -EINVAL);
	fill_qp(g, RC);
	q->xrcd = xrcd;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_QP), -EINVAL);
	fill_qp(g, RC);			/* in the device */
	assert_int_equal(dev_cmd(g, XENVHCA_OP_CREATE_QP), -ENOENT);
	fill_srq(g, xrcd);
	s->srq_type = 0;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_SRQ), -EINVAL);
	fill_srq(g, 0);
	s->cq = g->cq;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_SRQ), -EINVAL);
	fill_srq(g, xrcd);
	s->max_tags = 1;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_SRQ), -EINVAL);
	fill_srq(g, xrcd);
	s->srq_type = 2;		/* with tags */
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_SRQ), -EINVAL);
	fill_srq(g, xrcd);
	s->srq_type = 3;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_SRQ), -EINVAL);
	assert_int_equal(fake_live(FAKE_QP) + fake_live(FAKE_SRQ), 0);
	assert_int_equal(dealloc_xrcd(g, xrcd), 0);
}

static void handles_are_checked(void **state)
{
	struct guest *g = *state;
	uint32_t xrcd = alloc_xrcd(g), qp;

	process(g);
	assert_int_equal(create_tgt(g, 0), -ENOENT);
	assert_int_equal(create_tgt(g, g->pd), -ENOENT);
	assert_int_equal(create_tgt(g, xrcd + 1), -ENOENT);
	assert_int_equal(create_srq(g, g->pd), -ENOENT);
	fill_srq(g, xrcd);
	g->req.u.create_srq.cq = g->pd;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_SRQ), -ENOENT);
	assert_int_equal(dealloc_xrcd(g, g->pd), -ENOENT);
	assert_int_equal(dealloc_xrcd(g, 0), -ENOENT);
	assert_int_equal(guest_handle(g, XENVHCA_OP_DEALLOC_PD, xrcd),
			 -ENOENT);
	/* the ops of a domain name no context, others need one */
	assert_int_equal(guest_cmd(g, XENVHCA_OP_ALLOC_XRCD), -EINVAL);
	assert_int_equal(guest_handle(g, XENVHCA_OP_DEALLOC_XRCD, xrcd),
			 -EINVAL);
	g->req.out_len = 4;
	assert_int_equal(dev_cmd(g, XENVHCA_OP_ALLOC_PD), -ENOENT);
	/* a target is nobody's process's */
	assert_int_equal(create_tgt(g, xrcd), 0);
	qp = g->rsp.u.create_qp.handle;
	assert_int_equal(guest_handle(g, XENVHCA_OP_DESTROY_QP, qp), -ENOENT);
	g->req.u.query_qp.handle = qp;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_QUERY_QP), -ENOENT);
	g->req.u.query_qp.handle = qp;
	assert_int_equal(dev_cmd(g, XENVHCA_OP_QUERY_QP), 0);
	assert_int_equal(dev_handle(g, XENVHCA_OP_DESTROY_QP, qp), 0);
}

static void a_target_has_no_udata(void **state)
{
	struct guest *g = *state;
	uint32_t xrcd = alloc_xrcd(g);

	g->req.in_len = 56;
	assert_int_equal(create_tgt(g, xrcd), -EINVAL);
	g->req.out_len = 8;
	assert_int_equal(create_tgt(g, xrcd), -EINVAL);
	guest_pages(g, &g->req.u.create_qp.buf, 7, 1, 0, 0);
	assert_int_equal(create_tgt(g, xrcd), -EINVAL);
	guest_pages(g, &g->req.u.create_qp.db, 7, 1, 0, 0);
	assert_int_equal(create_tgt(g, xrcd), -EINVAL);
	assert_int_equal(g->dev.quota.used[BE_QP], 0);
	assert_int_equal(create_tgt(g, xrcd), 0);
}

static void domains_are_counted(void **state)
{
	struct guest *g = *state;
	uint32_t xrcd;

	g->dev.quota.max[BE_XRCD] = 2;
	xrcd = alloc_xrcd(g);
	alloc_xrcd(g);
	assert_int_equal(dev_cmd(g, XENVHCA_OP_ALLOC_XRCD), -ENOMEM);
	assert_int_equal(dealloc_xrcd(g, xrcd), 0);
	fake_fail(IB_USER_VERBS_CMD_OPEN_XRCD, 1, EIO);
	assert_int_equal(dev_cmd(g, XENVHCA_OP_ALLOC_XRCD), -EIO);
	xrcd = alloc_xrcd(g);
	g->dev.quota.max[BE_QP] = 0;
	assert_int_equal(create_tgt(g, xrcd), -ENOMEM);
}

/* The device's own file is watched for the port anyway. */
static void events_of_a_target_reach_the_guest(void **state)
{
	struct guest *g = *state;
	struct xenvhca_event ev;
	uint32_t qp;
	int i;

	assert_int_equal(be_event_start(&g->dev), 0);
	assert_int_equal(be_event_add(&g->dev, g->dev.ctl_async_fd, NULL,
				      true), 0);
	assert_int_equal(create_tgt(g, alloc_xrcd(g)), 0);
	qp = g->rsp.u.create_qp.handle;
	fake_async_event(fake_nth(FAKE_QP, 0), 3);	/* access error */
	for (i = 0; i < 5000 && !loop_get_event(g->loop, &ev); i++)
		usleep(1000);
	be_event_stop(&g->dev);
	assert_in_range(i, 0, 4999);
	assert_int_equal(ev.type, XENVHCA_EVT_QP);
	assert_int_equal(ev.event, 3);
	assert_int_equal(ev.handle, qp);
}

static void an_hca_with_xrc_says_so(void **state)
{
	struct guest *g = *state;

	assert_int_equal(dev_cmd(g, XENVHCA_OP_QUERY_DEVICE), 0);
	assert_true(g->rsp.u.query_device.device_cap_flags & CAP_XRC);
}

static void soft_roce_has_none(void **state)
{
	struct guest *g = *state;

	assert_int_equal(dev_cmd(g, XENVHCA_OP_QUERY_DEVICE), 0);
	assert_false(g->rsp.u.query_device.device_cap_flags & CAP_XRC);
	assert_int_equal(dev_cmd(g, XENVHCA_OP_ALLOC_XRCD), -EOPNOTSUPP);
	assert_int_equal(create_tgt(g, 1), -EOPNOTSUPP);
	guest_open(g);
	g->req.out_len = 24;
	g->req.u.create_srq.pd = g->pd;
	g->req.u.create_srq.srq_type = 1;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_SRQ), -EOPNOTSUPP);
}

#define MLX5(f)	cmocka_unit_test_setup_teardown(f, guest_setup_mlx5,	\
						guest_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		MLX5(processes_share_a_domain),
		MLX5(an_srq_closes_what_it_opened),
		MLX5(a_busy_domain_ends_with_its_last_user),
		MLX5(a_file_takes_its_srq_along),
		MLX5(the_device_ends_with_all_in_use),
		MLX5(targets_that_stay_end_before_their_domain),
		MLX5(an_initiator_is_a_queue_pair_of_its_process),
		MLX5(types_do_not_mix),
		MLX5(handles_are_checked),
		MLX5(a_target_has_no_udata),
		MLX5(domains_are_counted),
		MLX5(events_of_a_target_reach_the_guest),
		MLX5(an_hca_with_xrc_says_so),
		cmocka_unit_test_setup_teardown(soft_roce_has_none,
						guest_setup, guest_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
