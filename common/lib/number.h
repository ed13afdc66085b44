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

#endif
