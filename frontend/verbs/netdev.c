// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The guest's network devices that have addresses of the vhca (key ip=), as programs
 * expect them of a RoCE port: `rdma link` asks vhca_get_netdev(); the GIDs' attributes
 * name them in sysfs and in verbs. ib_core does the latter for its own RoCE ports only
 * (gid.c). Both are for information: no packet of the vhca passes that device.
 *
 * ib_device_set_netdev() is not used: it would list the device by its driver's id, and
 * the real driver of that id, Soft-RoCE for one, would take it for one of its own.
 *
 * Notices of addresses come in any context, so a work looks at all addresses anew. A
 * network device that goes is let go at once, in the notice: the kernel waits for a
 * grace period after that, and so for readers of the attributes. An attribute that names
 * a network device is held, since an older one may still be in use by queue pairs when
 * ib_core has replaced it, and would name a device that is gone.
 *
 * A device of iWARP (vhca_by_iw()) has one GID, by which rdma_cm finds it: the hardware
 * address of that network device. Where it changes ib_core asks for the GID anew.
 *
 * Locks: rtnl, then netdevs_lock, under which nothing is waited for.
 */
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <rdma/ib_cache.h>

#include "verbs.h"

#define VHCA_STRANGERS		8

/* What the entries of a GID table name; both pointers are held, or NULL. */
struct vhca_gid_netdev {
	const struct ib_gid_attr *attr;
	struct net_device *ndev;
};

struct vhca_netdevs {
	struct list_head list;
	struct vhca_dev *dev;
	u8 stranger[VHCA_STRANGERS][16];	/* the log has told of them */
	unsigned int nr_strangers;
	union ib_gid iw_gid;			/* that ib_core was told of, and */
	const struct net_device *iw_ndev;	/*   whose it was: not held */
	unsigned int nr;
	struct vhca_gid_netdev gid[];
};

static const u8 v4_mapped[12] = { [10] = 0xff, [11] = 0xff };

static DEFINE_MUTEX(netdevs_lock);
static LIST_HEAD(netdevs_list);

/* ---- addresses of the guest; under rcu_read_lock() ---- */

/* @addr: as in IPv6. True: that is enough. */
typedef bool address_fn(struct net_device *ndev, const u8 *addr, void *arg);

static bool each_ipv4(struct net_device *ndev, address_fn *fn, void *arg)
{
	struct in_device *in_dev = __in_dev_get_rcu(ndev);
	struct in_ifaddr *ifa;
	u8 addr[16];

	if (!in_dev)
		return false;
	memcpy(addr, v4_mapped, sizeof(v4_mapped));
	in_dev_for_each_ifa_rcu(ifa, in_dev) {
		memcpy(addr + 12, &ifa->ifa_local, sizeof(ifa->ifa_local));
		if (fn(ndev, addr, arg))
			return true;
	}
	return false;
}

/* Also those that are still tentative, of whose end nothing would tell. */
static bool each_ipv6(struct net_device *ndev, address_fn *fn, void *arg)
{
	struct inet6_dev *idev = __in6_dev_get(ndev);
	struct inet6_ifaddr *ifa;

	if (!idev)
		return false;
	list_for_each_entry_rcu(ifa, &idev->addr_list, if_list)
		if (fn(ndev, ifa->addr.s6_addr, arg))
			return true;
	return false;
}

/* Those of the net namespace that the device is in: the first one's, if shared. */
static void each_address(struct vhca_dev *dev, address_fn *fn, void *arg)
{
	struct net *net = read_pnet(&dev->ibdev.coredev.rdma_net);
	struct net_device *ndev;

	for_each_netdev_rcu(net, ndev) {
		if (ndev->flags & IFF_LOOPBACK ||
		    ndev->reg_state != NETREG_REGISTERED)
			continue;
		if (each_ipv4(ndev, fn, arg) || each_ipv6(ndev, fn, arg))
			return;
	}
}

struct search {
	const u8 *addr;
	struct net_device *found;
};

static bool search_one(struct net_device *ndev, const u8 *addr, void *arg)
{
	struct search *search = arg;

	if (memcmp(addr, search->addr, 16))
		return false;
	search->found = ndev;
	return true;
}

/* Not held; NULL if no network device has that address. */
static struct net_device *find_netdev(struct vhca_dev *dev, const u8 *addr)
{
	struct search search = { .addr = addr };

	each_address(dev, search_one, &search);
	return search.found;
}

/* The one that has the first of the addresses. */
static struct net_device *find_first(struct vhca_dev *dev)
{
	struct net_device *ndev = NULL;
	unsigned int i;

	for (i = 0; !ndev && i < dev->nets.nr; i++)
		ndev = find_netdev(dev, dev->nets.net[i].addr);
	return ndev;
}

