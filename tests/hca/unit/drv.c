// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The command queue, and bringing a device up and down in the order of
 * mlx5_core's probe and remove. See drv.h.
 */
#include <stdlib.h>
#include <string.h>

#include "drv.h"

#define PAGE		4096u
#define BLOCK		512u	/* data of a mailbox */
#define BOX		1024u	/* room of one: 576 bytes, aligned */
#define OWNER_HW	1u

/* The initialization segment, struct mlx5_init_seg. */
enum { ISEG_CMDIF = 0x4, ISEG_CMDQ_H = 0x10, ISEG_CMDQ_L = 0x14,
       ISEG_DBELL = 0x18, ISEG_INIT = 0x1fc };

static void chain_box(struct drv *v, uint8_t *box, size_t n, size_t i)
{
	uint8_t *b = box + i * BOX;
	uint32_t number = htobe32(i);

	memset(b, 0, 576);
	cx_be64_set(b + 560, i + 1 < n ? rig_bus(v->rig, b + BOX) : 0);
	memcpy(b + 568, &number, 4);
	b[573] = v->token;
}

/* The first 16 bytes travel in the entry, the others in a chain of boxes. */
static size_t fill_boxes(struct drv *v, uint8_t *box, size_t len,
			 const uint8_t *data)
{
	size_t n = len > 16 ? (len - 16 + BLOCK - 1) / BLOCK : 0, i, part;

	for (i = 0; i < n && i < v->boxes; i++) {
		chain_box(v, box, n, i);
		part = len - 16 - i * BLOCK;
		if (data)
			memcpy(box + i * BOX, data + 16 + i * BLOCK,
			       part < BLOCK ? part : BLOCK);
	}
	return n;
}

static void take_boxes(const uint8_t *box, size_t len, uint8_t *out)
{
	size_t i, part;

	for (i = 0; 16 + i * BLOCK < len; i++) {
		part = len - 16 - i * BLOCK;
		memcpy(out + 16 + i * BLOCK, box + i * BOX,
		       part < BLOCK ? part : BLOCK);
	}
}

static uint8_t xor8(const uint8_t *p, size_t len)
{
	uint8_t sum = 0;

	while (len--)
		sum ^= *p++;
	return sum;
}

static void fill_entry(struct drv *v, uint8_t *e, const void *in,
		       size_t in_len, size_t out_len)
{
	uint32_t word;

	memset(e, 0, 64);
	e[0] = 7;
	word = htobe32(in_len);
	memcpy(e + 4, &word, 4);
	memcpy(e + 16, in, in_len < 16 ? in_len : 16);
	if (fill_boxes(v, v->box_in, in_len, in))
		cx_be64_set(e + 8, rig_bus(v->rig, v->box_in));
	if (fill_boxes(v, v->box_out, out_len, NULL))
		cx_be64_set(e + 48, rig_bus(v->rig, v->box_out));
	word = htobe32(out_len);
	memcpy(e + 56, &word, 4);
	e[60] = v->token;
	e[63] = OWNER_HW;
	e[61] = ~xor8(e, 64);
}

/* In event mode a command is done when its event came. */
static bool completed(struct drv *v, const uint8_t *e)
{
	const struct drv_eqe *eqe;
	uint32_t vector;

	if (!v->events)
		return !(e[63] & OWNER_HW);
	while ((eqe = drv_eq_next(&v->cmd_eq))) {
		memcpy(&vector, eqe->data, 4);
		drv_eq_update(v, &v->cmd_eq, true);
		if (eqe->type == 0x0a && be32toh(vector) & 1U << v->slot)
			return !(e[63] & OWNER_HW);
	}
	return false;
}

