// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Memory regions by a dma-buf: which ones are, what is mapped into the worker
 * instead when the helper refuses, and that the region holds the pages, by the
 * command thread and by the job thread.
 */
#include <errno.h>

#include "verbs/jobs.h"
#include "tests/fake/guest.h"
#include "verbs/object.h"
#include "worker/device.h"

#define REG_MR		9	/* IB_USER_VERBS_CMD_* */
#define DEREG_MR	13
#define RELAXED		(1u << 20)
#define LARGE		(BE_JOB_PAGES + 1)

static void begin(struct guest *g)
{
	g->uc = guest_alloc_uc(g);
	g->pd = guest_alloc_pd(g);
}

static int reg_with(struct guest *g, uint32_t n, uint32_t access)
{
	guest_mr(g, 0, n);
	g->req.u.reg_mr.access = access;
	return guest_cmd(g, XENVHCA_OP_REG_MR);
}

static int reg(struct guest *g, uint32_t n)
{
	return reg_with(g, n, 7);
}

static int dereg(struct guest *g, uint32_t mr)
{
	return guest_handle(g, XENVHCA_OP_DEREG_MR, mr);
}

/* Of the region made last: pages by a dma-buf, and of all that are mapped. */
static void mapped(struct guest *g, uint64_t dmabuf, uint64_t all)
{
	assert_int_equal(loop_dmabuf(g->loop), dmabuf);
	assert_int_equal(loop_mapped(g->loop), all);
	assert_int_equal(g->dev.quota.used_pages, all);
}

static void the_region_holds_the_pages(void **state)
{
	struct guest *g = *state;
	struct fake_obj *mr;
	uint32_t handle;

	begin(g);
	guest_mr(g, 0, 2);
	g->req.u.reg_mr.page_offset = 0x123;
	g->req.u.reg_mr.iova = 0x7f1234567123;
	g->req.u.reg_mr.length = 5000;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_REG_MR), 0);
	handle = g->rsp.u.mr.handle;
	mr = fake_nth(FAKE_MR, 0);
	assert_int_not_equal(mr->dmabuf, 0);
	assert_int_equal(mr->start, 0x123);
	assert_int_equal(mr->length, 5000);
	assert_int_equal(mr->iova, 0x7f1234567123);
	assert_int_equal(mr->access, 7);
	assert_int_equal(g->rsp.u.mr.lkey, mr->num << 8);
	assert_int_equal(g->rsp.u.mr.rkey, mr->num << 8);
	mapped(g, 2, 2);
	assert_int_equal(g->dev.stats.dmabuf_pages, 2);
	assert_int_equal(g->dev.stats.map_pages, 0);
	assert_int_equal(g->dev.stats.dmabuf_refused, 0);
	fake_fail(DEREG_MR, 1, EINVAL);		/* a window is bound */
	assert_int_equal(dereg(g, handle), -EINVAL);
	mapped(g, 2, 2);
	assert_int_equal(dereg(g, handle), 0);
	mapped(g, 0, 0);
	assert_int_equal(reg(g, 2500), 0);	/* and with its context */
	mapped(g, 2500, 2500);
	guest_close(g);
	mapped(g, 0, 0);
}

/* Rights that no dma-buf has, by an address as ever, and the next one is not. */
static void some_rights_need_an_address(void **state)
{
	static const uint32_t no[] = { 1 | 16, 32, RELAXED | 1, 1 << 21 };
	static const uint32_t yes[] = { 0, 1, 4, 1 | 2 | 4 | 8 };
	struct guest *g = *state;
	unsigned int i;

	begin(g);
	for (i = 0; i < sizeof(no) / sizeof(no[0]); i++) {
		assert_int_equal(reg_with(g, 3, no[i]), 0);
		mapped(g, 0, 3);
		assert_int_equal(dereg(g, g->rsp.u.mr.handle), 0);
	}
	for (i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		assert_int_equal(reg_with(g, 3, yes[i]), 0);
		mapped(g, 3, 3);
		assert_int_equal(dereg(g, g->rsp.u.mr.handle), 0);
	}
	assert_int_equal(g->dev.stats.dmabuf_refused, 0);
}

static void soft_roce_has_none(void **state)
{
	struct guest *g = *state;

	guest_open(g);
	assert_int_equal(reg(g, 3), 0);
	mapped(g, 0, 3);
	assert_int_equal(g->dev.stats.dmabuf_refused, 0);
}

