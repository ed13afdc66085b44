// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * xen-vhcafront.ko: a paravirtual RDMA HCA in a Xen guest. This file is the ladder of
 * load and unload. The first steps of unload, which unregister the drivers of both
 * links, end every device in order.
 */
#include <linux/module.h>
#include <xen/page.h>
#include <xen/xen.h>

#include "front.h"
#include "ring/grant.h"
#include "mmap/map.h"
#include "mmap/doorbell.h"
#include "vhca.h"

static int __init front_init(void)
{
	int err;

	if (!xen_domain())
		return -ENODEV;
	/* One page of a process is one grant. */
	if (PAGE_SIZE != XEN_PAGE_SIZE) {
		pr_err("xen-vhcafront: needs a kernel with pages of 4 KiB\n");
		return -EOPNOTSUPP;
	}
	vhca_grant_init();
	err = vhca_map_init();
	if (err)
		goto grant_exit;
	vhca_devicetree_init();
	vhca_stats_init();
	err = vhca_device_init();
	if (err)
		goto stats_exit;
	err = vhca_front_init();
	if (err)
		goto device_exit;
	err = vhca_page_init();
	if (err)
		goto fronts_exit;
	err = vhca_xenbus_init();
	if (err)
		goto page_exit;
	return 0;

page_exit:
	vhca_page_exit();
fronts_exit:
	vhca_front_exit();
device_exit:
	vhca_device_exit();
stats_exit:
	vhca_stats_exit();
	vhca_devicetree_exit();
	vhca_map_exit();
grant_exit:
	vhca_grant_exit();
	return err;
}

static void __exit front_exit(void)
{
	vhca_xenbus_exit();
	vhca_page_exit();
	vhca_front_exit();
	vhca_device_exit();
	vhca_stats_exit();
	vhca_devicetree_exit();
	vhca_map_exit();
	vhca_grant_exit();
}

module_init(front_init);
module_exit(front_exit);

MODULE_DESCRIPTION("Xen paravirtual RDMA HCA frontend");
MODULE_LICENSE("GPL");
MODULE_ALIAS("xen:vhca");
/* Since 7.2, or a version between 6.12 and that, the symbols are ib_core's. */
MODULE_SOFTDEP("pre: ib_uverbs");
