// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * vhca-signals: verbs of a process that a profiler interrupts. Each verb has the result
 * that it has without signals, as the first of its kind in a process and as a later one,
 * under timers of several periods and kinds, with SA_RESTART and without. The connection
 * manager and the management datagrams are asked, too, where their files can be opened.
 * Files are read without waiting: what waits for an event is interrupted by right.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "signals.h"

#define BUF	65536

/* ---- verbs: 0 or errno ---- */

static int made(const void *obj)
{
	return obj ? 0 : errno;
}

static int dev_open(struct all *a)
{
	char why[VT_WHY];

	errno = 0;
	if (!vt_open(&a->dev, a->o, why))
		return 0;
	fprintf(stderr, "vhca-signals: %s\n", why);
	return errno ? errno : EIO;
}

static int query(struct all *a)
{
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	union ibv_gid gid;
	uint16_t pkey;

	return ibv_query_device(a->dev.ctx, &attr) ||
	       ibv_query_port(a->dev.ctx, VT_PORT, &port) ||
	       ibv_query_gid(a->dev.ctx, VT_PORT, a->dev.gid_index, &gid) ||
	       ibv_query_pkey(a->dev.ctx, VT_PORT, 0, &pkey) ? errno : 0;
}

static int reg_mr(struct all *a)
{
	a->mr = ibv_reg_mr(a->dev.pd, a->mem, BUF, IBV_ACCESS_LOCAL_WRITE);
	return made(a->mr);
}

static int rereg_mr(struct all *a)
{
	return ibv_rereg_mr(a->mr, IBV_REREG_MR_CHANGE_ACCESS, a->dev.pd, a->mem,
			    BUF, IBV_ACCESS_LOCAL_WRITE |
			    IBV_ACCESS_REMOTE_READ) ? errno : 0;
}

static int alloc_mw(struct all *a)
{
	a->mw = ibv_alloc_mw(a->dev.pd, IBV_MW_TYPE_1);
	return made(a->mw);
}

static int dealloc_mw(struct all *a)
{
	return a->mw ? ibv_dealloc_mw(a->mw) : 0;
}

static int create_chan(struct all *a)
{
	a->chan = ibv_create_comp_channel(a->dev.ctx);
	if (a->chan)
		fcntl(a->chan->fd, F_SETFL, O_NONBLOCK);
	return made(a->chan);
}

static int create_cq(struct all *a)
{
	a->cq = ibv_create_cq(a->dev.ctx, 63, NULL, a->chan, 0);
	return made(a->cq);
}

static int resize_cq(struct all *a)
{
	return ibv_resize_cq(a->cq, 255);
}

static int notify(struct all *a)
{
	return ibv_req_notify_cq(a->cq, 0);
}

/* There may be one, as of an SRQ with few receives: whether there is, is not looked at. */
static int get_events(struct all *a)
{
	struct ibv_async_event event;
	struct ibv_cq *cq;
	void *ctx;
	int err = 0;

	fcntl(a->dev.ctx->async_fd, F_SETFL, O_NONBLOCK);
	if (!ibv_get_cq_event(a->chan, &cq, &ctx))
		ibv_ack_cq_events(cq, 1);
	else
		err = errno;
	if (!ibv_get_async_event(a->dev.ctx, &event))
		ibv_ack_async_event(&event);
	else if (err == EAGAIN)
		err = errno;
	return err == EAGAIN ? 0 : err;
}

static int create_srq(struct all *a)
{
	struct ibv_srq_init_attr sa = { .attr = { 15, 1, 0 } };

	a->srq = ibv_create_srq(a->dev.pd, &sa);
	return made(a->srq);
}

static int modify_srq(struct all *a)
{
	struct ibv_srq_attr attr = { .srq_limit = 1 };

	return ibv_modify_srq(a->srq, &attr, IBV_SRQ_LIMIT);
}

static int query_srq(struct all *a)
{
	struct ibv_srq_attr attr;

	return ibv_query_srq(a->srq, &attr);
}

