// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * Memory windows: data through them arrives, data past them, or after they were
 * invalidated, is refused. Both sides run these functions, each in its thread.
 */
#include <errno.h>
#include <string.h>

#include "xfer.h"

#define MW_LEN	1024		/* of the window, in the middle of the data */
#define MW_OFF	1024
#define MW_DATA	4096

static int mw_missing(struct vt_side *s, enum ibv_mw_type type)
{
	unsigned int caps = s->dev->attr.device_cap_flags;

	if (type == IBV_MW_TYPE_1)
		return !(caps & IBV_DEVICE_MEM_WINDOW);
	return !(caps & (IBV_DEVICE_MEM_WINDOW_TYPE_2A |
			 IBV_DEVICE_MEM_WINDOW_TYPE_2B));
}

static int bind2(struct vt_ep *ep, struct ibv_mw *mw)
{
	struct ibv_send_wr wr = {
		.wr_id = 77,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_mw = {
			.mw = mw,
			.rkey = ibv_inc_rkey(mw->rkey),
			.bind_info = {
				.mr = ep->mr,
				.addr = (uintptr_t)ep->data + MW_OFF,
				.length = MW_LEN,
				.mw_access_flags = IBV_ACCESS_REMOTE_WRITE |
						   IBV_ACCESS_REMOTE_READ,
			},
		},
	}, *bad;
	struct ibv_wc wc;
	int err = ibv_post_send(ep->qp, &wr, &bad);

	if (err)
		return vt_fail(ep->side, "post bind: %s", vt_errno(err));
	if (vt_want(ep, &wc, IBV_WC_SUCCESS, "bind"))
		return -1;
	if (wc.opcode != IBV_WC_BIND_MW || wc.wr_id != 77)
		return vt_fail(ep->side, "bind completed as opcode %d",
			       wc.opcode);
	mw->rkey = wr.bind_mw.rkey;
	return 0;
}

static int bind1(struct vt_ep *ep, struct ibv_mw *mw, uint64_t len)
{
	struct ibv_mw_bind b = {
		.wr_id = 78,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = {
			.mr = ep->mr,
			.addr = (uintptr_t)ep->data + MW_OFF,
			.length = len,
			.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
		},
	};
	struct ibv_wc wc;
	int err = ibv_bind_mw(ep->qp, mw, &b);

	if (err)
		return vt_fail(ep->side, "ibv_bind_mw: %s", vt_errno(err));
	return vt_want(ep, &wc, IBV_WC_SUCCESS, "ibv_bind_mw");
}

/* The target's data has to be zero again. */
static int outside_ok(struct vt_ep *ep, const char *what)
{
	size_t i;

	for (i = 0; i < MW_DATA; i++)
		if (ep->data[i])
			return vt_fail(ep->side, "%s: byte %zu outside is %#x",
				       what, i, ep->data[i]);
	if (!vt_ep_guards_ok(ep))
		return vt_fail(ep->side, "%s: bytes around the data changed",
			       what);
	return 0;
}

/* Both sides: the initiator writes through @rkey at @roff, expects @status. */
static int mw_write(struct vt_ep *ep, uint32_t rkey, size_t roff,
		    enum ibv_wc_status status, const char *what)
{
	struct vt_side *s = ep->side;
	uint64_t seed = xfer_seed(s);
	struct vt_wr w = {
		.op = IBV_WR_RDMA_WRITE, .roff = roff, .len = MW_LEN,
		.rkey = rkey,
	};
	struct ibv_wc wc;

	if (s->init)
		vt_fill(ep->data, MW_LEN, seed);
	else
		memset(ep->data, 0, MW_DATA);
	if (vt_sync(s))
		return -1;
	if (s->init && (vt_post(ep, &w) || vt_want(ep, &wc, status, what)))
		return -1;
	if (vt_sync(s) || s->init)
		return s->why[0] ? -1 : 0;
	if (status == IBV_WC_SUCCESS) {
		if (vt_check(ep->data + roff, MW_LEN, seed) >= 0)
			return vt_fail(s, "%s: wrong data", what);
		memset(ep->data + roff, 0, MW_LEN);
	}
	return outside_ok(ep, what);
}

/* The target's window key travels to the initiator. */
static int share_rkey(struct vt_side *s, const struct ibv_mw *mw,
		      uint32_t *rkey)
{
	uint64_t mine = mw ? mw->rkey : 0, theirs;

	if (vt_xchg(s, &mine, &theirs, sizeof(mine)))
		return -1;
	*rkey = s->init ? theirs : mine;
	return 0;
}

static int local_inv(struct vt_ep *ep, uint32_t rkey)
{
	struct vt_wr w = { .id = 79, .op = IBV_WR_LOCAL_INV, .imm = rkey };
	struct ibv_wc wc;

	return vt_post(ep, &w) ||
	       vt_want(ep, &wc, IBV_WC_SUCCESS, "local invalidate") ? -1 : 0;
}

