// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Tag matching: a shared receive queue (XRQ) with a list of tagged buffers, in
 * which the first that matches takes a message. mlx5_post_srq_ops() of the
 * provider changes the list by send WQEs of a queue pair that it keeps for
 * that, handle_tag_matching() reads what comes of it.
 *
 * A message that found no tag is handled by software, and may be on its way to
 * it while software appends the tag that it was to match: so each is counted,
 * and a new tag is not looked at before software has said that it handled as
 * many. A message is counted as it begins, so that nothing overtakes it.
 *
 * Messages with data behind the header (eager) are complete. A rendezvous
 * request says where the data are: cx_rndv.c reads them into the buffer. Data
 * that it cannot read are left to software, which finds the headers there.
 *
 * WQEs are a process's, messages the peer's: indices are checked against the
 * list, and each access to a buffer against its key.
 */
#include "cx_mlx5.h"

#define SEG		16u
#define OP_BYTES	(SEG + sizeof(struct mlx5_wqe_tm_seg))
#define APPEND_BYTES	(OP_BYTES + sizeof(struct mlx5_wqe_data_seg))
#define BYTES_MASK	0x7fffffffu
#define APP		1u	/* cqe.app of all that is told here */

/* Of a WQE: mlx5.h of the provider. */
enum { OP_NOP = 0, OP_APPEND = 1, OP_REMOVE = 2 };
enum { FLAG_COUNT = BIT(6), FLAG_CQE = BIT(7) };

/* cqe.app_op: cq.c of the provider. */
enum {
	TOLD_CONSUMED = 1, TOLD_EXPECTED = 2, TOLD_UNEXPECTED = 3,
	TOLD_NO_TAG = 4, TOLD_APPEND = 5, TOLD_REMOVE = 6, TOLD_NOP = 7,
	TOLD_CONSUMED_MSG = 0xa, TOLD_SW_RNDV = 0xb, TOLD_CANCELED = 0xc,
};

struct cx_tm {
	uint8_t log_size;
	uint16_t append;	/* index of the next tag that is appended */
	uint16_t sw_count, hw_count;	/* unexpected: handled, and arrived */
	uint32_t nr;
	struct cx_tag tag[];	/* in the order in which they were appended */
};

struct cx_tm *cx_tm_new(uint8_t log_size)
{
	struct cx_tm *tm = calloc(1, sizeof(*tm) + (sizeof(tm->tag[0]) <<
						    log_size));

	if (tm)
		tm->log_size = log_size;
	return tm;
}

void cx_tm_free(struct cx_tm *tm)
{
	free(tm);
}

void cx_tm_query(const struct cx_tm *tm, void *context)
{
	CX_SET(tag_matching_topology_context, context, log_matching_list_sz,
	       tm->log_size);
	CX_SET(tag_matching_topology_context, context, append_next_index,
	       tm->append);
	CX_SET(tag_matching_topology_context, context, sw_phase_cnt,
	       tm->sw_count);
	CX_SET(tag_matching_topology_context, context, hw_phase_cnt,
	       tm->hw_count);
}

struct cx_srq *cx_tm_srq(struct cx_dev *d, const struct cx_qp *qp)
{
	struct cx_srq *srq = cx_ids_get(&d->srqs, qp->srqn);

	return srq && srq->kind == CX_SRQ_TM ? srq : NULL;
}

/* Software knows of all that came: whatever it has appended may be matched. */
static void tm_sync(struct cx_tm *tm)
{
	uint32_t i;

	for (i = 0; tm->sw_count == tm->hw_count && i < tm->nr; i++)
		tm->tag[i].live = true;
}

static struct cx_tag *tm_find(struct cx_tm *tm, uint16_t index)
{
	uint32_t i;

	for (i = 0; i < tm->nr; i++)
		if (tm->tag[i].index == index)
			return &tm->tag[i];
	return NULL;
}

static void tm_remove(struct cx_tm *tm, struct cx_tag *tag)
{
	struct cx_tag *end = &tm->tag[tm->nr--];

	memmove(tag, tag + 1, (uint8_t *)end - (uint8_t *)(tag + 1));
}

/* ---- what software asks for ---- */

/* The entry that takes the next place; the WQE names the place after it. */
static int tm_append(struct cx_tm *tm, const struct cx_swqe *w)
{
	const struct mlx5_wqe_tm_seg *seg = (const void *)(w->raw + SEG);
	const uint8_t *data = w->raw + OP_BYTES;
	uint16_t next = be16toh(seg->index);
	struct cx_tag *tag;

	if (w->len < APPEND_BYTES || next >> tm->log_size ||
	    tm_find(tm, tm->append) || tm->nr >> tm->log_size)
		return -EINVAL;
	tag = &tm->tag[tm->nr++];
	tag->index = tm->append;
	tag->live = tm->sw_count == tm->hw_count;
	tag->tag = be64toh(seg->append_tag);
	tag->mask = be64toh(seg->append_mask);
	tag->len = cx_be32_get(data) & BYTES_MASK;
	tag->key = cx_be32_get(data + 4);
	tag->addr = cx_be64_get(data + 8);
	tm->append = next;
	return 0;
}

