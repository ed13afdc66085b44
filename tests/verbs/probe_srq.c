// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * Probes of shared receive queues, address handles and multicast membership.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "probe.h"

static void probe_create(struct probe *p)
{
	const struct ibv_device_attr *d = &p->dev.attr;
	const struct {
		const char *name;
		struct ibv_srq_attr a;
	} cases[] = {
		{ "1", { 1, 1, 0 } }, { "64", { 64, 4, 0 } },
		{ "zero_wr", { 0, 1, 0 } }, { "zero_sge", { 16, 0, 0 } },
		{ "limit", { 16, 1, 8 } }, { "limit_past", { 16, 1, 1000 } },
		{ "max_sge", { 4, d->max_srq_sge, 0 } },
		{ "past_wr", { d->max_srq_wr + 1, 1, 0 } },
		{ "past_sge", { 16, d->max_srq_sge + 1, 0 } },
		{ "all_ones", { ~0u, ~0u, ~0u } },
	};
	struct ibv_srq *srq;
	size_t i;

	for (i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		struct ibv_srq_init_attr ia = { .attr = cases[i].a };

		srq = ibv_create_srq(p->pd, &ia);
		prd(nm("create_srq.%s", cases[i].name), ep(srq), "%u x %u",
		    srq ? ia.attr.max_wr : 0, srq ? ia.attr.max_sge : 0);
		if (srq)
			ibv_destroy_srq(srq);
	}
}

static void probe_create_ex(struct probe *p)
{
	static const struct {
		const char *name;
		uint32_t mask;
		int type;
	} cases[] = {
		{ "basic", IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
		  IBV_SRQT_BASIC },
		{ "no_pd", IBV_SRQ_INIT_ATTR_TYPE, IBV_SRQT_BASIC },
		{ "xrc", IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
		  IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		  IBV_SRQT_XRC },
		{ "tm", IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
		  IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM, IBV_SRQT_TM },
		{ "bad_type", IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
		  9 },
	};
	struct ibv_cq *cq = ibv_create_cq(p->ctx, 16, NULL, NULL, 0);
	struct ibv_srq *srq;
	uint32_t num;
	size_t i;

	for (i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		struct ibv_srq_init_attr_ex ia = {
			.attr = { 16, 1, 0 }, .comp_mask = cases[i].mask,
			.srq_type = cases[i].type, .pd = p->pd, .cq = cq,
		};

		/* libibverbs reads the domain of an XRC SRQ unchecked. */
		if (cases[i].type == IBV_SRQT_XRC)
			ia.comp_mask &= ~IBV_SRQ_INIT_ATTR_XRCD;
		srq = ibv_create_srq_ex(p->ctx, &ia);
		pr(nm("create_srq_ex.%s", cases[i].name), ep(srq));
		if (!srq)
			continue;
		pr(nm("get_srq_num.%s", cases[i].name),
		   ibv_get_srq_num(srq, &num));
		ibv_destroy_srq(srq);
	}
	if (cq)
		ibv_destroy_cq(cq);
}

static void show_srq(const char *name, struct ibv_srq *srq, int err)
{
	struct ibv_srq_attr a = {};
	int q = ibv_query_srq(srq, &a);

	prd(name, err, "query %s %u x %u limit %u", vt_errno(q), a.max_wr,
	    a.max_sge, a.srq_limit);
}

static void probe_modify(struct probe *p)
{
	static const struct {
		const char *name;
		struct ibv_srq_attr a;
		int mask;
	} cases[] = {
		{ "limit_5", { 0, 0, 5 }, IBV_SRQ_LIMIT },
		{ "limit_0", { 0, 0, 0 }, IBV_SRQ_LIMIT },
		{ "limit_past", { 0, 0, 5000 }, IBV_SRQ_LIMIT },
		{ "grow", { 100, 0, 0 }, IBV_SRQ_MAX_WR },
		{ "shrink", { 20, 0, 0 }, IBV_SRQ_MAX_WR },
		{ "zero", { 0, 0, 0 }, IBV_SRQ_MAX_WR },
		{ "huge", { 1u << 30, 0, 0 }, IBV_SRQ_MAX_WR },
		{ "both", { 60, 0, 3 }, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT },
		{ "below_limit", { 2, 0, 0 }, IBV_SRQ_MAX_WR },
		{ "nothing", { 0, 0, 0 }, 0 },
		{ "bad_mask", { 0, 0, 0 }, 64 },
	};
	struct ibv_srq_init_attr ia = { .attr = { 30, 2, 0 } };
	struct ibv_srq *srq = ibv_create_srq(p->pd, &ia);
	struct ibv_srq_attr a;
	size_t i;

	pr("modify_srq.setup", ep(srq));
	if (!srq)
		return;
	show_srq("query_srq", srq, 0);
	for (i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		a = cases[i].a;
		show_srq(nm("modify_srq.%s", cases[i].name), srq,
			 ibv_modify_srq(srq, &a, cases[i].mask));
	}
	pr("destroy_srq", ibv_destroy_srq(srq));
}

