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
#include "vhca-agent.h"
#include "vhca-keys.h"

#define DOMAINS		"/local/domain"
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
		if (vl_parse_u64(ids[i], 0, XN_MAX_DOMID, &id))
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

	if (vl_parse_u64(text, 0, XN_MAX_DOMID, &id))
		return domain_by_name(c, text, domid);
	*domid = (unsigned int)id;
	return CTL_OK;
}

int ctl_domain_given(struct ctl *c, int *domid)
{
	unsigned int id = 0;
	int rc = c->argc ? ctl_domain(c, c->argv[0], &id) : CTL_OK;

	*domid = c->argc ? (int)id : -1;
	return rc;
}

static void dev_init(struct ctl_dev *d, unsigned int domid, unsigned int devid,
		     unsigned int backend)
{
	*d = (struct ctl_dev){ .domid = domid, .devid = devid, .backend = backend };
	xn_libxl_dir(d->libxl, domid, devid);
	xn_frontend_dir(d->fe, domid, devid);
	xn_backend_dir(d->be, backend, domid, devid);
}

/* The backend domain that the toolstack recorded, or -errno. */
static int recorded_backend(struct ctl *c, unsigned int domid,
			    unsigned int devid)
{
	char dir[XN_PATH_MAX], path[XN_PATH_MAX];
	unsigned int backend;
	int rc;

	xn_libxl_dir(dir, domid, devid);
	rc = xn_read_str(c->xs, XBT_NULL, dir, NODE_BACKEND, path, sizeof(path));
	if (rc)
		return rc;
	if (sscanf(path, DOMAINS "/%u/", &backend) != 1 || backend > XN_MAX_DOMID)
		return -EINVAL;
	return (int)backend;
}

bool ctl_dev_orphan(struct ctl *c, const struct ctl_dev *d)
{
	return !xn_exists(c->xs, XBT_NULL, d->be, XENVHCA_NODE_HCA);
}

void ctl_dev_hca(struct ctl *c, const struct ctl_dev *d, char *hca)
{
	if (xn_read_str(c->xs, XBT_NULL, ctl_dev_orphan(c, d) ? d->libxl : d->be,
			XENVHCA_NODE_HCA, hca, XENVHCA_NAME_LEN))
		snprintf(hca, XENVHCA_NAME_LEN, "?");
}

/* ---- the devices that this domain can see ---- */
struct found {
	struct ctl *c;
	int domid;			/* the guest whose devices are wanted; -1: all */
	unsigned int backend, guest;	/* of the directory that is read now */
	struct ctl_dev *dev;
	int n;
};

static bool is_wanted(const struct found *f, unsigned int domid)
{
	return f->domid < 0 || domid == (unsigned int)f->domid;
}

static int add(struct found *f, unsigned int devid, unsigned int backend)
{
	struct ctl_dev *dev = realloc(f->dev, (size_t)(f->n + 1) * sizeof(*dev));

	if (!dev)
		return ctl_error(CTL_FAILED, "out of memory");
	f->dev = dev;
	dev_init(&dev[f->n++], f->guest, devid, backend);
	return CTL_OK;
}

/* A backend domain's list may be wrong; /libxl is authoritative. */
static int backend_device(unsigned int devid, void *arg)
{
	struct found *f = arg;
	int known = recorded_backend(f->c, f->guest, devid);

	return known >= 0 && (unsigned int)known != f->backend ? CTL_OK :
	       add(f, devid, f->backend);
}

static int backend_guest(unsigned int domid, void *arg)
{
	struct found *f = arg;
	char dir[XN_PATH_MAX];
	int rc;

	f->guest = domid;
	xn_backend_guest(dir, f->backend, domid);
	rc = is_wanted(f, domid) ?
	     xn_each(f->c->xs, dir, XN_MAX_DEVID, backend_device, f) : 0;
	return rc > 0 ? rc : CTL_OK;	/* an error of xenstore: no device */
}

static int backend_domain(unsigned int domid, void *arg)
{
	struct found *f = arg;
	char dir[XN_PATH_MAX];
	int rc;

	f->backend = domid;
	xn_backend_root(dir, domid);
	rc = xn_each(f->c->xs, dir, XN_MAX_DOMID, backend_guest, f);
	return rc > 0 ? rc : CTL_OK;
}

/* Adds an orphan: its backend's directory was removed with that domain. */
static int libxl_device(unsigned int devid, void *arg)
{
	struct found *f = arg;
	int i, backend = recorded_backend(f->c, f->guest, devid);

	for (i = 0; i < f->n; i++)
		if (f->dev[i].domid == f->guest && f->dev[i].devid == devid)
			return CTL_OK;
	return backend < 0 ? CTL_OK : add(f, devid, (unsigned int)backend);
}

