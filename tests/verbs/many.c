// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * vhca-many: thousands of objects, of one process or of several, and a guest that
 * does nothing else beside one that does little. It counts the verbs that it
 * calls, which natively are system calls of one each, and what they cost the vhca:
 * by the counters of its device in debugfs, all 0 on a bare HCA. Lines are
 * "name number ...", for a scenario to read.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "many.h"

#define MIB		(1ul << 20)
#define MAX_PROCESSES	64
#define EVENT_S		10	/* times TIME_SCALE, if the environment has it */

static const char *const counted[MANY_COUNTED] = {
	"cmds", "munmaps", "irqs", "kick_notifies", "cmd_notifies", "cmd_sleeps",
};

volatile sig_atomic_t many_over;

static void on_signal(int sig)
{
	(void)sig;
	many_over = 1;
}

int many_failed(const char *what, int err)
{
	fprintf(stderr, "vhca-many: %s: %s\n", what, vt_errno(err));
	return 1;
}

/* ---- counters ---- */
static void count(const struct many *m, long value[MANY_COUNTED])
{
	char path[128], name[32];
	long v;
	size_t i;
	FILE *f;

	memset(value, 0, MANY_COUNTED * sizeof(*value));
	snprintf(path, sizeof(path), "/sys/kernel/debug/xen-vhca/%s/stats",
		 ibv_get_device_name(m->dev.ctx->device));
	f = fopen(path, "re");
	while (f && fscanf(f, "%31s %ld", name, &v) == 2)
		for (i = 0; i < MANY_COUNTED; i++)
			if (!strcmp(name, counted[i]))
				value[i] = v;
	if (f)
		fclose(f);
}

void many_begin(struct many *m)
{
	m->verbs = 0;
	count(m, m->before);
	m->start = vt_now_ns();
}

void many_end(struct many *m, const char *what)
{
	double ms = (double)(vt_now_ns() - m->start) / 1e6;
	long now[MANY_COUNTED];
	size_t i;

	if (m->sum) {		/* the parent tells */
		__atomic_fetch_add(m->sum, m->verbs, __ATOMIC_RELAXED);
		return;
	}
	count(m, now);
	printf("%s objects %ld verbs %ld ms %.1f", what, m->n, m->verbs, ms);
	for (i = 0; i < MANY_COUNTED; i++)
		printf(" %s %ld", counted[i], now[i] - m->before[i]);
	printf("\n");
	fflush(stdout);
}

/* ---- queue pairs ---- */
static int to_rts(struct many *m, struct ibv_qp *qp)
{
	static const int mask[] = {
		IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
		IBV_QP_ACCESS_FLAGS,
		IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
		IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
		IBV_QP_MIN_RNR_TIMER,
		IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
		IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
	};
	struct ibv_qp_attr a = {
		.port_num = VT_PORT, .path_mtu = m->dev.port.active_mtu,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
		.dest_qp_num = qp->qp_num, .min_rnr_timer = 12, .timeout = 14,
		.retry_cnt = 7, .rnr_retry = 7,
	};
	size_t i;
	int err = 0;

	a.ah_attr.is_global = 1;
	a.ah_attr.port_num = VT_PORT;
	a.ah_attr.dlid = m->dev.port.lid;
	a.ah_attr.grh.dgid = m->dev.gid;
	a.ah_attr.grh.hop_limit = 64;
	a.ah_attr.grh.sgid_index = (uint8_t)m->dev.gid_index;
	for (i = 0; i < VT_ARRAY_SIZE(mask) && !err; i++) {
		a.qp_state = IBV_QPS_INIT + i;
		err = ibv_modify_qp(qp, &a, mask[i]);
		m->verbs++;
	}
	return err;
}

static struct ibv_qp *qp_new(struct many *m)
{
	struct ibv_qp_init_attr ia = {
		.qp_type = IBV_QPT_RC, .send_cq = m->cq, .recv_cq = m->cq,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};

