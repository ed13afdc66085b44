/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The requests of a device in one node, and the answers in another (vhcaif.h,
 * "Doorbells"). The backend domain may write both texts, so they are
 * copied once; these functions parse the copies, without I/O.
 */
#ifndef DBA_BATCH_H
#define DBA_BATCH_H

#include "agent.h"
#include "vhca-agent.h"
#include <xen/io/vhcaif.h>

#define DBA_ANSWER	92		/* longest answer, with the NUL */
#define DBA_ALL		(~0u)		/* instead of a slot */
#define DBA_NO_SLOT	(~0u - 1)	/* it names none */

/* Facts for the check of a request, read once for a batch. */
struct dba_known {
	bool read;
	enum dba_reason r;		/* why there are none */
	int err;
	struct dba_domain dom;
	struct dba_hca hca;
	uint64_t window_gfn, window_nr;
};

struct dba_entry {
	uint64_t n;
	unsigned int slot;
	const char *request;		/* behind number and slot */
	const char *answer;		/* NULL: none yet */
	char own[DBA_ANSWER];		/* the one of this pass */
	/* The work of this pass (request.c). */
	bool begun;			/* it is answered when its result is on file */
	bool map;
	bool noted;			/* to be done, if it is still there: */
	uint64_t mfn;
	enum dba_reason r;
	int err;
};

struct dba_batch {
	struct dba_batch *next;
	struct dba_dev *d;
	struct dba_known known;
	unsigned int n;
	bool refused;			/* as a whole: n is 0 */
	struct dba_entry e[XENVHCA_DOORBELL_BATCH];
	char requests[XENVHCA_DOORBELL_TEXT + 1];
	char answers[XENVHCA_DOORBELL_TEXT + 1];
};

/* Cut b->requests into entries. -EINVAL: refused as a whole. */
int dba_batch_parse(struct dba_batch *b);

/* Parse b->answers, too, and find the entries that have an answer. */
void dba_batch_match(struct dba_batch *b);

/* All answers as text. */
void dba_batch_text(const struct dba_batch *b,
		    char text[XENVHCA_DOORBELL_TEXT + 1]);

#endif
