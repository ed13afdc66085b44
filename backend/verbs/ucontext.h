/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A verbs context of the guest: an open verbs file here, with all that is in
 * it.
 */
#ifndef BE_UCONTEXT_H
#define BE_UCONTEXT_H

#include "core/be.h"
#include "offsets.h"
#include "jobs.h"

struct be_cmd;
struct be_dbpage;
struct be_doorbell;
struct be_opening;
struct be_shadow;

/* The life of a context; parked and spoilt files have no context (context/park.h). */
enum be_uc_state {
	BE_UC_OPEN,
	BE_UC_LEAVING,		/* DEALLOC_UCONTEXT waits for jobs: be_uc.leave */
	BE_UC_CLOSING,		/* it failed, and is tried again */
};

/* The doorbell pages that its process has asked for. */
enum be_uc_pages {
	BE_PAGES_NONE,
	BE_PAGES_ASKED,		/* some: by the offsets of these files */
	BE_PAGES_SPOILT,	/* one of them may be another guest's */
};

struct be_uc {
	struct be_obj o;
	enum be_uc_state state;
	enum be_uc_pages pages;
	struct be_obj *objs[BE_TYPES];	/* lists by type */
	uint32_t n_offsets;		/* offsets.h */
	struct be_dbpage *dbpages;
	struct be_doorbell *doorbells;
	struct be_opening *opening;	/* NULL: no HCA with doorbells */
	unsigned int exchanges;		/* of its files, park.c */
	uint32_t uars;			/* charged, until fd is closed */
	int fd;				/* uverbs file */
	int async_fd, comp_fd;
	unsigned int jobs;		/* of the job threads, that use it */
	struct be_line line;		/* those that may wait */
	struct be_job leave;		/* DEALLOC_UCONTEXT behind them */
};
struct be_mmap {
	struct be_obj o;
	struct be_mmap *of_offset;	/* next with the same hash, offsets.h */
	uint64_t offset;
	size_t length;
	void *addr;
	uint32_t nr_pages;
	uint32_t charged;		/* see be_offset */
	uint32_t grant_id;
	uint32_t owner;			/* handle of the queue's object */
	uint32_t *ref;			/* nr_pages references */
	struct be_shadow *shadow;	/* what is granted, NULL: addr */
};

#endif
