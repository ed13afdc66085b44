// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * vhca-av: the address vector of a mlx5 process's datagrams, which is a part of the work
 * request: what the provider writes there, and what a process may write instead.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vt.h"

#define DATA		16u
#define WAIT_NS		5000000000ull
#define NAP_US		1000
#define FLOW		0x12345u	/* without one the provider takes a random port */
#define INDEX_SHIFT	20	/* of the source, in grh_gid_fl */
#define INDEX_MASK	(0xffu << INDEX_SHIFT)

struct av {
	struct vt_dev dev;
	struct ibv_ah *ah;
	struct mlx5_wqe_av *vector;	/* the provider's own */
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t mem[VT_GRH + 2 * DATA];	/* received: headers, data; sent */
};

static int fail(const char *what)
{
	fprintf(stderr, "vhca-av: %s: %s\n", what, vt_errno(errno));
	return 1;
}

static int make_ah(struct av *a, const union ibv_gid *peer)
{
	struct ibv_ah_attr attr = {
		.is_global = 1, .port_num = VT_PORT, .dlid = a->dev.port.lid,
		.grh = { .dgid = *peer, .sgid_index = (uint8_t)a->dev.gid_index,
			 .hop_limit = 64, .flow_label = FLOW },
	};
	struct mlx5dv_ah out = { .comp_mask = 0 };
	struct mlx5dv_obj o = { .ah = { .out = &out } };

	a->ah = ibv_create_ah(a->dev.pd, &attr);
	if (!a->ah)
		return -1;
	o.ah.in = a->ah;
	errno = mlx5dv_init_obj(&o, MLX5DV_OBJ_AH);
	a->vector = out.av;
	return errno ? -1 : 0;
}

/* ---- show ---- */

static int show(struct av *a, const char *address)
{
	const struct mlx5_wqe_av *v;
	union ibv_gid peer;
	unsigned int i;

	if (inet_pton(AF_INET6, address, peer.raw) != 1)
		return 2;
	if (make_ah(a, &peer)) {
		printf("no handle: %s\n", vt_errno(errno));
		return 0;
	}
	v = a->vector;
	printf("rate and SL %#x, MLID %u, port or LID %#x, MAC", v->stat_rate_sl,
	       v->fl_mlid, be16toh(v->rlid));
	for (i = 0; i < sizeof(v->rmac); i++)
		printf("%c%02x", i ? ':' : ' ', v->rmac[i]);
	printf(", class %u, hops %u, source and flow %#x, GID", v->tclass,
	       v->hop_limit, be32toh(v->grh_gid_fl));
	for (i = 0; i < sizeof(v->rgid); i++)
		printf("%c%02x", i ? ':' : ' ', v->rgid[i]);
	puts("");
	return 0;
}

/* ---- forge ---- */

