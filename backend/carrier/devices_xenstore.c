// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The devices of this domain as a toolstack records them: directories of xenstore
 * below backend/vhca. What was listed there is known until a watch says that it
 * changed: with hundreds of guests, a list of each for every change of one would be
 * most of what xenstored does.
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

/* What is known of a guest's directory. */
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
	char root[XN_PATH_MAX];
	bool stale;			/* the list of guests */
	struct guest *guests;
	char listed[XN_PATH_MAX];	/* a device: what its directory has, */
	struct xn_names names;		/* unless a watch has told of a change */
};

/* A path that does not fit names no node. */
static struct xs_handle *dir_of(struct be_devices *s, unsigned int domid,
				unsigned int devid, char *dir)
{
	struct devices *d = (struct devices *)s;

	if (xn_backend_dir(dir, d->own, domid, devid))
		dir[0] = '\0';
	return d->xs;
}

static int devices_watch(struct be_devices *s)
{
	struct devices *d = (struct devices *)s;
	int rc = xn_watch(d->xs, d->root, "devices");

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
	rc = xn_scan_guests(d->xs, d->own, guest_seen, d);
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
	int rc;

	g->n_devids = 0;
	rc = xn_scan_guest(d->xs, d->own, g->domid, device_seen, g);
	g->stale = rc != 0;
	return rc;
}

/* ---- changes ---- */
/* Of which guest, and of which device? How many of both the path names: 0 to 2; 3: of
 * a node of that device, not its directory itself. */
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

static int devices_changed(struct be_devices *s, be_device_fn *below, void *arg)
{
	char token[XN_PATH_MAX], path[XN_PATH_MAX];
	struct devices *d = (struct devices *)s;
	unsigned int domid = 0, devid = 0;
	int r, n, other = 0;

	names_forget(d);
	while ((r = xn_watch_next(d->xs, token, path)) > 0) {
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

static int devices_state(struct be_devices *s, unsigned int domid,
			 unsigned int devid)
{
	char dir[XN_PATH_MAX];
	struct xs_handle *xs = dir_of(s, domid, devid, dir);

	return xn_state_get(xs, XBT_NULL, dir);
}

static int devices_close(struct be_devices *s, unsigned int domid,
			 unsigned int devid)
{
	char dir[XN_PATH_MAX];
	struct xs_handle *xs = dir_of(s, domid, devid, dir);
	int state = xn_state_get(xs, XBT_NULL, dir);
	enum xenbus_state cur = (enum xenbus_state)state;

	if (state < 0)
		return state;
	if (cur == XenbusStateUnknown || cur == XenbusStateClosed)
		return 0;
	return xn_state_switch(xs, dir, XN_BACK, &cur, XenbusStateClosed, NULL,
			       0);
}

static bool devices_online(struct be_devices *s, unsigned int domid,
			   unsigned int devid)
{
	char dir[XN_PATH_MAX];
	struct xs_handle *xs = dir_of(s, domid, devid, dir);
	uint32_t online = 0;

	return !xn_read_u32(xs, XBT_NULL, dir, XN_NODE_ONLINE, 0, 1, &online) &&
	       online;
}

/* Most of the configuration is not there: one listing tells which is. */
static bool named(struct be_devices *s, const char *dir, const char *node)
{
	struct devices *d = (struct devices *)s;

	if (strcmp(d->listed, dir)) {
		xn_names_list(d->xs, dir, &d->names);
		snprintf(d->listed, sizeof(d->listed), "%s", dir);
	}
	return xn_names_have(&d->names, node);
}

static void text_or_none(struct be_devices *s, const char *dir, const char *node,
			 char *text, size_t size)
{
	struct xs_handle *xs = ((struct devices *)s)->xs;

	if (!named(s, dir, node) ||
	    xn_read_str(xs, XBT_NULL, dir, node, text, size))
		text[0] = '\0';
}

static uint32_t number_or(struct be_devices *s, const char *dir, const char *node,
			  uint32_t most, uint32_t def)
{
	uint32_t v = def;

	if (named(s, dir, node))
		xn_read_u32_def(((struct devices *)s)->xs, XBT_NULL, dir, node, 1,
				most, def, &v);
	return v;
}

/* A wrong limit counts as the default. */
static void devices_share(struct be_devices *s, unsigned int domid,
			  unsigned int devid, struct be_share *share)
{
	char dir[XN_PATH_MAX];

	dir_of(s, domid, devid, dir);
	memset(share, 0, sizeof(*share));
	share->pinned_mb = number_or(s, dir, XENVHCA_NODE_MAX_PINNED_MB,
				     XENVHCA_MOST_MAX_PINNED_MB,
				     XENVHCA_DEF_MAX_PINNED_MB);
	share->ucontexts = number_or(s, dir, XENVHCA_NODE_MAX_UCONTEXT,
				     XENVHCA_MAX_OBJECTS,
				     XENVHCA_DEF_MAX_UCONTEXT);
	text_or_none(s, dir, XENVHCA_NODE_HCA, share->hca, sizeof(share->hca));
}

static void devices_network(struct be_devices *s, unsigned int domid,
			    unsigned int devid, struct be_network *net)
{
	char dir[XN_PATH_MAX];

	dir_of(s, domid, devid, dir);
	memset(net, 0, sizeof(*net));
	net->port = number_or(s, dir, XENVHCA_NODE_PORT, XENVHCA_MOST_PORT,
			      XENVHCA_DEF_PORT);
	text_or_none(s, dir, XENVHCA_NODE_HCA, net->hca, sizeof(net->hca));
	text_or_none(s, dir, XENVHCA_NODE_IP, net->ip, sizeof(net->ip));
	text_or_none(s, dir, XENVHCA_NODE_PKEYS, net->pkeys,
		     sizeof(net->pkeys));
}

static void devices_refuse(struct be_devices *s, unsigned int domid,
			   unsigned int devid, const char *why)
{
	char dir[XN_PATH_MAX];
	struct xs_handle *xs = dir_of(s, domid, devid, dir);

	xn_write_own(xs, dir, XENVHCA_NODE_BROKEN, why);
}

/* With the last device of a guest goes the directory of that guest's. */
static int devices_remove(struct be_devices *s, unsigned int domid,
			  unsigned int devid)
{
	char dir[XN_PATH_MAX], **names = NULL;
	struct xs_handle *xs = dir_of(s, domid, devid, dir);
	int n, rc;

	if (!dir[0])
		return -EINVAL;
	guest_stale((struct devices *)s, domid);
	rc = xn_rm(xs, XBT_NULL, dir, NULL);
	if (rc)
		return rc;
	*strrchr(dir, '/') = '\0';
	n = xn_list(xs, XBT_NULL, dir, &names);
	free(names);
	if (!n)
		xn_rm(xs, XBT_NULL, dir, NULL);
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
	.state = devices_state,
	.close = devices_close,
	.online = devices_online,
	.share = devices_share,
	.network = devices_network,
	.refuse = devices_refuse,
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
		own = xn_backend_root(d->root, d->own);
		if (!own)
			return &d->devices;
	}
	be_log(NULL, BE_ERR, "xenstore: %s; is this a Xen domain with xenstored?",
	       strerror(-own));
	if (d)
		devices_free(&d->devices);
	return NULL;
}
