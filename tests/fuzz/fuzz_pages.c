// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Page lists: the list itself and the directory pages are input.
 */
#include "fuzz.h"

/* References of the input are small numbers most of the time. */
static void directory(struct fuzz *f, struct input *in, uint32_t page)
{
	uint32_t *dir = loop_page(f->loop, page);
	uint16_t n = in_u16(in) % (XENVHCA_GREFS_PER_PAGE + 1), i;
	uint32_t ref = in_u32(in);

	for (i = 0; i < n; i++)
		dir[i] = ref % 4 ? LOOP_REF(ref % WIRE_PAGES) : ref;
	for (i = 0; i < 4; i++)
		dir[in_u16(in) % XENVHCA_GREFS_PER_PAGE] = in_u16(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct xenvhca_pages p;
	struct be_gmap g = {};
	struct fuzz f;
	uint32_t i;

	fuzz_open(&f, false);
	in_bytes(&in, &p, sizeof(p));
	p.nr_pages %= 1u << (in_u8(&in) % 24);
	for (i = 0; i < 4; i++)
		directory(&f, &in, i);
	if (in_u8(&in) % 4 == 0)
		loop_fail_map(f.loop, in_u8(&in) % 4, -12);
	if (!be_gmap_map(&f.dev, &p, 0, (uint64_t)p.nr_pages * XENVHCA_PAGE_SIZE, &g)) {
		PROMISE(g.addr && g.nr_pages == p.nr_pages);
		PROMISE(loop_mapped(f.loop) == g.nr_pages);
		PROMISE(f.dev.quota.used_pages == g.nr_pages);
	} else {
		PROMISE(!g.addr);
	}
	be_gmap_unmap(&f.dev, &g);
	PROMISE(!loop_mapped(f.loop) && !f.dev.quota.used_pages);
	be_gmap_check_range(in_u32(&in), in_u32(&in),
			    (uint64_t)in_u32(&in) << 20 | in_u32(&in));
	fuzz_close(&f);
	return 0;
}
