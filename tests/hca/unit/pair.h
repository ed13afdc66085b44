/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The fixture of most tests: two devices on a hub, LIDs 1 and 2, each with a
 * driver, one queue pair, a completion queue for sends and one for receives,
 * and 1 MiB of registered memory. What a test leaves behind must go in order.
 */
#ifndef PAIR_H
#define PAIR_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "drv.h"

#define PAIR_MR		(1u << 20)
#define GUID_A		0x0002c90300000a01ULL
#define GUID_B		0x0002c90300000b02ULL
#define MS		1000000ULL
#define QKEY		0x11111111

struct side {
	struct drv drv;
	struct drv_cq scq, rcq;
	struct drv_qp qp;
	struct drv_mr mr;
	uint8_t *mem;
};

struct pair {
	struct rig *rig, *rig_b;	/* the same, but in test_link */
	struct side a, b;
	bool qps;			/* a.qp and b.qp exist */
};

/* cmocka fixtures: without a QP, or with a connected pair. */
int pair_setup(void **state);
int pair_setup_eth(void **state);	/* Ethernet ports */
int pair_setup_rc(void **state);
int pair_setup_umr(void **state);	/* RC, devices with page lists by UMR */
int pair_setup_uc(void **state);
int pair_setup_ud(void **state);
int pair_teardown(void **state);
/* What pair_setup() does to one device; LID 1 or 2. */
void side_open(struct side *s, struct rig *r, uint64_t guid, uint16_t lid,
	       bool cable);
void side_close(struct side *s);
/* Attributes that suit most tests; dlid and qpn are the caller's. */
struct drv_path pair_path(void);
void pair_make(struct pair *p, enum drv_type type);
void pair_connect(struct pair *p, const struct drv_path *path);
/* Bytes of a recognisable pattern; and whether they are there. */
void fill(uint8_t *p, size_t len, unsigned int seed);
bool filled(const uint8_t *p, size_t len, unsigned int seed);

/* The next completion must be there, and be good or so. */
struct drv_wc get_wc(struct side *s, struct drv_cq *cq, uint8_t opcode);
struct drv_wc get_err(struct side *s, struct drv_cq *cq, uint8_t syndrome);
void no_wc(struct side *s, struct drv_cq *cq);

#define ok(call) assert_int_equal(call, 0)

#endif
