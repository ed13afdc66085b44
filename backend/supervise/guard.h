/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What outlives a worker. The verbs files mapped in a worker's memory, and what is
 * pinned there, stay until the last copy of its open helper device is closed (helper,
 * KEEP_MM). The supervisor holds such a copy, so that an HCA does not give the
 * doorbell pages of a dead worker to somebody else before the guest has lost
 * them. A service manager that stores files has another copy, for the next
 * supervisor.
 */
#ifndef BE_GUARD_H
#define BE_GUARD_H

#include <stdbool.h>
#include <xen/io/vhcaif.h>

#define BE_GUARD_FD	3		/* in a worker */
#define BE_GUARDS_MAX	64		/* of a guest, until it ends */

/*
 * How long a guard is needed (docs/design/teardown.md draws it). The letters stand in the
 * names of stored guards.
 */
enum be_until {
	BE_UNTIL_WORKER_ENDS = 'w',	/* in a list: who knows if it lives */
	BE_UNTIL_NEXT_WORKER = 'd',	/* is in InitWait, or the device gone */
	BE_UNTIL_GUEST_ENDS = 'l',
};

struct be_devices;
struct be_guard;

/* Open the helper device for a worker; NULL: the worker will say why not. */
struct be_guard *be_guard_open(unsigned int domid, unsigned int devid);
/* The same with an fd of it, which is the guard's; -1 gives NULL. */
struct be_guard *be_guard_new(int fd, unsigned int domid, unsigned int devid);
/* In the child: put it where the worker expects it. The first fd after it. */
unsigned int be_guard_pass(const struct be_guard *guard);
/**
 * be_guard_adopt() - the guard of a worker that another supervisor started
 * @list: of be_guard_restore()
 *
 * Return: NULL with errno set if there is none, and no right to copy it.
 */
struct be_guard *be_guard_adopt(struct be_guard **list, int pidfd,
				unsigned int domid, unsigned int devid);
/* The worker ended and left nothing. */
void be_guard_drop(struct be_guard **guard);
/**
 * be_guard_hold() - the worker ended and may have left something
 * @until: BE_UNTIL_GUEST_ENDS for contexts of a PV guest. Else
 *	BE_UNTIL_NEXT_WORKER: when that is in InitWait the frontend has given up all
 *	pages of the earlier connection.
 * @uars: doorbell pages of the HCA in them
 */
void be_guard_hold(struct be_guard **list, struct be_guard **guard,
		   enum be_until until, unsigned int uars);
/* Doorbell pages of the HCA that connections of domid left until it ends. */
unsigned int be_guard_uars(const struct be_guard *list, unsigned int domid);
/*
 * True if domid has BE_GUARDS_MAX until it ends, or BE_GUEST_UARS in them. Each
 * holds as many contexts of the HCA as the quota allows, and a guest decides
 * how often it connects.
 */
bool be_guard_full(const struct be_guard *list, unsigned int domid);
/* Is there one that waits for the next worker of this device? */
bool be_guard_waits(const struct be_guard *list, unsigned int domid,
		    unsigned int devid);
/* Drop those whose time has come. */
void be_guard_check(struct be_guard **list, struct be_devices *all);
/*
 * What an earlier supervisor stored. The guard of a worker is held for the life
 * of the guest until be_guard_adopt() takes it or be_guard_settle() says
 * otherwise.
 */
void be_guard_restore(struct be_guard **list);
/**
 * be_guard_settle() - the device has no worker: it died while nobody watched
 * @until, @uars: as for be_guard_hold()
 *
 * Return: true if there was such a guard.
 */
bool be_guard_settle(struct be_guard *list, unsigned int domid,
		     unsigned int devid, enum be_until until,
		     unsigned int uars);
/* Close ours, at the end; those in the store are for the next supervisor. */
void be_guard_free(struct be_guard **list);

#endif
