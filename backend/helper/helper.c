// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * xen-vhca-helper does the tasks of xen-vhcad that user space in the backend domain
 * cannot do. (1) It grants queue pages that the HCA's driver allocated and the
 * daemon mapped through a verbs file. (2) It keeps the memory of a dead worker
 * until nothing in it is pinned by verbs any more, because a grant mapping must
 * not be torn down under a memory region. (3) It reports the frames of mapped
 * doorbell pages. (4) It limits the HCA's DMA segments to one page. (5) It maps grants
 * for the HCA alone.
 *
 * It runs in the worker's system calls and in one workqueue. It trusts the
 * caller (root) not to be hostile; it does not trust the granted domain: a page
 * that this domain still maps is neither freed nor reused.
 */
#include <linux/cdev.h>
#include <linux/debugfs.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <xen/page.h>
#include <xen/xen.h>
#include "helper.h"

static struct miscdevice vh_misc;
static struct dentry *vh_debug;
struct workqueue_struct *vh_wq;
atomic_t vh_grants, vh_zombies, vh_kept, vh_capped, vh_mapped;

/*
 * The device of a file of /dev/infiniband/uverbsN, or NULL: it is the parent
 * of the character device (which the open file keeps alive), and belongs to
 * the class of that name. Comparing ktypes first makes sure that the parent
 * is a struct device at all. Works with ib_uverbs built in and as a module.
 */
struct device *vh_uverbs(const struct file *file)
{
	struct inode *inode = file_inode(file);
	struct kobject *kobj;

	if (!S_ISCHR(inode->i_mode) || !inode->i_cdev)
		return NULL;
	kobj = inode->i_cdev->kobj.parent;
	if (!kobj || kobj->ktype != vh_misc.this_device->kobj.ktype)
		return NULL;
	if (!kobj_to_dev(kobj)->class ||
	    strcmp(kobj_to_dev(kobj)->class->name, "infiniband_verbs"))
		return NULL;
	return kobj_to_dev(kobj);
}

bool vh_is_uverbs(const struct vm_area_struct *vma)
{
	return vma->vm_file && vh_uverbs(vma->vm_file);
}

static int vh_open(struct inode *inode, struct file *file)
{
	struct vh_file *vf = kzalloc(sizeof(*vf), GFP_KERNEL);

	if (!vf)
		return -ENOMEM;
	xa_init_flags(&vf->ranges, XA_FLAGS_ALLOC1);
	file->private_data = vf;
	return nonseekable_open(inode, file);
}

static int vh_flush(struct file *file, fl_owner_t id)
{
	struct vh_file *vf = file->private_data;

	vh_keep_flush(vf->keep);
	return 0;
}

static int vh_release(struct inode *inode, struct file *file)
{
	struct vh_file *vf = file->private_data;

	vh_grant_release(vf);
	vh_cap_release(vf);
	vh_keep_release(vf->keep);
	kfree(vf);
	return 0;
}

static long vh_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	void __user *uarg = (void __user *)arg;

	switch (cmd) {
	case VHCA_HELPER_GRANT:
		return vh_grant(file->private_data, uarg);
	case VHCA_HELPER_UNGRANT:
		return vh_ungrant(file->private_data, uarg);
	case VHCA_HELPER_KEEP_MM:
		return vh_keep_mm(file->private_data);
	case VHCA_HELPER_FRAMES:
		return vh_frames(uarg);
	case VHCA_HELPER_CAP_DMA:
		return vh_cap_dma(file->private_data, uarg);
	case VHCA_HELPER_MAP:
		return vh_map(uarg);
	default:
		return -ENOTTY;
	}
}

static const struct file_operations vh_fops = {
	.owner = THIS_MODULE,
	.open = vh_open,
	.flush = vh_flush,
	.release = vh_release,
	.unlocked_ioctl = vh_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static struct miscdevice vh_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "xen/vhca-helper",
	.fops = &vh_fops,
	.mode = 0600,
};

static int __init vh_init(void)
{
	int err;

	if (!xen_domain() || PAGE_SIZE != XEN_PAGE_SIZE)
		return -ENODEV;
	vh_wq = alloc_workqueue("xen-vhca-helper", WQ_UNBOUND, 0);
	if (!vh_wq)
		return -ENOMEM;
	err = vh_hca_start();
	if (err)
		goto destroy_wq;
	err = misc_register(&vh_misc);
	if (err)
		goto stop_hca;
	vh_debug = debugfs_create_dir("xen-vhca-helper", NULL);
	debugfs_create_atomic_t("grants", 0400, vh_debug, &vh_grants);
	debugfs_create_atomic_t("zombies", 0400, vh_debug, &vh_zombies);
	debugfs_create_atomic_t("kept_mms", 0400, vh_debug, &vh_kept);
	debugfs_create_atomic_t("capped_hcas", 0400, vh_debug, &vh_capped);
	debugfs_create_atomic_t("mapped", 0400, vh_debug, &vh_mapped);
	return 0;

stop_hca:
	vh_hca_stop();
destroy_wq:
	destroy_workqueue(vh_wq);
	return err;
}

/* No file is open, no memory kept, no HCA capped, no dma-buf left: all hold the module. */
static void __exit vh_exit(void)
{
	debugfs_remove(vh_debug);
	misc_deregister(&vh_misc);
	vh_hca_stop();
	vh_grant_stop();
	destroy_workqueue(vh_wq);
}

module_init(vh_init);
module_exit(vh_exit);
MODULE_DESCRIPTION("Xen paravirtual RDMA HCA: kernel helper of xen-vhcad");
MODULE_AUTHOR("The vhca authors");
MODULE_LICENSE("GPL");
MODULE_ALIAS("xen-backend:vhca");
