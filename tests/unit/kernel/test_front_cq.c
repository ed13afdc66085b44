// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/verbs/cq.c: whose memory a CQ uses, when two threads resize it at once.
 * ib_uverbs takes a read reference for it, so both get as far as the driver.
 * The second one comes while the backend works for the first. And that no more is asked
 * for than was announced.
 */
#include "kernel.h"

enum ib_cq_notify_flags { IB_CQ_SOLICITED = 1, IB_CQ_SOLICITED_MASK = 3 };
struct ib_cq_init_attr { int cqe, comp_vector; u32 flags; };

/* Of compat.h, as in 6.1 */
#define vhca_cq_attrs		ib_udata
#define vhca_cq_udata(attrs)	(attrs)

#include "copy/cq.c"

#define BUFS	8
#define MAX_CQE	4096

static struct vhca_dev dev = { .attr.max_cqe = MAX_CQE };
static struct vhca_ucontext uc;
static struct vhca_cq cq = { .ibcq = { .device = &dev.ibdev } };
static struct ib_udata udata;
static struct vhca_mem mem[BUFS];
static int puts_of[BUFS], given, nested;
static int second;		/* cqe that another thread asks for meanwhile */
static int second_rc;
static struct xenvhca_modify_cq_req moderation;
static int moderate_rc, destroys;
static unsigned long unpublished;	/* key */
static u32 backend_cqe;		/* 0: as asked for */

/* ---- the rest of the module ---- */
struct vhca_ucontext *vhca_udata_uc(struct ib_udata *u)
{
	(void)u;
	return &uc;
}

/* Each resize has memory of its own. */
int vhca_cmd_resize_cq(struct vhca_ucontext *u,
		       const struct xenvhca_resize_cq_req *req,
		       struct ib_udata *ud, struct vhca_bufs *bufs,
		       struct xenvhca_cq_rsp *rsp)
{
	(void)u;
	*bufs = (struct vhca_bufs){ .buf = &mem[given++] };
	if (second && !nested++)
		second_rc = vhca_resize_cq(&cq.ibcq, second, ud);
	rsp->cqe = backend_cqe ? backend_cqe : req->cqe;
	return 0;
}

int vhca_cmd_create_cq(struct vhca_ucontext *u,
		       const struct xenvhca_create_cq_req *req,
		       struct ib_udata *ud, struct vhca_bufs *bufs,
		       struct xenvhca_cq_rsp *rsp)
{
	(void)u;
	(void)ud;
	*bufs = (struct vhca_bufs){ .buf = &mem[given++] };
	*rsp = (struct xenvhca_cq_rsp){ .handle = 7, .cqe = req->cqe };
	return 0;
}

int vhca_cmd_modify_cq(struct vhca_ucontext *u,
		       const struct xenvhca_modify_cq_req *req)
{
	assert_ptr_equal(u, &uc);
	moderation = *req;
	return moderate_rc;
}

int vhca_cmd_destroy(struct vhca_ucontext *u, u16 op, u32 handle)
{
	destroys++;
	assert_int_equal(op, XENVHCA_OP_DESTROY_CQ);
	(void)u;
	(void)handle;
	return 0;
}

void vhca_mem_put(struct vhca_mem *m)
{
	if (m)
		puts_of[m - mem]++;
}

void vhca_bufs_put(struct vhca_ucontext *u, struct vhca_bufs *bufs,
		   bool unknown)
{
	(void)u;
	(void)unknown;
	vhca_mem_put(bufs->buf);
}

bool vhca_gone(struct vhca_dev *d, const char *what, u32 handle, int rc)
{
	(void)d;
	(void)what;
	(void)handle;
	return !rc;
}

int vhca_publish(struct vhca_dev *d, struct xarray *table, unsigned long key,
		 void *obj)
{
	(void)d;
	(void)table;
	(void)key;
	(void)obj;
	return 0;
}

void vhca_unpublish(struct vhca_dev *d, struct xarray *table, unsigned long key)
{
	(void)d;
	(void)table;
	unpublished = key;
}

void vhca_break(struct vhca_dev *d, const char *reason)
{
	(void)reason;
	d->ring.state = VHCA_RING_BROKEN;
}

int vhca_ring_kick_wait(struct vhca_dev *d, struct vhca_kick *kick)
{
	(void)d;
	(void)kick;
	return 0;
}

/* ---- tests ---- */
static int setup(void **state)
{
	const struct ib_cq_init_attr attr = { .cqe = 16 };

	(void)state;
	memset(puts_of, 0, sizeof(puts_of));
	given = nested = second = second_rc = 0;
	backend_cqe = 0;
	dev.ring.state = VHCA_RING_UP;
	return vhca_create_cq(&cq.ibcq, &attr, &udata);
}

/* Each memory that was given is put back once, when the CQ is gone. */
static int teardown(void **state)
{
	int i;

	(void)state;
	vhca_destroy_cq(&cq.ibcq, &udata);
	for (i = 0; i < BUFS; i++)
		if (puts_of[i] != (i < given))
			return -1;
	return 0;
}

