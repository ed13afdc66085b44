// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The physical HCA as one worker sees it: it is opened once for queries,
 * refused with a clear message if its provider is not known, and described to
 * the guest within the quotas. The command thread runs this.
 */
#include <errno.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "clock.h"
#include "device.h"
#include "core/event.h"
#include "host/chardev.h"
#include "uverbs/cm.h"
#include "uverbs/sysfs.h"
#include "uverbs/umad.h"
#include "verbs/chunk.h"
#include "verbs/cm.h"
#include "verbs/counters.h"
#include "verbs/object.h"
#include "verbs/tables.h"
#include "context/context.h"
#include "verbs/ucontext.h"
#include "verbs/udata.h"
#include "verbs/umad.h"

#define LINK_ETHERNET	2		/* IBV_LINK_LAYER_ETHERNET */

/*
 * Capabilities whose commands do not exist here, or whose queue pairs: checksums of
 * datagrams need one of IPoIB's (SOURCE_QPN), or a consumer in a kernel.
 */
#define CAPS_HIDDEN							\
	(IB_UVERBS_DEVICE_RAW_MULTI | IB_UVERBS_DEVICE_UD_IP_CSUM |	\
	 IB_UVERBS_DEVICE_RAW_IP_CSUM |					\
	 IB_UVERBS_DEVICE_RAW_SCATTER_FCS |				\
	 IB_UVERBS_DEVICE_MANAGED_FLOW_STEERING |			\
	 IB_UVERBS_DEVICE_PCI_WRITE_END_PADDING)

/*
 * What a newer kernel has besides (6.12: flush and atomic write of rxe) takes
 * opcodes and access flags that the protocol does not have.
 */
#define CAPS_KNOWN	(((uint64_t)IB_UVERBS_DEVICE_PCI_WRITE_END_PADDING << 1) - 1)

/* Capabilities of memory windows, and of what invalidates them. */
#define CAPS_WINDOWS							\
	(IB_UVERBS_DEVICE_MEM_WINDOW | IB_UVERBS_DEVICE_MEM_WINDOW_TYPE_2A | \
	 IB_UVERBS_DEVICE_MEM_WINDOW_TYPE_2B |				\
	 IB_UVERBS_DEVICE_MEM_MGT_EXTENSIONS)

static int find_chardev(struct be_dev *dev, struct host_chardev *cd)
{
	char have[256];
	int err;

	if (!be_hca_name_ok(dev->hca)) {
		be_fault(dev, "hca \"%s\": not a name of an RDMA device",
		       dev->hca);
		return -EINVAL;
	}
	err = host_chardev(dev->hca, cd);
	if (err == -ENODEV) {
		be_hca_list(have, sizeof(have));
		be_fault(dev, "hca \"%s\" does not exist; this domain has: %s",
		       dev->hca, have);
	} else if (err) {
		be_fault(dev, "hca \"%s\": no verbs device (%s); is the module ib_uverbs loaded?",
		       dev->hca, strerror(-err));
	}
	return err;
}

void be_dev_provider(struct be_dev *dev, const struct vhca_provider *prov)
{
	const struct vhca_udata_op *row;

	dev->prov = prov;
	dev->quota.context_uars = prov->context_uars;
	memset(dev->rows, 0, sizeof(dev->rows));
	for (row = prov->ops; row->op; row++)
		dev->rows[row->op] = row;
}

static int find_provider(struct be_dev *dev, const struct host_chardev *cd)
{
	const struct vhca_provider *prov = vhca_provider_find(cd->driver_id, cd->abi);

	if (!prov) {
		be_fault(dev, "hca \"%s\": driver %u with ABI %u is not supported",
		       dev->hca, cd->driver_id, cd->abi);
		return -EOPNOTSUPP;
	}
	be_dev_provider(dev, prov);
	return prov->qp_group ?
	       be_quota_groups(&dev->quota, prov->qp_group, prov->qp_group_pages) : 0;
}

