// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Keys and ranges by hash (keys.h). A process may have thousands of queues, and
 * each create and destroy command asks for some of both. Offsets are the
 * kernel's, which may be the same in two contexts; handles are of the device.
 */
#include <stdlib.h>

#include "offsets.h"
#include "ucontext.h"

/* One element of a list was looked at: tests count them. */
#ifndef BE_KEYS_STEP
#define BE_KEYS_STEP()	do { } while (0)
#endif

static unsigned int head_of(uint64_t n)
{
	return (unsigned int)(n * 0x9e3779b97f4a7c15ull >> 32) %
	       BE_KEY_HEADS;
}

static unsigned int offset_head(const struct be_uc *uc, uint64_t offset)
{
	return head_of(offset ^ uc->o.handle);
}

void be_key_add(struct be_dev *dev, struct be_key *key)
{
	struct be_key **by_offset, **by_owner;

	by_offset = &dev->keys[offset_head(key->uc, key->offset)];
	by_owner = &dev->owners[head_of(key->owner)];
	key->of_offset = *by_offset;
	*by_offset = key;
	key->of_owner = *by_owner;
	*by_owner = key;
	key->uc->n_keys++;
}

/* An offset can be mapped once, as natively. */
struct be_key *be_key_take(struct be_dev *dev, const struct be_uc *uc,
			   uint64_t offset, uint64_t length)
{
	struct be_key *key = dev->keys[offset_head(uc, offset)];

	for (; key; key = key->of_offset) {
		BE_KEYS_STEP();
		if (key->uc == uc && !key->mapped && key->offset == offset &&
		    length <= key->size)
			return key;
	}
	return NULL;
}

struct be_key *be_key_of(struct be_dev *dev, const struct be_mmap *m)
{
	struct be_key *key = dev->owners[head_of(m->owner)];

	while (key && (key->owner != m->owner || key->offset != m->offset)) {
		BE_KEYS_STEP();
		key = key->of_owner;
	}
	return key;
}

/* It is out of the list of its owner already. */
static void key_free(struct be_dev *dev, struct be_key *key)
{
	struct be_key **p = &dev->keys[offset_head(key->uc, key->offset)];

	while (*p != key) {
		BE_KEYS_STEP();
		p = &(*p)->of_offset;
	}
	*p = key->of_offset;
	key->uc->n_keys--;
	be_quota_give_queue(&dev->quota, key->charged);
	free(key);
}

void be_keys_drop(struct be_dev *dev, uint32_t owner)
{
	struct be_key **p = &dev->owners[head_of(owner)], *key;

	while ((key = *p)) {
		BE_KEYS_STEP();
		if (key->owner != owner) {
			p = &key->of_owner;
			continue;
		}
		*p = key->of_owner;
		key_free(dev, key);
	}
}

/* Mostly there is none: they ended with their objects. */
void be_keys_drop_all(struct be_dev *dev, struct be_uc *uc)
{
	struct be_key **p, *key;
	unsigned int i;

	for (i = 0; i < BE_KEY_HEADS && uc->n_keys; i++) {
		for (p = &dev->owners[i]; (key = *p);) {
			if (key->uc != uc) {
				p = &key->of_owner;
				continue;
			}
			*p = key->of_owner;
			key_free(dev, key);
		}
	}
}

void be_mmap_add(struct be_dev *dev, struct be_mmap *m)
{
	struct be_mmap **head = &dev->mmaps[offset_head(m->o.uc, m->offset)];

	m->of_offset = *head;
	*head = m;
}

void be_mmap_del(struct be_dev *dev, struct be_mmap *m)
{
	struct be_mmap **p = &dev->mmaps[offset_head(m->o.uc, m->offset)];

	while (*p && *p != m) {
		BE_KEYS_STEP();
		p = &(*p)->of_offset;
	}
	if (*p)
		*p = m->of_offset;
}

struct be_mmap *be_mmap_find(struct be_dev *dev, const struct be_uc *uc,
			     uint64_t offset)
{
	struct be_mmap *m = dev->mmaps[offset_head(uc, offset)];

	while (m && (m->o.uc != uc || m->offset != offset)) {
		BE_KEYS_STEP();
		m = m->of_offset;
	}
	return m;
}
