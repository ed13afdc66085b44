/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Contexts of the guest, their verbs files, and the doorbell pages of these.
 */
#ifndef BE_CONTEXT_H
#define BE_CONTEXT_H

#include "core/be.h"

struct be_uc;
struct uv_udata;

/* ---- ucontext.c ---- */
/* Destroy everything in it, close, unmap, in the order that is safe. 0, or
 * -errno: a doorbell page may still be the guest's; everything else is gone. */
int be_ucontext_close(struct be_dev *dev, struct be_uc *uc);
/* Close what could not be closed before. Once a second: it may wait. */
void be_dev_tick(struct be_dev *dev);

/* ---- vfile.c ---- */
/* A file in state open, without files of the kernel yet; NULL: no memory. */
struct be_vfile *be_vfile_new(struct be_dev *dev);
/* Another holder, by the table of vfile.c: what is not in it closes the device. */
void be_vfile_to(struct be_dev *dev, struct be_vfile *f, enum be_vfile_state to);
/* Charge doorbell pages that the HCA's driver is about to allocate for the file.
 * 0, -EDQUOT or -ENOMEM: refused, and logged. */
int be_uars_take(struct be_dev *dev, struct be_vfile *f, uint32_t n);
/**
 * be_vfile_open() - open it, with a context whose pages the guest may have
 * @uars: pages that the HCA's driver allocates with the context
 *
 * Return: 0 or -errno; it is to be closed in both cases.
 */
int be_vfile_open(struct be_dev *dev, struct be_vfile *f,
		  const struct uv_udata *ud, uint32_t uars);
/* Listen to the events of a context's file. 0 or -errno. */
int be_vfile_listen(struct be_dev *dev, struct be_uc *uc);
void be_vfile_close(struct be_dev *dev, struct be_vfile *f);
/* Free a closed file. NULL is fine, here and below. */
void be_vfile_free(struct be_vfile *f);
/* Both. */
void be_vfile_drop(struct be_dev *dev, struct be_vfile *f);

enum be_bell_state {
	BE_BELL_GONE,		/* the guest does not have it: no slot */
	BE_BELL_ASKING,		/* the agent has not answered yet */
	BE_BELL_UNKNOWN,	/* the guest may have it, and was not told */
	BE_BELL_MAPPED,
};

/* A doorbell page of a verbs file, from its mmap to the end of the file. */
struct be_doorbell {
	struct be_doorbell *next;
	uint64_t offset, gfn;
	void *addr;			/* mapped here: holds the verbs file */
	struct be_bell bell;
	enum be_bell_state state;
	bool held;			/* by the agent, until the guest ends */
};

struct be_doorbell *be_doorbell_find(const struct be_vfile *f, uint64_t offset);
/* Free one page that the guest does not have. */
void be_doorbell_free(struct be_dev *dev, struct be_doorbell *db);
/* Does the agent hold one of the pages for the guest until it is gone? */
bool be_doorbells_held(const struct be_vfile *f);
/* Take the pages from the guest, or only those that the next program is not to
 * find mapped; it may ask for them anew. 0, or -errno if one may still be the
 * guest's. */
int be_doorbells_withdraw(struct be_dev *dev, const struct be_vfile *f, bool all);
/* Has one of them a slot of the agent? */
bool be_doorbells_mapped(const struct be_vfile *f);
/* Take the pages from the guest and free them; 0, or -errno if one may still be its. */
int be_doorbells_end(struct be_dev *dev, struct be_vfile *f);

#endif
