// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The RDMA device of one connection: what ib_core is told about it, at
 * registration and when the port changes. ib_core asks before user space can,
 * and in places where nobody can wait, so limits, GIDs and P_Keys are cached.
 * Registration runs in the connection's work, refreshing in a work of its own,
 * queries in the process that asks. Every number of the backend is brought
 * into its range here.
 */
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "check.h"
#include "cmd.h"
#include "verbs.h"
#include "vhca-provider.h"

static bool vhca_unproven;
module_param_named(unproven, vhca_unproven, bool, 0444);
MODULE_PARM_DESC(unproven, "also use kinds of HCAs that were never tried");

#define VHCA_MAX_GIDS		1024u
#define VHCA_MAX_PKEYS		256u
#define VHCA_MAX_VECTORS	1024u
#define VHCA_REFRESH_GAP	(HZ / 10)
#define VHCA_REFRESH_GAP_MAX	HZ

/* Capabilities whose verbs are not forwarded. */
#define VHCA_CAPS_HIDDEN						\
	(IB_UVERBS_DEVICE_MANAGED_FLOW_STEERING |			\
	 IB_UVERBS_DEVICE_RAW_SCATTER_FCS |				\
	 IB_UVERBS_DEVICE_PCI_WRITE_END_PADDING)

bool vhca_gone(struct vhca_dev *dev, const char *what, u32 handle, int rc)
{
	if (!rc) {
		ibdev_dbg(&dev->ibdev, "destroyed %s %u\n", what, handle);
		return true;
	}
	if (READ_ONCE(dev->ring.state) != VHCA_RING_UP) {
		ibdev_dbg(&dev->ibdev, "destroyed %s %u, device is broken\n",
			  what, handle);
		return true;
	}
	ibdev_warn_ratelimited(&dev->ibdev,
			       "%s %u: the backend keeps it (%d) until its context is closed\n",
			       what, handle, rc);
	return false;
}

void vhca_release(struct vhca_ucontext *uc, const char *what, u32 handle,
		  int rc, struct vhca_mem *mem)
{
	if (vhca_gone(to_vdev(uc->ibuc.device), what, handle, rc))
		vhca_mem_put(mem);
	else
		vhca_uc_adopt(uc, mem);
}

int vhca_publish(struct vhca_dev *dev, struct xarray *table, u32 handle,
		 void *obj)
{
	int rc = xa_insert(table, handle, obj, GFP_KERNEL);

	if (rc != -EBUSY)
		return rc;
	vhca_break(dev, "backend used a handle twice");
	return -EIO;
}

void vhca_unpublish(struct vhca_dev *dev, struct xarray *table, u32 handle)
{
	/* Not under evt_lock: the upcall must not wait for the table's lock. */
	xa_erase(table, handle);
	/* Whoever found the object before holds evt_lock while he uses it. */
	spin_lock_irq(&dev->evt_lock);
	spin_unlock_irq(&dev->evt_lock);
}

static int vhca_int(u32 v)
{
	return min_t(u32, v, INT_MAX);
}

static enum ib_atomic_cap vhca_atomic(u32 v)
{
	return v <= IB_ATOMIC_GLOB ? v : IB_ATOMIC_NONE;
}

