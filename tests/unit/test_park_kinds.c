// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Programs of many kinds in a PV guest: which of them take the parked context of
 * which, and that none is closed to make room. The loopback transport is the
 * doorbell agent.
 */
#include <errno.h>

#include "tests/fake/guest.h"
#include "tests/fake/mlx5_pages.h"

static void programs_of_another_kind_get_another(void **state)
{
	struct guest *g = *state;

	g->uc = guest_alloc_uc(g);
	assert_int_equal(guest_doorbell(g, REGULAR(0), 0), 0);
	guest_close(g);
	assert_int_equal(fake_contexts(), 2);
	g->tag = 32;
	guest_alloc_uc(g);
	assert_int_equal(fake_contexts(), 3);
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_PARKED], 1);
	g->tag = 16;
	guest_alloc_uc(g);
	assert_int_equal(fake_contexts(), 3);	/* that was waiting */
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_PARKED], 0);
	g->uc = guest_alloc_uc(g);
	assert_int_equal(fake_contexts(), 4);	/* one owner each */
	/* a shorter answer is another request, too */
	assert_int_equal(guest_doorbell(g, REGULAR(0), 0), 0);
	guest_close(g);
	g->req.in_len = FAKE_MLX5_IN;
	g->req.out_len = FAKE_MLX5_OUT + 8;
	fake_mlx5_open(g->req.udata, 16);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_ALLOC_UCONTEXT), 0);
	assert_int_equal(fake_contexts(), 5);
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_PARKED], 1);
}

/* Closed, its page would be the HCA's to give, and the guest's to write. */
static void no_parked_context_makes_room(void **state)
{
	struct guest *g = *state;
	uint32_t tag;

	g->dev.quota.max[BE_UCONTEXT] = 3;
	for (tag = 1; tag <= 3; tag++)
		guest_park(g, tag);
	assert_int_equal(guest_program(g, 4), -ENOMEM);
	assert_int_equal(guest_program(g, 4), -ENOMEM);
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_PARKED], 3);
	assert_int_equal(loop_doorbell_unmaps(g->loop), 0);
	assert_int_equal(loop_doorbells(g->loop), 3);
	assert_int_equal(g->dev.quota.used[BE_MMAP], 3);
	for (tag = 1; tag <= 3; tag++)		/* life goes on */
		guest_park(g, tag);
	assert_int_equal(fake_contexts(), 4);
	assert_int_equal(loop_doorbell_maps(g->loop), 3);
	g->tag = 2;
	g->uc = guest_alloc_uc(g);
	assert_int_equal(guest_program(g, 2), -ENOMEM);	/* two at a time */
	guest_close(g);
}

/* MLX5_SHUT_UP_BF=1: the opening is the same, the pages are, the offsets not. */
static void another_way_to_map_is_another_kind(void **state)
{
	struct guest *g = *state;
	uint64_t frame;

	g->uc = guest_alloc_uc(g);
	assert_int_equal(guest_doorbell(g, REGULAR(0), 0), 0);
	frame = g->rsp.u.mmap.frame;
	assert_int_equal(guest_doorbell(g, REGULAR(1), 0), 0);
	guest_close(g);
	g->uc = guest_alloc_uc(g);
	assert_int_equal(fake_contexts(), 2);
	assert_int_equal(guest_doorbell(g, UNCACHED(0), 0), 0);
	assert_int_equal(fake_contexts(), 3);
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_PARKED], 1);
	assert_int_equal(g->dev.quota.uars, 16);
	assert_int_equal(guest_doorbell(g, UNCACHED(1), 0), 0);
	guest_create_cq(g, 15);
	guest_close(g);
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_PARKED], 2);
	g->uc = guest_alloc_uc(g);		/* the last, but it will not do */
	assert_int_equal(guest_doorbell(g, REGULAR(0), 0), 0);
	assert_true(g->rsp.u.mmap.frame == frame);
	guest_create_cq(g, 15);
	assert_int_equal(loop_doorbell_maps(g->loop), 4);
	guest_close(g);
	assert_int_equal(fake_contexts(), 3);
	assert_int_equal(g->dev.quota.uars, 16);
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_PARKED], 2);
}