static int make_qp(struct av *a)
{
	struct ibv_qp_init_attr ia = {
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_attr q = {
		.qp_state = IBV_QPS_INIT, .port_num = VT_PORT, .qkey = VT_QKEY,
	};

	a->mr = ibv_reg_mr(a->dev.pd, a->mem, sizeof(a->mem),
			   IBV_ACCESS_LOCAL_WRITE);
	a->cq = ibv_create_cq(a->dev.ctx, 4, NULL, NULL, 0);
	ia.send_cq = ia.recv_cq = a->cq;
	a->qp = a->mr && a->cq ? ibv_create_qp(a->dev.pd, &ia) : NULL;
	if (!a->qp)
		return -1;
	errno = ibv_modify_qp(a->qp, &q, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			      IBV_QP_PORT | IBV_QP_QKEY);
	q.qp_state = IBV_QPS_RTR;
	if (!errno)
		errno = ibv_modify_qp(a->qp, &q, IBV_QP_STATE);
	q.qp_state = IBV_QPS_RTS;
	if (!errno)
		errno = ibv_modify_qp(a->qp, &q, IBV_QP_STATE | IBV_QP_SQ_PSN);
	return errno ? -1 : 0;
}

static int post_recv(struct av *a)
{
	struct ibv_sge in = {
		.addr = (uintptr_t)a->mem, .length = VT_GRH + DATA,
		.lkey = a->mr->lkey,
	};
	struct ibv_recv_wr *bad, r = {
		.wr_id = VT_RECV, .sg_list = &in, .num_sge = 1,
	};

	errno = ibv_post_recv(a->qp, &r, &bad);
	return errno ? -1 : 0;
}

static int post_send(struct av *a, uint32_t qpn)
{
	struct ibv_sge out = {
		.addr = (uintptr_t)a->mem + VT_GRH + DATA, .length = DATA,
		.lkey = a->mr->lkey,
	};
	struct ibv_send_wr *bad, s = {
		.sg_list = &out, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.ud = { .ah = a->ah, .remote_qpn = qpn, .remote_qkey = VT_QKEY },
	};

	errno = ibv_post_send(a->qp, &s, &bad);
	return errno ? -1 : 0;
}

/* So many completions; the first that goes wrong decides. */
/* Sleeps in between: on one processor the sender would wait for a program that spins. */
static int complete(struct av *a, int left, uint64_t ns)
{
	uint64_t end = vt_now_ns() + ns;
	struct ibv_wc wc;
	int n;

	while (left && vt_now_ns() < end) {
		n = ibv_poll_cq(a->cq, 1, &wc);
		if (n < 0)
			return -1;
		if (n && wc.status != IBV_WC_SUCCESS) {
			printf("%s: %s\n", wc.wr_id & VT_RECV ? "received" : "sent",
			       ibv_wc_status_str(wc.status));
			return 1;
		}
		left -= n;
		if (!n)
			usleep(NAP_US);
	}
	if (left)
		puts("nothing arrives");
	return left;
}

/* As the receiver has it: a GRH, or behind 20 octets a header of IPv4. */
static void print_source(const uint8_t *header)
{
	char text[INET6_ADDRSTRLEN];

	if (header[0] >> 4 == 6)
		inet_ntop(AF_INET6, header + 8, text, sizeof(text));
	else
		inet_ntop(AF_INET, header + 32, text, sizeof(text));
	printf("the datagram comes from %s\n", text);
}

/* To itself, or to the queue pair ARGV[1] at the GID ARGV[0]. */
static int forge(struct av *a, const char *index, char **to)
{
	uint32_t v, i = (uint32_t)atoi(index), qpn;
	union ibv_gid peer = a->dev.gid;
	int rc;

	if (*to && inet_pton(AF_INET6, *to, peer.raw) != 1)
		return 2;
	if (make_ah(a, &peer) || make_qp(a))
		return fail("cannot make the objects");
	qpn = *to ? (uint32_t)atoi(to[1]) : a->qp->qp_num;
	v = be32toh(a->vector->grh_gid_fl) & ~INDEX_MASK;
	a->vector->grh_gid_fl = htobe32(v | (i << INDEX_SHIFT & INDEX_MASK));
	if ((!*to && post_recv(a)) || post_send(a, qpn))
		return fail("cannot post");
	rc = complete(a, *to ? 1 : 2, WAIT_NS);
	if (!rc && !*to)
		print_source(a->mem);
	return !!rc;
}

/* ---- hear ---- */

static int hear(struct av *a, const char *seconds)
{
	int rc;

	if (make_qp(a) || post_recv(a))
		return fail("cannot make the objects");
	printf("queue pair %u\n", a->qp->qp_num);
	fflush(stdout);
	rc = complete(a, 1, (uint64_t)atoi(seconds) * 1000000000ull);
	if (!rc)
		print_source(a->mem);
	return !!rc;
}

static void close_all(struct av *a)
{
	if (a->qp)
		ibv_destroy_qp(a->qp);
	if (a->cq)
		ibv_destroy_cq(a->cq);
	if (a->mr)
		ibv_dereg_mr(a->mr);
	if (a->ah)
		ibv_destroy_ah(a->ah);
	vt_close(&a->dev);
}

static int usage(void)
{
	fprintf(stderr,
"usage: vhca-av [-d DEVICE] [-g GID-INDEX] show GID | forge INDEX [GID QPN] | hear SECONDS\n"
"  show GID     the address vector that the provider makes for this peer\n"
"  forge INDEX  send a datagram, to itself or to a queue pair, whose source is that of\n"
"               another index\n"
"  hear         print the number of a queue pair and the source of what it receives\n");
	return 2;
}

static int run(struct av *a, int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[0], "show"))
		return show(a, argv[1]);
	if ((argc == 2 || argc == 4) && !strcmp(argv[0], "forge"))
		return forge(a, argv[1], argv + 2);
	if (argc == 2 && !strcmp(argv[0], "hear"))
		return hear(a, argv[1]);
	return usage();
}

int main(int argc, char **argv)
{
	struct vt_opt o = { .gid_index = 1 };
	static struct av a;
	char why[VT_WHY];
	int c, rc;

	while ((c = getopt(argc, argv, "d:g:")) != -1) {
		switch (c) {
		case 'd': o.dev = optarg; break;
		case 'g': o.gid_index = atoi(optarg); break;
		default: return usage();
		}
	}
	if (vt_open(&a.dev, &o, why)) {
		fprintf(stderr, "vhca-av: %s\n", why);
		return 1;
	}
	rc = run(&a, argc - optind, argv + optind);
	close_all(&a);
	return rc;
}
