// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * vhca-wqe: a process that writes what it likes into its queues of Soft-RoCE.
 * Work requests of every opcode, valid ones and such with some fields wild, go
 * into the rings that the provider maps (found in /proc/self/maps), while a
 * thread changes them under the reader's eyes. Whatever the verbs answer is
 * right, as long as the machine that executes them lives; who started this
 * program looks after that.
 *
 * The rings' form is that of <rdma/rdma_user_rxe.h>.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_rxe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vt.h"

#define SEND_WR		20	/* 32 slots */
#define RECV_WR		10	/* 16 slots */
#define SRQ_WR		5	/* 8 slots */
#define CQE		500
#define SGE		3
#define INL		48
#define DATA		65536u
#define RINGS		16
#define BATCH		12	/* requests between two kicks */
#define KICKS		3	/* of a connection's life */
#define LIVES		40	/* of a process: it may well kill itself */
#define MW_RKEYS	64

struct counts {
	uint64_t wqes, recvs, kicks, completions, errors, crashes;
};

struct ring {
	struct rxe_queue_buf *q;
	size_t len;
	uint32_t slots, shift;	/* of when it was made: q may be wild */
};

struct side {
	struct ibv_qp *qp;
	struct ring sq, rq;	/* rq of the SRQ, if the QP has one */
};

struct fuzz {
	struct vt_dev dev;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_ah *ah;
	struct ring srq_ring;
	struct side side[2];
	enum ibv_qp_type type;
	uint8_t *data;
	uint64_t seed;
	volatile bool stop;
};

static struct counts *sum;

static uint64_t rnd(struct fuzz *f)
{
	f->seed ^= f->seed << 13;
	f->seed ^= f->seed >> 7;
	f->seed ^= f->seed << 17;
	return f->seed;
}

static uint32_t below(struct fuzz *f, uint32_t n)
{
	return rnd(f) % n;
}

/* Numbers at which code likes to break, or any. */
static uint32_t wild(struct fuzz *f)
{
	static const uint32_t n[] = {
		0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64, 127, 128, 255,
		256, 4095, 4096, 65535, 65536, 0x7ffffff0, 0x7fffffff,
		0x80000000, 0x80000001, 0xfffffff0, 0xffffffff,
	};
	uint32_t i = below(f, 2 * VT_ARRAY_SIZE(n));

	return i < VT_ARRAY_SIZE(n) ? n[i] : (uint32_t)rnd(f);
}

/* ---- the rings ---- */

/* Mappings of verbs files; those that are in @old are left out. */
static int rings(struct ring *r, const struct ring *old, int nr_old)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long from, to;
	char line[512];
	int n = 0, i;

	if (!maps)
		return 0;
	while (n < RINGS && fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "infiniband/uverbs") ||
		    sscanf(line, "%lx-%lx", &from, &to) != 2)
			continue;
		for (i = 0; i < nr_old; i++)
			if ((unsigned long)old[i].q == from)
				break;
		if (i < nr_old)
			continue;
		r[n].q = (void *)from;
		r[n++].len = to - from;
	}
	fclose(maps);
	return n;
}

static struct ring ring_of(const struct ring *r, int n, uint32_t wr)
{
	struct ring none = {};
	uint32_t slots = 1;
	int i;

	while (slots < wr + 1)
		slots *= 2;
	for (i = 0; i < n; i++)
		if (r[i].q->index_mask == slots - 1)
			return (struct ring){ r[i].q, r[i].len, slots,
					      r[i].q->log2_elem_size };
	return none;
}

/* ---- objects ---- */

static int create_qp(struct fuzz *f, struct side *s, bool with_srq)
{
	struct ibv_qp_init_attr a = {
		.send_cq = f->cq, .recv_cq = f->cq, .qp_type = f->type,
		.srq = with_srq ? f->srq : NULL,
		.cap = { SEND_WR, RECV_WR, SGE, SGE, INL },
	};
	struct ring old[RINGS], new[RINGS];
	int n = rings(old, NULL, 0);

	s->qp = ibv_create_qp(f->dev.pd, &a);
	if (!s->qp)
		return -1;
	n = rings(new, old, n);
	s->sq = ring_of(new, n, SEND_WR);
	s->rq = with_srq ? f->srq_ring : ring_of(new, n, RECV_WR);
	return s->sq.q && s->rq.q ? 0 : -1;
}

