// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Queue pairs of the small driver: created and modified with the fields that
 * mlx5_ib fills in. See drv.h.
 */
#include <stdlib.h>
#include <string.h>

#include "drv.h"

#define PAGE 4096u

static size_t rq_bytes(const struct drv_qp *qp)
{
	return qp->log_rq_stride ? 1UL << (qp->log_rq + qp->log_rq_stride) : 0;
}

static size_t qp_bytes(const struct drv_qp *qp)
{
	return rq_bytes(qp) + (qp->no_sq ? 0 : 64UL << qp->log_sq);
}

static void sizes(struct drv_qp *qp, const struct drv_qp_init *i)
{
	qp->type = i->type;
	qp->scq = i->scq;
	qp->rcq = i->rcq;
	qp->srq = i->srq;
	qp->xrc_target = i->xrc_target;
	qp->no_sq = i->xrc_target || i->no_sq;
	qp->log_sq = i->log_sq ? i->log_sq : 6;
	if (i->srq || i->type == DRV_XRC)
		return;
	qp->log_rq = i->log_rq ? i->log_rq : 6;
	qp->log_rq_stride = i->log_rq_stride ? i->log_rq_stride : 6;
}

/* get_rx_type() and the defaults of create_user_qp(), create_xrc_tgt_qp(). */
static void context_rq(struct drv *v, const struct drv_qp *qp, uint8_t *c)
{
	bool shared = qp->srq || qp->type == DRV_XRC;

	CX_SET(qpc, c, rq_type, shared ? 1 : 0);
	CX_SET(qpc, c, cqn_rcv, qp->rcq ? qp->rcq->cqn : v->c0.cqn);
	if (qp->type == DRV_XRC) {
		CX_SET(qpc, c, xrcd, qp->xrc_target ? v->xrcd : v->xrcd1);
		CX_SET(qpc, c, srqn_rmpn_xrqn, v->s0.srqn);
	} else {
		CX_SET(qpc, c, xrcd, qp->srq ? v->xrcd0 : v->xrcd1);
		CX_SET(qpc, c, srqn_rmpn_xrqn,
		       qp->srq ? qp->srq->srqn : v->s1.srqn);
	}
	if (qp->log_rq_stride) {
		CX_SET(qpc, c, log_rq_stride, qp->log_rq_stride - 4);
		CX_SET(qpc, c, log_rq_size, qp->log_rq);
	}
}

static void context(struct drv *v, const struct drv_qp *qp,
		    const struct drv_qp_init *i, uint8_t *c)
{
	CX_SET(qpc, c, st, qp->type);
	CX_SET(qpc, c, pm_state, 3);
	CX_SET(qpc, c, pd, i->pd ? i->pd : v->pd);
	CX_SET(qpc, c, uar_page, qp->uar);
	CX_SET(qpc, c, cqn_snd, qp->scq ? qp->scq->cqn : v->c0.cqn);
	CX_SET64(qpc, c, dbr_addr, rig_bus(v->rig, qp->db));
	CX_SET(qpc, c, user_index, qp->user_index);
	CX_SET(qpc, c, cs_req, i->cs_req);
	CX_SET(qpc, c, cs_res, i->cs_res);
	CX_SET(qpc, c, fre, i->kernel);
	CX_SET(qpc, c, rlky, i->kernel);
	if (qp->type == DRV_UD && !i->loop_mc)
		CX_SET(qpc, c, block_lb_mc, 1);
	if (i->rndv || (qp->no_sq && qp->srq && qp->srq->kind == DRV_SRQ_TM))
		CX_SET(qpc, c, offload_type, MLX5_QPC_OFFLOAD_TYPE_RNDV);
	if (qp->no_sq)
		CX_SET(qpc, c, no_sq, 1);
	else
		CX_SET(qpc, c, log_sq_size, qp->log_sq);
	context_rq(v, qp, c);
}

