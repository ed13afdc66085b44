// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * A QP connected to itself: the smallest thing that moves data, for probes that
 * need completions, events or errors. All waits have a limit.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "probe.h"

#define LO_PSN 0x1234

const char *qpt_name(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_RC: return "rc";
	case IBV_QPT_UC: return "uc";
	case IBV_QPT_UD: return "ud";
	default: return "other";
	}
}

const char *state_name(enum ibv_qp_state s)
{
	static const char *const name[] = {
		"reset", "init", "rtr", "rts", "sqd", "sqe", "err",
	};

	return (unsigned int)s < VT_ARRAY_SIZE(name) ? name[s] : "unknown";
}

void lo_ah_attr(struct probe *p, struct ibv_ah_attr *ah)
{
	memset(ah, 0, sizeof(*ah));
	ah->is_global = 1;
	ah->port_num = VT_PORT;
	ah->dlid = p->dev.port.lid;
	ah->grh.dgid = p->dev.gid;
	ah->grh.sgid_index = p->dev.gid_index;
	ah->grh.hop_limit = 64;
}

static int rtr_mask(enum ibv_qp_type type)
{
	int mask = IBV_QP_STATE;

	if (type != IBV_QPT_UD)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			IBV_QP_RQ_PSN;
	if (type == IBV_QPT_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	return mask;
}

static int rts_mask(enum ibv_qp_type type)
{
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (type == IBV_QPT_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	return mask;
}

/**
 * lo_attr() - what the usual modify to a state needs
 * @qp: the QP is its own peer
 * @a, @mask: filled in
 */
void lo_attr(struct probe *p, struct ibv_qp *qp, enum ibv_qp_type type,
	     enum ibv_qp_state to, struct ibv_qp_attr *a, int *mask)
{
	memset(a, 0, sizeof(*a));
	a->qp_state = to;
	a->port_num = VT_PORT;
	a->qkey = VT_QKEY;
	a->qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			     IBV_ACCESS_REMOTE_ATOMIC;
	a->path_mtu = IBV_MTU_1024;
	a->dest_qp_num = qp->qp_num;
	a->rq_psn = a->sq_psn = LO_PSN;
	a->max_dest_rd_atomic = a->max_rd_atomic = 1;
	a->min_rnr_timer = 1;
	a->timeout = 10;
	a->retry_cnt = 1;
	a->rnr_retry = 1;
	lo_ah_attr(p, &a->ah_attr);
	*mask = IBV_QP_STATE;
	if (to == IBV_QPS_INIT)
		*mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			 (type == IBV_QPT_UD ? IBV_QP_QKEY :
					       IBV_QP_ACCESS_FLAGS);
	else if (to == IBV_QPS_RTR)
		*mask = rtr_mask(type);
	else if (to == IBV_QPS_RTS)
		*mask = rts_mask(type);
}

int lo_modify(struct ibv_qp *qp, struct probe *p, enum ibv_qp_type type,
	      enum ibv_qp_state to)
{
	struct ibv_qp_attr a;
	int mask;

	lo_attr(p, qp, type, to, &a, &mask);
	return ibv_modify_qp(qp, &a, mask);
}

/** lo_walk() - bring a fresh QP to a state by the usual way */
int lo_walk(struct ibv_qp *qp, struct probe *p, enum ibv_qp_type type,
	    enum ibv_qp_state to)
{
	int s, err = 0;

	if (to == IBV_QPS_ERR)
		return lo_modify(qp, p, type, to);
	for (s = IBV_QPS_INIT; s <= (int)to && !err; s++)
		err = lo_modify(qp, p, type, s);
	return err;
}

static int lo_qp(struct lo *l)
{
	struct ibv_qp_init_attr ia = {
		.qp_type = l->type, .send_cq = l->cq, .recv_cq = l->cq,
		.srq = l->srq,
		.cap = { .max_send_wr = 16, .max_recv_wr = l->srq ? 0 : 16,
			 .max_send_sge = 2, .max_recv_sge = l->srq ? 0 : 2,
			 .max_inline_data = 64 },
	};
	struct ibv_ah_attr ah;

	l->qp = ibv_create_qp(l->p->pd, &ia);
	if (!l->qp)
		return errno;
	if (l->type == IBV_QPT_UD) {
		lo_ah_attr(l->p, &ah);
		l->ah = ibv_create_ah(l->p->pd, &ah);
		if (!l->ah)
			return errno;
	}
	return lo_walk(l->qp, l->p, l->type, IBV_QPS_RTS);
}

/** lo_reg() - register the buffer with every access; 0 or errno */
int lo_reg(struct lo *l, struct probe *p)
{
	l->mr = ibv_reg_mr(p->pd, l->buf, LO_LEN, IBV_ACCESS_LOCAL_WRITE |
			   IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			   IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND);
	return l->mr ? 0 : errno;
}

/**
 * lo_open() - make the loop; lo_close() also after a failure
 * @l: zeroed, but for l->srq
 *
 * Return: 0 or an errno value.
 */
int lo_open(struct lo *l, struct probe *p, enum ibv_qp_type type)
{
	l->p = p;
	l->type = type;
	l->buf = aligned_alloc(4096, LO_LEN);
	if (!l->buf)
		return ENOMEM;
	memset(l->buf, 0, LO_LEN);
	if (lo_reg(l, p))
		return errno;
	l->chan = ibv_create_comp_channel(p->ctx);
	if (!l->chan)
		return errno;
	l->cq = ibv_create_cq(p->ctx, 64, l, l->chan, 0);
	if (!l->cq)
		return errno;
	return lo_qp(l);
}

void lo_close(struct lo *l)
{
	if (l->qp)
		ibv_destroy_qp(l->qp);
	if (l->ah)
		ibv_destroy_ah(l->ah);
	if (l->cq)
		ibv_destroy_cq(l->cq);
	if (l->chan)
		ibv_destroy_comp_channel(l->chan);
	if (l->mr)
		ibv_dereg_mr(l->mr);
	free(l->buf);
	memset(l, 0, sizeof(*l));
}

/** lo_send() - post a SEND of the first bytes of the buffer */
int lo_send(struct lo *l, uint32_t len, unsigned int flags)
{
	struct ibv_sge sge = { (uintptr_t)l->buf, len, l->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = 1, .sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = flags | IBV_SEND_SIGNALED,
	}, *bad;

	if (l->type == IBV_QPT_UD) {
		wr.wr.ud.ah = l->ah;
		wr.wr.ud.remote_qpn = l->qp->qp_num;
		wr.wr.ud.remote_qkey = VT_QKEY;
	}
	return ibv_post_send(l->qp, &wr, &bad);
}

/** lo_recv() - post a receive into the second half of the buffer */
int lo_recv(struct lo *l, uint32_t len)
{
	struct ibv_sge sge = {
		(uintptr_t)l->buf + LO_LEN / 2, len, l->mr->lkey,
	};
	struct ibv_recv_wr wr = {
		.wr_id = 2, .sg_list = &sge, .num_sge = 1,
	}, *bad;

	if (l->srq)
		return ibv_post_srq_recv(l->srq, &wr, &bad);
	return ibv_post_recv(l->qp, &wr, &bad);
}

/** lo_poll() - 1 with a completion, 0 after @ms without, negative errno */
int lo_poll(struct lo *l, struct ibv_wc *wc, int ms)
{
	uint64_t end = vt_now_ns() + ms * 1000000ull;
	struct timespec nap = { .tv_nsec = 200000 };
	int n;

	do {
		n = ibv_poll_cq(l->cq, 1, wc);
		if (n)
			return n;
		nanosleep(&nap, NULL);
	} while (vt_now_ns() < end);
	return 0;
}

/**
 * lo_status() - collect @want completions and name their statuses
 *
 * In text: "send=NAME recv=NAME" sorted by side, "none" for a missing one.
 */
const char *lo_status(struct lo *l, int want, int ms)
{
	static char text[256];
	char side[2][120] = { "", "" };
	struct ibv_wc wc;
	int i, s;

	for (i = 0; i < want; i++) {
		if (lo_poll(l, &wc, ms) != 1)
			break;
		s = wc.wr_id == 2;
		snprintf(side[s] + strlen(side[s]),
			 sizeof(side[s]) - strlen(side[s]), "%s%s",
			 side[s][0] ? "+" : s ? "recv=" : "send=",
			 ibv_wc_status_str(wc.status));
	}
	snprintf(text, sizeof(text), "%s%s%s%s", side[0],
		 side[0][0] && side[1][0] ? " " : "", side[1],
		 i < want ? " none" : "");
	return text;
}

/** lo_event() - name of the next async event, "none" after @ms without one */
const char *lo_event(struct probe *p, int ms)
{
	struct pollfd f = { .fd = p->ctx->async_fd, .events = POLLIN };
	struct ibv_async_event ev;

	if (poll(&f, 1, ms) <= 0 || ibv_get_async_event(p->ctx, &ev))
		return "none";
	ibv_ack_async_event(&ev);
	return ibv_event_type_str(ev.event_type);
}
