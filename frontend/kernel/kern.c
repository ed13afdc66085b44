// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What consumers in this guest's kernel share: a context of the HCA, a PD, a doorbell
 * page, the pool. ib_core gets operations of their own; ib_uverbs leaves a device alone
 * that makes no contexts for processes.
 */
#include <linux/dma-map-ops.h>
#include <linux/slab.h>
#include <rdma/iw_cm.h>
#include <rdma/mlx5-abi.h>

#include "kern.h"
#include "mmap/doorbell.h"
#include "verbs/cmd.h"
#include "ring/grant.h"
#include "verbs/verbs.h"
#include "vhca-provider.h"

/* ---- objects that cost no command ---- */

/*
 * One physical PD for all: windows, all that a peer can name, are bound to queue pairs. So a
 * consumer's outlives a connection (vhca_pd_handle()).
 */
static int alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	return 0;
}

static int dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	return 0;
}

/* Rights over all memory, which nobody gets. */
static struct ib_mr *get_dma_mr(struct ib_pd *ibpd, int access)
{
	return ERR_PTR(-EOPNOTSUPP);
}

/* The consumer cannot wait for a command, without which a RoCE peer has no address. */
static int create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
		     struct ib_udata *udata)
{
	const struct rdma_ah_attr *a = init->ah_attr;
	const struct ib_global_route *grh;
	struct mlx5_av *av = &to_kah(ibah)->av;
	int rc = vhca_ah_check(to_vdev(ibah->device), a);

	if (rc)
		return rc;
	if (to_vdev(ibah->device)->link_layer == IB_LINK_LAYER_ETHERNET)
		return -EOPNOTSUPP;
	memset(av, 0, sizeof(*av));
	av->stat_rate_sl = rdma_ah_get_sl(a) & 0xf;
	av->rlid = cpu_to_be16(rdma_ah_get_dlid(a));
	av->fl_mlid = rdma_ah_get_path_bits(a) & 0x7f;
	if (!(rdma_ah_get_ah_flags(a) & IB_AH_GRH))
		return 0;
	grh = rdma_ah_read_grh(a);
	memcpy(av->rgid, &grh->dgid, sizeof(av->rgid));
	av->grh_gid_fl = cpu_to_be32(1 << 30 | grh->sgid_index << 20 |
				     (grh->flow_label & 0xfffff));
	av->hop_limit = grh->hop_limit;
	av->tclass = grh->traffic_class;
	return 0;
}

static int destroy_ah(struct ib_ah *ibah, u32 flags)
{
	return 0;
}

/* ---- the device ---- */

static const struct ib_device_ops kern_ops = {
	.alloc_mr = vhca_kern_alloc_mr,
	.alloc_pd = alloc_pd,
	.create_ah = create_ah,
	.create_cq = vhca_kern_create_cq,
	.create_qp = vhca_qp_creator(vhca_kern_create_qp),
	.create_srq = vhca_kern_create_srq,
	.dealloc_pd = dealloc_pd,
	.dereg_mr = vhca_kern_dereg_mr,
	.destroy_ah = destroy_ah,
	.destroy_cq = vhca_kern_destroy_cq,
	.destroy_qp = vhca_qp_destroyer(vhca_kern_destroy_qp),
	.destroy_srq = vhca_kern_destroy_srq,
	.get_dma_mr = get_dma_mr,
	.map_mr_sg = vhca_kern_map_mr_sg,
	.modify_qp = vhca_kern_modify_qp,
	.modify_srq = vhca_kern_modify_srq,
	.poll_cq = vhca_kern_poll_cq,
	.post_recv = vhca_kern_post_recv,
	.post_send = vhca_kern_post_send,
	.post_srq_recv = vhca_kern_post_srq_recv,
	.req_notify_cq = vhca_kern_arm_cq,

	INIT_RDMA_OBJ_SIZE(ib_ah, vhca_kah, ah.ibah),
	INIT_RDMA_OBJ_SIZE(ib_cq, vhca_kcq, cq.ibcq),
	INIT_RDMA_OBJ_SIZE(ib_qp, vhca_kqp, qp.ibqp),
	INIT_RDMA_OBJ_SIZE(ib_srq, vhca_ksrq, srq.ibsrq),
};

