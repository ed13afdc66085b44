// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/port.c: what ib_core is told of a port, and that it is told nothing
 * when it has let the device go.
 */
#include "kernel.h"

enum { IB_EVENT_PORT_ACTIVE = 9, IB_EVENT_PORT_ERR, IB_EVENT_LID_CHANGE,
       IB_EVENT_PKEY_CHANGE, IB_EVENT_SM_CHANGE, IB_EVENT_GID_CHANGE = 18 };
enum { IB_PORT_DOWN = 1, IB_PORT_ACTIVE = 4, IB_PORT_ACTIVE_DEFER };
enum { IB_MTU_256 = 1, IB_MTU_4096 = 5 };
enum rdma_link_layer { IB_LINK_LAYER_UNSPECIFIED, IB_LINK_LAYER_INFINIBAND,
		       IB_LINK_LAYER_ETHERNET };
#define IB_PORT_PHYS_STATE_DISABLED	3
#define RDMA_CORE_CAP_PROT_IB		1
#define RDMA_CORE_CAP_IB_GRH_REQUIRED	2
#define BITS_PER_LONG			64
#define U16_MAX				0xffff
#define ib_mtu_enum_to_int(m)		(128 << (m))
#define clamp_t(type, v, low, high)	clamp((type)(v), (type)(low), (type)(high))
#define xa_init(xa)			memset(xa, 0, sizeof(*(xa)))
#define xa_destroy			xa_init
#define xa_load(xa, i)			((i) < 8 ? (xa)->at[i] : NULL)
#define xa_err(p)			((void)(p), 0)
#define xa_store(xa, i, p, gfp)		((xa)->at[i] = (p))
#define xa_for_each(xa, i, p)						\
	for ((i) = 0; (i) < 8; (i)++)					\
		if ((p = (xa)->at[i]))

union ib_gid { u8 raw[16]; };
struct ib_port_immutable { u32 core_cap_flags; int gid_tbl_len, pkey_tbl_len; };
struct port_attr {
	int state, max_mtu, active_mtu, gid_tbl_len;
	u32 phys_mtu, port_cap_flags, max_msg_sz, bad_pkey_cntr, qkey_viol_cntr,
	    lid, sm_lid;
	u16 port_cap_flags2, pkey_tbl_len, active_speed;
	bool ip_gids;
	u8 lmc, max_vl_num, sm_sl, subnet_timeout, init_type_reply,
	   active_width, phys_state;
};
#define ib_port_attr port_attr

static void *kmemdup(const void *p, size_t n, int gfp);
static bool ib_device_try_get(struct ib_device *ibdev);
static void ib_device_put(struct ib_device *ibdev);
static void ib_dispatch_event(const struct ib_event *event);

#include "copy/port.c"

static struct vhca_dev *dev;
static bool registered;			/* in ib_core */
static bool going;			/* it unregisters during the next query */
static int held, told;
static u32 lid;
static u8 last;				/* octet of the GID at index 3 */
static unsigned long dispatched;
static int refuse, queries, read_queries;

/* ---- the kernel and the rest of the module ---- */
static void *kmemdup(const void *p, size_t n, int gfp)
{
	return memcpy(malloc(n), p, n);
}

static bool ib_device_try_get(struct ib_device *ibdev)
{
	held += registered;
	return registered;
}

static void ib_device_put(struct ib_device *ibdev)
{
	held--;
}

static void ib_dispatch_event(const struct ib_event *event)
{
	assert_true(registered);
	assert_int_equal(held, 1);
	assert_ptr_equal(event->device, &dev->ibdev);
	assert_int_equal(event->element.port_num, VHCA_PORT);
	told |= 1 << event->event;
}

int vhca_cmd_query_port(struct vhca_dev *d, struct xenvhca_query_port_rsp *rsp)
{
	memset(rsp, 0, sizeof(*rsp));
	rsp->state = IB_PORT_ACTIVE;
	rsp->gid_tbl_len = 8;
	rsp->pkey_tbl_len = 1;
	rsp->lid = lid;
	queries++;
	if (going)
		registered = false;
	return 0;
}

int vhca_cmd_query_gid_table(struct vhca_dev *d, u32 first,
			     struct xenvhca_query_gid_table_rsp *rsp)
{
	memset(rsp, 0, sizeof(*rsp));
	rsp->count = 1;
	rsp->gid[0].index = 3;
	rsp->gid[0].gid[15] = last;
	return refuse;
}

/* ib_core was told of what is new before. */
void vhca_gids_dispatched(struct vhca_dev *d, unsigned long events)
{
	assert_int_equal(held, 1);
	dispatched = events;
}

