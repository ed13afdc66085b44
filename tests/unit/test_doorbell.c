// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Doorbell pages from the guest's request to the end of its context: which
 * offsets there are, what a refusal or a silent agent leaves, and that no page
 * can be somebody else's before the guest has lost it; The
 * loopback transport is the agent. It
 * counts an end asked for a page that is unmapped here already as an error,
 * the fake kernel a file closed with pages mapped: teardown wants none.
 */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "clock.h"
#include "core/event.h"
#include "tests/fake/guest.h"
#include "worker/cmdq.h"
#include "tests/fake/mlx5_pages.h"
#include "verbs/ucontext.h"

/* ---- MMAP ---- */

static void a_translated_guest_chooses_the_place(void **state)
{
	const struct xenvhca_mmap_rsp *r;
	struct guest *g = *state;

	g->uc = guest_alloc_uc(g);
	assert_int_equal(guest_doorbell(g, REGULAR(0), GFN), 0);
	r = &g->rsp.u.mmap;
	assert_int_equal(r->kind, XENVHCA_MMAP_MMIO);
	assert_int_equal(r->nr_pages, 1);
	assert_int_equal(r->count, 0);
	assert_int_equal(r->prot, XENVHCA_PROT_NC);
	assert_true(r->frame == 0);		/* it knows where */
	assert_int_equal(r->gref[0], 0);
	assert_int_equal(loop_doorbells(g->loop), 1);
	assert_int_equal(g->dev.quota.used[BE_MMAP], 1);
	assert_int_equal(fake_vmas(), 1);
}

static void a_pv_guest_is_told_the_frame(void **state)
{
	struct guest *g = *state;

	g->uc = guest_alloc_uc(g);
	loop_doorbell_prot(g->loop, XENVHCA_PROT_WC);
	assert_int_equal(guest_doorbell(g, REGULAR(0), 0), 0);
	assert_true(g->rsp.u.mmap.frame == LOOP_FRAME(0));
	assert_int_equal(g->rsp.u.mmap.prot, XENVHCA_PROT_WC);
	assert_int_equal(guest_doorbell(g, COMBINING(1), 0), 0);
	assert_true(g->rsp.u.mmap.frame == LOOP_FRAME(1));
}

static void the_same_offset_is_the_same_page(void **state)
{
	struct xenvhca_mmap_rsp first;
	struct guest *g = *state;
	uint32_t other;

	g->uc = guest_alloc_uc(g);
	other = guest_alloc_uc(g);
	assert_int_equal(guest_doorbell(g, UNCACHED(7), GFN), 0);
	first = g->rsp.u.mmap;
	assert_int_equal(guest_doorbell(g, UNCACHED(7), GFN), 0);
	assert_memory_equal(&g->rsp.u.mmap, &first, sizeof(first));
	assert_int_equal(loop_doorbell_maps(g->loop), 1);
	/* it is there already */
	assert_int_equal(guest_doorbell(g, UNCACHED(7), GFN + 1), -EBUSY);
	assert_int_equal(guest_doorbell(g, UNCACHED(7), 0), -EBUSY);
	/* another context has pages of its own */
	g->req.ucontext = other;
	assert_int_equal(guest_doorbell(g, UNCACHED(7), GFN + 1), 0);
	assert_int_equal(loop_doorbells(g->loop), 2);
	assert_int_equal(g->dev.quota.used[BE_MMAP], 2);
	/* a place has one page */
	g->req.ucontext = other;
	assert_int_equal(guest_doorbell(g, UNCACHED(8), GFN), -EPERM);
	assert_int_equal(g->dev.quota.used[BE_MMAP], 2);
	assert_int_equal(fake_vmas(), 2);
}

static void put(struct guest *g, uint16_t id, struct xenvhca_request req)
{
	req.id = id;
	assert_int_equal(loop_put_request(g->loop, &req), 0);
}

/* The next answer in the ring; 0: none. */
static uint16_t answered(struct guest *g, int32_t *status)
{
	struct xenvhca_response rsp;

	if (!loop_get_response(g->loop, &rsp))
		return 0;
	*status = rsp.status;
	return rsp.id;
}

/* For a page of a new context, whose answer takes long. */
static struct xenvhca_request slow_map(struct guest *g)
{
	struct xenvhca_request req = { .op = XENVHCA_OP_MMAP };

