/* SPDX-License-Identifier: GPL-2.0 */
/* Copyright (C) 2026 The vhca authors */
/*
 * vhca-wqe: a process that writes what it likes into its queues. What is common to
 * all HCAs (wqe.c), and what the form of their queues decides (wqe_<driver>.c).
 */
#ifndef VHCA_TESTS_WQE_H
#define VHCA_TESTS_WQE_H

#include "vt.h"

#define WQE_SEND_WR	20	/* rxe: 32 slots */
#define WQE_RECV_WR	10	/* 16 slots */
#define WQE_SRQ_WR	5	/* 8 slots */
#define WQE_SGE		3
#define WQE_INLINE	48
#define WQE_DATA	65536u
#define WQE_RINGS	16	/* of a process */

struct wqe_counts {
	uint64_t wqes, recvs, kicks, completions, errors, resizes, crashes;
};

/* A queue in the process's memory. */
struct wqe_ring {
	uint8_t *map;		/* all of it, for a thread that scribbles */
	size_t len;
	uint8_t *elem;		/* the first element */
	uint32_t slots, shift;	/* of when it was made: the map may be wild */
	uint32_t prod;		/* written so far, modulo what the HCA wants */
	void *index;		/* where the HCA looks for that */
};

struct wqe_side {
	struct ibv_qp *qp;
	struct wqe_ring sq, rq;	/* rq of the SRQ, if the QP has one */
	bool srq;
	void *reg;		/* doorbell register, if there is one */
};

struct wqe_fuzz {
	const struct wqe_hca *hca;
	struct vt_dev dev;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_ah *ah;
	struct wqe_ring srq_ring, cq_ring;
	struct wqe_side side[2];
	struct wqe_ring known[WQE_RINGS];
	int nr_known;
	enum ibv_qp_type type;
	uint8_t *data;
	struct wqe_counts *sum;
	uint64_t seed;
	volatile bool stop;
};

/* A kind of HCA. */
struct wqe_hca {
	/* Find the rings of what was made last; 0 or -1. */
	int (*srq)(struct wqe_fuzz *f);
	int (*qp)(struct wqe_fuzz *f, struct wqe_side *s);
	/*
	 * NULL if the HCA takes nothing from a CQ. No thread scribbles: find its ring, and
	 * later have it fit to be polled again, sometimes in another size; 0 or -1.
	 */
	int (*cq)(struct wqe_fuzz *f);
	/* The QP was reset. */
	void (*begin)(struct wqe_side *s);
	/* Write one request, and where they end. */
	void (*send)(struct wqe_fuzz *f, struct wqe_side *s);
	void (*recv)(struct wqe_fuzz *f, struct wqe_side *s);
	/* Tell the HCA of sends. */
	void (*kick)(struct wqe_fuzz *f, struct wqe_side *s);
};

extern const struct wqe_hca wqe_rxe, wqe_mlx4, wqe_mlx5;

/* wqe.c */
uint64_t wqe_rnd(struct wqe_fuzz *f);
uint32_t wqe_below(struct wqe_fuzz *f, uint32_t n);
uint32_t wqe_wild(struct wqe_fuzz *f);
void wqe_spoil(struct wqe_fuzz *f, uint8_t *wqe, size_t len);

#endif
