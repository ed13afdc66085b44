// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The opcode CM_COMMAND: octets of a process, not udata of an HCA, in body and udata
 * of a slot. It runs in the process that made the system call.
 */
#include "cm.h"

static void call_load(struct vhca_cmd *cmd, u32 cm, const struct vhca_cm_call *c)
{
	struct xenvhca_cm_command_req *req = &cmd->req.u.cm_command;
	u16 more = vhca_slot_more(c->in_len, sizeof(req->in));

	*req = (struct xenvhca_cm_command_req){
		.cm = cm, .cmd = c->cmd, .in_len = c->in_len,
		.out_len = c->out_len, .from = c->from,
	};
	memcpy(req->in, c->in, c->in_len - more);
	memcpy(cmd->req.udata, c->in + sizeof(req->in), more);
	cmd->req.in_len = more;
	cmd->req.out_len = vhca_slot_more(c->out_len, XENVHCA_CM_OUT);
}

/* The header was checked: there are not more udata than were asked for. */
static int call_store(const struct vhca_cmd *cmd, struct vhca_cm_call *c)
{
	const struct xenvhca_cm_command_rsp *rsp = &cmd->rsp.u.cm_command;
	u16 more = vhca_slot_more(rsp->out_len, sizeof(rsp->out));

	if (rsp->out_len > c->out_len || more != cmd->rsp.out_len)
		return -EIO;
	c->out_len = rsp->out_len;
	c->seq = rsp->seq;
	c->events = rsp->events;
	memcpy(c->out, rsp->out, c->out_len - more);
	memcpy(c->out + sizeof(rsp->out), cmd->rsp.udata, more);
	return 0;
}

int vhca_cmd_cm_command(struct vhca_dev *dev, u32 cm, struct vhca_cm_call *c)
{
	struct vhca_cmd *cmd = vhca_cmd_alloc(XENVHCA_OP_CM_COMMAND, 0);
	/* Nobody could tell afterwards in which file the id is. */
	unsigned int flags = c->cmd == RDMA_USER_CM_CMD_MIGRATE_ID ?
			     VHCA_CMD_APART | VHCA_CMD_CERTAIN : VHCA_CMD_APART;
	int rc;

	if (!cmd)
		return -ENOMEM;
	call_load(cmd, cm, c);
	/* The backend takes so many; all other slots are for verbs. */
	rc = down_killable(&dev->cm_slots);
	if (!rc) {
		rc = vhca_ring_submit(dev, &cmd, flags);
		up(&dev->cm_slots);
	}
	if (!rc)
		rc = call_store(cmd, c);
	if (cmd)	/* else the ring holds it until the late answer */
		vhca_cmd_free(cmd);
	return rc;
}
