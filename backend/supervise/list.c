// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The devices that the supervisor knows, and what it says of one to whoever attached it
 * and to its frontend.
 */
#include <stdlib.h>
#include <string.h>
#include "clock.h"
#include "core/log.h"
#include "sup.h"

#define LIST_SHORT_LIVES	32	/* in order, until they back off, too; one a second */

struct sup_dev *be_sup_find(struct sup *s, unsigned int domid,
			    unsigned int devid)
{
	struct sup_dev *d;

	for (d = s->devs; d; d = d->next)
		if (d->domid == domid && d->devid == devid)
			return d;
	return NULL;
}

struct sup_dev *be_sup_get(struct sup *s, unsigned int domid,
			   unsigned int devid)
{
	struct sup_dev *d = be_sup_find(s, domid, devid);

	if (d)
		return d;
	d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	d->domid = domid;
	d->devid = devid;
	d->worker = BE_PROCESS_NONE;
	d->lives = (struct vl_bucket){
		.rate = 1, .depth_ns = LIST_SHORT_LIVES * VL_SEC_NS,
	};
	d->next = s->devs;
	s->devs = d;
	return d;
}

void be_sup_write_closed(struct sup *s, struct sup_dev *d)
{
	int rc = be_devices_close(s->all, d->domid, d->devid);

	if (rc)
		be_log(NULL, BE_WARN, "d%u/%u: cannot enter Closed: %s",
		       d->domid, d->devid, strerror(-rc));
}

bool be_sup_refuse(struct sup *s, struct sup_dev *d, const char *why)
{
	if (!d->refused) {
		be_log(NULL, BE_ERR, "d%u/%u: %s", d->domid, d->devid, why);
		s->all->ops->write(s->all, d->domid, d->devid, XENVHCA_NODE_BROKEN,
				   why);
	}
	d->refused = true;
	return true;
}
