// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The destroy verbs, each down to its command: what ib_core hears when the backend
 * refuses, and what becomes of the object's memory. ib_core would keep the object and
 * all that it depends on. Of queue pairs and regions there is more in test_front_qp.c
 * and test_front_mr.c.
 */
#include "kernel.h"
#include "srqs.h"

#define static_assert(...)	_Static_assert(__VA_ARGS__, "")
#define xa_insert(xa, i, obj, gfp) 0
#define xa_erase(xa, i)		((void)(xa))
enum ib_cq_notify_flags { IB_CQ_SOLICITED = 1, IB_CQ_SOLICITED_MASK = 3 };
struct ib_cq_init_attr { int cqe, comp_vector; u32 flags; };
/* Of compat.h, as in 6.1 */
#define vhca_cq_attrs		ib_udata
#define vhca_cq_udata(attrs)	(attrs)

/* No address vector is looked at here. */
#define IB_AH_GRH		1
union ib_gid { u8 raw[16]; };
struct ib_global_route {
	union ib_gid dgid;
	u32 flow_label;
	u8 sgid_index, hop_limit, traffic_class;
};
struct rdma_ah_attr { struct ib_global_route grh; int type; };
struct rdma_ah_init_attr { struct rdma_ah_attr *ah_attr; };
#define rdma_ah_get_ah_flags(a)	0
#define rdma_ah_read_grh(a)	(&(a)->grh)
#define rdma_ah_get_port_num(a)	1
#define rdma_ah_get_sl(a)	0
#define rdma_ah_get_static_rate(a) 0
#define rdma_ah_get_path_bits(a) 0
#define rdma_ah_get_dlid(a)	0
#define rdma_ah_find_type(ibdev, port) 0
#define rdma_ah_set_port_num(a, v) ((void)(a))
#define rdma_ah_set_sl		rdma_ah_set_port_num
#define rdma_ah_set_static_rate	rdma_ah_set_port_num
#define rdma_ah_set_path_bits	rdma_ah_set_port_num
#define rdma_ah_set_dlid	rdma_ah_set_port_num
#define rdma_ah_set_grh(a, ...)	((void)(a))

#include "copy/cmd.c"
#include "cmd_rest.h"
#include "no_ranges.h"
#undef VHCA_BODY
#undef VHCA_RESULT
#undef VHCA_UC
#include "copy/object.c"
#include "copy/ah.c"
#include "copy/cq.c"
#include "copy/mw.c"
#include "copy/pd.c"
#include "copy/srq.c"
#include "copy/xrcd.c"

static struct vhca_dev dev;
static struct vhca_ucontext uc;
static struct vhca_pd pd;
static struct ib_udata udata;
static int answer, submitted;
static u16 last_op;
static u32 last_handle;
static unsigned int last_flags;

/* ---- the rest of the module ---- */
int vhca_ring_submit(struct vhca_dev *d, struct vhca_cmd **cmd,
		     unsigned int flags)
{
	submitted++;
	last_op = (*cmd)->req.op;
	last_handle = (*cmd)->req.u.handle.handle;
	last_flags = flags;
	return answer;
}

int vhca_ring_kick_wait(struct vhca_dev *d, struct vhca_kick *kick)
{
	return -EIO;
}

int vhca_udata_store(struct vhca_dev *d, const struct vhca_cmd *cmd,
		     struct ib_udata *u, bool outptr)
{
	return 0;
}

struct vhca_ucontext *vhca_udata_uc(struct ib_udata *u)
{
	assert_ptr_equal(u, &udata);
	return &uc;
}

struct vhca_ucontext *vhca_pd_uc(struct ib_pd *ibpd)
{
	assert_ptr_equal(ibpd, &pd.ibpd);
	return &uc;
}

void vhca_mem_put(struct vhca_mem *m)
{
}

int vhca_gid_usable(struct vhca_dev *d, u32 index)
{
	return 0;
}

