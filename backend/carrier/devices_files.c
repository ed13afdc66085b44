// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The devices of this domain as directories of files (host/tree.h), which inotify
 * watches. On a Xen without a toolstack a guest's domain is never destroyed, so each
 * one lives. The supervisor's thread runs this.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>
#include <xen/io/vhcaif.h>
#include "host/tree.h"
#include "core/log.h"
#include "open_files.h"
#include "xenstore/scan.h"

#define NO_DEVICE	(~0u)	/* the directory of a guest, or of all */

struct watched {
	int wd;
	unsigned int domid, devid;
};

struct devices {
	struct be_devices devices;
	int notify_fd;
	struct watched *watched;
	unsigned int n_watched;
};

/* A scan. */
struct pass {
	struct devices *d;
	be_device_fn *seen;
	void *arg;
	unsigned int domid;
};

static const char *files_root = "/nonexistent";

void be_files_at(const char *root)
{
	files_root = root;
}

const char *be_files_root(void)
{
	return files_root;
}

/* ---- watches ---- */

/* 0, also if the directory was removed meanwhile. */
static int watch_dir(struct devices *d, const char *path, unsigned int domid,
		     unsigned int devid)
{
	int wd = inotify_add_watch(d->notify_fd, path, BE_FILES_CHANGES);
	struct watched *w;
	unsigned int i;

	if (wd < 0)
		return host_tree_none(errno) ? 0 : -errno;
	for (i = 0; i < d->n_watched; i++)
		if (d->watched[i].wd == wd)
			return 0;
	w = realloc(d->watched, (i + 1) * sizeof(*w));
	if (!w)
		return -ENOMEM;
	w[i] = (struct watched){ .wd = wd, .domid = domid, .devid = devid };
	d->watched = w;
	d->n_watched++;
	return 0;
}

static void watch_gone(struct devices *d, int wd)
{
	unsigned int i;

	for (i = 0; i < d->n_watched; i++)
		if (d->watched[i].wd == wd) {
			d->watched[i] = d->watched[--d->n_watched];
			return;
		}
}

static int files_watch(struct be_devices *s)
{
	struct devices *d = (struct devices *)s;
	int rc = watch_dir(d, files_root, NO_DEVICE, NO_DEVICE);

	return rc ? rc : access(files_root, X_OK) ? -errno : 0;
}

static int files_fd(struct be_devices *s)
{
	return ((struct devices *)s)->notify_fd;
}

/* Returns 0 for a node of a known device, else 1. */
static int event_take(struct devices *d, const struct inotify_event *e,
		      be_device_fn *below, void *arg)
{
	unsigned int i;

	if (e->mask & IN_IGNORED)
		watch_gone(d, e->wd);
	for (i = 0; i < d->n_watched; i++)
		if (d->watched[i].wd == e->wd &&
		    d->watched[i].devid != NO_DEVICE &&
		    !(e->mask & IN_DELETE_SELF)) {
			below(d->watched[i].domid, d->watched[i].devid, arg);
			return 0;
		}
	return 1;
}

static int files_changed(struct be_devices *s, be_device_fn *below, be_guest_fn *vifs,
			 void *arg)
{
	struct devices *d = (struct devices *)s;
	union {
		struct inotify_event e;
		char raw[4096];
	} u;
	int other = 0;
	ssize_t n, at;

	(void)vifs;
	while ((n = read(d->notify_fd, &u, sizeof(u))) > 0)
		for (at = 0; at < n;) {
			const struct inotify_event *e =
				(const struct inotify_event *)(u.raw + at);

			other |= event_take(d, e, below, arg);
			at += (ssize_t)(sizeof(*e) + e->len);
		}
	return n < 0 && errno != EAGAIN && errno != EINTR ? -errno : other;
}

/* ---- devices ---- */

static int scan_device(unsigned int devid, void *arg)
{
	const struct pass *p = arg;
	char path[PATH_MAX];
	int rc;

	host_tree_dir(path, files_root, p->domid, devid);
	rc = watch_dir(p->d, path, p->domid, devid);
	return rc ? rc : p->seen(p->domid, devid, p->arg);
}

static int scan_guest(unsigned int domid, void *arg)
{
	struct pass *p = arg;
	char path[PATH_MAX];
	int rc;

	host_tree_guest(path, files_root, domid);
	p->domid = domid;
	rc = watch_dir(p->d, path, domid, NO_DEVICE);
	return rc ? rc : host_tree_each(path, XN_MAX_DEVID, scan_device, p);
}

static int files_scan(struct be_devices *s, be_device_fn *seen, void *arg)
{
	struct pass p = {
		.d = (struct devices *)s, .seen = seen, .arg = arg,
	};

	return host_tree_each(files_root, XN_MAX_DOMID,
			      scan_guest, &p);
}

static bool files_alive(struct be_devices *s, unsigned int domid)
{
	(void)s;
	(void)domid;
	return true;
}

static int files_read(struct be_devices *s, unsigned int domid, unsigned int devid,
		      const char *node, char *text, size_t size)
{
	char path[PATH_MAX];

	(void)s;
	host_tree_dir(path, files_root, domid, devid);
	return host_tree_read(path, node, text, size);
}

/* Not to the guest's page: the next worker writes the state there. */
static int files_write(struct be_devices *s, unsigned int domid, unsigned int devid,
		       const char *node, const char *text)
{
	char path[PATH_MAX];

	(void)s;
	host_tree_dir(path, files_root, domid, devid);
	return host_tree_write(path, node, text);
}

static int files_remove(struct be_devices *s, unsigned int domid,
			unsigned int devid)
{
	(void)s;
	return host_tree_remove(files_root, domid, devid);
}

static void files_free(struct be_devices *s)
{
	struct devices *d = (struct devices *)s;

	if (d->notify_fd >= 0)
		close(d->notify_fd);
	free(d->watched);
	free(d);
}

static const struct be_devices_ops files_ops = {
	.watch = files_watch,
	.fd = files_fd,
	.changed = files_changed,
	.scan = files_scan,
	.alive = files_alive,
	.read = files_read,
	.write = files_write,
	.remove = files_remove,
	.free = files_free,
};

struct be_devices *be_devices_files(void)
{
	struct devices *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->devices.ops = &files_ops;
	d->devices.name = files_root;
	d->notify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (d->notify_fd >= 0 && !access(files_root, X_OK))
		return &d->devices;
	be_log(NULL, BE_ERR, "%s: %s; vhcactl dom0less makes it", files_root,
	       strerror(errno));
	files_free(&d->devices);
	return NULL;
}