static void vhca_set_attr_limits(struct ib_device_attr *a,
				 const struct xenvhca_query_device_rsp *r)
{
	a->max_qp = vhca_int(r->max_qp);
	a->max_qp_wr = vhca_int(r->max_qp_wr);
	a->max_send_sge = vhca_int(r->max_send_sge);
	a->max_recv_sge = vhca_int(r->max_recv_sge);
	a->max_sge_rd = vhca_int(r->max_sge_rd);
	a->max_cq = vhca_int(r->max_cq);
	a->max_cqe = vhca_int(r->max_cqe);
	a->max_mr = vhca_int(r->max_mr);
	a->max_pd = vhca_int(r->max_pd);
	a->max_qp_rd_atom = vhca_int(r->max_qp_rd_atom);
	a->max_ee_rd_atom = vhca_int(r->max_ee_rd_atom);
	a->max_res_rd_atom = vhca_int(r->max_res_rd_atom);
	a->max_qp_init_rd_atom = vhca_int(r->max_qp_init_rd_atom);
	a->max_ee_init_rd_atom = vhca_int(r->max_ee_init_rd_atom);
	a->max_ee = vhca_int(r->max_ee);
	a->max_rdd = vhca_int(r->max_rdd);
	a->max_mw = vhca_int(r->max_mw);
	a->max_raw_ipv6_qp = vhca_int(r->max_raw_ipv6_qp);
	a->max_raw_ethy_qp = vhca_int(r->max_raw_ethy_qp);
	a->max_mcast_grp = vhca_int(r->max_mcast_grp);
	a->max_mcast_qp_attach = vhca_int(r->max_mcast_qp_attach);
	a->max_total_mcast_qp_attach = vhca_int(r->max_total_mcast_qp_attach);
	a->max_ah = vhca_int(r->max_ah);
	a->max_srq = vhca_int(r->max_srq);
	a->max_srq_wr = vhca_int(r->max_srq_wr);
	a->max_srq_sge = vhca_int(r->max_srq_sge);
}

static void vhca_set_attr(struct vhca_dev *dev, struct ib_device_attr *a,
			  const struct xenvhca_query_device_rsp *r)
{
	u64 pages = min_t(u64, vhca_grant_max_pages(), dev->info.max_pages);

	memset(a, 0, sizeof(*a));
	a->fw_ver = r->fw_ver;
	a->sys_image_guid = (__force __be64)r->sys_image_guid;
	a->max_mr_size = min(r->max_mr_size, pages << XEN_PAGE_SHIFT);
	a->page_size_cap = r->page_size_cap;
	a->vendor_id = r->vendor_id;
	a->vendor_part_id = r->vendor_part_id;
	a->hw_ver = r->hw_ver;
	a->device_cap_flags = r->device_cap_flags & ~(u64)VHCA_CAPS_HIDDEN;
	if (!dev->provider->xrc)
		a->device_cap_flags &= ~(u64)IB_UVERBS_DEVICE_XRC;
	a->atomic_cap = vhca_atomic(r->atomic_cap);
	a->masked_atomic_cap = vhca_atomic(r->masked_atomic_cap);
	a->timestamp_mask = r->timestamp_mask;
	a->hca_core_clock = r->hca_core_clock;
	a->max_pkeys = r->max_pkeys;
	a->local_ca_ack_delay = r->local_ca_ack_delay;
	vhca_set_attr_limits(a, r);
}

/* Private data of the HCA's provider is asked for in the HCA's own context. */
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

/* Table lengths stay what they were: ib_core has sized its tables by them. */
static void vhca_set_port(struct ib_port_attr *a,
			  const struct xenvhca_query_port_rsp *r,
			  const struct ib_port_attr *old)
{
	memset(a, 0, sizeof(*a));
	a->state = r->state <= IB_PORT_ACTIVE_DEFER ? r->state : IB_PORT_DOWN;
	a->max_mtu = clamp_t(u32, r->max_mtu, IB_MTU_256, IB_MTU_4096);
	a->active_mtu = clamp_t(u32, r->active_mtu, IB_MTU_256, IB_MTU_4096);
	a->phys_mtu = ib_mtu_enum_to_int(a->active_mtu);
	a->gid_tbl_len = old->gid_tbl_len;
	a->pkey_tbl_len = old->pkey_tbl_len;
	a->ip_gids = !!r->ip_gids;
	a->port_cap_flags = r->port_cap_flags;
	a->port_cap_flags2 = r->port_cap_flags2;
	a->max_msg_sz = r->max_msg_sz;
	a->bad_pkey_cntr = r->bad_pkey_cntr;
	a->qkey_viol_cntr = r->qkey_viol_cntr;
	a->lid = min_t(u32, r->lid, U16_MAX);
	a->sm_lid = min_t(u32, r->sm_lid, U16_MAX);
	a->lmc = min_t(u8, r->lmc, 7);
	a->max_vl_num = r->max_vl_num;
	a->sm_sl = r->sm_sl;
	a->subnet_timeout = r->subnet_timeout;
	a->init_type_reply = r->init_type_reply;
	a->active_width = r->active_width;
	a->active_speed = min_t(u32, r->active_speed, U16_MAX);
	a->phys_state = r->phys_state;
}

