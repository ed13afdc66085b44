// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/mmap/devicetree.c: which pages of a device tree are doorbell pages of this guest, and
 * which are none, whatever the tree says.
 */
#include "front_devicetree.h"

/* A range of node n; pages may be 0. */
static void reg(unsigned int n, u64 start, u64 pages)
{
	struct device_node *node = &tree[n];

	node->compatible = XENVHCA_TREE_DOORBELLS;
	node->reg[node->nr++] = (struct resource){
		start, start + pages * PAGE_SIZE - 1, IORESOURCE_MEM,
	};
}

static int setup(void **state)
{
	(void)state;
	tree_reset();
	return 0;
}

/* All is given back. */
static int teardown(void **state)
{
	vhca_devicetree_exit();
	return nr_taken != 1 || vhca_devicetree_any();
}

static bool page(u64 addr)
{
	return vhca_devicetree_has(addr / PAGE_SIZE);
}

static void a_tree_without_a_node_has_none(void **state)
{
	reg(0, BAR, 16);
	tree[0].compatible = "xen,vhca-doorbell";
	reg(1, BAR, 16);
	tree[1].off = true;
	vhca_devicetree_init();
	assert_false(vhca_devicetree_any());
	assert_false(page(0));
	assert_false(page(BAR));
	assert_int_equal(nr_taken, 1);
}

static void a_window_ends_where_it_ends(void **state)
{
	reg(1, BAR + 0x140000, 0x20);
	vhca_devicetree_init();
	assert_true(vhca_devicetree_any());
	assert_true(page(BAR + 0x140000));
	assert_true(page(BAR + 0x15f000));
	assert_false(page(BAR + 0x13f000));
	assert_false(page(BAR + 0x160000));
	assert_false(page(0));
	assert_false(vhca_devicetree_has(~0ull));
	assert_false(vhca_devicetree_has(BAR + 0x140000));	/* octets, not pages */
	assert_int_equal(nr_taken, 2);
}

static void there_may_be_several(void **state)
{
	reg(0, BAR, 4);
	reg(0, BAR + 0x10000, 4);
	reg(3, BAR + 0x20000, 1);
	vhca_devicetree_init();
	assert_true(page(BAR + 0x3000) && page(BAR + 0x13000));
	assert_true(page(BAR + 0x20000));
	assert_false(page(BAR + 0x4000) || page(BAR + 0x21000));
	assert_int_equal(nr_taken, 4);
}

static void what_is_memory_is_none(void **state)
{
	reg(0, RAM, 1);
	reg(0, RAM - PAGE_SIZE, 2);
	reg(0, RAM + RAM_SIZE - PAGE_SIZE, 16);
	reg(0, 0, 1ull << 40);
	reg(1, BAR, 1);
	vhca_devicetree_init();
	assert_false(page(RAM) || page(RAM - PAGE_SIZE));
	assert_false(page(RAM + RAM_SIZE));
	assert_true(page(BAR));
	assert_int_equal(nr_taken, 2);
}

static void what_is_no_whole_page_is_none(void **state)
{
	reg(0, BAR + 1, 1);
	reg(0, BAR, 0);
	reg(0, BAR, 1);
	tree[0].reg[2].end++;
	reg(0, BAR, 1);
	tree[0].reg[3].end = BAR - 2 * PAGE_SIZE - 1;
	reg(0, BAR, 1);
	tree[0].reg[4].flags = IORESOURCE_IO;
	reg(0, BAR, 2);
	tree[0].reg[5].start++;
	vhca_devicetree_init();
	assert_false(vhca_devicetree_any());
	assert_int_equal(nr_taken, 1);
}

static void what_others_use_is_none(void **state)
{
	reg(0, BAR + 0x7ff000, 3);
	reg(0, BAR, 2);
	reg(1, BAR + 0x1000, 2);	/* twice */
	vhca_devicetree_init();
	assert_false(page(BAR + 0x7ff000) || page(BAR + 0x800000));
	assert_true(page(BAR + 0x1000));
	assert_false(page(BAR + 0x2000));
	assert_int_equal(nr_taken, 2);
}

static void a_tree_cannot_name_too_many(void **state)
{
	unsigned int i;

	for (i = 0; i < 16; i++)
		reg(0, BAR + i * PAGE_SIZE, 1);
	vhca_devicetree_init();
	assert_true(page(BAR + 7 * PAGE_SIZE));
	assert_false(page(BAR + 8 * PAGE_SIZE));
	assert_int_equal(nr_taken, 9);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	static const struct CMUnitTest tests[] = {
		T(a_tree_without_a_node_has_none),
		T(a_window_ends_where_it_ends),
		T(there_may_be_several),
		T(what_is_memory_is_none),
		T(what_is_no_whole_page_is_none),
		T(what_others_use_is_none),
		T(a_tree_cannot_name_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
