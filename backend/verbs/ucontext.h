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
#include "keys.h"
#include "lane.h"

struct be_cmd;
struct be_dbpage;
struct be_doorbell;
struct be_opening;
struct be_shadow;

struct be_uc {
	struct be_obj o;
	struct be_obj *objs[BE_TYPES];	/* lists by type */
	uint32_t n_keys;		/* keys.h */
	struct be_dbpage *dbpages;
	struct be_doorbell *doorbells;
	struct be_opening *opening;	/* NULL: no HCA with doorbells */
	bool asked;			/* for a page, by its process */
	unsigned int exchanges;		/* of its files, park.c */
	bool spoilt;			/* a page of it belongs to another */
	uint32_t uars;			/* charged, until fd is closed */
	int fd;				/* uverbs file */
	int async_fd, comp_fd;
	bool closing;			/* DEALLOC_UCONTEXT failed: retried */
	unsigned int jobs;		/* of the lanes, that use it */
	struct be_line line;		/* those that may wait */
	struct be_job leave;		/* DEALLOC_UCONTEXT behind them; end NULL: none */
};
struct be_mmap {
	struct be_obj o;
	struct be_mmap *of_offset;	/* next with the same hash, keys.h */
	uint64_t offset;
	size_t length;
	void *addr;
	uint32_t nr_pages;
	uint32_t charged;		/* see be_key */
	uint32_t grant_id;
	uint32_t owner;			/* handle of the queue's object */
	uint32_t *ref;			/* nr_pages references */
	struct be_shadow *shadow;	/* what is granted, NULL: addr */
};

/* Destroy every object in it that the HCA lets go of, users first. */
void be_uc_destroy_objects(struct be_dev *dev, struct be_uc *uc);
/* Release those that it did not, which the end of the file destroys. Users go
 * first here, too: their release touches what they used. */
void be_uc_release_objects(struct be_dev *dev, struct be_uc *uc);
/* Destroy everything in it, close, unmap, in the order that is safe. 0, or
 * -errno: a doorbell page may still be the guest's; everything else is gone. */
int be_ucontext_close(struct be_dev *dev, struct be_uc *uc);
void be_mmap_release(struct be_dev *dev, struct be_mmap *m);
/**
 * be_ranges_tell() - map what a good answer announces, and say so in it
 *
 * What cannot be mapped, or has no room, is left to MMAP.
 */
void be_ranges_tell(const struct be_cmd *c);
void be_files_close(struct be_dev *dev, struct be_uc *uc);
/* Close what could not be closed before. Once a second: it may wait. */
void be_dev_tick(struct be_dev *dev);
/* Listen to the events of its files. 0 or -errno. */
int be_files_listen(struct be_dev *dev, struct be_uc *uc);

#endif
