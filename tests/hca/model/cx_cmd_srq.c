// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Commands on shared receive queues in their four shapes: SRQ (ISSI 0), XRC
 * SRQ, RMP, which is a plain SRQ under ISSI 1, and XRQ, the one with tag
 * matching (srq_cmd.c of mlx5_ib). The numbers are of one space, as the driver
 * keeps them. srqc and xrc_srqc are laid out alike.
 */
#include <stdlib.h>
#include <string.h>

#include "cx_cmd.h"

#define MIN_STRIDE	5u	/* log2: the next segment and a data segment */
#define NO_INDEX	0xffffffu
#define RMPN		CX_OFF(query_rmp_in, rmpn)

_Static_assert(RMPN == CX_OFF(destroy_srq_in, srqn) &&
	       RMPN == CX_OFF(query_srq_in, srqn) &&
	       RMPN == CX_OFF(arm_rq_in, srq_number) &&
	       RMPN == CX_OFF(destroy_xrc_srq_in, xrc_srqn) &&
	       RMPN == CX_OFF(query_xrc_srq_in, xrc_srqn) &&
	       RMPN == CX_OFF(arm_xrc_srq_in, xrc_srqn) &&
	       RMPN == CX_OFF(destroy_rmp_in, rmpn) &&
	       RMPN == CX_OFF(modify_rmp_in, rmpn) &&
	       RMPN == CX_OFF(destroy_xrq_in, xrqn) &&
	       RMPN == CX_OFF(query_xrq_in, xrqn) &&
	       RMPN == CX_OFF(arm_xrq_in, xrqn), "where numbers are");
_Static_assert(CX_OFF(create_rmp_out, rmpn) == CX_OFF(create_srq_out, srqn) &&
	       CX_OFF(create_rmp_out, rmpn) == CX_OFF(create_xrq_out, xrqn) &&
	       CX_OFF(create_rmp_out, rmpn) ==
	       CX_OFF(create_xrc_srq_out, xrc_srqn), "where numbers are");
_Static_assert(CX_BYTES(create_srq_in) == CX_BYTES(create_xrc_srq_in) &&
	       CX_OFF(srqc, dbr_addr) == CX_OFF(xrc_srqc, db_record_addr_h) &&
	       CX_OFF(srqc, log_page_size) == CX_OFF(xrc_srqc, log_page_size),
	       "alike");

/* Which shape a command is for; ARM_RQ is for two. */
static enum cx_srq_kind kind_of(const struct cx_cmd *c)
{
	switch (c->opcode) {
	case MLX5_CMD_OP_ARM_RQ:
		return c->op_mod == MLX5_ARM_RQ_IN_OP_MOD_XRQ ? CX_SRQ_TM :
								CX_SRQ_PLAIN;
	case MLX5_CMD_OP_CREATE_SRQ:
	case MLX5_CMD_OP_DESTROY_SRQ:
	case MLX5_CMD_OP_QUERY_SRQ:
		return CX_SRQ_PLAIN;
	case MLX5_CMD_OP_CREATE_XRQ:
	case MLX5_CMD_OP_DESTROY_XRQ:
	case MLX5_CMD_OP_QUERY_XRQ:
	case MLX5_CMD_OP_ARM_XRQ:
		return CX_SRQ_TM;
	case MLX5_CMD_OP_CREATE_XRC_SRQ:
	case MLX5_CMD_OP_DESTROY_XRC_SRQ:
	case MLX5_CMD_OP_QUERY_XRC_SRQ:
	case MLX5_CMD_OP_ARM_XRC_SRQ:
		return CX_SRQ_XRC;
	default:
		return CX_SRQ_RMP;
	}
}

/* The number is at the same place in all commands. */
static struct cx_srq *srq_of(struct cx_dev *d, const struct cx_cmd *c)
{
	struct cx_srq *srq = cx_ids_get(&d->srqs,
					cx_bits_get(c->in, RMPN, 24));

	return srq && srq->kind == kind_of(c) ? srq : NULL;
}

