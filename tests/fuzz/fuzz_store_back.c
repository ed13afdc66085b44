// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The store of a worker without xenstore, whose peer is a page that a guest writes to at
 * any time: the input is what the guest does, what the operator does and when the worker
 * looks. What the store and the worker's readers let pass is in its range; a page that is
 * none of ours is never written to, and one page at most is mapped.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/inotify.h>

#include "promise.h"
#include "core/be.h"
#include "carrier/gntdev.h"
#include "carrier/open_files.h"
#include "host/tree.h"
#include "vhca-keys.h"
#include "worker/conf.h"
#include "tests/unit/test_store_page.h"

#define FLIPS		8	/* one read in so many, at most */
#define WORDS		(XENVHCA_PAGE_SIZE / 4)

static struct input in;
static bool flips;

/* The guest writes after what was read. */
static void peer(const void *read)
{
	size_t at = (size_t)((const char *)read - (const char *)&guest) / 4;

	if (flips && at < WORDS && in.left && !(in_u8(&in) % FLIPS))
		((uint32_t *)&guest)[at] = in_u32(&in);
}

#define __atomic_load_n(p, order)					\
({									\
	__typeof__(*(p)) __v = *(p);					\
	peer(p);							\
	__v;								\
})

/* ---- our own half: files that are not on a disk ---- */
static unsigned int own_state_file, online;

static int tree_read(const char *dir, const char *node, char *value, size_t size)
{
	(void)dir;
	if (strcmp(node, XENVHCA_NODE_HCA))
		return -ENOENT;
	snprintf(value, size, "rxe0");
	return 0;
}

static unsigned int tree_number(const char *dir, const char *node, unsigned int min,
				unsigned int max, unsigned int none)
{
	unsigned int v = 0;

	(void)dir;
	if (!strcmp(node, HOST_TREE_NODE_REF))
		v = granted_ref;
	else if (!strcmp(node, HOST_TREE_NODE_STATE))
		v = own_state_file;
	else if (!strcmp(node, HOST_TREE_NODE_ONLINE))
		v = online;
	return v < min || v > max ? none : v;
}

static int tree_write(const char *dir, const char *node, const char *value)
{
	(void)dir;
	if (!own_state_file)
		return -ENOENT;
	if (!strcmp(node, HOST_TREE_NODE_STATE))
		own_state_file = (unsigned int)atoi(value);
	if (!strcmp(node, HOST_TREE_NODE_FRONT))
		PROMISE(atoi(value) >= 0 && atoi(value) <= XenbusStateClosed);
	return 0;
}

const char *be_files_root(void)
{
	return "/";
}

#define host_tree_read(dir, node, value, size) tree_read(dir, node, value, size)
#define host_tree_number(dir, node, min, max, none) tree_number(dir, node, min, max, none)
#define host_tree_write(dir, node, value) tree_write(dir, node, value)
#define inotify_add_watch(fd, path, mask) ((void)(path), 0)
#include "carrier/store_page.c"
#undef __atomic_load_n

/* ---- what happens ---- */
static struct be_dev dev;
static struct be_store *l;

static void offers(void)
{
	guest.front_layout = XENVHCA_STORE_LAYOUT;
	guest.front_port = PORT;
	guest.front_magic = XENVHCA_STORE_MAGIC;
	granted = true;
}

static void guest_writes(void)
{
	size_t at = in_u16(&in) % (in_u8(&in) % 2 ? WORDS : 64);

	((uint32_t *)&guest)[at] = in_u8(&in) % 2 ? in_u32(&in) : in_u8(&in) % 32;
}

static void guest_notifies(void)
{
	uint64_t one = 1;

	if (event_fd >= 0)
		PROMISE(write(event_fd, &one, sizeof(one)) == sizeof(one));
}

/* A look for a page, which the clock would make once a second. */
static void looks(void)
{
	struct xenvhca_store_page was = guest;
	bool had = to_page(l)->page, flipped = flips;

	flips = flips && had;
	l->ops->find(l);
	flips = flipped;
	if (!to_page(l)->page)
		PROMISE(!mapped && event_fd < 0);
	if (!had && was.front_magic != XENVHCA_STORE_MAGIC)
		PROMISE(!to_page(l)->page && !memcmp(&was, &guest, sizeof(was)));
}

