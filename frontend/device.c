// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The RDMA device of one connection and its attributes. ib_core asks for limits before
 * user space can, and in places where it cannot sleep, so they are cached. Registration
 * runs in the connection's work, queries run in the process that asks. Every number of
 * the backend is brought into its range here, except those of the port (port.c).
 */
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "ring/check.h"
#include "files/cm.h"
#include "verbs/cmd.h"
#include "ring/grant.h"
#include "kernel/kern.h"
#include "mmap/range.h"
#include "files/umad.h"
#include "verbs/verbs.h"
#include "vhca-provider.h"

#define VHCA_MAX_VECTORS	1024u

/* Capabilities whose verbs are not forwarded. */
#define VHCA_CAPS_HIDDEN						\
	(IB_UVERBS_DEVICE_MANAGED_FLOW_STEERING |			\
	 IB_UVERBS_DEVICE_RAW_SCATTER_FCS |				\
	 IB_UVERBS_DEVICE_PCI_WRITE_END_PADDING)

/* Newer ones take opcodes and access flags that are not forwarded. */
#define VHCA_CAPS_KNOWN	(((u64)IB_UVERBS_DEVICE_PCI_WRITE_END_PADDING << 1) - 1)

static int int_of(u32 v)
{
	return min_t(u32, v, INT_MAX);
}

static enum ib_atomic_cap atomic_cap_of(u32 v)
{
	return v <= IB_ATOMIC_GLOB ? v : IB_ATOMIC_NONE;
}

/* Queues lie in memory that is granted, or in pages of the HCA's driver. */
static void set_attr_queues(const struct vhca_dev *dev,
			    struct ib_device_attr *a,
			    const struct xenvhca_query_device_rsp *r)
{
	const struct vhca_provider *p = dev->provider;
	u64 room = p->mmaps ? vhca_grant_max_region() : vhca_range_max();

	a->max_cqe = int_of(vhca_provider_entries(r->max_cqe, p->cqe_len,
						  room));
	a->max_qp_wr = int_of(vhca_provider_entries(r->max_qp_wr,
						    p->qp_wr_len, room));
	a->max_srq_wr = int_of(vhca_provider_entries(r->max_srq_wr,
						     p->srq_wr_len, room));
}

static void set_attr_limits(struct ib_device_attr *a,
			    const struct xenvhca_query_device_rsp *r)
{
	a->max_qp = int_of(r->max_qp);
	a->max_send_sge = int_of(r->max_send_sge);
	a->max_recv_sge = int_of(r->max_recv_sge);
	a->max_sge_rd = int_of(r->max_sge_rd);
	a->max_cq = int_of(r->max_cq);
	a->max_mr = int_of(r->max_mr);
	a->max_pd = int_of(r->max_pd);
	a->max_qp_rd_atom = int_of(r->max_qp_rd_atom);
	a->max_ee_rd_atom = int_of(r->max_ee_rd_atom);
	a->max_res_rd_atom = int_of(r->max_res_rd_atom);
	a->max_qp_init_rd_atom = int_of(r->max_qp_init_rd_atom);
	a->max_ee_init_rd_atom = int_of(r->max_ee_init_rd_atom);
	a->max_ee = int_of(r->max_ee);
	a->max_rdd = int_of(r->max_rdd);
	a->max_mw = int_of(r->max_mw);
	a->max_mcast_grp = int_of(r->max_mcast_grp);
	a->max_mcast_qp_attach = int_of(r->max_mcast_qp_attach);
	a->max_total_mcast_qp_attach = int_of(r->max_total_mcast_qp_attach);
	a->max_ah = int_of(r->max_ah);
	a->max_srq = int_of(r->max_srq);
	a->max_srq_sge = int_of(r->max_srq_sge);
}

