// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Every way a request can fail: the syndrome at both ends, what is flushed
 * and in which order, retries and their end, events for what has no entry.
 */
#include <stdlib.h>

#include "pair.h"

/* A failed QP looks for late receives, at ever longer intervals; then no more:
 * a device without work does not wake its host.
 */
static void silence(struct pair *p)
{
	rig_sleep(p->rig, 60000 * MS);
	assert_int_equal(rig_deadline(p->rig), 0);
}

static void flushed(struct side *s, struct drv_cq *cq, uint16_t index)
{
	assert_int_equal(get_err(s, cq, MLX5_CQE_SYNDROME_WR_FLUSH_ERR).index,
			 index);
}

static void receive_too_small(void **state)
{
	struct pair *p = *state;
	struct drv_wc wc;

	drv_recv(&p->b.qp, &p->b.mr, 0, 100);
	drv_recv(&p->b.qp, &p->b.mr, 0, 100);
	drv_send(&p->a.qp, &p->a.mr, 0, 101);
	wc = get_err(&p->b, &p->b.rcq, MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR);
	assert_int_equal(wc.opcode, MLX5_CQE_RESP_ERR);
	flushed(&p->b, &p->b.rcq, 1);
	wc = get_err(&p->a, &p->a.scq,
		     MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR);
	assert_int_equal(wc.opcode, MLX5_CQE_REQ_ERR);
	assert_int_equal(wc.qpn, p->a.qp.qpn);
	assert_int_equal(wc.user_index, p->a.qp.user_index);
	assert_int_equal(drv_qp_state(&p->a.qp), DRV_ERR);
}

