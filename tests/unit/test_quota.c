// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Quotas are exact, and a token bucket lets through what its rate says.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "core/be.h"
#include "clock.h"
#include "core/wake.h"
#include "vhca-keys.h"
#include "vhca-provider.h"

static void counts_objects_exactly(void **state)
{
	struct be_quota q;
	uint32_t i;

	(void)state;
	be_quota_defaults(&q);
	q.max[BE_QP] = 3;
	for (i = 0; i < 3; i++)
		assert_int_equal(be_quota_take(&q, BE_QP), 0);
	assert_int_equal(be_quota_take(&q, BE_QP), -EDQUOT);
	assert_int_equal(be_quota_take(&q, BE_CQ), 0);
	be_quota_give(&q, BE_QP);
	assert_int_equal(be_quota_take(&q, BE_QP), 0);
	for (i = 0; i < 5; i++)
		be_quota_give(&q, BE_QP);
	assert_int_equal(q.used[BE_QP], 0);
}

/* The default is rdma-core's for as many contexts as there may be. */
static void counts_doorbell_pages(void **state)
{
	struct be_quota q;
	uint32_t i;

	(void)state;
	be_quota_defaults(&q);
	for (i = 0; i < q.max[BE_UCONTEXT]; i++)
		assert_int_equal(be_quota_take_uars(&q, 8), 0);
	assert_int_equal(be_quota_take_uars(&q, 1), -EDQUOT);
	assert_int_equal(be_quota_take_uars(&q, 0), 0);
	assert_int_equal(be_quota_take_uars(&q, i * 8 + 1), -ENOMEM);
	assert_int_equal(be_quota_take_uars(&q, UINT32_MAX), -ENOMEM);
	be_quota_give_uars(&q, 1);
	assert_int_equal(be_quota_take_uars(&q, 2), -EDQUOT);
	assert_int_equal(be_quota_take_uars(&q, 1), 0);
	be_quota_give_uars(&q, UINT32_MAX);
	assert_int_equal(q.uars, 0);
	q.context_uars = 1;		/* an mlx4 */
	assert_int_equal(be_quota_take_uars(&q, i), 0);
	assert_int_equal(be_quota_take_uars(&q, 1), -EDQUOT);
}

/* A guest that connects anew has what earlier connections left, too. */
static void counts_what_earlier_connections_left(void **state)
{
	struct be_quota q;

	(void)state;
	be_quota_defaults(&q);
	q.left_uars = BE_GUEST_UARS - 16;
	assert_int_equal(be_quota_take_uars(&q, 17), -ENOMEM);
	assert_int_equal(be_quota_take_uars(&q, 16), 0);
	assert_int_equal(be_quota_take_uars(&q, 1), -EDQUOT);
	be_quota_give_uars(&q, 16);
	q.left_uars = UINT32_MAX;
	assert_int_equal(be_quota_take_uars(&q, 1), -ENOMEM);
	/* A small device has all of its own beside them ... */
	q.max[BE_UCONTEXT] = 4;
	q.left_uars = BE_GUEST_UARS / 2;
	assert_int_equal(be_quota_take_uars(&q, 32), 0);
	assert_int_equal(be_quota_take_uars(&q, 1), -EDQUOT);
	be_quota_give_uars(&q, 32);
	/* ... and a large one the rest of its own. */
	q.max[BE_UCONTEXT] = 2 * BE_GUEST_UARS / XENVHCA_UCONTEXT_UARS;
	assert_int_equal(be_quota_take_uars(&q, 2 * BE_GUEST_UARS -
					    q.left_uars), 0);
	assert_int_equal(be_quota_take_uars(&q, 1), -EDQUOT);
}

static void counts_pages_without_overflow(void **state)
{
	struct be_quota q;

	(void)state;
	be_quota_defaults(&q);
	q.max_pages = 100;
	assert_int_equal(be_quota_take_pages(&q, 60), 0);
	assert_int_equal(be_quota_take_pages(&q, 41), -EDQUOT);
	assert_int_equal(be_quota_take_pages(&q, UINT64_MAX), -EDQUOT);
	assert_int_equal(be_quota_take_pages(&q, UINT64_MAX - 59), -EDQUOT);
	assert_int_equal(be_quota_take_pages(&q, 40), 0);
	be_quota_give_pages(&q, 1000);
	assert_int_equal(q.used_pages, 0);
}

