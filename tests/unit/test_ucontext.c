// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Contexts, the queue memory granted to the guest, and the order in which
 * everything ends. The teardown of each test checks that nothing is left.
 */
#include <errno.h>

#include "tests/fake/guest.h"

static void opens_one_file_each(void **state)
{
	struct guest *g = *state;
	uint32_t a, b;

	a = guest_alloc_uc(g);
	b = guest_alloc_uc(g);
	assert_int_not_equal(a, b);
	assert_int_equal(fake_files(), 3);	/* and the one for queries */
	g->req.ucontext = a;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_DEALLOC_UCONTEXT), 0);
	g->req.ucontext = a;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_DEALLOC_UCONTEXT), -ENOENT);
	assert_int_equal(fake_files(), 2);
}

static void undoes_a_failing_open(void **state)
{
	struct guest *g = *state;

	fake_fail_open(EMFILE);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_ALLOC_UCONTEXT), -EMFILE);
	fake_fail(0 /* GET_CONTEXT */, 1, ENOMEM);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_ALLOC_UCONTEXT), -ENOMEM);
	fake_fail(17 /* CREATE_COMP_CHANNEL */, 1, EMFILE);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_ALLOC_UCONTEXT), -EMFILE);
	assert_int_equal(fake_files(), 1);
	assert_int_equal(g->dev.quota.used[BE_UCONTEXT], 0);
}

static void grants_queue_memory_once(void **state)
{
	struct guest *g = *state;
	struct guest_key key;
	uint32_t ref;

	g->uc = guest_alloc_uc(g);
	guest_create_cq(g, 100);
	key = guest_key(g, 0);
	assert_int_equal(guest_mmap(g, key), 0);
	assert_int_equal(g->rsp.u.mmap.nr_pages, 3);
	assert_int_equal(g->rsp.u.mmap.count, 3);
	assert_int_equal(g->rsp.u.mmap.kind, XENVHCA_MMAP_GRANT);
	ref = g->rsp.u.mmap.gref[2];
	strcpy((char *)fake_ring(key.offset) + 8192, "ring");
	assert_string_equal((char *)loop_gmap(g->loop, ref), "ring");
	loop_gunmap(g->loop, ref);
	assert_int_equal(guest_mmap(g, key), -EINVAL);	/* as natively */
	g->req.u.munmap.offset[0] = key.offset;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_MUNMAP), 0);
	assert_int_equal(loop_granted(g->loop), 0);
	g->req.u.munmap.offset[0] = key.offset;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_MUNMAP), -ENOENT);
}

static void hands_out_long_lists_in_parts(void **state)
{
	struct guest *g = *state;
	struct guest_key key;
	uint32_t first, n = 0;

	g->uc = guest_alloc_uc(g);
	guest_create_cq(g, 8191);
	key = guest_key(g, 0);
	for (first = 0; !first || first < n; first += g->rsp.u.mmap.count) {
		g->req.u.mmap.offset = key.offset;
		g->req.u.mmap.length = key.size;
		g->req.u.mmap.first = first;
		assert_int_equal(guest_cmd(g, XENVHCA_OP_MMAP), 0);
		n = g->rsp.u.mmap.nr_pages;
		assert_in_range(g->rsp.u.mmap.count, 1, XENVHCA_MMAP_GREFS);
		assert_non_null(loop_gmap(g->loop, g->rsp.u.mmap.gref[0]));
		loop_gunmap(g->loop, g->rsp.u.mmap.gref[0]);
	}
	assert_int_equal(n, key.size / 4096);
	assert_int_equal(first, n);
	g->req.u.mmap.offset = key.offset;
	g->req.u.mmap.length = key.size;
	g->req.u.mmap.first = n;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_MMAP), -EINVAL);
	g->req.u.mmap.offset = key.offset;
	g->req.u.mmap.length = key.size - 4096;
	g->req.u.mmap.first = 1;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_MMAP), -EINVAL);
}

