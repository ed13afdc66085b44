// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Guards (guard.h) of workers; those of dead workers are in a list. The
 * supervisor's thread calls this.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "clock.h"
#include "core/devices.h"
#include "fdstore.h"
#include "guard.h"
#include "core/log.h"
#include "core/quota.h"
#include "uapi/vhca-helper.h"

struct be_guard {
	struct be_guard *next;
	int fd;
	unsigned int domid, devid;
	unsigned int uars;		/* of the contexts that it holds */
	enum be_until until;
	char name[BE_FDSTORE_NAME];	/* in the store; empty: not there */
};

/* guard.DOMID.DEVID.HOW.TIME.UARS: how long it is needed; later sorts after.
 * Earlier supervisors stored no number of pages. */
#define GUARD_PRINT	"guard.%u.%u.%c.%016llx.%u"
#define GUARD_SCAN	"guard.%u.%u.%c.%16llx.%u"

static struct be_guard *guard_alloc(int fd, unsigned int domid,
				    unsigned int devid)
{
	struct be_guard *g = calloc(1, sizeof(*g));

	if (!g) {
		be_log(NULL, BE_ERR, "out of memory: doorbell pages of d%u/%u are not guarded",
		       domid, devid);
		close(fd);
		errno = ENOMEM;
		return NULL;
	}
	g->fd = fd;
	g->domid = domid;
	g->devid = devid;
	return g;
}

/*
 * The old name first: systemd does not store a file that it has under another
 * name, and the removal of that one would be the end of the only copy.
 */
static void guard_store(struct be_guard *g, enum be_until until)
{
	int rc;

	g->until = until;
	if (g->name[0])
		be_fdstore_drop(g->name);
	snprintf(g->name, sizeof(g->name), GUARD_PRINT, g->domid, g->devid,
		 (char)until,
		 (unsigned long long)vl_now_ns(), g->uars);
	rc = be_fdstore_put(g->name, g->fd);
	if (rc)
		be_log(NULL, BE_WARN, "the guard of d%u/%u cannot be stored: %s",
		       g->domid, g->devid, strerror(-rc));
}

struct be_guard *be_guard_new(int fd, unsigned int domid, unsigned int devid)
{
	struct be_guard *g;

	if (fd < 0)
		return NULL;
	g = guard_alloc(fd, domid, devid);
	if (g)
		guard_store(g, BE_UNTIL_WORKER_ENDS);
	return g;
}

struct be_guard *be_guard_open(unsigned int domid, unsigned int devid)
{
	return be_guard_new(open(VHCA_HELPER_DEV, O_RDWR | O_CLOEXEC), domid,
			    devid);
}

unsigned int be_guard_pass(const struct be_guard *guard)
{
	if (!guard)
		return BE_GUARD_FD;
	if (guard->fd == BE_GUARD_FD)
		fcntl(guard->fd, F_SETFD, 0);
	else
		dup2(guard->fd, BE_GUARD_FD);
	return BE_GUARD_FD + 1;
}

/* Finds the newest guard: older ones of that device belong to dead workers. */
static struct be_guard **newest(struct be_guard **list, unsigned int domid,
				unsigned int devid)
{
	struct be_guard **best = NULL;

	for (; *list; list = &(*list)->next)
		if ((*list)->until == BE_UNTIL_WORKER_ENDS &&
		    (*list)->domid == domid &&
		    (*list)->devid == devid &&
		    (!best || strcmp((*list)->name, (*best)->name) > 0))
			best = list;
	return best;
}

struct be_guard *be_guard_adopt(struct be_guard **list, int pidfd,
				unsigned int domid, unsigned int devid)
{
	struct be_guard **at = newest(list, domid, devid), *g;

	if (!at)
		return be_guard_new((int)syscall(SYS_pidfd_getfd, pidfd,
						 BE_GUARD_FD, 0), domid, devid);
	g = *at;
	*at = g->next;
	g->next = NULL;
	return g;
}

