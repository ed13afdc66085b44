// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/verbs/port.c: what ib_core is told of a port, and that it is told nothing
 * when it has let the device go.
 */
#include "kernel.h"

enum { IB_EVENT_PORT_ACTIVE = 9, IB_EVENT_PORT_ERR, IB_EVENT_LID_CHANGE,
       IB_EVENT_PKEY_CHANGE, IB_EVENT_SM_CHANGE, IB_EVENT_CLIENT_REREGISTER = 17,
       IB_EVENT_GID_CHANGE };
enum { IB_PORT_DOWN = 1, IB_PORT_ACTIVE = 4, IB_PORT_ACTIVE_DEFER };
enum { IB_MTU_256 = 1, IB_MTU_4096 = 5 };
enum rdma_link_layer { IB_LINK_LAYER_UNSPECIFIED, IB_LINK_LAYER_INFINIBAND,
		       IB_LINK_LAYER_ETHERNET };
#define IB_PORT_PHYS_STATE_DISABLED	3
#define RDMA_CORE_CAP_PROT_IB		1
#define RDMA_CORE_CAP_IB_GRH_REQUIRED	2
#define BITS_PER_LONG			64
#define RDMA_CORE_PORT_IWARP		4
#define U16_MAX				0xffff
#define ib_mtu_enum_to_int(m)		(128 << (m))
#define clamp_t(type, v, low, high)	clamp((type)(v), (type)(low), (type)(high))
#define set_bit				__set_bit
#define flush_workqueue(wq)		kernel_flush(wq)
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
static int the_wq, *ib_wq = &the_wq;
static void kernel_flush(int *wq);

#include "copy/port.c"

static struct vhca_dev *dev;
static bool registered;			/* in ib_core */
static bool going;			/* it unregisters during the next query */
static int held, told;
static char said[64];			/* "E": PORT_ERR and so on, in order */
static int works[8], n_works;		/* of ib_core */
static u32 lid, sm_lid;
static u8 port_state;
static u8 last;				/* octet of the GID at index 3 */
static u16 pkey;
static int refuse, queries, read_queries, port_rc;

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
	works[n_works++] = event->event;
}

/* They run side by side: the last may be the first that ends. */
static void kernel_flush(int *wq)
{
	static const char names[] = {
		[IB_EVENT_PORT_ACTIVE] = 'A', [IB_EVENT_PORT_ERR] = 'E',
		[IB_EVENT_LID_CHANGE] = 'L', [IB_EVENT_PKEY_CHANGE] = 'P',
		[IB_EVENT_SM_CHANGE] = 'S', [IB_EVENT_CLIENT_REREGISTER] = 'R',
		[IB_EVENT_GID_CHANGE] = 'G',
	};

	/* Else the end of this device would wait for works of others. */
	assert_int_equal(held, 0);
	assert_ptr_equal(wq, &the_wq);
	while (n_works) {
		told |= 1 << works[--n_works];
		said[strlen(said)] = names[works[n_works]];
		/* Who hears of it sees the new tables. */
		assert_int_equal(dev->port.lid, lid);
		assert_int_equal(dev->pkeys[0], pkey);
		assert_int_equal(((u8 *)dev->gids.at[3])[offsetof(struct xenvhca_gid, gid) + 15],
				 last);
	}
}

