// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Memory of this guest that is granted to the backend: pinned user memory, memory of the
 * kernel, and the pages of the rings. This runs in the process that registers or releases
 * the memory.
 *
 * A page that the backend still maps cannot be freed: it becomes a zombie, which holds
 * a reference of the page. The end of its grant is retried until the backend has
 * unmapped the page. Until then the page counts as granted, and as pinned by its
 * process; a backend that maps too many zombies loses the device. If the backend domain
 * may be about to die, a page stays a zombie for some time after its grant has ended
 * (../common/kernel/dying.h).
 */
#include <linux/delay.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <xen/page.h>

#include "../../common/kernel/dying.h"
#include "../../common/kernel/grants.h"
#include "grant.h"
#include "vhca.h"

/*
 * Grants of a network card (two rings of 256 requests) and a disk (32 requests of 33
 * pages) for each virtual processor, of which these devices use eight at most.
 */
#define VHCA_OTHERS_GRANTS	1600
#define VHCA_OTHERS_CPUS	8
#define VHCA_GRANT_RINGS	64	/* pages; a device has 18 */
#define VHCA_ZOMBIE_RETRY	(HZ)
#define VHCA_ZOMBIE_WAIT_MS	5000
#define VHCA_DYING_WAIT_MS	(VHCA_ZOMBIE_WAIT_MS + VHCA_DYING_WAIT / HZ * 1000)
#define VHCA_ZOMBIE_SHARE	8	/* of the limit for grants */
#define VHCA_ZOMBIE_MEMORY	16	/* of the memory there is */

struct vhca_zombie {
	struct list_head list;
	grant_ref_t ref;		/* unless it has ended */
	domid_t backend;
	unsigned long ended;		/* jiffies; 0: the backend maps the page */
	struct page *page;
	struct mm_struct *mm;		/* of the pinned page, or NULL */
};

static DEFINE_SPINLOCK(zombie_lock);
static LIST_HEAD(zombies);
static atomic64_t zombie_count;
static atomic64_t zombies_mapped;	/* those whose grants have not ended */
/* All devices share one grant table: counts data, directory, ring, zombie pages. */
static atomic64_t granted;
static unsigned int grants_of_frame;

static void zombies_retry(struct work_struct *work);
static DECLARE_DELAYED_WORK(zombie_work, zombies_retry);

u64 vhca_grant_zombies(void)
{
	return atomic64_read(&zombie_count);
}

/* Ends a grant. Return: when (jiffies), 0: the backend still maps the page. */
static unsigned long grant_end(grant_ref_t ref)
{
	return gnttab_try_end_foreign_access(ref) ? max(jiffies, 1ul) : 0;
}

/* The grant of @z has ended; an entry of a page table may still be there. */
static void zombie_ended(struct vhca_zombie *z)
{
	atomic64_dec(&zombies_mapped);
	atomic64_dec(&granted);
}

static void zombie_free(struct vhca_zombie *z)
{
	if (z->mm) {
		atomic64_dec(&z->mm->pinned_vm);
		mmdrop(z->mm);
	}
	atomic64_dec(&zombie_count);
	kfree(z);
}

/* Tries to end the grant once more. May the page be used again? */
static bool zombie_over(struct vhca_zombie *z)
{
	if (!z->ended) {
		z->ended = grant_end(z->ref);
		if (!z->ended)
			return false;
		zombie_ended(z);
	}
	return !vhca_dying_maps(z->backend, z->ended);
}

/* Pages that may not be used again yet go back on the list. */
static void zombie_reap(void)
{
	struct vhca_zombie *z, *next;
	LIST_HEAD(todo);

	spin_lock(&zombie_lock);
	list_splice_init(&zombies, &todo);
	spin_unlock(&zombie_lock);
	list_for_each_entry_safe(z, next, &todo, list) {
		cond_resched();
		if (!zombie_over(z))
			continue;
		list_del(&z->list);
		put_page(z->page);
		zombie_free(z);
	}
	spin_lock(&zombie_lock);
	list_splice(&todo, &zombies);
	spin_unlock(&zombie_lock);
}