	g->uc = guest_alloc_uc(g);
	req.ucontext = g->uc;
	req.u.mmap = (struct xenvhca_mmap_req){
		.offset = UNCACHED(7), .length = XENVHCA_PAGE_SIZE, .gfn = GFN,
	};
	loop_later_doorbell(g->loop, 1000);
	return req;
}

/* The agent is slow: what other processes ask for is executed meanwhile. */
static void commands_pass_one_that_waits(void **state)
{
	struct guest *g = *state;
	struct xenvhca_request map = slow_map(g);
	struct be_cmdq q = {};
	uint64_t looks;
	int32_t status;

	/* One a second, and three are there: what is looked at again needs none. */
	g->dev.quota.cmd = (struct vl_bucket){
		.rate = 1, .depth_ns = 3 * VL_SEC_NS,
		.tokens_ns = 3 * VL_SEC_NS, .last_ns = vl_coarse_ns(),
	};
	put(g, 1, map);
	put(g, 2, (struct xenvhca_request){ .op = XENVHCA_OP_QUERY_PORT });
	put(g, 3, map);				/* the same page: another thread */
	assert_true(be_cmdq_run(&g->dev, &q, false) >= 0);
	assert_int_equal(answered(g, &status), 2);
	assert_int_equal(status, 0);
	assert_int_equal(answered(g, &status), 0);
	assert_int_equal(loop_doorbell_maps(g->loop), 1);
	/* Until then nobody takes the agent's processor. */
	looks = loop_doorbell_looks(g->loop);
	assert_in_range(be_cmdq_run(&g->dev, &q, false), 1, 100);
	assert_int_equal(loop_doorbell_looks(g->loop), looks + 2);
	loop_later_doorbell(g->loop, 0);
	be_cmdq_run(&g->dev, &q, false);
	assert_int_equal(answered(g, &status) + answered(g, &status), 4);
	assert_int_equal(status, 0);
	assert_int_equal(loop_doorbell_maps(g->loop), 1);
	assert_int_equal(q.n, 0);
}

/* The process ends meanwhile; nobody hears the answer. */
static void a_context_may_end_while_one_waits(void **state)
{
	struct guest *g = *state;
	struct be_cmdq q = {};
	int32_t status;

	put(g, 1, slow_map(g));
	be_cmdq_run(&g->dev, &q, false);
	put(g, 2, (struct xenvhca_request){
		.op = XENVHCA_OP_DEALLOC_UCONTEXT, .ucontext = g->uc,
	});
	be_cmdq_run(&g->dev, &q, false);
	assert_int_equal(answered(g, &status), 2);
	assert_int_equal(status, 0);
	assert_int_equal(answered(g, &status), 1);
	assert_int_equal(status, -ENOENT);
	assert_int_equal(loop_doorbells(g->loop), 0);
}

static void only_doorbells_are_mapped(void **state)
{
	static const uint64_t refused[] = { CLOCK, CLOCK_INFO, DEVICE_MEM };
	static const uint64_t unknown[] = {
		PAGE(1, 0), PAGE(4, 0), PAGE(9, 0), PAGE(0xff, 0),
		PAGE(0x10000, 0), REGULAR(0) + 8, 1ull << 60,
	};
	struct guest *g = *state;
	size_t i;

	g->uc = guest_alloc_uc(g);
	for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		assert_int_equal(guest_doorbell(g, refused[i], GFN),
				 -EOPNOTSUPP);
		assert_int_equal(guest_doorbell(g, refused[i], 0),
				 -EOPNOTSUPP);
	}
	for (i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		assert_int_equal(guest_doorbell(g, unknown[i], 0), -EINVAL);
	assert_int_equal(loop_doorbell_maps(g->loop), 0);
	assert_int_equal(fake_vmas(), 0);
	assert_int_equal(g->dev.quota.used[BE_MMAP], 0);
	assert_int_equal(guest_doorbell(g, ALLOCATED(3), GFN), 0);
}

static int raw_mmap(struct guest *g, struct xenvhca_mmap_req r)
{
	g->req.u.mmap = r;
	return guest_cmd(g, XENVHCA_OP_MMAP);
}

