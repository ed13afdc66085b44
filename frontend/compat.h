/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * All differences between the kernels 5.10 .. 7.2 that the frontend meets. No other file
 * knows them. A kernel is asked what it has (probes.in), as distributions take changes
 * of later versions into their kernels; the versions here are those of Linux itself.
 */
#ifndef VHCA_COMPAT_H
#define VHCA_COMPAT_H

#include <linux/device.h>
#include <linux/file.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/version.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>
#include <rdma/uverbs_ioctl.h>
#include <xen/grant_table.h>
#include <xen/interface/io/ring.h>
#include <xen/xen-ops.h>
#include <xen/xenbus.h>

#include "probes.h"

/* 5.11: rereg_user_mr returns a region, NULL for the same one. */
#ifdef VHCA_HAVE_REREG_MR_POINTER
#define vhca_rereg_t struct ib_mr *
#define vhca_reregged(rc) ERR_PTR(rc)
#else
#define vhca_rereg_t int
#define vhca_reregged(rc) (rc)
#endif

/* 5.11: address handles of processes and of the kernel are two calls. */
#ifndef VHCA_HAVE_CREATE_USER_AH
#define create_user_ah create_ah
#endif

/* 5.11: ib_core enables the commands whose operations a driver has. */
#ifdef VHCA_HAVE_CREATE_USER_AH
#define vhca_enable_commands(ibdev)
#else
static inline void vhca_enable_commands(struct ib_device *ibdev)
{
	if (ibdev->uverbs_cmd_mask)
		return;		/* ib_core of the distribution did */
	ibdev->uverbs_cmd_mask = ~(BIT_ULL(IB_USER_VERBS_CMD_PEEK_CQ) |
				   BIT_ULL(IB_USER_VERBS_CMD_POLL_CQ) |
				   BIT_ULL(IB_USER_VERBS_CMD_POST_RECV) |
				   BIT_ULL(IB_USER_VERBS_CMD_POST_SEND) |
				   BIT_ULL(IB_USER_VERBS_CMD_POST_SRQ_RECV) |
				   BIT_ULL(IB_USER_VERBS_CMD_REQ_NOTIFY_CQ));
	ibdev->uverbs_ex_cmd_mask |= BIT_ULL(IB_USER_VERBS_EX_CMD_CREATE_CQ) |
				     BIT_ULL(IB_USER_VERBS_EX_CMD_CREATE_QP) |
				     BIT_ULL(IB_USER_VERBS_EX_CMD_MODIFY_QP);
}
#endif

/* 5.11: a mapping of this processor alone. */
#ifndef VHCA_HAVE_KMAP_LOCAL
#define kmap_local_page(page) kmap_atomic(page)
#define kunmap_local(va) kunmap_atomic(va)
#endif

/* 5.11: the name says who is asked. */
#ifndef VHCA_HAVE_MAY_SPLIT
#define may_split split
#endif

/* 5.11: a mapping can refuse mprotect(). Before, it can only take rights away for ever. */
#ifdef VHCA_HAVE_VM_MPROTECT
#define VHCA_NO_MPROTECT(function) .mprotect = function,
#define vhca_refuse_mprotect(vma)
#else
#define VHCA_NO_MPROTECT(function)
#define vhca_refuse_mprotect(vma) do {				\
	(void)doorbell_mprotect;				\
	vm_flags_clear(vma, VM_MAYREAD | VM_MAYWRITE);		\
} while (0)
#endif

/* 5.13: as many ports as a switch has. */
#ifdef VHCA_HAVE_PORT_U32
#define vhca_port_t u32
#else
#define vhca_port_t u8
#endif

/* 5.13. The numbers are those of mlx5's providers, which ask whatever the kernel is. */
#ifndef VHCA_HAVE_MLX5_QUERY_PORT
enum {
	MLX5_IB_METHOD_QUERY_PORT = 1U << UVERBS_ID_NS_SHIFT,
};

enum {
	MLX5_IB_ATTR_QUERY_PORT_PORT_NUM = 1U << UVERBS_ID_NS_SHIFT,
	MLX5_IB_ATTR_QUERY_PORT,
};

