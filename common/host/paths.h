/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Files of the daemons that vhcactl reads, and files of Linux that several programs
 * read.
 */
#ifndef HOST_PATHS_H
#define HOST_PATHS_H

/* Defaults of --run-dir: locks and statistics of xen-vhcad, the agent's state. */
#define HOST_RUN_VHCAD		"/run/xen-vhcad"
/* Devices that vhcactl dom0less writes if there is no xenstore (tree.h). */
#define HOST_RUN_DEVICES	"/run/xen-vhca-devices"
#define HOST_RUN_DOORBELLD	"/run/xen-vhca-doorbelld"
/* Lock of the vhcactl of this domain that writes to xenstore. */
#define HOST_RUN_LOCK		"/run/xen-vhcactl.lock"

/* Pages that one mapping of gntdev may have. */
#define HOST_GNTDEV_LIMIT	"/sys/module/xen_gntdev/parameters/limit"
#define HOST_IB_CLASS		"/sys/class/infiniband"

#endif
