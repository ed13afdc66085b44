/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The input of a fuzz target as a stream, and what a target says of a broken
 * promise: it traps.
 */
#ifndef INPUT_H
#define INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PROMISE(what) do { if (!(what)) __builtin_trap(); } while (0)

struct input {
	const uint8_t *p;
	size_t left;
};

/* Zeroes when the input is used up. */
void in_bytes(struct input *in, void *dst, size_t n);
uint8_t in_u8(struct input *in);
/* The same, of what the target does next: all are counted, and told at the end. */
uint8_t in_step(struct input *in);
uint16_t in_u16(struct input *in);
uint32_t in_u32(struct input *in);

#endif
