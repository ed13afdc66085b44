// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Verbs contexts that stay open without an owner, because closing them would
 * give their doorbell pages to somebody else. A context whose pages a PV guest
 * had, or any guest on Arm, is parked for the guest's next process until the
 * guest is gone: the supervisor's guard holds it when the worker ends. A
 * context with a page that another guest may still have is spoilt: it stays
 * open so that the HCA does not offer the page again. The command thread runs
 * this.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "core/event.h"
#include "doorbell.h"
#include "park.h"
#include "verbs/ucontext.h"
#include "verbs/udata.h"

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

/* Moves the files of uc, and what belongs to them, into p; the event thread
 * forgets them. */
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
	p->opening = uc->opening;
	p->doorbells = uc->doorbells;
	p->uars = uc->uars;
	uc->opening = NULL;
	uc->doorbells = NULL;
	uc->uars = 0;
}

/* Moves them from p into uc. */
static void files_give(struct be_dev *dev, struct be_uc *uc,
		       struct be_parked *p)
{
	pthread_rwlock_wrlock(&dev->lock);
	uc->fd = p->fd;
	uc->async_fd = p->async_fd;
	uc->comp_fd = p->comp_fd;
	pthread_rwlock_unlock(&dev->lock);
	uc->opening = p->opening;
	uc->doorbells = p->doorbells;
	uc->uars = p->uars;
	free(p);
}

static void files_close(struct be_parked *p)
{
	uv_close(&p->comp_fd);
	uv_close(&p->async_fd);
	uv_close(&p->fd);
	free(p->opening);
	free(p);
}

/* ---- spoilt ---- */

static struct be_parked **last(struct be_parked **p)
{
	while ((*p)->next)
		p = &(*p)->next;
	return p;
}

static void spoilt_end(struct be_dev *dev, struct be_parked **p)
{
	struct be_parked *end = *p;

	*p = end->next;
	dev->n_spoilt--;
	dev->spoilt_uars -= end->uars;
	files_close(end);
}

/* Contexts whose pages another guest holds are bounded, not charged. */
static void spoilt_add(struct be_dev *dev, struct be_parked *p)
{
	p->next = dev->spoilt;
	dev->spoilt = p;
	dev->n_spoilt++;
	dev->spoilt_uars += p->uars;
	be_quota_give_uars(&dev->quota, p->uars);
	while (dev->n_spoilt > MAX_SPOILT ||
	       dev->spoilt_uars > MAX_SPOILT_UARS)
		spoilt_end(dev, last(&dev->spoilt));
}

void be_spoilt_close(struct be_dev *dev)
{
	while (dev->spoilt)
		spoilt_end(dev, &dev->spoilt);
}

bool be_spoil(struct be_dev *dev, struct be_uc *uc)
{
	struct be_parked *p;

	if (uc->pages != BE_PAGES_SPOILT || has_objects(uc))
		return false;
	p = calloc(1, sizeof(*p));
	if (!p)
		return false;
	files_take(dev, uc, p);
	spoilt_add(dev, p);
	return true;
}

/* The same request to the HCA's driver must have the same answer. */
static int open_again(struct be_dev *dev, struct be_parked *p)
{
	const struct be_opening *o = p->opening;
	uint8_t out[XENVHCA_UDATA_SIZE] = {};
	const struct uv_udata ud = {
		.in = o->host_in, .out = out,
		.in_len = o->in_len, .out_len = o->out_len,
	};
	int err = be_files_open(dev, &ud, o->uars, &p->fd, &p->async_fd);

	if (!err)
		err = uv_create_comp_channel(p->fd, &p->comp_fd);
	if (!err && memcmp(out, o->host_out, o->out_len))
		err = -EIO;
	return err;
}

/* NULL: no other context can be had that was opened as o was. */
static struct be_parked *opened_as(struct be_dev *dev,
				   const struct be_opening *o)
{
	struct be_parked *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->fd = p->async_fd = p->comp_fd = -1;
	p->uars = o->uars;
	p->opening = malloc(sizeof(*o));
	if (p->opening) {
		*p->opening = *o;
		if (!open_again(dev, p))
			return p;
	}
	files_close(p);
	return NULL;
}

bool be_exchange(struct be_dev *dev, struct be_uc *uc)
{
	struct be_parked *p;
	uint32_t uars;

	uc->pages = BE_PAGES_SPOILT;
	if (!uc->opening || uc->doorbells || has_objects(uc) ||
	    uc->exchanges++ >= MAX_EXCHANGES)
		return false;
	p = opened_as(dev, uc->opening);
	if (!p)
		return false;
	if (!be_spoil(dev, uc)) {
		files_close(p);
		return false;
	}
	uars = p->uars;
	p->uars = 0;
	files_give(dev, uc, p);
	be_uars_take(dev, uc, uars);	/* less than what was given back */
	uc->pages = BE_PAGES_ASKED;
	be_log(dev, BE_DEBUG, "context opened anew for other doorbell pages");
	return !be_files_listen(dev, uc);
}

