// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The guest's /dev/infiniband/umad<n>, one for each vhca whose backend serves it, with
 * the attributes below /sys/class/infiniband_mad that libibumad reads. The kernel's own
 * module ib_umad has the same class and numbers: the module that comes second does not
 * get the numbers. There is no issm<n>: the port is not the guest's, so a subnet
 * manager cannot run in it.
 *
 * Processes and the worker of a device run this.
 */
#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/idr.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "umad.h"
#include "verbs/verbs.h"

/* The numbers of ib_umad, also those of issm<n>. */
#define UMAD_NUMBER	MKDEV(231, 0)
#define UMAD_PORTS	64u
#define UMAD_NUMBERS	(2 * UMAD_PORTS)
#define CLASS_NAME	"infiniband_mad"

struct vhca_umad_port {
	struct device dev;
	struct cdev cdev;
	struct vhca_dev *vdev;		/* NULL: it is gone; ports_lock */
	int id;
};

static DEFINE_MUTEX(offer_lock);	/* the class, the numbers */
static unsigned int offers;		/* devices for which they are taken */
static DEFINE_MUTEX(ports_lock);
static DEFINE_IDA(port_ids);

/* ---- a file ---- */

static void umad_free(struct vhca_file *file)
{
	struct vhca_umad *umad = container_of(file, struct vhca_umad, f);

	kvfree(umad->packet);
	mutex_destroy(&umad->reader);
	kfree(umad);
}

static const struct vhca_file_ops umad_ops = {
	.what = "umad file",
	.event = XENVHCA_EVT_UMAD,
	.alloc = XENVHCA_OP_ALLOC_UMAD,
	.dealloc = XENVHCA_OP_DEALLOC_UMAD,
	.free = umad_free,
};

/* Under ports_lock. Denied from another network namespace, as natively. */
static int port_access(const struct vhca_umad_port *port)
{
	if (!port->vdev)
		return -ENXIO;
	return rdma_dev_access_netns(&port->vdev->ibdev,
				     current->nsproxy->net_ns) ? 0 : -EPERM;
}

static int umad_open(struct inode *inode, struct file *filp)
{
	struct vhca_umad_port *port = container_of(inode->i_cdev,
						   struct vhca_umad_port, cdev);
	struct vhca_umad *umad = kzalloc(sizeof(*umad), GFP_KERNEL_ACCOUNT);
	int rc;

	if (!umad)
		return -ENOMEM;
	init_waitqueue_head(&umad->wait);
	vhca_file_init(&umad->f, &umad_ops, &umad->wait);
	mutex_init(&umad->reader);
	mutex_lock(&ports_lock);
	rc = port_access(port);
	if (!rc)
		vhca_file_join(&umad->f, port->vdev);
	mutex_unlock(&ports_lock);
	if (rc) {
		vhca_file_release(&umad->f);
		return rc;
	}
	filp->private_data = umad;
	return stream_open(inode, filp);
}

static int umad_release(struct inode *inode, struct file *filp)
{
	struct vhca_umad *umad = filp->private_data;

	vhca_file_release(&umad->f);
	return 0;
}

static const struct file_operations umad_fops = {
	.owner = THIS_MODULE,
	.open = umad_open,
	.release = umad_release,
	.read = vhca_umad_read,
	.write = vhca_umad_write,
	.unlocked_ioctl = vhca_umad_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.poll = vhca_umad_poll,
	VHCA_NO_LLSEEK
};

/* ---- the class ---- */

static ssize_t ibdev_show(struct device *dev, struct device_attribute *attr,
			  char *buf)
{
	struct vhca_umad_port *port = container_of(dev, struct vhca_umad_port,
						   dev);

	return sysfs_emit(buf, "%s\n", dev_name(&port->vdev->ibdev.dev));
}
static DEVICE_ATTR_RO(ibdev);

static ssize_t port_show(struct device *dev, struct device_attribute *attr,
			 char *buf)
{
	return sysfs_emit(buf, "%d\n", VHCA_PORT);
}
static DEVICE_ATTR_RO(port);

static struct attribute *port_attrs[] = {
	&dev_attr_ibdev.attr, &dev_attr_port.attr, NULL
};
ATTRIBUTE_GROUPS(port);

static ssize_t abi_version_show(vhca_class_t *class,
				vhca_class_attribute_t *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", IB_USER_MAD_ABI_VERSION);
}
static CLASS_ATTR_RO(abi_version);

