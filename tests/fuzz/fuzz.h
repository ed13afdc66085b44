/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What the fuzz targets share: the input as a stream, and a device over the
 * loopback transport and the fake kernel, made anew for every input, with the
 * same ledger at its end as in the unit tests. A broken promise traps.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tests/wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PROMISE(what) do { if (!(what)) __builtin_trap(); } while (0)

struct input {
	const uint8_t *p;
	size_t left;
};

/* Zeroes when the input is used up. */
void in_bytes(struct input *in, void *dst, size_t n);
uint8_t in_u8(struct input *in);
uint16_t in_u16(struct input *in);
uint32_t in_u32(struct input *in);

#define FUZZ_HANDLES 64

struct fuzz {
	struct loop *loop;
	struct be_dev dev;
	struct ctx c;
	uint32_t handle[FUZZ_HANDLES];	/* all that were handed out */
	unsigned int nr_handles;
	struct xenvhca_response rsp;
};

/* A device with one verbs context and, if asked for, every kind of object. */
void fuzz_open(struct fuzz *f, bool objects);
/* Closes it; nothing may be left alive, mapped, granted or charged. */
void fuzz_close(struct fuzz *f);
/* Executes a request, checks the form of the answer, notes new handles. */
int fuzz_call(struct fuzz *f, const struct xenvhca_request *req);

#endif
