// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The opcodes QUERY_COUNTER_NAMES and QUERY_COUNTERS. They run in the process that
 * reads a file of sysfs, and in the work that registers the device.
 */
#include "cmd.h"

/* The answer is in the command, which the caller frees; NULL or -errno: none. */
static struct vhca_cmd *counters_ask(struct vhca_dev *dev, u16 op, u32 group,
				     u32 first)
{
	struct vhca_cmd *cmd = vhca_cmd_alloc(op, 0);
	int rc;

	if (!cmd)
		return ERR_PTR(-ENOMEM);
	cmd->req.u.counters = (struct xenvhca_counters_req){
		.group = group, .first = first,
	};
	rc = vhca_ring_submit(dev, &cmd, 0);
	if (!rc)
		return cmd;
	if (cmd)	/* else the ring holds it until the late answer */
		vhca_cmd_free(cmd);
	return ERR_PTR(rc);
}

int vhca_cmd_query_counter_names(struct vhca_dev *dev, u32 group, u32 first,
				 struct xenvhca_query_counter_names_rsp *rsp)
{
	struct vhca_cmd *cmd = counters_ask(dev, XENVHCA_OP_QUERY_COUNTER_NAMES,
					    group, first);

	if (IS_ERR(cmd))
		return PTR_ERR(cmd);
	*rsp = cmd->rsp.u.query_counter_names;
	vhca_cmd_free(cmd);
	return 0;
}

int vhca_cmd_query_counters(struct vhca_dev *dev, u32 group, u32 first,
			    struct xenvhca_query_counters_rsp *rsp)
{
	struct vhca_cmd *cmd = counters_ask(dev, XENVHCA_OP_QUERY_COUNTERS,
					    group, first);

	if (IS_ERR(cmd))
		return PTR_ERR(cmd);
	*rsp = cmd->rsp.u.query_counters;
	vhca_cmd_free(cmd);
	return 0;
}
