/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Commands for what a process maps; the values returned are those of cmd.h.
 */
#ifndef VHCA_CMD_MMAP_H
#define VHCA_CMD_MMAP_H

#include <xen/io/vhcaif.h>

struct vhca_dev;
struct vhca_ucontext;

/* @flags: of vhca_ring_submit() */
int vhca_cmd_mmap(struct vhca_ucontext *uc, const struct xenvhca_mmap_req *req,
		  unsigned int flags, struct xenvhca_mmap_rsp *rsp);
/* @nr: XENVHCA_MUNMAP_RANGES at most; 1 unless GET_INFO allows more. */
int vhca_cmd_munmap(struct vhca_dev *dev, u32 ucontext, const u64 *offset,
		    unsigned int nr);

#endif
