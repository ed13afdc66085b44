// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The rings of a connection break when the backend died, is silent, or wrote what it
 * must not. Every command then ends with -EIO, and the owner of the rings is told, who
 * unregisters the device.
 */
#include <linux/moduleparam.h>
#include <linux/slab.h>

#include "vhca.h"

static unsigned int cmd_timeout = 60;
module_param(cmd_timeout, uint, 0644);
MODULE_PARM_DESC(cmd_timeout,
		 "seconds without any answer of the backend until it counts as silent (1..3600, default 60)");

unsigned long vhca_ring_timeout(void)
{
	return clamp(READ_ONCE(cmd_timeout), 1u, 3600u) * HZ;
}

void vhca_ring_finish(struct vhca_ring *ring, unsigned int id)
{
	struct vhca_cmd *cmd = ring->pending[id];

	ring->pending[id] = NULL;
	__clear_bit(id, ring->ids);
	ring->asleep -= !cmd->polled;
	if (cmd->abandoned)
		kfree(cmd);
	else
		complete(&cmd->done);
}

/* The commands in flight, and those that wait for a slot. */
static void fail_commands(struct vhca_ring *ring)
{
	struct vhca_cmd *cmd, *next;
	unsigned long flags;
	unsigned int id;

	spin_lock_irqsave(&ring->lock, flags);
	WRITE_ONCE(ring->state, VHCA_RING_BROKEN);
	for_each_set_bit(id, ring->ids, XENVHCA_MAX_ID) {
		ring->pending[id]->rsp.status = -EIO;
		vhca_ring_finish(ring, id);
	}
	list_for_each_entry_safe(cmd, next, &ring->waiters, wait) {
		list_del_init(&cmd->wait);
		cmd->rsp.status = -EIO;
		complete(&cmd->done);
		complete(&cmd->sent);
	}
	spin_unlock_irqrestore(&ring->lock, flags);
}

void vhca_ring_fail(struct vhca_dev *dev)
{
	fail_commands(&dev->ring);
	wake_up_all(&dev->ring.kick_wait);
}

void vhca_break(struct vhca_dev *dev, const char *reason)
{
	struct vhca_ring *ring = &dev->ring;

	if (cmpxchg(&ring->reason, NULL, reason))
		return;
	dev_err(dev->link->dev, "giving the device up: %s\n", reason);
	vhca_ring_fail(dev);
	ring->ops->broken(dev);
}
