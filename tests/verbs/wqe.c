// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * vhca-wqe: a process that writes what it likes into its queues. Work requests of
 * every opcode, valid ones and such with some fields wild, go into the rings that
 * it shares with the HCA or its driver, while a thread changes them under the
 * reader's eyes. Whatever the verbs answer is right, as long as the machine that
 * executes them lives; who started this program looks after that.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wqe.h"

#define CQE		500
#define BATCH		12	/* requests between two kicks */
#define KICKS		3	/* of a connection's life */
#define LIVES		40	/* of a process: it may well kill itself */
#define MW_RKEYS	64

uint64_t wqe_rnd(struct wqe_fuzz *f)
{
	f->seed ^= f->seed << 13;
	f->seed ^= f->seed >> 7;
	f->seed ^= f->seed << 17;
	return f->seed;
}

uint32_t wqe_below(struct wqe_fuzz *f, uint32_t n)
{
	return wqe_rnd(f) % n;
}

/* Numbers at which code likes to break, or any. */
uint32_t wqe_wild(struct wqe_fuzz *f)
{
	static const uint32_t n[] = {
		0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64, 127, 128, 255,
		256, 4095, 4096, 65535, 65536, 0x7ffffff0, 0x7fffffff,
		0x80000000, 0x80000001, 0xfffffff0, 0xffffffff,
	};
	uint32_t i = wqe_below(f, 2 * VT_ARRAY_SIZE(n));

	return i < VT_ARRAY_SIZE(n) ? n[i] : (uint32_t)wqe_rnd(f);
}

/* Changes some words of a request, in either order of octets. */
void wqe_spoil(struct wqe_fuzz *f, uint8_t *wqe, size_t len)
{
	uint32_t n = wqe_below(f, 5), v;
	size_t at;

	while (n--) {
		/* The first four words steer the rest. */
		at = wqe_below(f, wqe_below(f, 3) ? len / 4 : 4) * 4;
		v = wqe_below(f, 2) ? wqe_wild(f) : htobe32(wqe_wild(f));
		if (wqe_below(f, 2))
			wqe[at + wqe_below(f, 4)] = v;
		else
			memcpy(wqe + at, &v, sizeof(v));
	}
}

/* ---- objects ---- */

static int create_qp(struct wqe_fuzz *f, struct wqe_side *s, bool with_srq)
{
	struct ibv_qp_init_attr a = {
		.send_cq = f->cq, .recv_cq = f->cq, .qp_type = f->type,
		.srq = with_srq ? f->srq : NULL,
		.cap = { WQE_SEND_WR, WQE_RECV_WR, WQE_SGE, WQE_SGE,
			 WQE_INLINE },
	};

	s->srq = with_srq;
	s->qp = ibv_create_qp(f->dev.pd, &a);
	return s->qp ? f->hca->qp(f, s) : -1;
}

static int create_srq(struct wqe_fuzz *f)
{
	struct ibv_srq_init_attr a = { .attr = { WQE_SRQ_WR, WQE_SGE, 0 } };

	f->srq = ibv_create_srq(f->dev.pd, &a);
	return f->srq ? f->hca->srq(f) : -1;
}

static const struct wqe_hca *kind_of(const struct ibv_device_attr *a)
{
	if (a->vendor_id == VT_VENDOR_RXE)
		return &wqe_rxe;
	return vt_mlx4(a) ? &wqe_mlx4 : &wqe_mlx5;
}

