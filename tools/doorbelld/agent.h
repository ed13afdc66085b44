/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The agent: devices that the toolstack created, requests of their backends,
 * answers. It has one thread. A backend domain can at worst cause refusals
 * of its requests, at the rate of its guest.
 */
#ifndef DBA_AGENT_H
#define DBA_AGENT_H

#include <syslog.h>
#include "facts.h"
#include "map.h"

#define DBA_DEF_RATE	500	/* requests per second and guest */
#define DBA_BURST	256	/* at once */
#define DBA_STALE	32	/* guests that are looked at one by one */

/* Properties of a domain, from the hypervisor. */
struct dba_domain {
	bool alive;
	bool translated;	/* has guest frames of its own: not PV */
	uint8_t uuid[DBA_UUID];
};

struct dba_batch;
struct dba_dev;

struct dba_agent {
	struct xs_handle *xs;
	const char *sysfs;		/* DBA_SYSFS */
	unsigned int own;		/* our domain id */
	unsigned int rate;
	bool dry_run;			/* decide and log, answer nothing */
	/* 0 or -errno; a domain that does not exist is not alive. */
	int (*domain)(void *ctx, unsigned int domid, struct dba_domain *dom);
	void *ctx;			/* of domain() */
	struct dba_table table;
	struct dba_dev *devs;
	struct dba_batch *batches;	/* the lists whose requests this pass has */
	bool rescan, recheck;		/* everything */
	unsigned int stale[DBA_STALE];	/* or these guests only */
	unsigned int n_stale;
	uint64_t wake_ns;		/* next time limit, 0: none */
};

/* Highest syslog priority that is logged. */
extern int dba_log_level;

/* One line on stderr, as the journal wants it. prio: LOG_ERR ... LOG_DEBUG */
void dba_log(int prio, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Set watches, take over the mappings of the table. 0 or -errno, logged. */
int dba_agent_start(struct dba_agent *a);

/* Fetch all events of xenstore; -errno: the connection is gone. */
int dba_agent_events(struct dba_agent *a);

/* Do all work that is due. Sets wake_ns. */
void dba_agent_work(struct dba_agent *a);

void dba_agent_stop(struct dba_agent *a);

#endif
