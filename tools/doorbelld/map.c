// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The table of mappings (map.h). The state file has all pages that a guest can
 * reach at any time: a mapping is saved before the first hypercall, and removed
 * from the file after the last.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "map.h"

/* Entries have one frame each, so equal frames are found by a hash. */
_Static_assert(DBA_MAX_NR == 1, "ranges overlap without being equal");

/* ---- the table ---- */
static unsigned int head_of(uint64_t a, uint64_t b)
{
	uint64_t v = (a << 20 ^ a >> 44 ^ b) * 0x9e3779b97f4a7c15ull;

	return (unsigned int)(v >> 52) % DBA_HEADS;
}

static unsigned int slot_head(unsigned int guest, unsigned int devid,
			      unsigned int backend, unsigned int slot)
{
	return head_of((uint64_t)guest << 32 | devid,
		       (uint64_t)backend << 32 | slot);
}

static unsigned int frame_head(uint64_t mfn)
{
	return head_of(0, mfn);
}

static unsigned int gfn_head(unsigned int guest, uint64_t gfn)
{
	return head_of(guest, gfn);
}

static struct dba_map **head(struct dba_table *t, const struct dba_map *m, int by)
{
	unsigned int i = by == DBA_BY_SLOT ?
			 slot_head(m->guest, m->devid, m->backend, m->slot) :
			 by == DBA_BY_FRAME ? frame_head(m->mfn) :
			 gfn_head(m->guest, m->gfn);

	return &t->heads[by][i];
}

static void link_map(struct dba_table *t, struct dba_map *m)
{
	struct dba_map **p;
	int by;

	for (by = 0; by < DBA_CHAINS; by++) {
		p = head(t, m, by);
		m->chain[by] = *p;
		*p = m;
	}
	m->prev = NULL;
	m->next = t->maps;
	if (m->next)
		m->next->prev = m;
	t->maps = m;
	t->n++;
	t->of_guest[m->guest]++;
	t->changed = true;
}

static void unlink_map(struct dba_table *t, struct dba_map *m)
{
	struct dba_map **p;
	int by;

	for (by = 0; by < DBA_CHAINS; by++) {
		for (p = head(t, m, by); *p != m;)
			p = &(*p)->chain[by];
		*p = m->chain[by];
	}
	if (m->next)
		m->next->prev = m->prev;
	if (m->prev)
		m->prev->next = m->next;
	else
		t->maps = m->next;
	t->n--;
	t->of_guest[m->guest]--;
	t->changed = true;
}

int dba_map_save(struct dba_table *t)
{
	int rc = t->changed && t->ops->save ? t->ops->save(t->ctx, t->maps) : 0;

	t->changed = rc != 0;
	return rc;
}

struct dba_map *dba_map_find(const struct dba_table *t, unsigned int guest,
			     unsigned int devid, unsigned int backend,
			     unsigned int slot)
{
	struct dba_map *m = t->heads[DBA_BY_SLOT][slot_head(guest, devid, backend, slot)];

	while (m && (m->held || m->guest != guest || m->devid != devid ||
		     m->backend != backend || m->slot != slot))
		m = m->chain[DBA_BY_SLOT];
	return m;
}

struct dba_map *dba_map_insert(struct dba_table *t, const struct dba_map *m)
{
	struct dba_map *copy;

	if (t->n >= DBA_MAX_MAPS || m->guest >= DBA_DOMAINS)
		return NULL;
	copy = malloc(sizeof(*copy));
	if (!copy)
		return NULL;
	*copy = *m;
	copy->line.len = 0;
	link_map(t, copy);
	return copy;
}

void dba_map_drop(struct dba_table *t, struct dba_map *m)
{
	unlink_map(t, m);
	free(m);
}

void dba_map_free(struct dba_table *t)
{
	while (t->maps)
		dba_map_drop(t, t->maps);
}

/* ---- one mapping ---- */
/* m, or the next entry of its chain, that is held for the guest of by. */
static struct dba_map *held_for(struct dba_map *m, const struct dba_map *by)
{
	while (m && (!m->held || m->guest != by->guest || m->mfn != by->mfn))
		m = m->chain[DBA_BY_FRAME];
	return m;
}

/* Removes entries that were held for the guest; the new entry replaces them. */
static void drop_held(struct dba_table *t, const struct dba_map *by)
{
	struct dba_map *m = t->heads[DBA_BY_FRAME][frame_head(by->mfn)], *next;

	while ((m = held_for(m, by))) {
		next = m->chain[DBA_BY_FRAME];
		dba_map_drop(t, m);
		m = next;
	}
}

/* Has the guest reached its limit, without entries that the new one replaces? */
static bool guest_full(const struct dba_table *t, const struct dba_map *want)
{
	struct dba_map *m = held_for(t->heads[DBA_BY_FRAME][frame_head(want->mfn)], want);
	uint32_t n = t->of_guest[want->guest], may = t->allowed[want->guest];

	for (; m; m = held_for(m->chain[DBA_BY_FRAME], want))
		n--;
	return n >= (may > DBA_GUEST_MAPS ? may : DBA_GUEST_MAPS);
}

/*
 * The control domain keeps access to every device: the toolstack can pass on only
 * permissions that the control domain has.
 */
static int permit(struct dba_table *t, const struct dba_map *m, bool allow)
{
	if (m->guest == t->own)
		return 0;
	return t->ops->iomem(t->ctx, m->guest, m->mfn, m->nr, allow);
}

