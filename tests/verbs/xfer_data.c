// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * Transfers of a given size by every opcode, each byte and the bytes around
 * verified. A size above the largest message goes as several messages. Both
 * sides run these functions, each in its own thread.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "xfer.h"

#define WINDOW	32		/* messages between two synchronisations */
#define INLINE_TRIES	4		/* of a datagram that may be lost */
#define LOSS_MS	2500		/* a message that has not come by then is lost */
#define IMM(i)	(0xc0de0000u ^ (uint32_t)(i))

struct plan {
	struct vt_ep ep;
	size_t chunk;
	size_t count;
	uint64_t seed;
	bool recv;		/* the target sees completions */
	bool imm;
	bool lossy;		/* UD, UC: a message may find no receive */
	size_t lost;
};

/* Messages from .. from + n - 1, beginning with from + first. */
struct window { size_t from, n, first; };

static size_t chunk_size(const struct vt_side *s, const struct xfer_test *t)
{
	size_t max = s->dev->port.max_msg_sz;

	if (t->type == IBV_QPT_UD)
		max = 128u << s->dev->port.active_mtu;
	return t->size < max ? t->size : max;
}

static int plan_open(struct vt_side *s, const struct xfer_test *t,
		     struct plan *p)
{
	struct vt_ep_attr a;
	uint64_t mine, theirs;

	memset(p, 0, sizeof(*p));
	vt_ep_defaults(&a, t->type, t->size);
	if (t->skew)
		a.skew = s->init ? 3 : 5;
	if (vt_ep_open(s, &p->ep, &a))
		return -1;
	mine = chunk_size(s, t);
	if (vt_xchg(s, &mine, &theirs, sizeof(mine)) ||
	    vt_ep_connect(&p->ep))
		return -1;
	if (!theirs || p->ep.peer.len != t->size)
		return vt_fail(s, "the peer runs another size");
	p->chunk = mine < theirs ? mine : theirs;
	p->count = (t->size + p->chunk - 1) / p->chunk;
	p->seed = xfer_seed(s);
	p->imm = t->op == IBV_WR_SEND_WITH_IMM ||
		 t->op == IBV_WR_RDMA_WRITE_WITH_IMM;
	p->recv = p->imm || t->op == IBV_WR_SEND;
	p->lossy = p->recv && t->type != IBV_QPT_RC;
	return 0;
}

static uint32_t chunk_len(const struct plan *p, size_t i)
{
	size_t left = p->ep.attr.len - i * p->chunk;

	return left < p->chunk ? left : p->chunk;
}

static int check_data(struct plan *p)
{
	struct vt_ep *ep = &p->ep;
	ptrdiff_t bad = vt_check(ep->data, ep->attr.len, p->seed);

	if (bad >= 0)
		return vt_fail(ep->side, "wrong data at byte %td of %zu", bad,
			       ep->attr.len);
	if (!vt_ep_guards_ok(ep))
		return vt_fail(ep->side, "bytes around the data changed");
	return 0;
}

/* A UC WRITE is not acknowledged: the data may come a moment later. */
static int check_data_soon(struct plan *p)
{
	uint64_t end = vt_now_ns() + p->ep.side->opt->timeout_ms * 1000000ull;
	struct timespec nap = { .tv_nsec = 2000000 };

	while (vt_check(p->ep.data, p->ep.attr.len, p->seed) >= 0 &&
	       vt_now_ns() < end)
		nanosleep(&nap, NULL);
	return check_data(p);
}

static int check_recv(struct plan *p, const struct xfer_test *t,
		      const struct ibv_wc *wc, size_t i)
{
	struct vt_side *s = p->ep.side;
	uint32_t len = chunk_len(p, i);
	enum ibv_wc_opcode op = IBV_WC_RECV;

	if (t->type == IBV_QPT_UD)
		len += VT_GRH;
	if (t->op == IBV_WR_RDMA_WRITE_WITH_IMM)
		op = IBV_WC_RECV_RDMA_WITH_IMM;
	if (wc->wr_id != (VT_RECV | i))
		return vt_fail(s, "receive %zu completed as %llu", i,
			       (unsigned long long)(wc->wr_id & ~VT_RECV));
	if (wc->opcode != op || wc->byte_len != len)
		return vt_fail(s, "receive %zu: opcode %d, %u bytes, expected "
			       "%d, %u", i, wc->opcode, wc->byte_len, op, len);
	if (p->imm && (!(wc->wc_flags & IBV_WC_WITH_IMM) ||
		       ntohl(wc->imm_data) != IMM(i)))
		return vt_fail(s, "receive %zu: wrong immediate data", i);
	if (!p->imm && (wc->wc_flags & IBV_WC_WITH_IMM))
		return vt_fail(s, "receive %zu: stray immediate data", i);
	if (t->type == IBV_QPT_UD && wc->src_qp != p->ep.peer.qpn)
		return vt_fail(s, "receive %zu: source QP %u, expected %u", i,
			       wc->src_qp, p->ep.peer.qpn);
	return 0;
}

