// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The bucket (bucket.h) holds time: it fills by one nanosecond per nanosecond,
 * up to its depth, and a token costs a second divided by the rate.
 */
#include "bucket.h"
#include "clock.h"

uint64_t vl_bucket_wait(struct vl_bucket *b, uint64_t now_ns)
{
	uint64_t depth = b->depth_ns ? b->depth_ns : VL_SEC_NS;
	uint64_t cost, passed;

	if (!b->rate)
		return 0;
	cost = VL_SEC_NS / b->rate;
	passed = now_ns - b->last_ns;
	b->last_ns = now_ns;
	if (passed >= depth || b->tokens_ns + passed >= depth)
		b->tokens_ns = depth;
	else
		b->tokens_ns += passed;
	return b->tokens_ns < cost ? cost - b->tokens_ns : 0;
}

uint64_t vl_bucket_take(struct vl_bucket *b, uint64_t now_ns)
{
	uint64_t wait = vl_bucket_wait(b, now_ns);

	if (!wait && b->rate)
		b->tokens_ns -= VL_SEC_NS / b->rate;
	return wait;
}
