// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The small network driver: commands in the order of mlx5e's probe and open,
 * send WQEs as mlx5e_sq_xmit_wqe() writes them. See drv_eth.h.
 */
#include <stdlib.h>
#include <string.h>

#include "drv_eth.h"

#define PAGE 4096u
#define REG_PAOS 0x5006

int drv_reg(struct drv *v, uint16_t id, bool write, uint8_t *data, size_t len)
{
	uint8_t in[CX_BYTES(access_register_in) + 512] = { 0 };
	uint8_t out[CX_BYTES(access_register_out) + 512];
	int ret;

	CX_SET(access_register_in, in, opcode, MLX5_CMD_OP_ACCESS_REG);
	CX_SET(access_register_in, in, op_mod, !write);
	CX_SET(access_register_in, in, register_id, id);
	memcpy(in + CX_BYTES(access_register_in), data, len);
	ret = drv_exec(v, in, CX_BYTES(access_register_in) + len, out,
		       CX_BYTES(access_register_out) + len);
	memcpy(data, out + CX_BYTES(access_register_out), len);
	return ret;
}

int drv_admin(struct drv *v, bool up)
{
	uint8_t paos[CX_BYTES(paos_reg)] = { 0 };

	CX_SET(paos_reg, paos, local_port, 1);
	CX_SET(paos_reg, paos, admin_status, up ? 1 : 2);
	CX_SET(paos_reg, paos, ase, 1);
	return drv_reg(v, REG_PAOS, true, paos, sizeof(paos));
}

bool drv_carrier(struct drv *v)
{
	uint8_t in[CX_BYTES(query_vport_state_in)] = { 0 };
	uint8_t out[CX_BYTES(query_vport_state_out)];

	CX_SET(query_vport_state_in, in, opcode,
	       MLX5_CMD_OP_QUERY_VPORT_STATE);
	return !drv_exec(v, in, sizeof(in), out, sizeof(out)) &&
	       CX_GET(query_vport_state_out, out, state);
}

int drv_roce(struct drv *v, bool on)
{
	uint8_t in[CX_BYTES(modify_nic_vport_context_in)] = { 0 };
	uint8_t out[CX_BYTES(modify_nic_vport_context_out)];

	CX_SET(modify_nic_vport_context_in, in, opcode,
	       MLX5_CMD_OP_MODIFY_NIC_VPORT_CONTEXT);
	CX_SET(modify_nic_vport_context_in, in, field_select.roce_en, 1);
	CX_SET(modify_nic_vport_context_in, in, nic_vport_context.roce_en, on);
	return drv_exec(v, in, sizeof(in), out, sizeof(out));
}

int drv_roce_addr(struct drv *v, uint16_t index, uint8_t version,
		  const uint8_t *gid, const uint8_t mac[6], uint32_t vlan)
{
	static const uint8_t mapped[12] = { [10] = 0xff, 0xff };
	uint8_t in[CX_BYTES(set_roce_address_in)] = { 0 };
	uint8_t out[CX_BYTES(set_roce_address_out)];
	uint8_t *a = CX_ADDR(set_roce_address_in, in, roce_address);

	CX_SET(set_roce_address_in, in, opcode, MLX5_CMD_OP_SET_ROCE_ADDRESS);
	CX_SET(set_roce_address_in, in, roce_address_index, index);
	if (gid) {
		memcpy(a, gid, 16);
		memcpy(CX_ADDR(roce_addr_layout, a, source_mac_47_32), mac, 6);
		CX_SET(roce_addr_layout, a, vlan_valid, vlan >> 16);
		CX_SET(roce_addr_layout, a, vlan_id, vlan);
		CX_SET(roce_addr_layout, a, roce_version, version == 2 ? 2 : 0);
		CX_SET(roce_addr_layout, a, roce_l3_type, version == 2 &&
		       memcmp(gid, mapped, 12) != 0);
	}
	return drv_exec(v, in, sizeof(in), out, sizeof(out));
}

