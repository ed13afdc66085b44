// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The supervisor: it finds the devices of this domain (devices.h), runs one
 * worker process for each, enters Closed for a worker that died, and removes
 * what the toolstack leaves behind of a dead domain. It has one thread. It
 * touches no guest memory and reads nothing that a guest can write, except
 * whether the guest lives.
 *
 * When it dies, workers continue to serve, each holding the lock file with its
 * pid, and the next supervisor adopts them.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include "clock.h"
#include "file.h"
#include "core/log.h"
#include "notify.h"
#include "core/run.h"
#include "sup.h"
#include "supervisor.h"
#include "vhca-keys.h"

#define SUP_BACKOFF_MIN_MS	200
#define SUP_BACKOFF_MAX_MS	5000
#define SUP_LIVED_MS		10000	/* a worker that lived: no back-off */
#define SUP_STOP_MS		10000	/* SIGTERM to SIGKILL */
#define SUP_KILL_MS		2000
#define SUP_LOST_MS		1000	/* a lock whose pid is not readable */
#define SUP_REFUSED_MS		1000	/* how often refused devices are looked at */

static void sup_path(const struct sup *s, const struct sup_dev *d, char *path,
		     const char *ext)
{
	be_run_path(path, s->opt, d->domid, d->devid, ext);
}

/* ---- worker processes ---- */
static void sup_spawn(struct sup *s, struct sup_dev *d)
{
	struct be_options opt = *s->opt;
	int rc;

	opt.domid = d->domid;
	opt.devid = d->devid;
	opt.left_uars = be_guard_uars(s->guards, d->domid);
	opt.spinners = be_sup_spinners(s);
	d->guard = be_guard_open(d->domid, d->devid);
	rc = be_process_start(&d->worker, &opt, d->guard);
	if (rc) {
		be_log(NULL, BE_ERR, "fork: %s", strerror(-rc));
		be_guard_drop(&d->guard);
		d->next_ns = vl_now_ns() + SUP_BACKOFF_MAX_MS * VL_MSEC_NS;
		return;
	}
	be_cgroup_join(&s->cgroups, d->worker.pid, d->share.pinned_mb);
	be_sup_listen(s, &d->worker, d);
	d->spinners = opt.spinners;
	be_log(NULL, BE_DEBUG, "worker %d for d%u/%u, polls with %u threads",
	       (int)d->worker.pid, d->domid, d->devid, d->spinners);
}

/* Whose lock file is another's, renamed or linked, which only a worker can have done? */
static bool sup_foreign(const struct sup *s, const struct sup_dev *d,
			const char *lock)
{
	const struct sup_dev *o = s->devs;

	while (o && (o == d || o->worker.pid != d->worker.pid))
		o = o->next;
	if (!o)
		return false;
	be_log(NULL, BE_WARN, "%s is locked by worker %d of d%u/%u, so it is removed: did the guest take it over?",
	       lock, (int)o->worker.pid, o->domid, o->devid);
	vl_file_clear(lock);
	return true;
}

/* A worker of an earlier supervisor. */
static void sup_adopt(struct sup *s, struct sup_dev *d)
{
	struct be_process *w = &d->worker;
	char path[PATH_MAX];

	sup_path(s, d, path, "lock");
	if (!be_process_adopt(w, path))
		return;
	if (sup_foreign(s, d, path)) {
		be_process_forget(w);
		return;
	}
	d->spinners = BE_SPINNERS;	/* it may have been given less */
	be_sup_listen(s, w, d);
	d->guard = be_guard_adopt(&s->guards, w->pidfd, d->domid, d->devid);
	if (!d->guard)
		be_log(NULL, BE_WARN, "worker %d of d%u/%u is not guarded (%s): if it dies the HCA may use doorbell pages again that the guest still has; detach and attach the device when it suits",
		       (int)w->pid, d->domid, d->devid, strerror(errno));
	be_devices_share(s->all, d->domid, d->devid, &d->share);
	be_cgroup_join(&s->cgroups, w->pid, d->share.pinned_mb);
	be_log(NULL, BE_INFO, "adopted worker %d of d%u/%u", (int)w->pid,
	       d->domid, d->devid);
}

