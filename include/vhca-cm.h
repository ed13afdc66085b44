/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The commands of the connection manager's user ABI (<rdma/rdma_user_cm.h>,
 * version 4) as frontend and backend see them: how long each is, and where in it
 * is what the two translate. Plain C, in the module and in the daemon.
 */
#ifndef VHCA_CM_H
#define VHCA_CM_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stdint.h>
#endif

#define VHCA_CM_ABI	4
#define VHCA_CM_MAX_IN	(XENVHCA_CM_IN + XENVHCA_UDATA_SIZE)
#define VHCA_CM_MAX_OUT	(XENVHCA_CM_OUT + XENVHCA_UDATA_SIZE)
#define VHCA_CM_NONE	0xffffu		/* there is no such field */

struct vhca_cm_op {
	uint16_t in;			/* octets of its struct */
	uint16_t in_min;		/* a process may leave out what follows */
	uint16_t out;			/* most octets of the answer */
	uint16_t out_min;		/* a process must have room for */
	uint16_t at_response;		/* u64: address of the answer */
	uint16_t at_id;			/* u32: id that the command is for */
	uint16_t at_uid;		/* u64: what events come back with */
};

/**
 * vhca_cm_op() - what a command is
 * @cmd: any number
 * @err: set if there is none: -EINVAL, or -ENOSYS for one that the ABI names and
 *	no kernel has
 */
const struct vhca_cm_op *vhca_cm_op(uint32_t cmd, int *err);
/* Octets of a command of in_len that are udata of its slot; likewise out_len. */
static inline uint16_t vhca_cm_more(uint16_t len, uint16_t first)
{
	return len > first ? len - first : 0;
}

#endif
