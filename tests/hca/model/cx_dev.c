// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A device of any family: power-on, reset, numbers for objects, and what an
 * access to registers has to do with all else that is going on.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cx_priv.h"

#define MMIO_BUDGET	(128u << 10)	/* bytes moved within a doorbell, if not told */

_Thread_local unsigned int cx_dma_depth;

void cx_log(struct cx_dev *d, enum cx_log_level level, const char *fmt, ...)
{
	char text[256];
	va_list ap;
	int n;

	n = snprintf(text, sizeof(text), "%016llx: ",
		     (unsigned long long)d->config.guid);
	va_start(ap, fmt);
	vsnprintf(text + n, sizeof(text) - n, fmt, ap);
	va_end(ap);
	d->host->log(d->opaque, level, text);
}

/* ---- identifiers ---- */
void cx_ids_init(struct cx_ids *ids, uint32_t base, uint32_t max)
{
	memset(ids, 0, sizeof(*ids));
	ids->base = base;
	ids->max = max;
	ids->low = base;
	ids->next = base;
	ids->mask = ~0U;
}

void cx_ids_init_masked(struct cx_ids *ids, uint32_t log)
{
	cx_ids_init(ids, 0, 1u << log);
	ids->mask = (1u << log) - 1;
}

/* Goes on where it was: a peer may still know the last driver's numbers. */
void cx_ids_free(struct cx_ids *ids)
{
	free(ids->slot);
	ids->slot = NULL;
	ids->size = 0;
	ids->used = 0;
}

/* The slot of a number; beyond size if there is none. */
static uint32_t slot_of(const struct cx_ids *ids, uint32_t n)
{
	return (n & ids->mask) - ids->base;
}

static bool ids_grow(struct cx_ids *ids, uint32_t slot)
{
	uint32_t size = ids->size ? ids->size : 16;
	struct cx_id *more;

	while (size <= slot)
		size *= 2;
	if (size > ids->max)
		size = ids->max;
	more = realloc(ids->slot, size * sizeof(*more));
	if (!more)
		return false;
	memset(more + ids->size, 0, (size - ids->size) * sizeof(*more));
	ids->slot = more;
	ids->size = size;
	return true;
}

bool cx_ids_put(struct cx_ids *ids, uint32_t n, void *obj)
{
	uint32_t slot = slot_of(ids, n);

	if (slot >= ids->max || cx_ids_at(ids, slot))
		return false;
	if (slot >= ids->size && !ids_grow(ids, slot))
		return false;
	ids->slot[slot].obj = obj;
	ids->slot[slot].n = n;
	ids->used++;
	return true;
}

uint32_t cx_ids_add(struct cx_ids *ids, void *obj)
{
	uint32_t end = ids->base + ids->max, n = ids->next, i;

	for (i = ids->low; i < end; i++) {
		if (n < ids->low || n >= end)
			n = ids->low;
		if (!cx_ids_get(ids, n)) {
			if (!cx_ids_put(ids, n, obj))
				break;
			ids->next = n + 1;
			return n;
		}
		n++;
	}
	return CX_NONE;
}

void *cx_ids_at(const struct cx_ids *ids, uint32_t slot)
{
	return slot < ids->size ? ids->slot[slot].obj : NULL;
}

void *cx_ids_get(const struct cx_ids *ids, uint32_t n)
{
	uint32_t slot = slot_of(ids, n);

	return slot < ids->size && ids->slot[slot].n == n ?
	       ids->slot[slot].obj : NULL;
}

void cx_ids_del(struct cx_ids *ids, uint32_t n)
{
	if (!cx_ids_get(ids, n))
		return;
	ids->slot[slot_of(ids, n)].obj = NULL;
	ids->used--;
}

static uint32_t used_from(const struct cx_ids *ids, uint32_t slot)
{
	if (!ids->used)
		return CX_NONE;
	for (; slot < ids->size; slot++)
		if (ids->slot[slot].obj)
			return ids->slot[slot].n;
	return CX_NONE;
}

uint32_t cx_ids_first(const struct cx_ids *ids)
{
	return used_from(ids, 0);
}

uint32_t cx_ids_next(const struct cx_ids *ids, uint32_t n)
{
	return used_from(ids, slot_of(ids, n) + 1);
}

/* ---- power ---- */
static void power_on(struct cx_dev *d)
{
	d->family->quiesce(d);
	d->born = d->host->now(d->opaque);
	d->latched = 0;
	memset(&d->no_counter, 0, sizeof(d->no_counter));
	d->family->power_on(d);
}

struct cx_dev *cx_new(struct cx_hub *hub, const struct cx_config *config,
		      const struct cx_host *host, void *opaque)
{
	struct cx_dev *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->config = *config;
	d->host = host;
	d->opaque = opaque;
	d->family = config->infinihost ? &cx_infinihost :
		    config->cx3 ? &cx_connectx3 : &cx_mlx5;
	if (d->family->init(d)) {
		free(d);
		return NULL;
	}
	cx_wire_loss(d, config->wire_loss);
	power_on(d);
	cx_hub_join(hub, d);
	return d;
}

void cx_free(struct cx_dev *d)
{
	if (!d)
		return;
	cx_hub_leave(d);
	d->family->quiesce(d);
	d->host->timer(d->opaque, 0);
	d->family->exit(d);
	free(d);
}

