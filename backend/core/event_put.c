// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Events for the guest: on its event ring, at the rate that it may have. Any thread.
 */
#include <errno.h>
#include "be.h"
#include "clock.h"
#include "event.h"

int be_event_try(struct be_dev *dev, const struct xenvhca_event *ev, bool over)
{
	int rc = -ENOSPC;

	pthread_mutex_lock(&dev->evt_lock);
	if (vl_bucket_take(&dev->quota.evt, vl_coarse_ns()) && !over)
		dev->t->ops->overflow(dev->t);
	else
		rc = dev->t->ops->put_event(dev->t, ev);
	pthread_mutex_unlock(&dev->evt_lock);
	if (!rc)
		BE_STAT_ADD(dev, events, 1);
	return rc;
}

void be_event_put(struct be_dev *dev, const struct xenvhca_event *ev)
{
	if (dev->t && be_event_try(dev, ev, false))
		BE_STAT_ADD(dev, events_dropped, 1);
}

void be_event_push(struct be_dev *dev, uint8_t type, uint8_t event,
		   uint32_t handle)
{
	const struct xenvhca_event ev = {
		.type = type, .event = event, .handle = handle,
	};

	be_event_put(dev, &ev);
}
