// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * Probes of completion queues and channels: sizes, vectors, resize, extended
 * CQs, arming, events, overrun.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "probe.h"

static void show_cq(const char *name, struct ibv_cq *cq)
{
	int err = ep(cq);

	prd(name, err, "cqe %d", cq ? cq->cqe : 0);
	if (!cq)
		return;
	err = ibv_destroy_cq(cq);
	if (err)
		pr(nm("%s.destroy", name), err);
}

static void probe_resize(struct probe *p)
{
	static const int to[] = { 100, 1000, 10, 1, 0, -1 };
	struct ibv_cq *cq = ibv_create_cq(p->ctx, 16, NULL, NULL, 0);
	size_t i;
	int err;

	pr("resize_cq.setup", ep(cq));
	if (!cq)
		return;
	for (i = 0; i < VT_ARRAY_SIZE(to); i++) {
		err = ibv_resize_cq(cq, to[i]);
		prd(nm("resize_cq.%d", to[i]), err, "cqe %d", cq->cqe);
	}
	err = ibv_resize_cq(cq, p->dev.attr.max_cqe + 1);
	prd("resize_cq.past_max", err, "cqe %d", cq->cqe);
	pr("resize_cq.destroy", ibv_destroy_cq(cq));
}

/* Four completions wait: below that number there is no way to shrink. */
static void probe_resize_full(struct probe *p)
{
	struct lo l = {};
	int i, err = lo_open(&l, p, IBV_QPT_RC);

	for (i = 0; i < 2 && !err; i++)
		err = lo_recv(&l, 64) || lo_send(&l, 64, 0) ? EIO : 0;
	pr("resize_cq.full.setup", err);
	/* The last of the four is the second send's. */
	if (!err) {
		struct timespec nap = { .tv_nsec = 200000000 };

		nanosleep(&nap, NULL);
		pr("resize_cq.full.2", ibv_resize_cq(l.cq, 2));
		pr("resize_cq.full.8", ibv_resize_cq(l.cq, 8));
		prd("resize_cq.full.kept", 0, "%s", lo_status(&l, 4, 2000));
	}
	lo_close(&l);
}

void probe_cq(struct probe *p)
{
	static const int size[] = { 1, 2, 7, 16, 1000, 0, -1 };
	struct ibv_modify_cq_attr ma = {
		.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = { .cq_count = 1, .cq_period = 1 },
	};
	struct ibv_comp_channel *ch = ibv_create_comp_channel(p->ctx);
	struct ibv_cq *cq;
	size_t i;

	for (i = 0; i < VT_ARRAY_SIZE(size); i++)
		show_cq(nm("create_cq.%d", size[i]),
			ibv_create_cq(p->ctx, size[i], NULL, NULL, 0));
	show_cq("create_cq.max", ibv_create_cq(p->ctx, p->dev.attr.max_cqe,
					       NULL, NULL, 0));
	show_cq("create_cq.past_max",
		ibv_create_cq(p->ctx, p->dev.attr.max_cqe + 1, NULL, NULL, 0));
	show_cq("create_cq.last_vector",
		ibv_create_cq(p->ctx, 16, NULL, NULL,
			      p->ctx->num_comp_vectors - 1));
	show_cq("create_cq.bad_vector",
		ibv_create_cq(p->ctx, 16, NULL, NULL,
			      p->ctx->num_comp_vectors));
	show_cq("create_cq.negative_vector",
		ibv_create_cq(p->ctx, 16, NULL, NULL, -1));
	pr("create_comp_channel", ep(ch));
	cq = ibv_create_cq(p->ctx, 16, p, ch, 0);
	pr("create_cq.channel", ep(cq));
	if (cq) {
		pr("modify_cq", ibv_modify_cq(cq, &ma));
		pr("destroy_comp_channel.busy", ibv_destroy_comp_channel(ch));
		pr("destroy_cq", ibv_destroy_cq(cq));
	}
	if (ch)
		pr("destroy_comp_channel", ibv_destroy_comp_channel(ch));
	probe_resize(p);
	probe_resize_full(p);
}