static int create_srq(struct fuzz *f)
{
	struct ibv_srq_init_attr a = { .attr = { SRQ_WR, SGE, 0 } };
	struct ring old[RINGS], new[RINGS];
	int n = rings(old, NULL, 0);

	f->srq = ibv_create_srq(f->dev.pd, &a);
	if (!f->srq)
		return -1;
	n = rings(new, old, n);
	f->srq_ring = ring_of(new, n, SRQ_WR);
	return f->srq_ring.q ? 0 : -1;
}

static int open_all(struct fuzz *f)
{
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
		     IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	struct ibv_ah_attr ah = {
		.is_global = 1, .port_num = VT_PORT,
		.grh = { .dgid = f->dev.gid, .sgid_index = f->dev.gid_index,
			 .hop_limit = 1 },
	};

	f->data = mmap(NULL, DATA, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (f->data == MAP_FAILED)
		return -1;
	f->mr = ibv_reg_mr(f->dev.pd, f->data, DATA, access);
	f->cq = ibv_create_cq(f->dev.ctx, CQE, NULL, NULL, 0);
	f->ah = ibv_create_ah(f->dev.pd, &ah);
	if (!f->mr || !f->cq || !f->ah || create_srq(f))
		return -1;
	return create_qp(f, &f->side[0], false) ||
	       create_qp(f, &f->side[1], below(f, 2));
}

static void move_to(struct fuzz *f, struct ibv_qp *qp, uint32_t peer)
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

/* ---- requests ---- */

static uint32_t elements(struct fuzz *f, struct rxe_dma_info *d)
{
	uint32_t n = below(f, SGE + 1), i;

	d->num_sge = n;
	for (i = 0; i < n; i++) {
		d->sge[i].length = below(f, 3000);
		d->sge[i].addr = (uintptr_t)f->data +
				 below(f, DATA - d->sge[i].length);
		d->sge[i].lkey = f->mr->lkey;
		d->length += d->sge[i].length;
	}
	d->resid = d->length;
	return n;
}

/* A request that the provider could have written. */
static void good_send(struct fuzz *f, struct rxe_send_wqe *w)
{
	w->wr.wr_id = rnd(f);
	w->wr.opcode = below(f, 16);
	w->wr.send_flags = below(f, 16);
	w->wr.ex.imm_data = f->mr->rkey;
	w->iova = (uintptr_t)f->data + (below(f, DATA / 2) & ~7u);
	if (w->wr.opcode == IB_UVERBS_WR_ATOMIC_CMP_AND_SWP ||
	    w->wr.opcode == IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD) {
		w->wr.wr.atomic.remote_addr = w->iova;
		w->wr.wr.atomic.rkey = f->mr->rkey;
	} else {
		w->wr.wr.rdma.remote_addr = w->iova;
		w->wr.wr.rdma.rkey = f->mr->rkey;
	}
	if (f->type == IBV_QPT_UD) {
		w->wr.wr.ud.remote_qpn = f->side[1].qp->qp_num;
		w->wr.wr.ud.remote_qkey = VT_QKEY;
		w->wr.wr.ud.ah_num = 1 + below(f, 4);
	}
	if (w->wr.send_flags & IBV_SEND_INLINE)
		w->dma.length = w->dma.resid = below(f, INL);
	else
		elements(f, &w->dma);
}

static void good_recv(struct fuzz *f, struct rxe_recv_wqe *w)
{
	w->wr_id = rnd(f);
	elements(f, &w->dma);
}

/* Some words of it, those that steer a transfer more often than others. */
static void spoil(struct fuzz *f, uint8_t *wqe, size_t len, bool send)
{
	static const size_t sends[] = {
		offsetof(struct rxe_send_wqe, wr.opcode),
		offsetof(struct rxe_send_wqe, wr.send_flags),
		offsetof(struct rxe_send_wqe, wr.wr.ud.ah_num),
		offsetof(struct rxe_send_wqe, state),
		offsetof(struct rxe_send_wqe, mask),
		offsetof(struct rxe_send_wqe, first_psn),
		offsetof(struct rxe_send_wqe, has_rd_atomic),
		offsetof(struct rxe_send_wqe, dma.length),
		offsetof(struct rxe_send_wqe, dma.resid),
		offsetof(struct rxe_send_wqe, dma.cur_sge),
		offsetof(struct rxe_send_wqe, dma.num_sge),
		offsetof(struct rxe_send_wqe, dma.sge_offset),
	};
	static const size_t recvs[] = {
		offsetof(struct rxe_recv_wqe, dma.length),
		offsetof(struct rxe_recv_wqe, dma.resid),
		offsetof(struct rxe_recv_wqe, dma.cur_sge),
		offsetof(struct rxe_recv_wqe, dma.num_sge),
		offsetof(struct rxe_recv_wqe, dma.sge_offset),
	};
	uint32_t n = below(f, 5), v;
	size_t at;

	while (n--) {
		if (below(f, 4))
			at = send ? sends[below(f, VT_ARRAY_SIZE(sends))] :
				    recvs[below(f, VT_ARRAY_SIZE(recvs))];
		else
			at = below(f, len / 4) * 4;
		v = wild(f);
		if (send && at == sends[0] && below(f, 4))
			v = below(f, 2) ? 0x20 : below(f, 256); /* REG_MR */
		memcpy(wqe + at, &v, sizeof(v));
	}
}

/* One request at the ring's producer, which then is past it, or anywhere. */
static void write_one(struct fuzz *f, const struct ring *r, bool send,
		      uint32_t *prod)
{
	_Alignas(8) uint8_t wqe[1024] = {};
	size_t element = (size_t)1 << r->shift;

	if (element > sizeof(wqe))
		return;
	if (send)
		good_send(f, (void *)wqe);
	else
		good_recv(f, (void *)wqe);
	if (below(f, 4))
		spoil(f, wqe, element, send);
	memcpy(r->q->data + ((size_t)(*prod % r->slots) << r->shift), wqe,
	       element);
	*prod = (*prod + 1) % r->slots;
	__atomic_store_n(&r->q->producer_index,
			 below(f, 64) ? *prod : wild(f), __ATOMIC_RELEASE);
}

static void kick(struct fuzz *f, struct ibv_qp *qp)
{
	struct ib_uverbs_post_send_resp resp;
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_post_send cmd;
	} c = {
		.hdr = { IB_USER_VERBS_CMD_POST_SEND, sizeof(c) / 4,
			 sizeof(resp) / 4 },
		.cmd = { .response = (uintptr_t)&resp, .qp_handle = qp->handle,
			 .wqe_size = sizeof(struct ib_uverbs_send_wr) },
	};

	if (write(f->dev.ctx->cmd_fd, &c, sizeof(c)) < 0)
		sum->errors++;
	sum->kicks++;
}

