// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The devices of this domain as a toolstack records them: directories of xenstore
 * below backend/vhca.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xen/io/vhcaif.h>
#include "log.h"
#include "open_xenstore.h"
#include "xenstore/scan.h"
#include "xenstore/state.h"

struct devices {
	struct be_devices devices;
	struct xs_handle *xs;
	unsigned int own;		/* our domain id */
	char root[XN_PATH_MAX];
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

/* Is it a node of a device, not the device's directory itself? */
static bool is_below(const struct devices *d, const char *path,
		     unsigned int *domid, unsigned int *devid)
{
	size_t len = strlen(d->root);
	int end = 0;

	return !strncmp(path, d->root, len) &&
	       sscanf(path + len, "/%5u/%5u/%n", domid, devid, &end) == 2 &&
	       end;
}

static int devices_changed(struct be_devices *s, be_device_fn *below, void *arg)
{
	char token[XN_PATH_MAX], path[XN_PATH_MAX];
	struct devices *d = (struct devices *)s;
	unsigned int domid, devid;
	int r, other = 0;

	while ((r = xn_watch_next(d->xs, token, path)) > 0) {
		if (is_below(d, path, &domid, &devid))
			below(domid, devid, arg);
		else
			other = 1;
	}
	return r ? r : other;
}

static int devices_scan(struct be_devices *s, be_device_fn *seen, void *arg)
{
	struct devices *d = (struct devices *)s;

	return xn_scan(d->xs, d->own, seen, arg);
}

static bool devices_alive(struct be_devices *s, unsigned int domid)
{
	return xn_domain_alive(((struct devices *)s)->xs, domid);
}

static enum xenbus_state devices_state(struct be_devices *s, unsigned int domid,
				       unsigned int devid)
{
	char dir[XN_PATH_MAX];
	struct xs_handle *xs = dir_of(s, domid, devid, dir);

	return xn_state_read(xs, XBT_NULL, dir);
}

static int devices_close(struct be_devices *s, unsigned int domid,
			 unsigned int devid)
{
	char dir[XN_PATH_MAX];
	struct xs_handle *xs = dir_of(s, domid, devid, dir);
	enum xenbus_state cur = xn_state_read(xs, XBT_NULL, dir);

	if (cur == XenbusStateUnknown || cur == XenbusStateClosed)
		return 0;
	return xn_state_switch(xs, dir, XN_BACK, &cur, XenbusStateClosed);
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

static void text_or_none(struct xs_handle *xs, const char *dir, const char *node,
			 char *text, size_t size)
{
	if (xn_read_str(xs, XBT_NULL, dir, node, text, size))
		text[0] = '\0';
}

/* A wrong limit counts as the default. */
static void devices_share(struct be_devices *s, unsigned int domid,
			  unsigned int devid, struct be_share *share)
{
	char dir[XN_PATH_MAX];
	struct xs_handle *xs = dir_of(s, domid, devid, dir);

	memset(share, 0, sizeof(*share));
	share->pinned_mb = XENVHCA_DEF_MAX_PINNED_MB;
	share->ucontexts = XENVHCA_DEF_MAX_UCONTEXT;
	xn_read_u32_def(xs, XBT_NULL, dir, XENVHCA_NODE_MAX_PINNED_MB, 1,
			XENVHCA_MOST_MAX_PINNED_MB, XENVHCA_DEF_MAX_PINNED_MB,
			&share->pinned_mb);
	xn_read_u32_def(xs, XBT_NULL, dir, XENVHCA_NODE_MAX_UCONTEXT, 1,
			XENVHCA_MAX_OBJECTS, XENVHCA_DEF_MAX_UCONTEXT,
			&share->ucontexts);
	text_or_none(xs, dir, XENVHCA_NODE_HCA, share->hca, sizeof(share->hca));
}

static void devices_network(struct be_devices *s, unsigned int domid,
			    unsigned int devid, struct be_network *net)
{
	char dir[XN_PATH_MAX];
	struct xs_handle *xs = dir_of(s, domid, devid, dir);

	memset(net, 0, sizeof(*net));
	net->port = XENVHCA_DEF_PORT;
	xn_read_u32_def(xs, XBT_NULL, dir, XENVHCA_NODE_PORT, 1,
			XENVHCA_MOST_PORT, XENVHCA_DEF_PORT, &net->port);
	text_or_none(xs, dir, XENVHCA_NODE_HCA, net->hca, sizeof(net->hca));
	text_or_none(xs, dir, XENVHCA_NODE_IP, net->ip, sizeof(net->ip));
	text_or_none(xs, dir, XENVHCA_NODE_PKEYS, net->pkeys,
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
	xs_close(((struct devices *)s)->xs);
	free(s);
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
