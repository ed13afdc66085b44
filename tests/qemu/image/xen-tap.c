// SPDX-License-Identifier: GPL-2.0
// Copyright (C) 2026 The vhca authors
/*
 * The test network of guests on a Xen without xenstore, where there are no network
 * devices of Xen: an Ethernet device of two ends, over pages that the guest grants.
 *
 *	xen-tap guest BACKEND-DOMID INTERFACE	in the guest, first of all programs
 *	xen-tap host GUEST-DOMID INTERFACE	where its other end shall be
 *
 * The first page has the references of the others and an event channel. The host finds it
 * among the references that a guest's kernel gives away first. Frames for which there is
 * no room are lost, as on any network. Both trust each other.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <xenevtchn.h>
#include <xengnttab.h>

#define MAGIC		0x20706174	/* "tap " */
#define PAGES		33		/* the first, and 16 for each direction */
#define SPACE		(16 * 4096u)
#define FRAME		2048u		/* longest, with its length */
#define FIRST_REF	8
#define LAST_REF	64

struct way {
	uint32_t prod, cons;		/* octets, running freely */
};

struct head {
	uint32_t magic, port, ref[PAGES];
	struct way way[2];		/* to the host, to the guest */
};

struct tap {
	struct head *head;
	char *space[2];
	xenevtchn_handle *evt;
	int port, fd;
};

static int fail(const char *what)
{
	perror(what);
	return 1;
}

static int tap_open(const char *name)
{
	struct ifreq r = { .ifr_flags = IFF_TAP | IFF_NO_PI };
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK);

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", name);
	return fd < 0 || ioctl(fd, TUNSETIFF, &r) ? -1 : fd;
}

/* Copies into, or from, a space that has no end. */
static void copy(char *space, uint32_t at, char *buf, uint32_t n, int in)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		char *s = &space[(at + i) % SPACE];

		if (in)
			*s = buf[i];
		else
			buf[i] = *s;
	}
}

/* A frame from the interface to the other end. */
static void send_frame(struct tap *t, int which, char *buf, uint32_t n)
{
	struct way *w = &t->head->way[which];
	uint32_t prod = w->prod;
	uint32_t used = prod - __atomic_load_n(&w->cons, __ATOMIC_ACQUIRE);

	if (used + n + sizeof(n) > SPACE)
		return;
	copy(t->space[which], prod, (char *)&n, sizeof(n), 1);
	copy(t->space[which], prod + sizeof(n), buf, n, 1);
	__atomic_store_n(&w->prod, prod + sizeof(n) + n, __ATOMIC_RELEASE);
	xenevtchn_notify(t->evt, t->port);
}

/* All frames of the other end to the interface. */
static void receive(struct tap *t, int which)
{
	struct way *w = &t->head->way[which];
	uint32_t n, cons = w->cons;
	char buf[FRAME];

	while (cons != __atomic_load_n(&w->prod, __ATOMIC_ACQUIRE)) {
		copy(t->space[which], cons, (char *)&n, sizeof(n), 0);
		if (n > sizeof(buf)) {
			fputs("xen-tap: a frame that is too long\n", stderr);
			exit(1);
		}
		copy(t->space[which], cons + sizeof(n), buf, n, 0);
		cons += sizeof(n) + n;
		__atomic_store_n(&w->cons, cons, __ATOMIC_RELEASE);
		if (write(t->fd, buf, n) < 0)
			continue;	/* it is not up yet: lost */
	}
}

static int serve(struct tap *t, int out)
{
	struct pollfd p[2] = {
		{ .fd = t->fd, .events = POLLIN },
		{ .fd = xenevtchn_fd(t->evt), .events = POLLIN },
	};
	char buf[FRAME];
	ssize_t n;
	int port;

	while (poll(p, 2, 1000) >= 0) {
		if (p[1].revents) {
			port = xenevtchn_pending(t->evt);
			if (port >= 0)
				xenevtchn_unmask(t->evt, port);
		}
		receive(t, !out);
		while ((n = read(t->fd, buf, sizeof(buf))) > 0)
			send_frame(t, out, buf, n);
	}
	return fail("poll");
}

static int guest(struct tap *t, uint32_t domid)
{
	xengntshr_handle *s = xengntshr_open(NULL, 0);
	uint32_t ref[PAGES];
	char *mem;

	t->evt = xenevtchn_open(NULL, 0);
	if (!s || !t->evt)
		return fail("xen-tap: gntalloc, evtchn");
	mem = xengntshr_share_pages(s, domid, PAGES, ref, 1);
	t->port = xenevtchn_bind_unbound_port(t->evt, domid);
	if (!mem || t->port < 0)
		return fail("xen-tap: no pages, or no event channel");
	t->head = (struct head *)mem;
	memcpy(t->head->ref, ref, sizeof(ref));
	t->head->port = t->port;
	t->space[0] = mem + 4096;
	t->space[1] = t->space[0] + SPACE;
	__atomic_store_n(&t->head->magic, MAGIC, __ATOMIC_RELEASE);
	return serve(t, 0);
}

/* The first page, wherever it is; NULL: not yet. */
static struct head *find(xengnttab_handle *g, uint32_t domid)
{
	uint32_t ref;

	for (ref = FIRST_REF; ref <= LAST_REF; ref++) {
		struct head *h = xengnttab_map_grant_ref(g, domid, ref, 3);

		if (!h)
			continue;
		if (__atomic_load_n(&h->magic, __ATOMIC_ACQUIRE) == MAGIC &&
		    h->ref[0] == ref)
			return h;
		xengnttab_unmap(g, h, 1);
	}
	return NULL;
}

static int host(struct tap *t, uint32_t domid)
{
	xengnttab_handle *g = xengnttab_open(NULL, 0);
	char *mem;

	t->evt = xenevtchn_open(NULL, 0);
	if (!g || !t->evt)
		return fail("xen-tap: gntdev, evtchn");
	while (!(t->head = find(g, domid)))
		usleep(500000);
	mem = xengnttab_map_domain_grant_refs(g, PAGES - 1, domid,
					      t->head->ref + 1, 3);
	t->port = xenevtchn_bind_interdomain(t->evt, domid, t->head->port);
	if (!mem || t->port < 0)
		return fail("xen-tap: the guest's pages, or its event channel");
	t->space[0] = mem;
	t->space[1] = mem + SPACE;
	return serve(t, 1);
}

int main(int argc, char **argv)
{
	struct tap t = { 0 };

	if (argc != 4) {
		fputs("usage: xen-tap guest|host DOMID INTERFACE\n", stderr);
		return 2;
	}
	t.fd = tap_open(argv[3]);
	if (t.fd < 0)
		return fail("xen-tap: no TAP device");
	return argv[1][0] == 'g' ? guest(&t, atoi(argv[2])) : host(&t, atoi(argv[2]));
}
