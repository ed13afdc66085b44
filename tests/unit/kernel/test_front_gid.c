// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/verbs/gid.c: which entries of the port's tables are this guest's, and what
 * ib_core's clients hear and see of GIDs of an Ethernet port.
 */
#include "kernel.h"

enum { IB_EVENT_GID_CHANGE = 18, IB_EVENT_CLIENT_REREGISTER = 17,
       IB_EVENT_SM_CHANGE = 13 };
enum rdma_link_layer { IB_LINK_LAYER_UNSPECIFIED, IB_LINK_LAYER_INFINIBAND,
		       IB_LINK_LAYER_ETHERNET };
enum { IB_GID_TYPE_IB, IB_GID_TYPE_ROCE, IB_GID_TYPE_ROCE_UDP_ENCAP };
#define xa_load(xa, i)			((i) < 8 ? (xa)->at[i] : NULL)
#define xa_for_each(xa, i, p)						\
	for ((i) = 0; (i) < 8; (i)++)					\
		if ((p = (xa)->at[i]))
#define down_read(l)			((void)(l))
#define up_read(l)			((void)(l))
#define ib_device			ib_device_full
#define ib_port_attr			port_attr

struct port_attr { int gid_tbl_len; u16 pkey_tbl_len; };
struct ib_event_handler;
struct ib_device {
	int event_handler_rwsem;
	struct list_head event_handler_list;
};
struct ib_event_handler {
	void (*handler)(struct ib_event_handler *h, struct ib_event *event);
	struct list_head list;
};
struct ib_gid_attr { int gid_type; };
static const struct ib_gid_attr *rdma_get_gid_attr(struct ib_device *ibdev,
						   u32 port, int index);
static void rdma_put_gid_attr(const struct ib_gid_attr *attr);

#include "copy/gid.c"

static struct vhca_dev *dev;
static struct ib_gid_attr table[8];	/* ib_core's */
static int refs, told, followed;
static u16 pkeys[2] = { 0xffff, 0 };

/* ---- the kernel ---- */
static const struct ib_gid_attr *rdma_get_gid_attr(struct ib_device *ibdev,
						   u32 port, int index)
{
	assert_ptr_equal(ibdev, &dev->ibdev);
	assert_int_equal(port, VHCA_PORT);
	if (index == 5)
		return ERR_PTR(-ENODATA);
	refs++;
	return &table[index];
}

static void rdma_put_gid_attr(const struct ib_gid_attr *attr)
{
	refs--;
}

void vhca_netdev_follow(struct vhca_dev *d)
{
	assert_ptr_equal(d, dev);
	assert_false(dev->cache_lock.held);
	followed = told + 1;
}

/* Who hears of it sees the type already. */
static void client(struct ib_event_handler *h, struct ib_event *event)
{
	assert_int_equal(event->event, IB_EVENT_GID_CHANGE);
	assert_int_equal(event->element.port_num, VHCA_PORT);
	assert_int_equal(table[2].gid_type, IB_GID_TYPE_ROCE_UDP_ENCAP);
	told++;
}

static struct ib_event_handler handler = { .handler = client };

/* ---- tests ---- */
static int setup(void **state)
{
	static struct xenvhca_gid v2 = { .type = 2 }, odd = { .type = 200 };

	dev = calloc(1, sizeof(*dev));
	mutex_init(&dev->cache_lock);
	INIT_LIST_HEAD(&dev->ibdev.event_handler_list);
	list_add_tail(&handler.list, &dev->ibdev.event_handler_list);
	dev->link_layer = IB_LINK_LAYER_ETHERNET;
	dev->port.gid_tbl_len = 8;
	dev->port.pkey_tbl_len = 2;
	dev->pkeys = pkeys;
	dev->gids.at[2] = dev->gids.at[5] = &v2;
	dev->gids.at[6] = &odd;
	memset(table, 0, sizeof(table));
	refs = told = followed = 0;
	return 0;
}

