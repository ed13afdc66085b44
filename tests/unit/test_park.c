// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Contexts of the HCA that stay open without an owner: those that a PV guest keeps
 * for its next program, and those with a page that another guest may still have.
 * The loopback transport is the doorbell agent.
 */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "context/context.h"
#include "core/event.h"
#include "tests/fake/guest.h"
#include "tests/fake/mlx5_pages.h"
#include "verbs/ucontext.h"

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
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_PARKED], 1);
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
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_PARKED], 0);
	assert_int_equal(g->rsp.out_len, first.out_len);
	assert_memory_equal(g->rsp.udata, first.udata, sizeof(first.udata));
	assert_int_not_equal(g->uc, first.u.alloc_ucontext.ucontext);
	/* its pages are there; a new one can be had */
	assert_int_equal(guest_doorbell(g, REGULAR(0), 0), 0);
	assert_true(g->rsp.u.mmap.frame == frame);
	assert_int_equal(loop_doorbell_maps(g->loop), 1);
	assert_int_equal(guest_doorbell(g, REGULAR(1), 0), 0);
	guest_close(g);
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_PARKED], 1);
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

static void what_no_guest_can_reach_is_closed(void **state)
{
	struct guest *g = *state;

	g->uc = guest_alloc_uc(g);		/* never rang a bell */
	guest_close(g);
	g->uc = guest_alloc_uc(g);		/* Xen can take the page */
	assert_int_equal(guest_doorbell(g, REGULAR(0), GFN), 0);
	guest_close(g);
	g->uc = guest_alloc_uc(g);		/* the agent refused it */
	loop_fail_doorbell(g->loop, 1, -EACCES, false);
	assert_int_equal(guest_doorbell(g, REGULAR(0), 0), -EPERM);
	guest_close(g);
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_PARKED], 0);
	assert_int_equal(fake_files(), 1);
}

/* The agent may have given it, and one of the other kind beside it. */
static void a_page_that_the_guest_may_have_is_kept(void **state)
{
	struct guest *g = *state;

	g->uc = guest_alloc_uc(g);
	loop_fail_doorbell(g->loop, 1, -ETIMEDOUT, true);
	assert_int_equal(guest_doorbell(g, REGULAR(0), 0), -ETIMEDOUT);
	assert_int_equal(guest_doorbell(g, REGULAR(1), GFN), 0);
	loop_fail_undoorbell(g->loop, 1, -ETIMEDOUT);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_DEALLOC_UCONTEXT),
			 -ETIMEDOUT);
	be_dev_tick(&g->dev);			/* the agent is back */
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_PARKED], 1);
	assert_int_equal(fake_files(), 2);
	assert_int_equal(loop_doorbells(g->loop), 0);
	/* the next program asks for them anew; what it asks does not count */
	g->uc = guest_alloc_uc(g);
	assert_int_equal(fake_files(), 2);
	loop_fail_doorbell(g->loop, 1, -EACCES, false);
	assert_int_equal(guest_doorbell(g, REGULAR(0), GFN), -EPERM);
	guest_close(g);
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_PARKED], 1);
	g->uc = guest_alloc_uc(g);
	assert_int_equal(guest_doorbell(g, REGULAR(0), 0), 0);
	assert_int_equal(guest_doorbell(g, REGULAR(1), 0), 0);
	assert_int_equal(g->dev.quota.used[BE_MMAP], 2);
	guest_close(g);
	assert_int_equal(fake_contexts(), 2);
	assert_int_equal(loop_doorbells(g->loop), 2);
}

/* Its memory stays as well: the HCA may still use it. */
static void what_is_not_destroyed_keeps_the_context(void **state)
{
	struct guest *g = *state;

	g->uc = guest_alloc_uc(g);
	guest_create_cq(g, 15);
	assert_int_equal(guest_doorbell(g, REGULAR(0), 0), 0);
	fake_fail(20 /* DESTROY_CQ */, 1, EBUSY);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_DEALLOC_UCONTEXT), -EBUSY);
	assert_int_equal(fake_files(), 2);
	assert_int_equal(loop_mapped(g->loop), 2);
	assert_int_equal(loop_doorbell_unmaps(g->loop), 0);
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_PARKED], 0);
	be_dev_tick(&g->dev);
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_PARKED], 1);
	assert_int_equal(fake_files(), 2);
	assert_int_equal(loop_mapped(g->loop), 0);
	g->uc = guest_alloc_uc(g);
	assert_int_equal(fake_contexts(), 2);
	guest_close(g);
}

