/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A verbs context of the guest: an open verbs file here (core/vfile.h), with all that
 * is in it.
 */
#ifndef BE_UCONTEXT_H
#define BE_UCONTEXT_H

#include "core/be.h"
#include "offsets.h"
#include "jobs.h"

struct be_cmd;
struct be_dbpage;
struct be_shadow;

struct be_uc {
	struct be_obj o;
	struct be_vfile *file;
	bool asked;			/* its process, for a doorbell page of the file */
	struct be_obj *objs[BE_TYPES];	/* lists by type */
	uint32_t n_offsets;		/* offsets.h */
	struct be_dbpage *dbpages;
	unsigned int exchanges;		/* of its file, park.c */
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