static void zombies_retry(struct work_struct *work)
{
	zombie_reap();
	if (vhca_grant_zombies())
		schedule_delayed_work(&zombie_work, VHCA_ZOMBIE_RETRY);
}

/*
 * Takes over the caller's reference of the page. @mm: of a pinned page, or NULL.
 * @ended: when the grant @ref ended, or 0.
 */
static void zombie_add(domid_t backend, grant_ref_t ref,
		       struct page *page, struct mm_struct *mm,
		       unsigned long ended)
{
	struct vhca_zombie *z = kmalloc(sizeof(*z), GFP_NOIO);	/* under the gate */

	if (!z) {
		/* The grant table has a list of its own for this. */
		if (!ended)
			gnttab_end_foreign_access(ref, page);
		else
			pr_warn_ratelimited("xen-vhcafront: out of memory: a page is lost\n");
		return;
	}
	z->ref = ref;
	z->backend = backend;
	z->ended = ended;
	z->page = page;
	z->mm = mm;
	if (mm) {
		mmgrab(mm);
		atomic64_inc(&mm->pinned_vm);
	}
	atomic64_inc(&zombie_count);
	if (!ended) {
		atomic64_inc(&zombies_mapped);
		atomic64_inc(&granted);
	}
	spin_lock(&zombie_lock);
	list_add_tail(&z->list, &zombies);
	spin_unlock(&zombie_lock);
	schedule_delayed_work(&zombie_work, VHCA_ZOMBIE_RETRY);
}

/* Did the backend unmap the page in order? Else its domain may be dying. */
static bool backend_confirmed(const struct vhca_dev *dev)
{
	return vhca_ring_up(&dev->ring) || dev->ring.closed;
}

/* The same of memory, whose connection may be over. Of those before the last it is unknown. */
static bool mem_confirmed(const struct vhca_mem *mem)
{
	const struct vhca_dev *dev = mem->dev;
	bool confirmed = backend_confirmed(dev);

	smp_rmb();	/* the number after the ring, which has it before it is up */
	return confirmed && READ_ONCE(dev->gen) - mem->gen <= READ_ONCE(dev->away);
}

/* Ends a grant, at *ended unless that is 0. May its page be used again? */
static bool page_end(domid_t backend, bool confirmed, grant_ref_t ref,
		     unsigned long *ended)
{
	*ended = grant_end(ref);
	return *ended && (confirmed || !vhca_dying_maps(backend, *ended));
}

static bool page_end_free(domid_t backend, bool confirmed, grant_ref_t ref,
			  struct page *page)
{
	unsigned long ended;

	if (page_end(backend, confirmed, ref, &ended)) {
		__free_page(page);
		return true;
	}
	zombie_add(backend, ref, page, NULL, ended);
	return ended;
}

bool vhca_grant_end_page(struct vhca_dev *dev, grant_ref_t ref,
			 struct page *page)
{
	return page_end_free(dev->backend, backend_confirmed(dev), ref, page);
}

/*
 * A part of the grant table is reserved for other devices of this guest: a process must
 * not be able to starve its network card. The part is an eighth, or the grants of these
 * devices for each virtual processor after the first if that is more, and half at most.
 */
static u64 grant_max(void)
{
	u64 all = (u64)gnttab_max_grant_frames() * grants_of_frame;
	u64 others = (min_t(u64, num_possible_cpus(), VHCA_OTHERS_CPUS) - 1) *
		     VHCA_OTHERS_GRANTS;

	return all - clamp(others, all / 8, all / 2);
}

/* Three levels of lists, each rounded up; the first level has a page for each 1024. */
u64 vhca_grant_max_region(void)
{
	u64 lists = grant_max() / XENVHCA_GREFS_PER_PAGE;
	u64 besides = lists + lists / XENVHCA_GREFS_PER_PAGE + 3 +
		      VHCA_GRANT_RINGS;

	return grant_max() > besides ? grant_max() - besides : 0;
}

