// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What the tool of the device tree writes for the utility domain: the range of doorbell
 * pages of a guest, and the file of vhcactl dom0less.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "host/window.h"
#include "fuzz.h"
#include "tools/vhcactl/dom0less.h"
#include "xenstore/scan.h"

static void window(const char *text)
{
	struct host_window w = { 7, 7, 7 }, again;
	char same[96];

	if (host_window_parse(text, &w)) {
		PROMISE(w.mfn == 7 && w.gfn == 7 && w.nr == 7);
		return;
	}
	/* Frames are multiplied by the size of a page, and added up. */
	PROMISE(w.mfn && w.gfn && w.nr);
	PROMISE(w.mfn + w.nr <= UINT64_MAX >> 12 && w.gfn + w.nr <= UINT64_MAX >> 12);
	snprintf(same, sizeof(same), "0x%" PRIx64 " 0x%" PRIx64 " 0x%" PRIx64,
		 w.mfn, w.gfn, w.nr);
	PROMISE(!host_window_parse(same, &again));
	PROMISE(again.mfn == w.mfn && again.gfn == w.gfn && again.nr == w.nr);
}

static void one_guest(const struct dom0less *all, int i)
{
	const struct dom0less_guest *g = &all->guest[i];
	struct ctl_conf conf;
	char err[CTL_ERR_MAX];
	int k;

	PROMISE(g->domid && g->domid < XN_FIRST_RESERVED_DOMID && g->domid != all->own);
	for (k = 0; k < i; k++)
		PROMISE(all->guest[k].domid != g->domid);
	PROMISE(memchr(g->name, 0, sizeof(g->name)) && !strchr(g->name, '/'));
	PROMISE(memchr(g->spec, 0, sizeof(g->spec)));
	PROMISE(!g->spec[0] || !ctl_conf_parse(g->spec, &conf, err));
}

static void file(const char *text)
{
	static struct dom0less all;
	char err[CTL_ERR_MAX] = "";
	int i;

	if (ctl_dom0less_parse(text, &all, err)) {
		PROMISE(err[0] && memchr(err, 0, sizeof(err)));
		return;
	}
	PROMISE(all.own && all.own < XN_FIRST_RESERVED_DOMID);
	PROMISE(all.nr >= 0 && all.nr <= DOM0LESS_GUESTS);
	for (i = 0; i < all.nr; i++)
		one_guest(&all, i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (!size)
		return 0;
	text = malloc(size);
	PROMISE(text);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = 0;
	if (data[0] % 2)
		window(text);
	else
		file(text);
	free(text);
	return 0;
}
