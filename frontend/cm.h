/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The guest's /dev/infiniband/rdma_cm: files of the connection manager of the
 * backend's domain.
 */
#ifndef VHCA_CM_FILE_H
#define VHCA_CM_FILE_H

#include <linux/xarray.h>
#include <rdma/rdma_user_cm.h>
#include <xen/io/vhcaif.h>

#include "file.h"
#include "vhca-cm.h"

struct file;
struct vhca_dev;

/* An open file. */
struct vhca_cm {
	struct vhca_file f;		/* its lock: uids as well */
	struct xarray uids;		/* private to cm_uid.c */
};

/* A command of a process, whole: its struct, then the option that it sets. */
struct vhca_cm_call {
	u32 cmd;
	const struct vhca_cm_op *op;
	u16 in_len, out_len;		/* out_len: room, then octets */
	u32 from;			/* MIGRATE_ID: handle */
	u16 seq;
	bool events;
	u8 in[VHCA_CM_MAX_IN] __aligned(8);
	u8 out[VHCA_CM_MAX_OUT] __aligned(8);
};

/* ---- cm.c ---- */
extern const struct file_operations vhca_cm_fops;
/* A device was registered: processes may connect with it. Sleeps. */
void vhca_cm_add(struct vhca_dev *dev);
/* It goes: nobody opens it any more. Its files: vhca_files_close(). Idempotent; sleeps. */
void vhca_cm_remove(struct vhca_dev *dev);

/* ---- cm_write.c ---- */
ssize_t vhca_cm_write(struct file *filp, const char __user *buf, size_t len,
		      loff_t *pos);

/* ---- cm_uid.c ---- */
/*
 * What a process gives an id as uid comes back to it in events, where librdmacm takes
 * it for an address. So the backend gets a number in its place. All under
 * cm->f.lock.
 *
 * vhca_cm_uid_new() - *cookie stands for @uid from now on; 0 for 0
 * vhca_cm_uid_of() - which id, or group joined by @owner, that is: once, when the
 *	backend has made or accepted it; one that it had before ends
 */
int vhca_cm_uid_new(struct vhca_cm *cm, u64 uid, u32 *cookie);
void vhca_cm_uid_of(struct vhca_cm *cm, u32 cookie, u32 id, bool group,
		    u32 owner);
void vhca_cm_uid_drop(struct vhca_cm *cm, u32 cookie);
/* An id goes, with the groups that it has joined; or only a group. */
void vhca_cm_uid_end(struct vhca_cm *cm, u32 id, bool group);
/* What is of an id goes to another file. On -ENOMEM, -EBUSY perhaps not all. */
int vhca_cm_uid_move(struct vhca_cm *from, struct vhca_cm *to, u32 id);
/* False: there is none; 0 stands for 0. */
bool vhca_cm_uid_get(struct vhca_cm *cm, u64 cookie, u64 *uid);
void vhca_cm_uid_init(struct vhca_cm *cm);
void vhca_cm_uid_exit(struct vhca_cm *cm);

#endif
