// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Memory keys, completion queues and shared receive queues of the small
 * driver, with the command layouts of mlx5_ib. See drv.h.
 */
#include <stdlib.h>
#include <string.h>

#include "drv.h"

#define PAGE 4096u

static void mkc_access(uint8_t *mkc, int access, uint32_t pd, uint64_t va)
{
	CX_SET(mkc, mkc, a, !!(access & DRV_RA));
	CX_SET(mkc, mkc, rw, !!(access & DRV_RW));
	CX_SET(mkc, mkc, rr, !!(access & DRV_RR));
	CX_SET(mkc, mkc, lw, !!(access & DRV_LW));
	CX_SET(mkc, mkc, lr, 1);
	CX_SET(mkc, mkc, pd, pd);
	CX_SET(mkc, mkc, qpn, 0xffffff);
	CX_SET64(mkc, mkc, start_addr, va);
}

static int create_mkey(struct drv *v, uint8_t *in, size_t len, uint32_t *key)
{
	static uint8_t variant;
	uint8_t out[CX_BYTES(create_mkey_out)];
	int ret;

	CX_SET(create_mkey_in, in, opcode, MLX5_CMD_OP_CREATE_MKEY);
	CX_SET(mkc, CX_ADDR(create_mkey_in, in, memory_key_mkey_entry),
	       mkey_7_0, ++variant);
	ret = drv_exec(v, in, len, out, sizeof(out));
	*key = CX_GET(create_mkey_out, out, mkey_index) << 8 | variant;
	return ret;
}

int drv_mr(struct drv *v, struct drv_mr *mr, void *p, size_t len, int access)
{
	return drv_mr_at(v, mr, p, len, (uintptr_t)p, v->pd, access, 12);
}

int drv_mr_at(struct drv *v, struct drv_mr *mr, void *p, size_t len,
	      uint64_t va, uint32_t pd, int access, uint8_t log_page)
{
	size_t page = 1UL << log_page, first = va & (page - 1);
	size_t nr = (first + len + page - 1) / page, octo = (nr + 1) / 2, i;
	size_t in_len = CX_BYTES(create_mkey_in) + 16 * octo;
	uint8_t *in = calloc(1, in_len), *mkc, *pas;
	const uint8_t *from = (const uint8_t *)p - first;
	int ret;

	if (!in)
		return DRV_LOST;
	mr->p = p;
	mr->len = len;
	mr->va = va;
	mkc = CX_ADDR(create_mkey_in, in, memory_key_mkey_entry);
	pas = CX_ADDR(create_mkey_in, in, klm_pas_mtt);
	mkc_access(mkc, access, pd, va);
	CX_SET(mkc, mkc, access_mode_1_0, 1);	/* MTT */
	CX_SET(mkc, mkc, umr_en, 1);
	CX_SET64(mkc, mkc, len, len);
	CX_SET(mkc, mkc, translations_octword_size, octo);
	CX_SET(mkc, mkc, log_page_size, log_page);
	CX_SET(create_mkey_in, in, translations_octword_actual_size, octo);
	for (i = 0; i < nr; i++)
		cx_be64_set(pas + 8 * i, rig_bus(v->rig, from + i * page));
	ret = create_mkey(v, in, in_len, &mr->key);
	free(in);
	return ret;
}

int drv_dma_mr(struct drv *v, uint32_t *key, int access)
{
	uint8_t in[CX_BYTES(create_mkey_in)] = { 0 };
	uint8_t *mkc = CX_ADDR(create_mkey_in, in, memory_key_mkey_entry);

	mkc_access(mkc, access, v->pd, 0);
	CX_SET(mkc, mkc, length64, 1);
	return create_mkey(v, in, sizeof(in), key);
}

