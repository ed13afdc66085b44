// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Address handles, and address vectors on the wire. The backend domain, which
 * has the HCA's network, finds the Ethernet address of a RoCE peer. ib_core has
 * checked port and GID index.
 */
#include <rdma/ib_verbs.h>

#include "cmd.h"
#include "verbs.h"

/* ib_core's table may be older than ours. */
int vhca_ah_check(struct vhca_dev *dev, const struct rdma_ah_attr *a)
{
	if (!(rdma_ah_get_ah_flags(a) & IB_AH_GRH))
		return 0;
	return vhca_gid_usable(dev, rdma_ah_read_grh(a)->sgid_index);
}

void vhca_ah_to_wire(struct xenvhca_ah_attr *w, const struct rdma_ah_attr *a)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(a);

	w->port_num = rdma_ah_get_port_num(a);
	w->sl = rdma_ah_get_sl(a);
	w->static_rate = rdma_ah_get_static_rate(a);
	w->src_path_bits = rdma_ah_get_path_bits(a);
	w->dlid = rdma_ah_get_dlid(a);
	if (!(rdma_ah_get_ah_flags(a) & IB_AH_GRH))
		return;
	w->is_global = 1;
	memcpy(w->dgid, grh->dgid.raw, sizeof(w->dgid));
	w->flow_label = grh->flow_label;
	w->sgid_index = grh->sgid_index;
	w->hop_limit = grh->hop_limit;
	w->traffic_class = grh->traffic_class;
}

void vhca_ah_from_wire(struct ib_device *ibdev, struct rdma_ah_attr *a,
		       const struct xenvhca_ah_attr *w)
{
	memset(a, 0, sizeof(*a));
	a->type = rdma_ah_find_type(ibdev, VHCA_PORT);
	rdma_ah_set_port_num(a, w->port_num ? VHCA_PORT : 0);
	rdma_ah_set_sl(a, w->sl);
	rdma_ah_set_static_rate(a, w->static_rate);
	rdma_ah_set_path_bits(a, w->src_path_bits);
	rdma_ah_set_dlid(a, w->dlid);
	if (!w->is_global)
		return;
	rdma_ah_set_grh(a, NULL, w->flow_label, w->sgid_index, w->hop_limit,
			w->traffic_class);
	memcpy(a->grh.dgid.raw, w->dgid, sizeof(w->dgid));
}

int vhca_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
		   struct ib_udata *udata)
{
	struct xenvhca_create_ah_req req = {
		.pd = to_vpd(ibah->pd)->handle,
	};
	struct vhca_ah *ah = to_vah(ibah);
	int rc = vhca_ah_check(to_vdev(ibah->device), init->ah_attr);

	if (rc)
		return rc;
	vhca_ah_to_wire(&req.attr, init->ah_attr);
	rc = vhca_cmd_create_ah(vhca_udata_uc(udata), &req, udata,
				&ah->handle);
	if (!rc)
		ibdev_dbg(ibah->device, "created ah %u\n", ah->handle);
	return rc;
}

int vhca_destroy_ah(struct ib_ah *ibah, u32 flags)
{
	struct vhca_ucontext *uc = vhca_pd_uc(ibah->pd);
	struct vhca_ah *ah = to_vah(ibah);

	vhca_release(uc, "ah", ah->handle,
		     vhca_cmd_destroy(uc, XENVHCA_OP_DESTROY_AH, ah->handle), NULL);
	return 0;
}
