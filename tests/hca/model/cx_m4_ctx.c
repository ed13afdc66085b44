// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What is where in the contexts of a ConnectX-3: fields of queue pairs, pages of queues
 * by translation entries, records by their addresses.
 */
#include "cx_hx.h"

static const struct hx_field fields[] = {
	HX_FIELD(HX_QPC_PM, HX_TO_INIT, HX_OPT_PM),
	HX_FIELD(HX_QPC_QKEY, HX_TO_INIT, HX_OPT_QKEY),
	HX_FIELD(HX_QPC_RRE, HX_TO_INIT, HX_OPT_RRE),
	HX_FIELD(HX_QPC_RWE, HX_TO_INIT, HX_OPT_RWE),
	HX_FIELD(HX_QPC_RAE, HX_TO_INIT, HX_OPT_RAE),
	HX_FIELD(HX_PATH_PKEY, HX_TO_INIT, HX_OPT_PKEY),
	HX_FIELD(HX_QPC_MTU, HX_TO_RTR, 0),
	HX_FIELD(HX_QPC_LOG_MSG, HX_TO_RTR, 0),
	HX_FIELD(HX_QPC_REMOTE, HX_TO_RTR, 0),
	HX_FIELD(HX_QPC_RQ_PSN, HX_TO_RTR, 0),
	HX_FIELD(HX_QPC_RRA_MAX, HX_TO_RTR, HX_OPT_RRA_MAX),
	HX_FIELD(HX_QPC_MIN_RNR, HX_TO_RTR, HX_OPT_RNR_TIMER),
	HX_FIELD(HX_PATH_GRH, HX_TO_RTR, HX_OPT_PATH),
	HX_FIELD(HX_PATH_BITS, HX_TO_RTR, HX_OPT_PATH),
	HX_FIELD(HX_PATH_RLID, HX_TO_RTR, HX_OPT_PATH),
	HX_FIELD(HX_PATH_SGID, HX_TO_RTR, HX_OPT_PATH),
	HX_FIELD(HX_PATH_RATE, HX_TO_RTR, HX_OPT_PATH),
	HX_FIELD(HX_PATH_HOP, HX_TO_RTR, HX_OPT_PATH),
	HX_FIELD(HX_PATH_TCLASS, HX_TO_RTR, HX_OPT_PATH),
	HX_FIELD(HX_PATH_FLOW, HX_TO_RTR, HX_OPT_PATH),
	HX_FIELD_GID(HX_PATH_RGID, HX_TO_RTR, HX_OPT_PATH),
	HX_FIELD(HX_PATH_SCHED, HX_TO_RTR, HX_OPT_PATH | HX_OPT_SCHED),
	HX_FIELD(HX_QPC_SQ_PSN, HX_TO_RTS, 0),
	HX_FIELD(HX_QPC_SRA_MAX, HX_TO_RTS, HX_OPT_SRA_MAX),
	HX_FIELD(HX_QPC_RETRY, HX_TO_RTS, HX_OPT_RETRY),
	HX_FIELD(HX_QPC_RNR_RETRY, HX_TO_RTS, HX_OPT_RNR_RETRY),
	HX_FIELD(HX_PATH_ACK, HX_TO_RTS, HX_OPT_ACK),
};

const struct hx_qpc hx_m4_qpc = {
	.fields = fields,
	.nr = sizeof(fields) / sizeof(fields[0]),
	.opt_alt = HX_OPT_ALT_PATH,
	.alt = HX_ALT_PATH,
	.alt_bytes = HX_PATH_BYTES,
	.rgid = HX_PATH_RGID,
	.port1 = 0,
	.log_msg = 30,
	.pd = { HX_QPC_PD },
	.pkey = { HX_PATH_PKEY },
	.port = { HX_PATH_PORT },
	.grh = { HX_PATH_GRH },
	.bits = { HX_PATH_BITS },
	.rlid = { HX_PATH_RLID },
	.ack = { HX_PATH_ACK },
	.sgid = { HX_PATH_SGID },
	.hop = { HX_PATH_HOP },
	.tclass = { HX_PATH_TCLASS },
	.flow = { HX_PATH_FLOW },
	.sl = { HX_PATH_SL },
	.rnr_retry = { HX_QPC_RNR_RETRY },
};

static const struct {
	struct hx_place hi, lo, log_page;
	uint16_t record;
} memory[] = {
	[HX_EQC] = { { HX_EQC_MTT_HI }, { HX_EQC_MTT_LO }, { HX_EQC_LOG_PAGE },
		     0 },
	[HX_CQC] = { { HX_CQC_MTT_HI }, { HX_CQC_MTT_LO }, { HX_CQC_LOG_PAGE },
		     HX_CQC_RECORD },
	[HX_SRQC] = { { HX_SRQC_MTT_HI }, { HX_SRQC_MTT_LO },
		      { HX_SRQC_LOG_PAGE }, HX_SRQC_RECORD },
	[HX_QPC] = { { HX_QPC_MTT_HI }, { HX_QPC_MTT_LO }, { HX_QPC_LOG_PAGE },
		     HX_QPC_RECORD },
};

enum cx_status hx_m4_buf(struct cx_dev *d, struct cx_buf *b,
			 enum hx_context what, const uint8_t *context,
			 uint64_t size)
{
	struct hx_queue q = {
		.mtt = (uint64_t)hx_at(context, memory[what].hi) << 32 |
		       hx_at(context, memory[what].lo),
		.log_page = hx_at(context, memory[what].log_page),
		.size = size,
	};

	return hx_buf(d, b, &q);
}

uint64_t hx_m4_record(const struct cx_dev *d, enum hx_context what,
		      const uint8_t *context)
{
	return cx_be64_get(context + memory[what].record);
}

/*
 * Which of the queues comes first, the context does not say: it is the one with
 * the greater stride, and the send queue among equals.
 */
uint64_t hx_m4_layout(const struct cx_dev *d, struct cx_qp *qp)
{
	uint64_t rq = 0, sq = 1ULL << (qp->log_sq + qp->log_sq_stride);

	if (qp->has_rq)
		rq = 1ULL << (qp->log_rq + qp->log_rq_stride);
	if (qp->log_rq_stride > qp->log_sq_stride)
		qp->sq_off = rq;
	else
		qp->rq_off = sq;
	return sq + rq;
}