void cx_srq_free(struct cx_dev *d, struct cx_srq *srq)
{
	struct cx_cq *cq = cx_ids_get(&d->cqs, srq->cqn);

	if (cx_pd(d, srq->pd))
		cx_pd(d, srq->pd)->users--;
	if (cx_srq_has_cq(srq) && cq)
		cq->users--;
	if (srq->kind == CX_SRQ_XRC && cx_xrcd(d, srq->xrcd))
		cx_xrcd(d, srq->xrcd)->users--;
	cx_ids_del(&d->srqs, srq->srqn);
	cx_queue_buf_free(d, &srq->buf);
	cx_tm_free(srq->tm);
	free(srq);
}

/* References, once the context is known to be good. */
static void srq_hold(struct cx_dev *d, struct cx_srq *srq)
{
	cx_pd(d, srq->pd)->users++;
	if (cx_srq_has_cq(srq))
		((struct cx_cq *)cx_ids_get(&d->cqs, srq->cqn))->users++;
	if (srq->kind == CX_SRQ_XRC)
		cx_xrcd(d, srq->xrcd)->users++;
}

/* Sizes and references are the same for all shapes. */
static enum cx_status srq_check(struct cx_dev *d, const struct cx_srq *srq)
{
	if (srq->log_size > CX_LOG_QP_SZ || srq->log_stride < MIN_STRIDE ||
	    srq->log_stride > CX_LOG_RQ_STRIDE || srq->dbr % 4)
		return CX_BAD_PARAM;
	if (!cx_pd(d, srq->pd))
		return CX_BAD_RES;
	if (cx_srq_has_cq(srq) && !cx_ids_get(&d->cqs, srq->cqn))
		return CX_BAD_RES;
	if (srq->kind == CX_SRQ_XRC && !cx_xrcd(d, srq->xrcd))
		return CX_BAD_RES;
	return CX_OK;
}

static void set_index(struct cx_srq *srq, uint32_t user_index)
{
	srq->user_index = user_index;
	srq->user_index_valid = user_index != NO_INDEX;
}

static enum cx_status srqc_parse(struct cx_dev *d, struct cx_srq *srq,
				 const struct cx_cmd *c)
{
	const uint8_t *s = CX_ADDR(create_xrc_srq_in, c->in,
				   xrc_srq_context_entry);
	enum cx_status status;

	srq->log_size = CX_GET(xrc_srqc, s, log_xrc_srq_size);
	srq->log_stride = CX_GET(xrc_srqc, s, log_rq_stride) + 4;
	srq->dbr = cx_be64_get(CX_ADDR(xrc_srqc, s, db_record_addr_h));
	srq->pd = CX_GET(xrc_srqc, s, pd);
	srq->xrcd = CX_GET(xrc_srqc, s, xrcd);
	srq->cqn = CX_GET(xrc_srqc, s, cqn);
	srq->lwm = CX_GET(xrc_srqc, s, lwm);
	if (srq->kind == CX_SRQ_XRC)
		set_index(srq, CX_GET(xrc_srqc, s, user_index));
	if (CX_GET(create_xrc_srq_in, c->in, xrc_srq_umem_valid) ||
	    CX_GET(xrc_srqc, s, wq_signature))
		return CX_BAD_PARAM;
	status = srq_check(d, srq);
	if (status)
		return status;
	return cx_queue_buf(d, &srq->buf, c, CX_BYTES(create_xrc_srq_in),
			    CX_GET(xrc_srqc, s, log_page_size),
			    CX_GET(xrc_srqc, s, page_offset),
			    1ULL << (srq->log_size + srq->log_stride));
}

/* The queue within the context of an RMP or XRQ; the page list begins at pas. */
static enum cx_status wq_parse(struct cx_dev *d, struct cx_srq *srq,
			       const struct cx_cmd *c, const uint8_t *wq,
			       size_t pas)
{
	enum cx_status status;

	srq->log_size = CX_GET(wq, wq, log_wq_sz);
	srq->log_stride = CX_GET(wq, wq, log_wq_stride);
	srq->dbr = CX_GET64(wq, wq, dbr_addr);
	srq->pd = CX_GET(wq, wq, pd);
	srq->lwm = CX_GET(wq, wq, lwm);
	/* Linked lists alone: neither cyclic nor striding. */
	if (CX_GET(wq, wq, wq_type) || CX_GET(wq, wq, wq_umem_valid) ||
	    CX_GET(wq, wq, wq_signature))
		return CX_BAD_PARAM;
	status = srq_check(d, srq);
	if (status)
		return status;
	return cx_queue_buf(d, &srq->buf, c, pas,
			    CX_GET(wq, wq, log_wq_pg_sz),
			    CX_GET(wq, wq, page_offset),
			    1ULL << (srq->log_size + srq->log_stride));
}

