// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/verbs/qp.c: what ib_core hears of the end of a QP, and of a multicast group
 * that it leaves: a QP of which an attachment is left is not destroyed, so there
 * must be none. And which indices of the port's tables go to the backend.
 */
#include "kernel.h"

#define sizeof_field(t, m)	sizeof(((t *)0)->m)

enum { IB_QPT_RC = 2, IB_QPT_UC, IB_QPT_UD, IB_QPT_XRC_INI = 9,
       IB_QPT_XRC_TGT };
enum { IB_QPS_RESET, IB_QPS_RTS = 3 };
enum { IB_SIGNAL_ALL_WR, IB_SIGNAL_REQ_WR };
enum {
	IB_QP_STATE = 1 << 0, IB_QP_CUR_STATE = 1 << 1,
	IB_QP_EN_SQD_ASYNC_NOTIFY = 1 << 2, IB_QP_ACCESS_FLAGS = 1 << 3,
	IB_QP_PKEY_INDEX = 1 << 4, IB_QP_PORT = 1 << 5, IB_QP_QKEY = 1 << 6,
	IB_QP_AV = 1 << 7, IB_QP_PATH_MTU = 1 << 8, IB_QP_TIMEOUT = 1 << 9,
	IB_QP_RETRY_CNT = 1 << 10, IB_QP_RNR_RETRY = 1 << 11,
	IB_QP_RQ_PSN = 1 << 12, IB_QP_MAX_QP_RD_ATOMIC = 1 << 13,
	IB_QP_ALT_PATH = 1 << 14, IB_QP_MIN_RNR_TIMER = 1 << 15,
	IB_QP_SQ_PSN = 1 << 16, IB_QP_MAX_DEST_RD_ATOMIC = 1 << 17,
	IB_QP_PATH_MIG_STATE = 1 << 18, IB_QP_DEST_QPN = 1 << 20,
	IB_QP_RATE_LIMIT = 1 << 25,
};
#define IB_UVERBS_DEVICE_XRC	(1 << 20)

struct rdma_ah_attr { int index; };
struct ib_send_wr;
union ib_gid { u8 raw[16]; };
struct ib_qp_cap {
	u32 max_send_wr, max_recv_wr, max_send_sge, max_recv_sge,
	    max_inline_data;
};
struct ib_qp_attr {
	u32 qkey, rq_psn, sq_psn, dest_qp_num, qp_access_flags, qp_state,
	    cur_qp_state, path_mtu, path_mig_state, port_num, alt_port_num,
	    rate_limit;
	u16 pkey_index, alt_pkey_index;
	u8 en_sqd_async_notify, sq_draining, max_rd_atomic, max_dest_rd_atomic,
	   min_rnr_timer, timeout, retry_cnt, rnr_retry, alt_timeout;
	struct ib_qp_cap cap;
	struct rdma_ah_attr ah_attr, alt_ah_attr;
};
struct ib_qp_init_attr {
	struct ib_cq *send_cq, *recv_cq;
	struct ib_srq *srq;
	struct ib_xrcd *xrcd;
	struct ib_qp_cap cap;
	void (*event_handler)(struct ib_event *event, void *ctx);
	void *qp_context;
	int qp_type, sq_sig_type, create_flags;
};

#include "copy/qp.c"

#define HANDLE	7

static struct vhca_store xen;
static struct vhca_dev dev = { .store = &xen };
static struct vhca_ucontext uc;
static struct ib_pd pd = { .device = &dev.ibdev };
static struct vhca_qp qp = {
	.ibqp = { .device = &dev.ibdev, .pd = &pd }, .handle = HANDLE,
};
static union ib_gid group = { .raw = { 0xff, 0x0e, [15] = 1 } };
static int answer, asked, kept, modified;
static bool held;		/* its memory, for the context's end */

/* ---- the rest of the module ---- */
struct vhca_ucontext *vhca_pd_uc(struct ib_pd *ibpd)
{
	assert_ptr_equal(ibpd, &pd);
	return &uc;
}

int vhca_cmd_detach_mcast(struct vhca_ucontext *u,
			  const struct xenvhca_mcast_req *req)
{
	assert_ptr_equal(u, &uc);
	assert_int_equal(req->qp, HANDLE);
	assert_int_equal(req->mlid, 0xc001);
	assert_memory_equal(req->gid, group.raw, sizeof(req->gid));
	asked++;
	return answer;
}

