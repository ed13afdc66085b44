/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The HCA's private part of a command ("udata") on its way between a guest
 * process and a slot of the command ring.
 */
#ifndef VHCA_UDATA_H
#define VHCA_UDATA_H

#include "vhca.h"

/*
 * Queue memory of the process that the udata of one object names. @db is a page that it
 * may share with other objects of its context, @record the place of its record there.
 */
struct vhca_bufs {
	struct vhca_mem *buf, *sq_buf, *db;
	u32 record;
};

/*
 * udata of a command of the kernel itself, on a device that no process uses: both halves
 * are its memory. Its fields for addresses have numbers, and the queue memory that they
 * would name is made by vhca_bufs_get(), in mem->va.
 */
static inline struct ib_udata vhca_own_udata(const void *in, size_t in_len, void *out,
					     size_t out_len)
{
	return (struct ib_udata) {
		.inbuf = (__force const void __user *)in, .inlen = in_len,
		.outbuf = (__force void __user *)out, .outlen = out_len,
	};
}

/*
 * Checks a process's udata and copies it into the request of @cmd, whose op and row are
 * set. @outptr: the answer has octets for the user addresses (VHCA_OUTPTR), too. Return: 0,
 * -EINVAL if the provider's table has no such lengths, -EFAULT.
 */
int vhca_udata_load(struct vhca_dev *dev, struct vhca_cmd *cmd,
		    struct ib_udata *udata, bool outptr);
/*
 * Copies the udata of a good answer to the process; @cmd has a row. Return: 0, -EFAULT,
 * -EIO if the answer is shorter than the row says.
 */
int vhca_udata_store(struct vhca_dev *dev, const struct vhca_cmd *cmd,
		     struct ib_udata *udata, bool outptr);

/*
 * Grants the queue memory that the request names, after vhca_udata_load(). Return: 0 with
 * every entry of @bufs set or NULL, for vhca_bufs_put(); errors of vhca_mem_get().
 */
int vhca_bufs_get(struct vhca_ucontext *uc, const struct vhca_cmd *cmd,
		  struct vhca_bufs *bufs);
/* Release all; or, if @unknown, hold them until the ucontext is gone. */
void vhca_bufs_put(struct vhca_ucontext *uc, struct vhca_bufs *bufs,
		   bool unknown);
/* The ucontext is gone, and with it all objects. */
void vhca_dbpages_free(struct vhca_ucontext *uc);

#endif