static int hyper_map(struct dba_table *t, const struct dba_map *m, bool *clean)
{
	int rc = permit(t, m, true);

	*clean = true;
	if (rc || !m->translated)
		return rc;
	rc = t->ops->mapping(t->ctx, m->guest, m->gfn, m->mfn, m->nr, true);
	if (rc)
		*clean = !permit(t, m, false);
	return rc;
}

enum dba_reason dba_map_note(struct dba_table *t, const struct dba_map *want,
			     struct dba_map **m)
{
	*m = NULL;
	if (want->guest >= DBA_DOMAINS)
		return DBA_DEAD;
	if (dba_map_find(t, want->guest, want->devid, want->backend,
			 want->slot))
		return DBA_SLOT_BUSY;
	if (guest_full(t, want))
		return DBA_GUEST_FULL;
	*m = dba_map_insert(t, want);
	if (!*m)
		return DBA_MEMORY;
	(*m)->held = false;
	(*m)->transit = true;
	(*m)->noted = true;
	return DBA_OK;
}

enum dba_reason dba_map_do(struct dba_table *t, struct dba_map *m, int *err)
{
	bool clean;

	m->noted = false;
	*err = hyper_map(t, m, &clean);
	if (*err) {
		/* It stays in the table, and its frames are refused to others. */
		if (clean)
			dba_map_drop(t, m);
		return DBA_HYPERCALL;
	}
	m->transit = false;
	t->changed = true;
	drop_held(t, m);
	return DBA_OK;
}

/*
 * -EINVAL of Xen: the frame is not mapped at that gfn. The permission is given
 * first because Xen demands it for the removal as well, and an earlier attempt,
 * perhaps of a previous agent, may have withdrawn it.
 */
static int hyper_unmap(struct dba_table *t, const struct dba_map *m)
{
	int rc = 0;

	if (m->translated)
		rc = permit(t, m, true);
	if (m->translated && !rc)
		rc = t->ops->mapping(t->ctx, m->guest, m->gfn, m->mfn, m->nr,
				     false);
	if (rc && rc != -EINVAL)
		return rc;
	return permit(t, m, false);
}

/* May another guest have the frame at once? The control domain may reach all frames. */
static bool free_at_once(const struct dba_table *t, const struct dba_map *m)
{
	return t->reuse || m->guest == t->own ||
	       (m->translated && !t->hold_translated);
}

enum dba_reason dba_map_undo(struct dba_table *t, struct dba_map *m, int *err)
{
	*err = 0;
	if (m->noted) {		/* the guest has nothing of it */
		dba_map_drop(t, m);
		return DBA_OK;
	}
	t->changed = true;
	m->transit = true;
	*err = hyper_unmap(t, m);
	if (*err)
		return DBA_HYPERCALL;
	if (free_at_once(t, m)) {
		dba_map_drop(t, m);
	} else {
		m->held = true;
		m->transit = false;
	}
	return DBA_OK;
}

enum dba_reason dba_map_del(struct dba_table *t, unsigned int guest,
			    unsigned int devid, unsigned int backend,
			    unsigned int slot, int *err)
{
	struct dba_map *m = dba_map_find(t, guest, devid, backend, slot);

	*err = 0;
	return m ? dba_map_undo(t, m, err) : DBA_NOT_MAPPED;
}

size_t dba_map_forget(struct dba_table *t, unsigned int guest)
{
	struct dba_map *m, *next;
	size_t n = 0;

	for (m = t->maps; m; m = next) {
		next = m->next;
		if (m->guest != guest)
			continue;
		dba_map_drop(t, m);
		n++;
	}
	return n;
}

void dba_map_recover(struct dba_table *t)
{
	struct dba_map *m, *next;
	int err;

	for (m = t->maps; m; m = next) {
		next = m->next;
		if (m->transit && !m->held)
			dba_map_undo(t, m, &err);
	}
}

static void add_live(struct dba_live *live, size_t *n, const struct dba_map *m)
{
	if (live)
		live[*n] = (struct dba_live){
			.domid = m->guest, .mfn = m->mfn, .gfn = m->gfn,
			.nr = m->nr, .held = m->held,
			.translated = m->translated,
		};
	++*n;
}

/* Each once. live: NULL: only counts. */
static size_t collect(const struct dba_table *t, unsigned int guest,
		      const struct dba_req *req, struct dba_live *live)
{
	const struct dba_map *m;
	size_t n = 0;

	for (m = t->heads[DBA_BY_FRAME][frame_head(req->mfn)]; m; m = m->chain[DBA_BY_FRAME])
		if (m->mfn == req->mfn)
			add_live(live, &n, m);
	for (m = t->heads[DBA_BY_GFN][gfn_head(guest, req->gfn)]; m; m = m->chain[DBA_BY_GFN])
		if (m->guest == guest && m->translated &&
		    m->gfn == req->gfn && m->mfn != req->mfn)
			add_live(live, &n, m);
	return n;
}

struct dba_live *dba_map_live(const struct dba_table *t, unsigned int guest,
			      const struct dba_req *req, size_t *n)
{
	struct dba_live *live;

	*n = collect(t, guest, req, NULL);
	live = calloc(*n + 1, sizeof(*live));
	if (live)
		collect(t, guest, req, live);
	return live;
}