static void maps_only_what_was_handed_out(void **state)
{
	struct guest *g = *state;
	struct guest_key key, k;
	uint32_t uc2 = guest_alloc_uc(g);

	g->uc = guest_alloc_uc(g);
	guest_create_cq(g, 15);
	key = guest_key(g, 0);
	k = (struct guest_key){ key.offset + 4096, 4096 };
	assert_int_equal(guest_mmap(g, k), -EINVAL);
	k = (struct guest_key){ 0, 4096 };
	assert_int_equal(guest_mmap(g, k), -EINVAL);
	k = (struct guest_key){ key.offset, key.size + 4096 };
	assert_int_equal(guest_mmap(g, k), -EINVAL);
	k = (struct guest_key){ key.offset, 100 };
	assert_int_equal(guest_mmap(g, k), -EINVAL);
	k = (struct guest_key){ key.offset, 0 };
	assert_int_equal(guest_mmap(g, k), -EINVAL);
	g->req.ucontext = uc2;			/* not this context's */
	assert_int_equal(guest_mmap(g, key), -EINVAL);
	assert_int_equal(guest_mmap(g, key), 0);
}

static void undoes_a_failing_mmap(void **state)
{
	struct guest *g = *state;

	g->uc = guest_alloc_uc(g);
	guest_create_cq(g, 15);
	fake_fail_mmap(ENOMEM);
	assert_int_equal(guest_mmap(g, guest_key(g, 0)), -ENOMEM);
	guest_create_cq(g, 15);
	loop_fail_grant(g->loop, -ENOSPC);
	assert_int_equal(guest_mmap(g, guest_key(g, 0)), -ENOSPC);
	assert_int_equal(fake_vmas(), 0);
	assert_int_equal(g->dev.quota.used[BE_MMAP], 0);
	g->dev.quota.max[BE_MMAP] = 0;
	guest_create_cq(g, 15);
	assert_int_equal(guest_mmap(g, guest_key(g, 0)), -ENOMEM);
}

static void a_guest_that_keeps_a_page_keeps_only_that(void **state)
{
	struct guest *g = *state;
	struct guest_key key;
	uint32_t i, refs[3];

	g->uc = guest_alloc_uc(g);
	guest_create_cq(g, 100);
	key = guest_key(g, 0);
	assert_int_equal(guest_mmap(g, key), 0);
	memcpy(refs, g->rsp.u.mmap.gref, sizeof(refs));
	for (i = 0; i < 3; i++)
		loop_gmap(g->loop, refs[i]);
	loop_gunmap(g->loop, refs[1]);
	g->req.u.munmap.offset[0] = key.offset;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_MUNMAP), 0);
	assert_int_equal(loop_handed_over(g->loop), 2);
}

/* QP, MR, rings and all, in one go, with every destruction refused once. */
static void closes_in_order(void **state)
{
	static const uint32_t cmds[] = { 0, 27, 35, 8, 16, 13, 20, 4 };
	struct guest *g = *state;
	size_t i;

	for (i = 0; i < sizeof(cmds) / sizeof(cmds[0]); i++) {
		guest_open(g);
		guest_mr(g, 0, 20);
		assert_int_equal(guest_cmd(g, XENVHCA_OP_REG_MR), 0);
		guest_create_qp(g, 2);
		assert_int_equal(guest_mmap(g, guest_key(g, 16)), 0);
		if (cmds[i])
			fake_fail(cmds[i], 1, EBUSY);
		guest_close(g);
		fake_fail(0, 0, 0);
		assert_int_equal(fake_live_all(), 0);
		assert_int_equal(loop_mapped(g->loop), 0);
		assert_int_equal(loop_granted(g->loop), 0);
		assert_int_equal(fake_violations(), 0);
	}
}

/* be_dev_close() in the teardown has to do all of it. */
static void closes_with_everything_open(void **state)
{
	struct guest *g = *state;
	unsigned int i;

	for (i = 0; i < 5; i++) {
		guest_open(g);
		assert_int_equal(guest_mmap(g, guest_key(g, 0)), 0);
		guest_mr(g, i * 100, 50);
		assert_int_equal(guest_cmd(g, XENVHCA_OP_REG_MR), 0);
	}
	assert_int_equal(loop_mapped(g->loop), 250);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, guest_setup, guest_teardown)
	const struct CMUnitTest tests[] = {
		T(opens_one_file_each),
		T(undoes_a_failing_open),
		T(grants_queue_memory_once),
		T(hands_out_long_lists_in_parts),
		T(maps_only_what_was_handed_out),
		T(undoes_a_failing_mmap),
		T(a_guest_that_keeps_a_page_keeps_only_that),
		T(closes_in_order),
		T(closes_with_everything_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
