// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Doorbell pages from the guest's request to the end of its context: which
 * offsets there are, what a refusal or a silent agent leaves, and that no page
 * can be somebody else's before the guest has lost it; then contexts that a PV
 * guest keeps for its next program. The loopback transport is the agent. It
 * counts an end asked for a page that is unmapped here already as an error,
 * the fake kernel a file closed with pages mapped: teardown wants none.
 */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "event.h"
#include "tests/fake/guest.h"
#include "verbs/ucontext.h"

#define PAGE(cmd, i)	(((uint64_t)(cmd) << 8 | (i)) * XENVHCA_PAGE_SIZE)
#define REGULAR(i)	PAGE(0, i)
#define COMBINING(i)	PAGE(2, i)
#define UNCACHED(i)	PAGE(3, i)
#define CLOCK		PAGE(5, 0)
#define ALLOCATED(i)	PAGE(6, i)
#define CLOCK_INFO	PAGE(7, 0)
#define DEVICE_MEM	PAGE(8, 0)
#define GFN		0x100000ull

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
	g->req.u.munmap.offset = REGULAR(0);	/* no granted range */
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
	assert_int_equal(g->dev.n_parked, 0);
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
static int teardown_exit(void **state)
{
	static struct guest *left[4];
	static unsigned int n;
	struct guest *g = *state;
	unsigned int files = fake_files();

	assert_true(files && n < 4);
	assert_int_equal(loop_doorbells(g->loop), files);
	assert_int_equal(fake_vmas(), files);
	assert_int_equal(loop_errors(g->loop), 0);
	assert_int_equal(fake_violations(), 0);
	fake_remove();
	loop_free(g->loop);
	be_dev_fini(&g->dev);
	left[n++] = g;
	assert_non_null(left[0]);
	return 0;
}

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

/* ---- contexts that a PV guest keeps ---- */

static void a_pv_context_waits_for_the_next_program(void **state)
{
	struct guest *g = *state;
	struct xenvhca_response first;
	uint64_t frame;

	g->uc = guest_alloc_uc(g);
	first = g->rsp;
	guest_alloc_pd(g);
	guest_create_cq(g, 15);
	assert_int_equal(guest_doorbell(g, REGULAR(0), 0), 0);
	frame = g->rsp.u.mmap.frame;
	guest_close(g);
	assert_int_equal(g->dev.n_parked, 1);
	assert_int_equal(fake_files(), 2);
	assert_int_equal(fake_live_all(), 0);
	assert_int_equal(loop_mapped(g->loop), 0);
	assert_int_equal(loop_doorbell_unmaps(g->loop), 0);
	assert_int_equal(g->dev.quota.used[BE_UCONTEXT], 0);
	assert_int_equal(g->dev.quota.used[BE_MMAP], 1);
	/* the same file, the same answer, but for the handle */
	g->uc = guest_alloc_uc(g);
	assert_int_equal(fake_files(), 2);
	assert_int_equal(fake_contexts(), 2);	/* with the one for queries */
	assert_int_equal(g->dev.n_parked, 0);
	assert_int_equal(g->rsp.out_len, first.out_len);
	assert_memory_equal(g->rsp.udata, first.udata, sizeof(first.udata));
	assert_int_not_equal(g->uc, first.u.alloc_ucontext.ucontext);
	/* its pages are there; a new one can be had */
	assert_int_equal(guest_doorbell(g, REGULAR(0), 0), 0);
	assert_true(g->rsp.u.mmap.frame == frame);
	assert_int_equal(loop_doorbell_maps(g->loop), 1);
	assert_int_equal(guest_doorbell(g, REGULAR(1), 0), 0);
	guest_close(g);
	assert_int_equal(g->dev.n_parked, 1);
	assert_int_equal(loop_doorbells(g->loop), 2);
}

static void the_new_owner_makes_objects(void **state)
{
	struct guest *g = *state;
	unsigned int i;

	for (i = 0; i < 5; i++) {
		g->uc = guest_alloc_uc(g);
		g->pd = guest_alloc_pd(g);
		g->cq = guest_create_cq(g, 31);
		assert_int_equal(guest_doorbell(g, REGULAR(0), 0), 0);
		assert_int_equal(fake_nth(FAKE_CQ, 0)->user_handle, g->cq);
		guest_close(g);
		assert_int_equal(fake_live_all(), 0);
	}
	assert_int_equal(fake_files(), 2);
	assert_int_equal(fake_contexts(), 2);
}

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
	assert_int_equal(g->dev.n_parked, 1);
	g->tag = 16;
	guest_alloc_uc(g);
	assert_int_equal(fake_contexts(), 3);	/* that was waiting */
	assert_int_equal(g->dev.n_parked, 0);
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
	assert_int_equal(g->dev.n_parked, 1);
}

