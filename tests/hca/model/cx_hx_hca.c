// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Commands of the HCA's life, in the order of the driver's probe: memory for the
 * firmware, context memory, INIT_HCA, and back. The driver resets the HCA when
 * one that closes something fails: those never fail for what is not there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cx_cmd.h"
#include "cx_hx.h"

#define AUX_PAGES	64u
#define LOG_QP_MOST	20u
#define LOG_MOST	18u		/* CQs, SRQs */
#define LOG_MPT_MOST	21u
#define MCG_MOST	14u
#define LOG_UARC_MOST	12u	/* pages */

/* ---- page lists ---- */
static enum cx_status map(struct cx_dev *d, struct hx_cmd *c, uint64_t *count)
{
	const uint8_t *at = c->in;
	uint64_t virt, bus;
	uint32_t i, log;
	int err = 0;

	if (!c->in_mod || c->in_mod > HX_MAILBOX / HX_MAP_ENTRY)
		return CX_BAD_PARAM;
	for (i = 0; i < c->in_mod && !err; i++, at += HX_MAP_ENTRY) {
		virt = cx_be64_get(at);
		bus = cx_be64_get(at + HX_MAP_BUS);
		log = bus & HX_MAP_LOG;
		bus &= ~(uint64_t)HX_MAP_LOG;
		if (!count)
			err = hx_icm_map(d->hx, virt, bus, log);
		else if (log > HX_LOG_MAP_MOST)
			err = -EINVAL;
		else
			*count += 1ull << log;
	}
	return !err ? CX_OK : err == -ENOMEM ? CX_LIM : CX_BAD_PARAM;
}

static enum cx_status map_fa(struct cx_dev *d, struct hx_cmd *c)
{
	return d->hx->state == HX_OFF ? map(d, c, &d->hx->fa_pages) :
					CX_BAD_SYS_STATE;
}

static enum cx_status run_fw(struct cx_dev *d, struct hx_cmd *c)
{
	if (d->hx->state != HX_OFF)
		return CX_BAD_SYS_STATE;
	if (d->hx->fa_pages < HX_FW_PAGES_NEEDED)
		return CX_NO_RES;
	d->hx->state = HX_FW;
	return CX_OK;
}

static void hca_down(struct cx_dev *d)
{
	struct cx_hx *hx = d->hx;

	if (hx->state != HX_UP)
		return;
	hx_objects_free(d);
	free(hx->given_back);
	hx->given_back = NULL;
	hx->sqp_base = 0;
	hx->state = HX_FW;
	d->hca_up = false;
	cx_port_link(d);
	cx_log(d, CX_INFO, "HCA down");
}

static enum cx_status unmap_fa(struct cx_dev *d, struct hx_cmd *c)
{
	hca_down(d);
	hx_icm_free(d->hx);
	d->hx->aux_pages = 0;
	d->hx->fa_pages = 0;
	d->hx->state = HX_OFF;
	return CX_OK;
}

static enum cx_status set_icm_size(struct cx_dev *d, struct hx_cmd *c)
{
	if (c->in_param > 1ULL << HX_LOG_ICM)
		return CX_LIM;
	c->out_param = AUX_PAGES;
	return CX_OK;
}

static enum cx_status map_icm_aux(struct cx_dev *d, struct hx_cmd *c)
{
	return map(d, c, &d->hx->aux_pages);
}

static enum cx_status unmap_icm_aux(struct cx_dev *d, struct hx_cmd *c)
{
	d->hx->aux_pages = 0;
	return CX_OK;
}

static enum cx_status map_icm(struct cx_dev *d, struct hx_cmd *c)
{
	return map(d, c, NULL);
}

static enum cx_status unmap_icm(struct cx_dev *d, struct hx_cmd *c)
{
	hx_icm_unmap(d->hx, c->in_param, c->in_mod);
	hx_mpts_gone(d->hx, c->in_param, c->in_mod);
	return CX_OK;
}

/* ---- up and down ---- */
/* Numbers may go on above a table's size, up to 24 bits. */
static void tables(struct cx_dev *d, const uint8_t *in)
{
	cx_ids_init_masked(&d->qps, hx_get(in, HX_INIT_LOG_QP));
	cx_ids_init_masked(&d->srqs, hx_get(in, HX_INIT_LOG_SRQ));
	cx_ids_init_masked(&d->cqs, hx_get(in, HX_INIT_LOG_CQ));
	cx_ids_init(&d->eqs, 0, d->family->hx->eqs);
	cx_ids_init_masked(&d->mkeys, d->hx->log_mpt);
	hx_mgms_init(d);
}

