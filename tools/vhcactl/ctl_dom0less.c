// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * vhcactl dom0less does the tasks of a toolstack on a Xen that started all domains by
 * itself. It runs in the domain that has xenstored and the HCA, as root, after
 * xenstored. It reads the whole file before it writes anything. It may run again:
 * existing devices, and guests that the file does not name, stay unchanged.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ctl.h"
#include "dom0less.h"

#define DOMAINS		"/local/domain"
#define TARGET		"/sys/devices/system/xen_memory/xen_memory0/target_kb"
#define PORTS		8	/* a guest's first event channels, xenstore's among them */
#define KIB_OF_MIB	1024u

/* Lowers the balloon's target. */
static int lower_memory(struct ctl *c, unsigned int mib)
{
	char path[PATH_MAX];
	unsigned long kib = 0;
	FILE *f;
	int rc;

	if (!mib)
		return CTL_OK;
	snprintf(path, sizeof(path), "%s" TARGET, c->root);
	f = fopen(path, "r+e");
	if (!f || fscanf(f, "%lu", &kib) != 1) {
		rc = ctl_error(CTL_FAILED, "%s: %s", path, f ? "no number" :
			       strerror(errno));
	} else {
		rewind(f);
		rc = CTL_OK;
		if (kib > (unsigned long)mib * KIB_OF_MIB &&
		    (fprintf(f, "%u\n", mib * KIB_OF_MIB) < 0 || fflush(f)))
			rc = ctl_error(CTL_FAILED, "%s: %m", path);
	}
	if (f)
		fclose(f);
	return rc;
}

/*
 * Introduces a domain to xenstored. Its xenstore page lacks the port (Xen 4.22), so this
 * searches for it among the domain's first ports, of which this domain may bind that one
 * only.
 */
static int introduce(struct ctl *c, const struct dom0less_guest *g)
{
	unsigned int port;

	if (xs_is_domain_introduced(c->xs, g->domid))
		return CTL_OK;
	for (port = 1; port < PORTS; port++)
		if (xs_introduce_domain(c->xs, g->domid, 0, port))
			return CTL_OK;
	return ctl_error(CTL_FAILED,
			 "domain %u (%s) cannot be introduced to xenstored: %s. Does it exist, has its node in the device tree xen,enhanced = \"enabled\", and was Xen started with xsm=dummy or a policy that lets it talk to domain %u?",
			 g->domid, g->name, strerror(errno), c->own);
}

/* As libxl creates them: the guest reads its directory, and owns nodes of its kernel. */
static int write_domain(struct xs_handle *xs, xs_transaction_t t, unsigned int own,
			const struct dom0less_guest *g)
{
	static const char *const made[] = { "device", "data", "control" };
	char dir[XN_PATH_MAX], path[XN_PATH_MAX];
	size_t i;
	int rc;

	snprintf(dir, sizeof(dir), DOMAINS "/%u", g->domid);
	rc = xn_mkdir(xs, t, dir, own, g->domid);
	if (!rc)
		rc = xn_write_u32(xs, t, dir, "domid", g->domid);
	if (!rc)
		rc = xn_write_str(xs, t, dir, "name", g->name);
	for (i = 0; i < sizeof(made) / sizeof(made[0]) && !rc; i++) {
		snprintf(path, sizeof(path), DOMAINS "/%u/%s", g->domid, made[i]);
		rc = xn_mkdir(xs, t, path, i ? g->domid : own, g->domid);
	}
	return rc;
}

/*
 * A guest's kernel without address space for foreign pages (Debian's for arm64) maps the
 * backend's pages in place of its own, which its balloon must have given up. The guest
 * uses the difference of both values only.
 */
static int write_reserve(struct xs_handle *xs, xs_transaction_t t,
			 const struct dom0less_guest *g, unsigned int mib)
{
	char dir[XN_PATH_MAX];
	int rc;

	snprintf(dir, sizeof(dir), DOMAINS "/%u/memory", g->domid);
	rc = xn_write_u32(xs, t, dir, "static-max", 2 * mib * KIB_OF_MIB);
	return rc ? rc : xn_write_u32(xs, t, dir, "target", mib * KIB_OF_MIB);
}

struct nodes {
	unsigned int own, reserve;
	const struct dom0less_guest *g;
};

