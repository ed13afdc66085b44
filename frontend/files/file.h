/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * An open file of a backend's domain, for one of a guest's process: of the connection
 * manager (cm.h), or for management datagrams (umad.h).
 */
#ifndef VHCA_FILE_H
#define VHCA_FILE_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>

struct vhca_cmd;
struct vhca_dev;
struct vhca_file;

/* The differences between the two kinds. */
struct vhca_file_ops {
	const char *what;
	u8 event;			/* XENVHCA_EVT_* */
	u16 alloc, dealloc;		/* XENVHCA_OP_* */
	void (*gone)(struct vhca_file *file);	/* its device; or NULL */
	void (*free)(struct vhca_file *file);
};

struct vhca_file {
	const struct vhca_file_ops *ops;
	struct kref ref;		/* private to file.c */
	struct list_head list;		/* of dev, likewise */
	struct mutex lock;		/* dev; held during a command */
	struct vhca_dev *dev;		/* NULL: it is gone */
	u32 handle;
	wait_queue_head_t *wait;	/* of the process' file */
	spinlock_t state_lock;		/* below; upcalls take it */
	bool gone;
	bool events;			/* the backend has some */
	bool lost;			/* a statement since the last command */
	u16 seq;			/* of the statement that said so */
};

void vhca_file_init(struct vhca_file *file, const struct vhca_file_ops *ops,
		    wait_queue_head_t *wait);
/* The file belongs to @dev, which the caller keeps from going meanwhile. */
void vhca_file_join(struct vhca_file *file, struct vhca_dev *dev);
/*
 * The connection of its device ends, and the file at the backend: the first command of the
 * next connection opens another one there. Nobody uses it meanwhile. Sleeps.
 */
void vhca_file_away(struct vhca_file *file);
/* Closes the file, also at the backend. Sleeps. */
void vhca_file_release(struct vhca_file *file);
/* Closes all files of the device; no file joins it any more. Sleeps. */
void vhca_files_close(struct vhca_dev *dev);
/*
 * The device is there, and the backend has the file, until the caller unlocks file->lock.
 * Return: 0, -EINTR, -EIO: the device is gone, or the error of the allocation.
 */
int vhca_file_lock(struct vhca_file *file);
/*
 * A command of the file, whose handle the request's body begins with. As
 * vhca_ring_submit(), or the error of vhca_file_lock(); the caller frees *cmd, which is
 * NULL if the ring holds the command until the late answer. @answer: checks an answer
 * that says whether there are events, then tells vhca_file_notify(), 0 or -errno; NULL:
 * it does not say so.
 */
int vhca_file_command(struct vhca_file *file, struct vhca_cmd **cmd,
		      unsigned int flags,
		      int (*answer)(struct vhca_file *file,
				    const struct vhca_cmd *cmd));
/* A statement about events. True: there were none before. Any context. */
bool vhca_file_notify(struct vhca_file *file, u16 seq, bool events);
/* A statement may have been lost: the process has to ask. Upcall, evt_lock. */
void vhca_file_overflow(struct vhca_file *file);

#endif
