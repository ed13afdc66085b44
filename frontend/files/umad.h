/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The guest's /dev/infiniband/umad<n>: files for management datagrams (MADs) of the
 * backend's domain.
 */
#ifndef VHCA_UMAD_H
#define VHCA_UMAD_H

#include <rdma/ib_user_mad.h>
#include <xen/io/vhcaif.h>

#include "file.h"

struct file;
struct poll_table_struct;
struct vhca_dev;

#define VHCA_MAD_HEAD	24u	/* octets that each datagram has */
#define VHCA_MAD_SIZE	256u
#define VHCA_UMAD_SLOT	(XENVHCA_UMAD_BODY + XENVHCA_UDATA_SIZE)

/*
 * An open file. Memory of the process may keep who touches it waiting for ever, so it is
 * touched under the reader lock at most, which the end of a device does not need.
 */
struct vhca_umad {
	struct vhca_file f;
	wait_queue_head_t wait;
	bool used;			/* an agent was registered */
	bool pkey_index;		/* the process knows the new header */
	bool full;			/* all of the packet is here */
	struct mutex reader;		/* full, and all below; taken before f's lock */
	u32 at, len;			/* octets of it that are here, and in all */
	u32 room;			/* octets */
	u8 *packet;
};

/* What the backend says of its first packet. */
struct vhca_umad_part {
	u32 len;			/* of it, 0: there is none */
	u16 seq;
	bool events;
	u16 nr;				/* octets that are here */
	u8 octet[VHCA_UMAD_SLOT];
};

/* ---- umad.c ---- */
/* A device was registered: it gets its file in /dev, if the backend serves it. Sleeps. */
void vhca_umad_add(struct vhca_dev *dev);
/* It goes: nobody opens it any more. Its files: vhca_files_close(). Idempotent; sleeps. */
void vhca_umad_remove(struct vhca_dev *dev);

/* ---- cmd_umad.c ---- */
/* @id: below XENVHCA_UMAD_AGENTS. */
int vhca_cmd_register_umad(struct vhca_dev *dev,
			   const struct xenvhca_register_umad_req *req, u32 *id);
int vhca_cmd_unregister_umad(struct vhca_dev *dev, u32 umad, u32 id);
/* @packet: @len octets, XENVHCA_UMAD_SEND_MAX at most. */
int vhca_cmd_send_umad(struct vhca_dev *dev, u32 umad, const void *packet,
		       u16 len);
/* The octets from @offset on: 0 and *part, or -EIO: they are not what they must be. */
int vhca_cmd_recv_umad(struct vhca_dev *dev, u32 umad, u32 offset,
		       struct vhca_umad_part *part);

/* ---- umad_file.c: as the system calls ---- */
ssize_t vhca_umad_read(struct file *filp, char __user *buf, size_t count,
		       loff_t *pos);
ssize_t vhca_umad_write(struct file *filp, const char __user *buf, size_t count,
			loff_t *pos);
long vhca_umad_ioctl(struct file *filp, unsigned int cmd, unsigned long arg);
__poll_t vhca_umad_poll(struct file *filp, struct poll_table_struct *wait);

#endif
