/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The frontend's rings, and what they call of the rest of the module.
 */
#ifndef RING_REST_H
#define RING_REST_H

#include "kernel.h"

int gnttab_grant_foreign_access(domid_t domid, unsigned long gfn, int ro);

#include "copy/ring.c"
#include "copy/ring_cmd.c"
#include "copy/ring_event.c"
#include "copy/ring_kick.c"
#include "copy/spin.c"

static int counted;			/* pages of rings */
/* The backend lets go of its pages, before one is freed. May be NULL. */
static void (*unmapped)(struct vhca_dev *dev);

void vhca_grant_count(int nr)
{
	counted += nr;
}

int gnttab_grant_foreign_access(domid_t domid, unsigned long gfn, int ro)
{
	(void)domid;
	(void)gfn;
	(void)ro;
	return 1;
}

bool vhca_grant_end_page(struct vhca_dev *dev, grant_ref_t ref,
			 struct page *page)
{
	void *mem = page;

	(void)ref;
	if (unmapped)
		unmapped(dev);
	/* the others were allocated with the first one */
	if (mem == dev->ring.cmd.sring || mem == dev->ring.evt ||
	    mem == dev->ring.kick)
		free(mem);
	return true;
}

bool vhca_event(struct vhca_dev *d, const struct xenvhca_event *ev)
{
	(void)d;
	(void)ev;
	return false;
}

bool vhca_event_overflow(struct vhca_dev *d)
{
	(void)d;
	return false;
}

#endif
