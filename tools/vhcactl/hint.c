// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What list, show and top say of a device that does not work: the reason, and what to
 * do next (docs/guide/operators.md has the states as a table). The nodes of both ends
 * are believed for the text only.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include "ctl.h"
#include "host/xenbus.h"
#include "vhca-agent.h"

#define LOG "journalctl -u xen-vhcad"

/* ---- facts ---- */
/* Reads /proc/locks: whoever took the lock would keep its owner from starting. */
bool ctl_locked(const struct ctl *c, const char *path)
{
	char full[PATH_MAX], line[256];
	unsigned int major, minor;
	unsigned long long ino;
	bool held = false;
	struct stat st;
	FILE *f;

	snprintf(full, sizeof(full), "%s/proc/locks", c->root);
	f = stat(path, &st) ? NULL : fopen(full, "re");
	while (f && !held && fgets(line, sizeof(line), f))
		held = sscanf(line, "%*s FLOCK %*s WRITE %*s %x:%x:%llu",
			      &major, &minor, &ino) == 3 &&
		       makedev(major, minor) == st.st_dev && ino == st.st_ino;
	if (f)
		fclose(f);
	return held;
}

/* Did its worker die, and nobody write Closed? A worker leaves the file when it dies. */
bool ctl_unserved(const struct ctl *c, unsigned int domid, unsigned int devid)
{
	char path[PATH_MAX];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%u-%u.lock", c->run_dir, domid, devid);
	return !stat(path, &st) && !ctl_locked(c, path);
}

/* The agent executes requests in their order: has the last one an answer? */
static bool agent_owes(struct ctl *c, const struct ctl_dev *d)
{
	char dir[XN_PATH_MAX], text[XENVHCA_DOORBELL_TEXT + 1], *rest = text, *s;
	uint64_t last = 0, n;

	if (xn_path(dir, d->be, XENVHCA_NODE_DOORBELL) ||
	    xn_read_str(c->xs, XBT_NULL, dir, XENVHCA_NODE_DOORBELL_REQUESTS, text,
			sizeof(text)))
		return false;
	s = strrchr(text, ';');
	if (sscanf(s ? s + 1 : text, "%" SCNu64 " ", &last) != 1)
		return false;
	if (xn_read_str(c->xs, XBT_NULL, dir, XENVHCA_NODE_DOORBELL_ANSWERS, text,
			sizeof(text)))
		return true;
	while ((s = strsep(&rest, ";")))
		if (sscanf(s, "%" SCNu64 " ", &n) == 1 && n == last)
			return false;
	return true;
}

static void read_why(struct ctl *c, const char *dir, char *why)
{
	if (xn_read_str(c->xs, XBT_NULL, dir, XENVHCA_NODE_BROKEN, why, XN_VALUE_MAX))
		why[0] = '\0';
}

void ctl_facts(struct ctl *c, const struct ctl_dev *d, struct ctl_facts *f)
{
	uint32_t online = 1;
	int own = xn_own_domid(c->xs);

	*f = (struct ctl_facts){
		.domid = d->domid, .devid = d->devid, .backend = d->backend,
		.be = ctl_be_state(c, d), .fe = ctl_fe_state(c, d),
		.orphan = ctl_dev_orphan(c, d),
	};
	read_why(c, d->be, f->be_why);
	read_why(c, d->fe, f->fe_why);
	xn_read_u32(c->xs, XBT_NULL, d->be, XN_NODE_ONLINE, 0, 1, &online);
	f->leaving = !online;
	f->agent_owes = agent_owes(c, d);
	f->unserved = own >= 0 && (unsigned int)own == d->backend &&
		      ctl_unserved(c, d->domid, d->devid);
}

/* ---- texts ---- */
static bool fe_open(const struct ctl_facts *f)
{
	return f->fe == XenbusStateInitialised || f->fe == XenbusStateConnected ||
	       f->fe == XenbusStateClosing;
}

static bool be_closed(const struct ctl_facts *f)
{
	return f->be == XenbusStateClosed || f->be == XenbusStateUnknown;
}

