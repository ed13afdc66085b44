// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/mmap/range.c: queue memory is fetched when an object is made, so that an
 * mmap(), which has the process's mmap_lock, asks the backend nothing.
 */
#include <rdma/rdma_user_rxe.h>
#include "kernel.h"

#define VM_SHARED		BIT(0)
#define kvcalloc		kcalloc
#define vma_pages(vma)		(((vma)->vm_end - (vma)->vm_start) / PAGE_SIZE)

#include "copy/range.c"
#include "copy/range_end.c"

#define PAGES		40u		/* more than an answer holds */
#define OWNER		5u
#define OFFSET		0x10000u

static struct vhca_dev dev;
static struct vhca_ucontext uc;
static int asked, answer, lie, munmaps, munmap_cmds;
static unsigned long slow;		/* ticks that an answer takes */
static int map_rc;
static bool map_tried;
static grant_ref_t mapped[PAGES];
static u32 nr_mapped, nr_charged;	/* in processes */

/* ---- the rest of the module ---- */
int vhca_cmd_mmap(struct vhca_ucontext *u, const struct xenvhca_mmap_req *req,
		  unsigned int flags, struct xenvhca_mmap_rsp *rsp)
{
	u32 i, n = req->length / PAGE_SIZE;

	assert_int_equal(flags, 0);	/* no lock of the process is held */
	asked++;
	kernel_advance(slow);
	if (answer)
		return answer;
	*rsp = (struct xenvhca_mmap_rsp){
		.kind = XENVHCA_MMAP_GRANT, .nr_pages = n + lie,
		.count = min(n - req->first, (u32)XENVHCA_MMAP_GREFS),
	};
	for (i = 0; i < rsp->count; i++)
		rsp->gref[i] = 100 + req->first + i;
	return 0;
}

int vhca_cmd_munmap(struct vhca_dev *d, u32 handle, const u64 *offset,
		    unsigned int nr)
{
	unsigned int i;

	assert_in_range(nr, 1, XENVHCA_MUNMAP_RANGES);
	for (i = 0; i < nr; i++)
		assert_int_equal(offset[i] & ~0xfffffu, 0);
	munmap_cmds++;
	munmaps += nr;
	return 0;
}

int vhca_map_grants(struct vhca_ucontext *u, struct vm_area_struct *vma,
		    const grant_ref_t *ref, u32 nr_pages, u64 offset,
		    bool *tried)
{
	*tried = !map_rc || map_tried;
	if (*tried)
		nr_charged += nr_pages;
	if (map_rc)
		return map_rc;
	nr_mapped = nr_pages;
	memcpy(mapped, ref, min(nr_pages, PAGES) * sizeof(*ref));
	return 0;
}

/* ---- tests ---- */
static int setup(void **state)
{
	dev.provider = &vhca_provider_rxe;
	uc = (struct vhca_ucontext){ .ibuc.device = &dev.ibdev };
	vhca_ranges_init(&uc);
	munmap_cmds = 0;
	asked = answer = lie = munmaps = map_rc = nr_mapped = 0;
	map_tried = false;
	slow = 0;
	nr_charged = 0;
	return 0;
}

static int teardown(void **state)
{
	cancel_delayed_work_sync(&uc.ended_work);
	vhca_ranges_free(&uc);
	kernel_idle();
	vhca_range_uncharge(&dev, nr_charged);	/* the maps go */
	return !list_empty(&uc.ranges) || atomic_read(&dev.queue_pages);
}

static const struct vhca_udata_op *row(u16 op)
{
	return vhca_provider_op(dev.provider, op);
}

/* An answer to CREATE_CQ; the command is sent by the caller. */
static void create(u32 owner, u64 offset, u32 size)
{
	struct vhca_cmd cmd = {
		.row = row(XENVHCA_OP_CREATE_CQ),
		.rsp.out_len = sizeof(struct mminfo),
	};
	struct mminfo mi = { .offset = offset, .size = size };

	memcpy(cmd.rsp.udata, &mi, sizeof(mi));
	vhca_ranges_fetch(&uc, owner, &cmd);
}

