// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Operations as ib_core of older kernels has them (compat.h).
 */
#include <linux/slab.h>

#include "kernel/kern.h"
#include "verbs/verbs.h"

#ifndef VHCA_HAVE_QP_SIZE
/* Here a driver allocates its queue pairs. ib_core fills in the rest. An XRC target has no PD. */
struct ib_qp *vhca_qp_alloc(struct ib_pd *pd, struct ib_qp_init_attr *attr,
			    struct ib_udata *udata)
{
	struct ib_device *ibdev = pd ? pd->device : attr->xrcd->device;
	struct ib_qp *qp = kzalloc(ibdev->ops.size_ib_qp, GFP_KERNEL);
	int rc;

	if (!qp)
		return ERR_PTR(-ENOMEM);
	qp->device = ibdev;
	qp->pd = pd;
	qp->qp_type = attr->qp_type;
	rc = to_vdev(ibdev)->own_uc ? vhca_kern_create_qp(qp, attr, udata) :
				      vhca_create_qp(qp, attr, udata);
	if (!rc)
		return qp;
	kfree(qp);
	return ERR_PTR(rc);
}

int vhca_qp_free(struct ib_qp *qp, struct ib_udata *udata)
{
	int rc = to_vdev(qp->device)->own_uc ? vhca_kern_destroy_qp(qp, udata) :
					       vhca_destroy_qp(qp, udata);

	if (!rc)
		kfree(qp);
	return rc;
}
#endif

#ifndef VHCA_HAVE_HW_PORT_STATS
/* Port 0 is the device, which has no counters. */
struct rdma_hw_stats *vhca_alloc_hw_stats(struct ib_device *ibdev, vhca_port_t port)
{
	return port ? vhca_alloc_hw_port_stats(ibdev, port) : NULL;
}
#endif