/* Asked live; what changed is told to ib_core by a refresh, once. */
static int vhca_query_port(struct ib_device *ibdev, u32 port,
			   struct ib_port_attr *attr)
{
	struct vhca_dev *dev = to_vdev(ibdev);
	struct xenvhca_query_port_rsp rsp;
	struct ib_port_attr old;
	int rc;

	mutex_lock(&dev->cache_lock);
	old = dev->port;
	mutex_unlock(&dev->cache_lock);

	rc = vhca_cmd_query_port(dev, &rsp);
	if (!rc) {
		vhca_set_port(attr, &rsp, &old);
		if (attr->state != old.state)
			vhca_device_refresh(dev);
		return 0;
	}
	if (rc == -EINTR)
		return rc;
	*attr = old;
	if (READ_ONCE(dev->ring.state) != VHCA_RING_UP) {
		attr->state = IB_PORT_DOWN;
		attr->phys_state = IB_PORT_PHYS_STATE_DISABLED;
	}
	return 0;
}

static int vhca_query_gid(struct ib_device *ibdev, u32 port, int index,
			  union ib_gid *gid)
{
	struct vhca_dev *dev = to_vdev(ibdev);
	struct xenvhca_gid *entry;

	if (index < 0 || index >= dev->port.gid_tbl_len)
		return -EINVAL;
	memset(gid, 0, sizeof(*gid));	/* empty, or not ours to use */
	mutex_lock(&dev->cache_lock);
	entry = xa_load(&dev->gids, index);
	if (entry)
		memcpy(gid->raw, entry->gid, sizeof(gid->raw));
	mutex_unlock(&dev->cache_lock);
	return 0;
}

static int vhca_query_pkey(struct ib_device *ibdev, u32 port, u16 index,
			   u16 *pkey)
{
	struct vhca_dev *dev = to_vdev(ibdev);

	if (index >= dev->port.pkey_tbl_len)
		return -EINVAL;
	mutex_lock(&dev->cache_lock);
	*pkey = dev->pkeys[index];
	mutex_unlock(&dev->cache_lock);
	return 0;
}

static enum rdma_link_layer vhca_get_link_layer(struct ib_device *ibdev,
						u32 port)
{
	return to_vdev(ibdev)->link_layer;
}

/*
 * No MAD, CM or SA: those belong to the domain that owns the HCA. GIDs come
 * from query_gid, not from the guest's network devices, hence the plain IB
 * protocol even over Ethernet, where an address then needs a GRH.
 */
static int vhca_get_port_immutable(struct ib_device *ibdev, u32 port,
				   struct ib_port_immutable *immutable)
{
	struct vhca_dev *dev = to_vdev(ibdev);

	immutable->core_cap_flags = RDMA_CORE_CAP_PROT_IB;
	if (dev->link_layer == IB_LINK_LAYER_ETHERNET)
		immutable->core_cap_flags |= RDMA_CORE_CAP_IB_GRH_REQUIRED;
	immutable->gid_tbl_len = dev->port.gid_tbl_len;
	immutable->pkey_tbl_len = dev->port.pkey_tbl_len;
	return 0;
}

static void vhca_get_dev_fw_str(struct ib_device *ibdev, char *str)
{
	strscpy(str, to_vdev(ibdev)->info.fw, IB_FW_VERSION_NAME_MAX);
}

/*
 * ib_core unregistered the device, for us or because the HCA's own driver, whose
 * id we show, was unloaded in this guest: it takes all devices of that id along.
 * The worker makes a new one then.
 */
