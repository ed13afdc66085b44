// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * vhcactl stats: the counters that the devices' workers of xen-vhcad write to
 * files about once a second, of one device or of all that this domain is the
 * backend of.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ctl.h"

static int not_here(struct ctl *c, const struct ctl_dev *d, const char *err)
{
	int own = xn_own_domid(c->xs);
	char hint[CTL_HINT_MAX];

	if (own >= 0 && (unsigned int)own != d->backend)
		return ctl_error(CTL_FAILED,
				 "the counters of device %u of domain %u are in its backend domain %u: run vhcactl stats there",
				 d->devid, d->domid, d->backend);
	ctl_dev_hint(c, d, hint, sizeof(hint));
	return ctl_error(CTL_FAILED, "%s%s%s", err, hint[0] ? "; " : "", hint);
}

/* Devices that are not served now have no file, and are omitted. */
static int load_all(struct ctl *c, const struct ctl_dev *devs, int n,
		    struct ctl_stats_dev *all, int *loaded)
{
	int i, rc, own = xn_own_domid(c->xs);
	char err[CTL_ERR_MAX];

	for (i = 0; i < n; i++) {
		if (own >= 0 && (unsigned int)own != devs[i].backend)
			continue;
		rc = ctl_stats_load(c, &devs[i], &all[*loaded].obj, NULL, err);
		if (rc == -ENOENT)
			continue;
		if (rc)
			return ctl_error(CTL_FAILED, "%s", err);
		all[(*loaded)++].dev = devs[i];
	}
	return CTL_OK;
}

static int load_one(struct ctl *c, const struct ctl_dev *d, struct ctl_stats_dev *one)
{
	char err[CTL_ERR_MAX];

	one->dev = *d;
	return ctl_stats_load(c, d, &one->obj, NULL, err) ? not_here(c, d, err) : CTL_OK;
}

static void print(struct ctl *c, const struct ctl_stats_dev *all, int n)
{
	struct json_object *list;
	int i;

	if (c->openmetrics) {
		ctl_openmetrics(stdout, all, n);
	} else if (!c->json) {
		for (i = 0; i < n; i++) {
			if (i)
				putchar('\n');
			ctl_print_flat(json_object_get(all[i].obj));
		}
	} else if (c->argc == 2) {
		ctl_print_json(json_object_get(all[0].obj));
	} else {
		list = json_object_new_array();
		for (i = 0; i < n; i++)
			json_object_array_add(list, json_object_get(all[i].obj));
		ctl_print_json(list);
	}
}

static int stats(struct ctl *c, const struct ctl_dev *devs, int n)
{
	struct ctl_stats_dev *all = calloc((size_t)n + 1, sizeof(*all));
	int i, rc, loaded = c->argc == 2;

	if (!all)
		return ctl_error(CTL_FAILED, "out of memory");
	rc = loaded ? load_one(c, devs, all) : load_all(c, devs, n, all, &loaded);
	if (!rc)
		print(c, all, loaded);
	for (i = 0; i < loaded; i++)
		json_object_put(all[i].obj);
	free(all);
	return rc;
}

int ctl_stats(struct ctl *c)
{
	struct ctl_dev one, *devs = NULL;
	int n = 1, domid, rc;

	if (c->json && c->openmetrics)
		return ctl_error(CTL_USAGE,
				 "--json and --openmetrics: choose one");
	rc = c->argc == 2 ? ctl_dev_named(c, &one) : ctl_domain_given(c, &domid);
	if (!rc && c->argc < 2)
		n = ctl_devs(c, domid, &devs);
	if (!rc)
		rc = n < 0 ? CTL_FAILED : stats(c, devs ? devs : &one, n);
	free(devs);
	return rc;
}
