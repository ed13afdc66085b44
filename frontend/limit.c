// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The clock of a limit runs in a work, because the operation waits for answers.
 */
#include "limit.h"
#include "vhca.h"

static void limit_work(struct work_struct *work)
{
	struct vhca_limit *limit = container_of(to_delayed_work(work),
						struct vhca_limit, work);
	unsigned int ended = atomic_read(&limit->dev->ring.ended) -
			     limit->ended;
	long left = limit->by + ended * limit->each - jiffies;

	if (left > 0)
		schedule_delayed_work(&limit->work, left);
	else
		limit->late(limit);
}

void vhca_limit_init(struct vhca_limit *limit,
		     void (*late)(struct vhca_limit *limit))
{
	INIT_DELAYED_WORK(&limit->work, limit_work);
	limit->late = late;
}

void vhca_limit_begin(struct vhca_limit *limit, struct vhca_dev *dev,
		      unsigned long wait, unsigned long each)
{
	limit->dev = dev;
	limit->ended = atomic_read(&dev->ring.ended);
	limit->by = jiffies + wait;
	limit->each = each;
	schedule_delayed_work(&limit->work, wait);
}

void vhca_limit_end(struct vhca_limit *limit)
{
	cancel_delayed_work_sync(&limit->work);
}
