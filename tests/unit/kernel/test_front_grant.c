// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The account of frontend/ring/grant.c: what a backend keeps counts until it lets
 * go, and too much of it is the end of the device. The grant table here has two
 * frames: 1024 references, of which 896 may be granted and 112 be kept.
 */
#define GRANT_VERSION		grant_version
static unsigned int grant_version = 1;

#include "kernel.h"

#define num_possible_cpus()	cpus
static unsigned int cpus = 1;

struct page *alloc_page(int gfp);
void put_page(struct page *page);
struct ib_umem *ib_umem_get_va(struct ib_device *dev, u64 addr, size_t len,
			    int access);
void ib_umem_release(struct ib_umem *umem);
unsigned int gnttab_max_grant_frames(void);
int gnttab_grant_foreign_access(domid_t domid, unsigned long gfn, int ro);
int gnttab_try_end_foreign_access(grant_ref_t ref);
void gnttab_end_foreign_access(grant_ref_t ref, struct page *page);

void *vzalloc(size_t size);
void vfree(void *va);
struct page *vmalloc_to_page(const void *va);

#include "copy/grant.c"

#define MAY_GRANT	896
#define MAY_KEEP	112

static struct vhca_store xen;
static struct vhca_dev dev = { .store = &xen };
static struct mm_struct mm;
static bool used[1024], kept[1024];	/* references */
static bool keeps;			/* the backend, what is granted now */
static bool readonly[1024];
static int pinned_for;			/* access of the last umem */
static const char *broken;

static unsigned int nr_used(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < ARRAY_SIZE(used); i++)
		n += used[i];
	return n;
}

/* ---- the kernel and the rest of the module ---- */
struct page *alloc_page(int gfp)
{
	struct page *page = calloc(1, sizeof(*page));

	(void)gfp;
	page->refs = 1;
	return page;
}

void put_page(struct page *page)
{
	if (!--page->refs)
		free(page);
}

static bool flagged;		/* the last page of each umem */
static void *mapping;

struct ib_umem *ib_umem_get_va(struct ib_device *ibdev, u64 addr, size_t len,
			    int access)
{
	struct ib_umem *umem = calloc(1, sizeof(*umem));
	struct sg_table *sgt = &umem->sgt_append.sgt;
	int i;

	(void)ibdev;
	(void)addr;
	pinned_for = access;
	sgt->orig_nents = (int)(len / PAGE_SIZE);
	sgt->sgl = calloc((size_t)sgt->orig_nents, sizeof(*sgt->sgl));
	for (i = 0; i < sgt->orig_nents; i++) {
		sgt->sgl[i] = alloc_page(0);
		sgt->sgl[i]->foreign = flagged && i == sgt->orig_nents - 1;
		sgt->sgl[i]->mapping = mapping;
	}
	umem->owning_mm = &mm;
	mm.pinned_vm.v += sgt->orig_nents;
	return umem;
}

void ib_umem_release(struct ib_umem *umem)
{
	struct sg_table *sgt = &umem->sgt_append.sgt;
	int i;

	for (i = 0; i < sgt->orig_nents; i++)
		put_page(sgt->sgl[i]);
	mm.pinned_vm.v -= sgt->orig_nents;
	free(sgt->sgl);
	free(umem);
}

/* Memory of the kernel, of which there is one piece at a time. */
static struct page *kernel_pages[8];
static u8 *kernel_va;

void *vzalloc(size_t size)
{
	size_t i;

	assert_true(!kernel_va && size <= sizeof(kernel_pages) / 8 * PAGE_SIZE);
	for (i = 0; i < size / PAGE_SIZE; i++)
		kernel_pages[i] = alloc_page(0);
	return kernel_va = calloc(1, size);
}

