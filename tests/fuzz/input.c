// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The input of a fuzz target as a stream, see input.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include "input.h"

void in_bytes(struct input *in, void *dst, size_t n)
{
	size_t have = n < in->left ? n : in->left;

	memset(dst, 0, n);
	if (have)
		memcpy(dst, in->p, have);
	in->p += have;
	in->left -= have;
}

uint8_t in_u8(struct input *in)
{
	uint8_t v;

	in_bytes(in, &v, sizeof(v));
	return v;
}

uint16_t in_u16(struct input *in)
{
	uint16_t v;

	in_bytes(in, &v, sizeof(v));
	return v;
}

uint32_t in_u32(struct input *in)
{
	uint32_t v;

	in_bytes(in, &v, sizeof(v));
	return v;
}

static uint64_t steps;

uint8_t in_step(struct input *in)
{
	steps++;
	return in_u8(in);
}

__attribute__((destructor)) static void tell_steps(void)
{
	if (steps)
		fprintf(stderr, "steps: %" PRIu64 "\n", steps);
}