static int nodes_fn(struct xs_handle *xs, xs_transaction_t t, void *arg)
{
	const struct nodes *n = arg;
	int rc = write_domain(xs, t, n->own, n->g);

	if (!rc && n->g->spec[0] && n->reserve)
		rc = write_reserve(xs, t, n->g, n->reserve);
	return rc;
}

static int make_domain(struct ctl *c, const struct dom0less_guest *g,
		       unsigned int reserve)
{
	char dir[XN_PATH_MAX];
	struct nodes n = { .own = c->own, .reserve = reserve, .g = g };
	int rc;

	snprintf(dir, sizeof(dir), DOMAINS "/%u", g->domid);
	if (xn_exists(c->xs, XBT_NULL, dir, "name"))
		return CTL_OK;
	rc = ctl_transact(c, nodes_fn, &n);
	if (rc)
		return ctl_error(CTL_FAILED, "cannot write the nodes of domain %u: %s",
				 g->domid, strerror(-rc));
	return CTL_OK;
}

/* The guest's device, or a new one. */
static int give_device(struct ctl *c, const struct dom0less_guest *g,
		       struct ctl_dev *d)
{
	struct ctl_conf conf;
	char err[CTL_ERR_MAX];
	struct ctl_dev *devs;
	int n;

	if (!g->spec[0])
		return CTL_OK;
	n = ctl_devs(c, (int)g->domid, &devs);
	if (n > 0)
		*d = devs[0];
	free(devs);
	if (n)
		return n < 0 ? CTL_FAILED : CTL_OK;
	if (ctl_conf_parse(g->spec, &conf, err))
		return ctl_error(CTL_USAGE, "%s: %s", g->name, err);
	snprintf(conf.backend, sizeof(conf.backend), "%u", c->own);
	return ctl_attach_conf(c, g->domid, &conf, NULL, d);
}

static int serve(struct ctl *c, const struct dom0less *all,
		 const struct dom0less_guest *g, struct ctl_dev *d)
{
	int rc = introduce(c, g);

	if (!rc)
		rc = make_domain(c, g, all->guest_reserve);
	if (!rc)
		rc = give_device(c, g, d);
	if (!rc && !g->spec[0])
		ctl_say("domain %u (%s): no vhca", g->domid, g->name);
	else if (!rc)
		ctl_say("domain %u (%s): device %u", g->domid, g->name, d->devid);
	return rc;
}

/* Serves all guests, even if one of them fails. */
static int serve_all(struct ctl *c, const struct dom0less *all)
{
	struct ctl_dev dev[DOM0LESS_GUESTS];
	int i, rc = CTL_OK, bad[DOM0LESS_GUESTS];

	for (i = 0; i < all->nr; i++) {
		bad[i] = serve(c, all, &all->guest[i], &dev[i]);
		rc = rc ? rc : bad[i];
	}
	for (i = 0; i < all->nr && c->wait > 0; i++)
		if (!bad[i] && all->guest[i].spec[0]) {
			bad[i] = ctl_attach_wait(c, &dev[i], c->wait);
			rc = rc ? rc : bad[i];
		}
	return rc;
}

int ctl_dom0less(struct ctl *c)
{
	struct dom0less_guest own = { .name = "utility" };
	char err[CTL_ERR_MAX], *text = ctl_read_file(c->argv[0]);
	struct dom0less all;
	int rc;

	if (!text)
		return CTL_USAGE;
	rc = ctl_dom0less_parse(text, &all, err);
	free(text);
	if (rc)
		return ctl_error(CTL_USAGE, "%s: %s", c->argv[0], err);
	if (all.no_xenstore) {
		rc = lower_memory(c, all.memory);
		return rc ? rc : ctl_files_serve(c, &all);
	}
	if (c->no_xs)
		return ctl_error(CTL_FAILED,
				 "there is no xenstore (is xenstored running?), and %s does not say no-xenstore",
				 c->argv[0]);
	c->own = own.domid = all.own;
	if (!xs_is_domain_introduced(c->xs, all.own))
		return ctl_error(CTL_FAILED,
				 "%s: own-domain %u: xenstored does not know that domain; the number is its place among the domains of the device tree, from 1 on",
				 c->argv[0], all.own);
	rc = lower_memory(c, all.memory);
	if (!rc)
		rc = make_domain(c, &own, 0);
	return rc ? rc : serve_all(c, &all);
}