/* There is nothing to be had any more, and guest memory to be given back. */
static void an_hca_that_is_gone_keeps_nothing(void **state)
{
	struct guest *g = *state;

	g->uc = guest_alloc_uc(g);
	guest_create_cq(g, 15);
	assert_int_equal(guest_doorbell(g, REGULAR(0), 0), 0);
	fake_unplug(true);
	guest_close(g);
	fake_unplug(false);
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_PARKED], 0);
	assert_int_equal(fake_files(), 1);
	assert_int_equal(loop_mapped(g->loop), 0);
}

/* ---- contexts of any guest, where the agent holds its pages (Arm) ---- */

/* The place is the guest's again, the file is nobody's but its own. */
static void a_translated_context_loses_its_places(void **state)
{
	struct guest *g = *state;

	loop_transport(g->loop)->hold_translated = true;
	g->uc = guest_alloc_uc(g);
	assert_int_equal(guest_doorbell(g, REGULAR(0), GFN), 0);
	assert_int_equal(guest_doorbell(g, ALLOCATED(0), GFN + 1), 0);
	assert_int_equal(g->dev.quota.uars, 9);
	guest_close(g);
	assert_int_equal(loop_doorbells(g->loop), 0);
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_PARKED], 1);
	assert_int_equal(fake_files(), 2);
	/* the HCA has these pages once: they are mapped here all the time */
	assert_int_equal(fake_vmas(), 2);
	g->uc = guest_alloc_uc(g);
	assert_int_equal(guest_doorbell(g, ALLOCATED(0), GFN), 0);
	assert_int_equal(guest_doorbell(g, REGULAR(0), GFN + 7), 0);
	assert_int_equal(guest_doorbell(g, REGULAR(0), GFN + 8), -EBUSY);
	assert_int_equal(fake_uars(), 9);
	assert_int_equal(g->dev.quota.uars, 9);
	assert_int_equal(g->dev.quota.used[BE_MMAP], 2);
	assert_int_equal(loop_doorbells(g->loop), 2);
	guest_close(g);
	assert_int_equal(fake_contexts(), 2);
	g->uc = guest_alloc_uc(g);		/* it asks for nothing */
	guest_close(g);
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_PARKED], 1);
}

static void a_place_must_be_free_before_the_answer(void **state)
{
	struct guest *g = *state;

	loop_transport(g->loop)->hold_translated = true;
	g->dev.quota.max[BE_UCONTEXT] = 1;
	g->uc = guest_alloc_uc(g);
	assert_int_equal(guest_doorbell(g, REGULAR(0), GFN), 0);
	loop_fail_undoorbell(g->loop, 1, -ETIMEDOUT);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_DEALLOC_UCONTEXT),
			 -ETIMEDOUT);
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_PARKED], 0);
	assert_int_equal(guest_program(g, 1), -ENOMEM);
	be_dev_tick(&g->dev);
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_PARKED], 1);
	assert_int_equal(guest_program(g, 1), -ENOMEM);
	g->uc = guest_alloc_uc(g);
	assert_int_equal(guest_doorbell(g, REGULAR(0), GFN + 1), 0);
	guest_close(g);
	be_dev_close(&g->dev);
	assert_true(g->dev.unsettled);
	g->dev.unsettled = false;
	assert_int_equal(fake_files(), 1);
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
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_SPOILT], 3);
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
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_SPOILT], 3);
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
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_SPOILT], 0);
	guest_close(g);
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_SPOILT], 0);
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
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_SPOILT], 32);
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
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_SPOILT], 0);
	assert_int_equal(fake_contexts(), 6);	/* one was of no use */
	assert_int_equal(fake_live_all(), 1);
}

