// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The PCI address of the HCA behind a device, for the agent. It decides which BARs a
 * guest may reach, so it comes from the operator or from this domain's own sysfs,
 * never from the backend domain, and is written only to /libxl.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "ctl.h"
#include "host/paths.h"
#include "number.h"

#define PCI_BUS		"/bus/pci"
#define PCI_DEVICES	"/sys" PCI_BUS "/devices"

int ctl_bdf_parse(const char *s, char bdf[CTL_BDF])
{
	char full[CTL_BDF];

	if (strlen(s) == strlen("00:05.0")) {
		snprintf(full, sizeof(full), "0000:%s", s);
		s = full;
	}
	return vl_parse_bdf(s, bdf);
}

int ctl_link_name(const char *path, char *name, size_t size)
{
	char target[PATH_MAX];
	const char *last;
	ssize_t n;

	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0)
		return -errno;
	target[n] = '\0';
	last = strrchr(target, '/');
	last = last ? last + 1 : target;
	return snprintf(name, size, "%s", last) < (int)size ? 0 :
	       -ENAMETOOLONG;
}

int ctl_pci_of_hca(const char *root, const char *hca, char bdf[CTL_BDF])
{
	char path[PATH_MAX], real[PATH_MAX], name[NAME_MAX + 1];
	size_t len, tail = strlen(PCI_BUS);
	int rc;

	snprintf(path, sizeof(path), "%s" HOST_IB_CLASS "/%s", root, hca);
	if (access(path, F_OK))
		return -ENODEV;
	snprintf(path, sizeof(path), "%s" HOST_IB_CLASS "/%s/device/subsystem",
		 root, hca);
	if (!realpath(path, real))
		return -errno;
	len = strlen(real);
	if (len < tail || strcmp(real + len - tail, PCI_BUS))
		return -ENOENT;
	snprintf(path, sizeof(path), "%s" HOST_IB_CLASS "/%s/device", root, hca);
	rc = ctl_link_name(path, name, sizeof(name));
	if (rc)
		return rc;
	return ctl_bdf_parse(name, bdf);
}

/* Checks the operator's address: does the device exist, and is it that HCA? */
static int check_given(struct ctl *c, const struct ctl_conf *conf,
		       const char *found)
{
	char path[PATH_MAX];

	if (found[0] && strcmp(found, conf->pci))
		return ctl_error(CTL_USAGE,
				 "pci=%s: %s is the device %s; leave pci= out, or give that",
				 conf->pci, conf->hca, found);
	snprintf(path, sizeof(path), "%s" PCI_DEVICES "/%s", c->root,
		 conf->pci);
	if (access(path, F_OK))
		return ctl_error(CTL_USAGE,
				 "pci=%s: there is no such PCI device (lspci -D shows them)",
				 conf->pci);
	return CTL_OK;
}

int ctl_pci_resolve(struct ctl *c, unsigned int backend, struct ctl_conf *conf)
{
	int own = xn_own_domid(c->xs), rc = -ENODEV;
	char found[CTL_BDF] = "";

	if (own >= 0 && (unsigned int)own == backend)
		rc = ctl_pci_of_hca(c->root, conf->hca, found);
	if (conf->pci[0] && rc == -ENOENT)
		return ctl_error(CTL_USAGE,
				 "pci=%s: %s is no PCI device, leave pci= out",
				 conf->pci, conf->hca);
	if (conf->pci[0])
		return check_given(c, conf, found);
	/* The backend reports an HCA that does not exist. */
	if (rc && rc != -ENOENT && rc != -ENODEV)
		return ctl_error(CTL_FAILED,
				 "cannot read the PCI address of %s from " HOST_IB_CLASS ": %s; give it with pci=BDF",
				 conf->hca, strerror(-rc));
	memcpy(conf->pci, found, sizeof(conf->pci));
	return CTL_OK;
}