bool vhca_gone(struct vhca_dev *d, const char *what, u32 handle, int rc)
{
	bool gone = !rc || d->ring.state != VHCA_RING_UP;

	assert_int_equal(handle, HANDLE);
	kept += !gone;
	return gone;
}

struct vhca_ucontext *vhca_udata_uc(struct ib_udata *udata)
{
	return &uc;
}

int vhca_cmd_create_qp(struct vhca_dev *d, struct vhca_ucontext *u,
		       const struct xenvhca_create_qp_req *req,
		       struct ib_udata *udata, struct vhca_bufs *bufs,
		       struct xenvhca_create_qp_rsp *rsp)
{
	return -EIO;
}

int vhca_cmd_modify_qp(struct vhca_dev *d, struct vhca_ucontext *u,
		       const struct xenvhca_modify_qp_req *req,
		       struct ib_udata *udata)
{
	modified++;
	return 0;
}

/* Index 1 is this guest's, of either table. */
int vhca_ah_check(struct vhca_dev *d, const struct rdma_ah_attr *a)
{
	return a->index == 1 ? 0 : -ENODATA;
}

int vhca_pkey_usable(struct vhca_dev *d, u32 index)
{
	return index == 1 ? 0 : -EINVAL;
}

int vhca_cmd_query_qp(struct vhca_dev *d, struct vhca_ucontext *u, u32 handle,
		      u32 mask, struct xenvhca_query_qp_rsp *rsp)
{
	return -EIO;
}

int vhca_cmd_destroy_qp(struct vhca_dev *d, struct vhca_ucontext *u, u32 handle)
{
	assert_int_equal(handle, HANDLE);
	asked++;
	return answer;
}

int vhca_cmd_attach_mcast(struct vhca_ucontext *u,
			  const struct xenvhca_mcast_req *req)
{
	return -EIO;
}

int vhca_publish(struct vhca_dev *d, struct xarray *table, unsigned long key,
		 void *obj)
{
	return -EIO;
}

void vhca_unpublish(struct vhca_dev *d, struct xarray *table, unsigned long key)
{
}

void vhca_bufs_put(struct vhca_ucontext *u, struct vhca_bufs *bufs,
		   bool unknown)
{
	held = unknown;
}

void vhca_ah_to_wire(struct xenvhca_ah_attr *w, const struct rdma_ah_attr *a)
{
}

void vhca_ah_from_wire(struct ib_device *ibdev, struct rdma_ah_attr *a,
		       const struct xenvhca_ah_attr *w)
{
}

int vhca_ring_kick(struct vhca_dev *d, struct vhca_kick *kick)
{
	return -EIO;
}

/* ---- tests ---- */
static int setup(void **state)
{
	dev.ring.state = VHCA_RING_UP;
	answer = asked = kept = 0;
	return 0;
}

static void detach(int rc)
{
	answer = rc;
	asked = 0;
	assert_int_equal(vhca_detach_mcast(&qp.ibqp, &group, 0xc001), 0);
	assert_int_equal(asked, 1);
}

static void a_group_is_left(void **state)
{
	detach(0);
	assert_int_equal(kept, 0);
}

static void a_refusal_is_not_heard_of(void **state)
{
	detach(-EINVAL);
	detach(-EBUSY);
	detach(-EIO);
	assert_int_equal(kept, 3);	/* and so said in the log */
}

/* Neither is a command that this guest could not send. */
static void nor_a_lack_of_memory(void **state)
{
	detach(-ENOMEM);
}

static void nor_a_dead_device(void **state)
{
	dev.ring.state = VHCA_RING_BROKEN;
	detach(-EIO);
	detach(-ETIMEDOUT);
	assert_int_equal(kept, 0);
}

static void destroy(int rc, bool hold)
{
	answer = rc;
	asked = 0;
	held = !hold;
	assert_int_equal(vhca_destroy_qp(&qp.ibqp, NULL), 0);
	assert_int_equal(asked, 1);
	assert_int_equal(held, hold);
}

/* Its memory stays granted where the HCA may still use it. */
static void a_queue_pair_goes_whatever_is_answered(void **state)
{
	destroy(0, false);
	assert_int_equal(kept, 0);
	destroy(-EBUSY, true);
	destroy(-EINVAL, true);
	destroy(-ENOMEM, true);
	assert_int_equal(kept, 3);
	dev.ring.state = VHCA_RING_BROKEN;
	destroy(-EIO, false);
	assert_int_equal(kept, 3);
}

