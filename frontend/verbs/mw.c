// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Memory windows, type 1 and 2. They are bound by work requests, which the HCA
 * executes; here they are only allocated and freed.
 */
#include "cmd.h"
#include "verbs.h"

int vhca_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata)
{
	struct vhca_pd *pd = to_vpd(ibmw->pd);
	struct xenvhca_alloc_mw_req req = {
		.pd = pd->handle,
		.type = ibmw->type,
	};
	struct vhca_mw *mw = to_vmw(ibmw);
	struct xenvhca_mr_rsp rsp;
	int rc;

	rc = vhca_cmd_alloc_mw(vhca_udata_uc(udata), &req, udata, &rsp);
	if (rc)
		return rc;
	mw->handle = rsp.handle;
	ibmw->rkey = rsp.rkey;
	atomic_inc(&pd->mws);
	ibdev_dbg(ibmw->device, "created mw %u\n", mw->handle);
	return 0;
}

int vhca_dealloc_mw(struct ib_mw *ibmw)
{
	struct vhca_ucontext *uc = vhca_pd_uc(ibmw->pd);
	struct vhca_mw *mw = to_vmw(ibmw);

	vhca_release(uc, "mw", mw->handle,
		     vhca_cmd_destroy(uc, XENVHCA_OP_DEALLOC_MW, mw->handle), NULL);
	atomic_dec(&to_vpd(ibmw->pd)->mws);
	return 0;
}
