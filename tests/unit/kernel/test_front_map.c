// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/mmap/map.c: what becomes of pages when Xen refuses to map some of them, or to
 * unmap one. A page that Xen still has mapped is the backend's and must never be
 * anybody else's. The guest is translated, but where it is said to be PV.
 */
#include "kernel.h"

#define VM_SHARED		BIT(0)
#define VM_WRITE		BIT(1)
#define VM_DONTEXPAND		0
#define VM_DONTDUMP		0
#define VM_MIXEDMAP		0
#define VM_DONTCOPY		0
#define VM_IO			0
#define VM_FAULT_OOM		1
#define VM_FAULT_SIGBUS		2
#define VM_FAULT_NOPAGE		0x100
#define ERESTARTNOINTR		513
#define SIGKILL			9
#define SIG_SETMASK		2
#define GNTST_okay		0
#define GNTMAP_host_map		2
#define GNTMAP_application_map	4
#define GNTMAP_contains_pte	16
#define GNTMAP_readonly		32
#define _GNTMAP_guest_avail0	16
#define GNTTABOP_unmap_grant_ref 1
#define INVALID_GRANT_HANDLE	(~0u)
#define XENFEAT_auto_translated_physmap 2
#define WQ_UNBOUND		0
#define xen_feature(f)		(!kernel_pv)
#define DECLARE_WAIT_QUEUE_HEAD(w) wait_queue_head_t w
#define wait_event(wq, cond)	assert_true(cond)
#define kvcalloc(n, size, gfp)	calloc(n, size)
#define alloc_page(gfp)		calloc(1, sizeof(struct page))
#define atomic_xchg(a, n)	__sync_lock_test_and_set(&(a)->v, n)
#define pr_warn_ratelimited	pr_warn
#define vm_flags_set(vma, f)	((vma)->vm_flags |= (f))
#define vma_pages(vma)		(((vma)->vm_end - (vma)->vm_start) / PAGE_SIZE)
#define igrab(inode)		(++(inode)->refs, (inode))
#define iput(inode)		((inode)->refs--)
#define kref_init(r)		((r)->n = 1)
#define kref_get(r)		((r)->n++)
#define kref_put(r, release)	(--(r)->n ? 0 : (release(r), 1))
#define INIT_WORK(w, f)		((w)->fn = (f))
#define queue_work(wq, w)	((w)->fn(w))
#define mmu_notifier_range_blockable(r) true
#define mmu_interval_set_seq(mn, seq)
#define mmu_interval_read_begin(mn)
#define mmu_interval_notifier_remove(mn) (notified = false)
#define mmu_interval_notifier_insert_locked(...) kernel_notify()
#define sigmask(sig)		(1ul << ((sig) - 1))
#define siginitsetinv(set, mask) (*(set) = ~(mask))
#define synchronize_rcu_tasks()	(in_module = false)
#define apply_to_page_range(mm, at, len, fn, data) ((void)(fn), insert_rc)
#define arbitrary_virt_to_machine(p) ((struct maddr){ 0 })
#define gnttab_batch_map(op, n)
#undef HYPERVISOR_grant_table_op
#define HYPERVISOR_grant_table_op(...) 0
#define unmap_mapping_range(mapping, start, len, even) kernel_zap(mapping, start)
#define vm_area_struct		map_vma
#define gnttab_set_map_op(op, a, f, r, d) ((op)->ref = (r), (op)->dom = (d))
#define gnttab_set_unmap_op(op, a, f, h) ((op)->handle = (h))