static void describe(struct vhca_kern *kern)
{
	struct ib_device_attr *a = &kern->dev->attr;
	struct ib_device *ibdev = &kern->dev->ibdev;
	struct device *dma = &ibdev->dev;

	ib_set_device_ops(ibdev, &kern_ops);
	if (kern->iw) {
		ib_set_device_ops(ibdev, &vhca_iw_ops);
		ibdev->iw_driver_flags = IW_F_NO_PORT_MAP;
		/* RDS and rdma_notify() take the connections of an IB_CA for those of ib_cm. */
		ibdev->node_type = RDMA_NODE_RNIC;
	}
	ibdev->local_dma_lkey = kern->pool.key;
	a->kernel_cap_flags |= IBK_LOCAL_DMA_LKEY;
	a->device_cap_flags &= ~(u64)IB_UVERBS_DEVICE_XRC;
	a->max_fast_reg_page_list_len = VHCA_KERN_PAGES;
	a->max_send_sge = min(a->max_send_sge, VHCA_KERN_SGE);
	a->max_recv_sge = min(a->max_recv_sge, VHCA_KERN_SGE);
	a->max_srq_sge = min(a->max_srq_sge, VHCA_KERN_SGE - 1);
	a->max_sge_rd = 1;	/* as for iWARP: struct vhca_ksend */
	a->max_qp_wr /= VHCA_KSQ_BLOCKS + 1;
	a->max_mr = min(a->max_mr, a->max_mw);

	dma->coherent_dma_mask = DMA_BIT_MASK(64);
	dma->dma_mask = &dma->coherent_dma_mask;
	dma->dma_parms = &kern->parms;
	dma_set_max_seg_size(dma, UINT_MAX);
	set_dma_ops(dma, &vhca_dma_ops);
}

/* ---- begin and end ---- */

/* Two registers of one page, which nobody else has. */
static int context_new(struct vhca_kern *kern)
{
	struct mlx5_ib_alloc_ucontext_req_v2 req = {
		.total_num_bfregs = 2, .lib_caps = MLX5_LIB_CAP_4K_UAR,
	};
	struct mlx5_ib_alloc_ucontext_resp rsp = {};
	struct ib_udata udata = vhca_own_udata(&req, sizeof(req), &rsp, sizeof(rsp));
	int rc;

	kern->uc.ibuc.device = &kern->dev->ibdev;
	kern->uc.leaves_nothing = true;
	rc = vhca_alloc_ucontext(&kern->uc.ibuc, &udata);
	if (rc || !rsp.cqe_version)
		return rc;
	/* Completions with numbers of user space, which this is not. */
	vhca_dealloc_ucontext(&kern->uc.ibuc);
	return -EPROTO;
}

/* Its memory is that of the device, which is granted and registered for each connection. */
static int pool_new(struct vhca_kern *kern)
{
	struct xenvhca_reg_mr_req req = {
		.pd = kern->dev->own_pd, .access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_MW_BIND,
		.iova = VHCA_POOL_IOVA,
	};
	struct vhca_pool *p = &kern->pool;
	struct xenvhca_mr_rsp rsp;
	int rc = p->mem ? vhca_mem_grant_again(p->mem) :
			  vhca_pool_init(p, kern->dev, kern->dev->pool_mb);

	if (rc)
		return rc;
	req.length = (u64)p->nr << PAGE_SHIFT;
	req.pages = p->mem->pages;
	rc = vhca_cmd_reg_mr(&kern->uc, &req, NULL, &rsp);
	if (rc)
		return rc;	/* the end of the context ends it, too */
	vhca_mem_drop_dirs(p->mem);
	p->key = rsp.lkey;
	return 0;
}

