// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Page lists of the guest: every level, every malformed shape, quota, and
 * that nothing stays mapped or charged after an error.
 */
#include <errno.h>

#include "tests/fake/guest.h"

#define PAGE XENVHCA_PAGE_SIZE

static void fill(struct guest *g, uint32_t first, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		*(uint32_t *)loop_page(g->loop, first + i) = 0xabc00000u + i;
}

static int map(struct guest *g, const struct xenvhca_pages *p, struct be_gmap *m)
{
	return be_gmap_map(&g->dev, p, 0, (uint64_t)p->nr_pages * PAGE, m);
}

/* Lists are not mapped: each level is one copy. */
static void check_level(struct guest *g, uint32_t n, uint8_t level)
{
	uint64_t pages, calls, before, calls_before;
	struct xenvhca_pages p;
	struct be_gmap m = {};
	uint32_t i, lists = level ? (n + 1023) / 1024 : 0;

	fill(g, 100, n);
	guest_pages(g, &p, 100, n, level, 3500);
	calls_before = loop_copies(g->loop, &before);
	assert_int_equal(map(g, &p, &m), 0);
	calls = loop_copies(g->loop, &pages) - calls_before;
	assert_int_equal(calls, level);
	assert_int_equal(pages - before, level == 2 ? lists + 1 : lists);
	assert_int_equal(m.nr_pages, n);
	assert_int_equal(loop_mapped(g->loop), n);
	assert_int_equal(g->dev.quota.used_pages, n);
	for (i = 0; i < n; i++)
		assert_int_equal(*(uint32_t *)((char *)m.addr + i * PAGE),
				 0xabc00000u + i);
	be_gmap_unmap(&g->dev, &m);
	assert_null(m.addr);
	be_gmap_unmap(&g->dev, &m);	/* empty: harmless */
}

static void maps_every_level(void **state)
{
	check_level(*state, 1, 0);
	check_level(*state, 8, 0);
	check_level(*state, 1, 1);
	check_level(*state, 1024, 1);
	check_level(*state, 1025, 1);
	check_level(*state, 3000, 1);
	check_level(*state, 1, 2);
	check_level(*state, 3000, 2);
}

static void refuse(struct guest *g, const struct xenvhca_pages *p, int err)
{
	struct be_gmap m = {};

	assert_int_equal(map(g, p, &m), err);
	assert_null(m.addr);
	assert_int_equal(loop_mapped(g->loop), 0);
	assert_int_equal(g->dev.quota.used_pages, 0);
}

static void refuses_malformed_lists(void **state)
{
	struct guest *g = *state;
	struct xenvhca_pages good, p;

	guest_pages(g, &good, 0, 3, 0, 0);
	p = good;
	p.nr_pages = 0;
	refuse(g, &p, -EINVAL);
	p.nr_pages = 9;			/* more than inline */
	refuse(g, &p, -EINVAL);
	p.nr_pages = UINT32_MAX;
	refuse(g, &p, -EINVAL);
	p = good;
	p.level = 3;
	refuse(g, &p, -EINVAL);
	p = good;
	p.reserved[1] = 1;
	refuse(g, &p, -EINVAL);
	p = good;
	p.flags = 2;
	refuse(g, &p, -EINVAL);
	p.flags = XENVHCA_PAGES_READONLY;	/* for queue memory */
	refuse(g, &p, -EINVAL);
	p = good;
	p.gref[1] = 0;			/* used, but 0 */
	refuse(g, &p, -EINVAL);
	p = good;
	p.gref[7] = LOOP_REF(1);	/* unused, but set */
	refuse(g, &p, -EINVAL);
	p = good;
	p.nr_pages = 8 * 1024 + 1;
	p.level = 1;
	refuse(g, &p, -EINVAL);
}

