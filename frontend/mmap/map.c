// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Queue memory of the backend's HCA, mapped into a process. The backend grants its
 * pages. Each page is mapped once at an address of this kernel (its alias, a page of
 * gnttab_alloc_pages()), and the process sees:
 *
 * - PVH, HVM, Arm: the alias, which is an ordinary page and is inserted into the VMA by
 *   its first page fault: by then the zap can find the VMA.
 * - PV: the page itself, granted a second time, straight into the process's page table
 *   (map_pte.c). To the kernel such a VMA is one of registers (VM_IO): no fork copies
 *   it, and its pages cannot be pinned.
 *
 * A map is on its ucontext's list from mmap until its grants are unmapped and
 * range_end.c has its range for a MUNMAP; VMAs hold their own references.
 * gnttab_unmap_refs_async() unmaps the alias when its page has no user any more (the
 * VMA is gone, or was zapped). A worker does the rest, because munmap() must not wait
 * for the backend with the mmap lock held.
 *
 * The backend chooses only the references: a wrong one makes mmap() fail.
 */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <xen/page.h>
#include <xen/xen.h>

#include "map.h"
#include "range.h"
#include "vhca.h"

#define VHCA_ZAP_WAIT	(5 * HZ)

struct vhca_map {
	struct list_head list;		/* uc->maps, under maps_lock */
	struct vhca_ucontext *uc;	/* NULL: not on the list */
	bool sending;			/* MUNMAP under way, uc is in use */
	struct mutex lock;		/* dead, against page faults */
	bool dead;			/* zapped: the VMA shows dummy */
	bool leaked;			/* Xen did not unmap: never free */
	atomic_t unmapping;		/* the alias is being unmapped */
	struct kref ref;		/* 1 for the list, 1 for all VMAs */
	atomic_t vmas;
	u64 offset;			/* as the provider passed it to mmap() */
	u32 nr;

	struct page **pages;		/* aliases */
	struct gnttab_unmap_grant_ref *unmap;
	struct gntab_unmap_queue_data unmap_data;
	struct work_struct work;

	/*
	 * Of the uverbs file, for the zap. The file outlives uc, but not the map: pages
	 * may be held longer than the file system of the file is mounted.
	 */
	struct address_space *mapping;
	loff_t start;			/* of the VMA in that file */
	struct page *dummy;

	struct vhca_ptes *ptes;		/* PV; else NULL */
};

static DEFINE_SPINLOCK(maps_lock);
static DECLARE_WAIT_QUEUE_HEAD(maps_wait);	/* a list became shorter */
static struct workqueue_struct *map_wq;

/* ---- end of a map ---- */

static void map_free(struct vhca_map *map)
{
	if (map->pages && map->pages[0] && !map->leaked)
		gnttab_free_pages(map->nr, map->pages);
	if (map->dummy)
		__free_page(map->dummy);
	kvfree(map->pages);
	kvfree(map->unmap);
	vhca_ptes_free(map->ptes);
	mutex_destroy(&map->lock);
	kfree(map);
}

static void map_leak(struct vhca_map *map, int result)
{
	map->leaked = true;
	pr_warn_ratelimited("xen-vhcafront: Xen refused to unmap grants (%d), their pages stay allocated\n",
			    result);
}

static void map_release(struct kref *ref)
{
	map_free(container_of(ref, struct vhca_map, ref));
	module_put(THIS_MODULE);
}

/* Takes the map off its ucontext. Under maps_lock. */
static void map_leave(struct vhca_map *map)
{
	struct vhca_dev *dev = to_vdev(map->uc->ibuc.device);

	atomic64_sub(map->nr, &dev->stats.pages_mapped);
	vhca_range_uncharge(dev, map->nr);
	list_del_init(&map->list);
	map->uc = NULL;
}

/* MUNMAP, unless the device ends: DEALLOC_UCONTEXT ends all ranges. */
static void map_send(struct vhca_map *map)
{
	struct vhca_ucontext *uc;

	spin_lock(&maps_lock);
	uc = map->dead ? NULL : map->uc;
	map->sending = uc;
	spin_unlock(&maps_lock);
	if (uc)
		vhca_range_end(uc, map->offset, map->nr);
}

