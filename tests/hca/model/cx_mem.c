// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * All access to the host's memory: bare DMA, the buffers of queues, and memory
 * keys. Whether a key may be used is decided here and nowhere else. Pages come
 * from commands and are the driver's to choose (an IOMMU may object); keys,
 * addresses and lengths come from WQEs and frames and are checked every time.
 */
#include <errno.h>
#include <stdlib.h>

#include "cx_priv.h"

/*
 * The model's end of a move, which goes along with it: to takes what is read
 * from the host's memory; without it, from holds what is written there.
 */
struct end {
	uint8_t *to;
	const uint8_t *from;
};

static int dma_move(struct cx_dev *d, uint64_t addr, struct end *e, size_t len)
{
	int err = -EFAULT;

	if (!len)
		return 0;
	if (addr + len - 1 >= addr) {
		cx_dma_depth++;
		err = e->to ? d->host->dma_read(d->opaque, addr, e->to, len) :
			      d->host->dma_write(d->opaque, addr, e->from, len);
		cx_dma_depth--;
	}
	d->stats.dma_errors += err != 0;
	if (err)
		return -EFAULT;
	if (e->to)
		e->to += len;
	else
		e->from += len;
	return 0;
}

int cx_dma_read(struct cx_dev *d, uint64_t addr, void *to, size_t len)
{
	return dma_move(d, addr, &(struct end){ .to = to }, len);
}

int cx_dma_write(struct cx_dev *d, uint64_t addr, const void *from, size_t len)
{
	return dma_move(d, addr, &(struct end){ .from = from }, len);
}

int cx_record_read(struct cx_dev *d, uint64_t record, uint32_t *count)
{
	uint64_t bus = record;

	if (d->family->record_at && d->family->record_at(d, record, &bus))
		return -EFAULT;
	if (cx_dma_read(d, bus, count, sizeof(*count)))
		return -EFAULT;
	*count = be32toh(*count);
	return 0;
}

/* Pages of a queue or a region, in the order of its addresses. */
struct pages {
	const uint64_t *page;
	uint32_t nr;
	uint8_t log;
};

/*
 * The bus address of byte off of the pages, and how many of the len bytes
 * from there lie in the same page. off must lie in the pages. Pages that are
 * neighbours on the bus are moved one by one all the same, as the HCA
 * translates them: else memory that happens to lie in order were faster.
 */
static uint64_t pages_run(const struct pages *p, uint64_t off, size_t len,
			  size_t *run)
{
	uint64_t size = 1ULL << p->log, in = off & (size - 1);

	*run = size - in < len ? size - in : len;
	return (p->page[off >> p->log] & ~(size - 1)) + in;
}

static bool pages_hold(const struct pages *p, uint64_t off, uint64_t len)
{
	uint64_t size = (uint64_t)p->nr << p->log;

	return off <= size && len <= size - off;
}

static int pages_move(struct cx_dev *d, const struct pages *p, uint64_t off,
		      struct end *e, size_t len)
{
	uint64_t bus;
	size_t run;

	if (!pages_hold(p, off, len))
		return -EFAULT;
	for (; len; off += run, len -= run) {
		bus = pages_run(p, off, len, &run);
		if (dma_move(d, bus, e, run))
			return -EFAULT;
	}
	return 0;
}

int cx_buf_init(struct cx_buf *b, const void *pas, uint32_t nr,
		uint8_t log_page, uint32_t offset, uint64_t size)
{
	uint64_t need;
	uint32_t i;

	memset(b, 0, sizeof(*b));
	if (log_page < 12 || log_page > 31 || size > (1ULL << 40))
		return -EINVAL;
	need = (offset + size + (1ULL << log_page) - 1) >> log_page;
	if (need > nr)
		return -EINVAL;
	b->page = calloc(need ? need : 1, sizeof(*b->page));
	if (!b->page)
		return -ENOMEM;
	for (i = 0; i < need; i++)
		b->page[i] = cx_be64_get((const uint8_t *)pas + 8ULL * i) &
			     ~(uint64_t)(CX_PAGE - 1);
	b->nr = need;
	b->log_page = log_page;
	b->offset = offset;
	b->size = size;
	return 0;
}

