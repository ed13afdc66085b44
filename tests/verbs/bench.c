// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * vhca-bench: options, statistics and the two sides of the data figures. The
 * control figures come first and need no peer. Only the client prints.
 *
 * Build: cc -D_GNU_SOURCE -O2 -pthread -o vhca-bench bench*.c vt_*.c -libverbs
 */
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define DEFAULT_TCP_PORT 18518
#define SPEED_TRIES	9
#define SPEED_TURNS	100000	/* some 50 us under emulation */

int bench_runs = 101;
double bench_mhz;

static struct {
	struct vt_opt opt;
	const char *host;
	int tcp_port;
	bool server, loop, control, data;
} cfg = {
	.opt = { .gid_index = 1, .timeout_ms = 20000 },
	.tcp_port = DEFAULT_TCP_PORT,
};

static uint64_t counter(void)
{
#if defined(__x86_64__) || defined(__i386__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t v;

	asm volatile("isb; mrs %0, cntvct_el0" : "=r"(v) : : "memory");
	return v;
#else
	return 0;
#endif
}

/**
 * bench_now_ns() - time since some moment of the past, ns
 */
uint64_t bench_now_ns(void)
{
	if (bench_mhz > 0)
		return (uint64_t)(counter() * 1000.0L / bench_mhz);
	return vt_now_ns();
}

void bench_begin(struct bench_set *b, const char *name, const char *unit)
{
	b->name = name;
	b->unit = unit;
	b->n = 0;
	b->with_speed = false;
}

/**
 * bench_add_at() - add a sample, and how fast the processor ran when it was taken
 * @value: in the set's unit
 * @speed: of bench_speed(), or 0 if it changed meanwhile
 */
void bench_add_at(struct bench_set *b, double value, double speed)
{
	if (b->n < BENCH_MAX)
		b->speed[b->n] = speed;
	b->with_speed = true;
	bench_add(b, value);
}

