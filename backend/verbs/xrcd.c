// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * XRC domains, and the context that they live in. Processes of a guest share a
 * domain, and a target queue pair, which the guest's kernel asks for once. So
 * both belong to the device's own verbs file, not to that of the first process.
 * An SRQ needs the domain in the file of its process: the kernel knows a domain
 * by an inode, and each domain has an inode here, of a file that nobody else
 * can open. The command thread runs this.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "object.h"
#include "ucontext.h"
#include "uverbs/uverbs.h"

/* Its files are those of the device, always open, and in no list. */
struct ctl {
	struct be_uc uc;		/* first member: be_dev.ctl */
	struct be_vfile file;
};

int be_ctl_open(struct be_dev *dev)
{
	struct ctl *ctl = calloc(1, sizeof(*ctl));

	if (!ctl)
		return -ENOMEM;
	ctl->file.fd = dev->ctl_fd;
	ctl->file.async_fd = dev->ctl_async_fd;
	ctl->file.comp_fd = -1;
	ctl->uc.file = &ctl->file;
	dev->ctl = &ctl->uc;
	return 0;
}

void be_ctl_close(struct be_dev *dev)
{
	struct be_uc *ctl = dev->ctl;

	if (!ctl)
		return;
	be_objs_destroy(dev, ctl, BE_OBJS_ALL);
	/* No guest memory in them: the rest may end with the file. */
	be_objs_release(dev, ctl);
	dev->ctl = NULL;
	free(ctl);
}

struct be_xrcd *be_xrcd_get(const struct be_cmd *c, uint32_t handle, int *err)
{
	struct be_xrcd *xrcd = be_handle_get(c->dev->handles, handle, BE_XRCD,
					     c->dev->ctl);

	*err = xrcd && !xrcd->dying ? 0 : -ENOENT;
	return *err ? NULL : xrcd;
}

void be_xrcd_put(struct be_dev *dev, struct be_xrcd *xrcd)
{
	if (xrcd && !--xrcd->users && xrcd->dying)
		be_obj_destroy(dev, &xrcd->o);
}

static void xrcd_release(struct be_dev *dev, struct be_obj *xrcd)
{
	(void)dev;
	uv_close(&((struct be_xrcd *)xrcd)->inode_fd);
}

const struct be_kind be_kind_xrcd = {
	.host_end = uv_dealloc_xrcd, .release = xrcd_release,
};

int be_alloc_xrcd(const struct be_cmd *c)
{
	struct be_xrcd *xrcd;
	uint32_t host = 0;
	int err;

	if (!c->dev->prov->xrc)
		return -EOPNOTSUPP;
	xrcd = be_obj_new(c, BE_XRCD, sizeof(*xrcd), &err);
	if (!xrcd)
		return err;
	xrcd->inode_fd = memfd_create("vhca-xrcd", MFD_CLOEXEC);
	err = xrcd->inode_fd < 0 ? -errno :
	      uv_alloc_xrcd(c->dev->ctl_fd, xrcd->inode_fd, true, &host);
	c->rsp->u.handle.handle = xrcd->o.handle;
	return be_obj_made(c, NULL, &xrcd->o, BE_XRCD, host, err);
}

/*
 * The guest's kernel has checked that nobody uses it. An object that uses it
 * nevertheless was made by a command that the guest abandoned, and ends with its
 * context.
 */
int be_dealloc_xrcd(const struct be_cmd *c)
{
	struct be_xrcd *xrcd;
	int err;

	xrcd = be_xrcd_get(c, c->req->u.handle.handle, &err);
	if (!xrcd)
		return err;
	if (xrcd->users) {
		xrcd->dying = true;
		return -EBUSY;
	}
	return be_obj_destroy(c->dev, &xrcd->o);
}
