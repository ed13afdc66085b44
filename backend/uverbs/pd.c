// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * uverbs commands of protection domains, of what lives in them without a queue
 * (memory regions, memory windows, address handles), and of XRC domains. The
 * command thread calls them, and the job threads those that take long or may wait.
 */
#include <fcntl.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "uverbs.h"

int uv_alloc_pd(int fd, const struct uv_udata *ud, uint32_t *pd)
{
	struct ib_uverbs_alloc_pd cmd = {};
	struct ib_uverbs_alloc_pd_resp resp = {};
	int err = UV_CALL(fd, ALLOC_PD, &cmd, &resp, ud);

	if (!err)
		*pd = resp.pd_handle;
	return err;
}

int uv_dealloc_pd(int fd, uint32_t pd)
{
	struct ib_uverbs_dealloc_pd cmd = { .pd_handle = pd };

	return UV_SEND(fd, DEALLOC_PD, &cmd);
}

int uv_alloc_xrcd(int fd, int inode_fd, bool create, uint32_t *xrcd)
{
	struct ib_uverbs_open_xrcd cmd = {
		.fd = (uint32_t)inode_fd,
		.oflags = create ? O_CREAT : 0,
	};
	struct ib_uverbs_open_xrcd_resp resp = {};
	int err = UV_CALL(fd, OPEN_XRCD, &cmd, &resp, NULL);

	if (!err)
		*xrcd = resp.xrcd_handle;
	return err;
}

int uv_dealloc_xrcd(int fd, uint32_t xrcd)
{
	struct ib_uverbs_close_xrcd cmd = { .xrcd_handle = xrcd };

	return UV_SEND(fd, CLOSE_XRCD, &cmd);
}

int uv_reg_mr(int fd, const struct ib_uverbs_reg_mr *mr,
	      const struct uv_udata *ud, struct ib_uverbs_reg_mr_resp *resp)
{
	return UV_CALL(fd, REG_MR, mr, resp, ud);
}

#define DMABUF_ATTR(name, octets, value) {				\
	.attr_id = UVERBS_ATTR_REG_DMABUF_MR_##name,			\
	.len = (octets), .flags = UVERBS_ATTR_F_MANDATORY,		\
	.data = (value),						\
}

int uv_reg_dmabuf_mr(int fd, uint32_t driver, int dmabuf,
		     const struct ib_uverbs_reg_mr *mr,
		     struct ib_uverbs_reg_mr_resp *resp)
{
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attr[9];
	} cmd = {
		.hdr = {
			.length = sizeof(cmd),
			.object_id = UVERBS_OBJECT_MR,
			.method_id = UVERBS_METHOD_REG_DMABUF_MR,
			.num_attrs = 9, .driver_id = driver,
		},
		.attr = {
			DMABUF_ATTR(HANDLE, 0, 0),	/* the kernel fills it in */
			DMABUF_ATTR(PD_HANDLE, 0, mr->pd_handle),
			DMABUF_ATTR(OFFSET, sizeof(uint64_t), mr->start),
			DMABUF_ATTR(LENGTH, sizeof(uint64_t), mr->length),
			DMABUF_ATTR(IOVA, sizeof(uint64_t), mr->hca_va),
			DMABUF_ATTR(FD, sizeof(uint32_t), (uint32_t)dmabuf),
			DMABUF_ATTR(ACCESS_FLAGS, sizeof(uint32_t),
				    mr->access_flags),
			DMABUF_ATTR(RESP_LKEY, sizeof(resp->lkey),
				    (uintptr_t)&resp->lkey),
			DMABUF_ATTR(RESP_RKEY, sizeof(resp->rkey),
				    (uintptr_t)&resp->rkey),
		},
	};
	int err = uv_ioctl(fd, &cmd.hdr);

	resp->mr_handle = (uint32_t)cmd.attr[0].data;
	return err;
}

int uv_rereg_mr(int fd, const struct ib_uverbs_rereg_mr *mr,
		const struct uv_udata *ud,
		struct ib_uverbs_rereg_mr_resp *resp)
{
	return UV_CALL(fd, REREG_MR, mr, resp, ud);
}

int uv_dereg_mr(int fd, uint32_t mr)
{
	struct ib_uverbs_dereg_mr cmd = { .mr_handle = mr };

	return UV_SEND(fd, DEREG_MR, &cmd);
}

int uv_alloc_mw(int fd, uint32_t pd, uint8_t type, const struct uv_udata *ud,
		struct ib_uverbs_alloc_mw_resp *resp)
{
	struct ib_uverbs_alloc_mw cmd = { .pd_handle = pd, .mw_type = type };

	return UV_CALL(fd, ALLOC_MW, &cmd, resp, ud);
}

int uv_dealloc_mw(int fd, uint32_t mw)
{
	struct ib_uverbs_dealloc_mw cmd = { .mw_handle = mw };

	return UV_SEND(fd, DEALLOC_MW, &cmd);
}

int uv_create_ah(int fd, uint32_t pd, uint64_t user_handle,
		 const struct ib_uverbs_ah_attr *attr,
		 const struct uv_udata *ud, uint32_t *ah)
{
	struct ib_uverbs_create_ah cmd = {
		.user_handle = user_handle,
		.pd_handle = pd,
		.attr = *attr,
	};
	struct ib_uverbs_create_ah_resp resp = {};
	int err = UV_CALL(fd, CREATE_AH, &cmd, &resp, ud);

	if (!err)
		*ah = resp.ah_handle;
	return err;
}

int uv_destroy_ah(int fd, uint32_t ah)
{
	struct ib_uverbs_destroy_ah cmd = { .ah_handle = ah };

	return UV_SEND(fd, DESTROY_AH, &cmd);
}