static int map(u64 offset, u32 pages)
{
	struct vm_area_struct vma = {
		.vm_end = pages * PAGE_SIZE, .vm_flags = VM_SHARED,
		.vm_pgoff = offset >> PAGE_SHIFT,
	};
	int before = asked + munmaps, rc = vhca_range_mmap(&uc, &vma);

	assert_int_equal(asked + munmaps, before);	/* waits for nobody */
	return rc;
}

static void mmap_asks_nobody(void **state)
{
	u32 i;

	create(OWNER, OFFSET, PAGES * PAGE_SIZE - 100);
	assert_int_equal(asked, DIV_ROUND_UP(PAGES, XENVHCA_MMAP_GREFS));
	assert_int_equal(map(OFFSET, PAGES), 0);
	assert_int_equal(nr_mapped, PAGES);
	for (i = 0; i < PAGES; i++)
		assert_int_equal(mapped[i], 100 + i);
	assert_int_equal(map(OFFSET, PAGES), -EINVAL);	/* as natively */
	vhca_ranges_drop(&uc, OWNER);
	assert_int_equal(munmaps, 0);		/* the map's worker does it */
}

static void only_what_was_announced(void **state)
{
	create(OWNER, OFFSET, PAGES * PAGE_SIZE);
	create(OWNER, 0, 0);			/* a QP with an SRQ */
	assert_int_equal(map(0, 1), -EINVAL);
	assert_int_equal(map(OFFSET + PAGE_SIZE, 1), -EINVAL);
	assert_int_equal(map(OFFSET, PAGES + 1), -EINVAL);
	assert_int_equal(map(OFFSET, PAGES - 1), 0);
}

static void what_is_not_mapped_ends_with_its_object(void **state)
{
	create(OWNER, OFFSET, PAGE_SIZE);
	create(OWNER, 2 * OFFSET, PAGE_SIZE);	/* resized */
	create(OWNER + 1, 3 * OFFSET, PAGE_SIZE);
	vhca_ranges_drop(&uc, OWNER);
	vhca_ranges_flush(&uc);
	assert_int_equal(munmaps, 2);
	assert_int_equal(map(OFFSET, 1), -EINVAL);
	assert_int_equal(map(3 * OFFSET, 1), 0);
}

static void a_refusal_is_the_error_of_mmap(void **state)
{
	answer = -EDQUOT;
	create(OWNER, OFFSET, PAGE_SIZE);
	assert_int_equal(map(OFFSET, 1), -EDQUOT);
	answer = 0;
	lie = 1;
	create(OWNER, 2 * OFFSET, PAGE_SIZE);
	assert_int_equal(map(2 * OFFSET, 1), -EIO);
	vhca_ranges_flush(&uc);
	assert_int_equal(munmaps, 1);		/* it was granted */
	lie = 0;
	create(OWNER, 3 * OFFSET, ~0u);		/* 4 GiB */
	assert_int_not_equal(map(3 * OFFSET, 1), 0);
	vhca_ranges_drop(&uc, OWNER);
}

/* ---- the sum of a device: the backend says how large a queue is ---- */

#define MAX	XENVHCA_QUEUE_PAGES

static void a_device_has_so_many_pages(void **state)
{
	create(OWNER, OFFSET, (MAX - 2) * PAGE_SIZE);
	create(OWNER, 2 * OFFSET, 2 * PAGE_SIZE);
	asked = 0;
	create(OWNER + 1, 3 * OFFSET, PAGE_SIZE);
	create(OWNER + 1, 4 * OFFSET, ~0u);
	assert_int_equal(asked, 0);
	assert_int_equal(map(3 * OFFSET, 1), -ENOMEM);
	assert_int_equal(map(4 * OFFSET, 1), -ENOMEM);
	vhca_ranges_drop(&uc, OWNER + 1);
	assert_int_equal(munmaps, 0);		/* nothing was granted */
	vhca_ranges_drop(&uc, OWNER);
	create(OWNER, OFFSET, MAX * PAGE_SIZE);
	assert_int_equal(map(OFFSET, MAX), 0);
}

