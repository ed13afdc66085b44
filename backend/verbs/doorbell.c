// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Doorbell (UAR) pages. They are mapped here, so that the HCA's driver
 * allocates one; then the agent makes the page reachable for the guest. At the
 * end the order is essential: the HCA gives a page to somebody else as soon as
 * the verbs file is closed, so the guest must have lost it before. The command
 * thread runs this.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "doorbell.h"
#include "park.h"
#include "ucontext.h"
#include "uverbs/uverbs.h"

static struct be_doorbell *doorbell_find(const struct be_uc *uc,
					 uint64_t offset)
{
	struct be_doorbell *db;

	for (db = uc->doorbells; db; db = db->next)
		if (db->offset == offset)
			return db;
	return NULL;
}

/* Frees one page that the guest does not have. */
static void doorbell_free(struct be_dev *dev, struct be_doorbell *db)
{
	if (db->addr)
		uv_munmap(db->addr, XENVHCA_PAGE_SIZE);
	be_quota_give(&dev->quota, BE_MMAP);
	free(db);
}

/*
 * Some pages are allocated by being mapped: until the context is closed. EPERM
 * of the driver: writes cannot be combined on this machine, for which programs
 * know EOPNOTSUPP; -EPERM is of a page that another one could stand in for.
 */
static int page_map(const struct be_cmd *c, const struct vhca_mmap *row,
		    struct be_doorbell *db)
{
	int err = be_uars_take(c->dev, c->uc, row->takes);

	if (err)
		return err;
	err = uv_mmap(c->uc->fd, db->offset, XENVHCA_PAGE_SIZE, &db->addr);
	if (err) {
		be_quota_give_uars(&c->dev->quota, row->takes);
		c->uc->uars -= row->takes;
	}
	return err == -EPERM ? -EOPNOTSUPP : err;
}

/*
 * On an error after which the guest may have the page it stays, broken; that is
 * -EIO or -ETIMEDOUT, by which the frontend knows that it does not know.
 */
static int doorbell_new(const struct be_cmd *c, const struct vhca_mmap *row)
{
	const struct xenvhca_mmap_req *r = &c->req->u.mmap;
	struct be_transport *t = c->dev->t;
	struct be_doorbell *db;
	int err = be_quota_take(&c->dev->quota, BE_MMAP);

	if (err)
		return err;
	db = calloc(1, sizeof(*db));
	if (!db) {
		be_quota_give(&c->dev->quota, BE_MMAP);
		return -ENOMEM;
	}
	*db = (struct be_doorbell){ .offset = r->offset, .gfn = r->gfn,
				    .bell.slot = BE_NO_SLOT };
	do {
		if (db->addr)
			uv_munmap(db->addr, XENVHCA_PAGE_SIZE);
		db->addr = NULL;
		err = page_map(c, row, db);
		if (!err)
			err = t->ops->doorbell_map(t, db->addr, r->gfn,
						   &db->bell);
	} while (err == -EPERM && be_exchange(c->dev, c->uc));
	if (err == -EACCES)	/* no other page would do: its own fault */
		err = -EPERM;
	if (!err && !vhca_provider_mmap_prot(row, db->bell.prot)) {
		be_log(c->dev, BE_ERR, "offset %#llx is mapped with cache attribute %u here, provider %s says %u",
		       (unsigned long long)r->offset, db->bell.prot,
		       c->dev->prov->name, row->prot);
		err = -EINVAL;
	}
	if (err && db->bell.slot == BE_NO_SLOT) {
		doorbell_free(c->dev, db);
		return err;
	}
	db->broken = err;
	db->next = c->uc->doorbells;
	c->uc->doorbells = db;
	return !err || err == -ETIMEDOUT ? err : -EIO;
}

int be_doorbell_mmap(const struct be_cmd *c, const struct vhca_mmap *row)
{
	const struct xenvhca_mmap_req *r = &c->req->u.mmap;
	const struct be_doorbell *db;
	int err;

	err = vhca_provider_mmap_check(row, r->length);
	if (err)
		return err;
	if (r->first)
		return -EINVAL;
	if (!doorbell_find(c->uc, r->offset))
		err = doorbell_new(c, row);
	if (err)
		return err;
	db = doorbell_find(c->uc, r->offset);
	if (db->broken)
		return -EIO;
	if (db->gfn != r->gfn)		/* it is there already */
		return -EBUSY;
	c->rsp->u.mmap = (struct xenvhca_mmap_rsp){
		.nr_pages = 1, .kind = XENVHCA_MMAP_MMIO,
		.prot = db->bell.prot, .frame = db->gfn ? 0 : db->bell.frame,
	};
	return 0;
}

int be_doorbells_end(struct be_dev *dev, struct be_doorbell **list)
{
	struct be_transport *t = dev->t;
	struct be_doorbell *db;
	int err;

	while ((db = *list)) {
		err = t->ops->doorbell_unmap(t, db->bell.slot);
		if (err)
			return err;
		*list = db->next;
		doorbell_free(dev, db);
	}
	return 0;
}