typedef int64_t loff_t;
typedef int vm_fault_t, pte_t;
#define sigset_t		u64
struct maddr { u64 maddr; };
struct inode { int refs; };
struct address_space { struct inode *host; };
struct file { struct address_space *f_mapping; };
struct vm_fault { struct map_vma *vma; struct page *page; unsigned long address; };
struct mmu_notifier_range { unsigned long start, end; };
struct mmu_interval_notifier { int unused; };
struct mmu_interval_notifier_ops {
	bool (*invalidate)(struct mmu_interval_notifier *mn,
			   const struct mmu_notifier_range *range,
			   unsigned long seq);
};
struct vm_operations_struct {
	void (*open)(struct map_vma *vma);
	void (*close)(struct map_vma *vma);
	int (*may_split)(struct map_vma *vma, unsigned long addr);
	vm_fault_t (*fault)(struct vm_fault *vmf);
	struct page *(*find_normal_page)(struct map_vma *vma,
					  unsigned long addr);
};
struct map_vma {
	unsigned long vm_start, vm_end, vm_pgoff, vm_flags;
	struct file *vm_file;
	void *vm_mm, *vm_private_data;
	const struct vm_operations_struct *vm_ops;
};
struct gnttab_map_grant_ref { u32 ref, flags, handle; int dom, status; };
struct gnttab_unmap_grant_ref { u32 handle; int status; };
struct gntab_unmap_queue_data {
	struct gnttab_unmap_grant_ref *unmap_ops, *kunmap_ops;
	struct page **pages;
	unsigned int count;
	void (*done)(int result, struct gntab_unmap_queue_data *data);
	void *data;
};

int gnttab_alloc_pages(int nr, struct page **pages);
void gnttab_free_pages(int nr, struct page **pages);
int gnttab_map_refs(struct gnttab_map_grant_ref *op, void *kop,
		    struct page **pages, unsigned int n);
int gnttab_unmap_refs(struct gnttab_unmap_grant_ref *op, void *kop,
		      struct page **pages, unsigned int n);
void gnttab_unmap_refs_async(struct gntab_unmap_queue_data *d);
int vm_insert_pages(struct map_vma *vma, unsigned long addr, struct page **pages,
		    unsigned long *n);
void kernel_zap(struct address_space *mapping, loff_t start);
int sigprocmask(int how, sigset_t *set, sigset_t *old);
/* Of this process and of the module. */
static bool notified, in_module;
static int insert_rc;
int kernel_notify(void);
#undef module_put
#define module_put(m)		(in_module = true)

#define list_move_tail(l, head)	(list_del(l), list_add_tail(l, head))
#define list_first_entry_or_null(head, type, m) \
	(list_empty(head) ? NULL : container_of((head)->next, type, m))

#include "copy/map.c"
#include "copy/map_pte.c"

#define PAGES	4

static struct vhca_dev dev;
static struct vhca_ucontext uc;
static struct inode inode;
static struct address_space mapping = { .host = &inode };
static struct file file = { .f_mapping = &mapping };
static struct map_vma vma;
static struct page page[PAGES];
static bool mapped[PAGES];
static bool alloced;
static int nr_allocs;
static int bad_ref, stuck, munmaps, charged;
static bool inserted[PAGES];		/* in the process's page table */
static bool linked;			/* the VMA, where a zap looks for it */
static u64 blocked, pending;		/* signals */
static bool stopped;			/* what no mask holds off */
static bool tried;			/* a worker ends the range */
static bool holding;			/* somebody holds pages, as by vmsplice */
static struct gntab_unmap_queue_data *held[4];
static int nr_held;

/* ---- Xen: page i is what reference i names, and handle i ---- */
int gnttab_alloc_pages(int nr, struct page **pages)
{
	while (nr--)
		pages[nr] = &page[nr];
	alloced = true;
	nr_allocs++;
	return 0;
}

/* Whoever gets them next may not share them with the backend. */
void gnttab_free_pages(int nr, struct page **pages)
{
	while (nr--)
		assert_false(mapped[nr]);
	alloced = false;
}

int gnttab_map_refs(struct gnttab_map_grant_ref *op, void *kop,
		    struct page **pages, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		op[i].status = op[i].ref == bad_ref ? -1 : GNTST_okay;
		op[i].handle = i;
		mapped[i] = !op[i].status;
	}
	return 0;
}

int gnttab_unmap_refs(struct gnttab_unmap_grant_ref *op, void *kop,
		      struct page **pages, unsigned int n)
{
	for (; n--; op++) {
		op->status = (int)op->handle == stuck ? -1 : GNTST_okay;
		assert_true(mapped[op->handle]);
		mapped[op->handle] = op->status != GNTST_okay;
	}
	return 0;
}

void gnttab_unmap_refs_async(struct gntab_unmap_queue_data *d)
{
	if (holding) {
		held[nr_held++] = d;
		return;
	}
	d->done(gnttab_unmap_refs(d->unmap_ops, NULL, d->pages, d->count), d);
}

