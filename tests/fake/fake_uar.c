// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Which doorbell pages (UARs) the fake HCA gives to a context. Real ones differ: the one
 * that is free and lowest, or the next after the last one.
 */
#include <string.h>

#include "fake_priv.h"

#define MLX5_ALLOC_WC	6

static struct {
	uint32_t first, end, next;
	bool lowest;
	const struct fake_file *owner[FAKE_UAR_END];
} uars;

void fake_uars_are(uint32_t first, uint32_t end, bool lowest)
{
	memset(&uars, 0, sizeof(uars));
	uars.first = uars.next = first;
	uars.end = end;
	uars.lowest = lowest;
}

void fake_uar_next(uint32_t n)
{
	uars.next = n;
}

bool fake_uars_numbered(void)
{
	return uars.end;
}

static uint32_t one(const struct fake_file *f)
{
	uint32_t i, n = uars.lowest ? uars.first : uars.next;

	for (i = uars.first; i < uars.end; i++, n++) {
		if (n < uars.first || n >= uars.end)
			n = uars.first;
		if (uars.owner[n])
			continue;
		uars.owner[n] = f;
		uars.next = n + 1;
		return n;
	}
	return 0;
}

bool fake_uars_take(struct fake_file *f, uint32_t n)
{
	uint32_t i;

	for (i = 0; uars.end && i < n; i++) {
		f->uar[i] = one(f);
		if (f->uar[i])
			continue;
		fake_uars_drop(f);
		return false;
	}
	return true;
}

void fake_uars_drop(const struct fake_file *f)
{
	uint32_t n;

	for (n = 0; n < uars.end; n++)
		if (uars.owner[n] == f)
			uars.owner[n] = NULL;
}

uint32_t fake_uar_mapped(struct fake_file *f, uint64_t offset)
{
	uint64_t cmd = offset >> 20 & 0xff;

	if (!uars.end)
		return 0;
	return cmd == MLX5_ALLOC_WC ? one(f) : f->uar[offset >> 12 & 0xff];
}

unsigned int fake_uars_used(void)
{
	unsigned int n = 0, i;

	for (i = 0; i < uars.end; i++)
		n += !!uars.owner[i];
	return n;
}

uint32_t fake_uar_at(const void *addr)
{
	unsigned int i;

	for (i = 0; i < fake.nr_vmas; i++)
		if (fake.vma[i].addr == addr)
			return fake.vma[i].uar;
	return 0;
}
