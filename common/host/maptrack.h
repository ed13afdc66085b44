/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The amount of guest memory that a domain can map. Xen has an entry in the domain's
 * maptrack table for each page mapped, however often the same grant is mapped,
 * and the kernel of a PV domain maps each page a second time. All backends of
 * the domain share the table. Xen does not report its length.
 */
#ifndef HOST_MAPTRACK_H
#define HOST_MAPTRACK_H

#include <stdbool.h>
#include <stdint.h>
#include <xen/io/vhcaif.h>

#define HOST_MAPTRACK_FRAMES	1024u	/* Xen's default */
#define HOST_MAPTRACK_MAX		(1u << 24)
#define HOST_MAPTRACK_PER_FRAME	256u	/* entries of 16 octets */
#define HOST_PAGES_PER_MB	(1024u * 1024u / XENVHCA_PAGE_SIZE)

/* Entries for n MiB. */
static inline uint64_t host_maptrack_entries(uint64_t mb, bool pv)
{
	return mb * HOST_PAGES_PER_MB * (pv ? 2 : 1);
}

/* MiB that all vhca devices together may map; a quarter is for other backends. */
static inline uint64_t host_maptrack_mb(uint32_t frames, bool pv)
{
	uint64_t entries = (uint64_t)frames * HOST_MAPTRACK_PER_FRAME;

	return (entries - entries / 4) / host_maptrack_entries(1, pv);
}

/* Frames that suffice for so many MiB. */
static inline uint64_t host_maptrack_need(uint64_t mb, bool pv)
{
	uint64_t entries = host_maptrack_entries(mb, pv);

	return (entries + entries / 3) / HOST_MAPTRACK_PER_FRAME + 1;
}

#endif
