// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/store_page.c: what it offers and when, and a hostile backend, which writes
 * anything to its half at any time, notifies as it likes, dies, or does not let go.
 */
#include "front_page.h"
#include "vhca-keys.h"

static int setup(void **state)
{
	(void)state;
	page_reset();
	return 0;
}

static struct vhca_store *probed(void)
{
	assert_int_equal(page_driver.probe(&pdev), 0);
	return front.store;
}

static void backend(u32 s)
{
	held = true;
	page->back_state = s;
	upcall(0, upcall_arg);
	kernel_advance(1);
}

static void gone(void)
{
	page_driver.remove(&pdev);
	assert_int_equal(kernel_irqs, 0);
	kernel_idle();
}

/* ---- tests ---- */
static void a_page_is_offered(void **state)
{
	struct vhca_store *l = probed();

	(void)state;
	assert_int_equal(granted, 2);
	assert_int_equal(granted_to, 3);
	assert_int_equal(l->backend, 3);
	assert_int_equal(page->front_layout, XENVHCA_STORE_LAYOUT);
	assert_int_equal(page->front_port, 9);
	assert_int_equal(page->front_state, XenbusStateInitialising);
	assert_int_equal(l->ops->theirs(l), XenbusStateUnknown);
	gone();
	assert_null(page);
	assert_int_equal(granted, 0);
}

static void a_wrong_description_is_refused(void **state)
{
	static const u32 bad[][2] = {
		{ 3, 0 }, { 3, 1 }, { 3, 8 }, { 3, ~0u }, { 0x7ff0, 2 }, { ~0u, 2 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		memcpy(props, bad[i], sizeof(props));
		assert_int_equal(page_driver.probe(&pdev), -EINVAL);
	}
	setup(NULL);
	for (no_props = 1; no_props < 4; no_props++)
		assert_int_equal(page_driver.probe(&pdev), -EINVAL);
	assert_int_equal(granted, 0);
	assert_null(page);
}

static void parameters_make_a_device(void **state)
{
	(void)state;
	grant_ref = 7;
	backend_domid = 0;
	assert_int_equal(vhca_page_init(), 0);
	probed();
	assert_int_equal(granted, 7);
	assert_int_equal(granted_to, 0);
	gone();
}

/* As an earlier module left it whose backend still maps that page. */
static void a_reference_in_use_is_not_taken(void **state)
{
	(void)state;
	ref_in_use = true;
	assert_int_equal(page_driver.probe(&pdev), -EBUSY);
	assert_int_equal(granted, 0);
	assert_null(page);
	assert_int_equal(kernel_irqs, 0);
}

static void what_fails_leaves_nothing(void **state)
{
	(void)state;
	front_fails = true;
	assert_int_equal(page_driver.probe(&pdev), -ENOMEM);
	assert_int_equal(granted, 0);
	assert_null(page);
	assert_int_equal(kernel_irqs, 0);
}

/* It may bind the port by its number before there is a page. */
static void an_early_notice_is_harmless(void **state)
{
	(void)state;
	fires_at_once = true;
	probed();
	kernel_advance(HZ);
	gone();

	setup(NULL);
	fires_at_once = front_fails = true;
	assert_int_equal(page_driver.probe(&pdev), -ENOMEM);
	kernel_idle();
}

static void states_are_heard_of(void **state)
{
	static const u32 s[] = {
		XenbusStateInitialising, XenbusStateInitWait, XenbusStateConnected,
		XenbusStateClosing, XenbusStateClosed,
	};
	struct vhca_store *l = probed();
	size_t i;

	(void)state;
	kernel_advance(1);
	for (i = 0; i < ARRAY_SIZE(s); i++) {
		backend(s[i]);
		assert_int_equal(told, s[i]);
		assert_int_equal(looks, i + 1);
		assert_int_equal(l->ops->theirs(l), s[i]);
	}
	assert_int_equal(eois, ARRAY_SIZE(s));
	assert_int_equal(spurious, 0);
	gone();
}

static void a_wild_state_is_none(void **state)
{
	static const u32 wild[] = { 7, 8, 0x100, 0x80000004, ~0u };
	struct vhca_store *l = probed();
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(wild); i++) {
		backend(XenbusStateConnected);
		backend(wild[i]);
		assert_int_equal(told, XenbusStateUnknown);
		assert_int_equal(l->ops->theirs(l), XenbusStateUnknown);
	}
	gone();
}

static void state_flips(void)
{
	page->back_state = ~0u;
}

static void text_grows(void)
{
	memset(page->back_versions, '1', sizeof(page->back_versions));
}

