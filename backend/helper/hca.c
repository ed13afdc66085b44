// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The HCAs of this domain by name. ib_core's function for that is gone in Linux 7.2; in
 * all versions a client of ib_core is called for each HCA.
 */
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/ib_verbs.h>
#include "helper.h"

struct vh_hca {
	struct list_head list;
	struct ib_device *ibdev;
	char name[IB_DEVICE_NAME_MAX];	/* that of ibdev may be freed by a rename */
};

static LIST_HEAD(vh_hca_list);
static DEFINE_MUTEX(vh_hca_lock);

static int vh_hca_add(struct ib_device *ibdev);
static void vh_hca_remove(struct ib_device *ibdev, void *data);
static void vh_hca_rename(struct ib_device *ibdev, void *data);

static struct ib_client vh_hca_client = {
	.name = "xen-vhca-helper",
	.add = vh_hca_add,
	.remove = vh_hca_remove,
	.rename = vh_hca_rename,
	.no_kverbs_req = 1,
};

static int vh_hca_add(struct ib_device *ibdev)
{
	struct vh_hca *hca = kzalloc(sizeof(*hca), GFP_KERNEL);

	if (!hca)
		return -ENOMEM;
	hca->ibdev = ibdev;
	strscpy(hca->name, dev_name(&ibdev->dev), sizeof(hca->name));
	mutex_lock(&vh_hca_lock);
	list_add(&hca->list, &vh_hca_list);
	mutex_unlock(&vh_hca_lock);
	ib_set_client_data(ibdev, &vh_hca_client, hca);
	return 0;
}

static void vh_hca_remove(struct ib_device *ibdev, void *data)
{
	struct vh_hca *hca = data;

	mutex_lock(&vh_hca_lock);
	list_del(&hca->list);
	mutex_unlock(&vh_hca_lock);
	kfree(hca);
}

static void vh_hca_rename(struct ib_device *ibdev, void *data)
{
	struct vh_hca *hca = data;

	mutex_lock(&vh_hca_lock);
	strscpy(hca->name, dev_name(&ibdev->dev), sizeof(hca->name));
	mutex_unlock(&vh_hca_lock);
}

struct ib_device *vh_hca_get(const char *name)
{
	struct ib_device *found = NULL;
	struct vh_hca *hca;

	mutex_lock(&vh_hca_lock);
	list_for_each_entry(hca, &vh_hca_list, list)
		if (!strcmp(hca->name, name) && ib_device_try_get(hca->ibdev)) {
			found = hca->ibdev;
			break;
		}
	mutex_unlock(&vh_hca_lock);
	return found;
}

int vh_hca_start(void)
{
	return ib_register_client(&vh_hca_client);
}

void vh_hca_stop(void)
{
	ib_unregister_client(&vh_hca_client);
}
