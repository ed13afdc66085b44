/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A verbs file of the HCA, with a context and the doorbell pages that the HCA's driver
 * gave it. It is closed only when no guest can reach one of these pages.
 */
#ifndef BE_VFILE_H
#define BE_VFILE_H

#include <stdbool.h>
#include <stdint.h>

struct be_doorbell;
struct be_opening;

/* Who holds the file; context/vfile.c has the transitions, docs/design/teardown.md why. */
enum be_vfile_state {
	BE_VFILE_OPEN,		/* a context (be_uc.file), for its process */
	BE_VFILE_LEAVING,	/* the same: DEALLOC_UCONTEXT waits for jobs, be_uc.leave */
	BE_VFILE_CLOSING,	/* the same: DEALLOC_UCONTEXT failed, and is tried again */
	BE_VFILE_PARKED,	/* no context: for the guest's next process */
	BE_VFILE_SPOILT,	/* no context: for no process, so that the HCA keeps the pages */
	BE_VFILE_CLOSED,
};

struct be_vfile {
	struct be_vfile *next;		/* in the same state: be_dev.vfiles */
	enum be_vfile_state state;
	bool refused;			/* a page of it: another guest may have that */
	int fd, async_fd, comp_fd;
	uint32_t uars;			/* charged, but for a spoilt one */
	struct be_doorbell *doorbells;
	struct be_opening *opening;	/* NULL: of no use to another process */
};

#endif