static void set_attr(struct vhca_dev *dev, struct ib_device_attr *a,
		     const struct xenvhca_query_device_rsp *r)
{
	u64 pages = min_t(u64, vhca_grant_max_region(), dev->info.max_pages);

	memset(a, 0, sizeof(*a));
	a->fw_ver = r->fw_ver;
	a->sys_image_guid = (__force __be64)r->sys_image_guid;
	a->max_mr_size = min(r->max_mr_size, pages << XEN_PAGE_SHIFT);
	a->page_size_cap = r->page_size_cap;
	a->vendor_id = r->vendor_id;
	a->vendor_part_id = r->vendor_part_id;
	a->hw_ver = r->hw_ver;
	a->device_cap_flags = vhca_user_caps(r->device_cap_flags) & VHCA_CAPS_KNOWN &
			      ~(u64)VHCA_CAPS_HIDDEN;
	if (!dev->provider->xrc)
		a->device_cap_flags &= ~(u64)IB_UVERBS_DEVICE_XRC;
	a->atomic_cap = atomic_cap_of(r->atomic_cap);
	a->timestamp_mask = r->timestamp_mask;
	a->hca_core_clock = r->hca_core_clock;
	a->cq_caps.max_cq_moderation_count = r->max_cq_count;
	a->cq_caps.max_cq_moderation_period = r->max_cq_period;
	a->max_pkeys = r->max_pkeys;
	a->local_ca_ack_delay = r->local_ca_ack_delay;
	if (dev->provider->tm)
		vhca_srq_caps(&a->tm_caps, r);
	set_attr_limits(a, r);
	set_attr_queues(dev, a, r);
}

/* The HCA's driver answers its provider in the context of the process only. */
static int vhca_query_device(struct ib_device *ibdev,
			     struct ib_device_attr *attr,
			     struct ib_udata *udata)
{
	struct vhca_dev *dev = to_vdev(ibdev);
	struct xenvhca_query_device_rsp rsp;
	struct ib_ucontext *ibuc;

	*attr = dev->attr;
	if (!udata || (!udata->inlen && !udata->outlen))
		return 0;
	ibuc = ib_uverbs_get_ucontext(rdma_udata_to_uverbs_attr_bundle(udata));
	if (IS_ERR(ibuc))
		return PTR_ERR(ibuc);
	return vhca_cmd_query_device(dev, to_vucontext(ibuc), udata, &rsp);
}

static void fw_str(struct ib_device *ibdev, char *str)
{
	strscpy(str, to_vdev(ibdev)->info.fw, IB_FW_VERSION_NAME_MAX);
}

/*
 * ib_core unregistered the device, for this module or because the HCA's own driver was
 * unloaded in this guest, with all devices of its driver id. Then the worker makes a
 * new one.
 */
static void free_driver(struct ib_device *ibdev)
{
	struct vhca_dev *dev = to_vdev(ibdev);

	dev->dealloced = true;
	WRITE_ONCE(dev->stays, false);
	if (READ_ONCE(dev->leaving))
		return;
	WRITE_ONCE(dev->registered, false);
	/* A refresh may be waiting for an answer: break first. */
	vhca_break(dev,
		   "the HCA's own driver was unloaded in this guest and took the device along");
	/* The worker frees the device only when ib_core has done with it. */
	cancel_delayed_work_sync(&dev->refresh_work);
}

/*
 * The first step when ib_core removes a device: it calls clients in the reverse order
 * of their registration, and this module needs ib_uverbs. So ib_uverbs destroys the
 * objects, over the ring, after this call, which sets the time limit for that. A device
 * that moves to another net namespace is added anew.
 */
static void core_removes(struct ib_device *ibdev, void *data)
{
	struct vhca_dev *dev = to_vdev(ibdev);

	if (ibdev->ops.owner != THIS_MODULE)
		return;
	vhca_netdev_del(dev);
	if (!READ_ONCE(dev->leaving))
		vhca_limit_begin(&dev->core, dev, VHCA_END_WAIT, VHCA_END_EACH);
}

static int core_adds(struct ib_device *ibdev)
{
	if (ibdev->ops.owner != THIS_MODULE)
		return 0;
	vhca_limit_end(&to_vdev(ibdev)->core);
	vhca_netdev_add(to_vdev(ibdev));
	return 0;
}

static struct ib_client client = {
	.name = "xen-vhcafront",
	.add = core_adds,
	.remove = core_removes,
	.no_kverbs_req = 1,
};

int vhca_device_init(void)
{
	int err = vhca_netdev_init();

	if (err)
		return err;
	err = ib_register_client(&client);
	if (err)
		vhca_netdev_exit();
	return err;
}

void vhca_device_exit(void)
{
	ib_unregister_client(&client);
	vhca_netdev_exit();
}

