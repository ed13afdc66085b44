// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The store of a device that a toolstack made: nodes and states in xenstore, and
 * a driver on xenbus. front.c knows what they mean.
 */
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/slab.h>
#include <xen/xenbus.h>
#include <xen/io/vhcaif.h>

#include "compat.h"
#include "front.h"
#include "store.h"

struct vhca_xenbus {
	struct vhca_store store;
	struct xenbus_device *xbdev;
	struct vhca_front *front;
	struct xenbus_watch lost;	/* nodes gone by a restore; .node: set */
	struct xenbus_watch moved;	/* state of a backend that xenbus does not know */
	struct list_head all;		/* in devices */
	struct mutex lock;		/* held by each op */
	bool gone;			/* removed: xbdev has no peer and no nodes */
	enum xenbus_state next;		/* to be entered by ours_changed() */
};

/*
 * Not the list of the bus: a task that removes a device from that list holds the
 * device's lock, and may wait for the thread of the watches.
 */
static DEFINE_MUTEX(devices_lock);	/* next of all, too */
static LIST_HEAD(devices);
static bool no_events;			/* none leads to ours_changed() */

static struct vhca_xenbus *to_xenbus(struct vhca_store *l)
{
	return container_of(l, struct vhca_xenbus, store);
}

/* The front may outlive the device, whose number another device may have by then. */
static bool store_begin(struct vhca_xenbus *x)
{
	mutex_lock(&x->lock);
	if (!x->gone)
		return true;
	mutex_unlock(&x->lock);
	return false;
}

static void store_end(struct vhca_xenbus *x)
{
	mutex_unlock(&x->lock);
}

static char *store_read(struct vhca_store *l, const char *node)
{
	struct vhca_xenbus *x = to_xenbus(l);
	char *text;

	if (!store_begin(x))
		return ERR_PTR(-ENODEV);
	text = xenbus_read(XBT_NIL, x->xbdev->otherend, node, NULL);
	store_end(x);
	return text;
}

static int nodes_write(const char *dir, const struct vhca_node *node,
		       unsigned int nr)
{
	struct xenbus_transaction xbt;
	unsigned int i;
	int err;

	/* One write needs no transaction. */
	if (nr == 1)
		return xenbus_write(XBT_NIL, dir, node->name, node->value);
	do {
		err = xenbus_transaction_start(&xbt);
		if (err)
			return err;
		for (i = 0; !err && i < nr; i++)
			err = xenbus_write(xbt, dir, node[i].name,
					   node[i].value);
		if (err) {
			xenbus_transaction_end(xbt, 1);
			return err;
		}
		err = xenbus_transaction_end(xbt, 0);
	} while (err == -EAGAIN);
	return err;
}

static int store_write(struct vhca_store *l, const struct vhca_node *node,
		       unsigned int nr)
{
	struct vhca_xenbus *x = to_xenbus(l);
	int err;

	if (!store_begin(x))
		return -ENODEV;
	err = nodes_write(x->xbdev->nodename, node, nr);
	store_end(x);
	return err;
}

/* Also while the device is removed. */
static int store_rm(struct vhca_store *l, const char *node)
{
	const char *dir = to_xenbus(l)->xbdev->nodename;
	int err = xenbus_rm(XBT_NIL, dir, node);

	if (err == -ENOENT)
		return 0;
	/* The directory is gone, and the guest may not read the one above. */
	if (err == -EACCES && !xenbus_exists(XBT_NIL, dir, "state"))
		return 0;
	return err;
}

static void xenbus_broken(struct vhca_store *l, const char *reason)
{
	struct vhca_xenbus *x = to_xenbus(l);

	if (!store_begin(x))
		return;
	xenbus_write(XBT_NIL, x->xbdev->nodename, XENVHCA_NODE_BROKEN, reason);
	store_end(x);
}

static enum xenbus_state xenbus_theirs(struct vhca_store *l)
{
	struct vhca_xenbus *x = to_xenbus(l);
	enum xenbus_state state = XenbusStateUnknown;

	if (!store_begin(x))
		return state;
	/* None after a restore without nodes, see xenbus_found(). */
	if (x->xbdev->otherend)
		state = xenbus_read_driver_state(x->xbdev, x->xbdev->otherend);
	store_end(x);
	return state;
}

