/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What sysfs says about HCAs. The command thread calls this.
 */
#ifndef SYSFS_H
#define SYSFS_H

#include <stdbool.h>
#include <stddef.h>
#include <xen/io/vhcaif.h>
#include "file.h"

extern const char *be_sysfs;		/* "/sys/class"; tests change it */

/**
 * be_sysfs_read() - one attribute of an HCA, without its newline
 * @fmt: path below the HCA's directory, a string constant
 *
 * Return: 0 or -errno; @buf is a string in either case.
 */
#define be_sysfs_read(hca, buf, size, fmt, ...)				\
	vl_file_line(buf, size, "%s/infiniband/%s/" fmt, be_sysfs, hca, ##__VA_ARGS__)
/**
 * be_sysfs_counters() - names of the counters in a folder of an HCA, sorted
 * @folder: "counters" or "hw_counters" of @port
 *
 * What the protocol cannot name is left out.
 *
 * Return: how many, XENVHCA_MAX_COUNTERS at most; 0 if there is no such folder.
 */
uint32_t be_sysfs_counters(const char *hca, uint8_t port, const char *folder,
			   char (*name)[XENVHCA_COUNTER_NAME]);
bool be_hca_name_ok(const char *hca);
/* Whether a kernel (uname -r) registers what it can only read. */
bool be_pins_readonly(const char *release);
/*
 * Pages of the largest region that a driver of a kernel (uname -r) takes, if that is less
 * than what it says. Soft-RoCE notes all of a region in one kmalloc() (__alloc_mr_page_info(),
 * 6.12.118; rxe_mr.c of 6.3 was the first without lists of them), and one that is too
 * large is a warning of the kernel, by which some hosts stop.
 */
uint32_t be_region_pages(uint32_t driver_id, const char *release);
/* Pages of queue memory that xen-vhca-helper grants to one guest. */
uint32_t be_helper_pages(void);
/* Names of all HCAs, or what to do if there is none. */
void be_hca_list(char *buf, size_t size);

#endif
