// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Wire handles: the lower bits are an index of the table, the upper bits are
 * the generation of its entry, so that a stale handle names nothing. Entries
 * are reused in the order in which they were released, so that a handle is not
 * seen again soon. Handles come from the guest and are not trusted. The callers
 * hold be_dev.lock: for writing to add and delete, for reading to look up; the
 * command thread, which is the only writer, looks up without it.
 */
#include <errno.h>
#include <stdlib.h>

#include "be.h"

#define INDEX_BITS	20
#define INDEX_MASK	((1u << INDEX_BITS) - 1)
#define GEN_MASK	((1u << (32 - INDEX_BITS)) - 1)
#define FIRST_ENTRIES	64u
#define NO_ENTRY		UINT32_MAX

struct entry {
	struct be_obj *obj;		/* NULL: free */
	uint32_t gen;			/* 1..GEN_MASK: a handle is never 0 */
	uint32_t next;			/* free list */
};

struct be_handles {
	struct entry *entry;
	uint32_t nr_entries;
	uint32_t free_head, free_tail;	/* taken at head, put at tail */
};

struct be_handles *be_handles_new(void)
{
	struct be_handles *h = calloc(1, sizeof(*h));

	if (h)
		h->free_head = h->free_tail = NO_ENTRY;
	return h;
}

void be_handles_free(struct be_handles *h)
{
	if (!h)
		return;
	free(h->entry);
	free(h);
}

static void entry_put(struct be_handles *h, uint32_t i)
{
	h->entry[i].next = NO_ENTRY;
	if (h->free_tail == NO_ENTRY)
		h->free_head = i;
	else
		h->entry[h->free_tail].next = i;
	h->free_tail = i;
}

static int entries_grow(struct be_handles *h)
{
	uint32_t n = h->nr_entries ? h->nr_entries * 2 : FIRST_ENTRIES;
	struct entry *s;
	uint32_t i;

	if (n > INDEX_MASK + 1)
		return -ENOMEM;
	s = realloc(h->entry, n * sizeof(*s));
	if (!s)
		return -ENOMEM;
	h->entry = s;
	for (i = h->nr_entries; i < n; i++) {
		s[i] = (struct entry){ .gen = 1 };
		entry_put(h, i);
	}
	h->nr_entries = n;
	return 0;
}

int be_handle_add(struct be_handles *h, struct be_obj *obj)
{
	uint32_t i;

	if (h->free_head == NO_ENTRY) {
		int err = entries_grow(h);

		if (err)
			return err;
	}
	i = h->free_head;
	h->free_head = h->entry[i].next;
	if (h->free_head == NO_ENTRY)
		h->free_tail = NO_ENTRY;
	h->entry[i].obj = obj;
	obj->handle = h->entry[i].gen << INDEX_BITS | i;
	return 0;
}

static struct entry *entry_find(struct be_handles *h, uint32_t handle)
{
	uint32_t i = handle & INDEX_MASK;

	if (i >= h->nr_entries || !h->entry[i].obj ||
	    h->entry[i].gen != handle >> INDEX_BITS)
		return NULL;
	return &h->entry[i];
}

void be_handle_del(struct be_handles *h, struct be_obj *obj)
{
	struct entry *s = entry_find(h, obj->handle);

	if (!s || s->obj != obj)
		return;
	s->obj = NULL;
	s->gen = s->gen == GEN_MASK ? 1 : s->gen + 1;
	entry_put(h, obj->handle & INDEX_MASK);
	obj->handle = 0;
}

void *be_handle_get(struct be_handles *h, uint32_t handle, enum be_type type,
		    const struct be_uc *uc)
{
	struct entry *s = entry_find(h, handle);

	/* an object that is still being created has type BE_NONE */
	if (!s || type == BE_NONE || s->obj->type != type)
		return NULL;
	if (uc && s->obj->uc != uc)
		return NULL;
	return s->obj;
}