static u64 zombie_max(void)
{
	u64 memory = (u64)totalram_pages() << (PAGE_SHIFT - XEN_PAGE_SHIFT);

	return min(grant_max() / VHCA_ZOMBIE_SHARE,
		   memory / VHCA_ZOMBIE_MEMORY);
}

bool vhca_grant_overdrawn(void)
{
	if (vhca_grant_zombies() <= zombie_max())
		return false;
	zombie_reap();
	return vhca_grant_zombies() > zombie_max();
}

/*
 * @nr pages of @mem became zombies although the backend lives. May break the device, unless
 * they are those of an earlier connection.
 */
static void zombie_blame(const struct vhca_mem *mem, u32 nr)
{
	struct vhca_dev *dev = mem->dev;

	if (!nr)
		return;
	dev_warn_ratelimited(dev->store->dev,
			     "backend still maps %u pages, %llu in all: they stay allocated until it lets go\n",
			     nr, (u64)atomic64_read(&zombies_mapped));
	if (mem->gen != dev->gen || !vhca_ring_up(&dev->ring) ||
	    atomic64_read(&zombies_mapped) <= zombie_max())
		return;
	/* The backend may have unmapped some pages since. */
	zombie_reap();
	if (atomic64_read(&zombies_mapped) > zombie_max())
		vhca_break(dev, "backend does not let go of memory");
}

void vhca_grant_count(int nr)
{
	atomic64_add(nr, &granted);
}

static int grant_reserve(struct vhca_dev *dev, u32 nr)
{
	if (atomic64_add_return(nr, &granted) <= grant_max())
		return 0;
	/* Zombies of an earlier backend may be free by now. */
	zombie_reap();
	if (atomic64_read(&granted) <= grant_max())
		return 0;
	atomic64_sub(nr, &granted);
	dev_err_ratelimited(dev->store->dev,
			    "no grant references for %u pages of 4 KiB (%u frames, backends keep %llu pages): raise max_grant_frames in the configuration of this domain\n",
			    nr, gnttab_max_grant_frames(),
			    (u64)atomic64_read(&zombies_mapped));
	return -ENOMEM;
}

static int grant_page(struct vhca_dev *dev, struct page *page,
		      bool readonly, grant_ref_t *ref)
{
	int err = gnttab_grant_foreign_access(dev->backend,
					      xen_page_to_gfn(page), readonly);

	if (err < 0) {
		dev_err_ratelimited(dev->store->dev,
				    "out of grant references: raise max_grant_frames in the configuration of this domain\n");
		return -ENOMEM;
	}
	*ref = err;
	return 0;
}

/* ---- directories ---- */

static u32 dirs_of(u32 nr)
{
	return DIV_ROUND_UP(nr, XENVHCA_GREFS_PER_PAGE);
}

/* Computes the depth of the tree and the number of its directory pages. */
static int mem_shape(struct vhca_mem *mem, u32 nr)
{
	mem->pages.nr_pages = nr;
	if (nr <= XENVHCA_MAX_PAGES_LEVEL0) {
		mem->pages.level = 0;
		mem->nr_dir = 0;
	} else if (nr <= XENVHCA_MAX_PAGES_LEVEL1) {
		mem->pages.level = 1;
		mem->nr_dir = dirs_of(nr);
	} else if (nr <= XENVHCA_MAX_PAGES_LEVEL2) {
		mem->pages.level = 2;
		mem->nr_dir = dirs_of(nr) + dirs_of(dirs_of(nr));
	} else {
		return -ENOMEM;
	}
	return 0;
}

/*
 * Writes @nr references into directory pages mem->dir[first ..], grants them.
 * Returns how many pages that took, or an error.
 */
