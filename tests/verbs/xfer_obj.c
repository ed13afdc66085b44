// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * Data tests about objects: many QPs, SRQ, completion events, multicast,
 * re-registration. Both sides run these functions, each in its own thread.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "xfer.h"

#define MANY_HALF	4096
#define SRQ_QPS		4
#define SRQ_MSGS	8	/* for each QP */
#define SRQ_LEN		1024
#define QUIET_MS	300

#define BIG_PART	65536

static int big_part(struct vt_ep *ep, size_t at, uint64_t seed)
{
	struct vt_side *s = ep->side;
	struct vt_wr wr = { .op = IBV_WR_RDMA_WRITE, .roff = at,
			    .len = BIG_PART };
	struct vt_wr rd = { .op = IBV_WR_RDMA_READ, .roff = at,
			    .off = BIG_PART, .len = BIG_PART };
	struct ibv_wc wc;

	if (s->init) {
		vt_fill(ep->data, BIG_PART, seed);
		memset(ep->data + BIG_PART, 0, BIG_PART);
		if (vt_post(ep, &wr) ||
		    vt_want(ep, &wc, IBV_WC_SUCCESS, "write") ||
		    vt_post(ep, &rd) ||
		    vt_want(ep, &wc, IBV_WC_SUCCESS, "read"))
			return -1;
		if (vt_check(ep->data + BIG_PART, BIG_PART, seed) >= 0)
			return vt_fail(s, "read of offset %zu: wrong data", at);
	}
	if (vt_sync(s))
		return -1;
	if (!s->init && vt_check(ep->data + at, BIG_PART, seed) >= 0)
		return vt_fail(s, "write at offset %zu: wrong data", at);
	return 0;
}

/** xfer_big() - one huge region, used at both ends and in between */
int xfer_big(struct vt_side *s, const struct xfer_test *t)
{
	const size_t at[] = {
		0, t->size / 3 + 5, t->size / 2 - BIG_PART / 2,
		t->size - BIG_PART,
	};
	struct vt_ep_attr a;
	struct vt_ep ep;
	uint64_t seed;
	size_t i;
	int rc;

	vt_ep_defaults(&a, t->type, s->init ? 2 * BIG_PART : t->size);
	rc = vt_ep_open(s, &ep, &a) || vt_ep_connect(&ep) ? -1 : 0;
	seed = rc ? 0 : xfer_seed(s);
	for (i = 0; i < VT_ARRAY_SIZE(at) && !rc; i++)
		rc = big_part(&ep, at[i], seed + i);
	vt_ep_close(&ep);
	return rc;
}

static int many_send(struct vt_ep *ep, uint64_t seed)
{
	struct vt_wr write = {
		.id = 1, .op = IBV_WR_RDMA_WRITE, .off = MANY_HALF,
		.roff = MANY_HALF, .len = MANY_HALF,
	};
	struct vt_wr send = { .id = 2, .op = IBV_WR_SEND, .len = MANY_HALF };

	vt_fill(ep->data, 2 * MANY_HALF, seed);
	return vt_post(ep, &write) || vt_post(ep, &send) ? -1 : 0;
}

static int many_check(struct vt_ep *ep, uint64_t seed, int i)
{
	struct ibv_wc wc;

	if (vt_want(ep, &wc, IBV_WC_SUCCESS, "receive"))
		return -1;
	if (wc.byte_len != MANY_HALF ||
	    vt_check(ep->data, 2 * MANY_HALF, seed) >= 0 ||
	    !vt_ep_guards_ok(ep))
		return vt_fail(ep->side, "QP %d: wrong data", i);
	return 0;
}

/* Every QP is busy at once: all posts come before the first wait. */
static int many_run(struct vt_side *s, struct vt_ep *ep, int n)
{
	uint64_t seed = xfer_seed(s);
	struct ibv_wc wc;
	int i;

	for (i = 0; !s->init && i < n; i++)
		if (vt_post_recv(&ep[i], 0, 0, MANY_HALF))
			return -1;
	if (vt_sync(s))
		return -1;
	for (i = 0; s->init && i < n; i++)
		if (many_send(&ep[i], seed + i))
			return -1;
	for (i = 0; i < n; i++) {
		if (!s->init && many_check(&ep[i], seed + i, i))
			return -1;
		if (s->init &&
		    (vt_want(&ep[i], &wc, IBV_WC_SUCCESS, "write") ||
		     vt_want(&ep[i], &wc, IBV_WC_SUCCESS, "send")))
			return -1;
	}
	return vt_sync(s);
}

