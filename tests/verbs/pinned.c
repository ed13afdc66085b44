// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * vhca-pinned: memory that a process registers counts against its RLIMIT_MEMLOCK, each
 * time that it registers it, and queue memory that its provider allocates does too.
 * Prints a line for each step: NAME ok|ERRNO and by how many KiB VmPin of
 * /proc/self/status grew. Run it without CAP_IPC_LOCK, natively and in a guest.
 *
 * vhca-pinned [DEVICE]
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "vt.h"

#define LEN	(512u << 10)
#define ROUNDS	100

/* KiB */
static long vm_pin(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[128];
	long kib = -1;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmPin: %ld kB", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

static long before;

static void step(const char *name, int err)
{
	long now = vm_pin();

	printf("%s %s %+ld\n", name, err ? vt_errno(err) : "ok", now - before);
	before = now;
}

static struct ibv_mr *reg(struct ibv_pd *pd, void *mem, const char *name)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, mem, LEN, IBV_ACCESS_LOCAL_WRITE);

	step(name, mr ? 0 : errno);
	return mr;
}

/* Of what is pinned now, and @kib more. */
static void limit(long kib)
{
	struct rlimit lim;

	getrlimit(RLIMIT_MEMLOCK, &lim);
	lim.rlim_cur = (rlim_t)(vm_pin() + kib) << 10;
	step("limit", setrlimit(RLIMIT_MEMLOCK, &lim) ? errno : 0);
}

static void regions(struct ibv_pd *pd, void *mem)
{
	struct ibv_mr *one = reg(pd, mem, "reg"), *two, *three;

	two = reg(pd, mem, "reg_same_pages");
	limit(LEN / 1024 - 4);
	three = reg(pd, mem, "reg_over_limit");
	if (two)
		step("dereg", ibv_dereg_mr(two));
	two = reg(pd, mem, "reg_within_limit");
	if (three)
		ibv_dereg_mr(three);
	if (two)
		ibv_dereg_mr(two);
	if (one)
		ibv_dereg_mr(one);
	step("dereg_all", 0);
}

static void queues(struct ibv_context *ctx, struct ibv_pd *pd)
{
	struct ibv_qp_init_attr qa = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 256, .max_recv_wr = 256,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_cq *cq = ibv_create_cq(ctx, 1000, NULL, NULL, 0);
	struct ibv_qp *qp = NULL;

	step("create_cq", cq ? 0 : errno);
	if (cq) {
		qa.send_cq = qa.recv_cq = cq;
		qp = ibv_create_qp(pd, &qa);
		step("create_qp", qp ? 0 : errno);
	}
	if (qp)
		step("destroy_qp", ibv_destroy_qp(qp));
	if (cq)
		step("destroy_cq", ibv_destroy_cq(cq));
}

/*
 * The provider of an mlx5 has the doorbell records of many objects in one page, which is
 * pinned with the first of them. That one goes first.
 */
static void records(struct ibv_context *ctx)
{
	struct ibv_cq *cq[4] = { };
	int i, n, err = 0;

	for (n = 0; n < ROUNDS && !err; n++) {
		for (i = 0; i < (int)VT_ARRAY_SIZE(cq); i++) {
			cq[i] = ibv_create_cq(ctx, 10, NULL, NULL, 0);
			err = cq[i] ? err : errno;
		}
		if (!n)
			step("create_cqs", err);
		for (i = 0; i < (int)VT_ARRAY_SIZE(cq); i++) {
			if (cq[i] && ibv_destroy_cq(cq[i]))
				err = errno;
			if (!n && !i)
				step("destroy_first", err);
		}
	}
	step("many_cqs", err);
}

int main(int argc, char **argv)
{
	void *mem = mmap(NULL, LEN, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char why[VT_WHY];
	struct ibv_context *ctx;
	struct ibv_pd *pd;

	if (mem == MAP_FAILED || vm_pin() < 0) {
		fprintf(stderr, "vhca-pinned: no memory, or no VmPin in /proc/self/status\n");
		return 2;
	}
	memset(mem, 1, LEN);
	ctx = vt_open_name(argc > 1 ? argv[1] : NULL, why);
	if (!ctx) {
		fprintf(stderr, "vhca-pinned: %s\n", why);
		return 2;
	}
	step("open", 0);
	pd = ibv_alloc_pd(ctx);
	if (!pd)
		return 2;
	queues(ctx, pd);
	records(ctx);
	regions(pd, mem);
	ibv_dealloc_pd(pd);
	ibv_close_device(ctx);
	step("close", 0);
	return before ? 1 : 0;
}
