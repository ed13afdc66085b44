// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * Probes of creating QPs: types, limits, extended creation, and of every state
 * transition. probe_qp_run.c moves data with them.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "probe.h"

#define DRAIN_S	5	/* seconds that a queue may take */

static const enum ibv_qp_type types[] = {
	IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD,
};

static void base_init(struct ibv_qp_init_attr *ia, struct ibv_cq *cq,
		      enum ibv_qp_type type)
{
	memset(ia, 0, sizeof(*ia));
	ia->qp_type = type;
	ia->send_cq = ia->recv_cq = cq;
	ia->cap.max_send_wr = ia->cap.max_recv_wr = 4;
	ia->cap.max_send_sge = ia->cap.max_recv_sge = 1;
}

static void show_qp(struct probe *p, const char *name,
		    struct ibv_qp_init_attr *ia)
{
	struct ibv_qp *qp = ibv_create_qp(p->pd, ia);
	int err = ep(qp);

	if (err) {
		pr(name, err);
		return;
	}
	prd(name, 0, "send %u x %u recv %u x %u inline %u", ia->cap.max_send_wr,
	    ia->cap.max_send_sge, ia->cap.max_recv_wr, ia->cap.max_recv_sge,
	    ia->cap.max_inline_data);
	err = ibv_destroy_qp(qp);
	if (err)
		pr(nm("%s.destroy", name), err);
}

static void probe_types(struct probe *p, struct ibv_cq *cq)
{
	static const struct {
		const char *name;
		int type;
	} all[] = {
		{ "smi", 0 }, { "gsi", 1 }, { "rc", IBV_QPT_RC },
		{ "uc", IBV_QPT_UC }, { "ud", IBV_QPT_UD }, { "5", 5 },
		{ "raw_packet", IBV_QPT_RAW_PACKET },
		{ "xrc_send", IBV_QPT_XRC_SEND },
		{ "xrc_recv", IBV_QPT_XRC_RECV },
		{ "driver", IBV_QPT_DRIVER }, { "77", 77 },
	};
	struct ibv_qp_init_attr ia;
	size_t i;

	for (i = 0; i < VT_ARRAY_SIZE(all); i++) {
		base_init(&ia, cq, all[i].type);
		show_qp(p, nm("create_qp.%s", all[i].name), &ia);
	}
	base_init(&ia, cq, IBV_QPT_RC);
	ia.sq_sig_all = 1;
	show_qp(p, "create_qp.sq_sig_all", &ia);
}

static void probe_caps(struct probe *p, struct ibv_cq *cq)
{
	const struct ibv_device_attr *d = &p->dev.attr;
	const struct {
		const char *name;
		struct ibv_qp_cap cap;
	} cases[] = {
		{ "zero", { 0, 0, 0, 0, 0 } },
		{ "ones", { 1, 1, 1, 1, 0 } },
		{ "odd", { 5, 9, 3, 3, 13 } },
		{ "big", { 1000, 1000, 4, 4, 128 } },
		{ "max_sge", { 4, 4, d->max_sge, d->max_sge, 0 } },
		{ "past_sge", { 4, 4, d->max_sge + 1, 1, 0 } },
		{ "past_recv_sge", { 4, 4, 1, d->max_sge + 1, 0 } },
		{ "past_wr", { d->max_qp_wr + 1, 4, 1, 1, 0 } },
		{ "past_recv_wr", { 4, d->max_qp_wr + 1, 1, 1, 0 } },
		{ "inline_512", { 4, 4, 1, 1, 512 } },
		{ "inline_513", { 4, 4, 1, 1, 513 } },
		{ "inline_huge", { 4, 4, 1, 1, 1 << 20 } },
		{ "all_ones", { ~0u, ~0u, ~0u, ~0u, ~0u } },
	};
	struct ibv_qp_init_attr ia;
	size_t i;

	for (i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		base_init(&ia, cq, IBV_QPT_RC);
		ia.cap = cases[i].cap;
		show_qp(p, nm("create_qp.cap.%s", cases[i].name), &ia);
	}
}

