// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/verbs/srq.c: whose memory a shared receive queue uses, when two threads resize
 * it at once. ib_uverbs takes a read reference for it, so both get as far as the
 * driver. The second one comes while the backend works for the first.
 *
 * And what of tag matching a backend may say, and what is asked of it: numbers that
 * no HCA has do not reach user space; a queue of more tags than were announced is not
 * asked for.
 */
#include "kernel.h"

#include "srqs.h"

#include "copy/srq.c"

#define BUFS	8
#define HANDLE	9

static struct vhca_provider provider;
static struct vhca_dev dev = { .provider = &provider };
static struct vhca_ucontext uc;
static struct ib_pd pd = { .device = &dev.ibdev };
static struct vhca_srq srq = { .ibsrq = { .device = &dev.ibdev, .pd = &pd } };
static struct ib_udata udata;
static struct vhca_mem mem[BUFS];
static int puts_of[BUFS], given, nested;
static u32 second;		/* max_wr that another thread asks for meanwhile */
static int second_rc, answer;
static bool in_place;		/* an HCA that has the queue's memory */
static struct xenvhca_modify_srq_req asked;
static struct xenvhca_create_srq_req made;

/* ---- the rest of the module ---- */
struct vhca_ucontext *vhca_udata_uc(struct ib_udata *u)
{
	return &uc;
}

struct vhca_ucontext *vhca_pd_uc(struct ib_pd *ibpd)
{
	assert_ptr_equal(ibpd, &pd);
	return &uc;
}

int vhca_cmd_create_srq(struct vhca_ucontext *u,
			const struct xenvhca_create_srq_req *req,
			struct ib_udata *ud, struct vhca_bufs *bufs,
			struct xenvhca_create_srq_rsp *rsp)
{
	made = *req;
	*bufs = (struct vhca_bufs){ .buf = &mem[given++] };
	*rsp = (struct xenvhca_create_srq_rsp){
		.handle = HANDLE, .max_wr = req->max_wr,
	};
	return 0;
}

static int resize(u32 max_wr)
{
	struct ib_srq_attr attr = { .max_wr = max_wr, .srq_limit = 5 };

	return vhca_modify_srq(&srq.ibsrq, &attr, IB_SRQ_MAX_WR, &udata);
}

/* Each resize has memory of its own. */
int vhca_cmd_modify_srq(struct vhca_ucontext *u,
			const struct xenvhca_modify_srq_req *req,
			struct ib_udata *ud, struct vhca_bufs *bufs)
{
	asked = *req;
	*bufs = (struct vhca_bufs){};
	if (answer)
		return answer;
	if (req->mask & IB_SRQ_MAX_WR && !in_place)
		bufs->buf = &mem[given++];
	if (second && !nested++)
		second_rc = resize(second);
	return 0;
}

int vhca_cmd_query_srq(struct vhca_ucontext *u, u32 handle,
		       struct xenvhca_query_srq_rsp *rsp)
{
	return -EIO;
}

int vhca_cmd_destroy(struct vhca_ucontext *u, u16 op, u32 handle)
{
	assert_int_equal(op, XENVHCA_OP_DESTROY_SRQ);
	assert_int_equal(handle, HANDLE);
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
	vhca_mem_put(bufs->buf);
}

bool vhca_gone(struct vhca_dev *d, const char *what, u32 handle, int rc)
{
	return !rc;
}

int vhca_publish(struct vhca_dev *d, struct xarray *table, unsigned long key,
		 void *obj)
{
	return 0;
}

void vhca_unpublish(struct vhca_dev *d, struct xarray *table, unsigned long key)
{
}

/* ---- tests ---- */
static int setup(void **state)
{
	struct ib_srq_init_attr init = { .attr.max_wr = 16 };

	memset(puts_of, 0, sizeof(puts_of));
	given = nested = second_rc = answer = 0;
	second = 0;
	in_place = false;
	provider.tm = 1;
	dev.attr.tm_caps.max_num_tags = 127;
	dev.attr.max_srq_wr = 1023;
	return vhca_create_srq(&srq.ibsrq, &init, &udata);
}

/* Each memory that was given is put back once, when the SRQ is gone. */
static int teardown(void **state)
{
	int i;

	vhca_destroy_srq(&srq.ibsrq, &udata);
	for (i = 0; i < BUFS; i++)
		if (puts_of[i] != (i < given))
			return -1;
	return 0;
}

static void the_old_memory_goes(void **state)
{
	assert_int_equal(resize(64), 0);
	assert_ptr_equal(srq.buf, &mem[1]);
	assert_int_equal(puts_of[0], 1);
	assert_int_equal(asked.max_wr, 64);
	assert_int_equal(asked.srq_limit, 0);	/* not asked for */
}

