/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Questions to the helper module (uapi/vhca-helper.h) that concern the HCA. 0 or -errno.
 */
#ifndef BE_HELPER_H
#define BE_HELPER_H

#include "core/transport.h"

/* Frame and cache attribute of the doorbell page that is mapped at addr. */
int be_helper_frame(int helper_fd, void *addr, struct be_bell *bell);
/* See cap_dma of transport.h. */
int be_helper_cap_dma(int helper_fd, const char *hca, int fd);

#endif
