/* SPDX-License-Identifier: GPL-2.0 */
/* Copyright (C) 2026 The vhca authors */
/*
 * What the files of vhca-many share: a process that makes objects, and what they cost.
 */
#ifndef VHCA_TESTS_MANY_H
#define VHCA_TESTS_MANY_H

#include <signal.h>

#include "vt.h"

#define PAGE		4096ul
#define MANY_COUNTED	6	/* counters of the device */
#define MANY_OPEN	4096	/* most processes of many_open() */
#define MANY_AT_ONCE	32	/* that open, or close: fewer than commands may wait */

/* One process: what it has, and what it asked for. */
struct many {
	struct vt_dev dev;
	struct vt_opt opt;
	long n;			/* objects */
	int at_once;		/* many_open(): at most MANY_AT_ONCE */
	long verbs;
	struct ibv_cq *cq;
	struct ibv_comp_channel *chan;
	struct ibv_qp **qp;
	struct ibv_mr **mr;
	uint8_t *mem;
	size_t len;
	long before[MANY_COUNTED];
	uint64_t start;
	long *sum;		/* of several processes' verbs; NULL: one */
};

extern volatile sig_atomic_t many_over;	/* somebody wants it to end */

/* Says why, and returns 1. */
int many_failed(const char *what, int err);
void many_begin(struct many *m);
/* "WHAT objects N verbs N ms N cmds N munmaps N ..." since then */
void many_end(struct many *m, const char *what);
/* Somebody looks at it meanwhile. */
void many_hold(int seconds);

/* m->n processes that have the device open beside this one: it stays so for the seconds,
 * or until the signal. */
int many_open(struct many *m, int seconds);

/* Keeps m->n queue pairs of numbers far from each other, or as many as it gets. */
int many_spread(struct many *m, int seconds);

#endif
