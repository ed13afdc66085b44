/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A token bucket limits a rate. It belongs to one thread, or its user holds a lock. A
 * bucket of zeros has no limit.
 */
#ifndef VL_BUCKET_H
#define VL_BUCKET_H

#include <stdint.h>

#define VL_BUCKET_DEBT_NS	(3600 * INT64_C(1000000000))	/* at most */

struct vl_bucket {
	uint64_t rate;		/* tokens per second; 0: no limit */
	int64_t tokens_ns;	/* content, as time; negative: a debt */
	uint64_t last_ns;	/* time of that content */
	uint64_t depth_ns;	/* largest content; 0: one second */
};

/* 0: there is a token; else nanoseconds until there is one. */
uint64_t vl_bucket_wait(struct vl_bucket *b, uint64_t now_ns);
/* The same, and takes it. */
uint64_t vl_bucket_take(struct vl_bucket *b, uint64_t now_ns);
/* Takes @n tokens that were spent already, as a debt of at most an hour: later
 * takers wait until it is paid. */
void vl_bucket_charge(struct vl_bucket *b, uint64_t now_ns, uint32_t n);
/* Takes a token; sleeps until there is one, below a second without a debt. */
void vl_bucket_pace(struct vl_bucket *b);

#endif