static enum xenbus_state xenbus_mine(struct vhca_store *l)
{
	struct vhca_xenbus *x = to_xenbus(l);
	enum xenbus_state next = smp_load_acquire(&x->next);	/* then xenbus' state */

	return next != XenbusStateUnknown ? next : x->xbdev->state;
}

/*
 * xenbus takes a device for one that was made anew, and removes it, if its state is
 * Initialising in xenstore and another one in the driver (xenbus_dev_changed()). It reads
 * one after the other, so Initialised is entered by ours_changed(): both run in the thread
 * of the watches. If the watch is not there yet, its first event, which comes by itself,
 * does it.
 */
static bool must_defer(const struct xenbus_device *xbdev,
		       enum xenbus_state state)
{
	return VHCA_XENBUS_RESETS && !READ_ONCE(no_events) &&
	       state == XenbusStateInitialised &&
	       xbdev->state == XenbusStateInitialising;
}

static int xenbus_enter(struct vhca_store *l, enum xenbus_state state)
{
	struct vhca_xenbus *x = to_xenbus(l);
	int err = 0;

	mutex_lock(&devices_lock);
	if (!store_begin(x)) {
		mutex_unlock(&devices_lock);
		return -ENODEV;
	}
	x->next = XenbusStateUnknown;
	if (state == XenbusStateClosed) {
		xenbus_frontend_closed(x->xbdev);
	} else if (must_defer(x->xbdev, state)) {
		x->next = state;
		/* Writes the same state, for the event. Fails without nodes. */
		err = xenbus_printf(XBT_NIL, x->xbdev->nodename, "state", "%d",
				    XenbusStateInitialising);
		if (err)
			x->next = XenbusStateUnknown;
	} else {
		err = xenbus_switch_state(x->xbdev, state);
	}
	store_end(x);
	mutex_unlock(&devices_lock);
	return err;
}

/* In the thread where xenbus makes and removes devices. */
static void enter_next(void)
{
	struct vhca_xenbus *x;

	mutex_lock(&devices_lock);
	list_for_each_entry(x, &devices, all) {
		if (x->next == XenbusStateUnknown)
			continue;
		xenbus_switch_state(x->xbdev, x->next);
		smp_store_release(&x->next, XenbusStateUnknown);	/* after xenbus' state */
	}
	mutex_unlock(&devices_lock);
}

static void devices_del(struct vhca_xenbus *x)
{
	mutex_lock(&devices_lock);
	list_del(&x->all);
	mutex_unlock(&devices_lock);
}

/*
 * In the thread where xenbus makes and removes devices. Both ways lead through
 * front_remove(), which frees @watch.
 */
static void lost_changed(struct xenbus_watch *watch, const char *path,
			 const char *token)
{
	struct vhca_xenbus *x = container_of(watch, struct vhca_xenbus, lost);
	struct xenbus_device *xbdev = x->xbdev;

	/* While the module is being unloaded it removes the device itself. */
	if (!try_module_get(THIS_MODULE))
		return;
	get_device(&xbdev->dev);
	if (!xenbus_exists(XBT_NIL, xbdev->nodename, "backend"))
		device_unregister(&xbdev->dev);
	else if (device_reprobe(&xbdev->dev))
		dev_warn(&xbdev->dev, "cannot start anew after a restore\n");
	put_device(&xbdev->dev);
	module_put(THIS_MODULE);
}

/*
 * The domain was restored by a toolstack that does not know this kind of device, and
 * there were no nodes when xenbus resumed it. xenbus keeps such a device for ever and
 * would not notice a new one with the same number: a watch, whose first event comes by
 * itself, has it removed, or reprobed if there are new nodes by then.
 */
static void xenbus_lost(struct vhca_xenbus *x)
{
	if (!x->lost.node)
		xenbus_watch_pathfmt(x->xbdev, &x->lost, NULL,
				     lost_changed, "%s/%s",
				     x->xbdev->nodename, "backend");
}

/* A device that was restored may have another backend than before. */
static bool xenbus_found(struct vhca_store *l)
{
	struct vhca_xenbus *x = to_xenbus(l);
	bool found;

	if (!store_begin(x))
		return false;
	found = x->xbdev->otherend;
	if (found)
		l->backend = x->xbdev->otherend_id;
	else
		xenbus_lost(x);
	store_end(x);
	return found;
}

