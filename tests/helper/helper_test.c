// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What the files of vhca-helper-test share.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uapi/vhca-helper.h>
#include "helper_test.h"

int failed;

void check(int ok, const char *what, const char *fn, int line)
{
	if (ok)
		return;
	printf("FAIL %s:%d: %s (errno %s)\n", fn, line, what, strerror(errno));
	fflush(stdout);
	failed = 1;
}

int counter(const char *name)
{
	char path[128];
	int val = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/debug/xen-vhca-helper/%s",
		 name);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%d", &val) != 1)
		val = -1;
	if (f)
		fclose(f);
	return val;
}

int counter_becomes(const char *name, int want)
{
	const struct timespec tick = { .tv_nsec = 20000000 };
	int i;

	for (i = 0; i < 500 && counter(name) != want; i++)
		nanosleep(&tick, NULL);
	return counter(name) == want;
}

int helper_open(void)
{
	int fd = open(VHCA_HELPER_DEV, O_RDWR | O_CLOEXEC);

	if (fd < 0) {
		perror(VHCA_HELPER_DEV " (modprobe xen-vhca-helper)");
		exit(1);
	}
	return fd;
}

struct ibv_context *hca_open(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ctx = ibv_open_device(list[i]);
	if (!ctx) {
		fprintf(stderr, "no verbs device %s\n", name);
		exit(1);
	}
	return ctx;
}

void *mapping(uint32_t n, uint32_t *pages)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long start, end;
	void *addr = NULL;
	char line[512];

	while (f && !addr && fgets(line, sizeof(line), f))
		if (strstr(line, "/dev/infiniband/uverbs") &&
		    sscanf(line, "%lx-%lx", &start, &end) == 2 && !n--) {
			addr = (void *)start;
			*pages = (end - start) / PAGE;
		}
	if (f)
		fclose(f);
	return addr;
}
