// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Doorbell pages that a guest has for life: which contexts of the HCA it gets, however
 * the HCA chooses their pages, which frames it is told, and what is charged. There is no
 * agent: the loopback transport only tells frames.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <unistd.h>

#include "clock.h"
#include "tests/fake/fake_priv.h"
#include "tests/fake/guest.h"
#include "tests/fake/mlx5_pages.h"
#include "context/context.h"

#define BAR		0x8000000ull	/* its first frame */
#define PAGES		4096u
#define FIRST		256u		/* doorbell page of the HCA */
#define GUEST		0x9000000ull	/* where the guest has its window */
#define UARS		8u		/* of rdma-core's context */

static uint64_t frame_at(const void *addr)
{
	uint32_t uar = fake_uar_at(addr);

	return uar ? BAR + uar : 0;
}

/* Pages first .. first + nr - 1 of the HCA are the guest's. */
static void has(struct guest *g, uint32_t first, uint32_t nr)
{
	g->dev.window = (struct host_window){ BAR + first, GUEST, nr };
	g->dev.quota.window_uars = nr;
	g->dev.bar_end = BAR + PAGES;
	g->tag = 0;
	loop_frames(g->loop, frame_at);
}

static int bar_is(const char *text)
{
	return fake_sysfs_put(FAKE_HCA "device/vendor", "0x15b3") ||
	       fake_sysfs_put(FAKE_HCA "device/device", "0x1013") ||
	       fake_sysfs_put(FAKE_HCA "device/resource", text);
}

/* The frame that the guest is told of a page of its context, less the window's. */
static uint64_t told(struct guest *g, uint64_t offset)
{
	assert_int_equal(guest_doorbell(g, offset, 0), 0);
	assert_int_equal(g->rsp.u.mmap.kind, XENVHCA_MMAP_MMIO);
	assert_true(g->rsp.u.mmap.frame >= GUEST);
	return g->rsp.u.mmap.frame - GUEST;
}

/* A new context, all of whose pages are the guest's; the number of the first one. */
static uint64_t opens(struct guest *g)
{
	unsigned int others = fake_uars_used();
	uint64_t first, i;

	g->tag++;			/* a program of another kind */
	g->uc = guest_alloc_uc(g);
	assert_int_equal(fake_uars_used(), others + UARS);
	first = told(g, REGULAR(0));
	for (i = 0; i < UARS; i++) {
		assert_true(told(g, REGULAR(i)) < g->dev.window.nr);
		assert_true(told(g, REGULAR(i)) == first + i);
	}
	assert_int_equal(g->dev.quota.uars, g->dev.n_vfiles[BE_VFILE_PARKED] * UARS + UARS);
	return first;
}

static void a_context_lies_in_the_window(void **state)
{
	struct guest *g = *state;
	uint32_t before = fake_contexts();

	fake_uars_are(FIRST, PAGES, false);
	has(g, 2208, 1888);
	assert_in_range(opens(g), 0, UARS - 1);
	assert_in_range(fake_contexts() - before, 8, 20);
	assert_int_equal(fake_files(), 2);
	guest_close(g);
	before = fake_contexts();
	opens(g);			/* the HCA has come there */
	assert_int_equal(fake_contexts() - before, 1);
	guest_close(g);
	assert_int_equal(loop_doorbell_maps(g->loop), 0);
	assert_int_equal(loop_doorbell_unmaps(g->loop), 0);
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_PARKED], 2);
	assert_int_equal(fake_files(), 3);
}

/* Once more, for each program, as nothing stays that was held. */
static void an_hca_that_takes_the_lowest_is_led_there(void **state)
{
	struct guest *g = *state;
	unsigned int i;

	g->dev.quota.cmd.rate = 0;
	fake_uars_are(FIRST, PAGES, true);
	has(g, 2208, 64);
	for (i = 0; i < 4; i++) {
		assert_int_equal(opens(g), i * UARS);
		guest_close(g);
	}
	assert_int_equal(fake_uars_used(), 4 * UARS);
}

/* What the driver accepts of a program it accepts of what leads there. */
static void a_step_is_no_smaller_than_a_context(void **state)
{
	struct guest *g = *state;

	fake_uars_are(FIRST, PAGES, false);
	has(g, FIRST + UARS + 3, 64);
	g->tag = 2 * UARS - 2;		/* all but one of its registers are fast */
	opens(g);
	guest_close(g);
}

