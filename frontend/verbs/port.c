// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The port. A query of its state always asks the backend. The tables of GIDs and P_Keys
 * are cached, because ib_core reads them where it cannot sleep; after a port event a
 * work refreshes the cache, then passes the event to ib_core. Queries run in the
 * process that asks. Every number of the backend is brought into its range here.
 */
#include <linux/slab.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_user_verbs.h>

#include "ring/check.h"
#include "cmd.h"
#include "verbs.h"

#define VHCA_MAX_GIDS		1024u
#define VHCA_MAX_PKEYS		256u
#define VHCA_REFRESH_GAP	(HZ / 10)
#define VHCA_REFRESH_GAP_MAX	HZ

/* Table lengths never change: ib_core has sized its tables by them. */
static void set_port(struct ib_port_attr *a,
		     const struct xenvhca_query_port_rsp *r,
		     const struct ib_port_attr *old)
{
	memset(a, 0, sizeof(*a));
	a->state = r->state <= IB_PORT_ACTIVE_DEFER ? r->state : IB_PORT_DOWN;
	a->max_mtu = clamp_t(u32, r->max_mtu, IB_MTU_256, IB_MTU_4096);
	a->active_mtu = clamp_t(u32, r->active_mtu, IB_MTU_256, IB_MTU_4096);
	a->phys_mtu = ib_mtu_enum_to_int(a->active_mtu);
	a->gid_tbl_len = old->gid_tbl_len;
	a->pkey_tbl_len = old->pkey_tbl_len;
	a->ip_gids = !!r->ip_gids;
	a->port_cap_flags = r->port_cap_flags;
	a->max_msg_sz = r->max_msg_sz;
	a->bad_pkey_cntr = r->bad_pkey_cntr;
	a->qkey_viol_cntr = r->qkey_viol_cntr;
	a->lid = min_t(u32, r->lid, U16_MAX);
	a->sm_lid = min_t(u32, r->sm_lid, U16_MAX);
	a->lmc = min_t(u8, r->lmc, 7);
	a->max_vl_num = r->max_vl_num;
	a->sm_sl = r->sm_sl;
	a->subnet_timeout = r->subnet_timeout;
	a->init_type_reply = r->init_type_reply;
	a->active_width = r->active_width;
	a->active_speed = min_t(u32, r->active_speed, U16_MAX);
	a->phys_state = r->phys_state;
}

static void set_down(struct ib_port_attr *a)
{
	a->state = IB_PORT_DOWN;
	a->phys_state = IB_PORT_PHYS_STATE_DISABLED;
}

/* The port event for that state. */
static int state_event(bool active)
{
	return active ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR;
}

/* Asks the backend. A refresh tells ib_core of changes, once. */
int vhca_query_port(struct ib_device *ibdev, vhca_port_t port,
		    struct ib_port_attr *attr)
{
	struct vhca_dev *dev = to_vdev(ibdev);
	struct xenvhca_query_port_rsp rsp;
	struct ib_port_attr old;
	int rc;

	mutex_lock(&dev->cache_lock);
	old = dev->port;
	mutex_unlock(&dev->cache_lock);

	if (vhca_by_iw(dev))
		old.gid_tbl_len = 1;
	rc = READ_ONCE(dev->away) ? -EIO : vhca_cmd_query_port(dev, &rsp);
	if (!rc) {
		set_port(attr, &rsp, &old);
		if (attr->state != old.state) {
			/* The caller has seen it; the next state may be the old one. */
			set_bit(state_event(attr->state == IB_PORT_ACTIVE),
				&dev->port_events);
			vhca_port_refresh(dev);
		}
		return 0;
	}
	if (rc == -EINTR)
		return rc;
	*attr = old;
	if (READ_ONCE(dev->away) || !vhca_ring_up(&dev->ring))
		set_down(attr);
	return 0;
}

int vhca_query_gid(struct ib_device *ibdev, vhca_port_t port, int index,
		   union ib_gid *gid)
{
	struct vhca_dev *dev = to_vdev(ibdev);
	struct xenvhca_gid *entry;

	if (index < 0 || index >= dev->port.gid_tbl_len)
		return -EINVAL;
	if (vhca_by_iw(dev)) {
		vhca_netdev_gid(dev, gid);
		return 0;
	}
	memset(gid, 0, sizeof(*gid));	/* empty, or not this guest's */
	mutex_lock(&dev->cache_lock);
	entry = xa_load(&dev->gids, index);
	if (entry)
		memcpy(gid->raw, entry->gid, sizeof(gid->raw));
	mutex_unlock(&dev->cache_lock);
	return 0;
}