static int mem_fill(struct vhca_mem *mem, const grant_ref_t *ref, u32 nr,
		    u32 first)
{
	u32 i, n, dirs = dirs_of(nr);
	int err;

	for (i = 0; i < dirs; i++) {
		struct page *page = alloc_page(GFP_KERNEL | __GFP_ZERO);

		if (!page)
			return -ENOMEM;
		n = min_t(u32, nr - i * XENVHCA_GREFS_PER_PAGE,
			  XENVHCA_GREFS_PER_PAGE);
		memcpy(page_address(page), ref + i * XENVHCA_GREFS_PER_PAGE,
		       n * sizeof(*ref));
		err = grant_page(mem->dev, page, false,
				 &mem->dir_ref[first + i]);
		if (err) {
			__free_page(page);
			return err;
		}
		mem->dir[first + i] = page;
	}
	return dirs;
}

static int mem_build_dirs(struct vhca_mem *mem)
{
	const grant_ref_t *top = mem->ref;
	u32 nr = mem->pages.nr_pages, first = 0;
	int level, dirs;

	if (mem->nr_dir) {
		mem->dir = kcalloc(mem->nr_dir, sizeof(*mem->dir), GFP_KERNEL);
		mem->dir_ref = kcalloc(mem->nr_dir, sizeof(*mem->dir_ref),
				       GFP_KERNEL);
		if (!mem->dir || !mem->dir_ref)
			return -ENOMEM;
	}
	for (level = 0; level < mem->pages.level; level++) {
		dirs = mem_fill(mem, top, nr, first);
		if (dirs < 0)
			return dirs;
		top = mem->dir_ref + first;
		first += dirs;
		nr = dirs;
	}
	memcpy(mem->pages.gref, top, nr * sizeof(*top));
	return 0;
}

void vhca_mem_drop_dirs(struct vhca_mem *mem)
{
	u32 i, stuck = 0;

	if (!mem)
		return;
	for (i = 0; mem->dir && mem->dir_ref && i < mem->nr_dir; i++)
		if (mem->dir[i] &&
		    !page_end_free(mem->backend, mem_confirmed(mem), mem->dir_ref[i],
				   mem->dir[i]))
			stuck++;
	kfree(mem->dir);
	kfree(mem->dir_ref);
	mem->dir = NULL;
	mem->dir_ref = NULL;
	atomic64_sub(mem->nr_dir, &granted);
	mem->nr_dir = 0;
	zombie_blame(mem, stuck);
}

/* ---- pinned user memory, memory of the kernel ---- */

struct mem_iter {
	struct sg_page_iter sg;
	u32 nr;			/* pages so far */
};

static void mem_first(const struct vhca_mem *mem, struct mem_iter *it)
{
	it->nr = 0;
	if (!mem->va)
		__sg_page_iter_start(&it->sg, vhca_umem_sgl(mem->umem),
				     vhca_umem_nents(mem->umem), 0);
}

/* The next page, or NULL. */
static struct page *mem_next(const struct vhca_mem *mem, struct mem_iter *it)
{
	if (it->nr == mem->pages.nr_pages ||
	    (!mem->va && !__sg_page_iter_next(&it->sg)))
		return NULL;
	it->nr++;
	return mem->va ? vmalloc_to_page((u8 *)mem->va + ((size_t)it->nr - 1) * PAGE_SIZE) :
			 sg_page_iter_page(&it->sg);
}

/*
 * A page that another domain granted to this one cannot be granted again: the backend
 * could not map it, and Xen would log each page. Pages of files and anonymous memory
 * use the flag for other purposes, but have a mapping.
 */
static bool page_is_granted(struct page *page)
{
	return PageForeign(page) && !page->mapping;
}

static int mem_grant(struct vhca_mem *mem)
{
	struct mem_iter it;
	struct page *page;
	int err;

	mem_first(mem, &it);
	while ((page = mem_next(mem, &it))) {
		if (page_is_granted(page))
			return -EINVAL;
		err = grant_page(mem->dev, page, vhca_mem_readonly(mem),
				 &mem->ref[it.nr - 1]);
		if (err)
			return err;
		cond_resched();
	}
	return it.nr == mem->pages.nr_pages ? 0 : -EINVAL;
}

