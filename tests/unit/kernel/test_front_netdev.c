// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/verbs/netdev.c: which network device of the guest the port and its GIDs
 * name, as addresses and network devices come, move and go; that nothing names or
 * holds one that is gone; and what the log says of addresses that are not the vhca's.
 */
#include "kernel.h"

#include <arpa/inet.h>

enum { IFF_LOOPBACK = 8, NETREG_REGISTERED = 1, NETREG_UNREGISTERING = 2 };
enum { NETDEV_UP = 1, NETDEV_DOWN = 2, NETDEV_UNREGISTER = 6, NETDEV_CHANGEADDR = 8 };
enum { IB_EVENT_GID_CHANGE = 18 };
enum rdma_link_layer { IB_LINK_LAYER_UNSPECIFIED, IB_LINK_LAYER_INFINIBAND,
		       IB_LINK_LAYER_ETHERNET };
#define GIDS			4
#define CONFIG_IPV6		1
#define IS_ENABLED(c)		(c)
#define DEFINE_MUTEX(m)		struct mutex m
#define rcu_assign_pointer(p, v) ((p) = (v))
#define list_for_each_entry_rcu	list_for_each_entry
#define ib_device		ib_device_full
#define ib_port_attr		port_attr

struct in_ifaddr { u32 ifa_local; struct in_ifaddr *ifa_next; };
struct in_device { struct in_ifaddr *ifa_list; };
struct inet6_ifaddr { struct in6_addr addr; struct list_head if_list; };
struct inet6_dev { struct list_head addr_list; };
struct net_device {
	const char *name;
	int flags, reg_state, refs, addr_len;
	u8 dev_addr[32];
	struct in_device *ip_ptr;
	struct inet6_dev *ip6_ptr;
};
struct net { struct net_device *ndev[4], *loopback_dev; };
union ib_gid { u8 raw[16]; };
struct port_attr { int gid_tbl_len; };
struct ib_device { struct { struct net *rdma_net; } coredev; };
struct ib_gid_attr {
	union ib_gid gid;
	struct net_device *ndev;
	int refs;
};

#define __in_dev_get_rcu(ndev)	((ndev)->ip_ptr)
#define __in6_dev_get(ndev)	((ndev)->ip6_ptr)
#define in_dev_for_each_ifa_rcu(ifa, in_dev)				\
	for ((ifa) = (in_dev)->ifa_list; (ifa); (ifa) = (ifa)->ifa_next)
#define for_each_netdev_rcu(net, p)					\
	for (int __i = 0; __i < 4; __i++)				\
		if (!((p) = (net)->ndev[__i]))				\
			;						\
		else
#define read_pnet(p)		(assert_true(rcu), *(p))
#define netdev_notifier_info_to_dev(info) ((struct net_device *)(info))
#define rcu_read_lock()		(assert_false(rcu), (void)(rcu = true))
#define rcu_read_unlock()	((void)(rcu = false))
#define rtnl_lock()		(assert_false(rtnl), (void)(rtnl = true))
#define rtnl_unlock()		((void)(rtnl = false))
#define dev_hold(ndev)		((void)((ndev) && (ndev)->refs++))
#define dev_put(ndev)		((void)((ndev) && (ndev)->refs--))
#define register_netdevice_notifier(nb)	(notifiers++, 0)
#define register_inetaddr_notifier(nb)	(notifiers++, ipv4_err)
#define register_inet6addr_notifier(nb)	(notifiers++, 0)
#define unregister_netdevice_notifier(nb) ((void)notifiers--)
#define unregister_inetaddr_notifier(nb) ((void)notifiers--)
#define unregister_inet6addr_notifier(nb) ((void)notifiers--)
#define ibdev_info(ibdev, fmt, addr, name)				\
	(inet_ntop(strstr(fmt, "pI4") ? AF_INET : AF_INET6, addr, told_addr,	\
		   sizeof(told_addr)), strcpy(told_of, name), (void)told++)

