// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * vhca-indices: which entries of the port's tables a process may use. It prints a
 * line for each index, in the table or not: what is there, and what a queue pair
 * and an address handle with it are told. With --event it waits for the event of
 * a GID that changes.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vt.h"

#define MORE	3		/* indices behind the last GID that there is */
#define INDEX	256		/* an address vector has 8 bits for it */

struct indices {
	struct ibv_context *ctx;
	struct ibv_port_attr port;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	union ibv_gid gid;	/* a peer's: of the kind of the index, if it has one */
};

static struct ibv_qp *new_qp(const struct indices *x, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = {
		.send_cq = x->cq, .recv_cq = x->cq, .qp_type = type,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};

	return ibv_create_qp(x->pd, &init);
}

static int to_init(struct ibv_qp *qp, uint16_t pkey_index)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT, .pkey_index = pkey_index,
		.port_num = VT_PORT,
	};

	return ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			     IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static struct ibv_ah_attr vector(const struct indices *x, int index)
{
	return (struct ibv_ah_attr){
		.is_global = 1, .port_num = VT_PORT, .dlid = x->port.lid,
		.grh = { .dgid = x->gid, .sgid_index = (uint8_t)index,
			 .hop_limit = 1 },
	};
}

static int to_rtr(const struct indices *x, struct ibv_qp *qp, int index, int alt)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_256,
		.dest_qp_num = qp->qp_num, .max_dest_rd_atomic = 1,
		.min_rnr_timer = 12, .ah_attr = vector(x, index),
	};
	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
		   IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;

	if (alt >= 0) {
		mask |= IBV_QP_ALT_PATH;
		a.alt_ah_attr = vector(x, alt);
		a.alt_port_num = VT_PORT;
	}
	return ibv_modify_qp(qp, &a, mask);
}

static const char *say(int err)
{
	return err ? vt_errno(err) : "ok";
}

/* index, alt: as above; a QP of its own for each question. */
static const char *ask_qp(const struct indices *x, int index, int alt)
{
	struct ibv_qp *qp = new_qp(x, IBV_QPT_RC);
	int err = qp ? to_init(qp, 0) : errno;

	if (!err)
		err = to_rtr(x, qp, index, alt);
	if (qp)
		ibv_destroy_qp(qp);
	return say(err);
}

static const char *ask_ah(const struct indices *x, int index)
{
	struct ibv_ah_attr a = vector(x, index);
	struct ibv_ah *ah = ibv_create_ah(x->pd, &a);

	if (!ah)
		return say(errno);
	ibv_destroy_ah(ah);
	return "ok";
}

static void one_gid(struct indices *x, int index)
{
	static const char *const type[] = { "IB", "v1", "v2" };
	struct ibv_gid_entry e = {};
	char text[INET6_ADDRSTRLEN] = "-";
	int err = ibv_query_gid_ex(x->ctx, VT_PORT, (uint32_t)index, &e, 0);

	if (!err) {
		inet_ntop(AF_INET6, e.gid.raw, text, sizeof(text));
		x->gid = e.gid;
	}
	printf("gid %d %s %s qp %s", index, text, err ? say(err) :
	       e.gid_type < VT_ARRAY_SIZE(type) ? type[e.gid_type] : "?",
	       ask_qp(x, index, -1));
	printf(" alt %s ah %s\n", ask_qp(x, index, index), ask_ah(x, index));
}

static void one_pkey(const struct indices *x, int index)
{
	struct ibv_qp *qp = new_qp(x, IBV_QPT_RC);
	__be16 pkey = 0;
	int err = ibv_query_pkey(x->ctx, VT_PORT, index, &pkey) ? EINVAL : 0;

	printf("pkey %d ", index);
	if (err)
		printf("%s", say(err));
	else
		printf("0x%04x", ntohs(pkey));
	printf(" qp %s\n", say(qp ? to_init(qp, (uint16_t)index) : errno));
	if (qp)
		ibv_destroy_qp(qp);
}

/* The last index of a GID, and a GID; -1: there is none. */
static int last_gid(struct indices *x)
{
	int i, last = -1, len = x->port.gid_tbl_len;
	struct ibv_gid_entry e;

	for (i = 0; i < len && i < INDEX; i++) {
		if (ibv_query_gid_ex(x->ctx, VT_PORT, (uint32_t)i, &e, 0))
			continue;
		x->gid = e.gid;
		last = i;
	}
	return last;
}

static int tables(struct indices *x)
{
	int i, last = last_gid(x), len = x->port.gid_tbl_len;

	for (i = 0; i <= last + MORE && i < INDEX; i++)
		one_gid(x, i);
	if (len < INDEX)	/* behind the table's end */
		one_gid(x, len);
	for (i = 0; i <= x->port.pkey_tbl_len && i < INDEX; i++)
		one_pkey(x, i);
	return 0;
}

static int wait_event(const struct indices *x, int seconds)
{
	struct pollfd p = { .fd = x->ctx->async_fd, .events = POLLIN };
	struct ibv_async_event e;

	printf("waits\n");
	fflush(stdout);
	while (poll(&p, 1, seconds * 1000) == 1) {
		if (ibv_get_async_event(x->ctx, &e))
			return 1;
		ibv_ack_async_event(&e);
		printf("%s\n", ibv_event_type_str(e.event_type));
		fflush(stdout);
		if (e.event_type == IBV_EVENT_GID_CHANGE)
			return 0;
	}
	return 1;
}

static int prepare(struct indices *x, const char *dev)
{
	char why[VT_WHY];

	x->ctx = vt_open_name(dev, why);
	if (!x->ctx) {
		fprintf(stderr, "vhca-indices: %s\n", why);
		return -1;
	}
	x->pd = ibv_alloc_pd(x->ctx);
	x->cq = ibv_create_cq(x->ctx, 4, NULL, NULL, 0);
	if (x->pd && x->cq && !ibv_query_port(x->ctx, VT_PORT, &x->port))
		return 0;
	fprintf(stderr, "vhca-indices: %s\n", vt_errno(errno));
	return -1;
}

/* vhca-indices [-d DEVICE] [--event SECONDS] */
int main(int argc, char **argv)
{
	struct indices x = {};
	const char *dev = NULL;
	int i, seconds = 0, rc;

	for (i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "-d"))
			dev = argv[i + 1];
		else if (!strcmp(argv[i], "--event"))
			seconds = atoi(argv[i + 1]);
		else
			return 2;
	}
	if (i != argc || prepare(&x, dev))
		return 2;
	rc = seconds ? wait_event(&x, seconds) : tables(&x);
	ibv_destroy_cq(x.cq);
	ibv_dealloc_pd(x.pd);
	ibv_close_device(x.ctx);
	return rc;
}