/* An entry that a message has taken, or takes right now, is not there. */
static bool tm_drop(struct cx_tm *tm, uint16_t index)
{
	struct cx_tag *tag = tm_find(tm, index);

	if (tag)
		tm_remove(tm, tag);
	return tag;
}

static void tm_post(struct cx_dev *d, const struct cx_srq *srq,
		    const struct cx_qp *qp, struct mlx5_cqe64 *cqe,
		    uint8_t op, bool solicited)
{
	struct cx_cq *cq = cx_ids_get(&d->cqs, srq->cqn);

	cqe->op_own = op << 4;
	cqe->timestamp = htobe64(cx_cycles(d));
	cqe->srqn_uidx = htobe32(srq->user_index_valid ? srq->user_index :
							 srq->srqn);
	cqe->sop_drop_qpn = htobe32(qp->qpn);
	cqe->app = APP;
	if (cq)
		cx_cq_post(d, cq, cqe, solicited);
}

int cx_tm_op(struct cx_dev *d, struct cx_qp *qp, const struct cx_swqe *w)
{
	const struct mlx5_wqe_tm_seg *seg = (const void *)(w->raw + SEG);
	struct mlx5_cqe64 cqe = { .wqe_counter = htobe16(w->index) };
	struct cx_srq *srq = cx_tm_srq(d, qp);
	struct cx_tm *tm = srq ? srq->tm : NULL;
	bool good = true;

	if (!tm || w->len < OP_BYTES)
		return -EINVAL;
	if (seg->flags & FLAG_COUNT)
		tm->sw_count = be16toh(seg->sw_cnt);
	switch (seg->opcode >> 4) {
	case OP_NOP:
		cqe.app_op = TOLD_NOP;
		break;
	case OP_APPEND:
		if (tm_append(tm, w))
			return -EINVAL;
		cqe.app_op = TOLD_APPEND;
		break;
	case OP_REMOVE:
		good = tm_drop(tm, be16toh(seg->index));
		cqe.app_op = TOLD_REMOVE;
		break;
	default:
		return -EINVAL;
	}
	tm_sync(tm);
	cqe.tm_cqe.success = htobe32(good ? MLX5_TMC_SUCCESS : 0);
	cqe.tm_cqe.hw_phase_cnt = htobe16(tm->hw_count);
	if (seg->flags & FLAG_CQE)
		tm_post(d, srq, qp, &cqe, MLX5_CQE_NO_PACKET, false);
	return 0;
}

/* ---- messages ---- */

static struct cx_tag *tm_match(struct cx_tm *tm, uint64_t tag)
{
	uint32_t i;

	for (i = 0; i < tm->nr; i++)
		if (tm->tag[i].live &&
		    (tag & tm->tag[i].mask) == tm->tag[i].tag)
			return &tm->tag[i];
	return NULL;
}

static bool one_packet(const struct cx_frame *f)
{
	return f->first && f->last && f->npsn == 1;
}

/* What a message is that matches if there is a tag for it. */
static enum cx_tm_msg tm_kind(const struct cx_frame *f)
{
	if (f->len < CX_TMH)
		return CX_TM_NO_TAG;
	switch (f->data[0]) {
	case IBV_TMH_EAGER:
		return one_packet(f) ? CX_TM_EAGER : CX_TM_EAGER_LONG;
	case IBV_TMH_RNDV:
		return one_packet(f) ? CX_TM_RNDV : CX_TM_UNEXPECTED;
	default:
		return CX_TM_NO_TAG;
	}
}

void cx_tm_consumed(struct cx_dev *d, const struct cx_qp *qp)
{
	const struct cx_srq *srq = cx_tm_srq(d, qp);
	const struct cx_resp *rs = qp->resp;
	struct mlx5_cqe64 cqe = { .app_op = TOLD_CONSUMED,
				  .app_info = htobe16(rs->tag.index) };

	memcpy(&cqe.tmh, rs->tmh, sizeof(rs->tmh));
	if (srq)
		tm_post(d, srq, qp, &cqe, MLX5_CQE_NO_PACKET, false);
}

