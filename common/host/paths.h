/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Where daemons leave what vhcactl reads, and where Linux has what more than one
 * program of ours reads.
 */
#ifndef HOST_PATHS_H
#define HOST_PATHS_H

/* Defaults of --run-dir: locks and statistics of xen-vhcad, the agent's state. */
#define HOST_RUN_VHCAD		"/run/xen-vhcad"
/* Where vhcactl dom0less writes devices if there is no xenstore (tree.h). */
#define HOST_RUN_DEVICES	"/run/xen-vhca-devices"
#define HOST_RUN_DOORBELLD	"/run/xen-vhca-doorbelld"
/* Which vhcactl of this domain writes to xenstore. */
#define HOST_RUN_TURN		"/run/xen-vhcactl.lock"

/* Pages that one mapping of gntdev may have. */
#define HOST_GNTDEV_LIMIT	"/sys/module/xen_gntdev/parameters/limit"
#define HOST_IB_CLASS		"/sys/class/infiniband"

#endif
