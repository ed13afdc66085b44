// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What vhcactl check reads of Xen's command line and of xl info.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tools/vhcactl/check.h"

static void options_of_xen(void **state)
{
	char buf[16];

	(void)state;
	assert_int_equal(check_param("a gnttab_max_frames=12 b", "gnttab_max_frames", 64), 12);
	assert_int_equal(check_param("gnttab_max_frames=12 gnttab_max_frames=0x10", "gnttab_max_frames", 64), 16);
	assert_int_equal(check_param("xgnttab_max_frames=12", "gnttab_max_frames", 64), 64);
	assert_int_equal(check_param("gnttab_max_frames=12k", "gnttab_max_frames", 64), 64);
	assert_int_equal(check_param("gnttab_max_frames=", "gnttab_max_frames", 64), 64);
	assert_int_equal(check_param("", "gnttab_max_frames", 64), 64);
	assert_true(check_dom0_mem_fixed("dom0_mem=4G,max:4G"));
	assert_true(check_dom0_mem_fixed("x dom0_mem=max:4G y"));
	assert_false(check_dom0_mem_fixed("dom0_mem=4G max:3"));
	assert_false(check_dom0_mem_fixed("dom0_mem=4G,max:4G dom0_mem=4G"));
	assert_false(check_dom0_mem_fixed("dom0_max_vcpus=1"));
	assert_true(check_info("ab : 1\na   : two words\n", "a", buf, sizeof(buf)));
	assert_string_equal(buf, "two words");
	assert_true(check_info("a:x", "a", buf, sizeof(buf)));
	assert_string_equal(buf, "x");
	assert_false(check_info("b : 1\n", "a", buf, sizeof(buf)));
	assert_false(check_info("", "a", buf, sizeof(buf)));
	assert_false(check_info(NULL, "a", buf, sizeof(buf)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_of_xen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
