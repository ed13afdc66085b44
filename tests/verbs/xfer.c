// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * vhca-xfer: moves data between two sides by unmodified libibverbs and verifies
 * every byte. The sides are a server and a client over TCP, or two threads of
 * one process (--loop), each with its own device context. The client names the
 * test, both run their half, and a test passes only if both say so.
 *
 * Build: cc -D_GNU_SOURCE -O2 -pthread -o vhca-xfer xfer*.c vt_*.c -libverbs
 */
#include <fnmatch.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xfer.h"

#define DEFAULT_TCP_PORT 18517
#define K4	4096
#define M1	(1024 * 1024)
#define M64	(64 * 1024 * 1024)

/* One opcode in two and three sizes. */
#define SIZED2(tag, qpt, opcode)					\
	{ tag "-4k", xfer_data, qpt, opcode, K4, false },		\
	{ tag "-1m", xfer_data, qpt, opcode, M1, false }
#define SIZED3(tag, qpt, opcode)					\
	SIZED2(tag, qpt, opcode),					\
	{ tag "-64m", xfer_data, qpt, opcode, M64, false }
#define ODD(tag, qpt, opcode)						\
	{ tag "-unaligned", xfer_data, qpt, opcode, 12345, true }
#define ONE(tag, fn, qpt, opcode, size)					\
	{ tag, fn, qpt, opcode, size, false }

