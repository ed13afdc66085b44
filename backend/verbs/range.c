// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Queue memory of the HCA's driver that the guest's process maps. The driver
 * announces a range in the udata of what it makes (be_udata_end()); the range
 * is mapped here and granted with the answer, or when the guest asks for it, and
 * lives until the guest has unmapped it. The command thread runs this.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "object.h"
#include "shadow.h"
#include "ucontext.h"

/* The queue may live on without the range, then it pays for its memory. */
static void charge_return(struct be_dev *dev, const struct be_mmap *m)
{
	struct be_offset *off = be_offset_of(dev, m);

	if (off)
		off->charged = m->charged;
	else
		be_quota_give_queue(&dev->quota, m->charged);
}

void be_mmap_release(struct be_dev *dev, struct be_mmap *m)
{
	int left;

	charge_return(dev, m);
	if (m->ref) {
		left = dev->t->ops->ungrant(dev->t, m->grant_id);
		if (left > 0)
			be_log_peer(dev, "%d queue pages are still mapped by the guest; they stay allocated until it unmaps them",
				    left);
	}
	be_shadow_free(dev, m->shadow);
	if (m->addr)
		uv_munmap(m->addr, m->length);
	free(m->ref);
	be_mmap_del(dev, m);
	be_obj_free(dev, &m->o, BE_MMAP);
}

/* The queue's object exists: its keys end with it. */
static int mmap_shadow(struct be_dev *dev, struct be_mmap *m,
		       enum vhca_queue queue)
{
	struct be_obj *owner;
	int err;

	owner = be_handle_get(dev->handles, m->owner, BE_QP, m->o.uc);
	if (!owner)
		owner = be_handle_get(dev->handles, m->owner, BE_SRQ, m->o.uc);
	if (!owner)
		return -ENOENT;
	m->shadow = be_shadow_new(dev, m, queue, owner, &err);
	if (m->shadow && queue == VHCA_QUEUE_RECV)
		be_recv_poll_now(dev);	/* there is one more to look at */
	return err;
}

static int mmap_grant(struct be_dev *dev, const struct be_uc *uc,
		      struct be_mmap *m, enum vhca_queue queue)
{
	int err = uv_mmap(uc->file->fd, m->offset, m->length, &m->addr);
	uint32_t *ref;

	if (!err && queue != VHCA_QUEUE_SHARED)
		err = mmap_shadow(dev, m, queue);
	if (err)
		return err;
	ref = calloc(m->nr_pages, sizeof(*ref));
	if (!ref)
		return -ENOMEM;
	err = dev->t->ops->grant(dev->t, m->shadow ? m->shadow->guest : m->addr,
				 m->nr_pages, ref, &m->grant_id);
	if (err)
		free(ref);
	else
		m->ref = ref;
	return err;
}

static int mmap_new(const struct be_cmd *c, uint64_t offset, uint64_t length,
		    struct be_mmap **out)
{
	struct be_mmap *m;
	struct be_offset *off;
	int err;

	m = be_obj_new(c, BE_MMAP, sizeof(*m), &err);
	if (!m)
		return err;
	off = be_offset_take(c->dev, c->uc, offset, length);
	if (!off) {
		be_obj_free(c->dev, &m->o, BE_MMAP);
		return -EINVAL;
	}
	m->offset = offset;
	m->length = length;
	m->nr_pages = length / XENVHCA_PAGE_SIZE;
	m->owner = off->owner;
	m->charged = off->charged;
	off->charged = 0;
	off->mapped = true;
	be_obj_publish(c->dev, &m->o, BE_MMAP, 0);
	be_mmap_add(c->dev, m);
	err = mmap_grant(c->dev, c->uc, m, off->queue);
	if (err) {
		be_mmap_release(c->dev, m);
		return err;
	}
	*out = m;
	return 0;
}

int be_range_mmap(const struct be_cmd *c)
{
	const struct xenvhca_mmap_req *r = &c->req->u.mmap;
	struct xenvhca_mmap_rsp *rsp = &c->rsp->u.mmap;
	struct be_mmap *m = be_mmap_find(c->dev, c->uc, r->offset);
	uint32_t n;
	int err;

	if (r->gfn)
		return -EINVAL;
	if (!!m != !!r->first)		/* first request maps, later ones read */
		return -EINVAL;
	if (!m) {
		err = mmap_new(c, r->offset, r->length, &m);
		if (err)
			return err;
	}
	if (r->length != m->length || r->first >= m->nr_pages)
		return -EINVAL;
	n = m->nr_pages - r->first;
	if (n > XENVHCA_MMAP_GREFS)
		n = XENVHCA_MMAP_GREFS;
	rsp->nr_pages = m->nr_pages;
	rsp->count = n;
	rsp->kind = XENVHCA_MMAP_GRANT;
	memcpy(rsp->gref, m->ref + r->first, n * sizeof(*rsp->gref));
	return 0;
}

/* Length of the list; 0: there is something behind its end. */
static unsigned int munmap_count(const uint64_t *offset)
{
	unsigned int i, n = 1;

	while (n < XENVHCA_MUNMAP_RANGES && offset[n])
		n++;
	for (i = n; i < XENVHCA_MUNMAP_RANGES; i++)
		if (offset[i])
			return 0;
	return n;
}

int be_munmap(const struct be_cmd *c)
{
	const uint64_t *offset = c->req->u.munmap.offset;
	unsigned int i, n = munmap_count(offset);
	int err = n ? 0 : -EINVAL;
	struct be_mmap *m;

	for (i = 0; i < n; i++) {
		m = be_mmap_find(c->dev, c->uc, offset[i]);
		if (m)
			be_mmap_release(c->dev, m);
		else
			err = -ENOENT;
	}
	return err;
}

/* Maps one range whose references fit behind the @used that are there. */
static uint16_t range_tell(const struct be_cmd *c, const uint8_t *at,
			   unsigned int used)
{
	struct be_mmap *m;
	uint64_t offset;
	uint32_t size, n;

	memcpy(&offset, at, sizeof(offset));
	memcpy(&size, at + sizeof(offset), sizeof(size));
	if (!size || used == XENVHCA_MMAP_GREFS)
		return 0;
	n = size / XENVHCA_PAGE_SIZE + !!(size % XENVHCA_PAGE_SIZE);
	if (mmap_new(c, offset, (uint64_t)n * XENVHCA_PAGE_SIZE, &m))
		return 0;		/* MMAP will say why */
	if (n > XENVHCA_MMAP_GREFS - used)
		n = XENVHCA_MMAP_GREFS - used;
	memcpy(c->rsp->u.made.gref + used, m->ref, n * sizeof(*m->ref));
	return (uint16_t)n;
}

void be_ranges_tell(const struct be_cmd *c)
{
	const struct vhca_udata_op *row = c->dev->rows[c->req->op];
	struct xenvhca_made_rsp *made = &c->rsp->u.made;
	unsigned int i, n = 0, used = 0;
	const struct vhca_field *f;

	for (i = 0; row && i < VHCA_MAX_FIELDS; i++) {
		f = &row->rsp[i];
		if (f->kind == VHCA_END || n == XENVHCA_MADE_RANGES)
			break;
		if (f->kind != VHCA_KEY)
			continue;
		if (f->off + f->len <= c->rsp->out_len)
			made->count[n] = range_tell(c, c->rsp->udata + f->off,
						    used);
		used += made->count[n++];
	}
}
