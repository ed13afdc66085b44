// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A device with a list of tagged buffers, and one that sends to it: see tags.h.
 */
#include <stdlib.h>

#include "tags.h"

static void connect(struct tags *t, int i, uint8_t mtu)
{
	struct drv_qp_init init = { .type = DRV_RC, .scq = &t->p->a.scq,
				    .rcq = &t->p->a.rcq };
	struct drv_path path = pair_path();

	path.mtu = mtu;
	ok(drv_qp(&t->p->a.drv, &t->tx[i], &init));
	init.scq = &t->p->b.scq;
	init.rcq = &t->p->b.scq;	/* the queue's own is used */
	init.srq = &t->srq;
	init.no_sq = true;
	ok(drv_qp(&t->p->b.drv, &t->rx[i], &init));
	ok(drv_connect(&t->tx[i], 1, &t->rx[i], 2, &path));
}

struct tags *tags_begin(void **state)
{
	struct tags *t = calloc(1, sizeof(*t));
	struct drv_path path = pair_path();
	struct drv_qp_init init = { .type = DRV_RC };
	uint32_t i;

	assert_non_null(t);
	t->p = *state;
	ok(drv_srq_as(&t->p->b.drv, &t->srq, 5, DRV_SRQ_TM, &t->p->b.rcq));
	init.scq = init.rcq = &t->p->b.rcq;
	init.srq = &t->srq;
	ok(drv_qp(&t->p->b.drv, &t->cmd, &init));
	path.dlid = 2;
	path.qpn = t->cmd.qpn;
	ok(drv_qp_up(&t->cmd, &path));
	connect(t, 0, 3);
	connect(t, 1, 3);
	for (i = 0; i < 16; i++)
		drv_srq_post(&t->srq, &t->p->b.mr, PLAIN + i * HOLE, LONG);
	return t;
}

void tags_end(struct tags *t)
{
	int i;

	no_wc(&t->p->b, &t->p->b.rcq);
	no_wc(&t->p->b, &t->p->b.scq);
	for (i = 0; i < 2; i++) {
		ok(drv_qp_destroy(&t->tx[i]));
		ok(drv_qp_destroy(&t->rx[i]));
	}
	ok(drv_qp_destroy(&t->cmd));
	ok(drv_srq_destroy(&t->p->b.drv, &t->srq));
	free(t);
}

void tags_op(struct tags *t, struct drv_wr *wr)
{
	wr->opcode = MLX5_OPCODE_TAG_MATCHING;
	wr->tm.count = t->count;
	drv_post(&t->cmd, wr);
}

struct drv_wc tags_told(struct tags *t, uint8_t opcode, uint8_t app_op)
{
	struct drv_wc wc = get_wc(&t->p->b, &t->p->b.rcq, opcode);

	assert_int_equal(wc.user_index, DRV_SRQ_INDEX);
	assert_int_equal(wc.cqe.app, 1);
	assert_int_equal(wc.cqe.app_op, app_op);
	return wc;
}

void tags_told_op(struct tags *t, uint8_t app_op, bool good, uint16_t count)
{
	struct drv_wc wc = tags_told(t, MLX5_CQE_NO_PACKET, app_op);

	assert_int_equal(be32toh(wc.cqe.tm_cqe.success),
			 good ? MLX5_TMC_SUCCESS : 0);
	assert_int_equal(be16toh(wc.cqe.tm_cqe.hw_phase_cnt), count);
}

uint16_t tags_append(struct tags *t, uint64_t tag, uint64_t mask, uint32_t len)
{
	struct drv_sge sge = { t->p->b.mr.va + t->next * HOLE, len,
			       t->p->b.mr.key };
	struct drv_wr wr = { .sge = &sge, .nr_sge = len ? 1 : 0 };
	uint16_t index = t->next;

	t->next = (t->next + 1) % TAGS;
	wr.tm.op = DRV_TM_APPEND;
	wr.tm.flags = BOTH;
	wr.tm.index = t->next;
	wr.tm.tag = tag;
	wr.tm.mask = mask;
	tags_op(t, &wr);
	return index;
}

uint16_t tags_add(struct tags *t, uint64_t tag, uint64_t mask)
{
	uint16_t index = tags_append(t, tag, mask, LONG);

	tags_told_op(t, APPEND, true, t->count);
	return index;
}

void tags_del(struct tags *t, uint16_t index, bool good)
{
	struct drv_wr wr = { .tm = { .op = DRV_TM_REMOVE, .flags = DRV_TM_CQE,
				     .index = index } };

	tags_op(t, &wr);
	tags_told_op(t, REMOVE, good, t->count);
}

void tags_sync(struct tags *t, uint16_t count, uint16_t device)
{
	struct drv_wr wr = { .tm = { .op = DRV_TM_NOP, .flags = BOTH } };

	t->count = count;
	tags_op(t, &wr);
	tags_told_op(t, NOP, true, device);
}

void tags_post(struct tags *t, int i, uint8_t tmh_op, uint64_t tag, uint32_t len)
{
	struct ibv_tmh *tmh = (void *)t->p->a.mem;

	memset(tmh, 0, sizeof(*tmh));
	tmh->opcode = tmh_op;
	tmh->app_ctx = htobe32(PRIVATE);
	tmh->tag = htobe64(tag);
	fill(t->p->a.mem + sizeof(*tmh), len, tag);
	drv_send(&t->tx[i], &t->p->a.mr, 0, sizeof(*tmh) + len);
}

void tags_eager(struct tags *t, int i, uint64_t tag, uint32_t len)
{
	tags_post(t, i, IBV_TMH_EAGER, tag, len);
	get_wc(&t->p->a, &t->p->a.scq, MLX5_CQE_REQ);
}

const uint8_t *tags_buf(const struct tags *t, uint16_t index)
{
	return t->p->b.mem + index * HOLE;
}

void tags_matched(struct tags *t, uint16_t index, uint64_t tag, uint32_t len)
{
	struct drv_wc wc = tags_told(t, MLX5_CQE_RESP_SEND, CONSUMED_MSG);

	assert_int_equal(be16toh(wc.cqe.app_info), index);
	assert_int_equal(be64toh(wc.cqe.tmh.tag), tag);
	assert_int_equal(be32toh(wc.cqe.tmh.app_ctx), PRIVATE);
	assert_int_equal(wc.len, len);
	assert_true(filled(tags_buf(t, index), len, tag));
}

void tags_unmatched(struct tags *t, uint8_t app_op, uint64_t tag, uint32_t len)
{
	struct drv_wc wc = tags_told(t, MLX5_CQE_RESP_SEND, app_op);
	const uint8_t *at = t->p->b.mem + PLAIN + wc.index * HOLE;
	const struct ibv_tmh *tmh = (const void *)at;

	assert_int_equal(wc.len, sizeof(*tmh) + len);
	assert_int_equal(be64toh(tmh->tag), tag);
	assert_true(filled(at + sizeof(*tmh), len, tag));
	assert_int_equal(wc.cqe.tmh.tag, 0);
}

uint32_t tags_list(struct tags *t, size_t off, size_t width)
{
	uint8_t c[CX_BYTES(xrqc)];

	ok(drv_xrq_query(&t->p->b.drv, &t->srq, c));
	assert_int_equal(CX_GET(xrqc, c, state), MLX5_XRQC_STATE_GOOD);
	assert_int_equal(CX_GET(xrqc, c, cqn), t->p->b.rcq.cqn);
	return cx_bits_get(CX_ADDR(xrqc, c, tag_matching_topology_context),
			   off, width);
}
