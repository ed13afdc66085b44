// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Rewrites the udata of a request for the kernel, field by field as the
 * provider's table says, and reads the mmap offsets out of the answer. What the
 * table does not name is passed on as it is. The command thread runs this. The
 * udata and the page lists come from the guest; the kernel's answer is trusted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ucontext.h"
#include "udata.h"

/*
 * A page with doorbell records. Drivers pin it once per user address, so what a context
 * names by one reference has one address here as long as any object uses it. Its grant
 * is of no use any more when the last of these is gone: another reference is another
 * page, even if the process has it at the same address.
 */
struct be_dbpage {
	struct be_dbpage *next;
	uint32_t gref;
	struct be_gmap map;
	unsigned int users;
};

static uint64_t field_get(const uint8_t *data, const struct vhca_field *f)
{
	uint64_t v = 0;

	memcpy(&v, data + f->off, f->len < sizeof(v) ? f->len : sizeof(v));
	return v;
}

static void field_set(uint8_t *data, const struct vhca_field *f, uint64_t v)
{
	memcpy(data + f->off, &v, f->len < sizeof(v) ? f->len : sizeof(v));
}

static struct be_dbpage *dbpage_find(struct be_uc *uc, uint32_t gref)
{
	struct be_dbpage *db;

	for (db = uc->dbpages; db; db = db->next)
		if (db->gref == gref)
			return db;
	return NULL;
}

static int dbpage_get(const struct be_cmd *c, const struct xenvhca_pages *list,
		      struct be_dbpage **out)
{
	struct be_dbpage *db;
	int err;

	if (!list || list->nr_pages != 1 || list->level)
		return -EINVAL;
	db = dbpage_find(c->uc, list->gref[0]);
	if (!db) {
		db = calloc(1, sizeof(*db));
		if (!db)
			return -ENOMEM;
		err = be_gmap_map(c->dev, list, 0, XENVHCA_PAGE_SIZE, &db->map);
		if (err) {
			free(db);
			return err;
		}
		db->gref = list->gref[0];
		db->next = c->uc->dbpages;
		c->uc->dbpages = db;
	}
	db->users++;
	*out = db;
	return 0;
}

static void dbpage_put(struct be_dev *dev, struct be_uc *uc,
		       struct be_dbpage *db)
{
	struct be_dbpage **p = &uc->dbpages;

	if (--db->users)
		return;
	while (*p != db)
		p = &(*p)->next;
	*p = db->next;
	be_gmap_unmap(dev, &db->map);
	free(db);
}

void be_bufs_release(struct be_dev *dev, struct be_uc *uc,
		     struct be_bufs *bufs)
{
	unsigned int i;

	for (i = 0; i < BE_MAX_BUFS; i++)
		be_gmap_unmap(dev, &bufs->buf[i]);
	if (bufs->db)
		dbpage_put(dev, uc, bufs->db);
	bufs->db = NULL;
}

/*
 * The list must be as long as what the HCA's driver will pin, or the driver
 * would pin what lies behind it here.
 */
static int buf_map(struct be_udata *u, const struct be_cmd *c,
		   const struct vhca_field *f, const struct xenvhca_pages *list,
		   struct be_gmap *g)
{
	uint64_t va = field_get(u->in, f) & (XENVHCA_PAGE_SIZE - 1);
	uint64_t len;
	int err;

	err = f->length(c->req, &len);
	if (err)
		return err;
	if (!len) {
		field_set(u->in, f, 0);
		return !list || be_pages_absent(list) ? 0 : -EINVAL;
	}
	err = list ? be_gmap_map(c->dev, list, (uint32_t)va, len, g) : -EINVAL;
	if (err)
		return err;
	field_set(u->in, f, (uintptr_t)g->addr + va);
	return 0;
}

static int db_map(struct be_udata *u, const struct be_cmd *c,
		  const struct vhca_field *f, const struct xenvhca_pages *list,
		  struct be_bufs *bufs)
{
	uint64_t va = field_get(u->in, f);
	uint64_t in_page = va & (XENVHCA_PAGE_SIZE - 1);
	uint64_t len = f->arg;
	int err = f->length ? f->length(c->req, &len) : 0;

	if (err)
		return err;
	if (!len) {
		field_set(u->in, f, 0);
		return !list || be_pages_absent(list) ? 0 : -EINVAL;
	}
	if (bufs->db)			/* one per object */
		return -EINVAL;
	/* Drivers add the offset unchecked, and only that page is mapped. */
	if (in_page & (f->arg - 1))
		return -EINVAL;
	err = dbpage_get(c, list, &bufs->db);
	if (!err)
		field_set(u->in, f, (uintptr_t)bufs->db->map.addr + in_page);
	return err;
}

/* The n-th BUF field goes with the n-th list of the request. */
static int buf_next(struct be_udata *u, const struct be_cmd *c,
		    const struct vhca_field *f, const struct be_lists *lists,
		    struct be_bufs *bufs)
{
	unsigned int i = 0;

	while (i < BE_MAX_BUFS && bufs->buf[i].addr)
		i++;
	if (i == BE_MAX_BUFS)
		return -EINVAL;
	return buf_map(u, c, f, lists->buf[i], &bufs->buf[i]);
}

static int field_apply(struct be_udata *u, const struct be_cmd *c,
		       const struct vhca_field *f,
		       const struct be_lists *lists, struct be_bufs *bufs)
{
	switch (f->kind) {
	case VHCA_BUF:
		if (!lists)
			return -EINVAL;
		return buf_next(u, c, f, lists, bufs);
	case VHCA_DBPAGE:
		if (!lists)
			return -EINVAL;
		return db_map(u, c, f, lists->db, bufs);
	case VHCA_MASK:
		field_set(u->in, f, field_get(u->in, f) & ~f->arg);
		return 0;
	case VHCA_OUTPTR:
		if (f->arg > sizeof(u->ptr_out))
			return -EINVAL;
		field_set(u->in, f, (uintptr_t)u->ptr_out);
		return 0;
	default:
		return 0;
	}
}