struct mlx5_ib_uapi_query_port {
	__aligned_u64 flags;
	__u16 vport;
	__u16 vport_vhca_id;
	__u16 esw_owner_vhca_id;
	__u16 rsvd0;
	__aligned_u64 vport_steering_icm_rx;
	__aligned_u64 vport_steering_icm_tx;
	struct {
		__u32 value;
		__u32 mask;
	} reg_c0;
};
#endif

/* 5.12 */
#ifndef VHCA_HAVE_UDATA_TO_BUNDLE
#define rdma_udata_to_uverbs_attr_bundle(udata) \
	container_of(udata, struct uverbs_attr_bundle, driver_udata)
#endif

/* 5.14: attributes in sysfs come with the operations. */
#ifdef VHCA_HAVE_DEVICE_GROUP
#define VHCA_DEVICE_GROUP .device_group = &vhca_attrs,
#define vhca_device_group(ibdev)
#else
#define VHCA_DEVICE_GROUP
#define vhca_device_group(ibdev) rdma_set_device_sysfs_group(ibdev, &vhca_attrs)
#endif

/* 5.14: counters of a device and those of a port are two calls. */
#ifdef VHCA_HAVE_HW_PORT_STATS
#define vhca_stats_allocator(function) function
#else
#define alloc_hw_port_stats alloc_hw_stats
#define vhca_stats_allocator(function) vhca_alloc_hw_stats
struct rdma_hw_stats *vhca_alloc_hw_stats(struct ib_device *ibdev, vhca_port_t port);
#endif

/*
 * 5.15: ib_core allocates queue pairs. Before, older.c does, by the size that a row which
 * no device has keeps for it.
 */
#ifdef VHCA_HAVE_QP_SIZE
#define vhca_qp_creator(function) function
#define vhca_qp_destroyer(function) function
#else
#define size_ib_qp size_ib_counters
#define vhca_qp_creator(function) vhca_qp_alloc
#define vhca_qp_destroyer(function) vhca_qp_free
struct ib_qp *vhca_qp_alloc(struct ib_pd *pd, struct ib_qp_init_attr *attr,
			    struct ib_udata *udata);
int vhca_qp_free(struct ib_qp *qp, struct ib_udata *udata);
#endif

/* 5.15: a region's scatter list can grow. */
#ifdef VHCA_HAVE_UMEM_SGT
#define vhca_umem_sgl(umem) ((umem)->sgt_append.sgt.sgl)
#define vhca_umem_nents(umem) ((umem)->sgt_append.sgt.orig_nents)
#else
#define vhca_umem_sgl(umem) ((umem)->sg_head.sgl)
#define vhca_umem_nents(umem) ((umem)->sg_nents)
#endif

/* 5.16: a counter has flags, too. */
#ifdef VHCA_HAVE_STAT_DESC
#define vhca_stat_t struct rdma_stat_desc
#define vhca_stat_name(stat) ((stat).name)
#else
#define vhca_stat_t const char *
#define vhca_stat_name(stat) (stat)
#endif

/* 5.16: no frontend that a guest's start waits for. */
#ifdef VHCA_HAVE_NOT_ESSENTIAL
#define VHCA_NOT_ESSENTIAL .not_essential = true,
#else
#define VHCA_NOT_ESSENTIAL
#endif

/* 5.17 */
#ifndef INVALID_GRANT_REF
#define INVALID_GRANT_REF ((grant_ref_t)-1)
#endif
#ifndef INVALID_GRANT_HANDLE
#define INVALID_GRANT_HANDLE ((grant_handle_t)-1)
#endif

/* 5.17: one call ends a grant and frees its reference. */
#ifndef VHCA_HAVE_GNTTAB_TRY_END
static inline int gnttab_try_end_foreign_access(grant_ref_t ref)
{
	int ended = gnttab_end_foreign_access_ref(ref, 0);

	if (ended)
		gnttab_free_grant_reference(ref);
	return ended;
}
#endif

