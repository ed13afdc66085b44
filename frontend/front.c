// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The life of a device: it connects to a backend, has an RDMA device registered while
 * it is connected, disconnects in order or when the backend is gone, and starts again
 * with a new backend. The store (store.h) carries the states of both ends. A device for the
 * guest's kernel outlives its connection: it is kept for the next one.
 *
 * One worker per device makes all transitions (front->work on an ordered queue). It
 * reads the backend's state itself, because notices of changes may be merged and states
 * may be skipped. A notice only breaks the connection to a dead backend at once, since
 * the worker may be waiting for an answer. There is no connection while the domain is
 * suspended: it ends before, and the worker, which the kernel freezes until the domain
 * runs again, makes a new one. A device that is removed ends in a work, too: ib_core
 * waits for processes in its verbs, which may stand in a page fault for ever, and
 * xenbus has one thread.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "mmap/doorbell.h"
#include "front.h"
#include "ring/grant.h"
#include "nodes.h"
#include "vhca.h"

#define VHCA_CLOSE_WAIT		(10 * HZ)
#define VHCA_CLOSE_POLL_MS	20
/* Limit for its registration, in addition to the time limit of one answer. */
#define VHCA_BEGIN_WAIT		(30 * HZ)
#define VHCA_RETRY_MAX_MS	30000u
#define VHCA_OWED_WAIT		(HZ / 5)
/* Connections that may follow each other at once, and the gap between others. */
#define VHCA_MEET_BURST		32
#define VHCA_MEET_GAP		(5 * HZ)

struct vhca_front {
	struct vhca_store *store;
	struct workqueue_struct *wq;	/* ordered, freezable */
	struct delayed_work work;
	struct vhca_limit own;		/* as we begin or end dev */
	spinlock_t lock;		/* dev, against notices */
	struct vhca_dev *dev;		/* connection, or NULL */
	struct vhca_dev *kept;		/* without one; worker only, as the next two */
	bool stays;			/* dev will be kept */
	unsigned long kept_since;	/* jiffies */
	struct vhca_window *window;	/* for doorbells; NULL: PV guest */
	bool closing;			/* dev unregistered in order */
	bool removing;			/* the worker has nothing to do */
	struct delayed_work end;
	struct completion ended;
	atomic_t users;			/* end, and the remover of the device */
	unsigned int failures;		/* connects in a row, for the back-off */
	unsigned long not_before;	/* jiffies of the next one */
	unsigned long meets_paid;	/* jiffies: a gap for each connection */
	bool owed;			/* the log has told of the zombies */
};

static struct workqueue_struct *ends;
static const char too_long[] = "backend takes too long to begin or end the device";

static enum xenbus_state peer_state(struct vhca_front *front)
{
	return front->store->ops->theirs(front->store);
}

static enum xenbus_state own_state(struct vhca_front *front)
{
	return front->store->ops->mine(front->store);
}

static int enter_state(struct vhca_front *front, enum xenbus_state state)
{
	return front->store->ops->enter(front->store, state);
}

static void front_kick(struct vhca_front *front)
{
	mod_delayed_work(front->wq, &front->work, 0);
}

/* Without a backend consumers in the kernel get completions of what they posted. */
static void flush_posted(struct vhca_dev *dev)
{
	if (dev->own_uc && !vhca_ring_up(&dev->ring))
		vhca_event_all(dev);
}

static void front_broken(struct vhca_dev *dev)
{
	flush_posted(dev);
	front_kick(dev->front);
}

static const struct vhca_ring_ops ring_ops = {
	.broken = front_broken,
	.event = vhca_event,
	.overflow = vhca_event_overflow,
};

/* Ends the device unless that was done in order already. */
static void front_break(struct vhca_front *front, const char *reason)
{
	spin_lock(&front->lock);
	if (front->dev && !READ_ONCE(front->closing))
		vhca_break(front->dev, reason);
	spin_unlock(&front->lock);
}

/* The caller of the limit is waited for: a slow backend must not delay it. */
static void own_late(struct vhca_limit *limit)
{
	front_break(container_of(limit, struct vhca_front, own), too_long);
}

static void core_late(struct vhca_limit *limit)
{
	front_break(limit->dev->front, too_long);
}

/* ---- the connection; worker only ---- */

static void set_dev(struct vhca_front *front, struct vhca_dev *dev)
{
	spin_lock(&front->lock);
	front->dev = dev;
	spin_unlock(&front->lock);
}

