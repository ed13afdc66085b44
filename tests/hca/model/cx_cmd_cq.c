// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Commands on completion queues. Contexts are those of mlx5_core's cq.c and of
 * mlx5_ib; numbers, sizes and page lists in them are checked here.
 */
#include <errno.h>
#include <stdlib.h>

#include "cx_cmd.h"

/* Of MODIFY_CQ (linux/mlx5/cq.h). */
#define RESIZE			1u	/* op_mod */
#define RESIZE_LOG_SIZE		BIT(0)
#define MODIFY_PERIOD		BIT(0)
#define MODIFY_COUNT		BIT(1)
#define MODIFY_OVERRUN		BIT(2)

#define STRIDE_128_PAD		2u	/* CQE_STRIDE_128_PAD */

void cx_cq_free(struct cx_dev *d, struct cx_cq *cq)
{
	struct cx_eq *eq = cx_ids_get(&d->eqs, cq->eqn);

	if (cx_uar(d, cq->uar))
		cx_uar(d, cq->uar)->users--;
	if (eq)
		eq->users--;
	cx_ids_del(&d->cqs, cq->cqn);
	cx_queue_buf_free(d, &cq->buf);
	free(cq);
}

/* What a new CQ and a resized one have in common. */
static enum cx_status cq_buf(struct cx_dev *d, const struct cx_cmd *c,
			     const uint8_t *cqc, size_t pas, struct cx_buf *b,
			     uint8_t *log_size, uint8_t *log_cqe)
{
	uint32_t stride = CX_GET(cqc, cqc, cqe_sz);

	if (stride > STRIDE_128_PAD ||
	    (stride == STRIDE_128_PAD && !d->config.cqe128))
		return CX_BAD_PARAM;
	*log_cqe = stride ? 7 : 6;
	*log_size = CX_GET(cqc, cqc, log_cq_size);
	if (*log_size > CX_LOG_CQ_SZ)
		return CX_BAD_PARAM;
	return cx_queue_buf(d, b, c, pas, CX_GET(cqc, cqc, log_page_size),
			    CX_GET(cqc, cqc, page_offset),
			    1ULL << (*log_size + *log_cqe));
}

static enum cx_status cq_parse(struct cx_dev *d, struct cx_cq *cq,
			       const struct cx_cmd *c)
{
	const uint8_t *cqc = CX_ADDR(create_cq_in, c->in, cq_context);

	cq->uar = CX_GET(cqc, cqc, uar_page);
	cq->eqn = CX_GET(cqc, cqc, c_eqn_or_apu_element);
	cq->dbr = CX_GET64(cqc, cqc, dbr_addr);
	cq->period = CX_GET(cqc, cqc, cq_period);
	cq->max_count = CX_GET(cqc, cqc, cq_max_count);
	cq->oi = CX_GET(cqc, cqc, oi);
	if (cq->dbr % 8 || CX_GET(cqc, cqc, cqe_comp_en) ||
	    CX_GET(create_cq_in, c->in, cq_umem_valid))
		return CX_BAD_PARAM;
	if (!cx_uar(d, cq->uar) || !cx_ids_get(&d->eqs, cq->eqn))
		return CX_BAD_RES;
	return cq_buf(d, c, cqc, CX_BYTES(create_cq_in), &cq->buf,
		      &cq->log_size, &cq->log_cqe);
}

enum cx_status cx_create_cq(struct cx_dev *d, struct cx_cmd *c)
{
	struct cx_cq *cq = calloc(1, sizeof(*cq));
	enum cx_status status;
	struct cx_eq *eq;

	if (!cq)
		return CX_LIM;
	status = cq_parse(d, cq, c);
	if (!status)
		status = cx_queue_add(d, &d->cqs, cq, &cq->buf, &cq->cqn);
	if (status) {
		free(cq);
		return status;
	}
	eq = cx_ids_get(&d->eqs, cq->eqn);
	eq->users++;
	cx_uar(d, cq->uar)->users++;
	CX_SET(create_cq_out, c->out, cqn, cq->cqn);
	return CX_OK;
}

