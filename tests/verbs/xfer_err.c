// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * Requests that have to fail, each with its own status; the QP must be in the
 * error state afterwards, flush what is posted, and work again after a reset.
 * Both sides run these functions, each in its own thread.
 */
#include <errno.h>
#include <string.h>

#include "xfer.h"

#define ERR_LEN		4096
#define QUIET_MS	300

struct err_case {
	struct vt_wr w;
	enum ibv_wc_status want;
	enum ibv_wc_status rxe;		/* what rxe says instead, or 0 */
	enum ibv_wc_status rxe_later;	/* and that of Linux 6.12, or 0 */
	uint32_t recv;		/* target posts a receive of so many bytes */
};

static int open_pair(struct vt_side *s, struct vt_ep *ep,
		     const struct vt_ep_attr *a)
{
	return vt_ep_open(s, ep, a) || vt_ep_connect(ep) ? -1 : 0;
}

static int want_state(struct vt_ep *ep, enum ibv_qp_state want)
{
	struct ibv_qp_init_attr ia;
	struct ibv_qp_attr a;
	int err = ibv_query_qp(ep->qp, &a, IBV_QP_STATE, &ia);

	if (err)
		return vt_fail(ep->side, "ibv_query_qp: %s", vt_errno(err));
	if (a.qp_state != want)
		return vt_fail(ep->side, "QP state %d, expected %d",
			       a.qp_state, want);
	return 0;
}

/* The completion of the failing request. Which rxe it is, a guest cannot tell. */
static int want_bad(struct vt_ep *ep, struct ibv_wc *wc,
		    const struct err_case *c)
{
	bool rxe = ep->side->dev->attr.vendor_id == VT_VENDOR_RXE;
	enum ibv_wc_status want = rxe && c->rxe ? c->rxe : c->want;

	if (vt_wait(ep, wc, 0))
		return -1;
	if (wc->status == want ||
	    (rxe && c->rxe_later && wc->status == c->rxe_later))
		return 0;
	return vt_fail(ep->side, "bad request: status '%s', expected '%s'",
		       ibv_wc_status_str(wc->status), ibv_wc_status_str(want));
}

/* The failing request, then one behind it that has to be flushed. */
static int fail_send(struct vt_ep *ep, const struct err_case *c)
{
	struct vt_wr w = c->w;
	struct ibv_wc wc;

	w.id = 11;
	if (vt_post(ep, &w) || want_bad(ep, &wc, c))
		return -1;
	if (wc.wr_id != 11)
		return vt_fail(ep->side, "wr_id %llu, expected 11",
			       (unsigned long long)wc.wr_id);
	if (want_state(ep, IBV_QPS_ERR))
		return -1;
	w.id = 12;
	if (vt_post(ep, &w) ||
	    vt_want(ep, &wc, IBV_WC_WR_FLUSH_ERR, "request after the error"))
		return -1;
	return 0;
}

static int good_again(struct vt_ep *ep)
{
	struct vt_side *s = ep->side;
	struct vt_wr w = { .op = IBV_WR_SEND, .len = ERR_LEN };
	uint64_t seed;
	struct ibv_wc wc;

	/* The HCA may have the receive later than it is posted (data-path.md). */
	ep->attr.rnr_retry = 7;
	if (vt_ep_reconnect(ep))
		return -1;
	seed = xfer_seed(s);
	if (s->init)
		vt_fill(ep->data, ERR_LEN, seed);
	else if (vt_post_recv(ep, 5, 0, ERR_LEN))
		return -1;
	if (vt_sync(s) || (s->init && vt_post(ep, &w)) ||
	    vt_want(ep, &wc, IBV_WC_SUCCESS, "transfer after the reset"))
		return -1;
	if (!s->init && vt_check(ep->data, ERR_LEN, seed) >= 0)
		return vt_fail(s, "wrong data after the reset");
	return vt_sync(s);
}