static int libxl_guest(unsigned int domid, void *arg)
{
	struct found *f = arg;
	char dir[XN_PATH_MAX];
	int rc;

	f->guest = domid;
	xn_libxl_guest(dir, domid);
	rc = is_wanted(f, domid) ?
	     xn_each(f->c->xs, dir, XN_MAX_DEVID, libxl_device, f) : 0;
	return rc > 0 ? rc : CTL_OK;
}

int ctl_devs(struct ctl *c, int domid, struct ctl_dev **devs)
{
	struct found f = { .c = c, .domid = domid };
	int own, rc = xn_each(c->xs, DOMAINS, XN_MAX_DOMID, backend_domain, &f);

	if (!rc) {
		rc = xn_each(c->xs, XN_LIBXL, XN_MAX_DOMID, libxl_guest, &f);
	} else if (rc < 0) {		/* this domain may not list other domains */
		own = xn_own_domid(c->xs);
		rc = own < 0 ? ctl_error(CTL_FAILED, "xenstore: %s", strerror(-own)) :
			       backend_domain((unsigned int)own, &f);
	}
	*devs = f.dev;
	return rc > 0 ? -1 : f.n;
}

bool ctl_sees_all(struct ctl *c)
{
	char **ids = NULL;
	int n = xn_list(c->xs, XBT_NULL, DOMAINS, &ids);

	free(ids);
	return n >= 0;
}

int ctl_dev_find(struct ctl *c, unsigned int domid, const char *devid,
		 struct ctl_dev *d)
{
	struct ctl_dev *devs;
	uint64_t id = 0;
	int backend, i = 0, n;

	if (vl_parse_u64(devid, 0, XN_MAX_DEVID, &id))
		return ctl_error(CTL_USAGE,
				 "device \"%s\": a number is needed (vhcactl list shows it)",
				 devid);
	backend = recorded_backend(c, domid, (unsigned int)id);
	if (backend >= 0) {
		dev_init(d, domid, (unsigned int)id, (unsigned int)backend);
		return CTL_OK;
	}
	n = ctl_devs(c, (int)domid, &devs);
	while (i < n && devs[i].devid != id)
		i++;
	if (i < n)
		*d = devs[i];
	free(devs);
	return i < n ? CTL_OK :
	       ctl_error(CTL_NOT_FOUND,
			 "domain %u has no device %s (vhcactl list shows them)",
			 domid, devid);
}

int ctl_dev_named(struct ctl *c, struct ctl_dev *d)
{
	unsigned int domid = 0;
	int rc = ctl_domain(c, c->argv[0], &domid);

	return rc ? rc : ctl_dev_find(c, domid, c->argv[1], d);
}

/* ---- creating and removing ---- */
struct create {
	struct ctl_dev *d;
	const struct ctl_conf *conf;
	const struct ctl_dev *old;
	char backend[CTL_NAME_MAX];	/* its name; "": unknown */
};

/* The nodes that the backend reads; libxl has a copy of them. */
static int write_backend_nodes(struct xs_handle *xs, xs_transaction_t t,
			       const char *dir, const struct create *cr)
{
	const struct xn_node nodes[] = {
		{ "frontend", cr->d->fe }, { XN_NODE_ONLINE, "1" },
		{ XENVHCA_NODE_HCA, cr->conf->hca },
	};
	int i, rc = xn_write_nodes(xs, t, dir, nodes, 3);

	if (!rc)
		rc = xn_write_u32(xs, t, dir, "frontend-id", cr->d->domid);
	for (i = 0; i < CTL_KEYS && !rc; i++)
		if (cr->conf->set[i] || i == CTL_PORT)
			rc = xn_write_u32(xs, t, dir, ctl_keys[i].name,
					  cr->conf->val[i]);
	for (i = 0; i < CTL_TEXTS && !rc; i++)
		if (cr->conf->text[i][0])
			rc = xn_write_str(xs, t, dir, ctl_texts[i].name,
					  cr->conf->text[i]);
	return rc ? rc : xn_write_u32(xs, t, dir, XN_NODE_STATE,
				      XenbusStateInitialising);
}

