/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The dialogue with the agent over xenstore (vhca-agent.h): two nodes,
 * however many pages there are. Each worker has one connection and one number
 * space of slots; the command thread uses them.
 */
#ifndef BE_AGENT_XEN_H
#define BE_AGENT_XEN_H

#include "core/be.h"
#include "xenstore/node.h"

#define BE_EVERY_SLOT	XENVHCA_DOORBELL_SLOTS

struct be_slot {
	uint64_t n;			/* of the request without an answer, 0: none */
	uint64_t asked_ns;		/* when */
	uint64_t frame, gfn;		/* of a map */
	uint32_t next;			/* in the queue */
	int rc;				/* what the last answer meant */
	bool used;
	bool unmap;
	bool sent;			/* the agent may have it */
};

struct be_agent {
	struct be_dev *dev;
	struct xs_handle *xs;
	int fd;				/* readable when there may be an answer */
	char dir[XN_PATH_MAX];		/* of both nodes */
	struct be_slot slot[XENVHCA_DOORBELL_SLOTS + 1];
	uint32_t first, last;		/* queue of requests without an answer */
	uint32_t maps;			/* of them; the others are unmaps */
	uint32_t skip;			/* so many maps need not look for answers */
	uint32_t used, low;		/* slots; no slot below is free */
	uint64_t n;			/* of the last request */
	uint32_t wait_ms;		/* for the answer to an unmap */
	uint64_t heard_ns;		/* when the last answer came */
	bool unread;			/* the answers have changed */
	bool slow;			/* an unmap had no answer in time, and none came since */
	bool silent;			/* nothing at all came in time */
};

/**
 * be_agent_open() - connect, and take over what an earlier worker left
 *
 * Asks for the end of every mapping that it left. 0, or -errno: be_fault()
 * said why; -ETIMEDOUT: the agent does not answer, so the guest may still
 * have a page. Undone by be_agent_close(), also on errors.
 */
int be_agent_open(struct be_agent *a, struct be_dev *dev);
void be_agent_close(struct be_agent *a);
/* fd is readable: notes that there may be answers, which it says no more. The next call
 * below reads them. 0 or -errno. */
int be_agent_heard(struct be_agent *a);

/**
 * be_agent_map() - let the guest reach a page
 * @frame: as this domain addresses it
 * @gfn: where a translated guest wants it, or 0
 * @slot: BE_NO_SLOT, or as it was left by -EINPROGRESS. Out: BE_NO_SLOT: the
 *	guest has nothing, else to be unmapped, also after an error
 *
 * 0, -EPERM: refused, the reason is logged; -EINPROGRESS: no answer yet, to be
 * called again with the same arguments; -ETIMEDOUT; -ENOSPC: no slot.
 * Once the agent has been silent nothing waits for it, or asks it for more,
 * until what it left unanswered has an answer.
 */
int be_agent_map(struct be_agent *a, uint64_t frame, uint64_t gfn,
		 uint32_t *slot);
/* 0: confirmed; else the slot stays in use and this can be called again. */
int be_agent_unmap(struct be_agent *a, uint32_t slot);

#endif
