// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * For every op a request that succeeds; the hostile tests spoil one field of
 * it at a time. Lengths of udata are those of Soft-RoCE's provider, unless
 * good_mlx5.c changes them.
 */
#include <arpa/inet.h>
#include <rdma/rdma_user_cm.h>

#include "vhca-cm.h"
#include "wire.h"

#define NAME(OP) [XENVHCA_OP_##OP] = #OP

const char *const wire_op_name[XENVHCA_OP_MAX] = {
	NAME(GET_INFO), NAME(QUERY_DEVICE), NAME(QUERY_PORT),
	NAME(QUERY_GID_TABLE), NAME(QUERY_PKEY_TABLE), NAME(ALLOC_UCONTEXT),
	NAME(QUERY_COUNTER_NAMES), NAME(QUERY_COUNTERS),
	NAME(DEALLOC_UCONTEXT), NAME(MMAP), NAME(MUNMAP), NAME(ALLOC_PD),
	NAME(DEALLOC_PD), NAME(REG_MR), NAME(REREG_MR), NAME(DEREG_MR),
	NAME(ALLOC_MW), NAME(DEALLOC_MW), NAME(CREATE_CQ), NAME(RESIZE_CQ),
	NAME(DESTROY_CQ), NAME(MODIFY_CQ), NAME(CREATE_QP), NAME(MODIFY_QP), NAME(QUERY_QP),
	NAME(DESTROY_QP), NAME(CREATE_SRQ), NAME(MODIFY_SRQ), NAME(QUERY_SRQ),
	NAME(DESTROY_SRQ), NAME(CREATE_AH), NAME(DESTROY_AH),
	NAME(ATTACH_MCAST), NAME(DETACH_MCAST), NAME(ALLOC_XRCD),
	NAME(DEALLOC_XRCD), NAME(ALLOC_CM), NAME(DEALLOC_CM), NAME(CM_COMMAND),
	NAME(ALLOC_UMAD), NAME(DEALLOC_UMAD), NAME(REGISTER_UMAD),
	NAME(UNREGISTER_UMAD), NAME(SEND_UMAD), NAME(RECV_UMAD),
};

/* Ops that name no verbs context. */
static bool of_device(uint16_t op)
{
	return op <= XENVHCA_OP_ALLOC_UCONTEXT || op >= XENVHCA_OP_ALLOC_CM ||
	       op == XENVHCA_OP_ALLOC_XRCD || op == XENVHCA_OP_DEALLOC_XRCD;
}

static bool exists(const struct ctx *c, uint16_t op)
{
	if (op >= XENVHCA_OP_MAX || !wire_op_name[op])
		return false;
	return c->mlx5 || (op != XENVHCA_OP_ALLOC_XRCD &&
			   op != XENVHCA_OP_DEALLOC_XRCD &&
			   op != XENVHCA_OP_MODIFY_CQ);
}

static struct xenvhca_reg_mr_req good_mr(const struct ctx *c)
{
	return (struct xenvhca_reg_mr_req){
		.pd = c->pd, .access = 7, .iova = 0x7f0000001010ull,
		.length = 2 * XENVHCA_PAGE_SIZE, .page_offset = 0x10,
		.pages = {
			.nr_pages = 3,
			.gref = { LOOP_REF(1), LOOP_REF(2), LOOP_REF(3) },
		},
	};
}

static struct xenvhca_ah_attr good_ah(void)
{
	return (struct xenvhca_ah_attr){
		.dgid = { 0xfe, 0x80 }, .is_global = 1, .port_num = 1,
		.hop_limit = 64,
	};
}

static void good_create_qp(const struct ctx *c, struct xenvhca_request *r)
{
	r->out_len = 32;
	r->u.create_qp = (struct xenvhca_create_qp_req){
		.pd = c->pd, .send_cq = c->cq, .recv_cq = c->cq,
		.srq = c->srq, .qp_type = 2,
		.cap = { 16, 16, 2, 2, 64, 0 },
	};
}