static const struct ib_device_ops dev_ops = {
	.owner = THIS_MODULE,

	.alloc_hw_port_stats = vhca_stats_allocator(vhca_alloc_hw_port_stats),
	.alloc_mw = vhca_alloc_mw,
	.alloc_pd = vhca_alloc_pd,
	.attach_mcast = vhca_attach_mcast,
	.create_cq = vhca_create_cq,
	.create_qp = vhca_qp_creator(vhca_create_qp),
	.create_srq = vhca_create_srq,
	.create_user_ah = vhca_create_ah,
	.dealloc_driver = free_driver,
	.dealloc_mw = vhca_dealloc_mw,
	.dealloc_pd = vhca_dealloc_pd,
	.dealloc_ucontext = vhca_dealloc_ucontext,
	.dereg_mr = vhca_dereg_mr,
	.destroy_ah = vhca_destroy_ah,
	.destroy_cq = vhca_destroy_cq,
	.destroy_qp = vhca_qp_destroyer(vhca_destroy_qp),
	.destroy_srq = vhca_destroy_srq,
	.detach_mcast = vhca_detach_mcast,
	VHCA_DEVICE_GROUP
	.disassociate_ucontext = vhca_disassociate_ucontext,
	.enable_driver = vhca_enable_driver,
	.get_dev_fw_str = fw_str,
	.get_hw_stats = vhca_get_hw_stats,
	.get_link_layer = vhca_get_link_layer,
	.get_netdev = vhca_get_netdev,
	.get_port_immutable = vhca_get_port_immutable,
	.mmap = vhca_mmap,
	.modify_device = vhca_modify_device,
	.modify_qp = vhca_modify_qp,
	.modify_srq = vhca_modify_srq,
	.post_send = vhca_post_send,
	.query_device = vhca_query_device,
	.query_gid = vhca_query_gid,
	.query_pkey = vhca_query_pkey,
	.query_port = vhca_query_port,
	.query_qp = vhca_query_qp,
	.query_srq = vhca_query_srq,
	.reg_user_mr = vhca_reg_mr,
	.req_notify_cq = vhca_req_notify_cq,
	.rereg_user_mr = vhca_rereg_mr,
	.resize_user_cq = vhca_resize_cq,

	INIT_RDMA_OBJ_SIZE(ib_ah, vhca_ah, ibah),
	INIT_RDMA_OBJ_SIZE(ib_cq, vhca_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_mw, vhca_mw, ibmw),
	INIT_RDMA_OBJ_SIZE(ib_pd, vhca_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, vhca_qp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_srq, vhca_srq, ibsrq),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, vhca_ucontext, ibuc),
};

/* ib_uverbs leaves a device without it alone. */
static const struct ib_device_ops process_ops = {
	.alloc_ucontext = vhca_alloc_ucontext,
};

/* A device without these rows has no XRC verbs, as an HCA without XRC. */
static const struct ib_device_ops xrc_ops = {
	.alloc_xrcd = vhca_alloc_xrcd,
	.dealloc_xrcd = vhca_dealloc_xrcd,

	INIT_RDMA_OBJ_SIZE(ib_xrcd, vhca_xrcd, ibxrcd),
};

/* Likewise of an HCA without moderation. */
static const struct ib_device_ops moderation_ops = {
	.modify_cq = vhca_modify_cq,
};

/* With it the port has a folder of counters in sysfs. */
static const struct ib_device_ops pma_ops = {
	.process_mad = vhca_process_mad,
};

struct device *vhca_device_parent(struct vhca_store *store)
{
	static atomic_t nr;
	char name[48];

	snprintf(name, sizeof(name), "%s.%d", dev_name(store->dev),
		 atomic_inc_return(&nr));
	return root_device_register(name);
}

struct vhca_dev *vhca_device_alloc(struct vhca_store *store)
{
	struct vhca_dev *dev = ib_alloc_device(vhca_dev, ibdev);

	if (!dev)
		return NULL;
	get_device(&dev->ibdev.dev);	/* outlives dealloc_driver */
	dev->store = store;
	dev->backend = store->backend;
	dev->ibdev.dev.parent = store->parent;
	vhca_event_init(dev);
	vhca_port_init(dev);
	xa_init(&dev->cqs);
	xa_init(&dev->qps);
	xa_init(&dev->srqs);
	xa_init(&dev->file_handles);
	INIT_LIST_HEAD(&dev->files);
	INIT_LIST_HEAD(&dev->cm_list);
	sema_init(&dev->cm_slots, XENVHCA_CM_SLOTS);
	init_rwsem(&dev->gate);
	return dev;
}

