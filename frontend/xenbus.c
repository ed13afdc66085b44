// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Xenstore nodes and states of a device: meets a backend, registers an RDMA
 * device while it is connected, gives it up in order or when the backend is
 * gone, and starts again when there is a new one.
 *
 * All transitions are made by one worker per xenbus device (front->work on an
 * ordered queue), which reads the backend's state itself: watches may be
 * merged and states may be skipped. The watch only cuts a dead backend off at
 * once, since the worker may be waiting for it. While the domain is suspended
 * there is no connection: it ends before, and the worker, which the kernel
 * freezes until the domain runs again, makes a new one. Values read from
 * xenstore are the backend's and are range-checked here.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <xen/page.h>

#include "vhca.h"

#define VHCA_CLOSE_WAIT		(10 * HZ)
#define VHCA_CLOSE_POLL_MS	20
/* Time limits for the end of a device: in all, and for each destroy command. */
#define VHCA_END_WAIT		(30 * HZ)
#define VHCA_END_EACH		(HZ / 10)
#define VHCA_RETRY_MAX_MS	30000u

struct vhca_front {
	struct xenbus_device *xbdev;
	struct workqueue_struct *wq;	/* ordered, freezable */
	struct delayed_work work;
	struct delayed_work overdue;	/* the backend, while dev ends */
	unsigned long end_by;		/* jiffies, and each more per command */
	unsigned long end_each;
	struct xenbus_watch lost;	/* nodes gone by a restore; .node: set */
	spinlock_t lock;		/* dev, against the watch */
	struct vhca_dev *dev;		/* connection, or NULL */
	struct vhca_window *window;	/* for doorbells; NULL: PV guest */
	const char *reason;		/* why it is broken; a constant */
	bool closing;			/* dev unregistered in order */
	bool removing;			/* the worker has nothing to do */
	unsigned int failures;		/* connects in a row, for the back-off */
	unsigned long not_before;	/* jiffies of the next one */
};

static void vhca_front_kick(struct vhca_front *front)
{
	mod_delayed_work(front->wq, &front->work, 0);
}

void vhca_break(struct vhca_dev *dev, const char *reason)
{
	struct vhca_front *front = dev->front;

	if (cmpxchg(&front->reason, NULL, reason))
		return;
	dev_err(&dev->xbdev->dev, "giving the device up: %s\n", reason);
	vhca_ring_break(dev);
	vhca_front_kick(front);
}

/* ---- nodes ---- */

/* Is @want one of the numbers of a comma separated list? */
static bool vhca_version_in(char *list, unsigned int want)
{
	unsigned int version;
	char *word;

	while ((word = strsep(&list, ",")))
		if (!kstrtouint(strim(word), 10, &version) && version == want)
			return true;
	return false;
}

static int vhca_check_version(struct xenbus_device *xbdev)
{
	char *list;
	bool found;

	list = xenbus_read(XBT_NIL, xbdev->otherend, XENVHCA_NODE_VERSIONS,
			   NULL);
	if (IS_ERR(list)) {
		dev_err(&xbdev->dev, "backend has no node %s/%s\n",
			xbdev->otherend, XENVHCA_NODE_VERSIONS);
		return PTR_ERR(list);
	}
	found = vhca_version_in(list, XENVHCA_PROTOCOL_VERSION_INT);
	kfree(list);
	if (found)
		return 0;
	dev_err(&xbdev->dev,
		"backend does not speak version " XENVHCA_PROTOCOL_VERSION
		" of the protocol; update it or this module\n");
	return -EPROTONOSUPPORT;
}

static int vhca_write_refs(struct vhca_dev *dev, struct xenbus_transaction xbt)
{
	const char *dir = dev->xbdev->nodename;
	const struct vhca_ring *ring = &dev->ring;
	char name[sizeof(XENVHCA_NODE_RING_REF) + 10];
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < 1u << ring->order; i++) {
		snprintf(name, sizeof(name), XENVHCA_NODE_RING_REF "%u", i);
		err = xenbus_printf(xbt, dir, name, "%u", ring->cmd_ref[i]);
	}
	return err;
}