const struct xfer_test xfer_tests[] = {
	SIZED3("rc-send", IBV_QPT_RC, IBV_WR_SEND),
	SIZED2("rc-send-imm", IBV_QPT_RC, IBV_WR_SEND_WITH_IMM),
	SIZED3("rc-write", IBV_QPT_RC, IBV_WR_RDMA_WRITE),
	SIZED2("rc-write-imm", IBV_QPT_RC, IBV_WR_RDMA_WRITE_WITH_IMM),
	SIZED3("rc-read", IBV_QPT_RC, IBV_WR_RDMA_READ),
	SIZED3("uc-send", IBV_QPT_UC, IBV_WR_SEND),
	SIZED2("uc-send-imm", IBV_QPT_UC, IBV_WR_SEND_WITH_IMM),
	SIZED3("uc-write", IBV_QPT_UC, IBV_WR_RDMA_WRITE),
	SIZED2("uc-write-imm", IBV_QPT_UC, IBV_WR_RDMA_WRITE_WITH_IMM),
	SIZED3("ud-send", IBV_QPT_UD, IBV_WR_SEND),
	SIZED2("ud-send-imm", IBV_QPT_UD, IBV_WR_SEND_WITH_IMM),
	ODD("rc-send", IBV_QPT_RC, IBV_WR_SEND),
	ODD("rc-write", IBV_QPT_RC, IBV_WR_RDMA_WRITE),
	ODD("rc-read", IBV_QPT_RC, IBV_WR_RDMA_READ),
	ODD("uc-write", IBV_QPT_UC, IBV_WR_RDMA_WRITE),
	ODD("ud-send", IBV_QPT_UD, IBV_WR_SEND),
	ONE("rc-cmp-swap", xfer_atomic, IBV_QPT_RC,
	    IBV_WR_ATOMIC_CMP_AND_SWP, 8),
	ONE("rc-fetch-add", xfer_atomic, IBV_QPT_RC,
	    IBV_WR_ATOMIC_FETCH_AND_ADD, 8),
	ONE("rc-inline-send", xfer_inline, IBV_QPT_RC, IBV_WR_SEND, 200),
	ONE("rc-inline-write", xfer_inline, IBV_QPT_RC, IBV_WR_RDMA_WRITE, 77),
	ONE("uc-inline-send", xfer_inline, IBV_QPT_UC, IBV_WR_SEND, 200),
	ONE("ud-inline-send", xfer_inline, IBV_QPT_UD,
	    IBV_WR_SEND_WITH_IMM, 200),
	ONE("rc-zero-send", xfer_zero, IBV_QPT_RC, IBV_WR_SEND, 0),
	ONE("rc-zero-write-imm", xfer_zero, IBV_QPT_RC,
	    IBV_WR_RDMA_WRITE_WITH_IMM, 0),
	/* Larger than the default --max-size: only when named. */
	ONE("big-mr", xfer_big, IBV_QPT_RC, IBV_WR_RDMA_WRITE, 1 << 30),
	ONE("mr-rounds", xfer_rounds, IBV_QPT_RC, IBV_WR_RDMA_WRITE, K4),
	ONE("many-qp", xfer_many, IBV_QPT_RC, IBV_WR_SEND, 0),
	ONE("srq", xfer_srq, IBV_QPT_RC, IBV_WR_SEND, 0),
	ONE("event", xfer_event, IBV_QPT_RC, IBV_WR_SEND, 0),
	ONE("mcast", xfer_mcast, IBV_QPT_UD, IBV_WR_SEND, 256),
	ONE("rereg", xfer_rereg, IBV_QPT_RC, IBV_WR_RDMA_WRITE, K4),
	ONE("mw-type1", xfer_mw1, IBV_QPT_RC, IBV_WR_RDMA_WRITE, 0),
	ONE("mw-type2", xfer_mw2, IBV_QPT_RC, IBV_WR_RDMA_WRITE, 0),
	ONE("mw-bounds", xfer_mw_bounds, IBV_QPT_RC, IBV_WR_RDMA_WRITE, 0),
	ONE("mw-send-inv", xfer_send_inv, IBV_QPT_RC, IBV_WR_SEND, 0),
	ONE("err-rkey-write", xfer_err_rkey, IBV_QPT_RC, IBV_WR_RDMA_WRITE, 0),
	ONE("err-rkey-read", xfer_err_rkey, IBV_QPT_RC, IBV_WR_RDMA_READ, 0),
	ONE("err-bounds-write", xfer_err_bounds, IBV_QPT_RC,
	    IBV_WR_RDMA_WRITE, 0),
	ONE("err-bounds-read", xfer_err_bounds, IBV_QPT_RC,
	    IBV_WR_RDMA_READ, 0),
	ONE("err-access-write", xfer_err_access, IBV_QPT_RC,
	    IBV_WR_RDMA_WRITE, 0),
	ONE("err-access-read", xfer_err_access, IBV_QPT_RC,
	    IBV_WR_RDMA_READ, 0),
	ONE("err-access-atomic", xfer_err_access, IBV_QPT_RC,
	    IBV_WR_ATOMIC_FETCH_AND_ADD, 0),
	ONE("err-pd", xfer_err_pd, IBV_QPT_RC, IBV_WR_RDMA_WRITE, 0),
	ONE("err-dereg", xfer_err_dereg, IBV_QPT_RC, IBV_WR_RDMA_WRITE, 0),
	ONE("err-lkey", xfer_err_lkey, IBV_QPT_RC, IBV_WR_SEND, 0),
	ONE("err-length", xfer_err_length, IBV_QPT_RC, IBV_WR_SEND, 0),
	ONE("err-rnr", xfer_err_rnr, IBV_QPT_RC, IBV_WR_SEND, 0),
	ONE("err-retry", xfer_err_retry, IBV_QPT_RC, IBV_WR_SEND, 0),
	ONE("err-flush", xfer_err_flush, IBV_QPT_RC, IBV_WR_SEND, 0),
	ONE("err-qkey", xfer_err_qkey, IBV_QPT_UD, IBV_WR_SEND, 0),
};

const int xfer_count = VT_ARRAY_SIZE(xfer_tests);
int xfer_qps = 8;
int xfer_nr_rounds = 4;
size_t xfer_round_max;

/* What the client asks the server for. */
struct order {
	uint32_t magic;
	uint32_t what;
	int32_t seconds;
	uint32_t pad;
	char name[48];
};

enum { ORDER_TEST = 1, ORDER_TRAFFIC, ORDER_BYE };
#define ORDER_MAGIC 0x78666572u

struct config {
	struct vt_opt opt;
	const char *host;
	const char *only;	/* comma separated patterns */
	int tcp_port;
	int traffic;		/* seconds */
	int stall;		/* threads */
	int give_up;		/* seconds, of a test */
	size_t max_size;	/* 0: M64, or any when tests are named */
	bool server, loop, list;
};

static struct config cfg = {
	.opt = { .gid_index = 1, .timeout_ms = 10000 },
	.tcp_port = DEFAULT_TCP_PORT,
	.give_up = 300,
};

int xfer_skip(struct vt_side *s, const char *why)
{
	if (!s->why[0])
		snprintf(s->why, sizeof(s->why), "%s", why);
	return XFER_SKIP;
}

