// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The account of backend/helper/grant.c: what is granted to a domain, and what
 * it keeps mapped after the end, is one sum with one bound, and the sum of these has
 * another. A file grants to one domain, and what it maps of two kinds only. The grant
 * table here has 512 references, a frame.
 */
#include <sys/stat.h>
#include "kernel.h"

/* ---- what grant.c uses beyond kernel.h ---- */
#define __user
#define PAGE_SHIFT		12
#define TASK_SIZE		(1ul << 47)
#define DOMID_FIRST_RESERVED	0x7ff0
#define TMPFS_MAGIC		1
#define VM_SHARED		8
#define PAGE_ALIGNED(a)		(!((a) % PAGE_SIZE))
#define copy_from_user(to, from, n) (memcpy(to, from, n), 0)
#undef copy_to_user
#define copy_to_user(to, from, n) (bad_user ? (n) : (memcpy(to, from, n), 0))
#define kvzalloc(size, gfp)	calloc(1, size)
#define struct_size(p, member, n) (sizeof(*(p)) + (n) * sizeof(*(p)->member))
#define module_param_named(...)	struct unused
#define MODULE_PARM_DESC(...)	struct unused
#define DEFINE_MUTEX(l)		struct mutex l
#define mmap_read_lock_killable(mm) 0
#define atomic_add(n, a)	((a)->v += (long)(n))
#define atomic_sub(n, a)	((a)->v -= (long)(n))
#define list_empty(l)		((l)->next == (l))
#define queue_delayed_work(wq, w, delay) kernel_arm(w, delay, false)

/* Few entries, found by looking at each; an index is never 0. */
#define xarray			helper_xarray
#define XA_ENTRIES		8
#define DEFINE_XARRAY(xa)	struct xarray xa
#define xa_limit_31b		0
#define xa_mk_value(v)		((void *)((v) << 1 | 1))
#define xa_to_value(p)		((unsigned long)(p) >> 1)
#define xa_err(p)		((void)(p), 0)
#define xa_erase(xa, i)		xa_store(xa, i, NULL, 0)
#define xa_destroy(xa)		memset(xa, 0, sizeof(*(xa)))
#define xa_for_each(xa, i, p)						\
	for (i = 1; i < 100; i++)					\
		if ((p = xa_erase(xa, i)))

struct helper_xarray {
	struct {
		unsigned long i;
		void *p;
	} e[XA_ENTRIES];
};

static void **xa_slot(struct xarray *xa, unsigned long i, bool add)
{
	size_t n;

	for (n = 0; n < XA_ENTRIES; n++)
		if (xa->e[n].p && xa->e[n].i == i)
			return &xa->e[n].p;
	for (n = 0; n < XA_ENTRIES && xa->e[n].p; )
		n++;
	if (!add || n == XA_ENTRIES)
		return NULL;
	xa->e[n].i = i;
	return &xa->e[n].p;
}

static void *xa_load(struct xarray *xa, unsigned long i)
{
	void **p = xa_slot(xa, i, false);

	return p ? *p : NULL;
}

static void *xa_store(struct xarray *xa, unsigned long i, void *new, int gfp)
{
	void **p = xa_slot(xa, i, new), *old = NULL;

	(void)gfp;
	if (p) {
		old = *p;
		*p = new;
	}
	return old;
}

static int xa_alloc(struct xarray *xa, u32 *id, void *p, int limit, int gfp)
{
	(void)limit;
	for (*id = 1; xa_load(xa, *id); )
		(*id)++;
	xa_store(xa, *id, p, gfp);
	return 0;
}

#define vm_area_struct		helper_vma
struct super_block { unsigned long s_magic; };
struct inode { struct super_block *i_sb; unsigned int i_mode; };
struct file { struct inode *inode; };
struct vm_area_struct {
	struct file *vm_file;
	unsigned long vm_flags, vm_end;
};

#define REFS	512

static struct super_block tmpfs = { TMPFS_MAGIC };
static struct inode inode = { &tmpfs, S_IFREG };
static struct file shmem = { &inode };
static struct vm_area_struct mapping = { &shmem, VM_SHARED, 1ul << 40 };
static bool bad_user;			/* the caller's memory is read-only */
static bool keeps;			/* the guest, what it has mapped */
static bool used[REFS];
static int pages;			/* references to them */

#define file_inode(f)		((f)->inode)
#define vma_lookup(mm, addr)	((addr) ? &mapping : NULL)

void put_page(struct page *page);
long vh_get_user_pages(u64 addr, u32 nr, struct page **page);
int gnttab_alloc_grant_references(u16 n, grant_ref_t *head);
int gnttab_claim_grant_reference(grant_ref_t *head);
int gnttab_try_end_foreign_access(grant_ref_t ref);

#define gnttab_max_grant_frames() 1u
#define gnttab_grant_foreign_access_ref(ref, domid, gfn, ro)
#define gnttab_end_foreign_access(ref, page) \
	((void)gnttab_try_end_foreign_access(ref), put_page(page))

