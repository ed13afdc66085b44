/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Whether the kernel of this domain is new enough for Soft-RoCE to be served.
 */
#ifndef HOST_KERNEL_H
#define HOST_KERNEL_H

#include <stdbool.h>
#include <stddef.h>

#define HOST_VERSION_LEN	256

/* What to do about an older one. backend/rdma_rxe/README.md says what it lacks. */
#define HOST_RXE_MEND							\
	"boot Linux 6.1.191 (Debian: 6.1.192-1), 6.12.112 (6.12.113-1) or 7.2.8, or a later one of these series"

/* "6.1.0-56-amd64 #1 SMP PREEMPT_DYNAMIC Debian 6.1.192-1 (2026-11-07)" */
void host_kernel(char version[HOST_VERSION_LEN]);
/**
 * host_rxe_mended() - has rdma_rxe of a kernel what Linux mended of it?
 * @version: as host_kernel() has it, or /proc/version
 * @number: out, the number that decides, "6.1.192"; "" if there is none
 *
 * Debian has the number behind its name, as its kernels are 6.1.0 to uname(). Return:
 * true if it has, or if the version cannot be read.
 */
bool host_rxe_mended(const char *version, char *number, size_t size);

#endif