/* The HCA's driver must be one for which the lengths of the table are right. */
static int judge_context(struct be_dev *dev, const struct uv_udata *ask)
{
	const struct vhca_field *f;

	f = vhca_provider_differs(dev->rows[XENVHCA_OP_ALLOC_UCONTEXT], ask->out,
				  ask->out_len);
	if (!f)
		return 0;
	be_fault(dev, "hca \"%s\": its driver has another length of queue entries than the %u octets that %s is supported with",
		 dev->hca, (unsigned int)f->arg, dev->prov->name);
	return -EOPNOTSUPP;
}

static int open_context(struct be_dev *dev, const struct host_chardev *cd,
			uint32_t *vectors)
{
	uint8_t answer[XENVHCA_UDATA_SIZE];
	int n = snprintf(dev->uverbs_path, sizeof(dev->uverbs_path),
			 "/dev/infiniband/%s", cd->name);
	const struct uv_udata ask = {
		.in = dev->prov->ask_in, .in_len = dev->prov->ask_in_len,
		.out = answer, .out_len = dev->prov->ask_out_len,
	};
	int err = 0;

	if (n < 0 || (size_t)n >= sizeof(dev->uverbs_path))
		return -ENAMETOOLONG;
	dev->ctl_fd = uv_open(dev->uverbs_path);
	if (dev->ctl_fd < 0) {
		err = dev->ctl_fd;
		dev->ctl_fd = -1;
	}
	if (!err)
		err = uv_alloc_ucontext(dev->ctl_fd, &ask, &dev->ctl_async_fd,
					vectors);
	if (err)
		be_fault(dev, "cannot open %s: %s", dev->uverbs_path,
		       strerror(-err));
	return err ? err : judge_context(dev, &ask);
}

/*
 * What reaches memory by DMA must not get copies of it: on a PV domain the
 * kernel makes some, silently, of memory that it takes for contiguous.
 */
static int cap_dma(struct be_dev *dev)
{
	int err;

	if (!dev->prov->mmaps)		/* a software HCA */
		return 0;
	err = dev->t->ops->cap_dma(dev->t, dev->hca, dev->ctl_fd);
	if (err == -EXDEV)
		be_fault(dev, "hca \"%s\": its DMA would reach other memory: on Arm this domain needs a direct map, or an IOMMU (then: modprobe xen-vhca-helper behind_iommu=1)",
			 dev->hca);
	else if (err)
		be_fault(dev, "hca \"%s\": its DMA segments cannot be kept within a page (%s), which a PV domain needs or data is lost%s",
			 dev->hca, strerror(-err), err == -ENOTTY ?
			 "; load the xen-vhca-helper of this version" : "");
	return err;
}

static uint8_t node_type(const struct be_dev *dev)
{
	char text[32];

	be_sysfs_read(dev->hca, text, sizeof(text), "node_type");
	return (uint8_t)strtoul(text, NULL, 10);
}

/* Is there a connection manager that this process may open? */
static bool has_cm(const struct be_dev *dev, const struct host_chardev *cd)
{
	int fd = cd->cm ? uv_open_file(UV_CM_PATH) : -ENOENT;

	if (fd < 0) {
		be_log(dev, BE_WARN, "no rdma_cm for the guest: %s: %s; load the module rdma_ucm, then attach anew",
		       UV_CM_PATH, strerror(-fd));
		return false;
	}
	uv_close(&fd);
	return true;
}