/* The grants are unmapped; the backend may have its memory back. */
static void map_work(struct work_struct *work)
{
	struct vhca_map *map = container_of(work, struct vhca_map, work);

	map_send(map);
	spin_lock(&maps_lock);
	map->sending = false;
	if (map->uc)
		map_leave(map);
	wake_up_all(&maps_wait);	/* the ucontext may go from now on */
	spin_unlock(&maps_lock);
	kref_put(&map->ref, map_release);
}

static void map_unmapped(int result, struct gntab_unmap_queue_data *data)
{
	struct vhca_map *map = data->data;
	u32 i;

	for (i = 0; i < map->nr; i++)
		if (result || map->unmap[i].status != GNTST_okay)
			map_leak(map, result ?: map->unmap[i].status);
	queue_work(map_wq, &map->work);
}

/* Unmaps all alias pages, once per map, when none of them has a user. */
static void map_unmap(struct vhca_map *map)
{
	if (atomic_xchg(&map->unmapping, 1))
		return;
	map->unmap_data.unmap_ops = map->unmap;
	map->unmap_data.kunmap_ops = NULL;
	map->unmap_data.pages = map->pages;
	map->unmap_data.count = map->nr;
	map->unmap_data.done = map_unmapped;
	map->unmap_data.data = map;
	gnttab_unmap_refs_async(&map->unmap_data);
}

/* ---- VMA ---- */

static void vma_open(struct vm_area_struct *vma)
{
	struct vhca_map *map = vma->vm_private_data;

	atomic_inc(&map->vmas);
}

static void vma_close(struct vm_area_struct *vma)
{
	struct vhca_map *map = vma->vm_private_data;

	if (!atomic_dec_and_test(&map->vmas))
		return;
	vhca_ptes_end(map->ptes);
	map_unmap(map);
	kref_put(&map->ref, map_release);
}

/* One grant mapping is one VMA: half of it cannot be given back. */
static int vma_may_split(struct vm_area_struct *vma, unsigned long addr)
{
	return -EINVAL;
}

/*
 * The first fault inserts all pages, and so does one after they were taken away from
 * the process, but not on PV.
 */
static vm_fault_t fault_alive(const struct vhca_map *map, struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	unsigned long i = (vmf->address - vma->vm_start) >> PAGE_SHIFT;
	unsigned long nr = map->nr - i;
	int err;

	if (map->ptes)
		return VM_FAULT_SIGBUS;
	err = vm_insert_pages(vma, vmf->address, map->pages + i, &nr);
	/* Another thread may have inserted the pages. */
	if (!err || err == -EBUSY)
		return VM_FAULT_NOPAGE;
	return err == -ENOMEM ? VM_FAULT_OOM : VM_FAULT_SIGBUS;
}

static vm_fault_t vma_fault(struct vm_fault *vmf)
{
	struct vhca_map *map = vmf->vma->vm_private_data;
	vm_fault_t ret = 0;

	mutex_lock(&map->lock);
	if (READ_ONCE(map->dead)) {
		get_page(map->dummy);
		vmf->page = map->dummy;
	} else {
		ret = fault_alive(map, vmf);
	}
	mutex_unlock(&map->lock);
	return ret;
}

static __maybe_unused struct page *
vma_find_normal_page(struct vm_area_struct *vma, unsigned long addr)
{
	struct vhca_map *map = vma->vm_private_data;
	unsigned long i = (addr - vma->vm_start) >> PAGE_SHIFT;

	return map->dead || i >= map->nr ? NULL : map->pages[i];
}

static const struct vm_operations_struct map_vm_ops = {
	.open = vma_open,
	.close = vma_close,
	.may_split = vma_may_split,
	.fault = vma_fault,
	VHCA_FIND_NORMAL_PAGE(vma_find_normal_page)
};

/* ---- making a map ---- */

static struct vhca_map *map_alloc(u32 nr)
{
	struct vhca_map *map = kzalloc(sizeof(*map), GFP_KERNEL);

	if (!map)
		return NULL;
	map->nr = nr;
	kref_init(&map->ref);
	INIT_LIST_HEAD(&map->list);
	INIT_WORK(&map->work, map_work);
	mutex_init(&map->lock);
	map->dummy = alloc_page(GFP_KERNEL | __GFP_ZERO);
	map->pages = kvcalloc(nr, sizeof(*map->pages), GFP_KERNEL);
	map->unmap = kvcalloc(nr, sizeof(*map->unmap), GFP_KERNEL);
	if (!map->dummy || !map->pages || !map->unmap)
		goto err;
	if (!xen_feature(XENFEAT_auto_translated_physmap)) {
		map->ptes = vhca_ptes_alloc(nr);
		if (!map->ptes)
			goto err;
	}
	if (gnttab_alloc_pages(map->nr, map->pages)) {
		map->pages[0] = NULL;
		goto err;
	}
	return map;
err:
	map_free(map);
	return NULL;
}

