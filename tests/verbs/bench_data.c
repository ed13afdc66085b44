// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * Latency as half of a ping-pong's round trip, bandwidth as full queues of
 * messages. Both sides run the same list. Polling never sleeps, but yields now
 * and then: a software HCA may need this CPU to move the data.
 */
#include <sched.h>
#include <stdio.h>
#include <stdatomic.h>
#include <string.h>

#include "bench.h"

#define WARM_UP	20
#define DEPTH	32		/* messages in flight in a bandwidth run */
#define BW_RUNS	21
#define AREA	(1 << 20)
#define BATCHES	51		/* samples of batches, if not told */
#define BW_MORE	16		/* messages, if runs are to be longer */
#define QUIET_RUN	16	/* sends for one completion, by events */

int bench_batch = 1;
int bench_samples;

/* Not every turn: is it time to look at the clock? */
static bool pause_turn(unsigned int turn)
{
	if (bench_batch > 1)
		return !(turn & 0xffff);
	if (turn & 0xff)
		return false;
	sched_yield();
	return true;
}

/* Like vt_wait(), without ever sleeping. */
static int spin_wc(struct vt_ep *ep, struct ibv_wc *wc)
{
	uint64_t end = 0;
	unsigned int turns = 0;
	int n;

	while (!(n = ibv_poll_cq(ep->cq, 1, wc))) {
		if (!pause_turn(++turns))
			continue;
		if (!end)
			end = vt_now_ns() +
			      ep->side->opt->timeout_ms * 1000000ull;
		if (vt_now_ns() > end)
			return vt_fail(ep->side, "no completion in time");
	}
	if (n < 0 || wc->status != IBV_WC_SUCCESS)
		return vt_fail(ep->side, "completion with '%s'",
			       n < 0 ? "poll error" :
			       ibv_wc_status_str(wc->status));
	return 0;
}

static int next_wc(struct vt_ep *ep, struct ibv_wc *wc)
{
	if (ep->chan)
		return vt_want(ep, wc, IBV_WC_SUCCESS, "ping-pong");
	return spin_wc(ep, wc);
}

static int pair_open(struct vt_side *s, struct vt_ep *ep, size_t len)
{
	struct vt_ep_attr a;

	vt_ep_defaults(&a, IBV_QPT_RC, len);
	a.sge = 1;
	return vt_ep_open(s, ep, &a) || vt_ep_connect(ep) ? -1 : 0;
}

/* Sends and receives end in no certain order between the two: count them. */
struct pingpong {
	struct vt_ep ep;
	int sent, got;
};

static int pp_until(struct pingpong *pp, int sent, int got)
{
	struct ibv_wc wc;

	while (pp->sent < sent || pp->got < got) {
		if (next_wc(&pp->ep, &wc))
			return -1;
		if (!(wc.wr_id & VT_RECV)) {
			pp->sent++;
			continue;
		}
		pp->got++;
		if (vt_post_recv(&pp->ep, 0, 64, 64))
			return -1;
	}
	return 0;
}

/* By events: one for each message, that of its arrival; few of its end. */
static int send_round(void *arg, int i)
{
	struct vt_wr w = { .op = IBV_WR_SEND, .len = 8 };
	struct pingpong *pp = arg;

	w.quiet = pp->ep.chan && i % QUIET_RUN;
	if (!pp->ep.side->init && pp_until(pp, i, i + 1))
		return -1;
	if (vt_post(&pp->ep, &w))
		return -1;
	pp->sent += w.quiet;
	if (!pp->ep.side->init)
		return 0;
	return pp_until(pp, i + 1, i + 1);
}

/* The speed during a sample, of those before and after it; 0: it changed. */
static double steady(double before, double after)
{
	double low = before < after ? before : after;

	return low < 0.8 * (before + after - low) ? 0 : low;
}

