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
#define XN_LIBXL	"/libxl"
#define XN_MAX_DEVID	65535
#define XN_FIRST_RESERVED_DOMID 0x7ff0	/* DOMID_FIRST_RESERVED */
#define XN_MAX_DOMID	(XN_FIRST_RESERVED_DOMID - 1)

/* Own domain id; -errno. */
int xn_own_domid(struct xs_handle *xs);

/* Paths of directories; path: XN_PATH_MAX bytes, which suffice for all numbers. */
/* /local/domain/<backend>/backend/vhca[/<domid>[/<devid>]] */
void xn_backend_root(char *path, unsigned int backend);
void xn_backend_guest(char *path, unsigned int backend, unsigned int domid);
void xn_backend_dir(char *path, unsigned int backend, unsigned int domid,
		    unsigned int devid);
/* /local/domain/<domid>/device/vhca/<devid> */
void xn_frontend_dir(char *path, unsigned int domid, unsigned int devid);
/* /local/domain/<backend>/backend/vif */
void xn_vif_root(char *path, unsigned int backend);
/* The toolstack's records: /libxl/<domid>/device/vhca[/<devid>] */
void xn_libxl_guest(char *path, unsigned int domid);
void xn_libxl_dir(char *path, unsigned int domid, unsigned int devid);

/**
 * xn_each() - call fn for each name in a directory that is a number
 * @most: the largest number; other names are skipped
 * @fn: 0 to go on, else xn_each() returns its value
 *
 * 0, also if there is no directory; or -errno.
 */
int xn_each(struct xs_handle *xs, const char *dir, unsigned int most,
	    int (*fn)(unsigned int nr, void *arg), void *arg);

/**
 * xn_vif_mac() - the MAC address of a guest's vif
 * @vif: its number among the guest's
 * @mac: VL_MAC bytes; "" if there is no such vif, or its script has not set it up yet
 */
void xn_vif_mac(struct xs_handle *xs, unsigned int backend, unsigned int domid,
		unsigned int vif, char *mac);

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