void cx_buf_init_key(struct cx_buf *b, uint32_t key, uint32_t pd, uint64_t size)
{
	memset(b, 0, sizeof(*b));
	b->keyed = true;
	b->key = key;
	b->pd = pd;
	b->size = size;
	b->log_page = 12;
}

void cx_buf_free(struct cx_buf *b)
{
	free(b->page);
	memset(b, 0, sizeof(*b));
}

static int keyed_move(struct cx_dev *d, const struct cx_buf *b, uint64_t off,
		      const struct end *e, size_t len)
{
	struct cx_mkey *k;
	int why;

	k = cx_mkey_check(d, b->key, b->pd, CX_ANY_QPN, off, len,
			  e->to ? CX_LR : CX_LW, &why);
	if (!k)
		return -EFAULT;
	return (e->to ? cx_mkey_read(d, k, off, e->to, len) :
			cx_mkey_write(d, k, off, e->from, len)) ? -EFAULT : 0;
}

static int buf_move(struct cx_dev *d, const struct cx_buf *b, uint64_t off,
		    struct end *e, size_t len)
{
	struct pages p = { b->page, b->nr, b->log_page };

	if (off > b->size || len > b->size - off)
		return -EFAULT;
	if (b->keyed)
		return keyed_move(d, b, off, e, len);
	return pages_move(d, &p, b->offset + off, e, len);
}

int cx_buf_read(struct cx_dev *d, const struct cx_buf *b, uint64_t off,
		void *to, size_t len)
{
	return buf_move(d, b, off, &(struct end){ .to = to }, len);
}

int cx_buf_write(struct cx_dev *d, const struct cx_buf *b, uint64_t off,
		 const void *from, size_t len)
{
	return buf_move(d, b, off, &(struct end){ .from = from }, len);
}

/* ---- memory keys ---- */

/*
 * Of a key translated by pages: where the byte at addr lies in them. The
 * first page holds start at start's own offset.
 */
static uint64_t mtt_off(const struct cx_mkey *k, uint64_t addr)
{
	return addr - k->start + (k->start & ((1ULL << k->log_page) - 1));
}

/* The range lies in the key, and the key's pages reach that far. */
static bool key_holds(const struct cx_mkey *k, uint64_t addr, uint64_t len)
{
	struct pages p = { k->mtt, k->nr, k->log_page };

	if (k->length64) {
		if (len && addr + len - 1 < addr)
			return false;
	} else if (addr < k->start || addr - k->start > k->len ||
		   len > k->len - (addr - k->start)) {
		return false;
	}
	if (k->pa || k->klms)
		return true;
	return addr >= k->start && pages_hold(&p, mtt_off(k, addr), len);
}

/* Everything but what lies behind a window. */
static struct cx_mkey *key_check(struct cx_dev *d, uint32_t key, uint32_t pd,
				 uint32_t qpn, uint64_t addr, uint64_t len,
				 uint8_t access, int *why)
{
	struct cx_mkey *k = cx_ids_get(&d->mkeys, key >> 8);

	*why = -ENOKEY;
	if (!k || k->free || k->variant != (key & 0xff))
		return NULL;
	if (!len)
		return k;
	*why = -EPERM;
	if (k->pd != pd || (access & ~k->access))
		return NULL;
	if (k->qpn != CX_ANY_QPN && qpn != CX_ANY_QPN && k->qpn != qpn)
		return NULL;
	*why = -ERANGE;
	return key_holds(k, addr, len) ? k : NULL;
}

/*
 * The region behind one entry of a window, or NULL. A window upon a window
 * is refused, so that no chain nor circle can be built.
 */
static struct cx_mkey *region(struct cx_dev *d, uint32_t key, uint32_t pd,
			      uint64_t addr, uint64_t len, uint8_t access,
			      int *why)
{
	struct cx_mkey *k = key_check(d, key, pd, CX_ANY_QPN, addr, len,
				      access, why);

	if (k && k->klms) {
		*why = -EPERM;
		k = NULL;
	}
	return k;
}

