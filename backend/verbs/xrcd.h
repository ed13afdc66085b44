/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * XRC domains, and what else lives in the device and in no context.
 */
#ifndef BE_XRCD_H
#define BE_XRCD_H

#include "core/be.h"
#include "cmd.h"
#include "jobs.h"

/* XRC domain; in dev->ctl. */
struct be_xrcd {
	struct be_obj o;
	int inode_fd;			/* names it to other verbs files */
	uint32_t users;			/* SRQs and target QPs */
	struct be_line line;		/* changes of those that may wait */
	bool dying;			/* ends with its last user */
};

/* dev->ctl on the files of the device's own context. 0 or -ENOMEM. */
int be_ctl_open(struct be_dev *dev);
/* Destroy what is in it. The files are the caller's. NULL is fine. */
void be_ctl_close(struct be_dev *dev);
/* XRC domain that an SRQ or QP may be made in, or NULL with *err = -ENOENT. */
struct be_xrcd *be_xrcd_get(const struct be_cmd *c, uint32_t handle, int *err);
/* One user less: the last of a dying one ends it. NULL is fine. */
void be_xrcd_put(struct be_dev *dev, struct be_xrcd *xrcd);

#endif
