// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * Probes of what few devices have (device memory, counters, flows, work queues),
 * of objects that are still in use, and of asynchronous events.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"

static void probe_wq(struct probe *p, struct ibv_cq *cq)
{
	struct ibv_wq_init_attr wa = {
		.wq_type = IBV_WQT_RQ, .max_wr = 16, .max_sge = 1,
		.pd = p->pd, .cq = cq,
	};
	struct ibv_wq *wq = ibv_create_wq(p->ctx, &wa);
	struct ibv_rwq_ind_table_init_attr ra = {
		.log_ind_tbl_size = 0, .ind_tbl = &wq,
	};
	struct ibv_rwq_ind_table *t;

	pr("create_wq", ep(wq));
	if (!wq) {
		pr("create_rwq_ind_table.no_wq", EINVAL);
		return;
	}
	t = ibv_create_rwq_ind_table(p->ctx, &ra);
	pr("create_rwq_ind_table", ep(t));
	if (t)
		pr("destroy_rwq_ind_table", ibv_destroy_rwq_ind_table(t));
	pr("destroy_wq", ibv_destroy_wq(wq));
}

static void probe_flow(struct ibv_qp *qp)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
	} f = {
		.attr = { .type = IBV_FLOW_ATTR_NORMAL, .size = sizeof(f),
			  .num_of_specs = 1, .port = VT_PORT },
		.eth = { .type = IBV_FLOW_SPEC_ETH, .size = sizeof(f.eth) },
	};
	struct ibv_flow *flow = ibv_create_flow(qp, &f.attr);

	pr("create_flow", ep(flow));
	if (flow)
		pr("destroy_flow", ibv_destroy_flow(flow));
}

static void probe_counters(struct probe *p)
{
	struct ibv_counters_init_attr ia = {};
	struct ibv_counters *c = ibv_create_counters(p->ctx, &ia);

	pr("create_counters", ep(c));
	if (c)
		pr("destroy_counters", ibv_destroy_counters(c));
}

static void probe_dm(struct probe *p)
{
	struct ibv_alloc_dm_attr da = { .length = 4096 };
	struct ibv_dm *dm = ibv_alloc_dm(p->ctx, &da);
	struct ibv_mr *mr;

	pr("alloc_dm", ep(dm));
	if (!dm) {
		pr("import_dm", ep(ibv_import_dm(p->ctx, 0)));
		return;
	}
	mr = ibv_reg_dm_mr(p->pd, dm, 0, 4096, IBV_ACCESS_ZERO_BASED |
			   IBV_ACCESS_LOCAL_WRITE);
	pr("reg_dm_mr", ep(mr));
	if (mr)
		ibv_dereg_mr(mr);
	pr("free_dm", ibv_free_dm(dm));
}

void probe_misc(struct probe *p)
{
	struct ibv_flow_action_esp_attr esp = {};
	struct ibv_ece ece = {};
	struct ibv_flow_action *fa;
	struct lo l = {};
	int err = lo_open(&l, p, IBV_QPT_RC);

	pr("misc.setup", err);
	if (!err) {
		probe_wq(p, l.cq);
		probe_flow(l.qp);
		probe_counters(p);
		probe_dm(p);
		fa = ibv_create_flow_action_esp(p->ctx, &esp);
		pr("create_flow_action_esp", ep(fa));
		err = ibv_query_ece(l.qp, &ece);
		prd("query_ece", err, "vendor %u", ece.vendor_id);
		ece.vendor_id = 1;
		pr("set_ece", ibv_set_ece(l.qp, &ece));
	}
	lo_close(&l);
}

/* Destroying what others still use has to fail and change nothing. */
void probe_busy(struct probe *p)
{
	struct ibv_srq_init_attr sa = { .attr = { 16, 1, 0 } };
	struct ibv_pd *pd = ibv_alloc_pd(p->ctx);
	struct lo l = {};
	struct ibv_mr *mr;
	struct ibv_ah_attr a;
	struct ibv_srq *srq;
	struct ibv_mw *mw;
	struct ibv_ah *ah;
	int err = lo_open(&l, p, IBV_QPT_RC);

	pr("busy.setup", err ? err : ep(pd));
	if (err || !pd)
		return;
	pr("destroy_cq.has_qp", ibv_destroy_cq(l.cq));
	pr("destroy_comp_channel.has_cq", ibv_destroy_comp_channel(l.chan));
	pr("dealloc_pd.has_qp", ibv_dealloc_pd(p->pd));
	mr = ibv_reg_mr(pd, l.buf, LO_LEN, IBV_ACCESS_LOCAL_WRITE);
	pr("dealloc_pd.has_mr", mr ? ibv_dealloc_pd(pd) : er(-1));
	if (mr)
		ibv_dereg_mr(mr);
	srq = ibv_create_srq(pd, &sa);
	pr("dealloc_pd.has_srq", srq ? ibv_dealloc_pd(pd) : er(-1));
	if (srq)
		ibv_destroy_srq(srq);
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	pr("dealloc_pd.has_mw", mw ? ibv_dealloc_pd(pd) : er(-1));
	if (mw)
		ibv_dealloc_mw(mw);
	lo_ah_attr(p, &a);
	ah = ibv_create_ah(pd, &a);
	pr("dealloc_pd.has_ah", ah ? ibv_dealloc_pd(pd) : er(-1));
	if (ah)
		ibv_destroy_ah(ah);
	pr("dealloc_pd.free_again", ibv_dealloc_pd(pd));
	err = lo_recv(&l, 64);
	if (!err)
		err = lo_send(&l, 64, 0);
	prd("busy.still_works", err, "%s", lo_status(&l, 2, 1000));
	lo_close(&l);
}

