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
#include "host/xenbus.h"

struct all {
	struct ctl_stats_dev *dev;
	int n;
};

static int not_here(struct ctl *c, const struct ctl_dev *d, const char *err)
{
	int own = xn_own_domid(c->xs);

	if (own >= 0 && (unsigned int)own != d->backend)
		return ctl_error(CTL_FAILED,
				 "the counters of device %u of domain %u are in its backend domain %u: run vhcactl stats there",
				 d->devid, d->domid, d->backend);
	return ctl_error(CTL_FAILED,
			 "%s (the backend is %s; is xen-vhcad running?)", err,
			 host_state_name(ctl_be_state(c, d)));
}

static int push(struct all *all, const struct ctl_dev *d,
		struct json_object *obj)
{
	struct ctl_stats_dev *more;

	more = realloc(all->dev, (size_t)(all->n + 1) * sizeof(*more));
	if (!more) {
		json_object_put(obj);
		return ctl_error(CTL_FAILED, "out of memory");
	}
	all->dev = more;
	more[all->n++] = (struct ctl_stats_dev){ .dev = *d, .obj = obj };
	return CTL_OK;
}

/* Devices that are not served now have no file, and are omitted. */
static int add(struct ctl *c, const struct ctl_dev *d, void *arg)
{
	int own = xn_own_domid(c->xs), rc;
	struct json_object *obj;
	char err[CTL_ERR_MAX];

	if (own >= 0 && (unsigned int)own != d->backend)
		return CTL_OK;
	rc = ctl_stats_load(c, d, &obj, NULL, err);
	if (rc == -ENOENT)
		return CTL_OK;
	return rc ? ctl_error(CTL_FAILED, "%s", err) : push(arg, d, obj);
}

static int add_only(struct ctl *c, unsigned int domid, const char *devid,
		    struct all *all)
{
	struct json_object *obj;
	char err[CTL_ERR_MAX];
	struct ctl_dev d;
	int rc;

	rc = ctl_dev_find(c, domid, devid, &d);
	if (rc)
		return rc;
	if (ctl_stats_load(c, &d, &obj, NULL, err))
		return not_here(c, &d, err);
	return push(all, &d, obj);
}

static int collect(struct ctl *c, struct all *all)
{
	unsigned int domid = 0;
	int rc;

	rc = c->argc ? ctl_domain(c, c->argv[0], &domid) : CTL_OK;
	if (rc)
		return rc;
	if (c->argc == 2)
		return add_only(c, domid, c->argv[1], all);
	return ctl_dev_each(c, c->argc ? (int)domid : -1, add, all);
}

static void print(struct ctl *c, const struct all *all)
{
	struct json_object *list;
	int i;

	if (c->openmetrics) {
		ctl_openmetrics(stdout, all->dev, all->n);
		return;
	}
	if (c->json && c->argc == 2) {
		ctl_print_json(json_object_get(all->dev[0].obj));
		return;
	}
	list = json_object_new_array();
	for (i = 0; i < all->n; i++) {
		if (c->json) {
			json_object_array_add(list,
					      json_object_get(all->dev[i].obj));
			continue;
		}
		if (i)
			putchar('\n');
		ctl_print_flat(json_object_get(all->dev[i].obj));
	}
	if (c->json)
		ctl_print_json(list);
	else
		json_object_put(list);
}

int ctl_stats(struct ctl *c)
{
	struct all all = { .n = 0 };
	int i, rc;

	if (c->json && c->openmetrics)
		return ctl_error(CTL_USAGE,
				 "--json and --openmetrics: choose one");
	rc = collect(c, &all);
	if (!rc)
		print(c, &all);
	for (i = 0; i < all.n; i++)
		json_object_put(all.dev[i].obj);
	free(all.dev);
	return rc;
}