/* ---- the process: its page table, its signals ---- */
int vm_insert_pages(struct map_vma *v, unsigned long addr, struct page **pages,
		    unsigned long *n)
{
	unsigned long i = (addr - v->vm_start) >> PAGE_SHIFT;

	assert_in_range(i + *n, 1, PAGES);
	for (; *n && !insert_rc; --*n, i++, pages++) {
		if (inserted[i])
			return -EBUSY;
		assert_ptr_equal(*pages, &page[i]);
		assert_true(mapped[i]);
		inserted[i] = true;
	}
	return insert_rc;
}

void kernel_zap(struct address_space *m, loff_t start)
{
	assert_ptr_equal(m, &mapping);
	if (linked)
		memset(inserted, 0, sizeof(inserted));
}

int sigprocmask(int how, sigset_t *set, sigset_t *old)
{
	if (old)
		*old = blocked;
	blocked = *set;
	return 0;
}

/* mm_take_all_locks() of the first one. */
int kernel_notify(void)
{
	if (pending & ~blocked || stopped)
		return -EINTR;
	notified = true;
	return 0;
}

/* ---- the rest of the module ---- */
void put_page(struct page *p)
{
	if (!p->refs--)		/* calloc() is the first reference */
		free(p);
}

void vhca_range_end(struct vhca_ucontext *u, u64 offset, u32 nr)
{
	assert_int_equal(nr, PAGES);
	munmaps++;
}

/* range.c charges what mmap() gets. */
void vhca_range_uncharge(struct vhca_dev *d, u32 nr)
{
	assert_ptr_equal(d, &dev);
	charged -= nr;
}

/* ---- tests ---- */
static void setup_uc(void)
{
	uc = (struct vhca_ucontext){ .ibuc.device = &dev.ibdev };
	INIT_LIST_HEAD(&uc.maps);
	vma = (struct map_vma){
		.vm_end = PAGES * PAGE_SIZE, .vm_flags = VM_SHARED | VM_WRITE,
		.vm_file = &file,
	};
}

static int setup(void **state)
{
	setup_uc();
	memset(mapped, 0, sizeof(mapped));
	memset(inserted, 0, sizeof(inserted));
	kernel_pv = notified = stopped = in_module = false;
	linked = true;
	blocked = pending = 0;
	inode.refs = 0;
	alloced = false;
	nr_allocs = 0;
	bad_ref = stuck = -1;
	insert_rc = munmaps = nr_held = charged = 0;
	holding = false;
	dev.zap_waited = 0;
	return vhca_map_init();
}

static int teardown(void **state)
{
	vhca_map_exit();
	return !list_empty(&uc.maps) || charged || blocked || notified ||
	       in_module || atomic64_read(&dev.stats.pages_mapped);
}

/* Linux adds memory for mapped grants at the first call, which must not be a process's. */
static void pages_are_asked_for_at_load(void **state)
{
	(void)state;
	assert_int_equal(nr_allocs, 1);
	assert_false(alloced);
}

static int map(void)
{
	static const grant_ref_t ref[PAGES] = { 10, 11, 12, 13 };

	int rc;

	tried = false;
	charged += PAGES;
	rc = vhca_map_grants(&uc, &vma, ref, PAGES, 0x1000, &tried);
	if (!tried)			/* they stay the range's */
		charged -= PAGES;
	return rc;
}

static unsigned int left(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < PAGES; i++)
		n += mapped[i];
	return n;
}

static void a_range_is_mapped_and_goes(void **state)
{
	assert_int_equal(map(), 0);
	assert_int_equal(left(), PAGES);
	vma.vm_ops->close(&vma);
	assert_int_equal(left(), 0);
	assert_int_equal(munmaps, 1);
	assert_false(alloced);
	/* The process is still on its way out of here when others could unload. */
	assert_true(in_module);
}

static vm_fault_t fault(unsigned int i)
{
	struct vm_fault vmf = { .vma = &vma, .address = i * PAGE_SIZE };
	vm_fault_t ret = vma.vm_ops->fault(&vmf);

	assert_int_equal(!ret, !!vmf.page);
	if (vmf.page)
		put_page(vmf.page);
	return ret;
}