static int sup_state(const struct sup *s, const struct sup_dev *d)
{
	return be_devices_state(s->all, d->domid, d->devid);
}

/*
 * How did a worker end whose status nobody knows? One that ended in order wrote
 * Closed itself, and it may have parked contexts of a PV guest. So may one whose
 * state cannot be read.
 */
static bool sup_may_have_parked(const struct sup *s, const struct sup_dev *d)
{
	int state = sup_state(s, d);

	return state < 0 || state == XenbusStateClosed;
}

static enum be_until sup_until(bool parked)
{
	return parked ? BE_UNTIL_GUEST_ENDS : BE_UNTIL_NEXT_WORKER;
}

/* No more than its device may take, as it was when the worker started. */
static unsigned int sup_left(const struct sup *s, const struct sup_dev *d)
{
	struct be_share share = d->share;
	unsigned int left;
	char path[PATH_MAX];
	uint64_t most;

	sup_path(s, d, path, "lock");
	left = be_run_left(path);
	if (left && !share.ucontexts)
		be_devices_share(s->all, d->domid, d->devid, &share);
	most = be_sup_uars(s->opt, &share);
	return left < most ? left : (unsigned int)most;
}

void be_sup_backoff(struct sup *s, struct sup_dev *d, bool good)
{
	uint64_t now = vl_now_ns();

	if (now - d->worker.start_ns >= SUP_LIVED_MS * VL_MSEC_NS ||
	    (good && !vl_bucket_take(&d->lives, now)))
		d->backoff_ms = 0;
	d->next_ns = now + (d->backoff_ms ? d->backoff_ms :
			    SUP_BACKOFF_MIN_MS) * VL_MSEC_NS;
	d->backoff_ms = d->backoff_ms ? d->backoff_ms * 2 :
			SUP_BACKOFF_MIN_MS * 2;
	if (d->backoff_ms > SUP_BACKOFF_MAX_MS)
		d->backoff_ms = SUP_BACKOFF_MAX_MS;
	be_sup_timer(s, d->next_ns);
}

/* Takes note of workers that ended. Asks the kernel about those only that did. */
static void sup_reap(struct sup *s, struct sup_dev *d)
{
	struct be_process *w = &d->worker;
	bool good, parked;
	int status;

	if (!w->pid || (w->pidfd >= 0 && !d->ended) ||
	    !be_process_dead(w, &status))
		return;
	parked = w->child ? WIFEXITED(status) &&
			    WEXITSTATUS(status) == BE_EXIT_PARKED :
			    sup_may_have_parked(s, d);
	good = WIFEXITED(status) && WEXITSTATUS(status) == BE_EXIT_OK &&
	       w->child;
	if (good)
		be_guard_drop(&d->guard);
	else
		be_guard_hold(&s->guards, &d->guard, sup_until(parked),
			      sup_left(s, d));
	good |= parked && w->child;
	if (WIFSIGNALED(status))
		be_log(NULL, BE_ERR, "worker %d of d%u/%u died of signal %d",
		       (int)w->pid, d->domid, d->devid, WTERMSIG(status));
	be_cgroup_remove(&s->cgroups, w->pid);
	be_sup_forget(s, w);
	be_sup_write_closed(s, d);
	be_sup_backoff(s, d, good);
}

/* ---- devices ---- */
static int sup_seen(unsigned int domid, unsigned int devid, void *arg)
{
	struct sup_dev *d = be_sup_get(arg, domid, devid);

	if (!d)
		return -ENOMEM;
	d->seen = true;
	return 0;
}

/*
 * The toolstack removes the nodes of a domain that it destroys, unless it
 * does not know our device type; then nobody but us would.
 */