static void no_such_opcode(void **state)
{
	struct pair *p = *state;
	struct drv_wr wr = { .opcode = 0x3e, .flags = DRV_SIGNALED };

	drv_post(&p->a.qp, &wr);
	get_err(&p->a, &p->a.scq, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
}

/* A read on an unreliable connection. */
static void opcode_of_another_transport(void **state)
{
	struct pair *p = *state;

	drv_rdma(&p->a.qp, MLX5_OPCODE_RDMA_READ, &p->a.mr, 0, 8,
		 p->b.mr.va, p->b.mr.key);
	get_err(&p->a, &p->a.scq, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
}

/* The work request's size field: nothing, less than its segments, too much. */
static void sizes_that_lie(void **state)
{
	static const uint8_t ds[] = { 0, 1, 2, 63 };
	struct pair *p = *state;
	struct drv_path path = pair_path();
	struct drv_wr wr = { .opcode = MLX5_OPCODE_RDMA_WRITE,
			     .flags = DRV_SIGNALED | DRV_QUIET };
	struct mlx5_wqe_ctrl_seg *c;
	struct drv_wc wc;
	size_t i;

	for (i = 0; i < sizeof(ds); i++) {
		c = (void *)(p->a.qp.sq + p->a.qp.sq_pi % 64 * 64);
		drv_post(&p->a.qp, &wr);
		c->qpn_ds = htobe32(p->a.qp.qpn << 8 | ds[i]);
		drv_ring(&p->a.qp, c, p->a.qp.uar);
		rig_run(p->rig);
		if (drv_poll(&p->a.scq, &wc))	/* with 2 it is right */
			assert_int_equal(drv_qp_state(&p->a.qp),
					 ds[i] == 2 ? DRV_RTS : DRV_ERR);
		ok(drv_qp_to(&p->a.qp, MLX5_CMD_OP_2RST_QP));
		ok(drv_qp_to(&p->b.qp, MLX5_CMD_OP_2RST_QP));
		memset(p->a.qp.db, 0, 8);
		p->a.qp.sq_pi = 0;
		pair_connect(p, &path);
	}
	assert_int_equal(p->rig->faults, 0);
}

static void operation_not_enabled(void **state)
{
	static const uint8_t op[] = { MLX5_OPCODE_RDMA_WRITE,
				      MLX5_OPCODE_RDMA_READ,
				      MLX5_OPCODE_ATOMIC_FA };
	struct pair *p = *state;
	struct drv_path path = pair_path();
	size_t i;

	pair_make(p, DRV_RC);
	path.access = 0;
	for (i = 0; i < sizeof(op); i++) {
		p->a.qp.sq_pi = 0;
		memset(p->a.qp.db, 0, 8);
		pair_connect(p, &path);
		drv_rdma(&p->a.qp, op[i], &p->a.mr, 0, 8, p->b.mr.va,
			 p->b.mr.key);
		get_err(&p->a, &p->a.scq,
			MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR);
		ok(drv_qp_to(&p->a.qp, MLX5_CMD_OP_2RST_QP));
		ok(drv_qp_to(&p->b.qp, MLX5_CMD_OP_2RST_QP));
	}
}

static void atomic_off_its_boundary(void **state)
{
	struct pair *p = *state;
	struct drv_sge sge = { p->a.mr.va, 8, p->a.mr.key };
	struct drv_wr wr = { .opcode = MLX5_OPCODE_ATOMIC_FA, .sge = &sge,
			     .flags = DRV_SIGNALED, .nr_sge = 1,
			     .raddr = p->b.mr.va + 4, .rkey = p->b.mr.key };

	drv_post(&p->a.qp, &wr);
	get_err(&p->a, &p->a.scq, MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR);
}

/* The responder's queue has no entry for it: an event says what happened. */
static void event_for_a_refused_write(void **state)
{
	struct pair *p = *state;
	const struct drv_eqe *e;
	unsigned int n;

	drv_rdma(&p->a.qp, MLX5_OPCODE_RDMA_WRITE, &p->a.mr, 0, 8,
		 p->b.mr.va - 8, p->b.mr.key);
	get_err(&p->a, &p->a.scq, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR);
	e = drv_event(&p->b.drv, &p->b.drv.async_eq, CX_EV_WQ_ACCESS, &n);
	assert_int_equal(n, 1);
	assert_int_equal(drv_event_qpn(e), p->b.qp.qpn);
	assert_int_equal(e->data[20], 0);	/* a QP's, not an RQ's */
}

/* The failed one first, then all that were posted, then all that will be. */
static void flush_in_order(void **state)
{
	struct pair *p = *state;
	uint16_t i, first = p->a.qp.sq_pi;

	for (i = 0; i < 5; i++)
		drv_recv(&p->a.qp, &p->a.mr, 0, 64);
	drv_rdma(&p->a.qp, MLX5_OPCODE_RDMA_WRITE, &p->a.mr, 0, 8, 0, 0);
	get_err(&p->a, &p->a.scq, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR);
	for (i = 0; i < 5; i++)
		flushed(&p->a, &p->a.rcq, i);
	for (i = 1; i < 5; i++) {
		drv_send(&p->a.qp, &p->a.mr, 0, 8);
		flushed(&p->a, &p->a.scq, first + i);
	}
	no_wc(&p->a, &p->a.scq);
}

static void flush_on_command(void **state)
{
	struct pair *p = *state;
	struct drv_sge sge = { p->a.mr.va, 8, p->a.mr.key };
	struct drv_wr wr = { .opcode = MLX5_OPCODE_SEND, .sge = &sge,
			     .nr_sge = 1 };	/* not even signaled */
	uint16_t i;

	for (i = 0; i < 5; i++) {
		drv_recv(&p->a.qp, &p->a.mr, 0, 64);
		drv_post(&p->a.qp, &wr);	/* b has no receive */
	}
	no_wc(&p->a, &p->a.scq);
	ok(drv_qp_to(&p->a.qp, MLX5_CMD_OP_2ERR_QP));
	for (i = 0; i < 5; i++) {
		flushed(&p->a, &p->a.scq, i);
		flushed(&p->a, &p->a.rcq, i);
	}
	no_wc(&p->a, &p->a.scq);
	no_wc(&p->a, &p->a.rcq);
	ok(drv_qp_to(&p->a.qp, MLX5_CMD_OP_2ERR_QP));	/* again: nothing */
	no_wc(&p->a, &p->a.scq);
}

/* Receives posted after the QP failed: ib_drain_rq() waits for one. */
static void flush_of_late_receives(void **state)
{
	struct pair *p = *state;
	struct drv_path path = pair_path();
	struct drv_qp drain;
	struct drv_qp_init init = { .type = DRV_RC, .scq = &p->a.scq,
				    .rcq = &p->a.rcq };

	ok(drv_qp(&p->a.drv, &drain, &init));
	path.dlid = 2;
	path.qpn = 77;
	ok(drv_qp_up(&drain, &path));
	drv_recv(&drain, &p->a.mr, 0, 64);
	ok(drv_qp_to(&drain, MLX5_CMD_OP_2ERR_QP));
	flushed(&p->a, &p->a.rcq, 0);
	drv_recv(&drain, &p->a.mr, 0, 64);
	drv_send(&drain, &p->a.mr, 0, 8);
	flushed(&p->a, &p->a.scq, 0);
	rig_sleep(p->rig, 1000 * MS);
	flushed(&p->a, &p->a.rcq, 1);
	ok(drv_qp_destroy(&drain));
}

static void nobody_answers(void **state)
{
	struct pair *p = *state;
	struct drv_path path = pair_path();
	uint64_t start;

	pair_make(p, DRV_RC);
	path.timeout = 14;		/* 67 ms */
	path.retry = 2;
	pair_connect(p, &path);
	ok(drv_qp_to(&p->b.qp, MLX5_CMD_OP_2RST_QP));
	start = p->rig->now;
	drv_send(&p->a.qp, &p->a.mr, 0, 8);
	rig_sleep(p->rig, 190 * MS);
	no_wc(&p->a, &p->a.scq);
	rig_sleep(p->rig, 2000 * MS);
	get_err(&p->a, &p->a.scq, MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR);
	assert_true(p->rig->now > start);
	assert_true(cx_stats(p->a.drv.dev->cx)->retries >= 2);
	silence(p);
}

static void receiver_never_ready(void **state)
{
	struct pair *p = *state;
	struct drv_path path = pair_path();

	pair_make(p, DRV_RC);
	path.rnr_retry = 2;
	pair_connect(p, &path);
	drv_send(&p->a.qp, &p->a.mr, 0, 8);
	no_wc(&p->a, &p->a.scq);
	rig_sleep(p->rig, 1000 * MS);
	get_err(&p->a, &p->a.scq, MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR);
	silence(p);
}

static void receiver_ready_at_last(void **state)
{
	struct pair *p = *state;
	int i;

	fill(p->a.mem, 3000, 3);
	for (i = 0; i < 3; i++)
		drv_send(&p->a.qp, &p->a.mr, i * 1000, 1000);
	rig_sleep(p->rig, 5000 * MS);		/* rnr_retry 7: for ever */
	no_wc(&p->a, &p->a.scq);
	for (i = 0; i < 3; i++)
		drv_recv(&p->b.qp, &p->b.mr, i * 1000, 1000);
	rig_sleep(p->rig, 1000 * MS);
	for (i = 0; i < 3; i++) {
		get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
		get_wc(&p->b, &p->b.rcq, MLX5_CQE_RESP_SEND);
	}
	assert_true(filled(p->b.mem, 3000, 3));
}

/* The cable is out for a while: nothing is lost, nothing comes twice. */
static void cable_pulled_for_a_moment(void **state)
{
	struct pair *p = *state;
	struct drv_path path = pair_path();
	uint64_t *n = (uint64_t *)p->b.mem;
	int i;

	pair_make(p, DRV_RC);
	path.timeout = 16;
	path.retry = 7;
	pair_connect(p, &path);
	*n = 0;
	cx_cable(p->a.drv.dev->cx, false);
	rig_run(p->rig);
	for (i = 0; i < 5; i++) {
		struct drv_sge sge = { p->a.mr.va + 8 * i, 8, p->a.mr.key };
		struct drv_wr wr = { .opcode = MLX5_OPCODE_ATOMIC_FA,
				     .flags = DRV_SIGNALED, .sge = &sge,
				     .nr_sge = 1, .raddr = p->b.mr.va,
				     .rkey = p->b.mr.key, .swap_add = 1 };

		drv_post(&p->a.qp, &wr);
	}
	rig_sleep(p->rig, 300 * MS);
	no_wc(&p->a, &p->a.scq);
	cx_cable(p->a.drv.dev->cx, true);
	rig_sleep(p->rig, 2000 * MS);
	for (i = 0; i < 5; i++)
		get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	assert_int_equal(*n, 5);
}

static void port_events(void **state)
{
	struct pair *p = *state;
	struct drv *v = &p->a.drv;
	const struct drv_eqe *e;

	drv_event(v, &v->async_eq, CX_EV_PORT_CHANGE, NULL);
	cx_cable(v->dev->cx, false);
	e = drv_event(v, &v->async_eq, CX_EV_PORT_CHANGE, NULL);
	assert_non_null(e);
	assert_int_equal(e->sub_type, CX_PORT_DOWN);
	assert_int_equal(e->data[8] >> 4, 1);		/* port 1 */
	assert_int_equal(cx_port_state(v->dev->cx), 1);
	cx_cable(v->dev->cx, true);
	e = drv_event(v, &v->async_eq, CX_EV_PORT_CHANGE, NULL);
	assert_non_null(e);
	assert_int_equal(e->sub_type, CX_PORT_ACTIVE);
	assert_int_equal(cx_port_state(v->dev->cx), 4);
}

/* A datagram that fails stops the send queue; receives go on. */
static void send_queue_error(void **state)
{
	struct pair *p = *state;
	struct drv_path path = pair_path();
	struct drv_sge sge = { p->a.mr.va - 8, 8, p->a.mr.key };
	struct drv_wr wr = { .opcode = MLX5_OPCODE_SEND, .sge = &sge,
			     .nr_sge = 1, .flags = DRV_SIGNALED };

	wr.ud.dlid = 2;
	wr.ud.qpn = p->b.qp.qpn;
	wr.ud.qkey = QKEY;
	drv_recv(&p->b.qp, &p->b.mr, 0, 100);
	drv_post(&p->a.qp, &wr);
	get_err(&p->a, &p->a.scq, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
	assert_int_equal(drv_qp_state(&p->a.qp), DRV_SQER);
	ok(drv_qp_modify(&p->a.qp, MLX5_CMD_OP_SQERR2RTS_QP, 0, &path));
	sge.addr = p->a.mr.va;
	drv_post(&p->a.qp, &wr);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	get_wc(&p->b, &p->b.rcq, MLX5_CQE_RESP_SEND);
}

/* A doorbell record beyond the queue, and one that goes back. */
static void doorbell_records_that_lie(void **state)
{
	struct pair *p = *state;
	uint64_t ctrl = 0;
	uint32_t n;

	n = htobe32(p->a.qp.qpn << 8 | 1);
	memcpy((uint8_t *)&ctrl + 4, &n, 4);
	p->a.qp.sq_pi = 40000;
	drv_ring(&p->a.qp, &ctrl, p->a.qp.uar);
	rig_run(p->rig);
	p->a.qp.sq_pi = 3;
	drv_ring(&p->a.qp, &ctrl, p->a.qp.uar);
	p->b.qp.db[0] = htobe32(50000);
	drv_send(&p->a.qp, &p->a.mr, 0, 8);
	rig_sleep(p->rig, 1000 * MS);
	assert_int_equal(p->rig->faults, 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, pair_setup, pair_teardown)
#define RC(f) cmocka_unit_test_setup_teardown(f, pair_setup_rc, pair_teardown)
#define UC(f) cmocka_unit_test_setup_teardown(f, pair_setup_uc, pair_teardown)
#define UD(f) cmocka_unit_test_setup_teardown(f, pair_setup_ud, pair_teardown)
	const struct CMUnitTest tests[] = {
		RC(receive_too_small),
		RC(no_such_opcode),
		UC(opcode_of_another_transport),
		RC(sizes_that_lie),
		T(operation_not_enabled),
		RC(atomic_off_its_boundary),
		RC(event_for_a_refused_write),
		RC(flush_in_order),
		RC(flush_on_command),
		T(flush_of_late_receives),
		T(nobody_answers),
		T(receiver_never_ready),
		RC(receiver_ready_at_last),
		T(cable_pulled_for_a_moment),
		T(port_events),
		UD(send_queue_error),
		RC(doorbell_records_that_lie),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
