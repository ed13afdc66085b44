// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Doorbell (UAR) pages: mapped here, so that the HCA's driver hands one out,
 * then made reachable for the guest by the doorbell agent. The order at the
 * end is what counts: the HCA gives a page to somebody else as soon as the
 * verbs file is closed, so first the guest must have lost it. Command thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "obj.h"

/* How a context was opened: a request and the answer to it. */
struct be_opening {
	uint16_t in_len, out_len, rsp_len;
	uint8_t in[XENVHCA_UDATA_SIZE];
	uint8_t rsp[XENVHCA_UDATA_SIZE];
};

/* An open context without objects and without an owner. */
struct be_parked {
	struct be_parked *next;
	struct be_opening *opening;
	struct be_doorbell *doorbells;
	uint32_t unit;
	int fd, async_fd, comp_fd;
};

static struct be_doorbell *doorbell_find(const struct be_uc *uc,
					 uint64_t offset)
{
	struct be_doorbell *db;

	for (db = uc->doorbells; db; db = db->next)
		if (db->offset == offset)
			return db;
	return NULL;
}

/* Of one page. The guest must not have it. */
static void doorbell_free(struct be_dev *dev, struct be_doorbell *db)
{
	if (db->addr)
		uv_munmap(db->addr, XENVHCA_PAGE_SIZE);
	be_quota_give(&dev->quota, BE_MMAP);
	free(db);
}

/* On an error after which the guest may have the page it stays, broken. */
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
	err = uv_mmap(c->uc->fd, r->offset, r->length, &db->addr);
	if (!err)
		err = t->ops->doorbell_map(t, db->addr, r->gfn, &db->bell);
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
	return err;
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

static int doorbells_end(struct be_dev *dev, struct be_doorbell **list)
{
	struct be_transport *t = dev->t;
	struct be_doorbell *db;
	int err;

	while ((db = *list)) {
		err = t->ops->doorbell_unmap(t, db->bell.slot);
		if (err) {
			be_log(dev, BE_ERR, "doorbell page at offset %#llx cannot be taken from the guest (%s); its context stays open",
			       (unsigned long long)db->offset, strerror(-err));
			return err;
		}
		*list = db->next;
		doorbell_free(dev, db);
	}
	return 0;
}

int be_doorbells_end(struct be_dev *dev, struct be_uc *uc)
{
	return doorbells_end(dev, &uc->doorbells);
}

/* ---- contexts of PV guests ---- */

int be_opening_keep(const struct be_cmd *c, struct be_uc *uc)
{
	struct be_opening *o;

	if (!c->dev->prov->mmaps)
		return 0;
	o = calloc(1, sizeof(*o));
	if (!o)
		return -ENOMEM;
	o->in_len = c->req->in_len;
	o->out_len = c->req->out_len;
	o->rsp_len = c->rsp->out_len;
	memcpy(o->in, c->req->udata, o->in_len);
	memcpy(o->rsp, c->rsp->udata, o->rsp_len);
	uc->opening = o;
	return 0;
}

/* Only what is whole: every page the guest's, nothing else left in it. */
static bool may_park(const struct be_uc *uc)
{
	const struct be_doorbell *db;
	unsigned int type;

	if (!uc->doorbells || !uc->opening || uc->closing)
		return false;
	for (type = 0; type < BE_TYPES; type++)
		if (uc->objs[type])
			return false;
	for (db = uc->doorbells; db; db = db->next)
		if (db->gfn || db->broken)
			return false;
	return true;
}

bool be_park(struct be_dev *dev, struct be_uc *uc)
{
	struct be_parked *p;

	if (!may_park(uc))
		return false;
	p = malloc(sizeof(*p));
	if (!p)
		return false;
	be_event_del(dev, uc->comp_fd);
	be_event_del(dev, uc->async_fd);
	pthread_rwlock_wrlock(&dev->lock);
	*p = (struct be_parked){
		.next = dev->parked, .opening = uc->opening,
		.doorbells = uc->doorbells, .unit = uc->unit, .fd = uc->fd,
		.async_fd = uc->async_fd, .comp_fd = uc->comp_fd,
	};
	uc->fd = uc->async_fd = uc->comp_fd = -1;
	pthread_rwlock_unlock(&dev->lock);
	uc->opening = NULL;
	uc->doorbells = NULL;
	dev->parked = p;
	dev->n_parked++;
	return true;
}

static bool same_opening(const struct be_opening *o,
			 const struct xenvhca_request *req)
{
	return o->in_len == req->in_len && o->out_len == req->out_len &&
	       !memcmp(o->in, req->udata, o->in_len);
}

/* Another kind of program wants the place of the oldest. */
static void parked_end(struct be_dev *dev)
{
	struct be_parked **p = &dev->parked, *last;

	while ((*p)->next)
		p = &(*p)->next;
	last = *p;
	if (doorbells_end(dev, &last->doorbells))
		return;
	*p = NULL;
	dev->n_parked--;
	uv_close(&last->comp_fd);
	uv_close(&last->async_fd);
	uv_close(&last->fd);
	free(last->opening);
	free(last);
}

bool be_unpark(const struct be_cmd *c, struct be_uc *uc)
{
	struct be_quota *q = &c->dev->quota;
	struct be_parked **p = &c->dev->parked, *found;

	while (*p && !same_opening((*p)->opening, c->req))
		p = &(*p)->next;
	found = *p;
	if (!found) {
		if (c->dev->parked && q->used[BE_UCONTEXT] +
				      c->dev->n_parked > q->max[BE_UCONTEXT])
			parked_end(c->dev);
		return false;
	}
	*p = found->next;
	c->dev->n_parked--;
	uc->fd = found->fd;
	uc->async_fd = found->async_fd;
	uc->comp_fd = found->comp_fd;
	uc->unit = found->unit;
	uc->doorbells = found->doorbells;
	uc->opening = found->opening;
	c->rsp->out_len = uc->opening->rsp_len;
	memcpy(c->rsp->udata, uc->opening->rsp, uc->opening->rsp_len);
	free(found);
	return true;
}
