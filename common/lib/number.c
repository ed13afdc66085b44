// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Numbers as text (number.h). The text may be hostile.
 */
#include <ctype.h>
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

int vl_parse_bdf(const char *s, char bdf[VL_BDF])
{
	static const char form[VL_BDF] = "xxxx:xx:xx.7";
	size_t i;

	if (strlen(s) != VL_BDF - 1)
		return -EINVAL;
	for (i = 0; i < VL_BDF - 1; i++) {
		if (form[i] == 'x' ? !isxdigit((unsigned char)s[i]) :
		    form[i] == '7' ? s[i] < '0' || s[i] > '7' :
		    s[i] != form[i])
			return -EINVAL;
		bdf[i] = (char)tolower((unsigned char)s[i]);
	}
	bdf[i] = '\0';
	return 0;
}
