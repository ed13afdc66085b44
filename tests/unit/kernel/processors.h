/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The processors of kernel.h, which there are as many of as a test says, and a process
 * that polls on one of them: each turn takes time, and the test says when it has to end.
 */
#ifndef PROCESSORS_H
#define PROCESSORS_H

static u64 kernel_ns;			/* beside jiffies */
static unsigned int __attribute__((unused)) kernel_cpus = 1;
static bool __attribute__((unused)) kernel_killed;
static bool (*kernel_resched)(void);	/* asked in each turn of a loop */
#define cpu_relax()		(kernel_ns += 100)
#define num_online_cpus()	kernel_cpus
#define need_resched()		(kernel_resched && kernel_resched())
#define fatal_signal_pending(t)	kernel_killed
#define rcu_read_lock()		((void)kernel_atomic++)
#define rcu_read_unlock()	((void)kernel_atomic--)
#define synchronize_rcu		might_sleep

#endif
