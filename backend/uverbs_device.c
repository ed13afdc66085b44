// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * uverbs commands of a context and its device. Command thread.
 */
#include <string.h>

#include "uverbs.h"

int uv_get_context(int fd, const struct uv_udata *ud, int *async_fd,
		   uint32_t *num_comp_vectors)
{
	struct ib_uverbs_get_context cmd = {};
	struct ib_uverbs_get_context_resp resp = {};
	int err = uv_write(fd, IB_USER_VERBS_CMD_GET_CONTEXT, &cmd,
			   sizeof(cmd), &resp, sizeof(resp), ud);

	if (err)
		return err;
	*async_fd = (int)resp.async_fd;
	*num_comp_vectors = resp.num_comp_vectors;
	return 0;
}

int uv_create_comp_channel(int fd, int *comp_fd)
{
	struct ib_uverbs_create_comp_channel cmd = {};
	struct ib_uverbs_create_comp_channel_resp resp = {};
	int err = uv_write(fd, IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, &cmd,
			   sizeof(cmd), &resp, sizeof(resp), NULL);

	if (!err)
		*comp_fd = (int)resp.fd;
	return err;
}

int uv_query_device(int fd, const struct uv_udata *ud,
		    struct ib_uverbs_ex_query_device_resp *resp)
{
	struct ib_uverbs_ex_query_device cmd = {};

	_Static_assert(sizeof(*resp) % 8 == 0, "extended ABI counts 8 octets");
	return uv_write_ex(fd, IB_USER_VERBS_EX_CMD_QUERY_DEVICE, &cmd,
			   sizeof(cmd), resp, sizeof(*resp), ud);
}

int uv_query_port(int fd, uint8_t port, struct ib_uverbs_query_port_resp *resp)
{
	struct ib_uverbs_query_port cmd = { .port_num = port };

	return uv_write(fd, IB_USER_VERBS_CMD_QUERY_PORT, &cmd, sizeof(cmd),
			resp, sizeof(*resp), NULL);
}
