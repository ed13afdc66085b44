// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Grants the HCA driver's own queue pages, which the caller mapped through a
 * verbs file, to another domain, and ends the grants.
 *
 * This runs in the worker's system calls and, for grants that the other domain
 * still maps ("zombies"), in the workqueue. The other domain is not trusted: a
 * page that it still maps is neither freed nor reused, nor is one that it may map
 * because it is dying (../../common/kernel/dying.h).
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/moduleparam.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <xen/grant_table.h>
#include <xen/io/vhcaif.h>
#include <xen/page.h>
#include "../../common/kernel/dying.h"
#include "../../common/kernel/grants.h"
#include "compat.h"
#include "helper.h"

#define VH_RETRY	msecs_to_jiffies(100)	/* grants still mapped */
#define VH_BATCH	4096			/* grant references at once */

/* Half of 64 grant frames. */
static unsigned int vh_domain_pages = XENVHCA_QUEUE_PAGES;
module_param_named(domain_pages, vh_domain_pages, uint, 0644);
MODULE_PARM_DESC(domain_pages, "Most pages granted to one domain (16384)");

static unsigned int vh_granted_pages;
module_param_named(granted_pages, vh_granted_pages, uint, 0644);
MODULE_PARM_DESC(granted_pages,
		 "Most pages granted to all domains (0: three quarters of this domain's grant table)");

/* Pages granted by one VHCA_HELPER_GRANT; one page reference for each. */
struct vh_range {
	struct list_head list;		/* vh_zombie_list, when handed over */
	u32 nr;				/* pages not yet put */
	u32 mapped;			/* grants not yet ended: refs[0..mapped-1] */
	unsigned long ended;		/* end of the last of the others, jiffies */
	domid_t domid;			/* domain that may map them */
	bool dying;			/* that domain may be dying */
	grant_ref_t *refs;
	struct page *pages[];
};

static LIST_HEAD(vh_zombie_list);
static DEFINE_MUTEX(vh_zombie_lock);
/* Maps a domid to the number of pages that it may map or still maps. */
static DEFINE_XARRAY(vh_domains);
static unsigned long vh_charged;		/* their sum */
static DEFINE_MUTEX(vh_domains_lock);		/* inside of vh_zombie_lock */

/* No devices: devtmpfs, where gntdev's file is, has the same magic. */
static bool vh_is_shmem(const struct vm_area_struct *vma)
{
	const struct inode *inode = vma->vm_file ? file_inode(vma->vm_file) : NULL;

	return inode && S_ISREG(inode->i_mode) &&
	       inode->i_sb->s_magic == TMPFS_MAGIC;
}

/*
 * References to the pages of one shared writable mapping: of verbs, or shared
 * memory that the worker made. An ordinary reference is enough: the former are
 * the driver's own kernel pages, which do not move, and vfree() or free_page()
 * by the driver only drops the driver's; the latter are neither moved nor
 * reclaimed while there is a reference that their page tables do not explain.
 */
static int vh_get_pages(u64 addr, u32 nr, struct page **pages)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	long got = -EFAULT;

	if (mmap_read_lock_killable(mm))
		return -EINTR;
	vma = vma_lookup(mm, addr);
	if (vma && (vma->vm_flags & VM_SHARED) &&
	    (vh_is_uverbs(vma) || vh_is_shmem(vma)) &&
	    (vma->vm_end - addr) >> PAGE_SHIFT >= nr)
		got = vh_get_user_pages(addr, nr, pages);
	mmap_read_unlock(mm);
	if (got == nr)
		return 0;
	while (got > 0)
		put_page(pages[--got]);
	return got < 0 ? got : -EFAULT;
}

/*
 * The rest of the table is for this domain's disks and network cards, which stall without
 * references.
 */
static unsigned long vh_most_pages(void)
{
	unsigned long all = gnttab_max_grant_frames() *
			    vhca_grants_of_frame();

	return READ_ONCE(vh_granted_pages) ?: all - all / 4;
}

