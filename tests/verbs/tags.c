// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * vhca-tags: tag matching as the kernel's document of that name tells it, on one
 * HCA with itself: two queue pairs send eager messages and rendezvous requests to two
 * others, which share a receive queue with a list of tagged buffers
 * (ibv_post_srq_ops(3)) and whose send queues are the HCA's.
 *
 *     vhca-tags [DEVICE]
 *
 * Prints what the HCA announces, then a line for each rule: NAME ok COUNT, or NAME
 * failed and why; the status is 1 if one failed, 77 if the HCA has no tag matching.
 * COUNT is of messages and of list operations whose completion, place and octets
 * were right.
 */
#include <endian.h>
#include <errno.h>
#include <infiniband/tm_types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vt.h"

#define BUF	16384u		/* octets of each buffer */
#define PLAIN	48u		/* receives of the queue, more than HCAs read ahead */
#define TAGGED	64u		/* buffers for tags */
#define PAIRS	2
#define FINS	8u		/* receives of each queue pair that sends */
#define TMH	((uint32_t)sizeof(struct ibv_tmh))
#define HEADERS	(TMH + (uint32_t)sizeof(struct ibv_rvh))
#define REQUEST	(HEADERS + 16)	/* octets of a request: some are for the program */
#define ALL	UINT64_MAX	/* mask */
#define PRIV	0x5eedu
#define WAIT_NS	(20 * 1000000000ull)
#define MATCHED	(IBV_WC_TM_MATCH | IBV_WC_TM_DATA_VALID)

enum { WR_PLAIN = 1000, WR_TAG = 2000, WR_OP = 3000, WR_FIN = 4000 };

struct tags {
	struct vt_dev dev;
	struct ibv_tm_caps caps;
	struct ibv_cq_ex *cq;	/* of the queue */
	struct ibv_cq *tx_cq, *rx_cq, *fin_cq;
	struct ibv_srq *srq;
	struct ibv_qp *tx[PAIRS], *rx[PAIRS];
	struct ibv_mr *mr;
	uint8_t *mem;		/* to send from; PLAIN buffers; TAGGED ones; source(); FINs */
	uint32_t handle[TAGGED];
	uint32_t unexpected;	/* messages that came without a tag */
	uint32_t told;		/* how many of them the HCA knows we handled */
	unsigned int right;	/* of the rule that is tried */
	char why[VT_WHY];
};

/* What a completion says. */
struct said {
	enum ibv_wc_status status;
	enum ibv_wc_opcode opcode;
	unsigned int flags;
	uint64_t id, tag;
	uint32_t len, priv;
};

static int fail(struct tags *t, const char *what, long long is, long long want)
{
	if (!t->why[0])
		snprintf(t->why, sizeof(t->why), "%s: %lld, not %lld", what, is,
			 want);
	return -1;
}

static int is(struct tags *t, const char *what, long long v, long long want)
{
	return v == want ? 0 : fail(t, what, v, want);
}

static uint8_t *plain(struct tags *t, unsigned int i)
{
	return t->mem + (size_t)(1 + i) * BUF;
}

static uint8_t *tagged(struct tags *t, unsigned int i)
{
	return plain(t, PLAIN + i);
}

/* What requests name: 4 * BUF octets. */
static uint8_t *source(struct tags *t, uint32_t off)
{
	return tagged(t, TAGGED) + off;
}

static uint8_t *fin_at(struct tags *t, unsigned int slot)
{
	return source(t, 4 * BUF) + (size_t)slot * REQUEST;
}

/* ---- completions ---- */

static int next(struct tags *t, struct said *s)
{
	struct ibv_poll_cq_attr attr = {};
	uint64_t end = vt_now_ns() + WAIT_NS;
	struct ibv_wc_tm_info info;
	int err;

	while ((err = ibv_start_poll(t->cq, &attr)) == ENOENT)
		if (vt_now_ns() > end)
			return fail(t, "completions in 20 s", 0, 1);
	if (err)
		return fail(t, "ibv_start_poll", err, 0);
	s->status = t->cq->status;
	s->id = t->cq->wr_id;
	s->opcode = ibv_wc_read_opcode(t->cq);
	s->flags = ibv_wc_read_wc_flags(t->cq);
	s->len = ibv_wc_read_byte_len(t->cq);
	ibv_wc_read_tm_info(t->cq, &info);
	s->tag = info.tag;
	s->priv = info.priv;
	ibv_end_poll(t->cq);
	return 0;
}

