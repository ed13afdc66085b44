// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Devices and domains in xenstore: functions to find, create, remove and wait
 * (ctl.h). The nodes and permissions are those that libxl writes for its own
 * device types, so that either tool can remove what the other has made.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "clock.h"
#include "ctl.h"
#include "number.h"

#define DOMAINS		"/local/domain"
#define LIBXL		"/libxl"
#define NODE_BACKEND	"backend"
#define NODE_NAME	"backend-name"	/* of the domain; for reattach */
#define POLL_MS		1000	/* a lost watch event costs no more */

void ctl_domain_name(struct ctl *c, unsigned int domid, char *name)
{
	char dir[XN_PATH_MAX];

	snprintf(dir, sizeof(dir), DOMAINS "/%u", domid);
	if (xn_read_str(c->xs, XBT_NULL, dir, "name", name, CTL_NAME_MAX))
		name[0] = '\0';
}

static int domain_by_name(struct ctl *c, const char *text, unsigned int *domid)
{
	char name[CTL_NAME_MAX], **ids = NULL;
	uint64_t id = 0;
	int i, n, found = 0;

	n = xn_list(c->xs, XBT_NULL, DOMAINS, &ids);
	for (i = 0; i < n && !found; i++) {
		if (vl_parse_u64(ids[i], 0, XN_FIRST_RESERVED_DOMID - 1, &id))
			continue;
		ctl_domain_name(c, (unsigned int)id, name);
		found = !strcmp(name, text);
	}
	free(ids);
	if (!found)
		return ctl_error(CTL_NOT_FOUND,
				 "no domain \"%s\" (xl list shows the names)%s",
				 text, n < 0 ?
				 "; this domain may not read names, give the number" : "");
	*domid = (unsigned int)id;
	return CTL_OK;
}

int ctl_domain(struct ctl *c, const char *text, unsigned int *domid)
{
	uint64_t id = 0;

	if (vl_parse_u64(text, 0, XN_FIRST_RESERVED_DOMID - 1, &id))
		return domain_by_name(c, text, domid);
	*domid = (unsigned int)id;
	return CTL_OK;
}

int ctl_dev_init(struct ctl_dev *d, unsigned int domid, unsigned int devid,
		 unsigned int backend)
{
	int n;

	memset(d, 0, sizeof(*d));
	d->domid = domid;
	d->devid = devid;
	d->backend = backend;
	n = snprintf(d->libxl, sizeof(d->libxl),
		     LIBXL "/%u/device/" XN_KIND "/%u", domid, devid);
	if (n < 0 || n >= XN_PATH_MAX ||
	    xn_frontend_dir(d->fe, domid, devid) ||
	    xn_backend_dir(d->be, backend, domid, devid))
		return -ENAMETOOLONG;
	return 0;
}

/* The backend domain that the toolstack recorded, or -errno. */
static int recorded_backend(struct ctl *c, unsigned int domid,
			    unsigned int devid)
{
	char path[XN_PATH_MAX];
	struct ctl_dev d;
	unsigned int backend;
	int rc;

	rc = ctl_dev_init(&d, domid, devid, 0);
	if (!rc)
		rc = xn_read_str(c->xs, XBT_NULL, d.libxl, NODE_BACKEND, path,
				 sizeof(path));
	if (rc)
		return rc;
	if (sscanf(path, DOMAINS "/%u/", &backend) != 1 ||
	    backend >= XN_FIRST_RESERVED_DOMID)
		return -EINVAL;
	return (int)backend;
}

struct each {
	struct ctl *c;
	int domid;
	unsigned int backend;
	int (*fn)(struct ctl *c, const struct ctl_dev *d, void *arg);
	void *arg;
	int rc;
};

/* A backend domain's list may be wrong; /libxl is authoritative. */
static int each_device(unsigned int domid, unsigned int devid, void *arg)
{
	struct each *e = arg;
	struct ctl_dev d;
	int known;

	if (e->domid >= 0 && domid != (unsigned int)e->domid)
		return 0;
	known = recorded_backend(e->c, domid, devid);
	if (known >= 0 && (unsigned int)known != e->backend)
		return 0;
	if (ctl_dev_init(&d, domid, devid, e->backend))
		return 0;
	e->rc = e->fn(e->c, &d, e->arg);
	return e->rc;
}

bool ctl_dev_orphan(struct ctl *c, const struct ctl_dev *d)
{
	return !xn_exists(c->xs, XBT_NULL, d->be, XENVHCA_NODE_HCA);
}

/* Is there a directory, even an empty one? Then each_device() saw it. */
static bool listed(struct ctl *c, const struct ctl_dev *d)
{
	char *raw = xs_read(c->xs, XBT_NULL, d->be, NULL);

	free(raw);
	return raw;
}