void vfree(void *va)
{
	size_t i;

	if (!va)
		return;
	assert_ptr_equal(va, kernel_va);
	for (i = 0; i < ARRAY_SIZE(kernel_pages); i++)
		if (kernel_pages[i])
			put_page(kernel_pages[i]);
	memset(kernel_pages, 0, sizeof(kernel_pages));
	kernel_va = NULL;
	free(va);
}

struct page *vmalloc_to_page(const void *va)
{
	return kernel_pages[((const u8 *)va - kernel_va) / PAGE_SIZE];
}

static unsigned int frames = 2;

unsigned int gnttab_max_grant_frames(void)
{
	return frames;
}

int gnttab_grant_foreign_access(domid_t domid, unsigned long gfn, int ro)
{
	int ref;

	(void)domid;
	(void)gfn;
	for (ref = 0; ref < (int)ARRAY_SIZE(used); ref++) {
		if (!used[ref]) {
			used[ref] = true;
			kept[ref] = keeps;
			readonly[ref] = ro;
			return ref;
		}
	}
	return -ENOSPC;
}

int gnttab_try_end_foreign_access(grant_ref_t ref)
{
	assert_true(used[ref]);
	used[ref] = kept[ref];
	return !kept[ref];
}

void gnttab_end_foreign_access(grant_ref_t ref, struct page *page)
{
	(void)ref;
	put_page(page);
}

void vhca_break(struct vhca_dev *d, const char *reason)
{
	d->ring.state = VHCA_RING_BROKEN;
	broken = reason;
}

/* ---- tests ---- */
static int setup(void **state)
{
	(void)state;
	vhca_grant_init();
	dev.ring.state = VHCA_RING_UP;
	dev.ring.closed = false;
	dev.gen = 0;
	dev.away = false;
	dev.backend = 3;
	dev.info.flags = 0;
	kernel_pv = true;
	kernel_domain_gone = false;
	broken = NULL;
	keeps = false;
	return 0;
}

/* The backend lets go of everything, and a second later it is as if never. */
static int teardown(void **state)
{
	(void)state;
	memset(kept, 0, sizeof(kept));
	kernel_advance(2 * HZ);
	kernel_domain_gone = true;
	kernel_advance(2 * HZ);
	assert_int_equal(vhca_grant_zombies(), 0);
	assert_int_equal(atomic64_read(&granted), 0);
	assert_int_equal(mm.pinned_vm.v, 0);
	assert_int_equal(mm.grabbed, 0);
	assert_int_equal(nr_used(), 0);
	return 0;
}

static struct vhca_mem *get(u64 pages)
{
	return vhca_mem_get(&dev, 0, pages * PAGE_SIZE, 0);
}

/* A region with a directory: @pages and one more are granted. */
static void keep(u64 pages)
{
	struct vhca_mem *mem;

	keeps = true;
	mem = get(pages);
	keeps = false;
	assert_false(IS_ERR(mem));
	vhca_mem_drop_dirs(mem);
	vhca_mem_put(mem);
}

static void an_honest_backend_keeps_nothing(void **state)
{
	struct vhca_mem *mem = get(MAY_GRANT - 1);

	(void)state;
	assert_false(IS_ERR(mem));
	assert_true(IS_ERR(get(1)));
	vhca_mem_drop_dirs(mem);
	vhca_mem_put(mem);
	assert_int_equal(atomic64_read(&granted), 0);
	assert_null(broken);
}

/* 9 pages: they do not fit into the list, so there is a directory as well. */
static void grants(int access, bool ro, int pin)
{
	struct vhca_mem *mem = vhca_mem_get(&dev, 0, 9 * PAGE_SIZE, access);
	unsigned int i;

	assert_false(IS_ERR(mem));
	assert_int_equal(pinned_for, pin);
	assert_int_equal(mem->pages.flags, ro ? XENVHCA_PAGES_READONLY : 0);
	assert_int_equal(vhca_mem_readonly(mem), ro);
	for (i = 0; i < 9; i++)
		assert_int_equal(readonly[mem->ref[i]], ro);
	assert_false(readonly[mem->dir_ref[0]]);
	vhca_mem_put(mem);
}