static int open_all(struct wqe_fuzz *f)
{
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
		     IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	struct ibv_ah_attr ah = {
		.is_global = 1, .port_num = VT_PORT, .dlid = f->dev.port.lid,
		.grh = { .dgid = f->dev.gid, .sgid_index = f->dev.gid_index,
			 .hop_limit = 1 },
	};

	f->data = mmap(NULL, WQE_DATA, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (f->data == MAP_FAILED)
		return -1;
	f->hca = kind_of(&f->dev.attr);
	f->mr = ibv_reg_mr(f->dev.pd, f->data, WQE_DATA, access);
	f->cq = ibv_create_cq(f->dev.ctx, CQE, NULL, NULL, 0);
	f->ah = ibv_create_ah(f->dev.pd, &ah);
	if (!f->mr || !f->cq || !f->ah)
		return -1;
	if ((f->hca->cq && f->hca->cq(f)) || create_srq(f))
		return -1;
	return create_qp(f, &f->side[0], false) ||
	       create_qp(f, &f->side[1], wqe_below(f, 2));
}

static void move_to(struct wqe_fuzz *f, struct ibv_qp *qp, uint32_t peer)
{
	bool ud = f->type == IBV_QPT_UD, rc = f->type == IBV_QPT_RC;
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RESET };

	ibv_modify_qp(qp, &a, IBV_QP_STATE);
	a.qp_state = IBV_QPS_INIT;
	a.port_num = VT_PORT;
	a.qkey = VT_QKEY;
	a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			    IBV_ACCESS_REMOTE_ATOMIC;
	ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
		      (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
	a.qp_state = IBV_QPS_RTR;
	a.path_mtu = IBV_MTU_1024;
	a.dest_qp_num = peer;
	a.max_dest_rd_atomic = 4;
	a.min_rnr_timer = 1;
	a.ah_attr.is_global = 1;
	a.ah_attr.port_num = VT_PORT;
	a.ah_attr.dlid = f->dev.port.lid;
	a.ah_attr.grh.dgid = f->dev.gid;
	a.ah_attr.grh.sgid_index = f->dev.gid_index;
	a.ah_attr.grh.hop_limit = 1;
	ibv_modify_qp(qp, &a, IBV_QP_STATE | (ud ? 0 : IBV_QP_AV |
		      IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN) |
		      (rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER :
		       0));
	a.qp_state = IBV_QPS_RTS;
	a.timeout = 1;
	a.retry_cnt = 1;
	a.rnr_retry = 1;
	a.max_rd_atomic = 4;
	ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN | (rc ?
		      IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		      IBV_QP_MAX_QP_RD_ATOMIC : 0));
}

/* ---- what a process does ---- */

static void drain(struct wqe_fuzz *f)
{
	struct ibv_wc wc[16];
	int n, left = 64;

	while (left-- && (n = ibv_poll_cq(f->cq, 16, wc)) > 0)
		f->sum->completions += n;
}

/* Changes words of the rings until it is told to stop. */
static void *scribble(void *arg)
{
	struct wqe_fuzz *g = arg, f = { .seed = g->seed * 3 + 1 };
	const struct wqe_ring *r[] = {
		&g->side[0].sq, &g->side[0].rq, &g->side[1].sq, &g->side[1].rq,
		&g->cq_ring,
	}, *one;
	uint32_t n = VT_ARRAY_SIZE(r) - !g->cq_ring.map;
	size_t at;
	uint32_t v;

	while (!g->stop) {
		one = r[wqe_below(&f, n)];
		at = one->elem - one->map;
		/* Headers seldom: with a wild one not much is read. */
		if (!at || wqe_below(&f, 200))
			at += wqe_below(&f, one->len - at - 4);
		else
			at = wqe_below(&f, at);
		v = wqe_wild(&f);
		memcpy(one->map + (at & ~(size_t)3), &v, sizeof(v));
	}
	return NULL;
}

/* Some requests of a side, and a kick. */
static void post(struct wqe_fuzz *f, struct wqe_side *s)
{
	uint32_t n;

	for (n = wqe_below(f, 4); n; n--, f->sum->recvs++)
		f->hca->recv(f, s);
	for (n = wqe_below(f, BATCH); n; n--, f->sum->wqes++)
		f->hca->send(f, s);
	f->hca->kick(f, s);
	f->sum->kicks++;
}

/* Until the queues are reset; false: the CQ is lost. */
static bool life(struct wqe_fuzz *f)
{
	pthread_t thread;
	bool threaded;
	int i, k;

	if (f->hca->cq && f->hca->cq(f))
		return false;
	for (i = 0; i < 2; i++)
		move_to(f, f->side[i].qp, f->side[!i].qp->qp_num);
	for (i = 0; i < 2; i++)
		f->hca->begin(&f->side[i]);
	f->stop = false;
	threaded = wqe_below(f, 2) &&
		   !pthread_create(&thread, NULL, scribble, f);
	for (k = 0; k < KICKS; k++) {
		for (i = 0; i < 2; i++)
			post(f, &f->side[i]);
		if (!threaded)
			drain(f);
	}
	f->stop = true;
	if (threaded)
		pthread_join(thread, NULL);
	return true;
}

static void child(const struct vt_opt *o, struct wqe_counts *sum,
		  uint64_t seed, uint64_t goal)
{
	static const enum ibv_qp_type types[] = {
		IBV_QPT_RC, IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD,
	};
	struct wqe_fuzz f = { .seed = seed | 1, .sum = sum };
	char why[VT_WHY];
	int i;

	alarm(300);
	f.type = types[wqe_below(&f, VT_ARRAY_SIZE(types))];
	if (vt_open(&f.dev, o, why)) {
		fprintf(stderr, "vhca-wqe: %s\n", why);
		_exit(2);
	}
	if (open_all(&f)) {
		fprintf(stderr, "vhca-wqe: cannot make the queues: %s\n",
			vt_errno(errno));
		_exit(2);
	}
	for (i = 0; i < LIVES && sum->wqes < goal && life(&f); i++)
		;
	_exit(0);			/* the kernel destroys what there is */
}