static void vhca_dealloc_driver(struct ib_device *ibdev)
{
	struct vhca_dev *dev = to_vdev(ibdev);

	dev->dealloced = true;
	if (READ_ONCE(dev->leaving))
		return;
	WRITE_ONCE(dev->registered, false);
	cancel_delayed_work_sync(&dev->refresh_work);
	vhca_break(dev, "the HCA's own driver was unloaded in this guest and took the device along");
}

static const struct ib_device_ops vhca_dev_ops = {
	.owner = THIS_MODULE,

	.alloc_mw = vhca_alloc_mw,
	.alloc_pd = vhca_alloc_pd,
	.alloc_ucontext = vhca_alloc_ucontext,
	.attach_mcast = vhca_attach_mcast,
	.create_cq = vhca_create_cq,
	.create_qp = vhca_create_qp,
	.create_srq = vhca_create_srq,
	.create_user_ah = vhca_create_user_ah,
	.dealloc_driver = vhca_dealloc_driver,
	.dealloc_mw = vhca_dealloc_mw,
	.dealloc_pd = vhca_dealloc_pd,
	.dealloc_ucontext = vhca_dealloc_ucontext,
	.dereg_mr = vhca_dereg_mr,
	.destroy_ah = vhca_destroy_ah,
	.destroy_cq = vhca_destroy_cq,
	.destroy_qp = vhca_destroy_qp,
	.destroy_srq = vhca_destroy_srq,
	.detach_mcast = vhca_detach_mcast,
	.disassociate_ucontext = vhca_disassociate_ucontext,
	.get_dev_fw_str = vhca_get_dev_fw_str,
	.get_link_layer = vhca_get_link_layer,
	.get_port_immutable = vhca_get_port_immutable,
	.mmap = vhca_mmap,
	.modify_qp = vhca_modify_qp,
	.modify_srq = vhca_modify_srq,
	.post_send = vhca_post_send,
	.query_device = vhca_query_device,
	.query_gid = vhca_query_gid,
	.query_pkey = vhca_query_pkey,
	.query_port = vhca_query_port,
	.query_qp = vhca_query_qp,
	.query_srq = vhca_query_srq,
	.reg_user_mr = vhca_reg_user_mr,
	.req_notify_cq = vhca_req_notify_cq,
	.rereg_user_mr = vhca_rereg_user_mr,
	.resize_cq = vhca_resize_cq,

	INIT_RDMA_OBJ_SIZE(ib_ah, vhca_ah, ibah),
	INIT_RDMA_OBJ_SIZE(ib_cq, vhca_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_mw, vhca_mw, ibmw),
	INIT_RDMA_OBJ_SIZE(ib_pd, vhca_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, vhca_qp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_srq, vhca_srq, ibsrq),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, vhca_ucontext, ibuc),
};

/* Without them the verbs do not exist, as for an HCA that has no XRC. */
static const struct ib_device_ops vhca_xrc_ops = {
	.alloc_xrcd = vhca_alloc_xrcd,
	.dealloc_xrcd = vhca_dealloc_xrcd,

	INIT_RDMA_OBJ_SIZE(ib_xrcd, vhca_xrcd, ibxrcd),
};

/* Make index hold @gid, or nothing. Under cache_lock. */
static int vhca_gid_set(struct vhca_dev *dev, u32 index,
			const struct xenvhca_gid *gid, bool *changed)
{
	struct xenvhca_gid *old = xa_load(&dev->gids, index);
	struct xenvhca_gid *new = NULL;
	int rc;

	if (old && gid ? !memcmp(old, gid, sizeof(*gid)) : !old && !gid)
		return 0;
	if (gid) {
		new = kmemdup(gid, sizeof(*gid), GFP_KERNEL);
		if (!new)
			return -ENOMEM;
	}
	rc = xa_err(xa_store(&dev->gids, index, new, GFP_KERNEL));
	if (rc) {
		kfree(new);
		return rc;
	}
	kfree(old);
	*changed = true;
	return 0;
}