/*
 * Some references were refused: unmap the others one by one. A page that Xen
 * still has mapped is the backend's, and is never freed.
 */
static void alias_undo(struct vhca_map *map,
		       const struct gnttab_map_grant_ref *op)
{
	int err;
	u32 i;

	for (i = 0; i < map->nr; i++) {
		if (op[i].status != GNTST_okay)
			continue;
		err = gnttab_unmap_refs(&map->unmap[i], NULL, &map->pages[i],
					1);
		if (err || map->unmap[i].status != GNTST_okay)
			map_leak(map, err ?: map->unmap[i].status);
	}
}

/* Maps the aliases, all or none. */
static int alias_map(struct vhca_map *map, const grant_ref_t *ref,
		     domid_t backend)
{
	struct gnttab_map_grant_ref *op;
	int err;
	u32 i;

	op = kvcalloc(map->nr, sizeof(*op), GFP_KERNEL);
	if (!op)
		return -ENOMEM;
	for (i = 0; i < map->nr; i++) {
		unsigned long va = (unsigned long)page_address(map->pages[i]);

		gnttab_set_map_op(&op[i], va, GNTMAP_host_map, ref[i],
				  backend);
	}
	err = gnttab_map_refs(op, NULL, map->pages, map->nr);
	for (i = 0; i < map->nr; i++) {
		unsigned long va = (unsigned long)page_address(map->pages[i]);

		gnttab_set_unmap_op(&map->unmap[i], va, GNTMAP_host_map,
				    op[i].handle);
		if (!err && op[i].status != GNTST_okay)
			err = -EIO;
	}
	if (err)
		alias_undo(map, op);
	kvfree(op);
	return err;
}

static void map_attach(struct vhca_map *map, struct vm_area_struct *vma)
{
	map->mapping = vma->vm_file->f_mapping;
	map->start = (loff_t)vma->vm_pgoff << PAGE_SHIFT;
	atomic_set(&map->vmas, 1);
	kref_get(&map->ref);
	vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP | VM_MIXEDMAP);
	/*
	 * A child's page table must have none of these entries: Xen would refuse
	 * to pin it. VM_IO, so that MADV_DOFORK cannot ask for them.
	 */
	if (map->ptes)
		vm_flags_set(vma, VM_DONTCOPY | VM_IO);
	vma->vm_private_data = map;
	vma->vm_ops = &map_vm_ops;
}

/* No search for a map of the same range: a range is mapped once (range.c). */
static void map_add(struct vhca_ucontext *uc, struct vhca_map *map)
{
	spin_lock(&maps_lock);
	list_add(&map->list, &uc->maps);
	map->uc = uc;
	spin_unlock(&maps_lock);
}

static void map_del(struct vhca_map *map)
{
	spin_lock(&maps_lock);
	list_del_init(&map->list);
	map->uc = NULL;
	spin_unlock(&maps_lock);
}

