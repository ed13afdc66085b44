// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * Probes of QPs at work: what query_qp tells in each state, posting in states
 * that do not allow it, flushing, extended posting, small messages.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "probe.h"

static void show_attr(const char *n, const struct ibv_qp_attr *a, bool psn)
{
	/* Not sq_draining: it may be over or not. */
	prd(nm("%s.state", n), 0, "%s mig %d sqd_async %u",
	    state_name(a->qp_state), a->path_mig_state,
	    a->en_sqd_async_notify);
	prd(nm("%s.path", n), 0, "mtu %d access %#x pkey %u port %u qkey %#x",
	    a->path_mtu, a->qp_access_flags, a->pkey_index, a->port_num,
	    a->qkey);
	prd(nm("%s.timing", n), 0, "timeout %u retry %u rnr %u min_rnr %u "
	    "rd %u dest_rd %u", a->timeout, a->retry_cnt, a->rnr_retry,
	    a->min_rnr_timer, a->max_rd_atomic, a->max_dest_rd_atomic);
	if (psn)
		prd(nm("%s.psn", n), 0, "rq %#x sq %#x", a->rq_psn, a->sq_psn);
	prd(nm("%s.alt", n), 0, "port %u pkey %u timeout %u", a->alt_port_num,
	    a->alt_pkey_index, a->alt_timeout);
}

static void show_ah(struct probe *p, const char *n,
		    const struct ibv_ah_attr *ah)
{
	prd(nm("%s.ah", n), 0, "dlid %u sl %u path_bits %u rate %u global %u "
	    "port %u", ah->dlid, ah->sl, ah->src_path_bits, ah->static_rate,
	    ah->is_global, ah->port_num);
	prd(nm("%s.grh", n), 0, "sgid %u hop %u class %u flow %u dgid %s",
	    ah->grh.sgid_index, ah->grh.hop_limit, ah->grh.traffic_class,
	    ah->grh.flow_label,
	    !memcmp(&ah->grh.dgid, &p->dev.gid, 16) ? "own" :
	    vt_all(ah->grh.dgid.raw, 16, 0) ? "zero" : "other");
}

static void show_init(const char *n, const struct lo *l,
		      const struct ibv_qp_init_attr *ia)
{
	prd(nm("%s.init", n), 0, "type %s sig_all %d cqs %s srq %s",
	    qpt_name(ia->qp_type), ia->sq_sig_all,
	    ia->send_cq == l->cq && ia->recv_cq == l->cq ? "own" : "other",
	    ia->srq ? "set" : "none");
	prd(nm("%s.cap", n), 0, "send %u x %u recv %u x %u inline %u",
	    ia->cap.max_send_wr, ia->cap.max_send_sge, ia->cap.max_recv_wr,
	    ia->cap.max_recv_sge, ia->cap.max_inline_data);
}

static void query_in(struct probe *p, struct lo *l, enum ibv_qp_state s)
{
	const char *n = nm("query_qp.%s.%s", qpt_name(l->type), state_name(s));
	struct ibv_qp_init_attr ia;
	struct ibv_qp_attr a;
	char name[64];
	int err;

	snprintf(name, sizeof(name), "%s", n);
	memset(&a, 0, sizeof(a));
	memset(&ia, 0, sizeof(ia));
	err = ibv_query_qp(l->qp, &a, (1 << 21) - 1, &ia);
	pr(name, err);
	if (err)
		return;
	show_attr(name, &a, s == IBV_QPS_RTR || s == IBV_QPS_RTS);
	show_ah(p, name, &a.ah_attr);
	show_init(name, l, &ia);
	prd(nm("%s.dest", name), 0, "%s", !a.dest_qp_num ? "zero" :
	    a.dest_qp_num == l->qp->qp_num ? "own" : "other");
}

void probe_qp_query(struct probe *p)
{
	static const enum ibv_qp_type types[] = {
		IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD,
	};
	int s, err;
	size_t t;

	for (t = 0; t < VT_ARRAY_SIZE(types); t++) {
		struct lo l = {};

		err = lo_open(&l, p, types[t]);
		pr(nm("query_qp.%s.setup", qpt_name(types[t])), err);
		if (!err)
			err = lo_modify(l.qp, p, types[t], IBV_QPS_RESET);
		for (s = IBV_QPS_RESET; s <= IBV_QPS_SQD && !err; s++) {
			if (s)
				err = lo_modify(l.qp, p, types[t], s);
			if (!err)
				query_in(p, &l, s);
		}
		if (!err)
			err = lo_modify(l.qp, p, types[t], IBV_QPS_ERR);
		if (!err)
			query_in(p, &l, IBV_QPS_ERR);
		pr(nm("query_qp.%s.done", qpt_name(types[t])), err);
		if (l.qp)
			prd(nm("query_qp_data_in_order.%s",
			       qpt_name(types[t])), 0, "%d",
			    ibv_query_qp_data_in_order(l.qp, IBV_WR_RDMA_WRITE,
						       0));
		lo_close(&l);
	}
}

static void probe_post(struct probe *p)
{
	static const enum ibv_qp_state states[] = {
		IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR,
	};
	struct lo l = {};
	int s, err = lo_open(&l, p, IBV_QPT_RC);
	size_t i;

	for (i = 0; i < VT_ARRAY_SIZE(states) && !err; i++) {
		lo_modify(l.qp, p, IBV_QPT_RC, IBV_QPS_RESET);
		for (s = IBV_QPS_INIT; s <= (int)states[i]; s++)
			lo_modify(l.qp, p, IBV_QPT_RC, s);
		pr(nm("post_recv.%s", state_name(states[i])),
		   lo_recv(&l, 64));
		pr(nm("post_send.%s", state_name(states[i])),
		   lo_send(&l, 64, 0));
	}
	lo_close(&l);
}

