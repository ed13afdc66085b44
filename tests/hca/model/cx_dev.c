// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A device: power-on, reset, the initialization segment, the dispatch of
 * doorbells over the UAR pages, and numbers for objects. Offsets and values
 * come from the guest's kernel and, in UAR pages, from its processes: all of
 * them are untrusted.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cx_cmd.h"

#define MMIO_BUDGET	(128u << 10)	/* bytes moved within a doorbell, if not told */

/* struct mlx5_init_seg */
enum iseg {
	ISEG_FW_REV = 0x0, ISEG_CMDIF_REV = 0x4, ISEG_CMDQ_H = 0x10,
	ISEG_CMDQ_L = 0x14, ISEG_CMD_DBELL = 0x18, ISEG_INITIALIZING = 0x1fc,
	ISEG_HEALTH_FW_VER = 0x230, ISEG_HEALTH_HW_ID = 0x234,
	ISEG_TIMER_H = 0x1000, ISEG_TIMER_L = 0x1004,
	ISEG_HEALTH_COUNTER = 0x1010,
};

/* A UAR page (linux/mlx5/driver.h, device.h). */
enum uar { UAR_CQ = 0x20, UAR_EQ_ARM = 0x40, UAR_EQ = 0x48, UAR_BF = 0x800,
	   UAR_BF_SIZE = 0x100 };

#define FW_MAJOR	12u
#define FW_MINOR	28u
#define FW_SUB		2006u
#define CMDIF_REV	5u
#define HW_ID		0x209u		/* ConnectX-4 */

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
}

/* Goes on where it was: a peer may still know the last driver's numbers. */
void cx_ids_free(struct cx_ids *ids)
{
	free(ids->slot);
	ids->slot = NULL;
	ids->size = 0;
	ids->used = 0;
}

static bool ids_grow(struct cx_ids *ids, uint32_t n)
{
	uint32_t size = ids->size ? ids->size : 16;
	void **slot;

	while (size <= n - ids->base)
		size *= 2;
	if (size > ids->max)
		size = ids->max;
	slot = realloc(ids->slot, size * sizeof(*slot));
	if (!slot)
		return false;
	memset(slot + ids->size, 0, (size - ids->size) * sizeof(*slot));
	ids->slot = slot;
	ids->size = size;
	return true;
}