/* ---- parked ---- */

static void parked_add(struct be_dev *dev, struct be_parked *p)
{
	p->next = dev->parked;
	dev->parked = p;
	dev->n_parked++;
}

static struct be_parked *parked_take(struct be_dev *dev, struct be_parked **at)
{
	struct be_parked *p = *at;

	*at = p->next;
	dev->n_parked--;
	return p;
}

/*
 * An object that the kernel will not destroy lives in the file, and the guest's
 * memory is the object's: the context waits until it goes. A spoilt context is
 * held open like the others, but a program would be refused a page of it.
 */
int be_park(struct be_dev *dev, struct be_uc *uc)
{
	struct be_parked *p;
	int err;

	if (has_objects(uc))
		return -EBUSY;
	err = be_doorbells_withdraw(dev, uc->doorbells, false);
	if (err)
		return err;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	files_take(dev, uc, p);
	if (uc->pages == BE_PAGES_SPOILT) {
		free(p->opening);
		p->opening = NULL;
	}
	parked_add(dev, p);
	return 0;
}

void be_parked_close(struct be_dev *dev)
{
	struct be_parked *p;

	while (dev->window.nr && dev->parked) {
		p = parked_take(dev, &dev->parked);
		be_doorbells_end(dev, &p->doorbells);
		be_quota_give_uars(&dev->quota, p->uars);
		files_close(p);
	}
}

bool be_park_rest(struct be_dev *dev)
{
	struct be_parked *p, *oldest = NULL;

	for (p = dev->parked; p; p = p->next)
		if (be_doorbells_mapped(p->doorbells))
			oldest = p;
	return oldest && !be_doorbells_withdraw(dev, oldest->doorbells, true);
}

static bool same_opening(const struct be_opening *o, uint16_t in_len,
			 uint16_t out_len, const uint8_t *in)
{
	return o && o->in_len == in_len && o->out_len == out_len &&
	       !memcmp(o->in, in, in_len);
}

/* May there be n contexts beside those that are parked or in use? */
static int room(struct be_dev *dev, uint32_t n)
{
	const struct be_quota *q = &dev->quota;

	if (q->used[BE_UCONTEXT] + dev->n_parked + n <= q->max[BE_UCONTEXT])
		return 0;
	be_log_peer(dev, "no room for another context: %u are parked until the guest ends, for programs that open the HCA in another way than this one; raise max-ucontext",
		    dev->n_parked);
	return -EDQUOT;
}

int be_unpark(const struct be_cmd *c, struct be_uc *uc)
{
	const struct xenvhca_request *r = c->req;
	struct be_parked **p = &c->dev->parked;

	while (*p && !same_opening((*p)->opening, r->in_len, r->out_len,
				   r->udata))
		p = &(*p)->next;
	if (!*p)			/* uc itself is charged already */
		return room(c->dev, 0);
	files_give(c->dev, uc, parked_take(c->dev, p));
	c->rsp->out_len = uc->opening->rsp_len;
	memcpy(c->rsp->udata, uc->opening->rsp, uc->opening->rsp_len);
	return 1;
}

/* Is p of use to a process that was told the answer of o, and wants the page? */
static bool serves(const struct be_parked *p, const struct be_opening *o,
		   uint64_t offset)
{
	return same_opening(p->opening, o->in_len, o->out_len, o->in) &&
	       !memcmp(p->opening->host_out, o->host_out, o->out_len) &&
	       be_doorbell_find(p->doorbells, offset);
}

/* A parked context that has the page, or a new one without pages. NULL: there is
 * neither; *err is -EDQUOT if the quota is the reason. */
static struct be_parked *other_files(struct be_dev *dev,
				     const struct be_opening *o,
				     uint64_t offset, int *err)
{
	struct be_parked **at = &dev->parked, *p;

	while (*at && !serves(*at, o, offset))
		at = &(*at)->next;
	if (*at)
		return parked_take(dev, at);
	*err = room(dev, 1);
	if (!*err)
		*err = be_quota_take_uars(&dev->quota, o->uars);
	if (*err)
		return NULL;
	p = opened_as(dev, o);
	if (!p)
		be_quota_give_uars(&dev->quota, o->uars);
	return p;
}

int be_park_other(struct be_dev *dev, struct be_uc *uc, uint64_t offset)
{
	struct be_parked *mine, *other;
	int err = 0;

	if (!uc->doorbells || uc->pages != BE_PAGES_NONE || has_objects(uc) ||
	    be_doorbell_find(uc->doorbells, offset))
		return 0;
	mine = calloc(1, sizeof(*mine));
	if (!mine)
		return -ENOMEM;
	other = other_files(dev, uc->opening, offset, &err);
	if (!other) {
		free(mine);
		return err;
	}
	files_take(dev, uc, mine);
	files_give(dev, uc, other);
	parked_add(dev, mine);
	return be_files_listen(dev, uc);
}
