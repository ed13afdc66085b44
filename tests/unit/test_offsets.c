// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Keys and ranges of a device with many queues: each is found, once, by who owns
 * it, in a few steps, which are counted.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

static unsigned long steps;
#define BE_OFFSETS_STEP()	(steps++)
#include "verbs/offsets.c"

#define PER_OWNER	2u		/* keys of a QP of Soft-RoCE */
#define OWNERS		2048u		/* max-qp */
#define ALL		(OWNERS * PER_OWNER)
#define STEPS		(4 * (ALL / BE_OFFSET_HEADS + 1))	/* a few, of each list */

static struct be_dev dev;
static struct be_uc uc[2];
static struct be_mmap maps[2][ALL];

/* The same offsets in both contexts, as the kernel gives them out per file. */
static uint64_t offset_of(uint32_t i)
{
	return (uint64_t)i << 12;
}

static uint32_t owner_of(unsigned int k, uint32_t i)
{
	return 1u << 20 | (k * OWNERS + i / PER_OWNER);
}

static void make(unsigned int k, uint32_t i)
{
	struct be_offset *key = calloc(1, sizeof(*key));

	assert_non_null(key);
	*key = (struct be_offset){ .uc = &uc[k], .offset = offset_of(i),
				.size = 8192, .owner = owner_of(k, i),
				.charged = 2 };
	be_quota_charge_queue(&dev.quota, key->charged);
	be_offset_add(&dev, key);
}

static void map(unsigned int k, uint32_t i)
{
	struct be_offset *key = be_offset_take(&dev, &uc[k], offset_of(i), 8192);
	struct be_mmap *m = &maps[k][i];

	assert_non_null(key);
	assert_ptr_equal(key->uc, &uc[k]);
	key->mapped = true;
	m->o.uc = &uc[k];
	m->offset = key->offset;
	m->owner = key->owner;
	be_mmap_add(&dev, m);
}

static int setup(void **state)
{
	unsigned int k;
	uint32_t i;

	(void)state;
	if (be_dev_init(&dev, 5, 0))
		return -1;
	for (k = 0; k < 2; k++) {
		uc[k] = (struct be_uc){ .o.handle = 1u << 20 | k };
		for (i = 0; i < ALL; i++)
			make(k, i);
		for (i = 0; i < ALL; i++)
			map(k, i);
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	be_offsets_drop_all(&dev, &uc[0]);
	be_offsets_drop_all(&dev, &uc[1]);
	be_dev_fini(&dev);
	return dev.quota.queue_pages || uc[0].n_offsets || uc[1].n_offsets;
}

static void each_is_found_in_a_few_steps(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < ALL; i++) {
		steps = 0;
		assert_ptr_equal(be_mmap_find(&dev, &uc[1], offset_of(i)),
				 &maps[1][i]);
		assert_in_range(steps, 0, STEPS);
		steps = 0;
		assert_int_equal(be_offset_of(&dev, &maps[1][i])->owner,
				 owner_of(1, i));
		assert_in_range(steps, 0, STEPS);
	}
}

static void one_more_costs_a_few_steps(void **state)
{
	(void)state;
	steps = 0;
	make(0, ALL);
	assert_int_equal(steps, 0);
	assert_null(be_offset_take(&dev, &uc[0], offset_of(ALL), 8193));
	assert_null(be_offset_take(&dev, &uc[1], offset_of(ALL), 8192));
	assert_non_null(be_offset_take(&dev, &uc[0], offset_of(ALL), 8192));
	be_offsets_drop(&dev, owner_of(0, ALL));
	assert_null(be_offset_take(&dev, &uc[0], offset_of(ALL), 8192));
	assert_in_range(steps, 0, 3 * STEPS);
}

static void an_owner_takes_its_own_along(void **state)
{
	struct be_mmap *m = &maps[0][7];

	(void)state;
	steps = 0;
	be_offsets_drop(&dev, owner_of(0, 7));
	assert_in_range(steps, 1, 3 * STEPS);
	assert_int_equal(uc[0].n_offsets, ALL - PER_OWNER);
	assert_int_equal(dev.quota.queue_pages, 2 * (2 * ALL - PER_OWNER));
	/* its range lives on, and pays for itself */
	assert_null(be_offset_of(&dev, m));
	assert_ptr_equal(be_mmap_find(&dev, &uc[0], offset_of(7)), m);
	be_mmap_del(&dev, m);
	assert_null(be_mmap_find(&dev, &uc[0], offset_of(7)));
	assert_ptr_equal(be_mmap_find(&dev, &uc[1], offset_of(7)), &maps[1][7]);
	assert_int_equal(be_offset_of(&dev, &maps[1][7])->owner, owner_of(1, 7));
}

static void a_context_takes_all_of_its_own(void **state)
{
	(void)state;
	be_offsets_drop_all(&dev, &uc[0]);
	assert_int_equal(uc[0].n_offsets, 0);
	assert_int_equal(uc[1].n_offsets, ALL);
	assert_int_equal(dev.quota.queue_pages, 2 * ALL);
	/* No list is looked at for one that has none. */
	steps = 0;
	be_offsets_drop_all(&dev, &uc[0]);
	assert_int_equal(steps, 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(each_is_found_in_a_few_steps),
		T(one_more_costs_a_few_steps),
		T(an_owner_takes_its_own_along),
		T(a_context_takes_all_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