static int create_qp(struct all *a)
{
	struct ibv_qp_init_attr qa = {
		.qp_type = IBV_QPT_UD, .cap = { 8, 8, 1, 1, 0 },
		.send_cq = a->cq, .recv_cq = a->cq,
	};

	a->qp = ibv_create_qp(a->dev.pd, &qa);
	return made(a->qp);
}

static int modify_qp(struct all *a)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = VT_PORT, .qkey = VT_QKEY,
	};
	int err = ibv_modify_qp(a->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
				IBV_QP_PORT | IBV_QP_QKEY);

	attr.qp_state = IBV_QPS_RTR;
	if (!err)
		err = ibv_modify_qp(a->qp, &attr, IBV_QP_STATE);
	attr.qp_state = IBV_QPS_RTS;
	return err ? err : ibv_modify_qp(a->qp, &attr,
					 IBV_QP_STATE | IBV_QP_SQ_PSN);
}

static int query_qp(struct all *a)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return ibv_query_qp(a->qp, &attr, IBV_QP_STATE | IBV_QP_CAP, &init);
}

static int create_ah(struct all *a)
{
	struct ibv_ah_attr attr = {
		.is_global = 1, .port_num = VT_PORT, .dlid = a->dev.port.lid,
		.grh = { .dgid = a->dev.gid, .hop_limit = 1,
			 .sgid_index = a->dev.gid_index },
	};

	a->ah = ibv_create_ah(a->dev.pd, &attr);
	return made(a->ah);
}

/* To nobody: it ends with the queue pair. */
static int post(struct all *a)
{
	struct ibv_sge sge = { (uintptr_t)a->mem, 64, a->mr->lkey };
	struct ibv_recv_wr rwr = { .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1,
		.wr.ud = { a->ah, 1, VT_QKEY },
	}, *bad;
	int err = ibv_post_recv(a->qp, &rwr, &bad_recv);

	return err ? err : ibv_post_send(a->qp, &wr, &bad);
}

static int mcast(struct all *a)
{
	int err = ibv_attach_mcast(a->qp, &a->group, 0);

	return err ? err : ibv_detach_mcast(a->qp, &a->group, 0);
}

/* ---- kinds that not every HCA has: what there is not is not used ---- */

static int open_xrcd(struct all *a)
{
	struct ibv_xrcd_init_attr xa = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1, .oflags = O_CREAT,
	};

	a->xrcd = ibv_open_xrcd(a->dev.ctx, &xa);
	return made(a->xrcd);
}

static int xrc_srq(struct all *a)
{
	struct ibv_srq_init_attr_ex sa = {
		.attr = { 15, 1, 0 }, .srq_type = IBV_SRQT_XRC,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.pd = a->dev.pd, .xrcd = a->xrcd, .cq = a->cq,
	};

	a->xrc_srq = a->xrcd ? ibv_create_srq_ex(a->dev.ctx, &sa) : NULL;
	return a->xrcd ? made(a->xrc_srq) : ENODEV;
}

static int xrc_send(struct all *a)
{
	struct ibv_qp_init_attr_ex qa = {
		.qp_type = IBV_QPT_XRC_SEND, .cap = { 8, 0, 1, 0, 0 },
		.comp_mask = IBV_QP_INIT_ATTR_PD, .pd = a->dev.pd,
		.send_cq = a->cq,
	};

	a->xrc_send = a->xrcd ? ibv_create_qp_ex(a->dev.ctx, &qa) : NULL;
	return a->xrcd ? made(a->xrc_send) : ENODEV;
}

static int xrc_recv(struct all *a)
{
	struct ibv_qp_init_attr_ex qa = {
		.qp_type = IBV_QPT_XRC_RECV, .xrcd = a->xrcd,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
	};

	a->xrc_recv = a->xrcd ? ibv_create_qp_ex(a->dev.ctx, &qa) : NULL;
	return a->xrcd ? made(a->xrc_recv) : ENODEV;
}

static int destroy_xrc(struct all *a)
{
	int err = a->xrc_send ? ibv_destroy_qp(a->xrc_send) : 0;

	if (!err && a->xrc_recv)
		err = ibv_destroy_qp(a->xrc_recv);
	if (!err && a->xrc_srq)
		err = ibv_destroy_srq(a->xrc_srq);
	return err;
}

