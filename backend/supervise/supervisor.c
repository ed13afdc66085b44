// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The supervisor: finds the devices of this domain in xenstore, keeps one
 * worker process for each, writes Closed for a worker that died, and removes
 * what the toolstack leaves behind of a dead domain. One thread. It touches
 * no guest memory and reads nothing that a guest can write, except whether its
 * directories are there (xn_domain_alive()).
 *
 * It may die as well: workers serve on, each holding the lock file with its
 * pid, and the next supervisor adopts them.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "be.h"
#include "clock.h"
#include "guard.h"
#include "host/maptrack.h"
#include "notify.h"
#include "run.h"
#include "supervisor.h"
#include "xenstore/scan.h"
#include "xenstore/state.h"

#define SUP_BACKOFF_MIN_MS	200
#define SUP_BACKOFF_MAX_MS	5000
#define SUP_LIVED_MS		10000	/* a worker that lived: no back-off */
#define SUP_STOP_MS		10000	/* SIGTERM to SIGKILL */
#define SUP_KILL_MS		2000
#define SUP_LOST_MS		1000	/* a lock whose pid is not readable */

struct sup_dev {
	struct sup_dev *next;
	unsigned int domid, devid;
	char dir[XN_PATH_MAX];		/* backend directory */
	pid_t pid;			/* 0: no worker */
	int pidfd;
	bool child;			/* ours to reap; else adopted */
	struct be_guard *guard;		/* of the worker, or NULL */
	bool seen;			/* by the scan that runs */
	bool refused;			/* no worker any more, was said */
	uint32_t pinned_mb;		/* what it may map; 0: not counted */
	uint64_t start_ns;		/* of the worker */
	uint64_t next_ns;		/* not before */
	unsigned int backoff_ms;
};

struct sup {
	const struct be_options *opt;
	struct xs_handle *xs;
	unsigned int own;		/* our domain id */
	struct sup_dev *devs;
	unsigned int n_devs;
	struct pollfd *poll;
	unsigned int n_poll;
	int sig_fd;
	struct be_guard *guards;	/* of workers that died */
	bool rescan;			/* scan again before waiting */
	bool stop, failed;
	uint64_t wake_ns;		/* next timer, 0: none */
};

static void sup_path(const struct sup *s, const struct sup_dev *d, char *path,
		     const char *ext)
{
	be_run_path(path, s->opt, d->domid, d->devid, ext);
}

static void sup_timer(struct sup *s, uint64_t at)
{
	if (!s->wake_ns || at < s->wake_ns)
		s->wake_ns = at;
}

/* ---- maptrack, which all devices share ---- */
/* A page takes two entries unless this domain is known not to be PV. */
static bool sup_is_pv(void)
{
	FILE *f = fopen("/sys/hypervisor/guest_type", "re");
	char type[16] = "";

	if (!f)
		return true;
	if (!fgets(type, sizeof(type), f))
		type[0] = '\0';
	fclose(f);
	type[strcspn(type, "\n")] = '\0';
	return !type[0] || !strcmp(type, "PV");
}

/* Reads the limit as the worker will; a wrong one counts as the default. */
static uint32_t sup_pinned_mb(const struct sup *s, const struct sup_dev *d)
{
	uint32_t mb = XENVHCA_DEF_MAX_PINNED_MB;

	xn_read_u32_def(s->xs, XBT_NULL, d->dir, XENVHCA_NODE_MAX_PINNED_MB, 1,
			XENVHCA_MOST_MAX_PINNED_MB, XENVHCA_DEF_MAX_PINNED_MB, &mb);
	return mb;
}