static void orphans_of(struct each *e, unsigned int domid)
{
	char dir[XN_PATH_MAX], **names = NULL;
	uint64_t devid = 0;
	struct ctl_dev d;
	int i, n, backend;

	snprintf(dir, sizeof(dir), LIBXL "/%u/device/" XN_KIND, domid);
	n = xn_list(e->c->xs, XBT_NULL, dir, &names);
	for (i = 0; i < n && !e->rc; i++) {
		if (vl_parse_u64(names[i], 0, XN_MAX_DEVID, &devid))
			continue;
		backend = recorded_backend(e->c, domid, (unsigned int)devid);
		if (backend < 0 || ctl_dev_init(&d, domid, (unsigned int)devid,
						(unsigned int)backend))
			continue;
		if (ctl_dev_orphan(e->c, &d) && !listed(e->c, &d))
			e->rc = e->fn(e->c, &d, e->arg);
	}
	free(names);
}

/* The backend's directory, where other devices are found, is gone with the domain. */
static void each_orphan(struct each *e)
{
	char **ids = NULL;
	uint64_t id = 0;
	int i, n;

	n = xn_list(e->c->xs, XBT_NULL, LIBXL, &ids);
	for (i = 0; i < n && !e->rc; i++)
		if (!vl_parse_u64(ids[i], 0, XN_FIRST_RESERVED_DOMID - 1,
				  &id) &&
		    (e->domid < 0 || id == (uint64_t)e->domid))
			orphans_of(e, (unsigned int)id);
	free(ids);
}

int ctl_dev_each(struct ctl *c, int domid,
		 int (*fn)(struct ctl *c, const struct ctl_dev *d, void *arg),
		 void *arg)
{
	struct each e = { .c = c, .domid = domid, .fn = fn, .arg = arg };
	char **ids = NULL;
	uint64_t id = 0;
	int i, n, own;

	n = xn_list(c->xs, XBT_NULL, DOMAINS, &ids);
	for (i = 0; i < n && !e.rc; i++) {
		if (vl_parse_u64(ids[i], 0, XN_FIRST_RESERVED_DOMID - 1, &id))
			continue;
		e.backend = (unsigned int)id;
		xn_scan(c->xs, e.backend, each_device, &e);
	}
	free(ids);
	if (n >= 0) {
		each_orphan(&e);
		return e.rc;
	}
	own = xn_own_domid(c->xs);
	if (own < 0)
		return ctl_error(CTL_FAILED, "xenstore: %s", strerror(-own));
	e.backend = (unsigned int)own;
	xn_scan(c->xs, e.backend, each_device, &e);
	return e.rc;
}

bool ctl_sees_all(struct ctl *c)
{
	char **ids = NULL;
	int n = xn_list(c->xs, XBT_NULL, DOMAINS, &ids);

	free(ids);
	return n >= 0;
}

/* d->devid is the number to find. */
static int match_devid(struct ctl *c, const struct ctl_dev *d, void *arg)
{
	struct ctl_dev *want = arg;

	(void)c;
	if (d->devid != want->devid)
		return CTL_OK;
	*want = *d;
	return 1;
}

int ctl_dev_find(struct ctl *c, unsigned int domid, const char *devid,
		 struct ctl_dev *d)
{
	uint64_t id = 0;
	int backend;

	if (vl_parse_u64(devid, 0, XN_MAX_DEVID, &id))
		return ctl_error(CTL_USAGE,
				 "device \"%s\": a number is needed (vhcactl list shows it)",
				 devid);
	backend = recorded_backend(c, domid, (unsigned int)id);
	if (backend >= 0 &&
	    !ctl_dev_init(d, domid, (unsigned int)id, (unsigned int)backend))
		return CTL_OK;
	memset(d, 0, sizeof(*d));
	d->devid = (unsigned int)id;
	if (ctl_dev_each(c, (int)domid, match_devid, d) == 1)
		return CTL_OK;
	return ctl_error(CTL_NOT_FOUND,
			 "domain %u has no device %s (vhcactl list shows them)",
			 domid, devid);
}

int ctl_dev_named(struct ctl *c, struct ctl_dev *d)
{
	unsigned int domid = 0;
	int rc = ctl_domain(c, c->argv[0], &domid);

	return rc ? rc : ctl_dev_find(c, domid, c->argv[1], d);
}

struct create {
	struct ctl_dev *d;
	const struct ctl_conf *conf;
	char backend[CTL_NAME_MAX];	/* its name; "": unknown */
};

