// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Wire handles: typed, owned, never 0, stale ones find nothing.
 */
#include "tests/fake/guest.h"

static void finds_only_its_type_and_owner(void **state)
{
	struct be_handles *h = be_handles_new();
	struct be_uc uc = { .o.type = BE_UCONTEXT }, other = uc;
	struct be_obj o = { .type = BE_CQ, .uc = &uc };

	(void)state;
	assert_int_equal(be_handle_add(h, &o), 0);
	assert_int_not_equal(o.handle, 0);
	assert_ptr_equal(be_handle_get(h, o.handle, BE_CQ, &uc), &o);
	assert_ptr_equal(be_handle_get(h, o.handle, BE_CQ, NULL), &o);
	assert_null(be_handle_get(h, o.handle, BE_QP, &uc));
	assert_null(be_handle_get(h, o.handle, BE_CQ, &other));
	assert_null(be_handle_get(h, 0, BE_CQ, NULL));
	be_handles_free(h);
}

static void hides_an_object_in_creation(void **state)
{
	struct be_handles *h = be_handles_new();
	struct be_obj o = { .type = BE_NONE };

	(void)state;
	assert_int_equal(be_handle_add(h, &o), 0);
	assert_null(be_handle_get(h, o.handle, BE_NONE, NULL));
	assert_null(be_handle_get(h, o.handle, BE_CQ, NULL));
	be_handles_free(h);
}

static void does_not_reuse_a_handle_soon(void **state)
{
	struct be_handles *h = be_handles_new();
	struct be_obj o = { .type = BE_CQ };
	uint32_t first, i;

	(void)state;
	assert_int_equal(be_handle_add(h, &o), 0);
	first = o.handle;
	be_handle_del(h, &o);
	assert_null(be_handle_get(h, first, BE_CQ, NULL));
	for (i = 0; i < 200000; i++) {
		assert_int_equal(be_handle_add(h, &o), 0);
		assert_int_not_equal(o.handle, first);
		assert_int_not_equal(o.handle, 0);
		be_handle_del(h, &o);
	}
	be_handles_free(h);
}

static void grows_and_refuses_at_its_end(void **state)
{
	static struct be_obj o[(1 << 20) + 1];
	struct be_handles *h = be_handles_new();
	uint32_t i;

	(void)state;
	for (i = 0; i < 1 << 20; i++) {
		o[i].type = BE_MR;
		assert_int_equal(be_handle_add(h, &o[i]), 0);
	}
	assert_int_equal(be_handle_add(h, &o[i]), -12);
	for (i = 0; i < 1 << 20; i += 4097)
		assert_ptr_equal(be_handle_get(h, o[i].handle, BE_MR, NULL),
				 &o[i]);
	be_handles_free(h);
}

static void survives_any_number(void **state)
{
	struct be_handles *h = be_handles_new();
	struct be_obj o = { .type = BE_CQ };
	uint32_t i;

	(void)state;
	be_handle_add(h, &o);
	for (i = 0; i < 1000000; i++)
		if (i * 4293u != o.handle)
			assert_null(be_handle_get(h, i * 4293u, BE_CQ, NULL));
	be_handle_del(h, &o);
	be_handle_del(h, &o);		/* handle 0: harmless */
	be_handles_free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_only_its_type_and_owner),
		cmocka_unit_test(hides_an_object_in_creation),
		cmocka_unit_test(does_not_reuse_a_handle_soon),
		cmocka_unit_test(grows_and_refuses_at_its_end),
		cmocka_unit_test(survives_any_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
