// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The life of one connection: the backend column of the state diagram in
 * vhcaif.h, read from be_worker_main() down. The main thread of the process is
 * the command thread; it also watches the store and signals. Everything that the
 * frontend says, including its state, is only a hint about what it wants.
 *
 * A process has one connection: when that ends, in whatever way, the process
 * ends and the kernel releases the rest; the supervisor starts the next worker.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include "clock.h"
#include "cmdq.h"
#include "conf.h"
#include "confine.h"
#include "device.h"
#include "core/event.h"
#include "file.h"
#include "host/xenbus.h"
#include "kick.h"
#include "verbs/jobs.h"
#include "core/run.h"
#include "stats.h"
#include "context/context.h"
#include "core/wake.h"
#include "worker.h"

#define BE_CLOSE_MS	5000	/* how long SIGTERM waits for the frontend */
#define BE_TICK_NS	VL_SEC_NS	/* from one worker_tick() to the next */

enum be_phase { BE_WAIT_FRONT, BE_WAIT_RINGS, BE_SERVE };

enum be_end {			/* why the connection ends */
	BE_GO_ON,
	BE_END_FRONT,		/* frontend went to Closing or Closed */
	BE_END_LOST,		/* frontend died, or started anew */
	BE_END_REMOVED,		/* toolstack removed or closed the nodes */
	BE_END_STOP,		/* SIGTERM, or detach before Connected */
	BE_END_FAULT,
};

struct be_worker {
	const struct be_options *opt;
	be_store_open_fn *store_open;
	be_transport_open_fn *transport_open;
	struct be_dev dev;
	struct be_cmdq cmdq;
	struct be_stats_file stats;
	struct be_store *store;
	enum be_phase phase;
	enum xenbus_state front_state;	/* a hint */
	int news;			/* of the store, not read yet: BE_NEWS_* */
	bool removed;			/* our nodes are gone, or cut off */
	bool domain_dead;
	bool stop;			/* SIGTERM */
	uint64_t stop_ns;		/* when to stop waiting */
	uint64_t tick_ns;		/* the next worker_tick() */
	int sig_fd, lock_fd;
};

/* ---- the store ---- */
static int worker_enter(struct be_worker *w, enum xenbus_state to)
{
	int rc = w->store->ops->set_state(w->store, to);

	if (rc == -ENOENT)
		w->removed = true;
	else if (!rc)
		be_log(&w->dev, BE_DEBUG, "state %s", host_state_name(to));
	return rc;
}

static void worker_state(struct be_worker *w, enum xenbus_state to)
{
	int rc = worker_enter(w, to);

	if (rc && rc != -ENOENT)
		be_log(&w->dev, BE_ERR, "cannot write state %s: %s",
		       host_state_name(to), strerror(-rc));
}

/* The reason stays for the operator until the next connection works. */
static void worker_broken(struct be_worker *w)
{
	int rc = w->store->ops->write(w->store, XENVHCA_NODE_BROKEN,
				     w->dev.fault_reason);

	if (rc && rc != -ENOENT)
		be_log(&w->dev, BE_WARN, "cannot write %s/%s",
		       w->store->name[BE_OWN], XENVHCA_NODE_BROKEN);
}

/* Another writer of our state is the toolstack: Closing asks, Closed cuts. */
static void worker_own_state(struct be_worker *w)
{
	enum xenbus_state s = w->store->ops->state(w->store, BE_OWN);

	if (s == w->store->own)
		return;
	if (s == XenbusStateUnknown || s == XenbusStateClosed)
		w->removed = true;
	else if (s == XenbusStateClosing)
		w->store->own = s;
	/* Anything else is ignored: our next state overwrites it. */
}

static void worker_states(struct be_worker *w)
{
	enum xenbus_state was = w->front_state;
	int news = w->news;

	w->news = 0;
	if (news & BE_NEWS_OWN)
		worker_own_state(w);
	if (news & BE_NEWS_PEER)
		w->front_state = w->store->ops->state(w->store, BE_PEER);
	/* A driver domain hears of no end but by nodes that are gone. */
	if (news & BE_NEWS_END ||
	    (news & BE_NEWS_PEER && w->front_state == XenbusStateUnknown))
		w->domain_dead = !w->store->ops->alive(w->store);
	if (was != w->front_state)
		be_log(&w->dev, BE_DEBUG, "frontend %s",
		       host_state_name(w->front_state));
}

static void worker_news(struct be_worker *w)
{
	int r = w->store->ops->changed(w->store);

	if (r >= 0)
		w->news |= r;
	else
		be_fault(&w->dev, "the store: %s", strerror(-r));
}