/* Is there a file for management datagrams of the port that this process may open? */
static bool has_umad(struct be_dev *dev, const struct host_chardev *cd)
{
	char name[HOST_CHARDEV_NAME];
	int fd;

	if (dev->umad == BE_UMAD_NONE)
		return false;
	fd = host_umad(cd->index, dev->port, name);
	if (!fd) {
		snprintf(dev->umad_path, sizeof(dev->umad_path),
			 "/dev/infiniband/%s", name);
		fd = uv_open_file(dev->umad_path);
	}
	if (fd < 0) {
		be_log(dev, BE_WARN, "no umad for the guest: hca \"%s\" port %u: %s; load the module ib_umad and let the unit open it (docs/design/umad.md), then attach anew",
		       dev->hca, dev->port, strerror(-fd));
		return false;
	}
	uv_close(&fd);
	return true;
}

static uint8_t info_flags(struct be_dev *dev, const struct host_chardev *cd)
{
	struct utsname u;
	uint8_t flags = 0;

	if (!uname(&u) && be_pins_readonly(u.release))
		flags |= XENVHCA_INFO_READONLY;
	if (be_gids_own(dev))
		flags |= XENVHCA_INFO_OWN_GIDS;
	if (be_pkeys_own(dev))
		flags |= XENVHCA_INFO_OWN_PKEYS;
	if (dev->window.nr)
		flags |= XENVHCA_INFO_STATIC_DOORBELLS;
	if (has_cm(dev, cd))
		flags |= XENVHCA_INFO_CM;
	if (dev->counters)
		flags |= XENVHCA_INFO_COUNTERS;
	if (has_umad(dev, cd))
		flags |= XENVHCA_INFO_UMAD;
	return flags;
}

/*
 * The work request of a datagram of an mlx4 names the port, which of a guest's is always 1.
 * An HCA that does not compare it with that of the queue pair (UD_AV_PORT_ENFORCE) would send
 * it on a port that is not the guest's.
 */
static int port_check(struct be_dev *dev, const struct ib_uverbs_ex_query_device_resp *q)
{
	if (!dev->port || dev->port > q->base.phys_port_cnt) {
		be_fault(dev, "hca \"%s\" has no port %u, only 1..%u",
		       dev->hca, dev->port, q->base.phys_port_cnt);
		return -EINVAL;
	}
	if (!dev->prov->av_port)
		return 0;
	if (dev->port != 1) {
		be_fault(dev, "hca \"%s\" port %u: guests can have port 1 of an %s alone, which each datagram of theirs names",
			 dev->hca, dev->port, dev->prov->name);
		return -EOPNOTSUPP;
	}
	if (q->base.phys_port_cnt > 1 &&
	    !(q->device_cap_flags_ex & IB_UVERBS_DEVICE_UD_AV_PORT_ENFORCE)) {
		be_fault(dev, "hca \"%s\" has %u ports and does not bind a datagram to that of its queue pair: guests could send on all",
			 dev->hca, q->base.phys_port_cnt);
		return -EOPNOTSUPP;
	}
	return 0;
}

static int link_check(struct be_dev *dev)
{
	if (!dev->prov->ib_only || !dev->ethernet)
		return 0;
	be_fault(dev, "hca \"%s\" port %u: Ethernet ports of an %s are not supported, only InfiniBand",
		 dev->hca, dev->port, dev->prov->name);
	return -EOPNOTSUPP;
}

