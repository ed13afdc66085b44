// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Commands on memory keys. As mlx5_ib creates them: all of memory (PA), a
 * region with its pages (MTT), a window or a fast registration key without
 * contents (free; pages or pieces come by UMR). The translation list is the
 * end of the command; lengths in it and in the context are not trusted.
 */
#include <stdlib.h>
#include <string.h>

#include "cx_cmd.h"

#define OCTWORD		16u	/* two MTTs, or one KLM */
#define MAX_KLMS	64u	/* as many as a UMR WQE can carry, and some */
#define MTT_FLAGS	0xfffull

void cx_mkey_unlist(struct cx_dev *d, struct cx_mkey *k)
{
	cx_entries_give(d, k->nr);
	free(k->mtt);
	free(k->klm);
	k->mtt = NULL;
	k->klm = NULL;
	k->nr = 0;
}

void cx_mkey_free(struct cx_dev *d, struct cx_mkey *k)
{
	cx_mkey_unlist(d, k);
	cx_ids_del(&d->mkeys, k->index);
	free(k);
}

static uint8_t access_of(const uint8_t *mkc)
{
	return (CX_GET(mkc, mkc, lr) ? CX_LR : 0) |
	       (CX_GET(mkc, mkc, lw) ? CX_LW : 0) |
	       (CX_GET(mkc, mkc, rr) ? CX_RR : 0) |
	       (CX_GET(mkc, mkc, rw) ? CX_RW : 0) |
	       (CX_GET(mkc, mkc, a) ? CX_ATOMIC : 0);
}

static enum cx_status mkc_parse(struct cx_dev *d, struct cx_mkey *k,
				const uint8_t *mkc)
{
	uint32_t mode = CX_GET(mkc, mkc, access_mode_4_2) << 2 |
			CX_GET(mkc, mkc, access_mode_1_0);

	k->variant = CX_GET(mkc, mkc, mkey_7_0);
	k->free = CX_GET(mkc, mkc, free);
	k->pa = mode == MLX5_MKC_ACCESS_MODE_PA;
	k->klms = mode == MLX5_MKC_ACCESS_MODE_KLMS;
	k->length64 = CX_GET(mkc, mkc, length64);
	k->umr_en = CX_GET(mkc, mkc, umr_en);
	k->rinval = CX_GET(mkc, mkc, en_rinval);
	k->access = access_of(mkc);
	k->log_page = CX_GET(mkc, mkc, log_page_size);
	k->pd = CX_GET(mkc, mkc, pd);
	k->qpn = CX_GET(mkc, mkc, qpn);
	k->start = CX_GET64(mkc, mkc, start_addr);
	k->len = CX_GET64(mkc, mkc, len);
	if (mode > MLX5_MKC_ACCESS_MODE_KLMS || CX_GET(mkc, mkc, bsf_en))
		return CX_BAD_PARAM;
	if (!k->pa && !k->klms && k->log_page < 12)
		return CX_BAD_PARAM;
	if (!k->length64 && k->len && k->start + k->len - 1 < k->start)
		return CX_BAD_PARAM;
	return cx_pd(d, k->pd) ? CX_OK : CX_BAD_RES;
}

/*
 * A region of pages, that hold all of it. The list has an even number of
 * entries; what the region does not reach is not kept.
 */
static enum cx_status take_mtts(struct cx_dev *d, struct cx_mkey *k,
				const uint8_t *list, uint32_t nr)
{
	uint64_t mask = (1ULL << k->log_page) - 1, first = k->start & mask;
	uint64_t bytes = (uint64_t)nr << k->log_page, need, i;

	if (k->length64 || k->len > bytes || first > bytes - k->len)
		return CX_BAD_PARAM;
	need = (first + k->len + mask) >> k->log_page;
	if (!cx_entries_take(d, need))
		return CX_LIM;
	k->mtt = malloc((need ? need : 1) * sizeof(*k->mtt));
	if (!k->mtt) {
		cx_entries_give(d, need);
		return CX_LIM;
	}
	for (i = 0; i < need; i++)
		k->mtt[i] = cx_be64_get(list + 8 * i) & ~MTT_FLAGS;
	k->nr = need;
	return CX_OK;
}

static enum cx_status take_klms(struct cx_dev *d, struct cx_mkey *k,
				const uint8_t *list, uint32_t nr)
{
	uint32_t i;

	if (!cx_entries_take(d, nr))
		return CX_LIM;
	k->klm = malloc((nr ? nr : 1) * sizeof(*k->klm));
	if (!k->klm) {
		cx_entries_give(d, nr);
		return CX_LIM;
	}
	for (i = 0; i < nr; i++, list += OCTWORD) {
		k->klm[i].bytes = cx_bits_get(list, 0, 32);
		k->klm[i].key = cx_bits_get(list, 32, 32);
		k->klm[i].va = cx_be64_get(list + 8);
	}
	k->nr = nr;
	return CX_OK;
}

