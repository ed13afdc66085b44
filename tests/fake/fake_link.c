// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The link of a whole worker, to a frontend that is not there.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/be.h"
#include "host/xenbus.h"
#include "core/link.h"
#include "tests/fake/fake_link.h"
#include "tests/fake/ring_loop.h"

static struct be_link it;
static enum xenbus_state peer = XenbusStateInitialising;
static int link_fd = -1;
static bool connected, offered, waits, gone;
static uint32_t rings;

static void told(void)
{
	uint64_t one = 1;

	if (write(link_fd, &one, sizeof(one)) != sizeof(one))
		abort();
}

static int link_find(struct be_link *l)
{
	(void)l;
	return 0;
}

static int peer_node(const char *node, char *value, size_t size)
{
	unsigned int i;
	size_t len;

	if (strcmp(node, XENVHCA_NODE_SETUP))
		return -ENOENT;
	len = (size_t)snprintf(value, size, "%u %u 1 2 3 %u %u",
			       XENVHCA_PROTOCOL_VERSION_INT, it.offer,
			       LOOP_REF(rings + 16), LOOP_REF(rings + 17));
	for (i = 0; i < 1u << FAKE_LINK_ORDER; i++)
		len += (size_t)snprintf(value + len, size - len, " %u",
					LOOP_REF(rings + i));
	return 0;
}

static int link_read(struct be_link *l, enum be_side side, const char *node,
		     char *value, size_t size)
{
	(void)l;
	if (side == BE_PEER)
		return peer_node(node, value, size);
	if (strcmp(node, XENVHCA_NODE_HCA))
		return -ENOENT;
	snprintf(value, size, "rxe0");
	return 0;
}

static int link_write(struct be_link *l, const char *node, const char *value)
{
	(void)l;
	(void)node;
	(void)value;
	return 0;
}

static enum xenbus_state link_state(struct be_link *l, enum be_side side)
{
	return side == BE_OWN ? l->own : __atomic_load_n(&peer, __ATOMIC_SEQ_CST);
}

static int link_set_state(struct be_link *l, enum xenbus_state to)
{
	l->own = to;
	if (to == XenbusStateInitWait)
		__atomic_store_n(&offered, true, __ATOMIC_SEQ_CST);
	if (to == XenbusStateInitWait && !waits)
		__atomic_store_n(&peer, XenbusStateInitialised,
				 __ATOMIC_SEQ_CST);
	if (to == XenbusStateConnected)
		__atomic_store_n(&connected, true, __ATOMIC_SEQ_CST);
	told();
	return 0;
}

static bool link_alive(struct be_link *l)
{
	(void)l;
	return !__atomic_load_n(&gone, __ATOMIC_SEQ_CST);
}

static int link_fileno(struct be_link *l)
{
	(void)l;
	return link_fd;
}

static int link_changed(struct be_link *l)
{
	uint64_t n;

	(void)l;
	return read(link_fd, &n, sizeof(n)) == sizeof(n) ?
	       BE_NEWS_OWN | BE_NEWS_PEER : 0;
}

static int link_watch(struct be_link *l)
{
	(void)l;
	return BE_NEWS_OWN | BE_NEWS_PEER;
}

static void link_close(struct be_link *l)
{
	(void)l;
}

static const struct be_link_ops link_ops = {
	.find = link_find, .read = link_read, .write = link_write,
	.offer = link_write,
	.state = link_state, .set_state = link_set_state, .alive = link_alive,
	.watch = link_watch, .fd = link_fileno, .changed = link_changed,
	.close = link_close,
};

struct be_link *fake_link_open(struct be_dev *dev, unsigned int domid,
			       unsigned int devid)
{
	(void)dev;
	(void)domid;
	(void)devid;
	it = (struct be_link){ .ops = &link_ops, .own = XenbusStateInitialising,
				  .name = { "own", "peer" } };
	return &it;
}

int fake_link_install(void)
{
	link_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return link_fd < 0 ? -1 : 0;
}

void fake_link_remove(void)
{
	close(link_fd);
	link_fd = -1;
}

void fake_link_begin(uint32_t page)
{
	rings = page;
	peer = XenbusStateInitialising;
	connected = offered = waits = gone = false;
}

void fake_link_waits(void)
{
	waits = true;
}

bool fake_link_offered(void)
{
	return __atomic_load_n(&offered, __ATOMIC_SEQ_CST);
}

void fake_link_gone(void)
{
	__atomic_store_n(&gone, true, __ATOMIC_SEQ_CST);
	__atomic_store_n(&peer, XenbusStateUnknown, __ATOMIC_SEQ_CST);
	told();
}

bool fake_link_connected(void)
{
	return __atomic_load_n(&connected, __ATOMIC_SEQ_CST);
}

void fake_link_end(void)
{
	__atomic_store_n(&peer, XenbusStateClosed, __ATOMIC_SEQ_CST);
	told();
}