/* The mean speed of both sides' processors, which take turns in a ping-pong. */
static int speed_of_both(struct vt_side *s, double *speed)
{
	double mine = bench_speed(), theirs;

	if (vt_xchg(s, &mine, &theirs, sizeof(mine)))
		return -1;
	*speed = (mine + theirs) / 2;
	return 0;
}

static int timed_batches(struct vt_side *s, struct bench_set *b, int batch,
			 int (*round)(void *arg, int i), void *arg)
{
	int i, n, rc = 0, batches = 1 + (bench_samples ?: BATCHES);
	double us, speed = 0, next = 0;
	uint64_t t;

	/* The first one warms up. */
	for (n = 0; n < batches && !rc; n++) {
		t = bench_now_ns();
		for (i = 0; i < batch && !rc; i++)
			rc = round(arg, n * batch + i);
		us = (bench_now_ns() - t) / (2000.0 * batch);
		if (!rc)
			rc = speed_of_both(s, &next);
		if (!rc && n)
			bench_add_at(b, us, steady(speed, next));
		speed = next;
	}
	return rc;
}

/* Half of the time of a ping-pong; the first ones are not counted. */
static int timed_rounds(struct bench_set *b, int rounds,
			int (*round)(void *arg, int i), void *arg)
{
	uint64_t t;
	int i, rc = 0;

	for (i = -WARM_UP; i < rounds && !rc; i++) {
		t = bench_now_ns();
		rc = round(arg, i + WARM_UP);
		if (i >= 0)
			bench_add(b, (bench_now_ns() - t) / 2000.0);
	}
	return rc;
}

static int timed(struct vt_side *s, struct bench_set *b, int rounds, int batch,
		 int (*round)(void *arg, int i), void *arg)
{
	if (batch > 1)
		return timed_batches(s, b, batch, round, arg);
	return timed_rounds(b, rounds, round, arg);
}

static int send_lat(struct vt_side *s, struct bench_set *b, int rounds)
{
	struct pingpong pp = {};
	int i, rc = pair_open(s, &pp.ep, 4096);

	for (i = 0; i < 4 && !rc; i++)
		rc = vt_post_recv(&pp.ep, 0, 64, 64);
	if (!rc)
		rc = vt_sync(s);
	if (!rc)
		/* Events are so slow that any clock will do. */
		rc = timed(s, b, rounds, pp.ep.chan ?
			   1 + bench_batch / 100 : bench_batch, send_round,
			   &pp);
	if (!rc)
		rc = vt_sync(s);
	vt_ep_close(&pp.ep);
	return rc;
}

static int send_lat_events(struct vt_side *s, struct bench_set *b, int rounds)
{
	const struct vt_opt *saved = s->opt;
	struct vt_opt o = *s->opt;
	int rc;

	o.events = true;
	s->opt = &o;
	rc = send_lat(s, b, rounds);
	s->opt = saved;
	return rc;
}

/* Spins on the last byte of the data that the peer writes. */
static int wait_byte(struct vt_ep *ep, uint8_t want)
{
	volatile uint8_t *p = ep->data + 64 + 7;
	unsigned int turns = 0;
	uint64_t end = 0;

	while (*p != want) {
		if (!pause_turn(++turns))
			continue;
		if (!end)
			end = vt_now_ns() +
			      ep->side->opt->timeout_ms * 1000000ull;
		if (vt_now_ns() > end)
			return vt_fail(ep->side, "no data in time");
	}
	atomic_thread_fence(memory_order_acquire);
	return 0;
}

static int write_round(void *arg, int i)
{
	struct vt_wr w = { .op = IBV_WR_RDMA_WRITE, .len = 8, .roff = 64 };
	uint8_t turn = (uint8_t)(i % 250 + 1);
	struct vt_ep *ep = arg;
	bool first = ep->side->init;
	struct ibv_wc wc;

	if (!first && wait_byte(ep, turn))
		return -1;
	ep->data[7] = turn;
	if (vt_post(ep, &w))
		return -1;
	if (first && wait_byte(ep, turn))
		return -1;
	return spin_wc(ep, &wc);
}

