/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Doorbell pages without an agent: those that a guest has for life (vhcaif.h,
 * XENVHCA_NODE_DOORBELL_STATIC).
 */
#ifndef BE_DOORBELL_STATIC_H
#define BE_DOORBELL_STATIC_H

#include "core/be.h"
#include "uverbs/uverbs.h"

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
