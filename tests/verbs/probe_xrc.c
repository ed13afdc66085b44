// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * vhca-probe, XRC: domains by file, an SRQ and a target queue pair that two
 * device contexts share, as two processes would, and what is busy when. The
 * context that made the target lets go of it before data moves.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "probe.h"

#define XRC_BYTES	100

/* What the two contexts have: [0] is the probe's own. */
struct xrc {
	struct probe *p;
	int fd;				/* names the domain */
	struct ibv_context *ctx;	/* the second one */
	struct ibv_xrcd *xrcd[2];
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	struct ibv_qp *target[2], *initiator;
	struct lo l;			/* CQ and memory of the initiator */
	uint8_t buf[4096];
};

static struct ibv_xrcd *xrcd_open(struct ibv_context *ctx, int fd, int oflags)
{
	struct ibv_xrcd_init_attr xa = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD |
			     IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = fd, .oflags = oflags,
	};

	return ibv_open_xrcd(ctx, &xa);
}

static void show_open(struct probe *p, const char *name, int fd, int oflags)
{
	struct ibv_xrcd *x = xrcd_open(p->ctx, fd, oflags);

	pr(nm("open_xrcd.%s", name), ep(x));
	if (x)
		pr(nm("close_xrcd.%s", name), ibv_close_xrcd(x));
}

/* A file stands for a domain as long as one is open in it. */
static int xrc_domain(struct xrc *x)
{
	struct probe *p = x->p;

	x->fd = memfd_create("vhca-probe", MFD_CLOEXEC);
	show_open(p, "absent", x->fd, 0);
	show_open(p, "bad_fd", 12345, O_CREAT);
	show_open(p, "alone", x->fd, O_CREAT);
	show_open(p, "gone", x->fd, 0);
	x->xrcd[0] = xrcd_open(p->ctx, x->fd, O_CREAT);
	pr("open_xrcd.create", ep(x->xrcd[0]));
	show_open(p, "again", x->fd, O_CREAT);
	show_open(p, "exclusive", x->fd, O_CREAT | O_EXCL);
	x->ctx = ibv_open_device(p->ctx->device);
	if (!x->xrcd[0] || !x->ctx)
		return -1;
	x->xrcd[1] = xrcd_open(x->ctx, x->fd, 0);
	pr("open_xrcd.shared", ep(x->xrcd[1]));
	return x->xrcd[1] ? 0 : -1;
}

/* In the second context; without a domain or a CQ there is none. */
static int xrc_srq(struct xrc *x)
{
	struct ibv_srq_init_attr_ex ia = {
		.attr = { 16, 1, 0 }, .srq_type = IBV_SRQT_XRC,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
	};
	struct ibv_srq_attr a = { .srq_limit = 3 };
	uint32_t num = 0;
	int err;

	x->pd = ibv_alloc_pd(x->ctx);
	x->cq = ibv_create_cq(x->ctx, 16, NULL, NULL, 0);
	if (!x->pd || !x->cq)
		return -1;
	x->mr = ibv_reg_mr(x->pd, x->buf, sizeof(x->buf),
			   IBV_ACCESS_LOCAL_WRITE);
	ia.pd = x->pd;
	ia.cq = x->cq;
	ia.xrcd = x->xrcd[1];
	x->srq = ibv_create_srq_ex(x->ctx, &ia);
	prd("create_srq_ex.xrc_shared", ep(x->srq), "%u x %u",
	    ia.attr.max_wr, ia.attr.max_sge);
	if (!x->srq || !x->mr)
		return -1;
	err = ibv_get_srq_num(x->srq, &num);
	prd("get_srq_num.xrc_shared", err, "%s", num ? "not 0" : "0");
	pr("modify_srq.xrc_limit",
	   ibv_modify_srq(x->srq, &a, IBV_SRQ_LIMIT));
	memset(&a, 0, sizeof(a));
	err = ibv_query_srq(x->srq, &a);
	prd("query_srq.xrc", err, "%u x %u limit %u", a.max_wr, a.max_sge,
	    a.srq_limit);
	pr("destroy_cq.of_xrc_srq", ibv_destroy_cq(x->cq));
	return 0;
}

