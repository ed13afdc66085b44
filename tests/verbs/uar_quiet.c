// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * "quiet": polled RDMA writes to and fro. When connection and caches are warm
 * the program looks at everything that counts work for the vhca in this guest,
 * at its interrupts, and has its own system calls, page faults and the guest's
 * event channel notifications traced; after N writes each way all of it must
 * be as before. It never sleeps nor asks for the time meanwhile, as either may
 * be a system call.
 */
#include <glob.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "uar.h"

#define STATS		"/sys/kernel/debug/xen-vhca/*/stats"
#define WARM_UP		200
#define GATE_S		60	/* for who opens and closes it */
#define MAX_VALUES	128
#define IRQ_NAME	"vhca"
#define SETTLE_US	300000

/* Counters by name; and the numbers of the vhca's interrupts, " 35 36 ". */
struct values {
	unsigned int n;
	struct {
		char name[80];
		uint64_t value;
	} v[MAX_VALUES];
	char irqs[256];
};

static volatile sig_atomic_t too_long;

static void on_alarm(int sig)
{
	(void)sig;
	too_long = 1;
}

/* ---- counters ---- */
static void add_value(struct values *s, const char *where, const char *name,
		      uint64_t value)
{
	if (s->n == MAX_VALUES)
		return;
	snprintf(s->v[s->n].name, sizeof(s->v[0].name), "%.40s %.32s", where,
		 name);
	s->v[s->n++].value = value;
}

static int read_stats(struct values *s)
{
	char name[64];
	uint64_t value;
	glob_t g = { 0 };
	size_t i;
	FILE *f;

	if (glob(STATS, 0, NULL, &g))
		return -1;
	for (i = 0; i < g.gl_pathc; i++) {
		f = fopen(g.gl_pathv[i], "r");
		if (!f)
			continue;
		while (fscanf(f, "%63s %" SCNu64, name, &value) == 2)
			add_value(s, g.gl_pathv[i] +
				  sizeof("/sys/kernel/debug/xen-vhca/") - 1,
				  name, value);
		fclose(f);
	}
	globfree(&g);
	return s->n ? 0 : -1;
}

/* " 35:   12   0   xen-dyn  -lateeoi  vhca-cmd": a column for each CPU */
static void read_irq_line(struct values *s, char *line)
{
	uint64_t sum = 0;
	char *p = line, *end;
	size_t len;
	long irq = strtol(line, &p, 10);

	if (p == line || *p != ':')
		return;
	for (p++;; p = end) {
		uint64_t n = strtoull(p, &end, 10);

		if (end == p || (*end != ' ' && *end != '\n'))
			break;
		sum += n;
	}
	p[strcspn(p, "\n")] = 0;
	end = strrchr(p, ' ');
	add_value(s, "interrupts", end ? end + 1 : p, sum);
	len = strlen(s->irqs);
	snprintf(s->irqs + len, sizeof(s->irqs) - len, "%s%ld ",
		 len ? "" : " ", irq);
}

static void read_irqs(struct values *s)
{
	FILE *f = fopen("/proc/interrupts", "r");
	char line[1024];

	if (!f)
		return;
	while (fgets(line, sizeof(line), f))
		if (strstr(line, IRQ_NAME))
			read_irq_line(s, line);
	fclose(f);
}

static int read_values(struct vt_side *s, const struct uar_quiet *q,
		       struct values *v)
{
	memset(v, 0, sizeof(*v));
	if (read_stats(v) && !q->native)
		return vt_fail(s, "no counters in " STATS
			       "; mount debugfs, or give -n on the HCA itself");
	read_irqs(v);
	if (!v->irqs[0] && !q->native)
		return vt_fail(s, "no vhca in /proc/interrupts");
	return 0;
}

static int compare(struct vt_side *s, const struct values *a,
		   const struct values *b)
{
	unsigned int i, moved = 0;

	if (a->n != b->n)
		return vt_fail(s, "%u counters before, %u after", a->n, b->n);
	for (i = 0; i < a->n; i++) {
		if (a->v[i].value == b->v[i].value)
			continue;
		printf("moved: %s %" PRIu64 " -> %" PRIu64 "\n", a->v[i].name,
		       a->v[i].value, b->v[i].value);
		moved++;
	}
	if (moved)
		return vt_fail(s, "%u of %u counters moved", moved, a->n);
	printf("%u counters of the vhca have not moved\n", a->n);
	return 0;
}

/* ---- data ---- */
/* Spins on the last byte that the peer writes. */
static int wait_byte(struct vt_ep *ep, uint8_t want)
{
	const volatile uint8_t *p = ep->data + 64 + 7;

	while (*p != want)
		if (too_long)
			return vt_fail(ep->side, "no data in time");
	atomic_thread_fence(memory_order_acquire);
	return 0;
}

static int wait_sent(struct vt_ep *ep)
{
	struct ibv_wc wc;
	int n;

	do {
		n = ibv_poll_cq(ep->cq, 1, &wc);
	} while (!n && !too_long);
	if (n == 1 && wc.status == IBV_WC_SUCCESS)
		return 0;
	return vt_fail(ep->side, "write: %s", n == 1 ?
		       ibv_wc_status_str(wc.status) : "no completion");
}

