// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The guest's /dev/infiniband/rdma_cm, as long as there is a vhca whose backend serves
 * it. librdmacm looks for a misc device of this name, and asks the RDMA core for the
 * client "rdma_cm"; the kernel's own module rdma_ucm has both as well, so only one of
 * the two can be loaded.
 *
 * A file belongs to one device, the first that there was when it was opened, and fails
 * when that goes. Processes, the worker of the device and the upcall of the event
 * channel run this.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/poll.h>
#include <linux/slab.h>

#include "cm.h"
#include "cmd.h"
#include "verbs.h"

#define CM_NAME		"rdma_cm"

/*
 * The name is taken and given back under offer_lock, never under devs_lock: open()
 * takes that one, and misc_open() holds what misc_register() waits for.
 */
static DEFINE_MUTEX(offer_lock);
static unsigned int offers;		/* devices for which it is taken */
static DEFINE_MUTEX(devs_lock);		/* below */
static LIST_HEAD(devs);

/* ---- a file ---- */

static int vhca_alloc_cm(struct vhca_dev *dev, u32 *handle)
{
	return vhca_cmd_alloc_cm(dev, handle);
}

static int vhca_dealloc_cm(struct vhca_dev *dev, u32 handle)
{
	return vhca_cmd_dealloc_cm(dev, handle);
}

static void cm_free(struct vhca_file *file)
{
	struct vhca_cm *cm = container_of(file, struct vhca_cm, f);

	vhca_cm_uid_exit(cm);
	kfree(cm);
}

static const struct vhca_file_ops cm_ops = {
	.what = "rdma_cm file",
	.event = XENVHCA_EVT_CM,
	.alloc = vhca_alloc_cm,
	.dealloc = vhca_dealloc_cm,
	.free = cm_free,
};

/*
 * Under devs_lock. The first device that the network namespace of this process may use:
 * any one, unless the RDMA subsystem is in exclusive mode ("rdma system").
 */
static struct vhca_dev *dev_first(void)
{
	const struct net *net = current->nsproxy->net_ns;
	struct vhca_dev *dev;

	list_for_each_entry(dev, &devs, cm_list)
		if (rdma_dev_access_netns(&dev->ibdev, net))
			return dev;
	return NULL;
}

static int cm_open(struct inode *inode, struct file *filp)
{
	struct vhca_cm *cm = kzalloc(sizeof(*cm), GFP_KERNEL_ACCOUNT);
	struct vhca_dev *dev;

	if (!cm)
		return -ENOMEM;
	vhca_file_init(&cm->f, &cm_ops);
	vhca_cm_uid_init(cm);
	mutex_lock(&devs_lock);
	dev = dev_first();
	if (dev)
		vhca_file_join(&cm->f, dev);
	mutex_unlock(&devs_lock);
	if (!dev) {
		vhca_file_release(&cm->f);
		return -ENODEV;
	}
	filp->private_data = cm;
	return stream_open(inode, filp);
}

static int cm_release(struct inode *inode, struct file *filp)
{
	struct vhca_cm *cm = filp->private_data;

	vhca_file_release(&cm->f);
	return 0;
}

static __poll_t cm_poll(struct file *filp, struct poll_table_struct *wait)
{
	struct vhca_cm *cm = filp->private_data;

	poll_wait(filp, &cm->f.wait, wait);
	if (READ_ONCE(cm->f.gone))
		return EPOLLERR | EPOLLIN | EPOLLRDNORM;
	return READ_ONCE(cm->f.events) ? EPOLLIN | EPOLLRDNORM : 0;
}

const struct file_operations vhca_cm_fops = {
	.owner = THIS_MODULE,
	.open = cm_open,
	.release = cm_release,
	.write = vhca_cm_write,
	.poll = cm_poll,
	VHCA_NO_LLSEEK
};

/* ---- the device in /dev ---- */

static ssize_t abi_version_show(struct device *dev,
				struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", RDMA_USER_CM_ABI_VERSION);
}
static DEVICE_ATTR_RO(abi_version);

static struct attribute *misc_attrs[] = { &dev_attr_abi_version.attr, NULL };
ATTRIBUTE_GROUPS(misc);

static struct miscdevice misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = CM_NAME,
	.nodename = "infiniband/" CM_NAME,
	.mode = 0666,
	.fops = &vhca_cm_fops,
	.groups = misc_groups,
};

static int nl_info(struct ib_client_nl_info *res)
{
	res->abi = RDMA_USER_CM_ABI_VERSION;
	res->cdev = misc.this_device;
	return 0;
}

static struct ib_client client = {
	.name = CM_NAME,
	.get_global_nl_info = nl_info,
	.no_kverbs_req = 1,
};

/* Has the kernel's own module it? misc_register() would fail with a backtrace. */
static bool name_taken(void)
{
	static const struct file_operations none = { .owner = THIS_MODULE };
	struct miscdevice probe = {
		.minor = MISC_DYNAMIC_MINOR, .name = "vhca_probe",
		.fops = &none,
	};
	struct device *dev;

	if (misc_register(&probe))
		return false;
	dev = class_find_device_by_name(probe.this_device->class, CM_NAME);
	misc_deregister(&probe);
	put_device(dev);
	return dev;
}

static int cm_offer(void)
{
	int rc;

	if (name_taken())
		return -EEXIST;
	rc = misc_register(&misc);
	if (rc)
		return rc;
	rc = ib_register_client(&client);
	if (rc)
		misc_deregister(&misc);
	return rc;
}

static void cm_withdraw(void)
{
	ib_unregister_client(&client);
	misc_deregister(&misc);
}

void vhca_cm_add(struct vhca_dev *dev)
{
	int rc = 0;

	if (!(dev->info.flags & XENVHCA_INFO_CM))
		return;
	mutex_lock(&offer_lock);
	if (!offers)
		rc = cm_offer();
	if (!rc)
		offers++;
	mutex_unlock(&offer_lock);
	if (!rc) {
		mutex_lock(&devs_lock);
		list_add_tail(&dev->cm_list, &devs);
		mutex_unlock(&devs_lock);
	}
	if (rc == -EEXIST)
		dev_warn(dev->link->dev,
			 "no /dev/infiniband/" CM_NAME " of the vhca: this guest's module rdma_ucm has that name; blacklist it or rmmod it, then reload xen-vhcafront\n");
	else if (rc)
		dev_warn(dev->link->dev,
			 "no /dev/infiniband/" CM_NAME ": %d\n", rc);
}

void vhca_cm_remove(struct vhca_dev *dev)
{
	bool offered;

	mutex_lock(&devs_lock);
	offered = !list_empty(&dev->cm_list);
	list_del_init(&dev->cm_list);
	mutex_unlock(&devs_lock);
	if (!offered)
		return;
	mutex_lock(&offer_lock);
	if (!--offers)
		cm_withdraw();
	mutex_unlock(&offer_lock);
}

MODULE_ALIAS("rdma-client-" CM_NAME);
