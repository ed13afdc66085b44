// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Whether the backend has events for a file: it says so over the event ring once, and
 * in the answer of each command. The two rings have no order, so each statement has a
 * number, and the latest holds. What a full event ring has lost is made up for by
 * asking, by a command of the file. Upcalls and processes run this; the backend may say
 * anything, which wakes a process never, or once for each time that the process asks.
 */
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "file.h"
#include "vhca.h"

bool vhca_file_notify(struct vhca_file *file, u16 seq, bool events)
{
	unsigned long flags;
	bool news = false;

	spin_lock_irqsave(&file->state_lock, flags);
	if ((s16)(seq - file->seq) > 0) {
		file->seq = seq;
		events |= file->lost;
		news = events && !file->events;
		WRITE_ONCE(file->events, events);
	}
	spin_unlock_irqrestore(&file->state_lock, flags);
	if (news)
		wake_up_interruptible(file->wait);
	return news;
}

void vhca_file_overflow(struct vhca_file *file)
{
	unsigned long flags;

	spin_lock_irqsave(&file->state_lock, flags);
	file->lost = true;
	WRITE_ONCE(file->events, true);
	spin_unlock_irqrestore(&file->state_lock, flags);
	wake_up_interruptible(file->wait);
}

/* What was lost until now, the answer to come knows. */
static void file_ask(struct vhca_file *file)
{
	spin_lock_irq(&file->state_lock);
	file->lost = false;
	spin_unlock_irq(&file->state_lock);
}

int vhca_file_command(struct vhca_file *file, struct vhca_cmd **cmd,
		      unsigned int flags,
		      int (*answer)(struct vhca_file *file,
				    const struct vhca_cmd *cmd))
{
	int rc = vhca_file_lock(file);

	if (rc)
		return rc;
	(*cmd)->req.u.handle.handle = file->handle;
	if (answer)
		file_ask(file);
	/* The backend takes so many; all other slots are for verbs. */
	if (flags & VHCA_CMD_APART)
		rc = down_killable(&file->dev->cm_slots);
	if (!rc) {
		rc = vhca_ring_submit(file->dev, cmd, flags);
		if (flags & VHCA_CMD_APART)
			up(&file->dev->cm_slots);
	}
	if (!rc && answer)
		rc = answer(file, *cmd);
	vhca_file_unlock(file);
	return rc;
}