/*
 * In any context that may not sleep. None during the registration: if a notice of it
 * cannot be sent, ib_core asks twice and relies on the same answer. A device of iWARP
 * must have one always: without an address it is the loopback.
 */
struct net_device *vhca_get_netdev(struct ib_device *ibdev, vhca_port_t port)
{
	struct vhca_dev *dev = to_vdev(ibdev);
	struct net_device *ndev;

	if (!READ_ONCE(dev->registered) && !vhca_by_iw(dev))
		return NULL;
	rcu_read_lock();
	ndev = find_first(dev);
	if (!ndev && vhca_by_iw(dev))
		ndev = read_pnet(&dev->ibdev.coredev.rdma_net)->loopback_dev;
	dev_hold(ndev);
	rcu_read_unlock();
	return ndev;
}

/* Under rcu_read_lock(). */
static struct net_device *iw_look(struct vhca_dev *dev, union ib_gid *gid)
{
	struct net_device *ndev = find_first(dev);

	memset(gid, 0, sizeof(*gid));
	if (ndev)
		memcpy(gid->raw, ndev->dev_addr,
		       min_t(size_t, ndev->addr_len, sizeof(gid->raw)));
	return ndev;
}

void vhca_netdev_gid(struct vhca_dev *dev, union ib_gid *gid)
{
	rcu_read_lock();
	iw_look(dev, gid);
	rcu_read_unlock();
}

/* ---- addresses that are not the vhca's ---- */

/* Of a network of the vhca, but not one of its addresses? */
static bool is_stranger(const struct vhca_nets *nets, const u8 *addr)
{
	const struct vhca_net *net;
	bool near = false;

	for (net = nets->net; net < nets->net + nets->nr; net++) {
		if (vhca_same_net(net->addr, addr, 128))
			return false;
		near |= vhca_same_net(net->addr, addr, net->prefix);
	}
	return near;
}

#define NO_GID	" of %s has no GID: it is not in the device's ip=\n"

/* Once for each address, and a few only: there are addresses that change daily. */
static bool tell_stranger(struct net_device *ndev, const u8 *addr, void *arg)
{
	struct vhca_netdevs *n = arg;
	unsigned int i;

	if (n->nr_strangers == VHCA_STRANGERS)
		return true;
	if (!is_stranger(&n->dev->nets, addr))
		return false;
	for (i = 0; i < n->nr_strangers; i++)
		if (!memcmp(n->stranger[i], addr, 16))
			return false;
	memcpy(n->stranger[n->nr_strangers++], addr, 16);
	if (memcmp(addr, v4_mapped, sizeof(v4_mapped)))
		ibdev_info(&n->dev->ibdev, "%pI6c" NO_GID, addr, ndev->name);
	else
		ibdev_info(&n->dev->ibdev, "%pI4" NO_GID, addr + 12,
			   ndev->name);
	return false;
}

/* ---- GIDs' attributes; under netdevs_lock ---- */

/* Takes over the references of the caller. */
static void gid_name(struct vhca_gid_netdev *gid,
		     const struct ib_gid_attr *attr, struct net_device *ndev)
{
	struct vhca_gid_netdev old = *gid;

	*gid = (struct vhca_gid_netdev){ .attr = attr, .ndev = ndev };
	if (attr)
		rcu_assign_pointer(((struct ib_gid_attr *)attr)->ndev, ndev);
	if (old.attr && old.attr != attr)
		rcu_assign_pointer(((struct ib_gid_attr *)old.attr)->ndev,
				   NULL);
	dev_put(old.ndev);
	if (old.attr)
		rdma_put_gid_attr(old.attr);
}

static void gid_follow(struct vhca_netdevs *n, unsigned int index)
{
	const struct ib_gid_attr *attr;
	struct net_device *ndev;

	attr = rdma_get_gid_attr(&n->dev->ibdev, VHCA_PORT, index);
	if (IS_ERR(attr)) {
		gid_name(&n->gid[index], NULL, NULL);
		return;
	}
	ndev = find_netdev(n->dev, attr->gid.raw);
	dev_hold(ndev);
	if (ndev) {
		gid_name(&n->gid[index], attr, ndev);
		return;
	}
	gid_name(&n->gid[index], NULL, NULL);
	rdma_put_gid_attr(attr);
}

/* Is there another network device, or another address of it? */
static bool iw_changed(struct vhca_netdevs *n)
{
	const struct net_device *ndev;
	union ib_gid gid;
	bool same;

	ndev = iw_look(n->dev, &gid);
	same = ndev == n->iw_ndev && !memcmp(&gid, &n->iw_gid, sizeof(gid));
	n->iw_ndev = ndev;
	n->iw_gid = gid;
	return !same;
}

static void iw_notify(struct vhca_dev *dev)
{
	struct ib_event event = {
		.device = &dev->ibdev, .element.port_num = VHCA_PORT,
		.event = IB_EVENT_GID_CHANGE,
	};

	ib_dispatch_event(&event);
}

