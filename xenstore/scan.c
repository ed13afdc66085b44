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

static int fit(int n)
{
	return n < 0 || n >= XN_PATH_MAX ? -ENAMETOOLONG : 0;
}

int xn_backend_root(char *path, unsigned int backend)
{
	return fit(snprintf(path, XN_PATH_MAX,
			    "/local/domain/%u/backend/" XN_KIND, backend));
}

int xn_backend_dir(char *path, unsigned int backend, unsigned int domid,
		   unsigned int devid)
{
	return fit(snprintf(path, XN_PATH_MAX,
			    "/local/domain/%u/backend/" XN_KIND "/%u/%u",
			    backend, domid, devid));
}

int xn_frontend_dir(char *path, unsigned int domid, unsigned int devid)
{
	return fit(snprintf(path, XN_PATH_MAX,
			    "/local/domain/%u/device/" XN_KIND "/%u",
			    domid, devid));
}

/* Calls fn for each name of a directory that is a number up to @most. */
static int each_number(struct xs_handle *xs, const char *dir, uint64_t most,
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

int xn_scan_guests(struct xs_handle *xs, unsigned int backend,
		   int (*fn)(unsigned int domid, void *arg), void *arg)
{
	char root[XN_PATH_MAX];
	int rc = xn_backend_root(root, backend);

	return rc ? rc : each_number(xs, root, XN_FIRST_RESERVED_DOMID - 1, fn,
				     arg);
}

int xn_scan_guest(struct xs_handle *xs, unsigned int backend,
		  unsigned int domid,
		  int (*fn)(unsigned int devid, void *arg), void *arg)
{
	char root[XN_PATH_MAX], dir[XN_PATH_MAX], name[12];
	int rc = xn_backend_root(root, backend);

	snprintf(name, sizeof(name), "%u", domid);
	if (!rc)
		rc = xn_path(dir, root, name);
	return rc ? rc : each_number(xs, dir, XN_MAX_DEVID, fn, arg);
}

/* A scan of all devices: the guest, and the caller's function. */
struct scan {
	struct xs_handle *xs;
	unsigned int backend, domid;
	int (*fn)(unsigned int domid, unsigned int devid, void *arg);
	void *arg;
};

static int scan_device(unsigned int devid, void *arg)
{
	const struct scan *s = arg;

	return s->fn(s->domid, devid, s->arg);
}

static int scan_guest(unsigned int domid, void *arg)
{
	struct scan *s = arg;

	s->domid = domid;
	return xn_scan_guest(s->xs, s->backend, domid, scan_device, s);
}

int xn_scan(struct xs_handle *xs, unsigned int backend,
	    int (*fn)(unsigned int domid, unsigned int devid, void *arg),
	    void *arg)
{
	struct scan s = { xs, backend, 0, fn, arg };

	return xn_scan_guests(xs, backend, scan_guest, &s);
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

/*
 * Does the frontend's directory exist? EACCES counts as absence: xenstored does not
 * reveal the existence of nodes that may not be read.
 */
static bool frontend_there(struct xs_handle *xs, unsigned int domid,
			   unsigned int devid)
{
	char dir[XN_PATH_MAX], value[XN_PATH_MAX];
	int rc;

	if (xn_frontend_dir(dir, domid, devid))
		return true;
	rc = xn_read_str(xs, XBT_NULL, dir, "backend", value, sizeof(value));
	return rc != -ENOENT && rc != -EACCES;
}

/* Does any frontend of this guest exist? After an error, yes. */
static bool any_frontend(struct xs_handle *xs, unsigned int domid)
{
	char root[XN_PATH_MAX], dir[XN_PATH_MAX], num[12], **names = NULL;
	int i, n, own = xn_own_domid(xs);
	uint64_t devid = 0;
	bool there = false;

	snprintf(num, sizeof(num), "%u", domid);
	if (own < 0 || xn_backend_root(root, (unsigned int)own) ||
	    xn_path(dir, root, num))
		return true;
	n = xn_list(xs, XBT_NULL, dir, &names);
	for (i = 0; i < n && !there; i++)
		there = !vl_parse_u64(names[i], 0, XN_MAX_DEVID, &devid) &&
			frontend_there(xs, domid, (unsigned int)devid);
	free(names);
	return n < 0 || there;
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