void be_guard_drop(struct be_guard **guard)
{
	struct be_guard *g = *guard;

	*guard = NULL;
	if (!g)
		return;
	be_fdstore_drop(g->name);
	close(g->fd);
	free(g);
}

void be_guard_hold(struct be_guard **list, struct be_guard **guard,
		   enum be_until until, unsigned int uars)
{
	struct be_guard *g = *guard;

	*guard = NULL;
	if (!g)
		return;
	g->uars = uars;
	guard_store(g, until);
	g->next = *list;
	*list = g;
}

static bool over(const struct be_guard *g, struct be_devices *all)
{
	if (!all->ops->alive(all, g->domid))
		return true;
	if (g->until != BE_UNTIL_NEXT_WORKER)
		return false;
	switch (be_devices_state(all, g->domid, g->devid)) {
	case XenbusStateInitWait:
	case XenbusStateConnected:
	case XenbusStateUnknown:
		return true;
	default:
		return false;
	}
}

static bool until_guest_ends(const struct be_guard *g, unsigned int domid)
{
	return g->until != BE_UNTIL_NEXT_WORKER && g->domid == domid;
}

unsigned int be_guard_uars(const struct be_guard *list, unsigned int domid)
{
	unsigned int uars = 0;

	for (; list; list = list->next)
		uars += until_guest_ends(list, domid) ? list->uars : 0;
	return uars;
}

bool be_guard_full(const struct be_guard *list, unsigned int domid)
{
	unsigned int n = 0, uars = be_guard_uars(list, domid);

	for (; list; list = list->next)
		n += until_guest_ends(list, domid);
	return n >= BE_GUARDS_MAX || uars >= BE_GUEST_UARS;
}

bool be_guard_waits(const struct be_guard *list, unsigned int domid,
		    unsigned int devid)
{
	while (list && (list->until != BE_UNTIL_NEXT_WORKER ||
			list->domid != domid || list->devid != devid))
		list = list->next;
	return list;
}

void be_guard_check(struct be_guard **list, struct be_devices *all)
{
	struct be_guard *g;

	while ((g = *list)) {
		if (!over(g, all)) {
			list = &g->next;
			continue;
		}
		*list = g->next;
		be_guard_drop(&g);
	}
}

static void restore_one(const char *name, int fd, void *arg)
{
	struct be_guard **list = arg;
	unsigned int domid, devid, uars = 0;
	unsigned long long nr;
	struct be_guard *g;
	char how;

	if (strlen(name) >= BE_FDSTORE_NAME ||
	    sscanf(name, GUARD_SCAN, &domid, &devid, &how, &nr, &uars) < 4) {
		be_log(NULL, BE_WARN, "the service manager stored '%s', which is no guard: closed",
		       name);
		close(fd);
		return;
	}
	g = guard_alloc(fd, domid, devid);
	if (!g)
		return;
	strcpy(g->name, name);
	g->uars = uars;
	g->until = how == BE_UNTIL_WORKER_ENDS || how == BE_UNTIL_NEXT_WORKER ?
		   (enum be_until)how : BE_UNTIL_GUEST_ENDS;
	g->next = *list;
	*list = g;
}

void be_guard_restore(struct be_guard **list)
{
	be_fdstore_take(restore_one, list);
}

bool be_guard_settle(struct be_guard *list, unsigned int domid,
		     unsigned int devid, enum be_until until,
		     unsigned int uars)
{
	bool any = false;

	for (; list; list = list->next) {
		if (list->until != BE_UNTIL_WORKER_ENDS ||
		    list->domid != domid || list->devid != devid)
			continue;
		list->uars = uars;
		guard_store(list, until);
		any = true;
	}
	return any;
}

void be_guard_free(struct be_guard **list)
{
	struct be_guard *g;

	while ((g = *list)) {
		*list = g->next;
		close(g->fd);
		free(g);
	}
}