/*
 * An operation's completion; sync: it asks for our count (-1: if a tag was removed,
 * it does so for what came since the tag was added).
 */
static int op_done(struct tags *t, enum ibv_wc_opcode opcode,
		   enum ibv_wc_status status, int sync)
{
	struct said s;

	if (next(t, &s) || is(t, "status of the operation", s.status, status) ||
	    is(t, "its opcode", s.opcode, opcode) ||
	    is(t, "its id", s.id, WR_OP) ||
	    (sync >= 0 && is(t, "it wants a count",
			     !!(s.flags & IBV_WC_TM_SYNC_REQ), sync)))
		return -1;
	t->right++;
	return 0;
}

/* ---- the list ---- */

static int post(struct tags *t, struct ibv_ops_wr *wr)
{
	struct ibv_ops_wr *bad;
	int err;

	wr->wr_id = WR_OP;
	wr->tm.unexpected_cnt = t->told;
	wr->flags = IBV_OPS_SIGNALED | IBV_OPS_TM_SYNC;
	err = ibv_post_srq_ops(t->srq, wr, &bad);
	return err ? fail(t, "ibv_post_srq_ops", err, 0) : 0;
}

/* Buffer i waits for that tag. */
static int add_post(struct tags *t, unsigned int i, uint64_t tag, uint64_t mask)
{
	struct ibv_sge sge = { (uintptr_t)tagged(t, i), BUF, t->mr->lkey };
	struct ibv_ops_wr wr = { .opcode = IBV_WR_TAG_ADD };
	int err;

	memset(tagged(t, i), 0, BUF);
	wr.tm.add.recv_wr_id = WR_TAG + i;
	wr.tm.add.sg_list = &sge;
	wr.tm.add.num_sge = 1;
	wr.tm.add.tag = tag;
	wr.tm.add.mask = mask;
	err = post(t, &wr);
	t->handle[i] = wr.tm.handle;
	return err;
}

static int add(struct tags *t, unsigned int i, uint64_t tag, uint64_t mask)
{
	return add_post(t, i, tag, mask) ? -1 :
	       op_done(t, IBV_WC_TM_ADD, IBV_WC_SUCCESS, 0);
}

static int del_post(struct tags *t, unsigned int i)
{
	struct ibv_ops_wr wr = { .opcode = IBV_WR_TAG_DEL };

	wr.tm.handle = t->handle[i];
	return post(t, &wr);
}

static int del(struct tags *t, unsigned int i)
{
	return del_post(t, i) ? -1 :
	       op_done(t, IBV_WC_TM_DEL, IBV_WC_SUCCESS, -1);
}

/* Tells the HCA that all that came unexpected was handled. */
static int sync_all(struct tags *t)
{
	struct ibv_ops_wr wr = { .opcode = IBV_WR_TAG_SYNC };

	t->told = t->unexpected;
	return post(t, &wr) ? -1 :
	       op_done(t, IBV_WC_TM_SYNC, IBV_WC_SUCCESS, 0);
}

/* ---- messages ---- */

/* The first len octets to send from, by queue pair q; they have arrived. */
static int send_len(struct tags *t, int q, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)t->mem, len, t->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;
	uint64_t end = vt_now_ns() + WAIT_NS;
	struct ibv_wc wc;
	int n, err;

	err = ibv_post_send(t->tx[q], &wr, &bad);
	if (err)
		return fail(t, "ibv_post_send", err, 0);
	while (!(n = ibv_poll_cq(t->tx_cq, 1, &wc)))
		if (vt_now_ns() > end)
			return fail(t, "sends in 20 s", 0, 1);
	return n < 0 ? fail(t, "ibv_poll_cq", n, 1) :
		       is(t, "status of the send", wc.status, IBV_WC_SUCCESS);
}