/* One answer speaks for the indices first .. end - 1. Under cache_lock. */
static int vhca_gids_take(struct vhca_dev *dev,
			  const struct xenvhca_query_gid_table_rsp *rsp,
			  u32 first, u32 end, bool *changed)
{
	const struct xenvhca_gid *gid;
	u32 index, i = 0;
	int rc;

	for (index = first; index < end; index++) {
		gid = NULL;
		if (i < rsp->count && rsp->gid[i].index == index)
			gid = &rsp->gid[i++];
		rc = vhca_gid_set(dev, index, gid, changed);
		if (rc)
			return rc;
	}
	return i == rsp->count ? 0 : -EIO;	/* unsorted or out of range */
}

static int vhca_refresh_gids(struct vhca_dev *dev, bool *changed)
{
	struct xenvhca_query_gid_table_rsp rsp;
	u32 len = dev->port.gid_tbl_len;
	u32 first = 0, end;
	int rc;

	do {
		rc = vhca_cmd_query_gid_table(dev, first, &rsp);
		if (rc)
			return rc;
		if (!vhca_check_gids(&rsp, first, len, &end))
			return -EIO;
		mutex_lock(&dev->cache_lock);
		rc = vhca_gids_take(dev, &rsp, first, end, changed);
		mutex_unlock(&dev->cache_lock);
		if (rc)
			return rc;
		first = end;
	} while (rsp.next && first < len);
	return 0;
}

static int vhca_refresh_pkeys(struct vhca_dev *dev, bool *changed)
{
	struct xenvhca_query_pkey_table_rsp rsp;
	u32 len = dev->port.pkey_tbl_len;
	u32 first = 0, n;
	int rc;

	while (first < len) {
		rc = vhca_cmd_query_pkey_table(dev, first, &rsp);
		if (rc)
			return rc;
		if (!vhca_check_pkeys(&rsp))
			return -EIO;
		n = min(rsp.count, len - first);
		mutex_lock(&dev->cache_lock);
		if (memcmp(dev->pkeys + first, rsp.pkey, n * sizeof(u16)))
			*changed = true;
		memcpy(dev->pkeys + first, rsp.pkey, n * sizeof(u16));
		mutex_unlock(&dev->cache_lock);
		first += n;
	}
	return 0;
}

/* *events: what is news to ib_core, bit n = enum ib_event_type n. */
static int vhca_refresh_port(struct vhca_dev *dev, unsigned long *events)
{
	struct xenvhca_query_port_rsp rsp;
	struct ib_port_attr new, old;
	int rc;

	rc = vhca_cmd_query_port(dev, &rsp);
	if (rc)
		return rc;
	mutex_lock(&dev->cache_lock);
	old = dev->port;
	vhca_set_port(&new, &rsp, &old);
	dev->port = new;
	mutex_unlock(&dev->cache_lock);
	if (new.state != old.state && new.state == IB_PORT_ACTIVE)
		*events |= BIT(IB_EVENT_PORT_ACTIVE);
	if (new.state != old.state && old.state == IB_PORT_ACTIVE)
		*events |= BIT(IB_EVENT_PORT_ERR);
	if (new.lid != old.lid)
		*events |= BIT(IB_EVENT_LID_CHANGE);
	if (new.sm_lid != old.sm_lid)
		*events |= BIT(IB_EVENT_SM_CHANGE);
	return 0;
}

static int vhca_refresh(struct vhca_dev *dev, unsigned long *events)
{
	bool gids = false, pkeys = false;
	int rc;

	rc = vhca_refresh_port(dev, events);
	if (!rc)
		rc = vhca_refresh_gids(dev, &gids);
	if (!rc)
		rc = vhca_refresh_pkeys(dev, &pkeys);
	if (gids)
		*events |= BIT(IB_EVENT_GID_CHANGE);
	if (pkeys)
		*events |= BIT(IB_EVENT_PKEY_CHANGE);
	return rc;
}

