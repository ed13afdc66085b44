// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Which kernels have what Linux mended of Soft-RoCE.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "host/kernel.h"

/* As /proc/version has it; what counts is behind the compiler's. */
#define PROC(n, uts) \
	"Linux version " n " (root@host) (gcc-12 (Debian 12.2.0-14) 12.2.0) #1 SMP " uts

static const struct { const char *version, *number; bool ok; } kernels[] = {
	{ PROC("6.1.0-48-amd64", "Debian 6.1.190-1 (2026-10-15)"), "6.1.190", false },
	{ PROC("6.1.0-56-amd64", "Debian 6.1.192-1 (2026-11-07)"), "6.1.192", true },
	{ "6.1.0-56-amd64 #1 SMP Debian 6.1.192-1 (2026-11-07)", "6.1.192", true },
	{ PROC("6.1.190", "Fri Nov 6"), "6.1.190", false },
	{ PROC("6.1.191", "Fri Nov 6"), "6.1.191", true },
	{ "6.1.191 #1 SMP Fri Nov 6", "6.1.191", true },
	{ PROC("6.12.95+deb13-amd64", "Debian 6.12.95-1 (2026-07-01)"), "6.12.95",
	  false },
	{ PROC("6.12.118+deb13-amd64", "Debian 6.12.118-1 (2026-11-20)"), "6.12.118",
	  true },
	{ PROC("5.10.0-30-amd64", "Debian 5.10.218-1 (2024-06-01)"), "5.10.218", false },
	{ PROC("6.9.12", "Fri Nov 6"), "6.9.12", false },
	{ PROC("7.2.7", "Fri Nov 6"), "7.2.7", false },
	{ PROC("7.2.8", "Fri Nov 6"), "7.2.8", true },
	{ PROC("7.3-rc1", "Fri Nov 6"), "7.3.0", true },
	{ PROC("8.0.0", "Fri Nov 6"), "8.0.0", true },
	{ "", "", true },
	{ "none", "", true },
};

static void each_series_has_a_first_one(void **state)
{
	char number[32];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
		assert_int_equal(host_rxe_mended(kernels[i].version, number,
						 sizeof(number)), kernels[i].ok);
		assert_string_equal(number, kernels[i].number);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_series_has_a_first_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