void bench_add(struct bench_set *b, double value)
{
	if (b->n < BENCH_MAX)
		b->v[b->n++] = value;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* So many turns of an empty loop, ns, clock included: median of some tries. */
static double turns_ns(int turns)
{
	double ns[SPEED_TRIES];
	uint64_t start;
	int i, turn;

	for (i = 0; i < SPEED_TRIES; i++) {
		start = bench_now_ns();
		for (turn = 0; turn < turns; turn++)
			asm volatile("" : "+r"(turn));
		ns[i] = bench_now_ns() - start;
	}
	qsort(ns, SPEED_TRIES, sizeof(ns[0]), by_value);
	return ns[SPEED_TRIES / 2];
}

/**
 * bench_speed() - how fast this processor runs now: turns of a loop per us
 *
 * A virtual machine's processor runs this loop at half of its speed, for seconds,
 * while another machine uses the same core. Figures of such times are not to be
 * held against others. What the clock takes is not counted: in a PVH dom0 Xen
 * emulates the counter.
 */
double bench_speed(void)
{
	double ns = turns_ns(SPEED_TURNS) - turns_ns(0);

	return ns > 0 ? SPEED_TURNS * 1000.0 / ns : 0;
}

static void print_samples(const struct bench_set *b)
{
	int i;

	printf(",\"samples\":[");
	for (i = 0; i < b->n; i++)
		printf("%s[%.2f,%.1f]", i ? "," : "", b->v[i], b->speed[i]);
	printf("]");
}

/**
 * bench_print() - print the median and what 99 of 100 runs kept to
 *
 * For a latency "p99" is the 99th percentile, for a bandwidth the first. Where
 * the processor's speed was taken, all samples are printed, each with the speed.
 */
void bench_print(struct bench_set *b)
{
	double median, p99;
	int i;

	if (!b->n)
		return;
	printf("{\"name\":\"%s\",\"unit\":\"%s\"", b->name, b->unit);
	if (b->with_speed)
		print_samples(b);
	qsort(b->v, b->n, sizeof(b->v[0]), by_value);
	median = b->v[b->n / 2];
	if (b->n % 2 == 0)
		median = (median + b->v[b->n / 2 - 1]) / 2;
	i = (b->n * 99 + 99) / 100 - 1;
	p99 = b->v[strcmp(b->unit, "us") ? b->n - 1 - i : i];
	printf(",\"value\":%.2f,\"n\":%d,\"p99\":%.2f}\n", median, b->n, p99);
	fflush(stdout);
}

static void *second_side(void *arg)
{
	struct vt_side *s = arg;
	int rc = bench_data(s);

	/* Wakes the first side, which then tells its own reason. */
	if (rc)
		fprintf(stderr, "vhca-bench: second side: %s\n", s->why);
	if (rc)
		vt_oob_close(&s->oob);
	return rc ? arg : NULL;
}

static int run_loop(struct vt_dev *d)
{
	struct vt_side a = { .dev = d, .opt = &cfg.opt, .init = true };
	struct vt_dev second;
	struct vt_side b = { .dev = &second, .opt = &cfg.opt };
	pthread_t thread;
	void *bad = NULL;
	int rc;

	if (vt_open(&second, &cfg.opt, a.why) ||
	    vt_oob_pair(&a.oob, &b.oob) ||
	    pthread_create(&thread, NULL, second_side, &b)) {
		fprintf(stderr, "vhca-bench: no second side: %s\n", a.why);
		return 1;
	}
	rc = bench_data(&a);
	if (rc)
		fprintf(stderr, "vhca-bench: %s\n", a.why);
	vt_oob_close(&a.oob);
	pthread_join(thread, &bad);
	vt_oob_close(&b.oob);
	vt_close(&second);
	return rc || bad;
}

static int run_net(struct vt_dev *d)
{
	struct vt_side s = { .dev = d, .opt = &cfg.opt };
	int lfd, rc = -1;

	if (cfg.server) {
		lfd = vt_oob_listen(cfg.tcp_port, s.why);
		if (lfd >= 0) {
			rc = vt_oob_accept(lfd, &s.oob, 3600000, s.why);
			close(lfd);
		}
	} else {
		s.init = true;
		rc = vt_oob_connect(&s.oob, cfg.host, cfg.tcp_port,
				    cfg.opt.timeout_ms, s.why);
	}
	if (!rc) {
		rc = bench_data(&s);
		vt_oob_close(&s.oob);
	}
	if (rc)
		fprintf(stderr, "vhca-bench: %s\n", s.why);
	return !!rc;
}

static void usage(FILE *f)
{
	fprintf(f,
"usage: vhca-bench [--control] [--data] --loop | -s | HOST   [options]\n"
"  --control           figures of control verbs only, needs no peer\n"
"  --data              figures of the data path only\n"
"  -l, --loop          both sides in this process\n"
"  -s, --server        other side of one client's data figures\n"
"  -d, --device NAME   RDMA device (first)\n"
"  -g, --gid N         GID index (1)\n"
"  -p, --port N        TCP port of the server (%d)\n"
"  -n, --runs N        runs of each control verb (101, at least 21)\n"
"  -b, --batch N       data path: time N ping-pongs at once, never yield (1)\n"
"  -r, --samples N     data path, with -b: samples of a figure (51, bandwidth 21)\n"
"  -c, --counter MHZ   clock is the processor's counter (TSC), of so many MHz\n",
		DEFAULT_TCP_PORT);
}

static const struct option longs[] = {
	{ "control", no_argument, NULL, 'C' },
	{ "data", no_argument, NULL, 'D' },
	{ "loop", no_argument, NULL, 'l' },
	{ "server", no_argument, NULL, 's' },
	{ "device", required_argument, NULL, 'd' },
	{ "gid", required_argument, NULL, 'g' },
	{ "port", required_argument, NULL, 'p' },
	{ "runs", required_argument, NULL, 'n' },
	{ "batch", required_argument, NULL, 'b' },
	{ "samples", required_argument, NULL, 'r' },
	{ "counter", required_argument, NULL, 'c' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

static int take_option(int c)
{
	switch (c) {
	case 'C': cfg.control = true; break;
	case 'D': cfg.data = true; break;
	case 'l': cfg.loop = true; break;
	case 's': cfg.server = true; break;
	case 'd': cfg.opt.dev = optarg; break;
	case 'g': cfg.opt.gid_index = atoi(optarg); break;
	case 'p': cfg.tcp_port = atoi(optarg); break;
	case 'n': bench_runs = atoi(optarg); break;
	case 'b': bench_batch = atoi(optarg); break;
	case 'r': bench_samples = atoi(optarg); break;
	case 'c': bench_mhz = atof(optarg); break;
	default: return -1;
	}
	return 0;
}

static int run(void)
{
	char why[VT_WHY] = "";
	struct vt_dev dev;
	int rc = 0;

	if (vt_open(&dev, &cfg.opt, why)) {
		fprintf(stderr, "vhca-bench: %s\n", why);
		return 1;
	}
	if (cfg.control && !cfg.server && bench_control(&dev, why)) {
		fprintf(stderr, "vhca-bench: %s\n", why);
		rc = 1;
	}
	if (cfg.data && !rc)
		rc = cfg.loop ? run_loop(&dev) : run_net(&dev);
	vt_close(&dev);
	return rc;
}

int main(int argc, char **argv)
{
	int c;

	while ((c = getopt_long(argc, argv, "lsd:g:p:n:b:r:c:h", longs, NULL)) !=
	       -1) {
		if (c == 'h' || take_option(c)) {
			usage(c == 'h' ? stdout : stderr);
			return c == 'h' ? 0 : 2;
		}
	}
	cfg.host = optind < argc ? argv[optind] : NULL;
	if (!cfg.control && !cfg.data)
		cfg.control = cfg.data = true;
	if ((cfg.data && cfg.loop + cfg.server + !!cfg.host != 1) ||
	    bench_runs < 21 || bench_runs > BENCH_MAX || bench_batch < 1 ||
	    bench_samples < 0 || bench_samples > BENCH_MAX) {
		usage(stderr);
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	return run();
}
