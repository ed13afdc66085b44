// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The agent's work (agent.h). The toolstack's nodes (/libxl) list the devices; the
 * path of a request identifies its domain, because only that domain and the control
 * domain can write there. Events only name the changed path.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent.h"
#include "clock.h"
#include "line.h"
#include "number.h"
#include "request.h"
#include "vhca-agent.h"
#include "vhca-keys.h"
#include "vhca-provider.h"
#include <xen/io/vhcaif.h>

#define LOG_RATE	10		/* refusals of a device that are logged */
#define LOG_BURST	20
#define EVERY_GUEST	(~0u)

int dba_log_level = LOG_INFO;

void dba_log(int prio, const char *fmt, ...)
{
	va_list ap;

	if (prio > dba_log_level)
		return;
	va_start(ap, fmt);
	vl_line(prio, "", fmt, ap);
	va_end(ap);
}

void dba_timer(struct dba_agent *a, uint64_t at)
{
	if (!a->wake_ns || at < a->wake_ns)
		a->wake_ns = at;
}

/* Tries again later if it cannot be. */
static void dba_unmap(struct dba_agent *a, struct dba_map *m, const char *why)
{
	unsigned int guest = m->guest, devid = m->devid, slot = m->slot;
	int err;

	if (!dba_map_undo(&a->table, m, &err)) {
		dba_log(LOG_INFO, "d%u/%u: slot %u unmapped: %s", guest, devid,
			slot, why);
		return;
	}
	dba_log(LOG_ERR, "d%u/%u: slot %u cannot be unmapped (%s): %s; trying again",
		guest, devid, slot, why, strerror(-err));
	a->recheck = true;
	dba_timer(a, vl_now_ns() + DBA_RETRY_NS);
}

int dba_unmap_all(struct dba_agent *a, const struct dba_dev *d, const char *why)
{
	struct dba_map *m = a->table.of_guest[d->guest] ? a->table.maps : NULL;
	struct dba_map *next;
	int err, last = 0;
	size_t n = 0;

	for (; m; m = next) {
		next = m->next;
		if (m->held || m->guest != d->guest || m->devid != d->devid ||
		    m->backend != d->backend)
			continue;
		n++;
		if (dba_map_undo(&a->table, m, &err))
			last = err;
	}
	if (n)
		dba_log(last ? LOG_ERR : LOG_INFO, "d%u/%u: %zu slots unmapped (%s)%s%s",
			d->guest, d->devid, n, why, last ? ": not all: " : "",
			last ? strerror(-last) : "");
	return last;
}

/* ---- devices ---- */
static struct dba_dev *find_dev(struct dba_agent *a, unsigned int guest,
				unsigned int devid, unsigned int backend)
{
	struct dba_dev *d;

	for (d = a->devs; d; d = d->next)
		if (d->guest == guest && d->devid == devid &&
		    d->backend == backend)
			return d;
	return NULL;
}

static int add_dev(struct dba_agent *a, unsigned int guest, unsigned int devid,
		   unsigned int backend)
{
	struct dba_dev *d = calloc(1, sizeof(*d));
	char dir[XN_PATH_MAX];
	int rc;

	if (!d)
		return -ENOMEM;
	d->guest = guest;
	d->devid = devid;
	d->backend = backend;
	d->seen = true;
	d->asked = true;
	d->requests.rate = a->rate;
	d->requests.depth_ns = DBA_BURST * VL_SEC_NS / a->rate;
	d->log.rate = LOG_RATE;
	d->log.depth_ns = LOG_BURST * VL_SEC_NS / LOG_RATE;
	snprintf(d->token, sizeof(d->token), "%u/%u/%u", guest, devid, backend);
	xn_backend_dir(dir, backend, guest, devid);
	rc = xn_path(d->path, dir, XENVHCA_NODE_DOORBELL);
	if (!rc)
		rc = xn_watch(a->xs, d->path, d->token);
	if (rc) {
		free(d);
		return rc;
	}
	d->next = a->devs;
	a->devs = d;
	dba_log(LOG_DEBUG, "d%u/%u of backend d%u: watched", guest, devid,
		backend);
	return 0;
}

/* Pages that the toolstack allows to the guest by this device. */
static uint32_t allowed(struct dba_agent *a, unsigned int guest,
			unsigned int devid)
{
	int n = dba_read_ucontexts(a->xs, guest, devid);

	a->rescan |= n < 0 && n != -EINVAL && n != -ERANGE && n != -E2BIG;
	return n > 0 ? XENVHCA_UCONTEXT_UARS * (uint32_t)n : 0;
}