void cx_tm_arrived(struct cx_dev *d, const struct cx_qp *qp,
		   const struct cx_rndv *v, bool failed)
{
	const struct cx_srq *srq = cx_tm_srq(d, qp);
	struct mlx5_cqe64 cqe = {
		.app_op = failed ? TOLD_CANCELED : TOLD_EXPECTED,
		.app_info = htobe16(v->tag.index),
		.byte_cnt = htobe32(failed ? 0 : v->len),
		.slid = htobe16(qp->av.dlid),
		.flags_rqpn = htobe32(qp->remote_qpn),
	};

	if (srq)
		tm_post(d, srq, qp, &cqe, MLX5_CQE_RESP_SEND,
			failed || v->solicited);
}

int cx_tm_begin(struct cx_dev *d, struct cx_qp *qp, const struct cx_frame *f)
{
	struct cx_srq *srq = cx_tm_srq(d, qp);
	enum cx_tm_msg kind = tm_kind(f);
	struct cx_resp *rs = qp->resp;
	struct cx_tag *tag;

	if (!srq || srq->failed || cx_srq_deaf(d, srq) || kind < CX_TM_EAGER)
		return -ENOENT;
	tag = tm_match(srq->tm, cx_be64_get(f->data + 8));
	if (!tag)
		return -ENOENT;
	if (kind == CX_TM_RNDV && !cx_rndv_ours(qp, tag, f))
		kind = CX_TM_RNDV_SW;
	if (kind == CX_TM_RNDV && !cx_rndv_room(qp))
		return -EBUSY;
	memcpy(rs->tmh, f->data, CX_TMH);
	rs->tm = kind;
	rs->tag = *tag;
	tm_remove(srq->tm, tag);
	rs->w_srqn = srq->srqn;
	memset(&rs->w, 0, sizeof(rs->w));
	rs->w.nr = 1;
	rs->w.bytes = rs->tag.len;
	rs->w.sge[0].addr = rs->tag.addr;
	rs->w.sge[0].key = rs->tag.key;
	rs->w.sge[0].len = rs->tag.len;
	if (kind == CX_TM_EAGER_LONG)
		cx_tm_consumed(d, qp);
	return 0;
}

void cx_tm_unmatched(struct cx_dev *d, struct cx_qp *qp,
		     const struct cx_frame *f)
{
	struct cx_srq *srq = cx_tm_srq(d, qp);

	if (!srq)
		return;
	qp->resp->tm = tm_kind(f) == CX_TM_NO_TAG ? CX_TM_NO_TAG :
						    CX_TM_UNEXPECTED;
	if (qp->resp->tm == CX_TM_UNEXPECTED)
		srq->tm->hw_count++;
}

void cx_tm_cut(const struct cx_resp *rs, const uint8_t **data, uint32_t *len)
{
	if (rs->tm == CX_TM_EAGER || rs->tm == CX_TM_EAGER_LONG) {
		*data += CX_TMH;
		*len -= CX_TMH;
	} else if (rs->tm == CX_TM_RNDV) {
		*len = 0;
	} else if (rs->tm == CX_TM_RNDV_SW && *len > rs->w.bytes) {
		*len = rs->w.bytes;
	}
}

void cx_tm_forget(struct cx_dev *d, struct cx_qp *qp)
{
	struct cx_srq *srq = cx_tm_srq(d, qp);

	if (srq && qp->resp->tm == CX_TM_UNEXPECTED) {
		srq->tm->hw_count--;
		tm_sync(srq->tm);
	}
	qp->resp->tm = CX_TM_NONE;
}

void cx_tm_stamp(struct cx_dev *d, struct cx_qp *qp, struct mlx5_cqe64 *cqe,
		 bool failed)
{
	static const uint8_t told[] = {
		[CX_TM_UNEXPECTED] = TOLD_UNEXPECTED,
		[CX_TM_NO_TAG] = TOLD_NO_TAG,
		[CX_TM_EAGER] = TOLD_CONSUMED_MSG,
		[CX_TM_EAGER_LONG] = TOLD_EXPECTED,
		[CX_TM_RNDV_SW] = TOLD_SW_RNDV,
	};
	struct cx_resp *rs = qp->resp;
	bool matched = cx_tm_matched(rs);

	if (rs->tm != CX_TM_NONE && (matched || !failed)) {
		cqe->app = APP;
		cqe->app_op = failed ? TOLD_CANCELED : told[rs->tm];
	}
	if (matched)
		cqe->app_info = htobe16(rs->tag.index);
	if (matched && rs->tm != CX_TM_EAGER_LONG)
		memcpy(&cqe->tmh, rs->tmh, sizeof(rs->tmh));
	if (failed)
		cx_tm_forget(d, qp);
	rs->tm = CX_TM_NONE;
}
