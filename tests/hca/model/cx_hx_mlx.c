// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Send WQEs of the management QPs (transport MLX): their data begin with the
 * headers of the packet, LRH to DETH, and end with room for the ICRC. Here they
 * become what the WQE of a datagram has in its address vector. The kernel writes
 * them; they are checked like a process's.
 */
#include <string.h>

#include "cx_hx.h"

#define HEADERS_MOST	(HX_LRH_BYTES + HX_GRH_BYTES + HX_BTH_BYTES + \
			 HX_DETH_BYTES + HX_IMM_BYTES)

/* So many octets fewer at the beginning of the data. */
static void cut_front(struct cx_swqe *w, uint32_t bytes)
{
	unsigned int i;
	uint32_t part;

	for (i = 0; bytes && i < w->nr; i++) {
		part = w->sge[i].len < bytes ? w->sge[i].len : bytes;
		w->sge[i].addr += part;
		w->sge[i].len -= part;
		w->bytes -= part;
		bytes -= part;
	}
}

static bool cut_icrc(struct cx_swqe *w)
{
	if (!w->nr || !w->sge[w->nr - 1].inl ||
	    w->sge[w->nr - 1].len != HX_ICRC_BYTES)
		return false;
	w->bytes -= HX_ICRC_BYTES;
	w->nr--;
	return true;
}

/* The GID of the sender is looked up, so that nobody can send as another. */
static void take_grh(const struct cx_dev *d, const uint8_t *grh,
		     struct cx_av *av)
{
	uint8_t gid[16];
	unsigned int i;

	av->grh = true;
	av->tclass = hx_get(grh, HX_GRH_TCLASS);
	av->flow = hx_get(grh, HX_GRH_FLOW);
	av->hop = hx_get(grh, HX_GRH_HOP);
	memcpy(av->dgid, grh + HX_GRH_DGID, sizeof(av->dgid));
	for (i = 0; i < CX_GIDS; i++) {
		cx_gid(d, i, gid);
		if (memcmp(gid, grh + HX_GRH_SGID, sizeof(gid)))
			continue;
		av->sgid_index = i;
		break;
	}
}

static int take_bth(struct cx_swqe *w, const uint8_t *bth)
{
	const uint8_t *deth = bth + HX_BTH_BYTES;

	w->solicited = hx_get(bth, HX_BTH_SOLICITED);
	w->pkey = hx_get(bth, HX_BTH_PKEY);
	w->dqpn = hx_get(bth, HX_BTH_QPN);
	w->qkey = hx_get(deth, HX_DETH_QKEY);
	switch (hx_get(bth, HX_BTH_OPCODE)) {
	case HX_BTH_UD_SEND:
		w->opcode = CX_OP_SEND;
		return 0;
	case HX_BTH_UD_IMM:
		w->opcode = CX_OP_SEND_IMM;
		w->imm = cx_be32_get(deth + HX_DETH_BYTES);
		return 0;
	default:
		return -EINVAL;
	}
}

int hx_mlx_headers(struct cx_dev *d, const struct cx_qp *qp, struct cx_swqe *w)
{
	uint8_t raw[HEADERS_MOST] = { 0 }, *at = raw + HX_LRH_BYTES;
	uint32_t room = w->bytes < sizeof(raw) ? w->bytes : sizeof(raw), len;

	if (!cut_icrc(w) || room < HX_LRH_BYTES + HX_BTH_BYTES + HX_DETH_BYTES +
				    HX_ICRC_BYTES)
		return -EINVAL;
	room = w->bytes < sizeof(raw) ? w->bytes : sizeof(raw);
	if (cx_wqe_gather(d, qp, w, 0, raw, room))
		return -EINVAL;
	w->av.sl = hx_get(raw, HX_LRH_SL);
	w->av.dlid = hx_get(raw, HX_LRH_DLID);
	w->av.slid_bits = hx_get(raw + 0, HX_LRH_SLID) & 0x7f;
	if (hx_get(raw, HX_LRH_NEXT) == HX_LRH_GRH) {
		take_grh(d, at, &w->av);
		at += HX_GRH_BYTES;
	}
	if (take_bth(w, at))
		return -EINVAL;
	len = at - raw + HX_BTH_BYTES + HX_DETH_BYTES;
	if (w->opcode == CX_OP_SEND_IMM)
		len += HX_IMM_BYTES;
	if (len > room)
		return -EINVAL;
	cut_front(w, len);
	return 0;
}