static void probe_ex(struct probe *p, struct ibv_cq *cq)
{
	static const struct {
		const char *name;
		uint32_t mask, create_flags;
		uint64_t ops;
	} cases[] = {
		{ "pd_only", IBV_QP_INIT_ATTR_PD, 0, 0 },
		{ "no_pd", 0, 0, 0 },
		{ "send_ops", IBV_QP_INIT_ATTR_PD |
		  IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, 0, IBV_QP_EX_WITH_SEND },
		{ "all_rc_ops", IBV_QP_INIT_ATTR_PD |
		  IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, 0, 0x7ff },
		{ "unknown_op", IBV_QP_INIT_ATTR_PD |
		  IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, 0, 1ull << 40 },
		{ "create_flags", IBV_QP_INIT_ATTR_PD |
		  IBV_QP_INIT_ATTR_CREATE_FLAGS,
		  IBV_QP_CREATE_BLOCK_SELF_MCAST_LB, 0 },
		{ "tso", IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_MAX_TSO_HEADER,
		  0, 0 },
		{ "bad_mask", IBV_QP_INIT_ATTR_PD | 1u << 30, 0, 0 },
	};
	struct ibv_qp *qp;
	size_t i;

	for (i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		struct ibv_qp_init_attr_ex ia = {
			.qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq,
			.cap = { 4, 4, 1, 1, 0 },
			.comp_mask = cases[i].mask, .pd = p->pd,
			.create_flags = cases[i].create_flags,
			.send_ops_flags = cases[i].ops,
			.max_tso_header = 64,
		};

		qp = ibv_create_qp_ex(p->ctx, &ia);
		prd(nm("create_qp_ex.%s", cases[i].name), ep(qp), "%s",
		    qp && ibv_qp_to_qp_ex(qp) ? "extended" : "");
		if (qp)
			ibv_destroy_qp(qp);
	}
}

static void probe_many(struct probe *p, struct ibv_cq *cq)
{
	struct ibv_qp *qp[100];
	struct ibv_qp_init_attr ia;
	int i, n, err = 0;

	for (n = 0; n < 100; n++) {
		base_init(&ia, cq, types[n % 3]);
		qp[n] = ibv_create_qp(p->pd, &ia);
		if (!qp[n])
			break;
	}
	prd("create_qp.many", n < 100 ? er(-1) : 0, "%d", n);
	for (i = 0; i < n; i++)
		err = err ? err : ibv_destroy_qp(qp[i]);
	pr("destroy_qp.many", err);
}

void probe_qp(struct probe *p)
{
	struct ibv_cq *cq = ibv_create_cq(p->ctx, 64, NULL, NULL, 0);

	pr("create_qp.setup", ep(cq));
	if (!cq)
		return;
	probe_types(p, cq);
	probe_caps(p, cq);
	probe_ex(p, cq);
	probe_many(p, cq);
	pr("create_qp.cleanup", ibv_destroy_cq(cq));
}

static struct ibv_qp *qp_in(struct probe *p, struct ibv_cq *cq,
			    enum ibv_qp_type type, enum ibv_qp_state s)
{
	struct ibv_qp_init_attr ia;
	struct ibv_qp *qp;

	base_init(&ia, cq, type);
	qp = ibv_create_qp(p->pd, &ia);
	if (!qp || s == IBV_QPS_RESET)
		return qp;
	if (!lo_walk(qp, p, type, s))
		return qp;
	ibv_destroy_qp(qp);
	return NULL;
}

/* From these two a QP goes to RTS without new attributes. */
static int modify_from(struct ibv_qp *qp, struct probe *p,
		       enum ibv_qp_type type, enum ibv_qp_state from,
		       enum ibv_qp_state to)
{
	struct ibv_qp_attr a;
	int mask;

