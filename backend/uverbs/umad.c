// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * System calls on the kernel's files for management datagrams. The command thread and
 * the event thread call this. The kernel is trusted.
 */
#include <errno.h>

#include "core/sys.h"
#include "umad.h"

int uv_register_umad(int fd, struct ib_user_mad_reg_req2 *req)
{
	return be_sys_ioctl(fd, IB_USER_MAD_REGISTER_AGENT2, req) < 0 ?
	       -errno : 0;
}

int uv_unregister_umad(int fd, uint32_t id)
{
	return be_sys_ioctl(fd, IB_USER_MAD_UNREGISTER_AGENT, &id) < 0 ?
	       -errno : 0;
}

int uv_send_umad(int fd, const void *packet, size_t len)
{
	ssize_t r = be_sys_write(fd, packet, len);

	if (r < 0)
		return -errno;
	return (size_t)r == len ? 0 : -EIO;
}

ssize_t uv_recv_umad(int fd, void *packet, size_t room)
{
	ssize_t r = be_sys_read(fd, packet, room);

	return r < 0 ? -errno : r;
}
