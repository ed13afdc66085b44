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
#include "vhca-slot.h"

struct file;
struct poll_table_struct;
struct vhca_dev;

#define VHCA_MAD_HEAD	24u	/* octets that each datagram has */
#define VHCA_MAD_SIZE	256u
#define VHCA_UMAD_SLOT	(XENVHCA_UMAD_BODY + XENVHCA_UDATA_SIZE)

/*
 * An open file. An access to memory of the process may wait for ever, so it is made
 * without locks but reader, which the end of a device does not need.
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

/* ---- umad.c ---- */
/* A device was registered: it gets its file in /dev, if the backend serves it. Sleeps. */
void vhca_umad_add(struct vhca_dev *dev);
/* No process opens the device any more. Then vhca_files_close(). Idempotent; sleeps. */
void vhca_umad_remove(struct vhca_dev *dev);

/* ---- cmd_umad.c; 0 or -errno ---- */
/* *id: below XENVHCA_UMAD_AGENTS. */
int vhca_cmd_register_umad(struct vhca_umad *umad,
			   const struct ib_user_mad_reg_req2 *r, u32 *id);
int vhca_cmd_unregister_umad(struct vhca_umad *umad, u32 id);
/* @packet: @len octets, XENVHCA_UMAD_SEND_MAX at most. */
int vhca_cmd_send_umad(struct vhca_umad *umad, const u8 *packet, u16 len);
/* The next part, into umad->packet. -EAGAIN: there is no packet. Under umad->reader. */
int vhca_cmd_recv_umad(struct vhca_umad *umad);
/* Frees the packet: it was read, or cannot be fetched. */
void vhca_umad_drop(struct vhca_umad *umad);

/* ---- umad_file.c: as the system calls ---- */
ssize_t vhca_umad_read(struct file *filp, char __user *buf, size_t count,
		       loff_t *pos);
ssize_t vhca_umad_write(struct file *filp, const char __user *buf, size_t count,
			loff_t *pos);
long vhca_umad_ioctl(struct file *filp, unsigned int cmd, unsigned long arg);
__poll_t vhca_umad_poll(struct file *filp, struct poll_table_struct *wait);

#endif
