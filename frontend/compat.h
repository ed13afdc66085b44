/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * All differences between the kernels 6.1 .. 7.2 that the frontend meets. No
 * other file tests the kernel version.
 */
#ifndef VHCA_COMPAT_H
#define VHCA_COMPAT_H

#include <linux/device.h>
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/version.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>
#include <xen/xenbus.h>

/* 6.3: vm_flags is read-only, changed through accessors. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
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
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
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
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0)
#define VHCA_DMAH struct ib_dmah *dmah,
#else
#define VHCA_DMAH
#endif

/* 6.18: the name says that the page is an ordinary one. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)
#define find_normal_page find_special_page
#endif

/* 7.2, or a version between 6.12 and that. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0)
#define ib_umem_get_va ib_umem_get
#define resize_user_cq resize_cq
#define vhca_cqe int
#define xenbus_read_driver_state(dev, path) xenbus_read_driver_state(path)
#else
#define vhca_cqe unsigned int
#endif

/* Likewise: xenbus_dev_changed() looks at both states of a device (store_xenbus.c). */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 2, 0)
#define VHCA_XENBUS_RESETS true
#else
#define VHCA_XENBUS_RESETS false
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
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#define VHCA_CONFIG_DMA_OPS CONFIG_ARCH_HAS_DMA_OPS
#else
#define VHCA_CONFIG_DMA_OPS CONFIG_DMA_OPS
#endif

/* 7.2, or a version between 6.12 and that: they map addresses, not pages. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0)
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
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
#define system_percpu_wq system_wq
#endif

/* 6.11: remove() of a platform driver returns nothing. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
#define vhca_removed_t	int
#define VHCA_REMOVED	0
#else
#define vhca_removed_t	void
#define VHCA_REMOVED
#endif

/* 6.10: the file of a struct fd has an accessor. */
#ifndef fd_file
#define fd_file(f)	((f).file)
#endif

/* 6.2, 6.4: arguments that a class only reads are const. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#define vhca_node_device_t	const struct device
#else
#define vhca_node_device_t	struct device
#endif
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
#define vhca_class_t		const struct class
#define vhca_class_attribute_t	const struct class_attribute
#else
#define vhca_class_t		struct class
#define vhca_class_attribute_t	struct class_attribute
#endif

/* 6.12: a file without llseek() cannot seek. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#define VHCA_NO_LLSEEK	.llseek = no_llseek,
#else
#define VHCA_NO_LLSEEK
#endif

#endif