static void sup_remove(struct sup *s, struct sup_dev *d)
{
	int rc;

	if (vl_now_ns() < d->next_ns) {
		be_sup_timer(s, d->next_ns);
		return;
	}
	d->next_ns = vl_now_ns() + SUP_BACKOFF_MAX_MS * VL_MSEC_NS;
	rc = s->all->ops->remove(s->all, d->domid, d->devid);
	if (rc) {
		be_log(NULL, BE_WARN, "d%u/%u: cannot remove what is left of it: %s",
		       d->domid, d->devid, strerror(-rc));
		be_sup_timer(s, d->next_ns);
		return;
	}
	be_log(NULL, BE_INFO, "d%u/%u: domain is gone, nodes removed",
	       d->domid, d->devid);
	s->rescan = true;
}

/* The guest has left too many contexts of the HCA behind (guard.h). */
static bool sup_full(struct sup *s, struct sup_dev *d)
{
	return be_guard_full(s->guards, d->domid) &&
	       be_sup_refuse(s, d, "too many connections of this PV guest left doorbell pages behind: start the guest anew");
}

/* Decides what happens to a device without a worker. */
static void sup_serve(struct sup *s, struct sup_dev *d)
{
	/* Closed, or the frontend would go on with a worker that is dead. */
	if (be_guard_settle(s->guards, d->domid, d->devid,
			    sup_until(sup_may_have_parked(s, d)),
			    sup_left(s, d)))
		be_sup_write_closed(s, d);
	if (!s->all->ops->alive(s->all, d->domid)) {
		be_sup_no_share(d);
		if (be_sup_net_down(s, d))
			sup_remove(s, d);
		return;
	}
	if (!be_devices_online(s->all, d->domid, d->devid)) {
		be_sup_no_share(d);
		if (sup_state(s, d) == XenbusStateClosing)
			be_sup_write_closed(s, d);
		be_sup_net_down(s, d);
		return;
	}
	if (sup_full(s, d) || be_sup_over(s, d))
		return;
	if (vl_now_ns() < d->next_ns)
		be_sup_timer(s, d->next_ns);
	else if (be_sup_net_up(s, d))
		sup_spawn(s, d);
}

static void sup_forget(struct sup *s, struct sup_dev **p)
{
	struct sup_dev *d = *p;
	char path[PATH_MAX];

	sup_path(s, d, path, "lock");
	vl_lock_remove(path);
	sup_path(s, d, path, "stats");
	unlink(path);
	*p = d->next;
	free(d);
}

/*
 * There may be hundreds that are refused, for which others have to go first. What
 * comes and goes beside them is no reason to look at all of them each time.
 */
static void sup_serve_all(struct sup *s)
{
	uint64_t now = vl_now_ns();
	bool refused = now >= s->refused_ns;
	struct sup_dev *d;

	if (refused)
		s->refused_ns = now + SUP_REFUSED_MS * VL_MSEC_NS;
	for (d = s->devs; d; d = d->next) {
		if (!d->seen || d->worker.pid)
			continue;
		if (d->refused && !d->changed && !refused) {
			be_sup_timer(s, s->refused_ns);
			continue;
		}
		d->changed = false;
		sup_serve(s, d);
	}
	/* Behind all addresses, for which workers wait. */
	for (d = s->devs; d; d = d->next)
		if (d->seen)
			be_sup_net_follow(s, d);
}

static void sup_scan(struct sup *s)
{
	struct sup_dev *d, **p;
	int rc;

	s->rescan = false;
	be_guard_check(&s->guards, s->all);
	for (d = s->devs; d; d = d->next)
		d->seen = false;
	rc = s->all->ops->scan(s->all, sup_seen, s);
	if (rc) {
		be_log(NULL, BE_ERR, "cannot list the devices: %s",
		       strerror(-rc));
		be_sup_timer(s, vl_now_ns() + SUP_LOST_MS * VL_MSEC_NS);
		return;
	}
	for (p = &s->devs; (d = *p);) {
		/* Its nodes are gone; a worker left over sees that itself. */
		if (!d->seen && !d->worker.pid && be_sup_net_down(s, d)) {
			sup_forget(s, p);
			continue;
		}
		if (!d->worker.pid)
			sup_adopt(s, d);
		p = &d->next;
	}
	/* Last, when all that others may map is counted. */
	sup_serve_all(s);
}

