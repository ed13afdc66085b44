/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What outlives a worker. A worker's memory, and the verbs files mapped in
 * it, stay until the last copy of its open helper device is closed (helper
 * module, KEEP_MM). The supervisor holds such a copy, so that a HCA does not
 * give the doorbell pages of a dead worker to somebody else before the guest
 * has lost them.
 */
#ifndef BE_GUARD_H
#define BE_GUARD_H

#include <stdbool.h>
#include "xenstore/node.h"

#define BE_GUARD_FD	3		/* in a worker */
#define BE_GUARDS_MAX	64		/* of a guest, for its life */

struct be_guard;

/* Open the helper device for a worker; -1: the worker will say why not. */
int be_guard_open(void);
/* In the child: put it where the worker expects it. The first fd after it. */
unsigned int be_guard_pass(int guard);
/* A copy of the guard of a worker that another supervisor started, or -1. */
int be_guard_adopt(int pidfd);
/* The worker ended and left nothing. */
void be_guard_drop(int *guard);
/**
 * be_guard_keep() - the worker ended and may have left something
 * @dir: backend directory of its device
 * @for_life: contexts of a PV guest: until the guest is gone. Else until the
 *	next worker is in InitWait: then the frontend has given up all pages
 *	of the earlier connection, or until the device is gone.
 */
void be_guard_keep(struct be_guard **list, int *guard, unsigned int domid,
		   const char *dir, bool for_life);
/*
 * True if domid has BE_GUARDS_MAX for its life. Each holds as many contexts of
 * the HCA as the quota allows, and a guest decides how often it connects.
 */
bool be_guard_full(const struct be_guard *list, unsigned int domid);
/* Close those whose time has come. */
void be_guard_check(struct be_guard **list, struct xs_handle *xs);
void be_guard_free(struct be_guard **list);

#endif