static int xrc_qps(struct xrc *x)
{
	struct ibv_qp_init_attr_ex ia = {
		.qp_type = IBV_QPT_XRC_RECV, .xrcd = x->xrcd[0],
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
	};
	struct ibv_qp_open_attr oa = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
			     IBV_QP_OPEN_ATTR_TYPE,
		.qp_type = IBV_QPT_XRC_RECV, .xrcd = x->xrcd[1],
		.qp_num = 0xfffff0,
	};

	x->target[0] = ibv_create_qp_ex(x->p->ctx, &ia);
	pr("create_qp_ex.xrc_recv", ep(x->target[0]));
	memset(&ia, 0, sizeof(ia));
	ia.qp_type = IBV_QPT_XRC_SEND;
	ia.comp_mask = IBV_QP_INIT_ATTR_PD;
	ia.pd = x->p->pd;
	ia.send_cq = x->l.cq;
	ia.cap.max_send_wr = 10;
	ia.cap.max_send_sge = 1;
	x->initiator = ibv_create_qp_ex(x->p->ctx, &ia);
	pr("create_qp_ex.xrc_send", ep(x->initiator));
	if (!x->target[0] || !x->initiator)
		return -1;
	pr("open_qp.wrong_number", ep(ibv_open_qp(x->ctx, &oa)));
	oa.qp_num = x->target[0]->qp_num;
	x->target[1] = ibv_open_qp(x->ctx, &oa);
	pr("open_qp.shared", ep(x->target[1]));
	return x->target[1] ? 0 : -1;
}

/* As an RC QP to @peer: the kernel leaves out what the type does not have. */
static int xrc_walk(struct xrc *x, struct ibv_qp *qp, struct ibv_qp *peer)
{
	struct ibv_qp_attr a;
	int s, mask, err = 0;

	for (s = IBV_QPS_INIT; s <= IBV_QPS_RTS && !err; s++) {
		lo_attr(x->p, peer, IBV_QPT_RC, s, &a, &mask);
		err = ibv_modify_qp(qp, &a, mask);
	}
	return err;
}

static void show_state(const char *name, struct ibv_qp *qp)
{
	struct ibv_qp_init_attr ia = {};
	struct ibv_qp_attr a = {};
	int err = ibv_query_qp(qp, &a, IBV_QP_STATE | IBV_QP_CAP, &ia);

	prd(name, err, "%s type %d", state_name(a.qp_state), ia.qp_type);
}

/* The maker lets go of target and domain; the other one keeps them. */
static void xrc_hand_over(struct xrc *x)
{
	pr("modify_qp.xrc_recv", xrc_walk(x, x->target[0], x->initiator));
	pr("modify_qp.xrc_send", xrc_walk(x, x->initiator, x->target[0]));
	show_state("query_qp.xrc_recv", x->target[0]);
	show_state("query_qp.xrc_send", x->initiator);
	pr("close_xrcd.target", ibv_close_xrcd(x->xrcd[0]));
	pr("destroy_qp.xrc_maker", ibv_destroy_qp(x->target[0]));
	x->target[0] = NULL;
	pr("close_xrcd.maker", ibv_close_xrcd(x->xrcd[0]));
	x->xrcd[0] = NULL;
	show_state("query_qp.xrc_opened", x->target[1]);
}

static const char *poll_one(struct ibv_cq *cq, struct ibv_wc *wc)
{
	struct lo l = { .cq = cq };

	return lo_poll(&l, wc, 1000) == 1 ? ibv_wc_status_str(wc->status) :
					    "none";
}