static void header(struct tags *t, uint8_t op, uint64_t tag)
{
	struct ibv_tmh *tmh = (void *)t->mem;

	memset(tmh, 0, sizeof(*tmh));
	tmh->opcode = op;
	tmh->app_ctx = htobe32(PRIV);
	tmh->tag = htobe64(tag);
}

/* From queue pair q: a header with that tag, and len octets; it has arrived. */
static int send_op(struct tags *t, int q, uint8_t op, uint64_t tag, uint32_t len)
{
	header(t, op, tag);
	vt_fill(t->mem + TMH, len, tag);
	return send_len(t, q, TMH + len);
}

static int eager(struct tags *t, int q, uint64_t tag, uint32_t len)
{
	return send_op(t, q, IBV_TMH_EAGER, tag, len);
}

static int filled(struct tags *t, const uint8_t *at, uint32_t len, uint64_t seed)
{
	return is(t, "wrong octet", vt_check(at, len, seed), -1);
}

/* It is in buffer i, without its header. */
static int matched(struct tags *t, unsigned int i, uint64_t tag, uint32_t len)
{
	struct said s;

	if (next(t, &s) || is(t, "status", s.status, IBV_WC_SUCCESS) ||
	    is(t, "opcode", s.opcode, IBV_WC_TM_RECV) ||
	    is(t, "flags", s.flags & MATCHED, MATCHED) ||
	    is(t, "buffer", s.id, WR_TAG + i) || is(t, "tag", s.tag, tag) ||
	    is(t, "data for the program", s.priv, PRIV) ||
	    is(t, "length", s.len, len) || filled(t, tagged(t, i), len, tag))
		return -1;
	t->right++;
	return 0;
}

static int plain_post(struct tags *t, unsigned int i)
{
	struct ibv_sge sge = { (uintptr_t)plain(t, i), BUF, t->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = WR_PLAIN + i, .sg_list = &sge,
				  .num_sge = 1 }, *bad;
	int err = ibv_post_srq_recv(t->srq, &wr, &bad);

	return err ? fail(t, "ibv_post_srq_recv", err, 0) : 0;
}

/* It is in a buffer of the queue, all of it; the buffer is posted again. */
static int unmatched(struct tags *t, enum ibv_wc_opcode opcode, uint64_t tag,
		     uint32_t len)
{
	const struct ibv_tmh *tmh;
	unsigned int i;
	struct said s;

	if (next(t, &s) || is(t, "status", s.status, IBV_WC_SUCCESS) ||
	    is(t, "opcode", s.opcode, opcode) ||
	    is(t, "flags", s.flags & MATCHED, 0) ||
	    is(t, "length", s.len, TMH + len) ||
	    is(t, "it is a receive", s.id / WR_PLAIN, 1))
		return -1;
	i = s.id % WR_PLAIN;
	if (i >= PLAIN)
		return fail(t, "buffer", i, PLAIN - 1);
	tmh = (const void *)plain(t, i);
	if (is(t, "tag", be64toh(tmh->tag), tag) ||
	    filled(t, plain(t, i) + TMH, len, tag))
		return -1;
	t->right++;
	return plain_post(t, i);
}

static int unexpected(struct tags *t, uint64_t tag, uint32_t len)
{
	t->unexpected++;
	return unmatched(t, IBV_WC_TM_RECV, tag, len);
}

/* ---- rendezvous ---- */

/* A request for octets of source(); wrong: changes the key. */
static int request_key(struct tags *t, int q, uint64_t tag, uint32_t off, uint32_t len,
		       uint32_t wrong)
{
	struct ibv_rvh *rvh = (void *)(t->mem + TMH);

	header(t, IBV_TMH_RNDV, tag);
	rvh->va = htobe64((uintptr_t)source(t, off));
	rvh->rkey = htobe32(t->mr->rkey ^ wrong);
	rvh->len = htobe32(len);
	memset(t->mem + HEADERS, 0x77, REQUEST - HEADERS);
	vt_fill(source(t, off), len, tag);
	return send_len(t, q, REQUEST);
}