int drv_mac(struct drv *v, uint8_t mac[6])
{
	uint8_t in[CX_BYTES(query_nic_vport_context_in)] = { 0 };
	uint8_t out[CX_BYTES(query_nic_vport_context_out)];
	int ret;

	CX_SET(query_nic_vport_context_in, in, opcode,
	       MLX5_CMD_OP_QUERY_NIC_VPORT_CONTEXT);
	ret = drv_exec(v, in, sizeof(in), out, sizeof(out));
	memcpy(mac, CX_ADDR(query_nic_vport_context_out, out,
			    nic_vport_context.permanent_address) + 2, 6);
	return ret;
}

/* ---- queues ---- */
int drv_wq_move(struct drv *v, uint16_t opcode, uint32_t n, uint8_t from,
		uint8_t to)
{
	uint8_t in[CX_BYTES(modify_sq_in)] = { 0 };
	uint8_t out[CX_BYTES(modify_sq_out)];

	CX_SET(modify_sq_in, in, opcode, opcode);
	CX_SET(modify_sq_in, in, sqn, n);
	CX_SET(modify_sq_in, in, sq_state, from);
	CX_SET(modify_sq_in, in, ctx.state, to);
	return drv_exec(v, in, sizeof(in), out, sizeof(out));
}

static int create(struct drv *v, uint8_t *in, size_t len, uint8_t *wq,
		  struct drv_wq *q, uint8_t log_stride)
{
	size_t bytes = 1UL << (NIC_LOG_WQ + log_stride);
	uint8_t out[CX_BYTES(create_sq_out)];
	int ret;

	q->buf = rig_alloc(v->rig, bytes);
	q->db = drv_db(v);
	q->pi = 0;
	if (!q->buf || !q->db)
		return DRV_LOST;
	CX_SET(wq, wq, wq_type, MLX5_WQ_WQ_TYPE_WQ_CYCLIC);
	CX_SET(wq, wq, pd, v->pd);
	CX_SET(wq, wq, log_wq_stride, log_stride);
	CX_SET(wq, wq, log_wq_sz, NIC_LOG_WQ);
	CX_SET64(wq, wq, dbr_addr, rig_bus(v->rig, q->db));
	drv_pas(v, CX_ADDR(wq, wq, pas), q->buf, bytes);
	ret = drv_exec(v, in, len + 8 * ((bytes + PAGE - 1) / PAGE), out,
		       sizeof(out));
	q->n = CX_GET(create_sq_out, out, sqn);
	return ret;
}

static int create_sq(struct drv_nic *nic)
{
	uint8_t in[CX_BYTES(create_sq_in) + 64] = { 0 };
	uint8_t *sqc = CX_ADDR(create_sq_in, in, ctx);
	uint8_t *wq = CX_ADDR(sqc, sqc, wq);
	struct drv *v = nic->drv;
	int ret;

	CX_SET(create_sq_in, in, opcode, MLX5_CMD_OP_CREATE_SQ);
	CX_SET(sqc, sqc, flush_in_error_en, 1);
	CX_SET(sqc, sqc, cqn, nic->scq.cqn);
	CX_SET(sqc, sqc, tis_lst_sz, 1);
	CX_SET(sqc, sqc, tis_num_0, nic->tis);
	CX_SET(wq, wq, uar_page, v->uar);
	ret = create(v, in, CX_BYTES(create_sq_in), wq, &nic->sq, 6);
	return ret ? ret : drv_wq_move(v, MLX5_CMD_OP_MODIFY_SQ, nic->sq.n, 0,
				       1);
}

static int create_rq(struct drv_nic *nic, unsigned int i)
{
	uint8_t in[CX_BYTES(create_rq_in) + 64] = { 0 };
	uint8_t *rqc = CX_ADDR(create_rq_in, in, ctx);
	struct drv *v = nic->drv;
	int ret;

	CX_SET(create_rq_in, in, opcode, MLX5_CMD_OP_CREATE_RQ);
	CX_SET(rqc, rqc, cqn, nic->rcq[i].cqn);
	CX_SET(rqc, rqc, counter_set_id, v->counter);
	ret = create(v, in, CX_BYTES(create_rq_in), CX_ADDR(rqc, rqc, wq),
		     &nic->rq[i], 4);
	return ret ? ret : drv_wq_move(v, MLX5_CMD_OP_MODIFY_RQ, nic->rq[i].n,
				       0, 1);
}

