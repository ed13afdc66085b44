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

static struct dba_map **slots_of(struct dba_table *t, const struct dba_map *m)
{
	return &t->slots[slot_head(m->guest, m->devid, m->backend, m->slot)];
}

static void link_map(struct dba_table *t, struct dba_map *m)
{
	struct dba_map **slot = slots_of(t, m);
	struct dba_map **frame = &t->frames[frame_head(m->mfn)];
	struct dba_map **gfn = &t->gfns[gfn_head(m->guest, m->gfn)];

	m->of_slot = *slot;
	m->of_frame = *frame;
	m->of_gfn = *gfn;
	*slot = *frame = *gfn = m;
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

	for (p = slots_of(t, m); *p != m;)
		p = &(*p)->of_slot;
	*p = m->of_slot;
	for (p = &t->frames[frame_head(m->mfn)]; *p != m;)
		p = &(*p)->of_frame;
	*p = m->of_frame;
	for (p = &t->gfns[gfn_head(m->guest, m->gfn)]; *p != m;)
		p = &(*p)->of_gfn;
	*p = m->of_gfn;
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
	struct dba_map *m = t->slots[slot_head(guest, devid, backend, slot)];

	while (m && (m->held || m->guest != guest || m->devid != devid ||
		     m->backend != backend || m->slot != slot))
		m = m->of_slot;
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
		m = m->of_frame;
	return m;
}

/* Removes entries that were held for the guest; the new entry replaces them. */
static void drop_held(struct dba_table *t, const struct dba_map *by)
{
	struct dba_map *m = t->frames[frame_head(by->mfn)], *next;

	while ((m = held_for(m, by))) {
		next = m->of_frame;
		dba_map_drop(t, m);
		m = next;
	}
}

/* Has the guest reached its limit, without entries that the new one replaces? */
static bool guest_full(const struct dba_table *t, const struct dba_map *want)
{
	struct dba_map *m = held_for(t->frames[frame_head(want->mfn)], want);
	uint32_t n = t->of_guest[want->guest], may = t->allowed[want->guest];

	for (; m; m = held_for(m->of_frame, want))
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

	for (m = t->frames[frame_head(req->mfn)]; m; m = m->of_frame)
		if (m->mfn == req->mfn)
			add_live(live, &n, m);
	for (m = t->gfns[gfn_head(guest, req->gfn)]; m; m = m->of_gfn)
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