int drv_exec(struct drv *v, const void *in, size_t in_len, void *out,
	     size_t out_len)
{
	uint8_t *e, *o = out;
	uint32_t word;

	/* The last entry is kept for page requests, as in the driver. */
	v->slot = (v->slot + 1) % ((1U << v->log_sz) - 1);
	e = v->cmdq + ((size_t)v->slot << v->log_stride);
	v->token = v->token % 255 + 1;
	memset(o, 0, out_len);
	if (in_len > 16 + v->boxes * BLOCK || out_len > 16 + v->boxes * BLOCK)
		return DRV_LOST;
	fill_entry(v, e, in, in_len, out_len);
	if (v->spoil)
		v->spoil(v, e, in_len);
	rig_write32(v->dev, ISEG_DBELL, 1U << v->slot);
	if (!completed(v, e)) {
		rig_run(v->rig);
		if (!completed(v, e))
			return DRV_LOST;
	}
	if (e[63] >> 1)
		return DRV_DELIVERY + (e[63] >> 1);
	memcpy(o, e + 32, out_len < 16 ? out_len : 16);
	take_boxes(v->box_out, out_len, o);
	memcpy(&word, o + 4, 4);
	v->syndrome = be32toh(word);
	return o[0];
}

int drv_simple(struct drv *v, uint16_t opcode, uint32_t arg, uint32_t *result)
{
	uint8_t in[16] = { opcode >> 8, opcode, 0, 0, 0, 0, 0, 0, 0,
			   arg >> 16, arg >> 8, arg };
	uint8_t out[16];
	int ret = drv_exec(v, in, sizeof(in), out, sizeof(out));

	if (result)
		*result = out[9] << 16 | out[10] << 8 | out[11];
	return ret;
}

int drv_uar(struct drv *v, uint32_t *uar)
{
	return drv_simple(v, MLX5_CMD_OP_ALLOC_UAR, 0, uar);
}

void drv_pas(struct drv *v, void *pas, const void *buf, size_t len)
{
	size_t i;

	for (i = 0; i < (len + PAGE - 1) / PAGE; i++)
		cx_be64_set((uint8_t *)pas + 8 * i,
			    rig_bus(v->rig, (const uint8_t *)buf + i * PAGE));
}

/* Doorbell records, 64 bytes apart as the kernel lays them out. */
uint32_t *drv_db(struct drv *v)
{
	uint32_t *db;

	if (!v->db_page || v->db_used == PAGE / 64) {
		v->db_page = rig_alloc(v->rig, PAGE);
		v->db_used = 0;
	}
	db = (uint32_t *)(v->db_page + 64 * v->db_used++);
	return db;
}

int drv_caps(struct drv *v, uint16_t op_mod, uint8_t caps[4096])
{
	uint8_t in[CX_BYTES(query_hca_cap_in)] = { 0 };
	uint8_t out[CX_BYTES(query_hca_cap_out)];
	int ret;

	CX_SET(query_hca_cap_in, in, opcode, MLX5_CMD_OP_QUERY_HCA_CAP);
	CX_SET(query_hca_cap_in, in, op_mod, op_mod);
	ret = drv_exec(v, in, sizeof(in), out, sizeof(out));
	memcpy(caps, out + 16, 4096);
	return ret;
}

int drv_mad_ifc(struct drv *v, const void *mad, void *reply)
{
	uint8_t in[CX_BYTES(mad_ifc_in)] = { 0 };
	uint8_t out[CX_BYTES(mad_ifc_out)];
	int ret;

	CX_SET(mad_ifc_in, in, opcode, MLX5_CMD_OP_MAD_IFC);
	CX_SET(mad_ifc_in, in, op_mod, 3);	/* ignore both keys */
	CX_SET(mad_ifc_in, in, port, 1);
	memcpy(CX_ADDR(mad_ifc_in, in, mad), mad, 256);
	ret = drv_exec(v, in, sizeof(in), out, sizeof(out));
	memcpy(reply, CX_ADDR(mad_ifc_out, out, response_mad_packet), 256);
	return ret;
}

static int give_pages(struct drv *v, uint32_t nr)
{
	size_t len = CX_BYTES(manage_pages_in) + 8 * nr;
	uint8_t out[CX_BYTES(manage_pages_out)];
	uint8_t *in = calloc(1, len), *pages = rig_alloc(v->rig, nr * PAGE);
	int ret = DRV_LOST;

	if (in && pages) {
		CX_SET(manage_pages_in, in, opcode,
		       MLX5_CMD_OP_MANAGE_PAGES);
		CX_SET(manage_pages_in, in, op_mod, 1);
		CX_SET(manage_pages_in, in, input_num_entries, nr);
		drv_pas(v, CX_ADDR(manage_pages_in, in, pas), pages,
			nr * PAGE);
		ret = drv_exec(v, in, len, out, sizeof(out));
	}
	if (!ret)
		v->fw_pages += nr;
	free(in);
	return ret;
}

