/* SPDX-License-Identifier: GPL-2.0 */
/* Copyright (C) 2026 The vhca authors */
/*
 * vhca-bench: latencies of control verbs and of the data path, each the median
 * of many runs, printed as one JSON object per line.
 */
#ifndef VHCA_TESTS_BENCH_H
#define VHCA_TESTS_BENCH_H

#include "vt.h"

#define BENCH_MAX 2000		/* samples of one figure */

struct bench_set {
	const char *name;
	const char *unit;	/* "us", or "MB/s" where more is better */
	double v[BENCH_MAX];
	double speed[BENCH_MAX];	/* bench_speed() at each one; 0: not known */
	bool with_speed;
	int n;
};

extern int bench_runs;		/* of a control verb */
/*
 * Ping-pongs of one sample. More than 1: where the clock is coarse; then
 * polling never gives the processor away and bandwidth runs are longer too.
 */
extern int bench_batch;
extern int bench_samples;	/* of a data figure; 0: enough for one process */
/*
 * MHz of the processor's counter, which then is the clock; 0: the kernel's. Under
 * emulation the clocks of Xen's domains jump by milliseconds, the counter, where
 * a domain may read it natively, does not.
 */
extern double bench_mhz;

uint64_t bench_now_ns(void);
void bench_begin(struct bench_set *b, const char *name, const char *unit);
void bench_add(struct bench_set *b, double value);
double bench_speed(void);
void bench_add_at(struct bench_set *b, double value, double speed);
void bench_print(struct bench_set *b);

int bench_control(struct vt_dev *d, char *why);
int bench_data(struct vt_side *s);

#endif