bool cx_ids_put(struct cx_ids *ids, uint32_t n, void *obj)
{
	if (n < ids->base || n - ids->base >= ids->max || cx_ids_get(ids, n))
		return false;
	if (n - ids->base >= ids->size && !ids_grow(ids, n))
		return false;
	ids->slot[n - ids->base] = obj;
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

void *cx_ids_get(const struct cx_ids *ids, uint32_t n)
{
	if (n < ids->base || n - ids->base >= ids->size)
		return NULL;
	return ids->slot[n - ids->base];
}

void cx_ids_del(struct cx_ids *ids, uint32_t n)
{
	if (!cx_ids_get(ids, n))
		return;
	ids->slot[n - ids->base] = NULL;
	ids->used--;
}

uint32_t cx_ids_next(const struct cx_ids *ids, uint32_t from)
{
	uint32_t i = from < ids->base ? 0 : from - ids->base;

	if (!ids->used)
		return CX_NONE;
	for (; i < ids->size; i++)
		if (ids->slot[i])
			return ids->base + i;
	return CX_NONE;
}

/* ---- power ---- */
static void ids_init(struct cx_dev *d)
{
	cx_ids_init(&d->pds, 1, 1u << CX_LOG_PD);
	cx_ids_init(&d->xrcds, 1, 1u << CX_LOG_PD);
	cx_ids_init(&d->tds, 1, 1u << CX_LOG_PD);
	cx_ids_init(&d->uctxs, 1, 1u << CX_LOG_UCTX);
	cx_ids_init(&d->uars, CX_UAR_FIRST,
		    cx_bar_size(&d->config) / CX_PAGE - CX_UAR_FIRST);
	cx_ids_init(&d->eqs, 1, CX_MAX_EQ);
	cx_ids_init(&d->cqs, 0x40, 1u << CX_LOG_CQ);
	cx_ids_init(&d->srqs, 0x40, 1u << CX_LOG_SRQ);
	cx_ids_init(&d->qps, 0, 1u << CX_LOG_QP);
	/* QP0 and QP1 have these numbers; others start where real ones do. */
	d->qps.low = 0x40;
	cx_ids_init(&d->mkeys, 1, 1u << CX_LOG_MKEY);
	cx_ids_init(&d->counters, 1, CX_MAX_COUNTERS);
	cx_ids_init(&d->tises, 1, 1u << CX_LOG_NIC);
	cx_ids_init(&d->tirs, 1, 1u << CX_LOG_NIC);
	cx_ids_init(&d->rqts, 1, 1u << CX_LOG_NIC);
	cx_ids_init(&d->fts, 1, 1u << CX_LOG_FT);
}

/* The device forgets all that the driver told it, but the registers. */
void cx_quiesce(struct cx_dev *d)
{
	cx_objects_free(d);
	cx_nic_clear(d);
	free(d->pages);
	d->pages = NULL;
	d->nr_pages = 0;
	d->room_pages = 0;
	d->hca_enabled = false;
	d->hca_up = false;
	d->teardown = false;
	d->issi = 0;
	d->log_max_qp = CX_LOG_QP;
	d->uar_4k = false;
	d->atomic_host = false;
}

static void power_on(struct cx_dev *d)
{
	cx_quiesce(d);
	cx_nic_init(d);
	d->nic_interface = CX_NIC_FULL;
	d->cmdq_addr = 0;
	d->born = d->host->now(d->opaque);
	d->latched = 0;
	memset(&d->no_counter, 0, sizeof(d->no_counter));
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
	ids_init(d);
	cx_wire_loss(d, config->wire_loss);
	power_on(d);
	if (cx_cmdq_init(d)) {
		free(d);
		return NULL;
	}
	cx_hub_join(hub, d);
	return d;
}

void cx_free(struct cx_dev *d)
{
	if (!d)
		return;
	cx_hub_leave(d);
	cx_quiesce(d);
	d->host->timer(d->opaque, 0);
	cx_cmdq_free(d);
	free(d);
}

void cx_reset(struct cx_dev *d)
{
	power_on(d);
	cx_wire_reset(d);
}

/* ---- registers ---- */
/* Between a register, big endian, and the value a little endian CPU sees. */
static uint32_t swap(uint32_t v)
{
	return __builtin_bswap32(v);
}

uint64_t cx_cycles(const struct cx_dev *d)
{
	uint64_t ns = d->host->now(d->opaque) - d->born;

	return ns / 1000000 * CX_KHZ + ns % 1000000 * CX_KHZ / 1000000;
}

static uint32_t iseg_read(struct cx_dev *d, uint64_t offset)
{
	switch (offset) {
	case ISEG_FW_REV:
	case ISEG_HEALTH_FW_VER:
		return FW_MINOR << 16 | FW_MAJOR;
	case ISEG_CMDIF_REV:
		return CMDIF_REV << 16 | FW_SUB;
	case ISEG_CMDQ_H:
		return d->cmdq_addr >> 32;
	case ISEG_CMDQ_L:
		return (d->cmdq_addr & 0xfffff000) | d->nic_interface << 8 |
		       CX_LOG_CMDQ << 4 | CX_LOG_CMD;
	case ISEG_HEALTH_HW_ID:
		return HW_ID;
	case ISEG_TIMER_H:
		return cx_cycles(d) >> 32;
	case ISEG_TIMER_L:
		return cx_cycles(d);
	case ISEG_HEALTH_COUNTER:
		/* The driver wants to see it move between polls. */
		d->health_counter = (d->host->now(d->opaque) - d->born) >> 20;
		return d->health_counter;
	case ISEG_INITIALIZING:		/* done: nothing to wait for */
	default:
		return 0;
	}
}

bool cx_mmio_accepts(unsigned int size, bool write)
{
	return size <= 8 && (!write || size >= 4);
}

uint64_t cx_mmio_read(struct cx_dev *d, uint64_t offset, unsigned int size)
{
	unsigned int at = offset % 4;
	uint64_t v = swap(iseg_read(d, offset - at));

	if (size < 4)
		return v >> at * 8 & ((1U << size * 8) - 1);
	if (size == 8)
		v |= (uint64_t)swap(iseg_read(d, offset + 4)) << 32;
	return v;
}

/*
 * The low half of the command queue's address, and the NIC interface mode: a
 * driver that disables it, or asks for a reset, wants no access any more.
 */
static void cmdq_l_write(struct cx_dev *d, uint32_t value)
{
	uint32_t mode = value >> 8 & 7;

	d->cmdq_addr = (d->cmdq_addr & ~0xffffffffULL) | (value & 0xfffff000);
	if (mode != CX_NIC_DISABLED && mode != CX_NIC_SW_RESET) {
		d->nic_interface = mode;
		return;
	}
	cx_log(d, CX_INFO, "NIC interface disabled by the driver");
	d->nic_interface = CX_NIC_DISABLED;
	cx_quiesce(d);
	cx_port_link(d);
}

static void iseg_write(struct cx_dev *d, uint64_t offset, uint32_t value)
{
	switch (offset) {
	case ISEG_CMDQ_H:
		d->cmdq_addr = (uint64_t)value << 32 |
			       (d->cmdq_addr & 0xffffffff);
		break;
	case ISEG_CMDQ_L:
		cmdq_l_write(d, value);
		break;
	case ISEG_CMD_DBELL:
		cx_cmdq_doorbell(d, value);
		break;
	}
}

/* Both words of a doorbell are there. */
static void ring(struct cx_dev *d, uint64_t offset, uint32_t first,
		 uint32_t second)
{
	if (offset % CX_PAGE == UAR_CQ)
		cx_cq_doorbell(d, offset / CX_PAGE, first, second);
	else
		cx_sq_doorbell(d, offset / CX_PAGE, first, second);
}

/*
 * Doorbells of two words come as one store, or as two stores in this order
 * (32-bit CPUs). What else is written to a BlueFlame buffer is a copy of the
 * WQE, which is in memory anyway.
 */
static void uar_write(struct cx_dev *d, uint64_t offset, uint64_t value,
		      unsigned int size)
{
	uint32_t reg = offset % CX_PAGE, word = swap(value);
	uint32_t at = reg < UAR_BF ? reg - UAR_CQ : reg % UAR_BF_SIZE;

	if (!cx_ids_get(&d->uars, offset / CX_PAGE)) {
		d->stats.doorbells_refused++;
		cx_log(d, CX_DEBUG, "doorbell at %#llx: no such UAR page",
		       (unsigned long long)offset);
	} else if (reg == UAR_EQ_ARM || reg == UAR_EQ) {
		cx_eq_doorbell(d, offset / CX_PAGE, reg == UAR_EQ_ARM, word);
	} else if (at == 0 && size == 8) {
		ring(d, offset, word, swap(value >> 32));
	} else if (at == 0) {
		d->latched = offset;
		d->latch = word;
	} else if (at == 4 && size == 4 && d->latched == offset - 4) {
		d->latched = 0;
		ring(d, offset - 4, d->latch, word);
	}
}

void cx_mmio_write(struct cx_dev *d, uint64_t offset, uint64_t value,
		   unsigned int size)
{
	if (cx_dma_depth || cx_hub_running(d->hub)) {
		d->stats.doorbells_refused++;
		return;
	}
	if (offset >= (uint64_t)CX_UAR_FIRST * CX_PAGE) {
		uar_write(d, offset, value, size);
	} else {
		iseg_write(d, offset, swap(value));
		if (size == 8)
			iseg_write(d, offset + 4,
				   swap(value >> 32));
	}
	if (d->run_first || cx_wire_pending(d))
		cx_hub_run(d->hub, d->config.doorbell_bytes ?: MMIO_BUDGET);
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
	uint64_t sum = d->nr_pages + d->hca_enabled;
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

static bool queue_covers(const struct cx_buf *b, uint64_t dbr, uint64_t addr)
{
	return (addr >= dbr && addr - dbr < 8) ||
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

	if (d->hca_enabled && addr - d->cmdq_addr < CX_PAGE)
		return true;
	CX_EACH(&d->eqs, n, eq)
		if (pages_cover(eq->buf.page, eq->buf.nr, eq->buf.log_page,
				eq->buf.offset, eq->buf.size, addr))
			return true;
	CX_EACH(&d->cqs, n, cq)
		if (queue_covers(&cq->buf, cq->dbr, addr))
			return true;
	CX_EACH(&d->srqs, n, srq)
		if (queue_covers(&srq->buf, srq->dbr, addr))
			return true;
	CX_EACH(&d->qps, n, qp)
		if (queue_covers(&qp->buf, qp->dbr, addr))
			return true;
	CX_EACH(&d->mkeys, n, k)
		if (mkey_covers(k, addr))
			return true;
	return false;
}
