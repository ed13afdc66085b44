/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A device with rings, for tests of them in one thread.
 */
#ifndef FRONT_RING_H
#define FRONT_RING_H

#include "ring_rest.h"

static struct vhca_store xen;
static struct vhca_dev *dev;
static const char *broken;

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
	dev->store = &xen;
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

	kfree(cmd);
	return rc;
}

static unsigned int free_slots(void)
{
	return RING_FREE_REQUESTS(&dev->ring.cmd);
}

#endif
