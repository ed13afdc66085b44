// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * vhcactl list: one line, or one JSON object, for each device, and what to do about one
 * that does not work.
 */
#include <stdio.h>
#include <stdlib.h>
#include "ctl.h"
#include "host/xenbus.h"
#include "vhca-keys.h"

#define NAME	17	/* columns */
#define HCA	16
#define LINE	"%-5s %-17s %-5s %s%-16s %-12s %s"	/* with BACKEND: 80 columns */
#define HINT	"      "

void ctl_list_head(const char *backend)
{
	ctl_say(LINE, "DOMID", "NAME", "DEVID", backend, "HCA", "BE-STATE", "FE-STATE");
}

void ctl_list_row(const struct ctl_row *r, struct json_object *list)
{
	char domid[12], devid[12], backend[12] = "", name[NAME + 1], hca[HCA + 1];
	struct json_object *o;

	if (!list) {
		snprintf(domid, sizeof(domid), "%u", r->domid);
		snprintf(devid, sizeof(devid), "%u", r->devid);
		if (r->backend >= 0)
			snprintf(backend, sizeof(backend), "%-8d", r->backend);
		ctl_say(LINE, domid, ctl_cut(name, r->name[0] ? r->name : "-", NAME), devid,
			backend, ctl_cut(hca, r->hca, HCA), r->be, r->fe);
		if (r->hint[0])
			ctl_say_wrapped(HINT, r->hint);
		return;
	}
	o = json_object_new_object();
	ctl_json_int(o, "domid", r->domid);
	ctl_json_text(o, "name", r->name);
	ctl_json_int(o, "devid", r->devid);
	if (r->backend >= 0)
		ctl_json_int(o, "backend", r->backend);
	ctl_json_text(o, "hca", r->hca);
	ctl_json_text(o, "backend_state", r->be);
	ctl_json_text(o, "frontend_state", r->fe);
	if (r->hint[0])
		ctl_json_text(o, "hint", r->hint);
	json_object_array_add(list, o);
}

static void list_one(struct ctl *c, const struct ctl_dev *d, struct json_object *list)
{
	struct ctl_row r = {
		.domid = d->domid, .devid = d->devid, .backend = (int)d->backend,
	};
	struct ctl_facts f;

	ctl_domain_name(c, d->domid, r.name);
	ctl_dev_hca(c, d, r.hca);
	ctl_facts(c, d, &f);
	ctl_hint(&f, r.hint, sizeof(r.hint));
	r.be = host_state_name(f.be);
	r.fe = host_state_name(f.fe);
	ctl_list_row(&r, list);
}

int ctl_list(struct ctl *c)
{
	struct json_object *list = NULL;
	struct ctl_dev *devs;
	int i, n, domid, rc = ctl_domain_given(c, &domid);

	if (rc)
		return rc;
	if (c->json)
		list = json_object_new_array();
	else
		ctl_list_head("BACKEND ");
	n = ctl_devs(c, domid, &devs);
	for (i = 0; i < n; i++)
		list_one(c, &devs[i], list);
	free(devs);
	if (list)
		ctl_print_json(list);
	return n < 0 ? CTL_FAILED : CTL_OK;
}