static enum cx_status rmpc_parse(struct cx_dev *d, struct cx_srq *srq,
				 const struct cx_cmd *c)
{
	const uint8_t *rmpc = CX_ADDR(create_rmp_in, c->in, ctx);

	srq->cqn = CX_NONE;
	if (CX_GET(rmpc, rmpc, basic_cyclic_rcv_wqe) ||
	    CX_GET(rmpc, rmpc, state) != MLX5_RMPC_STATE_RDY)
		return CX_BAD_PARAM;
	return wq_parse(d, srq, c, CX_ADDR(rmpc, rmpc, wq),
			CX_BYTES(create_rmp_in));
}

static enum cx_status xrqc_parse(struct cx_dev *d, struct cx_srq *srq,
				 const struct cx_cmd *c)
{
	const uint8_t *xrqc = CX_ADDR(create_xrq_in, c->in, xrq_context);
	uint32_t log_tags = CX_GET(xrqc, xrqc, tag_matching_topology_context.
				   log_matching_list_sz);

	if (!d->config.tag_matching)
		return CX_BAD_OP;
	if (CX_GET(xrqc, xrqc, topology) != MLX5_XRQC_TOPOLOGY_TAG_MATCHING ||
	    CX_GET(xrqc, xrqc, offload) > MLX5_XRQC_OFFLOAD_RNDV ||
	    log_tags > CX_LOG_TAGS)
		return CX_BAD_PARAM;
	srq->cqn = CX_GET(xrqc, xrqc, cqn);
	set_index(srq, CX_GET(xrqc, xrqc, user_index));
	srq->tm = cx_tm_new(log_tags);
	if (!srq->tm)
		return CX_LIM;
	return wq_parse(d, srq, c, CX_ADDR(xrqc, xrqc, wq),
			CX_BYTES(create_xrq_in));
}

static enum cx_status parse(struct cx_dev *d, struct cx_srq *srq,
			    const struct cx_cmd *c)
{
	switch (srq->kind) {
	case CX_SRQ_RMP:
		return rmpc_parse(d, srq, c);
	case CX_SRQ_TM:
		return xrqc_parse(d, srq, c);
	default:
		return srqc_parse(d, srq, c);
	}
}

enum cx_status cx_create_srq(struct cx_dev *d, struct cx_cmd *c)
{
	struct cx_srq *srq = calloc(1, sizeof(*srq));
	enum cx_status status;

	if (!srq)
		return CX_LIM;
	srq->kind = kind_of(c);
	status = parse(d, srq, c);
	if (!status)
		status = cx_queue_add(d, &d->srqs, srq, &srq->buf, &srq->srqn);
	if (status) {
		cx_tm_free(srq->tm);
		free(srq);
		return status;
	}
	srq_hold(d, srq);
	CX_SET(create_rmp_out, c->out, rmpn, srq->srqn);
	return CX_OK;
}

enum cx_status cx_destroy_srq(struct cx_dev *d, struct cx_cmd *c)
{
	struct cx_srq *srq = srq_of(d, c);

	if (!srq)
		return CX_BAD_RES;
	if (srq->users)
		return CX_BAD_RES_STATE;
	cx_srq_free(d, srq);
	return CX_OK;
}

enum cx_status cx_query_srq(struct cx_dev *d, struct cx_cmd *c)
{
	uint8_t *s = CX_ADDR(query_xrc_srq_out, c->out, xrc_srq_context_entry);
	const struct cx_srq *srq = srq_of(d, c);

