// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Context memory: pages of the host that the driver maps into an address space
 * of the HCA's. The model keeps contexts itself and looks there for what the
 * driver writes with the CPU, translation entries (MTTs), and puts there what
 * the driver reads with it, memory keys. Addresses in it come from commands:
 * what is not mapped is not there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cx_cmd.h"
#include "cx_hx.h"

#define CHUNK		(1u << HX_LOG_CHUNK)
#define PAGES		(1ULL << (HX_LOG_ICM - HX_LOG_PAGE))
#define CHUNKS		(PAGES / CHUNK)
#define PRESENT		1ull

/* The page's place, or NULL; made if it is to be filled. */
static uint64_t *slot(struct hx_icm *icm, uint64_t page, bool make)
{
	uint64_t **chunk;

	if (page >= PAGES)
		return NULL;
	if (!icm->chunk && make)
		icm->chunk = calloc(CHUNKS, sizeof(*icm->chunk));
	if (!icm->chunk)
		return NULL;
	chunk = &icm->chunk[page / CHUNK];
	if (!*chunk && make)
		*chunk = calloc(CHUNK, sizeof(**chunk));
	return *chunk ? *chunk + page % CHUNK : NULL;
}

/* A page may be mapped over one that is: it replaces it. */
int hx_icm_map(struct cx_hx *hx, uint64_t virt, uint64_t bus, uint32_t log)
{
	uint64_t i, page = virt >> HX_LOG_PAGE, *at;

	if (log > HX_LOG_MAP_MOST || page >= PAGES || virt % CX_PAGE ||
	    bus % CX_PAGE)
		return -EINVAL;
	for (i = 0; i < 1ull << log; i++) {
		at = slot(&hx->icm, page + i, true);
		if (!at)
			return page + i < PAGES ? -ENOMEM : -EINVAL;
		hx->icm.pages += !*at;
		*at = (bus + (i << HX_LOG_PAGE)) | PRESENT;
	}
	return 0;
}

void hx_icm_unmap(struct cx_hx *hx, uint64_t virt, uint32_t pages)
{
	uint64_t page = virt >> HX_LOG_PAGE, *at;

	for (; pages && page < PAGES; pages--, page++) {
		at = slot(&hx->icm, page, false);
		if (!at || !*at)
			continue;
		*at = 0;
		hx->icm.pages--;
	}
}

void hx_icm_free(struct cx_hx *hx)
{
	uint64_t i;

	for (i = 0; hx->icm.chunk && i < CHUNKS; i++)
		free(hx->icm.chunk[i]);
	free(hx->icm.chunk);
	memset(&hx->icm, 0, sizeof(hx->icm));
}

/* Where octets there are on the bus, up to the end of the page. */
static int icm_run(struct cx_hx *hx, uint64_t virt, size_t len, uint64_t *bus,
		   size_t *run)
{
	const uint64_t *at = slot(&hx->icm, virt >> HX_LOG_PAGE, false);
	size_t in = virt % CX_PAGE;

	if (!at || !*at)
		return -EFAULT;
	*bus = (*at & ~PRESENT) + in;
	*run = CX_PAGE - in < len ? CX_PAGE - in : len;
	return 0;
}

int hx_icm_bus(struct cx_hx *hx, uint64_t virt, uint64_t *bus)
{
	size_t run;

	return icm_run(hx, virt, 1, bus, &run);
}

bool hx_icm_covers(const struct cx_hx *hx, uint64_t from, uint64_t to, uint64_t bus)
{
	uint64_t page = from >> HX_LOG_PAGE, end = to >> HX_LOG_PAGE;
	const uint64_t *chunk;

	end = end < PAGES ? end : PAGES;
	for (; hx->icm.chunk && page < end; page++) {
		chunk = hx->icm.chunk[page / CHUNK];
		if (!chunk)
			page |= CHUNK - 1;
		else if (chunk[page % CHUNK] == ((bus & ~(uint64_t)(CX_PAGE - 1)) | PRESENT))
			return true;
	}
	return false;
}

int hx_icm_read(struct cx_dev *d, uint64_t virt, void *to, size_t len)
{
	uint8_t *at = to;
	uint64_t bus;
	size_t run;

	for (; len; len -= run, virt += run, at += run)
		if (icm_run(d->hx, virt, len, &bus, &run) ||
		    cx_dma_read(d, bus, at, run))
			return -EFAULT;
	return 0;
}

int hx_icm_write(struct cx_dev *d, uint64_t virt, const void *from, size_t len)
{
	const uint8_t *at = from;
	uint64_t bus;
	size_t run;

	for (; len; len -= run, virt += run, at += run)
		if (icm_run(d->hx, virt, len, &bus, &run) ||
		    cx_dma_write(d, bus, at, run))
			return -EFAULT;
	return 0;
}

/* ---- lists of pages ---- */
int hx_mtts(struct cx_dev *d, uint64_t mtt, void *pas, uint32_t nr)
{
	uint8_t *at = pas;
	uint32_t i;

	if (hx_icm_read(d, d->hx->mtt_base + mtt, pas,
			(size_t)nr * HX_MTT_BYTES))
		return -EFAULT;
	for (i = 0; i < nr; i++, at += HX_MTT_BYTES)
		cx_be64_set(at, cx_be64_get(at) & ~HX_MTT_FLAGS);
	return 0;
}

enum cx_status hx_buf(struct cx_dev *d, struct cx_buf *b,
		      const struct hx_queue *q)
{
	uint32_t log_page = q->log_page + HX_LOG_PAGE, nr;
	enum cx_status status = CX_OK;
	uint8_t *pas;

	memset(b, 0, sizeof(*b));
	if (log_page > 31)
		return CX_BAD_PARAM;
	nr = (q->size + (1ULL << log_page) - 1) >> log_page;
	if (!cx_entries_take(d, nr))
		return CX_LIM;
	pas = malloc((size_t)nr * HX_MTT_BYTES + 1);
	if (!pas)
		status = CX_LIM;
	else if (hx_mtts(d, q->mtt, pas, nr))
		status = CX_BAD_PARAM;
	else if (cx_buf_init(b, pas, nr, log_page, 0, q->size))
		status = CX_LIM;
	free(pas);
	if (status)
		cx_entries_give(d, nr);
	return status;
}

void hx_buf_free(struct cx_dev *d, struct cx_buf *b)
{
	cx_entries_give(d, b->nr);
	cx_buf_free(b);
}

int hx_buf_fill(struct cx_dev *d, const struct cx_buf *b, uint64_t from, uint64_t to,
		uint8_t octet)
{
	uint8_t page[CX_PAGE];
	uint64_t at, part;

	memset(page, octet, sizeof(page));
	for (at = from; at < to; at += part) {
		part = to - at < CX_PAGE ? to - at : CX_PAGE;
		if (cx_buf_write(d, b, at, page, part))
			return -EFAULT;
	}
	return 0;
}