int vhca_cmd_query_pkey_table(struct vhca_dev *d, u32 first,
			      struct xenvhca_query_pkey_table_rsp *rsp)
{
	memset(rsp, 0, sizeof(*rsp));
	rsp->count = 1;
	return 0;
}

/* ---- tests ---- */
static int setup(void **state)
{
	dev = calloc(1, sizeof(*dev));
	vhca_port_init(dev);
	held = told = refuse = 0;
	dispatched = 0;
	lid = last = 1;
	registered = true;
	going = false;
	queries = 0;
	if (vhca_port_read(dev))
		return -1;
	read_queries = queries;
	queries = 0;
	vhca_port_registered(dev);
	return 0;
}

static int teardown(void **state)
{
	cancel_delayed_work_sync(&dev->refresh_work);
	kernel_idle();
	vhca_port_exit(dev);
	free(dev);
	return held;
}

static void a_change_is_told(void **state)
{
	lid = 2;
	vhca_port_refresh(dev);
	kernel_advance(2 * HZ);
	assert_int_equal(told, 1 << IB_EVENT_LID_CHANGE);
}

/* A registration has read it all, just now. */
static void a_registration_asks_once(void **state)
{
	assert_int_equal(read_queries, 1);
	assert_int_equal(dev->port.state, IB_PORT_ACTIVE);
	assert_int_equal(dev->port.gid_tbl_len, 8);
	kernel_advance(2 * HZ);
	assert_int_equal(queries, 0);
	dev->registered = false;
	lid = 2;
	vhca_port_refresh(dev);			/* ib_core cannot be told yet */
	kernel_advance(2 * HZ);
	assert_int_equal(queries, 0);
	vhca_port_registered(dev);
	kernel_advance(2 * HZ);
	assert_int_equal(queries, 1);
	assert_int_equal(told, 1 << IB_EVENT_LID_CHANGE);
}

/* The HCA's own driver is unloaded in the guest while a refresh is under way. */
static void nothing_is_told_behind_the_end(void **state)
{
	lid = 2;
	going = true;
	dev->port_events = BIT(IB_EVENT_SM_CHANGE);
	vhca_port_refresh(dev);
	kernel_advance(2 * HZ);
	assert_int_equal(told, 0);
	assert_int_equal(dev->port.lid, 2);
}

/* The backend's port has tables that others use, too. */
static void what_is_another_s_is_no_event(void **state)
{
	dev->port_events = BIT(IB_EVENT_GID_CHANGE) |
			   BIT(IB_EVENT_PKEY_CHANGE) | BIT(IB_EVENT_SM_CHANGE);
	vhca_port_refresh(dev);
	kernel_advance(2 * HZ);
	assert_int_equal(told, 1 << IB_EVENT_SM_CHANGE);
}

static void an_address_that_changes_is_told(void **state)
{
	last = 2;
	dev->port_events = BIT(IB_EVENT_GID_CHANGE);
	vhca_port_refresh(dev);
	kernel_advance(2 * HZ);
	assert_int_equal(told, 1 << IB_EVENT_GID_CHANGE);
	assert_int_equal(dispatched, BIT(IB_EVENT_GID_CHANGE));
}

/* Nobody knows: better one event too many. */
static void without_an_answer_the_event_is_passed_on(void **state)
{
	refuse = -EIO;
	dev->port_events = BIT(IB_EVENT_GID_CHANGE);
	vhca_port_refresh(dev);
	kernel_advance(2 * HZ);
	assert_int_equal(told, 1 << IB_EVENT_GID_CHANGE);
}

/* Nothing in ib_core takes the table of such a port for its own. */
static void an_ethernet_port_is_of_no_protocol(void **state)
{
	struct ib_port_immutable i;

	dev->link_layer = IB_LINK_LAYER_ETHERNET;
	assert_int_equal(vhca_get_port_immutable(&dev->ibdev, 1, &i), 0);
	assert_int_equal(i.core_cap_flags, RDMA_CORE_CAP_IB_GRH_REQUIRED);
	dev->link_layer = IB_LINK_LAYER_INFINIBAND;
	assert_int_equal(vhca_get_port_immutable(&dev->ibdev, 1, &i), 0);
	assert_int_equal(i.core_cap_flags, RDMA_CORE_CAP_PROT_IB);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_change_is_told),
		T(a_registration_asks_once),
		T(what_is_another_s_is_no_event),
		T(an_address_that_changes_is_told),
		T(without_an_answer_the_event_is_passed_on),
		T(an_ethernet_port_is_of_no_protocol),
		T(nothing_is_told_behind_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
