// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * Load modes for tests that kill a domain, a daemon or this program meanwhile:
 * verified traffic, and threads that keep control verbs in flight. A watchdog
 * thread ends the program when nothing moves any more, as a verb stuck in the
 * kernel cannot be bounded from inside.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xfer.h"

#define LOAD_LEN	65536
#define MSG_LEN		4096
#define EXIT_STUCK	3

/* Data of both sides: written, read back, message out, message in. */
enum { AT_WRITE = 0, AT_READ = LOAD_LEN, AT_OUT = 2 * LOAD_LEN,
       AT_IN = AT_OUT + MSG_LEN, AT_END = AT_IN + 2 * MSG_LEN };

static _Atomic uint64_t beat;		/* moves as long as work is done */
static _Atomic int active;		/* sides that the watchdog looks after */

static void *watchdog(void *arg)
{
	int limit_s = *(const int *)arg;
	uint64_t last = ~0ull;
	int still = 0;

	while (active) {
		sleep(1);
		still = beat == last ? still + 1 : 0;
		last = beat;
		if (still < limit_s)
			continue;
		fprintf(stderr, "vhca-xfer: nothing moved for %d s, a verb "
			"hangs; giving up\n", still);
		_exit(EXIT_STUCK);
	}
	return NULL;
}

static int watchdog_start(const struct vt_opt *o)
{
	static int limit_s;
	pthread_t t;

	limit_s = 2 + 2 * o->timeout_ms / 1000;
	if (active++)
		return 0;
	if (pthread_create(&t, NULL, watchdog, &limit_s))
		return -1;
	pthread_detach(t);
	return 0;
}

struct traffic {
	struct vt_ep ep;
	uint64_t start_ns, ops, bytes, errors;
	int shown;
	int sent;		/* completed sends not yet asked for */
	int got;		/* messages not yet asked for */
	uint32_t imm[4];	/* of those messages */
};

static void traffic_line(const struct traffic *t, int second)
{
	printf("t=%d ops=%llu bytes=%llu errors=%llu\n", second,
	       (unsigned long long)t->ops, (unsigned long long)t->bytes,
	       (unsigned long long)t->errors);
	fflush(stdout);
}

/* Sends and receives share a CQ, in no certain order between the two. */
static int take_completion(struct traffic *t, const char *what)
{
	struct ibv_wc wc;

	if (vt_want(&t->ep, &wc, IBV_WC_SUCCESS, what))
		return -1;
	if (!(wc.wr_id & VT_RECV)) {
		t->sent++;
		return 0;
	}
	if (!(wc.wc_flags & IBV_WC_WITH_IMM) ||
	    t->got >= (int)VT_ARRAY_SIZE(t->imm))
		return vt_fail(t->ep.side, "odd message from the peer");
	t->imm[t->got++] = ntohl(wc.imm_data);
	return 0;
}

static int traffic_do(struct traffic *t, const struct vt_wr *w,
		      const char *what)
{
	if (vt_post(&t->ep, w))
		return -1;
	while (!t->sent)
		if (take_completion(t, what))
			return -1;
	t->sent--;
	t->ops++;
	t->bytes += w->len;
	beat++;
	return 0;
}

static int take_message(struct traffic *t, uint32_t *imm)
{
	while (!t->got)
		if (take_completion(t, "message from the peer"))
			return -1;
	*imm = t->imm[0];
	t->got--;
	memmove(t->imm, t->imm + 1, t->got * sizeof(t->imm[0]));
	beat++;
	return 0;
}

