// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * vhcactl quota shows and changes the limits of a device. The nodes are written
 * as attach writes them, to the backend's directory and to libxl's copy, all of
 * one call or none. xen-vhcad reads them once, when it opens the device:
 * nothing is taken from a guest that is connected.
 */
#include <stdio.h>
#include <string.h>
#include "ctl.h"

#define LINE	"%-14s %10s  %-8s %10s  %s"

struct change {
	const struct ctl_dev *d;
	const struct ctl_conf *conf;
};

static int write_key(struct xs_handle *xs, xs_transaction_t t, const char *dir,
		     const struct ctl_conf *conf, int i)
{
	if (conf->reset[i])
		return xn_rm(xs, t, dir, ctl_keys[i].name);
	return xn_write_u32(xs, t, dir, ctl_keys[i].name, conf->val[i]);
}

static int change_fn(struct xs_handle *xs, xs_transaction_t t, void *arg)
{
	const struct change *ch = arg;
	int i, rc = 0;

	for (i = 0; i < CTL_KEYS && !rc; i++) {
		if (!ch->conf->set[i])
			continue;
		rc = write_key(xs, t, ch->d->be, ch->conf, i);
		/* A device of a driver domain's own tools has no copy. */
		if (!rc && xn_exists(xs, t, ch->d->libxl, "backend"))
			rc = write_key(xs, t, ch->d->libxl, ch->conf, i);
	}
	return rc;
}

/* When does xen-vhcad read it? */
static const char *effect(enum xenbus_state be)
{
	switch (be) {
	case XenbusStateInitialising:
	case XenbusStateClosed:
		return "takes effect when the device connects";
	case XenbusStateInitWait:
		return "xen-vhcad is waiting for the guest with the values of before: they change at the connection after the next one, or at once with vhcactl detach and attach";
	default:
		return "takes effect at the device's next connection: reload of xen-vhcafront or reboot of the guest, or vhcactl detach and attach";
	}
}

static int change(struct ctl *c, const struct ctl_dev *d)
{
	struct change ch = { .d = d };
	char err[CTL_ERR_MAX];
	struct ctl_conf conf;
	int i, rc;

	memset(&conf, 0, sizeof(conf));
	for (i = 2; i < c->argc; i++)
		if (ctl_quota_parse(c->argv[i], &conf, err))
			return ctl_error(CTL_USAGE, "%s", err);
	ch.conf = &conf;
	rc = ctl_transact(c, change_fn, &ch);
	if (rc)
		return ctl_error(CTL_FAILED,
				 "cannot write the nodes of the device: %s (quotas are changed in the control domain only, as root)",
				 strerror(-rc));
	/* On stderr, so that --json stays JSON. */
	ctl_error(CTL_OK, "%s", effect(ctl_be_state(c, d)));
	return CTL_OK;
}

/* The used part of a key's quota; false: not counted, or not in this domain. */
static bool used(struct json_object *stats, enum ctl_key_id id, uint64_t *val)
{
	struct json_object *o;

	if (id == CTL_MAX_PINNED_MB) {
		*val = ctl_mb_of_pages(ctl_stats_num(stats, "pages", "used"));
		return ctl_stats_get(stats, "pages");
	}
	if (strncmp(ctl_keys[id].name, "max-", 4))
		return false;
	o = ctl_stats_get(ctl_stats_get(stats, "objects"),
			  ctl_keys[id].name + 4);
	*val = ctl_stats_num(o, NULL, "used");
	return o;
}

static void row(struct ctl *c, const struct ctl_dev *d, int i,
		struct json_object *stats, struct json_object *list)
{
	const struct ctl_key *k = &ctl_keys[i];
	bool set = xn_exists(c->xs, XBT_NULL, d->be, k->name);
	char value[32] = "wrong", use[32] = "-", range[32];
	struct json_object *o = json_object_new_object();
	uint64_t n = 0;
	uint32_t v = 0;
	int rc;

	rc = xn_read_u32_def(c->xs, XBT_NULL, d->be, k->name, k->min, k->max,
			     k->def, &v);
	if (!rc) {
		snprintf(value, sizeof(value), "%u", v);
		ctl_json_int(o, "value", v);
	}
	if (used(stats, (enum ctl_key_id)i, &n)) {
		snprintf(use, sizeof(use), "%llu", (unsigned long long)n);
		ctl_json_int(o, "used", (int64_t)n);
	}
	json_object_object_add(o, "set", json_object_new_boolean(set));
	ctl_json_int(o, "default", k->def);
	ctl_json_int(o, "min", k->min);
	ctl_json_int(o, "max", k->max);
	snprintf(range, sizeof(range), "%u..%u", k->min, k->max);
	if (!c->json)
		ctl_say(LINE, k->name, value, set ? "set" : "default", use,
			range);
	json_object_object_add(list, k->name, o);
}

static int print(struct ctl *c, const struct ctl_dev *d)
{
	struct json_object *list = json_object_new_object(), *stats = NULL;
	char err[CTL_ERR_MAX];
	int i;

	if (ctl_stats_load(c, d, &stats, NULL, err))
		stats = NULL;
	if (!c->json)
		ctl_say(LINE, "KEY", "VALUE", "IS", "IN USE", "ACCEPTED");
	for (i = 0; i < CTL_KEYS; i++)
		if (i != CTL_PORT)
			row(c, d, i, stats, list);
	json_object_put(stats);
	if (c->json)
		ctl_print_json(list);
	else
		json_object_put(list);
	return CTL_OK;
}

int ctl_quota(struct ctl *c)
{
	struct ctl_dev d;
	int rc = ctl_dev_named(c, &d);

	if (!rc && c->argc > 2)
		rc = change(c, &d);
	if (!rc && (c->argc == 2 || c->json))
		rc = print(c, &d);
	return rc;
}
