/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The doorbell pages of a context (doorbell_list.c).
 */
#ifndef BE_DOORBELL_H
#define BE_DOORBELL_H

#include "core/transport.h"

struct be_dev;

enum be_bell_state {
	BE_BELL_GONE,		/* the guest does not have it: no slot */
	BE_BELL_ASKING,		/* the agent has not answered yet */
	BE_BELL_UNKNOWN,	/* the guest may have it, and was not told */
	BE_BELL_MAPPED,
};

/* A doorbell page of a context, from its mmap to the end of the verbs file. */
struct be_doorbell {
	struct be_doorbell *next;
	uint64_t offset, gfn;
	void *addr;			/* mapped here: holds the verbs file */
	struct be_bell bell;
	enum be_bell_state state;
	bool held;			/* by the agent, until the guest ends */
};

struct be_doorbell *be_doorbell_find(struct be_doorbell *list,
				     uint64_t offset);
/* Free one page that the guest does not have. */
void be_doorbell_free(struct be_dev *dev, struct be_doorbell *db);
/* Does the agent hold one of the pages for the guest until it is gone? */
bool be_doorbells_held(const struct be_doorbell *list);
/* Take the pages from the guest, or only those that the next program is not to
 * find mapped; it may ask for them anew. 0, or -errno if one may still be the
 * guest's. */
int be_doorbells_withdraw(struct be_dev *dev, struct be_doorbell *list,
			  bool all);
/* Has one of them a slot of the agent? */
bool be_doorbells_mapped(const struct be_doorbell *list);
/* Take the pages from the guest and free them; 0, or -errno if one may still be its. */
int be_doorbells_end(struct be_dev *dev, struct be_doorbell **list);

#endif
