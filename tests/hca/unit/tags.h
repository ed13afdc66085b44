/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Tag matching: device B has a queue with a list of tagged buffers, a queue
 * pair by which the list is changed, and two that receive; A sends. What is
 * compared is what the provider reads: op, index and counter of completions.
 */
#ifndef TAGS_H
#define TAGS_H

#include "pair.h"

enum {				/* cqe.app_op */
	CONSUMED = 1, EXPECTED = 2, UNEXPECTED = 3, NO_TAG = 4, APPEND = 5,
	REMOVE = 6, NOP = 7, CONSUMED_MSG = 0xa, SW_RNDV = 0xb, CANCELED = 0xc,
};

#define ALL	(~0ULL)		/* mask */
#define BOTH	(DRV_TM_COUNT | DRV_TM_CQE)
#define TAGS	(1u << DRV_LOG_TAGS)
#define HOLE	0x4000u		/* from one buffer to the next */
#define LONG	0x40000u	/* their length: long messages come alone */
#define PLAIN	0x80000u	/* where buffers of the queue begin */
#define PRIVATE	0xabcdef	/* app_ctx of a header */

struct tags {
	struct pair *p;
	struct drv_srq srq;
	struct drv_qp cmd, tx[2], rx[2];
	uint16_t next;		/* index of the tag that is added next */
	uint16_t count;		/* unexpected messages, as far as told */
};

/* state: of pair_setup(); all is torn down when nothing is left to be read. */
struct tags *tags_begin(void **state);
void tags_end(struct tags *t);

/* A list operation, with what is known of unexpected messages. */
void tags_op(struct tags *t, struct drv_wr *wr);
/* Its completion: did it succeed, and the device's counter. */
void tags_told_op(struct tags *t, uint8_t app_op, bool good, uint16_t count);
/* Appends tag number t->next, with a buffer of that many octets; its index ... */
uint16_t tags_append(struct tags *t, uint64_t tag, uint64_t mask, uint32_t len);
/* ... and awaits the completion. */
uint16_t tags_add(struct tags *t, uint64_t tag, uint64_t mask);
void tags_del(struct tags *t, uint16_t index, bool good);
void tags_sync(struct tags *t, uint16_t count, uint16_t device);

/* Queue pair i sends a header, and so many octets of a pattern. */
void tags_post(struct tags *t, int i, uint8_t tmh_op, uint64_t tag, uint32_t len);
void tags_eager(struct tags *t, int i, uint64_t tag, uint32_t len);

/* The next completion of the queue. */
struct drv_wc tags_told(struct tags *t, uint8_t opcode, uint8_t app_op);
/* An eager message came to a tag; or, as a whole, to a buffer of the queue. */
void tags_matched(struct tags *t, uint16_t index, uint64_t tag, uint32_t len);
void tags_unmatched(struct tags *t, uint8_t app_op, uint64_t tag, uint32_t len);
const uint8_t *tags_buf(const struct tags *t, uint16_t index);

/* A field of the list's context. */
uint32_t tags_list(struct tags *t, size_t off, size_t width);

#define LIST(t, field) \
	tags_list(t, CX_OFF(tag_matching_topology_context, field), \
		  CX_WIDTH(tag_matching_topology_context, field))

#endif
