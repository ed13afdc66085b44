// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * vhca-uar: options, and the two sides of an attack by doorbell. "hold" has a
 * work request in its queue for which it does not ring, and a CQ that it does
 * not arm; "ring", another process anywhere, does both for it, with the right
 * numbers, at its own doorbell page. The HCA must not listen: "hold" looks, and
 * shows in the end that it would have noticed.
 *
 * Build: cc -D_GNU_SOURCE -O2 -o vhca-uar uar*.c vt_*.c -lmlx4 -lmlx5 -libverbs
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "uar.h"

#define DEFAULT_TCP_PORT 18519
#define HELD		0x75617220646f6f72ull
#define QUIET_MS	500	/* no event within it: none will come */
#define MAX_NUMBER	0xffffffu
#define OTHERS		4	/* contexts, until the numbers differ */

static volatile sig_atomic_t stop;

static void on_term(int sig)
{
	(void)sig;
	stop = 1;
}

static int fail(const char *why)
{
	fprintf(stderr, "vhca-uar: %s\n", why);
	return 1;
}

/* ---- fork ---- */
static int fork_judge(struct uar_obj *u, int status)
{
	if (WIFSIGNALED(status))
		return fail("FAIL: a child has no doorbell");
	if (!uar_arrived(u, HELD, UAR_WAIT_MS))
		return fail("FAIL: a child rings in vain");
	puts("a child rings");
	return 0;
}

