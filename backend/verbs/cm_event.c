// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Events of the connection manager. The kernel is trusted; what it says of devices
 * that are not the guest's, the guest does not hear: a request to connect from there
 * is rejected, an address found there is an error. Job threads run this, see cm.h.
 */
#include <errno.h>
#include <rdma/rdma_user_cm.h>
#include <string.h>

#include "cm.h"
#include "vhca-keys.h"

#define UNSEEN	16	/* requests rejected before others get their turn */

/* enum rdma_cm_event_type, which is not part of the kernel's uapi. */
enum {
	EV_ADDR_RESOLVED = 0, EV_ADDR_ERROR = 1, EV_CONNECT_REQUEST = 4,
	EV_ESTABLISHED = 9, EV_MULTICAST_JOIN = 12, EV_MULTICAST_ERROR = 13
};

static void turn_away(const struct be_cm_call *c, uint32_t id)
{
	struct rdma_ucm_reject reject = { .id = id };
	struct rdma_ucm_destroy_id destroy = { .id = id };
	struct uv_cm uv;

	be_cm_own(c->dev, c->cm, &uv, RDMA_USER_CM_CMD_REJECT, &reject,
		  sizeof(reject), 0);
	be_cm_own(c->dev, c->cm, &uv, RDMA_USER_CM_CMD_DESTROY_ID, &destroy,
		  sizeof(destroy), sizeof(struct rdma_ucm_destroy_id_resp));
}

/*
 * The kernel made an id for the peer. False: the guest does not get it; to the kernel the
 * listener has had an event.
 */
static bool event_request(const struct be_cm_call *c,
			  const struct rdma_ucm_event_resp *ev)
{
	struct be_cm_id *new = NULL, *listener;

	if (be_cm_id_check(c->dev, false))
		be_log_peer(c->dev, "no more than %u ids of the connection manager (%s): a request to connect is rejected",
			    c->dev->quota.max_cm_ids, XENVHCA_NODE_MAX_CM_ID);
	else
		new = be_cm_id_add(c->dev, c->cm, ev->id, NULL);
	if (new && be_cm_judge(c, new) > 0)
		return true;
	turn_away(c, ev->id);
	if (new)
		be_cm_id_del(c->dev, c->cm, new);
	listener = be_cm_id_of_uid(c->dev, c->cm, ev->uid);
	if (listener)
		listener->unseen++;
	return false;
}

static void event_resolved(const struct be_cm_call *c,
			   struct rdma_ucm_event_resp *ev)
{
	struct be_cm_id *id;
	int err;

	id = be_cm_id_get(c, c->cm, ev->id, false, &err);
	if (id)
		err = be_cm_judge(c, id);
	if (err >= 0)
		return;
	ev->event = EV_ADDR_ERROR;
	ev->status = (uint32_t)err;
}

/* Of a device that is not the guest's; but who waits for an address is answered. */
static bool event_foreign(const struct be_cm_call *c,
			  const struct rdma_ucm_event_resp *ev)
{
	struct be_cm_id *id;
	int err;

	/* The number is that of a group, whose id was judged. */
	if (ev->event == EV_MULTICAST_JOIN || ev->event == EV_MULTICAST_ERROR)
		return false;
	id = be_cm_id_get(c, c->cm, ev->id, false, &err);
	if (!id || !id->foreign || ev->event == EV_ADDR_ERROR)
		return false;
	id->unseen++;
	return true;
}

/* False: the guest does not get it. */
static bool event_check(const struct be_cm_call *c,
			struct rdma_ucm_event_resp *ev)
{
	if (ev->event == EV_CONNECT_REQUEST)
		return event_request(c, ev);
	if (ev->event == EV_ADDR_RESOLVED)
		event_resolved(c, ev);
	return !event_foreign(c, ev);
}

/*
 * An address vector names the port, which the guest knows as 1. Events of a
 * connection have private data in its place.
 */
static void event_port(const struct be_cm_call *c,
		       struct rdma_ucm_event_resp *ev)
{
	struct be_cm_id *id;
	int err;

	if (ev->event != EV_MULTICAST_JOIN) {
		if (ev->event != EV_ESTABLISHED)
			return;
		id = be_cm_id_get(c, c->cm, ev->id, false, &err);
		if (!id || !id->ud)
			return;
	}
	if (ev->param.ud.ah_attr.port_num)
		ev->param.ud.ah_attr.port_num = XENVHCA_CM_PORT;
}

int be_cm_event(struct be_cm_call *c)
{
	struct rdma_ucm_event_resp ev;
	unsigned int i;
	int err = 0;

	for (i = 0; i < UNSEEN; i++) {
		err = be_cm_kernel(c->dev, c->cm, &c->uv);
		if (err)
			break;
		memcpy(&ev, c->uv.out, sizeof(ev));
		if (!event_check(c, &ev))
			continue;
		event_port(c, &ev);
		memcpy(c->uv.out, &ev, sizeof(ev));
		return 0;
	}
	c->uv.out_len = 0;
	return err == -EAGAIN ? 0 : err;
}
