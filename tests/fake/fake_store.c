// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The store of a whole worker, to a frontend that is not there.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/be.h"
#include "host/xenbus.h"
#include "core/store.h"
#include "tests/fake/fake_store.h"
#include "tests/fake/ring_loop.h"
#include "vhca-keys.h"

static struct be_store it;
static enum xenbus_state peer = XenbusStateInitialising;
static int store_fd = -1;
static bool connected, offered, waits, gone;
static uint32_t rings;

static void told(void)
{
	uint64_t one = 1;

	if (write(store_fd, &one, sizeof(one)) != sizeof(one))
		abort();
}

static int store_find(struct be_store *l)
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

static int store_read(struct be_store *l, enum be_side side, const char *node,
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

static int store_write(struct be_store *l, const char *node, const char *value)
{
	(void)l;
	(void)node;
	(void)value;
	return 0;
}

static enum xenbus_state store_state(struct be_store *l, enum be_side side)
{
	return side == BE_OWN ? l->own : __atomic_load_n(&peer, __ATOMIC_SEQ_CST);
}

static int store_set_state(struct be_store *l, enum xenbus_state to)
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

static bool store_alive(struct be_store *l)
{
	(void)l;
	return !__atomic_load_n(&gone, __ATOMIC_SEQ_CST);
}

static int store_fileno(struct be_store *l)
{
	(void)l;
	return store_fd;
}

static int store_changed(struct be_store *l)
{
	uint64_t n;

	(void)l;
	return read(store_fd, &n, sizeof(n)) == sizeof(n) ?
	       BE_NEWS_OWN | BE_NEWS_PEER : 0;
}

static int store_watch(struct be_store *l)
{
	(void)l;
	return BE_NEWS_OWN | BE_NEWS_PEER;
}

static void store_close(struct be_store *l)
{
	(void)l;
}

static const struct be_store_ops store_ops = {
	.find = store_find, .read = store_read, .write = store_write,
	.offer = store_write,
	.state = store_state, .set_state = store_set_state, .alive = store_alive,
	.watch = store_watch, .fd = store_fileno, .changed = store_changed,
	.close = store_close,
};

struct be_store *fake_store_open(struct be_dev *dev, unsigned int domid,
			       unsigned int devid)
{
	(void)dev;
	(void)domid;
	(void)devid;
	it = (struct be_store){ .ops = &store_ops, .own = XenbusStateInitialising,
				  .name = { "own", "peer" } };
	return &it;
}

int fake_store_install(void)
{
	store_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return store_fd < 0 ? -1 : 0;
}

void fake_store_remove(void)
{
	close(store_fd);
	store_fd = -1;
}

void fake_store_begin(uint32_t page)
{
	rings = page;
	peer = XenbusStateInitialising;
	connected = offered = waits = gone = false;
}

void fake_store_waits(void)
{
	waits = true;
}

bool fake_store_offered(void)
{
	return __atomic_load_n(&offered, __ATOMIC_SEQ_CST);
}

void fake_store_gone(void)
{
	__atomic_store_n(&gone, true, __ATOMIC_SEQ_CST);
	__atomic_store_n(&peer, XenbusStateUnknown, __ATOMIC_SEQ_CST);
	told();
}

bool fake_store_connected(void)
{
	return __atomic_load_n(&connected, __ATOMIC_SEQ_CST);
}

void fake_store_end(void)
{
	__atomic_store_n(&peer, XenbusStateClosed, __ATOMIC_SEQ_CST);
	told();
}
