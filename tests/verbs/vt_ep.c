// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * One connected endpoint: CQ, QP, one memory region with guard bytes, and what
 * the peer said about its own. Used by the thread of its side only. Values from
 * the peer go to the device as they are: the device has to check them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "vt.h"

#define GUARD_BYTE 0xa5

/**
 * vt_ep_defaults() - attributes that suit most tests
 * @len: bytes of data
 */
void vt_ep_defaults(struct vt_ep_attr *a, enum ibv_qp_type type, size_t len)
{
	memset(a, 0, sizeof(*a));
	a->type = type;
	a->depth = 64;
	a->sge = 4;
	a->len = len;
	a->access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
		    IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	a->rnr_retry = 7;
	a->retry_cnt = 7;
	a->timeout = 14;
}

void vt_ep_guards_set(struct vt_ep *ep)
{
	memset(ep->data - VT_GUARD, GUARD_BYTE, VT_GUARD);
	memset(ep->data + ep->attr.len, GUARD_BYTE, VT_GUARD);
}

/** vt_ep_guards_ok() - were the bytes around the data left alone? */
bool vt_ep_guards_ok(const struct vt_ep *ep)
{
	return vt_all(ep->data - VT_GUARD, VT_GUARD, GUARD_BYTE) &&
	       vt_all(ep->data + ep->attr.len, VT_GUARD, GUARD_BYTE);
}

/* Layout: GRH room (64), guard, data (skewed), guard; all in one MR. */
static int open_memory(struct vt_ep *ep)
{
	struct vt_side *s = ep->side;

	ep->mem_len = 3 * VT_GUARD + ep->attr.skew + ep->attr.len;
	ep->mem = mmap(NULL, ep->mem_len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (ep->mem == MAP_FAILED) {
		ep->mem = NULL;
		return vt_fail(s, "no memory for %zu bytes", ep->mem_len);
	}
	ep->data = ep->mem + 2 * VT_GUARD + ep->attr.skew;
	vt_ep_guards_set(ep);
	ep->mr = ibv_reg_mr(s->dev->pd, ep->mem, ep->mem_len,
			    ep->attr.access);
	if (!ep->mr)
		return vt_fail(s, "ibv_reg_mr of %zu bytes: %s (%s)",
			       ep->mem_len, vt_errno(errno), strerror(errno));
	return 0;
}

static int open_cq(struct vt_ep *ep)
{
	struct vt_side *s = ep->side;
	struct ibv_context *ctx = s->dev->ctx;

	if (s->opt->events) {
		ep->chan = ibv_create_comp_channel(ctx);
		if (!ep->chan)
			return vt_fail(s, "ibv_create_comp_channel: %s",
				       vt_errno(errno));
	}
	ep->cq = ibv_create_cq(ctx, 2 * ep->attr.depth + 16, ep, ep->chan, 0);
	if (!ep->cq)
		return vt_fail(s, "ibv_create_cq: %s", vt_errno(errno));
	return 0;
}

static int open_qp(struct vt_ep *ep)
{
	struct ibv_qp_init_attr ia = {
		.qp_type = ep->attr.type,
		.send_cq = ep->cq,
		.recv_cq = ep->cq,
		.srq = ep->attr.srq,
		.cap = {
			.max_send_wr = ep->attr.depth,
			.max_recv_wr = ep->attr.srq ? 0 : ep->attr.depth,
			.max_send_sge = ep->attr.sge,
			.max_recv_sge = ep->attr.srq ? 0 : ep->attr.sge,
			.max_inline_data = ep->attr.inl,
		},
	};

	ep->qp = ibv_create_qp(ep->side->dev->pd, &ia);
	if (!ep->qp)
		return vt_fail(ep->side, "ibv_create_qp: %s",
			       vt_errno(errno));
	return 0;
}

/**
 * vt_ep_open() - create the objects of an endpoint
 *
 * Return: 0, or -1 with the reason in the side; vt_ep_close() in both cases.
 */
int vt_ep_open(struct vt_side *s, struct vt_ep *ep, const struct vt_ep_attr *a)
{
	memset(ep, 0, sizeof(*ep));
	ep->side = s;
	ep->attr = *a;
	if (open_memory(ep) || open_cq(ep))
		return -1;
	return open_qp(ep);
}

/** vt_ep_close() - free an endpoint, also a half-opened or zeroed one */
void vt_ep_close(struct vt_ep *ep)
{
	if (ep->ah)
		ibv_destroy_ah(ep->ah);
	if (ep->qp)
		ibv_destroy_qp(ep->qp);
	if (ep->cq) {
		ibv_ack_cq_events(ep->cq, ep->events);
		ibv_destroy_cq(ep->cq);
	}
	if (ep->chan)
		ibv_destroy_comp_channel(ep->chan);
	if (ep->mr)
		ibv_dereg_mr(ep->mr);
	if (ep->mem)
		munmap(ep->mem, ep->mem_len);
	memset(ep, 0, sizeof(*ep));
}

static void ah_attr(struct vt_side *s, struct ibv_ah_attr *ah,
		    const uint8_t *gid, uint16_t lid)
{
	memset(ah, 0, sizeof(*ah));
	ah->is_global = 1;
	ah->port_num = VT_PORT;
	ah->dlid = lid;
	memcpy(ah->grh.dgid.raw, gid, 16);
	ah->grh.sgid_index = s->dev->gid_index;
	ah->grh.hop_limit = 64;
}

/** vt_ah() - address handle for a GID, NULL with errno on failure */
struct ibv_ah *vt_ah(struct vt_side *s, const uint8_t *gid, uint16_t lid)
{
	struct ibv_ah_attr a;

	ah_attr(s, &a, gid, lid);
	return ibv_create_ah(s->dev->pd, &a);
}

static int to_init(struct vt_ep *ep)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT,
		.port_num = VT_PORT,
		.qkey = VT_QKEY,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_ATOMIC,
	};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	mask |= ep->attr.type == IBV_QPT_UD ? IBV_QP_QKEY :
					      IBV_QP_ACCESS_FLAGS;
	return ibv_modify_qp(ep->qp, &a, mask);
}

