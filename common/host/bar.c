// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The first line of a PCI device's "resource" is its first BAR (Linux,
 * Documentation/PCI/sysfs-pci.rst).
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <xen/io/vhcaif.h>

#include "bar.h"

#define OWN	64u

uint64_t host_bar_uars(const char *dir)
{
	uint64_t start = 0, end = 0, pages;
	char path[PATH_MAX];
	FILE *f;
	int n;

	snprintf(path, sizeof(path), "%s/resource", dir);
	f = fopen(path, "re");
	if (!f)
		return 0;
	n = fscanf(f, "%" SCNx64 " %" SCNx64, &start, &end);
	fclose(f);
	if (n != 2 || end <= start)
		return 0;
	pages = (end - start + 1) / XENVHCA_PAGE_SIZE;
	return pages - (pages / 4 < OWN ? pages / 4 : OWN);
}
