// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What the supervisor waits for: changes of the devices, ends of processes,
 * signals, timers. What happens to one device does not make it look at others.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include "clock.h"
#include "core/log.h"
#include "sup.h"

#define WAIT_LOST_MS	1000	/* a process that no event tells of */
#define WAIT_EVENTS	16	/* taken at once */

void be_sup_timer(struct sup *s, uint64_t at)
{
	if (!s->wake_ns || at < s->wake_ns)
		s->wake_ns = at;
}

static int listen_to(struct sup *s, int fd, void *what)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = what };

	if (fd < 0)
		return 0;
	return epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

void be_sup_listen(struct sup *s, struct be_process *p, struct sup_dev *dev)
{
	int rc = listen_to(s, p->pidfd, dev ? (void *)dev : &s->job);

	if (dev)
		dev->ended = rc && !p->child;
	if (!rc)
		return;
	be_log(NULL, BE_WARN, "epoll: %s", strerror(-rc));
	/* A child needs no pidfd; either is asked from time to time. */
	if (p->child) {
		close(p->pidfd);
		p->pidfd = -1;
	}
	be_sup_timer(s, vl_now_ns() + WAIT_LOST_MS * VL_MSEC_NS);
}

/* A child that has not executed its program yet has the same file. */
void be_sup_forget(struct sup *s, struct be_process *p)
{
	if (p->pidfd >= 0)
		epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, p->pidfd, NULL);
	be_process_forget(p);
}

static void wait_signals(struct sup *s)
{
	struct signalfd_siginfo si;

	while (read(s->sig_fd, &si, sizeof(si)) == sizeof(si))
		if (si.ssi_signo == SIGTERM || si.ssi_signo == SIGINT)
			s->stop = true;
}

/*
 * A worker looks after its device itself, and writes most of what changes. But the state
 * of one tells when the memory of the worker before it may go.
 */
static int wait_below(unsigned int domid, unsigned int devid, void *arg)
{
	struct sup *s = arg;
	struct sup_dev *d = be_sup_find(s, domid, devid);

	s->look |= !d || !d->worker.pid ||
		   be_guard_waits(s->guards, domid, devid);
	if (d)
		d->changed = true;
	return 0;
}

static void wait_vifs(unsigned int domid, void *arg)
{
	struct sup *s = arg;
	struct sup_dev *d;

	for (d = s->devs; d; d = d->next)
		if (d->domid == domid && d->net.on && d->net.want.vif != BE_NO_VIF) {
			d->net.followed = false;
			s->look = true;
		}
}

static void wait_changed(struct sup *s)
{
	int rc = s->all->ops->changed(s->all, wait_below, wait_vifs, s);

	if (rc < 0) {
		be_log(NULL, BE_ERR, "%s: %s", s->all->name, strerror(-rc));
		s->failed = true;
	}
	s->look |= rc > 0;
}

static int wait_timeout(const struct sup *s)
{
	uint64_t now = vl_now_ns();

	if (!s->wake_ns)
		return -1;
	return s->wake_ns <= now ? 0 :
	       (int)((s->wake_ns - now) / VL_MSEC_NS) + 1;
}

void be_sup_timers(struct sup *s)
{
	const struct sup_dev *d;

	for (d = s->devs; d; d = d->next)
		if (d->worker.pid && (d->worker.pidfd < 0 || d->ended))
			be_sup_timer(s, vl_now_ns() + WAIT_LOST_MS * VL_MSEC_NS);
}

static void wait_event(struct sup *s, void *what)
{
	s->look |= what != s->all;
	if (what == s->all)
		wait_changed(s);
	else if (what == &s->sig_fd)
		wait_signals(s);
	else if (what != &s->job)
		((struct sup_dev *)what)->ended = true;
}

int be_sup_wait(struct sup *s)
{
	struct epoll_event e[WAIT_EVENTS];
	int i, n = epoll_wait(s->epoll_fd, e, WAIT_EVENTS, wait_timeout(s));

	if (n < 0 && errno != EINTR)
		return -errno;
	s->look = n <= 0;
	for (i = 0; i < n; i++)
		wait_event(s, e[i].data.ptr);
	if (s->look)
		s->wake_ns = 0;
	return 0;
}

static int signal_fd(void)
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

int be_sup_wait_open(struct sup *s)
{
	s->sig_fd = signal_fd();
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->sig_fd < 0 || s->epoll_fd < 0)
		return -errno;
	return listen_to(s, s->sig_fd, &s->sig_fd);
}

int be_sup_listen_devices(struct sup *s)
{
	return listen_to(s, s->all->ops->fd(s->all), s->all);
}

void be_sup_wait_close(struct sup *s)
{
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
	if (s->sig_fd >= 0)
		close(s->sig_fd);
}