static void good_modify_qp(const struct ctx *c, struct xenvhca_request *r)
{
	r->u.modify_qp = (struct xenvhca_modify_qp_req){
		.handle = c->qp,
		/* state, access, P_Key index, port, address vector */
		.attr = {
			.mask = 1 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 7,
			.qp_state = 1, .port_num = 1, .ah = good_ah(),
		},
	};
}

static void good_rereg(const struct ctx *c, struct xenvhca_request *r)
{
	r->u.rereg_mr = (struct xenvhca_rereg_mr_req){
		.handle = c->mr, .flags = 7, .mr = good_mr(c),
	};
}

/* Requests that name one object by struct xenvhca_handle_req. */
static uint32_t one_handle(const struct ctx *c, uint16_t op)
{
	switch (op) {
	case XENVHCA_OP_DEALLOC_PD:
		return c->pd;
	case XENVHCA_OP_DEREG_MR:
		return c->mr;
	case XENVHCA_OP_DEALLOC_MW:
		return c->mw;
	case XENVHCA_OP_DESTROY_CQ:
		return c->cq;
	case XENVHCA_OP_DESTROY_QP:
		return c->qp;
	case XENVHCA_OP_QUERY_SRQ:
	case XENVHCA_OP_DESTROY_SRQ:
		return c->srq;
	case XENVHCA_OP_DESTROY_AH:
		return c->ah;
	case XENVHCA_OP_DEALLOC_XRCD:
		return c->xrcd;
	case XENVHCA_OP_DEALLOC_CM:
		return c->cm;
	case XENVHCA_OP_DEALLOC_UMAD:
		return c->umad;
	default:
		return 0;
	}
}

static void good_small(const struct ctx *c, struct xenvhca_request *r)
{
	switch (r->op) {
	case XENVHCA_OP_MMAP:
		r->u.mmap.offset = c->cq_offset;
		r->u.mmap.length = c->cq_size;
		break;
	case XENVHCA_OP_MUNMAP:
		r->u.munmap.offset[0] = c->cq_offset;
		break;
	case XENVHCA_OP_ALLOC_MW:
		r->u.alloc_mw.pd = c->pd;
		r->u.alloc_mw.type = 1;
		break;
	case XENVHCA_OP_CREATE_CQ:
		r->out_len = 16;
		r->u.create_cq.cqe = 100;
		break;
	case XENVHCA_OP_RESIZE_CQ:
		r->out_len = 16;
		r->u.resize_cq.handle = c->cq;
		r->u.resize_cq.cqe = 200;
		break;
	case XENVHCA_OP_MODIFY_CQ:
		r->u.modify_cq = (struct xenvhca_modify_cq_req){
			.handle = c->cq, .count = 8, .period = 16,
		};
		break;
	case XENVHCA_OP_QUERY_QP:
		r->u.query_qp.handle = c->qp;
		break;
	case XENVHCA_OP_ATTACH_MCAST:
	case XENVHCA_OP_DETACH_MCAST:
		r->u.mcast.qp = c->ud;
		r->u.mcast.gid[0] = 0xff;
		break;
	default:
		r->u.handle.handle = one_handle(c, r->op);
	}
}

static void good_srq(const struct ctx *c, struct xenvhca_request *r)
{
	if (r->op == XENVHCA_OP_CREATE_SRQ) {
		r->out_len = 24;
		r->u.create_srq.pd = c->pd;
		r->u.create_srq.max_wr = 32;
		r->u.create_srq.max_sge = 2;
		return;
	}
	r->in_len = 8;
	r->out_len = 16;
	r->u.modify_srq.handle = c->srq;
	r->u.modify_srq.mask = 1;
	r->u.modify_srq.max_wr = 64;
}