/* 5.18: the end of a grant is the same whatever it allowed; 5.19: it takes a page. */
#ifndef VHCA_HAVE_GNTTAB_END_REF
#define gnttab_end_foreign_access_ref(ref) gnttab_end_foreign_access_ref(ref, 0)
#define gnttab_end_foreign_access(ref, page) \
	gnttab_end_foreign_access(ref, 0, (unsigned long)page_address(page))
#else
#ifndef VHCA_HAVE_GNTTAB_END_PAGE
#define gnttab_end_foreign_access(ref, page) \
	gnttab_end_foreign_access(ref, (unsigned long)page_address(page))
#endif
#endif

/* 5.18 */
#ifndef XEN_FRONT_RING_INIT
#define XEN_FRONT_RING_INIT(ring, shared, size) do {	\
	SHARED_RING_INIT(shared);			\
	FRONT_RING_INIT(ring, shared, size);		\
} while (0)
#endif

/* 5.19: capabilities that processes see are apart from the kernel's own, with other names. */
#ifdef VHCA_HAVE_KERNEL_CAPS
#define vhca_user_caps(caps) (caps)
#else
#define vhca_user_caps(caps) ((caps) & ~(				\
	(u64)IB_DEVICE_LOCAL_DMA_LKEY | IB_DEVICE_UD_TSO |		\
	IB_DEVICE_BLOCK_MULTICAST_LOOPBACK | IB_DEVICE_CROSS_CHANNEL |	\
	IB_DEVICE_INTEGRITY_HANDOVER | IB_DEVICE_ON_DEMAND_PAGING |	\
	IB_DEVICE_SG_GAPS_REG | IB_DEVICE_VIRTUAL_FUNCTION |		\
	IB_DEVICE_RDMA_NETDEV_OPA))
#define kernel_cap_flags device_cap_flags
#define IBK_LOCAL_DMA_LKEY ((u64)IB_DEVICE_LOCAL_DMA_LKEY)
#define IB_UVERBS_DEVICE_XRC IB_DEVICE_XRC
#define IB_UVERBS_DEVICE_MANAGED_FLOW_STEERING IB_DEVICE_MANAGED_FLOW_STEERING
#define IB_UVERBS_DEVICE_RAW_SCATTER_FCS IB_DEVICE_RAW_SCATTER_FCS
#define IB_UVERBS_DEVICE_PCI_WRITE_END_PADDING IB_DEVICE_PCI_WRITE_END_PADDING
#endif

/* 5.19: a listener says whether IPv6's wildcard is that of IPv4, too. */
#ifdef VHCA_HAVE_IW_AFONLY
#define vhca_iw_afonly(iw) ((iw)->afonly)
#else
#define vhca_iw_afonly(iw) false
#endif

/* 6.1: remove() of a xenbus driver returns nothing; 6.11: that of a platform driver. */
#ifdef VHCA_HAVE_XENBUS_REMOVE_VOID
#define vhca_xenbus_removed_t	void
#define VHCA_XENBUS_REMOVED
#else
#define vhca_xenbus_removed_t	int
#define VHCA_XENBUS_REMOVED	0
#endif
#ifdef VHCA_HAVE_PLATFORM_REMOVE_VOID
#define vhca_removed_t	void
#define VHCA_REMOVED
#else
#define vhca_removed_t	int
#define VHCA_REMOVED	0
#endif

/* 6.3: vm_flags is read-only, changed through accessors. */
#ifndef VHCA_HAVE_VM_FLAGS_SET
static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}

static inline void vm_flags_clear(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags &= ~flags;
}
#endif

/* 6.11: the last argument of create_cq is the attribute bundle, of which udata is a part. */
#ifdef VHCA_HAVE_CQ_ATTRS
#define vhca_cq_attrs uverbs_attr_bundle
#define vhca_cq_udata(attrs) (&(attrs)->driver_udata)
#else
#define vhca_cq_attrs ib_udata
#define vhca_cq_udata(attrs) (attrs)
#endif