static int worker_watch(struct be_worker *w)
{
	int rc = w->store->ops->watch(w->store);

	if (rc >= 0) {
		w->news = rc;
		return 0;
	}
	be_fault(&w->dev, "cannot watch the store: %s", strerror(-rc));
	return rc;
}

/* ---- signals and waiting ---- */
static void worker_signals(struct be_worker *w)
{
	struct signalfd_siginfo si;

	while (read(w->sig_fd, &si, sizeof(si)) == sizeof(si)) {
		if (si.ssi_signo == SIGUSR1) {
			be_stats_write(&w->stats, &w->dev,
				       host_state_name(w->store->own), true);
		} else if (!w->stop) {
			be_log(&w->dev, BE_INFO, "asked to stop");
			w->stop = true;
			w->stop_ns = vl_coarse_ns() + BE_CLOSE_MS * VL_MSEC_NS;
		}
	}
}

/* Once a second: what could not be closed before, and statistics that have changed. */
static void worker_tick(struct be_worker *w)
{
	uint64_t now = vl_coarse_ns();

	if (now < w->tick_ns)
		return;
	w->tick_ns = now + BE_TICK_NS;
	be_dev_tick(&w->dev);
	be_stats_write(&w->stats, &w->dev, host_state_name(w->store->own), false);
}

/* How long to sleep, in ms: until the next worker_tick() at most. */
static int worker_timeout(const struct be_worker *w, int timeout_ms)
{
	uint64_t now = vl_coarse_ns();
	int tick_ms = 0;

	if (now < w->tick_ns)
		tick_ms = (int)((w->tick_ns - now) / VL_MSEC_NS) + 1;
	return timeout_ms < 0 || timeout_ms > tick_ms ? tick_ms : timeout_ms;
}

/* The files to poll; those of the transport once there are rings. */
enum { POLL_STORE, POLL_SIGNAL, POLL_WAKE, POLL_CMD, POLL_AGENT, POLLS };

static void worker_files(const struct be_worker *w, struct pollfd *p)
{
	struct be_transport *t = w->phase == BE_SERVE ? w->dev.t : NULL;
	const int fd[POLLS] = {
		[POLL_STORE] = w->store->ops->fd(w->store),
		[POLL_SIGNAL] = w->sig_fd,
		[POLL_WAKE] = w->dev.wake_fd,
		[POLL_CMD] = t ? t->ops->cmd_fd(t) : -1,
		[POLL_AGENT] = t ? t->ops->agent_fd(t) : -1,
	};
	int i;

	for (i = 0; i < POLLS; i++)
		p[i] = (struct pollfd){ .fd = fd[i], .events = POLLIN };
}

/* Commands that wait for an answer are executed again, whatever woke this thread. */
static void worker_agent(struct be_worker *w)
{
	int rc = w->dev.t->ops->agent_ack(w->dev.t);

	if (rc < 0)
		be_fault(&w->dev, "the doorbell agent: %s", strerror(-rc));
}

/* Wait for anything; true if the command event channel fired. */
static bool worker_poll(struct be_worker *w, int timeout_ms)
{
	struct pollfd p[POLLS];

	worker_files(w, p);
	if (poll(p, POLLS, worker_timeout(w, timeout_ms)) < 0) {
		if (errno != EINTR)
			be_fault(&w->dev, "poll: %s", strerror(errno));
		return false;
	}
	if (p[POLL_WAKE].revents)
		be_wake_clear(w->dev.wake_fd);
	if (p[POLL_STORE].revents)
		worker_news(w);
	if (p[POLL_SIGNAL].revents)
		worker_signals(w);
	if (p[POLL_AGENT].revents)
		worker_agent(w);
	if (p[POLL_CMD].revents & ~POLLIN)
		be_fault(&w->dev, "cannot read the event channel");
	worker_tick(w);
	return p[POLL_CMD].revents;
}

/* ---- phases ---- */
static enum be_end worker_end(const struct be_worker *w)
{
	bool serving = w->phase == BE_SERVE;

	if (w->dev.fault)
		return BE_END_FAULT;
	if (w->removed)
		return BE_END_REMOVED;
	if (w->domain_dead)
		return BE_END_LOST;
	if (w->stop && (!serving || vl_coarse_ns() >= w->stop_ns))
		return BE_END_STOP;
	if (!serving)
		return w->store->own == XenbusStateClosing ? BE_END_STOP : BE_GO_ON;
	switch (w->front_state) {
	case XenbusStateInitialised:
	case XenbusStateConnected:
		return BE_GO_ON;
	case XenbusStateClosing:
	case XenbusStateClosed:
		return BE_END_FRONT;
	default:
		return BE_END_LOST;
	}
}

/*
 * To InitWait, once the frontend is not in an old connection. Until then a
 * Closed that an earlier worker left behind stays, for the frontend to see.
 */
