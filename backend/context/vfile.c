// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A verbs file: its states, and the doorbell (UAR) pages that the HCA's driver gave it.
 * At its end the order is essential: the HCA gives a page to somebody else as soon as the
 * file is closed, so the guest must have lost it before. The command thread runs this.
 */
#include <stdlib.h>

#include "context.h"
#include "core/event.h"
#include "verbs/ucontext.h"
#include "vhca-keys.h"

/* ---- states ---- */

#define TO(state)	(1u << BE_VFILE_##state)

static const unsigned int transitions[BE_VFILE_CLOSED + 1] = {
	[BE_VFILE_OPEN] = TO(LEAVING) | TO(CLOSING) | TO(PARKED) | TO(SPOILT) | TO(CLOSED),
	[BE_VFILE_LEAVING] = TO(CLOSING) | TO(PARKED) | TO(SPOILT) | TO(CLOSED),
	[BE_VFILE_CLOSING] = TO(PARKED) | TO(SPOILT) | TO(CLOSED),
	[BE_VFILE_PARKED] = TO(OPEN) | TO(CLOSED),
	[BE_VFILE_SPOILT] = TO(CLOSED),
};

static void enter(struct be_dev *dev, struct be_vfile *f, enum be_vfile_state to)
{
	f->state = to;
	if (to == BE_VFILE_CLOSED)
		return;
	f->next = dev->vfiles[to];
	dev->vfiles[to] = f;
	dev->n_vfiles[to]++;
}

void be_vfile_to(struct be_dev *dev, struct be_vfile *f, enum be_vfile_state to)
{
	struct be_vfile **p = &dev->vfiles[f->state];

	if (!(transitions[f->state] & 1u << to)) {
		be_fault(dev, "a verbs file cannot go from state %d to %d", f->state, to);
		return;
	}
	while (*p != f)
		p = &(*p)->next;
	*p = f->next;
	dev->n_vfiles[f->state]--;
	if (to >= BE_VFILE_PARKED) {	/* no context is told of its events */
		be_event_del(dev, f->comp_fd);
		be_event_del(dev, f->async_fd);
	}
	enter(dev, f, to);
}

/* ---- from open to close ---- */

struct be_vfile *be_vfile_new(struct be_dev *dev)
{
	struct be_vfile *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->fd = f->async_fd = f->comp_fd = -1;
	enter(dev, f, BE_VFILE_OPEN);
	return f;
}

int be_uars_take(struct be_dev *dev, struct be_vfile *f, uint32_t n)
{
	int err = be_quota_take_uars(&dev->quota, n);

	if (err)
		be_log_peer(dev, "%u doorbell pages of the HCA beside the %u that it has, %u parked contexts included, and the %u that its earlier connections left are too many: %u for each of max-ucontext; of all connections %u, if that is more%s",
			    n, dev->quota.uars, dev->n_vfiles[BE_VFILE_PARKED],
			    dev->quota.left_uars, dev->quota.context_uars,
			    BE_GUEST_UARS, dev->window.nr ?
			    "; and no more than " XENVHCA_NODE_DOORBELL_STATIC " has" : "");
	else
		f->uars += n;
	return err;
}

int be_vfile_open(struct be_dev *dev, struct be_vfile *f,
		  const struct uv_udata *ud, uint32_t uars)
{
	int err = dev->window.nr ?
		  be_static_open(dev, ud, uars, &f->fd, &f->async_fd) :
		  uv_open_ucontext(dev->uverbs_path, ud, &f->fd, &f->async_fd);

	return err ? err : uv_create_comp_channel(f->fd, &f->comp_fd);
}

int be_vfile_listen(struct be_dev *dev, struct be_uc *uc)
{
	int err = be_event_add(dev, uc->file->async_fd, &uc->o, true);

	return err ? err : be_event_add(dev, uc->file->comp_fd, &uc->o, false);
}

void be_vfile_close(struct be_dev *dev, struct be_vfile *f)
{
	if (f->state == BE_VFILE_SPOILT)
		dev->spoilt_uars -= f->uars;
	else
		be_quota_give_uars(&dev->quota, f->uars);
	f->uars = 0;
	be_vfile_to(dev, f, BE_VFILE_CLOSED);
	pthread_rwlock_wrlock(&dev->lock);
	uv_close(&f->comp_fd);
	uv_close(&f->async_fd);
	uv_close(&f->fd);
	pthread_rwlock_unlock(&dev->lock);
}

void be_vfile_free(struct be_vfile *f)
{
	if (f)
		free(f->opening);
	free(f);
}

void be_vfile_drop(struct be_dev *dev, struct be_vfile *f)
{
	if (f)
		be_vfile_close(dev, f);
	be_vfile_free(f);
}

/* ---- doorbell pages ---- */

struct be_doorbell *be_doorbell_find(const struct be_vfile *f, uint64_t offset)
{
	struct be_doorbell *db = f->doorbells;

	while (db && db->offset != offset)
		db = db->next;
	return db;
}

void be_doorbell_free(struct be_dev *dev, struct be_doorbell *db)
{
	if (db->addr)
		uv_munmap(db->addr, XENVHCA_PAGE_SIZE);
	be_quota_give(&dev->quota, BE_MMAP);
	free(db);
}

bool be_doorbells_held(const struct be_vfile *f)
{
	const struct be_doorbell *db = f->doorbells;

	while (db && !db->held)
		db = db->next;
	return db;
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

bool be_doorbells_mapped(const struct be_vfile *f)
{
	const struct be_doorbell *db = f->doorbells;

	while (db && db->state == BE_BELL_GONE)
		db = db->next;
	return db;
}

int be_doorbells_withdraw(struct be_dev *dev, const struct be_vfile *f, bool all)
{
	struct be_doorbell *db;
	int err = 0;

	for (db = f->doorbells; db && !err; db = db->next)
		if (all || db->gfn || db->state != BE_BELL_MAPPED)
			err = doorbell_take(dev, db);
	return err;
}

int be_doorbells_end(struct be_dev *dev, struct be_vfile *f)
{
	struct be_doorbell *db;
	int err;

	while ((db = f->doorbells)) {
		err = doorbell_take(dev, db);
		if (err)
			return err;
		f->doorbells = db->next;
		be_doorbell_free(dev, db);
	}
	return 0;
}
