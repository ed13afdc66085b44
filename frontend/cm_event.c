// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Whether the backend has events for a file: it says so over the event ring once, and
 * in the answer of each command. The two rings have no order, so each statement has a
 * number, and the latest holds. What a full event ring has lost is made up for by
 * asking. Upcalls and processes run this; the backend may say anything, which wakes a
 * process too often or never.
 */
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "cm.h"

/* What was lost until now, the answer to come knows. */
void vhca_cm_ask(struct vhca_cm *cm)
{
	spin_lock_irq(&cm->state_lock);
	cm->lost = false;
	spin_unlock_irq(&cm->state_lock);
}

bool vhca_cm_told(struct vhca_cm *cm, u16 seq, bool events)
{
	unsigned long flags;
	bool news, wake = false;

	spin_lock_irqsave(&cm->state_lock, flags);
	news = (s16)(seq - cm->seq) > 0;
	if (news) {
		cm->seq = seq;
		wake = events || cm->lost;
		WRITE_ONCE(cm->events, wake);
	}
	spin_unlock_irqrestore(&cm->state_lock, flags);
	if (wake)
		wake_up_interruptible(&cm->wait);
	return news;
}

void vhca_cm_overflow(struct vhca_cm *cm)
{
	unsigned long flags;

	spin_lock_irqsave(&cm->state_lock, flags);
	cm->lost = true;
	WRITE_ONCE(cm->events, true);
	spin_unlock_irqrestore(&cm->state_lock, flags);
	wake_up_interruptible(&cm->wait);
}
