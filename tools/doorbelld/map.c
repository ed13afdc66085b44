// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The table of mappings (map.h). Whatever a guest can reach is on file at any
 * time: a mapping is noted and saved before the first hypercall, and taken out
 * of the file after the last.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "map.h"

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
	struct dba_map *m;

	for (m = t->maps; m; m = m->next)
		if (!m->held && m->guest == guest && m->devid == devid &&
		    m->backend == backend && m->slot == slot)
			return m;
	return NULL;
}

struct dba_map *dba_map_insert(struct dba_table *t, const struct dba_map *m)
{
	struct dba_map *copy;

	if (t->n >= DBA_MAX_MAPS)
		return NULL;
	copy = malloc(sizeof(*copy));
	if (!copy)
		return NULL;
	*copy = *m;
	copy->next = t->maps;
	t->maps = copy;
	t->n++;
	t->changed = true;
	return copy;
}

void dba_map_drop(struct dba_table *t, struct dba_map *m)
{
	struct dba_map **p;

	for (p = &t->maps; *p; p = &(*p)->next) {
		if (*p != m)
			continue;
		*p = m->next;
		free(m);
		t->n--;
		t->changed = true;
		return;
	}
}

void dba_map_free(struct dba_table *t)
{
	while (t->maps)
		dba_map_drop(t, t->maps);
}

/* Is m held for the guest of by, and all of it part of by? */
static bool held_for(const struct dba_map *m, const struct dba_map *by)
{
	return m->held && m->guest == by->guest && m->mfn >= by->mfn &&
	       m->mfn - by->mfn < by->nr &&
	       m->nr <= by->nr - (m->mfn - by->mfn);
}

/* Gives the guest back what was held for it; the new entry takes over. */
static void drop_held(struct dba_table *t, const struct dba_map *by)
{
	struct dba_map *m, *next;

	for (m = t->maps; m; m = next) {
		next = m->next;
		if (held_for(m, by))
			dba_map_drop(t, m);
	}
}

/* Has the guest as much as it may have, beside what it gets back? */
static bool guest_full(const struct dba_table *t, const struct dba_map *want)
{
	const struct dba_map *m;
	unsigned int n = 0;

	for (m = t->maps; m; m = m->next)
		n += m->guest == want->guest && !held_for(m, want);
	return n >= DBA_GUEST_MAPS;
}

/*
 * The control domain may reach every device anyway, and must: what it could
 * not reach itself the toolstack can give to no other domain.
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
	return DBA_OK;
}

enum dba_reason dba_map_do(struct dba_table *t, struct dba_map *m, int *err)
{
	bool clean;

	*err = hyper_map(t, m, &clean);
	if (*err) {
		/* What could not be undone stays known, and refused. */
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
 * -EINVAL of Xen: at that gfn is nothing of it any more, or never was. The
 * permission comes first because Xen wants it for the removal as well, and an
 * earlier attempt, of an agent before this one, may have got beyond it.
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

/* Is it surely out of the guest's reach, or of a guest that may have it? */
static bool free_at_once(const struct dba_table *t, const struct dba_map *m)
{
	return t->reuse || m->guest == t->own ||
	       (m->translated && !t->hold_translated);
}

enum dba_reason dba_map_undo(struct dba_table *t, struct dba_map *m, int *err)
{
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

struct dba_live *dba_map_live(const struct dba_table *t)
{
	struct dba_live *live = calloc(t->n + 1, sizeof(*live));
	const struct dba_map *m;
	size_t i = 0;

	if (!live)
		return NULL;
	for (m = t->maps; m; m = m->next)
		live[i++] = (struct dba_live){
			.domid = m->guest, .mfn = m->mfn, .gfn = m->gfn,
			.nr = m->nr, .held = m->held,
			.translated = m->translated,
		};
	return live;
}
