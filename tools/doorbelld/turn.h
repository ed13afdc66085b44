/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A device's turn: its requests of one pass are each checked and noted, then
 * all are done after one write of the state file, then answered. This is
 * internal to the agent.
 */
#ifndef DBA_TURN_H
#define DBA_TURN_H

#include "agent.h"
#include "bucket.h"
#include "clock.h"
#include <xen/io/vhcaif.h>

#define DBA_RETRY_NS	VL_SEC_NS

struct dba_dev {
	struct dba_dev *next;
	unsigned int guest, devid, backend;
	char path[XN_PATH_MAX];		/* directory of the slots */
	char token[32];
	struct vl_bucket requests, log;
	uint32_t log_dropped;
	bool list;			/* visit all slots that there are */
	bool dirty[XENVHCA_DOORBELL_SLOTS];
	unsigned int n_dirty;
	bool seen;			/* by the scan that runs */
};

/* ---- agent.c ---- */
/* Work again at that time, or before. */
void dba_timer(struct dba_agent *a, uint64_t at);
/* The slot has changed: visit it. */
void dba_mark(struct dba_dev *d, unsigned int slot);
/* Tries again later if it cannot be. */
void dba_unmap(struct dba_agent *a, struct dba_map *m, const char *why);

/* ---- turn.c ---- */
/* Visit a slot: its request becomes one of a->turns. 0, -ENOMEM: later. */
int dba_turn_begin(struct dba_agent *a, struct dba_dev *d, unsigned int slot);
/* Do what is noted in all of them, and answer. */
void dba_turns_end(struct dba_agent *a);

#endif