static int close_xrcd(struct all *a)
{
	return a->xrcd ? ibv_close_xrcd(a->xrcd) : 0;
}

static int tag_srq(struct all *a)
{
	struct ibv_srq_init_attr_ex sa = {
		.attr = { 15, 1, 0 }, .srq_type = IBV_SRQT_TM,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM,
		.pd = a->dev.pd, .cq = a->cq, .tm_cap = { 15, 4 },
	};

	a->tag_srq = ibv_create_srq_ex(a->dev.ctx, &sa);
	return made(a->tag_srq);
}

static int destroy_tag_srq(struct all *a)
{
	return a->tag_srq ? ibv_destroy_srq(a->tag_srq) : 0;
}

/* ---- ends ---- */

static int destroy_qp(struct all *a) { return ibv_destroy_qp(a->qp); }
static int destroy_ah(struct all *a) { return ibv_destroy_ah(a->ah); }
static int destroy_srq(struct all *a) { return ibv_destroy_srq(a->srq); }
static int destroy_cq(struct all *a) { return ibv_destroy_cq(a->cq); }
static int dereg_mr(struct all *a) { return ibv_dereg_mr(a->mr); }

static int destroy_chan(struct all *a)
{
	return ibv_destroy_comp_channel(a->chan);
}

static int dev_close(struct all *a)
{
	vt_close(&a->dev);
	return 0;
}

/* A list is of one kind of first queue: CQ, or SRQ. */
#define STEPS	63	/* at most */
#define STEP(f) { #f, f }
#define OPEN STEP(dev_open), STEP(query)
#define SRQ STEP(create_srq), STEP(modify_srq), STEP(query_srq)
#define CQ STEP(create_chan), STEP(create_cq), STEP(resize_cq), STEP(notify), \
	STEP(get_events)
#define REST STEP(reg_mr), STEP(rereg_mr), STEP(alloc_mw), STEP(dealloc_mw), \
	STEP(open_xrcd), STEP(xrc_srq), STEP(xrc_send), STEP(xrc_recv), \
	STEP(tag_srq), \
	STEP(create_qp), STEP(modify_qp), STEP(query_qp), STEP(create_ah), \
	STEP(post), STEP(mcast), STEP(cm_open), STEP(cm_create), \
	STEP(cm_listen), STEP(cm_event), STEP(cm_resolve_addr), \
	STEP(cm_resolve_route), STEP(cm_connect), STEP(cm_accept), \
	STEP(cm_disconnect), STEP(cm_join), STEP(cm_destroy), STEP(cm_close), \
	STEP(umad_open), STEP(umad_register), STEP(umad_read), \
	STEP(umad_send), STEP(umad_close), STEP(destroy_qp), STEP(destroy_ah), \
	STEP(destroy_tag_srq), STEP(destroy_xrc), STEP(close_xrcd), \
	STEP(destroy_srq), STEP(destroy_cq), STEP(destroy_chan), \
	STEP(dereg_mr), STEP(dev_close)
static const struct step {
	const char *name;
	int (*verb)(struct all *a);
} lists[2][STEPS + 1] = {
	{ OPEN, CQ, SRQ, REST },
	{ OPEN, SRQ, CQ, REST },
};
#define TWICE	2	/* the first of a process, and a later one */

/* ---- lives under timers ---- */

/* Of all processes. */
static struct shared {
	unsigned long signals;
	int result[TWICE * STEPS];
	int n;
} *now;

static void tick(int sig)
{
	(void)sig;
	__atomic_add_fetch(&now->signals, 1, __ATOMIC_RELAXED);
}

struct timer {
	long us;		/* 0: none */
	bool restart, posix;
};

static void start(const struct timer *t)
{
	struct sigaction act = {
		.sa_handler = tick, .sa_flags = t->restart ? SA_RESTART : 0,
	};
	struct itimerval every = { { 0, t->us }, { 0, t->us } };
	struct itimerspec spec = { { 0, t->us * 1000 }, { 0, t->us * 1000 } };
	timer_t id;

	if (!t->us)
		return;
	sigaction(SIGALRM, &act, NULL);
	if (t->posix ? timer_create(CLOCK_MONOTONIC, NULL, &id) ||
		       timer_settime(id, 0, &spec, NULL) :
		       setitimer(ITIMER_REAL, &every, NULL))
		exit(2);
}