/*
 * The end of every connection; the device is unregistered, or away. A backend domain that is
 * destroyed has no state any more, so a backend in Closed lives.
 */
static void drop(struct vhca_front *front)
{
	struct vhca_dev *dev = front->dev;

	dev->ring.closed = vhca_ring_up(&dev->ring) &&
			   peer_state(front) == XenbusStateClosed;
	set_dev(front, NULL);
	vhca_ring_free(dev);
	if (front->stays) {
		front->kept = dev;
		front->kept_since = jiffies;
		WRITE_ONCE(dev->ring.reason, NULL);	/* hears of another one */
		vhca_device_held(dev);	/* ends its grants */
	} else {
		vhca_device_free(dev);
	}
	WRITE_ONCE(front->closing, false);
}

static void device_end(struct vhca_dev *dev)
{
	vhca_stats_del(dev);
	vhca_device_unregister(dev);
	vhca_limit_end(&dev->core);
}

/* Every object is destroyed over the ring. */
static void unregister(struct vhca_front *front, unsigned long wait,
		       unsigned long each)
{
	front->stays = READ_ONCE(front->dev->stays) && !READ_ONCE(front->removing) &&
		       !vhca_read_detached(front->store);
	vhca_limit_begin(&front->own, front->dev, wait, each);
	flush_posted(front->dev);
	if (front->stays)
		vhca_device_away(front->dev);
	else
		device_end(front->dev);
	vhca_limit_end(&front->own);
}

/* Nothing of it needs the backend. */
static void end_kept(struct vhca_front *front)
{
	struct vhca_dev *dev = front->kept;

	if (!dev)
		return;
	front->kept = NULL;
	device_end(dev);
	vhca_device_free(dev);
}

/*
 * Does a backend still map memory that the next connection would share? Then its HCA may
 * still write there. The device does not wait for that for ever, but ends.
 */
static bool kept_is_held(struct vhca_front *front)
{
	if (!front->kept || !vhca_device_held(front->kept))
		return false;
	if (time_before(jiffies, front->kept_since + VHCA_END_WAIT))
		return true;
	dev_warn(front->store->dev,
		 "the backend does not let go of memory: the device of the kernel ends\n");
	end_kept(front);
	return false;
}

static void set_not_before(struct vhca_front *front, unsigned long when)
{
	if (time_before(front->not_before, when))
		front->not_before = when;
}

/* Waits longer each time: a backend that always refuses must not cost much time. */
static void back_off(struct vhca_front *front)
{
	unsigned int ms = min(200u << min(front->failures, 10u),
			      VHCA_RETRY_MAX_MS);

	front->failures++;
	set_not_before(front, jiffies + msecs_to_jiffies(ms));
}

/* Why the connection is broken; NULL: there is none, or it is not. */
static const char *broken(struct vhca_front *front)
{
	return front->dev ? READ_ONCE(front->dev->ring.reason) : NULL;
}

/* A connection that is broken, or was never made, is over. */
static void give_up(struct vhca_front *front, const char *reason)
{
	front->store->ops->broken(front->store, broken(front) ?: reason);
	back_off(front);
	if (front->dev) {
		vhca_ring_fail(front->dev);
		unregister(front, VHCA_END_WAIT, 0);
		drop(front);
	}
	enter_state(front, XenbusStateClosed);
}

/* The kept device, for another connection, if its configuration is that of now. */
static struct vhca_dev *meet_kept(struct vhca_front *front)
{
	struct vhca_dev *dev = front->kept;
	struct vhca_nets nets = {};

	if (!dev)
		return NULL;
	vhca_read_nets(front->store, &nets);
	if (memcmp(&nets, &dev->nets, sizeof(nets)) ||
	    dev->pool_mb != vhca_read_pool(front->store)) {
		end_kept(front);
		return NULL;
	}
	dev->backend = front->store->backend;
	WRITE_ONCE(dev->gen, dev->gen + 1);	/* the last one is older now */
	return dev;
}

static struct vhca_dev *meet_new(struct vhca_front *front)
{
	struct vhca_dev *dev = vhca_device_alloc(front->store);

	if (!dev)
		return NULL;
	dev->front = front;
	dev->window = front->window;
	vhca_limit_init(&dev->core, core_late);
	vhca_read_nets(front->store, &dev->nets);
	dev->pool_mb = vhca_read_pool(front->store);
	return dev;
}

