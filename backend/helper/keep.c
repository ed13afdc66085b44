// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Keeps the memory of a dead worker until nothing in it is pinned by verbs any
 * more, because a grant mapping must not be torn down under a memory region (a
 * PV domain would be left with bad page tables).
 *
 * This runs in the worker's system calls and in the workqueue.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/file.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "helper.h"

#define VH_POLL		msecs_to_jiffies(20)	/* is the memory free? */
#define VH_PATIENCE	msecs_to_jiffies(5000)	/* ... no: log it */

/*
 * The address space of a worker. Holds mm_users and a module reference; or, if verbs pin
 * nothing in it, the verbs files that were mapped there, and a module reference.
 */
struct vh_keep {
	struct list_head list;
	struct delayed_work work;
	struct mm_struct *mm;		/* NULL: files instead */
	struct file **files;
	unsigned int nr_files;
	bool released;			/* the last copy of the open file is closed */
	unsigned long complain;		/* jiffies; 0: has been logged */
	pid_t pid;
};

/* Each has another mm: two with one mm would wait for each other for ever. */
static LIST_HEAD(vh_keep_list);
static DEFINE_MUTEX(vh_keep_lock);

/* Unmaps every verbs mapping of current->mm, as each holds its file open. */
static void vh_unmap_uverbs(struct mm_struct *mm)
{
	struct vm_area_struct *vma;
	unsigned long start, len;

	do {
		VMA_ITERATOR(vmi, mm, 0);

		len = 0;
		mmap_read_lock(mm);
		for_each_vma(vmi, vma) {
			if (!vh_is_uverbs(vma))
				continue;
			start = vma->vm_start;
			len = vma->vm_end - start;
			break;
		}
		mmap_read_unlock(mm);
	} while (len && !vm_munmap(start, len));
}

/* Off the list first: without our reference the mm may become another process's. */
static void vh_keep_put_mm(struct vh_keep *k)
{
	mutex_lock(&vh_keep_lock);
	list_del(&k->list);
	mutex_unlock(&vh_keep_lock);
	mmput(k->mm);
	k->mm = NULL;
	atomic_dec(&vh_kept);
}

static void vh_keep_end(struct vh_keep *k)
{
	if (k->mm)
		vh_keep_put_mm(k);
	while (k->nr_files)
		fput(k->files[--k->nr_files]);
	kvfree(k->files);
	kfree(k);
	module_put(THIS_MODULE);	/* module exit waits for vh_wq */
}

/* Takes up to @max verbs files into k->files; returns the number of their mappings. */
static unsigned int vh_keep_files(struct vh_keep *k, unsigned int max)
{
	VMA_ITERATOR(vmi, k->mm, 0);
	struct vm_area_struct *vma;
	unsigned int n = 0;

	mmap_read_lock(k->mm);
	for_each_vma(vmi, vma) {
		if (!vh_is_uverbs(vma))
			continue;
		if (n++ < max)
			k->files[k->nr_files++] = get_file(vma->vm_file);
	}
	mmap_read_unlock(k->mm);
	return n;
}

/*
 * The worker is dead, and another process has its device open, so its verbs files stay
 * open. If nothing is pinned, the address space need not stay. Nothing maps new files in
 * it now.
 */
static void vh_keep_shrink(struct vh_keep *k)
{
	unsigned int n;

	if (!k->mm || atomic64_read(&k->mm->pinned_vm))
		return;
	n = vh_keep_files(k, 0);
	k->files = kvcalloc(n, sizeof(*k->files), GFP_KERNEL);
	if (n && !k->files)
		return;
	vh_keep_files(k, n);
	vh_keep_put_mm(k);
}

/*
 * Order on the death of a worker: its threads leave the memory (exit_mm),
 * then the last one closes the files, this module's among them, which queues
 * this work. When no thread uses the memory any more, the verbs mappings are
 * unmapped, so that the verbs files are released and destroy their objects.
 * pinned_vm is lowered after a memory region's pages were unpinned: 0 means that
 * all are unpinned. Only then does mmput() unmap the grants. If a verbs file
 * lives on elsewhere (inherited by a child), the memory stays: a leak is harmless,
 * unmapping would crash this domain. The out-of-memory killer's
 * reaper leaves shared mappings, and thus grants, alone.
 */
static void vh_keep_fn(struct work_struct *work)
{
	struct vh_keep *k = container_of(to_delayed_work(work), struct vh_keep,
					 work);

	if (k->mm && atomic_read(&k->mm->mm_users) > 1)
		goto later;
	if (!READ_ONCE(k->released)) {
		vh_keep_shrink(k);
		return;
	}
	if (!k->mm) {
		vh_keep_end(k);
		return;
	}
	kthread_use_mm(k->mm);
	vh_unmap_uverbs(k->mm);
	kthread_unuse_mm(k->mm);
	flush_delayed_fput();
	if (atomic64_read(&k->mm->pinned_vm))
		goto later;
	flush_delayed_fput();	/* of dma-bufs that the first one let go */
	vh_keep_end(k);
	return;
later:
	if (k->complain && time_after(jiffies, k->complain)) {
		pr_warn("memory of dead process %d stays: a verbs file or its memory is still in use (a child process?)\n",
			k->pid);
		k->complain = 0;
	}
	queue_delayed_work(vh_wq, &k->work, VH_POLL);
}

/* Does the file keep an address space, or another file this one? vh_keep_lock held. */
static bool vh_keep_busy(const struct vh_file *vf, const struct mm_struct *mm)
{
	const struct vh_keep *k;

	if (vf->keep)
		return true;
	list_for_each_entry(k, &vh_keep_list, list)
		if (k->mm == mm)
			return true;
	return false;
}

long vh_keep_mm(struct vh_file *vf)
{
	struct vh_keep *k = kzalloc(sizeof(*k), GFP_KERNEL);

	if (!k)
		return -ENOMEM;
	INIT_DELAYED_WORK(&k->work, vh_keep_fn);
	k->mm = current->mm;
	k->pid = current->tgid;
	mutex_lock(&vh_keep_lock);
	if (vh_keep_busy(vf, k->mm)) {
		mutex_unlock(&vh_keep_lock);
		kfree(k);
		return -EBUSY;
	}
	mmget(k->mm);
	__module_get(THIS_MODULE);
	atomic_inc(&vh_kept);
	list_add(&k->list, &vh_keep_list);
	vf->keep = k;
	mutex_unlock(&vh_keep_lock);
	return 0;
}

/* The worker closes its copy of the file, before its death or by it; the work waits. */
void vh_keep_flush(struct vh_keep *k)
{
	if (k && current->tgid == k->pid)
		queue_delayed_work(vh_wq, &k->work, 0);
}

/* Called when the caller's last file is closed; on exit its memory is gone by then. */
void vh_keep_release(struct vh_keep *k)
{
	if (!k)
		return;
	if (k->mm && current->mm == k->mm) {
		cancel_delayed_work_sync(&k->work);
		vh_keep_end(k);	/* closed by the living owner */
		return;
	}
	k->complain = (jiffies + VH_PATIENCE) | 1;
	WRITE_ONCE(k->released, true);
	mod_delayed_work(vh_wq, &k->work, 0);
}
