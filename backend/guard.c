// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Guards (guard.h) of workers, dead ones in a list. The supervisor's thread.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "be.h"
#include "guard.h"
#include "uapi/vhca-helper.h"
#include "xenstore/scan.h"
#include "xenstore/state.h"

struct be_guard {
	struct be_guard *next;
	int fd;
	unsigned int domid;
	bool for_life;
	char dir[XN_PATH_MAX];
};

int be_guard_open(void)
{
	return open(VHCA_HELPER_DEV, O_RDWR | O_CLOEXEC);
}

unsigned int be_guard_pass(int guard)
{
	if (guard < 0)
		return BE_GUARD_FD;
	if (guard == BE_GUARD_FD)
		fcntl(guard, F_SETFD, 0);
	else
		dup2(guard, BE_GUARD_FD);
	return BE_GUARD_FD + 1;
}

/* Without the right to do that we are as one without a guard. */
int be_guard_adopt(int pidfd)
{
	return (int)syscall(SYS_pidfd_getfd, pidfd, BE_GUARD_FD, 0);
}

void be_guard_drop(int *guard)
{
	if (*guard >= 0)
		close(*guard);
	*guard = -1;
}

void be_guard_keep(struct be_guard **list, int *guard, unsigned int domid,
		   const char *dir, bool for_life)
{
	struct be_guard *g;

	if (*guard < 0)
		return;
	g = calloc(1, sizeof(*g));
	if (!g) {
		be_log(NULL, BE_ERR, "out of memory: doorbell pages of d%u are not guarded",
		       domid);
		be_guard_drop(guard);
		return;
	}
	g->fd = *guard;
	g->domid = domid;
	g->for_life = for_life;
	snprintf(g->dir, sizeof(g->dir), "%s", dir);
	g->next = *list;
	*list = g;
	*guard = -1;
}

static bool over(const struct be_guard *g, struct xs_handle *xs)
{
	if (!xn_domain_alive(xs, g->domid))
		return true;
	if (g->for_life)
		return false;
	switch (xn_state_read(xs, XBT_NULL, g->dir)) {
	case XenbusStateInitWait:
	case XenbusStateConnected:
	case XenbusStateUnknown:
		return true;
	default:
		return false;
	}
}

bool be_guard_full(const struct be_guard *list, unsigned int domid)
{
	unsigned int n = 0;

	for (; list; list = list->next)
		n += list->for_life && list->domid == domid;
	return n >= BE_GUARDS_MAX;
}

void be_guard_check(struct be_guard **list, struct xs_handle *xs)
{
	struct be_guard *g;

	while ((g = *list)) {
		if (!over(g, xs)) {
			list = &g->next;
			continue;
		}
		*list = g->next;
		close(g->fd);
		free(g);
	}
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
