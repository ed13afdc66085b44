/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A time limit for an operation that needs many answers: a backend that gives each of
 * them just in time must not delay it for hours.
 */
#ifndef VHCA_LIMIT_H
#define VHCA_LIMIT_H

#include <linux/workqueue.h>

struct vhca_dev;

/* Time limits for the end of a device: in all, and for each destroy command. */
#define VHCA_END_WAIT		(30 * HZ)
#define VHCA_END_EACH		(HZ / 10)

struct vhca_limit {
	struct delayed_work work;
	void (*late)(struct vhca_limit *limit);
	struct vhca_dev *dev;
	unsigned long by, each;		/* jiffies; each more per destroy command */
	unsigned int ended;
};

/* @late: is called, in a work, when time is over; the device lives. */
void vhca_limit_init(struct vhca_limit *limit,
		     void (*late)(struct vhca_limit *limit));
/* Time is over after @wait, and @each more for every destroy command that is answered. */
void vhca_limit_begin(struct vhca_limit *limit, struct vhca_dev *dev,
		      unsigned long wait, unsigned long each);
/* Done in time, or late() has returned. Sleeps. */
void vhca_limit_end(struct vhca_limit *limit);

#endif