/* So many pages count as granted. */
static void mem_hold(struct vhca_mem *mem, u32 nr)
{
	atomic64_add((s64)nr - mem->held, &granted);
	atomic64_add((s64)nr - mem->held, &mem->dev->stats.pages_granted);
	mem->held = nr;
}

/*
 * Ends the grants of @mem, of which each page outlives its memory that may not be used again.
 * @stays: so does the memory, and a grant that cannot be ended yet remains with it. Return:
 * how many pages the backend still maps.
 */
static u32 mem_end(struct vhca_mem *mem, bool stays)
{
	bool confirmed = mem_confirmed(mem);
	struct mem_iter it;
	unsigned long ended;
	struct page *page;
	grant_ref_t *ref;
	u32 stuck = 0;

	mem_first(mem, &it);
	while ((page = mem_next(mem, &it))) {
		ref = &mem->ref[it.nr - 1];
		if (*ref == INVALID_GRANT_REF)
			continue;
		if (!page_end(mem->backend, confirmed, *ref, &ended) &&
		    (ended || !stays)) {
			get_page(page);
			zombie_add(mem->backend, *ref, page,
				   mem->umem ? mem->umem->owning_mm : NULL, ended);
		}
		stuck += !ended;
		if (ended || !stays)
			*ref = INVALID_GRANT_REF;
		cond_resched();
	}
	mem_hold(mem, stays ? stuck : 0);
	return stuck;
}

u32 vhca_mem_withdraw(struct vhca_mem *mem)
{
	if (!mem)
		return 0;
	vhca_mem_drop_dirs(mem);
	return mem->held ? mem_end(mem, true) : 0;
}

void vhca_mem_put(struct vhca_mem *mem)
{
	if (!mem)
		return;
	vhca_mem_drop_dirs(mem);
	zombie_blame(mem, mem_end(mem, false));
	if (mem->umem)
		ib_umem_release(mem->umem);
	vfree(mem->va);
	kvfree(mem->ref);
	kfree(mem);
}

static int mem_reserve(struct vhca_mem *mem)
{
	u32 nr = mem->pages.nr_pages;
	int err = grant_reserve(mem->dev, nr + mem->nr_dir);

	if (err)
		return err;
	atomic64_add(nr, &mem->dev->stats.pages_granted);
	mem->held = nr;
	return 0;
}

/* Sets up what vhca_mem_put() relies on; leaves nothing behind on an error. */
static int mem_prepare(struct vhca_mem *mem, size_t nr)
{
	u32 i;
	int err;

	if (!nr || nr > XENVHCA_MAX_PAGES_LEVEL2)
		return -ENOMEM;
	err = mem_shape(mem, nr);
	if (err)
		return err;
	mem->ref = kvmalloc_array(nr, sizeof(*mem->ref), GFP_KERNEL);
	if (!mem->ref)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		mem->ref[i] = INVALID_GRANT_REF;
	err = mem_reserve(mem);
	if (err)
		kvfree(mem->ref);
	return err;
}

/* The last step of both kinds. */
static struct vhca_mem *mem_offer(struct vhca_mem *mem)
{
	int err = mem_grant(mem);

	if (!err)
		err = mem_build_dirs(mem);
	if (!err)
		return mem;
	vhca_mem_put(mem);
	return ERR_PTR(err);
}

int vhca_mem_grant_again(struct vhca_mem *mem)
{
	int err;

	mem->backend = mem->dev->backend;
	mem->gen = mem->dev->gen;
	mem_shape(mem, mem->pages.nr_pages);	/* as when it was made */
	err = mem_reserve(mem);
	if (err) {
		mem->nr_dir = 0;
		return err;
	}
	err = mem_grant(mem);
	if (!err)
		err = mem_build_dirs(mem);
	if (err)
		vhca_mem_withdraw(mem);
	return err;
}

static struct vhca_mem *mem_alloc(struct vhca_dev *dev)
{
	struct vhca_mem *mem = kzalloc(sizeof(*mem), GFP_KERNEL);

	if (!mem)
		return NULL;
	mem->dev = dev;
	mem->backend = dev->backend;
	mem->gen = dev->gen;
	INIT_LIST_HEAD(&mem->list);
	return mem;
}

