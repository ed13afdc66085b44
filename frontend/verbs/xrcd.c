// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * XRC domains. ib_core shares one among the processes that name the same file, so it
 * belongs to the device, not to the context of a process.
 */
#include "cmd.h"
#include "verbs.h"

int vhca_alloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata)
{
	struct vhca_xrcd *xrcd = to_vxrcd(ibxrcd);
	struct vhca_dev *dev = to_vdev(ibxrcd->device);
	int rc = vhca_cmd_alloc_ownerless(dev, XENVHCA_OP_ALLOC_XRCD,
					  XENVHCA_OP_DEALLOC_XRCD, &xrcd->handle);

	if (!rc)
		ibdev_dbg(&dev->ibdev, "created xrcd %u\n", xrcd->handle);
	return rc;
}

int vhca_dealloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata)
{
	struct vhca_dev *dev = to_vdev(ibxrcd->device);
	u32 handle = to_vxrcd(ibxrcd)->handle;

	/* An SRQ that ends later, with its context, may keep the domain busy. */
	vhca_gone(dev, "xrcd", handle,
		  vhca_cmd_dealloc_ownerless(dev, XENVHCA_OP_DEALLOC_XRCD, handle));
	return 0;
}
