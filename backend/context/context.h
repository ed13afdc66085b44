/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Contexts of the guest, and their files.
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
/* Charge doorbell pages that the HCA's driver is about to allocate for uc.
 * 0, -EDQUOT or -ENOMEM: refused, and logged. */
int be_uars_take(struct be_dev *dev, struct be_uc *uc, uint32_t n);
/**
 * be_files_open() - a verbs file with a context, whose pages the guest may have
 * @uars: pages that the HCA's driver allocates with the context
 *
 * Return: 0 or -errno; the files are to be closed in both cases.
 */
int be_files_open(struct be_dev *dev, const struct uv_udata *ud, uint32_t uars,
		  int *fd, int *async_fd);
/* Listen to the events of its files. 0 or -errno. */
int be_files_listen(struct be_dev *dev, struct be_uc *uc);
void be_files_close(struct be_dev *dev, struct be_uc *uc);

#endif
