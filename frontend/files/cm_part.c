// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The files of /dev/infiniband/rdma_cm and the devices that are registered: a file has
 * a part at each device that its process may use, also at those that come later.
 */
#include <linux/mutex.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "cm.h"

static DEFINE_MUTEX(devs_lock);		/* below; after cm->lock */
static LIST_HEAD(devs);			/* by number */
static LIST_HEAD(files);

static void cm_free(struct kref *ref)
{
	struct vhca_cm *cm = container_of(ref, struct vhca_cm, ref);

	mutex_destroy(&cm->lock);
	put_net(cm->net);
	kfree(cm);
}

void vhca_cm_put(struct vhca_cm *cm)
{
	kref_put(&cm->ref, cm_free);
}

static struct vhca_cm_part *to_part(struct vhca_file *file)
{
	return container_of(file, struct vhca_cm_part, f);
}

static void part_free(struct vhca_file *file)
{
	struct vhca_cm_part *part = to_part(file);

	vhca_cm_put(part->cm);
	kfree(part);
}

/* Not after vhca_cm_closed(), whose caller waits for the work. */
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

/* The place of a device among the parts; NULL: it has one already. */
static struct list_head *part_place(struct vhca_cm *cm,
				    const struct vhca_dev *dev)
{
	struct vhca_cm_part *part;

	list_for_each_entry(part, &cm->parts, list) {
		if (part->index == dev->ibdev.index)
			return NULL;
		if (part->number > dev->store->number)
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
	part->number = dev->store->number;
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

void vhca_cm_part_end(struct vhca_cm_part *part)
{
	struct vhca_cm *cm = part->cm;

	spin_lock(&cm->state_lock);
	list_del(&part->list);
	spin_unlock(&cm->state_lock);
	vhca_file_release(&part->f);
}

void vhca_cm_opened(struct vhca_cm *cm)
{
	mutex_lock(&devs_lock);
	list_add(&cm->all, &files);
	mutex_unlock(&devs_lock);
}

void vhca_cm_closed(struct vhca_cm *cm)
{
	mutex_lock(&devs_lock);
	list_del(&cm->all);
	mutex_unlock(&devs_lock);
	spin_lock(&cm->state_lock);
	cm->closing = true;
	spin_unlock(&cm->state_lock);
}

void vhca_cm_dev_add(struct vhca_dev *dev)
{
	struct vhca_dev *other;
	struct vhca_cm *cm;

	mutex_lock(&devs_lock);
	list_for_each_entry(other, &devs, cm_list)
		if (other->store->number > dev->store->number)
			break;
	list_add_tail(&dev->cm_list, &other->cm_list);
	list_for_each_entry(cm, &files, all)
		cm_changed(cm);
	mutex_unlock(&devs_lock);
}

bool vhca_cm_dev_remove(struct vhca_dev *dev)
{
	bool added;

	mutex_lock(&devs_lock);
	added = !list_empty(&dev->cm_list);
	list_del_init(&dev->cm_list);
	mutex_unlock(&devs_lock);
	return added;
}

/*
 * ---- the opcode CM_COMMAND ----
 *
 * Octets of a process, not udata of an HCA, in body and udata of a slot. It runs in the
 * process that made the system call, or in the thread of kernel/iw.c.
 */

static void call_load(struct vhca_cmd *cmd, const struct vhca_cm_call *c)
{
	struct xenvhca_cm_command_req *req = &cmd->req.u.cm_command;

	*req = (struct xenvhca_cm_command_req){
		.cmd = c->cmd, .in_len = c->in_len, .out_len = c->room,
		.from = c->from,
	};
	cmd->req.in_len = vhca_slot_put(req->in, sizeof(req->in),
					cmd->req.udata, c->in, c->in_len);
	cmd->req.out_len = vhca_slot_more(c->room, XENVHCA_CM_OUT);
}

/* The header was checked: the udata are not longer than requested. */
static int call_answer(struct vhca_file *file, const struct vhca_cmd *cmd)
{
	const struct xenvhca_cm_command_rsp *rsp = &cmd->rsp.u.cm_command;

	if (rsp->out_len > cmd->req.u.cm_command.out_len ||
	    cmd->rsp.out_len != vhca_slot_more(rsp->out_len, sizeof(rsp->out)))
		return -EIO;
	vhca_file_notify(file, rsp->seq, rsp->events);
	return 0;
}

static void call_store(const struct vhca_cmd *cmd, struct vhca_cm_call *c)
{
	const struct xenvhca_cm_command_rsp *rsp = &cmd->rsp.u.cm_command;

	c->out_len = rsp->out_len;
	vhca_slot_take(c->out, c->out_len, rsp->out, sizeof(rsp->out),
		       cmd->rsp.udata);
}

int vhca_cmd_cm_command(struct vhca_file *file, struct vhca_cm_call *c)
{
	struct vhca_cmd *cmd = vhca_cmd_alloc(XENVHCA_OP_CM_COMMAND, 0);
	/* Certain: else it would be unknown in which file the id is. */
	unsigned int flags = c->cmd == RDMA_USER_CM_CMD_MIGRATE_ID ?
			     VHCA_CMD_APART | VHCA_CMD_CERTAIN : VHCA_CMD_APART;
	int rc;

	if (!cmd)
		return -ENOMEM;
	call_load(cmd, c);
	rc = vhca_file_command(file, &cmd, flags, call_answer);
	if (!rc)
		call_store(cmd, c);
	kfree(cmd);
	return rc;
}