static int bad_write(struct lo *l, uint32_t rkey)
{
	struct ibv_sge sge = { (uintptr_t)l->buf, 64, l->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = 1, .sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)l->buf, rkey },
	}, *bad;

	return ibv_post_send(l->qp, &wr, &bad);
}

static void async_write(struct probe *p)
{
	struct lo l = {};
	int err = lo_open(&l, p, IBV_QPT_RC);

	if (!err)
		err = bad_write(&l, 0x7fffff55);
	prd("async.bad_rkey", err, "%s, event %s", lo_status(&l, 1, 2000),
	    lo_event(p, 300));
	lo_close(&l);
}

static void async_bad_lkey(struct probe *p)
{
	struct lo l = {};
	struct ibv_mr wrong;
	struct ibv_mr *mr;
	int err = lo_open(&l, p, IBV_QPT_RC);

	mr = l.mr;
	if (!err) {
		wrong = *mr;
		wrong.lkey = 0x7fffff55;
		l.mr = &wrong;
		err = lo_send(&l, 64, 0);
		l.mr = mr;
	}
	prd("async.bad_lkey", err, "%s, event %s", lo_status(&l, 1, 2000),
	    lo_event(p, 300));
	lo_close(&l);
}

static void async_length(struct probe *p, enum ibv_qp_type type)
{
	struct lo l = {};
	int err = lo_open(&l, p, type);

	if (!err)
		err = lo_recv(&l, 64);
	if (!err)
		err = lo_send(&l, 512, 0);
	prd(nm("async.long_message.%s", qpt_name(type)), err, "%s, event %s",
	    lo_status(&l, 2, 500), lo_event(p, 300));
	lo_close(&l);
}

static void async_rnr(struct probe *p)
{
	struct lo l = {};
	int err = lo_open(&l, p, IBV_QPT_RC);

	if (!err)
		err = lo_send(&l, 64, 0);
	prd("async.no_receive", err, "%s, event %s", lo_status(&l, 1, 2000),
	    lo_event(p, 100));
	lo_close(&l);
}

static void async_srq(struct probe *p)
{
	struct ibv_srq_init_attr ia = { .attr = { 16, 1, 0 } };
	struct lo l = { .srq = ibv_create_srq(p->pd, &ia) };
	struct ibv_srq_attr a = { .srq_limit = 2 };
	struct ibv_srq *srq = l.srq;
	int i, err = srq ? lo_open(&l, p, IBV_QPT_RC) : er(-1);

	for (i = 0; i < 3 && !err; i++)
		err = lo_recv(&l, 64);
	if (!err)
		err = ibv_modify_srq(srq, &a, IBV_SRQ_LIMIT);
	prd("async.srq_limit.above", err, "event %s", lo_event(p, 100));
	for (i = 0; i < 2 && !err; i++)
		err = lo_send(&l, 32, 0);
	prd("async.srq_limit.below", err, "%s, event %s",
	    lo_status(&l, 4, 1000), lo_event(p, 500));
	if (!err)
		err = lo_modify(l.qp, p, IBV_QPT_RC, IBV_QPS_ERR);
	prd("async.srq_last_wqe", err, "event %s", lo_event(p, 300));
	lo_close(&l);
	if (srq)
		ibv_destroy_srq(srq);
}

static void async_sqd(struct probe *p)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_SQD,
				 .en_sqd_async_notify = 1 };
	struct lo l = {};
	int err = lo_open(&l, p, IBV_QPT_RC);

	if (!err)
		err = ibv_modify_qp(l.qp, &a, IBV_QP_STATE |
				    IBV_QP_EN_SQD_ASYNC_NOTIFY);
	prd("async.sq_drained", err, "event %s", lo_event(p, 500));
	lo_close(&l);
}

/* A CQ of a single entry cannot take a send and a receive. */
static void async_overrun(struct probe *p)
{
	struct lo l = {};
	int i, err = lo_open(&l, p, IBV_QPT_RC);

	if (!err)
		err = ibv_resize_cq(l.cq, 1);
	for (i = 0; i < 4 && !err; i++)
		err = lo_recv(&l, 64);
	for (i = 0; i < 4 && !err; i++)
		err = lo_send(&l, 64, 0);
	prd("async.cq_overrun", err, "event %s", lo_event(p, 1000));
	while (strcmp(lo_event(p, 50), "none"))
		;
	lo_close(&l);
}

static void async_port(struct probe *p)
{
	struct ibv_async_event ev;

	prd("async.none_at_start", 0, "event %s", lo_event(p, 50));
	pr("get_async_event.empty", er(ibv_get_async_event(p->ctx, &ev)));
}

void probe_async(struct probe *p)
{
	async_port(p);
	async_write(p);
	async_bad_lkey(p);
	async_length(p, IBV_QPT_RC);
	async_length(p, IBV_QPT_UC);
	async_length(p, IBV_QPT_UD);
	async_rnr(p);
	async_srq(p);
	async_sqd(p);
	async_overrun(p);
}
