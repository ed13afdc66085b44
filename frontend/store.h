/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * How a device finds its backend, and how both ends exchange nodes and states of
 * xenbus: over xenstore with a toolstack (store_xenbus.c), over a page without
 * (store_page.c). Everything read here is the backend's: nodes.c and front.c check it.
 * Ops may sleep, and run in one context at a time, except theirs().
 */
#ifndef VHCA_STORE_H
#define VHCA_STORE_H

#include <linux/device.h>
#include <linux/types.h>
#include <xen/interface/io/xenbus.h>
#include <xen/interface/xen.h>

struct vhca_store;

struct vhca_node {
	char name[24];
	char value[256];	/* of setup: 23 numbers of at most 10 digits */
};

struct vhca_store_ops {
	/* Text of a node of the backend's, for kfree(), or ERR_PTR(). */
	char *(*read)(struct vhca_store *l, const char *node);
	/* Own nodes, all at once. 0 or -errno: then none. */
	int (*write)(struct vhca_store *l, const struct vhca_node *node,
		     unsigned int nr);
	/* 0: the backend cannot read this own node any more. */
	int (*remove)(struct vhca_store *l, const char *node);
	/* Why the device is broken, where an operator finds it. */
	void (*broken)(struct vhca_store *l, const char *reason);
	/* State of the backend; XenbusStateUnknown if there is none. */
	enum xenbus_state (*theirs)(struct vhca_store *l);
	enum xenbus_state (*mine)(struct vhca_store *l);
	int (*enter)(struct vhca_store *l, enum xenbus_state state);
	/*
	 * Does the device have a backend? If not, the store has it removed or
	 * made anew.
	 */
	bool (*found)(struct vhca_store *l);
	/* Frees the store. May be NULL. */
	void (*free)(struct vhca_store *l);
};

struct vhca_store {
	const struct vhca_store_ops *ops;
	struct device *dev;		/* for logs */
	struct device *parent;		/* of the RDMA device, which may outlive dev's place */
	domid_t backend;
	int number;			/* of the device in the configuration */
};

/* ---- store_xenbus.c ---- */
int vhca_xenbus_init(void);
void vhca_xenbus_exit(void);

/* ---- store_page.c ---- */
int vhca_page_init(void);
void vhca_page_exit(void);

#endif