static bool rcu, rtnl;
static int notifiers, ipv4_err, told;
static char told_of[16], told_addr[48];
static const struct ib_gid_attr *rdma_get_gid_attr(struct ib_device *ibdev,
						   u32 port, int index);
static void rdma_put_gid_attr(const struct ib_gid_attr *attr);
static void ib_dispatch_event(const struct ib_event *event);

#include "copy/netdev.c"

static struct vhca_dev *dev;
static struct ib_gid_attr attrs[GIDS], *table[GIDS];	/* ib_core's */
static struct in_ifaddr ip[3];
static struct inet6_ifaddr ip6;
static struct in_device in_dev[3];
static struct inet6_dev in6_dev[3];
static struct net_device lo, eth0, eth1;
static struct net net, other;

/* ---- the kernel ---- */
static const struct ib_gid_attr *rdma_get_gid_attr(struct ib_device *ibdev,
						   u32 port, int index)
{
	assert_ptr_equal(ibdev, &dev->ibdev);
	assert_int_equal(port, VHCA_PORT);
	assert_in_range(index, 0, GIDS - 1);
	if (!table[index])
		return ERR_PTR(-ENODATA);
	table[index]->refs++;
	return table[index];
}

static void rdma_put_gid_attr(const struct ib_gid_attr *attr)
{
	((struct ib_gid_attr *)attr)->refs--;
}

static int gid_events;

static void ib_dispatch_event(const struct ib_event *event)
{
	assert_false(rcu);
	assert_ptr_equal(event->device, &dev->ibdev);
	assert_int_equal(event->event, IB_EVENT_GID_CHANGE);
	gid_events++;
}

static void text(u8 *to, const char *addr)
{
	memset(to, 0, 16);
	if (strchr(addr, ':')) {
		inet_pton(AF_INET6, addr, to);
		return;
	}
	memset(to + 10, 0xff, 2);
	inet_pton(AF_INET, addr, to + 12);
}

static void own(const char *addr, u8 prefix)
{
	struct vhca_net *n = &dev->nets.net[dev->nets.nr++];

	text(n->addr, addr);
	n->prefix = prefix;
}

static void gid(int index, const char *addr)
{
	table[index] = &attrs[index];
	text(attrs[index].gid.raw, addr);
}

/* IPv4 address number @i is on @ndev now, and on no other. */
static void put_ip(int i, struct net_device *ndev, const char *addr)
{
	struct net_device *d[] = { &lo, &eth0, &eth1 };
	struct in_ifaddr **at;

	for (int k = 0; k < 3; k++)
		for (at = &d[k]->ip_ptr->ifa_list; *at; at = &(*at)->ifa_next)
			if (*at == &ip[i]) {
				*at = ip[i].ifa_next;
				break;
			}
	if (ndev) {
		ip[i].ifa_local = inet_addr(addr);
		ip[i].ifa_next = ndev->ip_ptr->ifa_list;
		ndev->ip_ptr->ifa_list = &ip[i];
	}
	address_changed(&ipv4_nb, ndev ? NETDEV_UP : NETDEV_DOWN, &ip[i]);
	kernel_advance(1);
}

static void netdev_goes(struct net_device *ndev)
{
	rtnl = true;
	ndev->reg_state = NETREG_UNREGISTERING;
	netdev_changed(&netdev_nb, NETDEV_UNREGISTER, ndev);
	rtnl = false;
}

static struct net_device *asked(void)
{
	struct net_device *ndev = vhca_get_netdev(&dev->ibdev, VHCA_PORT);

	dev_put(ndev);
	return ndev;
}

/* ---- tests ---- */
static void netdev_new(struct net_device *ndev, int i, const char *name)
{
	memset(ndev, 0, sizeof(*ndev));
	in_dev[i].ifa_list = NULL;
	INIT_LIST_HEAD(&in6_dev[i].addr_list);
	ndev->name = name;
	ndev->addr_len = 6;
	strncpy((char *)ndev->dev_addr, name, 6);
	ndev->reg_state = NETREG_REGISTERED;
	ndev->ip_ptr = &in_dev[i];
	ndev->ip6_ptr = &in6_dev[i];
}