static unsigned int seen(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < PAGES; i++)
		n += inserted[i];
	return n;
}

static void the_first_access_shows_all_pages(void **state)
{
	assert_int_equal(map(), 0);
	assert_int_equal(fault(0), VM_FAULT_NOPAGE);
	assert_int_equal(seen(), PAGES);
	assert_int_equal(fault(1), VM_FAULT_NOPAGE);	/* another thread's */
	inserted[1] = false;			/* by madvise() */
	assert_int_equal(fault(1), VM_FAULT_NOPAGE);
	assert_int_equal(seen(), PAGES);
	memset(inserted, 0, sizeof(inserted));
	insert_rc = -ENOMEM;
	assert_int_equal(fault(0), VM_FAULT_OOM);
	vma.vm_ops->close(&vma);
}

/* mmap() has returned from here, and the kernel has not linked the VMA yet. */
static void a_vma_that_is_not_linked_shows_nothing_of_a_dead_device(void **state)
{
	linked = false;
	assert_int_equal(map(), 0);
	vhca_map_zap(&uc);
	linked = true;
	assert_int_equal(fault(0), 0);
	assert_int_equal(seen() + left(), 0);
	vma.vm_ops->close(&vma);
}

static void a_zap_takes_what_was_shown(void **state)
{
	assert_int_equal(map(), 0);
	assert_int_equal(fault(2), VM_FAULT_NOPAGE);
	vhca_map_zap(&uc);
	assert_int_equal(seen(), 0);
	assert_int_equal(fault(2), 0);
	vma.vm_ops->close(&vma);
}

/* The file is closed and its file system unmounted while somebody holds a page. */
static void a_page_that_is_held_keeps_no_inode(void **state)
{
	holding = true;
	assert_int_equal(map(), 0);
	vma.vm_ops->close(&vma);
	vhca_map_flush(&uc);
	assert_int_equal(inode.refs, 0);
	memset(mapped, 0, sizeof(mapped));
	held[0]->done(0, held[0]);
}

static void a_signal_interrupts_no_mmap_unless_it_kills(void **state)
{
	kernel_pv = true;
	pending = sigmask(SIGKILL);
	assert_int_equal(map(), -ERESTARTNOINTR);
	pending = sigmask(14);
	assert_int_equal(map(), 0);
	assert_true(notified);
	assert_int_equal(blocked, 0);
	vma.vm_ops->close(&vma);
	assert_false(notified);
}

/* Nothing has happened: the next one finds the range as it was. */
static void what_interrupts_nevertheless_begins_anew(void **state)
{
	kernel_pv = stopped = true;
	assert_int_equal(map(), -ERESTARTNOINTR);
	assert_false(tried);
	assert_int_equal(left(), 0);
	assert_int_equal(munmaps, 0);
	assert_null(vma.vm_ops);
	stopped = false;
	assert_int_equal(map(), 0);
	vma.vm_ops->close(&vma);
}

/* All or nothing: those that Xen had mapped are unmapped again. */
static void a_wrong_reference_leaves_nothing(void **state)
{
	for (bad_ref = 10; bad_ref < 10 + PAGES; bad_ref++) {
		assert_int_equal(map(), -EIO);
		assert_int_equal(left(), 0);
		assert_false(alloced);
		assert_null(vma.vm_ops);
		assert_false(tried);
	}
}

static void what_the_undo_leaves_is_never_freed(void **state)
{
	bad_ref = 12;
	stuck = 1;
	assert_int_equal(map(), -EIO);
	assert_int_equal(left(), 1);
	assert_true(alloced);
}

static void nor_what_munmap_leaves(void **state)
{
	stuck = 3;
	assert_int_equal(map(), 0);
	vma.vm_ops->close(&vma);
	assert_int_equal(left(), 1);
	assert_true(alloced);
	assert_int_equal(munmaps, 1);
}

/* On PV the process's page table has the grants itself. */
static void a_page_table_that_is_full_leaves_nothing(void **state)
{
	kernel_pv = true;
	insert_rc = -ENOMEM;
	assert_int_equal(map(), -ENOMEM);
	assert_int_equal(left(), 0);
	assert_false(alloced);
	assert_null(vma.vm_ops);
	assert_true(tried);
	assert_int_equal(munmaps, 1);		/* by the worker */
}

