/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * From a request to its handler, by a table (dispatch.c).
 */
#ifndef BE_DISPATCH_H
#define BE_DISPATCH_H

#include <stdbool.h>
#include <xen/io/vhcaif.h>

struct be_dev;

/* True for commands that release something: never delayed by others. */
bool be_op_destroys(uint16_t op);
/* Executes one request: fills the whole response. False: it has none yet, and is
 * to be executed again. Command thread only. */
bool be_dispatch(struct be_dev *dev, const struct xenvhca_request *req,
		 struct xenvhca_response *rsp);

#endif
