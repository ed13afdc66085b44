// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The event thread reads the completion channel and the asynchronous events of
 * every verbs context and puts them on the event ring. The kernel is trusted;
 * the user_handle that it returns is the wire handle, so no table is looked up.
 *
 * A watched fd is read under events.lock only, and be_event_del() takes the
 * same lock, so no fd is read after it was taken out. The thread takes
 * be_dev.evt_lock inside; it never takes be_dev.lock.
 *
 * ib_uverbs allocates for each event until it is read, without limit: a guest
 * that causes them faster than they are read (completions into a full CQ of
 * Soft-RoCE, a CQ that is armed again and again) would take the memory of this
 * domain. An fd that is not found empty for a second is drained, which costs the
 * guest events as an overflow of its ring does; if even that does not empty it,
 * the device is closed.
 *
 * A completion that is lost is made good by the frontend, which polls every CQ
 * then. An asynchronous event cannot be made up, so one that finds no room in the
 * ring is held, and no other is read until it has found some.
 */
#include <errno.h>
#include <fcntl.h>
#include <rdma/ib_user_verbs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include "be.h"
#include "clock.h"
#include "event.h"
#include "sys.h"
#include "ready.h"
#include "wake.h"

#define BE_EVENT_BATCH	32	/* descriptors per fd and wake-up */
#define BE_STOP		UINT64_MAX
#define BE_BEHIND_NS	VL_SEC_NS	/* and then an fd is drained */
#define BE_DRAIN	65536		/* descriptors at most */
#define BE_HELD_MS	10		/* from one try of a held event to the next */

struct be_watch {
	uint32_t gen;		/* tells a reused fd number apart */
	bool used, async, ctl;
	bool muted;		/* not waited for: an event is held */
	struct be_ready *ready;	/* NULL: a verbs file, which is read here */
	uint64_t full_ns;	/* since when it has not been empty; 0: it was */
};

struct be_events {
	pthread_t thread;
	int epfd, stop_fd;
	pthread_mutex_t lock;	/* below */
	struct be_watch *watch;	/* index: fd */
	int n_watch;
	unsigned int n_ctl;	/* watches without a ucontext */
	struct xenvhca_event held;	/* asynchronous; found no room */
	bool holds;
	uint64_t retry_ns;
};

/* Numbers of enum ib_event_type; it is not part of the kernel's uapi. */
enum {
	EV_CQ_ERR, EV_QP_FATAL, EV_QP_REQ_ERR, EV_QP_ACCESS_ERR, EV_COMM_EST,
	EV_SQ_DRAINED, EV_PATH_MIG, EV_PATH_MIG_ERR, EV_DEVICE_FATAL,
	EV_PORT_ACTIVE, EV_PORT_ERR, EV_LID_CHANGE, EV_PKEY_CHANGE,
	EV_SM_CHANGE, EV_SRQ_ERR, EV_SRQ_LIMIT, EV_QP_LAST_WQE,
	EV_CLIENT_REREGISTER, EV_GID_CHANGE, EV_COUNT
};

/* The held event again. */
static void event_hold(struct be_dev *dev, struct be_events *e)
{
	int rc = dev->t ? be_event_try(dev, &e->held, true) : -ENOTCONN;

	e->holds = rc == -ENOSPC;
	e->retry_ns = vl_coarse_ns() + BE_HELD_MS * VL_MSEC_NS;
	if (rc && !e->holds)
		BE_STAT_ADD(dev, events_dropped, 1);
}

static void event_keep(struct be_dev *dev, uint8_t type, uint8_t event,
		       uint32_t handle)
{
	dev->events->held = (struct xenvhca_event){
		.type = type, .event = event, .handle = handle,
	};
	event_hold(dev, dev->events);
}

/* Type of the object that an asynchronous event names; 0: not passed on. */
static uint8_t type_of_event(uint32_t event)
{
	static const uint8_t type[EV_COUNT] = {
		[EV_CQ_ERR] = XENVHCA_EVT_CQ,
		[EV_QP_FATAL ... EV_PATH_MIG_ERR] = XENVHCA_EVT_QP,
		[EV_PORT_ACTIVE ... EV_SM_CHANGE] = XENVHCA_EVT_PORT,
		[EV_SRQ_ERR ... EV_SRQ_LIMIT] = XENVHCA_EVT_SRQ,
		[EV_QP_LAST_WQE] = XENVHCA_EVT_QP,
		[EV_CLIENT_REREGISTER ... EV_GID_CHANGE] = XENVHCA_EVT_PORT,
	};

	return event < EV_COUNT ? type[event] : 0;
}

/*
 * Every context hears the events of the port; the control context's are
 * passed on, or, where there is none, everyone's.
 */