static int request(struct tags *t, int q, uint64_t tag, uint32_t off, uint32_t len)
{
	return request_key(t, q, tag, off, len, 0);
}

static int fin_post(struct tags *t, unsigned int slot)
{
	struct ibv_sge sge = { (uintptr_t)fin_at(t, slot), REQUEST, t->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = WR_FIN + slot, .sg_list = &sge,
				  .num_sge = 1 }, *bad;
	int err = ibv_post_recv(t->tx[slot / FINS], &wr, &bad);

	return err ? fail(t, "ibv_post_recv", err, 0) : 0;
}

/* The HCA has told queue pair q that it read what the last request named. */
static int fin(struct tags *t, int q)
{
	uint64_t end = vt_now_ns() + WAIT_NS;
	unsigned int slot;
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(t->fin_cq, 1, &wc)))
		if (vt_now_ns() > end)
			return fail(t, "FINs in 20 s", 0, 1);
	if (n < 0)
		return fail(t, "ibv_poll_cq", n, 1);
	if (is(t, "status of the FIN", wc.status, IBV_WC_SUCCESS) ||
	    is(t, "length of the FIN", wc.byte_len, HEADERS) ||
	    is(t, "it is a receive", wc.wr_id / WR_FIN, 1))
		return -1;
	slot = wc.wr_id % WR_FIN;
	if (is(t, "its queue pair", slot / FINS, q) ||
	    is(t, "its opcode", fin_at(t, slot)[0], IBV_TMH_FIN) ||
	    is(t, "its headers", memcmp(fin_at(t, slot) + 1, t->mem + 1, HEADERS - 1), 0))
		return -1;
	t->right++;
	return fin_post(t, slot);
}

static int no_fin(struct tags *t)
{
	struct ibv_wc wc;

	return is(t, "FINs", ibv_poll_cq(t->fin_cq, 1, &wc), 0);
}

/* Either completion of a rendezvous that goes to buffer i. */
static int half(struct tags *t, const struct said *s, unsigned int i, unsigned int flags)
{
	if (is(t, "status", s->status, IBV_WC_SUCCESS) ||
	    is(t, "opcode", s->opcode, IBV_WC_TM_RECV) ||
	    is(t, "flags", s->flags & MATCHED, flags) ||
	    is(t, "buffer", s->id, WR_TAG + i))
		return -1;
	t->right++;
	return 0;
}

static int match(struct tags *t, unsigned int i, uint64_t tag)
{
	struct said s;

	return next(t, &s) || half(t, &s, i, IBV_WC_TM_MATCH) ||
	       is(t, "tag", s.tag, tag) || is(t, "data for the program", s.priv, PRIV);
}

static int data(struct tags *t, unsigned int i, uint64_t tag, uint32_t len)
{
	struct said s;

	return next(t, &s) || half(t, &s, i, IBV_WC_TM_DATA_VALID) ||
	       is(t, "length", s.len, len) || filled(t, tagged(t, i), len, tag);
}

/* The request as it was sent is at buffer at: the HCA has not read what it names. */
static int is_request(struct tags *t, const uint8_t *at, const struct said *s)
{
	if (is(t, "length", s->len, REQUEST) ||
	    is(t, "the request", memcmp(at, t->mem, REQUEST), 0))
		return -1;
	t->right++;
	return no_fin(t);
}

static int request_unexpected(struct tags *t)
{
	unsigned int i;
	struct said s;

	t->unexpected++;
	if (next(t, &s) || is(t, "status", s.status, IBV_WC_SUCCESS) ||
	    is(t, "opcode", s.opcode, IBV_WC_TM_RECV) ||
	    is(t, "flags", s.flags & MATCHED, 0) ||
	    is(t, "it is a receive", s.id / WR_PLAIN, 1))
		return -1;
	i = s.id % WR_PLAIN;
	if (i >= PLAIN)
		return fail(t, "buffer", i, PLAIN - 1);
	return is_request(t, plain(t, i), &s) || plain_post(t, i);
}