static size_t at(const struct window *w, size_t i)
{
	return w->from + (w->first + i) % w->n;
}

static int send_window(struct plan *p, const struct xfer_test *t,
		       const struct window *win)
{
	struct ibv_wc wc;
	size_t i, n;

	for (n = 0; n < win->n; n++) {
		i = at(win, n);
		struct vt_wr w = {
			.id = i,
			.op = t->op,
			.off = i * p->chunk,
			.roff = i * p->chunk,
			.len = chunk_len(p, i),
			.imm = IMM(i),
		};

		if (vt_post(&p->ep, &w))
			return -1;
	}
	for (n = 0; n < win->n; n++) {
		if (vt_want(&p->ep, &wc, IBV_WC_SUCCESS, "send side"))
			return -1;
		if (wc.wr_id != at(win, n))
			return vt_fail(p->ep.side, "request %zu completed as "
				       "%llu", at(win, n),
				       (unsigned long long)wc.wr_id);
	}
	return 0;
}

/* How many came; fewer than all only where messages may be lost. -1: an error. */
static ssize_t recv_window(struct plan *p, const struct xfer_test *t,
			   const struct window *win)
{
	struct ibv_wc wc[WINDOW];
	size_t i, n;

	for (n = 0; n < win->n; n++) {
		if (p->lossy && vt_wait(&p->ep, &wc[n], LOSS_MS)) {
			p->ep.side->why[0] = 0;
			return n;
		}
		if (!p->lossy && vt_want(&p->ep, &wc[n], IBV_WC_SUCCESS,
					 "receive side"))
			return -1;
		if (wc[n].status != IBV_WC_SUCCESS)
			return vt_fail(p->ep.side, "receive side: status '%s'",
				       ibv_wc_status_str(wc[n].status));
	}
	/* Where one is missing, others are in its place: checked when all came. */
	for (i = 0; i < n; i++)
		if (check_recv(p, t, &wc[i], at(win, i)))
			return -1;
	return n;
}

/* The last n of the window; those before are still there. */
static int post_window(struct plan *p, const struct window *win, size_t n)
{
	size_t i, to;

	for (to = win->n - n; to < win->n; to++) {
		i = at(win, to);
		if (vt_post_recv(&p->ep, i, i * p->chunk, chunk_len(p, i)))
			return -1;
	}
	return 0;
}

/* Where messages may be lost, the receiver tells the sender how many came. */
static ssize_t tell_came(struct plan *p, ssize_t n)
{
	struct vt_side *s = p->ep.side;
	uint64_t came = n, theirs;

	if (n < 0 || !p->lossy)
		return n;
	if (vt_xchg(s, &came, &theirs, sizeof(came)))
		return -1;
	return s->init ? (ssize_t)theirs : n;
}

/* All messages of the window once; how many came, or -1. */
static ssize_t try_window(struct plan *p, const struct xfer_test *t,
			  const struct window *win)
{
	struct vt_side *s = p->ep.side;
	ssize_t n = win->n;

	if (vt_sync(s))
		return -1;
	if (s->init && send_window(p, t, win))
		return -1;
	if (!s->init && p->recv)
		n = recv_window(p, t, win);
	return tell_came(p, n);
}

static int run_window(struct plan *p, const struct xfer_test *t,
		      struct window *win)
{
	struct vt_side *s = p->ep.side;
	ssize_t came = win->n;

	do {
		if (!s->init && p->recv && post_window(p, win, came))
			return -1;
		came = try_window(p, t, win);
		if (came < 0 || came > (ssize_t)win->n)
			return -1;
		p->lost += win->n - came;
		if (p->lost > p->count / 100 + WINDOW)
			return vt_fail(s, "%zu of %zu messages lost", p->lost,
				       p->count);
		win->first += came;
	} while (came < (ssize_t)win->n);
	return 0;
}

