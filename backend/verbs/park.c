// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Verbs contexts that stay open without an owner, because closing them would
 * give their doorbell pages to somebody else. A context whose pages a PV guest
 * had is parked for the guest's next process. A context with a page that
 * another guest may still have is spoilt: it stays open so that the HCA does
 * not offer the page again. The supervisor's guard holds what is parked when
 * the worker ends. The command thread runs this.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "doorbell.h"
#include "event.h"
#include "park.h"
#include "ucontext.h"
#include "udata.h"

#define MAX_EXCHANGES	16	/* of one context */
#define MAX_SPOILT	32
#define MAX_SPOILT_UARS	(MAX_SPOILT * XENVHCA_UCONTEXT_UARS)

/* How a context was opened: request and answer, as the guest and the kernel
 * saw them. */
struct be_opening {
	uint16_t in_len, out_len, rsp_len;
	uint32_t uars;
	uint8_t in[XENVHCA_UDATA_SIZE], rsp[XENVHCA_UDATA_SIZE];
	uint8_t host_in[XENVHCA_UDATA_SIZE], host_out[XENVHCA_UDATA_SIZE];
};

struct be_parked {
	struct be_parked *next;
	struct be_opening *opening;	/* NULL: spoilt */
	struct be_doorbell *doorbells;
	uint32_t uars;
	int fd, async_fd, comp_fd;
};

int be_opening_keep(const struct be_cmd *c, const struct be_udata *u,
		    struct be_uc *uc)
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
	o->uars = uc->uars;
	memcpy(o->in, c->req->udata, o->in_len);
	memcpy(o->rsp, c->rsp->udata, o->rsp_len);
	memcpy(o->host_in, u->in, o->in_len);
	memcpy(o->host_out, u->out, o->out_len);
	uc->opening = o;
	return 0;
}

static bool has_objects(const struct be_uc *uc)
{
	unsigned int type;

	for (type = 0; type < BE_TYPES; type++)
		if (uc->objs[type])
			return true;
	return false;
}

/* Move the files of uc into p; the event thread forgets them. */
static void files_take(struct be_dev *dev, struct be_uc *uc,
		       struct be_parked *p)
{
	be_event_del(dev, uc->comp_fd);
	be_event_del(dev, uc->async_fd);
	pthread_rwlock_wrlock(&dev->lock);
	p->fd = uc->fd;
	p->async_fd = uc->async_fd;
	p->comp_fd = uc->comp_fd;
	uc->fd = uc->async_fd = uc->comp_fd = -1;
	pthread_rwlock_unlock(&dev->lock);
	p->uars = uc->uars;
	uc->uars = 0;
}

static void files_close(struct be_parked *p)
{
	uv_close(&p->comp_fd);
	uv_close(&p->async_fd);
	uv_close(&p->fd);
	free(p->opening);
	free(p);
}

static struct be_parked **oldest(struct be_parked **p)
{
	while ((*p)->next)
		p = &(*p)->next;
	return p;
}

/* ---- spoilt ---- */

static void spoilt_end(struct be_dev *dev, struct be_parked **p)
{
	struct be_parked *end = *p;

	*p = end->next;
	dev->n_spoilt--;
	dev->spoilt_uars -= end->uars;
	files_close(end);
}

/* Contexts whose pages another guest holds are bounded, not charged. */
static void spoil(struct be_dev *dev, struct be_parked *p)
{
	p->next = dev->spoilt;
	dev->spoilt = p;
	dev->n_spoilt++;
	dev->spoilt_uars += p->uars;
	be_quota_give_uars(&dev->quota, p->uars);
	while (dev->n_spoilt > MAX_SPOILT ||
	       dev->spoilt_uars > MAX_SPOILT_UARS)
		spoilt_end(dev, oldest(&dev->spoilt));
}

void be_spoilt_close(struct be_dev *dev)
{
	while (dev->spoilt)
		spoilt_end(dev, &dev->spoilt);
}

/* The same request to the HCA's driver must have the same answer. */
static int open_again(const struct be_dev *dev, const struct be_opening *o,
		      struct be_parked *p)
{
	uint8_t out[XENVHCA_UDATA_SIZE] = {};
	const struct uv_udata ud = {
		.in = o->host_in, .out = out,
		.in_len = o->in_len, .out_len = o->out_len,
	};
	uint32_t vectors;
	int err;

