/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The size of this domain's grant table. Linux reports the number of frames of the
 * table; the size of an entry follows from the version, which Linux chooses when it boots
 * (gnttab_request_version() in drivers/xen/grant-table.c).
 */
#ifndef VHCA_GRANTS_H
#define VHCA_GRANTS_H

#include <xen/grant_table.h>
#include <xen/page.h>
#include <asm/xen/hypercall.h>

/* Entries in a frame of the table: 512 of version 1, 256 of version 2. A hypercall. */
static inline unsigned int vhca_grants_of_frame(void)
{
	struct gnttab_get_version version = { .dom = DOMID_SELF };

	if (!HYPERVISOR_grant_table_op(GNTTABOP_get_version, &version, 1) &&
	    version.version == 2)
		return XEN_PAGE_SIZE / sizeof(union grant_entry_v2);
	return XEN_PAGE_SIZE / sizeof(struct grant_entry_v1);
}

#endif