/** xfer_many() - many QPs at once, each with its own CQ and memory */
int xfer_many(struct vt_side *s, const struct xfer_test *t)
{
	uint64_t mine = xfer_qps, theirs;
	struct vt_ep_attr a;
	struct vt_ep *ep;
	int i, n, rc = 0;

	if (vt_xchg(s, &mine, &theirs, sizeof(mine)))
		return -1;
	n = s->init ? mine : theirs;
	if (n < 1 || n > 10000)
		return vt_fail(s, "%d QPs asked for, 1..10000 possible", n);
	ep = calloc(n, sizeof(*ep));
	if (!ep)
		return vt_fail(s, "no memory for %d endpoints", n);
	vt_ep_defaults(&a, t->type, 2 * MANY_HALF);
	a.depth = 4;
	for (i = 0; i < n && !rc; i++)
		rc = vt_ep_open(s, &ep[i], &a) || vt_ep_connect(&ep[i]) ?
		     -1 : 0;
	if (!rc)
		rc = many_run(s, ep, n);
	for (i = 0; i < n; i++)
		vt_ep_close(&ep[i]);
	free(ep);
	return rc;
}

static int srq_send(struct vt_side *s, struct vt_ep *ep, uint64_t seed)
{
	struct ibv_wc wc;
	int i, m;

	for (m = 0; m < SRQ_MSGS; m++)
		for (i = 0; i < SRQ_QPS; i++) {
			struct vt_wr w = {
				.id = m, .op = IBV_WR_SEND,
				.off = m * SRQ_LEN, .len = SRQ_LEN,
			};

			vt_fill(ep[i].data + w.off, SRQ_LEN,
				seed + i * 100 + m);
			if (vt_post(&ep[i], &w))
				return -1;
		}
	for (i = 0; i < SRQ_QPS; i++)
		for (m = 0; m < SRQ_MSGS; m++)
			if (vt_want(&ep[i], &wc, IBV_WC_SUCCESS, "send"))
				return -1;
	return vt_sync(s);
}

/* Any QP may take any buffer of the SRQ; per QP the order is kept. */
static int srq_check(struct vt_side *s, struct vt_ep *ep, uint64_t seed)
{
	bool used[SRQ_QPS * SRQ_MSGS] = { false };
	struct ibv_wc wc;
	uint64_t slot;
	int i, m;

	for (i = 0; i < SRQ_QPS; i++)
		for (m = 0; m < SRQ_MSGS; m++) {
			if (vt_want(&ep[i], &wc, IBV_WC_SUCCESS, "receive"))
				return -1;
			slot = wc.wr_id & ~VT_RECV;
			if (slot >= VT_ARRAY_SIZE(used) || used[slot] ||
			    wc.qp_num != ep[i].qp->qp_num)
				return vt_fail(s, "QP %d: bad completion", i);
			used[slot] = true;
			if (vt_check(ep[0].data + slot * SRQ_LEN, SRQ_LEN,
				     seed + i * 100 + m) >= 0)
				return vt_fail(s, "QP %d message %d: wrong "
					       "data", i, m);
		}
	return vt_sync(s);
}

static int srq_fill(struct vt_ep *ep, int n)
{
	int i;

	for (i = 0; i < n; i++)
		if (vt_post_recv(ep, i, i * SRQ_LEN, SRQ_LEN))
			return -1;
	return 0;
}

static int want_async(struct vt_side *s, enum ibv_event_type want)
{
	struct pollfd p = { .fd = s->dev->ctx->async_fd, .events = POLLIN };
	uint64_t end = vt_now_ns() + s->opt->timeout_ms * 1000000ull;

	do {
		if (vt_async_fatal(s->dev))
			return vt_fail(s, "device died (fatal event)");
		if (s->dev->seen & 1u << want)
			return 0;
		poll(&p, 1, 100);
	} while (vt_now_ns() < end);
	return vt_fail(s, "no event '%s'", ibv_event_type_str(want));
}