/* ---- rules ---- */

/* Tags are found whatever the order of messages, and their places used again. */
static int rule_expected(struct tags *t)
{
	unsigned int i, round;
	int rc = 0;

	for (round = 0; !rc && round < 20; round++) {
		for (i = 0; !rc && i < TAGGED; i++)
			rc = add(t, i, i, ALL);
		for (i = TAGGED; !rc && i--;)
			rc = eager(t, i % PAIRS, i, 100 + i) ||
			     matched(t, i, i, 100 + i);
	}
	return rc;
}

static int rule_unexpected(struct tags *t)
{
	int i, rc = add(t, 0, 1, ALL);

	for (i = 0; !rc && i < 10; i++)
		rc = eager(t, i % PAIRS, 100 + i, 200) ||
		     unexpected(t, 100 + i, 200);
	/* What waited before waits still. */
	return rc || eager(t, 0, 1, 10) || matched(t, 0, 1, 10) || sync_all(t);
}

static int rule_no_tag(struct tags *t)
{
	return add(t, 0, 0, 0) ||
	       send_op(t, 0, IBV_TMH_NO_TAG, 5, 64) ||
	       unmatched(t, IBV_WC_TM_NO_TAG, 5, 64) || sync_all(t) ||
	       eager(t, 0, 6, 64) || matched(t, 0, 6, 64);
}

/* What was taken cannot be cancelled, also if nobody was told yet. */
static int rule_cancel(struct tags *t)
{
	return add(t, 0, 1, ALL) || add(t, 1, 2, ALL) || del(t, 0) ||
	       eager(t, 0, 1, 50) || unexpected(t, 1, 50) || sync_all(t) ||
	       eager(t, 0, 2, 50) || del_post(t, 1) || matched(t, 1, 2, 50) ||
	       op_done(t, IBV_WC_TM_DEL, IBV_WC_TM_ERR, -1);
}

static int rule_wildcard(struct tags *t)
{
	return add(t, 0, 0x1200, 0xff00) || add(t, 1, 0, 0) ||
	       add(t, 2, 0x12ff, 0xff00) || eager(t, 0, 0xff1234, 10) ||
	       matched(t, 0, 0xff1234, 10) || eager(t, 1, 0x77, 10) ||
	       matched(t, 1, 0x77, 10) || eager(t, 0, 0x12ff, 10) ||
	       unexpected(t, 0x12ff, 10) || sync_all(t) || del(t, 2);
}

/* The earliest of the buffers that match, for the earliest message. */
static int rule_order(struct tags *t)
{
	return add(t, 5, 9, ALL) || add(t, 3, 9, 0xf) || add(t, 4, 9, ALL) ||
	       eager(t, 0, 9, 11) || eager(t, 1, 9, 12) || eager(t, 0, 9, 13) ||
	       matched(t, 5, 9, 11) || matched(t, 3, 9, 12) ||
	       matched(t, 4, 9, 13);
}

/*
 * A buffer that is added when a message for it is on its way to the program does not
 * go to the next message, before the program has said that it handled the first.
 */
static int rule_phase(struct tags *t)
{
	return eager(t, 0, 8, 10) || add_post(t, 0, 8, ALL) ||
	       unexpected(t, 8, 10) ||
	       op_done(t, IBV_WC_TM_ADD, IBV_WC_SUCCESS, 1) ||
	       eager(t, 0, 8, 20) || unexpected(t, 8, 20) || sync_all(t) ||
	       eager(t, 0, 8, 30) || matched(t, 0, 8, 30);
}

