// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * vhcactl list: one line, or one JSON object, for each device.
 */
#include <stdio.h>
#include "ctl.h"
#include "host/xenbus.h"

#define LINE "%-5s %-20s %-5s %-7s %-20s %-12s %s"

struct row {
	char domid[12], name[CTL_NAME_MAX], devid[12], backend[12];
	char hca[XENVHCA_NAME_LEN];
	const char *be, *fe;
};

static void row_fill(struct ctl *c, const struct ctl_dev *d, struct row *r)
{
	snprintf(r->domid, sizeof(r->domid), "%u", d->domid);
	snprintf(r->devid, sizeof(r->devid), "%u", d->devid);
	snprintf(r->backend, sizeof(r->backend), "%u", d->backend);
	ctl_domain_name(c, d->domid, r->name);
	if (xn_read_str(c->xs, XBT_NULL, ctl_dev_orphan(c, d) ? d->libxl :
			d->be, XENVHCA_NODE_HCA, r->hca, sizeof(r->hca)))
		snprintf(r->hca, sizeof(r->hca), "?");
	r->be = host_state_name(ctl_be_state(c, d));
	r->fe = host_state_name(ctl_fe_state(c, d));
}

static void row_json(const struct ctl_dev *d, const struct row *r,
		     struct json_object *list)
{
	struct json_object *o = json_object_new_object();

	ctl_json_int(o, "domid", d->domid);
	ctl_json_text(o, "name", r->name);
	ctl_json_int(o, "devid", d->devid);
	ctl_json_int(o, "backend", d->backend);
	ctl_json_text(o, "hca", r->hca);
	ctl_json_text(o, "backend_state", r->be);
	ctl_json_text(o, "frontend_state", r->fe);
	json_object_array_add(list, o);
}

static int list_one(struct ctl *c, const struct ctl_dev *d, void *arg)
{
	struct row r;

	row_fill(c, d, &r);
	if (c->json)
		row_json(d, &r, arg);
	else
		ctl_say(LINE, r.domid, r.name[0] ? r.name : "-", r.devid,
			r.backend, r.hca, r.be, r.fe);
	return CTL_OK;
}

int ctl_list(struct ctl *c)
{
	struct json_object *list = NULL;
	unsigned int domid = 0;
	int rc;

	if (c->argc) {
		rc = ctl_domain(c, c->argv[0], &domid);
		if (rc)
			return rc;
	}
	if (c->json)
		list = json_object_new_array();
	else
		ctl_say(LINE, "DOMID", "NAME", "DEVID", "BACKEND", "HCA",
			"BE-STATE", "FE-STATE");
	rc = ctl_dev_each(c, c->argc ? (int)domid : -1, list_one, list);
	if (list)
		ctl_print_json(list);
	return rc;
}