static int vhca_write_nodes(struct vhca_dev *dev, struct xenbus_transaction xbt)
{
	const struct vhca_ring *ring = &dev->ring;
	const struct { const char *name; unsigned int value; } node[] = {
		{ XENVHCA_NODE_VERSION, XENVHCA_PROTOCOL_VERSION_INT },
		{ XENVHCA_NODE_RING_ORDER, ring->order },
		{ XENVHCA_NODE_EVTCHN, ring->cmd_port },
		{ XENVHCA_NODE_EVT_RING_REF, ring->evt_ref },
		{ XENVHCA_NODE_EVT_EVTCHN, ring->evt_port },
		{ XENVHCA_NODE_KICK_RING_REF, ring->kick_ref },
		{ XENVHCA_NODE_KICK_EVTCHN, ring->kick_port },
	};
	unsigned int i;
	int err;

	err = vhca_write_refs(dev, xbt);
	for (i = 0; !err && i < ARRAY_SIZE(node); i++)
		err = xenbus_printf(xbt, dev->xbdev->nodename, node[i].name,
				    "%u", node[i].value);
	if (!err && dev->window)
		err = xenbus_printf(xbt, dev->xbdev->nodename,
				    XENVHCA_NODE_DOORBELL_WINDOW,
				    "%#llx %#x", vhca_window_gfn(dev->window),
				    XENVHCA_DOORBELL_SLOTS);
	return err;
}

static int vhca_write_all(struct vhca_dev *dev)
{
	struct xenbus_transaction xbt;
	int err;

	do {
		err = xenbus_transaction_start(&xbt);
		if (err)
			return err;
		err = vhca_write_nodes(dev, xbt);
		if (err) {
			xenbus_transaction_end(xbt, 1);
			return err;
		}
		err = xenbus_transaction_end(xbt, 0);
	} while (err == -EAGAIN);
	return err;
}

/* ---- the connection; worker only ---- */

static enum xenbus_state vhca_backend_state(const struct vhca_front *front)
{
	const char *otherend = front->xbdev->otherend;

	/* None after a restore without nodes, see vhca_on_lost(). */
	return otherend ? xenbus_read_driver_state(otherend) :
			  XenbusStateUnknown;
}

static void vhca_set_dev(struct vhca_front *front, struct vhca_dev *dev)
{
	spin_lock(&front->lock);
	front->dev = dev;
	spin_unlock(&front->lock);
}

/* The end of every connection. Whoever calls has unregistered the device. */
static void vhca_drop(struct vhca_front *front)
{
	struct vhca_dev *dev = front->dev;

	vhca_set_dev(front, NULL);
	vhca_ring_free(dev);
	vhca_device_free(dev);
	xchg(&front->reason, NULL);
	WRITE_ONCE(front->closing, false);
}

/*
 * Every object is destroyed over the ring. A backend that answers each command
 * just in time must not keep us for hours: what is not done after @wait, and
 * @each more for every destroy command that was answered, is not waited for.
 */
static void vhca_unregister(struct vhca_front *front, unsigned long wait,
			    unsigned long each)
{
	atomic_set(&front->dev->ring.ended, 0);
	front->end_by = jiffies + wait;
	front->end_each = each;
	schedule_delayed_work(&front->overdue, wait);
	vhca_stats_del(front->dev);
	vhca_device_unregister(front->dev);
	cancel_delayed_work_sync(&front->overdue);
}

/* Waits longer each time: a backend that always refuses must not keep us busy. */
static void vhca_back_off(struct vhca_front *front)
{
	unsigned int ms = min(200u << min(front->failures, 10u),
			      VHCA_RETRY_MAX_MS);

	front->failures++;
	front->not_before = jiffies + msecs_to_jiffies(ms);
}

/* A connection that is broken, or was never made, is over. */
static void vhca_give_up(struct vhca_front *front, const char *reason)
{
	struct xenbus_device *xbdev = front->xbdev;

	if (READ_ONCE(front->reason))
		reason = front->reason;
	xenbus_printf(XBT_NIL, xbdev->nodename, XENVHCA_NODE_BROKEN, "%s",
		      reason);
	vhca_back_off(front);
	if (front->dev) {
		vhca_ring_break(front->dev);
		vhca_unregister(front, VHCA_END_WAIT, 0);
		vhca_drop(front);
	}
	xenbus_frontend_closed(xbdev);
}