int drv_mw(struct drv *v, uint32_t *key, bool type2)
{
	uint8_t in[CX_BYTES(create_mkey_in)] = { 0 };
	uint8_t *mkc = CX_ADDR(create_mkey_in, in, memory_key_mkey_entry);

	CX_SET(mkc, mkc, free, 1);
	CX_SET(mkc, mkc, translations_octword_size, 4);
	CX_SET(mkc, mkc, pd, v->pd);
	CX_SET(mkc, mkc, umr_en, 1);
	CX_SET(mkc, mkc, lr, 1);
	CX_SET(mkc, mkc, access_mode_1_0, 2);	/* KLMs */
	CX_SET(mkc, mkc, en_rinval, type2);
	CX_SET(mkc, mkc, qpn, 0xffffff);
	return create_mkey(v, in, sizeof(in), key);
}

int drv_free_mr(struct drv *v, uint32_t *key, uint32_t octo)
{
	uint8_t in[CX_BYTES(create_mkey_in)] = { 0 };
	uint8_t *mkc = CX_ADDR(create_mkey_in, in, memory_key_mkey_entry);

	mkc_access(mkc, 0, v->pd, 0);
	CX_SET(mkc, mkc, free, 1);
	CX_SET(mkc, mkc, umr_en, 1);
	CX_SET(mkc, mkc, access_mode_1_0, 1);	/* MTT */
	CX_SET(mkc, mkc, translations_octword_size, octo);
	CX_SET(mkc, mkc, log_page_size, 12);
	return create_mkey(v, in, sizeof(in), key);
}

/* The driver counts octowords, whether pages or pieces: pages have twice the room. */
int drv_alloc_mr(struct drv *v, uint32_t *key, uint32_t nr, bool pieces,
		 uint32_t pd)
{
	uint8_t in[CX_BYTES(create_mkey_in)] = { 0 };
	uint8_t *mkc = CX_ADDR(create_mkey_in, in, memory_key_mkey_entry);

	mkc_access(mkc, 0, pd, 0);
	CX_SET(mkc, mkc, free, 1);
	CX_SET(mkc, mkc, umr_en, 1);
	CX_SET(mkc, mkc, access_mode_1_0, pieces ? 2 : 1);
	CX_SET(mkc, mkc, translations_octword_size, (nr + 3) & ~3U);
	CX_SET(mkc, mkc, log_page_size, pieces ? 0 : 12);
	return create_mkey(v, in, sizeof(in), key);
}

int drv_mkey_destroy(struct drv *v, uint32_t key)
{
	return drv_simple(v, MLX5_CMD_OP_DESTROY_MKEY, key >> 8, NULL);
}

static uint8_t *cq_buffer(struct drv *v, uint8_t log_size, bool cqe128)
{
	size_t i, cqe = cqe128 ? 128 : 64;
	uint8_t *buf = rig_alloc(v->rig, cqe << log_size);

	for (i = 0; buf && i < 1U << log_size; i++)
		buf[i * cqe + cqe - 1] = MLX5_CQE_INVALID << 4;
	return buf;
}

int drv_cq(struct drv *v, struct drv_cq *cq, uint8_t log_size)
{
	return drv_cq_on(v, cq, log_size, &v->comp_eq[0], v->uar, false);
}

int drv_cq_on(struct drv *v, struct drv_cq *cq, uint8_t log_size,
	      struct drv_eq *eq, uint32_t uar, bool cqe128)
{
	size_t bytes = (cqe128 ? 128UL : 64UL) << log_size;
	size_t len = CX_BYTES(create_cq_in) + 8 * ((bytes + PAGE - 1) / PAGE);
	uint8_t out[CX_BYTES(create_cq_out)], *in = calloc(1, len), *cqc;
	int ret = DRV_LOST;