int vhca_query_pkey(struct ib_device *ibdev, vhca_port_t port, u16 index, u16 *pkey)
{
	struct vhca_dev *dev = to_vdev(ibdev);

	if (index >= dev->port.pkey_tbl_len)
		return -EINVAL;
	mutex_lock(&dev->cache_lock);
	*pkey = dev->pkeys[index];
	mutex_unlock(&dev->cache_lock);
	return 0;
}

enum rdma_link_layer vhca_get_link_layer(struct ib_device *ibdev, vhca_port_t port)
{
	return to_vdev(ibdev)->link_layer;
}

/*
 * No MAD, CM or SA: those belong to the domain that owns the HCA. GIDs come
 * from query_gid, not from the guest's network devices, hence no protocol over
 * Ethernet (gid.c), where an address needs a GRH. The kernel's rdma_cm leaves
 * connections to a device of iWARP.
 */
int vhca_get_port_immutable(struct ib_device *ibdev, vhca_port_t port,
			    struct ib_port_immutable *immutable)
{
	struct vhca_dev *dev = to_vdev(ibdev);

	immutable->core_cap_flags = vhca_by_iw(dev) ? RDMA_CORE_PORT_IWARP :
		dev->link_layer == IB_LINK_LAYER_ETHERNET ?
		RDMA_CORE_CAP_IB_GRH_REQUIRED : RDMA_CORE_CAP_PROT_IB;
	immutable->gid_tbl_len = vhca_by_iw(dev) ? 1 : dev->port.gid_tbl_len;
	immutable->pkey_tbl_len = dev->port.pkey_tbl_len;
	return 0;
}

/* Makes index hold @gid, or nothing. cache_lock is held. */
static int gid_set(struct vhca_dev *dev, u32 index,
		   const struct xenvhca_gid *gid, bool *changed)
{
	struct xenvhca_gid *old = xa_load(&dev->gids, index);
	struct xenvhca_gid *new = NULL;
	int rc;

	if (old && gid ? !memcmp(old, gid, sizeof(*gid)) : !old && !gid)
		return 0;
	if (gid) {
		new = kmemdup(gid, sizeof(*gid), GFP_KERNEL);
		if (!new)
			return -ENOMEM;
	}
	rc = xa_err(xa_store(&dev->gids, index, new, GFP_KERNEL));
	if (rc) {
		kfree(new);
		return rc;
	}
	kfree(old);
	*changed = true;
	return 0;
}

/* One answer speaks for the indices first .. end - 1. cache_lock is held. */
static int gids_take(struct vhca_dev *dev,
		     const struct xenvhca_query_gid_table_rsp *rsp,
		     u32 first, u32 end, bool *changed)
{
	const struct xenvhca_gid *gid;
	u32 index, i = 0;
	int rc;

	for (index = first; index < end; index++) {
		gid = NULL;
		if (i < rsp->count && rsp->gid[i].index == index)
			gid = &rsp->gid[i++];
		rc = gid_set(dev, index, gid, changed);
		if (rc)
			return rc;
	}
	return i == rsp->count ? 0 : -EIO;	/* unsorted, or out of range */
}

static int vhca_query_gid_table(struct vhca_dev *dev, bool *changed)
{
	struct xenvhca_query_gid_table_rsp rsp;
	u32 len = dev->port.gid_tbl_len;
	u32 first = 0, end;
	int rc;

	do {
		rc = vhca_cmd_query_gid_table(dev, first, &rsp);
		if (rc)
			return rc;
		if (!vhca_check_gids(&rsp, first, len, &end))
			return -EIO;
		mutex_lock(&dev->cache_lock);
		rc = gids_take(dev, &rsp, first, end, changed);
		mutex_unlock(&dev->cache_lock);
		if (rc)
			return rc;
		first = end;
	} while (rsp.next && first < len);
	return 0;
}

static int vhca_query_pkey_table(struct vhca_dev *dev, bool *changed)
{
	struct xenvhca_query_pkey_table_rsp rsp;
	u32 len = dev->port.pkey_tbl_len;
	u32 first = 0, n;
	int rc;

	while (first < len) {
		rc = vhca_cmd_query_pkey_table(dev, first, &rsp);
		if (rc)
			return rc;
		if (!vhca_check_pkeys(&rsp))
			return -EIO;
		n = min(rsp.count, len - first);
		mutex_lock(&dev->cache_lock);
		if (memcmp(dev->pkeys + first, rsp.pkey, n * sizeof(u16)))
			*changed = true;
		memcpy(dev->pkeys + first, rsp.pkey, n * sizeof(u16));
		mutex_unlock(&dev->cache_lock);
		first += n;
	}
	return 0;
}

