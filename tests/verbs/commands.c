// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * vhca-commands: how many commands of the command ring each verb costs in a guest,
 * by the counter of its device in debugfs. A line for each: VERB NUMBER; MUNMAP, which
 * serves many verbs, has a line of its own. What the
 * HCA does not have is left out. docs/design/data-path.md promises the numbers.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BUF	8192
#define QUIET_MS	40	/* a refresh of the port may be under way */
#define MUNMAP_MS	1500	/* MUNMAP is sent a second after munmap() */
#define MANY		100

static const char *dev_name;

/* Of all commands but MUNMAP, or of that one. */
static long counter(bool munmap)
{
	char path[128], name[32];
	long value, cmds = -1, munmaps = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/debug/xen-vhca/%s/stats",
		 dev_name);
	f = fopen(path, "re");
	if (!f) {
		fprintf(stderr, "vhca-commands: %s: %s (mount -t debugfs none /sys/kernel/debug)\n",
			path, strerror(errno));
		exit(2);
	}
	while (fscanf(f, "%31s %ld", name, &value) == 2)
		if (!strcmp(name, "cmds"))
			cmds = value;
		else if (!strcmp(name, "munmaps"))
			munmaps = value;
	fclose(f);
	return munmap ? munmaps : cmds - munmaps;
}

/* When it has not moved for a while. */
static long settled(void)
{
	long last, now = counter(false);
	int same = 0;

	while (same < 3) {
		last = now;
		usleep(QUIET_MS * 1000);
		now = counter(false);
		same = now == last ? same + 1 : 0;
	}
	return now;
}

static long before;

static void begin(void)
{
	before = settled();
}

/* @ok: 0: the HCA has it not. */
static void end(const char *verb, int ok)
{
	long n = settled() - before;

	if (ok)
		printf("%s %ld\n", verb, n);
	before += n;
}

struct all {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	union ibv_gid gid;
	void *mem;
};

static void device(struct all *a)
{
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	uint16_t pkey;

	end("ibv_query_device", !ibv_query_device(a->ctx, &attr));
	end("ibv_query_port", !ibv_query_port(a->ctx, 1, &port));
	end("ibv_query_gid", !ibv_query_gid(a->ctx, 1, 1, &a->gid));
	end("ibv_query_pkey", !ibv_query_pkey(a->ctx, 1, 0, &pkey));
	a->pd = ibv_alloc_pd(a->ctx);
	end("ibv_alloc_pd", !!a->pd);
}

static void regions(struct all *a)
{
	struct ibv_mw *mw;

	a->mr = ibv_reg_mr(a->pd, a->mem, BUF, IBV_ACCESS_LOCAL_WRITE);
	end("ibv_reg_mr", !!a->mr);
	end("ibv_rereg_mr", !ibv_rereg_mr(a->mr, IBV_REREG_MR_CHANGE_ACCESS,
					  a->pd, a->mem, BUF,
					  IBV_ACCESS_LOCAL_WRITE |
					  IBV_ACCESS_REMOTE_READ));
	mw = ibv_alloc_mw(a->pd, IBV_MW_TYPE_1);
	end("ibv_alloc_mw", !!mw);
	if (mw)
		end("ibv_dealloc_mw", !ibv_dealloc_mw(mw));
}

static void shared_queue(struct all *a)
{
	struct ibv_srq_init_attr init = {
		.attr = { .max_wr = 16, .max_sge = 1 },
	};
	struct ibv_srq_attr attr = { .srq_limit = 4 };

	a->srq = ibv_create_srq(a->pd, &init);
	end("ibv_create_srq", !!a->srq);
	if (!a->srq)
		return;
	end("ibv_modify_srq", !ibv_modify_srq(a->srq, &attr, IBV_SRQ_LIMIT));
	end("ibv_query_srq", !ibv_query_srq(a->srq, &attr));
}

static void post(struct all *a)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)a->mem, .length = 64, .lkey = a->mr->lkey,
	};
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_wc wc;

	end("ibv_post_recv", !ibv_post_recv(a->qp, &wr, &bad));
	if (a->srq)
		end("ibv_post_srq_recv", !ibv_post_srq_recv(a->srq, &wr, &bad));
	end("ibv_poll_cq", ibv_poll_cq(a->cq, 1, &wc) == 0);
	end("ibv_req_notify_cq", !ibv_req_notify_cq(a->cq, 0));
}

static void queue_pair(struct all *a)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD, .send_cq = a->cq, .recv_cq = a->cq,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 0x1234,
	};

	a->qp = ibv_create_qp(a->pd, &init);
	end("ibv_create_qp", !!a->qp);
	if (!a->qp)
		return;
	end("ibv_modify_qp", !ibv_modify_qp(a->qp, &attr, IBV_QP_STATE |
					    IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					    IBV_QP_QKEY));
	end("ibv_query_qp", !ibv_query_qp(a->qp, &attr, IBV_QP_STATE, &init));
	if (a->mr)
		post(a);
}