static int read_limits(struct be_dev *dev, const struct host_chardev *cd,
		       uint32_t vectors)
{
	struct ib_uverbs_ex_query_device_resp q = {};
	struct ib_uverbs_query_port_resp p = {};
	struct xenvhca_get_info_rsp *info = &dev->info;
	uint64_t pages = dev->quota.max_pages;
	uint32_t region = UINT32_MAX;
	struct utsname u;
	int err = uv_query_device(dev->ctl_fd, NULL, &q);

	if (!err) {
		err = port_check(dev, &q);
		if (err)
			return err;
		err = uv_query_port(dev->ctl_fd, dev->port, &p);
	}
	if (err) {
		be_fault(dev, "cannot query hca \"%s\": %s", dev->hca,
		       strerror(-err));
		return err;
	}
	dev->ibdev_index = cd->index;
	dev->dmabuf_end = be_dmabuf_end(dev, q.odp_caps.general_caps);
	dev->gid_tbl_len = p.gid_tbl_len;
	dev->pkey_tbl_len = p.pkey_tbl_len;
	dev->ethernet = p.link_layer == LINK_ETHERNET;
	err = link_check(dev);
	if (err)
		return err;
	dev->domain_pages = be_helper_pages();
	if (pages > XENVHCA_MAX_PAGES_LEVEL2)
		pages = XENVHCA_MAX_PAGES_LEVEL2;
	if (!uname(&u))
		region = be_region_pages(cd->driver_id, u.release);
	if (pages > region)
		pages = region;
	*info = (struct xenvhca_get_info_rsp){
		.driver_id = cd->driver_id, .uverbs_abi_ver = cd->abi,
		.node_guid = q.base.node_guid, .num_comp_vectors = vectors,
		.node_type = node_type(dev), .kicks = dev->prov->kicks,
		.max_pages = (uint32_t)pages, .flags = info_flags(dev, cd),
	};
	memcpy(info->hca, dev->hca, sizeof(info->hca));
	be_sysfs_read(dev->hca, info->fw, sizeof(info->fw), "fw_ver");
	be_sysfs_read(dev->hca, info->hca_type, sizeof(info->hca_type), "hca_type");
	be_sysfs_read(dev->hca, info->hw_rev, sizeof(info->hw_rev), "hw_rev");
	be_sysfs_read(dev->hca, info->board_id, sizeof(info->board_id), "board_id");
	return 0;
}

int be_dev_open(struct be_dev *dev)
{
	struct host_chardev cd = {};
	uint32_t vectors = 0;
	int err;

	dev->ctl_fd = dev->ctl_async_fd = -1;
	dev->gids_changed = be_gids_changed;
	dev->handles = be_handles_new();
	err = dev->handles ? 0 : -ENOMEM;
	if (!err)
		err = find_chardev(dev, &cd);
	if (!err)
		err = find_provider(dev, &cd);
	if (!err)
		err = be_static_check(dev);
	if (!err)
		err = open_context(dev, &cd, &vectors);
	if (!err)
		err = be_ctl_open(dev);
	if (!err)
		err = be_cm_open(dev);
	if (!err)
		err = be_umad_open(dev);
	if (!err)
		err = cap_dma(dev);
	if (!err)
		err = be_counters_open(dev);
	if (!err)
		err = read_limits(dev, &cd, vectors);
	if (err)
		be_dev_close(dev);
	else
		be_log(dev, BE_INFO, "hca %s port %u, driver %s, %s", dev->hca,
		       dev->port, dev->prov->name, dev->uverbs_path);
	if (!err && dev->trusted && dev->prov->no_windows)
		be_log(dev, BE_WARN, "trusted=1: this guest has memory windows, with which it can end the kernel of this domain");
	return err;
}

void be_dev_close(struct be_dev *dev)
{
	struct be_obj *o, *next;

	if (!dev->handles)
		return;
	if (dev->t)
		dev->t->closing = true;
	for (o = dev->ucontexts; o; o = next) {
		next = o->next;
		if (be_ucontext_close(dev, (struct be_uc *)o))
			dev->unsettled = true;
	}
	be_counters_close(dev);
	be_ctl_close(dev);
	be_cm_close(dev);
	be_umad_close(dev);
	be_vfiles_end(dev);
	dev->unsettled |= dev->vfiles[BE_VFILE_PARKED] != NULL;
	be_event_del(dev, dev->ctl_async_fd);
	uv_close(&dev->ctl_async_fd);
	uv_close(&dev->ctl_fd);
	be_chunk_end(dev);
	be_quota_groups_end(&dev->quota);
	be_handles_free(dev->handles);
	dev->handles = NULL;
}

int be_get_info(const struct be_cmd *c)
{
	c->rsp->u.get_info = c->dev->info;
	return 0;
}

