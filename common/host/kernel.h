/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Is the kernel of this domain new enough to serve guests with Soft-RoCE?
 */
#ifndef HOST_KERNEL_H
#define HOST_KERNEL_H

#include <stdbool.h>
#include <stddef.h>

#define HOST_VERSION_LEN	256

/* Advice about an older kernel; tools/patches/linux-rxe/README.md lists its defects. */
#define HOST_RXE_MEND							\
	"boot Linux 6.1.191 (Debian: 6.1.192-1), 6.12.112 (6.12.113-1) or 7.2.8, or a later one of these series"

/* "6.1.0-56-amd64 #1 SMP PREEMPT_DYNAMIC Debian 6.1.192-1 (2026-11-07)" */
void host_kernel(char version[HOST_VERSION_LEN]);
/**
 * host_rxe_mended() - does a kernel have Linux' fixes of rdma_rxe?
 * @version: as host_kernel() has it, or /proc/version
 * @number: out, the version that was compared, "6.1.192"; "" if there is none
 *
 * Debian's kernels are 6.1.0 to uname(); the version follows the word "Debian". Return:
 * true if it has them, or if the version cannot be parsed.
 */
bool host_rxe_mended(const char *version, char *number, size_t size);

#endif