/* Ten buffers, limit eight, four messages: the limit event has to come. */
static int srq_limit(struct vt_side *s, struct vt_ep *ep, struct ibv_srq *srq)
{
	struct ibv_srq_attr attr = { .srq_limit = 8 };
	struct vt_wr w = { .op = IBV_WR_SEND, .len = SRQ_LEN };
	struct ibv_wc wc;
	int i, err;

	if (!s->init) {
		s->dev->seen &= ~(1u << IBV_EVENT_SRQ_LIMIT_REACHED);
		if (srq_fill(ep, 10))
			return -1;
		err = ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT);
		if (err)
			return vt_fail(s, "arm SRQ limit: %s", vt_errno(err));
	}
	if (vt_sync(s))
		return -1;
	for (i = 0; i < 4; i++)
		if ((s->init && vt_post(&ep[i], &w)) ||
		    vt_want(&ep[i], &wc, IBV_WC_SUCCESS, "limit message"))
			return -1;
	if (!s->init && want_async(s, IBV_EVENT_SRQ_LIMIT_REACHED))
		return -1;
	return vt_sync(s);
}

static int srq_run(struct vt_side *s, struct vt_ep *ep, struct ibv_srq *srq)
{
	uint64_t seed = xfer_seed(s);

	if (!s->init && srq_fill(ep, SRQ_QPS * SRQ_MSGS))
		return -1;
	if (vt_sync(s))
		return -1;
	if (s->init ? srq_send(s, ep, seed) : srq_check(s, ep, seed))
		return -1;
	return srq_limit(s, ep, srq);
}

/** xfer_srq() - four QPs fed from one SRQ, then its limit event */
int xfer_srq(struct vt_side *s, const struct xfer_test *t)
{
	struct ibv_srq_init_attr ia = {
		.attr = { .max_wr = SRQ_QPS * SRQ_MSGS, .max_sge = 1 },
	};
	struct vt_ep ep[SRQ_QPS] = {};
	struct ibv_srq *srq = NULL;
	struct vt_ep_attr a;
	int i, rc = 0;

	vt_ep_defaults(&a, t->type, SRQ_QPS * SRQ_MSGS * SRQ_LEN);
	if (!s->init) {
		srq = ibv_create_srq(s->dev->pd, &ia);
		if (!srq)
			return vt_fail(s, "ibv_create_srq: %s",
				       vt_errno(errno));
		a.srq = srq;
	}
	for (i = 0; i < SRQ_QPS && !rc; i++)
		rc = vt_ep_open(s, &ep[i], &a) || vt_ep_connect(&ep[i]) ?
		     -1 : 0;
	if (!rc)
		rc = srq_run(s, ep, srq);
	for (i = 0; i < SRQ_QPS; i++)
		vt_ep_close(&ep[i]);
	if (srq && ibv_destroy_srq(srq) && !rc)
		rc = vt_fail(s, "ibv_destroy_srq failed");
	return rc;
}

/* Armed for solicited messages: a plain one must not wake us, the other must */
static int event_solicited(struct vt_side *s, struct vt_ep *ep)
{
	struct pollfd p = { .fd = ep->chan->fd, .events = POLLIN };
	struct vt_wr w = { .op = IBV_WR_SEND, .len = 64 };
	struct ibv_wc wc;
	int i;

	for (i = 0; i < 2; i++) {
		if (!s->init && (vt_post_recv(ep, i, 0, 64) ||
				 ibv_req_notify_cq(ep->cq, 1)))
			return vt_fail(s, "arm for solicited events failed");
		if (vt_sync(s))
			return -1;
		w.flags = i ? IBV_SEND_SOLICITED : 0;
		if (s->init && (vt_post(ep, &w) ||
				vt_want(ep, &wc, IBV_WC_SUCCESS, "send")))
			return -1;
		if (!s->init &&
		    poll(&p, 1, i ? s->opt->timeout_ms : QUIET_MS) != i)
			return vt_fail(s, i ? "no event for a solicited send" :
				       "event for an unsolicited send");
		if (!s->init && vt_want(ep, &wc, IBV_WC_SUCCESS, "receive"))
			return -1;
	}
	return vt_sync(s);
}

