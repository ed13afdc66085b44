// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * Posts work requests and waits for completions, by polling or by events, with
 * a limit on every wait. Used by the thread of the endpoint's side only.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#include "vt.h"

#define SPIN_POLLS	256	/* polls before the CPU is given away */
#define NAP_NS		20000
#define FATAL_NS	100000000ull	/* look for a dead device this often */

static void set_remote(const struct vt_ep *ep, struct ibv_send_wr *wr,
		       const struct vt_wr *w)
{
	uint64_t addr = ep->peer.addr + w->roff;
	uint32_t rkey = w->rkey ? w->rkey : ep->peer.rkey;

	if (ep->attr.type == IBV_QPT_UD) {
		wr->wr.ud.ah = ep->ah;
		wr->wr.ud.remote_qpn = w->rqpn ? w->rqpn : ep->peer.qpn;
		wr->wr.ud.remote_qkey = w->qkey ? w->qkey : VT_QKEY;
	} else if (w->op == IBV_WR_ATOMIC_CMP_AND_SWP ||
		   w->op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr->wr.atomic.remote_addr = addr;
		wr->wr.atomic.rkey = rkey;
		wr->wr.atomic.compare_add = w->add;
		wr->wr.atomic.swap = w->swap;
	} else {
		wr->wr.rdma.remote_addr = addr;
		wr->wr.rdma.rkey = rkey;
	}
}

/**
 * vt_post() - post one send request with one data segment
 *
 * Signaled, unless w->quiet. Return: 0, or -1 with the reason in the side.
 */
int vt_post(struct vt_ep *ep, const struct vt_wr *w)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)ep->data + w->off,
		.length = w->len,
		.lkey = w->lkey ? w->lkey : ep->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = w->id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = w->op,
		.send_flags = w->flags | (w->quiet ? 0 : IBV_SEND_SIGNALED),
	}, *bad;
	int err;

	if (w->op == IBV_WR_SEND_WITH_INV || w->op == IBV_WR_LOCAL_INV)
		wr.invalidate_rkey = w->imm;
	else
		wr.imm_data = htonl(w->imm);
	if (w->op == IBV_WR_LOCAL_INV)
		wr.num_sge = 0;
	else
		set_remote(ep, &wr, w);
	err = ibv_post_send(ep->qp, &wr, &bad);
	if (err)
		return vt_fail(ep->side, "post of opcode %d: %s", w->op,
			       vt_errno(err));
	return 0;
}

/**
 * vt_post_recv() - post one receive into the data; a UD header goes elsewhere
 */
int vt_post_recv(struct vt_ep *ep, uint64_t id, size_t off, uint32_t len)
{
	struct ibv_sge sge[2] = {
		{ (uintptr_t)ep->mem, VT_GRH, ep->mr->lkey },
		{ (uintptr_t)ep->data + off, len, ep->mr->lkey },
	};
	bool ud = ep->attr.type == IBV_QPT_UD;
	struct ibv_recv_wr wr = {
		.wr_id = id | VT_RECV,
		.sg_list = ud ? sge : sge + 1,
		.num_sge = ud ? 2 : 1,
	}, *bad;
	int err;

	if (ep->attr.srq)
		err = ibv_post_srq_recv(ep->attr.srq, &wr, &bad);
	else
		err = ibv_post_recv(ep->qp, &wr, &bad);
	if (err)
		return vt_fail(ep->side, "post receive: %s", vt_errno(err));
	return 0;
}

/* Arm, look once more, then sleep until the channel speaks or @ms is over. */
static int wait_event(struct vt_ep *ep, struct ibv_wc *wc, int ms)
{
	struct pollfd p = { .fd = ep->chan->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *ctx;
	int n;

	n = ibv_req_notify_cq(ep->cq, 0);
	if (n)
		return -n;
	n = ibv_poll_cq(ep->cq, 1, wc);
	if (n)
		return n;
	n = poll(&p, 1, ms);
	if (n <= 0)
		return 0;
	if (ibv_get_cq_event(ep->chan, &cq, &ctx))
		return -errno;
	if (cq != ep->cq || ctx != ep)
		return -EPROTO;
	ep->events++;
	return ibv_poll_cq(ep->cq, 1, wc);
}

static int wait_poll(struct vt_ep *ep, struct ibv_wc *wc)
{
	struct timespec nap = { .tv_nsec = NAP_NS };
	int i, n;

	for (i = 0; i < SPIN_POLLS; i++) {
		n = ibv_poll_cq(ep->cq, 1, wc);
		if (n)
			return n;
	}
	nanosleep(&nap, NULL);
	return 0;
}

/* Return: 0 with a completion, -ETIMEDOUT, -ENODEV for a dead device, ... */
static int wait_wc(struct vt_ep *ep, struct ibv_wc *wc, int timeout_ms)
{
	uint64_t now = vt_now_ns();
	uint64_t end = now + timeout_ms * 1000000ull;
	uint64_t look = now + FATAL_NS;
	int n = ibv_poll_cq(ep->cq, 1, wc);

	while (!n) {
		n = ep->chan ? wait_event(ep, wc, 50) : wait_poll(ep, wc);
		if (n)
			break;
		now = vt_now_ns();
		if (now > look) {
			look = now + FATAL_NS;
			if (vt_async_fatal(ep->side->dev))
				return -ENODEV;
		}
		if (now > end)
			return -ETIMEDOUT;
	}
	return n > 0 ? 0 : n == -1 ? -EIO : n;
}

/**
 * vt_wait() - wait for one completion of any status
 * @timeout_ms: limit; 0 means the side's own
 */
int vt_wait(struct vt_ep *ep, struct ibv_wc *wc, int timeout_ms)
{
	int ms = timeout_ms ? timeout_ms : ep->side->opt->timeout_ms;
	int err = wait_wc(ep, wc, ms);

	if (err == -ETIMEDOUT)
		return vt_fail(ep->side, "no completion within %d ms", ms);
	if (err == -ENODEV)
		return vt_fail(ep->side, "device died (fatal event)");
	if (err)
		return vt_fail(ep->side, "wait for completion: %s",
			       vt_errno(err));
	return 0;
}

/**
 * vt_want() - wait for one completion with a certain status
 * @what: names the request in the failure text
 */
int vt_want(struct vt_ep *ep, struct ibv_wc *wc, enum ibv_wc_status status,
	    const char *what)
{
	if (vt_wait(ep, wc, 0))
		return -1;
	if (wc->status != status)
		return vt_fail(ep->side, "%s: status '%s', expected '%s'",
			       what, ibv_wc_status_str(wc->status),
			       ibv_wc_status_str(status));
	if (status == IBV_WC_SUCCESS && wc->qp_num != ep->qp->qp_num &&
	    !ep->attr.srq)
		return vt_fail(ep->side, "%s: QP number %u, expected %u", what,
			       wc->qp_num, ep->qp->qp_num);
	return 0;
}

/** vt_quiet() - require that no completion comes within @ms */
int vt_quiet(struct vt_ep *ep, int ms, const char *what)
{
	struct ibv_wc wc;
	int err = wait_wc(ep, &wc, ms);

	if (err == -ETIMEDOUT)
		return 0;
	if (err)
		return vt_fail(ep->side, "%s: %s", what, vt_errno(err));
	return vt_fail(ep->side, "%s: unexpected completion '%s'", what,
		       ibv_wc_status_str(wc.status));
}
