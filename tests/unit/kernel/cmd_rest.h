/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What frontend/verbs/cmd.c calls of the rest of the module, as far as its tests want the
 * same: included after it.
 */
#ifndef TEST_CMD_REST_H
#define TEST_CMD_REST_H

static u32 dropped;			/* owner of ranges */
static bool bufs_held;			/* as the last ones were put */
static bool may_break;			/* the device; else the test fails */

#include "cmd_alloc.h"

const struct vhca_udata_op *vhca_provider_op(const struct vhca_provider *p, u8 op)
{
	static const struct vhca_udata_op row;

	return &row;
}

int vhca_udata_load(struct vhca_dev *d, struct vhca_cmd *cmd,
		    struct ib_udata *u, bool outptr)
{
	return 0;
}

int vhca_bufs_get(struct vhca_ucontext *u, const struct vhca_cmd *cmd,
		  struct vhca_bufs *bufs)
{
	memset(bufs, 0, sizeof(*bufs));
	return 0;
}

void vhca_bufs_put(struct vhca_ucontext *u, struct vhca_bufs *bufs,
		   bool unknown)
{
	bufs_held = unknown;
}

void vhca_mem_drop_dirs(struct vhca_mem *mem)
{
}

void vhca_break(struct vhca_dev *d, const char *reason)
{
	if (!may_break)
		fail_msg("%s", reason);
	d->ring.state = VHCA_RING_BROKEN;
}

unsigned long vhca_ring_timeout(void)
{
	return 60 * HZ;
}

void vhca_ranges_drop(struct vhca_ucontext *u, u32 owner)
{
	dropped = owner;
}

#endif