/* Whose references are freed when it is mapped. */
static void a_mapped_range_counts(void **state)
{
	create(OWNER, OFFSET, MAX * PAGE_SIZE);
	assert_int_equal(map(OFFSET, MAX - 1), 0);
	vhca_ranges_drop(&uc, OWNER);
	create(OWNER, 2 * OFFSET, 2 * PAGE_SIZE);
	assert_int_equal(map(2 * OFFSET, 2), -ENOMEM);
	create(OWNER, 3 * OFFSET, PAGE_SIZE);	/* that nobody mapped */
	assert_int_equal(map(3 * OFFSET, 1), 0);
	create(OWNER, 4 * OFFSET, PAGE_SIZE);
	assert_int_equal(map(4 * OFFSET, 1), -ENOMEM);
	vhca_range_uncharge(&dev, 1);		/* as map.c when it is gone */
	nr_charged--;
	create(OWNER, 5 * OFFSET, PAGE_SIZE);
	assert_int_equal(map(5 * OFFSET, 1), 0);
}

static void what_cannot_be_fetched_counts_no_more(void **state)
{
	answer = -EDQUOT;
	create(OWNER, OFFSET, MAX * PAGE_SIZE);
	answer = 0;
	lie = 1;
	create(OWNER, 2 * OFFSET, MAX * PAGE_SIZE);
	lie = 0;
	create(OWNER, 3 * OFFSET, MAX * PAGE_SIZE);
	map_rc = -ENOMEM;
	assert_int_equal(map(3 * OFFSET, MAX), -ENOMEM);
	map_rc = 0;
	assert_int_equal(map(3 * OFFSET, MAX), 0);
}

/* As the backend domain may do, with its parameter. */
static void the_guest_can_raise_the_sum(void **state)
{
	queue_pages = 2 * MAX;
	create(OWNER, OFFSET, (MAX + 1) * PAGE_SIZE);
	queue_pages = MAX;
	assert_int_equal(map(OFFSET, MAX + 1), 0);
	queue_pages = ~0u;
	create(OWNER, 2 * OFFSET, PAGE_SIZE);
	queue_pages = 0;
	create(OWNER, 3 * OFFSET, PAGE_SIZE);
	queue_pages = MAX;
	assert_int_equal(map(2 * OFFSET, 1), 0);
	assert_int_equal(map(3 * OFFSET, 1), -ENOMEM);
}

/* Each answer comes just in time. */
static void a_slow_backend_is_cut_off(void **state)
{
	unsigned long begin = jiffies;

	slow = 50 * HZ;
	create(OWNER, OFFSET, 1000 * PAGE_SIZE);
	assert_in_range(jiffies - begin, 60 * HZ, 101 * HZ);
	assert_int_equal(map(OFFSET, 1000), -ETIMEDOUT);
	vhca_ranges_flush(&uc);
	assert_int_equal(munmaps, 1);
}

static void a_mapping_that_fails_can_be_tried_again(void **state)
{
	create(OWNER, OFFSET, PAGE_SIZE);
	map_rc = -ENOMEM;
	assert_int_equal(map(OFFSET, 1), -ENOMEM);
	map_rc = 0;
	assert_int_equal(map(OFFSET, 1), 0);
	create(OWNER, OFFSET, PAGE_SIZE);
	map_rc = -EIO;
	map_tried = true;			/* the worker ends it */
	assert_int_equal(map(OFFSET, 1), -EIO);
	assert_int_equal(map(OFFSET, 1), -EINVAL);
}

/* ---- a backend that has the references in its answer ---- */

static void create_told(u32 owner, u64 offset, u32 size, u16 count, u16 other)
{
	struct vhca_cmd cmd = {
		.row = row(XENVHCA_OP_CREATE_CQ),
		.req.flags = vhca_ranges_flags(row(XENVHCA_OP_CREATE_CQ)),
		.rsp.out_len = sizeof(struct mminfo),
	};
	struct mminfo mi = { .offset = offset, .size = size };
	u32 i;

	cmd.rsp.u.made.count[0] = count;
	cmd.rsp.u.made.count[1] = other;
	for (i = 0; i < XENVHCA_MMAP_GREFS; i++)
		cmd.rsp.u.made.gref[i] = 100 + i;
	memcpy(cmd.rsp.udata, &mi, sizeof(mi));
	vhca_ranges_fetch(&uc, owner, &cmd);
}