static enum cx_status init_hca(struct cx_dev *d, struct hx_cmd *c)
{
	struct cx_hx *hx = d->hx;
	const uint8_t *in = c->in;

	if (hx->state != HX_FW)
		return CX_BAD_SYS_STATE;
	if (hx_get(in, HX_INIT_LOG_QP) > LOG_QP_MOST ||
	    hx_get(in, HX_INIT_LOG_SRQ) > LOG_MOST ||
	    hx_get(in, HX_INIT_LOG_CQ) > LOG_MOST ||
	    hx_get(in, HX_INIT_LOG_MPT) > LOG_MPT_MOST ||
	    hx_get(in, HX_INIT_LOG_MCG) > MCG_MOST ||
	    hx_get(in, HX_INIT_LOG_UARC) > LOG_UARC_MOST ||
	    hx_get(in, HX_INIT_EQE64) ||
	    (hx_get(in, HX_INIT_CQE64) && !d->config.cqe64) ||
	    hx_get(in, HX_INIT_UAR_PAGE))
		return CX_LIM;
	hx->log_mpt = hx_get(in, HX_INIT_LOG_MPT);
	hx->given_back = calloc(1, (1u << hx->log_mpt) / 8 + 1);
	if (!hx->given_back)
		return CX_LIM;
	memcpy(hx->init, in, sizeof(hx->init));
	hx->log_cqe = __builtin_ctz(HX_CQE_BYTES) + hx_get(in, HX_INIT_CQE64);
	hx->log_mcg = hx_get(in, HX_INIT_LOG_MCG);
	hx->mtt_base = d->family->hx->mtt_absolute ? 0 :
		       cx_be64_get(in + HX_INIT_MTT);
	hx->uarc_base = cx_be64_get(in + HX_INIT_UARC);
	hx->log_uarc = hx_get(in, HX_INIT_LOG_UARC) + HX_LOG_PAGE;
	hx->dmpt_base = cx_be64_get(in + HX_INIT_DMPT);
	d->atomic_host = !hx_get(in, HX_INIT_BIG);
	tables(d, in);
	hx->state = HX_UP;
	cx_log(d, CX_INFO, "HCA up");
	return CX_OK;
}

static enum cx_status close_hca(struct cx_dev *d, struct hx_cmd *c)
{
	hca_down(d);
	return CX_OK;
}

static enum cx_status query_hca(struct cx_dev *d, struct hx_cmd *c)
{
	memcpy(c->out, d->hx->init, sizeof(d->hx->init));
	return CX_OK;
}

static enum cx_status nop(struct cx_dev *d, struct hx_cmd *c)
{
	return CX_OK;
}

const struct hx_cmd_desc hx_cmds_hca[] = {
	{ HX_MAP_FA, "MAP_FA", map_fa, HX_OFF, HX_MAILBOX, 0 },
	{ HX_RUN_FW, "RUN_FW", run_fw, HX_OFF, 0, 0 },
	{ HX_UNMAP_FA, "UNMAP_FA", unmap_fa, HX_OFF, 0, 0 },
	{ HX_SET_ICM_SIZE, "SET_ICM_SIZE", set_icm_size, HX_FW, 0, 0 },
	{ HX_MAP_ICM_AUX, "MAP_ICM_AUX", map_icm_aux, HX_FW, HX_MAILBOX, 0 },
	{ HX_UNMAP_ICM_AUX, "UNMAP_ICM_AUX", unmap_icm_aux, HX_OFF, 0, 0 },
	{ HX_MAP_ICM, "MAP_ICM", map_icm, HX_FW, HX_MAILBOX, 0 },
	{ HX_UNMAP_ICM, "UNMAP_ICM", unmap_icm, HX_OFF, 0, 0 },
	{ HX_INIT_HCA, "INIT_HCA", init_hca, HX_FW, HX_INIT_BYTES, 0 },
	{ HX_CLOSE_HCA, "CLOSE_HCA", close_hca, HX_OFF, 0, 0 },
	{ HX_QUERY_HCA, "QUERY_HCA", query_hca, HX_UP, 0, HX_INIT_BYTES },
	{ HX_NOP, "NOP", nop, HX_FW, 0, 0 },
	{ 0 }
};