static int target_error(struct vt_ep *ep)
{
	struct ibv_wc wc;

	if (vt_wait(ep, &wc, 0))
		return -1;
	if (wc.status == IBV_WC_LOC_LEN_ERR)
		return 0;
	if (wc.status == IBV_WC_LOC_QP_OP_ERR &&
	    ep->side->dev->attr.vendor_id == VT_VENDOR_RXE)
		return 0;
	return vt_fail(ep->side, "receive ended with '%s', expected '%s'",
		       ibv_wc_status_str(wc.status),
		       ibv_wc_status_str(IBV_WC_LOC_LEN_ERR));
}

/* Runs one case on an open pair; the target's memory must not change. */
static int run_case(struct vt_ep *ep, const struct err_case *c)
{
	struct vt_side *s = ep->side;

	memset(ep->data, s->init ? 0xdd : 0, ERR_LEN);
	if (!s->init && c->recv && vt_post_recv(ep, 1, 0, c->recv))
		return -1;
	if (vt_sync(s))
		return -1;
	if (s->init && fail_send(ep, c))
		return -1;
	if (!s->init && c->recv && target_error(ep))
		return -1;
	if (vt_sync(s))
		return -1;
	if (!s->init && (!vt_all(ep->data + c->recv, ERR_LEN - c->recv, 0) ||
			 !vt_ep_guards_ok(ep)))
		return vt_fail(s, "a refused request changed the memory");
	return good_again(ep);
}

static int run_simple(struct vt_side *s, const struct xfer_test *t,
		      const struct err_case *c)
{
	struct vt_ep_attr a;
	struct vt_ep ep;
	int rc;

	vt_ep_defaults(&a, t->type, ERR_LEN);
	rc = open_pair(s, &ep, &a);
	if (!rc)
		rc = run_case(&ep, c);
	vt_ep_close(&ep);
	return rc;
}

/** xfer_err_rkey() - a key that nobody has */
int xfer_err_rkey(struct vt_side *s, const struct xfer_test *t)
{
	struct err_case c = {
		.w = { .op = t->op, .len = 64, .rkey = 0x7fffff55 },
		.want = IBV_WC_REM_ACCESS_ERR,
	};

	return run_simple(s, t, &c);
}

/** xfer_err_bounds() - the region ends one byte too early */
int xfer_err_bounds(struct vt_side *s, const struct xfer_test *t)
{
	struct err_case c = {
		.w = {
			.op = t->op, .len = 64,
			.roff = ERR_LEN + VT_GUARD - 63,
		},
		.want = IBV_WC_REM_ACCESS_ERR,
	};

	return run_simple(s, t, &c);
}

/** xfer_err_access() - the region allows another kind of access only */
int xfer_err_access(struct vt_side *s, const struct xfer_test *t)
{
	struct err_case c = {
		.w = { .op = t->op, .len = 8 },
		.want = IBV_WC_REM_ACCESS_ERR,
	};
	struct vt_ep_attr a;
	struct vt_ep ep;
	int rc;

	vt_ep_defaults(&a, t->type, ERR_LEN);
	a.access = IBV_ACCESS_LOCAL_WRITE;
	a.access |= t->op == IBV_WR_RDMA_READ ? IBV_ACCESS_REMOTE_WRITE :
						IBV_ACCESS_REMOTE_READ;
	rc = open_pair(s, &ep, &a);
	if (!rc)
		rc = run_case(&ep, &c);
	vt_ep_close(&ep);
	return rc;
}

static int share_key(struct vt_side *s, const struct ibv_mr *mr,
		     struct err_case *c)
{
	uint64_t mine = mr ? mr->rkey : 0, theirs;

	if (vt_xchg(s, &mine, &theirs, sizeof(mine)))
		return -1;
	if (s->init && !theirs)
		return vt_fail(s, "the peer sent no key");
	c->w.rkey = theirs;
	return 0;
}

