// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/verbs/object.c with the destroy commands of cmd.c: a process that exits sends
 * one command for all that it has, and one that lives on a command for each.
 */
#include "kernel.h"

#define static_assert(...)	_Static_assert(__VA_ARGS__, "")
#define IB_SRQ_MAX_WR		BIT(0)
#define xa_insert(xa, i, obj, gfp) 0
#define xa_erase(xa, i)

#include "copy/cmd.c"
#include "cmd_rest.h"
#include "no_ranges.h"
#undef VHCA_BODY
#undef VHCA_RESULT
#undef VHCA_UC
static int adopted;
#define list_add(mem, orphans)	(adopted++)
#include "copy/object.c"

#define MANY	600

static struct vhca_dev dev;
static struct vhca_ucontext uc;
static struct ib_udata udata;
static struct vhca_mem mem;
static int answer, submitted, put;
static u16 last_op;
static unsigned int last_flags, unwaited;
static bool full;			/* more than half of the ring */
static unsigned int seconds;		/* that a command takes */
static u32 next_handle;

/* ---- the rest of the module ---- */
int vhca_ring_submit(struct vhca_dev *d, struct vhca_cmd **cmd,
		     unsigned int flags)
{
	u32 handle = ++next_handle;

	if (d->ring.state != VHCA_RING_UP)
		return -EIO;
	jiffies += seconds * HZ;
	submitted++;
	last_op = (*cmd)->req.op;
	last_flags = flags;
	if (flags & VHCA_CMD_NOWAIT && !full) {
		unwaited++;
		free(*cmd);
		*cmd = NULL;
		return -EINPROGRESS;
	}
	memcpy((*cmd)->rsp.u.raw, &handle, sizeof(handle));
	return answer;
}

int vhca_udata_store(struct vhca_dev *d, const struct vhca_cmd *cmd,
		     struct ib_udata *u, bool outptr)
{
	return 0;
}

void vhca_mem_put(struct vhca_mem *m)
{
	put++;
}

/* ---- tests ---- */
static int setup(void **state)
{
	uc = (struct vhca_ucontext){ .ibuc.device = &dev.ibdev };
	dev.ring.state = VHCA_RING_UP;
	current->flags = 0;
	answer = submitted = adopted = put = 0;
	dropped = unwaited = 0;
	full = may_break = false;
	seconds = 0;
	return 0;
}

static u32 make(void)
{
	struct xenvhca_create_qp_req req = {};
	struct xenvhca_create_qp_rsp rsp;
	struct vhca_bufs bufs;

	assert_int_equal(vhca_cmd_create_qp(&dev, &uc, &req, &udata, &bufs,
					    &rsp), 0);
	return rsp.handle;
}

/* Objects and then the context; the number of commands. */
static int end_all(u32 n)
{
	int before = submitted;

	while (n--)
		vhca_release(&uc, "qp", n, vhca_cmd_destroy_qp(&dev, &uc, n),
			     &mem);
	vhca_cmd_dealloc_ucontext(&dev, 1);
	if (dev.ring.state == VHCA_RING_UP)
		assert_int_equal(last_op, XENVHCA_OP_DEALLOC_UCONTEXT);
	return submitted - before;
}

static void make_many(u32 n)
{
	while (n--)
		make();
}

/* Memory stays granted until the context is gone. */
static void who_exits_waits_once(void **state)
{
	make_many(100);
	current->flags = PF_EXITING;
	assert_int_equal(end_all(100), 1);
	assert_int_equal(adopted, 100);
	assert_int_equal(put, 0);
	assert_int_equal(dropped, 0);	/* ranges end with the context, too */
}

static void who_lives_on_waits_for_each(void **state)
{
	make_many(100);
	assert_int_equal(end_all(100), 101);
	assert_int_equal(unwaited, 0);
	assert_int_equal(adopted, 0);
	assert_int_equal(put, 100);
}

/* The first ones by themselves: those made last, which use the others. */
static void one_command_has_an_end(void **state)
{
	make_many(MANY);
	current->flags = PF_EXITING;
	assert_int_equal(end_all(MANY), MANY - VHCA_LEAVE_OBJECTS + 1);
	assert_int_equal(unwaited, MANY - VHCA_LEAVE_OBJECTS);
	assert_int_equal(adopted, MANY);
	assert_int_equal(put, 0);
	assert_false(last_flags & VHCA_CMD_NOWAIT);

	setup(NULL);
	make_many(10);
	atomic64_add(VHCA_LEAVE_PAGES + 1, &uc.nr_pages);
	current->flags = PF_EXITING;
	full = true;
	assert_int_equal(vhca_cmd_destroy(&uc, XENVHCA_OP_DEREG_MR, 1), 0);
	full = false;
	assert_int_equal(vhca_cmd_destroy(&uc, XENVHCA_OP_DEREG_MR, 1), VHCA_LEFT);
	assert_int_equal(unwaited, 1);
	atomic64_dec(&uc.nr_pages);
	assert_int_equal(vhca_cmd_destroy(&uc, XENVHCA_OP_DEREG_MR, 2), VHCA_LEFT);
}