void wire_good_cm(const struct ctx *c, uint32_t cmd, struct xenvhca_request *r)
{
	struct xenvhca_cm_command_req *q = &r->u.cm_command;
	const struct vhca_cm_op *op;
	int err;

	op = vhca_cm_op(cmd, &err);
	*r = wire_req(XENVHCA_OP_CM_COMMAND, 0);
	q->cm = c->cm;
	q->cmd = cmd;
	q->in_len = op->in;
	q->out_len = op->out;
	q->from = cmd == RDMA_USER_CM_CMD_MIGRATE_ID ? c->cm : 0;
	r->in_len = vhca_slot_more(op->in, XENVHCA_CM_IN);
	r->out_len = vhca_slot_more(op->out, XENVHCA_CM_OUT);
	if (cmd == RDMA_USER_CM_CMD_CREATE_ID)
		q->in[17] = RDMA_PS_TCP >> 8, q->in[16] = RDMA_PS_TCP & 0xff;
	else if (op->at_id < XENVHCA_CM_IN)
		memcpy(q->in + op->at_id, &c->cm_id, sizeof(c->cm_id));
	else if (op->at_id != VHCA_CM_NONE)
		memcpy(r->udata + (op->at_id - XENVHCA_CM_IN), &c->cm_id,
		       sizeof(c->cm_id));
}

void wire_good_mad(uint8_t packet[XENVHCA_UMAD_SEND_MAX])
{
	static const uint8_t mad[] = { 1, 4, 1, 1, [15] = 9, [17] = 0x12 };
	struct ib_user_mad_hdr hdr = {
		.qpn = htonl(1), .qkey = htonl(0x80010000), .lid = htons(1),
	};

	memset(packet, 0, XENVHCA_UMAD_SEND_MAX);
	memcpy(packet, &hdr, sizeof(hdr));
	memcpy(packet + sizeof(hdr), mad, sizeof(mad));
}

static void good_umad(const struct ctx *c, struct xenvhca_request *r)
{
	uint8_t packet[XENVHCA_UMAD_SEND_MAX];

	r->u.handle.handle = c->umad;
	switch (r->op) {
	case XENVHCA_OP_REGISTER_UMAD:
		r->u.register_umad.qpn = 1;
		r->u.register_umad.mgmt_class = 4;
		r->u.register_umad.mgmt_class_version = 1;
		break;
	case XENVHCA_OP_UNREGISTER_UMAD:
		r->u.unregister_umad.id = c->agent;
		break;
	case XENVHCA_OP_SEND_UMAD:
		wire_good_mad(packet);
		memcpy(packet, &c->agent, sizeof(c->agent));
		r->u.send_umad.len = sizeof(packet);
		memcpy(r->u.send_umad.packet, packet, XENVHCA_UMAD_BODY);
		r->in_len = sizeof(packet) - XENVHCA_UMAD_BODY;
		memcpy(r->udata, packet + XENVHCA_UMAD_BODY, r->in_len);
		break;
	case XENVHCA_OP_RECV_UMAD:
		r->out_len = XENVHCA_UDATA_SIZE;
		break;
	}
}

bool wire_good(const struct ctx *c, uint16_t op, struct xenvhca_request *r)
{
	if (!exists(c, op))
		return false;
	*r = wire_req(op, of_device(op) ? 0 : c->uc);
	switch (op) {
	case XENVHCA_OP_CREATE_QP:
		good_create_qp(c, r);
		break;
	case XENVHCA_OP_MODIFY_QP:
		good_modify_qp(c, r);
		break;
	case XENVHCA_OP_REG_MR:
		r->u.reg_mr = good_mr(c);
		break;
	case XENVHCA_OP_REREG_MR:
		good_rereg(c, r);
		break;
	case XENVHCA_OP_CREATE_AH:
		r->out_len = 8;
		r->u.create_ah.pd = c->pd;
		r->u.create_ah.attr = good_ah();
		break;
	case XENVHCA_OP_CREATE_SRQ:
	case XENVHCA_OP_MODIFY_SRQ:
		good_srq(c, r);
		break;
	case XENVHCA_OP_CM_COMMAND:
		wire_good_cm(c, RDMA_USER_CM_CMD_CREATE_ID, r);
		break;
	case XENVHCA_OP_REGISTER_UMAD:
	case XENVHCA_OP_UNREGISTER_UMAD:
	case XENVHCA_OP_SEND_UMAD:
	case XENVHCA_OP_RECV_UMAD:
		good_umad(c, r);
		break;
	default:
		good_small(c, r);
	}
	if (c->mlx5)
		wire_good_mlx5(c, r);
	return true;
}