/** xfer_err_pd() - a region of another protection domain */
int xfer_err_pd(struct vt_side *s, const struct xfer_test *t)
{
	struct err_case c = {
		.w = { .op = t->op, .len = 64 },
		.want = IBV_WC_REM_ACCESS_ERR,
	};
	struct ibv_mr *mr = NULL;
	struct ibv_pd *pd = NULL;
	struct vt_ep_attr a;
	struct vt_ep ep;
	int rc;

	vt_ep_defaults(&a, t->type, ERR_LEN);
	rc = open_pair(s, &ep, &a);
	if (!rc && !s->init) {
		pd = ibv_alloc_pd(s->dev->ctx);
		if (pd)
			mr = ibv_reg_mr(pd, ep.data, ERR_LEN, a.access);
		if (!mr)
			rc = vt_fail(s, "second PD or its MR: %s",
				     vt_errno(errno));
	}
	if (!rc)
		rc = share_key(s, mr, &c) || run_case(&ep, &c) ? -1 : 0;
	if (mr)
		ibv_dereg_mr(mr);
	if (pd)
		ibv_dealloc_pd(pd);
	vt_ep_close(&ep);
	return rc;
}

/** xfer_err_dereg() - the key of a region that is no more */
int xfer_err_dereg(struct vt_side *s, const struct xfer_test *t)
{
	struct err_case c = {
		.w = { .op = t->op, .len = 64 },
		.want = IBV_WC_REM_ACCESS_ERR,
	};
	struct ibv_mr *mr = NULL;
	struct vt_ep_attr a;
	struct vt_ep ep;
	int rc;

	vt_ep_defaults(&a, t->type, ERR_LEN);
	rc = open_pair(s, &ep, &a);
	if (!rc && !s->init) {
		mr = ibv_reg_mr(s->dev->pd, ep.data, ERR_LEN, a.access);
		if (!mr)
			rc = vt_fail(s, "ibv_reg_mr: %s", vt_errno(errno));
	}
	if (!rc)
		rc = share_key(s, mr, &c);
	if (mr && ibv_dereg_mr(mr) && !rc)
		rc = vt_fail(s, "ibv_dereg_mr failed");
	if (!rc)
		rc = run_case(&ep, &c);
	vt_ep_close(&ep);
	return rc;
}

/** xfer_err_lkey() - the sender's own key is wrong */
int xfer_err_lkey(struct vt_side *s, const struct xfer_test *t)
{
	struct err_case c = {
		.w = { .op = t->op, .len = 64, .lkey = 0x7fffff55 },
		.want = IBV_WC_LOC_PROT_ERR,
		.rxe = IBV_WC_LOC_QP_OP_ERR,
		.rxe_later = IBV_WC_WR_FLUSH_ERR,
	};

	return run_simple(s, t, &c);
}

/** xfer_err_length() - the receive buffer is too short */
int xfer_err_length(struct vt_side *s, const struct xfer_test *t)
{
	struct err_case c = {
		.w = { .op = t->op, .len = 128 },
		.want = IBV_WC_REM_INV_REQ_ERR,
		.rxe = IBV_WC_REM_OP_ERR,
		.recv = 64,
	};

	return run_simple(s, t, &c);
}

/** xfer_err_rnr() - no receive is posted */
int xfer_err_rnr(struct vt_side *s, const struct xfer_test *t)
{
	struct err_case c = {
		.w = { .op = t->op, .len = 64 },
		.want = IBV_WC_RNR_RETRY_EXC_ERR,
	};
	struct vt_ep_attr a;
	struct vt_ep ep;
	int rc;

	vt_ep_defaults(&a, t->type, ERR_LEN);
	a.rnr_retry = 1;
	rc = open_pair(s, &ep, &a);
	if (!rc)
		rc = run_case(&ep, &c);
	vt_ep_close(&ep);
	return rc;
}