/* ---- the shortest way ---- */

static int window(const struct vt_opt *o)
{
	struct ibv_send_wr *bad, wr = {
		.opcode = IBV_WR_LOCAL_INV, .send_flags = IBV_SEND_SIGNALED,
	};
	struct wqe_counts sum = {};
	struct wqe_fuzz f = { .seed = 1, .type = IBV_QPT_RC, .sum = &sum };
	char why[VT_WHY];
	struct ibv_mw *mw;
	int i;

	if (vt_open(&f.dev, o, why) || open_all(&f)) {
		fprintf(stderr, "vhca-wqe: cannot make the queues\n");
		return 2;
	}
	mw = ibv_alloc_mw(f.dev.pd, IBV_MW_TYPE_2);
	printf("a window of type 2: %s\n", mw ? "made" : vt_errno(errno));
	for (i = 0; i < MW_RKEYS; i++) {
		move_to(&f, f.side[0].qp, f.side[1].qp->qp_num);
		move_to(&f, f.side[1].qp, f.side[0].qp->qp_num);
		/* Another's: rxe numbers windows from here (rxe_param.h). */
		wr.invalidate_rkey = mw ? mw->rkey : 0x80001u << 8 | i;
		wr.opcode = i & 1 ? IBV_WR_SEND_WITH_INV : IBV_WR_LOCAL_INV;
		ibv_post_send(f.side[0].qp, &wr, &bad);
		drain(&f);
	}
	usleep(100000);
	printf("%u invalidations of a window that is not bound\n", MW_RKEYS);
	return 0;
}

static void usage(FILE *f)
{
	fprintf(f,
"usage: vhca-wqe [-d DEVICE] [-g GID-INDEX] [-n REQUESTS] [-s SEED]\n"
"       vhca-wqe -w [-d DEVICE] [-g GID-INDEX]\n"
"  -n N      send requests to write (10000), and some receives\n"
"  -s SEED   of the first process; it is printed\n"
"  -w        only invalidate a memory window that was never bound\n"
"For Soft-RoCE, mlx4 and mlx5. Status 0: all were written; what became of them is not\n"
"its concern.\n");
}

/* Processes, one after the other, until all is written or none does any more. */
static int processes(const struct vt_opt *o, uint64_t seed, uint64_t goal)
{
	struct wqe_counts *sum = mmap(NULL, sizeof(*sum),
				      PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status, idle = 0;
	uint64_t n;
	pid_t pid;

	if (sum == MAP_FAILED)
		return 2;
	while (sum->wqes < goal && idle < 10) {
		n = sum->wqes;
		pid = fork();
		if (!pid)
			child(o, sum, seed, goal);
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			return 2;
		if (WIFEXITED(status) && WEXITSTATUS(status))
			return WEXITSTATUS(status);
		sum->crashes += WIFSIGNALED(status);
		idle = sum->wqes == n ? idle + 1 : 0;
		seed += 0x9e3779b97f4a7c15ull;
	}
	printf("%llu sends, %llu receives, %llu kicks (%llu refused), %llu completions, %llu CQs resized; %llu processes ended by their own queues\n",
	       (unsigned long long)sum->wqes, (unsigned long long)sum->recvs,
	       (unsigned long long)sum->kicks, (unsigned long long)sum->errors,
	       (unsigned long long)sum->completions,
	       (unsigned long long)sum->resizes,
	       (unsigned long long)sum->crashes);
	return sum->wqes < goal;
}

int main(int argc, char **argv)
{
	struct vt_opt o = { .gid_index = 1, .timeout_ms = 5000 };
	uint64_t goal = 10000, seed = vt_now_ns();
	bool windows = false;
	int c;

	while ((c = getopt(argc, argv, "d:g:n:s:wh")) != -1) {
		switch (c) {
		case 'd': o.dev = optarg; break;
		case 'g': o.gid_index = atoi(optarg); break;
		case 'n': goal = strtoull(optarg, NULL, 10); break;
		case 's': seed = strtoull(optarg, NULL, 0); break;
		case 'w': windows = true; break;
		default:
			usage(c == 'h' ? stdout : stderr);
			return c == 'h' ? 0 : 2;
		}
	}
	if (windows)
		return window(&o);
	printf("seed %#llx\n", (unsigned long long)seed);
	fflush(stdout);
	return processes(&o, seed, goal);
}