void cx_reset(struct cx_dev *d)
{
	power_on(d);
	cx_wire_reset(d);
}

/* ---- registers ---- */
bool cx_mmio_accepts(unsigned int size, bool write)
{
	return size <= 8 && (!write || size >= 4);
}

uint64_t cx_mmio_read(struct cx_dev *d, uint64_t offset, unsigned int size)
{
	unsigned int at = offset % 4;
	uint64_t v = cx_swap(d->family->read(d, offset - at));

	if (size < 4)
		return v >> at * 8 & ((1U << size * 8) - 1);
	if (size == 8)
		v |= (uint64_t)cx_swap(d->family->read(d, offset + 4)) << 32;
	return v;
}

void cx_mmio_write(struct cx_dev *d, uint64_t offset, uint64_t value,
		   unsigned int size)
{
	if (cx_dma_depth || cx_hub_running(d->hub)) {
		d->stats.doorbells_refused++;
		return;
	}
	d->family->write(d, offset, value, size);
	if (d->run_first || cx_wire_pending(d))
		cx_hub_run(d->hub, d->config.doorbell_bytes ?: MMIO_BUDGET);
}

bool cx_uar_rings(const struct cx_dev *d, uint32_t page, uint32_t uar)
{
	return page == uar || d->config.uar_any;
}

void cx_refuse(struct cx_dev *d, const char *what, uint32_t n, uint32_t uar)
{
	d->stats.doorbells_refused++;
	cx_log(d, CX_DEBUG, "%s doorbell for 0x%x refused in UAR %u", what, n,
	       uar);
}

/* ---- for tests and operators ---- */
const struct cx_stats *cx_stats(const struct cx_dev *d)
{
	return &d->stats;
}

static uint64_t buf_pages(const struct cx_buf *b)
{
	return (uint64_t)b->nr << (b->log_page - 12);
}

uint64_t cx_pages_held(const struct cx_dev *d)
{
	uint64_t sum = d->family->pages_held(d);
	struct cx_mkey *k;
	struct cx_srq *srq;
	struct cx_eq *eq;
	struct cx_cq *cq;
	struct cx_qp *qp;
	uint32_t n;

	CX_EACH(&d->eqs, n, eq)
		sum += buf_pages(&eq->buf);
	CX_EACH(&d->cqs, n, cq)
		sum += buf_pages(&cq->buf);
	CX_EACH(&d->srqs, n, srq)
		sum += buf_pages(&srq->buf);
	CX_EACH(&d->qps, n, qp)
		sum += buf_pages(&qp->buf);
	CX_EACH(&d->mkeys, n, k)
		if (!k->free && k->mtt)
			sum += (uint64_t)k->nr << (k->log_page - 12);
	return sum;
}

/* Bytes offset .. offset + size - 1 of what the pages make up. */
static bool pages_cover(const uint64_t *page, uint32_t nr, uint8_t log_page,
			uint64_t offset, uint64_t size, uint64_t addr)
{
	uint64_t mask = (1ULL << log_page) - 1, pos;
	uint32_t i;

	for (i = 0; i < nr; i++) {
		if ((addr ^ page[i]) >> log_page)
			continue;
		pos = ((uint64_t)i << log_page) | (addr & mask);
		if (pos >= offset && pos - offset < size)
			return true;
	}
	return false;
}

/* Where records have no addresses of their own, the family knows whether one is there. */
static bool queue_covers(const struct cx_dev *d, const struct cx_buf *b,
			 uint64_t dbr, uint64_t addr)
{
	return (!d->family->record_at && addr >= dbr && addr - dbr < 8) ||
	       pages_cover(b->page, b->nr, b->log_page, b->offset, b->size,
			   addr);
}

static bool mkey_covers(const struct cx_mkey *k, uint64_t addr)
{
	return !k->free && k->mtt &&
	       pages_cover(k->mtt, k->nr, k->log_page,
			   k->start & ((1ULL << k->log_page) - 1), k->len,
			   addr);
}

/* The kernel's own keys for all of memory (PA) say nothing and are left out. */
bool cx_may_touch(const struct cx_dev *d, uint64_t addr)
{
	struct cx_mkey *k;
	struct cx_srq *srq;
	struct cx_eq *eq;
	struct cx_cq *cq;
	struct cx_qp *qp;
	uint32_t n;

	if (d->family->may_touch(d, addr))
		return true;
	CX_EACH(&d->eqs, n, eq)
		if (pages_cover(eq->buf.page, eq->buf.nr, eq->buf.log_page,
				eq->buf.offset, eq->buf.size, addr))
			return true;
	CX_EACH(&d->cqs, n, cq)
		if (queue_covers(d, &cq->buf, cq->dbr, addr))
			return true;
	CX_EACH(&d->srqs, n, srq)
		if (queue_covers(d, &srq->buf, srq->dbr, addr))
			return true;
	CX_EACH(&d->qps, n, qp)
		if (queue_covers(d, &qp->buf, qp->dbr, addr))
			return true;
	CX_EACH(&d->mkeys, n, k)
		if (mkey_covers(k, addr))
			return true;
	return false;
}