static void await_event(struct guest *g, struct xenvhca_event *ev)
{
	struct pollfd p = {
		.fd = loop_notify_fd(g->loop, BE_PORT_EVT), .events = POLLIN,
	};
	uint64_t n;

	while (!loop_get_event(g->loop, ev)) {
		assert_int_equal(poll(&p, 1, 5000), 1);
		assert_int_equal(read(p.fd, &n, sizeof(n)), sizeof(n));
	}
}

static void events_go_to_the_new_owner(void **state)
{
	struct guest *g = *state;
	struct xenvhca_event ev;
	uint32_t old;

	assert_int_equal(be_event_start(&g->dev), 0);
	g->uc = guest_alloc_uc(g);
	old = guest_create_cq(g, 15);
	assert_int_equal(guest_doorbell(g, REGULAR(0), 0), 0);
	fake_comp_event(fake_nth(FAKE_CQ, 0));
	await_event(g, &ev);
	assert_int_equal(ev.handle, old);
	guest_close(g);
	g->uc = guest_alloc_uc(g);
	assert_int_equal(fake_files(), 2);
	g->cq = guest_create_cq(g, 15);
	assert_int_not_equal(g->cq, old);
	fake_comp_event(fake_nth(FAKE_CQ, 0));
	await_event(g, &ev);
	assert_int_equal(ev.type, XENVHCA_EVT_COMP);
	assert_int_equal(ev.handle, g->cq);
	guest_close(g);
	be_event_stop(&g->dev);
}

static void park(struct guest *g, uint32_t tag)
{
	g->tag = tag;
	g->uc = guest_alloc_uc(g);
	assert_int_equal(guest_doorbell(g, REGULAR(0), 0), 0);
	guest_close(g);
}

static void the_oldest_makes_room(void **state)
{
	struct guest *g = *state;

	g->dev.quota.max[BE_UCONTEXT] = 3;
	park(g, 1);
	park(g, 2);
	park(g, 3);
	assert_int_equal(g->dev.n_parked, 3);
	assert_int_equal(fake_files(), 4);
	park(g, 4);				/* for 1 */
	assert_int_equal(g->dev.n_parked, 3);
	assert_int_equal(loop_doorbell_unmaps(g->loop), 1);
	assert_int_equal(fake_files(), 4);
	assert_int_equal(g->dev.quota.used[BE_MMAP], 3);
	g->tag = 2;
	g->uc = guest_alloc_uc(g);
	assert_int_equal(fake_contexts(), 5);	/* still there */
	guest_close(g);
	g->tag = 1;
	g->uc = guest_alloc_uc(g);
	assert_int_equal(fake_contexts(), 6);	/* gone */
	guest_close(g);
}

/* The agent will not take the page: the context stays, and is charged. */
static void an_eviction_may_fail(void **state)
{
	struct guest *g = *state;

	g->dev.quota.max[BE_UCONTEXT] = 1;
	park(g, 1);
	loop_fail_undoorbell(g->loop, 2, -ETIMEDOUT);
	g->req.in_len = FAKE_MLX5_IN;
	g->req.out_len = FAKE_MLX5_OUT;
	fake_mlx5_open(g->req.udata, 2);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_ALLOC_UCONTEXT), -ENOMEM);
	assert_int_equal(g->dev.n_parked, 1);
	assert_int_equal(fake_files(), 2);
	g->tag = 2;
	g->uc = guest_alloc_uc(g);
	assert_int_equal(g->dev.n_parked, 0);
	assert_int_equal(fake_files(), 2);
	guest_close(g);
}

