// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The opcodes of management datagrams. A datagram fits a slot; what is received may be
 * longer and comes in parts. They run in the process that made the system call.
 */
#include "umad.h"
#include "vhca.h"

/* Consumes @cmd; its answer is in *rsp, which may be NULL. */
static int umad_submit(struct vhca_dev *dev, struct vhca_cmd *cmd,
		       unsigned int flags, struct xenvhca_response *rsp)
{
	int rc = vhca_ring_submit(dev, &cmd, flags);

	if (!rc && rsp)
		*rsp = cmd->rsp;
	if (cmd)	/* else the ring holds it until the late answer */
		vhca_cmd_free(cmd);
	return rc;
}

/* An agent whose number did not arrive goes with its file. */
int vhca_cmd_register_umad(struct vhca_dev *dev,
			   const struct xenvhca_register_umad_req *req, u32 *id)
{
	struct vhca_cmd *cmd = vhca_cmd_alloc(XENVHCA_OP_REGISTER_UMAD, 0);
	struct xenvhca_response rsp;
	int rc;

	if (!cmd)
		return -ENOMEM;
	cmd->req.u.register_umad = *req;
	rc = umad_submit(dev, cmd, 0, &rsp);
	if (rc)
		return rc;
	*id = rsp.u.register_umad.id;
	return *id < XENVHCA_UMAD_AGENTS ? 0 : -EIO;
}

int vhca_cmd_unregister_umad(struct vhca_dev *dev, u32 umad, u32 id)
{
	struct vhca_cmd *cmd = vhca_cmd_alloc(XENVHCA_OP_UNREGISTER_UMAD, 0);

	if (!cmd)
		return -ENOMEM;
	cmd->req.u.unregister_umad.umad = umad;
	cmd->req.u.unregister_umad.id = id;
	return umad_submit(dev, cmd, VHCA_CMD_DESTROY, NULL);
}

int vhca_cmd_send_umad(struct vhca_dev *dev, u32 umad, const void *packet,
		       u16 len)
{
	u16 first = min_t(u16, len, XENVHCA_UMAD_BODY);
	struct vhca_cmd *cmd;

	if (len > XENVHCA_UMAD_SEND_MAX)
		return -EINVAL;
	cmd = vhca_cmd_alloc(XENVHCA_OP_SEND_UMAD, 0);
	if (!cmd)
		return -ENOMEM;
	cmd->req.u.send_umad.umad = umad;
	cmd->req.u.send_umad.len = len;
	memcpy(cmd->req.u.send_umad.packet, packet, first);
	memcpy(cmd->req.udata, (const u8 *)packet + first, len - first);
	cmd->req.in_len = len - first;
	return umad_submit(dev, cmd, 0, NULL);
}

/* The header was checked: there are not more udata than were asked for. */
static int part_store(const struct xenvhca_response *rsp, u32 offset,
		      struct vhca_umad_part *part)
{
	const struct xenvhca_recv_umad_rsp *r = &rsp->u.recv_umad;
	u16 first;

	part->len = r->len;
	part->seq = r->seq;
	part->events = r->events;
	part->nr = 0;
	if (!r->len)
		return offset || rsp->out_len ? -EIO : 0;
	if (r->len > XENVHCA_UMAD_RECV_MAX || r->len <= offset ||
	    r->len < sizeof(struct ib_user_mad_hdr) + VHCA_MAD_HEAD)
		return -EIO;
	part->nr = min_t(u32, r->len - offset, VHCA_UMAD_SLOT);
	first = min_t(u16, part->nr, XENVHCA_UMAD_BODY);
	if (rsp->out_len != part->nr - first)
		return -EIO;
	memcpy(part->octet, r->packet, first);
	memcpy(part->octet + first, rsp->udata, part->nr - first);
	return 0;
}

int vhca_cmd_recv_umad(struct vhca_dev *dev, u32 umad, u32 offset,
		       struct vhca_umad_part *part)
{
	struct vhca_cmd *cmd = vhca_cmd_alloc(XENVHCA_OP_RECV_UMAD, 0);
	int rc;

	if (!cmd)
		return -ENOMEM;
	cmd->req.u.recv_umad.umad = umad;
	cmd->req.u.recv_umad.offset = offset;
	cmd->req.out_len = XENVHCA_UDATA_SIZE;
	rc = vhca_ring_submit(dev, &cmd, 0);
	if (!rc)
		rc = part_store(&cmd->rsp, offset, part);
	if (cmd)	/* else the ring holds it until the late answer */
		vhca_cmd_free(cmd);
	return rc;
}