int drv_qp(struct drv *v, struct drv_qp *qp, const struct drv_qp_init *init)
{
	size_t bytes, len;
	uint8_t out[CX_BYTES(create_qp_out)], *in, *buf = NULL;
	int ret = DRV_LOST;

	memset(qp, 0, sizeof(*qp));
	qp->drv = v;
	qp->user_index = 0xabc000 + ++v->qps;
	qp->uar = init->uar ? init->uar : v->uar;
	sizes(qp, init);
	bytes = qp_bytes(qp);
	len = CX_BYTES(create_qp_in) + 8 * ((bytes + PAGE - 1) / PAGE);
	in = calloc(1, len);
	qp->db = drv_db(v);
	if (bytes)
		buf = rig_alloc(v->rig, bytes);
	if (in && qp->db && (buf || !bytes)) {
		qp->rq = buf;
		qp->sq = buf ? buf + rq_bytes(qp) : NULL;
		CX_SET(create_qp_in, in, opcode, MLX5_CMD_OP_CREATE_QP);
		context(v, qp, init, CX_ADDR(create_qp_in, in, qpc));
		drv_pas(v, CX_ADDR(create_qp_in, in, pas), buf, bytes);
		ret = drv_exec(v, in, len, out, sizeof(out));
		qp->qpn = CX_GET(create_qp_out, out, qpn);
	}
	free(in);
	return ret;
}

int drv_qp_destroy(struct drv_qp *qp)
{
	return drv_simple(qp->drv, MLX5_CMD_OP_DESTROY_QP, qp->qpn, NULL);
}

int drv_qp_to(struct drv_qp *qp, uint16_t opcode)
{
	return drv_simple(qp->drv, opcode, qp->qpn, NULL);
}

static void path(uint8_t *ads, const struct drv_path *p)
{
	CX_SET(ads, ads, vhca_port_num, 1);
	CX_SET(ads, ads, rlid, p->dlid);
	CX_SET(ads, ads, ack_timeout, p->timeout);
	CX_SET(ads, ads, src_addr_index, p->sgid_index);
	if (p->dmac) {
		memcpy(CX_ADDR(ads, ads, rmac_47_32), p->dmac, 6);
		CX_SET(ads, ads, udp_sport, p->sport);
	}
	if (p->dgid) {
		CX_SET(ads, ads, grh, !p->dmac);
		CX_SET(ads, ads, hop_limit, 1);
		memcpy(CX_ADDR(ads, ads, rgid_rip), p->dgid, 16);
	}
}

int drv_qp_modify(struct drv_qp *qp, uint16_t opcode, uint32_t optpar,
		  const struct drv_path *p)
{
	uint8_t in[CX_BYTES(rst2init_qp_in)] = { 0 };
	uint8_t out[CX_BYTES(rst2init_qp_out)];
	uint8_t *c = CX_ADDR(rst2init_qp_in, in, qpc);
	bool ud = qp->type == DRV_UD || qp->type == DRV_QP1;

	CX_SET(rst2init_qp_in, in, opcode, opcode);
	CX_SET(rst2init_qp_in, in, qpn, qp->qpn);
	CX_SET(rst2init_qp_in, in, opt_param_mask, optpar);
	CX_SET(qpc, c, st, qp->type);
	CX_SET(qpc, c, pm_state, 3);
	CX_SET(qpc, c, mtu, p->mtu ? p->mtu : 5);
	CX_SET(qpc, c, log_msg_max, ud ? 12 : 30);
	CX_SET(qpc, c, remote_qpn, p->qpn);
	path(CX_ADDR(qpc, c, primary_address_path), p);
	CX_SET(qpc, c, pd, qp->drv->pd);
	CX_SET(qpc, c, cqn_snd, qp->scq ? qp->scq->cqn : qp->drv->c0.cqn);
	CX_SET(qpc, c, cqn_rcv, qp->rcq ? qp->rcq->cqn : qp->drv->c0.cqn);
	CX_SET(qpc, c, log_ack_req_freq, 8);
	CX_SET(qpc, c, rnr_retry, p->rnr_retry);
	CX_SET(qpc, c, retry_count, p->retry);
	CX_SET(qpc, c, log_sra_max, p->log_rd);
	CX_SET(qpc, c, log_rra_max, p->log_rd);
	CX_SET(qpc, c, next_send_psn, p->psn);
	CX_SET(qpc, c, next_rcv_psn, p->psn);
	CX_SET(qpc, c, rre, !!(p->access & DRV_RR));
	CX_SET(qpc, c, rwe, !!(p->access & DRV_RW));
	CX_SET(qpc, c, rae, !!(p->access & DRV_RA));
	CX_SET(qpc, c, atomic_mode, p->access & DRV_RA ? 1 : 0);
	CX_SET(qpc, c, min_rnr_nak, p->min_rnr);
	CX_SET(qpc, c, q_key, p->qkey);
	CX_SET(qpc, c, counter_set_id, qp->drv->counter);
	CX_SET64(qpc, c, dbr_addr, rig_bus(qp->drv->rig, qp->db));
	return drv_exec(qp->drv, in, sizeof(in), out, sizeof(out));
}

