/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What a worker reads from xenstore: its configuration, written by the
 * toolstack, and the frontend's offer.
 */
#ifndef BE_CONF_H
#define BE_CONF_H

#include "be.h"
#include "xenstore/node.h"

#define BE_MAX_RING_ORDER	XENVHCA_MAX_RING_ORDER

/**
 * be_conf_read() - read the configuration nodes of a device
 * @dir: backend directory
 * @front: receives the frontend directory, XN_PATH_MAX bytes
 *
 * Fills dev->hca, port and quota. On failure the reason, which names the
 * node, is in dev->fault_reason (be_fault). 0 or -errno.
 */
int be_conf_read(struct be_dev *dev, struct xs_handle *xs, const char *dir,
		 char *front);

/**
 * be_conf_frontend() - read what the frontend wrote before Initialised
 * @dir: frontend directory
 *
 * Nothing in it is trusted: ranges and the version are checked, whether the
 * references and ports exist is for the hypervisor to say. On failure
 * be_fault() names the node. 0 or -errno.
 */
int be_conf_frontend(struct be_dev *dev, struct xs_handle *xs,
		     const char *dir, struct be_xen_params *p);

/* Write versions and limits for the frontend, before InitWait. */
int be_conf_offer(struct xs_handle *xs, const char *dir);

#endif