	p->fd = uv_open(dev->uverbs_path);
	if (p->fd < 0)
		return p->fd;
	err = uv_alloc_ucontext(p->fd, &ud, &p->async_fd, &vectors);
	if (!err)
		err = uv_create_comp_channel(p->fd, &p->comp_fd);
	if (!err && memcmp(out, o->host_out, o->out_len))
		err = -EIO;
	return err;
}

bool be_exchange(struct be_dev *dev, struct be_uc *uc)
{
	struct be_parked *p, new = { .fd = -1, .async_fd = -1, .comp_fd = -1 };

	uc->spoilt = true;
	if (!uc->opening || uc->doorbells || has_objects(uc) ||
	    uc->exchanges++ >= MAX_EXCHANGES)
		return false;
	p = calloc(1, sizeof(*p));
	if (!p || open_again(dev, uc->opening, &new)) {
		uv_close(&new.comp_fd);
		uv_close(&new.async_fd);
		uv_close(&new.fd);
		free(p);
		return false;
	}
	files_take(dev, uc, p);
	spoil(dev, p);		/* gives back what uc is charged anew */
	be_uars_take(dev, uc, uc->opening->uars);
	pthread_rwlock_wrlock(&dev->lock);
	uc->fd = new.fd;
	uc->async_fd = new.async_fd;
	uc->comp_fd = new.comp_fd;
	pthread_rwlock_unlock(&dev->lock);
	uc->spoilt = false;
	be_log(dev, BE_DEBUG, "context opened anew for other doorbell pages");
	return !be_files_listen(dev, uc);
}

/* ---- parked ---- */

/* Parks only a whole context: every page is the guest's, no object is left. */
static bool may_park(const struct be_uc *uc)
{
	const struct be_doorbell *db;

	if (!uc->doorbells || !uc->opening || uc->closing || has_objects(uc))
		return false;
	for (db = uc->doorbells; db; db = db->next)
		if (db->gfn || db->broken)
			return false;
	return !uc->spoilt;
}

bool be_park(struct be_dev *dev, struct be_uc *uc)
{
	bool spoilt = uc->spoilt && !uc->doorbells && !has_objects(uc);
	struct be_parked *p;

	if (!spoilt && !may_park(uc))
		return false;
	p = calloc(1, sizeof(*p));
	if (!p)
		return false;
	files_take(dev, uc, p);
	if (spoilt) {
		spoil(dev, p);
		return true;
	}
	p->opening = uc->opening;
	p->doorbells = uc->doorbells;
	uc->opening = NULL;
	uc->doorbells = NULL;
	p->next = dev->parked;
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

/* Closes the oldest: another kind of program needs its place. */
static bool parked_end(struct be_dev *dev)
{
	struct be_parked **last = oldest(&dev->parked);

	if (be_doorbells_end(dev, &(*last)->doorbells))
		return false;
	be_quota_give_uars(&dev->quota, (*last)->uars);
	files_close(*last);
	*last = NULL;
	dev->n_parked--;
	return true;
}

int be_uars_take(struct be_dev *dev, struct be_uc *uc, uint32_t n)
{
	int err;

	do
		err = be_quota_take_uars(&dev->quota, n);
	while (err == -EDQUOT && dev->parked && parked_end(dev));
	if (err)
		be_log_peer(dev, "%u doorbell pages of the HCA beside the %u that it has are too many: %u for each of max-ucontext",
			    n, dev->quota.uars, XENVHCA_UCONTEXT_UARS);
	else
		uc->uars += n;
	return err;
}

bool be_unpark(const struct be_cmd *c, struct be_uc *uc)
{
	const struct be_quota *q = &c->dev->quota;
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
	uc->uars = found->uars;
	uc->doorbells = found->doorbells;
	uc->opening = found->opening;
	c->rsp->out_len = uc->opening->rsp_len;
	memcpy(c->rsp->udata, uc->opening->rsp, uc->opening->rsp_len);
	free(found);
	return true;
}