/* WRITE, READ back and compare, SEND; the peer answers what it found. */
static int traffic_round(struct traffic *t, uint32_t seed)
{
	struct vt_ep *ep = &t->ep;
	struct vt_wr wr = { .id = 1, .op = IBV_WR_RDMA_WRITE, .len = LOAD_LEN };
	struct vt_wr rd = {
		.id = 2, .op = IBV_WR_RDMA_READ, .off = AT_READ,
		.len = LOAD_LEN,
	};
	struct vt_wr snd = {
		.id = 3, .op = IBV_WR_SEND_WITH_IMM, .off = AT_OUT,
		.len = MSG_LEN, .imm = seed,
	};
	uint32_t bad;

	vt_fill(ep->data + AT_WRITE, LOAD_LEN, seed);
	vt_fill(ep->data + AT_OUT, MSG_LEN, seed);
	memset(ep->data + AT_READ, 0, LOAD_LEN);
	if (vt_post_recv(ep, 0, AT_IN, MSG_LEN) ||
	    traffic_do(t, &wr, "write") || traffic_do(t, &rd, "read"))
		return -1;
	if (vt_check(ep->data + AT_READ, LOAD_LEN, seed) >= 0)
		t->errors++;
	if (traffic_do(t, &snd, "send") || take_message(t, &bad))
		return -1;
	t->errors += bad;
	return 0;
}

static volatile sig_atomic_t interrupted;

static void interrupt(int sig)
{
	interrupted = sig;
}

static int traffic_init(struct traffic *t, int seconds)
{
	struct sigaction sa = { .sa_handler = interrupt };
	int rest = t->ep.side->opt->pause_ms;
	uint32_t seed = vt_now_ns();
	struct vt_wr stop = {
		.op = IBV_WR_SEND_WITH_IMM, .off = AT_OUT, .len = 4, .imm = 0,
	};
	int second;

	sa.sa_flags = SA_RESTART;
	sigaction(SIGINT, &sa, NULL);
	t->start_ns = vt_now_ns();
	for (;;) {
		second = (vt_now_ns() - t->start_ns) / 1000000000ull;
		/* Each second has its line, also where a round takes several. */
		while (t->shown < second)
			traffic_line(t, ++t->shown);
		if (second >= seconds || interrupted)
			break;
		seed = seed + 1 ? seed + 1 : 1;
		if (traffic_round(t, seed))
			return -1;
		if (rest)
			usleep(rest * 1000);
	}
	if (traffic_do(t, &stop, "last message"))
		return -1;
	return t->errors ? vt_fail(t->ep.side, "%llu errors in the data",
				   (unsigned long long)t->errors) : 0;
}

static uint32_t count_bad(struct traffic *t, size_t in, uint32_t seed)
{
	struct vt_ep *ep = &t->ep;

	return (vt_check(ep->data + AT_WRITE, LOAD_LEN, seed) >= 0) +
	       (vt_check(ep->data + in, MSG_LEN, seed) >= 0) +
	       !vt_ep_guards_ok(ep);
}

/* Two receives in turn, so that one is always posted. */
static int traffic_target(struct traffic *t)
{
	struct vt_ep *ep = &t->ep;
	struct vt_wr ans = {
		.id = 9, .op = IBV_WR_SEND_WITH_IMM, .off = AT_OUT, .len = 16,
	};
	uint32_t seed;
	int slot;

	for (slot = 0;; slot ^= 1) {
		if (take_message(t, &seed))
			return -1;
		if (!seed)
			break;
		ans.imm = count_bad(t, AT_IN + slot * MSG_LEN, seed);
		t->errors += ans.imm;
		if (vt_post_recv(ep, slot, AT_IN + slot * MSG_LEN, MSG_LEN) ||
		    traffic_do(t, &ans, "answer"))
			return -1;
	}
	return t->errors ? vt_fail(ep->side, "%llu errors in the data",
				   (unsigned long long)t->errors) : 0;
}

/**
 * xfer_traffic() - verified WRITE, READ and SEND until the time is over
 * @seconds: duration, decided by the initiator, whom SIGINT ends earlier
 *
 * Return: 0, or -1 with the reason in the side (also: the device died). Ends
 * the program with status 3 when a verb hangs.
 */