#include "helper/grant.c"

struct workqueue_struct *vh_wq;
atomic_t vh_grants, vh_zombies;

bool vh_is_uverbs(const struct vm_area_struct *v)
{
	(void)v;
	return false;
}

void put_page(struct page *page)
{
	(void)page;
	pages--;
}

long vh_get_user_pages(u64 addr, u32 nr, struct page **page)
{
	(void)addr;
	memset(page, 0, nr * sizeof(*page));
	pages += (int)nr;
	return nr;
}

int gnttab_alloc_grant_references(u16 n, grant_ref_t *head)
{
	u32 i, free = 0;

	*head = 0;
	for (i = 0; i < REFS; i++)
		free += !used[i];
	return free < n ? -ENOSPC : 0;
}

int gnttab_claim_grant_reference(grant_ref_t *head)
{
	while (used[*head])
		(*head)++;
	used[*head] = true;
	return (int)*head;
}

int gnttab_try_end_foreign_access(grant_ref_t ref)
{
	if (!keeps)
		used[ref] = false;
	return !keeps;
}

/* ---- a worker ---- */
static struct vh_file one, two, three;

static long grant_at(struct vh_file *vf, u64 addr, u32 nr, domid_t domid,
		     u32 *id)
{
	u32 refs[REFS + 1];
	struct vhca_helper_grant g = {
		.addr = addr, .refs = (uintptr_t)refs, .nr_pages = nr,
		.domid = domid,
	};
	long rc = vh_grant(vf, &g);

	*id = g.id;
	return rc;
}

static long grant(struct vh_file *vf, u32 nr, domid_t domid, u32 *id)
{
	return grant_at(vf, PAGE_SIZE, nr, domid, id);
}

static long ungrant(struct vh_file *vf, u32 id)
{
	return vh_ungrant(vf, &(struct vhca_helper_ungrant){ .id = id });
}

static int setup(void **state)
{
	(void)state;
	kernel_pv = true;
	kernel_domain_gone = false;
	vh_domain_pages = 100;
	vh_granted_pages = 0;
	inode.i_mode = S_IFREG;
	memset(&one, 0, sizeof(one));
	memset(&two, 0, sizeof(two));
	memset(&three, 0, sizeof(three));
	return 0;
}

/* Everything ends, whatever a test left. */
static int teardown(void **state)
{
	u32 id;

	(void)state;
	keeps = bad_user = false;
	kernel_domain_gone = true;
	vh_grant_release(&one);
	vh_grant_release(&two);
	vh_grant_release(&three);
	kernel_advance(HZ);
	assert_int_equal(vh_grants.v, 0);
	assert_int_equal(vh_zombies.v, 0);
	assert_int_equal(pages, 0);
	/* nothing is charged any more */
	vh_domain_pages = vh_granted_pages = 100;
	memset(&one, 0, sizeof(one));
	assert_int_equal(grant(&one, 100, 7, &id), 0);
	assert_int_equal(ungrant(&one, id), 0);
	return 0;
}

static void what_lives_counts(void **state)
{
	u32 id, other;

	(void)state;
	assert_int_equal(grant(&one, 101, 7, &id), -EBUSY);
	assert_int_equal(grant(&one, 60, 7, &id), 0);
	assert_int_equal(grant(&one, 41, 7, &other), -EBUSY);
	assert_int_equal(grant(&two, 41, 7, &other), -EBUSY);
	assert_int_equal(grant(&three, 100, 8, &other), 0);
	assert_int_equal(grant(&two, 40, 7, &other), 0);
	assert_int_equal(grant(&one, 1, 7, &other), -EBUSY);
	assert_int_equal(ungrant(&one, id), 0);
	assert_int_equal(grant(&one, 60, 7, &id), 0);
}

static void what_is_kept_counts(void **state)
{
	u32 id;

	(void)state;
	keeps = true;
	assert_int_equal(grant(&one, 60, 7, &id), 0);
	assert_int_equal(ungrant(&one, id), 60);
	assert_int_equal(vh_zombies.v, 60);
	assert_int_equal(grant(&one, 41, 7, &id), -EBUSY);
	assert_int_equal(grant(&two, 40, 7, &id), 0);
	vh_grant_release(&two);			/* a worker dies */
	assert_int_equal(vh_zombies.v, 100);
	assert_int_equal(grant(&one, 1, 7, &id), -EBUSY);
	assert_int_equal(grant(&three, 1, 8, &id), 0);
	kernel_advance(HZ);
	assert_int_equal(grant(&one, 1, 7, &id), -EBUSY);
	keeps = false;				/* the guest unmaps, or dies */
	kernel_advance(HZ);
	assert_int_equal(vh_grants.v, 1);	/* of domain 8 */
	assert_int_equal(vh_zombies.v, 100);
	kernel_advance(VHCA_DYING_WAIT);
	assert_int_equal(vh_zombies.v, 0);
	assert_int_equal(grant(&one, 100, 7, &id), 0);
}

