// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * vhcactl reattach, after the end of a backend domain: a new one has another number, and
 * a device names its backend by number. So each device is created again with the
 * configuration of /libxl, and the old one is removed. A device of a guest's kernel keeps its
 * number: the guest has one device all the time, which a disk may need (kernel-verbs.md).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ctl.h"

/*
 * Creates the new one first, so that it gets another number: a guest may not have ended
 * the old one yet, and would take new nodes of the same number for it.
 */
static int make(struct ctl *c, const struct ctl_dev *old, struct ctl_dev *new)
{
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
	if (conf.val[CTL_KERNEL])
		return ctl_attach_conf(c, old->domid, &conf, old, new);
	rc = ctl_attach_conf(c, old->domid, &conf, NULL, new);
	if (rc)
		return rc;
	rc = ctl_dev_remove(c, old);
	if (!rc)
		return CTL_OK;
	ctl_dev_remove(c, new);		/* else the next run would make one more */
	return ctl_error(CTL_FAILED, "cannot remove the old device %u of domain %u: %s",
			 old->devid, old->domid, strerror(-rc));
}

static void report(struct ctl *c, const struct ctl_dev *old,
		   const struct ctl_dev *new, struct json_object *list)
{
	struct json_object *o;

	if (!c->json) {
		if (new->moved)
			ctl_say("domain %u: device %u, backend domain %u", new->domid,
				new->devid, new->backend);
		else
			ctl_say("domain %u: device %u is now %u, backend domain %u",
				old->domid, old->devid, new->devid, new->backend);
		return;
	}
	o = ctl_json_dev(new);
	ctl_json_int(o, "old_devid", old->devid);
	json_object_array_add(list, o);
}

/* Creates all before it waits for the first. The new devices replace those of devs. */
static int reattach(struct ctl *c, struct ctl_dev *devs, int n,
		    struct json_object *list)
{
	int i, r, made = 0, rc = CTL_OK;
	struct ctl_dev new;

	for (i = 0; i < n; i++) {
		if (!ctl_dev_orphan(c, &devs[i]))
			continue;
		r = make(c, &devs[i], &new);
		if (r) {
			rc = r;
			continue;
		}
		report(c, &devs[i], &new, list);
		devs[made++] = new;
	}
	for (i = 0; i < made && c->wait; i++) {
		r = ctl_attach_wait(c, &devs[i], c->wait < 0 ? CTL_ATTACH_WAIT : c->wait);
		rc = r ? r : rc;
	}
	return rc;
}

int ctl_reattach(struct ctl *c)
{
	struct json_object *list = c->json ? json_object_new_array() : NULL;
	struct ctl_dev *devs = NULL;
	int n, rc = CTL_OK, domid = -1;

	if (c->argc && strcmp(c->argv[0], "all"))
		rc = ctl_domain_given(c, &domid);
	n = rc ? 0 : ctl_devs(c, domid, &devs);
	if (!rc)
		rc = n < 0 ? CTL_FAILED : reattach(c, devs, n, list);
	if (list)
		ctl_print_json(list);
	free(devs);
	return rc;
}