	lo_attr(p, qp, type, to, &a, &mask);
	if (to == IBV_QPS_RTS && (from == IBV_QPS_RTS || from == IBV_QPS_SQD))
		mask = IBV_QP_STATE;
	return ibv_modify_qp(qp, &a, mask);
}

static enum ibv_qp_state state_of(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr ia;
	struct ibv_qp_attr a;

	if (ibv_query_qp(qp, &a, IBV_QP_STATE, &ia))
		return IBV_QPS_UNKNOWN;
	return a.qp_state;
}

/*
 * Even an empty queue takes time to drain, and Soft-RoCE refuses RTS until it has
 * (drivers/infiniband/sw/rxe/rxe_qp.c, rxe_qp_chk_attr()).
 */
static void wait_drained(struct ibv_qp *qp)
{
	uint64_t end = vt_now_ns() + DRAIN_S * 1000000000ull;
	struct ibv_qp_attr a = { .sq_draining = 1 };
	struct ibv_qp_init_attr ia;

	while (a.sq_draining && vt_now_ns() < end)
		if (ibv_query_qp(qp, &a, IBV_QP_STATE, &ia))
			return;
}

static void one_move(struct probe *p, struct ibv_cq *cq,
		     enum ibv_qp_type type, enum ibv_qp_state from,
		     enum ibv_qp_state to)
{
	struct ibv_qp *qp = qp_in(p, cq, type, from);
	const char *name = nm("modify_qp.%s.%s-%s", qpt_name(type),
			      state_name(from), state_name(to));
	int err;

	if (!qp) {
		prd(name, EIO, "cannot reach the first state");
		return;
	}
	if (from == IBV_QPS_SQD)
		wait_drained(qp);
	err = modify_from(qp, p, type, from, to);
	prd(name, err, "now %s, library says %s", state_name(state_of(qp)),
	    state_name(qp->state));
	ibv_destroy_qp(qp);
}

void probe_qp_modify(struct probe *p)
{
	struct ibv_cq *cq = ibv_create_cq(p->ctx, 64, NULL, NULL, 0);
	int from, to;
	size_t t;

	pr("modify_qp.setup", ep(cq));
	for (t = 0; cq && t < VT_ARRAY_SIZE(types); t++)
		for (from = IBV_QPS_RESET; from <= IBV_QPS_ERR; from++)
			for (to = IBV_QPS_RESET; to <= IBV_QPS_ERR; to++)
				if (from != IBV_QPS_SQE)
					one_move(p, cq, types[t], from, to);
	if (cq)
		pr("modify_qp.cleanup", ibv_destroy_cq(cq));
}

/* Each case spoils one thing of a modify that would work. */
enum spoil {
	NONE, NO_PORT, PORT_0, PORT_2, PKEY_9, EXTRA_QKEY, BAD_ACCESS, NO_PKEY,
	NO_AV, NO_GRH, AH_PORT_2, SGID_PAST, SGID_EMPTY, SGID_OTHER, MTU_0,
	MTU_4096, MTU_6, NO_DEST, RD_255, NO_RNR, DGID_FAR, DGID_NEAR,
	DGID_ZERO, DGID_MCAST, PSN_BIG, DEST_BIG, ALT_PATH,
	TIMEOUT_32, RETRY_8, RNR_8, NO_PSN, CUR_WRONG, CUR_RIGHT, RATE_LIMIT,
	BIT_30,
};