/* One soon after the other: the next may wait for twice as long. */
static void vhca_refresh_pace(struct vhca_dev *dev)
{
	unsigned long now = jiffies, gap = dev->refresh_gap;

	if (time_before(now, dev->refreshed + 2 * gap))
		gap = min_t(unsigned long, 2 * gap, VHCA_REFRESH_GAP_MAX);
	else
		gap = VHCA_REFRESH_GAP;
	WRITE_ONCE(dev->refresh_gap, gap);
	WRITE_ONCE(dev->refreshed, now);
}

static void vhca_refresh_work(struct work_struct *work)
{
	struct vhca_dev *dev = container_of(to_delayed_work(work),
					    struct vhca_dev, refresh_work);
	struct ib_event event = {
		.device = &dev->ibdev, .element.port_num = VHCA_PORT,
	};
	unsigned long events;
	int bit, rc;

	if (!READ_ONCE(dev->registered))
		return;
	vhca_refresh_pace(dev);
	events = xchg(&dev->port_events, 0);
	rc = vhca_refresh(dev, &events);
	if (rc)
		ibdev_warn_ratelimited(&dev->ibdev,
				       "the port's state could not be read (%d), the last one stays\n",
				       rc);
	for_each_set_bit(bit, &events, BITS_PER_LONG) {
		event.event = bit;
		ib_dispatch_event(&event);
	}
}

/*
 * Not more often than this, whatever the backend says: each one costs commands,
 * and events that ib_uverbs keeps until every process has read them.
 */
void vhca_device_refresh(struct vhca_dev *dev)
{
	unsigned long next = READ_ONCE(dev->refreshed) +
			     READ_ONCE(dev->refresh_gap);
	unsigned long now = jiffies;

	if (READ_ONCE(dev->registered))
		schedule_delayed_work(&dev->refresh_work,
				      time_before(now, next) ? next - now : 0);
}

struct vhca_dev *vhca_device_alloc(struct xenbus_device *xbdev)
{
	struct vhca_dev *dev = ib_alloc_device(vhca_dev, ibdev);

	if (!dev)
		return NULL;
	get_device(&dev->ibdev.dev);	/* outlives dealloc_driver */
	dev->xbdev = xbdev;
	dev->ibdev.dev.parent = &xbdev->dev;
	mutex_init(&dev->cache_lock);
	vhca_event_init(dev);
	xa_init(&dev->gids);
	xa_init(&dev->cqs);
	xa_init(&dev->qps);
	xa_init(&dev->srqs);
	dev->refresh_gap = VHCA_REFRESH_GAP;
	dev->refreshed = jiffies - 2 * VHCA_REFRESH_GAP;
	INIT_DELAYED_WORK(&dev->refresh_work, vhca_refresh_work);
	return dev;
}

static int vhca_device_info(struct vhca_dev *dev)
{
	struct xenvhca_get_info_rsp *info = &dev->info;
	int rc;

	rc = vhca_cmd_get_info(dev, info);
	if (rc)
		return rc;
	if (!vhca_check_info(info)) {
		dev_err(&dev->xbdev->dev,
			"backend sent malformed device strings\n");
		return -EPROTO;
	}
	dev->provider = vhca_provider_find(info->driver_id,
					   info->uverbs_abi_ver);
	if (!dev->provider) {
		dev_err(&dev->xbdev->dev,
			"HCA %s: driver %u with ABI %u is unknown; choose another hca= or a newer frontend\n",
			info->hca, info->driver_id, info->uverbs_abi_ver);
		return -EOPNOTSUPP;
	}
	if (!dev->provider->run && !vhca_unproven) {
		dev_err(&dev->xbdev->dev,
			"HCA %s: provider %s was never run on hardware; to try it load this module with unproven=1\n",
			info->hca, dev->provider->name);
		return -EOPNOTSUPP;
	}
	if (info->node_type != RDMA_NODE_IB_CA) {
		dev_err(&dev->xbdev->dev,
			"HCA %s: node type %u is not supported; choose another hca=\n",
			info->hca, info->node_type);
		return -EOPNOTSUPP;
	}
	return 0;
}