static int rd_atomic(const struct vt_ep *ep)
{
	const struct ibv_device_attr *d = &ep->side->dev->attr;
	int n = d->max_qp_init_rd_atom;

	if (d->max_qp_rd_atom < n)
		n = d->max_qp_rd_atom;
	return n < 16 ? n : 16;
}

static int to_rtr(struct vt_ep *ep)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = ep->side->dev->port.active_mtu,
		.dest_qp_num = ep->peer.qpn,
		.rq_psn = ep->peer.psn,
		.max_dest_rd_atomic = rd_atomic(ep),
		.min_rnr_timer = 12,
	};
	int mask = IBV_QP_STATE;

	if (ep->peer.mtu < a.path_mtu)
		a.path_mtu = ep->peer.mtu;
	if (ep->attr.type != IBV_QPT_UD) {
		ah_attr(ep->side, &a.ah_attr, ep->peer.gid, ep->peer.lid);
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			IBV_QP_RQ_PSN;
	}
	if (ep->attr.type == IBV_QPT_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	return ibv_modify_qp(ep->qp, &a, mask);
}

static int to_rts(struct vt_ep *ep)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = ep->psn,
		.timeout = ep->attr.timeout,
		.retry_cnt = ep->attr.retry_cnt,
		.rnr_retry = ep->attr.rnr_retry,
		.max_rd_atomic = rd_atomic(ep),
	};
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (ep->attr.type == IBV_QPT_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	return ibv_modify_qp(ep->qp, &a, mask);
}

static int swap_peer(struct vt_ep *ep)
{
	struct vt_dev *d = ep->side->dev;
	struct vt_peer me = {
		.qpn = ep->qp->qp_num,
		.psn = ep->psn,
		.rkey = ep->mr->rkey,
		.mtu = d->port.active_mtu,
		.addr = (uintptr_t)ep->data,
		.len = ep->attr.len,
		.lid = d->port.lid,
	};

	memcpy(me.gid, d->gid.raw, 16);
	return vt_xchg(ep->side, &me, &ep->peer, sizeof(me));
}

static int step(struct vt_ep *ep, const char *what, int err)
{
	return err ? vt_fail(ep->side, "modify QP to %s: %s", what,
			     vt_errno(err)) : 0;
}

/**
 * vt_ep_connect() - swap addresses with the peer and bring the QP to RTS
 *
 * Both sides call it; it returns when both are ready to receive.
 */
int vt_ep_connect(struct vt_ep *ep)
{
	ep->psn = (uint32_t)vt_now_ns() & 0xffffff;
	if (swap_peer(ep) ||
	    step(ep, "INIT", to_init(ep)) ||
	    step(ep, "RTR", to_rtr(ep)) ||
	    step(ep, "RTS", to_rts(ep)))
		return -1;
	if (ep->attr.type == IBV_QPT_UD && !ep->ah) {
		ep->ah = vt_ah(ep->side, ep->peer.gid, ep->peer.lid);
		if (!ep->ah)
			return vt_fail(ep->side, "ibv_create_ah: %s",
				       vt_errno(errno));
	}
	return vt_sync(ep->side);
}

/** vt_ep_reconnect() - after an error: reset, forget completions, connect */
int vt_ep_reconnect(struct vt_ep *ep)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RESET };
	struct ibv_wc wc;

	if (step(ep, "RESET", ibv_modify_qp(ep->qp, &a, IBV_QP_STATE)))
		return -1;
	while (ibv_poll_cq(ep->cq, 1, &wc) > 0)
		;
	return vt_ep_connect(ep);
}