/* Each of the four has its own bit, and is looked at only with it. */
static void an_index_of_another_costs_no_command(void **state)
{
	struct ib_qp_attr a = {};
	int paths = IB_QP_AV | IB_QP_PKEY_INDEX | IB_QP_ALT_PATH;

	modified = 0;
	assert_int_equal(vhca_modify_qp(&qp.ibqp, &a, IB_QP_QKEY, NULL), 0);
	a.ah_attr.index = a.alt_ah_attr.index = 1;
	a.pkey_index = a.alt_pkey_index = 1;
	assert_int_equal(vhca_modify_qp(&qp.ibqp, &a, paths, NULL), 0);
	assert_int_equal(modified, 2);
	a.ah_attr.index = 2;
	assert_int_equal(vhca_modify_qp(&qp.ibqp, &a, IB_QP_AV, NULL), -ENODATA);
	a.ah_attr.index = 1;
	a.alt_ah_attr.index = 2;
	assert_int_equal(vhca_modify_qp(&qp.ibqp, &a, paths, NULL), -ENODATA);
	a.alt_ah_attr.index = 1;
	a.pkey_index = 2;
	assert_int_equal(vhca_modify_qp(&qp.ibqp, &a, IB_QP_PKEY_INDEX, NULL),
			 -EINVAL);
	a.pkey_index = 1;
	a.alt_pkey_index = 2;
	assert_int_equal(vhca_modify_qp(&qp.ibqp, &a, paths, NULL), -EINVAL);
	assert_int_equal(modified, 2);
}

/* Of an earlier connection: its handle may be another object's by now. */
static void a_dead_queue_pair_sends_no_command(void **state)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr a = {};

	(void)state;
	qp.gen = 1;
	modified = 0;
	held = true;
	assert_int_equal(vhca_modify_qp(&qp.ibqp, &a, IB_QP_QKEY, NULL), -ENETDOWN);
	assert_int_equal(vhca_query_qp(&qp.ibqp, &a, 0, &init), -ENETDOWN);
	assert_int_equal(vhca_attach_mcast(&qp.ibqp, &group, 0xc001), -ENETDOWN);
	assert_int_equal(vhca_detach_mcast(&qp.ibqp, &group, 0xc001), 0);
	assert_int_equal(vhca_destroy_qp(&qp.ibqp, NULL), 0);
	assert_false(held);			/* its memory goes */
	assert_int_equal(asked + modified + kept, 0);
	qp.gen = 0;
	dev.away = true;			/* between two connections */
	assert_int_equal(vhca_modify_qp(&qp.ibqp, &a, IB_QP_QKEY, NULL), -ENETDOWN);
	dev.away = false;
	assert_int_equal(dev.gate.readers, 0);
}

/* Nothing is granted or asked for; receives of an SRQ are its own. */
static void more_requests_than_announced(void **state)
{
	struct ib_qp_init_attr a = {
		.qp_type = IB_QPT_RC, .send_cq = (void *)&qp,
		.recv_cq = (void *)&qp,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4 },
	};
	struct ib_srq *srq = (void *)&qp;
	struct ib_udata udata = {};

	(void)state;
	dev.attr.max_qp_wr = 4;
	assert_int_equal(vhca_create_qp(&qp.ibqp, &a, &udata), -EIO);
	a.cap.max_send_wr = 5;
	assert_int_equal(vhca_create_qp(&qp.ibqp, &a, &udata), -EINVAL);
	a.cap = (struct ib_qp_cap){ .max_send_wr = 4, .max_recv_wr = 5 };
	assert_int_equal(vhca_create_qp(&qp.ibqp, &a, &udata), -EINVAL);
	a.srq = srq;
	assert_int_equal(vhca_create_qp(&qp.ibqp, &a, &udata), -EIO);
	dev.gen = 1;		/* parts of another connection */
	assert_int_equal(vhca_create_qp(&qp.ibqp, &a, &udata), -ENETDOWN);
	dev.gen = 0;
}

#define T(f) cmocka_unit_test_setup(f, setup)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_group_is_left),
		T(a_refusal_is_not_heard_of),
		T(nor_a_lack_of_memory),
		T(nor_a_dead_device),
		T(a_queue_pair_goes_whatever_is_answered),
		T(an_index_of_another_costs_no_command),
		T(a_dead_queue_pair_sends_no_command),
		T(more_requests_than_announced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
