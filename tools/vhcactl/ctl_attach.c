// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * vhcactl attach writes the nodes of a new device, waits until both sides are
 * connected, and otherwise reports which side is not.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "clock.h"
#include "ctl.h"
#include "host/window.h"
#include "host/xenbus.h"
#include "vhca-keys.h"

#define ATTACH_RENEWALS	3	/* then the guest closes it for a reason of its own */

/* The reason that an end reports for its failure; false: none. */
static bool broken(struct ctl *c, const char *dir, char *why)
{
	return !xn_read_str(c->xs, XBT_NULL, dir, XENVHCA_NODE_BROKEN, why,
			    XN_VALUE_MAX);
}

/* 1: connected, 2: closed by a side, 3: the device vanished, 4: see renew_fn(). */
static int settled(struct ctl *c, const struct ctl_dev *d)
{
	enum xenbus_state fe = ctl_fe_state(c, d), be = ctl_be_state(c, d);
	char why[XN_VALUE_MAX];

	if (fe == XenbusStateConnected && be == XenbusStateConnected)
		return 1;
	if (fe == XenbusStateUnknown || be == XenbusStateUnknown)
		return 3;
	if (be == XenbusStateClosed && broken(c, d->be, why))
		return 2;
	/* The guest closes its connection to the old one, and says why, at any time. */
	if (d->moved)
		return 0;
	if (fe == XenbusStateClosed && broken(c, d->fe, why))
		return 2;
	return be == XenbusStateInitWait && fe == XenbusStateClosed ? 4 : 0;
}

/*
 * A Linux guest ends a device some time after its nodes were removed, and then writes
 * Closed (xenbus_dev_remove()). If a new device has the same number by then, Closed is
 * written to its nodes, and the guest ignores the device, as its state is not
 * Initialising (xenbus_probe_node()). Writing the state again makes the guest probe it.
 */
static int renew_fn(struct xs_handle *xs, xs_transaction_t t, void *arg)
{
	const struct ctl_dev *d = arg;

	if (xn_state_read(xs, t, d->fe) != XenbusStateClosed)
		return 0;
	return xn_write_u32(xs, t, d->fe, XN_NODE_STATE,
			    XenbusStateInitialising);
}

static int wait_settled(struct ctl *c, const struct ctl_dev *d, int seconds)
{
	uint64_t begin = vl_now_ns();
	struct ctl_dev copy = *d;
	int r, i, left = seconds;

	for (i = 0;; i++) {
		r = ctl_dev_wait(c, d, left, settled);
		left = seconds - (int)((vl_now_ns() - begin) / VL_SEC_NS);
		if (r != 4 || i == ATTACH_RENEWALS || left <= 0 ||
		    ctl_transact(c, renew_fn, &copy))
			return r;
	}
}

int ctl_attach_wait(struct ctl *c, const struct ctl_dev *d, int seconds)
{
	int r = wait_settled(c, d, seconds);
	char text[CTL_HINT_MAX];
	struct ctl_facts f;

	if (r == 1)
		return CTL_OK;
	if (r == 3)
		return ctl_error(CTL_FAILED,
				 "device %u of domain %u was removed meanwhile (did the domain end?)",
				 d->devid, d->domid);
	ctl_facts(c, d, &f);
	ctl_hint(&f, text, sizeof(text));
	if (text[0])
		ctl_error(CTL_TIMEOUT, "%s", text);
	return ctl_error(r ? CTL_FAILED : CTL_TIMEOUT,
			 "device %u of domain %u is not connected (backend %s, guest %s); it stays configured: vhcactl detach -f %u %u removes it",
			 d->devid, d->domid, host_state_name(f.be),
			 host_state_name(f.fe), d->domid, d->devid);
}

/* The guests of an HCA share its doorbell pages. */
static void warn_uars(struct ctl *c, const struct ctl_conf *conf)
{
	struct ctl_uars u;

	if (!conf->pci[0])
		return;
	ctl_uars(c, conf->pci, &u);
	if (u.have && u.may > u.have)
		ctl_error(CTL_OK, "warning: guests of %s may take %" PRIu64 " doorbell pages and it has %" PRIu64 ": not all devices will be served; lower max-ucontext",
			  conf->hca, u.may, u.have);
}

