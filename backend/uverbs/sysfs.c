// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Reads attributes of the HCA from sysfs, in the command thread. The kernel of
 * this domain is trusted; the HCA's name comes from the toolstack and is
 * checked.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/ib_user_ioctl_verbs.h>

#include "sysfs.h"

#define RXE_REGION_PAGES (4u * 1024 * 1024 / 16)	/* kmalloc()'s most; struct rxe_mr_page */

#define WORD	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

const char *be_sysfs = "/sys/class";

uint32_t be_helper_pages(void)
{
	unsigned long n;
	char text[16];

	vl_file_line(text, sizeof(text), "%s/../module/xen_vhca_helper/parameters/domain_pages",
		     be_sysfs);
	n = strtoul(text, NULL, 10);
	return n && n <= UINT32_MAX ? (uint32_t)n : XENVHCA_QUEUE_PAGES;
}

/* A counter of ours, or how long Linux holds the values, is none of the HCA's. */
static bool counter_name_ok(const char *name)
{
	size_t n = strlen(name);

	return n && n < XENVHCA_COUNTER_NAME && strspn(name, WORD) == n &&
	       strcmp(name, "lifespan") && strncmp(name, "vhca_", 5);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

uint32_t be_sysfs_counters(const char *hca, uint8_t port, const char *folder,
			   char (*name)[XENVHCA_COUNTER_NAME])
{
	char path[512];
	struct dirent *e;
	uint32_t n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/infiniband/%s/ports/%u/%s", be_sysfs,
		 hca, port, folder);
	dir = opendir(path);
	while (dir && n < XENVHCA_MAX_COUNTERS && (e = readdir(dir)))
		if (counter_name_ok(e->d_name))
			strcpy(name[n++], e->d_name);
	if (dir)
		closedir(dir);
	qsort(name, n, sizeof(*name), by_name);
	return n;
}

static bool at_least_6_3(const char *release)
{
	unsigned int major, minor;

	if (sscanf(release, "%u.%u", &major, &minor) != 2)
		return false;
	return major > 6 || (major == 6 && minor >= 3);
}

/*
 * ib_umem_get() asked for the right to write up to Linux 6.2, whatever the
 * access of the region, and a shared mapping without it was EFAULT.
 */
bool be_pins_readonly(const char *release)
{
	return at_least_6_3(release);
}

uint32_t be_region_pages(uint32_t driver_id, const char *release)
{
	return driver_id == RDMA_DRIVER_RXE && at_least_6_3(release) ?
	       RXE_REGION_PAGES : UINT32_MAX;
}

bool be_hca_name_ok(const char *hca)
{
	size_t n = strlen(hca);

	if (!n || n >= XENVHCA_NAME_LEN || hca[0] == '.')
		return false;
	return strspn(hca, WORD ".-") == n;
}

void be_hca_list(char *buf, size_t size)
{
	char path[256];
	struct dirent *e;
	size_t used = 0;
	DIR *dir;
	int n;

	buf[0] = 0;
	snprintf(path, sizeof(path), "%s/infiniband", be_sysfs);
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		n = snprintf(buf + used, size - used, "%s%s",
			     used ? ", " : "", e->d_name);
		if (n < 0 || used + (size_t)n >= size)
			break;
		used += (size_t)n;
	}
	if (dir)
		closedir(dir);
	if (!used)
		snprintf(buf, size, "none; load the driver of the HCA, or for Soft-RoCE: rdma link add rxe0 type rxe netdev DEV");
}
