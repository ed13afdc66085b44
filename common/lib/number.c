// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Numbers as text (number.h). The text may be hostile.
 */
#include <errno.h>
#include <string.h>
#include "number.h"

int vl_parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *val)
{
	size_t i, len = strlen(s);
	uint64_t v = 0;

	if (!len || len > 19)	/* 19 digits cannot overflow */
		return -EINVAL;
	for (i = 0; i < len; i++) {
		if (s[i] < '0' || s[i] > '9')
			return -EINVAL;
		v = v * 10 + (uint64_t)(s[i] - '0');
	}
	if (v < min || v > max)
		return -ERANGE;
	*val = v;
	return 0;
}
