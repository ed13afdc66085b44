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
#include "vhca-provider.h"

bool ctl_pci_recorded(struct ctl *c, const struct ctl_dev *d, char bdf[CTL_BDF])
{
	return !xn_read_str(c->xs, XBT_NULL, d->libxl, XENVHCA_NODE_PCI, bdf, CTL_BDF);
}

void ctl_uars(struct ctl *c, const char *bdf, struct ctl_uars *u)
{
	const struct ctl_key *key = &ctl_keys[CTL_MAX_UCONTEXT];
	uint32_t context = XENVHCA_UCONTEXT_UARS, v;
	char dir[PATH_MAX], of[CTL_BDF];
	struct host_uars uars;
	struct ctl_dev *devs;
	int i, n = ctl_devs(c, -1, &devs);

	snprintf(dir, sizeof(dir), "%s/sys/bus/pci/devices/%s", c->root, bdf);
	if (!host_uars(dir, &uars))
		context = uars.hca->context;
	*u = (struct ctl_uars){ .have = uars.guests };
	for (i = 0; i < n; i++) {
		if (!ctl_pci_recorded(c, &devs[i], of) || strcmp(of, bdf))
			continue;
		v = key->def;
		xn_read_u32_def(c->xs, XBT_NULL, devs[i].be, key->name, key->min,
				key->max, key->def, &v);
		u->may += (uint64_t)v * context;
	}
	free(devs);
}