static void xenbus_free(struct vhca_store *l)
{
	struct vhca_xenbus *x = to_xenbus(l);

	put_device(&x->xbdev->dev);
	mutex_destroy(&x->lock);
	kfree(x);
}

static const struct vhca_store_ops xenbus_ops = {
	.read = store_read,
	.write = store_write,
	.remove = store_rm,
	.broken = xenbus_broken,
	.theirs = xenbus_theirs,
	.mine = xenbus_mine,
	.enter = xenbus_enter,
	.found = xenbus_found,
	.free = xenbus_free,
};

/* ---- a backend that is another domain now ---- */

static void backend_changed(struct xenbus_watch *watch, const char *path,
			    const char *token)
{
	struct vhca_xenbus *x = container_of(watch, struct vhca_xenbus, moved);

	vhca_front_changed(x->front, xenbus_theirs(&x->store));
}

static void watch_end(struct xenbus_watch *watch)
{
	if (!watch->node)
		return;
	unregister_xenbus_watch(watch);
	kfree(watch->node);
	watch->node = NULL;
}

/*
 * The backend domain of a device of the guest's kernel is gone, and the toolstack has made
 * the nodes anew for the next one. xenbus reads the backend at the probe and at a resume only,
 * and watches it where it was then. The new watch's first event comes by itself.
 */
static void backend_moved(struct vhca_xenbus *x)
{
	struct xenbus_device *xbdev = x->xbdev;
	char *path = xenbus_read(XBT_NIL, xbdev->nodename, "backend", NULL);
	unsigned int id;

	if (IS_ERR(path))
		return;
	id = xenbus_read_unsigned(xbdev->nodename, "backend-id", DOMID_FIRST_RESERVED);
	mutex_lock(&x->lock);
	if (id >= DOMID_FIRST_RESERVED || !xbdev->otherend || !strcmp(path, xbdev->otherend)) {
		mutex_unlock(&x->lock);
		kfree(path);
		return;
	}
	kfree(xbdev->otherend);
	xbdev->otherend = path;
	xbdev->otherend_id = id;
	mutex_unlock(&x->lock);
	vhca_front_changed(x->front, XenbusStateUnknown);
	watch_end(&x->moved);
	xenbus_watch_pathfmt(xbdev, &x->moved, NULL, backend_changed, "%s/%s", path, "state");
}

/* @path: device/vhca/<number>/<node>; its device may be none of ours. */
static void node_changed(const char *path)
{
	const char *node = strrchr(path, '/');
	struct vhca_xenbus *x;

	if (!node || strcmp(node, "/backend"))
		return;
	mutex_lock(&devices_lock);
	list_for_each_entry(x, &devices, all)
		if (!IS_ERR_OR_NULL(x->front) &&
		    strlen(x->xbdev->nodename) == node - path &&
		    !strncmp(path, x->xbdev->nodename, node - path))
			backend_moved(x);
	mutex_unlock(&devices_lock);
}

/* ---- xenbus driver ---- */

static void peer_changed(struct xenbus_device *xbdev,
			 enum xenbus_state state)
{
	struct vhca_xenbus *x = dev_get_drvdata(&xbdev->dev);

	vhca_front_changed(x->front, state);
}

/* The last word of device/vhca/<number>. */
static int number_of(const struct xenbus_device *xbdev)
{
	const char *word = strrchr(xbdev->nodename, '/');
	unsigned int number;

	return word && !kstrtouint(word + 1, 10, &number) ?
	       min_t(unsigned int, number, INT_MAX) : 0;
}

static int front_probe(struct xenbus_device *xbdev,
		       const struct xenbus_device_id *id)
{
	struct vhca_xenbus *x = kzalloc(sizeof(*x), GFP_KERNEL);
	int err;

	if (!x)
		return -ENOMEM;
	mutex_init(&x->lock);
	get_device(&xbdev->dev);
	x->xbdev = xbdev;
	x->store.ops = &xenbus_ops;
	x->store.dev = &xbdev->dev;
	x->store.number = number_of(xbdev);
	mutex_lock(&devices_lock);
	list_add(&x->all, &devices);
	mutex_unlock(&devices_lock);
	x->front = vhca_front_new(&x->store);
	if (IS_ERR(x->front)) {
		err = PTR_ERR(x->front);
		devices_del(x);
		xenbus_free(&x->store);
		return err;
	}
	dev_set_drvdata(&xbdev->dev, x);
	return 0;
}