static void bucket_follows_its_rate(void **state)
{
	struct vl_bucket b = { .rate = 100 };
	uint64_t now = 5 * VL_SEC_NS, wait;
	int i;

	(void)state;
	/* One second deep: a burst of 100, then one per 10 ms. */
	for (i = 0; i < 100; i++)
		assert_int_equal(vl_bucket_take(&b, now), 0);
	wait = vl_bucket_take(&b, now);
	assert_int_equal(wait, 10 * VL_MSEC_NS);
	assert_int_equal(vl_bucket_take(&b, now + wait / 2), wait / 2);
	assert_int_equal(vl_bucket_take(&b, now + wait), 0);
	assert_int_not_equal(vl_bucket_take(&b, now + wait), 0);
	/* A long pause fills it, but not further. */
	now += 3600 * VL_SEC_NS;
	for (i = 0; i < 100; i++)
		assert_int_equal(vl_bucket_take(&b, now), 0);
	assert_int_not_equal(vl_bucket_take(&b, now), 0);
}

/* Of what is rare, but comes in bursts. */
static void what_is_charged_is_waited_for(void **state)
{
	struct vl_bucket b = { .rate = 10, .depth_ns = 5 * VL_SEC_NS };
	uint64_t now = 100 * VL_SEC_NS;

	(void)state;
	vl_bucket_charge(&b, now, 50);
	assert_int_equal(vl_bucket_wait(&b, now), 100 * VL_MSEC_NS);
	vl_bucket_charge(&b, now, 300);
	assert_int_equal(vl_bucket_take(&b, now), 30100 * VL_MSEC_NS);
	now += 30 * VL_SEC_NS;			/* more than its depth */
	assert_int_equal(vl_bucket_take(&b, now), 100 * VL_MSEC_NS);
	now += 5 * VL_SEC_NS;
	assert_int_equal(vl_bucket_take(&b, now), 0);
	vl_bucket_charge(&b, now, UINT32_MAX);
	vl_bucket_charge(&b, now, UINT32_MAX);
	assert_int_equal(vl_bucket_wait(&b, now), 3600 * VL_SEC_NS +
						  100 * VL_MSEC_NS);
	b.rate = 0;
	vl_bucket_charge(&b, now, 1);
	assert_int_equal(vl_bucket_wait(&b, now), 0);
}

static void bucket_may_be_deep(void **state)
{
	struct vl_bucket b = { .rate = 10, .depth_ns = 5 * VL_SEC_NS };
	uint64_t now = 5 * VL_SEC_NS;
	int i;

	(void)state;
	for (i = 0; i < 50; i++) {
		assert_int_equal(vl_bucket_wait(&b, now), 0);
		assert_int_equal(vl_bucket_wait(&b, now), 0);
		assert_int_equal(vl_bucket_take(&b, now), 0);
	}
	assert_int_equal(vl_bucket_wait(&b, now), 100 * VL_MSEC_NS);
	assert_int_equal(vl_bucket_take(&b, now), 100 * VL_MSEC_NS);
	assert_int_equal(vl_bucket_take(&b, now + 100 * VL_MSEC_NS), 0);
}

/* Full from the start, however young the machine is. */
static void failures_are_few(void **state)
{
	struct be_quota q;
	int i;

	(void)state;
	be_quota_defaults(&q);
	for (i = 0; i < 1000; i++)
		assert_int_equal(vl_bucket_take(&q.fail, 1), 0);
	assert_int_not_equal(vl_bucket_take(&q.fail, 1), 0);
	assert_true(q.cmd.rate && q.kick.rate);
}

static void rate_zero_is_unlimited(void **state)
{
	struct vl_bucket b = { .rate = 0 };
	int i;

	(void)state;
	for (i = 0; i < 1000; i++)
		assert_int_equal(vl_bucket_take(&b, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_objects_exactly),
		cmocka_unit_test(counts_doorbell_pages),
		cmocka_unit_test(counts_what_earlier_connections_left),
		cmocka_unit_test(counts_pages_without_overflow),
		cmocka_unit_test(bucket_follows_its_rate),
		cmocka_unit_test(what_is_charged_is_waited_for),
		cmocka_unit_test(bucket_may_be_deep),
		cmocka_unit_test(failures_are_few),
		cmocka_unit_test(rate_zero_is_unlimited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