static void refuses_malformed_directories(void **state)
{
	struct guest *g = *state;
	struct xenvhca_pages p;
	uint32_t *dir;

	guest_pages(g, &p, 0, 1030, 1, 3500);
	dir = loop_page(g->loop, 3500);
	dir[17] = 0;
	refuse(g, &p, -EINVAL);
	guest_pages(g, &p, 0, 1030, 1, 3500);
	dir = loop_page(g->loop, 3501);
	dir[6] = LOOP_REF(9);		/* behind the last */
	refuse(g, &p, -EINVAL);
	guest_pages(g, &p, 0, 1030, 1, 3500);
	dir[5] = 0xdeadbeef;		/* no such grant */
	refuse(g, &p, -EINVAL);
	guest_pages(g, &p, 0, 1030, 1, 3500);
	loop_revoke(g->loop, 3501);	/* directory cannot be copied */
	refuse(g, &p, -EINVAL);
}

static void undoes_a_failing_map(void **state)
{
	struct guest *g = *state;
	struct xenvhca_pages p;

	guest_pages(g, &p, 0, 2000, 1, 3500);
	loop_fail_map(g->loop, 1, -EFAULT);	/* the directories */
	refuse(g, &p, -EFAULT);
	loop_fail_map(g->loop, 2, -ENOSPC);	/* the pages */
	refuse(g, &p, -ENOSPC);
}

static void charges_before_it_maps(void **state)
{
	struct guest *g = *state;
	struct xenvhca_pages p;

	g->dev.quota.max_pages = 99;
	guest_pages(g, &p, 0, 100, 1, 3500);
	loop_fail_map(g->loop, 1, -EIO);
	refuse(g, &p, -EDQUOT);
	loop_fail_map(g->loop, 0, 0);
	guest_pages(g, &p, 0, 99, 1, 3500);
	struct be_gmap m = {};

	assert_int_equal(map(g, &p, &m), 0);
	be_gmap_unmap(&g->dev, &m);
}

/* Each mapping takes an entry of maptrack, also of the page before. */
static void charges_a_page_named_again(void **state)
{
	struct guest *g = *state;
	struct xenvhca_pages p;
	struct be_gmap m = {};
	uint32_t i;

	guest_pages(g, &p, 0, 8, 0, 0);
	for (i = 1; i < 8; i++)
		p.gref[i] = p.gref[0];
	g->dev.quota.max_pages = 7;
	refuse(g, &p, -EDQUOT);
	g->dev.quota.max_pages = 8;
	assert_int_equal(map(g, &p, &m), 0);
	assert_int_equal(g->dev.quota.used_pages, 8);
	be_gmap_unmap(&g->dev, &m);
}

static void checks_ranges(void **state)
{
	(void)state;
	assert_int_equal(be_gmap_check_range(1, 0, 1), 0);
	assert_int_equal(be_gmap_check_range(1, 0, PAGE), 0);
	assert_int_equal(be_gmap_check_range(1, 4095, 1), 0);
	assert_int_equal(be_gmap_check_range(2, 4095, 2), 0);
	assert_int_equal(be_gmap_check_range(1, 4095, 2), -EINVAL);
	assert_int_equal(be_gmap_check_range(2, 0, PAGE), -EINVAL);
	assert_int_equal(be_gmap_check_range(1, 4096, 1), -EINVAL);
	assert_int_equal(be_gmap_check_range(0, 0, 0), -EINVAL);
	assert_int_equal(be_gmap_check_range(1, 0, 0), -EINVAL);
	assert_int_equal(be_gmap_check_range(1, 1, UINT64_MAX), -EINVAL);
	assert_int_equal(be_gmap_check_range(0, 0, 1ull << 44), -EINVAL);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, guest_setup, guest_teardown)
	const struct CMUnitTest tests[] = {
		T(maps_every_level),
		T(refuses_malformed_lists),
		T(refuses_malformed_directories),
		T(undoes_a_failing_map),
		T(charges_before_it_maps),
		T(charges_a_page_named_again),
		cmocka_unit_test(checks_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
