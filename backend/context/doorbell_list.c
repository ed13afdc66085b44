// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The doorbell (UAR) pages of a context. At their end the order is essential: the HCA
 * gives a page to somebody else as soon as the verbs file is closed, so the guest must
 * have lost it before. The command thread runs this.
 */
#include <stdlib.h>

#include "core/be.h"
#include "doorbell.h"
#include "uverbs/uverbs.h"

struct be_doorbell *be_doorbell_find(struct be_doorbell *list, uint64_t offset)
{
	while (list && list->offset != offset)
		list = list->next;
	return list;
}

/* Frees one page that the guest does not have. */
void be_doorbell_free(struct be_dev *dev, struct be_doorbell *db)
{
	if (db->addr)
		uv_munmap(db->addr, XENVHCA_PAGE_SIZE);
	be_quota_give(&dev->quota, BE_MMAP);
	free(db);
}

bool be_doorbells_held(const struct be_doorbell *list)
{
	while (list && !list->held)
		list = list->next;
	return list;
}

static int doorbell_take(struct be_dev *dev, struct be_doorbell *db)
{
	struct be_transport *t = dev->t;
	/* Nobody takes a page of its window from a guest. */
	int err = db->state == BE_BELL_GONE || dev->window.nr ? 0 :
		  t->ops->doorbell_unmap(t, db->bell.slot);

	if (err)
		return err;
	db->bell.slot = BE_NO_SLOT;
	db->state = BE_BELL_GONE;
	return 0;
}

bool be_doorbells_mapped(const struct be_doorbell *list)
{
	while (list && list->state == BE_BELL_GONE)
		list = list->next;
	return list;
}

int be_doorbells_withdraw(struct be_dev *dev, struct be_doorbell *list,
			  bool all)
{
	int err = 0;

	for (; list && !err; list = list->next)
		if (all || list->gfn || list->state != BE_BELL_MAPPED)
			err = doorbell_take(dev, list);
	return err;
}

int be_doorbells_end(struct be_dev *dev, struct be_doorbell **list)
{
	struct be_doorbell *db;
	int err;

	while ((db = *list)) {
		err = doorbell_take(dev, db);
		if (err)
			return err;
		*list = db->next;
		be_doorbell_free(dev, db);
	}
	return 0;
}