static int setup(void **state)
{
	dev = calloc(1, sizeof(*dev));
	memset(attrs, 0, sizeof(attrs));
	memset(table, 0, sizeof(table));
	netdev_new(&lo, 0, "lo");
	netdev_new(&eth0, 1, "eth0");
	netdev_new(&eth1, 2, "eth1");
	lo.flags = IFF_LOOPBACK;
	net = (struct net){ { &lo, &eth0, NULL, &eth1 }, &lo };
	other = (struct net){ };
	dev->ibdev.coredev.rdma_net = &net;
	dev->link_layer = IB_LINK_LAYER_ETHERNET;
	dev->port.gid_tbl_len = GIDS;
	dev->registered = true;
	told = 0;
	own("192.0.2.7", 96 + 24);
	own("2001:db8::7", 64);
	gid(1, "192.0.2.7");
	gid(2, "192.0.2.7");		/* RoCE v1 and v2 */
	gid(3, "2001:db8::7");
	assert_int_equal(vhca_netdev_init(), 0);
	vhca_netdev_add(dev);
	kernel_advance(1);
	return 0;
}

/* Nothing is held, and nothing names what may go. */
static int teardown(void **state)
{
	int i;

	vhca_netdev_del(dev);
	vhca_netdev_del(dev);
	for (i = 0; i < GIDS; i++) {
		assert_int_equal(attrs[i].refs, 0);
		assert_null(attrs[i].ndev);
	}
	vhca_netdev_exit();
	assert_int_equal(notifiers, 0);
	assert_false(rcu || rtnl || netdevs_lock.held);
	free(dev);
	return lo.refs || eth0.refs || eth1.refs;
}

static void the_port_names_who_has_an_address(void **state)
{
	assert_null(asked());
	put_ip(0, &eth1, "192.0.2.8");
	assert_null(asked());
	put_ip(1, &lo, "192.0.2.7");
	assert_null(asked());
	put_ip(1, &eth0, "192.0.2.7");
	assert_ptr_equal(asked(), &eth0);
	put_ip(1, &eth1, "192.0.2.7");
	assert_ptr_equal(asked(), &eth1);
	eth1.reg_state = NETREG_UNREGISTERING;
	assert_null(asked());
	eth1.reg_state = NETREG_REGISTERED;
	dev->registered = false;
	assert_null(asked());
}

/* The first of "ip" that the guest has, and IPv6 as soon as it is configured. */
static void the_port_prefers_the_first_address(void **state)
{
	text(ip6.addr.s6_addr, "2001:db8::7");
	list_add(&ip6.if_list, &eth0.ip6_ptr->addr_list);
	assert_ptr_equal(asked(), &eth0);
	put_ip(0, &eth1, "192.0.2.7");
	assert_ptr_equal(asked(), &eth1);
	eth0.ip_ptr = eth1.ip_ptr = NULL;	/* neither need be there */
	assert_ptr_equal(asked(), &eth0);
	eth0.ip6_ptr = NULL;
	assert_null(asked());
}

static void the_hold_is_the_callers(void **state)
{
	put_ip(0, &eth0, "192.0.2.7");
	assert_int_equal(eth0.refs, 2);		/* of two GIDs */
	assert_ptr_equal(vhca_get_netdev(&dev->ibdev, VHCA_PORT), &eth0);
	assert_int_equal(eth0.refs, 3);
	dev_put(&eth0);
}