static int event_pingpong(struct vt_side *s, struct vt_ep *ep, int rounds)
{
	struct ibv_wc wc;
	int i, half;

	for (i = 0; i < rounds; i++) {
		struct vt_wr w = { .id = i, .op = IBV_WR_SEND, .len = 64 };

		if (vt_post_recv(ep, i, 64, 64) || vt_sync(s))
			return -1;
		if (s->init && vt_post(ep, &w))
			return -1;
		for (half = 0; half < 2; half++) {
			if (vt_want(ep, &wc, IBV_WC_SUCCESS, "ping-pong"))
				return -1;
			if (!s->init && (wc.wr_id & VT_RECV) &&
			    vt_post(ep, &w))
				return -1;
		}
	}
	return vt_sync(s);
}

/** xfer_event() - solicited and ordinary completion events */
int xfer_event(struct vt_side *s, const struct xfer_test *t)
{
	const struct vt_opt *saved = s->opt;
	struct vt_opt o = *s->opt;
	struct vt_ep_attr a;
	struct vt_ep ep;
	int rc;

	o.events = true;
	s->opt = &o;
	vt_ep_defaults(&a, t->type, 4096);
	rc = vt_ep_open(s, &ep, &a) || vt_ep_connect(&ep) ||
	     event_solicited(s, &ep) || event_pingpong(s, &ep, 20) ? -1 : 0;
	vt_ep_close(&ep);
	s->opt = saved;
	return rc;
}

/* 239.77.1.1 in the form that an IPv4 GID needs, else a transient IPv6 one. */
static void mcast_gid(const struct vt_side *s, union ibv_gid *g)
{
	static const uint8_t v4[16] = {
		[10] = 0xff, [11] = 0xff, 239, 77, 1, 1,
	};
	static const uint8_t v6[16] = { 0xff, 0x1e, [14] = 0x4d, 1 };
	bool is_v4 = vt_all(s->dev->gid.raw, 10, 0) &&
		     s->dev->gid.raw[10] == 0xff;

	memcpy(g->raw, is_v4 ? v4 : v6, 16);
}

static int mcast_send(struct vt_ep *ep, const union ibv_gid *g, uint64_t seed)
{
	struct vt_side *s = ep->side;
	struct vt_wr w = { .op = IBV_WR_SEND, .len = 256, .rqpn = 0xffffff };
	struct ibv_ah *mine = ep->ah;
	struct ibv_wc wc;
	int rc;

	ep->ah = vt_ah(s, g->raw, 0xc001);
	if (!ep->ah) {
		ep->ah = mine;
		return vt_fail(s, "address handle for the group: %s",
			       vt_errno(errno));
	}
	vt_fill(ep->data, 256, seed);
	rc = vt_post(ep, &w) || vt_want(ep, &wc, IBV_WC_SUCCESS, "send");
	ibv_destroy_ah(ep->ah);
	ep->ah = mine;
	return rc ? -1 : 0;
}

static int mcast_recv(struct vt_ep *ep, uint64_t seed)
{
	struct ibv_wc wc;

	if (vt_want(ep, &wc, IBV_WC_SUCCESS, "multicast receive"))
		return -1;
	if (wc.byte_len != 256 + VT_GRH || wc.src_qp != ep->peer.qpn ||
	    vt_check(ep->data, 256, seed) >= 0)
		return vt_fail(ep->side, "wrong multicast message");
	return 0;
}

static int mcast_run(struct vt_ep *ep)
{
	struct vt_side *s = ep->side;
	uint64_t seed = xfer_seed(s);
	union ibv_gid g;
	int err;

	mcast_gid(s, &g);
	if (!s->init) {
		err = ibv_attach_mcast(ep->qp, &g, 0xc001);
		if (err)
			return vt_fail(s, "ibv_attach_mcast: %s",
				       vt_errno(err));
		if (vt_post_recv(ep, 0, 0, 256) ||
		    vt_post_recv(ep, 1, 0, 256))
			return -1;
	}
	if (vt_sync(s) || (s->init ? mcast_send(ep, &g, seed) :
				     mcast_recv(ep, seed)))
		return -1;
	err = s->init ? 0 : ibv_detach_mcast(ep->qp, &g, 0xc001);
	if (err)
		return vt_fail(s, "ibv_detach_mcast: %s", vt_errno(err));
	if (vt_sync(s) || (s->init && mcast_send(ep, &g, seed)))
		return -1;
	if (!s->init && vt_quiet(ep, QUIET_MS, "after detach"))
		return -1;
	return vt_sync(s);
}

