// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The devices of a backend domain in xenstore, and watches (scan.h). Directory names are
 * parsed as strictly as values.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "number.h"
#include "scan.h"

int xn_own_domid(struct xs_handle *xs)
{
	char *raw = xs_read(xs, XBT_NULL, "domid", NULL);
	uint64_t id = 0;
	int rc;

	if (!raw)
		return errno ? -errno : -EIO;
	rc = vl_parse_u64(raw, 0, XN_FIRST_RESERVED_DOMID - 1, &id);
	free(raw);
	return rc ? rc : (int)id;
}

void xn_backend_root(char *path, unsigned int backend)
{
	snprintf(path, XN_PATH_MAX, "/local/domain/%u/backend/" XN_KIND, backend);
}

void xn_backend_guest(char *path, unsigned int backend, unsigned int domid)
{
	snprintf(path, XN_PATH_MAX, "/local/domain/%u/backend/" XN_KIND "/%u", backend,
		 domid);
}

void xn_backend_dir(char *path, unsigned int backend, unsigned int domid,
		    unsigned int devid)
{
	snprintf(path, XN_PATH_MAX, "/local/domain/%u/backend/" XN_KIND "/%u/%u",
		 backend, domid, devid);
}

void xn_frontend_dir(char *path, unsigned int domid, unsigned int devid)
{
	snprintf(path, XN_PATH_MAX, "/local/domain/%u/device/" XN_KIND "/%u", domid,
		 devid);
}

void xn_vif_root(char *path, unsigned int backend)
{
	snprintf(path, XN_PATH_MAX, "/local/domain/%u/backend/vif", backend);
}

void xn_libxl_guest(char *path, unsigned int domid)
{
	snprintf(path, XN_PATH_MAX, XN_LIBXL "/%u/device/" XN_KIND, domid);
}

void xn_libxl_dir(char *path, unsigned int domid, unsigned int devid)
{
	snprintf(path, XN_PATH_MAX, XN_LIBXL "/%u/device/" XN_KIND "/%u", domid, devid);
}

int xn_each(struct xs_handle *xs, const char *dir, unsigned int most,
	    int (*fn)(unsigned int nr, void *arg), void *arg)
{
	char **names = NULL;
	uint64_t nr = 0;
	int i, n, rc;

	n = xn_list(xs, XBT_NULL, dir, &names);
	rc = n < 0 ? n : 0;
	for (i = 0; i < n && !rc; i++)
		if (!vl_parse_u64(names[i], 0, most, &nr))
			rc = fn((unsigned int)nr, arg);
	free(names);
	return rc;
}

void xn_vif_mac(struct xs_handle *xs, unsigned int backend, unsigned int domid,
		unsigned int vif, char *mac)
{
	char root[XN_PATH_MAX], dir[XN_PATH_MAX], status[sizeof("connected")];

	xn_vif_root(root, backend);
	snprintf(dir, sizeof(dir), "%.64s/%u/%u", root, domid, vif);
	if (xn_read_str(xs, XBT_NULL, dir, "hotplug-status", status, sizeof(status)) ||
	    strcmp(status, "connected") ||
	    xn_read_str(xs, XBT_NULL, dir, "mac", mac, VL_MAC) ||
	    strspn(mac, "0123456789abcdefABCDEF:") != VL_MAC - 1)
		mac[0] = '\0';
}

int xn_watch(struct xs_handle *xs, const char *path, const char *token)
{
	if (!xs_watch(xs, path, token))
		return errno ? -errno : -EIO;
	return 0;
}

int xn_watch_next(struct xs_handle *xs, char *token, char *path)
{
	char **vec;

	errno = 0;
	vec = xs_check_watch(xs);
	if (!vec)
		return errno == EAGAIN || !errno ? 0 : -errno;
	snprintf(token, XN_PATH_MAX, "%s", vec[XS_WATCH_TOKEN]);
	if (path)
		snprintf(path, XN_PATH_MAX, "%s", vec[XS_WATCH_PATH]);
	free(vec);
	return 1;
}

struct guest {
	struct xs_handle *xs;
	unsigned int domid;
};

/*
 * Does the frontend's directory exist? Then 1. EACCES counts as absence: xenstored does
 * not reveal the existence of nodes that may not be read.
 */
static int frontend_there(unsigned int devid, void *arg)
{
	char dir[XN_PATH_MAX], value[XN_PATH_MAX];
	const struct guest *g = arg;
	int rc;

	xn_frontend_dir(dir, g->domid, devid);
	rc = xn_read_str(g->xs, XBT_NULL, dir, "backend", value, sizeof(value));
	return rc != -ENOENT && rc != -EACCES;
}

/* Does any frontend of this guest exist? After an error, yes. */
static bool any_frontend(struct xs_handle *xs, unsigned int domid)
{
	struct guest g = { .xs = xs, .domid = domid };
	int own = xn_own_domid(xs);
	char dir[XN_PATH_MAX];

	if (own < 0)
		return true;
	xn_backend_guest(dir, (unsigned int)own, domid);
	return xn_each(xs, dir, XN_MAX_DEVID, frontend_there, &g);
}

/* xenstored's "no" is not an error: libxenstore does not set errno. */
bool xn_domain_alive(struct xs_handle *xs, unsigned int domid)
{
	errno = 0;
	if (xs_is_domain_introduced(xs, domid))
		return true;
	if (!errno || errno == ENOENT)
		return false;
	return errno != EACCES || any_frontend(xs, domid);
}
