// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Power-on, and the registers of BAR 0 that both generations have: the command
 * register and the reset.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cx_cmd.h"
#include "cx_hx.h"

/* ---- power ---- */
int hx_init(struct cx_dev *d)
{
	d->hx = calloc(1, sizeof(*d->hx));
	return d->hx ? 0 : -ENOMEM;
}

void hx_quiesce(struct cx_dev *d)
{
	struct cx_hx *hx = d->hx;

	hx_objects_free(d);
	hx_icm_free(hx);
	free(hx->given_back);
	memset(hx, 0, sizeof(*hx));
	d->hca_up = false;
	d->atomic_host = false;
}

void hx_exit(struct cx_dev *d)
{
	hx_quiesce(d);
	free(d->hx);
	d->hx = NULL;
}

void hx_power_on(struct cx_dev *d)
{
	memset(d->hx->hcr, 0, sizeof(d->hx->hcr));
}

uint64_t hx_pages_held(const struct cx_dev *d)
{
	return d->hx->fa_pages + d->hx->aux_pages + d->hx->icm.pages;
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
uint32_t hx_reg_read(struct cx_dev *d, uint64_t offset)
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
	} else if (d->family->hx->reg_write) {
		d->family->hx->reg_write(d, offset, value);
	}
}

void hx_reg_write(struct cx_dev *d, uint64_t offset, uint64_t value,
		  unsigned int size)
{
	if (offset >= CX_BAR2) {
		d->family->hx->uar_write(d, offset - CX_BAR2, value, size);
		return;
	}
	bar0_write(d, offset, cx_swap(value));
	if (size == 8)
		bar0_write(d, offset + 4, cx_swap(value >> 32));
}

/* ---- BAR 2 ---- */
bool hx_two_words(struct cx_dev *d, uint64_t offset, uint64_t value,
		  unsigned int size, uint32_t word[2])
{
	if (offset % 8 == 0) {
		d->latched = size == 8 ? 0 : offset;
		d->latch = word[0] = cx_swap(value);
		word[1] = cx_swap(value >> 32);
		return size == 8;
	}
	if (offset % 8 != 4 || d->latched != offset - 4)
		return false;
	d->latched = 0;
	word[0] = d->latch;
	word[1] = cx_swap(value);
	return true;
}

void hx_cq_ring(struct cx_dev *d, uint32_t page, const uint32_t word[2])
{
	struct cx_arm arm = { .cqn = word[0] & HX_NUMBER,
			      .ci = word[1] & HX_NUMBER,
			      .sn = HX_CQ_SN(word[0]),
			      .solicited = word[0] & HX_CQ_SOLICITED };

	cx_cq_doorbell(d, page, &arm);
}
