// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Numbers that stand for the uids of processes, see cm.h. The backend sends them
 * back, or anything else: one that is not in the table of the file names nothing.
 */
#include <linux/atomic.h>
#include <linux/slab.h>

#include "cm.h"

struct cm_uid {
	u64 uid;
	u32 id, owner;
	bool known;			/* id is set */
	bool group;
};

void vhca_cm_uid_init(struct vhca_cm *cm)
{
	xa_init(&cm->uids);
}

void vhca_cm_uid_exit(struct vhca_cm *cm)
{
	struct cm_uid *u;
	unsigned long i;

	xa_for_each(&cm->uids, i, u)
		kfree(u);
	xa_destroy(&cm->uids);
}

/* Unique among all files, as an id may move to another one. */
static u32 next_cookie(void)
{
	static atomic_t last;
	u32 cookie;

	do
		cookie = atomic_inc_return(&last);
	while (!cookie);
	return cookie;
}

int vhca_cm_uid_new(struct vhca_cm *cm, u64 uid, u32 *cookie)
{
	struct cm_uid *u;
	int rc;

	*cookie = 0;
	if (!uid)
		return 0;
	u = kzalloc(sizeof(*u), GFP_KERNEL_ACCOUNT);
	if (!u)
		return -ENOMEM;
	u->uid = uid;
	do {
		*cookie = next_cookie();
		rc = xa_insert(&cm->uids, *cookie, u, GFP_KERNEL_ACCOUNT);
	} while (rc == -EBUSY);		/* after 2^32 of them */
	if (rc)
		kfree(u);
	return rc;
}

void vhca_cm_uid_drop(struct vhca_cm *cm, u32 cookie)
{
	if (cookie)
		kfree(xa_erase(&cm->uids, cookie));
}

static bool is_of(const struct cm_uid *u, u32 id, bool group)
{
	if (!u->known)
		return false;
	return (u->group == group && u->id == id) ||
	       (!group && u->group && u->owner == id);
}

void vhca_cm_uid_of(struct vhca_cm *cm, u32 cookie, u32 id, bool group,
		    u32 owner)
{
	struct cm_uid *u;
	unsigned long i;

	xa_for_each(&cm->uids, i, u)
		if (u->known && u->group == group && u->id == id)
			vhca_cm_uid_drop(cm, i);
	u = cookie ? xa_load(&cm->uids, cookie) : NULL;
	if (!u)
		return;
	u->id = id;
	u->owner = owner;
	u->group = group;
	u->known = true;
}

void vhca_cm_uid_end(struct vhca_cm *cm, u32 id, bool group)
{
	struct cm_uid *u;
	unsigned long i;

	xa_for_each(&cm->uids, i, u)
		if (is_of(u, id, group))
			vhca_cm_uid_drop(cm, i);
}

int vhca_cm_uid_move(struct vhca_cm *from, struct vhca_cm *to, u32 id)
{
	struct cm_uid *u;
	unsigned long i;
	int rc;

	xa_for_each(&from->uids, i, u) {
		if (!is_of(u, id, false))
			continue;
		rc = xa_insert(&to->uids, i, u, GFP_KERNEL_ACCOUNT);
		if (rc)
			return rc;
		xa_erase(&from->uids, i);
	}
	return 0;
}

bool vhca_cm_uid_get(struct vhca_cm *cm, u64 cookie, u64 *uid)
{
	struct cm_uid *u = cookie && cookie <= U32_MAX ?
			   xa_load(&cm->uids, cookie) : NULL;

	*uid = u ? u->uid : 0;
	return u || !cookie;
}
