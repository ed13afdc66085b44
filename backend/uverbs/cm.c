// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Files of the kernel's connection manager, and the framing of their commands
 * (<rdma/rdma_user_cm.h>). The thread of the connection manager calls this. The
 * kernel is trusted; lengths are bounded once more.
 */
#include <errno.h>
#include <rdma/rdma_user_cm.h>
#include <string.h>

#include "cm.h"
#include "core/sys.h"

static void set_address(uint8_t *in, uint16_t at, const void *p)
{
	uint64_t address = (uintptr_t)p;

	if (at != VHCA_CM_NONE)
		memcpy(in + at, &address, sizeof(address));
}

int uv_cm_command(int fd, struct uv_cm *c)
{
	struct rdma_ucm_cmd_hdr hdr = {
		.cmd = c->cmd, .in = c->op->in, .out = c->out_len,
	};
	uint8_t frame[sizeof(hdr) + VHCA_CM_MAX_IN], *in = frame + sizeof(hdr);
	ssize_t r;

	if (c->op->in > c->in_len || c->in_len > VHCA_CM_MAX_IN ||
	    c->out_len > VHCA_CM_MAX_OUT)
		return -EINVAL;
	memcpy(frame, &hdr, sizeof(hdr));
	memcpy(in, c->in, c->op->in);
	memset(c->out, 0, sizeof(c->out));
	set_address(in, c->op->at_response, c->out);
	if (c->cmd == RDMA_USER_CM_CMD_SET_OPTION)
		set_address(in, offsetof(struct rdma_ucm_set_option, optval),
			    c->in + c->op->in);
	r = be_sys_write(fd, frame, sizeof(hdr) + c->op->in);
	if (r < 0)
		return -errno;
	return (size_t)r == sizeof(hdr) + c->op->in ? 0 : -EIO;
}
