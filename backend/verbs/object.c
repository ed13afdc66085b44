// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What every object has in common: quota, handle, list of its ucontext,
 * destruction. The command thread runs this. It holds be_dev.lock for writing
 * only around the change of tables and lists, never during a call into the
 * kernel.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "object.h"
#include "shadow.h"
#include "ucontext.h"
#include "vhca-keys.h"

/* Contexts and mappings end by rules of their own: context/ucontext.c, range.c. */
const struct be_kind be_kind_ucontext = {}, be_kind_mmap = {};

#define ROW(KIND, word, def) [BE_##KIND] = &be_kind_##word,
static const struct be_kind *const kinds[BE_TYPES] = { XENVHCA_KINDS(ROW) };

void *be_obj_new(const struct be_cmd *c, enum be_type type, size_t size,
		 int *err)
{
	struct be_dev *dev = c->dev;
	struct be_obj *obj;

	*err = be_quota_take(&dev->quota, type);
	if (*err) {
		be_log_peer(dev, "no more than %u objects of type %s (max-%s)",
			    dev->quota.max[type], be_type_name[type],
			    be_type_name[type]);
		return NULL;
	}
	obj = calloc(1, size);
	if (!obj) {
		be_quota_give(&dev->quota, type);
		*err = -ENOMEM;
		return NULL;
	}
	if (type != BE_UCONTEXT)
		obj->uc = c->uc ? c->uc : dev->ctl;
	pthread_rwlock_wrlock(&dev->lock);
	*err = be_handle_add(dev->handles, obj);
	pthread_rwlock_unlock(&dev->lock);
	if (*err) {
		be_quota_give(&dev->quota, type);
		free(obj);
		return NULL;
	}
	return obj;
}

static struct be_obj **obj_list(struct be_dev *dev, const struct be_obj *obj)
{
	if (obj->type == BE_UCONTEXT)
		return &dev->ucontexts;
	return &obj->uc->objs[obj->type];
}

void be_obj_publish(struct be_dev *dev, struct be_obj *obj, enum be_type type,
		    uint32_t host)
{
	struct be_obj **head;

	pthread_rwlock_wrlock(&dev->lock);
	obj->type = type;
	obj->host = host;
	head = obj_list(dev, obj);
	obj->next = *head;
	if (obj->next)
		obj->next->prev = obj;
	*head = obj;
	pthread_rwlock_unlock(&dev->lock);
	be_log(dev, BE_DEBUG, "created %s %#x", be_type_name[type],
	       obj->handle);
}

static void obj_unlink(struct be_dev *dev, struct be_obj *obj)
{
	if (obj->prev)
		obj->prev->next = obj->next;
	else
		*obj_list(dev, obj) = obj->next;
	if (obj->next)
		obj->next->prev = obj->prev;
}

void be_obj_free(struct be_dev *dev, struct be_obj *obj, enum be_type type)
{
	bool published;
	uint32_t handle;

	if (!obj)
		return;
	published = obj->type != BE_NONE;
	handle = obj->handle;
	pthread_rwlock_wrlock(&dev->lock);
	if (published)
		obj_unlink(dev, obj);
	be_handle_del(dev->handles, obj);
	pthread_rwlock_unlock(&dev->lock);
	be_quota_give(&dev->quota, type);
	free(obj);
	if (published)
		be_log(dev, BE_DEBUG, "destroyed %s %#x", be_type_name[type],
		       handle);
}

void be_obj_release(struct be_dev *dev, struct be_obj *obj)
{
	const struct be_kind *kind = kinds[obj->type];

	if (obj->uc)
		be_offsets_drop(dev, obj->handle);
	be_shadow_detach(dev, obj);
	if (kind->release)
		kind->release(dev, obj);
	be_obj_free(dev, obj, obj->type);
}

int be_obj_destroy(struct be_dev *dev, struct be_obj *obj)
{
	const struct be_kind *kind = kinds[obj->type];
	int err = 0;

	if (kind->end)
		err = kind->end(dev, obj);
	else if (kind->host_end)
		err = kind->host_end(obj->uc->file->fd, obj->host);
	if (!err)
		be_obj_release(dev, obj);
	return err;
}

int be_obj_made(const struct be_cmd *c, struct be_udata *u, struct be_obj *obj,
		enum be_type type, uint32_t host, int err)
{
	if (err) {
		if (kinds[type]->release)
			kinds[type]->release(c->dev, obj);
		be_obj_free(c->dev, obj, type);
		return err;
	}
	be_obj_publish(c->dev, obj, type, host);
	err = u ? be_udata_end(u, c, obj->handle) : 0;
	if (err)
		be_obj_destroy(c->dev, obj);
	return err;
}

void be_objs_destroy(struct be_dev *dev, struct be_uc *uc, unsigned int last)
{
	struct be_obj *o, *next;
	unsigned int type;

	for (type = BE_TYPES; type-- > last;) {
		if (type == BE_MMAP)
			continue;
		for (o = uc->objs[type]; o; o = next) {
			next = o->next;
			if (be_obj_destroy(dev, o))
				be_log(dev, BE_DEBUG, "%s %#x left to close",
				       be_type_name[o->type], o->handle);
		}
	}
}

void be_objs_release(struct be_dev *dev, struct be_uc *uc)
{
	unsigned int type;

	for (type = BE_TYPES; type-- > BE_NONE + 1;)
		while (uc->objs[type])
			be_obj_release(dev, uc->objs[type]);
}

int be_destroy(const struct be_cmd *c, enum be_type type)
{
	struct be_obj *obj = be_handle_get(c->dev->handles,
					   c->req->u.handle.handle, type, c->uc);

	if (!obj)
		return -ENOENT;
	if (kinds[type]->busy && kinds[type]->busy(obj))
		return -EBUSY;
	return be_obj_destroy(c->dev, obj);
}