/* ---- loop ---- */
static void sup_loop(struct sup *s)
{
	struct sup_dev *d;
	int rc;

	while (!s->stop && !s->failed) {
		/* All of them: back-off timers and lost locks have no event. */
		sup_scan(s);
		if (s->rescan)
			continue;
		be_sup_timers(s);
		do {
			rc = be_sup_wait(s);
		} while (!rc && !s->look && !s->failed);
		if (rc) {
			be_log(NULL, BE_ERR, "epoll: %s", strerror(-rc));
			return;
		}
		for (d = s->devs; d; d = d->next)
			sup_reap(s, d);
		be_sup_net_reap(s);
	}
}

static bool sup_any_alive(struct sup *s)
{
	struct sup_dev *d;
	bool any = false;

	for (d = s->devs; d; d = d->next) {
		sup_reap(s, d);
		any |= d->worker.pid != 0;
	}
	return any;
}

/* A signal to every worker, then wait for all of them, bounded. */
static void sup_kill(struct sup *s, int sig, unsigned int ms)
{
	uint64_t end = vl_now_ns() + ms * VL_MSEC_NS;
	struct sup_dev *d;

	for (d = s->devs; d; d = d->next)
		be_process_signal(&d->worker, sig);
	while (sup_any_alive(s) && vl_now_ns() < end) {
		be_sup_timer(s, vl_now_ns() + 50 * VL_MSEC_NS);
		if (be_sup_wait(s) || s->failed)
			usleep(50000);
	}
}

static int sup_start(struct sup *s)
{
	int rc;

	s->all = s->devices_open();
	if (!s->all)
		return BE_EXIT_SYSTEM;
	be_cgroups_open(&s->cgroups, s->opt->root);
	be_guard_restore(&s->guards);
	be_sup_net_list(s);
	rc = s->all->ops->watch(s->all);
	if (!rc)
		rc = be_sup_listen_devices(s);
	if (rc) {
		be_log(NULL, BE_ERR, "watching %s: %s", s->all->name,
		       strerror(-rc));
		return BE_EXIT_SYSTEM;
	}
	be_log(NULL, BE_INFO, "serving %s", s->all->name);
	rc = vl_notify(VL_NOTIFY_READY, -1);
	if (rc)
		be_log(NULL, BE_WARN, "the service manager does not hear: %s",
		       strerror(-rc));
	return BE_EXIT_OK;
}

static int sup_run(struct sup *s)
{
	int rc = sup_start(s);

	if (rc)
		return rc;
	sup_loop(s);
	if (!s->stop)		/* workers serve on, we start again */
		return BE_EXIT_SYSTEM;
	be_log(NULL, BE_INFO, "stopping");
	sup_kill(s, SIGTERM, SUP_STOP_MS);
	sup_kill(s, SIGKILL, SUP_KILL_MS);
	be_sup_net_finish(s);
	return BE_EXIT_OK;
}

int be_supervisor_main(const struct be_options *opt,
		       be_devices_open_fn *devices_open)
{
	struct sup s = {
		.opt = opt, .devices_open = devices_open,
		.job.p = BE_PROCESS_NONE,
	};
	struct sup_dev *d;
	char path[PATH_MAX];
	int lock, rc;

	snprintf(path, sizeof(path), "%s/supervisor.lock", opt->run_dir);
	lock = vl_lock_take(path);
	if (lock < 0) {
		be_log(NULL, BE_ERR, "%s: %s", path, lock == -EWOULDBLOCK ?
		       "another xen-vhcad is running" : vl_file_why(-lock));
		return BE_EXIT_BUSY;
	}
	rc = be_sup_wait_open(&s) ? BE_EXIT_SYSTEM : sup_run(&s);
	while ((d = s.devs)) {
		s.devs = d->next;
		be_process_forget(&d->worker);
		be_guard_free(&d->guard);
		free(d);
	}
	be_guard_free(&s.guards);
	be_sup_wait_close(&s);
	if (s.all)
		s.all->ops->free(s.all);
	close(lock);
	return rc;
}
