// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Memory of queues: many in one mapping, no page twice, given back at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>
#include "core/be.h"
#include "verbs/chunk.h"

#define PAGE	((size_t)XENVHCA_PAGE_SIZE)
#define CHUNK	256u			/* pages, as in chunk.c */

static struct be_dev dev;

static int setup(void **state)
{
	(void)state;
	memset(&dev, 0, sizeof(dev));
	return 0;
}

/* Queues have gone, so nothing is left. */
static int teardown(void **state)
{
	(void)state;
	be_chunk_end(&dev);
	return dev.chunk_pages || dev.chunk_live;
}

struct piece {
	char *at;
	size_t length;
	struct be_chunk *chunk;
};

static struct piece get(size_t pages)
{
	struct piece p = { .length = pages * PAGE };

	p.at = be_chunk_get(&dev, p.length, &p.chunk);
	assert_non_null(p.at);
	assert_int_equal(p.at[0] | p.at[p.length - 1], 0);
	memset(p.at, 0xff, p.length);
	return p;
}

static void put(struct piece p)
{
	be_chunk_put(&dev, p.at, p.length, p.chunk);
}

static bool mapped(struct piece p)
{
	return !msync(p.at, p.length, MS_ASYNC);
}

static bool in_memory(struct piece p)
{
	unsigned char there;

	assert_int_equal(mincore(p.at, PAGE, &there), 0);
	return there & 1;
}

static void queues_lie_in_one_mapping(void **state)
{
	struct piece a = get(3), b = get(5), c = get(1);

	(void)state;
	assert_ptr_equal(b.at, a.at + a.length);
	assert_ptr_equal(c.at, b.at + b.length);
	assert_int_equal(dev.chunk_pages, CHUNK);
	put(b);
	put(a);
	put(c);
}

static void memory_returns_at_once_and_no_page_is_used_twice(void **state)
{
	struct piece a = get(2), b = get(2), c;

	(void)state;
	assert_true(in_memory(a));
	put(a);
	assert_false(in_memory(a));
	assert_true(in_memory(b));
	put(b);
	c = get(2);
	assert_ptr_equal(c.at, b.at + b.length);
	put(c);
}

static void a_chunk_without_queues_goes(void **state)
{
	struct piece first[4], next;
	unsigned int i;

	(void)state;
	for (i = 0; i < 4; i++)
		first[i] = get(60);
	next = get(60);
	assert_ptr_not_equal(next.chunk, first[0].chunk);
	assert_int_equal(dev.chunk_pages, 2 * CHUNK);
	for (i = 0; i < 4; i++) {
		assert_true(mapped(first[0]));
		put(first[i]);
	}
	assert_false(mapped(first[0]));
	assert_int_equal(dev.chunk_pages, CHUNK);
	put(next);
}

static void a_large_queue_has_its_own(void **state)
{
	struct piece p = get(1000);

	(void)state;
	assert_null(p.chunk);
	assert_int_equal(dev.chunk_pages, 0);
	put(p);
	assert_false(mapped(p));
}

/* Of all that fit into a chunk one stays. */
static void few_queues_do_not_keep_many_chunks(void **state)
{
	struct piece kept[100], gone[4];
	unsigned int i, j, own = 0;

	(void)state;
	for (i = 0; i < 100; i++) {
		kept[i] = get(1);
		own += !kept[i].chunk;
		for (j = 0; j < 4; j++)
			gone[j] = get(60);
		for (j = 0; j < 4; j++)
			put(gone[j]);
		assert_true(dev.chunk_pages <= 4 * dev.chunk_live + 2 * CHUNK);
	}
	assert_true(own);
	for (i = 0; i < 100; i++)
		put(kept[i]);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(queues_lie_in_one_mapping),
		T(memory_returns_at_once_and_no_page_is_used_twice),
		T(a_chunk_without_queues_goes),
		T(a_large_queue_has_its_own),
		T(few_queues_do_not_keep_many_chunks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