/* No two guests may have the same page: each has its pages for life. */
static int check_window(struct ctl *c, unsigned int domid,
			const struct ctl_conf *conf)
{
	char text[CTL_TEXT_MAX];
	struct host_window w, o;
	struct ctl_dev *devs;
	int i, n, other = -1;

	if (!conf->text[CTL_DOORBELLS][0] ||
	    host_window_parse(conf->text[CTL_DOORBELLS], &w))
		return CTL_OK;
	n = ctl_devs(c, -1, &devs);
	if (n < 0)
		return CTL_FAILED;
	for (i = 0; i < n; i++)
		if (devs[i].domid != domid &&
		    !xn_read_str(c->xs, XBT_NULL, devs[i].be, XENVHCA_NODE_DOORBELL_STATIC,
				 text, sizeof(text)) && !host_window_parse(text, &o) &&
		    o.mfn < w.mfn + w.nr && w.mfn < o.mfn + o.nr)
			other = (int)devs[i].domid;
	free(devs);
	return other < 0 ? CTL_OK :
	       ctl_error(CTL_USAGE,
			 "%s=%s: domain %d has some of these pages; the device tree must give each guest its own (vhca-devicetree does)",
			 XENVHCA_NODE_DOORBELL_STATIC, conf->text[CTL_DOORBELLS], other);
}

int ctl_attach_conf(struct ctl *c, unsigned int domid, struct ctl_conf *conf,
		    const struct ctl_dev *old, struct ctl_dev *d)
{
	unsigned int backend = 0;
	int rc;

	if (conf->backend[0]) {
		rc = ctl_domain(c, conf->backend, &backend);
		if (rc)
			return ctl_error(rc, "backend=%s: the name or number of a running domain is needed",
					 conf->backend);
	}
	if (!xn_domain_alive(c->xs, domid) || !xn_domain_alive(c->xs, backend))
		return ctl_error(CTL_NOT_FOUND, "domain %u is not running",
				 xn_domain_alive(c->xs, domid) ? backend : domid);
	rc = check_window(c, domid, conf);
	if (!rc)
		rc = ctl_pci_resolve(c, backend, conf);
	if (rc)
		return rc;
	if (conf->val[CTL_TRUSTED])
		ctl_error(CTL_OK, "warning: trusted=1: over Soft-RoCE domain %u can end the kernel of domain %u",
			  domid, backend);
	rc = ctl_dev_create(c, domid, backend, conf, old, d);
	if (rc)
		return ctl_error(CTL_FAILED,
				 "cannot write the nodes of the device: %s%s",
				 strerror(-rc), rc == -EAGAIN ?
				 " (others write to xenstore all the time: try again)" :
				 " (attach works in the control domain only, as root)");
	warn_uars(c, conf);
	return CTL_OK;
}

int ctl_attach_spec(struct ctl *c, unsigned int domid, const char *spec,
		    struct ctl_dev *d)
{
	char err[CTL_ERR_MAX];
	struct ctl_conf conf;

	if (ctl_conf_parse(spec, &conf, err))
		return ctl_error(CTL_USAGE, "%s", err);
	return ctl_attach_conf(c, domid, &conf, NULL, d);
}

int ctl_attach(struct ctl *c)
{
	unsigned int domid = 0;
	struct ctl_dev d;
	int rc;

	rc = ctl_domain(c, c->argv[0], &domid);
	if (!rc)
		rc = ctl_attach_spec(c, domid, c->argv[1], &d);
	if (rc)
		return rc;
	if (c->wait)
		rc = ctl_attach_wait(c, &d, c->wait < 0 ? CTL_ATTACH_WAIT :
				     c->wait);
	if (!rc && c->json)
		ctl_print_json(ctl_json_dev(&d));
	else if (!rc)
		ctl_say("domain %u: device %u, backend domain %u", d.domid, d.devid,
			d.backend);
	return rc;
}
