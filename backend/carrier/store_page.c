// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The store of a device without xenstore (store.h): our side is a directory of files
 * (host/tree.h), the peer's side, and what the peer may know of ours, is a page of
 * the guest (vhcaif.h, "A page in the place of xenstore"). The command thread runs
 * this.
 *
 * The guest writes to the page when and what it likes: each number is read once. It
 * may withdraw the page and offer another one; the page is looked for once a second.
 * The state in the page is ours only while we are there, so the supervisor goes by
 * the file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <xenevtchn.h>
#include "core/be.h"
#include "gntdev.h"
#include "host/tree.h"
#include "open_files.h"
#include "core/transport.h"
#include "xenstore/state.h"

#define LOOK_S			1	/* for a page, while there is none */
#define NOTICES_RATE		100	/* of the guest in a second */
#define PORT_MAX		((1u << 17) - 1)	/* FIFO event channels */
#define PEER_NAME_MAX		64

struct store_page {
	struct be_store l;
	struct be_dev *dev;
	char dir[PATH_MAX];
	char peer[PEER_NAME_MAX];
	uint32_t ref;
	struct be_gntdev gnt;
	struct xenvhca_store_page *page;	/* NULL: the guest offers none */
	struct xenvhca_store_page mine;	/* the back half, for the next page */
	xenevtchn_handle *evt;		/* as long as there is a page */
	int port;
	enum xenbus_state seen;		/* the peer's, as last told */
	struct vl_bucket notices;	/* of the guest, with a change or without */
	bool told;			/* that there is no page */
	int poll_fd, notify_fd, timer_fd;
};

static struct store_page *to_page(struct be_store *l)
{
	return (struct store_page *)l;
}

/* Of the guest's half: once, as it may change at any time. */
static uint32_t load(const uint32_t *at)
{
	return __atomic_load_n(at, __ATOMIC_RELAXED);
}

static void store_text(uint8_t *to, const uint8_t *text)
{
	unsigned int i;

	for (i = 0; i < XENVHCA_STORE_TEXT; i++)
		__atomic_store_n(&to[i], text[i], __ATOMIC_RELAXED);
}

/* ---- the page ---- */

/* Our half; its state last, then the guest hears of it. */
static void show(struct store_page *p, enum xenbus_state state)
{
	struct xenvhca_store_page *page = p->page;

	p->mine.back_state = state;
	if (!page)
		return;
	store_text(page->back_versions, p->mine.back_versions);
	store_text(page->back_setup, p->mine.back_setup);
	xen_wmb();
	__atomic_store_n(&page->back_state, state, __ATOMIC_RELAXED);
	if (p->evt)
		xenevtchn_notify(p->evt, (evtchn_port_t)p->port);
}

/* Unknown, too, of a page that was withdrawn. */
static enum xenbus_state peer_state(const struct store_page *p)
{
	uint32_t state;

	if (!p->page || load(&p->page->front_magic) != XENVHCA_STORE_MAGIC)
		return XenbusStateUnknown;
	state = load(&p->page->front_state);
	xen_rmb();
	return state > XenbusStateClosed ? XenbusStateUnknown :
	       (enum xenbus_state)state;
}

