// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Memory keys: entries of the MPT table, given to the HCA by commands and taken
 * back. Their translation entries lie in context memory, and are copied when the
 * key is made. A key is a number of 24 bits and, as the low octet, what the
 * number's upper bits are.
 *
 * The driver changes a key (REREG_MR) in context memory: it takes it back, which
 * writes it there, writes its status with the CPU, and asks for SYNC_TPT.
 */
#include <stdlib.h>
#include <string.h>

#include "cx_cmd.h"
#include "cx_hx.h"

#define LOG_PAGE_MOST	31u

static struct cx_mkey *find(struct cx_dev *d, uint32_t slot)
{
	return cx_ids_at(&d->mkeys, slot);
}

static bool slot_ok(const struct cx_dev *d, uint32_t slot)
{
	return slot >> d->hx->log_mpt == 0;
}

static uint8_t access_of(const uint8_t *mpt)
{
	return (hx_get(mpt, HX_MPT_LR) ? CX_LR : 0) |
	       (hx_get(mpt, HX_MPT_LW) ? CX_LW : 0) |
	       (hx_get(mpt, HX_MPT_RR) ? CX_RR : 0) |
	       (hx_get(mpt, HX_MPT_RW) ? CX_RW : 0) |
	       (hx_get(mpt, HX_MPT_ATOMIC) ? CX_ATOMIC : 0);
}

static enum cx_status parse(const struct cx_dev *d, struct cx_mkey *k,
			    const uint8_t *mpt)
{
	uint32_t index = hx_get(mpt, HX_MPT_INDEX);

	k->index = index & HX_NUMBER;
	k->variant = index >> 24;
	k->pa = hx_get(mpt, HX_MPT_PHYSICAL);
	k->access = access_of(mpt);
	k->pd = hx_at(mpt, d->family->hx->mpt.pd);
	k->qpn = CX_ANY_QPN;
	k->log_page = hx_at(mpt, d->family->hx->mpt.log_page) +
		      d->family->hx->mpt.log_less;
	k->start = cx_be64_get(mpt + HX_MPT_START);
	k->len = cx_be64_get(mpt + HX_MPT_LEN);
	/* The kernel's own: its length is all ones. */
	k->length64 = k->pa && !~k->len;
	if (!hx_get(mpt, HX_MPT_REGION) || k->log_page > LOG_PAGE_MOST ||
	    (!k->pa && k->log_page < HX_LOG_PAGE) ||
	    (!k->length64 && k->len && k->start + k->len - 1 < k->start))
		return CX_BAD_PARAM;
	return CX_OK;
}

static enum cx_status take_mtts(struct cx_dev *d, struct cx_mkey *k,
				uint64_t mtt)
{
	uint64_t mask = (1ULL << k->log_page) - 1, first = k->start & mask;
	uint64_t nr, i;

	if (k->pa)
		return CX_OK;
	if (k->len > (uint64_t)CX_MAX_ENTRIES << k->log_page)
		return CX_LIM;
	nr = (first + k->len + mask) >> k->log_page;
	if (!cx_entries_take(d, nr))
		return CX_LIM;
	k->nr = nr;
	k->mtt = malloc((nr ? nr : 1) * sizeof(*k->mtt));
	if (!k->mtt || hx_mtts(d, mtt, k->mtt, nr)) {
		cx_mkey_unlist(d, k);
		return CX_BAD_PARAM;
	}
	for (i = 0; i < nr; i++)
		k->mtt[i] = be64toh(k->mtt[i]);
	return CX_OK;
}

/* A bit for each entry that software has had back. */
static void mark(struct cx_hx *hx, uint32_t slot, bool back)
{
	if (back)
		hx->given_back[slot / 8] |= 1u << slot % 8;
	else
		hx->given_back[slot / 8] &= ~(1u << slot % 8);
}

static uint64_t entry(const struct cx_dev *d, uint32_t slot)
{
	return d->hx->dmpt_base + (uint64_t)slot * HX_MPT_BYTES;
}

