// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Doorbell pages (UARs) that the HCA's driver allocates for a context, mapped
 * or not: they are charged until the context is really closed.
 */
#include <errno.h>
#include <stdlib.h>

#include "tests/fake/guest.h"
#include "context/context.h"

#define REGULAR(i)	((uint64_t)(i) << 12)
#define ALLOCATED(i)	(0x600000ull + REGULAR(i))
#define GFN		0x100000ull

static int open_bfregs(struct guest *g, uint32_t bfregs)
{
	int status;

	g->req.in_len = FAKE_MLX5_IN;
	g->req.out_len = FAKE_MLX5_OUT;
	fake_mlx5_open_bfregs(g->req.udata, bfregs);
	status = guest_cmd(g, XENVHCA_OP_ALLOC_UCONTEXT);
	if (!status)
		g->uc = g->rsp.u.alloc_ucontext.ucontext;
	assert_int_equal(fake_uars(), g->dev.quota.uars +
				      g->dev.spoilt_uars);
	return status;
}

static void pages_of_a_context_are_charged(void **state)
{
	struct guest *g = *state;
	unsigned int i;

	g->dev.quota.max[BE_UCONTEXT] = 4;	/* 32 pages */
	assert_int_equal(open_bfregs(g, 66), -ENOMEM);
	assert_int_equal(open_bfregs(g, UINT32_MAX), -ENOMEM);
	assert_int_equal(open_bfregs(g, 63), 0);
	assert_int_equal(g->dev.quota.uars, 32);
	assert_int_equal(open_bfregs(g, 1), -ENOMEM);
	guest_close(g);
	assert_int_equal(g->dev.quota.uars, 0);
	assert_int_equal(open_bfregs(g, 0), -EINVAL);	/* the driver's word */
	fake_fail_open(EMFILE);
	assert_int_equal(open_bfregs(g, 16), -EMFILE);
	assert_int_equal(g->dev.quota.uars, 0);
	for (i = 0; i < 4; i++)			/* as rdma-core does */
		assert_int_equal(open_bfregs(g, 16), 0);
}

static void pages_allocated_later_are_charged(void **state)
{
	struct guest *g = *state;
	unsigned int i;

	g->dev.quota.max[BE_UCONTEXT] = 2;
	assert_int_equal(open_bfregs(g, 16), 0);
	assert_int_equal(guest_doorbell(g, REGULAR(0), GFN), 0);
	for (i = 0; i < 8; i++)
		assert_int_equal(guest_doorbell(g, ALLOCATED(i), GFN + 1 + i),
				 0);
	assert_int_equal(fake_uars(), 16);
	assert_int_equal(guest_doorbell(g, ALLOCATED(8), GFN + 9), -ENOMEM);
	assert_int_equal(fake_uars(), 16);
	assert_int_equal(open_bfregs(g, 1), -ENOMEM);
	guest_close(g);
	assert_int_equal(open_bfregs(g, 16), 0);
	fake_fail_mmap(EAGAIN);
	assert_int_equal(guest_doorbell(g, ALLOCATED(0), GFN), -EAGAIN);
	assert_int_equal(g->dev.quota.uars, 8);
	/* what was refused to the guest is the context's all the same */
	loop_fail_doorbell(g->loop, 1, -EINVAL, false);
	assert_int_equal(guest_doorbell(g, ALLOCATED(0), GFN), -EINVAL);
	assert_int_equal(g->dev.quota.uars, 9);
	assert_int_equal(fake_uars(), 9);
}

static void parked_contexts_are_charged(void **state)
{
	struct guest *g = *state;

	g->dev.quota.max[BE_UCONTEXT] = 4;
	guest_park(g, 1);
	guest_park(g, 2);
	assert_int_equal(g->dev.quota.uars, 16);
	assert_int_equal(open_bfregs(g, 33), -ENOMEM);	/* none makes room */
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_PARKED], 2);
	assert_int_equal(open_bfregs(g, 32), 0);
	guest_close(g);
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_PARKED], 2);
	g->tag = 2;				/* taken again: charged once */
	g->uc = guest_alloc_uc(g);
	assert_int_equal(g->dev.quota.uars, 16);
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_PARKED], 1);
}

/* Others' pages are not charged to the guest that was offered them. */
static void spoilt_contexts_have_a_bound(void **state)
{
	struct guest *g = *state;
	unsigned int i;

	g->dev.quota.max[BE_UCONTEXT] = 32;
	for (i = 0; i < 4; i++) {
		assert_int_equal(open_bfregs(g, 64), 0);
		loop_fail_doorbell(g->loop, 5, -EPERM, false);
		assert_int_equal(guest_doorbell(g, ALLOCATED(0), GFN), 0);
		assert_int_equal(g->dev.quota.uars, 33);
		assert_in_range(g->dev.spoilt_uars, 5 * 33, 256);
		assert_int_equal(fake_uars(), 33 + g->dev.spoilt_uars);
		guest_close(g);
		assert_int_equal(g->dev.quota.uars, 0);
	}
	be_vfiles_end(&g->dev);
	assert_true(!g->dev.spoilt_uars && !fake_uars());
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, guest_setup_mlx5,	\
					     guest_teardown)
	const struct CMUnitTest tests[] = {
		T(pages_of_a_context_are_charged),
		T(pages_allocated_later_are_charged),
		T(parked_contexts_are_charged),
		T(spoilt_contexts_have_a_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