int vhca_map_grants(struct vhca_ucontext *uc, struct vm_area_struct *vma,
		    const grant_ref_t *ref, u32 nr_pages, u64 offset,
		    bool *tried)
{
	const struct vm_operations_struct *ops = vma->vm_ops;
	struct vhca_dev *dev = to_vdev(uc->ibuc.device);
	struct vhca_map *map;
	int err;

	if (!nr_pages || vma_pages(vma) != nr_pages ||
	    !(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	/* For vm_ops and notifier, until the release; see doorbell.c. */
	if (!try_module_get(THIS_MODULE))
		return -ENODEV;
	map = map_alloc(nr_pages);
	if (!map) {
		module_put(THIS_MODULE);
		return -ENOMEM;
	}
	map->offset = offset;
	map_add(uc, map);
	err = map->ptes ? vhca_ptes_watch(map->ptes, vma) : 0;
	if (!err)
		err = alias_map(map, ref, dev->backend);
	if (err)
		goto del;

	*tried = true;
	map_attach(map, vma);
	atomic64_add(nr_pages, &dev->stats.pages_mapped);
	if (map->ptes)
		err = vhca_ptes_map(map->ptes, vma, ref, dev->backend);
	if (!err)
		return 0;

	/* mmap() removes the pages that are in the VMA without vm_ops. */
	vma->vm_ops = ops;
	vma->vm_private_data = NULL;
	vhca_ptes_end(map->ptes);
	map_unmap(map);
	kref_put(&map->ref, map_release);
	return err;
del:
	vhca_ptes_end(map->ptes);
	map_del(map);
	map_free(map);
	module_put(THIS_MODULE);
	return err;
}

/* ---- the ucontext goes ---- */

static bool maps_empty(struct vhca_ucontext *uc)
{
	bool empty;

	spin_lock(&maps_lock);
	empty = list_empty(&uc->maps);
	spin_unlock(&maps_lock);
	return empty;
}

/* Stops waiting for pages that are in use, as by O_DIRECT: they are unmapped later. */
static void maps_detach(struct vhca_ucontext *uc)
{
	struct vhca_map *map, *next;

	spin_lock(&maps_lock);
	list_for_each_entry_safe(map, next, &uc->maps, list)
		if (!map->sending)
			map_leave(map);
	spin_unlock(&maps_lock);
}

/* Waits at most @wait for pages that are in use. Returns the rest of the time. */
static long wait_for_maps(struct vhca_ucontext *uc, long wait)
{
	long left = wait_event_timeout(maps_wait, maps_empty(uc), wait);

	if (!left)
		maps_detach(uc);
	/* Commands that are being sent end: a destroy command is bounded. */
	wait_event(maps_wait, maps_empty(uc));
	return left;
}

void vhca_map_flush(struct vhca_ucontext *uc)
{
	wait_for_maps(uc, VHCA_ZAP_WAIT);
}

/* Returns the next map that is not zapped, with a reference; moves it to the end. */
static struct vhca_map *map_next_alive(struct vhca_ucontext *uc)
{
	struct vhca_map *map;

	spin_lock(&maps_lock);
	map = list_first_entry_or_null(&uc->maps, struct vhca_map, list);
	if (map && map->dead)
		map = NULL;
	if (map) {
		map->dead = true;
		kref_get(&map->ref);
		list_move_tail(&map->list, &uc->maps);
	}
	spin_unlock(&maps_lock);
	return map;
}

/*
 * Contexts are zapped one after the other. All of them wait for VHCA_ZAP_WAIT together:
 * else a process with pages of many contexts would delay the end of the device.
 */
void vhca_map_zap(struct vhca_ucontext *uc)
{
	struct vhca_dev *dev = to_vdev(uc->ibuc.device);
	long wait = VHCA_ZAP_WAIT - dev->zap_waited;
	struct vhca_map *map;

	while ((map = map_next_alive(uc))) {
		/* A page fault has inserted the pages by now, or it sees that the map is dead. */
		mutex_lock(&map->lock);
		/* On PV the notifier runs in here. */
		unmap_mapping_range(map->mapping, map->start,
				    (loff_t)map->nr << PAGE_SHIFT, 1);
		mutex_unlock(&map->lock);
		/* A VMA that mmap() has not linked yet was not found there. */
		if (map->ptes)
			vhca_ptes_clear(map->ptes);
		map_unmap(map);
		kref_put(&map->ref, map_release);
	}
	wait -= wait_for_maps(uc, wait);
	dev->zap_waited += max(wait, 0L);
}

/*
 * Linux has the pages that it maps grants to in sections of 128 MiB, and adds one when
 * all are in use. It does not check whether it got the pages for that section's page
 * tables (phys_pte_init()), and crashes without. One section is twice the limit of all
 * queues of a device (range_end.c). It is added at load, not when a process that has
 * used up memory maps its first queue. With a higher queue_pages, or several backends,
 * Linux may need a second section.
 */
static void map_add_section(void)
{
	struct page *page;

	if (!gnttab_alloc_pages(1, &page))
		gnttab_free_pages(1, &page);
}

int vhca_map_init(void)
{
	map_wq = alloc_workqueue("vhca-map", WQ_UNBOUND, 0);
	if (!map_wq)
		return -ENOMEM;
	map_add_section();
	return 0;
}

/*
 * No VMA is left. A task that has put the last reference of the module, of a map or of a
 * doorbell page, may still be in the module's code: it does not sleep there.
 */
void vhca_map_exit(void)
{
	destroy_workqueue(map_wq);
	synchronize_rcu_tasks();
}