static void addresses(struct all *a)
{
	struct ibv_ah_attr attr = {
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = a->gid, .sgid_index = 1, .hop_limit = 1 },
	};
	struct ibv_ah *ah = ibv_create_ah(a->pd, &attr);
	union ibv_gid group = { .raw = { 0xff, 0x0e, [15] = 0x77 } };

	end("ibv_create_ah", !!ah);
	if (ah)
		end("ibv_destroy_ah", !ibv_destroy_ah(ah));
	if (!a->qp || ibv_attach_mcast(a->qp, &group, 0)) {
		begin();
		return;
	}
	end("ibv_attach_mcast", 1);
	end("ibv_detach_mcast", !ibv_detach_mcast(a->qp, &group, 0));
}

static void ends(struct all *a)
{
	if (a->qp)
		end("ibv_destroy_qp", !ibv_destroy_qp(a->qp));
	if (a->srq)
		end("ibv_destroy_srq", !ibv_destroy_srq(a->srq));
	if (a->cq)
		end("ibv_destroy_cq", !ibv_destroy_cq(a->cq));
	if (a->mr)
		end("ibv_dereg_mr", !ibv_dereg_mr(a->mr));
	if (a->pd)
		end("ibv_dealloc_pd", !ibv_dealloc_pd(a->pd));
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* MUNMAPs since @first, but for those that a second each has sent since @since. */
static long munmaps_but_late(long first, double since)
{
	long n, late = (long)(seconds() - since);

	usleep(MUNMAP_MS * 1000);
	n = counter(true) - first;
	return n > late ? n - late : n != 0;
}

/* One MUNMAP serves many ends; how many, for queues of MANY queue pairs? */
static void many(struct all *a)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD, .send_cq = a->cq, .recv_cq = a->cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp *qp[MANY];
	double since;
	long first;
	int i, n = 0;

	while (n < MANY && (qp[n] = ibv_create_qp(a->pd, &init)))
		n++;
	usleep(MUNMAP_MS * 1000);
	first = counter(true);
	since = seconds();
	for (i = 0; i < n; i++)
		ibv_destroy_qp(qp[i]);
	if (n == MANY)
		printf("ibv_destroy_qp_100 %ld\n", munmaps_but_late(first, since));
}

/* A process that has MANY queue pairs: tells when, waits, and exits. */
static void have_many(struct ibv_device *device_, int tell, int wait_)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_context *ctx = ibv_open_device(device_);
	struct ibv_pd *pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	static char mem[BUF];
	char c;
	int n;

	if (!pd || !ibv_reg_mr(pd, mem, BUF, IBV_ACCESS_LOCAL_WRITE))
		_exit(1);
	init.send_cq = init.recv_cq = ibv_create_cq(ctx, 64, NULL, NULL, 0);
	for (n = 0; init.send_cq && n < MANY; n++)
		if (!ibv_create_qp(pd, &init))
			_exit(1);
	if (n < MANY || write(tell, "", 1) != 1 || read(wait_, &c, 1) != 1)
		_exit(1);
	_exit(0);
}

/* What does it cost to exit? Before this process opens the device itself. */
static void exits(struct ibv_device *device_)
{
	int ready[2], go[2], status = 1;
	char c;
	pid_t pid;

	if (pipe(ready) || pipe(go))
		return;
	pid = fork();
	if (!pid)
		have_many(device_, ready[1], go[0]);
	close(ready[1]);
	if (pid > 0 && read(ready[0], &c, 1) == 1) {
		begin();
		if (write(go[1], "", 1) == 1)
			waitpid(pid, &status, 0);
		end("ibv_exit_100", !status);
	}
	close(ready[0]);
	close(go[0]);
	close(go[1]);
}

static int run(struct ibv_device *device_)
{
	struct all a = {};

	if (posix_memalign(&a.mem, 4096, BUF))
		return 2;
	memset(a.mem, 0, BUF);
	exits(device_);
	begin();
	a.ctx = ibv_open_device(device_);
	end("ibv_open_device", !!a.ctx);
	if (!a.ctx)
		return 1;
	device(&a);
	if (!a.pd)
		return 1;
	regions(&a);
	a.cq = ibv_create_cq(a.ctx, 64, NULL, NULL, 0);
	end("ibv_create_cq", !!a.cq);
	if (a.cq)
		end("ibv_resize_cq", !ibv_resize_cq(a.cq, 128));
	shared_queue(&a);
	if (a.cq)
		queue_pair(&a);
	addresses(&a);
	if (a.cq)
		many(&a);
	begin();
	ends(&a);
	end("ibv_close_device", !ibv_close_device(a.ctx));
	free(a.mem);
	return 0;
}

int main(int argc, char **argv)
{
	struct ibv_device **list;
	int i, n = 0, rc = 2;

	if (argc != 2 || argv[1][0] == '-') {
		fputs("usage: vhca-commands DEVICE\n", stderr);
		return 2;
	}
	dev_name = argv[1];
	list = ibv_get_device_list(&n);
	for (i = 0; i < n; i++)
		if (!strcmp(ibv_get_device_name(list[i]), dev_name))
			break;
	if (i < n)
		rc = run(list[i]);
	else
		fprintf(stderr, "vhca-commands: no device %s\n", dev_name);
	if (list)
		ibv_free_device_list(list);
	return rc;
}
