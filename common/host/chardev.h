/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The character device, driver and ABI of an HCA of this domain.
 */
#ifndef HOST_CHARDEV_H
#define HOST_CHARDEV_H

#include <stdbool.h>
#include <stdint.h>

#define HOST_CHARDEV_NAME	32

struct host_chardev {
	char name[HOST_CHARDEV_NAME];	/* "uverbs0" */
	uint32_t driver_id;		/* enum rdma_driver_id */
	uint32_t abi;			/* of the driver's udata */
	uint32_t index;			/* the kernel's number of the HCA */
	bool cm;			/* this domain has an rdma_cm of ABI 4 */
};

/**
 * host_chardev() - ask the kernel for the data by which libibverbs finds an HCA
 * @hca: name as in /sys/class/infiniband
 *
 * Blocks, 5 s at most for each answer. The kernel loads the module of rdma_cm if
 * there is one.
 *
 * Returns 0; -ENODEV: no such HCA in this network namespace; -ENOENT: no
 * uverbs; -errno.
 */
int host_chardev(const char *hca, struct host_chardev *cd);
/**
 * host_umad() - the file for management datagrams of a port
 * @index: the kernel's number of the HCA
 * @name: "umad0", if 0 is returned
 *
 * As host_chardev(). -ENOENT, -EOPNOTSUPP: the port has none.
 */
int host_umad(uint32_t index, uint32_t port, char name[HOST_CHARDEV_NAME]);

#endif