static int run_windows(struct plan *p, const struct xfer_test *t)
{
	struct vt_side *s = p->ep.side;
	struct window w = { .n = WINDOW };

	for (; w.from < p->count; w.from += w.n) {
		w.first = 0;
		if (p->count - w.from < w.n)
			w.n = p->count - w.from;
		if (run_window(p, t, &w))
			return -1;
	}
	if (p->lost)
		snprintf(s->why, sizeof(s->why), "%zu of %zu lost and sent again",
			 p->lost, p->count);
	return vt_sync(s);
}

static int run_plan(struct plan *p, const struct xfer_test *t)
{
	bool source = p->ep.side->init == (t->op != IBV_WR_RDMA_READ);

	if (source)
		vt_fill(p->ep.data, p->ep.attr.len, p->seed);
	if (run_windows(p, t))
		return -1;
	if (t->type == IBV_QPT_UC && !source)
		return check_data_soon(p);
	return check_data(p);
}

/** xfer_data() - move t->size bytes by t->op on a QP of t->type */
int xfer_data(struct vt_side *s, const struct xfer_test *t)
{
	struct plan p;
	int rc = plan_open(s, t, &p);

	if (!rc)
		rc = run_plan(&p, t);
	vt_ep_close(&p.ep);
	return rc;
}

static int atomic_once(struct vt_ep *ep, const struct vt_wr *w, uint64_t old)
{
	struct ibv_wc wc;
	uint64_t got;

	memset(ep->data, 0xee, 8);
	if (vt_post(ep, w) || vt_want(ep, &wc, IBV_WC_SUCCESS, "atomic"))
		return -1;
	memcpy(&got, ep->data, 8);
	if (got != old)
		return vt_fail(ep->side, "atomic returned %#llx, expected "
			       "%#llx", (unsigned long long)got,
			       (unsigned long long)old);
	return 0;
}

/* Adds, or swaps twice and once in vain; *value follows what must happen. */
static int atomic_round(struct vt_ep *ep, enum ibv_wr_opcode op, int i,
			uint64_t *value)
{
	struct vt_wr w = { .id = i, .op = op, .roff = 8, .len = 8 };
	uint64_t old = *value;

	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		w.add = 0x100000001ull * (i + 1);
		*value = old + w.add;
	} else if (i % 3 == 2) {
		w.add = ~old;
		w.swap = 1;
	} else {
		w.add = old;
		w.swap = *value = old * 3 + i;
	}
	return atomic_once(ep, &w, old);
}

static int run_atomic(struct vt_ep *ep, const struct xfer_test *t)
{
	struct vt_side *s = ep->side;
	uint64_t value = xfer_seed(s), got, mine, end;
	int i;

	if (!s->init)
		memcpy(ep->data + 8, &value, 8);
	if (vt_sync(s))
		return -1;
	for (i = 0; s->init && i < 30; i++)
		if (atomic_round(ep, t->op, i, &value))
			return -1;
	mine = value;
	if (vt_xchg(s, &mine, &end, 8))
		return -1;
	memcpy(&got, ep->data + 8, 8);
	if (!s->init && got != end)
		return vt_fail(s, "memory holds %#llx, expected %#llx",
			       (unsigned long long)got,
			       (unsigned long long)end);
	return 0;
}

/** xfer_atomic() - a chain of atomics, each old value and the last checked */
int xfer_atomic(struct vt_side *s, const struct xfer_test *t)
{
	struct vt_ep_attr a;
	struct vt_ep ep;
	int rc;

	if (s->dev->attr.atomic_cap == IBV_ATOMIC_NONE)
		return xfer_skip(s, "device without atomics");
	vt_ep_defaults(&a, t->type, 16);
	rc = vt_ep_open(s, &ep, &a);
	if (!rc)
		rc = vt_ep_connect(&ep);
	if (!rc)
		rc = run_atomic(&ep, t);
	vt_ep_close(&ep);
	return rc;
}

/* The source is overwritten right after the post: inline data is a copy. */
static int send_inline(struct plan *p, const struct xfer_test *t)
{
	struct vt_wr w = {
		.op = t->op, .len = t->size, .flags = IBV_SEND_INLINE,
		.lkey = 0xdeadbeef, .imm = IMM(0),
	};
	struct ibv_wc wc;

	vt_fill(p->ep.data, t->size, p->seed);
	if (vt_post(&p->ep, &w))
		return -1;
	memset(p->ep.data, 0, t->size);
	return vt_want(&p->ep, &wc, IBV_WC_SUCCESS, "inline send");
}