static void only_what_has_ranges_asks_for_them(void **state)
{
	assert_int_equal(vhca_ranges_flags(row(XENVHCA_OP_CREATE_CQ)),
			 XENVHCA_REQ_RANGES);
	assert_int_equal(vhca_ranges_flags(row(XENVHCA_OP_REG_MR)), 0);
}

static void what_came_with_the_answer_is_not_asked_for(void **state)
{
	u32 i;

	create_told(OWNER, OFFSET, PAGES * PAGE_SIZE, PAGES, 0);
	assert_int_equal(asked, 0);
	assert_int_equal(map(OFFSET, PAGES), 0);
	for (i = 0; i < PAGES; i++)
		assert_int_equal(mapped[i], 100 + i);
	create_told(OWNER, 2 * OFFSET, PAGES * PAGE_SIZE, 7, 0);
	assert_int_equal(asked, 1);		/* the rest */
	assert_int_equal(map(2 * OFFSET, PAGES), 0);
	for (i = 0; i < PAGES; i++)
		assert_int_equal(mapped[i], 100 + i);
}

static void a_list_that_lies_is_the_error_of_mmap(void **state)
{
	create_told(OWNER, OFFSET, PAGES * PAGE_SIZE, PAGES + 1, 0);
	assert_int_equal(map(OFFSET, PAGES), -EIO);
	create_told(OWNER, 2 * OFFSET, ~0u, XENVHCA_MMAP_GREFS + 1, 0);
	assert_int_not_equal(map(2 * OFFSET, PAGES), 0);
	create_told(OWNER, 3 * OFFSET, PAGE_SIZE, 0xffff, 0xffff);
	assert_int_equal(map(3 * OFFSET, 1), -EIO);
	assert_int_equal(asked, 0);
	assert_true(vhca_ranges_flush(&uc));
	assert_int_equal(munmaps, 3);		/* it may have granted them */
}

/* ---- ends ---- */

static void many_ends_are_one_command(void **state)
{
	u32 i;

	for (i = 0; i < 100 * XENVHCA_MUNMAP_RANGES; i++)
		vhca_range_end(&uc, OFFSET, 1);
	assert_int_equal(munmaps, 100 * XENVHCA_MUNMAP_RANGES);
	assert_int_equal(munmap_cmds, 100);
	assert_false(vhca_ranges_flush(&uc));
}

static void an_end_is_told_within_a_second(void **state)
{
	vhca_range_end(&uc, OFFSET, 1);
	kernel_advance(HZ / 2);
	vhca_range_end(&uc, 2 * OFFSET, 1);
	assert_int_equal(munmap_cmds, 0);
	kernel_advance(HZ / 2);
	assert_int_equal(munmap_cmds, 1);
	assert_int_equal(munmaps, 2);
}

static void much_memory_is_given_back_at_once(void **state)
{
	vhca_range_end(&uc, OFFSET, 255);
	assert_int_equal(munmap_cmds, 0);
	vhca_range_end(&uc, 2 * OFFSET, 1);
	assert_int_equal(munmap_cmds, 1);
	kernel_advance(HZ);
	assert_int_equal(munmap_cmds, 1);
}

/* Its end is that of all ranges. */
static void a_context_that_ends_tells_nothing(void **state)
{
	vhca_range_end(&uc, OFFSET, 1);
	cancel_delayed_work_sync(&uc.ended_work);
	kernel_advance(HZ);
	assert_int_equal(munmap_cmds, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		T(mmap_asks_nobody),
		T(only_what_was_announced),
		T(what_is_not_mapped_ends_with_its_object),
		T(a_refusal_is_the_error_of_mmap),
		T(a_device_has_so_many_pages),
		T(a_mapped_range_counts),
		T(what_cannot_be_fetched_counts_no_more),
		T(the_guest_can_raise_the_sum),
		T(a_slow_backend_is_cut_off),
		T(a_mapping_that_fails_can_be_tried_again),
		T(only_what_has_ranges_asks_for_them),
		T(what_came_with_the_answer_is_not_asked_for),
		T(a_list_that_lies_is_the_error_of_mmap),
		T(many_ends_are_one_command),
		T(an_end_is_told_within_a_second),
		T(much_memory_is_given_back_at_once),
		T(a_context_that_ends_tells_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