static void only_what_is_whole_is_kept(void **state)
{
	struct guest *g = *state;

	g->uc = guest_alloc_uc(g);		/* never rang a bell */
	guest_close(g);
	assert_int_equal(g->dev.n_parked, 0);
	g->uc = guest_alloc_uc(g);		/* Xen can take the page */
	assert_int_equal(guest_doorbell(g, REGULAR(0), GFN), 0);
	guest_close(g);
	assert_int_equal(g->dev.n_parked, 0);
	g->uc = guest_alloc_uc(g);		/* one of both kinds */
	assert_int_equal(guest_doorbell(g, REGULAR(0), 0), 0);
	assert_int_equal(guest_doorbell(g, REGULAR(1), GFN), 0);
	guest_close(g);
	assert_int_equal(g->dev.n_parked, 0);
	g->uc = guest_alloc_uc(g);		/* nobody knows about a page */
	loop_fail_doorbell(g->loop, 1, -ETIMEDOUT, true);
	assert_int_equal(guest_doorbell(g, REGULAR(0), 0), -ETIMEDOUT);
	guest_close(g);
	assert_int_equal(g->dev.n_parked, 0);
	g->uc = guest_alloc_uc(g);		/* an object is left */
	guest_alloc_pd(g);
	assert_int_equal(guest_doorbell(g, REGULAR(0), 0), 0);
	fake_fail(4 /* DEALLOC_PD */, 1, EBUSY);
	guest_close(g);
	assert_int_equal(g->dev.n_parked, 0);
	assert_int_equal(fake_files(), 1);
	assert_int_equal(loop_doorbells(g->loop), 0);
}

/* Whole only since it is closing: the guest has been told that it is gone. */
static void a_context_that_closes_is_not_kept(void **state)
{
	struct guest *g = *state;

	g->uc = guest_alloc_uc(g);
	guest_alloc_pd(g);
	assert_int_equal(guest_doorbell(g, REGULAR(0), 0), 0);
	fake_fail(4 /* DEALLOC_PD */, 1, EBUSY);
	loop_fail_undoorbell(g->loop, 1, -ETIMEDOUT);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_DEALLOC_UCONTEXT),
			 -ETIMEDOUT);
	g->uc = guest_alloc_uc(g);
	assert_int_equal(fake_contexts(), 3);
	be_dev_tick(&g->dev);
	assert_int_equal(g->dev.n_parked, 0);
	assert_int_equal(fake_files(), 2);
	guest_close(g);
}

/* ---- pages that another guest may have ---- */

static void a_refused_page_is_exchanged(void **state)
{
	struct guest *g = *state;
	struct xenvhca_event ev;

	assert_int_equal(be_event_start(&g->dev), 0);
	g->uc = guest_alloc_uc(g);
	loop_fail_doorbell(g->loop, 3, -EPERM, false);
	assert_int_equal(guest_doorbell(g, REGULAR(0), GFN), 0);
	assert_int_equal(loop_doorbell_maps(g->loop), 4);
	assert_int_equal(g->dev.n_spoilt, 3);
	assert_int_equal(fake_files(), 5);	/* kept: not offered again */
	assert_int_equal(fake_vmas(), 1);
	assert_int_equal(loop_doorbells(g->loop), 1);
	assert_int_equal(g->dev.quota.used[BE_MMAP], 1);
	/* it is a context as any other */
	guest_alloc_pd(g);
	g->cq = guest_create_cq(g, 15);
	fake_comp_event(fake_nth(FAKE_CQ, 0));
	await_event(g, &ev);
	assert_int_equal(ev.handle, g->cq);
	guest_close(g);
	assert_int_equal(fake_files(), 4);
	assert_int_equal(g->dev.n_spoilt, 3);
	be_event_stop(&g->dev);
}

/* A guest asks in vain as often as it likes: nothing is opened for that. */
static void its_own_fault_exchanges_nothing(void **state)
{
	struct guest *g = *state;
	unsigned int i;

	g->dev.quota.max[BE_UCONTEXT] = 2;
	g->uc = guest_alloc_uc(g);
	assert_int_equal(guest_doorbell(g, REGULAR(0), GFN), 0);
	g->uc = guest_alloc_uc(g);
	for (i = 0; i < 3; i++)		/* this place has a page */
		assert_int_equal(guest_doorbell(g, REGULAR(0), GFN), -EPERM);
	assert_int_equal(fake_contexts(), 3);	/* one is the device's */
	assert_int_equal(g->dev.n_spoilt, 0);
	guest_close(g);
	assert_int_equal(g->dev.n_spoilt, 0);
}

static void exchanges_come_to_an_end(void **state)
{
	struct guest *g = *state;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		g->uc = guest_alloc_uc(g);
		loop_fail_doorbell(g->loop, 1000, -EPERM, false);
		assert_int_equal(guest_doorbell(g, REGULAR(0), GFN), -EPERM);
		assert_int_equal(guest_doorbell(g, REGULAR(0), GFN), -EPERM);
		assert_int_equal(fake_vmas(), 0);
		loop_fail_doorbell(g->loop, 0, 0, false);
		guest_close(g);
	}
	assert_int_equal(g->dev.n_spoilt, 32);
	assert_int_equal(fake_files(), 1 + 32);
	assert_int_equal(g->dev.quota.used[BE_MMAP], 0);
	assert_int_equal(g->dev.quota.used[BE_UCONTEXT], 0);
}

