// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The machine around the model, see rig.h. It trusts the model with nothing:
 * addresses are looked up page by page, and calls that cx.h does not promise
 * are counted as broken.
 */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "rig.h"

#define PAGE	4096u
#define TURNS	200000u		/* of the hub, before it counts as endless */

/* Its own inverse: no page of memory has its neighbour on the bus. */
static uint32_t scatter(uint32_t page)
{
	return page < RIG_SCATTERED ? page ^ 5 : page;
}

static uint8_t *lookup(struct rig *r, uint64_t addr)
{
	uint64_t page = (addr - RIG_BUS) / PAGE;

	if (addr < RIG_BUS || page >= RIG_PAGES)
		return NULL;
	page = scatter(page);
	return r->used[page] ? r->mem + page * PAGE + addr % PAGE : NULL;
}

static int dma(struct rig *r, uint64_t addr, void *buf, size_t len, bool write)
{
	uint8_t *p, *b = buf;
	size_t n;

	for (; len; len -= n, addr += n, b += n) {
		n = PAGE - addr % PAGE;
		n = n < len ? n : len;
		p = lookup(r, addr);
		if (!p) {
			r->faults++;
			return -EFAULT;
		}
		memcpy(write ? p : b, write ? b : p, n);
	}
	return 0;
}

static int host_dma_read(void *opaque, uint64_t addr, void *buf, size_t len)
{
	return dma(((struct rig_dev *)opaque)->rig, addr, buf, len, false);
}

static int host_dma_write(void *opaque, uint64_t addr, const void *buf,
			  size_t len)
{
	return dma(((struct rig_dev *)opaque)->rig, addr, (void *)buf, len,
		   true);
}

static void broken(struct rig *r, const char *what)
{
	r->broken++;
	fprintf(stderr, "the model broke a promise: %s\n", what);
}

static void host_irq(void *opaque, unsigned int vector)
{
	struct rig_dev *d = opaque;

	if (vector >= CX_VECTORS)
		broken(d->rig, "an interrupt without a vector");
	else
		d->irqs[vector]++;
}

static uint64_t host_now(void *opaque)
{
	return ((struct rig_dev *)opaque)->rig->now;
}

static void host_timer(void *opaque, uint64_t deadline)
{
	((struct rig_dev *)opaque)->deadline = deadline;
}

static void host_kick(void *opaque)
{
	((struct rig_dev *)opaque)->rig->kicked = true;
}

static void host_log(void *opaque, enum cx_log_level level, const char *text)
{
	struct rig *r = ((struct rig_dev *)opaque)->rig;
	size_t len = strlen(text);

	if (r->verbose)
		fprintf(stderr, "%d: %s\n", level, text);
	if (len + 2 > sizeof(r->log))
		return;
	if (r->log_len + len + 2 > sizeof(r->log))
		r->log_len = 0;
	memcpy(r->log + r->log_len, text, len);
	r->log_len += len;
	r->log[r->log_len++] = '\n';
	r->log[r->log_len] = '\0';
}

static int host_link_tx(void *opaque, const void *data, size_t len)
{
	struct rig_dev *d = opaque;

	if (!d->peer || d->wire_len + len > d->wire_room) {
		d->refused = true;
		return -EAGAIN;
	}
	memcpy(d->wire + d->wire_len, data, len);
	d->wire_len += len;
	return 0;
}

#define HOST \
	.dma_read = host_dma_read, .dma_write = host_dma_write, \
	.irq = host_irq, .now = host_now, .timer = host_timer, \
	.kick = host_kick, .log = host_log

static const struct cx_host plain_host = { HOST };
static const struct cx_host cable_host = { HOST, .link_tx = host_link_tx };