/* Once. How many came, as the receiver tells both; -1: an error. */
static ssize_t try_inline(struct plan *p, const struct xfer_test *t)
{
	const struct window one = { .n = 1 };
	struct vt_side *s = p->ep.side;
	ssize_t n = 1;

	if (vt_sync(s))
		return -1;
	if (s->init && send_inline(p, t))
		return -1;
	if (!s->init && p->recv)
		n = recv_window(p, t, &one);
	return tell_came(p, n);
}

static int run_inline(struct plan *p, const struct xfer_test *t)
{
	const struct window one = { .n = 1 };
	struct vt_side *s = p->ep.side;
	ssize_t came = 0;
	int tries;

	if (!s->init && p->recv && post_window(p, &one, 1))
		return -1;
	for (tries = 0; !came && tries < INLINE_TRIES; tries++)
		came = try_inline(p, t);
	if (came < 0)
		return -1;
	if (!came)
		return vt_fail(s, "the message was lost %d times", tries);
	if (vt_sync(s))
		return -1;
	return s->init ? 0 : check_data(p);
}

/** xfer_inline() - inline data, with an lkey that is wrong on purpose */
int xfer_inline(struct vt_side *s, const struct xfer_test *t)
{
	struct vt_ep_attr a;
	struct plan p = {
		.chunk = t->size, .count = 1,
		.recv = t->op != IBV_WR_RDMA_WRITE,
		.imm = t->op == IBV_WR_SEND_WITH_IMM,
		.lossy = t->type == IBV_QPT_UD,
	};
	int rc;

	vt_ep_defaults(&a, t->type, t->size);
	a.inl = t->size;
	rc = vt_ep_open(s, &p.ep, &a);
	if (!rc)
		rc = vt_ep_connect(&p.ep);
	p.seed = rc ? 0 : xfer_seed(s);
	if (!rc)
		rc = run_inline(&p, t);
	vt_ep_close(&p.ep);
	return rc;
}

/** xfer_zero() - messages without data still complete, and touch nothing */
int xfer_zero(struct vt_side *s, const struct xfer_test *t)
{
	struct vt_wr w = { .op = t->op, .imm = IMM(0) };
	struct vt_ep_attr a;
	struct vt_ep ep;
	struct ibv_wc wc;
	int rc;

	vt_ep_defaults(&a, t->type, 64);
	rc = vt_ep_open(s, &ep, &a) || vt_ep_connect(&ep) ? -1 : 0;
	if (!rc && !s->init)
		rc = vt_post_recv(&ep, 0, 0, 64);
	if (!rc)
		rc = vt_sync(s);
	if (!rc && s->init)
		rc = vt_post(&ep, &w);
	if (!rc)
		rc = vt_want(&ep, &wc, IBV_WC_SUCCESS, "empty message");
	if (!rc && !s->init && wc.byte_len)
		rc = vt_fail(s, "%u bytes, expected 0", wc.byte_len);
	if (!rc && !vt_all(ep.data, 64, 0))
		rc = vt_fail(s, "an empty message changed the buffer");
	if (!rc)
		rc = vt_sync(s);
	vt_ep_close(&ep);
	return rc;
}

/**
 * xfer_rounds() - memory regions of random size and skew, one after the other
 *
 * Each is registered afresh, written, read by the peer with every byte
 * compared, and deregistered: what an address translation that goes stale, or
 * a bounce buffer that is not copied back, would spoil.
 */
int xfer_rounds(struct vt_side *s, const struct xfer_test *t)
{
	static const enum ibv_wr_opcode op[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_SEND,
	};
	uint64_t mine[2] = { xfer_nr_rounds, xfer_round_max };
	uint64_t theirs[2], *limit, seed;
	struct xfer_test one = *t;
	uint64_t i;
	int rc;

	if (vt_xchg(s, mine, theirs, sizeof(mine)))
		return -1;
	limit = s->init ? mine : theirs;
	for (i = 0; i < limit[0]; i++) {
		seed = xfer_seed(s);
		one.op = op[seed / 2 % VT_ARRAY_SIZE(op)];
		one.skew = seed >> 8 & 1;
		/* 4 KiB .. 64 MiB, each power of two as likely. */
		one.size = 4096u << (seed >> 9) % 14;
		one.size += (seed >> 16) % one.size;
		if (limit[1] && one.size > limit[1])
			one.size = limit[1] - (seed >> 16) % (limit[1] / 2 + 1);
		rc = xfer_data(s, &one);
		if (rc)
			return rc;
	}
	return XFER_OK;
}