static void what_nobody_writes_is_read_only(void **state)
{
	(void)state;
	dev.info.flags = XENVHCA_INFO_READONLY;
	grants(0, true, 0);
	grants(IB_ACCESS_REMOTE_READ, true, IB_ACCESS_REMOTE_READ);
	grants(IB_ACCESS_LOCAL_WRITE, false, IB_ACCESS_LOCAL_WRITE);
	grants(IB_ACCESS_MW_BIND, false,
	       IB_ACCESS_MW_BIND | IB_ACCESS_LOCAL_WRITE);
}

/* Its kernel writes, or it never heard of read-only lists. */
static void an_old_backend_gets_what_is_writable(void **state)
{
	(void)state;
	grants(0, false, IB_ACCESS_LOCAL_WRITE);
	grants(IB_ACCESS_REMOTE_READ, false,
	       IB_ACCESS_REMOTE_READ | IB_ACCESS_LOCAL_WRITE);
}

static void what_is_kept_counts(void **state)
{
	(void)state;
	keep(99);
	assert_int_equal(vhca_grant_zombies(), 100);
	assert_int_equal(atomic64_read(&granted), 100);
	assert_int_equal(mm.pinned_vm.v, 99);
	assert_true(IS_ERR(get(MAY_GRANT - 100)));
	assert_int_equal(atomic64_read(&granted), 100);
	assert_null(broken);
}

/* Pages of the kernel are granted as others are, and outlive their use alike. */
static void memory_of_the_kernel_is_kept_too(void **state)
{
	struct vhca_mem *mem;
	u32 word = 0x1234;

	(void)state;
	keeps = true;
	mem = vhca_mem_new(&dev, 8);
	keeps = false;
	assert_false(IS_ERR(mem));
	assert_int_equal(mem->pages.nr_pages, 8);
	assert_false(readonly[mem->ref[7]]);
	memcpy((u8 *)page_address(kernel_pages[0]) + 4, &word, sizeof(word));
	assert_int_equal(vhca_mem_word(mem, 4), word);
	vhca_mem_put(mem);
	assert_null(kernel_va);
	assert_int_equal(vhca_grant_zombies(), 8);
	assert_int_equal(mm.pinned_vm.v, 0);
	memset(kept, 0, sizeof(kept));
	kernel_domain_gone = true;
	kernel_advance(2 * HZ);
	assert_int_equal(vhca_grant_zombies(), 0);
	mem = vhca_mem_new(&dev, 2);
	vhca_mem_put(mem);
	assert_int_equal(atomic64_read(&granted), 0);
}

static void too_much_ends_the_device(void **state)
{
	(void)state;
	keep(MAY_KEEP - 1);
	assert_null(broken);
	keep(9);
	assert_non_null(broken);
}

/* What the backend has let go of since counts no more, whether or not somebody looked. */
static void a_backend_is_blamed_for_what_it_keeps_now(void **state)
{
	(void)state;
	keep(MAY_KEEP - 1);
	memset(kept, 0, sizeof(kept));
	keep(9);
	assert_null(broken);
	keep(MAY_KEEP);
	assert_non_null(broken);
}

/* Pages of rings, too; they become fewer as soon as somebody asks. */
static void an_account_is_overdrawn_until_it_is_paid(void **state)
{
	grant_ref_t ref;
	int i;

	(void)state;
	keeps = true;
	for (i = 0; i <= MAY_KEEP; i++) {
		assert_false(vhca_grant_overdrawn());
		ref = gnttab_grant_foreign_access(0, 0, 0);
		vhca_grant_end_page(&dev, ref, alloc_page(0));
	}
	keeps = false;
	assert_true(vhca_grant_overdrawn());
	assert_int_equal(vhca_grant_zombies(), MAY_KEEP + 1);
	assert_null(broken);
	memset(kept, 0, sizeof(kept));
	kernel_domain_gone = true;
	assert_false(vhca_grant_overdrawn());
	assert_int_equal(vhca_grant_zombies(), 0);
}