/* May sum pages be granted to the domain, and all pages to all domains? */
static int vh_bounded(domid_t domid, unsigned long sum, unsigned long all)
{
	unsigned long most = vh_most_pages();

	if (sum > READ_ONCE(vh_domain_pages)) {
		pr_warn_ratelimited("%lu pages would be granted to domain %u or not unmapped by it; parameter domain_pages is %u\n",
				    sum, domid, vh_domain_pages);
		return -EBUSY;
	}
	if (all > most) {
		pr_warn_ratelimited("%lu pages would be granted to all domains or not unmapped by them, the most is %lu; raise max_grant_frames of this domain, or parameter granted_pages\n",
				    all, most);
		return -ENOSPC;
	}
	return 0;
}

/*
 * No quota of a device includes the memory of queues that were given back, and any queue
 * may be given back at any time, so the sum is bounded here.
 */
static int vh_charge(domid_t domid, long nr)
{
	unsigned long sum;
	int err = 0;

	mutex_lock(&vh_domains_lock);
	sum = xa_to_value(xa_load(&vh_domains, domid)) + nr;
	if (nr > 0)
		err = vh_bounded(domid, sum, vh_charged + nr);
	if (!err)
		err = xa_err(xa_store(&vh_domains, domid,
				      sum ? xa_mk_value(sum) : NULL,
				      GFP_KERNEL));
	if (!err)
		vh_charged += nr;
	mutex_unlock(&vh_domains_lock);
	return err;
}

/* Ends grants that are not mapped, and moves their pages behind the others. */
static void vh_end_grants(struct vh_range *r)
{
	u32 i = 0, before = r->mapped;

	while (i < r->mapped) {
		cond_resched();
		if (!gnttab_try_end_foreign_access(r->refs[i])) {
			i++;
			continue;
		}
		r->mapped--;
		r->refs[i] = r->refs[r->mapped];
		swap(r->pages[i], r->pages[r->mapped]);
		r->ended = jiffies;
	}
	atomic_sub(before - r->mapped, &vh_grants);
}

/* Puts pages that may be used again; returns the number of the others. */
static u32 vh_try_end(struct vh_range *r)
{
	u32 i;

	vh_end_grants(r);
	if (r->mapped == r->nr ||
	    (r->dying && vhca_dying_maps(r->domid, r->ended)))
		return r->nr;
	for (i = r->mapped; i < r->nr; i++)
		put_page(r->pages[i]);
	vh_charge(r->domid, -(long)(r->nr - r->mapped));
	r->nr = r->mapped;
	return r->nr;
}

static void vh_zombie_fn(struct work_struct *work)
{
	struct vh_range *r, *next;
	u32 before;

	mutex_lock(&vh_zombie_lock);
	list_for_each_entry_safe(r, next, &vh_zombie_list, list) {
		before = r->nr;
		atomic_sub(before - vh_try_end(r), &vh_zombies);
		if (!r->nr) {
			list_del(&r->list);
			kvfree(r);
		}
	}
	if (!list_empty(&vh_zombie_list))
		queue_delayed_work(vh_wq, to_delayed_work(work), VH_RETRY);
	mutex_unlock(&vh_zombie_lock);
}
static DECLARE_DELAYED_WORK(vh_zombie_work, vh_zombie_fn);

/*
 * Consumes r. @dying: the other domain may be dying. Returns the number of pages that it
 * still maps.
 */
static u32 vh_end(struct vh_range *r, bool dying)
{
	u32 mapped;

	r->mapped = r->nr;
	r->dying = dying;
	if (!vh_try_end(r)) {
		kvfree(r);
		return 0;
	}
	mapped = r->mapped;
	r->dying = true;	/* it may be dying when the rest ends */
	mutex_lock(&vh_zombie_lock);
	atomic_add(r->nr, &vh_zombies);
	list_add_tail(&r->list, &vh_zombie_list);
	queue_delayed_work(vh_wq, &vh_zombie_work, VH_RETRY);
	mutex_unlock(&vh_zombie_lock);
	return mapped;
}

/* Grants r->pages[0..nr-1]; r->nr is the number of granted pages, also on failure. */
static int vh_grant_pages(struct vh_range *r, u32 nr, domid_t domid)
{
	grant_ref_t head;
	u32 n;
	int err;

	while (r->nr < nr) {
		n = min_t(u32, nr - r->nr, VH_BATCH);
		err = gnttab_alloc_grant_references(n, &head);
		if (err) {
			pr_warn_ratelimited("no %u grant references left; raise max_grant_frames of this domain\n",
					    nr - r->nr);
			return -ENOSPC;
		}
		atomic_add(n, &vh_grants);
		for (; n; n--, r->nr++) {
			r->refs[r->nr] = gnttab_claim_grant_reference(&head);
			gnttab_grant_foreign_access_ref(r->refs[r->nr], domid,
				xen_page_to_gfn(r->pages[r->nr]), 0);
		}
		cond_resched();
	}
	return 0;
}

