// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Attributes of the device beside those of ib_core: those of the HCA's driver, from
 * GET_INFO, and node_desc, which root of the guest may write as on the bare HCA
 * (rdma-ndd does). This runs in the process that reads or writes. The device's parent,
 * "device" in its folder, has the HCA's PCI ids, by which UCX chooses its transports.
 */
#include <linux/device.h>
#include <linux/sysfs.h>

#include "vhca-provider.h"
#include "verbs.h"

static struct vhca_dev *of_device(struct device *device)
{
	return rdma_device_to_drv_device(device, struct vhca_dev, ibdev);
}

#define INFO_ATTR(name)							\
static ssize_t name##_show(struct device *device,			\
			   struct device_attribute *attr, char *buf)	\
{									\
	return sysfs_emit(buf, "%s\n", of_device(device)->info.name);	\
}									\
static DEVICE_ATTR_RO(name)

INFO_ATTR(hca_type);
INFO_ATTR(hw_rev);
INFO_ATTR(board_id);

static struct attribute *attrs[] = {
	&dev_attr_hca_type.attr,
	&dev_attr_hw_rev.attr,
	&dev_attr_board_id.attr,
	NULL
};

/* Empty: the HCA's driver has no such attribute. */
static umode_t is_visible(struct kobject *kobj, struct attribute *attr, int n)
{
	const struct xenvhca_get_info_rsp *info =
		&of_device(kobj_to_dev(kobj))->info;
	const char * const text[] = { info->hca_type, info->hw_rev,
				      info->board_id };

	return *text[n] ? attr->mode : 0;
}

const struct attribute_group vhca_attrs = {
	.attrs = attrs,
	.is_visible = is_visible,
};

static ssize_t vendor_show(struct device *parent, struct device_attribute *attr, char *buf)
{
	const struct vhca_dev *dev = dev_get_drvdata(parent);

	return sysfs_emit(buf, "0x%04x\n", dev->provider->pci_vendor);
}
static DEVICE_ATTR_RO(vendor);

static ssize_t device_show(struct device *parent, struct device_attribute *attr, char *buf)
{
	const struct vhca_dev *dev = dev_get_drvdata(parent);

	return sysfs_emit(buf, "0x%04x\n", dev->caps.vendor_part_id);
}
static DEVICE_ATTR_RO(device);

void vhca_pci_ids_add(struct vhca_dev *dev)
{
	struct device *parent = dev->store->parent;

	if (!dev->provider->pci_vendor)
		return;
	dev_set_drvdata(parent, dev);
	if (device_create_file(parent, &dev_attr_vendor) ||
	    device_create_file(parent, &dev_attr_device))
		dev_warn(dev->store->dev, "sysfs has no PCI ids of the HCA\n");
}

void vhca_pci_ids_del(struct vhca_dev *dev)
{
	device_remove_file(dev->store->parent, &dev_attr_vendor);
	device_remove_file(dev->store->parent, &dev_attr_device);
}

int vhca_modify_device(struct ib_device *ibdev, int mask,
		       struct ib_device_modify *modify)
{
	struct vhca_dev *dev = to_vdev(ibdev);

	if (mask & ~IB_DEVICE_MODIFY_NODE_DESC)
		return -EOPNOTSUPP;
	mutex_lock(&dev->cache_lock);
	memcpy(ibdev->node_desc, modify->node_desc, sizeof(ibdev->node_desc));
	mutex_unlock(&dev->cache_lock);
	return 0;
}
