// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/range.c: queue memory is fetched when an object is made, so that an
 * mmap(), which has the process's mmap_lock, asks the backend nothing.
 */
#include <rdma/rdma_user_rxe.h>
#include "kernel.h"

#define VM_SHARED		BIT(0)
#define kvcalloc(n, size, gfp)	calloc(n, size)
#define vma_pages(vma)		(((vma)->vm_end - (vma)->vm_start) / PAGE_SIZE)

#include "copy/range.c"

#define PAGES		40u		/* more than an answer holds */
#define OWNER		5u
#define OFFSET		0x10000u

static struct vhca_dev dev;
static struct vhca_ucontext uc;
static int asked, answer, lie, munmaps;
static unsigned long slow;		/* ticks that an answer takes */
static int map_rc;
static bool map_tried;
static grant_ref_t mapped[PAGES];
static u32 nr_mapped;

/* ---- the rest of the module ---- */
int vhca_cmd_mmap(struct vhca_ucontext *u, const struct xenvhca_mmap_req *req,
		  struct xenvhca_mmap_rsp *rsp)
{
	u32 i, n = req->length / PAGE_SIZE;

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

int vhca_cmd_munmap(struct vhca_dev *d, u32 handle, u64 offset)
{
	assert_int_equal(offset & ~0xfffffu, 0);
	munmaps++;
	return 0;
}

int vhca_map_grants(struct vhca_ucontext *u, struct vm_area_struct *vma,
		    const grant_ref_t *ref, u32 nr_pages, u64 offset,
		    bool *tried)
{
	*tried = !map_rc || map_tried;
	if (map_rc)
		return map_rc;
	nr_mapped = nr_pages;
	memcpy(mapped, ref, nr_pages * sizeof(*ref));
	return 0;
}

/* ---- tests ---- */
static int setup(void **state)
{
	dev.provider = &vhca_provider_rxe;
	uc = (struct vhca_ucontext){ .ibuc.device = &dev.ibdev };
	INIT_LIST_HEAD(&uc.ranges);
	asked = answer = lie = munmaps = map_rc = nr_mapped = 0;
	map_tried = false;
	slow = 0;
	return 0;
}

static int teardown(void **state)
{
	vhca_ranges_free(&uc);
	return !list_empty(&uc.ranges);
}

/* An answer to CREATE_CQ; the command is sent by the caller. */
static void create(u32 owner, u64 offset, u32 size)
{
	struct vhca_cmd cmd = {
		.req.op = XENVHCA_OP_CREATE_CQ,
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
	assert_int_equal(munmaps, 1);		/* it was granted */
	lie = 0;
	create(OWNER, 3 * OFFSET, ~0u);		/* 4 GiB */
	assert_int_not_equal(map(3 * OFFSET, 1), 0);
	vhca_ranges_drop(&uc, OWNER);
}

/* Each answer comes just in time. */
static void a_slow_backend_is_cut_off(void **state)
{
	unsigned long begin = jiffies;

	slow = 50 * HZ;
	create(OWNER, OFFSET, 1000 * PAGE_SIZE);
	assert_in_range(jiffies - begin, 60 * HZ, 101 * HZ);
	assert_int_equal(map(OFFSET, 1000), -ETIMEDOUT);
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

int main(void)
{
	static const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		T(mmap_asks_nobody),
		T(only_what_was_announced),
		T(what_is_not_mapped_ends_with_its_object),
		T(a_refusal_is_the_error_of_mmap),
		T(a_slow_backend_is_cut_off),
		T(a_mapping_that_fails_can_be_tried_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