/* Of a device that is broken already, as its backend died, nobody complains. */
static void the_dead_are_not_blamed(void **state)
{
	(void)state;
	dev.ring.state = VHCA_RING_BROKEN;
	keep(2 * MAY_KEEP);
	assert_null(broken);
}

/* Nothing is mapped of it, as the grant table says; its page tables may be there. */
static void pages_wait_for_a_dying_domain(void **state)
{
	struct vhca_mem *mem = get(99);

	(void)state;
	dev.ring.state = VHCA_RING_BROKEN;
	vhca_mem_put(mem);
	assert_int_equal(atomic64_read(&granted), 0);
	assert_int_equal(vhca_grant_zombies(), 100);
	assert_int_equal(mm.pinned_vm.v, 99);
	kernel_advance(2 * HZ);
	assert_int_equal(vhca_grant_zombies(), 100);
	kernel_domain_gone = true;
	kernel_advance(2 * HZ);
	assert_int_equal(vhca_grant_zombies(), 0);
	assert_int_equal(mm.pinned_vm.v, 0);
}

/* Another domain may keep it known for ever. */
static void but_not_for_ever(void **state)
{
	struct vhca_mem *mem = get(9);

	(void)state;
	dev.ring.state = VHCA_RING_BROKEN;
	vhca_mem_put(mem);
	kernel_advance(VHCA_DYING_WAIT - 2 * HZ);
	assert_int_equal(vhca_grant_zombies(), 10);
	kernel_advance(4 * HZ);
	assert_int_equal(vhca_grant_zombies(), 0);
}

/*
 * A device that works, domain 0, a domain that is gone, where Xen has no types, and a
 * device that ended in order.
 */
static void nobody_waits_without_need(void **state)
{
	struct vhca_mem *mem[5];
	int i;

	(void)state;
	for (i = 0; i < 5; i++) {
		dev.backend = i == 1 ? 0 : 3;
		mem[i] = get(9);
	}
	vhca_mem_put(mem[0]);
	dev.ring.state = VHCA_RING_BROKEN;
	vhca_mem_put(mem[1]);
	kernel_pv = false;
	vhca_mem_put(mem[2]);
	kernel_pv = true;
	kernel_domain_gone = true;
	vhca_mem_put(mem[3]);
	kernel_domain_gone = false;
	dev.ring.closed = true;
	vhca_mem_put(mem[4]);
	assert_int_equal(vhca_grant_zombies(), 0);
}

/* A page that its module no longer knows could be a page table before its time. */
static void an_unload_waits_for_a_dying_domain(void **state)
{
	struct vhca_mem *mem = get(9);
	unsigned long begin = jiffies;

	(void)state;
	dev.ring.state = VHCA_RING_BROKEN;
	vhca_mem_put(mem);
	vhca_grant_exit();
	assert_int_equal(vhca_grant_zombies(), 0);
	assert_false(time_before(jiffies, begin + VHCA_DYING_WAIT));
}

static void a_limit_looks_for_what_is_free_by_now(void **state)
{
	struct vhca_mem *mem;

	(void)state;
	keep(99);
	memset(kept, 0, sizeof(kept));
	mem = get(MAY_GRANT - 1);
	assert_false(IS_ERR(mem));
	vhca_mem_put(mem);
}

/* What a program is told to be possible is, with the lists, beside the rings. */
static void the_largest_region_fits(void **state)
{
	struct vhca_mem *mem;
	u64 n, lists;

	(void)state;
	vhca_grant_count(VHCA_GRANT_RINGS);
	mem = get((u32)vhca_grant_max_region());
	assert_false(IS_ERR(mem));
	vhca_mem_put(mem);
	vhca_grant_count(-VHCA_GRANT_RINGS);
	for (frames = 1; frames < 65536; frames++) {
		lists = 0;
		for (n = vhca_grant_max_region(); n > 1; lists += n)
			n = DIV_ROUND_UP(n, XENVHCA_GREFS_PER_PAGE);
		assert_true(vhca_grant_max_region() + lists + VHCA_GRANT_RINGS <=
			    frames * 448ull);
	}
	frames = 2;
}