/* Under rtnl, too: so no network device that is found goes meanwhile. */
static void follow(struct vhca_netdevs *n)
{
	bool iw = vhca_by_iw(n->dev), changed;
	unsigned int i;

	rcu_read_lock();
	changed = iw && iw_changed(n);
	for (i = 0; !iw && i < n->nr; i++)
		gid_follow(n, i);
	each_address(n->dev, tell_stranger, n);
	rcu_read_unlock();
	if (changed)
		iw_notify(n->dev);
}

/* @ndev: NULL, all. */
static void forget(struct vhca_netdevs *n, const struct net_device *ndev)
{
	unsigned int i;

	for (i = 0; i < n->nr; i++)
		if (!ndev || n->gid[i].ndev == ndev)
			gid_name(&n->gid[i], NULL, NULL);
}

void vhca_netdev_follow(struct vhca_dev *dev)
{
	rtnl_lock();
	mutex_lock(&netdevs_lock);
	if (dev->netdevs)
		follow(dev->netdevs);
	mutex_unlock(&netdevs_lock);
	rtnl_unlock();
}

/* ---- notices ---- */

static void follow_all(struct work_struct *work)
{
	struct vhca_netdevs *n;

	rtnl_lock();
	mutex_lock(&netdevs_lock);
	list_for_each_entry(n, &netdevs_list, list)
		follow(n);
	mutex_unlock(&netdevs_lock);
	rtnl_unlock();
}

static DECLARE_DELAYED_WORK(follow_work, follow_all);

/* The chain of IPv6 is atomic. */
static int address_changed(struct notifier_block *nb, unsigned long event,
			   void *ifa)
{
	schedule_delayed_work(&follow_work, 0);
	return NOTIFY_DONE;
}

/*
 * Its hardware address changes; or it goes, for good or to another net namespace, and
 * ib_core lets go of it when it asks anew. Under rtnl.
 */
static int netdev_changed(struct notifier_block *nb, unsigned long event,
			  void *info)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(info);
	struct vhca_netdevs *n;

	if (event == NETDEV_CHANGEADDR || event == NETDEV_UNREGISTER)
		schedule_delayed_work(&follow_work, 0);
	if (event != NETDEV_UNREGISTER)
		return NOTIFY_DONE;
	mutex_lock(&netdevs_lock);
	list_for_each_entry(n, &netdevs_list, list)
		forget(n, ndev);
	mutex_unlock(&netdevs_lock);
	return NOTIFY_DONE;
}

static struct notifier_block ipv4_nb = { .notifier_call = address_changed };
static struct notifier_block ipv6_nb = { .notifier_call = address_changed };
static struct notifier_block netdev_nb = { .notifier_call = netdev_changed };

/* ---- life ---- */

void vhca_netdev_add(struct vhca_dev *dev)
{
	unsigned int nr = dev->port.gid_tbl_len;
	struct vhca_netdevs *n;

	if (!dev->nets.nr ||
	    (dev->link_layer != IB_LINK_LAYER_ETHERNET && !vhca_by_iw(dev)))
		return;
	n = kzalloc(sizeof(*n) + nr * sizeof(*n->gid), GFP_KERNEL);
	if (!n)
		return;		/* the device works without */
	n->dev = dev;
	n->nr = nr;
	mutex_lock(&netdevs_lock);
	dev->netdevs = n;
	list_add(&n->list, &netdevs_list);
	mutex_unlock(&netdevs_lock);
	schedule_delayed_work(&follow_work, 0);
}

void vhca_netdev_del(struct vhca_dev *dev)
{
	struct vhca_netdevs *n;

	mutex_lock(&netdevs_lock);
	n = dev->netdevs;
	dev->netdevs = NULL;
	if (n) {
		list_del(&n->list);
		forget(n, NULL);
	}
	mutex_unlock(&netdevs_lock);
	kfree(n);
}

int vhca_netdev_init(void)
{
	int err = register_netdevice_notifier(&netdev_nb);

	if (err)
		return err;
	err = register_inetaddr_notifier(&ipv4_nb);
	if (err)
		goto netdev;
	if (IS_ENABLED(CONFIG_IPV6))
		err = register_inet6addr_notifier(&ipv6_nb);
	if (!err)
		return 0;
	unregister_inetaddr_notifier(&ipv4_nb);
netdev:
	unregister_netdevice_notifier(&netdev_nb);
	return err;
}

void vhca_netdev_exit(void)
{
	if (IS_ENABLED(CONFIG_IPV6))
		unregister_inet6addr_notifier(&ipv6_nb);
	unregister_inetaddr_notifier(&ipv4_nb);
	unregister_netdevice_notifier(&netdev_nb);
	cancel_delayed_work_sync(&follow_work);
}
