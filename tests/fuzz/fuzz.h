/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What the fuzz targets share: a device over the loopback transport and the
 * fake kernel, made anew for every input, with the same ledger at its end as
 * in the unit tests.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include "input.h"
#include "tests/wire/wire.h"

#define FUZZ_HANDLES 64
#define FUZZ_FOREIGN	2	/* GID index that is not the guest's */

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
/* As above, with objects, on a ConnectX with doorbell pages. */
void fuzz_open_mlx5(struct fuzz *f);
/* Closes it; nothing may be left alive, mapped, granted or charged. */
void fuzz_close(struct fuzz *f);
/* Executes a request, checks the form of the answer, notes new handles. */
int fuzz_call(struct fuzz *f, const struct xenvhca_request *req);

#endif