static int create_tis(struct drv_nic *nic)
{
	uint8_t in[CX_BYTES(create_tis_in)] = { 0 };
	uint8_t out[CX_BYTES(create_tis_out)];
	int ret;

	CX_SET(create_tis_in, in, opcode, MLX5_CMD_OP_CREATE_TIS);
	CX_SET(create_tis_in, in, ctx.transport_domain, nic->drv->td);
	ret = drv_exec(nic->drv, in, sizeof(in), out, sizeof(out));
	nic->tis = CX_GET(create_tis_out, out, tisn);
	return ret;
}

static int create_rqt(struct drv_nic *nic)
{
	uint8_t in[CX_BYTES(create_rqt_in) + 4 * NIC_RQS] = { 0 };
	uint8_t out[CX_BYTES(create_rqt_out)];
	uint8_t *rqtc = CX_ADDR(create_rqt_in, in, rqt_context);
	unsigned int i;
	int ret;

	CX_SET(create_rqt_in, in, opcode, MLX5_CMD_OP_CREATE_RQT);
	CX_SET(rqtc, rqtc, rqt_max_size, NIC_RQS);
	CX_SET(rqtc, rqtc, rqt_actual_size, NIC_RQS);
	for (i = 0; i < NIC_RQS; i++)
		cx_be32_set(CX_ADDR(rqtc, rqtc, rq_num) + 4 * i, nic->rq[i].n);
	ret = drv_exec(nic->drv, in, sizeof(in), out, sizeof(out));
	nic->rqt = CX_GET(create_rqt_out, out, rqtn);
	return ret;
}

/* Toeplitz over addresses and ports, as mlx5e's for TCP. */
static int create_tir(struct drv_nic *nic)
{
	uint8_t in[CX_BYTES(create_tir_in)] = { 0 };
	uint8_t out[CX_BYTES(create_tir_out)];
	uint8_t *tirc = CX_ADDR(create_tir_in, in, ctx);
	unsigned int i;
	int ret;

	CX_SET(create_tir_in, in, opcode, MLX5_CMD_OP_CREATE_TIR);
	CX_SET(tirc, tirc, disp_type, MLX5_TIRC_DISP_TYPE_INDIRECT);
	CX_SET(tirc, tirc, indirect_table, nic->rqt);
	CX_SET(tirc, tirc, transport_domain, nic->drv->td);
	CX_SET(tirc, tirc, rx_hash_fn, MLX5_RX_HASH_FN_TOEPLITZ);
	for (i = 0; i < 40; i++)
		CX_ADDR(tirc, tirc, rx_hash_toeplitz_key)[i] = 0x6d + 41 * i;
	CX_SET(rx_hash_field_select,
	       CX_ADDR(tirc, tirc, rx_hash_field_selector_outer),
	       selected_fields, 0xf);
	ret = drv_exec(nic->drv, in, sizeof(in), out, sizeof(out));
	nic->tir = CX_GET(create_tir_out, out, tirn);
	return ret;
}

/* ---- flow tables ---- */
int drv_ft(struct drv *v, uint8_t level, uint32_t miss, uint32_t *table)
{
	uint8_t in[CX_BYTES(create_flow_table_in)] = { 0 };
	uint8_t out[CX_BYTES(create_flow_table_out)];
	uint8_t *ctx = CX_ADDR(create_flow_table_in, in, flow_table_context);
	int ret;

	CX_SET(create_flow_table_in, in, opcode,
	       MLX5_CMD_OP_CREATE_FLOW_TABLE);
	CX_SET(flow_table_context, ctx, level, level);
	CX_SET(flow_table_context, ctx, log_size, 7);
	CX_SET(flow_table_context, ctx, table_miss_action, miss != 0);
	CX_SET(flow_table_context, ctx, table_miss_id, miss);
	ret = drv_exec(v, in, sizeof(in), out, sizeof(out));
	*table = CX_GET(create_flow_table_out, out, table_id);
	return ret;
}

