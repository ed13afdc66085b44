// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/verbs/cmd.c: when the queue memory of an object is fetched and given back.
 */
#include "kernel.h"

#define static_assert(...)	_Static_assert(__VA_ARGS__, "")
#define IB_SRQ_MAX_WR		BIT(0)

#include "copy/cmd.c"
#include "copy/cmd_mmap.c"
#include "cmd_rest.h"

#define QP	7u

static struct vhca_dev dev;
static struct vhca_ucontext uc;
static struct ib_udata udata;
static int answer, stored, submitted;
static u32 fetched;			/* owner of ranges */
static u32 asked, flagged;		/* flags */
static bool pending;			/* ends of ranges */

/* ---- the rest of the module ---- */
int vhca_ring_submit(struct vhca_dev *d, struct vhca_cmd **cmd,
		     unsigned int flags)
{
	u32 handle = QP;

	submitted++;
	flagged = (*cmd)->req.flags;
	if (answer == -ENOMEM && submitted == 2)	/* there is room now */
		answer = 0;
	memcpy((*cmd)->rsp.u.raw, &handle, sizeof(handle));
	return answer;
}

int vhca_udata_store(struct vhca_dev *d, const struct vhca_cmd *cmd,
		     struct ib_udata *u, bool outptr)
{
	return stored;
}

void vhca_ranges_fetch(struct vhca_ucontext *u, u32 owner,
		       const struct vhca_cmd *cmd)
{
	fetched = owner;
}

u32 vhca_ranges_flags(const struct vhca_udata_op *row)
{
	return asked;
}

bool vhca_ranges_flush(struct vhca_ucontext *u)
{
	bool was = pending;

	pending = false;
	return was;
}

bool vhca_leave(const struct vhca_ucontext *u)
{
	return false;
}

bool vhca_leaving(const struct vhca_ucontext *u)
{
	return false;
}

void vhca_leave_waited(struct vhca_ucontext *u, unsigned long begin)
{
}

void vhca_leave_count(struct vhca_ucontext *u, int nr)
{
}

/* ---- tests ---- */
static int setup(void **state)
{
	uc = (struct vhca_ucontext){ .ibuc.device = &dev.ibdev };
	answer = stored = submitted = 0;
	fetched = dropped = asked = flagged = 0;
	pending = false;
	return 0;
}

static int create(void)
{
	struct xenvhca_create_srq_req req = {};
	struct xenvhca_create_srq_rsp rsp;
	struct vhca_bufs bufs;

	return vhca_cmd_create_srq(&uc, &req, &udata, &bufs, &rsp);
}

static void a_new_object_has_its_memory(void **state)
{
	assert_int_equal(create(), 0);
	assert_int_equal(fetched, QP);
	fetched = 0;
	stored = -EFAULT;			/* and is destroyed again */
	assert_int_equal(create(), -EFAULT);
	answer = -EINVAL;
	assert_int_equal(create(), -EINVAL);
	assert_int_equal(fetched, 0);
}

/* The backend has granted it with the answer. */
static void memory_that_nobody_hears_of_ends(void **state)
{
	asked = XENVHCA_REQ_RANGES;
	stored = -EFAULT;
	assert_int_equal(create(), -EFAULT);
	assert_int_equal(flagged, 0);		/* the last one was the end */
	assert_int_equal(fetched, QP);
	assert_int_equal(dropped, QP);
}

static void who_makes_queues_asks_for_their_memory(void **state)
{
	asked = XENVHCA_REQ_RANGES;
	assert_int_equal(create(), 0);
	assert_int_equal(flagged, XENVHCA_REQ_RANGES);
	assert_int_equal(vhca_cmd_destroy_qp(&dev, &uc, QP), 0);
	assert_int_equal(flagged, 0);
}

/* What this process gave back before may be all that is missing. */
static void a_create_that_finds_no_room_makes_some(void **state)
{
	answer = -ENOMEM;
	assert_int_equal(create(), -ENOMEM);
	assert_int_equal(submitted, 1);
	submitted = 0;
	answer = -ENOMEM;
	pending = true;
	assert_int_equal(create(), 0);
	assert_int_equal(submitted, 2);
}

static void a_resized_one_too(void **state)
{
	struct xenvhca_modify_srq_req req = { .handle = 9 };
	struct vhca_bufs bufs;

	assert_int_equal(vhca_cmd_modify_srq(&uc, &req, &udata, &bufs), 0);
	assert_int_equal(fetched, 9);
	assert_int_equal(dropped, 0);
}

/* Whatever the backend says: it keeps nothing that nobody can map. */
static void an_object_ends_with_its_memory(void **state)
{
	assert_int_equal(vhca_cmd_destroy_qp(&dev, &uc, QP), 0);
	assert_int_equal(dropped, QP);
	dropped = 0;
	answer = -EBUSY;
	assert_int_equal(vhca_cmd_destroy_qp(&dev, &uc, QP), -EBUSY);
	assert_int_equal(dropped, QP);
}

static void other_ends_leave_it_alone(void **state)
{
	struct xenvhca_mcast_req req = { .qp = QP };
	u64 offset = QP;

	assert_int_equal(vhca_cmd_detach_mcast(&uc, &req), 0);
	assert_int_equal(vhca_cmd_munmap(&dev, uc.handle, &offset, 1), 0);
	assert_int_equal(vhca_cmd_dealloc_ucontext(&dev, 1), 0);
	assert_int_equal(dropped, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup(f, setup)
		T(a_new_object_has_its_memory),
		T(memory_that_nobody_hears_of_ends),
		T(who_makes_queues_asks_for_their_memory),
		T(a_create_that_finds_no_room_makes_some),
		T(a_resized_one_too),
		T(an_object_ends_with_its_memory),
		T(other_ends_leave_it_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