static const struct {
	const char *name;
	uint64_t wc_flags;
	uint32_t mask, flags;
} ex_cases[] = {
	{ "plain", 0, 0, 0 },
	{ "standard", IBV_WC_STANDARD_FLAGS, 0, 0 },
	{ "timestamp", IBV_WC_EX_WITH_COMPLETION_TIMESTAMP, 0, 0 },
	{ "wallclock", IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK, 0, 0 },
	{ "flow_tag", IBV_WC_EX_WITH_FLOW_TAG, 0, 0 },
	{ "tm_info", IBV_WC_EX_WITH_TM_INFO, 0, 0 },
	{ "vlan", IBV_WC_EX_WITH_CVLAN, 0, 0 },
	{ "single_threaded", 0, IBV_CQ_INIT_ATTR_MASK_FLAGS,
	  IBV_CREATE_CQ_ATTR_SINGLE_THREADED },
	{ "ignore_overrun", 0, IBV_CQ_INIT_ATTR_MASK_FLAGS,
	  IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN },
	{ "bad_mask", 0, 1u << 30, 0 },
	{ "bad_flags", 0, IBV_CQ_INIT_ATTR_MASK_FLAGS, 1u << 30 },
};

/* A QP whose sends complete in an extended CQ. */
static int ex_open(struct lo *l, struct probe *p, struct ibv_cq_ex *cx)
{
	struct ibv_qp_init_attr qa = {
		.qp_type = IBV_QPT_RC, .send_cq = ibv_cq_ex_to_cq(cx),
		.cap = { .max_send_wr = 4, .max_recv_wr = 4,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	int err = lo_open(l, p, IBV_QPT_RC);

	if (err)
		return err;
	qa.recv_cq = l->cq;
	ibv_destroy_qp(l->qp);
	l->qp = ibv_create_qp(p->pd, &qa);
	return l->qp ? lo_walk(l->qp, p, IBV_QPT_RC, IBV_QPS_RTS) : ep(l->qp);
}

/* A send to itself, and its completion: of success, so that it is open. */
static int ex_send(struct lo *l, struct ibv_cq_ex *cx)
{
	struct ibv_poll_cq_attr pa = {};
	int i, err = lo_recv(l, 64) || lo_send(l, 48, 0) ? EIO : ENOENT;

	for (i = 0; i < 200 && err == ENOENT; i++) {
		struct timespec nap = { .tv_nsec = 5000000 };

		nanosleep(&nap, NULL);
		err = ibv_start_poll(cx, &pa);
	}
	return err;
}

/* Completions carry ticks of the HCA's clock, whoever can read it himself. */
static void probe_ex_timestamp(struct probe *p)
{
	struct ibv_cq_init_attr_ex ia = {
		.cqe = 16, .wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
	};
	struct ibv_cq_ex *cx = ibv_create_cq_ex(p->ctx, &ia);
	uint64_t ticks[2] = { 0, 0 };
	struct lo l = {};
	int i, err;

	pr("create_cq_ex.ticks.setup", ep(cx));
	if (!cx)
		return;
	err = ex_open(&l, p, cx);
	pr("create_cq_ex.ticks.qp", err);
	for (i = 0; i < 2 && !err; i++) {
		err = ex_send(&l, cx);
		if (err)
			break;
		ticks[i] = ibv_wc_read_completion_ts(cx);
		ibv_end_poll(cx);
	}
	prd("read_completion_ts", err, "%s", !ticks[0] ? "none" :
	    ticks[1] > ticks[0] ? "goes on" : "stands still");
	lo_close(&l);
	pr("create_cq_ex.ticks.destroy", ibv_destroy_cq(ibv_cq_ex_to_cq(cx)));
}

/* One SEND to itself, read with the extended polling calls. */
static void probe_ex_poll(struct probe *p)
{
	struct ibv_cq_init_attr_ex ia = {
		.cqe = 16, .wc_flags = IBV_WC_STANDARD_FLAGS,
	};
	struct ibv_cq_ex *cx = ibv_create_cq_ex(p->ctx, &ia);
	struct ibv_poll_cq_attr pa = {};
	struct lo l = {};
	int err;

	pr("create_cq_ex.poll.setup", ep(cx));
	if (!cx)
		return;
	pr("start_poll.empty", ibv_start_poll(cx, &pa));
	err = ex_open(&l, p, cx);
	pr("create_cq_ex.poll.qp", err);
	if (!err)
		err = ex_send(&l, cx);
	prd("start_poll", err, "%s opcode %d wr_id %d", err ? "" :
	    ibv_wc_status_str(cx->status), err ? 0 : ibv_wc_read_opcode(cx),
	    err ? 0 : (int)cx->wr_id);
	if (!err) {
		pr("next_poll", ibv_next_poll(cx));
		ibv_end_poll(cx);
	}
	lo_close(&l);
	pr("create_cq_ex.poll.destroy", ibv_destroy_cq(ibv_cq_ex_to_cq(cx)));
}

void probe_cq_ex(struct probe *p)
{
	size_t i;

	for (i = 0; i < VT_ARRAY_SIZE(ex_cases); i++) {
		struct ibv_cq_init_attr_ex ia = {
			.cqe = 16, .wc_flags = ex_cases[i].wc_flags,
			.comp_mask = ex_cases[i].mask,
			.flags = ex_cases[i].flags,
		};
		struct ibv_cq_ex *cx = ibv_create_cq_ex(p->ctx, &ia);

		prd(nm("create_cq_ex.%s", ex_cases[i].name), ep(cx), "cqe %d",
		    cx ? cx->cqe : 0);
		if (cx)
			ibv_destroy_cq(ibv_cq_ex_to_cq(cx));
	}
	probe_ex_poll(p);
	probe_ex_timestamp(p);
}

/* "event" or "none", and the event is taken and acknowledged. */
static const char *take_event(struct lo *l, int ms)
{
	struct pollfd f = { .fd = l->chan->fd, .events = POLLIN };
	struct ibv_cq *cq = NULL;
	void *ctx = NULL;

	if (poll(&f, 1, ms) <= 0)
		return "none";
	if (ibv_get_cq_event(l->chan, &cq, &ctx))
		return "error";
	if (cq != l->cq || ctx != l)
		return "event of another CQ";
	ibv_ack_cq_events(cq, 1);
	return "event";
}

static void event_case(struct probe *p, const char *name, int solicited_only,
		       unsigned int flags, bool arm_late)
{
	struct lo l = {};
	int err = lo_open(&l, p, IBV_QPT_RC);
	const char *ev = "not run";

	if (!err)
		err = lo_recv(&l, 64);
	if (!err && !arm_late)
		err = ibv_req_notify_cq(l.cq, solicited_only);
	if (!err)
		err = lo_send(&l, 64, flags);
	if (!err && arm_late) {
		struct timespec nap = { .tv_nsec = 100000000 };

		nanosleep(&nap, NULL);
		err = ibv_req_notify_cq(l.cq, solicited_only);
	}
	if (!err)
		ev = take_event(&l, 300);
	prd(nm("cq_event.%s", name), err, "%s then %s", ev,
	    err ? "-" : lo_status(&l, 2, 1000));
	lo_close(&l);
}

void probe_cq_event(struct probe *p)
{
	struct lo l = {};
	struct ibv_cq *cq;
	void *ctx;
	int err;

	event_case(p, "any", 0, 0, false);
	event_case(p, "solicited_for_plain", 1, 0, false);
	event_case(p, "solicited", 1, IBV_SEND_SOLICITED, false);
	event_case(p, "armed_late", 0, 0, true);
	err = lo_open(&l, p, IBV_QPT_RC);
	if (!err)
		err = fcntl(l.chan->fd, F_SETFL, O_NONBLOCK);
	pr("get_cq_event.setup", err);
	if (!err) {
		pr("get_cq_event.empty",
		   er(ibv_get_cq_event(l.chan, &cq, &ctx)));
		pr("req_notify_cq.twice", ibv_req_notify_cq(l.cq, 0) ?
		   EIO : ibv_req_notify_cq(l.cq, 0));
		err = lo_recv(&l, 64) || lo_send(&l, 64, 0) ? EIO : 0;
		prd("req_notify_cq.twice.event", err, "%s",
		    take_event(&l, 500));
		prd("req_notify_cq.one_shot", 0, "%s", take_event(&l, 100));
		pr("resize_cq.used", ibv_resize_cq(l.cq, 200));
		prd("resize_cq.used.completions", 0, "%s",
		    lo_status(&l, 2, 1000));
	}
	lo_close(&l);
}
