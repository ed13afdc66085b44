// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * hostile-backend DOMID MODE [SECONDS]: makes device vhca 0 of a guest and acts
 * as its backend, which lies in one way (lies.c). Runs in the backend's domain
 * while no xen-vhcad does. What the guest's kernel makes of it is for the
 * caller to judge; the program prints how far the frontend came and what it
 * wrote to its node broken.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "kern.h"

#define LONG_MS 15000u
#define LATE_MS 2000u
#define QUIET_MS 20

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

/* Directories with the owner's and the reader's permissions. */
static void make_dir(const char *path, unsigned int owner, unsigned int reader)
{
	struct xs_permissions p[2] = {
		{ .id = owner, .perms = XS_PERM_NONE },
		{ .id = reader, .perms = XS_PERM_READ },
	};

	if (!xs_mkdir(xs, XBT_NULL, path) ||
	    !xs_set_permissions(xs, XBT_NULL, path, p, 2))
		die("%s: %s", path, strerror(errno));
}

static void make_device(struct peer *b)
{
	snprintf(b->front, sizeof(b->front),
		 "/local/domain/%u/device/vhca/0", b->domid);
	snprintf(b->back, sizeof(b->back),
		 "/local/domain/0/backend/vhca/%u/0", b->domid);
	xs_rm(xs, XBT_NULL, b->front);
	xs_rm(xs, XBT_NULL, b->back);
	make_dir(b->back, 0, b->domid);
	store_put(b->back, "frontend", "%s", b->front);
	store_put(b->back, "frontend-id", "%u", b->domid);
	store_put(b->back, "online", "1");
	store_put(b->back, "state", "%d", XenbusStateInitialising);
	make_dir(b->front, b->domid, 0);
	store_put(b->front, "backend", "%s", b->back);
	store_put(b->front, "backend-id", "0");
	if (b->kernel)
		kern_begin(b);
	store_put(b->front, "state", "%d", XenbusStateInitialising);
}

/* The numbers of the frontend's setup behind version and offer. How many there are. */
static uint32_t front_numbers(const struct peer *b, uint32_t *v, uint32_t most)
{
	const char *s = store_get(b->front, XENVHCA_NODE_SETUP);
	uint32_t n;
	char *end;

	for (n = 0; n < most + 2; n++, s = end) {
		unsigned long word = strtoul(s, &end, 10);

		if (end == s)
			break;
		if (n >= 2)
			v[n - 2] = (uint32_t)word;
	}
	return n < 2 ? 0 : n - 2;
}

static void *map(struct peer *b, uint32_t *ref, uint32_t n)
{
	void *p = xengnttab_map_domain_grant_refs(b->gnt, n, b->domid, ref,
						  PROT_READ | PROT_WRITE);

	if (!p)
		die("cannot map %u pages of the frontend: %s", n,
		    strerror(errno));
	return p;
}

/* Of setup: event channels, references of the event page, the kick page, the ring. */
static void map_rings(struct peer *b)
{
	uint32_t v[PORTS + 2 + RING_PAGES] = {}, i;
	uint32_t n = front_numbers(b, v, PORTS + 2 + RING_PAGES);
	int p;

	if (n <= PORTS + 2)
		die("the frontend's setup has %u numbers", n);
	b->pages = n - PORTS - 2;
	b->sring = map(b, v + PORTS + 2, b->pages);
	BACK_RING_INIT(&b->ring, b->sring, b->pages * PAGE);
	b->evt = map(b, v + PORTS, 1);
	b->kick = map(b, v + PORTS + 1, 1);
	for (i = 0; i < PORTS; i++) {
		p = xenevtchn_bind_interdomain(b->ev, b->domid, v[i]);
		if (p < 0)
			die("event channel: %s", strerror(errno));
		b->port[i] = (evtchn_port_t)p;
	}
}

static void serve(struct peer *b)
{
	struct xenvhca_request req;
	uint32_t prod = b->sring->req_prod;

	xen_rmb();
	while (b->ring.req_cons != prod && !stop && !b->gone) {
		RING_COPY_REQUEST(&b->ring, b->ring.req_cons, &req);
		b->ring.req_cons++;
		b->served++;
		if (b->flood && req.op == XENVHCA_OP_QUERY_PORT)
			b->asked++;
		lie_request(b, &req);
	}
	b->sring->req_event = b->ring.req_cons + 1;
}