/** xfer_err_retry() - the peer's QP is gone, nobody answers */
int xfer_err_retry(struct vt_side *s, const struct xfer_test *t)
{
	struct err_case c = {
		.w = { .op = t->op, .len = 64 },
		.want = IBV_WC_RETRY_EXC_ERR,
	};
	struct vt_ep_attr a;
	struct vt_ep ep;
	int rc;

	vt_ep_defaults(&a, t->type, ERR_LEN);
	a.retry_cnt = 2;
	a.timeout = 10;
	rc = open_pair(s, &ep, &a);
	if (!rc && !s->init) {
		rc = ibv_destroy_qp(ep.qp);
		if (rc)
			rc = vt_fail(s, "ibv_destroy_qp: %s", vt_errno(rc));
		else
			ep.qp = NULL;
	}
	if (!rc)
		rc = vt_sync(s);
	if (!rc && s->init)
		rc = fail_send(&ep, &c);
	if (!rc)
		rc = vt_sync(s);
	vt_ep_close(&ep);
	return rc;
}

/* Four receives and a send, and where the device does it a late receive. */
static int flush_all(struct vt_ep *ep)
{
	bool late = ep->side->dev->attr.vendor_id != VT_VENDOR_RXE;
	unsigned int want = late ? 0x3f : 0x2f;
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_ERR };
	struct vt_wr w = { .id = 100, .op = IBV_WR_SEND, .len = 8 };
	unsigned int seen = 0;
	struct ibv_wc wc;
	int i, err;

	for (i = 0; i < 4; i++)
		if (vt_post_recv(ep, i, 0, 8))
			return -1;
	if (vt_sync(ep->side))
		return -1;
	err = ibv_modify_qp(ep->qp, &a, IBV_QP_STATE);
	if (err)
		return vt_fail(ep->side, "modify QP to ERR: %s",
			       vt_errno(err));
	if (vt_post(ep, &w) || (late && vt_post_recv(ep, 4, 0, 8)))
		return -1;
	for (i = late ? 0 : 1; i < 6; i++) {
		if (vt_want(ep, &wc, IBV_WC_WR_FLUSH_ERR, "flushed request"))
			return -1;
		seen |= wc.wr_id == 100 ? 1u << 5 :
					  1u << ((wc.wr_id & ~VT_RECV) & 7);
	}
	if (seen != want)
		return vt_fail(ep->side, "flushed requests %#x, expected %#x",
			       seen, want);
	return vt_quiet(ep, 50, "after the flush");
}

/** xfer_err_flush() - modify to ERR flushes requests posted before and after */
int xfer_err_flush(struct vt_side *s, const struct xfer_test *t)
{
	struct vt_ep_attr a;
	struct vt_ep ep;
	int rc;

	vt_ep_defaults(&a, t->type, ERR_LEN);
	rc = open_pair(s, &ep, &a);
	if (!rc)
		rc = flush_all(&ep) || good_again(&ep) ? -1 : 0;
	vt_ep_close(&ep);
	return rc;
}

/** xfer_err_qkey() - UD with a wrong Q_Key is dropped, with the right one not */
int xfer_err_qkey(struct vt_side *s, const struct xfer_test *t)
{
	struct vt_wr w = { .op = t->op, .len = 64, .qkey = 0x55 };
	struct vt_ep_attr a;
	struct vt_ep ep;
	struct ibv_wc wc;
	int i, rc;

	vt_ep_defaults(&a, t->type, ERR_LEN);
	rc = open_pair(s, &ep, &a);
	if (!rc && !s->init)
		rc = vt_post_recv(&ep, 0, 0, 64);
	for (i = 0; i < 2 && !rc; i++) {
		rc = vt_sync(s);
		w.qkey = i ? VT_QKEY : 0x55;
		if (!rc && s->init)
			rc = vt_post(&ep, &w);
		if (rc)
			break;
		if (s->init || i)
			rc = vt_want(&ep, &wc, IBV_WC_SUCCESS, "datagram");
		else
			rc = vt_quiet(&ep, QUIET_MS, "wrong Q_Key");
	}
	if (!rc)
		rc = vt_sync(s);
	vt_ep_close(&ep);
	return rc;
}