	memset(cq, 0, sizeof(*cq));
	cq->log_size = log_size;
	cq->cqe128 = cqe128;
	cq->uar = uar;
	cq->eq = eq;
	cq->buf = cq_buffer(v, log_size, cqe128);
	cq->db = drv_db(v);
	if (in && cq->buf && cq->db) {
		CX_SET(create_cq_in, in, opcode, MLX5_CMD_OP_CREATE_CQ);
		cqc = CX_ADDR(create_cq_in, in, cq_context);
		CX_SET(cqc, cqc, cqe_sz, cqe128);
		CX_SET(cqc, cqc, log_cq_size, log_size);
		CX_SET(cqc, cqc, uar_page, uar);
		CX_SET(cqc, cqc, c_eqn_or_apu_element, eq->eqn);
		CX_SET64(cqc, cqc, dbr_addr, rig_bus(v->rig, cq->db));
		drv_pas(v, CX_ADDR(create_cq_in, in, pas), cq->buf, bytes);
		ret = drv_exec(v, in, len, out, sizeof(out));
		cq->cqn = CX_GET(create_cq_out, out, cqn);
	}
	free(in);
	return ret;
}

/* As copy_resize_cqes() of mlx5_ib: up to the entry that says so. */
static bool copy_cqes(struct drv_cq *cq, uint8_t *to, uint8_t log_size)
{
	uint32_t old = 1U << cq->log_size, new = 1U << log_size, i = cq->ci, n;
	const struct mlx5_cqe64 *s;
	struct mlx5_cqe64 *d;

	for (n = 0; n < old; n++, i++) {
		s = (void *)(cq->buf + 64 * (i & (old - 1)));
		if (s->op_own >> 4 == MLX5_CQE_INVALID ||
		    (s->op_own & 1) != !!(i & old))
			return false;
		if (s->op_own >> 4 == MLX5_CQE_RESIZE_CQ) {
			cq->ci++;
			return true;
		}
		d = (void *)(to + 64 * ((i + 1) & (new - 1)));
		*d = *s;
		d->op_own = (d->op_own & ~1) | !!((i + 1) & new);
	}
	return false;
}

int drv_cq_resize(struct drv *v, struct drv_cq *cq, uint8_t log_size)
{
	size_t bytes = 64UL << log_size;
	size_t len = CX_BYTES(modify_cq_in) + 8 * ((bytes + PAGE - 1) / PAGE);
	uint8_t out[CX_BYTES(modify_cq_out)], *in = calloc(1, len), *cqc;
	uint8_t *buf = cq_buffer(v, log_size, false);
	int ret = DRV_LOST;

	if (in && buf) {
		CX_SET(modify_cq_in, in, opcode, MLX5_CMD_OP_MODIFY_CQ);
		CX_SET(modify_cq_in, in, op_mod, 1);
		CX_SET(modify_cq_in, in, cqn, cq->cqn);
		in[15] = 7;	/* resize_field_select: size and pages */
		cqc = CX_ADDR(modify_cq_in, in, cq_context);
		CX_SET(cqc, cqc, log_cq_size, log_size);
		drv_pas(v, CX_ADDR(modify_cq_in, in, pas), buf, bytes);
		ret = drv_exec(v, in, len, out, sizeof(out));
	}
	free(in);
	if (!ret && !copy_cqes(cq, buf, log_size))
		ret = DRV_LOST;
	if (!ret) {
		cq->buf = buf;
		cq->log_size = log_size;
	}
	return ret;
}

int drv_cq_destroy(struct drv *v, struct drv_cq *cq)
{
	return drv_simple(v, MLX5_CMD_OP_DESTROY_CQ, cq->cqn, NULL);
}

/* The free list: each entry names the next. */
static void srq_link(struct drv_srq *srq)
{
	uint16_t i, n = 1U << srq->log_size;
	struct mlx5_wqe_srq_next_seg *s;

	for (i = 0; i < n; i++) {
		s = (void *)(srq->buf + ((size_t)i << srq->log_stride));
		s->next_wqe_index = htobe16((i + 1) & (n - 1));
	}
	srq->head = 0;
	srq->tail = n - 1;
}

/* srqc and xrc_srqc have the same layout up to the user index. */
static size_t srq_context(struct drv *v, struct drv_srq *srq, uint8_t *in,
			  struct drv_cq *cq)
{
	uint8_t *c = CX_ADDR(create_srq_in, in, srq_context_entry);
	size_t bytes = (size_t)1 << (srq->log_size + srq->log_stride);