static int scan_guest(unsigned int guest, void *arg)
{
	char dir[XN_PATH_MAX], **names = NULL;
	struct dba_agent *a = arg;
	struct dba_dev *d;
	uint64_t devid = 0;
	int i, n, backend, rc;

	xn_libxl_guest(dir, guest);
	n = xn_list(a->xs, XBT_NULL, dir, &names);
	a->rescan |= n < 0;
	a->table.allowed[guest] = 0;
	for (i = 0; i < n; i++) {
		if (vl_parse_u64(names[i], 0, XN_MAX_DEVID, &devid))
			continue;
		backend = dba_read_backend(a->xs, guest, (unsigned int)devid);
		if (backend < 0) {
			a->rescan |= backend != -ENOENT && backend != -EINVAL;
			continue;
		}
		a->table.allowed[guest] += allowed(a, guest, (unsigned int)devid);
		d = find_dev(a, guest, (unsigned int)devid,
			     (unsigned int)backend);
		if (d) {
			d->seen = true;
			continue;
		}
		rc = add_dev(a, guest, (unsigned int)devid,
			     (unsigned int)backend);
		if (!rc)
			continue;
		dba_log(LOG_ERR, "d%u/%u: cannot watch: %s", guest,
			(unsigned int)devid, strerror(-rc));
		a->rescan = true;
	}
	free(names);
	return 0;
}

static void remove_unseen(struct dba_agent *a)
{
	struct dba_dev *d, **p;

	for (p = &a->devs; (d = *p);) {
		if (d->seen) {
			p = &d->next;
			continue;
		}
		xs_unwatch(a->xs, d->path, d->token);
		dba_log(LOG_DEBUG, "d%u/%u: device is gone", d->guest,
			d->devid);
		*p = d->next;
		free(d);
		a->recheck = true;	/* unmaps what it had */
	}
}

/* An error is no proof that a device is gone. */
static void scan_end(struct dba_agent *a)
{
	if (a->rescan)
		dba_timer(a, vl_now_ns() + DBA_RETRY_NS);
	else
		remove_unseen(a);
}

static void unsee(struct dba_agent *a, unsigned int guest)
{
	struct dba_dev *d;

	for (d = a->devs; d; d = d->next)
		if (guest == EVERY_GUEST || d->guest == guest)
			d->seen = false;
}

static void scan(struct dba_agent *a)
{
	int rc;

	a->rescan = false;
	unsee(a, EVERY_GUEST);
	rc = xn_each(a->xs, XN_LIBXL, XN_MAX_DOMID, scan_guest, a);
	if (rc)
		dba_log(LOG_ERR, "cannot read " XN_LIBXL ": %s", strerror(-rc));
	a->rescan |= rc != 0;
	scan_end(a);
}

/* Only the guests whose devices may have changed. */
static void scan_stale(struct dba_agent *a)
{
	unsigned int i;

	for (i = 0; i < a->n_stale; i++) {
		unsee(a, a->stale[i]);
		scan_guest(a->stale[i], a);
	}
	scan_end(a);
}

/* ---- what is mapped already ---- */
/* The hypervisor's answer about a guest, asked once for all its mappings. */
struct alive {
	unsigned int guest;		/* EVERY_GUEST: of none yet */
	bool known;
	struct dba_domain dom;
};

/* Is m's guest still the domain that it was made for? True if unknown. */
static bool guest_lives(struct dba_agent *a, const struct dba_map *m,
			struct alive *is)
{
	if (is->guest != m->guest) {
		is->guest = m->guest;
		is->dom = (struct dba_domain){ 0 };
		is->known = !a->domain(a->ctx, m->guest, &is->dom);
	}
	return !is->known ||
	       (is->dom.alive && !memcmp(is->dom.uuid, m->uuid, DBA_UUID));
}

/* Why a mapping must go, DBA_OK: it may stay. last: m of the last call, r its result;
 * mappings of one device mostly follow each other. */
static enum dba_reason recheck_map(struct dba_agent *a, const struct dba_map *m,
				   struct dba_map *last, enum dba_reason r)
{
	struct dba_hca hca;

	if (m->guest == last->guest && m->devid == last->devid &&
	    m->backend == last->backend && last->nr)
		return r;
	*last = *m;
	if (!find_dev(a, m->guest, m->devid, m->backend))
		return DBA_DEVICE;
	dba_read_hca(a->xs, a->sysfs, a->own, m->guest, m->devid, &hca);
	if (!hca.error)
		return dba_owner_check(&hca, m->backend);
	a->recheck = true;	/* an error proves nothing */
	dba_timer(a, vl_now_ns() + DBA_RETRY_NS);
	return DBA_OK;
}

/* A domain ended, a device went away, or an HCA changed hands. */
static void recheck(struct dba_agent *a, unsigned int of)
{
	struct dba_map *m, *next, last = { 0 };
	struct alive is = { .guest = EVERY_GUEST };
	enum dba_reason r = DBA_OK;
	unsigned int guest;

	for (m = a->table.maps; m; m = next) {
		next = m->next;
		if (of != EVERY_GUEST && m->guest != of)
			continue;
		if (!guest_lives(a, m, &is)) {
			guest = m->guest;
			dba_log(LOG_INFO, "d%u: gone, %zu doorbell pages free",
				guest, dba_map_forget(&a->table, guest));
			next = a->table.maps;
			continue;
		}
		if (m->held)
			continue;
		r = recheck_map(a, m, &last, r);
		if (r)
			dba_unmap(a, m, dba_reason_text(r));
	}
}