/**
 * xfer_seed() - a fresh seed, the same on both sides
 *
 * The initiator chooses it, so that data of an earlier test cannot pass.
 * A broken link gives 0 here and an error at the next synchronisation.
 */
uint64_t xfer_seed(struct vt_side *s)
{
	uint64_t mine = vt_now_ns() * 0x9e3779b97f4a7c15ull | 1, theirs;

	if (vt_xchg(s, &mine, &theirs, sizeof(mine)))
		return 0;
	return s->init ? mine : theirs;
}

static bool selected(const struct xfer_test *t)
{
	char list[256], *save, *p;

	size_t max = cfg.max_size;

	if (!max)
		max = cfg.only ? ~(size_t)0 : M64;
	if (t->size > max)
		return false;
	if (!cfg.only)
		return true;
	snprintf(list, sizeof(list), "%s", cfg.only);
	for (p = strtok_r(list, ",", &save); p; p = strtok_r(NULL, ",", &save))
		if (!fnmatch(p, t->name, 0))
			return true;
	return false;
}

static const struct xfer_test *find_test(const char *name)
{
	int i;

	for (i = 0; i < xfer_count; i++)
		if (!strcmp(xfer_tests[i].name, name))
			return &xfer_tests[i];
	return NULL;
}

/* A verb that hangs in the kernel cannot be bounded in any other way. */
static void test_hangs(int sig)
{
	static const char text[] =
		"vhca-xfer: the test hangs, no end in time (--give-up)\n";

	(void)sig;
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(4);
	_exit(3);
}

static int run_order(struct vt_side *s, const struct order *o)
{
	const struct xfer_test *t;
	int rc;

	if (o->what == ORDER_TRAFFIC)
		return xfer_traffic(s, o->seconds);
	t = find_test(o->name);
	if (!t)
		return vt_fail(s, "no test '%s' here", o->name);
	/* In a loop the initiator watches over both sides. */
	if (s->init || cfg.server)
		alarm(cfg.give_up);
	rc = t->run(s, t);
	if (s->init || cfg.server)
		alarm(0);
	return rc;
}

/*
 * Run our half and agree on a result with the peer. Who only failed because the
 * peer ended first takes over the peer's result.
 * Return: XFER_OK, XFER_SKIP, -1 (reason in s->why), -2 for a broken link.
 */
static int both_halves(struct vt_side *s, const struct order *o)
{
	bool followed;
	int rc;

	s->why[0] = 0;
	memset(&s->oob.peer_why, 0, sizeof(s->oob.peer_why));
	rc = run_order(s, o);
	followed = rc < 0 && s->oob.peer_over && s->oob.peer_rc;
	if (followed)
		rc = s->oob.peer_rc;
	if (vt_verdict(s, rc)) {
		vt_fail(s, "the peer is gone");
		return -2;
	}
	if (followed || (!rc && s->oob.peer_rc))
		snprintf(s->why, sizeof(s->why), "peer: %.*s", VT_WHY - 8,
			 s->oob.peer_why);
	if (rc < 0 || s->oob.peer_rc < 0)
		return -1;
	return rc || s->oob.peer_rc ? XFER_SKIP : XFER_OK;
}

static int serve(struct vt_side *s)
{
	int bad = 0, rc = 0;
	struct order o;

	for (;;) {
		s->why[0] = 0;
		if (vt_recv(s, &o, sizeof(o), 24 * 3600 * 1000)) {
			fprintf(stderr, "vhca-xfer: server: %s\n", s->why);
			return 1;
		}
		if (o.magic != ORDER_MAGIC || o.what == ORDER_BYE)
			return bad || o.magic != ORDER_MAGIC;
		o.name[sizeof(o.name) - 1] = 0;
		rc = both_halves(s, &o);
		if (rc >= 0)
			continue;
		bad = 1;
		if (cfg.server)
			fprintf(stderr, "vhca-xfer: server: %s: %s\n",
				o.what == ORDER_TRAFFIC ? "traffic" : o.name,
				s->why);
		if (rc == -2)
			return 1;
	}
}