static void a_doorbell_is_one_page(void **state)
{
	struct xenvhca_mmap_req r = { .offset = REGULAR(0), .gfn = GFN };
	struct guest *g = *state;

	g->uc = guest_alloc_uc(g);
	assert_int_equal(raw_mmap(g, r), -EINVAL);
	r.length = 2 * XENVHCA_PAGE_SIZE;
	assert_int_equal(raw_mmap(g, r), -EINVAL);
	r.length = 100;
	assert_int_equal(raw_mmap(g, r), -EINVAL);
	r.length = XENVHCA_PAGE_SIZE;
	r.first = 1;
	assert_int_equal(raw_mmap(g, r), -EINVAL);
	r.first = 0;
	r.reserved = 1;
	assert_int_equal(raw_mmap(g, r), -EINVAL);
	assert_int_equal(loop_doorbell_maps(g->loop), 0);
	r.reserved = 0;
	assert_int_equal(raw_mmap(g, r), 0);
	r.first = 1;				/* not later, either */
	assert_int_equal(raw_mmap(g, r), -EINVAL);
	g->req.u.munmap.offset[0] = REGULAR(0);	/* no granted range */
	assert_int_equal(guest_cmd(g, XENVHCA_OP_MUNMAP), -ENOENT);
	assert_int_equal(loop_doorbells(g->loop), 1);
}

static void doorbells_count(void **state)
{
	struct guest *g = *state;

	g->uc = guest_alloc_uc(g);
	g->dev.quota.max[BE_MMAP] = 2;
	assert_int_equal(guest_doorbell(g, REGULAR(0), GFN), 0);
	assert_int_equal(guest_doorbell(g, REGULAR(1), GFN + 1), 0);
	assert_int_equal(guest_doorbell(g, REGULAR(2), GFN + 2), -ENOMEM);
	assert_int_equal(guest_doorbell(g, REGULAR(1), GFN + 1), 0);
	assert_int_equal(loop_doorbell_maps(g->loop), 2);
	guest_close(g);
	assert_int_equal(g->dev.quota.used[BE_MMAP], 0);
}

static void a_refusal_leaves_nothing(void **state)
{
	struct guest *g = *state;

	g->uc = guest_alloc_uc(g);
	loop_fail_doorbell(g->loop, 1, -ENOSPC, false);
	assert_int_equal(guest_doorbell(g, REGULAR(0), GFN), -ENOSPC);
	fake_fail_mmap(ENOMEM);
	assert_int_equal(guest_doorbell(g, REGULAR(0), GFN), -ENOMEM);
	assert_int_equal(fake_vmas(), 0);
	assert_int_equal(g->dev.quota.used[BE_MMAP], 0);
	assert_int_equal(loop_doorbell_maps(g->loop), 1);
	/* so it can be tried again, at another place */
	assert_int_equal(guest_doorbell(g, REGULAR(0), GFN + 1), 0);
	guest_close(g);
	assert_int_equal(loop_doorbell_unmaps(g->loop), 1);
}

static void a_page_that_may_be_mapped_stays(void **state)
{
	struct guest *g = *state;

	g->uc = guest_alloc_uc(g);
	loop_fail_doorbell(g->loop, 1, -ETIMEDOUT, true);
	assert_int_equal(guest_doorbell(g, REGULAR(0), GFN), -ETIMEDOUT);
	assert_int_equal(loop_doorbells(g->loop), 1);
	assert_int_equal(fake_vmas(), 1);
	assert_int_equal(g->dev.quota.used[BE_MMAP], 1);
	/* nobody knows what it is: neither told nor asked for again */
	assert_int_equal(guest_doorbell(g, REGULAR(0), GFN), -EIO);
	assert_int_equal(loop_doorbell_maps(g->loop), 1);
	assert_int_equal(guest_doorbell(g, REGULAR(1), GFN + 1), 0);
	guest_close(g);
	assert_int_equal(loop_doorbells(g->loop), 0);
	assert_int_equal(loop_doorbell_unmaps(g->loop), 2);
	assert_int_equal(fake_files(), 1);
}

