// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
#include <errno.h>
#include <fcntl.h>
#include <rdma/ib_user_verbs.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "raw.h"

int raw_open(const char *dev_name)
{
	char path[128];

	snprintf(path, sizeof(path), "/dev/infiniband/%s", dev_name);
	return open(path, O_RDWR | O_CLOEXEC);
}

int raw_cmd(struct raw *r, uint32_t cmd, void *body, size_t len, size_t core,
	    size_t udata)
{
	struct ib_uverbs_cmd_hdr h = {
		.command = cmd,
		.in_words = (sizeof(h) + len) / 4,
		.out_words = (core + udata) / 4,
	};
	uint64_t resp = (uintptr_t)r->out;
	uint8_t buf[512];
	ssize_t n;

	memset(r->out, 0, sizeof(r->out));
	if (core)
		memcpy(body, &resp, sizeof(resp));
	memcpy(buf, &h, sizeof(h));
	memcpy(buf + sizeof(h), body, len);
	n = write(r->fd, buf, sizeof(h) + len);
	return n == (ssize_t)(sizeof(h) + len) ? 0 : n < 0 ? errno : EIO;
}

uint32_t raw_out(const struct raw *r, size_t i)
{
	uint32_t v;

	memcpy(&v, (const uint8_t *)r->out + 4 * i, 4);
	return v;
}

int raw_pd(struct raw *r)
{
	struct ib_uverbs_alloc_pd c = {};
	int err = raw_cmd(r, IB_USER_VERBS_CMD_ALLOC_PD, &c, sizeof(c),
			  sizeof(struct ib_uverbs_alloc_pd_resp), RAW_UDATA);

	r->pd = raw_out(r, 0);
	return err;
}

int raw_handle(struct raw *r, uint32_t cmd, uint32_t handle)
{
	uint32_t c[4] = { handle };

	if (cmd == IB_USER_VERBS_CMD_DESTROY_CQ ||
	    cmd == IB_USER_VERBS_CMD_DESTROY_QP) {
		c[0] = 0;
		c[2] = handle;
		return raw_cmd(r, cmd, c, 16, 8, 0);
	}
	return raw_cmd(r, cmd, c, 4, 0, 0);
}