/** xfer_mcast() - a member of a group gets a message, a past member none */
int xfer_mcast(struct vt_side *s, const struct xfer_test *t)
{
	struct vt_ep_attr a;
	struct vt_ep ep;
	int rc;

	if (!s->dev->attr.max_mcast_grp)
		return xfer_skip(s, "device without multicast");
	vt_ep_defaults(&a, t->type, 256);
	rc = vt_ep_open(s, &ep, &a) || vt_ep_connect(&ep) ||
	     mcast_run(&ep) ? -1 : 0;
	vt_ep_close(&ep);
	return rc;
}

struct rereg_key {
	uint64_t addr;
	uint32_t rkey;
	uint32_t pad;
};

/* Moves a region from its old memory to the endpoint's data. */
static int rereg_target(struct vt_ep *ep, struct ibv_mr **mr, void *old)
{
	struct vt_side *s = ep->side;
	int rc;

	*mr = ibv_reg_mr(s->dev->pd, old, 4096, ep->attr.access);
	if (!*mr)
		return vt_fail(s, "ibv_reg_mr: %s", vt_errno(errno));
	errno = 0;
	rc = ibv_rereg_mr(*mr, IBV_REREG_MR_CHANGE_TRANSLATION,
			  s->dev->pd, ep->data, 4096, 0);
	if (!rc)
		return 0;
	if (errno == EOPNOTSUPP)
		return xfer_skip(s, "the provider has no ibv_rereg_mr");
	return vt_fail(s, "ibv_rereg_mr: %d, %s", rc, vt_errno(errno));
}

static int rereg_run(struct vt_ep *ep, struct ibv_mr *mr, const void *old)
{
	struct rereg_key mine = {}, theirs;
	struct vt_side *s = ep->side;
	struct vt_wr w = { .op = IBV_WR_RDMA_WRITE, .len = 4096 };
	uint64_t seed = xfer_seed(s);
	struct ibv_wc wc;

	if (mr) {
		mine.addr = (uintptr_t)mr->addr;
		mine.rkey = mr->rkey;
	}
	if (vt_xchg(s, &mine, &theirs, sizeof(mine)))
		return -1;
	if (s->init) {
		w.rkey = theirs.rkey;
		vt_fill(ep->data, 4096, seed);
		if (theirs.addr != ep->peer.addr)
			return vt_fail(s, "the region did not move");
		if (vt_post(ep, &w) ||
		    vt_want(ep, &wc, IBV_WC_SUCCESS, "write"))
			return -1;
	}
	if (vt_sync(s))
		return -1;
	if (!s->init && (vt_check(ep->data, 4096, seed) >= 0 ||
			 !vt_all(old, 4096, 0)))
		return vt_fail(s, "data went to the old memory");
	return 0;
}

/** xfer_rereg() - a re-registered region takes data in its new memory */
int xfer_rereg(struct vt_side *s, const struct xfer_test *t)
{
	struct ibv_mr *mr = NULL;
	struct vt_ep_attr a;
	struct vt_ep ep;
	void *old;
	int rc;

	old = aligned_alloc(4096, 4096);
	if (!old)
		return vt_fail(s, "no memory");
	memset(old, 0, 4096);
	vt_ep_defaults(&a, t->type, 4096);
	rc = vt_ep_open(s, &ep, &a) || vt_ep_connect(&ep) ? -1 : 0;
	if (!rc && !s->init)
		rc = rereg_target(&ep, &mr, old);
	if (!rc)
		rc = rereg_run(&ep, mr, old);
	if (mr)
		ibv_dereg_mr(mr);
	vt_ep_close(&ep);
	free(old);
	return rc;
}