int drv_fg(struct drv *v, uint32_t table, uint32_t first, uint32_t last,
	   const uint8_t criteria[64], uint32_t *group)
{
	uint8_t in[CX_BYTES(create_flow_group_in)] = { 0 };
	uint8_t out[CX_BYTES(create_flow_group_out)];
	int ret;

	CX_SET(create_flow_group_in, in, opcode,
	       MLX5_CMD_OP_CREATE_FLOW_GROUP);
	CX_SET(create_flow_group_in, in, table_id, table);
	CX_SET(create_flow_group_in, in, start_flow_index, first);
	CX_SET(create_flow_group_in, in, end_flow_index, last);
	CX_SET(create_flow_group_in, in, match_criteria_enable, criteria != NULL);
	if (criteria)
		memcpy(CX_ADDR(create_flow_group_in, in, match_criteria),
		       criteria, 64);
	ret = drv_exec(v, in, sizeof(in), out, sizeof(out));
	*group = CX_GET(create_flow_group_out, out, group_id);
	return ret;
}

int drv_fte(struct drv *v, uint32_t table, uint32_t group, uint32_t index,
	    const uint8_t value[64], uint8_t dest, uint32_t id)
{
	uint8_t in[CX_BYTES(set_fte_in) + CX_BYTES(dest_format_struct)] = { 0 };
	uint8_t out[CX_BYTES(set_fte_out)];
	uint8_t *ctx = CX_ADDR(set_fte_in, in, flow_context);
	uint8_t *to = CX_ADDR(flow_context, ctx, destination);

	CX_SET(set_fte_in, in, opcode, MLX5_CMD_OP_SET_FLOW_TABLE_ENTRY);
	CX_SET(set_fte_in, in, table_id, table);
	CX_SET(set_fte_in, in, flow_index, index);
	CX_SET(flow_context, ctx, group_id, group);
	CX_SET(flow_context, ctx, action, MLX5_FLOW_CONTEXT_ACTION_FWD_DEST);
	CX_SET(flow_context, ctx, destination_list_size, 1);
	if (value)
		memcpy(CX_ADDR(flow_context, ctx, match_value), value, 64);
	CX_SET(dest_format_struct, to, destination_type, dest);
	CX_SET(dest_format_struct, to, destination_id, id);
	return drv_exec(v, in, sizeof(in), out, sizeof(out));
}

int drv_fte_del(struct drv *v, uint32_t table, uint32_t index)
{
	uint8_t in[CX_BYTES(delete_fte_in)] = { 0 };
	uint8_t out[CX_BYTES(delete_fte_out)];

	CX_SET(delete_fte_in, in, opcode, MLX5_CMD_OP_DELETE_FLOW_TABLE_ENTRY);
	CX_SET(delete_fte_in, in, table_id, table);
	CX_SET(delete_fte_in, in, flow_index, index);
	return drv_exec(v, in, sizeof(in), out, sizeof(out));
}

int drv_table_op(struct drv *v, uint16_t opcode, uint16_t op_mod,
		 uint32_t table, uint32_t group)
{
	uint8_t in[CX_BYTES(destroy_flow_group_in)] = { 0 };
	uint8_t out[CX_BYTES(destroy_flow_group_out)];

	CX_SET(destroy_flow_group_in, in, opcode, opcode);
	CX_SET(destroy_flow_group_in, in, op_mod, op_mod);
	CX_SET(destroy_flow_group_in, in, table_id, table);
	if (opcode == MLX5_CMD_OP_DESTROY_FLOW_GROUP)
		CX_SET(destroy_flow_group_in, in, group_id, group);
	return drv_exec(v, in, sizeof(in), out, sizeof(out));
}