static int post_to(struct xrc *x, uint32_t srqn)
{
	struct ibv_sge from = { (uintptr_t)x->l.buf, XRC_BYTES,
				x->l.mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = 1, .sg_list = &from, .num_sge = 1,
		.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
		.qp_type.xrc.remote_srqn = srqn,
	}, *bad;

	return ibv_post_send(x->initiator, &wr, &bad);
}

static void xrc_send(struct xrc *x)
{
	struct probe opener = { .ctx = x->ctx };
	struct ibv_sge to = { (uintptr_t)x->buf, sizeof(x->buf),
			      x->mr->lkey };
	struct ibv_recv_wr rr = { .sg_list = &to, .num_sge = 1 }, *bad;
	struct ibv_wc wc = {};
	const char *text;
	uint32_t srqn = 0;

	ibv_get_srq_num(x->srq, &srqn);
	memset(x->l.buf, 0x5a, XRC_BYTES);
	pr("post_srq_recv.xrc", ibv_post_srq_recv(x->srq, &rr, &bad));
	pr("post_send.xrc", post_to(x, srqn));
	prd("xrc.sent", 0, "%s", poll_one(x->l.cq, &wc));
	text = poll_one(x->cq, &wc);
	prd("xrc.received", 0, "%s, %u octets, %s", text, wc.byte_len,
	    memcmp(x->buf, x->l.buf, XRC_BYTES) ? "others" : "the same");
	prd("xrc.event_srq", 0, "%s", lo_event(&opener, 1000));
}

/* Linux 6.1 tells the maker of a target about it, not who has opened it. */
static void xrc_bad_send(struct xrc *x)
{
	struct probe opener = { .ctx = x->ctx };
	struct ibv_wc wc = {};

	pr("post_send.xrc_nobody", post_to(x, 0xfffff0));
	prd("xrc.sent_to_nobody", 0, "%s", poll_one(x->l.cq, &wc));
	prd("xrc.event_target", 0, "%s", lo_event(&opener, 1000));
	show_state("query_qp.xrc_failed", x->target[1]);
}

/*
 * What the second context has ends with it, as in a process that is killed:
 * rdma-core 44 crashes when a queue pair that mlx5 opened is destroyed.
 */
static void xrc_end(struct xrc *x)
{
	if (x->xrcd[1])
		pr("close_xrcd.busy", ibv_close_xrcd(x->xrcd[1]));
	if (x->target[0])
		ibv_destroy_qp(x->target[0]);
	if (x->initiator)
		pr("destroy_qp.xrc_send", ibv_destroy_qp(x->initiator));
	if (x->xrcd[0])
		ibv_close_xrcd(x->xrcd[0]);
	show_open(x->p, "still_there", x->fd, 0);
	if (x->ctx)
		pr("close_device.xrc", ibv_close_device(x->ctx));
	show_open(x->p, "after", x->fd, 0);
	if (x->fd >= 0)
		close(x->fd);
	lo_close(&x->l);
}

void probe_xrc(struct probe *p)
{
	struct ibv_xrcd *any = xrcd_open(p->ctx, -1, O_CREAT);
	struct ibv_qp_open_attr oa = { .qp_type = IBV_QPT_XRC_RECV };
	struct xrc *x;

	pr("open_xrcd", ep(any));
	if (!any) {			/* libibverbs reads oa.xrcd unchecked */
		pr("open_qp", ep(ibv_open_qp(p->ctx, &oa)));
		return;
	}
	pr("close_xrcd", ibv_close_xrcd(any));
	x = calloc(1, sizeof(*x));
	if (!x)
		return;
	x->p = p;
	x->fd = -1;
	if (!lo_open(&x->l, p, IBV_QPT_RC) && !xrc_domain(x) && !xrc_srq(x) &&
	    !xrc_qps(x)) {
		xrc_hand_over(x);
		xrc_send(x);
		xrc_bad_send(x);
	}
	xrc_end(x);
	free(x);
}