/*
 * A disk and a network card of eight virtual processors may take a third of a default
 * table. An entry of version 2 is twice as long.
 */
static void others_keep_what_they_need(void **state)
{
	(void)state;
	frames = 64;
	for (cpus = 1; cpus <= 64; cpus *= 2)
		assert_true(64 * 512 - grant_max() >= (min(cpus, 8u) - 1) * 1600);
	assert_int_equal(64 * 512 - grant_max(), 11200);
	grant_version = 2;
	vhca_grant_init();
	assert_int_equal(grant_max(), 64 * 256 / 2);
	cpus = 1;
	assert_int_equal(grant_max(), 64 * 256 * 7 / 8);
	grant_version = 1;
	frames = 2;
	vhca_grant_init();
}

/* ---- memory that outlives a connection ---- */

static void ends_connection(bool closed)
{
	dev.ring.state = VHCA_RING_BROKEN;
	dev.ring.closed = closed;
	dev.away = true;
	dev.gen++;
}

static void begins_connection(domid_t backend)
{
	dev.backend = backend;
	dev.ring.state = VHCA_RING_UP;
	dev.ring.closed = false;
	dev.gen++;
	dev.away = false;
}

/* Its pages and its place are the same; what a backend still maps is neither freed nor lost. */
static void memory_is_granted_anew(void **state)
{
	struct vhca_mem *mem;
	struct page *page;
	u8 *va;

	(void)state;
	keeps = true;
	mem = vhca_mem_new(&dev, 8);
	keeps = false;
	va = mem->va;
	page = kernel_pages[3];
	vhca_mem_drop_dirs(mem);
	ends_connection(true);
	assert_int_equal(vhca_mem_withdraw(mem), 8);
	assert_int_equal(atomic64_read(&granted), 8);
	assert_int_equal(vhca_grant_zombies(), 0);
	kept[mem->ref[0]] = false;
	assert_int_equal(vhca_mem_withdraw(mem), 7);
	assert_int_equal(atomic64_read(&granted), 7);
	memset(kept, 0, sizeof(kept));
	assert_int_equal(vhca_mem_withdraw(mem), 0);
	assert_int_equal(nr_used(), 0);
	assert_int_equal(atomic64_read(&dev.stats.pages_granted), 0);
	assert_int_equal(page->refs, 1);

	begins_connection(5);
	assert_int_equal(vhca_mem_grant_again(mem), 0);
	assert_int_equal(mem->backend, 5);
	assert_ptr_equal(mem->va, va);
	assert_ptr_equal(kernel_pages[3], page);
	assert_int_equal(nr_used(), 8);
	assert_int_equal(atomic64_read(&dev.stats.pages_granted), 8);
	vhca_mem_put(mem);
	assert_int_equal(atomic64_read(&dev.stats.pages_granted), 0);
}

static void memory_that_is_held_may_end(void **state)
{
	struct vhca_mem *mem;

	(void)state;
	keeps = true;
	mem = vhca_mem_new(&dev, 8);
	keeps = false;
	ends_connection(false);
	assert_int_equal(vhca_mem_withdraw(mem), 8);
	vhca_mem_put(mem);
	assert_int_equal(vhca_grant_zombies(), 8);
	assert_int_equal(atomic64_read(&granted), 8);
	assert_null(broken);
}