/* Addresses in one table, that goes on with the one of the TIR. */
static int open_tables(struct drv_nic *nic)
{
	uint8_t criteria[64] = { 0 }, value[64] = { 0 };
	struct drv *v = nic->drv;
	uint32_t all, by_mac;
	int ret;

	memset(criteria + 8, 0xff, 6);
	ret = drv_ft(v, NIC_TTC_LEVEL, 0, &nic->ttc);
	if (!ret)
		ret = drv_fg(v, nic->ttc, 0, 0, NULL, &all);
	if (!ret)
		ret = drv_fte(v, nic->ttc, all, 0, NULL, 2, nic->tir);
	if (!ret)
		ret = drv_ft(v, NIC_TTC_LEVEL - 1, 0, &nic->l2);
	if (!ret)
		ret = drv_fg(v, nic->l2, 0, 63, criteria, &by_mac);
	memcpy(value + 8, nic->mac, 6);
	if (!ret)
		ret = drv_fte(v, nic->l2, by_mac, 0, value, 1, nic->ttc);
	memset(value + 8, 0xff, 6);
	if (!ret)
		ret = drv_fte(v, nic->l2, by_mac, 1, value, 1, nic->ttc);
	return ret ? ret : drv_table_op(v, MLX5_CMD_OP_SET_FLOW_TABLE_ROOT, 0,
					nic->l2, 0);
}

static int close_tables(struct drv_nic *nic)
{
	struct drv *v = nic->drv;

	return drv_table_op(v, MLX5_CMD_OP_SET_FLOW_TABLE_ROOT, 1, 0, 0) |
	       drv_fte_del(v, nic->l2, 1) | drv_fte_del(v, nic->l2, 0) |
	       drv_table_op(v, MLX5_CMD_OP_DESTROY_FLOW_GROUP, 0, nic->l2, 0) |
	       drv_table_op(v, MLX5_CMD_OP_DESTROY_FLOW_TABLE, 0, nic->l2, 0) |
	       drv_fte_del(v, nic->ttc, 0) |
	       drv_table_op(v, MLX5_CMD_OP_DESTROY_FLOW_GROUP, 0, nic->ttc, 0) |
	       drv_table_op(v, MLX5_CMD_OP_DESTROY_FLOW_TABLE, 0, nic->ttc, 0);
}

/* ---- open, close ---- */
int drv_nic_open(struct drv *v, struct drv_nic *nic)
{
	size_t bytes = (NIC_RQS << NIC_LOG_WQ) * NIC_BUF + 65536;
	unsigned int i;
	int ret;

	memset(nic, 0, sizeof(*nic));
	nic->drv = v;
	ret = drv_mac(v, nic->mac);
	nic->mem = rig_alloc(v->rig, bytes);
	if (!ret)
		ret = nic->mem ? drv_mr(v, &nic->mr, nic->mem, bytes, DRV_LW) :
				 DRV_LOST;
	if (!ret)
		ret = create_tis(nic);
	if (!ret)
		ret = drv_cq(v, &nic->scq, 8);
	if (!ret)
		ret = create_sq(nic);
	for (i = 0; !ret && i < NIC_RQS; i++) {
		ret = drv_cq(v, &nic->rcq[i], 8);
		if (!ret)
			ret = create_rq(nic, i);
	}
	if (!ret)
		ret = create_rqt(nic);
	if (!ret)
		ret = create_tir(nic);
	return ret ? ret : open_tables(nic);
}

int drv_nic_close(struct drv_nic *nic)
{
	struct drv *v = nic->drv;
	unsigned int i;
	int ret = close_tables(nic);

	ret |= drv_simple(v, MLX5_CMD_OP_DESTROY_TIR, nic->tir, NULL);
	ret |= drv_simple(v, MLX5_CMD_OP_DESTROY_RQT, nic->rqt, NULL);
	for (i = 0; i < NIC_RQS; i++) {
		ret |= drv_simple(v, MLX5_CMD_OP_DESTROY_RQ, nic->rq[i].n,
				  NULL);
		ret |= drv_cq_destroy(v, &nic->rcq[i]);
	}
	ret |= drv_simple(v, MLX5_CMD_OP_DESTROY_SQ, nic->sq.n, NULL);
	ret |= drv_cq_destroy(v, &nic->scq);
	ret |= drv_simple(v, MLX5_CMD_OP_DESTROY_TIS, nic->tis, NULL);
	return ret | drv_mkey_destroy(v, nic->mr.key);
}