int vhca_cmd_query_port(struct vhca_dev *d, struct xenvhca_query_port_rsp *rsp)
{
	memset(rsp, 0, sizeof(*rsp));
	rsp->state = port_state;
	rsp->gid_tbl_len = 8;
	rsp->pkey_tbl_len = 1;
	rsp->lid = lid;
	rsp->sm_lid = sm_lid;
	queries++;
	if (going)
		registered = false;
	return port_rc;
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

/* ib_core was told before. */
void vhca_gids_event(struct vhca_dev *d, int event)
{
	assert_int_equal(held, 1);
	assert_int_equal(n_works, 0);
	assert_true(told & 1 << event);
}

int vhca_cmd_query_pkey_table(struct vhca_dev *d, u32 first,
			      struct xenvhca_query_pkey_table_rsp *rsp)
{
	memset(rsp, 0, sizeof(*rsp));
	rsp->count = 1;
	rsp->pkey[0] = pkey;
	return 0;
}

void vhca_netdev_gid(struct vhca_dev *d, union ib_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	gid->raw[0] = 0x52;
}

/* ---- tests ---- */
static int setup(void **state)
{
	dev = calloc(1, sizeof(*dev));
	vhca_port_init(dev);
	held = told = refuse = n_works = 0;
	memset(said, 0, sizeof(said));
	lid = sm_lid = last = 1;
	pkey = 0xffff;
	port_state = IB_PORT_ACTIVE;
	registered = true;
	going = false;
	queries = 0;
	dev->ring.state = VHCA_RING_UP;
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
}

/* Who hears of it sees what is new, so it waits until that has been read. */
static void without_an_answer_an_event_waits(void **state)
{
	refuse = -EIO;
	last = 2;
	lid = 2;
	dev->port_events = BIT(IB_EVENT_GID_CHANGE) | BIT(IB_EVENT_SM_CHANGE);
	vhca_port_refresh(dev);
	kernel_advance(10 * HZ);
	assert_string_equal(said, "");
	assert_in_range(queries, 10, 15);
	refuse = 0;
	kernel_advance(2 * HZ);
	assert_string_equal(said, "LSG");
	kernel_advance(2 * HZ);
	assert_string_equal(said, "LSG");
}

/* Nobody asks again where there will be no answer. */
static void a_broken_ring_is_asked_once(void **state)
{
	refuse = -EIO;
	dev->ring.state = VHCA_RING_BROKEN;
	vhca_port_refresh(dev);
	kernel_advance(10 * HZ);
	assert_int_equal(queries, 1);
}

/* A device for the kernel: its port is down while there is no connection, and asks nobody. */
static void a_port_is_down_while_its_device_is_away(void **state)
{
	struct ib_port_attr attr;

	dev->away = true;
	dev->port_events |= BIT(IB_EVENT_PORT_ERR);
	vhca_port_refresh(dev);
	kernel_advance(2 * HZ);
	assert_string_equal(said, "E");
	assert_int_equal(vhca_query_port(&dev->ibdev, 1, &attr), 0);
	assert_int_equal(attr.state, IB_PORT_DOWN);
	assert_int_equal(attr.gid_tbl_len, 8);
	assert_int_equal(queries, 0);
	dev->away = false;
	vhca_port_refresh(dev);
	kernel_advance(2 * HZ);
	assert_string_equal(said, "EA");
}

/* It was back before its clients heard of it. */
static void a_short_absence_is_told(void **state)
{
	dev->port_events |= BIT(IB_EVENT_PORT_ERR);
	vhca_port_refresh(dev);
	kernel_advance(2 * HZ);
	assert_string_equal(said, "EA");
}

static void another_port_is_not_the_same(void **state)
{
	assert_int_equal(vhca_port_same(dev), 0);
	dev->port.gid_tbl_len = 7;
	assert_int_equal(vhca_port_same(dev), -ESTALE);
	dev->port.gid_tbl_len = 8;
	dev->port.pkey_tbl_len = 2;
	assert_int_equal(vhca_port_same(dev), -ESTALE);
	dev->port.pkey_tbl_len = 1;
	dev->link_layer = IB_LINK_LAYER_ETHERNET;
	assert_int_equal(vhca_port_same(dev), -ESTALE);
	port_rc = -EIO;
	assert_int_equal(vhca_port_same(dev), -EIO);
	port_rc = 0;
}

/* What the backend reports within one refresh, and the state when that asks. */
static const char *flaps(unsigned long events, u8 now)
{
	memset(said, 0, sizeof(said));
	dev->port_events |= events;
	port_state = now;
	vhca_port_refresh(dev);
	kernel_advance(2 * HZ);
	return said;
}

static void the_last_event_tells_the_state(void **state)
{
	const unsigned long act = BIT(IB_EVENT_PORT_ACTIVE);
	const unsigned long err = BIT(IB_EVENT_PORT_ERR);

	assert_string_equal(flaps(err | act, IB_PORT_ACTIVE), "EA");
	assert_string_equal(flaps(err | act, IB_PORT_DOWN), "E");
	assert_string_equal(flaps(err | act, IB_PORT_DOWN), "AE");
	assert_string_equal(flaps(err | act, IB_PORT_ACTIVE), "A");
	/* The event of the end of a flap comes after the refresh. */
	assert_string_equal(flaps(err, IB_PORT_ACTIVE), "EA");
	assert_string_equal(flaps(act, IB_PORT_ACTIVE), "");
	assert_string_equal(flaps(err, IB_PORT_DOWN), "E");
	/* Events were lost, but not the state. */
	assert_string_equal(flaps(0, IB_PORT_ACTIVE), "A");
	assert_string_equal(flaps(0, IB_PORT_DOWN), "E");
	assert_string_equal(flaps(0, IB_PORT_ACTIVE_DEFER), "");
	assert_string_equal(flaps(0, IB_PORT_DOWN), "");
}

/* One event after the other, those of the tables first. */
static void events_have_an_order(void **state)
{
	lid = sm_lid = last = 2;
	pkey = 0x8001;
	assert_string_equal(flaps(BIT(IB_EVENT_PORT_ACTIVE) |
				  BIT(IB_EVENT_PORT_ERR) |
				  BIT(IB_EVENT_CLIENT_REREGISTER) |
				  BIT(IB_EVENT_GID_CHANGE), IB_PORT_ACTIVE),
			    "LPSRGEA");
}

/* A process that sees the port down hears when it is up again. */
static void a_state_that_was_seen_is_left_by_an_event(void **state)
{
	struct ib_port_attr attr;

	port_state = IB_PORT_DOWN;
	assert_int_equal(vhca_query_port(&dev->ibdev, 1, &attr), 0);
	assert_int_equal(attr.state, IB_PORT_DOWN);
	assert_string_equal(flaps(0, IB_PORT_ACTIVE), "EA");
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

/* ib_core's table of GIDs is as long as the port says, in both places. */
static void a_port_of_iwarp_has_the_gid_of_its_netdev(void **state)
{
	struct ib_port_immutable i;
	struct vhca_ucontext uc;
	struct port_attr attr;
	union ib_gid gid;

	dev->own_uc = &uc;
	dev->info.flags = XENVHCA_INFO_CM;
	assert_int_equal(vhca_get_port_immutable(&dev->ibdev, 1, &i), 0);
	assert_int_equal(i.core_cap_flags, RDMA_CORE_CAP_PROT_IB);	/* without ip= */
	assert_int_equal(i.gid_tbl_len, 8);
	dev->nets.nr = 1;
	assert_int_equal(vhca_get_port_immutable(&dev->ibdev, 1, &i), 0);
	assert_int_equal(i.core_cap_flags, RDMA_CORE_PORT_IWARP);
	assert_int_equal(i.gid_tbl_len, 1);
	assert_int_equal(vhca_query_port(&dev->ibdev, 1, &attr), 0);
	assert_int_equal(attr.gid_tbl_len, 1);
	port_rc = -EIO;
	assert_int_equal(vhca_query_port(&dev->ibdev, 1, &attr), 0);
	assert_int_equal(attr.gid_tbl_len, 1);
	port_rc = 0;
	assert_int_equal(vhca_query_gid(&dev->ibdev, 1, 0, &gid), 0);
	assert_int_equal(gid.raw[0], 0x52);
	assert_int_equal(dev->port.gid_tbl_len, 8);	/* of the backend's */
}

/* ib_core would take that GID away for a while, and consumers with it. */
static void a_port_of_iwarp_keeps_its_gid_whatever_the_backend_says(void **state)
{
	struct vhca_ucontext uc;

	dev->own_uc = &uc;
	dev->info.flags = XENVHCA_INFO_CM;
	dev->nets.nr = 1;
	last = 2;
	lid = 2;
	dev->port_events = BIT(IB_EVENT_CLIENT_REREGISTER) | BIT(IB_EVENT_GID_CHANGE);
	vhca_port_refresh(dev);
	kernel_advance(2 * HZ);
	assert_string_equal(said, "L");
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_change_is_told),
		T(a_registration_asks_once),
		T(what_is_another_s_is_no_event),
		T(an_address_that_changes_is_told),
		T(without_an_answer_an_event_waits),
		T(a_broken_ring_is_asked_once),
		T(a_port_is_down_while_its_device_is_away),
		T(a_short_absence_is_told),
		T(another_port_is_not_the_same),
		T(the_last_event_tells_the_state),
		T(events_have_an_order),
		T(a_state_that_was_seen_is_left_by_an_event),
		T(an_ethernet_port_is_of_no_protocol),
		T(a_port_of_iwarp_has_the_gid_of_its_netdev),
		T(a_port_of_iwarp_keeps_its_gid_whatever_the_backend_says),
		T(nothing_is_told_behind_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
