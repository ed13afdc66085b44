// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Commands on domains, UAR pages, event queues, counter sets and multicast
 * groups, and the bookkeeping that all objects share: nothing can be destroyed
 * that something else refers to. Contexts are those of mlx5_core's eq.c and of
 * mlx5_ib; numbers, sizes and page lists in them are checked here.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cx_cmd.h"

#define EQE_LOG			6u

/* ---- page lists ---- */
bool cx_entries_take(struct cx_dev *d, uint64_t nr)
{
	if (nr > CX_MAX_ENTRIES - d->entries)
		return false;
	d->entries += nr;
	return true;
}

void cx_entries_give(struct cx_dev *d, uint64_t nr)
{
	d->entries -= nr;
}

enum cx_status cx_queue_buf(struct cx_dev *d, struct cx_buf *b,
			    const struct cx_cmd *c, size_t pas, uint32_t field,
			    uint32_t po, uint64_t size)
{
	uint32_t log_page = field + 12, nr = (c->in_len - pas) / 8;
	uint64_t offset, need;

	if (log_page > 31)
		return CX_BAD_PARAM;
	offset = (uint64_t)po << (log_page - 6);
	need = (offset + size + (1ULL << log_page) - 1) >> log_page;
	if (need > nr)
		return CX_BAD_INP_LEN;
	if (!cx_entries_take(d, need))
		return CX_LIM;
	if (cx_buf_init(b, c->in + pas, nr, log_page, offset, size)) {
		cx_entries_give(d, need);
		return CX_LIM;
	}
	return CX_OK;
}

void cx_queue_buf_free(struct cx_dev *d, struct cx_buf *b)
{
	cx_entries_give(d, b->nr);
	cx_buf_free(b);
}

uint32_t cx_queue_log_page(const struct cx_buf *b)
{
	return b->log_page - 12;
}

uint32_t cx_queue_page_offset(const struct cx_buf *b)
{
	return b->offset >> (b->log_page - 6);
}

enum cx_status cx_queue_add(struct cx_dev *d, struct cx_ids *ids, void *queue,
			    struct cx_buf *b, uint32_t *n)
{
	*n = cx_ids_add(ids, queue);
	if (*n != CX_NONE)
		return CX_OK;
	cx_queue_buf_free(d, b);
	return CX_LIM;
}

/* ---- numbers that stand for themselves ---- */
static enum cx_status ref_alloc(struct cx_ids *ids, uint32_t *n)
{
	struct cx_ref *r = calloc(1, sizeof(*r));

	*n = r ? cx_ids_add(ids, r) : CX_NONE;
	if (*n != CX_NONE)
		return CX_OK;
	free(r);
	*n = 0;
	return CX_LIM;
}

static enum cx_status ref_dealloc(struct cx_ids *ids, uint32_t n)
{
	struct cx_ref *r = cx_ids_get(ids, n);

	if (!r)
		return CX_BAD_RES;
	if (r->users)
		return CX_BAD_RES_STATE;
	cx_ids_del(ids, n);
	free(r);
	return CX_OK;
}

static void ref_free_all(struct cx_ids *ids)
{
	uint32_t n;
	void *obj;

	CX_EACH(ids, n, obj)
		free(obj);
	cx_ids_free(ids);
}

