// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The table of mappings (map.h). The order of every change: state file, then
 * hypercalls, then state file; so whatever a guest can reach is on file at
 * any time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "map.h"

static int save(struct dba_table *t)
{
	return t->ops->save ? t->ops->save(t->ctx, t->maps) : 0;
}

struct dba_map *dba_map_find(const struct dba_table *t, unsigned int guest,
			     unsigned int devid, unsigned int slot)
{
	struct dba_map *m;

	for (m = t->maps; m; m = m->next)
		if (!m->held && m->guest == guest && m->devid == devid &&
		    m->slot == slot)
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
	return copy;
}

static void drop(struct dba_table *t, struct dba_map *m)
{
	struct dba_map **p;

	for (p = &t->maps; *p; p = &(*p)->next) {
		if (*p != m)
			continue;
		*p = m->next;
		free(m);
		t->n--;
		return;
	}
}

void dba_map_free(struct dba_table *t)
{
	while (t->maps)
		drop(t, t->maps);
}

/* The guest gets back what was held for it; the new entry takes over. */
static void drop_held(struct dba_table *t, const struct dba_map *by)
{
	struct dba_map *m, *next;

	for (m = t->maps; m; m = next) {
		next = m->next;
		if (m->held && m->guest == by->guest && m->mfn >= by->mfn &&
		    m->mfn - by->mfn < by->nr &&
		    m->nr <= by->nr - (m->mfn - by->mfn))
			drop(t, m);
	}
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

static int do_map(struct dba_table *t, const struct dba_map *m, bool *clean)
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

enum dba_reason dba_map_add(struct dba_table *t, const struct dba_map *want,
			    int *err)
{
	struct dba_map *m;
	bool clean;

	*err = 0;
	if (dba_map_find(t, want->guest, want->devid, want->slot))
		return DBA_SLOT_BUSY;
	m = dba_map_insert(t, want);
	if (!m)
		return DBA_MEMORY;
	m->held = false;
	m->transit = true;
	*err = save(t);
	if (*err) {
		drop(t, m);
		return DBA_STATE_FILE;
	}
	*err = do_map(t, m, &clean);
	if (*err) {
		/* What could not be undone stays known, and refused. */
		if (clean)
			drop(t, m);
		save(t);
		return DBA_HYPERCALL;
	}
	m->transit = false;
	drop_held(t, m);
	/* On file as in transit at worst: then a restart undoes it. */
	save(t);
	return DBA_OK;
}

/*
 * -EINVAL of Xen: at that gfn is nothing of it any more, or never was. The
 * permission comes first because Xen wants it for the removal as well, and the
 * last attempt may have got beyond it.
 */
static int do_unmap(struct dba_table *t, const struct dba_map *m, bool again)
{
	int rc = 0;

	if (m->translated && again)
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
	bool again = m->transit;

	m->transit = true;
	save(t);
	*err = do_unmap(t, m, again);
	if (*err)
		return DBA_HYPERCALL;
	if (free_at_once(t, m)) {
		drop(t, m);
	} else {
		m->held = true;
		m->transit = false;
	}
	save(t);
	return DBA_OK;
}

enum dba_reason dba_map_del(struct dba_table *t, unsigned int guest,
			    unsigned int devid, unsigned int slot, int *err)
{
	struct dba_map *m = dba_map_find(t, guest, devid, slot);

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
		drop(t, m);
		n++;
	}
	if (n)
		save(t);
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
