/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The kernel's connection manager for user space, one function for all its
 * commands. Each returns 0 or -errno.
 */
#ifndef UV_CM_H
#define UV_CM_H

#include <xen/io/vhcaif.h>
#include "vhca-cm.h"

#define UV_CM_PATH	"/dev/infiniband/rdma_cm"

/* A command: its struct, behind it what an option is set to, and its answer. */
struct uv_cm {
	uint32_t cmd;			/* RDMA_USER_CM_CMD_* */
	const struct vhca_cm_op *op;
	uint16_t in_len, out_len;	/* room for the answer */
	uint8_t in[VHCA_CM_MAX_IN] __attribute__((aligned(8)));
	uint8_t out[VHCA_CM_MAX_OUT] __attribute__((aligned(8)));
};

/* Addresses in c->in are filled in here; c->out is zeroed first. */
int uv_cm_command(int fd, struct uv_cm *c);

#endif