static int write_frontend_nodes(struct xs_handle *xs, xs_transaction_t t,
				const struct ctl_dev *d, enum xenbus_state state)
{
	int rc = xn_mkdir(xs, t, d->fe, d->domid, d->backend);

	if (!rc)
		rc = xn_write_str(xs, t, d->fe, NODE_BACKEND, d->be);
	if (!rc)
		rc = xn_write_u32(xs, t, d->fe, "backend-id", d->backend);
	return rc ? rc : xn_write_u32(xs, t, d->fe, XN_NODE_STATE, state);
}

/*
 * The backend owns its directory of the guest, too, so that it can remove that when the
 * guest is gone: nobody else would.
 */
static int make_backend_dir(struct xs_handle *xs, xs_transaction_t t,
			    const struct ctl_dev *d)
{
	char parent[XN_PATH_MAX];
	int rc;

	xn_backend_guest(parent, d->backend, d->domid);
	rc = xn_mkdir(xs, t, parent, d->backend, d->backend);
	return rc ? rc : xn_mkdir(xs, t, d->be, d->backend, d->domid);
}

/* The lowest number that no directory uses. */
static int choose_devid(struct xs_handle *xs, xs_transaction_t t,
			struct ctl_dev *d)
{
	unsigned int id;

	for (id = 0; id <= XN_MAX_DEVID; id++) {
		dev_init(d, d->domid, id, d->backend);
		if (!xn_exists(xs, t, d->fe, NODE_BACKEND) &&
		    !xn_exists(xs, t, d->be, XENVHCA_NODE_HCA) &&
		    !xn_exists(xs, t, d->libxl, NODE_BACKEND))
			return 0;
	}
	return -ENOSPC;
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

static int create_fn(struct xs_handle *xs, xs_transaction_t t, void *arg)
{
	struct create *cr = arg;
	struct ctl_dev *d = cr->d;
	/* Not in d->be: the doorbell agent reads pci, the backend has no use for it. */
	const struct xn_node nodes[] = {
		{ NODE_BACKEND, d->be }, { NODE_NAME, cr->backend },
		{ XENVHCA_NODE_PCI, cr->conf->pci },
	};
	/* A leftover of libxl's would grant an HCA's pages. */
	const char *const old[] = { d->fe, d->be, d->libxl };
	enum xenbus_state state = XenbusStateInitialising;
	int i, rc = 0;

	if (cr->old) {
		/* The guest keeps its device, which it would remove at another state. */
		state = xn_state_read(xs, t, d->fe);
		if (state == XenbusStateUnknown)
			state = XenbusStateInitialising;
		rc = remove_dir(xs, t, cr->old->be);
	} else {
		rc = choose_devid(xs, t, d);
	}
	for (i = 0; i < 3 && !rc; i++)
		rc = xn_rm(xs, t, old[i], NULL);
	if (!rc)
		rc = xn_write_nodes(xs, t, d->libxl, nodes, 3);
	if (!rc)
		rc = write_backend_nodes(xs, t, d->libxl, cr);
	if (!rc)
		rc = write_frontend_nodes(xs, t, d, state);
	if (!rc)
		rc = make_backend_dir(xs, t, d);
	return rc ? rc : write_backend_nodes(xs, t, d->be, cr);
}

int ctl_dev_create(struct ctl *c, unsigned int domid, unsigned int backend,
		   const struct ctl_conf *conf, const struct ctl_dev *old, struct ctl_dev *d)
{
	struct create cr = { .d = d, .conf = conf, .old = old };

	dev_init(d, domid, old ? old->devid : 0, backend);
	d->moved = old;
	ctl_domain_name(c, backend, cr.backend);
	return ctl_transact(c, create_fn, &cr);
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
	/* An absent text leaves its place as it is: empty. */
	for (i = 0; i < CTL_TEXTS && !rc; i++) {
		rc = xn_read_str(c->xs, XBT_NULL, d->libxl, ctl_texts[i].name,
				 conf->text[i], CTL_TEXT_MAX);
		rc = rc == -ENOENT ? 0 : rc;
	}
	xn_read_str(c->xs, XBT_NULL, d->libxl, XENVHCA_NODE_PCI, conf->pci,
		    sizeof(conf->pci));
	xn_read_str(c->xs, XBT_NULL, d->libxl, NODE_NAME, conf->backend,
		    sizeof(conf->backend));
	return rc;
}

static int remove_fn(struct xs_handle *xs, xs_transaction_t t, void *arg)
{
	const struct ctl_dev *d = arg;
	int rc = remove_dir(xs, t, d->fe);

	if (!rc)
		rc = remove_dir(xs, t, d->be);
	return rc ? rc : remove_dir(xs, t, d->libxl);
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
