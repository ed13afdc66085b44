/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Open verbs files that no context uses: parked and spoilt ones.
 */
#ifndef BE_PARK_H
#define BE_PARK_H

#include "core/be.h"
#include "verbs/cmd.h"

struct be_uc;
struct be_udata;

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
 * is closed here, and no other guest is told of one of them (doorbell_static.h), so the HCA
 * may have them back.
 */
void be_vfiles_end(struct be_dev *dev);

#endif
