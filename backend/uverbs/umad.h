/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The kernel's files for management datagrams (<rdma/ib_user_mad.h>). Packets are
 * those of the new form, with a P_Key index, as an agent of REGISTER_AGENT2 has them.
 */
#ifndef UV_UMAD_H
#define UV_UMAD_H

#include <rdma/ib_user_mad.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Each returns 0 or -errno; the kernel sets req->id. */
int uv_register_umad(int fd, struct ib_user_mad_reg_req2 *req);
int uv_unregister_umad(int fd, uint32_t id);
int uv_send_umad(int fd, const void *packet, size_t len);
/*
 * Octets of the next packet, or -errno. -ENOSPC: it is longer, as its header says,
 * and stays.
 */
ssize_t uv_recv_umad(int fd, void *packet, size_t room);

#endif