/* Several packets: told of the match, then of the data. */
static int rule_long(struct tags *t)
{
	uint32_t len = BUF - TMH;
	struct said s;

	if (add(t, 0, 3, ALL) || eager(t, 0, 3, len) || next(t, &s) ||
	    is(t, "status", s.status, IBV_WC_SUCCESS) ||
	    is(t, "first flags", s.flags & MATCHED, IBV_WC_TM_MATCH) ||
	    is(t, "tag", s.tag, 3) || is(t, "buffer", s.id, WR_TAG) ||
	    next(t, &s) || is(t, "status", s.status, IBV_WC_SUCCESS) ||
	    is(t, "last flags", s.flags & MATCHED, IBV_WC_TM_DATA_VALID) ||
	    is(t, "buffer", s.id, WR_TAG) || is(t, "length", s.len, len) ||
	    filled(t, tagged(t, 0), len, 3))
		return -1;
	t->right += 2;
	return 0;
}

/* The sender hears of the end before the receiver's program looks at anything. */
static int rule_rndv_expected(struct tags *t)
{
	static const uint32_t bytes[] = { 1000, 0, 1, 4096, BUF };
	unsigned int i;
	int rc = 0;

	for (i = 0; !rc && i < VT_ARRAY_SIZE(bytes); i++)
		rc = add(t, i, 40 + i, ALL) ||
		     request(t, i % PAIRS, 40 + i, i, bytes[i]) || fin(t, i % PAIRS) ||
		     match(t, i, 40 + i) || data(t, i, 40 + i, bytes[i]);
	return rc;
}

/* A tag that comes later is for the program, until it has told what it handled. */
static int rule_rndv_unexpected(struct tags *t)
{
	return add(t, 1, 2, ALL) || request(t, 0, 7, 0, 500) ||
	       add_post(t, 0, 7, ALL) || request_unexpected(t) ||
	       op_done(t, IBV_WC_TM_ADD, IBV_WC_SUCCESS, 1) ||
	       request(t, 0, 7, 0, 500) || request_unexpected(t) ||
	       request(t, 1, 2, 0, 400) || fin(t, 1) || match(t, 1, 2) ||
	       data(t, 1, 2, 400) || sync_all(t) || request(t, 0, 7, 0, 300) ||
	       fin(t, 0) || match(t, 0, 7) || data(t, 0, 7, 300);
}

/* More than the buffer holds: the buffer has the request, the program reads. */
static int rule_rndv_too_long(struct tags *t)
{
	struct said s;

	if (add(t, 0, 3, ALL) || request(t, 0, 3, 0, BUF + 1) || next(t, &s) ||
	    is(t, "status", s.status, IBV_WC_TM_RNDV_INCOMPLETE) ||
	    is(t, "buffer", s.id, WR_TAG) || is(t, "tag", s.tag, 3) ||
	    is_request(t, tagged(t, 0), &s))
		return -1;
	return add(t, 0, 3, ALL) || request(t, 0, 3, 0, BUF) || fin(t, 0) ||
	       match(t, 0, 3) || data(t, 0, 3, BUF);
}

/* Of equal tags the earliest is for the earliest message, of either kind. */
static int rule_rndv_order(struct tags *t)
{
	return add(t, 5, 9, ALL) || add(t, 3, 9, 0xf) || add(t, 4, 9, ALL) ||
	       request(t, 0, 9, 0, 3000) || fin(t, 0) || eager(t, 0, 9, 12) ||
	       request(t, 0, 9, 1, 2000) || fin(t, 0) || match(t, 5, 9) ||
	       data(t, 5, 9, 3000) || matched(t, 3, 9, 12) || match(t, 4, 9) ||
	       data(t, 4, 9, 2000);
}

/* What a request has taken cannot be cancelled, also if nobody was told yet. */
static int rule_rndv_cancel(struct tags *t)
{
	return add(t, 0, 1, ALL) || add(t, 1, 2, ALL) || del(t, 0) ||
	       request(t, 0, 1, 0, 50) || request_unexpected(t) || sync_all(t) ||
	       request(t, 0, 2, 0, 50) || fin(t, 0) || del_post(t, 1) ||
	       match(t, 1, 2) || data(t, 1, 2, 50) ||
	       op_done(t, IBV_WC_TM_DEL, IBV_WC_TM_ERR, -1);
}