/* What the guest knows of the old files must hold for the new ones. */
static void only_an_equal_context_is_an_exchange(void **state)
{
	struct guest *g = *state;

	fake_hca.moody = 1;
	g->uc = guest_alloc_uc(g);
	loop_fail_doorbell(g->loop, 1, -EPERM, false);
	assert_int_equal(guest_doorbell(g, REGULAR(0), GFN), -EPERM);
	assert_int_equal(fake_files(), 2);
	fake_hca.moody = 0;
	g->uc = guest_alloc_uc(g);
	fake_fail_open(EMFILE);
	loop_fail_doorbell(g->loop, 1, -EPERM, false);
	assert_int_equal(guest_doorbell(g, REGULAR(0), GFN), -EPERM);
	assert_int_equal(fake_files(), 3);
	g->uc = guest_alloc_uc(g);		/* it made something */
	guest_alloc_pd(g);
	loop_fail_doorbell(g->loop, 1, -EPERM, false);
	assert_int_equal(guest_doorbell(g, REGULAR(0), GFN), -EPERM);
	g->uc = guest_alloc_uc(g);		/* it has a page */
	assert_int_equal(guest_doorbell(g, REGULAR(0), GFN), 0);
	loop_fail_doorbell(g->loop, 1, -EPERM, false);
	assert_int_equal(guest_doorbell(g, REGULAR(1), GFN + 1), -EPERM);
	assert_int_equal(g->dev.n_spoilt, 0);
	assert_int_equal(fake_contexts(), 6);	/* one was of no use */
	assert_int_equal(fake_live_all(), 1);
}

/* It is of no use to a next program, but the HCA must not offer it. */
static void a_spoilt_context_is_not_for_the_next(void **state)
{
	struct guest *g = *state;

	g->uc = guest_alloc_uc(g);
	assert_int_equal(guest_doorbell(g, REGULAR(0), 0), 0);
	loop_fail_doorbell(g->loop, 1, -EPERM, false);
	assert_int_equal(guest_doorbell(g, REGULAR(1), 0), -EPERM);
	guest_close(g);
	assert_int_equal(g->dev.n_parked, 0);
	assert_int_equal(g->dev.n_spoilt, 1);
	assert_int_equal(fake_files(), 2);
	assert_int_equal(loop_doorbells(g->loop), 0);
	g->uc = guest_alloc_uc(g);
	assert_int_equal(fake_contexts(), 3);
}

static void kept_contexts_outlive_the_device(void **state)
{
	struct guest *g = *state;

	park(g, 1);
	g->tag = 2;
	g->uc = guest_alloc_uc(g);		/* kept by be_dev_close() */
	assert_int_equal(guest_doorbell(g, REGULAR(0), 0), 0);
	be_dev_close(&g->dev);
	assert_true(g->dev.unsettled);
	assert_int_equal(fake_files(), 2);
	assert_int_equal(loop_doorbells(g->loop), 2);
}

int main(void)
{
#define SOFT(f) cmocka_unit_test_setup_teardown(f, guest_setup, guest_teardown)
#define T(f) cmocka_unit_test_setup_teardown(f, guest_setup_mlx5,	\
					     guest_teardown)
#define EXIT(f) cmocka_unit_test_setup_teardown(f, guest_setup_mlx5,	\
						teardown_exit)
	const struct CMUnitTest tests[] = {
		T(a_translated_guest_chooses_the_place),
		T(a_pv_guest_is_told_the_frame),
		T(the_same_offset_is_the_same_page),
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
		T(a_pv_context_waits_for_the_next_program),
		T(the_new_owner_makes_objects),
		T(programs_of_another_kind_get_another),
		T(events_go_to_the_new_owner),
		T(the_oldest_makes_room),
		T(an_eviction_may_fail),
		T(only_what_is_whole_is_kept),
		T(a_context_that_closes_is_not_kept),
		T(a_refused_page_is_exchanged),
		T(its_own_fault_exchanges_nothing),
		T(exchanges_come_to_an_end),
		T(only_an_equal_context_is_an_exchange),
		T(a_spoilt_context_is_not_for_the_next),
		EXIT(kept_contexts_outlive_the_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