static int write_lat(struct vt_side *s, struct bench_set *b, int rounds)
{
	struct vt_ep ep;
	int rc = pair_open(s, &ep, 4096);

	if (!rc)
		rc = timed(s, b, rounds, bench_batch, write_round, &ep);
	if (!rc)
		rc = vt_sync(s);
	vt_ep_close(&ep);
	return rc;
}

/* One run: @count messages, never more than DEPTH unfinished. */
static int bw_run(struct vt_ep *ep, enum ibv_wr_opcode op, uint32_t len,
		  int count)
{
	struct vt_wr w = { .op = op, .len = len };
	int posted = 0, done = 0;
	struct ibv_wc wc;

	while (done < count) {
		if (posted < count && posted - done < DEPTH) {
			if (vt_post(ep, &w))
				return -1;
			posted++;
			continue;
		}
		if (spin_wc(ep, &wc))
			return -1;
		done++;
	}
	return 0;
}

static int bandwidth(struct vt_side *s, struct bench_set *b,
		     enum ibv_wr_opcode op, uint32_t len, int count)
{
	double speed = 0, next, rate;
	struct vt_ep ep;
	uint64_t t;
	int i, rc = pair_open(s, &ep, AREA);

	if (bench_batch > 1)
		count *= BW_MORE;
	for (i = 0; i < 1 + (bench_samples ?: BW_RUNS) && !rc && s->init; i++) {
		t = bench_now_ns();
		rc = bw_run(&ep, op, len, count);
		rate = 1000.0 * len * count / (bench_now_ns() - t);
		next = bench_speed();
		if (i)
			bench_add_at(b, rate, steady(speed, next));
		speed = next;
	}
	/* The idle side waits here for all runs of the other. */
	for (i = 0; i < 2 && !rc; i++) {
		const struct vt_opt *saved = s->opt;
		struct vt_opt o = *s->opt;

		o.timeout_ms *= 10;
		s->opt = &o;
		rc = vt_sync(s);
		s->opt = saved;
	}
	vt_ep_close(&ep);
	return rc;
}

static const struct {
	const char *name;
	enum ibv_wr_opcode op;
	uint32_t len;
	int count;
} bws[] = {
	{ "write_bw 4 KiB", IBV_WR_RDMA_WRITE, 4096, 256 },
	{ "write_bw 64 KiB", IBV_WR_RDMA_WRITE, 65536, 64 },
	{ "write_bw 1 MiB", IBV_WR_RDMA_WRITE, 1 << 20, 16 },
	{ "read_bw 4 KiB", IBV_WR_RDMA_READ, 4096, 256 },
	{ "read_bw 64 KiB", IBV_WR_RDMA_READ, 65536, 64 },
	{ "read_bw 1 MiB", IBV_WR_RDMA_READ, 1 << 20, 16 },
};

/**
 * bench_data() - measure the data path against the peer; the initiator prints
 *
 * Return: 0, or -1 with the reason in the side.
 */
int bench_data(struct vt_side *s)
{
	struct bench_set b;
	size_t i;

	bench_begin(&b, "send_lat 8 B", "us");
	if (send_lat(s, &b, 501))
		return -1;
	if (s->init)
		bench_print(&b);
	bench_begin(&b, "write_lat 8 B", "us");
	if (write_lat(s, &b, 501))
		return -1;
	if (s->init)
		bench_print(&b);
	bench_begin(&b, "send_lat 8 B events", "us");
	if (send_lat_events(s, &b, 201))
		return -1;
	if (s->init)
		bench_print(&b);
	for (i = 0; i < VT_ARRAY_SIZE(bws); i++) {
		bench_begin(&b, bws[i].name, "MB/s");
		if (bandwidth(s, &b, bws[i].op, bws[i].len, bws[i].count))
			return -1;
		if (s->init)
			bench_print(&b);
	}
	return 0;
}