/* Backend is in InitWait: rings, nodes, Initialised. */
static int vhca_meet(struct vhca_front *front)
{
	struct xenbus_device *xbdev = front->xbdev;
	struct vhca_dev *dev;
	unsigned int order;
	int err;

	err = vhca_check_version(xbdev);
	if (err)
		return err;
	order = xenbus_read_unsigned(xbdev->otherend,
				     XENVHCA_NODE_MAX_RING_ORDER, 0);
	order = min_t(unsigned int, order, XENVHCA_MAX_RING_ORDER);

	dev = vhca_device_alloc(xbdev);
	if (!dev)
		return -ENOMEM;
	dev->front = front;
	dev->xbdev = xbdev;
	dev->backend = xbdev->otherend_id;
	dev->window = front->window;
	vhca_window_clear(front->window);
	err = vhca_ring_init(dev, order);
	if (err)
		goto free_dev;
	err = vhca_write_all(dev);
	if (err)
		goto free_ring;
	vhca_set_dev(front, dev);
	xenbus_switch_state(xbdev, XenbusStateInitialised);
	return 0;

free_ring:
	vhca_ring_free(dev);
free_dev:
	vhca_device_free(dev);
	return err;
}

/* No watch tells when to try again: the backend stays in InitWait. */
static void vhca_meet_later(struct vhca_front *front)
{
	long left = front->not_before - jiffies;

	mod_delayed_work(front->wq, &front->work, max(left, 0L));
}

static void vhca_on_initwait(struct vhca_front *front)
{
	enum xenbus_state mine = front->xbdev->state;
	int err;

	if (mine == XenbusStateInitialised)
		return;		/* it has not seen us yet */
	if (front->dev)
		vhca_give_up(front, "backend started anew");
	if (time_before(jiffies, front->not_before)) {
		vhca_meet_later(front);
		return;
	}
	err = vhca_meet(front);
	if (!err)
		return;
	dev_err(&front->xbdev->dev, "cannot connect to the backend: %d\n",
		err);
	vhca_give_up(front, "the frontend could not connect");
	/* Memory comes back; another version comes with another backend. */
	if (err != -EPROTONOSUPPORT)
		vhca_meet_later(front);
}

static void vhca_on_connected(struct vhca_front *front)
{
	int err;

	if (!front->dev || front->xbdev->state != XenbusStateInitialised)
		return;
	err = vhca_device_register(front->dev);
	if (err) {
		dev_err(&front->xbdev->dev,
			"cannot register the RDMA device: %d\n", err);
		vhca_give_up(front, "the frontend could not register a device");
		return;
	}
	front->failures = 0;
	vhca_stats_add(front->dev);
	xenbus_switch_state(front->xbdev, XenbusStateConnected);
}

/* Detach: everything ends over the ring, which the backend still serves. */
static void vhca_on_closing(struct vhca_front *front)
{
	if (!front->dev) {
		xenbus_frontend_closed(front->xbdev);
		return;
	}
	if (front->closing)
		return;
	vhca_unregister(front, VHCA_END_WAIT, VHCA_END_EACH);
	WRITE_ONCE(front->closing, true);
	xenbus_switch_state(front->xbdev, XenbusStateClosing);
}

static void vhca_on_closed(struct vhca_front *front)
{
	if (!front->dev) {
		if (front->xbdev->state != XenbusStateInitialising)
			xenbus_frontend_closed(front->xbdev);
		return;
	}
	if (!front->closing) {
		vhca_give_up(front, "backend closed without notice");
		return;
	}
	vhca_drop(front);
	xenbus_frontend_closed(front->xbdev);
}

/*
 * In the thread where xenbus makes and removes devices. Both ways lead through
 * vhca_remove(), which frees @front and with it @watch.
 */
