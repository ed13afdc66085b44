// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Verbs files that stay open without a context, because closing them would
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
#include "verbs/ucontext.h"
#include "vhca-keys.h"
#include "vhca-provider.h"

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
	o->uars = uc->file->uars;
	memcpy(o->in, c->req->udata, o->in_len);
	memcpy(o->rsp, c->rsp->udata, o->rsp_len);
	memcpy(o->host_in, u->in, o->in_len);
	memcpy(o->host_out, u->out, o->out_len);
	uc->file->opening = o;
	return 0;
}

/* Without objects no other thread comes by the file of uc, which may be taken from it. */
static bool has_objects(const struct be_uc *uc)
{
	unsigned int type;

	for (type = 0; type < BE_TYPES; type++)
		if (uc->objs[type])
			return true;
	return false;
}

/* ---- spoilt ---- */

static struct be_vfile *oldest_spoilt(const struct be_dev *dev)
{
	struct be_vfile *f = dev->vfiles[BE_VFILE_SPOILT];

	while (f->next)
		f = f->next;
	return f;
}

/* Files whose pages another guest holds are bounded, not charged. */
bool be_spoil(struct be_dev *dev, struct be_uc *uc)
{
	struct be_vfile *f = uc->file;

	if (!f->refused || has_objects(uc))
		return false;
	be_quota_give_uars(&dev->quota, f->uars);
	dev->spoilt_uars += f->uars;
	be_vfile_to(dev, f, BE_VFILE_SPOILT);
	uc->file = NULL;
	while (dev->n_vfiles[BE_VFILE_SPOILT] > MAX_SPOILT ||
	       dev->spoilt_uars > MAX_SPOILT_UARS)
		be_vfile_drop(dev, oldest_spoilt(dev));
	return true;
}

/* The same request to the HCA's driver must have the same answer. */
static int open_again(struct be_dev *dev, struct be_vfile *f)
{
	const struct be_opening *o = f->opening;
	uint8_t out[XENVHCA_UDATA_SIZE] = {};
	const struct uv_udata ud = {
		.in = o->host_in, .out = out,
		.in_len = o->in_len, .out_len = o->out_len,
	};
	int err = be_vfile_open(dev, f, &ud, o->uars);

	if (!err && memcmp(out, o->host_out, o->out_len))
		err = -EIO;
	return err;
}

/* Not charged yet. NULL: no other file can be had that was opened as o was. */
static struct be_vfile *opened_as(struct be_dev *dev,
				  const struct be_opening *o)
{
	struct be_vfile *f = be_vfile_new(dev);

	if (!f)
		return NULL;
	f->opening = malloc(sizeof(*o));
	if (f->opening) {
		*f->opening = *o;
		if (!open_again(dev, f))
			return f;
	}
	be_vfile_drop(dev, f);
	return NULL;
}

bool be_exchange(struct be_dev *dev, struct be_uc *uc)
{
	struct be_vfile *old = uc->file, *f;

	old->refused = true;
	if (!old->opening || old->doorbells || has_objects(uc) ||
	    uc->exchanges++ >= MAX_EXCHANGES)
		return false;
	f = opened_as(dev, old->opening);
	if (!f)
		return false;
	be_spoil(dev, uc);
	uc->file = f;
	be_uars_take(dev, f, f->opening->uars);	/* less than was given back */
	be_log(dev, BE_DEBUG, "context opened anew for other doorbell pages");
	return !be_vfile_listen(dev, uc);
}

/* ---- parked ---- */

/*
 * An object that the kernel will not destroy lives in the file, and the guest's
 * memory is the object's: the context waits until it goes. A file with a page that was
 * refused is held open like the others, but a program would be refused the page.
 */
int be_park(struct be_dev *dev, struct be_uc *uc)
{
	struct be_vfile *f = uc->file;
	int err;

	if (has_objects(uc))
		return -EBUSY;
	err = be_doorbells_withdraw(dev, f, false);
	if (err)
		return err;
	be_vfile_to(dev, f, BE_VFILE_PARKED);
	uc->file = NULL;
	if (f->refused) {
		free(f->opening);
		f->opening = NULL;
	}
	return 0;
}

void be_vfiles_end(struct be_dev *dev)
{
	struct be_vfile *f;

	while ((f = dev->vfiles[BE_VFILE_SPOILT]))
		be_vfile_drop(dev, f);
	while (dev->window.nr && (f = dev->vfiles[BE_VFILE_PARKED])) {
		be_doorbells_end(dev, f);
		be_vfile_drop(dev, f);
	}
}

bool be_park_rest(struct be_dev *dev)
{
	struct be_vfile *f, *oldest = NULL;

	for (f = dev->vfiles[BE_VFILE_PARKED]; f; f = f->next)
		if (be_doorbells_mapped(f))
			oldest = f;
	return oldest && !be_doorbells_withdraw(dev, oldest, true);
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
	uint32_t parked = dev->n_vfiles[BE_VFILE_PARKED];

	if (dev->quota.used[BE_UCONTEXT] + parked + n <= dev->quota.max[BE_UCONTEXT])
		return 0;
	be_log_peer(dev, "no room for another context: %u are parked until the guest ends, for programs that open the HCA in another way than this one; raise max-ucontext",
		    parked);
	return -EDQUOT;
}

int be_unpark(const struct be_cmd *c)
{
	const struct xenvhca_request *r = c->req;
	struct be_vfile *f = c->dev->vfiles[BE_VFILE_PARKED];

	while (f && !same_opening(f->opening, r->in_len, r->out_len, r->udata))
		f = f->next;
	if (!f)				/* c->uc itself is charged already */
		return room(c->dev, 0);
	be_vfile_to(c->dev, f, BE_VFILE_OPEN);
	c->uc->file = f;
	c->rsp->out_len = f->opening->rsp_len;
	memcpy(c->rsp->udata, f->opening->rsp, f->opening->rsp_len);
	return 1;
}

/* Is f of use to a process that was told the answer of o, and wants the page? */
static bool serves(const struct be_vfile *f, const struct be_opening *o,
		   uint64_t offset)
{
	return same_opening(f->opening, o->in_len, o->out_len, o->in) &&
	       !memcmp(f->opening->host_out, o->host_out, o->out_len) &&
	       be_doorbell_find(f, offset);
}

/* A parked file that has the page, or a new one without pages. NULL: there is
 * neither; *err is -EDQUOT if the quota is the reason. */
static struct be_vfile *other_file(struct be_dev *dev,
				   const struct be_opening *o, uint64_t offset,
				   int *err)
{
	struct be_vfile *f = dev->vfiles[BE_VFILE_PARKED];

	while (f && !serves(f, o, offset))
		f = f->next;
	if (f) {
		be_vfile_to(dev, f, BE_VFILE_OPEN);
		return f;
	}
	*err = room(dev, 1);
	if (!*err)
		*err = be_quota_take_uars(&dev->quota, o->uars);
	if (*err)
		return NULL;
	f = opened_as(dev, o);
	if (f)
		f->uars = o->uars;
	else
		be_quota_give_uars(&dev->quota, o->uars);
	return f;
}

int be_park_other(struct be_dev *dev, struct be_uc *uc, uint64_t offset)
{
	struct be_vfile *other;
	int err = 0;

	if (has_objects(uc))
		return 0;
	other = other_file(dev, uc->file->opening, offset, &err);
	if (!other)
		return err;
	be_vfile_to(dev, uc->file, BE_VFILE_PARKED);
	uc->file = other;
	return be_vfile_listen(dev, uc);
}