int xfer_traffic(struct vt_side *s, int seconds)
{
	struct traffic t = {};
	struct vt_ep_attr a;
	int rc;

	if (watchdog_start(s->opt))
		return vt_fail(s, "cannot start the watchdog");
	vt_ep_defaults(&a, IBV_QPT_RC, AT_END);
	rc = vt_ep_open(s, &t.ep, &a) || vt_ep_connect(&t.ep) ? -1 : 0;
	/* Until these are posted the peer's SEND waits: RNR retry for ever. */
	if (!rc && !s->init)
		rc = vt_post_recv(&t.ep, 0, AT_IN, MSG_LEN) ||
		     vt_post_recv(&t.ep, 1, AT_IN + MSG_LEN, MSG_LEN);
	if (!rc)
		rc = s->init ? traffic_init(&t, seconds) : traffic_target(&t);
	if (rc && vt_async_fatal(s->dev)) {
		s->why[0] = 0;
		vt_fail(s, "the device died (fatal event)");
	}
	vt_ep_close(&t.ep);
	active--;
	return rc;
}

struct stall {
	pthread_t thread;
	struct vt_dev *dev;
	int id;
	_Atomic int err;
	const char *_Atomic verb;
};

static int stall_mr(struct stall *t, uint8_t *mem, size_t len)
{
	struct ibv_mr *mr;

	t->verb = "ibv_reg_mr";
	mr = ibv_reg_mr(t->dev->pd, mem, len, IBV_ACCESS_LOCAL_WRITE);
	if (!mr)
		return errno;
	beat++;
	t->verb = "ibv_dereg_mr";
	return ibv_dereg_mr(mr);
}

static int stall_qp(struct stall *t)
{
	struct ibv_qp_init_attr ia = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	int err = 0;

	t->verb = "ibv_create_cq";
	cq = ibv_create_cq(t->dev->ctx, 32, NULL, NULL, 0);
	if (!cq)
		return errno;
	beat++;
	ia.send_cq = ia.recv_cq = cq;
	t->verb = "ibv_create_qp";
	qp = ibv_create_qp(t->dev->pd, &ia);
	if (!qp)
		return errno;
	beat++;
	t->verb = "ibv_destroy_qp";
	err = ibv_destroy_qp(qp);
	if (err)
		return err;
	beat++;
	t->verb = "ibv_destroy_cq";
	return ibv_destroy_cq(cq);
}

static void *stall_thread(void *arg)
{
	struct stall *t = arg;
	size_t len = 4096u << (t->id % 6);
	uint8_t *mem = aligned_alloc(4096, len);

	if (!mem) {
		t->err = ENOMEM;
		return NULL;
	}
	memset(mem, 1, len);
	while (!t->err) {
		t->err = t->id % 2 ? stall_qp(t) : stall_mr(t, mem, len);
		beat++;
	}
	free(mem);
	return NULL;
}

static int stall_watch(struct stall *t, int n)
{
	int i, second;

	for (second = 1;; second++) {
		sleep(1);
		printf("t=%d verbs=%llu\n", second, (unsigned long long)beat);
		fflush(stdout);
		for (i = 0; i < n; i++) {
			if (!t[i].err)
				continue;
			fprintf(stderr, "vhca-xfer: %s failed with %s\n",
				t[i].verb, vt_errno(t[i].err));
			return 1;
		}
	}
}

/**
 * xfer_stall() - control verbs in flight from many threads, until killed
 * @threads: how many; odd ones create and destroy QPs, even ones register
 *
 * Return: 1 when a verb failed or setting up did. Never 0. Ends the program
 * with status 3 when the verbs hang.
 */
int xfer_stall(const struct vt_opt *o, int threads)
{
	struct stall *t = calloc(threads, sizeof(*t));
	char why[VT_WHY] = "";
	struct vt_dev dev;
	int i;

	if (!t || vt_open(&dev, o, why)) {
		fprintf(stderr, "vhca-xfer: %s\n", t ? why : "no memory");
		free(t);
		return 1;
	}
	if (watchdog_start(o)) {
		fprintf(stderr, "vhca-xfer: cannot start the watchdog\n");
		return 1;
	}
	for (i = 0; i < threads; i++) {
		t[i].dev = &dev;
		t[i].id = i;
		t[i].verb = "start";
		if (pthread_create(&t[i].thread, NULL, stall_thread, &t[i])) {
			fprintf(stderr, "vhca-xfer: only %d threads\n", i);
			return 1;
		}
	}
	/* The threads are left to the process's end, as kill -9 would do. */
	return stall_watch(t, threads);
}