static void gids_follow_their_addresses(void **state)
{
	put_ip(0, &eth0, "192.0.2.7");
	assert_ptr_equal(attrs[1].ndev, &eth0);
	assert_ptr_equal(attrs[2].ndev, &eth0);
	assert_null(attrs[3].ndev);
	text(ip6.addr.s6_addr, "2001:db8::7");
	list_add(&ip6.if_list, &eth1.ip6_ptr->addr_list);
	address_changed(&ipv6_nb, NETDEV_UP, &ip6);
	assert_null(attrs[3].ndev);		/* not in an atomic notice */
	kernel_advance(1);
	assert_ptr_equal(attrs[3].ndev, &eth1);
	put_ip(0, &eth1, "192.0.2.7");
	assert_ptr_equal(attrs[1].ndev, &eth1);
	assert_int_equal(eth0.refs, 0);
	assert_int_equal(eth1.refs, 3);
	put_ip(0, NULL, NULL);
	assert_null(attrs[1].ndev);
	assert_int_equal(attrs[1].refs, 0);
	assert_int_equal(eth1.refs, 1);
}

static void a_netdev_that_goes_is_let_go_at_once(void **state)
{
	put_ip(0, &eth0, "192.0.2.7");
	text(ip6.addr.s6_addr, "2001:db8::7");
	list_add(&ip6.if_list, &eth1.ip6_ptr->addr_list);
	vhca_netdev_follow(dev);
	netdev_changed(&netdev_nb, NETDEV_DOWN, &eth0);
	assert_ptr_equal(attrs[1].ndev, &eth0);
	netdev_goes(&eth0);
	assert_null(attrs[1].ndev);
	assert_null(attrs[2].ndev);
	assert_int_equal(eth0.refs, 0);
	assert_ptr_equal(attrs[3].ndev, &eth1);
	vhca_netdev_follow(dev);		/* its address is still there */
	assert_null(attrs[1].ndev);
}

/* A queue pair may hold the older one for as long as it likes. */
static void replaced_attributes_name_nobody(void **state)
{
	struct ib_gid_attr new = attrs[1];

	put_ip(0, &eth0, "192.0.2.7");
	assert_int_equal(attrs[1].refs, 1);
	table[1] = &new;
	netdev_goes(&eth0);			/* before we are told */
	assert_null(attrs[1].ndev);
	eth0.reg_state = NETREG_REGISTERED;
	vhca_netdev_follow(dev);
	assert_ptr_equal(new.ndev, &eth0);
	table[1] = NULL;
	vhca_netdev_follow(dev);
	assert_null(new.ndev);
	assert_int_equal(new.refs, 0);
	table[1] = &attrs[1];
	vhca_netdev_follow(dev);
	table[1] = &new;
	vhca_netdev_follow(dev);
	assert_null(attrs[1].ndev);
	assert_ptr_equal(new.ndev, &eth0);
	vhca_netdev_del(dev);
	assert_null(new.ndev);
	assert_int_equal(new.refs, 0);
}

static void another_namespace_has_other_netdevs(void **state)
{
	put_ip(0, &eth0, "192.0.2.7");
	vhca_netdev_del(dev);
	assert_null(attrs[1].ndev);
	vhca_netdev_follow(dev);		/* a late event */
	assert_null(attrs[1].ndev);
	dev->ibdev.coredev.rdma_net = &other;
	vhca_netdev_add(dev);
	kernel_advance(1);
	assert_null(attrs[1].ndev);
	assert_null(asked());
	other.ndev[2] = &eth0;
	vhca_netdev_follow(dev);
	assert_ptr_equal(attrs[1].ndev, &eth0);
}

static void others_are_left_alone(void **state)
{
	vhca_netdev_del(dev);
	dev->link_layer = IB_LINK_LAYER_INFINIBAND;
	vhca_netdev_add(dev);
	put_ip(0, &eth0, "192.0.2.7");
	assert_null(attrs[1].ndev);
	assert_ptr_equal(asked(), &eth0);
	dev->link_layer = IB_LINK_LAYER_ETHERNET;
	dev->nets.nr = 0;			/* no "ip": GIDs are shared */
	vhca_netdev_add(dev);
	put_ip(0, &eth0, "192.0.2.7");
	assert_null(attrs[1].ndev);
	assert_null(asked());
}

