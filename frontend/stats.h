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

/*
 * X(name), each with what it counts; in debugfs (stats.c) and hw_counters
 * (counters.c). The data path must not move cmds.
 */
#define VHCA_STATS(X) \
	X(cmds),		/* commands sent */ \
	X(munmaps),		/* MUNMAP commands among them */ \
	X(cmd_errors),		/* answered with an error */ \
	X(cmd_timeouts),	/* abandoned, id quarantined */ \
	X(cmd_spins),		/* answered while the process polled */ \
	X(cmd_sleeps),		/* waited for asleep */ \
	X(cmd_notifies),	/* event channel notifications sent */ \
	X(kicks),		/* entries put into the kick ring */ \
	X(kicks_merged),	/* not needed, queue already named */ \
	X(kick_notifies),	/* the same, for kicks */ \
	X(events),		/* events consumed */ \
	X(irqs),		/* event channel upcalls, all three */ \
	X(spurious),		/* upcalls without work */ \
	X(bad_events),		/* unknown type or handle */ \
	X(pages_granted),	/* data pages granted now */ \
	X(pages_mapped),	/* backend pages mapped now */ \
	X(doorbells),		/* doorbell pages of the HCA now */ \
	/* Memory of the kernel's consumers, kernel/pool.c; else 0. */ \
	X(pool_pages),		/* its size */ \
	X(pool_used),		/* pages in use now */ \
	X(pool_most),		/* the most that were */ \
	X(pool_mappings),	/* rows of pages and slots taken */ \
	X(pool_refused),	/* not taken, without room */ \
	X(pool_in),		/* octets copied to it */ \
	X(pool_out)		/* octets copied from it */

#define VHCA_STAT_FIELD(name) name
#define VHCA_STAT_FIELDS VHCA_STATS(VHCA_STAT_FIELD)
struct vhca_stats {
	atomic64_t VHCA_STAT_FIELDS;
};

void vhca_stats_init(void);
void vhca_stats_exit(void);
void vhca_stats_add(struct vhca_dev *dev);
void vhca_stats_del(struct vhca_dev *dev);

#endif
