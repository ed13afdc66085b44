// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The kick thread takes entries off the kick ring and executes them. It spins for more
 * only if spinning was useful lately (spin.h). The guest controls what is in the ring,
 * handles included; an entry is one system call, and the number of entries in a second is
 * bounded.
 *
 * The command thread drains the ring before each command (be_kick_flush): a
 * native process's post is executed when the call returns, so a command must
 * not overtake the kicks of posts made before it. be_dev.kick_lock orders the two
 * threads, the command thread first.
 *
 * A send queue that holds more than the driver's (shadow.h) is served again each
 * millisecond, because nothing reports when there is room.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include "clock.h"
#include "kick.h"
#include "core/spin.h"
#include "core/wake.h"
#include "verbs/object.h"
#include "verbs/shadow.h"
#include "verbs/ucontext.h"

#define BE_KICK_BATCH	32
#define BE_BEHIND_NS	VL_MSEC_NS

struct be_kicks {
	pthread_t thread;
	struct xenvhca_kick batch[BE_KICK_BATCH]; /* read, not yet executed */
	int n, unpaid;		/* of them, both under be_dev.kick_lock */
	int wake_fd;
	bool stop;
	bool acked;		/* nothing read from the event channel */
	bool worked;		/* entries since the last notification's end */
	struct be_spin spin;
	bool behind;		/* a send queue has more than the driver's */
};

/* ---- what one kick does: the system call that a native process would have made ---- */

static int send_post(struct be_dev *dev, const struct xenvhca_kick *k, bool *more)
{
	const struct be_qp *qp = be_handle_get(dev->handles, k->handle, BE_QP, NULL);
	struct be_shadow *sq = qp ? qp->sq : NULL;

	if (!qp)
		return -1;
	if (sq)
		be_shadow_take(dev, sq);
	*more = sq && sq->behind;
	/* An error is the QP's state; the guest sees it in its completions. */
	uv_post_send(qp->o.uc->file->fd, qp->o.host);
	return 0;
}

/* The frontend waits for this: the arm is in force when the verb returns */
static int cq_arm(struct be_dev *dev, const struct xenvhca_kick *k)
{
	const struct be_obj *o = be_handle_get(dev->handles, k->handle, BE_CQ, NULL);
	bool solicited = k->flags & XENVHCA_KICK_SOLICITED;

	if (!o || k->flags & ~XENVHCA_KICK_SOLICITED)
		return -1;
	/* An error is the CQ's, as with a native arm. */
	uv_req_notify_cq(o->uc->file->fd, o->host, solicited);
	return 0;
}

/* Holds the lock from the look-up to the end of the call, so that the fd stays open. */
bool be_kick(struct be_dev *dev, const struct xenvhca_kick *k)
{
	bool more = false;
	int err = -1;

	pthread_rwlock_rdlock(&dev->lock);
	if (k->type == XENVHCA_KICK_SEND && !k->flags && !k->reserved)
		err = send_post(dev, k, &more);
	else if (k->type == XENVHCA_KICK_ARM && !k->reserved)
		err = cq_arm(dev, k);
	pthread_rwlock_unlock(&dev->lock);
	if (err) {
		BE_STAT_ADD(dev, faults, 1);
		be_log_peer(dev, "kick ignored: type %u, flags %#x, handle %#x",
			    k->type, k->flags, k->handle);
	}
	return more;
}

/* ---- the ring ---- */

/* Under kick_lock. */
static void kick_behind(struct be_dev *dev)
{
	struct be_kicks *k = dev->kicks;

	if (__atomic_load_n(&k->behind, __ATOMIC_RELAXED))
		__atomic_store_n(&k->behind, be_shadow_sends(dev),
				 __ATOMIC_RELAXED);
}

/*
 * Under kick_lock. Kicks over their rate are executed later: nobody's are
 * lost, and a guest that only kicks does not occupy a processor. False: not yet.
 */
static bool kick_pay(struct be_dev *dev)
{
	struct be_kicks *k = dev->kicks;
	uint64_t now = vl_coarse_ns();

	for (; k->unpaid; k->unpaid--)
		if (vl_bucket_take(&dev->quota.kick, now))
			return false;
	return true;
}

static void kick_nap(struct be_dev *dev)
{
	const struct timespec nap = { .tv_nsec = VL_MSEC_NS };

	BE_STAT_ADD(dev, rate_waits, 1);
	nanosleep(&nap, NULL);
}

/* A send queue has more than the driver's had room for: nobody tells when there is. */
static void kick_more(struct be_kicks *k)
{
	__atomic_store_n(&k->behind, true, __ATOMIC_RELAXED);
	be_wake(k->wake_fd);
}

/*
 * Executes a batch. Number of entries, 0 if none, -EPROTO, or -EAGAIN: a batch
 * waits to be paid for, and comes first next time, whoever drains.
 */
static int kick_drain_locked(struct be_dev *dev)
{
	struct be_kicks *k = dev->kicks;
	int i, n = k->n;

	if (!n) {
		n = dev->t->ops->get_kicks(dev->t, k->batch, BE_KICK_BATCH);
		if (n < 0)
			be_fault(dev, "frontend violated the kick ring");
		if (n <= 0)
			return n;
		k->n = k->unpaid = n;
	}
	if (!kick_pay(dev))
		return -EAGAIN;
	be_recv_poll_now(dev);
	kick_behind(dev);
	for (i = 0; i < n; i++) {
		if (be_kick(dev, &k->batch[i]))
			kick_more(k);
		dev->t->ops->kicks_done(dev->t, 1);
	}
	k->n = 0;
	BE_STAT_ADD(dev, kicks, (uint64_t)n);
	__atomic_store_n(&k->worked, true, __ATOMIC_RELAXED);
	return n;
}

