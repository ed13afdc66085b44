// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The guest's /dev/infiniband/rdma_cm, as long as there is a vhca whose backend serves
 * it. librdmacm needs a misc device of this name and a client "rdma_cm" of the RDMA
 * core; the kernel's own module rdma_ucm has both names, so only one of the two modules
 * can use them.
 *
 * A file serves all devices that its process may use, also those that come later.
 * Processes, a work of the file and the worker of a device run this.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "cm.h"
#include "vhca.h"

#define CM_NAME		"rdma_cm"

/*
 * The name is registered under offer_lock, never under devs_lock: open() takes
 * devs_lock while misc_open() holds the lock of misc_register().
 */
static DEFINE_MUTEX(offer_lock);
static unsigned int offers;		/* devices for which it is taken */

/* ---- a file ---- */

/* Devices have gone, or come. */
static void cm_work(struct work_struct *work)
{
	struct vhca_cm *cm = container_of(work, struct vhca_cm, work);
	struct vhca_cm_part *part, *next;

	mutex_lock(&cm->lock);
	list_for_each_entry_safe(part, next, &cm->parts, list) {
		if (!READ_ONCE(part->f.gone))
			continue;
		vhca_cm_ids_removed(part);
		vhca_cm_part_end(part);
	}
	vhca_cm_join(cm);
	vhca_cm_extend(cm);
	mutex_unlock(&cm->lock);
	wake_up_interruptible(&cm->wait);
}

/* ---- system calls ---- */

static struct vhca_cm *cm_new(void)
{
	struct vhca_cm *cm = kzalloc(sizeof(*cm), GFP_KERNEL_ACCOUNT);

	if (!cm)
		return NULL;
	kref_init(&cm->ref);
	cm->net = get_net(current->nsproxy->net_ns);
	INIT_WORK(&cm->work, cm_work);
	init_waitqueue_head(&cm->wait);
	mutex_init(&cm->lock);
	INIT_LIST_HEAD(&cm->ids);
	INIT_LIST_HEAD(&cm->parts);
	spin_lock_init(&cm->state_lock);
	cm->last = -1;
	return cm;
}

/* Nothing of it is left at the backends. */
static void cm_close(struct vhca_cm *cm)
{
	struct vhca_cm_part *part, *next;

	vhca_cm_closed(cm);
	cancel_work_sync(&cm->work);
	while (!list_empty(&cm->ids))
		vhca_cm_id_free(list_first_entry(&cm->ids, struct vhca_cm_id,
						 list));
	list_for_each_entry_safe(part, next, &cm->parts, list)
		vhca_cm_part_end(part);
	vhca_cm_put(cm);
}

static int cm_open(struct inode *inode, struct file *filp)
{
	struct vhca_cm *cm = cm_new();
	bool none;

	if (!cm)
		return -ENOMEM;
	vhca_cm_opened(cm);
	mutex_lock(&cm->lock);
	vhca_cm_join(cm);
	none = list_empty(&cm->parts);
	mutex_unlock(&cm->lock);
	if (none) {
		cm_close(cm);
		return -ENODEV;
	}
	filp->private_data = cm;
	return stream_open(inode, filp);
}

static int cm_release(struct inode *inode, struct file *filp)
{
	cm_close(filp->private_data);
	return 0;
}

bool vhca_cm_ready(struct vhca_cm *cm)
{
	struct vhca_cm_part *part;
	bool ready = READ_ONCE(cm->removals);

	spin_lock(&cm->state_lock);
	list_for_each_entry(part, &cm->parts, list)
		ready |= READ_ONCE(part->f.events);
	spin_unlock(&cm->state_lock);
	return ready;
}

static __poll_t cm_poll(struct file *filp, struct poll_table_struct *wait)
{
	struct vhca_cm *cm = filp->private_data;

	poll_wait(filp, &cm->wait, wait);
	return vhca_cm_ready(cm) ? EPOLLIN | EPOLLRDNORM : 0;
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

/* Does rdma_ucm have the name? misc_register() would fail with a backtrace. */
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
	if (!rc)
		vhca_cm_dev_add(dev);
	if (rc == -EEXIST)
		dev_warn(dev->store->dev,
			 "no /dev/infiniband/%s of the vhca: this guest's module rdma_ucm has that name; blacklist it or rmmod it, then reload xen-vhcafront\n",
			 CM_NAME);
	else if (rc)
		dev_warn(dev->store->dev,
			 "no /dev/infiniband/" CM_NAME ": %d\n", rc);
}

void vhca_cm_remove(struct vhca_dev *dev)
{
	if (!vhca_cm_dev_remove(dev))
		return;
	mutex_lock(&offer_lock);
	if (!--offers)
		cm_withdraw();
	mutex_unlock(&offer_lock);
}

MODULE_ALIAS("rdma-client-" CM_NAME);