static void worker_offer(struct be_worker *w)
{
	int rc;

	if (w->front_state != XenbusStateInitialising &&
	    w->front_state != XenbusStateClosed)
		return;
	worker_state(w, XenbusStateInitialising);
	rc = be_conf_offer(w->store);
	if (!rc)
		rc = worker_enter(w, XenbusStateInitWait);
	if (!rc)
		w->phase = BE_WAIT_RINGS;
	else if (!w->removed)
		be_fault(&w->dev, "cannot write to %s: %s",
			 w->store->name[BE_OWN], strerror(-rc));
}

/* InitWait -> Connected: the rings are mapped before the frontend may send. */
static void worker_connect(struct be_worker *w)
{
	struct be_dev *dev = &w->dev;
	struct be_ring_params p;
	int rc;

	if (w->front_state != XenbusStateInitialised)
		return;
	if (be_conf_frontend(dev, w->store, &p))
		return;
	/* The event thread runs already, see worker_open(). */
	pthread_mutex_lock(&dev->evt_lock);
	rc = dev->t->ops->connect(dev->t, &p);
	pthread_mutex_unlock(&dev->evt_lock);
	if (rc) {
		be_fault(dev, "cannot connect the rings: %s", strerror(-rc));
		return;
	}
	be_spin_init(&w->cmdq.spin, dev->spinners, &dev->spinning,
		     dev->quota.spin_us);
	rc = be_kick_start(dev);
	if (!rc)
		rc = be_jobs_start(dev);
	if (rc) {
		be_fault(dev, "cannot start a thread: %s", strerror(-rc));
		return;
	}
	w->phase = BE_SERVE;
	worker_state(w, XenbusStateConnected);
	w->store->ops->write(w->store, XENVHCA_NODE_BROKEN, NULL);
	be_log(dev, BE_INFO, "connected, HCA %s port %u", dev->hca, dev->port);
}

static enum be_end worker_loop(struct be_worker *w)
{
	enum be_end end;
	int timeout = 0;
	bool fired;

	for (;;) {
		fired = worker_poll(w, timeout);
		if (w->news)
			worker_states(w);
		end = worker_end(w);
		if (end != BE_GO_ON)
			return end;
		/* Tells the frontend, which then closes in order. */
		if (w->stop && w->store->own == XenbusStateConnected)
			worker_state(w, XenbusStateClosing);
		timeout = -1;
		if (w->phase == BE_WAIT_FRONT)
			worker_offer(w);
		else if (w->phase == BE_WAIT_RINGS)
			worker_connect(w);
		if (w->phase == BE_SERVE)
			timeout = be_cmdq_run(&w->dev, &w->cmdq, fired);
		else if (w->dev.fault)
			timeout = 0;
	}
}

/* ---- begin and end ---- */
static void worker_paths(const struct be_worker *w)
{
	int rc = be_confine_paths(w->opt->run_dir);

	if (rc)
		be_log(&w->dev, BE_WARN,
		       "the worker may write to all files of root, no Landlock: %s",
		       strerror(-rc));
}

/* From here on no socket is needed: the store is open, the HCA was found. */
static void worker_confine(const struct be_worker *w)
{
	int rc = be_confine();

	if (rc)
		be_log(&w->dev, BE_WARN, "cannot refuse system calls: %s",
		       strerror(-rc));
}

/*
 * The name that "rdma resource show" and ps print beside what a worker holds:
 * it tells an operator whose queue pair it is. The kernel stores 15 letters,
 * enough for the last domain and device.
 */
static void worker_name(const struct be_worker *w)
{
	char name[16];

	snprintf(name, sizeof(name), "vhcad-%u-%u",
		 w->opt->domid & 0x7fff, w->opt->devid & 0xff);
	prctl(PR_SET_NAME, name, 0, 0, 0);
}

static int worker_process(struct be_worker *w)
{
	char path[PATH_MAX];
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	worker_name(w);
	w->sig_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (w->sig_fd < 0 || be_dev_init(&w->dev, (int)w->opt->domid,
					 (int)w->opt->devid))
		return BE_EXIT_SYSTEM;
	w->dev.quota.left_uars = w->opt->left_uars;
	w->dev.spinners = w->opt->spinners;
	be_limit();
	worker_paths(w);
	be_run_path(path, w->opt, w->opt->domid, w->opt->devid, "lock");
	w->lock_fd = be_run_take(path, &w->dev.quota.fail, &w->dev.log_bucket);
	if (w->lock_fd == -EWOULDBLOCK) {
		be_log(&w->dev, BE_WARN, "another process serves this device");
		return BE_EXIT_BUSY;
	}
	if (w->lock_fd < 0) {
		be_log(&w->dev, BE_ERR, "%s: %s", path,
		       vl_file_why(-w->lock_fd));
		return BE_EXIT_SYSTEM;
	}
	be_stats_init(&w->stats, w->opt);
	return BE_EXIT_OK;
}