/* Else both take the old memory for the one that they replace, and put it twice. */
static void a_second_one_waits(void **state)
{
	second = 128;
	assert_int_equal(resize(64), 0);
	assert_int_equal(second_rc, -EINTR);	/* killed while it waited */
	assert_ptr_equal(srq.buf, &mem[1]);
	assert_int_equal(puts_of[0], 1);
	assert_int_equal(resize(128), 0);
	assert_int_equal(puts_of[1], 1);
}

static void a_refusal_keeps_the_memory(void **state)
{
	answer = -ENOMEM;
	assert_int_equal(resize(64), -ENOMEM);
	assert_ptr_equal(srq.buf, &mem[0]);
	answer = 0;
	assert_int_equal(resize(64), 0);	/* nobody holds the lock */
	assert_ptr_equal(srq.buf, &mem[1]);
}

/* A limit, or an HCA whose driver has the memory. */
static void no_new_memory_keeps_the_old(void **state)
{
	struct ib_srq_attr attr = { .max_wr = 7, .srq_limit = 5 };

	assert_int_equal(vhca_modify_srq(&srq.ibsrq, &attr, IB_SRQ_LIMIT,
					 &udata), 0);
	assert_int_equal(asked.srq_limit, 5);
	assert_int_equal(asked.max_wr, 0);
	in_place = true;
	assert_int_equal(resize(64), 0);
	assert_ptr_equal(srq.buf, &mem[0]);
	assert_int_equal(puts_of[0], 0);
}

static int create(int type, u32 tags)
{
	struct vhca_srq one = { .ibsrq = { .device = &dev.ibdev, .pd = &pd } };
	struct vhca_cq cq = { .handle = 6 };
	struct ib_srq_init_attr init = {
		.attr.max_wr = 16, .srq_type = type,
		.ext = { .cq = &cq.ibcq, .tag_matching = { tags } },
	};
	int rc = vhca_create_srq(&one.ibsrq, &init, &udata);

	if (!rc)
		vhca_destroy_srq(&one.ibsrq, &udata);
	return rc;
}

static void tags_are_asked_for(void **state)
{
	assert_int_equal(create(IB_SRQT_TM, 127), 0);
	assert_int_equal(made.srq_type, 2);
	assert_int_equal(made.max_tags, 127);
	assert_int_equal(made.cq, 6);
	assert_int_equal(made.xrcd, 0);
	assert_int_equal(create(IB_SRQT_TM, 0), 0);
	assert_int_equal(made.max_tags, 0);
	assert_int_equal(create(IB_SRQT_BASIC, 99), 0);
	assert_int_equal(made.max_tags, 0);
	assert_int_equal(made.cq, 0);
}

static void more_tags_than_announced(void **state)
{
	assert_int_equal(create(IB_SRQT_TM, 128), -EINVAL);
	assert_int_equal(create(IB_SRQT_TM, ~0u), -EINVAL);
	dev.attr.tm_caps.max_num_tags = 0;
	assert_int_equal(create(IB_SRQT_TM, 0), -EINVAL);
	provider.tm = 0;
	assert_int_equal(create(IB_SRQT_TM, 1), -EOPNOTSUPP);
	assert_int_equal(given, 1);	/* setup's */
}

static void lies_about_tags_are_cut(void **state)
{
	struct ib_tm_caps tm = { 0 }, zero = { 0 };
	struct xenvhca_query_device_rsp rsp;

	memset(&rsp, 0xff, sizeof(rsp));
	rsp.tm_max_tags = 0;		/* then nothing else means anything */
	vhca_srq_caps(&tm, &rsp);
	assert_memory_equal(&tm, &zero, sizeof(tm));
	rsp.tm_max_tags = ~0u;
	vhca_srq_caps(&tm, &rsp);
	assert_int_equal(tm.max_num_tags, 0xffff);
	assert_int_equal(tm.max_ops, INT_MAX);
	assert_int_equal(tm.max_sge, 0xffff);
	assert_int_equal(tm.max_rndv_hdr_size, 0xffff);
	assert_int_equal(tm.flags, 1);
}

/* Nothing is granted or asked for. */
static void more_receives_than_announced(void **state)
{
	struct vhca_srq one = { .ibsrq = { .device = &dev.ibdev, .pd = &pd } };
	struct ib_srq_init_attr init = { .attr.max_wr = 1024 };

	(void)state;
	made.max_wr = 0;
	assert_int_equal(vhca_create_srq(&one.ibsrq, &init, &udata), -EINVAL);
	assert_int_equal(made.max_wr, 0);
	asked.max_wr = 0;
	assert_int_equal(resize(1024), -EINVAL);
	assert_int_equal(asked.max_wr, 0);
	assert_int_equal(resize(1023), 0);
	assert_int_equal(asked.max_wr, 1023);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	static const struct CMUnitTest tests[] = {
		T(the_old_memory_goes),
		T(a_second_one_waits),
		T(a_refusal_keeps_the_memory),
		T(no_new_memory_keeps_the_old),
		T(tags_are_asked_for),
		T(more_tags_than_announced),
		T(lies_about_tags_are_cut),
		T(more_receives_than_announced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