enum cx_status cx_destroy_cq(struct cx_dev *d, struct cx_cmd *c)
{
	struct cx_cq *cq = cx_ids_get(&d->cqs,
				      CX_GET(destroy_cq_in, c->in, cqn));

	if (!cq)
		return CX_BAD_RES;
	if (cq->users)
		return CX_BAD_RES_STATE;
	cx_cq_free(d, cq);
	return CX_OK;
}

static enum cx_status resize_cq(struct cx_dev *d, struct cx_cq *cq,
				const struct cx_cmd *c)
{
	const uint8_t *cqc = CX_ADDR(modify_cq_in, c->in, cq_context);
	uint32_t select = cx_bits_get(c->in, CX_OFF(modify_cq_in,
				modify_field_select_resize_field_select), 32);
	uint8_t log_size, log_cqe;
	enum cx_status status;
	uint32_t old;
	struct cx_buf b;
	int err;

	if (!(select & RESIZE_LOG_SIZE) ||
	    CX_GET(modify_cq_in, c->in, cq_umem_valid))
		return CX_BAD_PARAM;
	status = cq_buf(d, c, cqc, CX_BYTES(modify_cq_in), &b, &log_size,
			&log_cqe);
	if (status)
		return status;
	old = cq->buf.nr;
	err = cx_cq_resize(d, cq, &b, log_size, log_cqe);
	if (!err) {
		cx_entries_give(d, old);
		return CX_OK;
	}
	cx_queue_buf_free(d, &b);
	return err == -EFAULT ? CX_BAD_RES_STATE : CX_BAD_SIZE;
}

enum cx_status cx_modify_cq(struct cx_dev *d, struct cx_cmd *c)
{
	struct cx_cq *cq = cx_ids_get(&d->cqs,
				      CX_GET(modify_cq_in, c->in, cqn));
	const uint8_t *cqc = CX_ADDR(modify_cq_in, c->in, cq_context);
	uint32_t select = cx_bits_get(c->in, CX_OFF(modify_cq_in,
				modify_field_select_resize_field_select), 32);

	if (!cq)
		return CX_BAD_RES;
	if (c->op_mod == RESIZE)
		return resize_cq(d, cq, c);
	if (c->op_mod ||
	    select & ~(MODIFY_PERIOD | MODIFY_COUNT | MODIFY_OVERRUN))
		return CX_BAD_PARAM;
	if (select & MODIFY_PERIOD)
		cq->period = CX_GET(cqc, cqc, cq_period);
	if (select & MODIFY_COUNT)
		cq->max_count = CX_GET(cqc, cqc, cq_max_count);
	if (select & MODIFY_OVERRUN)
		cq->oi = CX_GET(cqc, cqc, oi);
	return CX_OK;
}

enum cx_status cx_query_cq(struct cx_dev *d, struct cx_cmd *c)
{
	const struct cx_cq *cq = cx_ids_get(&d->cqs,
					    CX_GET(query_cq_in, c->in, cqn));
	uint8_t *cqc = CX_ADDR(query_cq_out, c->out, cq_context);

	if (!cq)
		return CX_BAD_RES;
	CX_SET(cqc, cqc, status, cq->failed ? 10 : 0);	/* write failure */
	CX_SET(cqc, cqc, st, cq->arm == 2 ? 9 : cq->arm ? 6 : 10);
	CX_SET(cqc, cqc, cqe_sz, cq->log_cqe - 6);
	CX_SET(cqc, cqc, oi, cq->oi);
	CX_SET(cqc, cqc, log_cq_size, cq->log_size);
	CX_SET(cqc, cqc, uar_page, cq->uar);
	CX_SET(cqc, cqc, cq_period, cq->period);
	CX_SET(cqc, cqc, cq_max_count, cq->max_count);
	CX_SET(cqc, cqc, c_eqn_or_apu_element, cq->eqn);
	CX_SET(cqc, cqc, log_page_size, cx_queue_log_page(&cq->buf));
	CX_SET(cqc, cqc, page_offset, cx_queue_page_offset(&cq->buf));
	CX_SET(cqc, cqc, producer_counter, cq->pi);
	CX_SET(cqc, cqc, consumer_counter, cq->ci);
	CX_SET64(cqc, cqc, dbr_addr, cq->dbr);
	return CX_OK;
}