static void without_references_memory_is_as_before(void **state)
{
	struct vhca_mem *mem = vhca_mem_new(&dev, 8);

	(void)state;
	vhca_mem_drop_dirs(mem);
	ends_connection(true);
	assert_int_equal(vhca_mem_withdraw(mem), 0);
	begins_connection(3);
	vhca_grant_count(MAY_GRANT - 4);
	assert_int_equal(vhca_mem_grant_again(mem), -ENOMEM);
	assert_int_equal(atomic64_read(&granted), MAY_GRANT - 4);
	assert_int_equal(vhca_mem_withdraw(mem), 0);
	vhca_grant_count(-(MAY_GRANT - 4));
	assert_int_equal(vhca_mem_grant_again(mem), 0);
	vhca_mem_put(mem);
}

/* What an object of an earlier connection leaves is not the fault of this backend. */
static void the_next_backend_is_not_blamed(void **state)
{
	struct vhca_mem *mem;

	(void)state;
	keeps = true;
	mem = get(MAY_KEEP + 10);
	keeps = false;
	ends_connection(false);
	begins_connection(3);
	vhca_mem_put(mem);
	assert_null(broken);
	assert_int_equal(dev.ring.state, VHCA_RING_UP);
}

/* A domain that dies is another one than that of now. */
static void pages_wait_for_the_domain_that_mapped_them(void **state)
{
	struct vhca_mem *mem = get(9), *closed = get(9);

	(void)state;
	ends_connection(true);
	vhca_mem_put(closed);
	assert_int_equal(vhca_grant_zombies(), 0);
	begins_connection(0);		/* which does not die */
	vhca_mem_put(mem);
	assert_int_equal(vhca_grant_zombies(), 10);
	kernel_domain_gone = true;
	kernel_advance(2 * HZ);
	assert_int_equal(vhca_grant_zombies(), 0);
}

static void an_unload_ends_the_account(void **state)
{
	(void)state;
	keep(99);
	vhca_grant_exit();
	assert_int_equal(mm.pinned_vm.v, 0);
	assert_int_equal(mm.grabbed, 0);
	memset(used, 0, sizeof(used));
	INIT_LIST_HEAD(&zombies);
}

/* Page cache and swap have that bit for themselves. */
static void what_another_domain_granted_is_refused(void **state)
{
	struct vhca_mem *mem;
	unsigned int ref;

	(void)state;
	flagged = true;
	mem = vhca_mem_get(&dev, 0, 4 * PAGE_SIZE, 0);
	assert_int_equal(PTR_ERR(mem), -EINVAL);
	for (ref = 0; ref < ARRAY_SIZE(used); ref++)
		assert_false(used[ref]);
	assert_int_equal(mm.pinned_vm.v, 0);
	mapping = &dev;
	mem = vhca_mem_get(&dev, 0, 4 * PAGE_SIZE, 0);
	flagged = false;
	mapping = NULL;
	assert_false(IS_ERR(mem));
	vhca_mem_put(mem);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(an_honest_backend_keeps_nothing),
		T(what_nobody_writes_is_read_only),
		T(an_old_backend_gets_what_is_writable),
		T(what_is_kept_counts),
		T(memory_of_the_kernel_is_kept_too),
		T(too_much_ends_the_device),
		T(a_backend_is_blamed_for_what_it_keeps_now),
		T(an_account_is_overdrawn_until_it_is_paid),
		T(the_dead_are_not_blamed),
		T(pages_wait_for_a_dying_domain),
		T(but_not_for_ever),
		T(nobody_waits_without_need),
		T(an_unload_waits_for_a_dying_domain),
		T(a_limit_looks_for_what_is_free_by_now),
		T(the_largest_region_fits),
		T(others_keep_what_they_need),
		T(what_another_domain_granted_is_refused),
		T(memory_is_granted_anew),
		T(memory_that_is_held_may_end),
		T(without_references_memory_is_as_before),
		T(the_next_backend_is_not_blamed),
		T(pages_wait_for_the_domain_that_mapped_them),
		T(an_unload_ends_the_account),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