	CX_SET(create_srq_in, in, opcode, srq->kind == DRV_SRQ_XRC ?
	       MLX5_CMD_OP_CREATE_XRC_SRQ : MLX5_CMD_OP_CREATE_SRQ);
	CX_SET(srqc, c, log_rq_stride, srq->log_stride - 4);
	CX_SET(srqc, c, log_srq_size, srq->log_size);
	CX_SET(srqc, c, pd, v->pd);
	CX_SET64(srqc, c, dbr_addr, rig_bus(v->rig, srq->db));
	CX_SET(srqc, c, xrcd, srq->kind == DRV_SRQ_XRC ? v->xrcd : v->xrcd0);
	CX_SET(srqc, c, cqn, cq->cqn);
	if (srq->kind == DRV_SRQ_XRC)
		CX_SET(xrc_srqc, c, user_index, DRV_SRQ_INDEX);
	drv_pas(v, CX_ADDR(create_srq_in, in, pas), srq->buf, bytes);
	return CX_BYTES(create_srq_in) + 8 * ((bytes + PAGE - 1) / PAGE);
}

static size_t wq_context(struct drv *v, struct drv_srq *srq, uint8_t *wq)
{
	size_t bytes = (size_t)1 << (srq->log_size + srq->log_stride);

	CX_SET(wq, wq, log_wq_stride, srq->log_stride);
	CX_SET(wq, wq, log_wq_sz, srq->log_size);
	CX_SET(wq, wq, pd, v->pd);
	CX_SET64(wq, wq, dbr_addr, rig_bus(v->rig, srq->db));
	drv_pas(v, CX_ADDR(wq, wq, pas), srq->buf, bytes);
	return 8 * ((bytes + PAGE - 1) / PAGE);
}

/* With ISSI 1 the driver has a plain SRQ as a receive memory pool. */
static size_t rmp_context(struct drv *v, struct drv_srq *srq, uint8_t *in)
{
	uint8_t *c = CX_ADDR(create_rmp_in, in, ctx);

	CX_SET(create_rmp_in, in, opcode, MLX5_CMD_OP_CREATE_RMP);
	CX_SET(rmpc, c, state, 1);
	return CX_BYTES(create_rmp_in) +
	       wq_context(v, srq, CX_ADDR(rmpc, c, wq));
}

static size_t xrq_context(struct drv *v, struct drv_srq *srq, uint8_t *in,
			  struct drv_cq *cq)
{
	uint8_t *c = CX_ADDR(create_xrq_in, in, xrq_context);

	CX_SET(create_xrq_in, in, opcode, MLX5_CMD_OP_CREATE_XRQ);
	CX_SET(xrqc, c, topology, MLX5_XRQC_TOPOLOGY_TAG_MATCHING);
	CX_SET(xrqc, c, offload, MLX5_XRQC_OFFLOAD_RNDV);
	CX_SET(xrqc, c, tag_matching_topology_context.log_matching_list_sz,
	       DRV_LOG_TAGS);
	CX_SET(xrqc, c, user_index, DRV_SRQ_INDEX);
	CX_SET(xrqc, c, cqn, cq->cqn);
	return CX_BYTES(create_xrq_in) +
	       wq_context(v, srq, CX_ADDR(xrqc, c, wq));
}

int drv_srq_as(struct drv *v, struct drv_srq *srq, uint8_t log_size,
	       enum drv_srq_kind kind, struct drv_cq *cq)
{
	size_t bytes, len;
	uint8_t out[CX_BYTES(create_srq_out)], *in;
	int ret = DRV_LOST;