/* The request is written before: all that the child does is to ring for it. */
static int forked(const struct vt_opt *o)
{
	char why[VT_WHY] = "";
	struct uar_obj u;
	int status, rc;
	pid_t pid;

	if (uar_open(&u, o, why)) {
		uar_close(&u);
		return fail(why);
	}
	uar_post(&u, HELD);
	pid = fork();
	if (!pid) {
		uar_ring_own(&u, u.reg);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		rc = fail("there is no child");
	else
		rc = fork_judge(&u, status);
	uar_close(&u);
	return rc;
}

/* ---- hold ---- */
static int hold_judge(struct uar_obj *u)
{
	int n;

	if (uar_arrived(u, HELD, 0))
		return fail("FAIL: somebody else's doorbell started our work request");
	if (uar_event(u, 0))
		return fail("FAIL: somebody else armed our CQ");
	uar_ring_own(u, u->reg);
	if (!uar_arrived(u, HELD, UAR_WAIT_MS))
		return fail("FAIL: our own doorbell does not start it; this proves nothing");
	n = uar_event(u, QUIET_MS);
	if (n)
		return fail("FAIL: an event of a CQ that we did not arm");
	n = ibv_req_notify_cq(u->cq, 0);
	if (n || uar_event(u, UAR_WAIT_MS) != 1)
		return fail("FAIL: no event of a CQ that we armed; this proves nothing");
	printf("ok: nobody else rang for QP %u or CQ %u\n", u->qp[0]->qp_num,
	       u->cqn);
	return 0;
}

static int hold(const struct vt_opt *o, int seconds)
{
	struct sigaction sa = { .sa_handler = on_term };
	struct timespec nap = { .tv_nsec = 50000000 };
	char why[VT_WHY] = "";
	struct uar_obj u;
	uint64_t end;
	int rc;

	if (uar_open(&u, o, why)) {
		uar_close(&u);
		return fail(why);
	}
	uar_post(&u, HELD);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	printf("qpn %u cqn %u\n", u.qp[0]->qp_num, u.cqn);
	fflush(stdout);
	end = vt_now_ns() + seconds * 1000000000ull;
	while (!stop && vt_now_ns() < end)
		nanosleep(&nap, NULL);
	rc = hold_judge(&u);
	uar_close(&u);
	return rc;
}

/* ---- ring ---- */
static bool same_numbers(const struct uar_obj *u, uint32_t qpn, uint32_t cqn)
{
	return u->qp[0]->qp_num == qpn || u->qp[1]->qp_num == qpn ||
	       u->cqn == cqn;
}

/*
 * On another HCA the numbers may be our own: then they would be rung for by
 * their owner. So a context with other numbers is taken, and the rest closed.
 */
static int open_other(struct uar_obj *u, const struct vt_opt *o, uint32_t qpn,
		      uint32_t cqn, char *why)
{
	struct uar_obj same[OTHERS];
	int n = 0, rc;

	for (;;) {
		rc = uar_open(u, o, why);
		if (rc || !same_numbers(u, qpn, cqn) || n == OTHERS)
			break;
		same[n++] = *u;
	}
	if (!rc && same_numbers(u, qpn, cqn)) {
		snprintf(why, VT_WHY, "QP %u or CQ %u is our own", qpn, cqn);
		rc = -1;
	}
	while (n)
		uar_close(&same[--n]);
	return rc;
}

static int ring(const struct vt_opt *o, uint32_t qpn, uint32_t cqn, int count)
{
	char why[VT_WHY] = "";
	struct uar_obj u;
	int i, rc;

	rc = open_other(&u, o, qpn, cqn, why);
	if (!rc)
		rc = uar_works(&u, u.reg, why);
	if (!rc) {
		for (i = 0; i < count; i++) {
			u.kind->send(u.reg, qpn, (uint16_t)i);
			/* all four sequence numbers, any completion */
			u.kind->notify(u.arm, cqn, (unsigned int)i & 3);
		}
		printf("rang %d send and %d completion doorbells for QP %u and CQ %u; own QP %u, CQ %u\n",
		       count, count, qpn, cqn, u.qp[0]->qp_num, u.cqn);
		/* It was the page that works, and it still does. */
		rc = uar_works(&u, u.reg, why);
	}
	uar_close(&u);
	return rc ? fail(why) : 0;
}

/* ---- options ---- */
static struct uar_quiet cfg = {
	.opt = { .timeout_ms = 20000 }, .tcp_port = DEFAULT_TCP_PORT,
};

static void usage(FILE *f)
{
	fprintf(f,
"usage: vhca-uar [options] COMMAND\n"
"  hold SECONDS        print \"qpn N cqn N\"; nobody else may ring for them\n"
"                      until then (or SIGTERM)\n"
"  ring QPN CQN N      N doorbells for each, which are another process'\n"
"  fork                does a child have the doorbell of its parent?\n"
"  mmap                what may be mapped of the HCA, and what not\n"
"  quiet N [HOST]      N writes each way with a peer (HOST; none: serve it);\n"
"                      nothing but memory may move meanwhile\n"
"  -d, --device NAME   RDMA device (first)\n"
"  -g, --gid N         GID index (0)\n"
"  -p, --port N        TCP port of quiet's server (%d)\n"
"  -w, --gate FILE     quiet: say \"ready\", wait until FILE is there, and in\n"
"                      the end say \"done\" and wait until it is gone\n"
"  -n, --native        on the HCA itself: do not mind what only a guest must\n"
"                      not map, or has counters of\n", DEFAULT_TCP_PORT);
}

static const struct option longs[] = {
	{ "device", required_argument, NULL, 'd' },
	{ "gid", required_argument, NULL, 'g' },
	{ "port", required_argument, NULL, 'p' },
	{ "gate", required_argument, NULL, 'w' },
	{ "native", no_argument, NULL, 'n' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

static int take_option(int c)
{
	switch (c) {
	case 'd': cfg.opt.dev = optarg; break;
	case 'g': cfg.opt.gid_index = atoi(optarg); break;
	case 'p': cfg.tcp_port = atoi(optarg); break;
	case 'w': cfg.gate = optarg; break;
	case 'n': cfg.native = true; break;
	default: return -1;
	}
	return 0;
}

/* A number from 1 to max; 0 if it is none. */
static uint32_t number(const char *s, uint32_t max)
{
	unsigned long v;
	char *end;

	errno = 0;
	v = strtoul(s, &end, 0);
	return errno || *end || v > max ? 0 : (uint32_t)v;
}

static int run(int n, char **arg)
{
	const struct vt_opt *o = &cfg.opt;
	uint32_t v[3] = { 0 };
	int i;

	for (i = 1; i < n && i <= 3; i++)
		v[i - 1] = number(arg[i], MAX_NUMBER);
	if (n == 2 && !strcmp(arg[0], "hold") && v[0])
		return hold(o, (int)v[0]);
	if (n == 4 && !strcmp(arg[0], "ring") && v[0] && v[1] && v[2])
		return ring(o, v[0], v[1], (int)v[2]);
	if (n == 1 && !strcmp(arg[0], "fork"))
		return forked(o);
	if (n == 1 && !strcmp(arg[0], "mmap"))
		return uar_mmap(o, cfg.native);
	if ((n == 2 || n == 3) && !strcmp(arg[0], "quiet") && v[0]) {
		cfg.rounds = (int)v[0];
		cfg.host = arg[2];
		return uar_quiet(&cfg);
	}
	usage(stderr);
	return 2;
}

int main(int argc, char **argv)
{
	int c;

	while ((c = getopt_long(argc, argv, "d:g:p:w:nh", longs, NULL)) != -1) {
		if (c == 'h' || take_option(c)) {
			usage(c == 'h' ? stdout : stderr);
			return c == 'h' ? 0 : 2;
		}
	}
	if (optind == argc) {
		usage(stderr);
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	return run(argc - optind, argv + optind);
}
