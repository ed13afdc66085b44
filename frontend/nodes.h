/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The nodes of a connection, for the worker that makes it.
 */
#ifndef VHCA_NODES_H
#define VHCA_NODES_H

struct vhca_dev;
struct vhca_link;

/* 0, -EPROTONOSUPPORT: the backend speaks no version of ours; or the link's. */
int vhca_check_version(struct vhca_link *link);
/* The largest that both sides can have; a single page if the backend is silent. */
unsigned int vhca_ring_order(struct vhca_link *link);
/* Writes all that a connection offers; the rings are there. 0 or -errno. */
int vhca_offer(struct vhca_dev *dev);

#endif