	m->verbs++;
	return ibv_create_qp(m->dev.pd, &ia);
}

static int cq_new(struct many *m)
{
	if (!m->chan)
		m->chan = ibv_create_comp_channel(m->dev.ctx);
	m->cq = ibv_create_cq(m->dev.ctx, 64, NULL, m->chan, 0);
	return m->cq && m->chan ? 0 : many_failed("ibv_create_cq", errno);
}

void many_hold(int seconds)
{
	struct timespec s = { .tv_nsec = 100000000 };
	uint64_t until = vt_now_ns() + (uint64_t)seconds * 1000000000ull;

	if (!seconds)
		return;
	printf("held\n");
	fflush(stdout);
	while (!many_over && vt_now_ns() < until)
		nanosleep(&s, NULL);
}

static int make_qps(struct many *m)
{
	long i;
	int err;

	m->qp = calloc((size_t)m->n, sizeof(*m->qp));
	if (!m->qp || cq_new(m))
		return 1;
	many_begin(m);
	for (i = 0; i < m->n; i++) {
		m->qp[i] = qp_new(m);
		if (!m->qp[i])
			return many_failed("ibv_create_qp", errno);
		err = to_rts(m, m->qp[i]);
		if (err)
			return many_failed("ibv_modify_qp", err);
	}
	many_end(m, "qps");
	return 0;
}

static int end_qps(struct many *m)
{
	long i;

	many_begin(m);
	for (i = 0; i < m->n; i++, m->verbs++)
		if (ibv_destroy_qp(m->qp[i]))
			return many_failed("ibv_destroy_qp", errno);
	many_end(m, "end_qps");
	return ibv_destroy_cq(m->cq) ? many_failed("ibv_destroy_cq", errno) : 0;
}

static int qps(struct many *m, int seconds)
{
	if (make_qps(m))
		return 1;
	many_hold(seconds);
	return end_qps(m);
}