static enum cx_status enable(struct cx_dev *d, uint32_t slot,
			     const uint8_t *mpt)
{
	uint32_t mask = (1u << d->hx->log_mpt) - 1;
	struct cx_mkey *k;
	enum cx_status status;

	if (find(d, slot))
		return CX_BAD_RES_STATE;
	k = calloc(1, sizeof(*k));
	if (!k)
		return CX_LIM;
	status = parse(d, k, mpt);
	if (!status && (k->index & mask) != slot)
		status = CX_BAD_PARAM;
	if (!status)
		status = take_mtts(d, k, cx_be64_get(mpt + HX_MPT_MTT));
	if (!status && !cx_ids_put(&d->mkeys, k->index, k)) {
		cx_mkey_unlist(d, k);
		status = CX_LIM;
	}
	if (status)
		free(k);
	return status;
}

/* The entry in context memory is as the HCA has it, from now on. */
static enum cx_status sw2hw(struct cx_dev *d, struct hx_cmd *c)
{
	enum cx_status status;

	if (!slot_ok(d, c->in_mod))
		return CX_IX;
	status = enable(d, c->in_mod, c->in);
	if (status)
		return status;
	mark(d->hx, c->in_mod, false);
	hx_set(c->in, HX_MPT_STATUS, HX_MPT_HW);
	hx_icm_write(d, entry(d, c->in_mod), c->in, HX_MPT_BYTES);
	return CX_OK;
}

static enum cx_status hw2sw(struct cx_dev *d, struct hx_cmd *c)
{
	uint8_t mpt[HX_MPT_BYTES];
	struct cx_mkey *k;

	if (!slot_ok(d, c->in_mod))
		return CX_IX;
	k = find(d, c->in_mod);
	if (!k)
		return CX_OK;
	cx_mkey_free(d, k);
	if (hx_icm_read(d, entry(d, c->in_mod), mpt, sizeof(mpt)))
		return CX_OK;
	hx_set(mpt, HX_MPT_STATUS, HX_MPT_SW);
	hx_icm_write(d, entry(d, c->in_mod), mpt, sizeof(mpt));
	mark(d->hx, c->in_mod, true);
	return CX_OK;
}

static enum cx_status query(struct cx_dev *d, struct hx_cmd *c)
{
	if (!slot_ok(d, c->in_mod))
		return CX_IX;
	return hx_icm_read(d, entry(d, c->in_mod), c->out, HX_MPT_BYTES) ?
	       CX_BAD_RES : CX_OK;
}

/* What was in those pages is nobody's: another page there may hold anything. */
void hx_mpts_gone(struct cx_hx *hx, uint64_t virt, uint32_t pages)
{
	uint64_t from = virt, to = virt + (uint64_t)pages * CX_PAGE;
	uint64_t end = hx->dmpt_base + ((uint64_t)HX_MPT_BYTES << hx->log_mpt);

	if (!hx->given_back)
		return;
	from = from > hx->dmpt_base ? from : hx->dmpt_base;
	to = to < end ? to : end;
	for (; from < to; from += HX_MPT_BYTES)
		mark(hx, (from - hx->dmpt_base) / HX_MPT_BYTES, false);
}

/* Entries that were software's and are the HCA's now. */
static enum cx_status sync_tpt(struct cx_dev *d, struct hx_cmd *c)
{
	uint8_t mpt[HX_MPT_BYTES];
	uint32_t slot;

	for (slot = 0; slot < 1u << d->hx->log_mpt; slot++) {
		if (!d->hx->given_back[slot / 8]) {
			slot |= 7;
			continue;
		}
		if (!(d->hx->given_back[slot / 8] >> slot % 8 & 1))
			continue;
		if (hx_icm_read(d, entry(d, slot), mpt, sizeof(mpt)))
			continue;
		if (hx_get(mpt, HX_MPT_STATUS) != HX_MPT_HW)
			continue;
		mark(d->hx, slot, false);
		if (enable(d, slot, mpt))
			cx_log(d, CX_WARN, "MPT 0x%x makes no key", slot);
	}
	return CX_OK;
}

const struct hx_cmd_desc hx_cmds_mpt[] = {
	{ HX_SW2HW_MPT, "SW2HW_MPT", sw2hw, HX_UP, HX_MPT_BYTES, 0 },
	{ HX_HW2SW_MPT, "HW2SW_MPT", hw2sw, HX_UP, 0, 0 },
	{ HX_QUERY_MPT, "QUERY_MPT", query, HX_UP, 0, HX_MPT_BYTES },
	{ HX_SYNC_TPT, "SYNC_TPT", sync_tpt, HX_UP, 0, 0 },
	{ 0 }
};