static int vhca_get_info(struct vhca_dev *dev)
{
	struct xenvhca_get_info_rsp *info = &dev->info;
	int rc;

	rc = vhca_cmd_get_info(dev, info);
	if (rc)
		return rc;
	if (!vhca_check_info(info)) {
		dev_err(dev->store->dev,
			"backend sent malformed device strings\n");
		return -EPROTO;
	}
	dev->provider = vhca_provider_find(info->driver_id,
					   info->uverbs_abi_ver);
	if (!dev->provider) {
		dev_err(dev->store->dev,
			"HCA %s: driver %u with ABI %u is unknown; choose another hca= or a newer frontend\n",
			info->hca, info->driver_id, info->uverbs_abi_ver);
		return -EOPNOTSUPP;
	}
	if (info->node_type != RDMA_NODE_IB_CA) {
		dev_err(dev->store->dev,
			"HCA %s: node type %u is not supported; choose another hca=\n",
			info->hca, info->node_type);
		return -EOPNOTSUPP;
	}
	dev->ibdev.node_type = info->node_type;	/* or kernel/kern.c changes it */
	return 0;
}

/* Everything that ib_core asks for during registration. */
static int device_cache(struct vhca_dev *dev)
{
	int rc;

	rc = vhca_cmd_query_device(dev, NULL, NULL, &dev->caps);
	if (rc)
		return rc;
	set_attr(dev, &dev->attr, &dev->caps);
	rc = vhca_counters_read(dev);
	return rc ? rc : vhca_port_read(dev);
}

static void device_describe(struct vhca_dev *dev)
{
	const struct xenvhca_get_info_rsp *info = &dev->info;
	struct ib_device *ibdev = &dev->ibdev;
	u8 kicks = info->kicks & dev->provider->kicks;

	ib_set_device_ops(ibdev, &dev_ops);
	vhca_device_group(ibdev);
	vhca_enable_commands(ibdev);
	if (!dev->own_uc)
		ib_set_device_ops(ibdev, &process_ops);
	if (dev->attr.device_cap_flags & IB_UVERBS_DEVICE_XRC)
		ib_set_device_ops(ibdev, &xrc_ops);
	if (dev->attr.cq_caps.max_cq_moderation_count)
		ib_set_device_ops(ibdev, &moderation_ops);
	if (vhca_counters_of_port(dev))
		ib_set_device_ops(ibdev, &pma_ops);
	ibdev->ops.driver_id = info->driver_id;
	ibdev->ops.uverbs_abi_ver = info->uverbs_abi_ver;
	if (info->driver_id == RDMA_DRIVER_MLX5)
		ibdev->driver_def = vhca_mlx5_uapi;
	ibdev->node_guid = (__force __be64)info->node_guid;
	ibdev->phys_port_cnt = 1;
	ibdev->num_comp_vectors = clamp(info->num_comp_vectors, 1u,
					VHCA_MAX_VECTORS);
	strscpy(ibdev->node_desc, "vhca", sizeof(ibdev->node_desc));
	if (kicks & XENVHCA_INFO_KICK_SEND)
		ibdev->uverbs_cmd_mask |=
			BIT_ULL(IB_USER_VERBS_CMD_POST_SEND);
	if (kicks & XENVHCA_INFO_KICK_ARM)
		ibdev->uverbs_cmd_mask |=
			BIT_ULL(IB_USER_VERBS_CMD_REQ_NOTIFY_CQ);
}

/* After its number in the configuration, unless another device has that name. */
static int device_name(struct vhca_dev *dev)
{
	struct device *dma = dev->own_uc ? &dev->ibdev.dev : NULL;
	char name[IB_DEVICE_NAME_MAX];
	int rc;

	snprintf(name, sizeof(name), "vhca%d", dev->store->number);
	rc = ib_register_device(&dev->ibdev, name, dma);
	return rc == -ENFILE ? ib_register_device(&dev->ibdev, "vhca%d", dma) : rc;
}