/* ---- regions ---- */
static int memory(struct many *m, size_t len)
{
	m->len = len;
	m->mem = mmap(NULL, len, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (m->mem != MAP_FAILED)
		return 0;
	fprintf(stderr, "vhca-many: no %zu MiB of memory\n", len / MIB);
	return 1;
}

static struct ibv_mr *mr_new(struct many *m, size_t at, size_t len)
{
	m->verbs++;
	return ibv_reg_mr(m->dev.pd, m->mem + at, len, IBV_ACCESS_LOCAL_WRITE |
			  IBV_ACCESS_REMOTE_WRITE);
}

/* m->n regions that lie one behind the other. */
static int regions(struct many *m, const char *what, size_t len, int seconds)
{
	char name[32];
	long i;

	m->mr = calloc((size_t)m->n, sizeof(*m->mr));
	if (!m->mr || memory(m, (size_t)m->n * len))
		return 1;
	many_begin(m);
	for (i = 0; i < m->n; i++) {
		m->mr[i] = mr_new(m, (size_t)i * len, len);
		if (!m->mr[i])
			return many_failed("ibv_reg_mr", errno);
	}
	many_end(m, what);
	many_hold(seconds);
	many_begin(m);
	for (i = 0; i < m->n; i++, m->verbs++)
		if (ibv_dereg_mr(m->mr[i]))
			return many_failed("ibv_dereg_mr", errno);
	snprintf(name, sizeof(name), "end_%s", what);
	many_end(m, name);
	return 0;
}

/* ---- a guest that does nothing else ---- */
static int churn_once(struct many *m, bool reg)
{
	struct ibv_mr *mr;
	struct ibv_qp *qp;

	m->verbs++;
	if (reg) {
		mr = mr_new(m, 0, m->len);
		return !mr || ibv_dereg_mr(mr);
	}
	qp = qp_new(m);
	return !qp || ibv_destroy_qp(qp);
}

static int churn(struct many *m, bool reg, int seconds)
{
	uint64_t until = vt_now_ns() + (uint64_t)seconds * 1000000000ull;

	if (cq_new(m) || memory(m, (size_t)m->n * MIB))
		return 1;
	printf("begun\n");
	fflush(stdout);
	many_begin(m);
	while (!many_over && vt_now_ns() < until)
		if (churn_once(m, reg))
			return many_failed("churn", errno);
	many_end(m, "churn");
	return 0;
}

/* ---- one that does little ---- */
static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void percentiles(const char *what, double *us, long n)
{
	qsort(us, (size_t)n, sizeof(*us), compare);
	printf("%s p50_us %.0f p99_us %.0f max_us %.0f\n", what, us[n / 2],
	       us[n * 99 / 100], us[n - 1]);
	fflush(stdout);
}

/* In seconds. */
static unsigned int event_limit(void)
{
	const char *text = getenv("TIME_SCALE");
	int scale = text ? atoi(text) : 1;

	return EVENT_S * (unsigned int)(scale > 1 ? scale : 1);
}

/* A write to itself, and the event of its completion. */
static int event_once(struct many *m, struct ibv_qp *qp, struct ibv_mr *mr)
{
	struct ibv_sge sge = { (uintptr_t)m->mem, 8, mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *arg;

	wr.wr.rdma.remote_addr = (uintptr_t)m->mem + 64;
	wr.wr.rdma.rkey = mr->rkey;
	m->verbs++;
	if (ibv_req_notify_cq(m->cq, 0) || ibv_post_send(qp, &wr, &bad))
		return many_failed("ibv_post_send", errno);
	alarm(event_limit());
	if (ibv_get_cq_event(m->chan, &cq, &arg))
		return many_failed("ibv_get_cq_event", errno);
	alarm(0);
	ibv_ack_cq_events(cq, 1);
	if (ibv_poll_cq(m->cq, 1, &wc) != 1 || wc.status)
		return many_failed("completion", EIO);
	return 0;
}

static int probe_events(struct many *m, double *us)
{
	struct ibv_qp *qp = qp_new(m);
	struct ibv_mr *mr = memory(m, PAGE) ? NULL : mr_new(m, 0, PAGE);
	uint64_t t;
	int rc = 0;
	long i;

	if (!qp || !mr || to_rts(m, qp))
		return many_failed("an endpoint", errno);
	many_begin(m);
	for (i = 0; i < m->n && !rc; i++) {
		t = vt_now_ns();
		rc = event_once(m, qp, mr);
		us[i] = (double)(vt_now_ns() - t) / 1e3;
	}
	if (rc)
		return rc;
	many_end(m, "event");
	percentiles("event", us, m->n);
	return ibv_destroy_qp(qp) || ibv_dereg_mr(mr);
}

static int probe(struct many *m)
{
	double *us = calloc((size_t)m->n, sizeof(*us));
	struct ibv_qp *qp;
	uint64_t t;
	int rc;
	long i;

	if (!us || cq_new(m))
		return 1;
	many_begin(m);
	for (i = 0; i < m->n; i++) {
		t = vt_now_ns();
		qp = qp_new(m);
		us[i] = (double)(vt_now_ns() - t) / 1e3;
		if (!qp || ibv_destroy_qp(qp))
			return many_failed("a queue pair", errno);
		m->verbs++;
	}
	many_end(m, "create_qp");
	percentiles("create_qp", us, m->n);
	rc = probe_events(m, us);
	free(us);
	return rc;
}

/* ---- */
static int one(struct many *m, const char *mode, int seconds)
{
	char why[VT_WHY] = "";

	if (vt_open(&m->dev, &m->opt, why)) {
		fprintf(stderr, "vhca-many: %s\n", why);
		return 1;
	}
	if (!strcmp(mode, "qps"))
		return qps(m, seconds);
	if (!strcmp(mode, "mrs"))
		return regions(m, "mrs", PAGE, seconds);
	if (!strcmp(mode, "region")) {
		size_t len = (size_t)m->n * MIB;

		m->n = 1;
		return regions(m, "region", len, seconds);
	}
	if (!strcmp(mode, "create") || !strcmp(mode, "reg"))
		return churn(m, mode[0] == 'r', seconds);
	if (!strcmp(mode, "open"))
		return many_open(m, seconds);
	if (!strcmp(mode, "spread"))
		return many_spread(m, seconds);
	return probe(m);
}

static int wait_for_all(int n)
{
	int status, rc = 0;

	while (n-- && wait(&status) > 0)
		rc |= !WIFEXITED(status) || WEXITSTATUS(status);
	return rc;
}

/* Each makes its part, and ends it; the device's counters are those of all. */
static int several(struct many *m, const char *mode, int seconds, int n)
{
	char why[VT_WHY] = "";
	struct many child = *m;
	int i, rc;

	child.sum = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (child.sum == MAP_FAILED || vt_open(&m->dev, &m->opt, why)) {
		fprintf(stderr, "vhca-many: %s\n", why);
		return 1;
	}
	child.n /= n;
	many_begin(m);
	for (i = 0; i < n; i++) {
		pid_t pid = fork();

		if (!pid)
			exit(one(&child, mode, seconds));
		if (pid < 0)
			break;
	}
	rc = wait_for_all(i) || i < n;
	m->verbs = *child.sum;
	many_end(m, "all");
	vt_close(&m->dev);
	return rc;
}

static int usage(int rc)
{
	fprintf(rc ? stderr : stdout,
"usage: vhca-many [-d DEVICE] [-g GID-INDEX] [-p PROCESSES] [-a PROCESSES] [-w SECONDS] MODE N\n"
"  qps N     N RC queue pairs to RTS, and their end; N over all processes\n"
"  mrs N     N regions of 4 KiB\n"
"  region N  one region of N MiB\n"
"  create N  makes and destroys queue pairs for the seconds of -w; N is ignored\n"
"  reg N     likewise registers N MiB\n"
"  probe N   N times create_qp, and an event: how long, p50 and p99\n"
"  open N    N processes that open the device, beside this one, so many of -a\n"
"            at a time (32 at most, and unless given); not with -p\n"
"  spread N  keeps N queue pairs, each 512 numbers from the next, if it can\n"
"-w: how long qps, mrs, region, open and spread hold what they made; they print \"held\" then.\n");
	return rc;
}

static bool known(const char *mode)
{
	static const char *const modes[] = { "qps", "mrs", "region", "create",
					     "reg", "probe", "open", "spread" };
	size_t i = 0;

	while (i < VT_ARRAY_SIZE(modes) && strcmp(mode, modes[i]))
		i++;
	return i < VT_ARRAY_SIZE(modes);
}

int main(int argc, char **argv)
{
	struct many m = { .opt = { .gid_index = 1, .timeout_ms = 5000 },
			  .at_once = MANY_AT_ONCE };
	struct sigaction sa = { .sa_handler = on_signal };
	int c, seconds = 0, processes = 1;

	while ((c = getopt(argc, argv, "a:d:g:p:w:h")) != -1) {
		switch (c) {
		case 'a': m.at_once = atoi(optarg); break;
		case 'd': m.opt.dev = optarg; break;
		case 'g': m.opt.gid_index = atoi(optarg); break;
		case 'p': processes = atoi(optarg); break;
		case 'w': seconds = atoi(optarg); break;
		default: return usage(c == 'h' ? 0 : 2);
		}
	}
	if (argc - optind != 2 || !known(argv[optind]) || processes < 1 ||
	    processes > MAX_PROCESSES || m.at_once < 1 ||
	    m.at_once > MANY_AT_ONCE)
		return usage(2);
	m.n = atol(argv[optind + 1]);
	if (m.n < processes ||
	    (!strcmp(argv[optind], "open") && (processes > 1 || m.n > MANY_OPEN)))
		return usage(2);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	return processes == 1 ? one(&m, argv[optind], seconds) :
				several(&m, argv[optind], seconds, processes);
}