static uint64_t caps_shown(const struct be_dev *dev, uint64_t caps)
{
	caps &= CAPS_KNOWN;
	if (!dev->prov->xrc)
		caps &= ~(uint64_t)IB_UVERBS_DEVICE_XRC;
	if (!be_windows(dev))
		caps &= ~(uint64_t)CAPS_WINDOWS;
	return caps & ~(uint64_t)CAPS_HIDDEN;
}

static uint32_t lower(uint32_t host, uint32_t quota)
{
	return host < quota ? host : quota;
}

static uint16_t short_of(uint32_t v)
{
	return lower(v, UINT16_MAX);
}

static void tags_answer(const struct ib_uverbs_tm_caps *tm,
			struct xenvhca_query_device_rsp *r)
{
	if (!tm->max_num_tags)
		return;
	r->tm_max_tags = lower(tm->max_num_tags, XENVHCA_MAX_TAGS);
	r->tm_max_ops = tm->max_ops;
	r->tm_flags = tm->flags & XENVHCA_TM_RNDV_RC;
	r->tm_max_sge = short_of(tm->max_sge);
	r->tm_max_rndv_hdr = short_of(tm->max_rndv_hdr_size);
}

/* Pages of the queues that one object has: of the guest's, or of the HCA's driver. */
static uint64_t queue_room(const struct be_dev *dev)
{
	uint64_t own = dev->quota.max_pages / 2;	/* with their shadows */

	if (dev->prov->mmaps)
		return dev->info.max_pages;
	return own < dev->domain_pages ? own : dev->domain_pages;
}

static void device_answer(const struct be_dev *dev,
			  const struct ib_uverbs_ex_query_device_resp *q,
			  struct xenvhca_query_device_rsp *r)
{
	const struct ib_uverbs_query_device_resp *b = &q->base;
	const uint32_t *max = dev->quota.max;
	uint64_t size = (uint64_t)dev->info.max_pages * XENVHCA_PAGE_SIZE;
	const struct vhca_provider *p = dev->prov;
	uint64_t room = queue_room(dev);

	*r = (struct xenvhca_query_device_rsp){
		.fw_ver = b->fw_ver,
		.sys_image_guid = b->sys_image_guid,
		.max_mr_size = b->max_mr_size < size ? b->max_mr_size : size,
		.page_size_cap = b->page_size_cap,
		.device_cap_flags = caps_shown(dev, q->device_cap_flags_ex),
		.timestamp_mask = q->timestamp_mask,
		.hca_core_clock = q->hca_core_clock,
		.vendor_id = b->vendor_id,
		.vendor_part_id = b->vendor_part_id,
		.hw_ver = b->hw_ver,
		.max_qp = lower(b->max_qp, max[BE_QP]),
		.max_qp_wr = vhca_provider_entries(b->max_qp_wr, p->qp_wr_len,
						   room),
		.max_send_sge = b->max_sge,
		.max_recv_sge = b->max_sge,
		.max_sge_rd = b->max_sge_rd,
		.max_cq = lower(b->max_cq, max[BE_CQ]),
		.max_cqe = vhca_provider_entries(b->max_cqe, p->cqe_len, room),
		.max_mr = lower(b->max_mr, max[BE_MR]),
		.max_pd = lower(b->max_pd, max[BE_PD]),
		.max_qp_rd_atom = b->max_qp_rd_atom,
		.max_ee_rd_atom = b->max_ee_rd_atom,
		.max_res_rd_atom = b->max_res_rd_atom,
		.max_qp_init_rd_atom = b->max_qp_init_rd_atom,
		.max_ee_init_rd_atom = b->max_ee_init_rd_atom,
		.atomic_cap = b->atomic_cap,
		.max_cq_count = q->cq_moderation_caps.max_cq_moderation_count,
		.max_cq_period = q->cq_moderation_caps.max_cq_moderation_period,
		.max_ee = b->max_ee,
		.max_rdd = b->max_rdd,
		.max_mw = be_windows(dev) ? lower(b->max_mw, max[BE_MW]) : 0,
		.max_mcast_grp = lower(b->max_mcast_grp, max[BE_MCAST]),
		.max_mcast_qp_attach =
			lower(lower(b->max_mcast_qp_attach, BE_GROUP_QPS),
			      max[BE_MCAST]),
		.max_total_mcast_qp_attach =
			lower(b->max_total_mcast_qp_attach, max[BE_MCAST]),
		.max_ah = lower(b->max_ah, max[BE_AH]),
		.max_srq = lower(b->max_srq, max[BE_SRQ]),
		.max_srq_wr = vhca_provider_entries(b->max_srq_wr,
						    p->srq_wr_len, room),
		.max_srq_sge = b->max_srq_sge,
		.max_pkeys = be_pkeys_own(dev) ?
			     (uint16_t)be_pkey_count(dev) : b->max_pkeys,
		.local_ca_ack_delay = b->local_ca_ack_delay,
	};
	if (dev->prov->tm)
		tags_answer(&q->tm_caps, r);
}