static int order(struct vt_side *s, int what, int seconds, const char *name)
{
	struct order o = {
		.magic = ORDER_MAGIC, .what = what, .seconds = seconds,
	};

	snprintf(o.name, sizeof(o.name), "%s", name);
	if (vt_send(s, &o, sizeof(o)))
		return -2;
	return what == ORDER_BYE ? 0 : both_halves(s, &o);
}

static int client_tests(struct vt_side *s)
{
	static const char *const word[] = { "ok", "skip" };
	int i, rc = 0, n[3] = { 0 };
	uint64_t start;

	for (i = 0; i < xfer_count && rc != -2; i++) {
		const struct xfer_test *t = &xfer_tests[i];

		if (!selected(t))
			continue;
		start = vt_now_ns();
		rc = order(s, ORDER_TEST, 0, t->name);
		if (rc < 0)
			printf("FAIL %s: %s\n", t->name, s->why);
		else if (rc)
			printf("%s %s: %s\n", word[rc], t->name, s->why);
		else
			printf("%s %s (%.1f s%s%s)\n", word[rc], t->name,
			       (double)(vt_now_ns() - start) / 1e9,
			       s->why[0] ? ", " : "", s->why);
		fflush(stdout);
		n[rc < 0 ? 2 : rc]++;
	}
	if (rc != -2)
		order(s, ORDER_BYE, 0, "");
	printf("%d passed, %d failed", n[0], n[2]);
	printf(n[1] ? ", %d skipped\n" : "\n", n[1]);
	if (rc == -2)
		fprintf(stderr, "vhca-xfer: stopped early, %s\n", s->why);
	return n[2] || !(n[0] + n[1]);
}

static int client(struct vt_side *s)
{
	int rc;

	if (!cfg.traffic)
		return client_tests(s);
	rc = order(s, ORDER_TRAFFIC, cfg.traffic, "traffic");
	if (rc) {
		fprintf(stderr, "vhca-xfer: traffic stopped: %s\n", s->why);
		return 1;
	}
	order(s, ORDER_BYE, 0, "");
	return 0;
}

static void *serve_thread(void *arg)
{
	return serve(arg) ? arg : NULL;
}

static int run_loop(void)
{
	struct vt_dev dev[2];
	struct vt_side a = { .dev = &dev[0], .opt = &cfg.opt, .init = true };
	struct vt_side b = { .dev = &dev[1], .opt = &cfg.opt };
	pthread_t thread;
	void *bad;
	int rc;

	if (vt_open(&dev[0], &cfg.opt, a.why) ||
	    vt_open(&dev[1], &cfg.opt, a.why)) {
		fprintf(stderr, "vhca-xfer: %s\n", a.why);
		return 1;
	}
	if (vt_oob_pair(&a.oob, &b.oob) ||
	    pthread_create(&thread, NULL, serve_thread, &b)) {
		fprintf(stderr, "vhca-xfer: cannot start the second side\n");
		return 1;
	}
	rc = client(&a);
	/* After a broken link the thread sees the end of the pair. */
	vt_oob_close(&a.oob);
	pthread_join(thread, &bad);
	vt_oob_close(&b.oob);
	vt_close(&dev[0]);
	vt_close(&dev[1]);
	return rc || bad;
}

static int run_net(void)
{
	struct vt_dev dev;
	struct vt_side s = { .dev = &dev, .opt = &cfg.opt };
	int lfd, rc;

	if (vt_open(&dev, &cfg.opt, s.why))
		goto fail;
	if (cfg.server) {
		lfd = vt_oob_listen(cfg.tcp_port, s.why);
		if (lfd < 0 || vt_oob_accept(lfd, &s.oob, 3600000, s.why))
			goto fail;
		close(lfd);
		rc = serve(&s);
	} else {
		if (vt_oob_connect(&s.oob, cfg.host, cfg.tcp_port,
				   cfg.opt.timeout_ms, s.why))
			goto fail;
		s.init = true;
		rc = client(&s);
	}
	vt_oob_close(&s.oob);
	vt_close(&dev);
	return rc;
fail:
	fprintf(stderr, "vhca-xfer: %s\n", s.why);
	return 1;
}

