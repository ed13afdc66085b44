/* SPDX-License-Identifier: GPL-2.0 */
/* Copyright (C) 2026 The vhca authors */
/*
 * Commands of the write() ABI of a uverbs file, by hand: one process, one file, no
 * library between it and the kernel.
 */
#ifndef VHCA_TESTS_RAW_H
#define VHCA_TESTS_RAW_H

#include <stddef.h>
#include <stdint.h>

#define RAW_UDATA 64	/* room for a driver's part of an answer */

/* Command header, body and answer of one write(). */
struct raw {
	int fd;
	uint64_t out[64];
	uint32_t pd, mr, cq, qp;
};

/* Of "uverbs0"; -1 and errno. */
int raw_open(const char *dev_name);
/*
 * @core: size of the answer without the driver's part; its address goes to the
 * first eight bytes of the body. 0 or errno.
 */
int raw_cmd(struct raw *r, uint32_t cmd, void *body, size_t len, size_t core,
	    size_t udata);
/* The i-th word of the answer. */
uint32_t raw_out(const struct raw *r, size_t i);
int raw_pd(struct raw *r);
/* Commands that carry one handle and have no answer of use here. */
int raw_handle(struct raw *r, uint32_t cmd, uint32_t handle);

#endif