static int epoll_for(const struct store_page *p, int fd)
{
	struct epoll_event e = { .events = EPOLLIN };

	return epoll_ctl(p->poll_fd, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

/* The guest waits for the port, and must find the page unmapped then. */
static void page_leave(struct store_page *p)
{
	if (p->page)
		be_gntdev_unmap(&p->gnt, p->page, 1);
	p->page = NULL;
	if (p->evt)
		xenevtchn_close(p->evt);
	p->evt = NULL;
}

static int port_bind(struct store_page *p, uint32_t remote)
{
	uint32_t domid = (uint32_t)p->dev->domid;

	p->evt = xenevtchn_open(NULL, 0);
	if (!p->evt)
		return -errno;
	/* A look that finds nothing must not wait. */
	if (fcntl(xenevtchn_fd(p->evt), F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	/* Kernels that cannot restrict it serve as well. */
	xenevtchn_restrict(p->evt, (domid_t)domid);
	p->port = xenevtchn_bind_interdomain(p->evt, domid, remote);
	return p->port < 0 ? -errno : epoll_for(p, xenevtchn_fd(p->evt));
}

/* Is it a page that we know? Then *port is the guest's event channel. */
static bool page_known(struct store_page *p, uint32_t *port)
{
	uint32_t layout;

	if (load(&p->page->front_magic) != XENVHCA_STORE_MAGIC)
		return false;
	xen_rmb();
	layout = load(&p->page->front_layout);
	*port = load(&p->page->front_port);
	if (layout == XENVHCA_STORE_LAYOUT && *port && *port <= PORT_MAX)
		return true;
	be_log_peer(p->dev, "%s: layout %u, port %u; this backend knows layout %u",
		    p->peer, layout, *port, XENVHCA_STORE_LAYOUT);
	return false;
}

/* Maps a page if the guest offers one. Is there one now that was not there before? */
static bool page_look(struct store_page *p)
{
	uint32_t port = 0;
	int rc;

	if (p->page)
		return false;
	p->page = be_gntdev_map(&p->gnt, &p->ref, 1, false, NULL);
	if (!p->page) {
		if (!p->told)
			be_log(p->dev, BE_INFO, "%s: no page yet. Has the guest the node of vhca-devicetree and xen-vhcafront, and has Xen xsm=dummy or a policy that lets both domains talk?",
			       p->peer);
		p->told = true;
		return false;
	}
	if (page_known(p, &port)) {
		/* Before the port: an unbound one says that this is not to be believed. */
		show(p, (enum xenbus_state)p->mine.back_state);
		rc = port_bind(p, port);
		if (!rc) {
			xenevtchn_notify(p->evt, (evtchn_port_t)p->port);
			return true;
		}
		be_log_peer(p->dev, "%s: event channel %u: %s", p->peer, port,
			    strerror(-rc));
	}
	page_leave(p);
	return false;
}

/* ---- nodes ---- */

/* Copied once, whatever the guest writes meanwhile; no NUL there: it is too long. */
static int page_setup(const struct xenvhca_store_page *page, char *value,
		      size_t size)
{
	size_t i;

	for (i = 0; i < size && i < XENVHCA_STORE_SETUP; i++) {
		value[i] = (char)__atomic_load_n(&page->front_setup[i],
						 __ATOMIC_RELAXED);
		if (!value[i])
			return i ? 0 : -ENOENT;
	}
	return -E2BIG;
}

static int page_get(struct be_store *l, enum be_side side, const char *node,
		    char *value, size_t size)
{
	struct store_page *p = to_page(l);

	if (side == BE_OWN)
		return host_tree_read(p->dir, node, value, size);
	if (!p->page || strcmp(node, XENVHCA_NODE_SETUP))
		return -ENOENT;
	return page_setup(p->page, value, size);
}

static int page_put(struct be_store *l, const char *node, const char *value)
{
	return host_tree_write(to_page(l)->dir, node, value);
}

static int page_offer(struct be_store *l, const char *node, const char *value)
{
	struct store_page *p = to_page(l);
	uint8_t *to = strcmp(node, XENVHCA_NODE_SETUP) ? p->mine.back_versions :
							 p->mine.back_setup;

	memset(to, 0, XENVHCA_STORE_TEXT);
	return snprintf((char *)to, XENVHCA_STORE_TEXT, "%s", value) <
	       XENVHCA_STORE_TEXT ? 0 : -E2BIG;
}

/* ---- states ---- */

static enum xenbus_state own_state(struct store_page *p)
{
	return (enum xenbus_state)
		host_tree_number(p->dir, HOST_TREE_NODE_STATE,
				 XenbusStateInitialising, XenbusStateClosed,
				 XenbusStateUnknown);
}

static int state_write(const struct store_page *p, const char *node,
		       enum xenbus_state state)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", (unsigned int)state);
	return host_tree_write(p->dir, node, text);
}

/* Closing is the toolstack's wish, which the guest has to see, too. */
static enum xenbus_state page_state(struct be_store *l, enum be_side side)
{
	struct store_page *p = to_page(l);
	enum xenbus_state s;

	if (side == BE_PEER) {
		s = peer_state(p);
		/* For the operator. */
		if (s != p->seen && own_state(p) != XenbusStateUnknown)
			state_write(p, HOST_TREE_NODE_FRONT, s);
		p->seen = s;
		return s;
	}
	s = own_state(p);
	if (s == XenbusStateClosing &&
	    p->mine.back_state == XenbusStateConnected)
		show(p, s);
	return s;
}

static int page_set_state(struct be_store *l, enum xenbus_state to)
{
	struct store_page *p = to_page(l);
	int rc = 0;

	if (l->own != to) {
		if (!xn_state_legal(XN_BACK, l->own, to))
			return -EPERM;
		/* Removed meanwhile: nothing is made anew. */
		if (own_state(p) == XenbusStateUnknown)
			return -ENOENT;
		rc = state_write(p, HOST_TREE_NODE_STATE, to);
	}
	if (!rc) {
		l->own = to;
		show(p, to);
	}
	return rc;
}

/* Nobody can destroy a domain here. */
static bool page_alive(struct be_store *l)
{
	(void)l;
	return true;
}

/* ---- changes ---- */

static int page_find(struct be_store *l)
{
	page_look(to_page(l));
	return 0;
}

static int page_watch(struct be_store *l)
{
	const struct itimerspec each = {
		.it_interval = { .tv_sec = LOOK_S }, .it_value = { .tv_sec = LOOK_S },
	};
	struct store_page *p = to_page(l);

	if (inotify_add_watch(p->notify_fd, p->dir, BE_FILES_CHANGES) < 0 ||
	    timerfd_settime(p->timer_fd, 0, &each, NULL))
		return -errno;
	return BE_NEWS_OWN | BE_NEWS_PEER;
}

static int page_fd(struct be_store *l)
{
	return to_page(l)->poll_fd;
}

/* Takes all that one of our own files has to tell; nothing of it matters. */
static bool drain(int fd)
{
	char raw[4096];
	bool any = false;

	while (read(fd, raw, sizeof(raw)) > 0)
		any = true;
	return any;
}

/* A guest that notifies all day, or changes its state each time, is slowed down. */
static bool port_take(struct store_page *p)
{
	int port = p->evt ? xenevtchn_pending(p->evt) : -1;

	if (port < 0)
		return false;
	vl_bucket_pace(&p->notices);
	xenevtchn_unmask(p->evt, (evtchn_port_t)port);
	return true;
}

static int page_changed(struct be_store *l)
{
	struct store_page *p = to_page(l);
	bool any = drain(p->notify_fd);

	any |= port_take(p);
	if (p->page && load(&p->page->front_magic) != XENVHCA_STORE_MAGIC) {
		page_leave(p);
		any = true;
	}
	if (drain(p->timer_fd))
		any |= page_look(p);
	return any ? BE_NEWS_OWN | BE_NEWS_PEER : 0;
}

/* ---- begin and end ---- */

static void page_end(struct be_store *l)
{
	struct store_page *p = to_page(l);
	const int fd[] = { p->poll_fd, p->notify_fd, p->timer_fd };
	size_t i;

	page_leave(p);
	be_gntdev_close(&p->gnt);
	for (i = 0; i < sizeof(fd) / sizeof(fd[0]); i++)
		if (fd[i] >= 0)
			close(fd[i]);
	free(p);
}

static const struct be_store_ops page_ops = {
	.find = page_find, .read = page_get, .write = page_put,
	.offer = page_offer, .state = page_state, .set_state = page_set_state,
	.alive = page_alive, .watch = page_watch, .fd = page_fd,
	.changed = page_changed, .close = page_end,
};

static int files_open(struct store_page *p)
{
	int rc;

	p->poll_fd = epoll_create1(EPOLL_CLOEXEC);
	p->notify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	p->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (p->poll_fd < 0 || p->notify_fd < 0 || p->timer_fd < 0)
		return -errno;
	rc = epoll_for(p, p->notify_fd);
	return rc ? rc : epoll_for(p, p->timer_fd);
}

/* What an earlier worker showed is not ours: at first we are Closed, or not there yet. */
static void first_state(struct store_page *p)
{
	p->l.own = own_state(p);
	p->mine.back_state = p->l.own == XenbusStateInitialising ?
			     XenbusStateInitialising : XenbusStateClosed;
}

static int page_open(struct store_page *p, unsigned int domid, unsigned int devid)
{
	int rc;

	host_tree_dir(p->dir, be_files_root(), domid, devid);
	p->ref = host_tree_number(p->dir, HOST_TREE_NODE_REF,
				  XENVHCA_STORE_FIRST_REF, XENVHCA_STORE_LAST_REF, 0);
	snprintf(p->peer, sizeof(p->peer), "domain %u, grant reference %u", domid,
		 p->ref);
	if (!p->ref) {
		be_log(p->dev, BE_ERR, "%s/" HOST_TREE_NODE_REF " must be a number %u..%u, that of the guest's device tree",
		       p->dir, XENVHCA_STORE_FIRST_REF, XENVHCA_STORE_LAST_REF);
		return -EINVAL;
	}
	rc = be_gntdev_open(&p->gnt, domid);
	if (rc)
		be_log(p->dev, BE_ERR, "/dev/xen/gntdev: %s; run: modprobe xen-gntdev",
		       strerror(-rc));
	return rc ? rc : files_open(p);
}

struct be_store *be_store_page(struct be_dev *dev, unsigned int domid,
			     unsigned int devid)
{
	struct store_page *p = calloc(1, sizeof(*p));
	int rc;

	if (!p)
		return NULL;
	p->dev = dev;
	p->l.ops = &page_ops;
	p->l.name[BE_OWN] = p->dir;
	p->l.name[BE_PEER] = p->peer;
	p->l.no_agent = true;
	p->notices.rate = NOTICES_RATE;
	p->poll_fd = p->notify_fd = p->timer_fd = -1;
	p->gnt.fd = -1;
	rc = page_open(p, domid, devid);
	if (!rc) {
		first_state(p);
		return &p->l;
	}
	be_log(dev, BE_ERR, "no store: %s", strerror(-rc));
	page_end(&p->l);
	return NULL;
}