static const struct {
	const char *name;
	enum ibv_qp_state to;
	enum spoil what;
} spoils[] = {
	{ "init.no_port", IBV_QPS_INIT, NO_PORT },
	{ "init.port_0", IBV_QPS_INIT, PORT_0 },
	{ "init.port_2", IBV_QPS_INIT, PORT_2 },
	{ "init.pkey_9", IBV_QPS_INIT, PKEY_9 },
	{ "init.no_pkey", IBV_QPS_INIT, NO_PKEY },
	{ "init.extra_qkey", IBV_QPS_INIT, EXTRA_QKEY },
	{ "init.bad_access", IBV_QPS_INIT, BAD_ACCESS },
	{ "init.cur_wrong", IBV_QPS_INIT, CUR_WRONG },
	{ "init.cur_right", IBV_QPS_INIT, CUR_RIGHT },
	{ "init.bit_30", IBV_QPS_INIT, BIT_30 },
	{ "rtr.no_av", IBV_QPS_RTR, NO_AV },
	{ "rtr.no_grh", IBV_QPS_RTR, NO_GRH },
	{ "rtr.ah_port_2", IBV_QPS_RTR, AH_PORT_2 },
	{ "rtr.sgid_past", IBV_QPS_RTR, SGID_PAST },
	{ "rtr.sgid_empty", IBV_QPS_RTR, SGID_EMPTY },
	{ "rtr.sgid_other", IBV_QPS_RTR, SGID_OTHER },
	{ "rtr.mtu_0", IBV_QPS_RTR, MTU_0 },
	{ "rtr.mtu_4096", IBV_QPS_RTR, MTU_4096 },
	{ "rtr.mtu_6", IBV_QPS_RTR, MTU_6 },
	{ "rtr.no_dest", IBV_QPS_RTR, NO_DEST },
	{ "rtr.dest_big", IBV_QPS_RTR, DEST_BIG },
	{ "rtr.rd_255", IBV_QPS_RTR, RD_255 },
	{ "rtr.no_rnr", IBV_QPS_RTR, NO_RNR },
	{ "rtr.dgid_far", IBV_QPS_RTR, DGID_FAR },
	{ "rtr.dgid_near", IBV_QPS_RTR, DGID_NEAR },
	{ "rtr.dgid_zero", IBV_QPS_RTR, DGID_ZERO },
	{ "rtr.dgid_mcast", IBV_QPS_RTR, DGID_MCAST },
	{ "rtr.psn_big", IBV_QPS_RTR, PSN_BIG },
	{ "rtr.alt_path", IBV_QPS_RTR, ALT_PATH },
	{ "rts.timeout_32", IBV_QPS_RTS, TIMEOUT_32 },
	{ "rts.retry_8", IBV_QPS_RTS, RETRY_8 },
	{ "rts.rnr_8", IBV_QPS_RTS, RNR_8 },
	{ "rts.rd_255", IBV_QPS_RTS, RD_255 },
	{ "rts.no_psn", IBV_QPS_RTS, NO_PSN },
	{ "rts.psn_big", IBV_QPS_RTS, PSN_BIG },
	{ "rts.cur_right", IBV_QPS_RTS, CUR_RIGHT },
	{ "rts.rate_limit", IBV_QPS_RTS, RATE_LIMIT },
};

static void spoil_gid(struct probe *p, union ibv_gid *g, enum spoil what)
{
	*g = p->dev.gid;
	if (what == DGID_ZERO) {
		memset(g, 0, sizeof(*g));
	} else if (what == DGID_NEAR) {
		g->raw[15] = 77;
	} else if (what == DGID_FAR) {
		g->raw[13] = 99;
		g->raw[15] = 77;
	} else {
		g->raw[12] = 239;
	}
}

static void spoil_ah(struct probe *p, struct ibv_qp_attr *a, enum spoil what)
{
	struct ibv_ah_attr *ah = &a->ah_attr;

	switch (what) {
	case NO_GRH: ah->is_global = 0; break;
	case AH_PORT_2: ah->port_num = 2; break;
	case SGID_PAST: ah->grh.sgid_index = 255; break;
	case SGID_EMPTY: ah->grh.sgid_index = 9; break;
	case SGID_OTHER: ah->grh.sgid_index = 0; break;
	default: spoil_gid(p, &ah->grh.dgid, what); break;
	}
}

