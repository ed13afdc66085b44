/* SPDX-License-Identifier: GPL-2.0 */
/* Copyright (C) 2026 The vhca authors */
/*
 * vhca-xfer: the table of data tests and its load modes. Each test function is
 * run by both sides; vt_side.init tells which half to play. It returns
 * XFER_OK, XFER_SKIP or -1, with the reason of the last two in vt_side.why.
 */
#ifndef VHCA_TESTS_XFER_H
#define VHCA_TESTS_XFER_H

#include "vt.h"

#define XFER_OK		0
#define XFER_SKIP	1

struct xfer_test {
	const char *name;
	int (*run)(struct vt_side *s, const struct xfer_test *t);
	enum ibv_qp_type type;
	enum ibv_wr_opcode op;
	size_t size;
	bool skew;		/* misaligned at both ends, differently */
};

extern const struct xfer_test xfer_tests[];
extern const int xfer_count;
extern int xfer_qps;		/* QPs of test many-qp */
extern int xfer_nr_rounds;	/* of test mr-rounds */
extern size_t xfer_round_max;	/* octets of its largest region; 0: 128 MiB */

uint64_t xfer_seed(struct vt_side *s);
int xfer_skip(struct vt_side *s, const char *why);

/* xfer_data.c */
int xfer_data(struct vt_side *s, const struct xfer_test *t);
int xfer_atomic(struct vt_side *s, const struct xfer_test *t);
int xfer_inline(struct vt_side *s, const struct xfer_test *t);
int xfer_zero(struct vt_side *s, const struct xfer_test *t);
int xfer_rounds(struct vt_side *s, const struct xfer_test *t);

/* xfer_obj.c */
int xfer_big(struct vt_side *s, const struct xfer_test *t);
int xfer_many(struct vt_side *s, const struct xfer_test *t);
int xfer_srq(struct vt_side *s, const struct xfer_test *t);
int xfer_event(struct vt_side *s, const struct xfer_test *t);
int xfer_mcast(struct vt_side *s, const struct xfer_test *t);
int xfer_rereg(struct vt_side *s, const struct xfer_test *t);

/* xfer_mw.c */
int xfer_mw2(struct vt_side *s, const struct xfer_test *t);
int xfer_mw_bounds(struct vt_side *s, const struct xfer_test *t);
int xfer_mw1(struct vt_side *s, const struct xfer_test *t);
int xfer_send_inv(struct vt_side *s, const struct xfer_test *t);

/* xfer_err.c */
int xfer_err_rkey(struct vt_side *s, const struct xfer_test *t);
int xfer_err_bounds(struct vt_side *s, const struct xfer_test *t);
int xfer_err_access(struct vt_side *s, const struct xfer_test *t);
int xfer_err_pd(struct vt_side *s, const struct xfer_test *t);
int xfer_err_dereg(struct vt_side *s, const struct xfer_test *t);
int xfer_err_lkey(struct vt_side *s, const struct xfer_test *t);
int xfer_err_length(struct vt_side *s, const struct xfer_test *t);
int xfer_err_rnr(struct vt_side *s, const struct xfer_test *t);
int xfer_err_retry(struct vt_side *s, const struct xfer_test *t);
int xfer_err_flush(struct vt_side *s, const struct xfer_test *t);
int xfer_err_qkey(struct vt_side *s, const struct xfer_test *t);

/* xfer_load.c */
int xfer_traffic(struct vt_side *s, int seconds);
int xfer_stall(const struct vt_opt *o, int threads);

#endif