/* ---- worker processes ---- */
static int sup_pidfd(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

static void sup_exec(const struct sup *s, const struct sup_dev *d)
{
	static const char *const level[] = { "error", "warning", "info",
					     "debug" };
	char domid[16], devid[16], fd[16];
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* Nothing of ours may live on in a worker, libraries' fds included. */
	close_range(be_guard_pass(d->guard), ~0u, 0);
	unsetenv("NOTIFY_SOCKET");
	snprintf(fd, sizeof(fd), "%d", BE_GUARD_FD);
	snprintf(domid, sizeof(domid), "%u", d->domid);
	snprintf(devid, sizeof(devid), "%u", d->devid);
	execl("/proc/self/exe", "xen-vhcad", "--run-dir", s->opt->run_dir,
	      "--log-level", level[be_log_level],
	      s->opt->unproven ? "--unproven" : "--worker",
	      "--worker", domid, devid, d->guard ? fd : NULL,
	      (char *)NULL);
	be_log(NULL, BE_ERR, "cannot execute a worker: %s", strerror(errno));
	_exit(BE_EXIT_SYSTEM);
}

static void sup_spawn(struct sup *s, struct sup_dev *d)
{
	pid_t pid;

	d->guard = be_guard_open(d->domid, d->devid);
	pid = fork();
	if (!pid)
		sup_exec(s, d);
	d->start_ns = vl_now_ns();
	if (pid < 0) {
		be_log(NULL, BE_ERR, "fork: %s", strerror(errno));
		be_guard_drop(&d->guard);
		d->next_ns = d->start_ns + SUP_BACKOFF_MAX_MS * VL_MSEC_NS;
		return;
	}
	d->pid = pid;
	d->child = true;
	d->pidfd = sup_pidfd(pid);
	if (d->pidfd < 0)	/* then a timer looks after it */
		be_log(NULL, BE_WARN, "pidfd_open: %s", strerror(errno));
	be_log(NULL, BE_DEBUG, "worker %d for d%u/%u", (int)pid, d->domid,
	       d->devid);
}

/*
 * A worker of an earlier supervisor. The pid could have been reused between
 * reading it and opening it, so the lock is looked at once more.
 */
static void sup_adopt(struct sup *s, struct sup_dev *d)
{
	char path[PATH_MAX];
	pid_t pid;
	int fd;

	sup_path(s, d, path, "lock");
	pid = vl_lock_holder(path);
	if (!pid)
		return;
	fd = sup_pidfd(pid);
	if (fd < 0)
		return;
	if (vl_lock_holder(path) != pid) {
		close(fd);
		return;
	}
	d->pid = pid;
	d->pidfd = fd;
	d->child = false;
	d->guard = be_guard_adopt(&s->guards, fd, d->domid, d->devid);
	if (!d->guard)
		be_log(NULL, BE_WARN, "worker %d of d%u/%u is not guarded (%s): if it dies the HCA may use doorbell pages again that the guest still has; detach and attach the device when it suits",
		       (int)pid, d->domid, d->devid, strerror(errno));
	d->start_ns = vl_now_ns();
	d->pinned_mb = sup_pinned_mb(s, d);
	be_log(NULL, BE_INFO, "adopted worker %d of d%u/%u", (int)pid,
	       d->domid, d->devid);
}

/* Is the worker dead? Reaps it. status: as waitpid(), 0 for an adopted one. */
static bool sup_dead(struct sup_dev *d, int *status)
{
	struct pollfd p = { .fd = d->pidfd, .events = POLLIN };
	pid_t r;

	*status = 0;
	if (!d->child)
		return poll(&p, 1, 0) == 1;
	r = waitpid(d->pid, status, WNOHANG);
	return r == d->pid || (r < 0 && errno == ECHILD);
}

/* The frontend waits for a word: a worker that was killed could not say it. */
static void sup_write_closed(struct sup *s, struct sup_dev *d)
{
	enum xenbus_state cur = xn_state_read(s->xs, XBT_NULL, d->dir);

	if (cur == XenbusStateUnknown || cur == XenbusStateClosed)
		return;
	if (xn_state_switch(s->xs, d->dir, XN_BACK, &cur, XenbusStateClosed))
		be_log(NULL, BE_WARN, "cannot write %s/%s", d->dir,
		       XN_NODE_STATE);
}

/*
 * How did a worker end whose status nobody knows? One that ended in order wrote
 * Closed itself, and it may have parked contexts of a PV guest.
 */
static bool sup_may_have_parked(const struct sup *s, const struct sup_dev *d)
{
	return xn_state_read(s->xs, XBT_NULL, d->dir) == XenbusStateClosed;
}

static unsigned int sup_left(const struct sup *s, const struct sup_dev *d)
{
	char path[PATH_MAX];

	sup_path(s, d, path, "lock");
	return be_run_left(path);
}

static void sup_backoff(struct sup *s, struct sup_dev *d, bool good)
{
	uint64_t now = vl_now_ns();

	if (good || now - d->start_ns >= SUP_LIVED_MS * VL_MSEC_NS)
		d->backoff_ms = 0;
	d->next_ns = now + (d->backoff_ms ? d->backoff_ms :
			    SUP_BACKOFF_MIN_MS) * VL_MSEC_NS;
	d->backoff_ms = d->backoff_ms ? d->backoff_ms * 2 :
			SUP_BACKOFF_MIN_MS * 2;
	if (d->backoff_ms > SUP_BACKOFF_MAX_MS)
		d->backoff_ms = SUP_BACKOFF_MAX_MS;
	sup_timer(s, d->next_ns);
}

/* Takes note of workers that ended. */
static void sup_reap(struct sup *s, struct sup_dev *d)
{
	bool good, parked;
	int status;

	if (!d->pid || !sup_dead(d, &status))
		return;
	parked = d->child ? WIFEXITED(status) &&
			    WEXITSTATUS(status) == BE_EXIT_PARKED :
			    sup_may_have_parked(s, d);
	good = WIFEXITED(status) && WEXITSTATUS(status) == BE_EXIT_OK &&
	       d->child;
	if (good)
		be_guard_drop(&d->guard);
	else
		be_guard_keep(&s->guards, &d->guard, d->dir, parked,
			      sup_left(s, d));
	good |= parked && d->child;
	if (WIFSIGNALED(status))
		be_log(NULL, BE_ERR, "worker %d of d%u/%u died of signal %d",
		       (int)d->pid, d->domid, d->devid, WTERMSIG(status));
	d->pid = 0;
	if (d->pidfd >= 0)
		close(d->pidfd);
	d->pidfd = -1;
	sup_write_closed(s, d);
	sup_backoff(s, d, good);
}

/* ---- devices ---- */
static struct sup_dev *sup_find(struct sup *s, unsigned int domid,
				unsigned int devid)
{
	struct sup_dev *d;

	for (d = s->devs; d; d = d->next)
		if (d->domid == domid && d->devid == devid)
			return d;
	return NULL;
}

static int sup_seen(unsigned int domid, unsigned int devid, void *arg)
{
	struct sup *s = arg;
	struct sup_dev *d = sup_find(s, domid, devid);

	if (!d) {
		d = calloc(1, sizeof(*d));
		if (!d)
			return -ENOMEM;
		d->domid = domid;
		d->devid = devid;
		d->pidfd = -1;
		if (xn_backend_dir(d->dir, s->own, domid, devid)) {
			free(d);
			return 0;
		}
		d->next = s->devs;
		s->devs = d;
		s->n_devs++;
	}
	d->seen = true;
	return 0;
}

/*
 * The toolstack removes the nodes of a domain that it destroys, unless it
 * does not know our device type; then nobody but us would.
 */
static void sup_remove_nodes(struct sup *s, struct sup_dev *d)
{
	char parent[XN_PATH_MAX], **names = NULL;
	int n;

	if (vl_now_ns() < d->next_ns) {
		sup_timer(s, d->next_ns);
		return;
	}
	d->next_ns = vl_now_ns() + SUP_BACKOFF_MAX_MS * VL_MSEC_NS;
	if (xn_rm(s->xs, XBT_NULL, d->dir, NULL)) {
		be_log(NULL, BE_WARN, "cannot remove %s", d->dir);
		sup_timer(s, d->next_ns);
		return;
	}
	be_log(NULL, BE_INFO, "d%u/%u: domain is gone, nodes removed",
	       d->domid, d->devid);
	s->rescan = true;
	snprintf(parent, sizeof(parent), "%s", d->dir);
	*strrchr(parent, '/') = '\0';
	n = xn_list(s->xs, XBT_NULL, parent, &names);
	free(names);
	if (!n)
		xn_rm(s->xs, XBT_NULL, parent, NULL);
}

/* Tells the operator once, in the log and in the node. */
static bool sup_refuse(struct sup *s, struct sup_dev *d, const char *why)
{
	if (!d->refused) {
		be_log(NULL, BE_ERR, "d%u/%u: %s", d->domid, d->devid, why);
		xn_write_str(s->xs, XBT_NULL, d->dir, XENVHCA_NODE_BROKEN, why);
	}
	d->refused = true;
	return true;
}

/* The guest has left too many contexts of the HCA behind (guard.h). */
static bool sup_full(struct sup *s, struct sup_dev *d)
{
	return be_guard_full(s->guards, d->domid) &&
	       sup_refuse(s, d, "too many connections of this PV guest left doorbell pages behind: start the guest anew");
}

/*
 * All devices together could fill the maptrack table, which other backends of
 * this domain need as well. A device keeps its part until its nodes are gone,
 * also while it has no worker.
 */
static bool sup_over(struct sup *s, struct sup_dev *d)
{
	bool pv = sup_is_pv();
	uint64_t max = host_maptrack_mb(s->opt->maptrack_frames, pv), others = 0;
	uint32_t mb = sup_pinned_mb(s, d);
	char why[XN_VALUE_MAX];
	struct sup_dev *o;

	for (o = s->devs; o; o = o->next)
		others += o == d || !o->seen ? 0 : o->pinned_mb;
	if (others + mb <= max) {
		d->pinned_mb = mb;
		d->refused = false;
		return false;
	}
	d->pinned_mb = 0;
	snprintf(why, sizeof(why), "max-pinned-mb %u beside %" PRIu64 " of other devices is more than the %" PRIu64 " MiB that this %sdomain can map: lower them, or raise Xen's gnttab_max_maptrack_frames and xen-vhcad's --maptrack-frames (%u)",
		 mb, others, max, pv ? "PV " : "", s->opt->maptrack_frames);
	sup_refuse(s, d, why);
	/* Whoever attached it waits for this, as for a worker's refusal. */
	sup_write_closed(s, d);
	return true;
}

/* Decides what happens to a device without a worker. */
static void sup_serve(struct sup *s, struct sup_dev *d)
{
	uint32_t online = 0;

	/* Closed, or the frontend would go on with a worker that is dead. */
	if (be_guard_settle(s->guards, d->domid, d->devid,
			    sup_may_have_parked(s, d), sup_left(s, d)))
		sup_write_closed(s, d);
	if (!xn_domain_alive(s->xs, d->domid)) {
		d->pinned_mb = 0;
		sup_remove_nodes(s, d);
		return;
	}
	if (xn_read_u32(s->xs, XBT_NULL, d->dir, XN_NODE_ONLINE, 0, 1,
			&online) || !online) {
		d->pinned_mb = 0;
		if (xn_state_read(s->xs, XBT_NULL, d->dir) ==
		    XenbusStateClosing)
			sup_write_closed(s, d);
		return;
	}
	if (sup_full(s, d) || sup_over(s, d))
		return;
	if (vl_now_ns() < d->next_ns)
		sup_timer(s, d->next_ns);
	else
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
	s->n_devs--;
	free(d);
}

static void sup_scan(struct sup *s)
{
	struct sup_dev *d, **p;
	int rc;

	s->rescan = false;
	be_guard_check(&s->guards, s->xs);
	for (d = s->devs; d; d = d->next)
		d->seen = false;
	rc = xn_scan(s->xs, s->own, sup_seen, s);
	if (rc) {
		be_log(NULL, BE_ERR, "cannot list the devices: %s",
		       strerror(-rc));
		sup_timer(s, vl_now_ns() + SUP_LOST_MS * VL_MSEC_NS);
		return;
	}
	for (p = &s->devs; (d = *p);) {
		/* Its nodes are gone; a worker left over sees that itself. */
		if (!d->seen && !d->pid) {
			sup_forget(s, p);
			continue;
		}
		if (!d->pid)
			sup_adopt(s, d);
		p = &d->next;
	}
	/* Last, when all that others may map is counted. */
	for (d = s->devs; d; d = d->next)
		if (!d->pid)
			sup_serve(s, d);
}

/* ---- loop ---- */
static void sup_signals(struct sup *s)
{
	struct signalfd_siginfo si;

	while (read(s->sig_fd, &si, sizeof(si)) == sizeof(si))
		if (si.ssi_signo == SIGTERM || si.ssi_signo == SIGINT)
			s->stop = true;
}

static void sup_watches(struct sup *s)
{
	char token[XN_PATH_MAX];
	int r;

	/* Whatever it was: every pass of the loop scans. */
	while ((r = xn_watch_next(s->xs, token)) > 0)
		;
	if (r < 0) {
		be_log(NULL, BE_ERR, "xenstore: %s", strerror(-r));
		s->failed = true;
	}
}

static int sup_timeout(const struct sup *s)
{
	uint64_t now = vl_now_ns();

	if (!s->wake_ns)
		return -1;
	return s->wake_ns <= now ? 0 :
	       (int)((s->wake_ns - now) / VL_MSEC_NS) + 1;
}

/* Waits for xenstore, a signal, the end of a worker or the timer. */
static int sup_poll(struct sup *s)
{
	unsigned int n = 2;
	struct pollfd *p;
	struct sup_dev *d;

	if (s->n_poll < s->n_devs + 2) {
		p = realloc(s->poll, (s->n_devs + 2) * sizeof(*p));
		if (!p)
			return -ENOMEM;
		s->poll = p;
		s->n_poll = s->n_devs + 2;
	}
	s->poll[0] = (struct pollfd){ .fd = xs_fileno(s->xs),
				      .events = POLLIN };
	s->poll[1] = (struct pollfd){ .fd = s->sig_fd, .events = POLLIN };
	for (d = s->devs; d; d = d->next) {
		s->poll[n++] = (struct pollfd){ .fd = d->pidfd,
						.events = POLLIN };
		if (d->pid && d->pidfd < 0)
			sup_timer(s, vl_now_ns() + SUP_LOST_MS * VL_MSEC_NS);
	}
	if (poll(s->poll, n, sup_timeout(s)) < 0 && errno != EINTR)
		return -errno;
	s->wake_ns = 0;
	if (s->poll[0].revents)
		sup_watches(s);
	if (s->poll[1].revents)
		sup_signals(s);
	return 0;
}

static void sup_loop(struct sup *s)
{
	struct sup_dev *d;
	int rc;

	while (!s->stop && !s->failed) {
		/* Always: back-off timers and lost locks have no event. */
		sup_scan(s);
		if (s->rescan)
			continue;
		rc = sup_poll(s);
		if (rc) {
			be_log(NULL, BE_ERR, "poll: %s", strerror(-rc));
			return;
		}
		for (d = s->devs; d; d = d->next)
			sup_reap(s, d);
	}
}

static bool sup_any_alive(struct sup *s)
{
	struct sup_dev *d;
	bool any = false;

	for (d = s->devs; d; d = d->next) {
		sup_reap(s, d);
		any |= d->pid != 0;
	}
	return any;
}

/* A signal to every worker, then wait for all of them, bounded. */
static void sup_kill(struct sup *s, int sig, unsigned int ms)
{
	uint64_t end = vl_now_ns() + ms * VL_MSEC_NS;
	struct sup_dev *d;

	for (d = s->devs; d; d = d->next)
		if (d->pidfd >= 0)
			syscall(SYS_pidfd_send_signal, d->pidfd, sig, NULL, 0);
		else if (d->pid && d->child)
			kill(d->pid, sig);
	while (sup_any_alive(s) && vl_now_ns() < end) {
		sup_timer(s, vl_now_ns() + 50 * VL_MSEC_NS);
		if (sup_poll(s) || s->failed)
			usleep(50000);
	}
}

static int sup_start(struct sup *s)
{
	char path[PATH_MAX];
	int own, rc;

	s->xs = xs_open(0);
	own = s->xs ? xn_own_domid(s->xs) : -errno;
	if (own < 0) {
		be_log(NULL, BE_ERR, "xenstore: %s; is this a Xen domain with xenstored?",
		       strerror(-own));
		return BE_EXIT_SYSTEM;
	}
	s->own = (unsigned int)own;
	be_guard_restore(&s->guards, s->own);
	rc = xn_backend_root(path, s->own);
	if (!rc)
		rc = xn_watch(s->xs, path, "devices");
	if (!rc)
		rc = xn_watch(s->xs, "@releaseDomain", "release");
	if (rc) {
		be_log(NULL, BE_ERR, "xenstore watch: %s", strerror(-rc));
		return BE_EXIT_SYSTEM;
	}
	be_log(NULL, BE_INFO, "serving %s", path);
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
	return BE_EXIT_OK;
}

static int sup_signal_fd(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int be_supervisor_main(const struct be_options *opt)
{
	struct sup s = { .opt = opt };
	struct sup_dev *d;
	char path[PATH_MAX];
	int lock, rc;

	snprintf(path, sizeof(path), "%s/supervisor.lock", opt->run_dir);
	lock = vl_lock_take(path);
	if (lock < 0) {
		be_log(NULL, BE_ERR, "%s: %s", path, lock == -EWOULDBLOCK ?
		       "another xen-vhcad is running" : strerror(-lock));
		return BE_EXIT_BUSY;
	}
	s.sig_fd = sup_signal_fd();
	rc = s.sig_fd < 0 ? BE_EXIT_SYSTEM : sup_run(&s);
	while ((d = s.devs)) {
		s.devs = d->next;
		if (d->pidfd >= 0)
			close(d->pidfd);
		be_guard_free(&d->guard);
		free(d);
	}
	be_guard_free(&s.guards);
	free(s.poll);
	xs_close(s.xs);
	if (s.sig_fd >= 0)
		close(s.sig_fd);
	close(lock);
	return rc;
}
