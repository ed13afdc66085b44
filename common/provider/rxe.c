// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * udata of rdma_rxe (Soft-RoCE), ABI 2: every queue is memory of the HCA's
 * driver, handed out as struct mminfo (offset, size) in a response. Sends and
 * CQ arming are system calls, hence the kicks. Lengths are those of
 * <rdma/rdma_user_rxe.h>; a unit test compares them.
 */
#include "vhca-provider.h"

#include <xen/io/vhcaif.h>

#define RXE_DRIVER_ID	14	/* RDMA_DRIVER_RXE */
#define RXE_ABI		2
#define RXE_MMINFO	16	/* sizeof(struct mminfo) */

#define RXE_KEY(offset, queue) \
	{ .kind = VHCA_KEY, .len = RXE_MMINFO, .off = (offset), \
	  .arg = VHCA_QUEUE_##queue }

static const struct vhca_udata_op rxe_ops[] = {
	{
		.op = XENVHCA_OP_CREATE_CQ,
		.out_min = RXE_MMINFO, .out_max = RXE_MMINFO,
		.rsp = { RXE_KEY(0, SHARED) },
	}, {
		.op = XENVHCA_OP_RESIZE_CQ,
		.out_min = RXE_MMINFO, .out_max = RXE_MMINFO,
		.rsp = { RXE_KEY(0, SHARED) },
	}, {
		/* rq, then sq; the rq is all 0 if the QP uses an SRQ */
		.op = XENVHCA_OP_CREATE_QP,
		.out_min = 2 * RXE_MMINFO, .out_max = 2 * RXE_MMINFO,
		.rsp = { RXE_KEY(0, RECV), RXE_KEY(RXE_MMINFO, SEND) },
	}, {
		/* mminfo, then u32 srq_num for the provider */
		.op = XENVHCA_OP_CREATE_SRQ,
		.out_min = RXE_MMINFO + 8, .out_max = RXE_MMINFO + 8,
		.rsp = {
			RXE_KEY(0, RECV),
			{ .kind = VHCA_COOKIE, .len = 8, .off = RXE_MMINFO },
		},
	}, {
		/*
		 * The driver writes mminfo of a resized queue to a user
		 * address; the provider itself leaves no room (out 0), the
		 * frontend asks the backend for it (out 16).
		 */
		.op = XENVHCA_OP_MODIFY_SRQ,
		.in_min = 8, .in_max = 8, .out_min = 0, .out_max = RXE_MMINFO,
		.req = {
			{ .kind = VHCA_OUTPTR, .len = 8, .off = 0,
			  .arg = RXE_MMINFO },
		},
		.rsp = { RXE_KEY(0, RECV) },
	}, {
		/* ah_num for WQEs; old providers leave no room for it */
		.op = XENVHCA_OP_CREATE_AH,
		.out_min = 0, .out_max = 8,
		.rsp = { { .kind = VHCA_AH, .len = 4, .off = 0 } },
	},
	{ .op = 0 },
};

const struct vhca_provider vhca_provider_rxe = {
	.name = "rxe",
	.driver_id = RXE_DRIVER_ID,
	.abi_min = RXE_ABI,
	.abi_max = RXE_ABI,
	.kicks = XENVHCA_INFO_KICK_SEND | XENVHCA_INFO_KICK_ARM,
	.no_windows = 1,
	.trusts = 1,
	.ops = rxe_ops,
};