/* What was checked is what is used, whatever stands there now. */
static void numbers_are_read_once(void **state)
{
	struct vhca_store *l = probed();

	(void)state;
	held = true;
	page->back_state = XenbusStateInitWait;
	peer = state_flips;
	assert_int_equal(l->ops->theirs(l), XenbusStateInitWait);
	peer = NULL;
	gone();
}

static void texts_end(void **state)
{
	struct vhca_store *l = probed();
	char *text;

	(void)state;
	memset(page->back_versions, '7', sizeof(page->back_versions));
	memset(page->back_setup, '7', sizeof(page->back_setup));
	page->back_pad[0] = '7';
	text = l->ops->read(l, XENVHCA_NODE_VERSIONS);
	assert_int_equal(strlen(text), XENVHCA_STORE_TEXT - 1);
	kfree(text);
	text = l->ops->read(l, XENVHCA_NODE_SETUP);
	assert_int_equal(strlen(text), XENVHCA_STORE_TEXT - 1);
	kfree(text);
	memcpy(page->back_versions, "1,2", 4);
	peer = text_grows;		/* torn: shorter or longer, but ended */
	text = l->ops->read(l, XENVHCA_NODE_VERSIONS);
	assert_in_range(strlen(text), 1, XENVHCA_STORE_TEXT - 1);
	kfree(text);
	peer = NULL;
	assert_true(IS_ERR(l->ops->read(l, XENVHCA_NODE_HCA)));
	gone();
}

static void notices_without_a_change_are_slowed_down(void **state)
{
	unsigned int i;

	(void)state;
	probed();
	backend(XenbusStateConnected);
	for (i = 0; i < 100; i++)
		backend(XenbusStateConnected);
	assert_int_equal(looks, 1);
	assert_int_equal(spurious, 100);
	gone();
}

/* A worker that was killed says nothing, but its end of the port is closed. */
static void a_backend_that_dies_is_missed(void **state)
{
	struct vhca_store *l = probed();

	(void)state;
	backend(XenbusStateConnected);
	held = false;
	kernel_advance(2 * HZ);
	assert_int_equal(told, XenbusStateUnknown);
	assert_int_equal(l->ops->theirs(l), XenbusStateUnknown);
	/* One that closed before is no dead one. */
	backend(XenbusStateClosed);
	held = false;
	kernel_advance(2 * HZ);
	assert_int_equal(told, XenbusStateClosed);
	gone();
}

static void nodes_have_their_places(void **state)
{
	static const struct vhca_node nodes[] = {
		{ XENVHCA_NODE_DOORBELL_WINDOW, "0x100 0x400" },
		{ XENVHCA_NODE_SETUP, "1 7 5 6 7 93 94 77" },
	};
	struct xenvhca_store_page was;
	struct vhca_store *l = probed();

	(void)state;
	memset(page->front_setup, '9', sizeof(page->front_setup));
	memcpy(&was, page, sizeof(was));
	memset(was.front_setup, 0, sizeof(was.front_setup));
	strcpy((char *)was.front_setup, nodes[1].value);
	assert_int_equal(l->ops->write(l, nodes, ARRAY_SIZE(nodes)), 0);
	assert_memory_equal(&was, page, sizeof(was));
	assert_int_equal(l->ops->enter(l, XenbusStateInitialised), 0);
	assert_int_equal(state_at_notice, XenbusStateInitialised);
	assert_int_equal(l->ops->remove(l, XENVHCA_NODE_DOORBELL_WINDOW), 0);
	gone();
}

/* The page is used again when nobody maps it, and not before. */
static void a_page_that_is_mapped_stays(void **state)
{
	unsigned long begin;

	(void)state;
	probed();
	backend(XenbusStateConnected);
	stubborn = true;
	ended = 0;
	begin = jiffies;
	gone();
	assert_int_equal(page->front_magic, 0);
	assert_int_equal(page->front_state, XenbusStateClosed);
	assert_int_equal(granted, 2);
	assert_int_equal(ended, 0);
	assert_in_range(jiffies - begin, 4 * HZ, 8 * HZ);
}

#define T(f) cmocka_unit_test_setup(f, setup)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_page_is_offered),
		T(a_wrong_description_is_refused),
		T(parameters_make_a_device),
		T(a_reference_in_use_is_not_taken),
		T(what_fails_leaves_nothing),
		T(an_early_notice_is_harmless),
		T(states_are_heard_of),
		T(a_wild_state_is_none),
		T(numbers_are_read_once),
		T(texts_end),
		T(notices_without_a_change_are_slowed_down),
		T(a_backend_that_dies_is_missed),
		T(nodes_have_their_places),
		T(a_page_that_is_mapped_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
