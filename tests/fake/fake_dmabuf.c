// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Memory regions of dma-bufs, as mlx5_ib has them: the region holds the dma-buf by
 * a descriptor of its own. Here a dma-buf is whatever can be open.
 */
#include <errno.h>
#include <fcntl.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <unistd.h>

#include "fake_priv.h"

#define ATTRS	9
#define RIGHTS	(0xfu | IB_UVERBS_ACCESS_RELAXED_ORDERING)

static const uint16_t length[ATTRS] = {
	[UVERBS_ATTR_REG_DMABUF_MR_OFFSET] = 8,
	[UVERBS_ATTR_REG_DMABUF_MR_LENGTH] = 8,
	[UVERBS_ATTR_REG_DMABUF_MR_IOVA] = 8,
	[UVERBS_ATTR_REG_DMABUF_MR_FD] = 4,
	[UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS] = 4,
	[UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY] = 4,
	[UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY] = 4,
};

void fake_dmabuf_drop(struct fake_obj *o)
{
	if (o->dmabuf)
		close(o->dmabuf);
	o->dmabuf = 0;
}

static int check(const uint64_t at[ATTRS])
{
	uint64_t access = at[UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS];
	uint64_t len = at[UVERBS_ATTR_REG_DMABUF_MR_LENGTH];

	if (!fake_is_mlx5() || fake_hca.no_dmabuf)
		return -EOPNOTSUPP;
	if ((at[UVERBS_ATTR_REG_DMABUF_MR_OFFSET] ^
	     at[UVERBS_ATTR_REG_DMABUF_MR_IOVA]) & 4095)
		return -EINVAL;
	if (access & ~RIGHTS || (access & 0xa && !(access & 1)))
		return -EINVAL;
	return fake_hca.umr_reach && len >= fake_hca.umr_reach ? -EINVAL : 0;
}

static int reg(struct fake_file *f, const uint64_t at[ATTRS], uint32_t *handle)
{
	const struct call c = { .f = f };
	struct fake_obj *o, *pd =
		fake_obj_find(&c, FAKE_PD,
			      (uint32_t)at[UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE]);
	int fd, err = pd ? check(at) : -ENOENT;

	if (err)
		return err;
	fd = fcntl((int)at[UVERBS_ATTR_REG_DMABUF_MR_FD], F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return -EBADF;
	if (fake_hca.no_odp) {
		close(fd);
		return -EOPNOTSUPP;
	}
	o = fake_obj_new(&c, FAKE_MR);
	if (!o) {
		close(fd);
		return -ENOMEM;
	}
	fake_obj_uses(o, 0, pd);
	o->dmabuf = fd;
	o->start = at[UVERBS_ATTR_REG_DMABUF_MR_OFFSET];
	o->length = at[UVERBS_ATTR_REG_DMABUF_MR_LENGTH];
	o->iova = at[UVERBS_ATTR_REG_DMABUF_MR_IOVA];
	o->access = (uint32_t)at[UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS];
	*handle = o->handle;
	*(uint32_t *)(uintptr_t)at[UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY] =
		o->num << 8;
	*(uint32_t *)(uintptr_t)at[UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY] =
		o->num << 8;
	return 0;
}

int fake_dmabuf_reg(struct fake_file *f, struct ib_uverbs_ioctl_hdr *h)
{
	struct ib_uverbs_attr *a = h->attrs;
	uint64_t at[ATTRS] = { 0 };
	uint32_t handle = 0;
	unsigned int i;
	int err;

	if (h->method_id != UVERBS_METHOD_REG_DMABUF_MR ||
	    h->num_attrs != ATTRS)
		return -EPROTONOSUPPORT;
	for (i = 0; i < ATTRS; i++) {
		if (a[i].attr_id != i || a[i].len != length[i] ||
		    a[i].flags != UVERBS_ATTR_F_MANDATORY ||
		    a[i].attr_data.reserved)
			return -EPROTONOSUPPORT;
		at[i] = a[i].data;
	}
	err = reg(f, at, &handle);
	if (!err)
		a[UVERBS_ATTR_REG_DMABUF_MR_HANDLE].data = handle;
	return err;
}
