// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * MMAP of a doorbell (UAR) page. It is mapped here, so that the HCA's driver
 * allocates one; then the agent makes the page reachable for the guest. The command
 * thread runs this.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "verbs/ucontext.h"

/*
 * The driver allocates some pages when they are mapped, until the context is
 * closed. Its EPERM means that this machine cannot combine writes; programs
 * expect EOPNOTSUPP then. -EPERM of this file means a page of another guest, in
 * whose place the HCA may offer another page.
 */
static int page_map(const struct be_cmd *c, const struct vhca_mmap *row,
		    struct be_doorbell *db)
{
	int err = row->takes ? be_uars_take(c->dev, c->uc->file, row->takes) : 0;

	if (err)
		return err;
	err = uv_mmap(c->uc->file->fd, db->offset, XENVHCA_PAGE_SIZE, &db->addr);
	if (err) {
		be_quota_give_uars(&c->dev->quota, row->takes);
		c->uc->file->uars -= row->takes;
	}
	return err == -EPERM ? -EOPNOTSUPP : err;
}

/* Parked contexts make room for what is used. */
static int page_ask(struct be_dev *dev, struct be_doorbell *db)
{
	struct be_transport *t = dev->t;
	int err;

	do
		err = dev->window.nr ?
		      be_static_map(dev, db->addr, db->gfn, &db->bell) :
		      t->ops->doorbell_map(t, db->addr, db->gfn, &db->bell);
	while (err == -ENOSPC && be_park_rest(dev));
	return err;
}

/* Has the agent let the guest reach the page, or another one in its place. */
static int page_offer(const struct be_cmd *c, const struct vhca_mmap *row,
		      struct be_doorbell *db)
{
	bool again;
	int err;

	if (db->state == BE_BELL_GONE)	/* else it was asked already */
		db->gfn = c->req->u.mmap.gfn;
	do {
		err = db->addr ? 0 : page_map(c, row, db);
		if (!err)
			err = page_ask(c->dev, db);
		again = err == -EPERM && be_exchange(c->dev, c->uc);
		if (again && db->addr) {
			uv_munmap(db->addr, XENVHCA_PAGE_SIZE);
			db->addr = NULL;
		}
	} while (again);
	if (err == -EACCES)	/* another page would be refused as well */
		err = -EPERM;
	if (!err && !vhca_provider_mmap_prot(row, db->bell.prot)) {
		be_log(c->dev, BE_ERR, "offset %#llx is mapped with cache attribute %u here, provider %s says %u",
		       (unsigned long long)db->offset, db->bell.prot,
		       c->dev->prov->name, row->prot);
		err = -EINVAL;
	}
	return err;
}

static struct be_doorbell *doorbell_new(const struct be_cmd *c, int *err)
{
	struct be_doorbell *db;

	*err = be_quota_take(&c->dev->quota, BE_MMAP);
	if (*err)
		return NULL;
	db = calloc(1, sizeof(*db));
	if (!db) {
		be_quota_give(&c->dev->quota, BE_MMAP);
		*err = -ENOMEM;
		return NULL;
	}
	db->offset = c->req->u.mmap.offset;
	db->bell.slot = BE_NO_SLOT;
	return db;
}

static void doorbell_unlink(struct be_vfile *f, const struct be_doorbell *db)
{
	struct be_doorbell **p = &f->doorbells;

	while (*p != db)
		p = &(*p)->next;
	*p = db->next;
}

/*
 * Makes a page reachable that the file does not have (*page is NULL) or that was taken
 * from the guest. While it is asked for it is not in the file's list, or be_exchange()
 * would not take another file for it. After -EIO and -ETIMEDOUT the guest may have
 * the page: it stays in the list, and the frontend takes its state for unknown.
 */
static int doorbell_get(const struct be_cmd *c, const struct vhca_mmap *row,
			struct be_doorbell **page)
{
	struct be_doorbell *db = *page;
	bool listed = db && db->state == BE_BELL_GONE;
	int err = 0;

	if (db && !listed)
		doorbell_unlink(c->uc->file, db);
	if (!db)
		db = *page = doorbell_new(c, &err);
	if (!err)
		err = page_offer(c, row, db);
	if (!db)
		return err;
	if (err && db->bell.slot == BE_NO_SLOT) {
		if (!listed)
			be_doorbell_free(c->dev, db);
		return err;
	}
	db->state = !err ? BE_BELL_MAPPED :
		    err == -EINPROGRESS ? BE_BELL_ASKING : BE_BELL_UNKNOWN;
	/* A PV guest names no frame. */
	db->held |= !db->gfn || c->dev->t->hold_translated;
	if (!listed) {
		db->next = c->uc->file->doorbells;
		c->uc->file->doorbells = db;
	}
	if (db->state == BE_BELL_ASKING)
		return BE_LATER;
	return !err || err == -ETIMEDOUT ? err : -EIO;
}

static int doorbell_mmap(const struct be_cmd *c, const struct vhca_mmap *row)
{
	const struct xenvhca_mmap_req *r = &c->req->u.mmap;
	struct be_doorbell *db;
	int err;

	err = vhca_provider_mmap_check(row, r->length);
	if (err)
		return err;
	if (r->first)
		return -EINVAL;
	db = be_doorbell_find(c->uc->file, r->offset);
	if (!db && c->uc->file->doorbells && !c->uc->asked) {
		err = be_park_other(c->dev, c->uc, r->offset);
		if (err)
			return err;
		db = be_doorbell_find(c->uc->file, r->offset);
	}
	c->uc->asked = true;
	if (!db || db->state == BE_BELL_GONE || db->state == BE_BELL_ASKING)
		err = doorbell_get(c, row, &db);
	if (err)
		return err;
	if (db->state == BE_BELL_UNKNOWN)
		return -EIO;
	if (db->gfn != r->gfn)		/* it is there already */
		return -EBUSY;
	c->rsp->u.mmap = (struct xenvhca_mmap_rsp){
		.nr_pages = 1, .kind = XENVHCA_MMAP_MMIO,
		.prot = db->bell.prot, .frame = db->gfn ? 0 : db->bell.frame,
	};
	return 0;
}

int be_mmap(const struct be_cmd *c)
{
	const struct xenvhca_mmap_req *r = &c->req->u.mmap;
	const struct vhca_mmap *row = vhca_provider_mmap(c->dev->prov, r->offset);

	if (r->reserved || !r->length || r->length % XENVHCA_PAGE_SIZE)
		return -EINVAL;
	return row ? doorbell_mmap(c, row) : be_range_mmap(c);
}