static struct attribute *umad_attrs[] = { &class_attr_abi_version.attr, NULL };
ATTRIBUTE_GROUPS(umad);

static char *umad_devnode(vhca_node_device_t *dev, umode_t *mode)
{
	return kasprintf(GFP_KERNEL, "infiniband/%s", dev_name(dev));
}

static struct class umad_class = {
	.name = CLASS_NAME,
	.class_groups = umad_groups,
	.dev_groups = port_groups,
	.devnode = umad_devnode,
};

/* The numbers first, as in ib_umad: the module without them does not try the class. */
static int umad_offer(void)
{
	int rc = register_chrdev_region(UMAD_NUMBER, UMAD_NUMBERS, CLASS_NAME);

	if (rc)
		return rc;
	rc = class_register(&umad_class);
	if (rc)
		unregister_chrdev_region(UMAD_NUMBER, UMAD_NUMBERS);
	return rc;
}

static int umad_get(void)
{
	int rc = 0;

	mutex_lock(&offer_lock);
	if (!offers)
		rc = umad_offer();
	if (!rc)
		offers++;
	mutex_unlock(&offer_lock);
	return rc;
}

static void umad_put(void)
{
	mutex_lock(&offer_lock);
	if (!--offers) {
		class_unregister(&umad_class);
		unregister_chrdev_region(UMAD_NUMBER, UMAD_NUMBERS);
	}
	mutex_unlock(&offer_lock);
}

/* ---- the device in /dev ---- */

/* An inode that was open may hold it after the device is gone. */
static void port_free(struct device *dev)
{
	kfree(container_of(dev, struct vhca_umad_port, dev));
}

/* The number of the device in its configuration, or a free one. */
static int port_number(int number)
{
	int id = -EINVAL;

	if (number < UMAD_PORTS)
		id = ida_alloc_range(&port_ids, number, number, GFP_KERNEL);
	return id >= 0 ? id : ida_alloc_max(&port_ids, UMAD_PORTS - 1,
					    GFP_KERNEL);
}

static struct vhca_umad_port *port_new(struct vhca_dev *dev)
{
	struct vhca_umad_port *port = kzalloc(sizeof(*port), GFP_KERNEL);

	if (!port)
		return NULL;
	port->id = port_number(dev->store->number);
	if (port->id < 0) {
		kfree(port);
		return NULL;
	}
	port->vdev = dev;
	device_initialize(&port->dev);
	port->dev.class = &umad_class;
	port->dev.parent = dev->store->parent;
	port->dev.devt = UMAD_NUMBER + port->id;
	port->dev.release = port_free;
	cdev_init(&port->cdev, &umad_fops);
	port->cdev.owner = THIS_MODULE;
	return port;
}

/* An open file, or its inode, may hold the port for longer. */
static void port_end(struct vhca_umad_port *port)
{
	mutex_lock(&ports_lock);
	port->vdev = NULL;
	mutex_unlock(&ports_lock);
	ida_free(&port_ids, port->id);
	put_device(&port->dev);
}

static int port_add(struct vhca_dev *dev)
{
	struct vhca_umad_port *port = port_new(dev);
	int rc;

	if (!port)
		return -ENOMEM;
	rc = dev_set_name(&port->dev, "umad%d", port->id);
	if (!rc)
		rc = cdev_device_add(&port->cdev, &port->dev);
	if (rc)
		port_end(port);
	else
		dev->umad = port;
	return rc;
}

void vhca_umad_add(struct vhca_dev *dev)
{
	int rc;

	if (!(dev->info.flags & XENVHCA_INFO_UMAD))
		return;
	rc = umad_get();
	if (!rc) {
		rc = port_add(dev);
		if (rc)
			umad_put();
	}
	if (rc == -EBUSY)
		dev_warn(dev->store->dev,
			 "no /dev/infiniband/umad of the vhca: this guest's module ib_umad has that name; blacklist it or rmmod it, then reload xen-vhcafront\n");
	else if (rc)
		dev_warn(dev->store->dev, "no /dev/infiniband/umad: %d\n", rc);
}

void vhca_umad_remove(struct vhca_dev *dev)
{
	struct vhca_umad_port *port = dev->umad;

	if (!port)
		return;
	dev->umad = NULL;
	/* After that no process reads its attributes. */
	cdev_device_del(&port->cdev, &port->dev);
	port_end(port);
	umad_put();
}