static int satisfy_pages(struct drv *v, uint16_t op_mod)
{
	uint8_t in[CX_BYTES(query_pages_in)] = { 0 };
	uint8_t out[CX_BYTES(query_pages_out)];
	int32_t nr;
	int ret;

	CX_SET(query_pages_in, in, opcode, MLX5_CMD_OP_QUERY_PAGES);
	CX_SET(query_pages_in, in, op_mod, op_mod);
	ret = drv_exec(v, in, sizeof(in), out, sizeof(out));
	nr = CX_GET(query_pages_out, out, num_pages);
	return ret || nr <= 0 ? ret : give_pages(v, nr);
}

static int reclaim_pages(struct drv *v)
{
	uint8_t in[CX_BYTES(manage_pages_in)] = { 0 };
	uint8_t out[CX_BYTES(manage_pages_out) + 8 * 64];
	uint32_t nr;
	int ret;

	while (v->fw_pages) {
		CX_SET(manage_pages_in, in, opcode,
		       MLX5_CMD_OP_MANAGE_PAGES);
		CX_SET(manage_pages_in, in, op_mod, 2);
		CX_SET(manage_pages_in, in, input_num_entries, 64);
		ret = drv_exec(v, in, sizeof(in), out, sizeof(out));
		nr = CX_GET(manage_pages_out, out, output_num_entries);
		if (ret || !nr || nr > v->fw_pages)
			return ret ? ret : DRV_LOST;
		v->fw_pages -= nr;
	}
	return 0;
}

static int set_issi(struct drv *v)
{
	uint8_t in[CX_BYTES(set_issi_in)] = { 0 };
	uint8_t out[CX_BYTES(query_issi_out)];
	int ret = 0;

	CX_SET(set_issi_in, in, opcode, MLX5_CMD_OP_QUERY_ISSI);
	ret = drv_exec(v, in, CX_BYTES(query_issi_in), out, sizeof(out));
	if (ret || !(CX_GET(query_issi_out, out, supported_issi_dw0) & 2))
		return ret ? ret : DRV_LOST;
	CX_SET(set_issi_in, in, opcode, MLX5_CMD_OP_SET_ISSI);
	CX_SET(set_issi_in, in, current_issi, 1);
	return drv_exec(v, in, sizeof(in), out, CX_BYTES(set_issi_out));
}

/* The general capabilities, given back as the driver likes them. */
static int set_caps(struct drv *v)
{
	uint8_t in[CX_BYTES(set_hca_cap_in)] = { 0 };
	uint8_t out[CX_BYTES(set_hca_cap_out)], max[4096];
	uint8_t *caps = CX_ADDR(set_hca_cap_in, in, capability);
	int ret;

	ret = drv_caps(v, 0, max);
	if (!ret)
		ret = drv_caps(v, 1, caps);
	if (ret)
		return ret;
	CX_SET(cmd_hca_cap, caps, pkey_table_size, 0);
	CX_SET(cmd_hca_cap, caps, log_max_qp,
	       CX_GET(cmd_hca_cap, max, log_max_qp));
	CX_SET(cmd_hca_cap, caps, cmdif_checksum, 0);
	CX_SET(cmd_hca_cap, caps, log_uar_page_sz, 0);
	CX_SET(set_hca_cap_in, in, opcode, MLX5_CMD_OP_SET_HCA_CAP);
	return drv_exec(v, in, sizeof(in), out, sizeof(out));
}

