// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Doorbell pages in a guest's device tree, whatever that says: a frame that is taken for
 * one lies in a range that this module reserved, in no memory, and in nothing that another
 * driver has. All is given back.
 */
#pragma clang diagnostic ignored "-Weverything"
#include "promise.h"
#include "tests/unit/kernel/front_devicetree.h"

static struct input in;

/* Near what matters: memory, a BAR, the other driver's page, both ends of all addresses. */
static u64 address(void)
{
	static const u64 near[] = {
		0, RAM, RAM + RAM_SIZE, BAR, BAR + 0x800000, ~0ull << PAGE_SHIFT,
	};
	u64 a = near[in_u8(&in) % ARRAY_SIZE(near)];

	a += ((u64)in_u16(&in) - 0x8000) << (in_u8(&in) % 2 ? PAGE_SHIFT : 0);
	return in_u8(&in) % 8 ? a : (u64)in_u32(&in) << 32 | in_u32(&in);
}

static void node(struct device_node *n)
{
	struct resource *r;

	n->compatible = in_u8(&in) % 8 ? XENVHCA_TREE_DOORBELLS : "xen,vhca";
	n->off = !(in_u8(&in) % 8);
	n->nr = in_u8(&in) % (ARRAY_SIZE(n->reg) + 1);
	for (r = n->reg; r < n->reg + n->nr; r++) {
		r->start = address();
		r->end = in_u8(&in) % 4 ?
			 r->start + in_u8(&in) * PAGE_SIZE - 1 : address();
		r->flags = in_u8(&in) % 8 ? IORESOURCE_MEM : IORESOURCE_IO;
	}
}

static bool ours(u64 frame)
{
	unsigned int i;

	for (i = 1; i < nr_taken; i++)
		if (frame >= taken[i].start >> PAGE_SHIFT &&
		    frame <= taken[i].end >> PAGE_SHIFT)
			return true;
	return false;
}

static void asked(u64 frame)
{
	if (!vhca_devicetree_has(frame)) {
		PROMISE(!ours(frame));
		return;
	}
	PROMISE(ours(frame));
	PROMISE(frame < RAM >> PAGE_SHIFT ||
		frame >= (RAM + RAM_SIZE) >> PAGE_SHIFT);
	PROMISE(frame != taken[0].start >> PAGE_SHIFT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned int i;

	in = (struct input){ data, size };
	tree_reset();
	for (i = 0; i < ARRAY_SIZE(tree); i++)
		node(&tree[i]);
	vhca_devicetree_init();
	PROMISE(vhca_devicetree_any() == (nr_taken > 1) && nr_taken <= 1 + VHCA_RANGES);
	for (i = 1; i < nr_taken; i++) {
		asked(taken[i].start >> PAGE_SHIFT);
		asked((taken[i].start >> PAGE_SHIFT) - 1);
		asked(taken[i].end >> PAGE_SHIFT);
		asked((taken[i].end >> PAGE_SHIFT) + 1);
	}
	for (i = 0; i < 16; i++)
		asked(address() >> PAGE_SHIFT);
	asked(taken[0].start >> PAGE_SHIFT);
	vhca_devicetree_exit();
	PROMISE(nr_taken == 1 && !vhca_devicetree_any());
	return 0;
}
