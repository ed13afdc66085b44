// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The opcode CM_COMMAND: octets of a process, not udata of an HCA, in body and udata
 * of a slot. It runs in the process that made the system call.
 */
#include <linux/slab.h>

#include "cm.h"

static void call_load(struct vhca_cmd *cmd, const struct vhca_cm_call *c)
{
	struct xenvhca_cm_command_req *req = &cmd->req.u.cm_command;

	*req = (struct xenvhca_cm_command_req){
		.cmd = c->cmd, .in_len = c->in_len, .out_len = c->room,
		.from = c->from,
	};
	cmd->req.in_len = vhca_slot_put(req->in, sizeof(req->in),
					cmd->req.udata, c->in, c->in_len);
	cmd->req.out_len = vhca_slot_more(c->room, XENVHCA_CM_OUT);
}

/* The header was checked: there are not more udata than were asked for. */
static int call_answer(struct vhca_file *file, const struct vhca_cmd *cmd)
{
	const struct xenvhca_cm_command_rsp *rsp = &cmd->rsp.u.cm_command;

	if (rsp->out_len > cmd->req.u.cm_command.out_len ||
	    cmd->rsp.out_len != vhca_slot_more(rsp->out_len, sizeof(rsp->out)))
		return -EIO;
	vhca_file_notify(file, rsp->seq, rsp->events);
	return 0;
}

static void call_store(const struct vhca_cmd *cmd, struct vhca_cm_call *c)
{
	const struct xenvhca_cm_command_rsp *rsp = &cmd->rsp.u.cm_command;

	c->out_len = rsp->out_len;
	vhca_slot_take(c->out, c->out_len, rsp->out, sizeof(rsp->out),
		       cmd->rsp.udata);
}

int vhca_cmd_cm_command(struct vhca_cm_part *part, struct vhca_cm_call *c)
{
	struct vhca_cmd *cmd = vhca_cmd_alloc(XENVHCA_OP_CM_COMMAND, 0);
	/* Nobody could tell afterwards in which file the id is. */
	unsigned int flags = c->cmd == RDMA_USER_CM_CMD_MIGRATE_ID ?
			     VHCA_CMD_APART | VHCA_CMD_CERTAIN : VHCA_CMD_APART;
	int rc;

	if (!cmd)
		return -ENOMEM;
	call_load(cmd, c);
	rc = vhca_file_command(&part->f, &cmd, flags, call_answer);
	if (!rc)
		call_store(cmd, c);
	kfree(cmd);
	return rc;
}