/* Does not nap with the lock: a command pays for the batch itself. */
static int kick_drain(struct be_dev *dev)
{
	int n;

	for (;;) {
		be_kick_hold_last(dev);
		n = kick_drain_locked(dev);
		be_kick_release(dev);
		if (n != -EAGAIN)
			return n;
		kick_nap(dev);
	}
}

void be_kick_flush(struct be_dev *dev)
{
	int n, left = XENVHCA_KICK_ENTRIES;
	struct be_kicks *k = dev->kicks;

	if (!k)
		return;
	be_kick_hold(dev);
	do {
		n = kick_drain_locked(dev);
		if (n == -EAGAIN)
			kick_nap(dev);
		else
			left -= n;
	} while (n == -EAGAIN || (n > 0 && left > 0));
	be_kick_release(dev);
	be_recv_poll_now(dev);
}

/* Tells whether entries came, or the command thread had them already. */
static bool kick_spin(struct be_dev *dev)
{
	struct be_kicks *k = dev->kicks;
	bool found;

	if (!be_spin_begin(&k->spin))
		return false;
	do {
		found = dev->t->ops->any_kick(dev->t);
	} while (!found && !__atomic_load_n(&k->stop, __ATOMIC_RELAXED) &&
		 be_spin_turn(&k->spin));
	be_spin_end(&k->spin, found);
	if (found)
		BE_STAT_ADD(dev, kick_spins, 1);
	return found;
}

/*
 * Under kick_lock: a command that drains meanwhile would move cons under the
 * computation of prod_event, and the frontend would skip the notification.
 */
static bool kick_arm(struct be_dev *dev)
{
	bool more;

	be_kick_hold_last(dev);
	more = dev->t->ops->arm_kicks(dev->t);
	be_kick_release(dev);
	return more;
}

/* Until the frontend notifies or somebody wakes us. */
static void kick_wait(struct be_dev *dev, struct pollfd pfd[2])
{
	const struct timespec nap = { .tv_nsec = BE_BEHIND_NS };
	struct be_kicks *k = dev->kicks;
	bool behind;
	int n;

	do {
		behind = __atomic_load_n(&k->behind, __ATOMIC_RELAXED);
		n = ppoll(pfd, 2, behind ? &nap : NULL, NULL);
		if (n < 0 && errno != EINTR) {
			be_fault(dev, "kick poll: %s", strerror(errno));
			__atomic_store_n(&k->stop, true, __ATOMIC_RELAXED);
		}
		if (!n) {
			be_kick_hold_last(dev);
			kick_behind(dev);
			be_kick_release(dev);
		}
	} while (!n);
	if (n > 0 && pfd[1].revents)
		be_wake_clear(k->wake_fd);
}

/*
 * Sleep until the frontend notifies. The event channel is unmasked only here,
 * after arming: a notification meanwhile is held back, not lost, and a busy
 * ring costs no system call at all.
 */
static void kick_sleep(struct be_dev *dev)
{
	struct be_kicks *k = dev->kicks;
	struct pollfd pfd[2] = {
		{ .fd = dev->t->ops->kick_fd(dev->t), .events = POLLIN },
		{ .fd = k->wake_fd, .events = POLLIN },
	};

	if (kick_arm(dev))
		return;
	if (!k->acked) {
		/* Also what was taken before the notification came. */
		dev->t->ops->kick_ack(dev->t, __atomic_exchange_n(&k->worked,
						false, __ATOMIC_RELAXED));
		k->acked = true;
	}
	BE_STAT_ADD(dev, kick_sleeps, 1);
	kick_wait(dev, pfd);
	if (pfd[0].revents)
		k->acked = false;
}

static void *kick_thread(void *arg)
{
	struct be_dev *dev = arg;
	struct be_kicks *k = dev->kicks;
	int n;

	while (!__atomic_load_n(&k->stop, __ATOMIC_RELAXED)) {
		n = kick_drain(dev);
		if (n < 0)
			break;
		if (n)
			continue;
		if (!kick_spin(dev))
			kick_sleep(dev);
	}
	return NULL;
}

int be_kick_start(struct be_dev *dev)
{
	struct be_kicks *k = calloc(1, sizeof(*k));
	int rc;

	if (!k)
		return -ENOMEM;
	k->acked = true;
	be_spin_init(&k->spin, dev->spinners, &dev->spinning,
		     dev->quota.spin_us);
	k->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (k->wake_fd < 0) {
		rc = -errno;
		goto err_free;
	}
	rc = be_recv_poll_start(dev);
	if (rc)
		goto err_close;
	dev->kicks = k;
	rc = -pthread_create(&k->thread, NULL, kick_thread, dev);
	if (!rc)
		return 0;
	dev->kicks = NULL;
	be_recv_poll_stop(dev);
err_close:
	close(k->wake_fd);
err_free:
	free(k);
	return rc;
}

void be_kick_stop(struct be_dev *dev)
{
	struct be_kicks *k = dev->kicks;

	if (!k)
		return;
	__atomic_store_n(&k->stop, true, __ATOMIC_RELAXED);
	be_wake(k->wake_fd);
	pthread_join(k->thread, NULL);
	be_recv_poll_stop(dev);
	dev->kicks = NULL;
	close(k->wake_fd);
	free(k);
}