/* The nodes that the backend reads; libxl has a copy of them. */
static int write_backend_nodes(struct xs_handle *xs, xs_transaction_t t,
			       const char *dir, const struct create *cr)
{
	int i, rc;

	rc = xn_write_u32(xs, t, dir, "frontend-id", cr->d->domid);
	if (!rc)
		rc = xn_write_u32(xs, t, dir, XN_NODE_ONLINE, 1);
	if (!rc)
		rc = xn_write_str(xs, t, dir, XENVHCA_NODE_HCA, cr->conf->hca);
	for (i = 0; i < CTL_KEYS && !rc; i++)
		if (cr->conf->set[i] || i == CTL_PORT)
			rc = xn_write_u32(xs, t, dir, ctl_keys[i].name,
					  cr->conf->val[i]);
	for (i = 0; i < CTL_TEXTS && !rc; i++)
		if (cr->conf->text[i][0])
			rc = xn_write_str(xs, t, dir, ctl_texts[i].name,
					  cr->conf->text[i]);
	if (!rc)
		rc = xn_write_u32(xs, t, dir, XN_NODE_STATE,
				  XenbusStateInitialising);
	return rc;
}

static int write_frontend_nodes(struct xs_handle *xs, xs_transaction_t t,
				const struct ctl_dev *d)
{
	int rc;

	rc = xn_mkdir(xs, t, d->fe, d->domid, d->backend);
	if (!rc)
		rc = xn_write_str(xs, t, d->fe, NODE_BACKEND, d->be);
	if (!rc)
		rc = xn_write_u32(xs, t, d->fe, "backend-id", d->backend);
	if (!rc)
		rc = xn_write_u32(xs, t, d->fe, XN_NODE_STATE,
				  XenbusStateInitialising);
	return rc;
}

/*
 * Removes the backend's directory of the guest, too, which nobody else would remove
 * when the guest is gone.
 */
static int make_backend_dir(struct xs_handle *xs, xs_transaction_t t,
			    const struct ctl_dev *d)
{
	char parent[XN_PATH_MAX];
	int rc;

	snprintf(parent, sizeof(parent), "%s", d->be);
	*strrchr(parent, '/') = '\0';
	rc = xn_mkdir(xs, t, parent, d->backend, d->backend);
	return rc ? rc : xn_mkdir(xs, t, d->be, d->backend, d->domid);
}

/* The lowest number that no directory uses. */
static int choose_devid(struct xs_handle *xs, xs_transaction_t t,
			struct ctl_dev *d)
{
	unsigned int id;

	for (id = 0; id <= XN_MAX_DEVID; id++) {
		if (ctl_dev_init(d, d->domid, id, d->backend))
			return -ENAMETOOLONG;
		if (!xn_exists(xs, t, d->fe, NODE_BACKEND) &&
		    !xn_exists(xs, t, d->be, XENVHCA_NODE_HCA) &&
		    !xn_exists(xs, t, d->libxl, NODE_BACKEND))
			return 0;
	}
	return -ENOSPC;
}

static int create_fn(struct xs_handle *xs, xs_transaction_t t, void *arg)
{
	struct create *cr = arg;
	struct ctl_dev *d = cr->d;
	int rc;

	rc = choose_devid(xs, t, d);
	if (!rc)
		rc = xn_rm(xs, t, d->fe, NULL);
	if (!rc)
		rc = xn_rm(xs, t, d->be, NULL);
	if (!rc)	/* a leftover there would grant an HCA's pages */
		rc = xn_rm(xs, t, d->libxl, NULL);
	if (!rc)
		rc = xn_write_str(xs, t, d->libxl, "frontend", d->fe);
	if (!rc)
		rc = xn_write_str(xs, t, d->libxl, NODE_BACKEND, d->be);
	if (!rc)
		rc = write_backend_nodes(xs, t, d->libxl, cr);
	if (!rc && cr->backend[0])
		rc = xn_write_str(xs, t, d->libxl, NODE_NAME, cr->backend);
	/* The doorbell agent's, and of no use to the backend: not in d->be. */
	if (!rc && cr->conf->pci[0])
		rc = xn_write_str(xs, t, d->libxl, XENVHCA_NODE_PCI,
				  cr->conf->pci);
	if (!rc)
		rc = write_frontend_nodes(xs, t, d);
	if (!rc)
		rc = make_backend_dir(xs, t, d);
	if (!rc)
		rc = xn_write_str(xs, t, d->be, "frontend", d->fe);
	if (!rc)
		rc = write_backend_nodes(xs, t, d->be, cr);
	return rc;
}