static void spoil_mask(enum spoil what, int *mask)
{
	switch (what) {
	case NO_PORT: *mask &= ~IBV_QP_PORT; break;
	case NO_PKEY: *mask &= ~IBV_QP_PKEY_INDEX; break;
	case NO_AV: *mask &= ~IBV_QP_AV; break;
	case NO_DEST: *mask &= ~IBV_QP_DEST_QPN; break;
	case NO_RNR: *mask &= ~IBV_QP_MIN_RNR_TIMER; break;
	case NO_PSN: *mask &= ~IBV_QP_SQ_PSN; break;
	case EXTRA_QKEY: *mask |= IBV_QP_QKEY; break;
	case CUR_WRONG:
	case CUR_RIGHT: *mask |= IBV_QP_CUR_STATE; break;
	case ALT_PATH: *mask |= IBV_QP_ALT_PATH; break;
	case RATE_LIMIT: *mask |= IBV_QP_RATE_LIMIT; break;
	case BIT_30: *mask |= 1 << 30; break;
	default: break;
	}
}

static void spoil_attr(struct probe *p, struct ibv_qp_attr *a, int *mask,
		       enum spoil what)
{
	spoil_mask(what, mask);
	switch (what) {
	case PORT_0: a->port_num = 0; break;
	case PORT_2: a->port_num = 2; break;
	case PKEY_9: a->pkey_index = 9; break;
	case BAD_ACCESS: a->qp_access_flags = 0xffff; break;
	case MTU_0: a->path_mtu = 0; break;
	case MTU_4096: a->path_mtu = IBV_MTU_4096; break;
	case MTU_6: a->path_mtu = 6; break;
	case RD_255: a->max_rd_atomic = a->max_dest_rd_atomic = 255; break;
	case PSN_BIG: a->rq_psn = a->sq_psn = 0xfffffff; break;
	case DEST_BIG: a->dest_qp_num = 0xfffffff; break;
	case TIMEOUT_32: a->timeout = 32; break;
	case RETRY_8: a->retry_cnt = 8; break;
	case RNR_8: a->rnr_retry = 8; break;
	case RATE_LIMIT: a->rate_limit = 1000; break;
	case CUR_WRONG: a->cur_qp_state = IBV_QPS_RTS; break;
	case CUR_RIGHT: a->cur_qp_state = a->qp_state - 1; break;
	case ALT_PATH:
		a->alt_ah_attr = a->ah_attr;
		a->alt_port_num = VT_PORT;
		a->alt_timeout = 10;
		break;
	case NO_GRH: case AH_PORT_2: case SGID_PAST: case SGID_EMPTY:
	case SGID_OTHER: case DGID_FAR: case DGID_NEAR: case DGID_ZERO:
	case DGID_MCAST: spoil_ah(p, a, what); break;
	default: break;
	}
}

void probe_qp_bad(struct probe *p)
{
	struct ibv_cq *cq = ibv_create_cq(p->ctx, 64, NULL, NULL, 0);
	struct ibv_qp_attr a;
	struct ibv_qp *qp;
	int mask, err;
	size_t i;

	for (i = 0; cq && i < VT_ARRAY_SIZE(spoils); i++) {
		qp = qp_in(p, cq, IBV_QPT_RC, spoils[i].to - 1);
		if (!qp) {
			pr(nm("modify_qp.bad.%s", spoils[i].name), er(-1));
			continue;
		}
		lo_attr(p, qp, IBV_QPT_RC, spoils[i].to, &a, &mask);
		spoil_attr(p, &a, &mask, spoils[i].what);
		err = ibv_modify_qp(qp, &a, mask);
		prd(nm("modify_qp.bad.%s", spoils[i].name), err, "now %s",
		    state_name(state_of(qp)));
		ibv_destroy_qp(qp);
	}
	pr("modify_qp.bad.cleanup", cq ? ibv_destroy_cq(cq) : er(-1));
}
