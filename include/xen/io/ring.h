/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What vhcaif.h finds beside it in Xen's public headers, and in Linux' copy of them. Not
 * installed: there it is Xen's.
 */
#ifdef __KERNEL__
#include <xen/interface/io/ring.h>
#else
#include <stdint.h>
#include_next <xen/io/ring.h>
#endif