static void probe_limits(struct probe *p)
{
	struct lo l = {};
	struct ibv_sge sge[3];
	struct ibv_send_wr wr = { .sg_list = sge, .num_sge = 3,
				  .opcode = IBV_WR_SEND }, *bads;
	struct ibv_recv_wr rr = { .sg_list = sge, .num_sge = 3 }, *badr;
	int i, n, err = lo_open(&l, p, IBV_QPT_RC);

	pr("post.setup", err);
	if (!err) {
		for (i = 0; i < 3; i++)
			sge[i] = (struct ibv_sge){ (uintptr_t)l.buf, 8,
						   l.mr->lkey };
		pr("post_recv.too_many_sge", ibv_post_recv(l.qp, &rr, &badr));
		/* While nothing was sent: an error takes receives away. */
		for (n = 0; n < 100 && !lo_recv(&l, 64); n++)
			;
		prd("post_recv.until_full", 0, "%d", n);
		wr.num_sge = 100;
		pr("post_send.too_many_sge", ibv_post_send(l.qp, &wr, &bads));
		pr("post_send.inline_too_long",
		   lo_send(&l, 4096, IBV_SEND_INLINE));
		wr.num_sge = 0;
		wr.opcode = 77;
		pr("post_send.bad_opcode", ibv_post_send(l.qp, &wr, &bads));
	}
	lo_close(&l);
}

static void probe_flush(struct probe *p, enum ibv_qp_type type)
{
	struct lo l = {};
	const char *n = qpt_name(type);
	int err = lo_open(&l, p, type);

	if (!err)
		err = lo_recv(&l, 64) || lo_recv(&l, 64) ? EIO : 0;
	pr(nm("flush.%s.setup", n), err);
	if (!err) {
		err = lo_modify(l.qp, p, type, IBV_QPS_ERR);
		prd(nm("flush.%s", n), err, "%s", lo_status(&l, 2, 1000));
		err = lo_send(&l, 8, 0);
		prd(nm("flush.%s.late_send", n), err, "%s",
		    lo_status(&l, 1, 500));
		err = lo_recv(&l, 8);
		prd(nm("flush.%s.late_recv", n), err, "%s",
		    lo_status(&l, 1, 500));
		err = lo_modify(l.qp, p, type, IBV_QPS_RESET);
		prd(nm("flush.%s.reset", n), err, "%s",
		    lo_status(&l, 1, 100));
	}
	lo_close(&l);
}

static void probe_small(struct probe *p, enum ibv_qp_type type)
{
	static const uint32_t len[] = { 0, 1, 64, 1024 };
	const char *n = qpt_name(type);
	size_t i;

	for (i = 0; i < VT_ARRAY_SIZE(len); i++) {
		struct lo l = {};
		struct ibv_wc wc, got = { .status = IBV_WC_GENERAL_ERR };
		int j, err = lo_open(&l, p, type);

		if (!err)
			err = lo_recv(&l, 2048);
		if (!err)
			err = lo_send(&l, len[i], 0);
		for (j = 0; j < 2 && !err; j++)
			if (lo_poll(&l, &wc, 1000) == 1 && wc.wr_id == 2)
				got = wc;
		prd(nm("send.%s.%u", n, len[i]), err, "received %s, %u bytes, "
		    "flags %#x", ibv_wc_status_str(got.status), got.byte_len,
		    got.wc_flags);
		lo_close(&l);
	}
}

/* The extended posting calls: one SEND with immediate data to itself. */
static void probe_wr_api(struct probe *p)
{
	struct ibv_qp_init_attr_ex ia = {
		.qp_type = IBV_QPT_RC, .cap = { 4, 4, 1, 1, 64 },
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND |
				  IBV_QP_EX_WITH_SEND_WITH_IMM,
		.pd = p->pd,
	};
	struct lo l = {};
	struct ibv_qp_ex *qx;
	int err = lo_open(&l, p, IBV_QPT_RC);

	if (!err) {
		ibv_destroy_qp(l.qp);
		ia.send_cq = ia.recv_cq = l.cq;
		l.qp = ibv_create_qp_ex(p->ctx, &ia);
		err = ep(l.qp);
	}
	if (!err)
		err = lo_walk(l.qp, p, IBV_QPT_RC, IBV_QPS_RTS);
	if (!err)
		err = lo_recv(&l, 64);
	pr("wr_api.setup", err);
	if (!err) {
		qx = ibv_qp_to_qp_ex(l.qp);
		ibv_wr_start(qx);
		qx->wr_id = 1;
		qx->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_send_imm(qx, 7);
		ibv_wr_set_sge(qx, l.mr->lkey, (uintptr_t)l.buf, 32);
		err = ibv_wr_complete(qx);
		prd("wr_api.send_imm", err, "%s", lo_status(&l, 2, 1000));
		ibv_wr_start(qx);
		ibv_wr_abort(qx);
		prd("wr_api.abort", 0, "%s", lo_status(&l, 1, 100));
	}
	lo_close(&l);
}

void probe_qp_run(struct probe *p)
{
	probe_post(p);
	probe_limits(p);
	probe_flush(p, IBV_QPT_RC);
	probe_flush(p, IBV_QPT_UC);
	probe_flush(p, IBV_QPT_UD);
	probe_small(p, IBV_QPT_RC);
	probe_small(p, IBV_QPT_UC);
	probe_small(p, IBV_QPT_UD);
	probe_wr_api(p);
}