int ctl_dev_create(struct ctl *c, unsigned int domid, unsigned int backend,
		   const struct ctl_conf *conf, struct ctl_dev *d)
{
	struct create cr = { .d = d, .conf = conf };

	memset(d, 0, sizeof(*d));
	d->domid = domid;
	d->backend = backend;
	ctl_domain_name(c, backend, cr.backend);
	return ctl_transact(c, create_fn, &cr);
}

static int texts_recorded(struct ctl *c, const struct ctl_dev *d,
			  struct ctl_conf *conf)
{
	int i, rc = 0;

	for (i = 0; i < CTL_TEXTS && !rc; i++) {
		rc = xn_read_str(c->xs, XBT_NULL, d->libxl, ctl_texts[i].name,
				 conf->text[i], CTL_TEXT_MAX);
		if (rc == -ENOENT) {
			conf->text[i][0] = '\0';
			rc = 0;
		}
	}
	return rc;
}

int ctl_dev_recorded(struct ctl *c, const struct ctl_dev *d,
		     struct ctl_conf *conf)
{
	const struct ctl_key *k = ctl_keys;
	int i, rc;

	memset(conf, 0, sizeof(*conf));
	rc = xn_read_str(c->xs, XBT_NULL, d->libxl, XENVHCA_NODE_HCA,
			 conf->hca, sizeof(conf->hca));
	for (i = 0; i < CTL_KEYS && !rc; i++, k++) {
		rc = xn_read_u32(c->xs, XBT_NULL, d->libxl, k->name, k->min,
				 k->max, &conf->val[i]);
		conf->set[i] = !rc;
		if (rc == -ENOENT) {
			conf->val[i] = k->def;
			rc = 0;
		}
	}
	if (!rc)
		rc = texts_recorded(c, d, conf);
	if (rc)
		return rc;
	if (xn_read_str(c->xs, XBT_NULL, d->libxl, XENVHCA_NODE_PCI, conf->pci,
			sizeof(conf->pci)))
		conf->pci[0] = '\0';
	if (xn_read_str(c->xs, XBT_NULL, d->libxl, NODE_NAME, conf->backend,
			sizeof(conf->backend)))
		conf->backend[0] = '\0';
	return 0;
}

/* Removes the parent directory of path too, if nothing else is in it. */
static int remove_dir(struct xs_handle *xs, xs_transaction_t t,
		      const char *path)
{
	char parent[XN_PATH_MAX], **names = NULL;
	int n, rc;

	rc = xn_rm(xs, t, path, NULL);
	if (rc)
		return rc;
	snprintf(parent, sizeof(parent), "%s", path);
	*strrchr(parent, '/') = '\0';
	n = xn_list(xs, t, parent, &names);
	free(names);
	return n ? 0 : xn_rm(xs, t, parent, NULL);
}

static int remove_fn(struct xs_handle *xs, xs_transaction_t t, void *arg)
{
	const struct ctl_dev *d = arg;
	int rc;

	rc = remove_dir(xs, t, d->fe);
	if (!rc)
		rc = remove_dir(xs, t, d->be);
	if (!rc)
		rc = remove_dir(xs, t, d->libxl);
	return rc;
}

int ctl_dev_remove(struct ctl *c, const struct ctl_dev *d)
{
	struct ctl_dev copy = *d;

	return ctl_transact(c, remove_fn, &copy);
}

enum xenbus_state ctl_fe_state(struct ctl *c, const struct ctl_dev *d)
{
	return xn_state_read(c->xs, XBT_NULL, d->fe);
}

enum xenbus_state ctl_be_state(struct ctl *c, const struct ctl_dev *d)
{
	return xn_state_read(c->xs, XBT_NULL, d->be);
}

int ctl_dev_wait(struct ctl *c, const struct ctl_dev *d, int seconds,
		 int (*done)(struct ctl *c, const struct ctl_dev *d))
{
	struct pollfd pfd = { .fd = xs_fileno(c->xs), .events = POLLIN };
	int64_t left, end = (int64_t)(vl_now_ns() / VL_MSEC_NS) +
			    seconds * (int64_t)1000;
	char token[XN_PATH_MAX];
	int rc;

	/* A failing watch only means that changes are seen a second later. */
	xn_watch(c->xs, d->fe, "fe");
	xn_watch(c->xs, d->be, "be");
	for (;;) {
		while (xn_watch_next(c->xs, token, NULL) > 0)
			;
		rc = done(c, d);
		left = end - (int64_t)(vl_now_ns() / VL_MSEC_NS);
		if (rc || left <= 0)
			break;
		poll(&pfd, 1, left < POLL_MS ? (int)left : POLL_MS);
	}
	xs_unwatch(c->xs, d->fe, "fe");
	xs_unwatch(c->xs, d->be, "be");
	return rc;
}