/* What was ended before, or made and taken back, is not there any more. */
static void only_living_objects_count(void **state)
{
	make_many(MANY);
	while (atomic64_read(&uc.nr_objects) > 10)
		vhca_cmd_destroy_qp(&dev, &uc, 1);
	assert_int_equal(submitted, 2 * MANY - 10);
	answer = -ENOMEM;
	assert_int_equal(vhca_cmd_alloc_pd(&uc, &udata, &next_handle), -ENOMEM);
	assert_int_equal(atomic64_read(&uc.nr_objects), 10);
	answer = 0;
	current->flags = PF_EXITING;
	assert_int_equal(end_all(10), 1);
}

static void each_kind_is_left(void **state)
{
	struct xenvhca_mcast_req req = {};

	make_many(8);
	submitted = 0;
	current->flags = PF_EXITING;
	assert_int_equal(vhca_cmd_detach_mcast(&uc, &req), VHCA_LEFT);
	assert_int_equal(vhca_cmd_destroy_qp(&dev, &uc, 1), VHCA_LEFT);
	assert_int_equal(vhca_cmd_destroy(&uc, XENVHCA_OP_DESTROY_SRQ, 1), VHCA_LEFT);
	assert_int_equal(vhca_cmd_destroy(&uc, XENVHCA_OP_DESTROY_AH, 1), VHCA_LEFT);
	assert_int_equal(vhca_cmd_destroy(&uc, XENVHCA_OP_DEALLOC_MW, 1), VHCA_LEFT);
	assert_int_equal(vhca_cmd_destroy(&uc, XENVHCA_OP_DEREG_MR, 1), VHCA_LEFT);
	assert_int_equal(vhca_cmd_destroy(&uc, XENVHCA_OP_DESTROY_CQ, 1), VHCA_LEFT);
	assert_int_equal(vhca_cmd_destroy(&uc, XENVHCA_OP_DEALLOC_PD, 1), VHCA_LEFT);
	assert_int_equal(submitted, 0);
}

/* XRC targets and domains, files of the connection manager. */
static void what_is_in_no_context_is_not_left(void **state)
{
	current->flags = PF_EXITING;
	assert_int_equal(vhca_cmd_destroy_qp(&dev, NULL, 1), 0);
	assert_int_equal(vhca_cmd_dealloc_ownerless(&dev, XENVHCA_OP_DEALLOC_XRCD, 1), 0);
	assert_int_equal(vhca_cmd_dealloc_ownerless(&dev, XENVHCA_OP_DEALLOC_CM, 1), 0);
	assert_int_equal(submitted, 3);
	/* An XRC SRQ holds such a domain: DEALLOC_XRCD would find it busy. */
	make_many(3);
	uc.leaves_nothing = true;
	submitted = 0;
	assert_int_equal(end_all(3), 4);
}

/* As with every other destroy verb: grant.c sorts out what is mapped. */
static void a_broken_device_leaves_nothing(void **state)
{
	make_many(3);
	current->flags = PF_EXITING;
	dev.ring.state = VHCA_RING_BROKEN;
	end_all(3);
	assert_int_equal(adopted, 0);
	assert_int_equal(put, 3);
}

/* A backend that answers each command just in time. */
static void the_waits_of_an_end_have_a_bound_in_all(void **state)
{
	unsigned long begin = jiffies;

	make_many(MANY);
	full = may_break = true;
	seconds = 59;
	end_all(MANY);			/* close(); no wait of it can be killed */
	assert_int_equal(dev.ring.state, VHCA_RING_BROKEN);
	assert_in_range(jiffies - begin, 600 * HZ, 660 * HZ);

	setup(NULL);
	make_many(MANY);
	full = may_break = true;
	seconds = 59;
	current->flags = PF_EXITING;
	begin = jiffies;
	end_all(MANY);
	assert_int_equal(dev.ring.state, VHCA_RING_BROKEN);
	assert_in_range(jiffies - begin, 600 * HZ, 660 * HZ);
}

/* A process that makes and ends objects for hours. */
static void a_long_life_is_no_long_end(void **state)
{
	unsigned int i;

	seconds = 30;
	for (i = 0; i < MANY; i++)
		vhca_cmd_destroy_qp(&dev, &uc, make());
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup(f, setup)
		T(who_exits_waits_once),
		T(who_lives_on_waits_for_each),
		T(one_command_has_an_end),
		T(only_living_objects_count),
		T(each_kind_is_left),
		T(what_is_in_no_context_is_not_left),
		T(a_broken_device_leaves_nothing),
		T(the_waits_of_an_end_have_a_bound_in_all),
		T(a_long_life_is_no_long_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
