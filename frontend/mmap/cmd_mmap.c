// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The opcodes MMAP and MUNMAP: of queue memory (range.c) and doorbell pages
 * (doorbell.c). They run in the process that made the system call, and in works.
 */
#include <linux/slab.h>

#include "map.h"
#include "vhca.h"

int vhca_cmd_mmap(struct vhca_ucontext *uc, const struct xenvhca_mmap_req *req,
		  unsigned int flags, struct xenvhca_mmap_rsp *rsp)
{
	struct vhca_cmd *cmd = vhca_cmd_alloc(XENVHCA_OP_MMAP, uc->handle);
	int rc;

	if (!cmd)
		return -ENOMEM;
	cmd->req.u.mmap = *req;
	rc = vhca_ring_submit(to_vdev(uc->ibuc.device), &cmd, flags);
	if (!rc)
		*rsp = cmd->rsp.u.mmap;
	kfree(cmd);	/* NULL: the ring holds it until the late answer */
	return rc;
}

int vhca_cmd_munmap(struct vhca_dev *dev, u32 ucontext, const u64 *offset,
		    unsigned int nr)
{
	struct vhca_cmd *cmd = vhca_cmd_alloc(XENVHCA_OP_MUNMAP, ucontext);
	int rc;

	if (!cmd)
		return -ENOMEM;
	memcpy(cmd->req.u.munmap.offset, offset, nr * sizeof(*offset));
	atomic64_inc(&dev->stats.munmaps);
	rc = vhca_ring_submit(dev, &cmd, VHCA_CMD_DESTROY);
	kfree(cmd);
	return rc;
}
