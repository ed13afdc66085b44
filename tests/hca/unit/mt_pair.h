/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Two InfiniHosts with a driver each, for unit tests.
 */
#ifndef MT_PAIR_H
#define MT_PAIR_H

#include "m4_pair.h"
#include "mt.h"

enum { LOC_LEN = 0x01, LOC_QP_OP = 0x02, LOC_PROT = 0x04, FLUSH = 0x05,
       REM_INV = 0x12, REM_ACCESS = 0x13, RETRY = 0x15, RNR = 0x16 };
/* Opcodes of sends; of receives, the packet's. */
enum { OP_SEND = 0x0a, OP_SEND_IMM = 0x0b, OP_WRITE = 0x08, OP_WRITE_IMM = 0x09,
       OP_READ = 0x10, OP_CS = 0x11, OP_FA = 0x12 };
enum { RECV_SEND = 0x04, RECV_SEND_IMM = 0x05, RECV_WRITE_IMM = 0x0b };

struct mt_side {
	struct mt m;
	struct mt_cq scq, rcq;
	struct mt_qp qp;
	struct m4_mr mr;
	uint8_t *mem;
};

struct mt_pair {
	struct rig *rig;
	struct mt_side a, b;
	bool qps;
};

/* Without a QP; with a connected pair. */
int mt_setup(void **state);
int mt_setup_rc(void **state);
int mt_setup_uc(void **state);
int mt_setup_ud(void **state);
int mt_teardown(void **state);
void mt_side_open(struct mt_side *s, struct rig *r, uint64_t guid, uint16_t lid);
void mt_side_close(struct mt_side *s);
void mt_make(struct mt_pair *p, const struct mt_qp_init *init);
void mt_connect(struct mt_pair *p, const struct m4_path *path);
/* Both queue pairs are reset, and their memory given back. */
void mt_unmake(struct mt_pair *p);
/* The next completion must be there, and be good or so. */
struct m4_wc mt_good(struct mt_side *s, struct mt_cq *cq, uint8_t opcode);
struct m4_wc mt_bad(struct mt_side *s, struct mt_cq *cq, uint8_t syndrome);
void mt_none(struct mt_side *s, struct mt_cq *cq);

#endif
