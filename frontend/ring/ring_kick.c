// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The kick ring, for HCAs without doorbell registers: an entry names a queue that the
 * backend is to look at. There are no answers; the backend's indices tell how many
 * entries it has copied out (cons) and executed (done).
 */
#include <linux/interrupt.h>
#include <xen/events.h>
#include <xen/page.h>

#include "check.h"
#include "vhca.h"

static u16 kick_name(const struct vhca_kick *kick)
{
	return kick->type << 8 | kick->flags;
}

/*
 * Is the last entry of this queue of the same kind, and not copied out yet? Then the
 * backend will look at the queue after this point in time, and no new entry is needed.
 * Under kick_lock.
 */
static bool kick_queued(const struct vhca_ring *ring,
			const struct vhca_kick *kick, u32 cons)
{
	u32 age = ring->kick_prod - kick->index;	/* 1: the newest entry */

	return kick->valid && age && age <= ring->kick_prod - cons &&
	       ring->kick_what[kick->index % XENVHCA_KICK_ENTRIES] ==
	       kick_name(kick);
}

static bool kick_push(struct vhca_ring *ring, const struct vhca_kick *kick)
{
	struct xenvhca_kick_page *page = ring->kick;
	u32 slot = ring->kick_prod % XENVHCA_KICK_ENTRIES;
	struct xenvhca_kick entry = {
		.type = kick->type,
		.flags = kick->flags,
		.handle = kick->handle,
	};

	page->kick[slot] = entry;
	ring->kick_what[slot] = kick_name(kick);
	virt_wmb();	/* entry before prod; pairs with the backend's rmb */
	WRITE_ONCE(page->prod, ++ring->kick_prod);
	virt_mb();	/* prod before prod_event; the backend: vice versa */
	return READ_ONCE(page->prod_event) == ring->kick_prod;
}

/* 0: queued or merged; -EAGAIN: full; -EIO: broken. */
static int kick_queue(struct vhca_dev *dev, struct vhca_kick *kick)
{
	struct vhca_ring *ring = &dev->ring;
	const char *bad = NULL;
	bool notify = false;
	unsigned long irq;
	int err = 0;
	u32 used, cons;

	spin_lock_irqsave(&ring->kick_lock, irq);
	virt_mb();	/* the caller's work before cons; the backend: v. v. */
	cons = READ_ONCE(ring->kick->cons);
	used = ring->kick_prod - cons;
	bad = vhca_check_kick_cons(cons, ring->kick_prod);
	if (!vhca_ring_up(ring) || bad) {
		err = -EIO;
	} else if (kick_queued(ring, kick, cons)) {
		atomic64_inc(&dev->stats.kicks_merged);
	} else if (used == XENVHCA_KICK_ENTRIES) {
		err = -EAGAIN;
	} else {
		kick->index = ring->kick_prod;
		kick->valid = true;
		notify = kick_push(ring, kick);
		atomic64_inc(&dev->stats.kicks);
	}
	spin_unlock_irqrestore(&ring->kick_lock, irq);

	if (bad)
		vhca_break(dev, bad);
	if (notify) {
		atomic64_inc(&dev->stats.kick_notifies);
		notify_remote_via_irq(ring->kick_irq);
	}
	return err;
}

/*
 * Number of entries that are executed; it only grows. Read under kick_lock, so that it
 * is compared with all entries that were pushed by then.
 *
 * A process that sees done move wakes all waiters: done_event is one word, which each
 * of them writes, so the backend may not have found the value of another waiter in it.
 * It is written under kick_lock, so that it never goes back behind the index of a
 * waiter. @index: ask for an upcall unless this entry is executed; NULL: do not ask.
 */
static u32 is_kick_done(struct vhca_dev *dev, const u32 *index)
{
	struct vhca_ring *ring = &dev->ring;
	unsigned long irq;
	const char *bad;
	u32 done, seen;

	spin_lock_irqsave(&ring->kick_lock, irq);
	seen = ring->kick_seen;
	done = READ_ONCE(ring->kick->done);
	bad = vhca_check_kick_done(done, seen, ring->kick_prod);
	if (bad)
		done = seen;
	ring->kick_seen = done;
	if (index && (s32)(done - *index) <= 0)
		WRITE_ONCE(ring->kick->done_event, done + 1);
	spin_unlock_irqrestore(&ring->kick_lock, irq);

	if (bad)
		vhca_break(dev, bad);
	else if (done != seen)
		wake_up_all(&ring->kick_wait);
	return done;
}

/*
 * Asks for an upcall when done moves. Bounded, because the backend could move it for
 * ever. Returns true if done moved past @index in the meantime.
 */
static bool kick_executed(struct vhca_dev *dev, u32 index)
{
	u32 done = is_kick_done(dev, &index);
	u32 before;
	int i;

	for (i = 0; i < XENVHCA_KICK_ENTRIES; i++) {
		if ((s32)(done - index) > 0)
			return true;
		virt_mb();	/* done_event before done; backend: v. v. */
		before = done;
		done = is_kick_done(dev, &index);
		if (done == before)
			return false;
	}
	return false;
}

/* Full ring: asks for the upcall that wakes this process, then tries again. */
static int kick_retry(struct vhca_dev *dev, struct vhca_kick *kick)
{
	int err = kick_queue(dev, kick);

	if (err != -EAGAIN)
		return err;
	kick_executed(dev, is_kick_done(dev, NULL));
	return kick_queue(dev, kick);
}

int vhca_ring_kick(struct vhca_dev *dev, struct vhca_kick *kick)
{
	int err = kick_queue(dev, kick);
	long left;

	if (err != -EAGAIN)
		return err;
	left = wait_event_killable_timeout(dev->ring.kick_wait,
					   (err = kick_retry(dev, kick)) != -EAGAIN,
					   vhca_ring_timeout());
	if (left <= 0)
		return left ? -EINTR : -ETIMEDOUT;
	return err;
}

int vhca_ring_kick_wait(struct vhca_dev *dev, struct vhca_kick *kick)
{
	struct vhca_ring *ring = &dev->ring;
	int err = vhca_ring_kick(dev, kick);
	long left;

	if (err)
		return err;
	left = wait_event_killable_timeout(ring->kick_wait,
					   kick_executed(dev, kick->index) ||
					   !vhca_ring_up(ring), vhca_ring_timeout());
	if (left <= 0)
		return left ? -EINTR : -ETIMEDOUT;
	return vhca_ring_up(ring) ? 0 : -EIO;
}

irqreturn_t vhca_ring_kick_irq(int irq, void *arg)
{
	struct vhca_dev *dev = arg;
	struct vhca_ring *ring = &dev->ring;
	bool work;
	u32 done;

	atomic64_inc(&dev->stats.irqs);
	if (!vhca_ring_up(ring))
		return IRQ_HANDLED;
	done = is_kick_done(dev, NULL);
	work = done != ring->kick_done;
	ring->kick_done = done;
	if (work)
		wake_up_all(&ring->kick_wait);
	else
		atomic64_inc(&dev->stats.spurious);
	/* The channel of a broken ring stays masked: no EOI. */
	if (vhca_ring_up(ring))
		xen_irq_lateeoi(irq, work ? 0 : XEN_EOI_FLAG_SPURIOUS);
	return IRQ_HANDLED;
}
