// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * An InfiniHost III Lx (MT25204, mthca): registers of event queues, doorbells of BAR 2,
 * and which records a process has lent. Pages of doorbells are a process's: all that is
 * written there is untrusted.
 */
#include "cx_hx.h"

/* Pages of records are a process's; the rest of context memory is the driver's own. */
static bool may_touch(const struct cx_dev *d, uint64_t addr)
{
	const struct cx_hx *hx = d->hx;
	uint64_t pages = (1ULL << (20 + CX_BAR2_LOG_MB)) / CX_PAGE;

	return hx->state == HX_UP &&
	       hx_icm_covers(hx, hx->uarc_base,
			     hx->uarc_base + (pages << hx->log_uarc), addr);
}

/* A record is known by its address in context memory. */
static int record_at(struct cx_dev *d, uint64_t record, uint64_t *bus)
{
	return hx_icm_bus(d->hx, record, bus);
}

/* ---- BAR 0 ---- */
static void eq_set_ci(struct cx_dev *d, uint32_t eqn, uint32_t ci)
{
	struct cx_eq *eq = cx_ids_get(&d->eqs, eqn);

	d->stats.doorbells_eq++;
	if (eq)
		cx_eq_doorbell(d, eq, ci & HX_NUMBER, false);
	else
		cx_refuse(d, "EQ", eqn, 0);
}

static void eq_arm(struct cx_dev *d, uint32_t mask)
{
	struct cx_eq *eq;
	uint32_t n;

	d->stats.doorbells_eq++;
	for (n = 0; n < MT_EQS; n++) {
		eq = mask >> n & 1 ? cx_ids_get(&d->eqs, n) : NULL;
		if (eq)
			cx_eq_doorbell(d, eq, eq->ci, true);
	}
}

static void reg_write(struct cx_dev *d, uint64_t offset, uint32_t value)
{
	uint64_t at = offset - MT_EQ_SET_CI;

	if (offset == MT_EQ_ARM_LOW)
		eq_arm(d, value);
	else if (offset >= MT_EQ_SET_CI && at / 8 < MT_EQS && at % 8 == 0)
		eq_set_ci(d, at / 8, value);
}

/* ---- BAR 2 ---- */
/* How far a queue is posted, its record says, and what a WQE is, the one before it. */
static void uar_write(struct cx_dev *d, uint64_t offset, uint64_t value,
		      unsigned int size)
{
	uint32_t page = offset / CX_PAGE, reg = offset % CX_PAGE, word[2];

	if (reg / 8 != MT_UAR_SEND / 8 && reg / 8 != HX_UAR_CQ / 8)
		return;
	if (!hx_two_words(d, offset, value, size, word))
		return;
	if (reg / 8 == MT_UAR_SEND / 8)
		cx_sq_doorbell(d, page, word[1] >> 8);
	else
		hx_cq_ring(d, page, word);
}

/* ---- shared receive queues ---- */
static uint16_t srq_next(const struct cx_srq *srq, const void *head)
{
	uint32_t n = hx_get(head, MT_NEXT_OFFSET) << 6 >> srq->log_stride;

	return n <= UINT16_MAX ? n : UINT16_MAX;	/* no queue is so long */
}

static const struct hx_kind kind = {
	.cmds = hx_cmds_mt,
	.uar_write = uar_write,
	.reg_write = reg_write,
	.first_uar = MT_UAR_RSVD,
	.eqs = MT_EQS,
	.first_vector = MT_EQ_MSIX,
	.resize = MT_CQ_RESIZE,
	.moderate = MT_CQ_RESIZE,
	.mtt_absolute = true,
	.mgm = { .bytes = MT_MGM_BYTES },
	.mpt = { .pd = { MT_MPT_PD }, .log_page = { MT_MPT_LOG_PAGE },
		 .log_less = HX_LOG_PAGE },
	.srq_stride = { MT_SRQC_STRIDE },
	.qpc = &hx_mt_qpc,
	.buf = hx_mt_buf,
	.record = hx_mt_record,
	.layout = hx_mt_layout,
};

const struct cx_family cx_infinihost = {
	.device_id = 25204,
	.description = "MT25204 InfiniHostLx model",
	/* The driver sees the others in the MADs that it hands on. */
	.port_events = BIT(CX_PORT_DOWN) | BIT(CX_PORT_ACTIVE),
	.log_cmds = HX_LOG_CMDS,
	.mtu = CX_MTU_2048,
	.hx = &kind,
	.eqe = { .bytes = HX_EQE_BYTES, .data = HX_EQE_DATA, .number = 0,
		 .owner = HX_LAP },
	.cqe = { .bytes = HX_CQE_BYTES, .owner = HX_LAP },
	HX_FAMILY_COMMON,
	.may_touch = may_touch,
	.record_at = record_at,
	.srq_next = srq_next,
	.complete = hx_mt_complete,
	.sq_posted = hx_mt_sq_posted,
	.wqe_peek = hx_mt_wqe_peek,
};
