/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Requests of a device: those of one pass are each checked and noted, then
 * all are done after one write of the state file, then answered. A request is an
 * entry of the device's batch (batch.h). This is internal to the agent.
 */
#ifndef DBA_REQUEST_H
#define DBA_REQUEST_H

#include "agent.h"
#include "batch.h"
#include "bucket.h"
#include "clock.h"
#include <xen/io/vhcaif.h>

#define DBA_RETRY_NS	VL_SEC_NS

struct dba_dev {
	struct dba_dev *next;
	unsigned int guest, devid, backend;
	char path[XN_PATH_MAX];		/* directory of requests and answers */
	char token[32];
	struct vl_bucket requests, log;
	uint32_t log_dropped;
	bool asked;			/* read its batch */
	bool seen;			/* by the scan that runs */
};

/* ---- agent.c ---- */
/* Run again at that time, or before. */
void dba_timer(struct dba_agent *a, uint64_t at);
/* Ends all mappings of the device. 0, or the -errno of the last one that failed. */
int dba_unmap_all(struct dba_agent *a, const struct dba_dev *d, const char *why);

/* ---- serve.c ---- */
/* Makes turns of d's requests that are allowed in this pass. */
void dba_serve(struct dba_agent *a, struct dba_dev *d);

/* ---- request.c ---- */
/* Checks an entry of a batch; notes a mapping, does an unmapping. */
void dba_request_entry(struct dba_agent *a, struct dba_batch *b, struct dba_entry *e);
/* Execute all noted requests, and answer. */
void dba_requests_end(struct dba_agent *a);
/* A line that another domain can cause. */
void dba_log_refused(struct dba_dev *d, unsigned int slot, enum dba_reason r,
		     int err, const char *request);

/* ---- batch_io.c ---- */
/* Read the device's requests and answers; NULL: there is nothing to do now. The
 * agent owns the batch until dba_batches_end(). */
struct dba_batch *dba_batch_begin(struct dba_agent *a, struct dba_dev *d);
/* Write the answers. */
void dba_batches_end(struct dba_agent *a);

#endif