static void event_async(struct be_dev *dev, const struct be_watch *w,
			const struct ib_uverbs_async_event_desc *d)
{
	uint8_t type = type_of_event(d->event_type);

	if (d->event_type == EV_DEVICE_FATAL) {
		be_fault(dev, "HCA %s failed or was removed", dev->hca);
		return;
	}
	if (!type) {
		be_log(dev, BE_DEBUG, "event %u is not passed on",
		       d->event_type);
		return;
	}
	if (type == XENVHCA_EVT_PORT) {
		if (d->element != dev->port || (dev->events->n_ctl && !w->ctl))
			return;
		if (d->event_type == EV_GID_CHANGE && dev->gids_changed &&
		    !dev->gids_changed(dev))
			return;		/* another guest's */
		event_keep(dev, type, (uint8_t)d->event_type, 0);
		return;
	}
	event_keep(dev, type, (uint8_t)d->event_type, (uint32_t)d->element);
}

union be_desc {
	struct ib_uverbs_comp_event_desc comp;
	struct ib_uverbs_async_event_desc async;
};

/* One descriptor; the kernel hands out one per read. False: there is none. */
static bool event_get(struct be_dev *dev, int fd, const struct be_watch *w,
		      union be_desc *d)
{
	size_t want = w->async ? sizeof(d->async) : sizeof(d->comp);
	ssize_t r = be_sys_read(fd, d, want);

