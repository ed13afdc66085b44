/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A xenstore in memory with what libxenstore offers of it: nodes, watches,
 * transactions that never conflict. One thread, no permissions. A domain is
 * alive while its node "name" exists, and can be introduced by the port in the node
 * /fake/port/DOMID.
 */
#ifndef FAKE_XS_H
#define FAKE_XS_H

#include <stdbool.h>

/* Forget nodes, watches and events. */
void fake_xs_reset(void);
/* Write as another domain would: watches fire. */
void fake_xs_set(const char *path, const char *value);
void fake_xs_rm(const char *path);
/* Value of a node, NULL if absent; valid until the next change. */
const char *fake_xs_get(const char *path);

/* From now on every call fails, as when the connection is gone; 0: works. */
void fake_xs_break(int err);
/* We are an unprivileged domain: may not ask whether a domain is alive, or which are. */
void fake_xs_unprivileged(bool yes);
/* There are too many transactions to start one, the next n times. */
void fake_xs_full(unsigned int n);
/* Transactions that were committed; changes made outside of any. */
unsigned int fake_xs_commits(void);
unsigned int fake_xs_outside(void);
/* Calls that ask xenstored something. */
unsigned int fake_xs_requests(void);

#endif
