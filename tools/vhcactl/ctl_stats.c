// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * vhcactl stats: the counters that the device's worker of xen-vhcad leaves
 * in a file, about once a second.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "ctl.h"

static int no_file(struct ctl *c, const struct ctl_dev *d, const char *path)
{
	int own = xn_own_domid(c->xs);

	if (own >= 0 && (unsigned int)own != d->backend)
		return ctl_error(CTL_FAILED,
				 "the counters of device %u of domain %u are in its backend domain %u: run vhcactl stats there",
				 d->devid, d->domid, d->backend);
	return ctl_error(CTL_FAILED,
			 "%s: %s (the backend is %s; is xen-vhcad running?)",
			 path, strerror(ENOENT),
			 xn_state_name(ctl_be_state(c, d)));
}

int ctl_stats(struct ctl *c)
{
	char path[XN_PATH_MAX];
	unsigned int domid = 0;
	struct json_object *o;
	struct ctl_dev d;
	int rc;

	rc = ctl_domain(c, c->argv[0], &domid);
	if (!rc)
		rc = ctl_dev_find(c, domid, c->argv[1], &d);
	if (rc)
		return rc;
	if (snprintf(path, sizeof(path), "%s/%u-%u.stats", c->run_dir,
		     d.domid, d.devid) >= (int)sizeof(path))
		return ctl_error(CTL_USAGE, "-r %s: too long", c->run_dir);
	if (access(path, F_OK))
		return no_file(c, &d, path);
	o = json_object_from_file(path);
	if (!o)
		return ctl_error(CTL_FAILED, "%s", json_util_get_last_err());
	if (c->json)
		ctl_print_json(o);
	else
		ctl_print_flat(o);
	return CTL_OK;
}