static bool over(const struct peer *b)
{
	enum xenbus_state s = store_state(b->front);

	return stop || b->gone || s == XenbusStateClosing ||
	       s == XenbusStateClosed || s == XenbusStateUnknown;
}

/* How long to wait for a request, ms. Nobody else runs on a slow host if we look often. */
static int quiet_ms(const struct peer *b)
{
	if (b->busy)
		return 0;
	return lie_has_idle(b) || b->kernel ? 1 : QUIET_MS;
}

static void run(struct peer *b, unsigned int seconds)
{
	time_t end = time(NULL) + seconds;
	unsigned int n = 0;

	while (time(NULL) < end) {
		port_clear(b->ev);
		serve(b);
		if (b->kernel)
			kern_idle(b);
		lie_idle(b);
		if (n++ % (lie_has_idle(b) ? 50 : 5) == 0 && over(b))
			break;
		port_wait(b->ev, quiet_ms(b));
	}
}

/* Goes to Closed without Closing, as a backend that died, and tidies up. */
static void finish(struct peer *b)
{
	unsigned int t;

	say("     served %u commands, frontend state %d, broken: %s", b->served,
	    store_state(b->front), store_get(b->front, XENVHCA_NODE_BROKEN));
	if (b->flood)
		say("     flood of %u, asked %u times for the port", b->flood,
		    b->asked);
	if (b->detached)
		say("     detached after %lld s",
		    (long long)(time(NULL) - b->detached));
	if (b->kernel) {
		say("     %u lies", b->told);
		kern_let_go(b);
	}
	store_put(b->back, "online", "0");
	store_put(b->back, "state", "%d", XenbusStateClosed);
	for (t = 0; t < LONG_MS; t += 50) {
		if (store_state(b->front) == XenbusStateClosed ||
		    store_state(b->front) == XenbusStateInitialising)
			break;
		pause_ms(50);
	}
	if (t >= LONG_MS)
		bad("the frontend stays in state %d", store_state(b->front));
	if (b->sring) {
		xengnttab_unmap(b->gnt, b->sring, b->pages);
		xengnttab_unmap(b->gnt, b->evt, 1);
		xengnttab_unmap(b->gnt, b->kick, 1);
	}
	if (b->kernel)
		kern_end(b);
	xs_rm(xs, XBT_NULL, b->front);
	xs_rm(xs, XBT_NULL, b->back);
}

static void meet(struct peer *b, unsigned int seconds)
{
	if (lie_stage(b, STAGE_BEGIN))
		return;
	if (!b->late)
		store_put(b->back, XENVHCA_NODE_VERSIONS, "%s", b->versions);
	store_put(b->back, XENVHCA_NODE_SETUP, "%s 7", b->order);
	store_put(b->back, "state", "%d", XenbusStateInitWait);
	if (b->late) {
		pause_ms(LATE_MS);
		store_put(b->back, XENVHCA_NODE_VERSIONS, "%s", b->versions);
	}
	if (lie_stage(b, STAGE_INITWAIT))
		return;
	if (!store_wait(b->front, XenbusStateInitialised,
			b->refused ? 2000 : LONG_MS)) {
		if (!b->refused)
			bad("the frontend does not come to Initialised, but to %d",
			    store_state(b->front));
		return;
	}
	if (b->refused)
		bad("the frontend accepted what it should refuse");
	map_rings(b);
	if (lie_stage(b, STAGE_INITIALISED))
		return;
	store_put(b->back, "state", "%d", XenbusStateConnected);
	if (lie_stage(b, STAGE_CONNECTED))
		return;
	run(b, seconds);
}

int main(int argc, char **argv)
{
	struct peer b = { .versions = XENVHCA_PROTOCOL_VERSION, .order = "4" };

	if (argc < 3 || !lie_choose(&b, argv[2])) {
		printf("usage: hostile-backend DOMID MODE [SECONDS]; modes:");
		lie_list();
		return 2;
	}
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	b.domid = (uint32_t)strtoul(argv[1], NULL, 10);
	store_open();
	b.gnt = xengnttab_open(NULL, 0);
	b.ev = xenevtchn_open(NULL, 0);
	if (!b.gnt || !b.ev)
		die("cannot open gntdev or evtchn: %s", strerror(errno));
	make_device(&b);
	meet(&b, argc > 3 ? (unsigned int)strtoul(argv[3], NULL, 10) : 10);
	finish(&b);
	return nr_bad ? 1 : 0;
}