static void life(const struct vt_opt *o, const struct step *list,
		 const struct timer *t)
{
	struct all a = { .o = o, .cm_ids = { -1, -1, -1, -1 } };
	const struct step *s;
	int i;

	a.group.raw[0] = 0xff;
	a.group.raw[1] = 0x0e;
	a.group.raw[15] = 0x18;
	a.mem = mmap(NULL, BUF, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	now->n = 0;
	start(t);
	for (i = 0; i < TWICE; i++)
		for (s = list; s->verb; s++) {
			now->result[now->n] = s->verb(&a);
			/* What there is not cannot be used. */
			if (now->result[now->n++] && (s->verb == dev_open ||
			    s->verb == create_cq || s->verb == create_srq ||
			    s->verb == create_qp || s->verb == reg_mr ||
			    s->verb == create_ah || s->verb == create_chan))
				_exit(0);
		}
	_exit(0);
}

static int live(const struct vt_opt *o, const struct step *list,
		const struct timer *t)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		life(o, list, t);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	if (!status)
		return 0;
	printf("FAIL: a process ended with status %#x\n", status);
	return -1;
}

static int compare(const struct step *list, const struct shared *quiet,
		   const struct timer *t)
{
	int i, n = 0, bad = 0;

	while (list[n].verb)
		n++;
	for (i = 0; i < now->n; i++) {
		if (now->result[i] == quiet->result[i])
			continue;
		bad++;
		printf("FAIL: %s, %s of its kind, every %ld us%s%s: %s, not %s\n",
		       list[i % n].name, i < n ? "the first" : "not the first",
		       t->us, t->restart ? ", SA_RESTART" : "",
		       t->posix ? ", timer_create" : "",
		       vt_errno(now->result[i]), vt_errno(quiet->result[i]));
	}
	return bad;
}

static int run(const struct vt_opt *o, int times)
{
	static const long periods[] = { 100, 300, 1000, 5000 };
	struct shared quiet;
	struct timer t = { };
	unsigned int i, list;
	int lives = 0, bad = 0;

	for (list = 0; list < 2; list++) {
		t.us = 0;
		if (live(o, lists[list], &t))
			return 2;
		quiet = *now;
		for (i = 0; i < (unsigned int)times; i++, lives++) {
			t = (struct timer){ periods[i % 4],
					    (i ^ i >> 2) & 1,
					    (i >> 1 ^ i >> 2) & 1 };
			if (live(o, lists[list], &t))
				return 2;
			bad += compare(lists[list], &quiet, &t);
			bad += now->n != quiet.n;
		}
	}
	for (i = 0; lists[1][i].verb; i++)
		printf("%s: %s\n", lists[1][i].name, vt_errno(quiet.result[i]));
	printf("%d processes, %lu signals, %d results differ\n", lives,
	       now->signals, bad);
	return bad || now->signals < (unsigned long)lives;
}

int main(int argc, char **argv)
{
	struct vt_opt o = { .timeout_ms = 5000 };
	int c, times = 8;

	while ((c = getopt(argc, argv, "d:g:n:h")) != -1) {
		switch (c) {
		case 'd': o.dev = optarg; break;
		case 'g': o.gid_index = atoi(optarg); break;
		case 'n': times = atoi(optarg); break;
		default:
			fprintf(c == 'h' ? stdout : stderr,
"usage: vhca-signals [-d DEVICE] [-g GID-INDEX] [-n TIMES]\n"
"TIMES (8): timers that each list of verbs is called under, every other one with\n"
"SA_RESTART.\n"
"Status 0: no verb had another result because of a signal.\n");
			return c == 'h' ? 0 : 2;
		}
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	now = mmap(NULL, sizeof(*now), PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return now == MAP_FAILED ? 2 : run(&o, times);
}
