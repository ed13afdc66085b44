/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Commands in plain memory, for tests without frontend/ring/ring_cmd.c. Included after a
 * header that declares it.
 */
#ifndef TEST_CMD_ALLOC_H
#define TEST_CMD_ALLOC_H

struct vhca_cmd *vhca_cmd_alloc(u16 op, u32 ucontext)
{
	struct vhca_cmd *cmd = calloc(1, sizeof(*cmd));

	cmd->req.op = op;
	return cmd;
}

#endif
