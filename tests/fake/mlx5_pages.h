/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Where mlx5 lays its pages in a verbs file: offsets of mmap() by command and index.
 */
#ifndef MLX5_PAGES_H
#define MLX5_PAGES_H

#include <xen/io/vhcaif.h>

#define PAGE(cmd, i)	(((uint64_t)(cmd) << 8 | (i)) * XENVHCA_PAGE_SIZE)
#define REGULAR(i)	PAGE(0, i)
#define COMBINING(i)	PAGE(2, i)
#define UNCACHED(i)	PAGE(3, i)
#define CLOCK		PAGE(5, 0)
#define ALLOCATED(i)	PAGE(6, i)
#define CLOCK_INFO	PAGE(7, 0)
#define DEVICE_MEM	PAGE(8, 0)
#define GFN		0x100000ull

#endif