/* Bit n of *events: ib_core does not know of enum ib_event_type n yet. */
static int refresh_port(struct vhca_dev *dev, unsigned long *events)
{
	struct xenvhca_query_port_rsp rsp;
	struct ib_port_attr new, old;
	int rc;

	rc = vhca_cmd_query_port(dev, &rsp);
	if (rc)
		return rc;
	mutex_lock(&dev->cache_lock);
	old = dev->port;
	set_port(&new, &rsp, &old);
	dev->port = new;
	mutex_unlock(&dev->cache_lock);
	if (new.lid != old.lid)
		*events |= BIT(IB_EVENT_LID_CHANGE);
	if (new.sm_lid != old.sm_lid)
		*events |= BIT(IB_EVENT_SM_CHANGE);
	return 0;
}

static int refresh_tables(struct vhca_dev *dev, unsigned long *events)
{
	bool gids = false, pkeys = false;
	int rc = vhca_query_gid_table(dev, &gids);

	if (!rc)
		rc = vhca_query_pkey_table(dev, &pkeys);
	if (gids)
		*events |= BIT(IB_EVENT_GID_CHANGE);
	if (pkeys)
		*events |= BIT(IB_EVENT_PKEY_CHANGE);
	return rc;
}

/* Doubles the gap while refreshes follow each other closely. */
static void refresh_pace(struct vhca_dev *dev)
{
	unsigned long now = jiffies, gap = dev->refresh_gap;

	if (time_before(now, dev->refreshed + 2 * gap))
		gap = min_t(unsigned long, 2 * gap, VHCA_REFRESH_GAP_MAX);
	else
		gap = VHCA_REFRESH_GAP;
	WRITE_ONCE(dev->refresh_gap, gap);
	WRITE_ONCE(dev->refreshed, now);
}

/*
 * ib_core passes each event to its clients in a work of its own, and these works run
 * side by side. So that events stay in order, each work is waited for.
 */
static void port_notify(struct vhca_dev *dev, int type)
{
	struct ib_event event = {
		.device = &dev->ibdev, .element.port_num = VHCA_PORT,
		.event = type,
	};

	/*
	 * ib_core handles the event later, and waits for its works once, after it has
	 * unregistered the device: no event may come after that.
	 */
	if (!ib_device_try_get(&dev->ibdev))
		return;
	ib_dispatch_event(&event);
	ib_device_put(&dev->ibdev);
	/*
	 * Works of all RDMA devices: without a reference, so that the end of this
	 * device does not wait for works of another one.
	 */
	flush_workqueue(ib_wq);
	if (!ib_device_try_get(&dev->ibdev))
		return;
	vhca_gids_event(dev, type);
	ib_device_put(&dev->ibdev);
}

#define TABLE_EVENTS	(BIT(IB_EVENT_GID_CHANGE) | BIT(IB_EVENT_PKEY_CHANGE))
#define STATE_EVENTS	(BIT(IB_EVENT_PORT_ACTIVE) | BIT(IB_EVENT_PORT_ERR))
#define GID_EVENTS	(BIT(IB_EVENT_GID_CHANGE) | BIT(IB_EVENT_CLIENT_REREGISTER))

/*
 * The last event is that of the state that was read last. If the backend or a query has
 * seen another state in between, its event comes first; several such states have one
 * event.
 */
static void state_notify(struct vhca_dev *dev, unsigned long events)
{
	bool active = dev->port.state == IB_PORT_ACTIVE;

	if (dev->active_reported == active) {
		if (!(events & BIT(state_event(!active))))
			return;
		port_notify(dev, state_event(!active));
	}
	dev->active_reported = active;
	port_notify(dev, state_event(active));
}

/*
 * Bit n of @events: enum ib_event_type n. With some of them ib_core writes its GIDs anew,
 * whose users may find none meanwhile: that of a device of iWARP is not the backend's.
 */
static void port_dispatch(struct vhca_dev *dev, unsigned long events)
{
	unsigned long rest = events & ~STATE_EVENTS;
	int bit;

	if (vhca_by_iw(dev))
		rest &= ~GID_EVENTS;
	for_each_set_bit(bit, &rest, BITS_PER_LONG)
		port_notify(dev, bit);
	state_notify(dev, events);
}

/* Without a connection the port is down. The tables stay. */
static void port_is_away(struct vhca_dev *dev)
{
	mutex_lock(&dev->cache_lock);
	set_down(&dev->port);
	mutex_unlock(&dev->cache_lock);
	state_notify(dev, 0);
}

/*
 * A change of the tables is an event of this device only if the guest's part has
 * changed. A client that gets an event must see the new state, so without an answer the
 * events wait for the next refresh.
 */