int be_query_device(const struct be_cmd *c)
{
	struct ib_uverbs_ex_query_device_resp q = {};
	struct be_udata u;
	int fd = c->uc ? c->uc->file->fd : c->dev->ctl_fd;
	int err = be_udata_begin(&u, c, NULL, NULL);

	if (!err)
		err = uv_query_device(fd, &u.uv, &q);
	if (err)
		return err;
	device_answer(c->dev, &q, &c->rsp->u.query_device);
	return be_udata_end(&u, c, 0);
}

/*
 * PortInfo's CapabilityMask. In uverbs' answer the flag of IP-based GIDs takes the place of
 * one of its bits (make_port_cap_flags(), drivers/infiniband/core/uverbs_std_types_device.c).
 */
static uint32_t port_caps(struct be_dev *dev, uint32_t flags)
{
	char text[32];

	if (dev->ethernet)
		return flags & ~IB_UVERBS_PCF_IP_BASED_GIDS;
	/* A query of the HCA once more: as much work as a command. */
	vl_bucket_charge(&dev->quota.cmd, vl_coarse_ns(), 1);
	if (be_sysfs_read(dev->hca, text, sizeof(text), "ports/%u/cap_mask", dev->port))
		return flags;
	return (uint32_t)strtoul(text, NULL, 16);
}

int be_query_port(const struct be_cmd *c)
{
	const uint32_t ip_gids = IB_UVERBS_PCF_IP_BASED_GIDS;
	struct ib_uverbs_query_port_resp p = {};
	int err = uv_query_port(c->dev->ctl_fd, c->dev->port, &p);

	if (err)
		return err;
	c->rsp->u.query_port = (struct xenvhca_query_port_rsp){
		.state = p.state, .max_mtu = p.max_mtu,
		.active_mtu = p.active_mtu, .gid_tbl_len = p.gid_tbl_len,
		.port_cap_flags = port_caps(c->dev, p.port_cap_flags),
		.max_msg_sz = p.max_msg_sz, .bad_pkey_cntr = p.bad_pkey_cntr,
		.qkey_viol_cntr = p.qkey_viol_cntr, .lid = p.lid,
		.sm_lid = p.sm_lid,
		.pkey_tbl_len = (uint16_t)be_pkey_count(c->dev),
		.lmc = p.lmc, .max_vl_num = p.max_vl_num, .sm_sl = p.sm_sl,
		.subnet_timeout = p.subnet_timeout,
		.init_type_reply = p.init_type_reply,
		.active_width = p.active_width, .phys_state = p.phys_state,
		.link_layer = p.link_layer, .active_speed = p.active_speed,
		.ip_gids = !!(p.port_cap_flags & ip_gids),
	};
	return 0;
}
