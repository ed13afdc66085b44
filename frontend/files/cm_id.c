// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The ids of processes, see cm.h. The uid of an id comes back to the process in events,
 * where librdmacm takes it for an address. So a backend gets the number of the id
 * instead, which names an id of the file at this backend, or nothing. Numbers are
 * unique among all files, as an id may move to another file.
 */
#include <linux/slab.h>
#include <linux/xarray.h>

#include "cm.h"

static DEFINE_XARRAY_ALLOC1(ids);	/* its lock: cm of each id */

struct vhca_cm_id *vhca_cm_id_new(struct vhca_cm *cm, u64 uid,
				  struct vhca_cm_id *of)
{
	struct vhca_cm_id *id = kzalloc(sizeof(*id), GFP_KERNEL_ACCOUNT);
	static u32 next;

	if (!id)
		return NULL;
	id->cm = cm;
	id->uid = uid;
	id->of = of;
	INIT_LIST_HEAD(&id->ends);
	if (xa_alloc_cyclic(&ids, &id->id, id, xa_limit_32b, &next,
			    GFP_KERNEL_ACCOUNT) < 0) {
		kfree(id);
		return NULL;
	}
	list_add_tail(&id->list, &cm->ids);
	return id;
}

static void id_free(struct vhca_cm_id *id)
{
	struct vhca_cm_end *end, *next;

	list_for_each_entry_safe(end, next, &id->ends, list)
		vhca_cm_end_free(end);
	id->cm->removals -= id->notify;
	xa_erase(&ids, id->id);
	list_del(&id->list);
	kfree(id);
}

void vhca_cm_id_free(struct vhca_cm_id *id)
{
	struct vhca_cm_id *group, *next;

	list_for_each_entry_safe(group, next, &id->cm->ids, list)
		if (group->of == id)
			id_free(group);
	id_free(id);
}

struct vhca_cm_id *vhca_cm_id_get(struct vhca_cm *cm, u32 number, bool group,
				  int *rc)
{
	struct vhca_cm_id *id;

	xa_lock(&ids);
	id = xa_load(&ids, number);
	*rc = !id || !id->of == group ? -ENOENT : id->cm != cm ? -EINVAL : 0;
	xa_unlock(&ids);
	return *rc ? NULL : id;
}

struct vhca_cm_id *vhca_cm_id_of(struct vhca_cm *cm, u64 cookie)
{
	struct vhca_cm_id *id;

	if (cookie > U32_MAX)
		return NULL;
	xa_lock(&ids);
	id = xa_load(&ids, cookie);
	if (id && id->cm != cm)
		id = NULL;
	xa_unlock(&ids);
	return id;
}

static void id_move(struct vhca_cm_id *id, struct vhca_cm *to)
{
	id->cm->removals -= id->notify;
	to->removals += id->notify;
	xa_lock(&ids);
	id->cm = to;
	xa_unlock(&ids);
	list_move_tail(&id->list, &to->ids);
}

void vhca_cm_id_move(struct vhca_cm_id *id, struct vhca_cm *to)
{
	struct vhca_cm *from = id->cm;
	struct vhca_cm_id *group, *next;

	id_move(id, to);
	list_for_each_entry_safe(group, next, &from->ids, list)
		if (group->of == id)
			id_move(group, to);
}

struct vhca_cm_end *vhca_cm_end_new(struct vhca_cm_id *id,
				    struct vhca_cm_part *part, u32 there)
{
	struct vhca_cm_end *end = kzalloc(sizeof(*end), GFP_KERNEL_ACCOUNT);

	if (!end)
		return NULL;
	end->part = part;
	end->id = there;
	list_add_tail(&end->list, &id->ends);
	return end;
}

struct vhca_cm_end *vhca_cm_end_of(const struct vhca_cm_id *id,
				   const struct vhca_cm_part *part)
{
	struct vhca_cm_end *end;

	list_for_each_entry(end, &id->ends, list)
		if (end->part == part)
			return end;
	return NULL;
}

void vhca_cm_end_free(struct vhca_cm_end *end)
{
	list_del(&end->list);
	kfree(end);
}

/* As natively, a listener at the wildcard stays, without an event. */
void vhca_cm_ids_removed(struct vhca_cm_part *part)
{
	struct vhca_cm *cm = part->cm;
	struct vhca_cm_end *end;
	struct vhca_cm_id *id;

	list_for_each_entry(id, &cm->ids, list) {
		end = vhca_cm_end_of(id, part);
		if (!end)
			continue;
		vhca_cm_end_free(end);
		if (!id->placed && !id->of)
			continue;
		id->removed = true;
		id->notify = id->uid && !id->of;
		cm->removals += id->notify;
	}
}