/* Write-combining where the table says uncached, and the like. */
static void the_attribute_must_be_the_tables(void **state)
{
	struct guest *g = *state;

	g->uc = guest_alloc_uc(g);
	loop_doorbell_prot(g->loop, XENVHCA_PROT_WC);
	assert_int_equal(guest_doorbell(g, UNCACHED(0), GFN), -EIO);
	assert_int_equal(guest_doorbell(g, UNCACHED(0), GFN), -EIO);
	loop_doorbell_prot(g->loop, XENVHCA_PROT_DEV);
	assert_int_equal(guest_doorbell(g, REGULAR(0), GFN + 1), -EIO);
	loop_doorbell_prot(g->loop, 0);
	assert_int_equal(guest_doorbell(g, REGULAR(1), GFN + 2), -EIO);
	guest_close(g);
	assert_int_equal(loop_doorbell_unmaps(g->loop), 3);
	assert_int_equal(fake_files(), 1);
}

static void only_hardware_has_doorbells(void **state)
{
	struct guest *g = *state;

	g->uc = guest_alloc_uc(g);
	assert_int_equal(guest_doorbell(g, REGULAR(0), 0), -EINVAL);
	assert_int_equal(guest_doorbell(g, REGULAR(0), GFN), -EINVAL);
	guest_create_cq(g, 15);			/* a range has no place */
	g->req.u.mmap.gfn = GFN;
	assert_int_equal(guest_mmap(g, guest_key(g, 0)), -EINVAL);
	assert_int_equal(loop_doorbell_maps(g->loop), 0);
	assert_int_equal(loop_caps(g->loop), 0);
	guest_close(g);
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_PARKED], 0);
	assert_int_equal(fake_files(), 1);
}

/* ---- the end of a context ---- */

static void pages_go_before_the_file(void **state)
{
	struct guest *g = *state;
	unsigned int i;

	g->uc = guest_alloc_uc(g);
	guest_alloc_pd(g);
	guest_create_cq(g, 100);
	for (i = 0; i < 20; i++)
		assert_int_equal(guest_doorbell(g, REGULAR(i), GFN + i), 0);
	assert_int_equal(fake_vmas(), 20);
	guest_close(g);
	assert_int_equal(loop_doorbell_unmaps(g->loop), 20);
	assert_int_equal(loop_doorbells(g->loop), 0);
	assert_int_equal(loop_errors(g->loop), 0);
	assert_int_equal(fake_violations(), 0);
	assert_int_equal(fake_files(), 1);
	assert_int_equal(loop_mapped(g->loop), 0);
}

static void a_page_that_stays_keeps_the_context(void **state)
{
	struct guest *g = *state;

	g->uc = guest_alloc_uc(g);
	g->pd = guest_alloc_pd(g);
	assert_int_equal(guest_doorbell(g, REGULAR(0), GFN), 0);
	assert_int_equal(guest_doorbell(g, REGULAR(1), GFN + 1), 0);
	loop_fail_undoorbell(g->loop, 2, -ETIMEDOUT);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_DEALLOC_UCONTEXT),
			 -ETIMEDOUT);
	assert_int_equal(fake_files(), 2);
	assert_int_equal(fake_live_all(), 0);	/* that can go at once */
	assert_int_equal(fake_vmas(), 2);
	assert_int_equal(g->dev.quota.used[BE_UCONTEXT], 1);
	/* for the guest it is gone */
	assert_int_equal(guest_doorbell(g, REGULAR(2), GFN + 2), -ENOENT);
	g->req.out_len = 4;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_ALLOC_PD), -ENOENT);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_DEALLOC_UCONTEXT), -ENOENT);
	be_dev_tick(&g->dev);			/* the second that fails */
	assert_int_equal(fake_files(), 2);
	be_dev_tick(&g->dev);
	assert_int_equal(fake_files(), 1);
	assert_int_equal(loop_doorbells(g->loop), 0);
	assert_int_equal(g->dev.quota.used[BE_UCONTEXT], 0);
	assert_int_equal(g->dev.quota.used[BE_MMAP], 0);
	be_dev_tick(&g->dev);
	assert_int_equal(loop_doorbell_unmaps(g->loop), 4);
}

/* While it does not answer the guest's commands wait for one page, not all. */
static void a_silent_agent_is_asked_once(void **state)
{
	struct guest *g = *state;
	unsigned int i;

	loop_fail_undoorbell(g->loop, 3, -ETIMEDOUT);
	for (i = 0; i < 2; i++) {
		g->uc = guest_alloc_uc(g);
		assert_int_equal(guest_doorbell(g, REGULAR(0), GFN + i), 0);
		assert_int_equal(guest_cmd(g, XENVHCA_OP_DEALLOC_UCONTEXT),
				 -ETIMEDOUT);
	}
	assert_int_equal(fake_files(), 3);
	be_dev_tick(&g->dev);
	assert_int_equal(fake_files(), 3);
	be_dev_tick(&g->dev);
	assert_int_equal(fake_files(), 1);
	assert_int_equal(loop_doorbells(g->loop), 0);
}

