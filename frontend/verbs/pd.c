// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Protection domains: the guest's is the physical HCA's, so that keys and
 * queue pairs of two guests, or of two processes, never meet.
 */
#include "cmd.h"
#include "verbs.h"

int vhca_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct vhca_pd *pd = to_vpd(ibpd);
	int rc;

	if (!udata)
		return -EOPNOTSUPP;	/* a device for processes */
	atomic_set(&pd->mws, 0);
	rc = vhca_cmd_alloc_pd(vhca_udata_uc(udata), udata, &pd->handle);
	if (!rc)
		ibdev_dbg(ibpd->device, "created pd %u\n", pd->handle);
	return rc;
}

int vhca_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct vhca_ucontext *uc = vhca_udata_uc(udata);
	struct vhca_pd *pd = to_vpd(ibpd);

	vhca_release(uc, "pd", pd->handle,
		     vhca_cmd_destroy(uc, XENVHCA_OP_DEALLOC_PD, pd->handle), NULL);
	return 0;
}