/* A key that is not the sender's ends the connection; the buffer comes back. */
static int rule_rndv_error(struct tags *t)
{
	struct said s;

	if (add(t, 0, 1, ALL) || add(t, 1, 2, ALL) ||
	    request_key(t, 0, 1, 0, 50, 0x55) || match(t, 0, 1) || next(t, &s) ||
	    is(t, "status", s.status, IBV_WC_TM_RNDV_INCOMPLETE) ||
	    is(t, "buffer", s.id, WR_TAG) || is(t, "octet", tagged(t, 0)[0], 0))
		return -1;
	t->right++;
	/* Its FIN is behind the receives of queue pair 0, which are flushed. */
	return request(t, 1, 2, 0, 50) || match(t, 1, 2) || data(t, 1, 2, 50);
}

static int rules(struct tags *t)
{
	static const struct {
		const char *name;
		int (*fn)(struct tags *t);
	} all[] = {
		{ "expected", rule_expected }, { "unexpected", rule_unexpected },
		{ "no_tag", rule_no_tag }, { "cancel", rule_cancel },
		{ "wildcard", rule_wildcard }, { "order", rule_order },
		{ "phase", rule_phase }, { "long", rule_long },
		{ "rndv_expected", rule_rndv_expected },
		{ "rndv_unexpected", rule_rndv_unexpected },
		{ "rndv_too_long", rule_rndv_too_long },
		{ "rndv_order", rule_rndv_order },
		{ "rndv_cancel", rule_rndv_cancel },
		{ "rndv_error", rule_rndv_error },	/* the last: one pair is gone */
	};
	size_t i;

	for (i = 0; i < VT_ARRAY_SIZE(all); i++) {
		t->right = 0;
		if (all[i].fn(t)) {
			printf("%s failed after %u: %s\n", all[i].name, t->right,
			       t->why);
			return 1;	/* the list is in no known state */
		}
		printf("%s ok %u\n", all[i].name, t->right);
	}
	return 0;
}

/* ---- objects ---- */

static int open_srq(struct tags *t)
{
	struct ibv_cq_init_attr_ex ca = {
		.cqe = 256, .wc_flags = IBV_WC_STANDARD_FLAGS |
					IBV_WC_EX_WITH_TM_INFO,
	};
	struct ibv_srq_init_attr_ex sa = {
		.attr = { PLAIN, 1, 0 }, .srq_type = IBV_SRQT_TM,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM,
		.pd = t->dev.pd,
		.tm_cap = { t->caps.max_num_tags, TAGGED },
	};
	unsigned int i;

	t->cq = ibv_create_cq_ex(t->dev.ctx, &ca);
	if (!t->cq)
		return fail(t, "ibv_create_cq_ex", errno, 0);
	sa.cq = ibv_cq_ex_to_cq(t->cq);
	t->srq = ibv_create_srq_ex(t->dev.ctx, &sa);
	if (!t->srq)
		return fail(t, "ibv_create_srq_ex", errno, 0);
	for (i = 0; i < PLAIN; i++)
		if (plain_post(t, i))
			return -1;
	return 0;
}

static int move(struct tags *t, struct ibv_qp *qp, uint32_t peer)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT, .port_num = VT_PORT,
		.path_mtu = IBV_MTU_1024, .dest_qp_num = peer,
		.ah_attr = { .dlid = t->dev.port.lid, .port_num = VT_PORT },
		.timeout = 14, .retry_cnt = 7, .rnr_retry = 7,
		.min_rnr_timer = 12, .qp_access_flags = IBV_ACCESS_REMOTE_READ,
		.max_rd_atomic = 1, .max_dest_rd_atomic = 1,
	};
	int err = ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
				IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);

	a.qp_state = IBV_QPS_RTR;
	if (!err)
		err = ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_AV |
				    IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER);
	a.qp_state = IBV_QPS_RTS;
	if (!err)
		err = ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_TIMEOUT |
				    IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				    IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
	return err ? fail(t, "ibv_modify_qp", err, 0) : 0;
}

