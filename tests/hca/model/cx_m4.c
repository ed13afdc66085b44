// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A ConnectX-3 (mlx4): the doorbells of BAR 2, and what is where in contexts. Pages
 * of doorbells are a process's, but for the first, which belong to event queues: all
 * that is written there is untrusted.
 */
#include "cx_cmd.h"
#include "cx_hx.h"

#define UARS	((1u << (20 + CX_BAR2_LOG_MB)) / CX_PAGE / 2)	/* and as many of BlueFlame */

/* Context memory is the driver's own: it says nothing of what a process lent. */
static bool may_touch(const struct cx_dev *d, uint64_t addr)
{
	return false;
}

/* ---- BAR 2 ---- */
static void eq_ring(struct cx_dev *d, uint32_t page, uint32_t reg,
		    uint32_t value)
{
	uint32_t at = reg - HX_UAR_EQ, n;
	struct cx_eq *eq;

	if (reg < HX_UAR_EQ || at >= HX_EQS_PER_UAR * 8 || at % 8)
		return;
	d->stats.doorbells_eq++;
	n = page * HX_EQS_PER_UAR + at / 8;
	eq = cx_ids_get(&d->eqs, n);
	if (!eq)
		cx_refuse(d, "EQ", n, page);
	else
		cx_eq_doorbell(d, eq, value & HX_NUMBER, value & HX_EQ_ARM);
}

/*
 * A copy of a WQE, whose second word has the number of the queue pair: a doorbell. The
 * WQE is in memory, too, so the rest is not looked at.
 */
static void bf_write(struct cx_dev *d, uint64_t offset, uint64_t value,
		     unsigned int size)
{
	uint32_t page = offset / CX_PAGE % UARS, at = offset % (1u << HX_LOG_BF);

	if (!d->config.blueflame)
		return;
	if (at == 0 && size == 8)
		cx_sq_doorbell(d, page, cx_swap(value >> 32) >> 8);
	else if (at == 4 && size == 4)
		cx_sq_doorbell(d, page, cx_swap(value) >> 8);
}

static void uar_write(struct cx_dev *d, uint64_t offset, uint64_t value,
		      unsigned int size)
{
	uint32_t page = offset / CX_PAGE, reg = offset % CX_PAGE, word[2];

	if (page >= UARS)
		bf_write(d, offset, value, size);
	else if (page < HX_UAR_EQS)
		eq_ring(d, page, reg, cx_swap(value));
	else if (reg == HX_UAR_SEND)
		cx_sq_doorbell(d, page, cx_swap(value) >> 8);
	else if (reg / 8 == HX_UAR_CQ / 8 &&
		 hx_two_words(d, offset, value, size, word))
		hx_cq_ring(d, page, word);
}

static const struct hx_kind kind = {
	.cmds = hx_cmds_m4,
	.uar_write = uar_write,
	.first_uar = HX_UAR_EQS,
	.eqs = HX_UAR_EQS * HX_EQS_PER_UAR,
	.resize = HX_CQ_RESIZE,
	.moderate = HX_CQ_MODERATE,
	.send_inval = true,
	.mgm = { .bytes = HX_MGM_BYTES, .counted = true },
	.mpt = { .pd = { HX_MPT_PD }, .log_page = { HX_MPT_LOG_PAGE } },
	.srq_stride = { HX_SRQC_STRIDE },
	.qpc = &hx_m4_qpc,
	.buf = hx_m4_buf,
	.record = hx_m4_record,
	.layout = hx_m4_layout,
};

const struct cx_family cx_connectx3 = {
	.device_id = 4099,
	.description = "MT4099 ConnectX3 model",
	/* The driver sees the others in the MADs that it hands on. */
	.port_events = BIT(CX_PORT_DOWN) | BIT(CX_PORT_ACTIVE),
	.log_cmds = HX_LOG_CMDS,
	.mtu = CX_MTU_4096,
	.laps = true,
	.hx = &kind,
	.eqe = { .bytes = HX_EQE_BYTES, .data = HX_EQE_DATA, .number = 0,
		 .owner = HX_LAP },
	.cqe = { .bytes = HX_CQE_BYTES, .owner = HX_LAP,
		 .resize = HX_OP_RESIZE },
	HX_FAMILY_COMMON,
	.may_touch = may_touch,
	.srq_next = cx_srq_next_index,
	.complete = hx_m4_complete,
	.sq_posted = hx_m4_sq_posted,
	.wqe_peek = hx_m4_wqe_peek,
};