/* The helper is off, full, or too old. */
static void a_helper_that_refuses(void **state)
{
	struct guest *g = *state;

	begin(g);
	loop_fail_dmabuf(g->loop, -EBUSY);
	assert_int_equal(reg(g, 3), 0);
	mapped(g, 0, 3);
	assert_int_equal(g->dev.stats.dmabuf_refused, 1);
	assert_int_equal(g->dev.stats.map_pages, 3);
	loop_fail_dmabuf(g->loop, 0);
	assert_int_equal(reg(g, 3), 0);
	mapped(g, 3, 6);
}

/* What a driver takes is asked once. It may have no lists by UMR, or short ones. */
static void a_driver_is_asked(void **state)
{
	struct guest *g = *state;
	uint64_t errors;

	begin(g);
	errors = fake_violations();
	assert_true(g->dev.dmabuf_end == UINT64_MAX);
	fake_hca.umr_reach = 256ull << 20;
	assert_int_equal(be_dmabuf_end(&g->dev, 1), 256 << 20);
	fake_hca.umr_reach = 1;
	assert_int_equal(be_dmabuf_end(&g->dev, 1), 0);
	fake_hca.umr_reach = 0;
	fake_hca.no_dmabuf = true;
	assert_int_equal(be_dmabuf_end(&g->dev, 1), 0);
	assert_int_equal(fake_live(FAKE_PD), 1);
	assert_int_equal(fake_violations(), errors);
}

static void long_ones_need_an_address(void **state)
{
	struct guest *g = *state;

	begin(g);
	g->dev.dmabuf_end = 100 * XENVHCA_PAGE_SIZE;
	assert_int_equal(reg(g, 100), 0);
	mapped(g, 0, 100);
	assert_int_equal(reg(g, 99), 0);
	mapped(g, 99, 199);
	assert_int_equal(g->dev.stats.dmabuf_refused, 0);
}

/* mlx5 of newer kernels says so behind the descriptor, where no probe sees it. */
static void an_hca_without_odp_needs_an_address(void **state)
{
	struct guest *g = *state;

	fake_hca.no_odp = true;
	be_dev_close(&g->dev);
	assert_int_equal(be_dev_open(&g->dev), 0);
	begin(g);
	assert_int_equal(reg(g, 4), 0);
	mapped(g, 0, 4);
	assert_int_equal(g->dev.stats.dmabuf_refused, 0);
}

/* There is no second way. */
static void what_is_refused_leaves_nothing(void **state)
{
	struct guest *g = *state;

	begin(g);
	assert_int_equal(reg_with(g, 1, 2), -EINVAL);
	mapped(g, 0, 0);
	fake_hca.umr_reach = 1;
	assert_int_equal(reg(g, 4), -EINVAL);
	mapped(g, 0, 0);
	fake_hca.umr_reach = 0;
	assert_int_equal(reg(g, 4), 0);
	mapped(g, 4, 4);
	loop_revoke(g->loop, 1);
	assert_int_equal(reg(g, 4), -EINVAL);	/* nor is it mapped by gntdev */
	mapped(g, 4, 4);
	assert_int_equal(g->dev.stats.dmabuf_refused, 0);
	assert_int_equal(g->dev.quota.used[BE_MR], 1);
}

/* What the job thread does of it, with a region of the command thread's beside it. */
static void large_ones_are_the_lanes(void **state)
{
	struct guest *g = *state;

	begin(g);
	assert_int_equal(be_jobs_start(&g->dev), 0);
	assert_int_equal(reg(g, 3), 0);
	assert_int_equal(reg(g, LARGE), 0);
	mapped(g, 3 + LARGE, 3 + LARGE);
	assert_int_equal(dereg(g, g->rsp.u.mr.handle), 0);
	mapped(g, 3, 3);
	loop_fail_dmabuf(g->loop, -EBUSY);
	assert_int_equal(reg(g, LARGE + 1), 0);
	mapped(g, 3, 3 + LARGE + 1);
	assert_int_equal(g->dev.stats.dmabuf_refused, 1);
	assert_int_equal(dereg(g, g->rsp.u.mr.handle), 0);
	loop_fail_dmabuf(g->loop, 0);
	assert_int_equal(reg(g, LARGE), 0);
	assert_int_equal(g->dev.stats.cmd_lanes, 5);
	guest_close(g);
	mapped(g, 0, 0);
	be_jobs_stop(&g->dev);
}

