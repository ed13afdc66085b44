// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A file that the backend's domain has, too (file.h): its life, its commands, and
 * whether the backend has events for it. The backend says that over the event ring once,
 * and in the answer of each command. The two rings have no order, so each statement has a
 * number, and the latest holds. A statement that a full event ring has lost is replaced
 * by the answer of a command. Processes, the worker of the device and upcalls run this.
 * Whatever the backend says wakes a process once at most for each time that it asks.
 */
#include <linux/sched.h>

#include "verbs/cmd.h"
#include "file.h"
#include "verbs/verbs.h"

static DEFINE_MUTEX(files_lock);	/* files of all devices */

void vhca_file_init(struct vhca_file *file, const struct vhca_file_ops *ops,
		    wait_queue_head_t *wait)
{
	file->ops = ops;
	kref_init(&file->ref);
	INIT_LIST_HEAD(&file->list);
	mutex_init(&file->lock);
	file->wait = wait;
	spin_lock_init(&file->state_lock);
}

static void file_free(struct kref *ref)
{
	struct vhca_file *file = container_of(ref, struct vhca_file, ref);

	mutex_destroy(&file->lock);
	file->ops->free(file);
}

void vhca_file_join(struct vhca_file *file, struct vhca_dev *dev)
{
	file->dev = dev;
	mutex_lock(&files_lock);
	list_add(&file->list, &dev->files);
	mutex_unlock(&files_lock);
}

/* Under file->lock. Not in open(), which may hold a lock of all such devices. */
static int file_alloc(struct vhca_file *file)
{
	u32 handle;
	int rc = vhca_cmd_alloc_ownerless(file->dev, file->ops->alloc,
					  file->ops->dealloc, &handle);

	if (rc)
		return rc;
	rc = vhca_publish(file->dev, &file->dev->file_handles,
			  vhca_key(file->dev->gen, handle), file);
	if (rc)
		vhca_cmd_dealloc_ownerless(file->dev, file->ops->dealloc,
					   handle);
	else
		file->handle = handle;
	return rc;
}

int vhca_file_lock(struct vhca_file *file)
{
	int rc = 0;

	if (mutex_lock_killable(&file->lock))
		return -EINTR;
	if (!file->dev)
		rc = -EIO;
	else if (!file->handle)
		rc = file_alloc(file);
	if (rc)
		mutex_unlock(&file->lock);
	return rc;
}

/* Closes it at the backend. Under file->lock. */
static void file_shut(struct vhca_file *file)
{
	struct vhca_dev *dev = file->dev;

	if (!dev || !file->handle)
		return;
	vhca_unpublish(dev, &dev->file_handles, vhca_key(dev->gen, file->handle));
	vhca_gone(dev, file->ops->what, file->handle,
		  vhca_cmd_dealloc_ownerless(dev, file->ops->dealloc, file->handle));
	file->handle = 0;
}

void vhca_file_away(struct vhca_file *file)
{
	mutex_lock(&file->lock);
	file_shut(file);
	mutex_unlock(&file->lock);
	spin_lock_irq(&file->state_lock);
	file->seq = 0;
	file->lost = false;
	WRITE_ONCE(file->events, false);
	spin_unlock_irq(&file->state_lock);
}

/* The file is closed, or its device goes. */
static void file_dealloc(struct vhca_file *file)
{
	mutex_lock(&file->lock);
	file_shut(file);
	file->dev = NULL;
	mutex_unlock(&file->lock);
	WRITE_ONCE(file->gone, true);
	wake_up_interruptible(file->wait);
}

/* The file stays in the list until the answer is here: its device waits for that. */
void vhca_file_release(struct vhca_file *file)
{
	file_dealloc(file);
	mutex_lock(&files_lock);
	list_del_init(&file->list);
	mutex_unlock(&files_lock);
	kref_put(&file->ref, file_free);
}

/* The first file of the list, with a reference. */
static struct vhca_file *first_file(struct vhca_dev *dev)
{
	struct vhca_file *file;

	mutex_lock(&files_lock);
	file = list_first_entry_or_null(&dev->files, struct vhca_file, list);
	if (file) {
		list_del_init(&file->list);
		kref_get(&file->ref);
	}
	mutex_unlock(&files_lock);
	return file;
}

void vhca_files_close(struct vhca_dev *dev)
{
	struct vhca_file *file;

	while ((file = first_file(dev))) {
		file_dealloc(file);
		if (file->ops->gone)
			file->ops->gone(file);
		kref_put(&file->ref, file_free);
	}
}

/* ---- events and commands ---- */

bool vhca_file_notify(struct vhca_file *file, u16 seq, bool events)
{
	unsigned long flags;
	bool news = false;

	spin_lock_irqsave(&file->state_lock, flags);
	if ((s16)(seq - file->seq) > 0) {
		file->seq = seq;
		events |= file->lost;
		news = events && !file->events;
		WRITE_ONCE(file->events, events);
	}
	spin_unlock_irqrestore(&file->state_lock, flags);
	if (news)
		wake_up_interruptible(file->wait);
	return news;
}

void vhca_file_overflow(struct vhca_file *file)
{
	unsigned long flags;

	spin_lock_irqsave(&file->state_lock, flags);
	file->lost = true;
	WRITE_ONCE(file->events, true);
	spin_unlock_irqrestore(&file->state_lock, flags);
	wake_up_interruptible(file->wait);
}

/* The answer to come tells of all events that were lost until now. */
static void file_ask(struct vhca_file *file)
{
	spin_lock_irq(&file->state_lock);
	file->lost = false;
	spin_unlock_irq(&file->state_lock);
}

int vhca_file_command(struct vhca_file *file, struct vhca_cmd **cmd,
		      unsigned int flags,
		      int (*answer)(struct vhca_file *file,
				    const struct vhca_cmd *cmd))
{
	int rc = vhca_file_lock(file);

	if (rc)
		return rc;
	(*cmd)->req.u.handle.handle = file->handle;
	if (answer)
		file_ask(file);
	/* The backend takes so many; all other slots are for verbs. */
	if (flags & VHCA_CMD_APART)
		rc = down_killable(&file->dev->cm_slots);
	if (!rc) {
		rc = vhca_ring_submit(file->dev, cmd, flags);
		if (flags & VHCA_CMD_APART)
			up(&file->dev->cm_slots);
	}
	if (!rc && answer)
		rc = answer(file, *cmd);
	mutex_unlock(&file->lock);
	return rc;
}