static void another_way_to_map_needs_room(void **state)
{
	struct guest *g = *state;

	g->dev.quota.max[BE_UCONTEXT] = 1;
	guest_park(g, 16);
	g->uc = guest_alloc_uc(g);
	assert_int_equal(guest_doorbell(g, UNCACHED(0), 0), -ENOMEM);
	guest_close(g);
	g->dev.quota.max[BE_UCONTEXT] = 2;
	g->uc = guest_alloc_uc(g);		/* it has been given a page */
	assert_int_equal(guest_doorbell(g, REGULAR(0), 0), 0);
	assert_int_equal(guest_doorbell(g, UNCACHED(1), 0), 0);
	guest_close(g);
	g->uc = guest_alloc_uc(g);		/* it has made something */
	guest_alloc_pd(g);
	assert_int_equal(guest_doorbell(g, UNCACHED(2), 0), 0);
	guest_close(g);
	fake_fail_open(EMFILE);
	g->uc = guest_alloc_uc(g);		/* it cannot be helped */
	assert_int_equal(guest_doorbell(g, UNCACHED(3), 0), 0);
	guest_close(g);
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_PARKED], 1);
	assert_int_equal(g->dev.quota.uars, 8);
	assert_int_equal(fake_contexts(), 2);
	assert_int_equal(g->dev.quota.used[BE_MMAP], 4);
}

/* The agent has slots for those that are used; the files stay open. */
static void parked_pages_make_room_for_others(void **state)
{
	struct guest *g = *state;
	uint32_t tag;

	for (tag = 1; tag <= 3; tag++)
		guest_park(g, tag);
	loop_fail_doorbell(g->loop, 2, -ENOSPC, false);
	guest_park(g, 4);				/* instead of 1 and 2 */
	assert_int_equal(loop_doorbells(g->loop), 2);
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_PARKED], 4);
	assert_int_equal(fake_files(), 5);
	guest_park(g, 3);
	assert_int_equal(loop_doorbell_maps(g->loop), 6);
	guest_park(g, 1);				/* is asked for anew */
	assert_int_equal(loop_doorbell_maps(g->loop), 7);
	assert_int_equal(fake_contexts(), 5);
	assert_int_equal(g->dev.quota.used[BE_MMAP], 4);
	loop_fail_doorbell(g->loop, 4, -ENOSPC, false);
	g->tag = 2;
	g->uc = guest_alloc_uc(g);
	assert_int_equal(guest_doorbell(g, REGULAR(0), 0), -ENOSPC);
	guest_close(g);
	assert_int_equal(loop_doorbells(g->loop), 0);
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_PARKED], 4);
}

/* What the process was told is not true of the others. */
static void another_answer_is_another_kind(void **state)
{
	struct guest *g = *state;
	uint32_t first;

	fake_hca.moody = 1;
	g->uc = first = guest_alloc_uc(g);
	g->uc = guest_alloc_uc(g);
	assert_int_equal(guest_doorbell(g, UNCACHED(0), 0), 0);
	guest_close(g);
	g->uc = first;
	assert_int_equal(guest_doorbell(g, REGULAR(0), 0), 0);
	guest_close(g);
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_PARKED], 2);
	g->uc = guest_alloc_uc(g);
	assert_int_equal(guest_doorbell(g, UNCACHED(0), 0), 0);
	assert_int_equal(loop_doorbell_maps(g->loop), 3);
	fake_hca.moody = 0;
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, guest_setup_mlx5,	\
					     guest_teardown)
	const struct CMUnitTest tests[] = {
		T(programs_of_another_kind_get_another),
		T(no_parked_context_makes_room),
		T(another_way_to_map_is_another_kind),
		T(another_way_to_map_needs_room),
		T(another_answer_is_another_kind),
		T(parked_pages_make_room_for_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
