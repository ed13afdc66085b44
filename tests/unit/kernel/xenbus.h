/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Linux's xenbus as the modules see it, of kernel.h: one device; the test is the backend.
 */
#ifndef VHCA_TEST_XENBUS_H
#define VHCA_TEST_XENBUS_H

#include "lists.h"

/* compat.h: does xenbus look at both states of a device? */
static bool kernel_resets __attribute__((unused));
#define VHCA_XENBUS_RESETS	kernel_resets
#ifndef DEFINE_MUTEX
#define DEFINE_MUTEX(m)		struct mutex m
#endif
#ifndef smp_load_acquire
#define smp_load_acquire(p)	(*(p))
#define smp_store_release(p, v)	(*(p) = (v))
#endif

enum xenbus_state {
	XenbusStateUnknown, XenbusStateInitialising, XenbusStateInitWait,
	XenbusStateInitialised, XenbusStateConnected, XenbusStateClosing,
	XenbusStateClosed,
};

struct xenbus_device {
	struct device dev;
	const char *devicetype, *nodename, *otherend;
	domid_t otherend_id;
	enum xenbus_state state;
	void *drvdata;
};

struct xenbus_watch {
	const char *node;
	void (*callback)(struct xenbus_watch *watch, const char *path,
			 const char *token);
};

struct xenbus_device_id { char name[32]; };
struct xenbus_transaction { int unused; };

struct xenbus_driver {
	const struct xenbus_device_id *ids;
	bool not_essential;
	void (*otherend_changed)(struct xenbus_device *dev,
				 enum xenbus_state state);
	int (*probe)(struct xenbus_device *dev,
		     const struct xenbus_device_id *id);
	void (*remove)(struct xenbus_device *dev);
	int (*suspend)(struct xenbus_device *dev);
	struct { void *bus; } driver;
};

static enum xenbus_state backend_state;

#define XBT_NIL			((struct xenbus_transaction){ 0 })
#define xenbus_dev(d)		container_of(d, struct xenbus_device, dev)
#define dev_get_drvdata(d)	(xenbus_dev(d)->drvdata)
#define dev_set_drvdata(d, v)	(xenbus_dev(d)->drvdata = (v))
/* Requests of xenstore that Linux makes for the module. */
static unsigned int __attribute__((unused)) kernel_requests;
/* Value of a node of the backend's; NULL: absent. A test may change it. */
static inline const char *kernel_node_default(const char *node)
{
	if (!strcmp(node, "setup"))
		return "4 4294967295";
	return strcmp(node, XENVHCA_NODE_KERNEL) ? XENVHCA_PROTOCOL_VERSION : NULL;
}
static const char *(*kernel_node)(const char *node) = kernel_node_default;
static inline void *kernel_xenbus_read(const char *node)
{
	const char *value = kernel_node(node);

	kernel_requests++;
	return value ? strdup(value) : (void *)(long)-ENOENT;
}
#define xenbus_read(xbt, dir, node, len) kernel_xenbus_read(node)
#ifndef DOMID_FIRST_RESERVED
#define DOMID_FIRST_RESERVED	0x7ff0u
#endif
static inline unsigned int kernel_xenbus_number(const char *node, unsigned int number)
{
	const char *value = kernel_node(node);

	kernel_requests++;
	return value ? (unsigned int)strtoul(value, NULL, 10) : number;
}
#define xenbus_read_unsigned(dir, node, number) kernel_xenbus_number(node, number)
#define xenbus_read_driver_state(dev, path) (kernel_requests++, backend_state)
/* The last value that was written to a node of this name; how many writes. */
static char kernel_written[256];
static const char *kernel_watched = "setup";
static unsigned int kernel_writes __attribute__((unused));
static inline int kernel_xenbus_write(const char *node, const char *value)
{
	kernel_requests++;
	kernel_writes++;
	if (!strcmp(node, kernel_watched))
		snprintf(kernel_written, sizeof(kernel_written), "%s", value);
	return 0;
}
#define xenbus_write(xbt, dir, node, value) kernel_xenbus_write(node, value)
#define xenbus_printf(xbt, dir, node, format, state) ((void)(state), kernel_xenbus_write(node, format))
#define xenbus_transaction_start(t) (kernel_requests++, 0)
#define xenbus_transaction_end(t, abort) (kernel_requests++, 0)
/* The nodes of the device were removed. */
static bool kernel_nodes_gone __attribute__((unused));
#define xenbus_exists(...)	(kernel_requests++, !kernel_nodes_gone)
#define xenbus_rm(...)		(kernel_requests++, 0)
/* Watches of devices that there are. */
static int kernel_watches __attribute__((unused));
#define xenbus_watch_pathfmt(dev, watch, will, changed, format, path, word)	\
	(kernel_watches++, (watch)->callback = (changed), (watch)->node = strdup(path))
#define unregister_xenbus_watch(w) ((void)(w), kernel_watches--)
/* A transaction that reads the state and writes it. */
#define xenbus_switch_state(d, s)					\
	(kernel_requests += (d)->state != (s) ? 4 : 0, (d)->state = (s), 0)
#define xenbus_frontend_closed(d) xenbus_switch_state(d, XenbusStateClosed)
#define __xenbus_register_frontend(drv, owner, name) ((void)(drv), 0)
#define xenbus_unregister_driver(drv)

/* ---- the bus, and xenstore, which may come later than the module or never ---- */
#define NOTIFY_DONE		0
struct notifier_block {
	int (*notifier_call)(struct notifier_block *nb, unsigned long event,
			     void *data);
};

static struct notifier_block *kernel_notified __attribute__((unused));
#define register_xenstore_notifier(nb) (kernel_notified = (nb))
#define unregister_xenstore_notifier(nb) (kernel_notified = NULL)
/* The one watch that is no device's. */
static struct xenbus_watch *kernel_watch __attribute__((unused));
#define register_xenbus_watch(w) (kernel_watch = (w), 0)
/* Devices that the bus has; how often a driver was sought for one. */
static struct device *kernel_bus[2] __attribute__((unused));
static unsigned int kernel_attached __attribute__((unused));
#define to_xenbus_device(d)	xenbus_dev(d)
static inline void bus_for_each_dev(void *bus, void *start, void *arg,
				    int (*fn)(struct device *dev, void *arg))
{
	unsigned int i;

	(void)bus;
	(void)start;
	for (i = 0; i < 2; i++)
		if (kernel_bus[i])
			fn(kernel_bus[i], arg);
}
#define device_attach(d)	(kernel_attached++, (d)->driver = (d), 1)

#endif
