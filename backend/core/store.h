/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * How a worker finds its device, and how both ends report their states: the
 * device's configuration, the states of xenbus, the frontend's offer. With a
 * toolstack that is xenstore (carrier/store_xenstore.c), without one files and a page
 * of the guest (carrier/store_page.c). The command thread calls this. Our own side is the
 * toolstack's: it is trusted but may hold mistakes. The peer's side is hostile.
 */
#ifndef BE_STORE_H
#define BE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <xen/io/xenbus.h>

struct be_dev;
struct be_store;

enum be_side { BE_OWN, BE_PEER };

/* What may have changed: our own state, the peer's; or the guest's life has ended. */
enum { BE_NEWS_OWN = 1, BE_NEWS_PEER = 2, BE_NEWS_END = 4 };

struct be_store_ops {
	/* Finds the peer; 0 or -errno, be_fault() said why. Nothing of the peer's
	 * side is there before. */
	int (*find)(struct be_store *l);
	/* Value of a node as text. 0; -ENOENT: absent (between find and watch an
	 * own node may be taken as find saw it); -EINVAL: control characters;
	 * -E2BIG; another -errno. */
	int (*read)(struct be_store *l, enum be_side side, const char *node,
		    char *value, size_t size);
	/* Write an own node; NULL removes it. 0; -ENOENT: the own side is gone. */
	int (*write)(struct be_store *l, const char *node, const char *value);
	/* An own node for the peer, which is written with our next state; node is a
	 * constant. 0 or -errno. */
	int (*offer)(struct be_store *l, const char *node, const char *value);
	/* XenbusStateUnknown if there is none. */
	enum xenbus_state (*state)(struct be_store *l, enum be_side side);
	/* 0; -ENOENT: the own side is gone; -EPERM: not after the last one. */
	int (*set_state)(struct be_store *l, enum xenbus_state to);
	/* Does the guest live, as far as this domain can know? */
	bool (*alive)(struct be_store *l);
	/* From now on fd is readable after a change. 0 or -errno. The first changes
	 * are told at once, or by what it returns, BE_NEWS_*. */
	int (*watch)(struct be_store *l);
	int (*fd)(struct be_store *l);
	/* Take what fd tells, bounded. BE_NEWS_* of what changed, 0: nothing,
	 * -errno: the store is lost. */
	int (*changed)(struct be_store *l);
	void (*close)(struct be_store *l);
};

struct be_store {
	const struct be_store_ops *ops;
	enum xenbus_state own;		/* as last written, or seen to be Closing */
	uint32_t offer;			/* names the connection: conf.c */
	const char *name[2];		/* of each side, for messages */
	bool no_agent;			/* nobody maps doorbell pages for us */
};

/*
 * Opens the store of a device, for a worker; dev is for logs. Returns the store, its
 * own state read; or NULL, with the reason logged.
 */
typedef struct be_store *be_store_open_fn(struct be_dev *dev, unsigned int domid,
					unsigned int devid);

#endif