static void the_log_tells_of_a_stranger_once(void **state)
{
	put_ip(0, &eth0, "192.0.2.7");
	put_ip(1, &eth1, "198.51.100.1");	/* of another network */
	assert_int_equal(told, 0);
	put_ip(1, &eth1, "192.0.2.8");
	assert_int_equal(told, 1);
	assert_string_equal(told_of, "eth1");
	assert_string_equal(told_addr, "192.0.2.8");
	put_ip(1, &eth0, "192.0.2.8");
	put_ip(0, NULL, NULL);
	assert_int_equal(told, 1);
	text(ip6.addr.s6_addr, "2001:db8::8");
	list_add(&ip6.if_list, &eth0.ip6_ptr->addr_list);
	vhca_netdev_follow(dev);
	assert_int_equal(told, 2);
	assert_string_equal(told_addr, "2001:db8::8");
	for (int i = 10; i < 40; i++) {
		char addr[16];

		snprintf(addr, sizeof(addr), "192.0.2.%d", i);
		put_ip(1, &eth0, addr);
	}
	assert_int_equal(told, VHCA_STRANGERS);
}

/* rdma_cm finds a device of iWARP by the hardware address of who has its address. */
static void a_device_of_iwarp_has_its_gid_from_its_netdev(void **state)
{
	struct vhca_ucontext uc;
	union ib_gid gid;

	vhca_netdev_del(dev);
	dev->own_uc = &uc;
	dev->info.flags = XENVHCA_INFO_CM;
	dev->link_layer = IB_LINK_LAYER_INFINIBAND;
	dev->registered = false;		/* ib_core asks before */
	assert_ptr_equal(asked(), &lo);
	vhca_netdev_gid(dev, &gid);
	assert_memory_equal(&gid, "\0\0\0\0", 4);
	gid_events = 0;
	vhca_netdev_add(dev);
	kernel_advance(1);
	assert_int_equal(gid_events, 0);
	put_ip(0, &eth0, "192.0.2.7");
	assert_int_equal(gid_events, 1);
	assert_ptr_equal(asked(), &eth0);
	assert_int_equal(eth0.refs, 0);		/* ib_core's to hold, not ours */
	vhca_netdev_gid(dev, &gid);
	assert_memory_equal(&gid, "eth0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
	put_ip(1, &eth0, "192.0.2.9");
	assert_int_equal(gid_events, 1);
	eth0.dev_addr[0] = 2;
	netdev_changed(&netdev_nb, NETDEV_CHANGEADDR, &eth0);
	kernel_advance(1);
	assert_int_equal(gid_events, 2);
	memcpy(eth1.dev_addr, eth0.dev_addr, 6);	/* another one, alike */
	put_ip(0, &eth1, "192.0.2.7");
	assert_int_equal(gid_events, 3);
	netdev_goes(&eth1);
	kernel_advance(1);
	assert_int_equal(gid_events, 4);
	assert_ptr_equal(asked(), &lo);
	eth0.addr_len = 32;				/* what does not fit is cut */
	put_ip(0, &eth0, "192.0.2.7");
	vhca_netdev_gid(dev, &gid);
	assert_memory_equal(&gid, eth0.dev_addr, 16);
	assert_null(attrs[1].ndev);			/* ib_core's GID is another */
}

static void a_notifier_that_fails_leaves_none(void **state)
{
	int before = notifiers;

	ipv4_err = -EEXIST;
	assert_int_equal(vhca_netdev_init(), -EEXIST);
	ipv4_err = 0;
	/* The stand-in counts the one that failed. */
	assert_int_equal(notifiers--, before + 1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_port_names_who_has_an_address),
		T(the_port_prefers_the_first_address),
		T(the_hold_is_the_callers),
		T(gids_follow_their_addresses),
		T(a_netdev_that_goes_is_let_go_at_once),
		T(replaced_attributes_name_nobody),
		T(another_namespace_has_other_netdevs),
		T(others_are_left_alone),
		T(the_log_tells_of_a_stranger_once),
		T(a_device_of_iwarp_has_its_gid_from_its_netdev),
		T(a_notifier_that_fails_leaves_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
