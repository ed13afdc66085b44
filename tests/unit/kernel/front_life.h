/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/front.c over the store of xenbus, and the rest of the module, for tests of
 * the life of a device. The test is the backend.
 */
#ifndef FRONT_LIFE_H
#define FRONT_LIFE_H

#include "kernel.h"
#include "../promised.h"
static int parents;			/* of RDMA devices */
#define root_device_unregister(dev) (parents--)
#include "copy/limit.c"
#include "copy/ring_cmd.c"
#include "copy/spin.c"
#include "copy/front.c"
#include "copy/nodes.c"
#include "copy/store_xenbus.c"

static struct xenbus_device xbdev;
static int ring_fails;			/* so many vhca_ring_init() of a page to come */
static unsigned int ring_most = 8;	/* the largest order that there is memory for */
static int ring_tried;
static unsigned int objects;		/* destroyed over the ring at the end */
static unsigned long each;		/* jiffies until that is answered */
static unsigned long took;		/* the end of the device */
static bool stuck;			/* a process, in a verb */
static unsigned int answers;		/* that its registration needs */
static unsigned long registering;	/* that */
static bool overdrawn;			/* backends keep too much */
static bool freed_closed;		/* the last rings, of a backend that closed */
static bool for_kernel;			/* each device that registers now */
static int nr_devices;			/* that there are */
static int registrations, aways, backs;
static int back_rc;			/* of a device that was away */
static u32 held;			/* pages of one that is, by the backend */

/* ---- the rest of the module ---- */
bool vhca_event(struct vhca_dev *d, const struct xenvhca_event *ev)
{
	return false;
}

bool vhca_event_overflow(struct vhca_dev *d)
{
	return false;
}

int vhca_ring_init(struct vhca_dev *dev, unsigned int order,
		   const struct vhca_ring_ops *ops)
{
	ring_tried += !order || !ring_fails;
	if (order > ring_most || (ring_fails && (order || ring_fails--)))
		return -ENOMEM;
	INIT_LIST_HEAD(&dev->ring.waiters);
	dev->ring.ops = ops;
	dev->ring.order = order;
	dev->ring.cmd_port = 15;
	dev->ring.evt_port = 16;
	dev->ring.kick_port = 17;
	dev->ring.evt_ref = 402;
	dev->ring.kick_ref = 403;
	for (order = 1u << order; order--; )
		dev->ring.cmd_ref[order] = 386 + order;
	dev->ring.reason = NULL;
	dev->ring.closed = false;
	dev->ring.state = VHCA_RING_UP;
	return 0;
}

void vhca_ring_free(struct vhca_dev *dev)
{
	dev->ring.state = VHCA_RING_BROKEN;
	freed_closed = dev->ring.closed;
}

struct vhca_dev *vhca_device_alloc(struct vhca_store *store)
{
	struct vhca_dev *dev = calloc(1, sizeof(*dev));

	nr_devices++;
	dev->store = store;
	return dev;
}

struct device *vhca_device_parent(struct vhca_store *store)
{
	parents++;
	return &xbdev.dev;
}

void vhca_device_free(struct vhca_dev *dev)
{
	nr_devices--;
	free(dev);
}

/* A device for the kernel, and what becomes of it. */
void vhca_device_away(struct vhca_dev *dev)
{
	aways += !dev->away;
	dev->away = true;
}

u32 vhca_device_held(struct vhca_dev *dev)
{
	assert_true(dev->away);
	assert_int_not_equal(dev->ring.state, VHCA_RING_UP);
	return held;
}

u64 vhca_grant_zombies(void)
{
	return overdrawn ? 1000 : 0;
}

bool vhca_grant_overdrawn(void)
{
	return overdrawn;
}

/* A broken ring ends a wait at once. */
static bool answered(struct vhca_dev *dev)
{
	unsigned long left;

	for (left = each; left && dev->ring.state == VHCA_RING_UP; left--)
		kernel_advance(1);
	return dev->ring.state == VHCA_RING_UP;
}

int vhca_device_register(struct vhca_dev *dev)
{
	unsigned long begin = jiffies;
	unsigned int i;

	if (dev->away) {
		backs++;
		dev->away = back_rc;
		dev->stays = back_rc != -ESTALE;
		return back_rc;
	}
	for (i = 0; i < answers && answered(dev); i++)
		;
	registering = jiffies - begin;
	dev->registered = i == answers;
	registrations++;
	dev->stays = for_kernel && dev->registered;
	return dev->registered ? 0 : -EIO;
}

/* What the RDMA core does with a device. */
static void destroy_objects(struct vhca_dev *dev)
{
	unsigned long begin = jiffies;
	unsigned int i;

	while (stuck)
		kernel_advance(1);

	for (i = 0; i < objects && dev->ring.state == VHCA_RING_UP; i++) {
		answered(dev);
		dev->ring.ended.v++;
	}
	took = jiffies - begin;
}

void vhca_device_unregister(struct vhca_dev *dev)
{
	if (!dev->registered)
		return;
	dev->registered = false;
	destroy_objects(dev);
}

void vhca_stats_add(struct vhca_dev *dev)
{
	(void)dev;
}

void vhca_stats_del(struct vhca_dev *dev)
{
	(void)dev;
}

static struct vhca_window *window;	/* of a translated guest */

struct vhca_window *vhca_window_new(void)
{
	return window;
}

u64 vhca_window_gfn(const struct vhca_window *w)
{
	(void)w;
	return 0;
}

void vhca_window_clear(struct vhca_window *w)
{
	(void)w;
}

void vhca_window_free(struct vhca_window *w)
{
	(void)w;
}

/* ---- the backend ---- */
static void backend(enum xenbus_state state)
{
	backend_state = state;
	xenbus_front.otherend_changed(&xbdev, state);
	kernel_advance(1);
}

static int setup(void **state)
{
	(void)state;
	xbdev = (struct xenbus_device){
		.nodename = "n", .otherend = "o",
		.state = XenbusStateInitialising,
	};
	kernel_requests = 0;
	ring_fails = ring_tried = 0;
	objects = answers = 0;
	overdrawn = for_kernel = false;
	registrations = aways = backs = back_rc = 0;
	held = 0;
	stuck = kernel_nodes_gone = false;
	if (!ends)
		assert_int_equal(vhca_front_init(), 0);
	assert_int_equal(xenbus_front.probe(&xbdev, NULL), 0);
	return 0;
}

static void connect(unsigned int nr, unsigned long seconds)
{
	backend(XenbusStateInitWait);
	backend(XenbusStateConnected);
	assert_int_equal(xbdev.state, XenbusStateConnected);
	objects = nr;
	each = seconds;
}

#endif