	if (r == (ssize_t)want)
		return true;
	if (r < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	be_fault(dev, "cannot read events of HCA %s: %s", dev->hca,
		 r < 0 ? strerror(errno) : "short read");
	/* Readable for ever: no reason to spin until we are closed. */
	epoll_ctl(dev->events->epfd, EPOLL_CTL_DEL, fd, NULL);
	return false;
}

static void event_pass(struct be_dev *dev, const struct be_watch *w,
		       const union be_desc *d)
{
	if (w->async)
		event_async(dev, w, &d->async);
	else
		be_event_push(dev, XENVHCA_EVT_COMP, 0,
			      (uint32_t)d->comp.cq_handle);
}

static void event_drain(struct be_dev *dev, int fd, struct be_watch *w)
{
	union be_desc d;
	unsigned int n = 0;

	while (n < BE_DRAIN && event_get(dev, fd, w, &d)) {
		n++;
		if (w->async && d.async.event_type == EV_DEVICE_FATAL)
			event_pass(dev, w, &d);
	}
	w->full_ns = 0;
	BE_STAT_ADD(dev, events_dropped, n);
	pthread_mutex_lock(&dev->evt_lock);
	if (dev->t)
		dev->t->ops->overflow(dev->t);
	pthread_mutex_unlock(&dev->evt_lock);
	if (n < BE_DRAIN)
		return;
	be_fault(dev, "%s events of HCA %s come faster than they can be read",
		 w->async ? "asynchronous" : "completion", dev->hca);
	epoll_ctl(dev->events->epfd, EPOLL_CTL_DEL, fd, NULL);
}

static void watch_mute(struct be_events *e, int fd, struct be_watch *w,
		       bool mute)
{
	struct epoll_event ev = {
		.events = mute ? 0 : EPOLLIN,
		.data.u64 = (uint64_t)w->gen << 32 | (uint32_t)fd,
	};

	/* Gone already after a failed read, or a drain that did not end. */
	epoll_ctl(e->epfd, EPOLL_CTL_MOD, fd, &ev);
	w->muted = mute;
}

static void event_read(struct be_dev *dev, int fd, struct be_watch *w)
{
	const bool *holds = &dev->events->holds;
	union be_desc d;
	unsigned int n;
	uint64_t now;

	for (n = 0; n < BE_EVENT_BATCH && !(w->async && *holds); n++) {
		if (!event_get(dev, fd, w, &d)) {
			w->full_ns = 0;
			return;
		}
		event_pass(dev, w, &d);
	}
	now = vl_coarse_ns();
	if (!w->full_ns)
		w->full_ns = now;
	else if (now - w->full_ns > BE_BEHIND_NS)
		event_drain(dev, fd, w);
	if (w->async && *holds)
		watch_mute(dev->events, fd, w, true);
}

/* Each file that was muted is looked at again: it may have to be drained. */
static void event_held(struct be_dev *dev, struct be_events *e)
{
	int fd;

	if (!e->holds || vl_coarse_ns() < e->retry_ns)
		return;
	pthread_mutex_lock(&e->lock);
	event_hold(dev, e);
	for (fd = 0; fd < e->n_watch; fd++)
		if (e->watch[fd].used && e->watch[fd].muted)
			watch_mute(e, fd, &e->watch[fd], false);
	pthread_mutex_unlock(&e->lock);
}

/* @key: as given to epoll; the fd may have been closed since. */
static void event_ready(struct be_dev *dev, uint64_t key)
{
	struct be_events *e = dev->events;
	int fd = (int)(key & INT32_MAX);
	struct be_watch *w;

	pthread_mutex_lock(&e->lock);
	w = fd < e->n_watch ? &e->watch[fd] : NULL;
	if (w && w->used && w->gen == key >> 32) {
		if (w->ready)
			be_ready_event(dev, w->ready);
		else
			event_read(dev, fd, w);
	}
	pthread_mutex_unlock(&e->lock);
}

static void *event_thread(void *arg)
{
	struct be_dev *dev = arg;
	struct be_events *e = dev->events;
	struct epoll_event ev[16];
	int i, n;

	for (;;) {
		n = epoll_wait(e->epfd, ev, 16, e->holds ? BE_HELD_MS : -1);
		if (n < 0 && errno != EINTR) {
			be_fault(dev, "epoll_wait: %s", strerror(errno));
			return NULL;
		}
		for (i = 0; i < n; i++) {
			if (ev[i].data.u64 == BE_STOP)
				return NULL;
			event_ready(dev, ev[i].data.u64);
		}
		event_held(dev, e);
	}
}

/* Make watch[fd] exist; called with the lock held. */
static int watch_grow(struct be_events *e, int fd)
{
	int n = e->n_watch ? e->n_watch : 64;
	struct be_watch *w;

	if (fd < e->n_watch)
		return 0;
	while (n <= fd)
		n *= 2;
	w = realloc(e->watch, (size_t)n * sizeof(*w));
	if (!w)
		return -ENOMEM;
	memset(w + e->n_watch, 0, (size_t)(n - e->n_watch) * sizeof(*w));
	e->watch = w;
	e->n_watch = n;
	return 0;
}

/* @how: what is to be watched; events: of epoll. */
static int watch_add(struct be_events *e, int fd, struct be_watch how,
		     uint32_t events)
{
	struct epoll_event ev = { .events = events };
	struct be_watch *w;
	int rc;

	pthread_mutex_lock(&e->lock);
	rc = watch_grow(e, fd);
	if (rc)
		goto out;
	w = &e->watch[fd];
	how.gen = w->gen + 1;
	how.used = true;
	*w = how;
	ev.data.u64 = (uint64_t)w->gen << 32 | (uint32_t)fd;
	if (epoll_ctl(e->epfd, EPOLL_CTL_ADD, fd, &ev) < 0) {
		rc = -errno;
		w->used = false;
	} else if (w->ctl) {
		e->n_ctl++;
	}
out:
	pthread_mutex_unlock(&e->lock);
	return rc;
}

int be_event_add(struct be_dev *dev, int fd, struct be_obj *uc, bool async)
{
	int fl;

	if (!dev->events)
		return 0;
	if (fd < 0)
		return -EBADF;
	fl = fcntl(fd, F_GETFL);
	if (fl < 0 || fcntl(fd, F_SETFL, fl | O_NONBLOCK) < 0)
		return -errno;
	return watch_add(dev->events, fd,
			 (struct be_watch){ .async = async, .ctl = !uc },
			 EPOLLIN);
}

/* By edges: what the guest does not fetch must not wake this thread again. */
int be_event_add_ready(struct be_dev *dev, struct be_ready *ready)
{
	if (!dev->events)
		return 0;
	return watch_add(dev->events, ready->fd,
			 (struct be_watch){ .ready = ready },
			 EPOLLIN | EPOLLET);
}

void be_event_del(struct be_dev *dev, int fd)
{
	struct be_events *e = dev->events;

	if (!e || fd < 0)
		return;
	pthread_mutex_lock(&e->lock);
	if (fd < e->n_watch && e->watch[fd].used) {
		/* Gone already after a failed read. */
		epoll_ctl(e->epfd, EPOLL_CTL_DEL, fd, NULL);
		e->watch[fd].used = false;
		if (e->watch[fd].ctl)
			e->n_ctl--;
	}
	pthread_mutex_unlock(&e->lock);
}

static void events_free(struct be_events *e)
{
	if (e->epfd >= 0)
		close(e->epfd);
	if (e->stop_fd >= 0)
		close(e->stop_fd);
	pthread_mutex_destroy(&e->lock);
	free(e->watch);
	free(e);
}

int be_event_start(struct be_dev *dev)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = BE_STOP };
	struct be_events *e = calloc(1, sizeof(*e));
	int rc;

	if (!e)
		return -ENOMEM;
	pthread_mutex_init(&e->lock, NULL);
	e->epfd = epoll_create1(EPOLL_CLOEXEC);
	e->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (e->epfd < 0 || e->stop_fd < 0 ||
	    epoll_ctl(e->epfd, EPOLL_CTL_ADD, e->stop_fd, &ev) < 0) {
		rc = -errno;
		goto err_free;
	}
	dev->events = e;
	rc = -pthread_create(&e->thread, NULL, event_thread, dev);
	if (!rc)
		return 0;
	dev->events = NULL;
err_free:
	events_free(e);
	return rc;
}

void be_event_stop(struct be_dev *dev)
{
	struct be_events *e = dev->events;

	if (!e)
		return;
	be_wake(e->stop_fd);
	pthread_join(e->thread, NULL);
	dev->events = NULL;
	events_free(e);
}
