// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The nodes of a device in xenstore (store.h): the toolstack made them, and the
 * state diagram of vhcaif.h says who writes which state when.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/be.h"
#include "open_xenstore.h"
#include "xenstore/scan.h"
#include "xenstore/state.h"

#define FRONT		"front"		/* tokens: of the states, */
#define BACK		"back"
#define RELEASE		"release"	/* and that some domain is gone */
#define WATCH_BATCH	100000	/* one pass; far more than come meanwhile */
#define CHANGES_RATE	100	/* of the frontend's state in a second */
#define OFFERS		2
#define OFFER_MAX	32	/* characters of one, with the NUL */

struct store_xs {
	struct be_store l;
	struct be_dev *dev;
	struct xs_handle *xs;
	struct vl_bucket changes;	/* of the frontend's state */
	unsigned int domid;
	char dir[2][XN_PATH_MAX];
	struct xn_names names;		/* of own nodes, as found */
	struct xn_node offer[OFFERS];	/* for the next state */
	char offered[OFFERS][OFFER_MAX];
	unsigned int n_offers;
};

static struct store_xs *to_xs(struct be_store *l)
{
	return (struct store_xs *)l;
}

/* Is the peer that the toolstack names the domain that this worker is for? */
static int check_peer(struct store_xs *x)
{
	const char *dir = x->dir[BE_OWN];
	uint32_t id;
	int rc = xn_read_u32(x->xs, XBT_NULL, dir, "frontend-id", x->domid,
			     x->domid, &id);

	if (rc)
		be_fault(x->dev, "%s/frontend-id must be %u", dir, x->domid);
	return rc;
}

static int xs_find(struct be_store *l)
{
	struct store_xs *x = to_xs(l);
	int rc = xn_read_str(x->xs, XBT_NULL, x->dir[BE_OWN], "frontend",
			     x->dir[BE_PEER], XN_PATH_MAX);

	if (rc) {
		x->dir[BE_PEER][0] = '\0';
		be_fault(x->dev, "%s/frontend: %s", x->dir[BE_OWN],
			 strerror(-rc));
		return rc;
	}
	xn_names_list(x->xs, x->dir[BE_OWN], &x->names);
	return check_peer(x);
}

/* Most nodes of a configuration are absent: one listing tells which exist. */
static int xs_get(struct be_store *l, enum be_side side, const char *node,
		  char *value, size_t size)
{
	struct store_xs *x = to_xs(l);

	if (side == BE_OWN && !xn_names_have(&x->names, node))
		return -ENOENT;
	return xn_read_str(x->xs, XBT_NULL, x->dir[side], node, value, size);
}

static int xs_put(struct be_store *l, const char *node, const char *value)
{
	struct store_xs *x = to_xs(l);
	const char *dir = x->dir[BE_OWN];

	if (!value)
		return xn_rm(x->xs, XBT_NULL, dir, node);
	return xn_write_own(x->xs, dir, node, value);
}

static enum xenbus_state xs_state(struct be_store *l, enum be_side side)
{
	struct store_xs *x = to_xs(l);

	return xn_state_read(x->xs, XBT_NULL, x->dir[side]);
}

static int xs_offer(struct be_store *l, const char *node, const char *value)
{
	struct store_xs *x = to_xs(l);
	unsigned int i = 0;

	while (i < x->n_offers && strcmp(x->offer[i].node, node))
		i++;
	if (i == OFFERS)
		return -ENOSPC;
	if (snprintf(x->offered[i], OFFER_MAX, "%s", value) >= OFFER_MAX)
		return -E2BIG;
	x->offer[i] = (struct xn_node){ node, x->offered[i] };
	if (i == x->n_offers)
		x->n_offers++;
	return 0;
}

static int xs_set_state(struct be_store *l, enum xenbus_state to)
{
	struct store_xs *x = to_xs(l);
	int rc = xn_state_switch(x->xs, x->dir[BE_OWN], XN_BACK, &l->own, to,
				 x->offer, x->n_offers);

	x->n_offers = 0;
	return rc;
}

static bool xs_alive(struct be_store *l)
{
	struct store_xs *x = to_xs(l);

	return xn_domain_alive(x->xs, x->domid);
}

static int watch_state(struct store_xs *x, enum be_side side, const char *token)
{
	char path[XN_PATH_MAX];
	int rc = xn_path(path, x->dir[side], XN_NODE_STATE);

	return rc ? rc : xn_watch(x->xs, path, token);
}

static int xs_watch_both(struct be_store *l)
{
	struct store_xs *x = to_xs(l);
	int rc = watch_state(x, BE_PEER, FRONT);

	xn_names_forget(&x->names);
	if (!rc)
		rc = watch_state(x, BE_OWN, BACK);
	/* Each tells of itself at once. */
	return rc ? rc : xn_watch(x->xs, "@releaseDomain", RELEASE);
}

static int xs_fd(struct be_store *l)
{
	return xs_fileno(to_xs(l)->xs);
}

/*
 * The frontend can write its state all day, and libxenstore queues each event
 * until it is taken. This takes all of them, and leaves time for other work; the state is
 * read so often at most as the rate says. The
 * workers of all guests hear of the end of any domain: one question tells each
 * whether it is its own.
 */
static int xs_changed(struct be_store *l)
{
	struct store_xs *x = to_xs(l);
	char token[XN_PATH_MAX];
	bool released = false;
	int i, news = 0, r = 1;

	for (i = 0; i < WATCH_BATCH && r > 0; i++) {
		r = xn_watch_next(x->xs, token, NULL);
		if (r <= 0)
			break;
		if (!strcmp(token, RELEASE))
			released = true;
		else
			news |= !strcmp(token, FRONT) ? BE_NEWS_PEER : BE_NEWS_OWN;
	}
	if (r < 0)
		return r;
	if (news & BE_NEWS_PEER)
		vl_bucket_pace(&x->changes);
	if (released && !xs_alive(l))
		news |= BE_NEWS_END;
	return news;
}

static void xs_end(struct be_store *l)
{
	xn_names_forget(&to_xs(l)->names);
	xs_close(to_xs(l)->xs);
	free(l);
}

static const struct be_store_ops ops = {
	.find = xs_find, .read = xs_get, .write = xs_put, .state = xs_state,
	.offer = xs_offer, .set_state = xs_set_state, .alive = xs_alive,
	.watch = xs_watch_both, .fd = xs_fd, .changed = xs_changed,
	.close = xs_end,
};

struct be_store *be_store_xenstore(struct be_dev *dev, unsigned int domid,
				 unsigned int devid)
{
	struct store_xs *x = calloc(1, sizeof(*x));
	int own;

	if (!x)
		return NULL;
	x->dev = dev;
	x->domid = domid;
	x->l.ops = &ops;
	x->changes.rate = CHANGES_RATE;
	x->l.name[BE_OWN] = x->dir[BE_OWN];
	x->l.name[BE_PEER] = x->dir[BE_PEER];
	x->xs = xs_open(0);
	own = x->xs ? xn_own_domid(x->xs) : -errno;
	if (own < 0) {
		be_log(dev, BE_ERR, "xenstore: %s; is xenstored running?",
		       strerror(-own));
		xs_end(&x->l);
		return NULL;
	}
	xn_backend_dir(x->dir[BE_OWN], (unsigned int)own, domid, devid);
	x->l.own = xs_state(&x->l, BE_OWN);
	return &x->l;
}
