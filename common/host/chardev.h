/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Which character device, driver and ABI an HCA of this domain has.
 */
#ifndef HOST_CHARDEV_H
#define HOST_CHARDEV_H

#include <stdbool.h>
#include <stdint.h>

struct host_chardev {
	char name[32];			/* "uverbs0" */
	uint32_t driver_id;		/* enum rdma_driver_id */
	uint32_t abi;			/* of the driver's udata */
	uint32_t index;			/* the kernel's number of the HCA */
	bool cm;			/* this domain has an rdma_cm of ABI 4 */
};

/**
 * host_chardev() - ask the kernel for what libibverbs goes by, too
 * @hca: name as in /sys/class/infiniband
 *
 * Blocks, 5 s at most for each answer. The kernel loads the module of rdma_cm if
 * there is one.
 *
 * Returns 0; -ENODEV: no such HCA in this network namespace; -ENOENT: no
 * uverbs; -errno.
 */
int host_chardev(const char *hca, struct host_chardev *cd);

#endif