/*
 * Memory that is granted read-only is pinned read-only, as natively. What is granted
 * read-write is pinned for writing, whatever it is registered for: a page of a file, or the
 * page of zeros, must not be. A region in memory that its process cannot write to is refused
 * with EFAULT, unless the backend takes pages that are granted read-only.
 */
static int mem_access(struct vhca_mem *mem, int access)
{
	if (ib_access_writable(access) ||
	    !(mem->dev->info.flags & XENVHCA_INFO_READONLY))
		return vhca_umem_access(access);
	mem->pages.flags = XENVHCA_PAGES_READONLY;
	return access;
}

struct vhca_mem *vhca_mem_get(struct vhca_dev *dev, u64 addr, u64 length,
			      int access)
{
	struct vhca_mem *mem;
	int err;

	mem = mem_alloc(dev);
	if (!mem)
		return ERR_PTR(-ENOMEM);
	mem->umem = ib_umem_get_va(&dev->ibdev, addr, length,
				   mem_access(mem, access));
	if (IS_ERR(mem->umem)) {
		err = PTR_ERR(mem->umem);
		goto free_mem;
	}
	mem->page_offset = ib_umem_offset(mem->umem);
	err = mem_prepare(mem, ib_umem_num_dma_blocks(mem->umem, PAGE_SIZE));
	if (!err)
		return mem_offer(mem);
	ib_umem_release(mem->umem);
free_mem:
	kfree(mem);
	return ERR_PTR(err);
}

struct vhca_mem *vhca_mem_new(struct vhca_dev *dev, u32 nr)
{
	struct vhca_mem *mem = mem_alloc(dev);
	int err = -ENOMEM;

	if (!mem)
		return ERR_PTR(-ENOMEM);
	mem->va = vzalloc((size_t)nr << PAGE_SHIFT);
	if (mem->va)
		err = mem_prepare(mem, nr);
	if (!err)
		return mem_offer(mem);
	vfree(mem->va);
	kfree(mem);
	return ERR_PTR(err);
}

u32 vhca_mem_word(const struct vhca_mem *mem, u32 offset)
{
	struct mem_iter it;
	struct page *first;
	u32 word = 0;
	u8 *page;

	if (offset > PAGE_SIZE - sizeof(word))
		return 0;
	mem_first(mem, &it);
	first = mem_next(mem, &it);
	if (!first)
		return 0;
	page = kmap_local_page(first);
	word = READ_ONCE(*(u32 *)(page + (offset & ~3u)));
	kunmap_local(page);
	return word;
}

/* ---- init, exit ---- */

void vhca_grant_init(void)
{
	grants_of_frame = vhca_grants_of_frame();
}

/* Zombies that the backend no longer maps may take longer than those it maps. */
static bool exit_waits(unsigned int ms)
{
	if (!vhca_grant_zombies())
		return false;
	return ms < (vhca_grant_zombies() > (u64)atomic64_read(&zombies_mapped) ?
		     VHCA_DYING_WAIT_MS : VHCA_ZOMBIE_WAIT_MS);
}

/* The grant table's own list takes over the pages that the backend still maps. */
void vhca_grant_exit(void)
{
	unsigned int waited;
	struct vhca_zombie *z, *next;

	cancel_delayed_work_sync(&zombie_work);
	zombie_reap();
	for (waited = 0; exit_waits(waited); waited += 50) {
		msleep(50);
		cancel_delayed_work_sync(&zombie_work);
		zombie_reap();
	}
	if (!vhca_grant_zombies())
		return;
	pr_warn("xen-vhcafront: backend still maps %llu pages, they stay allocated\n",
		(u64)atomic64_read(&zombies_mapped));
	list_for_each_entry_safe(z, next, &zombies, list) {
		if (z->ended) {
			put_page(z->page);
		} else {
			gnttab_end_foreign_access(z->ref, z->page);
			zombie_ended(z);
		}
		zombie_free(z);
	}
}
