// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Events of the connection managers of all backends, for the process that fetches one.
 * A backend is not trusted: an event that does not name an id of this file at this
 * backend is ignored.
 */
#include <linux/fs.h>

#include "cm.h"

/* Of enum rdma_cm_event_type, which is not part of the uapi. */
#define EV_CONNECT_REQUEST	4
#define EV_DEVICE_REMOVAL	11

/* A request to connect has made a new id at the backend. */
static int event_request(struct vhca_cm_id *id, struct vhca_cm_part *part,
			 struct rdma_ucm_event_resp *ev)
{
	struct vhca_cm_id *new = vhca_cm_id_new(id->cm, 0, NULL);

	if (!new)
		return -ENOMEM;
	if (!vhca_cm_end_new(new, part, ev->id)) {
		vhca_cm_id_free(new);
		return -ENOMEM;
	}
	new->placed = true;
	ev->id = new->id;
	return 0;
}

static void event_counts(struct vhca_cm_id *id)
{
	id->events++;
	if (id->of)
		id->of->events++;
}

/*
 * Translates an event of a backend to ids of the process. VHCA_CM_STALE: the process
 * has no such id, or not any more. An id ends under the same lock.
 */
static int event_of(struct vhca_cm_part *part, struct vhca_cm_call *c)
{
	struct rdma_ucm_event_resp ev;
	struct vhca_cm_id *id;
	int rc = 0;

	if (!c->out_len)
		return -EAGAIN;
	if (c->out_len < c->op->out_min)
		return VHCA_CM_STALE;
	memcpy(&ev, c->out, sizeof(ev));
	id = vhca_cm_id_of(part->cm, ev.uid);
	if (!id || !vhca_cm_end_of(id, part))
		return VHCA_CM_STALE;
	if (ev.event == EV_CONNECT_REQUEST)
		rc = event_request(id, part, &ev);
	else
		ev.id = id->of ? id->of->id : id->id;
	if (rc)
		return rc;
	ev.uid = id->uid;
	event_counts(id);
	memcpy(c->out, &ev, sizeof(ev));
	return 0;
}

/* The event of an id whose device is gone. */
static int event_removal(struct vhca_cm *cm, struct vhca_cm_call *c)
{
	struct rdma_ucm_event_resp ev = { .event = EV_DEVICE_REMOVAL };
	struct vhca_cm_id *id;

	list_for_each_entry(id, &cm->ids, list)
		if (id->notify)
			break;
	id->notify = false;
	WRITE_ONCE(cm->removals, cm->removals - 1);
	ev.uid = id->uid;
	ev.id = id->id;
	event_counts(id);
	c->out_len = min_t(u16, c->room, sizeof(ev));
	memcpy(c->out, &ev, sizeof(ev));
	return 0;
}

/* The next part that has events, each in its turn. */
static struct vhca_cm_part *next_part(struct vhca_cm *cm)
{
	struct vhca_cm_part *part, *first = NULL;

	list_for_each_entry(part, &cm->parts, list) {
		if (!READ_ONCE(part->f.events))
			continue;
		if (part->number > cm->last)
			return part;
		if (!first)
			first = part;
	}
	return first;
}

/* Its device goes: the process gets that as an event of its ids. */
static int part_fails(struct vhca_cm_part *part)
{
	WRITE_ONCE(part->f.events, false);
	return -EAGAIN;
}

int vhca_cm_fetch(struct vhca_cm *cm, struct vhca_cm_call *c)
{
	struct vhca_cm_part *part;
	int rc = -EAGAIN;

	if (mutex_lock_killable(&cm->lock))
		return -EINTR;
	part = cm->removals ? NULL : next_part(cm);
	if (cm->removals) {
		rc = event_removal(cm, c);
	} else if (part) {
		cm->last = part->number;
		rc = vhca_cmd_cm_command(&part->f, c);
		if (!rc)
			rc = event_of(part, c);
		else if (rc == -EIO)
			rc = part_fails(part);
	}
	mutex_unlock(&cm->lock);
	return rc;
}