/* Has the backend what ib_core was told of? 0, -ESTALE or -errno. */
static int device_same(struct vhca_dev *dev)
{
	struct xenvhca_query_device_rsp caps;
	struct xenvhca_get_info_rsp info;
	int rc = vhca_cmd_get_info(dev, &info);

	if (!rc)
		rc = vhca_cmd_query_device(dev, NULL, NULL, &caps);
	if (rc)
		return rc;
	if (!vhca_check_info(&info) || memcmp(&info, &dev->info, sizeof(info)) ||
	    memcmp(&caps, &dev->caps, sizeof(caps)))
		return -ESTALE;
	return vhca_counters_same(dev) ?: vhca_port_same(dev);
}

/* ib_core may unregister the device at any time: then it has no other connection. */
static int device_stays(const struct vhca_dev *dev)
{
	return READ_ONCE(dev->stays) ? 0 : -ESTALE;
}

/* A device that is away has another connection. */
static int device_back(struct vhca_dev *dev)
{
	int rc = device_stays(dev);

	if (rc)
		return rc;
	rc = device_same(dev);
	if (rc == -ESTALE) {
		dev_info(dev->store->dev, "another HCA, or other limits: %s ends\n",
			 dev_name(&dev->ibdev.dev));
		WRITE_ONCE(dev->stays, false);
	}
	if (!rc)
		rc = vhca_kern_back(dev) ?: device_stays(dev);
	if (rc)
		return rc;
	vhca_port_refresh(dev);
	dev_info(dev->store->dev, "%s is back, by domain %u\n",
		 dev_name(&dev->ibdev.dev), dev->backend);
	return 0;
}

void vhca_device_away(struct vhca_dev *dev)
{
	if (dev->away)
		return;
	vhca_kern_away(dev);
	/* Also if it is back before its clients have heard of it. */
	set_bit(IB_EVENT_PORT_ERR, &dev->port_events);
	vhca_port_refresh(dev);
}

u32 vhca_device_held(struct vhca_dev *dev)
{
	return vhca_kern_held(dev);
}

int vhca_device_register(struct vhca_dev *dev)
{
	int rc;

	if (dev->away)
		return device_back(dev);
	rc = vhca_get_info(dev);
	if (!rc)
		rc = device_cache(dev);
	if (!rc)
		rc = vhca_kern_begin(dev);
	if (rc)
		return rc;
	device_describe(dev);
	/* ib_core may end it from its registration on, which clears this. */
	WRITE_ONCE(dev->stays, !!dev->own_uc);
	vhca_pci_ids_add(dev);
	rc = device_name(dev);
	if (rc) {
		vhca_pci_ids_del(dev);
		WRITE_ONCE(dev->stays, false);
		vhca_kern_end(dev);
		return rc;
	}
	vhca_port_registered(dev);
	if (!dev->own_uc) {
		vhca_cm_add(dev);
		vhca_umad_add(dev);
	}
	dev_info(dev->store->dev, "%s is %s of domain %u, provider %s\n",
		 dev_name(&dev->ibdev.dev), dev->info.hca, dev->backend,
		 dev->provider->name);
	return 0;
}

/* Processes that have the device open retain their file, and nothing behind it. */
void vhca_device_unregister(struct vhca_dev *dev)
{
	WRITE_ONCE(dev->leaving, true);
	WRITE_ONCE(dev->registered, false);
	cancel_delayed_work_sync(&dev->refresh_work);
	vhca_cm_remove(dev);
	vhca_umad_remove(dev);
	/*
	 * Connections of consumers in the kernel are theirs to end, when ib_core tells them. One
	 * that ends before leaves nvme-rdma with I/O that nothing completes for 30 seconds.
	 */
	if (dev->own_uc)
		vhca_kern_leave(dev);
	else
		vhca_files_close(dev);
	/* Waits if ib_core is at it; fine for a device that was never registered. */
	ib_unregister_device(&dev->ibdev);
	vhca_pci_ids_del(dev);
	vhca_kern_end(dev);
}

void vhca_device_free(struct vhca_dev *dev)
{
	vhca_event_exit(dev);
	cancel_delayed_work_sync(&dev->refresh_work);
	xa_destroy(&dev->cqs);
	xa_destroy(&dev->qps);
	xa_destroy(&dev->srqs);
	xa_destroy(&dev->file_handles);
	vhca_port_exit(dev);
	vhca_counters_free(dev);
	WRITE_ONCE(dev->leaving, true);
	if (!dev->dealloced)
		ib_dealloc_device(&dev->ibdev);
	put_device(&dev->ibdev.dev);
}