static void an_hca_that_is_past_it_comes_round(void **state)
{
	struct guest *g = *state;

	fake_uars_are(FIRST, PAGES, false);
	fake_uar_next(3001);
	has(g, 320, 32);
	opens(g);
	guest_close(g);
	assert_int_equal(fake_uars_used(), UARS);
}

/* All pages count, not only the first one: its edges are another guest's. */
static void a_context_on_the_edge_is_not_right(void **state)
{
	struct guest *g = *state;
	unsigned int i;

	fake_uars_are(FIRST, PAGES, false);
	has(g, 1000, 64);
	for (i = 1; i < UARS; i++) {
		fake_uar_next(1000 - i);
		opens(g);
		guest_close(g);
		fake_settle(&g->dev);
		fake_uar_next(1064 - i);
		opens(g);
		guest_close(g);
		fake_settle(&g->dev);
	}
	assert_int_equal(fake_uars_used(), 0);
}

/* What others hold there, the driver for one, is no reason to leave it. */
static void a_window_that_is_full_is_told(void **state)
{
	struct guest *g = *state;
	struct fake_file other = { .used = true };
	uint64_t tokens;
	unsigned int used;

	fake_uars_are(FIRST, PAGES, false);
	has(g, 320, 16);
	fake_uar_next(320);
	assert_true(fake_uars_take(&other, 9));
	used = fake_uars_used();
	be_quota_failed(&g->dev.quota, 0);
	tokens = (uint64_t)g->dev.quota.fail.tokens_ns;
	assert_int_equal(guest_program(g, 1), -ENOMEM);
	assert_int_equal(fake_uars_used(), used);
	assert_int_equal(fake_files(), 1);
	assert_int_equal(g->dev.quota.uars, 0);
	/* It costs what commands cost that the driver refuses: a second for ten. */
	assert_true(tokens - (uint64_t)g->dev.quota.fail.tokens_ns >
		    30 * VL_SEC_NS / 10);
	fake_uars_drop(&other);
	opens(g);
	guest_close(g);
}

static void no_more_is_charged_than_it_has(void **state)
{
	struct guest *g = *state;
	uint32_t before;

	fake_uars_are(FIRST, PAGES, false);
	has(g, 320, 32);
	g->dev.quota.left_uars = 16;
	opens(g);
	guest_close(g);
	opens(g);
	before = fake_contexts();
	assert_int_equal(guest_program(g, 99), -ENOMEM);
	assert_int_equal(fake_contexts(), before);	/* nobody searched */
	guest_close(g);
}

/* Of a thread's own page nobody knows before it is there. */
static void another_page_is_never_told(void **state)
{
	struct guest *g = *state;

	fake_uars_are(FIRST, PAGES, false);
	has(g, 320, 32);
	opens(g);
	assert_int_equal(guest_doorbell(g, REGULAR(1), 0x100000), -EBUSY);
	fake_uar_next(352);
	assert_int_equal(guest_doorbell(g, ALLOCATED(0), 0), -EPERM);
	fake_uar_next(319);
	assert_int_equal(guest_doorbell(g, ALLOCATED(1), 0), -EPERM);
	fake_uar_next(351);
	assert_int_equal(told(g, ALLOCATED(2)), 31);
	guest_close(g);
}

/* Of a frontend that knows nothing of its device tree. */
static void a_place_of_its_own_choice_is_refused(void **state)
{
	struct guest *g = *state;

	fake_uars_are(FIRST, PAGES, false);
	has(g, 320, 32);
	g->uc = guest_alloc_uc(g);
	assert_int_equal(guest_doorbell(g, REGULAR(0), 0x100000), -EPERM);
	assert_int_equal(told(g, REGULAR(0)), 0);
	guest_close(g);
}

/* The guest has it as long as it lives, with or without a worker. */
static void a_page_of_one_is_no_other_s(void **state)
{
	struct guest *g = *state;

	fake_uars_are(FIRST, PAGES, false);
	has(g, 320, 32);
	opens(g);
	guest_close(g);
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_PARKED], 1);
	fake_settle(&g->dev);		/* its worker was killed */
	assert_int_equal(fake_uars_used(), 0);
	fake_uar_next(320);		/* the HCA gives its pages again */
	has(g, 352, 32);		/* to the worker of another guest */
	assert_int_equal(opens(g), 0);
	guest_close(g);
}

