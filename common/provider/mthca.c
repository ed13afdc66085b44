// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * udata of mthca (InfiniHost), ABI 1. Queue memory is an ordinary memory
 * region that the provider registers first and names by its lkey. HCAs with
 * memory of their own have no doorbell records (address 0); the others have
 * two per CQ and per QP, of which a request carries one: the second one is
 * refused. Layouts are those of <rdma/mthca-abi.h>; a unit test compares them.
 */
#include "vhca-provider.h"

#include <xen/io/vhcaif.h>

#define MTHCA_DRIVER_ID	5	/* RDMA_DRIVER_MTHCA */
#define MTHCA_ABI	1

#define MTHCA_DBPAGE(offset) \
	{ .kind = VHCA_DBPAGE, .len = 8, .off = (offset), \
	  .arg = VHCA_MAY_BE_0 | VHCA_DB_4 }

static const struct vhca_udata_op mthca_ops[] = {
	{
		.op = XENVHCA_OP_ALLOC_UCONTEXT,
		.out_min = 8, .out_max = 8,
		.rsp = { { .kind = VHCA_DEV, .len = 8, .off = 0 } },
	}, {
		.op = XENVHCA_OP_ALLOC_PD,
		.out_min = 8, .out_max = 8,
		.rsp = { { .kind = VHCA_DEV, .len = 4, .off = 0 } },
	}, {
		.op = XENVHCA_OP_REG_MR,
		.in_min = 8, .in_max = 8,
		.req = { { .kind = VHCA_COOKIE, .len = 4, .off = 0 } },
	}, {
		.op = XENVHCA_OP_CREATE_CQ,
		.in_min = 32, .in_max = 32, .out_min = 8, .out_max = 8,
		.req = {
			{ .kind = VHCA_REF, .len = 4, .off = 0 },	/* lkey */
			{ .kind = VHCA_DEV, .len = 4, .off = 4 },	/* pdn */
			MTHCA_DBPAGE(8),
			MTHCA_DBPAGE(16),
			{ .kind = VHCA_COOKIE, .len = 8, .off = 24 },
		},
		.rsp = { { .kind = VHCA_DEV, .len = 4, .off = 0 } },
	}, {
		.op = XENVHCA_OP_RESIZE_CQ,
		.in_min = 8, .in_max = 8,
		.req = { { .kind = VHCA_REF, .len = 4, .off = 0 } },
	}, {
		.op = XENVHCA_OP_CREATE_QP,
		.in_min = 32, .in_max = 32,
		.req = {
			{ .kind = VHCA_REF, .len = 4, .off = 0 },
			MTHCA_DBPAGE(8),
			MTHCA_DBPAGE(16),
			{ .kind = VHCA_COOKIE, .len = 8, .off = 24 },
		},
	}, {
		.op = XENVHCA_OP_CREATE_SRQ,
		.in_min = 16, .in_max = 16, .out_min = 8, .out_max = 8,
		.req = {
			{ .kind = VHCA_REF, .len = 4, .off = 0 },
			{ .kind = VHCA_COOKIE, .len = 4, .off = 4 },
			MTHCA_DBPAGE(8),
		},
		.rsp = { { .kind = VHCA_DEV, .len = 4, .off = 0 } },
	},
	{ .op = 0 },
};

/* The driver ignores the offset and always maps the context's one page. */
static const struct vhca_mmap mthca_mmaps[] = {
	{ VHCA_MMAP_MMIO, XENVHCA_PROT_NC, 0, 0, 0 },
	{ .kind = VHCA_MMAP_END },
};

const struct vhca_provider vhca_provider_mthca = {
	.name = "mthca",
	.driver_id = MTHCA_DRIVER_ID,
	.abi_min = MTHCA_ABI,
	.abi_max = MTHCA_ABI,
	.ask_out_len = 8,
	.ops = mthca_ops,
	.mmaps = mthca_mmaps,
};
