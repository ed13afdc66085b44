// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The state machine of both ends as a table (state.h). Each end writes only its
 * own state; the toolstack may write Closing to the backend. The other end's
 * state is not trusted.
 */
#include <errno.h>
#include "state.h"

#define S(s) (1u << XenbusState##s)

/* legal[side][from]: set of states that may follow. */
static const unsigned int legal[2][XenbusStateClosed + 1] = {
	[XN_FRONT] = {
		[XenbusStateUnknown] = S(Initialising) | S(Closed),
		[XenbusStateInitialising] =
			S(Initialised) | S(Closing) | S(Closed),
		[XenbusStateInitWait] = 0,	/* never entered */
		[XenbusStateInitialised] =
			S(Connected) | S(Closing) | S(Closed) | S(Initialising),
		[XenbusStateConnected] =
			S(Closing) | S(Closed) | S(Initialising),
		[XenbusStateClosing] = S(Closed) | S(Initialising),
		[XenbusStateClosed] = S(Initialising),
	},
	[XN_BACK] = {
		[XenbusStateUnknown] = S(Initialising) | S(Closed),
		[XenbusStateInitialising] = S(InitWait) | S(Closing) | S(Closed),
		[XenbusStateInitWait] = S(Connected) | S(Closing) | S(Closed),
		[XenbusStateInitialised] = 0,	/* never entered */
		[XenbusStateConnected] = S(Closing) | S(Closed),
		[XenbusStateClosing] = S(Closed),
		[XenbusStateClosed] = S(Initialising),
	},
};

bool xn_state_legal(enum xn_side side, enum xenbus_state from,
		    enum xenbus_state to)
{
	if ((unsigned int)from > XenbusStateClosed ||
	    (unsigned int)to > XenbusStateClosed)
		return false;
	return legal[side][from] & (1u << to);
}

int xn_state_get(struct xs_handle *xs, xs_transaction_t t, const char *dir)
{
	uint32_t v = XenbusStateUnknown;
	int rc = xn_read_u32(xs, t, dir, XN_NODE_STATE,
			     XenbusStateInitialising, XenbusStateReconfigured, &v);

	return rc && rc != -ENOENT ? rc : (int)v;
}

enum xenbus_state xn_state_read(struct xs_handle *xs, xs_transaction_t t,
				const char *dir)
{
	int state = xn_state_get(xs, t, dir);

	return state < 0 ? XenbusStateUnknown : (enum xenbus_state)state;
}

int xn_write_nodes(struct xs_handle *xs, xs_transaction_t t, const char *dir,
		   const struct xn_node *nodes, unsigned int nr)
{
	unsigned int i;
	int rc = 0;

	for (i = 0; !rc && i < nr; i++)
		if (nodes[i].value[0])
			rc = xn_write_str(xs, t, dir, nodes[i].node, nodes[i].value);
	return rc;
}

struct xn_switch {
	const char *dir;
	enum xenbus_state to;		/* Unknown: the state stays */
	const struct xn_node *nodes;
	unsigned int nr;
};

static int switch_fn(struct xs_handle *xs, xs_transaction_t t, void *arg)
{
	const struct xn_switch *sw = arg;
	int rc;

	if (!xn_exists(xs, t, sw->dir, XN_NODE_STATE))
		return -ENOENT;
	rc = xn_write_nodes(xs, t, sw->dir, sw->nodes, sw->nr);
	return rc || sw->to == XenbusStateUnknown ? rc :
	       xn_write_u32(xs, t, sw->dir, XN_NODE_STATE, sw->to);
}

int xn_state_switch(struct xs_handle *xs, const char *dir, enum xn_side side,
		    enum xenbus_state *cur, enum xenbus_state to,
		    const struct xn_node *nodes, unsigned int nr)
{
	struct xn_switch sw = {
		.dir = dir, .to = to, .nodes = nodes, .nr = nr,
	};
	int rc;

	if (*cur == to && !nr)
		return 0;
	if (*cur != to && !xn_state_legal(side, *cur, to))
		return -EPERM;
	rc = xn_transact(xs, switch_fn, &sw);
	if (!rc)
		*cur = to;
	return rc;
}

int xn_write_own(struct xs_handle *xs, const char *dir, const char *node,
		 const char *value)
{
	const struct xn_node n = { node, value };
	struct xn_switch sw = { .dir = dir, .nodes = &n, .nr = 1 };

	return xn_transact(xs, switch_fn, &sw);
}
