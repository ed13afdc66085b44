// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Objects of the fake kernel: handles, who uses whom, and whether the memory
 * that the HCA used is still there when it lets go of it.
 */
#include <errno.h>
#include <sys/mman.h>

#include "fake_priv.h"

struct fake_obj *fake_obj_find(const struct call *c, enum fake_type type,
			       uint32_t handle)
{
	unsigned int i;

	for (i = 0; i < FAKE_OBJS; i++)
		if (fake.obj[i].used && fake.obj[i].fd == c->f->fd &&
		    fake.obj[i].type == type && fake.obj[i].handle == handle)
			return &fake.obj[i];
	return NULL;
}

/* All types of a file share one handle space, lowest free number first. */
static uint32_t handle_free(const struct call *c)
{
	bool used[FAKE_OBJS] = { false };
	uint32_t i;

	for (i = 0; i < FAKE_OBJS; i++)
		if (fake.obj[i].used && fake.obj[i].fd == c->f->fd)
			used[fake.obj[i].handle] = true;
	for (i = 0; used[i]; i++)
		;
	return i;
}

void fake_number(uint32_t next)
{
	fake.next_num = next - 1;
}

struct fake_obj *fake_obj_new(const struct call *c, enum fake_type type)
{
	unsigned int i;

	for (i = 0; i < FAKE_OBJS; i++) {
		if (fake.obj[i].used)
			continue;
		fake.obj[i] = (struct fake_obj){
			.type = type, .fd = c->f->fd,
			.handle = handle_free(c), .num = ++fake.next_num,
		};
		fake.obj[i].used = true;
		return &fake.obj[i];
	}
	return NULL;
}

void fake_obj_uses(struct fake_obj *o, unsigned int slot, struct fake_obj *d)
{
	if (!d)
		return;
	o->dep[slot] = (uint32_t)(d - fake.obj) + 1;
	d->users++;
}

bool fake_mapped(uint64_t addr, uint64_t length)
{
	return !addr || !msync((void *)(uintptr_t)(addr & ~4095ull),
			       length + (addr & 4095), MS_ASYNC);
}

void fake_obj_del(struct fake_obj *o)
{
	unsigned int i;

	/* what the HCA used must still be there when it lets go of it */
	if ((!o->dmabuf && !fake_mapped(o->start, o->length)) ||
	    !fake_mapped(o->db, 8))
		fake.violations++;
	fake_dmabuf_drop(o);
	for (i = 0; i < 4; i++)
		if (o->dep[i])
			fake.obj[o->dep[i] - 1].users--;
	fake_key_drop(o->ring);
	fake_key_drop(o->rq_ring);
	o->used = false;
}

int fake_obj_destroy(const struct call *c, enum fake_type type, uint32_t handle)
{
	struct fake_obj *o = fake_obj_find(c, type, handle);

	if (!o)
		return -ENOENT;
	if (o->users || o->mcast)
		return -EBUSY;
	fake_obj_del(o);
	return 0;
}

unsigned int fake_live(enum fake_type type)
{
	unsigned int i, n = 0;

	for (i = 0; i < FAKE_OBJS; i++)
		n += fake.obj[i].used && fake.obj[i].type == type;
	return n;
}

unsigned int fake_live_all(void)
{
	unsigned int type, n = 0;

	for (type = 0; type < FAKE_TYPES; type++)
		n += fake_live(type);
	return n;
}

struct fake_obj *fake_nth(enum fake_type type, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < FAKE_OBJS; i++)
		if (fake.obj[i].used && fake.obj[i].type == type && !n--)
			return &fake.obj[i];
	return NULL;
}
