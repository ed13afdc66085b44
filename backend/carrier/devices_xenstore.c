// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The devices of this domain as a toolstack records them: directories of xenstore
 * below backend/vhca. A listing is used until a watch reports a change of its directory:
 * with hundreds of guests, xenstored would otherwise list all their directories for
 * every change of one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xen/io/vhcaif.h>
#include "core/log.h"
#include "open_xenstore.h"
#include "xenstore/scan.h"
#include "xenstore/state.h"

/* A guest's directory, as last listed. */
struct guest {
	struct guest *next;
	unsigned int domid;
	bool stale;			/* to be listed again */
	bool seen;			/* by the list of guests that runs */
	unsigned int n_devids;
	unsigned int *devids;
};

struct devices {
	struct be_devices devices;
	struct xs_handle *xs;
	unsigned int own;		/* our domain id */
	char root[XN_PATH_MAX], vifs[XN_PATH_MAX];
	bool stale;			/* the list of guests */
	struct guest *guests;
	char listed[XN_PATH_MAX];	/* the directory of a device, */
	struct xn_names names;		/* and its nodes, until the next change */
};

static int devices_watch(struct be_devices *s)
{
	struct devices *d = (struct devices *)s;
	int rc = xn_watch(d->xs, d->root, "devices");

	if (!rc)
		rc = xn_watch(d->xs, d->vifs, "vifs");
	return rc ? rc : xn_watch(d->xs, "@releaseDomain", "release");
}

static int devices_fd(struct be_devices *s)
{
	return xs_fileno(((struct devices *)s)->xs);
}

/* ---- what is known ---- */
static struct guest *guest_find(const struct devices *d, unsigned int domid)
{
	struct guest *g;

	for (g = d->guests; g; g = g->next)
		if (g->domid == domid)
			return g;
	return NULL;
}

static bool device_known(const struct devices *d, unsigned int domid,
			 unsigned int devid)
{
	const struct guest *g = guest_find(d, domid);
	unsigned int i;

	for (i = 0; g && i < g->n_devids; i++)
		if (g->devids[i] == devid)
			return true;
	return false;
}

/* The guest may have come or gone, or devices of it. */
static void guest_stale(struct devices *d, unsigned int domid)
{
	struct guest *g = guest_find(d, domid);

	d->stale = true;
	if (g)
		g->stale = true;
}

static void guest_drop(struct guest **p)
{
	struct guest *g = *p;

	*p = g->next;
	free(g->devids);
	free(g);
}

static int guest_seen(unsigned int domid, void *arg)
{
	struct devices *d = arg;
	struct guest **p = &d->guests;

	while (*p && (*p)->domid != domid)
		p = &(*p)->next;
	if (!*p) {
		*p = calloc(1, sizeof(**p));
		if (!*p)
			return -ENOMEM;
		(*p)->domid = domid;
		(*p)->stale = true;
	}
	(*p)->seen = true;
	return 0;
}

static int device_seen(unsigned int devid, void *arg)
{
	struct guest *g = arg;
	unsigned int *p = realloc(g->devids, (g->n_devids + 1) * sizeof(*p));

	if (!p)
		return -ENOMEM;
	g->devids = p;
	g->devids[g->n_devids++] = devid;
	return 0;
}

static int list_guests(struct devices *d)
{
	struct guest *g, **p;
	int rc;

	for (g = d->guests; g; g = g->next)
		g->seen = false;
	rc = xn_each(d->xs, d->root, XN_MAX_DOMID, guest_seen, d);
	if (rc)
		return rc;
	d->stale = false;
	for (p = &d->guests; *p;) {
		if ((*p)->seen)
			p = &(*p)->next;
		else
			guest_drop(p);
	}
	return 0;
}

static int list_devices(struct devices *d, struct guest *g)
{
	char dir[XN_PATH_MAX];
	int rc;

	g->n_devids = 0;
	xn_backend_guest(dir, d->own, g->domid);
	rc = xn_each(d->xs, dir, XN_MAX_DEVID, device_seen, g);
	g->stale = rc != 0;
	return rc;
}

/* ---- changes ---- */
/* Parses the numbers of guest and device in a path. Returns how many it has, 0 to 2; 3:
 * it is the path of a node in the device's directory. */
static int path_names(const struct devices *d, const char *path,
		      unsigned int *domid, unsigned int *devid)
{
	size_t len = strlen(d->root);
	int end = 0, n;

	if (strncmp(path, d->root, len))
		return 0;
	n = sscanf(path + len, "/%5u/%5u/%n", domid, devid, &end);
	return n < 0 ? 0 : end ? 3 : n;
}

static void names_forget(struct devices *d)
{
	xn_names_forget(&d->names);
	d->listed[0] = '\0';
}

/* Did a vif come, go, or end its script? What netback and guests write is none of that. */
static bool vif_changed(const struct devices *d, const char *path, unsigned int *domid)
{
	int end = 0;

	path += strlen(d->vifs);
	return sscanf(path, "/%5u%n/%*5u%n", domid, &end, &end) == 1 &&
	       (!path[end] || !strcmp(path + end, "/hotplug-status"));
}