/* A file serves one guest, the first one: other guests are not charged. */
static int vh_grant_check(struct vh_file *vf, const struct vhca_helper_grant *g)
{
	u32 mine = g->domid + 1, first;

	if (!g->nr_pages || g->nr_pages > VHCA_HELPER_MAX_PAGES || g->reserved ||
	    g->reserved1 || g->domid >= DOMID_FIRST_RESERVED ||
	    !PAGE_ALIGNED(g->addr) || g->addr >= TASK_SIZE)
		return -EINVAL;
	first = cmpxchg(&vf->domain, 0, mine);
	return first && first != mine ? -EPERM : 0;
}

long vh_grant(struct vh_file *vf, struct vhca_helper_grant __user *arg)
{
	struct vhca_helper_grant g;
	struct vh_range *r;
	int err;
	u32 i;

	if (copy_from_user(&g, arg, sizeof(g)))
		return -EFAULT;
	err = vh_grant_check(vf, &g);
	if (err)
		return err;
	err = vh_charge(g.domid, g.nr_pages);
	if (err)
		return err;
	r = kvzalloc(struct_size(r, pages, g.nr_pages) +
		     g.nr_pages * sizeof(*r->refs), GFP_KERNEL);
	if (!r) {
		err = -ENOMEM;
		goto uncharge;
	}
	r->domid = g.domid;
	r->refs = (void *)&r->pages[g.nr_pages];
	err = vh_get_pages(g.addr, g.nr_pages, r->pages);
	if (err) {
		kvfree(r);
		goto uncharge;
	}
	err = vh_grant_pages(r, g.nr_pages, g.domid);
	for (i = r->nr; i < g.nr_pages; i++)
		put_page(r->pages[i]);
	vh_charge(g.domid, -(long)(g.nr_pages - r->nr));
	if (err)
		goto end;
	err = -EFAULT;
	if (copy_to_user(u64_to_user_ptr(g.refs), r->refs,
			 g.nr_pages * sizeof(*r->refs)))
		goto end;
	err = xa_alloc(&vf->ranges, &g.id, r, xa_limit_31b, GFP_KERNEL);
	if (err)
		goto end;
	if (!copy_to_user(arg, &g, sizeof(g)))
		return 0;
	err = -EFAULT;
	r = xa_erase(&vf->ranges, g.id);
end:
	if (r)
		vh_end(r, false);
	return err;
uncharge:
	vh_charge(g.domid, -(long)g.nr_pages);
	return err;
}

long vh_ungrant(struct vh_file *vf, struct vhca_helper_ungrant __user *arg)
{
	struct vhca_helper_ungrant u;
	struct vh_range *r;

	if (copy_from_user(&u, arg, sizeof(u)))
		return -EFAULT;
	if (u.flags & ~VHCA_HELPER_MAY_DIE)
		return -EINVAL;
	r = xa_erase(&vf->ranges, u.id);
	return r ? vh_end(r, u.flags & VHCA_HELPER_MAY_DIE) : -ENOENT;
}

void vh_grant_release(struct vh_file *vf)
{
	struct vh_range *r;
	unsigned long id;

	xa_for_each(&vf->ranges, id, r)
		vh_end(r, true);
	xa_destroy(&vf->ranges);
}

/*
 * The kernel's own list of late grants takes over the remaining grants. It does not take
 * pages whose grants have ended: this waits for them, VHCA_DYING_WAIT at most.
 */
void vh_grant_stop(void)
{
	struct vh_range *r, *next;
	u32 i;

	cancel_delayed_work_sync(&vh_zombie_work);
	list_for_each_entry_safe(r, next, &vh_zombie_list, list) {
		for (i = 0; i < r->mapped; i++)
			gnttab_end_foreign_access(r->refs[i], r->pages[i]);
		while (r->mapped < r->nr && vhca_dying_maps(r->domid, r->ended))
			msleep(100);
		for (; i < r->nr; i++)
			put_page(r->pages[i]);
		kvfree(r);
	}
	xa_destroy(&vh_domains);
}