int drv_qp_init(struct drv_qp *qp, const struct drv_path *p)
{
	return drv_qp_modify(qp, MLX5_CMD_OP_RST2INIT_QP, 0, p);
}

/* MLX5_QP_OPTPAR_RRE, RAE, RWE; of RTR2RTS also RNR_TIMEOUT. */
int drv_qp_rtr(struct drv_qp *qp, const struct drv_path *p)
{
	return drv_qp_modify(qp, MLX5_CMD_OP_INIT2RTR_QP,
			     qp->type == DRV_UD ? 0 : 0xe, p);
}

int drv_qp_rts(struct drv_qp *qp, const struct drv_path *p)
{
	return drv_qp_modify(qp, MLX5_CMD_OP_RTR2RTS_QP, 0, p);
}

int drv_qp_up(struct drv_qp *qp, const struct drv_path *p)
{
	int ret = drv_qp_init(qp, p);

	if (!ret)
		ret = drv_qp_rtr(qp, p);
	return ret ? ret : drv_qp_rts(qp, p);
}

int drv_qp_query(struct drv_qp *qp, uint8_t qpc[CX_BYTES(qpc)])
{
	uint8_t in[CX_BYTES(query_qp_in)] = { 0 };
	uint8_t out[CX_BYTES(query_qp_out)];
	int ret;

	CX_SET(query_qp_in, in, opcode, MLX5_CMD_OP_QUERY_QP);
	CX_SET(query_qp_in, in, qpn, qp->qpn);
	ret = drv_exec(qp->drv, in, sizeof(in), out, sizeof(out));
	memcpy(qpc, CX_ADDR(query_qp_out, out, qpc), CX_BYTES(qpc));
	return ret;
}

int drv_qp_state(struct drv_qp *qp)
{
	uint8_t qpc[CX_BYTES(qpc)];

	return drv_qp_query(qp, qpc) ? -1 : (int)CX_GET(qpc, qpc, state);
}

int drv_mcg(struct drv_qp *qp, const uint8_t gid[16], bool attach)
{
	uint8_t in[CX_BYTES(attach_to_mcg_in)] = { 0 };
	uint8_t out[CX_BYTES(attach_to_mcg_out)];

	CX_SET(attach_to_mcg_in, in, opcode, attach ?
	       MLX5_CMD_OP_ATTACH_TO_MCG : MLX5_CMD_OP_DETACH_FROM_MCG);
	CX_SET(attach_to_mcg_in, in, qpn, qp->qpn);
	memcpy(CX_ADDR(attach_to_mcg_in, in, multicast_gid), gid, 16);
	return drv_exec(qp->drv, in, sizeof(in), out, sizeof(out));
}

int drv_connect(struct drv_qp *a, uint16_t lid_a, struct drv_qp *b,
		uint16_t lid_b, const struct drv_path *p)
{
	struct drv_path to = *p;
	int ret;

	to.dlid = lid_b;
	to.qpn = b->qpn;
	ret = drv_qp_up(a, &to);
	to.dlid = lid_a;
	to.qpn = a->qpn;
	return ret ? ret : drv_qp_up(b, &to);
}
