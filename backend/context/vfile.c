// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The verbs files of a context: opened, listened to, closed, and the doorbell pages that
 * the HCA's driver allocates with them. The command thread runs this.
 */
#include "core/event.h"
#include "context.h"
#include "doorbell_static.h"
#include "uverbs/uverbs.h"
#include "verbs/ucontext.h"

int be_uars_take(struct be_dev *dev, struct be_uc *uc, uint32_t n)
{
	int err = be_quota_take_uars(&dev->quota, n);

	if (err)
		be_log_peer(dev, "%u doorbell pages of the HCA beside the %u that it has, %u parked contexts included, and the %u that its earlier connections left are too many: %u for each of max-ucontext; of all connections %u, if that is more%s",
			    n, dev->quota.uars, dev->n_parked,
			    dev->quota.left_uars, XENVHCA_UCONTEXT_UARS,
			    BE_GUEST_UARS, dev->window.nr ?
			    "; and no more than " XENVHCA_NODE_DOORBELL_STATIC " has" : "");
	else
		uc->uars += n;
	return err;
}

int be_files_open(struct be_dev *dev, const struct uv_udata *ud, uint32_t uars,
		  int *fd, int *async_fd)
{
	if (dev->window.nr)
		return be_static_open(dev, ud, uars, fd, async_fd);
	return uv_open_ucontext(dev->uverbs_path, ud, fd, async_fd);
}

int be_files_listen(struct be_dev *dev, struct be_uc *uc)
{
	int err = be_event_add(dev, uc->async_fd, &uc->o, true);

	return err ? err : be_event_add(dev, uc->comp_fd, &uc->o, false);
}

void be_files_close(struct be_dev *dev, struct be_uc *uc)
{
	if (uc->comp_fd >= 0)
		be_event_del(dev, uc->comp_fd);
	if (uc->async_fd >= 0)
		be_event_del(dev, uc->async_fd);
	pthread_rwlock_wrlock(&dev->lock);
	uv_close(&uc->comp_fd);
	uv_close(&uc->async_fd);
	uv_close(&uc->fd);
	pthread_rwlock_unlock(&dev->lock);
	be_quota_give_uars(&dev->quota, uc->uars);
	uc->uars = 0;
}
