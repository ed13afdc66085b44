// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The limit for queue memory of the backend's HCA that a device has, and the end of
 * ranges.
 *
 * The backend decides how large a queue is. All queues of a device together have at
 * most as many pages as an honest backend grants to a guest: each page costs this
 * kernel a reference and, if mapped, an address (map.c). One command tells the backend
 * of several ranges that have ended.
 */
#include <linux/jiffies.h>
#include <linux/moduleparam.h>

#include "map.h"
#include "range.h"
#include "vhca.h"

static unsigned int queue_pages = XENVHCA_QUEUE_PAGES;
module_param(queue_pages, uint, 0644);
MODULE_PARM_DESC(queue_pages,
		 "most pages of queue memory of one device (default 16384)");

/* A ucontext leaves this much ended memory at the backend: 1 MiB, for this long. */
#define VHCA_ENDED_PAGES	256u
#define VHCA_ENDED_MAX		HZ

u32 vhca_range_max(void)
{
	return min_t(u32, READ_ONCE(queue_pages), INT_MAX);
}

int vhca_range_charge(struct vhca_dev *dev, u32 nr)
{
	u32 max = vhca_range_max();
	int sum = atomic_read(&dev->queue_pages);

	do {
		if (nr > max || sum > max - nr) {
			ibdev_warn_ratelimited(&dev->ibdev,
					       "%u pages of queue memory beside %d are refused: parameter queue_pages is %u\n",
					       nr, sum, max);
			return -ENOMEM;
		}
	} while (!atomic_try_cmpxchg(&dev->queue_pages, &sum, sum + nr));
	return 0;
}

void vhca_range_uncharge(struct vhca_dev *dev, u32 nr)
{
	atomic_sub(nr, &dev->queue_pages);
}

static bool ended_send(struct vhca_ucontext *uc, const struct vhca_ended *e)
{
	if (e->nr)
		vhca_cmd_munmap(to_vdev(uc->ibuc.device), uc->handle,
				e->offset, e->nr);
	return e->nr;
}

void vhca_range_end(struct vhca_ucontext *uc, u64 offset, u32 nr)
{
	struct vhca_ended *e = &uc->ended, full = {};

	spin_lock(&uc->range_lock);
	e->offset[e->nr++] = offset;
	e->pages += nr;
	if (e->nr == XENVHCA_MUNMAP_RANGES || e->pages >= VHCA_ENDED_PAGES) {
		full = *e;
		*e = (struct vhca_ended){};
	}
	spin_unlock(&uc->range_lock);
	if (!ended_send(uc, &full))
		queue_delayed_work(system_long_wq, &uc->ended_work,
				   VHCA_ENDED_MAX);
}

bool vhca_ranges_flush(struct vhca_ucontext *uc)
{
	struct vhca_ended e;

	spin_lock(&uc->range_lock);
	e = uc->ended;
	uc->ended = (struct vhca_ended){};
	spin_unlock(&uc->range_lock);
	return ended_send(uc, &e);
}

static void ended_work(struct work_struct *work)
{
	vhca_ranges_flush(container_of(to_delayed_work(work),
				       struct vhca_ucontext, ended_work));
}

void vhca_ranges_init(struct vhca_ucontext *uc)
{
	spin_lock_init(&uc->range_lock);
	INIT_LIST_HEAD(&uc->ranges);
	INIT_DELAYED_WORK(&uc->ended_work, ended_work);
}