/* Of a device that is to connect. */
static const char *connecting(const struct ctl_facts *f)
{
	if (f->be == XenbusStateInitialising)
		return "no backend answers: is xen-vhcad running in the backend domain (systemctl start xen-vhcad), and is xen-vhca-helper loaded there?";
	if (f->be == XenbusStateClosing)
		return "xen-vhcad is closing the device, as when it stops: wait, or start it in the backend domain (systemctl start xen-vhcad)";
	if (f->be == XenbusStateClosed && fe_open(f))
		return "the backend has closed, the guest has not yet: see the guest's kernel log";
	if (f->be == XenbusStateClosed)
		return "xen-vhcad does not serve the device: is it running in the backend domain (systemctl start xen-vhcad)? If a worker died, its log says so (" LOG ")";
	if (f->be == XenbusStateInitWait && f->fe == XenbusStateClosed)
		return "the backend is ready, the guest has closed the device: it is suspended, or its kernel log says why";
	if (f->be == XenbusStateInitWait && f->fe == XenbusStateInitialising)
		return "the backend is ready, the guest does not answer: is xen-vhcafront loaded in the guest (modprobe xen-vhcafront; Linux 6.1 or later), and has it booted?";
	if (f->be == XenbusStateInitWait)
		return "the guest is ready, the backend does not connect: see xen-vhcad's log (" LOG ")";
	if (f->be == XenbusStateConnected && f->fe == XenbusStateInitialised)
		return "the backend is connected, the guest did not register its RDMA device: see the guest's kernel log";
	if (f->be == XenbusStateConnected)
		return "the guest has closed the device or is closing it: see the guest's kernel log";
	return "see xen-vhcad's log (" LOG ") and the guest's kernel log";
}

struct text {
	char *buf;
	size_t size, len;
};

static void add(struct text *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void add(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->buf + t->len, t->size - t->len, fmt, ap);
	va_end(ap);
	t->len += n < 0 ? 0 : (size_t)n;
	if (t->len >= t->size)
		t->len = t->size - 1;
}

static void leaving(const struct ctl_facts *f, struct text *t)
{
	if (fe_open(f))
		add(t, "detached, but the guest does not let go of it: see its kernel log, or");
	else if (!be_closed(f))
		add(t, "detached, but xen-vhcad still ends its objects: see its log (" LOG "), or");
	else
		add(t, "detached, but not removed yet:");
	add(t, " take it away (vhcactl detach %s%u %u)", fe_open(f) || !be_closed(f) ? "-f " : "",
	    f->domid, f->devid);
}

/* The backend's reason while it does not offer the device. */
static void refused(const struct ctl_facts *f, struct text *t)
{
	add(t, "backend: %s", f->be_why);
	if (!strncmp(f->be_why, "max-", 4))
		add(t, " (vhcactl quota %u %u KEY=NUMBER)", f->domid, f->devid);
	else
		add(t, "; the device connects when that is mended (" LOG ")");
}

static void not_connected(const struct ctl_facts *f, struct text *t)
{
	bool offered = f->be == XenbusStateInitWait || f->be == XenbusStateConnected;

	if (f->be_why[0] && !offered) {
		refused(f, t);
	} else if (f->fe_why[0] && f->fe == XenbusStateClosed) {
		add(t, "guest: %s; its driver tries again by itself, and its kernel log has more",
		    f->fe_why);
	} else {
		add(t, "%s", connecting(f));
		if (f->be_why[0])
			add(t, "; the last connection ended with \"%s\"", f->be_why);
	}
}

void ctl_hint(const struct ctl_facts *f, char *text, size_t size)
{
	bool connected = f->be == XenbusStateConnected && f->fe == XenbusStateConnected;
	struct text t = { .buf = text, .size = size };

	text[0] = '\0';
	if (f->orphan)
		add(&t, "the backend domain %u is gone: start it, then attach its devices again (vhcactl reattach)",
		    f->backend);
	else if (f->be == XenbusStateConnected && f->unserved)
		add(&t, "its worker of xen-vhcad is dead, whatever the states say: start the daemon (systemctl start xen-vhcad) and see its log (" LOG ")");
	else if (f->leaving)
		leaving(f, &t);
	else if (f->fe == XenbusStateUnknown)
		add(&t, "the guest is gone: xen-vhcad ends what it left and removes the device; if the device stays, its log says why (" LOG ")");
	else if (!connected)
		not_connected(f, &t);
	else if (f->agent_owes)
		add(&t, "the doorbell agent does not answer, programs cannot open the device: start it in the control domain (systemctl start xen-vhca-doorbelld)");
	else if (f->be_why[0])
		add(&t, "RDMA works, but %s (" LOG ")", f->be_why);
}

void ctl_dev_hint(struct ctl *c, const struct ctl_dev *d, char *text, size_t size)
{
	struct ctl_facts f;

	ctl_facts(c, d, &f);
	ctl_hint(&f, text, size);
}