/* Contexts of a device are zapped one after the other: all wait together. */
static void pages_that_are_held_are_waited_for_once(void **state)
{
	struct map_vma vmas[ARRAY_SIZE(held)];
	unsigned long begin = jiffies;
	unsigned int i;

	holding = true;
	for (i = 0; i < ARRAY_SIZE(held); i++) {
		setup_uc();
		assert_int_equal(map(), 0);
		vhca_map_zap(&uc);
		assert_true(list_empty(&uc.maps));
		vmas[i] = vma;
	}
	assert_in_range(jiffies - begin, 5 * HZ, 6 * HZ);
	/* They come later, when nobody holds them. */
	memset(mapped, 0, sizeof(mapped));
	for (i = 0; i < ARRAY_SIZE(held); i++) {
		held[i]->done(0, held[i]);
		vmas[i].vm_ops->close(&vmas[i]);
	}
	assert_int_equal(munmaps, 0);
}

/* A page that is held may stay mapped: the backend does not get it back either. */
static void a_page_that_is_held_stays_charged(void **state)
{
	holding = true;
	assert_int_equal(map(), 0);
	vma.vm_ops->close(&vma);
	assert_int_equal(charged, PAGES);
	memset(mapped, 0, sizeof(mapped));
	held[0]->done(0, held[0]);
	assert_int_equal(charged, 0);
}

/* Those of others do not suffer. */
static void nobody_waits_for_what_is_not_held(void **state)
{
	unsigned long begin = jiffies;

	dev.zap_waited = VHCA_ZAP_WAIT;
	assert_int_equal(map(), 0);
	vhca_map_zap(&uc);
	assert_int_equal(left(), 0);
	assert_int_equal(jiffies, begin);
	vma.vm_ops->close(&vma);
}

/* Ranges of one process, and what each costs beside the others: no look at them. */
static void many_ranges_cost_the_same_each(void **state)
{
	struct map_vma vmas[ARRAY_SIZE(held)];
	unsigned int i;

	holding = true;
	list_steps = 0;
	for (i = 0; i < ARRAY_SIZE(held); i++) {
		assert_int_equal(map(), 0);
		vmas[i] = vma;
		vma.vm_ops = NULL;
	}
	assert_int_equal(list_steps, 0);
	vhca_map_zap(&uc);
	/* Each once, by the wait that is given up. */
	assert_int_equal(list_steps, ARRAY_SIZE(held));
	memset(mapped, 0, sizeof(mapped));
	for (i = 0; i < ARRAY_SIZE(held); i++) {
		held[i]->done(0, held[i]);
		vmas[i].vm_ops->close(&vmas[i]);
	}
}

/* The end of a process waits for its own pages only. */
static void a_context_that_is_closed_has_its_time(void **state)
{
	unsigned long begin = jiffies;

	dev.zap_waited = VHCA_ZAP_WAIT;
	holding = true;
	assert_int_equal(map(), 0);
	vma.vm_ops->close(&vma);
	vhca_map_flush(&uc);
	assert_in_range(jiffies - begin, 5 * HZ, 6 * HZ);
	memset(mapped, 0, sizeof(mapped));
	held[0]->done(0, held[0]);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	static const struct CMUnitTest tests[] = {
		T(pages_are_asked_for_at_load),
		T(a_range_is_mapped_and_goes),
		T(the_first_access_shows_all_pages),
		T(a_vma_that_is_not_linked_shows_nothing_of_a_dead_device),
		T(a_zap_takes_what_was_shown),
		T(a_page_that_is_held_keeps_no_inode),
		T(a_signal_interrupts_no_mmap_unless_it_kills),
		T(what_interrupts_nevertheless_begins_anew),
		T(a_wrong_reference_leaves_nothing),
		T(what_the_undo_leaves_is_never_freed),
		T(nor_what_munmap_leaves),
		T(a_page_table_that_is_full_leaves_nothing),
		T(pages_that_are_held_are_waited_for_once),
		T(a_page_that_is_held_stays_charged),
		T(nobody_waits_for_what_is_not_held),
		T(many_ranges_cost_the_same_each),
		T(a_context_that_is_closed_has_its_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
