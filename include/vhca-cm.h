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

#include "vhca-slot.h"

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
	/* Of BIND and RESOLVE: sockaddrs, and u16s: octets of them; 0: it is IP's. */
	uint16_t at_src, at_src_len, at_dst, at_dst_len;
};

/**
 * vhca_cm_op() - what a command is
 * @cmd: any number
 * @err: set if there is none: -EINVAL, or -ENOSYS for one that the ABI names and
 *	no kernel has
 *
 * Return: its row, or NULL with @err set.
 */
const struct vhca_cm_op *vhca_cm_op(uint32_t cmd, int *err);

static inline uint32_t vhca_cm_u32(const uint8_t *p, uint16_t at)
{
	uint32_t v;

	memcpy(&v, p + at, sizeof(v));
	return v;
}

#endif