/* Backend is in InitWait: rings, nodes, Initialised. */
static int meet(struct vhca_front *front)
{
	struct vhca_store *store = front->store;
	struct vhca_terms terms;
	struct vhca_dev *dev;
	int err;

	err = vhca_check_version(store) ?: vhca_read_terms(store, &terms);
	if (err)
		return err;
	dev = meet_kept(front) ?: meet_new(front);
	if (!dev)
		return -ENOMEM;
	vhca_window_clear(front->window);
	/* A ring of one page serves, too: memory may be short for want of this device. */
	err = vhca_ring_init(dev, terms.order, &ring_ops);
	while (err == -ENOMEM && terms.order)
		err = vhca_ring_init(dev, --terms.order, &ring_ops);
	if (err)
		goto free_dev;
	err = vhca_offer(dev, &terms);
	if (err)
		goto free_ring;
	front->kept = NULL;
	set_dev(front, dev);
	enter_state(front, XenbusStateInitialised);
	return 0;

free_ring:
	vhca_ring_free(dev);
free_dev:
	if (dev != front->kept)
		vhca_device_free(dev);
	return err;
}

/* Nothing tells when to try again: the backend stays in InitWait. */
static void meet_later(struct vhca_front *front)
{
	long left = front->not_before - jiffies;

	mod_delayed_work(front->wq, &front->work, max(left, 0L));
}

/*
 * Each connection costs lines of the log, and some pages if the backend does not unmap
 * its rings. A backend that closes again and again has to wait, even if it closes in
 * order; a new worker or a resumed domain does not.
 */
static void meet_pay(struct vhca_front *front)
{
	if (time_before(front->meets_paid, jiffies))
		front->meets_paid = jiffies;
	front->meets_paid += VHCA_MEET_GAP;
	set_not_before(front,
		       front->meets_paid - VHCA_MEET_BURST * VHCA_MEET_GAP);
}

/* Are there too many zombies of earlier connections to begin another one? */
static bool owes_much(struct vhca_front *front)
{
	bool owed = vhca_grant_overdrawn();

	if (owed && !front->owed) {
		dev_warn(front->store->dev,
			 "no connection while backends still map, or may, %llu pages of earlier ones\n",
			 vhca_grant_zombies());
		front->store->ops->broken(front->store,
					 "backend does not let go of memory");
	}
	front->owed = owed;
	return owed;
}

static void on_initwait(struct vhca_front *front)
{
	enum xenbus_state mine = own_state(front);
	int err;

	if (mine == XenbusStateInitialised)
		return;		/* the backend has not seen it yet */
	if (front->dev)
		give_up(front, "backend started anew");
	if (!time_before(jiffies, front->not_before) &&
	    (kept_is_held(front) || owes_much(front)))
		set_not_before(front, jiffies + VHCA_OWED_WAIT);
	if (time_before(jiffies, front->not_before)) {
		meet_later(front);
		return;
	}
	err = meet(front);
	if (!err) {
		meet_pay(front);
		return;
	}
	dev_err(front->store->dev, "cannot connect to the backend: %d\n",
		err);
	give_up(front, "the frontend could not connect");
	/* Memory comes back; another version comes with another backend. */
	if (err != -EPROTONOSUPPORT)
		meet_later(front);
}

static void on_connected(struct vhca_front *front)
{
	bool again;
	int err;

	if (!front->dev || own_state(front) != XenbusStateInitialised)
		return;
	vhca_limit_begin(&front->own, front->dev,
			 VHCA_BEGIN_WAIT + vhca_ring_timeout(), 0);
	again = front->dev->away;
	err = vhca_device_register(front->dev);
	vhca_limit_end(&front->own);
	if (err) {
		dev_err(front->store->dev,
			"cannot register the RDMA device: %d\n", err);
		give_up(front, "the frontend could not register a device");
		return;
	}
	front->failures = 0;
	if (!again)
		vhca_stats_add(front->dev);
	enter_state(front, XenbusStateConnected);
}

/* Detach: everything ends over the ring, which the backend still serves. */
static void on_closing(struct vhca_front *front)
{
	if (!front->dev) {
		if (front->kept && vhca_read_detached(front->store))
			end_kept(front);
		enter_state(front, XenbusStateClosed);
		return;
	}
	if (front->closing)
		return;
	unregister(front, VHCA_END_WAIT, VHCA_END_EACH);
	WRITE_ONCE(front->closing, true);
	enter_state(front, XenbusStateClosing);
}

