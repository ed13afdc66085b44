// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The kinds of HCA by their PCI ids, and the BARs of one: a line each of a PCI device's
 * "resource" (Linux, Documentation/PCI/sysfs-pci.rst).
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xen/io/vhcaif.h>

#include "bar.h"
#include "file.h"
#include "vhca-provider.h"

#define MELLANOX	0x15b3
#define KERNEL		64u	/* pages of the backend domain's kernel and programs */

/*
 * mlx5: struct mlx5_init_seg (command doorbell, health, timers, INTx) is 0x2010 bytes
 * long: pages 0 to 2. UAR page n is page n of the BAR; only the firmware knows their
 * number, so the range ends with the BAR.
 *
 * mlx4: the BAR's upper half has a page of BlueFlame for each UAR, which no guest gets:
 * a write there is a work request. The first 128 UARs hold the doorbells of event queues
 * (MLX4_NUM_OF_EQ_UARS). A context has one UAR.
 */
#define MLX5_SKIP	3u
#define MLX4_SKIP	128u
#define MLX5		0, 0, MLX5_SKIP, KERNEL, XENVHCA_UCONTEXT_UARS
#define MLX4		2, 1, MLX4_SKIP, MLX4_SKIP + KERNEL, 1

static const struct host_hca kinds[] = {
	{ MELLANOX, 0x1003, 0x1003, "ConnectX-3", MLX4 },
	{ MELLANOX, 0x1007, 0x1007, "ConnectX-3 Pro", MLX4 },
	{ MELLANOX, 0x1011, 0x1012, "Connect-IB", MLX5 },
	{ MELLANOX, 0x1013, 0x102f, "ConnectX-4 or newer", MLX5 },
	{ MELLANOX, 0xa2d2, 0xa2df, "BlueField", MLX5 },
};

const struct host_hca *host_hca(uint16_t vendor, uint16_t device)
{
	const struct host_hca *k;

	for (k = kinds; k < kinds + sizeof(kinds) / sizeof(kinds[0]); k++)
		if (k->vendor == vendor && k->first <= device && device <= k->last)
			return k;
	return NULL;
}

/* A file with a number of four hexadecimal digits; 0: there is none. */
static uint16_t id(const char *dir, const char *name)
{
	char text[16];

	vl_file_line(text, sizeof(text), "%s/%s", dir, name);
	return (uint16_t)strtoul(text, NULL, 16);
}

/* The first frame and the number of pages of a memory BAR; 0: there is none. */
static uint64_t bar_pages(const char *dir, unsigned int bar, uint64_t *frame)
{
	uint64_t start = 0, end = 0;
	char path[PATH_MAX];
	unsigned int i;
	int n = 2;
	FILE *f;

	snprintf(path, sizeof(path), "%s/resource", dir);
	f = fopen(path, "re");
	if (!f)
		return 0;
	for (i = 0; i <= bar && n == 2; i++)
		n = fscanf(f, "%" SCNx64 " %" SCNx64 " %*[^\n]", &start, &end);
	fclose(f);
	if (n != 2 || end <= start)
		return 0;
	*frame = start / XENVHCA_PAGE_SIZE;
	return (end - start + 1) / XENVHCA_PAGE_SIZE;
}

int host_uars(const char *dir, struct host_uars *u)
{
	uint64_t own;

	memset(u, 0, sizeof(*u));
	u->hca = host_hca(id(dir, "vendor"), id(dir, "device"));
	if (u->hca)
		u->pages = bar_pages(dir, u->hca->bar, &u->frame) >> u->hca->half;
	if (!u->pages) {
		memset(u, 0, sizeof(*u));
		return -ENOENT;
	}
	own = u->pages / 4 < u->hca->own ? u->pages / 4 : u->hca->own;
	u->guests = u->pages - own;
	return 0;
}