/* ALLOC_x and DEALLOC_x, that differ in names alone. */
#define REF_COMMANDS(type, ids, field)					\
static enum cx_status alloc_##type(struct cx_dev *d, struct cx_cmd *c)	\
{									\
	enum cx_status status;						\
	uint32_t n;							\
									\
	status = ref_alloc(&d->ids, &n);				\
	CX_SET(alloc_##type##_out, c->out, field, n);			\
	return status;							\
}									\
									\
static enum cx_status dealloc_##type(struct cx_dev *d, struct cx_cmd *c) \
{									\
	return ref_dealloc(&d->ids,					\
			   CX_GET(dealloc_##type##_in, c->in, field));	\
}

REF_COMMANDS(pd, pds, pd)

/* Keys are not counted but sought: a UMR can move them to another domain. */
static enum cx_status dealloc_unused_pd(struct cx_dev *d, struct cx_cmd *c)
{
	uint32_t pd = CX_GET(dealloc_pd_in, c->in, pd), n;
	struct cx_mkey *k;

	CX_EACH(&d->mkeys, n, k)
		if (k->pd == pd)
			return cx_pd(d, pd) ? CX_BAD_RES_STATE : CX_BAD_RES;
	return dealloc_pd(d, c);
}

REF_COMMANDS(xrcd, xrcds, xrcd)
REF_COMMANDS(transport_domain, tds, transport_domain)
REF_COMMANDS(uar, uars, uar)

/* A context of a process, by which its commands are told apart: nobody does here. */
static enum cx_status create_uctx(struct cx_dev *d, struct cx_cmd *c)
{
	enum cx_status status = CX_BAD_OP;
	uint32_t n = 0;

	if (d->config.cx6dx)
		status = ref_alloc(&d->uctxs, &n);
	CX_SET(create_uctx_out, c->out, uid, n);
	return status;
}

static enum cx_status destroy_uctx(struct cx_dev *d, struct cx_cmd *c)
{
	return ref_dealloc(&d->uctxs, CX_GET(destroy_uctx_in, c->in, uid));
}

/*
 * A process may close its context with queues left (perftest does): the page
 * goes first, and nobody rings for them any more, the page's next owner
 * included. The driver's own, with event queues, stays.
 */
static enum cx_status dealloc_used_uar(struct cx_dev *d, struct cx_cmd *c)
{
	uint32_t uar = CX_GET(dealloc_uar_in, c->in, uar), n;
	struct cx_ref *ref = cx_uar(d, uar);
	struct cx_eq *eq;
	struct cx_cq *cq;
	struct cx_qp *qp;

	if (!ref)
		return CX_BAD_RES;
	CX_EACH(&d->eqs, n, eq)
		if (eq->uar == uar)
			return CX_BAD_RES_STATE;
	CX_EACH(&d->cqs, n, cq) {
		if (!ref->users)
			break;
		if (cq->uar != uar)
			continue;
		cq->uar = CX_NONE;
		ref->users--;
	}
	CX_EACH(&d->qps, n, qp) {
		if (!ref->users)
			break;
		if (qp->uar != uar)
			continue;
		qp->uar = CX_NONE;
		ref->users--;
	}
	return dealloc_uar(d, c);
}

/* ---- counter sets ---- */
struct cx_counter *cx_counter(struct cx_dev *d, const struct cx_qp *qp)
{
	struct cx_counter *k = cx_ids_get(&d->counters, qp->counter_set);

	return k ? k : &d->no_counter;
}

static enum cx_status alloc_q_counter(struct cx_dev *d, struct cx_cmd *c)
{
	struct cx_counter *k = calloc(1, sizeof(*k));
	uint32_t n = k ? cx_ids_add(&d->counters, k) : CX_NONE;

	if (n == CX_NONE) {
		free(k);
		return CX_LIM;
	}
	CX_SET(alloc_q_counter_out, c->out, counter_set_id, n);
	return CX_OK;
}

/* QPs that had it count for nobody from now on. */
static enum cx_status dealloc_q_counter(struct cx_dev *d, struct cx_cmd *c)
{
	uint32_t n = CX_GET(dealloc_q_counter_in, c->in, counter_set_id);
	struct cx_counter *k = cx_ids_get(&d->counters, n);

	if (!k)
		return CX_BAD_RES;
	cx_ids_del(&d->counters, n);
	free(k);
	return CX_OK;
}

static enum cx_status query_q_counter(struct cx_dev *d, struct cx_cmd *c)
{
	uint32_t n = CX_GET(query_q_counter_in, c->in, counter_set_id);
	struct cx_counter *k = cx_ids_get(&d->counters, n);

	if (!k)
		return CX_BAD_RES;
#define TELL(field) CX_SET(query_q_counter_out, c->out, field, k->field)
	TELL(rx_write_requests);
	TELL(rx_read_requests);
	TELL(rx_atomic_requests);
	TELL(out_of_buffer);
	TELL(out_of_sequence);
	TELL(packet_seq_err);
	TELL(duplicate_request);
	TELL(implied_nak_seq_err);
	TELL(rnr_nak_retry_err);
	TELL(local_ack_timeout_err);
	TELL(resp_local_length_error);
	TELL(resp_cqe_error);
	TELL(req_cqe_error);
	TELL(req_remote_invalid_request);
	TELL(req_remote_access_errors);
	TELL(resp_remote_access_errors);
	TELL(resp_cqe_flush_error);
	TELL(req_cqe_flush_error);
	if (CX_GET(query_q_counter_in, c->in, clear))
		memset(k, 0, sizeof(*k));
	return CX_OK;
}

/* ---- event queues ---- */
static void eq_free(struct cx_dev *d, struct cx_eq *eq)
{
	if (cx_uar(d, eq->uar))
		cx_uar(d, eq->uar)->users--;
	cx_ids_del(&d->eqs, eq->eqn);
	cx_queue_buf_free(d, &eq->buf);
	free(eq);
}

static enum cx_status eq_parse(struct cx_dev *d, struct cx_eq *eq,
			       const struct cx_cmd *c)
{
	const uint8_t *eqc = CX_ADDR(create_eq_in, c->in, eq_context_entry);
	uint32_t vector = CX_GET(eqc, eqc, intr);

	eq->log_size = CX_GET(eqc, eqc, log_eq_size);
	eq->uar = CX_GET(eqc, eqc, uar_page);
	eq->vector = vector;
	eq->mask = CX_GET64(create_eq_in, c->in, event_bitmask);
	if (eq->log_size > CX_LOG_EQ_SZ || vector >= CX_VECTORS)
		return CX_BAD_PARAM;
	if (!cx_uar(d, eq->uar))
		return CX_BAD_RES;
	return cx_queue_buf(d, &eq->buf, c, CX_BYTES(create_eq_in),
			    CX_GET(eqc, eqc, log_page_size),
			    CX_GET(eqc, eqc, page_offset),
			    1ULL << (eq->log_size + EQE_LOG));
}

static enum cx_status create_eq(struct cx_dev *d, struct cx_cmd *c)
{
	struct cx_eq *eq = calloc(1, sizeof(*eq));
	enum cx_status status;

	if (!eq)
		return CX_LIM;
	status = eq_parse(d, eq, c);
	if (!status)
		status = cx_queue_add(d, &d->eqs, eq, &eq->buf, &eq->eqn);
	if (status) {
		free(eq);
		return status;
	}
	cx_uar(d, eq->uar)->users++;
	CX_SET(create_eq_out, c->out, eq_number, eq->eqn);
	return CX_OK;
}

static enum cx_status destroy_eq(struct cx_dev *d, struct cx_cmd *c)
{
	struct cx_eq *eq = cx_ids_get(&d->eqs, CX_GET(destroy_eq_in, c->in,
						      eq_number));

	if (!eq)
		return CX_BAD_RES;
	if (eq->users)
		return CX_BAD_RES_STATE;
	eq_free(d, eq);
	return CX_OK;
}

static enum cx_status query_eq(struct cx_dev *d, struct cx_cmd *c)
{
	const struct cx_eq *eq = cx_ids_get(&d->eqs,
					    CX_GET(query_eq_in, c->in,
						   eq_number));
	uint8_t *eqc = CX_ADDR(query_eq_out, c->out, eq_context_entry);

	if (!eq)
		return CX_BAD_RES;
	CX_SET(eqc, eqc, st, eq->armed ? 9 : 10);	/* armed, fired */
	CX_SET(eqc, eqc, log_eq_size, eq->log_size);
	CX_SET(eqc, eqc, uar_page, eq->uar);
	CX_SET(eqc, eqc, intr, eq->vector);
	CX_SET(eqc, eqc, log_page_size, cx_queue_log_page(&eq->buf));
	CX_SET(eqc, eqc, page_offset, cx_queue_page_offset(&eq->buf));
	CX_SET(eqc, eqc, consumer_counter, eq->ci);
	CX_SET(eqc, eqc, producer_counter, eq->pi);
	CX_SET64(query_eq_out, c->out, event_bitmask, eq->mask);
	return CX_OK;
}

/* ---- multicast groups ---- */
static enum cx_status mcg_status(int err)
{
	switch (err) {
	case 0:
		return CX_OK;
	case -ENOMEM:
		return CX_LIM;
	case -ENOENT:
		return CX_BAD_RES;
	default:
		return CX_BAD_PARAM;
	}
}

static enum cx_status attach_to_mcg(struct cx_dev *d, struct cx_cmd *c)
{
	struct cx_qp *qp = cx_ids_get(&d->qps, CX_GET(attach_to_mcg_in, c->in,
						      qpn));
	const uint8_t *gid = CX_ADDR(attach_to_mcg_in, c->in, multicast_gid);

	if (!qp)
		return CX_BAD_RES;
	if (qp->st != CX_ST_UD)
		return CX_BAD_PARAM;
	return mcg_status(cx_mcg_attach(d, qp, gid));
}

static enum cx_status detach_from_mcg(struct cx_dev *d, struct cx_cmd *c)
{
	struct cx_qp *qp = cx_ids_get(&d->qps, CX_GET(detach_from_mcg_in,
						      c->in, qpn));
	const uint8_t *gid = CX_ADDR(detach_from_mcg_in, c->in, multicast_gid);

	return qp ? mcg_status(cx_mcg_detach(d, qp, gid)) : CX_BAD_RES;
}

/* ---- all ---- */
#define FREE_ALL(ids, fn) do { \
	uint32_t n_; \
	void *obj_; \
	CX_EACH(&d->ids, n_, obj_) \
		fn(d, obj_); \
	cx_ids_free(&d->ids); \
} while (0)

/* What refers to others goes first. */
void cx_objects_free(struct cx_dev *d)
{
	cx_flow_free(d);
	cx_nic_objects_free(d);
	FREE_ALL(qps, cx_qp_free);
	cx_tises_free(d);
	FREE_ALL(srqs, cx_srq_free);
	FREE_ALL(cqs, cx_cq_free);
	FREE_ALL(eqs, eq_free);
	FREE_ALL(mkeys, cx_mkey_free);
	ref_free_all(&d->counters);
	ref_free_all(&d->pds);
	ref_free_all(&d->xrcds);
	ref_free_all(&d->tds);
	ref_free_all(&d->uctxs);
	ref_free_all(&d->uars);
}

const struct cx_cmd_desc cx_cmds_obj[] = {
	CX_CMD(ALLOC_PD, alloc_pd, alloc_pd),
	CX_CMD(DEALLOC_PD, dealloc_unused_pd, dealloc_pd),
	CX_CMD(ALLOC_XRCD, alloc_xrcd, alloc_xrcd),
	CX_CMD(DEALLOC_XRCD, dealloc_xrcd, dealloc_xrcd),
	CX_CMD(ALLOC_TRANSPORT_DOMAIN, alloc_transport_domain,
	       alloc_transport_domain),
	CX_CMD(DEALLOC_TRANSPORT_DOMAIN, dealloc_transport_domain,
	       dealloc_transport_domain),
	CX_CMD(CREATE_UCTX, create_uctx, create_uctx),
	CX_CMD(DESTROY_UCTX, destroy_uctx, destroy_uctx),
	CX_CMD(ALLOC_UAR, alloc_uar, alloc_uar),
	CX_CMD(DEALLOC_UAR, dealloc_used_uar, dealloc_uar),
	CX_CMD(ALLOC_Q_COUNTER, alloc_q_counter, alloc_q_counter),
	CX_CMD(DEALLOC_Q_COUNTER, dealloc_q_counter, dealloc_q_counter),
	CX_CMD(QUERY_Q_COUNTER, query_q_counter, query_q_counter),
	CX_CMD(CREATE_EQ, create_eq, create_eq),
	CX_CMD(DESTROY_EQ, destroy_eq, destroy_eq),
	CX_CMD(QUERY_EQ, query_eq, query_eq),
	CX_CMD(CREATE_CQ, cx_create_cq, create_cq),
	CX_CMD(DESTROY_CQ, cx_destroy_cq, destroy_cq),
	CX_CMD(MODIFY_CQ, cx_modify_cq, modify_cq),
	CX_CMD(QUERY_CQ, cx_query_cq, query_cq),
	CX_CMD(CREATE_MKEY, cx_create_mkey, create_mkey),
	CX_CMD(DESTROY_MKEY, cx_destroy_mkey, destroy_mkey),
	{ MLX5_CMD_OP_QUERY_MKEY, "QUERY_MKEY", cx_query_mkey,
	  CX_BYTES(query_mkey_in), 16 + CX_BYTES(mkc) },
	CX_CMD(CREATE_SRQ, cx_create_srq, create_srq),
	CX_CMD(DESTROY_SRQ, cx_destroy_srq, destroy_srq),
	CX_CMD(QUERY_SRQ, cx_query_srq, query_srq),
	CX_CMD(ARM_RQ, cx_arm_srq, arm_rq),
	CX_CMD(CREATE_XRC_SRQ, cx_create_srq, create_xrc_srq),
	CX_CMD(DESTROY_XRC_SRQ, cx_destroy_srq, destroy_xrc_srq),
	CX_CMD(QUERY_XRC_SRQ, cx_query_srq, query_xrc_srq),
	CX_CMD(ARM_XRC_SRQ, cx_arm_srq, arm_xrc_srq),
	CX_CMD(CREATE_RMP, cx_create_srq, create_rmp),
	CX_CMD(MODIFY_RMP, cx_modify_rmp, modify_rmp),
	CX_CMD(DESTROY_RMP, cx_destroy_srq, destroy_rmp),
	CX_CMD(QUERY_RMP, cx_query_rmp, query_rmp),
	CX_CMD(CREATE_XRQ, cx_create_srq, create_xrq),
	CX_CMD(DESTROY_XRQ, cx_destroy_srq, destroy_xrq),
	CX_CMD(QUERY_XRQ, cx_query_xrq, query_xrq),
	CX_CMD(ARM_XRQ, cx_arm_srq, arm_xrq),
	CX_CMD(ATTACH_TO_MCG, attach_to_mcg, attach_to_mcg),
	CX_CMD(DETACH_FROM_MCG, detach_from_mcg, detach_from_mcg),
	{ 0 }
};
