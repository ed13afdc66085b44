/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Open contexts that nobody uses: parked and spoilt ones.
 */
#ifndef BE_PARK_H
#define BE_PARK_H

#include "be.h"
#include "cmd.h"

struct be_uc;
struct be_udata;

/*
 * The page table entries of a PV guest cannot be taken back, only the guest's
 * word is there that they are gone. So a context whose doorbells such a guest
 * had stays open, without objects, until the guest opens the next one.
 *
 * be_park(): true if the context was put aside; uc has no files any more.
 * be_unpark(): give uc the files of a parked context that was opened by the
 * same request; true if there was one, and the response is filled in.
 */
bool be_park(struct be_dev *dev, struct be_uc *uc);
bool be_unpark(const struct be_cmd *c, struct be_uc *uc);
/* Charge doorbell pages that the HCA's driver is about to allocate for uc;
 * parked contexts make room. 0, -EDQUOT or -ENOMEM: refused, and logged. */
int be_uars_take(struct be_dev *dev, struct be_uc *uc, uint32_t n);
/* Remember how it was opened. 0 or -ENOMEM. */
int be_opening_keep(const struct be_cmd *c, const struct be_udata *u,
		    struct be_uc *uc);
/**
 * be_exchange() - give a context that nothing was made in other files
 *
 * For when the agent refuses a page because another guest may still have it:
 * the HCA chooses others for a context opened anew, while the old one stays
 * open. Return: true if the context has new files, opened in the same way.
 */
bool be_exchange(struct be_dev *dev, struct be_uc *uc);
/* The device ends: nobody asks the HCA for pages any more. */
void be_spoilt_close(struct be_dev *dev);

#endif