static int rounds(struct vt_ep *ep, int n)
{
	struct vt_wr w = { .op = IBV_WR_RDMA_WRITE, .len = 8, .roff = 64 };
	bool first = ep->side->init;
	uint8_t turn;
	int i;

	for (i = 0; i < n; i++) {
		turn = (uint8_t)(i % 250 + 1);
		if (!first && wait_byte(ep, turn))
			return -1;
		ep->data[7] = turn;
		if (vt_post(ep, &w) || (first && wait_byte(ep, turn)) ||
		    wait_sent(ep))
			return -1;
	}
	return 0;
}

/* ---- the gate ---- */
static int gate(struct vt_side *s, const struct uar_quiet *q, const char *say,
		bool open)
{
	struct timespec nap = { .tv_nsec = 50000000 };
	uint64_t end = vt_now_ns() + GATE_S * 1000000000ull;

	if (!q->gate)
		return 0;
	printf("%s\n", say);
	fflush(stdout);
	while (!access(q->gate, F_OK) != open) {
		if (vt_now_ns() > end)
			return vt_fail(s, "%s was not %s within %d s", q->gate,
				       open ? "made" : "removed", GATE_S);
		nanosleep(&nap, NULL);
	}
	return 0;
}

/* ---- the window ---- */
static int judge(struct vt_side *s, const struct values *before,
		 const struct values *after, const struct uar_trace *t)
{
	char why[VT_WHY];

	if (compare(s, before, after))
		return -1;
	if (t->on < 0 || !uar_trace_judge(t, before->irqs, why))
		return 0;
	return vt_fail(s, "%s", why);
}

static int window(struct vt_side *s, struct vt_ep *ep, struct uar_quiet *q)
{
	static struct values before, after;
	struct uar_trace t;
	char why[VT_WHY] = "";
	uint64_t ns = 0;
	int rc;

	if (uar_trace_open(&t, why))
		printf("note: nothing is traced: %s\n", why);
	rc = read_values(s, q, &before);
	if (!rc)
		rc = vt_sync(s);
	if (!rc) {
		alarm(60 + (unsigned int)q->rounds / 50);
		ns = vt_now_ns();
		uar_trace_start(&t);
		rc = rounds(ep, q->rounds);
		uar_trace_stop(&t);
		ns = vt_now_ns() - ns;
		alarm(0);
		/* An interrupt that is late is no alibi. */
		usleep(SETTLE_US);
	}
	if (!rc)
		rc = read_values(s, q, &after);
	if (!rc)
		rc = judge(s, &before, &after, &t);
	if (!rc)
		printf("ok: %d writes each way, %.1f us for both\n", q->rounds,
		       (double)ns / 1000 / q->rounds);
	uar_trace_close(&t);
	return rc;
}

static int run(struct vt_side *s, struct uar_quiet *q)
{
	struct vt_ep_attr a;
	struct vt_ep ep = { 0 };
	int rc;

	vt_ep_defaults(&a, IBV_QPT_RC, 4096);
	a.sge = 1;
	rc = vt_ep_open(s, &ep, &a) || vt_ep_connect(&ep) ? -1 : 0;
	/* Doorbell page, queues and code have their page table entries. */
	alarm(60);
	if (!rc)
		rc = rounds(&ep, WARM_UP);
	alarm(0);
	if (!rc)
		rc = vt_sync(s);
	if (!rc)
		rc = gate(s, q, "ready", true);
	if (!rc)
		rc = vt_sync(s);
	if (!rc)
		rc = window(s, &ep, q);
	/* Not before the peer has read its counters, too. */
	if (vt_verdict(s, rc) && !rc)
		rc = vt_fail(s, "the peer is gone");
	if (!rc && s->oob.peer_rc)
		rc = vt_fail(s, "peer: %.*s", VT_WHY - 8, s->oob.peer_why);
	if (!rc)
		rc = gate(s, q, "done", false);
	vt_ep_close(&ep);
	return rc;
}

static int meet(struct vt_side *s, const struct uar_quiet *q)
{
	int lfd, rc;

	if (q->host) {
		s->init = true;
		return vt_oob_connect(&s->oob, q->host, q->tcp_port,
				      q->opt.timeout_ms, s->why);
	}
	lfd = vt_oob_listen(q->tcp_port, s->why);
	if (lfd < 0)
		return -1;
	rc = vt_oob_accept(lfd, &s->oob, GATE_S * 1000, s->why);
	close(lfd);
	return rc;
}

/**
 * uar_quiet() - writes to and fro, and nothing else moves
 *
 * Both sides count, each in its own domain. Return: 0, or 1 with the reason
 * on stderr.
 */
int uar_quiet(struct uar_quiet *q)
{
	struct sigaction sa = { .sa_handler = on_alarm };
	struct vt_dev dev;
	struct vt_side s = { .dev = &dev, .opt = &q->opt };
	int rc;

	sigaction(SIGALRM, &sa, NULL);
	/* The gate is slow, and the peer's window may end later than ours. */
	q->opt.timeout_ms = 2 * GATE_S * 1000;
	rc = vt_open(&dev, &q->opt, s.why);
	if (!rc) {
		rc = meet(&s, q);
		if (mlockall(MCL_CURRENT | MCL_FUTURE))
			printf("note: memory cannot be locked\n");
		if (!rc)
			rc = run(&s, q);
		vt_oob_close(&s.oob);
		vt_close(&dev);
	}
	if (rc)
		fprintf(stderr, "vhca-uar: FAIL: %s\n", s.why);
	return !!rc;
}