/* Atomics in the host's order, as handle_hca_cap_atomic() asks for. */
static int set_atomic_caps(struct drv *v)
{
	uint8_t in[CX_BYTES(set_hca_cap_in)] = { 0 };
	uint8_t out[CX_BYTES(set_hca_cap_out)], max[4096], cur[4096];
	int ret;

	ret = drv_caps(v, 3 << 1, max);
	if (!ret)
		ret = drv_caps(v, 3 << 1 | 1, cur);
	if (ret || !CX_GET(atomic_caps, cur,
			   supported_atomic_req_8B_endianness_mode_1))
		return ret;
	CX_SET(set_hca_cap_in, in, opcode, MLX5_CMD_OP_SET_HCA_CAP);
	CX_SET(set_hca_cap_in, in, op_mod, 3 << 1);
	CX_SET(atomic_caps, CX_ADDR(set_hca_cap_in, in, capability),
	       atomic_req_8B_endianness_mode, 1);
	return drv_exec(v, in, sizeof(in), out, sizeof(out));
}

/* The register HOST_ENDIANNESS: this one is little endian. */
static int set_endianness(struct drv *v)
{
	uint8_t in[CX_BYTES(access_register_in) + 16] = { 0 };
	uint8_t out[CX_BYTES(access_register_out) + 16];

	CX_SET(access_register_in, in, opcode, MLX5_CMD_OP_ACCESS_REG);
	CX_SET(access_register_in, in, register_id, 0x7004);
	return drv_exec(v, in, sizeof(in), out, sizeof(out));
}

static int cmdq_start(struct drv *v)
{
	uint32_t word;
	uint64_t dma;

	v->cmdq = rig_alloc(v->rig, PAGE);
	v->boxes = 384;
	v->box_in = rig_alloc(v->rig, v->boxes * BOX);
	v->box_out = rig_alloc(v->rig, v->boxes * BOX);
	if (!v->cmdq || !v->box_in || !v->box_out ||
	    rig_read32(v->dev, ISEG_CMDIF) >> 16 != 5)
		return DRV_LOST;
	word = rig_read32(v->dev, ISEG_CMDQ_L) & 0xff;
	v->log_sz = word >> 4;
	v->log_stride = word & 15;
	if (v->log_sz > 5 || v->log_sz + v->log_stride > 12)
		return DRV_LOST;
	dma = rig_bus(v->rig, v->cmdq);
	rig_write32(v->dev, ISEG_CMDQ_H, dma >> 32);
	rig_write32(v->dev, ISEG_CMDQ_L, dma);
	return rig_read32(v->dev, ISEG_INIT) >> 31 ? DRV_LOST : 0;
}

int drv_enable(struct drv *v, struct rig_dev *dev)
{
	uint8_t caps[4096];
	int ret;

	memset(v, 0, sizeof(*v));
	v->dev = dev;
	v->rig = dev->rig;
	ret = cmdq_start(v);
	if (!ret)
		ret = drv_simple(v, MLX5_CMD_OP_ENABLE_HCA, 0, NULL);
	if (!ret)
		ret = set_issi(v);
	if (!ret)
		ret = satisfy_pages(v, 1);
	if (!ret)
		ret = set_endianness(v);
	if (!ret)
		ret = set_caps(v);
	if (!ret)
		ret = set_atomic_caps(v);
	if (!ret)
		ret = satisfy_pages(v, 2);
	if (!ret)
		ret = drv_simple(v, MLX5_CMD_OP_INIT_HCA, 0, NULL);
	return ret ? ret : drv_caps(v, 1, caps);
}

/* MLX5_ASYNC_EVENT_MASK and the like, as the driver asks. */
#define ASYNC_EVENTS \
	(1U << CX_EV_PATH_MIG | 1U << CX_EV_COMM_EST | \
	 1U << CX_EV_SQ_DRAINED | 1U << CX_EV_CQ_ERROR | \
	 1U << CX_EV_WQ_CATAS | 1U << 0x07 | 1U << CX_EV_WQ_INVAL_REQ | \
	 1U << CX_EV_WQ_ACCESS | 1U << CX_EV_PORT_CHANGE | \
	 1U << CX_EV_SRQ_CATAS | 1U << CX_EV_SRQ_LAST_WQE | \
	 1U << CX_EV_SRQ_LIMIT)

