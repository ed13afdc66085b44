// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Limits the DMA segments of an HCA to one page while a worker uses it.
 * ib_umem_get() merges pages whose numbers are adjacent. In a PV domain these
 * need not be adjacent in the machine, and swiotlb-xen then gives the HCA a copy
 * that is never synchronised: data is lost silently. A segment of one
 * page cannot be merged. Arm's domains have swiotlb-xen and the same problem.
 *
 * This runs in the worker's system calls. The cap is read each time that memory
 * is registered, and at no other time. So setting it affects later
 * registrations only, and undoing it affects no memory that is registered.
 * A process that registers grants has to hold the file that requested the limit;
 * when the last such file is closed no process registers grants, and the old limit
 * is restored. Open files hold the module, so it is unloaded after that.
 */
#include <linux/device.h>
#include <linux/dma-mapping.h>
#include <linux/file.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <rdma/ib_verbs.h>
#include <xen/features.h>
#include <xen/xen.h>
#include "helper.h"

static bool vh_behind_iommu;
module_param_named(behind_iommu, vh_behind_iommu, bool, 0444);
MODULE_PARM_DESC(behind_iommu,
		 "Arm: Xen has an IOMMU between the HCA and memory (a domain cannot see it)");

/* One capped device, with a reference: its limits outlive the HCA's driver. */
struct vh_cap {
	struct list_head list;
	struct device *dev;
	unsigned int old;		/* bytes; 0: was not above a page */
	unsigned int users;		/* open files */
};

static LIST_HEAD(vh_cap_list);
static DEFINE_MUTEX(vh_cap_lock);

/* Also applied to a capped device: a driver that is bound anew sets its own limit. */
static void vh_cap_apply(struct vh_cap *cap)
{
	unsigned int now = dma_get_max_seg_size(cap->dev);

	if (now <= PAGE_SIZE)
		return;
	cap->old = now;
	dma_set_max_seg_size(cap->dev, PAGE_SIZE);
}

/* Restores the limit only if it is still ours. */
static void vh_cap_undo(struct vh_cap *cap)
{
	if (cap->old && dma_get_max_seg_size(cap->dev) == PAGE_SIZE)
		dma_set_max_seg_size(cap->dev, cap->old);
	put_device(cap->dev);
	list_del(&cap->list);
	kfree(cap);
	atomic_dec(&vh_capped);
}

/* Returns the cap of a device with one more user. vh_cap_lock is held. */
static struct vh_cap *vh_cap_find(struct device *dev)
{
	struct vh_cap *cap;

	list_for_each_entry(cap, &vh_cap_list, list) {
		if (cap->dev != dev)
			continue;
		cap->users++;
		return cap;
	}
	cap = kzalloc(sizeof(*cap), GFP_KERNEL);
	if (!cap)
		return NULL;
	cap->dev = get_device(dev);
	cap->users = 1;
	list_add(&cap->list, &vh_cap_list);
	atomic_inc(&vh_capped);
	return cap;
}

static int vh_cap_get(struct vh_file *vf, struct device *dev)
{
	int err = 0;

	if (!dev->dma_parms)
		return -EOPNOTSUPP;
	mutex_lock(&vh_cap_lock);
	if (!vf->cap)
		vf->cap = vh_cap_find(dev);
	if (!vf->cap)
		err = -ENOMEM;
	else if (vf->cap->dev != dev)
		err = -EBUSY;
	else
		vh_cap_apply(vf->cap);
	mutex_unlock(&vh_cap_lock);
	return err;
}

void vh_cap_release(struct vh_file *vf)
{
	mutex_lock(&vh_cap_lock);
	if (vf->cap && !--vf->cap->users)
		vh_cap_undo(vf->cap);
	mutex_unlock(&vh_cap_lock);
}

/*
 * The HCA of a uverbs file. No exported function leads from the file to its
 * ib_device, so the caller names it, and the name is checked: the uverbs
 * device has the same parent as the HCA that it belongs to. HCAs that share a
 * parent, as ports of one PCI device do, cannot be distinguished; one of them
 * would then be limited unnecessarily. The reference that
 * is returned (ib_device_put()) delays the removal of the HCA, so that its
 * dma_device is alive.
 */
static struct ib_device *vh_hca(int fd, const char *name)
{
	struct ib_device *hca = ERR_PTR(-EINVAL);
	struct file *file = fget(fd);
	struct device *uverbs;

	if (!file)
		return ERR_PTR(-EBADF);
	uverbs = vh_uverbs(file);
	if (uverbs)
		hca = vh_hca_get(name);
	if (!hca) {
		hca = ERR_PTR(-ENODEV);
	} else if (!IS_ERR(hca) && hca->dev.parent != uverbs->parent) {
		ib_device_put(hca);
		hca = ERR_PTR(-EINVAL);
	}
	fput(file);
	return hca;
}

/*
 * Can the HCA get a copy? Software HCAs use the kernel's addresses. In
 * x86 domains other than PV, and in no other, page numbers are the bus's.
 */
static bool vh_may_bounce(const struct ib_device *hca)
{
	return hca->dma_device &&
	       (xen_pv_domain() || !IS_ENABLED(CONFIG_X86));
}

/*
 * Would the HCA's DMA reach other memory than was registered? An Arm domain addresses
 * pages by numbers of its own unless Xen maps it directly, and cannot see an IOMMU that
 * translates for the HCA. Versions of Xen that report neither feature map dom0
 * directly.
 */
static bool vh_misses(const struct ib_device *hca)
{
	if (IS_ENABLED(CONFIG_X86) || !hca->dma_device || vh_behind_iommu ||
	    xen_feature(XENFEAT_direct_mapped))
		return false;
	return xen_feature(XENFEAT_not_direct_mapped) || !xen_initial_domain();
}

long vh_cap_dma(struct vh_file *vf, struct vhca_helper_cap_dma __user *arg)
{
	u32 result = VHCA_HELPER_CAP_NEEDLESS;
	struct vhca_helper_cap_dma c;
	struct ib_device *hca;
	int err = 0;

	if (copy_from_user(&c, arg, sizeof(c)))
		return -EFAULT;
	if (c.result || strnlen(c.hca, sizeof(c.hca)) == sizeof(c.hca))
		return -EINVAL;
	hca = vh_hca(c.fd, c.hca);
	if (IS_ERR(hca))
		return PTR_ERR(hca);
	if (vh_misses(hca)) {
		err = -EXDEV;
	} else if (vh_may_bounce(hca)) {
		result = VHCA_HELPER_CAP_DONE;
		err = vh_cap_get(vf, hca->dma_device);
	}
	ib_device_put(hca);
	if (err)
		return err;
	return put_user(result, &arg->result);
}
