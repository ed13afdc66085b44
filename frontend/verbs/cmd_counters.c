// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The opcodes QUERY_COUNTER_NAMES and QUERY_COUNTERS. They run in the process that
 * reads a file of sysfs, and in the work that registers the device.
 */
#include "cmd.h"

/* *rsp: the answer's body, len octets. */
static int counters_ask(struct vhca_dev *dev, u16 op, u32 group, u32 first,
			void *rsp, size_t len)
{
	struct vhca_cmd *cmd = vhca_cmd_alloc(op, 0);
	int rc;

	if (!cmd)
		return -ENOMEM;
	cmd->req.u.counters = (struct xenvhca_counters_req){
		.group = group, .first = first,
	};
	rc = vhca_ring_submit(dev, &cmd, 0);
	if (!rc)
		memcpy(rsp, cmd->rsp.u.raw, len);
	if (cmd)	/* else the ring holds it until the late answer */
		vhca_cmd_free(cmd);
	return rc;
}

int vhca_cmd_query_counter_names(struct vhca_dev *dev, u32 group, u32 first,
				 struct xenvhca_query_counter_names_rsp *rsp)
{
	return counters_ask(dev, XENVHCA_OP_QUERY_COUNTER_NAMES, group, first,
			    rsp, sizeof(*rsp));
}

int vhca_cmd_query_counters(struct vhca_dev *dev, u32 group, u32 first,
			    struct xenvhca_query_counters_rsp *rsp)
{
	return counters_ask(dev, XENVHCA_OP_QUERY_COUNTERS, group, first, rsp,
			    sizeof(*rsp));
}