static void port_work(struct work_struct *work)
{
	struct vhca_dev *dev = container_of(to_delayed_work(work),
					    struct vhca_dev, refresh_work);
	unsigned long events;
	int rc;

	if (!READ_ONCE(dev->registered))
		return;
	refresh_pace(dev);
	if (READ_ONCE(dev->away)) {
		port_is_away(dev);
		return;
	}
	events = dev->port_owed | (xchg(&dev->port_events, 0) & ~TABLE_EVENTS);
	rc = refresh_port(dev, &events) ?: refresh_tables(dev, &events);
	dev->port_owed = rc ? events : 0;
	if (!rc) {
		port_dispatch(dev, events);
	} else if (vhca_ring_up(&dev->ring) && !READ_ONCE(dev->away)) {
		ibdev_warn_ratelimited(&dev->ibdev,
				       "the port's state could not be read (%d), the last one stays\n",
				       rc);
		vhca_port_refresh(dev);
	}
}

/*
 * Bounded in rate, whatever the backend sends: each refresh costs commands, and events
 * that ib_uverbs stores until every process has read them.
 */
void vhca_port_refresh(struct vhca_dev *dev)
{
	unsigned long next = READ_ONCE(dev->refreshed) +
			     READ_ONCE(dev->refresh_gap);
	unsigned long now = jiffies;

	WRITE_ONCE(dev->stale, true);
	smp_mb();	/* pairs with vhca_port_registered() */
	if (READ_ONCE(dev->registered))
		schedule_delayed_work(&dev->refresh_work,
				      time_before(now, next) ? next - now : 0);
}

void vhca_port_registered(struct vhca_dev *dev)
{
	WRITE_ONCE(dev->registered, true);
	smp_mb();	/* pairs with vhca_port_refresh() */
	/*
	 * The state that was read for the registration is fresh unless an event came
	 * since.
	 */
	if (READ_ONCE(dev->stale))
		vhca_port_refresh(dev);
}

void vhca_port_init(struct vhca_dev *dev)
{
	mutex_init(&dev->cache_lock);
	xa_init(&dev->gids);
	dev->refresh_gap = VHCA_REFRESH_GAP;
	dev->refreshed = jiffies - 2 * VHCA_REFRESH_GAP;
	INIT_DELAYED_WORK(&dev->refresh_work, port_work);
}

static u8 layer_of(const struct xenvhca_query_port_rsp *rsp)
{
	return rsp->link_layer <= IB_LINK_LAYER_ETHERNET ? rsp->link_layer :
							   IB_LINK_LAYER_UNSPECIFIED;
}

static void lengths_of(const struct xenvhca_query_port_rsp *rsp, struct ib_port_attr *a)
{
	a->gid_tbl_len = clamp(rsp->gid_tbl_len, 1u, VHCA_MAX_GIDS);
	a->pkey_tbl_len = clamp_t(u32, rsp->pkey_tbl_len, 1, VHCA_MAX_PKEYS);
}

int vhca_port_same(struct vhca_dev *dev)
{
	struct xenvhca_query_port_rsp rsp;
	struct ib_port_attr port;
	int rc = vhca_cmd_query_port(dev, &rsp);

	if (rc)
		return rc;
	lengths_of(&rsp, &port);
	return layer_of(&rsp) == dev->link_layer &&
	       port.gid_tbl_len == dev->port.gid_tbl_len &&
	       port.pkey_tbl_len == dev->port.pkey_tbl_len ? 0 : -ESTALE;
}

int vhca_port_read(struct vhca_dev *dev)
{
	struct xenvhca_query_port_rsp rsp;
	unsigned long events = 0;
	struct ib_port_attr port;
	int rc;

	rc = vhca_cmd_query_port(dev, &rsp);
	if (rc)
		return rc;
	dev->link_layer = layer_of(&rsp);
	lengths_of(&rsp, &dev->port);
	dev->pkeys = kcalloc(dev->port.pkey_tbl_len, sizeof(u16), GFP_KERNEL);
	if (!dev->pkeys)
		return -ENOMEM;
	set_port(&port, &rsp, &dev->port);
	dev->port = port;
	dev->active_reported = port.state == IB_PORT_ACTIVE;
	return refresh_tables(dev, &events);
}

void vhca_port_exit(struct vhca_dev *dev)
{
	struct xenvhca_gid *gid;
	unsigned long index;

	xa_for_each(&dev->gids, index, gid)
		kfree(gid);
	xa_destroy(&dev->gids);
	kfree(dev->pkeys);
	mutex_destroy(&dev->cache_lock);
}
