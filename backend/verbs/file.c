// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The life of a file of the kernel that a guest's process has open; see file.h.
 */
#include "core/event.h"
#include "file.h"
#include "object.h"
#include "tables.h"
#include "uverbs/uverbs.h"

bool be_file_close(struct be_file *f)
{
	if (f->ready.fd < 0)
		return false;
	be_event_del(f->dev, f->ready.fd);
	uv_close(&f->ready.fd);
	return true;
}

void be_file_release(struct be_dev *dev, struct be_obj *obj)
{
	(void)dev;
	be_ready_fini(&((struct be_file *)obj)->ready);
}

int be_file_alloc(const struct be_cmd *c, enum be_type type, size_t size,
		  const char *path, const struct be_ready *ready)
{
	struct be_file *f;
	int err;

	f = be_obj_new(c, type, size, &err);
	if (!f)
		return err;
	f->dev = c->dev;
	be_ready_init(&f->ready, ready->type, uv_open_file(path), f->o.handle);
	f->ready.has = ready->has;
	err = f->ready.fd < 0 ? f->ready.fd :
	      be_event_add_ready(c->dev, &f->ready);
	if (err) {
		be_file_close(f);
		be_file_release(c->dev, &f->o);
		be_obj_free(c->dev, &f->o, type);
		return err;
	}
	be_obj_publish(c->dev, &f->o, type, 0);
	c->rsp->u.handle.handle = f->o.handle;
	return 0;
}

void *be_file_of(const struct be_cmd *c, enum be_type type)
{
	return be_handle_get(c->dev->handles, c->req->u.handle.handle, type,
			     c->dev->ctl);
}