static void the_old_memory_goes(void **state)
{
	(void)state;
	assert_int_equal(vhca_resize_cq(&cq.ibcq, 64, &udata), 0);
	assert_int_equal(cq.ibcq.cqe, 64);
	assert_ptr_equal(cq.buf, &mem[1]);
	assert_int_equal(puts_of[0], 1);
}

/* Drivers leave a CQ alone that has the size already: the new memory goes. */
static void the_same_size_keeps_the_old(void **state)
{
	(void)state;
	assert_int_equal(vhca_resize_cq(&cq.ibcq, 16, &udata), 0);
	assert_ptr_equal(cq.buf, &mem[0]);
	assert_int_equal(puts_of[1], 1);
}

static void a_second_one_waits(void **state)
{
	(void)state;
	second = 128;
	assert_int_equal(vhca_resize_cq(&cq.ibcq, 64, &udata), 0);
	assert_int_equal(second_rc, -EINTR);	/* killed while it waited */
	assert_int_equal(cq.ibcq.cqe, 64);
	assert_int_equal(puts_of[0], 1);
	assert_int_equal(vhca_resize_cq(&cq.ibcq, 128, &udata), 0);
	assert_int_equal(cq.ibcq.cqe, 128);
}

static void a_smaller_one_is_a_lie(void **state)
{
	(void)state;
	backend_cqe = 8;
	assert_int_equal(vhca_resize_cq(&cq.ibcq, 64, &udata), -EIO);
	assert_int_equal(dev.ring.state, VHCA_RING_BROKEN);
}

static int create(int cqe)
{
	struct vhca_cq one = { .ibcq = { .device = &dev.ibdev } };
	const struct ib_cq_init_attr attr = { .cqe = cqe };
	int rc = vhca_create_cq(&one.ibcq, &attr, &udata);

	if (!rc)
		vhca_destroy_cq(&one.ibcq, &udata);
	return rc;
}

/* No memory is granted and nothing is asked for. */
static void more_completions_than_announced(void **state)
{
	static const int no[] = { MAX_CQE + 1, INT_MAX, 0, -1, INT_MIN };
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(no); i++) {
		assert_int_equal(create(no[i]), -EINVAL);
		assert_int_equal(vhca_resize_cq(&cq.ibcq, no[i], &udata), -EINVAL);
	}
	assert_int_equal(given, 1);	/* setup's */
	assert_int_equal(cq.ibcq.cqe, 16);
	assert_int_equal(create(MAX_CQE), 0);
	assert_int_equal(vhca_resize_cq(&cq.ibcq, MAX_CQE, &udata), 0);
	assert_int_equal(cq.ibcq.cqe, MAX_CQE);
}

/* In the context that made the CQ, whoever calls; the backend's verdict stays. */
static void moderation_is_the_backends(void **state)
{
	(void)state;
	moderate_rc = 0;
	assert_int_equal(vhca_modify_cq(&cq.ibcq, 16, 100), 0);
	assert_int_equal(moderation.handle, 7);
	assert_int_equal(moderation.count, 16);
	assert_int_equal(moderation.period, 100);
	moderate_rc = -EINVAL;
	assert_int_equal(vhca_modify_cq(&cq.ibcq, 16, 5000), -EINVAL);
}

/* Its handle may be that of a CQ of this connection. */
static void a_dead_one_sends_no_command(void **state)
{
	const struct ib_cq_init_attr attr = { .cqe = 16 };
	struct vhca_cq dead = { .ibcq = { .device = &dev.ibdev } };

	(void)state;
	assert_int_equal(vhca_create_cq(&dead.ibcq, &attr, &udata), 0);
	dev.gen++;
	destroys = 0;
	moderation.handle = 0;
	assert_int_equal(vhca_modify_cq(&dead.ibcq, 16, 100), -ENETDOWN);
	assert_int_equal(moderation.handle, 0);
	assert_int_equal(vhca_destroy_cq(&dead.ibcq, &udata), 0);
	assert_int_equal(destroys, 0);
	assert_int_equal(puts_of[1], 1);
	assert_int_equal(unpublished, vhca_key(0, 7));
	assert_int_not_equal(unpublished, vhca_key(1, 7));
	dev.away = true;
	assert_int_equal(vhca_create_cq(&dead.ibcq, &attr, &udata), -ENETDOWN);
	dev.away = false;
	dev.gen = 0;
	assert_int_equal(given, 2);
	assert_int_equal(dev.gate.readers, 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	static const struct CMUnitTest tests[] = {
		T(the_old_memory_goes),
		T(the_same_size_keeps_the_old),
		T(a_second_one_waits),
		T(a_smaller_one_is_a_lie),
		T(more_completions_than_announced),
		T(moderation_is_the_backends),
		T(a_dead_one_sends_no_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