static int open_eqs(struct drv *v)
{
	int ret, i;

	ret = drv_eq_create(v, &v->cmd_eq, 6, 0, 1U << CX_EV_CMD);
	if (ret)
		return ret;
	v->events = true;
	ret = drv_eq_create(v, &v->async_eq, 8, 0, ASYNC_EVENTS);
	if (!ret)
		ret = drv_eq_create(v, &v->pages_eq, 6, 0,
				    1U << CX_EV_PAGE_REQUEST);
	for (i = 0; !ret && i < DRV_COMP_EQS; i++)
		ret = drv_eq_create(v, &v->comp_eq[i], 8, i + 1, 0);
	return ret;
}

/* As mlx5_ib_dev_res_init(): what its own QPs refer to. */
static int open_ib(struct drv *v)
{
	uint8_t in[CX_BYTES(query_special_contexts_in)] = { 0 };
	uint8_t out[CX_BYTES(query_special_contexts_out)];
	int ret;

	CX_SET(query_special_contexts_in, in, opcode,
	       MLX5_CMD_OP_QUERY_SPECIAL_CONTEXTS);
	ret = drv_exec(v, in, sizeof(in), out, sizeof(out));
	v->resd_lkey = CX_GET(query_special_contexts_out, out, resd_lkey);
	if (!ret)
		ret = drv_simple(v, MLX5_CMD_OP_ALLOC_PD, 0, &v->pd);
	if (!ret)
		ret = drv_simple(v, MLX5_CMD_OP_ALLOC_TRANSPORT_DOMAIN, 0,
				 &v->td);
	if (!ret)
		ret = drv_simple(v, MLX5_CMD_OP_ALLOC_XRCD, 0, &v->xrcd0);
	if (!ret)
		ret = drv_simple(v, MLX5_CMD_OP_ALLOC_XRCD, 0, &v->xrcd1);
	if (!ret)
		ret = drv_simple(v, MLX5_CMD_OP_ALLOC_XRCD, 0, &v->xrcd);
	if (!ret)
		ret = drv_simple(v, MLX5_CMD_OP_ALLOC_Q_COUNTER, 0,
				 &v->counter);
	if (!ret)
		ret = drv_cq(v, &v->c0, 1);
	if (!ret)
		ret = drv_srq(v, &v->s0, 1, &v->c0);
	return ret ? ret : drv_srq(v, &v->s1, 1, NULL);
}

int drv_open(struct drv *v, struct rig_dev *dev)
{
	int ret = drv_enable(v, dev);

	if (!ret)
		ret = drv_uar(v, &v->uar);
	if (!ret)
		ret = open_eqs(v);
	return ret ? ret : open_ib(v);
}

int drv_close(struct drv *v)
{
	int ret = 0, i;

	ret |= drv_srq_destroy(v, &v->s1) | drv_srq_destroy(v, &v->s0);
	ret |= drv_cq_destroy(v, &v->c0);
	ret |= drv_simple(v, MLX5_CMD_OP_DEALLOC_Q_COUNTER, v->counter, NULL);
	ret |= drv_simple(v, MLX5_CMD_OP_DEALLOC_XRCD, v->xrcd, NULL);
	ret |= drv_simple(v, MLX5_CMD_OP_DEALLOC_XRCD, v->xrcd1, NULL);
	ret |= drv_simple(v, MLX5_CMD_OP_DEALLOC_XRCD, v->xrcd0, NULL);
	ret |= drv_simple(v, MLX5_CMD_OP_DEALLOC_TRANSPORT_DOMAIN, v->td,
			  NULL);
	ret |= drv_simple(v, MLX5_CMD_OP_DEALLOC_PD, v->pd, NULL);
	for (i = 0; i < DRV_COMP_EQS; i++)
		ret |= drv_eq_destroy(v, &v->comp_eq[i]);
	ret |= drv_eq_destroy(v, &v->pages_eq);
	ret |= drv_eq_destroy(v, &v->async_eq);
	v->events = false;
	ret |= drv_eq_destroy(v, &v->cmd_eq);
	ret |= drv_simple(v, MLX5_CMD_OP_DEALLOC_UAR, v->uar, NULL);
	ret |= drv_simple(v, MLX5_CMD_OP_TEARDOWN_HCA, 0, NULL);
	ret |= reclaim_pages(v);
	return ret | drv_simple(v, MLX5_CMD_OP_DISABLE_HCA, 0, NULL);
}
