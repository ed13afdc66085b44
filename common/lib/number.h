/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Numbers as text: of an operator, or of another domain.
 */
#ifndef VL_NUMBER_H
#define VL_NUMBER_H

#include <stdint.h>

/**
 * vl_parse_u64() - plain decimal number of at most 19 digits
 * @val: untouched on failure
 *
 * No sign, no blanks, no other base. 0, -EINVAL or -ERANGE.
 */
int vl_parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *val);

#define VL_BDF	13	/* "0000:00:05.0" with the NUL */

/**
 * vl_parse_bdf() - PCI address "DDDD:BB:DD.F", as sysfs names it
 * @bdf: receives it, lower case; its characters are safe in a path
 */
int vl_parse_bdf(const char *s, char bdf[VL_BDF]);

#define VL_MAC	18	/* "00:16:3e:00:00:01" with the NUL */

#endif
