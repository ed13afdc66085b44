/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The guest's /dev/infiniband/rdma_cm: files of the connection managers of the
 * backends' domains. A file of a process has a file at each backend (a part), opened
 * there at the first command. An id of a process has an id at one backend (an end),
 * when an address has decided at which; at the wildcard it has one at each.
 */
#ifndef VHCA_CM_FILE_H
#define VHCA_CM_FILE_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/rdma_user_cm.h>
#include <xen/io/vhcaif.h>

#include "file.h"
#include "vhca.h"
#include "vhca-cm.h"

struct file;
struct net;

#define VHCA_CM_OPTIONS	4u		/* RDMA_OPTION_ID_* */

/* A command, whole: its struct, then the option that it sets. */
struct vhca_cm_call {
	u32 cmd;
	const struct vhca_cm_op *op;
	u16 in_len, room;		/* room: of the process for the answer */
	u16 out_len;
	u32 from;			/* MIGRATE_ID: handle */
	u8 in[VHCA_CM_MAX_IN] __aligned(8);
	u8 out[VHCA_CM_MAX_OUT] __aligned(8);
};

/* An open file. */
struct vhca_cm {
	struct kref ref;		/* of its parts, too */
	struct list_head all;		/* private to cm_part.c */
	struct net *net;
	struct work_struct work;	/* devices come and go */
	wait_queue_head_t wait;
	struct mutex lock;		/* below; taken before that of a part */
	struct list_head ids;
	struct vhca_cm_call call;	/* of our own */
	int last;			/* device of the last event */
	unsigned int removals;		/* ids of which the process is to be told */
	spinlock_t state_lock;		/* below; parts change under both */
	struct list_head parts;		/* by number of the device */
	bool closing;
};

/* The part of a file at one device. */
struct vhca_cm_part {
	struct vhca_file f;
	struct vhca_cm *cm;
	struct list_head list;
	int number;
	u32 index;			/* of the RDMA device in this guest */
	struct vhca_nets nets;
};

struct vhca_cm_end {
	struct list_head list;
	struct vhca_cm_part *part;
	u32 id;				/* there */
};

/* An id of a process, or a multicast group that one has joined. */
struct vhca_cm_id {
	struct vhca_cm *cm;
	struct list_head list, ends;
	u32 id;				/* stands for uid at the backends, too */
	u64 uid;
	u32 events;			/* that the process has got */
	struct vhca_cm_id *of;		/* group: the id that joined; else NULL */
	bool placed;			/* its device is known */
	bool removed;			/* and gone; the process is to be */
	bool notify;			/*   told of it */
	bool any, listens;		/* at the wildcard: */
	u16 family;
	__be16 port;
	u32 backlog;
	struct rdma_ucm_create_id create;
	u8 opt_len[VHCA_CM_OPTIONS];
	u8 opt[VHCA_CM_OPTIONS][4];
};

/* ---- cm.c ---- */
extern const struct file_operations vhca_cm_fops;
/* A device was registered: processes may connect with it. Sleeps. */
void vhca_cm_add(struct vhca_dev *dev);
/* No process opens the device any more. Then vhca_files_close(). Idempotent; sleeps. */
void vhca_cm_remove(struct vhca_dev *dev);
bool vhca_cm_ready(struct vhca_cm *cm);

/* ---- cm_part.c ---- */
/* A file is opened: it hears of devices, by its work, until it is closed. */
void vhca_cm_opened(struct vhca_cm *cm);
void vhca_cm_closed(struct vhca_cm *cm);
/* Gives a reference of the file back. */
void vhca_cm_put(struct vhca_cm *cm);
/* Under cm->lock: the file has a part at each device. */
void vhca_cm_join(struct vhca_cm *cm);
/* Under cm->lock, or closed: nothing of the file is left at that device. */
void vhca_cm_part_end(struct vhca_cm_part *part);
/* Files may have parts at a device, or no new ones. False: it was not added. */
void vhca_cm_dev_add(struct vhca_dev *dev);
bool vhca_cm_dev_remove(struct vhca_dev *dev);
/* A command of a file: 0 with c->out and c->out_len, or -errno; -EIO: a bad answer. */
int vhca_cmd_cm_command(struct vhca_file *file, struct vhca_cm_call *c);

/* ---- cm_write.c ---- */
ssize_t vhca_cm_write(struct file *filp, const char __user *buf, size_t len,
		      loff_t *pos);

/* ---- cm_event.c ---- */
/* One event: 0; -EAGAIN: there is none; VHCA_CM_STALE: it is not of this process. */
#define VHCA_CM_STALE	1
int vhca_cm_fetch(struct vhca_cm *cm, struct vhca_cm_call *c);

/* ---- cm_id.c; all under cm->lock ---- */
/* NULL: no memory. @of: of a group. */
struct vhca_cm_id *vhca_cm_id_new(struct vhca_cm *cm, u64 uid,
				  struct vhca_cm_id *of);
/* With its groups; the backends are not told. */
void vhca_cm_id_free(struct vhca_cm_id *id);
/* *rc: -ENOENT, or -EINVAL: it is in another file. */
struct vhca_cm_id *vhca_cm_id_get(struct vhca_cm *cm, u32 id, bool group,
				  int *rc);
/* The id or group of this file that the cookie stands for, or NULL. */
struct vhca_cm_id *vhca_cm_id_of(struct vhca_cm *cm, u64 cookie);
/* To another file, with its groups: under the locks of both. */
void vhca_cm_id_move(struct vhca_cm_id *id, struct vhca_cm *to);
struct vhca_cm_end *vhca_cm_end_new(struct vhca_cm_id *id,
				    struct vhca_cm_part *part, u32 there);
struct vhca_cm_end *vhca_cm_end_of(const struct vhca_cm_id *id,
				   const struct vhca_cm_part *part);
void vhca_cm_end_free(struct vhca_cm_end *end);
/* A device is gone: frees the ends at it. */
void vhca_cm_ids_removed(struct vhca_cm_part *part);

/* ---- cm_place.c; all under cm->lock ---- */
/* A command to an end: 0 or -errno. */
int vhca_cm_send_to(struct vhca_cm_end *end, struct vhca_cm_call *c);
/* A command to the first end. */
int vhca_cm_at_first(struct vhca_cm_id *id, struct vhca_cm_call *c);
/* It ends at the backend. */
void vhca_cm_end_drop(struct vhca_cm_id *id, struct vhca_cm_end *end);
/* Where commands go that are for one end: the first one, or ERR_PTR(). */
struct vhca_cm_end *vhca_cm_somewhere(struct vhca_cm_id *id);
int vhca_cm_bind(struct vhca_cm_id *id, struct vhca_cm_call *c);
int vhca_cm_resolve(struct vhca_cm_id *id, struct vhca_cm_call *c);
int vhca_cm_listen(struct vhca_cm_id *id, struct vhca_cm_call *c);
int vhca_cm_option(struct vhca_cm_id *id, struct vhca_cm_call *c);
/* Binds ids at the wildcard to devices that came later. */
void vhca_cm_extend(struct vhca_cm *cm);

#endif