static int run_mw2(struct vt_ep *ep, struct ibv_mw *mw)
{
	struct vt_side *s = ep->side;
	uint32_t rkey;

	if (mw && bind2(ep, mw))
		return -1;
	if (share_rkey(s, mw, &rkey) ||
	    mw_write(ep, rkey, MW_OFF, IBV_WC_SUCCESS, "through window"))
		return -1;
	if (mw && local_inv(ep, rkey))
		return -1;
	if (mw_write(ep, rkey, MW_OFF, IBV_WC_REM_ACCESS_ERR,
		     "after invalidate") || vt_ep_reconnect(ep))
		return -1;
	if (mw && bind2(ep, mw))
		return -1;
	return share_rkey(s, mw, &rkey) ||
	       mw_write(ep, rkey, MW_OFF, IBV_WC_SUCCESS, "bound again") ?
	       -1 : 0;
}

static int run_bounds(struct vt_ep *ep, struct ibv_mw *mw)
{
	struct vt_side *s = ep->side;
	uint32_t rkey;

	if (mw && bind2(ep, mw))
		return -1;
	if (share_rkey(s, mw, &rkey) ||
	    mw_write(ep, rkey, MW_OFF, IBV_WC_SUCCESS, "through window"))
		return -1;
	return mw_write(ep, rkey, MW_OFF + 1, IBV_WC_REM_ACCESS_ERR,
			"one byte past the window");
}

static int run_mw1(struct vt_ep *ep, struct ibv_mw *mw)
{
	struct vt_side *s = ep->side;
	uint32_t rkey;

	if (mw && bind1(ep, mw, MW_LEN))
		return -1;
	if (share_rkey(s, mw, &rkey) ||
	    mw_write(ep, rkey, MW_OFF, IBV_WC_SUCCESS, "through window"))
		return -1;
	if (mw && bind1(ep, mw, 0))
		return -1;
	return mw_write(ep, rkey, MW_OFF, IBV_WC_REM_ACCESS_ERR,
			"after the window was unbound");
}

static int run_send_inv(struct vt_ep *ep, struct ibv_mw *mw)
{
	struct vt_side *s = ep->side;
	struct vt_wr w = { .op = IBV_WR_SEND_WITH_INV, .len = 64 };
	struct ibv_wc wc;
	uint32_t rkey;

	if (mw && (bind2(ep, mw) || vt_post_recv(ep, 0, 0, 64)))
		return -1;
	if (share_rkey(s, mw, &rkey) ||
	    mw_write(ep, rkey, MW_OFF, IBV_WC_SUCCESS, "through window"))
		return -1;
	w.imm = rkey;
	/* The target has looked at its data before more of it comes. */
	if (vt_sync(s) || (s->init && vt_post(ep, &w)))
		return -1;
	if (vt_want(ep, &wc, IBV_WC_SUCCESS, "send with invalidate"))
		return -1;
	if (mw && wc.invalidated_rkey != rkey)
		return vt_fail(s, "the receive does not tell the key");
	if (mw && !(wc.wc_flags & IBV_WC_WITH_INV) &&
	    s->dev->attr.vendor_id != VT_VENDOR_RXE)
		return vt_fail(s, "receive flags %#x lack WITH_INV",
			       wc.wc_flags);
	return mw_write(ep, rkey, MW_OFF, IBV_WC_REM_ACCESS_ERR,
			"after remote invalidate");
}

static int with_mw(struct vt_side *s, const struct xfer_test *t,
		   enum ibv_mw_type type,
		   int (*run)(struct vt_ep *, struct ibv_mw *))
{
	struct ibv_mw *mw = NULL;
	struct vt_ep_attr a;
	struct vt_ep ep;
	int rc;

	if (mw_missing(s, type))
		return xfer_skip(s, "device without these memory windows");
	vt_ep_defaults(&a, t->type, MW_DATA);
	a.access |= IBV_ACCESS_MW_BIND;
	rc = vt_ep_open(s, &ep, &a) || vt_ep_connect(&ep) ? -1 : 0;
	if (!rc && !s->init) {
		mw = ibv_alloc_mw(s->dev->pd, type);
		if (!mw)
			rc = vt_fail(s, "ibv_alloc_mw: %s", vt_errno(errno));
	}
	if (!rc)
		rc = run(&ep, mw);
	/* The MR is busy until its window is gone. */
	if (mw && ibv_dealloc_mw(mw) && !rc)
		rc = vt_fail(s, "ibv_dealloc_mw failed");
	vt_ep_close(&ep);
	return rc;
}

/** xfer_mw_bounds() - a write that leaves a type 2 window is refused */
int xfer_mw_bounds(struct vt_side *s, const struct xfer_test *t)
{
	if (s->dev->attr.vendor_id == VT_VENDOR_RXE)
		return xfer_skip(s, "rxe does not check a window's bounds");
	return with_mw(s, t, IBV_MW_TYPE_2, run_bounds);
}

/** xfer_mw2() - type 2: bind by work request, invalidate, bind again */
int xfer_mw2(struct vt_side *s, const struct xfer_test *t)
{
	return with_mw(s, t, IBV_MW_TYPE_2, run_mw2);
}

/** xfer_mw1() - type 1: ibv_bind_mw, unbound by a bind of length zero */
int xfer_mw1(struct vt_side *s, const struct xfer_test *t)
{
	return with_mw(s, t, IBV_MW_TYPE_1, run_mw1);
}

/** xfer_send_inv() - the peer's SEND invalidates a type 2 window */
int xfer_send_inv(struct vt_side *s, const struct xfer_test *t)
{
	return with_mw(s, t, IBV_MW_TYPE_2, run_send_inv);
}