/* Everything that ib_core asks for during registration. */
static int vhca_device_cache(struct vhca_dev *dev)
{
	struct xenvhca_query_device_rsp rsp;
	struct xenvhca_query_port_rsp port;
	unsigned long events = 0;
	int rc;

	rc = vhca_cmd_query_device(dev, NULL, NULL, &rsp);
	if (rc)
		return rc;
	vhca_set_attr(dev, &dev->attr, &rsp);
	rc = vhca_cmd_query_port(dev, &port);
	if (rc)
		return rc;
	dev->link_layer = port.link_layer <= IB_LINK_LAYER_ETHERNET ?
			  port.link_layer : IB_LINK_LAYER_UNSPECIFIED;
	dev->port.gid_tbl_len = clamp(port.gid_tbl_len, 1u, VHCA_MAX_GIDS);
	dev->port.pkey_tbl_len = clamp_t(u32, port.pkey_tbl_len, 1,
					 VHCA_MAX_PKEYS);
	dev->pkeys = kcalloc(dev->port.pkey_tbl_len, sizeof(u16), GFP_KERNEL);
	if (!dev->pkeys)
		return -ENOMEM;
	return vhca_refresh(dev, &events);
}

static void vhca_device_describe(struct vhca_dev *dev)
{
	const struct xenvhca_get_info_rsp *info = &dev->info;
	struct ib_device *ibdev = &dev->ibdev;
	u8 kicks = info->kicks & dev->provider->kicks;

	ib_set_device_ops(ibdev, &vhca_dev_ops);
	if (dev->attr.device_cap_flags & IB_UVERBS_DEVICE_XRC)
		ib_set_device_ops(ibdev, &vhca_xrc_ops);
	ibdev->ops.driver_id = info->driver_id;
	ibdev->ops.uverbs_abi_ver = info->uverbs_abi_ver;
	ibdev->node_type = info->node_type;
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

int vhca_device_register(struct vhca_dev *dev)
{
	int rc;

	if (PAGE_SIZE != XEN_PAGE_SIZE) {
		dev_err(&dev->xbdev->dev,
			"pages of %lu bytes: boot a kernel with 4 KiB pages\n",
			PAGE_SIZE);
		return -EOPNOTSUPP;
	}
	rc = vhca_device_info(dev);
	if (!rc)
		rc = vhca_device_cache(dev);
	if (rc)
		return rc;
	vhca_device_describe(dev);
	rc = ib_register_device(&dev->ibdev, "vhca%d", NULL);
	if (rc)
		return rc;
	WRITE_ONCE(dev->registered, true);
	dev_info(&dev->xbdev->dev, "%s is %s of domain %u, provider %s\n",
		 dev_name(&dev->ibdev.dev), dev->info.hca, dev->backend,
		 dev->provider->name);
	/* Events that came while ib_core could not be told. */
	vhca_device_refresh(dev);
	return 0;
}

/* Processes that have the device open keep their file, but nothing behind. */
void vhca_device_unregister(struct vhca_dev *dev)
{
	WRITE_ONCE(dev->leaving, true);
	WRITE_ONCE(dev->registered, false);
	cancel_delayed_work_sync(&dev->refresh_work);
	/* Waits if somebody else is at it; never registered is fine, too. */
	ib_unregister_device(&dev->ibdev);
}

void vhca_device_free(struct vhca_dev *dev)
{
	struct xenvhca_gid *gid;
	unsigned long index;

	vhca_event_exit(dev);
	cancel_delayed_work_sync(&dev->refresh_work);
	xa_for_each(&dev->gids, index, gid)
		kfree(gid);
	xa_destroy(&dev->gids);
	xa_destroy(&dev->cqs);
	xa_destroy(&dev->qps);
	xa_destroy(&dev->srqs);
	kfree(dev->pkeys);
	mutex_destroy(&dev->cache_lock);
	WRITE_ONCE(dev->leaving, true);
	if (!dev->dealloced)
		ib_dealloc_device(&dev->ibdev);
	put_device(&dev->ibdev.dev);
}
