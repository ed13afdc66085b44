// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The bucket (bucket.h) holds time: it fills by one nanosecond per nanosecond,
 * up to its depth, and a token costs a second divided by the rate.
 */
#include <unistd.h>
#include "bucket.h"
#include "clock.h"

static int64_t cost(const struct vl_bucket *b)
{
	return (int64_t)(VL_SEC_NS / b->rate);
}

uint64_t vl_bucket_wait(struct vl_bucket *b, uint64_t now_ns)
{
	int64_t depth = (int64_t)(b->depth_ns ? b->depth_ns : VL_SEC_NS);
	uint64_t passed = now_ns - b->last_ns;

	if (!b->rate)
		return 0;
	b->last_ns = now_ns;
	if (passed >= (uint64_t)(depth - b->tokens_ns))
		b->tokens_ns = depth;
	else
		b->tokens_ns += (int64_t)passed;
	return b->tokens_ns < cost(b) ? (uint64_t)(cost(b) - b->tokens_ns) : 0;
}

uint64_t vl_bucket_take(struct vl_bucket *b, uint64_t now_ns)
{
	uint64_t wait = vl_bucket_wait(b, now_ns);

	if (!wait && b->rate)
		b->tokens_ns -= cost(b);
	return wait;
}

void vl_bucket_charge(struct vl_bucket *b, uint64_t now_ns, uint32_t n)
{
	int64_t charge;

	if (!b->rate)
		return;
	vl_bucket_wait(b, now_ns);
	charge = cost(b) * n;	/* below 2^62, as a second is below 2^30 */
	if (b->tokens_ns > charge - VL_BUCKET_DEBT_NS)
		b->tokens_ns -= charge;
	else
		b->tokens_ns = -VL_BUCKET_DEBT_NS;
}

void vl_bucket_pace(struct vl_bucket *b)
{
	uint64_t now = vl_coarse_ns(), wait = vl_bucket_wait(b, now);

	vl_bucket_charge(b, now, 1);
	if (wait)
		usleep((useconds_t)(wait / 1000));
}
