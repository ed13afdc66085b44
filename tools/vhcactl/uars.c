// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Doorbell pages (UARs) of an HCA, compared with those that its guests may take.
 * xen-vhcad does not serve devices beyond the number of the HCA's pages. The PCI address
 * in /libxl identifies the HCA.
 */
#include <stdio.h>
#include <string.h>
#include "ctl.h"
#include "host/bar.h"

struct sum {
	const char *bdf;
	uint64_t pages;
};

/* Does the device belong to that HCA? */
static bool is_of(struct ctl *c, const struct ctl_dev *d, const char *bdf)
{
	char text[CTL_BDF + 1];

	return !xn_read_str(c->xs, XBT_NULL, d->libxl, XENVHCA_NODE_PCI, text,
			    sizeof(text)) && !strcmp(text, bdf);
}

static int add(struct ctl *c, const struct ctl_dev *d, void *arg)
{
	const struct ctl_key *key = &ctl_keys[CTL_MAX_UCONTEXT];
	struct sum *s = arg;
	uint32_t v = key->def;

	if (!is_of(c, d, s->bdf))
		return CTL_OK;
	xn_read_u32_def(c->xs, XBT_NULL, d->be, key->name, key->min, key->max,
			key->def, &v);
	s->pages += (uint64_t)v * XENVHCA_UCONTEXT_UARS;
	return CTL_OK;
}

/* 0: unknown in this domain. */
static uint64_t hca_uars(struct ctl *c, const char *bdf)
{
	char dir[PATH_MAX];

	snprintf(dir, sizeof(dir), "%s/sys/bus/pci/devices/%s", c->root, bdf);
	return host_bar_uars(dir);
}

void ctl_uars(struct ctl *c, const char *bdf, struct ctl_uars *u)
{
	struct sum s = { .bdf = bdf };

	ctl_dev_each(c, -1, add, &s);
	u->may = s.pages;
	u->have = hca_uars(c, bdf);
}

struct ctl_uars_each {
	void (*fn)(struct ctl *c, const char *bdf, void *arg);
	void *arg;
	const struct ctl_dev *d;
	char bdf[CTL_BDF + 1];
};

/* The first device of an HCA represents it: 1 if it is d. */
static int first_of(struct ctl *c, const struct ctl_dev *d, void *arg)
{
	const struct ctl_uars_each *e = arg;

	if (!is_of(c, d, e->bdf))
		return CTL_OK;
	return d->domid == e->d->domid && d->devid == e->d->devid ? 1 : 2;
}

static int each(struct ctl *c, const struct ctl_dev *d, void *arg)
{
	struct ctl_uars_each *e = arg;

	if (xn_read_str(c->xs, XBT_NULL, d->libxl, XENVHCA_NODE_PCI, e->bdf,
			sizeof(e->bdf)))
		return CTL_OK;
	e->d = d;
	if (ctl_dev_each(c, -1, first_of, e) == 1)
		e->fn(c, e->bdf, e->arg);
	return CTL_OK;
}

void ctl_uars_each(struct ctl *c,
		   void (*fn)(struct ctl *c, const char *bdf, void *arg),
		   void *arg)
{
	struct ctl_uars_each e = { .fn = fn, .arg = arg };

	ctl_dev_each(c, -1, each, &e);
}