static void on_closed(struct vhca_front *front)
{
	if (!front->dev) {
		if (own_state(front) != XenbusStateInitialising)
			enter_state(front, XenbusStateClosed);
		return;
	}
	if (!front->closing) {
		give_up(front, "backend closed without notice");
		return;
	}
	drop(front);
	enter_state(front, XenbusStateClosed);
}

static void front_step(struct vhca_front *front)
{
	enum xenbus_state theirs;

	if (broken(front))
		give_up(front, broken(front));
	if (front->kept && !READ_ONCE(front->kept->stays))
		end_kept(front);	/* ib_core has unregistered it */
	if (!front->store->ops->found(front->store))
		return;

	theirs = peer_state(front);
	switch (theirs) {
	case XenbusStateInitWait:
		on_initwait(front);
		break;
	case XenbusStateConnected:
		on_connected(front);
		break;
	case XenbusStateClosing:
		on_closing(front);
		break;
	case XenbusStateInitialising:
		if (front->dev)
			give_up(front, "backend started anew");
		break;
	case XenbusStateClosed:
	case XenbusStateUnknown:
		on_closed(front);
		break;
	default:
		break;
	}
}

static void front_work(struct work_struct *work)
{
	struct vhca_front *front = container_of(to_delayed_work(work),
						struct vhca_front, work);
	unsigned int noio;
	bool kernel;

	if (READ_ONCE(front->removing))
		return;
	/*
	 * A disk of the guest's kernel may wait for this connection, and memory for the disk.
	 * Others do not: without I/O the pages of a ring, which lie in a row, are hard to get.
	 */
	kernel = front->kept || (front->dev && front->dev->own_uc);
	noio = kernel ? memalloc_noio_save() : 0;
	front_step(front);
	if (kernel)
		memalloc_noio_restore(noio);
}

/* ---- for the store ---- */

/*
 * No notices come any more, and this may run in their thread: polls the state. True:
 * the backend is Closed or its nodes are gone.
 */
static bool wait_closed(struct vhca_front *front)
{
	unsigned long end = jiffies + VHCA_CLOSE_WAIT;
	enum xenbus_state theirs;

	do {
		theirs = peer_state(front);
		if (theirs == XenbusStateClosed ||
		    theirs == XenbusStateUnknown)
			return true;
		schedule_timeout_uninterruptible(msecs_to_jiffies(VHCA_CLOSE_POLL_MS));
	} while (time_before(jiffies, end));
	dev_warn(front->store->dev,
		 "backend does not close; pages that it maps stay allocated\n");
	return false;
}

/* Ends the device, over the ring if the backend serves it. The work does not run. */
static void close_dev(struct vhca_front *front, unsigned long wait,
		      unsigned long each)
{
	unregister(front, wait, each);
	enter_state(front, XenbusStateClosing);
	wait_closed(front);
	drop(front);
}

/* The backend does not answer any more: breaks the connection. */
static void cut_dead(struct vhca_front *front, const char *reason)
{
	enum xenbus_state theirs = peer_state(front);

	if (theirs != XenbusStateConnected && theirs != XenbusStateClosing)
		front_break(front, reason);
}

/*
 * As long as the node exists a backend can have pages mapped at its frames, which may
 * be memory soon. If the node cannot be removed the frames stay reserved for ever.
 */
static void withdraw_window(struct vhca_front *front)
{
	struct vhca_store *store = front->store;
	int err;

	if (!front->window)
		return;
	err = store->ops->remove(store, XENVHCA_NODE_DOORBELL_WINDOW);
	if (!err)
		return;
	dev_warn(store->dev,
		 "cannot remove the node %s (%d): its guest frames stay reserved\n",
		 XENVHCA_NODE_DOORBELL_WINDOW,
		 err);
	front->window = NULL;
}

static void front_free(struct vhca_front *front)
{
	vhca_window_free(front->window);
	root_device_unregister(front->store->parent);
	kfree(front);
}

/* The second of two frees it. */
static void front_leave(struct vhca_front *front)
{
	struct vhca_store *store = front->store;

	if (!atomic_dec_and_test(&front->users))
		return;
	front_free(front);
	if (store->ops->free)
		store->ops->free(store);
}

