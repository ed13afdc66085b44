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
/* Nodes below a domain's backend directory that have a value. */
unsigned int fake_xs_nodes(void);

/**
 * fake_xs_quota() - what xenstored allows the domain that owns a directory
 * @dir: all nodes below it are that domain's, directories too, whoever writes
 * @nodes: how many; 0: as many as there is room for
 * @size: octets of one, its value or the names in it
 *
 * xs_write() fails beyond that, with ENOSPC.
 */
void fake_xs_quota(const char *dir, unsigned int nodes, unsigned int size);
/* The most that there were of them at a time. */
unsigned int fake_xs_most(void);

/* From now on each xs_open() is a connection of its own: watches and events are those
 * of the handle. */
void fake_xs_connections(void);

#endif