/* By the driver, or by the helper, and then there is no address either. */
static void what_the_lane_is_refused_leaves_nothing(void **state)
{
	struct guest *g = *state;

	begin(g);
	assert_int_equal(be_jobs_start(&g->dev), 0);
	assert_int_equal(reg(g, 3), 0);
	fake_hca.umr_reach = 1;
	assert_int_equal(reg(g, LARGE), -EINVAL);
	mapped(g, 3, 3);
	loop_fail_dmabuf(g->loop, -EBUSY);
	fake_fail(REG_MR, 1, ENOMEM);
	assert_int_equal(reg(g, LARGE), -ENOMEM);
	mapped(g, 3, 3);
	loop_fail_dmabuf(g->loop, 0);
	assert_int_equal(g->dev.quota.used[BE_MR], 1);
	fake_hca.umr_reach = 0;
	assert_int_equal(reg(g, LARGE), 0);
	mapped(g, 3 + LARGE, 3 + LARGE);
	be_jobs_stop(&g->dev);
}

static int rereg(struct guest *g, uint32_t mr, uint32_t flags, uint32_t n)
{
	guest_mr(g, 10, n);
	memmove(&g->req.u.rereg_mr.mr, &g->req.u.reg_mr,
		sizeof(g->req.u.reg_mr));
	g->req.u.rereg_mr.handle = mr;
	g->req.u.rereg_mr.flags = flags;
	return guest_cmd(g, XENVHCA_OP_REREG_MR);
}

/* Other rights leave the pages alone, other pages are mapped by an address. */
static void registered_anew(void **state)
{
	struct guest *g = *state;
	uint32_t mr;

	begin(g);
	assert_int_equal(reg(g, 3), 0);
	mr = g->rsp.u.mr.handle;
	assert_int_equal(guest_rereg_access(g, mr, 1), 0);
	assert_int_equal(fake_nth(FAKE_MR, 0)->access, 1);
	mapped(g, 3, 3);
	/* What mlx5 would make a new region for. */
	assert_int_equal(guest_rereg_access(g, mr, 1 | 16), -EOPNOTSUPP);
	assert_int_equal(guest_rereg_access(g, mr, 1 | 1 << 21), -EOPNOTSUPP);
	assert_int_equal(fake_nth(FAKE_MR, 0)->access, 1);
	assert_int_equal(rereg(g, mr, 1, 5), 0);
	mapped(g, 0, 5);
	assert_int_equal(dereg(g, mr), 0);
	mapped(g, 0, 0);
}

/*
 * Granted read-only, it is mapped by an address, as a dma-buf could be registered for
 * writing, and is neither mapped for writing nor made writable later.
 */
static void read_only(void **state)
{
	struct guest *g = *state;
	uint32_t i, mr;

	begin(g);
	for (i = 0; i < 2; i++)
		loop_readonly(g->loop, i);
	g->dev.info.flags = XENVHCA_INFO_READONLY;
	assert_int_equal(reg_with(g, 2, 1), -EINVAL);
	guest_mr(g, 0, 2);
	g->req.u.reg_mr.access = 4;
	g->req.u.reg_mr.pages.flags = XENVHCA_PAGES_READONLY;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_REG_MR), 0);
	mapped(g, 0, 2);
	mr = g->rsp.u.mr.handle;
	assert_int_equal(guest_rereg_access(g, mr, 1), -EACCES);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, guest_setup_mlx5, guest_teardown)
	const struct CMUnitTest tests[] = {
		T(the_region_holds_the_pages),
		T(some_rights_need_an_address),
		cmocka_unit_test_setup_teardown(soft_roce_has_none, guest_setup,
						guest_teardown),
		T(a_helper_that_refuses),
		T(a_driver_is_asked),
		T(long_ones_need_an_address),
		T(an_hca_without_odp_needs_an_address),
		T(what_is_refused_leaves_nothing),
		T(large_ones_are_the_lanes),
		T(what_the_lane_is_refused_leaves_nothing),
		T(registered_anew),
		T(read_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
