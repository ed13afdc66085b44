// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/mmap/map.c: what becomes of pages when Xen refuses to map some of them, or to
 * unmap one. A page that Xen still has mapped is the backend's and must never be
 * anybody else's. The guest is translated, but where it is said to be PV.
 *
 * And frontend/mmap/doorbell.c in a PV guest: what a process sees of a page, and what keeps
 * the module loaded. The end of the module is the same for both.
 */
#include "kernel.h"

#include "front_map.h"
#include "vhca-provider.h"

/* Of this process and of the module. */
static bool notified, in_module;
static int insert_rc, xen_rc, module_refs;
int kernel_notify(void);
#undef try_module_get
#undef module_put
#define try_module_get(m)	(++module_refs)
#define module_put(m)		(module_refs--, in_module = true)

#define list_move_tail(l, head)	(list_del(l), list_add_tail(l, head))
#define list_first_entry_or_null(head, type, m) \
	(list_empty(head) ? NULL : container_of((head)->next, type, m))

#include "copy/map.c"
#include "copy/map_pte.c"
#include "copy/doorbell.c"

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

/* ---- a doorbell page ---- */
#define MFN	0xe0123ull
#define ENTRY	(MFN << PAGE_SHIFT | VM_WRITE)

static const struct vhca_mmap doorbell_row = {
	.kind = VHCA_MMAP_MMIO, .prot = XENVHCA_PROT_WC,
};
static u64 shown;			/* to the process: ENTRY, a page of ours, or 0 */

bool vhca_devicetree_any(void)
{
	return false;
}

bool vhca_devicetree_has(u64 frame)
{
	return false;
}

int vhca_cmd_mmap(struct vhca_ucontext *u, const struct xenvhca_mmap_req *req,
		  unsigned int flags, struct xenvhca_mmap_rsp *rsp)
{
	assert_int_equal(req->gfn, 0);
	*rsp = (struct xenvhca_mmap_rsp){
		.kind = XENVHCA_MMAP_MMIO, .prot = XENVHCA_PROT_WC,
		.nr_pages = 1, .frame = MFN,
	};
	return 0;
}

/* Xen looks whether the domain may use the registers, as for no other domain's name. */
int kernel_mmu_update(const struct mmu_update *u, unsigned int domid)
{
	assert_int_equal(domid, DOMID_IO);
	if (!xen_rc)
		shown = u->val;
	return xen_rc;
}

/* ---- tests ---- */
static void setup_uc(void)
{
	uc = (struct vhca_ucontext){ .ibuc.device = &dev.ibdev };
	INIT_LIST_HEAD(&uc.maps);
	INIT_LIST_HEAD(&uc.doorbells);
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
	insert_rc = xen_rc = munmaps = nr_held = charged = 0;
	holding = false;
	module_refs = 0;
	shown = 0;
	dev.zap_waited = 0;
	return vhca_map_init();
}

static int teardown(void **state)
{
	vhca_map_exit();
	return !list_empty(&uc.maps) || charged || blocked || notified ||
	       in_module || module_refs ||
	       atomic64_read(&dev.stats.pages_mapped);
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

static void map_doorbell(void)
{
	kernel_pv = true;
	vma.vm_end = PAGE_SIZE;
	vma.vm_pgoff = 1;
	assert_int_equal(vhca_doorbell_mmap(&uc, &vma, &doorbell_row), 0);
}

static vm_fault_t touch(void)
{
	struct vm_fault vmf = { .vma = &vma };
	vm_fault_t rc;

	shown = 0;
	rc = vma.vm_ops->fault(&vmf);
	if (vmf.page)
		shown = (unsigned long)vmf.page;
	return rc;
}

static void a_process_sees_the_registers_until_the_device_goes(void **state)
{
	map_doorbell();
	assert_int_equal(touch(), VM_FAULT_NOPAGE);
	assert_int_equal(shown, ENTRY);
	xen_rc = -EPERM;		/* the backend has taken the page back */
	assert_int_equal(touch(), VM_FAULT_SIGBUS);
	xen_rc = -ENOMEM;		/* an error of Xen, whatever it is */
	assert_int_equal(touch(), VM_FAULT_SIGBUS);
	xen_rc = 0;
	insert_rc = -ENOMEM;		/* not its page table's fault: it tries again */
	assert_int_equal(touch(), VM_FAULT_OOM);
	insert_rc = 0;
	vhca_doorbell_zap(&uc);
	assert_int_equal(touch(), 0);
	assert_true(shown && shown != ENTRY);
	assert_int_equal(vma.vm_ops->mprotect(&vma, 0, PAGE_SIZE, 0), -EACCES);
	vhca_doorbell_drop(&uc, false);
	vma.vm_ops->close(&vma);
}

/*
 * Linux copies no entry of such a VMA, whatever the process asks for by madvise(): the child
 * faults, and its page table is pinned by then.
 */
static void a_child_makes_its_own_entry(void **state)
{
	map_doorbell();
	assert_int_equal(vma.vm_flags & (VM_PFNMAP | VM_MIXEDMAP | VM_DONTCOPY), 0);
	assert_null(vma.vm_ops->find_normal_page(&vma, 0));
	vma.vm_ops->open(&vma);
	assert_int_equal(touch(), VM_FAULT_NOPAGE);
	assert_int_equal(shown, ENTRY);
	vma.vm_ops->close(&vma);
	vhca_doorbell_drop(&uc, false);
	vma.vm_ops->close(&vma);
}

/* Its vm_ops are the module's: the last VMA, and then the wait of the module's end. */
static void a_doorbell_page_keeps_the_module(void **state)
{
	map_doorbell();
	vma.vm_ops->open(&vma);			/* mremap() */
	vhca_doorbell_zap(&uc);
	vhca_doorbell_drop(&uc, false);
	vma.vm_ops->close(&vma);
	assert_int_equal(module_refs, 1);
	assert_false(in_module);
	vma.vm_ops->close(&vma);
	assert_int_equal(module_refs, 0);
	/* The process is still on its way out of here when others could unload. */
	assert_true(in_module);
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
		T(a_process_sees_the_registers_until_the_device_goes),
		T(a_child_makes_its_own_entry),
		T(a_doorbell_page_keeps_the_module),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
