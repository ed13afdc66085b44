/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Functions that find the devices of a backend domain, and watches with their
 * tokens.
 */
#ifndef XN_SCAN_H
#define XN_SCAN_H

#include "node.h"

#define XN_KIND		"vhca"		/* directory name of the device type */
#define XN_MAX_DEVID	65535
#define XN_FIRST_RESERVED_DOMID 0x7ff0	/* DOMID_FIRST_RESERVED */

/* Own domain id; -errno. */
int xn_own_domid(struct xs_handle *xs);

/* /local/domain/<backend>/backend/vhca[/<domid>/<devid>]; path: XN_PATH_MAX */
int xn_backend_root(char *path, unsigned int backend);
int xn_backend_dir(char *path, unsigned int backend, unsigned int domid,
		   unsigned int devid);
/* /local/domain/<domid>/device/vhca/<devid> */
int xn_frontend_dir(char *path, unsigned int domid, unsigned int devid);

/**
 * xn_scan() - call fn for every device below backend/vhca of a domain
 * @fn: 0 to go on, else xn_scan() returns its value
 *
 * Names that are no domain or device number are skipped.
 */
int xn_scan(struct xs_handle *xs, unsigned int backend,
	    int (*fn)(unsigned int domid, unsigned int devid, void *arg),
	    void *arg);
/* The same in two steps: guests that have a directory there, devices of one. */
int xn_scan_guests(struct xs_handle *xs, unsigned int backend,
		   int (*fn)(unsigned int domid, void *arg), void *arg);
int xn_scan_guest(struct xs_handle *xs, unsigned int backend,
		  unsigned int domid,
		  int (*fn)(unsigned int devid, void *arg), void *arg);

/* Watch path; token comes back with each event. */
int xn_watch(struct xs_handle *xs, const char *path, const char *token);

/**
 * xn_watch_next() - fetch one event without waiting
 * @token: XN_PATH_MAX bytes
 * @path: what changed, XN_PATH_MAX bytes, or NULL
 *
 * 1: got one, 0: none, -errno: the connection is gone.
 */
int xn_watch_next(struct xs_handle *xs, char *token, char *path);

/*
 * Is the domain alive? A dying domain is not. xenstored answers this to the control
 * domain only; elsewhere the domain counts as alive as long as it has one of the
 * frontend directories that belong to our backend directories, which the toolstack
 * removes with the domain. After an error the domain counts as alive.
 */
bool xn_domain_alive(struct xs_handle *xs, unsigned int domid);

#endif
