// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Doorbell pages (UARs) of an HCA, compared with those that its guests may take.
 * xen-vhcad does not serve devices beyond the number of the HCA's pages. The PCI address
 * in /libxl identifies the HCA.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ctl.h"
#include "host/bar.h"
#include "vhca-agent.h"
#include "vhca-keys.h"

bool ctl_pci_recorded(struct ctl *c, const struct ctl_dev *d, char bdf[CTL_BDF])
{
	return !xn_read_str(c->xs, XBT_NULL, d->libxl, XENVHCA_NODE_PCI, bdf, CTL_BDF);
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
	const struct ctl_key *key = &ctl_keys[CTL_MAX_UCONTEXT];
	struct ctl_dev *devs;
	char of[CTL_BDF];
	uint32_t v;
	int i, n = ctl_devs(c, -1, &devs);

	*u = (struct ctl_uars){ .have = hca_uars(c, bdf) };
	for (i = 0; i < n; i++) {
		if (!ctl_pci_recorded(c, &devs[i], of) || strcmp(of, bdf))
			continue;
		v = key->def;
		xn_read_u32_def(c->xs, XBT_NULL, devs[i].be, key->name, key->min,
				key->max, key->def, &v);
		u->may += (uint64_t)v * XENVHCA_UCONTEXT_UARS;
	}
	free(devs);
}