/* ---- frames ---- */
static uint32_t buffer(unsigned int rq, uint16_t index)
{
	return ((rq << NIC_LOG_WQ) + index % (1u << NIC_LOG_WQ)) * NIC_BUF;
}

void drv_nic_fill(struct drv_nic *nic, unsigned int rq, unsigned int nr)
{
	struct drv_wq *q = &nic->rq[rq];
	struct mlx5_wqe_data_seg *s;

	while (nr--) {
		s = (void *)(q->buf + 16 * (q->pi % (1u << NIC_LOG_WQ)));
		/* Bit 31 asks for padding in front, and is no length. */
		mlx5dv_set_data_seg(s, NIC_BUF | 1u << 31, nic->mr.key,
				    nic->mr.va + buffer(rq, q->pi));
		q->pi++;
	}
	*q->db = htobe32(q->pi);
}

static void ring(struct drv_nic *nic, void *wqe, unsigned int segs,
		 uint8_t opcode)
{
	struct mlx5_wqe_ctrl_seg *c = wqe;
	struct drv_wq *q = &nic->sq;

	c->opmod_idx_opcode = htobe32((uint32_t)q->pi << 8 | opcode);
	c->qpn_ds = htobe32(q->n << 8 | segs);
	c->fm_ce_se = MLX5_WQE_CTRL_CQ_UPDATE;
	q->pi += (segs + 3) / 4;
	q->db[1] = htobe32(q->pi);
	rig_store64(nic->drv->dev, (uint64_t)nic->drv->uar * PAGE + 0x800, wqe);
	rig_run(nic->drv->rig);
}

static uint8_t *next_wqe(struct drv_nic *nic)
{
	uint8_t *wqe = nic->sq.buf + 64 * (nic->sq.pi % (1u << NIC_LOG_WQ));

	memset(wqe, 0, 64);
	return wqe;
}

void drv_nic_nop(struct drv_nic *nic)
{
	ring(nic, next_wqe(nic), 1, MLX5_OPCODE_NOP);
}

void drv_nic_send(struct drv_nic *nic, const uint8_t *frame, uint32_t len,
		  uint32_t hdr, uint8_t flags, uint16_t mss)
{
	const uint32_t at = (NIC_RQS << NIC_LOG_WQ) * NIC_BUF;
	uint32_t inl = hdr > 2 ? (hdr - 2 + 15) / 16 : 0;
	struct mlx5_wqe_data_seg *s;
	uint8_t *wqe;

	/* As mlx5e: a WQE does not wrap. */
	while ((nic->sq.pi % (1u << NIC_LOG_WQ)) * 64 + 48 + inl * 16 >
	       64u << NIC_LOG_WQ)
		drv_nic_nop(nic);
	wqe = next_wqe(nic);
	memset(wqe, 0, 48 + inl * 16);
	wqe[20] = flags;
	cx_be16_set(wqe + 22, mss);
	cx_be16_set(wqe + 28, hdr);
	memcpy(wqe + 30, frame, hdr);
	memcpy(nic->mem + at, frame + hdr, len - hdr);
	s = (void *)(wqe + 32 + inl * 16);
	mlx5dv_set_data_seg(s, len - hdr, nic->mr.key, nic->mr.va + at);
	ring(nic, wqe, 3 + inl, mss ? MLX5_OPCODE_TSO : MLX5_OPCODE_SEND);
}

const uint8_t *drv_nic_frame(const struct drv_nic *nic, unsigned int rq,
			     const struct drv_wc *wc)
{
	return nic->mem + buffer(rq, wc->index);
}
