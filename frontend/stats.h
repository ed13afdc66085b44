/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Counters of a device, which an operator reads in debugfs.
 */
#ifndef VHCA_STATS_H
#define VHCA_STATS_H

#include <linux/atomic.h>

struct dentry;
struct vhca_dev;

/* Counters, in debugfs (stats.c); the data path must not move cmds. */
struct vhca_stats {
	atomic64_t cmds;		/* commands sent */
	atomic64_t munmaps;		/* MUNMAP commands among them */
	atomic64_t cmd_errors;		/* answered with an error */
	atomic64_t cmd_timeouts;	/* abandoned, id quarantined */
	atomic64_t kicks;		/* entries put into the kick ring */
	atomic64_t kicks_merged;	/* not needed, queue already named */
	atomic64_t kick_notifies;	/* event channel notifications sent */
	atomic64_t events;		/* events consumed */
	atomic64_t irqs;		/* event channel upcalls, all three */
	atomic64_t spurious;		/* upcalls without work */
	atomic64_t bad_events;		/* unknown type or handle */
	atomic64_t pages_granted;	/* data pages granted now */
	atomic64_t pages_mapped;	/* backend pages mapped now */
	atomic64_t doorbells;		/* doorbell pages of the HCA now */
};

void vhca_stats_init(void);
void vhca_stats_exit(void);
void vhca_stats_add(struct vhca_dev *dev);
void vhca_stats_del(struct vhca_dev *dev);

#endif
