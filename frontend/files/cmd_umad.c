// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The opcodes of management datagrams. A datagram fits a slot; a received packet may be
 * longer and comes in parts. They run in the process that made the system call.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "umad.h"
#include "vhca.h"

/* An agent whose number was lost ends with its file. */
int vhca_cmd_register_umad(struct vhca_umad *umad,
			   const struct ib_user_mad_reg_req2 *r, u32 *id)
{
	struct vhca_cmd *cmd = vhca_cmd_alloc(XENVHCA_OP_REGISTER_UMAD, 0);
	struct xenvhca_register_umad_req *req;
	int rc;

	if (!cmd)
		return -ENOMEM;
	req = &cmd->req.u.register_umad;
	req->qpn = r->qpn;
	req->mgmt_class = r->mgmt_class;
	req->mgmt_class_version = r->mgmt_class_version;
	req->rmpp_version = r->rmpp_version;
	if (r->mgmt_class) {		/* else nothing else counts */
		req->oui = r->oui;
		memcpy(req->method_mask, r->method_mask,
		       sizeof(req->method_mask));
	}
	rc = vhca_file_command(&umad->f, &cmd, 0, NULL);
	if (!rc) {
		*id = cmd->rsp.u.register_umad.id;
		rc = *id < XENVHCA_UMAD_AGENTS ? 0 : -EIO;
	}
	kfree(cmd);
	return rc;
}

int vhca_cmd_unregister_umad(struct vhca_umad *umad, u32 id)
{
	struct vhca_cmd *cmd;
	int rc;

	if (id >= XENVHCA_UMAD_AGENTS)
		return -EINVAL;
	cmd = vhca_cmd_alloc(XENVHCA_OP_UNREGISTER_UMAD, 0);
	if (!cmd)
		return -ENOMEM;
	cmd->req.u.unregister_umad.id = id;
	rc = vhca_file_command(&umad->f, &cmd, VHCA_CMD_DESTROY, NULL);
	kfree(cmd);
	return rc;
}

int vhca_cmd_send_umad(struct vhca_umad *umad, const u8 *packet, u16 len)
{
	struct vhca_cmd *cmd = vhca_cmd_alloc(XENVHCA_OP_SEND_UMAD, 0);
	int rc;

	if (!cmd)
		return -ENOMEM;
	cmd->req.u.send_umad.len = len;
	cmd->req.in_len = vhca_slot_put(cmd->req.u.send_umad.packet,
					XENVHCA_UMAD_BODY, cmd->req.udata,
					packet, len);
	rc = vhca_file_command(&umad->f, &cmd, 0, NULL);
	kfree(cmd);
	return rc;
}

void vhca_umad_drop(struct vhca_umad *umad)
{
	kvfree(umad->packet);
	umad->packet = NULL;
	umad->room = 0;
	umad->at = 0;
	WRITE_ONCE(umad->full, false);
}

static int packet_room(struct vhca_umad *umad, u32 len)
{
	u8 *p;

	if (umad->room >= len)
		return 0;
	p = kvmalloc(len, GFP_KERNEL_ACCOUNT);
	if (!p)
		return -ENOMEM;
	vhca_umad_drop(umad);
	umad->packet = p;
	umad->room = len;
	return 0;
}

/*
 * Copies the octets from umad->at on; -EAGAIN: there is no packet. The header was
 * checked: the udata are not longer than requested.
 */
static int part_store(struct vhca_file *file, const struct vhca_cmd *cmd)
{
	struct vhca_umad *umad = container_of(file, struct vhca_umad, f);
	const struct xenvhca_recv_umad_rsp *r = &cmd->rsp.u.recv_umad;
	const u32 least = sizeof(struct ib_user_mad_hdr) + VHCA_MAD_HEAD;
	u32 nr;
	int rc;

	if (r->len > XENVHCA_UMAD_RECV_MAX)
		return -EIO;
	/* none at all only at the beginning, else more than there is yet */
	if (r->len ? r->len <= umad->at || r->len < least : umad->at)
		return -EIO;
	nr = min_t(u32, r->len - umad->at, VHCA_UMAD_SLOT);
	if (cmd->rsp.out_len != vhca_slot_more(nr, XENVHCA_UMAD_BODY))
		return -EIO;
	vhca_file_notify(file, r->seq, r->events);
	if (!r->len)
		return -EAGAIN;
	if (umad->at && r->len != umad->len)
		return -EIO;
	rc = packet_room(umad, r->len);
	if (rc)
		return rc;
	umad->len = r->len;
	vhca_slot_take(umad->packet + umad->at, nr, r->packet,
		       XENVHCA_UMAD_BODY, cmd->rsp.udata);
	umad->at += nr;
	return 0;
}

/* The backend forgets a packet with its last octet: room comes before the command. */
int vhca_cmd_recv_umad(struct vhca_umad *umad)
{
	struct vhca_cmd *cmd;
	int rc = packet_room(umad, VHCA_UMAD_SLOT);

	if (rc)
		return rc;
	cmd = vhca_cmd_alloc(XENVHCA_OP_RECV_UMAD, 0);
	if (!cmd)
		return -ENOMEM;
	cmd->req.u.recv_umad.offset = umad->at;
	cmd->req.out_len = XENVHCA_UDATA_SIZE;
	rc = vhca_file_command(&umad->f, &cmd, 0, part_store);
	kfree(cmd);
	return rc;
}