/* Resized with receives in it, then filled until it is full. */
static void probe_post_srq(struct probe *p)
{
	struct ibv_srq_init_attr ia = { .attr = { 30, 1, 0 } };
	struct lo l = { .srq = ibv_create_srq(p->pd, &ia) };
	struct ibv_srq_attr a = { .max_wr = 200 };
	struct ibv_srq *srq = l.srq;
	int n, err = srq ? lo_open(&l, p, IBV_QPT_RC) : er(-1);

	pr("post_srq_recv.setup", err);
	if (!err) {
		err = lo_recv(&l, 128);
		pr("post_srq_recv", err);
		pr("modify_srq.with_receives",
		   ibv_modify_srq(srq, &a, IBV_SRQ_MAX_WR));
		err = lo_send(&l, 100, 0);
		prd("srq.send_after_resize", err, "%s",
		    lo_status(&l, 2, 1000));
		for (n = 0; n < 2000 && !lo_recv(&l, 64); n++)
			;
		prd("post_srq_recv.until_full", 0, "%d", n);
		pr("destroy_srq.busy", ibv_destroy_srq(srq));
	}
	lo_close(&l);
	if (srq)
		pr("destroy_srq.used", ibv_destroy_srq(srq));
}

void probe_srq(struct probe *p)
{
	probe_create(p);
	probe_create_ex(p);
	probe_modify(p);
	probe_post_srq(p);
}

static void show_ah(struct probe *p, const char *name, struct ibv_ah_attr *a)
{
	struct ibv_ah *ah = ibv_create_ah(p->pd, a);

	pr(nm("create_ah.%s", name), ep(ah));
	if (ah)
		pr(nm("destroy_ah.%s", name), ibv_destroy_ah(ah));
}

/* Each case changes one thing of an address that works. */
static void probe_addresses(struct probe *p)
{
	struct ibv_ah_attr good, a;

	lo_ah_attr(p, &good);
	a = good;
	show_ah(p, "self", &a);
	a.is_global = 0;
	show_ah(p, "no_grh", &a);
	a = good;
	a.port_num = 2;
	show_ah(p, "port_2", &a);
	a.port_num = 0;
	show_ah(p, "port_0", &a);
	a = good;
	a.grh.sgid_index = 255;
	show_ah(p, "sgid_past", &a);
	a.grh.sgid_index = 9;
	show_ah(p, "sgid_empty", &a);
	a.grh.sgid_index = 0;
	show_ah(p, "sgid_other_family", &a);
	a = good;
	a.grh.dgid.raw[15] = 77;
	show_ah(p, "dgid_near", &a);
	a.grh.dgid.raw[13] = 99;
	show_ah(p, "dgid_far", &a);
	a = good;
	memset(&a.grh.dgid, 0, 16);
	show_ah(p, "dgid_zero", &a);
	a = good;
	a.grh.dgid.raw[12] = 239;
	show_ah(p, "dgid_mcast", &a);
	a = good;
	a.sl = 7;
	a.grh.traffic_class = 32;
	a.grh.flow_label = 0xfffff;
	a.grh.hop_limit = 1;
	show_ah(p, "all_set", &a);
	a.sl = 255;
	a.static_rate = 255;
	show_ah(p, "odd_rate", &a);
}

