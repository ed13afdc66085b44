// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What is where in the contexts of an InfiniHost: fields of queue pairs, queues in
 * regions from address 0 on, records by their index in a UAR page's context. A process
 * names keys, domains and indices, and the driver passes them on: the HCA checks each
 * access.
 */
#include "cx_hx.h"

static const struct hx_field fields[] = {
	HX_FIELD(HX_QPC_PM, HX_TO_INIT, HX_OPT_PM),
	HX_FIELD(HX_QPC_QKEY, HX_TO_INIT, HX_OPT_QKEY),
	HX_FIELD(HX_QPC_RRE, HX_TO_INIT, HX_OPT_RRE),
	HX_FIELD(HX_QPC_RWE, HX_TO_INIT, HX_OPT_RWE),
	HX_FIELD(HX_QPC_RAE, HX_TO_INIT, HX_OPT_RAE),
	HX_FIELD(MT_PATH_PORT, HX_TO_INIT, MT_OPT_PORT),
	HX_FIELD(MT_PATH_PKEY, HX_TO_INIT, HX_OPT_PKEY),
	HX_FIELD(HX_QPC_MTU, HX_TO_RTR, 0),
	HX_FIELD(HX_QPC_LOG_MSG, HX_TO_RTR, 0),
	HX_FIELD(HX_QPC_REMOTE, HX_TO_RTR, 0),
	HX_FIELD(HX_QPC_RQ_PSN, HX_TO_RTR, 0),
	HX_FIELD(HX_QPC_RRA_MAX, HX_TO_RTR, HX_OPT_RRA_MAX),
	HX_FIELD(HX_QPC_MIN_RNR, HX_TO_RTR, HX_OPT_RNR_TIMER),
	HX_FIELD(MT_PATH_GRH, HX_TO_RTR, HX_OPT_PATH),
	HX_FIELD(MT_PATH_BITS, HX_TO_RTR, HX_OPT_PATH),
	HX_FIELD(MT_PATH_RLID, HX_TO_RTR, HX_OPT_PATH),
	HX_FIELD(MT_PATH_SGID, HX_TO_RTR, HX_OPT_PATH),
	HX_FIELD(MT_PATH_RATE, HX_TO_RTR, HX_OPT_PATH),
	HX_FIELD(MT_PATH_HOP, HX_TO_RTR, HX_OPT_PATH),
	HX_FIELD(MT_PATH_SL, HX_TO_RTR, HX_OPT_PATH),
	HX_FIELD(MT_PATH_TCLASS, HX_TO_RTR, HX_OPT_PATH),
	HX_FIELD(MT_PATH_FLOW, HX_TO_RTR, HX_OPT_PATH),
	HX_FIELD_GID(MT_PATH_RGID, HX_TO_RTR, HX_OPT_PATH),
	HX_FIELD(HX_QPC_SQ_PSN, HX_TO_RTS, 0),
	HX_FIELD(HX_QPC_SRA_MAX, HX_TO_RTS, HX_OPT_SRA_MAX),
	HX_FIELD(HX_QPC_RETRY, HX_TO_RTS, HX_OPT_RETRY),
	HX_FIELD(MT_PATH_RNR_RETRY, HX_TO_RTS, MT_OPT_RNR_RETRY),
	HX_FIELD(MT_PATH_ACK, HX_TO_RTS, HX_OPT_ACK),
};

const struct hx_qpc hx_mt_qpc = {
	.fields = fields,
	.nr = sizeof(fields) / sizeof(fields[0]),
	.opt_alt = HX_OPT_ALT_PATH,
	.alt = MT_ALT_PATH,
	.alt_bytes = MT_PATH_BYTES,
	.rgid = MT_PATH_RGID,
	.port1 = 1,
	.log_msg = 31,
	.pd = { MT_QPC_PD },
	.pkey = { MT_PATH_PKEY },
	.port = { MT_PATH_PORT },
	.grh = { MT_PATH_GRH },
	.bits = { MT_PATH_BITS },
	.rlid = { MT_PATH_RLID },
	.ack = { MT_PATH_ACK },
	.sgid = { MT_PATH_SGID },
	.hop = { MT_PATH_HOP },
	.tclass = { MT_PATH_TCLASS },
	.flow = { MT_PATH_FLOW },
	.sl = { MT_PATH_SL },
	.rnr_retry = { MT_PATH_RNR_RETRY },
};

static const struct {
	struct hx_place key, pd, uar, record;
} memory[] = {
	[HX_EQC] = { .key = { MT_EQC_LKEY }, .pd = { MT_EQC_PD } },
	[HX_CQC] = { { MT_CQC_LKEY }, { MT_CQC_PD }, { HX_CQC_UAR },
		     { MT_CQC_SET_CI } },
	[HX_SRQC] = { { MT_SRQC_LKEY }, { HX_SRQC_PD }, { MT_SRQC_UAR },
		      { MT_SRQC_RECORD } },
	[HX_QPC] = { { MT_QPC_LKEY }, { MT_QPC_PD }, { HX_QPC_UAR },
		     { MT_QPC_RQ_RECORD } },
};

enum cx_status hx_mt_buf(struct cx_dev *d, struct cx_buf *b,
			 enum hx_context what, const uint8_t *context,
			 uint64_t size)
{
	cx_buf_init_key(b, hx_at(context, memory[what].key),
			hx_at(context, memory[what].pd), size);
	return CX_OK;
}

static uint64_t record(const struct cx_dev *d, uint32_t uar, uint32_t index)
{
	return d->hx->uarc_base + ((uint64_t)uar << d->hx->log_uarc) +
	       (uint64_t)index * MT_RECORD_BYTES;
}

uint64_t hx_mt_record(const struct cx_dev *d, enum hx_context what,
		      const uint8_t *context)
{
	return record(d, hx_at(context, memory[what].uar),
		      hx_at(context, memory[what].record));
}

uint64_t hx_mt_layout(const struct cx_dev *d, struct cx_qp *qp)
{
	uint64_t rq = 1ULL << (qp->log_rq + qp->log_rq_stride);
	uint64_t sq = 1ULL << (qp->log_sq + qp->log_sq_stride);

	qp->sq_off = hx_get(qp->hx_qpc, MT_QPC_SQ_BASE);
	qp->sq_dbr = record(d, qp->uar, hx_get(qp->hx_qpc, MT_QPC_SQ_RECORD));
	qp->rq_skip = MT_NEXT_BYTES / HX_SEG;
	qp->has_rq = qp->srqn == CX_NONE;
	return qp->sq_off + sq > rq ? qp->sq_off + sq : rq;
}
