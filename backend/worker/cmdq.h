/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * From the command ring to be_dispatch(), at the rate that the guest may have.
 */
#ifndef BE_CMDQ_H
#define BE_CMDQ_H

#include "core/be.h"
#include "core/spin.h"

struct be_queued {
	struct xenvhca_request req;
	int32_t status;		/* of a destroy that ended nothing: its answer */
	bool again;		/* has had its token */
};

struct be_cmdq {
	struct be_queued q[XENVHCA_MAX_ID];	/* without an answer */
	unsigned int head, n;
	unsigned int passed;	/* executed again in a row, none has an answer */
	uint64_t wait_ns;	/* until the next token; 0: not for one */
	bool counted;		/* q[head] is in rate_waits */
	bool more;		/* the ring was not drained */
	bool notified;		/* event channel read, not acknowledged */
	bool worked;		/* requests since the last acknowledgement */
	bool fresh;		/* requests since it polled for them last */
	bool awake;		/* requests since it slept */
	struct be_spin spin;	/* all zero: sleep at once */
};

/**
 * be_cmdq_run() - execute what is there, a bounded number of requests
 * @notified: the command event channel fired
 *
 * Returns milliseconds until it must be called again: 0 at once, -1 when the
 * event channel fires or another thread writes to be_dev.wake_fd.
 */
int be_cmdq_run(struct be_dev *dev, struct be_cmdq *q, bool notified);

#endif
