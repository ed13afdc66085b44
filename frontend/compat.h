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

/*
 * 6.11: the last argument of create_cq is the attribute bundle. The op is
 * declared with struct vhca_cq_attrs * and gets at udata by vhca_cq_udata().
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
#define vhca_cq_attrs uverbs_attr_bundle
static inline struct ib_udata *vhca_cq_udata(struct uverbs_attr_bundle *attrs)
{
	return &attrs->driver_udata;
}
#else
#define vhca_cq_attrs ib_udata
static inline struct ib_udata *vhca_cq_udata(struct ib_udata *udata)
{
	return udata;
}
#endif

/*
 * 6.3: ib_umem_get() pins read-only what is registered read-only, and that can be
 * a page of a file, or the page of zeros. What is granted read-write must not be:
 * ask for writable pages, as ib_umem_get() always did before. There it forced
 * private copies; now a region in memory that its process cannot write to is
 * refused with EFAULT, unless the backend takes pages that are granted read-only.
 */
static inline int vhca_umem_access(int access)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	return access | IB_ACCESS_LOCAL_WRITE;
#else
	return access;
#endif
}

/* 6.17: with a handle of DMA hints, none for a device that makes no such handles. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0)
struct ib_mr *vhca_reg_mr(struct ib_pd *ibpd, u64 start, u64 length,
			  u64 virt_addr, int access, struct ib_udata *udata);

static inline struct ib_mr *vhca_reg_mr_op(struct ib_pd *ibpd, u64 start,
					   u64 length, u64 virt_addr, int access,
					   struct ib_dmah *dmah,
					   struct ib_udata *udata)
{
	return vhca_reg_mr(ibpd, start, length, virt_addr, access, udata);
}
#else
#define vhca_reg_mr_op vhca_reg_mr
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

/*
 * Likewise: xenbus takes a device for one that was made anew, and removes it, if its state
 * is Initialising in xenstore and another one in the driver (xenbus_dev_changed()). It reads
 * one after the other, so only its own thread may end the state (store_xenbus.c).
 */
#define VHCA_XENBUS_RESETS (LINUX_VERSION_CODE >= KERNEL_VERSION(7, 2, 0))

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

/*
 * 6.12: the option that lets a device have DMA operations has another name. On Arm a store
 * to a doorbell page that was taken away would be an abort in the kernel; with 32 bits
 * vhca_key() has no room for the number of a connection.
 */
#define VHCA_DMA_OPS							\
	(IS_ENABLED(CONFIG_X86_64) && (IS_ENABLED(CONFIG_DMA_OPS) ||	\
				       IS_ENABLED(CONFIG_ARCH_HAS_DMA_OPS)))

/* 7.2, or a version between 6.12 and that: they map addresses, not pages. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0)
#define VHCA_DMA_MAP	.map_page = map_page, .unmap_page = unmap,
#else
#define VHCA_DMA_MAP	.map_phys = map_phys, .unmap_phys = unmap,
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