static void the_next_program_searches_nothing(void **state)
{
	struct guest *g = *state;
	uint32_t before;
	uint64_t first;

	fake_uars_are(FIRST, PAGES, false);
	has(g, 2208, 64);
	first = opens(g);
	guest_close(g);
	before = fake_contexts();
	g->uc = guest_alloc_uc(g);
	assert_int_equal(told(g, REGULAR(0)), first);
	assert_int_equal(fake_contexts(), before);
	guest_close(g);
	/* one that maps in another way has another context, of its window, too */
	fake_uar_next(FIRST);
	g->uc = guest_alloc_uc(g);
	assert_true(told(g, UNCACHED(0)) < 64);
	assert_true(fake_contexts() > before);
	guest_close(g);
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_PARKED], 2);
}

/* Without a toolstack the guest never ends: what a worker left until then, it left for ever. */
static void a_worker_that_ends_leaves_no_context(void **state)
{
	struct guest *g = *state;

	fake_uars_are(FIRST, PAGES, false);
	has(g, 320, 32);
	opens(g);
	guest_close(g);
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_PARKED], 1);
	opens(g);			/* and one that is open */
	be_dev_close(&g->dev);
	assert_false(g->dev.unsettled);
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_PARKED], 0);
	assert_int_equal(g->dev.quota.uars, 0);
	assert_int_equal(fake_uars_used(), 0);
	assert_int_equal(fake_files(), 0);
}

/* Another worker searches, and does not end it: that costs time, not more. */
static void a_search_waits_for_others_but_not_for_ever(void **state)
{
	struct guest *g = *state;
	int fd = eventfd(0, EFD_CLOEXEC);	/* all have one inode */
	uint64_t begin;

	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	fake_uars_are(FIRST, PAGES, false);
	has(g, 320, 32);
	begin = vl_now_ns();
	opens(g);
	assert_in_range(vl_now_ns() - begin, VL_SEC_NS, 60 * VL_SEC_NS);
	guest_close(g);
	close(fd);
}

static void the_window_is_in_the_bar(void **state)
{
	struct guest *g = *state;

	bar_is("0x0000008000000000 0x0000008000ffffff 0x000000000014220c");
	has(g, 320, 32);
	g->dev.quota.window_uars = 0;
	g->dev.bar_end = 0;
	assert_int_equal(be_static_check(&g->dev), 0);
	assert_true(g->dev.bar_end == BAR + PAGES);
	assert_int_equal(g->dev.quota.window_uars, 32);
	has(g, PAGES - 32, 32);
	assert_int_equal(be_static_check(&g->dev), 0);
	has(g, PAGES - 32, 33);
	assert_int_equal(be_static_check(&g->dev), -EINVAL);
	assert_non_null(strstr(g->dev.fault_reason, "not in the BAR"));
	g->dev.window.mfn = BAR - 1;
	assert_int_equal(be_static_check(&g->dev), -EINVAL);
	bar_is("0x0000000000000000 0x0000000000000000 0x0000000000000000");
	has(g, 320, 32);
	assert_int_equal(be_static_check(&g->dev), -ENOENT);
	g->dev.window.nr = 0;
	assert_int_equal(be_static_check(&g->dev), 0);
	has(g, 320, 32);
	g->dev.fault = false;
}

/* A frontend that knows it asks without a place. */
static void the_frontend_is_told(void **state)
{
	struct guest *g = *state;

	assert_false(g->dev.info.flags & XENVHCA_INFO_STATIC_DOORBELLS);
	be_dev_close(&g->dev);
	bar_is("0x0000008000000000 0x0000008000ffffff 0x000000000014220c");
	has(g, 320, 32);
	assert_int_equal(be_dev_open(&g->dev), 0);
	assert_true(g->dev.info.flags & XENVHCA_INFO_STATIC_DOORBELLS);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, guest_setup_mlx5,	\
					     guest_teardown)
	const struct CMUnitTest tests[] = {
		T(a_context_lies_in_the_window),
		T(an_hca_that_takes_the_lowest_is_led_there),
		T(a_step_is_no_smaller_than_a_context),
		T(an_hca_that_is_past_it_comes_round),
		T(a_context_on_the_edge_is_not_right),
		T(a_window_that_is_full_is_told),
		T(no_more_is_charged_than_it_has),
		T(another_page_is_never_told),
		T(a_place_of_its_own_choice_is_refused),
		T(a_page_of_one_is_no_other_s),
		T(the_next_program_searches_nothing),
		T(a_worker_that_ends_leaves_no_context),
		T(a_search_waits_for_others_but_not_for_ever),
		T(the_window_is_in_the_bar),
		T(the_frontend_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
