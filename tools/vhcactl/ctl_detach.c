// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * vhcactl detach asks both sides to close, waits, and removes the nodes. -w 0 only
 * asks; a second detach then finds both closed and removes the nodes. With -f, if a
 * guest does not follow, its directory is removed first, which to the backend means
 * the frontend's death.
 */
#include <stdlib.h>
#include <string.h>
#include "ctl.h"
#include "host/xenbus.h"

#define DETACH_WAIT	30	/* seconds */
#define FORCE_WAIT	5	/* for each of the two steps of -f */

static int close_fn(struct xs_handle *xs, xs_transaction_t t, void *arg)
{
	const struct ctl_dev *d = arg;
	enum xenbus_state be = xn_state_read(xs, t, d->be);
	int rc;

	if (be == XenbusStateUnknown)
		return 0;	/* there is no backend directory */
	rc = xn_write_u32(xs, t, d->be, XN_NODE_ONLINE, 0);
	if (!rc && be != XenbusStateClosed)
		rc = xn_write_u32(xs, t, d->be, XN_NODE_STATE,
				  XenbusStateClosing);
	return rc;
}

static bool backend_closed(struct ctl *c, const struct ctl_dev *d)
{
	enum xenbus_state be = ctl_be_state(c, d);

	return be == XenbusStateClosed || be == XenbusStateUnknown;
}

/* A frontend in Initialising has nothing to close. */
static int both_closed(struct ctl *c, const struct ctl_dev *d)
{
	enum xenbus_state fe = ctl_fe_state(c, d);

	return backend_closed(c, d) &&
	       (fe == XenbusStateClosed || fe == XenbusStateInitialising ||
		fe == XenbusStateUnknown);
}

static int only_backend_closed(struct ctl *c, const struct ctl_dev *d)
{
	return backend_closed(c, d);
}

static int not_closed(struct ctl *c, const struct ctl_dev *d)
{
	enum xenbus_state fe = ctl_fe_state(c, d), be = ctl_be_state(c, d);
	bool guest = fe != XenbusStateClosed && fe != XenbusStateInitialising;

	return ctl_error(CTL_TIMEOUT,
			 "device %u of domain %u does not close (backend %s, guest %s): %s; vhcactl detach -f takes it away by force",
			 d->devid, d->domid, host_state_name(be),
			 host_state_name(fe), guest ?
			 "the guest does not let go of it, see its kernel log" :
			 "xen-vhcad in the backend domain does not answer, is it running?");
}

/* Removes the guest's directory, so that the backend closes. */
static void cut_off(struct ctl *c, const struct ctl_dev *d)
{
	xn_rm(c->xs, XBT_NULL, d->fe, NULL);
	if (!ctl_dev_wait(c, d, FORCE_WAIT, only_backend_closed))
		ctl_error(CTL_OK,
			  "warning: the backend of device %u of domain %u does not close; removed all the same",
			  d->devid, d->domid);
}

/* @list: of the removed devices, for --json; else NULL. */
static int detach_one(struct ctl *c, const struct ctl_dev *d,
		      struct json_object *list)
{
	struct ctl_dev copy = *d;
	int rc, wait = c->wait;

	rc = ctl_transact(c, close_fn, &copy);
	if (rc)
		goto fail;
	if (wait < 0)
		wait = c->force ? FORCE_WAIT : DETACH_WAIT;
	if (!ctl_dev_wait(c, d, wait, both_closed)) {
		if (!c->force)
			return wait ? not_closed(c, d) : CTL_OK;
		cut_off(c, d);
	}
	rc = ctl_dev_remove(c, d);
	if (!rc && list)
		json_object_array_add(list, ctl_json_dev(d));
	if (!rc)
		return CTL_OK;
fail:
	return ctl_error(CTL_FAILED,
			 "cannot write the nodes of device %u of domain %u: %s (detach works in the control domain only, as root)",
			 d->devid, d->domid, strerror(-rc));
}

static int detach_all(struct ctl *c, unsigned int domid,
		      struct json_object *list)
{
	struct ctl_dev *devs;
	int i, r, n = ctl_devs(c, (int)domid, &devs), rc = n < 0 ? CTL_FAILED : CTL_OK;

	for (i = 0; i < n; i++) {
		r = detach_one(c, &devs[i], list);
		rc = r ? r : rc;
	}
	free(devs);
	return rc;
}

int ctl_detach(struct ctl *c)
{
	bool all = !strcmp(c->argv[1], "all");
	struct json_object *list;
	unsigned int domid = 0;
	struct ctl_dev d;
	int rc;

	rc = ctl_domain(c, c->argv[0], &domid);
	if (rc)
		return rc;
	list = c->json ? json_object_new_array() : NULL;
	if (!all)
		rc = ctl_dev_find(c, domid, c->argv[1], &d);
	if (!rc)
		rc = all ? detach_all(c, domid, list) : detach_one(c, &d, list);
	if (list)
		ctl_print_json(list);
	return rc;
}