	if (!srq)
		return CX_BAD_RES;
	CX_SET(xrc_srqc, s, state, srq->failed ? MLX5_SRQC_STATE_ERROR :
						 MLX5_SRQC_STATE_GOOD);
	CX_SET(xrc_srqc, s, log_xrc_srq_size, srq->log_size);
	CX_SET(xrc_srqc, s, log_rq_stride, srq->log_stride - 4);
	CX_SET(xrc_srqc, s, xrcd, srq->xrcd);
	CX_SET(xrc_srqc, s, cqn, srq->cqn);
	CX_SET(xrc_srqc, s, user_index, srq->user_index);
	CX_SET(xrc_srqc, s, pd, srq->pd);
	CX_SET(xrc_srqc, s, lwm, srq->lwm);
	CX_SET(xrc_srqc, s, log_page_size, cx_queue_log_page(&srq->buf));
	CX_SET(xrc_srqc, s, page_offset, cx_queue_page_offset(&srq->buf));
	cx_be64_set(CX_ADDR(xrc_srqc, s, db_record_addr_h), srq->dbr);
	return CX_OK;
}

static void wq_fill(const struct cx_srq *srq, uint8_t *wq)
{
	CX_SET(wq, wq, log_wq_sz, srq->log_size);
	CX_SET(wq, wq, log_wq_stride, srq->log_stride);
	CX_SET(wq, wq, log_wq_pg_sz, cx_queue_log_page(&srq->buf));
	CX_SET(wq, wq, page_offset, cx_queue_page_offset(&srq->buf));
	CX_SET(wq, wq, lwm, srq->lwm);
	CX_SET(wq, wq, pd, srq->pd);
	CX_SET(wq, wq, hw_counter, srq->taken);
	CX_SET64(wq, wq, dbr_addr, srq->dbr);
}

enum cx_status cx_query_rmp(struct cx_dev *d, struct cx_cmd *c)
{
	uint8_t *rmpc = CX_ADDR(query_rmp_out, c->out, rmp_context);
	const struct cx_srq *srq = srq_of(d, c);

	if (!srq)
		return CX_BAD_RES;
	CX_SET(rmpc, rmpc, state, srq->failed ? MLX5_RMPC_STATE_ERR :
						MLX5_RMPC_STATE_RDY);
	wq_fill(srq, CX_ADDR(rmpc, rmpc, wq));
	return CX_OK;
}

enum cx_status cx_query_xrq(struct cx_dev *d, struct cx_cmd *c)
{
	uint8_t *xrqc = CX_ADDR(query_xrq_out, c->out, xrq_context);
	const struct cx_srq *srq = srq_of(d, c);

	if (!srq)
		return CX_BAD_RES;
	CX_SET(xrqc, xrqc, state, srq->failed ? MLX5_XRQC_STATE_ERROR :
						MLX5_XRQC_STATE_GOOD);
	CX_SET(xrqc, xrqc, topology, MLX5_XRQC_TOPOLOGY_TAG_MATCHING);
	CX_SET(xrqc, xrqc, user_index, srq->user_index);
	CX_SET(xrqc, xrqc, cqn, srq->cqn);
	cx_tm_query(srq->tm, CX_ADDR(xrqc, xrqc,
				     tag_matching_topology_context));
	wq_fill(srq, CX_ADDR(xrqc, xrqc, wq));
	return CX_OK;
}

enum cx_status cx_arm_srq(struct cx_dev *d, struct cx_cmd *c)
{
	struct cx_srq *srq = srq_of(d, c);

	if (!srq)
		return CX_BAD_RES;
	if (srq->kind != CX_SRQ_TM &&
	    c->op_mod != MLX5_ARM_RQ_IN_OP_MOD_SRQ)
		return CX_BAD_PARAM;
	cx_srq_arm(d, srq, CX_GET(arm_rq_in, c->in, lwm));
	return CX_OK;
}

enum cx_status cx_modify_rmp(struct cx_dev *d, struct cx_cmd *c)
{
	const uint8_t *rmpc = CX_ADDR(modify_rmp_in, c->in, ctx);
	const uint8_t *wq = CX_ADDR(rmpc, rmpc, wq);
	const uint8_t *mask = CX_ADDR(modify_rmp_in, c->in, bitmask);
	struct cx_srq *srq = srq_of(d, c);

	if (!srq)
		return CX_BAD_RES;
	if (CX_GET(modify_rmp_in, c->in, rmp_state) != MLX5_RMPC_STATE_RDY ||
	    CX_GET(rmpc, rmpc, state) != MLX5_RMPC_STATE_RDY)
		return CX_BAD_PARAM;
	if (CX_GET(rmp_bitmask, mask, lwm))
		cx_srq_arm(d, srq, CX_GET(wq, wq, lwm));
	return CX_OK;
}