struct rig *rig_new(void)
{
	struct rig *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->mem = mmap(NULL, (size_t)RIG_PAGES * PAGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	r->hub = cx_hub_new();
	if (r->mem == MAP_FAILED || !r->hub) {
		if (r->mem != MAP_FAILED)
			munmap(r->mem, (size_t)RIG_PAGES * PAGE);
		if (r->hub)
			cx_hub_free(r->hub);
		free(r);
		return NULL;
	}
	rig_clear(r);
	return r;
}

static void unplug(struct rig *r)
{
	unsigned int i;

	for (i = 0; i < r->nr; i++) {
		cx_free(r->dev[i].cx);
		free(r->dev[i].wire);
		if (r->dev[i].peer)
			r->dev[i].peer->peer = NULL;
	}
	memset(r->dev, 0, sizeof(r->dev));
	r->nr = 0;
}

void rig_clear(struct rig *r)
{
	unplug(r);
	memset(r->mem, 0, (size_t)r->top * PAGE);
	memset(r->mem + (size_t)RIG_SCATTERED * PAGE, 0,
	       (size_t)(r->top_contiguous - (r->top_contiguous ?
					     RIG_SCATTERED : 0)) * PAGE);
	memset(r->used, 0, sizeof(r->used));
	r->next = r->top = 0;
	r->next_contiguous = r->top_contiguous = RIG_SCATTERED;
	r->now = 1000000000;
	r->kicked = false;
	r->budget = 1 << 20;
	r->runs = r->faults = r->broken = 0;
	r->log_len = 0;
	r->log[0] = '\0';
}

void rig_free(struct rig *r)
{
	unplug(r);
	cx_hub_free(r->hub);
	munmap(r->mem, (size_t)RIG_PAGES * PAGE);
	free(r);
}

struct rig_dev *rig_plug(struct rig *r, uint64_t guid, uint16_t lid,
			 bool cable)
{
	struct cx_config config = { .guid = guid, .lid = r->eth ? 0 : lid,
				    .tag_matching = !r->no_tags,
				    .umr_lists = r->umr_lists,
				    .odp = r->odp, .eth = r->eth,
				    .cx6dx = r->cx6dx, .cx3 = r->cx3,
				    .infinihost = r->infinihost,
				    .uar_any = r->uar_any,
				    .cqe64 = r->cqe64,
				    .blueflame = r->blueflame,
				    .bar_mb = r->bar_mb };
	struct rig_dev *d = &r->dev[r->nr];

	if (r->nr == RIG_DEVS)
		return NULL;
	d->rig = r;
	d->cx = cx_new(r->hub, &config, cable ? &cable_host : &plain_host, d);
	if (!d->cx)
		return NULL;
	r->nr++;
	return d;
}

void rig_join(struct rig_dev *a, struct rig_dev *b, size_t room)
{
	a->peer = b;
	b->peer = a;
	a->wire = malloc(room);
	b->wire = malloc(room);
	a->wire_room = b->wire_room = a->wire && b->wire ? room : 0;
	cx_link_state(a->cx, true);
	cx_link_state(b->cx, true);
	rig_run(a->rig);
}

void *rig_alloc(struct rig *r, size_t bytes)
{
	uint32_t nr = (bytes + PAGE - 1) / PAGE, first = r->next;

	if (nr > RIG_SCATTERED - first)
		return NULL;
	memset(r->used + first, 1, nr);
	r->next = r->top = first + nr;
	return r->mem + (size_t)first * PAGE;
}

void *rig_alloc_contiguous(struct rig *r, size_t bytes, size_t align)
{
	uint32_t nr = (bytes + PAGE - 1) / PAGE, unit = align / PAGE;
	uint32_t first = (r->next_contiguous + unit - 1) / unit * unit;

	if (first > RIG_PAGES || nr > RIG_PAGES - first)
		return NULL;
	memset(r->used + first, 1, nr);
	r->next_contiguous = r->top_contiguous = first + nr;
	return r->mem + (size_t)first * PAGE;
}

uint64_t rig_bus(const struct rig *r, const void *p)
{
	size_t off = (const uint8_t *)p - r->mem;

	return RIG_BUS + (uint64_t)scatter(off / PAGE) * PAGE + off % PAGE;
}

void rig_revoke(struct rig *r, const void *p, size_t bytes)
{
	memset(r->used + ((const uint8_t *)p - r->mem) / PAGE, 0,
	       (bytes + PAGE - 1) / PAGE);
}

void rig_cut(struct rig_dev *d)
{
	cx_link_state(d->cx, false);
	cx_link_state(d->peer->cx, false);
	d->wire_len = d->peer->wire_len = 0;
}

/* The peer takes it for no message: the cable is put in anew. */
static void rejected(struct rig_dev *from)
{
	if (!from->rig->tamper && !from->peer->rig->tamper)
		broken(from->rig, "it does not take what it sent itself");
	rig_cut(from);
	cx_link_state(from->cx, true);
	cx_link_state(from->peer->cx, true);
}

/* Hands over what is on a cable, in two portions of odd size. */
static bool carry(struct rig_dev *d)
{
	size_t len = d->wire_len, part = len > 3 ? len / 3 : len;
	struct rig_dev *to = d->peer;
	uint8_t *copy;

	if (!to || !len)
		return false;
	copy = malloc(len);
	if (!copy)
		return false;
	memcpy(copy, d->wire, len);
	d->wire_len = 0;
	if (d->rig->tamper)
		d->rig->tamper(d, copy, len);
	if (cx_link_rx(to->cx, copy, part) ||
	    cx_link_rx(to->cx, copy + part, len - part))
		rejected(d);
	free(copy);
	if (d->refused) {
		d->refused = false;
		cx_link_ready(d->cx);
	}
	return true;
}

/* One turn: false if there was nothing to do. */
static bool turn(struct rig *r)
{
	bool busy = false, more;
	unsigned int i;

	if (r->kicked) {
		r->kicked = false;
		r->runs++;
		more = cx_hub_run(r->hub, r->budget);
		if (more && !r->kicked)
			broken(r, "work is left without a kick");
		busy = true;
	}
	for (i = 0; i < r->nr; i++)
		busy |= carry(&r->dev[i]);
	return busy;
}

bool rig_run(struct rig *r)
{
	struct rig *other;
	unsigned int i, n;
	bool busy;

	for (n = 0; n < TURNS; n++) {
		busy = turn(r);
		for (i = 0; i < r->nr; i++) {
			other = r->dev[i].peer ? r->dev[i].peer->rig : r;
			if (other != r)
				busy |= turn(other);
		}
		if (!busy)
			return true;
	}
	return false;
}

uint64_t rig_deadline(const struct rig *r)
{
	uint64_t next = 0;
	unsigned int i;

	for (i = 0; i < r->nr; i++)
		if (r->dev[i].deadline &&
		    (!next || r->dev[i].deadline < next))
			next = r->dev[i].deadline;
	return next;
}

void rig_sleep(struct rig *r, uint64_t ns)
{
	uint64_t end = r->now + ns, next;
	unsigned int i, n;

	rig_run(r);
	for (n = 0; n < TURNS; n++) {
		next = rig_deadline(r);
		if (!next || next > end)
			break;
		r->now = next > r->now ? next : r->now;
		for (i = 0; i < r->nr; i++)
			if (r->dev[i].deadline &&
			    r->dev[i].deadline <= r->now) {
				r->dev[i].deadline = 0;
				cx_timer(r->dev[i].cx);
			}
		rig_run(r);
	}
	if (n == TURNS)
		broken(r, "deadlines without end");
	r->now = end;
}

bool rig_logged(const struct rig *r, const char *text)
{
	return strstr(r->log, text);
}

uint32_t rig_read32(struct rig_dev *d, uint64_t offset)
{
	return htobe32((uint32_t)cx_mmio_read(d->cx, offset, 4));
}

void rig_write32(struct rig_dev *d, uint64_t offset, uint32_t value)
{
	cx_mmio_write(d->cx, offset, htobe32(value), 4);
}

void rig_store64(struct rig_dev *d, uint64_t offset, const void *p)
{
	uint64_t value;

	memcpy(&value, p, 8);
	cx_mmio_write(d->cx, offset, value, 8);
}