/* ---- the verbs ---- */
#define HANDLE	7

static int end_cq(void)
{
	struct vhca_cq cq = {
		.ibcq.device = &dev.ibdev, .uc = &uc, .handle = HANDLE,
	};

	return vhca_destroy_cq(&cq.ibcq, &udata);
}

static int end_srq(void)
{
	struct vhca_srq srq = {
		.ibsrq = { .device = &dev.ibdev, .pd = &pd.ibpd },
		.handle = HANDLE,
	};

	return vhca_destroy_srq(&srq.ibsrq, &udata);
}

static int end_pd(void)
{
	struct vhca_pd it = { .ibpd.device = &dev.ibdev, .handle = HANDLE };

	return vhca_dealloc_pd(&it.ibpd, &udata);
}

static int end_mw(void)
{
	struct vhca_mw mw = {
		.ibmw = { .device = &dev.ibdev, .pd = &pd.ibpd },
		.handle = HANDLE,
	};
	int rc;

	atomic_set(&pd.mws, 1);
	rc = vhca_dealloc_mw(&mw.ibmw);
	/* Else it could hold regions of the domain for ever. */
	assert_int_equal(atomic_read(&pd.mws), 0);
	return rc;
}

static int end_ah(void)
{
	struct vhca_ah ah = {
		.ibah = { .device = &dev.ibdev, .pd = &pd.ibpd },
		.handle = HANDLE,
	};

	return vhca_destroy_ah(&ah.ibah, 0);
}

static int end_xrcd(void)
{
	struct vhca_xrcd xrcd = {
		.ibxrcd.device = &dev.ibdev, .handle = HANDLE,
	};

	return vhca_dealloc_xrcd(&xrcd.ibxrcd, &udata);
}

static const struct verb {
	int (*end)(void);
	u16 op;
	bool bufs;			/* it has memory of the process */
} verbs[] = {
	{ end_cq, XENVHCA_OP_DESTROY_CQ, true },
	{ end_srq, XENVHCA_OP_DESTROY_SRQ, true },
	{ end_pd, XENVHCA_OP_DEALLOC_PD, false },
	{ end_mw, XENVHCA_OP_DEALLOC_MW, false },
	{ end_ah, XENVHCA_OP_DESTROY_AH, false },
	{ end_xrcd, XENVHCA_OP_DEALLOC_XRCD, false },
};

/* ---- tests ---- */
static int setup(void **state)
{
	uc = (struct vhca_ucontext){ .ibuc.device = &dev.ibdev };
	dev.ring.state = VHCA_RING_UP;
	current->flags = 0;
	return 0;
}

/* Each of them, answered by @rc; its memory is held for the context's end, or not. */
static void all(int rc, bool held)
{
	const struct verb *v;

	for (v = verbs; v < verbs + ARRAY_SIZE(verbs); v++) {
		answer = rc;
		submitted = 0;
		bufs_held = !held;
		assert_int_equal(v->end(), 0);
		assert_int_equal(submitted, 1);
		assert_int_equal(last_op, v->op);
		assert_int_equal(last_handle, HANDLE);
		assert_int_equal(last_flags, VHCA_CMD_DESTROY);
		if (v->bufs)
			assert_int_equal(bufs_held, held);
	}
}

static void an_object_goes(void **state)
{
	all(0, false);
}

static void a_refusal_is_not_heard_of(void **state)
{
	all(-EBUSY, true);
	all(-EINVAL, true);
	all(-ENOMEM, true);
}

/* What it maps no more is sorted out page by page. */
static void nor_a_dead_device(void **state)
{
	dev.ring.state = VHCA_RING_BROKEN;
	all(-EIO, false);
	all(-ETIMEDOUT, false);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup(f, setup)
	static const struct CMUnitTest tests[] = {
		T(an_object_goes),
		T(a_refusal_is_not_heard_of),
		T(nor_a_dead_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
