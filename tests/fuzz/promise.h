/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What unit tests share with fuzz targets asserts with cmocka: here these are promises,
 * and what such code prints is nothing. Included before it.
 */
#ifndef PROMISE_H
#define PROMISE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "input.h"

#undef assert_true
#undef assert_false
#undef assert_null
#undef assert_non_null
#undef assert_int_equal
#undef assert_ptr_equal
#undef fail_msg
#define assert_true(c)		PROMISE(c)
#define assert_false(c)		PROMISE(!(c))
#define assert_null(p)		PROMISE(!(p))
#define assert_non_null(p)	PROMISE(p)
#define assert_int_equal(a, b)	PROMISE((a) == (b))
#define assert_ptr_equal(a, b)	PROMISE((a) == (b))
#define fail_msg(...)		__builtin_trap()
#define print_message(...)	((void)0)

#endif