static int devices_changed(struct be_devices *s, be_device_fn *below, be_guest_fn *vifs,
			   void *arg)
{
	char token[XN_PATH_MAX], path[XN_PATH_MAX];
	struct devices *d = (struct devices *)s;
	unsigned int domid = 0, devid = 0;
	int r, n, other = 0;

	names_forget(d);
	while ((r = xn_watch_next(d->xs, token, path)) > 0) {
		if (!strcmp(token, "vifs")) {
			if (vif_changed(d, path, &domid))
				vifs(domid, arg);
			continue;
		}
		n = path_names(d, path, &domid, &devid);
		if (n == 3)
			below(domid, devid, arg);
		else
			other = 1;
		if (n == 3 && device_known(d, domid, devid))
			continue;
		if (n)
			guest_stale(d, domid);
		else if (!strcmp(path, d->root))
			d->stale = true;
	}
	return r ? r : other;
}

static int devices_scan(struct be_devices *s, be_device_fn *seen, void *arg)
{
	struct devices *d = (struct devices *)s;
	int rc = d->stale ? list_guests(d) : 0;
	struct guest *g;
	unsigned int i;

	for (g = d->guests; g && !rc; g = g->next) {
		rc = g->stale ? list_devices(d, g) : 0;
		for (i = 0; i < g->n_devids && !rc; i++)
			rc = seen(g->domid, g->devids[i], arg);
	}
	return rc;
}

/* ---- a device ---- */
static bool devices_alive(struct be_devices *s, unsigned int domid)
{
	return xn_domain_alive(((struct devices *)s)->xs, domid);
}

/* Most nodes of a configuration are absent: one listing tells which exist. */
static bool named(struct devices *d, const char *dir, const char *node)
{
	if (strcmp(d->listed, dir)) {
		xn_names_list(d->xs, dir, &d->names);
		snprintf(d->listed, sizeof(d->listed), "%s", dir);
	}
	return xn_names_have(&d->names, node);
}

static int devices_read(struct be_devices *s, unsigned int domid, unsigned int devid,
			const char *node, char *text, size_t size)
{
	struct devices *d = (struct devices *)s;
	char dir[XN_PATH_MAX];

	xn_backend_dir(dir, d->own, domid, devid);
	/* Each device has these two: no listing is needed. */
	if (strcmp(node, XN_NODE_STATE) && strcmp(node, XN_NODE_ONLINE) &&
	    !named(d, dir, node))
		return -ENOENT;
	return xn_read_str(d->xs, XBT_NULL, dir, node, text, size);
}

static int devices_write(struct be_devices *s, unsigned int domid, unsigned int devid,
			 const char *node, const char *text)
{
	struct devices *d = (struct devices *)s;
	char dir[XN_PATH_MAX];

	xn_backend_dir(dir, d->own, domid, devid);
	return text ? xn_write_own(d->xs, dir, node, text) :
		      xn_rm(d->xs, XBT_NULL, dir, node);
}

static void devices_vif_mac(struct be_devices *s, unsigned int domid, unsigned int vif,
			    char mac[VL_MAC])
{
	struct devices *d = (struct devices *)s;

	xn_vif_mac(d->xs, d->own, domid, vif, mac);
}

/* With the last device of a guest goes the directory of that guest's. */
static int devices_remove(struct be_devices *s, unsigned int domid,
			  unsigned int devid)
{
	struct devices *d = (struct devices *)s;
	char dir[XN_PATH_MAX], **names = NULL;
	int n, rc;

	guest_stale(d, domid);
	xn_backend_dir(dir, d->own, domid, devid);
	rc = xn_rm(d->xs, XBT_NULL, dir, NULL);
	if (rc)
		return rc;
	xn_backend_guest(dir, d->own, domid);
	n = xn_list(d->xs, XBT_NULL, dir, &names);
	free(names);
	if (!n)
		xn_rm(d->xs, XBT_NULL, dir, NULL);
	return 0;
}

static void devices_free(struct be_devices *s)
{
	struct devices *d = (struct devices *)s;

	while (d->guests)
		guest_drop(&d->guests);
	names_forget(d);
	xs_close(d->xs);
	free(d);
}

static const struct be_devices_ops devices_ops = {
	.watch = devices_watch,
	.fd = devices_fd,
	.changed = devices_changed,
	.scan = devices_scan,
	.alive = devices_alive,
	.read = devices_read,
	.write = devices_write,
	.vif_mac = devices_vif_mac,
	.remove = devices_remove,
	.free = devices_free,
};

struct be_devices *be_devices_xenstore(void)
{
	struct devices *d = calloc(1, sizeof(*d));
	int own = -ENOMEM;

	if (d) {
		d->devices.ops = &devices_ops;
		d->devices.name = d->root;
		d->stale = true;
		d->xs = xs_open(0);
		own = d->xs ? xn_own_domid(d->xs) : -errno;
	}
	if (own >= 0) {
		d->own = (unsigned int)own;
		xn_backend_root(d->root, d->own);
		xn_vif_root(d->vifs, d->own);
		return &d->devices;
	}
	be_log(NULL, BE_ERR, "xenstore: %s; is this a Xen domain with xenstored?",
	       strerror(-own));
	if (d)
		devices_free(&d->devices);
	return NULL;
}