static void vhca_lost_changed(struct xenbus_watch *watch, const char *path,
			      const char *token)
{
	struct vhca_front *front = container_of(watch, struct vhca_front, lost);
	struct xenbus_device *xbdev = front->xbdev;

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
 * The domain was restored by a toolstack that does not know our kind of device,
 * and there were no nodes when xenbus resumed it. xenbus keeps such a device
 * for ever and would take no notice of a new one with the same number: have it
 * removed, or if there are new nodes by now, probed again. The first event of
 * a watch comes by itself.
 */
static void vhca_on_lost(struct vhca_front *front)
{
	struct xenbus_device *xbdev = front->xbdev;

	if (!front->lost.node)
		xenbus_watch_pathfmt(xbdev, &front->lost, NULL,
				     vhca_lost_changed, "%s/%s",
				     xbdev->nodename, "backend");
}

static void vhca_front_work(struct work_struct *work)
{
	struct vhca_front *front = container_of(to_delayed_work(work),
						struct vhca_front, work);
	enum xenbus_state theirs;

	if (READ_ONCE(front->removing))
		return;
	if (READ_ONCE(front->reason) && front->dev)
		vhca_give_up(front, front->reason);
	if (!front->xbdev->otherend) {
		vhca_on_lost(front);
		return;
	}

	theirs = vhca_backend_state(front);
	switch (theirs) {
	case XenbusStateInitWait:
		vhca_on_initwait(front);
		break;
	case XenbusStateConnected:
		vhca_on_connected(front);
		break;
	case XenbusStateClosing:
		vhca_on_closing(front);
		break;
	case XenbusStateInitialising:
		if (front->dev)
			vhca_give_up(front, "backend started anew");
		break;
	case XenbusStateClosed:
	case XenbusStateUnknown:
		vhca_on_closed(front);
		break;
	default:
		break;
	}
}

/* ---- xenbus driver ---- */

/* Ends the device unless that was done in order already. */
static void vhca_front_break(struct vhca_front *front, const char *reason)
{
	spin_lock(&front->lock);
	if (front->dev && !READ_ONCE(front->closing))
		vhca_break(front->dev, reason);
	spin_unlock(&front->lock);
}

/* Somebody waits for us: a slow backend must not hold them up. */
static void vhca_overdue(struct work_struct *work)
{
	struct vhca_front *front = container_of(to_delayed_work(work),
						struct vhca_front, overdue);
	unsigned int ended = atomic_read(&front->dev->ring.ended);
	long left = front->end_by + ended * front->end_each - jiffies;

	if (left > 0)
		schedule_delayed_work(&front->overdue, left);
	else
		vhca_front_break(front, "backend takes too long to end the device");
}

/* Cut a dead backend off now: the worker may be waiting for its answer. */
static void vhca_otherend_changed(struct xenbus_device *xbdev,
				  enum xenbus_state state)
{
	struct vhca_front *front = dev_get_drvdata(&xbdev->dev);

	switch (state) {
	case XenbusStateUnknown:
	case XenbusStateInitialising:
	case XenbusStateClosed:
		vhca_front_break(front, "backend closed without notice");
		break;
	default:
		break;
	}
	vhca_front_kick(front);
}

/*
 * As long as the node is there a backend can have pages put at its frames, and
 * these may be memory soon. If it cannot be removed they stay ours for ever.
 */
static void vhca_withdraw_window(struct vhca_front *front)
{
	int err;

	if (!front->window)
		return;
	err = xenbus_rm(XBT_NIL, front->xbdev->nodename,
			XENVHCA_NODE_DOORBELL_WINDOW);
	if (!err || err == -ENOENT)
		return;
	/* The directory is gone, and the one above is not ours to look into. */
	if (err == -EACCES &&
	    !xenbus_exists(XBT_NIL, front->xbdev->nodename, "state"))
		return;
	dev_warn(&front->xbdev->dev,
		 "cannot remove the node " XENVHCA_NODE_DOORBELL_WINDOW " (%d): its guest frames stay reserved\n",
		 err);
	front->window = NULL;
}

static void vhca_front_free(struct vhca_front *front)
{
	destroy_workqueue(front->wq);
	vhca_window_free(front->window);
	kfree(front);
}

static int vhca_probe(struct xenbus_device *xbdev,
		      const struct xenbus_device_id *id)
{
	struct vhca_front *front = kzalloc(sizeof(*front), GFP_KERNEL);
	int err;

	if (!front)
		return -ENOMEM;
	front->wq = alloc_ordered_workqueue("%s", WQ_FREEZABLE,
					    dev_name(&xbdev->dev));
	if (!front->wq) {
		kfree(front);
		return -ENOMEM;
	}
	front->xbdev = xbdev;
	front->not_before = jiffies;
	spin_lock_init(&front->lock);
	front->window = vhca_window_new();
	if (IS_ERR(front->window)) {
		/* Software HCAs work without. */
		dev_warn(&xbdev->dev, "no guest frames for doorbells (%ld): HCAs with doorbells cannot be used\n",
			 PTR_ERR(front->window));
		front->window = NULL;
	}
	INIT_DELAYED_WORK(&front->work, vhca_front_work);
	INIT_DELAYED_WORK(&front->overdue, vhca_overdue);
	dev_set_drvdata(&xbdev->dev, front);

	err = xenbus_switch_state(xbdev, XenbusStateInitialising);
	if (err)
		vhca_front_free(front);
	return err;
}

/*
 * The watch is gone by now, and this may run where watches are served: look
 * at the state instead. True: the backend is Closed or its nodes are gone.
 */
static bool vhca_wait_closed(struct vhca_front *front)
{
	unsigned long end = jiffies + VHCA_CLOSE_WAIT;
	enum xenbus_state theirs;

	do {
		theirs = vhca_backend_state(front);
		if (theirs == XenbusStateClosed ||
		    theirs == XenbusStateUnknown)
			return true;
		schedule_timeout_uninterruptible(
			msecs_to_jiffies(VHCA_CLOSE_POLL_MS));
	} while (time_before(jiffies, end));
	dev_warn(&front->xbdev->dev,
		 "backend does not close; pages that it maps stay allocated\n");
	return false;
}

/* Ends the device over the ring if somebody serves it. The work does not run. */
static void vhca_close(struct vhca_front *front, unsigned long wait,
		       unsigned long each)
{
	vhca_unregister(front, wait, each);
	xenbus_switch_state(front->xbdev, XenbusStateClosing);
	vhca_wait_closed(front);
	vhca_drop(front);
}

/* Nobody answers at the other end: only what needs no answer is done. */
static void vhca_cut_dead(struct vhca_front *front, const char *reason)
{
	enum xenbus_state theirs = vhca_backend_state(front);

	if (theirs != XenbusStateConnected && theirs != XenbusStateClosing)
		vhca_front_break(front, reason);
}

/* Module unload, unbind, or the nodes are gone. */
static void vhca_remove(struct xenbus_device *xbdev)
{
	struct vhca_front *front = dev_get_drvdata(&xbdev->dev);

	WRITE_ONCE(front->removing, true);
	vhca_cut_dead(front, "the device was removed");
	cancel_delayed_work_sync(&front->work);
	if (front->dev)
		vhca_close(front, VHCA_END_WAIT, VHCA_END_EACH);
	cancel_delayed_work_sync(&front->work);
	if (front->lost.node) {
		unregister_xenbus_watch(&front->lost);
		kfree(front->lost.node);
	}
	dev_set_drvdata(&xbdev->dev, NULL);
	vhca_withdraw_window(front);
	vhca_front_free(front);
	/* xenbus enters Closed for us. */
}

/*
 * The domain is about to be saved, migrated or checkpointed; processes and the
 * worker are frozen, the backend is not. No grant, event channel or frame of
 * another domain survives a restore, and a PV guest cannot even be saved with
 * such frames in its page tables: so end the connection in order, while there
 * is somebody who can take part in it. Nobody tells us whether the domain is
 * restored or just goes on here; the worker, as soon as it runs again, meets
 * whatever backend is there by then.
 */
static int vhca_suspend(struct xenbus_device *xbdev)
{
	struct vhca_front *front = dev_get_drvdata(&xbdev->dev);

	if (front->dev) {
		dev_info(&xbdev->dev, "disconnected: the domain is to be suspended\n");
		vhca_cut_dead(front, "backend is gone, and the domain is to be suspended");
		/* The toolstack waits, however many objects there are. */
		vhca_close(front, VHCA_CLOSE_WAIT, 0);
		xenbus_frontend_closed(xbdev);
	}
	vhca_front_kick(front);
	return 0;
}

static const struct xenbus_device_id vhca_ids[] = {
	{ XENVHCA_DRIVER_NAME },
	{ "" }
};

static struct xenbus_driver vhca_driver = {
	.ids = vhca_ids,
	.not_essential = true,
	.otherend_changed = vhca_otherend_changed,
	.probe = vhca_probe,
	.remove = vhca_remove,
	.suspend = vhca_suspend,
};

/*
 * Without an owner: xenbus would hold a reference of the module for each
 * device, and it could not be unloaded. Unregistering the driver removes all
 * devices, and a process that still has queue memory mapped holds a reference
 * (map.c).
 */
int vhca_xenbus_init(void)
{
	return __xenbus_register_frontend(&vhca_driver, NULL, KBUILD_MODNAME);
}

void vhca_xenbus_exit(void)
{
	xenbus_unregister_driver(&vhca_driver);
}