/*
 * 6.3: ib_umem_get() pins read-only what is registered read-only, and that can be
 * a page of a file, or the page of zeros (mem_access()). Before, it forced private copies.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
#define vhca_umem_access(access) ((access) | IB_ACCESS_LOCAL_WRITE)
#else
#define vhca_umem_access(access) (access)
#endif

/* 6.17: with a handle of DMA hints, none for a device that makes no such handles. */
#ifdef VHCA_HAVE_DMAH
#define VHCA_DMAH struct ib_dmah *dmah,
#else
#define VHCA_DMAH
#endif

/*
 * 6.18: the name says that the page is an ordinary one. A kernel that is neither for PV nor
 * has xen-gntdev has no such call then, and no use for it.
 */
#ifdef VHCA_HAVE_FIND_NORMAL_PAGE
#define VHCA_FIND_NORMAL_PAGE(function) .find_normal_page = function,
#else
#ifdef CONFIG_XEN_PV
#define VHCA_FIND_NORMAL_PAGE(function) .find_special_page = function,
#else
#define VHCA_FIND_NORMAL_PAGE(function)
#endif
#endif

/* 7.2, or a version between 6.18 and that. */
#ifndef VHCA_HAVE_UMEM_GET_VA
#define ib_umem_get_va ib_umem_get
#endif
#ifdef VHCA_HAVE_RESIZE_USER_CQ
#define vhca_cqe unsigned int
#else
#define resize_user_cq resize_cq
#define vhca_cqe int
#endif

/* Likewise: xenbus_dev_changed() looks at both states of a device (store_xenbus.c). */
#ifdef VHCA_HAVE_XENBUS_STATE_OF_DEVICE
#define VHCA_XENBUS_RESETS true
#else
#define VHCA_XENBUS_RESETS false
#define xenbus_read_driver_state(dev, path) xenbus_read_driver_state(path)
#endif

/*
 * A question of the RDMA core to an ib_client. The struct is the same in all these
 * kernels, but in drivers/infiniband/core/core_priv.h, which modules cannot include.
 */
struct ib_client_nl_info {
	struct sk_buff *nl_msg;
	struct device *cdev;
	u32 port;
	u64 abi;
};

/* 6.12: the option that lets a device have DMA operations has another name. */
#ifdef CONFIG_DMA_OPS
#define VHCA_CONFIG_DMA_OPS CONFIG_DMA_OPS
#else
#define VHCA_CONFIG_DMA_OPS CONFIG_ARCH_HAS_DMA_OPS
#endif

/* 7.2, or a version between 6.18 and that: they map addresses, not pages. */
#ifndef VHCA_HAVE_DMA_MAP_PHYS
#define dma_map_op map_page
#define dma_unmap_op unmap_page
#define VHCA_DMA_FROM struct page *page, unsigned long offset
#define VHCA_DMA_PHYS (page_to_phys(page) + offset)
#else
#define dma_map_op map_phys
#define dma_unmap_op unmap_phys
#define VHCA_DMA_FROM phys_addr_t phys
#define VHCA_DMA_PHYS phys
#endif

/* 6.17: the name says that it is per CPU. */
#ifndef VHCA_HAVE_SYSTEM_PERCPU_WQ
#define system_percpu_wq system_wq
#endif

/* 6.10: the file of a struct fd has an accessor. */
#ifndef fd_file
#define fd_file(f)	((f).file)
#endif

/* 6.2, 6.4: arguments that a class only reads are const. */
#ifdef VHCA_HAVE_DEVNODE_CONST
#define vhca_node_device_t	const struct device
#else
#define vhca_node_device_t	struct device
#endif
#ifdef VHCA_HAVE_CLASS_CONST
#define vhca_class_t		const struct class
#define vhca_class_attribute_t	const struct class_attribute
#else
#define vhca_class_t		struct class
#define vhca_class_attribute_t	struct class_attribute
#endif

/* 6.12: a file without llseek() cannot seek. */
#ifdef VHCA_HAVE_NO_LLSEEK_IS_DEFAULT
#define VHCA_NO_LLSEEK
#else
#define VHCA_NO_LLSEEK	.llseek = no_llseek,
#endif

#endif
