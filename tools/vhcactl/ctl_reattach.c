// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * vhcactl reattach, after the end of a backend domain: a new one has another number, and
 * a device names its backend by number. So each device is created again with the
 * configuration of /libxl, and the old one is removed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ctl.h"

#define MAX_DEVS 1024

/* One device: before, and after. */
struct pair {
	struct ctl_dev old, new;
	bool made;
};

struct all {
	struct pair *dev;
	int nr;
};

static int collect(struct ctl *c, const struct ctl_dev *d, void *arg)
{
	struct all *all = arg;

	if (!ctl_dev_orphan(c, d))
		return CTL_OK;
	if (all->nr == MAX_DEVS)
		return 1;
	all->dev[all->nr++].old = *d;
	return CTL_OK;
}

/*
 * Creates the new one first, so that it gets another number: a guest may not have ended
 * the old one yet, and would take new nodes of the same number for it.
 */
static int make(struct ctl *c, struct pair *p)
{
	const struct ctl_dev *old = &p->old;
	struct ctl_conf conf;
	int rc;

	rc = ctl_dev_recorded(c, old, &conf);
	if (rc)
		return ctl_error(CTL_FAILED,
				 "device %u of domain %u: what it was made with cannot be read from %s (%s): detach and attach it",
				 old->devid, old->domid, old->libxl,
				 strerror(-rc));
	if (c->argc > 1)
		snprintf(conf.backend, sizeof(conf.backend), "%s", c->argv[1]);
	if (!conf.backend[0])
		return ctl_error(CTL_FAILED,
				 "device %u of domain %u: the name of its backend domain was not recorded: vhcactl reattach %u BACKEND",
				 old->devid, old->domid, old->domid);
	rc = ctl_attach_conf(c, old->domid, &conf, &p->new);
	if (rc)
		return rc;
	rc = ctl_dev_remove(c, old);
	if (rc)		/* else the next run would make one more */
		ctl_dev_remove(c, &p->new);
	p->made = !rc;
	if (rc)
		return ctl_error(CTL_FAILED,
				 "cannot remove the old device %u of domain %u: %s",
				 old->devid, old->domid, strerror(-rc));
	return CTL_OK;
}

static void report(struct ctl *c, const struct pair *p,
		   struct json_object *list)
{
	struct json_object *o;

	if (!c->json) {
		ctl_say("domain %u: device %u is now %u, backend domain %u",
			p->old.domid, p->old.devid, p->new.devid,
			p->new.backend);
		return;
	}
	o = json_object_new_object();
	ctl_json_int(o, "domid", p->old.domid);
	ctl_json_int(o, "old_devid", p->old.devid);
	ctl_json_int(o, "devid", p->new.devid);
	ctl_json_int(o, "backend", p->new.backend);
	json_object_array_add(list, o);
}

/* Creates all before it waits for the first. */
static int reattach(struct ctl *c, struct all *all, struct json_object *list)
{
	int i, r, rc = CTL_OK;

	for (i = 0; i < all->nr; i++) {
		r = make(c, &all->dev[i]);
		if (r)
			rc = r;
	}
	for (i = 0; i < all->nr; i++) {
		if (!all->dev[i].made)
			continue;
		report(c, &all->dev[i], list);
		if (!c->wait)
			continue;
		r = ctl_attach_wait(c, &all->dev[i].new, c->wait < 0 ?
				    CTL_ATTACH_WAIT : c->wait);
		if (r)
			rc = r;
	}
	return rc;
}

int ctl_reattach(struct ctl *c)
{
	struct json_object *list = c->json ? json_object_new_array() : NULL;
	struct all all = { 0 };
	unsigned int domid = 0;
	int rc = CTL_OK, which = -1;

	if (c->argc && strcmp(c->argv[0], "all")) {
		rc = ctl_domain(c, c->argv[0], &domid);
		which = (int)domid;
	}
	if (!rc) {
		all.dev = calloc(MAX_DEVS, sizeof(*all.dev));
		if (!all.dev)
			rc = ctl_error(CTL_FAILED, "out of memory");
	}
	if (!rc) {
		if (ctl_dev_each(c, which, collect, &all) == 1)
			ctl_error(CTL_OK, "more than %d devices: run it again",
				  MAX_DEVS);
		rc = reattach(c, &all, list);
	}
	if (list)
		ctl_print_json(list);
	free(all.dev);
	return rc;
}