static int objects_new(struct vhca_kern *kern)
{
	struct mlx5_ib_alloc_pd_resp rsp;
	struct ib_udata udata = vhca_own_udata(NULL, 0, &rsp, sizeof(rsp));
	int rc = vhca_cmd_alloc_pd(&kern->uc, &udata, &kern->dev->own_pd);

	if (rc)
		return rc;
	kern->uar = vhca_doorbell_kernel(&kern->uc, 0);
	if (IS_ERR(kern->uar)) {
		rc = PTR_ERR(kern->uar);
		kern->uar = NULL;
		return rc;
	}
	return pool_new(kern);
}

/* No store to the register is under way, and none begins, after the grace period. */
static void context_end(struct vhca_kern *kern)
{
	synchronize_rcu();
	vhca_doorbell_kernel_end(kern->uar);
	kern->uar = NULL;
	vhca_dealloc_ucontext(&kern->uc.ibuc);	/* and all that is left in it */
}

int vhca_kern_begin(struct vhca_dev *dev)
{
	struct vhca_kern *kern;
	int rc;

	if (!dev->pool_mb)
		return 0;
	if (!VHCA_DMA_OPS || dev->info.driver_id != RDMA_DRIVER_MLX5) {
		vhca_break(dev, VHCA_DMA_OPS ?
			   "kernel=1 needs an HCA of mlx5: choose another hca=" :
			   "kernel=1 needs x86 of 64 bits and a kernel with DMA operations");
		return -EOPNOTSUPP;
	}
	kern = kzalloc(sizeof(*kern), GFP_KERNEL);
	if (!kern)
		return -ENOMEM;
	kern->dev = dev;
	xa_init(&kern->qps);
	init_rwsem(&kern->numbers);
	dev->own_uc = &kern->uc;
	rc = context_new(kern);
	if (rc) {
		dev->own_uc = NULL;
		kfree(kern);
		return rc;
	}
	rc = objects_new(kern);
	if (!rc && vhca_by_iw(dev))
		rc = vhca_iw_begin(kern);
	if (rc)
		vhca_kern_end(dev);
	else
		describe(kern);
	return rc;
}

/*
 * The backend destroys what is left in the context, so one command ends all objects. From the
 * gate on they are dead, and their consumers get flush errors. A verb that frees a dead one
 * waits until the backend has let go of its memory.
 */
void vhca_kern_away(struct vhca_dev *dev)
{
	struct vhca_kern *kern = to_kern(&dev->ibdev);

	vhca_iw_away(kern);
	down_write(&dev->gate);
	WRITE_ONCE(dev->away, true);
	WRITE_ONCE(dev->gen, dev->gen + 1);
	vhca_event_all(dev);
	context_end(kern);
	up_write(&dev->gate);
}

int vhca_kern_back(struct vhca_dev *dev)
{
	struct vhca_kern *kern = to_kern(&dev->ibdev);
	int rc = context_new(kern);

	if (rc)
		return rc;
	rc = objects_new(kern);
	if (rc) {
		context_end(kern);
		return rc;
	}
	down_write(&dev->gate);
	WRITE_ONCE(dev->away, false);
	vhca_pool_back(&kern->pool);
	up_write(&dev->gate);
	vhca_iw_back(kern);
	return 0;
}

u32 vhca_kern_held(struct vhca_dev *dev)
{
	return vhca_mem_withdraw(to_kern(&dev->ibdev)->pool.mem);
}

void vhca_kern_leave(struct vhca_dev *dev)
{
	vhca_iw_leave(to_kern(&dev->ibdev));
}

void vhca_kern_end(struct vhca_dev *dev)
{
	struct vhca_kern *kern;
	struct vhca_pool *p;

	if (!dev->own_uc)
		return;
	kern = to_kern(&dev->ibdev);
	p = &kern->pool;
	vhca_iw_end(kern);
	set_dma_ops(&dev->ibdev.dev, NULL);
	vhca_pool_exit(p, dev);
	if (!dev->away)
		context_end(kern);
	vhca_mem_put(p->mem);
	dev->own_uc = NULL;
	dev->ibdev.dev.dma_parms = NULL;
	kfree(kern);
}