/*
 * Everything that can fail without the frontend. Our state is touched only
 * afterwards, so that a device that cannot work does not flicker.
 */
static bool worker_open(struct be_worker *w)
{
	int rc = w->store->ops->find(w->store);

	if (!rc)
		rc = be_conf_read(&w->dev, w->store);
	if (rc)
		return false;
	w->dev.t = w->transport_open(&w->dev, w->opt->helper_fd,
				     !w->store->no_agent, &rc);
	if (!w->dev.t) {
		be_fault(&w->dev, "no transport: %s", strerror(-rc));
		return false;
	}
	/* Also hears of the HCA's removal while nobody is connected. */
	rc = be_event_start(&w->dev);
	if (!rc)
		rc = be_dev_open(&w->dev);
	if (!rc)
		rc = be_event_add(&w->dev, w->dev.ctl_async_fd, NULL, true);
	if (rc) {
		be_fault(&w->dev, "cannot use HCA %s: %s", w->dev.hca,
			 strerror(-rc));
		return false;
	}
	if (worker_watch(w))
		return false;
	/* An earlier worker ended in the middle: the frontend must know. */
	if (w->store->own != XenbusStateInitialising &&
	    w->store->own != XenbusStateClosed)
		worker_state(w, XenbusStateClosed);
	return true;
}

/*
 * The order that makes the end safe: nobody uses handles (threads), the HCA
 * and then the mappings let go of guest memory (be_dev_close), the rings go,
 * and only then Closed tells the frontend that its pages are its own again.
 */
static void worker_release(struct be_worker *w)
{
	struct be_dev *dev = &w->dev;

	be_jobs_stop(dev);		/* before what it uses */
	be_kick_stop(dev);
	be_event_stop(dev);
	be_dev_close(dev);
	/* What a context still uses is unmapped by the kernel after us. */
	if (dev->t && !dev->ucontexts)
		dev->t->ops->close(dev->t);
	dev->t = NULL;
}

static void worker_close(struct be_worker *w, enum be_end end)
{
	static const char *const why[] = {
		[BE_END_FRONT] = "frontend closed",
		[BE_END_LOST] = "frontend is gone",
		[BE_END_REMOVED] = "removed by the toolstack",
		[BE_END_STOP] = "stopped",
		[BE_END_FAULT] = "given up",
	};

	worker_release(w);
	if (end == BE_END_FAULT)
		worker_broken(w);
	if (!w->removed)
		worker_state(w, XenbusStateClosed);
	be_stats_remove(&w->stats);
	be_log(&w->dev, BE_INFO, "%s", why[end]);
}

/*
 * A device that cannot be opened: the store reports the reason, and Closed,
 * but only once, as this is tried again and again.
 */
static void worker_refuse(struct be_worker *w)
{
	worker_release(w);
	worker_broken(w);
	if (w->store->own != XenbusStateUnknown &&
	    w->store->own != XenbusStateClosed)
		worker_state(w, XenbusStateClosed);
}

static int worker_run(struct be_worker *w)
{
	enum be_end end;
	int rc;

	rc = worker_process(w);
	if (rc)
		return rc;
	w->store = w->store_open(&w->dev, w->opt->domid, w->opt->devid);
	if (!w->store)
		return BE_EXIT_SYSTEM;
	if (!worker_open(w)) {
		worker_refuse(w);
		return BE_EXIT_CONFIG;
	}
	worker_confine(w);
	end = worker_loop(w);
	worker_close(w, end);
	if (w->dev.unsettled)
		return BE_EXIT_PARKED;
	return end == BE_END_FAULT ? BE_EXIT_FAULT : BE_EXIT_OK;
}

int be_worker_main(const struct be_options *opt, be_store_open_fn *store_open,
		   be_transport_open_fn *transport_open)
{
	struct be_worker *w = calloc(1, sizeof(*w));
	int rc;

	if (!w)
		return BE_EXIT_SYSTEM;
	w->opt = opt;
	w->store_open = store_open;
	w->transport_open = transport_open;
	w->sig_fd = -1;
	w->lock_fd = -1;
	w->dev.wake_fd = -1;
	rc = worker_run(w);
	if (w->lock_fd >= 0)
		be_run_leave(w->lock_fd, w->dev.unsettled ? w->dev.quota.uars : 0,
			     &w->dev.quota.fail, &w->dev.log_bucket);
	if (w->store)
		w->store->ops->close(w->store);
	be_dev_fini(&w->dev);
	if (w->sig_fd >= 0)
		close(w->sig_fd);
	if (w->lock_fd >= 0)
		close(w->lock_fd);
	free(w);
	return rc;
}