/* All guests, or one after the other those that events named. */
static void look(struct dba_agent *a)
{
	unsigned int i, n = a->n_stale;
	bool all = a->recheck || a->rescan;

	if (a->rescan)
		scan(a);
	else
		scan_stale(a);
	if (a->rescan) {		/* tried again, all of it */
		a->n_stale = 0;
		return;
	}
	/* Set by a device that is gone; its guest is among those below. */
	a->recheck = false;
	a->n_stale = 0;
	if (all)
		recheck(a, EVERY_GUEST);
	for (i = 0; i < n && !all; i++)
		recheck(a, a->stale[i]);
}

/* ---- work and events ---- */
void dba_agent_work(struct dba_agent *a)
{
	struct dba_dev *d;

	a->wake_ns = 0;
	look(a);
	for (d = a->devs; d; d = d->next)
		dba_serve(a, d);
	dba_requests_end(a);
}

/* path: the node that changed, below or at that of a device. */
static void dev_event(struct dba_agent *a, const char *token, const char *path)
{
	struct dba_dev *d;
	size_t len;

	for (d = a->devs; d && strcmp(d->token, token); d = d->next)
		;
	if (!d)
		return;
	len = strlen(d->path);
	if (!strncmp(path, d->path, len) && path[len] == '/' &&
	    strcmp(path + len + 1, XENVHCA_NODE_DOORBELL_REQUESTS))
		return;
	d->asked = true;
	dba_timer(a, vl_now_ns());	/* its turn may be over */
}

static void guest_event(struct dba_agent *a, unsigned int guest)
{
	unsigned int i = 0;

	while (i < a->n_stale && a->stale[i] != guest)
		i++;
	if (i < a->n_stale)
		return;
	if (i == DBA_STALE)
		a->rescan = a->recheck = true;
	else
		a->stale[a->n_stale++] = guest;
}

/*
 * A path below /libxl, where all actions of toolstacks cause events. Only paths of a
 * vhca, and those above one, matter.
 */
static void libxl_event(struct dba_agent *a, const char *path)
{
	static const char *const part[] = { "device", XN_KIND };
	unsigned int guest, i;
	int end = 0;

	if (sscanf(path, "/libxl/%5u%n", &guest, &end) != 1) {
		if (!strcmp(path, "/libxl"))
			a->rescan = a->recheck = true;
		return;
	}
	path += end;
	for (i = 0; i < 2 && *path == '/'; i++) {
		size_t len = strlen(part[i]);

		if (strncmp(path + 1, part[i], len) ||
		    (path[len + 1] && path[len + 1] != '/'))
			return;
		path += len + 1;
	}
	if (guest <= XN_MAX_DOMID)
		guest_event(a, guest);
}

int dba_agent_events(struct dba_agent *a)
{
	char **vec;

	for (;;) {
		errno = 0;
		vec = xs_check_watch(a->xs);
		if (!vec)
			return errno == EAGAIN || !errno ? 0 : -errno;
		if (!strcmp(vec[XS_WATCH_TOKEN], "libxl"))
			libxl_event(a, vec[XS_WATCH_PATH]);
		else if (!strcmp(vec[XS_WATCH_TOKEN], "recheck"))
			a->recheck = true;
		else
			dev_event(a, vec[XS_WATCH_TOKEN], vec[XS_WATCH_PATH]);
		free(vec);
	}
}

int dba_agent_start(struct dba_agent *a)
{
	char pci[XN_PATH_MAX];
	int rc;

	snprintf(pci, sizeof(pci), "/local/domain/%u/backend/pci", a->own);
	rc = xn_watch(a->xs, "/libxl", "libxl");
	if (!rc)
		rc = xn_watch(a->xs, "@releaseDomain", "recheck");
	if (!rc)
		rc = xn_watch(a->xs, pci, "recheck");
	if (rc) {
		dba_log(LOG_ERR, "xenstore watch: %s", strerror(-rc));
		return rc;
	}
	/* Dead guests first: a half-done mapping of theirs needs no hypercall. */
	scan(a);
	if (a->rescan)
		return -EIO;
	a->recheck = false;
	recheck(a, EVERY_GUEST);
	dba_map_recover(&a->table);
	dba_map_save(&a->table);
	return 0;
}

void dba_agent_stop(struct dba_agent *a)
{
	struct dba_dev *d;

	while ((d = a->devs)) {
		a->devs = d->next;
		free(d);
	}
}