/* It is of no use to a next program, but one page of it is this guest's, and
 * the HCA must offer neither. */
static void a_spoilt_context_is_kept_for_nobody(void **state)
{
	struct guest *g = *state;

	g->uc = guest_alloc_uc(g);
	assert_int_equal(guest_doorbell(g, REGULAR(0), 0), 0);
	loop_fail_doorbell(g->loop, 1, -EPERM, false);
	assert_int_equal(guest_doorbell(g, REGULAR(1), 0), -EPERM);
	guest_close(g);
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_PARKED], 1);
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_SPOILT], 0);
	assert_int_equal(g->dev.quota.uars, 8);
	assert_int_equal(loop_doorbells(g->loop), 1);
	g->uc = guest_alloc_uc(g);
	assert_int_equal(fake_contexts(), 3);
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_PARKED], 1);
	be_dev_close(&g->dev);
	assert_true(g->dev.unsettled);
	assert_int_equal(fake_files(), 1);
}

/* A page by two offsets: the agent says that this guest has it. */
static void its_own_fault_spoils_nothing(void **state)
{
	struct guest *g = *state;

	g->uc = guest_alloc_uc(g);
	assert_int_equal(guest_doorbell(g, REGULAR(0), 0), 0);
	loop_fail_doorbell(g->loop, 1, -EACCES, false);
	assert_int_equal(guest_doorbell(g, UNCACHED(0), 0), -EPERM);
	guest_close(g);
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_PARKED], 1);
	be_dev_close(&g->dev);
	assert_true(g->dev.unsettled);
	assert_int_equal(fake_files(), 1);
	assert_int_equal(loop_doorbells(g->loop), 1);
}

static void kept_contexts_outlive_the_device(void **state)
{
	struct guest *g = *state;

	guest_park(g, 1);
	g->tag = 2;
	g->uc = guest_alloc_uc(g);		/* kept by be_dev_close() */
	assert_int_equal(guest_doorbell(g, REGULAR(0), 0), 0);
	be_dev_close(&g->dev);
	assert_true(g->dev.unsettled);
	assert_int_equal(fake_files(), 2);
	assert_int_equal(loop_doorbells(g->loop), 2);
}

/* ---- states ---- */

static void another_transition_ends_the_device(void **state)
{
	struct guest *g = *state;
	struct be_vfile *f = be_vfile_new(&g->dev);

	be_vfile_to(&g->dev, f, BE_VFILE_SPOILT);
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_SPOILT], 1);
	assert_false(g->dev.fault);
	be_vfile_to(&g->dev, f, BE_VFILE_OPEN);
	assert_true(g->dev.fault);
	assert_int_equal(f->state, BE_VFILE_SPOILT);
	g->dev.fault = false;
	be_vfile_drop(&g->dev, f);
	assert_int_equal(g->dev.n_vfiles[BE_VFILE_SPOILT], 0);
	assert_null(g->dev.vfiles[BE_VFILE_SPOILT]);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, guest_setup_mlx5,	\
					     guest_teardown)
#define EXIT(f) cmocka_unit_test_setup_teardown(f, guest_setup_mlx5,	\
						guest_teardown_exit)
	const struct CMUnitTest tests[] = {
		T(a_pv_context_waits_for_the_next_program),
		T(the_new_owner_makes_objects),
		T(events_go_to_the_new_owner),
		T(what_no_guest_can_reach_is_closed),
		T(a_page_that_the_guest_may_have_is_kept),
		T(what_is_not_destroyed_keeps_the_context),
		T(an_hca_that_is_gone_keeps_nothing),
		T(a_translated_context_loses_its_places),
		T(a_place_must_be_free_before_the_answer),
		T(a_refused_page_is_exchanged),
		T(its_own_fault_exchanges_nothing),
		T(exchanges_come_to_an_end),
		T(only_an_equal_context_is_an_exchange),
		T(another_transition_ends_the_device),
		EXIT(a_spoilt_context_is_kept_for_nobody),
		EXIT(its_own_fault_spoils_nothing),
		EXIT(kept_contexts_outlive_the_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
