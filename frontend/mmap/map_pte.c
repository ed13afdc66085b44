// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Page table entries of a process that name frames of the backend, in a PV
 * guest. Only Xen may write such an entry, so each page is granted straight
 * into the page table. Xen remembers the address of the entry: an MMU notifier
 * has it cleared before the kernel takes the page table away.
 */
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <asm/xen/hypercall.h>
#include <xen/page.h>

#include "compat.h"
#include "map.h"

struct vhca_ptes {
	u32 nr;
	unsigned long addr;		/* of the first page in the process */
	struct gnttab_map_grant_ref *map;
	struct gnttab_unmap_grant_ref *unmap;
	struct mutex lock;		/* unmap[].handle */
	struct mmu_interval_notifier notifier;
	bool notified;
};

/* Unmaps a run of present entries by one hypercall. */
static void ptes_unmap_run(struct vhca_ptes *p, u32 first, u32 n)
{
	struct gnttab_unmap_grant_ref *op = p->unmap + first;
	u32 i, bad = 0;
	int err;

	err = HYPERVISOR_grant_table_op(GNTTABOP_unmap_grant_ref, op, n);
	for (i = 0; i < n; i++) {
		bad += err || op[i].status != GNTST_okay;
		op[i].handle = INVALID_GRANT_HANDLE;
	}
	if (bad)
		pr_warn_ratelimited("xen-vhcafront: Xen refused to unmap %u pages of a process\n",
				    bad);
}

static void ptes_unmap(struct vhca_ptes *p, u32 first, u32 end)
{
	u32 i;

	mutex_lock(&p->lock);
	while (first < end) {
		for (i = first; i < end; i++)
			if (p->unmap[i].handle == INVALID_GRANT_HANDLE)
				break;
		if (i > first)
			ptes_unmap_run(p, first, i - first);
		first = i + 1;
	}
	mutex_unlock(&p->lock);
}

static bool ptes_invalidate(struct mmu_interval_notifier *mn,
			    const struct mmu_notifier_range *range,
			    unsigned long seq)
{
	struct vhca_ptes *p = container_of(mn, struct vhca_ptes, notifier);
	unsigned long start, end;

	if (!mmu_notifier_range_blockable(range))
		return false;
	mmu_interval_set_seq(mn, seq);
	start = max(range->start, p->addr);
	end = min(range->end, p->addr + ((unsigned long)p->nr
					   << PAGE_SHIFT));
	if (start < end)
		ptes_unmap(p, (start - p->addr) >> PAGE_SHIFT,
			   (end - p->addr) >> PAGE_SHIFT);
	return true;
}

static const struct mmu_interval_notifier_ops ptes_notifier_ops = {
	.invalidate = ptes_invalidate,
};

static int ptes_prepare(pte_t *pte, unsigned long addr, void *data)
{
	struct vhca_ptes *p = data;
	u32 i = (addr - p->addr) >> PAGE_SHIFT;
	struct gnttab_map_grant_ref *op = &p->map[i];
	u64 maddr = arbitrary_virt_to_machine(pte).maddr;

	gnttab_set_map_op(op, maddr, op->flags, op->ref, op->dom);
	gnttab_set_unmap_op(&p->unmap[i], maddr, op->flags,
			    INVALID_GRANT_HANDLE);
	return 0;
}

/*
 * The first notifier of a process takes all locks of its memory, which Linux refuses
 * while a signal is pending. So signals are blocked meanwhile. A stop or the freezer
 * can still interrupt it: then the system call begins anew, without notice to the
 * process.
 */
int vhca_ptes_watch(struct vhca_ptes *p, struct vm_area_struct *vma)
{
	sigset_t all, before;
	int err;

	p->addr = vma->vm_start;
	siginitsetinv(&all, sigmask(SIGKILL));
	sigprocmask(SIG_SETMASK, &all, &before);
	err = mmu_interval_notifier_insert_locked(&p->notifier, vma->vm_mm,
						  vma->vm_start,
						  vma->vm_end - vma->vm_start,
						  &ptes_notifier_ops);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (err)
		return err == -EINTR ? -ERESTARTNOINTR : err;
	p->notified = true;
	/* The page tables cannot change: the mmap lock is held for writing. */
	mmu_interval_read_begin(&p->notifier);
	return 0;
}

int vhca_ptes_map(struct vhca_ptes *p, struct vm_area_struct *vma,
		  const grant_ref_t *ref, domid_t backend)
{
	u32 flags = GNTMAP_host_map | GNTMAP_application_map |
		    GNTMAP_contains_pte | (1 << _GNTMAP_guest_avail0);
	u32 i;
	int err;

	if (!(vma->vm_flags & VM_WRITE))
		flags |= GNTMAP_readonly;
	for (i = 0; i < p->nr; i++) {
		p->map[i].flags = flags;
		p->map[i].ref = ref[i];
		p->map[i].dom = backend;
	}
	err = apply_to_page_range(vma->vm_mm, vma->vm_start,
				  vma->vm_end - vma->vm_start,
				  ptes_prepare, p);
	if (err)
		return err;

	mutex_lock(&p->lock);
	gnttab_batch_map(p->map, p->nr);
	for (i = 0; i < p->nr; i++) {
		if (p->map[i].status == GNTST_okay)
			p->unmap[i].handle = p->map[i].handle;
		else
			err = -EIO;
	}
	mutex_unlock(&p->lock);
	return err;
}

void vhca_ptes_clear(struct vhca_ptes *p)
{
	ptes_unmap(p, 0, p->nr);
}

void vhca_ptes_end(struct vhca_ptes *p)
{
	if (!p || !p->notified)
		return;
	vhca_ptes_clear(p);
	mmu_interval_notifier_remove(&p->notifier);
	p->notified = false;
}

struct vhca_ptes *vhca_ptes_alloc(u32 nr)
{
	struct vhca_ptes *p = kzalloc(sizeof(*p), GFP_KERNEL);

	if (!p)
		return NULL;
	p->nr = nr;
	mutex_init(&p->lock);
	p->map = kvcalloc(nr, sizeof(*p->map), GFP_KERNEL);
	p->unmap = kvcalloc(nr, sizeof(*p->unmap), GFP_KERNEL);
	if (!p->map || !p->unmap) {
		vhca_ptes_free(p);
		return NULL;
	}
	while (nr--)
		p->unmap[nr].handle = INVALID_GRANT_HANDLE;
	return p;
}

void vhca_ptes_free(struct vhca_ptes *p)
{
	if (!p)
		return;
	kvfree(p->map);
	kvfree(p->unmap);
	kfree(p);
}