/* The HCA has the send queue of who receives: it has no room for requests. */
static int open_pair(struct tags *t, int q)
{
	struct ibv_qp_init_attr a = {
		.send_cq = t->tx_cq, .recv_cq = t->fin_cq,
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 16, .max_send_sge = 1,
			 .max_recv_wr = FINS, .max_recv_sge = 1 },
	};
	unsigned int i;

	t->tx[q] = ibv_create_qp(t->dev.pd, &a);
	a.send_cq = a.recv_cq = t->rx_cq;
	a.srq = t->srq;
	memset(&a.cap, 0, sizeof(a.cap));
	t->rx[q] = t->tx[q] ? ibv_create_qp(t->dev.pd, &a) : NULL;
	if (!t->rx[q])
		return fail(t, "ibv_create_qp", errno, 0);
	if (move(t, t->rx[q], t->tx[q]->qp_num) ||
	    move(t, t->tx[q], t->rx[q]->qp_num))
		return -1;
	for (i = 0; i < FINS; i++)
		if (fin_post(t, q * FINS + i))
			return -1;
	return 0;
}

static int open_all(struct tags *t)
{
	size_t len = (size_t)(1 + PLAIN + TAGGED + 5) * BUF;
	int q;

	t->mem = aligned_alloc(4096, len);
	if (!t->mem)
		return fail(t, "aligned_alloc", errno, 0);
	memset(t->mem, 0, len);
	t->mr = ibv_reg_mr(t->dev.pd, t->mem, len,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	t->tx_cq = ibv_create_cq(t->dev.ctx, 64, NULL, NULL, 0);
	t->rx_cq = ibv_create_cq(t->dev.ctx, 64, NULL, NULL, 0);
	t->fin_cq = ibv_create_cq(t->dev.ctx, 64, NULL, NULL, 0);
	if (!t->mr || !t->tx_cq || !t->rx_cq || !t->fin_cq)
		return fail(t, "a region and completion queues", errno, 0);
	if (open_srq(t))
		return -1;
	for (q = 0; q < PAIRS; q++)
		if (open_pair(t, q))
			return -1;
	return 0;
}

static int close_all(struct tags *t)
{
	int q, err = 0;

	for (q = 0; q < PAIRS; q++) {
		err |= t->rx[q] ? ibv_destroy_qp(t->rx[q]) : 0;
		err |= t->tx[q] ? ibv_destroy_qp(t->tx[q]) : 0;
	}
	err |= t->srq ? ibv_destroy_srq(t->srq) : 0;
	err |= t->cq ? ibv_destroy_cq(ibv_cq_ex_to_cq(t->cq)) : 0;
	err |= t->rx_cq ? ibv_destroy_cq(t->rx_cq) : 0;
	err |= t->fin_cq ? ibv_destroy_cq(t->fin_cq) : 0;
	err |= t->tx_cq ? ibv_destroy_cq(t->tx_cq) : 0;
	err |= t->mr ? ibv_dereg_mr(t->mr) : 0;
	free(t->mem);
	return err;
}

static int run(struct tags *t)
{
	int rc;

	if (open_all(t)) {
		printf("setup failed: %s\n", t->why);
		rc = 1;
	} else {
		rc = rules(t);
	}
	if (close_all(t)) {
		printf("close failed\n");
		rc = 1;
	}
	return rc;
}

int main(int argc, char **argv)
{
	const struct vt_opt opt = { .dev = argc > 1 ? argv[1] : NULL };
	struct ibv_device_attr_ex attr = {};
	struct tags t = {};
	int rc = 77;

	if (vt_open(&t.dev, &opt, t.why)) {
		fprintf(stderr, "vhca-tags: %s\n", t.why);
		return 1;
	}
	if (!ibv_query_device_ex(t.dev.ctx, NULL, &attr))
		t.caps = attr.tm_caps;
	printf("caps %u tags, %u ops, %u sge, header %u, flags 0x%x\n",
	       t.caps.max_num_tags, t.caps.max_ops, t.caps.max_sge,
	       t.caps.max_rndv_hdr_size, t.caps.flags);
	if (t.caps.max_num_tags >= TAGGED && t.caps.flags & IBV_TM_CAP_RC)
		rc = run(&t);
	vt_close(&t.dev);
	return rc;
}