/*
 * Without nodes this is the thread of the watches, which all hot-plug of the domain
 * needs: no wait. Else a task of the guest unbinds or unloads the driver, and xenbus
 * enters Closed after that.
 */
static vhca_xenbus_removed_t front_remove(struct xenbus_device *xbdev)
{
	struct vhca_xenbus *x = dev_get_drvdata(&xbdev->dev);

	vhca_front_end(x->front);
	if (xenbus_exists(XBT_NIL, xbdev->nodename, "state"))
		vhca_front_ended(x->front);
	mutex_lock(&x->lock);
	x->gone = true;
	mutex_unlock(&x->lock);
	watch_end(&x->lost);
	dev_set_drvdata(&xbdev->dev, NULL);
	devices_del(x);
	watch_end(&x->moved);
	vhca_front_put(x->front);
	return VHCA_XENBUS_REMOVED;
}

static int front_suspend(struct xenbus_device *xbdev)
{
	struct vhca_xenbus *x = dev_get_drvdata(&xbdev->dev);

	vhca_front_suspend(x->front);
	return 0;
}

static const struct xenbus_device_id front_ids[] = {
	{ XENVHCA_DRIVER_NAME },
	{ "" }
};

static struct xenbus_driver xenbus_front = {
	.ids = front_ids,
	VHCA_NOT_ESSENTIAL
	.otherend_changed = peer_changed,
	.probe = front_probe,
	.remove = front_remove,
	.suspend = front_suspend,
};

/*
 * Linux found a device, but its nodes were gone before the driver's probe: the device
 * stays without a driver (talk_to_otherend()). If the toolstack then makes the next
 * device of that number, xenbus takes it for this one and does nothing
 * (xenbus_dev_changed()). Its nodes are as the toolstack wrote them, or xenbus has
 * written Closing for the old device into them (xenbus_dev_fatal()). So after each
 * change of a vhca, devices without driver that have nodes are probed again. xenbus
 * writes Closing once only, so this ends.
 */
static bool has_nodes(const struct xenbus_device *xbdev)
{
	enum xenbus_state state = xenbus_read_driver_state(xbdev,
							   xbdev->nodename);

	return (state == XenbusStateInitialising ||
		state == XenbusStateClosing) &&
	       xenbus_exists(XBT_NIL, xbdev->nodename, "backend");
}

static int try_again(struct device *dev, void *unused)
{
	const struct xenbus_device *xbdev = to_xenbus_device(dev);

	if (!dev->driver && !strcmp(xbdev->devicetype, XENVHCA_DRIVER_NAME) &&
	    has_nodes(xbdev) && device_attach(dev) < 0)
		dev_warn(dev, "has no driver at the second try either\n");
	return 0;
}

/* In the thread where xenbus makes and removes devices. */
static void ours_changed(struct xenbus_watch *watch, const char *path,
			 const char *token)
{
	bus_for_each_dev(xenbus_front.driver.bus, NULL, NULL, try_again);
	node_changed(path);
	enter_next();
}

static struct xenbus_watch ours = { .callback = ours_changed };

/* Not called without xenstore (store_page.c). */
static int store_ready(struct notifier_block *nb, unsigned long event,
		       void *data)
{
	ours.node = "device/" XENVHCA_DRIVER_NAME;
	if (register_xenbus_watch(&ours)) {
		ours.node = NULL;
		pr_warn("xen-vhcafront: cannot watch the devices\n");
		WRITE_ONCE(no_events, true);
		enter_next();
	}
	return NOTIFY_DONE;
}

static struct notifier_block store = { .notifier_call = store_ready };

/*
 * Without an owner: xenbus would hold a reference of the module for each
 * device, and it could not be unloaded. Unregistering the driver removes all
 * devices, and a process that still has queue memory mapped holds a reference
 * (map.c).
 */
int vhca_xenbus_init(void)
{
	int err = __xenbus_register_frontend(&xenbus_front, NULL,
					     KBUILD_MODNAME);

	if (!err)
		register_xenstore_notifier(&store);
	return err;
}

void vhca_xenbus_exit(void)
{
	unregister_xenstore_notifier(&store);
	if (ours.node)
		unregister_xenbus_watch(&ours);
	xenbus_unregister_driver(&xenbus_front);
}