/* A place in a key that is translated by pieces: which piece, and how far in it. */
struct place {
	uint32_t i;
	uint64_t off;
};

static void place_settle(const struct cx_mkey *k, struct place *at)
{
	while (at->i < k->nr && at->off >= k->klm[at->i].bytes)
		at->off -= k->klm[at->i++].bytes;
}

static struct place klm_place(const struct cx_mkey *k, uint64_t addr)
{
	struct place at = { 0, addr - k->start };

	place_settle(k, &at);
	return at;
}

/*
 * The next piece of a range, and moves behind it: in which region, at which
 * address, and how long. access is what is done to the region: CX_LR or CX_LW.
 */
static struct cx_mkey *klm_piece(struct cx_dev *d, const struct cx_mkey *k,
				 struct place *at, uint64_t len, uint8_t access,
				 uint64_t *va, uint64_t *piece, int *why)
{
	const struct cx_klm *klm;

	if (at->i == k->nr) {
		*why = -ERANGE;
		return NULL;
	}
	klm = &k->klm[at->i];
	*va = klm->va + at->off;
	*piece = klm->bytes - at->off;
	if (*piece > len)
		*piece = len;
	at->off += *piece;
	place_settle(k, at);
	return region(d, klm->key, k->pd, *va, *piece, access, why);
}

static bool klms_hold(struct cx_dev *d, const struct cx_mkey *k, uint64_t addr,
		      uint64_t len, uint8_t access, int *why)
{
	struct place at = klm_place(k, addr);
	uint64_t va, piece;

	for (; len; len -= piece)
		if (!klm_piece(d, k, &at, len, access, &va, &piece, why))
			return false;
	return true;
}

/* What rights to a window need of the region: CX_LR, CX_LW or both. */
static uint8_t behind(uint8_t access)
{
	uint8_t need = 0;

	if (access & (CX_LR | CX_RR))
		need |= CX_LR;
	if (access & (CX_LW | CX_RW))
		need |= CX_LW;
	if (access & CX_ATOMIC)
		need |= CX_LR | CX_LW;
	return need;
}

struct cx_mkey *cx_mkey_check(struct cx_dev *d, uint32_t key, uint32_t pd,
			      uint32_t qpn, uint64_t addr, uint64_t len,
			      uint8_t access, int *why)
{
	struct cx_mkey *k = key_check(d, key, pd, qpn, addr, len, access, why);

	if (k && k->klms && len &&
	    !klms_hold(d, k, addr, len, behind(access), why))
		return NULL;
	return k;
}

int cx_mkey_bindable(struct cx_dev *d, const struct cx_klm *klm, uint32_t pd,
		     uint8_t access)
{
	int why = 0;

	return region(d, klm->key, pd, klm->va, klm->bytes, behind(access),
		      &why) ? 0 : why;
}

static int mkey_move(struct cx_dev *d, const struct cx_mkey *k, uint64_t addr,
		     struct end *e, size_t len)
{
	struct pages p = { k->mtt, k->nr, k->log_page };
	const struct cx_mkey *r;
	struct place at;
	uint64_t va, piece;
	int err = 0;

	if (!len)
		return 0;
	if (k->free || !key_holds(k, addr, len))
		return -ERANGE;
	if (k->pa)
		return dma_move(d, addr, e, len);
	if (!k->klms)
		return pages_move(d, &p, mtt_off(k, addr), e, len);
	at = klm_place(k, addr);
	for (; len && !err; len -= piece) {
		r = klm_piece(d, k, &at, len, e->to ? CX_LR : CX_LW, &va,
			      &piece, &err);
		if (!r)
			return err;
		err = mkey_move(d, r, va, e, piece);
	}
	return err;
}

int cx_mkey_read(struct cx_dev *d, const struct cx_mkey *k, uint64_t addr,
		 void *to, size_t len)
{
	return mkey_move(d, k, addr, &(struct end){ .to = to }, len);
}

int cx_mkey_write(struct cx_dev *d, const struct cx_mkey *k, uint64_t addr,
		  const void *from, size_t len)
{
	return mkey_move(d, k, addr, &(struct end){ .from = from }, len);
}