/* Who lives has said that it unmapped them; a worker's end says nothing. */
static void pages_wait_for_a_dying_guest(void **state)
{
	u32 id, other;

	(void)state;
	assert_int_equal(grant(&one, 10, 7, &id), 0);
	assert_int_equal(ungrant(&one, id), 0);
	assert_int_equal(pages, 0);
	assert_int_equal(grant(&one, 20, 7, &id), 0);
	assert_int_equal(grant(&one, 70, 7, &other), 0);
	assert_int_equal(vh_ungrant(&one, &(struct vhca_helper_ungrant){
			 .id = id, .flags = VHCA_HELPER_MAY_DIE }), 0);
	vh_grant_release(&one);
	kernel_advance(HZ);
	assert_int_equal(vh_grants.v, 0);
	assert_int_equal(vh_zombies.v, 90);
	assert_int_equal(pages, 90);
	assert_int_equal(grant(&one, 11, 7, &id), -EBUSY);
	kernel_domain_gone = true;
	kernel_advance(HZ);
	assert_int_equal(vh_zombies.v, 0);
	assert_int_equal(pages, 0);
}

/* The teardown finds what an error left charged. */
static void errors_charge_nothing(void **state)
{
	u32 id;

	(void)state;
	assert_int_equal(grant_at(&one, 0, 50, 7, &id), -EFAULT);
	vh_domain_pages = REFS;
	vh_granted_pages = 2 * REFS;
	assert_int_equal(grant(&two, REFS, 8, &id), 0);
	assert_int_equal(grant(&one, 50, 7, &id), -ENOSPC);
	vh_grant_release(&two);
	vh_domain_pages = 100;
	bad_user = true;
	assert_int_equal(grant(&one, 50, 7, &id), -EFAULT);
}

/* Whatever domains it is for, and whether they unmap it. */
static void all_domains_have_one_bound(void **state)
{
	u32 id, other;

	(void)state;
	vh_granted_pages = 150;
	assert_int_equal(grant(&one, 100, 7, &id), 0);
	assert_int_equal(grant(&two, 51, 8, &other), -ENOSPC);
	assert_int_equal(grant(&two, 50, 8, &other), 0);
	assert_int_equal(grant(&three, 1, 9, &other), -ENOSPC);
	keeps = true;
	assert_int_equal(ungrant(&one, id), 100);
	assert_int_equal(grant(&three, 1, 9, &other), -ENOSPC);
	keeps = false;
	kernel_domain_gone = true;
	kernel_advance(HZ);
	assert_int_equal(grant(&three, 100, 9, &other), 0);
	vh_granted_pages = 10;		/* what is granted stays so */
	assert_int_equal(grant(&one, 1, 7, &id), -ENOSPC);
	assert_int_equal(ungrant(&three, other), 0);
}

/* A quarter of the table is for the disks and network cards of this domain. */
static void others_have_the_rest(void **state)
{
	grant_ref_t head;
	u32 id;

	(void)state;
	vh_domain_pages = REFS;
	assert_int_equal(grant(&one, REFS * 3 / 4 + 1, 7, &id), -ENOSPC);
	assert_int_equal(grant(&one, REFS * 3 / 4, 7, &id), 0);
	assert_int_equal(grant(&two, 1, 8, &id), -ENOSPC);
	assert_int_equal(gnttab_alloc_grant_references(REFS / 4, &head), 0);
}

/* What one worker does is charged to its own guest. */
static void a_file_has_one_domain(void **state)
{
	u32 id;

	(void)state;
	assert_int_equal(grant(&one, 10, 0, &id), 0);
	assert_int_equal(grant(&one, 10, 8, &id), -EPERM);
	assert_int_equal(grant(&one, 10, 0, &id), 0);
	vh_grant_release(&one);
	assert_int_equal(grant(&one, 10, 8, &id), -EPERM);
	assert_int_equal(grant(&two, 100, 8, &id), 0);
	assert_int_equal(grant(&two, 1, 0, &id), -EPERM);
}

/* devtmpfs has the number of tmpfs, and guests' memory is mapped by a file of it. */
static void a_device_is_no_shared_memory(void **state)
{
	u32 id;

	(void)state;
	inode.i_mode = S_IFCHR;
	assert_int_equal(grant(&one, 1, 7, &id), -EFAULT);
	inode.i_mode = S_IFREG;
	assert_int_equal(grant(&one, 1, 7, &id), 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(what_lives_counts),
		T(what_is_kept_counts),
		T(pages_wait_for_a_dying_guest),
		T(errors_charge_nothing),
		T(all_domains_have_one_bound),
		T(others_have_the_rest),
		T(a_file_has_one_domain),
		T(a_device_is_no_shared_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
