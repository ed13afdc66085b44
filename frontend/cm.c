// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The guest's /dev/infiniband/rdma_cm, as long as there is a vhca whose backend serves
 * it. librdmacm looks for a misc device of this name, and asks the RDMA core for the
 * client "rdma_cm"; the kernel's own module rdma_ucm has both as well, so only one of
 * the two can be loaded.
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
#include "verbs.h"

#define CM_NAME		"rdma_cm"

/*
 * The name is taken and given back under offer_lock, never under devs_lock: open()
 * takes that one, and misc_open() holds what misc_register() waits for.
 */
static DEFINE_MUTEX(offer_lock);
static unsigned int offers;		/* devices for which it is taken */
static DEFINE_MUTEX(devs_lock);		/* below; after cm->lock */
static LIST_HEAD(devs);			/* by number */
static LIST_HEAD(files);

/* ---- a file ---- */

static void cm_free(struct kref *ref)
{
	struct vhca_cm *cm = container_of(ref, struct vhca_cm, ref);

	mutex_destroy(&cm->lock);
	put_net(cm->net);
	kfree(cm);
}

static struct vhca_cm_part *to_part(struct vhca_file *file)
{
	return container_of(file, struct vhca_cm_part, f);
}

static void part_free(struct vhca_file *file)
{
	struct vhca_cm_part *part = to_part(file);

	kref_put(&part->cm->ref, cm_free);
	kfree(part);
}

/* Whoever closes the file waits for the work, and nobody starts it any more. */
static void cm_changed(struct vhca_cm *cm)
{
	spin_lock(&cm->state_lock);
	if (!cm->closing)
		queue_work(system_unbound_wq, &cm->work);
	spin_unlock(&cm->state_lock);
}

static void part_gone(struct vhca_file *file)
{
	cm_changed(to_part(file)->cm);
}

static const struct vhca_file_ops cm_ops = {
	.what = "rdma_cm file",
	.event = XENVHCA_EVT_CM,
	.alloc = XENVHCA_OP_ALLOC_CM,
	.dealloc = XENVHCA_OP_DEALLOC_CM,
	.gone = part_gone,
	.free = part_free,
};

/* ---- its parts ---- */

/* The place of a device among the parts; NULL: it has one already. */
static struct list_head *part_place(struct vhca_cm *cm,
				    const struct vhca_dev *dev)
{
	struct vhca_cm_part *part;

	list_for_each_entry(part, &cm->parts, list) {
		if (part->index == dev->ibdev.index)
			return NULL;
		if (part->number > dev->link->number)
			return &part->list;
	}
	return &cm->parts;
}

/* Without memory the file goes on without this device. */
static void part_new(struct vhca_cm *cm, struct vhca_dev *dev,
		     struct list_head *before)
{
	struct vhca_cm_part *part = kzalloc(sizeof(*part), GFP_KERNEL_ACCOUNT);

	if (!part)
		return;
	vhca_file_init(&part->f, &cm_ops, &cm->wait);
	part->cm = cm;
	kref_get(&cm->ref);
	part->number = dev->link->number;
	part->index = dev->ibdev.index;
	part->nets = dev->nets;
	vhca_file_join(&part->f, dev);
	spin_lock(&cm->state_lock);
	list_add_tail(&part->list, before);
	spin_unlock(&cm->state_lock);
}

/* Where devices are shared, as by default, each namespace has them all. */
void vhca_cm_join(struct vhca_cm *cm)
{
	struct list_head *before;
	struct vhca_dev *dev;

	mutex_lock(&devs_lock);
	list_for_each_entry(dev, &devs, cm_list) {
		before = part_place(cm, dev);
		if (before && rdma_dev_access_netns(&dev->ibdev, cm->net))
			part_new(cm, dev, before);
	}
	mutex_unlock(&devs_lock);
}

static void part_end(struct vhca_cm_part *part)
{
	struct vhca_cm *cm = part->cm;

	spin_lock(&cm->state_lock);
	list_del(&part->list);
	spin_unlock(&cm->state_lock);
	vhca_file_release(&part->f);
}

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
		part_end(part);
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
	cm->turn = -1;
	return cm;
}

/* Nothing of it is left at the backends. */
static void cm_close(struct vhca_cm *cm)
{
	struct vhca_cm_part *part, *next;

	mutex_lock(&devs_lock);
	list_del(&cm->all);
	mutex_unlock(&devs_lock);
	spin_lock(&cm->state_lock);
	cm->closing = true;
	spin_unlock(&cm->state_lock);
	cancel_work_sync(&cm->work);
	while (!list_empty(&cm->ids))
		vhca_cm_id_free(list_first_entry(&cm->ids, struct vhca_cm_id,
						 list));
	list_for_each_entry_safe(part, next, &cm->parts, list)
		part_end(part);
	kref_put(&cm->ref, cm_free);
}

static int cm_open(struct inode *inode, struct file *filp)
{
	struct vhca_cm *cm = cm_new();
	bool none;

	if (!cm)
		return -ENOMEM;
	mutex_lock(&devs_lock);
	list_add(&cm->all, &files);
	mutex_unlock(&devs_lock);
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

static void dev_add(struct vhca_dev *dev)
{
	struct vhca_dev *other;
	struct vhca_cm *cm;

	mutex_lock(&devs_lock);
	list_for_each_entry(other, &devs, cm_list)
		if (other->link->number > dev->link->number)
			break;
	list_add_tail(&dev->cm_list, &other->cm_list);
	list_for_each_entry(cm, &files, all)
		cm_changed(cm);
	mutex_unlock(&devs_lock);
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
		dev_add(dev);
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