static void worker_connects(void)
{
	struct be_ring_params p;
	unsigned int i;

	dev.fault = false;
	if (be_conf_frontend(&dev, l, &p)) {
		PROMISE(dev.fault && dev.fault_reason[0]);
		return;
	}
	PROMISE(p.ring_order <= XENVHCA_MAX_RING_ORDER && p.evt_ref && p.kick_ref);
	for (i = 0; i < 1u << p.ring_order; i++)
		PROMISE(p.ring_ref[i]);
	PROMISE(p.cmd_port && p.cmd_port <= PORT_MAX && p.evt_port &&
		p.evt_port <= PORT_MAX && p.kick_port && p.kick_port <= PORT_MAX);
}

/* What fits into the buffer, and ends. */
static void worker_reads(void)
{
	char node[32] = "", value[XENVHCA_STORE_SETUP] = "";
	size_t size = in_u8(&in) % 2 ? sizeof(value) : in_u8(&in);

	in_bytes(&in, node, 12);
	if (!l->ops->read(l, BE_PEER, in_u8(&in) % 4 ? XENVHCA_NODE_SETUP : node,
			  value, size))
		PROMISE(strlen(value) && strlen(value) < size);
}

/* A setup as a guest writes it, but for a number or two. */
static void guest_offers(void)
{
	char *text = (char *)guest.front_setup;
	size_t len = (size_t)snprintf(text, XENVHCA_STORE_SETUP, "1 %u", l->offer);
	unsigned int n = in_u8(&in) % 23;

	for (; n; n--)
		len += (size_t)snprintf(text + len, XENVHCA_STORE_SETUP - len, " %u",
					in_u8(&in) % 8 ? in_u8(&in) : in_u32(&in));
}

static void worker_state(void)
{
	enum xenbus_state to = (enum xenbus_state)(in_u8(&in) % 8);
	enum xenbus_state was = l->own;
	int rc;

	PROMISE(l->ops->state(l, BE_PEER) <= XenbusStateClosed);
	PROMISE(l->ops->state(l, BE_OWN) <= XenbusStateClosed);
	PROMISE(!be_conf_offer(l));
	rc = l->ops->set_state(l, to);
	PROMISE(l->own == (rc ? was : to));
	if (!rc && to_page(l)->page)
		PROMISE(guest.back_state == to);
}

/* Closing, or the device is taken away; or it is there again. */
static void operator(void)
{
	own_state_file = in_u8(&in) % 8;
	online = in_u8(&in) % 2;
}

static void one(void)
{
	switch (in_u8(&in) % 13) {
	case 0: case 1: guest_writes(); break;
	case 2: offers(); break;
	case 3: guest.front_magic = 0; break;
	case 4: granted = in_u8(&in) % 2; break;
	case 5: guest_notifies(); break;
	case 6: PROMISE(l->ops->changed(l) >= 0); break;
	case 7: looks(); break;
	case 8: worker_connects(); break;
	case 9: worker_reads(); break;
	case 10: worker_state(); break;
	case 11: guest_offers(); break;
	default: operator(); break;
	}
	PROMISE(mapped <= 1 && (!mapped || event_fd >= 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned int steps;

	be_log_level = BE_ERR;
	in = (struct input){ data, size };
	memset(&guest, 0, sizeof(guest));
	granted = mapped_at_unbind = false;
	maps = mapped = notices = unmasks = slept = 0;
	granted_ref = 2;
	own_state_file = 1 + in_u8(&in) % XenbusStateClosed;
	online = 1;
	flips = false;
	PROMISE(!be_dev_init(&dev, 5, 0));
	dev.log_bucket.rate = 1;
	dev.log_bucket.last_ns = UINT64_MAX / 2;
	if (in_u8(&in) % 2)
		offers();
	l = be_store_page(&dev, 5, 0);
	PROMISE(l && l->ops->watch(l) > 0);
	flips = in_u8(&in) % 2;
	for (steps = 0; in.left && steps < 256; steps++)
		one();
	flips = false;
	l->ops->close(l);
	PROMISE(!mapped && event_fd < 0 && !mapped_at_unbind);
	/* No time goes by here, so what is not waited for is owed. */
	PROMISE(slept <= unmasks * unmasks * (1000000 / NOTICES_RATE));
	be_dev_fini(&dev);
	return 0;
}
