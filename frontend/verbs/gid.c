// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * GIDs and P_Keys of this guest, and the types and events of GIDs. ib_core fills the
 * GID table of a RoCE port from the addresses of a network device, but the addresses of
 * this port are in the backend domain. So the port has no protocol (as EFA's): ib_core
 * asks vhca_query_gid(), takes each GID for one of RoCE v1, and tells no client of a
 * change. This file corrects both if the link layer is Ethernet.
 *
 * The checks run in the process that calls a verb, the rest in the refresh of port.c.
 */
#include <rdma/ib_cache.h>

#include "verbs.h"

int vhca_gid_usable(struct vhca_dev *dev, u32 index)
{
	if (!(dev->info.flags & XENVHCA_INFO_OWN_GIDS))
		return 0;
	if (index >= dev->port.gid_tbl_len)
		return -EINVAL;
	/* Without cache_lock, as create_ah may not sleep: nobody looks into the entry. */
	return xa_load(&dev->gids, index) ? 0 : -ENODATA;
}

int vhca_pkey_usable(struct vhca_dev *dev, u32 index)
{
	bool there;

	if (!(dev->info.flags & XENVHCA_INFO_OWN_PKEYS))
		return 0;
	if (index >= dev->port.pkey_tbl_len)
		return -EINVAL;
	mutex_lock(&dev->cache_lock);
	there = dev->pkeys[index];
	mutex_unlock(&dev->cache_lock);
	return there ? 0 : -EINVAL;
}

/*
 * The entry belongs to ib_core and is const, but ib_core only shows its type. A new
 * entry has type 0.
 */
static void set_type(struct vhca_dev *dev, unsigned long index, u8 type)
{
	const struct ib_gid_attr *attr;

	if (type > IB_GID_TYPE_ROCE_UDP_ENCAP)
		return;
	attr = rdma_get_gid_attr(&dev->ibdev, VHCA_PORT, index);
	if (IS_ERR(attr))
		return;
	WRITE_ONCE(((struct ib_gid_attr *)attr)->gid_type, type);
	rdma_put_gid_attr(attr);
}

static void set_types(struct vhca_dev *dev)
{
	struct xenvhca_gid *gid;
	unsigned long index;

	if (dev->link_layer != IB_LINK_LAYER_ETHERNET || vhca_by_iw(dev))
		return;
	mutex_lock(&dev->cache_lock);
	xa_for_each(&dev->gids, index, gid)
		set_type(dev, index, gid->type);
	mutex_unlock(&dev->cache_lock);
}

int vhca_enable_driver(struct ib_device *ibdev)
{
	set_types(to_vdev(ibdev));
	return 0;
}

/* ib_core does this for all events but GID_CHANGE. */
static void notify_clients(struct vhca_dev *dev)
{
	struct ib_event event = {
		.device = &dev->ibdev, .element.port_num = VHCA_PORT,
		.event = IB_EVENT_GID_CHANGE,
	};
	struct ib_event_handler *h;

	down_read(&dev->ibdev.event_handler_rwsem);
	list_for_each_entry(h, &dev->ibdev.event_handler_list, list)
		h->handler(h, &event);
	up_read(&dev->ibdev.event_handler_rwsem);
}

void vhca_gids_event(struct vhca_dev *dev, int event)
{
	if (dev->link_layer != IB_LINK_LAYER_ETHERNET || vhca_by_iw(dev))
		return;
	if (event == IB_EVENT_GID_CHANGE || event == IB_EVENT_CLIENT_REREGISTER) {
		set_types(dev);
		vhca_netdev_follow(dev);
	}
	if (event == IB_EVENT_GID_CHANGE)
		notify_clients(dev);
}
