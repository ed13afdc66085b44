/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Of frontend/mmap/range.c what frontend/verbs/cmd.c calls, for tests without ranges.
 */
#ifndef NO_RANGES_H
#define NO_RANGES_H

void vhca_ranges_fetch(struct vhca_ucontext *u, u32 owner,
		       const struct vhca_cmd *cmd)
{
}

u32 vhca_ranges_flags(const struct vhca_udata_op *row)
{
	return 0;
}

bool vhca_ranges_flush(struct vhca_ucontext *u)
{
	return false;
}

#endif