/* What the command lists, and what UMRs may fill in later. */
static enum cx_status translations(struct cx_dev *d, struct cx_mkey *k,
				   const struct cx_cmd *c)
{
	const uint8_t *mkc = CX_ADDR(create_mkey_in, c->in,
				     memory_key_mkey_entry);
	const uint8_t *list = c->in + CX_BYTES(create_mkey_in);
	uint64_t octs = CX_GET(create_mkey_in, c->in,
			       translations_octword_actual_size);
	uint64_t room = CX_GET(mkc, mkc, translations_octword_size);

	if (k->pa)
		return octs ? CX_BAD_PARAM : CX_OK;
	if (octs > (c->in_len - CX_BYTES(create_mkey_in)) / OCTWORD)
		return CX_BAD_INP_LEN;
	if (k->free && octs)
		return CX_BAD_PARAM;
	if (k->klms && room > 1u << CX_LOG_KLMS)
		return CX_LIM;
	k->room = room > CX_MAX_ENTRIES ? CX_MAX_ENTRIES : room;
	if (!k->klms)
		k->room *= 2;
	if (k->free)
		return CX_OK;
	if (k->klms)
		return octs > MAX_KLMS ? CX_LIM : take_klms(d, k, list, octs);
	return take_mtts(d, k, list, 2 * octs);
}

enum cx_status cx_create_mkey(struct cx_dev *d, struct cx_cmd *c)
{
	const uint8_t *mkc = CX_ADDR(create_mkey_in, c->in,
				     memory_key_mkey_entry);
	struct cx_mkey *k = calloc(1, sizeof(*k));
	enum cx_status status;

	if (!k)
		return CX_LIM;
	status = CX_GET(create_mkey_in, c->in, mkey_umem_valid) ?
		 CX_BAD_PARAM : mkc_parse(d, k, mkc);
	if (!status)
		status = translations(d, k, c);
	if (status) {
		free(k);
		return status;
	}
	k->index = cx_ids_add(&d->mkeys, k);
	if (k->index == CX_NONE) {
		cx_mkey_free(d, k);
		return CX_LIM;
	}
	CX_SET(create_mkey_out, c->out, mkey_index, k->index);
	return CX_OK;
}

enum cx_status cx_destroy_mkey(struct cx_dev *d, struct cx_cmd *c)
{
	struct cx_mkey *k = cx_ids_get(&d->mkeys, CX_GET(destroy_mkey_in,
							 c->in, mkey_index));

	if (!k)
		return CX_BAD_RES;
	cx_mkey_free(d, k);
	return CX_OK;
}

enum cx_status cx_query_mkey(struct cx_dev *d, struct cx_cmd *c)
{
	const struct cx_mkey *k = cx_ids_get(&d->mkeys,
					     CX_GET(query_mkey_in, c->in,
						    mkey_index));
	uint8_t *mkc = CX_ADDR(query_mkey_out, c->out, memory_key_mkey_entry);

	if (!k)
		return CX_BAD_RES;
	CX_SET(mkc, mkc, free, k->free);
	CX_SET(mkc, mkc, access_mode_1_0,
	       k->pa ? MLX5_MKC_ACCESS_MODE_PA :
	       k->klms ? MLX5_MKC_ACCESS_MODE_KLMS : MLX5_MKC_ACCESS_MODE_MTT);
	CX_SET(mkc, mkc, umr_en, k->umr_en);
	CX_SET(mkc, mkc, lr, !!(k->access & CX_LR));
	CX_SET(mkc, mkc, lw, !!(k->access & CX_LW));
	CX_SET(mkc, mkc, rr, !!(k->access & CX_RR));
	CX_SET(mkc, mkc, rw, !!(k->access & CX_RW));
	CX_SET(mkc, mkc, a, !!(k->access & CX_ATOMIC));
	CX_SET(mkc, mkc, qpn, k->qpn);
	CX_SET(mkc, mkc, mkey_7_0, k->variant);
	CX_SET(mkc, mkc, length64, k->length64);
	CX_SET(mkc, mkc, en_rinval, k->rinval);
	CX_SET(mkc, mkc, pd, k->pd);
	CX_SET64(mkc, mkc, start_addr, k->start);
	CX_SET64(mkc, mkc, len, k->len);
	CX_SET(mkc, mkc, translations_octword_size,
	       k->klms ? k->room : k->room / 2);
	CX_SET(mkc, mkc, log_page_size, k->log_page);
	return CX_OK;
}
