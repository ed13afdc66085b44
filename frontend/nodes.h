/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The nodes of a connection, for the worker that makes it.
 */
#ifndef VHCA_NODES_H
#define VHCA_NODES_H

#include <linux/types.h>

struct vhca_dev;
struct vhca_store;
struct vhca_nets;

/* 0, -EPROTONOSUPPORT: the backend speaks no version of ours; or the store's. */
int vhca_check_version(struct vhca_store *store);
/* Terms of the backend for a connection. */
struct vhca_terms {
	unsigned int order;	/* of the ring: the largest of both sides */
	u32 offer;		/* names the connection */
};

/* 0, -EINVAL: the node is malformed; or the store's. */
int vhca_read_terms(struct vhca_store *store, struct vhca_terms *t);
/* The guest's own addresses at this device, if any. */
void vhca_read_nets(struct vhca_store *store, struct vhca_nets *nets);
/* MiB of memory for consumers in the kernel; 0: the device is for processes. */
u32 vhca_read_pool(struct vhca_store *store);
/* Has the toolstack detached the device? No backend follows then. */
bool vhca_read_detached(struct vhca_store *store);
/* Writes all that a connection offers; the rings are there. 0 or -errno. */
int vhca_offer(struct vhca_dev *dev, const struct vhca_terms *t);

#endif
