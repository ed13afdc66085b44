/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/ring/ring*.c and what they use, for tests of them.
 */
#ifndef FRONT_RING_H
#define FRONT_RING_H

#include "kernel.h"

int gnttab_grant_foreign_access(domid_t domid, unsigned long gfn, int ro);

#include "copy/ring.c"
#include "copy/ring_break.c"
#include "copy/ring_cmd.c"
#include "copy/ring_event.c"
#include "copy/ring_kick.c"
#include "copy/spin.c"

static struct vhca_link xen;
static struct vhca_dev *dev;
static const char *broken;
static int counted;			/* pages of rings */

void vhca_grant_count(int nr)
{
	counted += nr;
}

int gnttab_grant_foreign_access(domid_t domid, unsigned long gfn, int ro)
{
	(void)domid;
	(void)gfn;
	(void)ro;
	return 1;
}

bool vhca_grant_end_page(struct vhca_dev *dev, grant_ref_t ref,
			 struct page *page)
{
	void *mem = page;

	(void)ref;
	/* the others were allocated with the first one */
	if (mem == dev->ring.cmd.sring || mem == dev->ring.evt ||
	    mem == dev->ring.kick)
		free(mem);
	return true;
}

static void ring_broken(struct vhca_dev *d)
{
	broken = d->ring.reason;
}

static const struct vhca_ring_ops ops = { .broken = ring_broken };

static int setup(void **state)
{
	(void)state;
	broken = NULL;
	kernel_cpus = 1;
	kernel_resched = NULL;
	kernel_killed = false;
	dev = calloc(1, sizeof(*dev));
	dev->link = &xen;
	return vhca_ring_init(dev, 0, &ops);
}

static int teardown(void **state)
{
	(void)state;
	vhca_ring_free(dev);
	free(dev);
	return counted;
}

static int submit(u16 op, unsigned int flags)
{
	struct vhca_cmd *cmd = vhca_cmd_alloc(op, 0);
	int rc = vhca_ring_submit(dev, &cmd, flags);

	if (cmd)
		vhca_cmd_free(cmd);
	return rc;
}

static unsigned int free_slots(void)
{
	return RING_FREE_REQUESTS(&dev->ring.cmd);
}

#endif