static void drain(struct fuzz *f)
{
	struct ibv_wc wc[16];
	int n, left = 64;

	while (left-- && (n = ibv_poll_cq(f->cq, 16, wc)) > 0)
		sum->completions += n;
}

/* Changes words of the rings until it is told to stop. */
static void *scribble(void *arg)
{
	struct fuzz *g = arg, f = { .seed = g->seed * 3 + 1 };
	struct ring r[RINGS];
	int n = rings(r, NULL, 0), i;
	size_t at;
	uint32_t v;

	while (n && !g->stop) {
		i = below(&f, n);
		/* Headers seldom: with a wild one not much is read. */
		at = sizeof(*r[i].q) +
		     below(&f, r[i].len - sizeof(*r[i].q) - 4);
		if (!below(&f, 200))
			at = below(&f, sizeof(*r[i].q));
		v = wild(&f);
		memcpy((uint8_t *)r[i].q + (at & ~(size_t)3), &v, sizeof(v));
	}
	return NULL;
}

static void life(struct fuzz *f)
{
	uint32_t prod[2] = {}, rprod[2] = {}, n;
	pthread_t thread;
	bool threaded;
	int i, k;

	for (i = 0; i < 2; i++)
		move_to(f, f->side[i].qp, f->side[!i].qp->qp_num);
	for (i = 0; i < 2; i++) {
		prod[i] = f->side[i].sq.q->producer_index;
		rprod[i] = f->side[i].rq.q->producer_index;
	}
	f->stop = false;
	threaded = below(f, 2) && !pthread_create(&thread, NULL, scribble, f);
	for (k = 0; k < KICKS; k++) {
		for (i = 0; i < 2; i++) {
			for (n = below(f, 4); n; n--, sum->recvs++)
				write_one(f, &f->side[i].rq, false, &rprod[i]);
			for (n = below(f, BATCH); n; n--, sum->wqes++)
				write_one(f, &f->side[i].sq, true, &prod[i]);
			kick(f, f->side[i].qp);
		}
		if (!threaded)
			drain(f);
	}
	f->stop = true;
	if (threaded)
		pthread_join(thread, NULL);
}

