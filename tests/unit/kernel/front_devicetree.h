/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/mmap/devicetree.c with a device tree and the kernel's list of addresses in use, for
 * test_front_devicetree.c and a fuzz target.
 */
#ifndef FRONT_TREE_H
#define FRONT_TREE_H

#include "kernel.h"

typedef u64 resource_size_t;
struct resource { u64 start, end; unsigned long flags; };

#define IORESOURCE_MEM		BIT(0)
#define IORESOURCE_IO		BIT(1)
#define IORESOURCE_SYSTEM_RAM	BIT(2)
#define IORES_DESC_NONE		0
#define REGION_DISJOINT		1
#define REGION_MIXED		2
#undef PAGE_ALIGNED
#define PAGE_ALIGNED(v)		(!((v) % PAGE_SIZE))
#define resource_size(r)	((r)->end - (r)->start + 1)

struct device_node {
	const char *compatible;
	bool off;
	struct resource reg[16];
	unsigned int nr;
};

#define RAM		0x40000000ull
#define RAM_SIZE	0x10000000ull
#define BAR		0x8000000000ull

static struct device_node tree[4];
static struct resource taken[16];	/* of this module, and one of another */
static unsigned int nr_taken;

#define for_each_compatible_node(n, type, compat)			\
	for ((n) = tree; (n) < tree + ARRAY_SIZE(tree); (n)++)		\
		if ((n)->compatible && !strcmp((n)->compatible, compat))

static bool of_device_is_available(const struct device_node *n)
{
	return !n->off;
}

static int of_address_to_resource(struct device_node *n, int i,
				  struct resource *r)
{
	if (i < 0 || i >= n->nr)
		return -EINVAL;
	*r = n->reg[i];
	return 0;
}

static int region_intersects(u64 start, u64 size, unsigned long flags,
			     unsigned long desc)
{
	/* A size of 0 is all that there is, as Linux has it. */
	return start < RAM + RAM_SIZE && RAM <= start + size - 1 ?
	       REGION_MIXED : REGION_DISJOINT;
}

static bool request_mem_region(u64 start, u64 size, const char *name)
{
	unsigned int i;

	for (i = 0; i < nr_taken; i++)
		if (start <= taken[i].end && taken[i].start <= start + size - 1)
			return false;
	assert_true(nr_taken < ARRAY_SIZE(taken));
	taken[nr_taken++] = (struct resource){ start, start + size - 1 };
	return true;
}

static void release_mem_region(u64 start, u64 size)
{
	unsigned int i;

	for (i = 0; i < nr_taken; i++)
		if (taken[i].start == start && resource_size(&taken[i]) == size)
			break;
	assert_true(i < nr_taken);
	taken[i] = taken[--nr_taken];
}

#include "copy/devicetree.c"

/* A tree without nodes; one page is another driver's. */
static void tree_reset(void)
{
	memset(tree, 0, sizeof(tree));
	taken[0] = (struct resource){ BAR + 0x800000, BAR + 0x800fff };
	nr_taken = 1;
}

#endif
