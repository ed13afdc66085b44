/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The xenbus states of both ends and their permitted transitions; the table in state.c
 * is the state diagram of vhcaif.h.
 */
#ifndef XN_STATE_H
#define XN_STATE_H

#include <stdbool.h>
#include <xen/io/xenbus.h>
#include "node.h"

#define XN_NODE_STATE	"state"
#define XN_NODE_ONLINE	"online"

enum xn_side { XN_FRONT, XN_BACK };

/* May an end change from state from to state to? */
bool xn_state_legal(enum xn_side side, enum xenbus_state from,
		    enum xenbus_state to);

/*
 * State of the end whose directory is dir; Unknown if there is none; -errno: it cannot
 * be read, or is not 1..8.
 */
int xn_state_get(struct xs_handle *xs, xs_transaction_t t, const char *dir);
/* The same; Unknown for all but 1..8. */
enum xenbus_state xn_state_read(struct xs_handle *xs, xs_transaction_t t,
				const char *dir);

/* A node and its text; "": it is not written. */
struct xn_node {
	const char *node, *value;
};

int xn_write_nodes(struct xs_handle *xs, xs_transaction_t t, const char *dir,
		   const struct xn_node *nodes, unsigned int nr);

/**
 * xn_state_switch() - write our state, unless it is written already and there are no nodes
 * @cur: state last written by us, updated
 * @nodes: @nr of them, which belong to the state: written in the same transaction
 *
 * Does not create a directory that the toolstack removed: -ENOENT then.
 * -EPERM if the table does not allow it, else -errno of xenstore.
 */
int xn_state_switch(struct xs_handle *xs, const char *dir, enum xn_side side,
		    enum xenbus_state *cur, enum xenbus_state to,
		    const struct xn_node *nodes, unsigned int nr);

/*
 * Write a node of a device unless the toolstack has removed the device meanwhile:
 * no directory is created. 0; -ENOENT; another -errno.
 */
int xn_write_own(struct xs_handle *xs, const char *dir, const char *node,
		 const char *value);

#endif