static void child(const struct vt_opt *o, uint64_t seed, uint64_t goal)
{
	static const enum ibv_qp_type types[] = {
		IBV_QPT_RC, IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD,
	};
	struct fuzz f = { .seed = seed | 1 };
	char why[VT_WHY];
	int i;

	alarm(300);
	f.type = types[below(&f, VT_ARRAY_SIZE(types))];
	if (vt_open(&f.dev, o, why)) {
		fprintf(stderr, "vhca-wqe: %s\n", why);
		_exit(2);
	}
	if (open_all(&f)) {
		fprintf(stderr, "vhca-wqe: cannot make the queues: %s\n",
			vt_errno(errno));
		_exit(2);
	}
	for (i = 0; i < LIVES && sum->wqes < goal; i++)
		life(&f);
	_exit(0);			/* the kernel destroys what there is */
}

/* ---- the shortest way ---- */

static int window(const struct vt_opt *o)
{
	struct ibv_send_wr *bad, wr = {
		.opcode = IBV_WR_LOCAL_INV, .send_flags = IBV_SEND_SIGNALED,
	};
	struct fuzz f = { .seed = 1, .type = IBV_QPT_RC };
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
		if (ibv_post_send(f.side[0].qp, &wr, &bad))
			sum->errors++;
		sum->wqes++;
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
"For Soft-RoCE. Status 0: all were written; what became of them is not its\n"
"concern.\n");
}

int main(int argc, char **argv)
{
	struct vt_opt o = { .gid_index = 1, .timeout_ms = 5000 };
	uint64_t goal = 10000, seed = vt_now_ns(), n;
	int c, status, idle = 0;
	bool windows = false;
	pid_t pid;

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
	sum = mmap(NULL, sizeof(*sum), PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sum == MAP_FAILED)
		return 2;
	if (windows)
		return window(&o);
	printf("seed %#llx\n", (unsigned long long)seed);
	fflush(stdout);
	while (sum->wqes < goal && idle < 10) {
		n = sum->wqes;
		pid = fork();
		if (!pid)
			child(&o, seed, goal);
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			return 2;
		if (WIFEXITED(status) && WEXITSTATUS(status))
			return WEXITSTATUS(status);
		sum->crashes += WIFSIGNALED(status);
		idle = sum->wqes == n ? idle + 1 : 0;
		seed += 0x9e3779b97f4a7c15ull;
	}
	printf("%llu sends, %llu receives, %llu kicks (%llu refused), %llu completions; %llu processes ended by their own queues\n",
	       (unsigned long long)sum->wqes, (unsigned long long)sum->recvs,
	       (unsigned long long)sum->kicks, (unsigned long long)sum->errors,
	       (unsigned long long)sum->completions,
	       (unsigned long long)sum->crashes);
	return sum->wqes < goal;
}
