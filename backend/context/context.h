/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Contexts of the guest, their verbs files, and the doorbell pages of these; files that no
 * context uses.
 */
#ifndef BE_CONTEXT_H
#define BE_CONTEXT_H

#include "core/be.h"
#include "uverbs/uverbs.h"
#include "verbs/udata.h"

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

/* ---- park.c: open verbs files that no context uses ---- */
/*
 * The page table entries of a PV guest cannot be taken back, nor can what a
 * guest on Arm mapped itself: only the guest's word is there that they are
 * gone. So a context whose doorbells such a guest had stays open, without
 * objects, for a program that opens in the same way. It is charged until the
 * guest is gone: nothing else closes it.
 *
 * be_park(): puts the file of uc aside. 0, or -errno: uc is as before, and
 *	must not be closed.
 * be_unpark(): gives c->uc a parked file that was opened by the same request, and
 *	fills the response in. 1: there was one; 0: there was none, and the
 *	quota allows another; -EDQUOT: it does not (logged).
 */
int be_park(struct be_dev *dev, struct be_uc *uc);
int be_unpark(const struct be_cmd *c);
/**
 * be_park_other() - give a process that maps in another way another file
 *
 * rdma-core maps the same page by another offset if its environment says so,
 * and a guest has a page once. So if the first page that the process asks for is
 * not one of the parked file that it was given, that one is parked again,
 * and the process has one with the page, or a new one.
 *
 * Return: 0, if there was nothing to do, too; -EDQUOT: no room (logged).
 */
int be_park_other(struct be_dev *dev, struct be_uc *uc, uint64_t offset);
/* The agent has no slot left: take the pages of the parked context that waits
 * longest from the guest. It stays open, and a program that is given it asks
 * for them anew. False: there is none, or it cannot be done. */
bool be_park_rest(struct be_dev *dev);
/* Remember how it was opened. 0 or -ENOMEM. */
int be_opening_keep(const struct be_cmd *c, const struct be_udata *u,
		    struct be_uc *uc);
/**
 * be_exchange() - give a context that nothing was made in another file
 *
 * For when the agent refuses a page because another guest may still have it:
 * the HCA chooses others for a context opened anew, while the old one stays
 * open. Return: true if the context has a new file, opened in the same way.
 */
bool be_exchange(struct be_dev *dev, struct be_uc *uc);
/* Put the file of uc aside if it is spoilt and the guest had no page of it.
 * False: it is to be closed. */
bool be_spoil(struct be_dev *dev, struct be_uc *uc);
/*
 * The device ends. Spoilt files are closed: nobody asks the HCA for pages any more. So are
 * the parked ones of a guest that has a range of pages for life: it can ring them whatever
 * is closed here, and no other guest is told of one of them (doorbell_static.c), so the HCA
 * may have them back.
 */
void be_vfiles_end(struct be_dev *dev);

/* ---- doorbell_static.c: pages that a guest has for life, without an agent ---- */
/**
 * be_static_check() - is the guest's window in the BAR of its HCA?
 *
 * Once, when the provider is known. A software HCA needs no window.
 * 0 or -EINVAL, -ENOENT: be_fault() said why.
 */
int be_static_check(struct be_dev *dev);
/**
 * be_static_open() - open a verbs file and a context in it
 * @uars: doorbell pages that the HCA's driver allocates with it
 *
 * If the guest has a window, all these pages lie in it. The HCA chooses the pages: what
 * it offers elsewhere is held, with more of it to get on, until a context is right.
 *
 * Return: 0; -ENOMEM: none was, and the log says so; or the error of the kernel. On
 * errors the files, if there are any, are to be closed.
 */
int be_static_open(struct be_dev *dev, const struct uv_udata *ud, uint32_t uars,
		   int *fd, int *async_fd);
/**
 * be_static_map() - instead of the agent: where the guest has a page
 * @gfn: of the request: must be 0
 * @bell: out, its frame is the guest's
 *
 * 0, -EACCES: refused (logged), or an error of the transport.
 */
int be_static_map(struct be_dev *dev, void *addr, uint64_t gfn,
		  struct be_bell *bell);

#endif
