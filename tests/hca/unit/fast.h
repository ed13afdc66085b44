/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The fixture of tests of fast registration: on top of pair.h, a connection whose end at b
 * is a kernel's, and a key that its requests register memory of b with, laid out as
 * mlx5_ib_post_send() does it.
 */
#ifndef FAST_H
#define FAST_H

#include "pair.h"

#define FAST_PAGE	4096u
#define FAST_ROOM	64u		/* pages, or pieces, that the key is made for */
#define FAST_VA		0x7f1200000000ull
#define FAST_BACK	(PAIR_MR / 2)	/* where in a's memory reads go to */
#define FAST_PIECE	777u		/* octets */

struct fast {
	struct pair *p;
	struct drv_qp a, b;	/* a process's, and a kernel's that registers */
	uint32_t dma;		/* b's local_dma_lkey */
	uint32_t key;
	uint8_t *list;		/* for pages and pieces alike */
};

/* A key for pages, or for pieces (IB_MR_TYPE_SG_GAPS). */
void fast_begin(struct fast *f, void **state);
void fast_begin_pieces(struct fast *f, void **state);
/* b's QP is a process's unless kernel. */
void fast_begin_as(struct fast *f, struct pair *p, bool pieces, bool kernel);
void fast_end(struct fast *f);
/* Another domain of b. */
uint32_t fast_other_pd(struct fast *f);

/* ib_inc_rkey(): the low octet alone. */
uint32_t fast_next(uint32_t key);
/* Fills the list: page i is page nr - 1 - i of b's memory ... */
void fast_pages(struct fast *f, unsigned int nr);
/* ... and piece i is in page i, behind 50 + i octets. */
void fast_pieces(struct fast *f, unsigned int nr, uint32_t key);
/* Requests: IB_WR_REG_MR of the list, by the next key; IB_WR_LOCAL_INV. */
struct drv_wr fast_wr(struct fast *f, unsigned int nr, uint64_t iova,
		      uint64_t len);
struct drv_wr fast_pieces_wr(struct fast *f, unsigned int nr);
struct drv_wr fast_inval_wr(uint32_t key);
/* The request is carried out; f->key is its key. */
void fast_done(struct fast *f, const struct drv_wr *wr);
/* It fails, and nothing has changed. */
void fast_failed(struct fast *f, const struct drv_wr *wr, uint8_t syndrome);
void fast_bind_failed(struct fast *f, const struct drv_wr *wr);
/* Whole pages at FAST_VA; and not any more. */
void fast_registered(struct fast *f, unsigned int nr);
void fast_invalidated(struct fast *f);

/* Octet i of a region of nr pages that begins off octets into the first one. */
uint8_t *fast_behind(struct fast *f, unsigned int nr, uint32_t off,
		     uint32_t i);
/* The peer writes all of such a region, and reads it. */
void fast_reached(struct fast *f, unsigned int nr, uint32_t off,
		  uint64_t iova, uint32_t len);
/* The peer writes so many octets from the beginning of its memory. */
void fast_write(struct fast *f, uint64_t addr, uint32_t len, uint32_t key);
/* It may not; and may not by the pair's own QPs, which are in the same domains. */
void fast_refused(struct fast *f, uint64_t addr, uint32_t len, uint32_t key);
void fast_refused_there(struct fast *f, uint64_t addr, uint32_t key);
/* Posts a receive, and the peer's message that invalidates a key. */
void fast_send_inval(struct fast *f, uint32_t key);

#endif