/* A queue that the kernel will not destroy: until the file is closed the HCA
 * may write to it. */
static void memory_stays_as_long_as_the_file(void **state)
{
	struct guest *g = *state;

	g->uc = guest_alloc_uc(g);
	g->cq = guest_create_cq(g, 15);
	assert_int_equal(guest_doorbell(g, REGULAR(0), GFN), 0);
	loop_fail_undoorbell(g->loop, 1, -ETIMEDOUT);
	fake_fail(20 /* DESTROY_CQ */, 1, EBUSY);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_DEALLOC_UCONTEXT),
			 -ETIMEDOUT);
	assert_int_equal(fake_live(FAKE_CQ), 1);
	assert_int_equal(loop_mapped(g->loop), 2);
	fake_fail(20, 1, EBUSY);
	be_dev_tick(&g->dev);
	assert_int_equal(fake_files(), 1);
	assert_int_equal(fake_live(FAKE_CQ), 0);
	assert_int_equal(loop_mapped(g->loop), 0);
}

/* Not before the agent answers; what is left is somebody's with a guard. */
static void a_device_that_cannot_close_says_so(void **state)
{
	struct guest *g = *state;

	g->uc = guest_alloc_uc(g);
	guest_alloc_uc(g);
	assert_int_equal(guest_doorbell(g, REGULAR(0), GFN), 0);
	loop_fail_undoorbell(g->loop, 1, -ETIMEDOUT);
	be_dev_close(&g->dev);
	assert_true(g->dev.unsettled);
	assert_int_equal(fake_files(), 1);
	assert_int_equal(fake_vmas(), 1);
	assert_int_equal(loop_doorbells(g->loop), 1);
}

/* For tests after which a worker would exit with files open. What it has
 * allocated goes with it. */
/* ---- opening the HCA ---- */

static void dma_is_capped_or_refused(void **state)
{
	struct guest *g = *state;

	assert_int_equal(loop_caps(g->loop), 1);
	be_dev_close(&g->dev);
	loop_fail_cap_dma(g->loop, -EOPNOTSUPP);
	assert_int_equal(be_dev_open(&g->dev), -EOPNOTSUPP);
	assert_true(g->dev.fault);
	assert_non_null(strstr(g->dev.fault_reason, "DMA segments"));
	assert_int_equal(fake_files(), 0);
	g->dev.fault = false;
	loop_fail_cap_dma(g->loop, -ENOTTY);
	assert_int_equal(be_dev_open(&g->dev), -ENOTTY);
	assert_non_null(strstr(g->dev.fault_reason, "xen-vhca-helper"));
}

int main(void)
{
#define SOFT(f) cmocka_unit_test_setup_teardown(f, guest_setup, guest_teardown)
#define T(f) cmocka_unit_test_setup_teardown(f, guest_setup_mlx5,	\
					     guest_teardown)
#define EXIT(f) cmocka_unit_test_setup_teardown(f, guest_setup_mlx5,	\
						guest_teardown_exit)
	const struct CMUnitTest tests[] = {
		T(a_translated_guest_chooses_the_place),
		T(a_pv_guest_is_told_the_frame),
		T(the_same_offset_is_the_same_page),
		T(commands_pass_one_that_waits),
		T(a_context_may_end_while_one_waits),
		T(only_doorbells_are_mapped),
		T(a_doorbell_is_one_page),
		T(doorbells_count),
		T(a_refusal_leaves_nothing),
		T(a_page_that_may_be_mapped_stays),
		T(the_attribute_must_be_the_tables),
		SOFT(only_hardware_has_doorbells),
		T(pages_go_before_the_file),
		T(a_page_that_stays_keeps_the_context),
		T(a_silent_agent_is_asked_once),
		T(memory_stays_as_long_as_the_file),
		EXIT(a_device_that_cannot_close_says_so),
		T(dma_is_capped_or_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