static int teardown(void **state)
{
	free(dev);
	return refs;
}

static void own_entries_are_usable(void **state)
{
	assert_int_equal(vhca_gid_usable(dev, 3), 0);	/* shared */
	assert_int_equal(vhca_pkey_usable(dev, 7), 0);
	dev->info.flags = XENVHCA_INFO_OWN_GIDS;
	assert_int_equal(vhca_gid_usable(dev, 2), 0);
	assert_int_equal(vhca_gid_usable(dev, 3), -ENODATA);
	assert_int_equal(vhca_gid_usable(dev, 8), -EINVAL);
	assert_int_equal(vhca_gid_usable(dev, ~0u), -EINVAL);
	assert_int_equal(vhca_pkey_usable(dev, 7), 0);
	dev->info.flags = XENVHCA_INFO_OWN_PKEYS;
	assert_int_equal(vhca_gid_usable(dev, 8), 0);
	assert_int_equal(vhca_pkey_usable(dev, 0), 0);
	assert_int_equal(vhca_pkey_usable(dev, 1), -EINVAL);	/* 0 */
	assert_int_equal(vhca_pkey_usable(dev, 2), -EINVAL);
}

/* ib_core's create_ah may be called under a spin lock, and under any other lock. */
static void an_address_vector_is_checked_in_any_context(void **state)
{
	dev->info.flags = XENVHCA_INFO_OWN_GIDS;
	kernel_atomic++;
	assert_int_equal(vhca_gid_usable(dev, 2), 0);
	assert_int_equal(vhca_gid_usable(dev, 3), -ENODATA);
	kernel_atomic--;
}

static void types_are_those_of_the_wire(void **state)
{
	assert_int_equal(vhca_enable_driver(&dev->ibdev), 0);
	assert_int_equal(table[2].gid_type, IB_GID_TYPE_ROCE_UDP_ENCAP);
	assert_int_equal(table[6].gid_type, 0);	/* a backend's nonsense */
}

static void clients_hear_of_a_gid(void **state)
{
	vhca_gids_event(dev, IB_EVENT_SM_CHANGE);
	assert_int_equal(table[2].gid_type, 0);
	assert_int_equal(told, 0);
	assert_int_equal(followed, 0);
	vhca_gids_event(dev, IB_EVENT_GID_CHANGE);
	assert_int_equal(told, 1);
	assert_int_equal(followed, 1);		/* before they hear */
	memset(table, 0, sizeof(table));	/* what an update leaves */
	vhca_gids_event(dev, IB_EVENT_CLIENT_REREGISTER);
	assert_int_equal(told, 1);
	assert_int_equal(followed, 2);
	assert_int_equal(table[2].gid_type, IB_GID_TYPE_ROCE_UDP_ENCAP);
}

/* There ib_core does what it does natively. */
static void an_infiniband_port_is_left_alone(void **state)
{
	dev->link_layer = IB_LINK_LAYER_INFINIBAND;
	vhca_enable_driver(&dev->ibdev);
	vhca_gids_event(dev, IB_EVENT_GID_CHANGE);
	assert_int_equal(told, 0);
	assert_int_equal(table[2].gid_type, 0);
}

/* Its GID is of no network of the HCA's. */
static void a_device_of_iwarp_is_left_alone(void **state)
{
	struct vhca_ucontext uc;

	dev->own_uc = &uc;
	dev->nets.nr = 1;
	dev->info.flags = XENVHCA_INFO_CM;
	vhca_enable_driver(&dev->ibdev);
	vhca_gids_event(dev, IB_EVENT_GID_CHANGE);
	assert_int_equal(told + followed, 0);
	assert_int_equal(table[2].gid_type, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(own_entries_are_usable),
		T(an_address_vector_is_checked_in_any_context),
		T(types_are_those_of_the_wire),
		T(clients_hear_of_a_gid),
		T(an_infiniband_port_is_left_alone),
		T(a_device_of_iwarp_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
