// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * uverbs commands of a context and its device. The command thread calls them.
 */
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "uverbs.h"

int uv_alloc_ucontext(int fd, const struct uv_udata *ud, int *async_fd,
		      uint32_t *num_comp_vectors)
{
	struct ib_uverbs_get_context cmd = {};
	struct ib_uverbs_get_context_resp resp = {};
	int err = UV_CALL(fd, GET_CONTEXT, &cmd, &resp, ud);

	if (err)
		return err;
	*async_fd = (int)resp.async_fd;
	*num_comp_vectors = resp.num_comp_vectors;
	return 0;
}

int uv_open_ucontext(const char *path, const struct uv_udata *ud, int *fd,
		     int *async_fd)
{
	uint32_t vectors;

	*fd = uv_open(path);
	if (*fd < 0)
		return *fd;
	return uv_alloc_ucontext(*fd, ud, async_fd, &vectors);
}

int uv_create_comp_channel(int fd, int *comp_fd)
{
	struct ib_uverbs_create_comp_channel cmd = {};
	struct ib_uverbs_create_comp_channel_resp resp = {};
	int err = UV_CALL(fd, CREATE_COMP_CHANNEL, &cmd, &resp, NULL);

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

	return UV_CALL(fd, QUERY_PORT, &cmd, resp, NULL);
}

#define GID_ATTR(name, octets, value) {					\
	.attr_id = UVERBS_ATTR_QUERY_GID_##name,			\
	.len = (octets), .flags = UVERBS_ATTR_F_MANDATORY,		\
	.data = (value),						\
}

int uv_query_gid_table(int fd, uint32_t driver, struct ib_uverbs_gid_entry *gid,
		       uint64_t *n)
{
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attr[3];
	} cmd = {
		.hdr = {
			.length = sizeof(cmd),
			.object_id = UVERBS_OBJECT_DEVICE,
			.method_id = UVERBS_METHOD_QUERY_GID_TABLE,
			.num_attrs = 3,
			.driver_id = driver,
		},
		.attr = {
			GID_ATTR(TABLE_ENTRY_SIZE, sizeof(uint64_t), sizeof(*gid)),
			GID_ATTR(TABLE_RESP_ENTRIES, UV_GIDS * sizeof(*gid),
				 (uintptr_t)gid),
			GID_ATTR(TABLE_RESP_NUM_ENTRIES, sizeof(*n),
				 (uintptr_t)n),
		},
	};

	return uv_ioctl(fd, &cmd.hdr);
}

int uv_query_gid_entry(int fd, uint32_t driver, uint8_t port, uint32_t index,
		       struct ib_uverbs_gid_entry *gid)
{
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attr[4];
	} cmd = {
		.hdr = {
			.length = sizeof(cmd),
			.object_id = UVERBS_OBJECT_DEVICE,
			.method_id = UVERBS_METHOD_QUERY_GID_ENTRY,
			.num_attrs = 4, .driver_id = driver,
		},
		.attr = {
			GID_ATTR(ENTRY_PORT, sizeof(uint64_t), port),
			GID_ATTR(ENTRY_GID_INDEX, sizeof(uint64_t), index),
			GID_ATTR(ENTRY_FLAGS, sizeof(uint64_t), 0),
			GID_ATTR(ENTRY_RESP_ENTRY, sizeof(*gid),
				 (uintptr_t)gid),
		},
	};

	return uv_ioctl(fd, &cmd.hdr);
}