	memset(srq, 0, sizeof(*srq));
	srq->kind = kind;
	srq->log_size = log_size;
	srq->log_stride = 6;
	bytes = (size_t)1 << (log_size + srq->log_stride);
	in = calloc(1, 1024 + 8 * ((bytes + PAGE - 1) / PAGE));
	srq->buf = rig_alloc(v->rig, bytes);
	srq->db = drv_db(v);
	if (in && srq->buf && srq->db) {
		srq_link(srq);
		len = kind == DRV_SRQ_RMP ? rmp_context(v, srq, in) :
			kind == DRV_SRQ_TM ? xrq_context(v, srq, in, cq) :
			srq_context(v, srq, in, cq);
		ret = drv_exec(v, in, len, out, sizeof(out));
		srq->srqn = CX_GET(create_srq_out, out, srqn);
	}
	free(in);
	return ret;
}

int drv_srq(struct drv *v, struct drv_srq *srq, uint8_t log_size,
	    struct drv_cq *xrc_cq)
{
	return drv_srq_as(v, srq, log_size,
			  xrc_cq ? DRV_SRQ_XRC : DRV_SRQ_RMP, xrc_cq);
}

static int rmp_arm(struct drv *v, struct drv_srq *srq, uint16_t limit)
{
	uint8_t in[CX_BYTES(modify_rmp_in)] = { 0 };
	uint8_t out[CX_BYTES(modify_rmp_out)];
	uint8_t *c = CX_ADDR(modify_rmp_in, in, ctx);

	CX_SET(modify_rmp_in, in, opcode, MLX5_CMD_OP_MODIFY_RMP);
	CX_SET(modify_rmp_in, in, rmp_state, 1);
	CX_SET(modify_rmp_in, in, rmpn, srq->srqn);
	CX_SET(rmp_bitmask, CX_ADDR(modify_rmp_in, in, bitmask), lwm, 1);
	CX_SET(rmpc, c, state, 1);
	CX_SET(wq, CX_ADDR(rmpc, c, wq), lwm, limit);
	return drv_exec(v, in, sizeof(in), out, sizeof(out));
}

int drv_srq_arm(struct drv *v, struct drv_srq *srq, uint16_t limit)
{
	uint8_t in[CX_BYTES(arm_rq_in)] = { 0 };
	uint8_t out[CX_BYTES(arm_rq_out)];

	if (srq->kind == DRV_SRQ_RMP)
		return rmp_arm(v, srq, limit);
	CX_SET(arm_rq_in, in, opcode, srq->kind == DRV_SRQ_XRC ?
	       MLX5_CMD_OP_ARM_XRC_SRQ : MLX5_CMD_OP_ARM_RQ);
	CX_SET(arm_rq_in, in, op_mod, srq->kind == DRV_SRQ_TM ?
	       MLX5_ARM_RQ_IN_OP_MOD_XRQ : 1);
	CX_SET(arm_rq_in, in, srq_number, srq->srqn);
	CX_SET(arm_rq_in, in, lwm, limit);
	return drv_exec(v, in, sizeof(in), out, sizeof(out));
}

int drv_xrq_query(struct drv *v, struct drv_srq *srq,
		  uint8_t xrqc[CX_BYTES(xrqc)])
{
	uint8_t in[CX_BYTES(query_xrq_in)] = { 0 };
	uint8_t out[CX_BYTES(query_xrq_out)];
	int ret;

	CX_SET(query_xrq_in, in, opcode, MLX5_CMD_OP_QUERY_XRQ);
	CX_SET(query_xrq_in, in, xrqn, srq->srqn);
	ret = drv_exec(v, in, sizeof(in), out, sizeof(out));
	memcpy(xrqc, CX_ADDR(query_xrq_out, out, xrq_context), CX_BYTES(xrqc));
	return ret;
}

int drv_srq_destroy(struct drv *v, struct drv_srq *srq)
{
	static const uint16_t op[] = {
		[DRV_SRQ_PLAIN] = MLX5_CMD_OP_DESTROY_SRQ,
		[DRV_SRQ_XRC] = MLX5_CMD_OP_DESTROY_XRC_SRQ,
		[DRV_SRQ_RMP] = MLX5_CMD_OP_DESTROY_RMP,
		[DRV_SRQ_TM] = MLX5_CMD_OP_DESTROY_XRQ,
	};

	return drv_simple(v, op[srq->kind], srq->srqn, NULL);
}
