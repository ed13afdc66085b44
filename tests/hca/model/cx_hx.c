// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The family of a ConnectX-3: power-on, the registers of BAR 0, the doorbells of
 * BAR 2. Pages of doorbells are a process's, but for the first, which belong to
 * event queues: all that is written there is untrusted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cx_cmd.h"
#include "cx_hx.h"

#define UARS	((1u << (20 + CX_BAR2_LOG_MB)) / CX_PAGE / 2)	/* and as many of BlueFlame */

/* ---- power ---- */
static int init(struct cx_dev *d)
{
	d->hx = calloc(1, sizeof(*d->hx));
	return d->hx ? 0 : -ENOMEM;
}

static void quiesce(struct cx_dev *d)
{
	struct cx_hx *hx = d->hx;

	hx_objects_free(d);
	hx_icm_free(hx);
	free(hx->given_back);
	memset(hx, 0, sizeof(*hx));
	d->hca_up = false;
	d->atomic_host = false;
}

static void quit(struct cx_dev *d)
{
	quiesce(d);
	free(d->hx);
	d->hx = NULL;
}

static void power_on(struct cx_dev *d)
{
	memset(d->hx->hcr, 0, sizeof(d->hx->hcr));
}

static uint64_t pages_held(const struct cx_dev *d)
{
	return d->hx->fa_pages + d->hx->aux_pages + d->hx->icm.pages;
}

/* Context memory is the driver's own: it says nothing of what a process lent. */
static bool may_touch(const struct cx_dev *d, uint64_t addr)
{
	return false;
}

void hx_objects_free(struct cx_dev *d)
{
	struct cx_mkey *k;
	struct cx_srq *srq;
	struct cx_eq *eq;
	struct cx_cq *cq;
	struct cx_qp *qp;
	uint32_t n;

	CX_EACH(&d->qps, n, qp)
		hx_qp_free(d, qp);
	CX_EACH(&d->srqs, n, srq)
		hx_srq_free(d, srq);
	CX_EACH(&d->cqs, n, cq)
		hx_cq_free(d, cq);
	CX_EACH(&d->eqs, n, eq)
		hx_eq_free(d, eq);
	CX_EACH(&d->mkeys, n, k)
		cx_mkey_free(d, k);
	hx_mgms_free(d);
	cx_ids_free(&d->qps);
	cx_ids_free(&d->srqs);
	cx_ids_free(&d->cqs);
	cx_ids_free(&d->eqs);
	cx_ids_free(&d->mkeys);
}

/* ---- BAR 0 ---- */
static uint32_t reg_read(struct cx_dev *d, uint64_t offset)
{
	uint64_t word = (offset - HX_HCR) / 4;

	if (offset >= HX_HCR && word < HX_HCR_WORDS)
		return d->hx->hcr[word];
	return 0;		/* healthy, nobody's, free */
}

static void bar0_write(struct cx_dev *d, uint64_t offset, uint32_t value)
{
	uint64_t word = (offset - HX_HCR) / 4;

	if (offset >= HX_HCR && word < HX_HCR_WORDS) {
		d->hx->hcr[word] = value;
		if (word == HX_STATUS && value & HX_HCR_GO)
			hx_hcr_run(d);
	} else if (offset == HX_RESET && value & 1) {
		cx_log(d, CX_INFO, "reset by the driver");
		cx_reset(d);
	}
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

static void cq_ring(struct cx_dev *d, uint32_t page, uint32_t first,
		    uint32_t second)
{
	struct cx_arm arm = { .cqn = first & HX_NUMBER, .ci = second & HX_NUMBER,
			      .sn = HX_CQ_SN(first),
			      .solicited = first & HX_CQ_SOLICITED };

	cx_cq_doorbell(d, page, &arm);
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

/*
 * Doorbells of two words come as one store, or as two stores in this order
 * (32-bit CPUs).
 */
static void uar_write(struct cx_dev *d, uint64_t offset, uint64_t value,
		      unsigned int size)
{
	uint32_t page = offset / CX_PAGE, reg = offset % CX_PAGE;
	uint32_t word = cx_swap(value);

	if (page >= UARS) {
		bf_write(d, offset, value, size);
	} else if (page < HX_UAR_EQS) {
		eq_ring(d, page, reg, word);
	} else if (reg == HX_UAR_SEND) {
		cx_sq_doorbell(d, page, word >> 8);
	} else if (reg == HX_UAR_CQ && size == 8) {
		cq_ring(d, page, word, cx_swap(value >> 32));
	} else if (reg == HX_UAR_CQ) {
		d->latched = offset;
		d->latch = word;
	} else if (reg == HX_UAR_CQ + 4 && size == 4 &&
		   d->latched == offset - 4) {
		d->latched = 0;
		cq_ring(d, page, d->latch, word);
	}
}

static void reg_write(struct cx_dev *d, uint64_t offset, uint64_t value,
		      unsigned int size)
{
	if (offset >= CX_BAR2) {
		uar_write(d, offset - CX_BAR2, value, size);
		return;
	}
	bar0_write(d, offset, cx_swap(value));
	if (size == 8)
		bar0_write(d, offset + 4, cx_swap(value >> 32));
}

const struct cx_family cx_connectx3 = {
	.device_id = 4099,
	.description = "MT4099 ConnectX3 model",
	/* The driver sees the others in the MADs that it hands on. */
	.port_events = BIT(CX_PORT_DOWN) | BIT(CX_PORT_ACTIVE),
	.log_cmds = HX_LOG_CMDS,
	.eqe = { .bytes = HX_EQE_BYTES, .data = HX_EQE_DATA, .number = 0,
		 .owner = HX_LAP },
	.cqe = { .bytes = HX_CQE_BYTES, .owner = HX_LAP,
		 .resize = HX_OP_RESIZE },
	.init = init,
	.exit = quit,
	.quiesce = quiesce,
	.power_on = power_on,
	.pages_held = pages_held,
	.may_touch = may_touch,
	.read = reg_read,
	.write = reg_write,
	.complete = hx_complete,
	.sq_posted = hx_sq_posted,
	.wqe_peek = hx_wqe_peek,
	.wqe_read = hx_wqe_read,
	.local = hx_local,
};