/* A list without a field of the table that uses it has no meaning. */
static bool lists_consumed(const struct be_lists *lists,
			   const struct be_bufs *bufs)
{
	unsigned int i;

	if (!lists)
		return true;
	for (i = 0; i < BE_MAX_BUFS; i++)
		if (lists->buf[i] && !bufs->buf[i].addr &&
		    !be_pages_absent(lists->buf[i]))
			return false;
	return !lists->db || bufs->db || be_pages_absent(lists->db);
}

/* What a queue of so many octets is charged; a shadow is as long as the queue. */
static uint64_t queue_pages(enum vhca_queue queue, uint64_t len)
{
	uint64_t pages = len / XENVHCA_PAGE_SIZE + !!(len % XENVHCA_PAGE_SIZE);

	return queue == VHCA_QUEUE_SHARED ? pages : 2 * pages;
}

/* Is a new queue expected in the answer, and is there room for it? */
static int queue_check(const struct be_cmd *c, const struct vhca_udata_op *row)
{
	const struct vhca_field *f;
	uint64_t len, pages = 0;
	unsigned int i;
	int err;

	for (i = 0; i < VHCA_MAX_FIELDS; i++) {
		f = &row->rsp[i];
		if (f->kind != VHCA_KEY || f->off + f->len > c->req->out_len)
			continue;
		err = f->length(c->req, &len);
		if (err)
			return err;
		if (len)		/* and its head */
			pages += queue_pages((enum vhca_queue)f->arg, len + 1);
	}
	err = pages ? be_quota_room(&c->dev->quota, pages) : 0;
	if (err)
		be_log_peer(c->dev, "%llu pages of queue memory beside %llu exceed max-pinned-mb",
			    (unsigned long long)pages,
			    (unsigned long long)c->dev->quota.queue_pages);
	return err;
}

static int fields_apply(struct be_udata *u, const struct be_cmd *c,
			const struct be_lists *lists, struct be_bufs *bufs)
{
	const struct vhca_field *f;
	unsigned int i;
	int err = queue_check(c, u->row);

	if (!err)
		err = vhca_provider_check_zero(u->row, c->req);
	for (i = 0; i < VHCA_MAX_FIELDS && !err; i++) {
		f = &u->row->req[i];
		if (f->kind == VHCA_END)
			break;
		if (f->off + f->len <= c->req->in_len)
			err = field_apply(u, c, f, lists, bufs);
	}
	return err;
}

int be_udata_begin(struct be_udata *u, const struct be_cmd *c,
		   const struct be_lists *lists, struct be_bufs *bufs)
{
	const struct xenvhca_request *req = c->req;
	int err = 0;

	memset(u, 0, sizeof(*u));
	u->uc = c->uc;
	u->row = c->dev->rows[req->op];
	memcpy(u->in, req->udata, req->in_len);
	if (u->row) {
		u->extra = vhca_provider_outptr(u->row);
		err = fields_apply(u, c, lists, bufs);
	}
	/* No room asked for: what the driver writes to ptr_out stays here. */
	if (req->out_len < u->extra)
		u->extra = 0;
	u->guest_out = req->out_len - u->extra;
	if (!err && !lists_consumed(lists, bufs))
		err = -EINVAL;
	if (err && bufs)
		be_bufs_release(c->dev, c->uc, bufs);
	u->uv = (struct uv_udata){ u->in, u->out, req->in_len, u->guest_out };
	return err;
}

static int key_add(const struct be_cmd *c, struct be_uc *uc,
		   const struct vhca_field *f, uint32_t owner)
{
	const uint8_t *at = c->rsp->udata + f->off;
	struct be_offset *key;
	uint64_t offset;
	uint32_t size;

	memcpy(&offset, at, sizeof(offset));
	memcpy(&size, at + sizeof(offset), sizeof(size));
	if (!size)
		return 0;
	key = calloc(1, sizeof(*key));
	if (!key)
		return -ENOMEM;
	*key = (struct be_offset){
		.uc = uc, .offset = offset, .size = size,
		.owner = owner, .queue = (enum vhca_queue)f->arg,
		.charged = (uint32_t)queue_pages((enum vhca_queue)f->arg, size),
	};
	be_quota_charge_queue(&c->dev->quota, key->charged);
	be_offset_add(c->dev, key);
	return 0;
}

int be_udata_end(struct be_udata *u, const struct be_cmd *c, uint32_t owner)
{
	struct xenvhca_response *rsp = c->rsp;
	const struct vhca_field *f;
	unsigned int i;
	int err = 0;

	memcpy(rsp->udata, u->out, u->guest_out);
	memcpy(rsp->udata + u->guest_out, u->ptr_out, u->extra);
	rsp->out_len = u->guest_out + u->extra;
	for (i = 0; u->row && i < VHCA_MAX_FIELDS && !err; i++) {
		f = &u->row->rsp[i];
		if (f->kind == VHCA_END)
			break;
		if (f->off + f->len > rsp->out_len)
			continue;
		if (f->kind == VHCA_KEY)
			err = key_add(c, u->uc, f, owner);
		else if (f->kind == VHCA_AH)
			u->ah_num = (uint32_t)field_get(rsp->udata, f);
		else if (f->kind == VHCA_MASK)
			field_set(rsp->udata, f,
				  field_get(rsp->udata, f) & ~f->arg);
	}
	return err;
}
