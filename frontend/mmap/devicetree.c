// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * If Xen starts all domains itself it maps doorbell pages of the HCA into a new guest,
 * and the guest's device tree tells where (vhcaif.h, XENVHCA_TREE_DOORBELLS). A process
 * gets only pages that the tree names, whatever page the backend names. A range that is
 * memory, or that another driver uses, is left out.
 */
#include <linux/ioport.h>
#include <linux/mm.h>
#include <linux/of.h>
#include <linux/of_address.h>

#include <xen/io/vhcaif.h>
#include "doorbell.h"

#define VHCA_RANGES	8

static const char name[] = "vhca doorbells (device tree)";
/* Set once, before there is a device. */
static struct resource range[VHCA_RANGES];
static unsigned int nr;

static const char *range_bad(const struct resource *r)
{
	if (r->end < r->start || !PAGE_ALIGNED(r->start) ||
	    !PAGE_ALIGNED(r->end + 1))
		return "no whole pages";
	if (!(r->flags & IORESOURCE_MEM))
		return "no memory addresses";
	if (region_intersects(r->start, resource_size(r),
			      IORESOURCE_SYSTEM_RAM,
			      IORES_DESC_NONE) != REGION_DISJOINT)
		return "memory";
	if (nr == VHCA_RANGES)
		return "one too many";
	if (!request_mem_region(r->start, resource_size(r), name))
		return "in use";
	return NULL;
}

static void node_read(struct device_node *node)
{
	struct resource r = {};
	const char *bad;
	int i;

	for (i = 0; i <= VHCA_RANGES && !of_address_to_resource(node, i, &r);
	     i++) {
		bad = range_bad(&r);
		if (bad)
			pr_warn("xen-vhcafront: device tree: doorbell pages at %pa..%pa: %s, left out\n",
				&r.start, &r.end, bad);
		else
			range[nr++] = r;
	}
}

void vhca_devicetree_init(void)
{
	struct device_node *node;

	nr = 0;
	for_each_compatible_node(node, NULL, XENVHCA_TREE_DOORBELLS)
		if (of_device_is_available(node))
			node_read(node);
}

void vhca_devicetree_exit(void)
{
	while (nr) {
		nr--;
		release_mem_region(range[nr].start, resource_size(&range[nr]));
	}
}

bool vhca_devicetree_any(void)
{
	return nr;
}

bool vhca_devicetree_has(u64 frame)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (frame >= range[i].start >> PAGE_SHIFT &&
		    frame <= range[i].end >> PAGE_SHIFT)
			return true;
	return false;
}
