/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The fixture of tests of the ConnectX-3: two devices on a hub, LIDs 1 and 2, each
 * with a driver, a completion queue for sends and one for receives, 1 MiB of
 * registered memory, and a queue pair if the test wants one. All must go in order.
 */
#ifndef M4_PAIR_H
#define M4_PAIR_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "m4.h"

#define M4_MR_BYTES	(1u << 20)
#define M4_GUID_A	0x0002c90300000a01ULL
#define M4_GUID_B	0x0002c90300000b02ULL
#define M4_QKEY		0x11111111u

#define ok(call) assert_int_equal(call, 0)

struct m4_side {
	struct m4 v;
	struct m4_cq scq, rcq;
	struct m4_qp qp;
	struct m4_mr mr;
	uint8_t *mem;
};

struct m4_pair {
	struct rig *rig;
	struct m4_side a, b;
	bool qps;
};

/* Without a QP; with a connected pair; without LIDs, as an SM finds them. */
int m4_setup(void **state);
int m4_setup_rc(void **state);
int m4_setup_uc(void **state);
int m4_setup_ud(void **state);
int m4_setup_bare(void **state);
int m4_teardown(void **state);
void m4_side_open(struct m4_side *s, struct rig *r, uint64_t guid, uint16_t lid);
void m4_side_close(struct m4_side *s);
struct m4_path m4_path(void);
void m4_make(struct m4_pair *p, const struct m4_qp_init *init);
void m4_connect(struct m4_pair *p, const struct m4_path *path);
/* A recognisable pattern; and whether it is there. */
void m4_fill(uint8_t *p, size_t len, unsigned int seed);
bool m4_filled(const uint8_t *p, size_t len, unsigned int seed);
/* The next completion must be there, and be good or so. */
struct m4_wc m4_good(struct m4_side *s, struct m4_cq *cq, uint8_t opcode);
struct m4_wc m4_bad(struct m4_side *s, struct m4_cq *cq, uint8_t syndrome);
void m4_none(struct m4_side *s, struct m4_cq *cq);

#endif
