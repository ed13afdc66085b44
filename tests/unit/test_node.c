// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Values of other domains are read strictly, and only the transitions of the
 * state diagram are legal. xenstore itself is a table here.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "xenstore/node.h"
#include "xenstore/state.h"

static struct { const char *raw; unsigned int len; } value;

/* What node.c and state.c call of libxenstore: one value for every path. */
void *xs_read(struct xs_handle *h, xs_transaction_t t, const char *path,
	      unsigned int *len)
{
	char *copy;

	(void)h;
	(void)t;
	(void)path;
	if (!value.raw) {
		errno = ENOENT;
		return NULL;
	}
	copy = calloc(1, value.len + 1);
	assert_non_null(copy);
	memcpy(copy, value.raw, value.len);
	if (len)
		*len = value.len;
	return copy;
}

static int read_u32(const char *raw, size_t len, uint32_t *v)
{
	value.raw = raw;
	value.len = (unsigned int)len;
	return xn_read_u32(NULL, 0, "/d", "n", 10, 99, v);
}

static void numbers_are_plain_decimal(void **state)
{
	static const char *const bad[] = {
		"", "-12", "+12", " 12", "12 ", "0x12", "1e1", "12\n",
		"99999999999999999999", "11111111111111111111111111111111",
	};
	uint32_t v = 7;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(read_u32(bad[i], strlen(bad[i]), &v), -EINVAL);
	assert_int_equal(read_u32("12\0x", 4, &v), -EINVAL);
	assert_int_equal(read_u32("9", 1, &v), -ERANGE);
	assert_int_equal(read_u32("100", 3, &v), -ERANGE);
	assert_int_equal(read_u32("4294967311", 10, &v), -ERANGE);
	assert_int_equal(v, 7);
	assert_int_equal(read_u32("10", 2, &v), 0);
	assert_int_equal(v, 10);
	assert_int_equal(read_u32("99\0", 3, &v), 0);
	assert_int_equal(v, 99);
}

static void absent_means_default(void **state)
{
	uint32_t v = 0;

	(void)state;
	assert_int_equal(read_u32(NULL, 0, &v), -ENOENT);
	assert_int_equal(xn_read_u32_def(NULL, 0, "/d", "n", 1, 5, 3, &v), 0);
	assert_int_equal(v, 3);
	value.raw = "x";
	value.len = 1;
	assert_int_equal(xn_read_u32_def(NULL, 0, "/d", "n", 1, 5, 3, &v),
			 -EINVAL);
}

static void text_is_short_and_printable(void **state)
{
	char buf[4];

	(void)state;
	value.raw = "abc";
	value.len = 3;
	assert_int_equal(xn_read_str(NULL, 0, "/d", "n", buf, 4), 0);
	assert_string_equal(buf, "abc");
	assert_int_equal(xn_read_str(NULL, 0, "/d", "n", buf, 3), -E2BIG);
	value.raw = "a\x1b[";
	assert_int_equal(xn_read_str(NULL, 0, "/d", "n", buf, 4), -EINVAL);
	value.raw = "a\xff" "c";
	assert_int_equal(xn_read_str(NULL, 0, "/d", "n", buf, 4), -EINVAL);
}

static void paths_fit(void **state)
{
	char path[XN_PATH_MAX], dir[XN_PATH_MAX];

	(void)state;
	memset(dir, 'd', sizeof(dir));
	dir[sizeof(dir) - 1] = '\0';
	assert_int_equal(xn_path(path, dir, "n"), -ENAMETOOLONG);
	assert_int_equal(xn_path(path, "/a", "b"), 0);
	assert_string_equal(path, "/a/b");
}

static void only_the_diagram_is_legal(void **state)
{
	(void)state;
	assert_true(xn_state_legal(XN_BACK, XenbusStateInitialising,
				   XenbusStateInitWait));
	assert_true(xn_state_legal(XN_BACK, XenbusStateInitWait,
				   XenbusStateConnected));
	assert_false(xn_state_legal(XN_BACK, XenbusStateInitialising,
				    XenbusStateConnected));
	assert_false(xn_state_legal(XN_BACK, XenbusStateClosed,
				    XenbusStateConnected));
	assert_false(xn_state_legal(XN_FRONT, XenbusStateInitialising,
				    XenbusStateConnected));
	assert_true(xn_state_legal(XN_FRONT, XenbusStateInitialised,
				   XenbusStateConnected));
	assert_false(xn_state_legal(XN_FRONT, 77, XenbusStateClosed));
	assert_false(xn_state_legal(XN_BACK, XenbusStateClosed,
				    (enum xenbus_state)-1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_plain_decimal),
		cmocka_unit_test(absent_means_default),
		cmocka_unit_test(text_is_short_and_printable),
		cmocka_unit_test(paths_fit),
		cmocka_unit_test(only_the_diagram_is_legal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