/* The answer to a received datagram: addresses out of its GRH. */
static void probe_from_wc(struct probe *p)
{
	struct ibv_wc wc, got = {};
	struct ibv_ah_attr a = {};
	struct lo l = {};
	struct ibv_ah *ah;
	int i, err = lo_open(&l, p, IBV_QPT_UD);

	if (!err)
		err = lo_recv(&l, 256);
	if (!err)
		err = lo_send(&l, 16, 0);
	for (i = 0; i < 2 && !err; i++)
		if (lo_poll(&l, &wc, 1000) == 1 && wc.wr_id == 2)
			got = wc;
	prd("ud.receive", err, "%s, %u bytes, flags %#x",
	    ibv_wc_status_str(got.status), got.byte_len, got.wc_flags);
	if (!err) {
		struct ibv_grh *grh = (void *)(l.buf + LO_LEN / 2);

		err = ibv_init_ah_from_wc(p->ctx, VT_PORT, &got, grh, &a);
		prd("init_ah_from_wc", er(err), "global %u sgid %u dgid %s",
		    a.is_global, a.grh.sgid_index,
		    memcmp(&a.grh.dgid, &p->dev.gid, 16) ? "other" : "own");
		ah = ibv_create_ah_from_wc(p->pd, &got, grh, VT_PORT);
		pr("create_ah_from_wc", ep(ah));
		if (ah)
			ibv_destroy_ah(ah);
	}
	lo_close(&l);
}

void probe_ah(struct probe *p)
{
	struct ibv_ah *ah[64];
	struct ibv_ah_attr a;
	int i, n, err = 0;

	probe_addresses(p);
	lo_ah_attr(p, &a);
	for (n = 0; n < 64; n++) {
		ah[n] = ibv_create_ah(p->pd, &a);
		if (!ah[n])
			break;
	}
	prd("create_ah.many", n < 64 ? er(-1) : 0, "%d", n);
	for (i = 0; i < n; i++)
		err = err ? err : ibv_destroy_ah(ah[i]);
	pr("destroy_ah.many", err);
	probe_from_wc(p);
}

void probe_mcast(struct probe *p)
{
	union ibv_gid g = { .raw = { [10] = 0xff, [11] = 0xff, 239, 1, 1, 1 } };
	union ibv_gid g2 = { .raw = { 0xff, 0x1e, [15] = 9 } };
	union ibv_gid g3 = { .raw = { 0xff, 0x1e, [15] = 10 } };
	union ibv_gid uni = p->dev.gid;
	struct lo ud = {}, rc = {};
	int err = lo_open(&ud, p, IBV_QPT_UD);

	if (!err)
		err = lo_open(&rc, p, IBV_QPT_RC);
	pr("attach_mcast.setup", err);
	if (!err) {
		pr("detach_mcast.not_attached",
		   ibv_detach_mcast(ud.qp, &g, 0xc001));
		pr("attach_mcast", ibv_attach_mcast(ud.qp, &g, 0xc001));
		pr("attach_mcast.again", ibv_attach_mcast(ud.qp, &g, 0xc001));
		pr("attach_mcast.ipv6", ibv_attach_mcast(ud.qp, &g2, 0xc002));
		pr("attach_mcast.unicast",
		   ibv_attach_mcast(ud.qp, &uni, 0xc001));
		/*
		 * A group of its own: one GID with two LIDs is counted twice by
		 * the RDMA core and once by rxe, and the QP cannot go away.
		 */
		pr("attach_mcast.low_lid", ibv_attach_mcast(ud.qp, &g3, 1));
		pr("attach_mcast.rc", ibv_attach_mcast(rc.qp, &g, 0xc001));
		pr("destroy_qp.attached", ibv_destroy_qp(ud.qp));
		pr("detach_mcast", ibv_detach_mcast(ud.qp, &g, 0xc001));
		pr("detach_mcast.again", ibv_detach_mcast(ud.qp, &g, 0xc001));
		pr("detach_mcast.ipv6", ibv_detach_mcast(ud.qp, &g2, 0xc002));
		pr("detach_mcast.other_lid",
		   ibv_detach_mcast(ud.qp, &g3, 0xc003));
		pr("detach_mcast.low_lid", ibv_detach_mcast(ud.qp, &g3, 1));
		pr("destroy_qp.detached", ibv_destroy_qp(ud.qp));
		ud.qp = NULL;
	}
	lo_close(&rc);
	lo_close(&ud);
}
