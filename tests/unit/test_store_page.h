/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What is called of Xen by the store of a worker without xenstore, for test_store_page.c:
 * grants and one event channel of one guest. libxenstore's functions fail.
 */
#ifndef TEST_STORE_PAGE_H
#define TEST_STORE_PAGE_H

#include <sys/eventfd.h>
#include <xenevtchn.h>
#include <xenstore.h>

#define PORT	42		/* that the guest allocated for us */
#define NEWS	(BE_NEWS_OWN | BE_NEWS_PEER)	/* that the store has */

/* ---- Xen ---- */
static struct xenvhca_store_page guest;
static bool granted;			/* the guest grants it at... */
static uint32_t granted_ref;
static unsigned int maps, mapped, notices, unmasks, slept;
static int event_fd = -1;		/* of the port; -1: not bound */
static unsigned int state_at_bind;
static bool mapped_at_unbind;

int be_gntdev_open(struct be_gntdev *g, uint32_t domid)
{
	assert_int_equal(domid, 5);
	g->fd = -1;
	return 0;
}

uint64_t be_gntdev_close(struct be_gntdev *g)
{
	(void)g;
	assert_int_equal(mapped, 0);
	return 0;
}

void *be_gntdev_map(struct be_gntdev *g, const uint32_t *ref, uint32_t n,
		    bool readonly, const struct be_place *place)
{
	(void)g;
	assert_int_equal(n, 1);
	assert_null(place);
	assert_false(readonly);
	maps++;
	if (!granted || *ref != granted_ref) {
		errno = EINVAL;
		return NULL;
	}
	mapped++;
	return &guest;
}

int be_gntdev_unmap(struct be_gntdev *g, void *addr, uint32_t n)
{
	(void)g;
	assert_ptr_equal(addr, &guest);
	assert_int_equal(n, 1);
	mapped--;
	return 0;
}

xenevtchn_handle *xenevtchn_open(struct xentoollog_logger *logger, unsigned int flags)
{
	(void)logger;
	(void)flags;
	event_fd = eventfd(0, 0);
	return (xenevtchn_handle *)&event_fd;
}

int xenevtchn_close(xenevtchn_handle *h)
{
	(void)h;
	mapped_at_unbind |= mapped != 0;
	close(event_fd);
	event_fd = -1;
	return 0;
}

int xenevtchn_fd(xenevtchn_handle *h)
{
	(void)h;
	return event_fd;
}

int xenevtchn_restrict(xenevtchn_handle *h, domid_t domid)
{
	(void)h;
	assert_int_equal(domid, 5);
	return 0;
}

xenevtchn_port_or_error_t xenevtchn_bind_interdomain(xenevtchn_handle *h,
						     uint32_t domid,
						     evtchn_port_t remote)
{
	(void)h;
	(void)domid;
	state_at_bind = guest.back_state;
	if (remote == PORT)
		return 3;
	errno = EINVAL;
	return -1;
}

int xenevtchn_notify(xenevtchn_handle *h, evtchn_port_t port)
{
	(void)h;
	assert_int_equal(port, 3);
	notices++;
	return 0;
}

xenevtchn_port_or_error_t xenevtchn_pending(xenevtchn_handle *h)
{
	uint64_t n;

	(void)h;
	return read(event_fd, &n, sizeof(n)) == sizeof(n) ? 3 : -1;
}

int xenevtchn_unmask(xenevtchn_handle *h, evtchn_port_t port)
{
	(void)h;
	assert_int_equal(port, 3);
	unmasks++;
	return 0;
}

int usleep(useconds_t us)
{
	slept += us;
	return 0;
}

/* ---- libxenstore ---- */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define NEVER(ret, name, ...) ret name(__VA_ARGS__) { fail_msg(#name); return 0; }
NEVER(struct xs_handle *, xs_open, unsigned long f)
NEVER(void *, xs_read, struct xs_handle *h, xs_transaction_t t, const char *p, unsigned int *l)
NEVER(bool, xs_write, struct xs_handle *h, xs_transaction_t t, const char *p, const void *d,
      unsigned int l)
NEVER(bool, xs_mkdir, struct xs_handle *h, xs_transaction_t t, const char *p)
NEVER(bool, xs_rm, struct xs_handle *h, xs_transaction_t t, const char *p)
NEVER(char **, xs_directory, struct xs_handle *h, xs_transaction_t t, const char *p,
      unsigned int *n)
NEVER(bool, xs_set_permissions, struct xs_handle *h, xs_transaction_t t, const char *p,
      struct xs_permissions *perm, unsigned int n)
NEVER(xs_transaction_t, xs_transaction_start, struct xs_handle *h)
NEVER(bool, xs_transaction_end, struct xs_handle *h, xs_transaction_t t, bool a)
#pragma GCC diagnostic pop

#endif