static void usage(FILE *f)
{
	fprintf(f,
"usage: vhca-xfer --loop | -s | HOST   [options]\n"
"  -l, --loop          both sides in this process\n"
"  -s, --server        serve one client, then exit\n"
"  -d, --device NAME   RDMA device (first)\n"
"  -g, --gid N         GID index (1)\n"
"  -p, --port N        TCP port of the server (%d)\n"
"  -t, --tests LIST    comma separated names or patterns (all)\n"
"  -e, --events        wait by completion channel instead of polling;\n"
"                      each side decides for itself\n"
"  -q, --qps N         QPs of test many-qp (8)\n"
"  -r, --rounds N      regions of test mr-rounds (4)\n"
"      --max-size N    leave out tests of more than N bytes (64 MiB, or any\n"
"                      with -t)\n"
"      --timeout MS    limit of each wait (10000)\n"
"      --give-up S     limit of each test (300)\n"
"      --traffic S     verified traffic for S seconds or until SIGINT, a line\n"
"                      each second\n"
"      --pause MS      rest between two rounds of traffic (0)\n"
"      --stall N       control verbs from N threads until killed\n"
"      --list          names of the tests\n", DEFAULT_TCP_PORT);
}

enum {
	OPT_TRAFFIC = 256, OPT_STALL, OPT_LIST, OPT_MAX, OPT_TIMEOUT, OPT_PAUSE,
	OPT_GIVE_UP,
};

static const struct option longs[] = {
	{ "loop", no_argument, NULL, 'l' },
	{ "server", no_argument, NULL, 's' },
	{ "device", required_argument, NULL, 'd' },
	{ "gid", required_argument, NULL, 'g' },
	{ "port", required_argument, NULL, 'p' },
	{ "tests", required_argument, NULL, 't' },
	{ "events", no_argument, NULL, 'e' },
	{ "qps", required_argument, NULL, 'q' },
	{ "rounds", required_argument, NULL, 'r' },
	{ "max-size", required_argument, NULL, OPT_MAX },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "give-up", required_argument, NULL, OPT_GIVE_UP },
	{ "traffic", required_argument, NULL, OPT_TRAFFIC },
	{ "pause", required_argument, NULL, OPT_PAUSE },
	{ "stall", required_argument, NULL, OPT_STALL },
	{ "list", no_argument, NULL, OPT_LIST },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

static int take_option(int c)
{
	switch (c) {
	case 'l': cfg.loop = true; break;
	case 's': cfg.server = true; break;
	case 'd': cfg.opt.dev = optarg; break;
	case 'g': cfg.opt.gid_index = atoi(optarg); break;
	case 'p': cfg.tcp_port = atoi(optarg); break;
	case 't': cfg.only = optarg; break;
	case 'e': cfg.opt.events = true; break;
	case 'q': xfer_qps = atoi(optarg); break;
	case 'r': xfer_nr_rounds = atoi(optarg); break;
	case OPT_MAX:
		cfg.max_size = xfer_round_max = strtoull(optarg, NULL, 0);
		break;
	case OPT_TIMEOUT: cfg.opt.timeout_ms = atoi(optarg); break;
	case OPT_GIVE_UP: cfg.give_up = atoi(optarg); break;
	case OPT_TRAFFIC: cfg.traffic = atoi(optarg); break;
	case OPT_PAUSE: cfg.opt.pause_ms = atoi(optarg); break;
	case OPT_STALL: cfg.stall = atoi(optarg); break;
	case OPT_LIST: cfg.list = true; break;
	default: return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	int c, i;

	while ((c = getopt_long(argc, argv, "lsd:g:p:t:eq:r:h", longs, NULL)) !=
	       -1) {
		if (c == 'h' || take_option(c)) {
			usage(c == 'h' ? stdout : stderr);
			return c == 'h' ? 0 : 2;
		}
	}
	cfg.host = optind < argc ? argv[optind] : NULL;
	if (cfg.list) {
		for (i = 0; i < xfer_count; i++)
			if (selected(&xfer_tests[i]))
				printf("%s\n", xfer_tests[i].name);
		return 0;
	}
	if (cfg.opt.timeout_ms < 1 || cfg.opt.pause_ms < 0 ||
	    cfg.stall < 0 || cfg.traffic < 0 || cfg.give_up < 1 ||
	    (!cfg.stall && cfg.loop + cfg.server + !!cfg.host != 1)) {
		usage(stderr);
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	signal(SIGALRM, test_hangs);
	if (cfg.stall)
		return xfer_stall(&cfg.opt, cfg.stall);
	return cfg.loop ? run_loop() : run_net();
}