static void front_end(struct work_struct *work)
{
	struct vhca_front *front = container_of(to_delayed_work(work),
						struct vhca_front, end);

	cancel_delayed_work_sync(&front->work);
	if (front->dev)
		close_dev(front, VHCA_END_WAIT, VHCA_END_EACH);
	end_kept(front);
	cancel_delayed_work_sync(&front->work);
	destroy_workqueue(front->wq);
	complete(&front->ended);
	front_leave(front);
}

struct vhca_front *vhca_front_new(struct vhca_store *store)
{
	struct vhca_front *front = kzalloc(sizeof(*front), GFP_KERNEL);
	int err;

	if (!front)
		return ERR_PTR(-ENOMEM);
	front->wq = alloc_ordered_workqueue("%s", WQ_FREEZABLE,
					    dev_name(store->dev));
	store->parent = vhca_device_parent(store);
	if (!front->wq || IS_ERR(store->parent))
		goto free;
	front->store = store;
	front->not_before = jiffies;
	front->meets_paid = jiffies;
	spin_lock_init(&front->lock);
	front->window = vhca_window_new();
	if (IS_ERR(front->window)) {
		/* Software HCAs work without. */
		dev_warn(store->dev, "no guest frames for doorbells (%ld): HCAs with doorbells cannot be used\n",
			 PTR_ERR(front->window));
		front->window = NULL;
	}
	INIT_DELAYED_WORK(&front->work, front_work);
	INIT_DELAYED_WORK(&front->end, front_end);
	init_completion(&front->ended);
	atomic_set(&front->users, 2);
	vhca_limit_init(&front->own, own_late);

	err = enter_state(front, XenbusStateInitialising);
	if (!err)
		return front;
	destroy_workqueue(front->wq);
	front_free(front);
	return ERR_PTR(err);

free:
	if (front->wq)
		destroy_workqueue(front->wq);
	if (!IS_ERR(store->parent))
		root_device_unregister(store->parent);
	kfree(front);
	return ERR_PTR(-ENOMEM);
}

/* A dead backend is cut off here: the worker may be waiting for its answer. */
void vhca_front_changed(struct vhca_front *front, enum xenbus_state theirs)
{
	switch (theirs) {
	case XenbusStateUnknown:
	case XenbusStateInitialising:
	case XenbusStateClosed:
		front_break(front, "backend closed without notice");
		break;
	default:
		break;
	}
	front_kick(front);
}

/* Module unload, unbind, or the nodes are gone. */
void vhca_front_end(struct vhca_front *front)
{
	WRITE_ONCE(front->removing, true);
	cut_dead(front, "the device was removed");
	mod_delayed_work(ends, &front->end, 0);
}

bool vhca_front_ended(struct vhca_front *front)
{
	bool up = true, ended = false;

	while (up && !ended) {
		ended = wait_for_completion_timeout(&front->ended,
						    VHCA_END_WAIT);
		spin_lock(&front->lock);
		up = front->dev && vhca_ring_up(&front->dev->ring);
		spin_unlock(&front->lock);
	}
	if (!ended)
		dev_warn(front->store->dev, "the RDMA device ends when processes leave its verbs\n");
	return ended;
}

void vhca_front_put(struct vhca_front *front)
{
	withdraw_window(front);
	front_leave(front);
}

int vhca_front_init(void)
{
	ends = alloc_workqueue("vhca-end", WQ_UNBOUND | WQ_FREEZABLE, 0);
	return ends ? 0 : -ENOMEM;
}

void vhca_front_exit(void)
{
	destroy_workqueue(ends);
}

/*
 * The domain is about to be saved, migrated or checkpointed; processes and the worker
 * are frozen, the backend is not. No grant, event channel or frame of another domain
 * survives a restore, and a PV guest cannot be saved with such frames in its page
 * tables. So the connection ends in order, while the backend can take part in it.
 * Whether the domain is restored or goes on here is unknown; the worker, when it runs
 * again, connects to the backend of that time.
 */
void vhca_front_suspend(struct vhca_front *front)
{
	if (front->dev) {
		dev_info(front->store->dev, "disconnected: the domain is to be suspended\n");
		cut_dead(front, "backend is gone, and the domain is to be suspended");
		/* The toolstack waits, however many objects there are. */
		close_dev(front, VHCA_CLOSE_WAIT, 0);
		enter_state(front, XenbusStateClosed);
	}
	front_kick(front);
}
